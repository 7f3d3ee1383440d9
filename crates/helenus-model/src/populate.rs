//! Filling a cluster with a workload's data: what is written, what is remembered of it, and what may go on.
//! Refuses to go on with anything but the very same: another workload, seed or size is another filling.

use crate::dist::{Dist, RatioDist};
use crate::format::Format;
use crate::hex::sha256;
use crate::positions::Positions;
use crate::run_plan::{Extent, Phase, Share};
use crate::seed::Seed;
use crate::workload::Workload;
use crate::workload::profile::{BatchKind, VALIDATE};
use serde::{Deserialize, Serialize};

/// Version of the stored shape.
pub const VERSION: u32 = 1;

/// Name of the phase that fills.
pub const PHASE: &str = "populate";

/// What is to be there in the end.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetData {
    /// Tables, statements and data.
    pub workload: Workload,
    /// Positions 0 … partitions − 1 are written, each once.
    pub partitions: u64,
    /// Root seed of the data.
    pub seed: Seed,
}

/// Why a workload cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetDataError {
    /// Several tables at once.
    #[error("{count} profiles cannot be populated at once")]
    Several {
        /// How many there are.
        count: usize,
    },
    /// There is nothing that writes.
    #[error("{workload} has no operation that writes rows")]
    NoInsert {
        /// The workload.
        workload: String,
    },
}

impl TargetDataError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Several { .. } => "populate them one after the other",
            Self::NoInsert { .. } => "give a profile or a built-in workload",
        }
    }
}

impl TargetData {
    /// A filling of a workload whose inserts write each partition once and whole: one partition an operation, all of
    /// its rows, whatever the profile says of the runs that come after.
    ///
    /// # Errors
    /// Several profiles, or nothing that writes.
    pub fn new(workload: &Workload, partitions: u64, seed: Seed) -> Result<Self, TargetDataError> {
        let mut workload = workload.clone();
        match &mut workload {
            Workload::Profiles(profiles) => {
                let [spec] = &mut profiles.specs[..] else {
                    let count = profiles.specs.len();
                    return Err(TargetDataError::Several { count });
                };
                let insert = &mut spec.profile.insert;
                insert.partitions = Dist::fixed(1);
                insert.select = RatioDist::one();
                insert.batch = BatchKind::Unlogged;
            }
            Workload::Standard1 => {}
            Workload::Custom(_) => {
                return Err(TargetDataError::NoInsert {
                    workload: workload.name().to_owned(),
                });
            }
        }
        Ok(Self {
            workload,
            partitions,
            seed,
        })
    }

    /// The operation that writes.
    pub fn operation(&self) -> &'static str {
        match self.workload {
            Workload::Profiles(_) => "insert",
            _ => "write",
        }
    }

    /// Whether what it writes are counters: written twice they count twice, so nothing of them is ever sent again.
    pub fn counts(&self) -> bool {
        match &self.workload {
            Workload::Profiles(profiles) => profiles.specs.iter().any(|s| s.table.counts()),
            Workload::Custom(_) | Workload::Standard1 => false,
        }
    }

    /// Rows of a partition, in the mean.
    pub fn rows_per_partition(&self) -> f64 {
        rows_per_partition(&self.workload)
    }

    /// What of it is still to be written, from operation `first` on; `tries` is how often what failed is sent again.
    pub fn phase(&self, first: u64, rate_per_s: Option<f64>, in_flight: u32, tries: u32) -> Phase {
        Phase {
            name: PHASE.to_owned(),
            operations: vec![Share {
                operation: self.operation().to_owned(),
                weight: 1,
            }],
            rate_per_s,
            in_flight,
            extent: Extent::Count(self.partitions.saturating_sub(first).max(1)),
            population: self.partitions,
            positions: Positions::Range {
                from: 0,
                to: self.partitions,
                wrap: false,
            },
            first,
            repeat: Some(if self.counts() { 0 } else { tries }),
            ..Phase::default()
        }
    }

    /// Reads each partition back and checks it; none where no operation of the workload reads what it wrote, as for
    /// counters.
    pub fn reading(&self, in_flight: u32) -> Option<Phase> {
        let operation = match &self.workload {
            Workload::Standard1 => "read",
            Workload::Profiles(profiles) => {
                let spec = profiles.specs.first()?;
                (spec.profile.validates() && !self.counts()).then_some(VALIDATE)?
            }
            Workload::Custom(_) => return None,
        };
        let mut phase = self.phase(0, None, in_flight, 0);
        phase.name = "verify".to_owned();
        phase.operations[0].operation = operation.to_owned();
        phase.verify = true;
        phase.repeat = None;
        Some(phase)
    }

    /// What is remembered of it before its first operation.
    pub fn journal(&self) -> Journal {
        let json = serde_json::to_vec(&self.workload).unwrap_or_default();
        Journal {
            format: Format::new("populate", VERSION),
            workload: self.workload.name().to_owned(),
            fingerprint: sha256(json),
            partitions: self.partitions,
            seed: self.seed,
            counts: self.counts(),
            below: 0,
            sent: 0,
            complete: false,
        }
    }
}

