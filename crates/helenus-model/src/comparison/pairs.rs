//! From runs to pairs of restarts: what belongs together, what is left out and why, and what stands against it all.
//! Refuses to drop a run in silence.

use super::{Behind, Caution, Difference, LEAST_PAIRS, LeftOut, Pair, RunFacts};
use crate::doubt::{DoubtKind, Verdict};
use crate::result::PhaseResult;
use crate::sample::SchedulingPolicy;
use std::collections::BTreeMap;

/// One life of the processes of one side, with its runs in the order in which they began.
#[derive(Debug, Clone)]
pub(super) struct Restart<'a, 'b> {
    pub(super) runs: Vec<&'b RunFacts<'a>>,
}

impl<'a, 'b> Restart<'a, 'b> {
    fn began(&self) -> u64 {
        self.runs.first().map_or(0, |run| run.began_wall_ns)
    }

    fn pair(&self) -> Option<u32> {
        self.runs.iter().find_map(|run| run.pair)
    }

    fn names(&self) -> Vec<String> {
        self.runs.iter().map(|run| run.run.clone()).collect()
    }

    /// The restarts of a side, in the order in which they began.
    fn of(side: &'b [RunFacts<'a>]) -> Vec<Self> {
        let mut runs: Vec<&RunFacts> = side.iter().collect();
        runs.sort_by(|a, b| (a.began_wall_ns, &a.run).cmp(&(b.began_wall_ns, &b.run)));
        let mut restarts: Vec<Self> = Vec::new();
        for run in runs {
            let same = |restart: &&mut Self| {
                run.restart.is_some() && restart.runs[0].restart == run.restart
            };
            match restarts.iter_mut().find(same) {
                Some(restart) => restart.runs.push(run),
                None => restarts.push(Self { runs: vec![run] }),
            }
        }
        restarts
    }
}

/// A pair of restarts, A's first.
pub(super) type Restarts<'a, 'b> = [Restart<'a, 'b>; 2];

/// The pairs of two sides, and the runs of none.
pub(super) fn pairs<'a, 'b>(
    a: &'b [RunFacts<'a>],
    b: &'b [RunFacts<'a>],
) -> (Vec<Restarts<'a, 'b>>, Vec<LeftOut>) {
    let sides = [Restart::of(a), Restart::of(b)];
    let numbered = sides.iter().flatten().all(|one| one.pair().is_some());
    let mut left_out = Vec::new();
    let mut pairs = if numbered {
        by_number(sides, &mut left_out)
    } else {
        by_order(sides, &mut left_out)
    };
    pairs.retain(|pair| believed(pair, &mut left_out));
    (pairs, left_out)
}

fn leave_out(restart: &Restart, why: &str, left_out: &mut Vec<LeftOut>) {
    let left = restart.runs.iter().map(|run| LeftOut {
        run: run.run.clone(),
        why: why.to_owned(),
    });
    left_out.extend(left);
}

fn by_order<'a, 'b>(
    sides: [Vec<Restart<'a, 'b>>; 2],
    left_out: &mut Vec<LeftOut>,
) -> Vec<Restarts<'a, 'b>> {
    let [mut a, mut b] = sides;
    let both = a.len().min(b.len());
    for rest in [&mut a, &mut b].map(|side| side.split_off(both)) {
        let why = "the other side has fewer restarts";
        rest.iter().for_each(|one| leave_out(one, why, left_out));
    }
    a.into_iter().zip(b).map(|(a, b)| [a, b]).collect()
}

fn by_number<'a, 'b>(
    sides: [Vec<Restart<'a, 'b>>; 2],
    left_out: &mut Vec<LeftOut>,
) -> Vec<Restarts<'a, 'b>> {
    let mut by_number: BTreeMap<u32, [Option<Restart>; 2]> = BTreeMap::new();
    for (place, restarts) in sides.into_iter().enumerate() {
        for restart in restarts {
            let Some(number) = restart.pair() else {
                continue;
            };
            let pair = by_number.entry(number).or_default();
            match pair[place] {
                None => pair[place] = Some(restart),
                Some(_) => {
                    let why = format!("its side has an earlier restart in pair {number}");
                    leave_out(&restart, &why, left_out);
                }
            }
        }
    }
    let mut pairs = Vec::new();
    for pair in by_number.into_values() {
        match pair {
            [Some(a), Some(b)] => pairs.push([a, b]),
            [Some(alone), None] | [None, Some(alone)] => {
                // The second run of a pair is not run where the first spoilt it.
                let invalid = alone.runs.iter().any(|run| is_invalid(run));
                let why = if invalid {
                    INVALID
                } else {
                    "the other side of its pair did not end"
                };
                leave_out(&alone, why, left_out);
            }
            [None, None] => {}
        }
    }
    pairs
}

