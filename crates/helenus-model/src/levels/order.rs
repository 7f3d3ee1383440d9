//! Which cells a comparison of levels has, and in which order: shuffled within each repeat, by the seed.
//! Refuses to run one level after the other: what drifts would look like a difference.

use super::cell::{Kind, Load};
use super::distance::Distance;
use crate::consistency::Consistency;
use crate::seed::Seed;
use serde::Serialize;

/// What is to be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wanted {
    /// Levels, each once; the first is what the others are compared with, unless LOCAL_QUORUM is among them.
    pub levels: Vec<Consistency>,
    /// Workloads.
    pub workloads: Vec<Kind>,
    /// Distances.
    pub distances: Vec<Distance>,
    /// Loads.
    pub loads: Vec<Load>,
    /// How often each cell is run.
    pub repeats: u32,
}

/// A place in the order.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The repeat, from 0.
    pub repeat: u32,
    /// The level.
    pub level: Consistency,
    /// The reference level, run again as an A/A control.
    pub again: bool,
    /// What is sent.
    pub workload: Kind,
    /// How far apart.
    pub distance: Distance,
    /// How much is asked.
    pub load: Load,
}

impl Wanted {
    /// The level that the others are compared with.
    pub fn reference(&self) -> Consistency {
        let local = Consistency::LocalQuorum;
        match self.levels.first() {
            _ if self.levels.contains(&local) => local,
            Some(first) => *first,
            None => local,
        }
    }

    /// The cells of one repeat in the order of tables: by distance, workload, load and level.
    pub fn cells(&self, repeat: u32) -> Vec<Slot> {
        let reference = self.reference();
        let mut cells = Vec::new();
        for distance in &self.distances {
            for workload in &self.workloads {
                for load in &self.loads {
                    for level in &self.levels {
                        for again in [false, true] {
                            if again && *level != reference {
                                continue;
                            }
                            cells.push(Slot {
                                repeat,
                                level: *level,
                                again,
                                workload: *workload,
                                distance: distance.clone(),
                                load: *load,
                            });
                        }
                    }
                }
            }
        }
        cells
    }

    /// All cells in the order in which they are run.
    pub fn order(&self, seed: Seed) -> Vec<Slot> {
        let shuffled = |repeat: u32| {
            let seed = seed.derive(&format!("levels/{repeat}"));
            let mut cells: Vec<(u64, Slot)> = self
                .cells(repeat)
                .into_iter()
                .enumerate()
                .map(|(place, slot)| (seed.at(place as u64), slot))
                .collect();
            cells.sort_by_key(|(key, _)| *key);
            cells.into_iter().map(|(_, slot)| slot)
        };
        (0..self.repeats).flat_map(shuffled).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Consistency::{EachQuorum, LocalQuorum, Quorum};

    fn wanted() -> Wanted {
        Wanted {
            levels: vec![Quorum, LocalQuorum, EachQuorum],
            workloads: vec![Kind::Write, Kind::Mixed],
            distances: vec![Distance::none(), Distance::as_they_are()],
            loads: vec![Load::Rate(100.0)],
            repeats: 5,
        }
    }

    #[test]
    fn each_repeat_has_each_cell_once_and_the_reference_twice() {
        let wanted = wanted();
        assert_eq!(wanted.reference(), LocalQuorum);
        let order = wanted.order(Seed(1));
        assert_eq!(order.len(), 5 * 2 * 2 * 4);
        for (repeat, run) in order.chunks(16).enumerate() {
            let mut cells = wanted.cells(u32::try_from(repeat).expect("small"));
            for slot in run {
                let place = cells.iter().position(|cell| cell == slot);
                cells.remove(place.expect("a cell of this repeat, once"));
            }
            assert_eq!(cells, vec![]);
        }
    }

    #[test]
    fn the_order_differs_from_repeat_to_repeat_and_is_the_seed_s() {
        let order = wanted().order(Seed(1));
        let levels = |repeat: usize| -> Vec<Consistency> {
            let run = &order[16 * repeat..16 * (repeat + 1)];
            run.iter().map(|slot| slot.level).collect()
        };
        assert!((1..5).any(|repeat| levels(repeat) != levels(0)));
        assert_eq!(order, wanted().order(Seed(1)));
        assert_ne!(order, wanted().order(Seed(2)));
    }

    #[test]
    fn without_local_quorum_the_first_level_is_the_reference() {
        let wanted = Wanted {
            levels: vec![EachQuorum, Quorum],
            ..wanted()
        };
        assert_eq!(wanted.reference(), EachQuorum);
        assert!(
            wanted
                .cells(0)
                .iter()
                .all(|c| !c.again || c.level == EachQuorum)
        );
    }
}
