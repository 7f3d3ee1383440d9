//! Faults by one set of words: what is done, to what, and on which stretch of a run's time line.
//! Refuses to do any of it, and a word that it does not know.

use crate::nearest::nearest;
use crate::topology::link::{DELAY_MAX, Layer, delay_us, loss_ppm};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

pub mod place;
pub mod script;

/// The words of all faults, in the order in which they are listed.
pub const WORDS: [&str; 6] = ["kill", "pause", "slow", "disk-full", "partition", "loss"];

/// Most that a node can be left of, in percent of one processor: more is no fault.
const PERCENT_MAX: u32 = 100;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "word")]
pub enum What {
    /// SIGKILL to nodes.
    Kill,
    /// SIGSTOP to nodes.
    Pause,
    /// A quota of processor time for each of the nodes.
    #[serde(rename = "slow")]
    Throttle {
        /// Of one processor, in percent.
        percent: u32,
    },
    /// Nothing is left free on the nodes' own disks.
    #[serde(rename = "disk-full")]
    DiskFull,
    /// More delay on links, each way.
    #[serde(rename = "slow_link")]
    Delay {
        /// In microseconds.
        added_us: u64,
    },
    /// Nothing gets through.
    Partition,
    /// Packets of links are lost.
    Loss {
        /// Of a million.
        ppm: u32,
    },
}

impl What {
    /// Its word, as it is said.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::Throttle { .. } | Self::Delay { .. } => "slow",
            Self::DiskFull => "disk-full",
            Self::Partition => "partition",
            Self::Loss { .. } => "loss",
        }
    }

    /// Whether nodes end of it, by design, so that whoever heals it starts them again: killed ones do, and Cassandra may
    /// where its disk is full.
    pub fn ends_nodes(self) -> bool {
        matches!(self, Self::Kill | Self::DiskFull)
    }

    /// What it lays over links; nothing for what is done to processes.
    pub fn layer(self) -> Layer {
        match self {
            Self::Kill | Self::Pause | Self::Throttle { .. } | Self::DiskFull => Layer::default(),
            Self::Delay { added_us } => Layer {
                added_us,
                ..Layer::default()
            },
            Self::Loss { ppm } => Layer {
                loss_ppm: ppm,
                ..Layer::default()
            },
            Self::Partition => Layer {
                cut: true,
                ..Layer::default()
            },
        }
    }
}

/// A fault: what, and the target as it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What is done.
    #[serde(flatten)]
    pub what: What,
    /// To what: `node2`, `DC1/rack1`, `DC3` or `DC1:DC2`.
    pub target: String,
}

impl fmt::Display for Fault {
    /// As [`Fault::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what.word())?;
        match self.what {
            What::Throttle { percent } => write!(f, " {percent}%")?,
            What::Delay { added_us } => write!(f, " {}", time(Duration::from_micros(added_us)))?,
            What::Loss { ppm } => write!(f, " {}%", f64::from(ppm) / 10_000.0)?,
            What::Kill | What::Pause | What::DiskFull | What::Partition => {}
        }
        write!(f, " {}", self.target)
    }
}

/// A time in the shortest unit that needs no fraction.
fn time(time: Duration) -> String {
    let us = time.as_micros();
    match us {
        _ if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
        _ if us.is_multiple_of(1_000) => format!("{}ms", us / 1_000),
        _ => format!("{us}us"),
    }
}

/// Why words are no fault, or cannot be one in a cluster: it points at the word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct FaultError {
    /// All words.
    pub text: String,
    /// The wrong ones among them, in bytes; at the end where one is missing.
    pub at: Range<usize>,
    /// What is wrong.
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

impl FaultError {
    /// The words, and below them a mark at the wrong ones.
    pub fn pointed(&self) -> [String; 2] {
        let before = self.text[..self.at.start].chars().count();
        let marked = self.text[self.at.clone()].chars().count().max(1);
        [
            self.text.clone(),
            format!("{}{}", " ".repeat(before), "^".repeat(marked)),
        ]
    }
}

/// Words with where they stand.
#[derive(Debug, Clone)]
struct Words<'a> {
    text: &'a str,
    rest: Vec<(Range<usize>, &'a str)>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let mut rest: Vec<(Range<usize>, &str)> = text
            .split_whitespace()
            .map(|word| {
                let from = word.as_ptr() as usize - text.as_ptr() as usize;
                (from..from + word.len(), word)
            })
            .collect();
        rest.reverse();
        Self { text, rest }
    }

    fn peek(&self) -> Option<&'a str> {
        self.rest.last().map(|(_, word)| *word)
    }

    /// The next word; where there is none, the error says what is missing.
    fn next(&mut self, missing: &str, hint: &str) -> Result<(Range<usize>, &'a str), FaultError> {
        match self.rest.pop() {
            Some(word) => Ok(word),
            None => {
                let end = self.text.len()..self.text.len();
                Err(self.wrong(end, missing.to_owned(), hint.to_owned()))
            }
        }
    }

    fn wrong(&self, at: Range<usize>, why: String, hint: String) -> FaultError {
        FaultError {
            text: self.text.to_owned(),
            at,
            why,
            hint,
        }
    }

    fn end(&mut self) -> Result<(), FaultError> {
        match self.rest.pop() {
            None => Ok(()),
            Some((at, word)) => {
                let why = format!("unexpected word {word:?}");
                let hint = format!("a fault is {FORM}");
                Err(self.wrong(at, why, hint))
            }
        }
    }
}

/// The form of a fault.
const FORM: &str = "kill|pause|slow 25%|slow 50ms|disk-full|partition|loss 5% and a target, such as node2, DC1/rack1, DC3 or DC1:DC2";

