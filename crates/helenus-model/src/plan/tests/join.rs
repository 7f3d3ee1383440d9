//! Nodes that come to a planned cluster and go from it.
//! Refuses IO, as the room does.

use super::*;

fn newcomer(name: &str) -> Newcomer {
    Newcomer {
        name: name.into(),
        data_center: None,
        rack: None,
        address: Ipv4Addr::new(127, 9, 9, 77),
        available: Bytes::mib(24 * 1024),
    }
}

/// The keys in which two nodes' cassandra.yaml differ.
fn differing(a: &NodePlan, b: &NodePlan) -> Vec<String> {
    let map = |node: &NodePlan| match crate::yaml::parse(&node.yaml).unwrap() {
        Value::Object(map) => map,
        other => panic!("{other}"),
    };
    let (a, b) = (map(a), map(b));
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differ = keys.into_iter().filter(|key| a.get(*key) != b.get(*key));
    differ.cloned().collect()
}

#[test]
fn a_newcomer_is_as_the_others_but_for_names_places_and_tokens() {
    let mut r = request(3, PresetName::Tiny);
    r.spec.security = Security {
        auth: true,
        tls: true,
        client_auth: false,
    };
    let plan = plan(&r).unwrap();
    let grown = plan.with_newcomer(&newcomer("node4")).unwrap();
    let node = grown.nodes.last().unwrap();
    assert_eq!(
        (node.name.as_str(), node.rack.as_str(), node.tokens.len()),
        ("node4", "rack1", 1)
    );
    let own = [
        "client_encryption_options",
        "commitlog_directory",
        "data_file_directories",
        "cdc_raw_directory",
        "hints_directory",
        "initial_token",
        "listen_address",
        "rpc_address",
        "saved_caches_directory",
        "seed_provider",
        "server_encryption_options",
    ];
    let mut own: Vec<&str> = own.into();
    own.sort_unstable();
    assert_eq!(differing(&plan.nodes[0], node), own);
    for word in ["node1", "127.9.9.1\n", "127.9.9.1'"] {
        assert!(!node.yaml.contains(word), "{word}: {}", node.yaml);
    }
    assert!(node.yaml.contains("/state/clusters/c/tls/node4.p12"));
    assert!(
        node.jvm
            .contains(&"-Djava.rmi.server.hostname=127.9.9.77".to_owned())
    );
    // Those that stay keep what they are, but for their seeds.
    for (was, is) in plan.nodes.iter().zip(&grown.nodes) {
        assert_eq!((&was.name, &was.tokens), (&is.name, &is.tokens));
        let differ = differing(was, is);
        assert!(
            differ.iter().all(|key| key == "seed_provider"),
            "{differ:?}"
        );
    }
}

#[test]
fn a_node_that_joins_is_no_seed_bootstraps_and_skips_no_wait() {
    let plan = plan(&request(3, PresetName::Tiny)).unwrap();
    let grown = plan.with_newcomer(&newcomer("node4")).unwrap();
    let settled = grown.nodes.last().unwrap();
    let joining = settled.joining(&Joining::Bootstrap);
    let yaml = crate::yaml::parse(&joining.yaml).unwrap();
    assert_eq!(yaml["auto_bootstrap"], json!(true));
    let seeds = yaml["seed_provider"][0]["parameters"][0]["seeds"]
        .as_str()
        .unwrap();
    assert!(
        !seeds.contains("127.9.9.77") && seeds.contains("127.9.9.1"),
        "{seeds}"
    );
    let skips = |node: &NodePlan| {
        let flags = node.jvm.iter();
        let of = |flag: &&String| flag.contains("unsafe_join") || flag.contains("skip_wait");
        flags.filter(of).count()
    };
    assert_eq!((skips(&joining), skips(settled)), (0, 2));
    // Afterwards it starts as the others do.
    assert!(settled.yaml.contains("auto_bootstrap: false"));

    let dead = plan.nodes[1].clone();
    let how = Joining::Replace {
        node: Box::new(dead.clone()),
        host_id: None,
    };
    let replaced = plan.with_replacement(&dead, &newcomer("node4")).unwrap();
    let names: Vec<&str> = replaced.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["node1", "node3", "node4"]);
    let node = replaced.nodes.last().unwrap();
    assert_eq!(node.tokens, dead.tokens);
    let joining = node.joining(&how);
    assert!(
        joining
            .jvm
            .contains(&"-Dcassandra.replace_address_first_boot=127.9.9.2".to_owned())
    );
    assert!(!joining.yaml.contains("initial_token"));
    assert!(!replaced.nodes.iter().any(|n| n.yaml.contains("127.9.9.2,")));
}

#[test]
fn a_newcomer_goes_where_the_fewest_are_unless_somebody_says_otherwise() {
    let mut r = request(5, PresetName::Tiny);
    r.spec.topology = Topology {
        data_centers: vec![DataCenter::new("DC1", 3, 3), DataCenter::new("DC2", 2, 2)],
        links: vec![],
        wan: Default::default(),
    };
    let plan = plan(&r).unwrap();
    let place = |newcomer: &Newcomer| {
        let grown = plan.with_newcomer(newcomer)?;
        let node = grown.nodes.iter().find(|n| n.name == "node6").unwrap();
        Ok::<_, JoinError>(format!("{} {}", node.data_center, node.rack))
    };
    assert_eq!(place(&newcomer("node6")).unwrap(), "DC2 rack1");
    let mut said = newcomer("node6");
    said.data_center = Some("DC1".into());
    said.rack = Some("rack3".into());
    assert_eq!(place(&said).unwrap(), "DC1 rack3");
    said.rack = Some("a b".into());
    assert_eq!(place(&said), Err(JoinError::Rack("a b".into())));
    said.data_center = Some("DC3".into());
    let error = place(&said).unwrap_err();
    assert!(
        error.hint().starts_with("did you mean DC"),
        "{}",
        error.hint()
    );
    let mut poor = newcomer("node6");
    poor.available = Bytes::mib(1);
    assert!(matches!(place(&poor), Err(JoinError::Memory { .. })));
    // Its data centre's nodes stand together, whoever came last; no name is given twice.
    assert_eq!(plan.next_name(["node9"].into_iter()), "node10");
    assert_eq!(plan.without("node5").next_name(std::iter::empty()), "node5");
}

#[test]
fn a_newcomer_is_as_most_of_its_data_center_are() {
    let mut r = request(3, PresetName::Tiny);
    let own = NodeWords {
        set: vec![("concurrent_reads".into(), json!(9))],
        ..NodeWords::default()
    };
    r.spec.by_node = vec![own, NodeWords::default(), NodeWords::default()];
    let grown = plan(&r).unwrap().with_newcomer(&newcomer("node4")).unwrap();
    let reads =
        |k: usize| crate::yaml::parse(&grown.nodes[k].yaml).unwrap()["concurrent_reads"].clone();
    assert_eq!((reads(0), reads(3)), (json!(9), reads(1)));
}

#[test]
fn seeds_of_those_that_stay_are_those_of_a_smaller_cluster() {
    for nodes in 2..=6 {
        let whole = plan(&request(nodes, PresetName::Tiny)).unwrap();
        let fewer = plan(&request(nodes - 1, PresetName::Tiny)).unwrap();
        let left = whole.without(&format!("node{nodes}"));
        let seeds = |plan: &ClusterPlan| -> Vec<Value> {
            let yaml = |n: &NodePlan| crate::yaml::parse(&n.yaml).unwrap()["seed_provider"].clone();
            plan.nodes.iter().map(yaml).collect()
        };
        assert_eq!(seeds(&left), seeds(&fewer), "{nodes}");
    }
}
