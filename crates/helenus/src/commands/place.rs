//! Where a line in another program's words runs: hosts that it names, a cluster by name, or the only one that runs.
//! Refuses to choose among several, and a password on disk.

use crate::error::{CommandError, code};
use helenus_cluster::context::Context;
use helenus_cluster::kube::KubeClusters;
use helenus_cluster::{observe, reach};
use helenus_cql::{ConnectOptions, Credentials, Secret};
use helenus_lab::bench::Where;
use helenus_lab::target::HostAccess;
use helenus_model::access::{Access, CredentialsReference};
use std::net::{SocketAddr, ToSocketAddrs as _};

/// Where a line runs, and what must live as long as it does.
pub(crate) struct Place {
    pub(crate) to: Where,
    /// The password, in memory of ours that the generator opens.
    _password: Option<std::fs::File>,
}

/// Who logs in.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
}

/// A cluster of ours.
pub(crate) fn cluster(name: &str, context: &Context) -> Result<Place, CommandError> {
    context.clusters.load(name)?;
    Ok(Place {
        to: Where::Cluster(name.to_owned()),
        _password: None,
    })
}

/// What a login gives to get in there, and what must live as long.
fn given(login: Option<Login>) -> Result<(HostAccess, Option<std::fs::File>), CommandError> {
    let (credentials, password) = login.as_ref().map(kept).transpose()?.unzip();
    let options = ConnectOptions {
        credentials: login.map(|login| Credentials {
            username: login.user,
            password: Secret::new(login.password),
        }),
        ..ConnectOptions::default()
    };
    let access = Access {
        credentials,
        tls: None,
    };
    Ok((HostAccess { options, access }, password))
}

/// A cluster of ours on Kubernetes.
pub(crate) fn kube(
    name: &str,
    login: Option<Login>,
    context: &Context,
) -> Result<Place, CommandError> {
    KubeClusters::of(&context.paths.state).load(name)?;
    let (given, password) = given(login)?;
    Ok(Place {
        to: Where::Kube {
            name: name.to_owned(),
            given: Box::new(given),
        },
        _password: password,
    })
}

/// A cluster of ours on hosts.
pub(crate) fn on_hosts(
    name: &str,
    login: Option<Login>,
    context: &Context,
) -> Result<Place, CommandError> {
    let (given, password) = given(login)?;
    Ok(Place {
        to: super::hosts::place(name, given, context)?,
        _password: password,
    })
}

/// Hosts by their names or addresses; `named` is the cluster that may be written to though it is another's.
pub(crate) fn hosts(
    hosts: &[String],
    port: u16,
    named: Option<&str>,
    login: Option<Login>,
    context: &Context,
) -> Result<Place, CommandError> {
    let (given, password) = given(login)?;
    Ok(Place {
        to: Where::Hosts {
            ours: None,
            endpoints: addresses(hosts, port, context)?,
            named: named.map(str::to_owned),
            given: Box::new(given),
        },
        _password: password,
    })
}

/// The only cluster of ours that runs.
///
/// # Errors
/// None runs, or several do; `place` is how the line would name hosts.
pub(crate) fn the_one(context: &Context, place: &str) -> Result<String, CommandError> {
    let names = context.clusters.names().unwrap_or_default();
    let runs = |name: &String| {
        let state = context.clusters.load(name).ok();
        // One that ends with its command, such as an experiment's, is that command's alone.
        state.is_some_and(|state| {
            !state.ephemeral && observe::pids(&state).iter().any(|(_, pid)| pid.is_some())
        })
    };
    let running: Vec<String> = names.into_iter().filter(runs).collect();
    match &running[..] {
        [one] => Ok(one.clone()),
        [] => {
            let text = format!("the line has no {place}, and none of your clusters runs");
            Err(CommandError::new(code::USAGE, text)
                .hint(format!("helenus up c, or name hosts with {place}")))
        }
        several => {
            let text = format!(
                "the line has no {place}, and several of your clusters run: {}",
                several.join(", ")
            );
            let hint = format!("choose one with --cluster {}", several[0]);
            Err(CommandError::new(code::USAGE, text).hint(hint))
        }
    }
}

fn addresses(
    hosts: &[String],
    port: u16,
    context: &Context,
) -> Result<Vec<SocketAddr>, CommandError> {
    let mut all = Vec::new();
    for host in hosts {
        let found = match host.parse::<std::net::IpAddr>() {
            Ok(ip) => Ok(vec![SocketAddr::new(ip, port)]),
            Err(_) if host.rsplit_once(':').is_some() => host.to_socket_addrs().map(Vec::from_iter),
            Err(_) => (host.as_str(), port).to_socket_addrs().map(Vec::from_iter),
        };
        let found = found.map_err(|e| {
            let text = format!("{host}: no such host");
            let ours = context.clusters.names().unwrap_or_default().contains(host);
            CommandError::new(code::USAGE, text).hint(if ours {
                format!(
                    "{host} is one of your clusters: name no hosts, and put --cluster {host} first"
                )
            } else {
                e.to_string()
            })
        })?;
        // A name may have addresses of both versions; Cassandra listens at one.
        let four = found.iter().find(|address| address.is_ipv4());
        all.extend(four.or(found.first()).copied());
    }
    all.dedup();
    Ok(all)
}

/// The password in memory that only this user can read, and how the generator finds it.
fn kept(login: &Login) -> Result<(CredentialsReference, std::fs::File), CommandError> {
    let credentials = Credentials {
        username: login.user.clone(),
        password: Secret::new(login.password.clone()),
    };
    Ok(reach::held(&credentials)?)
}
