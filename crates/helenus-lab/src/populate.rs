//! `populate`: a cluster of ours is filled, goes on where it was cut off, comes to rest, and is read back.
//! Refuses clusters of others, and to call anything there that was not read back.
//! One on Kubernetes is filled from a pod beside it; its nodes' settings stay as they are.

mod verify;

pub use verify::Verified;

use crate::bench::{BenchError, has_data_centre};
use crate::generator::{self, Stand};
use crate::serving::{self, Asked};
use crate::target::{self, HostAccess, Target};
use fs_err as fs;
use helenus_cluster::baseline::{self, BaselineEvent};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::kube::{self, KubeClusters, KubeJob};
use helenus_cluster::populate_journal::{self, PopulateJournal};
use helenus_cluster::raised_settings::{self, RaisedSetting};
use helenus_cluster::ready::ReadyError;
use helenus_cluster::settings::PutBack;
use helenus_cluster::state::ClusterState;
use helenus_cql::ConnectOptions;
use helenus_model::format::Format;
use helenus_model::populate::{Beginning, Journal, ResumeError, TargetData, TargetDataError};
use helenus_model::result::PhaseResult;
use helenus_model::run_plan::{Consistency, Phase, RunPlan};
use helenus_model::sample::{FailureKind, SampleLine};
use helenus_model::samples::ReadError;
use helenus_model::workload::ReplicationFactor;
use helenus_model::workload::expected::ExpectedError;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often what is acknowledged is remembered, in milliseconds: what comes after is sent again after a crash.
const REMEMBER_MS: u64 = 250;

