//! Renderings as golden files, and what holds of every rendering whatever the topology.

use super::options::{Form, KubeError, Medusa, Options, Spread};
use super::{KubePlan, render};
use crate::access::Security;
use crate::machine::Machine;
use crate::plan::{ClusterPlan, ClusterSpec, NodeWords, PlanRequest, STANDARD_PORTS, plan};
use crate::preset::PresetName;
use crate::topology::{DataCenter, Topology};
use crate::units::Bytes;
use crate::yaml;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

pub(crate) fn request(data_centers: Vec<DataCenter>) -> PlanRequest {
    let topology = Topology {
        data_centers,
        links: Vec::new(),
        wan: crate::topology::wan::Wan::default(),
    };
    PlanRequest {
        release: "5.0.9".into(),
        machine: Machine {
            cores: 4,
            memory: Bytes::mib(8192),
            arch: "x86_64".into(),
            kernel: String::new(),
            processor: String::new(),
        },
        addresses: (0..topology.nodes())
            .map(|k| Ipv4Addr::from(0xC000_0201 + k as u32))
            .collect(),
        ports: STANDARD_PORTS,
        folder: "/var/lib/cassandra".into(),
        available: Bytes(1 << 50),
        network: None,
        spec: ClusterSpec::new("demo", topology, PresetName::Tiny),
    }
}

pub(crate) fn one(nodes: u32) -> PlanRequest {
    request(vec![DataCenter::new("datacenter1", nodes, 1)])
}

fn three_of_five() -> PlanRequest {
    request(
        (1..=3)
            .map(|k| DataCenter::new(&format!("DC{k}"), 5, 1))
            .collect(),
    )
}

pub(crate) fn planned(request: &PlanRequest) -> ClusterPlan {
    plan(request).expect("a plan")
}

fn rendered(request: &PlanRequest, form: Form, change: &dyn Fn(&mut Options)) -> KubePlan {
    let mut options = Options::new(form, &request.release);
    change(&mut options);
    render(&planned(request), &options).expect("a rendering")
}

/// The documents of all files, each with the file's name.
fn documents(plan: &KubePlan) -> Vec<(String, Value)> {
    let files = plan.files.iter();
    let of = |file: &super::ManifestFile| {
        let texts = file
            .text
            .split("\n---\n")
            .map(str::to_owned)
            .collect::<Vec<_>>();
        let path = file.path.clone();
        texts
            .into_iter()
            .map(move |text| (path.clone(), yaml::parse(&text).expect("yaml")))
    };
    files.flat_map(of).collect()
}

/// The values at a pointer of all documents of a kind.
fn all_of<'a>(documents: &'a [(String, Value)], kind: &str, at: &str) -> Vec<&'a Value> {
    let of_kind = documents.iter().filter(|(_, d)| d["kind"] == kind);
    of_kind.filter_map(|(_, d)| d.pointer(at)).collect()
}

fn secured(mut request: PlanRequest) -> PlanRequest {
    request.spec.security = Security {
        auth: true,
        tls: true,
        client_auth: false,
    };
    request
}

pub(crate) fn heaps_by_data_center() -> PlanRequest {
    let mut request = request(vec![
        DataCenter::new("DC1", 2, 1),
        DataCenter::new("DC2", 2, 1),
    ]);
    let own = |heap| NodeWords {
        heap,
        ..NodeWords::default()
    };
    let more = own(Some(Bytes::mib(128)));
    request.spec.by_node = vec![own(None), own(None), more.clone(), more];
    request
}

fn stack(options: &mut Options) {
    options.reaper = true;
    options.telemetry = true;
    options.superuser_secret = Some("demo-superuser".into());
    options.medusa = Some(Medusa {
        bucket: "backups".into(),
        provider: "s3".into(),
        region: Some("us-east-1".into()),
        host: None,
        secret: "medusa-bucket-key".into(),
    });
}

/// One golden file a form and shape.
macro_rules! golden {
    ($name:ident, $request:expr, $form:expr, $change:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(
                stringify!($name),
                rendered(&$request, $form, &$change).stream()
            );
        }
    };
}

golden!(plain_one, one(1), Form::Plain, |_: &mut Options| {});
golden!(plain_three, one(3), Form::Plain, |o: &mut Options| o
    .spread =
    Spread::Preferred);
