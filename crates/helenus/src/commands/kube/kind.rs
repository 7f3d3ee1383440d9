//! `helenus kube kind`: the configuration of a kind cluster that a topology fits.
//! Refuses to make one: `kind create cluster` does.

use super::asked;
use crate::cli::kube::Kind;
use crate::error::CommandError;
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::machine;
use helenus_model::format::Format;
use helenus_model::kube::kind::{KindRequest, TRAEFIK_PORTS, Worker, kind};
use helenus_model::kube::names::{LABEL_MAX, label};
use serde::Serialize;

/// A configuration of kind.
#[derive(Serialize)]
struct KindConfig {
    format: Format,
    /// Name of the kind cluster.
    name: String,
    /// How many workers there are.
    workers: usize,
    /// The configuration, YAML.
    text: String,
}

impl Answers for KindConfig {
    fn answer(&self) -> String {
        format!("kind cluster {}: {} workers", self.name, self.workers)
    }
}

pub(super) fn run(flags: &Kind, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (plan, _) = asked(&flags.cluster, context, ui)?;
    let pods = plan.nodes.iter().filter_map(|node| plan.memory_of(node));
    let places = plan.nodes.iter().map(|node| Worker {
        data_center: node.data_center.clone(),
        rack: node.rack.clone(),
    });
    let name = label(&[&plan.name], LABEL_MAX);
    let workers = plan.nodes.len();
    let request = KindRequest {
        name: name.clone(),
        workers: places.collect(),
        pod: pods.map(|memory| memory.total()).max().unwrap_or_default(),
        memory: flags.memory.unwrap_or_else(|| machine::read().memory),
        worker_label: flags.worker_label.clone(),
        image: flags.node_image.clone(),
        ports: match flags.no_ports {
            true => Vec::new(),
            false => TRAEFIK_PORTS.to_vec(),
        },
    };
    let text = kind(&request)?;
    let config = KindConfig {
        format: Format::new("kind-config", 1),
        name,
        workers,
        text,
    };
    ui.result(&config, || config.text.clone());
    Ok(0)
}
