//! The generator as a child process: plan on its standard input, sample lines on its standard output.
//! Refuses to let it outlive us: it is leashed, and it stops when nobody reads.

mod agents;
mod several;

pub use agents::{Agents, AgentsError};

use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::kube::KubeJob;
use helenus_cluster::reach;
use helenus_cluster::state::ClusterState;
use helenus_cql::input;
use helenus_model::access::Access;
use helenus_model::agent::GeneratorSeen;
use helenus_model::network::client_of;
use helenus_model::result::{Beside, RunResult};
use helenus_model::run_plan::{Phase, RunPlan, SecretReference};
use helenus_model::sample::SampleLine;
use helenus_model::samples::{Accumulator, Lost, ReadError, SampleReader};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// Why a generator could not be used.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// It could not be started.
    #[error("cannot start the load generator")]
    Start(#[source] std::io::Error),
    /// Its lines could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The secret could not be read.
    #[error("cannot read the password from {0}")]
    Secret(String),
    /// A certificate or its key could not be read.
    #[error("cannot read {0}, which the generators need for TLS")]
    Certificate(String),
    /// One elsewhere cannot be worked with.
    #[error(transparent)]
    Elsewhere(#[from] ClusterError),
}

/// Where generators stand.
#[derive(Debug, Clone, Copy)]
pub enum Stand<'a> {
    /// On this machine: processes, which reach a cluster of ours in its own network, or addresses of others.
    Here {
        /// This very binary.
        helenus: &'a Path,
        /// The cluster, where it is ours.
        cluster: Option<&'a ClusterState>,
    },
    /// In pods beside the nodes, one each.
    Pods(&'a KubeJob),
    /// At load agents, one each; they were opened before.
    Agents(&'a Agents),
}

impl<'a> Stand<'a> {
    /// In the pods of a Job where there is one, else here.
    pub fn of(
        context: &'a Context,
        cluster: Option<&'a ClusterState>,
        job: Option<&'a KubeJob>,
    ) -> Self {
        match job {
            Some(job) => Self::Pods(job),
            None => Self::Here {
                helenus: &context.helenus,
                cluster,
            },
        }
    }

    /// The same at agents, where there are any.
    #[must_use]
    pub fn or_at(self, agents: &'a Agents) -> Self {
        match agents.is_empty() {
            true => self,
            false => Self::Agents(agents),
        }
    }

    /// Name of a generator that is not here.
    fn name(&self, place: usize) -> String {
        let found = match self {
            Self::Here { .. } => None,
            Self::Pods(job) => job.generators().get(place).map(|one| one.pod.clone()),
            Self::Agents(agents) => agents.names().into_iter().nth(place),
        };
        found.unwrap_or_default()
    }
}

/// What became of the generators of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ended {
    /// Those that ended before it did, while the others went on.
    pub lost: Vec<LostGenerator>,
    /// Those that were not here.
    pub seen: Vec<GeneratorSeen>,
}

/// A generator that ended before the run did, while the others went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostGenerator {
    /// Which, and when.
    pub lost: Lost,
    /// Why, as far as that can be seen.
    pub why: String,
}

/// Runs a plan against a cluster of ours, or addresses of others, and hands each line to `take` as it comes; returns when the
/// generator has ended.
///
/// When the person asks to stop, the generator is asked to stop, and its last lines still come. Of generators elsewhere some
/// may end early: those are reported, and the others continue.
///
/// # Errors
/// It cannot be started or read.
pub fn run(
    stand: Stand<'_>,
    plan: &RunPlan,
    cancel: &Cancel,
    take: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
) -> Result<Ended, GeneratorError> {
    search(stand, plan, cancel, &mut |line| take(line).map(|()| None))
}

/// As [`run`], of a plan whose search finds further phases: what `take` returns after the last phase's end is run next;
/// where it returns none, the run is over. One process of this machine does it.
///
/// # Errors
/// As [`run`].
pub fn search(
    stand: Stand<'_>,
    plan: &RunPlan,
    cancel: &Cancel,
    take: &mut dyn FnMut(&SampleLine) -> Result<Option<Phase>, ReadError>,
) -> Result<Ended, GeneratorError> {
    let (helenus, cluster) = match stand {
        Stand::Here { helenus, cluster } if plan.processes == 1 => (helenus, cluster),
        _ => return several::run(stand, plan, cancel, &mut |line| take(line).map(drop)),
    };
    let (mut child, input) = start(helenus, cluster, plan)?;
    // Without a search it has its plan, and nothing more is sent.
    let mut input = input.filter(|_| plan.search.is_some());
    let result = read(&mut child, cancel, &mut |line| {
        let next = take(line)?;
        let is_end =
            matches!(line, SampleLine::PhaseEnd(end) if end.phase + 1 >= plan.phases.len());
        match (&mut input, next) {
            (Some(to), Some(phase)) if is_end && !cancel.is_set() => {
                let mut text = serde_json::to_vec(&phase).map_err(std::io::Error::from)?;
                text.push(b'\n');
                // One that died says so on its standard output.
                let _read_later = to.write_all(&text);
            }
            _ if is_end => input = None,
            _ => {}
        }
        Ok(())
    });
    if result.is_err() {
        let _already_gone = child.kill();
    }
    let _status = child.wait();
    result.map(|()| Ended::default())
}

