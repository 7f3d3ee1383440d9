//! `helenus list`: the clusters of this user with their processes and memory by kind.

use crate::error::{CommandError, code};
use crate::ui::{Table, Ui};
use helenus_cluster::lifecycle::{Hands, with_causes};
use helenus_cluster::observe::{self, NodeView};
use helenus_cluster::state::NodeCondition;
use helenus_model::format::Format;
use helenus_model::preset::PresetName;
use helenus_model::units::Bytes;
use serde::Serialize;

#[derive(Serialize)]
struct Listed {
    format: Format,
    clusters: Vec<ClusterView>,
}

#[derive(Serialize)]
struct ClusterView {
    name: String,
    /// `running`, `partly`, `stopped`, `died`, `abandoned` or `broken`.
    state: &'static str,
    /// Why it is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    release: Option<String>,
    preset: Option<PresetName>,
    ephemeral: bool,
    heap_bytes: Option<u64>,
    folder: String,
    nodes: Vec<NodeView>,
}

pub(crate) fn run(hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let names = hands
        .clusters
        .names()
        .map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?;
    let clusters = names.iter().map(|name| view(hands, name)).collect();
    let listed = Listed {
        format: Format::new("list", 1),
        clusters,
    };
    ui.result(&listed, || text(&listed.clusters));
    Ok(0)
}

fn view(hands: &Hands, name: &str) -> ClusterView {
    let folder = hands.clusters.folder(name).to_string_lossy().into_owned();
    let broken = |problem: String| ClusterView {
        name: name.to_owned(),
        state: "broken",
        problem: Some(problem),
        release: None,
        preset: None,
        ephemeral: false,
        heap_bytes: None,
        folder: folder.clone(),
        nodes: vec![],
    };
    let state = match hands.clusters.load(name) {
        Ok(state) => state,
        Err(error) => return broken(with_causes(&error)),
    };
    match observe::nodes(&state) {
        Err(error) => broken(with_causes(&error)),
        Ok(nodes) => ClusterView {
            name: name.to_owned(),
            state: if state.abandoned() {
                "abandoned"
            } else {
                whole(&nodes)
            },
            problem: None,
            release: Some(state.plan.release.clone()),
            preset: Some(state.plan.preset),
            ephemeral: state.ephemeral,
            heap_bytes: Some(state.plan.heap.heap.0),
            folder,
            nodes,
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

fn text(clusters: &[ClusterView]) -> String {
    if clusters.is_empty() {
        return "there is no cluster; bring one up with `helenus up`\n".into();
    }
    let mut table = Table::new(&[
        "node", "state", "release", "preset", "address", ">pid", ">pss", ">anon", ">file", ">rss",
    ]);
    for cluster in clusters {
        if cluster.problem.is_some() {
            table.row([cluster.name.as_str(), "broken"]);
        }
        for node in &cluster.nodes {
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
                cluster.release.clone().unwrap_or_default(),
                cluster
                    .preset
                    .map(|p| p.as_str().to_owned())
                    .unwrap_or_default(),
                format!("{}:{}", node.address, node.cql_port),
                node.pid.map(|p| p.to_string()).unwrap_or_default(),
                memory(|m| m.pss_bytes),
                memory(|m| m.pss_anon_bytes),
                memory(|m| m.pss_file_bytes),
                memory(|m| m.rss_bytes),
            ]);
        }
    }
    let mut text = table.render();
    for cluster in clusters {
        if let Some(problem) = &cluster.problem {
            let name = &cluster.name;
            text.push_str(&format!(
                "\n{name} is broken: {problem}\n`helenus rm {name}` removes it, whatever is in it\n"
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