golden!(
    plain_three_of_five,
    three_of_five(),
    Form::Plain,
    |o: &mut Options| {
        o.worker_label = Some("dc".into());
    }
);
golden!(
    plain_racks,
    request(vec![DataCenter {
        coordinators: 1,
        ..DataCenter::new("DC1", 4, 3)
    }]),
    Form::Plain,
    |o: &mut Options| o.storage = None
);
golden!(
    plain_secured,
    secured(one(1)),
    Form::Plain,
    |o: &mut Options| {
        o.namespace = Some("databases".into());
        o.id = Some("5f0e".into());
    }
);
golden!(
    plain_heaps,
    heaps_by_data_center(),
    Form::Plain,
    |_: &mut Options| {}
);
golden!(k8ssandra_one, one(1), Form::K8ssandra, |_: &mut Options| {});
golden!(
    k8ssandra_three,
    one(3),
    Form::K8ssandra,
    |o: &mut Options| o.spread = Spread::Preferred
);
golden!(
    k8ssandra_three_of_five,
    three_of_five(),
    Form::K8ssandra,
    |o: &mut Options| {
        o.worker_label = Some("dc".into());
        o.contexts = [("DC2".to_owned(), "west".to_owned())].into();
    }
);
golden!(
    k8ssandra_racks,
    request(vec![DataCenter::new("DC1", 4, 3)]),
    Form::K8ssandra,
    |_: &mut Options| {}
);
golden!(
    k8ssandra_secured,
    secured(one(1)),
    Form::K8ssandra,
    |_: &mut Options| {}
);
golden!(k8ssandra_stack, one(3), Form::K8ssandra, stack);
golden!(
    k8ssandra_heaps,
    heaps_by_data_center(),
    Form::K8ssandra,
    |_: &mut Options| {}
);
golden!(
    cass_operator_one,
    one(1),
    Form::CassOperator,
    |_: &mut Options| {}
);
golden!(
    cass_operator_three,
    request(vec![
        DataCenter::new("DC1", 2, 1),
        DataCenter::new("DC2", 1, 1)
    ]),
    Form::CassOperator,
    stack
);

/// The chart's own releases, with a gateway.
fn of_chart() -> PlanRequest {
    let mut request = request(vec![DataCenter {
        coordinators: 1,
        ..DataCenter::new("dc1", 4, 1)
    }]);
    request.release = "4.0.20".into();
    request.spec.preset = PresetName::Dev;
    request
}

golden!(helm_values, of_chart(), Form::HelmValues, stack);
golden!(
    helm_values_blank,
    of_chart(),
    Form::HelmValues,
    |o: &mut Options| o.heap_said = false
);

#[test]
fn that_the_cluster_has_formed_restarts_no_pod() {
    let of = |formed: bool| {
        let plan = rendered(&one(1), Form::Plain, &|options| options.formed = formed);
        let documents = documents(&plan);
        let set = all_of(&documents, "StatefulSet", "")[0].clone();
        let formed = all_of(&documents, "ConfigMap", "/data/formed").len();
        (set, formed)
    };
    let ((before, none), (after, one)) = (of(false), of(true));
    assert_eq!((none, one), (0, 1));
    assert_eq!(before, after);
}

