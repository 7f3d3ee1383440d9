//! Pages of the site from values: what they list, where they lead, and names that are no HTML.

use crate::values::run;
use helenus_record::report::{ClusterLine, Narrowed, NodeLine, Site};
use helenus_record::{Measure, PhaseSummary, RunSummary, Series};

const SITE: Site<'_> = Site { base: "/token" };

/// Text that would be a script, an attribute or an element where it is not escaped.
const HOSTILE: &str = "<script>alert(1)</script>\"' onclick=x &amp;";

fn summary(value_ms: f64, at: u64) -> RunSummary {
    let mut summary = run(&["write"], 20, 500).report().run.summary.clone();
    summary.began_wall_ns = at * 3_600_000_000_000;
    summary.id = format!("r{at}").parse().expect("a name");
    summary.phases = vec![PhaseSummary {
        name: "write".to_owned(),
        rate_per_s: Some(1000.0),
        in_flight: 64,
        achieved_per_s: Some(999.0),
        service_p99_us: Some(value_ms * 900.0),
        response_p99_us: Some(value_ms * 1e3),
        verdict: summary.verdict,
    }];
    summary
}

fn hostile() -> RunSummary {
    let mut summary = summary(5.0, 1);
    summary.workload = HOSTILE.to_owned();
    summary.release = Some(HOSTILE.to_owned());
    summary.tags = vec![HOSTILE.to_owned()];
    for phase in &mut summary.phases {
        phase.name = HOSTILE.to_owned();
    }
    summary
}

#[track_caller]
fn harmless(page: &str) {
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(!page.contains("\"' onclick"), "{page}");
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "{page}"
    );
    // One script, allowed by its hash; nothing from elsewhere.
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert!(page.contains("default-src 'none'"), "{page}");
    let before = page.split("<script>").next().unwrap_or_default();
    assert!(!before.contains("http://"), "{page}");
    assert!(!before.contains("https://"), "{page}");
}

#[test]
fn names_are_text_on_every_page() {
    let narrowed = Narrowed {
        tag: HOSTILE.to_owned(),
        ..Narrowed::default()
    };
    harmless(&SITE.runs(&[hostile()], &narrowed, Some(HOSTILE)));
    let series = Series::of(vec![hostile()], None, Measure::P99, None);
    harmless(&SITE.trend(series.as_ref(), &narrowed, (HOSTILE, "p99")));
    harmless(&SITE.message("Not found", HOSTILE));
    harmless(&SITE.log("c", HOSTILE, HOSTILE));
    let node = NodeLine {
        name: HOSTILE.to_owned(),
        state: HOSTILE.to_owned(),
        place: HOSTILE.to_owned(),
        address: HOSTILE.to_owned(),
        pid: Some(1),
        memory: String::new(),
        tokens: String::new(),
    };
    harmless(&SITE.clusters(&[ClusterLine {
        name: HOSTILE.to_owned(),
        state: HOSTILE.to_owned(),
        release: HOSTILE.to_owned(),
        problem: HOSTILE.to_owned(),
        nodes: vec![node],
    }]));
}

#[test]
fn runs_lead_to_their_reports_and_only_ended_ones_can_be_compared() {
    let mut under_way = summary(5.0, 2);
    under_way.state = helenus_record::RunState::Broken;
    under_way.running = true;
    let page = SITE.runs(&[under_way, summary(5.0, 1)], &Narrowed::default(), None);
    for link in ["/token/run/r1", "/token/run/r2", "/token/trend"] {
        assert!(page.contains(&format!("href=\"{link}\"")), "{link}\n{page}");
    }
    assert!(page.contains("name=\"a\" value=\"r1\""), "{page}");
    assert!(!page.contains("value=\"r2\""), "{page}");
    assert!(page.contains(">running<"), "{page}");
    assert!(!page.contains("Older runs"), "{page}");
}

#[test]
fn a_trend_draws_each_run_and_marks_its_change() {
    let values = |at: u64| if at < 31 { 10.0 } else { 20.0 };
    let wave = |at: u64| 1.0 + 0.02 * ((at * 7) % 5) as f64;
    let runs = (1..=60).map(|at| summary(values(at) * wave(at), at));
    let series = Series::of(runs.collect(), Some("write"), Measure::P99, None).expect("runs");
    assert_eq!(series.steps.len(), 1, "{}", series.answer());
    assert_eq!(series.steps[0].at, 30);
    let page = SITE.trend(Some(&series), &Narrowed::default(), ("", "p99"));
    assert_eq!(page.matches("<circle").count(), 60);
    assert_eq!(page.matches("class=\"step\"").count(), 1);
    assert!(page.contains("1 lasting change in 60 runs"), "{page}");
    // Runs that came from elsewhere, in whatever order, are in that of their beginning.
    let mixed = (1..=60).rev().map(|at| summary(values(at) * wave(at), at));
    let again = Series::of(mixed.collect(), Some("write"), Measure::P99, None);
    assert_eq!(again, Some(series));
}

#[test]
fn closed_loops_of_other_sizes_are_of_another_kind() {
    let of = |at: u64, in_flight: u32| {
        let mut run = summary(5.0, at);
        for phase in &mut run.phases {
            (phase.rate_per_s, phase.in_flight) = (None, in_flight);
        }
        run
    };
    let runs = (1..=9).map(|at| of(at, if at % 3 == 0 { 64 } else { 8 }));
    let series = Series::of(runs.collect(), None, Measure::Throughput, None).expect("runs");
    assert_eq!((series.runs.len(), series.left_out), (3, 6));
    // With a schedule the slots are room, and no setting of what is measured.
    let paced = (1..=9).map(|at| {
        let mut run = summary(5.0, at);
        run.phases[0].in_flight = u32::try_from(at).expect("small");
        run
    });
    let series = Series::of(paced.collect(), None, Measure::P99, None).expect("runs");
    assert_eq!(series.runs.len(), 9);
}

#[test]
fn a_report_gets_the_navigation_and_is_read_again_while_it_grows() {
    let report = helenus_record::report::run_html(&run(&["write"], 20, 500).report());
    let page = SITE.around(&report, Some(3));
    assert!(page.contains("http-equiv=\"refresh\" content=\"3\""));
    assert!(page.contains("<nav class=\"site\""));
    assert!(!SITE.around(&report, None).contains("refresh"));
}
