//! Experiments in which nothing differs: stored runs whose settings are drawn anew, and what their reports claim all the same.
//! Refuses to count less than a report prints: effects, interactions, the best settings and all others beside them.

use super::Call;
use super::experiment::{experiment, facts, rows};
use helenus_model::comparison::{Claim, LEAST_PAIRS, Measure};
use helenus_model::experiment::{Analysis, Fact, Planned, Stage, analyse};
use helenus_model::seed::Seed;
use helenus_model::stats::{Draw, mean};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What `--list` says.
pub(crate) const ABOUT: &str = "stored experiments with their settings drawn anew: how many reports claim a difference where none is";

/// Draws of each experiment where nobody says.
const DRAWS: u64 = 500;

/// Two-sided 95 % point of the normal distribution.
const SURE: f64 = 1.96;

/// One report: the claims of a difference that it makes, by what they are about.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Told {
    format: String,
    experiment: String,
    raw: String,
    draw: u64,
    runs: usize,
    /// Claims that it might make.
    looked_at: usize,
    effects: usize,
    interactions: usize,
    /// The best settings against the first.
    best: usize,
    /// Settings that it takes for surely not the best.
    not_best: usize,
}

/// `prove null [DRAWS]`: draws what is missing, and appends a line for each report.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let draws = match words {
        [] => DRAWS,
        [draws] => draws.parse()?,
        _ => return Err("prove null takes a number of draws".into()),
    };
    let path = root.join("benches/runs/null-experiments.jsonl");
    let known = told(&path).unwrap_or_default();
    let mut out = fs_err::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)?;
    for raw in stored(root)? {
        let name = raw
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let of = experiment(root, &raw)?;
        let mut facts = facts(&of, &rows(&raw)?)?;
        facts.retain(|fact| fact.is_believed() && fact.planned.stage != Stage::Again);
        let whole = analyse(&of, &facts, None, None).ok_or("no run has a number")?;
        if whole.blocks < LEAST_PAIRS {
            println!("{name}: {} blocks claim nothing", whole.blocks);
            continue;
        }
        level(&mut facts, &whole);
        let done = |draw: u64| known.iter().any(|one| one.raw == name && one.draw == draw);
        for draw in (0..draws).filter(|draw| !done(*draw)) {
            let analysis = analyse(&of, &drawn(&facts, Seed(draw)), None, None);
            let analysis = analysis.ok_or("no run has a number")?;
            let line = Told {
                format: "helenus.proof-null/1".to_owned(),
                experiment: of.name.clone(),
                raw: name.clone(),
                draw,
                runs: facts.len(),
                ..claims(&analysis)
            };
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
        println!("{name}: {draws} draws");
    }
    Ok(())
}

/// The tables of experiments that are kept.
fn stored(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(root.join("benches/runs/experiments"))? {
        found.push(entry?.path());
    }
    found.retain(|path| path.extension().is_some_and(|e| e == "csv"));
    found.sort();
    Ok(found)
}

fn told(path: &Path) -> Result<Vec<Told>, Box<dyn Error>> {
    let text = fs_err::read_to_string(path)?;
    let lines = text.lines().map(|line| Ok(serde_json::from_str(line)?));
    lines.collect()
}

/// `null`: the reports of each experiment, and those that claim a difference.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let all = told(call.file()?)?;
    let mut text = "| experiment | runs | claims looked at | reports | that claim a difference | 95 % confidence interval | settings called *not the best* in |\n|---|--:|--:|--:|--:|---|--:|\n".to_owned();
    let mut names: Vec<&str> = all.iter().map(|one| one.experiment.as_str()).collect();
    names.dedup();
    for name in names.into_iter().chain(["all"]) {
        let of = |one: &&Told| name == "all" || one.experiment == name;
        let own: Vec<&Told> = all.iter().filter(of).collect();
        let claims = |one: &&&Told| one.effects + one.interactions + one.best > 0;
        let wrong = own.iter().filter(claims).count();
        let not_best = own.iter().filter(|one| one.not_best > 0).count();
        let first = own.first().filter(|_| name != "all");
        let _infallible = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} |",
            first.map_or(String::new(), |one| one.runs.to_string()),
            first.map_or(String::new(), |one| one.looked_at.to_string()),
            own.len(),
            share(wrong, own.len()),
            percent(not_best, own.len()),
        );
    }
    Ok(text)
}

