//! The report of an experiment: the answer first, then plots and sheets of numbers; as lines, Markdown and CSV.
//! Refuses an answer where the question cannot be answered here, and names what was left out.

use crate::csv::line;
use crate::planned::{PlannedRun, StoredExperiment};
use crate::report::MARK;
use crate::report::experiment_data::ExperimentReport;
use crate::report::experiment_plot as plot;
use crate::report::experiment_rates as rates;
use crate::report::experiment_said::said;
use crate::report::experiment_sheets::experiment_sheets;
use crate::report::words::{self, code, markdown as text};
use helenus_model::comparison::{BarAnswer, Claim, Estimate, LEAST_PAIRS};
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{
    Analysis, Answer, Bar, BarCell, Covariates, Experiment, Growth, Kept, Noise, RunState,
    Screened, Stage, Tip,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Settings with room to spare are so many times better than the threshold: a busier day, a longer collection.
const ROOM: f64 = 2.0;

/// Most settings that a sentence names.
const NAMED_MOST: usize = 6;

/// All that it says, a sentence a line; the first is its headline.
pub(super) fn lines(report: &ExperimentReport<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let progress = report.progress;
    match report.analysis {
        None => lines.push("no answer: no run counts yet".to_owned()),
        Some(found) => {
            match (&found.not_testable, &found.answer) {
                (Some(why), _) => lines.push(format!("not testable here: {why}")),
                (None, Some(answer)) => {
                    lines.push(sentence(found, answer));
                    lines.extend(again(found, answer));
                    lines.extend(alike(answer));
                }
                (None, None) => lines.extend(found.screened.as_ref().map(|s| screened(found, s))),
            }
            lines.extend(bars(report.experiment, found));
            lines.extend(rates::lines(&found.ladders));
            lines.extend(report.own_bars.map(asked_since));
            if found.not_testable.is_none() && found.answer.is_none() && found.screened.is_none() {
                lines.push("no best settings: they were not run at the same loads".to_owned());
            }
            lines.extend(tips_line(&found.tips));
            lines.extend(found.growth.iter().map(growth_line));
            lines.extend(found.generator_limit.as_ref().map(|at| {
                format!("the generator was the limit {at}: the nodes' own limit was not reached")
            }));
            lines.extend(behind(report));
            lines.extend(found.noise.map(|noise| noise_line(found, &noise)));
            lines.extend(found.rule());
        }
    }
    if progress.died > 0 {
        lines.push(format!("died: {}", dead(report)));
    }
    if progress.does_not_fit > 0 {
        let runs = progress.does_not_fit;
        lines.push(format!(
            "{runs} runs do not fit this machine and were left out"
        ));
    }
    if let Some(first) = lines.first_mut().filter(|_| progress.left > 0) {
        let (left, all) = (progress.left, progress.planned);
        *first = format!("not complete yet ({left} of {all} runs are left): {first}");
    }
    lines
}

/// What a screening design ends with.
fn screened(found: &Analysis, screened: &Screened) -> String {
    let what = format!("{} of {}", words::measure(found.measure), found.phase);
    let worse = match screened.worse.as_slice() {
        [] => String::new(),
        worse => format!("; worse: {}", worse.join(", ")),
    };
    let Some(together) = &screened.together else {
        return format!("no level significantly improves {what}{worse}");
    };
    format!(
        "better: {}; together they should make {what} {} ({}), by the sum of their main effects; measure them together before you \
         rely on it{worse}",
        screened.better.join(", "),
        words::change(together.ratio),
        words::interval(together),
    )
}

fn sentence(found: &Analysis, answer: &Answer) -> String {
    let what = format!("{} of {}", words::measure(found.measure), found.phase);
    let (winner, reference) = (&answer.winner_label, &answer.reference_label);
    if answer.winner == answer.reference {
        let open = answer.open_gain(found.measure).filter(|gain| *gain > 0.0);
        let open = match open {
            Some(gain) => format!("; others may be up to {} better", words::percent(gain)),
            None if answer.rivals.is_empty() => "; no other settings can be compared".to_owned(),
            None => String::new(),
        };
        return match answer.blocks {
            // One block has no residual, so no two settings could be compared.
            few if few < LEAST_PAIRS && answer.rivals.iter().all(|one| one.estimate.is_none()) => {
                format!(
                    "no claim below {LEAST_PAIRS} blocks, no comparison below two; the table shows {what} of each combination"
                )
            }
            few if few < LEAST_PAIRS => {
                format!("no claim below {LEAST_PAIRS} blocks; {reference} looks best by {what}")
            }
            blocks => {
                format!("nothing looked better than {reference}, by {what} ({blocks} blocks){open}")
            }
        };
    }
    let Some(estimate) = &answer.estimate else {
        return format!("{winner} looks best by {what}");
    };
    // The second look has no luck of being chosen in it.
    let (estimate, looked) = match (&answer.again, answer.again_claim) {
        (Some(again), claim) if claim != Claim::None => (again, "measured again, "),
        _ => (estimate, ""),
    };
    let than = |reference: &str| {
        format!(
            "{looked}{what} is {}{reference} ({}, {} blocks)",
            words::change(estimate.ratio),
            words::interval(estimate),
            estimate.pairs
        )
    };
    let against = than(&format!(" than with {reference}"));
    match (answer.claim, answer.settled()) {
        (Claim::None, _) => {
            format!("no claim below {LEAST_PAIRS} blocks; {winner} looks best: {against}")
        }
        (_, Claim::Higher | Claim::Lower) if answer.alike().next().is_none() => {
            format!("{winner} is best: {against}")
        }
        (_, Claim::Higher | Claim::Lower) => {
            format!("{winner} is better than {reference}: {}", than(""))
        }
        (Claim::Higher | Claim::Lower, _) => {
            format!(
                "no settings are significantly better than {reference}; {winner} was chosen as best, and {against}"
            )
        }
        _ => {
            format!(
                "no settings are significantly better than {reference}; {winner} looks best, {against}"
            )
        }
    }
}

/// What a second measurement with fresh restarts showed, beside the first.
fn again(found: &Analysis, answer: &Answer) -> Option<String> {
    let first = answer.estimate.as_ref()?;
    let Some(estimate) = answer.again.as_ref() else {
        return (answer.again_claim != Claim::None).then(|| {
            "the difference was not confirmed with fresh restarts: there one of both fell behind its schedule more often"
                .to_owned()
        });
    };
    if answer.again_claim == Claim::None {
        return Some(format!(
            "measured again with fresh restarts: {} of the blocks count, a claim needs {LEAST_PAIRS}; there {} is {} ({})",
            estimate.pairs,
            words::measure(found.measure),
            words::change(estimate.ratio),
            words::interval(estimate),
        ));
    }
    let came = if answer.again_claim == answer.claim {
        "the difference was confirmed"
    } else {
        "the difference was not confirmed"
    };
    Some(format!(
        "{came} with fresh restarts; when the settings were chosen it was {} ({}, {} blocks)",
        words::change(first.ratio),
        words::interval(first),
        first.pairs
    ))
}

/// Settings that may be as good as the best.
fn alike(answer: &Answer) -> Option<String> {
    let named: Vec<&str> = answer.alike().collect();
    let shown = &named[..named.len().min(NAMED_MOST)];
    let more = match named.len() - shown.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let claims = matches!(answer.settled(), Claim::Higher | Claim::Lower);
    (claims && !shown.is_empty()).then(|| {
        format!(
            "no significant difference from {}: {}{more}",
            answer.winner_label,
            shown.join(", ")
        )
    })
}

/// From where on more of something gives no more, and how busy the processors are there.
fn growth_line(growth: &Growth) -> String {
    let Growth {
        factor,
        at,
        from,
        until,
        ..
    } = growth;
    let times = words::digits(growth.times);
    let mut line = if until == from {
        format!("throughput does not grow with {factor}")
    } else if growth.is_last && growth.without_numbers.is_empty() {
        format!("throughput grows up to {factor}={until}, the last level ({times} × {from})")
    } else if growth.is_last {
        format!(
            "throughput grows up to {factor}={until} ({times} × {from}), and {} has no valid number",
            growth.without_numbers.join(", ")
        )
    } else {
        format!("throughput grows up to {factor}={until} ({times} × {from})")
    };
    if let Some(at) = at {
        let _infallible = write!(line, " at {at}");
    }
    if let (Some(nodes), Some(generator)) = (growth.node_processors, growth.generator_processors) {
        let _infallible = write!(
            line,
            "; there the nodes keep {} processors busy, the generator {}",
            words::digits(nodes),
            words::digits(generator)
        );
    }
    line
}

/// For each threshold the smallest settings that hold it, by the order of the file, and the smallest with room to spare.
fn bars(of: &Experiment, found: &Analysis) -> Vec<String> {
    let each = of.bars.iter().map(|bar| {
        let own: Vec<&BarCell> = found.bars.iter().filter(|c| c.bar == bar.text).collect();
        let with = |answer: BarAnswer| -> Vec<&BarCell> {
            let own = own.iter().filter(|cell| cell.answer == answer);
            own.copied().collect()
        };
        let mut line = format!("threshold {}: ", bar.text);
        let holding = with(BarAnswer::Holds);
        if holding.is_empty() {
            line.push_str("no settings hold it");
        } else {
            let mut roomy = holding.clone();
            roomy.retain(|cell| has_room(bar, cell));
            let recommended = match least(found, &roomy) {
                _ if roomy.is_empty() => "none have room to spare".to_owned(),
                roomy if roomy == least(found, &holding) => "these have room to spare".to_owned(),
                roomy => format!("with room to spare: {}", with_values(&roomy)),
            };
            let _infallible = write!(
                line,
                "the smallest settings that hold it: {}; {recommended}; {} of {} hold it",
                with_values(&least(found, &holding)),
                holding.len(),
                own.len()
            );
        }
        let open = with(BarAnswer::CannotTell);
        let (open, without): (Vec<&BarCell>, Vec<&BarCell>) =
            open.into_iter().partition(|cell| cell.value.is_some());
        for (what, cells) in [("inconclusive", open), ("without numbers", without)] {
            let labels: Vec<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
            if !labels.is_empty() {
                let _infallible = write!(line, "; {what}: {}", labels.join(", "));
            }
        }
        line
    });
    each.collect()
}

/// That thresholds were set after the numbers were known.
fn asked_since(own: &[Bar]) -> String {
    let own: Vec<&str> = own.iter().map(|bar| bar.text.as_str()).collect();
    match own.as_slice() {
        [] => "these thresholds were set after the runs; the file has none".to_owned(),
        own => format!(
            "these thresholds were set after the runs, instead of the file's: {}",
            own.join("; ")
        ),
    }
}

/// Those of these settings than which none of them is less in every factor.
fn least<'a>(found: &Analysis, cells: &[&'a BarCell]) -> Vec<&'a BarCell> {
    let levels = |cell: &BarCell| &found.combinations[cell.combination].levels;
    let below = |one: &BarCell, other: &BarCell| {
        let mut pairs = levels(one).iter().zip(levels(other));
        one.combination != other.combination && pairs.all(|(one, other)| one <= other)
    };
    let kept = cells
        .iter()
        .filter(|cell| !cells.iter().any(|other| below(other, cell)));
    kept.copied().collect()
}

