//! Operations through some nodes only, whatever they own: nodes that coordinate for all others.
//! Refuses to look at tokens: such nodes have none, and the driver's own policies know the ring only.

use scylla::client::session::Session;
use scylla::cluster::{ClusterState, NodeRef};
use scylla::policies::load_balancing::{FallbackPlan, LoadBalancingPolicy, RoutingInfo};
use scylla::routing::Shard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for connections, and the pause between two looks at them.
const REACHED_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits for connections to all nodes that may have any: the driver itself waits for nodes of the ring only. What cannot
/// be reached is told by the first statement.
pub(super) async fn reached(session: &Session) {
    let begin = Instant::now();
    let all = || {
        let state = session.get_cluster_state();
        let mut nodes = state.get_nodes_info().iter().filter(|n| n.is_enabled());
        nodes.all(|node| node.is_connected())
    };
    while !all() && begin.elapsed() < REACHED_WITHIN {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

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
