//! Networks with distance: each node in a namespace of its own, what crosses data centres held until it is due.
//! Refuses to leave anything behind: namespaces live in processes only, and end with them.
//!
//! One process a cluster, the *keeper* (`helenus __keep`), holds the namespaces and the emulator. It is reached
//! through a socket in the cluster's folder, hands out connections and namespaces as descriptors, and changes links.

mod build;
pub mod client;
pub mod control;
pub mod echo;
mod emulator;
mod faults;
pub mod hold;
pub mod keep;
mod netem;
mod netlink;
mod probe;
mod queue;
pub(crate) mod route;
mod rules;
mod space;
pub mod traffic;

use helenus_model::network::NetworkPlan;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Folder of the keeper in a cluster's folder.
pub const FOLDER: &str = "net";

/// The network's plan in the keeper's folder.
const PLAN_FILE: &str = "network.json";

/// The keeper's socket in its folder.
const SOCKET: &str = "control";

/// What the keeper printed, in its folder.
const LOG: &str = "keeper.log";

/// Folder of the keeper of a cluster.
pub fn folder_of(cluster: &Path) -> PathBuf {
    cluster.join(FOLDER)
}

/// What a keeper is asked to build and hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Keep {
    /// The network.
    pub(crate) plan: NetworkPlan,
    /// The parent whose end shall be the keeper's; none for one that outlives the command.
    pub(crate) leash: Option<i32>,
}
