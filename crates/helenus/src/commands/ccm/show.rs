//! What ccm prints, in its words: scripts read them.
//! Refuses to ask a node: what is printed follows from files and processes.

use super::lines::Facts;
use helenus_cluster::observe;
use helenus_cluster::state::ClusterState;
use helenus_model::plan::NodePlan;
use std::path::Path;

/// Clusters, the current one with an asterisk.
pub(super) fn list(names: &[String], current: Option<&str>) -> String {
    let mark = |name: &String| if current == Some(name) { "*" } else { " " };
    let lines = names.iter().map(|name| format!(" {}{name}\n", mark(name)));
    lines.collect()
}

/// Addresses of the nodes that are up.
pub(super) fn liveset(facts: &Facts) -> String {
    let up = facts.nodes.iter().filter(|node| node.up);
    let addresses: Vec<&str> = up.map(|node| node.address.as_str()).collect();
    addresses.join(",") + "\n"
}

/// A cluster and whether its nodes are up; without nodes where it has none yet.
pub(super) fn status(name: &str, state: Option<&ClusterState>, verbose: bool) -> String {
    let head = format!("Cluster: '{name}'");
    let mut text = format!("{head}\n{}\n", "-".repeat(head.len()));
    let Some(state) = state else {
        return text + "No node in this cluster yet\n";
    };
    for planned in &state.plan.nodes {
        if verbose {
            text.push_str(&node(state, &planned.name));
        } else {
            text.push_str(&format!("{}: {}\n", planned.name, word(state, planned)));
        }
    }
    text
}

/// What a node is.
pub(super) fn node(state: &ClusterState, name: &str) -> String {
    let Some(node) = state.plan.nodes.iter().find(|node| node.name == name) else {
        return String::new();
    };
    let ports = state.plan.ports;
    let tokens: Vec<String> = node.tokens.iter().map(i64::to_string).collect();
    let mut text = format!("{name}: {}\n", word(state, node));
    let mut line = |key: &str, value: String| text.push_str(&format!("       {key}={value}\n"));
    line("cluster", state.plan.name.clone());
    line("data_center", node.data_center.clone());
    line("rack", node.rack.clone());
    line("binary", format!("('{}', {})", node.address, ports.cql));
    line(
        "storage",
        format!("('{}', {})", node.address, ports.storage),
    );
    line("initial_token", tokens.join(","));
    line("path", node.folder.clone());
    if let Some(pid) = pid(state, name) {
        line("pid", pid.to_string());
    }
    text
}

/// Lines of the nodes' logs that are errors.
pub(super) fn errors(state: &ClusterState) -> String {
    let mut text = String::new();
    for node in &state.plan.nodes {
        let log = Path::new(&node.folder).join("logs").join("system.log");
        let log = fs_err::read(log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        for line in log.lines().filter(|line| line.starts_with("ERROR")) {
            text.push_str(&format!("{}: {line}\n", node.name));
        }
    }
    text
}

fn word(state: &ClusterState, node: &NodePlan) -> &'static str {
    let started = Path::new(&node.folder).join("logs").exists();
    match (pid(state, &node.name), started) {
        (Some(_), _) => "UP",
        (None, true) => "DOWN",
        (None, false) => "DOWN (Not initialized)",
    }
}

fn pid(state: &ClusterState, name: &str) -> Option<i32> {
    let all = observe::pids(state);
    all.into_iter().find(|(node, _)| *node == name)?.1
}
