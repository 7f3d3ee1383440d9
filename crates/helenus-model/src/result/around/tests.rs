//! The facts around a phase from readings whose every number is known.
//! Refuses to repeat what the window's own tests show.

use super::*;
use crate::telemetry::{Event, NodeSample};

const S: u64 = 1_000_000_000;

fn node(at_ns: u64, sample: NodeSample) -> Reading {
    Reading {
        source: "node1".into(),
        at_ns,
        seen: Seen::Node(sample),
    }
}

fn event(what: EventKind, from_ns: u64, to_ns: u64) -> Reading {
    let text = String::new();
    Reading {
        source: "node1".into(),
        at_ns: from_ns,
        seen: Seen::Event(Event { what, to_ns, text }),
    }
}

#[test]
fn what_was_not_looked_at_is_absent_and_what_did_not_happen_is_zero() {
    assert_eq!(Around::of(&[], 0, 10 * S, 100), Around::default());
    let sample = |cpu_us, answered, collections| NodeSample {
        cpu_us,
        answered,
        collections,
        ..NodeSample::default()
    };
    let silent = [
        node(0, sample(0, false, None)),
        node(10 * S, sample(5_000, false, None)),
    ];
    let around = Around::of(&silent, 0, 10 * S, 100);
    assert_eq!(around.nodes_cpu_us, Some(5_000));
    assert_eq!(around.nodes_cpu_per_operation_us, Some(50.0));
    assert_eq!((around.compaction_share, around.collections), (None, None));
    assert_eq!(around.nodes_read_bytes, None);
    let quiet = [
        node(0, sample(0, true, Some(0))),
        node(10 * S, sample(5_000, true, Some(0))),
    ];
    let around = Around::of(&quiet, 0, 10 * S, 0);
    assert_eq!(around.nodes_cpu_per_operation_us, None);
    assert_eq!(around.compaction_share, Some(0.0));
    assert_eq!(
        (around.collection_share, around.collections),
        (Some(0.0), Some(0))
    );
    assert_eq!(around.longest_collection_ms, None);
}

#[test]
fn events_and_disks_are_those_of_the_stretch() {
    let sample = |read: u64| NodeSample {
        read_bytes: Some(read),
        written_bytes: Some(2 * read),
        received_bytes: Some(3 * read),
        answered: true,
        collections: Some(3),
        ..NodeSample::default()
    };
    let readings = [
        event(EventKind::Collection, 0, S),
        node(S, sample(100)),
        event(EventKind::Collection, 2 * S, 2 * S + 500_000_000),
        event(EventKind::Collection, 4 * S, 4 * S + 250_000_000),
        event(EventKind::Compaction, 5 * S, 8 * S),
        node(11 * S, sample(300)),
    ];
    let around = Around::of(&readings, S, 11 * S, 1);
    assert_eq!(around.collections, Some(2));
    assert_eq!(around.longest_collection_ms, Some(500.0));
    assert_eq!(around.collection_share, Some(0.075));
    assert_eq!(around.compaction_share, Some(0.3));
    let disks = (around.nodes_read_bytes, around.nodes_written_bytes);
    assert_eq!(disks, (Some(200), Some(400)));
    let network = (around.nodes_received_bytes, around.nodes_sent_bytes);
    assert_eq!(network, (Some(600), None));
    let one = &around.nodes["node1"];
    assert_eq!((one.read_bytes, one.received_bytes), (Some(200), Some(600)));
    assert_eq!((one.cpu_us, one.retransmitted), (Some(0), None));
}