#[test]
fn a_certificate_is_for_the_pods_and_clients_of_its_namespace_and_for_the_cluster() {
    let several = secured(request(vec![
        DataCenter::new("DC1", 2, 1),
        DataCenter::new("DC2", 1, 1),
    ]));
    let plan = rendered(&several, Form::Plain, &|_| {});
    let [first, second] = &plan.secrets[..] else {
        panic!("{:?}", plan.secrets);
    };
    let mounted = all_of(
        &documents(&plan),
        "StatefulSet",
        "/spec/template/spec/volumes",
    )
    .iter()
    .filter_map(|volumes| volumes.as_array()?.iter().find(|v| v["name"] == "tls"))
    .map(|volume| volume["secret"]["secretName"].clone())
    .collect::<Vec<_>>();
    assert_eq!(mounted, [first.name.as_str(), second.name.as_str()]);
    assert_eq!(
        first.dns[0], second.dns[0],
        "one name for all, whatever is dialled"
    );
    let (space, own) = (&first.namespace, &first.dns);
    for pod in all_of(&documents(&plan), "StatefulSet", "/spec/serviceName") {
        let service = pod.as_str().expect("a name");
        let names = [&first.dns, &second.dns];
        let wild = |dns: &&Vec<String>| dns.iter().any(|n| n.starts_with(&format!("*.{service}.")));
        assert_eq!(names.iter().filter(|dns| wild(dns)).count(), 1, "{service}");
    }
    let clients = &plan.sets[0].clients;
    assert!(own.contains(&format!("{clients}.{space}.svc")), "{own:?}");
    assert!(
        own.contains(&format!("{clients}.{space}.svc.cluster.local")),
        "{own:?}"
    );
    // In one namespace pods share the Secret of that name.
    let together = rendered(&several, Form::Plain, &|o| o.namespace = Some("lab".into()));
    assert_eq!(together.secrets.len(), 1);
    let open = rendered(&one(3), Form::Plain, &|_| {});
    assert!(open.secrets.is_empty() && !open.stream().contains("kind: Secret"));
    let (head, more) = (
        together.stream(),
        together.stream_with(vec!["a: 1\n".into()]),
    );
    assert!(
        more.len() > head.len() && more.starts_with("a: 1\n---\n"),
        "no namespace of ours"
    );
}

#[test]
fn kustomize_lists_the_plain_files() {
    let plain = rendered(&one(1), Form::Plain, &|_| {});
    let mut whole = rendered(&one(1), Form::Kustomize, &|_| {});
    let last = whole.files.pop().expect("a file");
    assert_eq!(whole.files, plain.files);
    insta::assert_snapshot!(last.text);
}

#[test]
fn what_a_form_has_no_words_for_is_refused_with_a_cure() {
    let refused = |request: &PlanRequest, form: Form| {
        let options = Options::new(form, &request.release);
        let error = render(&planned(request), &options).expect_err("refused");
        format!("{error} ({})", error.hint())
    };
    let with_gateway = request(vec![DataCenter {
        coordinators: 1,
        ..DataCenter::new("DC1", 2, 1)
    }]);
    insta::assert_snapshot!(refused(&with_gateway, Form::K8ssandra));
    insta::assert_snapshot!(refused(&with_gateway, Form::CassOperator));
    insta::assert_snapshot!(refused(&one(1), Form::HelmValues));
    insta::assert_snapshot!(refused(&three_of_five(), Form::HelmValues));
    let mut own = one(2);
    own.spec.by_node = vec![
        NodeWords::default(),
        NodeWords {
            preset: Some(PresetName::Dev),
            ..NodeWords::default()
        },
    ];
    insta::assert_snapshot!(refused(&own, Form::K8ssandra));
    let twins = request(vec![
        DataCenter::new("DC_1", 1, 1),
        DataCenter::new("DC-1", 1, 1),
    ]);
    assert_eq!(
        render(&planned(&twins), &Options::new(Form::Plain, "5.0.9")),
        Err(KubeError::SameName("demo-dc-1".into()))
    );
}

#[test]
fn nodes_of_a_rack_with_settings_of_their_own_are_a_set_of_their_own() {
    let mut request = one(3);
    request.spec.by_node = vec![NodeWords::default(); 3];
    request.spec.by_node[1].set = vec![("concurrent_reads".into(), 4.into())];
    let documents = documents(&rendered(&request, Form::Plain, &|_| {}));
    let names = all_of(&documents, "StatefulSet", "/metadata/name");
    assert_eq!(
        names,
        ["demo-datacenter1-rack1", "demo-datacenter1-rack1-2"]
    );
    let replicas = all_of(&documents, "StatefulSet", "/spec/replicas");
    assert_eq!(replicas, [2, 1]);
}

