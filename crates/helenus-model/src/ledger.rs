//! The ledger of a run: what became of each write, as records of one size behind a head that says what was run.
//! Refuses values: what stands at a position follows from the seed, and a timestamp identifies a write.

pub mod classes;
pub mod overlap;
pub mod subject;

pub use classes::{Class, KeyWrites, Write};
pub use overlap::{Copies, overlap, strongest};
pub use subject::{Subject, SubjectError, subjects, timed_column};

use crate::consistency::Consistency;
use crate::format::{Format, FormatError};
use crate::run_plan::RunPlan;
use crate::sample::FailureKind;
use serde::{Deserialize, Serialize};

/// Version of the stored shape.
pub const VERSION: u32 = 1;

/// What a ledger's file begins with; the head's length follows in four bytes, then the head as JSON, then records.
pub const MAGIC: [u8; 8] = *b"HELENUSL";

/// Bytes of a record.
pub const RECORD_BYTES: usize = 24;

/// Bytes before the head.
pub const PREFIX_BYTES: usize = MAGIC.len() + 4;

/// Longest head that is read, in bytes: a plan with its profiles is far below it.
pub const HEAD_MOST: usize = 16 << 20;

/// Second last byte of the record that says that the generator came to its end.
const END: u8 = u8::MAX;

/// What stands before the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// `helenus.ledger/1`.
    pub format: Format,
    /// The wall clock when it was started, in microseconds since 1970.
    pub began_us: u64,
    /// What was run.
    pub plan: RunPlan,
}

/// One write of one position, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The position.
    pub position: u64,
    /// The write's timestamp: the wall clock when it was sent, in microseconds since 1970, no two of a ledger alike.
    pub written_us: u64,
    /// From there to its answer, in microseconds; an hour and more is stored as 71 minutes.
    pub took_us: u32,
    /// Place of its operation in the workload.
    pub operation: u8,
    /// Consistency level.
    pub consistency: Consistency,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// The coordinator said that as many replicas have it as the level asks for.
    Acknowledged,
    /// It failed.
    Failed(FailureKind),
    /// Of a write of several keys the coordinator lacked replicas for one: those before it may have been sent.
    UnavailableInPart,
    /// The run ended before its answer came.
    Unanswered,
}

impl Fate {
    /// What became of a write of so many keys that failed.
    pub fn of_failure(kind: FailureKind, keys: usize) -> Self {
        match kind {
            FailureKind::Unavailable if keys > 1 => Self::UnavailableInPart,
            kind => Self::Failed(kind),
        }
    }

    /// Whether the rows of this write may be there, and may be not. A coordinator that lacks replicas says so before it
    /// sends a key's write to any; every other failure may come after some of them have it.
    pub fn may_have_applied(self) -> bool {
        !matches!(
            self,
            Self::Acknowledged | Self::Failed(FailureKind::Unavailable)
        )
    }

    /// A word for it.
    pub fn name(self) -> &'static str {
        let at = FATES.iter().position(|(fate, _)| *fate == self);
        at.map_or("unanswered", |at| FATES[at].1)
    }
}

/// By their codes.
const FATES: [(Fate, &str); 12] = [
    (Fate::Acknowledged, "acknowledged"),
    (Fate::Failed(FailureKind::Unavailable), "unavailable"),
    (Fate::Failed(FailureKind::WriteTimeout), "write timeout"),
    (Fate::Failed(FailureKind::ReadTimeout), "read timeout"),
    (Fate::Failed(FailureKind::Overloaded), "overloaded"),
    (Fate::Failed(FailureKind::ClientTimeout), "client timeout"),
    (Fate::Failed(FailureKind::Connection), "connection"),
    (Fate::Failed(FailureKind::WrongData), "wrong data"),
    (Fate::Failed(FailureKind::MissingRow), "missing row"),
    (Fate::Failed(FailureKind::Other), "other"),
    (Fate::Unanswered, "unanswered"),
    (Fate::UnavailableInPart, "unavailable in part"),
];

