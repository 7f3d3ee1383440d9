//! The prediction: how long distance alone keeps an operation at a level, by Cassandra's own rules.
//! Refuses what nodes and disks take: that is the same at every level, or measured.

use super::is_local;
use super::scene::{Paxos, Place, Scene};
use crate::consistency::{Consistency, SerialConsistency, quorum};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a replica without distance takes to answer, as the snitch counts it: whole milliseconds.
const NEAR_SCORE_US: u64 = 1_000;

/// What an operation waits for on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prediction {
    /// Least time on the way, in microseconds.
    pub low_us: u64,
    /// Most time on the way, in microseconds; more than the least where the order of replicas is left to the ring.
    pub high_us: u64,
    /// What is waited for, in words.
    pub waits_for: String,
}

/// Why a cell cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Illegal {
    /// ANY is a level of writes.
    #[error("ANY is for writes only")]
    ReadAtAny,
    /// Fewer replicas than the level needs.
    #[error("{level} needs {wants} replicas, and a row has {has}")]
    TooFew {
        /// The level.
        level: &'static str,
        /// Replicas that it needs.
        wants: u32,
        /// Replicas that there are.
        has: u32,
    },
    /// A local level where no replica is.
    #[error("{level} needs replicas in {data_center}, and no row has any there")]
    NoneLocal {
        /// The level.
        level: &'static str,
        /// The client's data centre.
        data_center: String,
    },
}

impl Prediction {
    fn exactly(us: u64, waits_for: String) -> Self {
        Self {
            low_us: us,
            high_us: us,
            waits_for,
        }
    }

    /// One after the other.
    fn then(self, next: &Self) -> Self {
        Self {
            low_us: self.low_us + next.low_us,
            high_us: self.high_us + next.high_us,
            waits_for: format!("{}, then {}", self.waits_for, next.waits_for),
        }
    }
}

impl Scene {
    fn total(&self) -> u32 {
        self.places.iter().map(|place| place.replicas).sum()
    }

    fn local(&self) -> u32 {
        let own = self.places.iter().find(|place| place.name == self.client);
        own.map_or(0, |place| place.replicas)
    }

    /// Every replica's data centre, the nearest first.
    fn nearest_first(&self) -> Vec<&Place> {
        let mut places: Vec<&Place> = self.places.iter().collect();
        places.sort_by_key(|place| (place.round_trip_us, place.name != self.client));
        let each = |place: &'_ Place| place.replicas as usize;
        let all = places
            .into_iter()
            .flat_map(|place| std::iter::repeat_n(place, each(place)));
        all.collect()
    }

    /// How many replicas a level that counts all of them waits for; none for levels that count by data centre.
    fn counted(&self, level: Consistency) -> Option<u32> {
        match level {
            Consistency::Any | Consistency::One => Some(1),
            Consistency::Two => Some(2),
            Consistency::Three => Some(3),
            Consistency::Quorum => Some(quorum(self.total())),
            Consistency::All => Some(self.total()),
            Consistency::LocalOne | Consistency::LocalQuorum | Consistency::EachQuorum => None,
        }
    }

    fn check(&self, level: Consistency) -> Result<(), Illegal> {
        if is_local(level) && self.local() == 0 {
            return Err(Illegal::NoneLocal {
                level: level.word(),
                data_center: self.client.clone(),
            });
        }
        match self.counted(level) {
            Some(wants) if wants > self.total() => Err(Illegal::TooFew {
                level: level.word(),
                wants,
                has: self.total(),
            }),
            _ => Ok(()),
        }
    }

    /// The wait for a quorum in each data centre.
    fn each_quorum(&self, of: &str) -> Prediction {
        let last = self.places.iter().map(|place| place.round_trip_us).max();
        let counts = self.places.iter();
        let counts: Vec<String> = counts
            .map(|place| format!("{} in {}", quorum(place.replicas), place.name))
            .collect();
        Prediction::exactly(last.unwrap_or(0), format!("{of}: {}", counts.join(", ")))
    }

    fn local_wait(&self, level: Consistency, of: &str) -> Prediction {
        let wants = match level {
            Consistency::LocalQuorum => quorum(self.local()),
            _ => 1,
        };
        Prediction::exactly(0, format!("{of}: {wants} in {}", self.client))
    }

