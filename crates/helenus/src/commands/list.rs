//! `helenus list`: the clusters of this user with their processes and memory by kind.

use crate::cli::many::List;
use crate::commands::fault;
use crate::commands::memory::{disk_text, held, kinds_rows, kinds_table};
use crate::commands::up::spots;
use crate::error::CommandError;
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::batch::has_prefix;
use helenus_cluster::context::Context;
use helenus_cluster::disk::{self, Disk};
use helenus_cluster::error::with_causes;
use helenus_cluster::everyone::{self, SomebodysNode};
use helenus_cluster::limits::Limits;
use helenus_cluster::net;
use helenus_cluster::observe::{self, NodeView};
use helenus_cluster::process::Owner;
use helenus_cluster::state::{ClusterState, NodeCondition};
use helenus_model::format::Format;
use helenus_model::memory::MemoryPlan;
use helenus_model::plan::{Folders, OwnPlan, Pin};
use helenus_model::preset::PresetName;
use helenus_model::smaps::MemoryByKind;
use helenus_model::units::{Bytes, plural};
use helenus_record::report::{ClusterLine, NodeLine};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Serialize)]
struct Listed {
    format: Format,
    /// The clusters.
    clusters: Vec<ClusterView>,
}

impl Answers for Listed {
    fn answer(&self) -> String {
        match &self.clusters[..] {
            [] => NONE.to_owned(),
            [one] => format!("cluster {} {}", one.name, does(one.state, 1)),
            all => {
                let by_state = STATES.iter().filter_map(|state| {
                    let count = all.iter().filter(|one| one.state == *state).count();
                    (count > 0).then(|| format!("{count} {}", does(state, count)))
                });
                let by_state: Vec<String> = by_state.collect();
                format!("{} clusters: {}", all.len(), by_state.join(", "))
            }
        }
    }
}

/// Every state of a cluster.
const STATES: [&str; 7] = [
    "running",
    "partly",
    "stopped",
    "died",
    "abandoned",
    "degraded",
    "broken",
];

/// What so many clusters in a state do.
fn does(state: &str, count: usize) -> String {
    match (state, count) {
        ("running", 1) => "runs".to_owned(),
        ("running", _) => "run".to_owned(),
        ("partly", 1) => "runs in part".to_owned(),
        ("partly", _) => "run in part".to_owned(),
        ("died", 1) => "has died".to_owned(),
        ("died", _) => "have died".to_owned(),
        (other, 1) => format!("is {other}"),
        (other, _) => format!("are {other}"),
    }
}

/// The running nodes of all users.
#[derive(Serialize)]
struct Everyone {
    /// `helenus.list-all-users/1`.
    format: Format,
    /// Sorted by user, cluster and node.
    nodes: Vec<SomebodysNode>,
}

impl Answers for Everyone {
    fn answer(&self) -> String {
        let users: BTreeSet<&str> = self.nodes.iter().map(|one| one.user.as_str()).collect();
        let nodes = plural(self.nodes.len(), "node");
        format!("{nodes} of {}", plural(users.len(), "user"))
    }
}

fn everyone(ui: &Ui) -> Result<u8, CommandError> {
    let nodes = everyone::nodes()?;
    let shown = Everyone {
        format: Format::new("list-all-users", 1),
        nodes,
    };
    ui.result(&shown, || {
        if shown.nodes.is_empty() {
            return "no node of any user runs here\n".to_owned();
        }
        let mut table = Table::new(&[
            "user",
            "cluster",
            "node",
            "address",
            ">process",
            ">resident",
        ]);
        for one in &shown.nodes {
            table.row([
                one.user.clone(),
                one.cluster.clone(),
                one.node.clone(),
                one.address.clone().unwrap_or_default(),
                one.pid.to_string(),
                Bytes(one.resident_bytes).to_string(),
            ]);
        }
        format!("{}\n{}\n", table.render(), shown.answer())
    });
    Ok(0)
}

#[derive(Serialize)]
struct ClusterView {
    /// Its name.
    name: String,
    /// `running`, `partly`, `stopped`, `died`, `abandoned`, `degraded` or `broken`.
    state: &'static str,
    /// Why it is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Its release; none where it is broken.
    release: Option<String>,
    /// The cluster's preset.
    preset: Option<PresetName>,
    /// Whether a bench made it for itself.
    ephemeral: bool,
    /// The process that it ends with, where it has an owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<Owner>,
    /// Heap of a node.
    heap_bytes: Option<u64>,
    /// Its folder.
    folder: String,
    /// Memory of each node as it was planned, by kind.
    planned: Option<MemoryPlan>,
    /// Limits of each node as they hold.
    limits: Option<Limits>,
    /// Its nodes.
    nodes: Vec<Listing>,
    /// Faults that were made and not healed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<fault::PrintedFault>,
}