/// Everything that a report says of the measure that it is about.
fn claims(of: &Analysis) -> Told {
    let differs = |claims: &[Claim]| {
        let claims = claims
            .iter()
            .filter(|c| matches!(c, Claim::Higher | Claim::Lower));
        claims.count()
    };
    let effects = of.effects.iter().filter(|e| e.measure == of.measure);
    let effects: Vec<Claim> = effects.map(|effect| effect.claim).collect();
    let interactions: Vec<Claim> = of.interactions.iter().map(|one| one.claim).collect();
    let best: Vec<Claim> = of.answer.iter().map(|answer| answer.claim).collect();
    let rivals = of.answer.iter().flat_map(|answer| &answer.rivals);
    let rivals: Vec<Claim> = rivals.map(|rival| rival.claim).collect();
    Told {
        format: String::new(),
        experiment: String::new(),
        raw: String::new(),
        draw: 0,
        runs: 0,
        looked_at: effects.len() + interactions.len() + best.len(),
        effects: differs(&effects),
        interactions: differs(&interactions),
        best: differs(&best),
        not_best: differs(&rivals),
    }
}

/// Takes off what the settings do to the measure: each has the same mean.
fn level(facts: &mut [Fact], of: &Analysis) {
    let value = |fact: &Fact| number(fact, &of.phase, of.measure);
    let mut logs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for fact in facts.iter() {
        let own = logs.entry(fact.planned.combination).or_default();
        own.extend(value(fact).map(f64::ln));
    }
    let means: BTreeMap<usize, f64> = logs
        .into_iter()
        .filter_map(|(combination, logs)| Some((combination, mean(&logs)?)))
        .collect();
    for fact in facts {
        let own = means.get(&fact.planned.combination).copied();
        let values = fact.values.get_mut(&of.phase);
        if let Some(value) = values.and_then(|values| values.get_mut(&of.measure)) {
            *value /= own.unwrap_or(0.0).exp();
        }
    }
}

fn number(fact: &Fact, phase: &str, measure: Measure) -> Option<f64> {
    fact.values.get(phase)?.get(&measure).copied()
}

/// The numbers of the runs of a block among its settings anew; where a restart has several runs, among those of it.
fn drawn(known: &[Fact], seed: Seed) -> Vec<Fact> {
    let mut restarts: BTreeMap<usize, usize> = BTreeMap::new();
    for fact in known {
        *restarts.entry(fact.planned.restart).or_default() += 1;
    }
    let several = restarts.values().any(|runs| *runs > 1);
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, fact) in known.iter().enumerate() {
        let group = match several {
            true => fact.planned.restart,
            false => fact.planned.block,
        };
        groups.entry(group).or_default().push(place);
    }
    let mut draw = Draw::new(seed);
    let mut facts = known.to_vec();
    for places in groups.values() {
        let mut from = places.clone();
        draw.shuffle(&mut from);
        for (to, from) in places.iter().zip(from) {
            // The place in the life of the nodes stays the run's: settings change theirs.
            let (planned, other) = (known[*to].planned, &known[from]);
            facts[*to] = Fact {
                planned: Planned {
                    place: other.planned.place,
                    restart: other.planned.restart,
                    ..planned
                },
                ..other.clone()
            };
        }
    }
    facts
}

#[expect(clippy::cast_precision_loss, reason = "counts of draws")]
fn percent(found: usize, of: usize) -> String {
    format!("{:.1} %", found as f64 * 100.0 / of.max(1) as f64)
}

/// `4.5 % | 3.1 to 6.4 %`, by Wilson.
#[expect(clippy::cast_precision_loss, reason = "counts of draws")]
fn share(found: usize, of: usize) -> String {
    let (n, p) = (of as f64, found as f64 / of.max(1) as f64);
    let square = SURE * SURE / n;
    let middle = (p + square / 2.0) / (1.0 + square);
    let half = SURE * (p * (1.0 - p) / n + square / (4.0 * n)).sqrt() / (1.0 + square);
    let ends = [middle - half, middle + half].map(|end| end.max(0.0) * 100.0);
    format!(
        "{} | {:.1} to {:.1} %",
        percent(found, of),
        ends[0],
        ends[1]
    )
}
