//! Where a stress line runs: hosts of the line, a cluster by name, or the only one that runs.
//! Refuses to choose among several, and a password on disk.

use crate::cli::stress::Stress as Flags;
use crate::commands::bench::access;
use crate::error::{CommandError, code};
use fs_err as fs;
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::observe;
use helenus_cql::ConnectOptions;
use helenus_lab::bench::Where;
use helenus_lab::target::Given;
use helenus_model::access::{Access, CredentialsReference, SecretReference};
use helenus_model::stress::Stress;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;

/// Where a line runs, and what must live as long as it does.
pub(super) struct Place {
    pub(super) to: Where,
    /// The password, in memory of ours that the generator opens.
    _password: Option<std::fs::File>,
}

/// Who logs in.
struct Login {
    user: String,
    password: String,
}

pub(super) fn place(stress: &Stress, flags: &Flags, hands: &Hands) -> Result<Place, CommandError> {
    let hosts = hosts(stress)?;
    if hosts.is_empty() || flags.cluster.is_some() {
        let name = match &flags.cluster {
            Some(name) => name.clone(),
            None => the_one(hands)?,
        };
        hands.clusters.load(&name)?;
        return Ok(Place {
            to: Where::Cluster(name),
            _password: None,
        });
    }
    if stress.transport.truststore.is_some() || stress.transport.keystore.is_some() {
        let text = "-transport names stores of Java, which cannot be read here";
        return Err(CommandError::new(code::BAR, text).hint(
            "a cluster of yours needs none: leave -node and -transport out; for others use `helenus run --hosts … --tls-ca FILE`"
                .to_owned(),
        ));
    }
    let login = login(stress)?;
    let (reference, password) = match &login {
        None => (None, None),
        Some(login) => {
            let (reference, kept) = kept(login)?;
            (Some(reference), Some(kept))
        }
    };
    let options = ConnectOptions {
        credentials: login.map(|login| helenus_cql::Credentials {
            username: login.user,
            password: helenus_cql::Secret::new(login.password),
        }),
        ..ConnectOptions::default()
    };
    let access = Access {
        credentials: reference,
        tls: None,
    };
    Ok(Place {
        to: Where::Hosts {
            endpoints: addresses(&hosts, stress.port.native.unwrap_or(9042))?,
            named: flags.i_may_write_to.clone(),
            given: Box::new(Given { options, access }),
        },
        _password: password,
    })
}

/// The hosts that the line or its file names.
pub(super) fn hosts(stress: &Stress) -> Result<Vec<String>, CommandError> {
    let Some(file) = &stress.node.file else {
        return Ok(stress.node.hosts.clone());
    };
    let text = fs::read_to_string(file).map_err(|e| CommandError::of(code::BAR, &e))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

/// The only cluster of ours that runs.
fn the_one(hands: &Hands) -> Result<String, CommandError> {
    let names = hands.clusters.names().unwrap_or_default();
    let runs = |name: &String| {
        let state = hands.clusters.load(name).ok();
        state.is_some_and(|state| observe::pids(&state).iter().any(|(_, pid)| pid.is_some()))
    };
    let running: Vec<String> = names.into_iter().filter(runs).collect();
    match &running[..] {
        [one] => Ok(one.clone()),
        [] => Err(CommandError::new(
            code::BAR,
            "the line has no -node, and no cluster of yours runs",
        )
        .hint("helenus up c, or name hosts behind -node".to_owned())),
        several => {
            let text = format!(
                "the line has no -node, and several clusters of yours run: {}",
                several.join(", ")
            );
            let hint = format!("helenus stress --cluster {} …", several[0]);
            Err(CommandError::new(code::BAR, text).hint(hint))
        }
    }
}

fn addresses(hosts: &[String], port: u16) -> Result<Vec<SocketAddr>, CommandError> {
    let mut all = Vec::new();
    for host in hosts {
        let found = match host.parse::<std::net::IpAddr>() {
            Ok(ip) => Ok(vec![SocketAddr::new(ip, port)]),
            Err(_) if host.rsplit_once(':').is_some() => host.to_socket_addrs().map(Vec::from_iter),
            Err(_) => (host.as_str(), port).to_socket_addrs().map(Vec::from_iter),
        };
        let found = found.map_err(|e| {
            let text = format!("-node {host}: no such host");
            CommandError::new(code::BAR, text).hint(format!("{e}"))
        })?;
        // A name may have addresses of both versions; Cassandra listens at one.
        let four = found.iter().find(|address| address.is_ipv4());
        all.extend(four.or(found.first()).copied());
    }
    all.dedup();
    Ok(all)
}

/// Who logs in: `-mode user= password=`, or a file.
fn login(stress: &Stress) -> Result<Option<Login>, CommandError> {
    if let Some(path) = &stress.credentials_file {
        let text = access::whole_private(path)?;
        let value = |key: &str| {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines
                .map(|(k, v)| (k.trim(), v.trim()))
                .find(|(k, _)| *k == key);
            found.map(|(_, value)| value.to_owned())
        };
        return match (value("cql.username"), value("cql.password")) {
            (Some(user), Some(password)) => Ok(Some(Login { user, password })),
            _ => Err(CommandError::new(
                code::BAR,
                format!("{path} lacks cql.username= or cql.password="),
            )),
        };
    }
    let user = stress.mode.user.clone();
    let password = stress.mode.password.as_ref();
    match (user, password) {
        (Some(user), Some(password)) => Ok(Some(Login {
            user,
            password: password.reveal().to_owned(),
        })),
        (None, None) => Ok(None),
        _ => Err(CommandError::new(
            code::BAR,
            "-mode: user= and password= go together",
        )),
    }
}

/// The password in memory that only this user can read, and how the generator finds it.
fn kept(login: &Login) -> Result<(CredentialsReference, std::fs::File), CommandError> {
    let failed = |e: std::io::Error| CommandError::of(code::BAR, &e);
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let fd = rustix::fs::memfd_create("helenus-password", flags).map_err(|e| failed(e.into()))?;
    rustix::fs::fchmod(&fd, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .map_err(|e| failed(e.into()))?;
    let mut file = std::fs::File::from(fd);
    writeln!(file, "{}", login.password).map_err(failed)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let reference = CredentialsReference {
        username: login.user.clone(),
        password: SecretReference::File(path),
    };
    Ok((reference, file))
}
