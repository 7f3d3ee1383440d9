//! Renderings for hosts as golden files, and what holds of every rendering whatever the topology.

use super::machines::{self, Host, HostsTextError};
use super::options::{Form, HostsError, Network, Options, Provider};
use super::{HostsPlan, render};
use crate::access::Security;
use crate::kube::tests::{heaps_by_data_center, one, planned, request};
use crate::plan::PlanRequest;
use crate::preset::PresetName;
use crate::topology::DataCenter;
use crate::units::Bytes;
use crate::yaml;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

/// What differs between clusters: the roles are the same for all.
fn own(plan: &HostsPlan) -> String {
    let generated = |path: &str| {
        let first = path.split('/').next().unwrap_or_default();
        matches!(
            first,
            "inventory.yml"
                | "group_vars"
                | "host_vars"
                | "main.tf"
                | "hosts.tf"
                | "variables.tf"
                | "terraform.tfvars.example"
        ) || path.contains("-node1/")
    };
    let files = plan.files.iter().filter(|file| generated(&file.path));
    let text = |file: &crate::kube::ManifestFile| format!("=== {}\n{}", file.path, file.text);
    files.map(text).collect::<Vec<_>>().join("\n")
}

fn parse(hosts: &str) -> Result<Vec<Host>, HostsTextError> {
    machines::parse(hosts, "demo", &|_| None)
}

fn rendered(request: &PlanRequest, form: Form, hosts: &str) -> HostsPlan {
    let mut options = Options::new(form, &request.release);
    options.hosts = parse(hosts).expect("hosts");
    render(&planned(request), &options).expect("a rendering")
}

fn two_racks() -> PlanRequest {
    request(vec![
        DataCenter::new("DC1", 4, 2),
        DataCenter::new("DC2", 2, 2),
    ])
}

fn coordinator() -> PlanRequest {
    let mut center = DataCenter::new("datacenter1", 4, 1);
    center.coordinators = 1;
    request(vec![center])
}

fn limited() -> PlanRequest {
    let mut request = one(2);
    request.spec.cpus = Some(1.5);
    request.spec.preset = PresetName::Bench;
    request
}

fn older() -> PlanRequest {
    let mut request = one(1);
    request.release = "4.0.19".into();
    request
}

fn guarded() -> PlanRequest {
    let mut request = one(1);
    request.spec.security = Security {
        auth: true,
        tls: true,
        client_auth: true,
    };
    request
}

#[test]
fn ansible_of_nine_topologies() {
    let cases: [(&str, PlanRequest, &str); 9] = [
        ("one", one(1), "10.0.0.11"),
        ("three", one(3), "10.0.0.11-13"),
        ("two_on_a_host", one(3), "big=10.0.0.11+10.0.0.12,10.0.0.13"),
        ("racks", two_racks(), "10.0.0.11-14,10.0.1.11-12"),
        ("coordinator", coordinator(), "10.0.0.11-14"),
        ("heaps", heaps_by_data_center(), "10.0.0.11-14"),
        ("limited", limited(), "10.0.0.11-12"),
        ("older", older(), "10.0.0.11"),
        ("guarded", guarded(), "10.0.0.11"),
    ];
    for (name, request, hosts) in cases {
        insta::assert_snapshot!(
            format!("ansible_{name}"),
            own(&rendered(&request, Form::Ansible, hosts))
        );
    }
}

#[test]
fn containers_of_both_tools() {
    let rendered = |request: &PlanRequest, change: &dyn Fn(&mut Options)| {
        let mut options = Options::new(Form::Swarm, &request.release);
        change(&mut options);
        render(&planned(request), &options)
            .expect("a rendering")
            .stream()
    };
    let host = |options: &mut Options| {
        options.network = Network::Host;
        options.hosts = parse("10.0.0.11-13").expect("hosts");
    };
    insta::assert_snapshot!("swarm_three", rendered(&one(3), &|_| {}));
    insta::assert_snapshot!("swarm_racks", rendered(&two_racks(), &|_| {}));
    insta::assert_snapshot!("swarm_on_hosts", rendered(&one(3), &host));
    insta::assert_snapshot!("swarm_guarded", rendered(&guarded(), &|_| {}));
    insta::assert_snapshot!(
        "compose_racks",
        rendered(&two_racks(), &|options| options.form = Form::Compose)
    );
    insta::assert_snapshot!(
        "compose_coordinator",
        rendered(&coordinator(), &|options| options.form = Form::Compose)
    );
    let guarded = rendered(&guarded(), &|options| options.form = Form::Compose);
    assert!(guarded.contains("./tls:/etc/cassandra-tls:ro"), "{guarded}");
}

#[test]
fn tofu_of_both_providers() {
    for provider in Provider::ALL {
        let mut options = Options::new(Form::Tofu, "5.0.9");
        options.provider = provider;
        options.hosts = parse("10.0.0.11-13").expect("hosts");
        let plan = render(&planned(&one(3)), &options).expect("a rendering");
        insta::assert_snapshot!(format!("tofu_{}", provider.word()), own(&plan));
    }
}

