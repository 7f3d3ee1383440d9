//! A comparison of consistency levels: cell by cell on one cluster, each in a keyspace of its own, at its own distance.
//! Refuses keyspaces that it did not make, and to leave links other than it found them.

use crate::bench::{self, BenchError, BenchRequest, Finished, LabEvent, Where};
use crate::compare::history_file;
use crate::distance::Links;
use crate::generator::{self, Stand};
use crate::target::{self, Target};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::net::client::NetError;
use helenus_cluster::state::ClusterState;
use helenus_cluster::{reach, shell};
use helenus_cql::{Client, ClientError, Consistency as Level};
use helenus_model::bench::{Load, Shape};
use helenus_model::consistency::Consistency;
use helenus_model::level_runs::CellRun;
use helenus_model::level_runs::phases::{self, Lasts};
use helenus_model::levels::cell::{schema, workload};
use helenus_model::levels::{Cell, DistanceError, Ground, Planned, Wanted, planned};
use helenus_model::run_plan::{Phase, RunPlan};
use helenus_model::seed::Seed;
use helenus_model::topology::link::Directed;
use helenus_model::workload::Workload;
use helenus_record::{History, HistoryError, RunId, RunState};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long to wait for statements that change the schema.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `levels` is asked for.
#[derive(Debug, Clone)]
pub struct LevelsRequest {
    /// The comparison's name: the tag of its runs.
    pub comparison: String,
    /// A cluster of this user.
    pub cluster: String,
    /// Levels, workloads, distances, loads, repeats.
    pub wanted: Wanted,
    /// Replicas of each row by data centre.
    pub replicas: BTreeMap<String, u32>,
    /// Where the client is.
    pub client_dc: String,
    /// How long each cell is measured.
    pub lasts: Lasts,
    /// Order and data come from it.
    pub seed: Seed,
    /// Share of failures that disqualifies.
    pub max_errors: f64,
    /// The command, free of secrets.
    pub command: String,
    /// This program's version.
    pub version: String,
}

/// What happens on the way.
#[derive(Debug)]
pub enum LevelsEvent<'a> {
    /// A cell starts.
    Begins {
        /// Its number, from 1.
        number: usize,
        /// Cells in all.
        of: usize,
        /// The cell.
        cell: &'a Cell,
    },
    /// From within a cell.
    Bench(LabEvent<'a>),
    /// A cell has ended.
    Ended {
        /// The cell.
        cell: &'a Cell,
        /// What came of it.
        finished: &'a Finished,
    },
}

/// What came of it.
#[derive(Debug)]
pub struct LevelsFinished {
    /// The runs that ended.
    pub runs: Vec<CellRun>,
    /// The person stopped it.
    pub interrupted: bool,
    /// What ended it before its time.
    pub failed: Option<LevelsError>,
    /// Why the links are not as they were.
    pub not_put_back: Option<NetError>,
    /// Keyspaces of ours that are still there.
    pub not_dropped: Vec<String>,
    /// Why the history lacks a run.
    pub not_recorded: Option<HistoryError>,
}

