//! UPGRADES: the steps that bring the nodes of a cluster from one release to another, one node at a time.
//! Refuses a way that Cassandra does not have, with the reason.

mod settings;

use crate::format::Format;
use crate::release::{Release, ReleaseError};
use crate::worded::worded;
use serde::{Deserialize, Serialize};

pub use settings::{Otherwise, flags, mode_of, settings};

/// Version of [`UpgradePlan`] as JSON.
pub const UPGRADE_VERSION: u32 = 1;

/// The key of cassandra.yaml that says which formats a node may write.
pub const MODE_KEY: &str = "storage_compatibility_mode";

/// The first series that Helenus upgrades from, as 4.1 and 5.0 do.
const FIRST: &str = "4.0";

worded! {
    /// Which formats a node of 5.0 writes and speaks (`storage_compatibility_mode`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Mode {
        /// Those of 4.x: a node can still go back.
        Cassandra4 = "CASSANDRA_4",
        /// Files of 5.0, and words to its peers that nodes in the mode before still understand.
        Upgrading = "UPGRADING",
        /// Those of 5.0 alone.
        None = "NONE",
    }
}

impl Mode {
    /// Reads Cassandra's word, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        let same = |mode: &Self| mode.word().eq_ignore_ascii_case(text.trim());
        Self::ALL.into_iter().find(same)
    }
}

/// A node as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeNow {
    /// Name.
    pub name: String,
    /// Release that it runs, or was stopped on.
    pub release: String,
    /// Its mode, where its settings say one.
    pub mode: Option<Mode>,
    /// Whether it runs.
    pub runs: bool,
    /// Whether an upgrade that was cut off had stopped it.
    pub in_hand: bool,
}

/// What is wanted of the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// Exact release.
    pub release: String,
    /// The mode to end in, where a person says one.
    pub until: Option<Mode>,
    /// Nodes whose data files an upgrade that was cut off had still to rewrite.
    pub rewrite: Vec<String>,
}

/// One thing to do with one node; the next begins when all nodes are ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Drain it, stop it, and start it with its data on that release and in that mode.
    Restart {
        /// Node.
        node: String,
        /// Release before.
        from: String,
        /// Release after.
        to: String,
        /// Mode after; absent if the release has none, or if not set.
        #[serde(skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
    },
    /// Rewrite its data files in the release's own format (`upgradesstables`).
    Rewrite {
        /// Node.
        node: String,
    },
}

impl Step {
    /// The node that it is about.
    pub fn node(&self) -> &str {
        match self {
            Self::Restart { node, .. } | Self::Rewrite { node } => node,
        }
    }

    /// In words: `node1: 4.1.10 -> 5.0.9, storage compatibility mode CASSANDRA_4`.
    pub fn words(&self) -> String {
        match self {
            Self::Restart {
                node,
                from,
                to,
                mode,
            } => {
                let release = if from == to {
                    format!("{node}: restart on {to}")
                } else {
                    format!("{node}: {from} -> {to}")
                };
                let mode = mode.map(|m| format!(", storage compatibility mode {}", m.word()));
                release + &mode.unwrap_or_default()
            }
            Self::Rewrite { node } => format!("{node}: upgradesstables"),
        }
    }
}

