//! `ui` over runs and clusters of a lab: who gets in, what is there, and that looking changes nothing.
//! Refuses to pass in silence: without Playwright or Chromium it prints NOT RUN, and fails where HELENUS_NOT_RUN=fail says so.

use crate::lab::{PATIENCE, Running, TestLab, look, not_run};
use rustix::process::Signal;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lifecycle/site.py");

/// What the script ends with where the browser is missing.
const LACKING: i32 = 77;

struct Served {
    running: Running,
    /// Address and port.
    at: String,
    /// A slash, the token, a slash.
    base: String,
}

fn served(lab: &TestLab) -> Served {
    let mut running = lab.begin(&["ui"]);
    let mut url = String::new();
    look::wait_for("an address", PATIENCE, || {
        let out = running.out();
        let found = out
            .split_once("http://")
            .and_then(|(_, rest)| rest.split_once(';'));
        url = found.ok_or(out.clone())?.0.to_owned();
        Ok(())
    });
    let (at, path) = url.split_once('/').expect("a path");
    Served {
        at: at.to_owned(),
        base: format!("/{path}"),
        running,
    }
}

impl Served {
    /// The answer to a line, with this host's name.
    fn ask(&self, line: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.at).expect("it listens");
        write!(
            stream,
            "{line} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {}{path}", self.base), &self.at)
    }
}

/// A cluster, two runs, and a comparison of two sides of six.
fn lab() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    for tag in ["before", "after"] {
        let run = "run standard1 --cluster c --ops write=1 --count 50 --warmup 0s --tag";
        let words: Vec<&str> = run.split(' ').chain([tag]).collect();
        lab.measured(&words);
    }
    lab.run(&["compare", "before", "after"]);
    lab
}

#[test]
fn the_pages_are_there_for_who_has_the_token() {
    let lab = lab();
    let served = served(&lab);
    for (path, words) in [
        ("", "r2"),
        ("?tag=before", "r1"),
        ("run/r1", "standard1"),
        ("compare?a=r1&b=r2", "no claim"),
        ("comparisons", "cmp1"),
        ("comparison/cmp1", "no claim"),
        ("trend", "Measure"),
        ("experiments", "No experiment"),
        ("clusters", "node1"),
        ("log/c/node1", "Log of c/node1"),
    ] {
        let page = served.get(path);
        assert!(page.starts_with("HTTP/1.0 200"), "{path}\n{page}");
        assert!(page.contains(words), "{path}\n{page}");
        assert!(
            page.contains("Referrer-Policy: no-referrer"),
            "{path}\n{page}"
        );
    }
    assert!(!served.get("?tag=before").contains("run/r2"), "narrowed");
    for path in [
        "run/r9",
        "comparison/cmp9",
        "experiment/../x.toml",
        "log/../c/x",
        "log/c/x",
        "x",
    ] {
        let page = served.get(path);
        let code = &page[9..12];
        assert!(["400", "404"].contains(&code), "{path}\n{page}");
    }
    assert!(served.get("compare?a=r1").contains("Tick at least one"));
    // Looking keeps nothing: one comparison was made by hand.
    let kept = lab.json(&["history", "--comparisons"]);
    assert_eq!(kept["comparisons"].as_array().map(Vec::len), Some(1));
    ended(served);
}

#[test]
fn nothing_is_there_for_anybody_else() {
    let lab = TestLab::new();
    let served = served(&lab);
    let (base, at) = (served.base.clone(), served.at.clone());
    let mut wrong = base.clone();
    wrong.replace_range(1..2, if &base[1..2] == "0" { "1" } else { "0" });
    for line in [
        "GET /".to_owned(),
        format!("GET {wrong}"),
        format!("GET {}", &base[..base.len() - 1]),
        "GET /../".to_owned(),
        "GET /favicon.ico".to_owned(),
    ] {
        let said = served.ask(&line, &at);
        assert!(said.starts_with("HTTP/1.0 403"), "{line}\n{said}");
        assert!(!said.contains("Runs"), "{line}\n{said}");
    }
    // A name of another site that resolves to loopback.
    let said = served.ask(&format!("GET {base}"), "evil.example:80");
    assert!(said.starts_with("HTTP/1.0 403"), "{said}");
    let said = served.ask(&format!("POST {base}"), &at);
    assert!(said.starts_with("HTTP/1.0 405"), "{said}");
    assert!(served.get("").contains("No run"), "an empty history");
    ended(served);
    assert!(!lab.path("home/state").join(helenus_record::FILE).exists());
}

#[test]
fn pages_work_in_a_browser_in_both_themes_and_on_a_phone() {
    let lab = lab();
    let served = served(&lab);
    let url = format!("http://{}{}", served.at, served.base);
    let mut command = Command::new("python3");
    command.arg(SCRIPT).arg(&url);
    let output = command.output();
    ended(served);
    let cure = "pip install playwright, and apt install chromium";
    let output = match output {
        Ok(output) if output.status.code() != Some(LACKING) => output,
        _ => return not_run("the pages of ui in a browser", cure),
    };
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn ended(served: Served) {
    served.running.signal(Signal::INT);
    let said = served.running.end();
    assert_eq!(said.code, "0", "{said}");
}