/// As [`run`], for a plan whose result is all that is wanted of it: nothing is looked at beside it, nothing stored.
///
/// # Errors
/// As [`run`], or its lines make no result.
pub fn result(
    stand: Stand<'_>,
    plan: &RunPlan,
    cancel: &Cancel,
    see: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
) -> Result<RunResult, GeneratorError> {
    let mut accumulator = Accumulator::new(plan.clone());
    run(stand, plan, cancel, &mut |line| {
        see(line)?;
        accumulator.take(line)
    })?;
    Ok(accumulator.finish(&|_, _| Beside::default())?)
}

/// Lines of a running generator.
fn read(
    child: &mut Child,
    cancel: &Cancel,
    take: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
) -> Result<(), GeneratorError> {
    let Some(output) = child.stdout.take() else {
        return Ok(());
    };
    let mut interrupted = false;
    for line in SampleReader::new(BufReader::new(output)) {
        take(&line?)?;
        if cancel.is_set() && !interrupted {
            interrupted = true;
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let _already_gone = pid.map(|pid| kill_process(pid, Signal::INT));
        }
    }
    Ok(())
}

/// The process, with its standard input after the plan.
fn start(
    helenus: &Path,
    cluster: Option<&ClusterState>,
    plan: &RunPlan,
) -> Result<(Child, Option<ChildStdin>), GeneratorError> {
    let secrets = secrets(plan)?;
    let data_center = plan.local_data_centre.as_deref();
    let mut command = standing(helenus, cluster, data_center).map_err(GeneratorError::Start)?;
    command
        .arg("__load")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(secrets) = &secrets {
        command
            .arg("--secrets")
            .arg(secrets.as_raw_fd().to_string());
    }
    let mut child = command.spawn().map_err(GeneratorError::Start)?;
    drop(secrets);
    let mut text = serde_json::to_vec(plan).map_err(|e| GeneratorError::Start(e.into()))?;
    text.push(b'\n');
    let mut input = child.stdin.take();
    if let Some(input) = &mut input {
        // A generator that died at once says why on its standard output.
        let _read_later = input.write_all(&text);
    }
    Ok((child, input))
}

/// The values of the plan's references, by their names: files of this machine are not there.
fn values(plan: &RunPlan) -> Result<BTreeMap<String, String>, GeneratorError> {
    let mut values = BTreeMap::new();
    if let Some(tls) = &plan.tls {
        let client = tls.client.iter();
        let files = client.flat_map(|client| [&client.certificate, &client.key]);
        for path in files.chain([&tls.ca]) {
            let text = input::text(Path::new(path));
            let text = text.map_err(|_| GeneratorError::Certificate(path.clone()))?;
            values.insert(path.clone(), text);
        }
    }
    let Some(credentials) = &plan.credentials else {
        return Ok(values);
    };
    let (SecretReference::Variable(name) | SecretReference::File(name)) = &credentials.password;
    let access = Access {
        credentials: plan.credentials.clone(),
        tls: None,
    };
    let options = reach::options(&access, Duration::from_secs(1));
    let found = options.ok().and_then(|options| options.credentials);
    let found = found.ok_or_else(|| GeneratorError::Secret(name.clone()))?;
    let value = found.password.expose().to_owned();
    values.insert(name.clone(), value);
    Ok(values)
}

/// The generator where it reaches the nodes: of a cluster with a network of its own, where a client of that data centre
/// stands (of the first one where none is named). From anywhere else those addresses are somebody else's.
fn standing(
    helenus: &Path,
    cluster: Option<&ClusterState>,
    data_center: Option<&str>,
) -> std::io::Result<Command> {
    let Some(state) = cluster else {
        return Ok(Command::new(helenus));
    };
    let first = state.plan.nodes.first();
    let first = first.map_or("", |node| node.data_center.as_str());
    reach::command(state, &client_of(data_center.unwrap_or(first)), helenus)
}

/// The values of the plan's references, on a descriptor that the child inherits; never in argv or environment.
fn secrets(plan: &RunPlan) -> Result<Option<OwnedFd>, GeneratorError> {
    let Some(credentials) = &plan.credentials else {
        return Ok(None);
    };
    let (name, value) = match &credentials.password {
        SecretReference::Variable(name) => (name, std::env::var(name).ok()),
        // The generator checks mode and owner of a file itself.
        SecretReference::File(_) => return Ok(None),
    };
    let value = value.ok_or_else(|| GeneratorError::Secret(format!("the variable {name}")))?;
    let json = serde_json::json!({ name: value }).to_string();
    let io = |e: rustix::io::Errno| GeneratorError::Start(e.into());
    let (reader, writer) = rustix::pipe::pipe().map_err(io)?;
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::CLOEXEC).map_err(io)?;
    rustix::io::write(&writer, json.as_bytes()).map_err(io)?;
    Ok(Some(reader))
}
