//! Runs statements for a person: after a schema change it waits until all nodes agree, as drivers do.
//! Refuses retries: an error is reported as the server said it.

use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::old_tables;
use crate::reach;
use crate::state::ClusterState;
use helenus_cql::codec::Consistency;
use helenus_cql::commands::Settings;
use helenus_cql::complete::Names;
use helenus_cql::describe::is_describe;
use helenus_cql::trace::{trace_is_whole, trace_queries, trace_rows};
use helenus_cql::{Client, ClientError, ConnectOptions, Rows, Statement};
use helenus_model::cql::uuid_text;
use helenus_model::plan::{ClusterPlan, NodePlan};
use std::time::{Duration, Instant};

/// Longest wait for a change of the schema, and then for all nodes to agree on it. The drivers
/// wait ten seconds for agreement; a node behind a slow disk (six with 500 KiB a second each were
/// seen to take longer) writes down what it learns before it agrees.
pub const SCHEMA_WITHIN: Duration = Duration::from_secs(60);

/// Longest wait for a connection and for each answer, as cqlsh has it.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Longest wait for a trace, which the nodes write down after they have answered; as cqlsh has it.
const TRACE_WITHIN: Duration = Duration::from_secs(10);

/// Words that start a schema change.
const SCHEMA_WORDS: [&str; 3] = ["CREATE", "ALTER", "DROP"];

/// A connection to the named node, or to the first that answers.
///
/// # Errors
/// None answers, or what answers at a node's address is not that node.
pub fn connect(state: &ClusterState, node: Option<&str>) -> Result<Client, ClusterError> {
    connect_to(state, node).map(|(client, _)| client)
}

fn connect_to<'a>(
    state: &'a ClusterState,
    node: Option<&str>,
) -> Result<(Client, &'a NodePlan), ClusterError> {
    let mut last = None;
    for plan in state.targets(node)? {
        match reach::connect(state, plan, ANSWER_WITHIN) {
            Ok(mut client) => {
                crate::guard::prove_node(state, plan, &mut client)?;
                return Ok((client, plan));
            }
            Err(source) => last = Some(ClusterError::silent(&plan.name, source)),
        }
    }
    Err(last.unwrap_or_else(|| ClusterError::not_running(&state.plan.name, "a node")))
}

/// Runs one statement at ONE.
///
/// # Errors
/// What the server or the connection reports.
pub fn run(
    state: &ClusterState,
    client: &mut Client,
    statement: &Statement,
) -> Result<Rows, ClientError> {
    let rows = client.query(&statement.text, Consistency::One)?;
    if changes_schema(&statement.text) {
        agree(state)?;
    }
    Ok(rows)
}

fn first_word(statement: &str) -> String {
    let first = statement.split_whitespace().next();
    first.unwrap_or_default().to_uppercase()
}

/// Whether a statement changes the schema.
pub fn changes_schema(statement: &str) -> bool {
    SCHEMA_WORDS.contains(&first_word(statement).as_str())
}

/// Why a statement of a session has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The server or the connection.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The connection was lost and cannot be made again.
    #[error(transparent)]
    Cluster(#[from] Box<ClusterError>),
    /// A server that is too old to describe what it has.
    #[error("DESCRIBE needs Cassandra 4.0 or later; this is {release}")]
    CannotDescribe {
        /// The release.
        release: String,
    },
}

impl SessionError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Client(error) => error.hint().map(str::to_owned),
            Self::Cluster(error) => error.hint(),
            Self::CannotDescribe { .. } => Some(
                "read system_schema instead (SELECT * FROM system_schema.tables), or use an installed \
                 cqlsh of that release"
                    .into(),
            ),
        }
    }
}

/// One page of an answer.
#[derive(Debug)]
pub struct Page {
    /// Its rows.
    pub rows: Rows,
    /// Where the next one starts; none after the last.
    pub next: Option<Vec<u8>>,
}

/// A connection with a person's settings.
#[derive(Debug)]
pub struct Session {
    state: ClusterState,
    asked: Option<String>,
    node: NodePlan,
    client: Client,
    cancel: Cancel,
    /// What the shell's commands set.
    pub settings: Settings,
}

impl Session {
    /// Connects to the named node, or to the first that answers; `cancel` ends the wait for an answer.
    ///
    /// # Errors
    /// As [`connect`].
    pub fn open(
        state: ClusterState,
        node: Option<&str>,
        settings: Settings,
        cancel: &Cancel,
    ) -> Result<Self, ClusterError> {
        let (mut client, plan) = connect_to(&state, node)?;
        client.cancel_by(cancel.flag());
        let node_plan = plan.clone();
        Ok(Self {
            asked: node.map(str::to_owned),
            node: node_plan,
            client,
            cancel: cancel.clone(),
            settings,
            state,
        })
    }

    /// The cluster.
    pub fn state(&self) -> &ClusterState {
        &self.state
    }

    /// The node that answers.
    pub fn node(&self) -> &NodePlan {
        &self.node
    }

    /// The keyspace in use, by its bare name.
    pub fn keyspace(&self) -> Option<&str> {
        self.client.keyspace()
    }

    /// The version of the protocol that is spoken.
    pub fn protocol(&self) -> helenus_cql::Version {
        self.client.protocol()
    }

