//! The one room through which every connection to a cluster of ours goes: with its credentials and certificates.
//! Refuses to send a password in the clear to a process that is not the node's own, and to keep what it read.

use crate::net::client::Dialer;
use crate::socket::is_node_s_own;
use crate::state::{ClusterState, Clusters};
use fs_err as fs;
use helenus_cql::client::{
    Client, ClientError, ConnectOptions, Credentials, Dial, Identity, Secret, TcpDialer, Tls,
};
use helenus_cql::input;
use helenus_model::access::{Access, CredentialsReference, SecretReference, TlsReference};
use helenus_model::plan::{ClusterPlan, NodePlan};
use rustix::fs::{MemfdFlags, Mode};
use std::fs::File;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The superuser that every Cassandra makes, and its password.
pub(crate) const STOCK: &str = "cassandra";

/// Where a node answers CQL.
pub fn cql_address(plan: &ClusterPlan, node: &NodePlan) -> SocketAddr {
    SocketAddr::from((node.address, plan.ports.cql))
}

/// A connection to a node of ours; `within` limits the dialling and then each request.
///
/// # Errors
/// A file of the cluster's access cannot be used, another process listens at the node's address, or the node does not
/// let us in.
pub fn connect(
    state: &ClusterState,
    node: &NodePlan,
    within: Duration,
) -> Result<Client, ClientError> {
    connect_as(state, node, &options_of(state, within)?)
}

/// How to connect to the nodes of a cluster of ours.
///
/// # Errors
/// As [`options`].
pub fn options_of(state: &ClusterState, within: Duration) -> Result<ConnectOptions, ClientError> {
    Ok(ConnectOptions {
        dialer: dialer(state),
        ..options(&state.access, within)?
    })
}

/// Who opens connections to the nodes of a cluster that has a network of its own.
pub fn dialer(state: &ClusterState) -> Option<Arc<dyn Dial + Send + Sync>> {
    let network = state.plan.network.as_ref()?;
    Some(Arc::new(Dialer::new(
        Path::new(&state.plan.folder),
        network,
    )))
}

/// The command that runs a program where a node's address can be reached: in the cluster's own network, from that of
/// its namespaces, or right here.
///
/// # Errors
/// This program's own path cannot be had.
pub fn command(
    state: &ClusterState,
    space: &str,
    program: impl AsRef<std::ffi::OsStr>,
) -> std::io::Result<Command> {
    if state.plan.network.is_none() {
        return Ok(Command::new(program));
    }
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("__within")
        .arg(&state.plan.folder)
        .arg(space)
        .arg(program);
    Ok(command)
}

/// A connection to an address of a cluster of ours, or of this process's own network where it has none.
///
/// # Errors
/// Whatever the system reports.
pub fn dial(
    state: &ClusterState,
    addr: SocketAddr,
    within: Duration,
) -> std::io::Result<TcpStream> {
    match dialer(state) {
        Some(dialer) => dialer.dial(addr, within),
        None => TcpDialer.dial(addr, within),
    }
}

/// [`connect`] with options at hand: for whoever connects often.
///
/// # Errors
/// As [`connect`], but for the files.
pub fn connect_as(
    state: &ClusterState,
    node: &NodePlan,
    options: &ConnectOptions,
) -> Result<Client, ClientError> {
    let addr = cql_address(&state.plan, node);
    let with_dialer;
    let options = match (&options.dialer, dialer(state)) {
        (None, Some(dialer)) => {
            with_dialer = ConnectOptions {
                dialer: Some(dialer),
                ..options.clone()
            };
            &with_dialer
        }
        _ => options,
    };
    let in_the_clear = options.credentials.is_some() && options.tls.is_none();
    if in_the_clear && !is_node_s_own(node, addr) {
        return Err(ClientError::Refused { addr });
    }
    Client::connect(addr, options).map_err(|error| match error {
        ClientError::Refusal { username, message }
            if state.plan.security.auth && !state.secured =>
        {
            let name = &state.plan.name;
            let message = format!(
                "{message} (its `up` was cut short before its roles were made: `helenus start {name}` makes them)"
            );
            ClientError::Refusal { username, message }
        }
        other => other,
    })
}

/// How to connect to a cluster that is got into in this way: reads its files.
///
/// # Errors
/// [`ClientError::Key`]: a file is missing, open to others, or not what it should be.
pub fn options(access: &Access, within: Duration) -> Result<ConnectOptions, ClientError> {
    let credentials = access.credentials.as_ref().map(|reference| {
        Ok(Credentials {
            username: reference.username.clone(),
            password: Secret::new(password(&reference.password)?),
        })
    });
    Ok(ConnectOptions {
        timeout: within,
        credentials: credentials.transpose()?,
        tls: access.tls.as_ref().map(tls).transpose()?,
        ..ConnectOptions::default()
    })
}

