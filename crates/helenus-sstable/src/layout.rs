//! What an SSTable says of its table: the key's types and the columns, in Cassandra's order.
//! Refuses counters, custom classes, and tables with too many columns.

use crate::types::{clustering_class, key_class};
use helenus_cql::codec::value::fixed_length;
use helenus_model::cql::CqlType;

/// A column that is no part of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: CqlType,
    /// Whether it is a collection or a user type that is not frozen: one cell for each of its parts.
    pub multi_cell: bool,
}

/// The columns of a table as its SSTables have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub(crate) key: Vec<CqlType>,
    pub(crate) clustering: Vec<(CqlType, bool)>,
    pub(crate) statics: Vec<Column>,
    pub(crate) regulars: Vec<Column>,
    /// By clustering column.
    pub(crate) lengths: Vec<Option<usize>>,
}

/// Why a table cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Counters have shards of nodes.
    #[error("{0} is a counter")]
    Counter(String),
    /// A class whose order and form only the server knows.
    #[error("{0} is of a class that CQL has no name for")]
    Custom(String),
    /// More than one word of bits.
    #[error("more than 63 columns of a kind")]
    TooMany,
}

impl Layout {
    /// Puts the columns into Cassandra's order: single cells first, each by name.
    ///
    /// `clustering` has whether each column is descending.
    ///
    /// # Errors
    /// Columns that cannot be written.
    pub fn new(
        key: Vec<CqlType>,
        clustering: Vec<(CqlType, bool)>,
        statics: Vec<Column>,
        regulars: Vec<Column>,
    ) -> Result<Self, LayoutError> {
        for column in statics.iter().chain(&regulars) {
            if column.ty == CqlType::Counter {
                return Err(LayoutError::Counter(column.name.clone()));
            }
            if has_custom(&column.ty) {
                return Err(LayoutError::Custom(column.name.clone()));
            }
        }
        let keys = key.iter().chain(clustering.iter().map(|(ty, _)| ty));
        for ty in keys {
            if has_custom(ty) {
                return Err(LayoutError::Custom(ty.to_string()));
            }
        }
        let sorted = |mut columns: Vec<Column>| {
            columns.sort_by(|a, b| {
                (a.multi_cell, a.name.as_bytes()).cmp(&(b.multi_cell, b.name.as_bytes()))
            });
            columns
        };
        if statics.len().max(regulars.len()) > 63 {
            return Err(LayoutError::TooMany);
        }
        let lengths = clustering.iter().map(|(ty, _)| fixed_length(ty)).collect();
        Ok(Self {
            key,
            clustering,
            statics: sorted(statics),
            regulars: sorted(regulars),
            lengths,
        })
    }

    /// The static columns, in the order of a row's cells.
    pub fn statics(&self) -> &[Column] {
        &self.statics
    }

    /// The other columns, in the order of a row's cells.
    pub fn regulars(&self) -> &[Column] {
        &self.regulars
    }

    pub(crate) fn key_class(&self) -> String {
        key_class(&self.key)
    }

    pub(crate) fn clustering_classes(&self) -> impl Iterator<Item = String> {
        self.clustering
            .iter()
            .map(|(ty, descending)| clustering_class(ty, *descending))
    }
}

fn has_custom(ty: &CqlType) -> bool {
    match ty {
        CqlType::Custom(_) => true,
        CqlType::List(inner) | CqlType::Set(inner) | CqlType::Vector(inner, _) => has_custom(inner),
        CqlType::Map(key, value) => has_custom(key) || has_custom(value),
        CqlType::Tuple(types) => types.iter().any(has_custom),
        CqlType::Udt { fields, .. } => fields.iter().any(|(_, ty)| has_custom(ty)),
        _ => false,
    }
}
