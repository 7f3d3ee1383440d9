//! The rules by which a key of a production's file is replaced, shrunk or left out.
//! Refuses to judge by a value's looks where the key's name decides.

use super::{ProductionPlace, plain, read_place};
use crate::nearest::nearest;
use crate::release::Release;
use serde_json::{Map, Value};

/// What stands in a key's place, and why.
pub(super) struct Replaced {
    pub(super) now: Option<String>,
    pub(super) why: String,
}

/// Keys that follow from addresses, folders, tokens and names, by modern name, with the reason.
const REPLACED: [(&str, &str); 33] = [
    ("cluster_name", "the name of the cluster in Helenus"),
    ("num_tokens", "empty in the file: --tokens applies"),
    ("initial_token", "tokens are spread evenly over the nodes"),
    (
        "allocate_tokens_for_keyspace",
        "tokens are assigned before the start",
    ),
    (
        "allocate_tokens_for_local_replication_factor",
        "tokens are assigned before the start",
    ),
    ("seed_provider", "the nodes of this cluster"),
    ("listen_address", "an address of this machine"),
    ("listen_interface", "an address of this machine"),
    ("listen_interface_prefer_ipv6", "an address of this machine"),
    ("listen_on_broadcast_address", "there is one address"),
    ("broadcast_address", "there is one address"),
    ("broadcast_rpc_address", "there is one address"),
    ("rpc_address", "an address of this machine"),
    ("rpc_interface", "an address of this machine"),
    ("rpc_interface_prefer_ipv6", "an address of this machine"),
    ("native_transport_port", "9042 if it is free"),
    (
        "native_transport_port_ssl",
        "one port serves; --tls encrypts it",
    ),
    ("start_native_transport", "the cluster is used through CQL"),
    ("storage_port", "7000 if it is free"),
    ("ssl_storage_port", "7000 if it is free"),
    (
        "start_rpc",
        "Thrift's port would conflict with another node's",
    ),
    (
        "rpc_port",
        "Thrift's port would conflict with another node's",
    ),
    ("data_file_directories", "a folder of the node"),
    ("local_system_data_file_directory", "a folder of the node"),
    ("commitlog_directory", "a folder of the node"),
    ("hints_directory", "a folder of the node"),
    ("saved_caches_directory", "a folder of the node"),
    ("cdc_raw_directory", "a folder of the node"),
    ("heap_dump_path", "a folder of the node"),
    (
        "audit_logging_options.audit_logs_dir",
        "below the node's logs",
    ),
    (
        "full_query_logging_options.log_dir",
        "below the node's logs",
    ),
    ("auto_bootstrap", "a new cluster has nothing to stream"),
    (
        "endpoint_snitch",
        "it reads the data centre and rack that Helenus writes",
    ),
];

/// Keys about who may log in: they go together, and only with a password that somebody has.
const AUTH: [&str; 6] = [
    "authenticator",
    "authorizer",
    "role_manager",
    "network_authorizer",
    "cidr_authorizer",
    "internode_authenticator",
];

/// Whether Helenus itself decides the key.
pub(super) fn replaced(modern: &str, place: Option<&ProductionPlace>) -> Option<Replaced> {
    let (_, why) = REPLACED.iter().find(|(key, _)| *key == modern)?;
    let now = match modern {
        "endpoint_snitch" => Some(match place {
            Some(place) => format!(
                "endpoint_snitch: GossipingPropertyFileSnitch, data centre {}, rack {}",
                place.data_center, place.rack
            ),
            None => "endpoint_snitch: GossipingPropertyFileSnitch, data centre datacenter1".into(),
        }),
        _ => None,
    };
    Some(Replaced {
        now,
        why: (*why).to_owned(),
    })
}

/// Whether an authenticator asks for a password.
pub(super) fn asks_for_passwords(value: &Value) -> bool {
    is_class(value, "PasswordAuthenticator")
}

/// What a cluster of Helenus that asks for passwords has in the key's place.
pub(super) fn log_ins(modern: &str) -> Option<&'static str> {
    match modern {
        "authenticator" => Some("PasswordAuthenticator"),
        "authorizer" => Some("CassandraAuthorizer"),
        "role_manager" => Some("CassandraRoleManager"),
        _ => None,
    }
}

/// Whether a value names that class of Cassandra's `auth` package.
pub(super) fn is_class(value: &Value, wanted: &str) -> bool {
    class_name(value).is_some_and(|name| {
        name.strip_prefix("org.apache.cassandra.auth.")
            .unwrap_or(name)
            == wanted
    })
}

/// The tokens that a file gives its node; empty where it gives none, other ones than Murmur3's, or another number than
/// `num_tokens` says, with which Cassandra would not start.
pub(super) fn initial_tokens(map: &Map<String, Value>) -> Vec<i64> {
    let partitioner = map.get("partitioner").and_then(Value::as_str);
    if partitioner.is_some_and(|name| !name.ends_with("Murmur3Partitioner")) {
        return Vec::new();
    }
    let text = match map.get("initial_token") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return Vec::new(),
    };
    let parsed: Result<Vec<i64>, _> = text.split(',').map(|t| t.trim().parse()).collect();
    let mut tokens = parsed.unwrap_or_default();
    let given = tokens.len();
    tokens.sort_unstable();
    tokens.dedup();
    let wanted = map.get("num_tokens").and_then(Value::as_u64).unwrap_or(1);
    // The partitioner's least value is nobody's token.
    if given as u64 != wanted || tokens.len() != given || tokens.first() == Some(&i64::MIN) {
        return Vec::new();
    }
    tokens
}

