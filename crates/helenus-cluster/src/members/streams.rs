//! Streams between nodes as those that send report them: in `system_views.streaming`, and before 4.1 through nodetool.
//! Refuses to count what was streamed before: only what has moved since it began to look.

use super::tool;
use crate::cancel::Cancel;
use crate::old_tables;
use crate::reach;
use crate::state::ClusterState;
use crate::wall::since_1970;
use helenus_cql::client::Client;
use helenus_cql::rows::Rows;
use helenus_model::cql::CqlValue;
use helenus_model::membership::Streamed;
use helenus_model::plan::NodePlan;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Between two looks through a tool, which is a JVM each.
const ASK_EVERY: Duration = Duration::from_secs(4);

/// A node that is busy streaming may take its time.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// When a stream moved last: the column's names.
const MOVED: [&str; 2] = ["last_updated_at", "last_updated"];

/// Looks at the streams of a cluster.
pub(super) struct Streams {
    clients: BTreeMap<String, Client>,
    since_ms: i64,
    /// Whether the release has the table; none before the first answer.
    has_table: Option<bool>,
    looked: Option<Instant>,
    seen: Streamed,
}

impl Streams {
    pub(super) fn begin() -> Self {
        Self {
            clients: BTreeMap::new(),
            since_ms: i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX),
            has_table: None,
            looked: None,
            seen: Streamed::default(),
        }
    }

    /// What has moved so far, where it is time for a look and something is to be reported: the senders are asked, or
    /// through nodetool `one` that sends or gets all of it.
    pub(super) fn look(
        &mut self,
        state: &ClusterState,
        senders: &[&NodePlan],
        one: &str,
        cancel: &Cancel,
    ) -> Option<Streamed> {
        let every = match self.has_table {
            Some(false) => ASK_EVERY,
            _ => LOOK_EVERY,
        };
        if self.looked.is_some_and(|at| at.elapsed() < every) {
            return None;
        }
        self.looked = Some(Instant::now());
        let now = if self.has_table == Some(false) {
            tool::netstats(state, one, cancel).ok()?.streamed
        } else {
            let sent = senders.iter().filter_map(|node| self.sent_by(state, node));
            sent.collect::<Vec<_>>()
                .into_iter()
                .fold(Streamed::default(), Streamed::and)
        };
        let before = self.seen;
        self.seen = self.seen.furthest(now);
        (self.seen != before).then_some(self.seen)
    }

    /// What one node sends; none where it cannot be asked now.
    fn sent_by(&mut self, state: &ClusterState, node: &NodePlan) -> Option<Streamed> {
        let mut client = match self.clients.remove(&node.name) {
            Some(client) => client,
            None => reach::connect(state, node, ANSWER_WITHIN).ok()?,
        };
        let rows =
            old_tables::if_there(&mut client, "SELECT * FROM system_views.streaming").ok()?;
        self.clients.insert(node.name.clone(), client);
        self.has_table = Some(rows.is_some());
        Some(sum(&rows?, self.since_ms))
    }
}

/// What the rows report of streams that moved since then.
fn sum(rows: &Rows, since_ms: i64) -> Streamed {
    let number = |row: usize, column: &str| match rows.value(row, column) {
        Some(CqlValue::Bigint(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    };
    // A node that leaves sends to several peers in one plan: a stream is one peer's.
    let peers = |row: usize| match rows.value(row, "peers") {
        Some(CqlValue::List(peers)) => peers.len().max(1) as u64,
        _ => 1,
    };
    let moved = |row: usize| MOVED.iter().find_map(|column| rows.value(row, column));
    let recent =
        |row: &usize| matches!(moved(*row), Some(CqlValue::Timestamp(ms)) if *ms >= since_ms);
    (0..rows.rows.len())
        .filter(recent)
        .map(|row| {
            let total_bytes = number(row, "bytes_to_send");
            Streamed {
                done_bytes: number(row, "bytes_sent"),
                total_bytes,
                streams: if total_bytes > 0 { peers(row) } else { 0 },
            }
        })
        .fold(Streamed::default(), Streamed::and)
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_cql::codec::result::ColumnSpec;
    use helenus_model::cql::CqlType;

    #[test]
    fn a_plan_with_three_peers_is_three_streams() {
        let columns = ["last_updated_at", "bytes_to_send", "bytes_sent", "peers"];
        let row = |at: i64, bytes: i64| {
            let peers = ["a", "b", "c"].map(|peer| CqlValue::Text(peer.into()));
            vec![
                Some(CqlValue::Timestamp(at)),
                Some(CqlValue::Bigint(bytes)),
                Some(CqlValue::Bigint(bytes)),
                Some(CqlValue::List(peers.into())),
            ]
        };
        let rows = Rows {
            columns: columns
                .map(|name| ColumnSpec {
                    keyspace: "system_views".into(),
                    table: "streaming".into(),
                    name: name.into(),
                    ty: CqlType::Text,
                })
                .into(),
            // The second moved before, the third sends nothing.
            rows: vec![row(20, 555), row(5, 9), row(21, 0)],
        };
        let total = sum(&rows, 10);
        assert_eq!((total.streams, total.done_bytes), (3, 555));
    }
}
