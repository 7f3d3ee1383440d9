//! Traced operations, read from the nodes once the load is over.
//! Refuses to ask while it is measured, and to wait long: a trace that does not become whole is kept as it is.

use crate::target::Target;
use helenus_cql::rows::{ColumnError, RowView};
use helenus_cql::trace::{trace_is_whole, trace_queries};
use helenus_cql::{Client, ClientError, Consistency, Rows};
use helenus_model::sample::{Interval, Stretch, TracedOperation};
use helenus_model::telemetry::{Reading, Seen, TRACED};
use helenus_model::trace::{Step, Trace};
use std::time::{Duration, Instant};

/// Longest wait for all traces to become whole: nodes write them down behind the operations.
const WHOLE_WITHIN: Duration = Duration::from_secs(5);

/// How long the other nodes may need to write down what they did.
const SETTLED_AFTER: Duration = Duration::from_millis(300);

/// Longest wait for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Between two looks.
const EVERY: Duration = Duration::from_millis(100);

/// Operations that were traced.
#[derive(Debug, Default)]
pub(crate) struct Traced(Vec<TracedOperation>);

impl Traced {
    /// Takes those of an interval.
    pub(crate) fn see(&mut self, interval: &Interval) {
        if interval.stretch == Stretch::Measured {
            self.0.extend_from_slice(&interval.traced);
        }
    }

    /// Reads them all.
    ///
    /// # Errors
    /// No node answers, or it refuses the statements.
    pub(crate) fn read(self, target: &Target) -> Result<Vec<Reading>, ClientError> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let mut client = target.client(ANSWER_WITHIN)?;
        // The last operations have just ended.
        std::thread::sleep(SETTLED_AFTER);
        let until = Instant::now() + WHOLE_WITHIN;
        let each = self.0.into_iter();
        each.map(|one| read(&mut client, one, until)).collect()
    }
}

/// One trace; without the nodes' part where it is not whole in time.
fn read(client: &mut Client, one: TracedOperation, until: Instant) -> Result<Reading, ClientError> {
    let TracedOperation { session, operation } = one;
    let at_ns = operation.end_ns;
    let [of_session, of_events] = trace_queries(&session);
    let head = loop {
        let head = client.query(&of_session, Consistency::One)?;
        if trace_is_whole(&head) || Instant::now() > until {
            break head;
        }
        std::thread::sleep(EVERY);
    };
    let mut trace = Trace {
        session,
        operation,
        coordinator: None,
        server_us: None,
        steps: Vec::new(),
    };
    if let Some(row) = head.first().filter(|_| trace_is_whole(&head)) {
        trace.coordinator = row.inet("coordinator").ok().map(|ip| ip.to_string());
        trace.server_us = micros(&row, "duration").ok();
        trace.steps = steps(&client.query(&of_events, Consistency::One)?);
    }
    Ok(Reading {
        source: TRACED.to_owned(),
        at_ns,
        seen: Seen::Traced(trace),
    })
}

/// What the nodes wrote down; what cannot be read is left out.
fn steps(events: &Rows) -> Vec<Step> {
    let step = |row: RowView<'_>| {
        Ok::<_, ColumnError>(Step {
            node: row.inet("source")?.to_string(),
            at_us: micros(&row, "source_elapsed")?,
            activity: row.text("activity")?.to_owned(),
        })
    };
    events.iter().filter_map(|row| step(row).ok()).collect()
}

fn micros(row: &RowView<'_>, column: &str) -> Result<u64, ColumnError> {
    Ok(u64::try_from(row.int(column)?).unwrap_or(0))
}
