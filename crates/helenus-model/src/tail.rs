//! WHOSE TAIL IS IT: what the operations above p99 and p99.9 overlapped, against what they would overlap by chance.
//! Refuses to name a cause for a coincidence: a share counts only against the same operations at other times.

mod chance;

use crate::sample::SlowOperation;
use crate::seed::Seed;
use crate::stats::holm;
use crate::telemetry::{EventKind, GENERATOR, HOST, Reading, Seen};
use crate::units::percent;
use chance::{Cover, by_chance, elsewhere};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Most operations of a tail that are judged, the slowest: more add nothing but work.
const MOST_OPERATIONS: usize = 500;

/// Fewest operations of which anything is said.
const FEWEST_OPERATIONS: usize = 5;

/// Slowest operations of a phase that are listed with what they overlapped.
const LISTED: usize = 10;

/// Chance of any wrong name among all causes of a phase, both percentiles together.
pub const LEVEL: f64 = 0.05;

/// A cause is named from so much of the tail's time on, beyond what chance explains.
pub const NAMED_FROM: f64 = 0.1;

/// Share of a second's CPU from which on the hypervisor, or a wait for a processor, is a possible cause.
const SECONDS_COUNT_FROM: f64 = 0.05;

/// Longest time between two looks at a node: what a look shows may have started so long before, in nanoseconds.
const BETWEEN_LOOKS_NS: u64 = 1_000_000_000;

/// What can make an operation slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A node's process was stopped by a signal.
    Paused,
    /// A node collected garbage.
    Collection,
    /// A node's threads stood still at a safepoint for another reason, for 10 ms or longer.
    Safepoint,
    /// A node compacted.
    Compaction,
    /// A node wrote a memtable to disk.
    Flush,
    /// A node's commit log waited for the disk.
    LogSync,
    /// A node replayed hints.
    Hints,
    /// A node was down, or a requested fault held.
    Fault,
    /// A node joined or left.
    Membership,
    /// The hypervisor gave more than 5 % of a second's CPU to others.
    Steal,
    /// The generator's busiest thread waited for a processor for more than 5 % of a second.
    GeneratorWaited,
    /// The generator started the operation late.
    GeneratorLate,
}

impl Cause {
    /// In words, as in *p99.9 overlapped …*.
    pub fn words(self) -> &'static str {
        match self {
            Self::Paused => "a process stopped by a signal",
            Self::Collection => "garbage collection",
            Self::Safepoint => "a safepoint",
            Self::Compaction => "compaction",
            Self::Flush => "a flush",
            Self::LogSync => "a commit log's sync",
            Self::Hints => "replay of hints",
            Self::Fault => "a fault",
            Self::Membership => "a node that joined or left",
            Self::Steal => "steal",
            Self::GeneratorWaited => "the generator's wait for a processor",
            Self::GeneratorLate => "the generator's lateness",
        }
    }

    fn of(event: EventKind) -> Option<Self> {
        Some(match event {
            EventKind::Paused => Self::Paused,
            EventKind::Collection => Self::Collection,
            EventKind::Safepoint => Self::Safepoint,
            EventKind::Compaction => Self::Compaction,
            EventKind::Flush => Self::Flush,
            EventKind::LogSync => Self::LogSync,
            EventKind::Hints => Self::Hints,
            EventKind::Fault | EventKind::Killed | EventKind::Died => Self::Fault,
            EventKind::Membership => Self::Membership,
            EventKind::NotMade => return None,
        })
    }

    /// Whether it is known from looks once a second.
    fn is_looked_for(self) -> bool {
        matches!(self, Self::Compaction | Self::Flush | Self::Hints)
    }
}

/// A time in which a possible cause held, on the run's monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// What held.
    pub cause: Cause,
    /// Where: a node's name, or as readings name their sources.
    pub source: String,
    /// From when, in nanoseconds.
    pub from_ns: u64,
    /// To when, in nanoseconds.
    pub to_ns: u64,
}

/// The slowest operations of a run, and what may have made them slow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The slowest of each interval of the measurement windows.
    pub operations: Vec<SlowOperation>,
    /// Possible causes.
    pub spans: Vec<Span>,
    /// Names of nodes by the addresses that clients use.
    pub names: BTreeMap<String, String>,
}

/// The tail of a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Above p99; none where too few operations are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<TailAbove>,
    /// Above p99.9; none where too few operations are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999: Option<TailAbove>,
    /// The slowest operations, the slowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<Slow>,
}

