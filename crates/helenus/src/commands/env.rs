//! `helenus env`: contact points for shells, scripts and drivers.

use crate::cli::Named;
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::lifecycle::Hands;
use helenus_model::format::Format;
use serde::Serialize;

#[derive(Serialize)]
struct Environment {
    format: Format,
    cluster: String,
    cluster_name: String,
    contact_points: Vec<String>,
    port: u16,
    data_center: String,
    release: String,
}

pub(crate) fn run(flags: &Named, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let state = hands.clusters.resolve(flags.name.as_deref())?;
    let plan = &state.plan;
    let environment = Environment {
        format: Format::new("env", 1),
        cluster: plan.name.clone(),
        cluster_name: plan.name.clone(),
        contact_points: plan.nodes.iter().map(|n| n.address.to_string()).collect(),
        port: plan.ports.cql,
        data_center: plan.nodes[0].data_center.clone(),
        release: plan.release.clone(),
    };
    ui.result(&environment, || text(&environment));
    Ok(0)
}

/// No value needs quotes: names are words, the rest numbers and addresses.
fn text(e: &Environment) -> String {
    format!(
        "export HELENUS_CLUSTER={}\n\
         export CASSANDRA_CONTACT_POINTS={}\n\
         export CASSANDRA_PORT={}\n\
         export CASSANDRA_DATACENTER={}\n\
         export CASSANDRA_CLUSTER_NAME={}\n\
         export CASSANDRA_VERSION={}\n\
         export CQLSH_HOST={}\n\
         export CQLSH_PORT={}\n",
        e.cluster,
        e.contact_points.join(","),
        e.port,
        e.data_center,
        e.cluster_name,
        e.release,
        e.contact_points[0],
        e.port,
    )
}
