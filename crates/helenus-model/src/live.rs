//! A run as it goes: what its last seconds look like, and what it waits for.
//! Refuses to judge: what a number is worth is said when the run has ended.

use crate::histogram::Histogram;
use crate::run_plan::Phase;
use crate::sample::{FailureKind, Interval, OperationInterval, Stretch};
use crate::telemetry::{
    Event, EventKind, GeneratorSample, HostSample, NodeSample, Reading, Seen, UNSEEN_NS,
};
use crate::units::{fixed, human_duration, percent, thousands};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How far back percentiles, collections and events look, in nanoseconds.
pub const BACK_NS: u64 = 10_000_000_000;

/// Seconds of rates that are kept.
pub const SECONDS_KEPT: usize = 600;

/// Two samples of a counter that are nearer say nothing about its rate, in nanoseconds.
const APART_NS: u64 = 500_000_000;

/// How far back what the run waits for looks, in nanoseconds.
const NOW_NS: u64 = 3_000_000_000;

/// Lateness of the generator at p99 from which it is named, in nanoseconds.
const LATE_NS: u64 = 1_000_000;

/// Share of the processors' time from which they are called busy.
const BUSY: f64 = 0.95;

/// Share of an interval that an event takes at least, to be named.
const SHARE_OF_EVENT: f64 = 0.02;

/// A run, as far as it has come.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    phase: String,
    /// Its place in the plan: trials of a search share a name.
    place: usize,
    rate_per_s: Option<f64>,
    slots: u32,
    stretch: Option<Stretch>,
    done: (u64, u64),
    /// What `done` counts: seconds, or operations.
    by_time: bool,
    /// Those of the last [`BACK_NS`], and of both measurement windows.
    intervals: VecDeque<Past>,
    /// Of the present phase.
    offered: u64,
    started: u64,
    ended: u64,
    failed: BTreeMap<FailureKind, u64>,
    /// By second on the run's clock.
    seconds: VecDeque<(u64, Second)>,
    nodes: Vec<(String, Samples<NodeSample>)>,
    host: Samples<HostSample>,
    generator: Samples<GeneratorSample>,
    /// Those that ended within the last [`BACK_NS`]: where, from when, what.
    events: VecDeque<(String, u64, Event)>,
    now_ns: u64,
}

/// An interval, as far as a picture needs it.
#[derive(Debug, Clone)]
struct Past {
    start_ns: u64,
    end_ns: u64,
    operations: BTreeMap<String, OperationInterval>,
}

/// The last two samples that are far enough apart.
#[derive(Debug, Clone)]
struct Samples<T> {
    before: Option<(u64, T)>,
    last: Option<(u64, T)>,
}

impl<T> Default for Samples<T> {
    fn default() -> Self {
        Self {
            before: None,
            last: None,
        }
    }
}

impl<T> Samples<T> {
    fn take(&mut self, at_ns: u64, sample: T) {
        let far = |(at, _): &(u64, T)| at_ns.saturating_sub(*at) >= APART_NS;
        if self.last.as_ref().is_some_and(far) || self.before.is_none() {
            self.before = self.last.take();
        }
        self.last = Some((at_ns, sample));
    }

    /// What a counter grew in a nanosecond between the two.
    fn pace(&self, counter: impl Fn(&T) -> u64) -> Option<f64> {
        let (before, last) = (self.before.as_ref()?, self.last.as_ref()?);
        let ns = last.0.checked_sub(before.0).filter(|ns| *ns > 0)?;
        let grown = counter(&last.1).checked_sub(counter(&before.1))?;
        Some(number(grown) / number(ns))
    }
}

/// What ended within a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Operations that ended well.
    pub completed: u64,
    /// Operations that failed.
    pub failed: u64,
}

/// An operation over the last seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationLine {
    /// Its name.
    pub name: String,
    /// Operations that ended well, a second.
    pub per_s: f64,
    /// p50, p99, p99.9 in nanoseconds; none with fewer than ten samples above it.
    pub percentiles_ns: [Option<u64>; 3],
    /// The longest, in nanoseconds.
    pub max_ns: Option<u64>,
}

/// A node at present.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeLine {
    /// Its name.
    pub name: String,
    /// It was seen in the last three seconds.
    pub up: bool,
    /// Processors that it keeps busy.
    pub processors: Option<f64>,
    /// Resident memory in bytes.
    pub rss_bytes: u64,
    /// Collections of the last seconds that stopped it, and how long, in nanoseconds.
    pub collections: (u64, u64),
    /// Compactions and other tasks on SSTables under way, and the share of the first that is done.
    pub compactions: (usize, Option<f64>),
    /// The thread pool with most tasks that wait, and how many.
    pub pending: Option<(String, u32)>,
    /// Bytes a second written to storage.
    pub written_per_s: Option<f64>,
}

