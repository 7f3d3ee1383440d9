//! StatefulSets of Cassandra pods with the ConfigMaps that they mount, as charts and people write them.
//! Refuses to guess which pods are Cassandra's: image, container or variables say so.

use super::ManifestError;
use super::draft::{Draft, Jvm, RACK, Site};
use super::jvm;
use super::read::{At, Object, jvm_size};
use crate::like::{Class, Difference, read_place};
use crate::release::Release;
use crate::topology::SINGLE_DATA_CENTER;
use crate::yaml;
use serde_json::{Map, Value};

/// Names of images, without registry and tag.
const IMAGES: [&str; 2] = ["cassandra", "cass-management-api"];

/// Files of a ConfigMap that are followed.
const FILES: [&str; 6] = [
    "cassandra.yaml",
    "cassandra-rackdc.properties",
    "jvm.options",
    "jvm-server.options",
    "jvm11-server.options",
    "jvm17-server.options",
];

/// Variables of the official image that are followed.
const VARIABLES: [&str; 8] = [
    "CASSANDRA_DC",
    "CASSANDRA_RACK",
    "CASSANDRA_NUM_TOKENS",
    "CASSANDRA_ENDPOINT_SNITCH",
    "MAX_HEAP_SIZE",
    "HEAP_NEWSIZE",
    "JVM_EXTRA_OPTS",
    "JVM_OPTS",
];

/// What the pods of one StatefulSet are.
#[derive(Default)]
pub(super) struct Pod {
    pub(super) data_center: Option<String>,
    pub(super) rack: Option<String>,
    pub(super) yaml: Map<String, Value>,
    pub(super) has_file: bool,
    pub(super) jvm: Jvm,
}

/// Whether its pods run Cassandra.
pub(super) fn is_cassandra(set: &Object<'_>) -> bool {
    pod_of(&set.at).is_some_and(|pod| container_of(&pod).is_some())
}

fn pod_of<'n>(set: &At<'n>) -> Option<At<'n>> {
    set.get("spec")?.get("template")?.get("spec")
}

/// The container that runs Cassandra.
fn container_of<'n>(pod: &At<'n>) -> Option<At<'n>> {
    let all = pod.get("containers")?.items().ok()?;
    all.into_iter().find(|container| {
        let text = |key: &str| container.get(key).and_then(|at| at.text().ok());
        let variables = container.get("env").and_then(|env| env.items().ok());
        let mut names = variables.into_iter().flatten().filter_map(|one| {
            let name = one.get("name")?;
            name.text().ok()
        });
        text("name") == Some("cassandra")
            || is_image(text("image").unwrap_or_default())
            || names.any(names_cassandra)
    })
}

/// Whether an image is one of Cassandra.
pub(super) fn is_image(image: &str) -> bool {
    let image = image.rsplit('/').next().unwrap_or_default();
    let base = image.split([':', '@']).next().unwrap_or_default();
    IMAGES.contains(&base)
}

/// Whether a variable of this name says that a container runs Cassandra.
pub(super) fn names_cassandra(name: &str) -> bool {
    matches!(name, "CASSANDRA_SEEDS" | "CASSANDRA_CLUSTER_NAME")
}