/// Rows of a partition of a workload, in the mean: the product of what its clustering columns take; 1 where positions
/// are rows.
pub fn rows_per_partition(workload: &Workload) -> f64 {
    let Workload::Profiles(profiles) = workload else {
        return 1.0;
    };
    let Some(spec) = profiles.specs.first() else {
        return 1.0;
    };
    if spec.profile.insert.is_by_row() {
        return 1.0;
    }
    let columns = spec.table.columns.iter();
    let clustering = columns.filter(|column| column.kind.is_clustering());
    let of = |name: &str| {
        spec.profile
            .columns
            .get(name)
            .map_or(1.0, |c| c.cluster.mean())
    };
    clustering
        .map(|column| of(&column.name))
        .product::<f64>()
        .max(1.0)
}

/// Partitions that come to so many rows in the mean, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rows below 2^53"
)]
pub fn partitions_for(rows: u64, workload: &Workload) -> u64 {
    ((rows as f64 / rows_per_partition(workload)).ceil() as u64).max(1)
}

/// What is remembered of a filling, `helenus.populate/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// `helenus.populate/1`.
    pub format: Format,
    /// The workload's name.
    pub workload: String,
    /// SHA-256 of the workload, in hexadecimal.
    pub fingerprint: String,
    /// Partitions in all.
    pub partitions: u64,
    /// Root seed of the data.
    pub seed: Seed,
    /// Whether they are counters.
    pub counts: bool,
    /// Every operation with a smaller number is acknowledged.
    pub below: u64,
    /// Operations that were sent by all runs of it so far, as far as known.
    pub sent: u64,
    /// All of it is in, flushed and looked over.
    pub complete: bool,
}

/// What is to be done in view of what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// From the first partition on.
    Anew,
    /// From this operation on; all before it is acknowledged.
    From(u64),
    /// Nothing: all is in, though perhaps not looked over.
    Loaded,
}

/// Why it cannot be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// Something else was started.
    #[error("an unfinished populate has a different {what}: {before}, now {now}")]
    Differs {
        /// What differs.
        what: &'static str,
        /// In what was started.
        before: String,
        /// In what was asked for.
        now: String,
    },
    /// Counters were started.
    #[error(
        "an unfinished populate of counters cannot be resumed: what was not acknowledged may or may not have been counted"
    )]
    Counters,
}

impl ResumeError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Differs { .. } => {
                "resume it with the same workload, seed and size, or start again with --anew (existing rows stay)"
            }
            Self::Counters => {
                "empty the table (`helenus reset` empties the whole cluster), and start again with --anew"
            }
        }
    }
}

impl Journal {
    /// Where a filling begins in view of what is remembered of an earlier one.
    ///
    /// # Errors
    /// The earlier one is unfinished, and another one or one of counters.
    pub fn beginning(&self, asked: &Self) -> Result<Beginning, ResumeError> {
        let same = self.difference(asked).is_none();
        if self.complete {
            return Ok(if same {
                Beginning::Loaded
            } else {
                Beginning::Anew
            });
        }
        if let Some(difference) = self.difference(asked) {
            return Err(difference);
        }
        if self.counts {
            return Err(ResumeError::Counters);
        }
        Ok(match self.below {
            0 => Beginning::Anew,
            below if below >= self.partitions => Beginning::Loaded,
            below => Beginning::From(below),
        })
    }