/// By their codes.
const LEVELS: [Consistency; 9] = [
    Consistency::Any,
    Consistency::One,
    Consistency::Two,
    Consistency::Three,
    Consistency::Quorum,
    Consistency::All,
    Consistency::LocalQuorum,
    Consistency::EachQuorum,
    Consistency::LocalOne,
];

/// What one record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Of a write.
    Write(Record),
    /// The generator has ended after so many.
    End {
        /// Writes before.
        writes: u64,
    },
}

/// Why a file is no ledger that can be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LedgerError {
    /// Something else.
    #[error("it is not a ledger")]
    Foreign,
    /// Cut off before its first record.
    #[error("it ends before its first record")]
    Short,
    /// The head is damaged.
    #[error("its header cannot be read: {0}")]
    Head(String),
    /// Another version.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A whole record that no generator wrote.
    #[error("record {number} is damaged")]
    Damaged {
        /// Which, from 0.
        number: u64,
    },
}

impl Head {
    /// The file's first bytes.
    ///
    /// # Errors
    /// A plan that JSON cannot hold.
    pub fn encode(&self) -> Result<Vec<u8>, LedgerError> {
        let json = serde_json::to_vec(self).map_err(|e| LedgerError::Head(e.to_string()))?;
        let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
        Ok([&MAGIC[..], &length.to_le_bytes(), &json].concat())
    }

    /// How long the head is that follows these first bytes.
    ///
    /// # Errors
    /// No ledger, or one whose head has no believable length.
    pub fn length(prefix: &[u8; PREFIX_BYTES]) -> Result<usize, LedgerError> {
        let (magic, length) = prefix.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(LedgerError::Foreign);
        }
        let length = length.try_into().map_or(0, u32::from_le_bytes);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > HEAD_MOST {
            return Err(LedgerError::Head(format!("{length} bytes are too many")));
        }
        Ok(length)
    }

    /// Reads the head's JSON.
    ///
    /// # Errors
    /// Another version, or no head.
    pub fn decode(json: &[u8]) -> Result<Self, LedgerError> {
        #[derive(Deserialize)]
        struct Mark {
            format: Format,
        }
        let damaged = |e: serde_json::Error| LedgerError::Head(e.to_string());
        let mark: Mark = serde_json::from_slice(json).map_err(damaged)?;
        mark.format.check("ledger", VERSION)?;
        serde_json::from_slice(json).map_err(damaged)
    }
}

impl Entry {
    /// Its bytes, little-endian: position 8, timestamp 8, time taken 4, operation, level, fate, check.
    pub fn encode(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        match self {
            Self::Write(record) => {
                bytes[..8].copy_from_slice(&record.position.to_le_bytes());
                bytes[8..16].copy_from_slice(&record.written_us.to_le_bytes());
                bytes[16..20].copy_from_slice(&record.took_us.to_le_bytes());
                bytes[20] = record.operation;
                bytes[21] = code(LEVELS.iter().position(|l| *l == record.consistency));
                bytes[22] = code(FATES.iter().position(|(f, _)| *f == record.fate));
            }
            Self::End { writes } => {
                bytes[..8].copy_from_slice(&writes.to_le_bytes());
                bytes[22] = END;
            }
        }
        bytes[23] = check(&bytes);
        bytes
    }

    /// Reads one; `number` is its place, for the error.
    ///
    /// # Errors
    /// Bytes that [`Self::encode`] never made.
    pub fn decode(bytes: &[u8; RECORD_BYTES], number: u64) -> Result<Self, LedgerError> {
        let damaged = LedgerError::Damaged { number };
        if bytes[23] != check(bytes) {
            return Err(damaged);
        }
        let eight = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        if bytes[22] == END {
            return Ok(Self::End { writes: eight(0) });
        }
        let fate = FATES.get(usize::from(bytes[22]));
        let level = LEVELS.get(usize::from(bytes[21]));
        let (Some((fate, _)), Some(level)) = (fate, level) else {
            return Err(damaged);
        };
        Ok(Self::Write(Record {
            position: eight(0),
            written_us: eight(8),
            took_us: bytes[16..20].try_into().map_or(0, u32::from_le_bytes),
            operation: bytes[20],
            consistency: *level,
            fate: *fate,
        }))
    }
}

