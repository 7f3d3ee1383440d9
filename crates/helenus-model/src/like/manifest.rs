//! A file that describes one Cassandra cluster for another tool (a Kubernetes manifest, a Compose or stack file, an
//! inventory of Ansible), turned into a topology, settings, flags and differences.
//! Refuses to take a size of another machine, and to drop a field in silence.

use super::{Beside, Class, Difference, Like, LikeError, like};
use crate::preset::PresetName;
use crate::release::Release;
use crate::topology::{Topology, TopologyError};
use crate::units::Bytes;
use crate::yaml::YamlError;
use serde_json::Value;

mod compose;
mod draft;
mod fields;
mod inventory;
mod jvm;
mod operators;
mod pods;
mod read;
use draft::Draft;
pub use inventory::{Inventory, InventoryHost, inventory};
use read::Object;

/// What a manifest says of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Data centres, racks and nodes; with flags of the JVM where a data centre has its own.
    pub topology: Topology,
    /// Release, where Helenus knows it.
    pub release: Option<String>,
    /// The largest heap: of another machine, so that no node gets it by itself.
    pub heap: Option<Bytes>,
    /// The largest young generation, likewise.
    pub new_heap: Option<Bytes>,
    /// A cassandra.yaml with the keys of the whole cluster.
    pub cassandra_yaml: String,
    /// For each data centre a cassandra.yaml with the keys that it has for itself; empty where it has none.
    pub own_yaml: Vec<String>,
    /// Flags of every node's JVM.
    pub jvm: Vec<String>,
    /// Whether clients are asked for a password, though no key says so.
    pub auth: bool,
    /// Whether clients and nodes encrypt.
    pub tls: bool,
    /// Tokens of a node where no key says how many.
    pub tokens: u32,
    /// What became of each field outside of cassandra.yaml.
    pub differences: Vec<Difference>,
    /// What a person should know at once.
    pub notes: Vec<String>,
    /// Where the release stands, and its text.
    server: Option<(String, String)>,
}

/// A small cluster like the one of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// As of a cassandra.yaml; the differences are those of the manifest too.
    pub like: Like,
    /// Checked keys with values that each data centre has for itself, in the topology's order.
    pub by_data_center: Vec<Vec<(String, Value)>>,
    /// Whether clients and nodes encrypt: the manifest says so, or the person did.
    pub tls: bool,
}

/// Why a manifest cannot be followed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ManifestError {
    /// A document is no YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// A value that the field does not take, or a field that is missing.
    #[error("line {line}: {key} {what}")]
    Value {
        /// Line, from 1.
        line: usize,
        /// The field, from its object on.
        key: String,
        /// What is wrong, such as `must be a text`.
        what: String,
    },
    /// A cassandra.yaml inside of it.
    #[error("{key}, whose first line is {line}, is {error}")]
    Config {
        /// Line of its first word in the file, from 1.
        line: usize,
        /// Where it is.
        key: String,
        /// Why it is not read.
        error: YamlError,
    },
    /// Other objects only.
    #[error("no Cassandra cluster in it, only {kinds}")]
    NoCassandra {
        /// Their kinds, each once.
        kinds: String,
    },
    /// An inventory without a host for Cassandra.
    #[error("no host in it runs Cassandra")]
    NoHosts,
    /// Several clusters.
    #[error("it has several Cassandra clusters: {names}")]
    Clusters {
        /// Their names.
        names: String,
    },
    /// A shape that no cluster can have here.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl ManifestError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Yaml(_) => {
                "Kubernetes would not take it; a template must be rendered first, as with `helm template`".into()
            }
            Self::Value { .. } => {
                "Kubernetes or Compose would not take it; `kubectl explain` shows what the field takes".into()
            }
            Self::Config { .. } => "Cassandra would not start with it".into(),
            Self::NoHosts => "put the hosts into a group cassandra".into(),
            Self::NoCassandra { .. } => {
                "it takes a K8ssandraCluster, CassandraDatacenters, or StatefulSets of Cassandra with their ConfigMaps, or services of Compose with Cassandra's image".into()
            }
            Self::Clusters { .. } => "leave one of them in the file".into(),
            Self::Topology(error) => error
                .hint()
                .unwrap_or_else(|| "write a smaller cluster into a copy of the file".into()),
        }
    }

    /// Refuses objects of several clusters.
    fn one_cluster(names: &[&str]) -> Result<(), Self> {
        match names {
            [] | [_] => Ok(()),
            several => Err(Self::Clusters {
                names: several.join(", "),
            }),
        }
    }
}

