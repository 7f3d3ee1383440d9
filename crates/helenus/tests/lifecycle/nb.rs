//! `nb` on a fake node that serves: the phases of NoSQLBench's cql-iot, its timers, and no password anywhere.
//! Refuses numbers of times: counts are known, the machine's speed is not.

use crate::lab::TestLab;
use serde_json::Value;

/// `key=value` of a timer.
fn value(timer: &str, name: &str) -> f64 {
    let at = timer.find(&format!(" {name}=")).expect(name) + name.len() + 2;
    let text: String = timer[at..].chars().take_while(|c| *c != ',').collect();
    text.parse().expect("a number")
}

#[test]
fn a_line_of_nosqlbench_runs_and_ends_with_its_timers() {
    let lab = TestLab::fake("serve");
    assert_eq!(lab.run(&["up", "c"]).code, "0");
    let line = "nb cql-iot rampup-cycles=60 cyclerate=200 main-cycles=0.2k write_ratio=1 read_ratio=0 async=100 --progress console:1s -v";
    let refused = lab.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(refused.code, "2", "{refused}");
    let line = line.replace("0.2k", "200");
    let said = lab.run(&line.split(' ').collect::<Vec<_>>());
    let timer = |name: &str| {
        let name = format!("type=TIMER, name=cqliot_default_{name}, ");
        let line = said.out.lines().find(|line| line.starts_with(&name));
        line.unwrap_or_else(|| panic!("{name}: {said}")).to_owned()
    };
    assert!(
        timer("rampup.cycles.responsetime").contains("count=60, "),
        "{said}"
    );
    let main = timer("main.cycles.responsetime");
    assert!(main.contains("count=200, "), "{said}");
    assert!(
        value(&main, "min") > 0.0 && value(&main, "max") >= value(&main, "p99"),
        "{main}"
    );
    assert!(main.ends_with("rate_unit=events/second, duration_unit=microseconds"));
    timer("main.cycles.servicetime");
    assert!(!said.out.contains("verify"), "{said}");
}

#[test]
fn a_password_of_the_line_reaches_no_disk_and_is_warned_of() {
    let lab = TestLab::fake("serve");
    assert_eq!(lab.run(&["up", "c"]).code, "0");
    let env = lab.run(&["env", "c", "--format", "json"]);
    let env: Value = serde_json::from_str(&env.out).expect("JSON");
    let host = env["contact_points"][0].as_str().expect("an address");
    let hosts = format!("hosts={host}");
    let words = [
        "nb",
        "cql-iot",
        &hosts,
        "read_ratio=0",
        "rampup-cycles=20",
        "main-cycles=20",
    ];
    let login = ["username=me", "password=hunter2"];
    let said = lab.run(&[&words[..], &login].concat());
    assert!(said.err.contains("passfile=FILE"), "{said}");
    assert!(
        !said.err.contains("hunter2") && !said.out.contains("hunter2"),
        "{said}"
    );
    let listed = lab.run(&["history", "--format", "json"]);
    assert!(!listed.out.contains("hunter2"), "{listed}");
    let found = std::process::Command::new("grep")
        .args(["-rl", "hunter2"])
        .arg(lab.path("."))
        .output()
        .expect("grep runs");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
