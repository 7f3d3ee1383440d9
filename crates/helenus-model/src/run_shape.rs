//! The shape of a run of one's own workload: its mix, its rate or its steps, how long, over which partitions.
//! Refuses to know where it runs.

use crate::nearest::nearest;
use crate::positions::Positions;
use crate::run_plan::{Extent, Phase, Ramp, SerialConsistency, Share};
use crate::schedule::Arrivals;
use crate::workload::Workload;
use serde::Serialize;

/// Partitions that a run is about by default: as many as cassandra-stress has.
pub const POPULATION: u64 = 1_000_000;

/// What a person chose; what they did not is decided by [`RunShape::phases`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunShape {
    /// Name of the phase; steps are named after it and their rate.
    pub name: String,
    /// The mix.
    pub operations: Vec<Share>,
    /// Operations a second; none is a closed loop, unless there are steps.
    pub rate_per_s: Option<f64>,
    /// How the rate comes there.
    pub ramp: Option<Ramp>,
    /// A phase at each of these rates.
    pub steps_per_s: Vec<f64>,
    /// Most operations in flight.
    pub in_flight: u32,
    /// When each phase's measurement window ends.
    pub extent: Extent,
    /// Warm-up of each phase in milliseconds.
    pub warmup_ms: u64,
    /// The warm-up is lengthened where the numbers still settle after it.
    pub settle: bool,
    /// How arrivals are spread.
    pub arrivals: Arrivals,
    /// Partitions, where anybody says.
    pub population: Option<u64>,
    /// Which of them an operation takes, where anybody says.
    pub positions: Option<Positions>,
    /// Rows of profiles that are read are checked.
    pub verify: bool,
    /// Serial consistency of conditional statements that bring none.
    pub serial_consistency: Option<SerialConsistency>,
}

/// Why a shape makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RunShapeError {
    /// Nothing is to be done.
    #[error("which operations of {workload}? it has {}", known.join(", "))]
    NoOperation {
        /// The workload.
        workload: String,
        /// Its operations.
        known: Vec<String>,
    },
    /// An operation that the workload does not have.
    #[error("{workload} has no operation {asked:?}")]
    Unknown {
        /// The workload.
        workload: String,
        /// Asked for.
        asked: String,
        /// Its operations.
        known: Vec<String>,
    },
    /// All weights are zero.
    #[error("every weight of the mix is 0")]
    NoWeight,
}

impl RunShapeError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoOperation { known, .. } => {
                let first = known.first().map_or("insert", String::as_str);
                format!("name them with their weights, such as --ops {first}=1")
            }
            Self::Unknown { asked, known, .. } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                match nearest(asked, known.iter().copied()) {
                    Some(near) => format!("did you mean {near}? it has {}", known.join(", ")),
                    None => format!("it has {}", known.join(", ")),
                }
            }
            Self::NoWeight => "give one of the operations a weight above 0".to_owned(),
        }
    }
}

/// The mix of a run: what a person said, else the workload's only operation.
///
/// # Errors
/// Nothing was said and there are several; an operation that there is not; no weight.
pub fn mix(workload: &Workload, asked: &[(String, u32)]) -> Result<Vec<Share>, RunShapeError> {
    let known = workload.operations();
    let share = |operation: &str, weight| Share {
        operation: operation.to_owned(),
        weight,
    };
    let workload = workload.name().to_owned();
    if asked.is_empty() {
        return match &known[..] {
            [only] => Ok(vec![share(only, 1)]),
            _ => Err(RunShapeError::NoOperation { workload, known }),
        };
    }
    if let Some((unknown, _)) = asked.iter().find(|(name, _)| !known.contains(name)) {
        return Err(RunShapeError::Unknown {
            workload,
            asked: unknown.clone(),
            known,
        });
    }
    if asked.iter().all(|(_, weight)| *weight == 0) {
        return Err(RunShapeError::NoWeight);
    }
    let given = asked.iter().filter(|(_, weight)| *weight > 0);
    Ok(given.map(|(name, weight)| share(name, *weight)).collect())
}