/// What the operations above a percentile overlapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TailAbove {
    /// The percentile of response times (closed loop: service times), in microseconds.
    pub above_us: f64,
    /// Operations above it.
    pub operations: u64,
    /// Of them those that were judged: the slowest of each second.
    pub judged: u64,
    /// What they overlapped at all, the largest share beyond chance first.
    pub overlaps: Vec<Overlap>,
}

/// One cause beside a tail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// The cause.
    pub cause: Cause,
    /// Where most of it was: a node's name; none where it is not a node's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Share of the operations' time that lay within it (mean over the operations).
    pub share: f64,
    /// The same share for the same operations at other times (mean over at most 999 random placements); none for the generator's
    /// lateness, which is a part of each operation's time and no coincidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_chance: Option<f64>,
    /// Chance of so large a share at other times, corrected for all causes and both percentiles (Holm).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
    /// Whether it is named as a cause: p is at most 5 %, and at least 10 % of the tail's time is beyond chance.
    pub named: bool,
}

impl Overlap {
    /// Its share beyond chance.
    pub fn beyond(&self) -> f64 {
        self.share - self.by_chance.unwrap_or(0.0)
    }

    /// `garbage collection (node1), 93 % of its operations' time (5.2 % by chance)`.
    pub fn sentence(&self) -> String {
        let at = self.at.as_ref().map(|node| format!(" ({node})"));
        let chance = self.by_chance.map(percent);
        let chance = chance.map(|share| format!(" ({share} by chance)"));
        format!(
            "{}{}, {} of its operations' time{}",
            self.cause.words(),
            at.unwrap_or_default(),
            percent(self.share),
            chance.unwrap_or_default()
        )
    }
}

impl Tail {
    /// The tails of which something is known, the farthest out first.
    pub fn known(&self) -> impl Iterator<Item = (&'static str, &TailAbove)> {
        let all = [("p99.9", &self.p999), ("p99", &self.p99)];
        all.into_iter()
            .filter_map(|(name, above)| Some((name, above.as_ref()?)))
    }

    /// The largest named cause of the farthest tail that has one.
    pub fn farthest_named(&self) -> Option<(&'static str, &Overlap)> {
        self.known()
            .find_map(|(name, above)| Some((name, above.named().next()?)))
    }
}

impl TailAbove {
    /// The causes that are named, the largest first.
    pub fn named(&self) -> impl Iterator<Item = &Overlap> {
        self.overlaps.iter().filter(|one| one.named)
    }
}

/// One of the slowest operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// Its operation.
    pub operation: String,
    /// When it was meant to start (closed loop: when it started), in seconds of the measurement window.
    pub at_s: f64,
    /// Its response time (closed loop: its service time), in milliseconds.
    pub time_ms: f64,
    /// Its service time in milliseconds.
    pub service_ms: f64,
    /// Its coordinator, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<String>,
    /// Number of its connection in its generator process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// Its stream on the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<i16>,
    /// What at least a tenth of its time overlapped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlapped: Vec<Cause>,
}

/// A percentile of a phase: its value in nanoseconds, and how many operations are above.
pub type Limit = Option<(u64, u64)>;

impl Evidence {
    /// Out of the readings beside a run.
    pub fn of(readings: &[Reading]) -> Self {
        let mut own = Self::default();
        for reading in readings {
            match &reading.seen {
                Seen::Slowest(slowest) => own.operations.extend_from_slice(&slowest.operations),
                Seen::Event(event) => own.spans.extend(Cause::of(event.what).map(|cause| {
                    let before_ns = u64::from(cause.is_looked_for()) * BETWEEN_LOOKS_NS;
                    Span {
                        cause,
                        source: reading.source.clone(),
                        from_ns: reading.at_ns.saturating_sub(before_ns),
                        to_ns: event.to_ns,
                    }
                })),
                _ => {}
            }
        }
        own.seconds(readings, (HOST, Cause::Steal), |seen, _| match seen {
            Seen::Host(host) => Some((host.stolen_us, host.total_us)),
            _ => None,
        });
        own.seconds(
            readings,
            (GENERATOR, Cause::GeneratorWaited),
            |seen, at_ns| match seen {
                Seen::Generator(generator) => Some((generator.run_queue_wait_us, at_ns / 1000)),
                _ => None,
            },
        );
        own
    }

    /// The name of the node at an address; the address where it is not known.
    pub fn name_of(&self, address: &str) -> String {
        let name = self.names.get(address);
        name.map_or(address, String::as_str).to_owned()
    }

