//! The tables behind an experiment's answer: tips, effects, interactions, bars, settings, runs, failures.
//! Refuses to leave out a run: what did not count stands there with its reason.

use crate::planned::PlannedRun;
use crate::report::experiment::ExperimentReport;
use crate::report::words;
use helenus_model::comparison::{BarAnswer, Claim, Estimate, LEAST_PAIRS, Measure};
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{Analysis, Effect, Interaction, Kept, RunState, Stage, Tip};

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

/// The tables behind the answer; those without a row are left out.
pub fn experiment_sheets(report: &ExperimentReport<'_>) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    if let Some(found) = report.analysis {
        sheets.push(tips(report, &found.tips));
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

/// What was promised beside what was measured.
fn tips(report: &ExperimentReport<'_>, tips: &[Tip]) -> Sheet {
    let rows = tips.iter().map(|tip| {
        let because = match tip.kept {
            Kept::NotTestable => why_not(report, tip),
            _ => String::new(),
        };
        let signed = |share: f64| {
            format!(
                "{}{}",
                if share > 0.0 { "+" } else { "" },
                words::percent(share)
            )
        };
        vec![
            format!("{}={}", tip.factor, tip.level),
            tip.promised.clone(),
            tip.gain
                .map_or("–".to_owned(), |[_, middle, _]| signed(middle)),
            tip.gain.map_or("–".to_owned(), |[low, _, high]| {
                format!("{} to {}", signed(low), signed(high))
            }),
            ending(tip.kept),
            because,
        ]
    });
    let heads = [
        "tip",
        "promised",
        ">measured",
        "95 % interval",
        "ends as",
        "because",
    ];
    sheet("Tips", &heads, rows.collect())
}

fn ending(kept: Kept) -> String {
    match kept {
        Kept::Confirmed => "confirmed".to_owned(),
        Kept::Contradicted => "contradicted".to_owned(),
        Kept::NoDifference { above } => {
            format!("no difference above {}", words::percent(above))
        }
        Kept::NotTestable => "not testable here".to_owned(),
        Kept::NoClaim => format!("no claim below {LEAST_PAIRS} blocks"),
    }
}

/// Why a tip was not tried: the question as a whole has no answer here, or its runs did not come to numbers.
fn why_not(report: &ExperimentReport<'_>, tip: &Tip) -> String {
    if let Some(why) = report
        .analysis
        .and_then(|found| found.not_testable.as_ref())
    {
        return why.clone();
    }
    let all = report.experiment.combinations();
    let own = |run: &&PlannedRun| {
        let labels = report.experiment.labels(&all[run.planned.combination]);
        labels.contains(&(tip.factor.as_str(), tip.level.as_str()))
    };
    let mut why = report.runs.iter().filter(own).filter_map(|run| {
        let first = run.why.as_ref()?.lines().next()?;
        Some(format!("{}: {first}", state(run.state)))
    });
    why.next().unwrap_or_else(|| "it was not run".to_owned())
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
    let heads_behind = [
        ">nodes' processors",
        ">generator's",
        ">disk reads/op",
        ">disk writes/op",
    ];
    heads.extend(heads_behind.map(str::to_owned));
    let rows = found.combinations.iter().map(|cell| {
        let mut row = vec![cell.label.clone(), cell.runs.to_string()];
        row.extend(columns.iter().map(|measure| {
            let value = cell.values.get(measure);
            value.map_or("–".to_owned(), |v| words::value(*measure, *v))
        }));
        let busy = [cell.node_processors(), cell.generator_processors()];
        row.extend(busy.map(|busy| busy.map_or("–".to_owned(), words::digits)));
        let bytes = |of: Option<f64>| {
            of.map_or("–".to_owned(), |bytes| {
                format!("{} B", words::digits(bytes))
            })
        };
        row.push(bytes(cell.read_bytes_per_operation));
        row.push(bytes(cell.written_bytes_per_operation));
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
