//! The default rate: from what a short closed loop achieved to a rate that the cluster and the generator hold.
//! Refuses to be clever about one second: it looks at the later half of the probe, when caches and compilers are warm.

/// Share of the probe's rate that the default rate is. Half leaves room for a collection or a compaction,
/// and for the generator: on an open-loop schedule it cannot batch as it does in a closed loop.
pub const SHARE: f64 = 0.5;

/// Share of the generator's thread that the default rate may need at the most.
const THREAD_SHARE: f64 = 0.4;

/// How much more CPU an operation costs the generator on an open-loop schedule, where each is sent by itself,
/// than in the closed loop of the probe. Four to six times was seen at half the probe's rate on two shared cores.
const UNBATCHED: f64 = 6.0;

/// What the probe saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// Operations that completed in each interval, by the second.
    pub completed_per_s: Vec<f64>,
    /// Share of the measurement window that the generator's thread was on CPU.
    pub thread_busy: f64,
}

/// The default rate in operations a second, readable (two significant digits), or none when nothing completed.
pub fn default_rate_per_s(probe: &Probe) -> Option<f64> {
    let later = &probe.completed_per_s[probe.completed_per_s.len() / 2..];
    let mut sorted: Vec<f64> = later.iter().copied().filter(|r| r.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let achieved = sorted.get(sorted.len() / 2).copied()?;
    let busy_at_share = probe.thread_busy.clamp(0.0, 1.0) * SHARE * UNBATCHED;
    let generator_holds = if busy_at_share > THREAD_SHARE {
        THREAD_SHARE / busy_at_share
    } else {
        1.0
    };
    let rate = achieved * SHARE * generator_holds;
    (achieved > 0.0).then(|| readable(rate))
}

/// Rounds down to two significant digits: 4,871 → 4,800; at least 1.
pub fn readable(rate_per_s: f64) -> f64 {
    if rate_per_s < 10.0 {
        return rate_per_s.floor().max(1.0);
    }
    let step = 10_f64.powf(rate_per_s.log10().floor() - 1.0);
    (rate_per_s / step + 1e-9).floor() * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_of_the_warm_half_rounded_down() {
        let probe = Probe {
            completed_per_s: vec![100.0, 5000.0, 9743.0, 9800.0, 9700.0],
            thread_busy: 0.1,
        };
        assert_eq!(default_rate_per_s(&probe), Some(4800.0));
        let busy = Probe {
            thread_busy: 0.8,
            ..probe.clone()
        };
        assert_eq!(default_rate_per_s(&busy), Some(810.0));
        let dead = Probe {
            completed_per_s: vec![0.0; 5],
            thread_busy: 0.0,
        };
        assert_eq!(default_rate_per_s(&dead), None);
    }

    proptest! {
        #[test]
        fn readable_rates_have_two_digits_and_never_exceed(rate in 1.0_f64..1e6) {
            let shown = readable(rate);
            prop_assert!(shown <= rate + 1e-6 && shown > rate * 0.49);
            let digits = format!("{shown:.0}");
            prop_assert!(digits.trim_end_matches('0').len() <= 2, "{digits}");
        }
    }
}