/// What `populate` is asked for.
#[derive(Debug, Clone)]
pub struct PopulateRequest {
    /// Cluster of this user.
    pub cluster: String,
    /// How one gets into it, where it is one on Kubernetes.
    pub kube: Option<HostAccess>,
    /// What is to be there.
    pub data: TargetData,
    /// Partitions a second; none is as fast as the slots allow.
    pub rate_per_s: Option<f64>,
    /// Most operations in flight.
    pub in_flight: u32,
    /// Consistency level of the writes.
    pub consistency: Consistency,
    /// Replicas of each row, if set.
    pub replication_factor: Option<ReplicationFactor>,
    /// How often a failed write is sent again.
    pub tries: u32,
    /// Whether nodes' settings are raised meanwhile.
    pub raise_settings: bool,
    /// Whether everything is read back.
    pub verify: bool,
    /// Whether an unfinished one is forgotten.
    pub anew: bool,
    /// How long to wait for compactions at the end.
    pub settle_within: Duration,
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PopulateStep {
    /// Look at the cluster, and at what is remembered.
    Look,
    /// Create keyspace and tables.
    Prepare,
    /// Start the generator, where it is a pod.
    Generator,
    /// Raise settings.
    Care,
    /// Write.
    Load,
    /// Flush, and wait for compactions.
    Settle,
    /// Put settings back.
    PutBack,
    /// Read everything back.
    Verify,
}

/// What happens on the way.
#[derive(Debug)]
pub enum PopulateEvent<'a> {
    /// A step starts.
    Step(PopulateStep),
    /// It continues from here.
    Resumed {
        /// Partitions that are acknowledged already.
        from: u64,
    },
    /// A setting that a load which was cut off had left raised is as it was.
    Left(&'a PutBack),
    /// So many partitions of so many are written, or read back.
    Done {
        /// Done.
        done: u64,
        /// In all.
        of: u64,
        /// How often a write failed and was sent again.
        repeated: u64,
    },
    /// Compactions that are left.
    Compactions(u64),
    /// Keys that were computed before everything is read back.
    Keys {
        /// Done.
        done: u64,
        /// In all.
        of: u64,
    },
    /// What of the ring was read back.
    Scanned {
        /// Rows.
        rows: u64,
        /// Share of the ring, from 0 to 1.
        share: f64,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Populated {
    /// `helenus.populated/1`.
    pub format: Format,
    /// Cluster.
    pub cluster: String,
    /// Where the generator was, where it was a pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The workload's name.
    pub workload: String,
    /// Partitions that are there.
    pub partitions: u64,
    /// Root seed of the data.
    pub seed: u64,
    /// Partition that this run started with; those before it were acknowledged.
    pub from: u64,
    /// Operations that this run sent.
    pub sent: u64,
    /// Rows that they wrote.
    pub rows: u64,
    /// How often one failed and was sent again.
    pub repeated: u64,
    /// How long the writing took, in seconds.
    pub load_s: f64,
    /// How long flush and compactions took, in seconds.
    pub settle_s: f64,
    /// Settings that were raised meanwhile.
    pub raised: Vec<RaisedSetting>,
    /// Settings that are as they were again.
    pub put_back: Vec<PutBack>,
    /// What reading everything back found; none unless requested.
    pub verified: Option<Verified>,
}

/// Why a cluster could not be filled.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum PopulateError {
    #[error(transparent)]
    Bench(Box<BenchError>),
    #[error(transparent)]
    TargetData(#[from] TargetDataError),
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// Writes failed more often than they were to be sent again.
    #[error("a write failed {tries} times ({why}); {below} of {partitions} partitions are written")]
    Failed {
        /// How often it was sent.
        tries: u32,
        /// How it failed in the end.
        kind: FailureKind,
        /// The first failure.
        why: String,
        /// Acknowledged without a gap.
        below: u64,
        /// In all.
        partitions: u64,
    },
    /// A counter write failed: it may have counted.
    #[error("a counter update was not acknowledged ({why}): it may or may not have been applied")]
    Counter {
        /// The failure.
        why: String,
    },
    /// What must be there is not known.
    #[error(transparent)]
    Expected(#[from] ExpectedError),
    /// The table that is there is not the workload's.
    #[error("{table} has no column {column}, which the workload writes")]
    OtherTable {
        /// Table.
        table: String,
        /// The column that it lacks.
        column: String,
    },
    /// Reads failed, so nothing is known.
    #[error("{count} partitions could not be read back ({why})")]
    Unread {
        /// How many.
        count: u64,
        /// The first failure.
        why: String,
    },
}

impl From<BenchError> for PopulateError {
    fn from(error: BenchError) -> Self {
        Self::Bench(Box::new(error))
    }
}

impl From<ClusterError> for PopulateError {
    fn from(error: ClusterError) -> Self {
        BenchError::from(error).into()
    }
}

impl PopulateError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bench(_) => None,
            Self::TargetData(e) => Some(e.hint().to_owned()),
            Self::Resume(e) => Some(e.hint().to_owned()),
            Self::Failed { kind, .. } => {
                Some(format!("{}; then run it again: it resumes", kind.hint()))
            }
            Self::Counter { .. } => Some(ResumeError::Counters.hint().to_owned()),
            Self::Expected(_) => None,
            Self::OtherTable { .. } => Some(
                "is it the table of another workload, or of another version of this one?"
                    .to_owned(),
            ),
            Self::Unread { .. } => {
                Some("run it again: rows already written are only read back".to_owned())
            }
        }
    }
}

/// Where the nodes are, and with them the generator.
enum Place {
    /// On this machine.
    Here(ClusterState),
    /// In pods; the generator's is made when it is needed.
    Pods(Option<KubeJob>),
}

impl Place {
    fn stand<'a>(&'a self, context: &'a Context) -> Stand<'a> {
        match self {
            Self::Here(state) => Stand::of(context, Some(state), None),
            Self::Pods(job) => Stand::of(context, None, job.as_ref()),
        }
    }
}

/// Where a cluster's book lies.
fn folder(context: &Context, request: &PopulateRequest) -> Result<PathBuf, ClusterError> {
    let name = &request.cluster;
    if request.kube.is_none() {
        context.clusters.load(name)?;
        return Ok(context.clusters.folder(name));
    }
    let clusters = KubeClusters::of(&context.paths.state);
    clusters.load(name)?;
    Ok(clusters.folder(name))
}

/// One populate under way.
struct Populate<'a> {
    context: &'a Context,
    request: &'a PopulateRequest,
    events: &'a mut dyn FnMut(PopulateEvent<'_>),
    target: Target,
    place: Place,
    book: PopulateJournal,
    journal: Journal,
    populated: Populated,
}

