//! A secured cluster of real Cassandra: who gets in, who does not, and where its secrets are not.
//! Refuses to look for a secret by its place: it looks for its text, everywhere.

use crate::home::{Home, Said};
use helenus_cluster::reach;
use helenus_cluster::state::{ClusterState, Clusters};
use helenus_cql::{Client, ClientError, ConnectOptions, Consistency, Credentials, Secret};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest wait for one answer: a node's first handshakes take long on a busy machine.
const WITHIN: Duration = Duration::from_secs(30);

/// Connects as a driver does that was given what the state folder holds, and nothing else.
const DRIVER: &str = r#"
import ssl, sys
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
folder, host, port = sys.argv[1:4]
trust = ssl.create_default_context(cafile=folder + '/tls/ca.pem')
trust.check_hostname = False
trust.load_cert_chain(folder + '/tls/client.pem', folder + '/tls/client.key')
password = open(folder + '/credentials/password').read().strip()
cluster = Cluster([host], port=int(port), ssl_context=trust,
                  auth_provider=PlainTextAuthProvider('helenus', password))
print(cluster.connect().execute('SELECT role FROM system_auth.roles WHERE role = \'helenus\'').one().role)
cluster.shutdown()
"#;

/// A Python with the driver: of HELENUS_PYTHON, or of PATH.
fn python() -> Option<String> {
    let python = std::env::var("HELENUS_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python)
        .args(["-c", "import cassandra.cluster"])
        .output();
    output.is_ok_and(|o| o.status.success()).then_some(python)
}

/// What must be found nowhere but in its own files.
struct Secrets(Vec<String>);

impl Secrets {
    fn read(folder: &Path) -> Self {
        let files = ["credentials/password", "tls/keystore.password"];
        let read = |name| fs_err::read_to_string(folder.join(name)).expect("a secret");
        Self(files.map(|name| read(name).trim().to_owned()).to_vec())
    }

    fn in_bytes(&self, bytes: &[u8]) -> bool {
        // The library's own search: a commit log's segments are large.
        let text = String::from_utf8_lossy(bytes);
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    #[track_caller]
    fn not_in(&self, what: &str, bytes: &[u8]) {
        assert!(!self.in_bytes(bytes), "a secret is in {what}");
    }

    /// Files below a folder that hold one, but for what Cassandra itself keeps of its roles.
    fn files(&self, folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs_err::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                self.files(&path, found);
            } else if fs_err::read(&path).is_ok_and(|bytes| self.in_bytes(&bytes)) {
                found.push(path);
            }
        }
    }

    /// Processes whose command line or environment holds one.
    fn processes(&self) -> Vec<String> {
        let entries = fs_err::read_dir("/proc")
            .expect("/proc")
            .filter_map(Result::ok);
        let seen = entries.filter(|entry| {
            ["cmdline", "environ"].iter().any(|file| {
                fs_err::read(entry.path().join(file)).is_ok_and(|bytes| self.in_bytes(&bytes))
            })
        });
        seen.map(|entry| entry.path().display().to_string())
            .collect()
    }
}

fn state(home: &Home) -> ClusterState {
    let clusters = Clusters::open(&home.path().join("state")).expect("the state folder");
    clusters.load("c").expect("its state")
}

fn try_in(addr: SocketAddr, options: &ConnectOptions) -> Result<Client, ClientError> {
    let mut client = Client::connect(addr, options)?;
    client.query("SELECT key FROM system.local", Consistency::One)?;
    Ok(client)
}

/// One thing less or wrong each.
fn strangers(state: &ClusterState, addr: SocketAddr) {
    let all = reach::options(&state.access, WITHIN).expect("its keys");
    try_in(addr, &all).expect("with all of it one gets in");
    let named = |username: &str, password: &str| {
        Some(Credentials {
            username: username.to_owned(),
            password: Secret::new(password),
        })
    };
    let with = |credentials| ConnectOptions {
        credentials,
        ..all.clone()
    };
    let error = try_in(addr, &with(None)).expect_err("without credentials");
    assert!(
        matches!(error, ClientError::CredentialsMissing { .. }),
        "{error:?}"
    );
    for (user, password) in [
        ("helenus", "wrong"),
        ("cassandra", "cassandra"),
        ("nobody", "x"),
    ] {
        let error = try_in(addr, &with(named(user, password))).expect_err(user);
        assert!(
            matches!(error, ClientError::Refusal { .. }),
            "{user}: {error:?}"
        );
    }
    let in_the_clear = ConnectOptions {
        tls: None,
        ..all.clone()
    };
    try_in(addr, &in_the_clear).expect_err("without TLS");
    let mut access = state.access.clone();
    if let Some(tls) = &mut access.tls {
        tls.client = None;
    }
    let unnamed = reach::options(&access, WITHIN).expect("its keys");
    let error = try_in(addr, &unnamed).expect_err("without a client certificate");
    assert!(
        matches!(
            error,
            ClientError::TlsEnded { .. } | ClientError::Tls { .. } | ClientError::Closed { .. }
        ),
        "{error:?}"
    );
}

/// A bench on the cluster while all processes are looked at.
fn bench(home: &Home, secrets: &Arc<Secrets>) -> Said {
    let done = Arc::new(AtomicBool::new(false));
    let watch = {
        let (secrets, done) = (Arc::clone(secrets), Arc::clone(&done));
        std::thread::spawn(move || {
            let mut seen = Vec::new();
            while !done.load(Ordering::Relaxed) {
                seen.extend(secrets.processes());
                std::thread::sleep(Duration::from_millis(50));
            }
            seen
        })
    };
    let words = [
        "bench",
        "--cluster",
        "c",
        "--phases",
        "write,read",
        "--rate",
        "200",
        "--duration",
        "3s",
        "--warmup",
        "1s",
        "--format",
        "json",
    ];
    let said = home.helenus(&words);
    done.store(true, Ordering::Relaxed);
    let seen = watch.join().expect("the watch ends");
    assert_eq!(seen, Vec::<String>::new(), "processes show a secret");
    said
}

