//! The JVM's own log of collections and safepoints (`-Xlog:gc*,safepoint`, stamped with `timenanos`), line by line.
//! Refuses to guess: a line that does not report a stop of all threads, with its length, is nothing.
//!
//! The stamp is `System.nanoTime`, on Linux the kernel's monotonic clock: the clock that a run's intervals use.

use crate::telemetry::{Event, EventKind, Reading, Seen};
use crate::units::Bytes;

/// A stop for something else than a collection is reported from this length on, in nanoseconds: shorter ones come by the
/// hundred and are lost in any percentile that a run can print.
pub const LONG_SAFEPOINT_NS: u64 = 10_000_000;

/// No stop is longer than this, in nanoseconds (eleven days): a larger number is no duration.
const LONGEST_NS: f64 = 1e15;

/// Reads the lines of one log in their order.
#[derive(Debug, Clone, Default)]
pub struct GcLog {
    /// Why the safepoint under way was entered (JDK 11 and 12 log it on a separate line).
    region: Option<String>,
    /// Collections since the last safepoint ended, in nanoseconds: they lie inside the next one.
    collecting_ns: u64,
    /// When the first of them began.
    collecting_from_ns: u64,
}

/// A stop of all of a JVM's threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// To collect garbage.
    Collection(Collection),
    /// From reaching a safepoint until leaving it; a collection lies inside one.
    Safepoint(Safepoint),
}

/// One pause of a collector. A concurrent collection has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its beginning, on the monotonic clock, in nanoseconds.
    pub from_ns: u64,
    /// Its end, in nanoseconds.
    pub to_ns: u64,
    /// The collector's own words, such as `Pause Young (Allocation Failure)`.
    pub cause: String,
    /// The heap's use, if the line has it.
    pub heap: Option<HeapChange>,
}

/// What a collection did to the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapChange {
    /// In use before.
    pub before: Bytes,
    /// In use after.
    pub after: Bytes,
    /// Room there is.
    pub capacity: Bytes,
}

/// One safepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Safepoint {
    /// When the threads were asked to stop, on the monotonic clock, in nanoseconds.
    pub from_ns: u64,
    /// When they went on, in nanoseconds.
    pub to_ns: u64,
    /// What it was for, such as `G1CollectForAllocation`.
    pub operation: String,
    /// How much of it was collecting, in nanoseconds.
    pub collecting_ns: u64,
}

impl GcLog {
    /// Takes the next line; returns a stop that has just ended.
    pub fn take(&mut self, line: &str) -> Option<Stop> {
        let (at_ns, message) = decorations(line)?;
        if let Some(rest) = message.strip_prefix("GC(") {
            let collection = collection(at_ns, rest)?;
            let length = collection.to_ns - collection.from_ns;
            // A full collection in the course of a young one is logged before it, and lies inside.
            if self.collecting_ns == 0 || collection.from_ns <= self.collecting_from_ns {
                self.collecting_from_ns = collection.from_ns;
                self.collecting_ns = length;
            } else {
                self.collecting_ns = self.collecting_ns.saturating_add(length);
            }
            return Some(Stop::Collection(collection));
        }
        if let Some(region) = message.strip_prefix("Entering safepoint region: ") {
            self.region = Some(region.trim().to_owned());
            return None;
        }
        let (operation, length_ns) = if let Some(rest) = message.strip_prefix("Safepoint \"") {
            let (operation, rest) = rest.split_once('"')?;
            let total = rest.split_once(", Total: ")?.1.split(' ').next()?;
            (operation.to_owned(), total.parse::<u64>().ok()?)
        } else {
            let rest =
                message.strip_prefix("Total time for which application threads were stopped: ")?;
            let seconds = rest.split_once(" seconds")?.0;
            let region = self.region.take().unwrap_or_default();
            (region, nanoseconds(seconds, 1e9)?)
        };
        let collecting_ns = std::mem::take(&mut self.collecting_ns);
        Some(Stop::Safepoint(Safepoint {
            from_ns: at_ns.saturating_sub(length_ns),
            to_ns: at_ns,
            operation,
            collecting_ns,
        }))
    }
}

