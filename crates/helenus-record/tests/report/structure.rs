//! What must stand in a page whatever was measured, and what must never.
//! Refuses to look at pictures: the browser's test does.

use crate::levels;
use crate::values::{comparison, run};
use helenus_model::calibration::Step as Load;
use helenus_model::comparison::Claim;
use helenus_model::result::NodeAround;
use helenus_model::sample::{MeasuredFrom, SlowOperation};
use helenus_model::server_times::{Buckets, NodeTimers, ServerTimes, Timer};
use helenus_model::tail::{Cause, Overlap, Slow, Tail, TailAbove};
use helenus_model::telemetry::Emulated;
use helenus_model::trace::{Step, Trace, Traces};
use helenus_record::report::{
    ComparisonReport, comparison_html, comparison_markdown, is_report, levels_html, measured_on,
    run_html, run_markdown,
};
use std::collections::BTreeSet;

const HOSTILE: &str = "</script></title><img src=x onerror=alert(1)>\"'&|`[a](b)";

/// A page without the script that can run.
fn without_scripts(page: &str) -> String {
    let mut rest = page;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("<script>") {
        kept.push_str(before);
        rest = after.split_once("</script>").map_or("", |(_, after)| after);
    }
    kept + rest
}

/// The comparison's report with one command.
fn compared(change: impl FnOnce(&mut helenus_model::comparison::Comparison)) -> (String, String) {
    let mut value = comparison();
    change(&mut value);
    let repeat = ["helenus compare r20 r21".to_owned()];
    let report = ComparisonReport {
        name: "cmp3",
        comparison: &value,
        made_wall_ns: 1_795_250_000_000_000_000,
        repeat: &repeat,
    };
    (comparison_html(&report), comparison_markdown(&report))
}

#[test]
fn a_run_s_page_has_everything_in_its_order_and_stays_small() {
    let run = run(&["write", "read", "mixed"], 40, 300);
    let page = run_html(&run.report());
    assert!(page.len() < 400_000, "{} bytes", page.len());
    assert!(is_report(&page) && !is_report("<html>"));
    let parts = [
        "Content-Security-Policy",
        "default-src 'none'",
        "<h1>2,000 op/s held in all 3 phases",
        "valid, with cautions",
        "chart-latency",
        "<path class=\"heat heat0\" d=\"M",
        "<h2>What limits it</h2>",
        "the hypervisor gave CPU to others",
        "8.3 %",
        "cure: run on a host that is not shared",
        ": steady; 1.5 s more were cut as warm-up</li>",
        "chart-throughput",
        "chart-by-operation",
        "chart-percentiles-0",
        "chart-percentiles-2",
        "95 % interval by a block bootstrap",
        "1 of 2 replicas answered",
        "<details class=\"part\"><summary><h2>Events",
        "stopped by SIGSTOP",
        "chart-node-cpu",
        "chart-memory-2",
        "chart-pools",
        "chart-compactions",
        "chart-delay",
        "chart-host-cpu",
        "chart-run-queue",
        "concurrent_writes: 32",
        "--tag nightly --seed 7",
    ];
    let mut from = 0;
    for part in parts {
        let found = page[from..]
            .find(part)
            .unwrap_or_else(|| panic!("{part} is not there, or not in its place"));
        from += found;
    }
}

#[test]
fn a_calibration_stands_in_the_same_words_beside_everything_measured() {
    let step = Load {
        rate_per_s: Some(1000.0),
        in_flight: 1024,
        achieved_per_s: 1000.0,
        cpu_us: 46.2,
        late_us: [Some(40.0), Some(90.0)],
        response_us: Some([Some(71.0), Some(184.0)]),
        service_us: [Some(30.0), Some(100.0)],
    };
    let said = step.sentence();
    let mut run = run(&["write", "read"], 12, 200);
    let forms = |run: &crate::values::Synthetic| {
        let on = measured_on([&run.run].into_iter());
        [
            run_html(&run.report()),
            run_markdown(&run.report()),
            on.join("\n"),
        ]
    };
    assert!(forms(&run).iter().all(|form| !form.contains("calibrate")));
    let result = run.run.result.as_mut().expect("a result");
    result.phases[1].around.calibration = Some(step.clone());
    for form in forms(&run) {
        assert_eq!(form.matches(&said).count(), 1, "{form}");
    }
    let (page, markdown) = compared(|c| c.calibration = Some(step.clone()));
    let mut table = levels::table();
    table.calibration = Some(step);
    for form in [page, markdown, levels_html(&table)] {
        assert_eq!(form.matches(&said).count(), 1, "{form}");
    }
}

