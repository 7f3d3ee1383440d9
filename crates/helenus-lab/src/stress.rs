//! `stress`: a line of cassandra-stress carried out: schema, warm-ups, one run or a search for the number of threads.
//! Refuses to decide anything of a run: each goes through the line of a bench, and into the history.

use crate::bench::{self, BenchError, BenchRequest, Finished, LabEvent, Where};
use crate::generator::{self, Agents, Stand};
use crate::target::{self, Target};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::reach;
use helenus_cluster::ready::ReadyError;
use helenus_cql::{ClientError, ConnectOptions, Consistency as Level};
use helenus_model::bench::{Load, Shape};
use helenus_model::cql::identifier;
use helenus_model::run_plan::{self, Consistency, Phase, RunPlan, Shown};
use helenus_model::sample::{FailureKind, Interval, OperationInterval};
use helenus_model::seed::Seed;
use helenus_model::stress::search::{goes_on, next_threads};
use helenus_model::stress::table::{Collections, Slice, Table, comparison, header};
use helenus_model::stress::{Command, Named, Rate, Stress, StressError, Truncate, Until, say};
use helenus_model::telemetry::{EventKind, Reading, Seen};
use helenus_model::workload::Workload;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The root seed of every line: what one writes another reads, so that it must be the same.
pub const SEED: Seed = Seed(42);

/// How long to wait for statements that change the schema or truncate.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `stress` is asked for.
#[derive(Debug, Clone)]
pub struct StressRequest {
    /// Where.
    pub place: Where,
    /// The line.
    pub stress: Stress,
    /// Its tables, statements and data.
    pub workload: Workload,
    /// Statements that make its keyspaces and tables.
    pub schema: Vec<String>,
    /// Tables that it is about: keyspace and name.
    pub tables: Vec<(String, String)>,
    /// Hosts that the line names, one where it names none.
    pub hosts: u64,
    /// Generators that share the threads.
    pub processes: u32,
    /// Load agents, one for each of them; none generates the load here, or in pods.
    pub agents: Agents,
    /// A word to find the runs by.
    pub tag: Option<String>,
    /// The command, free of secrets.
    pub command: String,
    /// This program's version.
    pub version: String,
}

/// What happens on the way.
#[derive(Debug)]
pub enum StressEvent<'a> {
    /// A line of text, as cassandra-stress prints it.
    Say(String),
    /// Rows of the table.
    Rows {
        /// As they are printed.
        rows: &'a [String],
        /// When.
        interval: &'a Interval,
        /// What they are made of, by the names that are shown.
        operations: &'a BTreeMap<String, OperationInterval>,
    },
    /// A run starts with so many operations in flight.
    Run(u32),
    /// A run is over; its summary.
    Ran {
        /// As it is printed.
        summary: String,
    },
    /// An event of the bench.
    Lab(LabEvent<'a>),
}

/// A run that ended.
#[derive(Debug)]
pub struct StressRun {
    /// Operations in flight.
    pub threads: u32,
    /// What came of it.
    pub finished: Finished,
    /// Whether cassandra-stress would call it a success.
    pub success: bool,
    /// Queries of profiles that found no row, each with how many found none and how many ended well.
    pub found_nothing: BTreeMap<String, (u64, u64)>,
}

/// What came of a line.
#[derive(Debug, Default)]
pub struct Stressed {
    /// Its runs.
    pub runs: Vec<StressRun>,
}

/// Why a line could not be carried out.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum StressRunError {
    #[error(transparent)]
    Bench(Box<BenchError>),
    #[error(transparent)]
    Line(#[from] StressError),
    /// What is to be read or truncated is not there.
    #[error("{cluster} has no table {table}")]
    NoTable {
        /// Table.
        table: String,
        /// Cluster.
        cluster: String,
    },
    /// The schema of a cluster of others is not changed.
    #[error("{what} in a cluster that is not yours is refused")]
    NotOurs {
        /// What.
        what: &'static str,
    },
    /// A statement failed.
    #[error("{what}")]
    Statement {
        /// What was tried.
        what: String,
        /// Why.
        source: Box<ClientError>,
    },
    /// Operations of a warm-up failed.
    #[error("{failed} operations of the warm-up {phase} failed ({why})")]
    WarmUp {
        /// Which.
        phase: String,
        /// How many.
        failed: u64,
        /// How most of them failed.
        kind: FailureKind,
        /// The first failure of that kind.
        why: String,
    },
}