impl RunShape {
    /// The phases: one, or one for each step.
    pub fn phases(&self, workload: &Workload) -> Vec<Phase> {
        if self.steps_per_s.is_empty() {
            return vec![self.phase(&self.name, self.rate_per_s, workload)];
        }
        let step = |rate: &f64| self.phase(&format!("{}@{rate}", self.name), Some(*rate), workload);
        self.steps_per_s.iter().map(step).collect()
    }

    fn phase(&self, name: &str, rate_per_s: Option<f64>, workload: &Workload) -> Phase {
        let writes_only = self
            .operations
            .iter()
            .all(|share| workload.writes(&share.operation));
        let counted = match self.extent {
            Extent::Count(n) if writes_only => n,
            _ => POPULATION,
        };
        let positions = self.positions.clone().unwrap_or(if writes_only {
            Positions::Sequential
        } else {
            Positions::Uniform
        });
        Phase {
            name: name.to_owned(),
            operations: self.operations.clone(),
            rate_per_s,
            ramp: self.ramp,
            arrivals: self.arrivals,
            in_flight: self.in_flight,
            extent: self.extent,
            population: self.population.unwrap_or(counted),
            positions,
            warmup_ms: self.warmup_ms,
            settle: self.settle,
            verify: self.verify,
            serial_consistency: self.serial_consistency,
            ..Phase::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(ops: &[(&str, u32)]) -> RunShape {
        let asked: Vec<_> = ops.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect();
        RunShape {
            name: "main".into(),
            operations: mix(&Workload::Standard1, &asked).expect("a mix"),
            rate_per_s: Some(100.0),
            ramp: None,
            steps_per_s: vec![],
            in_flight: 8,
            extent: Extent::Count(500),
            warmup_ms: 0,
            settle: false,
            arrivals: Arrivals::Constant,
            population: None,
            positions: None,
            verify: false,
            serial_consistency: None,
        }
    }

    #[test]
    fn writes_alone_go_through_what_they_count_and_reads_anywhere() {
        let writes = shape(&[("write", 1)]).phases(&Workload::Standard1);
        assert_eq!((writes[0].population, writes.len()), (500, 1));
        assert_eq!(writes[0].positions, Positions::Sequential);
        let both = shape(&[("write", 1), ("read", 3)]).phases(&Workload::Standard1);
        assert_eq!(both[0].population, POPULATION);
        assert_eq!(both[0].positions, Positions::Uniform);
    }

    #[test]
    fn each_step_is_a_phase() {
        let steps = RunShape {
            steps_per_s: vec![1000.0, 2500.0],
            ..shape(&[("write", 1)])
        };
        let phases = steps.phases(&Workload::Standard1);
        let rates: Vec<_> = phases.iter().map(|p| (&*p.name, p.rate_per_s)).collect();
        assert_eq!(
            rates,
            [("main@1000", Some(1000.0)), ("main@2500", Some(2500.0))]
        );
    }

    #[test]
    fn a_mix_names_what_there_is() {
        let said = |asked: &[(&str, u32)]| {
            let asked: Vec<_> = asked.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect();
            mix(&Workload::Standard1, &asked).map_err(|e| format!("{e}; {}", e.hint()))
        };
        assert_eq!(
            said(&[]),
            Err("which operations of standard1? it has write, read; name them with their weights, such as --ops write=1".into())
        );
        let unknown = said(&[("raed", 1)]).expect_err("unknown");
        assert!(unknown.contains("did you mean read?"), "{unknown}");
        assert_eq!(
            said(&[("read", 0)]).err(),
            Some(
                "every weight of the mix is 0; give one of the operations a weight above 0".into()
            )
        );
        assert_eq!(said(&[("read", 0), ("write", 2)]).map(|m| m.len()), Ok(1));
    }
}
