//! The services of a Compose or stack file that run Cassandra's image. What others the file has is reported.
//! Refuses to guess the value of a variable that the file only names.

use super::draft::Draft;
use super::pods::{Pod, image, is_image, names_cassandra, variable};
use super::read::At;
use super::{Class, ManifestError};

/// Keys of a service that are followed.
const READ: [&str; 6] = [
    "image",
    "environment",
    "deploy",
    "scale",
    "mem_limit",
    "cpus",
];

/// Whether a file is one of Compose or Swarm.
pub(super) fn is_one(root: &At<'_>) -> bool {
    root.get("services")
        .is_some_and(|services| services.is_map())
}

/// The services that run Cassandra.
pub(super) fn services(draft: &mut Draft, root: &At<'_>) -> Result<(), ManifestError> {
    let mut clusters: Vec<&str> = Vec::new();
    let mut others = Vec::new();
    for (name, service) in root.need("services")?.entries()? {
        let service = service.named(format!("{name}/"));
        if !is_cassandra(&service) {
            others.push(name);
            let what = service.get("image").unwrap_or(service);
            draft.note(&what, Class::NotHere, None, "only Cassandra runs here");
            continue;
        }
        one(draft, name, &service, &mut clusters)?;
    }
    if draft.sites.is_empty() {
        return Err(ManifestError::NoCassandra {
            kinds: others.join(", "),
        });
    }
    ManifestError::one_cluster(&clusters)
}

fn is_cassandra(service: &At<'_>) -> bool {
    let image = service.get("image").and_then(|at| at.text().ok());
    let names = variables(service).unwrap_or_default();
    image.is_some_and(is_image) || names.iter().any(|(name, ..)| names_cassandra(name))
}

/// A variable's name, where it stands, and its value, which may be only named.
type Variable<'n> = (&'n str, At<'n>, Option<&'n str>);

/// The variables of a service: a map, or a list of `NAME=VALUE`.
fn variables<'n>(service: &At<'n>) -> Result<Vec<Variable<'n>>, ManifestError> {
    let Some(all) = service.get("environment") else {
        return Ok(Vec::new());
    };
    let named = |name: &str, at: At<'n>| {
        let path = format!("{}environment.{name}", service.path);
        at.named(path)
    };
    if all.is_list() {
        let mut pairs = Vec::new();
        for item in all.items()? {
            let (name, value) = match item.text()?.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (item.text()?, None),
            };
            pairs.push((name, named(name, item), value));
        }
        return Ok(pairs);
    }
    let pair = |(name, at): (&'n str, At<'n>)| {
        let value = at.text()?;
        Ok((name, named(name, at), Some(value)))
    };
    all.entries()?.into_iter().map(pair).collect()
}

/// What `${NAME:-default}` comes to where nothing is said: its default; none where it has none.
fn filled(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, behind) = after.split_once('}')?;
        let (_, default) = inside.split_once(":-").or_else(|| inside.split_once('-'))?;
        out.push_str(before);
        out.push_str(default);
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

fn one<'n>(
    draft: &mut Draft,
    name: &str,
    service: &At<'n>,
    clusters: &mut Vec<&'n str>,
) -> Result<(), ManifestError> {
    let mut pod = Pod::default();
    for (key, at, text) in variables(service)? {
        if let Some(cluster) = text.filter(|_| key == "CASSANDRA_CLUSTER_NAME")
            && !clusters.contains(&cluster)
        {
            clusters.push(cluster);
        }
        match text.and_then(filled) {
            Some(text) => variable(draft, key, (&at, &text), &mut pod)?,
            None => draft.note(&at, Class::NotHere, None, "its value is not in the file"),
        }
    }
    if let Some(at) = service.get("image") {
        image(draft, &at)?;
    }
    let deploy = service.get("deploy");
    let resources = deploy.as_ref().and_then(|deploy| deploy.get("resources"));
    let sizes = resources.into_iter();
    for at in sizes.chain(
        ["mem_limit", "cpus"]
            .iter()
            .filter_map(|key| service.get(key)),
    ) {
        draft.note(&at, Class::Shrunk, None, "a size of another machine");
    }
    let replicas = deploy.as_ref().and_then(|deploy| deploy.get("replicas"));
    let replicas = replicas.or_else(|| service.get("scale"));
    let nodes = match &replicas {
        Some(at) => at.nodes()?,
        None => 1,
    };
    let now = pod.standing(nodes);
    match &replicas {
        Some(at) => draft.note(at, Class::Kept, Some(now), ""),
        None => draft.add(format!("{name}/scale"), now, "the default of Compose"),
    }
    pod.join(draft, name, nodes);
    if let Some(deploy) = &deploy {
        draft.rest(deploy, &["replicas", "resources"], "deploy")?;
    }
    draft.rest(service, &READ, "service")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_comes_to_its_default() {
        assert_eq!(filled("16").as_deref(), Some("16"));
        assert_eq!(filled("${TOKENS:-16}").as_deref(), Some("16"));
        assert_eq!(filled("dc-${SITE-west}-1").as_deref(), Some("dc-west-1"));
        assert_eq!(filled("${TOKENS}"), None);
        assert_eq!(filled("${TOKENS"), None);
    }
}
