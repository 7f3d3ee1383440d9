//! Plans as values: snapshots of what a node is started with, and the laws that hold for every plan.
//! Refuses IO, as the room does.

use super::*;
use crate::memory::DiskLimit;
use crate::topology::{DataCenter, Topology};
use serde_json::json;

mod join;

pub(super) fn request(nodes: u32, preset: PresetName) -> PlanRequest {
    PlanRequest {
        spec: ClusterSpec::new("c", Topology::single(nodes).unwrap(), preset),
        release: "5.0.9".into(),
        machine: Machine {
            cores: 2,
            memory: Bytes::mib(24 * 1024),
            arch: "x86_64".into(),
            kernel: "6.1".into(),
            processor: "test".into(),
        },
        addresses: (1..=nodes)
            .map(|k| Ipv4Addr::new(127, 9, 9, k as u8))
            .collect(),
        ports: STANDARD_PORTS,
        folder: "/state/clusters/c".into(),
        available: Bytes::mib(24 * 1024),
        network: None,
    }
}

#[test]
fn every_preset_makes_the_files_that_are_shown_here() {
    for preset in PresetName::ALL {
        let plan = plan(&request(1, preset)).unwrap();
        insta::assert_snapshot!(format!("yaml_{}", preset.word()), plan.nodes[0].yaml);
        insta::assert_snapshot!(
            format!("jvm_{}", preset.word()),
            plan.nodes[0].jvm.join("\n")
        );
    }
}

/// What a person may call a folder.
const ODD: &str = "/he\"le nus's %41#?=,${x}\\/c";

#[test]
fn an_odd_folder_is_one_place_in_urls_and_facts() {
    assert_eq!(
        file_url("/state/c-1/x_y.yaml"),
        "file:///state/c-1/x_y.yaml"
    );
    assert_eq!(
        file_url("/he\"le nus's %41#?é"),
        "file:///he%22le%20nus%27s%20%2541%23%3F%C3%A9"
    );
    let at = |folder: &str| {
        let mut r = request(2, PresetName::Tiny);
        r.folder = folder.to_owned();
        let plan = plan(&r).unwrap();
        let read = crate::yaml::parse(&plan.nodes[0].yaml).unwrap();
        assert_eq!(
            read["data_file_directories"][0],
            format!("{folder}/node1/data")
        );
        facts(&plan)
    };
    assert_eq!(at(ODD), at("/state/clusters/c"));
}

#[test]
fn the_heap_is_said_once() {
    let mut r = request(1, PresetName::Tiny);
    for flag in ["-Xmx1G", "-Xms64M", "-Xmn9m"] {
        r.spec.jvm = vec!["-Xlog:gc".into(), flag.into()];
        assert_eq!(plan(&r), Err(PlanError::HeapFlag(flag.into())));
    }
    r.spec.jvm = vec!["-Xlog:gc".into(), "-Xss256k".into()];
    assert!(plan(&r).is_ok());
}

