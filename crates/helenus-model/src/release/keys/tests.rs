//! What `--set` accepts, renames and refuses, against the committed table of 5.0.9.
//! Refuses invented keys: every name here is one of the release's.

use super::*;
use crate::release::Release;
use serde_json::json;

fn keys() -> &'static Keys {
    Release::find("5.0.9").unwrap().keys()
}

fn check(name: &str, value: &str) -> Result<Checked, KeyError> {
    keys().check(name, value)
}

/// The error and its hint, as a person reads them.
fn refusal(name: &str, value: &str) -> String {
    let error = check(name, value).unwrap_err();
    format!("{error} | {}", error.hint())
}

#[test]
fn values_of_each_kind_are_taken() {
    for (name, yaml, value) in [
        ("concurrent_reads", "64", json!(64)),
        ("auto_snapshot", "off", json!(false)),
        ("phi_convict_threshold", "10", json!(10)),
        ("cluster_name", "007", json!("007")),
        ("cluster_name", "TRUE", json!("TRUE")),
        ("commitlog_sync", "BATCH", json!("batch")),
        ("read_request_timeout", "10s", json!("10s")),
        ("memtable_heap_space", "64MiB", json!("64MiB")),
        ("compaction_throughput", "24MiB/s", json!("24MiB/s")),
        ("memtable_heap_space", "", Value::Null),
        ("audit_logging_options.enabled", "true", json!(true)),
        ("data_file_directories", "[/a, /b]", json!(["/a", "/b"])),
        (
            "seed_provider.parameters",
            "{seeds: 127.0.0.1}",
            json!({"seeds": "127.0.0.1"}),
        ),
    ] {
        let checked = check(name, yaml).unwrap();
        assert_eq!((checked.value, checked.notes), (value, vec![]), "{name}");
    }
}

#[test]
fn a_trie_memtable_can_be_configured() {
    let yaml =
        "{trie: {class_name: TrieMemtable, parameters: {shards: 4}}, default: {inherits: trie}}";
    let checked = check("memtable.configurations", yaml).unwrap();
    assert_eq!(checked.value["trie"]["parameters"]["shards"], json!("4"));
    let whole = check("memtable", &format!("{{configurations: {yaml}}}")).unwrap();
    assert_eq!(whole.value["configurations"], checked.value);
}

#[test]
fn old_names_come_back_under_the_modern_one() {
    let checked = check("read_request_timeout_in_ms", "9000").unwrap();
    assert_eq!(checked.name, "read_request_timeout");
    assert_eq!(checked.value, json!("9000ms"));
    assert_eq!(
        checked.notes[0].to_string(),
        "read_request_timeout_in_ms is an old name; set as read_request_timeout: 9000ms"
    );
    let rate = check("stream_throughput_outbound_megabits_per_sec", "200").unwrap();
    assert_eq!(rate.value, json!("25000000B/s"));
    let nested = check(
        "server_encryption_options",
        "{enable_legacy_ssl_storage_port: true}",
    );
    let nested = nested.unwrap();
    assert_eq!(
        nested.value,
        json!({"legacy_ssl_storage_port_enabled": true})
    );
    assert_eq!(nested.notes.len(), 1);
    // A key that kept its name and gained a unit: no note for either form.
    for (yaml, value) in [("14400", "14400s"), ("4h", "4h")] {
        let kept = check("key_cache_save_period", yaml).unwrap();
        assert_eq!((kept.value, kept.notes), (json!(value), vec![]));
    }
    let off = check("sstable_preemptive_open_interval_in_mb", "-1").unwrap();
    assert_eq!(off.value, Value::Null);
}

#[test]
fn refusals_carry_their_cure() {
    insta::assert_snapshot!(
        [
            refusal("concurent_reads", "64"),
            refusal("qqq", "1"),
            refusal("concurrent_reads", "many"),
            refusal("commitlog_sync", "sometimes"),
            refusal("read_request_timeout", "10"),
            refusal("commitlog_segment_size", "512KiB"),
            refusal("compaction_throughput", "64"),
            refusal("concurrent_reads", "null"),
            refusal("read_request_timeout_in_ms", "10s"),
            refusal("audit_logging_options.enable", "true"),
            refusal("audit_logging_options", "{enabled: maybe}"),
            refusal("memtable.configurations.default", "x"),
            refusal("authenticator", "{class: A}"),
            refusal("server_encryption_options", "{enable_legacy_ssl_storage_port: true, legacy_ssl_storage_port_enabled: false}"),
        ]
        .join("\n"),
        @r#"
    cassandra.yaml has no key "concurent_reads" | did you mean concurrent_reads?
    cassandra.yaml has no key "qqq" | the release's keys are listed in its conf/cassandra.yaml
    concurrent_reads does not take many | it takes a whole number from -2147483648 to 2147483647; the default is 32
    commitlog_sync does not take sometimes | it takes one of periodic, batch, group
    read_request_timeout does not take 10 | it takes a duration such as 10s, in ms, s, m, h, d; the default is 5000ms
    commitlog_segment_size does not take 512KiB | it takes a size such as 64MiB, in MiB, GiB; the default is 32MiB
    compaction_throughput does not take 64 | it takes a rate such as 24MiB/s, in B/s, KiB/s, MiB/s; the default is 64MiB/s
    concurrent_reads does not take null | it takes a whole number from -2147483648 to 2147483647; the default is 32
    read_request_timeout_in_ms does not take 10s | it takes a bare value in its own unit; read_request_timeout takes a duration such as 10s, in ms, s, m, h, d; the default is 5000ms
    cassandra.yaml has no key "audit_logging_options.enable" | did you mean audit_logging_options.enabled?
    audit_logging_options.enabled does not take maybe | it takes true or false; the default is false
    "memtable.configurations.default" is inside memtable.configurations, which takes a map to a class name, or a map with class_name and parameters | set it whole: memtable.configurations={name: value}
    authenticator does not take {"class":"A"} | it takes a class name, or a map with class_name and parameters
    server_encryption_options.legacy_ssl_storage_port_enabled is set twice, once under an old name | give server_encryption_options.legacy_ssl_storage_port_enabled once
    "#
    );
}

#[test]
fn underscores_in_numbers_are_taken_as_the_loader_takes_them() {
    assert_eq!(
        check("concurrent_reads", "1_000").unwrap().value,
        json!(1000)
    );
}

#[test]
fn deprecated_keys_are_reported() {
    let checked = check("native_transport_port_ssl", "9142").unwrap();
    assert_eq!(
        checked.notes[0].to_string(),
        "native_transport_port_ssl is deprecated by the release"
    );
}

#[test]
fn assignments_are_parted_at_the_first_sign() {
    assert_eq!(split_assignment("a.b = c=d"), Ok(("a.b", "c=d")));
    assert_eq!(split_assignment("a="), Ok(("a", "")));
    assert!(split_assignment("a").is_err() && split_assignment("=a").is_err());
}

#[test]
fn the_default_of_every_key_is_taken_by_its_own_kind() {
    for key in keys().all() {
        let Some(default) = key.default.as_deref().filter(|d| !d.is_empty()) else {
            continue;
        };
        // Java spells the largest double its own way, and defaults may stand in quotes.
        let taken = match key.kind {
            Kind::String => keys().check_value(&key.name, &json!(default)),
            _ => check(&key.name, default),
        };
        assert!(taken.is_ok(), "{}: {default}: {taken:?}", key.name);
    }
}
