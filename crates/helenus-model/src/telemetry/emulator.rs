//! What held packets between data centres beside a run: how late they were let go, and what that cost.
//! Refuses a share of a round trip that no packet crossed.

use crate::distance::Lateness;
use serde::{Deserialize, Serialize};

/// The emulator at one moment. Counters count from its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulatorSample {
    /// CPU so far, in microseconds.
    pub cpu_us: u64,
    /// By how much packets were late so far.
    pub lateness: Lateness,
    /// Whether only probes among the packets measure it, and not each: the kernel holds them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probed: bool,
    /// By how much they were late in all so far, in microseconds.
    pub late_us: u64,
    /// Each two data centres, once.
    pub pairs: Vec<PairSample>,
}

/// Two data centres at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairSample {
    /// Their names.
    pub between: [String; 2],
    /// Round trip as the links are now, without jitter, in microseconds.
    pub round_trip_us: u64,
    /// Packets that crossed so far, both ways.
    pub packets: u64,
}

/// What the emulator did in a span of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Emulated {
    /// Packets that crossed between data centres.
    pub packets: u64,
    /// Mean lateness of a packet, in microseconds; none where nothing crossed.
    pub late_mean_us: Option<f64>,
    /// Half of the packets were less late than this, in microseconds; none with fewer than ten packets above it.
    pub late_p50_us: Option<u64>,
    /// 99 of 100 were less late than this, in microseconds; none with fewer than ten packets above it.
    pub late_p99_us: Option<u64>,
    /// The shortest round trip that is not zero, of those that packets crossed, in microseconds.
    pub round_trip_us: Option<u64>,
    /// Between which data centres it is.
    pub shortest: Option<[String; 2]>,
    /// Whether only probes among the packets measure lateness.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probed: bool,
    /// CPU of the emulator, or of the probes, in microseconds.
    pub cpu_us: u64,
    /// The same as a share of one processor.
    pub cpu_share: f64,
}

impl EmulatorSample {
    /// What it did since an earlier moment that lies so many nanoseconds back; none where it started again between
    /// them.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts, nanoseconds and microseconds below 2^53"
    )]
    pub fn since(&self, earlier: &Self, passed_ns: u64) -> Option<Emulated> {
        let cpu_us = self.cpu_us.checked_sub(earlier.cpu_us)?;
        let late_us = self.late_us.checked_sub(earlier.late_us)?;
        self.lateness
            .packets()
            .checked_sub(earlier.lateness.packets())?;
        let lateness = self.lateness.since(&earlier.lateness);
        let known = lateness.packets();
        let packets = if self.probed {
            self.crossed(earlier)
        } else {
            known
        };
        let shortest = self.shortest(earlier);
        Some(Emulated {
            packets,
            late_mean_us: (known > 0).then(|| late_us as f64 / known as f64),
            late_p50_us: lateness.below_us(0.5),
            late_p99_us: lateness.below_us(0.99),
            round_trip_us: shortest.map(|(us, _)| us),
            shortest: shortest.map(|(_, between)| between.clone()),
            probed: self.probed,
            cpu_us,
            cpu_share: cpu_us as f64 * 1e3 / (passed_ns as f64).max(1.0),
        })
    }

    /// Packets over all pairs since then.
    fn crossed(&self, earlier: &Self) -> u64 {
        let before = |pair: &PairSample| {
            let known = earlier.pairs.iter().find(|p| p.between == pair.between);
            known.map_or(0, |p| p.packets)
        };
        let since = |pair: &PairSample| pair.packets.saturating_sub(before(pair));
        self.pairs.iter().map(since).sum()
    }

    /// The shortest round trip over which packets went since then, as it was at either end.
    fn shortest(&self, earlier: &Self) -> Option<(u64, &[String; 2])> {
        let crossed = self.pairs.iter().filter_map(|now| {
            let before = earlier.pairs.iter().find(|p| p.between == now.between)?;
            let either = [before.round_trip_us, now.round_trip_us];
            let shorter = either.into_iter().filter(|us| *us > 0).min()?;
            (now.packets > before.packets).then_some((shorter, &now.between))
        });
        crossed.min_by_key(|(us, _)| *us)
    }
}

impl Emulated {
    /// The lateness that 99 of 100 packets stay below, as a share of the shortest round trip that was crossed.
    #[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
    pub fn error_share(&self) -> Option<f64> {
        let (late, whole) = (self.late_p99_us?, self.round_trip_us?);
        Some(late as f64 / whole as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(other: &str, round_trip_us: u64, packets: u64) -> PairSample {
        PairSample {
            between: ["DC1".into(), other.into()],
            round_trip_us,
            packets,
        }
    }

    fn sample(cpu_us: u64, late: &[(u64, u64)], pairs: Vec<PairSample>) -> EmulatorSample {
        let mut sample = EmulatorSample {
            cpu_us,
            pairs,
            ..EmulatorSample::default()
        };
        for (packets, late_us) in late {
            sample.late_us += packets * late_us;
            (0..*packets).for_each(|_| sample.lateness.add(*late_us));
        }
        sample
    }

    #[test]
    fn a_stretch_is_the_difference_of_its_ends() {
        let pairs = |packets| {
            vec![
                pair("DC2", 0, packets),
                pair("DC3", 20_000, 7),
                pair("DC4", 80_000, packets),
            ]
        };
        let before = sample(1_000, &[(5_000, 9_000)], pairs(10));
        let after = sample(
            101_000,
            &[(5_000, 9_000), (1_900, 10), (100, 400)],
            pairs(2_010),
        );
        let seen = after.since(&before, 2_000_000_000).unwrap();
        assert_eq!(
            (seen.packets, seen.cpu_us, seen.cpu_share),
            (2_000, 100_000, 0.05)
        );
        assert_eq!(seen.late_mean_us, Some(29.5));
        assert_eq!((seen.late_p50_us, seen.late_p99_us), (Some(11), Some(416)));
        // The link without distance has no round trip, and nothing crossed the one to DC3.
        assert_eq!(seen.round_trip_us, Some(80_000));
        assert_eq!(seen.shortest, Some(["DC1".into(), "DC4".into()]));
        assert_eq!(seen.error_share(), Some(416.0 / 80_000.0));
        assert_eq!(before.since(&after, 1), None, "it began anew");
    }

    #[test]
    fn probes_report_lateness_and_links_packets() {
        let probed = |late: &[(u64, u64)], packets| EmulatorSample {
            probed: true,
            ..sample(0, late, vec![pair("DC2", 20_000, packets)])
        };
        let before = probed(&[(10, 5)], 1_000);
        let seen = probed(&[(10, 5), (50, 20)], 9_000).since(&before, 1);
        let seen = seen.unwrap();
        assert_eq!((seen.packets, seen.late_mean_us), (8_000, Some(20.0)));
        assert!(seen.probed);
    }

    #[test]
    fn nothing_is_said_of_what_did_not_cross() {
        let idle = sample(5, &[], vec![pair("DC2", 40_000, 0)]);
        let seen = idle.since(&idle, 1_000_000_000).unwrap();
        assert_eq!((seen.packets, seen.late_mean_us), (0, None));
        assert_eq!((seen.round_trip_us, seen.error_share()), (None, None));
    }

    #[test]
    fn a_link_that_changed_counts_with_its_shorter_round_trip() {
        let before = sample(0, &[], vec![pair("DC2", 40_000, 0)]);
        let after = sample(0, &[(20, 3)], vec![pair("DC2", 90_000, 20)]);
        let seen = after.since(&before, 1).unwrap();
        assert_eq!(seen.round_trip_us, Some(40_000));
    }
}
