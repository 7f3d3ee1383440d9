//! A part of a load that several loaders share: which rows are its own, and what the loaders agree on.
//! Refuses to depend on who is quick: the number of a row decides.

use super::FileMark;
use crate::format::Format;
use serde::{Deserialize, Serialize};

/// Rows behind each other that are of one part.
const RUN_ROWS: u64 = 4_096;

/// Most parts.
const MOST: u32 = 1_024;

/// Name of the format of what parts share.
pub const PARTS: &str = "load-parts";
/// Its version.
pub const PARTS_VERSION: u32 = 1;

/// One part of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which, from 1.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl std::str::FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a part such as 2/4");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let number: u32 = number.trim().parse().map_err(|_| wrong())?;
        let of: u32 = of.trim().parse().map_err(|_| wrong())?;
        match (1..=MOST).contains(&of) && (1..=of).contains(&number) {
            true => Ok(Self { number, of }),
            false => Err(format!(
                "{text}: parts are counted from 1/N to N/N, at most {MOST}"
            )),
        }
    }
}

impl Part {
    /// Whether the row of this number, from 0, is its own.
    pub fn takes(self, row: u64) -> bool {
        row / RUN_ROWS % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// How many of the first `rows` rows are its own.
    pub fn below(self, rows: u64) -> u64 {
        let round = RUN_ROWS * u64::from(self.of);
        let begin = RUN_ROWS * u64::from(self.number - 1);
        let rest = (rows % round).saturating_sub(begin).min(RUN_ROWS);
        rows / round * RUN_ROWS + rest
    }
}

/// What the parts of a load share, `helenus.load-parts/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadParts {
    /// `helenus.load-parts/1`.
    pub format: Format,
    /// The table's id.
    pub table_id: String,
    /// The statement and the mapping.
    pub mapping: String,
    /// The files.
    pub files: Vec<FileMark>,
    /// When the first part was started, in microseconds since 1970: all parts date their rows from here.
    pub start_us: i64,
    /// Parts that are done.
    pub done: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_written_as_people_do() {
        assert_eq!("2/4".parse(), Ok(Part { number: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0", "1/9999", "-1/2"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn each_row_is_of_one_part(row in 0_u64..1_000_000_000_000, of in 1_u32..20) {
            let parts: Vec<Part> = (1..=of).map(|number| Part { number, of }).collect();
            prop_assert_eq!(parts.iter().filter(|part| part.takes(row)).count(), 1);
            prop_assert_eq!(parts.iter().map(|part| part.below(row)).sum::<u64>(), row);
            for part in parts {
                prop_assert_eq!(part.below(row + 1) - part.below(row), u64::from(part.takes(row)));
            }
        }
    }
}
