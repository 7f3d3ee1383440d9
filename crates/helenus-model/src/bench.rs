//! The shape of a bench: which phases, over which rows, at which rate.
//! Refuses to know where it runs.

use crate::run_plan::{Extent, Phase, Positions, Share};
use crate::schedule::{Arrivals, Schedule};
use serde::{Deserialize, Serialize};

/// Rows of a closed loop where nobody says: few enough that every write phase covers them.
const CLOSED_POPULATION: u64 = 20_000;

/// Rows that a probe writes again and again.
const PROBE_POPULATION: u64 = 1_000_000;

/// Length of the probe: its later half is looked at, when compilers and caches are warm.
pub const PROBE_MS: u64 = 5_000;

/// A phase by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// Each position once, in order.
    Write,
    /// Any position that was written.
    Read,
    /// One read to each write, at any position that was written.
    Mixed,
}

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchShape {
    /// Phases in order.
    pub phases: Vec<PhaseKind>,
    /// Most operations in flight.
    pub in_flight: u32,
    /// Measured stretch of each phase in milliseconds.
    pub duration_ms: u64,
    /// Warm-up of each phase in milliseconds.
    pub warmup_ms: u64,
    /// Rows, where the person says.
    pub population: Option<u64>,
    /// How arrivals are spread.
    pub arrivals: Arrivals,
}

/// Why a shape makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ShapeError {
    /// Nothing would be there to read.
    #[error("a {0} phase needs rows, and no write phase before it writes any")]
    NothingToRead(&'static str),
}

impl ShapeError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "put write first in --phases, or give --population and the --seed of the run that wrote the rows"
    }
}

impl BenchShape {
    /// Checks that what is read was written, unless the person says how many rows are there.
    ///
    /// # Errors
    /// A read before any write, and no population.
    pub fn check(&self) -> Result<(), ShapeError> {
        let mut before = self
            .phases
            .iter()
            .take_while(|kind| **kind != PhaseKind::Write);
        match before.find(|_| self.population.is_none()) {
            Some(PhaseKind::Read) => Err(ShapeError::NothingToRead("read")),
            Some(PhaseKind::Mixed) => Err(ShapeError::NothingToRead("mixed")),
            _ => Ok(()),
        }
    }

    /// The phases at a rate; none is a closed loop.
    pub fn phases(&self, rate_per_s: Option<f64>) -> Vec<Phase> {
        let population = self.population.unwrap_or_else(|| match rate_per_s {
            Some(rate) => {
                let whole_ms = self.duration_ms + self.warmup_ms;
                Schedule::offered_in(rate, whole_ms.saturating_mul(1_000_000)).max(1)
            }
            None => CLOSED_POPULATION,
        });
        self.phases
            .iter()
            .map(|kind| self.phase(*kind, rate_per_s, population))
            .collect()
    }

    fn phase(&self, kind: PhaseKind, rate_per_s: Option<f64>, population: u64) -> Phase {
        let share = |operation: &str| Share {
            operation: operation.to_owned(),
            weight: 1,
        };
        let (name, operations, positions) = match kind {
            PhaseKind::Write => ("write", vec![share("write")], Positions::Sequential),
            PhaseKind::Read => ("read", vec![share("read")], Positions::Uniform),
            PhaseKind::Mixed => (
                "mixed",
                vec![share("read"), share("write")],
                Positions::Uniform,
            ),
        };
        Phase {
            name: name.to_owned(),
            operations,
            rate_per_s,
            arrivals: self.arrivals,
            in_flight: self.in_flight,
            extent: Extent::DurationMs(self.duration_ms),
            population,
            positions,
            warmup_ms: self.warmup_ms,
        }
    }

    /// The probe: the first phase's operations, as fast as the slots allow.
    pub fn probe(&self) -> Phase {
        let first = self.phases.first().copied().unwrap_or(PhaseKind::Write);
        let population = self.population.unwrap_or(PROBE_POPULATION);
        Phase {
            name: "probe".to_owned(),
            extent: Extent::DurationMs(PROBE_MS),
            warmup_ms: 0,
            ..self.phase(first, None, population)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(phases: &[PhaseKind]) -> BenchShape {
        BenchShape {
            phases: phases.to_vec(),
            in_flight: 64,
            duration_ms: 12_000,
            warmup_ms: 3_000,
            population: None,
            arrivals: Arrivals::Constant,
        }
    }

    #[test]
    fn what_is_read_was_written() {
        use PhaseKind::{Mixed, Read, Write};
        assert_eq!(shape(&[Write, Read, Mixed]).check(), Ok(()));
        assert!(shape(&[Read, Write]).check().is_err());
        assert!(shape(&[Mixed]).check().is_err());
        let known = BenchShape {
            population: Some(5),
            ..shape(&[Read])
        };
        assert_eq!(known.check(), Ok(()));
        let phases = shape(&[Write, Read, Mixed]).phases(Some(2000.0));
        // The warm-up writes the first rows, the measured stretch the rest: together the population.
        assert!(phases.iter().all(|p| p.population == 30_000));
        assert_eq!(
            phases[0].warmup_operations() + phases[0].measured_operations(),
            30_000
        );
    }
}
