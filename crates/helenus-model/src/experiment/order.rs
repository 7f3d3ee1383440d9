//! The order of an experiment: blocks in which each restart comes once, in a random order that follows from the seed.
//! Refuses to put all of one setting before all of another: the machine would change meanwhile.

use super::design::Whole;
use crate::comparison::LEAST_PAIRS;
use crate::seed::Seed;
use crate::stats::Draw;
use crate::worded::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// Why a run is in the plan.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Stage {
        /// The combinations themselves.
        Main = "main",
        /// The first restart's settings once more in each block, so that the experiment's own noise is known.
        Twin = "twin",
        /// The winner and what it is compared with, measured again.
        Again = "again",
    }
}

/// One run of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Its place in the order, from 0.
    pub place: usize,
    /// Its block, from 0.
    pub block: usize,
    /// Its restart, from 0: runs of equal number share one life of the nodes.
    pub restart: usize,
    /// Place of its combination.
    pub combination: usize,
    /// Why it is run.
    pub stage: Stage,
}

/// Why a plan gets no more blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotLonger {
    /// It has more already.
    #[error("{have} blocks are already planned, and blocks cannot be removed")]
    Fewer {
        /// Blocks of the main stage.
        have: usize,
    },
    /// So many allow a claim: whoever has seen it must not let it decide whether to go on.
    #[error(
        "{have} blocks are planned: their answer may be known, and it must not decide whether to run more"
    )]
    Claims {
        /// Blocks of the main stage.
        have: usize,
    },
}

/// So many blocks of all restarts.
pub fn order(seed: Seed, wholes: &[Whole], blocks: usize) -> Vec<Planned> {
    let mut plan = Vec::new();
    more(&mut plan, seed, wholes, blocks, Stage::Main);
    plan
}

/// More blocks behind those that are planned: of the main stage, in which some restarts come twice, or of the restarts that are
/// measured again.
pub fn more(plan: &mut Vec<Planned>, seed: Seed, wholes: &[Whole], blocks: usize, stage: Stage) {
    let first = plan.last().map_or(0, |last| last.block + 1);
    for block in first..first + blocks {
        let mut restarts: Vec<(&Whole, Stage)> = wholes.iter().map(|w| (w, stage)).collect();
        if stage == Stage::Main {
            let twice = wholes.iter().filter(|whole| whole.twice);
            restarts.extend(twice.map(|whole| (whole, Stage::Twin)));
        }
        let seed = seed.derive(&format!("experiment/block/{block}"));
        Draw::new(seed).shuffle(&mut restarts);
        for (number, (whole, stage)) in restarts.into_iter().enumerate() {
            let restart = plan.last().map_or(0, |last| last.restart + 1);
            let mut combinations = whole.combinations.clone();
            Draw::new(seed.derive(&format!("restart/{number}"))).shuffle(&mut combinations);
            if whole.mirrored {
                combinations.extend_from_within(..);
                combinations[whole.combinations.len()..].reverse();
            }
            for combination in combinations {
                plan.push(Planned {
                    place: plan.len(),
                    block,
                    restart,
                    combination,
                    stage,
                });
            }
        }
    }
}

/// The plan with so many blocks in all, in the order that it would have had from the beginning.
///
/// # Errors
/// It has more than that, or so many that a claim may have been made of them.
pub fn lengthened(
    plan: &[Planned],
    seed: Seed,
    wholes: &[Whole],
    blocks: usize,
) -> Result<Vec<Planned>, NotLonger> {
    let main = plan.iter().filter(|planned| planned.stage == Stage::Main);
    let have = main.map(|planned| planned.block + 1).max().unwrap_or(0);
    let mut plan = plan.to_vec();
    match blocks.checked_sub(have) {
        None => Err(NotLonger::Fewer { have }),
        Some(0) => Ok(plan),
        Some(_) if have >= LEAST_PAIRS => Err(NotLonger::Claims { have }),
        Some(missing) => {
            more(&mut plan, seed, wholes, missing, Stage::Main);
            Ok(plan)
        }
    }
}
