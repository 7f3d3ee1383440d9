//! `helenus kube status`: pods and ring of a cluster on Kubernetes, or the clusters that were applied.
//! Refuses to ask for more than kubectl's user may see.

use super::{clusters, known};
use crate::cli::kube::acts::Status;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_cluster::kube::{self, KubeState, Pod, Ring};
use helenus_model::format::Format;
use helenus_model::kube::waiting::Waiting;
use helenus_model::units::plural;
use serde::Serialize;

/// Version of [`KubeStatus`] as JSON.
const VERSION: u32 = 1;

/// A cluster on Kubernetes as it is.
#[derive(Debug, Serialize)]
pub(super) struct KubeStatus {
    /// `helenus.kube-status/1`.
    format: Format,
    /// Its name.
    name: String,
    /// Release of Cassandra.
    release: String,
    /// kubectl's context.
    context: String,
    /// Address of the API server.
    server: String,
    /// The id that everything of it carries.
    id: String,
    /// Whether it has formed: new nodes join it.
    formed: bool,
    /// Pods that there are to be.
    planned: u32,
    /// Pods that there are.
    pods: Vec<PodView>,
    /// `nodetool status` of a node of the first data centre; absent where none answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Versions of the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_versions: Option<usize>,
    /// What the operators brought up: data centres, Reaper, Medusa; empty without operators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<String>,
    /// What pods wait for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Waiting>,
    /// From the moment of the command until all nodes served, in milliseconds; absent where nothing was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready_after_ms: Option<u64>,
}

/// A pod with what the others say of its node.
#[derive(Debug, Serialize)]
struct PodView {
    #[serde(flatten)]
    pod: Pod,
    /// Data centre, as Cassandra has it.
    data_center: String,
    /// `UN` and so on, as the first node that was asked sees it; absent if none was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

impl KubeStatus {
    pub(super) fn new(
        state: &KubeState,
        pods: Vec<Pod>,
        ring: Option<Ring>,
        ready_after_ms: Option<u64>,
    ) -> Result<Self, CommandError> {
        let plan = state.rendered()?;
        let view = |pod: Pod| {
            let own = |set: &&helenus_model::kube::PodSet| set.name == pod.set;
            let set = plan.sets.iter().find(own);
            let views = ring.iter().flat_map(|ring| &ring.views).take(1);
            let mut nodes = views.flat_map(|(_, nodes)| nodes);
            let seen = nodes.find(|node| node.address == pod.ip);
            PodView {
                data_center: set.map(|set| set.data_center.clone()).unwrap_or_default(),
                state: seen.map(|node| node.state.clone()),
                pod,
            }
        };
        Ok(Self {
            format: Format::new("kube-status", VERSION),
            name: state.name().to_owned(),
            release: state.plan.release.clone(),
            context: state.context.clone(),
            server: state.server.clone(),
            id: state.id().to_owned(),
            formed: state.options.formed,
            planned: plan.pods,
            pods: pods.into_iter().map(view).collect(),
            schema_versions: ring.as_ref().map(|ring| ring.schema_versions),
            status: ring.map(|ring| ring.status),
            waiting: Vec::new(),
            parts: Vec::new(),
            ready_after_ms,
        })
    }

    /// With what operators brought up, and no pods of our own.
    pub(super) fn with_parts(self, parts: Vec<String>) -> Self {
        Self { parts, ..self }
    }

    fn ready(&self) -> usize {
        self.pods.iter().filter(|view| view.pod.ready).count()
    }