/// A node with its memory by kind.
#[derive(Serialize)]
struct Listing {
    #[serde(flatten)]
    node: NodeView,
    /// What it has of another preset than the cluster's, or for another disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<OwnPlan>,
    /// Its release where it is not the cluster's, as long as an upgrade is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    /// What its process may use, where it is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<Pin>,
    /// Its folders on other disks.
    #[serde(skip_serializing_if = "Folders::is_none")]
    folders: Folders,
    /// Its memory by kind, while it lives.
    memory_by_kind: Option<MemoryByKind>,
    /// Its disk in memory, if it has one and it is mounted.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<Disk>,
}

pub(crate) fn run(flags: &List, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.all_users {
        return everyone(ui);
    }
    let mut names = context.clusters.names()?;
    if let Some(prefix) = &flags.prefix {
        names.retain(|name| has_prefix(name, prefix));
    }
    names.sort_by_key(|name| counted(name));
    // Every page of every node is walked for this: not for a table that does not show it.
    let kinds = flags.memory || ui.json();
    let clusters = names
        .iter()
        .map(|name| view(context, name, kinds))
        .collect();
    let listed = Listed {
        format: Format::new("list", 1),
        clusters,
    };
    ui.result(&listed, || {
        if flags.memory {
            memory_text(&listed.clusters)
        } else {
            text(&listed.clusters)
        }
    });
    Ok(0)
}

/// Every cluster for the page of `ui`.
pub(crate) fn lines(context: &Context) -> Result<Vec<ClusterLine>, CommandError> {
    let mut names = context.clusters.names()?;
    names.sort_by_key(|name| counted(name));
    Ok(names.iter().map(|name| line(context, name)).collect())
}

fn line(context: &Context, name: &str) -> ClusterLine {
    let seen = view(context, name, false);
    let tokens = context.clusters.load(name).map(|state| state.plan.nodes);
    let tokens = tokens.unwrap_or_default();
    let nodes = seen.nodes.iter().map(|Listing { node, .. }| {
        let own = tokens.iter().find(|one| one.name == node.name);
        let own = own.map_or(&[][..], |one| &one.tokens);
        NodeLine {
            name: node.name.clone(),
            state: condition(node.condition).to_owned(),
            place: format!("{}, {}", node.data_center, node.rack),
            address: format!("{}:{}", node.address, node.cql_port),
            pid: node.pid,
            memory: node.memory.as_ref().map_or("–".to_owned(), |memory| {
                Bytes(memory.pss_bytes).to_string()
            }),
            tokens: match own {
                [one] => one.to_string(),
                several => several.len().to_string(),
            },
        }
    });
    ClusterLine {
        name: seen.name,
        state: seen.state.to_owned(),
        release: seen.release.unwrap_or_default(),
        problem: seen.problem.unwrap_or_default(),
        nodes: nodes.collect(),
    }
}

/// A name with its number, so that `dev2` stands before `dev10`.
fn counted(name: &str) -> (String, u64) {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[prefix.len()..].parse().unwrap_or_default();
    (prefix.to_owned(), number)
}

fn view(context: &Context, name: &str, kinds: bool) -> ClusterView {
    let folder = context.clusters.folder(name).to_string_lossy().into_owned();
    let broken = |problem: String| ClusterView {
        name: name.to_owned(),
        state: "broken",
        problem: Some(problem),
        release: None,
        preset: None,
        ephemeral: false,
        owner: None,
        heap_bytes: None,
        folder: folder.clone(),
        planned: None,
        limits: None,
        nodes: vec![],
        faults: vec![],
    };
    let state = match context.clusters.load(name) {
        Ok(state) => state,
        Err(error) => return broken(with_causes(&error)),
    };
    match observe::nodes(&state) {
        Err(error) => broken(with_causes(&error)),
        Ok(nodes) => ClusterView {
            name: name.to_owned(),
            state: if state.abandoned() {
                "abandoned"
            } else if network_gone(&state, &nodes) {
                "degraded"
            } else {
                whole(&nodes)
            },
            problem: None,
            release: Some(state.plan.release.clone()),
            preset: Some(state.plan.preset),
            ephemeral: state.ephemeral,
            owner: state.owner,
            heap_bytes: Some(state.plan.heap.heap.0),
            folder,
            planned: state.plan.memory,
            limits: state.limits.clone(),
            nodes: nodes
                .into_iter()
                .zip(&state.plan.nodes)
                .map(|(node, planned)| Listing {
                    memory_by_kind: node.pid.filter(|_| kinds).and_then(|pid| {
                        observe::memory_by_kind(pid, state.plan.heap_of(planned).heap)
                    }),
                    release: state
                        .releases
                        .get(&planned.name)
                        .map(|own| own.release.clone()),
                    own: planned.own,
                    pin: planned.pin.clone(),
                    folders: planned.folders.clone(),
                    disk: disk::look(planned),
                    node,
                })
                .collect(),
            // A journal that cannot be read is `fault`'s to report.
            faults: fault::standing(&state, context).unwrap_or_default(),
        },
    }
}

