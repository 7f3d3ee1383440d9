//! Settings of running nodes and of their machine: changed without a restart, by MBeans and by the journal of the machine.
//! Refuses keys of cassandra.yaml that a running node does not take.

use crate::context::Context;
use crate::error::ClusterError;
use crate::host_settings;
use crate::mbeans::{CACHES, Mbeans, STORAGE_PROXY, STORAGE_SERVICE};
use crate::state::ClusterState;
use helenus_model::nearest::nearest;
use helenus_model::units::{Bytes, parse_duration};
use serde_json::{Value, json};

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
    /// Megabits a second: 4.0, 4.1 and 5.0 all take whole ones. The word of nodetool beside it.
    MbitPerS(&'static str, &'static str),
    /// Whether hints are kept, of StorageProxy.
    Hints,
    /// For how long they are kept, in milliseconds.
    HintWindow,
}

/// Keys of cassandra.yaml that 4.0, 4.1 and 5.0 take while they run.
const KEYS: [(&str, Way); 17] = [
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
    (
        "stream_throughput_outbound",
        Way::MbitPerS("StreamThroughputMbPerSec", "setstreamthroughput"),
    ),
    (
        "inter_dc_stream_throughput_outbound",
        Way::MbitPerS(
            "InterDCStreamThroughputMbPerSec",
            "setinterdcstreamthroughput",
        ),
    ),
    ("hinted_handoff_enabled", Way::Hints),
    ("max_hint_window", Way::HintWindow),
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
            Way::Millis(_) | Way::HintWindow => (millis(value), "a time"),
            Way::MbitPerS(..) => (mbit(value.trim_end_matches("/s")), "MiB a second"),
            Way::Hints => (value.parse::<bool>().ok().map(u64::from), "true or false"),
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
            Way::MbitPerS(_, word) => vec![*word],
            Way::HintWindow => vec!["setmaxhintwindow"],
            Way::Hints => {
                let word = if *value == 0 {
                    "disablehandoff"
                } else {
                    "enablehandoff"
                };
                return Some(vec![word.to_owned()]);
            }
            Way::CacheMib(_) => return None,
        };
        let value = value.to_string();
        let words = words.into_iter().chain([value.as_str()]);
        Some(words.map(str::to_owned).collect())
    }

    /// Sets it in one node.
    fn set(key: &str, value: u64, mbeans: &Mbeans) -> Result<(), ClusterError> {
        let Some((_, way)) = KEYS.iter().find(|(known, _)| *known == key) else {
            return Ok(());
        };
        let (mbean, attribute, value): (&str, &str, Value) = match *way {
            // The fewest threads of a stage cannot be set; -1 leaves them alone, as nodetool does.
            Way::Stage(stage) => {
                let arguments = [json!(stage), json!(-1), json!(value)];
                mbeans.exec(STORAGE_SERVICE, "setConcurrency", &arguments)?;
                return Ok(());
            }
            Way::Count(attribute)
            | Way::MibPerS(attribute)
            | Way::Millis(attribute)
            | Way::MbitPerS(attribute, _) => (STORAGE_SERVICE, attribute, json!(value)),
            Way::CacheMib(attribute) => (CACHES, attribute, json!(value)),
            Way::Hints => (STORAGE_PROXY, "HintedHandoffEnabled", json!(value != 0)),
            Way::HintWindow => (STORAGE_PROXY, "MaxHintWindow", json!(value)),
        };
        Ok(mbeans.write(mbean, attribute, &value)?)
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

/// Megabits, to the nearest one: 24 MiB are the 200 of older files, and 1.
fn mbit(text: &str) -> Option<u64> {
    Some((mib(text)?.checked_mul(8 << 20)? + 500_000) / 1_000_000)
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
        assert_eq!(read("stream_throughput_outbound=24MiB/s"), Ok(201));
        assert_eq!(read("inter_dc_stream_throughput_outbound=0MiB/s"), Ok(0));
        assert_eq!(read("hinted_handoff_enabled=false"), Ok(0));
        assert_eq!(read("max_hint_window=3h"), Ok(10_800_000));
        let wrong = read("hinted_handoff_enabled=2").unwrap_err();
        assert!(
            wrong.starts_with("hinted_handoff_enabled must be true or false"),
            "{wrong}"
        );
    }

    /// An agent that keeps what is written, and answers as Jolokia does; what it was asked, one line each.
    fn agent(asks: usize) -> (Mbeans, std::thread::JoinHandle<Vec<String>>) {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let serve = std::thread::spawn(move || {
            let mut seen = Vec::new();
            for stream in listener.incoming().take(asks) {
                let mut stream = stream.expect("a connection");
                let (mut text, mut byte) = (Vec::new(), [0_u8]);
                let body = loop {
                    stream.read_exact(&mut byte).expect("a request");
                    text.push(byte[0]);
                    let end = text.windows(4).position(|four| four == b"\r\n\r\n");
                    let body =
                        end.and_then(|end| serde_json::from_slice::<Value>(&text[end..]).ok());
                    if let Some(body) = body {
                        break body;
                    }
                };
                let ask = &body[0];
                let mbean = ask["mbean"].as_str().expect("an MBean");
                let short = mbean.rsplit('=').next().expect("a type");
                seen.push(
                    format!("{short} {} {}", ask["attribute"], ask["value"]).replace('"', ""),
                );
                let answer = "HTTP/1.0 200 OK\r\n\r\n[{\"status\": 200, \"value\": 1}]";
                stream.write_all(answer.as_bytes()).expect("an answer");
            }
            seen
        });
        (Mbeans::of_agent(address), serve)
    }

    #[test]
    fn a_level_is_set_in_a_node_and_the_first_one_comes_back() {
        let levels = [
            "stream_throughput_outbound=24MiB/s",
            "stream_throughput_outbound=1MiB/s",
            "stream_throughput_outbound=24MiB/s",
            "inter_dc_stream_throughput_outbound=1MiB/s",
            "hinted_handoff_enabled=false",
            "hinted_handoff_enabled=true",
            "max_hint_window=1m",
        ];
        let (mbeans, serve) = agent(levels.len());
        for level in levels {
            let Ok(LiveSetting::Node { key, value }) = LiveSetting::parse(level) else {
                panic!("{level}");
            };
            LiveSetting::set(key, value, &mbeans).expect("an agent that takes all");
        }
        assert_eq!(
            serve.join().expect("no panic"),
            [
                "StorageService StreamThroughputMbPerSec 201",
                "StorageService StreamThroughputMbPerSec 8",
                "StorageService StreamThroughputMbPerSec 201",
                "StorageService InterDCStreamThroughputMbPerSec 8",
                "StorageProxy HintedHandoffEnabled false",
                "StorageProxy HintedHandoffEnabled true",
                "StorageProxy MaxHintWindow 60000",
            ]
        );
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
        let stream = words("stream_throughput_outbound=24MiB/s");
        assert_eq!(stream, some("setstreamthroughput 201"));
        let far = words("inter_dc_stream_throughput_outbound=24MiB/s");
        assert_eq!(far, some("setinterdcstreamthroughput 201"));
        let hints = [true, false].map(|on| words(&format!("hinted_handoff_enabled={on}")));
        assert_eq!(hints, [some("enablehandoff"), some("disablehandoff")]);
        assert_eq!(
            words("max_hint_window=1h"),
            some("setmaxhintwindow 3600000")
        );
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
