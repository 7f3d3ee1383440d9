//! What nodes said once a second that they work on, as events with a beginning and an end.
//! Refuses a node that did not answer: it says nothing of what it works on.

use super::{Event, EventKind, NodeSample, Reading, Seen};
use std::collections::BTreeMap;

/// Thread pools whose work delays operations, and what their work is.
const POOLS: [(&str, EventKind); 2] = [
    ("MemtableFlushWriter", EventKind::Flush),
    ("HintsDispatcher", EventKind::Hints),
];

/// A task by its node and its own name, such as an id.
type Task<'a> = (&'a str, EventKind, &'a str);

/// The compactions (and other tasks on SSTables), flushes and replays of hints that samples of nodes show, as events:
/// from the first sample that has one to the next answer that has it no more, or to `until_ns`. A task may so seem
/// too long or too short by up to the time between two samples, but on average it is not: it begins as much too late as
/// it ends.
pub fn under_way(readings: &[Reading], until_ns: u64) -> Vec<Reading> {
    let mut open: BTreeMap<Task<'_>, (u64, String)> = BTreeMap::new();
    let mut events = Vec::new();
    let mut close = |(source, what, _): Task<'_>, from_ns: u64, text: &str, to_ns: u64| {
        let text = text.to_owned();
        events.push(Reading {
            source: source.to_owned(),
            at_ns: from_ns,
            seen: Seen::Event(Event { what, to_ns, text }),
        });
    };
    for reading in readings {
        let Seen::Node(node) = &reading.seen else {
            continue;
        };
        if !node.answered {
            continue;
        }
        let source = reading.source.as_str();
        let now: BTreeMap<Task<'_>, String> = tasks(node)
            .map(|(what, id, text)| ((source, what, id), text))
            .collect();
        open.retain(|task, (from_ns, text)| {
            let stays = task.0 != source || now.contains_key(task);
            if !stays {
                close(*task, *from_ns, text, reading.at_ns);
            }
            stays
        });
        for (task, text) in now {
            open.entry(task).or_insert((reading.at_ns, text));
        }
    }
    for (task, (from_ns, text)) in open {
        close(task, from_ns, &text, until_ns.max(from_ns));
    }
    events
}

/// What a node works on: its kind, what to know it by, and in words.
fn tasks(node: &NodeSample) -> impl Iterator<Item = (EventKind, &str, String)> {
    let compactions = node.compactions.iter().map(|task| {
        let text = format!("{}.{} {}", task.keyspace, task.table, task.task);
        (EventKind::Compaction, task.id.as_str(), text)
    });
    let pools = node.pools.iter().filter(|pool| pool.active > 0);
    let pools = pools.filter_map(|pool| {
        let (_, what) = POOLS.iter().find(|(name, _)| *name == pool.name)?;
        Some((*what, pool.name.as_str(), pool.name.clone()))
    });
    compactions.chain(pools)
}

#[cfg(test)]
mod tests {
    use super::super::{CompactionSample, PoolSample};
    use super::*;

    #[test]
    fn tasks_and_pools_last_from_the_first_sample_to_the_next_answer_without() {
        let sample = |at_ns, answered, compacts: bool, flushes: u32| Reading {
            source: "node1".to_owned(),
            at_ns,
            seen: Seen::Node(NodeSample {
                answered,
                pools: vec![PoolSample {
                    name: "MemtableFlushWriter".to_owned(),
                    active: flushes,
                    pending: 1,
                    blocked_so_far: 0,
                }],
                compactions: match compacts {
                    true => vec![CompactionSample {
                        id: "7".to_owned(),
                        keyspace: "k".to_owned(),
                        table: "t".to_owned(),
                        task: "compaction".to_owned(),
                        done: 0.5,
                    }],
                    false => vec![],
                },
                ..NodeSample::default()
            }),
        };
        let readings = [
            sample(10, true, false, 1),
            sample(20, true, true, 0),
            // Without an answer nothing has ended.
            sample(30, false, false, 0),
            sample(40, true, false, 0),
            sample(50, true, false, 2),
        ];
        let found: Vec<(EventKind, u64, u64)> = under_way(&readings, 60)
            .iter()
            .filter_map(|reading| match &reading.seen {
                Seen::Event(event) => Some((event.what, reading.at_ns, event.to_ns)),
                _ => None,
            })
            .collect();
        let expected = [
            (EventKind::Flush, 10, 20),
            (EventKind::Compaction, 20, 40),
            (EventKind::Flush, 50, 60),
        ];
        assert_eq!(found, expected);
    }
}
