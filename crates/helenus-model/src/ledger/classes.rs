//! What may be said of a key: from all writes of it that a ledger knows, and the timestamp of what is there now.
//! Refuses guesses: where both outcomes are legal, it says which one came true and calls neither wrong.

use super::Record;
use crate::consistency::Consistency;
use serde::Serialize;

/// A write that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Write {
    /// Its timestamp, in microseconds since 1970: when it was sent.
    pub written_us: u64,
    /// From there to its acknowledgement, in microseconds.
    pub took_us: u32,
    /// Its level.
    pub consistency: Consistency,
}

/// All writes of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyWrites {
    /// The newest that was acknowledged.
    newest: Option<Write>,
    /// The newest that was acknowledged at a level that the read must meet.
    binding: Option<Write>,
    /// Timestamps of those that may have applied.
    open: Vec<u64>,
    /// How many were acknowledged.
    acknowledged: u64,
}

/// What may be said of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Its newest acknowledged write is there.
    Present,
    /// Something newer than its newest acknowledged write is there, which this ledger does not know.
    Superseded,
    /// A write was acknowledged at a level that the read must meet, and it is not there, nor anything newer.
    Lost(Write),
    /// A write was acknowledged and is not there, and the two levels do not meet.
    StalePermitted(Write),
    /// Its newest write may have applied: it has, or it has not.
    Indeterminate {
        /// It has.
        applied: bool,
    },
    /// No write of it was acknowledged, and none may have applied.
    Refused,
}

impl PartialOrd for Write {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Write {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.written_us.cmp(&other.written_us)
    }
}

impl KeyWrites {
    /// Takes a write of this key; `binds` says that an acknowledgement at its level must be met by the read.
    pub fn note(&mut self, record: &Record, binds: bool) {
        let write = Write {
            written_us: record.written_us,
            took_us: record.took_us,
            consistency: record.consistency,
        };
        if record.fate == super::Fate::Acknowledged {
            self.acknowledged += 1;
            self.newest = self.newest.max(Some(write));
            if binds {
                self.binding = self.binding.max(Some(write));
            }
        } else if record.fate.may_have_applied() {
            self.open.push(record.written_us);
        }
    }

    /// Acknowledged writes of it that a later one of this ledger covers.
    pub fn covered(&self) -> u64 {
        self.acknowledged.saturating_sub(1)
    }

    /// What may be said, where the row's timestamp is `found`; none is no row.
    pub fn class(&self, found: Option<u64>) -> Class {
        let older = |write: &Write| found.is_none_or(|found| found < write.written_us);
        if let Some(write) = self.binding.filter(older) {
            return Class::Lost(write);
        }
        if let Some(write) = self.newest.filter(older) {
            return Class::StalePermitted(write);
        }
        let acknowledged = self.newest.map(|write| write.written_us);
        let newest_open = self.open.iter().copied().max();
        let newest = acknowledged.max(newest_open);
        match (acknowledged, newest_open) {
            (None, None) => Class::Refused,
            _ if found > newest => Class::Superseded,
            (_, Some(_)) if newest_open > acknowledged => Class::Indeterminate {
                applied: found > acknowledged && found.is_some_and(|f| self.open.contains(&f)),
            },
            _ => Class::Present,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Fate;
    use crate::sample::FailureKind;

    fn record(written_us: u64, consistency: Consistency, fate: Fate) -> Record {
        Record {
            position: 0,
            written_us,
            took_us: 0,
            operation: 0,
            consistency,
            fate,
        }
    }

    /// Writes in words: `+` acknowledged at QUORUM, which binds; `-` at ONE, which does not; `?` timed out; `x` refused.
    fn key(writes: &[(char, u64)]) -> KeyWrites {
        let mut key = KeyWrites::default();
        for (sign, at) in writes {
            let (level, fate) = match sign {
                '+' => (Consistency::Quorum, Fate::Acknowledged),
                '-' => (Consistency::One, Fate::Acknowledged),
                '?' => (Consistency::Quorum, Fate::Failed(FailureKind::WriteTimeout)),
                _ => (Consistency::Quorum, Fate::Failed(FailureKind::Unavailable)),
            };
            key.note(&record(*at, level, fate), level == Consistency::Quorum);
        }
        key
    }

    /// Writes by outcome and timestamp, what is there, and the class.
    type Case = (&'static [(char, u64)], Option<u64>, &'static str);

    #[test]
    fn every_class_has_its_cases() {
        let table: [Case; 22] = [
            (&[('+', 5)], Some(5), "present"),
            (&[('+', 5), ('+', 9)], Some(9), "present"),
            (&[('-', 5)], Some(5), "present"),
            (&[('?', 3), ('+', 5)], Some(5), "present"),
            (&[('x', 9), ('+', 5)], Some(5), "present"),
            (&[('+', 5)], Some(6), "superseded"),
            (&[('?', 5)], Some(6), "superseded"),
            (&[('+', 5), ('?', 6)], Some(7), "superseded"),
            (&[('+', 5)], None, "lost 5"),
            (&[('+', 5)], Some(4), "lost 5"),
            (&[('+', 5), ('+', 9)], Some(5), "lost 9"),
            (&[('+', 5), ('-', 9)], None, "lost 5"),
            (&[('+', 5), ('?', 9)], Some(4), "lost 5"),
            (&[('-', 5)], None, "stale 5"),
            (&[('+', 5), ('-', 9)], Some(5), "stale 9"),
            (&[('-', 5), ('?', 9)], Some(4), "stale 5"),
            (&[('?', 5)], None, "open false"),
            (&[('?', 5)], Some(5), "open true"),
            (&[('?', 5), ('?', 9)], Some(5), "open true"),
            (&[('+', 5), ('?', 9)], Some(5), "open false"),
            (&[('+', 5), ('?', 9)], Some(9), "open true"),
            (&[('x', 5)], None, "refused"),
        ];
        for (writes, found, wanted) in table {
            let said = match key(writes).class(found) {
                Class::Present => "present".to_owned(),
                Class::Superseded => "superseded".to_owned(),
                Class::Lost(write) => format!("lost {}", write.written_us),
                Class::StalePermitted(write) => format!("stale {}", write.written_us),
                Class::Indeterminate { applied } => format!("open {applied}"),
                Class::Refused => "refused".to_owned(),
            };
            assert_eq!(said, wanted, "{writes:?}, found {found:?}");
        }
        assert_eq!(key(&[('+', 1), ('-', 2), ('?', 3)]).covered(), 1);
    }

    #[test]
    fn the_order_of_the_records_says_nothing() {
        let writes = [('+', 5), ('?', 9), ('-', 7), ('x', 8)];
        let mut turned = writes;
        turned.reverse();
        for found in [None, Some(4), Some(5), Some(7), Some(9), Some(10)] {
            assert_eq!(key(&writes).class(found), key(&turned).class(found));
        }
    }
}
