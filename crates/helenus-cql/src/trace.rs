//! What the nodes wrote down of a traced request, as rows in the columns that cqlsh has for it.
//! Refuses to read the tables, and to wait for them: whoever holds the connection does.

use crate::rows::{ColumnSpec, RowView, Rows};
use helenus_model::cql::{CqlType, CqlValue};

/// 100-nanosecond steps from 1582-10-15, where version 1 UUIDs start to count, to 1970-01-01.
const EPOCH_OF_UUIDS: u64 = 0x01b2_1dd2_1381_4000;

/// The statements that read the trace of this id, a UUID's text: its session and its events.
pub fn trace_queries(id: &str) -> [String; 2] {
    [
        format!(
            "SELECT client, coordinator, duration, request, started_at \
             FROM system_traces.sessions WHERE session_id = {id}"
        ),
        format!(
            "SELECT event_id, activity, source, source_elapsed \
             FROM system_traces.events WHERE session_id = {id}"
        ),
    ]
}

/// Whether the session is written down to its end.
pub fn trace_is_whole(session: &Rows) -> bool {
    session
        .first()
        .is_some_and(|row| row.int("duration").is_ok())
}

/// The trace as one table: the request, what each node did, the end; none where there is no session.
pub fn trace_rows(session: &Rows, events: &Rows) -> Option<Rows> {
    let head = session.first()?;
    let value = |row: &RowView<'_>, column: &str| row.value(column).ok().flatten().cloned();
    let text = |text: &str| Some(CqlValue::Text(text.to_owned()));
    let (started, coordinator) = (
        head.timestamp_millis("started_at").ok(),
        value(&head, "coordinator"),
    );
    let client = value(&head, "client");
    let request = head.text("request").unwrap_or("the request");
    let mut rows = vec![vec![
        text(request),
        started.map(CqlValue::Timestamp),
        coordinator.clone(),
        Some(CqlValue::Int(0)),
        client.clone(),
    ]];
    rows.extend(events.iter().map(|event| {
        let at = event
            .uuid("event_id")
            .ok()
            .map(|id| CqlValue::Timestamp(millis(&id)));
        vec![
            value(&event, "activity"),
            at,
            value(&event, "source"),
            value(&event, "source_elapsed"),
            client.clone(),
        ]
    }));
    if let Ok(duration) = head.int("duration") {
        let ended = started.map(|at| CqlValue::Timestamp(at + i64::from(duration) / 1_000));
        let elapsed = Some(CqlValue::Int(duration));
        rows.push(vec![
            text("Request complete"),
            ended,
            coordinator,
            elapsed,
            client,
        ]);
    }
    let column = |(name, ty): (&str, CqlType)| ColumnSpec {
        keyspace: "system_traces".to_owned(),
        table: "events".to_owned(),
        name: name.to_owned(),
        ty,
    };
    let columns = [
        ("activity", CqlType::Text),
        ("timestamp", CqlType::Timestamp),
        ("source", CqlType::Inet),
        ("source_elapsed", CqlType::Int),
        ("client", CqlType::Inet),
    ];
    Some(Rows {
        columns: columns.into_iter().map(column).collect(),
        rows,
    })
}

/// The time of a version 1 UUID, in milliseconds since 1970.
fn millis(id: &[u8; 16]) -> i64 {
    let part = |range: std::ops::Range<usize>| {
        id[range]
            .iter()
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let steps = (part(6..8) & 0x0fff) << 48 | part(4..6) << 32 | part(0..4);
    (steps as i64 - EPOCH_OF_UUIDS as i64) / 10_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::render_rows;
    use std::net::{IpAddr, Ipv4Addr};

    fn rows(columns: &[&str], rows: Vec<Vec<Option<CqlValue>>>) -> Rows {
        let column = |name: &&str| ColumnSpec {
            keyspace: String::new(),
            table: String::new(),
            name: (*name).to_owned(),
            ty: CqlType::Text,
        };
        Rows {
            columns: columns.iter().map(column).collect(),
            rows,
        }
    }

    fn node(last: u8) -> Option<CqlValue> {
        Some(CqlValue::Inet(IpAddr::V4(Ipv4Addr::new(127, 0, 1, last))))
    }

    #[test]
    fn a_trace_has_the_request_its_events_and_its_end() {
        let text = |text: &str| Some(CqlValue::Text(text.into()));
        let head = |duration| {
            let cells = vec![
                node(9),
                node(1),
                duration,
                text("Execute CQL3 query"),
                Some(CqlValue::Timestamp(1_767_323_045_678)),
            ];
            let names = ["client", "coordinator", "duration", "request", "started_at"];
            rows(&names, vec![cells])
        };
        // 2026-01-02 03:04:05.679 as a version 1 UUID.
        let steps = (1_767_323_045_679_u64 * 10_000) + EPOCH_OF_UUIDS;
        let mut id = [0; 16];
        id[..4].copy_from_slice(&(steps as u32).to_be_bytes());
        id[4..6].copy_from_slice(&((steps >> 32) as u16).to_be_bytes());
        id[6..8].copy_from_slice(&((steps >> 48) as u16 | 0x1000).to_be_bytes());
        let event = vec![
            Some(CqlValue::Timeuuid(id)),
            text("Parsing SELECT"),
            node(2),
            Some(CqlValue::Int(250)),
        ];
        let events = rows(
            &["event_id", "activity", "source", "source_elapsed"],
            vec![event],
        );
        let whole = head(Some(CqlValue::Int(2_000)));
        assert!(trace_is_whole(&whole) && !trace_is_whole(&head(None)));
        let drawn = trace_rows(&whole, &events).expect("a session");
        insta::assert_snapshot!(render_rows(&drawn), @r"
         activity           | timestamp                       | source    | source_elapsed | client
        --------------------+---------------------------------+-----------+----------------+-----------
         Execute CQL3 query | 2026-01-02 03:04:05.678000+0000 | 127.0.1.1 |              0 | 127.0.1.9
             Parsing SELECT | 2026-01-02 03:04:05.679000+0000 | 127.0.1.2 |            250 | 127.0.1.9
           Request complete | 2026-01-02 03:04:05.680000+0000 | 127.0.1.1 |           2000 | 127.0.1.9

        (3 rows)
        ");
        let unfinished = trace_rows(&head(None), &events).expect("a session");
        assert_eq!(unfinished.len(), 2);
        assert_eq!(trace_rows(&Rows::default(), &events), None);
        let id = "abababab-abab-abab-abab-abababababab";
        let queries = trace_queries(id);
        assert!(queries.iter().all(|query| query.ends_with(id)));
    }
}
