//! The launcher in a pod of Kubernetes, whose image has no shell: it becomes the node, and answers the kubelet's probes.
//! Refuses to decide what a node is started with: manifests and model have.

pub mod cql;
pub mod facts;
mod idle;
mod join;

pub use idle::idle;

use crate::attach::write_private;
use crate::cancel::Cancel;
use crate::env::Env;
use crate::jdk::{self, JdkError};
use crate::secure::{SecureError, provide_stores};
use crate::stored::there;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use helenus_cql::client::{Client, ClientError, ConnectOptions, Identity, Tls, TlsError};
use helenus_cql::codec::Consistency;
use helenus_model::kube::pod::{
    ARCHIVE, AUTHORITY, CERTIFICATE, CERTIFICATE_KEY, CONF_FOLDER, DATA_FOLDER, FORMED_KEY, JAVA,
    JAVA_FOLDER, JOINS_FILE, JVM_KEY, KEYSTORE, KEYSTORE_PASSWORD, MODULE_FLAGS, POD_IP, POD_KEY,
    POD_NAME, Pod, PodConfig, PodError, RUN_FOLDER, STORES_FOLDER, TLS_FOLDER, TRUSTSTORE,
    YAML_KEY, argv, coordinates, fill, is_small, lines, port, replaces, tool_argv,
};
use helenus_model::plan::STANDARD_PORTS;
use p12_keystore::{KeyStore, Pkcs12ImportPolicy};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest wait for the names of the seeds: a service has addresses once its first pod has one.
const SEEDS_WITHIN: Duration = Duration::from_secs(60);

/// Between two questions for a name.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Longest wait for a node's answer.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// Longest wait for a node to take a connection.
const LIVE_WITHIN: Duration = Duration::from_secs(3);

/// What stands in `system.local` of a node that has joined.
const JOINED: &str = "COMPLETED";

