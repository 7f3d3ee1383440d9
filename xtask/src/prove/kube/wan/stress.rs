//! The stress lines of the document about three data centres, against the pods: writes and mixed at three levels.
//! Refuses to call a line passed that helenus cannot run on Kubernetes yet.

use super::super::super::host::Watch;
use super::super::lab::Lab;
use super::super::sheet::{Sheet, Verdict};
use super::cql::Statements;
use serde_json::{Value, json};
use std::error::Error;

/// Levels and the keyspaces that the document names after them.
const LEVELS: [(&str, &str); 3] = [
    ("LOCAL_QUORUM", "local_quorum"),
    ("EACH_QUORUM", "each_quorum"),
    ("QUORUM", "quorum"),
];

/// What is run at each level; the document has 1,000,000 operations.
const LINES: [(&str, &[&str]); 2] = [
    ("write", &["write"]),
    ("mixed", &["mixed", "ratio(write=1,read=3)"]),
];
const OPERATIONS: u64 = 20_000;

/// The flag that says where the line runs.
const ON: &str = "--on";

/// All lines; each keyspace is dropped before the next.
pub(super) fn run(
    lab: &Lab,
    sheet: &mut Sheet,
    name: &str,
    copies: &[(String, usize)],
    statements: &mut Statements<'_>,
) -> Result<(), Box<dyn Error>> {
    let schema = schema(copies);
    let target = format!("kube:{name}");
    let first = first_pod(lab, name)?;
    // The words of a line are free: an unknown flag would be taken for one of them.
    let help = lab.run(&["stress", "--help"])?.well("stress --help")?.out;
    let there = help.split_whitespace().any(|word| word == ON);
    for (level, keyspace) in LEVELS {
        for (kind, head) in LINES {
            let what = format!("stress {kind} at {level}");
            if !there {
                let said = format!("helenus stress has no {ON} yet");
                sheet.record(&what, Verdict::NotRun, &said)?;
                continue;
            }
            let watch = Watch::begin()?;
            let line = line(head, level, &schema, keyspace);
            let mut words = vec!["stress", ON, &target, "--format", "json"];
            words.extend(line.iter().map(String::as_str));
            let ran = lab.run(&words)?;
            let said = ran.said();
            let report = ran.json().unwrap_or(Value::Null);
            let outcome = Outcome::of(&report);
            let verdict = Verdict::of(ran.code == 0 && outcome.whole());
            let text = match ran.code {
                0 => outcome.text(),
                code => format!("exit code {code}: {said}"),
            };
            let facts = json!({
                "command": words.join(" "),
                "code": ran.code,
                "seconds": ran.took.as_secs_f64(),
                "outcome": outcome.facts(),
                "said": said,
            });
            sheet.found(&what, verdict, &text, &facts, Some((watch, 0.0)))?;
        }
        statements.run(&first, &format!("DROP KEYSPACE IF EXISTS {keyspace}"))?;
    }
    Ok(())
}

/// A pod that takes statements.
fn first_pod(lab: &Lab, name: &str) -> Result<Value, Box<dyn Error>> {
    let status = lab.json(&["kube", "status", name])?;
    let pod = status["pods"][0].clone();
    match pod.is_object() {
        true => Ok(pod),
        false => Err("a status without pods".into()),
    }
}

fn schema(copies: &[(String, usize)]) -> String {
    let copies: Vec<String> = copies.iter().map(|(dc, n)| format!("{dc}={n}")).collect();
    format!(
        "replication(strategy=NetworkTopologyStrategy,{})",
        copies.join(",")
    )
}

/// The document's line, but for the number of operations and where it goes.
fn line(head: &[&str], level: &str, schema: &str, keyspace: &str) -> Vec<String> {
    let mut words: Vec<String> = head.iter().map(|word| (*word).to_owned()).collect();
    words.extend([
        format!("n={OPERATIONS}"),
        "no-warmup".to_owned(),
        format!("cl={level}"),
        "-rate".to_owned(),
        "threads=50".to_owned(),
        "-schema".to_owned(),
        schema.to_owned(),
        format!("keyspace={keyspace}"),
    ]);
    words
}

/// What a line did.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    success: bool,
    completed: u64,
    failed: u64,
    rate: f64,
    median_ms: Option<f64>,
    p99_ms: Option<f64>,
}

impl Outcome {
    fn of(report: &Value) -> Self {
        let phase = &report["runs"][0]["result"]["phases"][0];
        let total = &phase["total"];
        let failed = total["failed"].as_object();
        let failed = failed.map_or(0, |all| all.values().filter_map(Value::as_u64).sum());
        let ms = |key: &str| total["service"][key].as_f64().map(|us| us / 1e3);
        Self {
            success: report["success"] == true,
            completed: total["completed"].as_u64().unwrap_or_default(),
            failed,
            rate: phase["achieved_per_s"].as_f64().unwrap_or_default(),
            median_ms: ms("p50_us"),
            p99_ms: ms("p99_us"),
        }
    }

    /// Whether it did all operations, without an error.
    fn whole(&self) -> bool {
        self.success && self.failed == 0 && self.completed >= OPERATIONS
    }

    fn text(&self) -> String {
        let ms = |value: Option<f64>| value.map_or("?".to_owned(), |ms| format!("{ms:.1} ms"));
        format!(
            "{} operations, {} failed, {:.0}/s, median {}, p99 {}",
            self.completed,
            self.failed,
            self.rate,
            ms(self.median_ms),
            ms(self.p99_ms)
        )
    }

    fn facts(&self) -> Value {
        json!({
            "success": self.success,
            "completed": self.completed,
            "failed": self.failed,
            "achieved_per_s": self.rate,
            "median_ms": self.median_ms,
            "p99_ms": self.p99_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_documents_but_for_its_length() {
        let copies = [("DC1".to_owned(), 3), ("DC2".to_owned(), 2)];
        let line = line(LINES[1].1, "EACH_QUORUM", &schema(&copies), "each_quorum");
        assert_eq!(
            line.join(" "),
            "mixed ratio(write=1,read=3) n=20000 no-warmup cl=EACH_QUORUM -rate threads=50 -schema \
             replication(strategy=NetworkTopologyStrategy,DC1=3,DC2=2) keyspace=each_quorum"
        );
    }

    #[test]
    fn a_line_did_all_or_it_did_not() {
        let report = |completed: u64, failed: Value| {
            json!({"success": true, "runs": [{"result": {"phases": [{
                "achieved_per_s": 500.4,
                "total": {"completed": completed, "failed": failed, "service": {"p50_us": 1500.0}},
            }]}}]})
        };
        let whole = Outcome::of(&report(20_000, Value::Null));
        assert!(whole.whole());
        assert_eq!(
            whole.text(),
            "20000 operations, 0 failed, 500/s, median 1.5 ms, p99 ?"
        );
        assert!(!Outcome::of(&report(19_999, Value::Null)).whole());
        assert!(!Outcome::of(&report(20_000, json!({"timeout": 1}))).whole());
        assert_eq!(Outcome::of(&Value::Null), Outcome::default());
    }
}
