//! The same comparison in every form: each must say the same.
//! Refuses real runs: rows are drawn.

use super::*;
use crate::ui::Answered;
use helenus_model::comparison::{
    Bar, BarAnswer, Claim, Estimate, LEAST_PAIRS, Pair, Row, Side, Tone,
};
use helenus_model::format::Format;
use helenus_model::sample::StartMeans;
use helenus_model::seed::Seed;
use helenus_model::stats::Draw;
use helenus_record::report::{ComparisonReport, comparison_html, comparison_markdown};

const MEASURES: [Measure; 6] = [
    Measure::ResponseP50,
    Measure::ResponseP99,
    Measure::NodeCpu,
    Measure::Throughput,
    Measure::ServiceP90,
    Measure::GeneratorCpu,
];

/// A row as any comparison may have it: of few pairs or many, corrected or not, significant or not.
fn row(draw: &mut Draw, phase: &str, measure: Measure, pairs: usize) -> Row {
    let ratio = (0.2 * draw.normal()).exp();
    let half = (0.2 * draw.normal()).abs().exp();
    let corrected = matches!(
        measure,
        Measure::ResponseP50 | Measure::ResponseP99 | Measure::NodeCpu
    );
    let significant = ratio / half > 1.0 || ratio * half < 1.0;
    let p = if significant { 0.02 } else { 0.4 };
    let times = if draw.normal() > 0.0 { 1.0 } else { 3.0 };
    let claim = match (pairs < LEAST_PAIRS, significant, ratio > 1.0) {
        (true, _, _) => Claim::None,
        (_, false, _) => Claim::NoDifference,
        // As it was stored before claims were corrected.
        (_, _, true) => Claim::Higher,
        (_, _, false) => Claim::Lower,
    };
    Row {
        phase: phase.to_owned(),
        operation: "all".to_owned(),
        measure,
        a: 1000.0,
        b: 1000.0 * ratio,
        ratios: vec![Some(ratio); pairs],
        estimate: (pairs > 1).then_some(Estimate {
            ratio,
            low: ratio / half,
            high: ratio * half,
            pairs,
            degrees: pairs - 1,
            log_sd: 0.1,
            p,
            p_holm: corrected.then_some(p * times),
            detectable: Some(1.2),
            pairs_for_5_percent: Some(20),
        }),
        claim,
    }
}

fn comparison(draw: &mut Draw) -> Comparison {
    let pairs = [1, 3, 6, 8][(draw.normal().abs() * 2.0) as usize % 4];
    let phases = &["write", "read"][..1 + usize::from(draw.normal() > 0.0)];
    let mut rows = Vec::new();
    for phase in phases {
        rows.extend(MEASURES.map(|measure| row(draw, phase, measure, pairs)));
    }
    let answers = [BarAnswer::Holds, BarAnswer::CannotTell, BarAnswer::Crossed];
    let bars = rows
        .iter()
        .filter(|_| pairs >= LEAST_PAIRS && draw.normal() > 1.4);
    let bars: Vec<Bar> = bars
        .enumerate()
        .map(|(n, row)| Bar {
            text: "p99>+5%".to_owned(),
            row: row.name(),
            bound: 1.05,
            low: row.estimate.map(|e| e.low),
            high: row.estimate.map(|e| e.high),
            answer: answers[n % 3],
        })
        .collect();
    let side = |label: &str| Side {
        label: label.to_owned(),
        runs: (0..pairs).map(|n| format!("{label}{n}")).collect(),
    };
    Comparison {
        behind: None,
        format: Format::new("comparison", helenus_model::comparison::VERSION),
        a: side("a"),
        b: side("b"),
        command: None,
        start_means: StartMeans::DriverCall,
        pairs: (0..pairs)
            .map(|n| Pair {
                a: vec![format!("a{n}")],
                b: vec![format!("b{n}")],
                a_first: n % 2 == 0,
            })
            .collect(),
        left_out: vec![],
        differences: vec![],
        cautions: vec![],
        sequential: false,
        calibration: None,
        stopping: None,
        rows,
        bars,
    }
}

/// The text between two marks.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).expect(from);
    rest.split_once(to).expect(to).0
}