    fn difference(&self, asked: &Self) -> Option<ResumeError> {
        let short = |print: &str| print.chars().take(12).collect::<String>();
        let compared = [
            ("workload", self.workload.clone(), asked.workload.clone()),
            (
                "content of the workload",
                short(&self.fingerprint),
                short(&asked.fingerprint),
            ),
            (
                "number of partitions",
                self.partitions.to_string(),
                asked.partitions.to_string(),
            ),
            ("seed", self.seed.0.to_string(), asked.seed.0.to_string()),
        ];
        let first = compared.into_iter().find(|(_, before, now)| before != now);
        first.map(|(what, before, now)| ResumeError::Differs { what, before, now })
    }
}

/// Settings of a node that a load wants higher, as MBean attributes of `StorageService`: from document 004's care, kept
/// where a node has more already.
pub fn raised_value(attribute: &str, now: i64, cores: usize) -> Option<i64> {
    /// Milliseconds that a write may take.
    const WRITE_TIMEOUT_MS: i64 = 8_000;
    /// MiB a second; 0 is without a limit.
    const THROUGHPUT: i64 = 128;
    let compactors = i64::try_from(cores.clamp(2, 8)).unwrap_or(2);
    let wanted = match attribute {
        "WriteRpcTimeout" => now.max(WRITE_TIMEOUT_MS),
        "ConcurrentCompactors" => now.max(compactors),
        "CompactionThroughputMbPerSec" if now > 0 => now.max(THROUGHPUT),
        _ => now,
    };
    (wanted != now).then_some(wanted)
}

/// What [`raised_value`] is about.
pub const RAISED_SETTINGS: [&str; 3] = [
    "WriteRpcTimeout",
    "ConcurrentCompactors",
    "CompactionThroughputMbPerSec",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(partitions: u64, seed: u64) -> TargetData {
        TargetData::new(&Workload::Standard1, partitions, Seed(seed)).expect("a filling")
    }

    #[test]
    fn only_the_very_same_goes_on() {
        let mut begun = filling(1000, 7).journal();
        assert_eq!(
            begun.beginning(&filling(1000, 7).journal()),
            Ok(Beginning::Anew)
        );
        begun.below = 400;
        assert_eq!(
            begun.beginning(&filling(1000, 7).journal()),
            Ok(Beginning::From(400))
        );
        let said = |asked: TargetData| begun.beginning(&asked.journal()).map_err(|e| e.to_string());
        assert_eq!(
            said(filling(1000, 8)),
            Err("an unfinished populate has a different seed: 7, now 8".into())
        );
        assert!(said(filling(999, 7)).is_err_and(|e| e.contains(": 1000, now 999")));
        begun.below = 1000;
        assert_eq!(
            begun.beginning(&filling(1000, 7).journal()),
            Ok(Beginning::Loaded)
        );
        begun.complete = true;
        assert_eq!(
            begun.beginning(&filling(5, 5).journal()),
            Ok(Beginning::Anew)
        );
        begun.counts = true;
        begun.complete = false;
        assert_eq!(
            begun.beginning(&filling(1000, 7).journal()),
            Err(ResumeError::Counters)
        );
    }

    #[test]
    fn what_is_left_is_what_was_not_acknowledged() {
        let phase = filling(1000, 7).phase(400, None, 64, 5);
        assert_eq!((phase.first, phase.extent), (400, Extent::Count(600)));
        assert_eq!(phase.repeat, Some(5));
        assert_eq!(partitions_for(1000, &Workload::Standard1), 1000);
    }

    #[test]
    fn care_raises_and_never_lowers() {
        assert_eq!(raised_value("WriteRpcTimeout", 2000, 2), Some(8000));
        assert_eq!(raised_value("WriteRpcTimeout", 10_000, 2), None);
        assert_eq!(raised_value("ConcurrentCompactors", 1, 16), Some(8));
        assert_eq!(raised_value("ConcurrentCompactors", 4, 2), None);
        assert_eq!(
            raised_value("CompactionThroughputMbPerSec", 64, 2),
            Some(128)
        );
        assert_eq!(raised_value("CompactionThroughputMbPerSec", 0, 2), None);
    }
}
