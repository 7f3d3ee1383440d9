//! Runs statements for a person: after a schema change it waits until all nodes agree, as drivers do.
//! Refuses retries: an error is told as the server said it.

use crate::error::ClusterError;
use crate::reach;
use crate::state::ClusterState;
use helenus_cql::codec::Consistency;
use helenus_cql::{Client, ClientError, Statement, render_rows};
use helenus_model::cql::CqlValue;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for a change of the schema, and then for all nodes to agree on it. The drivers
/// wait ten seconds for agreement; a node behind a slow disk (six with 500 KiB a second each were
/// seen to take longer) writes down what it learns before it agrees.
pub const SCHEMA_WITHIN: Duration = Duration::from_secs(60);

/// Longest wait for a connection and for each answer, as cqlsh has it.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Words that begin a schema change.
const SCHEMA_WORDS: [&str; 3] = ["CREATE", "ALTER", "DROP"];

/// What a statement answered.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The statement.
    pub statement: String,
    /// Column names.
    pub columns: Vec<String>,
    /// Rows; each value as JSON of its CQL type and value.
    pub rows: Vec<BTreeMap<String, Option<CqlValue>>>,
    /// As cqlsh prints it.
    #[serde(skip)]
    pub text: String,
}

/// A connection to the named node, or to the first that answers.
///
/// # Errors
/// None answers, or what answers at a node's address is not that node.
pub fn connect(state: &ClusterState, node: Option<&str>) -> Result<Client, ClusterError> {
    let mut last = None;
    for plan in state.targets(node)? {
        match reach::connect(state, plan, ANSWER_WITHIN) {
            Ok(mut client) => {
                crate::guard::prove_node(state, plan, &mut client)?;
                return Ok(client);
            }
            Err(source) => {
                last = Some(ClusterError::Silent {
                    node: plan.name.clone(),
                    source,
                })
            }
        }
    }
    Err(last.unwrap_or_else(|| ClusterError::NotRunning {
        cluster: state.plan.name.clone(),
        node: "a node".into(),
    }))
}

/// Runs one statement at ONE.
///
/// # Errors
/// As the server or the connection says.
pub fn run(
    state: &ClusterState,
    client: &mut Client,
    statement: &Statement,
) -> Result<Answer, ClientError> {
    let rows = client.query(&statement.text, Consistency::One)?;
    let first = statement
        .text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_uppercase();
    if SCHEMA_WORDS.contains(&first.as_str()) {
        agree(state)?;
    }
    let text = if rows.columns.is_empty() {
        String::new()
    } else {
        render_rows(&rows)
    };
    let columns: Vec<String> = rows.columns.iter().map(|c| c.name.clone()).collect();
    let by_name = |row: &Vec<Option<CqlValue>>| {
        columns
            .iter()
            .cloned()
            .zip(row.iter().cloned())
            .collect::<BTreeMap<_, _>>()
    };
    Ok(Answer {
        statement: statement.text.clone(),
        rows: rows.rows.iter().map(by_name).collect(),
        columns,
        text,
    })
}

/// Waits until every node that answers has one schema version, each asked itself: what one node
/// knows of another's lags behind by a round of gossip.
///
/// # Errors
/// A node that answered stops answering, or they do not agree in time.
pub fn agree(state: &ClusterState) -> Result<(), ClientError> {
    let begin = Instant::now();
    let options = reach::options_of(state, SCHEMA_WITHIN)?;
    let mut clients: Vec<Client> = state
        .plan
        .nodes
        .iter()
        .filter_map(|node| reach::connect_as(state, node, &options).ok())
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
