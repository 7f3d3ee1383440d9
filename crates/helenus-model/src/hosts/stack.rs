//! A cluster as containers: one service a rack for Docker Swarm, one service a node for Docker Compose, both with the
//! image and the launcher of our pods. Refuses to let Docker choose what Cassandra must know: names and tokens.

use super::instance::instances;
use super::options::{Form, HostsError, Network, Options};
use super::render::{HOSTS_PLAN_VERSION, HostsPlan, PlannedNode};
use crate::format::Format;
use crate::kube::ManifestFile;
use crate::kube::layout::{Layout, Set};
use crate::kube::names::short_hash;
use crate::kube::options::{Form as KubeForm, Options as KubeOptions};
use crate::kube::pod::{
    CONF_FOLDER, CONSOLE_LOGBACK, DATA_FOLDER, JVM_KEY, KEYSTORE, KEYSTORE_PASSWORD, LAUNCHER,
    LOGBACK_KEY, POD_IP, POD_IP_MARK, POD_KEY, POD_NAME, PodConfig, RACKDC_KEY, RUN_FOLDER,
    TLS_FOLDER, TRUSTSTORE, USER_ID, YAML_KEY,
};
use crate::plan::{ClusterPlan, STOCK_IS_OPEN, rackdc};
use crate::units::Bytes;
use crate::yaml;
use crate::yaml::document::{Item, Mapping};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// The network of the containers of a Compose file.
const SUBNET: &str = "10.203.113.0/24";

/// The most nodes that its addresses are for.
const COMPOSE_MOST: usize = 200;

/// The name of the network in the files.
const NETWORK: &str = "cassandra";

/// What containers with TLS have in their folder of certificates.
const STORES: [&str; 3] = [KEYSTORE, TRUSTSTORE, KEYSTORE_PASSWORD];

/// Page cache in each container's memory limit.
const PAGE_CACHE: Bytes = Bytes::mib(128);

/// What is rendered for containers.
struct Stack<'a> {
    plan: &'a ClusterPlan,
    options: &'a Options,
    layout: Layout,
}

/// Renders a cluster for Swarm or Compose.
///
/// # Errors
/// Hosts, which Docker chooses itself; or what the form has no words for.
pub(super) fn render(plan: &ClusterPlan, options: &Options) -> Result<HostsPlan, HostsError> {
    let form = options.form;
    match form == Form::Swarm && options.network == Network::Host {
        true => options.match_hosts(plan.nodes.len())?,
        false if options.hosts.is_empty() => {}
        false => return Err(HostsError::Hosts(form.word())),
    }
    let cannot = |what, hint| HostsError::Cannot {
        form: form.word(),
        what,
        hint,
    };
    if form == Form::Compose && plan.nodes.len() > COMPOSE_MOST {
        return Err(cannot(
            "so many nodes",
            "take --as swarm, over several hosts",
        ));
    }
    let kube = KubeOptions {
        image: options.image.clone(),
        ..KubeOptions::new(KubeForm::Plain, &plan.release)
    };
    kube.check()?;
    let stack = Stack {
        plan,
        options,
        layout: Layout::of(plan, &kube)?,
    };
    let mut files = match form {
        Form::Compose => vec![stack.compose()],
        _ => vec![stack.swarm(), stack.load()],
    };
    files.extend(stack.mounted());
    Ok(HostsPlan {
        format: Format::new("hosts-plan", HOSTS_PLAN_VERSION),
        name: plan.name.clone(),
        form,
        release: plan.release.clone(),
        nodes: stack.nodes(),
        files,
        steps: stack.steps(),
        cautions: stack.cautions(),
    })
}

impl<'a> Stack<'a> {
    /// The nodes with their names; Compose's have addresses, too.
    fn nodes(&self) -> Vec<PlannedNode> {
        let sets = self
            .layout
            .sets
            .iter()
            .flat_map(|set| (1..=set.replicas()).map(move |slot| (set, slot)));
        sets.enumerate()
            .map(|(number, (set, slot))| PlannedNode {
                name: format!("{}-{slot}", set.name),
                host: None,
                address: (self.options.form == Form::Compose).then(|| address(number)),
                data_center: self.layout.centers[set.center].name.clone(),
                rack: set.rack.clone(),
                coordinator: set.coordinator,
            })
            .collect()
    }