fn whole(nodes: &[NodeView]) -> &'static str {
    let all = |c: NodeCondition| nodes.iter().all(|n| n.condition == c);
    if all(NodeCondition::Running) {
        "running"
    } else if all(NodeCondition::Stopped) {
        "stopped"
    } else if nodes.iter().any(|n| n.condition == NodeCondition::Died) {
        "died"
    } else {
        "partly"
    }
}

/// Where there is none.
const NONE: &str = "no cluster; bring one up with `helenus up`";

fn text(clusters: &[ClusterView]) -> String {
    if clusters.is_empty() {
        return format!("{NONE}\n");
    }
    let mut table = Table::new(&[
        "node", "state", "release", "preset", "address", ">pid", ">planned", ">anon", ">file",
        ">pss",
    ]);
    for cluster in clusters {
        if cluster.problem.is_some() {
            table.row([cluster.name.as_str(), "broken"]);
        }
        for Listing {
            node, own, release, ..
        } in &cluster.nodes
        {
            let planned = own.map_or(cluster.planned, |own| Some(own.memory));
            let memory = |figure: fn(&observe::Memory) -> u64| {
                node.memory
                    .as_ref()
                    .map(|m| Bytes(figure(m)).to_string())
                    .unwrap_or_default()
            };
            let condition = if cluster.state == "abandoned" {
                "abandoned"
            } else {
                condition(node.condition)
            };
            table.row([
                format!("{}/{}", cluster.name, node.name),
                condition.to_owned(),
                release
                    .clone()
                    .or_else(|| cluster.release.clone())
                    .unwrap_or_default(),
                own.map_or(cluster.preset, |own| Some(own.preset))
                    .map(|preset| preset.word().to_owned())
                    .unwrap_or_default(),
                format!("{}:{}", node.address, node.cql_port),
                node.pid.map(|p| p.to_string()).unwrap_or_default(),
                planned
                    .map(|plan| plan.total().to_string())
                    .unwrap_or_default(),
                memory(|m| m.pss_anon_bytes),
                memory(|m| m.pss_file_bytes),
                memory(|m| m.pss_bytes),
            ]);
        }
    }
    table.render() + &notes(clusters)
}

/// Planned and measured by kind, two lines a node.
fn memory_text(clusters: &[ClusterView]) -> String {
    if clusters.is_empty() {
        return format!("{NONE}\n");
    }
    let disks = |cluster: &ClusterView| cluster.nodes.iter().any(|one| one.disk.is_some());
    let disks = clusters.iter().any(disks);
    let mut table = kinds_table(disks);
    for cluster in clusters {
        for Listing {
            node,
            own,
            memory_by_kind,
            disk,
            ..
        } in &cluster.nodes
        {
            let name = format!("{}/{}", cluster.name, node.name);
            let limit = held(cluster.limits.as_ref(), &node.name);
            let planned = own.map_or(cluster.planned, |own| Some(own.memory));
            let planned = planned.as_ref();
            let used = disks.then(|| disk.map_or(Bytes(0), |disk| disk.used));
            let measured = memory_by_kind.as_ref();
            kinds_rows(&mut table, &name, planned, measured, used, &limit);
        }
    }
    let mut text = table.render();
    for cluster in clusters {
        let why = cluster
            .limits
            .as_ref()
            .and_then(|l| l.not_enforced.as_ref());
        if let Some(why) = why {
            text.push_str(&format!(
                "\nlimits of {} are not enforced: {why}\n",
                cluster.name
            ));
        }
    }
    text + &notes(clusters)
}

/// Whether nodes live in a network that is gone with its keeper.
fn network_gone(state: &ClusterState, nodes: &[NodeView]) -> bool {
    let keeper = net::client::runs(Path::new(&state.plan.folder));
    state.plan.network.is_some()
        && nodes.iter().any(|node| node.pid.is_some())
        && keeper.is_ok_and(|runs| !runs)
}

/// What stands below the tables.
fn notes(clusters: &[ClusterView]) -> String {
    let mut text = String::new();
    for cluster in clusters {
        text.push_str(&disk_text(&cluster.name, cluster.limits.as_ref()));
        let nodes = cluster.nodes.iter();
        let spot = |one: &Listing| (one.node.name.clone(), one.pin.clone(), one.folders.clone());
        text.push_str(&spots(&cluster.name, nodes.map(spot)));
        if cluster.state == "degraded" {
            let name = &cluster.name;
            text.push_str(&format!(
                "\n{name} is degraded: the process that held its network is gone, its nodes cannot reach each other\n`helenus start {name}` creates the network again and starts them in it\n"
            ));
        }
        text.push_str(&fault::notes(&cluster.name, &cluster.faults));
        if let Some(problem) = &cluster.problem {
            let name = &cluster.name;
            text.push_str(&format!(
                "\n{name} is broken: {problem}\n`helenus rm {name}` deletes the cluster and all its data\n"
            ));
        }
    }
    text
}

fn condition(condition: NodeCondition) -> &'static str {
    match condition {
        NodeCondition::Running => "running",
        NodeCondition::Paused => "paused",
        NodeCondition::Stopped => "stopped",
        NodeCondition::Died => "died",
    }
}