fn code(at: Option<usize>) -> u8 {
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(END - 1)
}

/// One byte over the others; that of zeros, which a file system may leave behind a crash, is not zero.
fn check(bytes: &[u8; RECORD_BYTES]) -> u8 {
    let others = bytes[..RECORD_BYTES - 1].iter();
    others.fold(0xa5, |sum: u8, byte| sum.rotate_left(1) ^ byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> Record {
        Record {
            position: 7,
            written_us: 1_795_000_000_000_001,
            took_us: 350,
            operation: 0,
            consistency: Consistency::Quorum,
            fate: Fate::Acknowledged,
        }
    }

    #[test]
    fn bytes_are_pinned() {
        // Ledgers outlive the program that wrote them.
        let bytes = Entry::Write(record()).encode();
        assert_eq!(bytes[..8], [7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[8..16], 1_795_000_000_000_001_u64.to_le_bytes());
        assert_eq!(bytes[16..23], [94, 1, 0, 0, 0, 4, 0]);
        assert_eq!(Entry::End { writes: 258 }.encode()[..3], [2, 1, 0]);
        let names = FATES.map(|(_, name)| name);
        assert_eq!(names[10..], ["unanswered", "unavailable in part"]);
    }

    #[test]
    fn zeros_and_codes_that_there_are_not_are_damage() {
        let damaged = |bytes: &[u8; RECORD_BYTES]| Entry::decode(bytes, 3);
        let error = LedgerError::Damaged { number: 3 };
        assert_eq!(damaged(&[0; RECORD_BYTES]), Err(error));
        let mut bytes = Entry::Write(record()).encode();
        bytes[21] = 9;
        bytes[23] = check(&bytes);
        assert!(damaged(&bytes).is_err());
    }

    #[test]
    fn only_too_few_replicas_are_a_failure_for_sure() {
        let open = FATES.iter().filter(|(fate, _)| fate.may_have_applied());
        let words: Vec<&str> = open.map(|(_, word)| *word).collect();
        assert_eq!(words.len(), 10, "{words:?}");
        assert!(!words.contains(&"acknowledged") && !words.contains(&"unavailable"));
        // A coordinator takes the keys of a batch one after another.
        let unavailable = |keys| Fate::of_failure(FailureKind::Unavailable, keys);
        assert!(!unavailable(1).may_have_applied() && unavailable(2).may_have_applied());
        let timeout = Fate::of_failure(FailureKind::WriteTimeout, 2);
        assert_eq!(timeout, Fate::Failed(FailureKind::WriteTimeout));
    }

    #[test]
    fn a_prefix_gives_how_long_the_head_is() {
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..8].copy_from_slice(&MAGIC);
        prefix[8] = 9;
        assert_eq!(Head::length(&prefix), Ok(9));
        prefix[11] = 255;
        assert!(matches!(Head::length(&prefix), Err(LedgerError::Head(_))));
        assert_eq!(
            Head::length(b"SQLite forma"),
            Err(LedgerError::Foreign),
            "another file"
        );
    }

    proptest! {
        #[test]
        fn records_come_back_and_a_changed_byte_is_seen(
            position: u64, written_us: u64, took_us: u32, operation: u8,
            level in 0..LEVELS.len(), fate in 0..FATES.len(), byte in 0..RECORD_BYTES, bit in 0..8
        ) {
            let consistency = LEVELS[level];
            let fate = FATES[fate].0;
            let record = Record { position, written_us, took_us, operation, consistency, fate };
            let mut bytes = Entry::Write(record).encode();
            prop_assert_eq!(Entry::decode(&bytes, 0), Ok(Entry::Write(record)));
            bytes[byte] ^= 1_u8 << bit;
            prop_assert_ne!(Entry::decode(&bytes, 0), Ok(Entry::Write(record)));
        }
    }
}
