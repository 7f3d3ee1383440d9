//! Pages of known readings, word for word, and laws of every page.
//! Refuses a metric of the dashboard that no page has.

use super::*;
use crate::sample::OperationInterval;
use crate::telemetry::{CompactionSample, Event, HOST, PoolSample};

fn reading(source: &str, at_s: u64, seen: Seen) -> Reading {
    Reading {
        source: source.to_owned(),
        at_ns: at_s * 1_000_000_000,
        seen,
    }
}

fn node() -> NodeSample {
    NodeSample {
        cpu_us: 1_500_000,
        anon_bytes: 200 << 20,
        threads: 90,
        written_bytes: Some(4096),
        answered: true,
        pools: vec![PoolSample {
            name: "MutationStage".to_owned(),
            active: 2,
            pending: 7,
            blocked_so_far: 1,
        }],
        compactions: vec![CompactionSample {
            id: "1".to_owned(),
            keyspace: "ks\"1".to_owned(),
            table: "t".to_owned(),
            task: "compaction".to_owned(),
            done: 0.5,
        }],
        ..NodeSample::default()
    }
}

fn interval(stretch: Stretch, times_ms: &[u64]) -> Interval {
    let mut operation = OperationInterval {
        offered: times_ms.len() as u64 + 1,
        started: times_ms.len() as u64,
        completed: times_ms.len() as u64,
        rows: times_ms.len() as u64,
        ..OperationInterval::default()
    };
    operation.failed.insert(FailureKind::ReadTimeout, 1);
    for ms in times_ms {
        operation.service.record(ms * 1_000_000);
        operation.response.record(ms * 2_000_000);
    }
    Interval {
        phase: 0,
        stretch,
        start_ns: 0,
        end_ns: 1_000_000_000,
        thread_cpu_ns: 0,
        operations: BTreeMap::from([("read".to_owned(), operation)]),
        tenths: Vec::new(),
        slowest: Vec::new(),
        traced: Vec::new(),
        coordinators: BTreeMap::new(),
    }
}

fn board() -> Board {
    let mut board = Board::new("c", ["node1", "node2"].map(str::to_owned));
    board.see(&reading("node1", 1, Seen::Node(node())));
    let host = HostSample {
        busy_us: 3_000_000,
        stolen_us: 500_000,
        total_us: 10_000_000,
        ours_us: 2_000_000,
        run_queue: 3,
        ..HostSample::default()
    };
    board.see(&reading(HOST, 1, Seen::Host(host)));
    let event = Event {
        what: EventKind::Collection,
        to_ns: 1_030_000_000,
        text: String::new(),
    };
    board.see(&reading("node1", 1, Seen::Event(event)));
    board.interval("main", &interval(Stretch::Warmup, &[1]));
    board.interval("main", &interval(Stretch::Measured, &[1, 2, 40]));
    board.interval("main", &interval(Stretch::Measured, &[3]));
    board
}

fn value(page: &str, sample: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(sample));
    line.and_then(|rest| rest.trim().parse().ok())
}

