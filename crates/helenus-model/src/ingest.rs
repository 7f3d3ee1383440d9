//! Files into tables, and back: how records are cut and written, how their fields become a row's values, and what is
//! remembered of a load.
//! Refuses IO: whoever reads hands over bytes.

pub mod delimited;
pub mod expand;
pub mod expr;
pub mod journal;
pub mod json_lines;
pub mod layout;
pub mod mapping;
pub mod part;
pub mod sample;
#[cfg(test)]
mod tests;
pub mod unloading;
pub mod write;

pub use expand::{Expand, Expansion};
pub use expr::{Expr, RowInput, Words};
pub use journal::{FileMark, LoadJournal, Place};
pub use layout::Layout;
pub use mapping::{Mapping, MappingError, Target, Wishes, Wrong};
pub use part::{LoadParts, Part};
pub use sample::Sample;
pub use unloading::Split;
pub use write::Writing;

/// A record's fields: none where a field is null.
pub type Record<'a> = Vec<Option<std::borrow::Cow<'a, str>>>;
