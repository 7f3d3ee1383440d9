//! What leaves the history: the interval log read by another reader, rows of CSV counted and named.
//! Refuses to trust the writer: what was written is read back by code that is not ours.

use crate::values::{SEED, beginning, header, host, interval, plan, result};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use helenus_model::histogram::Histogram;
use helenus_model::sample::Interval;
use helenus_model::steady::{Steadiness, SteadyState};
use helenus_record::hdr_log::{self, LogChoice};
use helenus_record::{Ending, History, HistoryError, RunBeginning, StoredRun, csv};
use std::collections::BTreeMap;

/// A run of two phases: a second of warm-up and two measured ones each.
fn stored(cut_s: f64) -> (StoredRun, Vec<Interval>) {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    let (plan, host) = (plan(SEED), host());
    let beginning = RunBeginning {
        tag: Some("a \"b\", c"),
        ..beginning(&plan, &host)
    };
    let run = history.begin_run(&beginning).expect("begins");
    history.set_header(run, &header(&plan)).expect("header");
    for phase in 0..2 {
        let seconds: Vec<_> = (0..3).map(|n| interval(phase, n)).collect();
        history.add_intervals(run, &seconds).expect("adds");
    }
    let mut result = result(&plan);
    result.phases[0].steadiness = Some(Steadiness {
        state: SteadyState::Steady,
        warmup_asked_s: 1.0,
        warmup_found_s: None,
        cut_s,
        change: None,
        change_at_s: None,
        points: 20,
    });
    history
        .finish_run(run, &result, Ending::Invalid)
        .expect("finishes");
    let intervals = history.intervals(run).expect("reads");
    (history.run(run).expect("reads"), intervals)
}

/// The log's histograms by tag, each tag's added up, as the other reader has them.
fn read(log: &[u8]) -> BTreeMap<String, hdrhistogram::Histogram<u64>> {
    let mut sums = BTreeMap::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.expect("a line of a log") else {
            continue;
        };
        let bytes = base64(line.encoded_histogram());
        let one: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .expect("a histogram");
        let max_ms = line.max() * 1e6 - one.max() as f64;
        assert!(
            max_ms.abs() < 1e3,
            "the column of the largest: {}",
            line.max()
        );
        assert_eq!(line.duration().as_millis(), 1000);
        let tag = line.tag().expect("a tag").as_str().to_owned();
        let empty = || hdrhistogram::Histogram::new(3).expect("three digits");
        sums.entry(tag)
            .or_insert_with(empty)
            .add(&one)
            .expect("adds");
    }
    sums
}

/// Base64 without padding's rules: the texts here are ours.
fn base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text
        .bytes()
        .filter_map(|c| alphabet.iter().position(|a| *a == c));
    let (mut held, mut bits, mut bytes) = (0_u32, 0, Vec::new());
    for digit in digits {
        held = held << 6 | digit as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}

fn log(choice: &LogChoice, cut_s: f64) -> String {
    let (run, intervals) = stored(cut_s);
    let mut bytes = Vec::new();
    let written = hdr_log::write(&mut bytes, &run, &intervals, choice).expect("writes");
    assert!(!written.lacks_wait);
    let text = String::from_utf8(bytes).expect("text");
    let lines = text.lines().filter(|l| l.starts_with("Tag=")).count();
    assert_eq!(written.lines, lines);
    text
}

fn buckets(of: &hdrhistogram::Histogram<u64>) -> Vec<(u64, u64)> {
    of.iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        .collect()
}

#[test]
fn another_reader_finds_every_count_in_its_bucket() {
    let (run, _) = stored(0.0);
    let read = read(log(&LogChoice::default(), 0.0).as_bytes());
    let result = run.result.expect("a result");
    let of = |phase: usize, response: bool| -> Vec<(u64, u64)> {
        let total = &result.phases[phase].total;
        let one = if response {
            &total.response
        } else {
            &total.service
        };
        one.as_ref()
            .expect("there")
            .histogram
            .buckets()
            .map(|b| (b.top_ns, b.count))
            .collect()
    };
    let tags: Vec<&str> = read.keys().map(String::as_str).collect();
    // The second phase has no schedule: nobody waited.
    assert_eq!(
        tags,
        [
            "read.READ-st",
            "write.WRITE-rt",
            "write.WRITE-st",
            "write.WRITE-wt"
        ]
    );
    assert_eq!(buckets(&read["write.WRITE-st"]), of(0, false));
    assert_eq!(buckets(&read["write.WRITE-rt"]), of(0, true));
    assert_eq!(buckets(&read["read.READ-st"]), of(1, false));
    let mut wait = Histogram::new();
    (0..4000).for_each(|_| wait.record(51_000));
    assert_eq!(
        buckets(&read["write.WRITE-wt"]),
        wait.buckets()
            .map(|b| (b.top_ns, b.count))
            .collect::<Vec<_>>()
    );
}

