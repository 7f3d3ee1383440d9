//! What a person says of a cluster on hosts beside its topology: who runs it, which hosts, how they are reached.
//! Refuses what the tools would refuse later.

use super::machines::{Host, HostsTextError};
use crate::kube::options::{KubeError, image_of};
use crate::units::Bytes;
use crate::worded::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// Who runs the cluster.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Form {
        /// Playbooks, roles and an inventory for Ansible.
        Ansible = "ansible",
        /// A stack file for Docker Swarm.
        Swarm = "swarm",
        /// A file for Docker Compose, on one host.
        Compose = "compose",
        /// Machines for OpenTofu or Terraform, with an inventory as output.
        Tofu = "tofu",
    }
}

worded! {
    /// Whose machines OpenTofu makes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Provider {
        /// Virtual machines of Proxmox VE.
        #[default]
        Proxmox = "proxmox",
        /// Docker containers that stand for machines, to try it.
        Docker = "docker",
    }
}

worded! {
    /// The network of containers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Network {
        /// One of their own over all hosts.
        #[default]
        Overlay = "overlay",
        /// That of their hosts, one node a host: nothing lies between Cassandra and the wire.
        Host = "host",
    }
}

/// How Ansible logs in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Login {
    /// User; who runs Ansible where it is not said.
    pub user: Option<String>,
    /// File with the private key; ssh's own choice where it is not said.
    pub key: Option<String>,
    /// Port; 22 where it is not said.
    pub port: Option<u16>,
}

/// What is asked for beside the cluster's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Who runs it.
    pub form: Form,
    /// The id by which Helenus knows on a host what it brought up; the name alone where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The hosts; none for containers, which Docker places.
    pub hosts: Vec<Host>,
    /// How they are reached.
    pub login: Login,
    /// Whether the hosts' kernel settings and limits are changed to what Cassandra wants.
    pub machine: bool,
    /// Hard limit of each node's memory, its page cache among it; none where it is not said.
    pub memory_limit: Option<Bytes>,
    /// Image of containers.
    pub image: String,
    /// Network of containers.
    pub network: Network,
    /// Whose machines OpenTofu makes.
    pub provider: Provider,
    /// Processors of a machine that OpenTofu makes.
    pub cpus: u32,
    /// Memory of a machine that OpenTofu makes.
    pub memory: Bytes,
    /// Disk of a machine that OpenTofu makes.
    pub disk: Bytes,
}

impl Options {
    /// The options of that form, all others by default.
    pub fn new(form: Form, release: &str) -> Self {
        Self {
            form,
            id: None,
            hosts: Vec::new(),
            login: Login::default(),
            machine: true,
            memory_limit: None,
            image: image_of(release),
            network: Network::default(),
            provider: Provider::default(),
            cpus: 4,
            memory: Bytes::mib(8192),
            disk: Bytes::mib(32 * 1024),
        }
    }
}

impl Options {
    /// Wants one address for each node.
    ///
    /// # Errors
    /// No hosts, or not as many addresses.
    pub(super) fn match_hosts(&self, nodes: usize) -> Result<(), HostsError> {
        let addresses = self.hosts.iter().map(|host| host.addresses.len()).sum();
        let form = self.form.word();
        match (self.hosts.is_empty(), nodes == addresses) {
            (true, _) => Err(HostsError::NoHosts { form, nodes }),
            (false, false) => Err(HostsError::Count { nodes, addresses }),
            (false, true) => Ok(()),
        }
    }
}

/// Why a cluster cannot be rendered for hosts.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HostsError {
    /// The list of hosts.
    #[error(transparent)]
    Text(#[from] HostsTextError),
    /// No hosts.
    #[error("{form} needs the hosts of the cluster")]
    NoHosts {
        /// The form.
        form: &'static str,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Hosts, for a form that does not use them.
    #[error("{0} assigns nodes to hosts itself and takes no list of hosts")]
    Hosts(&'static str),
    /// Not one address for each node.
    #[error("the cluster has {nodes} nodes; addresses in the list of hosts: {addresses}")]
    Count {
        /// Nodes of the plan.
        nodes: usize,
        /// Addresses of the hosts.
        addresses: usize,
    },
    /// A node that was brought up would go, come or have another place.
    #[error("{name} was brought up with other nodes: {what}")]
    Nodes {
        /// The cluster.
        name: String,
        /// What is different.
        what: String,
    },
    /// A part of the cluster that the form has no words for.
    #[error("{form} cannot have {what}")]
    Cannot {
        /// The form.
        form: &'static str,
        /// What it cannot have.
        what: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The containers' part.
    #[error(transparent)]
    Containers(#[from] KubeError),
}

impl HostsError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Text(error) => error.hint(),
            Self::NoHosts { nodes, .. } => format!(
                "add --hosts with one address for each of the {nodes} nodes, such as --hosts 10.0.0.11-{}",
                (10 + nodes).min(254)
            ),
            Self::Hosts(_) => "leave --hosts out; --network host puts one node on each host".to_owned(),
            Self::Count { nodes, addresses } if addresses < nodes => {
                "give each node an address: a host that carries two has two, as big=10.0.0.11+10.0.0.12".to_owned()
            }
            Self::Count { nodes, .. } => format!("name {nodes} of them, or add nodes to the topology"),
            Self::Nodes { name, .. } => format!(
                "name the same hosts and topology; for others, helenus hosts rm {name} first: Helenus does not move data between hosts"
            ),
            Self::Cannot { hint, .. } => (*hint).to_owned(),
            Self::Containers(error) => error.hint(),
        }
    }
}
