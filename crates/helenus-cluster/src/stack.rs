//! A developer's stack: Reaper, Medusa, metrics and Prometheus beside the nodes of a cluster, in the cluster's folder.
//! Refuses to be what they are: it starts them, asks them by their own interfaces, and says what they answer.

mod error;
mod jmx;
mod medusa;
mod process;
mod reaper;
mod tables;

pub use error::StackError;
pub use medusa::{
    Backup, MedusaEvent, Restore, SavedTable, backup, backup_named, backups, restore, verify,
};
pub use process::Programs;
pub use reaper::{look_runs, start_runs};
pub use tables::{Compared, Side, compare};

use crate::alive;
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::{Event, PartEvent};
use crate::lifecycle::UpRequest;
use crate::observe::{self, Memory, NodeView};
use crate::remove::{self, BESIDE};
use crate::state::{ClusterState, NodeCondition};
use crate::stored::{self, ReadError};
use fs_err as fs;
use helenus_model::access::Security;
use helenus_model::network::NetworkPlan;
use helenus_model::stack::{Gateway, Part, STACK_VERSION, Stack};
use serde::Serialize;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is kept of a stack.
const FILE: &str = "stack.json";

/// How long somebody else's gateway may take to accept a connection.
const GATEWAY_WITHIN: Duration = Duration::from_secs(2);

/// How a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    /// It answers.
    Up,
    /// Its process lives, and gives no answer, or a wrong one.
    Silent,
    /// It has no process.
    Down,
    /// It is a program that runs when it is called, and it is there.
    Installed,
    /// Such a program is not there.
    Missing,
}

impl PartState {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Silent => "silent",
            Self::Down => "down",
            Self::Installed => "installed",
            Self::Missing => "missing",
        }
    }

    /// Whether it is up or installed.
    pub fn is_well(self) -> bool {
        matches!(self, Self::Up | Self::Installed)
    }
}

/// One line of a stack's status: a node, the gateway or a part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartView {
    /// `node1`, `reaper` ….
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// How it is.
    pub state: PartState,
    /// Its process.
    pub pid: Option<i32>,
    /// Where it is reached.
    pub at: Option<String>,
    /// Its memory in bytes, pages shared with others in parts.
    pub memory_bytes: Option<u64>,
    /// What is wrong, or worth knowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The folder of a cluster's stack.
pub(crate) fn folder(cluster: &Path) -> PathBuf {
    cluster.join(BESIDE)
}

/// The folder of one part.
pub(crate) fn folder_of(cluster: &Path, part: Part) -> PathBuf {
    folder(cluster).join(part.as_str())
}

/// The stack of a cluster; none where it has none.
///
/// # Errors
/// Its file cannot be read.
pub fn find(state: &ClusterState) -> Result<Option<Stack>, ClusterError> {
    let file = folder(Path::new(&state.plan.folder)).join(FILE);
    stored::find(&file, "stack", STACK_VERSION).map_err(unreadable)
}

fn unreadable(error: ReadError) -> ClusterError {
    match error {
        ReadError::Io(error) => ClusterError::io("the stack's state")(error),
        ReadError::Json(error) => StackError::Unreadable(error).into(),
        ReadError::Format(error) => StackError::Version(error).into(),
    }
}

/// The stack of a cluster.
///
/// # Errors
/// It has none, or its file cannot be read.
pub fn load(state: &ClusterState) -> Result<Stack, ClusterError> {
    let none = || StackError::None {
        cluster: state.plan.name.clone(),
    };
    Ok(find(state)?.ok_or_else(none)?)
}

/// Writes what is kept of a stack, in one step.
fn save(cluster: &Path, stack: &Stack) -> std::io::Result<()> {
    let folder = folder(cluster);
    fs::create_dir_all(&folder)?;
    stored::write(&folder.join(FILE), stack)
}

/// What cannot be had with a stack: its parts know no passwords and no certificates, and stand where the nodes are.
///
/// # Errors
/// The first of them.
pub fn may(security: Security, network: Option<&NetworkPlan>) -> Result<(), StackError> {
    let what = match (security.auth, security.tls, network) {
        (true, _, _) => "--auth",
        (_, true, _) => "--tls",
        (_, _, Some(_)) => "distance between data centres",
        (false, false, None) => return Ok(()),
    };
    Err(StackError::Unsupported { what })
}

/// Brings up a cluster as it is asked for, with the parts of a stack that are wanted beside its nodes.
///
/// # Errors
/// As [`Context::up`] and [`up`], and a program that cannot be had: that is said before anything starts.
pub fn up_all(
    context: &Context,
    request: &UpRequest,
    events: &mut dyn FnMut(Event),
) -> Result<ClusterState, ClusterError> {
    let Some(wanted) = &request.stack else {
        return context.up(request, events);
    };
    let planned = context.dry_run(request)?;
    may(planned.security, planned.network.as_ref())?;
    let programs = Programs::provide(context, wanted, events)?;
    let state = context.up(request, events)?;
    let address = state.plan.nodes[0].address;
    let stack = Stack::new(&request.spec.name, address, wanted.clone());
    match up(context, &state, &stack, &programs, events) {
        Ok(()) => Ok(state),
        Err(error) => {
            // As of `up`: what was interrupted leaves nothing.
            if context.cancel.is_set() {
                remove::remove(context, &request.spec.name)?;
            }
            Err(error)
        }
    }
}

