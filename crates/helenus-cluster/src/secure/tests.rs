//! Folders of secrets as files: whole, private, and made once.
//! Refuses a JVM: whether Cassandra reads the stores is for the real ring.

use super::*;
use helenus_model::access::Security;
use helenus_model::machine::Machine;
use helenus_model::plan::{ClusterSpec, PlanRequest, STANDARD_PORTS, plan};
use helenus_model::preset::PresetName;
use helenus_model::topology::Topology;
use helenus_model::units::Bytes;
use std::os::unix::fs::PermissionsExt as _;

fn plan_in(folder: &Path, security: Security) -> ClusterPlan {
    plan(&PlanRequest {
        spec: ClusterSpec {
            security,
            ..ClusterSpec::new("c", Topology::single(2).unwrap(), PresetName::Tiny)
        },
        release: "5.0.9".into(),
        machine: Machine {
            cores: 2,
            memory: Bytes::mib(24 * 1024),
            arch: "x86_64".into(),
            kernel: "6.1".into(),
            processor: "test".into(),
        },
        addresses: vec![[127, 9, 9, 1].into(), [127, 9, 9, 2].into()],
        ports: STANDARD_PORTS,
        folder: folder.to_string_lossy().into_owned(),
        available: Bytes::mib(24 * 1024),
        network: None,
    })
    .unwrap()
}

const ALL: Security = Security {
    auth: true,
    tls: true,
    client_auth: true,
};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            format!("{} {mode:o}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    names
}

#[test]
fn every_file_is_its_owner_s_alone_and_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_in(folder.path(), ALL);
    // What a killed `up` left half done is no hindrance.
    fs::create_dir(folder.path().join("tls.begun")).unwrap();
    fs::write(folder.path().join("tls.begun/ca.pem"), "half").unwrap();
    provide(&plan).unwrap();
    let expected = [
        "ca.key",
        "ca.pem",
        "client.key",
        "client.p12",
        "client.pem",
        "keystore.password",
        "node1.p12",
        "node2.p12",
        "truststore.p12",
    ];
    let expected: Vec<String> = expected.iter().map(|name| format!("{name} 600")).collect();
    assert_eq!(names(&folder.path().join("tls")), expected);
    let credentials = folder.path().join("credentials");
    assert_eq!(
        names(&credentials),
        ["cqlsh 600", "cqlshrc 600", "password 600"]
    );
    assert_eq!(names(folder.path()), ["credentials 700", "tls 700"]);
    let before = fs::read(credentials.join("password")).unwrap();
    assert!(before.len() > 32, "{before:?}");
    provide(&plan).unwrap();
    assert_eq!(fs::read(credentials.join("password")).unwrap(), before);
    let rc = fs::read_to_string(credentials.join("cqlshrc")).unwrap();
    let password = String::from_utf8(before).unwrap();
    assert!(!rc.contains(password.trim_end()), "{rc}");
    let at = folder.path().display().to_string();
    assert_eq!(
        rc.replace(&at, "/c"),
        "[authentication]\ncredentials = /c/credentials/cqlsh\n\n\
         [auth_provider]\nmodule = cassandra.auth\nclassname = PlainTextAuthProvider\n\n\
         [connection]\nhostname = 127.9.9.1\nport = 9042\nssl = true\n\n\
         [ssl]\ncertfile = /c/tls/ca.pem\nvalidate = true\n\
         usercert = /c/tls/client.pem\nuserkey = /c/tls/client.key\n"
    );
}

#[test]
fn an_open_cluster_has_no_files_and_one_without_client_certificates_no_client_s() {
    let folder = tempfile::tempdir().unwrap();
    provide(&plan_in(folder.path(), Security::default())).unwrap();
    assert_eq!(names(folder.path()), Vec::<String>::new());
    let security = Security {
        tls: true,
        ..Security::default()
    };
    provide(&plan_in(folder.path(), security)).unwrap();
    assert!(!folder.path().join("tls/client.key").exists());
    assert_eq!(names(&folder.path().join("credentials")), ["cqlshrc 600"]);
}

#[test]
fn cqlsh_is_led_to_a_node_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan_in(folder.path(), ALL);
    provide(&plan).unwrap();
    let credentials = folder.path().join("credentials");
    let (rc, password) = (credentials.join("cqlshrc"), credentials.join("password"));
    let secret = fs::read(&password).unwrap();
    // A person's own words stay as long as the address is a node's.
    let own = fs::read_to_string(&rc).unwrap() + "[ui]\ncolor = on\n";
    fs::write(&rc, &own).unwrap();
    provide(&plan).unwrap();
    assert_eq!(fs::read_to_string(&rc).unwrap(), own);
    // The first node has left.
    plan.nodes.remove(0);
    provide(&plan).unwrap();
    let now = fs::read_to_string(&rc).unwrap();
    assert!(now.contains("hostname = 127.9.9.2\n"), "{now}");
    assert_eq!(fs::read(&password).unwrap(), secret);
    assert_eq!(
        names(&credentials),
        ["cqlsh 600", "cqlshrc 600", "password 600"]
    );
}
