//! Doubts as they are read: each once, with the phases that have it and what was measured in each of them.
//! Refuses one phase's figure in the name of another.

use super::{Doubt, DoubtKind};

/// A doubt, and the phases that have it.
#[derive(Debug, Clone)]
pub struct Shared<'a> {
    phases: Vec<(&'a str, &'a Doubt)>,
    first: &'a Doubt,
}

/// The doubts of these phases, the disqualifying ones first: those of one kind about the same, with the same cure, are one.
pub fn shared<'a>(phases: impl IntoIterator<Item = (&'a str, &'a [Doubt])>) -> Vec<Shared<'a>> {
    let mut all: Vec<Shared<'a>> = Vec::new();
    for (phase, doubts) in phases {
        for doubt in doubts {
            let same = |one: &&mut Shared<'_>| {
                let d = one.first;
                d.kind == doubt.kind && d.about == doubt.about && d.cure == doubt.cure
            };
            match all.iter_mut().find(same) {
                Some(one) => one.phases.push((phase, doubt)),
                None => all.push(Shared {
                    phases: vec![(phase, doubt)],
                    first: doubt,
                }),
            }
        }
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.first.severity));
    all
}

impl<'a> Shared<'a> {
    /// The doubt in the first of the phases: all but what was measured is the same in the others.
    pub fn doubt(&self) -> &'a Doubt {
        self.first
    }

    /// The phases' names.
    pub fn phases(&self) -> String {
        let names: Vec<&str> = self.phases.iter().map(|(phase, _)| *phase).collect();
        names.join(", ")
    }

    /// The fixed text, and whom it is about.
    pub fn text(&self) -> String {
        self.first.line()
    }

    /// What was measured in each phase and what is allowed; nothing where there is only a count of what must not be at all.
    pub fn measured(&self) -> String {
        if self.first.unit == "count" {
            return String::new();
        }
        let each = self.phases.iter();
        let each: Vec<(&str, String, String)> = each
            .map(|(phase, doubt)| (*phase, found(doubt), allowed(doubt)))
            .collect();
        let (_, first, limit) = &each[0];
        let one_limit = each.iter().all(|(_, _, other)| other == limit);
        if one_limit && each.iter().all(|(_, other, _)| other == first) {
            return format!("{first}{limit}");
        }
        let by_phase = |limits: bool| -> String {
            let words = each.iter().map(|(phase, found, allowed)| {
                let allowed = allowed.trim_start_matches(", ");
                match limits && !allowed.is_empty() {
                    true => format!("{found} in {phase} ({allowed})"),
                    false => format!("{found} in {phase}"),
                }
            });
            words.collect::<Vec<_>>().join(", ")
        };
        match one_limit {
            true => format!("{}{limit}", by_phase(false)),
            false => by_phase(true),
        }
    }

    /// Text and figures in one line.
    pub fn line(&self) -> String {
        match self.measured() {
            figures if figures.is_empty() => self.text(),
            figures => format!("{}: {figures}", self.text()),
        }
    }
}

/// What was measured, and of what it is a share.
fn found(doubt: &Doubt) -> String {
    use DoubtKind as K;
    let of = match doubt.kind {
        K::Fault | K::Membership | K::Compaction | K::Collection | K::GeneratorWaited => {
            " of the measurement window"
        }
        _ => "",
    };
    format!("{}{of}", amount(doubt.measured, &doubt.unit))
}

/// What is allowed, where anything is.
fn allowed(doubt: &Doubt) -> String {
    if doubt.threshold == 0.0 {
        return String::new();
    }
    format!(", allowed {}", amount(doubt.threshold, &doubt.unit))
}

/// A number as a person reads its unit.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        // What is above what is allowed must read so.
        "share" if value < 0.00995 => format!("{:.2} %", value * 100.0),
        "share" if value < 0.0995 => format!("{:.1} %", value * 100.0),
        "share" => format!("{:.0} %", value * 100.0),
        "count" | "samples" => format!("{value:.0}"),
        unit => format!("{value:.2} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubt::{OutsideFacts, PhaseFacts, judge};
    use std::collections::BTreeMap;

    fn of_phase(rate_per_s: f64, backlog: u64, joined: f64) -> Vec<Doubt> {
        let facts = PhaseFacts {
            duration_s: 20.0,
            rate_per_s: Some(rate_per_s),
            ended: 5000,
            backlog,
            ..PhaseFacts::default()
        };
        let outside = OutsideFacts {
            members: BTreeMap::from([("node4 joined".to_owned(), joined)]),
            nodes_died: vec!["node1".to_owned()],
            compaction_share: 0.4,
            ..OutsideFacts::default()
        };
        judge(&facts, &outside)
    }

    #[test]
    fn each_phase_has_its_own_figure() {
        let (ramp, main) = (of_phase(100.0, 200, 0.58), of_phase(100.0, 450, 1.0));
        let all = shared([("rampup", &ramp[..]), ("main", &main[..])]);
        let lines: Vec<String> = all
            .iter()
            .map(|one| format!("{}: {}", one.phases(), one.line()))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        rampup, main: behind its schedule: operations were offered faster than they were completed, to the end: 2.00 s in rampup, 4.50 s in main, allowed 1.00 s
        rampup, main: a node died or restarted (node1)
        rampup, main: compactions ran during the operations: 40 % of the measurement window, allowed 10 %
        rampup, main: a node joined or left the cluster (node4 joined): 58 % of the measurement window in rampup, 100 % of the measurement window in main
        ");
    }

    #[test]
    fn limits_that_differ_stand_beside_their_figures() {
        let late = |ms: u64, response_ms: u64| {
            let facts = PhaseFacts {
                duration_s: 20.0,
                ended: 5000,
                lateness_p99_ns: Some(ms * 1_000_000),
                response_p99_ns: Some(response_ms * 1_000_000),
                ..PhaseFacts::default()
            };
            judge(&facts, &OutsideFacts::default())
        };
        let (a, b) = (late(5, 10), late(7, 40));
        let all = shared([("write", &a[..]), ("read", &b[..])]);
        assert_eq!(
            all[0].measured(),
            "5.00 ms in write (allowed 1.00 ms), 7.00 ms in read (allowed 4.00 ms)"
        );
    }
}
