//! `helenus env`: contact points, paths and a nodetool on PATH, for shells, CI and drivers.
//! Refuses secrets: where a cluster asks for a password, the path of its file is printed.

use crate::cli::env::{EnvAs, EnvFlags};
use crate::error::CommandError;
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::state::ClusterState;
use helenus_cluster::tools;
use helenus_model::format::Format;
use serde::Serialize;
use std::path::Path;

mod render;

/// Everything that `env` prints, in any form.
#[derive(Serialize)]
pub(super) struct Environment {
    format: Format,
    /// The cluster.
    cluster: String,
    /// Cassandra's name of the cluster.
    cluster_name: String,
    /// Addresses of its nodes, the one asked for first.
    contact_points: Vec<String>,
    /// CQL port.
    port: u16,
    /// Data centre.
    data_center: String,
    /// Release of Cassandra.
    release: String,
    /// The node whose folders are given.
    node: String,
    /// Folder of its configuration.
    conf: String,
    /// Folder of its data.
    data: String,
    /// Folder of its logs.
    logs: String,
    /// A folder with nodetool and cqlsh.
    bin: String,
    /// How a client logs in; absent without authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<Credentials>,
    /// Certificates; absent where nothing is encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<Tls>,
}

impl Answers for Environment {
    fn answer(&self) -> String {
        let points = self.contact_points.iter();
        let points: Vec<String> = points.map(|host| format!("{host}:{}", self.port)).collect();
        format!(
            "cluster {} speaks CQL at {}, data centre {}",
            self.cluster,
            points.join(", "),
            self.data_center
        )
    }
}

#[derive(Serialize)]
struct Credentials {
    /// The superuser.
    username: String,
    /// A file that only its owner can read.
    password_file: String,
    /// A file for cqlsh with both.
    #[serde(skip_serializing_if = "Option::is_none")]
    cqlshrc: Option<String>,
}

#[derive(Serialize)]
struct Tls {
    /// The authority's certificate.
    ca: String,
    /// The client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
    /// The client's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// The superuser of a cluster with authentication.
const SUPERUSER: &str = "helenus";

pub(crate) fn run(flags: &EnvFlags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (state, asked) = context.clusters.target(flags.target.as_deref())?;
    let environment = environment(&state, asked.as_deref())?;
    if flags.reader == EnvAs::Json {
        ui.json_value(&environment);
    } else {
        ui.result(&environment, || render::text(&environment, flags.reader));
    }
    Ok(0)
}

/// What a program finds in its environment beside a node, or beside the nodes of a data centre, which come first then.
pub(super) fn variables(
    state: &ClusterState,
    asked: Option<&str>,
) -> Result<Vec<(&'static str, String)>, CommandError> {
    let nodes = &state.plan.nodes;
    let Some(first) = nodes.iter().find(|n| asked == Some(&*n.data_center)) else {
        return Ok(render::variables(&environment(state, asked)?));
    };
    let (near, far): (Vec<_>, Vec<_>) = nodes
        .iter()
        .partition(|n| n.data_center == first.data_center);
    let points = near.into_iter().chain(far).map(|n| n.address.to_string());
    let bin = tools::folder(Path::new(&state.plan.folder));
    Ok(render::variables(&Environment {
        contact_points: points.collect(),
        bin: bin.to_string_lossy().into_owned(),
        ..environment(state, Some(&first.name))?
    }))
}

fn environment(state: &ClusterState, asked: Option<&str>) -> Result<Environment, CommandError> {
    let plan = &state.plan;
    let node = match asked {
        Some(name) => state.node(name)?,
        None => &plan.nodes[0],
    };
    // The node that is asked for comes first: what takes one contact point takes that.
    let mut contact_points = vec![node.address.to_string()];
    let others = plan.nodes.iter().filter(|n| n.name != node.name);
    contact_points.extend(others.map(|n| n.address.to_string()));
    let bin = match asked {
        Some(_) => tools::folder(Path::new(&node.folder)),
        None => tools::folder(Path::new(&plan.folder)),
    };
    Ok(Environment {
        format: Format::new("env", 1),
        cluster: plan.name.clone(),
        cluster_name: plan.name.clone(),
        contact_points,
        port: plan.ports.cql,
        data_center: node.data_center.clone(),
        release: plan.release.clone(),
        node: node.name.clone(),
        conf: format!("{}/conf", node.folder),
        data: node.data_folders().swap_remove(0),
        logs: format!("{}/logs", node.folder),
        bin: bin.to_string_lossy().into_owned(),
        credentials: credentials(&plan.folder),
        tls: tls(&plan.folder),
    })
}

/// A file of the cluster's folder, where it is there.
fn file(folder: &str, below: &str) -> Option<String> {
    let path = format!("{folder}/{below}");
    Path::new(&path).is_file().then_some(path)
}

fn credentials(folder: &str) -> Option<Credentials> {
    Some(Credentials {
        username: SUPERUSER.to_owned(),
        password_file: file(folder, "credentials/password")?,
        cqlshrc: file(folder, "credentials/cqlshrc"),
    })
}

fn tls(folder: &str) -> Option<Tls> {
    Some(Tls {
        ca: file(folder, "tls/ca.pem")?,
        certificate: file(folder, "tls/client.pem"),
        key: file(folder, "tls/client.key"),
    })
}
