//! Verbs that only print: version, presets, releases, completions, doctor, and the lists of an empty home.
//! Refuses the numbers of this machine.

use crate::lab::TestLab;

#[test]
fn version_names_the_commit() {
    let said = TestLab::new().run(&["--version"]);
    let text = said.out.trim_end();
    let (version, commit) = text.split_once(" (").expect(text);
    assert_eq!(version, concat!("helenus ", env!("CARGO_PKG_VERSION")));
    let commit = commit.strip_suffix(')').expect(text);
    let is_hash = commit.len() == 10 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(is_hash || commit == "no commit", "{text}");
}

#[test]
fn presets() {
    shot!(TestLab::new().run(&["presets"]), @"
    exit code: 0
    --- standard output
    preset  heap                                purpose
    tiny    64M, 12M of it young                a node in a 64 MB heap: many on one machine, up in seconds
    doc001  64M, 12M of it young                the settings of 2013 in a 64 MB heap, to compare tiny with
    dev     500M, 200M of it young              a developer's node in a 500 MB heap, otherwise near stock
    bench   a quarter of memory, 512M to 2048M  full JIT, memory by the machine: for measurements

    `helenus presets show NAME` shows every setting with its reason.
    ");
}

#[test]
fn presets_show_tiny_says_what_it_is_for_and_its_heap() {
    shot!(TestLab::new().run(&["presets", "show", "tiny"]).head(4), @"
    exit code: 0
    --- standard output
    tiny: a node in a 64 MB heap: many on one machine, up in seconds
    heap: 64M, 12M of it young

    cassandra.yaml
    ");
}

#[test]
fn every_line_of_a_preset_has_a_reason_and_a_source() {
    let lab = TestLab::new();
    for name in ["tiny", "dev", "bench"] {
        let shown = lab.json(&["presets", "show", name]);
        let own = shown["presets"][0]["settings"]
            .as_array()
            .expect("settings");
        let base = shown["base"].as_array().expect("base");
        assert!(own.len() + base.len() > 10, "{name}");
        for setting in own.iter().chain(base) {
            for field in ["key", "reason", "source"] {
                let text = setting[field].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{name}: {field} of {setting}");
            }
        }
    }
}

#[test]
fn completions_of_each_shell_ask_this_program() {
    let lab = TestLab::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = lab.done(&["completions", shell]);
        let asks = ["HELENUS_COMPLETE", "helenus", "--"];
        assert!(
            asks.iter().all(|word| text.contains(word)),
            "{shell}: {text}"
        );
    }
}

#[test]
fn completions_and_presets_touch_no_folder() {
    let lab = TestLab::new();
    lab.done(&["completions", "bash"]);
    lab.done(&["presets"]);
    assert!(!lab.path("home").exists());
    assert!(!lab.path("cache").exists());
}

#[test]
fn an_empty_home() {
    let lab = TestLab::new();
    shot!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    no cluster; bring one up with `helenus up`
    ");
    shot!(lab.run(&["ls", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "no cluster; bring one up with `helenus up`",
      "format": "helenus.list/1",
      "clusters": []
    }
    "#);
    shot!(lab.run(&["rm", "--all"]), @"
    exit code: 0
    --- standard output
    no cluster to remove
    ");
    shot!(lab.run(&["down", "--all", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "no cluster to remove",
      "format": "helenus.removed/1",
      "dry_run": false,
      "removed": []
    }
    "#);
}

#[test]
fn releases_without_a_cache() {
    let mut lab = TestLab::new();
    lab.set("JAVA_HOME", lab.jdk("17.0.12"));
    lab.set("JAVA11_HOME", lab.jdk("11.0.13"));
    lab.set("JAVA8_HOME", lab.jdk("1.8.0_402"));
    let said = lab.run(&["releases"]).head(5);
    shot!(said, @"
    exit code: 0
    --- standard output
    release  cached  archive  checksums     jars      size  supports JDK  works on  runs here on
    3.11.5   no      no       at first use                  8             11        JDK 1.8.0_402 (Lab) at [LAB]/jdk-1.8.0_402
    4.0.19   no      no       pinned          60  45.1 MiB  8, 11         17        JDK 11.0.13 (Lab) at [LAB]/jdk-11.0.13
    4.1.10   no      no       pinned          65  47.6 MiB  8, 11         17        JDK 11.0.13 (Lab) at [LAB]/jdk-11.0.13
    5.0.9    no      no       pinned          89  61.5 MiB  11, 17        21        JDK 17.0.12 (Lab) at [LAB]/jdk-17.0.12
    ");
}

#[test]
fn releases_names_the_jdk_of_nodetool_where_the_node_s_cannot_run_it() {
    let mut lab = TestLab::new();
    let small = lab.jdk("11.0.1");
    let modules = "JAVA_VERSION=\"11.0.1\"\nMODULES=\"java.base java.desktop java.management java.naming jdk.unsupported\"\n";
    lab.write("jdk-11.0.1/release", modules);
    lab.set("JAVA_HOME", small);
    lab.set("JAVA11_HOME", lab.jdk("11.0.13"));
    let table = lab.done(&["releases"]);
    let row = table
        .lines()
        .find(|l| l.starts_with("4.1.10"))
        .expect("4.1");
    let here = "  JDK 11.0.1 at [LAB]/jdk-11.0.1; nodetool: JDK 11.0.13 (Lab) at [LAB]/jdk-11.0.13";
    assert!(row.ends_with(here), "{row}");
}

#[test]
fn doctor_names_a_cure_for_all_that_is_not_good() {
    let lab = TestLab::new();
    let said = lab.run(&["doctor", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect(&said.out);
    let findings = value["findings"].as_array().expect("findings");
    let lacking = findings.iter().any(|f| f["weight"] == "lacking");
    assert_eq!(said.code, if lacking { "3" } else { "0" });
    for finding in findings {
        let good = finding["weight"] == "good";
        assert_eq!(finding["cure"].is_null(), good, "{finding}");
    }
    let output = lab.run(&["doctor"]);
    for finding in findings {
        let what = finding["what"].as_str().expect("what");
        assert!(output.out.contains(what), "{what} in\n{output}");
    }
}

#[test]
fn doctor_without_mvn() {
    let mut lab = TestLab::new();
    lab.only_own_programs();
    lab.set("JAVA_HOME", lab.jdk("17.0.12"));
    let said = lab.run(&["doctor"]);
    assert_eq!(said.code, "3", "{said}");
    let lines: Vec<&str> = said.out.lines().collect();
    let at = lines.iter().position(|l| l.contains("mvn")).expect("mvn");
    shot!(lines[at..at + 2].join("\n"), @"
    LACKING  mvn           not on PATH
                           cure: install Maven: [command], or use --cassandra-home DIR
    ");
}

#[test]
fn quiet_says_nothing_but_the_result() {
    let mut lab = TestLab::fake("ready");
    let said = lab.run(&["up", "c", "--quiet"]);
    assert_eq!((said.code.as_str(), said.err.as_str()), ("0", ""));
    lab.behave("crash");
    let said = lab.run(&["up", "d", "--quiet"]);
    assert!(said.err.starts_with("error: "), "{said}");
}

#[test]
fn verbose_and_the_log_file_say_the_same() {
    let lab = TestLab::new();
    let said = lab.run(&["list", "-v"]);
    assert!(said.err.contains("begins"), "{said}");
    let log = fs_err::read_to_string(lab.path("home/state/helenus.log")).expect("a log");
    assert!(log.contains("begins"), "{log}");
}
