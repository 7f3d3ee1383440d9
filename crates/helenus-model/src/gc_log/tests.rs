//! Lines that real JVMs wrote, one file a JDK and collector (`tests/data/gc`), and lines that nobody would write.
//! Refuses lines made up where a real one could be had.

use super::*;
use proptest::prelude::*;

macro_rules! logs {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("../../tests/data/gc/", $name, ".log")))),+]
    };
}

const LOGS: [(&str, &str); 13] = logs!(
    "jdk11-ConcMarkSweep",
    "jdk11-G1",
    "jdk11-Serial",
    "jdk17-G1",
    "jdk17-Parallel",
    "jdk17-Serial",
    "jdk17-Shenandoah",
    "jdk17-Z",
    "jdk25-G1",
    "jdk25-Parallel",
    "jdk25-Serial",
    "jdk25-Shenandoah",
    "jdk25-Z"
);

fn stops(text: &str) -> Vec<Stop> {
    let mut log = GcLog::default();
    text.lines().filter_map(|line| log.take(line)).collect()
}

#[test]
fn every_collection_of_every_collector_lies_in_the_safepoint_that_is_logged_after_it() {
    for (name, text) in LOGS {
        let mut inside: Vec<Collection> = Vec::new();
        let (mut collections, mut safepoints) = (0, 0);
        for stop in stops(text) {
            match stop {
                Stop::Collection(one) => {
                    collections += 1;
                    assert!(one.cause.starts_with("Pause "), "{name}: {one:?}");
                    inside.push(one);
                }
                Stop::Safepoint(safepoint) => {
                    safepoints += 1;
                    assert!(!safepoint.operation.is_empty(), "{name}: {safepoint:?}");
                    for one in inside.drain(..) {
                        // Between a moment and its stamp lie some microseconds.
                        let early = safepoint.from_ns.saturating_sub(one.from_ns);
                        assert!(early < 100_000, "{name}: {one:?} in {safepoint:?}");
                        assert!(one.to_ns <= safepoint.to_ns, "{name}: {one:?}");
                    }
                    let length = safepoint.to_ns - safepoint.from_ns;
                    assert!(safepoint.collecting_ns > 0, "{name}: {safepoint:?}");
                    assert!(safepoint.collecting_ns <= length, "{name}: {safepoint:?}");
                }
            }
        }
        assert_eq!(safepoints, 5, "{name}");
        // All that says a pause with its length was understood (`us`: sums that Shenandoah prints now and then).
        let pauses = text
            .lines()
            .filter(|l| l.contains("Pause ") && l.ends_with("ms"));
        assert_eq!(collections, pauses.count(), "{name}");
        assert!(inside.is_empty(), "{name}: {inside:?}");
    }
}

#[test]
fn a_line_gives_cause_heap_and_both_ends() {
    let line = "[12446004121945ns][gc             ] GC(8) Pause Young (Allocation Failure) 27M->10M(30M) 0.031ms";
    let expected = Collection {
        from_ns: 12_446_004_090_945,
        to_ns: 12_446_004_121_945,
        cause: "Pause Young (Allocation Failure)".into(),
        heap: Some(HeapChange {
            before: Bytes::mib(27),
            after: Bytes::mib(10),
            capacity: Bytes::mib(30),
        }),
    };
    assert_eq!(stops(line), [Stop::Collection(expected)]);
    let event = stops(line)[0].event("node1").expect("an event");
    assert_eq!(event.at_ns, 12_446_004_090_945);
    let Seen::Event(event) = event.seen else {
        panic!("{event:?}");
    };
    assert_eq!(event.text, "Pause Young (Allocation Failure) 27M->10M(30M)");
    let line = "[12681969678851ns][gc,phases   ] GC(625) y: Pause Mark Start 0.002ms";
    let Stop::Collection(one) = &stops(line)[0] else {
        panic!("no collection");
    };
    assert_eq!((one.cause.as_str(), one.heap), ("Pause Mark Start", None));
}

#[test]
fn a_safepoint_is_an_event_only_where_it_was_long_for_another_reason() {
    let safepoint = |total: u64, collecting: &str| {
        let text = format!(
            "{collecting}\n[90000000000ns][safepoint] Safepoint \"Cleanup\", Time since last: 1 ns, Total: {total} ns"
        );
        stops(&text).pop().and_then(|stop| stop.event("node1"))
    };
    assert_eq!(safepoint(9_999_999, ""), None);
    let long = safepoint(12_000_000, "").expect("an event");
    assert_eq!(
        (long.at_ns, long.source.as_str()),
        (89_988_000_000, "node1")
    );
    let collecting = "[89999000000ns][gc] GC(1) Pause Full (Ergonomics) 24M->10M(31M) 11.000ms";
    assert_eq!(safepoint(12_000_000, collecting), None);
    assert!(safepoint(22_000_000, collecting).is_some());
    // JDK 11 logs the reason on another line than the length.
    let old = "[1ns][safepoint] Entering safepoint region: RevokeBias\n\
               [50000000ns][safepoint] Total time for which application threads were stopped: 0.0200000 seconds, \
               Stopping threads took: 0.0000031 seconds";
    let Some(Stop::Safepoint(old)) = stops(old).pop() else {
        panic!("no safepoint");
    };
    assert_eq!(
        (old.operation.as_str(), old.from_ns),
        ("RevokeBias", 30_000_000)
    );
}

#[test]
fn what_is_no_stop_is_nothing() {
    let nothing = [
        "",
        "[12445924794921ns][gc,init] Heap Max Capacity: 32M",
        "[12445979244257ns][gc,start    ] GC(0) Pause Young (Allocation Failure)",
        "[12452322740034ns][gc,stats    ] Pause Init Mark (G)                  41 us",
        "[12452310991459ns][gc          ] GC(0) Concurrent reset 0.035ms",
        "[12454354379796ns][gc          ] Allocation Stall (main) 6.281ms",
        // The first line of a log that was joined in its middle.
        "446004121945ns][gc] GC(8) Pause Young (Allocation Failure) 27M->10M(30M) 0.031ms",
        "[1ns][gc] GC(8) Pause Young -5.0ms",
        "[1ns][gc] GC(8) Pause Young infms",
        "[1ns][gc] GC(8) Pause Young NaNms",
        "[x ns][gc] GC(8) Pause Young 1.0ms",
    ];
    for line in nothing {
        assert_eq!(stops(line), [], "{line}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "(\\[[0-9]{1,25}ns\\])?( ?GC\\([0-9]*\\) |Safepoint \"|.{0,3})(Pause )?.{0,40}(ms| ns)?") {
        for stop in stops(&text) {
            let (from, to) = match &stop {
                Stop::Collection(c) => (c.from_ns, c.to_ns),
                Stop::Safepoint(s) => (s.from_ns, s.to_ns),
            };
            prop_assert!(from <= to);
            let _shown = stop.event("n");
        }
    }

    #[test]
    fn a_real_line_cut_anywhere_is_no_harm(log in 0..LOGS.len(), line in 0_usize..60, cut in 0_usize..200) {
        let mut read = GcLog::default();
        if let Some(line) = LOGS[log].1.lines().nth(line) {
            let _stop = read.take(&line[cut.min(line.len())..]);
            let _stop = read.take(&line[..cut.min(line.len())]);
        }
    }
}