#[test]
fn traced_operations_have_a_section_and_their_words_are_text() {
    let mut run = run(&["write"], 12, 200);
    assert!(!run_html(&run.report()).contains("Traced operations"));
    let trace = Trace {
        session: HOSTILE.into(),
        operation: SlowOperation {
            operation: HOSTILE.into(),
            intended_ns: None,
            start_ns: 0,
            end_ns: 1_500_000,
            lateness_ns: 0,
            coordinator: None,
            connection: None,
            stream: None,
        },
        coordinator: Some(HOSTILE.into()),
        server_us: Some(900),
        steps: vec![Step {
            node: HOSTILE.into(),
            at_us: 120,
            activity: HOSTILE.into(),
        }],
    };
    let result = run.run.result.as_mut().expect("a result");
    result.phases[0].around.traces = Traces::of([trace].iter());
    let page = run_html(&run.report());
    let (_, section) = page.split_once("<h2>Traced operations").expect("a section");
    let (section, _) = section.split_once("</section>").unwrap_or((section, ""));
    for part in ["1.50", "0.900", "0.600", "87 %", "the slowest traced"] {
        assert!(section.contains(part), "{part} in {section}");
    }
    assert!(!page.contains(HOSTILE));
}

#[test]
fn the_nodes_own_times_have_a_section() {
    let mut run = run(&["write"], 12, 200);
    assert!(!run_html(&run.report()).contains("Server times"));
    let mut values = vec![0; 128];
    values[37] = 2400;
    let buckets = Buckets::of(&values, Some(3_600_000)).expect("a known form");
    let timers = |timers| NodeTimers { to_ns: 1, timers };
    let nodes = [
        (HOSTILE, timers([(Timer::Write, buckets)].into())),
        ("node2", timers([].into())),
    ];
    let seen = nodes.iter().map(|(node, timers)| (*node, timers));
    let result = run.run.result.as_mut().expect("a result");
    result.phases[0].around.server_times = ServerTimes::of(seen);
    let page = run_html(&run.report());
    let (_, section) = page.split_once("<h2>Server times").expect("a section");
    let (section, _) = section.split_once("</section>").unwrap_or((section, ""));
    for part in [
        "coordinator: write",
        "2,400",
        "1.50",
        "1.92",
        "of node2 are",
    ] {
        assert!(section.contains(part), "{part} in {section}");
    }
    assert!(!page.contains(HOSTILE));
}

