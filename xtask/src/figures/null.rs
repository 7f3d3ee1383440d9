//! Experiments in which nothing differs: stored runs whose settings are drawn anew, and what their reports claim all the same.
//! Refuses to count less than a report prints: effects, interactions, the best settings and all others beside them.
//!
//! Each setting is drawn where the order of the experiment drew it: those that need a restart among the restarts of a block, all
//! others among the runs of a restart.

use super::Call;
use super::experiment::{experiment, facts, rows};
use helenus_model::comparison::{Claim, LEAST_PAIRS, Measure};
use helenus_model::experiment::{Analysis, Experiment, Fact, Planned, Stage, analyse};
use helenus_model::seed::Seed;
use helenus_model::stats::{Draw, mean};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What `--list` says.
pub(crate) const ABOUT: &str = "stored experiments with their settings drawn anew: how many reports claim a difference where none is";

/// Draws of each experiment by default: 500 are too few to separate 5 from 7 %.
const DRAWS: u64 = 500;

/// Two-sided 95 % point of the normal distribution.
const SURE: f64 = 1.96;

/// Share of reports that may claim a difference where none is.
const NOMINAL: f64 = 0.05;

/// How often the effects of a screening are taken off in turn: its columns are nearly orthogonal, so few are enough.
const TURNS: usize = 100;

