//! `history` of runs that were: the list, a run whole, tags, removal, exports, from one bench to the next.
//! Refuses the figures of this machine, and Cassandra: the generator answers itself.

use crate::json::shown;
use crate::lab::TestLab;
use serde_json::Value;

/// What differs from run to run beside the numbers that a list has in columns.
/// Whether a busy machine disqualifies a run is not asked here.
const FIGURES: [(&str, &str); 13] = [
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[when]"),
    (r"plan [0-9a-f]{12}", "plan [hash]"),
    (r"helenus {2,}\S+ \([^)]*\)", "helenus [version]"),
    (r"host .*", "host [machine]"),
    (r"\d+\.\d\d", "[ms]"),
    (r"generator: .*", "generator: [figures]"),
    (r"(caution|DISQUALIFYING) in .*\n  cure: .*\n", ""),
    (
        r"(complete|invalid) +(valid|caution|invalid)",
        "[state]  [verdict]",
    ),
    (
        r"(complete, started|invalid, started|verdict: .*)",
        "[verdict]",
    ),
    (r"([^ \n]) {2,}", "$1  "),
    (r"\n {2,}", "\n  "),
    // Which operations were slowest, and what nodes used meanwhile.
    (r"\n\nslowest(?s:.*?)\n\n\ngenerator", "\n\n\ngenerator"),
    // How many ended within a window of one second is the machine's business.
    (r"(write|read)  200  1\d\d  ", "$1  200  200  "),
];

macro_rules! shot_run {
    ($said:expr, @$snapshot:literal) => {{
        let mut settings = insta::Settings::clone_current();
        for (pattern, word) in FIGURES {
            settings.add_filter(pattern, word);
        }
        settings.bind(|| insta::assert_snapshot!($said.to_string(), @$snapshot));
    }};
}

/// A lab with two runs, r1 (tagged `first`) and r2.
fn with_runs() -> TestLab {
    let lab = TestLab::fake("serve");
    let bench = [
        "bench",
        "--phases",
        "write,read",
        "--rate",
        "200",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--arrivals",
        "constant",
    ];
    lab.measured(&[&bench[..], &["--seed", "7", "--tag", "first"]].concat());
    lab.measured(&[&bench[..], &["--seed", "8"]].concat());
    lab
}

fn ids(value: &Value) -> Vec<&str> {
    let list = value["runs"].as_array().expect("runs");
    list.iter()
        .filter_map(|run| run["id"].as_str().or(run.as_str()))
        .collect()
}

