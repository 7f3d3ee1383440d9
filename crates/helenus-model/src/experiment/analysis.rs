//! What an experiment says: the answer, effects with intervals, bars, its own noise, and each combination's numbers.
//! Refuses an answer about the disk where nothing was read from it.

use super::Experiment;
use super::answer::{Answer, answer};
use super::bars::{BarCell, bars};
use super::effects::{Effect, Interaction, LEAST_OF_A_MEAN, effects, interactions, withhold};
use super::facts::Fact;
use super::family::judge;
use super::growth::{Growth, growth};
use super::ladder::Ladder;
use super::limit::generator_limit;
use super::logs::Logs;
use super::order::Stage;
use super::progress::Fate;
use super::promise::{Tip, tips};
use super::screened::{Screened, screened};
use super::unanswered::Unanswered;
use crate::comparison::{ALPHA, Estimate, Measure, shared};
use crate::stats::{interval, mean, second_stage};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an experiment says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Phase that it is about.
    pub phase: String,
    /// Measure that it is about.
    pub measure: Measure,
    /// Blocks with a number.
    pub blocks: usize,
    /// Why its question has no answer on this machine; none where it has.
    pub not_testable: Option<String>,
    /// The answer.
    pub answer: Option<Answer>,
    /// What a screening design ends with, instead of an answer; none of other designs.
    pub screened: Option<Screened>,
    /// Contrasts on the measure that it is about, of which a difference may be claimed: they are judged together.
    pub family: usize,
    /// Each threshold by combination.
    pub bars: Vec<BarCell>,
    /// Rates that hold the thresholds that set one bound at several of them.
    pub ladders: Vec<Ladder>,
    /// Effects: on the measure that it is about, then on others.
    pub effects: Vec<Effect>,
    /// What became of the claimed effects of levels.
    pub tips: Vec<Tip>,
    /// Interactions of two factors, on the measure that it is about.
    pub interactions: Vec<Interaction>,
    /// The A/A control: what chance alone does here.
    pub noise: Option<Noise>,
    /// From where on more of a factor of numbers gives no more.
    pub growth: Vec<Growth>,
    /// At which settings the generator was the limit, in words such as `from in-flight=32 on`; none where at none.
    pub generator_limit: Option<String>,
    /// Each combination.
    pub combinations: Vec<Cell>,
    /// Runs whose numbers do not count, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// A combination's numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// By factor the place of its level.
    pub levels: Vec<usize>,
    /// In words.
    pub label: String,
    /// Runs that count.
    pub runs: usize,
    /// Geometric means of the phase's numbers.
    pub values: BTreeMap<Measure, f64>,
    /// Their intervals of 95 %, from three runs on. All settings share what the machine did in a block: effects show
    /// how they differ.
    pub intervals: BTreeMap<Measure, [f64; 2]>,
    /// Processors that all generator processes together kept busy, where known.
    pub generator_processors: Option<f64>,
    /// Bytes read from the disk for each operation, where known.
    pub read_bytes_per_operation: Option<f64>,
    /// The same of what was written.
    pub written_bytes_per_operation: Option<f64>,
}

impl Cell {
    /// Processors that the nodes kept busy: their time for each operation by operations a second.
    pub fn node_processors(&self) -> Option<f64> {
        self.processors(Measure::NodeCpu)
    }

    /// Processors that the generator kept busy: all its processes where they were seen, else its busiest thread.
    pub fn generator_processors(&self) -> Option<f64> {
        self.generator_processors
            .or_else(|| self.processors(Measure::GeneratorCpu))
    }

    fn processors(&self, of: Measure) -> Option<f64> {
        let rate = self.values.get(&Measure::Throughput)?;
        Some(self.values.get(&of)? * rate / 1e6)
    }
}