impl Fault {
    /// Reads `kill node2`, `pause DC1/rack1`, `slow 25% node2`, `slow 50ms DC1:DC2`, `disk-full node2`, `partition DC3`,
    /// `loss 5% DC1:DC2`.
    ///
    /// # Errors
    /// An unknown word, a missing one, one too many, or an amount that is none.
    pub fn parse(text: &str) -> Result<Self, FaultError> {
        let mut words = Words::of(text);
        let fault = Self::read(&mut words)?;
        words.end()?;
        Ok(fault)
    }

    fn read(words: &mut Words<'_>) -> Result<Self, FaultError> {
        let (at, word) = words.next("no fault is named", &format!("a fault is {FORM}"))?;
        let what = match word {
            "kill" => What::Kill,
            "pause" => What::Pause,
            "disk-full" => What::DiskFull,
            "partition" => What::Partition,
            "slow" => slow(words)?,
            "loss" => loss(words)?,
            other => {
                let why = format!("no such fault: {other:?}");
                let hint = match nearest(other, WORDS) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("known: {}", WORDS.join(", ")),
                };
                return Err(words.wrong(at, why, hint));
            }
        };
        let missing = format!("{word} needs a target");
        let (_, target) = words.next(
            &missing,
            "name a node (node2), a rack (DC1/rack1), a data centre (DC3) or a link (DC1:DC2)",
        )?;
        let number = target.bytes().all(|byte| byte.is_ascii_digit());
        let target = if number {
            format!("node{target}")
        } else {
            target.to_owned()
        };
        Ok(Self { what, target })
    }
}

fn slow(words: &mut Words<'_>) -> Result<What, FaultError> {
    let hint =
        "slow 25% leaves a node 25 % of one processor, slow 50ms adds 50 ms to a link each way";
    let (at, amount) = words.next("slow needs an amount", hint)?;
    if let Some(percent) = amount.strip_suffix('%') {
        let percent = percent.parse::<u32>().ok();
        return match percent.filter(|p| (1..=PERCENT_MAX).contains(p)) {
            Some(percent) => Ok(What::Throttle { percent }),
            None => {
                let why = format!("{amount:?} is not a share of one processor: write 1% to 100%");
                Err(words.wrong(at, why, hint.to_owned()))
            }
        };
    }
    match delay_us(amount) {
        Ok(added_us) if added_us > 0 => Ok(What::Delay { added_us }),
        _ => {
            let why = format!(
                "{amount:?} is neither a share of a processor nor a time of up to {}",
                time(DELAY_MAX)
            );
            Err(words.wrong(at, why, hint.to_owned()))
        }
    }
}

fn loss(words: &mut Words<'_>) -> Result<What, FaultError> {
    let hint = "loss 5% loses 5 % of a link's packets, each way";
    let (at, amount) = words.next("loss needs an amount", hint)?;
    match loss_ppm(amount) {
        Ok(ppm) if ppm > 0 => Ok(What::Loss { ppm }),
        _ => {
            let why = format!("{amount:?} is not a loss: write a share such as 0.1%");
            Err(words.wrong(at, why, hint.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        let all = [
            "kill node2",
            "pause DC1/rack1",
            "slow 25% DC3",
            "slow 50ms DC1:DC2",
            "slow 1500us DC1:DC2",
            "slow 2s DC1",
            "disk-full node2",
            "disk-full DC1/rack1",
            "partition DC3",
            "loss 0.5% DC1:DC2",
        ];
        for text in all {
            assert_eq!(Fault::parse(text).expect(text).to_string(), text);
        }
        let spaced = Fault::parse("  loss   5%  DC1:DC2 ").expect("a fault");
        assert_eq!(spaced.to_string(), "loss 5% DC1:DC2");
        // A node's number is its name.
        assert_eq!(Fault::parse("kill 2").expect("a fault").target, "node2");
    }

    #[test]
    fn an_error_points_at_its_word() {
        let pointed = |text: &str| {
            let error = Fault::parse(text).expect_err(text);
            let [words, mark] = error.pointed();
            format!("{error}\n{words}\n{mark}\n{}", error.hint)
        };
        insta::assert_snapshot!(pointed("partion DC3"), @r#"
        no such fault: "partion"
        partion DC3
        ^^^^^^^
        did you mean partition?
        "#);
        insta::assert_snapshot!(pointed("slow lots node2"), @r#"
        "lots" is neither a share of a processor nor a time of up to 30s
        slow lots node2
             ^^^^
        slow 25% leaves a node 25 % of one processor, slow 50ms adds 50 ms to a link each way
        "#);
        insta::assert_snapshot!(pointed("disk_full node1"), @r#"
        no such fault: "disk_full"
        disk_full node1
        ^^^^^^^^^
        did you mean disk-full?
        "#);
        insta::assert_snapshot!(pointed("disk-full 90% node1"), @r#"
        unexpected word "node1"
        disk-full 90% node1
                      ^^^^^
        a fault is kill|pause|slow 25%|slow 50ms|disk-full|partition|loss 5% and a target, such as node2, DC1/rack1, DC3 or DC1:DC2
        "#);
        insta::assert_snapshot!(pointed("kill"), @"
        kill needs a target
        kill
            ^
        name a node (node2), a rack (DC1/rack1), a data centre (DC3) or a link (DC1:DC2)
        ");
        for bad in [
            "",
            "explode x",
            "slow 0% node1",
            "slow 101% node1",
            "slow 0 DC1:DC2",
            "loss 0% DC1:DC2",
            "loss 5 DC1:DC2",
            "kill node1 node2",
        ] {
            assert!(Fault::parse(bad).is_err(), "{bad:?}");
        }
    }
}