/// Everything that an upgrade will do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpgradePlan {
    /// `helenus.upgrade-plan/1`.
    pub format: Format,
    /// Cluster.
    pub cluster: String,
    /// Release to end on.
    pub to: String,
    /// Mode to end in; absent where the release has none, or none is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Mode>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// Why there is no way.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UpgradeError {
    /// No such release.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// From or to a series before 4.0.
    #[error("{release} is too old for an upgrade in place: those start with {FIRST}")]
    TooOld {
        /// Release.
        release: String,
    },
    /// Back to an older series, from one that has no mode for it.
    #[error("{node} runs {from}, whose files {to} cannot read")]
    NoWayBack {
        /// Node.
        node: String,
        /// Its release.
        from: String,
        /// Wanted.
        to: String,
    },
    /// Back to an older series, from a mode that has left its formats.
    #[error("{node} runs {from} in storage compatibility mode {}: {to} cannot read its files", mode.word())]
    LeftMode {
        /// Node.
        node: String,
        /// Its release.
        from: String,
        /// Its mode.
        mode: Mode,
        /// Wanted.
        to: String,
    },
    /// A mode that is behind a node.
    #[error("{node} is already in storage compatibility mode {}", mode.word())]
    Behind {
        /// Node.
        node: String,
        /// Its mode.
        mode: Mode,
    },
    /// A mode of a release that has none.
    #[error("Cassandra {release} has no storage compatibility modes")]
    NoModes {
        /// Release.
        release: String,
    },
    /// Nodes that do not run.
    #[error("not all nodes of the cluster are running; down: {}", nodes.join(", "))]
    Down {
        /// Which.
        nodes: Vec<String>,
    },
}

impl UpgradeError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Release(error) => error.hint(),
            Self::TooOld { .. } => {
                "5.0 can be reached from 4.0 and 4.1 only; bring up a new cluster and load the data".into()
            }
            Self::NoWayBack { .. } => {
                "only 5.0 in storage compatibility mode CASSANDRA_4 can be downgraded; restore a baseline of the older release".into()
            }
            Self::LeftMode { .. } => {
                "a cluster can be downgraded only while all nodes are in CASSANDRA_4 (`helenus upgrade NAME --to 5.0 --until CASSANDRA_4`); restore a baseline of the older release".into()
            }
            Self::Behind { .. } => "a mode cannot be reverted; leave --until out".into(),
            Self::NoModes { .. } => "leave --until out".into(),
            Self::Down { .. } => {
                "start them first (`helenus start NAME`): one node is down at a time, the others serve".into()
            }
        }
    }
}

/// Plans an upgrade, or what is left of one.
///
/// Each node moves to the new release, then all go through the storage compatibility modes, one mode and one node at a
/// time, and at last their data files are rewritten. What is done already is left out: planning again after a cut goes on.
///
/// # Errors
/// A way that Cassandra does not have, or nodes that are down for another reason than this upgrade.
pub fn upgrade(cluster: &str, nodes: &[NodeNow], goal: &Goal) -> Result<UpgradePlan, UpgradeError> {
    let to = Release::facts_for(&goal.release)?;
    let mut moves = false;
    for node in nodes {
        moves |= check_way(node, to)?;
    }
    let down: Vec<String> = nodes
        .iter()
        .filter(|node| !node.runs && !node.in_hand)
        .map(|node| node.name.clone())
        .collect();
    if !down.is_empty() {
        return Err(UpgradeError::Down { nodes: down });
    }
    let until = until(nodes, goal, to, moves)?;
    let mut steps = Vec::new();
    // Where each node will be after the steps so far.
    let mut now: Vec<NodeNow> = nodes.to_vec();
    // A node that is down comes first: two must never be.
    now.sort_by_key(|node| node.runs);
    let releases = now
        .iter_mut()
        .filter(|n| n.release != to.version || !n.runs);
    for node in releases {
        let of_series = series_of(&node.release) == Some(to.series);
        let first = until.map(|_| Mode::Cassandra4);
        let mode = if of_series { node.mode } else { first };
        steps.push(restart(node, to.version, mode));
    }
    let goes_back = nodes.iter().any(|node| is_newer(&node.release, to));
    now.sort_by_key(|node| nodes.iter().position(|n| n.name == node.name));
    for mode in Mode::ALL.into_iter().skip(1) {
        let wanted = until.is_some_and(|until| mode <= until);
        let behind = |n: &&mut NodeNow| wanted && n.mode.is_none_or(|own| own < mode);
        for node in now.iter_mut().filter(behind) {
            steps.push(restart(node, to.version, Some(mode)));
        }
    }
    start_once(&mut steps);
    let restarts = steps
        .iter()
        .any(|step| matches!(step, Step::Restart { .. }));
    let whole = until.is_none_or(|until| until == Mode::None);
    let changes = moves || (until.is_some() && restarts);
    for node in nodes {
        let left = goal.rewrite.contains(&node.name);
        if whole && !goes_back && (changes || left) {
            let node = node.name.clone();
            steps.push(Step::Rewrite { node });
        }
    }
    Ok(UpgradePlan {
        format: Format::new("upgrade-plan", UPGRADE_VERSION),
        cluster: cluster.to_owned(),
        to: to.version.to_owned(),
        until,
        steps,
    })
}

