//! What becomes of files in four dialects, and the law that nothing is dropped.
//! Refuses to start anything.

use super::*;
use proptest::prelude::*;

fn of(text: &str, release: &str) -> Like {
    like(
        text,
        None,
        Release::facts_for(release).unwrap(),
        PresetName::Tiny,
        Beside {
            auth: false,
            lone: true,
        },
    )
    .unwrap()
}

fn told(like: &Like) -> String {
    let file = like.differences.iter().filter(|d| d.class != Class::Added);
    let lines = file.map(|d| {
        format!(
            "{:<9} {} | {} | {} | {}",
            d.class.as_str(),
            d.key,
            d.was.as_deref().unwrap_or("-"),
            d.now.as_deref().unwrap_or("-"),
            d.why
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

const OLD: &str = "
cluster_name: Production
num_tokens: 256
partitioner: org.apache.cassandra.dht.RandomPartitioner
authenticator: PasswordAuthenticator
commitlog_sync: batch
commitlog_sync_batch_window_in_ms: 2
concurrent_reads: 64
key_cache_size_in_mb: 0
memtable_heap_space_in_mb: 8192
read_request_timeout_in_ms: 5000
stream_throughput_outbound_megabits_per_sec: 200
enable_user_defined_functions: true
request_scheduler: org.apache.cassandra.scheduler.NoScheduler
hints_compression: [{class_name: com.example.Zip}]
phi_convict_threshold: 12
made_up_key: 1
client_encryption_options: {enabled: true, keystore_password: hunter2}
";

#[test]
fn an_old_dialect_on_5_0() {
    let like = of(OLD, "5.0");
    insta::assert_snapshot!(told(&like), @r#"
    kept      authenticator | PasswordAuthenticator | authenticator: PasswordAuthenticator | with an account of this cluster's own
    not here  client_encryption_options | {"enabled":true,"keystore_password":"***"} | - | keystores of a production are not on this machine; --tls makes new ones
    replaced  cluster_name | Production | - | the name that Helenus knows the cluster by
    kept      commitlog_sync | batch | commitlog_sync: batch | 
    unknown   commitlog_sync_batch_window_in_ms | 2 | - | removed after 4.1
    shrunk    concurrent_reads | 64 | concurrent_reads: 2 | threads of a machine that is not here
    renamed   enable_user_defined_functions | true | user_defined_functions_enabled: true | an old name in 5.0.9
    not here  hints_compression | [{"class_name":"com.example.Zip"}] | - | com.example.Zip is on no class path here
    renamed   key_cache_size_in_mb | 0 | key_cache_size: 0MiB | an old name in 5.0.9
    unknown   made_up_key | 1 | - | no release that is known has it
    shrunk    memtable_heap_space_in_mb | 8192 | memtable_heap_space: 8MiB | memory of a machine that is not here
    replaced  num_tokens | 256 | - | kept as --tokens
    kept      partitioner | org.apache.cassandra.dht.RandomPartitioner | partitioner: org.apache.cassandra.dht.RandomPartitioner | 
    kept      phi_convict_threshold | 12 | phi_convict_threshold: 12 | 
    renamed   read_request_timeout_in_ms | 5000 | read_request_timeout: 5000ms | an old name in 5.0.9
    unknown   request_scheduler | org.apache.cassandra.scheduler.NoScheduler | - | removed after 3.11
    renamed   stream_throughput_outbound_megabits_per_sec | 200 | stream_throughput_outbound: 25000000B/s | an old name in 5.0.9
    "#);
    assert_eq!((like.tokens, like.auth), (Some(256), true));
    assert!(!serde_json::to_string(&like).unwrap().contains("hunter2"));
    let period = like
        .settings
        .iter()
        .find(|(k, _)| k == "commitlog_sync_period");
    assert_eq!(period.map(|(_, v)| v), Some(&Value::from("0ms")));
}

#[test]
fn who_may_log_in_follows_the_file_and_the_flag() {
    let secured = "authenticator: {class_name: org.apache.cassandra.auth.PasswordAuthenticator}\n\
                   authorizer: AllowAllAuthorizer\nrole_manager: CassandraRoleManager\n\
                   network_authorizer: CassandraNetworkAuthorizer\n";
    let like = of(secured, "5.0");
    insta::assert_snapshot!(told(&like), @r#"
    kept      authenticator | {"class_name":"org.apache.cassandra.auth.PasswordAuthenticator"} | authenticator: PasswordAuthenticator | with an account of this cluster's own
    replaced  authorizer | AllowAllAuthorizer | authorizer: CassandraAuthorizer | a cluster that asks for passwords has this one
    not here  network_authorizer | CassandraNetworkAuthorizer | - | grants of a production are not on this machine
    kept      role_manager | CassandraRoleManager | role_manager: CassandraRoleManager | with an account of this cluster's own
    "#);
    assert!(like.auth && like.settings.is_empty());
    let of_others = of("authenticator: com.example.PasswordAuthenticator\n", "5.0");
    assert!(!of_others.auth && of_others.settings.is_empty());
    let open = "authenticator: AllowAllAuthenticator\n";
    assert!(!of(open, "5.0").auth);
    let beside = Beside {
        auth: true,
        lone: false,
    };
    let flagged = super::like(open, None, Release::newest(), PresetName::Tiny, beside).unwrap();
    // The plan sets them itself, and refuses a second opinion.
    assert!(flagged.auth && flagged.settings.is_empty());
    assert_eq!(flagged.differences[0].class, Class::Replaced);
}

#[test]
fn a_lone_node_has_its_own_tokens() {
    let kept = of("initial_token: 5, -7\nnum_tokens: 2\n", "5.0");
    assert_eq!(kept.initial_tokens, [-7, 5]);
    assert_eq!(kept.differences[0].class, Class::Kept);
    let one = of("initial_token: -7\n", "5.0");
    assert_eq!(
        (one.initial_tokens.as_slice(), one.tokens),
        (&[-7][..], None)
    );
    for other in [
        "initial_token: 5,-7\n",
        "initial_token: 5,5\nnum_tokens: 2\n",
        "initial_token: 85070591730234615865843651857942052864\npartitioner: RandomPartitioner\n",
        "initial_token: 5\npartitioner: RandomPartitioner\n",
        "initial_token: -9223372036854775808\n",
        "initial_token:\n",
    ] {
        let like = of(other, "5.0");
        assert!(like.initial_tokens.is_empty(), "{other}");
        assert_eq!(like.differences[0].class, Class::Replaced, "{other}");
    }
}

#[test]
fn a_new_dialect_on_4_0() {
    let text = "read_request_timeout: 5s\ncompaction_throughput: 64MiB/s\n\
                user_defined_functions_enabled: true\nsai_options: {prioritize_over_legacy_index: true}\n\
                stream_throughput_outbound: 24MiB/s\n";
    insta::assert_snapshot!(told(&of(text, "4.0")), @r#"
    renamed   compaction_throughput | 64MiB/s | compaction_throughput_mb_per_sec: 64 | the name and unit of 4.0.19
    renamed   read_request_timeout | 5s | read_request_timeout_in_ms: 5000 | the name and unit of 4.0.19
    unknown   sai_options | {"prioritize_over_legacy_index":true} | - | came with 5.0
    unknown   stream_throughput_outbound | 24MiB/s | - | came with 4.1
    renamed   user_defined_functions_enabled | true | enable_user_defined_functions: true | the name and unit of 4.0.19
    "#);
}

#[test]
fn what_is_no_file_is_refused() {
    let of = |text: &str| {
        let refused = like(
            text,
            None,
            Release::newest(),
            PresetName::Tiny,
            Beside::default(),
        )
        .unwrap_err();
        refused
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    insta::assert_snapshot!(of("concurrent_reads: 1\nconcurrent_reads: 2\n"), @"
    not YAML: error: line 2 column 1: duplicate mapping key: concurrent_reads, set DuplicateKeyPolicy in Options if acceptable
    ");
    insta::assert_snapshot!(of("[1]"), @"
    it holds a list, not a map of keys
    ");
    insta::assert_snapshot!(of("read_request_timeout: 5s\nread_request_timeout_in_ms: 5000\n"), @"
    read_request_timeout and read_request_timeout_in_ms are two names of read_request_timeout
    ");
}

#[test]
fn the_place_of_a_node() {
    let place = read_place("# dc=x\ndc = Frankfurt\nrack=r7\nprefer_local=true\n");
    assert_eq!(
        (place.data_center.as_str(), place.rack.as_str()),
        ("Frankfurt", "r7")
    );
}

fn any_entry() -> impl Strategy<Value = (String, Value)> {
    let releases = Release::all();
    let names: Vec<String> = releases
        .iter()
        .flat_map(|r| r.keys().all())
        .flat_map(|k| {
            let old = k.old_names.iter().map(|o| o.name.clone());
            old.chain([k.name.clone()]).collect::<Vec<_>>()
        })
        .filter(|name| !name.contains('.'))
        .collect();
    let name = prop_oneof![proptest::sample::select(names), "[a-z_]{3,12}"];
    let value = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0_i64..100_000).prop_map(Value::from),
        "[a-z0-9]{1,8}(ms|MiB|s)?".prop_map(Value::from),
        Just(Value::Null),
        Just(serde_json::json!({"enabled": true, "other": 1})),
        Just(serde_json::json!({})),
        Just(serde_json::json!(["a", {"class_name": "com.example.X"}])),
    ];
    (name, value)
}

proptest! {
    #[test]
    fn no_key_is_dropped_in_silence(
        entries in proptest::collection::btree_map("[a-z]", any_entry(), 0..12),
        which in 0..Release::all().len(),
        auth in any::<bool>(),
        lone in any::<bool>(),
    ) {
        let map: Map<String, Value> = entries.into_values().collect();
        let text = yaml::render(&Value::Object(map.clone()));
        let release = Release::all()[which];
        if let Ok(like) = like(&text, None, release, PresetName::Tiny, Beside { auth, lone }) {
            for key in map.keys() {
                let own: Vec<_> = like.differences.iter()
                    .filter(|d| d.class != Class::Added)
                    .filter(|d| d.key == *key || d.key.starts_with(&format!("{key}.")))
                    .collect();
                prop_assert!(!own.is_empty(), "{key} is told nowhere");
                let whole = own.iter().filter(|d| d.key == *key).count();
                prop_assert!(whole <= 1 && (whole == 0 || own.len() == 1), "{key} is told twice");
            }
            for (key, value) in &like.settings {
                prop_assert!(release.keys().check_value(key, value).is_ok(), "{key}: {value}");
            }
        }
    }
}
