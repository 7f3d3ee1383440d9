//! The phases of a cell: rows that its reads will ask for, and what is measured.
//! Refuses rows at any weaker level than ALL: a read at ONE must find what was filled.

use crate::levels::{Kind, Load};
use crate::positions::Positions;
use crate::run_plan::{Extent, Phase, Share};
use crate::schedule::Arrivals;
use serde::Serialize;

/// Rows that a mix reads and writes.
pub const ROWS: u64 = 2_000;

/// Operations in flight while rows are filled.
const FILL_IN_FLIGHT: u32 = 64;

/// How often a row that could not be filled is sent again.
const FILL_TRIES: u32 = 20;

/// How long a cell is measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Lasts {
    /// Before the measurement window, in milliseconds.
    pub warmup_ms: u64,
    /// The measurement window.
    pub extent: Extent,
    /// Most operations in flight at a rate.
    pub in_flight: u32,
}

/// What is measured.
pub fn measured(kind: Kind, load: Load, lasts: Lasts) -> Phase {
    let share = |(name, weight): &(&str, u32)| Share {
        operation: (*name).to_owned(),
        weight: *weight,
    };
    let (rate_per_s, in_flight) = match load {
        Load::Rate(per_s) => (Some(per_s), lasts.in_flight),
        Load::Closed(in_flight) => (None, in_flight),
    };
    let base = Phase::default();
    let (population, positions) = match kind {
        Kind::Mixed => (ROWS, Positions::Uniform),
        // New rows, so that no transaction finds its condition broken.
        Kind::Write | Kind::Lwt => (base.population, Positions::Sequential),
    };
    Phase {
        name: kind.word().to_owned(),
        operations: kind.operations().iter().map(share).collect(),
        rate_per_s,
        // What is asked is what a response time is.
        arrivals: Arrivals::Poisson,
        in_flight,
        extent: lasts.extent,
        population,
        positions,
        warmup_ms: lasts.warmup_ms,
        ..base
    }
}

/// The rows that are read, written first; none where nothing is read.
pub fn fill(kind: Kind) -> Option<Phase> {
    (kind == Kind::Mixed).then(|| Phase {
        name: "fill".to_owned(),
        operations: vec![Share {
            operation: "write".to_owned(),
            weight: 1,
        }],
        in_flight: FILL_IN_FLIGHT,
        extent: Extent::Count(ROWS),
        population: ROWS,
        repeat: Some(FILL_TRIES),
        ..Phase::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_filled_and_what_is_new_is_new() {
        let lasts = Lasts {
            warmup_ms: 1_000,
            extent: Extent::DurationMs(5_000),
            in_flight: 256,
        };
        let mixed = measured(Kind::Mixed, Load::Rate(100.0), lasts);
        let weights: Vec<u32> = mixed.operations.iter().map(|s| s.weight).collect();
        assert_eq!((weights, mixed.in_flight), (vec![1, 3], 256));
        let filled = fill(Kind::Mixed).expect("rows");
        assert_eq!(filled.extent, Extent::Count(mixed.population));
        let lwt = measured(Kind::Lwt, Load::Closed(50), lasts);
        assert_eq!((lwt.rate_per_s, lwt.in_flight), (None, 50));
        assert_eq!(lwt.positions, Positions::Sequential);
        assert_eq!(fill(Kind::Lwt), None);
    }
}
