//! Server times: what the nodes' own timers counted in a measurement window, out of the buckets of their histograms.
//! Refuses a histogram of unknown form, and a difference where a count went back: the node was restarted between.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Buckets of a timer that counts microseconds (Cassandra 4.1 and later), the one for larger values included.
const OF_MICROSECONDS: usize = 128;

/// Buckets of a timer that counts nanoseconds (before 4.1), the one for larger values included.
const OF_NANOSECONDS: usize = 165;

/// A percentile with fewer requests above it is absent.
const ABOVE: u64 = 10;

/// A timer of a node, in the order in which a request passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// All requests of clients, before a thread of the native transport took them (Cassandra 4.1 and later).
    Queue,
    /// Reads of partitions, in their coordinator.
    Read,
    /// Reads of ranges, in their coordinator.
    RangeSlice,
    /// Reads at a serial consistency level, in their coordinator; `read` counts them, too.
    CasRead,
    /// Writes, in their coordinator.
    Write,
    /// Conditional writes, in their coordinator.
    CasWrite,
    /// Reads of partitions of the run's keyspaces, in a replica.
    LocalRead,
    /// Reads of ranges of the run's keyspaces, in a replica.
    LocalRange,
    /// Writes to the run's keyspaces, in a replica.
    LocalWrite,
}

impl Timer {
    /// What it measures, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Queue => "request queue",
            Self::Read => "coordinator: read",
            Self::RangeSlice => "coordinator: range read",
            Self::CasRead => "coordinator: serial read",
            Self::Write => "coordinator: write",
            Self::CasWrite => "coordinator: conditional write",
            Self::LocalRead => "replica: read",
            Self::LocalRange => "replica: range read",
            Self::LocalWrite => "replica: write",
        }
    }

    /// Whether it is one of those that together count each request of a client once.
    fn coordinates(self) -> bool {
        matches!(
            self,
            Self::Read | Self::RangeSlice | Self::Write | Self::CasWrite
        )
    }
}

/// What a timer counted: since its node started, or between two moments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets {
    /// Pairs of a bucket's upper bound in nanoseconds and the requests in it, in the order of the bounds; empty buckets
    /// are left out.
    pub counts: Vec<[u64; 2]>,
    /// Sum of all times in microseconds, where the node keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_us: Option<u64>,
}

impl Buckets {
    /// Of what the operation `values()` of a timer's MBean returns; none where their number is none of those known.
    /// What is above all bounds is counted at the last.
    pub fn of(values: &[u64], total_us: Option<u64>) -> Option<Self> {
        let unit_ns = match values.len() {
            OF_MICROSECONDS => 1000,
            OF_NANOSECONDS => 1,
            _ => return None,
        };
        let bounds: Vec<u64> = bounds().take(values.len() - 1).collect();
        let last = bounds.last().copied();
        let each = bounds.into_iter().chain(last).zip(values);
        let mut buckets = Self {
            counts: Vec::new(),
            total_us,
        };
        for (bound, count) in each.filter(|(_, count)| **count > 0) {
            buckets.add(bound * unit_ns, *count);
        }
        Some(buckets)
    }

    /// What was counted since an earlier moment; none where any count is below that of the earlier moment.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let mut left: BTreeMap<u64, u64> = self.counts.iter().map(|[at, n]| (*at, *n)).collect();
        for [at, count] in &before.counts {
            let now = left.get_mut(at)?;
            *now = now.checked_sub(*count)?;
        }
        let counts = left.into_iter().filter(|(_, count)| *count > 0);
        let total = |now: u64| now.checked_sub(before.total_us?);
        Some(Self {
            counts: counts.map(|(at, count)| [at, count]).collect(),
            total_us: self.total_us.and_then(total),
        })
    }

    /// Adds those of another timer or node; the sum of times stays only where both have one.
    pub fn merge(&mut self, other: &Self) {
        let mine = self.counts.is_empty();
        for [at, count] in &other.counts {
            self.add(*at, *count);
        }
        let both = self.total_us.zip(other.total_us).map(|(a, b)| a + b);
        self.total_us = if mine { other.total_us } else { both };
    }

    fn add(&mut self, bound_ns: u64, count: u64) {
        match self.counts.binary_search_by_key(&bound_ns, |[at, _]| *at) {
            Ok(place) => self.counts[place][1] += count,
            Err(place) => self.counts.insert(place, [bound_ns, count]),
        }
    }

    fn count(&self) -> u64 {
        self.counts.iter().map(|[_, count]| count).sum()
    }

    /// The upper bound, in microseconds, of the bucket above which lie so many of 100 requests.
    fn percentile_us(&self, of_100_above: u64) -> Option<f64> {
        let all = self.count();
        let above = all * of_100_above / 100;
        let mut reached = 0;
        let within = |[_, count]: &&[u64; 2]| {
            reached += count;
            reached >= all - above
        };
        let bucket = self.counts.iter().find(within);
        bucket.filter(|_| above >= ABOVE).map(|[at, _]| us(*at))
    }

    /// The summary; none where nothing was counted.
    pub fn times(&self) -> Option<Times> {
        let [max_ns, _] = self.counts.last()?;
        let count = self.count();
        Some(Times {
            count,
            mean_us: self.total_us.map(|sum| float(sum) / float(count)),
            p50_us: self.percentile_us(50),
            p99_us: self.percentile_us(1),
            max_us: us(*max_ns),
        })
    }
}

