//! The report of an experiment: the answer first, then plots and sheets of numbers; as lines, Markdown and CSV.
//! Refuses an answer where the question cannot be answered here, and names what was left out.

use crate::planned::{PlannedRun, StoredExperiment};
use crate::report::MARK;
use crate::report::experiment_plot as plot;
use crate::report::experiment_sheets::experiment_sheets;
use crate::report::words::{self, code, markdown as text};
use helenus_model::comparison::{BarAnswer, Claim, Estimate, LEAST_PAIRS};
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{
    Analysis, Answer, Bar, BarCell, Experiment, Fact, Growth, Kept, Progress, RunState, Stage, Tip,
};
use std::fmt::Write as _;

/// So many times better than a bar are settings with room to spare: a busier day, a longer collection.
const ROOM: f64 = 2.0;

/// What an experiment's report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentReport<'a> {
    /// It, as it is stored.
    pub stored: &'a StoredExperiment,
    /// Its file.
    pub experiment: &'a Experiment,
    /// How far it is.
    pub progress: Progress,
    /// Its planned runs.
    pub runs: &'a [PlannedRun],
    /// What is known of those that ended.
    pub facts: &'a [Fact],
    /// What they say; none where no run counts.
    pub analysis: Option<&'a Analysis>,
}

/// The answer, a sentence a line; the first is the one to read.
pub fn experiment_answer(report: &ExperimentReport<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let progress = report.progress;
    match report.analysis {
        None => lines.push("no answer: no run counts yet".to_owned()),
        Some(found) => {
            lines.push(match (&found.not_testable, &found.answer) {
                (Some(why), _) => format!("not testable here: {why}"),
                (None, Some(answer)) => sentence(found, answer),
                (None, None) => "no best settings: they were not run at the same loads".to_owned(),
            });
            let again = found
                .answer
                .as_ref()
                .and_then(|answer| again(found, answer));
            lines.extend(again);
            lines.extend(bars(report.experiment, found));
            lines.extend(tips_line(&found.tips));
            lines.extend(found.growth.iter().map(growth_line));
            lines.extend(found.generator_limit.as_ref().map(|at| {
                format!(
                    "the generator was the limit {at}: what the nodes can do there was not seen"
                )
            }));
            lines.extend(found.noise.as_ref().map(|noise| noise_line(found, noise)));
        }
    }
    if progress.died > 0 {
        lines.push(format!("dies: {}", dead(report)));
    }
    if progress.does_not_fit > 0 {
        let runs = progress.does_not_fit;
        lines.push(format!(
            "{runs} runs do not fit this machine and were left out"
        ));
    }
    if progress.left > 0 {
        let (left, all) = (progress.left, progress.planned);
        lines.push(format!("not the whole yet: {left} of {all} runs are left"));
    }
    lines
}

fn sentence(found: &Analysis, answer: &Answer) -> String {
    let what = format!("{} of {}", words::measure(found.measure), found.phase);
    if answer.winner == answer.reference {
        return format!(
            "nothing is better than {}, by {what}",
            answer.reference_label
        );
    }
    let Some(estimate) = &answer.estimate else {
        return format!(
            "{} looks best by {what}; one block says no more",
            answer.winner_label
        );
    };
    let against = format!(
        "{what} is {} than with {} ({}, {} blocks)",
        words::change(estimate.ratio),
        answer.reference_label,
        words::interval(estimate),
        estimate.pairs
    );
    match answer.claim {
        Claim::Higher | Claim::Lower => format!("{} is best: {against}", answer.winner_label),
        Claim::NoDifference => format!(
            "no settings are surely better than {}; {} looks best, {against}",
            answer.reference_label, answer.winner_label
        ),
        Claim::None => format!(
            "no claim below {LEAST_PAIRS} blocks; {} looks best: {against}",
            answer.winner_label
        ),
    }
}

