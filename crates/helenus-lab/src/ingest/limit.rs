//! How many requests are in flight: as many as keep the nodes busy, and few enough that none waits in a queue.
//! Refuses to learn from time-outs alone: a node's queue shows in its latency long before.

use std::time::Duration;

/// Requests for each node that may wait in its queue: with fewer the limit grows, with more it shrinks.
const QUEUED: (f64, f64) = (3.0, 6.0);

/// Least answers of a round.
const ROUND: usize = 16;

/// Rounds between two looks at the latency with half as many requests in flight.
const ROUNDS: u32 = 100;

/// What a round is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// The limit follows the latency.
    Follows,
    /// What was sent before the limit was halved is answered; then the latency is looked at, and this many are allowed
    /// again.
    Drains(usize),
    /// The latency with half as many requests is the new one to compare with.
    Looks(usize),
}

/// A limit that follows latency, as TCP Vegas does: of `n` requests in flight, `n × (1 − base / latency)` are taken to be
/// waiting in queues, where `base` is the latency with half as many.
#[derive(Debug)]
pub(super) struct Limit {
    now: usize,
    most: usize,
    nodes: f64,
    /// Grows by an eighth a round until the first queue is seen.
    quick: bool,
    round: Round,
    answers: usize,
    /// Sum and number of this round's latencies, in seconds.
    sum: (f64, u32),
    /// Mean latency of a round with short queues, in seconds.
    base: f64,
    /// Rounds since the latency was looked at.
    since: u32,
    /// Rows of a request, smoothed.
    rows: f64,
}

impl Limit {
    /// Starts with two requests for each node, and never allows more than `most`.
    pub(super) fn new(nodes: usize, most: usize) -> Self {
        let nodes = nodes.max(1);
        Self {
            now: (2 * nodes).min(most).max(1),
            most: most.max(1),
            nodes: nodes as f64,
            quick: true,
            round: Round::Follows,
            answers: 0,
            sum: (0.0, 0),
            base: f64::INFINITY,
            since: 0,
            rows: 0.0,
        }
    }

    /// Most requests in flight.
    pub(super) fn now(&self) -> usize {
        self.now
    }

    /// A request with so many rows was answered after so long.
    pub(super) fn answered(&mut self, rows: usize, after: Duration) {
        let rows = rows as f64;
        self.rows += 0.05 * (rows - self.rows);
        // Small ones are quick whatever waits in the queues.
        if rows >= self.rows / 2.0 {
            self.sum.0 += after.as_secs_f64().max(1e-6);
            self.sum.1 += 1;
        }
        self.answers += 1;
        if self.answers < self.now.max(ROUND) {
            return;
        }
        self.answers = 0;
        let (sum, number) = std::mem::take(&mut self.sum);
        if number > 0 {
            self.end(sum / f64::from(number));
        }
    }

    fn end(&mut self, latency: f64) {
        match self.round {
            Round::Follows => {
                self.base = self.base.min(latency);
                self.follow(latency);
                self.since += 1;
                if self.since >= ROUNDS {
                    self.since = 0;
                    self.round = Round::Drains(self.now);
                    self.now = (self.now / 2).max(1);
                }
            }
            Round::Drains(then) => self.round = Round::Looks(then),
            Round::Looks(then) => {
                self.base = latency;
                self.now = then;
                self.round = Round::Follows;
            }
        }
    }

    fn follow(&mut self, latency: f64) {
        let queued = self.now as f64 * (1.0 - self.base / latency);
        if queued < QUEUED.0 * self.nodes {
            self.now += if self.quick { 1 + self.now / 8 } else { 1 };
        } else {
            self.quick = false;
            if queued > QUEUED.1 * self.nodes {
                self.now -= 1 + self.now / 8;
            }
        }
        let floor = (2.0 * self.nodes) as usize;
        self.now = self.now.max(floor).min(self.most);
    }

    /// A node could not take a request.
    pub(super) fn refused(&mut self) {
        self.quick = false;
        self.round = Round::Follows;
        self.now = (self.now / 2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// Requests a second that a node with so many processors completes under the limit, each needing so many
    /// microseconds of one, and the limit at the end.
    fn simulated(limit: &mut Limit, processors: usize, us: u64, requests: u64) -> (f64, usize) {
        // By processor: when it is free.
        let mut free: BinaryHeap<Reverse<u64>> = (0..processors).map(|_| Reverse(0)).collect();
        // In flight: when each is answered, and when it was sent.
        let mut flying: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
        let mut now = 0;
        for _ in 0..requests {
            while flying.len() < limit.now() {
                let Some(Reverse(at)) = free.pop() else {
                    break;
                };
                let end = at.max(now) + us;
                free.push(Reverse(end));
                flying.push(Reverse((end, now)));
            }
            if let Some(Reverse((end, sent))) = flying.pop() {
                now = end;
                limit.answered(100, Duration::from_micros(end - sent));
            }
        }
        (requests as f64 * 1e6 / now.max(1) as f64, limit.now())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn processors_are_busy_and_queues_short(processors in 1_usize..64, us in 50_u64..50_000) {
            let mut limit = Limit::new(1, 4_096);
            let (rate, end) = simulated(&mut limit, processors, us, 40_000);
            let best = processors as f64 * 1e6 / us as f64;
            prop_assert!(rate > 0.93 * best, "{rate} of {best} a second with {end}");
            prop_assert!(end <= 2 * processors + 14, "{end} in flight for {processors} processors");
        }

        #[test]
        fn a_node_that_gets_slower_is_followed(processors in 1_usize..16, times in 2_u64..10) {
            let mut limit = Limit::new(1, 4_096);
            simulated(&mut limit, processors, 1_000, 10_000);
            let (rate, end) = simulated(&mut limit, processors, 1_000 * times, 20_000);
            let best = processors as f64 * 1e3 / times as f64;
            prop_assert!(rate > 0.9 * best, "{rate} of {best} a second with {end}");
            prop_assert!(end <= 2 * processors + 14, "{end} in flight for {processors} processors");
        }
    }

    #[test]
    fn refusals_halve_it_down_to_one() {
        let mut limit = Limit::new(3, 100);
        assert_eq!(limit.now(), 6);
        for expected in [3, 1, 1] {
            limit.refused();
            assert_eq!(limit.now(), expected);
        }
        assert_eq!(Limit::new(3, 2).now(), 2, "never more than is allowed");
    }
}