/// One report: the claims of a difference that it makes, by what they are about.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Drawn {
    format: String,
    experiment: String,
    raw: String,
    draw: u64,
    runs: usize,
    /// Claims that it might make.
    looked_at: usize,
    effects: usize,
    /// Of these effects those of factors that need a restart.
    of_restarts: usize,
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
    let known = lines(&path).unwrap_or_default();
    let mut out = fs_err::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)?;
    for raw in stored(root)? {
        let name = file_name(&raw);
        let of = experiment(root, &raw)?;
        let (facts, whole) = nothing_differs(&of, facts(&of, &rows(&raw)?)?)?;
        if claims_nothing(&of, &whole) {
            println!("{name}: {} blocks claim nothing", whole.blocks);
            continue;
        }
        let done = |draw: u64| known.iter().any(|one| one.raw == name && one.draw == draw);
        for draw in (0..draws).filter(|draw| !done(*draw)) {
            let drawn = drawn(&of, &facts, Seed(draw));
            let analysis = analyse(&of, &drawn, None, None).ok_or("no run has a number")?;
            let line = Drawn {
                format: "helenus.proof-null/2".to_owned(),
                experiment: of.name.clone(),
                raw: name.clone(),
                draw,
                runs: facts.len(),
                ..claims(&of, &analysis)
            };
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
        println!("{name}: {draws} draws");
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The runs that are drawn anew, with what settings do to the measure taken off, and what they said with it.
fn nothing_differs(
    of: &Experiment,
    mut facts: Vec<Fact>,
) -> Result<(Vec<Fact>, Analysis), Box<dyn Error>> {
    facts.retain(|fact| fact.is_believed() && fact.planned.stage != Stage::Again);
    let whole = analyse(of, &facts, None, None).ok_or("no run has a number")?;
    level(of, &mut facts, &whole);
    Ok((facts, whole))
}

/// Whether a report of it may claim nothing, whatever its numbers are: too few blocks. Those of a screening have restarts.
fn claims_nothing(of: &Experiment, whole: &Analysis) -> bool {
    whole.blocks < LEAST_PAIRS && !of.is_screening()
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

fn lines(path: &Path) -> Result<Vec<Drawn>, Box<dyn Error>> {
    let text = fs_err::read_to_string(path)?;
    let lines = text.lines().map(|line| Ok(serde_json::from_str(line)?));
    lines.collect()
}

/// Those of the stored experiments that are not drawn, in words.
fn not_drawn(root: &Path, drawn: &[Drawn]) -> Result<String, Box<dyn Error>> {
    let mut lines = String::new();
    for raw in stored(root)? {
        let name = file_name(&raw);
        if drawn.iter().any(|one| one.raw == name) {
            continue;
        }
        let of = experiment(root, &raw)?;
        let (_, whole) = nothing_differs(&of, facts(&of, &rows(&raw)?)?)?;
        let why = match claims_nothing(&of, &whole) {
            true => format!("{} blocks, of which a report claims nothing", whole.blocks),
            false => "not drawn yet".to_owned(),
        };
        let _infallible = writeln!(lines, "\nNot in the table: {} ({why}).", titled(&name));
    }
    Ok(lines)
}

/// `clients, 2026-11-23` of `clients-2026-11-23-f742b2.csv`.
fn titled(raw: &str) -> String {
    let stem = raw.trim_end_matches(".csv");
    let parts: Vec<&str> = stem.split('-').collect();
    match parts.len().checked_sub(4) {
        Some(at) if at > 0 => {
            let (name, date) = (parts[..at].join("-"), parts[at..at + 3].join("-"));
            format!("{name}, {date}")
        }
        _ => stem.to_owned(),
    }
}

/// `null`: the reports of each raw file, and those that claim a difference.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let all = lines(call.file()?)?;
    let mut text = table(&all);
    text.push_str(&not_drawn(call.root, &all)?);
    Ok(text)
}

fn table(all: &[Drawn]) -> String {
    let mut text = "| experiment | runs | claims looked at | reports | that claim a difference | 95 % confidence interval | about a factor that needs a restart | settings called *not the best* in |\n|---|--:|--:|--:|--:|---|--:|--:|\n".to_owned();
    let raws: BTreeSet<&str> = all.iter().map(|one| one.raw.as_str()).collect();
    let each = raws.into_iter().map(Some).chain([None]);
    let mut off = Vec::new();
    for raw in each {
        let of = |one: &&Drawn| raw.is_none_or(|raw| one.raw == raw);
        let own: Vec<&Drawn> = all.iter().filter(of).collect();
        let reports = |is: &dyn Fn(&Drawn) -> bool| own.iter().filter(|one| is(one)).count();
        let wrong = reports(&|one| one.effects + one.interactions + one.best > 0);
        let of_restarts = reports(&|one| one.of_restarts > 0);
        let not_best = reports(&|one| one.not_best > 0);
        let first = own.first().filter(|_| raw.is_some());
        let title = raw.map_or("all".to_owned(), titled);
        let _infallible = writeln!(
            text,
            "| {title} | {} | {} | {} | {} | {} | {} |",
            first.map_or(String::new(), |one| one.runs.to_string()),
            first.map_or(String::new(), |one| one.looked_at.to_string()),
            own.len(),
            share(wrong, own.len()),
            percent(of_restarts, own.len()),
            percent(not_best, own.len()),
        );
        let ends = wilson(wrong, own.len());
        if ends[1] < NOMINAL {
            off.push(format!("{title} (below)"));
        } else if ends[0] > NOMINAL {
            off.push(format!("{title} (above)"));
        }
    }
    let _infallible = match off.as_slice() {
        [] => writeln!(text, "\nEach interval contains the nominal 5 %."),
        off => writeln!(
            text,
            "\nIntervals of the claims that do not contain the nominal 5 %: {}.",
            off.join("; ")
        ),
    };
    text
}

/// Everything that a report says of the measure that it is about.
fn claims(about: &Experiment, of: &Analysis) -> Drawn {
    let differs = |claims: &[Claim]| {
        let claims = claims
            .iter()
            .filter(|c| matches!(c, Claim::Higher | Claim::Lower));
        claims.count()
    };
    let restarts = about.factors.iter().filter(|f| f.kind.is_whole());
    let restarts: BTreeSet<&str> = restarts.map(|factor| factor.name.as_str()).collect();
    let own = || of.effects.iter().filter(|e| e.measure == of.measure);
    let effects: Vec<Claim> = own().map(|effect| effect.claim).collect();
    let between = own().filter(|effect| restarts.contains(effect.factor.as_str()));
    let between: Vec<Claim> = between.map(|effect| effect.claim).collect();
    let interactions: Vec<Claim> = of.interactions.iter().map(|one| one.claim).collect();
    let best: Vec<Claim> = of.answer.iter().map(|answer| answer.claim).collect();
    let rivals = of.answer.iter().flat_map(|answer| &answer.rivals);
    let rivals: Vec<Claim> = rivals.map(|rival| rival.claim).collect();
    Drawn {
        format: String::new(),
        experiment: String::new(),
        raw: String::new(),
        draw: 0,
        runs: 0,
        looked_at: effects.len() + interactions.len() + best.len(),
        effects: differs(&effects),
        of_restarts: differs(&between),
        interactions: differs(&interactions),
        best: differs(&best),
        not_best: differs(&rivals),
    }
}

/// Takes off what the settings do to the measure: each has the same mean. In a screening it is the levels of each factor that
/// have: its settings ran once or twice, so their means would take the noise away, too.
fn level(of: &Experiment, facts: &mut [Fact], whole: &Analysis) {
    let all = of.combinations();
    let groups: Vec<Vec<usize>> = match of.is_screening() {
        false => vec![(0..all.len()).collect()],
        true => {
            let of_factor =
                |place: usize| -> Vec<usize> { all.iter().map(|levels| levels[place]).collect() };
            (0..of.factors.len()).map(of_factor).collect()
        }
    };
    let turns = if groups.len() > 1 { TURNS } else { 1 };
    for group in (0..turns).flat_map(|_| &groups) {
        let mut logs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for fact in facts.iter() {
            let own = logs.entry(group[fact.planned.combination]).or_default();
            own.extend(number(fact, &whole.phase, whole.measure).map(f64::ln));
        }
        for fact in facts.iter_mut() {
            let own = &logs[&group[fact.planned.combination]];
            let values = fact.values.get_mut(&whole.phase);
            if let Some(value) = values.and_then(|values| values.get_mut(&whole.measure)) {
                *value /= mean(own).unwrap_or(0.0).exp();
            }
        }
    }
}

fn number(fact: &Fact, phase: &str, measure: Measure) -> Option<f64> {
    fact.values.get(phase)?.get(&measure).copied()
}

/// The numbers of the restarts of a block among its settings anew, and within each restart those of its runs: a restart gets all
/// settings of another one, in a new order. The place in the life of the nodes stays the run's: settings change theirs.
fn drawn(of: &Experiment, known: &[Fact], seed: Seed) -> Vec<Fact> {
    let mut whole_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for whole in of.wholes(&of.combinations()) {
        let own = &whole.combinations;
        whole_of.extend(own.iter().map(|c| (*c, own.clone())));
    }
    // By block and restart what stands there: its settings and why it was run.
    let mut blocks: BTreeMap<usize, BTreeMap<usize, (&[usize], Stage)>> = BTreeMap::new();
    for Fact { planned, .. } in known {
        let own = whole_of[&planned.combination].as_slice();
        let restarts = blocks.entry(planned.block).or_default();
        restarts.insert(planned.restart, (own, planned.stage));
    }
    let mut draw = Draw::new(seed);
    let mut facts = Vec::new();
    for (block, restarts) in blocks {
        let mut settings: Vec<(&[usize], Stage)> = restarts.values().copied().collect();
        draw.shuffle(&mut settings);
        for ((restart, (had, _)), (own, stage)) in restarts.iter().zip(settings) {
            let mut order: Vec<usize> = own.to_vec();
            draw.shuffle(&mut order);
            let own = known
                .iter()
                .filter(|fact| (fact.planned.block, fact.planned.restart) == (block, *restart));
            facts.extend(own.filter_map(|fact| {
                let place = had.iter().position(|c| *c == fact.planned.combination)?;
                let combination = *order.get(place)?;
                let planned = Planned {
                    combination,
                    stage,
                    ..fact.planned
                };
                Some(Fact {
                    planned,
                    ..fact.clone()
                })
            }));
        }
    }
    facts
}

#[expect(clippy::cast_precision_loss, reason = "counts of draws")]
fn percent(found: usize, of: usize) -> String {
    format!("{:.1} %", found as f64 * 100.0 / of.max(1) as f64)
}

/// `4.5 % | 3.1 to 6.4 %`, by Wilson.
fn share(found: usize, of: usize) -> String {
    let ends = wilson(found, of).map(|end| end * 100.0);
    let percent = percent(found, of);
    format!("{percent} | {:.1} to {:.1} %", ends[0], ends[1])
}

#[expect(clippy::cast_precision_loss, reason = "counts of draws")]
fn wilson(found: usize, of: usize) -> [f64; 2] {
    let (n, p) = (of as f64, found as f64 / of.max(1) as f64);
    let square = SURE * SURE / n;
    let middle = (p + square / 2.0) / (1.0 + square);
    let half = SURE * (p * (1.0 - p) / n + square / (4.0 * n)).sqrt() / (1.0 + square);
    [middle - half, middle + half].map(|end| end.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runs of a stored experiment, with nothing that differs.
    fn stored(raw: &str) -> (Experiment, Vec<Fact>, Analysis) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let raw = root.join("benches/runs/experiments").join(raw);
        let of = experiment(&root, &raw).expect("its file");
        let facts = facts(&of, &rows(&raw).expect("rows")).expect("runs");
        let (facts, whole) = nothing_differs(&of, facts).expect("runs with numbers");
        (of, facts, whole)
    }

    #[test]
    fn whole_restarts_change_their_settings_within_their_block() {
        // Five lives in a block, each with four runs: restart settings must not keep their mean of zero.
        let (of, facts, whole) = stored("k8ssandra-dev-2026-11-25-a354e8.csv");
        let drawn = drawn(&of, &facts, Seed(3));
        assert_eq!(drawn.len(), facts.len());
        let between: Vec<usize> = (0..of.factors.len())
            .filter(|place| of.factors[*place].kind.is_whole())
            .collect();
        assert!(!between.is_empty());
        let all = of.combinations();
        let mean_of = |facts: &[Fact], place: usize| {
            let own = facts
                .iter()
                .filter(|f| all[f.planned.combination][place] == 0);
            let logs = own.filter_map(|f| number(f, &whole.phase, whole.measure));
            mean(&logs.map(f64::ln).collect::<Vec<_>>()).expect("runs")
        };
        for place in between {
            assert!(mean_of(&facts, place).abs() < 1e-9);
            assert!(mean_of(&drawn, place).abs() > 1e-4);
        }
        // What a restart measured stays together, in its block, and each block keeps its settings.
        let settings = |facts: &[Fact]| {
            let each = facts.iter();
            let mut each: Vec<(usize, usize)> = each
                .map(|f| (f.planned.block, f.planned.combination))
                .collect();
            each.sort_unstable();
            each
        };
        assert_eq!(settings(&drawn), settings(&facts));
        let lives = |facts: &[Fact]| -> BTreeSet<(usize, u32, String)> {
            let each = facts.iter();
            each.map(|f| (f.planned.block, f.life, f.run.clone()))
                .collect()
        };
        assert_eq!(lives(&drawn), lives(&facts));
        let of_life = |facts: &[Fact], life: u32| -> BTreeSet<Vec<usize>> {
            let own = facts.iter().filter(|f| f.life == life);
            let between = |levels: &Vec<usize>| -> Vec<usize> {
                let own = of.factors.iter().zip(levels);
                own.filter(|(factor, _)| factor.kind.is_whole())
                    .map(|(_, level)| *level)
                    .collect()
            };
            own.map(|f| between(&all[f.planned.combination])).collect()
        };
        let life = facts[0].life;
        assert_eq!(of_life(&drawn, life).len(), 1);
    }

    #[test]
    fn a_screening_is_drawn_with_the_noise_of_its_restarts() {
        let (of, facts, whole) = stored("xeon-guide-2026-11-25-a354e8.csv");
        assert!(of.is_screening() && !claims_nothing(&of, &whole));
        let drawn = drawn(&of, &facts, Seed(1));
        let found = analyse(&of, &drawn, None, None).expect("an analysis");
        let effects = found.effects.iter().filter(|e| e.measure == found.measure);
        let moved = effects
            .filter_map(|e| e.estimate)
            .filter(|e| e.ratio.ln().abs() > 1e-6);
        assert!(moved.count() > 8, "each level of each factor");
    }

    #[test]
    fn each_raw_file_has_a_row() {
        let one = |raw: &str, effects: usize| Drawn {
            format: String::new(),
            experiment: "clients".to_owned(),
            raw: raw.to_owned(),
            draw: 0,
            runs: raw.len(),
            looked_at: 5,
            effects,
            of_restarts: effects,
            interactions: 0,
            best: 0,
            not_best: 0,
        };
        let all = [
            one("clients-2026-11-23-f742b2.csv", 0),
            one("clients-2026-11-26-f742b2.csv", 1),
        ];
        let text = table(&all);
        assert!(
            text.contains("\n| clients, 2026-11-23 | 29 | 5 | 1 | 0.0 % |"),
            "{text}"
        );
        assert!(
            text.contains("\n| clients, 2026-11-26 | 29 | 5 | 1 | 100.0 % |"),
            "{text}"
        );
        assert!(text.contains("\n| all |  |  | 2 | 50.0 % |"), "{text}");
        assert!(
            text.contains("the nominal 5 %: clients, 2026-11-26 (above); all (above)."),
            "{text}"
        );
    }
}