/// What helps against operations of a line that failed in this way.
pub fn failure_hint(kind: FailureKind) -> String {
    match kind {
        FailureKind::MissingRow | FailureKind::WrongData => {
            "what is read must have been written (helenus stress write …)".to_owned()
        }
        other => other.hint().to_owned(),
    }
}

impl From<BenchError> for StressRunError {
    fn from(error: BenchError) -> Self {
        Self::Bench(Box::new(error))
    }
}

impl StressRunError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bench(_) => None,
            Self::Line(error) => error.hint(),
            Self::NoTable { table, .. } if table.ends_with("counter1") => {
                Some("create and fill it first: helenus stress counter_write n=1000000".to_owned())
            }
            Self::NoTable { .. } => {
                Some("create and fill it first: helenus stress write n=1000000".to_owned())
            }
            Self::NotOurs { .. } => Some("do it there yourself".to_owned()),
            Self::Statement { source, .. } => source.hint().map(str::to_owned),
            Self::WarmUp { kind, .. } => Some(format!(
                "{}; no-warmup skips it, -errors ignore counts failures",
                failure_hint(*kind)
            )),
        }
    }
}

/// A line under way.
struct Line<'a> {
    context: &'a Context,
    request: &'a StressRequest,
    operations: Vec<Named>,
    level: Consistency,
    events: &'a mut dyn FnMut(StressEvent<'_>),
    target: Target,
}

