//! What a secured cluster is started with: the keys of cassandra.yaml and the properties of the JVM that ask clients
//! for a password, and clients and nodes for TLS.
//! Refuses secrets: where the keystores' password stands, a plan has a mark, and only the file on disk has the word.

use super::{PlanError, PlanRequest};
use crate::access::TLS_FOLDER;
use crate::release::Release;
use crate::yaml;
use serde_json::{Map, Value, json};

/// Stands for the keystores' password in a plan; the node's own cassandra.yaml has the password in its place.
pub const KEYSTORE_PASSWORD_MARK: &str = "(the text of tls/keystore.password)";

/// A note for files that are applied by hand; `hosts up` disables the default superuser itself.
pub const STOCK_IS_OPEN: &str =
    "the stock superuser cassandra/cassandra is open until you make another and drop it by CQL";

/// Keys that a secured cluster has and others have not; a training start leaves them out.
pub(crate) const TOP_KEYS: [&str; 10] = [
    "authenticator",
    "authorizer",
    "role_manager",
    "auth_read_consistency_level",
    "credentials_validity",
    "credentials_validity_in_ms",
    "roles_cache_max_entries",
    "permissions_cache_max_entries",
    "client_encryption_options",
    "server_encryption_options",
];

/// Keys that a person may still set: they weaken nothing that the flags promise to clients.
const FREE: [&str; 7] = [
    "auth_read_consistency_level",
    "credentials_validity",
    "credentials_validity_in_ms",
    "roles_cache_max_entries",
    "permissions_cache_max_entries",
    "server_encryption_options.internode_encryption",
    "server_encryption_options.require_endpoint_verification",
];

/// Copies of `system_auth` in a data centre of so many nodes.
pub fn auth_copies(nodes: usize) -> usize {
    nodes.clamp(1, 3)
}

/// The keys of node `name`, none for an open cluster.
pub(super) fn keys(request: &PlanRequest, name: &str) -> Map<String, Value> {
    let mut map = Map::new();
    let security = request.spec.security;
    if security.auth {
        map.extend(auth_keys(&request.release, request.spec.like));
    }
    if security.tls {
        let folder = format!("{}/{TLS_FOLDER}", request.folder);
        let stores = |require_client_auth: bool| {
            json!({
                "keystore": format!("{folder}/{name}.p12"),
                "keystore_password": KEYSTORE_PASSWORD_MARK,
                "truststore": format!("{folder}/truststore.p12"),
                "truststore_password": KEYSTORE_PASSWORD_MARK,
                "store_type": "PKCS12",
                "require_client_auth": require_client_auth,
            })
        };
        let mut client = stores(security.client_auth);
        client["enabled"] = true.into();
        client["optional"] = false.into();
        // A node shows its certificate to its peers, or anybody could join.
        let mut server = stores(true);
        server["internode_encryption"] = "all".into();
        map.insert("client_encryption_options".to_owned(), client);
        map.insert("server_encryption_options".to_owned(), server);
    }
    map
}

/// Who follows a production's file has its caches of roles and its levels, or the release's own.
fn auth_keys(release: &str, like: bool) -> Map<String, Value> {
    let known = Release::facts_for(release).unwrap_or_else(|_| Release::newest());
    let has = |key: &str| known.keys().get(key).is_some();
    let mut map = Map::new();
    let mut set = |key: &str, value: Value| map.insert(key.to_owned(), value);
    set("authenticator", "PasswordAuthenticator".into());
    set("authorizer", "CassandraAuthorizer".into());
    set("role_manager", "CassandraRoleManager".into());
    // A password that was changed is refused at once, on every node: it is read at each log-in, which is rare.
    if has("credentials_validity") {
        set("credentials_validity", "0ms".into());
    } else {
        set("credentials_validity_in_ms", 0.into());
    }
    if like {
        return map;
    }
    let mut set = |key: &str, value: Value| map.insert(key.to_owned(), value);
    // A handful of roles; the stock 1000 would hold nothing more.
    set("roles_cache_max_entries", 100.into());
    set("permissions_cache_max_entries", 100.into());
    // As 4.0 has it without a choice: with two of three nodes down one can still log in at the third.
    if has("auth_read_consistency_level") {
        set("auth_read_consistency_level", "LOCAL_ONE".into());
    }
    map
}

/// The properties of the JVM.
pub(super) fn properties(request: &PlanRequest) -> Vec<String> {
    if !request.spec.security.auth {
        return Vec::new();
    }
    let copies = auth_copies(request.spec.topology.nodes());
    // Made with its copies from the start, `system_auth` needs no repair afterwards.
    let mut all = vec![format!("-Dcassandra.system_auth.default_rf={copies}")];
    if !request.spec.like {
        // The least rounds: they protect guessable passwords, ours is random; at ten a log-in costs 0.1 s of CPU.
        all.push("-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4".to_owned());
    }
    all
}

/// Refuses a key that the flags decide.
///
/// # Errors
/// [`PlanError::Reserved`] with the key.
pub(super) fn check(request: &PlanRequest) -> Result<(), PlanError> {
    let ours = Value::Object(keys(request, "node1"));
    for (key, _) in &request.spec.set {
        let path = format!("/{}", key.replace('.', "/"));
        if ours.pointer(&path).is_some() && !FREE.contains(&key.as_str()) {
            return Err(PlanError::Reserved(key.clone()));
        }
    }
    Ok(())
}

/// A node's cassandra.yaml without all this: what an archive is trained on serves secured clusters and open ones.
pub fn without_security(text: &str) -> String {
    match yaml::parse(text) {
        Ok(Value::Object(mut map)) => {
            for key in TOP_KEYS {
                map.remove(key);
            }
            yaml::render(&Value::Object(map))
        }
        Ok(_) | Err(_) => text.to_owned(),
    }
}
