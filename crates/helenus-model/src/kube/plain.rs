//! Resources that any Kubernetes runs: namespaces, ConfigMaps, services, disruption budgets; the StatefulSets are
//! beside. Refuses secrets: a manifest names them, and never has their values.

use super::layout::{Center, Layout, Set};
use super::options::Options;
use super::pod::{
    CONSOLE_LOGBACK, FORMED_KEY, JVM_KEY, LOGBACK_KEY, POD_KEY, PodConfig, RACKDC_KEY, YAML_KEY,
};
use super::stateful;
use crate::plan::{ClusterPlan, rackdc};
use crate::yaml::document::{Item, Mapping};
use std::collections::BTreeMap;

/// Label whose value is the same on everything of one cluster.
pub const INSTANCE: &str = "app.kubernetes.io/instance";
/// Label of a data centre.
pub const DATA_CENTER: &str = "helenus.io/data-center";
/// Label of a rack.
pub const RACK: &str = "helenus.io/rack";
/// Label of a StatefulSet.
pub const SET: &str = "helenus.io/set";
/// Label that distinguishes nodes with data from coordinators.
pub(super) const TIER: &str = "helenus.io/tier";
/// Label by which Helenus knows what it applied.
pub const ID: &str = "helenus.io/id";

/// The file of the namespaces.
pub(super) const NAMESPACES: &str = "0-namespaces.yaml";

/// What the renderers of one cluster share.
pub(super) struct Cluster<'a> {
    pub(super) plan: &'a ClusterPlan,
    pub(super) options: &'a Options,
    pub(super) layout: &'a Layout,
}