#[test]
fn distance_has_a_table_where_there_was_one() {
    let mut run = run(&["write"], 12, 200);
    assert!(!run_html(&run.report()).contains("The distance"));
    let result = run.run.result.as_mut().expect("a result");
    result.phases[0].around.emulator = Some(Emulated {
        packets: 12_345,
        late_mean_us: Some(51.2),
        late_p50_us: Some(44),
        late_p99_us: Some(416),
        round_trip_us: Some(20_000),
        shortest: Some(["DC1".into(), HOSTILE.into()]),
        probed: true,
        cpu_us: 310_000,
        cpu_share: 0.031,
    });
    let page = run_html(&run.report());
    let (_, table) = page.split_once("<h2>The distance</h2>").expect("a section");
    let (table, _) = table.split_once("</section>").expect("its end");
    for part in [
        "12,345 (probed)",
        "0.051",
        "0.416",
        "DC1 – ",
        "20.0 ms",
        "2.1 %",
        "3.1 %",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
    assert!(!table.contains("<img"), "{table}");
}

#[test]
fn a_tail_has_a_section_with_its_causes_and_nodes_have_their_network() {
    let mut run = run(&["write"], 12, 200);
    let heading = "<h2>Whose tail it is</h2>";
    assert!(!run_html(&run.report()).contains(heading));
    let result = run.run.result.as_mut().expect("a result");
    let around = &mut result.phases[0].around;
    around.tail = Some(Tail {
        p99: None,
        p999: Some(TailAbove {
            above_us: 51_200.0,
            operations: 1_234,
            judged: 30,
            overlaps: vec![Overlap {
                cause: Cause::Collection,
                at: Some(HOSTILE.into()),
                share: 0.934,
                by_chance: Some(0.052),
                p_holm: Some(0.004),
                named: true,
            }],
        }),
        slowest: vec![Slow {
            operation: HOSTILE.into(),
            at_s: 1.25,
            time_ms: 52.0,
            service_ms: 49.5,
            coordinator: Some(HOSTILE.into()),
            connection: Some(0),
            stream: Some(17),
            overlapped: vec![Cause::Collection],
        }],
    });
    let node = NodeAround {
        sent_bytes: Some(3 << 20),
        retransmitted: Some(45_678),
        ..NodeAround::default()
    };
    around.nodes = [(HOSTILE.to_owned(), node)].into();
    around.connections_lost = 3_456;
    let page = run_html(&run.report());
    let (_, section) = page.split_once(heading).expect("a section");
    let (section, rest) = section.split_once("</section>").expect("its end");
    for part in [
        "51.2",
        "1,234",
        "garbage collection",
        "93 %",
        "5.2 %",
        "0.004",
        "named",
        "52.0",
        "17",
    ] {
        assert!(section.contains(part), "{part} in {section}");
    }
    for part in ["<h3>By node</h3>", "3 MiB", "45,678", "lost: 3,456"] {
        assert!(rest.contains(part), "{part}");
    }
    assert!(!without_scripts(&page).contains("<img"));
}

#[test]
fn no_page_names_an_address_to_fetch_from() {
    let run = run(&["write"], 12, 200);
    for page in [run_html(&run.report()), compared(|_| ()).0] {
        let own = without_scripts(&page);
        assert!(own.len() > 5_000 && own.len() < page.len() - 5_000);
        for word in [
            "http:", "https:", "//fonts", "@import", "src=", "url(", " onload", "<link", "<iframe",
        ] {
            assert!(!own.contains(word), "{word}");
        }
        // One policy, with the hash of the one script that runs; and no other script, also none of data.
        assert_eq!(page.matches("'sha256-").count(), 1);
        assert_eq!(page.matches("<script").count(), 1);
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut run = run(&["write"], 12, 200);
    let tagged = HOSTILE.to_owned();
    run.run.summary.tags = vec![tagged.clone()];
    run.run.summary.workload.clone_from(&tagged);
    run.run.command.clone_from(&tagged);
    run.run.plan_json = run.run.plan_json.replace(
        "\"name\":\"write\"",
        &format!("\"name\":{}", serde_json::json!(tagged)),
    );
    run.run.cluster_plan = Some(serde_json::json!({ "yaml": tagged }));
    for interval in &mut run.intervals {
        let one = interval.operations.remove("write").expect("an operation");
        interval.operations.insert(tagged.clone(), one.clone());
        interval.operations.insert("other".to_owned(), one);
    }
    for reading in &mut run.readings {
        reading.source = format!("{}{tagged}", reading.source);
    }
    let result = run.run.result.as_mut().expect("a result");
    result.phases[0].name.clone_from(&tagged);
    let one = result.phases[0]
        .operations
        .remove("write")
        .expect("an operation");
    result.phases[0].operations.insert(tagged.clone(), one);
    let (compared, summary) = compared(|c| {
        c.a.label.clone_from(&tagged);
        c.rows
            .iter_mut()
            .for_each(|row| row.phase.clone_from(&tagged));
        c.cautions[0].text.clone_from(&tagged);
        c.bars[0].text.clone_from(&tagged);
    });
    for page in [run_html(&run.report()), compared] {
        assert!(page.contains("&lt;/script&gt;"));
        let own = without_scripts(&page);
        assert!(
            !own.contains("<img") && !own.contains("onerror=alert(1)>"),
            "{own}"
        );
        // The page has one, the others are those of marks.
        let titles = own.matches("</title>").count();
        assert_eq!(own.matches("<title>").count(), titles);
        assert!(
            !own.contains("<script") && !own.contains("</script"),
            "{own}"
        );
    }
    for summary in [run_markdown(&run.report()), summary] {
        assert!(
            !summary.replace("`</script", "").contains("</script><"),
            "{summary}"
        );
    }
}

#[test]
fn a_run_without_a_result_says_so_and_shows_what_it_has() {
    let mut run = run(&["write"], 12, 200);
    run.run.result = None;
    run.run.summary.verdict = None;
    run.readings.clear();
    let page = run_html(&run.report());
    assert!(page.contains("No result: the run is under way") && page.contains("chart-latency"));
    assert!(page.contains("No telemetry of the nodes was recorded"));
    run.intervals.clear();
    assert!(!run_html(&run.report()).contains("<figure"));
    assert!(run_markdown(&run.report()).contains("No result"));
}

#[test]
fn the_headline_says_what_was_reached_and_how_sure_it_is() {
    let mut run = run(&["write"], 12, 1200);
    let said = run_markdown(&run.report());
    assert!(
        said.contains("2,000 op/s held, response p99 ") && said.contains("(95 % interval "),
        "{said}"
    );
    let result = run.run.result.as_mut().expect("a result");
    result.phases[0].achieved_per_s = 1700.0;
    assert!(run_markdown(&run.report()).contains("only 1,700 of 2,000 op/s"));
}

#[test]
fn a_comparison_claims_no_more_than_it_may() {
    let (page, summary) = compared(|_| ());
    for said in [&page.replace('\u{a0}', " ").replace("&#39;", "'"), &summary] {
        let claim = "significant after correction (8 pairs): B's write response p99 is 12 % lower (7.6 to 16 %)";
        assert!(said.contains(claim), "{summary}");
        assert!(!said.contains("B's read"), "{summary}");
    }
    for part in [
        "chart-main",
        "8 pairs detect differences of ",
        "chart-by-pair",
        "detectable",
        "-XX:+UseShenandoahGC",
        "r19",
        "all thresholds hold",
        "pair 8:",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Pairs that were looked at after each detect nothing that is known before.
    let (page, _) = compared(|c| {
        c.sequential = true;
        *c = c.clone().corrected();
    });
    for part in ["pairs detect differences", "80 % power", "80\u{a0}% power"] {
        assert!(!page.contains(part), "{part}");
    }
    let (page, _) = compared(|c| {
        c.pairs.truncate(1);
        c.bars.clear();
        (c.a.runs, c.b.runs) = (vec!["r1".to_owned()], vec!["r2".to_owned()]);
        for row in &mut c.rows {
            row.claim = Claim::None;
            row.estimate = None;
            row.ratios.truncate(1);
        }
    });
    assert!(
        page.contains("no claim: two single runs, side by side") && !page.contains("chart-by-pair")
    );
}

/// The figures of a page: id and what is drawn.
fn figures(page: &str) -> Vec<(&str, &str)> {
    let figures = page.split("id=\"chart-").skip(1);
    let each = figures.map(|figure| {
        let (id, rest) = figure.split_once('"').expect("an id");
        let (drawn, _) = rest.split_once("</figure>").expect("an end");
        (id, drawn)
    });
    each.collect()
}

/// The figure of this name, or nothing.
fn figure<'f>(figures: &[(&str, &'f str)], id: &str) -> &'f str {
    let own = figures.iter().find(|(one, _)| *one == id);
    own.map_or("", |(_, drawn)| drawn)
}

