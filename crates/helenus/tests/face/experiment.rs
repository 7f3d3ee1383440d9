//! `experiment check`, `plan` and `status`: what a file says, what would run, and what is wrong with its line.
//! Refuses to run one: that is the lifecycle's.

use crate::kube_acts;
use crate::lab::TestLab;
use std::path::Path;

const FILE: &str = r#"name = "heap"
seed = 7
bars = ["p99 < 20ms at 1k/s"]

[cluster]
preset = "tiny"

[workload]
workload = "standard1"
ops = "write=1"
duration = "10s"
warmup = "3s"

[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", "96M"]

[[factor]]
key = "rate"
kind = "phase"
levels = [500, 1000]
"#;

fn lab() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.write("heap.toml", FILE);
    lab
}

#[test]
fn a_plan_says_what_would_run() {
    let lab = lab();
    shot!(lab.run(&["experiment", "check", "heap.toml"]), @"
    exit code: 0
    --- standard output
    heap
    factor  kind     levels
    heap    restart  64M, 96M
    rate    phase    500, 1000
    4 combinations; a block has 3 restarts and 6 runs, the first restart twice
    ");
    let plan = lab.json(&["experiment", "plan", "heap.toml", "--seed", "9"]);
    assert_eq!(plan["format"], "helenus.experiment/1");
    let number = |key: &str| plan[key].as_u64();
    assert_eq!(number("seed"), Some(9), "{plan:#}");
    assert_eq!((number("restarts"), number("runs")), (Some(18), Some(36)));
    // 36 runs of 13 s and what is around them, 18 starts of a stand-in.
    assert_eq!(number("about_s"), Some(36 * 29 / 2 + 18));
    assert!(number("memory_bytes") > Some(96 << 20), "{plan:#}");
    let order = |seed: &str| {
        let plan = lab.json(&["experiment", "plan", "heap.toml", "--seed", seed]);
        plan["order"].clone()
    };
    assert_eq!(order("9"), plan["order"]);
    assert_ne!(order("8"), plan["order"]);
    let text = lab.done(&["experiment", "run", "heap.toml", "--dry-run"]);
    assert!(
        text.contains("6 blocks: 18 restarts, 36 runs, about 9 min"),
        "{text}"
    );
    assert!(text.ends_with("nothing was started\n"), "{text}");
    let listed = lab.json(&["experiment", "status"]);
    assert_eq!(listed["experiments"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_relative_path_is_found_beside_the_file() {
    let lab = lab();
    lab.write("deep/dist/empty", "");
    let home = FILE.replace("[cluster]", "[cluster]\ncassandra-home = \"dist\"");
    lab.write("deep/home.toml", &home);
    let said = lab.run(&["experiment", "plan", "deep/home.toml"]);
    assert_ne!(said.code, "0", "{said}");
    assert!(said.err.contains("[LAB]/deep/dist is not a"), "{said}");
}

#[test]
fn what_its_samples_cannot_decide_is_refused_before_anything_runs() {
    let lab = lab();
    // 1,000 a second for 10 s are enough, 500 are not.
    lab.write("heap.toml", &FILE.replace("p99 < 20ms", "p99.9 < 20ms"));
    assert_eq!(lab.run(&["experiment", "check", "heap.toml"]).code, "0");
    let bar = FILE.replace("p99 < 20ms at 1k/s", "p99.9 < 20ms at 500/s");
    lab.write("heap.toml", &bar);
    for verb in ["check", "plan"] {
        assert_eq!(lab.run(&["experiment", verb, "heap.toml"]).code, "2");
    }
    shot!(lab.run(&["experiment", "run", "heap.toml"]), @r#"
    exit code: 2
    --- standard error
    error: the threshold "p99.9 < 20ms at 500/s" cannot be decided at heap=64M rate=500: the phase main measures 5000 operations, and p99.9 needs 10000, so that ten are above it
    hint: measure longer, raise the rate, or ask for a lower percentile
    "#);
    let listed = lab.json(&["experiment", "status"]);
    assert_eq!(listed["experiments"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_tip_about_numa_wants_several_nodes_of_memory() {
    let lab = lab();
    let levels = r#"levels = ["64M", { label = "numa", jvm = "-XX:+UseNUMA", heap = "64M" }]"#;
    lab.write(
        "heap.toml",
        &FILE.replace(r#"levels = ["64M", "96M"]"#, levels),
    );
    let plan = lab.json(&["experiment", "plan", "heap.toml"]);
    assert!(
        plan["combinations"][0]["does_not_fit"].is_null(),
        "{plan:#}"
    );
    let why = plan["combinations"][2]["does_not_fit"].as_str();
    if Path::new("/sys/devices/system/node/node1").exists() {
        assert_eq!(why, None);
    } else {
        let one = "-XX:+UseNUMA needs several NUMA nodes, and this machine has one";
        assert_eq!(why, Some(one));
    }
}

#[test]
fn what_does_not_fit_is_left_out_by_name() {
    let lab = lab();
    lab.write("heap.toml", &FILE.replace("\"96M\"", "\"900G\""));
    let plan = lab.json(&["experiment", "plan", "heap.toml"]);
    assert_eq!(plan["runs"].as_u64(), Some(6 * 4), "{plan:#}");
    assert_eq!(plan["order"].as_array().map(Vec::len), Some(6 * 4));
    let block = ["restarts_a_block", "runs_a_block"].map(|key| plan[key].as_u64());
    assert_eq!(block, [Some(2), Some(4)], "{plan:#}");
    let why = plan["combinations"][2]["does_not_fit"].as_str();
    assert!(
        why.is_some_and(|why| why.contains("GiB of memory")),
        "{plan:#}"
    );
}

#[test]
fn the_command_line_may_ask_for_other_blocks_than_the_file() {
    let lab = lab();
    lab.write("heap.toml", FILE);
    let plan = |repeats: &str| lab.run(&["experiment", "plan", "heap.toml", "--repeats", repeats]);
    let said = plan("3");
    assert!(said.out.contains("3 blocks: "), "{said}");
    let few = "nothing is claimed of fewer than 6 blocks";
    assert!(said.out.contains(few), "{said}");
    assert!(!plan("6").out.contains(few));
    let said = plan("0");
    assert_eq!(said.code, "2", "{said}");
    insta::assert_snapshot!(said.err, @"error: --repeats must be a number from 1 to 1000, not 0");
    lab.write(
        "heap.toml",
        &FILE.replace("seed = 7", "seed = 7\nuntil = \"5%\""),
    );
    let said = plan("5");
    insta::assert_snapshot!(said.err, @"error: --repeats must be a number from 6 to 1000, not 5");
}

fn said(from: &str, to: &str) -> String {
    let lab = lab();
    assert!(FILE.contains(from), "{from}");
    lab.write("heap.toml", &FILE.replace(from, to));
    let said = lab.run(&["experiment", "check", "heap.toml"]);
    assert_eq!(said.code, "2", "{said}");
    said.err
}

#[test]
fn a_plan_reckons_with_a_minute_until_new_nodes_are_level() {
    let lab = lab();
    let about = |warm: &str| {
        let text = FILE.replacen("[[factor]]", &format!("{warm}\n[[factor]]"), 1);
        lab.write("warm.toml", &text);
        let plan = lab.json(&["experiment", "plan", "warm.toml"]);
        let number = |key: &str| plan[key].as_u64().expect("a number");
        (number("about_s"), number("restarts"))
    };
    let (cold, restarts) = about("");
    let (level, _) = about("[warm]\nuntil = \"level\"");
    assert_eq!(level - cold, 60 * restarts);
    let (short, _) = about("[warm]\nuntil = \"level\"\nat_most = \"30s\"");
    assert_eq!(short - cold, 30 * restarts);
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    insta::assert_snapshot!(said("seed = 7", "seeed = 7"), @"
    error: heap.toml:2: unknown key seeed
    hint: did you mean seed?
    ");
    insta::assert_snapshot!(said("preset = \"tiny\"", "presett = \"tiny\""), @"
    error: heap.toml:6: unknown key presett in [cluster]
    hint: did you mean preset?
    ");
    insta::assert_snapshot!(said("preset = \"tiny\"", "duration = \"5s\""), @"
    error: heap.toml:6: unknown key duration in [cluster]
    hint: it belongs to [workload]
    ");
    insta::assert_snapshot!(said("duration = \"10s\"", "heap = \"64M\""), @"
    error: heap.toml:11: unknown key heap in [workload]
    hint: it belongs to [cluster]
    ");
    insta::assert_snapshot!(said("duration = \"10s\"", "duration = \"ten\""), @r#"error: heap.toml:11: invalid value 'ten' for '--duration <TIME>': "ten" is not a duration: write a number with ms, s, m, h or d, such as 30s"#);
    insta::assert_snapshot!(said("duration = \"10s\"", "seed = 5"), @"
    error: heap.toml:11: seed does not belong in a section
    hint: order and data share one seed: write it at the top of the file
    ");
    insta::assert_snapshot!(said("kind = \"restart\"", "kind = \"phase\""), @r#"
    error: heap.toml:17: heap cannot be a factor of kind phase
    hint: write kind = "restart"
    "#);
    insta::assert_snapshot!(said("\"96M\"", "\"much\""), @r#"error: heap.toml:17: invalid value 'much' for '--heap <SIZE>': "much" is not a size: write a number with K, M or G, such as 64M"#);
    let warm = |keys: &str| {
        said(
            "warmup = \"3s\"\n",
            &format!("warmup = \"3s\"\n[warm]\n{keys}\n"),
        )
    };
    insta::assert_snapshot!(warm("untill = \"level\""), @"
    error: heap.toml:14: unknown key untill in [warm]
    hint: did you mean until?
    ");
    insta::assert_snapshot!(warm("until = \"level\"\nat-most = \"60s\""), @"
    error: heap.toml:15: unknown key at-most in [warm]
    hint: did you mean at_most?
    ");
    insta::assert_snapshot!(warm("until = \"levl\""), @r#"
    error: heap.toml:14: nodes cannot be warmed until "levl"
    hint: did you mean level?
    "#);
    let unknown = said("workload = \"standard1\"", "workload = \"standard2\"");
    let first = "error: heap.toml: heap=64M rate=500: \"standard2\" is not a built-in workload\n";
    assert!(unknown.starts_with(first), "{unknown}");
}

const APART: &str = r#"name = "far"

[cluster]
preset = "tiny"
nodes = "1:1"

[workload]
workload = "standard1"
ops = "write=1"
rate = 100
duration = "10s"
warmup = "1s"

[[factor]]
key = "rtt"
kind = "phase"
levels = ["0ms", "40ms", "60ms+DC1:DC2=80ms"]
"#;

#[test]
fn distance_is_a_factor_of_phases_where_there_is_any() {
    let lab = lab();
    lab.write("far.toml", APART);
    let plan = lab.json(&["experiment", "plan", "far.toml"]);
    let number = |key: &str| plan[key].as_u64();
    // All distances are runs of one restart.
    assert_eq!((number("restarts"), number("runs")), (Some(12), Some(36)));
    let said = |from: &str, to: &str| {
        assert!(APART.contains(from), "{from}");
        lab.write("far.toml", &APART.replace(from, to));
        let said = lab.run(&["experiment", "check", "far.toml"]);
        assert_eq!(said.code, "2", "{said}");
        said.err
    };
    insta::assert_snapshot!(said("nodes = \"1:1\"", "nodes = 2"), @r#"
    error: far.toml:17: rtt is a factor, but the cluster has only one data centre
    hint: give it two, such as nodes = "1:1" in [cluster]
    "#);
    insta::assert_snapshot!(said("\"0ms\"", "{ label = \"near\", rate = 50 }"), @r#"
    error: far.toml:17: rtt is a factor, but rtt=near sets none
    hint: write rtt = "0ms" for no distance
    "#);
    insta::assert_snapshot!(said("rate = 100", "rtt = \"4ms\""), @"
    error: far.toml:10: unknown key rtt in [workload]
    hint: it belongs to [cluster]
    ");
    insta::assert_snapshot!(said("\"40ms\"", "\"forty\""), @r#"error: far.toml:17: invalid value 'forty' for '--rtt <TIME|A:B=TIME>': "forty" is not a distance: write links, a round-trip time such as 80ms, or DC1:DC2=20ms+DC1:DC3=80ms"#);
}

#[test]
fn a_question_about_the_disk_without_an_answer_is_reported_before_hours_are_spent() {
    let lab = lab();
    let modes = r#"name = "mode"
kind = "restart"
levels = [
  { label = "mmap", set = ["disk_access_mode=mmap"] },
  { label = "standard", set = ["disk_access_mode=standard"] },
]"#;
    let file = FILE.replace(
        "key = \"heap\"\nkind = \"restart\"\nlevels = [\"64M\", \"96M\"]",
        modes,
    );
    assert!(file.contains("mmap"), "{file}");
    lab.write("mode.toml", &file);
    let text = lab.done(&["experiment", "check", "mode.toml"]);
    let why =
        "\nnot testable here: the claim is about the disk, and there is no dataset ([populate])\n";
    assert!(text.contains(why), "{text}");
    let with_data = file.replace(
        "[[factor]]\nname",
        "[populate]\npartitions = 1000\n\n[[factor]]\nname",
    );
    lab.write("mode.toml", &with_data);
    let plan = lab.json(&["experiment", "plan", "mode.toml"]);
    let why = plan["not_testable"].as_str().expect("a reason");
    let small = "it is about the disk, and the dataset of 390 KiB is less than twice the ";
    assert!(why.starts_with(small), "{why}");
    assert!(lab.json(&["experiment", "plan", "heap.toml"])["not_testable"].is_null());
}

#[test]
fn what_is_not_there_is_reported() {
    let lab = lab();
    shot!(lab.run(&["experiment", "resume", "heap.toml"]), @"
    exit code: 2
    --- standard error
    error: no such experiment in the history: heap
    hint: start it: helenus experiment run heap.toml
    ");
    shot!(lab.run(&["experiment", "report", "e7"]), @"
    exit code: 2
    --- standard error
    error: no such experiment in the history: e7
    hint: `helenus experiment status` lists them
    ");
    shot!(lab.run(&["experiment", "status"]), @"
    exit code: 0
    --- standard output
    no experiment yet; `helenus experiment run FILE` starts one
    ");
}

#[test]
fn shipped_experiments_are_read() {
    // One of them is on a cluster in Kubernetes.
    let lab = kube_acts::lab();
    lab.done(&kube_acts::UP);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut files = 0;
    for entry in fs_err::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let path = path.to_str().expect("a name");
        if path.ends_with(".yaml") {
            lab.json(&["workload", "check", path]);
            continue;
        }
        let checked = lab.json(&["experiment", "check", path]);
        let combinations = checked["combinations"].as_array().map_or(0, Vec::len);
        assert!(combinations > 1, "{checked:#}");
        files += 1;
    }
    assert!(files > 0);
}

#[test]
fn files_of_older_versions_are_read() {
    let lab = TestLab::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copied = |folder: &str, ending: &str| -> Vec<String> {
        let entries = fs_err::read_dir(root.join(folder)).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let those = paths.filter(|path| path.extension().is_some_and(|e| e == ending));
        let copy = |path: std::path::PathBuf| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            lab.write(&name, &fs_err::read_to_string(&path).expect("a file"));
            name
        };
        those.map(copy).collect()
    };
    copied("experiments", "yaml");
    let old = copied("benches/runs/experiments", "toml");
    assert!(!old.is_empty());
    for name in old {
        lab.json(&["experiment", "check", &name]);
    }
}
