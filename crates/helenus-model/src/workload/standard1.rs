//! cassandra-stress's default table and our data for it.
//! Refuses allocation: a row is made and checked in place, for it happens while operations are timed.

use super::{Check, Replication};
use crate::seed::{Seed, mix};

/// Bytes of a key, as in cassandra-stress.
pub const KEY_BYTES: usize = 10;
/// Columns beside the key, as in cassandra-stress.
pub const COLUMNS: usize = 5;
/// Bytes of a column, as in cassandra-stress.
pub const COLUMN_BYTES: usize = 34;

/// A row's columns `C0` … `C4`.
pub type Row = [[u8; COLUMN_BYTES]; COLUMNS];

/// The operations and their statements.
pub const STATEMENTS: [(&str, &str); 2] = [
    (
        "write",
        r#"INSERT INTO keyspace1.standard1 (key, "C0", "C1", "C2", "C3", "C4") VALUES (?, ?, ?, ?, ?, ?)"#,
    ),
    (
        "read",
        r#"SELECT "C0", "C1", "C2", "C3", "C4" FROM keyspace1.standard1 WHERE key = ?"#,
    ),
];

/// The statements that make the keyspace and the table.
pub fn schema(replication: &Replication) -> Vec<String> {
    vec![
        format!(
            "CREATE KEYSPACE IF NOT EXISTS keyspace1 WITH replication = {}",
            replication.cql()
        ),
        r#"CREATE TABLE IF NOT EXISTS keyspace1.standard1 (key blob PRIMARY KEY, "C0" blob, "C1" blob, "C2" blob, "C3" blob, "C4" blob)"#
            .to_owned(),
    ]
}

/// The key at a position: ten bytes, different at every position, the same under every seed.
#[inline]
pub fn key(position: u64) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    // A bijection of the position alone makes keys unique; two more bytes fill the length.
    key[..8].copy_from_slice(&mix(position).to_be_bytes());
    key[8..].copy_from_slice(&mix(position ^ u64::MAX).to_be_bytes()[..2]);
    key
}

/// The columns at a position.
#[inline]
pub fn row(seed: Seed, position: u64) -> Row {
    let start = seed.at(position);
    let mut row = [[0; COLUMN_BYTES]; COLUMNS];
    let mut step = start;
    for column in &mut row {
        for eight in column.chunks_mut(8) {
            step = step.wrapping_add(0x9e37_79b9_7f4a_7c15);
            eight.copy_from_slice(&mix(step).to_le_bytes()[..eight.len()]);
        }
    }
    row
}

/// Compares what was read at a position with what was written there; `None` is no row, a `None` column is null.
pub fn check(seed: Seed, position: u64, read: Option<[Option<&[u8]>; COLUMNS]>) -> Check {
    let Some(read) = read else {
        return Check::Missing;
    };
    let written = row(seed, position);
    read.iter()
        .zip(&written)
        .position(|(got, wanted)| *got != Some(wanted.as_slice()))
        .map_or(Check::Match, |column| Check::Wrong { column })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn data_are_pinned() {
        // Stored clusters are checked by later versions: these bytes may never change.
        assert_eq!(key(0), [226, 32, 168, 57, 123, 29, 205, 175, 228, 217]);
        assert_eq!(row(Seed(1), 0)[4][30..], [106, 133, 20, 112]);
    }

    proptest! {
        #[test]
        fn what_was_written_matches_and_anything_else_does_not(
            seed: u64, position in 0_u64..1 << 40, column in 0..COLUMNS, byte in 0..COLUMN_BYTES
        ) {
            let seed = Seed(seed);
            let mut written = row(seed, position);
            prop_assert_eq!(check(seed, position, Some(written.each_ref().map(|c| Some(&c[..])))), Check::Match);
            prop_assert_eq!(check(seed, position, None), Check::Missing);
            let mut holed = written.each_ref().map(|c| Some(&c[..]));
            holed[column] = None;
            prop_assert_eq!(check(seed, position, Some(holed)), Check::Wrong { column });
            written[column][byte] ^= 1;
            prop_assert_eq!(check(seed, position, Some(written.each_ref().map(|c| Some(&c[..])))), Check::Wrong { column });
            prop_assert_ne!(key(position), key(position + 1));
        }
    }
}
