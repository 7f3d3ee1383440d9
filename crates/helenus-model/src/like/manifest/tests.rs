//! What manifests of each kind become, and the line of what is wrong in one.
//! Refuses to start anything.

use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Manifest {
    manifest(text).expect("a manifest").expect("objects")
}

fn refused(text: &str) -> String {
    manifest(text).expect_err("refused").to_string()
}

/// Class, value here and reason of a field.
fn fate<'a>(all: &'a [Difference], key: &str) -> (&'static str, Option<&'a str>, &'a str) {
    let of_key: Vec<&Difference> = all.iter().filter(|d| d.key == key).collect();
    let [only] = of_key[..] else {
        let keys: Vec<&str> = all.iter().map(|d| d.key.as_str()).collect();
        panic!("{key}: {of_key:?} among {keys:?}")
    };
    (only.class.as_str(), only.now.as_deref(), only.why.as_str())
}

/// Data centres with their racks and coordinators.
fn shape(manifest: &Manifest) -> Vec<String> {
    let of = manifest.topology.data_centers.iter();
    of.map(|dc| format!("{} {} +{}", dc.name, dc.racks.join(" "), dc.coordinators))
        .collect()
}

fn follow(manifest: &Manifest, release: &str) -> Followed {
    let release = Release::facts_for(release).expect("a release");
    let beside = Beside {
        nodes: manifest.topology.smallest_data_center(),
        ..Beside::default()
    };
    let followed = manifest.follow(release, PresetName::Tiny, beside);
    followed.expect("followed")
}

const CLUSTER: &str = "apiVersion: k8ssandra.io/v1alpha1
kind: K8ssandraCluster
metadata: {name: prod, namespace: db}
spec:
  reaper: {heapSize: 128Mi}
  cassandra:
    serverVersion: 4.1.5
    softPodAntiAffinity: true
    resources: {requests: {cpu: 100m}, limits: {memory: 900Mi}}
    storageConfig: {cassandraDataVolumeClaimSpec: {storageClassName: fast}}
    clientEncryptionStores: {keystoreSecretRef: {name: keys}}
    config:
      cassandraYaml: {concurrent_reads: 64, hinted_handoff_enabled: false, audit_logging_options: {enabled: true}}
      jvmOptions:
        heapSize: 8Gi
        gc: G1GC
        additionalOptions: ['-Dcassandra.config=file:/x', -XX:+UseNUMA, '-Dapp.password=x', -XX:+UseCompressedClassPointers]
        gc_g1_max_gc_pause_ms: 300
    racks: [{name: r1, zone: a}, {name: r2}]
    telemetrie: {}
    datacenters:
      - metadata: {name: dc1}
        size: 3
      - metadata: {name: dc2}
        datacenterName: West.2
        k8sContext: west
        size: 1
        racks: [{name: z}]
        stargate: {size: 2}
        config:
          cassandraYaml: {concurrent_reads: 16, num_tokens: 8, audit_logging_options: {block: false}}
          jvmOptions: {gc_g1_max_gc_pause_ms: 500}
";