/// What an attribute of a piece of markup says, at each of its places.
fn said<'f>(drawn: &'f str, attribute: &str) -> Vec<&'f str> {
    let begin = format!(" {attribute}=\"");
    let places = drawn.split(begin.as_str()).skip(1);
    let each = places.map(|rest| rest.split_once('"').map_or("", |(said, _)| said));
    each.collect()
}

/// The series of a figure: name and drawing.
fn series(figure: &str) -> Vec<(&str, &str)> {
    let all = figure.split("<g class=\"series ").skip(1);
    all.map(|one| {
        let (own, _) = one.split_once("</g>\n").expect("an end");
        (said(own, "data-name")[0], own)
    })
    .collect()
}

/// Whether anything of a series can be seen: a mark, a dot, or a line between two neighbours.
fn is_seen(series: &str) -> bool {
    let path = said(series, "d").into_iter().next().unwrap_or_default();
    let has_length = |part: &str| part.contains(['l', 'h']) && !part.ends_with("l0 0");
    series.contains("<g class=\"mark\">")
        || series.contains("class=\"dots\"")
        || path.split('M').any(has_length)
}

#[test]
fn no_frame_is_empty_and_each_line_of_a_legend_is_drawn() {
    // Ends a second: plenty, as many as the default bench has on a small machine, and too few for a p99.
    for samples in [1200, 225, 40, 3] {
        let run = run(&["write", "read", "mixed"], 12, samples);
        let page = run_html(&run.report());
        let (page, _) = page.split_once("<script>").expect("scripts");
        let figures = figures(page);
        assert!(figures.len() > 8, "{}", figures.len());
        for (id, drawn) in &figures {
            let all = series(drawn);
            let is_drawn = !all.is_empty() || drawn.contains("<path class=\"heat");
            assert!(is_drawn, "{id} is empty with {samples} samples");
            for (name, one) in &all {
                assert!(is_seen(one), "{id}: {name} with {samples}: {one}");
            }
            // The legend has each of them, by its number.
            let numbers: BTreeSet<&str> = said(drawn, "data-series").into_iter().collect();
            let shown: BTreeSet<&str> = said(drawn, "data-shows").into_iter().collect();
            assert!(numbers == shown || numbers.len() == 1, "{id}: {drawn}");
        }
        let p99 = |id: &str| {
            let all = series(figure(&figures, id));
            all.iter().any(|(name, _)| name.contains("p99"))
        };
        let by_operation = !figure(&figures, "by-operation").is_empty();
        // Twelve seconds measured: of mixed each operation has half the samples.
        let enough = samples * 12 >= 1000;
        assert_eq!(
            (p99("latency"), by_operation),
            (enough, enough),
            "{samples}"
        );
        let said = "fewer than 1,000 operations ended";
        assert_eq!(page.contains(said), samples < 225, "{samples}");
        assert_eq!(
            page.contains("Each point of p99 covers 1,000 operations or more"),
            (84..1000).contains(&samples)
        );
    }
}

