//! The files of the parts: Reaper's YAML, Prometheus' YAML, Medusa's INI, and the command lines of those that are processes.
//! Refuses a value that its file could misread: paths and passwords are checked or quoted.

use super::{Part, REAPER_ADMIN, RUN_PORT, Stack, page};
use crate::metrics::scrape;
use std::net::{Ipv4Addr, SocketAddr};

/// How often parts other than nodes are scraped, in seconds.
const SCRAPE_PARTS_EVERY_S: u32 = 5;

/// A run serves the nodes as well, which are scraped already.
const ONLY_THE_RUN: &str = "    metric_relabel_configs:\n      - source_labels: [__name__]\n        \
    regex: 'helenus_(run|generator)_.*'\n        action: keep\n";

/// Heap of Reaper: with storage in memory it needs 60 to 90 MB for a few clusters.
const REAPER_HEAP: &str = "-Xmx128m";

/// How long Prometheus keeps what it scraped.
const RETENTION: &str = "7d";

/// Where Medusa keeps backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// A folder.
    Local(String),
    /// A server by the protocol of S3, over plain HTTP.
    S3(SocketAddr),
}

/// Bucket of all backups.
pub const BUCKET: &str = "backups";

/// The node that Medusa works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MedusaNode<'a> {
    /// Its cassandra.yaml.
    pub yaml: &'a str,
    /// Its address.
    pub address: Ipv4Addr,
    /// Address of the node whose backup it is: its own, unless a backup comes into another cluster.
    pub saved_as: Ipv4Addr,
    /// File with the credentials of the storage, where it asks for some.
    pub key_file: Option<&'a str>,
}

impl Stack {
    /// Reaper's configuration. All nodes open JMX with the same password, for Reaper knows one.
    pub fn reaper_yaml(&self, jmx_user: &str, jmx_password: &str) -> String {
        let host = self.address;
        let port = Part::Reaper.port().unwrap_or_default();
        format!(
            "segmentCountPerNode: 4\n\
             repairParallelism: PARALLEL\n\
             repairIntensity: 1.0\n\
             scheduleDaysBetween: 7\n\
             repairRunThreadCount: 2\n\
             hangingRepairTimeoutMins: 30\n\
             storageType: memory\n\
             enableCrossOrigin: true\n\
             incrementalRepair: false\n\
             blacklistTwcsTables: false\n\
             enableDynamicSeedList: true\n\
             repairManagerSchedulingIntervalSeconds: 2\n\
             activateQueryLogger: false\n\
             jmxConnectionTimeoutInSeconds: 20\n\
             useAddressTranslator: false\n\
             datacenterAvailability: ALL\n\
             jmxAuth:\n  username: \"{jmx_user}\"\n  password: \"{jmx_password}\"\n\
             logging:\n  level: WARN\n  appenders:\n    - type: console\n\
             server:\n  type: default\n  \
             applicationConnectors:\n    - type: http\n      port: {port}\n      bindHost: {host}\n  \
             adminConnectors:\n    - type: http\n      port: {REAPER_ADMIN}\n      bindHost: {host}\n  \
             requestLog:\n    appenders: []\n\
             metrics:\n  frequency: 1 minute\n  reporters: []\n\
             autoScheduling:\n  enabled: false\n"
        )
    }

    /// Reaper's command line behind `java`.
    pub fn reaper_argv(&self, jar: &str, configuration: &str) -> Vec<String> {
        [
            REAPER_HEAP,
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-jar",
            jar,
            "server",
            configuration,
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// What Prometheus scrapes: nodes and a run each second, as the dashboard asks, and the other parts.
    pub fn prometheus_yml(&self) -> String {
        let host = self.address;
        let mut text = scrape(&[format!(
            "{host}:{}",
            Part::Metrics.port().unwrap_or_default()
        )]);
        text.push_str(&job("run", "/metrics", 1, &format!("{host}:{RUN_PORT}")));
        text.push_str(ONLY_THE_RUN);
        let every = SCRAPE_PARTS_EVERY_S;
        let own = format!("{host}:{}", Part::Prometheus.port().unwrap_or_default());
        text.push_str(&job("prometheus", "/metrics", every, &own));
        if self.has(Part::Reaper) {
            let at = format!("{host}:{REAPER_ADMIN}");
            text.push_str(&job("reaper", "/prometheusMetrics", every, &at));
        }
        text
    }

    /// Prometheus' command line behind its program, in its folder.
    pub fn prometheus_argv(&self, folder: &str) -> Vec<String> {
        let at = format!(
            "{}:{}",
            self.address,
            Part::Prometheus.port().unwrap_or_default()
        );
        vec![
            format!("--config.file={folder}/prometheus.yml"),
            format!("--storage.tsdb.path={folder}/data"),
            format!("--storage.tsdb.retention.time={RETENTION}"),
            format!("--web.listen-address={at}"),
            format!("--web.console.templates={folder}/consoles"),
            format!("--web.console.libraries={folder}/consoles"),
        ]
    }

    /// The name of the dashboard's file in Prometheus' folder `consoles`, and its text.
    pub fn console(&self) -> (&'static str, String) {
        (page::FILE, page::console(self))
    }

    /// Medusa's configuration for one node. Nodes are stopped and started by Helenus.
    pub fn medusa_ini(&self, node: &MedusaNode<'_>, storage: &Storage) -> String {
        let MedusaNode {
            yaml,
            address,
            saved_as,
            key_file,
        } = node;
        let mut text = format!(
            "[cassandra]\n\
             config_file = {yaml}\n\
             nodetool_host = {address}\n\
             resolve_ip_addresses = False\n\
             use_sudo = False\n\
             stop_cmd = true\n\
             start_cmd = true\n\
             check_running = false\n\
             [storage]\n\
             bucket_name = {BUCKET}\n\
             fqdn = {saved_as}\n\
             use_sudo_for_restore = False\n"
        );
        match storage {
            Storage::Local(folder) => text.push_str(&format!(
                "storage_provider = local\nbase_path = {folder}\n"
            )),
            Storage::S3(at) => text.push_str(&format!(
                "storage_provider = s3_compatible\nregion = us-east-1\nhost = {}\nport = {}\nsecure = False\n",
                at.ip(),
                at.port()
            )),
        }
        if let Some(file) = key_file {
            text.push_str(&format!("key_file = {file}\n"));
        }
        text
    }
}

fn job(name: &str, path: &str, every_s: u32, target: &str) -> String {
    format!(
        "  - job_name: {name}\n    metrics_path: {path}\n    scrape_interval: {every_s}s\n    static_configs:\n      - targets: ['{target}']\n"
    )
}
