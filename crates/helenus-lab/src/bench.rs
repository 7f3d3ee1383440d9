//! `bench`: drives the line of a measurement and reports what happens.
//! Refuses to skip a step: `helenus_model::line::next` says which one comes.

mod error;
mod event;
mod kept;
mod pods;
mod prepare;
mod processors;
mod record;
mod request;
mod searching;

pub use self::error::BenchError;
pub use self::event::{Elsewhere, Finished, LabEvent};
pub(crate) use self::record::life;
pub use self::request::{BenchRequest, ProfileAsked, Where};

use self::error::no_rate;
use self::kept::{Counted, store, store_phase, store_readings};
use self::pods::{clocks, without};
use self::searching::Searching;
use crate::calibrate;
use crate::distance::{ApartError, Links};
use crate::faults::{self, Before, Faults};
use crate::flame;
use crate::generator::{self, GeneratorError, Stand};
use crate::ledger;
use crate::server_times;
use crate::target::{self, Target, TargetError};
use crate::traces::Traced;
use crate::watch::Watch;
use helenus_cluster::context::Context;
use helenus_cluster::error::{ClusterError, with_causes};
use helenus_cluster::in_use::Hold;
use helenus_cluster::kube::KubeJob;
use helenus_cluster::net::client::NetError;
use helenus_cluster::observe;
use helenus_cluster::ready::ReadyError;
use helenus_cluster::remove;
use helenus_cluster::stack;
use helenus_cluster::state::ClusterState;
use helenus_model::agent::GeneratorSeen;
use helenus_model::bench::Load;
use helenus_model::doubt::OutsideFacts;
use helenus_model::flame::ProfilePlan;
use helenus_model::format::Format;
use helenus_model::levels::{DistanceError, RoundTrip};
use helenus_model::line::{Outcome, Place, State, Step, next};
use helenus_model::probe::default_rate_per_s;
use helenus_model::result::{Beside, RunResult};
use helenus_model::run_plan::{self, RunPlan};
use helenus_model::sample::{MeasuredFrom, SampleLine};
use helenus_model::samples::Accumulator;
use helenus_model::telemetry::{self, FaultSeen};
use helenus_model::workload::ReplicationFactor;
use helenus_record::{History, HistoryError, RunId};

/// A run under way.
struct Bench<'a> {
    context: &'a Context,
    request: &'a BenchRequest,
    events: &'a mut dyn FnMut(LabEvent<'_>),
    cluster: Option<ClusterState>,
    /// What keeps other commands from changing that cluster.
    hold: Option<Hold>,
    archive_used: Option<bool>,
    target: Option<Target>,
    /// Generators in pods, where it goes to a cluster on Kubernetes.
    job: Option<KubeJob>,
    /// What became of generators that were not here.
    generators: Vec<GeneratorSeen>,
    /// Where it ran, where that is not this machine.
    elsewhere: Option<Elsewhere>,
    /// Links that were set for this run.
    links: Option<Links>,
    round_trips: Vec<RoundTrip>,
    rate_per_s: Option<f64>,
    plan: Option<RunPlan>,
    result: Option<RunResult>,
    /// Dropped last of all: nodes that it started may end with it.
    faults: Option<Faults>,
    faults_seen: Vec<FaultSeen>,
    history: Result<(History, Option<RunId>), HistoryError>,
    not_removed: Option<ClusterError>,
}

