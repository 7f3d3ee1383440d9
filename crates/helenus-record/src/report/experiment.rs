//! The report of an experiment: the answer first, then sheets of numbers; as lines, Markdown, CSV and a page.
//! Refuses an answer where the question cannot be answered here, and names what was left out.

use crate::planned::{PlannedRun, StoredExperiment};
use crate::report::MARK;
use crate::report::words::{self, code, markdown as text};
use helenus_model::comparison::{BarAnswer, Claim, Estimate, LEAST_PAIRS, Measure};
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{
    Analysis, Answer, Effect, Experiment, Fact, Interaction, Progress, RunState, Stage,
};
use std::fmt::Write as _;

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

/// A table of a report. A head that begins with `>` is set to the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// What it shows.
    pub title: &'static str,
    /// Heads.
    pub heads: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<String>>,
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

fn bars(of: &Experiment, found: &Analysis) -> Vec<String> {
    let each = of.bars.iter().map(|bar| {
        let with = |answer: BarAnswer| -> Vec<&str> {
            let own = found.bars.iter().filter(|cell| cell.bar == bar.text);
            own.filter(|cell| cell.answer == answer)
                .map(|cell| cell.label.as_str())
                .collect()
        };
        let (holds, open) = (with(BarAnswer::Holds), with(BarAnswer::CannotTell));
        let mut line = format!("bar {}: ", bar.text);
        match holds.first() {
            Some(first) => {
                let _infallible = write!(
                    line,
                    "the first settings that hold it are {first}; {} in all",
                    holds.len()
                );
            }
            None => line.push_str("no settings surely hold it"),
        }
        if !open.is_empty() {
            let _infallible = write!(line, "; not told of {}", open.join(", "));
        }
        line
    });
    each.collect()
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

/// The tables behind the answer; those without a row are left out.
pub fn experiment_sheets(report: &ExperimentReport<'_>) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    if let Some(found) = report.analysis {
        sheets.push(effects(&found.effects));
        sheets.push(interactions(&found.interactions));
        sheets.push(bar_cells(found));
        sheets.push(combinations(found));
    }
    sheets.push(runs(report));
    sheets.push(failures(report));
    sheets.retain(|sheet| !sheet.rows.is_empty());
    sheets
}

fn sheet(title: &'static str, heads: &[&str], rows: Vec<Vec<String>>) -> Sheet {
    Sheet {
        title,
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    }
}

fn said(claim: Claim, testable: bool) -> String {
    match claim {
        _ if !testable => "not testable here",
        Claim::None => "no claim",
        Claim::NoDifference => "not told apart",
        Claim::Higher => "higher",
        Claim::Lower => "lower",
    }
    .to_owned()
}

/// Ratio, interval, adjusted p, and the smallest difference that so many blocks find.
fn numbers(estimate: Option<&Estimate>) -> [String; 4] {
    let Some(e) = estimate else {
        return ["–", "–", "–", "–"].map(str::to_owned);
    };
    let p = match e.p_holm {
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
        None => "–".to_owned(),
    };
    [
        words::change(e.ratio),
        words::interval(e),
        p,
        words::percent(e.detectable - 1.0),
    ]
}

fn effects(effects: &[Effect]) -> Sheet {
    let rows = effects.iter().map(|effect| {
        let [change, interval, p, finds] = numbers(effect.estimate.as_ref());
        let level = format!("{} against {}", effect.to, effect.from);
        let measure = words::measure(effect.measure).to_owned();
        let blocks = effect.estimate.map_or(0, |e| e.pairs).to_string();
        let said = said(effect.claim, effect.testable);
        vec![
            measure,
            effect.factor.clone(),
            level,
            change,
            interval,
            p,
            finds,
            blocks,
            said,
        ]
    });
    let heads = [
        "measure",
        "factor",
        "level",
        ">change",
        "95 % interval",
        ">p (Holm)",
        ">finds",
        ">blocks",
        "claim",
    ];
    sheet("Effects", &heads, rows.collect())
}

fn interactions(all: &[Interaction]) -> Sheet {
    let rows = all.iter().map(|one| {
        let [change, interval, p, finds] = numbers(one.estimate.as_ref());
        let words = |[factor, level]: &[String; 2]| format!("{factor}={level}");
        vec![
            words(&one.one),
            words(&one.other),
            change,
            interval,
            p,
            finds,
            said(one.claim, one.testable),
        ]
    });
    let heads = [
        "levels",
        "together with",
        ">changes it by",
        "95 % interval",
        ">p (Holm)",
        ">finds",
        "claim",
    ];
    sheet("Interactions", &heads, rows.collect())
}

