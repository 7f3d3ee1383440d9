//! One restart of an experiment: a cluster brought up, its data restored, its runs one after the other, its end.
//! Refuses to leave a cluster behind, whatever became of its runs.

use super::{Combination, ExperimentError, ExperimentEvent, Sitting, dataset};
use crate::bench::{self, BenchError, BenchRequest, LabEvent, Where};
use crate::generator::GeneratorError;
use crate::populate::PopulateError;
use crate::target::TargetError;
use helenus_cluster::error::{Class, ClusterError, with_causes};
use helenus_cluster::in_use;
use helenus_cluster::kube::JobError;
use helenus_cluster::lifecycle::{StartError, UpRequest};
use helenus_cluster::live_settings;
use helenus_cluster::ready;
use helenus_cluster::remove;
use helenus_cluster::stack;
use helenus_model::experiment::{Planned, RunState, Slice, Warmth};
use helenus_model::line::Step;
use helenus_model::result::RunResult;
use helenus_record::{PlannedRun, RunPlace};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Blocks in which a combination dies before it is no longer tried.
const DEATHS: usize = 2;

/// Numbers of restarts in the history leave room for so many lives of the nodes of each.
const LIVES: u32 = 1000;

/// Lines of a dead node's log that are kept.
const LOG_LINES: usize = 12;

