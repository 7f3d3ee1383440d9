//! An inventory of Ansible, as YAML or as INI: which hosts run Cassandra, and where each stands.
//! Refuses to run what only Ansible can: patterns of plugins, and variables in files beside it.

use super::draft::{Draft, rack_word};
use super::pods::Pod;
use super::{Class, Difference, Manifest, ManifestError};
use crate::yaml::{Node, NodeValue, tree};
use std::collections::{BTreeMap, BTreeSet};

/// The group of all hosts.
const ALL: &str = "all";

/// Groups that say what a host does beside its place.
const ROLES: [&str; 5] = ["seed", "seeds", "managers", "ungrouped", "monitoring"];

/// Variables that name a data centre.
const DATA_CENTER: [&str; 6] = [
    "cassandra_dc",
    "cassandra_datacenter",
    "cassandra_data_center",
    "dc",
    "datacenter",
    "data_center",
];

/// Variables that name a rack.
const RACK: [&str; 2] = ["cassandra_rack", "rack"];

/// Most hosts that a pattern such as `db[1:20]` may stand for.
const PATTERN_MOST: u32 = 1000;

/// A host that runs Cassandra.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryHost {
    /// Its name in the inventory.
    pub name: String,
    /// Where it is reached; by its name where the inventory does not say.
    pub address: Option<String>,
    /// Its data centre, where it is said.
    pub data_center: Option<String>,
    /// Its rack, where it is said.
    pub rack: Option<String>,
}

/// The hosts of an inventory that run Cassandra.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// In the order of the file.
    pub hosts: Vec<InventoryHost>,
    /// Who logs in, where one user does on all hosts.
    pub user: Option<String>,
    /// The file with that user's key.
    pub key: Option<String>,
    /// Names of variables that belong to roles of others.
    others: BTreeSet<String>,
}

type Variables = BTreeMap<String, String>;

#[derive(Debug, Default)]
struct Group {
    hosts: Vec<String>,
    children: Vec<String>,
    variables: Variables,
}

#[derive(Debug, Default)]
struct Groups {
    /// By name.
    all: BTreeMap<String, Group>,
    /// In the order of the file.
    names: Vec<String>,
    /// By host.
    own: BTreeMap<String, Variables>,
}

/// Reads an inventory; none where the text is none.
pub fn inventory(text: &str) -> Option<Inventory> {
    let groups = match ini(text) {
        Some(groups) => groups,
        None => of_yaml(&tree(text).ok()??)?,
    };
    Some(groups.inventory())
}

impl Groups {
    fn group(&mut self, name: &str) -> &mut Group {
        if !self.all.contains_key(name) {
            self.names.push(name.to_owned());
        }
        self.all.entry(name.to_owned()).or_default()
    }

    fn add_host(&mut self, group: &str, host: &str, variables: Variables) {
        let hosts = &mut self.group(group).hosts;
        if !hosts.iter().any(|one| one == host) {
            hosts.push(host.to_owned());
        }
        self.own
            .entry(host.to_owned())
            .or_default()
            .extend(variables);
    }

    /// Hosts of a group and of those below it, each with the names of the groups on the way.
    fn below(&self, name: &str, way: &[String], out: &mut Vec<(String, Vec<String>)>) {
        let Some(group) = self
            .all
            .get(name)
            .filter(|_| !way.iter().any(|one| one == name))
        else {
            return;
        };
        let way = [way, &[name.to_owned()]].concat();
        out.extend(group.hosts.iter().map(|host| (host.clone(), way.clone())));
        for child in &group.children {
            self.below(child, &way, out);
        }
    }

    /// The groups that are in no other one.
    fn roots(&self) -> impl Iterator<Item = &String> {
        let is_child = |name: &String| self.all.values().any(|group| group.children.contains(name));
        self.names.iter().filter(move |name| !is_child(name))
    }

    /// A host's variables: its own win over those of its groups, and inner groups over outer ones.
    fn variables(&self, host: &str, ways: &[(String, Vec<String>)]) -> Variables {
        let mut all = self
            .all
            .get(ALL)
            .map(|group| group.variables.clone())
            .unwrap_or_default();
        let mut of_host: Vec<&Vec<String>> = ways
            .iter()
            .filter(|(name, _)| name == host)
            .map(|(_, way)| way)
            .collect();
        of_host.sort_by_key(|way| way.len());
        for name in of_host.into_iter().flatten() {
            all.extend(self.all[name].variables.clone());
        }
        all.extend(self.own.get(host).cloned().unwrap_or_default());
        all
    }

