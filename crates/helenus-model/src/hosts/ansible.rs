//! A cluster as Ansible has it: an inventory, the values of each host, the files of each node, and the roles that are the
//! same for all clusters. Refuses to put a secret into any of them.

use super::instance::{Instance, home, java};
use super::options::Options;
use crate::kube::ManifestFile;
use crate::plan::{ClusterPlan, Pin};
use crate::release::{Arch, Release};
use crate::units::Bytes;
use crate::yaml::document::{Item, Mapping};
use std::collections::BTreeMap;

/// A playbook that Helenus runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Playbook {
    /// Installs, and starts the nodes, seeds first.
    Site,
    /// Restarts the nodes, one at a time.
    Restart,
    /// Stops the nodes.
    Stop,
    /// Stops the nodes, and removes all that was installed.
    Remove,
}

impl Playbook {
    /// Its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Site => "site.yml",
            Self::Restart => "restart.yml",
            Self::Stop => "stop.yml",
            Self::Remove => "remove.yml",
        }
    }
}

/// The playbooks with what they do.
pub const PLAYBOOKS: [(Playbook, &str); 4] = [
    (
        Playbook::Site,
        "install, and start the nodes, seeds first; run again, it changes nothing",
    ),
    (Playbook::Restart, "restart the nodes, one at a time"),
    (Playbook::Stop, "stop the nodes"),
    (
        Playbook::Remove,
        "stop the nodes, and remove all that was installed",
    ),
];

/// A file that is the same for all clusters.
macro_rules! fixed {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../data/hosts/ansible/", $path)))),*]
    };
}

/// Playbooks, roles and settings of Ansible.
const FIXED: &[(&str, &str)] = fixed![
    "site.yml",
    "restart.yml",
    "stop.yml",
    "remove.yml",
    "swarm.yml",
    "ansible.cfg",
    "callback_plugins/helenus.py",
    "roles/cassandra/defaults/main.yml",
    "roles/cassandra/tasks/check.yml",
    "roles/cassandra/tasks/instance.yml",
    "roles/cassandra/tasks/jars.yml",
    "roles/cassandra/tasks/main.yml",
    "roles/cassandra/tasks/nothing_left.yml",
    "roles/cassandra/tasks/port.yml",
    "roles/cassandra/tasks/remove.yml",
    "roles/cassandra/tasks/restart.yml",
    "roles/cassandra/tasks/restart_changed.yml",
    "roles/cassandra/tasks/restart_one.yml",
    "roles/cassandra/tasks/ring.yml",
    "roles/cassandra/tasks/start.yml",
    "roles/cassandra/tasks/start_one.yml",
    "roles/cassandra/tasks/status_one.yml",
    "roles/cassandra/tasks/stop.yml",
    "roles/cassandra/tasks/stop_one.yml",
    "roles/cassandra/tasks/tls.yml",
    "roles/cassandra/tasks/wait_one.yml",
    "roles/cassandra/tasks/whose.yml",
    "roles/cassandra/templates/cassandra.init.j2",
    "roles/cassandra/templates/cassandra.service.j2",
    "roles/cassandra/templates/nodetool.j2",
    "roles/docker/tasks/main.yml",
    "roles/java/tasks/find.yml",
    "roles/java/tasks/main.yml",
    "roles/machine/files/helenus-machine",
    "roles/machine/files/helenus-machine.service",
    "roles/machine/files/machine.settings",
    "roles/machine/tasks/main.yml",
    "roles/machine/tasks/undo.yml",
    "roles/machine/templates/limits.conf.j2",
];

