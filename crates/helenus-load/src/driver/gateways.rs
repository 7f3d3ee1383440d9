//! Operations through some nodes only, whatever they own: nodes that coordinate for all others.
//! Refuses to look at tokens: such nodes have none, and the driver's own policies know the ring only.

use scylla::cluster::{ClusterState, NodeRef};
use scylla::policies::load_balancing::{FallbackPlan, LoadBalancingPolicy, RoutingInfo};
use scylla::routing::Shard;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each in turn of the nodes that the driver may connect to.
#[derive(Debug, Default)]
pub(super) struct InTurn {
    next: AtomicUsize,
}

impl InTurn {
    fn from<'a>(
        &self,
        cluster: &'a ClusterState,
    ) -> impl Iterator<Item = (NodeRef<'a>, Option<Shard>)> + use<'a> {
        let nodes = cluster.get_nodes_info();
        let begin = self.next.fetch_add(1, Ordering::Relaxed) % nodes.len().max(1);
        let (behind, before) = nodes.split_at(begin);
        let all = before.iter().chain(behind);
        all.filter(|node| node.is_enabled())
            .map(|node| (node, None))
    }
}

impl LoadBalancingPolicy for InTurn {
    fn pick<'a>(
        &'a self,
        _request: &'a RoutingInfo,
        cluster: &'a ClusterState,
    ) -> Option<(NodeRef<'a>, Option<Shard>)> {
        self.from(cluster).find(|(node, _)| node.is_connected())
    }

    fn fallback<'a>(
        &'a self,
        _request: &'a RoutingInfo,
        cluster: &'a ClusterState,
    ) -> FallbackPlan<'a> {
        Box::new(self.from(cluster))
    }

    fn name(&self) -> String {
        "InTurn".to_owned()
    }
}
