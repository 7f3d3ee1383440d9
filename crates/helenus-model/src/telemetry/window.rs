//! What readings say of one stretch of time: counters gained, shares of the time that something was under way.
//! Refuses a number where a counter was not seen at both ends, or started anew between them.

use super::{
    Emulated, EmulatorSample, Event, EventKind, GENERATOR, HOST, HostSample, NodeSample, Reading,
    Seen,
};
use crate::fault::script::fault_in_words;
use crate::flame::{Profile, ProfilePlan};
use crate::server_times::NodeTimers;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// How far a stretch may reach beyond the readings, as a share of it: what is missing there is taken as the rest.
const BEYOND: f64 = 0.05;

/// Readings seen through one span of time.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    readings: &'a [Reading],
    from_ns: u64,
    to_ns: u64,
}

impl<'a> Window<'a> {
    /// From and to on the run's monotonic clock, in nanoseconds. Readings of one source stand in the order of time.
    pub fn new(readings: &'a [Reading], from_ns: u64, to_ns: u64) -> Self {
        Self {
            readings,
            from_ns,
            to_ns,
        }
    }

    /// Its length in nanoseconds.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
    pub fn length_ns(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64
    }

    /// The nodes of which there are samples, in this window or outside.
    pub fn nodes(&self) -> BTreeSet<&'a str> {
        let of_nodes = self
            .readings
            .iter()
            .filter(|r| matches!(r.seen, Seen::Node(_)));
        of_nodes.map(|r| r.source.as_str()).collect()
    }

    /// What a counter of a source gained, with values at both ends put between the readings around them.
    pub fn gained(&self, source: &str, counter: impl Fn(&Seen) -> Option<u64>) -> Option<f64> {
        let points: Vec<(u64, u64)> = self
            .readings
            .iter()
            .filter(|r| r.source == source)
            .filter_map(|r| Some((r.at_ns, counter(&r.seen)?)))
            .collect();
        let (first, last) = (points.first()?.0, points.last()?.0);
        let from_ns = self.from_ns.max(first);
        let to_ns = self.to_ns.min(last);
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
        let seen_ns = to_ns.checked_sub(from_ns)? as f64;
        if seen_ns <= 0.0 || seen_ns < self.length_ns() * (1.0 - BEYOND) {
            return None;
        }
        let before = points.partition_point(|(at, _)| *at <= from_ns);
        let after = points.partition_point(|(at, _)| *at < to_ns);
        let between = points.get(before.saturating_sub(1)..=after)?;
        if between.windows(2).any(|two| two[1].1 < two[0].1) {
            return None;
        }
        let gained = value_at(between, to_ns)? - value_at(between, from_ns)?;
        Some(gained * self.length_ns() / seen_ns)
    }

    /// What a counter of all nodes gained together; none where one of them has none.
    pub fn gained_by_nodes(&self, counter: impl Fn(&NodeSample) -> Option<u64>) -> Option<f64> {
        let of_node = |seen: &Seen| match seen {
            Seen::Node(node) => counter(node),
            _ => None,
        };
        let nodes = self.nodes();
        (!nodes.is_empty())
            .then(|| nodes.iter().map(|node| self.gained(node, of_node)).sum())
            .flatten()
    }

    /// What a counter of the host gained.
    pub fn gained_by_host(&self, counter: impl Fn(&HostSample) -> Option<u64>) -> Option<f64> {
        self.gained(HOST, |seen| match seen {
            Seen::Host(host) => counter(host),
            _ => None,
        })
    }

    /// Share of the host's CPU that the hypervisor took.
    pub fn steal_share(&self) -> Option<f64> {
        let total = self.gained_by_host(|h| Some(h.total_us))?;
        let stolen = self.gained_by_host(|h| Some(h.stolen_us))?;
        (total > 0.0).then(|| (stolen / total).clamp(0.0, 1.0))
    }

    /// Share of the host's CPU that others than the nodes, the generator and Helenus used. A death takes a process's
    /// time out of the sum: nothing can be said of the others then.
    pub fn foreign_cpu_share(&self) -> Option<f64> {
        if self.events(EventKind::Died).next().is_some() {
            return None;
        }
        let total = self.gained_by_host(|h| Some(h.total_us))?;
        let busy = self.gained_by_host(|h| Some(h.busy_us))?;
        let ours = self.gained_by_host(|h| Some(h.ours_us))?;
        (total > 0.0).then(|| ((busy - ours) / total).clamp(0.0, 1.0))
    }

    /// Share of the measurement window that the generator's busiest thread could have run and waited for a processor.
    pub fn generator_wait_share(&self) -> Option<f64> {
        let waited_us = self.gained(GENERATOR, |seen| match seen {
            Seen::Generator(generator) => Some(generator.run_queue_wait_us),
            _ => None,
        })?;
        Some((waited_us * 1e3 / self.length_ns().max(1.0)).clamp(0.0, 1.0))
    }

    /// Processors that all generator processes together kept busy.
    pub fn generator_processors(&self) -> Option<f64> {
        let cpu_us = self.gained(GENERATOR, |seen| match seen {
            Seen::Generator(generator) => Some(generator.cpu_us),
            _ => None,
        })?;
        Some(cpu_us * 1e3 / self.length_ns().max(1.0))
    }

    /// What the emulator of distance did, by the readings nearest to both ends.
    pub fn emulated(&self) -> Option<Emulated> {
        let samples: Vec<(u64, &EmulatorSample)> = self
            .readings
            .iter()
            .filter_map(|r| match &r.seen {
                Seen::Emulator(sample) => Some((r.at_ns, sample)),
                _ => None,
            })
            .collect();
        let nearest = |at_ns: u64| samples.iter().min_by_key(|(at, _)| at.abs_diff(at_ns));
        let (&(begin_ns, before), &(end_ns, after)) =
            (nearest(self.from_ns)?, nearest(self.to_ns)?);
        let inside = (begin_ns.max(self.from_ns), end_ns.min(self.to_ns));
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
        let seen_ns = inside.1.checked_sub(inside.0)? as f64;
        if seen_ns <= 0.0 || seen_ns < self.length_ns() * (1.0 - BEYOND) {
            return None;
        }
        after.since(before, end_ns - begin_ns)
    }

    /// Events of a kind that lie in the measurement window at least in part, each with its source and its part of the
    /// measurement window.
    pub fn events(
        &self,
        kind: EventKind,
    ) -> impl Iterator<Item = (&'a str, (u64, u64), &'a Event)> + use<'a> {
        let Self {
            readings,
            from_ns,
            to_ns,
        } = *self;
        readings.iter().filter_map(move |r| match &r.seen {
            Seen::Event(event) if event.what == kind => {
                let part = (r.at_ns.max(from_ns), event.to_ns.min(to_ns));
                (part.0 < part.1).then_some((r.source.as_str(), part, event))
            }
            _ => None,
        })
    }

    /// Share of the measurement window in which something of this kind was under way at any source.
    pub fn share(&self, kind: EventKind) -> f64 {
        self.covered(self.events(kind).map(|(_, part, _)| part).collect())
    }

    /// The same by source; sources without any are left out.
    pub fn share_by_source(&self, kind: EventKind) -> BTreeMap<&'a str, f64> {
        let mut parts: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for (source, part, _) in self.events(kind) {
            parts.entry(source).or_default().push(part);
        }
        parts
            .into_iter()
            .map(|(source, parts)| (source, self.covered(parts)))
            .collect()
    }

    /// Share of the measurement window by the words of events of this kind, whatever their sources.
    pub fn share_by_text(&self, kind: EventKind) -> BTreeMap<&'a str, f64> {
        let mut parts: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for (_, part, event) in self.events(kind) {
            parts.entry(&event.text).or_default().push(part);
        }
        parts
            .into_iter()
            .map(|(text, parts)| (text, self.covered(parts)))
            .collect()
    }

    /// Profiles that lie in the measurement window at least in part, each with its node and its beginning.
    pub fn profiles(&self) -> impl Iterator<Item = (&'a str, u64, &'a Profile)> + use<'a> {
        let Self {
            readings,
            from_ns,
            to_ns,
        } = *self;
        readings.iter().filter_map(move |r| match &r.seen {
            Seen::Profile(profile) if r.at_ns < to_ns && from_ns < profile.to_ns => {
                Some((r.source.as_str(), r.at_ns, profile))
            }
            _ => None,
        })
    }

    /// Shares of the measurement window in which nodes were profiled, by event and node.
    pub fn profiled(&self) -> BTreeMap<String, f64> {
        self.profiles()
            .map(|(node, at_ns, profile)| {
                let part = (at_ns.max(self.from_ns), profile.to_ns.min(self.to_ns));
                let words = ProfilePlan {
                    node: node.to_owned(),
                    event: profile.event,
                };
                (words.to_string(), self.covered(vec![part]))
            })
            .collect()
    }

    /// The operations that ended in it and were traced.
    pub fn traces(&self) -> impl Iterator<Item = &'a Trace> {
        let within = self.from_ns..=self.to_ns;
        let readings = self.readings.iter();
        readings.filter_map(move |reading| match &reading.seen {
            Seen::Traced(trace) if within.contains(&reading.at_ns) => Some(trace),
            _ => None,
        })
    }

    /// What nodes' timers counted in it, each with its node: the moments at which they were read lie beside its ends.
    pub fn timers(&self) -> impl Iterator<Item = (&'a str, &'a NodeTimers)> + use<'a> {
        let within = self.from_ns..self.to_ns;
        self.readings.iter().filter_map(move |r| match &r.seen {
            Seen::Timers(timers) if within.contains(&(r.at_ns / 2 + timers.to_ns / 2)) => {
                Some((r.source.as_str(), timers))
            }
            _ => None,
        })
    }

    /// Faults that were asked for and not made, at whatever moment of the run: without one the run is another.
    pub fn not_made(&self) -> Vec<String> {
        let all = self.readings.iter().filter_map(|r| match &r.seen {
            Seen::Event(event) if event.what == EventKind::NotMade => Some(event.text.clone()),
            _ => None,
        });
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Nodes that died in the measurement window, less those that ended of a fault that was asked for: killed, or
    /// started again after their disk was full.
    pub fn died_by_themselves(&self) -> BTreeSet<&'a str> {
        let killed: Vec<(&str, u64, u64)> = self
            .readings
            .iter()
            .filter_map(|r| match &r.seen {
                Seen::Event(event) if ends_nodes(event) => {
                    Some((r.source.as_str(), r.at_ns, event.to_ns))
                }
                _ => None,
            })
            .collect();
        let asked_for = |node: &str, (from, to): (u64, u64)| {
            killed
                .iter()
                .any(|(killed, begin, end)| *killed == node && *begin <= to && from <= *end)
        };
        self.events(EventKind::Died)
            .filter(|(node, part, _)| !asked_for(node, *part))
            .map(|(node, _, _)| node)
            .collect()
    }

    /// Share of the measurement window that these parts cover together: where two lie over each other they count once.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
    fn covered(&self, mut parts: Vec<(u64, u64)>) -> f64 {
        parts.sort_unstable();
        let (mut covered, mut reached) = (0, self.from_ns);
        for (from, to) in parts {
            covered += to.saturating_sub(from.max(reached));
            reached = reached.max(to);
        }
        covered as f64 / self.length_ns().max(1.0)
    }
}

/// Whether an event is a fault that was asked for and of which nodes end.
fn ends_nodes(event: &Event) -> bool {
    let asked = |text: &str| fault_in_words(text).is_some_and(|fault| fault.what.ends_nodes());
    match event.what {
        EventKind::Killed => true,
        EventKind::Fault => asked(&event.text),
        _ => false,
    }
}

/// The counter at a moment that lies between the first and the last of these points.
#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds and counters below 2^53"
)]
fn value_at(points: &[(u64, u64)], at_ns: u64) -> Option<f64> {
    let next = points.iter().position(|(at, _)| *at >= at_ns)?;
    let (after_at, after) = points[next];
    if after_at == at_ns || next == 0 {
        return Some(after as f64);
    }
    let (before_at, before) = points[next - 1];
    let part = (at_ns - before_at) as f64 / (after_at - before_at) as f64;
    Some(before as f64 + part * (after - before) as f64)
}

#[cfg(test)]
mod tests;
