//! The body of the generator's process: a plan comes in, sample lines go out.
//! Refuses to outlive its reader, and to hide how far it got: a stopped run still writes its footer.

use crate::endpoint::{Endpoint, EndpointError};
use crate::engine;
use crate::ledger::{Ledger, OpenError};
use crate::output::Output;
use crate::secrets::{SecretError, Secrets};
use crate::stop::{Stop, StopReason};
use crate::sys;
use crate::trust::{self, TrustError};
use crate::wire::Wire;
use helenus_model::format::Format;
use helenus_model::machine::Cpus;
use helenus_model::run_plan::{Phase, PlanError, RunPlan};
use helenus_model::sample::{self, Failure, Footer, Header, SampleLine, Stage, StartMeans};
use helenus_model::workload::data_seed;
use helenus_model::workload::user_statements::Unchecked;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

/// How the generator's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeEnd {
    /// Every phase ran to its end.
    Done,
    /// A signal stopped it, or its samples were no longer read.
    Stopped,
    /// It could not continue.
    Failed(Stage),
}

impl ServeEnd {
    /// The process' exit code: 0 done, 130 stopped, 2 for a plan, 3 for the world around it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Stopped => 130,
            Self::Failed(Stage::Plan | Stage::Secret) => 2,
            Self::Failed(Stage::Connect | Stage::Prepare | Stage::Run) => 3,
        }
    }
}

