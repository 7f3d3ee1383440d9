//! One node on a host: its files and the command line that starts it, with the paths of a Linux server.
//! Refuses to decide anything about Cassandra: the cluster's plan has done it.

use super::machines::Host;
use crate::kube::pod::{QUIET_LOGBACK, tool_flags, yaml_elsewhere};
use crate::memory::SMALL_HEAP;
use crate::plan::{
    ClusterPlan, LOGBACK, LaunchFiles, NodePlan, file_url, java_argv, own_keys, rackdc,
};
use crate::release::{Lock, Release};
use std::net::Ipv4Addr;

/// Below which each release has a folder with its jars.
const HOMES: &str = "/opt/helenus";

/// Below which each node has a folder with its configuration.
const CONF: &str = "/etc/cassandra";

/// Below which each node has a folder with its data.
const DATA: &str = "/var/lib/cassandra";

/// Below which each node has a folder with its logs.
const LOGS: &str = "/var/log/cassandra";

/// Seeds of each data centre: with one of them down the other still lets nodes in.
const SEEDS: usize = 2;

/// A node on its host.
pub(super) struct Instance<'a> {
    /// Its name: of its unit, its folders, its wrapper of nodetool.
    pub(super) name: String,
    /// Number of its host.
    pub(super) host: usize,
    /// Its number on that host, from 0.
    pub(super) number: u16,
    /// Address of all its listeners but JMX.
    pub(super) address: Ipv4Addr,
    /// Whether others find the cluster by it.
    pub(super) seed: bool,
    /// Its plan.
    pub(super) node: &'a NodePlan,
}

/// The folder with the jars of a release.
pub(super) fn home(release: &str) -> String {
    format!("{HOMES}/cassandra-{release}")
}

/// The nodes of a plan on their hosts, in the plan's order: the first node has the first address.
pub(super) fn instances<'a>(plan: &'a ClusterPlan, hosts: &[Host]) -> Vec<Instance<'a>> {
    let places = hosts.iter().enumerate().flat_map(|(host, of)| {
        let addresses = of.addresses.iter().zip(0_u16..);
        addresses.map(move |(address, number)| (host, number, *address))
    });
    let mut all: Vec<Instance<'a>> = Vec::new();
    for (node, (host, number, address)) in plan.nodes.iter().zip(places) {
        let known: Vec<&Instance<'a>> = all
            .iter()
            .filter(|one| one.seed && one.node.data_center == node.data_center)
            .collect();
        // Two seeds on one host would be gone together.
        let seed =
            !node.coordinator && known.len() < SEEDS && known.iter().all(|one| one.host != host);
        all.push(Instance {
            name: format!("{}-{}", plan.name, node.name),
            host,
            number,
            address,
            seed,
            node,
        });
    }
    all
}

