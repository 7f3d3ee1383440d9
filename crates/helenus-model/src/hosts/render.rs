//! A cluster's plan as the files of a tool, with what is to be done beside running it.
//! Refuses a plan whose nodes and hosts do not match.

use super::instance::{Instance, instances};
use super::options::{Form, HostsError, Options};
use super::{ansible, stack, tofu};
use crate::format::Format;
use crate::kube::ManifestFile;
use crate::plan::{ClusterPlan, STOCK_IS_OPEN, without_security};
use crate::release::Release;
use serde::Serialize;
use std::net::Ipv4Addr;

/// Version of [`HostsPlan`] as JSON.
pub const HOSTS_PLAN_VERSION: u32 = 1;

/// A cluster as files of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostsPlan {
    /// `helenus.hosts-plan/1`.
    pub format: Format,
    /// Name of the cluster.
    pub name: String,
    /// Who runs it.
    pub form: Form,
    /// Release of Cassandra.
    pub release: String,
    /// The nodes, in order.
    pub nodes: Vec<PlannedNode>,
    /// The files, in order.
    pub files: Vec<ManifestFile>,
    /// What a person does, in order: a command, or a sentence. `DIR` stands for the folder with the files.
    pub steps: Vec<String>,
    /// What to know before it is run.
    pub cautions: Vec<String>,
}

/// A node, and where it will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedNode {
    /// Its name: of its unit or container, and of its folders.
    pub name: String,
    /// Its host's name; absent where Docker chooses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its address; absent where Docker gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Ipv4Addr>,
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
    /// Whether it holds no data.
    pub coordinator: bool,
}

impl HostsPlan {
    /// All files as one text, each with its name in a comment.
    pub fn stream(&self) -> String {
        let text = |file: &ManifestFile| format!("# {}\n{}", file.path, file.text);
        self.files.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// Renders a cluster that was planned.
///
/// # Errors
/// Hosts that do not match the nodes, or what the form has no words for.
pub fn render(plan: &ClusterPlan, options: &Options) -> Result<HostsPlan, HostsError> {
    let form = options.form;
    let cannot = |what, hint| {
        Err(HostsError::Cannot {
            form: form.word(),
            what,
            hint,
        })
    };
    if has_secrets(plan) {
        return cannot(
            "a password among its settings: its files are read by many",
            "leave that --set or --jvm out, and bring it to the hosts from a vault of yours",
        );
    }
    match form {
        Form::Ansible | Form::Tofu => on_hosts(plan, options),
        Form::Swarm | Form::Compose => stack::render(plan, options),
    }
}

/// Whether settings of a person hold a secret. The keystores' password is none: the plan has a mark in its place.
fn has_secrets(plan: &ClusterPlan) -> bool {
    let mut own = plan.clone();
    for node in own.nodes.iter_mut().filter(|_| plan.security.tls) {
        // With TLS a person cannot set these keys.
        node.yaml = without_security(&node.yaml);
    }
    own.without_secrets() != own
}

/// Wants the nodes of a cluster that was brought up as they were: with its own tokens a new node would join without rows, and
/// one that leaves the list would go on running.
///
/// # Errors
/// [`HostsError::Nodes`].
pub fn same_nodes(
    (old, old_options): (&ClusterPlan, &Options),
    (new, new_options): (&ClusterPlan, &Options),
) -> Result<(), HostsError> {
    let (before, now) = (
        instances(old, &old_options.hosts),
        instances(new, &new_options.hosts),
    );
    let place = |one: &Instance<'_>| {
        let node = one.node;
        let tokens = node.tokens.clone();
        (
            one.address,
            node.data_center.clone(),
            node.rack.clone(),
            tokens,
            node.coordinator,
        )
    };
    let fault = |what: String| {
        Err(HostsError::Nodes {
            name: new.name.clone(),
            what,
        })
    };
    if old.security != new.security {
        return fault("without these passwords or this TLS".to_owned());
    }
    for one in &before {
        match now.iter().find(|other| other.address == one.address) {
            None => {
                return fault(format!(
                    "{} carries one of them, and is not in the list",
                    one.address
                ));
            }
            Some(other) if place(other) != place(one) => {
                return fault(format!(
                    "that of {} would have another place or other tokens",
                    one.address
                ));
            }
            Some(_) => {}
        }
    }
    match now
        .iter()
        .find(|one| before.iter().all(|other| other.address != one.address))
    {
        Some(new) => fault(format!("{} would be new", new.address)),
        None => Ok(()),
    }
}

fn on_hosts(plan: &ClusterPlan, options: &Options) -> Result<HostsPlan, HostsError> {
    let form = options.form;
    options.match_hosts(plan.nodes.len())?;
    let release = Release::find(&plan.release)
        .ok()
        .filter(|release| release.lock().is_some());
    let Some(release) = release else {
        return Err(HostsError::Cannot {
            form: form.word(),
            what: "a release without recorded checksums",
            hint: "take a series, such as --cassandra 5.0",
        });
    };
    let all = instances(plan, &options.hosts);
    let (files, steps) = match form {
        Form::Tofu => (
            tofu::files(plan, options, release, &all),
            tofu::steps(options),
        ),
        _ => (
            ansible::files(plan, options, release, &all),
            ansible_steps(plan),
        ),
    };
    Ok(HostsPlan {
        format: Format::new("hosts-plan", HOSTS_PLAN_VERSION),
        name: plan.name.clone(),
        form,
        release: plan.release.clone(),
        nodes: all.iter().map(|one| planned(one, options)).collect(),
        files,
        steps,
        cautions: cautions(plan, options),
    })
}

fn planned(one: &Instance<'_>, options: &Options) -> PlannedNode {
    PlannedNode {
        name: one.name.clone(),
        host: Some(options.hosts[one.host].name.clone()),
        address: Some(one.address),
        data_center: one.node.data_center.clone(),
        rack: one.node.rack.clone(),
        coordinator: one.node.coordinator,
    }
}

fn ansible_steps(plan: &ClusterPlan) -> Vec<String> {
    let mut steps = vec!["cd DIR".to_owned()];
    if plan.security.tls {
        let stores = plan.nodes.iter().map(|node| format!("{}.p12", node.name));
        let stores: Vec<String> = stores.collect();
        steps.push(format!(
            "put {}, truststore.p12 and keystore.password into tls/, and encrypt them: ansible-vault encrypt tls/*",
            stores.join(", ")
        ));
    }
    steps.extend(
        [
            "export HELENUS_JARS=FOLDER, where Cassandra's jars are: helenus hosts up sets it by itself",
            "ansible-playbook site.yml --check --diff",
            "ansible-playbook site.yml",
        ]
        .map(str::to_owned),
    );
    steps
}

fn cautions(plan: &ClusterPlan, options: &Options) -> Vec<String> {
    let mut all = Vec::new();
    if options.form == Form::Ansible {
        if plan.security.auth {
            all.push(STOCK_IS_OPEN.to_owned());
        } else {
            all.push(
                "no password is asked of clients: let only trusted networks reach these hosts, or add --auth"
                    .to_owned(),
            );
        }
    }
    all
}