fn again(found: &Analysis, answer: &Answer) -> Option<String> {
    let estimate = answer.again.as_ref()?;
    let holds = answer.again_claim == answer.claim;
    Some(format!(
        "measured again with fresh restarts: {} is {} ({}, {} blocks){}",
        words::measure(found.measure),
        words::change(estimate.ratio),
        words::interval(estimate),
        estimate.pairs,
        if holds {
            ""
        } else {
            "; the difference did not come again"
        }
    ))
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
            "throughput grows up to {factor}={until} ({times} × {from}), and {} has no number that counts",
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

/// Of each bar the least settings that hold it, by the order of the file, and the least that hold it with room to spare.
fn bars(of: &Experiment, found: &Analysis) -> Vec<String> {
    let each = of.bars.iter().map(|bar| {
        let own = || found.bars.iter().filter(|cell| cell.bar == bar.text);
        let with = |answer: BarAnswer| own().filter(move |cell| cell.answer == answer);
        let mut line = format!("bar {}: ", bar.text);
        match with(BarAnswer::Holds).next() {
            Some(least) => {
                let roomy = with(BarAnswer::Holds).find(|cell| has_room(bar, cell));
                let recommended = match roomy {
                    Some(cell) if cell.label == least.label => {
                        "these have room to spare".to_owned()
                    }
                    Some(cell) => format!("recommended are {}, with room to spare", cell.label),
                    None => "none have room to spare".to_owned(),
                };
                let _infallible = write!(
                    line,
                    "the least settings that hold it are {}; {recommended}; {} in all",
                    least.label,
                    with(BarAnswer::Holds).count()
                );
            }
            None => line.push_str("no settings surely hold it"),
        }
        let open: Vec<&str> = with(BarAnswer::CannotTell)
            .map(|cell| cell.label.as_str())
            .collect();
        if !open.is_empty() {
            let _infallible = write!(line, "; not told of {}", open.join(", "));
        }
        line
    });
    each.collect()
}

/// Whether even the worse end of the interval is twice as good as the bar asks.
fn has_room(bar: &Bar, cell: &BarCell) -> bool {
    cell.interval.is_some_and(|[low, high]| match bar.below {
        true => high * ROOM <= bar.bound,
        false => low >= bar.bound * ROOM,
    })
}

/// How many promises ended how.
fn tips_line(tips: &[Tip]) -> Option<String> {
    let ends = [
        "confirmed",
        "contradicted",
        "no difference",
        "not testable here",
        "no claim",
    ];
    let of = |kept: Kept| match kept {
        Kept::Confirmed => ends[0],
        Kept::Contradicted => ends[1],
        Kept::NoDifference { .. } => ends[2],
        Kept::NotTestable => ends[3],
        Kept::NoClaim => ends[4],
    };
    let count = |end: &str| tips.iter().filter(|tip| of(tip.kept) == end).count();
    let each: Vec<String> = ends
        .iter()
        .map(|end| (count(end), end))
        .filter(|(n, _)| *n > 0)
        .map(|(n, end)| format!("{n} {end}"))
        .collect();
    (!each.is_empty()).then(|| format!("promised gains: {}", each.join(", ")))
}

fn noise_line(found: &Analysis, noise: &Estimate) -> String {
    format!(
        "the same settings twice: {} {} ({} blocks)",
        words::measure(found.measure),
        words::interval(noise),
        noise.pairs
    )
}

fn dead(report: &ExperimentReport<'_>) -> String {
    let all = report.experiment.combinations();
    let mut labels: Vec<String> = Vec::new();
    for run in report.runs.iter().filter(|run| run.state == RunState::Died) {
        let label = report.experiment.label(&all[run.planned.combination]);
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels.join(", ")
}

/// The report in Markdown.
pub fn experiment_markdown(report: &ExperimentReport<'_>) -> String {
    let answer = experiment_answer(report);
    let mut lines = answer.iter();
    let first = lines.next().map(|line| text(line)).unwrap_or_default();
    let mut out = format!("<!-- {MARK} -->\n### {first}\n\n");
    let stored = report.stored;
    let facts = [
        format!("experiment {} ({})", stored.name, stored.id),
        format!("seed {}", stored.seed.0),
        words::wall(stored.began_wall_ns),
    ];
    let _infallible = writeln!(out, "{}\n", facts.map(|fact| text(&fact)).join(" · "));
    for line in lines {
        let _infallible = writeln!(out, "* {}", text(line));
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
    let _infallible = writeln!(out, "\nAgain: {}", code(&stored.command));
    out
}

/// The numbers of all runs, a row for each run, phase and measure; where the experiment's question has no answer here,
/// each says why.
pub fn experiment_csv(report: &ExperimentReport<'_>) -> String {
    let all = report.experiment.combinations();
    let mut heads: Vec<String> = [
        "place", "block", "restart", "stage", "run", "verdict", "behind",
    ]
    .map(str::to_owned)
    .to_vec();
    let factors = report.experiment.factors.iter();
    heads.extend(factors.map(|factor| factor.name.clone()));
    heads.extend(["phase", "measure", "unit", "value", "not testable"].map(str::to_owned));
    let mut out = line(&heads);
    let why = report.analysis.and_then(|found| found.not_testable.clone());
    let why = why.unwrap_or_default();
    for fact in report.facts {
        let planned = fact.planned;
        let word = |stage: Stage| match stage {
            Stage::Main => "main",
            Stage::Twin => "twin",
            Stage::Again => "again",
        };
        let verdict = match fact.verdict {
            Verdict::Valid => "valid",
            Verdict::Caution => "caution",
            Verdict::Invalid => "invalid",
        };
        let mut own = vec![
            planned.place.to_string(),
            planned.block.to_string(),
            planned.restart.to_string(),
            word(planned.stage).to_owned(),
            fact.run.clone(),
            verdict.to_owned(),
            fact.behind.to_string(),
        ];
        let labels = report.experiment.labels(&all[planned.combination]);
        own.extend(labels.into_iter().map(|(_, label)| label.to_owned()));
        let mut row = |phase: &str, measure: &str, unit: &str, value: f64| {
            let cells = [phase, measure, unit, &value.to_string(), &why].map(str::to_owned);
            out.push_str(&line(&[&own[..], &cells].concat()));
        };
        for (phase, values) in &fact.values {
            for (measure, value) in values {
                row(phase, measure.words(), measure.unit(), *value);
            }
        }
        // Of the last phase, whatever its operations are.
        let bytes = [
            ("disk reads per operation", fact.read_bytes_per_operation),
            (
                "disk writes per operation",
                fact.written_bytes_per_operation,
            ),
        ];
        for (what, bytes) in bytes {
            if let (Some(phase), Some(bytes)) = (fact.phases.last(), bytes) {
                row(phase, what, "B", bytes);
            }
        }
    }
    out
}

fn line(cells: &[String]) -> String {
    let quoted = cells.iter().map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    });
    format!("{}\n", quoted.collect::<Vec<_>>().join(","))
}
