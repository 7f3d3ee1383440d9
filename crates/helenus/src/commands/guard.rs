//! `helenus guard`: may a test write to these addresses? One line, one exit code.
//! Refuses to write anything itself, and to ask for credentials: what wants some is not proved ours.

use crate::cli::guard::{Guard, NOT_CQL};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::{ClusterError, NodeError, with_causes};
use helenus_cluster::guard;
use helenus_cluster::reach::cql_address;
use helenus_cql::ClientError;
use helenus_model::format::Format;
use helenus_model::guard::{Accept, Answer, Sight, Silence, Standing, judge_hosts};
use serde::Serialize;
use std::net::{SocketAddr, ToSocketAddrs as _};

#[derive(Serialize)]
struct Guarded {
    format: Format,
    #[serde(flatten)]
    answer: Answer,
    /// What was seen at each address.
    hosts: Vec<Seen>,
}

impl Answers for Guarded {
    fn answer(&self) -> String {
        let word = match self.answer.verdict {
            Standing::Ours => "ours",
            Standing::Accepted => "accepted",
            Standing::Foreign => "foreign",
            Standing::Unreachable => "unreachable",
        };
        format!("{word}: {}", self.answer.why)
    }
}

/// What was seen at one address.
#[derive(Serialize)]
struct Seen {
    /// The address.
    host: String,
    /// What was seen; absent without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    sight: Option<Sight>,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    silence: Option<String>,
}

pub(crate) fn run(flags: &Guard, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let addresses = match &flags.name {
        Some(name) => {
            let state = context.clusters.load(name)?;
            let nodes = state.plan.nodes.iter();
            nodes.map(|n| Ok(cql_address(&state.plan, n))).collect()
        }
        None => resolve(&flags.hosts, flags.port),
    };
    let seen: Vec<(String, Result<Sight, Silence>)> = addresses
        .into_iter()
        .map(|address| match address {
            Ok(address) => (address.to_string(), look(context, address)),
            Err((host, silence)) => (host, Err(silence)),
        })
        .collect();
    let accept = Accept {
        names: flags.accept_name.clone(),
        keyspaces: flags.accept_keyspace.clone(),
    };
    let mut answer = judge_hosts(&seen, &accept);
    if let (Some(wanted), Some(found)) = (&flags.name, &answer.cluster)
        && wanted != found
    {
        answer = Answer {
            verdict: Standing::Foreign,
            why: format!("{found} answers at the addresses of {wanted}"),
            cluster: None,
        };
    }
    let exit = match answer.verdict {
        Standing::Ours | Standing::Accepted => 0,
        Standing::Foreign => 1,
        Standing::Unreachable => code::ENVIRONMENT,
    };
    let guarded = Guarded {
        format: Format::new("guard", 1),
        answer,
        hosts: seen.into_iter().map(shown).collect(),
    };
    ui.result(&guarded, || guarded.answer() + "\n");
    Ok(exit)
}

fn shown((host, seen): (String, Result<Sight, Silence>)) -> Seen {
    let (sight, silence) = match seen {
        Ok(sight) => (Some(sight), None),
        Err(silence) => (None, Some(silence.why)),
    };
    Seen {
        host,
        sight,
        silence,
    }
}

/// Every address of each name: a driver may take any of them.
fn resolve(hosts: &[String], port: u16) -> Vec<Result<SocketAddr, (String, Silence)>> {
    let unknown = |host: &str, why: String| {
        let silence = Silence {
            why,
            guarded: false,
        };
        vec![Err((host.to_owned(), silence))]
    };
    hosts
        .iter()
        .map(|host| host.trim())
        .flat_map(|host| match (host, port).to_socket_addrs() {
            Ok(found) => found.map(Ok).collect(),
            Err(error) => unknown(host, format!("the name does not resolve: {error}")),
        })
        .collect()
}

fn look(context: &Context, address: SocketAddr) -> Result<Sight, Silence> {
    let seen = guard::look(
        &context.clusters,
        address,
        &helenus_cql::ConnectOptions::default(),
    );
    let mut silence = match seen {
        Ok(sight) => return Ok(sight),
        Err(error) => silence(&error),
    };
    let of = NOT_CQL.iter().find(|(port, _)| *port == address.port());
    if let Some((port, of)) = of {
        silence.why = format!(
            "{}; {port} is the port of {of}: name CQL's with --port, mostly 9042",
            silence.why
        );
    }
    Err(silence)
}

fn silence(error: &ClusterError) -> Silence {
    match error.find() {
        Some(NodeError::Silent { source, .. }) => Silence {
            why: with_causes(source),
            guarded: matches!(
                source,
                ClientError::CredentialsMissing { .. } | ClientError::Authenticator { .. }
            ),
        },
        _ => Silence {
            why: with_causes(error),
            guarded: false,
        },
    }
}
