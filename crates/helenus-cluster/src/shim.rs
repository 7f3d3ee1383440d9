//! The launch shim: the hidden verb that becomes `java`. Single-threaded, it prepares the process and `exec`s.
//! Refuses to start what is already alive, removed, or abandoned by the one who asked.

use crate::alive;
use crate::net::client::Keeper;
use crate::process::end_with;
use fs_err as fs;
use helenus_model::plan::Pin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the shim shall become; a file in the node's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Program.
    pub program: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Node's folder; working directory and place of the claim.
    pub folder: PathBuf,
    /// The parent whose end shall be the node's end; none for a node that outlives the command.
    pub leash: Option<i32>,
    /// Whether the node may lock its memory (stock) or not (small nodes: mlockall costs 160 MB).
    pub lock_memory: bool,
    /// How late the kernel may wake its threads, in microseconds; unset leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_slack_us: Option<u64>,
    /// Processors and NUMA nodes that it may use; all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// Control groups that the node belongs to.
    #[serde(default)]
    pub cgroups: Vec<PathBuf>,
    /// Folder of the cluster and namespace of its network, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<(PathBuf, String)>,
}

/// Name of the launch file in a node's folder.
pub const LAUNCH_FILE: &str = "launch.json";

/// Becomes the node; returns only on failure.
///
/// # Errors
/// The claim is held, the folder is gone, the parent is gone, or `exec` fails.
pub fn run(launch_file: &Path) -> io::Result<Infallible> {
    let text = fs::read_to_string(launch_file)?;
    let launch: Launch = serde_json::from_str(&text).map_err(io::Error::other)?;
    if let Some(parent) = launch.leash {
        end_with(parent)?;
    }
    // First of all: until it is taken, nobody can know that this node is about to live.
    let claim = alive::take(&launch.folder)?;
    // A session of its own: Ctrl-C in the terminal reaches helenus, which decides.
    rustix::process::setsid()?;
    if !launch.lock_memory {
        drop_ipc_lock();
    }
    // Inherited by every thread, and kept through exec.
    if let Some(slack) = launch
        .timer_slack_us
        .and_then(|us| NonZeroU64::new(us * 1000))
    {
        rustix::thread::set_current_timer_slack(Some(slack))?;
    }
    if let Some(pin) = &launch.pin {
        crate::pin::pin(pin)?;
    }
    if let Some((cluster, space)) = &launch.network {
        let keeper = Keeper::call(cluster).map_err(io::Error::other)?;
        keeper.enter(space).map_err(io::Error::other)?;
    }
    crate::limits::join(&launch.cgroups)?;
    let error = Command::new(&launch.program)
        .args(&launch.argv)
        .env_clear()
        .envs(&launch.environment)
        .current_dir(&launch.folder)
        .exec();
    drop(claim);
    Err(error)
}

/// Becomes a tool that ends with the one who started it; returns only on failure.
///
/// # Errors
/// The parent is gone, or `exec` fails.
pub fn leashed(parent: i32, program: &Path, arguments: &[OsString]) -> io::Result<Infallible> {
    end_with(parent)?;
    Err(Command::new(program).args(arguments).exec())
}

/// Becomes a program that stands in a namespace of a cluster's network; returns only on failure.
///
/// # Errors
/// The network is gone, has no such namespace, or `exec` fails.
pub fn within(
    cluster: &Path,
    space: &str,
    program: &OsString,
    arguments: &[OsString],
) -> io::Result<Infallible> {
    let keeper = Keeper::call(cluster).map_err(io::Error::other)?;
    keeper.enter(space).map_err(io::Error::other)?;
    drop(keeper);
    let error = Command::new(program).args(arguments).exec();
    let named = format!("{}: {error}", program.to_string_lossy());
    Err(io::Error::new(error.kind(), named))
}

/// Without CAP_IPC_LOCK and with no memlock limit, Cassandra's mlockall is refused and it continues.
fn drop_ipc_lock() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Each may be refused to an ordinary user, who then has no such capability to drop.
    let _refused = remove_capability_from_bounding_set(CapabilitySet::IPC_LOCK);
    let _refused = setrlimit(Resource::Memlock, none);
}