/// Carries a line out.
///
/// # Errors
/// The first step that failed. Runs that failed are in what comes back.
pub fn run(
    context: &Context,
    request: &StressRequest,
    events: &mut dyn FnMut(StressEvent<'_>),
) -> Result<Stressed, StressRunError> {
    let stress = &request.stress;
    let target = bench::look(context, &request.place)?;
    let data_centre = stress.node.datacenter.as_deref();
    bench::has_data_centre(data_centre, target.data_centers())?;
    let mut line = Line {
        operations: stress.operations(&request.workload)?,
        level: stress.level()?,
        target,
        context,
        request,
        events,
    };
    if let Some(sight) = &line.target.foreign {
        // Before anything is written, the warm-up's rows too.
        (line.events)(StressEvent::Lab(LabEvent::Foreign(sight)));
    }
    line.create()?;
    if stress.until == Until::Count(0) {
        line.say(say::NOTHING_DONE);
        return Ok(Stressed::default());
    }
    line.tables_are_there()?;
    line.say(say::SLEEPING);
    line.sleep(2)?;
    line.warm_up()?;
    let fixed = matches!(stress.rate, Rate::Threads { .. });
    if stress.truncate == Truncate::Once || (fixed && stress.truncate == Truncate::Always) {
        line.truncate()?;
    }
    match stress.rate {
        Rate::Threads { threads, .. } => {
            let (run, _) = line.one(threads)?;
            Ok(Stressed { runs: vec![run] })
        }
        Rate::Search { auto, least, most } => line.search(auto, least, most),
    }
}

fn interrupted() -> StressRunError {
    BenchError::from(ClusterError::from(ReadyError::Interrupted)).into()
}

impl Line<'_> {
    fn say(&mut self, text: impl Into<String>) {
        (self.events)(StressEvent::Say(text.into()));
    }

    /// Waits, unless the person stops it.
    fn sleep(&self, seconds: u64) -> Result<(), StressRunError> {
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until {
            if self.context.cancel.is_set() {
                return Err(interrupted());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Makes keyspaces and tables, where the line does and the cluster is ours.
    fn create(&mut self) -> Result<(), StressRunError> {
        if self.request.schema.is_empty() || !self.target.owned {
            return Ok(());
        }
        target::prepare(&self.target, &self.request.schema).map_err(BenchError::from)?;
        let hosts = self.request.hosts;
        self.say(match self.request.stress.command {
            Command::User { .. } => say::created_schema(hosts),
            _ => say::created(hosts),
        });
        self.sleep(self.request.hosts)
    }

    fn client(&self) -> Result<helenus_cql::Client, ClientError> {
        match (&self.target.cluster, &self.request.place) {
            (Some(state), _) => reach::connect(state, &state.plan.nodes[0], PATIENCE),
            (None, Where::Hosts { given, .. }) => {
                helenus_cql::Client::connect(self.target.endpoints[0], &given.options)
            }
            (None, _) => {
                helenus_cql::Client::connect(self.target.endpoints[0], &ConnectOptions::default())
            }
        }
    }

    /// Whether what is read or written is there: a bench would make standard1, cassandra-stress does not.
    fn tables_are_there(&mut self) -> Result<(), StressRunError> {
        let failed = |what: &str, source| StressRunError::Statement {
            what: what.to_owned(),
            source: Box::new(source),
        };
        let mut client = match self.target.kube {
            Some(_) => None,
            None => {
                let client = self.client();
                Some(client.map_err(|e| failed("cannot look at the tables", e))?)
            }
        };
        for (keyspace, table) in &self.request.tables {
            let text = |name: &str| name.replace('\'', "''");
            let query = format!(
                "SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{}' AND table_name = '{}'",
                text(keyspace),
                text(table)
            );
            let missing = match (&mut client, &self.target.kube) {
                (None, Some(kube)) => {
                    let answer = kube.cql(vec![query]).map_err(BenchError::from)?;
                    answer.answers.iter().all(|answer| answer.rows.is_empty())
                }
                (None, None) => false,
                (Some(client), _) => client
                    .query(&query, Level::One)
                    .map_err(|e| failed("cannot look at the tables", e))?
                    .is_empty(),
            };
            if missing {
                let plan = self.target.plan();
                return Err(StressRunError::NoTable {
                    table: format!("{keyspace}.{table}"),
                    cluster: plan.map_or_else(|| "the cluster".to_owned(), |p| p.name.clone()),
                });
            }
        }
        Ok(())
    }

    fn truncate(&mut self) -> Result<(), StressRunError> {
        if !self.target.owned {
            return Err(StressRunError::NotOurs {
                what: "truncate= of tables",
            });
        }
        let failed = |what: String, source| StressRunError::Statement {
            what,
            source: Box::new(source),
        };
        let statement = |(keyspace, table): &(String, String)| {
            format!("TRUNCATE {}.{}", identifier(keyspace), identifier(table))
        };
        if let Some(kube) = &self.target.kube {
            let all = self.request.tables.iter().map(statement).collect();
            kube.cql(all).map_err(BenchError::from)?;
        } else {
            let mut client = self
                .client()
                .map_err(|e| failed("cannot truncate".to_owned(), e))?;
            for named in &self.request.tables {
                let (keyspace, table) = named;
                client
                    .query(&statement(named), Level::One)
                    .map_err(|e| failed(format!("cannot truncate {keyspace}.{table}"), e))?;
            }
        }
        let text = say::truncated(&self.request.tables, self.request.hosts);
        self.say(text);
        self.sleep(self.request.hosts)
    }

    fn plan(&self, phase: Phase) -> RunPlan {
        let stress = &self.request.stress;
        let data_centre = self.data_centre();
        let (endpoints, endpoints_only) = self.target.doors(data_centre.as_deref());
        RunPlan {
            endpoints_only,
            local_data_centre: data_centre,
            credentials: self.target.access.credentials.clone(),
            tls: self.target.access.tls.clone(),
            consistency: self.level,
            sampling_interval_ms: stress.log.interval_ms,
            operation_timeout_ms: self.timeout_ms(),
            ..RunPlan::new(endpoints, self.request.workload.clone(), vec![phase], SEED)
        }
    }

    fn data_centre(&self) -> Option<String> {
        let asked = self.request.stress.node.datacenter.clone();
        asked.or_else(|| self.target.data_center.clone())
    }

    fn timeout_ms(&self) -> u64 {
        let asked = self.request.stress.mode.request_timeout_ms;
        asked.map_or(run_plan::OPERATION_TIMEOUT_MS, u64::from)
    }

    /// Operations that count nowhere: the nodes are warm then.
    fn warm_up(&mut self) -> Result<(), StressRunError> {
        let request = self.request;
        let phases = request.stress.warm_ups(request.hosts, &self.operations)?;
        let job = match &self.target.kube {
            Some(kube) if !phases.is_empty() => {
                let at = self.data_centre();
                let made = kube.generators(at.as_deref(), 1, &self.context.cancel);
                Some(made.map_err(BenchError::from)?)
            }
            _ => None,
        };
        if !phases.is_empty() {
            let reached = request
                .agents
                .open(&self.target.endpoints, &self.context.cancel);
            reached.map_err(BenchError::from)?;
        }
        for phase in phases {
            let name = phase.name.clone();
            self.say(say::warming(&name, phase.measured_operations()));
            let plan = self.plan(phase);
            let result = generator::result(
                Stand::of(self.context, self.target.cluster.as_ref(), job.as_ref())
                    .or_at(&request.agents),
                &plan,
                &self.context.cancel,
                &mut |_| Ok(()),
            );
            if self.context.cancel.is_set() {
                return Err(interrupted());
            }
            let result = result.map_err(BenchError::from)?;
            let ended = result.phases.first();
            let failed = ended.map_or(0, |p| self.counted(&p.total.failed));
            if failed > 0 && !request.stress.errors.ignore {
                let kind = ended.and_then(|p| FailureKind::most_frequent(&p.total.failed));
                let kind = kind.unwrap_or(FailureKind::Other);
                let first = ended.and_then(|p| p.first_failures.get(&kind));
                return Err(StressRunError::WarmUp {
                    phase: name,
                    failed,
                    kind,
                    why: first.cloned().unwrap_or_default(),
                });
            }
        }
        Ok(())
    }

    /// Failures that cassandra-stress would see, too.
    fn counted(&self, failed: &BTreeMap<FailureKind, u64>) -> u64 {
        let skip = self.request.stress.errors.skip_read_validation;
        let seen = failed.iter().filter(|(kind, _)| {
            !(skip && matches!(kind, FailureKind::WrongData | FailureKind::MissingRow))
        });
        seen.map(|(_, n)| n).sum()
    }

    /// One run.
    fn one(&mut self, threads: u32) -> Result<(StressRun, Table), StressRunError> {
        let request = self.request;
        let stress = &request.stress;
        let phase = stress.phase(threads, &self.operations)?;
        let shown = phase.shown.unwrap_or(Shown::Service);
        let described = stress.described(&self.operations);
        self.say(say::running(&described, threads, stress.until));
        (self.events)(StressEvent::Run(threads));
        self.say(header());
        let bench = self.bench(phase);
        let mut table = Table::new(shown);
        let mut gathered = Gathered::new(&self.operations);
        let events = &mut self.events;
        let finished = bench::run(self.context, &bench, &mut |event| {
            match &event {
                LabEvent::Seen(readings) => gathered.see(readings),
                LabEvent::Interval { interval, .. } => {
                    let operations = gathered.named(interval);
                    let rows = table.rows(&Slice {
                        operations: &operations,
                        start_ns: interval.start_ns,
                        end_ns: interval.end_ns,
                        collections: gathered.take(),
                    });
                    events(StressEvent::Rows {
                        rows: &rows,
                        interval,
                        operations: &operations,
                    });
                }
                _ => {}
            }
            // Whose cluster it is was reported when the line began.
            if !matches!(event, LabEvent::Foreign(_)) {
                events(StressEvent::Lab(event));
            }
        })?;
        let failed = finished
            .result
            .phases
            .first()
            .map_or(0, |p| self.counted(&p.total.failed));
        let success = stress.errors.ignore || failed == 0;
        if success {
            let summary = table.summary();
            (self.events)(StressEvent::Ran { summary });
        }
        let run = StressRun {
            threads,
            success,
            found_nothing: self.found_nothing(&finished),
            finished,
        };
        Ok((run, table))
    }

    /// Queries that found no row, by the names that are shown.
    fn found_nothing(&self, finished: &Finished) -> BTreeMap<String, (u64, u64)> {
        let Some(phase) = finished.result.phases.first() else {
            return BTreeMap::new();
        };
        let all = self.operations.iter().filter(|one| one.may_find_nothing);
        let counts = all.filter_map(|one| {
            let total = phase.operations.get(&one.operation)?;
            let nothing = total.completed.saturating_sub(total.partitions);
            (nothing > 0).then(|| (one.shown.clone(), (nothing, total.completed)))
        });
        counts.collect()
    }

    fn bench(&self, phase: Phase) -> BenchRequest {
        let request = self.request;
        let load = Load::of(phase.rate_per_s);
        let what = (request.workload.clone(), Shape::Phases(vec![phase]), load);
        BenchRequest {
            consistency: self.level,
            client_dc: request.stress.node.datacenter.clone(),
            must_be_served: false,
            max_errors: if request.stress.errors.ignore {
                1.0
            } else {
                0.001
            },
            sampling_interval_ms: request.stress.log.interval_ms,
            operation_timeout_ms: self.timeout_ms(),
            processes: request.processes,
            agents: request.agents.clone(),
            tag: request.tag.clone(),
            command: request.command.clone(),
            version: request.version.clone(),
            ..BenchRequest::new(request.place.clone(), what, SEED)
        }
    }

    /// Ever more threads, until nothing is gained or the most are reached.
    fn search(&mut self, auto: bool, least: u32, most: u32) -> Result<Stressed, StressRunError> {
        let stress = &self.request.stress;
        self.say(say::SEARCH);
        let target = match stress.until {
            Until::Error { below, .. } => {
                self.say(say::UNEVEN);
                below
            }
            Until::Count(_) | Until::Time { .. } => -1.0,
        };
        let mut stressed = Stressed::default();
        let mut tables: Vec<(String, Table)> = Vec::new();
        let mut threads = least;
        loop {
            self.say("");
            self.say(say::running_with(threads));
            if stress.truncate == Truncate::Always {
                self.truncate()?;
            }
            let (run, table) = self.one(threads)?;
            let ended = !run.success || run.finished.interrupted;
            let before = stressed.runs.last().map(|run| run.threads);
            stressed.runs.push(run);
            if ended {
                return Ok(stressed);
            }
            tables.push((say::run_id(threads), table));
            let rates: Vec<f64> = tables.iter().map(|(_, table)| table.rate()).collect();
            if let Some(before) = before {
                self.say(say::gained(before, &rates));
            }
            threads = next_threads(threads);
            if threads > most || !goes_on(&rates, auto, target) {
                break;
            }
            if stress.command.writes() {
                self.say(say::PAUSE);
                self.sleep(15)?;
            }
        }
        for line in comparison(&tables) {
            self.say(line);
        }
        Ok(stressed)
    }
}

/// What was seen of collections since the last row, and the operations by their shown names.
struct Gathered {
    names: BTreeMap<String, String>,
    collections: Collections,
}

impl Gathered {
    fn new(operations: &[Named]) -> Self {
        let names = operations.iter();
        Self {
            names: names
                .map(|named| (named.operation.clone(), named.shown.clone()))
                .collect(),
            collections: Collections::default(),
        }
    }

    fn see(&mut self, readings: &[Reading]) {
        for reading in readings {
            if let Seen::Event(event) = &reading.seen
                && event.what == EventKind::Collection
            {
                let ns = event.to_ns.saturating_sub(reading.at_ns);
                self.collections
                    .add(Duration::from_nanos(ns).as_secs_f64() * 1e3, 0);
            }
        }
    }

    fn take(&mut self) -> Collections {
        std::mem::take(&mut self.collections)
    }

    fn named(&self, interval: &Interval) -> BTreeMap<String, OperationInterval> {
        let each = interval.operations.iter();
        each.map(|(name, one)| {
            let shown = self.names.get(name).unwrap_or(name);
            (shown.clone(), one.clone())
        })
        .collect()
    }
}
