//! The shape of a bench: which phases, over which rows, at which rate.
//! Refuses to know where it runs.

use crate::run_plan::{Extent, Phase, Positions, Share};
use crate::schedule::{Arrivals, Schedule};
use crate::worded::worded;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// Rows of a closed loop by default: few enough that every write phase covers them.
const CLOSED_POPULATION: u64 = 20_000;

/// Rows that a probe writes again and again.
const PROBE_POPULATION: u64 = 1_000_000;

/// Length of the probe: its later half is looked at, when compilers and caches are warm.
pub const PROBE_MS: u64 = 5_000;

worded! {
    /// A phase by its word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum PhaseKind {
        /// Each position once, in order.
        Write = "write",
        /// Any position that was written.
        Read = "read",
        /// One read to each write, at any position that was written.
        Mixed = "mixed",
    }
}

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchShape {
    /// Phases in order.
    pub phases: Vec<PhaseKind>,
    /// Most operations in flight.
    pub in_flight: u32,
    /// When the measurement window of each phase ends.
    pub extent: Extent,
    /// Warm-up of each phase in milliseconds.
    pub warmup_ms: u64,
    /// The warm-up is lengthened where the numbers still settle after it.
    #[serde(default)]
    pub settle: bool,
    /// Rows, where the person says.
    pub population: Option<u64>,
    /// How arrivals are spread.
    pub arrivals: Arrivals,
    /// A read phase takes the rows in order, each once before any comes again, instead of any row.
    #[serde(default)]
    pub in_order: bool,
}

/// How operations are offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// By a schedule: so many operations a second.
    Open(f64),
    /// As fast as the operations in flight allow.
    Closed,
    /// By a schedule at half of what a probe reaches.
    Probe,
}

impl Load {
    /// A schedule at this rate, or a closed loop without one.
    pub fn of(rate_per_s: Option<f64>) -> Self {
        rate_per_s.map_or(Self::Closed, Self::Open)
    }

    /// Operations a second, where they are known before anything runs.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Self::Open(rate) => Some(rate),
            Self::Closed | Self::Probe => None,
        }
    }
}

/// What a request measures: a bench's phases by their words, or phases as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Shape {
    /// By their words, at a rate that a probe may find.
    Bench(BenchShape),
    /// As they are, each with its own rate.
    Phases(Vec<Phase>),
}

impl Shape {
    /// The phases; those of a bench at this rate, none being a closed loop.
    pub fn phases(&self, rate_per_s: Option<f64>) -> Vec<Phase> {
        match self {
            Self::Bench(shape) => shape.phases(rate_per_s),
            Self::Phases(phases) => phases.clone(),
        }
    }

    /// The phases' words; none where they have none.
    pub fn kinds(&self) -> &[PhaseKind] {
        match self {
            Self::Bench(shape) => &shape.phases,
            Self::Phases(_) => &[],
        }
    }

    /// How the arrivals of a bench at a rate are spread; none of phases that say it themselves.
    pub fn arrivals(&self) -> Option<Arrivals> {
        match self {
            Self::Bench(shape) => Some(shape.arrivals),
            Self::Phases(_) => None,
        }
    }

    /// What finds the rate of a bench; none where each phase has its own.
    pub fn probe(&self) -> Option<Phase> {
        match self {
            Self::Bench(shape) => Some(shape.probe()),
            Self::Phases(_) => None,
        }
    }
}

/// Why a shape makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ShapeError {
    /// Nothing would be there to read.
    #[error("a {0} phase needs rows, and no earlier write phase writes any")]
    NothingToRead(&'static str),
    /// Nothing to read with.
    #[error("a {0} phase needs a query, and the workload has only an insert")]
    NoQuery(&'static str),
    /// Rows would be read that were never written.
    #[error(
        "the population has {population} rows, and the write phase before the reads writes only {written}"
    )]
    TooMany {
        /// Asked for.
        population: u64,
        /// Offered by the write phase, warm-up included.
        written: u64,
    },
}

impl ShapeError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NothingToRead(_) => {
                "put write first in --phases, or give --population and the --seed of the run that wrote the rows"
            }
            Self::NoQuery(_) => "give a --query, or --phases write",
            Self::TooMany { .. } => {
                "leave --population out, or give a longer --duration, a larger --count or a higher --rate"
            }
        }
    }
}

impl BenchShape {
    /// The phases where the person names none: all that the workload has statements for.
    pub fn default_phases(workload: &Workload) -> Vec<PhaseKind> {
        match workload.statement("read") {
            Some(_) => vec![PhaseKind::Write, PhaseKind::Read, PhaseKind::Mixed],
            None => vec![PhaseKind::Write],
        }
    }