/// What holds of every plain rendering.
fn holds(plan: &KubePlan, nodes: usize) -> Result<(), TestCaseError> {
    let documents = documents(plan);
    let mut seen = BTreeSet::new();
    let mut replicas = 0;
    for (_, document) in &documents {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let dns = |name: &str| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            name.len() <= 63
                && name.starts_with(|c: char| c.is_ascii_lowercase())
                && !name.ends_with('-')
                && name.chars().all(plain)
        };
        prop_assert!(dns(name), "{}", name);
        let key = format!(
            "{}/{}/{name}",
            document["kind"], document["metadata"]["namespace"]
        );
        prop_assert!(seen.insert(key.clone()), "twice: {}", key);
        if document["kind"] != "StatefulSet" {
            continue;
        }
        let spec = &document["spec"];
        replicas += spec["replicas"].as_u64().unwrap_or_default();
        let labels = &spec["template"]["metadata"]["labels"];
        let selector = spec["selector"]["matchLabels"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        prop_assert!(
            selector
                .iter()
                .all(|(key, value)| labels.get(key) == Some(value))
        );
        // Immutable: only what never changes with a setting may choose the pods.
        let keys: Vec<&String> = selector.keys().collect();
        prop_assert_eq!(keys, ["app.kubernetes.io/instance", "helenus.io/set"]);
        for value in labels
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(_, v)| v.as_str())
        {
            prop_assert!(value.len() <= 63, "{}", value);
        }
        let resources = &spec["template"]["spec"]["containers"][0]["resources"];
        let bytes = |at: &str| {
            let text = resources
                .pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_default();
            let (number, unit) = text.split_at(text.len().saturating_sub(2));
            let number: u64 = number.parse().unwrap_or_default();
            if unit == "Gi" { number * 1024 } else { number }
        };
        prop_assert!(bytes("/requests/memory") > 64);
        prop_assert!(bytes("/requests/memory") <= bytes("/limits/memory"));
        prop_assert!(
            name.len() <= 46,
            "room for -N and for revision labels: {}",
            name
        );
    }
    prop_assert_eq!(replicas, nodes as u64);
    // Each seed that a pod asks for is a service whose selector finds the first pod of a set with data.
    let of_pods = all_of(&documents, "ConfigMap", "/data/pod.json");
    for text in of_pods {
        let pod: Value = serde_json::from_str(text.as_str().unwrap_or_default()).expect("json");
        for seed in pod["seeds"].as_array().into_iter().flatten() {
            let parts: Vec<&str> = seed.as_str().unwrap_or_default().split('.').collect();
            let service = documents.iter().find(|(_, d)| {
                d["kind"] == "Service"
                    && d["metadata"]["name"] == parts[0]
                    && d["metadata"]["namespace"] == parts[1]
            });
            let (_, service) = service.expect("a seed service");
            let selector = service["spec"]["selector"]
                .as_object()
                .cloned()
                .unwrap_or_default();
            prop_assert_eq!(&selector["apps.kubernetes.io/pod-index"], "0");
            let found = documents.iter().any(|(_, d)| {
                let labels = &d["spec"]["template"]["metadata"]["labels"];
                let others = selector
                    .iter()
                    .filter(|(key, _)| *key != "apps.kubernetes.io/pod-index");
                d["metadata"]["namespace"] == parts[1]
                    && others
                        .clone()
                        .all(|(key, value)| labels.get(key) == Some(value))
            });
            prop_assert!(found, "nobody is behind {}", seed);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_topology_makes_resources_that_fit_together(
        shapes in proptest::collection::vec((1_u32..6, 1_u32..4, 0_u32..2), 1..4),
        name in "[a-zA-Z][a-zA-Z0-9_-]{0,39}",
        one_namespace in any::<bool>(),
        dev in any::<bool>(),
    ) {
        let data_center = |(k, (nodes, racks, coordinators)): (usize, &(u32, u32, u32))| DataCenter {
            coordinators: *coordinators,
            ..DataCenter::new(&format!("DC{}", k + 1), nodes + coordinators, *racks.min(nodes))
        };
        let mut request = request(shapes.iter().enumerate().map(data_center).collect());
        request.spec.name = name;
        request.spec.preset = if dev { PresetName::Dev } else { PresetName::Tiny };
        let nodes = request.spec.topology.nodes();
        let plan = rendered(&request, Form::Plain, &|options| {
            options.namespace = one_namespace.then(|| "all".to_owned());
        });
        let again = rendered(&request, Form::Plain, &|options| {
            options.namespace = one_namespace.then(|| "all".to_owned());
        });
        prop_assert_eq!(&plan, &again);
        holds(&plan, nodes)?;
    }
}
