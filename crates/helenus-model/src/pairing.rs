//! Pairs of restarts on the way: which side runs next, and when there are enough.
//! Refuses to look at the numbers: only whether a run may be believed.

use crate::seed::Seed;
use serde::{Deserialize, Serialize};

/// Pairs that may be spoilt for each one that is wanted, before it is better to give up.
const SPOILT_MOST: usize = 1;

/// One of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideName {
    /// The first.
    A,
    /// The second.
    B,
}

impl SideName {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Its place: 0 or 1.
    pub fn place(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }

    /// Its letter.
    pub fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
        }
    }
}

/// Pairs so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairing {
    seed: Seed,
    wanted: usize,
    /// By pair: whether the run of each side may be believed; none while it has not run.
    pairs: Vec<[Option<bool>; 2]>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextRun {
    /// This side of this pair.
    Run {
        /// The pair, from 0.
        pair: usize,
        /// The side.
        side: SideName,
    },
    /// As many good pairs as were wanted.
    Enough,
    /// Too many pairs were spoilt by runs that must not be believed.
    TooManySpoilt,
}

impl Pairing {
    /// No pair yet, so many wanted; the order within each pair is drawn from the seed.
    pub fn new(seed: Seed, wanted: usize) -> Self {
        Self {
            seed: seed.derive("pairing"),
            wanted,
            pairs: Vec::new(),
        }
    }

    /// Asks for more pairs (or fewer, when they are there already).
    pub fn want(&mut self, pairs: usize) {
        self.wanted = pairs;
    }

    /// Pairs that are wanted.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// The side that runs first in a pair.
    pub fn first(&self, pair: usize) -> SideName {
        if self.seed.at(pair as u64) & 1 == 0 {
            SideName::A
        } else {
            SideName::B
        }
    }

    /// Pairs whose two runs may be believed.
    pub fn good(&self) -> usize {
        let both = |pair: &&[Option<bool>; 2]| **pair == [Some(true); 2];
        self.pairs.iter().filter(both).count()
    }

    /// Pairs of which a run must not be believed.
    pub fn spoilt(&self) -> usize {
        let any = |pair: &&[Option<bool>; 2]| pair.contains(&Some(false));
        self.pairs.iter().filter(any).count()
    }

    /// What comes next. The second run of a pair is left out when the first spoilt it.
    pub fn next(&self) -> NextRun {
        if let Some((pair, runs)) = self.pairs.iter().enumerate().next_back()
            && !runs.contains(&Some(false))
        {
            let first = self.first(pair);
            if runs[first.other().place()].is_none() {
                let side = first.other();
                return NextRun::Run { pair, side };
            }
        }
        if self.good() >= self.wanted {
            return NextRun::Enough;
        }
        if self.spoilt() > SPOILT_MOST * self.wanted {
            return NextRun::TooManySpoilt;
        }
        let pair = self.pairs.len();
        let side = self.first(pair);
        NextRun::Run { pair, side }
    }

    /// A run has ended; `good` where it may be believed.
    pub fn ended(&mut self, pair: usize, side: SideName, good: bool) {
        if pair >= self.pairs.len() {
            self.pairs.resize(pair + 1, [None; 2]);
        }
        self.pairs[pair][side.place()] = Some(good);
    }

    /// Restarts still to come when nothing more is spoilt.
    pub fn runs_left(&self) -> usize {
        let half_done = matches!(self.next(), NextRun::Run { pair, .. } if pair < self.pairs.len());
        let open = self.wanted.saturating_sub(self.good());
        (2 * open).saturating_sub(usize::from(half_done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(pairing: &mut Pairing, good: impl Fn(usize, SideName) -> bool) -> Vec<(usize, char)> {
        let mut ran = Vec::new();
        while let NextRun::Run { pair, side } = pairing.next() {
            ran.push((pair, side.letter()));
            pairing.ended(pair, side, good(pair, side));
        }
        ran
    }

    #[test]
    fn each_pair_runs_both_sides_in_an_order_from_the_seed() {
        let mut pairing = Pairing::new(Seed(7), 40);
        assert_eq!(pairing.runs_left(), 80);
        let ran = drive(&mut pairing, |_, _| true);
        assert_eq!(ran.len(), 80);
        assert_eq!((pairing.good(), pairing.runs_left()), (40, 0));
        let a_first = ran
            .iter()
            .step_by(2)
            .filter(|(_, side)| *side == 'A')
            .count();
        assert!((10..=30).contains(&a_first), "{a_first} of 40");
        for two in ran.chunks(2) {
            assert!(two[0].0 == two[1].0 && two[0].1 != two[1].1, "{two:?}");
        }
        let again = drive(&mut Pairing::new(Seed(7), 40), |_, _| true);
        assert_eq!(again, ran);
    }

    #[test]
    fn a_spoilt_pair_is_replaced_by_a_new_one() {
        let mut pairing = Pairing::new(Seed(1), 6);
        drive(&mut pairing, |pair, side| pair != 2 || side == SideName::A);
        assert_eq!((pairing.good(), pairing.spoilt()), (6, 1));
        assert_eq!(pairing.next(), NextRun::Enough);
        pairing.want(8);
        assert_eq!(pairing.runs_left(), 4);
    }

    #[test]
    fn it_gives_up_when_most_is_spoilt() {
        let mut pairing = Pairing::new(Seed(1), 3);
        let ran = drive(&mut pairing, |_, _| false);
        assert_eq!(pairing.next(), NextRun::TooManySpoilt);
        // The second run of a spoilt pair would tell nothing.
        assert_eq!(ran.len(), 4);
    }
}