fn no_secret_is_shown(home: &Home, secrets: &Arc<Secrets>) {
    let said = bench(home, secrets);
    let report = said.json();
    let phases = report["result"]["phases"].as_array().expect("phases");
    for phase in phases {
        for (name, operation) in phase["operations"].as_object().expect("operations") {
            let failed = operation["failed"]
                .as_object()
                .is_some_and(|f| !f.is_empty());
            assert!(!failed, "{name} {operation}");
            assert!(
                operation["completed"].as_u64().is_some_and(|n| n > 500),
                "{operation}"
            );
        }
    }
    let page = home.path().join("report.html");
    let page_text = page.to_string_lossy().into_owned();
    home.helenus(&["report", "--out", &page_text]).ok();
    secrets.not_in(
        "the result",
        format!("{}{}", said.stdout, said.stderr).as_bytes(),
    );
    secrets.not_in("the report", &fs_err::read(&page).expect("a report"));
    for words in [
        &["list", "--format", "json"][..],
        &["env", "c"],
        &["logs", "c"],
        &["history", "show", "--format", "json"],
        &[
            "up",
            "d",
            "--auth",
            "--tls",
            "--dry-run",
            "--format",
            "json",
        ],
    ] {
        let said = home.helenus(words);
        secrets.not_in(
            &words.join(" "),
            format!("{}{}", said.stdout, said.stderr).as_bytes(),
        );
    }
    let archive = home.path().join("c.tar.gz");
    let to = archive.to_string_lossy().into_owned();
    home.helenus(&["collect", "c", "-o", &to, "--run", "@last"])
        .ok();
    let unpacked = std::process::Command::new("tar")
        .arg("-xzOf")
        .arg(&archive)
        .output();
    let unpacked = unpacked.expect("tar").stdout;
    assert!(unpacked.len() > 10_000, "{}", unpacked.len());
    secrets.not_in("the archive of collect", &unpacked);
}

/// A baseline, a reset and a restore behind the doors.
fn rows_come_and_go(home: &Home) {
    let cql = |text: &str| home.helenus(&["cql", "c", "-e", text]).ok();
    let count = || {
        let said = cql("SELECT count(*) FROM k.t");
        let counted = said.stdout.lines().nth(2).map(str::trim).map(str::to_owned);
        counted.expect("a count")
    };
    cql(
        "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
    );
    cql("CREATE TABLE k.t (a int PRIMARY KEY)");
    cql("INSERT INTO k.t (a) VALUES (1)");
    home.helenus(&["baseline", "save", "c", "one"]).ok();
    cql("INSERT INTO k.t (a) VALUES (2)");
    cql("CREATE ROLE guest WITH LOGIN = true AND PASSWORD = 'not for long'");
    home.helenus(&["reset", "c"]).ok();
    assert_eq!(count(), "1");
    let roles = cql("SELECT role FROM system_auth.roles").stdout;
    assert!(!roles.contains("guest"), "{roles}");
    cql("TRUNCATE k.t");
    home.helenus(&["baseline", "restore", "c", "one"]).ok();
    assert_eq!(count(), "1");
}

pub(crate) fn a_secured_cluster_lets_only_its_own_in() {
    let home = Home::new();
    home.helenus(&["up", "c", "--auth", "--tls", "--client-auth"])
        .ok();
    let state = state(&home);
    let folder = PathBuf::from(&state.plan.folder);
    let secrets = Arc::new(Secrets::read(&folder));
    let addr = SocketAddr::from((state.plan.nodes[0].address, state.plan.ports.cql));
    strangers(&state, addr);
    let cql = "SELECT role, can_login, is_superuser FROM system_auth.roles";
    let roles = home.helenus(&["cql", "c", "-e", cql]).ok();
    let rows: Vec<Vec<&str>> = roles
        .stdout
        .lines()
        .filter(|line| line.contains('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(
        rows.contains(&vec!["cassandra", "False", "False"]),
        "{roles}"
    );
    assert!(rows.contains(&vec!["helenus", "True", "True"]), "{roles}");
    home.helenus(&["status", "c"]).ok();
    home.helenus(&["guard", "c"]).ok();
    let (host, port) = (addr.ip().to_string(), addr.port().to_string());
    let ours = home.helenus(&["guard", "--hosts", &host, "--port", &port]);
    assert!(ours.ok().stdout.starts_with("ours: c"));
    no_secret_is_shown(&home, &secrets);
    if let Some(python) = python() {
        let output = Command::new(python)
            .args(["-c", DRIVER, &state.plan.folder])
            .args([addr.ip().to_string(), addr.port().to_string()])
            .output()
            .expect("Python runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            said.trim(),
            "helenus",
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    } else {
        crate::not_run(
            "a Python driver at a secured cluster (pip install cassandra-driver, and set HELENUS_PYTHON)",
        )
        .expect("what a machine lacks");
    }
    rows_come_and_go(&home);
    // After the baseline's stop and start: a second life, and the same doors.
    strangers(&state, addr);
    home.helenus(&["stop", "c"]).ok();
    let mut files = Vec::new();
    secrets.files(home.path(), &mut files);
    files.sort();
    let expected = [
        "credentials/cqlsh",
        "credentials/password",
        "node1/conf/cassandra.yaml",
        "tls/keystore.password",
    ];
    assert_eq!(files, expected.map(|name| folder.join(name)));
}