/// Why a run with a disqualifying doubt is left out.
const INVALID: &str = "it is invalid: see its doubts";

fn is_invalid(run: &RunFacts) -> bool {
    !run.result.is_comparable()
}

/// Whether the nodes fell behind the schedule in a run of it.
fn fell_behind(restart: &Restart) -> bool {
    let mut phases = restart.runs.iter().flat_map(|run| &run.result.phases);
    phases.any(PhaseResult::nodes_fell_behind)
}

/// In how many pairs each side fell behind its schedule; none where neither did.
pub(super) fn behind(pairs: &[Restarts]) -> Option<Behind> {
    let of = |place: usize| {
        pairs
            .iter()
            .filter(|pair| fell_behind(&pair[place]))
            .count()
    };
    let (a, b) = (of(0), of(1));
    (a + b > 0).then_some(Behind { a, b })
}

/// False where a run of the pair is not valid: then the whole pair is left out, so that neither side gets to choose
/// among its runs.
fn believed(pair: &Restarts, left_out: &mut Vec<LeftOut>) -> bool {
    let runs: Vec<&RunFacts> = pair.iter().flat_map(|side| side.runs.clone()).collect();
    let Some(first) = runs
        .iter()
        .find(|run| is_invalid(run))
        .map(|run| run.run.clone())
    else {
        return true;
    };
    for run in &runs {
        let why = if is_invalid(run) {
            INVALID.to_owned()
        } else {
            format!("{first} of its pair is invalid")
        };
        let run = run.run.clone();
        left_out.push(LeftOut { run, why });
    }
    false
}

/// The pairs as they are shown.
pub(super) fn shown(pairs: &[Restarts]) -> Vec<Pair> {
    let one = |[a, b]: &Restarts| Pair {
        a: a.names(),
        b: b.names(),
        a_first: a.began() <= b.began(),
    };
    pairs.iter().map(one).collect()
}

/// Facts of runs by what they are about, in the order in which they come; each value once.
fn facts<'r>(runs: impl Iterator<Item = &'r RunFacts<'r>>) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |what: &str, value: &str| match found.iter_mut().find(|f| f.0 == what) {
        None => found.push((what.to_owned(), vec![value.to_owned()])),
        Some((_, values)) if values.iter().any(|v| v == value) => {}
        Some((_, values)) => values.push(value.to_owned()),
    };
    for run in runs {
        for fact in &run.facts {
            add(&fact.what, &fact.value);
        }
        for phase in &run.result.phases {
            let rate = match phase.rate_per_s {
                Some(rate) => format!("{rate}/s"),
                None => "closed loop".to_owned(),
            };
            add(&format!("{RATE}{}", phase.name), &rate);
            let priority = match phase.standing.policy {
                SchedulingPolicy::RoundRobin => "real-time",
                SchedulingPolicy::Fair => "ordinary",
            };
            add(&format!("{PRIORITY}{}", phase.name), priority);
        }
    }
    found
}

/// How facts about rates begin; the phase follows.
const RATE: &str = "rate of ";

/// How facts about the generator's priority begin; the phase follows.
const PRIORITY: &str = "generator priority in ";

