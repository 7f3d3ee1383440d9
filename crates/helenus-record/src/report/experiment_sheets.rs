//! The tables behind an experiment's answer: tips, effects, interactions, thresholds, settings, runs, failures.
//! Refuses to leave out a run: what did not count is shown with its reason.

use crate::report::experiment_data::ExperimentReport;
use crate::report::experiment_rates as rates;
use crate::report::words;
use helenus_model::comparison::{BarAnswer, Claim, Estimate, LEAST_PAIRS, Measure};
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{Analysis, Interaction, Kept, Stage, Tip};

/// A table of a report. A head that starts with `>` is set to the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// What it shows.
    pub title: &'static str,
    /// How to read it; empty where the heads are enough.
    pub note: &'static str,
    /// Heads.
    pub heads: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<String>>,
}

/// The tables behind the answer; those without a row are left out.
pub fn experiment_sheets(report: &ExperimentReport<'_>) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    if let Some(found) = report.analysis {
        sheets.push(tips(&found.tips));
        sheets.push(effects(found));
        sheets.push(interactions(&found.interactions));
        sheets.push(bar_cells(found));
        sheets.push(ladders(found));
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
        note: "",
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    }
}

/// How to read a table of changes.
const OF_CHANGES: &str =
    "Detectable: the smallest difference that so many blocks detect with 80 % power.";

fn said(claim: Claim, testable: bool) -> String {
    match claim {
        _ if !testable => "not testable here",
        Claim::None => "no claim",
        Claim::NoDifference => "no significant difference",
        Claim::Higher => "higher",
        Claim::Lower => "lower",
    }
    .to_owned()
}

/// Ratio, interval, adjusted p, and the minimum detectable effect of so many blocks.
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
        e.detectable
            .map_or("–".to_owned(), |finds| words::percent(finds - 1.0)),
    ]
}

/// What was claimed beside what was measured.
fn tips(tips: &[Tip]) -> Sheet {
    let rows = tips.iter().map(|tip| {
        let word = tip.kept.word();
        let ends_as = match tip.kept {
            Kept::NoDifference { above } => format!("{word} above {}", words::percent(above)),
            Kept::NoClaim => format!("{word} below {LEAST_PAIRS} blocks"),
            _ => word.to_owned(),
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
            ends_as,
            tip.because.clone().unwrap_or_default(),
        ]
    });
    let heads = [
        "tip",
        "claimed",
        ">measured",
        "95 % interval",
        "result",
        "because",
    ];
    sheet("Tips", &heads, rows.collect())
}

fn effects(found: &Analysis) -> Sheet {
    let rows = found.effects.iter().map(|effect| {
        let [change, interval, p, finds] = numbers(effect.estimate.as_ref());
        let level = format!("{} against {}", effect.to, effect.from);
        let measure = words::measure(effect.measure).to_owned();
        let blocks = effect.estimate.map_or(0, |e| e.pairs);
        let blocks = match effect.incomplete_blocks {
            0 => blocks.to_string(),
            lack => format!("{blocks}, {lack} lack a run"),
        };
        let [over, of] = effect.settings;
        let over = format!("{over} of {of}");
        let said = match effect.testable && effect.measure != found.measure {
            true => "exploratory".to_owned(),
            false => said(effect.claim, effect.testable),
        };
        vec![
            measure,
            effect.factor.clone(),
            level,
            change,
            interval,
            p,
            finds,
            blocks,
            over,
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
        ">detectable",
        ">blocks",
        ">settings",
        "claim",
    ];
    Sheet {
        note: OF_CHANGES,
        ..sheet("Effects", &heads, rows.collect())
    }
}

fn interactions(all: &[Interaction]) -> Sheet {
    let rows = all.iter().map(|one| {
        let [change, interval, p, finds] = numbers(one.estimate.as_ref());
        let level = |[factor, level]: &[String; 2]| format!("{factor}={level}");
        vec![
            words::measure(one.measure).to_owned(),
            level(&one.one),
            level(&one.other),
            change,
            interval,
            p,
            finds,
            said(one.claim, one.testable),
        ]
    });
    let heads = [
        "measure",
        "levels",
        "together with",
        ">changes it by",
        "95 % interval",
        ">p (Holm)",
        ">detectable",
        "claim",
    ];
    Sheet {
        note: OF_CHANGES,
        ..sheet("Interactions", &heads, rows.collect())
    }
}

fn bar_cells(found: &Analysis) -> Sheet {
    let rows = found.bars.iter().map(|cell| {
        let answer = match cell.answer {
            BarAnswer::Holds => "holds",
            BarAnswer::CannotTell => "inconclusive",
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
        let behind = match cell.value {
            None if behind.is_empty() => "no run counts".to_owned(),
            _ => behind,
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
        "threshold",
        "settings",
        ">value",
        "one-sided 95 % bounds",
        "answer",
        "because",
    ];
    sheet("Thresholds", &heads, rows.collect())
}

/// Which rate holds a threshold that was tested at several.
fn ladders(found: &Analysis) -> Sheet {
    let rows = found.ladders.iter().map(|ladder| {
        vec![
            ladder.bar.clone(),
            ladder.label.clone(),
            rates::list(&ladder.rates),
            rates::rate(ladder.rate),
            rates::interval(ladder.interval),
        ]
    });
    let heads = [
        "threshold",
        "settings",
        "rates",
        ">holds up to",
        "95 % interval",
    ];
    Sheet {
        note: OF_RATES,
        ..sheet("Rate that holds a threshold", &heads, rows.collect())
    }
}

/// How to read a table of rates.
const OF_RATES: &str =
    "Interpolated between the rates that were run (log time over log rate), never beyond them.";

/// The measures shown of each combination.
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
    for measure in &columns {
        heads.push(format!(">{}", words::measure(*measure)));
        if *measure == found.measure {
            heads.push("95 % interval".to_owned());
        }
    }
    let heads_behind = [
        ">nodes' processors",
        ">generator's",
        ">disk reads/op",
        ">disk writes/op",
    ];
    heads.extend(heads_behind.map(str::to_owned));
    let rows = found.combinations.iter().map(|cell| {
        let mut row = vec![cell.label.clone(), cell.runs.to_string()];
        for measure in &columns {
            let number = |value: f64| words::value(*measure, value);
            let value = cell.values.get(measure);
            row.push(value.map_or("–".to_owned(), |v| number(*v)));
            if *measure == found.measure {
                let ends = cell.intervals.get(measure);
                let range =
                    |[low, high]: &[f64; 2]| format!("{} to {}", number(*low), number(*high));
                row.push(ends.map_or("–".to_owned(), range));
            }
        }
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
        note: "Means over the runs that count. All settings share the drift of the machine, which is in their intervals; \
               the effects show by how much they differ.",
        heads,
        rows,
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Main => "",
        Stage::Twin => "A/A control",
        Stage::Again => "measured again",
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
        let verdict = fact.map_or(run.state.word(), |fact| match fact.verdict {
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
            rows.push(vec![label, run.state.word().to_owned(), why.clone()]);
        }
    }
    sheet("What did not run", &["settings", "state", "why"], rows)
}
