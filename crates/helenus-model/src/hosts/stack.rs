//! A cluster as containers: one service a rack for Docker Swarm, one service a node for Docker Compose, both with the
//! image and the launcher of our pods. Refuses to let Docker choose what Cassandra must know: names and tokens.

use super::options::{Network, Options};
use crate::kube::ManifestFile;
use crate::kube::layout::{Layout, Set};
use crate::kube::names::short_hash;
use crate::kube::options::{Form as KubeForm, KubeError, Options as KubeOptions};
use crate::kube::pod::{
    CONF_FOLDER, CONSOLE_LOGBACK, DATA_FOLDER, JVM_KEY, LAUNCHER, LOGBACK_KEY, POD_IP, POD_KEY,
    POD_NAME, PodConfig, RACKDC_KEY, RUN_FOLDER, USER_ID, YAML_KEY,
};
use crate::plan::{ClusterPlan, NodePlan, rackdc};
use crate::yaml::document::{Item, Mapping};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// The network of the containers of a Compose file.
const SUBNET: [u8; 3] = [10, 203, 113];

/// The first address that a container gets there: the first is the gateway's.
const FIRST: u8 = 11;

/// The name of the network in the files.
const NETWORK: &str = "cassandra";

/// The network of the hosts, as Docker names it.
const HOST: &str = "host";

/// The cluster as containers.
pub(super) struct Stack<'a> {
    plan: &'a ClusterPlan,
    options: &'a Options,
    layout: Layout,
}

impl<'a> Stack<'a> {
    pub(super) fn of(plan: &'a ClusterPlan, options: &'a Options) -> Result<Self, KubeError> {
        let kube = KubeOptions {
            image: options.image.clone(),
            ..KubeOptions::new(KubeForm::Plain, &plan.release)
        };
        kube.check()?;
        Ok(Self {
            plan,
            options,
            layout: Layout::of(plan, &kube)?,
        })
    }

    /// The stack file of a Swarm.
    pub(super) fn swarm(&self) -> ManifestFile {
        let mut services = Mapping::new();
        let mut configs = Mapping::new();
        let mut volumes = Mapping::new();
        for set in &self.layout.sets {
            let files = self.files(set, &self.seeds(), &names_in_slots(set));
            let mut mounted = Vec::new();
            for (name, text) in &files {
                let config = config_name(set, name, text);
                mounted.push(Item::Map(
                    Mapping::new()
                        .set("source", config.as_str())
                        .set("target", format!("{CONF_FOLDER}/{name}")),
                ));
                configs = configs.set(
                    config.as_str(),
                    Mapping::new().set("name", config.as_str()).set("content", Item::Text(text.clone())),
                );
            }
            services = services.set(set.name.as_str(), self.service(set, mounted));
            if !set.coordinator {
                volumes = volumes.set(
                    volume(set),
                    Mapping::new().why(
                        "one for each task, so that a task that comes back finds its data on its host",
                        "name",
                        format!("{}-{{{{.Task.Slot}}}}", set.name),
                    ),
                );
            }
        }
        let whole = Mapping::new()
            .set("version", "3.8")
            .set("services", services)
            .set("configs", configs)
            .set("volumes", volumes)
            .set("networks", self.networks());
        ManifestFile {
            path: "stack.yml".to_owned(),
            about: "the services, for docker stack deploy".to_owned(),
            text: whole.render(),
        }
    }

    fn networks(&self) -> Mapping {
        match self.options.network {
            Network::Host => Mapping::new().set(
                NETWORK,
                Mapping::new().set("external", true).set("name", HOST),
            ),
            Network::Overlay => Mapping::new().set(
                NETWORK,
                Mapping::new()
                    .set("driver", "overlay")
                    .why("docker run --network reaches the nodes, too", "attachable", true),
            ),
        }
    }

    /// The names under which the seeds are found: the services of the first rack of each data centre.
    fn seeds(&self) -> Vec<String> {
        let mut centers = Vec::new();
        let sets = self.layout.sets.iter().filter(|set| !set.coordinator);
        let first = sets.filter(|set| {
            let new = !centers.contains(&set.center);
            centers.push(set.center);
            new
        });
        first.map(|set| set.name.clone()).collect()
    }

    fn service(&self, set: &Set, configs: Vec<Item>) -> Mapping {
        let center = &self.layout.centers[set.center];
        let slot = format!("{}-{{{{.Task.Slot}}}}", set.name);
        let on_host = self.options.network == Network::Host;
        let mut environment = Mapping::new().set(POD_NAME, slot.as_str());
        if on_host {
            environment = environment.why(
                "the address that the host's own name has",
                POD_IP,
                "{{.Node.Hostname}}",
            );
        }
        for (key, value) in &set.environment {
            environment = environment.set(key.as_str(), value.as_str());
        }
        let service = self
            .common(set)
            .set("hostname", slot.as_str())
            .set("environment", environment)
            .set("configs", configs)
            .set("networks", [NETWORK]);
        let service = match set.coordinator {
            true => service,
            false => service.set(
                "volumes",
                [Mapping::new()
                    .set("type", "volume")
                    .set("source", volume(set))
                    .set("target", DATA_FOLDER)],
            ),
        };
        service.set("deploy", self.deploy(set, &center.name, on_host))
    }