    fn steps(&self) -> Vec<String> {
        let image = format!("helenus kube image --cassandra {}", self.plan.release);
        let name = &self.layout.label;
        let keys = self.plan.security.tls.then(|| {
            let names = self.layout.sets.iter().map(|set| set.name.clone());
            format!(
                "put {} into DIR/tls, readable by user {USER_ID}; the certificate has the names {} and localhost",
                STORES.join(", "),
                names.collect::<Vec<_>>().join(", ")
            )
        });
        let load = "docker load -i FILE".to_owned();
        match self.options.form {
            Form::Compose => {
                let up = format!("docker compose -p {name} -f DIR/compose.yml up -d --wait");
                [image, load].into_iter().chain(keys).chain([up]).collect()
            }
            _ => {
                let mut steps = vec![
                    image,
                    format!("{load} on each host, or push it to your registry"),
                ];
                steps.extend(keys);
                let on_host = self.options.network == Network::Host;
                for set in self.layout.sets.iter().filter(|_| on_host) {
                    let center = &self.layout.centers[set.center].name;
                    steps.push(format!(
                        "docker node update --label-add dc={center} --label-add rack={} HOST",
                        set.rack
                    ));
                }
                let several = self.layout.centers.len() > 1 && !on_host;
                for center in self.layout.centers.iter().filter(|_| several) {
                    steps.push(format!(
                        "docker node update --label-add dc={} HOST",
                        center.name
                    ));
                }
                steps.extend([
                    format!("docker stack deploy -c DIR/stack.yml {name}"),
                    format!("docker stack ps {name}"),
                    "sh DIR/load.sh 2 kv --rate 500 --duration 60s, once the workload's tables exist: helenus workload show kv prints them".to_owned(),
                    format!("after docker stack rm {name}, docker volume ls: volumes stay on each host until they are removed there"),
                ]);
                steps
            }
        }
    }

    fn cautions(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.options.form == Form::Swarm {
            if self.layout.sets.len() > 1 {
                all.push("Docker updates all services of a stack at the same time: change one rack's service at a time, or replicas of one row are down together".to_owned());
            }
            all.push("a task that Docker moves to another host finds no data there: repair it, or keep each service on its hosts".to_owned());
        }
        if self.plan.security.tls {
            all.push("you have to create the keystores in tls/; anyone who can read that folder can decrypt the nodes' traffic".to_owned());
        }
        if self.plan.security.auth {
            all.push(STOCK_IS_OPEN.to_owned());
        }
        all
    }