#[test]
fn the_list_and_a_run() {
    let lab = with_runs();
    shot_run!(lab.run(&["history"]), @"
    exit code: 0
    --- standard output
    run  when  state  verdict  workload  release  preset  tags  phase  rate  op/s  service p99  response p99
    r1  [when]  [state]  [verdict]  standard1  5.0.9  bench  first  write  200  200  –  –
      read  200  200  –  –
    r2  [when]  [state]  [verdict]  standard1  5.0.9  bench  write  200  200  –  –
      read  200  200  –  –
    times in ms, moments in UTC; – is a percentile with fewer than 10 samples above it
    ");
    for words in [&[][..], &["--limit", "1"], &["--tag", "first"]] {
        let listed = lab.done(&[&["history", "list"], words].concat());
        assert_eq!(
            listed,
            lab.done(&[&["history"], words].concat()),
            "{words:?}"
        );
    }
    shot_run!(lab.run(&["history", "show", "first"]), @"
    exit code: 0
    --- standard output
    run r1: [verdict] [when] UTC
    tags  first
    command  [HELENUS] bench --phases write,read --rate 200 --duration 1s --warmup 0s --arrivals constant --seed 7 --tag first
    helenus [version]
    cluster  Cassandra 5.0.9, 1 node, preset bench, JVM fake
    host [machine]
    workload  standard1, seed 7, plan [hash]
    place  experiment e1, trial 0, restart 0
    intervals  4
    phase  write: 200/s, 64 in flight, 0 ms warm-up, 1000 ms measured
    phase  read: 200/s, 64 in flight, 0 ms warm-up, 1000 ms measured

    phase  op  offered  done  failed  op/s  time  p50  p95  p99  p99.9  max
    write  200  200  0  200  response  [ms]  [ms]  –  –  [ms]
      service  [ms]  [ms]  –  –  [ms]
    read  200  200  0  200  response  [ms]  [ms]  –  –  [ms]
      service  [ms]  [ms]  –  –  [ms]
    times in ms; – is a percentile with fewer than 10 samples above it
    write, read: too short to judge whether it was steady


    generator: [figures]
    run r1, seed 7; [verdict]
    ");
    let listed = lab.json(&["history"]);
    assert_eq!(ids(&listed), ["r1", "r2"], "the newest last");
    insta::assert_snapshot!(shown(&listed), @r#"
    {
      "answer": "text",
      "comparisons": [],
      "format": "helenus.history/1",
      "runs": [
        {
          "began_wall_ns": "number",
          "id": "text",
          "jvm": "text",
          "phases": [
            {
              "achieved_per_s": "number",
              "in_flight": "number",
              "name": "text",
              "rate_per_s": "number",
              "response_p99_us": "null",
              "service_p99_us": "null",
              "verdict": "text"
            }
          ],
          "place": {
            "experiment": "text",
            "experiment_name": "null",
            "restart": "number",
            "restart_id": "number",
            "restart_known": "bool",
            "trial": "number",
            "trial_name": "null"
          },
          "plan_hash": "text",
          "preset": "text",
          "received": "bool",
          "release": "text",
          "running": "bool",
          "seed": "number",
          "state": "text",
          "tags": [
            "text"
          ],
          "verdict": "text",
          "workload": "text"
        }
      ]
    }
    "#);
    for (flags, runs) in [
        (&["--tag", "first"][..], &["r1"][..]),
        (&["--limit", "1"], &["r2"]),
        (&["--release", "4.1"], &[]),
        (&["--workload", "standard1"], &["r1", "r2"]),
        (&["--state", "broken"], &[]),
        (&["--state", "running"], &[]),
    ] {
        let listed = lab.json(&[&["history"], flags].concat());
        assert_eq!(ids(&listed), runs, "{flags:?}");
    }
    shot!(lab.run(&["history", "--tag", "second"]), @"
    exit code: 0
    --- standard output
    no run matches; `helenus history` lists them all
    ");
}

#[test]
fn a_run_as_json_is_what_bench_said() {
    let lab = TestLab::fake("serve");
    let said = lab.measured(&[
        "bench",
        "--phases",
        "write",
        "--rate",
        "200",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--format",
        "json",
    ]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let mut stored = lab.json(&["history", "show", "@last"]);
    assert_eq!(stored["result"], said["result"]);
    assert_eq!(stored["plan"], said["plan"]);
    assert_eq!(stored["command"], said["command"]);
    assert!(stored["cluster_plan"].is_object());
    for long in ["result", "plan", "cluster_plan"] {
        stored[long] = Value::Null;
    }
    insta::assert_snapshot!(shown(&stored), @r#"
    {
      "answer": "text",
      "cluster_plan": "null",
      "command": "text",
      "format": "helenus.stored-run/1",
      "header": {
        "cpus": [
          "number"
        ],
        "format": "helenus.sample/1",
        "monotonic_ns": "number",
        "pacing": "text",
        "pid": "number",
        "plan_hash": "text",
        "start_means": "text",
        "timer_resolution_ns": "number",
        "wall_ns": "number"
      },
      "helenus": "text",
      "host": {
        "arch": "text",
        "class_archive": "bool",
        "cores": "number",
        "kernel": "text",
        "memory": "number",
        "processor": "text"
      },
      "life": "text",
      "plan": "null",
      "result": "null",
      "run": "text",
      "summary": {
        "began_wall_ns": "number",
        "id": "text",
        "jvm": "text",
        "phases": [
          {
            "achieved_per_s": "number",
            "in_flight": "number",
            "name": "text",
            "rate_per_s": "number",
            "response_p99_us": "null",
            "service_p99_us": "null",
            "verdict": "text"
          }
        ],
        "place": {
          "experiment": "text",
          "experiment_name": "null",
          "restart": "number",
          "restart_id": "number",
          "restart_known": "bool",
          "trial": "number",
          "trial_name": "null"
        },
        "plan_hash": "text",
        "preset": "text",
        "received": "bool",
        "release": "text",
        "running": "bool",
        "seed": "number",
        "state": "text",
        "tags": [],
        "verdict": "text",
        "workload": "text"
      }
    }
    "#);
}

#[test]
fn tags_prune_and_names() {
    let lab = with_runs();
    shot!(lab.run(&["history", "show", "r9"]), @"
    exit code: 2
    --- standard error
    error: no such run: r9 (the newest is r2)
    hint: `@last` is the last run that has ended
    ");
    shot!(lab.run(&["history", "show", "frist"]), @"
    exit code: 2
    --- standard error
    error: no such run or tag: frist
    hint: did you mean first?
    ");
    shot!(lab.run(&["history", "show", "zzz"]), @"
    exit code: 2
    --- standard error
    error: no such run or tag: zzz
    hint: `helenus history` lists runs and their tags
    ");
    shot!(lab.run(&["history", "show", "cmp1"]), @"
    exit code: 2
    --- standard error
    error: no such comparison: cmp1
    hint: `helenus history --comparisons` lists them
    ");
    shot!(lab.run(&["history", "show", "r1..r2"]), @"
    exit code: 2
    --- standard error
    error: r1..r2 names several runs: r1, r2
    hint: name one of them
    ");
    shot!(lab.run(&["history", "tag", "r2", "r7"]), @r#"
    exit code: 2
    --- standard error
    error: "r7" cannot be a tag: it looks like a name that Helenus assigns
    hint: use a word such as before-upgrade, of letters, digits and . _ - + : /
    "#);
    shot!(lab.run(&["history", "tag", "r2", "second", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would tag r2: second
    ");
    shot!(lab.run(&["history", "tag", "r1,r2", "second"]), @"
    exit code: 0
    --- standard output
    tagged r1, r2: second
    ");
    shot!(lab.run(&["history", "tag", "r1", "second", "--remove", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "removed the tag second from r1",
      "format": "helenus.tagged/1",
      "dry_run": false,
      "tag": "second",
      "removed": true,
      "runs": [
        "r1"
      ]
    }
    "#);
    shot!(lab.run(&["history", "tag", "r1", "second", "--remove"]), @"
    exit code: 2
    --- standard error
    error: run r1 has no tag second
    hint: it has first
    ");
    shot!(lab.run(&["history", "prune", "--keep", "0"]), @"
    exit code: 0
    --- standard output
    nothing to remove
    ");
    shot!(lab.run(&["history", "prune", "--tag", "nobody"]), @"
    exit code: 2
    --- standard error
    error: no such run or tag: nobody
    hint: `helenus history` lists runs and their tags
    ");
    shot_run!(lab.run(&["history", "prune", "--keep", "1", "--tagged", "--dry-run"]), @"
    exit code: 0
    --- standard output
    run  when  state  verdict  workload  release  preset  tags  phase  rate  op/s  service p99  response p99
    r1  [when]  [state]  [verdict]  standard1  5.0.9  bench  first  write  200  200  –  –
      read  200  200  –  –
    would remove 1 run
    ");
    assert_eq!(
        ids(&lab.json(&["history"])),
        ["r1", "r2"],
        "a dry run removed something"
    );
    shot!(lab.run(&["history", "prune", "--state", "running"]), @"
    exit code: 2
    --- standard error
    error: runs under way are never removed
    hint: --state broken removes those whose process was killed
    ");
    shot!(lab.run(&["history", "prune", "r1", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "removed 1 run",
      "format": "helenus.pruned/1",
      "dry_run": false,
      "runs": [
        "r1"
      ],
      "comparisons": []
    }
    "#);
    assert_eq!(ids(&lab.json(&["history"])), ["r2"]);
}

#[test]
fn exports() {
    let lab = with_runs();
    shot!(lab.run(&["history", "export", "r1", "--to", "runs.csv", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would write r1 as csv to runs.csv
    ");
    assert!(!lab.path("runs.csv").exists(), "a dry run wrote something");
    shot!(lab.run(&["history", "export", "r1..r2", "--to", "runs.csv"]), @"
    exit code: 0
    --- standard output
    wrote r1, r2 as csv to runs.csv
    ");
    let csv = fs_err::read_to_string(lab.path("runs.csv")).expect("a file");
    insta::assert_snapshot!(csv.lines().next().unwrap_or_default(), @"run,began,state,tags,workload,release,preset,jvm,seed,plan_hash,start_means,experiment,trial,restart,phase,verdict,doubts,rate_per_s,achieved_per_s,in_flight,duration_s,backlog,abandoned,operation,offered,started,completed,failed,measure,count,min_us,mean_us,p50_us,p90_us,p95_us,p99_us,p999_us,p9999_us,max_us");
    // Two runs, two phases, each operation and all of them, four measures.
    assert_eq!(csv.lines().count(), 1 + 2 * 2 * 2 * 4);
    shot!(lab.run(&["history", "export", "r1", "--to", "runs.csv"]), @"
    exit code: 2
    --- standard error
    error: runs.csv already exists
    hint: --force overwrites it
    ");
    lab.done(&[
        "history",
        "export",
        "r1",
        "--to",
        "runs.csv",
        "--force",
        "--intervals",
    ]);
    let csv = fs_err::read_to_string(lab.path("runs.csv")).expect("a file");
    insta::assert_snapshot!(csv.lines().next().unwrap_or_default(), @"run,phase,stretch,counted,began,start_s,length_s,thread_cpu_us,operation,offered,started,completed,failed,service_count,service_mean_us,service_p50_us,service_p99_us,service_max_us,response_count,response_mean_us,response_p50_us,response_p99_us,response_max_us,wait_count,wait_mean_us,wait_p50_us,wait_p99_us,wait_max_us");
    shot!(lab.run(&["history", "export", "r1", "r2", "--as", "hdr"]), @"
    exit code: 2
    --- standard error
    error: an interval log holds one run, not r1, r2
    hint: its readers would merge equal tags: export the runs one by one
    ");
    shot!(lab.run(&["history", "export", "r1", "--as", "hdr", "--phase", "reed"]), @"
    exit code: 2
    --- standard error
    error: run r1 has no phase named reed
    hint: it has write, read
    ");
    shot!(lab.run(&["history", "export", "r1", "--to", "run.txt"]), @"
    exit code: 2
    --- standard error
    error: the form of run.txt is unknown
    hint: use --as json, csv or hdr, or end the name with .json, .csv or .hdr
    ");
    shot!(lab.run(&["history", "export", "r1", "--phase", "read"]), @"
    exit code: 2
    --- standard error
    error: --phase is for --as hdr
    hint: CSV and JSON name the phase of each row
    ");
    shot!(lab.run(&["history", "export", "r1", "--to", "no/such/run.hdr"]), @"
    exit code: 3
    --- standard error
    error: cannot write no/such/run.hdr: its folder does not exist
    hint: name a file in an existing folder that you can write to
    ");
    // A link, so that a device that is replaced is none of the machine's.
    std::os::unix::fs::symlink("/dev/full", lab.path("full.csv")).expect("a link");
    let export = ["history", "export", "r1", "--to", "full.csv"];
    shot!(lab.run(&[&export[..], &["--force"]].concat()), @"
    exit code: 3
    --- standard error
    error: cannot write full.csv: No space left on device (os error 28)
    hint: a disk is full: free some space
    ");
    assert_eq!(lab.run(&export).code, "3");
    shot!(lab.run(&["history", "export", "r1", "--to", "home", "--as", "csv", "--force"]), @"
    exit code: 2
    --- standard error
    error: cannot write home: it is a folder
    hint: name a file in it
    ");
    let named = lab.done(&["history", "export", "r1", "--to", "/dev/stdout"]);
    assert_eq!(named, lab.done(&["history", "export", "r1"]));
    let log = lab.done(&["history", "export", "r1", "--as", "hdr", "--phase", "read"]);
    let tags: Vec<&str> = log
        .lines()
        .filter_map(|l| l.strip_prefix("Tag=")?.split(',').next())
        .collect();
    assert_eq!(tags[..3], ["READ-st", "READ-rt", "READ-wt"], "{tags:?}");
    let all = lab.done(&["history", "export", "r1,r2"]);
    let all: Value = serde_json::from_str(&all).expect("JSON");
    assert_eq!(all["format"], "helenus.stored-runs/1");
    assert_eq!(all["runs"][1]["format"], "helenus.stored-run/1");
    assert_eq!(all["runs"][1]["result"]["format"], "helenus.run/1");
    assert_eq!(all["runs"][1]["run"], "r2");
}