    fn inventory(&self) -> Inventory {
        let mut ways = Vec::new();
        for root in self.roots() {
            self.below(root, &[], &mut ways);
        }
        let lower = |name: &str| name.to_ascii_lowercase();
        let named =
            |wanted: &dyn Fn(&str) -> bool| self.names.iter().find(|name| wanted(&lower(name)));
        let database = named(&|name| name == "cassandra")
            .or_else(|| named(&|name| name.contains("cassandra")));
        let mut found = Inventory::default();
        let (mut users, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for (host, way) in &ways {
            let within = database.and_then(|name| way.iter().position(|group| group == name));
            let local = matches!(host.as_str(), "localhost" | "127.0.0.1");
            if local || (database.is_some() && within.is_none()) {
                continue;
            }
            let variables = self.variables(host, &ways);
            let said = |names: &[&str]| names.iter().find_map(|name| variables.get(*name).cloned());
            // Below the group of Cassandra, or of all hosts, the next group is the data centre.
            let after = within.or_else(|| way.iter().position(|group| group == ALL));
            let group = way.get(after.map_or(0, |at| at + 1));
            let group = group
                .filter(|name| !ROLES.contains(&name.as_str()))
                .cloned();
            let data_center = said(&DATA_CENTER).or(group);
            let known = found.hosts.iter_mut().find(|one| one.name == *host);
            if let Some(known) = known {
                known.data_center = known.data_center.take().or(data_center);
                continue;
            }
            users.insert(said(&["ansible_user", "ansible_ssh_user"]));
            keys.insert(said(&["ansible_ssh_private_key_file"]));
            let ours = |name: &str| {
                name.starts_with("ansible_") || DATA_CENTER.contains(&name) || RACK.contains(&name)
            };
            found
                .others
                .extend(variables.keys().filter(|name| !ours(name)).cloned());
            found.hosts.push(InventoryHost {
                name: host.clone(),
                address: said(&["ansible_host", "ansible_ssh_host"]),
                data_center,
                rack: said(&RACK),
            });
        }
        let one = |all: BTreeSet<Option<String>>| match all.len() {
            1 => all.into_iter().next().flatten(),
            _ => None,
        };
        (found.user, found.key) = (one(users), one(keys));
        found
    }
}

impl Inventory {
    /// A cluster with a node on each host.
    pub(super) fn manifest(&self) -> Result<Manifest, ManifestError> {
        if self.hosts.is_empty() {
            return Err(ManifestError::NoHosts);
        }
        let mut draft = Draft::default();
        for host in &self.hosts {
            let pod = Pod {
                data_center: host.data_center.clone(),
                rack: host.rack.clone(),
                ..Pod::default()
            };
            pod.join(&mut draft, &host.name, 1);
        }
        for (name, standing) in draft.standings() {
            draft.push(Difference {
                key: name,
                class: Class::Kept,
                was: None,
                now: Some(standing),
                why: String::new(),
            });
        }
        if !self.others.is_empty() {
            let names: Vec<&str> = self.others.iter().map(String::as_str).collect();
            draft.push(Difference {
                key: names.join(", "),
                class: Class::NotHere,
                was: None,
                now: None,
                why: "variables of roles: --set, --heap and --jvm bring what they say".to_owned(),
            });
        }
        draft.finish()
    }