/// Why the launcher cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    /// A variable of the pod's template.
    #[error("{0} is not set")]
    Variable(&'static str),
    /// The pod's address.
    #[error("{0:?} is neither an IP address nor a name that resolves to one")]
    Address(String),
    /// The pod's configuration.
    #[error(transparent)]
    Pod(#[from] PodError),
    /// The image's Java.
    #[error(transparent)]
    Jdk(#[from] JdkError),
    /// Files, or a program.
    #[error("cannot read the pod's configuration or start Java")]
    Io(#[from] io::Error),
    /// Certificates.
    #[error("cannot set up TLS")]
    Tls(#[from] TlsError),
    /// Keystores of certificates as PEM.
    #[error("cannot use the certificates of the Secret")]
    Stores(#[from] SecureError),
    /// The node.
    #[error("the node does not answer")]
    Silent(#[from] ClientError),
    /// It answers, and has not joined.
    #[error("the node has not joined: {0:?}")]
    Joining(String),
    /// It takes its time.
    #[error("no answer within {} s", READY_WITHIN.as_secs())]
    Late,
    /// The pod ends before its node began.
    #[error("interrupted")]
    Interrupted,
}

/// Becomes the node; returns only on failure. `report` gets notes for a person.
///
/// # Errors
/// The configuration cannot be read or written, a new node finds no node to join through, or `exec` fails.
pub fn start(
    env: &Env,
    cancel: &Cancel,
    report: &mut dyn FnMut(&str),
) -> Result<Infallible, LauncherError> {
    let (conf, data, run) = (
        Path::new(CONF_FOLDER),
        Path::new(DATA_FOLDER),
        Path::new(RUN_FOLDER),
    );
    let config = PodConfig::read(&fs::read_to_string(conf.join(POD_KEY))?)?;
    let flags = flags_of(conf)?;
    let mut pod = Pod {
        name: variable(env, POD_NAME)?,
        ip: own_address(env)?,
        seeds: resolve(&config.seeds, cancel, report)?,
        peers: Vec::new(),
        fresh: !data.join("data/system").exists(),
        formed: conf.join(FORMED_KEY).exists(),
        joined: data.join(JOINS_FILE).exists(),
        coordinator: coordinates(&flags),
    };
    let mut flags = flags;
    let yaml = fs::read_to_string(conf.join(YAML_KEY))?;
    if pod.joins(&config) {
        pod.peers = addresses(&config.peers);
        let cql = port(&yaml, "native_transport_port", STANDARD_PORTS.cql);
        if let Some(gone) = join::predecessor(&config, &pod, cql) {
            report(&format!(
                "it takes the place of {gone}, which had its tokens"
            ));
            flags.push(replaces(gone));
        }
    }
    // What a life that was killed left for itself alone.
    let _none_left = fs::remove_dir_all(run.join("tmp"));
    for folder in ["conf", "logs", "tmp"] {
        fs::create_dir_all(run.join(folder))?;
    }
    if let Some((chain, key)) = pem_pair()? {
        let ca = fs::read_to_string(Path::new(TLS_FOLDER).join(AUTHORITY))?;
        let stores = (KEYSTORE, TRUSTSTORE);
        provide_stores(Path::new(STORES_FOLDER), stores, (&chain, &key, &ca))?;
    }
    let yaml = fill(&yaml, &config, &pod, password()?.as_deref())?;
    write_private(&run.join("conf").join(YAML_KEY), &yaml)?;
    if pod.joins(&config) {
        fs::write(data.join(JOINS_FILE), "")?;
    }
    // Both are kept through exec.
    if let Some(slack) = config
        .timer_slack_us
        .and_then(|us| NonZeroU64::new(us * 1000))
    {
        rustix::thread::set_current_timer_slack(Some(slack)).map_err(io::Error::from)?;
    }
    if is_small(&flags) {
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        setrlimit(Resource::Memlock, none).map_err(io::Error::from)?;
    }
    let jdk = jdk::probe(Path::new(JAVA_FOLDER))?;
    let archive = Path::new(ARCHIVE).exists();
    let argv = argv(&flags, &module_flags()?, jdk.feature, archive);
    Err(Command::new(JAVA).args(argv).current_dir(run).exec().into())
}

/// Whether the node serves: it answers a query and has joined; one that asks for a password serves.
///
/// # Errors
/// It does not, and why.
pub fn ready(env: &Env) -> Result<(), LauncherError> {
    let conf = Path::new(CONF_FOLDER);
    let yaml = fs::read_to_string(conf.join(YAML_KEY))?;
    let port = port(&yaml, "native_transport_port", STANDARD_PORTS.cql);
    let address = SocketAddr::new(own_address(env)?, port);
    let coordinator = coordinates(&flags_of(conf)?);
    let (sender, answer) = mpsc::channel();
    // Each step of a connection has a limit of its own; this one is for all of them.
    std::thread::spawn(move || {
        let _too_late = sender.send(ask(address, coordinator));
    });
    answer
        .recv_timeout(READY_WITHIN)
        .unwrap_or(Err(LauncherError::Late))
}

fn ask(address: SocketAddr, coordinator: bool) -> Result<(), LauncherError> {
    let options = ConnectOptions {
        timeout: READY_WITHIN,
        tls: tls()?,
        ..ConnectOptions::default()
    };
    let mut client = match Client::connect(address, &options) {
        Err(ClientError::CredentialsMissing { .. } | ClientError::Authenticator { .. }) => {
            return Ok(());
        }
        connected => connected?,
    };
    let rows = client.query("SELECT bootstrapped FROM system.local", Consistency::One)?;
    let state = rows.text(0, "bootstrapped").unwrap_or_default();
    // A coordinator never joins the ring.
    if state == JOINED || coordinator {
        Ok(())
    } else {
        Err(LauncherError::Joining(state))
    }
}

/// Whether the node's process listens to its peers; a long collection does not keep the kernel from answering.
///
/// # Errors
/// It does not.
pub fn live(env: &Env) -> Result<(), LauncherError> {
    let yaml = fs::read_to_string(Path::new(CONF_FOLDER).join(YAML_KEY))?;
    let ip = own_address(env)?;
    let storage = port(&yaml, "storage_port", STANDARD_PORTS.storage);
    let connect = |port| TcpStream::connect_timeout(&SocketAddr::new(ip, port), LIVE_WITHIN);
    // Releases before 4.0 have a port of their own for TLS, and with it no other.
    let tls = port(&yaml, "ssl_storage_port", STANDARD_PORTS.storage + 1);
    connect(storage).or_else(|_| connect(tls))?;
    Ok(())
}

/// Whether a connection can be opened from this pod.
///
/// # Errors
/// It cannot.
pub fn reach(address: SocketAddr) -> Result<(), LauncherError> {
    TcpStream::connect_timeout(&address, LIVE_WITHIN)?;
    Ok(())
}

/// Lets the node write out what it has in memory, and announce its end; failures are ignored.
pub fn drain() {
    let ended = tool(&["drain".into()]).and_then(|mut tool| Ok(tool.status()?));
    tracing::info!(?ended, "drain");
}

/// Becomes the release's nodetool; returns only on failure.
///
/// # Errors
/// The image has none.
pub fn nodetool(words: &[OsString]) -> Result<Infallible, LauncherError> {
    Err(tool(words)?.exec().into())
}

fn tool(words: &[OsString]) -> Result<Command, LauncherError> {
    let mut command = Command::new(JAVA);
    command.args(tool_argv(&module_flags()?)).args(words);
    Ok(command)
}

fn flags_of(conf: &Path) -> io::Result<Vec<String>> {
    Ok(lines(&fs::read_to_string(conf.join(JVM_KEY))?))
}

fn module_flags() -> io::Result<Vec<String>> {
    Ok(lines(&fs::read_to_string(MODULE_FLAGS)?))
}

fn variable(env: &Env, name: &'static str) -> Result<String, LauncherError> {
    let value = env.var(name).ok_or(LauncherError::Variable(name))?;
    Ok(value.to_string_lossy().into_owned())
}

/// The address of the variable, or of the name in it; where it is not set, that of this container's own name, which
/// Docker gives it.
fn own_address(env: &Env) -> Result<IpAddr, LauncherError> {
    let text = match env.var(POD_IP) {
        Some(text) => text.to_string_lossy().into_owned(),
        None => {
            let name = rustix::system::uname();
            name.nodename().to_string_lossy().into_owned()
        }
    };
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found = addresses_of(&text);
    let four = found.iter().find(|address| address.is_ipv4());
    four.or(found.first())
        .copied()
        .ok_or(LauncherError::Address(text))
}

/// The addresses of the seeds, after some waiting of those that have any.
fn resolve(
    names: &[String],
    cancel: &Cancel,
    report: &mut dyn FnMut(&str),
) -> Result<Vec<IpAddr>, LauncherError> {
    let begin = Instant::now();
    let mut found: BTreeMap<&str, Vec<IpAddr>> = BTreeMap::new();
    loop {
        let mut missing = Vec::new();
        for name in names.iter().map(String::as_str) {
            if found.contains_key(name) {
                continue;
            }
            let addresses = addresses_of(name);
            match addresses.is_empty() {
                true => missing.push(name),
                false => {
                    found.insert(name, addresses);
                }
            }
        }
        if missing.is_empty() {
            break;
        }
        if cancel.is_set() {
            return Err(LauncherError::Interrupted);
        }
        if begin.elapsed() > SEEDS_WITHIN {
            let missing = missing.join(", ");
            let waited = SEEDS_WITHIN.as_secs();
            report(&format!(
                "no address of {missing} after {waited} s: starting without"
            ));
            break;
        }
        std::thread::sleep(ASK_EVERY);
    }
    let in_order = names.iter().filter_map(|name| found.get(name.as_str()));
    Ok(in_order.flatten().copied().collect())
}

/// What the names mean now; names without an address are nobody's.
fn addresses(names: &[String]) -> Vec<IpAddr> {
    names.iter().flat_map(|name| addresses_of(name)).collect()
}

fn addresses_of(name: &str) -> Vec<IpAddr> {
    let asked = (name, 0_u16).to_socket_addrs();
    asked.into_iter().flatten().map(|a| a.ip()).collect()
}

/// The keystores' password; none without TLS.
fn password() -> io::Result<Option<String>> {
    let text = match text_in(TLS_FOLDER, KEYSTORE_PASSWORD)? {
        Some(text) => Some(text),
        None => text_in(STORES_FOLDER, KEYSTORE_PASSWORD)?,
    };
    Ok(text.map(|text| text.trim_end().to_owned()))
}

fn text_in(folder: &str, file: &str) -> io::Result<Option<String>> {
    there(fs::read_to_string(Path::new(folder).join(file)))
}

/// Certificate and key of a Secret that has them as PEM.
fn pem_pair() -> io::Result<Option<(String, String)>> {
    let certificate = text_in(TLS_FOLDER, CERTIFICATE)?;
    Ok(certificate.zip(text_in(TLS_FOLDER, CERTIFICATE_KEY)?))
}

/// How to speak TLS with the node beside us; none for a cluster without. It may have any certificate: its address is the
/// pod's, which nobody knew when certificates were made, and nobody else can have it.
fn tls() -> Result<Option<Tls>, LauncherError> {
    if !Path::new(TLS_FOLDER).exists() {
        return Ok(None);
    }
    let own = identity();
    let identity = own.as_ref().map(|(certificate, key)| Identity {
        certificate: certificate.as_bytes(),
        key: key.as_bytes(),
    });
    let tls = Tls::unverified(identity).or_else(|_| Tls::unverified(None))?;
    Ok(Some(tls))
}

/// The node's own certificate and key as PEM, for a node that wants a certificate of its clients; none where the keystore
/// is of a kind that only Java reads.
fn identity() -> Option<(String, String)> {
    if let Ok(Some(pair)) = pem_pair() {
        return Some(pair);
    }
    let password = password().ok()??;
    let bytes = fs::read(Path::new(TLS_FOLDER).join(KEYSTORE)).ok()?;
    let store = KeyStore::from_pkcs12(&bytes, &password, Pkcs12ImportPolicy::default()).ok()?;
    let (_, chain) = store.private_key_chain()?;
    let certificates = chain.certs().iter();
    let certificates = certificates.map(|one| pem("CERTIFICATE", one.as_der()));
    Some((
        certificates.collect(),
        pem("PRIVATE KEY", chain.key().as_der()),
    ))
}

fn pem(what: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    format!("-----BEGIN {what}-----\n{text}\n-----END {what}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(ip: &str) -> Env {
        Env {
            vars: [(POD_IP.into(), ip.into())].into(),
            ..Env::default()
        }
    }

    #[test]
    fn a_pod_knows_its_address_by_its_variable() {
        assert_eq!(
            own_address(&env("10.0.0.1")).expect("one"),
            IpAddr::from([10, 0, 0, 1])
        );
        assert_eq!(
            own_address(&env("localhost")).expect("a name"),
            IpAddr::from([127, 0, 0, 1])
        );
        let wrong = own_address(&env("no such name")).expect_err("no address");
        assert_eq!(
            wrong.to_string(),
            "\"no such name\" is neither an IP address nor a name that resolves to one"
        );
        let none = variable(&Env::default(), POD_NAME).expect_err("not set");
        assert_eq!(none.to_string(), "POD_NAME is not set");
    }

    #[test]
    fn names_become_addresses_and_the_wait_for_others_ends_with_the_pod() {
        let cancel = Cancel::default();
        cancel.set();
        let mut silent = |line: &str| assert_eq!(line, "");
        let known = ["127.0.0.2".to_owned(), "127.0.0.1".to_owned()];
        let found = resolve(&known, &cancel, &mut silent).expect("addresses");
        assert_eq!(
            found,
            [IpAddr::from([127, 0, 0, 2]), IpAddr::from([127, 0, 0, 1])]
        );
        // Longer than any name can be: nobody is asked for it.
        let unknown = ["x".repeat(300)];
        let refused = resolve(&unknown, &cancel, &mut silent);
        assert!(matches!(refused, Err(LauncherError::Interrupted)));
    }
}
