//! What `nodetool` can change in a live node: remembered before its first change, put back by a reset.
//! Refuses to guess what a value was: what was not remembered is not touched.
//!
//! A node of ours has no JMX until we open it, so before the first changing command everything is as it started.

use crate::attach::AttachError;
use crate::context::Context;
use crate::error::ClusterError;
use crate::mbeans::{Ask, CACHES, Mbeans, STORAGE_PROXY, STORAGE_SERVICE};
use crate::state::{ClusterState, started_at};
use crate::stored;
use helenus_model::format::Format;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words that a changing command of nodetool starts with.
const CHANGING: [&str; 5] = ["set", "enable", "disable", "pause", "resume"];

/// Attributes that those commands set, of 4.0 to 5.0; a release that lacks one has nothing to put back.
const ATTRIBUTES: [(&str, &[&str]); 3] = [
    (
        STORAGE_SERVICE,
        &[
            "BatchSizeFailureThreshold",
            "BatchlogReplayThrottleInKB",
            "CasContentionTimeout",
            "ColumnIndexCacheSize",
            "ColumnIndexSizeInKiB",
            "CompactionThroughputMbPerSec",
            "ConcurrentCompactors",
            "ConcurrentViewBuilders",
            "CounterWriteRpcTimeout",
            "IncrementalBackupsEnabled",
            "InterDCStreamThroughputMbPerSec",
            "InternodeTcpConnectTimeoutInMS",
            "InternodeTcpUserTimeoutInMS",
            "RangeRpcTimeout",
            "ReadRpcTimeout",
            "RpcTimeout",
            "SnapshotLinksPerSecond",
            "StreamThroughputMbPerSec",
            "TombstoneFailureThreshold",
            "TombstoneWarnThreshold",
            "TraceProbability",
            "TruncateRpcTimeout",
            "WriteRpcTimeout",
        ],
    ),
    (
        STORAGE_PROXY,
        &[
            "HintedHandoffEnabled",
            "IdealConsistencyLevel",
            "MaxHintWindow",
            "MaxHintsInProgress",
            "NativeTransportMaxConcurrentConnections",
        ],
    ),
    (
        CACHES,
        &[
            "CounterCacheKeysToSave",
            "CounterCacheSavePeriodInSeconds",
            "KeyCacheKeysToSave",
            "KeyCacheSavePeriodInSeconds",
            "RowCacheKeysToSave",
            "RowCacheSavePeriodInSeconds",
        ],
    ),
];

/// The attribute that is set by an operation, logger by logger.
const LOGGERS: &str = "LoggingLevels";

/// What one process of a node had before it was changed.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    format: Format,
    /// The process, with its start.
    process: String,
    /// By `MBean attribute`.
    values: BTreeMap<String, Value>,
}

/// A setting that was put back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PutBack {
    /// Node.
    pub node: String,
    /// Attribute.
    pub attribute: String,
    /// What it was changed to.
    pub from: Value,
    /// What it is again.
    pub to: Value,
}

/// Whether nodetool's words may change a setting of the node.
pub fn is_changing(arguments: &[String]) -> bool {
    let verb = arguments.iter().find(|word| !word.starts_with('-'));
    verb.is_some_and(|verb| CHANGING.iter().any(|word| verb.starts_with(word)))
}

/// Remembers the settings of a node's process, unless they are remembered already.
///
/// # Errors
/// The agent cannot be had, or the file cannot be written.
pub fn remember(context: &Context, state: &ClusterState, node: &str) -> Result<(), ClusterError> {
    let folder = PathBuf::from(&state.node(node)?.folder);
    let mbeans = Mbeans::of(context, state, node)?;
    let process = process(mbeans.pid());
    if known(&folder, &process).is_some() {
        return Ok(());
    }
    let remembered = Remembered {
        format: Format::new("settings", 1),
        process,
        values: read(&mbeans)?,
    };
    stored::write(&file(&folder), &remembered).map_err(|e| AttachError::Io(e).into())
}

