//! Pairs of restarts: each run a bench on a cluster of its own, and as many pairs as the question needs.
//! Refuses to count a pair of which a run is invalid, and to look at an interval before its time.

use super::{ExperimentError, ExperimentEvent, ExperimentRequest, Sitting};
use crate::bench::{self, BenchError, BenchRequest, LabEvent, Where};
use crate::compare::{Stored, history_file, pair_of, restart_of};
use helenus_cluster::context::Context;
use helenus_cluster::queue;
use helenus_cluster::wall;
use helenus_model::bench::Load;
use helenus_model::bench::PhaseKind;
use helenus_model::comparison::{
    CompareError, Comparison, FailOn, Options, Stages, Stopping, compare,
};
use helenus_model::doubt::{Doubt, Severity};
use helenus_model::experiment::{EndedPairs, Experiment, Pairs, Planned, RunState, Stage, more};
use helenus_record::{ComparisonId, ExperimentId, History, HistoryError, PlannedRun, RunPlace};
use std::collections::BTreeMap;

/// The comparison of the pairs so far.
#[derive(Debug)]
pub struct Compared {
    /// The comparison.
    pub comparison: Comparison,
    /// Its place in the history; none where it is not kept.
    pub id: Option<ComparisonId>,
    /// Why its thresholds have no answer: these runs do not have what they are about.
    pub unanswered: Option<CompareError>,
}

/// Whether two sides can be compared at all, and have what the thresholds name: before anything is run.
///
/// # Errors
/// Two workloads, two ways of arriving, no phase in common, or a threshold about a phase or operation that the sides do not
/// share.
pub fn comparable(
    labels: [&str; 2],
    [a, b]: [&BenchRequest; 2],
    bars: &[FailOn],
) -> Result<(), CompareError> {
    let [first, other] = labels.map(str::to_owned);
    if a.workload.name() != b.workload.name() {
        return Err(CompareError::Workloads {
            first,
            other,
            first_workload: a.workload.name().to_owned(),
            other_workload: b.workload.name().to_owned(),
        });
    }
    let spread = [a, b].map(|bench| {
        bench
            .shape
            .arrivals()
            .filter(|_| bench.load != Load::Closed)
    });
    if let [Some(one), Some(two)] = spread
        && one != two
    {
        return Err(CompareError::Arrivals {
            first,
            other,
            what: "arrivals".to_owned(),
            first_value: one.word().to_owned(),
            other_value: two.word().to_owned(),
        });
    }
    let (a, b) = (a.shape.kinds(), b.shape.kinds());
    let common: Vec<PhaseKind> = a.iter().copied().filter(|p| b.contains(p)).collect();
    if common.is_empty() {
        let words = |phases: &[PhaseKind]| {
            let words: Vec<&str> = phases.iter().map(|phase| phase.word()).collect();
            words.join(", ")
        };
        return Err(CompareError::NoPhase {
            first,
            other,
            first_phases: words(a),
            other_phases: words(b),
        });
    }
    let places: Vec<(&str, &[&str])> = common
        .iter()
        .map(|phase| match phase {
            PhaseKind::Mixed => (phase.word(), ["read", "write"].as_slice()),
            // A phase of one operation has no rows but those of all together.
            PhaseKind::Read | PhaseKind::Write => (phase.word(), [].as_slice()),
        })
        .collect();
    for bar in bars {
        bar.check(&places)?;
    }
    Ok(())
}