impl Analysis {
    /// How many looks were taken, and what may be said of each, in one sentence; none where nothing may be claimed.
    pub fn rule(&self) -> Option<String> {
        let (family, measure) = (self.family, self.measure.words());
        (family > 0).then(|| {
            format!(
                "claims are made of {measure} only, at 5 % over all {family} contrasts of it (Holm), with \
                 simultaneous 95 % intervals (Bonferroni); which settings may be the best is tested separately at \
                 5 %; effects on other measures are exploratory, each with its own 95 % interval, and each combination's \
                 threshold is judged separately"
            )
        })
    }

    /// Settles the claimed effects without numbers by what became of all planned runs.
    pub fn settle_tips(&mut self, of: &Experiment, facts: &[Fact], fates: &[Fate<'_>]) {
        for tip in &mut self.tips {
            tip.settle(of, facts, fates);
        }
    }
}

/// What these runs say. `first_stage` blocks gave the number of all, where it was not just given; `not_testable` is
/// what is known beforehand to stand against an answer. None where no run has a number.
pub fn analyse(
    of: &Experiment,
    facts: &[Fact],
    first_stage: Option<usize>,
    not_testable: Option<String>,
) -> Option<Analysis> {
    let all = of.combinations();
    let phase = phase(of, facts)?;
    let has = |measure: Measure| {
        let values = |fact: &Fact| fact.value(&phase, measure).is_some();
        facts.iter().any(values)
    };
    let scheduled = has(Measure::ResponseMean);
    let measure = of.goal.measure(scheduled);
    let logs = Logs::of(of, facts, Stage::Main, (&phase, measure), first_stage);
    let mut found = effects(of, &all, &logs, measure);
    for other in others(measure, scheduled).into_iter().filter(|m| has(*m)) {
        let logs = Logs::of(of, facts, Stage::Main, (&phase, other), first_stage);
        found.extend(effects(of, &all, &logs, other));
    }
    let mut together = interactions(of, &all, &logs, measure);
    let unanswered = Unanswered::of(of, facts, not_testable);
    let why_of = |factor: &str| unanswered.why_of(of, factor).map(str::to_owned);
    withhold(&mut found, &mut together, |factor| why_of(factor).is_some());
    let held = unanswered.settings_held();
    let mut answer = answer(of, &all, facts, &logs, (&phase, measure));
    answer = answer.filter(|_| !unanswered.is_any() && !of.is_screening());
    let family = judge(measure, &mut found, &mut together, answer.as_mut());
    let screened = screened(of, &logs, &found, measure).filter(|_| !unanswered.is_any());
    let tips = tips(of, &found, measure, &why_of);
    let not_testable = unanswered.why();
    let combinations = cells(of, &all, facts, &phase);
    let (bars, ladders) = bars(of, &all, facts, (scheduled, held), &phase);
    Some(Analysis {
        blocks: logs.blocks().len(),
        answer,
        screened,
        family,
        tips,
        not_testable,
        bars,
        ladders,
        effects: found,
        interactions: together,
        noise: noise(of, &all, facts, &logs, (&phase, measure)),
        generator_limit: generator_limit(of, &all, facts),
        growth: match held {
            true => growth(of, &combinations, measure),
            false => Vec::new(),
        },
        combinations,
        left_out: left_out(facts),
        phase,
        measure,
    })
}

/// The phase that it is about: the one that the measure names, else the last that all runs have.
fn phase(of: &Experiment, facts: &[Fact]) -> Option<String> {
    let believed = || facts.iter().filter(|fact| fact.is_believed());
    if let Some(named) = &of.goal.phase {
        return believed()
            .any(|fact| fact.phases.contains(named))
            .then(|| named.clone());
    }
    let first = believed().next()?;
    let common = |name: &&String| believed().all(|fact| fact.phases.contains(name));
    first.phases.iter().rfind(common).cloned()
}

/// Measures that are reported beside the one that it is about.
fn others(measure: Measure, scheduled: bool) -> Vec<Measure> {
    let mut all = if scheduled {
        vec![Measure::ResponseP50, Measure::ResponseP99]
    } else {
        let times = [Measure::ServiceP50, Measure::ServiceP99];
        [&[Measure::Throughput][..], &times].concat()
    };
    all.push(Measure::NodeCpu);
    all.retain(|other| *other != measure);
    all
}

impl Analysis {
    /// Blocks in all that the intervals of effects, as they are shown, need for this half-width (a share) on the measure
    /// that it is about, by Stein's second stage; and the level that governs.
    pub fn blocks_needed(&self, wanted: f64) -> (usize, String) {
        let half = wanted.ln_1p();
        let own = self.effects.iter().filter(|e| e.measure == self.measure);
        let each = own.filter_map(|effect| {
            let estimate = effect.estimate?;
            let level = shared(ALPHA, self.family);
            let blocks = second_stage(estimate.log_sd, estimate.degrees, half, level);
            Some((blocks, effect.label()))
        });
        each.max_by_key(|(blocks, _)| *blocks)
            .map_or((self.blocks, String::new()), |(blocks, by)| {
                (blocks.max(self.blocks), by)
            })
    }
}

/// The A/A control: by how much equal settings differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    /// All runs of the first restart, the second time over the first, by block.
    pub estimate: Estimate,
    /// Standard deviation of the difference of two single runs of the same settings, as a share.
    pub of_two_runs: Option<f64>,
}

