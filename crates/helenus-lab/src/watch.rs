//! The watch beside a run: it follows the generator's lines, has readings taken at the ends of each measured stretch,
//! and hands over what they say of each phase.
//! Refuses to judge: the facts go to `helenus_model::doubt`.

use helenus_cluster::reach::cql_address;
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::{Sampler, monotonic_ns};
use helenus_model::doubt::OutsideFacts;
use helenus_model::result::Around;
use helenus_model::run_plan::{Extent, Phase, RunPlan};
use helenus_model::sample::{Interval, SampleLine, Stretch};
use helenus_model::tail::Evidence;
use helenus_model::telemetry::{self, Reading, SLOWEST, Slowest, Window, under_way};
use std::collections::BTreeMap;

/// A measurement window: from and to on the monotonic clock, in nanoseconds.
pub type Span = (u64, u64);

/// A run that is watched.
#[derive(Debug)]
pub struct Watch {
    sampler: Option<Sampler>,
    /// Whether the generators are processes of this machine.
    generators: bool,
    /// Names of nodes by the addresses that clients use.
    names: BTreeMap<String, String>,
    phases: Vec<Phase>,
    readings: Vec<Reading>,
    /// Seconds of the present phase so far.
    seconds: u64,
}

/// A run that was watched to its end.
#[derive(Debug)]
pub struct Seen {
    readings: Vec<Reading>,
    /// How many of them had been handed over before the end.
    handed_over: usize,
    names: BTreeMap<String, String>,
}

/// The slowest operations of an interval that counts, as a reading of its end.
fn slowest_of(interval: &Interval) -> Option<Reading> {
    let counts = interval.stretch == Stretch::Measured && !interval.slowest.is_empty();
    counts.then(|| Reading {
        source: SLOWEST.to_owned(),
        at_ns: interval.end_ns,
        seen: telemetry::Seen::Slowest(Slowest {
            phase: interval.phase,
            operations: interval.slowest.clone(),
        }),
    })
}

/// Names of a cluster's nodes by the addresses that clients use.
fn names(state: &ClusterState) -> BTreeMap<String, String> {
    let nodes = state.plan.nodes.iter();
    let named = nodes.map(|node| (cql_address(&state.plan, node), node.name.clone()));
    named.map(|(at, name)| (at.to_string(), name)).collect()
}

impl Watch {
    /// Starts to watch. Without a thread nothing is seen, and the run continues.
    pub fn begin(cluster: Option<&ClusterState>, plan: &RunPlan) -> Self {
        let sampler = Sampler::begin(cluster)
            .inspect_err(|error| tracing::warn!(%error, "no telemetry"))
            .ok();
        Self {
            sampler,
            generators: true,
            names: cluster.map(names).unwrap_or_default(),
            phases: plan.phases.clone(),
            readings: Vec::new(),
            seconds: 0,
        }
    }

    /// As [`Self::begin`], of a run whose generators are none of this machine's.
    pub fn of_nodes(cluster: Option<&ClusterState>, plan: &RunPlan) -> Self {
        Self {
            generators: false,
            ..Self::begin(cluster, plan)
        }
    }

    /// Of a run elsewhere, whose nodes and generators are none of this machine's: only what others saw is kept.
    pub fn elsewhere(plan: &RunPlan) -> Self {
        Self {
            sampler: None,
            generators: false,
            names: BTreeMap::new(),
            phases: plan.phases.clone(),
            readings: Vec::new(),
            seconds: 0,
        }
    }

    /// Takes the generator's next line; gives what was seen since the one before.
    pub fn see(&mut self, line: &SampleLine) -> &[Reading] {
        let mut slowest = None;
        match line {
            SampleLine::Header(header) => {
                if let (Some(sampler), true) = (&self.sampler, self.generators) {
                    let pids = [header.pid]
                        .into_iter()
                        .chain(header.beside.iter().copied());
                    sampler.generators(pids.filter_map(|pid| i32::try_from(pid).ok()).collect());
                }
                self.look_now();
            }
            SampleLine::Interval(interval) => {
                self.follow(interval);
                slowest = slowest_of(interval);
            }
            SampleLine::PhaseEnd(_) => {
                self.look_now();
                self.seconds = 0;
            }
            SampleLine::Mark(_) | SampleLine::Footer(_) | SampleLine::Failure(_) => {}
        }
        let known = self.readings.len();
        self.readings.extend(slowest);
        if let Some(sampler) = &self.sampler {
            self.readings.extend(sampler.take());
        }
        &self.readings[known..]
    }

    /// Takes events that others saw, such as faults; they are already reported.
    pub fn add(&mut self, readings: &[Reading]) {
        self.readings.extend_from_slice(readings);
    }

    /// Adds a phase that comes after those that are there.
    pub fn add_phase(&mut self, phase: &Phase) {
        self.phases.push(phase.clone());
    }

    fn look_now(&self) {
        if let Some(sampler) = &self.sampler {
            sampler.look_now();
        }
    }

    /// A phase's first interval says when its measurement window will start and end; without a warm-up the look at the
    /// line before was at its beginning.
    fn follow(&mut self, interval: &Interval) {
        if self.seconds == 0
            && let (Some(sampler), Some(phase)) = (&self.sampler, self.phases.get(interval.phase))
        {
            let begin_ns = interval.start_ns + phase.warmup_ms * 1_000_000;
            if phase.warmup_ms > 0 {
                sampler.look_at(begin_ns);
            }
            if let Extent::DurationMs(ms) = phase.extent {
                sampler.look_at(begin_ns + ms * 1_000_000);
            }
        }
        self.seconds += 1;
    }

    /// Seconds of the present phase so far.
    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    /// The end of the run.
    pub fn end(self) -> Seen {
        let mut readings = self.readings;
        let handed_over = readings.len();
        if let Some(sampler) = self.sampler {
            readings.extend(sampler.end());
        }
        let tasks = under_way(&readings, monotonic_ns());
        readings.extend(tasks);
        Seen {
            readings,
            handed_over,
            names: self.names,
        }
    }
}

impl Seen {
    /// All readings.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Those that [`Watch::see`] did not give.
    pub fn last(&self) -> &[Reading] {
        &self.readings[self.handed_over..]
    }

    /// What is to be judged of a measurement window: what was `known` of the nodes beforehand, and what was seen.
    pub fn outside(&self, known: &OutsideFacts, (from_ns, to_ns): Span) -> OutsideFacts {
        known.seen_through(&Window::new(&self.readings, from_ns, to_ns))
    }

    /// The slowest operations of all phases, and what may have made them slow.
    pub fn evidence(&self) -> Evidence {
        Evidence {
            names: self.names.clone(),
            ..Evidence::of(&self.readings)
        }
    }

    /// What nodes and host did in a measurement window in which so many operations ended.
    pub fn around(&self, (from_ns, to_ns): Span, ended: u64) -> Around {
        Around::of(&self.readings, from_ns, to_ns, ended)
    }
}

#[cfg(test)]
mod tests;