    /// The name of the node at an IP address; the address where it is not known.
    pub fn name_of_ip(&self, ip: &str) -> String {
        let at_ip = |address: &str| {
            address
                .rsplit_once(':')
                .is_some_and(|(host, _)| host.trim_matches(['[', ']']) == ip)
        };
        let found = self.names.iter().find(|(address, _)| at_ip(address));
        found.map_or(ip, |(_, name)| name).to_owned()
    }

    /// The times between two readings of a source in which a counter was more than a share of another.
    #[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
    fn seconds(
        &mut self,
        readings: &[Reading],
        (source, cause): (&str, Cause),
        of: impl Fn(&Seen, u64) -> Option<(u64, u64)>,
    ) {
        let own = readings.iter().filter(|r| r.source == source);
        let points: Vec<_> = own
            .filter_map(|r| Some((r.at_ns, of(&r.seen, r.at_ns)?)))
            .collect();
        for pair in points.windows(2) {
            let [(from_ns, before), (to_ns, after)] = [pair[0], pair[1]];
            let part = after.0.saturating_sub(before.0) as f64;
            let whole = after.1.saturating_sub(before.1) as f64;
            if whole > 0.0 && part / whole > SECONDS_COUNT_FROM {
                self.spans.push(Span {
                    cause,
                    source: source.to_owned(),
                    from_ns,
                    to_ns,
                });
            }
        }
    }

    /// The same with its operations at random other times of a window, those together that came together, and none late:
    /// whatever is named then is named wrongly.
    #[must_use]
    pub fn permuted(&self, (from_ns, to_ns): (u64, u64), seed: Seed) -> Self {
        let length_ns = to_ns.saturating_sub(from_ns).max(1);
        let inside = |one: &&SlowOperation| one.from_ns() >= from_ns && one.end_ns <= to_ns;
        let mut operations: Vec<_> = self.operations.iter().filter(inside).cloned().collect();
        operations.sort_by_key(SlowOperation::from_ns);
        let times: Vec<_> = operations.iter().map(|o| (o.from_ns(), o.end_ns)).collect();
        let moves = elsewhere(&times, length_ns, seed);
        for (one, by_ns) in operations.iter_mut().zip(moves) {
            let before_ns = one.from_ns();
            let begin_ns = from_ns + (before_ns - from_ns + by_ns) % length_ns;
            let moved = |at_ns: u64| begin_ns + (at_ns - before_ns);
            one.end_ns = moved(one.end_ns);
            one.start_ns = moved(one.start_ns);
            one.intended_ns = one.intended_ns.map(moved);
            one.lateness_ns = 0;
        }
        Self {
            operations,
            ..self.clone()
        }
    }

    /// The tail of a measurement window (from and to in nanoseconds), above its p99 and p99.9; none where nothing is
    /// known of its slowest operations.
    pub fn tail(
        &self,
        (from_ns, to_ns): (u64, u64),
        [p99, p999]: [Limit; 2],
        seed: Seed,
    ) -> Option<Tail> {
        let inside = |one: &&SlowOperation| one.end_ns >= from_ns && one.from_ns() <= to_ns;
        let mut operations: Vec<&SlowOperation> = self.operations.iter().filter(inside).collect();
        operations.sort_by_key(|one| Reverse(one.time_ns()));
        let slowest = operations.first()?;
        let causes = Causes::of(&self.spans, (from_ns, to_ns.max(slowest.end_ns)));
        let judge = |limit: Limit, name: &str| {
            let (above_ns, count) = limit?;
            let above = |one: &&&SlowOperation| one.time_ns() > above_ns;
            let all = operations.iter().filter(above).copied();
            let judged: Vec<&SlowOperation> = all.take(MOST_OPERATIONS).collect();
            (judged.len() >= FEWEST_OPERATIONS)
                .then(|| causes.judge(&judged, (above_ns, count), seed.derive(name)))
        };
        let mut tail = Tail {
            p99: judge(p99, "p99"),
            p999: judge(p999, "p99.9"),
            slowest: operations
                .iter()
                .take(LISTED)
                .map(|one| Slow {
                    coordinator: one.coordinator.as_ref().map(|at| self.name_of(at)),
                    ..causes.list(one)
                })
                .collect(),
        };
        tail.name();
        Some(tail)
    }
}

