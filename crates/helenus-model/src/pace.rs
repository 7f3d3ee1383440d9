//! The emulator's pace: how long it sleeps, and how far from its time a packet may be let go.
//! Refuses a clock: what is due, and how late a wake came, is passed in.

/// While packets come, they are collected at most this long before the next look: a wake costs more than a packet. It
/// costs no accuracy, for the kernel stamps what comes in, as long as it is well below every delay.
const COLLECT_NS: u64 = 1_000_000;

/// Of the shortest delay, as a divisor: how long packets are collected at most.
const COLLECT_SHARE: u64 = 8;

/// Packets that are due within this time are let go together with those that are due now.
const TOGETHER_NS: u64 = 100_000;

/// Of the shortest delay, as a divisor: how far packets may be from their time at most.
const TOGETHER_SHARE: u64 = 40;

/// A processor that slept for long wakes late, and the later the longer it slept: it is woken this much before it is
/// needed, and sleeps once more.
const BEFORE_NS: [u64; 2] = [1_500_000, 300_000];

/// Sleeps from this length on are divided so.
const LONG_NS: u64 = 3_000_000;

/// What a packet needs from its sender to its receiver where nothing holds it, in nanoseconds: it is taken off its
/// delay.
const WAY_NS: u64 = 50_000;

/// When it looks, and how far from its time a packet may be let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// While packets come, nanoseconds between two looks.
    pub collect: u64,
    /// Packets that are due within so many nanoseconds go now.
    pub together: u64,
    /// By how many nanoseconds a wake is late as a rule: it is asked for that much earlier.
    lead: u64,
    /// What packets need by themselves, in nanoseconds.
    pub way: u64,
    /// Woken before it is needed, and not yet for the last time.
    warming: bool,
}

impl Pace {
    /// For links whose shortest delay this is, in nanoseconds; none where nothing gets through.
    pub fn of(shortest: Option<u64>) -> Self {
        let shortest = shortest.unwrap_or(0);
        Self {
            collect: COLLECT_NS.min(shortest / COLLECT_SHARE),
            together: TOGETHER_NS.min(shortest / TOGETHER_SHARE),
            lead: 0,
            way: WAY_NS.min(shortest / TOGETHER_SHARE),
            warming: false,
        }
    }

    /// By how many microseconds a round trip may be shorter than the delays of both its links: a packet may leave early, and
    /// its own way is taken off.
    #[expect(clippy::cast_precision_loss, reason = "less than a second")]
    pub fn early_us(self) -> f64 {
        (2 * (self.way + self.together)) as f64 / 1e3
    }

    /// A wake that was asked for at one time came at another: the mean of what was seen follows by an eighth.
    pub fn woke(&mut self, asked: u64, now: u64) {
        let late = now.saturating_sub(asked).min(self.together * 2);
        self.lead = ((self.lead * 7 + late) / 8).min(self.together);
    }

    /// How long to sleep where something is due in so many nanoseconds, and whether it is due then.
    pub fn nap(&mut self, left: u64) -> (u64, bool) {
        let [first, second] = BEFORE_NS;
        let warming = std::mem::replace(&mut self.warming, left >= LONG_NS);
        match left {
            left if left >= LONG_NS => (left - first, false),
            left if warming && left > 2 * second => (left - second, false),
            left => (left.saturating_sub(self.lead), true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_links_are_looked_at_often_and_long_ones_seldom() {
        let pace = Pace::of(Some(20_000_000));
        assert_eq!((pace.collect, pace.together), (1_000_000, 100_000));
        let near = Pace::of(Some(200_000));
        assert_eq!((near.collect, near.together), (25_000, 5_000));
        for nothing in [Pace::of(Some(0)), Pace::of(None)] {
            assert_eq!((nothing.collect, nothing.together), (0, 0));
        }
    }

    #[test]
    fn wakes_are_asked_for_as_much_earlier_as_they_come_late() {
        let mut pace = Pace::of(Some(20_000_000));
        assert_eq!(pace.nap(1_000_000), (1_000_000, true));
        for _ in 0..100 {
            pace.woke(5_000_000, 5_060_000);
        }
        assert!((55_000..=60_000).contains(&pace.lead), "{pace:?}");
        assert_eq!(pace.nap(1_000_000), (1_000_000 - pace.lead, true));
        assert_eq!(pace.nap(10), (0, true));
        // A stall is none of its rules, and no packet leaves earlier than those that go together.
        for _ in 0..100 {
            pace.woke(5_000_000, 95_000_000);
        }
        assert!(pace.lead <= pace.together);
        assert_eq!(pace.nap(40_000_000), (38_500_000, false));
        assert_eq!(pace.nap(1_400_000), (1_100_000, false));
        assert!(pace.nap(1_400_000).1, "it was woken twice before");
    }
}