#[test]
fn a_k8ssandra_cluster() {
    let found = read(CLUSTER);
    assert_eq!(shape(&found), ["dc1 r1 r2 r1 +0", "West-2 z z z +2"]);
    assert_eq!(found.release.as_deref(), Some("4.1.5"));
    assert_eq!(found.heap, Some(Bytes::mib(8192)));
    assert_eq!((found.auth, found.tls, found.tokens), (true, true, 16));
    assert_eq!(
        found.jvm,
        ["-XX:+UseG1GC", "-XX:+UseNUMA", "-Dapp.password=x"]
    );
    let own = found
        .topology
        .data_centers
        .iter()
        .map(|dc| dc.words.jvm.join(" "));
    assert_eq!(
        own.collect::<Vec<_>>(),
        ["-XX:MaxGCPauseMillis=300", "-XX:MaxGCPauseMillis=500"]
    );
    assert_eq!(
        found.cassandra_yaml,
        "hinted_handoff_enabled: false\nnum_tokens: 8\n"
    );
    assert_eq!(
        found.own_yaml,
        [
            "audit_logging_options:\n  enabled: true\nconcurrent_reads: 64\n",
            "audit_logging_options:\n  block: false\n  enabled: true\nconcurrent_reads: 16\n",
        ]
    );
    assert_eq!(found.notes.len(), 1);
    let of = |key: &str| fate(&found.differences, key);
    assert_eq!(
        of("dc1/size"),
        ("kept", Some("dc1: 3 nodes in racks r1, r2"), "")
    );
    assert_eq!(of("dc2/datacenterName").1, Some("West-2"));
    assert_eq!(of("dc2/stargate.size").0, "replaced");
    assert_eq!(of("dc1/num_tokens").1, Some("num_tokens: 8"));
    assert_eq!(of("spec.auth").0, "added");
    for (key, class) in [
        ("spec.reaper", "not here"),
        ("spec.cassandra.softPodAntiAffinity", "not here"),
        ("spec.cassandra.storageConfig", "not here"),
        ("spec.cassandra.clientEncryptionStores", "replaced"),
        ("spec.cassandra.resources.limits.memory", "shrunk"),
        ("spec.cassandra.resources.requests.cpu", "shrunk"),
        ("spec.cassandra.racks[0].zone", "not here"),
        ("spec.cassandra.telemetrie", "unknown"),
        ("spec.cassandra.config.jvmOptions.heapSize", "shrunk"),
        (
            "spec.cassandra.config.jvmOptions.additionalOptions[0]",
            "replaced",
        ),
        (
            "spec.cassandra.config.jvmOptions.additionalOptions[3]",
            "not here",
        ),
        ("dc2/k8sContext", "not here"),
    ] {
        assert_eq!(of(key).0, class, "{key}");
    }
    assert!(
        of("spec.cassandra.telemetrie")
            .2
            .ends_with("the nearest is telemetry")
    );
    let password = "spec.cassandra.config.jvmOptions.additionalOptions[2]";
    assert_eq!(of(password).1, Some("-Dapp.password=***"));
    // What is not simply kept has a reason.
    for difference in &found.differences {
        let reason = difference.class == Class::Kept || !difference.why.is_empty();
        assert!(reason, "{difference:?}");
    }
}

#[test]
fn settings_of_a_data_centre_are_fitted_as_those_of_all() {
    let found = read(CLUSTER);
    let followed = follow(&found, "4.1.5");
    let all = &followed.like.differences;
    assert_eq!(
        fate(all, "spec.cassandra.serverVersion"),
        ("kept", Some("Cassandra 4.1.5"), "")
    );
    assert_eq!(fate(all, "dc1/concurrent_reads").0, "shrunk");
    assert_eq!(fate(all, "West-2/concurrent_reads").0, "kept");
    assert_eq!(followed.like.tokens, Some(8));
    assert!(followed.like.auth && followed.tls);
    let [of_dc1, of_dc2] = &followed.by_data_center[..] else {
        panic!("two data centres")
    };
    let names =
        |set: &[(String, Value)]| set.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(names(of_dc1), ["audit_logging_options.enabled"]);
    assert_eq!(
        names(of_dc2),
        [
            "audit_logging_options.block",
            "audit_logging_options.enabled",
            "concurrent_reads"
        ]
    );
    let other = follow(&found, "5.0");
    let (class, now, _) = fate(&other.like.differences, "spec.cassandra.serverVersion");
    assert_eq!((class, now), ("replaced", Some("Cassandra 5.0.9")));
}