#[test]
fn what_a_node_would_die_of_is_refused() {
    let mut r = request(1, PresetName::Tiny);
    r.spec.jvm = vec!["Xss1m".into()];
    let refused = plan(&r).unwrap_err();
    assert_eq!(
        refused.hint(),
        "write --jvm=-Xss1m, or --jvm=-Dname=value for a property"
    );
    r.spec.jvm = vec![];
    let mut with = |key: &str, value: &str| {
        let number = value.parse::<i64>().map(Value::from);
        r.spec.set = vec![(key.to_owned(), number.unwrap_or_else(|_| value.into()))];
        plan(&r).map_err(|error| (error.to_string(), error.hint()))
    };
    // The preset's segments have 4 MiB.
    insta::assert_debug_snapshot!(with("max_mutation_size", "8MiB").unwrap_err(), @r#"
    (
        "Cassandra does not start with this max_mutation_size: it must not be above half of commitlog_segment_size",
        "make the segments larger as well: --set commitlog_segment_size=32MiB",
    )
    "#);
    insta::assert_debug_snapshot!(with("concurrent_reads", "1").unwrap_err(), @r#"
    (
        "Cassandra 5.0.9 does not start with concurrent_reads: 1",
        "it takes 2 or more",
    )
    "#);
    assert!(with("max_mutation_size", "1MiB").is_ok());
}

/// A production's file is followed: of the preset only sizes stay, of an account only who is asked.
#[test]
fn beside_a_file_a_preset_is_sizes() {
    let mut r = secured(1);
    r.spec.like = true;
    r.spec.disk = Some(Bytes::mib(512));
    let node = plan(&r).unwrap().nodes.remove(0);
    let yaml = yaml::parse(&node.yaml).unwrap();
    let has = |key: &str| yaml.get(key).is_some();
    assert!(has("file_cache_size") && has("authenticator") && has("commitlog_sync"));
    for key in [
        "hinted_handoff_enabled",
        "auto_snapshot",
        "memtable",
        "memtable_allocation_type",
        "native_transport_max_threads",
        "concurrent_reads",
        "key_cache_size",
        "auth_read_consistency_level",
        "disk_failure_policy",
        "internode_compression",
        "trickle_fsync",
    ] {
        assert!(!has(key), "{key}");
    }
    assert!(!node.jvm.iter().any(|flag| flag.contains("gensalt")));
}

#[test]
fn a_collector_that_is_chosen_takes_the_place_of_the_preset_s() {
    let mut r = request(1, PresetName::Tiny);
    r.spec.jvm = ["-XX:+UseParallelGC", "-XX:+UseG1GC"]
        .map(String::from)
        .into();
    let flags = plan(&r).unwrap().nodes[0].jvm.clone();
    let chosen: Vec<&String> = flags.iter().filter(|f| f.ends_with("GC")).collect();
    assert_eq!(chosen, ["-XX:+UseG1GC"]);
    // What is switched off by hand stays as it was said.
    r.spec.jvm = ["-XX:-UseSerialGC"].map(String::from).into();
    let flags = plan(&r).unwrap().nodes[0].jvm.clone();
    assert!(flags.iter().any(|f| f == "-XX:-UseSerialGC"));
}

#[test]
fn a_kept_plan_has_no_secrets() {
    let mut r = request(1, PresetName::Tiny);
    r.spec.set = vec![(
        "client_encryption_options.keystore_password".into(),
        json!("hunter 2"),
    )];
    r.spec.jvm = vec!["-Djavax.net.ssl.keyStorePassword=hunter 2".into()];
    let plan = plan(&r).unwrap();
    let kept = plan.without_secrets();
    assert!(!format!("{kept:?}").contains("hunter"));
    assert_eq!(kept.nodes[0].tokens, plan.nodes[0].tokens);
    assert!(!kept.nodes[0].yaml.contains("token: ***"));
    assert!(!kept.nodes[0].yaml.contains("tokens: ***"));
}

#[test]
fn a_person_s_key_wins_over_the_preset_and_reserved_ones_are_refused() {
    let mut r = request(1, PresetName::Tiny);
    r.spec.set = vec![
        ("concurrent_reads".into(), json!(4)),
        (
            "memtable.configurations.default.class_name".into(),
            json!("SkipListMemtable"),
        ),
    ];
    let yaml = crate::yaml::parse(&plan(&r).unwrap().nodes[0].yaml).unwrap();
    assert_eq!(yaml["concurrent_reads"], json!(4));
    assert_eq!(
        yaml["memtable"]["configurations"]["default"]["class_name"],
        json!("SkipListMemtable")
    );
    r.spec.set = vec![("listen_address".into(), json!("127.0.0.1"))];
    assert_eq!(plan(&r), Err(PlanError::Reserved("listen_address".into())));
}

#[test]
fn heaps_that_cannot_be_are_refused_with_the_cure() {
    let mut r = request(1, PresetName::Tiny);
    r.spec.heap = Some(Bytes::mib(32));
    insta::assert_snapshot!(plan(&r).unwrap_err().hint(), @"use --heap 48M or more");
    r.spec.heap = Some(Bytes::mib(100));
    assert_eq!(plan(&r).unwrap().heap.new, Some(Bytes::mib(18)));
    r.spec.new_heap = Some(Bytes::mib(99));
    assert!(matches!(plan(&r), Err(PlanError::NewTooLarge { .. })));
    let mut r = request(200, PresetName::Dev);
    r.available = Bytes::mib(8 * 1024);
    assert!(matches!(plan(&r), Err(PlanError::Memory { .. })));
    r.spec.tokens = 0;
    assert_eq!(plan(&r), Err(PlanError::Tokens(0)));
}

#[test]
fn tokens_and_addresses_are_unique_and_every_node_is_its_own_seed() {
    let mut r = request(7, PresetName::Tiny);
    r.spec.tokens = 16;
    let plan = plan(&r).unwrap();
    let mut tokens: Vec<i64> = plan.nodes.iter().flat_map(|n| n.tokens.clone()).collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 7 * 16);
    for node in &plan.nodes {
        let yaml = crate::yaml::parse(&node.yaml).unwrap();
        let seeds = yaml["seed_provider"][0]["parameters"][0]["seeds"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            seeds.split(',').any(|s| s == node.address.to_string()),
            "{seeds}"
        );
    }
}

#[test]
fn the_manifest_is_folded_at_72_bytes() {
    let jars: Vec<String> = (0..20).map(|k| format!("lib/some-jar-{k}.jar")).collect();
    let flags = ["--add-opens=java.base/java.lang=ALL-UNNAMED".to_owned()];
    let text = launcher_manifest(
        "org.apache.cassandra.service.CassandraDaemon",
        &jars,
        &flags,
    );
    assert!(text.lines().all(|l| l.len() <= 72));
    assert!(text.contains("\r\n ") && text.ends_with("\r\n\r\n"));
    let unfolded = text.replace("\r\n ", "");
    assert!(unfolded.contains("lib/some-jar-19.jar"));
    assert!(
        unfolded.contains("Add-Opens: java.base/java.lang\r\n"),
        "{unfolded}"
    );
}

#[test]
fn a_node_logs_its_collections_after_the_console_was_silenced_and_where_the_jdk_can() {
    let plan = plan(&request(1, PresetName::Tiny)).unwrap();
    let files = |jdk_feature: u32, archive: Option<&str>, train: Option<Training>| LaunchFiles {
        launcher: "/cache/launcher.jar".into(),
        archive: archive.map(str::to_owned),
        train,
        jdk_feature,
        module_flags: vec![],
    };
    let place = |files: &LaunchFiles, flag: &str| {
        let argv = java_argv(&plan.nodes[0], files);
        argv.iter().position(|word| word.starts_with(flag))
    };
    let used = files(17, Some("/cache/a.jsa"), None);
    let gc = place(&used, "-Xlog:gc*,safepoint:file=logs/gc.log:timenanos");
    assert!(gc > place(&used, "-Xlog:disable") && gc.is_some());
    assert!(
        gc < place(&used, "-Xmx"),
        "a person's own flag must be able to win"
    );
    assert!(place(&files(11, None, None), "-Xlog:gc").is_some());
    assert_eq!(place(&files(8, None, None), "-Xlog"), None);
    let training = files(17, None, Some(Training::Archive("/cache/a.tmp".into())));
    assert_eq!(place(&training, "-Xlog"), None);
}

#[test]
fn a_plan_that_does_not_fit_is_refused_with_the_largest_that_would() {
    let mut r = request(15, PresetName::Tiny);
    r.available = Bytes::mib(3500);
    let refused = |r: &PlanRequest| {
        let error = plan(r).unwrap_err();
        format!("{error}\n{}", error.hint())
    };
    insta::assert_snapshot!(refused(&r), @"
    15 × 248 MiB (of which heap 64 MiB) need 3.6 GiB of memory, 3.4 GiB are free
    the largest that fits: 14 nodes, or --heap 48M
    ");
    let mut many = request(1, PresetName::Tiny);
    (many.spec.clusters, many.available) = (15, r.available);
    insta::assert_snapshot!(refused(&many), @"
    15 × 248 MiB (of which heap 64 MiB) need 3.6 GiB of memory, 3.4 GiB are free
    the largest that fits: --count 14, or --heap 48M
    ");
    let mut large = request(2, PresetName::Dev);
    (large.spec.heap, large.available) = (Some(Bytes::mib(9000)), Bytes::mib(4000));
    insta::assert_snapshot!(refused(&large), @"
    2 × 9.2 GiB (of which heap 8.8 GiB) need 18.4 GiB of memory, 3.9 GiB are free
    the largest that fits: --heap 1682M
    ");
    let mut nothing = request(1, PresetName::Tiny);
    nothing.available = Bytes::mib(100);
    insta::assert_snapshot!(refused(&nothing), @"
    1 × 248 MiB (of which heap 64 MiB) need 248 MiB of memory, 100 MiB are free
    nothing of this shape fits: free some memory; `helenus list` shows what the clusters use
    ");
}

#[test]
fn limits_are_the_bound_with_a_share_and_a_person_s_win() {
    let limit = |r: &PlanRequest| plan(r).unwrap().limits;
    let tiny = request(3, PresetName::Tiny);
    let by_itself = limit(&tiny).unwrap();
    let memory = plan(&tiny).unwrap().memory.unwrap();
    assert!(by_itself.memory.unwrap() > memory.bound);
    assert!(by_itself.memory.unwrap().0 * 3 <= tiny.available.0);
    assert_eq!(limit(&request(1, PresetName::Bench)), None);
    let mut by_hand = request(1, PresetName::Bench);
    by_hand.spec.cpus = Some(1.5);
    let planned = plan(&by_hand).unwrap();
    assert_eq!(
        planned.limits,
        Some(LimitPlan {
            memory: None,
            cpus: Some(1.5),
            disk: None,
            equal_shares: false
        })
    );
    let mut slow = request(1, PresetName::Bench);
    slow.spec.disk_speed = DiskLimit::of(Some(Bytes::mib(100)), None, Some(500));
    let disk = limit(&slow).and_then(|limits| limits.disk);
    let text = disk.map(|disk| disk.to_string());
    assert_eq!(
        text.as_deref(),
        Some("100 MiB/s read, 500 reads/s, 500 writes/s")
    );
    assert_eq!(DiskLimit::of(None, None, None), None);
    let jvm = &planned.nodes[0].jvm;
    assert!(jvm.contains(&"-XX:ActiveProcessorCount=2".to_owned()));
    assert!(jvm.contains(&"-Dcassandra.available_processors=2".to_owned()));
    let mut small = request(1, PresetName::Tiny);
    small.spec.memory_limit = Some(Bytes::mib(100));
    let error = plan(&small).unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.hint()), @"
    a limit of 100 MiB is below the planned memory of a node, 248 MiB
    use --memory 249M or more, or a smaller --heap
    ");
    for cpus in [0.0, 0.05, 2.5, f64::NAN, -1.0] {
        small.spec.cpus = Some(cpus);
        assert!(
            matches!(plan(&small), Err(PlanError::Cpus { .. })),
            "{cpus}"
        );
    }
}
fn secured(nodes: u32) -> PlanRequest {
    let mut secured = request(nodes, PresetName::Tiny);
    secured.spec.security = Security {
        auth: true,
        tls: true,
        client_auth: true,
    };
    secured
}

#[test]
fn a_secured_plan_differs_by_these_lines_and_has_no_password() {
    let open = plan(&request(2, PresetName::Tiny)).unwrap();
    let plan = plan(&secured(2)).unwrap();
    let new = |of: &str, than: &str| {
        let known: Vec<&str> = than.lines().collect();
        let new: Vec<&str> = of.lines().filter(|line| !known.contains(line)).collect();
        new.join("\n")
    };
    let (node, before) = (&plan.nodes[1], &open.nodes[1]);
    insta::assert_snapshot!(new(&node.yaml, &before.yaml), @r#"
    auth_read_consistency_level: LOCAL_ONE
    authenticator: PasswordAuthenticator
    authorizer: CassandraAuthorizer
    client_encryption_options:
      enabled: true
      keystore: /state/clusters/c/tls/node2.p12
      keystore_password: "(the text of tls/keystore.password)"
      optional: false
      require_client_auth: true
      store_type: PKCS12
      truststore: /state/clusters/c/tls/truststore.p12
      truststore_password: "(the text of tls/keystore.password)"
    credentials_validity: "0ms"
    permissions_cache_max_entries: 100
    role_manager: CassandraRoleManager
    roles_cache_max_entries: 100
    server_encryption_options:
      internode_encryption: all
      keystore: /state/clusters/c/tls/node2.p12
      keystore_password: "(the text of tls/keystore.password)"
      require_client_auth: true
      store_type: PKCS12
      truststore: /state/clusters/c/tls/truststore.p12
      truststore_password: "(the text of tls/keystore.password)"
    "#);
    insta::assert_snapshot!(new(&node.jvm.join("\n"), &before.jvm.join("\n")), @r"
    -Dcassandra.system_auth.default_rf=2
    -Dcassandra.auth_bcrypt_gensalt_log2_rounds=4
    ");
    assert_eq!(new(&before.yaml, &node.yaml), "");
    assert_eq!(without_security(&node.yaml), before.yaml);
    let kept = serde_json::to_value(plan.without_secrets()).unwrap();
    assert_eq!(
        kept["security"],
        json!({"auth": true, "tls": true, "client_auth": true})
    );
    let open = serde_json::to_value(&open).unwrap();
    assert_eq!(open.get("security"), None, "plans of before read the same");
}

#[test]
fn what_the_flags_decide_cannot_be_set_beside_them() {
    for (key, value) in [
        ("authenticator", json!("AllowAllAuthenticator")),
        ("client_encryption_options.enabled", json!(false)),
        ("server_encryption_options.keystore", json!("x")),
        ("client_encryption_options", json!({"enabled": false})),
    ] {
        let mut r = secured(1);
        r.spec.set = vec![(key.into(), value)];
        assert_eq!(plan(&r), Err(PlanError::Reserved(key.into())), "{key}");
        r.spec.security = Security::default();
        assert!(plan(&r).is_ok(), "{key}");
    }
    let mut r = secured(1);
    let free = "server_encryption_options.internode_encryption";
    r.spec.set = vec![(free.into(), json!("none"))];
    let yaml = &plan(&r).unwrap().nodes[0].yaml;
    assert!(yaml.contains("internode_encryption: none"), "{yaml}");
}

#[test]
fn security_is_among_the_facts_that_set_clusters_apart() {
    let facts_of = |r: &PlanRequest| facts(&plan(r).unwrap().without_secrets());
    let (open, closed) = (
        facts_of(&request(1, PresetName::Tiny)),
        facts_of(&secured(1)),
    );
    let new: Vec<String> = closed
        .iter()
        .filter(|fact| !open.contains(fact))
        .map(|(what, value)| format!("{what} {value}"))
        .collect();
    insta::assert_snapshot!(new.join("\n"), @r#"
    auth_read_consistency_level LOCAL_ONE
    authenticator PasswordAuthenticator
    authorizer CassandraAuthorizer
    client_encryption_options.enabled true
    client_encryption_options.keystore_password "***"
    client_encryption_options.optional false
    client_encryption_options.require_client_auth true
    client_encryption_options.store_type PKCS12
    client_encryption_options.truststore_password "***"
    credentials_validity "0ms"
    permissions_cache_max_entries 100
    role_manager CassandraRoleManager
    roles_cache_max_entries 100
    server_encryption_options.internode_encryption all
    server_encryption_options.keystore_password "***"
    server_encryption_options.require_client_auth true
    server_encryption_options.store_type PKCS12
    server_encryption_options.truststore_password "***"
    -Dcassandra.system_auth.default_rf 1
    -Dcassandra.auth_bcrypt_gensalt_log2_rounds 4
    "#);
}

#[test]
fn tokens_that_are_given_are_those_of_the_only_node() {
    let mut one = request(1, PresetName::Tiny);
    one.spec.tokens = 2;
    one.spec.initial_tokens = vec![-7, 5];
    let own = plan(&one).unwrap();
    assert_eq!(own.nodes[0].tokens, [-7, 5]);
    assert!(
        own.nodes[0].yaml.contains("initial_token: \"-7,5\"")
            || own.nodes[0].yaml.contains("initial_token: -7,5")
    );
    one.spec.tokens = 1;
    assert_ne!(plan(&one).unwrap().nodes[0].tokens, [-7, 5]);
}

/// Six nodes of two data centres; the second has the preset `own`.
fn two_presets(preset: PresetName, own: PresetName) -> PlanRequest {
    let mut r = request(6, preset);
    r.spec.topology.data_centers = vec![DataCenter::new("a", 4, 1), DataCenter::new("b", 2, 1)];
    let words = |preset| NodeWords {
        preset,
        ..NodeWords::default()
    };
    r.spec.by_node = [vec![words(None); 4], vec![words(Some(own)); 2]].concat();
    r
}

#[test]
fn a_node_s_own_preset_is_its_settings_heap_and_memory() {
    let mixed = plan(&two_presets(PresetName::Tiny, PresetName::Dev)).unwrap();
    let alone = |preset| plan(&request(6, preset)).unwrap();
    let (tiny, dev) = (alone(PresetName::Tiny), alone(PresetName::Dev));
    assert_eq!((mixed.heap, mixed.memory), (tiny.heap, tiny.memory));
    let (first, last) = (&mixed.nodes[0], &mixed.nodes[5]);
    assert_eq!(first.jvm, tiny.nodes[0].jvm);
    assert_eq!(last.jvm, dev.nodes[5].jvm);
    let memtables = |node: &NodePlan| {
        let yaml = yaml::parse(&node.yaml).unwrap();
        yaml["memtable_heap_space"].clone()
    };
    assert_eq!(memtables(last), memtables(&dev.nodes[5]));
    assert_ne!(memtables(last), memtables(first));
    assert_eq!((first.own, mixed.preset_of(last)), (None, PresetName::Dev));
    assert_eq!(
        (mixed.heap_of(first), mixed.heap_of(last)),
        (tiny.heap, dev.heap)
    );
    assert_eq!(mixed.memory_of(last), dev.memory);
    // Each is limited by its own plan.
    let limit = last.own.and_then(|own| own.limit).unwrap();
    assert!(limit > mixed.limits.and_then(|l| l.memory).unwrap());
    let presets: Vec<PresetName> = mixed.presets().into_iter().map(|(p, _)| p).collect();
    assert_eq!(presets, [PresetName::Tiny, PresetName::Dev]);
    let facts = facts(&mixed);
    assert!(facts.contains(&("preset of node6".into(), "dev".into())));
    // The cluster's own preset is nothing of a node's own.
    let same = plan(&two_presets(PresetName::Dev, PresetName::Dev)).unwrap();
    assert!(same.nodes.iter().all(|node| node.own.is_none()));
}

#[test]
fn a_measured_node_keeps_the_page_cache_among_limited_ones() {
    let plan = plan(&two_presets(PresetName::Tiny, PresetName::Bench)).unwrap();
    assert!(plan.limits.is_some_and(|limits| limits.memory.is_some()));
    assert!(plan.nodes[5].own.is_some_and(|own| own.limit.is_none()));
}

#[test]
fn nodes_that_differ_are_refused_by_the_sum_of_their_memory() {
    let mut r = two_presets(PresetName::Tiny, PresetName::Dev);
    r.available = Bytes::mib(2_000);
    let error = plan(&r).unwrap_err();
    insta::assert_snapshot!(error, @"6 nodes (4 × tiny 248 MiB, 2 × dev 799 MiB) need 2.5 GiB of memory, 2.0 GiB are free");
    assert!(matches!(error, PlanError::MixedMemory { need, .. } if need > r.available));
    r.spec.memory_limit = Some(Bytes::mib(400));
    r.available = Bytes::mib(20_000);
    assert!(matches!(plan(&r), Err(PlanError::Limit { .. })));
}

#[test]
fn a_disk_of_limited_size_holds_the_data_and_is_planned_as_memory() {
    let mut r = request(3, PresetName::Tiny);
    let without = plan(&r).unwrap();
    r.spec.disk = Some(Bytes::mib(256));
    let with = plan(&r).unwrap();
    let node = &with.nodes[0];
    assert_eq!(node.storage(), format!("{}/disk", node.folder));
    assert_eq!(without.nodes[0].storage(), without.nodes[0].folder);
    let yaml = yaml::parse(&node.yaml).unwrap();
    let below = |key: &str| yaml[key].as_str().unwrap().starts_with(&node.storage());
    let own = [
        "commitlog_directory",
        "hints_directory",
        "saved_caches_directory",
        "cdc_raw_directory",
    ];
    assert!(own.into_iter().all(below));
    assert_eq!(
        yaml["data_file_directories"],
        json!([format!("{}/data", node.storage())])
    );
    assert_eq!(yaml["disk_failure_policy"], json!("stop"));
    let mut own = r.clone();
    own.spec.set = vec![("disk_failure_policy".into(), json!("die"))];
    assert!(plan(&own).unwrap().nodes[0].yaml.contains("policy: die"));
    assert!(!without.nodes[0].yaml.contains("disk_failure_policy"));
    let total = |plan: &ClusterPlan| plan.memory.unwrap().total();
    assert_eq!(total(&with), total(&without) + Bytes::mib(256));
    assert!(node.own.is_none());
    assert!(facts(&with).contains(&("disk".into(), "256M".into())));
    // What does not fit is refused with the disk that would.
    r.available = Bytes::mib(1200);
    let error = plan(&r).unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.hint()), @"
    3 × 504 MiB (of which heap 64 MiB) need 1.5 GiB of memory, 1.2 GiB are free
    the largest that fits: 2 nodes, or --disk 151M
    ");
}

#[test]
fn a_node_s_own_disk_is_its_own_memory() {
    let mut r = request(2, PresetName::Tiny);
    let disk = Some(Bytes::mib(512));
    let words = NodeWords {
        disk,
        ..NodeWords::default()
    };
    r.spec.by_node = vec![NodeWords::default(), words];
    let mixed = plan(&r).unwrap();
    let (first, second) = (&mixed.nodes[0], &mixed.nodes[1]);
    assert_eq!((first.disk, second.disk), (None, disk));
    assert!(first.own.is_none());
    let of = |node: &NodePlan| mixed.memory_of(node).unwrap();
    assert_eq!(of(second), of(first).with_disk(disk));
    assert_eq!(mixed.preset_of(second), PresetName::Tiny);
    let names: Vec<_> = facts(&mixed).into_iter().map(|(what, _)| what).collect();
    assert!(names.contains(&"disk of node2".to_owned()), "{names:?}");
    assert!(!names.contains(&"preset of node2".to_owned()), "{names:?}");
    r.available = Bytes::mib(800);
    insta::assert_snapshot!(plan(&r).unwrap_err(), @"2 nodes (1 × tiny 248 MiB, 1 × tiny 760 MiB) need 1009 MiB of memory, 800 MiB are free");
}

#[test]
fn a_disk_on_which_a_fresh_node_could_not_begin_is_refused() {
    let refused = |preset, disk| {
        let mut r = request(1, preset);
        r.spec.disk = Some(Bytes::mib(disk));
        let error = plan(&r).unwrap_err();
        format!("{error}\n{}", error.hint())
    };
    insta::assert_snapshot!(refused(PresetName::Tiny, 93), @"
    a disk of 93 MiB is too small for node1: it needs 94 MiB for three commit log segments of 4 MiB, the system tables and the space that Cassandra keeps free
    use --disk 94M or more
    ");
    insta::assert_snapshot!(refused(PresetName::Bench, 64), @"
    a disk of 64 MiB is too small for node1: it needs 178 MiB for three commit log segments of 32 MiB, the system tables and the space that Cassandra keeps free
    use --disk 178M or more
    ");
    let mut r = request(1, PresetName::Tiny);
    r.spec.disk = Some(Bytes::mib(94));
    assert!(plan(&r).is_ok());
}

#[test]
fn a_commit_log_that_is_not_synced_by_time_has_no_time_of_the_preset() {
    let yaml = |release: &str, set: &[(&str, &str)]| {
        let mut request = request(1, PresetName::Tiny);
        request.release = release.into();
        let own = set.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v)));
        request.spec.set = own.collect();
        let yaml = plan(&request).unwrap().nodes[0].yaml.clone();
        let lines = yaml.lines().filter(|l| l.starts_with("commitlog_sync"));
        lines.map(str::to_owned).collect::<Vec<_>>().join("; ")
    };
    let batch = ("commitlog_sync", "batch");
    assert_eq!(yaml("5.0.9", &[batch]), "commitlog_sync: batch");
    assert_eq!(yaml("4.0.19", &[batch]), "commitlog_sync: batch");
    assert_eq!(
        yaml("5.0.9", &[("commitlog_sync", "periodic")]),
        "commitlog_sync: periodic; commitlog_sync_period: \"10s\""
    );
}