impl Sitting<'_> {
    /// The restart of the run at this place: all runs of it that are still open.
    pub(super) fn restart(&mut self, place: usize) -> Result<(), ExperimentError> {
        let first = self.runs[place].planned;
        let own = self.runs.iter().enumerate();
        let places: Vec<usize> = own
            .filter(|(_, run)| run.planned.restart == first.restart && run.state.is_open())
            .map(|(place, _)| place)
            .collect();
        let (dead, places): (Vec<usize>, Vec<usize>) = places
            .into_iter()
            .partition(|place| self.deaths(self.runs[*place].planned.combination) >= DEATHS);
        for place in dead {
            let why = format!("it died in {DEATHS} blocks and was not tried again");
            self.end(place, RunState::Died, None, Some(why))?;
        }
        let Some(place) = places.first().copied() else {
            return Ok(());
        };
        let first = self.runs[place].planned;
        // The first run begins with its nodes: what kills them kills it.
        self.begin(place)?;
        (self.events)(ExperimentEvent::Run {
            planned: first,
            of: self.runs.len(),
        });
        let up = self.up(first);
        let came_up = up.is_ok();
        let ended = up.and_then(|()| self.runs_of(&places));
        let ended = ended.map_err(|error| self.or_no_space(error, first));
        let ended = self.or_disturbed(ended);
        let removed = self.remove();
        if self.context.cancel.is_set() {
            self.interrupt(&places)?;
            return Ok(removed?);
        }
        if let Err(error) = ended {
            let Some(why) = own_fault(&error) else {
                if let Err(error) = &removed {
                    tracing::error!(error = with_causes(error), "the cluster is still there");
                }
                self.interrupt(&places)?;
                return Err(error);
            };
            // Nodes that do not come up do so for none of their runs; a run that kills them does it for itself, and the
            // others come next, in another life.
            let dies = |run: &PlannedRun| match came_up {
                true => run.state == RunState::Running,
                false => run.state.is_open(),
            };
            let died: Vec<usize> = places
                .into_iter()
                .filter(|place| dies(&self.runs[*place]))
                .collect();
            let planned = died
                .first()
                .map_or(first, |place| self.runs[*place].planned);
            for place in died {
                self.end(place, RunState::Died, None, Some(why.clone()))?;
            }
            (self.events)(ExperimentEvent::Died { planned, why: &why });
        }
        Ok(removed?)
    }

    /// The error; where nodes died of it and there is no room for them, that there is none: the next ones would die, too.
    fn or_no_space(&self, error: ExperimentError, first: Planned) -> ExperimentError {
        let up = own_cluster(&self.request.combinations[first.combination]);
        match own_fault(&error).and(up) {
            Some(up) => match self.context.check_disk(up.spec.topology.nodes()) {
                Err(full) if matches!(full.find(), Some(StartError::NoSpace { .. })) => full.into(),
                _ => error,
            },
            None => error,
        }
    }

    /// That another command changed the cluster, where one did: what came of it is no fault of the run's settings.
    fn or_disturbed(&self, ended: Result<(), ExperimentError>) -> Result<(), ExperimentError> {
        let seen = in_use::disturbances(&self.context.clusters, &self.cluster());
        match seen.into_iter().next() {
            Some(one) => Err(ExperimentError::Disturbed(one.command)),
            None => ended,
        }
    }

    /// Blocks in which runs of this combination died.
    fn deaths(&self, combination: usize) -> usize {
        let died = self.runs.iter().filter(|run| run.state == RunState::Died);
        let blocks: BTreeSet<usize> = died
            .filter(|run| run.planned.combination == combination)
            .map(|run| run.planned.block)
            .collect();
        blocks.len()
    }

    /// The nodes of a restart: those of a cluster made for it, with its data, or those of an existing cluster, started anew.
    fn up(&mut self, first: Planned) -> Result<(), ExperimentError> {
        let combination = &self.request.combinations[first.combination];
        if let Some(nodes) = &combination.lent {
            return Ok(self.renew(nodes)?);
        }
        let Some(up) = own_cluster(combination) else {
            return Ok(());
        };
        let mut up = up.clone();
        up.spec.name = self.cluster();
        if combination.populate.is_some() {
            return dataset::restored(self, &up, combination);
        }
        bring_up(self, &up)
    }

    /// Whether the nodes are still there: a generator outlives those that its load has killed.
    fn still_there(&self) -> Result<(), ClusterError> {
        let own = self.request.combinations.first();
        if own.is_some_and(|own| own.lent.is_some()) {
            return self.lent_serve();
        }
        ready::still_there(&self.context.clusters.load(&self.cluster())?)
    }

    /// A number of these nodes' life that no other life of the same restart has: how often its runs were started so far.
    /// Each life starts one at least.
    fn life(&self, places: &[usize]) -> u32 {
        let restart = places
            .first()
            .map(|place| self.runs[*place].planned.restart);
        let own = self.runs.iter();
        let own = own.filter(|run| Some(run.planned.restart) == restart);
        own.map(|run| run.attempts).sum()
    }

    fn runs_of(&mut self, places: &[usize]) -> Result<(), ExperimentError> {
        let life = self.life(places);
        if let Some(place) = places.first() {
            self.warm(*place)?;
        }
        for (number, place) in places.iter().enumerate() {
            if self.context.cancel.is_set() {
                return Ok(());
            }
            if number > 0 {
                self.begin(*place)?;
                (self.events)(ExperimentEvent::Run {
                    planned: self.runs[*place].planned,
                    of: self.runs.len(),
                });
            }
            self.one(*place, life)?;
        }
        Ok(())
    }

    /// Loads the nodes of the run at this place, where they are to be loaded before it.
    fn warm(&mut self, place: usize) -> Result<(), ExperimentError> {
        let planned = self.runs[place].planned;
        let combination = &self.request.combinations[planned.combination];
        let Some(warm) = &combination.warm else {
            return Ok(());
        };
        let mut bench = self.at_home(warm, planned);
        bench.recorded = false;
        let Some(until) = combination.warm_until else {
            let result = self.warm_once(&bench)?;
            let operations = completed(&result);
            tracing::info!(operations, "the nodes are warm");
            return Ok(());
        };
        let (mut slices, mut operations) = (Vec::new(), 0);
        let mut warmth = Warmth::Another;
        while warmth == Warmth::Another {
            let began = Instant::now();
            let result = self.warm_once(&bench)?;
            if self.context.cancel.is_set() {
                return Ok(());
            }
            operations += completed(&result);
            slices.push(Slice::of(&result, began.elapsed()));
            warmth = until.after(&slices);
        }
        let took: Duration = slices.iter().map(|slice| slice.took).sum();
        let cpu_us: Vec<Option<f64>> = slices.iter().map(|slice| slice.node_cpu_us).collect();
        tracing::info!(operations, ?warmth, ?took, ?cpu_us, "the nodes are warm");
        let slices = &slices;
        (self.events)(ExperimentEvent::Warm { warmth, slices });
        Ok(())
    }

    /// A load that does not count, and whether its nodes are still there.
    fn warm_once(&mut self, bench: &BenchRequest) -> Result<RunResult, ExperimentError> {
        let events = &mut self.events;
        let warmed = bench::run(self.context, bench, &mut |e| {
            events(ExperimentEvent::Bench(e))
        })?;
        self.still_there()?;
        Ok(warmed.result)
    }

    /// A request at this restart's cluster. All runs of a block are about the same data; what was populated keeps its own
    /// seed.
    fn at_home(&self, bench: &BenchRequest, planned: Planned) -> BenchRequest {
        let seed = self.request.seed;
        let populated = &self.request.combinations[planned.combination].populate;
        BenchRequest {
            place: match &bench.place {
                Where::Ephemeral(_) => Where::Cluster(self.cluster()),
                there => there.clone(),
            },
            seed: match populated {
                Some(_) => bench.seed,
                None => seed.derive(&format!("block/{}", planned.block)),
            },
            ..bench.clone()
        }
    }

    fn one(&mut self, place: usize, life: u32) -> Result<(), ExperimentError> {
        let planned = self.runs[place].planned;
        let combination = &self.request.combinations[planned.combination];
        if combination.lent.is_some() {
            self.set_live(&combination.live)?;
        } else if !combination.live.is_empty() {
            let state = self.context.clusters.load(&self.cluster());
            let state = state.map_err(ClusterError::from)?;
            live_settings::apply(self.context, &state, &combination.live)?;
        }
        let mut bench = self.at_home(&combination.bench, planned);
        bench.place_in_history = Some(RunPlace {
            experiment: self.id,
            trial: self.trial(planned),
            restart: u32::try_from(planned.restart)
                .unwrap_or_default()
                .saturating_mul(LIVES)
                .saturating_add(life),
        });
        let events = &mut self.events;
        let finished = bench::run(self.context, &bench, &mut |e| {
            events(ExperimentEvent::Bench(e))
        })?;
        if finished.interrupted {
            return Ok(());
        }
        if let Some(error) = finished.not_recorded {
            return Err(ExperimentError::NotRecorded(error));
        }
        self.or_disturbed(Ok(()))?;
        self.still_there()?;
        self.end(place, RunState::Done, finished.run, None)?;
        (self.events)(ExperimentEvent::Ended {
            planned,
            finished: &finished,
        });
        Ok(())
    }

    /// Place of its restart's settings among those of all.
    fn trial(&self, planned: Planned) -> u32 {
        let of = &self.request.experiment;
        let all = of.combinations();
        let wholes = of.wholes(&all);
        let has = |whole: &helenus_model::experiment::Whole| {
            whole.combinations.contains(&planned.combination)
        };
        let place = wholes.iter().position(has).unwrap_or_default();
        u32::try_from(place).unwrap_or_default()
    }

    fn interrupt(&mut self, places: &[usize]) -> Result<(), ExperimentError> {
        for place in places {
            if self.runs[*place].state == RunState::Running {
                self.end(*place, RunState::Interrupted, None, None)?;
            }
        }
        Ok(())
    }

    /// Removes the cluster of a restart, where it is there.
    pub(super) fn remove(&mut self) -> Result<(), ClusterError> {
        let name = self.cluster();
        if !self.context.clusters.folder(&name).exists() {
            return Ok(());
        }
        (self.events)(ExperimentEvent::Bench(LabEvent::Step(Step::Remove)));
        remove::remove(self.context, &name).map(|_| ())
    }
}

