//! Whether phases measure enough operations for what is asked of them, before hours are spent.
//! Refuses a percentile with fewer than ten samples above it: no run would have it.

use super::{Experiment, Goal};
use crate::histogram::SAMPLES_ABOVE;
use crate::run_plan::Phase;

/// A threshold or a measure that a phase has too few samples for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{asked} cannot be decided at {at}: the phase {phase} measures {operations} operations, and {percentile} needs \
     {needed}, so that ten are above it"
)]
pub struct TooFew {
    /// The threshold or the measure as it was written.
    pub asked: String,
    /// The first settings that have too few, in words.
    pub at: String,
    /// The phase.
    pub phase: String,
    /// Operations that it measures at most.
    pub operations: u64,
    /// The percentile, such as `p99`.
    pub percentile: &'static str,
    /// Operations that leave ten above it.
    pub needed: u64,
}

impl TooFew {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "measure longer, raise the rate, or ask for a lower percentile".to_owned()
    }
}

impl Experiment {
    /// The first threshold, else the measure, that a phase cannot decide; none where all can, as far as that is known
    /// beforehand. `phases` has by combination the phases of its run; none where that does not fit the machine.
    pub fn too_few(&self, phases: &[Option<Vec<Phase>>]) -> Option<TooFew> {
        let all = self.combinations();
        let mut each = all.iter().zip(phases);
        each.find_map(|(levels, phases)| {
            let phases = phases.as_deref()?;
            let bars = self.bars.iter().filter(|bar| bar.is_about(levels));
            let bars = bars.map(|bar| (format!("the threshold {:?}", bar.text), &bar.goal));
            let measure = (format!("the measure {}", self.goal.text), &self.goal);
            let mut asked = bars.chain([measure]);
            asked.find_map(|(asked, goal)| {
                let own = goal.phase.as_ref().or(self.goal.phase.as_ref());
                let phase = match own {
                    Some(name) => phases.iter().find(|phase| phase.name == *name)?,
                    None => phases.last()?,
                };
                let (operations, percentile, needed) = lack(goal, phase)?;
                Some(TooFew {
                    asked,
                    at: self.label(levels),
                    phase: phase.name.clone(),
                    operations,
                    percentile,
                    needed,
                })
            })
        })
    }
}

/// Operations that a phase measures, the percentile that is asked of it, and the operations that one wants, where they are
/// more. A closed loop that ends by time measures as many as come.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "operations below 2^53"
)]
fn lack(goal: &Goal, phase: &Phase) -> Option<(u64, &'static str, u64)> {
    let quantile = goal.measure(phase.rate_per_s.is_some()).quantile()?;
    let operations = phase.measured_operations();
    let needed = (SAMPLES_ABOVE / (1.0 - quantile)).round() as u64;
    (operations > 0 && operations < needed).then_some((operations, goal.word, needed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_plan::Extent;

    /// What is asked too much of two levels, the second of which does not fit the machine, of these phases.
    fn refused(asks: &str, phases: &[(&str, Option<f64>, Extent)]) -> Option<String> {
        let text = format!(
            "name = \"x\"\n{asks}\n[[factor]]\nkey = \"heap\"\nkind = \"restart\"\nlevels = [\"64M\", \"96M\"]\n"
        );
        let of = crate::experiment::read(&text).unwrap();
        let phase = |(name, rate, extent): &(&str, Option<f64>, Extent)| Phase {
            name: (*name).to_owned(),
            rate_per_s: *rate,
            extent: *extent,
            ..Phase::default()
        };
        let phases = phases.iter().map(phase).collect();
        let few = of.too_few(&[Some(phases), None])?;
        assert!(!few.hint().is_empty());
        Some(few.to_string())
    }

    #[test]
    fn a_percentile_wants_ten_samples_above_it() {
        let seconds = |s: u64| Extent::DurationMs(s * 1000);
        let one = |asks: &str, rate, extent| refused(asks, &[("main", rate, extent)]);
        insta::assert_snapshot!(one("", Some(99.0), seconds(10)).unwrap(), @"the measure p99 cannot be decided at heap=64M: the phase main measures 990 operations, and p99 needs 1000, so that ten are above it");
        assert_eq!(one("", Some(100.0), seconds(10)), None);
        insta::assert_snapshot!(one("bars = [\"p99.9 < 20ms\"]", Some(500.0), seconds(10)).unwrap(), @r#"the threshold "p99.9 < 20ms" cannot be decided at heap=64M: the phase main measures 5000 operations, and p99.9 needs 10000, so that ten are above it"#);
        let of_count = |n| one("measure = \"p50\"", None, Extent::Count(n));
        assert!(of_count(19).is_some() && of_count(20).is_none());
        // How many come in a closed loop is what is measured; a mean has no samples above it to want.
        assert_eq!(one("", None, seconds(1)), None);
        assert_eq!(one("measure = \"mean\"", Some(1.0), seconds(1)), None);
    }

    #[test]
    fn the_phase_that_is_asked_about_counts() {
        let phases = [
            ("write", Some(1_000.0), Extent::Count(5_000)),
            ("read", Some(10.0), Extent::Count(100)),
        ];
        assert!(refused("", &phases).is_some());
        assert_eq!(refused("measure = \"write.p99\"", &phases), None);
        let bar = "measure = \"write.p99\"\nbars = [\"read.p95 < 1s\"]";
        assert!(refused(bar, &phases).is_some_and(|why| why.contains("p95 needs 200")));
    }
}
