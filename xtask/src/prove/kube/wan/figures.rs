//! Figures out of what nodetool, kubelets and the API server print.
//! Refuses to ask them: it is given their words.

use helenus_model::calendar;
use serde::Serialize;
use serde_json::Value;

/// A node in `nodetool status`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// Its data centre.
    pub(super) data_center: String,
    /// `UN` and so on.
    pub(super) state: String,
    /// Effective ownership in percent; none where nodetool does not know it.
    pub(super) owns: Option<f64>,
}

/// The nodes in what `nodetool status KEYSPACE` prints.
pub(super) fn ring(status: &str) -> Vec<Node> {
    let mut data_center = String::new();
    let mut nodes = Vec::new();
    for line in status.lines() {
        if let Some(name) = line.strip_prefix("Datacenter:") {
            data_center = name.trim().to_owned();
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let state = words.first().copied().unwrap_or_default();
        let known = state.len() == 2
            && state.starts_with(['U', 'D', '?'])
            && state.ends_with(['N', 'L', 'J', 'M']);
        if known {
            let mut shares = words.iter().filter_map(|word| word.strip_suffix('%'));
            nodes.push(Node {
                data_center: data_center.clone(),
                state: state.to_owned(),
                owns: shares.next().and_then(|share| share.parse().ok()),
            });
        }
    }
    nodes
}

/// Whether the shares of so many nodes come to so many copies; each is rounded to a tenth of a percent.
pub(super) fn owned(nodes: usize, sum: f64, copies: usize) -> bool {
    let wanted = 100.0 * f64::from(u32::try_from(copies).unwrap_or(u32::MAX));
    let off = 0.05 * f64::from(u32::try_from(nodes).unwrap_or(u32::MAX));
    nodes > 0 && (sum - wanted).abs() <= off + 1e-9
}

/// What a pod takes, by its kubelet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Taken {
    /// Its name.
    pod: String,
    /// Memory of its processes.
    rss_mib: u64,
    /// That, and page cache in use.
    working_set_mib: u64,
}

/// Memory of the pods in namespaces whose names begin so, in a kubelet's summary.
pub(super) fn memory(summary: &Value, namespaces: &str) -> Vec<Taken> {
    let pods = summary["pods"].as_array().into_iter().flatten();
    let ours = pods.filter(|pod| {
        let namespace = pod["podRef"]["namespace"].as_str();
        namespace.is_some_and(|name| name.starts_with(namespaces))
    });
    let mib = |pod: &Value, key: &str| pod["memory"][key].as_u64().unwrap_or_default() >> 20;
    ours.map(|pod| Taken {
        pod: pod["podRef"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        rss_mib: mib(pod, "rssBytes"),
        working_set_mib: mib(pod, "workingSetBytes"),
    })
    .collect()
}

/// Least and most, such as `170 to 190`.
pub(super) fn spread(all: &[Taken], of: &str) -> String {
    let values = all.iter().map(|one| match of {
        "rss_mib" => one.rss_mib,
        _ => one.working_set_mib,
    });
    match (values.clone().min(), values.max()) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "?".to_owned(),
    }
}

/// Seconds since 1970 of a time as the API server writes it, such as `2026-01-02T03:04:05Z`.
pub(super) fn unix(time: &str) -> Option<i64> {
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, between: char| -> Option<Vec<i64>> {
        text.split(between).map(|word| word.parse().ok()).collect()
    };
    let [year, month, day] = numbers(date, '-')?[..] else {
        return None;
    };
    let [hours, minutes, seconds] = numbers(clock, ':')?[..] else {
        return None;
    };
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let days = calendar::days(year, month, day)?;
    Some(days * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_ring_is_read_with_its_data_centres_and_shares() {
        let status = "\
Datacenter: DC1
===============
Status=Up/Down
|/ State=Normal/Leaving/Joining/Moving
--  Address      Load       Tokens  Owns (effective)  Host ID                               Rack
UN  10.244.1.5   87.86 KiB  16      59.6%             81f7f98e-7df7-4d54-9164-f4f18471ac9f  rack1
DN  10.244.1.6   ?          16      140.4%            10c47914-62a6-4cfc-8a60-82882e94c1e3  rack1
Datacenter: DC2
===============
UJ  10.244.1.7   87.86 KiB  16      ?                 10c47914-62a6-4cfc-8a60-82882e94c1e4  rack1
";
        let nodes = ring(status);
        let short: Vec<(&str, &str, Option<f64>)> = nodes
            .iter()
            .map(|n| (n.data_center.as_str(), n.state.as_str(), n.owns))
            .collect();
        let wanted = [
            ("DC1", "UN", Some(59.6)),
            ("DC1", "DN", Some(140.4)),
            ("DC2", "UJ", None),
        ];
        assert_eq!(short, wanted);
        assert!(owned(2, 200.0, 2) && owned(5, 299.8, 3));
        assert!(!owned(5, 299.0, 3) && !owned(0, 0.0, 0));
    }

    #[test]
    fn memory_is_read_of_the_namespaces_that_were_asked_for() {
        let pod = |namespace: &str, rss: u64| {
            json!({"podRef": {"name": "p", "namespace": namespace},
                "memory": {"rssBytes": rss << 20, "workingSetBytes": (rss + 9) << 20}})
        };
        let summary = json!({"pods": [pod("wan-dc1", 100), pod("other", 5), pod("wan-dc2", 120)]});
        let all = memory(&summary, "wan-");
        assert_eq!(all.len(), 2);
        assert_eq!(spread(&all, "rss_mib"), "100 to 120");
        assert_eq!(spread(&all, "working_set_mib"), "109 to 129");
        assert_eq!(spread(&[], "rss_mib"), "?");
    }

    #[test]
    fn times_of_the_api_server_are_read() {
        assert_eq!(unix("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(unix("2026-11-21T00:00:00Z"), Some(1_795_219_200));
        assert_eq!(unix("2024-02-29T12:00:01Z"), Some(1_709_208_001));
        assert_eq!(unix("today"), None);
        assert_eq!(unix("2026-11-21T00:00Z"), None);
    }
}
