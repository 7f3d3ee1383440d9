//! What came in of one phase, in blocks: short enough to cut a warm-up off and to draw from, few enough for an hour.
//! Refuses to judge.

use crate::overload::growth_s;
use crate::run_plan::Phase;
use crate::sample::{
    CoordinatorInterval, Interval, MeasuredFrom, OperationInterval, PhaseEnd, Stretch, TENTH_NS,
    Tenth,
};
use crate::steady::{Steadiness, judge};
use std::collections::BTreeMap;

/// Most blocks that are kept apart; at so many, neighbours are merged.
const MOST_BLOCKS: usize = 128;

/// Consecutive intervals of the measurement window, merged.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) thread_cpu_ns: u64,
    pub(super) operations: BTreeMap<String, OperationInterval>,
    pub(super) coordinators: BTreeMap<String, CoordinatorInterval>,
}

impl Block {
    fn merge(&mut self, other: &Self) {
        self.to_ns = other.to_ns;
        self.thread_cpu_ns += other.thread_cpu_ns;
        for (name, one) in &other.operations {
            self.operations.entry(name.clone()).or_default().merge(one);
        }
        for (at, one) in &other.coordinators {
            self.coordinators.entry(at.clone()).or_default().merge(one);
        }
    }
}

/// What came in of one phase.
#[derive(Debug, Default)]
pub struct Gathered {
    /// What an interval usually takes; 0 where that is not known.
    interval_ns: u64,
    blocks: Vec<Block>,
    /// Intervals that a block holds; doubles when there are too many blocks.
    per_block: usize,
    in_last: usize,
    /// The phase's first moment, warm-up included.
    began_ns: Option<u64>,
    measured_from: MeasuredFrom,
    /// Mean service time of each tenth of a second in which anything ended, in nanoseconds, with its middle in
    /// seconds from the phase's start.
    pub(super) points: Vec<(f64, f64)>,
    /// What ended in each tenth of a second of the whole phase.
    tenths: Vec<(u64, Tenth)>,
    pub(super) completed_per_s: Vec<f64>,
    end: Option<PhaseEnd>,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and nanoseconds below 2^53"
)]
impl Gathered {
    /// Nothing yet, of a phase whose intervals usually take so long.
    pub fn of_intervals(ms: u64) -> Self {
        Self {
            interval_ns: ms.saturating_mul(1_000_000),
            ..Self::default()
        }
    }

    /// Takes an interval of either stretch.
    pub fn take(&mut self, interval: &Interval) {
        let began_ns = *self.began_ns.get_or_insert(interval.start_ns);
        for (place, tenth) in interval.tenths.iter().enumerate() {
            if tenth.ended > 0 {
                let from_ns = interval.start_ns + place as u64 * TENTH_NS;
                self.tenths.push((from_ns, *tenth));
                let at_ns = from_ns - began_ns + TENTH_NS / 2;
                let mean_ns = tenth.service_sum_ns as f64 / tenth.ended as f64;
                self.points.push((at_ns as f64 / 1e9, mean_ns));
            }
        }
        self.measured_from.see(interval);
        if interval.stretch == Stretch::Measured {
            self.measure(interval);
        }
    }

    /// Takes the phase's end.
    pub fn take_end(&mut self, end: PhaseEnd) {
        self.end = Some(end);
    }

    fn measure(&mut self, interval: &Interval) {
        let completed: u64 = interval.operations.values().map(|o| o.completed).sum();
        let began_ns = self.measured_from.at_ns().unwrap_or_default();
        let from_ns = interval.start_ns.max(began_ns).min(interval.end_ns);
        let seconds = interval.end_ns.saturating_sub(from_ns) as f64 / 1e9;
        if seconds > 0.1 {
            self.completed_per_s.push(completed as f64 / seconds);
        }
        let block = Block {
            from_ns,
            to_ns: interval.end_ns,
            thread_cpu_ns: interval.thread_cpu_ns,
            operations: interval.operations.clone(),
            coordinators: interval.coordinators.clone(),
        };
        let half_ns = self.interval_ns / 2;
        let is_piece = |from_ns: u64, to_ns: u64| to_ns - from_ns < half_ns;
        match self.blocks.last_mut() {
            // What ends behind the window, and what was offered as the warm-up ended, is no interval: it is drawn together
            // with the one beside it.
            Some(last)
                if is_piece(from_ns, interval.end_ns) || is_piece(last.from_ns, last.to_ns) =>
            {
                last.merge(&block);
            }
            Some(last) if self.in_last < self.per_block.max(1) => {
                last.merge(&block);
                self.in_last += 1;
            }
            _ => {
                self.halve();
                self.blocks.push(block);
                self.in_last = 1;
            }
        }
    }

    /// Makes room for one more block.
    fn halve(&mut self) {
        if self.blocks.len() < MOST_BLOCKS {
            return;
        }
        self.per_block = self.per_block.max(1) * 2;
        self.blocks = self
            .blocks
            .chunks(2)
            .map(|pair| {
                let mut first = pair[0].clone();
                pair[1..].iter().for_each(|other| first.merge(other));
                first
            })
            .collect();
    }

