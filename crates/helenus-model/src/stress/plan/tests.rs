//! Plans of lines as people write them.
//! Refuses a node: a plan is a value.

use super::super::{Asked, read};
use super::*;

fn of(line: &str) -> Stress {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    match read(&words) {
        Ok(Asked::Run { stress, .. }) => *stress,
        other => panic!("{line}: {other:?}"),
    }
}

fn phase(line: &str) -> Phase {
    let stress = of(line);
    let workload = stress.workload().expect("pre-defined");
    let operations = stress.operations(&workload).expect("known");
    let Rate::Threads { threads, .. } = stress.rate else {
        panic!("{line}");
    };
    let made = stress.phase(threads, &operations).expect("a phase");
    let known = workload.operations();
    assert!(
        made.operations
            .iter()
            .all(|share| known.contains(&share.operation))
    );
    made
}

#[test]
fn throttled_is_a_schedule_given_by_service_times_and_fixed_by_response_times() {
    let throttled = phase("write n=5k -rate threads=7 throttle=100/s");
    assert_eq!(
        (throttled.rate_per_s, throttled.shown),
        (Some(100.0), Some(Shown::Service))
    );
    assert_eq!(
        (throttled.in_flight, throttled.extent),
        (7, Extent::Count(5000))
    );
    let fixed = phase("read duration=2m -rate threads=7 fixed=100/s -pop seq=11..20 no-wrap");
    assert_eq!(
        (fixed.rate_per_s, fixed.shown),
        (Some(100.0), Some(Shown::Response))
    );
    assert_eq!(fixed.extent, Extent::DurationMs(120_000));
    let range = Positions::Range {
        from: 11,
        to: 21,
        wrap: false,
    };
    assert_eq!((fixed.positions, fixed.population), (range, 10));
    let free = phase("write err<0.1 n>3 n<9 -rate threads=1 -errors ignore");
    assert_eq!(free.rate_per_s, None);
    assert_eq!(
        free.extent,
        Extent::Until(Target {
            error: 0.1,
            least: 3,
            most: 9
        })
    );
    assert_eq!((free.repeat, free.population), (None, 1_000_000));
}

#[test]
fn mixed_lines_name_their_operations_and_keep_their_weights() {
    let weights = |line: &str| -> Vec<(String, u32)> {
        let shares = phase(line).operations.into_iter();
        shares
            .map(|share| (share.operation, share.weight))
            .collect()
    };
    let pair = |a: &str, n, b: &str, m| vec![(a.to_owned(), n), (b.to_owned(), m)];
    assert_eq!(
        weights("mixed ratio(write=1,read=3) -rate threads=1"),
        pair("write", 1, "read", 3)
    );
    assert_eq!(
        weights("mixed ratio(write=1,counter_read=0.25) -rate threads=1"),
        pair("standard1.insert", 4000, "counter1.read", 1000)
    );
    assert_eq!(
        weights("mixed ratio(write=1,read=2) -col size=fixed(9) -rate threads=1"),
        pair("insert", 1, "read", 2)
    );
}

#[test]
fn warm_ups_are_a_quarter_and_at_most_fifty_thousand_for_each_node() {
    let counts = |line: &str| {
        let stress = of(line);
        let operations = stress
            .operations(&stress.workload().expect("one"))
            .expect("known");
        let phases = stress.warm_ups(2, &operations).expect("phases");
        let each = phases.into_iter().map(|p| (p.name, p.in_flight, p.extent));
        each.collect::<Vec<_>>()
    };
    let one = |name: &str, threads, n| (name.to_owned(), threads, Extent::Count(n));
    assert_eq!(
        counts("write n=1000 -rate threads=7"),
        [one("WRITE", 7, 500)]
    );
    assert_eq!(
        counts("mixed duration=5s"),
        [one("READ", 100, 100_000), one("WRITE", 100, 100_000)]
    );
    assert_eq!(counts("write n=3"), []);
    assert_eq!(counts("write n=1000 no-warmup"), []);
}

#[test]
fn schema_and_statements_follow_the_line() {
    let line = "counter_write n=5 -schema replication(strategy=NetworkTopologyStrategy,DC1=3) keyspace=Mine compaction(strategy=LeveledCompactionStrategy,sstable_size_in_mb=10) compression=ZstdCompressor -col names=a,b";
    insta::assert_snapshot!(of(line).schema_statements().join("\n"));
    assert_eq!(of("read n=5").schema_statements(), Vec::<String>::new());
    assert_eq!(of("write n=5").workload(), Some(Workload::Standard1));
    let Some(Workload::Profiles(profiles)) = of(line).workload() else {
        panic!("a profile");
    };
    let maker =
        crate::workload::maker::Maker::new(&profiles, crate::seed::Seed(1)).expect("is whole");
    let texts: Vec<&str> = maker.statements().iter().map(|s| s.cql.as_str()).collect();
    insta::assert_snapshot!(texts.join("\n"));
    let work = maker.make(0, 0, &[1]);
    assert_eq!((work.partitions, work.rows), (1, 1));
}

#[test]
fn what_changes_nothing_is_reported() {
    let line = "write n=5 -insert visits=fixed(3) partitions=fixed(2) -pop seq=1..5 read-lookback=uniform(1..2) -col n=uniform(1..3) timestamp=5 -mode native cql3 maxPending=5 -errors min-delay-ms=5";
    insta::assert_snapshot!(of(line).cautions().join("\n"));
    assert_eq!(
        of("write n=5 -mode native cql3").cautions(),
        Vec::<String>::new()
    );
}