impl Stop {
    /// The event that it is beside a run; none for what was short and no collection, or was reported as collections.
    pub fn event(&self, node: &str) -> Option<Reading> {
        let (from_ns, to_ns, what, text) = match self {
            Self::Collection(c) => {
                let heap = c.heap.map(|h| format!(" {h}")).unwrap_or_default();
                let text = format!("{}{heap}", c.cause);
                (c.from_ns, c.to_ns, EventKind::Collection, text)
            }
            Self::Safepoint(s) => {
                let other = (s.to_ns - s.from_ns).saturating_sub(s.collecting_ns);
                if other < LONG_SAFEPOINT_NS {
                    return None;
                }
                (
                    s.from_ns,
                    s.to_ns,
                    EventKind::Safepoint,
                    s.operation.clone(),
                )
            }
        };
        Some(Reading {
            source: node.to_owned(),
            at_ns: from_ns,
            seen: Seen::Event(Event { what, to_ns, text }),
        })
    }
}

impl std::fmt::Display for HeapChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [before, after, capacity] = [self.before, self.after, self.capacity].map(Bytes::jvm);
        write!(f, "{before}->{after}({capacity})")
    }
}

/// The stamp, and the message after all that stands in brackets before it.
fn decorations(line: &str) -> Option<(u64, &str)> {
    let mut rest = line.trim_end();
    let mut stamp = None;
    while let Some(inside) = rest.strip_prefix('[') {
        let (word, after) = inside.split_once(']')?;
        let nanoseconds = word.trim().strip_suffix("ns");
        stamp = stamp.or_else(|| nanoseconds.and_then(|n| n.parse().ok()));
        rest = after;
    }
    Some((stamp?, rest.trim_start()))
}

/// `12) Pause Young (Allocation Failure) 8M->7M(30M) 5.413ms`; a generation (`y: `) may stand before `Pause`.
fn collection(at_ns: u64, rest: &str) -> Option<Collection> {
    let (number, message) = rest.split_once(") ")?;
    number.parse::<u64>().ok()?;
    let message = message.trim_start();
    let message = match message.split_once(": ") {
        Some((generation, after)) if generation.chars().count() == 1 => after,
        _ => message,
    };
    if !message.starts_with("Pause ") {
        return None;
    }
    let (before_length, length) = message.rsplit_once(' ')?;
    let length_ns = nanoseconds(length.strip_suffix("ms")?, 1e6)?;
    let before_length = before_length.trim_end();
    let (cause, heap) = match before_length.rsplit_once(' ') {
        Some((cause, last)) => match heap_change(last) {
            Some(heap) => (cause, Some(heap)),
            None => (before_length, None),
        },
        None => (before_length, None),
    };
    Some(Collection {
        from_ns: at_ns.saturating_sub(length_ns),
        to_ns: at_ns,
        cause: cause.trim_end().to_owned(),
        heap,
    })
}

/// `8M->7M(30M)`.
fn heap_change(text: &str) -> Option<HeapChange> {
    let (before, rest) = text.split_once("->")?;
    let (after, rest) = rest.split_once('(')?;
    Some(HeapChange {
        before: size(before)?,
        after: size(after)?,
        capacity: size(rest.strip_suffix(')')?)?,
    })
}

/// A whole number with the JVM's letter for its unit.
fn size(text: &str) -> Option<Bytes> {
    let letter = text.chars().last()?;
    let shift = ["B", "K", "M", "G", "T"]
        .iter()
        .position(|unit| unit.starts_with(letter))?;
    let number: u64 = text.strip_suffix(letter)?.parse().ok()?;
    number.checked_mul(1 << (10 * shift)).map(Bytes)
}

/// A decimal number of a unit that has so many nanoseconds.
fn nanoseconds(text: &str, of_unit: f64) -> Option<u64> {
    let number: f64 = text.trim().parse().ok()?;
    let ns = (number * of_unit).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 10^15"
    )]
    (0.0..=LONGEST_NS).contains(&ns).then_some(ns as u64)
}

#[cfg(test)]
mod tests;
