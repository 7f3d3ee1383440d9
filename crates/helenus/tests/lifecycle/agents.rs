//! `run --agent` with real agents, over TLS and over standard streams, against a fake node: merged without loss, one that
//! dies, and everything that can be wrong with one. Refuses to end with an agent or a generator left.

use crate::lab::{HELENUS, PATIENCE, Running, TestLab, look};
use helenus_model::histogram::Histogram;
use helenus_model::result::RunResult;
use helenus_model::sample::{OperationInterval, SampleLine, Stretch};
use helenus_model::samples::SampleReader;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::TcpListener;

/// An agent that listens, with the address that it printed.
struct Agent {
    running: Running,
    address: String,
}

/// What is waited for, once it is there.
fn found<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let mut there = None;
    look::wait_for(what, PATIENCE, || {
        there = Some(look()?);
        Ok(())
    });
    there.expect("it was waited for")
}

/// So many agents that keep what they send in `sent0` …, and a file with all their tokens.
fn agents(lab: &TestLab, count: usize) -> (Vec<Agent>, String) {
    let begun: Vec<Running> = (0..count)
        .map(|n| {
            let (token, keep) = (format!("token{n}"), format!("sent{n}"));
            let words = ["load-agent", "--listen", "127.0.0.1:0", "--token-file"];
            lab.begin(&[&words[..], &[&token, "--keep", &keep]].concat())
        })
        .collect();
    let mut tokens = String::new();
    let mut all = Vec::new();
    for (n, running) in begun.into_iter().enumerate() {
        let line = found("an agent's token", || {
            let read = fs_err::read_to_string(lab.path(&format!("token{n}")));
            read.map_err(|error| error.to_string())
        });
        let address = line.split(' ').next().expect("an address").to_owned();
        tokens.push_str(&line);
        all.push(Agent { running, address });
    }
    let file = lab.write("tokens", &tokens);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs_err::set_permissions(&file, private).expect("a mode");
    (all, file.display().to_string())
}

fn run_words<'a>(load: &'a str, agents: &'a [Agent], tokens: &'a str) -> Vec<&'a str> {
    let mut words: Vec<&str> = load.split(' ').collect();
    for agent in agents {
        words.extend(["--agent", &agent.address]);
    }
    words.extend(["--agent-token-from", tokens]);
    words
}

const RUN: &str = "run standard1 --cluster c --seed 7 --format json --ops";

/// What an agent sent of the measurement window, added up; a line that was cut in the middle is none.
fn sent(lab: &TestLab, n: usize) -> BTreeMap<String, OperationInterval> {
    let file = fs_err::File::open(lab.path(&format!("sent{n}"))).expect("kept");
    let mut sum: BTreeMap<String, OperationInterval> = BTreeMap::new();
    for line in SampleReader::new(BufReader::new(file)).map_while(Result::ok) {
        if let SampleLine::Interval(interval) = line
            && interval.stretch == Stretch::Measured
        {
            for (name, one) in &interval.operations {
                sum.entry(name.clone()).or_default().merge(one);
            }
        }
    }
    sum
}

fn value(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|e| panic!("{e}: {said}"))
}

#[test]
fn what_four_agents_measured_is_merged_bucket_for_bucket() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let (agents, tokens) = agents(&lab, 4);
    let load =
        format!("{RUN} write=1,read=1 --rate 401 --duration 3s --warmup 1s --population 900");
    let said = value(&lab.measured(&run_words(&load, &agents, &tokens)));
    assert_eq!(said["plan"]["processes"], 4, "{said:#}");
    let result: RunResult = serde_json::from_value(said["result"].clone()).expect("a result");
    let operations = &result.phases[0].operations;
    assert_eq!(operations.len(), 2, "{said:#}");
    let mut sum: BTreeMap<String, OperationInterval> = BTreeMap::new();
    for n in 0..4 {
        let own = sent(&lab, n);
        // Each had its part.
        let completed: u64 = own.values().map(|one| one.completed).sum();
        assert!(completed > 200, "{n}: {completed}");
        for (name, one) in own {
            sum.entry(name).or_default().merge(&one);
        }
    }
    for (name, merged) in operations {
        let sum = &sum[name];
        let histogram = |of: &Option<helenus_model::result::Distribution>| -> Histogram {
            of.as_ref().expect("some").histogram.clone()
        };
        assert_eq!(merged.offered, sum.offered, "{name}");
        assert_eq!(merged.completed, sum.completed, "{name}");
        assert!(
            histogram(&merged.service) == sum.service,
            "service of {name}"
        );
        assert!(
            histogram(&merged.response) == sum.response,
            "response of {name}"
        );
        assert!(
            histogram(&merged.lateness) == sum.lateness,
            "lateness of {name}"
        );
        assert!(
            histogram(&merged.slot_wait) == sum.slot_wait,
            "slot wait of {name}"
        );
    }
    let offered: u64 = operations.values().map(|one| one.offered).sum();
    assert_eq!(offered, 1203, "{said:#}");
    // All of them, each with its clock: that of one machine.
    let generators = said["generators"].as_array().expect("generators");
    let names: Vec<&str> = generators
        .iter()
        .filter_map(|g| g["name"].as_str())
        .collect();
    let addresses: Vec<&str> = agents.iter().map(|agent| agent.address.as_str()).collect();
    assert_eq!(names, addresses);
    for one in generators {
        let number = |key: &str| {
            one[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key} of {one}"))
        };
        assert!(
            number("clock_ahead_us").abs() <= number("clock_error_us"),
            "{one}"
        );
        // The drift is there, and within what two measurements of one clock may differ by.
        assert!(number("clock_drift_us") <= 2e6, "{one}");
    }
    // The token was for this command.
    for agent in agents {
        let ended = agent.running.end();
        assert_eq!(ended.code, "0", "{ended}");
        assert!(ended.err.contains("is done"), "{ended}");
    }
}

