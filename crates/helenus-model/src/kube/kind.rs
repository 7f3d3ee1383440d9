//! The configuration of a kind cluster that a topology fits: one worker per node, each with its share of the machine.
//! Refuses more workers than the memory carries.

use super::stateful::quantity;
use crate::units::{Bytes, lacking};
use crate::yaml::document::{Item, Mapping};

/// What a worker's own programs (kubelet, containerd, kube-proxy, the network) are given.
const WORKER: Bytes = Bytes::mib(300);

/// Free memory below which a kubelet evicts pods: it counts as taken.
const EVICTION: Bytes = Bytes::mib(100);

/// What the control plane is given.
const CONTROL_PLANE: Bytes = Bytes::mib(1024);

/// A port of the machine that leads into the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Port of the control plane's container: a NodePort of a service, such as Traefik's.
    pub container: u16,
    /// Port of this machine.
    pub host: u16,
}

/// NodePorts of Traefik as K8ssandra's guides have them: web, web with TLS, its own pages, CQL, CQL with TLS.
pub const TRAEFIK_PORTS: [Port; 5] = [
    Port {
        container: 32080,
        host: 8080,
    },
    Port {
        container: 32443,
        host: 8443,
    },
    Port {
        container: 32090,
        host: 9000,
    },
    Port {
        container: 32091,
        host: 9042,
    },
    Port {
        container: 32092,
        host: 9142,
    },
];

/// Which node a worker is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
}

/// What a kind cluster is made for.
#[derive(Debug, Clone, PartialEq)]
pub struct KindRequest {
    /// Name of the kind cluster.
    pub name: String,
    /// A worker for each node of Cassandra.
    pub workers: Vec<Worker>,
    /// Memory that each pod asks for.
    pub pod: Bytes,
    /// Memory of the machine, or of the virtual machine in which containers run.
    pub memory: Bytes,
    /// Label of workers whose value is the data centre's name.
    pub worker_label: String,
    /// Image of the nodes, where it is said.
    pub image: Option<String>,
    /// Ports of this machine.
    pub ports: Vec<Port>,
}

/// The cluster does not fit the machine.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{workers} workers with {each} each and a control plane of {} need {}", CONTROL_PLANE, lacking(*need, *has))]
pub struct KindTooLarge {
    /// Workers.
    pub workers: u64,
    /// Memory of each.
    pub each: Bytes,
    /// Of all.
    pub need: Bytes,
    /// There is.
    pub has: Bytes,
}

impl KindTooLarge {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let room = self.has.0.saturating_sub(CONTROL_PLANE.0);
        match room.checked_div(self.each.0) {
            Some(fits @ 1..) => format!("{fits} such nodes fit; or use a smaller preset or --heap"),
            _ => "use a smaller preset or --heap, or give Docker more memory".to_owned(),
        }
    }
}

/// The text of the configuration.
///
/// # Errors
/// The workers do not fit the memory.
pub fn kind(request: &KindRequest) -> Result<String, KindTooLarge> {
    let workers = request.workers.len() as u64;
    let each = request.pod + WORKER;
    let need = Bytes(each.0 * workers + CONTROL_PLANE.0);
    if need > request.memory {
        return Err(KindTooLarge {
            workers,
            each,
            need,
            has: request.memory,
        });
    }
    let share = Bytes((request.memory.0 - CONTROL_PLANE.0) / workers.max(1));
    let reserved = Bytes(request.memory.0 - share.0 + WORKER.0 - EVICTION.0);
    let kubelet = Mapping::new()
        .set("kind", "KubeletConfiguration")
        .set(
            "systemReserved",
            Mapping::new().set("memory", quantity(reserved)),
        )
        .render();
    let port = |port: &Port| {
        Mapping::new()
            .set("containerPort", port.container)
            .set("hostPort", port.host)
            .set("protocol", "TCP")
    };
    let ports: Vec<Mapping> = request.ports.iter().map(port).collect();
    let image = request.image.as_deref();
    let mut nodes = vec![
        Mapping::new()
            .set("role", "control-plane")
            .maybe("image", image),
    ];
    if !ports.is_empty() {
        nodes[0] = nodes[0].clone().why(
            "from this machine to NodePorts, which an ingress such as Traefik listens on",
            "extraPortMappings",
            ports,
        );
    }
    for Worker { data_center, rack } in &request.workers {
        let labels = Mapping::new()
            .set(request.worker_label.as_str(), data_center.as_str())
            .why(
                "racks are zones to Kubernetes",
                "topology.kubernetes.io/zone",
                super::names::label(&[data_center, rack], super::names::LABEL_MAX),
            );
        let worker = Mapping::new().set("role", "worker").maybe("image", image);
        nodes.push(worker.set("labels", labels));
    }
    let whole = Mapping::new()
        .set("kind", "Cluster")
        .set("apiVersion", "kind.x-k8s.io/v1alpha4")
        .set("name", request.name.as_str())
        .why(
            format!(
                "each worker sees the whole machine, {}: all but its share of {} is reserved, \
                 so that {workers} workers together promise no more than there is",
                request.memory, share
            ),
            "kubeadmConfigPatches",
            Item::List(vec![Item::Text(kubelet)]),
        )
        .set("nodes", nodes);
    Ok(whole.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(nodes: u32, memory: Bytes) -> KindRequest {
        KindRequest {
            name: "demo".into(),
            workers: (0..nodes)
                .map(|_| Worker {
                    data_center: "datacenter1".into(),
                    rack: "rack1".into(),
                })
                .collect(),
            pod: Bytes::mib(724),
            memory,
            worker_label: "dc".into(),
            image: None,
            ports: TRAEFIK_PORTS[..1].to_vec(),
        }
    }

    #[test]
    fn a_worker_a_node_with_its_share() {
        insta::assert_snapshot!(kind(&request(2, Bytes::mib(9216))).expect("fits"));
    }

    #[test]
    fn what_does_not_fit_says_what_would() {
        let error = kind(&request(9, Bytes::mib(8192))).expect_err("too large");
        insta::assert_snapshot!(format!("{error} ({})", error.hint()));
    }
}