    /// The stack file of a Swarm.
    fn swarm(&self) -> ManifestFile {
        let mut services = Mapping::new();
        let mut configs = Mapping::new();
        let mut volumes = Mapping::new();
        for set in &self.layout.sets {
            let files = self.files(set, &self.seeds());
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
                    Mapping::new()
                        .set("name", config.as_str())
                        .set("file", format!("./{}", path_of(set, name))),
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
        let mut secrets = Mapping::new();
        for store in self.stores() {
            let file = Mapping::new().set("file", format!("./tls/{store}"));
            secrets = secrets.set(*store, file);
        }
        let whole = Mapping::new()
            .set("version", "3.8")
            .set("services", services)
            .set("configs", configs)
            .maybe("secrets", (!secrets.is_empty()).then_some(secrets))
            .set("volumes", volumes)
            .set("networks", self.networks());
        ManifestFile {
            path: "stack.yml".to_owned(),
            about: "the services, for docker stack deploy".to_owned(),
            text: whole.render(),
        }
    }

    /// A script that starts the load generator as a job of the Swarm: stack files of Docker 20.10 refuse that mode.
    fn load(&self) -> ManifestFile {
        let (name, image) = (&self.layout.label, &self.options.image);
        let network = match self.options.network {
            Network::Host => "host".to_owned(),
            Network::Overlay => format!("{name}_{NETWORK}"),
        };
        let text = format!(
            "#!/bin/sh\n\
             # Load from inside of the Swarm: a job of generators beside the nodes. The tables must be there.\n\
             #   sh load.sh 2 kv --rate 500 --duration 60s        two generators; each does all of it\n\
             #   docker service logs {name}-load                    what they measured\n\
             #   docker service rm {name}-load\n\
             set -eu\n\
             tasks=${{1:?how many generators}}\n\
             shift\n\
             # A task that fails is started again without end, and without --detach Docker waits for it: look at the logs, and remove it.\n\
             exec docker service create --detach --name {name}-load --mode replicated-job --replicas \"$tasks\" \\\n  \
             --network {network} --user {USER_ID} --read-only --cap-drop ALL \\\n  \
             --mount type=tmpfs,target=/tmp --env HELENUS_HOME=/tmp/helenus --limit-memory 256M \\\n  \
             --entrypoint {LAUNCHER} {image} \\\n  \
             run \"$@\" --hosts {} --i-may-write-to {}\n",
            self.seeds().join(","),
            self.plan.name,
        );
        ManifestFile {
            path: "load.sh".to_owned(),
            about: "starts load generators as a job of the Swarm".to_owned(),
            text,
        }
    }

    fn networks(&self) -> Mapping {
        match self.options.network {
            Network::Host => Mapping::new().set(
                NETWORK,
                Mapping::new().set("external", true).set("name", "host"),
            ),
            Network::Overlay => Mapping::new().set(
                NETWORK,
                Mapping::new().set("driver", "overlay").why(
                    "docker run --network reaches the nodes, too",
                    "attachable",
                    true,
                ),
            ),
        }
    }

    /// Where the seeds are found: on the hosts' own network by their addresses, on one of containers by the services of the
    /// first rack of each data centre, in a Compose file by the addresses of the first nodes.
    fn seeds(&self) -> Vec<String> {
        if self.options.form == Form::Compose {
            let first = self.first_nodes().into_iter();
            return first
                .filter_map(|one| one.address)
                .map(|a| a.to_string())
                .collect();
        }
        if self.options.network == Network::Host {
            let all = instances(self.plan, &self.options.hosts).into_iter();
            return all
                .filter(|one| one.seed)
                .map(|one| one.address.to_string())
                .collect();
        }
        let mut centers = Vec::new();
        let sets = self.layout.sets.iter().filter(|set| !set.coordinator);
        let first = sets.filter(|set| {
            let new = !centers.contains(&set.center);
            centers.push(set.center);
            new
        });
        first.map(|set| set.name.clone()).collect()
    }

    /// The first node of each data centre.
    fn first_nodes(&self) -> Vec<PlannedNode> {
        let nodes = self.nodes();
        let centers = self.layout.centers.iter();
        let first = centers.filter_map(|center| {
            let own = nodes
                .iter()
                .find(|one| one.data_center == center.name && !one.coordinator);
            own.cloned()
        });
        first.collect()
    }

    /// The files that containers mount.
    fn mounted(&self) -> Vec<ManifestFile> {
        let seeds = self.seeds();
        let sets = self.layout.sets.iter();
        let files = sets.flat_map(|set| {
            let own = self.files(set, &seeds).into_iter();
            own.map(|(name, text)| ManifestFile {
                path: path_of(set, name),
                about: format!("{name} of {}", set.name),
                text,
            })
        });
        files.collect()
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
        let secret = |store: &&str| {
            Mapping::new()
                .set("source", *store)
                .set("target", format!("{TLS_FOLDER}/{store}"))
                .set("uid", USER_ID.to_string())
                .set("mode", 0o400_u32)
        };
        let secrets: Vec<Mapping> = self.stores().iter().map(secret).collect();
        let service = self
            .common()
            .set("hostname", slot.as_str())
            .set("environment", environment)
            .set("configs", configs)
            .maybe("secrets", (!secrets.is_empty()).then_some(secrets))
            .set("networks", [NETWORK]);
        let mut volumes = Vec::new();
        if !set.coordinator {
            volumes.push(
                mount("volume")
                    .set("source", volume(set))
                    .set("target", DATA_FOLDER),
            );
        }
        // A tmpfs there would be root's, and the short form for it is ignored by docker stack deploy.
        volumes.push(mount("volume").set("target", RUN_FOLDER));
        volumes.push(mount("tmpfs").set("target", "/tmp"));
        let service = service.set("volumes", volumes);
        let service = match on_host {
            true => service.set("healthcheck", healthcheck()),
            // Docker gives a task its name only once it is healthy, and nodes find each other by names as they start.
            false => service,
        };
        service.set("deploy", self.deploy(set, &center.name, on_host))
    }

    fn deploy(&self, set: &Set, center: &str, on_host: bool) -> Mapping {
        let deploy = Mapping::new().set("replicas", set.replicas()).why(
            "the name resolves to the nodes themselves: a virtual address would hide them",
            "endpoint_mode",
            "dnsrr",
        );
        let place = &self.layout.centers;
        let placement = Mapping::new().why(
            "a lost host takes one node of a rack with it, not two",
            "max_replicas_per_node",
            1_u32,
        );
        let mut labels = Vec::new();
        if place.len() > 1 || on_host {
            labels.push(("dc", center));
        }
        // On the hosts' own network a host holds one node: that of its rack.
        if on_host {
            labels.push(("rack", set.rack.as_str()));
        }
        let placement = match labels.is_empty() {
            true => placement,
            false => {
                let add: String = labels
                    .iter()
                    .map(|(key, value)| format!(" --label-add {key}={value}"))
                    .collect();
                let wants = labels
                    .iter()
                    .map(|(key, value)| format!("node.labels.{key} == {value}"));
                placement.why(
                    format!("docker node update{add} HOST"),
                    "constraints",
                    wants.collect::<Vec<_>>(),
                )
            }
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

    /// The files with keys and certificates; none without TLS.
    fn stores(&self) -> &'static [&'static str] {
        match self.plan.security.tls {
            true => &STORES,
            false => &[],
        }
    }

    /// What a service of either file has.
    fn common(&self) -> Mapping {
        Mapping::new()
            .set("image", self.options.image.as_str())
            .set("entrypoint", [LAUNCHER, "__pod", "start"])
            .set("user", format!("{USER_ID}:{USER_ID}"))
            .set("read_only", true)
            .why(
                "Cassandra writes its memtables out before it ends",
                "stop_grace_period",
                "120s",
            )
            .set("cap_drop", ["ALL"])
    }

    /// cassandra.yaml; on the hosts' own network clients come by the node's address only.
    fn yaml(&self, set: &Set) -> String {
        match (self.options.network, yaml::parse(&set.yaml)) {
            (Network::Host, Ok(Value::Object(mut map))) => {
                map.insert("rpc_address".to_owned(), POD_IP_MARK.into());
                yaml::render(&Value::Object(map))
            }
            _ => set.yaml.clone(),
        }
    }

    /// The files of a node by their names.
    fn files(&self, set: &Set, seeds: &[String]) -> BTreeMap<&'static str, String> {
        let center = &self.layout.centers[set.center];
        let peers = self.layout.sets.iter().map(|set| set.name.clone());
        let pod = PodConfig::new(
            &self.plan.release,
            (seeds.to_vec(), peers.collect()),
            names_in_slots(set),
            set.timer_slack_us,
        );
        let flags: String = set.jvm.iter().map(|flag| format!("{flag}\n")).collect();
        BTreeMap::from([
            (YAML_KEY, self.yaml(set)),
            (RACKDC_KEY, rackdc(&center.name, &set.rack)),
            (JVM_KEY, flags),
            (LOGBACK_KEY, CONSOLE_LOGBACK.to_owned()),
            (POD_KEY, pod.text()),
        ])
    }

    /// The file of Compose: a service a node, with an address of its own on a network of one host.
    fn compose(&self) -> ManifestFile {
        let nodes = self.nodes();
        let seeds = self.first_nodes();
        let (mut services, mut volumes) = (Mapping::new(), Mapping::new());
        let mut node = nodes.iter();
        for set in &self.layout.sets {
            for own in node.by_ref().take(set.tokens.len()) {
                // The first seed waits for nobody, the others for it, and all nodes for the seeds.
                let waits_for = match seeds.iter().position(|seed| seed.name == own.name) {
                    Some(0) => &[],
                    Some(_) => &seeds[..1],
                    None => &seeds[..],
                };
                services = services.set(own.name.as_str(), self.container(set, own, waits_for));
                if !set.coordinator {
                    volumes = volumes.set(own.name.as_str(), Mapping::new());
                }
            }
        }
        let network = Mapping::new().set(
            "ipam",
            Mapping::new().set("config", [Mapping::new().set("subnet", SUBNET)]),
        );
        let whole = Mapping::new()
            .set("services", services)
            .set("volumes", volumes)
            .set("networks", Mapping::new().set(NETWORK, network));
        ManifestFile {
            path: "compose.yml".to_owned(),
            about: "the containers, for docker compose".to_owned(),
            text: whole.render(),
        }
    }

    fn container(&self, set: &Set, own: &PlannedNode, waits_for: &[PlannedNode]) -> Mapping {
        let mut environment = Mapping::new().set(POD_NAME, own.name.as_str());
        let at = own.address.map(|a| a.to_string()).unwrap_or_default();
        environment = environment.set(POD_IP, at.as_str());
        for (key, value) in &set.environment {
            environment = environment.set(key.as_str(), value.as_str());
        }
        let service = self
            .common()
            .set("hostname", own.name.as_str())
            .set("environment", environment)
            .set(
                "networks",
                Mapping::new().set(NETWORK, Mapping::new().set("ipv4_address", at)),
            );
        let mut volumes = vec![format!("./{FILES}/{}:{CONF_FOLDER}:ro", set.name)];
        volumes.extend((!set.coordinator).then(|| format!("{}:{DATA_FOLDER}", own.name)));
        volumes.extend(
            self.plan
                .security
                .tls
                .then(|| format!("./tls:{TLS_FOLDER}:ro")),
        );
        let service = service
            .set("volumes", volumes)
            .set(
                "tmpfs",
                [
                    format!("{RUN_FOLDER}:uid={USER_ID},gid={USER_ID}"),
                    "/tmp:mode=1777".to_owned(),
                ],
            )
            .set("healthcheck", healthcheck())
            .set("mem_limit", mebibytes(set.memory_limit(PAGE_CACHE)))
            .set("restart", "unless-stopped");
        match waits_for {
            [] => service,
            seeds => {
                let mut depends = Mapping::new();
                for seed in seeds {
                    depends = depends.set(
                        seed.name.as_str(),
                        Mapping::new().set("condition", "service_healthy"),
                    );
                }
                service.why("seeds first", "depends_on", depends)
            }
        }
    }
}

fn mount(kind: &str) -> Mapping {
    Mapping::new().set("type", kind)
}

/// Healthy means what ready means elsewhere: the node has joined and answers a query.
fn healthcheck() -> Mapping {
    Mapping::new()
        .set("test", ["CMD", LAUNCHER, "__pod", "ready"])
        .set("interval", "5s")
        .set("timeout", "10s")
        .set("retries", 6_u32)
        .why("a first start may take ten minutes", "start_period", "600s")
}

/// The address of a node in a Compose file; the first ones are the gateway's and Docker's.
fn address(number: usize) -> Ipv4Addr {
    let last = u8::try_from(11 + number).unwrap_or(u8::MAX);
    Ipv4Addr::new(10, 203, 113, last)
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

/// Configs never change: another text is another config.
fn config_name(set: &Set, file: &str, text: &str) -> String {
    format!(
        "{}-{}-{}",
        set.name,
        file.replace('.', "-"),
        short_hash(text)
    )
}

/// The folder of the files that containers mount, and one of them.
const FILES: &str = "files";

fn path_of(set: &Set, file: &str) -> String {
    format!("{FILES}/{}/{file}", set.name)
}

fn mebibytes(size: Bytes) -> String {
    format!("{}M", size.0.div_ceil(1 << 20))
}

fn resources(set: &Set) -> Mapping {
    Mapping::new()
        .set(
            "limits",
            Mapping::new().why(
                format!(
                    "the most that the node can use, {}, and {PAGE_CACHE} of page cache",
                    set.memory.bound
                ),
                "memory",
                mebibytes(set.memory_limit(PAGE_CACHE)),
            ),
        )
        .set(
            "reservations",
            Mapping::new().set("memory", mebibytes(set.memory_request())),
        )
}