    /// A write: it goes to every replica at once, and the level says how many must have answered.
    ///
    /// # Errors
    /// There are not as many replicas as the level needs.
    pub fn write(&self, level: Consistency) -> Result<Prediction, Illegal> {
        self.check(level)?;
        let of = "acknowledgements";
        Ok(match self.counted(level) {
            Some(wants) => {
                let first = &self.nearest_first()[..wants as usize];
                let last = first.last().map_or(0, |place| place.round_trip_us);
                Prediction::exactly(last, format!("{of}: {}", by_place(first)))
            }
            None if level == Consistency::EachQuorum => self.each_quorum(of),
            None => self.local_wait(level, of),
        })
    }

    /// A read: it asks as many replicas as the level needs and waits for all that it asked. Its own data centre comes
    /// first; the order of the others is the ring's until the dynamic snitch scores them apart.
    ///
    /// # Errors
    /// There are not as many replicas as the level needs, or it is ANY.
    pub fn read(&self, level: Consistency) -> Result<Prediction, Illegal> {
        if level == Consistency::Any {
            return Err(Illegal::ReadAtAny);
        }
        self.check(level)?;
        let of = "answers";
        let Some(wants) = self.counted(level) else {
            return Ok(match level {
                Consistency::EachQuorum => self.each_quorum(of),
                _ => self.local_wait(level, of),
            });
        };
        let nearest = self.nearest_first();
        let asked = &nearest[..wants as usize];
        let last = asked.last().map_or(0, |place| place.round_trip_us);
        let high_us = if wants <= self.local() {
            last
        } else {
            self.farthest_alike(last)
        };
        let others = if high_us > last {
            ", or others, depending on the ring"
        } else {
            ""
        };
        Ok(Prediction {
            low_us: last,
            high_us,
            waits_for: format!("{of}: {}{others}", by_place(asked)),
        })
    }

    /// The farthest that may stand where the best order has a replica this far away, and that the dynamic snitch leaves
    /// there: one that does not score worse by more than the threshold.
    #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
    fn farthest_alike(&self, best_us: u64) -> u64 {
        let score = |us: u64| (us + NEAR_SCORE_US) as f64;
        let most = score(best_us) * (1.0 + self.badness);
        let ways = self.places.iter().map(|place| place.round_trip_us);
        let left = ways.filter(|us| score(*us) <= most);
        left.max().unwrap_or(best_us)
    }

    /// A lightweight transaction without contention: rounds of agreement at the serial level, then the commit,
    /// which is waited for as a write at the level.
    ///
    /// # Errors
    /// There are not as many replicas as the levels need.
    pub fn lwt(
        &self,
        level: Consistency,
        serial: SerialConsistency,
    ) -> Result<Prediction, Illegal> {
        let as_level = match serial {
            SerialConsistency::Serial => Consistency::Quorum,
            SerialConsistency::LocalSerial => Consistency::LocalQuorum,
        };
        let round = |name: &str| {
            let round = self.write(as_level)?;
            let waits_for = format!("{name} ({})", round.waits_for);
            Ok::<_, Illegal>(Prediction { waits_for, ..round })
        };
        let mut all = round("prepare")?;
        if self.paxos == Paxos::V1 {
            let read = self.read(as_level)?;
            let waits_for = format!("read ({})", read.waits_for);
            all = all.then(&Prediction { waits_for, ..read });
        }
        all = all.then(&round("propose")?);
        if level == Consistency::Any {
            return Ok(all);
        }
        let commit = self.write(level)?;
        let waits_for = format!("commit ({})", commit.waits_for);
        Ok(all.then(&Prediction {
            waits_for,
            ..commit
        }))
    }
}

/// `3 in DC1, 2 in DC2`.
fn by_place(asked: &[&Place]) -> String {
    let mut order: Vec<&str> = asked.iter().map(|place| place.name.as_str()).collect();
    order.dedup();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for place in asked {
        *counts.entry(&place.name).or_default() += 1;
    }
    let each = order
        .iter()
        .map(|name| format!("{} in {name}", counts[name]));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "predict/tests.rs"]
mod tests;