/// The rate that a bench finds by its probe, so that both sides of all pairs have the same: a rate found again by each restart
/// would make each pair a comparison of two loads. None where it found none, or the person stopped it.
///
/// # Errors
/// The bench failed, or its cluster is still there.
pub fn find_rate(
    context: &Context,
    request: &ExperimentRequest,
    events: &mut dyn FnMut(ExperimentEvent<'_>),
) -> Result<Option<f64>, ExperimentError> {
    let Some(first) = request.combinations.first() else {
        return Ok(None);
    };
    let what = format!("the rate of {}", request.experiment.name);
    let _turn = queue::wait(context, &what, &mut |ahead| {
        events(ExperimentEvent::Waits(ahead))
    })?;
    events(ExperimentEvent::FindsRate);
    let mut bench = first.bench.clone();
    bench.seed = request.seed.derive("rate");
    let finished = bench::run(context, &bench, &mut |e| events(ExperimentEvent::Bench(e)));
    let finished = match finished {
        Ok(finished) => finished,
        Err(error) if context.cancel.is_set() => {
            return error
                .not_removed()
                .map_or(Ok(None), |error| Err(error.into()));
        }
        Err(error) => {
            let run = "the run that finds the rate".to_owned();
            return Err(ExperimentError::side(run, error));
        }
    };
    if let Some(error) = finished.not_removed {
        return Err(error.into());
    }
    if finished.interrupted {
        return Ok(None);
    }
    let rate = finished.plan.phases.iter().find_map(|p| p.rate_per_s);
    if let Some(rate) = rate {
        events(ExperimentEvent::Rate(rate));
    }
    Ok(rate)
}

/// The comparison of the pairs that an experiment has so far; kept in the history where that is wanted. None where no pair is
/// whole.
///
/// # Errors
/// The history cannot be read or written, or the runs cannot be compared.
pub fn compared(
    context: &Context,
    of: &Experiment,
    id: ExperimentId,
    keep: bool,
) -> Result<Option<Compared>, ExperimentError> {
    let Some(pairs) = &of.pairs else {
        return Ok(None);
    };
    let mut history = History::open(&history_file(context))?;
    let runs = Runs::read(&history, of, pairs, &history.planned_runs(id)?)?;
    if runs.ended().valid.is_empty() {
        return Ok(None);
    }
    let bars = pairs.bars.clone();
    let (mut comparison, unanswered) = match runs.compare(bars) {
        Err(error @ CompareError::Bar(_)) => (runs.compare(Vec::new())?, Some(error)),
        compared => (compared?, None),
    };
    comparison.command = history.experiment(&id.to_string())?.map(|own| own.command);
    let id = match keep {
        true => Some(history.add_comparison(&comparison, wall::now_ns())?),
        false => None,
    };
    Ok(Some(Compared {
        comparison,
        id,
        unanswered,
    }))
}

/// The runs of all pairs that have ended.
struct Runs<'a> {
    of: &'a Experiment,
    pairs: &'a Pairs,
    runs: Vec<(Planned, Stored)>,
}

impl<'a> Runs<'a> {
    fn read(
        history: &History,
        of: &'a Experiment,
        pairs: &'a Pairs,
        planned: &[PlannedRun],
    ) -> Result<Self, HistoryError> {
        let mut runs = Vec::new();
        for (run, id) in planned.iter().filter_map(|run| Some((run, run.run?))) {
            runs.extend(Stored::read(history, id)?.map(|stored| (run.planned, stored)));
        }
        Ok(Self { of, pairs, runs })
    }

    fn ended(&self) -> EndedPairs {
        let each = self.runs.iter();
        EndedPairs::of(each.map(|(planned, stored)| (*planned, stored.result.is_comparable())))
    }

    /// The comparison of these blocks, all of them where none are named.
    fn of_blocks(
        &self,
        blocks: Option<&[usize]>,
        stages: Stages,
        bars: Vec<FailOn>,
    ) -> Result<Comparison, CompareError> {
        let label = |level: usize| self.of.factors[0].levels[level].label.clone();
        let options = Options {
            label_a: label(0),
            label_b: label(1),
            bars,
            stages,
        };
        let side = |side: usize| {
            let own = self.runs.iter().filter(|(planned, _)| {
                planned.combination == side && blocks.is_none_or(|b| b.contains(&planned.block))
            });
            let each = own.map(|(planned, stored)| stored.facts(Some(pair_of(planned.block))));
            each.collect::<Vec<_>>()
        };
        compare(&side(0), &side(1), &options)
    }

    fn compare(&self, bars: Vec<FailOn>) -> Result<Comparison, CompareError> {
        let stopping = self.stopping(&bars)?;
        let stages = match &stopping {
            _ if self.pairs.stop_early => Stages::Sequential,
            Some(stopping) => Stages::Two(stopping.first_stage),
            None => Stages::Fixed,
        };
        let mut comparison = self.of_blocks(None, stages, bars)?;
        comparison.stopping = stopping;
        Ok(comparison)
    }

    /// What the first stage says of the number of pairs; none before it is over, and where nothing is to be reached.
    fn stopping(&self, bars: &[FailOn]) -> Result<Option<Stopping>, CompareError> {
        let (of, valid) = (self.of, self.ended().valid);
        let Some((wanted, first)) = of.until.zip(valid.get(..of.repeats)) else {
            return Ok(None);
        };
        let wanted = 1.0 + wanted;
        let found = self.of_blocks(Some(first), Stages::Fixed, bars.to_vec())?;
        let needed = found.pairs_needed(wanted);
        let (asked_for, governed_by) = needed.map_or((first.len(), String::new()), |needed| {
            (needed.pairs, needed.governed_by)
        });
        Ok(Some(Stopping {
            wanted,
            governed_by,
            first_stage: first.len(),
            asked_for,
            max_pairs: of.max_repeats,
        }))
    }

    /// The disqualifying doubts of these runs, the most frequent first.
    fn doubts(&self) -> Vec<(String, usize)> {
        let mut doubts: BTreeMap<&str, usize> = BTreeMap::new();
        let bad = |doubt: &&Doubt| doubt.severity == Severity::Disqualifying;
        let phases = self.runs.iter().flat_map(|(_, run)| &run.result.phases);
        for doubt in phases.flat_map(|phase| phase.doubts.iter().filter(bad)) {
            *doubts.entry(&doubt.text).or_default() += 1;
        }
        let each = doubts.into_iter();
        let mut doubts: Vec<_> = each.map(|(text, n)| (text.to_owned(), n)).collect();
        doubts.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        doubts
    }
}