    /// The hosts in the order of a cluster's nodes that was made of them, by the data centre and rack of each node.
    pub fn in_order(&self, places: &[(&str, &str)]) -> Vec<&InventoryHost> {
        // A data centre may have another name here; the first is the first in both.
        let centers = distinct(self.hosts.iter().map(|host| host.data_center.as_deref()));
        let named = distinct(places.iter().map(|(center, _)| *center));
        let mut left: Vec<&InventoryHost> = self.hosts.iter().collect();
        let mut out = Vec::new();
        for (center, rack) in places {
            let wanted = named.iter().position(|name| name == center);
            let fits = |host: &&InventoryHost| {
                let own = centers
                    .iter()
                    .position(|name| *name == host.data_center.as_deref());
                own == wanted && rack_word(host.rack.as_deref()) == *rack
            };
            if let Some(at) = left.iter().position(fits) {
                out.push(left.remove(at));
            }
        }
        out
    }
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    for one in all {
        if !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

/// The groups of an inventory in YAML; none where it is another file.
fn of_yaml(root: &Node) -> Option<Groups> {
    let all = entries(Some(root));
    let is_group = |(_, node): &(&str, &Node)| {
        let keys = entries(Some(node));
        !keys.is_empty()
            && keys
                .iter()
                .all(|(key, _)| matches!(*key, "hosts" | "children" | "vars"))
    };
    if all.is_empty() || !all.iter().all(is_group) {
        return None;
    }
    let mut groups = Groups::default();
    for (name, node) in all {
        group(&mut groups, name, node);
    }
    Some(groups)
}

fn group(groups: &mut Groups, name: &str, node: &Node) {
    groups
        .group(name)
        .variables
        .extend(variables(node.get("vars")));
    for (pattern, own) in entries(node.get("hosts")) {
        for host in expanded(pattern) {
            groups.add_host(name, &host, variables(Some(own)));
        }
    }
    for (child, node) in entries(node.get("children")) {
        groups.group(name).children.push(child.to_owned());
        group(groups, child, node);
    }
}

/// The keys of a map with their values, in the order of the file.
fn entries(node: Option<&Node>) -> Vec<(&str, &Node)> {
    match node.map(|node| &node.value) {
        Some(NodeValue::Mapping(all)) => all
            .iter()
            .filter_map(|(key, value)| Some((key.text()?, value)))
            .collect(),
        _ => Vec::new(),
    }
}

fn variables(node: Option<&Node>) -> Variables {
    let texts = entries(node).into_iter();
    let texts = texts.filter_map(|(key, value)| Some((key.to_owned(), value.text()?.to_owned())));
    texts.collect()
}

/// The groups of an inventory as INI; none where the text is none: its first line with a word is `[GROUP]`, or a host with
/// a variable of Ansible.
fn ini(text: &str) -> Option<Groups> {
    let lines = text
        .lines()
        .map(|line| line.split([';', '#']).next().unwrap_or_default().trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let first = lines.first()?;
    let is_section = |line: &str| {
        line.starts_with('[') && line.ends_with(']') && line.len() > 2 && !line.contains(',')
    };
    if !is_section(first) && !first.contains(" ansible_") {
        return None;
    }
    let mut groups = Groups::default();
    let (mut name, mut kind) = ("ungrouped", "");
    for line in lines {
        if is_section(line) {
            let inside = &line[1..line.len() - 1];
            (name, kind) = inside.split_once(':').unwrap_or((inside, ""));
            groups.group(name);
            continue;
        }
        match kind {
            "children" => {
                groups.group(line);
                groups.group(name).children.push(line.to_owned());
            }
            "vars" => {
                groups.group(name).variables.extend(pair(line));
            }
            _ => {
                let mut words = words(line).into_iter();
                let pattern = words.next().unwrap_or_default();
                let own: Variables = words.filter_map(pair).collect();
                for host in expanded(pattern) {
                    groups.add_host(name, &host, own.clone());
                }
            }
        }
    }
    Some(groups)
}

/// The words of a host's line; blanks between quotes part none.
fn words(line: &str) -> Vec<&str> {
    let mut quote = None;
    let parts = |letter: char| {
        match quote {
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => {}
        }
        quote.is_none() && letter.is_whitespace()
    };
    let words = line.split(parts);
    words.filter(|word| !word.is_empty()).collect()
}

fn pair(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=')?;
    let value = value.trim().trim_matches(['"', '\'']);
    Some((key.trim().to_owned(), value.to_owned()))
}

/// `db[01:03].lan` as three hosts; anything else as one.
fn expanded(pattern: &str) -> Vec<String> {
    let range = || {
        let (before, rest) = pattern.split_once('[')?;
        let (range, after) = rest.split_once(']')?;
        let (first, last) = range.split_once(':')?;
        let (from, to): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let width = first.len();
        (from <= to && to - from < PATTERN_MOST).then(|| {
            let name = |number: u32| format!("{before}{number:0width$}{after}");
            (from..=to).map(name).collect()
        })
    };
    range().unwrap_or_else(|| vec![pattern.to_owned()])
}