/// Reads a manifest: one or several documents with a K8ssandraCluster, CassandraDatacenters of one cluster, or
/// StatefulSets of Cassandra pods with their ConfigMaps; or a Compose or stack file; or an inventory of Ansible. None
/// where the text is none of these.
///
/// # Errors
/// No Cassandra in it, several clusters, or a value that the field does not take.
pub fn manifest(text: &str) -> Result<Option<Manifest>, ManifestError> {
    let Some(documents) = read::documents(text)? else {
        if let Some(document) = read::plain(text).filter(|one| compose::is_one(&one.at())) {
            let mut draft = Draft::default();
            compose::services(&mut draft, &document.at())?;
            return draft.finish().map(Some);
        }
        return inventory(text).map(|found| found.manifest()).transpose();
    };
    let objects = read::objects(&documents)?;
    let clusters = all(&objects, "K8ssandraCluster", "k8ssandra.io");
    let data_centers = all(&objects, "CassandraDatacenter", "cassandra.datastax.com");
    let mut sets = all(&objects, "StatefulSet", "apps");
    sets.retain(|set| pods::is_cassandra(set));
    let mut draft = Draft::default();
    match (&clusters[..], &data_centers[..], &sets[..]) {
        ([cluster], ..) => {
            operators::cluster(&mut draft, cluster)?;
            // What the operator makes of it is there too where the file was read from a running cluster.
            made_of(
                &mut draft,
                cluster,
                &[&data_centers[..], &sets[..]].concat(),
            );
        }
        ([_, ..], ..) => {
            let names: Vec<&str> = clusters.iter().map(|cluster| cluster.name).collect();
            ManifestError::one_cluster(&names)?;
        }
        ([], [first, ..], _) => {
            operators::data_centers(&mut draft, &data_centers)?;
            let gateways = all(&objects, "Stargate", "stargate.k8ssandra.io");
            operators::gateways(&mut draft, &gateways)?;
            made_of(&mut draft, first, &sets);
        }
        ([], [], [_, ..]) => pods::pods(&mut draft, &sets, &all(&objects, "ConfigMap", "v1"))?,
        ([], [], []) => {
            return Err(ManifestError::NoCassandra {
                kinds: kinds(&objects),
            });
        }
    }
    draft.finish().map(Some)
}

/// The objects of a kind.
fn all<'o, 'n>(objects: &'o [Object<'n>], kind: &str, group: &str) -> Vec<&'o Object<'n>> {
    let of_kind = objects.iter().filter(|object| object.is(kind, group));
    of_kind.collect()
}

/// Notes objects that an operator made of another one.
fn made_of(draft: &mut Draft, of: &Object<'_>, made: &[&Object<'_>]) {
    for object in made {
        draft.push(Difference {
            key: format!("{}/{}", object.kind, object.name),
            class: Class::Replaced,
            was: None,
            now: None,
            why: format!("the operator's: {} {} is followed", of.kind, of.name),
        });
    }
}

/// The kinds of objects, each once.
fn kinds(objects: &[Object<'_>]) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for object in objects {
        if !kinds.contains(&object.kind) {
            kinds.push(object.kind);
        }
    }
    match kinds.is_empty() {
        true => "an empty list".to_owned(),
        false => kinds.join(", "),
    }
}

impl Manifest {
    /// Fits its settings to a release and a preset; `beside` is what the person's own flags say.
    ///
    /// # Errors
    /// As of a cassandra.yaml: one setting under two of its names.
    pub fn follow(
        &self,
        release: &Release,
        preset: PresetName,
        beside: Beside,
    ) -> Result<Followed, LikeError> {
        let beside = Beside {
            auth: beside.auth || self.auth,
            tls: beside.tls || self.tls,
            ..beside
        };
        let mut whole = like(&self.cassandra_yaml, None, release, preset, beside)?;
        for difference in &mut whole.differences {
            // The nodes stand in several data centres and racks.
            if difference.key == "endpoint_snitch" {
                difference.now = Some("endpoint_snitch: GossipingPropertyFileSnitch".to_owned());
            }
        }
        let mut differences = self.differences.clone();
        differences.extend(self.of_release(release));
        if whole.tokens.is_none() && beside.tokens.is_none() {
            whole.tokens = Some(self.tokens);
            differences.push(Difference {
                key: "num_tokens".to_owned(),
                class: Class::Added,
                was: None,
                now: Some(format!("num_tokens: {}", self.tokens)),
                why: "what its nodes have where no key says how many".to_owned(),
            });
        }
        differences.append(&mut whole.differences);
        let mut by_data_center = Vec::new();
        for (dc, text) in self.topology.data_centers.iter().zip(&self.own_yaml) {
            if text.is_empty() {
                by_data_center.push(Vec::new());
                continue;
            }
            let own = like(text, None, release, preset, beside)?;
            let said = own.differences.into_iter();
            let said = said.filter(|difference| difference.class != Class::Added);
            differences.extend(said.map(|difference| Difference {
                key: format!("{}/{}", dc.name, difference.key),
                ..difference
            }));
            by_data_center.push(own.settings);
        }
        whole.differences = differences;
        Ok(Followed {
            like: whole,
            by_data_center,
            tls: beside.tls,
        })
    }

    /// What became of the release.
    fn of_release(&self, release: &Release) -> Option<Difference> {
        let (key, text) = self.server.clone()?;
        let same = self.release.as_deref() == Some(release.version);
        let (class, why) = match same {
            true => (Class::Kept, ""),
            false => (Class::Replaced, "another release was asked for"),
        };
        Some(Difference {
            key,
            class,
            was: Some(text),
            now: Some(format!("Cassandra {}", release.version)),
            why: why.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod others;
