//! Faults on a run's time line: when each begins and ends, and which of them get in each other's way.
//! Refuses a clock: times are milliseconds from the beginning of the first phase's measured stretch.

use super::place::{Reach, Shape};
use super::{Fault, FaultError, What, Words, time};
use crate::units::parse_duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// A fault on a run's time line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scripted {
    /// When it begins, in milliseconds from the start of the first phase's measurement window.
    pub at_ms: u64,
    /// How long it lasts, in milliseconds; to the end of the run where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// What.
    #[serde(flatten)]
    pub fault: Fault,
}

impl fmt::Display for Scripted {
    /// As [`Scripted::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} ", time(Duration::from_millis(self.at_ms)))?;
        if let Some(ms) = self.for_ms {
            write!(f, "for {} ", time(Duration::from_millis(ms)))?;
        }
        self.fault.fmt(f)
    }
}

/// What stands behind the words of a fault that was there when a run began.
const BEFORE: &str = ", made before the run";

/// How a run names a fault that was active when it started.
pub fn words_before_run(fault: &Fault) -> String {
    format!("{fault}{BEFORE}")
}

/// The fault that the words of a run speak of, be it one of its time line or one from before; none where they are others.
pub fn fault_in_words(words: &str) -> Option<Fault> {
    match words.strip_suffix(BEFORE) {
        Some(fault) => Fault::parse(fault).ok(),
        None => Scripted::parse(words).ok().map(|one| one.fault),
    }
}

/// What is done at a moment of the time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// The fault of that place in the script ends.
    Heal(usize),
    /// It begins.
    Make(usize),
}

const FORM: &str = "write it as 'at 10s for 20s partition DC3'; without for, it lasts to the end";

impl Scripted {
    /// Reads `at 10s for 20s partition DC3`, or `at 10s kill node2`.
    ///
    /// # Errors
    /// No time, one that is none, or words that are no fault.
    pub fn parse(text: &str) -> Result<Self, FaultError> {
        let mut words = Words::of(text);
        let (at, word) = words.next("the fault is missing", FORM)?;
        if word != "at" {
            let why = format!("a fault of a run starts with its time, not with {word:?}");
            return Err(words.wrong(at, why, FORM.to_owned()));
        }
        let (_, at_ms) = moment(&mut words, "at")?;
        let mut for_ms = None;
        if words.peek() == Some("for") {
            words.next("for is missing", FORM)?;
            let (place, ms) = moment(&mut words, "for")?;
            if ms == 0 {
                let why = "a fault must last longer than 0".to_owned();
                return Err(words.wrong(place, why, FORM.to_owned()));
            }
            for_ms = Some(ms);
        }
        let fault = Fault::read(&mut words)?;
        words.end()?;
        Ok(Self {
            at_ms,
            for_ms,
            fault,
        })
    }

    fn to_ms(&self) -> u64 {
        self.for_ms
            .map_or(u64::MAX, |ms| self.at_ms.saturating_add(ms))
    }

    fn meets(&self, other: &Self) -> bool {
        self.at_ms < other.to_ms() && other.at_ms < self.to_ms()
    }

    /// Whether both want the same processes or ports in ways that undo each other.
    fn disturbs(&self, reach: &Reach, other: &Self, others: &Reach) -> bool {
        // Who heals those starts the nodes again.
        let kills = What::ends_nodes;
        let alike =
            std::mem::discriminant(&self.fault.what) == std::mem::discriminant(&other.fault.what);
        let both_processes = matches!((reach, others), (Reach::Nodes(_), Reach::Nodes(_)));
        let one_kills = kills(self.fault.what) || kills(other.fault.what);
        let shared = reach.nodes().iter().any(|n| others.nodes().contains(n));
        shared && (alike || (one_kills && both_processes))
    }
}

fn moment(words: &mut Words<'_>, after: &str) -> Result<(Range<usize>, u64), FaultError> {
    let missing = format!("a time is missing after {after}");
    let (at, word) = words.next(&missing, FORM)?;
    let ms = parse_duration(word).ok().map(|time| time.as_millis());
    match ms.and_then(|ms| u64::try_from(ms).ok()) {
        Some(ms) => Ok((at, ms)),
        None => {
            let why = format!("{word:?} is not a time: it needs a unit, such as 10s");
            Err(words.wrong(at, why, FORM.to_owned()))
        }
    }
}