fn bar_cells(found: &Analysis) -> Sheet {
    let rows = found.bars.iter().map(|cell| {
        let answer = match cell.answer {
            BarAnswer::Holds => "holds",
            BarAnswer::CannotTell => "cannot be told",
            BarAnswer::Crossed => "is crossed",
        };
        let number = |value: f64| words::value(cell.measure, value);
        let interval = cell.interval.map_or("–".to_owned(), |[low, high]| {
            format!("{} to {}", number(low), number(high))
        });
        let value = cell.value.map_or("–".to_owned(), number);
        let behind = match cell.behind {
            0 => String::new(),
            n => format!("{n} runs fell behind"),
        };
        vec![
            cell.bar.clone(),
            cell.label.clone(),
            value,
            interval,
            answer.to_owned(),
            behind,
        ]
    });
    let heads = [
        "bar",
        "settings",
        ">value",
        "95 % interval",
        "answer",
        "because",
    ];
    sheet("Bars", &heads, rows.collect())
}

/// What is told of each combination.
fn columns(found: &Analysis) -> Vec<Measure> {
    let own = Measure::EVERY.into_iter().filter(|measure| {
        let has = |cell: &helenus_model::experiment::Cell| cell.values.contains_key(measure);
        found.combinations.iter().any(has)
    });
    let scheduled = found
        .combinations
        .iter()
        .any(|cell| cell.values.contains_key(&Measure::ResponseMean));
    own.filter(|measure| match measure {
        Measure::Throughput | Measure::NodeCpu => true,
        Measure::ResponseP50 | Measure::ResponseP99 => true,
        Measure::ServiceP50 | Measure::ServiceP99 => !scheduled,
        other => *other == found.measure,
    })
    .collect()
}

fn combinations(found: &Analysis) -> Sheet {
    let columns = columns(found);
    let mut heads = vec!["settings".to_owned(), ">runs".to_owned()];
    heads.extend(columns.iter().map(|m| format!(">{}", words::measure(*m))));
    heads.push(">disk reads/op".to_owned());
    let rows = found.combinations.iter().map(|cell| {
        let mut row = vec![cell.label.clone(), cell.runs.to_string()];
        row.extend(columns.iter().map(|measure| {
            let value = cell.values.get(measure);
            value.map_or("–".to_owned(), |v| words::value(*measure, *v))
        }));
        row.push(
            cell.read_bytes_per_operation
                .map_or("–".to_owned(), |bytes| {
                    format!("{} B", words::digits(bytes))
                }),
        );
        row
    });
    let rows = rows.collect();
    Sheet {
        title: "Settings",
        heads,
        rows,
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Main => "",
        Stage::Twin => "the same again",
        Stage::Again => "measured again",
    }
}

fn state(state: RunState) -> &'static str {
    match state {
        RunState::Planned => "planned",
        RunState::Running => "begun",
        RunState::Done => "done",
        RunState::Died => "died",
        RunState::Interrupted => "cut off",
        RunState::DoesNotFit => "does not fit",
    }
}

fn runs(report: &ExperimentReport<'_>) -> Sheet {
    let all = report.experiment.combinations();
    let rows = report.runs.iter().map(|run| {
        let planned = run.planned;
        let fact = report
            .facts
            .iter()
            .find(|fact| fact.planned.place == planned.place);
        let value = report.analysis.zip(fact).and_then(|(found, fact)| {
            let value = fact.values.get(&found.phase)?.get(&found.measure)?;
            Some(words::value(found.measure, *value))
        });
        let verdict = fact.map_or(state(run.state), |fact| match fact.verdict {
            Verdict::Valid => "valid",
            Verdict::Caution => "with cautions",
            Verdict::Invalid => "does not count",
        });
        let doubts = fact.map_or(String::new(), |fact| fact.doubts.join("; "));
        vec![
            (planned.place + 1).to_string(),
            (planned.block + 1).to_string(),
            (planned.restart + 1).to_string(),
            report.experiment.label(&all[planned.combination]),
            stage(planned.stage).to_owned(),
            run.run.map_or("–".to_owned(), |id| id.to_string()),
            value.unwrap_or_else(|| "–".to_owned()),
            verdict.to_owned(),
            doubts,
        ]
    });
    let of = report
        .analysis
        .map_or("value", |found| words::measure(found.measure));
    let value = format!(">{of}");
    let heads = [
        ">no.", ">block", ">restart", "settings", "stage", "run", &value, "verdict", "doubts",
    ];
    sheet("Runs", &heads, rows.collect())
}

fn failures(report: &ExperimentReport<'_>) -> Sheet {
    let all = report.experiment.combinations();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for run in report.runs {
        let Some(why) = &run.why else { continue };
        let label = report.experiment.label(&all[run.planned.combination]);
        if !rows.iter().any(|row| row[0] == label) {
            rows.push(vec![label, state(run.state).to_owned(), why.clone()]);
        }
    }
    sheet("What did not run", &["settings", "state", "why"], rows)
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
        if let (Some(phase), Some(bytes)) = (fact.phases.last(), fact.read_bytes_per_operation) {
            row(phase, "disk reads per operation", "B", bytes);
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