#[test]
fn a_page_says_what_was_seen() {
    let page = board().page();
    let of = |sample: &str| value(&page, sample);
    assert_eq!(
        of("helenus_node_up{cluster=\"c\",node=\"node1\"}"),
        Some(1.0)
    );
    assert_eq!(
        of("helenus_node_up{cluster=\"c\",node=\"node2\"}"),
        Some(0.0)
    );
    assert_eq!(
        of("helenus_node_cpu_seconds_total{cluster=\"c\",node=\"node1\"}"),
        Some(1.5)
    );
    assert_eq!(
        of("helenus_node_read_bytes_total{cluster=\"c\",node=\"node1\"}"),
        None
    );
    assert_eq!(
        of("helenus_pool_pending{cluster=\"c\",node=\"node1\",pool=\"MutationStage\"}"),
        Some(7.0)
    );
    let task = "helenus_sstable_tasks{cluster=\"c\",node=\"node1\",keyspace=\"ks\\\"1\",table=\"t\",task=\"compaction\"}";
    assert_eq!(of(task), Some(1.0));
    let event = "{cluster=\"c\",node=\"node1\",event=\"collection\"}";
    assert_eq!(of(&format!("helenus_node_events_total{event}")), Some(1.0));
    assert_eq!(
        of(&format!("helenus_node_event_seconds_total{event}")),
        Some(0.03)
    );
    assert_eq!(
        of("helenus_host_cpu_seconds_total{by=\"others\"}"),
        Some(1.0)
    );
    assert_eq!(of("helenus_host_cpu_seconds_total{by=\"idle\"}"), Some(6.5));
    let measured = "phase=\"main\",window=\"measured\",operation=\"read\"";
    assert_eq!(
        of(&format!("helenus_run_completed_total{{{measured}}}")),
        Some(4.0)
    );
    assert_eq!(
        of(&format!("helenus_run_offered_total{{{measured}}}")),
        Some(6.0)
    );
    let failed = format!("helenus_run_failed_total{{{measured},failure=\"read_timeout\"}}");
    assert_eq!(of(&failed), Some(2.0));
    let bucket = |le: &str| {
        of(&format!(
            "helenus_run_service_seconds_bucket{{{measured},le=\"{le}\"}}"
        ))
    };
    assert_eq!(bucket("0.0005"), Some(0.0));
    assert_eq!(bucket("0.005"), Some(3.0));
    assert_eq!((bucket("0.05"), bucket("+Inf")), (Some(4.0), Some(4.0)));
    let sum = of(&format!("helenus_run_service_seconds_sum{{{measured}}}")).unwrap();
    assert!((sum - 0.046).abs() < 0.001, "{sum}");
    assert!(page.ends_with("# EOF\n"));
}

#[test]
fn a_node_that_is_no_longer_seen_is_down() {
    let mut board = board();
    board.see(&reading(HOST, 6, Seen::Host(HostSample::default())));
    let page = board.page();
    let up = "helenus_node_up{cluster=\"c\",node=\"node1\"}";
    assert_eq!(value(&page, up), Some(0.0));
    assert!(!page.contains("helenus_node_threads{"), "{page}");
}

/// As the standard has it: a family begins once, all its samples follow, and counters end in `_total`.
#[test]
fn every_sample_stands_in_its_family() {
    let page = board().page();
    let mut families: BTreeMap<&str, &str> = BTreeMap::new();
    let mut now = "";
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(families.insert(name, kind).is_none(), "{name} begins twice");
            now = name;
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(name == now && name.ends_with(unit), "{line}");
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let suffix = name
                .strip_prefix(now)
                .unwrap_or_else(|| panic!("{line} in {now}"));
            let allowed: &[&str] = match families[now] {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_count", "_sum"],
                _ => &[""],
            };
            assert!(allowed.contains(&suffix), "{line}");
        }
    }
    assert!(families.len() > 20);
}

#[test]
fn the_dashboard_asks_for_what_the_page_has() {
    let page = {
        let mut board = board();
        board.generator = Some(GeneratorSample::default());
        let sample = NodeSample {
            read_bytes: Some(1),
            ..node()
        };
        board.see(&reading("node1", 1, Seen::Node(sample)));
        board.page()
    };
    let dashboard = grafana();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut asked = 0;
    for target in panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
    {
        let expr = target["expr"].as_str().unwrap();
        for word in expr.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if word.starts_with("helenus_") {
                assert!(
                    page.contains(&format!("\n{word}{{")) || page.contains(&format!("\n{word} ")),
                    "{word}"
                );
                asked += 1;
            }
        }
    }
    assert!(asked > panels.len());
    insta::assert_snapshot!(scrape(&["127.0.0.1:9095".to_owned()]), @r"
    scrape_configs:
      - job_name: helenus
        scrape_interval: 1s
        static_configs:
          - targets: ['127.0.0.1:9095']
    ");
}
