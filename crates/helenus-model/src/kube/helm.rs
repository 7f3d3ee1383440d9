//! The values file of the K8ssandra 1.x Helm chart, as the guide for developers of 2021 has it.
//! Refuses what that chart has no value for.

use super::layout::Set;
use super::options::KubeError;
use super::plain::Cluster;
use crate::memory::blind_heap;
use crate::units::Bytes;
use crate::yaml::document::Mapping;

/// The releases that the chart starts.
const RELEASES: [&str; 2] = ["3.11", "4.0"];

impl Cluster<'_> {
    /// The values.
    ///
    /// # Errors
    /// Several data centres, or a release that the chart does not know.
    pub(super) fn helm_values(&self) -> Result<Mapping, KubeError> {
        let form = "the 1.x chart";
        let [center] = &self.layout.centers[..] else {
            return Err(KubeError::Cannot {
                form,
                what: "several data centres".to_owned(),
                hint: "use --as k8ssandra",
            });
        };
        let release = &self.plan.release;
        if !RELEASES.iter().any(|series| release.starts_with(series)) {
            return Err(KubeError::Cannot {
                form,
                what: format!("Cassandra {release}"),
                hint: "it starts 3.11 and 4.0: add --cassandra 4.0, or use --as k8ssandra",
            });
        }
        let sets = || self.layout.sets.iter();
        let count = |coordinator: bool| -> u32 {
            let of = sets().filter(|set| set.coordinator == coordinator);
            of.map(Set::replicas).sum()
        };
        let first = sets().find(|set| !set.coordinator);
        let heap = match first.filter(|_| self.options.heap_said) {
            Some(set) => Mapping::new()
                .set("size", set.heap.heap.jvm())
                .maybe("newGenSize", set.heap.new.map(|new| new.jvm())),
            None => Mapping::new(),
        };
        let data_center = Mapping::new()
            .set("name", center.label.as_str())
            .set("size", count(false));
        let off = || Mapping::new().set("enabled", false);
        let mut cassandra = Mapping::new().set("version", release.as_str());
        cassandra = match heap.is_empty() {
            false => cassandra.set("heap", heap),
            true => cassandra.why(self.blank(count(false)), "heap", heap),
        };
        cassandra = cassandra
            .set("datacenters", [data_center])
            .set("ingress", off());
        let stargate = match sets().find(|set| set.coordinator) {
            None => off(),
            Some(set) => Mapping::new()
                .set("enabled", true)
                .set("replicas", count(true))
                .why(
                    "set explicitly: Stargate computes none from the memory it sees",
                    "heapMB",
                    set.heap.heap.as_mib(),
                )
                .set(
                    "ingress",
                    Mapping::new()
                        .set("enabled", true)
                        .set("cassandra", Mapping::new().set("enabled", true)),
                ),
        };
        let medusa = match &self.options.medusa {
            None => off(),
            Some(medusa) => Mapping::new()
                .set("enabled", true)
                .set("multiTenant", true)
                .set("storage", medusa.provider.as_str())
                .set(
                    "storage_properties",
                    Mapping::new()
                        .maybe("region", medusa.region.as_deref())
                        .maybe("host", medusa.host.as_deref()),
                )
                .set("bucketName", medusa.bucket.as_str())
                .why(
                    "made by `helenus kube secret bucket-of-chart`",
                    "storageSecret",
                    medusa.secret.as_str(),
                ),
        };
        Ok(Mapping::new()
            .set("cassandra", cassandra)
            .set("stargate", stargate)
            .set("medusa", medusa)
            .set("reaper", Mapping::new().set("enabled", self.options.reaper))
            .set(
                "kube-prometheus-stack",
                Mapping::new().set("enabled", self.options.telemetry),
            ))
    }

    /// What a blank heap comes to.
    fn blank(&self, nodes: u32) -> String {
        let worker = self.options.worker_memory;
        let each = blind_heap(worker);
        format!(
            "blank: each node takes max(min(1/2 ram, 1024 MB), min(1/4 ram, 8 GB)) of the worker's whole memory, \
             {each} of {worker}, whatever runs beside it: {nodes} nodes on one machine need {} of heap alone. \
             Give --heap, such as --heap 500M",
            Bytes(each.0 * u64::from(nodes))
        )
    }
}