/// What of the remembered settings is another now; asked only of processes that were opened.
pub(super) fn changed(
    context: &Context,
    state: &ClusterState,
    node: &str,
    pid: i32,
) -> Result<Vec<PutBack>, ClusterError> {
    let folder = PathBuf::from(&state.node(node)?.folder);
    let Some(remembered) = known(&folder, &process(pid)) else {
        return Ok(Vec::new());
    };
    let now = read(&Mbeans::of(context, state, node)?)?;
    let differs = |(key, to): (String, Value)| {
        let from = now.get(&key).filter(|from| **from != to)?.clone();
        if key.ends_with(LOGGERS) && changed_loggers(&from, &to).is_empty() {
            return None;
        }
        Some(PutBack {
            node: node.to_owned(),
            attribute: key,
            from,
            to,
        })
    };
    Ok(remembered.values.into_iter().filter_map(differs).collect())
}

/// Puts the settings of one node back.
pub(super) fn put_back(
    context: &Context,
    state: &ClusterState,
    settings: &[PutBack],
) -> Result<(), ClusterError> {
    for setting in settings {
        let mbeans = Mbeans::of(context, state, &setting.node)?;
        let (bean, attribute) = setting.attribute.rsplit_once(' ').unwrap_or_default();
        if attribute != LOGGERS {
            mbeans.write(bean, attribute, &setting.to)?;
            continue;
        }
        for (logger, level) in changed_loggers(&setting.from, &setting.to) {
            mbeans.exec(bean, "setLoggingLevel", &[json!(logger), json!(level)])?;
        }
    }
    Ok(())
}

/// Loggers that write at another level than they would under `to`, with that level.
///
/// A logger cannot be made to inherit again: one that says what it would inherit is as it was.
fn changed_loggers(from: &Value, to: &Value) -> Vec<(String, String)> {
    let Some(from) = from.as_object() else {
        return Vec::new();
    };
    let changed = from.iter().filter_map(|(logger, level)| {
        let was = level_of(to, logger)?;
        (was != level.as_str()?).then(|| (logger.clone(), was.to_owned()))
    });
    changed.collect()
}

/// The level that a logger writes at: its own, or that of the nearest above it.
fn level_of<'a>(levels: &'a Value, logger: &str) -> Option<&'a str> {
    let mut name = logger;
    loop {
        if let Some(level) = levels[name].as_str() {
            return Some(level);
        }
        match name.rsplit_once('.') {
            Some((above, _)) => name = above,
            None => return levels["ROOT"].as_str(),
        }
    }
}

fn read(mbeans: &Mbeans) -> Result<BTreeMap<String, Value>, ClusterError> {
    let mut names: Vec<(&str, &str)> = ATTRIBUTES
        .iter()
        .flat_map(|(bean, attributes)| attributes.iter().map(|a| (*bean, *a)))
        .collect();
    names.push((STORAGE_SERVICE, LOGGERS));
    let asks: Vec<Ask> = names.iter().map(|(bean, a)| Ask::read(bean, a)).collect();
    let answers = mbeans.bulk(&asks)?;
    let pairs = names.into_iter().zip(answers);
    Ok(pairs
        .filter_map(|((bean, a), answer)| Some((format!("{bean} {a}"), answer.ok()?)))
        .collect())
}

fn known(folder: &Path, process: &str) -> Option<Remembered> {
    let remembered: Remembered = stored::read(&file(folder), "settings", 1).ok()?;
    (remembered.process == process).then_some(remembered)
}

fn file(folder: &Path) -> PathBuf {
    folder.join("settings.json")
}

/// A process's number comes again; together with its start it does not.
fn process(pid: i32) -> String {
    format!("{pid} {}", started_at(pid).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_change_something_are_waited_for() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(is_changing(&words("setcompactionthroughput 7")));
        assert!(is_changing(&words("disablehandoff")));
        assert!(!is_changing(&words("status")));
        assert!(!is_changing(&words("getlogginglevels")));
        assert!(!is_changing(&[]));
    }

    #[test]
    fn a_logger_goes_back_to_what_it_would_inherit_and_is_left_alone_there() {
        let to = json!({"ROOT": "INFO", "org.a": "DEBUG"});
        let from = json!({"ROOT": "WARN", "org.a": "DEBUG", "org.a.b": "TRACE", "org.c": "INFO"});
        let pairs = changed_loggers(&from, &to);
        let pairs: Vec<_> = pairs.iter().map(|(l, v)| (&**l, &**v)).collect();
        assert_eq!(pairs, [("ROOT", "INFO"), ("org.a.b", "DEBUG")]);
        let back = json!({"ROOT": "INFO", "org.a": "DEBUG", "org.a.b": "DEBUG", "org.c": "INFO"});
        assert_eq!(changed_loggers(&back, &to), []);
    }
}