/// How to connect to an address that a person named: what they gave, and where they gave nothing and a node of ours
/// stands at that address, what its cluster needs.
///
/// # Errors
/// As [`options`].
pub fn options_for(
    clusters: &Clusters,
    host: SocketAddr,
    given: &ConnectOptions,
) -> Result<ConnectOptions, ClientError> {
    if given.credentials.is_some() || given.tls.is_some() {
        return Ok(given.clone());
    }
    match node_at(clusters, host) {
        Some((state, node)) if is_node_s_own(&node, host) => options_of(&state, given.timeout),
        // Where nothing of ours listens no credentials are sent, and in the cluster's network nobody else is asked.
        Some((state, _)) => Ok(ConnectOptions {
            dialer: dialer(&state),
            ..given.clone()
        }),
        None => Ok(given.clone()),
    }
}

/// The node of this user that stands at that very address and port, by the states on disk.
pub fn node_at(clusters: &Clusters, host: SocketAddr) -> Option<(ClusterState, NodePlan)> {
    let names = clusters.names().ok()?;
    let mut states = names.iter().filter_map(|name| clusters.load(name).ok());
    states.find_map(|state| {
        let here = |node: &&NodePlan| cql_address(&state.plan, node) == host;
        let node = state.plan.nodes.iter().find(here)?.clone();
        Some((state, node))
    })
}

fn password(reference: &SecretReference) -> Result<String, ClientError> {
    match reference {
        SecretReference::Variable(name) => std::env::var(name).map_err(|error| key(name, error)),
        SecretReference::File(path) => {
            let text = private(path)?;
            let text = String::from_utf8(text).map_err(|error| key(path, error.utf8_error()))?;
            Ok(text.trim_end_matches(['\n', '\r']).to_owned())
        }
    }
}

/// Trust and certificate as files hold them.
///
/// # Errors
/// As [`options`].
pub fn tls(reference: &TlsReference) -> Result<Tls, ClientError> {
    let ca = read(&reference.ca)?;
    let name = reference.name.as_deref();
    let Some(client) = &reference.client else {
        return Tls::of(&ca, name, None).map_err(|error| key(&reference.ca, error));
    };
    let certificate = read(&client.certificate)?;
    let identity = Identity {
        certificate: &certificate,
        key: &private(&client.key)?,
    };
    Tls::of(&ca, name, Some(identity)).map_err(|error| key(&client.certificate, error))
}

/// A file that only its owner can read.
fn private(path: &str) -> Result<Vec<u8>, ClientError> {
    let found = fs::metadata(path).map_err(|error| key(path, error))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let open = format!("others can read it (mode {mode:03o}): chmod 600 {path}");
        return Err(ClientError::Key {
            what: path.to_owned(),
            source: open.into(),
        });
    }
    read(path)
}

fn read(path: &str) -> Result<Vec<u8>, ClientError> {
    input::bytes(Path::new(path)).map_err(|error| key(path, error.bare()))
}

fn key(what: &str, source: impl std::error::Error + Send + Sync + 'static) -> ClientError {
    ClientError::Key {
        what: what.to_owned(),
        source: Box::new(source),
    }
}

/// A password in memory that only this user can read, and how it is found there for as long as the file is open.
///
/// # Errors
/// There is no memory for it.
pub fn held(credentials: &Credentials) -> io::Result<(CredentialsReference, File)> {
    let fd = rustix::fs::memfd_create("helenus-password", MemfdFlags::CLOEXEC)?;
    rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
    let mut file = File::from(fd);
    writeln!(file, "{}", credentials.password.expose())?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let reference = CredentialsReference {
        username: credentials.username.clone(),
        password: SecretReference::File(path),
    };
    Ok((reference, file))
}

/// A connection to a node that may still be on its way up: as the stock superuser until there is one of ours.
pub(crate) fn connect_before(
    state: &ClusterState,
    node: &NodePlan,
    within: Duration,
) -> Result<Client, ClientError> {
    if state.plan.security.auth && !state.secured {
        match stock(state, node, within) {
            // Somebody was here before, and was interrupted.
            Err(ClientError::Refusal { .. }) => {}
            other => return other,
        }
    }
    connect(state, node, within)
}

/// A connection as the stock superuser.
pub(crate) fn stock(
    state: &ClusterState,
    node: &NodePlan,
    within: Duration,
) -> Result<Client, ClientError> {
    connect_as(state, node, &as_stock(&options_of(state, within)?))
}

/// The same way in, as the stock superuser.
pub(crate) fn as_stock(options: &ConnectOptions) -> ConnectOptions {
    ConnectOptions {
        credentials: Some(Credentials {
            username: STOCK.to_owned(),
            password: Secret::new(STOCK),
        }),
        ..options.clone()
    }
}