    fn deploy(&self, set: &Set, center: &str, on_host: bool) -> Mapping {
        let deploy = Mapping::new().set("replicas", set.replicas());
        let deploy = match on_host {
            // Docker has no say in the network of a host.
            true => deploy,
            false => deploy.why(
                "a name leads to the nodes themselves: a virtual address would stand between them",
                "endpoint_mode",
                "dnsrr",
            ),
        };
        let several = self.layout.centers.len() > 1;
        let placement = Mapping::new().why(
            "a lost host takes one node of a rack with it, not two",
            "max_replicas_per_node",
            1_u32,
        );
        let placement = match several {
            false => placement,
            true => placement.why(
                format!("docker node update --label-add dc={center} HOST"),
                "constraints",
                [format!("node.labels.dc == {center}")],
            ),
        };
        deploy
            .set("placement", placement)
            .set("resources", resources(set))
            .set(
                "restart_policy",
                Mapping::new().set("condition", "any").set("delay", "5s"),
            )
            .why(
                "one node at a time: two nodes never have one volume",
                "update_config",
                Mapping::new()
                    .set("parallelism", 1_u32)
                    .set("order", "stop-first")
                    .set("delay", "60s"),
            )
    }

    /// What a service of either file has.
    fn common(&self, set: &Set) -> Mapping {
        let _ = set;
        Mapping::new()
            .set("image", self.options.image.as_str())
            .set("command", [LAUNCHER, "__pod", "start"])
            .set("user", format!("{USER_ID}:{USER_ID}"))
            .set("read_only", true)
            .why(
                "Cassandra writes its memtables out before it ends",
                "stop_grace_period",
                "120s",
            )
            .set("cap_drop", ["ALL"])
            .set("tmpfs", [RUN_FOLDER, "/tmp"])
    }

    /// The files of a node by their names.
    fn files(
        &self,
        set: &Set,
        seeds: &[String],
        tokens: &BTreeMap<String, Vec<i64>>,
    ) -> BTreeMap<&'static str, String> {
        let center = &self.layout.centers[set.center];
        let peers = self.layout.sets.iter().map(|set| set.name.clone());
        let pod = PodConfig::new(
            &self.plan.release,
            (seeds.to_vec(), peers.collect()),
            tokens.clone(),
            set.timer_slack_us,
        );
        let flags: String = set.jvm.iter().map(|flag| format!("{flag}\n")).collect();
        BTreeMap::from([
            (YAML_KEY, set.yaml.clone()),
            (RACKDC_KEY, rackdc(&center.name, &set.rack)),
            (JVM_KEY, flags),
            (LOGBACK_KEY, CONSOLE_LOGBACK.to_owned()),
            (POD_KEY, pod.text()),
        ])
    }

    /// The address of a node in a Compose file.
    pub(super) fn address(number: usize) -> Ipv4Addr {
        let [a, b, c] = SUBNET;
        let last = usize::from(FIRST) + number;
        Ipv4Addr::new(a, b, c, u8::try_from(last).unwrap_or(u8::MAX))
    }
}

fn volume(set: &Set) -> String {
    format!("data-{}", set.name)
}

/// The tokens of the tasks of a set by their names; Swarm counts slots from 1.
fn names_in_slots(set: &Set) -> BTreeMap<String, Vec<i64>> {
    let slots = set.tokens.iter().zip(1..);
    slots
        .filter(|(tokens, _)| !tokens.is_empty())
        .map(|(tokens, slot)| (format!("{}-{slot}", set.name), tokens.clone()))
        .collect()
}

/// Configs of a Swarm never change: another text is another config.
fn config_name(set: &Set, file: &str, text: &str) -> String {
    format!("{}-{}-{}", set.name, file.replace('.', "-"), short_hash(text))
}

fn resources(set: &Set) -> Mapping {
    let mib = |size: crate::units::Bytes| format!("{}M", size.0.div_ceil(1 << 20));
    Mapping::new()
        .set(
            "limits",
            Mapping::new().why(
                format!("what the node can come to at most, {}, and page cache", set.memory.bound),
                "memory",
                mib(set.memory_limit(crate::units::Bytes::mib(128))),
            ),
        )
        .set(
            "reservations",
            Mapping::new().set("memory", mib(set.memory_request())),
        )
}

/// The node of a plan in a Compose file.
pub(super) fn service_name(plan: &ClusterPlan, node: &NodePlan) -> String {
    format!("{}-{}", plan.name, node.name)
}