impl Picture {
    /// An empty one of a cluster's nodes, as far as they are known.
    pub fn new(nodes: impl IntoIterator<Item = String>) -> Self {
        Self {
            nodes: nodes
                .into_iter()
                .map(|name| (name, Samples::default()))
                .collect(),
            ..Self::default()
        }
    }

    /// Takes an interval of a phase; `done` is how far the phase is, and the whole of it.
    pub fn interval(&mut self, phase: &Phase, interval: &Interval, done: (u64, u64)) {
        if (self.phase.as_str(), self.place) != (phase.name.as_str(), interval.phase) {
            self.phase.clone_from(&phase.name);
            self.place = interval.phase;
            self.intervals.clear();
            self.failed.clear();
            (self.offered, self.started, self.ended) = (0, 0, 0);
        }
        (self.rate_per_s, self.slots) = (phase.rate_per_s, phase.in_flight);
        (self.stretch, self.done) = (Some(interval.stretch), done);
        self.by_time = phase.whole_ms().is_some();
        let mut second = Second::default();
        for counts in interval.operations.values() {
            self.offered += counts.offered;
            self.started += counts.started;
            self.ended += counts.completed + counts.failures();
            second.completed += counts.completed;
            second.failed += counts.failures();
            for (kind, count) in &counts.failed {
                *self.failed.entry(*kind).or_default() += count;
            }
        }
        let middle_ns = interval.start_ns / 2 + interval.end_ns / 2;
        self.count(middle_ns / 1_000_000_000, second);
        self.now_ns = self.now_ns.max(interval.end_ns);
        self.intervals.push_back(Past {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            operations: interval.operations.clone(),
        });
        self.forget();
    }

    fn count(&mut self, at_s: u64, seen: Second) {
        match self.seconds.back_mut() {
            Some((last, second)) if *last == at_s => {
                second.completed += seen.completed;
                second.failed += seen.failed;
            }
            last => {
                // Seconds in which nothing was reported are seconds without operations.
                let from = last.map_or(at_s, |(last, _)| *last + 1);
                let least = at_s.saturating_sub(SECONDS_KEPT as u64);
                for empty in from.max(least)..at_s {
                    self.seconds.push_back((empty, Second::default()));
                }
                self.seconds.push_back((at_s, seen));
            }
        }
        while self.seconds.len() > SECONDS_KEPT {
            self.seconds.pop_front();
        }
    }

    /// Takes what was seen of nodes, host and generator.
    pub fn see(&mut self, reading: &Reading) {
        let at_ns = reading.at_ns;
        match &reading.seen {
            Seen::Node(sample) => {
                let known = self
                    .nodes
                    .iter()
                    .position(|(name, _)| *name == reading.source);
                let at = known.unwrap_or_else(|| {
                    self.nodes
                        .push((reading.source.clone(), Samples::default()));
                    self.nodes.len() - 1
                });
                self.nodes[at].1.take(at_ns, sample.clone());
            }
            Seen::Host(sample) => {
                self.host.take(at_ns, sample.clone());
                self.now_ns = self.now_ns.max(at_ns);
            }
            Seen::Generator(sample) => self.generator.take(at_ns, sample.clone()),
            Seen::Event(event) => {
                self.events
                    .push_back((reading.source.clone(), at_ns, event.clone()));
            }
            Seen::Emulator(_)
            | Seen::Slowest(_)
            | Seen::Traced(_)
            | Seen::Timers(_)
            | Seen::Profile(_) => {}
        }
        self.forget();
    }

    fn forget(&mut self) {
        let least = self.now_ns.saturating_sub(BACK_NS);
        self.intervals.retain(|past| past.end_ns > least);
        self.events.retain(|(_, _, event)| event.to_ns > least);
    }

    /// The phase's name.
    pub fn phase(&self) -> &str {
        &self.phase
    }

    /// Whether what is seen counts; none before the first interval.
    pub fn stretch(&self) -> Option<Stretch> {
        self.stretch
    }