/// Settings with their values.
fn with_values(cells: &[&BarCell]) -> String {
    let each = cells.iter().map(|cell| {
        let number = |value: f64| words::value(cell.measure, value);
        match (cell.value, cell.interval) {
            (Some(value), Some([low, high])) => {
                format!(
                    "{} ({}, {} to {})",
                    cell.label,
                    number(value),
                    number(low),
                    number(high)
                )
            }
            _ => cell.label.clone(),
        }
    });
    each.collect::<Vec<_>>().join(" or ")
}

/// Whether even the worse end of the interval is twice as good as the threshold requires.
fn has_room(bar: &Bar, cell: &BarCell) -> bool {
    cell.interval.is_some_and(|[low, high]| match bar.below {
        true => high * ROOM <= bar.bound,
        false => low >= bar.bound * ROOM,
    })
}

/// What is not excluded by those that end as *no difference*: without it that would claim too much.
fn above(ends: &[Kept]) -> String {
    let each = ends.iter().filter_map(|end| match end {
        Kept::NoDifference { above } => Some(*above),
        _ => None,
    });
    let mut each: Vec<f64> = each.collect();
    each.sort_by(f64::total_cmp);
    match each[..] {
        [] => String::new(),
        [one] => format!(" above {}", words::percent(one)),
        [least, .., most] => format!(
            " above {} to {}",
            words::percent(least),
            words::percent(most)
        ),
    }
}