    /// Checks that what is read can be read and was written, unless the person says how many rows are there.
    ///
    /// # Errors
    /// A read without a query; a read before any write, and no population; a population larger than what is
    /// written before the reads, as far as the rate is known.
    pub fn check(&self, workload: &Workload, rate_per_s: Option<f64>) -> Result<(), ShapeError> {
        let reads = |kind: &&PhaseKind| **kind != PhaseKind::Write;
        if let Some(kind) = self.phases.iter().find(reads)
            && workload.statement("read").is_none()
        {
            return Err(ShapeError::NoQuery(kind.word()));
        }
        let writes_first = self.phases.first() == Some(&PhaseKind::Write);
        let read = self.phases.iter().find(reads);
        match (self.population, rate_per_s, read) {
            (None, _, Some(kind)) if !writes_first => Err(ShapeError::NothingToRead(kind.word())),
            (Some(population), rate, Some(_)) if writes_first => {
                let written = match (rate, self.extent) {
                    (Some(rate), _) => self.offered(rate),
                    (None, Extent::Count(count)) => count,
                    (None, Extent::DurationMs(_) | Extent::Until(_)) => return Ok(()),
                };
                if population > written {
                    return Err(ShapeError::TooMany {
                        population,
                        written,
                    });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Operations that a phase offers at a rate, warm-up included.
    fn offered(&self, rate_per_s: f64) -> u64 {
        let offered = |ms: u64| Schedule::offered_in(rate_per_s, ms.saturating_mul(1_000_000));
        match self.extent {
            Extent::DurationMs(ms) => offered(ms.saturating_add(self.warmup_ms)),
            Extent::Count(count) => count.saturating_add(offered(self.warmup_ms)),
            Extent::Until(target) => offered(u64::from(target.most) * 1000 + self.warmup_ms),
        }
    }

    /// The phases at a rate; none is a closed loop.
    pub fn phases(&self, rate_per_s: Option<f64>) -> Vec<Phase> {
        let population = self
            .population
            .unwrap_or_else(|| match (rate_per_s, self.extent) {
                (Some(rate), _) => self.offered(rate).max(1),
                // What a count writes is all there, whatever the warm-up wrote besides.
                (None, Extent::Count(count)) => count,
                (None, Extent::DurationMs(_) | Extent::Until(_)) => CLOSED_POPULATION,
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
            PhaseKind::Read if self.in_order => {
                ("read", vec![share("read")], Positions::Sequential)
            }
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
            extent: self.extent,
            population,
            positions,
            warmup_ms: self.warmup_ms,
            settle: self.settle,
            ..Phase::default()
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
            settle: false,
            ..self.phase(first, None, population)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{CustomWorkload, Query};

    fn shape(phases: &[PhaseKind]) -> BenchShape {
        BenchShape {
            phases: phases.to_vec(),
            in_flight: 64,
            extent: Extent::DurationMs(12_000),
            warmup_ms: 3_000,
            settle: false,
            population: None,
            arrivals: Arrivals::Constant,
            in_order: false,
        }
    }

    #[test]
    fn what_is_read_was_written() {
        use PhaseKind::{Mixed, Read, Write};
        let check = |shape: &BenchShape| shape.check(&Workload::Standard1, None);
        assert_eq!(check(&shape(&[Write, Read, Mixed])), Ok(()));
        assert_eq!(check(&shape(&[Write])), Ok(()));
        assert_eq!(
            check(&shape(&[Read, Write])),
            Err(ShapeError::NothingToRead("read"))
        );
        assert_eq!(
            check(&shape(&[Mixed])),
            Err(ShapeError::NothingToRead("mixed"))
        );
        let known = BenchShape {
            population: Some(5),
            ..shape(&[Read])
        };
        assert_eq!(check(&known), Ok(()));
        let phases = shape(&[Write, Read, Mixed]).phases(Some(2000.0));
        // The warm-up writes the first rows, the measured stretch the rest: together the population.
        assert!(phases.iter().all(|p| p.population == 30_000));
        assert_eq!(
            phases[0].warmup_operations() + phases[0].measured_operations(),
            30_000
        );
    }
    #[test]
    fn rows_that_nobody_writes_are_not_asked_for() {
        use PhaseKind::{Read, Write};
        let of = |population, phases: &[PhaseKind]| BenchShape {
            population: Some(population),
            ..shape(phases)
        };
        let check = |shape: &BenchShape, rate| shape.check(&Workload::Standard1, rate);
        assert_eq!(check(&of(30_000, &[Write, Read]), Some(2000.0)), Ok(()));
        assert_eq!(
            check(&of(30_001, &[Write, Read]), Some(2000.0)),
            Err(ShapeError::TooMany {
                population: 30_001,
                written: 30_000
            })
        );
        // Written earlier, not read, or at a rate that nobody knows yet.
        assert_eq!(check(&of(30_001, &[Read]), Some(2000.0)), Ok(()));
        assert_eq!(check(&of(30_001, &[Write]), Some(2000.0)), Ok(()));
        assert_eq!(check(&of(30_001, &[Write, Read]), None), Ok(()));
    }

    #[test]
    fn an_insert_alone_has_nothing_to_read_with() {
        let insert = Workload::Custom(CustomWorkload {
            name: "custom".into(),
            schema: vec![],
            queries: vec![Query {
                name: "write".into(),
                cql: "INSERT".into(),
                check: true,
                serial_consistency: None,
            }],
        });
        let phases = BenchShape::default_phases(&insert);
        assert_eq!(phases, [PhaseKind::Write]);
        assert_eq!(shape(&phases).check(&insert, None), Ok(()));
        let mixed = shape(&[PhaseKind::Write, PhaseKind::Mixed]);
        assert_eq!(
            mixed.check(&insert, None),
            Err(ShapeError::NoQuery("mixed"))
        );
        let all = BenchShape::default_phases(&Workload::Standard1);
        assert_eq!(all.len(), 3);
    }
}