/// Why a comparison of levels could not continue.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum LevelsError {
    #[error(transparent)]
    Bench(Box<BenchError>),
    #[error(transparent)]
    Distance(#[from] DistanceError),
    #[error(transparent)]
    Net(#[from] NetError),
    /// A keyspace or table could not be made.
    #[error("cannot create keyspace {keyspace}")]
    Schema {
        /// Its name.
        keyspace: String,
        /// Why.
        source: Box<ClientError>,
    },
    /// A keyspace with a cell's name already exists, which this command did not create.
    #[error("keyspace {0} already exists and was not created by this command")]
    Taken(String),
    /// The history has cells of a comparison of this name: the two could not be distinguished.
    #[error("the history already has a comparison {0}")]
    Known(String),
    /// Rows for the reads could not be written.
    #[error("{missing} rows for the reads could not be written ({why})")]
    Fill {
        /// How many.
        missing: u64,
        /// The first failure.
        why: String,
    },
}

impl From<BenchError> for LevelsError {
    fn from(error: BenchError) -> Self {
        Self::Bench(Box::new(error))
    }
}

impl From<ClusterError> for LevelsError {
    fn from(error: ClusterError) -> Self {
        BenchError::from(error).into()
    }
}

/// The links of a cluster as they are; none on loopback.
///
/// # Errors
/// Its network is gone.
pub fn links(state: &ClusterState) -> Result<Vec<Directed>, NetError> {
    let links = Links::of(state)?;
    Ok(links.map_or_else(Vec::new, |links| links.found().to_vec()))
}

/// All cells of a request with their predictions: what a dry run shows and a run carries out.
///
/// # Errors
/// A distance that the cluster cannot have.
pub fn plan(
    request: &LevelsRequest,
    state: &ClusterState,
    links: &[Directed],
) -> Result<Planned, DistanceError> {
    let ground = Ground {
        comparison: &request.comparison,
        plan: &state.plan,
        links,
        replicas: &request.replicas,
        client_dc: &request.client_dc,
    };
    planned(&ground, &request.wanted, request.seed)
}

/// The runs of a comparison out of the history, whatever ended it; those that did not end are not among them.
///
/// # Errors
/// A name that nothing has, or a history that cannot be read.
pub fn stored(context: &Context, comparison: &str) -> Result<Vec<CellRun>, HistoryError> {
    let history = History::open(&history_file(context))?;
    let mut runs = Vec::new();
    let ended = |state| matches!(state, RunState::Complete | RunState::Invalid);
    let lines = history.resolve_any(comparison)?.into_iter();
    for line in lines.filter(|line| ended(line.state)) {
        let stored = history.run(line.id)?;
        if let (Some(cell), Some(result)) = (stored.plan()?.cell, stored.result) {
            runs.push(CellRun {
                run: line.id.to_string(),
                cell,
                result,
            });
        }
    }
    Ok(runs)
}

struct Levels<'a> {
    context: &'a Context,
    request: &'a LevelsRequest,
    state: ClusterState,
    target: Target,
    /// None on loopback.
    links: Option<Links>,
    events: &'a mut dyn FnMut(LevelsEvent<'_>),
    runs: Vec<CellRun>,
    not_dropped: Vec<String>,
    not_recorded: Option<HistoryError>,
}