/// Everything that is done, in order; where one ends as another begins, the end comes first.
pub fn time_line(script: &[Scripted]) -> Vec<(u64, Turn)> {
    let mut turns = Vec::new();
    for (place, one) in script.iter().enumerate() {
        turns.push((one.at_ms, Turn::Make(place)));
        turns.extend(one.for_ms.map(|_| (one.to_ms(), Turn::Heal(place))));
    }
    turns.sort_unstable();
    turns
}

/// What each fault of a script reaches.
///
/// # Errors
/// A target that there is not, and two faults that get in each other's way.
pub fn check(script: &[Scripted], shape: &Shape) -> Result<Vec<Reach>, FaultError> {
    let reached: Vec<Reach> = script
        .iter()
        .map(|one| shape.reach(&one.fault))
        .collect::<Result<_, _>>()?;
    for (later, one) in script.iter().enumerate() {
        for (earlier, other) in script[..later].iter().enumerate() {
            if one.meets(other) && one.disturbs(&reached[later], other, &reached[earlier]) {
                let text = one.to_string();
                return Err(FaultError {
                    at: 0..text.len(),
                    text,
                    why: format!("this fault and '{other}' affect the same nodes at the same time"),
                    hint: "let one end before the other starts, or name other nodes".to_owned(),
                });
            }
        }
    }
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::place::Seat;

    fn script(lines: &[&str]) -> Vec<Scripted> {
        lines.iter().map(|l| Scripted::parse(l).expect(l)).collect()
    }

    fn shape() -> Shape {
        let seat = |k: usize| Seat {
            node: format!("node{k}"),
            data_center: format!("DC{k}"),
            rack: "rack1".into(),
            disk: true,
        };
        Shape {
            seats: (1..=3).map(seat).collect(),
            apart: true,
        }
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for text in [
            "at 10s for 20s partition DC3",
            "at 500ms kill node2",
            "at 10s for 20s disk-full node2",
            "at 0s for 1500ms slow 25% DC1/rack1",
        ] {
            assert_eq!(Scripted::parse(text).expect(text).to_string(), text);
        }
    }

    #[test]
    fn an_error_points_at_its_word() {
        let pointed = |text: &str| {
            let error = Scripted::parse(text).expect_err(text);
            let [words, mark] = error.pointed();
            format!("{error}\n{words}\n{mark}")
        };
        insta::assert_snapshot!(pointed("at 10s for 20s partion DC3"), @r#"
        no such fault: "partion"
        at 10s for 20s partion DC3
                       ^^^^^^^
        "#);
        insta::assert_snapshot!(pointed("at 10 partition DC3"), @r#"
        "10" is not a time: it needs a unit, such as 10s
        at 10 partition DC3
           ^^
        "#);
        insta::assert_snapshot!(pointed("partition DC3"), @r#"
        a fault of a run starts with its time, not with "partition"
        partition DC3
        ^^^^^^^^^
        "#);
        for bad in [
            "",
            "at",
            "at 10s",
            "at 10s for",
            "at 10s for 0s kill node1",
            "at 1s kill node1 for 2s",
        ] {
            assert!(Scripted::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn turns_come_in_order_and_ends_before_beginnings() {
        let script = script(&[
            "at 10s for 20s partition DC3",
            "at 5s kill node2",
            "at 30s for 1s pause node1",
        ]);
        let expected = [
            (5_000, Turn::Make(1)),
            (10_000, Turn::Make(0)),
            (30_000, Turn::Heal(0)),
            (30_000, Turn::Make(2)),
            (31_000, Turn::Heal(2)),
        ];
        assert_eq!(time_line(&script), expected);
    }

    #[test]
    fn faults_that_undo_each_other_are_refused() {
        let checked = |lines: &[&str]| check(&script(lines), &shape());
        assert!(checked(&["at 1s for 2s pause node1", "at 2s for 2s pause node1"]).is_err());
        assert!(checked(&["at 1s for 2s pause node1", "at 3s for 2s pause node1"]).is_ok());
        assert!(checked(&["at 1s kill node1", "at 2s pause DC1"]).is_err());
        assert!(checked(&["at 1s pause node1", "at 2s slow 20% node1"]).is_ok());
        assert!(checked(&["at 1s pause node1", "at 2s disk-full node1"]).is_err());
        assert!(checked(&["at 1s disk-full node1", "at 2s disk-full DC2"]).is_ok());
        // Layers over links lie over each other.
        assert!(checked(&["at 1s partition DC3", "at 2s partition DC1:DC3"]).is_ok());
        assert!(checked(&["at 1s partition node3", "at 2s kill node3"]).is_ok());
        assert!(checked(&["at 1s kill node9"]).is_err());
    }
}
