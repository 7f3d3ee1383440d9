//! A cluster's plan as plain facts, to be laid beside those of another.
//! Refuses addresses, tokens and folders: they differ between any two clusters and explain nothing.

use super::{ClusterPlan, NodePlan};
use crate::yaml;

/// What sets a plan apart: pairs of a name and a value, such as `heap` and `500M`, `concurrent_reads` and `32`,
/// `-XX:MaxDirectMemorySize` and `64M`; settings of the first node, which the others share.
pub fn facts(plan: &ClusterPlan) -> Vec<(String, String)> {
    let mut facts = vec![
        ("release".to_owned(), plan.release.clone()),
        ("preset".to_owned(), plan.preset.word().to_owned()),
        ("nodes".to_owned(), plan.nodes.len().to_string()),
        ("tokens".to_owned(), plan.tokens.to_string()),
    ];
    for node in &plan.nodes {
        let own = node.own.filter(|own| own.preset != plan.preset);
        if let Some(own) = own {
            let preset = own.preset.word().to_owned();
            facts.push((format!("preset of {}", node.name), preset));
        }
    }
    facts.extend(disks(plan));
    if let Some(node) = plan.nodes.first() {
        let places = places(plan, node);
        let own = |(what, value): &(String, String)| {
            !OF_THE_NODE.contains(&what.as_str())
                && !places.iter().any(|place| value.contains(place.as_str()))
        };
        facts.extend(settings(&node.yaml).into_iter().filter(own));
        let flags = node.jvm.iter().map(|flag| split(flag)).filter(own);
        flags.for_each(|flag| add(&mut facts, flag));
    }
    facts
}

/// Sizes of disks in memory: of all nodes where they are alike, else of each that has one.
fn disks(plan: &ClusterPlan) -> Vec<(String, String)> {
    let first = plan.nodes.first().and_then(|node| node.disk);
    if plan.nodes.iter().all(|node| node.disk == first) {
        let all = first.map(|disk| ("disk".to_owned(), disk.jvm()));
        return all.into_iter().collect();
    }
    let of = |node: &NodePlan| Some((format!("disk of {}", node.name), node.disk?.jvm()));
    plan.nodes.iter().filter_map(of).collect()
}

/// Of a flag that stands there twice the JVM takes the last; a person's stand behind the preset's.
fn add(facts: &mut Vec<(String, String)>, flag: (String, String)) {
    let one_value = flag.0.starts_with("-XX:") || flag.0.starts_with("-D");
    if one_value {
        facts.retain(|earlier| earlier.0 != flag.0);
    }
    facts.push(flag);
}

/// Keys whose values differ between any two clusters, or any two nodes of one.
const OF_THE_NODE: [&str; 2] = ["cluster_name", "initial_token"];

/// Texts by which a value is seen to be a place and not a setting.
fn places(plan: &ClusterPlan, node: &NodePlan) -> Vec<String> {
    let mut places = Vec::new();
    for folder in [&plan.folder, &node.folder] {
        places.extend([folder.clone(), yaml::inside(folder)]);
    }
    places.extend(plan.nodes.iter().map(|n| n.address.to_string()));
    places
}

/// The settings of a cassandra.yaml as Helenus writes it, nested keys with dots.
fn settings(yaml: &str) -> Vec<(String, String)> {
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut settings = Vec::new();
    for line in yaml.lines() {
        let text = line.trim_start().trim_start_matches("- ");
        let indent = line.len() - text.len();
        let Some((key, value)) = text.split_once(':') else {
            continue;
        };
        if text.starts_with('#') {
            continue;
        }
        path.retain(|(of, _)| *of < indent);
        path.push((indent, key.trim().to_owned()));
        let value = value.trim();
        if !value.is_empty() {
            let names: Vec<&str> = path.iter().map(|(_, key)| key.as_str()).collect();
            settings.push((names.join("."), value.to_owned()));
        }
    }
    settings
}

/// A flag of the JVM as a name and a value.
pub(crate) fn split(flag: &str) -> (String, String) {
    if let Some(rest) = flag.strip_prefix("-XX:+") {
        return (format!("-XX:{rest}"), "on".to_owned());
    }
    if let Some(rest) = flag.strip_prefix("-XX:-") {
        return (format!("-XX:{rest}"), "off".to_owned());
    }
    if let Some((name, value)) = flag.split_once('=') {
        return (name.to_owned(), value.to_owned());
    }
    // -Xmx500M, -Xss256k: three letters and a size.
    match flag.find(|c: char| c.is_ascii_digit()) {
        Some(at) if flag.starts_with("-X") && !flag.starts_with("-XX") => {
            (flag[..at].to_owned(), flag[at..].to_owned())
        }
        _ => (flag.to_owned(), "set".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_flags_have_names_and_values() {
        let yaml = "cluster_name: c\n# no: comment\nmemtable:\n  configurations:\n    skiplist:\n      \
                    class_name: SkipListMemtable\nconcurrent_reads: 16\n";
        let read = settings(yaml);
        let nested = "memtable.configurations.skiplist.class_name";
        assert!(
            read.contains(&(nested.to_owned(), "SkipListMemtable".to_owned())),
            "{read:?}"
        );
        assert!(read.contains(&("concurrent_reads".to_owned(), "16".to_owned())));
        assert_eq!(read.len(), 3);
        let of = |flag: &str| {
            let (name, value) = split(flag);
            format!("{name} {value}")
        };
        assert_eq!(of("-Xmx500M"), "-Xmx 500M");
        assert_eq!(of("-XX:+UseG1GC"), "-XX:UseG1GC on");
        assert_eq!(
            of("-XX:MaxDirectMemorySize=64M"),
            "-XX:MaxDirectMemorySize 64M"
        );
        assert_eq!(of("-Dfake.body=1.1"), "-Dfake.body 1.1");
        assert_eq!(of("-ea"), "-ea set");
    }

    #[test]
    fn the_last_of_a_flag_counts() {
        let mut facts = Vec::new();
        let flags = ["-XX:+UseSerialGC", "-Da=1", "-XX:-UseSerialGC", "-Da=2"];
        for flag in flags {
            add(&mut facts, split(flag));
        }
        let of = |what: &str, value: &str| (what.to_owned(), value.to_owned());
        assert_eq!(facts, [of("-XX:UseSerialGC", "off"), of("-Da", "2")]);
    }
}
