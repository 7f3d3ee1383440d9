//! A cluster's life where nothing fails: up, list, pause, resume, kill, stop, start, logs, rm.
//! Refuses to believe the words alone: processes, ports and folders are looked at.

use crate::lab::{PATIENCE, TestLab, look, not_run, with_own_mounts};
use std::io::Write as _;
use std::net::TcpListener;

#[test]
fn one_node_from_up_to_rm() {
    let lab = TestLab::fake("ready");
    shot_live!(lab.run(&["up", "c"]), @"
    exit code: 0
    --- standard output
    node  address  pid  memory
    c/node1  [address]:[port]  [pid]  [size]

    cluster c is ready: Cassandra 5.0.9, preset tiny, 1 node after [time]
    next: helenus cql c -e 'SELECT release_version FROM system.local'
    ");
    let pids = lab.node_pids();
    assert_eq!(pids.len(), 1);
    shot_live!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    node  state  release  preset  address  pid  planned  anon  file  pss
    c/node1  running  5.0.9  tiny  [address]:[port]  [pid]  [size]  [size]  [size]  [size]
    ");
    shot!(lab.run(&["pause", "c/node1"]), @"
    exit code: 0
    --- standard output
    c: node1 paused
    ");
    assert_eq!(lab.states("c"), ("partly".into(), vec!["paused".into()]));
    shot!(lab.run(&["resume", "c"]), @"
    exit code: 0
    --- standard output
    c: node1 resumed
    ");
    assert_eq!(lab.states("c").0, "running");
    shot!(lab.run(&["stop", "c"]), @"
    exit code: 0
    --- standard output
    c: node1 stopped; the data stays
    ");
    assert!(!look::lives(pids[0]));
    assert_eq!(lab.states("c"), ("stopped".into(), vec!["stopped".into()]));
    shot_live!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    node  state  release  preset  address  pid  planned  anon  file  pss
    c/node1  stopped  5.0.9  tiny  [address]:[port]  [size]
    ");
    shot_live!(lab.run(&["start", "c"]), @"
    exit code: 0
    --- standard output
    node  address  pid  memory
    c/node1  [address]:[port]  [pid]  [size]

    cluster c is ready: Cassandra 5.0.9, preset tiny, 1 node after [time]
    next: helenus cql c -e 'SELECT release_version FROM system.local'
    ");
    let again = lab.node_pids();
    assert_eq!(again.len(), 1);
    assert_ne!(again, pids);
    shot!(lab.run(&["kill", "c/1"]), @"
    exit code: 0
    --- standard output
    c: node1 killed; the data stays
    ");
    assert!(!look::lives(again[0]));
    assert_eq!(lab.states("c").0, "stopped");
    shot_live!(lab.run(&["rm", "c"]), @"
    exit code: 0
    --- standard output
    removed c: 1 node (0 running), [size] in [LAB]/home/state/clusters/c
    ");
    assert!(!lab.cluster("c").exists());
    assert_eq!(look::claims_of(&lab.path("home")).len(), 0);
}

#[test]
fn three_nodes_and_one_of_them() {
    let lab = TestLab::fake("ready");
    shot_live!(lab.run(&["up", "c", "-n", "3", "--preset", "dev"]), @"
    exit code: 0
    --- standard output
    node  address  pid  memory
    c/node1  [address]:[port]  [pid]  [size]
    c/node2  [address]:[port]  [pid]  [size]
    c/node3  [address]:[port]  [pid]  [size]

    cluster c is ready: Cassandra 5.0.9, preset dev, 3 nodes after [time]
    next: helenus cql c -e 'SELECT release_version FROM system.local'
    ");
    let addresses = lab.json(&["env", "c"])["contact_points"].clone();
    let mut all: Vec<&str> = addresses
        .as_array()
        .expect("addresses")
        .iter()
        .filter_map(|a| a.as_str())
        .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 3, "{addresses}");
    lab.done(&["stop", "c/node2"]);
    let (state, nodes) = lab.states("c");
    assert_eq!(state, "partly");
    assert_eq!(nodes, ["running", "stopped", "running"]);
    // What is stopped already is no error, and what runs is not started twice.
    lab.done(&["stop", "c/2"]);
    let before = lab.node_pids();
    lab.done(&["start", "c"]);
    let after = lab.node_pids();
    assert!(before.iter().all(|pid| after.contains(pid)));
    assert_eq!(after.len(), 3);
    lab.done(&["start", "c"]);
    assert_eq!(lab.node_pids(), after);
}

#[test]
fn addresses_stay_over_stop_and_start() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    let before = lab.json(&["env", "c"]);
    lab.done(&["stop", "c"]);
    // Another cluster meanwhile does not get them.
    lab.done(&["up", "d", "-n", "2"]);
    lab.done(&["start", "c"]);
    assert_eq!(lab.json(&["env", "c"]), before);
    let other = lab.json(&["env", "d"]);
    for address in other["contact_points"].as_array().expect("addresses") {
        let mine = before["contact_points"].as_array().expect("addresses");
        assert!(!mine.contains(address), "{address}");
    }
}

#[test]
fn signals_to_a_node_that_does_not_run() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    lab.done(&["stop", "c"]);
    shot!(lab.run(&["kill", "c/node1"]), @"
    exit code: 4
    --- standard error
    error: node1 of c is not running
    hint: `helenus start c` starts it
    ");
    shot!(lab.run(&["pause", "c/node1"]), @"
    exit code: 4
    --- standard error
    error: node1 of c is not running
    hint: `helenus start c` starts it
    ");
    shot!(lab.run(&["resume", "c/node1"]), @"
    exit code: 4
    --- standard error
    error: node1 of c is not running
    hint: `helenus start c` starts it
    ");
    // Of a cluster that is down the plan is known: no error, but a line that says so.
    let status = lab.done(&["status", "c"]);
    assert!(status.contains("\nDN  127."), "{status}");
    let report = lab.json(&["status", "c"]);
    assert_eq!(report["nodes"][0]["reach"], "down", "{report:#}");
    shot_live!(lab.run(&["cqlsh", "c", "-e", "SELECT key FROM system.local"]), @"
    exit code: 4
    --- standard error
    error: node1 does not answer
      caused by: [address]:[port] refused the connection
    hint: is the node up, and is this its native transport port?
    ");
    shot!(lab.run(&["nodetool", "c", "info"]), @"
    exit code: 4
    --- standard error
    error: node1 of c is not running
    hint: `helenus start c` starts it
    ");
}

#[test]
fn a_node_where_a_cluster_is_meant_and_a_flag_where_a_program_is() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    shot!(lab.run(&["node", "add", "c/node1"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: c/node1
    hint: name the whole cluster, not one of its nodes: c
    ");
    shot!(lab.run(&["exec", "c", "--dc", "DC1", "--", "true"]), @"
    exit code: 2
    --- standard error
    error: --dc: No such file or directory (os error 2)
    hint: the program comes after NAME; a data centre or a node is part of the name: c/DC, c/node1
    ");
    lab.done(&["kill", "c/node1"]);
    let dead = lab.run(&["node", "decommission", "c/node1"]);
    assert!(dead.err.contains("`helenus node remove c/node1`"), "{dead}");
}

#[test]
fn status_of_busy_nodes_after_a_kill_has_its_table() {
    let lab = TestLab::fake("busy");
    lab.done(&["up", "c", "-n", "3"]);
    lab.done(&["kill", "c/node3"]);
    for node in ["node1", "node2"] {
        fs_err::write(lab.cluster("c").join(node).join("busy"), "").expect("a file");
    }
    let status = lab.run(&["status", "c"]);
    assert_eq!(status.code, "0", "{status}");
    let rows = |word: &str| status.out.lines().filter(|l| l.starts_with(word)).count();
    assert_eq!((rows("UN  "), rows("DN  ")), (2, 1), "{status}");
    // A dead process is down, and that is all there is to say of it.
    assert!(!status.err.contains("node3"), "{status}");
    lab.done(&["pause", "c/node2"]);
    let status = lab.run(&["status", "c"]);
    let rows = |word: &str| status.out.lines().filter(|l| l.starts_with(word)).count();
    assert_eq!((rows("UN  "), rows("DN  ")), (1, 2), "{status}");
    shot!(status.err, @"caution: node2 is paused: it is shown as down (DN), but its process is running");
}

#[test]
fn a_paused_node_can_be_stopped_and_killed_and_removed() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    lab.done(&["pause", "c"]);
    lab.done(&["stop", "c"]);
    assert_eq!(lab.states("c").0, "stopped");
    lab.done(&["start", "c"]);
    lab.done(&["pause", "c"]);
    lab.done(&["kill", "c"]);
    assert_eq!(lab.states("c").0, "stopped");
    lab.done(&["start", "c"]);
    lab.done(&["pause", "c"]);
    lab.done(&["rm", "c"]);
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
}

#[test]
fn a_port_that_is_taken_when_a_node_starts_again() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let env = lab.json(&["env", "c"]);
    let address = env["contact_points"][0].as_str().expect("an address");
    let port = u16::try_from(env["port"].as_u64().expect("a port")).expect("a port");
    lab.done(&["stop", "c"]);
    let taken = TcpListener::bind((address, port)).expect("the port is free now");
    let said = lab.run(&["start", "c"]);
    assert!(
        said.err.contains(&format!("port {port} of {address}")),
        "{said}"
    );
    let mut masked = said.clone();
    masked.err = said.err.replace(&port.to_string(), "[port]");
    shot!(masked, @"
    exit code: 3
    --- standard error
    error: port [port] of [address] is taken by another program
    hint: `ss -ltnp 'src [address]:[port]'` names the program; end it, then start again
    ");
    assert_eq!(lab.states("c").0, "stopped");
    drop(taken);
    lab.done(&["start", "c"]);
}

#[test]
fn logs_whole_and_their_end_and_as_they_grow() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let file = lab.cluster("c").join("node1/logs/system.log");
    fs_err::write(&file, "one\ntwo\nthree\n").expect("a log");
    assert_eq!(lab.done(&["logs", "c"]), "one\ntwo\nthree\n");
    assert_eq!(
        lab.done(&["logs", "c/node1", "--tail", "2"]),
        "two\nthree\n"
    );
    assert_eq!(lab.done(&["logs", "--tail", "9"]), "one\ntwo\nthree\n");
    let mut follow = lab.begin(&["logs", "c", "-f", "--tail", "1"]);
    look::wait_for("the end of the log", PATIENCE, || {
        has(&follow.out(), "three\n")
    });
    let mut log = fs_err::File::options()
        .append(true)
        .open(&file)
        .expect("a log");
    log.write_all(b"four\n").expect("a log");
    look::wait_for("the next line", PATIENCE, || {
        has(&follow.out(), "three\nfour\n")
    });
    follow.signal(rustix::process::Signal::INT);
    assert_eq!(follow.end().code, "0");
}

fn has(text: &str, wanted: &str) -> Result<(), String> {
    if text == wanted {
        Ok(())
    } else {
        Err(format!("{text:?}"))
    }
}

#[test]
fn files_of_a_node_are_there_and_only_its_owner_changes_them() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "--set", "concurrent_reads=9"]);
    let node = lab.cluster("c").join("node1");
    let yaml = fs_err::read_to_string(node.join("conf/cassandra.yaml")).expect("yaml");
    assert!(yaml.contains("concurrent_reads: 9"), "{yaml}");
    for file in [
        "conf/logback.xml",
        "conf/cassandra-rackdc.properties",
        "launch.json",
        "claim",
    ] {
        assert!(node.join(file).is_file(), "{file}");
    }
    let launch = fs_err::read_to_string(node.join("launch.json")).expect("a launch file");
    assert!(
        !launch.contains("HELENUS_HOME"),
        "a node sees an allow-list only: {launch}"
    );
}

#[test]
fn a_node_starts_beside_others_that_are_down() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "3"]);
    lab.done(&["stop", "c/2"]);
    lab.done(&["stop", "c/3"]);
    lab.done(&["start", "c/2", "--ready-within", "30s"]);
    let expected = ["running", "running", "stopped"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(lab.states("c"), ("partly".into(), expected));
    // One of two that died is started alone; the other is not waited for.
    lab.done(&["kill", "c/1"]);
    lab.done(&["kill", "c/2"]);
    lab.done(&["start", "c/1", "--ready-within", "30s"]);
    let expected = ["running", "stopped", "stopped"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(lab.states("c"), ("partly".into(), expected));
}

#[test]
fn a_node_that_a_killed_command_had_begun_is_taken_over() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let spec = lab.cluster("c").join("node1/launch.json");
    let written = || {
        fs_err::metadata(&spec)
            .and_then(|m| m.modified())
            .expect("a time")
    };
    for _ in 0..5 {
        lab.done(&["stop", "c"]);
        let before = written();
        let mut starting = lab.begin(&["start", "c"]);
        // `start` has seen that nobody lives: now another shim runs for the claim, as a killed command leaves one.
        while starting.runs() && written() == before {
            std::hint::spin_loop();
        }
        let spec = spec.to_string_lossy().into_owned();
        let mut other = lab.command(&["__node", &spec]);
        other.stdout(std::process::Stdio::null());
        other.stderr(std::process::Stdio::null());
        let mut other = other.spawn().expect("a shim");
        let said = starting.end();
        assert_eq!(said.code, "0", "{said}");
        assert_eq!(lab.states("c").0, "running");
        assert_eq!(lab.node_pids().len(), 1);
        // Whichever of the two lives.
        lab.done(&["kill", "c"]);
        other.wait().expect("its end");
    }
}

#[test]
fn a_program_finds_in_its_environment_what_env_prints() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "--dc", "east=1", "--dc", "west=2"]);
    let line = |text: &str, name: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name}=")));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
            .to_owned()
    };
    for target in ["c", "c/node2"] {
        let printed = lab.done(&["env", target, "--as", "dotenv"]);
        let found = lab.done(&["exec", target, "--", "env"]);
        for variable in printed.lines() {
            let name = variable.split('=').next().expect("a name");
            assert_eq!(line(&found, name), variable.replace('"', ""));
        }
        let bin = line(&printed, "HELENUS_BIN");
        let bin = bin.trim_start_matches("HELENUS_BIN=");
        assert!(
            line(&found, "PATH").starts_with(&format!("PATH={bin}:")),
            "{found}"
        );
    }
    // Of a data centre its own nodes come first.
    let found = lab.done(&["exec", "c/west", "--", "env"]);
    assert_eq!(
        line(&found, "CASSANDRA_DATACENTER"),
        "CASSANDRA_DATACENTER=west"
    );
    let second = lab.done(&["env", "c/node2", "--as", "dotenv"]);
    let second = line(&second, "CQLSH_HOST");
    assert_eq!(line(&found, "CQLSH_HOST"), second);
    let points = line(&found, "CASSANDRA_CONTACT_POINTS");
    assert!(
        points.ends_with(
            line(&lab.done(&["env", "c", "--as", "dotenv"]), "CQLSH_HOST")
                .trim_start_matches("CQLSH_HOST=")
        ),
        "{points}"
    );
}

#[test]
fn jmx_of_a_process_that_is_no_jvm_is_an_error_in_one_sentence() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    shot_live!(lab.run(&["jmx", "c/node1", "--dry-run"]), @"
    exit code: 0
    --- standard output
    node1 would be opened at service:jmx:rmi:///jndi/rmi://[address]:[port]/jmxrmi
    nothing was opened (--dry-run)
    ");
    let said = lab.run(&["jmx", "c"]);
    assert!(
        said.code == "4" && said.err.contains("does not answer"),
        "{said}"
    );
    lab.done(&["stop", "c"]);
    shot!(lab.run(&["jmx", "c", "--format", "json"]), @r#"
    exit code: 4
    --- standard error
    {"format":"helenus.error/1","exit_code":4,"error":"node1 of c is not running","caused_by":[],"log":[],"hint":"`helenus start c` starts it"}
    "#);
}

#[test]
fn a_node_of_another_pid_namespace_is_not_taken_for_stopped() {
    let mut lab = TestLab::fake("ready");
    if !rustix::process::geteuid().is_root() {
        lab.set("XDG_RUNTIME_DIR", lab.path("person"));
    }
    let script = "unshare --pid --fork \"$0\" rm c\necho rm: $?\n\
                  exec unshare --pid --fork \"$0\" list --quiet";
    let Some(mut command) = with_own_mounts(script) else {
        return not_run(
            "a separate PID namespace",
            "run as root, or allow user namespaces",
        );
    };
    lab.done(&["up", "c"]);
    let pids = lab.node_pids();
    lab.dress(&mut command);
    let said = lab.begin_command(command).end();
    assert!(said.out.contains("rm: 3"), "{said}");
    assert!(said.err.contains("another PID namespace"), "{said}");
    assert!(said.out.contains("running"), "{said}");
    assert_eq!(lab.node_pids(), pids);
    assert_eq!(lab.states("c").1, ["running"]);
}
