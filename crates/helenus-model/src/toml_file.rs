//! What all files in TOML have in common: keys that are known, values of a kind, and the line of whatever is wrong.
//! Refuses to know what a file is about.

use crate::nearest::nearest;
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Why a file is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub struct FileError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Tables of a list, each with the place where it begins.
type Tables<'t, 'i> = Vec<(usize, &'t DeTable<'i>)>;

/// A file's text; places in it are bytes from its beginning.
pub(crate) struct Reader<'a> {
    text: &'a str,
}

impl<'a> Reader<'a> {
    /// Reads a text as TOML.
    pub(crate) fn parse(text: &'a str) -> Result<(Self, Spanned<DeTable<'a>>), FileError> {
        let reader = Self { text };
        match DeTable::parse(text) {
            Ok(document) => Ok((reader, document)),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                Err(reader.wrong(at, error.message()))
            }
        }
    }

    /// The line of a place, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// What is wrong at a place.
    pub(crate) fn wrong(&self, at: usize, what: impl Into<String>) -> FileError {
        FileError {
            line: self.line(at),
            what: what.into(),
            hint: None,
        }
    }

    /// An error of another reader about a place.
    pub(crate) fn refused(
        &self,
        at: usize,
        error: &dyn std::error::Error,
        hint: Option<String>,
    ) -> FileError {
        FileError {
            hint,
            ..self.wrong(at, error.to_string())
        }
    }

    /// Refuses any other key than these, with the nearest of them.
    pub(crate) fn known(&self, table: &DeTable<'_>, keys: &[&str]) -> Result<(), FileError> {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !keys.contains(&name) {
                let hint = match nearest(name, keys.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("known: {}", keys.join(", ")),
                };
                return Err(FileError {
                    hint: Some(hint),
                    ..self.wrong(key.span().start, format!("unknown key {name}"))
                });
            }
        }
        Ok(())
    }

    /// A text, with its place.
    pub(crate) fn text<'t>(
        &self,
        table: &'t DeTable<'_>,
        key: &str,
    ) -> Result<Option<(usize, Cow<'t, str>)>, FileError> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(text) => Ok(Some((at, Cow::Borrowed(text.as_ref())))),
            _ => Err(self.wrong(at, format!("{key} must be a text in quotes"))),
        }
    }

    /// A whole number, with its place.
    pub(crate) fn integer(
        &self,
        table: &DeTable<'_>,
        key: &str,
    ) -> Result<Option<(usize, i64)>, FileError> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let at = value.span().start;
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let wrong = || self.wrong(at, format!("{key} must be a whole number"));
        number.map(|n| Some((at, n))).ok_or_else(wrong)
    }

    /// Yes or no.
    pub(crate) fn yes(&self, table: &DeTable<'_>, key: &str) -> Result<Option<bool>, FileError> {
        match table.get(key).map(|value| (value.span(), value.get_ref())) {
            None => Ok(None),
            Some((_, DeValue::Boolean(yes))) => Ok(Some(*yes)),
            Some((span, _)) => Err(self.wrong(span.start, format!("{key} is true or false"))),
        }
    }

    /// A table.
    pub(crate) fn table<'t, 'i>(
        &self,
        value: &'t Spanned<DeValue<'i>>,
        key: &str,
    ) -> Result<&'t DeTable<'i>, FileError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(value.span().start, format!("{key} must be a table"))),
        }
    }

    /// A list of tables; none where there is no such key.
    pub(crate) fn tables<'t, 'i>(
        &self,
        table: &'t DeTable<'i>,
        key: &str,
    ) -> Result<Tables<'t, 'i>, FileError> {
        let Some(value) = table.get(key) else {
            return Ok(Vec::new());
        };
        let DeValue::Array(list) = value.get_ref() else {
            let what = format!("{key} must be tables: write [[{key}]]");
            return Err(self.wrong(value.span().start, what));
        };
        let each = list.iter().map(|item| {
            let what = format!("an entry of {key}");
            Ok((item.span().start, self.table(item, &what)?))
        });
        each.collect()
    }
}