/// Where it would start, and what of a load that was cut off waits to be put back; nothing is changed.
///
/// # Errors
/// No such cluster, or an unfinished populate of something else.
pub fn look(
    context: &Context,
    request: &PopulateRequest,
) -> Result<(Beginning, bool), PopulateError> {
    let remembered = populate_journal::look(&folder(context, request)?)?;
    let beginning = beginning(remembered.as_ref(), request)?;
    let raised = match request.kube {
        Some(_) => false,
        None => raised_settings::is_raised(
            context,
            &context
                .clusters
                .load(&request.cluster)
                .map_err(ClusterError::from)?,
        ),
    };
    Ok((beginning, raised))
}

fn beginning(
    remembered: Option<&Journal>,
    request: &PopulateRequest,
) -> Result<Beginning, PopulateError> {
    match remembered {
        Some(journal) if !request.anew => Ok(journal.beginning(&request.data.journal())?),
        _ => Ok(Beginning::Anew),
    }
}

/// Puts back what a load that was cut off has left raised.
///
/// # Errors
/// No such cluster, or a node does not answer.
pub fn put_back(context: &Context, cluster: &str) -> Result<Vec<PutBack>, ClusterError> {
    let state = context.clusters.load(cluster)?;
    let _book = PopulateJournal::open(&context.clusters.folder(cluster), cluster)?;
    raised_settings::put_back(context, &state)
}