/// Brings up what is not there of a stack beside a cluster that runs; what lives stays.
///
/// # Errors
/// A part does not start or does not answer, or Reaper does not take the cluster.
pub fn up(
    context: &Context,
    state: &ClusterState,
    stack: &Stack,
    programs: &Programs,
    events: &mut dyn FnMut(Event),
) -> Result<(), ClusterError> {
    may(state.plan.security, state.plan.network.as_ref())?;
    let cluster = Path::new(&state.plan.folder);
    // Written first: `rm` and `status` find what was started, whatever happens next.
    save(cluster, stack).map_err(ClusterError::io("the stack's folder"))?;
    let password = match stack.has(Part::Reaper) {
        true => Some(jmx::open_all(state)?),
        false => None,
    };
    let mut started = Vec::new();
    for part in &stack.request.parts {
        if part.port().is_none() || process::holder(cluster, *part)?.is_some() {
            continue;
        }
        let fresh = process::start(
            context,
            (state, stack),
            *part,
            programs,
            password.as_deref(),
        )?;
        events(Event::Part(PartEvent::Started(*part)));
        started.push(fresh);
    }
    let of = started.len();
    for (done, one) in (1..).zip(started) {
        let part = one.part;
        process::wait(one, stack, &context.cancel)?;
        events(Event::Part(PartEvent::Ready { part, done, of }));
    }
    if stack.has(Part::Reaper) {
        events(Event::Part(PartEvent::Registering));
        reaper::register(stack, state)?;
    }
    if stack.has(Part::Moto) {
        medusa::make_bucket(stack)?;
    }
    Ok(())
}

/// Each node, the gateway and each part, as they are now.
///
/// # Errors
/// A claim cannot be asked.
pub fn look(
    context: &Context,
    state: &ClusterState,
    stack: &Stack,
) -> Result<Vec<PartView>, ClusterError> {
    let nodes = observe::nodes(state).map_err(ClusterError::io("the node's claim"))?;
    let mut views: Vec<PartView> = nodes.iter().map(|node| node_view(state, node)).collect();
    if let Gateway::At(address) = stack.request.gateway {
        let answers = TcpStream::connect_timeout(&address, GATEWAY_WITHIN).is_ok();
        views.push(PartView {
            name: "gateway".to_owned(),
            purpose: "a gateway of yours".to_owned(),
            state: if answers {
                PartState::Up
            } else {
                PartState::Down
            },
            pid: None,
            at: Some(address.to_string()),
            memory_bytes: None,
            note: None,
        });
    }
    for part in &stack.request.parts {
        views.push(part_view(context, state, stack, *part)?);
    }
    Ok(views)
}

fn node_view(state: &ClusterState, node: &NodeView) -> PartView {
    let coordinates = state
        .plan
        .nodes
        .iter()
        .any(|plan| plan.name == node.name && plan.coordinator);
    let (state, note) = match node.condition {
        NodeCondition::Running => (PartState::Up, None),
        NodeCondition::Paused => (PartState::Silent, Some("it is paused".to_owned())),
        _ => (PartState::Down, None),
    };
    PartView {
        name: node.name.clone(),
        purpose: if coordinates { "gateway" } else { "Cassandra" }.to_owned(),
        state,
        pid: node.pid,
        at: Some(format!("{}:{}", node.address, node.cql_port)),
        memory_bytes: node.memory.map(|memory| memory.pss_bytes),
        note,
    }
}

fn part_view(
    context: &Context,
    state: &ClusterState,
    stack: &Stack,
    part: Part,
) -> Result<PartView, ClusterError> {
    let cluster = Path::new(&state.plan.folder);
    let mut view = PartView {
        name: part.as_str().to_owned(),
        purpose: part.purpose().to_owned(),
        state: PartState::Down,
        pid: None,
        at: stack
            .url(part)
            .or_else(|| stack.at(part).map(|at| at.to_string())),
        memory_bytes: None,
        note: None,
    };
    if part == Part::Medusa {
        let kept = backups(state)?.len();
        view.state = match process::medusa(context) {
            Some(_) => PartState::Installed,
            None => PartState::Missing,
        };
        view.note = (kept > 0).then(|| format!("backups: {kept}"));
        return Ok(view);
    }
    let Some(pid) = process::holder(cluster, part)? else {
        return Ok(view);
    };
    view.pid = Some(pid);
    let memory: Option<Memory> = observe::memory(pid);
    view.memory_bytes = memory.map(|memory| memory.pss_bytes);
    view.state = match process::answers(stack, part, pid) {
        true => PartState::Up,
        false => PartState::Silent,
    };
    if part == Part::Reaper && view.state == PartState::Up {
        view.note = reaper::blind(stack, state);
        if view.note.is_some() {
            view.state = PartState::Silent;
        }
    }
    Ok(view)
}

/// The process that holds a folder's claim.
fn claimed(folder: &Path) -> Result<Option<i32>, ClusterError> {
    let holder = alive::holder(folder).map_err(ClusterError::io("the part's claim"))?;
    Ok(holder.map(rustix::process::Pid::as_raw_pid))
}