/// A text without the marks that HTML and Markdown need.
fn plain(text: &str) -> String {
    let text = text.replace('\u{a0}', " ").replace('\\', "");
    let text = text.replace("&#39;", "'").replace("&quot;", "\"");
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[test]
fn terminal_json_html_and_markdown_say_the_same_of_the_same_comparison() {
    let mut draw = Draw::new(Seed(11));
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..200 {
        let found = comparison(&mut draw);
        let said = found.conclusion();
        *seen
            .entry((said.badge, said.tone == Tone::Settled))
            .or_insert(0) += 1;
        let report = ComparisonReport {
            name: "cmp1",
            comparison: &found,
            made_wall_ns: 0,
            repeat: &[],
        };
        let terminal = text(&found, Some("cmp1"));
        let shown = Shown {
            comparison_id: None,
            conclusion: found.conclusion(),
            comparison: &found,
        };
        let json = serde_json::to_value(Answered::of(&shown)).expect("JSON");
        assert_eq!(json["answer"], said.headline);
        // Without the charts' library, which stands at the end.
        let page = comparison_html(&report);
        let (page, _) = page.split_once("<script>").expect("scripts");
        let summary = comparison_markdown(&report);
        let head = format!("{}\n\n**{}** · ", said.headline, said.badge);
        assert_eq!(terminal.lines().next(), Some(said.headline.as_str()));
        assert_eq!(json["conclusion"]["headline"], said.headline);
        assert_eq!(json["conclusion"]["badge"], said.badge);
        let title = between(page, "<h1", "</h1>");
        let (_, title) = title.split_once('>').expect("an element");
        assert_eq!(plain(title), said.headline);
        assert_eq!(plain(between(&summary, "### ", "cmp1")), head);
        let style = match said.tone {
            Tone::Settled => "valid",
            Tone::Open => "caution",
            Tone::Crossed => "invalid",
        };
        let badge = format!("<span class=\"badge {style}\">{}</span>", said.badge);
        assert!(page.contains(&badge), "{badge}");
        // What the claims are made from: nothing that does not survive the correction.
        let claims = found.rows.iter().any(|row| row.finding().is_claim());
        if said.badge == "significant difference" {
            assert!(claims, "{head}");
        }
        assert_eq!(
            said.headline.contains("significant after correction ("),
            claims && !crossed_only(&found),
            "{head}"
        );
        rows_say_the_same(&found, [&terminal, page, &summary]);
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn no_interval_is_shown_of_fewer_than_six_pairs() {
    let mut draw = Draw::new(Seed(7));
    let mut found = comparison(&mut draw);
    for (pairs, shown) in [(2, false), (LEAST_PAIRS, true)] {
        found.bars.clear();
        found.rows = vec![row(&mut draw, "write", Measure::ResponseP99, pairs)];
        let estimate = found.rows[0].estimate.as_mut().expect("an estimate");
        (estimate.low, estimate.high) = (1e-30, 1e30);
        let report = ComparisonReport {
            name: "cmp1",
            comparison: &found,
            made_wall_ns: 0,
            repeat: &[],
        };
        let page = comparison_html(&report);
        let (page, _) = page.split_once("<script>").expect("scripts");
        let terminal = text(&found, None);
        for form in [&terminal, page, &comparison_markdown(&report)] {
            assert_eq!(form.contains("00000000"), shown, "{form}");
        }
        let note = "–: fewer than 6 pairs give no interval\n";
        assert_eq!(terminal.contains(note), !shown, "{terminal}");
    }
}

#[test]
fn pairs_that_were_looked_at_after_each_promise_nothing() {
    let mut draw = Draw::new(Seed(7));
    let mut found = comparison(&mut draw);
    found.rows = vec![row(&mut draw, "write", Measure::ResponseP99, LEAST_PAIRS)];
    let cells = |of: &Comparison| -> Vec<String> {
        let table = table(of);
        let last = table.lines().last().expect("a row");
        let words = last.strip_suffix(of.rows[0].finding().words());
        let cells = words.expect("the finding").split_whitespace();
        cells.map(str::to_owned).collect()
    };
    assert!(cells(&found).ends_with(&["20", "%", "20"].map(str::to_owned)));
    found.sequential = true;
    let again = cells(&found.corrected());
    assert!(again.ends_with(&["–", "–"].map(str::to_owned)), "{again:?}");
}

/// Whether every claim is that of a crossed bar, which the headline says first.
fn crossed_only(of: &Comparison) -> bool {
    let crossed = |row: &Row| {
        let mut bars = of.bars.iter();
        bars.any(|bar| bar.answer == BarAnswer::Crossed && bar.row == row.name())
    };
    let mut claims = of.rows.iter().filter(|row| row.finding().is_claim());
    claims.all(crossed)
}

fn rows_say_the_same(of: &Comparison, [terminal, page, summary]: [&str; 3]) {
    let start = |row: &Row| format!("{}  all        {} ", row.phase, row.measure.words());
    for row in &of.rows {
        let words = row.finding().words();
        let line = terminal.lines().find(|line| {
            let squeezed = line.split_whitespace().collect::<Vec<_>>().join(" ");
            squeezed.starts_with(&start(row).split_whitespace().collect::<Vec<_>>().join(" "))
        });
        assert!(
            line.is_some_and(|line| line.ends_with(words)),
            "{words}\n{terminal}"
        );
        assert!(page.contains(&format!("\">{words}</td>")), "{words}");
        assert!(summary.contains(&format!("| {words} |")), "{words}");
        // Only a claim has a claim's colour.
        if !row.finding().is_claim() {
            for colour in ["better", "worse"] {
                assert!(
                    !page.contains(&format!("says {colour}\">{words}<")),
                    "{words}"
                );
            }
        }
    }
}