/// StatefulSets of one cluster, and the ConfigMaps beside them.
pub(super) fn pods<'n>(
    draft: &mut Draft,
    sets: &[&Object<'n>],
    maps: &[&Object<'n>],
) -> Result<(), ManifestError> {
    let mut clusters: Vec<&str> = Vec::new();
    for set in sets {
        one(draft, set, maps, &mut clusters)?;
    }
    ManifestError::one_cluster(&clusters)
}

fn one<'n>(
    draft: &mut Draft,
    set: &Object<'n>,
    maps: &[&Object<'n>],
    clusters: &mut Vec<&'n str>,
) -> Result<(), ManifestError> {
    let spec = set.at.need("spec")?;
    let template = spec.need("template")?.need("spec")?;
    let Some(container) = container_of(&template) else {
        return Ok(());
    };
    let mut pod = Pod::default();
    for map in mounted(draft, &template, maps)? {
        files(draft, map, &mut pod)?;
    }
    for (name, value) in variables(draft, set, &container, maps)? {
        if name == "CASSANDRA_CLUSTER_NAME" {
            let cluster = value.text()?;
            if !clusters.contains(&cluster) {
                clusters.push(cluster);
            }
        }
        variable(draft, name, (&value, value.text()?), &mut pod)?;
    }
    if let Some(at) = container.get("image") {
        image(draft, &at)?;
    }
    if let Some(resources) = container.get("resources") {
        draft.resources(&resources)?;
    }
    for other in template.need("containers")?.items()? {
        if other.path != container.path {
            let what = other.get("image").unwrap_or(other);
            draft.note(&what, Class::NotHere, None, "only Cassandra runs here");
        }
    }
    draft.rest(&spec, &["replicas", "template"], "stateful_set")?;
    draft.rest(&template, &["containers", "volumes"], "pod")?;
    let read = ["name", "image", "env", "envFrom", "resources"];
    draft.rest(&container, &read, "container")?;
    site(draft, set, &spec, pod)
}

/// Adds the nodes to their data centre; several StatefulSets may be racks of one.
fn site(draft: &mut Draft, set: &Object<'_>, spec: &At<'_>, pod: Pod) -> Result<(), ManifestError> {
    let replicas = spec.get("replicas");
    let nodes = match &replicas {
        Some(at) => at.nodes()?,
        None => 1,
    };
    let now = pod.standing(nodes);
    match &replicas {
        Some(at) => draft.note(at, Class::Kept, Some(now), ""),
        None => draft.add(
            format!("{}.replicas", spec.path),
            now,
            "the default of Kubernetes",
        ),
    }
    pod.join(draft, set.name, nodes);
    Ok(())
}

impl Pod {
    fn place(&self, nodes: u32) -> (&str, (String, u32)) {
        let name = self.data_center.as_deref().unwrap_or(SINGLE_DATA_CENTER);
        let rack = self.rack.as_deref().unwrap_or(RACK);
        (name, (rack.to_owned(), nodes))
    }

    /// Where so many of it stand, in words.
    pub(super) fn standing(&self, nodes: u32) -> String {
        let (name, rack) = self.place(nodes);
        Draft::standing(name, std::slice::from_ref(&rack))
    }

    /// Adds so many of it to their data centre.
    pub(super) fn join(self, draft: &mut Draft, resource: &str, nodes: u32) {
        let (name, rack) = self.place(nodes);
        // A file of its own without num_tokens has Cassandra's default, not the one of the image's file.
        if self.has_file {
            draft.tokens = Some(1);
        }
        let known = draft.sites.iter_mut().find(|site| site.name == name);
        let Some(site) = known else {
            draft.sites.push(Site {
                name: name.to_owned(),
                resource: resource.to_owned(),
                racks: vec![rack],
                coordinators: 0,
                yaml: self.yaml,
                jvm: self.jvm,
            });
            return;
        };
        match site.racks.iter_mut().find(|(name, _)| *name == rack.0) {
            Some((_, nodes)) => *nodes += rack.1,
            None => site.racks.push(rack),
        }
        if site.yaml != self.yaml || site.jvm != self.jvm {
            let why = format!(
                "all nodes of a data centre have the settings and flags of {}",
                site.resource
            );
            draft.push(Difference {
                key: format!("{resource}/settings"),
                class: Class::Replaced,
                was: None,
                now: None,
                why,
            });
        }
    }
}

/// The ConfigMaps that the pods mount; what is mounted and not in the file is noted.
fn mounted<'n, 'm>(
    draft: &mut Draft,
    pod: &At<'n>,
    maps: &[&'m Object<'n>],
) -> Result<Vec<&'m Object<'n>>, ManifestError> {
    let mut all = Vec::new();
    let Some(volumes) = pod.get("volumes") else {
        return Ok(all);
    };
    let mut sources = volumes.items()?;
    for volume in volumes.items()? {
        let projected = volume.get("projected").and_then(|of| of.get("sources"));
        if let Some(projected) = projected {
            sources.extend(projected.items()?);
        }
    }
    for source in sources {
        if let Some(secret) = source.get("secret") {
            let why = "secrets are not in the file and are not read";
            draft.note(&secret, Class::NotHere, None, why);
        }
        if let Some(reference) = source.get("configMap") {
            all.extend(named(draft, &reference, maps)?);
        }
    }
    Ok(all)
}

/// The ConfigMap that a reference names.
fn named<'n, 'm>(
    draft: &mut Draft,
    reference: &At<'n>,
    maps: &[&'m Object<'n>],
) -> Result<Option<&'m Object<'n>>, ManifestError> {
    let name = reference.need("name")?;
    let wanted = name.text()?;
    let found = maps.iter().find(|map| map.name == wanted).copied();
    if found.is_none() {
        draft.note(
            &name,
            Class::NotHere,
            None,
            "this ConfigMap is not in the file",
        );
    }
    Ok(found)
}

/// The files of a ConfigMap.
fn files(draft: &mut Draft, map: &Object<'_>, pod: &mut Pod) -> Result<(), ManifestError> {
    let Some(data) = map.at.get("data") else {
        return Ok(());
    };
    for (name, at) in data.entries()? {
        let text = at.text()?;
        match name {
            "cassandra.yaml" => {
                pod.yaml = settings(draft, &at, text)?;
                pod.has_file = true;
            }
            "cassandra-rackdc.properties" => {
                let place = read_place(text);
                pod.data_center = Some(place.data_center);
                pod.rack = Some(place.rack);
                draft.note(&at, Class::Kept, None, "");
            }
            name if FILES.contains(&name) => {
                let lines = text.lines().map(str::trim);
                let lines: Vec<&str> = lines.filter(|line| line.starts_with('-')).collect();
                jvm::flags(
                    draft,
                    (name, at.path.as_str()),
                    &lines.join(" "),
                    &mut pod.jvm,
                );
            }
            _ => {}
        }
    }
    draft.rest(&data, &FILES, "files")
}

/// The keys of a cassandra.yaml.
fn settings(
    draft: &mut Draft,
    at: &At<'_>,
    text: &str,
) -> Result<Map<String, Value>, ManifestError> {
    let (value, twice) = yaml::parse_last(text).map_err(|error| ManifestError::Config {
        line: at.line(),
        key: at.path.clone(),
        error,
    })?;
    for key in &twice {
        let now = format!("the last {key}");
        draft.add(
            format!("{}: {key}", at.path),
            now,
            "twice in the file: the last one applies",
        );
    }
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => Err(at.wrong("must be the text of a cassandra.yaml")),
    }
}

