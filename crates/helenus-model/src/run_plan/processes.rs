//! Several generator processes for one run: what each of them does.
//! Refuses what only one process can keep: a ledger, marks, an end that looks at the rate.

use super::{Extent, Phase, RunPlan};
use crate::schedule::Process;

/// Most generator processes of a run.
pub const PROCESSES_MOST: u32 = 64;

/// Why several processes cannot share a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessesError {
    /// One of them would have nothing to do.
    #[error("{processes} generator processes need at least as many {what}, and there are {there}")]
    TooMany {
        /// Asked for.
        processes: u32,
        /// Of what.
        what: &'static str,
        /// How many there are.
        there: u64,
    },
    /// Only one process can do it.
    #[error("several generator processes cannot {0}")]
    One(&'static str),
}

impl ProcessesError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::TooMany { there, what, .. } => {
                format!("use --processes {there} or less, or more {what}")
            }
            Self::One(_) => "leave --processes out".to_owned(),
        }
    }
}

impl RunPlan {
    /// The plan of each of its generator processes; its own where there is one.
    pub fn of_processes(&self) -> Vec<Self> {
        if self.processes <= 1 {
            return vec![self.clone()];
        }
        let each = (0..self.processes).map(|place| {
            let process = Process {
                place,
                of: self.processes,
            };
            let in_flight = |phase: &Phase| {
                let part = process.part(u64::from(phase.in_flight));
                u32::try_from(part).unwrap_or(u32::MAX)
            };
            let phases = self.phases.iter().map(|phase| Phase {
                in_flight: in_flight(phase),
                ..phase.clone()
            });
            let part = |traces: u32| process.part(u64::from(traces)).try_into().ok();
            Self {
                process: Some(process),
                phases: phases.collect(),
                trace: self.trace.and_then(part),
                ..self.clone()
            }
        });
        each.collect()
    }

    /// Operations a second of a phase that are one process's part.
    pub fn rate_of_process(&self, phase: &Phase) -> Option<f64> {
        let of = self.process.map_or(1, |process| process.of);
        phase.rate_per_s.map(|rate| rate / f64::from(of))
    }
}

/// Whether so many processes can share these phases.
///
/// # Errors
/// One of them would have nothing to do, or only one process can do it.
pub fn check(processes: u32, phases: &[Phase], ledger: bool) -> Result<(), ProcessesError> {
    if processes <= 1 {
        return Ok(());
    }
    if ledger {
        return Err(ProcessesError::One("keep one ledger"));
    }
    for phase in phases {
        let too_many = |what, there| ProcessesError::TooMany {
            processes,
            what,
            there,
        };
        if phase.in_flight < processes {
            return Err(too_many("operations in flight", phase.in_flight.into()));
        }
        match phase.extent {
            Extent::Count(count) if count < u64::from(processes) => {
                return Err(too_many("operations", count));
            }
            Extent::Until(_) => {
                return Err(ProcessesError::One("end when the rate is known"));
            }
            _ => {}
        }
        if phase.repeat.is_some() {
            return Err(ProcessesError::One("repeat what failed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Arrivals, Schedule};
    use crate::seed::Seed;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_left_for_a_process_or_shared_by_two() {
        let mut phase = Phase::steady("write", 1000.0, 8, 10_000);
        assert_eq!(check(8, std::slice::from_ref(&phase), false), Ok(()));
        let error = check(9, std::slice::from_ref(&phase), false).expect_err("too many");
        insta::assert_snapshot!(format!("{error}\n{}", error.hint()), @"
        9 generator processes need at least as many operations in flight, and there are 8
        use --processes 8 or less, or more operations in flight
        ");
        assert!(check(2, std::slice::from_ref(&phase), true).is_err());
        assert_eq!(check(1, std::slice::from_ref(&phase), true), Ok(()));
        phase.extent = Extent::Count(3);
        assert!(check(4, &[phase], false).is_err_and(|e| e.hint().contains("--processes 3")));
    }

    proptest! {
        /// All processes together do each operation once, at the time of one process.
        #[test]
        fn processes_share_a_table(of in 1_u32..9, total in 0_u64..5000, poisson: bool) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let mut whole = Schedule::new(700.0, total, arrivals, Seed(3));
            let mut seen = vec![0; usize::try_from(total).unwrap_or(0)];
            for place in 0..of {
                let process = Process { place, of };
                let mut own = whole.clone().of_process(process);
                prop_assert_eq!(own.end_ns(), whole.end_ns());
                for index in 0..own.total() {
                    let number = process.number(index);
                    prop_assert_eq!(own.intended_ns(index), whole.intended_ns(number));
                    seen[usize::try_from(number).unwrap_or(usize::MAX)] += 1;
                }
            }
            prop_assert!(seen.iter().all(|times| *times == 1));
        }
    }
}