    /// Whether it was steady, and what is to be cut from its measurement window.
    pub(super) fn steadiness(&self, phase: &Phase) -> Steadiness {
        judge(&self.points, phase.warmup_ms as f64 / 1e3, phase.settle)
    }

    /// The tenths of a second that start in the measurement window.
    fn within(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = &(u64, Tenth)> {
        let tenths = self.tenths.iter();
        tenths.filter(move |(at_ns, _)| (from_ns..to_ns).contains(at_ns))
    }

    /// Operations that succeeded within the measurement window, whenever they started.
    pub(super) fn completed_within(&self, from_ns: u64, to_ns: u64) -> u64 {
        self.within(from_ns, to_ns).map(|(_, t)| t.completed).sum()
    }

    /// Seconds by which response times grew over the measurement window, where they did.
    pub(super) fn growth_s(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let points: Vec<(f64, f64)> = self
            .within(from_ns, to_ns)
            .filter(|(_, tenth)| tenth.response_sum_ns > 0)
            .map(|(at_ns, tenth)| {
                let mean_ns = tenth.response_sum_ns as f64 / tenth.ended as f64;
                ((at_ns - from_ns) as f64 / 1e9, mean_ns / 1e9)
            })
            .collect();
        growth_s(&points)
    }

    /// Start and end of what was measured, in nanoseconds.
    pub(super) fn span(&self) -> Option<(u64, u64)> {
        Some((self.blocks.first()?.from_ns, self.blocks.last()?.to_ns))
    }

    /// CPU of the generator's thread over what was measured, in nanoseconds.
    pub(super) fn thread_cpu_ns(&self) -> u64 {
        self.blocks.iter().map(|b| b.thread_cpu_ns).sum()
    }

    /// Seconds of the measurement window before a block.
    pub(super) fn before_s(&self, block: &Block) -> f64 {
        let from_ns = self.span().map_or(block.from_ns, |(from_ns, _)| from_ns);
        (block.from_ns - from_ns) as f64 / 1e9
    }

    /// The blocks that start at least `cut_s` seconds into the measurement window.
    pub(super) fn after(&self, cut_s: f64) -> &[Block] {
        // Intervals begin up to a few milliseconds late.
        let first = self
            .blocks
            .partition_point(|block| self.before_s(block) + 0.05 < cut_s);
        &self.blocks[first..]
    }

    /// The phase's end, or what can be said of a phase whose generator died.
    pub(super) fn end(&self, phase: usize) -> Option<PhaseEnd> {
        self.end.clone().or_else(|| {
            let (from, to) = self.span()?;
            Some(PhaseEnd {
                phase,
                measured_from_ns: from,
                measured_to_ns: to,
                ended_ns: to,
                thread_cpu_ns: self.thread_cpu_ns(),
                stopped_early: true,
                ..PhaseEnd::default()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(stretch: Stretch, from_ms: u64, to_ms: u64, completed: u64) -> Interval {
        let write = OperationInterval {
            completed,
            ..OperationInterval::default()
        };
        Interval {
            phase: 0,
            stretch,
            start_ns: from_ms * 1_000_000,
            end_ns: to_ms * 1_000_000,
            thread_cpu_ns: completed,
            operations: BTreeMap::from([("write".to_owned(), write)]),
            tenths: Vec::new(),
            slowest: Vec::new(),
            traced: Vec::new(),
            coordinators: BTreeMap::new(),
        }
    }

    #[test]
    fn what_ends_beside_the_window_is_no_block() {
        let mut gathered = Gathered::of_intervals(1000);
        gathered.take(&interval(Stretch::Warmup, 0, 1002, 90));
        // Offered as the warm-up ended, and what ended behind the window.
        gathered.take(&interval(Stretch::Measured, 0, 1002, 1));
        for second in 1..6 {
            let (from, to) = (second * 1000 + 2, second * 1000 + 1002);
            gathered.take(&interval(Stretch::Measured, from, to, 100));
        }
        gathered.take(&interval(Stretch::Measured, 6002, 6009, 3));
        let kept = gathered.after(0.0).iter();
        let completed: Vec<u64> = kept
            .map(|block| block.operations["write"].completed)
            .collect();
        assert_eq!(completed, [101, 100, 100, 100, 103]);
        assert_eq!(gathered.span(), Some((1_002_000_000, 6_009_000_000)));
    }

    #[test]
    fn a_cut_of_a_long_phase_takes_whole_blocks() {
        let mut gathered = Gathered::of_intervals(1000);
        for second in 0..1000 {
            let (from, to) = (second * 1000, second * 1000 + 1000);
            gathered.take(&interval(Stretch::Measured, from, to, 100));
        }
        let kept = gathered.after(5.0);
        assert!((gathered.before_s(&kept[0]) - 8.0).abs() < 1e-9);
    }
}