#[test]
fn data_centres_of_one_cluster() {
    let dc = |name: &str, more: &str| {
        format!(
            "apiVersion: cassandra.datastax.com/v1beta1\nkind: CassandraDatacenter\nmetadata: {{name: {name}}}\n\
             spec:\n  clusterName: one\n  serverType: cassandra\n  serverVersion: 3.11.14\n  size: 2\n{more}"
        )
    };
    let config = "  config:\n    cassandra-yaml: {authenticator: PasswordAuthenticator}\n\
                  \x20   jvm-options: {max_heap_size: 2048M, additional-jvm-opts: [-Da=b -Dc=d]}\n";
    let gateway = "apiVersion: stargate.k8ssandra.io/v1alpha1\nkind: Stargate\nmetadata: {name: s}\n\
                   spec: {size: 1, datacenterRef: {name: b}}\n";
    let text = format!(
        "---\n{}---\n{}--- # the last\n{gateway}",
        dc("a", config),
        dc("b", config)
    );
    let found = read(&text);
    assert_eq!(
        shape(&found),
        ["a default default +0", "b default default default +1"]
    );
    assert_eq!(found.heap, Some(Bytes::mib(2048)));
    assert_eq!(found.jvm, ["-Da=b", "-Dc=d"]);
    assert_eq!(
        found.cassandra_yaml,
        "authenticator: PasswordAuthenticator\n"
    );
    assert_eq!(found.own_yaml, ["", ""]);
    assert_eq!((found.auth, found.tokens), (false, 256));
    assert_eq!(fate(&found.differences, "a/spec.clusterName").0, "replaced");
    let followed = follow(&found, "3.11.14");
    assert!(followed.like.auth);
    assert_eq!(followed.like.tokens, Some(256));
    assert_eq!(fate(&followed.like.differences, "num_tokens").0, "added");
    let other = dc("b", "").replace("clusterName: one", "clusterName: two");
    assert_eq!(
        refused(&format!("{}---\n{other}", dc("a", ""))),
        "it has several Cassandra clusters: one, two"
    );
}

const PODS: &str = "kind: List
apiVersion: v1
items:
- apiVersion: v1
  kind: Service
  metadata: {name: cassandra}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: files}
  data:
    cassandra.yaml: |
      # as in production
      read_request_timeout: 7s
      num_tokens: 4
    jvm-server.options: |
      # heap
      -Xmx4G
      -XX:+UseConcMarkSweepGC
      -Dcassandra.maxHintTTL=5
    cassandra-env.sh: |
      echo
      echo
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: east}
  spec:
    serviceName: cassandra
    replicas: 2
    template:
      spec:
        hostNetwork: true
        volumes: [{name: a, configMap: {name: files}}, {name: b, configMap: {name: others}}]
        containers:
        - name: exporter
          image: example/exporter:1
        - name: db
          image: example/cassandra:4.1.3-debian-11
          env:
          - {name: CASSANDRA_DC, value: east}
          - {name: CASSANDRA_RACK, value: r7}
          - {name: CASSANDRA_SEEDS, value: cassandra-0}
          - {name: CASSANDRA_NUM_TOKENS, value: '8'}
          - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
          - {name: PASSWORD, value: hunter2}
          - {name: HEAP_NEWSIZE, value: 400M}
          - {name: JVM_EXTRA_OPTS, value: '-Da=1 -XX:+UseG1GC'}
          resources: {limits: {memory: 8Gi}}
";