/// How many claimed effects ended how.
fn tips_line(tips: &[Tip]) -> Option<String> {
    let mut ends: Vec<Kept> = tips.iter().map(|tip| tip.kept).collect();
    ends.sort_by_key(|end| end.place());
    let alike = ends.chunk_by(|one, other| one.place() == other.place());
    let each: Vec<String> = alike
        .map(|some| format!("{} {}{}", some.len(), some[0].word(), above(some)))
        .collect();
    (!each.is_empty()).then(|| format!("claimed effects: {}", each.join(", ")))
}

fn noise_line(found: &Analysis, noise: &Noise) -> String {
    let Estimate { ratio, pairs, .. } = noise.estimate;
    let mut line = format!(
        "A/A control: {} {} ({}, {pairs} blocks)",
        words::measure(found.measure),
        words::change(ratio),
        words::interval(&noise.estimate),
    );
    if let Some(of_two) = noise.of_two_runs {
        let share = words::percent(of_two);
        let _infallible = write!(
            line,
            "; two single runs of the same settings differ by {share} (standard deviation)"
        );
    }
    if (noise.estimate.low > 1.0) == (noise.estimate.high > 1.0) {
        line.push_str("; that is more than chance explains, so trust no small difference here");
    }
    line
}

/// What fell behind its schedule, each with how often: in its other blocks it had luck.
fn behind(report: &ExperimentReport<'_>) -> Option<String> {
    let all = report.experiment.combinations();
    let blocks = |place: usize, only_behind: bool| {
        let own = report.facts.iter().filter(|fact| {
            let planned = fact.planned;
            planned.combination == place
                && planned.stage != Stage::Again
                && (fact.behind || !only_behind)
        });
        let blocks: BTreeSet<usize> = own.map(|fact| fact.planned.block).collect();
        blocks.len()
    };
    let each = all.iter().enumerate().filter_map(|(place, levels)| {
        let (behind, of) = (blocks(place, true), blocks(place, false));
        let label = report.experiment.label(levels);
        (behind > 0).then(|| format!("{label} ({behind} of {of} blocks)"))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "fell behind the schedule: {}; settings that differ in this by more than a tenth of the blocks are not compared",
            each.join(", ")
        )
    })
}

