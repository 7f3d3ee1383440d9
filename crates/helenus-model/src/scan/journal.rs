//! What is remembered of a count that may be cut off: what it is about, and each span that was finished.
//! Refuses to go on with another table, another ring or another question.

use super::{PartitionSizes, Span};
use crate::format::{Format, FormatError};
use crate::hex::hex;
use crate::ring::Ring;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Version of the journal.
pub const JOURNAL_VERSION: u32 = 1;

/// Name of the journal's format.
pub const JOURNAL: &str = "count-journal";

/// The first line: what is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHead {
    /// `helenus.count-journal/1`.
    pub format: Format,
    /// The cluster's own name.
    pub cluster_name: String,
    /// `keyspace.table`.
    pub table: String,
    /// The table's id: a table that is made again has another.
    pub table_id: String,
    /// A digest of the ring's tokens.
    pub ring: String,
    /// Consistency level.
    pub consistency: String,
    /// Whether partitions are distinguished, and how many of the largest are kept.
    pub partitions: Option<usize>,
    /// Whether the rows' checksum is made.
    pub checksum: bool,
    /// Pieces that the ring is in.
    pub pieces: usize,
    /// Seconds since 1970 at which it began.
    pub begun_unix: u64,
}

/// Why a journal cannot be resumed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Changed {
    /// Another version's.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// Another thing is asked now.
    #[error("{what} was {then} when the count started, and is {now} now")]
    Other {
        /// Of what.
        what: &'static str,
        /// In the journal.
        then: String,
        /// Now.
        now: String,
    },
    /// The table was dropped and made again.
    #[error("the table was recreated after the count started")]
    Table,
    /// Nodes came, went or moved.
    #[error("the tokens of the ring changed since the count started")]
    Ring,
}

impl JournalHead {
    /// Whether `now` may resume this journal.
    ///
    /// # Errors
    /// What differs.
    pub fn goes_on(&self, now: &Self) -> Result<(), Changed> {
        self.format.check(JOURNAL, JOURNAL_VERSION)?;
        let same = |what: &'static str, then: &str, now: &str| {
            if then == now {
                return Ok(());
            }
            Err(Changed::Other {
                what,
                then: then.to_owned(),
                now: now.to_owned(),
            })
        };
        same("the cluster", &self.cluster_name, &now.cluster_name)?;
        same("the table", &self.table, &now.table)?;
        same("the consistency level", &self.consistency, &now.consistency)?;
        let shown = |partitions: &Option<usize>| match partitions {
            None => "not counted".to_owned(),
            Some(keep) => format!("counted, the largest {keep} kept"),
        };
        let (then, new) = (shown(&self.partitions), shown(&now.partitions));
        same("the size of partitions", &then, &new)?;
        let word = |checksum: bool| {
            if checksum {
                "requested"
            } else {
                "not requested"
            }
        };
        same("the checksum", word(self.checksum), word(now.checksum))?;
        let (then, new) = (self.pieces.to_string(), now.pieces.to_string());
        if self.table_id != now.table_id {
            return Err(Changed::Table);
        }
        if self.ring != now.ring {
            return Err(Changed::Ring);
        }
        same("the number of pieces", &then, &new)
    }
}

/// A digest of the ring's tokens and their owners.
pub fn ring_digest(ring: &Ring) -> String {
    let mut hash = Sha256::new();
    for (token, owner) in ring.tokens() {
        hash.update(token.to_le_bytes());
        hash.update((*owner as u64).to_le_bytes());
    }
    hex(&hash.finalize()[..8])
}

/// Each further line: a span that was read to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedSpan {
    /// The span.
    #[serde(flatten)]
    pub span: Span,
    /// Its rows.
    pub rows: u64,
    /// The sum of its rows' hashes, where it was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<u64>,
    /// Its partitions, where they were distinguished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<PartitionSizes>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Member;

    fn head() -> JournalHead {
        JournalHead {
            format: Format::new(JOURNAL, JOURNAL_VERSION),
            cluster_name: "c".into(),
            table: "k.t".into(),
            table_id: "id".into(),
            ring: "r".into(),
            consistency: "ONE".into(),
            partitions: Some(10),
            checksum: false,
            pieces: 16,
            begun_unix: 1,
        }
    }

    #[test]
    fn only_the_same_count_goes_on() {
        let then = head();
        let later = JournalHead {
            begun_unix: 9,
            ..head()
        };
        assert_eq!(then.goes_on(&later), Ok(()));
        let said = |now: JournalHead| then.goes_on(&now).expect_err("another").to_string();
        assert_eq!(
            said(JournalHead {
                consistency: "ALL".into(),
                ..head()
            }),
            "the consistency level was ONE when the count started, and is ALL now"
        );
        assert_eq!(
            said(JournalHead {
                partitions: None,
                ..head()
            }),
            "the size of partitions was counted, the largest 10 kept when the count started, and is not counted now"
        );
        assert!(
            said(JournalHead {
                table_id: "x".into(),
                ..head()
            })
            .contains("recreated")
        );
        assert!(
            said(JournalHead {
                ring: "x".into(),
                ..head()
            })
            .contains("tokens")
        );
        assert!(
            said(JournalHead {
                checksum: true,
                ..head()
            })
            .contains("checksum")
        );
        let newer = JournalHead {
            format: Format::new(JOURNAL, 9),
            ..head()
        };
        assert!(matches!(newer.goes_on(&head()), Err(Changed::Format(_))));
    }

    #[test]
    fn digests_distinguish_tokens_and_owners() {
        let of = |tokens: &[&[i64]]| {
            let member = |tokens: &&[i64]| Member {
                data_center: "d".into(),
                rack: "r".into(),
                tokens: tokens.to_vec(),
            };
            ring_digest(&Ring::new(tokens.iter().map(member).collect()).expect("a ring"))
        };
        assert_eq!(of(&[&[1], &[2]]), of(&[&[1], &[2]]));
        assert_ne!(of(&[&[1], &[2]]), of(&[&[2], &[1]]));
        assert_ne!(of(&[&[1, 2]]), of(&[&[1], &[2]]));
    }

    #[test]
    fn lines_read_as_they_were_written() {
        let mut sizes = PartitionSizes::new(1);
        sizes.add(7, || vec![Some(crate::cql::CqlValue::Text("a".into()))]);
        let line = CountedSpan {
            span: Span {
                start: i64::MIN,
                end: -3,
            },
            rows: 7,
            checksum: Some(u64::MAX),
            sizes: Some(sizes),
        };
        let text = serde_json::to_string(&line).expect("writes");
        assert_eq!(
            serde_json::from_str::<CountedSpan>(&text).expect("reads"),
            line
        );
        let short = r#"{"start":1,"end":5,"rows":3}"#;
        let read: CountedSpan = serde_json::from_str(short).expect("reads");
        assert_eq!((read.rows, read.checksum), (3, None));
    }
}