impl Cluster<'_> {
    /// Labels of everything.
    pub(super) fn labels(&self) -> Mapping {
        labels(&self.layout.label, self.options.id.as_deref())
    }

    /// Labels of what belongs to a data centre.
    pub(super) fn labels_of(&self, center: &Center) -> Mapping {
        self.labels().set(DATA_CENTER, center.label.as_str())
    }

    /// `metadata` of a resource of a data centre.
    pub(super) fn metadata(&self, name: &str, center: &Center) -> Mapping {
        Mapping::new()
            .set("name", name)
            .set("namespace", center.namespace.as_str())
            .set("labels", self.labels_of(center))
    }

    /// Labels by which pods of a data centre are chosen.
    fn selector(&self, center: &Center) -> Mapping {
        Mapping::new()
            .set(INSTANCE, self.layout.label.as_str())
            .set(DATA_CENTER, center.label.as_str())
    }

    /// The documents of each file, in the order in which they are applied: kubectl takes the files of a folder by name.
    pub(super) fn plain(&self) -> Vec<(&'static str, &'static str, Vec<Mapping>)> {
        let sets = || self.layout.sets.iter();
        let of_centers = |make: &dyn Fn(&Center) -> Vec<Mapping>| {
            self.layout
                .centers
                .iter()
                .flat_map(make)
                .collect::<Vec<_>>()
        };
        vec![
            (NAMESPACES, "namespaces", self.namespaces()),
            (
                "1-configmaps.yaml",
                "cassandra.yaml, JVM flags, seeds and tokens of each StatefulSet",
                sets().map(|set| self.config_map(set)).collect(),
            ),
            (
                "2-services.yaml",
                "names of pods and seeds, and a service for clients, per data centre",
                of_centers(&|center| self.services(center)),
            ),
            (
                "3-statefulsets.yaml",
                "a StatefulSet per rack",
                sets().map(|set| stateful::set(self, set)).collect(),
            ),
            (
                "4-poddisruptionbudgets.yaml",
                "one node at a time may be evicted",
                of_centers(&|center| vec![self.budget(center)]),
            ),
        ]
    }

    /// Namespaces, unless one was named: that one is the person's.
    fn namespaces(&self) -> Vec<Mapping> {
        if self.options.namespace.is_some() {
            return Vec::new();
        }
        let names = self.layout.namespaces().into_iter();
        names
            .map(|name| {
                let metadata = Mapping::new()
                    .set("name", name)
                    .set("labels", self.labels());
                resource("v1", "Namespace", metadata)
            })
            .collect()
    }

    /// How many pods a set has: as many as nodes are planned, or what it was scaled to.
    pub(super) fn replicas(&self, set: &Set) -> u32 {
        let scaled = self.options.replicas.get(&set.name);
        scaled.copied().unwrap_or_else(|| set.replicas())
    }

    /// Name of a set's ConfigMap.
    pub(super) fn config_name(set: &Set) -> String {
        format!("{}-config", set.name)
    }

    /// The files of a set's pods, by their names.
    pub(super) fn files(&self, set: &Set) -> BTreeMap<&'static str, String> {
        let center = &self.layout.centers[set.center];
        let names = (0..set.tokens.len()).map(|k| format!("{}-{k}", set.name));
        let tokens = names.zip(set.tokens.iter().cloned());
        let pod = PodConfig::new(
            &self.plan.release,
            (self.layout.seed_names(), self.layout.peer_names()),
            tokens.filter(|(_, tokens)| !tokens.is_empty()).collect(),
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

    fn config_map(&self, set: &Set) -> Mapping {
        let center = &self.layout.centers[set.center];
        let files = self.files(set).into_iter();
        let data = files.fold(Mapping::new(), |data, (name, text)| {
            match reason_of_file(name) {
                Some(reason) => data.why(reason, name, Item::Text(text)),
                None => data.set(name, Item::Text(text)),
            }
        });
        let data = match self.options.formed {
            false => data,
            true => data.why(
                "the cluster has formed: a pod with an empty volume joins it",
                FORMED_KEY,
                "yes",
            ),
        };
        resource(
            "v1",
            "ConfigMap",
            self.metadata(&Self::config_name(set), center),
        )
        .set("data", data)
    }

    fn services(&self, center: &Center) -> Vec<Mapping> {
        let port = |name: &str, port: u16| Mapping::new().set("name", name).set("port", port);
        let ports = self.plan.ports;
        let all = Mapping::new()
            .why("headless: each pod gets a DNS name", "clusterIP", "None")
            .why(
                "nodes find each other before they serve",
                "publishNotReadyAddresses",
                true,
            )
            .set("selector", self.selector(center))
            .set(
                "ports",
                [port("cql", ports.cql), port("intra", ports.storage)],
            );
        let seeds = Mapping::new()
            .set("clusterIP", "None")
            .why(
                "seeds are asked for while they start",
                "publishNotReadyAddresses",
                true,
            )
            .why(
                "the first pod of each rack is a seed; coordinators are none",
                "selector",
                self.selector(center)
                    .set(TIER, "data")
                    .set("apps.kubernetes.io/pod-index", "0"),
            )
            .set("ports", [port("intra", ports.storage)]);
        let clients = Mapping::new()
            .why(
                "pods that are ready; through coordinators where there are any",
                "selector",
                self.selector(center).set(TIER, self.client_tier(center)),
            )
            .set("ports", [port("cql", ports.cql)]);
        let service = |name: &str, spec: Mapping| {
            resource("v1", "Service", self.metadata(name, center)).set("spec", spec)
        };
        vec![
            service(&center.service, all),
            service(&center.seeds, seeds),
            service(&center.clients, clients),
        ]
    }

    fn client_tier(&self, center: &Center) -> &'static str {
        let of = |set: &Set| self.layout.centers[set.center] == *center && set.coordinator;
        match self.layout.sets.iter().any(of) {
            true => "coordinator",
            false => "data",
        }
    }

    fn budget(&self, center: &Center) -> Mapping {
        let spec = Mapping::new()
            .why(
                "with three replicas a quorum survives one node that is drained",
                "maxUnavailable",
                1_u32,
            )
            .set(
                "selector",
                Mapping::new().set("matchLabels", self.selector(center)),
            );
        resource(
            "policy/v1",
            "PodDisruptionBudget",
            self.metadata(&center.service, center),
        )
        .set("spec", spec)
    }
}

/// Labels of everything of the cluster whose label is `instance`.
pub(super) fn labels(instance: &str, id: Option<&str>) -> Mapping {
    Mapping::new()
        .set("app.kubernetes.io/name", "cassandra")
        .set(INSTANCE, instance)
        .set("app.kubernetes.io/managed-by", "helenus")
        .maybe(ID, id)
}

/// The head of a resource.
pub(super) fn resource(version: &str, kind: &str, metadata: Mapping) -> Mapping {
    Mapping::new()
        .set("apiVersion", version)
        .set("kind", kind)
        .set("metadata", metadata)
}

fn reason_of_file(name: &str) -> Option<&'static str> {
    match name {
        YAML_KEY => Some(
            "the preset's settings; the launcher puts address, seeds and tokens of the pod in place of the marks",
        ),
        JVM_KEY => Some(
            "the flags that `helenus up` gives such a node; `helenus presets` has their reasons",
        ),
        LOGBACK_KEY => Some("the log goes to standard output: `kubectl logs` has it"),
        POD_KEY => Some(
            "tokens are agreed before the start, so nodes start in parallel; a pod that is not listed bootstraps",
        ),
        _ => None,
    }
}
