//! Settings of running nodes and of their machine: changed without a restart, by MBeans and by the journal of the machine.
//! Refuses keys of cassandra.yaml that a running node does not take.

use crate::context::Context;
use crate::error::ClusterError;
use crate::host_settings;
use crate::mbeans::{CACHES, Mbeans, STORAGE_SERVICE};
use crate::state::ClusterState;
use helenus_model::nearest::nearest;
use helenus_model::units::{Bytes, parse_duration};
use serde_json::json;

/// How a node takes a key while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Most threads of a stage, by `setConcurrency`.
    Stage(&'static str),
    /// An attribute of StorageService: a count.
    Count(&'static str),
    /// MiB a second.
    MibPerS(&'static str),
    /// Milliseconds.
    Millis(&'static str),
    /// MiB, of the caches.
    CacheMib(&'static str),
}

/// Keys of cassandra.yaml that 4.0, 4.1 and 5.0 take while they run.
const KEYS: [(&str, Way); 13] = [
    ("concurrent_reads", Way::Stage("ReadStage")),
    ("concurrent_writes", Way::Stage("MutationStage")),
    (
        "concurrent_counter_writes",
        Way::Stage("CounterMutationStage"),
    ),
    ("concurrent_compactors", Way::Count("ConcurrentCompactors")),
    (
        "compaction_throughput",
        Way::MibPerS("CompactionThroughputMbPerSec"),
    ),
    ("request_timeout", Way::Millis("RpcTimeout")),
    ("read_request_timeout", Way::Millis("ReadRpcTimeout")),
    ("range_request_timeout", Way::Millis("RangeRpcTimeout")),
    ("write_request_timeout", Way::Millis("WriteRpcTimeout")),
    (
        "counter_write_request_timeout",
        Way::Millis("CounterWriteRpcTimeout"),
    ),
    ("key_cache_size", Way::CacheMib("KeyCacheCapacityInMB")),
    ("row_cache_size", Way::CacheMib("RowCacheCapacityInMB")),
    (
        "counter_cache_size",
        Way::CacheMib("CounterCacheCapacityInMB"),
    ),
];

/// A setting that needs no restart.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveSetting {
    /// A key of cassandra.yaml.
    Node {
        /// The key.
        key: &'static str,
        /// Its value in the unit of its MBean.
        value: u64,
    },
    /// How far the kernel reads ahead on the disk of the nodes; none for what it was before.
    ReadAhead(Option<Bytes>),
}

/// Why a text is no live setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLive {
    /// A key that needs a restart, or is none.
    #[error("{key} cannot be changed in a running node")]
    Key {
        /// The key.
        key: String,
        /// What may be meant.
        near: Option<String>,
    },
    /// A value that the key does not take.
    #[error("{key} must be {wants}, not {value:?}")]
    Value {
        /// The key.
        key: String,
        /// What it takes.
        wants: &'static str,
        /// What was found.
        value: String,
    },
}

impl NotLive {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Key {
                near: Some(near), ..
            } => format!("did you mean {near}?"),
            Self::Key { near: None, .. } => {
                let keys: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
                format!(
                    "write kind = \"restart\"; a running node takes {}",
                    keys.join(", ")
                )
            }
            Self::Value { .. } => "write it as in cassandra.yaml".to_owned(),
        }
    }
}

impl LiveSetting {
    /// Reads `KEY=VALUE` as `--set` takes it.
    ///
    /// # Errors
    /// A key that a running node does not take, or a value that is none of its.
    pub fn parse(text: &str) -> Result<Self, NotLive> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let (name, value) = (name.trim(), value.trim());
        let found = KEYS.iter().find(|(key, _)| *key == name);
        let (key, way) = found.ok_or_else(|| NotLive::Key {
            key: name.to_owned(),
            near: nearest(name, KEYS.map(|(key, _)| key)).map(str::to_owned),
        })?;
        let (read, wants) = match way {
            Way::Stage(_) | Way::Count(_) => (value.parse().ok(), "a count"),
            Way::MibPerS(_) => (mib(value.trim_end_matches("/s")), "MiB a second"),
            Way::CacheMib(_) => (mib(value), "a size in MiB"),
            Way::Millis(_) => (millis(value), "a time"),
        };
        let wrong = || NotLive::Value {
            key: name.to_owned(),
            wants,
            value: value.to_owned(),
        };
        Ok(Self::Node {
            key,
            value: read.ok_or_else(wrong)?,
        })
    }

    /// The words of nodetool that set it in a node; none of what is of the machine, and of caches, whose sizes it sets
    /// only all at once.
    pub fn nodetool(&self) -> Option<Vec<String>> {
        let Self::Node { key, value } = self else {
            return None;
        };
        let (_, way) = KEYS.iter().find(|(known, _)| known == key)?;
        let words: Vec<&str> = match way {
            Way::Stage(stage) => vec!["setconcurrency", stage],
            Way::Count(_) => vec!["setconcurrentcompactors"],
            Way::MibPerS(_) => vec!["setcompactionthroughput"],
            Way::Millis(attribute) => vec!["settimeout", timeout(attribute)],
            Way::CacheMib(_) => return None,
        };
        let value = value.to_string();
        let words = words.into_iter().chain([value.as_str()]);
        Some(words.map(str::to_owned).collect())
    }

    /// Sets it in one node.
    fn set(key: &str, value: u64, mbeans: &Mbeans) -> Result<(), ClusterError> {
        let way = KEYS.iter().find(|(known, _)| *known == key);
        let value = json!(value);
        match way.map(|(_, way)| *way) {
            // The fewest threads of a stage cannot be set; -1 leaves them alone, as nodetool does.
            Some(Way::Stage(stage)) => {
                let arguments = [json!(stage), json!(-1), value];
                mbeans.exec(STORAGE_SERVICE, "setConcurrency", &arguments)?;
            }
            Some(Way::Count(attribute) | Way::MibPerS(attribute) | Way::Millis(attribute)) => {
                mbeans.write(STORAGE_SERVICE, attribute, &value)?;
            }
            Some(Way::CacheMib(attribute)) => mbeans.write(CACHES, attribute, &value)?,
            None => {}
        }
        Ok(())
    }
}