/// A node that is down and comes next into another mode needs no start in its own before.
fn start_once(steps: &mut Vec<Step>) {
    if let [
        Step::Restart { node, from, to, .. },
        Step::Restart { node: next, .. },
        ..,
    ] = steps.as_slice()
        && node == next
        && from == to
    {
        steps.remove(0);
    }
}

fn restart(node: &mut NodeNow, to: &str, mode: Option<Mode>) -> Step {
    let from = std::mem::replace(&mut node.release, to.to_owned());
    node.mode = mode;
    Step::Restart {
        node: node.name.clone(),
        from,
        to: to.to_owned(),
        mode,
    }
}

/// The mode to end in; none where no mode is changed.
fn until(
    nodes: &[NodeNow],
    goal: &Goal,
    to: &Release,
    moves: bool,
) -> Result<Option<Mode>, UpgradeError> {
    if to.keys().get(MODE_KEY).is_none() {
        return match goal.until {
            Some(_) => Err(UpgradeError::NoModes {
                release: to.version.to_owned(),
            }),
            None => Ok(None),
        };
    }
    let under_way = |node: &NodeNow| node.mode.is_some_and(|mode| mode < Mode::None);
    let Some(until) = goal.until else {
        // A cluster that was brought up on this release keeps the mode that it has.
        let goes_on = moves || nodes.iter().any(under_way);
        return Ok(goes_on.then_some(Mode::None));
    };
    let ahead = nodes
        .iter()
        .find(|n| n.mode.is_some_and(|mode| mode > until));
    match ahead.and_then(|node| Some((node.name.clone(), node.mode?))) {
        Some((node, mode)) => Err(UpgradeError::Behind { node, mode }),
        None => Ok(Some(until)),
    }
}

/// Whether the node goes to a newer series; an error where there is no way.
fn check_way(node: &NodeNow, to: &Release) -> Result<bool, UpgradeError> {
    let own = Release::facts_for(&node.release)?;
    let known: Vec<&str> = Release::all().iter().map(|r| r.series).collect();
    let place = |series: &str| known.iter().position(|s| *s == series).unwrap_or(0);
    let (from, first) = (place(own.series), place(FIRST));
    for (series, release) in [(from, own.version), (place(to.series), to.version)] {
        if series < first {
            return Err(UpgradeError::TooOld {
                release: release.to_owned(),
            });
        }
    }
    if from <= place(to.series) {
        return Ok(from < place(to.series));
    }
    let (name, before, after) = (
        node.name.clone(),
        node.release.clone(),
        to.version.to_owned(),
    );
    let modes = own.keys().get(MODE_KEY).is_some();
    match node.mode {
        // Where nobody says a mode, 5.0 takes CASSANDRA_4.
        Some(Mode::Cassandra4) | None if modes => Ok(false),
        Some(mode) if modes => Err(UpgradeError::LeftMode {
            node: name,
            from: before,
            mode,
            to: after,
        }),
        _ => Err(UpgradeError::NoWayBack {
            node: name,
            from: before,
            to: after,
        }),
    }
}

fn series_of(release: &str) -> Option<&'static str> {
    Some(Release::facts_for(release).ok()?.series)
}

fn is_newer(release: &str, than: &Release) -> bool {
    let newer = |series: &str| than.newer().any(|r| r.series == series);
    series_of(release).is_some_and(|series| series != than.series && newer(series))
}

#[cfg(test)]
mod tests;
