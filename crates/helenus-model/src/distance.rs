//! The emulator's decisions: which packet is lost, and when each of the others is due.
//! Refuses a clock and chance of its own: a packet's fate follows from link, seed, number, time and size.

use crate::seed::Seed;
use crate::topology::link::Link;
use serde::{Deserialize, Serialize};

/// Connections whose order is kept apart; more than these share a place, and only keep order among each other.
const FLOWS: usize = 4096;

/// What a limited link sends at once after a rest: 10 ms of its rate, and at least a large packet.
const BURST_NS: u64 = 10_000_000;

/// Longest wait for the rate before packets are lost: what the buffers of routers hold, by the old rule of thumb of
/// a round trip's worth of data.
pub const BUFFER_NS: u64 = 100_000_000;

/// What happens to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives at that time, in nanoseconds of the caller's clock.
    Due(u64),
}

/// One direction of a link at work.
#[derive(Debug, Clone)]
pub struct Carrier {
    link: Link,
    seed: Seed,
    packets: u64,
    /// When the link will have sent everything that it was given, at its rate.
    free_ns: u64,
    /// Last due time by flow.
    last_ns: Vec<u64>,
}

impl Carrier {
    /// A link that has carried nothing.
    pub fn new(link: Link, seed: Seed) -> Self {
        Self {
            link,
            seed,
            packets: 0,
            free_ns: 0,
            last_ns: vec![0; FLOWS],
        }
    }

    /// What the link is like now.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Changes the link; what is under way arrives as it would have.
    pub fn change(&mut self, link: Link) {
        self.link = link;
    }

    /// The fate of the next packet, which came in at `now_ns` and is `bytes` long; packets of one `flow` keep their
    /// order.
    pub fn carry(&mut self, now_ns: u64, bytes: u32, flow: u64) -> Fate {
        let number = self.packets;
        self.packets += 1;
        let chance = self.seed.at(number);
        let unlucky = (chance >> 32) % 1_000_000 < u64::from(self.link.loss_ppm);
        if self.link.cut || unlucky {
            return Fate::Lost;
        }
        let Some(sent_ns) = self.sent(now_ns, bytes) else {
            return Fate::Lost;
        };
        let due = sent_ns + self.delay_ns(chance);
        let last = &mut self.last_ns[usize::try_from(flow).unwrap_or(0) % FLOWS];
        *last = due.max(*last);
        Fate::Due(*last)
    }

    /// When the link's rate lets the packet out; none where too much waits already.
    fn sent(&mut self, now_ns: u64, bytes: u32) -> Option<u64> {
        let Some(rate) = self.link.rate_bits else {
            return Some(now_ns);
        };
        let cost_ns = u64::from(bytes) * 8 * 1_000_000_000 / rate.max(1);
        // A bucket of tokens, kept as the time at which it would be full again.
        let sent = self.free_ns.saturating_sub(BURST_NS).max(now_ns);
        if sent - now_ns > BUFFER_NS {
            return None;
        }
        self.free_ns = self.free_ns.max(now_ns) + cost_ns;
        Some(sent)
    }

    fn delay_ns(&self, chance: u64) -> u64 {
        let delay = self.link.delay_us * 1_000;
        let jitter = self.link.jitter_us * 1_000;
        if jitter == 0 {
            return delay;
        }
        let drawn = (chance & 0xffff_ffff) % (2 * jitter + 1);
        (delay + drawn).saturating_sub(jitter)
    }
}

/// By how much packets were late, counted by eighths of powers of two of microseconds: enough to give a percentile
/// within an eighth, small enough to be read every second beside a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lateness {
    /// Packets by place: one a microsecond below 16, from there eight to each power of two.
    pub counts: Vec<u64>,
}

/// The place of a lateness among the counts.
fn place(late_us: u64) -> usize {
    let shift = (u64::BITS - late_us.leading_zeros()).saturating_sub(4);
    (shift as usize) * 8 + usize::try_from(late_us >> shift).unwrap_or(0)
}

/// The least lateness that belongs to the next place.
fn above_place(place: usize) -> u64 {
    let next = place + 1;
    let shift = (next / 8).saturating_sub(1);
    ((next - shift * 8) as u64) << shift
}

impl Lateness {
    /// Counts a packet.
    pub fn add(&mut self, late_us: u64) {
        let place = place(late_us);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    /// What was added since an earlier state of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |k: usize| earlier.counts.get(k).copied().unwrap_or(0);
        let counts = self.counts.iter().enumerate();
        Self {
            counts: counts.map(|(k, n)| n.saturating_sub(before(k))).collect(),
        }
    }