/// Runs the whole line.
///
/// # Errors
/// The first step that failed; what was brought up is removed all the same.
pub fn run(
    context: &Context,
    request: &BenchRequest,
    events: &mut dyn FnMut(LabEvent<'_>),
) -> Result<Finished, BenchError> {
    request.check_faults(context)?;
    let place = match &request.place {
        Where::Ephemeral(_) => Place::Ephemeral,
        Where::Cluster(_) | Where::Kube { .. } => Place::Owned,
        Where::Hosts { .. } => Place::Hosts,
    };
    let mut bench = Bench {
        context,
        request,
        events,
        cluster: None,
        hold: None,
        archive_used: None,
        target: None,
        job: None,
        generators: Vec::new(),
        elsewhere: None,
        links: None,
        round_trips: Vec::new(),
        rate_per_s: request.load.rate_per_s(),
        plan: None,
        result: None,
        faults: None,
        faults_seen: Vec::new(),
        history: History::open(&crate::compare::history_file(context)).map(|h| (h, None)),
        not_removed: None,
    };
    let probe = request.load == Load::Probe;
    let mut state = State::new(place, probe);
    let mut first_error = None;
    loop {
        let step = next(&state);
        if step == Step::End {
            break;
        }
        (bench.events)(LabEvent::Step(step));
        let outcome = match bench.take(step) {
            Ok(()) if context.cancel.is_set() => Outcome::Interrupted,
            Ok(()) => Outcome::Done,
            Err(error) => {
                tracing::error!(?step, %error, "step failed");
                first_error.get_or_insert(error);
                if context.cancel.is_set() {
                    Outcome::Interrupted
                } else {
                    Outcome::Failed
                }
            }
        };
        state = state.after(step, outcome);
    }
    bench.finish(first_error)
}

/// Looks at a cluster that already exists.
///
/// # Errors
/// Nobody answers, it is another's that was not named, or it is one that is yet to be made.
pub(crate) fn look(context: &Context, place: &Where) -> Result<Target, BenchError> {
    Ok(match place {
        Where::Hosts {
            endpoints,
            named,
            given,
            ..
        } => target::hosts(context, endpoints, named.as_deref(), given)?,
        Where::Cluster(name) => {
            let state = context.clusters.load(name).map_err(ClusterError::from)?;
            target::ours(context, &state)?
        }
        Where::Kube { name, given } => target::kube(context, name, given)?,
        Where::Ephemeral(_) => return Err(TargetError::Nowhere.into()),
    })
}

/// Whether the data centre in which the client shall stand, where one was named, is among those that are there.
///
/// # Errors
/// [`BenchError::DataCentre`].
pub fn has_data_centre(asked: Option<&str>, known: Vec<String>) -> Result<(), BenchError> {
    match asked {
        Some(asked) if !known.iter().any(|name| name == asked) => Err(BenchError::DataCentre {
            asked: asked.to_owned(),
            known,
        }),
        _ => Ok(()),
    }
}

impl Bench<'_> {
    fn take(&mut self, step: Step) -> Result<(), BenchError> {
        match step {
            Step::Up => self.up(),
            Step::Look => self.look(),
            Step::Prepare => self.prepare(),
            Step::Probe => self.probe(),
            Step::Run => self.run(),
            Step::Record => {
                self.record();
                Ok(())
            }
            Step::Remove => {
                self.remove();
                Ok(())
            }
            Step::End => Ok(()),
        }
    }

    fn finish(mut self, first_error: Option<BenchError>) -> Result<Finished, BenchError> {
        let interrupted = self.context.cancel.is_set();
        let not_put_back = self.put_back();
        if first_error
            .as_ref()
            .is_some_and(BenchError::is_before_the_first_operation)
        {
            self.forget();
        }
        let (run, not_recorded) = match self.history {
            Ok((_, run)) => (run, None),
            Err(error) => (None, Some(error)),
        };
        match (self.result, self.plan, first_error) {
            (Some(result), Some(plan), None) => Ok(Finished {
                result,
                run,
                plan,
                faults: self.faults_seen,
                cluster: self.cluster,
                elsewhere: self.elsewhere,
                generators: self.generators,
                archive_used: self.archive_used,
                interrupted,
                not_recorded,
                not_removed: self.not_removed,
                not_put_back,
            }),
            (_, _, Some(error)) if !interrupted => Err(error),
            // An interrupt that could not clean up says so.
            _ => Err(self
                .not_removed
                .unwrap_or_else(|| ReadyError::Interrupted.into())
                .into()),
        }
    }

    /// A run that was refused is none. One that an experiment has planned stays in its place.
    fn forget(&mut self) {
        let Ok((history, Some(run))) = &mut self.history else {
            return;
        };
        if self.request.place_in_history.is_none()
            && let Err(error) = history.forget_run(*run)
        {
            tracing::warn!(%error, "a run of nothing stays in the history");
        }
    }

    fn up(&mut self) -> Result<(), BenchError> {
        if let Where::Ephemeral(request) = &self.request.place {
            let events = &mut self.events;
            let mut see = |event| events(LabEvent::Cluster(&event));
            let state = stack::up_all(self.context, request, &mut see)?;
            self.cluster = Some(state);
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), BenchError> {
        let target = match (&self.request.place, &self.cluster) {
            (Where::Ephemeral(_), Some(state)) => target::ours(self.context, state)?,
            (Where::Ephemeral(_), None) => return Ok(()),
            (place, _) => look(self.context, place)?,
        };
        if let Some(sight) = &target.foreign {
            (self.events)(LabEvent::Foreign(sight));
        }
        let named = self.request.replication_factor.iter();
        let named = named.flat_map(ReplicationFactor::names);
        for name in self.request.client_dc.as_deref().into_iter().chain(named) {
            has_data_centre(Some(name), target.data_centers())?;
        }
        if !self.request.faults.is_empty() {
            let state = target.cluster.as_ref().ok_or(BenchError::ForeignFaults)?;
            faults::check(&self.request.faults, &state.plan)?;
        }
        if self.request.profile.is_some() && target.cluster.is_none() {
            return Err(BenchError::ForeignProfile);
        }
        self.cluster = target.cluster.clone();
        self.target = Some(target);
        self.take_hold();
        self.stand_apart()
    }

    /// Keeps other commands from changing the cluster. A folder that cannot be written keeps no run from its numbers.
    fn take_hold(&mut self) {
        let Some(state) = &self.cluster else {
            return;
        };
        self.hold = Hold::try_take(
            &self.context.clusters,
            &state.plan.name,
            &self.request.command,
        );
    }

    /// Commands that changed the cluster since.
    fn disturbed(&mut self) -> Vec<String> {
        let seen = self.hold.as_mut().map(Hold::disturbances);
        let seen = seen.unwrap_or_default().into_iter();
        seen.map(|one| one.command).collect()
    }

    /// Sets the links for this run, and measures them.
    fn stand_apart(&mut self) -> Result<(), BenchError> {
        let Some(distance) = &self.request.distance else {
            return Ok(());
        };
        let state = self.cluster.as_ref().ok_or(ApartError::Foreign)?;
        let links = Links::of(state).map_err(ApartError::from)?;
        let loopback = ApartError::Distance(DistanceError::Loopback);
        let links = self.links.insert(links.ok_or(loopback)?);
        self.round_trips = links.stand(distance, &self.context.cancel)?;
        Ok(())
    }

    /// Sets the links of a cluster that stays as they were; why that failed.
    fn put_back(&mut self) -> Option<NetError> {
        let stays = !matches!(self.request.place, Where::Ephemeral(_));
        let links = self.links.as_mut().filter(|_| stays)?;
        let error = links.put_back().err()?;
        tracing::error!(%error, "the links are not as they were");
        Some(error)
    }

    fn run_plan(&self, phases: Vec<run_plan::Phase>) -> RunPlan {
        let request = self.request;
        let target = self.target.as_ref();
        let data_centre = request.client_dc.clone();
        let data_centre = data_centre.or_else(|| target.and_then(|t| t.data_center.clone()));
        let doors = target.map(|t| t.doors(data_centre.as_deref()));
        let (endpoints, endpoints_only) = doors.unwrap_or_default();
        RunPlan {
            format: Format::new("plan", run_plan::VERSION),
            endpoints,
            endpoints_only,
            local_data_centre: data_centre,
            credentials: target.and_then(|t| t.access.credentials.clone()),
            tls: target.and_then(|t| t.access.tls.clone()),
            workload: request.workload.clone(),
            phases,
            consistency: request.consistency,
            faults: request.faults.clone(),
            seed: request.seed,
            ledger: None,
            pacing: request.pacing,
            raise_priority: true,
            sampling_interval_ms: request.sampling_interval_ms,
            operation_timeout_ms: request.operation_timeout_ms,
            cell: request.cell.clone(),
            processes: request.processes,
            process: None,
            cpus: self.generator_cpus(),
            connections: request.connections,
            compression: request.compression,
            search: request.search.clone(),
            profile: self.profile_plan(),
            trace: request.trace,
            server_times: request.server_times,
            round_trips: self.round_trips.clone(),
        }
    }

    /// The node by its name, where one is profiled.
    fn profile_plan(&self) -> Option<ProfilePlan> {
        let asked = self.request.profile.as_ref()?;
        let first = || Some(self.cluster.as_ref()?.plan.nodes.first()?.name.clone());
        Some(ProfilePlan {
            node: asked.node.clone().or_else(first)?,
            event: asked.event,
        })
    }

    fn probe(&mut self) -> Result<(), BenchError> {
        let Some(phase) = self.request.shape.probe() else {
            return Ok(());
        };
        let whole = helenus_model::bench::PROBE_MS / 1000;
        let plan = RunPlan {
            faults: vec![],
            search: None,
            profile: None,
            trace: None,
            server_times: false,
            // What one process reaches is the rate to begin with.
            processes: 1,
            ..self.run_plan(vec![phase])
        };
        let mut accumulator = Accumulator::new(plan.clone());
        let mut second = 0;
        self.generators()?;
        let events = &mut self.events;
        generator::run(
            Stand::of(self.context, self.cluster.as_ref(), self.job.as_ref())
                .or_at(&self.request.agents),
            &plan,
            &self.context.cancel,
            &mut |line| {
                if let SampleLine::Interval(interval) = line
                    && let Some(phase) = plan.phases.get(interval.phase)
                {
                    second += 1;
                    events(LabEvent::Interval {
                        phase,
                        interval,
                        done: (second, whole),
                    });
                }
                accumulator.take(line)
            },
        )?;
        let seen = accumulator.probe(0);
        let ended = accumulator
            .finish(&|_, _| Beside::default())
            .map_err(GeneratorError::from)?;
        let chosen = seen.as_ref().and_then(default_rate_per_s);
        let chosen = chosen.ok_or_else(|| no_rate(&ended))?;
        let reached = seen.map_or(0.0, |p| {
            p.completed_per_s.last().copied().unwrap_or_default()
        });
        (self.events)(LabEvent::Rate {
            reached_per_s: reached,
            chosen_per_s: chosen,
        });
        self.rate_per_s = Some(chosen);
        Ok(())
    }

    fn run(&mut self) -> Result<(), BenchError> {
        let mut plan = self.run_plan(self.request.shape.phases(self.rate_per_s));
        if let Some(keep) = &self.request.ledger {
            let at = ledger::plan(self.context, keep, self.cluster.as_ref());
            plan.ledger = Some(at.map_err(BenchError::Ledger)?);
        }
        self.generators()?;
        let pods = self.pods();
        let mut outside = self.outside();
        if let (Some(elsewhere), Some(pods)) = (&mut self.elsewhere, &pods) {
            elsewhere.machine = pods.generator().map(|facts| facts.machine.clone());
        }
        self.begin_record(&plan);
        self.plan = Some(plan.clone());
        let mut in_windows = Vec::new();
        if let Some(state) = &self.cluster {
            in_windows.extend(flame::begin(self.context, state, &plan)?);
            in_windows.extend(server_times::begin(self.context, state, &plan)?);
        }
        self.faults = match &self.cluster {
            Some(state) => {
                Faults::begin(self.context, state, &plan).map_err(GeneratorError::Start)?
            }
            None => None,
        };
        let elsewhere = self.elsewhere.is_some();
        let before = Before::look(self.context, self.cluster.as_ref());
        let mut watch = match (self.job.is_some(), elsewhere) {
            (true, _) => Watch::elsewhere(&plan),
            (false, true) => Watch::of_nodes(self.cluster.as_ref(), &plan),
            (false, false) => Watch::begin(self.cluster.as_ref(), &plan),
        };
        let mut accumulator = Accumulator::new(plan.clone());
        let mut counted = Counted::default();
        let events = &mut self.events;
        let history = &mut self.history;
        let faults = &mut self.faults;
        let mut measured_from = MeasuredFrom::default();
        let mut searching = Searching::default();
        let mut traced = Traced::default();
        let asked = plan.clone();
        let ran = generator::search(
            Stand::of(self.context, self.cluster.as_ref(), self.job.as_ref())
                .or_at(&self.request.agents),
            &asked,
            &self.context.cancel,
            &mut |line| {
                let seen = watch.see(line);
                if !seen.is_empty() {
                    events(LabEvent::Seen(seen));
                }
                store_readings(history, seen);
                if let Some(faults) = faults {
                    faults.see(line);
                    let seen = faults.take(&mut |words, turned| {
                        events(LabEvent::Fault(words, turned));
                    });
                    store_readings(history, &seen);
                    watch.add(&seen);
                }
                for windows in &mut in_windows {
                    windows.see(line);
                    let seen = windows.take();
                    store_readings(history, &seen);
                    watch.add(&seen);
                }
                store(history, line);
                if let SampleLine::Header(header) = line {
                    events(LabEvent::Connected(header));
                }
                if let SampleLine::Interval(interval) = line {
                    traced.see(interval);
                    if interval.phase == 0 {
                        measured_from.see(interval);
                    }
                    if let Some(phase) = plan.phases.get(interval.phase) {
                        let done = match phase.whole_ms() {
                            None => (counted.add(interval), phase.measured_operations()),
                            Some(whole_ms) => (watch.seconds(), whole_ms / 1000),
                        };
                        events(LabEvent::Interval {
                            phase,
                            interval,
                            done,
                        });
                    }
                }
                accumulator.take(line)?;
                let next = searching.after(line, &plan, &accumulator, events);
                if let Some(phase) = &next {
                    plan.phases.push(phase.clone());
                    watch.add_phase(phase);
                    accumulator.add_phase(phase.clone());
                    store_phase(history, &plan);
                }
                Ok(next)
            },
        );
        self.plan = Some(plan.clone());
        if let Some(pods) = pods {
            let seen = self.pods_seen(pods, &mut outside);
            store_readings(&mut self.history, &seen);
            watch.add(&seen);
        }
        self.end_generators();
        let (events, history) = (&mut self.events, &mut self.history);
        let seen = before.seen(self.context, self.cluster.as_ref());
        store_readings(history, &seen);
        watch.add(&seen);
        // Healed whatever came of it.
        if let Some(faults) = &mut self.faults {
            let seen = faults.end(&mut |words, turned| events(LabEvent::Fault(words, turned)));
            store_readings(history, &seen);
            watch.add(&seen);
        }
        for windows in in_windows {
            let (seen, failed) = windows.end();
            store_readings(history, &seen);
            watch.add(&seen);
            failed.inspect(|why| events(LabEvent::Missing(why)));
        }
        if let (Some(target), Ok(_)) = (&self.target, &ran) {
            match traced.read(target) {
                Ok(seen) => {
                    store_readings(history, &seen);
                    watch.add(&seen);
                }
                Err(error) => events(LabEvent::Missing(&format!(
                    "traces could not be read: {}",
                    with_causes(&error)
                ))),
            }
        }
        outside.disturbed = self.disturbed();
        let became = ran.map_err(|source| match outside.disturbed.first() {
            Some(command) => BenchError::Disturbed {
                command: command.clone(),
                source: Box::new(source),
            },
            None => source.into(),
        })?;
        outside.clocks = clocks(&became.seen, &plan);
        let history = &mut self.history;
        let seen = watch.end();
        store_readings(history, seen.last());
        let zero_ns = measured_from.at_ns().unwrap_or_default();
        self.faults_seen = telemetry::faults(seen.readings(), zero_ns);
        let beside = |span, ended| Beside {
            outside: without(seen.outside(&outside, span), &became.lost, span, &plan),
            around: seen.around(span, ended),
            evidence: seen.evidence(),
        };
        let mut result = accumulator.finish(&beside).map_err(GeneratorError::from)?;
        if !elsewhere && let Some(found) = calibrate::read(self.context, &self.request.version) {
            result.set_calibration(&found);
        }
        self.generators = became.seen;
        self.result = Some(result);
        Ok(())
    }

    /// What is known of the nodes before the first operation.
    fn outside(&mut self) -> OutsideFacts {
        let views = self
            .cluster
            .as_ref()
            .and_then(|c| observe::nodes(c).ok())
            .unwrap_or_default();
        let mut running = views.iter().filter(|v| v.pid.is_some()).peekable();
        self.archive_used = running
            .peek()
            .is_some()
            .then(|| running.all(|v| v.archive_used == Some(true)));
        let used = |wanted: bool| views.iter().any(|v| v.archive_used == Some(wanted));
        let caution = self
            .cluster
            .as_ref()
            .and_then(|c| c.runtime.jdk_caution.as_ref());
        OutsideFacts {
            jdk_unsupported: caution
                .map(|_| views.iter().map(|v| v.name.clone()).collect())
                .unwrap_or_default(),
            archive_mix: used(true) && used(false),
            max_errors: Some(self.request.max_errors),
            ..OutsideFacts::default()
        }
    }

    fn remove(&mut self) {
        if let Some(state) = &self.cluster {
            self.not_removed = remove::remove(self.context, &state.plan.name).err();
        }
    }
}
