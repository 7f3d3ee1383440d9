//! The thread itself: when it looks, and that it ends.
//! Refuses real nodes: those are the ring of real Cassandra's.

use super::*;

#[test]
fn looks_come_when_they_are_wished_for_and_the_end_ends() {
    let sampler = Sampler::begin(None).expect("a thread");
    let own = getpid().as_raw_pid();
    sampler.generators(vec![own]);
    let before = monotonic_ns();
    sampler.look_now();
    let after = monotonic_ns();
    let wished = after + 50_000_000;
    sampler.look_at(wished);
    std::thread::sleep(Duration::from_millis(200));
    let readings = sampler.take();
    let of = |source: &str| -> Vec<u64> {
        let found = readings.iter().filter(|r| r.source == source);
        found.map(|r| r.at_ns).collect()
    };
    let hosts = of(HOST);
    assert!(hosts.is_sorted(), "{hosts:?}");
    assert!(
        hosts.iter().any(|at| (before..=after).contains(at)),
        "{hosts:?}"
    );
    assert!(hosts.iter().any(|at| *at >= wished), "{hosts:?}");
    assert!(of(GENERATOR).iter().any(|at| *at >= before));
    let last = sampler.end();
    assert!(last.iter().any(|r| r.source == HOST));
}