/// Whether the key says what is encrypted, and with which key stores.
pub(super) fn is_encryption(modern: &str) -> bool {
    matches!(
        modern,
        "client_encryption_options"
            | "server_encryption_options"
            | "transparent_data_encryption_options"
            | "encryption_options"
    )
}

/// Why encryption that is on cannot be followed.
pub(super) const KEYSTORES: &str =
    "the production cluster's keystores are not on this machine; --tls makes new ones";

/// Whether nothing is encrypted by these options: no key store is read then.
pub(super) fn is_off(options: &Map<String, Value>) -> bool {
    let on = |key: &str| {
        let value = options.get(key).map(plain).unwrap_or_default();
        !matches!(
            value.to_ascii_lowercase().as_str(),
            "" | "null" | "false" | "no" | "off" | "none"
        )
    };
    !on("enabled") && !on("internode_encryption") && !on("optional")
}

/// Whether the option of an encryption that is off is read all the same.
pub(super) fn is_switch(option: &str) -> bool {
    matches!(
        option,
        "enabled" | "internode_encryption" | "optional" | "require_client_auth"
    )
}

/// Tokens a node, where it may have so many.
pub(super) fn tokens(value: &Value) -> Option<u32> {
    let tokens = value.as_u64().and_then(|n| u32::try_from(n).ok());
    tokens.filter(|n| (1..=256).contains(n))
}

/// Data centre and rack by the cassandra-rackdc.properties beside the file, where the file's snitch reads it.
pub(super) fn place(map: &Map<String, Value>, rackdc: Option<&str>) -> Option<ProductionPlace> {
    let snitch = map.get("endpoint_snitch").and_then(Value::as_str);
    let reads = snitch.is_none_or(|name| name.ends_with("GossipingPropertyFileSnitch"));
    rackdc.filter(|_| reads).map(read_place)
}

/// Why Cassandra takes no such partitioner or memtable.
pub(super) fn refused(modern: &str, value: &Value) -> Option<String> {
    match modern {
        "partitioner" => {
            let name = value.as_str()?;
            let short = name
                .strip_prefix("org.apache.cassandra.dht.")
                .unwrap_or(name);
            let known = PARTITIONERS.contains(&short) || short.contains('.');
            (!known).then(|| format!("it takes one of {}", PARTITIONERS.join(", ")))
        }
        "memtable.configurations" => {
            let all = value.as_object()?;
            let lost = all.iter().find_map(|(name, one)| {
                let parent = one.get("inherits")?.as_str()?;
                (!all.contains_key(parent)).then_some((name, parent))
            });
            lost.map(|(name, parent)| format!("{name} inherits {parent}, which does not exist"))
        }
        _ => None,
    }
}

const PARTITIONERS: [&str; 4] = [
    "Murmur3Partitioner",
    "RandomPartitioner",
    "ByteOrderedPartitioner",
    "OrderPreservingPartitioner",
];

/// Why the key cannot be followed on one machine.
pub(super) fn not_here(modern: &str, value: &Value, auth: bool) -> Option<String> {
    if modern.ends_with("archive_command") && value.as_str().is_some_and(|text| !text.is_empty()) {
        return Some("a program of another machine".into());
    }
    if modern == "startup_checks"
        && value
            .pointer("/check_filesystem_ownership/enabled")
            .is_some()
    {
        return Some("ownership markers are not on these disks".into());
    }
    if AUTH.contains(&modern) && !is_open(value) && auth {
        return Some("the production cluster's permissions are not on this machine".into());
    }
    if AUTH.contains(&modern) && !is_open(value) {
        return Some(
            "the production cluster's accounts are not on this machine: the cluster has no passwords unless --auth is given".into(),
        );
    }
    if AUTH.contains(&modern) {
        return None;
    }
    let about_a_class =
        modern.ends_with("class_name") || modern == "partitioner" || class_of_map(value).is_some();
    let name = class_name(value).filter(|_| about_a_class)?;
    (name.contains('.') && !name.starts_with("org.apache.cassandra."))
        .then(|| format!("{name} is not on the class path here"))
}

/// Whether everybody is let in.
fn is_open(value: &Value) -> bool {
    class_name(value).is_none_or(|name| {
        let short = name.rsplit('.').next().unwrap_or(name);
        short.starts_with("AllowAll") || short == "CassandraRoleManager"
    })
}

/// The bare name of a class that is given as a map without parameters.
pub(super) fn bare(value: &Value) -> Option<Value> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get("class_name")
        .filter(|name| name.is_string())
        .cloned()
}

fn class_of_map(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.first().and_then(class_of_map),
        Value::Object(map) => map.get("class_name").and_then(Value::as_str),
        _ => None,
    }
}

/// A class by its bare name, or in a map of it.
fn class_name(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| class_of_map(value))
}

/// Why a release does not know a key: what other releases say of it.
pub(super) fn history(key: &str, release: &Release) -> String {
    let knows = |r: &&Release| r.keys().named(key).is_some();
    let older: Vec<&str> = release.older().filter(knows).map(|r| r.series).collect();
    let later = |by: &&str| by.starts_with(&format!("{}.", release.series));
    match (older.last(), release.brought(key)) {
        // Some keys came to several series at once, with a patch of each.
        (_, Some(first)) if later(&first) => format!("came with {first}"),
        (Some(last), _) => format!("removed after {last}"),
        (None, Some(first)) => format!("came with {first}"),
        (None, None) => {
            let names = release.keys().all().iter().map(|k| k.name.as_str());
            match nearest(key, names) {
                Some(near) => format!("no known release has it; the nearest is {near}"),
                None => "no known release has it".to_owned(),
            }
        }
    }
}