#[test]
fn the_head_is_cassandra_stress_s() {
    let log = log(&LogChoice::default(), 0.0);
    let head: Vec<&str> = log.lines().take(6).collect();
    assert_eq!(
        head,
        [
            "#Logging op latencies for Cassandra Stress",
            &format!("#helenus 0.1.0 run r1, seed {}", SEED.0),
            "#[Histogram log format version 1.3]",
            "#[BaseTime: 1750000000.000 (seconds since epoch)]",
            "#[StartTime: 1750000000.000 (seconds since epoch), Sun Jun 15 15:06:40 UTC 2025]",
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"",
        ]
    );
    // The header's anchor is half a second after the base, and the interval a second after the anchor.
    let first = log.lines().nth(6).expect("a line");
    assert!(
        first.starts_with("Tag=write.WRITE-st,1.500,1.000,0.600,HISTFAAAA"),
        "{first}"
    );
}

#[test]
fn one_phase_has_plain_tags_and_the_warm_up_is_left_out_unless_wanted() {
    let counts = |choice: &LogChoice, cut_s| {
        let read = read(log(choice, cut_s).as_bytes());
        let list = read.into_iter().map(|(tag, sum)| (tag, sum.len()));
        list.collect::<Vec<_>>()
    };
    let named = |n: u64| {
        ["WRITE-rt", "WRITE-st", "WRITE-wt"]
            .map(|tag| (tag.to_owned(), n))
            .to_vec()
    };
    let write = LogChoice {
        phase: Some("write".into()),
        with_warmup: false,
    };
    assert_eq!(counts(&write, 0.0), named(4000));
    assert_eq!(
        counts(&write, 1.0),
        named(2000),
        "what was cut as warm-up is warm-up"
    );
    let all = LogChoice {
        with_warmup: true,
        ..write
    };
    assert_eq!(counts(&all, 1.0), named(6000));
    let (run, intervals) = stored(0.0);
    let scan = LogChoice {
        phase: Some("scan".into()),
        with_warmup: false,
    };
    let error = hdr_log::write(&mut Vec::new(), &run, &intervals, &scan).expect_err("no such");
    assert_eq!(error.to_string(), "run r1 has no phase named scan");
    assert_eq!(error.hint().as_deref(), Some("it has write, read"));
}

#[test]
fn rows_have_a_cell_for_each_head() {
    let (run, intervals) = stored(0.0);
    let mut bytes = Vec::new();
    csv::write_heads(&mut bytes, csv::RESULT_COLUMNS).expect("writes");
    // Operation and total, four measures where there is a schedule, two where there is none.
    assert_eq!(
        csv::write_result(&mut bytes, &run).expect("writes"),
        2 * 4 + 2 * 2
    );
    let text = String::from_utf8(bytes).expect("text");
    let first = text.lines().nth(1).expect("a row");
    assert!(first.contains(",\"a \"\"b\"\", c\","), "{first}");
    for line in text.lines() {
        // The one quoted cell has a comma of its own.
        let own = usize::from(line.contains('"'));
        assert_eq!(
            line.split(',').count(),
            csv::RESULT_COLUMNS.len() + own,
            "{line}"
        );
    }
    let mut bytes = Vec::new();
    csv::write_heads(&mut bytes, csv::INTERVAL_COLUMNS).expect("writes");
    let rows = csv::write_intervals(&mut bytes, &run, &intervals, true).expect("writes");
    assert_eq!(rows, 6);
    let text = String::from_utf8(bytes).expect("text");
    for line in text.lines() {
        assert_eq!(
            line.split(',').count(),
            csv::INTERVAL_COLUMNS.len(),
            "{line}"
        );
    }
    assert!(
        text.contains("r1,write,measured,true,2025-06-15T15:06:41.499Z,1.000000,1.000000,12345,write,2001,2001,2000,1,2000,"),
        "{text}"
    );
    assert!(text.contains("r1,write,warmup,false,"), "{text}");
}

#[test]
fn a_broken_run_has_intervals_and_no_result() {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    let (plan, host) = (plan(SEED), host());
    let run = history.begin_run(&beginning(&plan, &host)).expect("begins");
    let none = history.run(run).expect("reads");
    let choice = LogChoice::default();
    let error = hdr_log::write(&mut Vec::new(), &none, &[], &choice).expect_err("nothing");
    assert_eq!(error.to_string(), "run r1 is broken and has no intervals");
    history.set_header(run, &header(&plan)).expect("header");
    let some = history.run(run).expect("reads");
    let written = hdr_log::write(&mut Vec::new(), &some, &[interval(0, 1)], &choice);
    assert_eq!(written.expect("writes").lines, 3);
    let mut old = interval(0, 1);
    old.operations.get_mut("write").expect("there").wait.clear();
    let written = hdr_log::write(&mut Vec::new(), &some, &[old], &choice).expect("writes");
    assert_eq!((written.lines, written.lacks_wait), (2, true));
    let error = csv::write_result(&mut Vec::new(), &some).expect_err("no result");
    assert!(matches!(error, HistoryError::Lacks { .. }), "{error}");
}
