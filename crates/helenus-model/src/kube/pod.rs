//! A node in a pod: the contract between manifests, image and launcher, and what the launcher makes of it.
//! Refuses IO: what only the pod knows is given.

use crate::format::{Format, FormatError};
use crate::memory::{Flags, SMALL_HEAP};
use crate::plan::{
    COORDINATOR, Folders, KEYSTORE_PASSWORD_MARK, LaunchFiles, NodePlan, file_url, java_argv,
};
use crate::yaml::{self, YamlError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// Where the manifests mount a node's configuration, read-only.
pub const CONF_FOLDER: &str = "/etc/cassandra";

/// Where the volume is mounted.
pub const DATA_FOLDER: &str = "/var/lib/cassandra";

/// What the launcher writes, and the node's temporary files; they end with the pod.
pub const RUN_FOLDER: &str = "/run/cassandra";

/// Where the keystores of a cluster with TLS are mounted.
pub const TLS_FOLDER: &str = "/etc/cassandra-tls";

/// Keystore in the folder for TLS.
pub const KEYSTORE: &str = "keystore.p12";

/// Truststore in the folder for TLS.
pub const TRUSTSTORE: &str = "truststore.p12";

/// The keystores' password in the folder for TLS.
pub const KEYSTORE_PASSWORD: &str = "keystore.password";

/// Where the launcher makes keystores of a Secret that has certificates as PEM.
pub const STORES_FOLDER: &str = "/run/cassandra/conf";

/// The nodes' certificate in such a Secret, and those between it and the authority: the keys are those of cert-manager.
pub const CERTIFICATE: &str = "tls.crt";

/// Its private key, as PKCS #8.
pub const CERTIFICATE_KEY: &str = "tls.key";

/// The authorities that the nodes trust, and by which clients know them.
pub const AUTHORITY: &str = "ca.crt";

/// The program that starts a node and answers its probes.
pub const LAUNCHER: &str = "/usr/local/bin/helenus";

/// Cassandra in the image.
pub const HOME_FOLDER: &str = "/opt/cassandra";

/// The jar that starts Cassandra: class path and module flags stand in its manifest.
pub const LAUNCHER_JAR: &str = "/opt/cassandra/launcher.jar";

/// The class-data archive, where the image has one.
pub const ARCHIVE: &str = "/opt/cassandra/classes.jsa";

/// Module flags of the release on the image's Java, a line each.
pub const MODULE_FLAGS: &str = "/opt/cassandra/module.flags";

/// logback.xml of tools.
pub const TOOLS_LOGBACK: &str = "/opt/cassandra/logback-tools.xml";

/// Java in the image.
pub const JAVA_FOLDER: &str = "/opt/java";

/// The program that becomes a node.
pub const JAVA: &str = "/opt/java/bin/java";

/// User and group of Cassandra in the image.
pub const USER_ID: u32 = 999;

/// Stands for the pod's own address in cassandra.yaml.
pub const POD_IP_MARK: &str = "@POD_IP@";

/// Stands for the addresses of the seeds in cassandra.yaml.
pub const SEEDS_MARK: &str = "@SEEDS@";

/// cassandra.yaml, complete but for the marks.
pub const YAML_KEY: &str = "cassandra.yaml";

/// Data centre and rack.
pub const RACKDC_KEY: &str = "cassandra-rackdc.properties";

/// Where the log goes.
pub const LOGBACK_KEY: &str = "logback.xml";

/// Flags of the JVM, a line each.
pub const JVM_KEY: &str = "jvm.options";

/// [`PodConfig`].
pub const POD_KEY: &str = "pod.json";

/// There once the cluster has formed: a new node joins it.
pub const FORMED_KEY: &str = "formed";

/// A file on the volume of a node that joined instead of forming the cluster: it goes on joining after a restart.
pub const JOINS_FILE: &str = "joins";

/// Variable with the pod's name.
pub const POD_NAME: &str = "POD_NAME";

/// Variable with the pod's address.
pub const POD_IP: &str = "POD_IP";

/// JMX, on the pod's loopback only.
pub const JMX_PORT: u16 = 7199;

/// Version of [`PodConfig`] as JSON.
pub const POD_VERSION: u32 = 1;

/// logback.xml of a pod: the log goes to standard output, where the container's engine takes it.
pub const CONSOLE_LOGBACK: &str = r#"<configuration scan="false">
  <statusListener class="ch.qos.logback.core.status.NopStatusListener"/>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder>
      <pattern>%-5level [%thread] %date{ISO8601} %F:%L - %msg%n</pattern>
    </encoder>
  </appender>
  <root level="INFO"><appender-ref ref="STDOUT"/></root>
  <logger name="org.apache.cassandra" level="INFO"/>
</configuration>
"#;

/// logback.xml of tools in a pod: they say what they have to say themselves.
pub const QUIET_LOGBACK: &str = r#"<configuration scan="false">
  <statusListener class="ch.qos.logback.core.status.NopStatusListener"/>
  <root level="OFF"/>
</configuration>
"#;

/// What the pods of a StatefulSet need beside Cassandra's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodConfig {
    /// `helenus.pod/1`.
    pub format: Format,
    /// Release that the settings are for.
    pub release: String,
    /// Names under which the seeds are found.
    pub seeds: Vec<String>,
    /// Names under which all pods are found: a node that joins goes through others where it is the only seed itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// Tokens of the pods that form the cluster, by their names.
    pub tokens: BTreeMap<String, Vec<i64>>,
    /// How late the kernel may wake a node's threads, in microseconds; the kernel's own 50 where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_slack_us: Option<u64>,
}