/// The bounds of Cassandra's `EstimatedHistogram`: each is 1.2 times the one before, rounded, and at least one more.
fn bounds() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1), |last: &u64| {
        Some(((last * 12 + 5) / 10).max(last + 1))
    })
}

/// What the timers of one node counted in a measurement window; the reading's `at_ns` is its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeTimers {
    /// End of the window, on the run's monotonic clock, in nanoseconds.
    pub to_ns: u64,
    /// By timer; empty where the node did not answer at both ends, or was restarted between.
    pub timers: BTreeMap<Timer, Buckets>,
}

/// Times of one timer. Percentiles are upper bounds of buckets, each 20 % above the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Requests, those that failed included.
    pub count: u64,
    /// Mean in microseconds, from the node's own sum; none where it keeps none.
    pub mean_us: Option<f64>,
    /// Median, in microseconds.
    pub p50_us: Option<f64>,
    /// 99 of 100 are not above this, in microseconds.
    pub p99_us: Option<f64>,
    /// Upper bound of the last bucket in use, in microseconds.
    pub max_us: f64,
}

/// What the nodes' own timers say of a measurement window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerTimes {
    /// All nodes together.
    pub all: BTreeMap<Timer, Times>,
    /// By node.
    pub nodes: BTreeMap<String, BTreeMap<Timer, Times>>,
    /// Nodes that did not answer at both ends of the window, or were restarted between: their times are in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Requests of clients that the nodes coordinated.
    pub coordinated: u64,
    /// Operations of this run that ended in the window, those that started before it included.
    pub ended: u64,
}

impl ServerTimes {
    /// Of what the nodes' timers counted, without the run's own operations; none where no node was asked.
    pub fn of<'a>(seen: impl Iterator<Item = (&'a str, &'a NodeTimers)>) -> Option<Self> {
        let mut times = Self::default();
        let mut all: BTreeMap<Timer, Buckets> = BTreeMap::new();
        for (node, found) in seen {
            if found.timers.is_empty() {
                times.missing.push(node.to_owned());
                continue;
            }
            for (timer, buckets) in &found.timers {
                all.entry(*timer).or_default().merge(buckets);
            }
            times.nodes.insert(node.to_owned(), of(&found.timers));
        }
        times.all = of(&all);
        let coordinated = times.all.iter().filter(|(timer, _)| timer.coordinates());
        times.coordinated = coordinated.map(|(_, one)| one.count).sum();
        (!times.nodes.is_empty() || !times.missing.is_empty()).then_some(times)
    }

    /// By how much the nodes coordinated more requests than operations of this run ended, as a share of these.
    pub fn surplus(&self) -> f64 {
        (float(self.coordinated) - float(self.ended)) / float(self.ended.max(1))
    }
}

