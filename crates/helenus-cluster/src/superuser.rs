//! The roles of a cluster with authentication, once its nodes answer: a superuser of ours, and a stock one that can do
//! nothing any more.
//! Refuses to leave `cassandra`/`cassandra` behind: every node is asked whether it still takes it.

use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::reach::{self, STOCK};
use crate::ready::ReadyError;
use crate::secure::{SecureError, random_word};
use crate::shell;
use crate::state::ClusterState;
use helenus_cql::client::{Client, ClientError, ConnectOptions};
use helenus_cql::codec::Consistency;
use helenus_model::plan::{ClusterPlan, NodePlan, auth_copies};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Longest wait for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Longest time for all of it: a handful of statements.
const FINISH_WITHIN: Duration = Duration::from_secs(60);

/// Longest wait until nodes forget the stock password: what stock and most files say of credentials_validity is 2 s.
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(6);

/// Between two tries.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Gives a cluster that is otherwise ready its roles; nothing where it has them. It can be done again at any point.
///
/// # Errors
/// A node does not do it in time, or still takes the stock superuser.
pub(crate) fn finish(
    state: &ClusterState,
    running: &BTreeSet<String>,
    cancel: &Cancel,
) -> Result<(), ClusterError> {
    if !state.plan.security.auth || state.secured {
        return Ok(());
    }
    let nodes = state
        .plan
        .nodes
        .iter()
        .filter(|n| running.contains(&n.name));
    let nodes: Vec<&NodePlan> = nodes.collect();
    let Some(first) = nodes.first() else {
        return Ok(());
    };
    let options = reach::options_of(state, ANSWER_WITHIN);
    let door = Door {
        plan: &state.plan,
        options: options.map_err(|source| roles_error(first, "logging in", source))?,
    };
    door.secure(&nodes, cancel)
}

/// A cluster whose nodes answer, and what gets into them once they are secured.
pub(crate) struct Door<'a> {
    /// The cluster.
    pub(crate) plan: &'a ClusterPlan,
    /// With the superuser that is to be.
    pub(crate) options: ConnectOptions,
}

impl Door<'_> {
    fn connect(&self, node: &NodePlan) -> Result<Client, ClientError> {
        Client::connect(reach::cql_address(self.plan, node), &self.options)
    }

    fn stock(&self, node: &NodePlan) -> Result<Client, ClientError> {
        let options = reach::as_stock(&self.options);
        Client::connect(reach::cql_address(self.plan, node), &options)
    }

    /// Makes the superuser and disarms the stock one at these nodes, which all answer.
    ///
    /// # Errors
    /// As [`finish`].
    pub(crate) fn secure(&self, nodes: &[&NodePlan], cancel: &Cancel) -> Result<(), ClusterError> {
        let Some(first) = nodes.first() else {
            return Ok(());
        };
        let patience = Patience {
            until: Instant::now() + FINISH_WITHIN,
            cancel,
        };
        patience.with(first, "making the superuser", || self.create(first))?;
        let mut client = patience.with(first, "logging in", || self.connect(first))?;
        patience.with(first, "replicating system_auth", || {
            run(&mut client, &replicate(self.plan))?;
            shell::agree_among(self.plan, &self.options)
        })?;
        let disarm = disarm()?;
        patience.with(first, "disarming the stock superuser", || {
            run(&mut client, &disarm)
        })?;
        for node in nodes {
            patience.with(node, "logging in", || self.connect(node))?;
            // A node may keep what it knew of a password for as long as credentials_validity says.
            let until = Instant::now() + FORGOTTEN_WITHIN;
            loop {
                match self.stock(node) {
                    Err(ClientError::Refusal { .. } | ClientError::Server { .. }) => break,
                    Err(source) => {
                        return Err(
                            roles_error(node, "looking for the stock superuser", source).into()
                        );
                    }
                    Ok(_) if cancel.is_set() => return Err(ReadyError::Interrupted.into()),
                    Ok(_) if Instant::now() > until => {
                        let node = node.name.clone();
                        return Err(SecureError::StockSuperuser { node }.into());
                    }
                    Ok(_) => std::thread::sleep(TRY_EVERY),
                }
            }
        }
        Ok(())
    }

    /// Makes the superuser of ours, unless it is there.
    fn create(&self, node: &NodePlan) -> Result<(), ClientError> {
        let mut client = match self.stock(node) {
            // Then it must have been there before.
            Err(ClientError::Refusal { .. }) => return self.connect(node).map(drop),
            other => other?,
        };
        let Some(own) = &self.options.credentials else {
            return Ok(());
        };
        // A password of ours is hexadecimal, a user name of ours a word: neither needs quoting. Statements that hold one
        // are logged nowhere: slow-query logging is for SELECT, and auditing is off.
        let cql = format!(
            "CREATE ROLE IF NOT EXISTS {} WITH PASSWORD = '{}' AND SUPERUSER = true AND LOGIN = true",
            own.username,
            own.password.expose()
        );
        run(&mut client, &cql)
    }
}

/// How long things are tried, and when not.
struct Patience<'a> {
    until: Instant,
    cancel: &'a Cancel,
}

impl Patience<'_> {
    fn with<T>(
        &self,
        node: &NodePlan,
        what: &'static str,
        mut attempt: impl FnMut() -> Result<T, ClientError>,
    ) -> Result<T, ClusterError> {
        loop {
            if self.cancel.is_set() {
                return Err(ReadyError::Interrupted.into());
            }
            match attempt() {
                Ok(done) => return Ok(done),
                // A file of ours does not come back by waiting.
                Err(source @ ClientError::Key { .. }) => {
                    return Err(roles_error(node, what, source).into());
                }
                Err(source) if Instant::now() > self.until => {
                    return Err(roles_error(node, what, source).into());
                }
                Err(error) => tracing::debug!(node = node.name, what, %error, "tried"),
            }
            std::thread::sleep(TRY_EVERY);
        }
    }
}

fn roles_error(node: &NodePlan, what: &'static str, source: ClientError) -> SecureError {
    SecureError::Roles {
        node: node.name.clone(),
        what,
        source: Box::new(source),
    }
}

/// Copies of `system_auth` in every data centre, as one does in production.
fn replicate(plan: &ClusterPlan) -> String {
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &plan.nodes {
        *nodes.entry(&node.data_center).or_default() += 1;
    }
    let copies: Vec<String> = nodes
        .into_iter()
        .map(|(name, nodes)| format!("'{name}': {}", auth_copies(nodes)))
        .collect();
    format!(
        "ALTER KEYSPACE system_auth WITH replication = {{'class': 'NetworkTopologyStrategy', {}}}",
        copies.join(", ")
    )
}

/// The stock superuser without rights, log-in or known password. It stays, or a node would make it again.
fn disarm() -> Result<String, SecureError> {
    let password = random_word()?;
    Ok(format!(
        "ALTER ROLE {STOCK} WITH PASSWORD = '{password}' AND SUPERUSER = false AND LOGIN = false"
    ))
}

fn run(client: &mut Client, cql: &str) -> Result<(), ClientError> {
    client.query(cql, Consistency::One).map(drop)
}