/// All files, the generated ones first.
pub(super) fn files(
    plan: &ClusterPlan,
    options: &Options,
    release: &Release,
    instances: &[Instance<'_>],
) -> Vec<ManifestFile> {
    let mut files = vec![
        file(
            "inventory.yml",
            "the hosts, and how they are reached",
            inventory(options, instances),
        ),
        file(
            "group_vars/all/main.yml",
            "what holds for all hosts",
            all_hosts(plan, options, release),
        ),
    ];
    for (number, host) in options.hosts.iter().enumerate() {
        let own: Vec<&Instance<'_>> = instances.iter().filter(|one| one.host == number).collect();
        let values = Mapping::new().set(
            "cassandra_instances",
            own.iter()
                .map(|one| Item::Map(values(plan, options, one)))
                .collect::<Vec<_>>(),
        );
        let about = format!("the nodes of {}", host.name);
        files.push(file(
            &format!("host_vars/{}.yml", host.name),
            &about,
            values,
        ));
    }
    let seeds: Vec<String> = instances
        .iter()
        .filter(|one| one.seed)
        .map(|one| one.address.to_string())
        .collect();
    for one in instances {
        for (name, text) in one.files(plan, release, &seeds.join(",")) {
            files.push(ManifestFile {
                path: format!("files/{}/{name}", one.name),
                about: format!("{name} of {}", one.name),
                text,
            });
        }
    }
    files.push(ManifestFile {
        path: "files/jars.sha256".to_owned(),
        about: "checksums of Cassandra's jars".to_owned(),
        text: checksums(release),
    });
    files.extend(FIXED.iter().map(|(path, text)| ManifestFile {
        path: (*path).to_owned(),
        about: about(path).to_owned(),
        text: (*text).to_owned(),
    }));
    files
}

/// The inventory alone.
pub(super) fn inventory(options: &Options, instances: &[Instance<'_>]) -> Mapping {
    let host = |number: usize| {
        let host = &options.hosts[number];
        let at = host.addresses[0].to_string();
        (host.name.as_str(), Mapping::new().set("ansible_host", at))
    };
    let group = |wanted: &dyn Fn(&Instance<'_>) -> bool, with: bool| {
        let mut hosts = Mapping::new();
        for one in instances.iter().filter(|one| wanted(one)) {
            let (name, values) = host(one.host);
            let values = if with { values } else { Mapping::new() };
            hosts = hosts.set(name, values);
        }
        Mapping::new().set("hosts", hosts)
    };
    let mut centers = Mapping::new();
    for one in instances {
        let center = &one.node.data_center;
        let in_it = |other: &Instance<'_>| other.node.data_center == *center;
        centers = centers.set(group_name(center), group(&in_it, true));
    }
    let login = &options.login;
    let vars = Mapping::new()
        .maybe("ansible_user", login.user.as_deref())
        .maybe("ansible_port", login.port.map(u32::from))
        .maybe("ansible_ssh_private_key_file", login.key.as_deref());
    let all = Mapping::new().set(
        "children",
        Mapping::new()
            .set("cassandra", Mapping::new().set("children", centers))
            .why(
                "the nodes that others are found by: they start first",
                "seeds",
                group(&|one| one.seed, false),
            )
            .why(
                "where Docker Swarm begins, for swarm.yml only",
                "managers",
                group(&|one| one.host == 0, false),
            ),
    );
    let all = match vars.is_empty() {
        true => all,
        false => all.set("vars", vars),
    };
    Mapping::new().set("all", all)
}

/// A data centre as the name of a group: letters, digits and underscores.
fn group_name(center: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    format!("dc_{}", center.chars().map(plain).collect::<String>())
}

fn all_hosts(plan: &ClusterPlan, options: &Options, release: &Release) -> Mapping {
    Mapping::new()
        .set("cassandra_cluster", plan.name.as_str())
        .why(
            "what the nodes on a host are known by: remove.yml leaves all others alone",
            "cassandra_id",
            match &options.id {
                None => plan.name.clone(),
                Some(id) => format!("{} {id}", plan.name),
            },
        )
        .set("cassandra_release", plan.release.as_str())
        .why(
            "the newest that the release supports; another one that it supports does as well",
            "cassandra_java",
            java(release),
        )
        .set("cassandra_home", home(release.version))
        .set("cassandra_user", "cassandra")
        .why(
            "the folder of this machine with the jars: they are copied from here, and nothing is downloaded there",
            "cassandra_jars",
            "{{ lookup('ansible.builtin.env', 'HELENUS_JARS') }}",
        )
        .maybe(
            "cassandra_tls",
            plan.security.tls.then_some("{{ playbook_dir }}/tls"),
        )
        .set("cassandra_cql_port", u32::from(plan.ports.cql))
        .set("cassandra_storage_port", u32::from(plan.ports.storage))
        .why(
            "whether kernel settings and limits of the hosts are set to what Cassandra wants; remove.yml puts them back",
            "cassandra_machine",
            options.machine,
        )
        .why("seconds that a node may take to serve", "cassandra_start_timeout", 300_u32)
}

fn values(plan: &ClusterPlan, options: &Options, one: &Instance<'_>) -> Mapping {
    let node = one.node;
    let cpus = plan.limits.and_then(|limits| limits.cpus);
    let pin = node.pin.as_ref();
    let numa = pin.map(numa).filter(|numa| !numa.is_empty());
    let mut environment = Mapping::new();
    for (key, value) in &node.environment {
        environment = environment.set(key.as_str(), value.as_str());
    }
    Mapping::new()
        .set("name", one.name.as_str())
        .set("address", one.address.to_string())
        .set("data_center", node.data_center.as_str())
        .set("rack", node.rack.as_str())
        .set("seed", one.seed)
        .set("coordinator", node.coordinator)
        .maybe("keystore", plan.security.tls.then(|| one.keystore()))
        .set("jmx_port", u32::from(one.jmx_port(plan)))
        .maybe("memory_max", options.memory_limit.map(mebibytes))
        .maybe("cpu_quota", cpus.map(|cpus| (cpus * 100.0).ceil() as u32))
        .maybe("cpus", pin.map(|pin| pin.cpus.to_string()))
        .maybe("numa_node", numa)
        .why(
            "a small heap is not worth the memory that locking it costs",
            "lock_memory",
            !one.is_small(plan),
        )
        .maybe("timer_slack_us", node.timer_slack_us)
        .set("environment", environment)
}

fn numa(pin: &Pin) -> String {
    let nodes: Vec<String> = pin.numa.iter().map(u32::to_string).collect();
    nodes.join(",")
}

/// A size as systemd writes it.
fn mebibytes(size: Bytes) -> String {
    format!("{}M", size.0.div_ceil(1 << 20))
}

/// The release's jars as `sha256sum -c` reads them.
fn checksums(release: &Release) -> String {
    // Hosts have the processor of the machine that the jars come from.
    let jars = release
        .lock()
        .into_iter()
        .flat_map(|lock| lock.artifacts(Arch::here()));
    let all: BTreeMap<&str, &str> = jars
        .map(|jar| (jar.file.as_str(), jar.sha256.as_str()))
        .collect();
    all.iter()
        .map(|(file, sha256)| format!("{sha256}  {file}\n"))
        .collect()
}

fn about(path: &str) -> &'static str {
    let playbook = PLAYBOOKS
        .iter()
        .find(|(playbook, _)| playbook.file() == path);
    match (playbook, path) {
        (Some((_, about)), _) => about,
        (None, "ansible.cfg") => "settings of Ansible for this folder",
        (None, "swarm.yml") => "install Docker, and join the hosts to a Swarm",
        (None, _) if path.starts_with("roles/machine/") => {
            "kernel settings and limits, with their way back"
        }
        (None, _) if path.starts_with("roles/java/") => "Java",
        (None, _) if path.starts_with("roles/docker/") => "Docker and its Swarm",
        (None, _) if path.starts_with("roles/cassandra/") => {
            "Cassandra: user, jars, configuration, units"
        }
        (None, _) => "part of the playbooks",
    }
}

fn file(path: &str, about: &str, document: Mapping) -> ManifestFile {
    ManifestFile {
        path: path.to_owned(),
        about: about.to_owned(),
        text: format!("---\n{}", document.render()),
    }
}
