//! `helenus hosts status`: the nodes of a cluster on hosts, asked over CQL from here; or the clusters that are known.

use super::{clusters, known};
use crate::cli::hosts::Status;
use crate::commands::status::Shown;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_cluster::hosts::{self, NodeState};
use helenus_model::format::Format;
use helenus_model::hosts::HostsPlan;
use helenus_model::hosts::options::Form;
use helenus_model::status::ClusterView;
use helenus_model::units::plural;
use serde::Serialize;

/// The nodes of a cluster on hosts.
#[derive(Debug, Serialize)]
pub(super) struct HostsStatus {
    /// `helenus.hosts-status/1`.
    format: Format,
    /// The cluster.
    name: String,
    /// Release of Cassandra.
    release: String,
    /// Who runs it.
    form: Form,
    /// The nodes, in order.
    nodes: Vec<NodeState>,
    /// The ring, as the first node that serves sees it; absent where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    ring: Option<ClusterView>,
    /// Milliseconds until all served, where that was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready_after_ms: Option<u64>,
    /// Tasks of Ansible that changed something on the hosts, where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<u32>,
}

impl HostsStatus {
    pub(super) fn new(plan: &HostsPlan, nodes: Vec<NodeState>, ring: Option<&ClusterView>) -> Self {
        Self {
            format: Format::new("hosts-status", 1),
            name: plan.name.clone(),
            release: plan.release.clone(),
            form: plan.form,
            nodes,
            ring: ring.cloned(),
            ready_after_ms: None,
            changed: None,
        }
    }

    /// The same of nodes that were waited for so long, on hosts on which so much was changed.
    pub(super) fn after(self, ready_after_ms: Option<u64>, changed: Option<u32>) -> Self {
        Self {
            ready_after_ms,
            changed,
            ..self
        }
    }

    fn serving(&self) -> usize {
        self.nodes.iter().filter(|one| one.serves).count()
    }

    pub(super) fn text(&self, view: Option<&ClusterView>) -> String {
        let mut table = Table::new(&["node", "host", "address", "data centre", "rack", ""]);
        for one in &self.nodes {
            let node = &one.node;
            table.row([
                node.name.clone(),
                node.host.clone().unwrap_or_default(),
                node.address
                    .map(|address| address.to_string())
                    .unwrap_or_default(),
                node.data_center.clone(),
                node.rack.clone(),
                one.why.clone().unwrap_or_else(|| "serves".to_owned()),
            ]);
        }
        let ring = view
            .and_then(|view| Shown::of(view, None).ok())
            .map_or(String::new(), |shown| {
                format!("\n{}\n", shown.printed.stdout.trim())
            });
        format!("{}{ring}\n{}\n", table.render(), self.answer())
    }
}

impl Answers for HostsStatus {
    fn answer(&self) -> String {
        let after = self.ready_after_ms.map_or(String::new(), |ms| {
            format!(" after {}.{} s", ms / 1000, ms % 1000 / 100)
        });
        let unchanged = match self.changed {
            Some(0) => "; nothing was changed on the hosts",
            _ => "",
        };
        format!(
            "cluster {}: Cassandra {}, {} of {} {}{after}{unchanged}",
            self.name,
            self.release,
            self.serving(),
            plural(self.nodes.len(), "node"),
            if self.serving() == 1 {
                "serves"
            } else {
                "serve"
            }
        )
    }
}

/// The clusters on hosts.
#[derive(Debug, Serialize)]
struct OnHosts {
    /// `helenus.hosts-clusters/1`.
    format: Format,
    /// In the order of their names.
    clusters: Vec<One>,
}

/// A cluster on hosts.
#[derive(Debug, Serialize)]
struct One {
    /// Its name.
    name: String,
    /// Release of Cassandra.
    release: String,
    /// Its hosts.
    hosts: Vec<String>,
    /// How many nodes there are to be.
    nodes: usize,
}

impl Answers for OnHosts {
    fn answer(&self) -> String {
        plural(self.clusters.len(), "cluster")
    }
}

pub(super) fn run(flags: &Status, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let Some(name) = &flags.name else {
        return list(context, ui);
    };
    let (state, plan) = known(name, context)?;
    let access = hosts::access(&clusters(context), &state);
    let nodes = hosts::nodes(&state, &plan, &access);
    let view = match hosts::view(&state, &nodes, &access) {
        Ok(view) => Some(view),
        Err(error) => {
            ui.caution(&format!("the ring is not known: {}", with_causes(&error)));
            None
        }
    };
    let status = HostsStatus::new(&plan, nodes, view.as_ref());
    ui.result(&status, || status.text(view.as_ref()));
    Ok(match status.serving() == status.nodes.len() {
        true => 0,
        false => code::BAR,
    })
}

fn list(context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let all = clusters(context);
    let names = all.names()?;
    let mut found = Vec::new();
    for name in names {
        let state = all.load(&name)?;
        found.push(One {
            name,
            release: state.plan.release.clone(),
            hosts: state
                .options
                .hosts
                .iter()
                .map(|host| host.name.clone())
                .collect(),
            nodes: state.plan.nodes.len(),
        });
    }
    let shown = OnHosts {
        format: Format::new("hosts-clusters", 1),
        clusters: found,
    };
    ui.result(&shown, || {
        if shown.clusters.is_empty() {
            return "no cluster was brought up on hosts\n".to_owned();
        }
        let mut table = Table::new(&["cluster", "release", ">nodes", "hosts"]);
        for one in &shown.clusters {
            table.row([
                one.name.clone(),
                one.release.clone(),
                one.nodes.to_string(),
                one.hosts.join(", "),
            ]);
        }
        table.render()
    });
    Ok(0)
}