impl Tail {
    /// Names the causes: all of a phase are one family.
    fn name(&mut self) {
        let both = || self.p99.iter().chain(&self.p999);
        let p: Vec<f64> = both()
            .flat_map(|above| &above.overlaps)
            .filter_map(|one| one.p_holm)
            .collect();
        let mut adjusted = holm(&p).into_iter();
        for above in self.p99.iter_mut().chain(&mut self.p999) {
            for one in &mut above.overlaps {
                one.p_holm = one.p_holm.and_then(|_| adjusted.next());
                let sure = one.p_holm.is_none_or(|p| p <= LEVEL);
                one.named = sure && one.beyond() >= NAMED_FROM;
            }
            // What did not overlap at all was tested, too, and is not worth a line.
            above.overlaps.retain(|one| one.share > 0.0);
            let beyond = |one: &Overlap| (one.named, one.beyond());
            above.overlaps.sort_by(|a, b| {
                let ((a_named, a), (b_named, b)) = (beyond(a), beyond(b));
                b_named.cmp(&a_named).then(b.total_cmp(&a))
            });
        }
    }
}

/// Times from and to, in nanoseconds, by what they were seen at.
type BySource<'a> = BTreeMap<&'a str, Vec<(u64, u64)>>;

/// The possible causes within a window.
struct Causes<'a> {
    from_ns: u64,
    to_ns: u64,
    /// By cause: where they held at all, and at each source.
    covers: BTreeMap<Cause, (Cover, BTreeMap<&'a str, Cover>)>,
}

impl<'a> Causes<'a> {
    fn of(spans: &'a [Span], (from_ns, to_ns): (u64, u64)) -> Self {
        let mut parts: BTreeMap<Cause, BySource<'_>> = BTreeMap::new();
        for span in spans {
            let part = (span.from_ns.max(from_ns), span.to_ns.min(to_ns));
            if part.0 < part.1 {
                let of_cause = parts.entry(span.cause).or_default();
                of_cause.entry(&span.source).or_default().push(part);
            }
        }
        let covers = parts.into_iter().map(|(cause, by_source)| {
            let all = by_source.values().flatten().copied().collect();
            let each = by_source.into_iter();
            let each = each.map(|(source, parts)| (source, Cover::of(parts)));
            (cause, (Cover::of(all), each.collect()))
        });
        Self {
            from_ns,
            to_ns,
            covers: covers.collect(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
    fn judge(
        &self,
        operations: &[&SlowOperation],
        (above_ns, count): (u64, u64),
        seed: Seed,
    ) -> TailAbove {
        let times: Vec<(u64, u64)> = operations
            .iter()
            .map(|one| (one.from_ns().max(self.from_ns), one.end_ns.min(self.to_ns)))
            .filter(|(from, to)| from < to)
            .collect();
        let covers: Vec<&Cover> = self.covers.values().map(|(all, _)| all).collect();
        let found = by_chance(&times, (self.from_ns, self.to_ns), &covers, seed);
        let overlaps = self.covers.iter().zip(found);
        let mut overlaps: Vec<Overlap> = overlaps
            .map(|((cause, (_, by_source)), found)| {
                let at = by_source.iter().max_by(|(_, a), (_, b)| {
                    let share = |cover: &Cover| cover.mean_share(&times);
                    share(a).total_cmp(&share(b))
                });
                Overlap {
                    cause: *cause,
                    at: at
                        .filter(|(source, _)| !source.starts_with('@'))
                        .map(|(source, _)| (*source).to_owned()),
                    share: found.share,
                    by_chance: Some(found.by_chance),
                    p_holm: Some(found.p),
                    named: false,
                }
            })
            .collect();
        let late = |one: &&SlowOperation| one.lateness_ns as f64 / one.time_ns().max(1) as f64;
        overlaps.push(Overlap {
            cause: Cause::GeneratorLate,
            at: None,
            share: operations.iter().map(late).sum::<f64>() / operations.len() as f64,
            by_chance: None,
            p_holm: None,
            named: false,
        });
        TailAbove {
            above_us: above_ns as f64 / 1e3,
            operations: count,
            judged: operations.len() as u64,
            overlaps,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
    fn list(&self, one: &SlowOperation) -> Slow {
        let time = (one.from_ns(), one.end_ns);
        let covers = self.covers.iter();
        let overlapped: BTreeSet<Cause> = covers
            .filter(|(_, (all, _))| all.share(time) >= NAMED_FROM)
            .map(|(cause, _)| *cause)
            .chain(
                (one.lateness_ns as f64 >= NAMED_FROM * one.time_ns() as f64)
                    .then_some(Cause::GeneratorLate),
            )
            .collect();
        Slow {
            operation: one.operation.clone(),
            at_s: (one.from_ns() as f64 - self.from_ns as f64) / 1e9,
            time_ms: one.time_ns() as f64 / 1e6,
            service_ms: one.end_ns.saturating_sub(one.start_ns) as f64 / 1e6,
            coordinator: None,
            connection: one.connection,
            stream: one.stream,
            overlapped: overlapped.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
