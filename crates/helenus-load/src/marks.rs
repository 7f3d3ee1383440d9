//! How far a phase is whose operations are all to succeed: below a mark nothing is missing.
//! Refuses to remember more than what completed out of turn.

use helenus_model::sample::Mark;
use std::collections::BTreeSet;

/// Numbers of operations that completed.
#[derive(Debug)]
pub(crate) struct Marks {
    below: u64,
    /// Completed, with one that has not before them.
    ahead: BTreeSet<u64>,
    repeated: u64,
}

impl Marks {
    /// Everything before `first` is in.
    pub(crate) fn from(first: u64) -> Self {
        Self {
            below: first,
            ahead: BTreeSet::new(),
            repeated: 0,
        }
    }

    /// An operation completed.
    pub(crate) fn completed(&mut self, number: u64) {
        if number != self.below {
            self.ahead.insert(number);
            return;
        }
        self.below += 1;
        while self.ahead.remove(&self.below) {
            self.below += 1;
        }
    }

    /// An operation failed and is sent again.
    pub(crate) fn repeated(&mut self) {
        self.repeated += 1;
    }

    /// The first operation that may not have completed.
    pub(crate) fn below(&self) -> u64 {
        self.below
    }

    /// As a line of the sample; all before it took so many positions.
    pub(crate) fn mark(&self, phase: usize, positions: u64) -> Mark {
        Mark {
            phase,
            below: self.below,
            positions,
            repeated: self.repeated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_waits_for_the_slowest() {
        let mut marks = Marks::from(10);
        [11, 12, 14].into_iter().for_each(|n| marks.completed(n));
        assert_eq!(marks.below(), 10);
        marks.completed(10);
        assert_eq!(marks.below(), 13);
        marks.completed(13);
        marks.repeated();
        let mark = marks.mark(2, 70);
        assert_eq!((mark.below, mark.positions, mark.repeated), (15, 70, 1));
    }
}
