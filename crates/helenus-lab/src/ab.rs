//! `compare --ab`: two sides in interleaved pairs of restarts, until there are as many as were wanted.
//! Refuses to let a run that must not be believed into a pair, and to look at an interval before its time.

use crate::bench::{self, BenchError, BenchRequest, Finished, LabEvent, Where};
use crate::compare::{facts_of_plan, history_file, wall_ns};
use helenus_cluster::lifecycle::Hands;
use helenus_model::bench::PhaseKind;
use helenus_model::comparison::{
    CLASS_ARCHIVE, CompareError, Comparison, Fact, FailOn, LEAST_PAIRS, Options, RunFacts, Stages,
    Stopping, compare,
};
use helenus_model::doubt::{Doubt, Severity};
use helenus_model::pairing::{NextRun, Pairing, SideName};
use helenus_model::result::RunResult;
use helenus_model::seed::Seed;
use helenus_record::{ComparisonId, ExperimentId, History, HistoryError, RunId, RunPlace};

/// How many pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// So many.
    Pairs(usize),
    /// As many as an interval of this half-width needs, by Stein's two stages.
    Until {
        /// Half-width as a ratio above 1.
        wanted: f64,
        /// At most so many.
        max_pairs: usize,
    },
    /// Until what is asked is settled, looked at after each pair; by intervals that hold whenever it ends.
    Early {
        /// At most so many.
        max_pairs: usize,
    },
}

impl Rule {
    /// Pairs that are run before anything is decided.
    pub fn first_stage(self) -> usize {
        match self {
            Self::Pairs(pairs) => pairs,
            Self::Until { max_pairs, .. } | Self::Early { max_pairs } => LEAST_PAIRS.min(max_pairs),
        }
    }
}

/// What `compare --ab` is asked for.
#[derive(Debug, Clone)]
pub struct AbRequest {
    /// What the person calls A and B.
    pub labels: [String; 2],
    /// What is run for A and B: ephemeral clusters both.
    pub benches: [BenchRequest; 2],
    /// How many pairs.
    pub rule: Rule,
    /// Order and data come from it; both sides of a pair share their data.
    pub seed: Seed,
    /// Bars to hold.
    pub bars: Vec<FailOn>,
}

/// What happens on the way.
#[derive(Debug)]
pub enum AbEvent<'a> {
    /// A run of A that only finds the rate for all.
    FindsRate,
    /// The rate of every run that has none of its own.
    Rate(f64),
    /// A restart begins.
    Begins {
        /// The pair, from 1.
        pair: usize,
        /// Pairs wanted so far.
        of: usize,
        /// The side.
        side: SideName,
        /// Restarts to come, this one included.
        left: usize,
    },
    /// From within a restart.
    Bench(LabEvent<'a>),
    /// A restart has ended.
    Ended {
        /// The pair, from 1.
        pair: usize,
        /// The side.
        side: SideName,
        /// What came of it.
        finished: &'a Finished,
    },
    /// The first stage is over.
    Decided(&'a Stopping),
    /// It was looked at, and what is asked is settled after so many pairs.
    Settled(usize),
}

/// What came of it.
#[derive(Debug)]
pub struct AbFinished {
    /// The comparison of all pairs that were run.
    pub comparison: Comparison,
    /// Its place in the history.
    pub id: Option<ComparisonId>,
    /// The person stopped it.
    pub interrupted: bool,
    /// What ended it before its time, or kept its bars from being answered; the pairs before it are compared all the same.
    pub failed: Option<AbError>,
    /// Why the history could not take it.
    pub not_recorded: Option<HistoryError>,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum AbError {
    /// The run that was to find the rate failed.
    #[error("the run that finds the rate failed")]
    Rate(#[source] Box<BenchError>),
    /// A restart failed.
    #[error("pair {pair}, side {letter}: the run failed", letter = side.letter())]
    Bench {
        /// The pair, from 1.
        pair: usize,
        /// The side.
        side: SideName,
        /// Why.
        #[source]
        source: Box<BenchError>,
    },
    /// The numbers cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Most pairs had a run that must not be believed.
    #[error("{spoilt} of {tried} pairs were spoilt by runs that must not be believed")]
    TooManySpoilt {
        /// Spoilt pairs.
        spoilt: usize,
        /// Pairs begun.
        tried: usize,
        /// The disqualifying doubts, by how often.
        doubts: Vec<(String, usize)>,
    },
    /// Stopped before the first pair was whole.
    #[error("interrupted before the first pair was whole")]
    Interrupted,
}

/// A run that has ended.
#[derive(Debug)]
struct Kept {
    name: String,
    pair: u32,
    result: RunResult,
    facts: Vec<Fact>,
}

impl Kept {
    fn facts(&self) -> RunFacts<'_> {
        RunFacts {
            run: self.name.clone(),
            restart: Some(self.name.clone()),
            pair: Some(self.pair),
            began_wall_ns: self.result.began_wall_ns,
            result: &self.result,
            facts: self.facts.clone(),
        }
    }
}

struct Ab<'a> {
    hands: &'a Hands,
    request: &'a AbRequest,
    events: &'a mut dyn FnMut(AbEvent<'_>),
    history: Result<History, HistoryError>,
    experiment: Option<ExperimentId>,
    pairing: Pairing,
    rate_per_s: Option<f64>,
    runs: [Vec<Kept>; 2],
    doubts: std::collections::BTreeMap<String, usize>,
    stopping: Option<Stopping>,
}