impl Instance<'_> {
    /// Port of its JMX, on the host's loopback.
    pub(super) fn jmx_port(&self, plan: &ClusterPlan) -> u16 {
        plan.ports.jmx + self.number
    }

    /// Whether its heap is too small to be worth locking in memory.
    pub(super) fn is_small(&self, plan: &ClusterPlan) -> bool {
        plan.heap_of(self.node).heap < SMALL_HEAP
    }

    /// Its files by their names.
    pub(super) fn files(
        &self,
        plan: &ClusterPlan,
        release: &Release,
        seeds: &str,
    ) -> Vec<(&'static str, String)> {
        let node = self.node;
        vec![
            ("cassandra.yaml", self.yaml(plan, seeds)),
            (
                "cassandra-rackdc.properties",
                rackdc(&node.data_center, &node.rack),
            ),
            (
                "logback.xml",
                LOGBACK.replace("logs/", &format!("{LOGS}/{}/", self.name)),
            ),
            ("logback-tools.xml", QUIET_LOGBACK.to_owned()),
            ("jvm.args", arguments(&self.jvm(plan, release))),
            ("nodetool.args", arguments(&self.nodetool(plan, release))),
        ]
    }

    fn yaml(&self, plan: &ClusterPlan, seeds: &str) -> String {
        let own = self.address.to_string();
        let stores = format!("{CONF}/{}/tls", self.name);
        yaml_elsewhere(&self.node.yaml, &stores, |map| {
            map.extend(own_keys(
                (&plan.name, plan.tokens),
                (&own, &own),
                plan.ports,
                &format!("{DATA}/{}", self.name),
                seeds,
            ));
        })
    }

    /// The file with its key and certificate in the folder of certificates, where the cluster has TLS.
    pub(super) fn keystore(&self) -> String {
        format!("{}.p12", self.node.name)
    }

    fn jvm(&self, plan: &ClusterPlan, release: &Release) -> Vec<String> {
        const RMI_NAME: &str = "-Djava.rmi.server.hostname=";
        let data = format!("{DATA}/{}", self.name);
        let local = |flag: &String| match flag.starts_with(RMI_NAME) {
            true => format!("{RMI_NAME}127.0.0.1"),
            false => flag.clone(),
        };
        let mut jvm = vec![format!(
            "-Dcassandra.jmx.local.port={}",
            self.jmx_port(plan)
        )];
        jvm.extend(self.node.jvm.iter().map(local));
        let node = NodePlan {
            folder: data.clone(),
            jvm,
            ..self.node.clone()
        };
        let feature = java(release);
        let module_flags = module_flags(release);
        let files = LaunchFiles {
            launcher: String::new(),
            archive: None,
            train: None,
            jdk_feature: feature,
            module_flags: Vec::new(),
        };
        let mut argv = java_argv(&node, &files);
        // The last two start a launcher jar, which hosts do not have.
        argv.truncate(argv.len() - 2);
        let of_conf = |file: &str| file_url(&format!("{CONF}/{}/{file}", self.name));
        for word in &mut argv {
            for (key, value) in [
                ("-Dcassandra.config=", of_conf("cassandra.yaml")),
                (
                    "-Dcassandra-rackdc.properties=",
                    of_conf("cassandra-rackdc.properties"),
                ),
                ("-Dlogback.configurationFile=", of_conf("logback.xml")),
                ("-Dcassandra.logdir=", format!("{LOGS}/{}", self.name)),
                ("-Dcassandra.storagedir=", data.clone()),
            ] {
                if word.starts_with(key) {
                    *word = format!("{key}{value}");
                }
            }
            *word = word.replace("file=logs/", &format!("file={LOGS}/{}/", self.name));
        }
        let mut all = module_flags;
        all.append(&mut argv);
        all.extend([
            "-cp".to_owned(),
            format!("{}/lib/*", home(release.version)),
            "org.apache.cassandra.service.CassandraDaemon".to_owned(),
        ]);
        all
    }

    fn nodetool(&self, plan: &ClusterPlan, release: &Release) -> Vec<String> {
        let mut all = tool_flags(&module_flags(release));
        let logback = format!("{CONF}/{}/logback-tools.xml", self.name);
        all.extend([
            format!("-Dlogback.configurationFile={}", file_url(&logback)),
            format!("-Dcassandra.storagedir={DATA}/{}/tmp", self.name),
            // Its history goes with the node, whoever runs it.
            format!("-Duser.home={DATA}/{}/tmp", self.name),
            "-cp".to_owned(),
            format!("{}/lib/*", home(release.version)),
            "org.apache.cassandra.tools.NodeTool".to_owned(),
            "-h".to_owned(),
            "127.0.0.1".to_owned(),
            "-p".to_owned(),
            self.jmx_port(plan).to_string(),
        ]);
        all
    }
}

/// The newest Java that the release itself supports.
pub(super) fn java(release: &Release) -> u32 {
    release.supported_jdks.iter().copied().max().unwrap_or(17)
}

/// The flags about modules, and the agent that the release's jamm needs there.
fn module_flags(release: &Release) -> Vec<String> {
    let feature = java(release);
    let mut flags = release.module_flags(feature);
    if release.agent_from_jdk.is_some_and(|from| feature >= from) {
        let jars = release.lock().into_iter().flat_map(Lock::all);
        let jamm = jars
            .map(|jar| jar.file.as_str())
            .find(|file| file.starts_with("jamm-"));
        flags.extend(jamm.map(|jar| format!("-javaagent:{}/lib/{jar}", home(release.version))));
    }
    flags
}

/// Words as a file of arguments of `java`: one a line, quoted where the launcher would split them.
fn arguments(words: &[String]) -> String {
    let line = |word: &String| {
        let plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '#' | '\\');
        match !word.is_empty() && word.chars().all(plain) {
            true => format!("{word}\n"),
            false => {
                let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{}\"\n", escaped.replace('\n', "\\n"))
            }
        }
    };
    words.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_where_java_would_split_them() {
        let words = [
            "-Xmx64M",
            "-XX:OnOutOfMemoryError=kill -9 %p",
            r#"-Da="b\c""#,
            "",
        ];
        insta::assert_snapshot!(arguments(&words.map(str::to_owned)), @r#"
        -Xmx64M
        "-XX:OnOutOfMemoryError=kill -9 %p"
        "-Da=\"b\\c\""
        ""
        "#);
    }
}