#[test]
fn stateful_sets_with_their_files() {
    let found = read(PODS);
    assert_eq!(shape(&found), ["east r7 r7 +0"]);
    assert_eq!(found.release.as_deref(), Some("4.1.3"));
    assert_eq!(
        (found.heap, found.new_heap),
        (Some(Bytes::mib(4096)), Some(Bytes::mib(400)))
    );
    assert_eq!(
        found.jvm,
        ["-Dcassandra.maxHintTTL=5", "-Da=1", "-XX:+UseG1GC"]
    );
    assert_eq!(
        found.cassandra_yaml,
        "num_tokens: 8\nread_request_timeout: \"7s\"\n"
    );
    let of = |key: &str| fate(&found.differences, key).0;
    for (key, class) in [
        ("east/spec.replicas", "kept"),
        ("east/env.CASSANDRA_DC", "kept"),
        ("east/env.CASSANDRA_SEEDS", "replaced"),
        ("east/env.HEAP_NEWSIZE", "shrunk"),
        ("east/env.PASSWORD", "unknown"),
        ("east/spec.template.spec.hostNetwork", "replaced"),
        (
            "east/spec.template.spec.volumes[1].configMap.name",
            "not here",
        ),
        ("east/spec.template.spec.containers[0].image", "not here"),
        ("files/data.cassandra-env.sh", "not here"),
    ] {
        assert_eq!(of(key), class, "{key}");
    }
    let mut of_flags = found.differences.iter();
    let cms = of_flags.find(|d| d.was.as_deref() == Some("-XX:+UseConcMarkSweepGC"));
    assert_eq!(cms.map(|d| d.class), Some(Class::Refused));
    let all = format!("{:?}", found.differences);
    assert!(!all.contains("hunter2") && all.contains("2 lines"), "{all}");
    assert!(!all.contains("POD_IP"), "{all}");
    // Racks of one data centre, each a set of its own.
    let (_, set) = PODS.split_once("- apiVersion: apps/v1\n").expect("a set");
    let set = set.replace("    replicas: 2\n", "").replace("r7", "r8");
    let set = set.replace("name: east", "name: west");
    let both = read(&format!("{PODS}- apiVersion: apps/v1\n{set}"));
    assert_eq!(shape(&both), ["east r7 r8 r7 +0"]);
    assert_eq!(fate(&both.differences, "west/spec.replicas").0, "added");
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    assert_eq!(manifest("concurrent_reads: 5\n"), Ok(None));
    assert_eq!(manifest("a: [1\n---\nb: 1\n"), Ok(None));
    assert_eq!(manifest(""), Ok(None));
    let service =
        "apiVersion: v1\nkind: Service\n---\n# nothing\n---\napiVersion: v1\nkind: Secret\n";
    assert_eq!(
        refused(service),
        "no Cassandra cluster in it, only Service, Secret"
    );
    let spec = |text: &str| {
        let head = "apiVersion: v1\nkind: Secret\n---\napiVersion: k8ssandra.io/v1alpha1\nkind: K8ssandraCluster\n";
        refused(&format!("{head}{text}"))
    };
    assert_eq!(spec("spec: {}\n"), "line 6: spec needs cassandra");
    assert_eq!(
        spec("spec:\n  cassandra:\n    datacenters:\n    - metadata: {name: a}\n"),
        "line 9: a needs size"
    );
    assert_eq!(
        spec(
            "spec:\n  auth: perhaps\n  cassandra:\n    datacenters: [{metadata: {name: a}, size: 1}]\n"
        ),
        "line 7: spec.auth must be true or false"
    );
    assert_eq!(
        spec("spec:\n  cassandra:\n    datacenters: [{metadata: {name: a}, size: '3'}]\n"),
        "line 8: a/size must be a whole number from 1 to 250"
    );
    assert_eq!(
        spec(
            "spec:\n  cassandra:\n    config: {jvmOptions: {heapSize: much}}\n    datacenters: []\n"
        ),
        "line 8: spec.cassandra.config.jvmOptions.heapSize must be a size such as 8Gi"
    );
    assert!(
        spec("spec: [1\n").contains("line"),
        "{}",
        spec("spec: [1\n")
    );
    let broken = PODS.replace("read_request_timeout: 7s", "read_request_timeout: [7s");
    let said = refused(&broken);
    assert!(
        said.starts_with("files/data.cassandra.yaml, whose first line is 12, is not YAML"),
        "{said}"
    );
}

#[test]
fn names_fit_and_stay_apart() {
    let dc = |name: &str| format!("    - metadata: {{name: {name}}}\n      size: 1\n");
    let text = format!(
        "apiVersion: k8ssandra.io/v1alpha1\nkind: K8ssandraCluster\nspec:\n  auth: false\n  cassandra:\n    datacenters:\n{}{}{}{}",
        dc("eu.west"),
        dc("eu-west"),
        dc("node1"),
        dc("1a")
    );
    let found = read(&text);
    let names: Vec<&str> = found
        .topology
        .data_centers
        .iter()
        .map(|dc| dc.name.as_str())
        .collect();
    assert_eq!(names, ["eu-west", "eu-west-2", "dc-node1", "dc-1a"]);
    assert!(!found.auth);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(apiVersion: apps/v1\nkind: StatefulSet\n)?[-a-c: \n\\[\\]{},'\"&*|>#?!]{0,60}") {
        let _ = manifest(&text);
    }
}
