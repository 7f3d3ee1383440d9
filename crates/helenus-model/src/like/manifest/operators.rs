//! The objects of the two operators: K8ssandraCluster, CassandraDatacenter and Stargate.
//! Refuses a data centre without a name and a size.

use super::ManifestError;
use super::draft::{Draft, Jvm, Site};
use super::jvm;
use super::read::{At, Object};
use crate::like::Class;
use crate::units::plural;
use serde_json::{Map, Value};

/// What is read at every level.
const LEVEL: [&str; 8] = [
    "clientEncryptionStores",
    "config",
    "metadata",
    "racks",
    "resources",
    "serverEncryptionStores",
    "serverType",
    "serverVersion",
];

/// What is read of a configuration.
const CONFIG: [&str; 8] = [
    "cassandraYaml",
    "jvmOptions",
    "cassandra-yaml",
    "cassandra-env-sh",
    "jvm-options",
    "jvm-server-options",
    "jvm11-server-options",
    "jvm17-server-options",
];

/// The rack of a data centre that names none.
const RACK: &str = "default";

/// What a cluster and a data centre both can say.
#[derive(Default)]
struct Level {
    racks: Vec<String>,
    yaml: Map<String, Value>,
    jvm: Jvm,
}

/// A K8ssandraCluster.
pub(super) fn cluster(draft: &mut Draft, object: &Object<'_>) -> Result<(), ManifestError> {
    let spec = object.at.need("spec")?;
    let cassandra = spec.need("cassandra")?;
    draft.rest(&spec, &["auth", "cassandra", "stargate"], "cluster")?;
    let of_all = level(draft, &cassandra, &["datacenterName", "datacenters"])?;
    let everywhere = stargate(draft, &spec)?;
    let list = cassandra.need("datacenters")?;
    for dc in list.items()? {
        let resource = dc.need("metadata")?.need("name")?.text()?;
        let dc = dc.named(format!("{resource}/"));
        let own = level(draft, &dc, &["datacenterName", "size", "stargate"])?;
        let mut yaml = of_all.yaml.clone();
        merge(&mut yaml, own.yaml);
        let racks = match own.racks.is_empty() {
            true => of_all.racks.clone(),
            false => own.racks,
        };
        let whole = Level {
            racks,
            yaml,
            jvm: of_all.jvm.and(own.jvm),
        };
        let coordinators = stargate(draft, &dc)?.or(everywhere).unwrap_or(0);
        site(draft, &dc, resource, whole, coordinators)?;
    }
    if draft.sites.is_empty() {
        return Err(list.wrong("needs a data centre"));
    }
    auth(draft, &spec)
}

/// CassandraDatacenters of one cluster.
pub(super) fn data_centers(
    draft: &mut Draft,
    objects: &[&Object<'_>],
) -> Result<(), ManifestError> {
    let mut clusters: Vec<&str> = Vec::new();
    for object in objects {
        let spec = object.at.need("spec")?;
        let cluster = spec.need("clusterName")?.text()?;
        if !clusters.contains(&cluster) {
            clusters.push(cluster);
        }
        let own = level(draft, &spec, &["datacenterName", "size"])?;
        site(draft, &spec, object.name, own, 0)?;
    }
    ManifestError::one_cluster(&clusters)
}

/// Stargates, each in the data centre that it names.
pub(super) fn gateways(draft: &mut Draft, objects: &[&Object<'_>]) -> Result<(), ManifestError> {
    for object in objects {
        let spec = object.at.need("spec")?;
        let of = spec.need("datacenterRef")?.need("name")?;
        let name = of.text()?;
        let nodes = gateway(draft, &spec, &["datacenterRef", "size"])?;
        match draft.sites.iter_mut().find(|site| site.resource == name) {
            Some(site) => site.coordinators += nodes,
            None => draft.note(&of, Class::NotHere, None, "no such data centre in the file"),
        }
    }
    Ok(())
}

fn level(draft: &mut Draft, at: &At<'_>, own: &[&str]) -> Result<Level, ManifestError> {
    let mut level = Level::default();
    if let Some(racks) = at.get("racks") {
        for rack in racks.items()? {
            level.racks.push(rack.need("name")?.text()?.to_owned());
            draft.rest(&rack, &["name"], "rack")?;
        }
    }
    if let Some(config) = at.get("config") {
        configured(draft, &config, &mut level)?;
    }
    if let Some(version) = at.get("serverVersion") {
        draft.server(&version, version.text()?);
    }
    if let Some(kind) = at.get("serverType")
        && kind.text()? != "cassandra"
    {
        draft.foreign = true;
        draft.note(&kind, Class::NotHere, None, "Apache Cassandra replaces it");
    }
    if let Some(resources) = at.get("resources") {
        draft.resources(&resources)?;
    }
    for key in ["clientEncryptionStores", "serverEncryptionStores"] {
        if let Some(stores) = at.get(key) {
            draft.tls = true;
            let why = "clients and nodes encrypt with certificates of this cluster, as with --tls";
            draft.note(&stores, Class::Replaced, None, why);
        }
    }
    let read: Vec<&str> = LEVEL.iter().chain(own).copied().collect();
    draft.rest(at, &read, "data_center")?;
    Ok(level)
}

fn configured(draft: &mut Draft, at: &At<'_>, level: &mut Level) -> Result<(), ManifestError> {
    for (key, value) in at.entries()? {
        match key {
            "cassandraYaml" | "cassandra-yaml" => level.yaml = value.map()?,
            "jvmOptions" => jvm::options(draft, &value, false, &mut level.jvm)?,
            key if CONFIG.contains(&key) => {
                jvm::options(draft, &value, true, &mut level.jvm)?;
            }
            _ => {}
        }
    }
    draft.rest(at, &CONFIG, "config")
}

/// Keys over keys, maps merged as the operator does.
fn merge(into: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (into.get_mut(&key), &value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more.clone()),
            _ => {
                into.insert(key, value);
            }
        }
    }
}