impl Sitting<'_> {
    /// One side of a pair: a bench that brings up a cluster and removes it. One that fails ends the experiment, and is run again
    /// when that is resumed.
    pub(super) fn side(&mut self, place: usize) -> Result<(), ExperimentError> {
        let planned = self.runs[place].planned;
        self.begin(place)?;
        (self.events)(ExperimentEvent::Run {
            planned,
            of: self.runs.len(),
        });
        let combination = &self.request.combinations[planned.combination];
        let mut bench = combination.bench.clone();
        let renewed = match &combination.lent {
            Some(nodes) => self.renew(nodes),
            None => Ok(()),
        };
        if let Where::Ephemeral(up) = &mut bench.place {
            up.spec.name = self.cluster();
        }
        bench.seed = self
            .request
            .seed
            .derive(&format!("block/{}", planned.block));
        bench.command.clone_from(&self.request.command);
        bench.place_in_history = Some(RunPlace {
            experiment: self.id,
            trial: u32::from(planned.combination > 0),
            restart: restart_of(planned.block, self.runs[place].attempts),
        });
        let events = &mut self.events;
        let mut see = |event: LabEvent<'_>| events(ExperimentEvent::Bench(event));
        let ran = renewed.map_err(BenchError::from);
        let finished = match ran.and_then(|()| bench::run(self.context, &bench, &mut see)) {
            Ok(finished) if !finished.interrupted => finished,
            Err(error) if !self.context.cancel.is_set() => {
                self.end(place, RunState::Interrupted, None, None)?;
                let run = self.request.experiment.run_label(planned);
                return Err(ExperimentError::side(run, error));
            }
            Ok(_) | Err(_) => {
                self.end(place, RunState::Interrupted, None, None)?;
                return Ok(self.remove()?);
            }
        };
        if let Some(error) = finished.not_recorded {
            return Err(ExperimentError::NotRecorded(error));
        }
        self.end(place, RunState::Done, finished.run, None)?;
        (self.events)(ExperimentEvent::Ended {
            planned,
            finished: &finished,
        });
        // Where the bench could not: the next one needs its name.
        Ok(self.remove()?)
    }

    /// Plans the pairs that are still wanted; false where there are enough.
    pub(super) fn more_pairs(&mut self, pairs: &Pairs) -> Result<bool, ExperimentError> {
        let of = &self.request.experiment;
        let runs = Runs::read(&self.history, of, pairs, &self.runs)?;
        let ended = runs.ended();
        let valid = ended.valid.len();
        let wanted = self.wanted(&runs, valid)?;
        if valid >= wanted {
            return Ok(false);
        }
        if ended.is_hopeless(wanted) {
            return Err(ExperimentError::TooManyInvalid {
                invalid: ended.invalid,
                tried: ended.invalid + valid,
                doubts: runs.doubts(),
            });
        }
        let mut plan: Vec<Planned> = self.runs.iter().map(|run| run.planned).collect();
        let planned = plan.len();
        let wholes = of.wholes(&of.combinations());
        let missing = wanted - valid;
        more(&mut plan, self.request.seed, &wholes, missing, Stage::Main);
        self.history.plan_more(self.id, &plan[planned..], None)?;
        self.runs = self.history.planned_runs(self.id)?;
        Ok(true)
    }

    /// How many valid pairs there shall be.
    fn wanted(&mut self, runs: &Runs<'_>, valid: usize) -> Result<usize, ExperimentError> {
        let (of, pairs) = (runs.of, runs.pairs);
        if valid < of.repeats {
            return Ok(of.repeats);
        }
        if pairs.stop_early {
            if runs.compare(pairs.bars.clone())?.is_settled() {
                (self.events)(ExperimentEvent::Settled(valid));
                return Ok(valid);
            }
            return Ok((valid + 1).min(of.max_repeats).max(valid));
        }
        let Some(stopping) = runs.stopping(&pairs.bars)? else {
            return Ok(of.repeats);
        };
        let stored = self.history.experiment(&self.id.to_string())?;
        if stored.is_some_and(|stored| stored.first_stage.is_none()) {
            self.history
                .plan_more(self.id, &[], Some(stopping.first_stage))?;
            (self.events)(ExperimentEvent::Decided(&stopping));
        }
        let wanted = stopping.asked_for.min(stopping.max_pairs);
        Ok(wanted.max(stopping.first_stage))
    }
}

impl ExperimentError {
    fn side(run: String, source: BenchError) -> Self {
        Self::Side {
            run,
            source: Box::new(source),
        }
    }
}
