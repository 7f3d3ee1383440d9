//! The page of a comparison of levels: its plots, its numbers, its escaping.
//! Refuses to look at pictures: the browser's test does.

use helenus_model::consistency::Consistency;
use helenus_model::format::Format;
use helenus_model::level_runs::{Difference, Latency, LeftOut, Row, Table};
use helenus_model::levels::{Kind, Load, Prediction};
use helenus_model::sample::StartMeans;
use helenus_record::report::{is_report, levels_html};
use std::collections::BTreeMap;

fn row(level: Consistency, distance: &str, far_us: u64, median_ms: f64, more: Option<f64>) -> Row {
    Row {
        distance: distance.to_owned(),
        round_trips_us: BTreeMap::from([("DC1".to_owned(), 0), ("DC2".to_owned(), far_us)]),
        workload: Kind::Write,
        load: Load::Rate(100.0),
        operation: "write".to_owned(),
        level,
        again: false,
        runs: vec!["r1".to_owned()],
        behind: 0,
        op_rate: 100.0,
        latency: Latency {
            mean_ms: median_ms,
            median_ms: Some(median_ms),
            p95_ms: None,
            p99_ms: None,
            p999_ms: None,
            max_ms: median_ms * 3.0,
        },
        predicted: Some(Prediction {
            low_us: far_us,
            high_us: far_us,
            waits_for: "acknowledgements".to_owned(),
        }),
        difference: more.map(|ms| Difference {
            by_repeat_ms: vec![ms],
            mean_ms: ms,
            interval_ms: None,
            p_holm: None,
            predicted_ms: Some([20.0, 20.0]),
            parts_by_ms: Some(ms - 20.0),
        }),
    }
}

/// Two levels at two distances.
pub(crate) fn table() -> Table {
    use Consistency::{EachQuorum, LocalQuorum};
    Table {
        format: Format::new("levels", 1),
        comparison: "lv-7".to_owned(),
        reference: LocalQuorum,
        client_dc: "DC1".to_owned(),
        replicas: BTreeMap::from([("DC1".to_owned(), 3), ("DC2".to_owned(), 3)]),
        tcp_nodelay: Some(true),
        repeats: 1,
        rows: vec![
            row(LocalQuorum, "0ms", 0, 1.5, None),
            row(EachQuorum, "0ms", 0, 1.7, Some(0.2)),
            row(LocalQuorum, "<img>", 20_000, 1.6, None),
            row(EachQuorum, "<img>", 20_000, 22.6, Some(21.0)),
        ],
        left_out: vec![LeftOut {
            run: "r9".to_owned(),
            cell: "QUORUM write".to_owned(),
            why: "</script><script>".to_owned(),
        }],
        calibration: None,
        start_means: StartMeans::Socket,
    }
}

#[test]
fn latency_is_drawn_against_distance_by_level() {
    let page = levels_html(&table());
    assert!(is_report(&page));
    let parts = [
        "the largest difference: EACH_QUORUM waits 21.00\u{a0}ms longer than LOCAL_QUORUM (",
        "write at &lt;img&gt;)</h1>",
        "left out: 1",
        "inter_dc_tcp_nodelay true",
        "chart-levels-0",
        "data-name=\"EACH_QUORUM\"",
        "<title>EACH_QUORUM at 0ms: 1.70 ms</title>",
        "<title>EACH_QUORUM at &lt;img&gt;: 22.6 ms</title>",
        "data-name=\"EACH_QUORUM, predicted\"",
        "<td class=\"n\">22.60</td>",
    ];
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<img>"));
}

#[test]
fn one_level_alone_says_so() {
    let mut alone = table();
    alone.rows.truncate(1);
    alone.left_out.clear();
    let page = levels_html(&alone);
    assert!(page.contains("<h1>only one level: nothing to compare it with</h1>"));
    assert!(page.contains("all runs count") && !page.contains("id=\"left\""));
}