/// What died, each with how often.
fn dead(report: &ExperimentReport<'_>) -> String {
    let all = report.experiment.combinations();
    let mut died: Vec<(usize, usize)> = Vec::new();
    for run in report.runs.iter().filter(|run| run.state == RunState::Died) {
        let place = run.planned.combination;
        match died.iter_mut().find(|(one, _)| *one == place) {
            Some((_, times)) => *times += 1,
            None => died.push((place, 1)),
        }
    }
    let each = died.into_iter().map(|(place, times)| {
        let ended = |run: &&PlannedRun| {
            let over = matches!(run.state, RunState::Died | RunState::Done);
            run.planned.combination == place && over
        };
        let of = report.runs.iter().filter(ended).count();
        let label = report.experiment.label(&all[place]);
        format!("{label} ({times} of {of} runs)")
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The report in Markdown.
pub fn experiment_markdown(report: &ExperimentReport<'_>) -> String {
    let (said, lines) = said(report);
    let mut out = format!(
        "<!-- {MARK} -->\n### {}\n\n**{}** · ",
        text(&said.headline),
        said.badge
    );
    let stored = report.stored;
    let facts = [
        format!("experiment {} ({})", stored.name, stored.id),
        format!("seed {}", stored.seed.0),
        words::wall(stored.began_wall_ns),
    ];
    let _infallible = writeln!(out, "{}\n", facts.map(|fact| text(&fact)).join(" · "));
    for line in &lines {
        let _infallible = writeln!(out, "* {}", text(line));
    }
    for on in report.measured_on {
        let _infallible = writeln!(out, "* {}", text(on));
    }
    if let Some(found) = report.analysis {
        let drawn = [
            plot::effects(found),
            plot::by_level(report.experiment, found),
        ];
        for drawn in drawn.iter().filter(|drawn| !drawn.is_empty()) {
            // Nothing that a person named may end the block.
            let _infallible = writeln!(out, "\n```\n{}```", drawn.replace('`', "'"));
        }
    }
    for sheet in experiment_sheets(report) {
        let _infallible = writeln!(out, "\n#### {}\n", sheet.title);
        if !sheet.note.is_empty() {
            let _infallible = writeln!(out, "{}\n", text(sheet.note));
        }
        let heads = sheet
            .heads
            .iter()
            .map(|head| text(head.trim_start_matches('>')));
        let marks = sheet
            .heads
            .iter()
            .map(|head| if head.starts_with('>') { "--:" } else { "---" });
        let _infallible = writeln!(out, "| {} |", heads.collect::<Vec<_>>().join(" | "));
        let _infallible = writeln!(out, "|{}|", marks.collect::<Vec<_>>().join("|"));
        for row in &sheet.rows {
            let cells: Vec<String> = row.iter().map(|cell| text(cell)).collect();
            let _infallible = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    let _infallible = writeln!(out, "\nRepeat: {}", code(&again_command(report)));
    out
}

/// The command that does it again, with the seed where neither it nor the file has one.
pub(super) fn again_command(report: &ExperimentReport<'_>) -> String {
    let StoredExperiment { command, seed, .. } = report.stored;
    if report.experiment.seed.is_some() || command.contains("--seed") {
        return command.clone();
    }
    format!("{command} --seed {}", seed.0)
}

/// The numbers of all runs, a row for each run, phase and measure, and one without a number for what has none; each
/// says why it has none, or why the experiment's question has no answer here. Counted from 1, as in the tables.
pub fn experiment_csv(report: &ExperimentReport<'_>) -> String {
    let all = report.experiment.combinations();
    let mut heads: Vec<String> = [
        "place", "block", "restart", "stage", "run", "verdict", "behind",
    ]
    .map(str::to_owned)
    .to_vec();
    let factors = report.experiment.factors.iter();
    heads.extend(factors.map(|factor| factor.name.clone()));
    heads.extend(
        [
            "phase",
            "measure",
            "unit",
            "value",
            "not testable",
            "doubts",
        ]
        .map(str::to_owned),
    );
    heads.extend(BESIDE.map(str::to_owned));
    let mut out = line(heads);
    let why = report.analysis.and_then(|found| found.not_testable.clone());
    let why = why.unwrap_or_default();
    for run in report.runs {
        let planned = run.planned;
        let fact = report
            .facts
            .iter()
            .find(|f| f.planned.place == planned.place);
        let verdict = fact.map_or(run.state.word(), |fact| match fact.verdict {
            Verdict::Valid => "valid",
            Verdict::Caution => "caution",
            Verdict::Invalid => "invalid",
        });
        let mut own = vec![
            (planned.place + 1).to_string(),
            (planned.block + 1).to_string(),
            (planned.restart + 1).to_string(),
            planned.stage.word().to_owned(),
            run.run.map_or(String::new(), |id| id.to_string()),
            verdict.to_owned(),
            fact.map_or(String::new(), |fact| fact.behind.to_string()),
        ];
        let labels = report.experiment.labels(&all[planned.combination]);
        own.extend(labels.into_iter().map(|(_, label)| label.to_owned()));
        let mut row = |phase: &str, measure: &str, unit: &str, value: &str, doubts: &str| {
            let cells = [phase, measure, unit, value, &why, doubts].map(str::to_owned);
            let beside = beside(fact.map(|fact| &fact.covariates), phase);
            out.push_str(&line([&own[..], &cells, &beside].concat()));
        };
        let Some(fact) = fact else {
            row("", "", "", "", run.why.as_deref().unwrap_or_default());
            continue;
        };
        let doubts = fact.doubts.join("; ");
        for (phase, values) in &fact.values {
            for (measure, value) in values {
                let value = value.to_string();
                row(phase, measure.words(), measure.unit(), &value, &doubts);
            }
        }
        // Of the last phase, whatever its operations are.
        let beside = [
            (
                "disk reads per operation",
                "B",
                fact.read_bytes_per_operation,
            ),
            (
                "disk writes per operation",
                "B",
                fact.written_bytes_per_operation,
            ),
            ("generator's processors", "", fact.generator_processors),
        ];
        for (what, unit, value) in beside {
            if let (Some(phase), Some(value)) = (fact.phases.last(), value) {
                row(phase, what, unit, &value.to_string(), &doubts);
            }
        }
    }
    out
}

/// Heads of what was observed beside a run. No factor can have such a name; older tables end before them or have more.
const BESIDE: [&str; 4] = ["began s", "runs before", "steal share", "run-queue share"];

/// What was observed beside a run, and beside this phase of it; empty where nothing was observed.
fn beside(of: Option<&Covariates>, phase: &str) -> [String; BESIDE.len()] {
    let Some(of) = of else {
        return Default::default();
    };
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    [
        of.began_s.map_or(String::new(), |s| format!("{s:.3}")),
        of.runs_before.map_or(String::new(), |n| n.to_string()),
        number(of.steal_share.get(phase).copied()),
        number(of.run_queue_share.get(phase).copied()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_promises_says_what_no_difference_leaves_open() {
        let tip = |kept| Tip {
            factor: "f".to_owned(),
            level: "l".to_owned(),
            promised: "a gain".to_owned(),
            gain: None,
            kept,
            because: None,
        };
        let line = |ends: &[Kept]| tips_line(&ends.iter().copied().map(tip).collect::<Vec<_>>());
        let none = |above| Kept::NoDifference { above };
        assert_eq!(line(&[]), None);
        let text = |ends: &[Kept]| line(ends).unwrap_or_default();
        assert_eq!(
            text(&[none(0.3), Kept::Confirmed, none(0.17), none(0.2)]),
            "claimed effects: 1 confirmed, 3 no difference above 17 % to 30 %"
        );
        assert_eq!(
            text(&[none(0.17), Kept::NotTestable]),
            "claimed effects: 1 no difference above 17 %, 1 not testable here"
        );
    }
}