/// Fills the cluster, or what is left of it; settings are put back whatever happens.
///
/// # Errors
/// The cluster is not ours or does not answer, an unfinished populate is of something else, writes fail for good, or
/// the person stopped it: what is acknowledged by then is remembered.
pub fn populate(
    context: &Context,
    request: &PopulateRequest,
    events: &mut dyn FnMut(PopulateEvent<'_>),
) -> Result<Populated, PopulateError> {
    events(PopulateEvent::Step(PopulateStep::Look));
    let folder = folder(context, request)?;
    fs::create_dir_all(&folder).map_err(ClusterError::io("the cluster's folder"))?;
    let book = PopulateJournal::open(&folder, &request.cluster)?;
    let (target, place) = match &request.kube {
        Some(given) => (
            target::kube(context, &request.cluster, given).map_err(BenchError::from)?,
            Place::Pods(None),
        ),
        None => {
            let state = context.clusters.load(&request.cluster);
            let state = state.map_err(ClusterError::from)?;
            let target = target::ours(context, &state).map_err(BenchError::from)?;
            // What a load that was cut off has left goes back even where this one is refused.
            for left in raised_settings::put_back(context, &state)? {
                events(PopulateEvent::Left(&left));
            }
            (target, Place::Here(state))
        }
    };
    let remembered = book.read()?;
    let beginning = beginning(remembered.as_ref(), request)?;
    let journal = match (beginning, remembered) {
        (Beginning::Anew, _) | (_, None) => request.data.journal(),
        (_, Some(journal)) => journal,
    };
    let populated = Populated {
        format: Format::new("populated", 1),
        cluster: request.cluster.clone(),
        on: None,
        workload: journal.workload.clone(),
        partitions: journal.partitions,
        seed: journal.seed.0,
        from: journal.below,
        sent: 0,
        rows: 0,
        repeated: 0,
        load_s: 0.0,
        settle_s: 0.0,
        raised: Vec::new(),
        put_back: Vec::new(),
        verified: None,
    };
    let mut own = Populate {
        context,
        request,
        events,
        target,
        place,
        book,
        journal,
        populated,
    };
    let all = own.all(beginning);
    if let Place::Pods(Some(job)) = own.place
        && let Err(error) = job.end()
    {
        tracing::error!(%error, "the generator is still there");
    }
    all?;
    Ok(own.populated)
}

impl Populate<'_> {
    fn all(&mut self, beginning: Beginning) -> Result<(), PopulateError> {
        self.prepare()?;
        if beginning != Beginning::Loaded {
            self.book.write(&self.journal)?;
            let loaded = self.with_care(beginning);
            let back = self.put_back();
            loaded?;
            back?;
        }
        if self.request.verify {
            self.verify()?;
        }
        self.journal.complete = self
            .populated
            .verified
            .as_ref()
            .is_none_or(Verified::is_whole);
        if !self.journal.complete {
            // What is not there was lost after it was acknowledged: the next one writes everything again.
            self.journal.below = 0;
        }
        self.book.write(&self.journal)?;
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), PopulateError> {
        (self.events)(PopulateEvent::Step(PopulateStep::Prepare));
        let workload = &self.request.data.workload;
        target::fits(&self.target, workload).map_err(BenchError::from)?;
        let asked = self.request.replication_factor.as_ref();
        for name in asked.into_iter().flat_map(ReplicationFactor::names) {
            has_data_centre(Some(name), self.target.data_centers())?;
        }
        let statements = workload.schema(&self.target.replication(asked), asked.is_some());
        let filling = &self.request.data;
        let mut phases = vec![filling.phase(0, None, 1, 0)];
        phases.extend(filling.reading(1));
        let asked = Asked {
            workload,
            phases: &phases,
            level: self.request.consistency,
            local: self.target.data_center.as_deref().unwrap_or_default(),
            statements: &statements,
            replication_factor: asked,
            must_be_served: true,
            options: &ConnectOptions::default(),
        };
        serving::served(&self.target, &asked).map_err(BenchError::from)?;
        target::prepare(&self.target, &statements).map_err(BenchError::from)?;
        Ok(())
    }

    /// Makes the generator, where it is a pod and not there yet.
    fn generator(&mut self) -> Result<(), ClusterError> {
        let (Place::Pods(job @ None), Some(kube)) = (&mut self.place, &self.target.kube) else {
            return Ok(());
        };
        (self.events)(PopulateEvent::Step(PopulateStep::Generator));
        let made = kube.generators(None, 1, &self.context.cancel)?;
        self.populated.on = Some(kube.place(&made));
        *job = Some(made);
        Ok(())
    }

    fn with_care(&mut self, beginning: Beginning) -> Result<(), PopulateError> {
        self.generator()?;
        if let Place::Here(state) = &self.place
            && self.request.raise_settings
        {
            (self.events)(PopulateEvent::Step(PopulateStep::Care));
            self.populated.raised = raised_settings::raise(self.context, state)?;
        }
        let first = match beginning {
            Beginning::From(first) => {
                (self.events)(PopulateEvent::Resumed { from: first });
                first
            }
            Beginning::Anew | Beginning::Loaded => 0,
        };
        (self.events)(PopulateEvent::Step(PopulateStep::Load));
        let begin = Instant::now();
        let loaded = self.load(first);
        self.populated.load_s = begin.elapsed().as_secs_f64();
        loaded?;
        (self.events)(PopulateEvent::Step(PopulateStep::Settle));
        self.populated.settle_s = self.settle()?;
        Ok(())
    }

    /// How long it takes until the nodes rest, in seconds.
    fn settle(&mut self) -> Result<f64, ClusterError> {
        let (events, within) = (&mut self.events, self.request.settle_within);
        let mut see = |tasks| events(PopulateEvent::Compactions(tasks));
        match (&self.place, &self.target.kube) {
            (Place::Here(state), _) => {
                let settled = baseline::settle(self.context, state, within, &mut |event| {
                    if let BaselineEvent::Step(baseline::Step::Settle { tasks }) = event {
                        see(tasks);
                    }
                })?;
                Ok(settled.seconds)
            }
            (Place::Pods(_), Some(there)) => {
                let patience = (within, &self.context.cancel);
                let took = kube::settle(&there.kubectl, &there.pods, patience, &mut see)?;
                Ok(took.as_secs_f64())
            }
            (Place::Pods(_), None) => Ok(0.0),
        }
    }

    fn put_back(&mut self) -> Result<(), PopulateError> {
        let Place::Here(state) = &self.place else {
            return Ok(());
        };
        if !raised_settings::is_raised(self.context, state) {
            return Ok(());
        }
        (self.events)(PopulateEvent::Step(PopulateStep::PutBack));
        self.populated.put_back = raised_settings::put_back(self.context, state)?;
        Ok(())
    }

    fn load(&mut self, first: u64) -> Result<(), PopulateError> {
        let request = self.request;
        let filling = &request.data;
        let phase = filling.phase(first, request.rate_per_s, request.in_flight, request.tries);
        let plan = self.plan(phase);
        let before = self.journal.sent;
        let (journal, book, events) = (&mut self.journal, &self.book, &mut self.events);
        let populated = &mut self.populated;
        let mut forgotten = None;
        let stand = self.place.stand(self.context);
        let ended = run(stand, self.context, &plan, &mut |line| {
            match line {
                SampleLine::Interval(interval) => {
                    populated.sent += interval.operations.values().map(|o| o.started).sum::<u64>();
                    populated.rows += interval.operations.values().map(|o| o.rows).sum::<u64>();
                }
                SampleLine::Mark(mark) => {
                    journal.below = mark.below;
                    journal.sent = before + populated.sent;
                    populated.repeated = mark.repeated;
                    if let Err(error) = book.write(journal) {
                        forgotten = Some(error);
                        return Err(ReadError::NoHeader);
                    }
                    events(PopulateEvent::Done {
                        done: mark.below,
                        of: filling.partitions,
                        repeated: mark.repeated,
                    });
                }
                _ => {}
            }
            Ok(())
        });
        if let Some(error) = forgotten {
            return Err(error.into());
        }
        let phase = ended?;
        self.go_on()?;
        self.judge(&phase)
    }

    /// All writes are in, or why not.
    fn judge(&self, phase: &PhaseResult) -> Result<(), PopulateError> {
        if self.journal.below >= self.journal.partitions {
            return Ok(());
        }
        let kind = FailureKind::most_frequent(&phase.total.failed).unwrap_or(FailureKind::Other);
        let firsts = &phase.first_failures;
        let first = firsts.get(&kind).or(firsts.values().next()).cloned();
        let why = first.unwrap_or_else(|| "the generator ended early".to_owned());
        Err(if self.journal.counts {
            PopulateError::Counter { why }
        } else {
            PopulateError::Failed {
                tries: self.request.tries + 1,
                kind,
                why,
                below: self.journal.below,
                partitions: self.journal.partitions,
            }
        })
    }

    fn plan(&self, phase: Phase) -> RunPlan {
        RunPlan {
            local_data_centre: self.target.data_center.clone(),
            credentials: self.target.access.credentials.clone(),
            tls: self.target.access.tls.clone(),
            consistency: self.request.consistency,
            raise_priority: false,
            sampling_interval_ms: REMEMBER_MS,
            ..RunPlan::new(
                self.target.endpoints.clone(),
                self.request.data.workload.clone(),
                vec![phase],
                self.request.data.seed,
            )
        }
    }

    /// Stops where the person asked for it.
    fn go_on(&self) -> Result<(), ClusterError> {
        if self.context.cancel.is_set() {
            return Err(ReadyError::Interrupted.into());
        }
        Ok(())
    }
}

/// Runs a plan of one phase; each line is seen as it comes.
fn run(
    stand: Stand<'_>,
    context: &Context,
    plan: &RunPlan,
    see: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
) -> Result<PhaseResult, BenchError> {
    let mut result = generator::result(stand, plan, &context.cancel, see)?;
    match result.phases.pop() {
        Some(phase) => Ok(phase),
        None => Err(ClusterError::from(ReadyError::Interrupted).into()),
    }
}
