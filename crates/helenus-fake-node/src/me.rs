//! What a stand-in knows of itself and its peers, from the state that it was started with.
//! Refuses to look anywhere else.

use helenus_model::plan::NodePlan;
use std::path::Path;

/// A stand-in's own facts.
#[derive(Debug, Clone)]
pub(crate) struct Me {
    pub(crate) cluster: String,
    pub(crate) release: String,
    pub(crate) node: NodePlan,
    pub(crate) address: String,
    pub(crate) port: u16,
    pub(crate) peers: Vec<NodePlan>,
}

impl Me {
    pub(crate) fn read(folder: &Path) -> std::io::Result<Self> {
        let cluster = folder.parent().unwrap_or(folder).join("cluster.json");
        let text = fs_err::read_to_string(cluster)?;
        let state: helenus_cluster::state::ClusterState =
            serde_json::from_str(&text).map_err(std::io::Error::other)?;
        let own = folder.to_string_lossy();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let release = state.release_of(&name).to_owned();
        let (mine, peers): (Vec<NodePlan>, Vec<NodePlan>) =
            state.plan.nodes.into_iter().partition(|n| n.folder == own);
        let node = mine
            .into_iter()
            .next()
            .ok_or_else(|| std::io::Error::other("no such node in the state"))?;
        Ok(Self {
            cluster: state.plan.name,
            release,
            address: node.address.to_string(),
            node,
            port: state.plan.ports.cql,
            peers,
        })
    }
}

/// Whether a node of that release has the table: ports of peers and virtual tables came with 4.0.
pub(crate) fn has_table(release: &str, table: &str) -> bool {
    let newer = table == "system.peers_v2" || table.starts_with("system_views.");
    !(newer && release.starts_with("3."))
}

/// A host id that depends on the node's name only.
pub(crate) fn host_id(name: &str) -> [u8; 16] {
    let mut id = [7; 16];
    let bytes = name.as_bytes();
    let length = bytes.len().min(16);
    id[..length].copy_from_slice(&bytes[..length]);
    id
}
