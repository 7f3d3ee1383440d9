//! `kube`: files that are written, values that are not shown, and what is refused.
//! Refuses a cluster of Kubernetes: nothing here talks to one.

use crate::lab::TestLab;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_rendering_is_the_same_twice_and_leaves_other_files_alone() {
    let lab = TestLab::new();
    let folder = lab.path("wan");
    let to = folder.display().to_string();
    let words = ["kube", "render", "-n", "2:2", "-o", &to];
    let plan = lab.json(&words);
    assert_eq!(plan["format"], "helenus.kube-plan/1");
    assert_eq!(
        plan["namespaces"],
        serde_json::json!(["cassandra-dc1", "cassandra-dc2"])
    );
    let read = || {
        let files = fs_err::read_dir(&folder).expect("a folder");
        let mut all: Vec<(String, String)> = files
            .map(|file| {
                let path = file.expect("an entry").path();
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                (name, fs_err::read_to_string(&path).expect("text"))
            })
            .collect();
        all.sort();
        all
    };
    let first = read();
    assert_eq!(first.len(), 5);
    lab.done(&words);
    assert_eq!(read(), first);
    let stream = lab.done(&["kube", "render", "-n", "2:2"]);
    for (_, text) in &first {
        assert!(stream.contains(text.as_str()));
    }
    lab.write("wan/mine.yaml", "kind: Pod\n");
    shot!(lab.run(&words), @"
    exit code: 2
    --- standard error
    error: [LAB]/wan has mine.yaml, which is not part of this rendering
    hint: remove it, or name another folder: kubectl would apply it too
    ");
    assert_eq!(read().len(), 6);
}

#[test]
fn a_cluster_and_its_topology_file_are_rendered_alike() {
    let lab = TestLab::fake("ready");
    let file = "[[data_center]]\nname = \"east\"\nnodes = 2\nheap = \"80M\"\n[[data_center]]\nname = \"west\"\nnodes = 1\n";
    lab.write("c.toml", file);
    lab.done(&["up", "c", "--topology", "c.toml"]);
    let of_cluster = lab.done(&["kube", "render", "c"]);
    let of_file = lab.done(&["kube", "render", "c.toml"]);
    // Memory is planned with a class-data archive or without one; all else is one text.
    let plain = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| !line.contains("memory:") && !line.contains("# "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(plain(&of_cluster), plain(&of_file));
    assert!(of_file.contains("-Xmx80M") && of_file.contains("-Xmx64M"));
}

#[test]
fn a_secret_is_written_for_its_owner_and_shown_to_nobody() {
    let mut lab = TestLab::new();
    lab.set("THE_PASSWORD", "hush \"1\"");
    let file = lab.path("s.yaml");
    let to = file.display().to_string();
    let words = [
        "kube",
        "secret",
        "superuser",
        "--name",
        "s",
        "--user",
        "admin",
        "--password-env",
        "THE_PASSWORD",
        "-o",
        &to,
    ];
    let said = lab.run(&words);
    assert!(!said.to_string().contains("hush"), "{said}");
    let mode = fs_err::metadata(&file)
        .expect("a file")
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(mode, 0o600);
    let text = fs_err::read_to_string(&file).expect("text");
    assert!(text.contains(r#"password: "hush \"1\"""#), "{text}");
    let dry = lab.done(&["kube", "secret", "bucket", "--name", "k", "--dry-run"]);
    assert!(dry.contains("aws_secret_access_key = ***"), "{dry}");
    shot!(lab.run(&["kube", "secret", "superuser", "--name", "s", "-o", &to]), @"
    exit code: 2
    --- standard error
    error: a value of the Secret is missing
    hint: name its file or variable with --user-env, --user-file or --user
    ");
}

#[test]
fn keystores_of_a_cluster_are_written_for_their_owner_and_shown_to_nobody() {
    let lab = TestLab::new();
    let file = lab.path("tls.yaml");
    let to = file.display().to_string();
    let words = [
        "kube", "secret", "tls", "--dc", "a=2", "--dc", "b=1", "--name", "demo",
    ];
    let written = [&words[..], &["--client-auth", "--tls", "-o", &to]].concat();
    assert_eq!(
        lab.done(&written),
        "secret demo-tls written to [LAB]/tls.yaml, which only you can read: kubectl apply --server-side -f [LAB]/tls.yaml\n"
    );
    let mode = fs_err::metadata(&file)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs_err::read_to_string(&file).expect("text");
    let documents: Vec<&str> = text.split("---\n").collect();
    assert_eq!(documents.len(), 2, "a Secret per namespace");
    let value = |document: &str, key: &str| {
        let line = document
            .lines()
            .find_map(|line| line.trim().strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key} in {document}"))
            .to_owned()
    };
    let of = |key: &str| [value(documents[0], key), value(documents[1], key)];
    let [ours, theirs] = of("ca.pem:");
    assert_eq!(ours, theirs, "one authority");
    let [ours, theirs] = of("keystore.p12:");
    assert_ne!(ours, theirs, "a certificate each");
    assert_eq!(of("namespace:"), [" demo-a", " demo-b"]);
    assert!(value(documents[1], "client.key:").len() > 100);
    let dry = lab.done(&[&words[..], &["--dry-run"]].concat());
    assert!(
        dry.contains("keystore.p12: \"***\"") && !dry.contains("client.key"),
        "{dry}"
    );
    shot!(lab.run(&["kube", "secret", "tls", "-n3", "--as", "cass-operator", "-o", &to]), @"
    exit code: 2
    --- standard error
    error: a CassandraDatacenter cannot have keystores
    hint: use --as k8ssandra, or --as plain
    ");
}

#[test]
fn the_chart_gets_the_heap_wherever_a_file_says_it() {
    let lab = TestLab::new();
    for text in [
        "heap = \"200M\"\n[[data_center]]\nname = \"dc1\"\nnodes = 2\n",
        "[[data_center]]\nname = \"dc1\"\nnodes = 2\nheap = \"200M\"\n",
    ] {
        let file = lab.write("chart.toml", text).to_string_lossy().into_owned();
        let words = [
            "kube",
            "render",
            &file,
            "--cassandra",
            "4.0",
            "--as",
            "helm-values",
        ];
        let rendered = lab.done(&words);
        assert!(rendered.contains("size: \"200M\""), "{rendered}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_cure() {
    let lab = TestLab::new();
    shot!(lab.run(&["kube", "render", "-n", "3", "--as", "helm-values"]), @"
    exit code: 2
    --- standard error
    error: the 1.x chart cannot have Cassandra 5.0.9
    hint: it starts 3.11 and 4.0: add --cassandra 4.0, or use --as k8ssandra
    ");
    shot!(lab.run(&["kube", "render", "-n", "3", "--image", "cassandra"]), @r#"
    exit code: 2
    --- standard error
    error: the image "cassandra" has no fixed tag
    hint: give it a tag, such as --image localhost/helenus-cassandra:5.0.9; with latest, pods of one cluster can run different releases
    "#);
    shot!(lab.run(&["kube", "render", "--dc", "a=1", "--as", "k8ssandra", "--context", "b=west"]), @"
    exit code: 2
    --- standard error
    error: no such data centre: b
    hint: known: a
    ");
    shot!(lab.run(&["kube", "kind", "-n", "9", "--memory", "4G"]), @"
    exit code: 2
    --- standard error
    error: 9 workers with 548 MiB each and a control plane of 1 GiB need 5.8 GiB of memory, 4 GiB are free
    hint: 5 such nodes fit; or use a smaller preset or --heap
    ");
}

const MANIFEST: &str = "
apiVersion: k8ssandra.io/v1alpha1
kind: K8ssandraCluster
metadata: {name: demo}
spec:
  auth: false
  cassandra:
    serverVersion: 5.0.9
    config:
      cassandraYaml: {concurrent_reads: 8}
    racks: [{name: r1}, {name: r2}]
    datacenters:
    - metadata: {name: dc1}
      size: 2
    - metadata: {name: dc2}
      size: 1
";

#[test]
fn a_manifest_of_kubernetes_becomes_a_local_cluster_like_it() {
    let lab = TestLab::fake("ready");
    lab.write("k8.yaml", MANIFEST);
    lab.done(&["up", "c", "--like", "k8.yaml"]);
    let shown = lab.json(&["topology", "show", "c"]);
    assert_eq!(shown["nodes"], 3);
    assert_eq!(shown["data_centers"][0]["name"], "dc1");
    assert_eq!(
        shown["data_centers"][0]["racks"],
        serde_json::json!({"r1": ["node1"], "r2": ["node2"]})
    );
    let yaml = fs_err::read_to_string(lab.cluster("c").join("node1/conf/cassandra.yaml"));
    assert!(yaml.expect("a file").contains("concurrent_reads: 8\n"));
    let said = lab.run(&["up", "d", "--like", "k8.yaml", "-n", "3"]);
    assert_eq!(said.code, "2", "{said}");
}