/// Why a node in a pod cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// pod.json.
    #[error("cannot read {POD_KEY}")]
    Json(#[from] serde_json::Error),
    /// pod.json of another Helenus.
    #[error("cannot read {POD_KEY}")]
    Format(#[from] FormatError),
    /// cassandra.yaml.
    #[error("cannot read {YAML_KEY}")]
    Yaml(#[from] YamlError),
    /// A cassandra.yaml without keys.
    #[error("{YAML_KEY} has no keys")]
    NoKeys,
    /// A new node that finds no node to join through.
    #[error("a new node joins through a seed, and no seed's name resolves to an address")]
    NoSeed,
}

impl PodConfig {
    /// What these pods need.
    pub fn new(
        release: &str,
        (seeds, peers): (Vec<String>, Vec<String>),
        tokens: BTreeMap<String, Vec<i64>>,
        timer_slack_us: Option<u64>,
    ) -> Self {
        Self {
            format: Format::new("pod", POD_VERSION),
            release: release.to_owned(),
            seeds,
            peers,
            tokens,
            timer_slack_us,
        }
    }

    /// As it stands in the ConfigMap.
    pub fn text(&self) -> String {
        // Strings and numbers only: it cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads it.
    ///
    /// # Errors
    /// No JSON, or of another format.
    pub fn read(text: &str) -> Result<Self, PodError> {
        let read: Self = serde_json::from_str(text)?;
        read.format.check("pod", POD_VERSION)?;
        Ok(read)
    }
}

/// What the launcher finds in its pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its address.
    pub ip: IpAddr,
    /// Addresses of the seeds, as far as their names have any.
    pub seeds: Vec<IpAddr>,
    /// Addresses of all pods; only where it may join.
    pub peers: Vec<IpAddr>,
    /// Whether the volume has no data of a node yet.
    pub fresh: bool,
    /// Whether the cluster has formed.
    pub formed: bool,
    /// Whether this node began by joining: only with data.
    pub joined: bool,
    /// Whether it only coordinates.
    pub coordinator: bool,
}

impl Pod {
    /// Whether the node joins an existing cluster, and streams its part from the others. One that was cut off in the
    /// middle still does; one that has joined does not do it again.
    pub fn joins(&self, config: &PodConfig) -> bool {
        let begins = || self.formed || !config.tokens.contains_key(&self.name);
        !self.coordinator && if self.fresh { begins() } else { self.joined }
    }

    /// Its own address first, without which it could not start before the others; a node that joins is no seed.
    fn seeds(&self, joins: bool) -> Vec<IpAddr> {
        let mut all = Vec::new();
        if !joins {
            all.push(self.ip);
        }
        let mut add = |more: &[IpAddr]| {
            for one in more.iter().filter(|one| **one != self.ip) {
                if !all.contains(one) {
                    all.push(*one);
                }
            }
            all.is_empty()
        };
        if add(&self.seeds) {
            add(&self.peers);
        }
        all
    }

    /// The others, seeds first: whom a node that joins may ask.
    pub fn others(&self) -> Vec<IpAddr> {
        let mut all: Vec<IpAddr> = Vec::new();
        for one in self.seeds.iter().chain(&self.peers) {
            if *one != self.ip && !all.contains(one) {
                all.push(*one);
            }
        }
        all
    }
}

/// A node's cassandra.yaml for another machine: with what `change` sets, and the keystores in a folder there.
pub(crate) fn yaml_elsewhere(
    text: &str,
    stores: &str,
    change: impl FnOnce(&mut Map<String, Value>),
) -> String {
    let Ok(Value::Object(mut map)) = yaml::parse(text) else {
        return text.to_owned();
    };
    change(&mut map);
    for key in ["client_encryption_options", "server_encryption_options"] {
        if let Some(Value::Object(options)) = map.get_mut(key) {
            for (store, file) in [("keystore", KEYSTORE), ("truststore", TRUSTSTORE)] {
                if options.contains_key(store) {
                    options.insert(store.to_owned(), format!("{stores}/{file}").into());
                }
            }
        }
    }
    yaml::render(&Value::Object(map))
}

/// The whole cassandra.yaml of a pod: its addresses, seeds, tokens and the keystores' password in place of the marks.
///
/// # Errors
/// No YAML; or the node must join others, and there are none.
pub fn fill(
    text: &str,
    config: &PodConfig,
    pod: &Pod,
    password: Option<&str>,
) -> Result<String, PodError> {
    let Value::Object(mut map) = yaml::parse(text)? else {
        return Err(PodError::NoKeys);
    };
    let joins = pod.joins(config);
    let seeds: Vec<String> = pod.seeds(joins).iter().map(IpAddr::to_string).collect();
    if seeds.is_empty() {
        return Err(PodError::NoSeed);
    }
    map.insert("auto_bootstrap".into(), joins.into());
    map.remove("initial_token");
    if let Some(tokens) = config.tokens.get(&pod.name).filter(|_| !joins) {
        let tokens: Vec<String> = tokens.iter().map(i64::to_string).collect();
        map.insert("initial_token".into(), tokens.join(",").into());
    }
    let (ip, seeds) = (pod.ip.to_string(), seeds.join(","));
    let mut marks = vec![(POD_IP_MARK, ip.as_str()), (SEEDS_MARK, seeds.as_str())];
    marks.extend(password.map(|password| (KEYSTORE_PASSWORD_MARK, password)));
    let mut whole = Value::Object(map);
    replace(&mut whole, &marks);
    Ok(yaml::render(&whole))
}

/// Replaces the marks in every text, as values: what takes their place needs no escapes.
fn replace(value: &mut Value, marks: &[(&str, &str)]) {
    match value {
        Value::String(text) => {
            for (mark, word) in marks {
                if text.contains(mark) {
                    *text = text.replace(mark, word);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, marks)),
        Value::Object(map) => map.values_mut().for_each(|item| replace(item, marks)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A port of a cassandra.yaml, or the standard one.
pub fn port(text: &str, key: &str, standard: u16) -> u16 {
    let yaml = yaml::parse(text).unwrap_or_default();
    let port = yaml.get(key).and_then(Value::as_u64);
    port.and_then(|port| port.try_into().ok())
        .unwrap_or(standard)
}

/// A file of one word a line.
pub fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// The flag by which a node takes the place of one that is gone: it streams that one's part, and has its tokens.
pub fn replaces(gone: IpAddr) -> String {
    format!("-Dcassandra.replace_address_first_boot={gone}")
}

/// Whether these flags of the JVM make a node that only coordinates.
pub fn coordinates(flags: &[String]) -> bool {
    flags.iter().any(|flag| flag == COORDINATOR)
}

/// Whether these flags of the JVM ask for a small heap, which is not worth the memory that locking it costs.
pub fn is_small(flags: &[String]) -> bool {
    let heap = Flags(flags).size("-Xmx");
    heap.is_some_and(|heap| heap < SMALL_HEAP)
}

/// The command line of a node in a pod but for the path of `java`: that of any node, with the files where a pod has them.
pub fn argv(
    flags: &[String],
    module_flags: &[String],
    jdk_feature: u32,
    archive: bool,
) -> Vec<String> {
    let mut jvm = vec![format!("-Dcassandra.jmx.local.port={JMX_PORT}")];
    jvm.extend_from_slice(flags);
    // Of a node's plan only its folder and its flags count here.
    let node = NodePlan {
        name: String::new(),
        data_center: String::new(),
        rack: String::new(),
        address: Ipv4Addr::LOCALHOST,
        tokens: Vec::new(),
        coordinator: false,
        folder: RUN_FOLDER.to_owned(),
        disk: None,
        folders: Folders::default(),
        pin: None,
        yaml: String::new(),
        jvm,
        environment: BTreeMap::new(),
        timer_slack_us: None,
        own: None,
    };
    let files = LaunchFiles {
        launcher: LAUNCHER_JAR.to_owned(),
        archive: archive.then(|| ARCHIVE.to_owned()),
        train: None,
        jdk_feature,
        module_flags: module_flags.to_vec(),
    };
    let mounted = |name: &str| file_url(&format!("{CONF_FOLDER}/{name}"));
    let mut argv = java_argv(&node, &files);
    for (key, value) in [
        ("-Dcassandra-rackdc.properties=", mounted(RACKDC_KEY)),
        ("-Dlogback.configurationFile=", mounted(LOGBACK_KEY)),
        ("-Dcassandra.storagedir=", DATA_FOLDER.to_owned()),
    ] {
        // The first is the plan's; a person's own one stands behind it and stays.
        if let Some(word) = argv.iter_mut().find(|word| word.starts_with(key)) {
            *word = format!("{key}{value}");
        }
    }
    argv
}

/// The command line of nodetool in a pod but for the path of `java` and nodetool's own words.
pub fn tool_argv(module_flags: &[String]) -> Vec<String> {
    let mut argv = tool_flags(module_flags);
    argv.extend([
        format!("-Dlogback.configurationFile={}", file_url(TOOLS_LOGBACK)),
        // It writes its history below the home folder.
        format!("-Duser.home={RUN_FOLDER}/tmp"),
        format!("-Dcassandra.storagedir={RUN_FOLDER}/tmp"),
        "-cp".to_owned(),
        format!("{HOME_FOLDER}/lib/*"),
        "org.apache.cassandra.tools.NodeTool".to_owned(),
    ]);
    argv
}

/// Flags of the JVM of a tool. It measures no objects: it needs no agent, and none of the flags that an agent brings.
pub(crate) fn tool_flags(module_flags: &[String]) -> Vec<String> {
    let of_agent = |flag: &&String| flag.starts_with("-javaagent:") || flag.starts_with("-XX:");
    let mut argv: Vec<String> = [
        "-Xmx64M",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
    ]
    .map(str::to_owned)
    .to_vec();
    argv.extend(module_flags.iter().filter(|f| !of_agent(f)).cloned());
    argv
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config() -> PodConfig {
        let tokens = BTreeMap::from([("demo-dc1-rack1-0".to_owned(), vec![i64::MIN, 7])]);
        let seeds = vec!["demo-dc1-seed.demo.svc".to_owned()];
        PodConfig::new("5.0.9", (seeds, Vec::new()), tokens, None)
    }

    fn pod() -> Pod {
        Pod {
            name: "demo-dc1-rack1-0".into(),
            ip: [10, 0, 0, 2].into(),
            seeds: vec![
                [10, 0, 0, 1].into(),
                [10, 0, 0, 2].into(),
                [10, 0, 0, 1].into(),
            ],
            peers: Vec::new(),
            fresh: true,
            formed: false,
            joined: false,
            coordinator: false,
        }
    }

    fn template() -> String {
        yaml::render(&json!({
            "auto_bootstrap": false,
            "listen_address": POD_IP_MARK,
            "rpc_address": "0.0.0.0",
            "seed_provider": [{"class_name": "S", "parameters": [{"seeds": SEEDS_MARK}]}],
            "client_encryption_options": {"keystore_password": KEYSTORE_PASSWORD_MARK},
        }))
    }

    /// Tokens, whether it streams, and its seeds.
    fn filled(pod: &Pod) -> (Option<String>, bool, String) {
        let text = fill(&template(), &config(), pod, None).expect("filled");
        let yaml = yaml::parse(&text).expect("yaml");
        assert_eq!(yaml["listen_address"], pod.ip.to_string());
        let token = yaml.get("initial_token").and_then(Value::as_str);
        let seeds = yaml.pointer("/seed_provider/0/parameters/0/seeds");
        (
            token.map(str::to_owned),
            yaml["auto_bootstrap"] == true,
            seeds.and_then(Value::as_str).expect("seeds").to_owned(),
        )
    }

    #[test]
    fn a_pod_with_tokens_forms_the_cluster_and_keeps_them() {
        let tokens = Some("-9223372036854775808,7".to_owned());
        let seeds = "10.0.0.2,10.0.0.1".to_owned();
        let expected = (tokens, false, seeds);
        assert_eq!(filled(&pod()), expected);
        for formed in [false, true] {
            let again = Pod {
                fresh: false,
                formed,
                ..pod()
            };
            assert_eq!(filled(&again), expected);
        }
    }

    #[test]
    fn a_new_pod_of_a_formed_cluster_joins_it_until_it_has() {
        let joins: (Option<String>, bool, String) = (None, true, "10.0.0.1".to_owned());
        let late = Pod {
            formed: true,
            ..pod()
        };
        assert_eq!(filled(&late), joins);
        let unlisted = Pod {
            name: "demo-dc1-rack1-1".into(),
            ..pod()
        };
        assert_eq!(filled(&unlisted), joins);
        let cut_off = Pod {
            fresh: false,
            joined: true,
            ..late
        };
        assert_eq!(filled(&cut_off), joins);
        let alone = Pod {
            seeds: vec![],
            ..unlisted
        };
        let refused = fill(&template(), &config(), &alone, None);
        assert!(matches!(refused, Err(PodError::NoSeed)), "{refused:?}");
    }

    #[test]
    fn a_coordinator_streams_nothing() {
        let coordinator = Pod {
            name: "demo-dc1-rack1-coordinator-0".into(),
            coordinator: true,
            ..pod()
        };
        let (tokens, streams, _) = filled(&coordinator);
        assert_eq!((tokens, streams), (None, false));
        assert!(coordinates(&["-Xmx64M".into(), COORDINATOR.into()]));
    }

    #[test]
    fn a_password_may_hold_any_character() {
        let word = "it's: \"a\" #1";
        let text = fill(&template(), &config(), &pod(), Some(word)).expect("filled");
        let yaml = yaml::parse(&text).expect("yaml");
        assert_eq!(yaml["client_encryption_options"]["keystore_password"], word);
        assert!(matches!(
            fill("- 1\n", &config(), &pod(), None),
            Err(PodError::NoKeys)
        ));
    }

    #[test]
    fn what_a_pod_is_given_reads_back_equal() {
        assert_eq!(PodConfig::read(&config().text()).expect("read"), config());
        let newer = config().text().replace("helenus.pod/1", "helenus.pod/2");
        assert!(matches!(PodConfig::read(&newer), Err(PodError::Format(_))));
        assert!(matches!(PodConfig::read("{"), Err(PodError::Json(_))));
    }

    #[test]
    fn ports_and_heaps_are_read() {
        assert_eq!(port("storage_port: 17000\n", "storage_port", 7000), 17_000);
        assert_eq!(port("a: 1\n", "storage_port", 7000), 7000);
        let small = |flag: &str| is_small(&lines(&format!("-Xms64M\n\n{flag}\n")));
        assert!(small("-Xmx64M") && small("-Xmx67108865"));
        assert!(!small("-Xmx2048M") && !small("-XX:+UseSerialGC"));
    }

    #[test]
    fn the_command_line_is_a_node_s_with_the_files_of_a_pod() {
        let modules = ["--add-opens=a/b=ALL-UNNAMED", "-Dx=1", "-javaagent:/j.jar"];
        let modules = modules.map(str::to_owned);
        let line = argv(&["-Xmx64M".into()], &modules, 17, true).join("\n");
        insta::assert_snapshot!(line, @r"
        -Xshare:auto
        -XX:SharedArchiveFile=/opt/cassandra/classes.jsa
        -XX:+UnlockDiagnosticVMOptions
        -XX:ArchiveRelocationMode=0
        -Xlog:disable
        -Xlog:all=error:stderr
        -Xlog:gc*,safepoint:file=logs/gc.log:timenanos,tags:filecount=3,filesize=16m
        -Dx=1
        -javaagent:/j.jar
        -Dcassandra.config=file:///run/cassandra/conf/cassandra.yaml
        -Dcassandra-rackdc.properties=file:///etc/cassandra/cassandra-rackdc.properties
        -Dlogback.configurationFile=file:///etc/cassandra/logback.xml
        -Dcassandra.logdir=/run/cassandra/logs
        -Dcassandra.storagedir=/var/lib/cassandra
        -Djava.io.tmpdir=/run/cassandra/tmp
        -Dcassandra.jmx.local.port=7199
        -Xmx64M
        -jar
        /opt/cassandra/launcher.jar
        ");
        let tool = tool_argv(&modules).join("\n");
        insta::assert_snapshot!(tool, @r"
        -Xmx64M
        -XX:+UseSerialGC
        -XX:TieredStopAtLevel=1
        -XX:-UsePerfData
        --add-opens=a/b=ALL-UNNAMED
        -Dx=1
        -Dlogback.configurationFile=file:///opt/cassandra/logback-tools.xml
        -Duser.home=/run/cassandra/tmp
        -Dcassandra.storagedir=/run/cassandra/tmp
        -cp
        /opt/cassandra/lib/*
        org.apache.cassandra.tools.NodeTool
        ");
    }
}