    /// Share of the phase that is done, and in words how far it is and what is left, such as `12 of 60 s, 48 s left`.
    pub fn progress(&self) -> (f64, String) {
        let (done, all) = (self.done.0.min(self.done.1), self.done.1);
        if all == 0 {
            return (0.0, String::new());
        }
        let left_s = if self.by_time {
            Some(all - done)
        } else {
            let rate = self.operations().last().map_or(0.0, |all| all.per_s);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it saturates"
            )]
            (rate > 0.0).then(|| (number(all - done) / rate).round() as u64)
        };
        let unit = if self.by_time { " s" } else { "" };
        let left = left_s.map_or(String::new(), |s| {
            format!(", {} left", human_duration(Duration::from_secs(s)))
        });
        let words = format!("{} of {}{unit}{left}", thousands(done), thousands(all));
        (number(done) / number(all), words)
    }

    /// Operations a second that are asked for; none in a closed loop.
    pub fn asked_per_s(&self) -> Option<f64> {
        self.rate_per_s
    }

    /// Operations in flight at the end of the last interval, and how many may be.
    pub fn in_flight(&self) -> (u64, u32) {
        (self.started.saturating_sub(self.ended), self.slots)
    }

    /// Operations whose time has come and that wait for a slot.
    pub fn waiting(&self) -> u64 {
        match self.rate_per_s {
            Some(_) => self.offered.saturating_sub(self.started),
            None => 0,
        }
    }

    /// Operations of this phase that failed, by kind.
    pub fn failed(&self) -> &BTreeMap<FailureKind, u64> {
        &self.failed
    }

    /// What ended in each second, the newest last.
    pub fn seconds(&self) -> impl ExactSizeIterator<Item = Second> + DoubleEndedIterator {
        self.seconds.iter().map(|(_, second)| *second)
    }

    /// Operations over the last seconds, and all together where there are several.
    pub fn operations(&self) -> Vec<OperationLine> {
        let mut merged: BTreeMap<&str, OperationInterval> = BTreeMap::new();
        for past in &self.intervals {
            for (name, counts) in &past.operations {
                merged.entry(name).or_default().merge(counts);
            }
        }
        let from = self.intervals.iter().map(|past| past.start_ns).min();
        let to = self.intervals.iter().map(|past| past.end_ns).max();
        let ns = from.zip(to).map_or(0, |(from, to)| to - from);
        let mut lines: Vec<OperationLine> = merged
            .iter()
            .map(|(name, counts)| self.line(name, counts, ns))
            .collect();
        if lines.len() > 1 {
            let mut all = OperationInterval::default();
            merged.values().for_each(|counts| all.merge(counts));
            lines.push(self.line("all", &all, ns));
        }
        lines
    }

    fn line(&self, name: &str, counts: &OperationInterval, ns: u64) -> OperationLine {
        let times = self.times(counts);
        OperationLine {
            name: name.to_owned(),
            per_s: if ns == 0 {
                0.0
            } else {
                number(counts.completed) * 1e9 / number(ns)
            },
            percentiles_ns: [0.5, 0.99, 0.999].map(|quantile| times.percentile_ns(quantile)),
            max_ns: times.max_ns(),
        }
    }

    /// Response times; service times in a closed loop, which has none.
    fn times<'a>(&self, counts: &'a OperationInterval) -> &'a Histogram {
        match self.rate_per_s {
            Some(_) => &counts.response,
            None => &counts.service,
        }
    }

    /// What [`OperationLine`]s have percentiles of.
    pub fn times_are(&self) -> &'static str {
        match self.rate_per_s {
            Some(_) => "response time",
            None => "service time",
        }
    }

    /// The nodes, in the order in which they became known.
    pub fn nodes(&self) -> Vec<NodeLine> {
        self.nodes
            .iter()
            .map(|(name, of)| self.node(name, of))
            .collect()
    }

    fn node(&self, name: &str, of: &Samples<NodeSample>) -> NodeLine {
        let (at_ns, last) = match &of.last {
            Some((at_ns, sample)) => (*at_ns, Some(sample)),
            None => (0, None),
        };
        let mut collections = (0, 0);
        for (_, from, event) in self.events.iter().filter(|(source, ..)| source == name) {
            if event.what == EventKind::Collection {
                collections.0 += 1;
                collections.1 += event.to_ns.saturating_sub(*from);
            }
        }
        let compactions = last.map_or(&[][..], |sample| &sample.compactions);
        let pools = last.map_or(&[][..], |sample| &sample.pools);
        let most = pools.iter().max_by_key(|pool| pool.pending);
        NodeLine {
            name: name.to_owned(),
            up: last.is_some() && at_ns + UNSEEN_NS >= self.now_ns,
            processors: of.pace(|sample| sample.cpu_us).map(|pace| pace * 1e3),
            rss_bytes: last.map_or(0, |sample| sample.rss_bytes),
            collections,
            compactions: (compactions.len(), compactions.first().map(|task| task.done)),
            pending: most
                .filter(|pool| pool.pending > 0)
                .map(|pool| (pool.name.clone(), pool.pending)),
            written_per_s: of
                .pace(|sample| sample.written_bytes.unwrap_or_default())
                .filter(|_| last.is_some_and(|sample| sample.written_bytes.is_some()))
                .map(|pace| pace * 1e9),
        }
    }

    /// Shares of all processors' time: busy, of that others than nodes and generator, and stolen.
    pub fn host(&self) -> Option<[f64; 3]> {
        let all = self
            .host
            .pace(|host| host.total_us)
            .filter(|all| *all > 0.0)?;
        let busy = self.host.pace(|host| host.busy_us)? / all;
        let ours = self.host.pace(|host| host.ours_us).unwrap_or(0.0) / all;
        let stolen = self.host.pace(|host| host.stolen_us)? / all;
        Some([busy, (busy - ours).max(0.0), stolen])
    }

    /// Processors that the generator keeps busy, and the share of its time that its busiest thread waits for one.
    pub fn generator(&self) -> Option<[f64; 2]> {
        let busy = self.generator.pace(|of| of.cpu_us)? * 1e3;
        let waits = self.generator.pace(|of| of.run_queue_wait_us)? * 1e3;
        Some([busy, waits])
    }

    /// In words, what the run waits for just now, the weightiest first.
    pub fn waits_for(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.stretch.is_none() {
            return all;
        }
        for node in self.nodes().iter().filter(|node| !node.up) {
            all.push(format!("{} does not run", node.name));
        }
        let (in_flight, slots) = self.in_flight();
        let waiting = self.waiting();
        if waiting > 0 && in_flight >= u64::from(slots) {
            all.push(format!(
                "the nodes: all {slots} operations in flight are used, {} wait",
                thousands(waiting)
            ));
        }
        if let Some(late) = self.late() {
            all.push(late);
        }
        all.extend(self.event());
        if let Some([busy, others, stolen]) = self.host().filter(|host| host[0] + host[2] >= BUSY) {
            all.push(format!(
                "processors: {} busy, {} of it by other programs, {} taken by the hypervisor",
                percent(busy),
                percent(others),
                percent(stolen)
            ));
        }
        if all.is_empty() {
            all.push(match self.rate_per_s {
                Some(_) => "nothing: it is on schedule".to_owned(),
                None => {
                    "answers: a closed loop sends the next operation when one has ended".to_owned()
                }
            });
        }
        all
    }

    /// The generator's own delay, where it is worth a word.
    fn late(&self) -> Option<String> {
        let mut lateness = Histogram::new();
        for past in self
            .intervals
            .iter()
            .filter(|past| past.end_ns + NOW_NS > self.now_ns)
        {
            for counts in past.operations.values() {
                lateness.merge(&counts.lateness);
            }
        }
        let p99 = lateness.percentile_ns(0.99).filter(|ns| *ns >= LATE_NS)?;
        Some(format!(
            "the generator: it starts operations late by {} ms at p99",
            fixed(number(p99) / 1e6, 1)
        ))
    }

    /// What takes most of the last seconds on one node.
    fn event(&self) -> Option<String> {
        let since = self.now_ns.saturating_sub(NOW_NS);
        let mut by: BTreeMap<(&str, EventKind), u64> = BTreeMap::new();
        for (source, from, event) in &self.events {
            if stops(event.what) {
                let ns = event.to_ns.saturating_sub((*from).max(since));
                *by.entry((source, event.what)).or_default() += ns;
            }
        }
        let ((source, what), ns) = by.into_iter().max_by_key(|(_, ns)| *ns)?;
        (number(ns) >= SHARE_OF_EVENT * number(NOW_NS)).then(|| {
            format!(
                "{source}: {} for {} ms of the last {} s",
                what.word().replace('_', " "),
                thousands(ns / 1_000_000),
                NOW_NS / 1_000_000_000
            )
        })
    }
}

/// Whether operations wait while this lasts.
fn stops(what: EventKind) -> bool {
    matches!(
        what,
        EventKind::Collection | EventKind::Safepoint | EventKind::LogSync | EventKind::Paused
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 are none of ours"
)]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