/// What nodetool calls the timeout of this attribute.
fn timeout(attribute: &str) -> &'static str {
    match attribute {
        "ReadRpcTimeout" => "read",
        "RangeRpcTimeout" => "range",
        "WriteRpcTimeout" => "write",
        "CounterWriteRpcTimeout" => "counterwrite",
        _ => "misc",
    }
}

fn mib(text: &str) -> Option<u64> {
    let plain = text.parse().ok();
    plain.or_else(|| Some(Bytes::parse(text.trim_end_matches("iB")).ok()?.0 >> 20))
}

fn millis(text: &str) -> Option<u64> {
    u64::try_from(parse_duration(text).ok()?.as_millis()).ok()
}

/// Sets these in all nodes of a cluster, and on their machine.
///
/// # Errors
/// A node is not running or refuses a value, or the machine's setting is not this user's.
pub fn apply(
    context: &Context,
    state: &ClusterState,
    settings: &[LiveSetting],
) -> Result<(), ClusterError> {
    let of_nodes = || {
        settings.iter().filter_map(|setting| match setting {
            LiveSetting::Node { key, value } => Some((*key, *value)),
            LiveSetting::ReadAhead(_) => None,
        })
    };
    if of_nodes().next().is_some() {
        for node in &state.plan.nodes {
            let mbeans = Mbeans::of(context, state, &node.name)?;
            for (key, value) in of_nodes() {
                LiveSetting::set(key, value, &mbeans)?;
            }
        }
    }
    let folder = context.clusters.folder(&state.plan.name);
    for setting in settings {
        if let LiveSetting::ReadAhead(wanted) = setting {
            let all = context.clusters.folders();
            let all = all.map_err(ClusterError::io("the state folder"))?;
            let root = &context.env.root;
            match wanted {
                Some(wanted) => host_settings::read_ahead(root, &folder, &all, *wanted)?,
                None => drop(host_settings::put_back(root, &folder, &all)),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<u64, String> {
        match LiveSetting::parse(text) {
            Ok(LiveSetting::Node { value, .. }) => Ok(value),
            Ok(LiveSetting::ReadAhead(_)) => Err("a read-ahead".to_owned()),
            Err(error) => Err(format!("{error}; {}", error.hint())),
        }
    }

    #[test]
    fn keys_are_read_in_the_unit_of_their_mbean() {
        assert_eq!(read("concurrent_reads=6"), Ok(6));
        assert_eq!(read("compaction_throughput=64MiB/s"), Ok(64));
        assert_eq!(read("read_request_timeout=5s"), Ok(5000));
        assert_eq!(read("key_cache_size=100MiB"), Ok(100));
    }

    #[test]
    fn nodetool_sets_what_it_can_set_alone() {
        let words = |text: &str| {
            let setting = LiveSetting::parse(text).expect("a live setting");
            setting.nodetool().map(|words| words.join(" "))
        };
        let some = |words: &str| Some(words.to_owned());
        assert_eq!(
            words("concurrent_reads=6"),
            some("setconcurrency ReadStage 6")
        );
        assert_eq!(
            words("concurrent_compactors=2"),
            some("setconcurrentcompactors 2")
        );
        let throughput = words("compaction_throughput=64MiB/s");
        assert_eq!(throughput, some("setcompactionthroughput 64"));
        assert_eq!(
            words("read_request_timeout=5s"),
            some("settimeout read 5000")
        );
        assert_eq!(words("request_timeout=5s"), some("settimeout misc 5000"));
        assert_eq!(words("key_cache_size=100MiB"), None);
        assert_eq!(LiveSetting::ReadAhead(None).nodetool(), None);
    }

    #[test]
    fn a_key_that_wants_a_restart_is_refused() {
        let near = read("concurent_reads=6").unwrap_err();
        assert!(near.ends_with("did you mean concurrent_reads?"), "{near}");
        let far = read("storage_compatibility_mode=NONE").unwrap_err();
        assert!(far.contains("write kind = \"restart\""), "{far}");
        let value = read("concurrent_reads=many").unwrap_err();
        assert!(value.starts_with("concurrent_reads must be a count, not \"many\""));
    }
}
