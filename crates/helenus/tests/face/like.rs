//! `up --like`: its JSON, its counts, and what it refuses; three files of 60 keys and more.
//! Refuses to start a node.

use crate::lab::TestLab;

#[test]
fn every_key_of_three_files_is_reported() {
    let lab = TestLab::fake("ready");
    for dialect in ["3.11", "4.1", "5.0"] {
        let file = format!(
            "{}/tests/data/like/{dialect}/cassandra.yaml",
            env!("CARGO_MANIFEST_DIR")
        );
        for release in ["5.0", "4.1", "4.0"] {
            let words = [
                "up",
                "c",
                "--like",
                &file,
                "--dry-run",
                "--cassandra",
                release,
            ];
            let like = lab.json(&words);
            assert_eq!(like["format"], "helenus.like/1");
            assert_eq!(like["place"]["data_center"], "Frankfurt");
            let text = fs_err::read_to_string(&file).expect("a file");
            let keys: Vec<&str> = text
                .lines()
                .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
                .filter_map(|line| Some(line.split_once(':')?.0))
                .collect();
            assert!(keys.len() >= 60, "{dialect}: {}", keys.len());
            let differences = like["differences"].as_array().expect("differences");
            for key in keys {
                let reported = differences.iter().any(|d| {
                    let name = d["key"].as_str().unwrap_or_default();
                    name == key || name.starts_with(&format!("{key}."))
                });
                assert!(reported, "{dialect} on {release}: {key}");
            }
            assert!(!like.to_string().contains("made-up"), "a password is shown");
        }
    }
}

/// Folders below `tests/data/like/shapes`: files of the shapes that productions have, of four series.
pub(crate) const SHAPES: [&str; 10] = [
    "3.11-first",
    "3.11-cloud",
    "3.11-batch",
    "4.0-package",
    "4.0-audited",
    "4.0-generated",
    "4.1-upgraded",
    "4.1-guarded",
    "5.0-latest",
    "5.0-secured",
];

#[test]
fn every_key_of_ten_shapes_has_one_fate() {
    let lab = TestLab::fake("ready");
    for shape in SHAPES {
        let folder = format!(
            "{}/tests/data/like/shapes/{shape}",
            env!("CARGO_MANIFEST_DIR")
        );
        let file = format!("{folder}/cassandra.yaml");
        let text = fs_err::read_to_string(&file).expect("a file");
        let keys = match helenus_model::yaml::parse_last(&text).expect("YAML").0 {
            serde_json::Value::Object(map) => map,
            other => panic!("{shape}: {other}"),
        };
        assert!(keys.len() >= 55, "{shape}: {}", keys.len());
        for release in ["5.0", "4.1", "4.0"] {
            let words = [
                "up",
                "c",
                "--like",
                &file,
                "--dry-run",
                "--cassandra",
                release,
            ];
            let like = lab.json(&words);
            let said = like["differences"].as_array().expect("differences");
            for key in keys.keys() {
                let of_key = |d: &&serde_json::Value| {
                    let name = d["key"].as_str().unwrap_or_default();
                    d["class"] != "added" && (name == key || name.starts_with(&format!("{key}.")))
                };
                let fates: Vec<_> = said.iter().filter(of_key).collect();
                assert!(!fates.is_empty(), "{shape} on {release}: {key}");
                for fate in fates {
                    let class = fate["class"].as_str().expect("a class");
                    // What is not simply kept has a reason.
                    let reason = fate["why"].as_str().is_some_and(|why| !why.is_empty());
                    assert!(class == "kept" || reason, "{shape} on {release}: {fate}");
                    assert_ne!(class, "refused", "{shape} on {release}: {fate}");
                }
            }
            // A file's own series has every key of it; 3.11 is not among them.
            let own = shape.starts_with(release);
            let unknown = said.iter().filter(|d| d["class"] == "unknown").count();
            assert!(!own || unknown == 0, "{shape} on {release}: {like:#}");
            assert!(!like.to_string().contains("made-up"), "a password is shown");
        }
    }
}

