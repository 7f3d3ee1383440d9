//! What the runs could not answer: reads of which there were none, writes that nobody saw, limits that did not hold.
//! Refuses *no difference* where what was to differ did not.

use super::facts::Fact;
use super::{Experiment, Factor};
use crate::stats::mean;
use std::collections::BTreeMap;

/// Bytes that an operation must read from the disk on average for a question about the disk to be one: a page of 4 KiB
/// for every hundredth operation. Whatever dropped its cache reads some.
const LEAST_READ: f64 = 4096.0 / 100.0;

/// Why questions have no answer, each where it has none.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    unread: Option<String>,
    unwritten: Option<String>,
    unheld: Option<String>,
}

impl Unanswered {
    /// What these runs could not answer; `unread` is what is known beforehand to stand against a question about reads.
    pub(super) fn of(of: &Experiment, facts: &[Fact], unread: Option<String>) -> Self {
        Self {
            unread: unread.or_else(|| self::unread(of, facts)),
            unwritten: unwritten(of, facts),
            unheld: unheld(of, facts),
        }
    }

    /// Why nothing may be said of a factor; none where something may.
    pub(super) fn why_of(&self, of: &Experiment, factor: &str) -> Option<&str> {
        let own = of.factors.iter().find(|own| own.name == factor)?;
        let is_of_reads = of.needs_disk || own.is_of_reads();
        // Where memory was not limited, data are in memory because of that.
        let each = [
            (&self.unheld, own.is_of_limits()),
            (&self.unread, is_of_reads),
            (&self.unwritten, own.is_of_writes()),
        ];
        let mut asked = each.into_iter().filter(|(_, asks)| *asks);
        asked.find_map(|(why, _)| why.as_deref())
    }

    /// Whether settings were what they say: else nothing is reported of them, not even of one alone.
    pub(super) fn settings_held(&self) -> bool {
        self.unheld.is_none()
    }

    /// Whether the experiment's question has no answer.
    pub(super) fn is_any(&self) -> bool {
        [&self.unheld, &self.unread, &self.unwritten]
            .iter()
            .any(|why| why.is_some())
    }

    /// Why the experiment's question has no answer; none where it has one.
    pub(super) fn why(self) -> Option<String> {
        self.unheld.or(self.unread).or(self.unwritten)
    }
}

/// Why a question about limits has no answer: in a run that was limited they did not hold.
fn unheld(of: &Experiment, facts: &[Fact]) -> Option<String> {
    let is_about = of.factors.iter().any(Factor::is_of_limits);
    let failed = || facts.iter().filter_map(|fact| fact.limits_failed.as_ref());
    let why = failed().next().filter(|_| is_about)?;
    Some(format!(
        "the claim is about limits of the nodes, which were not in effect in {} of {} runs: {why}",
        failed().count(),
        facts.len()
    ))
}

/// Why a question about writes has no answer by what was written.
fn unwritten(of: &Experiment, facts: &[Fact]) -> Option<String> {
    let wrote = |fact: &Fact| fact.written_bytes_per_operation.is_some_and(|b| b > 0.0);
    (of.is_about_writes() && !facts.iter().any(wrote))
        .then(|| "the claim is about disk writes, and the nodes wrote nothing to disk".to_owned())
}

/// Why a question about the disk has no answer by what was read: in no combination's mean as much as matters.
fn unread(of: &Experiment, facts: &[Fact]) -> Option<String> {
    if !of.is_about_reads() {
        return None;
    }
    let mut seen: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for fact in facts {
        if let Some(bytes) = fact.read_bytes_per_operation {
            seen.entry(fact.planned.combination)
                .or_default()
                .push(bytes);
        }
    }
    let runs: usize = seen.values().map(Vec::len).sum();
    let most = seen
        .values()
        .filter_map(|own| mean(own))
        .fold(0.0, f64::max);
    if most >= LEAST_READ {
        return None;
    }
    Some(if runs == 0 {
        "it is about the disk, and what was read from it could not be seen".to_owned()
    } else {
        format!(
            "it is about the disk, and the nodes read at most {most:.0} bytes per operation from it in {runs} runs: \
             the data was in memory"
        )
    })
}