#[test]
fn charts_and_tables_of_a_run_count_from_one_moment() {
    let run = run(&["write"], 60, 200);
    let page = run_html(&run.report());
    // Without the script, which stands at the end.
    let (page, _) = page.split_once("<script>").expect("scripts");
    let zero_ns = MeasuredFrom::of(run.report().intervals).expect("measured");
    let known = helenus_model::telemetry::faults(run.report().readings, zero_ns);
    let from_s = known[0].from_s;
    let figures = figures(page);
    let throughput = figure(&figures, "throughput");
    // The warm-up lies before zero, the fault where the terminal's table has it.
    let begin: f64 = said(throughput, "data-x0")[0].parse().expect("a number");
    assert!(begin < 0.0, "{begin:?}");
    let (before, _) = throughput
        .split_once(">partition DC3</text>")
        .expect("the fault");
    let at: f64 = said(before, "data-at")
        .last()
        .expect("it")
        .parse()
        .expect("a number");
    assert!((at - from_s).abs() < 0.01, "{at} and {from_s}");
    let cell = format!("{from_s:.1} s</td><td>DC3</td>");
    assert!(page.contains(&cell), "{cell}");
}

#[test]
fn a_fault_is_a_band_with_its_words() {
    let run = run(&["write"], 60, 200);
    let page = run_html(&run.report());
    assert!(page.contains("data-band=\"fault\""));
    // At its beginning in every chart, and whole in the table.
    assert!(page.contains(">partition DC3</text>") && page.contains("at 37s for 8s partition DC3"));
    assert!(page.contains("<td>DC3</td>"));
}

#[test]
fn a_long_run_s_page_stays_small_and_its_charts_need_no_script() {
    let run = run(&["write", "read", "mixed"], 400, 5);
    let page = run_html(&run.report());
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(page.contains("the lowest and the highest point of each of 500 sections"));
    for (id, drawn) in figures(&page) {
        assert!(drawn.contains("<svg class=\"area\""), "{id}");
        // Colours are the style sheet's: none is in a drawing.
        assert!(
            !drawn.contains("fill=\"") && !drawn.contains("stroke=\""),
            "{id}"
        );
    }
}

#[test]
fn each_role_of_a_page_has_a_colour_in_both_themes() {
    let run = run(&["write", "read", "mixed"], 40, 300);
    for page in [run_html(&run.report()), compared(|_| ()).0] {
        let (style, body) = page.split_once("</style>").expect("a style sheet");
        let drawn = body.split("<g class=\"series ").skip(1);
        let roles: BTreeSet<&str> = drawn.filter_map(|g| g.split('"').next()).collect();
        assert!(roles.len() > 2, "{roles:?}");
        for role in roles {
            assert!(
                style.contains(&format!(".{role} {{ --c: var(--{role}); }}")),
                "{role}"
            );
            // Light, dark by the system, dark by the button.
            assert_eq!(style.matches(&format!("--{role}: #")).count(), 3, "{role}");
        }
    }
}