    pub(super) fn text(&self) -> String {
        let mut table = Table::new(&[
            "pod",
            "data centre",
            "node",
            "address",
            "worker",
            ">restarts",
        ]);
        for PodView {
            pod,
            data_center,
            state,
        } in &self.pods
        {
            let node = match state {
                Some(state) => state.clone(),
                None if pod.ready => "ready".to_owned(),
                None => "not ready".to_owned(),
            };
            table.row([
                pod.place(),
                data_center.clone(),
                node,
                pod.ip.clone(),
                pod.worker.clone(),
                pod.restarts.to_string(),
            ]);
        }
        let pods = match self.parts.is_empty() {
            true => table.render(),
            false => self
                .parts
                .iter()
                .map(|part| format!("  {part}: ready\n"))
                .collect(),
        };
        let ring = match &self.status {
            Some(status) => format!("\n{}\n", status.trim()),
            None => String::new(),
        };
        format!("{pods}{ring}\n{}\n", self.answer())
    }
}

impl Answers for KubeStatus {
    fn answer(&self) -> String {
        let after = self.ready_after_ms.map_or(String::new(), |ms| {
            format!(" after {}.{} s", ms / 1000, ms % 1000 / 100)
        });
        if !self.parts.is_empty() {
            return format!(
                "cluster {}: Cassandra {}, ready as the operators say{after}",
                self.name, self.release
            );
        }
        format!(
            "cluster {}: Cassandra {}, {} of {} ready{after}",
            self.name,
            self.release,
            self.ready(),
            plural(self.planned as usize, "pod")
        )
    }
}

/// The clusters that were applied.
#[derive(Debug, Serialize)]
struct Applied {
    /// `helenus.kube-clusters/1`.
    format: Format,
    /// In the order of their names.
    clusters: Vec<One>,
}

/// A cluster that was applied.
#[derive(Debug, Serialize)]
struct One {
    /// Its name.
    name: String,
    /// Release of Cassandra.
    release: String,
    /// kubectl's context.
    context: String,
    /// Its namespaces.
    namespaces: Vec<String>,
    /// Pods that there are to be.
    pods: u32,
}

impl Answers for Applied {
    fn answer(&self) -> String {
        plural(self.clusters.len(), "cluster")
    }
}

pub(super) fn run(flags: &Status, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let Some(name) = &flags.name else {
        return list(context, ui);
    };
    let (state, kubectl) = known(name, context, ui)?;
    let plan = state.rendered()?;
    let pods = kube::pods(&kubectl, &state)?;
    let ring = match kube::ring(&kubectl, &plan, &pods) {
        Ok(ring) => Some(ring),
        Err(error) => {
            ui.caution(&format!("the ring is not known: {}", with_causes(&error)));
            None
        }
    };
    if let Some(ring) = &ring {
        caution_gone(state.name(), ring, &pods, ui);
    }
    let whole = pods.iter().filter(|pod| pod.ready).count() == plan.pods as usize;
    let view = KubeStatus {
        waiting: match whole {
            true => Vec::new(),
            false => kube::waiting_now(&kubectl, &state)?,
        },
        ..KubeStatus::new(&state, pods, ring, None)?
    };
    for one in &view.waiting {
        ui.caution(&super::up::waits(one));
    }
    ui.result(&view, || view.text());
    Ok(if whole { 0 } else { code::BAR })
}

/// Says which nodes are still in the ring though nothing of them is left.
pub(super) fn caution_gone(name: &str, ring: &Ring, pods: &[Pod], ui: &Ui) {
    for node in ring.without_pod(pods) {
        ui.caution(&format!(
            "{} is down and has no pod any more: helenus kube nodetool {name} removenode {}, then repair",
            node.address, node.host_id
        ));
    }
}

fn list(context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let all = clusters(context);
    let names = all.names()?;
    let mut found = Vec::new();
    for name in names {
        let state = all.load(&name)?;
        let plan = state.rendered()?;
        found.push(One {
            name,
            release: state.plan.release.clone(),
            context: state.context.clone(),
            namespaces: plan.namespaces,
            pods: plan.pods,
        });
    }
    let applied = Applied {
        format: Format::new("kube-clusters", VERSION),
        clusters: found,
    };
    ui.result(&applied, || {
        if applied.clusters.is_empty() {
            return "no cluster was applied to Kubernetes\n".to_owned();
        }
        let mut table = Table::new(&["cluster", "release", "context", "namespaces", ">pods"]);
        for one in &applied.clusters {
            table.row([
                one.name.clone(),
                one.release.clone(),
                one.context.clone(),
                one.namespaces.join(", "),
                one.pods.to_string(),
            ]);
        }
        table.render()
    });
    Ok(0)
}
