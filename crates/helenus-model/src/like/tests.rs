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
            tls: false,
            lone: true,
            nodes: Some(1),
            tokens: None,
        },
    )
    .unwrap()
}

fn differences(like: &Like) -> String {
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
    insta::assert_snapshot!(differences(&like), @r#"
    kept      authenticator | PasswordAuthenticator | authenticator: PasswordAuthenticator | with this cluster's own account
    not here  client_encryption_options | {"enabled":true,"keystore_password":"***"} | - | the production cluster's keystores are not on this machine; --tls makes new ones
    replaced  cluster_name | Production | - | the name of the cluster in Helenus
    kept      commitlog_sync | batch | commitlog_sync: batch | 
    unknown   commitlog_sync_batch_window_in_ms | 2 | - | removed after 4.1
    shrunk    concurrent_reads | 64 | concurrent_reads: 32 | threads of another machine
    renamed   enable_user_defined_functions | true | user_defined_functions_enabled: true | an old name in 5.0.9
    not here  hints_compression | [{"class_name":"com.example.Zip"}] | - | com.example.Zip is not on the class path here
    renamed   key_cache_size_in_mb | 0 | key_cache_size: 0MiB | an old name in 5.0.9
    unknown   made_up_key | 1 | - | no known release has it
    shrunk    memtable_heap_space_in_mb | 8192 | memtable_heap_space: 8MiB | memory of another machine
    kept      num_tokens | 256 | num_tokens: 256 | 
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
    insta::assert_snapshot!(differences(&like), @r#"
    kept      authenticator | {"class_name":"org.apache.cassandra.auth.PasswordAuthenticator"} | authenticator: PasswordAuthenticator | with this cluster's own account
    replaced  authorizer | AllowAllAuthorizer | authorizer: CassandraAuthorizer | a cluster with passwords uses this one
    not here  network_authorizer | CassandraNetworkAuthorizer | - | the production cluster's permissions are not on this machine
    kept      role_manager | CassandraRoleManager | role_manager: CassandraRoleManager | with this cluster's own account
    "#);
    assert!(like.auth && like.settings.is_empty());
    let of_others = of("authenticator: com.example.PasswordAuthenticator\n", "5.0");
    assert!(!of_others.auth && of_others.settings.is_empty());
    let open = "authenticator: AllowAllAuthenticator\n";
    assert!(!of(open, "5.0").auth);
    let beside = Beside {
        auth: true,
        tls: false,
        lone: false,
        nodes: None,
        tokens: None,
    };
    let flagged = super::like(open, None, Release::newest(), PresetName::Tiny, beside).unwrap();
    // The plan sets them itself, and refuses a second opinion.
    assert!(flagged.auth && flagged.settings.is_empty());
    assert_eq!(flagged.differences[0].class, Class::Replaced);
}

#[test]
fn tokens_are_the_file_s_unless_a_flag_says_otherwise() {
    let beside = Beside {
        tokens: Some(4),
        ..Beside::default()
    };
    let like = super::like(
        "num_tokens: 256\n",
        None,
        Release::newest(),
        PresetName::Tiny,
        beside,
    );
    insta::assert_snapshot!(differences(&like.unwrap()), @"replaced  num_tokens | 256 | num_tokens: 4 | set by --tokens");
}

#[test]
fn no_keyspace_has_more_copies_than_nodes() {
    let file = "default_keyspace_rf: 3\n";
    insta::assert_snapshot!(differences(&of(file, "5.0")), @"shrunk    default_keyspace_rf | 3 | default_keyspace_rf: 1 | the data centres here have no more nodes");
    let three = Beside {
        nodes: Some(3),
        ..Beside::default()
    };
    let like = super::like(file, None, Release::newest(), PresetName::Tiny, three).unwrap();
    assert_eq!(like.differences[0].class, Class::Kept);
}

#[test]
fn what_the_change_log_may_hold_is_kept_up_to_what_a_node_allows_itself() {
    insta::assert_snapshot!(differences(&of("cdc_total_space_in_mb: 2048\n", "4.0")), @"kept      cdc_total_space_in_mb | 2048 | cdc_total_space_in_mb: 2048 | ");
    assert_eq!(
        of("cdc_total_space: 8GiB\n", "5.0").differences[0].class,
        Class::Shrunk
    );
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
    insta::assert_snapshot!(differences(&of(text, "4.0")), @r#"
    renamed   compaction_throughput | 64MiB/s | compaction_throughput_mb_per_sec: 64 | the name and unit of 4.0.19
    renamed   read_request_timeout | 5s | read_request_timeout_in_ms: 5000 | the name and unit of 4.0.19
    unknown   sai_options | {"prioritize_over_legacy_index":true} | - | came with 5.0
    renamed   stream_throughput_outbound | 24MiB/s | stream_throughput_outbound_megabits_per_sec: 201 | the name and unit of 4.0.19, which is coarser
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
    insta::assert_snapshot!(of("[1]"), @"
    it contains a list, not a map of keys
    ");
    insta::assert_snapshot!(of("read_request_timeout: 5s\nread_request_timeout_in_ms: 5000\n"), @"
    read_request_timeout and read_request_timeout_in_ms are two names of read_request_timeout
    ");
}

/// What is otherwise here than a node of the release with that file alone would have it.
fn here(text: &str, release: &str) -> Vec<String> {
    let like = of(text, release);
    let yaml = like.differences.iter().filter(|d| !d.key.starts_with("-D"));
    yaml.filter(|d| d.class != Class::Kept)
        .map(|d| {
            format!(
                "{} {}",
                d.class.as_str(),
                d.now.as_deref().unwrap_or(&d.key)
            )
        })
        .collect()
}

#[test]
fn what_a_file_leaves_out_is_the_release_s() {
    // A file of one line: a window for hints. Nothing but sizes and what a node needs is added.
    insta::assert_snapshot!(here("max_hint_window: 3h\n", "5.0").join("\n"), @"
    added partitioner: org.apache.cassandra.dht.Murmur3Partitioner
    added endpoint_snitch: GossipingPropertyFileSnitch
    added commitlog_sync: periodic
    added commitlog_sync_period: 10s
    added auto_bootstrap: false
    added memtable_heap_space: 8MiB
    added memtable_offheap_space: 24MiB
    added commitlog_segment_size: 4MiB
    added commitlog_total_space: 32MiB
    added file_cache_size: 16MiB
    added networking_cache_size: 4MiB
    added prepared_statements_cache_size: 2MiB
    ");
    insta::assert_snapshot!(here("max_hint_window_in_ms: 1\n", "4.0").join("\n"), @"
    added partitioner: org.apache.cassandra.dht.Murmur3Partitioner
    added endpoint_snitch: GossipingPropertyFileSnitch
    added commitlog_sync: periodic
    added commitlog_sync_period_in_ms: 10000
    added auto_bootstrap: false
    added memtable_heap_space_in_mb: 8
    added memtable_offheap_space_in_mb: 24
    added commitlog_segment_size_in_mb: 4
    added commitlog_total_space_in_mb: 32
    added file_cache_size_in_mb: 16
    added networking_cache_size_in_mb: 4
    added prepared_statements_cache_size_mb: 2
    ");
    let like = of("max_hint_window: 3h\n", "5.0");
    assert_eq!(like.settings, [("max_hint_window".to_owned(), "3h".into())]);
}

#[test]
fn sizes_shrink_and_never_grow() {
    let text = "concurrent_reads: 256\nconcurrent_writes: 16\nnative_transport_max_threads: 64\n\
                concurrent_compactors: 8\nmemtable_flush_writers: 1\nrow_cache_size: 1GiB\nkey_cache_size: 1GiB\n\
                counter_cache_size: 1MiB\nfile_cache_size: 8GiB\nnetworking_cache_size: 1MiB\n\
                commitlog_segment_size: 64MiB\nmax_mutation_size: 16MiB\ncdc_total_space: 0MiB\n\
                data_disk_usage_max_disk_size: 4TiB\nconcurrent_validations: 4\ncolumn_index_cache_size: 2KiB\n";
    insta::assert_snapshot!(differences(&of(&text.replace("4TiB", "4096GiB"), "5.0")), @"
    kept      cdc_total_space | 0MiB | cdc_total_space: 0MiB | 
    kept      column_index_cache_size | 2KiB | column_index_cache_size: 2KiB | 
    shrunk    commitlog_segment_size | 64MiB | commitlog_segment_size: 4MiB | disk of another machine; larger mutations than half of 4MiB are refused
    shrunk    concurrent_compactors | 8 | concurrent_compactors: 2 | threads of another machine
    shrunk    concurrent_reads | 256 | concurrent_reads: 32 | threads of another machine
    shrunk    concurrent_validations | 4 | concurrent_validations: 2 | threads of another machine
    kept      concurrent_writes | 16 | concurrent_writes: 16 | 
    kept      counter_cache_size | 1MiB | counter_cache_size: 1MiB | 
    shrunk    data_disk_usage_max_disk_size | 4096GiB | - | disk of another machine: left out
    shrunk    file_cache_size | 8GiB | file_cache_size: 16MiB | memory of another machine
    shrunk    key_cache_size | 1GiB | - | memory of another machine: the node computes its own
    shrunk    max_mutation_size | 16MiB | max_mutation_size: 2048KiB | limited by a size that is smaller here
    kept      memtable_flush_writers | 1 | memtable_flush_writers: 1 | 
    kept      native_transport_max_threads | 64 | native_transport_max_threads: 64 | 
    kept      networking_cache_size | 1MiB | networking_cache_size: 1MiB | 
    shrunk    row_cache_size | 1GiB | row_cache_size: 4MiB | memory of another machine
    ");
    let small = "commitlog_segment_size_in_mb: 2\nmax_mutation_size_in_kb: 1024\nkey_cache_size_in_mb: 512\n\
                 file_cache_size_in_mb: 512\nconcurrent_reads: 64\n";
    insta::assert_snapshot!(differences(&of(small, "4.0")), @"
    kept      commitlog_segment_size_in_mb | 2 | commitlog_segment_size_in_mb: 2 | 
    shrunk    concurrent_reads | 64 | concurrent_reads: 32 | threads of another machine
    shrunk    file_cache_size_in_mb | 512 | file_cache_size_in_mb: 16 | memory of another machine
    shrunk    key_cache_size_in_mb | 512 | - | memory of another machine: the node computes its own
    kept      max_mutation_size_in_kb | 1024 | max_mutation_size_in_kb: 1024 |
    ");
}

#[test]
fn encryption_that_is_off_wants_no_key_stores() {
    let off = "client_encryption_options: {enabled: false, optional: false, keystore: conf/.keystore, keystore_password: made-up}\n\
               server_encryption_options: {internode_encryption: none, truststore: conf/.truststore}\n\
               transparent_data_encryption_options: {enabled: 'no', key_alias: 'a:1'}\n";
    insta::assert_snapshot!(differences(&of(off, "5.0")), @"
    kept      client_encryption_options.enabled | false | client_encryption_options.enabled: false | 
    not here  client_encryption_options.keystore | conf/.keystore | - | the file encrypts nothing: not read
    not here  client_encryption_options.keystore_password | *** | - | the file encrypts nothing: not read
    kept      client_encryption_options.optional | false | client_encryption_options.optional: false | 
    kept      server_encryption_options.internode_encryption | none | server_encryption_options.internode_encryption: none | 
    not here  server_encryption_options.truststore | conf/.truststore | - | the file encrypts nothing: not read
    renamed   transparent_data_encryption_options.enabled | no | transparent_data_encryption_options.enabled: false | as 5.0.9 writes it
    not here  transparent_data_encryption_options.key_alias | a:1 | - | the file encrypts nothing: not read
    ");
    for on in [
        "client_encryption_options: {enabled: true}",
        "client_encryption_options: {enabled: false, optional: true}",
        "server_encryption_options: {internode_encryption: dc}",
        "transparent_data_encryption_options: {enabled: on}",
    ] {
        let like = of(on, "5.0");
        assert_eq!(like.differences[0].class, Class::NotHere, "{on}");
        assert!(like.settings.is_empty(), "{on}");
    }
    let beside = Beside {
        tls: true,
        ..Beside::default()
    };
    let like = super::like(off, None, Release::newest(), PresetName::Tiny, beside).unwrap();
    assert!(
        like.settings
            .iter()
            .all(|(key, _)| !key.contains("server") && !key.contains("client"))
    );
}

#[test]
fn values_that_a_node_dies_of_are_named() {
    let bad = "concurrent_reads: 1\nphi_convict_threshold: 20\ncommitlog_segment_size: 4GiB\n\
               memtable_cleanup_threshold: 1.5\ntables_warn_threshold: 0\nkeyspaces_warn_threshold: 9\n\
               keyspaces_fail_threshold: 5\nread_request_timeout: 5000\nuser_defined_functions_warn_timeout: 5s\n\
               user_defined_functions_threads_enabled: false\nscripted_user_defined_functions_enabled: true\n\
               disk_access_mode: direct\npartitioner: Murmur4Partitioner\ncommitlog_disk_access_mode: standard\n\
               default_keyspace_rf: 1\nminimum_replication_factor_fail_threshold: 3\ncommitlog_sync: group\n\
               internode_max_message_size: 512MiB\nprepared_statements_cache_size: 0MiB\nnum_tokens: 0\n\
               memtable: {configurations: {default: {inherits: trie}}}\nhinted_handoff_enabled: perhaps\n";
    let like = of(bad, "5.0");
    insta::assert_snapshot!(differences(&like), @r#"
    refused   commitlog_disk_access_mode | standard | - | with commitlog_compression it takes standard, without it mmap or direct; auto fits both
    refused   commitlog_segment_size | 4GiB | commitlog_segment_size: 4MiB | it takes 1MiB to 2047MiB
    refused   commitlog_sync | group | - | Cassandra needs commitlog_sync_group_window with it
    refused   concurrent_reads | 1 | concurrent_reads: 32 | it takes 2 or more
    kept      default_keyspace_rf | 1 | default_keyspace_rf: 1 | 
    refused   disk_access_mode | direct | disk_access_mode: mmap_index_only | it takes auto, mmap, mmap_index_only, standard or legacy
    refused   hinted_handoff_enabled | perhaps | hinted_handoff_enabled: true | it takes true or false; the default is true
    refused   internode_max_message_size | 512MiB | - | it must not be above internode_application_send_queue_reserve_endpoint_capacity
    refused   keyspaces_fail_threshold | 5 | - | keyspaces_warn_threshold must not be above keyspaces_fail_threshold
    kept      keyspaces_warn_threshold | 9 | keyspaces_warn_threshold: 9 | 
    refused   memtable.configurations | {"default":{"inherits":"trie"}} | - | default inherits trie, which does not exist
    refused   memtable_cleanup_threshold | 1.5 | - | it takes 0.01 to 0.99
    refused   minimum_replication_factor_fail_threshold | 3 | - | it must not be above default_keyspace_rf
    refused   num_tokens | 0 | - | it takes 1 to 256; --tokens applies
    refused   partitioner | Murmur4Partitioner | partitioner: org.apache.cassandra.dht.Murmur3Partitioner | it takes one of Murmur3Partitioner, RandomPartitioner, ByteOrderedPartitioner, OrderPreservingPartitioner
    refused   phi_convict_threshold | 20 | phi_convict_threshold: 8.0 | it takes 5 to 16
    refused   prepared_statements_cache_size | 0MiB | prepared_statements_cache_size: 2MiB | it takes 1MiB or more
    refused   read_request_timeout | 5000 | read_request_timeout: 5000ms | it takes a duration such as 10s, in ms, s, m, h, d; the default is 5000ms
    refused   scripted_user_defined_functions_enabled | true | scripted_user_defined_functions_enabled: false | it takes false: functions in JavaScript were removed in 5.0
    refused   tables_warn_threshold | 0 | tables_warn_threshold: -1 | it takes 1 or more, or -1 for no limit
    refused   user_defined_functions_threads_enabled | false | - | Cassandra needs allow_insecure_udfs: true with it
    refused   user_defined_functions_warn_timeout | 5s | - | user_defined_functions_warn_timeout must not be above user_defined_functions_fail_timeout
    "#);
    assert_eq!(like.tokens, None);
    let on_4_0 = "concurrent_writes: 1\ncommitlog_segment_size_in_mb: 4096\nmax_value_size_in_mb: 0\n\
                  scripted_user_defined_functions_enabled: true\notc_coalescing_enough_coalesced_messages: 128\n";
    insta::assert_snapshot!(differences(&of(on_4_0, "4.0")), @"
    refused   commitlog_segment_size_in_mb | 4096 | commitlog_segment_size_in_mb: 4 | it takes 1MiB to 2047MiB
    refused   concurrent_writes | 1 | concurrent_writes: 32 | it takes 2 or more
    refused   max_value_size_in_mb | 0 | max_value_size_in_mb: 256 | it takes 1MiB to 2047MiB
    refused   otc_coalescing_enough_coalesced_messages | 128 | otc_coalescing_enough_coalesced_messages: 8 | it takes 1 to 127
    renamed   scripted_user_defined_functions_enabled | true | enable_scripted_user_defined_functions: true | the name and unit of 4.0.19
    ");
}

#[test]
fn a_commit_log_that_is_not_synced_by_time_has_no_time() {
    let both = "commitlog_sync: batch\ncommitlog_sync_period: 10s\n";
    insta::assert_snapshot!(differences(&of(both, "5.0")), @"
    kept      commitlog_sync | batch | commitlog_sync: batch | 
    refused   commitlog_sync_period | 10s | - | not allowed with commitlog_sync: batch
    ");
    let group = "commitlog_sync: group\ncommitlog_sync_group_window_in_ms: 10\ncommitlog_sync_period_in_ms: 0\n";
    insta::assert_snapshot!(differences(&of(group, "4.0")), @"
    kept      commitlog_sync | group | commitlog_sync: group | 
    kept      commitlog_sync_group_window_in_ms | 10 | commitlog_sync_group_window_in_ms: 10 | 
    kept      commitlog_sync_period_in_ms | 0 | commitlog_sync_period_in_ms: 0 |
    ");
}

#[test]
fn what_yaml_can_do_is_read_as_cassandra_reads_it() {
    let text = "\u{feff}%YAML 1.1\n---\r\nread_request_timeout_in_ms: 1\r\n# a comment\r\nroles_validity: &v 10m # ten\r\n\
                permissions_validity: *v\r\nauto_snapshot: yes\r\nincremental_backups: off\r\n\
                memtable: &m\r\n  configurations: {default: {class_name: SkipListMemtable}}\r\n\
                table_properties_warned: [comment, 'x']\r\nread_request_timeout_in_ms: 7000\r\n";
    insta::assert_snapshot!(differences(&of(text, "5.0")), @r#"
    kept      auto_snapshot | true | auto_snapshot: true | 
    kept      incremental_backups | false | incremental_backups: false | 
    kept      memtable.configurations | {"default":{"class_name":"SkipListMemtable"}} | memtable.configurations: {"default":{"class_name":"SkipListMemtable"}} | 
    kept      permissions_validity | 10m | permissions_validity: 10m | 
    renamed   read_request_timeout_in_ms | 7000 | read_request_timeout: 7000ms | an old name in 5.0.9; twice in the file: the last one applies
    kept      roles_validity | 10m | roles_validity: 10m | 
    kept      table_properties_warned | ["comment","x"] | table_properties_warned: ["comment","x"] |
    "#);
    let merged = "x: &x {keystore: a}\nclient_encryption_options: {<<: *x, enabled: false}\n";
    assert!(differences(&of(merged, "5.0")).contains("client_encryption_options.enabled: false"));
}

#[test]
fn classes_are_written_as_the_release_takes_them() {
    let text = "role_manager: {class_name: CassandraRoleManager}\nauthorizer: {class_name: AllowAllAuthorizer}\n\
                commitlog_compression: [{class_name: LZ4Compressor}]\n\
                memtable: {configurations: {trie: {class_name: TrieMemtable}, default: {inherits: trie}}}\n";
    insta::assert_snapshot!(differences(&of(text, "4.1")), @r#"
    renamed   authorizer | {"class_name":"AllowAllAuthorizer"} | authorizer: AllowAllAuthorizer | as 4.1.10 writes it
    renamed   commitlog_compression | [{"class_name":"LZ4Compressor"}] | commitlog_compression: {"class_name":"LZ4Compressor"} | as 4.1.10 writes it
    unknown   memtable.configurations | {"default":{"inherits":"trie"},"trie":{"class_name":"TrieMemtable"}} | - | trie memtables came with 5.0
    renamed   role_manager | {"class_name":"CassandraRoleManager"} | role_manager: CassandraRoleManager | as 4.1.10 writes it
    "#);
    assert_eq!(of(text, "5.0").settings.len(), 4);
}

#[test]
fn the_place_beside_a_file_holds_where_its_snitch_reads_it() {
    let place = |snitch: &str| {
        let text = format!("endpoint_snitch: {snitch}\n");
        let release = Release::newest();
        let like = super::like(
            &text,
            Some("dc=a\nrack=b\n"),
            release,
            PresetName::Tiny,
            Beside::default(),
        );
        like.unwrap().place.map(|place| place.data_center)
    };
    assert_eq!(place("GossipingPropertyFileSnitch").as_deref(), Some("a"));
    assert_eq!(
        place("org.apache.cassandra.locator.GossipingPropertyFileSnitch").as_deref(),
        Some("a")
    );
    for other in [
        "SimpleSnitch",
        "Ec2Snitch",
        "PropertyFileSnitch",
        "RackInferringSnitch",
    ] {
        assert_eq!(place(other), None, "{other}");
    }
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
        if let Ok(like) = like(&text, None, release, PresetName::Tiny, Beside { auth, tls: false, lone, nodes: None, tokens: None }) {
            for key in map.keys() {
                let own: Vec<_> = like.differences.iter()
                    .filter(|d| d.class != Class::Added)
                    .filter(|d| d.key == *key || d.key.starts_with(&format!("{key}.")))
                    .collect();
                prop_assert!(!own.is_empty(), "{key} is listed nowhere");
                let whole = own.iter().filter(|d| d.key == *key).count();
                prop_assert!(whole <= 1 && (whole == 0 || own.len() == 1), "{key} is listed twice");
            }
            for (key, value) in &like.settings {
                prop_assert!(release.translate(key, value).is_ok(), "{key}: {value}");
            }
        }
    }
}
