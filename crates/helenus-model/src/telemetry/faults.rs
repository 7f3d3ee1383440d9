//! The faults of a run as they really were, out of the events beside it; nodes that came and went among them.
//! Refuses what was only asked for: a fault that was not made says so.

use super::{EventKind, Reading, Seen};
use serde::Serialize;

/// A fault beside a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultSeen {
    /// In the words that asked for it; of one that was there before, with that said behind them. Of a node that came or
    /// went, what it did.
    pub words: String,
    /// The nodes, or the target behind an `@`, that it was at.
    pub at: Vec<String>,
    /// Whether it was made.
    pub made: bool,
    /// Its beginning, on the run's monotonic clock, in nanoseconds.
    pub from_ns: u64,
    /// Its end there, in nanoseconds.
    pub to_ns: u64,
    /// Its start in seconds from the start of the measurement window.
    pub from_s: f64,
    /// Its end in seconds from there.
    pub to_s: f64,
}

/// The faults that these readings show, in the order of their beginnings; `zero_ns` is the beginning of the first
/// phase's measurement window.
pub fn faults(readings: &[Reading], zero_ns: u64) -> Vec<FaultSeen> {
    let mut found: Vec<FaultSeen> = Vec::new();
    for reading in readings {
        let Seen::Event(event) = &reading.seen else {
            continue;
        };
        let (EventKind::Fault | EventKind::Killed | EventKind::NotMade | EventKind::Membership) =
            event.what
        else {
            continue;
        };
        let same = |one: &&mut FaultSeen| one.words == event.text && one.from_ns == reading.at_ns;
        if let Some(known) = found.iter_mut().find(same) {
            known.at.push(reading.source.clone());
            continue;
        }
        found.push(FaultSeen {
            words: event.text.clone(),
            at: vec![reading.source.clone()],
            made: event.what != EventKind::NotMade,
            from_ns: reading.at_ns,
            to_ns: event.to_ns,
            from_s: seconds(reading.at_ns, zero_ns),
            to_s: seconds(event.to_ns, zero_ns),
        });
    }
    found.sort_by_key(|one| one.from_ns);
    found
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
fn seconds(at_ns: u64, zero_ns: u64) -> f64 {
    (at_ns as f64 - zero_ns as f64) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Event;

    #[test]
    fn a_fault_at_several_nodes_is_one() {
        let event = |source: &str, what, at_ns: u64, to_ns, text: &str| Reading {
            source: source.into(),
            at_ns,
            seen: Seen::Event(Event {
                what,
                to_ns,
                text: text.into(),
            }),
        };
        let second = 1_000_000_000;
        let readings = [
            event(
                "@DC3",
                EventKind::Fault,
                9 * second,
                10 * second,
                "partition DC3",
            ),
            event("node1", EventKind::Collection, 0, 1, "young"),
            event(
                "node1",
                EventKind::Killed,
                4 * second,
                6 * second,
                "kill DC1",
            ),
            event(
                "node2",
                EventKind::Killed,
                4 * second,
                6 * second,
                "kill DC1",
            ),
            event(
                "@node9",
                EventKind::NotMade,
                7 * second,
                8 * second,
                "kill node9",
            ),
        ];
        let found: Vec<String> = faults(&readings, 2 * second)
            .iter()
            .map(|f| {
                format!(
                    "{} {} {} {}..{}",
                    f.words,
                    f.at.join("+"),
                    f.made,
                    f.from_s,
                    f.to_s
                )
            })
            .collect();
        let expected = [
            "kill DC1 node1+node2 true 2..4",
            "kill node9 @node9 false 5..6",
            "partition DC3 @DC3 true 7..8",
        ];
        assert_eq!(found, expected);
    }
}
