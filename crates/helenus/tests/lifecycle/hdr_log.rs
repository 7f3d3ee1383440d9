//! The interval log of a real run, read by Python's HdrHistogram: equal counts in every bucket.
//! Refuses to trust a reader of ours.

use crate::lab::{TestLab, not_run};
use helenus_model::histogram::Histogram;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Adds up the histograms of each tag and prints their buckets, by the highest value of each.
const READER: &str = r"
import json, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
hour = 3600 * 10**9
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, hour, 3))
sums, lines = {}, 0
while True:
    one = reader.get_next_interval_histogram()
    if one is None:
        break
    lines += 1
    sums.setdefault(one.get_tag(), HdrHistogram(1, hour, 3)).add(one)
buckets = {
    tag: [[int(b.value_iterated_to), int(b.count_added_in_this_iter_step)] for b in h.get_recorded_iterator()]
    for tag, h in sums.items()
}
print(json.dumps({'lines': lines, 'buckets': buckets}))
";

fn python(arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("python3").args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

type Buckets = BTreeMap<String, Vec<(u64, u64)>>;

/// The buckets of a phase's result by tag: service and response time, as the run counted them.
fn of_result(shown: &Value, phase: usize) -> Buckets {
    let operations = shown["result"]["phases"][phase]["operations"]
        .as_object()
        .expect("operations");
    let mut buckets = Buckets::new();
    for (name, one) in operations {
        for (measure, suffix) in [("service", "st"), ("response", "rt")] {
            let text = one[measure]["histogram"].as_str().expect("a histogram");
            let histogram = Histogram::from_text(text).expect("a histogram");
            buckets.insert(
                format!("{}-{suffix}", name.to_uppercase()),
                histogram.buckets().map(|b| (b.top_ns, b.count)).collect(),
            );
        }
    }
    buckets
}

fn of_python(log: &std::path::Path) -> (u64, Buckets) {
    let read = python(&["-c", READER, &log.to_string_lossy()]).expect("Python reads the log");
    let value: Value = serde_json::from_slice(&read).expect("JSON");
    let buckets = serde_json::from_value(value["buckets"].clone()).expect("buckets");
    (value["lines"].as_u64().expect("a count"), buckets)
}

#[test]
fn python_s_hdrhistogram_reads_equal_counts_in_every_bucket() {
    if python(&["-c", "import hdrh.log"]).is_none() {
        not_run(
            "an interval log read by Python's HdrHistogram",
            "pip install hdrhistogram for the python3 of PATH",
        );
        return;
    }
    let lab = TestLab::fake("serve");
    lab.measured(&[
        "bench",
        "--phases",
        "write,mixed",
        "--rate",
        "500",
        "--duration",
        "2s",
        "--warmup",
        "1s",
    ]);
    let shown = lab.json(&["history", "show", "@last"]);
    for (at, phase) in ["write", "mixed"].into_iter().enumerate() {
        let name = format!("{phase}.hdr");
        lab.done(&["history", "export", "r1", "--phase", phase, "--to", &name]);
        let (lines, mut read) = of_python(&lab.path(&name));
        let waits: Vec<String> = read
            .keys()
            .filter(|tag| tag.ends_with("-wt"))
            .cloned()
            .collect();
        let mut waited = 0;
        for tag in &waits {
            let buckets = read.remove(tag).expect("there");
            waited += buckets.iter().map(|(_, n)| n).sum::<u64>();
        }
        let ours = of_result(&shown, at);
        assert_eq!(read, ours, "{phase}");
        assert_eq!(waits.len() * 2, ours.len());
        let ended = ours.iter().filter(|(tag, _)| tag.ends_with("-st"));
        let ended: u64 = ended.flat_map(|(_, buckets)| buckets).map(|(_, n)| n).sum();
        assert_eq!(waited, ended, "each operation waited, if only for a moment");
        assert!(lines >= 2 * 3, "{lines} lines in {phase}");
    }
    lab.done(&[
        "history",
        "export",
        "r1",
        "--to",
        "all.hdr",
        "--with-warmup",
    ]);
    let (_, read) = of_python(&lab.path("all.hdr"));
    let tags: Vec<&str> = read.keys().map(String::as_str).collect();
    assert_eq!(
        tags,
        [
            "mixed.READ-rt",
            "mixed.READ-st",
            "mixed.READ-wt",
            "mixed.WRITE-rt",
            "mixed.WRITE-st",
            "mixed.WRITE-wt",
            "write.WRITE-rt",
            "write.WRITE-st",
            "write.WRITE-wt",
        ]
    );
    let count = |buckets: &[(u64, u64)]| buckets.iter().map(|(_, n)| n).sum::<u64>();
    let measured = count(&of_result(&shown, 0)["WRITE-st"]);
    assert!(
        count(&read["write.WRITE-st"]) > measured,
        "the warm-up is there when it is wanted"
    );
}

#[test]
fn the_log_of_a_stress_line_is_read_by_python_s_hdrhistogram() {
    if python(&["-c", "import hdrh.log"]).is_none() {
        not_run(
            "an interval log read by Python's HdrHistogram",
            "pip install hdrhistogram for the python3 of PATH",
        );
        return;
    }
    let lab = TestLab::fake("serve");
    assert_eq!(lab.run(&["up", "c"]).code, "0");
    let path = lab.path("stress.hdr");
    let file = format!("hdrfile={}", path.display());
    let said = lab.run(&[
        "stress",
        "--format",
        "json",
        "write",
        "n=600",
        "no-warmup",
        "-rate",
        "threads=8",
        "fixed=400/s",
        "-log",
        &file,
        "interval=500ms",
    ]);
    assert_eq!(said.code, "0", "{said}");
    let report: Value = serde_json::from_str(&said.out).expect("JSON");
    let (lines, read) = of_python(&path);
    let mut expected = of_result(&report["runs"][0], 0);
    assert!(lines >= 6, "{lines}");
    // The wait is no part of a result: its count is that of the others.
    let waits = read.get("WRITE-wt").expect("the wait");
    assert_eq!(waits.iter().map(|(_, n)| n).sum::<u64>(), 600);
    expected.insert("WRITE-wt".to_owned(), waits.clone());
    assert_eq!(read, expected);
}