#[test]
fn what_a_file_leaves_out_is_not_the_preset_s() {
    let lab = TestLab::fake("ready");
    lab.write("one.yaml", "max_hint_window: 3h\n");
    let up = lab.run(&["up", "c", "--like", "one.yaml"]);
    assert_eq!(up.code, "0", "{up}");
    // The table is the dry run's; here its counts are enough.
    let lines: Vec<&str> = up.err.lines().collect();
    assert_eq!(lines.len(), 2, "{up}");
    assert!(lines[0].contains("preset tiny: 1 kept"), "{up}");
    let node = lab.cluster("c").join("node1/conf/cassandra.yaml");
    let yaml = fs_err::read_to_string(node).expect("its file");
    assert!(
        yaml.contains("max_hint_window: \"3h\"") && yaml.contains("file_cache_size: \"16MiB\""),
        "{yaml}"
    );
    for key in [
        "hinted_handoff",
        "auto_snapshot",
        "memtable:",
        "memtable_alloc",
        "native_transport_max",
        "compaction",
    ] {
        assert!(!yaml.contains(key), "{key}: {yaml}");
    }
    lab.leave();
}

#[test]
fn a_pipe_gets_values_whole() {
    let lab = TestLab::fake("ready");
    let long = "x".repeat(300);
    lab.write("long.yaml", &format!("cluster_name: {long}\n"));
    let table = lab.done(&["up", "c", "--like", "long.yaml", "--dry-run"]);
    assert!(table.contains(&long), "{table}");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let lab = TestLab::fake("ready");
    lab.write("list.yaml", "[1, 2]\n");
    lab.write(
        "twice.yaml",
        "read_request_timeout: 1s\nread_request_timeout_in_ms: 2\n",
    );
    for (file, said) in [
        ("list.yaml", "it contains a list, not a map of keys"),
        ("twice.yaml", "are two names of read_request_timeout"),
        ("none.yaml", "none.yaml"),
    ] {
        let refused = lab.run(&["up", "c", "--like", file]);
        assert_eq!(refused.code, "2", "{refused}");
        assert!(refused.err.contains(said), "{refused}");
    }
}

#[test]
fn a_file_of_3_11_keeps_its_names_on_3_11() {
    let lab = TestLab::fake("ready");
    let jar = lab.write("old/lib/apache-cassandra-3.11.5.jar", "no jar");
    lab.write("old/lib/jamm-0.3.0.jar", "no jar");
    let home = jar.ancestors().nth(2).expect("its home");
    let java = lab.jdk("1.8.0_392");
    let file = format!(
        "{}/tests/data/like/3.11/cassandra.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let words = [
        "up",
        "c",
        "--like",
        &file,
        "--dry-run",
        "--cassandra-home",
        &home.display().to_string(),
        "--java-home",
        &java.display().to_string(),
    ];
    let like = lab.json(&words);
    assert_eq!(
        (&like["release"], &like["auth"]),
        (&"3.11.5".into(), &true.into())
    );
    let differences = like["differences"].as_array().expect("differences");
    let class = |key: &str| {
        let found = differences.iter().find(|d| d["key"] == key);
        found.map(|d| d["class"].clone()).unwrap_or_default()
    };
    for key in [
        "read_request_timeout_in_ms",
        "request_scheduler",
        "authenticator",
    ] {
        assert_eq!(class(key), "kept", "{key}");
    }
    assert!(
        !differences.iter().any(|d| d["class"] == "unknown"),
        "{differences:?}"
    );
}

#[test]
fn a_file_is_not_followed_by_many_in_silence() {
    let lab = TestLab::fake("ready");
    let refused = lab.run(&["up", "--count", "2", "--prefix", "d", "--like", "x.yaml"]);
    assert_eq!(refused.code, "2", "{refused}");
    assert!(refused.err.contains("--count"), "{refused}");
}
