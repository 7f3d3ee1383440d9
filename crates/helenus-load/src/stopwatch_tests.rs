//! The stopwatch on virtual time: what a stall, a bound and an overload must look like.
//! Refuses real clocks.

use super::*;
use helenus_model::histogram::Histogram;
use helenus_model::run_plan::Share;
use helenus_model::sample::OperationInterval;
use helenus_model::schedule::Arrivals;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

fn phase(rate_per_s: Option<f64>, in_flight: u32, duration_ms: u64) -> Phase {
    Phase {
        rate_per_s,
        ..Phase::steady("write", 1.0, in_flight, duration_ms)
    }
}

/// A server that takes `service_ns`, and answers nothing inside the stall.
struct Server {
    service_ns: u64,
    stall: Range<u64>,
}

impl Server {
    fn end_of(&self, start_ns: u64) -> u64 {
        let end = start_ns + self.service_ns;
        if self.stall.contains(&end) || self.stall.contains(&start_ns) {
            self.stall.end + self.service_ns
        } else {
            end
        }
    }
}

/// Runs a phase against a server; the generator itself adds `delay_ns` to each start.
fn simulate(
    phase: &Phase,
    server: &Server,
    delay_ns: u64,
) -> (Stopwatch, OperationInterval, Vec<Timing>) {
    let mut watch = Stopwatch::new(phase, Seed(1), S);
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut sum = OperationInterval::default();
    let mut timings = Vec::new();
    let mut now = S;
    loop {
        while let Some(start) = watch.start_due(now) {
            watch.begin(start.slot, now + delay_ns);
            ends.push(Reverse((server.end_of(now + delay_ns), start.slot)));
        }
        let next_end = ends.peek().map(|Reverse((at, _))| *at);
        now = match (watch.next_wake(), next_end) {
            (Wake::At(at), Some(end)) => at.min(end),
            (Wake::At(at), None) => at,
            (_, Some(end)) => end,
            (_, None) => break,
        }
        .max(now);
        while let Some(Reverse((at, slot))) =
            ends.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            ends.pop();
            let timing = watch
                .complete(slot, at, Outcome::Completed)
                .expect("was running");
            sum.completed += 1;
            sum.service.record(timing.service_ns);
            sum.lateness.record(timing.lateness_ns);
            timing
                .response_ns
                .into_iter()
                .for_each(|ns| sum.response.record(ns));
            timing
                .slot_wait_ns
                .into_iter()
                .for_each(|ns| sum.slot_wait.record(ns));
            timings.push(timing);
        }
    }
    let offered = watch.newly_offered(now, u64::MAX);
    sum.offered = offered.end - offered.start;
    (watch, sum, timings)
}

#[test]
fn a_stall_shows_in_response_and_in_at_most_in_flight_services() {
    let server = Server {
        service_ns: MS,
        stall: 11 * S..12 * S + 500 * MS,
    };
    let (watch, sum, _) = simulate(&phase(Some(2000.0), 64, 30_000), &server, 0);
    assert_eq!(sum.offered, 60_000, "offered is exactly rate × time");
    assert_eq!(watch.counts().completed, 60_000);
    let p999 = sum.response.percentile_ns(0.999).expect("enough samples");
    assert!(p999 >= S, "response p99.9 is {p999} ns");
    let slow = sum.service.count_above(S);
    assert!((1..=64).contains(&slow), "{slow} services above a second");
    // 1.5 s at 2,000/s are 3,000 operations: 64 wait in service, the rest for a slot.
    let waited = sum.slot_wait.count_above(2 * MS);
    assert!(
        (2_800..=3_100).contains(&waited),
        "{waited} waited for a slot"
    );
    assert_eq!(
        sum.lateness.max_ns(),
        Some(0),
        "the generator was never late"
    );
    assert!(
        sum.service
            .percentile_ns(0.99)
            .is_some_and(|ns| ns < 2 * MS)
    );
}

#[test]
fn without_a_bound_a_stall_shows_in_both() {
    let server = Server {
        service_ns: MS,
        stall: 11 * S..12 * S + 500 * MS,
    };
    let (_, sum, _) = simulate(&phase(Some(2000.0), 10_000, 30_000), &server, 0);
    assert!(sum.service.percentile_ns(0.999).is_some_and(|ns| ns >= S));
    assert_eq!(sum.slot_wait.max_ns(), Some(0));
}

#[test]
fn a_closed_loop_has_no_response_time() {
    let server = Server {
        service_ns: MS,
        stall: 0..0,
    };
    let (watch, sum, timings) = simulate(&phase(None, 8, 1000), &server, 0);
    assert!(
        timings
            .iter()
            .all(|t| t.response_ns.is_none() && t.slot_wait_ns.is_none())
    );
    assert!(sum.response.is_empty() && sum.slot_wait.is_empty());
    assert_eq!(sum.offered, 8 * 1000);
    assert_eq!(watch.counts().started, sum.offered);
}

#[test]
fn a_closed_loop_counts_its_measured_operations_only() {
    let mut counted = phase(None, 4, 1);
    counted.extent = Extent::Count(100);
    counted.warmup_ms = 10;
    let server = Server {
        service_ns: MS,
        stall: 0..0,
    };
    let (_, _, timings) = simulate(&counted, &server, 0);
    let measured = timings
        .iter()
        .filter(|t| t.stretch == Stretch::Measured)
        .count();
    assert_eq!((measured, timings.len()), (100, 140));
}

