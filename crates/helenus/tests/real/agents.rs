//! Real Cassandra under the load of agents: in the networks of data centres that are apart, and behind passwords and
//! certificates. Refuses to say how exact the distance is: what crosses it takes at least its round trip.

use crate::clusters::number;
use crate::home::Home;
use helenus_model::sample::{SampleLine, Stretch};
use helenus_model::samples::SampleReader;
use serde_json::Value;
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// Longest wait for an agent.
const WITHIN: Duration = Duration::from_secs(60);

const HELENUS: &str = env!("CARGO_BIN_EXE_helenus");

/// An agent that was started; ended where the test fails.
struct Agent(Child);

impl Agent {
    fn ends(mut self) {
        let begin = Instant::now();
        while self.0.try_wait().expect("our child").is_none() {
            assert!(
                begin.elapsed() < WITHIN,
                "an agent goes on after its command"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// The line with the token, once it is there.
fn token(file: &Path) -> String {
    let begin = Instant::now();
    loop {
        match fs_err::read_to_string(file) {
            Ok(line) => return line,
            Err(error) => assert!(begin.elapsed() < WITHIN, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The shortest service time of the measurement window that an agent sent, in milliseconds.
fn quickest_ms(file: &Path) -> f64 {
    let file = fs_err::File::open(file).expect("kept samples");
    let lines = SampleReader::new(BufReader::new(file)).map(|line| line.expect("a line"));
    let quickest = lines.filter_map(|line| match line {
        SampleLine::Interval(interval) if interval.stretch == Stretch::Measured => {
            let all = interval.operations.values();
            all.filter_map(|one| one.service.min_ns()).min()
        }
        _ => None,
    });
    quickest.min().expect("operations") as f64 / 1e6
}

pub(crate) fn agents_in_data_centres_that_are_apart_are_merged_on_one_clock() {
    let home = Home::new();
    home.helenus(&["up", "wan", "-n", "1:1", "--rtt", "60ms"])
        .ok();
    let report = a_run_of_two(&home, "near");
    let generators = report["generators"].as_array().expect("generators");
    for (one, half_way_ms) in generators.iter().zip([0.0, 30.0]) {
        // One machine has one clock; its error is half of the way to it.
        let (ahead, error) = (
            number(&one["clock_ahead_us"]),
            number(&one["clock_error_us"]),
        );
        assert!(ahead.abs() <= error, "{one}");
        assert!(
            (half_way_ms * 1e3..half_way_ms * 1e3 + 20e3).contains(&error),
            "{one}"
        );
    }
    // Both have the first data centre's node for a coordinator.
    let (near, far) = (home.path().join("near0"), home.path().join("near1"));
    assert!(quickest_ms(&near) < 60.0 && quickest_ms(&far) >= 60.0);
    let doubts = |report: &Value| {
        let doubts = report["result"]["phases"][0]["doubts"].to_string();
        doubts.contains("clock_unsure")
    };
    assert!(!doubts(&report), "{report}");
    // Further apart, the clock is known too roughly for intervals of a second.
    home.helenus(&["link", "wan", "--rtt", "300ms"]).ok();
    let report = a_run_of_two(&home, "far");
    assert!(doubts(&report), "{report}");
    home.helenus(&["rm", "wan"]).ok();
}

/// A run of two agents, one in each data centre, from the first one's network; each keeps what it sends under that name.
fn a_run_of_two(home: &Home, name: &str) -> Value {
    let mut tokens = String::new();
    let agents = ["DC1", "DC2"].map(|center| {
        let at = format!("wan/{center}");
        let address = home.helenus(&["exec", &at, "--", "hostname", "-I"]).ok();
        let listen = format!("{}:7077", address.stdout.trim());
        let n = u32::from(center == "DC2");
        let file = |what: &str| home.path().join(format!("{what}{n}")).display().to_string();
        let (own, keep) = (file(&format!("{name}.token")), file(name));
        let words = [
            "exec",
            &at,
            "--",
            HELENUS,
            "load-agent",
            "--listen",
            &listen,
        ];
        let more = ["--token-file", &own, "--keep", &keep];
        let agent = Agent(home.start(&[&words[..], &more].concat()));
        tokens.push_str(&token(Path::new(&own)));
        (agent, listen)
    });
    let file = home.path().join(format!("{name}.tokens"));
    fs_err::write(&file, tokens).expect("writes");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs_err::set_permissions(&file, private).expect("a mode");
    let file = file.display().to_string();
    let load = "run standard1 --ops write=1 --cluster wan --rate 100 --duration 5s --warmup 1s --format json";
    let mut words = vec!["exec", "wan/DC1", "--", HELENUS];
    words.extend(load.split(' '));
    for (_, address) in &agents {
        words.extend(["--agent", address]);
    }
    words.extend(["--agent-token-from", &file]);
    let said = home.helenus(&words);
    let report = said.json();
    assert_eq!(
        report["result"]["phases"][0]["total"]["completed"], 500,
        "{said}"
    );
    agents.into_iter().for_each(|(agent, _)| agent.ends());
    report
}

pub(crate) fn an_agent_gets_password_and_certificates_through_its_channel() {
    let home = Home::new();
    home.helenus(&["up", "c", "--auth", "--tls", "--client-auth"])
        .ok();
    // It has nothing of this home, and no variable at all.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let folder = elsewhere.path().display();
    let agent = format!(
        "cd {folder} && exec env -i HELENUS_HOME={folder}/h PATH=/usr/bin:/bin {HELENUS} load-agent --stdio --keep sent"
    );
    let load = "run standard1 --ops write=1 --cluster c --count 400 --format json --agent";
    let said = home.helenus(&[&load.split(' ').collect::<Vec<_>>()[..], &[&agent]].concat());
    let report = said.json();
    let phase = &report["result"]["phases"][0];
    assert_eq!(phase["total"]["completed"], 400, "{said}");
    let password = home.path().join("state/clusters/c/credentials/password");
    let password = fs_err::read_to_string(password).expect("a password");
    for text in [
        &said.stdout,
        &said.stderr,
        &fs_err::read_to_string(elsewhere.path().join("sent")).expect("samples"),
    ] {
        assert!(!text.contains(password.trim()), "the password is in {text}");
    }
    home.helenus(&["rm", "c"]).ok();
}
