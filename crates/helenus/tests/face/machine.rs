//! `machine` and `plan`: machines by file, name and words; plans as tables, files and clusters.
//! Refuses plans that nothing can start, and files of another kind.

use crate::lab::TestLab;

/// A machine whose plan fits into any machine that runs the tests.
const SMALL: &str = "2 processors, 1 GB";

#[test]
fn a_snapshot_is_saved_and_read_back_and_planned_for() {
    let lab = TestLab::new();
    let words = "2 sockets x 32 cores, SMT, 4 NUMA nodes, 512 GB, 4 NVMe, 25 Gbit";
    shot!(lab.run(&["machine", "--from", words, "--save", "m.toml"]), @"
    exit code: 0
    --- standard output
    2 sockets × 32 cores, SMT, 4 NUMA nodes, 512 GiB, 4 NVMe

    processors  128 logical, 2 NUMA nodes a socket
    memory      512 GiB

    NUMA node  processors      memory  huge pages  distances
    0          0-15,64-79     128 GiB           –
    1          16-31,80-95    128 GiB           –
    2          32-47,96-111   128 GiB           –
    3          48-63,112-127  128 GiB           –

    disk     size  turns  scheduler  read-ahead  queue  node  mounted  model
    nvme0n1     –  no     –                   –      –     –
    nvme1n1     –  no     –                   –      –     –
    nvme2n1     –  no     –                   –      –     –
    nvme3n1     –  no     –                   –      –     –

    network  up         speed  MTU  node  addresses
    eth0     –   25000 Mbit/s    –     –
    --- standard error
    saved as m.toml
    ");
    let first = lab.done(&["plan", "--from", words, "--format", "json"]);
    let again = lab.done(&["plan", "--from", "m.toml", "--format", "json"]);
    assert_eq!(first, again);
    // Piped, it is the file; with a file it is a table.
    let piped = lab.done(&["plan", "--from", "m.toml"]);
    assert!(
        piped.starts_with("format = \"helenus.machine-plan/1\"\n"),
        "{piped}"
    );
    let table = lab.done(&["plan", "--from", "m.toml", "-o", "p.toml"]);
    assert!(
        table.contains("instance4  3     32: 48-63,112-127  128 GiB  31 GiB"),
        "{table}"
    );
    assert_eq!(
        fs_err::read_to_string(lab.path("p.toml")).expect("a plan"),
        piped
    );
    // It names the processors of whichever machine this is.
    let elsewhere = lab.run(&["up", "x", "--plan", "p.toml", "--dry-run"]);
    assert_eq!(elsewhere.code, "2", "{elsewhere}");
    let wrong = "p.toml: instance";
    assert!(elsewhere.to_string().contains(wrong), "{elsewhere}");
    assert!(elsewhere.to_string().contains("--pin none"), "{elsewhere}");
}

#[test]
fn wrong_machines_and_plans_are_refused_with_the_cure() {
    let lab = TestLab::new();
    shot!(lab.run(&["machine", "--from", "laptpo-6"]), @"
    exit code: 2
    --- standard error
    error: no such machine: laptpo-6
    hint: did you mean laptop-6?
    ");
    shot!(lab.run(&["plan", "--from", "8 coers, 64 GB"]), @r#"
    exit code: 2
    --- standard error
    error: "8 coers" does not describe a machine
    hint: did you mean cores?
    "#);
    shot!(lab.run(&["plan", "--from", "1 core, 200 MB"]), @"
    exit code: 2
    --- standard error
    error: 200 MiB of memory is too little for a node of Cassandra 5.0.9: the smallest needs 259 MiB
    hint: plan for a machine with more memory; the smallest node here is `helenus up --preset tiny`
    ");
    lab.write(
        "m.toml",
        "format = \"helenus.machine/1\"\n[processors]\nlogcal = 2\n",
    );
    shot!(lab.run(&["machine", "--from", "m.toml"]), @"
    exit code: 2
    --- standard error
    error: m.toml: line 3: unknown key logcal
    hint: did you mean logical?
    ");
    shot!(lab.run(&["up", "x", "--plan", "m.toml", "--dry-run"]), @r#"
    exit code: 2
    --- standard error
    error: m.toml: line 1: expected the format helenus.machine-plan/N, found "helenus.machine/1"
    hint: `helenus plan -o FILE` writes one
    "#);
    shot!(lab.run(&["up", "x", "--plan", "m.toml", "-n", "3"]), @"
    exit code: 2
    --- standard error
    error: the argument '--plan <FILE>' cannot be used with '--nodes <N>'

    Usage: helenus up --plan <FILE> <NAME>

    For more information, try '--help'.
    ");
}

#[test]
fn a_plan_of_one_instance_starts() {
    let lab = TestLab::fake("ready");
    let plan = lab.done(&["plan", "--from", SMALL, "--cassandra", "4.1"]);
    lab.write("p.toml", &plan);
    let dry = lab.done(&["up", "x", "--plan", "p.toml", "--heap", "128M", "--dry-run"]);
    assert!(
        dry.starts_with("cluster x: Cassandra 4.1.10, preset bench, heap 128 MiB"),
        "{dry}"
    );
    for said in [
        "-XX:+UseG1GC -XX:MaxGCPauseMillis=500 -XX:+UseTransparentHugePages",
        "concurrent_reads: 32",
        "concurrent_writes: 2",
    ] {
        assert!(dry.contains(said), "{said}\n{dry}");
    }
    assert!(
        !dry.contains("-Xmn") && !dry.contains("UseSerialGC"),
        "{dry}"
    );
    lab.done(&["up", "x", "--plan", "p.toml"]);
}

/// A machine with two settings that do not pass.
const BAD: &str = r#"format = "helenus.machine/1"
[processors]
logical = 8
[memory]
total = 17179869184
swap = 0
[kernel.sysctl]
"vm.swappiness" = "1"
"vm.max_map_count" = "65530"
[[disks]]
name = "nvme0n1"
read_ahead_kib = 128
"#;

#[test]
fn production_settings_are_held_against_a_machine() {
    let lab = TestLab::new();
    lab.write("bad.toml", BAD);
    shot!(lab.run(&["doctor", "--production", "--from", "bad.toml"]), @"
    exit code: 1
    --- standard output
    2 of 4 items do not pass

    severity  item                   found  should be
    high      max-map-count          65530  1048575
    medium    read-ahead of nvme0n1  128    8

    max-map-count: every mapped SSTable takes maps; without one a node stops; Cassandra's own start-up checks
    read-ahead: small random reads throw away what is read ahead; Intel's tuning guide for Cassandra on Xeon, start-up script
      claimed effect: up to 100 % more throughput, for rows of about 1 KB, mostly read
      measured: read-ahead=8K -2.0 % (-5.2 % to +1.3 %) on two processors: no difference above 5.2 %; docs/experiments/xeon-guide.md
    ");
    let good = ["doctor", "--production", "--from", "4 processors, 8 GB"];
    let value = lab.json(&good);
    assert_eq!(value["format"], "helenus.host-settings/1");
    shot!(lab.run(&["doctor", "--fix", "swapiness"]), @"
    exit code: 2
    --- standard error
    error: no item swapiness
    hint: did you mean swappiness?
    ");
    shot!(lab.run(&["doctor", "--dry-run"]), @"
    exit code: 2
    --- standard error
    error: --dry-run is about --fix and --undo
    ");
    let undone = lab.json(&["doctor", "--undo", "--dry-run"]);
    assert_eq!(undone["restored"], serde_json::json!([]));
}

#[test]
fn settings_are_written_for_other_machines() {
    let lab = TestLab::new();
    let script = lab.done(&["doctor", "--script", "--from", "xeon-6767p"]);
    assert!(
        script.contains("put '8' /sys/block/nvme1n1/queue/read_ahead_kb"),
        "{script}"
    );
    lab.write("s.sh", &script);
    let checked = std::process::Command::new("sh")
        .arg("-n")
        .arg(lab.path("s.sh"))
        .status();
    assert!(checked.expect("a shell").success());
    let role = ["doctor", "--ansible", "role", "--from", "xeon-6767p"];
    shot!(lab.run(&role), @"
    exit code: 0
    --- standard error
    wrote role/files/cassandra-host-settings
    wrote role/files/cassandra-host-settings.service
    wrote role/files/cassandra.conf
    wrote role/handlers/main.yml
    wrote role/tasks/main.yml
    ");
    shot!(lab.run(&role), @"
    exit code: 2
    --- standard error
    error: role exists
    hint: name a new folder
    ");
}