/// The first restart's settings twice in a block: the second over the first, of what has a number both times.
fn noise(
    of: &Experiment,
    all: &[Vec<usize>],
    facts: &[Fact],
    logs: &Logs,
    about: (&str, Measure),
) -> Option<Noise> {
    let first = of.wholes(all).into_iter().next()?;
    let twins = Logs::of(of, facts, Stage::Twin, about, None);
    let of_block = |block: &usize| -> Vec<f64> {
        let each = first.combinations.iter();
        each.filter_map(|c| Some(twins.at(*block, *c)? - logs.at(*block, *c)?))
            .collect()
    };
    let each: Vec<Vec<f64>> = logs.blocks().iter().map(of_block).collect();
    let values: Vec<f64> = each.iter().filter_map(|block| mean(block)).collect();
    let found = interval(&values)?;
    let single = interval(&each.concat()).map(|all| all.sd.exp_m1());
    Some(Noise {
        estimate: crate::comparison::estimate(&found, 1),
        of_two_runs: single,
    })
}

fn cells(of: &Experiment, all: &[Vec<usize>], facts: &[Fact], phase: &str) -> Vec<Cell> {
    let each = all.iter().enumerate().map(|(place, levels)| {
        let own: Vec<&Fact> = facts
            .iter()
            .filter(|f| f.is_believed() && f.planned.combination == place)
            .filter(|f| f.planned.stage == Stage::Main)
            .collect();
        let logs = |measure: Measure| -> Vec<f64> {
            let values = own.iter().filter_map(|fact| fact.value(phase, measure));
            values.map(f64::ln).collect()
        };
        let value = |measure: Measure| Some((measure, mean(&logs(measure))?.exp()));
        let ends = |measure: Measure| {
            let logs = logs(measure);
            let found = interval(&logs).filter(|_| logs.len() >= LEAST_OF_A_MEAN)?;
            Some((measure, found.ends(ALPHA).map(f64::exp)))
        };
        let average = |of: fn(&Fact) -> Option<f64>| {
            let seen: Vec<f64> = own.iter().filter_map(|fact| of(fact)).collect();
            mean(&seen)
        };
        Cell {
            levels: levels.clone(),
            label: of.label(levels),
            runs: own.len(),
            values: Measure::EVERY.into_iter().filter_map(value).collect(),
            intervals: Measure::EVERY.into_iter().filter_map(ends).collect(),
            generator_processors: average(|fact| fact.generator_processors),
            read_bytes_per_operation: average(|fact| fact.read_bytes_per_operation),
            written_bytes_per_operation: average(|fact| fact.written_bytes_per_operation),
        }
    });
    each.collect()
}

fn left_out(facts: &[Fact]) -> Vec<(String, String)> {
    let bad = facts.iter().filter(|fact| !fact.is_believed());
    bad.map(|fact| (fact.run.clone(), fact.doubts.join("; ")))
        .collect()
}