impl AbRequest {
    /// Whether a side has neither a rate nor a closed loop, so that a run of A must find one.
    pub fn finds_rate(&self) -> bool {
        let open = |bench: &BenchRequest| bench.rate_per_s.is_none() && !bench.closed;
        self.benches.iter().any(open)
    }

    /// Whether the two sides can be compared at all, and have what the bars name: before anything is run.
    ///
    /// # Errors
    /// Two workloads, no phase in common, or a bar about a phase or operation that the sides do not share.
    pub fn check(&self) -> Result<(), CompareError> {
        let [a, b] = &self.benches;
        let [first, other] = self.labels.clone();
        let workloads = [a, b].map(|bench| bench.workload.name().to_owned());
        if workloads[0] != workloads[1] {
            let [first_workload, other_workload] = workloads;
            return Err(CompareError::Workloads {
                first,
                other,
                first_workload,
                other_workload,
            });
        }
        let spread = [a, b].map(|bench| bench.shape.arrivals().filter(|_| !bench.closed));
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
        for bar in &self.bars {
            bar.check(&places)?;
        }
        Ok(())
    }
}

/// Runs the pairs and compares them. What ends it after its first whole pair is told beside the comparison of the pairs
/// so far.
///
/// # Errors
/// The sides cannot be compared, or no pair became whole: a restart failed, too many runs must not be believed, or the
/// person stopped it.
pub fn ab(
    hands: &Hands,
    request: &AbRequest,
    events: &mut dyn FnMut(AbEvent<'_>),
) -> Result<AbFinished, AbError> {
    request.check()?;
    let mut history = History::open(&history_file(hands));
    let name = request.labels.join(" against ");
    let labels: Vec<&str> = request.labels.iter().map(String::as_str).collect();
    let experiment = match &mut history {
        Ok(open) => match open.begin_experiment(&name, request.seed, &labels, wall_ns()) {
            Ok(id) => Some(id),
            Err(error) => {
                history = Err(error);
                None
            }
        },
        Err(_) => None,
    };
    let ab = Ab {
        hands,
        request,
        events,
        history,
        experiment,
        pairing: Pairing::new(request.seed, request.rule.first_stage()),
        rate_per_s: None,
        runs: [Vec::new(), Vec::new()],
        doubts: std::collections::BTreeMap::new(),
        stopping: None,
    };
    ab.run()
}

impl Ab<'_> {
    fn run(mut self) -> Result<AbFinished, AbError> {
        self.find_rate()?;
        let failed = self.pairs().err();
        if self.pairing.good() == 0 {
            return Err(failed.unwrap_or(AbError::Interrupted));
        }
        let interrupted = matches!(failed, Some(AbError::Interrupted));
        let failed = failed.filter(|_| !interrupted);
        let bars = self.request.bars.clone();
        let (comparison, failed) = match self.compare(bars) {
            Err(error @ CompareError::Bar(_)) => {
                (self.compare(Vec::new())?, failed.or(Some(error.into())))
            }
            compared => (compared?, failed),
        };
        Ok(self.finish(comparison, interrupted, failed))
    }

    /// As many pairs as are wanted.
    fn pairs(&mut self) -> Result<(), AbError> {
        loop {
            match self.pairing.next() {
                NextRun::Run { pair, side } => {
                    if self.hands.cancel.is_set() || !self.restart(pair, side)? {
                        return Err(AbError::Interrupted);
                    }
                }
                NextRun::TooManySpoilt => return Err(self.too_many_spoilt()),
                NextRun::Enough => {
                    let wanted = self.pairing.wanted();
                    self.decide()?;
                    if self.pairing.wanted() == wanted {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Where a side has neither a rate nor a closed loop, one rate is found for all: a rate found anew by each
    /// restart would make each pair a comparison of two loads.
    fn find_rate(&mut self) -> Result<(), AbError> {
        if !self.request.finds_rate() {
            return Ok(());
        }
        (self.events)(AbEvent::FindsRate);
        let mut bench = self.request.benches[0].clone();
        bench.seed = self.request.seed.derive("rate");
        self.name_afresh(&mut bench);
        let events = &mut self.events;
        let finished = bench::run(self.hands, &bench, &mut |e| events(AbEvent::Bench(e)));
        let finished = match finished {
            Ok(finished) => finished,
            Err(_) if self.hands.cancel.is_set() => return Err(AbError::Interrupted),
            Err(source) => return Err(AbError::Rate(Box::new(source))),
        };
        self.rate_per_s = finished.plan.phases.iter().find_map(|p| p.rate_per_s);
        if let Some(rate) = self.rate_per_s {
            (self.events)(AbEvent::Rate(rate));
        }
        Ok(())
    }

    /// A name that no cluster has now: hours may lie between the request and its last restart.
    fn name_afresh(&self, bench: &mut BenchRequest) {
        let Where::Ephemeral(up) = &mut bench.place else {
            return;
        };
        let names = self.hands.clusters.names().unwrap_or_default();
        let free = (1..)
            .map(|k| format!("bench{k}"))
            .find(|name| !names.contains(name));
        if let Some(free) = free {
            up.name = free;
        }
    }

    /// One restart; false when the person stopped it.
    fn restart(&mut self, pair: usize, side: SideName) -> Result<bool, AbError> {
        (self.events)(AbEvent::Begins {
            pair: pair + 1,
            of: self.pairing.wanted() + self.pairing.spoilt(),
            side,
            left: self.pairing.runs_left(),
        });
        let mut bench = self.request.benches[side.place()].clone();
        bench.seed = self.request.seed.derive(&format!("pair/{pair}"));
        self.name_afresh(&mut bench);
        if bench.rate_per_s.is_none() && !bench.closed {
            bench.rate_per_s = self.rate_per_s;
        }
        bench.place_in_history = self.experiment.map(|experiment| RunPlace {
            experiment,
            trial: u32::from(side == SideName::B),
            restart: u32::try_from(pair).unwrap_or(u32::MAX),
        });
        let events = &mut self.events;
        let finished = bench::run(self.hands, &bench, &mut |e| events(AbEvent::Bench(e)));
        let finished = match finished {
            Ok(finished) if finished.interrupted => return Ok(false),
            Ok(finished) => finished,
            Err(_) if self.hands.cancel.is_set() => return Ok(false),
            Err(source) => {
                let pair = pair + 1;
                let source = Box::new(source);
                return Err(AbError::Bench { pair, side, source });
            }
        };
        (self.events)(AbEvent::Ended {
            pair: pair + 1,
            side,
            finished: &finished,
        });
        let good = finished.result.is_comparable();
        for phase in &finished.result.phases {
            let bad = |doubt: &&Doubt| doubt.severity == Severity::Disqualifying;
            for doubt in phase.doubts.iter().filter(bad) {
                *self.doubts.entry(doubt.text.clone()).or_default() += 1;
            }
        }
        self.pairing.ended(pair, side, good);
        let name = finished.run.map_or_else(
            || format!("{}{}", side.letter(), pair + 1),
            |id| RunId::to_string(&id),
        );
        let mut facts = facts_of_plan(&finished.plan, finished.cluster.as_ref().map(|c| &c.plan));
        facts.extend(finished.archive_used.map(|used| Fact {
            what: CLASS_ARCHIVE.to_owned(),
            value: if used { "used" } else { "not used" }.to_owned(),
        }));
        self.runs[side.place()].push(Kept {
            name,
            pair: u32::try_from(pair).unwrap_or(u32::MAX),
            result: finished.result,
            facts,
        });
        Ok(true)
    }

    /// After the first stage: how many pairs there shall be.
    fn decide(&mut self) -> Result<(), AbError> {
        let (wanted, max_pairs) = match self.request.rule {
            Rule::Pairs(_) => return Ok(()),
            Rule::Early { max_pairs } => return self.look(max_pairs),
            Rule::Until { wanted, max_pairs } => (wanted, max_pairs),
        };
        if self.stopping.is_some() {
            return Ok(());
        }
        let first = self.compare(self.request.bars.clone())?;
        let needed = first.pairs_needed(wanted);
        let stopping = Stopping {
            wanted,
            governed_by: needed
                .as_ref()
                .map_or_else(String::new, |n| n.governed_by.clone()),
            first_stage: self.pairing.good(),
            asked_for: needed.map_or(self.pairing.good(), |n| n.pairs),
            max_pairs,
        };
        (self.events)(AbEvent::Decided(&stopping));
        self.pairing
            .want(stopping.asked_for.min(max_pairs).max(stopping.first_stage));
        self.stopping = Some(stopping);
        Ok(())
    }

    /// After a pair: one more, unless what is asked is settled.
    fn look(&mut self, max_pairs: usize) -> Result<(), AbError> {
        let pairs = self.pairing.good();
        if self.compare(self.request.bars.clone())?.is_settled() {
            (self.events)(AbEvent::Settled(pairs));
        } else {
            self.pairing.want((pairs + 1).min(max_pairs).max(pairs));
        }
        Ok(())
    }

    fn compare(&self, bars: Vec<FailOn>) -> Result<Comparison, CompareError> {
        let [label_a, label_b] = self.request.labels.clone();
        let options = Options {
            label_a,
            label_b,
            bars,
            stages: match (self.request.rule, &self.stopping) {
                (Rule::Early { .. }, _) => Stages::Sequential,
                (_, Some(stopping)) => Stages::Two(stopping.first_stage),
                (_, None) => Stages::Fixed,
            },
        };
        let [a, b] = [&self.runs[0], &self.runs[1]]
            .map(|runs| runs.iter().map(Kept::facts).collect::<Vec<_>>());
        let mut comparison = compare(&a, &b, &options)?;
        comparison.stopping.clone_from(&self.stopping);
        comparison.command = Some(self.request.benches[0].command.clone());
        Ok(comparison)
    }

    fn too_many_spoilt(&self) -> AbError {
        let mut doubts: Vec<(String, usize)> = self.doubts.clone().into_iter().collect();
        doubts.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        AbError::TooManySpoilt {
            spoilt: self.pairing.spoilt(),
            tried: self.pairing.spoilt() + self.pairing.good(),
            doubts,
        }
    }

    fn finish(
        self,
        comparison: Comparison,
        interrupted: bool,
        failed: Option<AbError>,
    ) -> AbFinished {
        let kept = self
            .history
            .and_then(|mut history| history.add_comparison(&comparison, wall_ns()));
        let (id, not_recorded) = match kept {
            Ok(id) => (Some(id), None),
            Err(error) => (None, Some(error)),
        };
        AbFinished {
            comparison,
            id,
            interrupted,
            failed,
            not_recorded,
        }
    }
}