#[test]
fn an_agent_that_is_killed_is_named_and_the_others_go_on() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let (agents, tokens) = agents(&lab, 4);
    let load = format!("{RUN} write=1 --rate 400 --duration 8s --warmup 1s");
    let running = lab.begin(&run_words(&load, &agents, &tokens));
    // Some of its intervals have come.
    look::wait_for("samples of the third agent", PATIENCE, || {
        let lines = fs_err::read_to_string(lab.path("sent2")).unwrap_or_default();
        match lines.matches("\"kind\":\"interval\"").count() {
            0..4 => Err(format!("{} bytes", lines.len())),
            _ => Ok(()),
        }
    });
    agents[2].running.signal(Signal::KILL);
    let said = running.end();
    assert_eq!(said.code, "5", "{said}");
    let report = value(&said.out);
    let phase = &report["result"]["phases"][0];
    let doubts = phase["doubts"].as_array().expect("doubts");
    let lost = doubts
        .iter()
        .find(|doubt| doubt["kind"] == "generator_lost");
    let lost = lost.unwrap_or_else(|| panic!("nobody lost in {phase:#}"));
    let about = lost["about"].as_str().expect("words");
    let named = format!(
        "({}: its connection broke): 1/4 of the load is missing",
        agents[2].address
    );
    assert!(
        about.starts_with("generator 3 of 4 ended ") && about.contains(&named),
        "{about}"
    );
    assert_eq!(
        report["generators"][2]["lost"], "its connection broke",
        "{report:#}"
    );
    // What the others did to the end is all there, and no more than all four did.
    let completed = |n: usize| sent(&lab, n)["write"].completed;
    let others = completed(0) + completed(1) + completed(3);
    let merged = phase["total"]["completed"].as_u64().expect("a count");
    assert_eq!(others, 2400, "{phase:#}");
    assert!(
        (others + 50..=others + completed(2)).contains(&merged),
        "{merged} of {others}"
    );
    for (n, agent) in agents.into_iter().enumerate() {
        let ended = agent.running.end();
        assert_eq!(ended.code, if n == 2 { "signal 9" } else { "0" }, "{ended}");
    }
}

#[test]
fn a_generator_that_is_killed_behind_a_command_is_named_with_its_signal() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let agent = |n: usize| format!("{HELENUS} load-agent --stdio --keep sent{n}");
    let load = format!("{RUN} write=1 --rate 200 --duration 6s --warmup 0s");
    let mut words: Vec<&str> = load.split(' ').collect();
    let (first, second) = (agent(0), agent(1));
    words.extend(["--agent", &first, "--agent", &second]);
    let running = lab.begin(&words);
    let generator = found("two generators that send", || {
        let sent = |n| fs_err::read_to_string(lab.path(&format!("sent{n}"))).unwrap_or_default();
        let both = (0..2).all(|n| sent(n).matches("\"kind\":\"interval\"").count() > 1);
        let all = lab.processes();
        let generators = all.iter().filter(|p| p.command.contains("__load"));
        match (both, generators.map(|p| p.pid).max()) {
            (true, Some(pid)) => Ok(pid),
            _ => Err(format!("{all:?}")),
        }
    });
    let pid = Pid::from_raw(generator).expect("a process");
    kill_process(pid, Signal::KILL).expect("a signal");
    let said = running.end();
    assert_eq!(said.code, "5", "{said}");
    let lost = "its generator was ended by signal 9): half of the load is missing";
    assert!(said.out.contains(lost), "{said}");
}