/// The cluster that is made for a restart; none where it goes to one that is there.
fn own_cluster(combination: &Combination) -> Option<&UpRequest> {
    match &combination.bench.place {
        Where::Ephemeral(up) => Some(up),
        Where::Cluster(_) | Where::Hosts { .. } | Where::Kube { .. } => None,
    }
}

/// Operations that ended well in all phases.
fn completed(result: &RunResult) -> u64 {
    let phases = result.phases.iter();
    phases.map(|phase| phase.total.completed).sum()
}

/// Brings up a cluster for this run of it.
pub(super) fn bring_up(sitting: &mut Sitting<'_>, up: &UpRequest) -> Result<(), ExperimentError> {
    let events = &mut sitting.events;
    events(ExperimentEvent::Bench(LabEvent::Step(Step::Up)));
    let mut see = |event| events(ExperimentEvent::Bench(LabEvent::Cluster(&event)));
    stack::up_all(sitting.context, up, &mut see)?;
    Ok(())
}

/// Why nodes died of their own settings, with the end of their log; none of what would stop every other run, too.
fn own_fault(error: &ExperimentError) -> Option<String> {
    let of_cluster = |error: &ClusterError| {
        let log = error.lines();
        let mut words = vec![with_causes(error)];
        words.extend_from_slice(&log[log.len().saturating_sub(LOG_LINES)..]);
        // Generators are no nodes.
        let of_nodes = error.find::<JobError>().is_none() && error.class() == Class::Cluster;
        of_nodes.then(|| words.join("\n"))
    };
    let of_bench = |error: &BenchError| match error {
        BenchError::Cluster(error) | BenchError::Target(TargetError::Cluster(error)) => {
            of_cluster(error)
        }
        BenchError::Generator(GeneratorError::Read(_))
        | BenchError::Target(TargetError::Unreachable { .. })
        | BenchError::Prepare { .. }
        | BenchError::NoRate { .. } => Some(with_causes(error)),
        _ => None,
    };
    let of_data = |error: &PopulateError| match error {
        PopulateError::Bench(error) => of_bench(error),
        PopulateError::Failed { .. }
        | PopulateError::Counter { .. }
        | PopulateError::Unread { .. } => Some(with_causes(error)),
        _ => None,
    };
    match error {
        ExperimentError::Cluster(error) => of_cluster(error),
        ExperimentError::Bench(error) => of_bench(error),
        ExperimentError::Populate(error) => of_data(error),
        _ => None,
    }
}