#[test]
fn the_generators_own_delay_is_lateness_and_nothing_else() {
    let server = Server {
        service_ns: MS,
        stall: 0..0,
    };
    let (_, sum, _) = simulate(&phase(Some(1000.0), 64, 1000), &server, 300_000);
    assert_eq!(sum.lateness.count_above(299_000), 1000);
    assert_eq!(sum.slot_wait.max_ns(), Some(0));
    assert!(sum.service.max_ns().is_some_and(|ns| ns < MS + 2000));
    assert!(sum.response.min_ns().is_some_and(|ns| ns >= 1_299_000));
}

#[test]
fn an_overload_is_a_backlog() {
    // 8 slots of 1 ms hold 8,000/s; 80,000/s are offered for a second.
    let mut watch = Stopwatch::new(&phase(Some(80_000.0), 8, 1000), Seed(1), 0);
    for now in (0..1000).map(|ms| ms * MS) {
        for slot in 0..8 {
            let _idle_at_first = watch.complete(slot, now, Outcome::Completed);
        }
        while watch.start_due(now).is_some() {}
    }
    assert_eq!(watch.next_wake(), Wake::Completion);
    // What started, and no more than is asked for beside it.
    assert_eq!(watch.newly_offered(S, 10), 0..7993);
    assert_eq!(watch.newly_offered(S, 10), 7993..8003);
    assert_eq!(watch.newly_offered(S, u64::MAX), 8003..80_000);
    // The very first moment offers one operation only: 1 + 999 × 8 have started.
    assert_eq!(watch.backlog(S), 80_000 - 1 - 999 * 8);
    watch.stop();
    assert_eq!(watch.next_wake(), Wake::Over);
    assert_eq!((watch.in_flight(), watch.is_done()), (8, false));
}

#[test]
fn warm_up_and_measured_operations_are_distinguished_by_index() {
    let mut warmed = phase(Some(1000.0), 64, 1000);
    warmed.warmup_ms = 500;
    let server = Server {
        service_ns: MS,
        stall: 0..0,
    };
    let (watch, sum, timings) = simulate(&warmed, &server, 0);
    let measured = timings
        .iter()
        .filter(|t| t.stretch == Stretch::Measured)
        .count();
    assert_eq!((measured, sum.offered), (1000, 1500));
    assert_eq!(watch.measured_from_ns(), S + 500 * MS);
    assert_eq!(watch.measured_to_ns(), Some(S + 1500 * MS));
}

#[test]
fn processes_end_together_with_the_last_of_a_limited_number() {
    // A minute is asked for, and there are operations for ten seconds.
    let whole = || Stopwatch::new(&phase(Some(100.0), 8, 60_000), Seed(1), 0);
    for place in 0..3 {
        let mut own = whole().at_most(1000).of_process(Process { place, of: 3 });
        assert_eq!(own.measured_to_ns(), Some(10 * S));
        assert_eq!(
            own.newly_offered(60 * S, u64::MAX).count(),
            if place == 0 { 334 } else { 333 }
        );
    }
    let mut idle = whole().at_most(1).of_process(Process { place: 1, of: 2 });
    assert!(idle.start_due(S).is_none() && idle.is_done());
}

proptest! {
    #[test]
    fn response_is_slot_wait_and_lateness_and_service(
        rate in 50.0_f64..5000.0, slots in 1_u32..20, service_us in 10_u64..20_000,
        delay_ns in 0_u64..2_000_000, poisson: bool, stall_ms in 0_u64..400,
    ) {
        let mut p = phase(Some(rate), slots, 500);
        p.arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        p.operations.push(Share { operation: "read".to_owned(), weight: 2 });
        let server = Server { service_ns: service_us * 1000, stall: S..S + stall_ms * MS };
        let (watch, sum, timings) = simulate(&p, &server, delay_ns);
        for t in &timings {
            let parts = t.slot_wait_ns.expect("open") + t.lateness_ns + t.service_ns;
            prop_assert_eq!(t.response_ns, Some(parts));
        }
        let mut indexes: Vec<u64> = timings.iter().map(|t| t.index).collect();
        indexes.sort_unstable();
        prop_assert_eq!(indexes, (0..p.measured_operations()).collect::<Vec<_>>());
        prop_assert_eq!(sum.offered, p.measured_operations());
        let over = sum.service.count_above((stall_ms.max(1) * MS).max(server.service_ns));
        prop_assert!(over <= u64::from(slots));
        prop_assert!(watch.is_done());
    }

    #[test]
    fn intervals_merge_in_any_grouping(cuts in proptest::collection::vec(1_usize..999, 2)) {
        let server = Server { service_ns: MS, stall: S + 100 * MS..S + 200 * MS };
        let (_, _, timings) = simulate(&phase(Some(1000.0), 4, 1000), &server, 1000);
        let of = |part: &[Timing]| {
            let mut h = Histogram::new();
            part.iter().for_each(|t| h.record(t.response_ns.expect("open")));
            h
        };
        let (a, b) = (cuts[0].min(cuts[1]), cuts[0].max(cuts[1]));
        let mut left = of(&timings[..a]);
        left.merge(&of(&timings[a..b]));
        left.merge(&of(&timings[b..]));
        let mut tail = of(&timings[a..b]);
        tail.merge(&of(&timings[b..]));
        let mut right = of(&timings[..a]);
        right.merge(&tail);
        prop_assert_eq!(left, right);
    }
}
