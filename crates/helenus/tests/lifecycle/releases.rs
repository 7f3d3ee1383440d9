//! Older releases: what they are started with, and a distribution of 3.11 that a person unpacked.
//! Refuses to fetch anything: the distribution is made up, and so is its JDK 8.

use crate::lab::TestLab;

/// A lab with a folder that looks like 3.11's unpacked distribution.
fn with_3_11() -> (TestLab, String) {
    let lab = TestLab::fake("serve");
    for jar in ["apache-cassandra-3.11.5.jar", "jamm-0.3.0.jar"] {
        lab.write(&format!("dist/lib/{jar}"), "");
    }
    let home = lab.path("dist").to_string_lossy().into_owned();
    (lab, home)
}

#[test]
fn an_unpacked_3_11_lives_where_a_jdk_8_is() {
    let (mut lab, dist) = with_3_11();
    lab.set("JAVA8_HOME", lab.jdk("1.8.0_402"));
    lab.done(&["up", "c", "--cassandra-home", &dist]);
    let state = fs_err::read_to_string(lab.cluster("c").join("cluster.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["plan"]["release"], "3.11.5");
    assert_eq!(state["runtime"]["jdk_feature"], 8);
    assert!(state["runtime"]["jdk_caution"].is_null(), "{state}");
    // No module, no agent.
    assert_eq!(state["runtime"]["module_flags"], serde_json::json!([]));
    let yaml = state["plan"]["nodes"][0]["yaml"].as_str().unwrap();
    assert!(yaml.contains("start_rpc: false"), "{yaml}");
    assert!(yaml.contains("key_cache_size_in_mb: 0"), "{yaml}");
    assert!(!yaml.contains("networking_cache"), "{yaml}");
    // Tables that came with 4.0 are not there, and nothing that runs asks for them in vain.
    let status = lab.done(&["status", "c"]);
    assert!(status.contains("UN "), "{status}");
    let said = lab.run(&["cql", "c", "-e", "DESCRIBE TABLES"]);
    let why = "DESCRIBE needs Cassandra 4.0 or later; this is 3.11.5";
    assert!(said.code == "2" && said.err.contains(why), "{said}");
    lab.measured(&[
        "bench",
        "--cluster",
        "c",
        "--phases",
        "write",
        "--rate",
        "100",
        "--warmup",
        "0s",
        "--duration",
        "1s",
    ]);
    lab.done(&["rm", "c"]);
    lab.leave();
}

#[test]
fn an_unpacked_3_11_is_refused_where_no_jdk_fits() {
    let (lab, dist) = with_3_11();
    let seventeen = lab.jdk("17.0.12");
    let seventeen = seventeen.to_string_lossy();
    let said = lab.run(&[
        "up",
        "c",
        "--cassandra-home",
        &dist,
        "--java-home",
        &seventeen,
    ]);
    assert_eq!(said.code, "3", "{said}");
    let why = "Cassandra 3.11.5 cannot run on JDK 17: it uses internals of java.io, which are closed since JDK 16; it supports 8";
    assert!(said.err.contains(why), "{said}");
}

#[test]
fn a_patch_is_given_only_what_its_own_classes_know() {
    let lab = TestLab::fake("ready");
    let plan = |release: &str, set: &str| {
        lab.run(&["up", "c", "--cassandra", release, "--set", set, "--dry-run"])
    };
    let known = plan("4.1", "native_transport_timeout=5s");
    assert!(
        known.out.contains("    native_transport_timeout: \"5s\"\n"),
        "{known}"
    );
    shot!(plan("4.1.5", "native_transport_timeout=5s"), @"
    exit code: 2
    --- standard error
    error: Cassandra 4.1.5 does not support native_transport_timeout: 5s
    hint: the key came with 4.1.6; leave it out, or use a newer release
    ");
    let dry = lab.done(&["up", "c", "--cassandra", "5.0.2", "--dry-run"]);
    assert!(dry.contains("Cassandra 5.0.2, preset tiny"), "{dry}");
    lab.done(&["up", "c", "--cassandra", "4.1.5"]);
    let status = lab.done(&["list"]);
    assert!(status.contains("4.1.5"), "{status}");
    lab.done(&["rm", "c"]);
    lab.leave();
}

#[test]
fn a_dry_run_warns_of_a_patch_that_nobody_has_fetched() {
    let lab = TestLab::fake("ready");
    let warnings = |words: &[&str]| lab.run(&[words, &["--dry-run"]].concat()).err;
    let unknown = "caution: this helenus does not know Cassandra 4.1.77 (the nearest are 4.1.10, 4.1.9, 4.1.8), and no jars \
                   of it are fetched or recorded: `helenus releases fetch 4.1.77` proves that it exists\n";
    let of = ["--cassandra", "4.1.77"];
    for words in [
        &["up", "c"][..],
        &["up", "--count", "2", "--prefix", "c"],
        &["bench"],
    ] {
        assert_eq!(warnings(&[words, &of].concat()), unknown, "{words:?}");
    }
    assert_eq!(warnings(&["releases", "fetch", "4.1.77"]), unknown);
    let known = "note: the jars of Cassandra 4.1.5 are not fetched and no checksums are recorded yet; \
                 `helenus releases fetch 4.1.5` does both\n";
    assert_eq!(warnings(&["up", "c", "--cassandra", "4.1.5"]), known);
    assert_eq!(warnings(&["up", "c", "--cassandra", "4.1"]), "");
    lab.done(&["up", "c", "--cassandra", "4.1"]);
    assert_eq!(warnings(&["upgrade", "c", "--to", "4.1.77"]), unknown);
}

#[test]
fn a_release_is_set_in_its_own_words_whatever_name_was_given() {
    let lab = TestLab::fake("ready");
    let plan = |value: &str| {
        let words = ["up", "c", "--cassandra", "4.0", "--set", value, "--dry-run"];
        lab.done(&words)
    };
    for given in ["memtable_heap_space=12MiB", "memtable_heap_space_in_mb=12"] {
        let text = plan(given);
        assert!(
            text.contains("    memtable_heap_space_in_mb: 12\n"),
            "{text}"
        );
        assert!(!text.contains("    memtable_heap_space:"), "{text}");
    }
    let printed = plan("concurrent_reads=4");
    assert!(
        printed.contains("memtable.configurations.default.class_name: TrieMemtable -> left out")
    );
    shot!(
        lab.run(&["up", "c", "--cassandra", "4.0", "--set", "cdc_block_writes=true", "--dry-run"]),
        @"
    exit code: 2
    --- standard error
    error: Cassandra 4.0.19 does not support cdc_block_writes: true
    hint: the key came with 4.1; leave it out, or use a newer release
    "
    );
}
