//! Requests that wait at once by distance alone, against the threads of the nodes that coordinate: one thread has one
//! request until it is answered. Refuses to say how long the queue becomes.

use super::cell::{Cell, Kind, Load};
use super::scene::setting;
use crate::consistency::Consistency;
use crate::plan::ClusterPlan;
use serde::Serialize;

/// How many requests a node has threads for, in cassandra.yaml.
const THREADS_KEY: &str = "native_transport_max_threads";

/// The same by default (cassandra.yaml of 3.11 to 5.0).
const STOCK_THREADS: u32 = 128;

/// From this share of the threads on, what comes at random finds none free too often.
const CROWDED: f64 = 0.5;

/// Operations a second by default, the highest first: low, so that no queue adds to the wait.
const RATES_PER_S: [f64; 7] = [100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0];

/// The highest of the rates that are asked for by default at which nothing is crowded, with its plan; the lowest where
/// all are.
///
/// # Errors
/// What a plan can fail with.
pub fn at_ease<T, E>(
    mut plan: impl FnMut(f64) -> Result<T, E>,
    is_crowded: impl Fn(&T) -> bool,
) -> Result<T, E> {
    let [first, lower @ ..] = RATES_PER_S;
    let mut found = plan(first)?;
    for rate in lower {
        if !is_crowded(&found) {
            break;
        }
        found = plan(rate)?;
    }
    Ok(found)
}

/// A cell whose latency will be that of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crowded {
    /// The level.
    pub level: Consistency,
    /// The workload.
    pub workload: Kind,
    /// The distance's word.
    pub distance: String,
    /// How much is asked.
    pub load: Load,
    /// Requests that wait at once, on average.
    pub waiting: f64,
    /// Threads for requests of all nodes that coordinate.
    pub threads: u32,
}

/// Threads for requests of the nodes that coordinate where the client stands: those that do nothing else, where there
/// are any.
pub fn threads(plan: &ClusterPlan, data_center: &str) -> u32 {
    let near = || plan.nodes.iter().filter(|n| n.data_center == data_center);
    let only = near().any(|node| node.coordinator);
    let nodes = near().filter(|node| node.coordinator == only);
    let of = |yaml: &str| setting(yaml, THREADS_KEY).and_then(|value| value.parse().ok());
    nodes
        .map(|node| of(&node.yaml).unwrap_or(STOCK_THREADS))
        .sum()
}

impl Crowded {
    /// Whether a cell is one, where its coordinators have so many threads.
    pub fn of(cell: &Cell, threads: u32) -> Option<Self> {
        let waiting = waiting(cell);
        (waiting > f64::from(threads) * CROWDED).then(|| Self {
            level: cell.level,
            workload: cell.workload,
            distance: cell.distance.word.clone(),
            load: cell.load,
            waiting,
            threads,
        })
    }
}

/// Requests under way at once: a rate times the least that distance makes them wait (Little's law), or what a closed loop
/// has in flight.
fn waiting(cell: &Cell) -> f64 {
    let per_s = match cell.load {
        Load::Closed(in_flight) => return f64::from(in_flight),
        Load::Rate(per_s) => per_s,
    };
    let weights = cell.workload.operations();
    let all: u32 = weights.iter().map(|(_, weight)| weight).sum();
    let each = weights.iter().map(|(name, weight)| {
        let us = cell.predicted.get(*name).map_or(0, |one| one.low_us);
        #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
        let seconds = us as f64 / 1e6;
        seconds * f64::from(*weight)
    });
    per_s * each.sum::<f64>() / f64::from(all.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::{Distance, Scene, cell};
    use std::collections::BTreeMap;

    fn cell(workload: Kind, level: Consistency, load: Load) -> Cell {
        let scene = Scene::wan();
        Cell {
            comparison: "lv-1".into(),
            repeat: 0,
            level,
            again: false,
            reference: Consistency::LocalQuorum,
            workload,
            distance: Distance::as_they_are(),
            round_trips_us: BTreeMap::new(),
            load,
            client_dc: "DC1".into(),
            replicas: BTreeMap::new(),
            tcp_nodelay: None,
            predicted: cell::predict(&scene, workload, level).expect("legal"),
        }
    }

    #[test]
    fn what_waits_is_the_rate_times_the_way() {
        let at = |workload, level, load| waiting(&cell(workload, level, load));
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9;
        use Consistency::{EachQuorum, LocalQuorum, Quorum};
        assert!(near(at(Kind::Write, EachQuorum, Load::Rate(100.0)), 8.0));
        assert!(near(at(Kind::Mixed, Quorum, Load::Rate(100.0)), 2.0));
        // Four rounds of 20 ms.
        assert!(near(at(Kind::Lwt, Quorum, Load::Rate(50.0)), 4.0));
        assert!(near(at(Kind::Write, LocalQuorum, Load::Rate(1e5)), 0.0));
        assert!(near(at(Kind::Write, LocalQuorum, Load::Closed(50)), 50.0));
    }

    #[test]
    fn the_rate_is_the_highest_at_which_nothing_is_crowded() {
        let easy = |threads: f64| {
            let plan = |rate: f64| Ok::<f64, ()>(rate);
            at_ease(plan, |rate| rate * 0.08 > threads * CROWDED).expect("a rate")
        };
        assert_eq!([128.0, 12.0, 4.0, 0.0].map(easy), [100.0, 50.0, 20.0, 1.0]);
    }

    #[test]
    fn a_cell_is_crowded_from_half_of_the_threads_on() {
        let cell = cell(Kind::Write, Consistency::EachQuorum, Load::Rate(100.0));
        assert_eq!(Crowded::of(&cell, 16), None);
        let crowded = Crowded::of(&cell, 12).expect("8 of 12");
        assert_eq!((crowded.threads, crowded.distance.as_str()), (12, "links"));
    }
}
