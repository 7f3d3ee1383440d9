//! How many replicas must answer.
//! Refuses to judge which level suits which operation: the server does.

use super::error::DecodeError;
use std::fmt;
use std::str::FromStr;

/// A consistency level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are CQL's own")]
pub enum Consistency {
    Any,
    One,
    Two,
    Three,
    Quorum,
    All,
    LocalQuorum,
    EachQuorum,
    Serial,
    LocalSerial,
    LocalOne,
    NodeLocal,
}

/// A name that is no consistency level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown consistency level {name:?} (known are {})", known())]
pub struct UnknownConsistency {
    /// The name given.
    pub name: String,
}

impl Consistency {
    /// Every level, in the order of the protocol's codes.
    pub const ALL_LEVELS: [Self; 12] = [
        Self::Any,
        Self::One,
        Self::Two,
        Self::Three,
        Self::Quorum,
        Self::All,
        Self::LocalQuorum,
        Self::EachQuorum,
        Self::Serial,
        Self::LocalSerial,
        Self::LocalOne,
        Self::NodeLocal,
    ];

    /// The name as cqlsh writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "ANY",
            Self::One => "ONE",
            Self::Two => "TWO",
            Self::Three => "THREE",
            Self::Quorum => "QUORUM",
            Self::All => "ALL",
            Self::LocalQuorum => "LOCAL_QUORUM",
            Self::EachQuorum => "EACH_QUORUM",
            Self::Serial => "SERIAL",
            Self::LocalSerial => "LOCAL_SERIAL",
            Self::LocalOne => "LOCAL_ONE",
            Self::NodeLocal => "NODE_LOCAL",
        }
    }

    /// The protocol's code.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// The level of a code.
    ///
    /// # Errors
    /// A code that the protocol does not have.
    pub fn from_code(code: u16) -> Result<Self, DecodeError> {
        let found = Self::ALL_LEVELS.get(usize::from(code)).copied();
        found.ok_or(DecodeError::UnknownCode {
            what: "consistency level",
            code: i64::from(code),
        })
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<helenus_model::consistency::Consistency> for Consistency {
    fn from(level: helenus_model::consistency::Consistency) -> Self {
        use helenus_model::consistency::Consistency as Theirs;
        match level {
            Theirs::Any => Self::Any,
            Theirs::One => Self::One,
            Theirs::Two => Self::Two,
            Theirs::Three => Self::Three,
            Theirs::Quorum => Self::Quorum,
            Theirs::All => Self::All,
            Theirs::LocalQuorum => Self::LocalQuorum,
            Theirs::EachQuorum => Self::EachQuorum,
            Theirs::LocalOne => Self::LocalOne,
        }
    }
}

impl FromStr for Consistency {
    type Err = UnknownConsistency;

    /// Reads a name in any case, with `_` or `-`.
    fn from_str(name: &str) -> Result<Self, UnknownConsistency> {
        let wanted = name.trim().to_ascii_uppercase().replace('-', "_");
        let found = Self::ALL_LEVELS
            .into_iter()
            .find(|level| level.name() == wanted);
        found.ok_or_else(|| UnknownConsistency {
            name: name.to_owned(),
        })
    }
}

fn known() -> String {
    Consistency::ALL_LEVELS.map(Consistency::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_come_back() {
        for level in Consistency::ALL_LEVELS {
            assert_eq!(Consistency::from_code(level.code()), Ok(level));
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(
                level.to_string().to_lowercase().replace('_', "-").parse(),
                Ok(level)
            );
        }
        assert_eq!(Consistency::LocalOne.code(), 0x0a);
        assert!(Consistency::from_code(12).is_err());
        assert!("MOST".parse::<Consistency>().is_err());
    }
}