/// Why the generator could not continue.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error("cannot read the plan")]
    Read(#[source] std::io::Error),
    #[error("the plan is not valid JSON of a run plan")]
    Json(#[source] serde_json::Error),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("the load generator cannot run on processors {cpus}")]
    Pin { cpus: Cpus, source: std::io::Error },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error(transparent)]
    Ledger(#[from] OpenError),
    #[error("the generator's own machinery failed")]
    Machinery(#[source] std::io::Error),
}

impl ServeError {
    fn stage(&self) -> Stage {
        match self {
            Self::Read(_) | Self::Json(_) | Self::Plan(_) | Self::Pin { .. } => Stage::Plan,
            Self::Ledger(OpenError::Subject(_) | OpenError::Head(_)) => Stage::Plan,
            Self::Secret(_) | Self::Trust(_) => Stage::Secret,
            Self::Endpoint(EndpointError::Connect { .. } | EndpointError::Lost { .. }) => {
                Stage::Connect
            }
            Self::Endpoint(_) => Stage::Prepare,
            Self::Machinery(_) | Self::Ledger(OpenError::File { .. }) => Stage::Run,
        }
    }

    fn line(&self) -> SampleLine {
        let mut causes = Vec::new();
        let mut cause = std::error::Error::source(self);
        while let Some(inner) = cause {
            causes.push(inner.to_string());
            cause = inner.source();
        }
        SampleLine::Failure(Failure {
            stage: self.stage(),
            message: self.to_string(),
            causes,
        })
    }
}

/// Runs the plan on the first line of `input` (or all of it) and writes sample lines to `output`.
///
/// SIGINT and SIGTERM, or `output`'s reader going away, stop it at once. It sets the calling thread's timer
/// slack and, where the plan allows, its priority; the process is thought to do nothing else.
pub fn serve(input: impl Read, output: impl Write + Send + 'static, secrets: &Secrets) -> ServeEnd {
    let stop = Arc::new(Stop::default());
    let lines = Output::start(output, Arc::clone(&stop));
    let mut input = BufReader::new(input);
    let end = read_plan(&mut input)
        .and_then(|plan| run_on_cluster(&plan, secrets, &lines, (&stop, &mut input)));
    finish(end, lines)
}

/// As [`serve`], for a plan at hand and any endpoint: what tests drive with a fake one.
pub fn serve_endpoint<E: Endpoint>(
    plan: &RunPlan,
    endpoint: E,
    output: impl Write + Send + 'static,
) -> ServeEnd {
    let stop = Arc::new(Stop::default());
    let lines = Output::start(output, Arc::clone(&stop));
    let end = plan
        .check()
        .map_err(ServeError::from)
        .and_then(|()| run(plan, endpoint, &lines, (&stop, &mut std::io::empty())));
    finish(end, lines)
}

fn finish(end: Result<ServeEnd, ServeError>, lines: Output) -> ServeEnd {
    let end = end.unwrap_or_else(|error| {
        lines.send(error.line());
        ServeEnd::Failed(error.stage())
    });
    lines.finish();
    end
}

fn read_plan(input: &mut impl BufRead) -> Result<RunPlan, ServeError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(ServeError::Read)?;
    let plan: RunPlan = serde_json::from_str(&line).map_err(ServeError::Json)?;
    plan.check()?;
    Ok(plan)
}

fn run_on_cluster(
    plan: &RunPlan,
    secrets: &Secrets,
    lines: &Output,
    (stop, moments): (&Arc<Stop>, &mut dyn BufRead),
) -> Result<ServeEnd, ServeError> {
    if let Some(cpus) = &plan.cpus {
        sys::pin(cpus).map_err(|source| ServeError::Pin {
            cpus: cpus.clone(),
            source,
        })?;
    }
    stop.watch_signals().map_err(ServeError::Machinery)?;
    let password = match &plan.credentials {
        None => None,
        Some(credentials) => Some(secrets.value(&credentials.password)?),
    };
    let tls = plan.tls.as_ref().map(|tls| trust::tls(tls, secrets));
    match Wire::connect(plan, password, tls.transpose()?, stop)? {
        None => Ok(ServeEnd::Stopped),
        Some(wire) => run(plan, wire, lines, (stop, moments)),
    }
}

fn run<E: Endpoint>(
    plan: &RunPlan,
    mut endpoint: E,
    lines: &Output,
    (stop, moments): (&Arc<Stop>, &mut dyn BufRead),
) -> Result<ServeEnd, ServeError> {
    let shares = plan.phases.iter().flat_map(|phase| &phase.operations);
    let used = shares.map(|share| share.operation.clone()).collect();
    endpoint.prepare(&plan.workload, &used, data_seed(plan.seed))?;
    if stop.reason().is_some() {
        return Ok(ServeEnd::Stopped);
    }
    let ledger = plan.ledger.as_ref();
    let ledger = ledger.map(|at| Ledger::create(plan, at, stop));
    let ledger = ledger.transpose()?;
    lines.send(header(plan, endpoint.unchecked()));
    let mut plan = plan.clone();
    let mut at = 0;
    loop {
        if at == plan.phases.len() {
            match further(&plan, moments)? {
                Some(phase) => plan.phases.push(phase),
                None => break,
            }
        }
        let begins_ns = match plan.process {
            None => None,
            Some(_) => match moment(moments)? {
                Some(moment) => Some(moment),
                None => {
                    stop.raise(StopReason::Signal);
                    break;
                }
            },
        };
        let end = engine::run_phase(
            &plan,
            (at, begins_ns),
            &mut endpoint,
            ledger.as_ref(),
            lines,
            stop,
        )
        .map_err(ServeError::Machinery)?;
        lines.send(SampleLine::PhaseEnd(end));
        at += 1;
        if stop.reason().is_some() {
            break;
        }
    }
    if let Some(ledger) = &ledger {
        ledger.finish()?;
    }
    lines.send(SampleLine::Footer(footer()));
    Ok(match stop.reason() {
        None => ServeEnd::Done,
        Some(_) => ServeEnd::Stopped,
    })
}

/// The moment at which all of several processes start a phase, in nanoseconds of the monotonic clock; none where nobody
/// will say it any more. There is nothing else to do until it is known.
fn moment(from: &mut dyn BufRead) -> Result<Option<u64>, ServeError> {
    let mut line = String::new();
    from.read_line(&mut line).map_err(ServeError::Read)?;
    Ok(line.trim().parse().ok())
}

/// The phase that was found from those before it, a line of JSON; none where these were all.
fn further(plan: &RunPlan, from: &mut dyn BufRead) -> Result<Option<Phase>, ServeError> {
    if plan.search.is_none() {
        return Ok(None);
    }
    let mut line = String::new();
    from.read_line(&mut line).map_err(ServeError::Read)?;
    if line.trim().is_empty() {
        return Ok(None);
    }
    let phase: Phase = serde_json::from_str(&line).map_err(ServeError::Json)?;
    phase.check(&plan.workload)?;
    Ok(Some(phase))
}

fn header(plan: &RunPlan, unchecked: Vec<Unchecked>) -> SampleLine {
    SampleLine::Header(Header {
        format: Format::new("sample", sample::VERSION),
        plan_hash: plan.hash(),
        monotonic_ns: sys::monotonic_ns(),
        wall_ns: sys::wall_ns(),
        start_means: StartMeans::Socket,
        pacing: plan.pacing,
        timer_resolution_ns: sys::timer_resolution_ns(),
        pid: std::process::id(),
        cpus: sys::cpus(),
        beside: vec![],
        unchecked,
    })
}

/// What this process used so far.
pub fn footer() -> Footer {
    let used = sys::usage();
    Footer {
        user_cpu_us: used.user_cpu_us,
        system_cpu_us: used.system_cpu_us,
        max_rss_bytes: used.max_rss_bytes,
        voluntary_switches: used.voluntary_switches,
        involuntary_switches: used.involuntary_switches,
        monotonic_ns: sys::monotonic_ns(),
        wall_ns: sys::wall_ns(),
    }
}
