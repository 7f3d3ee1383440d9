//! How fast the generator's machine did a fixed piece of work around a run.
//! Refuses a mean over processors of which one was not seen.

use serde::{Deserialize, Serialize};

/// How fast the generator's machine worked around a run. The nodes are up meanwhile, and may be compacting: it is what
/// they leave for work. What could not be looked at is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSpeed {
    /// Just before the generator was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Speed>,
    /// Just after it had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Speed>,
}

/// Units of one fixed piece of work a second and processor, all processors at once; the geometric mean of them. A unit
/// means the same within one build of Helenus only.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// By the clock: what others take, the hypervisor included, makes it less.
    pub per_s: f64,
    /// By the CPU time of the working threads: only slower processors and caches make it less.
    pub cpu_per_s: f64,
}

/// The same of one processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreSpeed {
    /// Units a second by the clock.
    pub per_s: f64,
    /// Units a second of CPU time.
    pub cpu_per_s: f64,
}

impl HostSpeed {
    /// Itself, where anything was seen.
    pub fn seen(self) -> Option<Self> {
        (self.before.is_some() || self.after.is_some()).then_some(self)
    }
}

impl Speed {
    /// The geometric mean of these processors; none of none, or where one did nothing.
    pub fn of(cores: &[CoreSpeed]) -> Option<Self> {
        Some(Self {
            per_s: geometric_mean(cores.iter().map(|core| core.per_s))?,
            cpu_per_s: geometric_mean(cores.iter().map(|core| core.cpu_per_s))?,
        })
    }
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value.ln();
        count += 1.0;
    }
    let mean = (sum / count).exp();
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(per_s: f64) -> CoreSpeed {
        CoreSpeed {
            per_s,
            cpu_per_s: per_s * 2.0,
        }
    }

    #[test]
    fn the_mean_of_processors_is_geometric() {
        let speed = Speed::of(&[core(100.0), core(400.0)]).unwrap();
        assert!((speed.per_s - 200.0).abs() < 1e-9, "{speed:?}");
        assert!((speed.cpu_per_s - 400.0).abs() < 1e-9, "{speed:?}");
    }

    #[test]
    fn what_was_not_seen_has_no_mean() {
        assert_eq!(Speed::of(&[]), None);
        assert_eq!(Speed::of(&[core(100.0), core(0.0)]), None);
        assert_eq!(HostSpeed::default().seen(), None);
    }
}