#[test]
fn what_a_form_has_no_words_for_is_refused_with_a_cure() {
    let refused = |request: &PlanRequest, hosts: &str| {
        let mut options = Options::new(Form::Ansible, &request.release);
        options.hosts = match hosts {
            "" => Vec::new(),
            hosts => parse(hosts).expect("hosts"),
        };
        let error: HostsError = render(&planned(request), &options).expect_err("refused");
        format!("{error} ({})", error.hint())
    };
    insta::assert_snapshot!(refused(&one(3), ""), @"
    ansible needs the hosts of the cluster (add --hosts with one address for each of the 3 nodes, such as --hosts 10.0.0.11-13)
    ");
    insta::assert_snapshot!(refused(&one(3), "10.0.0.11-12"), @"
    the cluster has 3 nodes; addresses in the list of hosts: 2 (give each node an address: a host that carries two has two, as big=10.0.0.11+10.0.0.12)
    ");
    insta::assert_snapshot!(refused(&one(1), "10.0.0.11-12"), @"
    the cluster has 1 nodes; addresses in the list of hosts: 2 (name 1 of them, or add nodes to the topology)
    ");
    let mut secret = one(1);
    secret.spec.jvm = vec!["-Djavax.net.ssl.trustStorePassword=hunter2".to_owned()];
    insta::assert_snapshot!(refused(&secret, "10.0.0.11"), @"
    ansible cannot have a password among its settings: its files are read by many (leave that --set or --jvm out, and bring it to the hosts from a vault of yours)
    ");
}

#[test]
fn nodes_that_were_brought_up_keep_their_places() {
    let of = |nodes, hosts: &str| {
        let mut options = Options::new(Form::Ansible, "5.0.9");
        options.hosts = parse(hosts).expect("hosts");
        (planned(&one(nodes)), options)
    };
    let (old, old_options) = of(3, "10.0.0.11-13");
    let asked = |nodes, hosts: &str| {
        let (new, options) = of(nodes, hosts);
        super::same_nodes((&old, &old_options), (&new, &options))
    };
    assert_eq!(
        asked(3, "a=10.0.0.11,10.0.0.12-13"),
        Ok(()),
        "another name is the same host"
    );
    for (nodes, hosts, what) in [
        (2, "10.0.0.11-12", "another place or other tokens"),
        (3, "10.0.0.11-12,10.0.0.14", "10.0.0.13 carries"),
        (4, "10.0.0.11-14", "another place or other tokens"),
        (
            3,
            "10.0.0.12,10.0.0.11,10.0.0.13",
            "another place or other tokens",
        ),
    ] {
        let error = asked(nodes, hosts).expect_err("refused");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn the_stock_superuser_is_named() {
    let caution = &rendered(&guarded(), Form::Ansible, "10.0.0.11").cautions[0];
    assert!(caution.contains("cassandra/cassandra"), "{caution}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever the cluster: one text for one request, YAML that can be read, each node on a host of its own address, seeds
    /// in each data centre.
    #[test]
    fn every_rendering_holds(
        centers in proptest::collection::vec((1_u32..5, 1_u32..3), 1..4),
        heap in proptest::option::of(64_u64..512),
    ) {
        let centers: Vec<DataCenter> = centers
            .iter()
            .zip(1..)
            .map(|((nodes, racks), k)| DataCenter::new(&format!("DC{k}"), *nodes, (*racks).min(*nodes)))
            .collect();
        let mut request = request(centers.clone());
        request.spec.heap = heap.map(Bytes::mib);
        let nodes = request.spec.topology.nodes();
        let hosts = format!("10.0.0.1-{nodes}");
        let plan = rendered(&request, Form::Ansible, &hosts);
        prop_assert_eq!(&plan, &rendered(&request, Form::Ansible, &hosts));
        let addresses: BTreeSet<_> = plan.nodes.iter().map(|node| node.address).collect();
        prop_assert_eq!(addresses.len(), nodes);
        let paths: BTreeSet<_> = plan.files.iter().map(|file| &file.path).collect();
        prop_assert_eq!(paths.len(), plan.files.len());
        let mut seeds = BTreeSet::new();
        for file in &plan.files {
            prop_assert!(!file.path.starts_with('/') && !file.path.contains(".."), "{}", file.path);
            if file.path.starts_with("host_vars/") {
                let read = yaml::parse(file.text.trim_start_matches("---\n")).expect("yaml");
                for one in read["cassandra_instances"].as_array().expect("instances") {
                    if one["seed"] == true {
                        seeds.insert(one["data_center"].as_str().unwrap_or_default().to_owned());
                    }
                }
            }
            if file.path.ends_with("cassandra.yaml") {
                let read = yaml::parse(&file.text).expect("yaml");
                let listens = read["listen_address"].as_str().unwrap_or_default();
                prop_assert!(plan.nodes.iter().any(|node| node.address.is_some_and(|a| a.to_string() == listens)));
                prop_assert!(matches!(&read["seed_provider"], Value::Array(_)));
            }
        }
        prop_assert_eq!(seeds.len(), centers.len());
    }
}
