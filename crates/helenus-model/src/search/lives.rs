//! How the time of a search is spent on lives of the nodes.
//! Refuses to look at the rate to decide how many lives there are: the time alone does.

use std::time::Duration;

/// Share of the time that the trials of the first life may take, chosen by simulation (docs/design/053-rate-search.md).
const FIRST: f64 = 0.15;

/// The same of each later life, which starts from what the ones before it found.
const LATER: f64 = 0.06;

/// Most lives.
const MOST: usize = 24;

/// What is known of a search before its next life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Lives so far.
    pub lives: usize,
    /// The time that they took.
    pub time: Duration,
    /// The longest time that one of them took beside its trials: start, closed loop, removal.
    pub beside: Duration,
    /// The shortest time for trials that is worth a life.
    pub least: Duration,
    /// Whether each life has a new cluster, and there is a threshold to search for: else there is one life.
    pub several: bool,
}

/// The time for the trials of the next life of a search that has so long; none where there is none.
pub fn next_life(within: Duration, spent: &Spent) -> Option<Duration> {
    let share = |of: f64| within.mul_f64(of).max(spent.least);
    match (spent.lives, spent.several) {
        (0, false) => Some(within),
        (0, true) => Some(share(FIRST).min(within)),
        (_, false) => None,
        (lives, true) => {
            let left = within.saturating_sub(spent.time + spent.beside);
            (lives < MOST && left >= spent.least).then(|| left.min(share(LATER)))
        }
    }
}