/// What the sides differ in, and what each side alone is not of one kind in.
pub(super) fn differences(pairs: &[Restarts]) -> (Vec<Difference>, Vec<Caution>) {
    let side = |place: usize| facts(pairs.iter().flat_map(move |pair| pair[place].runs.clone()));
    let (a, b) = (side(0), side(1));
    let text = |facts: &[(String, Vec<String>)], what: &str| {
        let found = facts.iter().find(|fact| fact.0 == what);
        found.map_or("none".to_owned(), |(_, values)| values.join(", "))
    };
    let only_b = b.iter().filter(|fact| a.iter().all(|f| f.0 != fact.0));
    let differences: Vec<Difference> = a
        .iter()
        .chain(only_b)
        .map(|(what, _)| Difference {
            what: what.clone(),
            a: text(&a, what),
            b: text(&b, what),
        })
        .filter(|one| one.a != one.b)
        .collect();
    let mut cautions = Vec::new();
    for (letter, facts) in [("A", &a), ("B", &b)] {
        for (what, values) in facts.iter().filter(|fact| fact.1.len() > 1) {
            cautions.push(Caution {
                text: format!(
                    "the runs of {letter} differ in {what}: {}",
                    values.join(", ")
                ),
                cure: "compare runs that share every setting of their side".to_owned(),
            });
        }
    }
    for one in &differences {
        cautions.extend(caution_of(one));
    }
    (differences, cautions)
}

/// Differences that raise doubts about a comparison whatever it is about.
fn caution_of(difference: &Difference) -> Option<Caution> {
    let Difference { what, a, b } = difference;
    if what == super::MACHINE {
        return Some(Caution {
            text: format!(
                "A ran on {a}, B on {b}: this is not an interleaved comparison, and every difference of the machines counts"
            ),
            cure: "to compare settings or releases, run both on one machine: helenus compare --ab"
                .to_owned(),
        });
    }
    let cure = if what.starts_with(RATE) {
        "give both sides the same --rate: times at different rates are not comparable"
    } else if what.starts_with(PRIORITY) {
        "run both sides as the same user with the same rights: a generator of ordinary priority waits while nodes use all processors"
    } else if what == super::CLASS_ARCHIVE {
        "use the class-data archive on both sides or on neither"
    } else if what == super::JDK {
        "use one JDK on both sides, unless the JDK is what is compared"
    } else {
        return None;
    };
    Some(Caution {
        text: format!("the sides differ in {what}: {a} and {b}"),
        cure: cure.to_owned(),
    })
}

/// Cautions about the comparison, from its pairs and their doubts.
pub(super) fn cautions(pairs: &[Restarts]) -> Vec<Caution> {
    let mut found = Vec::new();
    let mut add = |text: String, cure: &str| {
        let cure = cure.to_owned();
        found.push(Caution { text, cure });
    };
    if pairs.len() < LEAST_PAIRS {
        let count = match pairs.len() {
            1 => "1 pair of restarts".to_owned(),
            n => format!("{n} pairs of restarts"),
        };
        add(
            format!("{count}: no claim is made below {LEAST_PAIRS}"),
            "run more restarts of both sides, in turn",
        );
    }
    let ends = |place: usize, last: bool| {
        let began = pairs.iter().map(|pair| pair[place].began());
        if last { began.max() } else { began.min() }
    };
    let after = |first: usize, then: usize| ends(first, true) < ends(then, false);
    if pairs.len() > 1 && (after(0, 1) || after(1, 0)) {
        add(
            "all of one side ran before all of the other: drift over time counts as their difference".to_owned(),
            "run the two sides in turn: helenus compare --ab",
        );
    }
    let runs: Vec<&RunFacts> = pairs
        .iter()
        .flatten()
        .flat_map(|r| r.runs.clone())
        .collect();
    let doubted = |kind: DoubtKind| {
        let has = |run: &&&RunFacts| {
            let mut doubts = run.result.phases.iter().flat_map(|phase| &phase.doubts);
            doubts.any(|doubt| doubt.kind == kind)
        };
        runs.iter().filter(has).count()
    };
    for kind in [DoubtKind::ArchiveMix, DoubtKind::JdkUnsupported] {
        let count = doubted(kind);
        if count > 0 {
            add(
                format!("{}: in {count} of {} runs", kind.text(), runs.len()),
                kind.cure(),
            );
        }
    }
    let careful = runs.iter().filter(|r| r.result.verdict == Verdict::Caution);
    let careful = careful.count();
    if careful * 2 > runs.len() {
        add(
            format!("{careful} of {} runs have cautions", runs.len()),
            "look at each with `helenus history show`, and cure what they share",
        );
    }
    found
}
