//! Text as people and other programs write it, into values of a column's type; the way back is [`CqlValue::exact_text`].
//! Refuses to guess: a text that is no value of the type is an error, never the nearest value.

mod nested;
mod scalar;
#[cfg(test)]
mod tests;

use super::{CqlType, CqlValue};

/// How numbers and points in time are written, where that differs between countries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Habits {
    /// Whether the decimal mark is a comma: `3,14`. Points then separate thousands.
    pub decimal_comma: bool,
}

/// Why a text is no value of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {ty}{}{why}", if .why.is_empty() { "" } else { ": " })]
pub struct ReadError {
    /// The text, cut.
    pub text: String,
    /// The type.
    pub ty: String,
    /// What is wrong, if there is more to say.
    pub why: String,
}

/// Characters of a text that an error shows.
const SHOWN: usize = 60;

fn wrong(ty: &CqlType, text: &str, why: impl Into<String>) -> ReadError {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    ReadError {
        text: shown,
        ty: ty.to_string(),
        why: why.into(),
    }
}

impl CqlValue {
    /// The value of this type that a text stands for.
    ///
    /// Texts are taken as they are. Everything else may have spaces around it. Collections, tuples, user types and
    /// vectors are written as CQL literals (`{'a': [1, 2]}`) or as JSON (`{"a": [1, 2]}`).
    ///
    /// # Errors
    /// The text is no value of the type.
    pub fn read(ty: &CqlType, text: &str, habits: Habits) -> Result<Self, ReadError> {
        match ty {
            CqlType::List(_)
            | CqlType::Set(_)
            | CqlType::Map(..)
            | CqlType::Tuple(_)
            | CqlType::Udt { .. }
            | CqlType::Vector(..) => nested::read(ty, text, habits),
            _ => scalar::read(ty, text, habits),
        }
    }

    /// The same value in the one form that servers give back: sets and maps in one order and without repeated keys,
    /// numbers without leading bytes. `order` is the server's. Values that a column cannot distinguish are equal then.
    #[must_use]
    pub fn canonical(self, order: &dyn Fn(&Self, &Self) -> std::cmp::Ordering) -> Self {
        let each = |all: Vec<Self>| all.into_iter().map(|one| one.canonical(order)).collect();
        match self {
            Self::Varint(bytes) => Self::Varint(scalar::shortest(bytes)),
            Self::Decimal { unscaled, scale } => Self::Decimal {
                unscaled: scalar::shortest(unscaled),
                scale,
            },
            Self::Double(x) if x.is_nan() => Self::Double(f64::NAN),
            Self::Float(x) if x.is_nan() => Self::Float(f32::NAN),
            Self::List(all) => Self::List(each(all)),
            Self::Vector(all) => Self::Vector(each(all)),
            Self::Set(all) => {
                let mut all: Vec<Self> = each(all);
                all.sort_by(order);
                all.dedup_by(|later, first| order(later, first).is_eq());
                Self::Set(all)
            }
            Self::Map(pairs) => {
                let pairs = pairs.into_iter();
                let mut pairs: Vec<(Self, Self)> = pairs
                    .map(|(key, value)| (key.canonical(order), value.canonical(order)))
                    .collect();
                // Of equal keys the last one counts: the sort keeps their order.
                pairs.reverse();
                pairs.sort_by(|(a, _), (b, _)| order(a, b));
                pairs.dedup_by(|a, b| order(&a.0, &b.0).is_eq());
                Self::Map(pairs)
            }
            Self::Tuple(all) => {
                let all = all.into_iter();
                Self::Tuple(all.map(|one| one.map(|v| v.canonical(order))).collect())
            }
            Self::Udt(fields) => {
                let fields = fields.into_iter();
                Self::Udt(
                    fields
                        .map(|(name, one)| (name, one.map(|v| v.canonical(order))))
                        .collect(),
                )
            }
            plain => plain,
        }
    }

    /// Whether a column cannot distinguish it from null: empty collections, and user types without a value.
    pub fn is_as_null(&self) -> bool {
        match self {
            Self::List(all) | Self::Set(all) => all.is_empty(),
            Self::Map(pairs) => pairs.is_empty(),
            Self::Udt(fields) => fields.iter().all(|(_, value)| value.is_none()),
            _ => false,
        }
    }
}