#[test]
fn a_conductor_that_is_stopped_or_killed_leaves_no_generator() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    for signal in [Signal::INT, Signal::KILL] {
        let (agents, tokens) = agents(&lab, 2);
        let load = format!("{RUN} write=1 --rate 100 --duration 60s");
        let running = lab.begin(&run_words(&load, &agents, &tokens));
        look::wait_for("samples", PATIENCE, || {
            let lines = fs_err::read_to_string(lab.path("sent1")).unwrap_or_default();
            lines.contains("interval").then_some(()).ok_or(lines)
        });
        running.signal(signal);
        let said = running.end();
        let code = if signal == Signal::INT {
            "130"
        } else {
            "signal 9"
        };
        assert_eq!(said.code, code, "{said}");
        for agent in agents {
            let ended = agent.running.end();
            assert_eq!(ended.code, "0", "{ended}");
        }
        let left = lab.processes();
        assert!(
            left.iter().all(|p| !p.command.contains("__load")),
            "{left:?}"
        );
        for file in ["sent0", "sent1", "token0", "token1"] {
            fs_err::remove_file(lab.path(file)).expect("a file");
        }
    }
}

#[test]
fn a_probe_and_its_phases_or_all_steps_of_a_stress_line_are_one_command() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let (all, tokens) = agents(&lab, 2);
    let load = "bench --cluster c --phases write,read --duration 1s --warmup 0s --format json";
    let said = value(&lab.measured(&run_words(load, &all, &tokens)));
    assert_eq!(
        said["result"]["phases"].as_array().expect("phases").len(),
        2,
        "{said:#}"
    );
    for agent in all {
        agent.running.end();
    }
    let at = format!("{HELENUS} load-agent --stdio");
    let line = ["write", "n=100", "-rate", "threads=4"];
    let said = lab.run(
        &[
            &["stress", "--cluster", "c", "--agent", &at, "--agent", &at],
            &line[..],
        ]
        .concat(),
    );
    assert_eq!(said.code, "0", "{said}");
    assert!(
        said.out.contains("Total partitions          :        100"),
        "{said}"
    );
}

/// A file with this token, for its owner only.
fn token(lab: &TestLab, name: &str, line: &str) -> String {
    let file = lab.write(name, line);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs_err::set_permissions(&file, private).expect("a mode");
    file.display().to_string()
}