/// The variables of a container, those of its ConfigMaps first; what comes from elsewhere is noted.
fn variables<'n>(
    draft: &mut Draft,
    set: &Object<'n>,
    container: &At<'n>,
    maps: &[&Object<'n>],
) -> Result<Vec<(&'n str, At<'n>)>, ManifestError> {
    let mut all = Vec::new();
    let from = match container.get("envFrom") {
        Some(from) => from.items()?,
        None => Vec::new(),
    };
    for source in from {
        let Some(reference) = source.get("configMapRef") else {
            let why = "secrets are not in the file and are not read";
            draft.note(&source, Class::NotHere, None, why);
            continue;
        };
        let map = named(draft, &reference, maps)?;
        if let Some(data) = map.and_then(|map| map.at.get("data")) {
            all.extend(data.entries()?);
        }
    }
    let own = match container.get("env") {
        Some(own) => own.items()?,
        None => Vec::new(),
    };
    for variable in own {
        let name = variable.need("name")?.text()?;
        let path = format!("{}/env.{name}", set.name);
        let from = variable.get("valueFrom");
        match (variable.get("value"), from) {
            (Some(value), _) => all.push((name, value.named(path))),
            // Names and addresses of pods.
            (None, Some(from)) if from.get("fieldRef").is_some() => {}
            (None, Some(from)) => {
                let why = "its value is not in the file";
                draft.note(&from.named(path), Class::NotHere, None, why);
            }
            (None, None) => {}
        }
    }
    Ok(all)
}

/// Takes one variable.
pub(super) fn variable(
    draft: &mut Draft,
    name: &str,
    (at, text): (&At<'_>, &str),
    pod: &mut Pod,
) -> Result<(), ManifestError> {
    let size = || jvm_size(text).ok_or_else(|| at.wrong("must be a size such as 8G"));
    match name {
        "CASSANDRA_DC" => pod.data_center = Some(text.to_owned()),
        "CASSANDRA_RACK" => pod.rack = Some(text.to_owned()),
        "CASSANDRA_NUM_TOKENS" => {
            let number = text.parse::<u32>();
            let number = number.map_err(|_| at.wrong("must be a number of tokens"))?;
            // What becomes of it is noted with the other keys.
            pod.yaml.insert("num_tokens".to_owned(), number.into());
            return Ok(());
        }
        "CASSANDRA_ENDPOINT_SNITCH" => {
            pod.yaml.insert("endpoint_snitch".to_owned(), text.into());
            return Ok(());
        }
        "MAX_HEAP_SIZE" => {
            pod.jvm.heap = Some(size()?);
            return note(draft, at, Class::Shrunk, jvm::HEAP);
        }
        "HEAP_NEWSIZE" => {
            pod.jvm.new_heap = Some(size()?);
            return note(draft, at, Class::Shrunk, jvm::HEAP);
        }
        "JVM_EXTRA_OPTS" | "JVM_OPTS" => {
            jvm::flags(draft, (name, at.path.as_str()), text, &mut pod.jvm);
            return Ok(());
        }
        _ => {
            draft.unread(name, at, &VARIABLES, "variables");
            return Ok(());
        }
    }
    note(draft, at, Class::Kept, "")
}

fn note(draft: &mut Draft, at: &At<'_>, class: Class, why: &str) -> Result<(), ManifestError> {
    draft.note(at, class, None, why);
    Ok(())
}

/// The release by the tag of an image, where it looks like one.
pub(super) fn image(draft: &mut Draft, at: &At<'_>) -> Result<(), ManifestError> {
    let text = at.text()?;
    let name = text.rsplit('/').next().unwrap_or(text);
    let name = name.split('@').next().unwrap_or(name);
    let tag = name.split_once(':').map_or("", |(_, tag)| tag);
    let number = tag.split(['-', '_']).next().unwrap_or(tag);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    match (is_number, Release::find(tag).is_ok()) {
        (true, true) => draft.server(at, tag),
        (true, false) => draft.server(at, number),
        (false, _) => {
            let why = "its tag names no release: --cassandra chooses one";
            draft.note(at, Class::Replaced, None, why);
        }
    }
    Ok(())
}