fn of(timers: &BTreeMap<Timer, Buckets>) -> BTreeMap<Timer, Times> {
    let each = timers.iter();
    each.filter_map(|(timer, buckets)| Some((*timer, buckets.times()?)))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts and times below 2^53")]
fn float(number: u64) -> f64 {
    number as f64
}

fn us(ns: u64) -> f64 {
    float(ns) / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Cassandra prints them (`nodetool tablehistograms`): the first 90.
    const BOUNDS: [u64; 90] = [
        1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 60, 72, 86, 103, 124, 149,
        179, 215, 258, 310, 372, 446, 535, 642, 770, 924, 1109, 1331, 1597, 1916, 2299, 2759, 3311,
        3973, 4768, 5722, 6866, 8239, 9887, 11864, 14237, 17084, 20501, 24601, 29521, 35425, 42510,
        51012, 61214, 73457, 88148, 105_778, 126_934, 152_321, 182_785, 219_342, 263_210, 315_852,
        379_022, 454_826, 545_791, 654_949, 785_939, 943_127, 1_131_752, 1_358_102, 1_629_722,
        1_955_666, 2_346_799, 2_816_159, 3_379_391, 4_055_269, 4_866_323, 5_839_588, 7_007_506,
        8_409_007, 10_090_808, 12_108_970, 14_530_764, 17_436_917, 20_924_300, 25_109_160,
    ];

    /// The values of a timer that has so many in each of these buckets.
    fn values(length: usize, counts: &[(usize, u64)]) -> Vec<u64> {
        let mut values = vec![0; length];
        counts.iter().for_each(|(at, count)| values[*at] = *count);
        values
    }

    fn buckets(counts: &[(usize, u64)], total_us: u64) -> Buckets {
        Buckets::of(&values(OF_MICROSECONDS, counts), Some(total_us)).expect("a known form")
    }

    #[test]
    fn bounds_are_those_of_cassandra() {
        assert!(bounds().take(90).eq(BOUNDS));
        // The last of timers in nanoseconds is beyond all times: 5 hours.
        let last = bounds().nth(OF_NANOSECONDS - 2).expect("a bound");
        assert!(last > 5 * 3600 * 1_000_000_000, "{last}");
    }

    #[test]
    fn the_number_of_buckets_says_what_a_timer_counts_in() {
        let bound = |length| {
            let found = Buckets::of(&values(length, &[(27, 3)]), None)?;
            Some(found.counts)
        };
        // Bucket 27 ends at 310: microseconds since Cassandra 4.1, nanoseconds before.
        assert_eq!(bound(128), Some(vec![[310_000, 3]]));
        assert_eq!(bound(165), Some(vec![[310, 3]]));
        assert_eq!(bound(90), None);
        // What is above all bounds counts at the last.
        let above = Buckets::of(&values(128, &[(126, 1), (127, 2)]), None).expect("a known form");
        assert_eq!(above.counts.len(), 1);
        assert_eq!(above.count(), 3);
    }

    #[test]
    fn a_window_is_the_difference_of_its_ends() {
        let before = buckets(&[(3, 5), (10, 7)], 100);
        let after = buckets(&[(3, 5), (10, 9), (20, 1)], 250);
        let gained = after.since(&before).expect("it went on");
        assert_eq!(gained.counts, [[14_000, 2], [86_000, 1]]);
        assert_eq!(gained.total_us, Some(150));
        // A node that was restarted has lost its counts.
        assert_eq!(before.since(&after), None);
        assert_eq!(buckets(&[(10, 1)], 10).since(&before), None);
        let untimed = Buckets {
            total_us: None,
            ..before
        };
        let gained = after.since(&untimed).expect("it went on");
        assert_eq!(gained.total_us, None);
    }

    #[test]
    fn percentiles_are_bounds_and_the_mean_is_exact() {
        let one = buckets(&[(20, 500), (27, 490), (40, 10)], 150_000);
        let times = one.times().expect("counts");
        assert_eq!(times.count, 1000);
        assert_eq!(times.mean_us, Some(150.0));
        assert_eq!((times.p50_us, times.p99_us), (Some(86.0), Some(310.0)));
        assert!((times.max_us - 3311.0).abs() < 1e-9);
        // Nine above are too few.
        let few = buckets(&[(20, 890), (40, 9)], 0).times().expect("counts");
        assert_eq!((few.p50_us, few.p99_us), (Some(86.0), None));
        assert_eq!(Buckets::default().times(), None);
    }

    #[test]
    fn nodes_are_merged_and_requests_counted_once() {
        let node = |timers: &[(Timer, &[(usize, u64)])]| NodeTimers {
            to_ns: 9,
            timers: timers
                .iter()
                .map(|(timer, counts)| (*timer, buckets(counts, 1000)))
                .collect(),
        };
        let seen = [
            (
                "node1",
                node(&[
                    (Timer::Queue, &[(3, 60)]),
                    (Timer::Read, &[(20, 40)]),
                    (Timer::CasRead, &[(20, 10)]),
                    (Timer::LocalRead, &[(8, 80)]),
                    (Timer::Write, &[]),
                ]),
            ),
            (
                "node2",
                node(&[(Timer::Read, &[(27, 40)]), (Timer::CasWrite, &[(30, 24)])]),
            ),
            ("node3", node(&[])),
        ];
        let seen = seen.iter().map(|(name, timers)| (*name, timers));
        let times = ServerTimes {
            ended: 100,
            ..ServerTimes::of(seen).expect("nodes")
        };
        assert_eq!(times.missing, ["node3"]);
        assert_eq!(times.coordinated, 104);
        assert!((times.surplus() - 0.04).abs() < 1e-9);
        let read = &times.all[&Timer::Read];
        assert_eq!((read.count, read.mean_us), (80, Some(25.0)));
        assert_eq!(read.p50_us, Some(86.0));
        assert!(
            !times.all.contains_key(&Timer::Write),
            "nothing was written"
        );
        assert_eq!(times.nodes["node2"][&Timer::Read].p50_us, Some(310.0));
        assert_eq!(ServerTimes::of(std::iter::empty()), None);
    }
}
