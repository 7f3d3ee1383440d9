//! Foreign text: statements, lock files, JDKs' release files, logs of collections, bars, histograms, sample lines, plans, parts of loads.
#![no_main]

use helenus_model::comparison::{Comparison, FailOn};
use helenus_model::gc_log::GcLog;
use helenus_model::histogram::Histogram;
use helenus_model::ingest::Part;
use helenus_model::release::{Lock, parse_java_version, parse_release_file};
use helenus_model::run_plan::RunPlan;
use helenus_model::sample::SampleLine;
use helenus_model::units::{Bytes, parse_duration, parse_rate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for statement in helenus_cql::split_statements(text) {
        assert!(text.contains(&statement.text));
    }
    let _refused = Lock::parse(text);
    let _refused = parse_release_file(text);
    let _refused = parse_java_version(text);
    let _refused = Bytes::parse(text);
    let _refused = parse_duration(text);
    let _refused = parse_rate(text);
    let _refused = text.parse::<Part>();
    match FailOn::parse(text) {
        Ok(bar) => {
            assert_eq!(bar.text(), text);
            let _refused = bar.check(&[("write", &[]), ("mixed", &["read", "write"])]);
        }
        Err(error) => assert!(!error.hint().is_empty()),
    }
    let mut log = GcLog::default();
    for stop in text.lines().filter_map(|line| log.take(line)) {
        let _short = stop.event("node1");
    }
    let _refused = Histogram::from_text(text);
    let _refused = serde_json::from_str::<SampleLine>(text);
    if let Ok(comparison) = serde_json::from_str::<Comparison>(text) {
        let _unknown = comparison.pairs_needed(1.05);
    }
    if let Ok(plan) = serde_json::from_str::<RunPlan>(text) {
        let _refused = plan.check();
    }
});