    /// Packets.
    pub fn packets(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The lateness that this share of all packets stays below, in microseconds, rounded up by at most an eighth; none
    /// with fewer than ten packets above it.
    pub fn below_us(&self, share: f64) -> Option<u64> {
        let all = self.packets();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of packets"
        )]
        let wanted = (all as f64 * share).ceil() as u64;
        if all.saturating_sub(wanted) < 10 {
            return None;
        }
        let mut seen = 0;
        let place = self.counts.iter().position(|n| {
            seen += n;
            seen >= wanted
        });
        place.map(above_place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link() -> impl Strategy<Value = Link> {
        (
            0_u64..200_000,
            0_u64..50_000,
            0_u32..100_000,
            prop::option::of(1_000_000_u64..1_000_000_000),
        )
            .prop_map(|(delay_us, jitter_us, loss_ppm, rate_bits)| Link {
                delay_us,
                jitter_us,
                loss_ppm,
                rate_bits,
                cut: false,
            })
    }

    proptest! {
        #[test]
        fn order_is_kept_within_a_flow(link in link(), seed: u64, gaps in prop::collection::vec((0_u64..5_000_000, 40_u32..1500, 0_u64..3), 1..200)) {
            let mut carrier = Carrier::new(link, Seed(seed));
            let mut again = carrier.clone();
            let (mut now, mut last) = (1_000_000_000, [0; 3]);
            for (gap, bytes, flow) in gaps {
                now += gap;
                let fate = carrier.carry(now, bytes, flow);
                prop_assert_eq!(fate, again.carry(now, bytes, flow));
                if let Fate::Due(due) = fate {
                    prop_assert!(due >= last[flow as usize]);
                    prop_assert!(due + link.jitter_us * 1_000 >= now + link.delay_us * 1_000);
                    last[flow as usize] = due;
                }
            }
        }
    }

    #[test]
    fn lateness_is_given_for_a_period_and_not_from_a_handful() {
        let mut late = Lateness::default();
        (0..1000).for_each(|_| late.add(3_000));
        let before = late.clone();
        (0..990).for_each(|_| late.add(40));
        (0..10).for_each(|_| late.add(700));
        late.add(0);
        let stretch = late.since(&before);
        assert_eq!(stretch.packets(), 1001);
        assert_eq!(stretch.below_us(0.5), Some(44));
        assert_eq!(stretch.below_us(0.99), Some(44));
        assert_eq!(stretch.below_us(0.999), None);
        assert_eq!(late.below_us(0.9), Some(3072));
    }

    #[test]
    fn every_lateness_lies_below_the_end_of_its_place_by_an_eighth_at_most() {
        let all = (0..5_000).chain((13..63).map(|bits| (1_u64 << bits) - 1));
        for late_us in all.chain([1 << 40, u64::MAX >> 2]) {
            let place = place(late_us);
            let above = above_place(place);
            assert!(late_us < above, "{late_us} in {place}");
            assert!(above - late_us <= 1 + late_us / 8, "{late_us} in {place}");
            assert!(place == 0 || above_place(place - 1) <= late_us, "{late_us}");
        }
    }

    #[test]
    fn a_plain_link_only_delays() {
        let mut carrier = Carrier::new(
            Link {
                delay_us: 40_000,
                ..Link::default()
            },
            Seed(1),
        );
        assert_eq!(carrier.carry(5, 1500, 0), Fate::Due(40_000_005));
        carrier.change(Link {
            delay_us: 10,
            ..Link::default()
        });
        // What comes later of the same connection does not overtake; another connection may.
        assert_eq!(carrier.carry(6, 1500, 0), Fate::Due(40_000_005));
        assert_eq!(carrier.carry(6, 1500, 1), Fate::Due(10_006));
    }

    #[test]
    fn as_many_are_lost_as_the_link_says_and_all_where_it_is_cut() {
        let link = Link {
            loss_ppm: 20_000,
            ..Link::default()
        };
        let mut carrier = Carrier::new(link, Seed(9));
        let lost = (0..100_000).filter(|_| carrier.carry(0, 100, 0) == Fate::Lost);
        let lost = lost.count();
        // 2 % of 100,000, within five standard deviations.
        assert!((1_779..=2_221).contains(&lost), "{lost}");
        carrier.change(Link { cut: true, ..link });
        assert_eq!(carrier.carry(0, 100, 0), Fate::Lost);
    }

    #[test]
    fn a_rate_is_kept_and_a_full_buffer_loses() {
        let link = Link {
            rate_bits: Some(8_000_000),
            ..Link::default()
        };
        let mut carrier = Carrier::new(link, Seed(9));
        let mut through = 0_u64;
        let mut last = 0;
        // A megabyte a second is offered twice over, for ten seconds.
        for k in 0..20_000_u64 {
            let now = 1_000_000_000 + k * 500_000;
            if let Fate::Due(due) = carrier.carry(now, 1_000, 0) {
                assert!(due - now <= BUFFER_NS);
                through += 1_000;
                last = due;
            }
        }
        let seconds = (last - 1_000_000_000) as f64 / 1e9;
        let rate = through as f64 / seconds;
        assert!((0.98e6..=1.03e6).contains(&rate), "{rate}");
    }
}