/// Runs every cell. What ends it early is reported beside the runs so far.
///
/// # Errors
/// The cluster is not there or not ours, or cannot have a distance that was asked for.
pub fn levels(
    context: &Context,
    request: &LevelsRequest,
    events: &mut dyn FnMut(LevelsEvent<'_>),
) -> Result<LevelsFinished, LevelsError> {
    let state = context
        .clusters
        .load(&request.cluster)
        .map_err(ClusterError::from)?;
    let target = target::ours(context, &state).map_err(BenchError::from)?;
    not_known(context, &request.comparison)?;
    let links = Links::of(&state)?;
    let found = links.as_ref().map_or(&[][..], Links::found);
    let planned = plan(request, &state, found)?;
    let mut levels = Levels {
        context,
        request,
        state,
        target,
        links,
        events,
        runs: Vec::new(),
        not_dropped: Vec::new(),
        not_recorded: None,
    };
    let failed = levels.cells(&planned).err();
    let put_back = levels.links.as_mut().map_or(Ok(()), Links::put_back);
    let not_put_back = put_back.err();
    Ok(LevelsFinished {
        runs: levels.runs,
        interrupted: context.cancel.is_set(),
        failed: failed.filter(|_| !context.cancel.is_set()),
        not_put_back,
        not_dropped: levels.not_dropped,
        not_recorded: levels.not_recorded,
    })
}

/// Refuses a name under which the history has cells.
///
/// # Errors
/// [`LevelsError::Known`].
pub fn not_known(context: &Context, comparison: &str) -> Result<(), LevelsError> {
    if stored(context, comparison).is_ok_and(|runs| !runs.is_empty()) {
        return Err(LevelsError::Known(comparison.to_owned()));
    }
    Ok(())
}

impl Levels<'_> {
    fn cells(&mut self, planned: &Planned) -> Result<(), LevelsError> {
        let of = planned.cells.len();
        for (place, (cell, links)) in planned.cells.iter().enumerate() {
            if self.context.cancel.is_set() {
                return Ok(());
            }
            (self.events)(LevelsEvent::Begins {
                number: place + 1,
                of,
                cell,
            });
            if let Some(own) = &mut self.links {
                own.set(links, &self.context.cancel)?;
            }
            let keyspace = format!("lv_{}_{}", self.request.seed.0, place + 1);
            self.cell(cell, place, &keyspace)?;
        }
        Ok(())
    }

    /// One cell in a keyspace that is there for it alone.
    fn cell(&mut self, cell: &Cell, place: usize, keyspace: &str) -> Result<(), LevelsError> {
        let [make_keyspace, make_table] = schema(keyspace, &self.request.replicas);
        let made = self.make(keyspace, &make_keyspace)?;
        let done = made
            .and_then(|()| self.statement(keyspace, &make_table))
            .and_then(|()| self.measure(cell, place, keyspace));
        if let Err(error) = self.statement(keyspace, &format!("DROP KEYSPACE {keyspace}")) {
            tracing::error!(keyspace, %error, "not dropped");
            self.not_dropped.push(keyspace.to_owned());
        }
        done
    }

    /// Makes a keyspace. What a server refuses is not made by us; what fails otherwise may be there, and is ours.
    fn make(&self, keyspace: &str, cql: &str) -> Result<Result<(), LevelsError>, LevelsError> {
        let failed = |source| LevelsError::Schema {
            keyspace: keyspace.to_owned(),
            source: Box::new(source),
        };
        match self.connect().map_err(failed)?.query(cql, Level::One) {
            Err(error) if error.already_exists() => Err(LevelsError::Taken(keyspace.to_owned())),
            Err(error) if error.server().is_some() => Err(failed(error)),
            Err(error) => Ok(Err(failed(error))),
            Ok(_) => Ok(shell::agree(&self.state).map_err(failed)),
        }
    }

    fn connect(&self) -> Result<Client, ClientError> {
        reach::connect(&self.state, &self.state.plan.nodes[0], PATIENCE)
    }

    fn statement(&self, keyspace: &str, cql: &str) -> Result<(), LevelsError> {
        let failed = |source| LevelsError::Schema {
            keyspace: keyspace.to_owned(),
            source: Box::new(source),
        };
        let rows = self.connect().and_then(|mut c| c.query(cql, Level::One));
        rows.map_err(failed)?;
        shell::agree(&self.state).map_err(failed)
    }

    fn measure(&mut self, cell: &Cell, place: usize, keyspace: &str) -> Result<(), LevelsError> {
        let workload = workload(keyspace, cell.workload, cell.serial());
        let seed = self.request.seed.derive(&format!("cell/{place}"));
        if let Some(phase) = phases::fill(cell.workload) {
            self.fill(phase, &workload, seed)?;
        }
        if self.context.cancel.is_set() {
            return Ok(());
        }
        let bench = self.bench(cell, workload, seed);
        let events = &mut self.events;
        let finished = bench::run(self.context, &bench, &mut |event| {
            events(LevelsEvent::Bench(event));
        });
        let finished = match finished {
            Ok(finished) => finished,
            Err(_) if self.context.cancel.is_set() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        (self.events)(LevelsEvent::Ended {
            cell,
            finished: &finished,
        });
        if !finished.interrupted {
            self.runs.push(CellRun {
                run: finished
                    .run
                    .map_or_else(|| format!("cell{}", place + 1), |id| RunId::to_string(&id)),
                cell: cell.clone(),
                result: finished.result,
            });
        }
        if finished.not_recorded.is_some() {
            self.not_recorded = finished.not_recorded;
        }
        Ok(())
    }

    /// Rows that the cell's reads will ask for, on every replica.
    fn fill(&self, phase: Phase, workload: &Workload, seed: Seed) -> Result<(), LevelsError> {
        let wanted = phase.measured_operations();
        let plan = RunPlan {
            local_data_centre: Some(self.request.client_dc.clone()),
            credentials: self.target.access.credentials.clone(),
            tls: self.target.access.tls.clone(),
            consistency: Consistency::All,
            raise_priority: false,
            ..RunPlan::new(
                self.target.endpoints.clone(),
                workload.clone(),
                vec![phase],
                seed,
            )
        };
        let here = Stand::Here {
            helenus: &self.context.helenus,
            cluster: self.target.cluster.as_ref(),
        };
        let result = generator::result(here, &plan, &self.context.cancel, &mut |_| Ok(()));
        let result = result.map_err(BenchError::from)?;
        let ended = result.phases.first();
        let missing = wanted.saturating_sub(ended.map_or(0, |phase| phase.total.completed));
        if missing == 0 || self.context.cancel.is_set() {
            return Ok(());
        }
        let why = ended.and_then(|phase| phase.first_failures.values().next());
        let why = why.cloned().unwrap_or_default();
        Err(LevelsError::Fill { missing, why })
    }

    fn bench(&self, cell: &Cell, workload: Workload, seed: Seed) -> BenchRequest {
        let request = self.request;
        let phase = phases::measured(cell.workload, cell.load, request.lasts);
        let place = Where::Cluster(request.cluster.clone());
        let load = Load::of(phase.rate_per_s);
        let what = (workload, Shape::Phases(vec![phase]), load);
        BenchRequest {
            consistency: cell.level,
            client_dc: Some(request.client_dc.clone()),
            max_errors: request.max_errors,
            cell: Some(cell.clone()),
            tag: Some(request.comparison.clone()),
            command: request.command.clone(),
            version: request.version.clone(),
            ..BenchRequest::new(place, what, seed)
        }
    }
}