#[test]
fn what_is_wrong_with_an_agent_is_one_error_with_a_cure() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let (mut all, tokens) = agents(&lab, 1);
    let agent = all.remove(0);
    let line = fs_err::read_to_string(lab.path("token0")).expect("a line");
    let run = |more: &[&str]| {
        let words = [
            "run",
            "standard1",
            "--ops",
            "write=1",
            "--cluster",
            "c",
            "--count",
            "20",
        ];
        let said = lab.run(&[&words[..], more].concat());
        // Addresses and fingerprints differ from run to run.
        let mut text = said.to_string();
        for word in line.split_whitespace() {
            text = text.replace(word, "OF-THE-AGENT");
        }
        text
    };
    let wrong = line.trim_end();
    let wrong = format!("{}{}\n", &wrong[..wrong.len() - 64], "0".repeat(64));
    let wrong = token(&lab, "wrong", &wrong);
    shot!(run(&["--agent", &agent.address, "--agent-token-from", &wrong]), @"
    exit code: 2
    --- standard error
    error: the load agent OF-THE-AGENT refused: the token is not the one that it printed
    hint: each start of `helenus load-agent` prints a new token: use the last one
    ");
    let other = format!("sha256:{} {}\n", "0".repeat(64), "0".repeat(64));
    let other = token(&lab, "other", &other);
    shot!(run(&["--agent", &agent.address, "--agent-token-from", &other]), @"
    exit code: 2
    --- standard error
    error: no token is known for the certificate of load agent OF-THE-AGENT: OF-THE-AGENT
    hint: use the line that this agent printed; if you did, another program answers at that address
    ");
    shot!(run(&["--agent", &agent.address]), @"
    exit code: 2
    --- standard error
    error: no token is known for load agent OF-THE-AGENT
    hint: --agent-token-from names a 0600 file or a variable with the lines that the agents printed
    ");
    shot!(run(&["--agent", "127.0.0.1:1", "--agent-token-from", &tokens]), @"
    exit code: 3
    --- standard error
    error: cannot reach the load agent [address]:[port]
      caused by: Connection refused (os error 111)
    hint: start `helenus load-agent --listen ADDRESS:PORT` there, or try the command alone
    ");
    let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = plain.local_addr().expect("bound").to_string();
    let answers = std::thread::spawn(move || {
        let (mut tcp, _) = plain.accept().expect("accepts");
        tcp.write_all(b"220 mail\r\n").expect("writes");
    });
    let said = run(&["--agent", &at, "--agent-token-from", &tokens]);
    shot!(said.replace(&at, "OF-THE-MAILER"), @"
    exit code: 3
    --- standard error
    error: cannot open an encrypted connection to the load agent OF-THE-MAILER
      caused by: received corrupt message of type InvalidContentType
    hint: check that `helenus load-agent --listen` printed this address
    ");
    answers.join().expect("no panic");
    shot!(run(&["--agent", "echo Welcome to this machine; cat"]), @r#"
    exit code: 3
    --- standard error
    error: `echo Welcome to this machine; cat` is not a load agent: it answered "Welcome to this machine"
    hint: the address must be that of `helenus load-agent --listen`; a command must print nothing before `helenus load-agent --stdio` does
    "#);
    shot!(run(&["--agent", "echo Permission denied >&2; exit 255"]), @"
    exit code: 3
    --- standard error
    error: the load agent `echo Permission denied >&2; exit 255` ended before it answered: Permission denied
    hint: try the command alone: `helenus load-agent --stdio` waits for a line on its standard input; with ssh use a key that needs no passphrase
    ");
    let old = r#"read -r l; echo '{"kind":"hello","format":"helenus.agent/1","helenus":"0.0.1 (old)","machine":{"cores":1,"memory":1,"arch":"a","kernel":"k","processor":"p"}}'; cat"#;
    let said = run(&["--agent", old]);
    // This version has its commit in it.
    assert!(
        said.contains("` is helenus 0.0.1 (old), this is "),
        "{said}"
    );
    assert!(
        said.contains("hint: install the same version of helenus on both machines"),
        "{said}"
    );
    shot!(run(&["--agent", "10.255.255.1:7077", "--agent-token-from", &tokens]), @"
    exit code: 2
    --- standard error
    error: the load agent 10.255.255.1:7077 is on another machine, and [address]:[port] can be reached from this one only
    hint: use --hosts with addresses that the agents reach, or agents on this machine
    ");
    shot!(run(&["--agent", "host1"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'host1' for '--agent <HOST:PORT|CMD>': "host1" is neither HOST:PORT, such as 10.0.0.5:7077, nor a command such as 'ssh host helenus load-agent --stdio'

    For more information, try '--help'.
    "#);
    shot!(run(&["--agent", &agent.address, "--processes", "2"]), @"
    exit code: 2
    --- standard error
    error: the argument '--agent <HOST:PORT|CMD>' cannot be used with '--processes <N>'

    Usage: helenus run --ops <NAME=N,…> --cluster <NAME> --count <N> --agent <HOST:PORT|CMD> <WORKLOAD>

    For more information, try '--help'.
    ");
    shot!(run(&["--agent", &agent.address, "--ledger"]), @"
    exit code: 2
    --- standard error
    error: the argument '--agent <HOST:PORT|CMD>' cannot be used with '--ledger [<FILE|auto>]'

    Usage: helenus run --ops <NAME=N,…> --cluster <NAME> --count <N> --agent <HOST:PORT|CMD> <WORKLOAD>

    For more information, try '--help'.
    ");
    shot!(run(&["--agent", &agent.address, "--agent-token-from", "HELENUS_NO_SUCH_VARIABLE"]), @"
    exit code: 2
    --- standard error
    error: the variable HELENUS_NO_SUCH_VARIABLE is not set
    hint: export HELENUS_NO_SUCH_VARIABLE, or name a 0600 file with a / in its path
    ");
    let garbage = token(&lab, "garbage", "a line\n");
    shot!(run(&["--agent", &agent.address, "--agent-token-from", &garbage]), @"
    exit code: 2
    --- standard error
    error: [LAB]/garbage has no tokens of load agents: line 1 has no fingerprint such as sha256:0123…, 64 digits
    hint: use the lines that `helenus load-agent --listen` printed
    ");
    fs_err::set_permissions(
        lab.path("garbage"),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .expect("a mode");
    shot!(run(&["--agent", &agent.address, "--agent-token-from", &garbage]), @"
    exit code: 2
    --- standard error
    error: others can read the tokens in [LAB]/garbage (mode 644)
    hint: chmod 600 [LAB]/garbage
    ");
    shot!(lab.run(&["run", "kv", "--count", "9", "--agent", "host1:7077"]), @"
    exit code: 2
    --- standard error
    error: agents need an existing cluster: an ephemeral one is for this machine
    hint: name it with --cluster or --hosts, with addresses that the agents can reach
    ");
    // Nobody's attempt took the agent's one command, and none is in the history.
    assert_eq!(
        lab.run(&["history"]).out.lines().count(),
        1,
        "{}",
        lab.run(&["history"])
    );
    let words = [
        "run",
        "standard1",
        "--ops",
        "write=1",
        "--cluster",
        "c",
        "--count",
        "20",
    ];
    lab.measured(
        &[
            &words[..],
            &["--agent", &agent.address, "--agent-token-from", &tokens],
        ]
        .concat(),
    );
    let ended = agent.running.end();
    assert_eq!(ended.code, "0", "{ended}");
    assert_eq!(ended.err.matches("was sent away").count(), 2, "{ended}");
}

#[test]
fn an_agent_at_work_sends_others_away() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let (all, tokens) = agents(&lab, 1);
    let load = format!("{RUN} write=1 --rate 100 --duration 4s");
    let first = lab.begin(&run_words(&load, &all, &tokens));
    look::wait_for("samples", PATIENCE, || {
        let lines = fs_err::read_to_string(lab.path("sent0")).unwrap_or_default();
        lines.contains("interval").then_some(()).ok_or(lines)
    });
    let second = lab.run(&run_words(&load, &all, &tokens));
    assert_eq!(second.code, "3", "{second}");
    assert!(
        second
            .err
            .contains("its token was used, and it works for another command"),
        "{second}"
    );
    let first = first.end();
    assert!(first.code == "0" || first.code == "5", "{first}");
}

#[test]
fn an_agent_waits_until_it_is_stopped_and_keeps_its_token_to_itself() {
    let lab = TestLab::new();
    let agent = lab.begin(&["load-agent", "--listen", "127.0.0.1:0", "--token-file", "t"]);
    let line = found("the token", || {
        fs_err::read_to_string(lab.path("t")).map_err(|error| error.to_string())
    });
    let mode = fs_err::metadata(lab.path("t"))
        .expect("there")
        .permissions();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o600
    );
    let secret = line.split_whitespace().last().expect("a token").to_owned();
    agent.signal(Signal::INT);
    let said = agent.end();
    assert_eq!(said.code, "130", "{said}");
    assert!(!said.to_string().contains(&secret), "{said}");
    let log = fs_err::read_to_string(lab.path("home/state/helenus.log")).unwrap_or_default();
    assert!(!log.contains(&secret), "{log}");
    // Without a file it is printed, for whoever reads standard output.
    let mut agent = lab.begin(&["load-agent", "--listen", "127.0.0.1:0", "--format", "json"]);
    let printed = found("the line", || {
        serde_json::from_str::<Value>(&agent.out()).map_err(|error| error.to_string())
    });
    assert_eq!(printed["format"], "helenus.load-agent/1");
    assert_eq!(
        printed["token"].as_str().map(str::len),
        Some(64),
        "{printed}"
    );
    agent.signal(Signal::INT);
    agent.end();
    shot!(lab.run(&["load-agent", "--listen", "192.0.2.1:7077"]), @"
    exit code: 3
    --- standard error
    error: cannot listen at 192.0.2.1:7077
      caused by: Cannot assign requested address (os error 99)
    hint: choose an address of this machine and a free port
    ");
    shot!(lab.run(&["load-agent"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      <--listen <ADDRESS:PORT>|--stdio>

    Usage: helenus load-agent <--listen <ADDRESS:PORT>|--stdio>

    For more information, try '--help'.
    ");
}

#[test]
fn garbage_and_silence_at_an_agent_s_standard_input_end_it() {
    let lab = TestLab::new();
    let mut command = lab.command(&["load-agent", "--stdio"]);
    command.stdin(std::process::Stdio::from(
        fs_err::File::open("/dev/zero")
            .expect("zeros")
            .into_parts()
            .0,
    ));
    let said = lab.begin_command(command).end();
    shot!(said, @r#"
    exit code: 3
    --- standard output
    {"kind":"refused","why":"greeting"}
    --- standard error
    error: load-agent: the first line is not that of a helenus of this version
    "#);
    shot!(lab.run(&["load-agent", "--stdio"]), @"
    exit code: 3
    --- standard error
    error: load-agent: nobody spoke
    ");
}