/// Nodes spread over racks as the operators do: evenly, the first racks get one more.
fn site(
    draft: &mut Draft,
    at: &At<'_>,
    resource: &str,
    level: Level,
    coordinators: u32,
) -> Result<(), ManifestError> {
    let name = match at.get("datacenterName") {
        Some(name) => name.text()?,
        None => resource,
    };
    let size = at.need("size")?;
    let nodes = size.nodes()?;
    let mut names = level.racks;
    if names.is_empty() {
        names.push(RACK.to_owned());
    }
    let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let in_rack = |k: u32| nodes / count + u32::from(k < nodes % count);
    let racks = names.into_iter().zip(0..);
    let racks: Vec<(String, u32)> = racks.map(|(rack, k)| (rack, in_rack(k))).collect();
    let now = Draft::standing(name, &racks);
    draft.note(&size, Class::Kept, Some(now), "");
    draft.sites.push(Site {
        name: name.to_owned(),
        resource: resource.to_owned(),
        racks,
        coordinators,
        yaml: level.yaml,
        jvm: level.jvm,
    });
    Ok(())
}

/// Nodes of the Stargate of a cluster or a data centre; none where it has none of its own.
fn stargate(draft: &mut Draft, at: &At<'_>) -> Result<Option<u32>, ManifestError> {
    match at.get("stargate") {
        Some(stargate) => Ok(Some(gateway(draft, &stargate, &["size"])?)),
        None => Ok(None),
    }
}

fn gateway(draft: &mut Draft, at: &At<'_>, read: &[&str]) -> Result<u32, ManifestError> {
    let nodes = match at.get("size") {
        Some(size) => size.nodes()?,
        None => 1,
    };
    let now = plural(nodes as usize, "coordinator-only node");
    let why = "Stargate's APIs are not here: Cassandra coordinates and holds no data";
    match at.get("size") {
        Some(size) => draft.note(&size, Class::Replaced, Some(now), why),
        None => draft.add(format!("{}.size", at.path), now, why),
    }
    draft.rest(at, read, "stargate")?;
    Ok(nodes)
}

/// Whether clients are asked for a password: by default they are, and a key of cassandra.yaml wins.
fn auth(draft: &mut Draft, spec: &At<'_>) -> Result<(), ManifestError> {
    let said = spec.get("auth");
    let on = match &said {
        Some(at) => at.yes()?,
        None => true,
    };
    let names_one = |site: &Site| site.yaml.get("authenticator").is_some_and(|v| !v.is_null());
    let in_yaml = draft.sites.iter().any(names_one);
    draft.auth = on && !in_yaml;
    let password = "authenticator: PasswordAuthenticator".to_owned();
    match said {
        Some(at) if in_yaml => {
            let why = "the authenticator of cassandraYaml applies";
            draft.note(&at, Class::Kept, None, why);
        }
        Some(at) if on => {
            let why = "with this cluster's own account";
            draft.note(&at, Class::Kept, Some(password), why);
        }
        Some(at) => draft.note(&at, Class::Kept, None, "no password is asked for"),
        None if draft.auth => {
            let why = "the operator's default, with this cluster's own account";
            draft.add(format!("{}.auth", spec.path), password, why);
        }
        None => {}
    }
    Ok(())
}