    /// A page of a statement's answer, from the beginning or from where the page before ended.
    ///
    /// # Errors
    /// As the server or the connection says; a release that has no DESCRIBE.
    pub fn page(&mut self, statement: &str, from: Option<Vec<u8>>) -> Result<Page, SessionError> {
        let release = &self.state.plan.release;
        if is_describe(statement) && release.starts_with('3') {
            let release = release.clone();
            return Err(SessionError::CannotDescribe { release });
        }
        self.reconnect()?;
        let Settings {
            consistency,
            serial,
            tracing,
            page_rows,
            ..
        } = self.settings;
        let changes = changes_schema(statement);
        let slow = changes || first_word(statement) == "TRUNCATE";
        self.client
            .set_timeout(if slow { SCHEMA_WITHIN } else { ANSWER_WITHIN });
        self.client.set_serial_consistency(Some(serial));
        self.client.set_tracing(tracing);
        let page = match page_rows {
            Some(rows) => self.client.query_page(statement, consistency, rows, from),
            None => self.client.query(statement, consistency).map(|rows| {
                let paging_state = None;
                helenus_cql::client::Page { rows, paging_state }
            }),
        };
        self.client.set_tracing(false);
        let page = page?;
        if changes {
            agree(&self.state)?;
        }
        Ok(Page {
            rows: page.rows,
            next: page.paging_state,
        })
    }

    /// A new connection where the last one failed, in the keyspace that was in use.
    fn reconnect(&mut self) -> Result<(), SessionError> {
        if !self.client.is_broken() {
            return Ok(());
        }
        let used = self.client.keyspace().map(str::to_owned);
        let (mut client, plan) =
            connect_to(&self.state, self.asked.as_deref()).map_err(Box::new)?;
        let node = plan.clone();
        client.cancel_by(self.cancel.flag());
        if let Some(keyspace) = used {
            client.use_keyspace(&keyspace)?;
        }
        self.client = client;
        self.node = node;
        Ok(())
    }

    /// The whole answer to a statement of this program, at ONE and without a trace.
    ///
    /// # Errors
    /// What the server or the connection reports.
    pub fn ask(&mut self, statement: &str) -> Result<Rows, SessionError> {
        self.reconnect()?;
        self.client.set_timeout(ANSWER_WITHIN);
        Ok(self.client.query(statement, Consistency::One)?)
    }

    /// The server's warnings since this was last called.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.client.take_warnings()
    }

    /// The ids of the traces since this was last called.
    pub fn take_traces(&mut self) -> Vec<[u8; 16]> {
        self.client.take_traces()
    }

    /// A trace, which is waited for; none where the nodes have written none down.
    ///
    /// # Errors
    /// What the server or the connection reports.
    pub fn trace(&mut self, id: &[u8; 16]) -> Result<Option<Rows>, SessionError> {
        let begin = Instant::now();
        let [session, events] = trace_queries(&uuid_text(id));
        let mut known = None;
        loop {
            let head = self.ask(&session)?;
            let found = self.ask(&events)?;
            // Other nodes write their events down in their own time.
            let settled = trace_is_whole(&head) && known == Some(found.len());
            if settled || begin.elapsed() > TRACE_WITHIN {
                return Ok(trace_rows(&head, &found));
            }
            known = Some(found.len());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the cluster has, for whoever completes words.
    ///
    /// # Errors
    /// What the server or the connection reports.
    pub fn names(&mut self) -> Result<Names, SessionError> {
        self.reconnect()?;
        self.client.set_timeout(ANSWER_WITHIN);
        let mut names = Names::default();
        for schema in ["system_schema", "system_virtual_schema"] {
            let all = format!("SELECT keyspace_name FROM {schema}.keyspaces");
            let columns =
                format!("SELECT keyspace_name, table_name, column_name FROM {schema}.columns");
            let Some(keyspaces) = old_tables::if_there(&mut self.client, &all)? else {
                continue;
            };
            for row in keyspaces.iter() {
                names.keyspace(row.text("keyspace_name").unwrap_or_default());
            }
            let columns = old_tables::if_there(&mut self.client, &columns)?.unwrap_or_default();
            for row in columns.iter() {
                let cell = |column: &str| row.text(column).unwrap_or_default();
                names.column(
                    cell("keyspace_name"),
                    cell("table_name"),
                    cell("column_name"),
                );
            }
        }
        Ok(names)
    }
}

/// Waits until every node that answers has one schema version, each asked itself: what one node
/// knows of another's lags behind by a round of gossip.
///
/// # Errors
/// A node that answered stops answering, or they do not agree in time.
pub fn agree(state: &ClusterState) -> Result<(), ClientError> {
    agree_among(&state.plan, &reach::options_of(state, SCHEMA_WITHIN)?)
}

/// [`agree`] for nodes that are reached so.
///
/// # Errors
/// As [`agree`].
pub fn agree_among(plan: &ClusterPlan, options: &ConnectOptions) -> Result<(), ClientError> {
    let begin = Instant::now();
    let options = ConnectOptions {
        timeout: SCHEMA_WITHIN,
        ..options.clone()
    };
    let addresses = plan.nodes.iter().map(|node| reach::cql_address(plan, node));
    let mut clients: Vec<Client> = addresses
        .filter_map(|at| Client::connect(at, &options).ok())
        .collect();
    loop {
        let mut versions = Vec::new();
        for client in &mut clients {
            let rows = client.query("SELECT schema_version FROM system.local", Consistency::One)?;
            versions.push(rows.text(0, "schema_version"));
        }
        versions.dedup();
        if versions.len() <= 1 {
            return Ok(());
        }
        if begin.elapsed() > SCHEMA_WITHIN {
            return Err(ClientError::TimedOut {
                during: "schema agreement",
                limit: SCHEMA_WITHIN,
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
