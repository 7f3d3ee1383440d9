//! Literals of collections, tuples, user types and vectors, as CQL and as JSON write them.
//! Refuses what follows a literal.

use super::{Habits, ReadError, scalar, wrong};
use crate::cql::{CqlType, CqlValue};
use crate::nearest::nearest;
use std::borrow::Cow;

pub(super) fn read(ty: &CqlType, text: &str, habits: Habits) -> Result<CqlValue, ReadError> {
    let mut reader = Reader {
        text,
        at: 0,
        habits,
    };
    let value = reader.value(ty, &[])?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.wrong(ty, "something follows it"));
    }
    value.ok_or_else(|| wrong(ty, text, ""))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    habits: Habits,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, mark: char) -> bool {
        self.space();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    fn wrong(&self, ty: &CqlType, why: &str) -> ReadError {
        let found: String = self.rest().chars().take(12).collect();
        let place = match found.is_empty() {
            true => "at its end".to_owned(),
            false => format!("at {found:?}"),
        };
        wrong(ty, self.text, format!("{why} {place}"))
    }

    fn expect(&mut self, ty: &CqlType, mark: char) -> Result<(), ReadError> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(self.wrong(ty, &format!("expected {mark}"))),
        }
    }

    /// A quoted text, in CQL's quotes or in JSON's; none where there is none.
    fn quoted(&mut self, ty: &CqlType) -> Result<Option<Cow<'a, str>>, ReadError> {
        self.space();
        let rest = self.rest();
        match rest.chars().next() {
            Some('\'') => {
                let mut from = 1;
                loop {
                    let Some(end) = rest[from..].find('\'') else {
                        return Err(self.wrong(ty, "a quote is not closed"));
                    };
                    let end = from + end;
                    if rest[end + 1..].starts_with('\'') {
                        from = end + 2;
                        continue;
                    }
                    self.at += end + 1;
                    let inner = &rest[1..end];
                    return Ok(Some(match inner.contains('\'') {
                        true => Cow::Owned(inner.replace("''", "'")),
                        false => Cow::Borrowed(inner),
                    }));
                }
            }
            Some('"') => {
                let mut escaped = false;
                let end = rest[1..].bytes().position(|byte| {
                    let end = byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                    end
                });
                let Some(end) = end.map(|end| end + 1) else {
                    return Err(self.wrong(ty, "a quote is not closed"));
                };
                let text = serde_json::from_str::<String>(&rest[..=end]);
                let text = text.map_err(|_| self.wrong(ty, "no JSON text"))?;
                self.at += end + 1;
                Ok(Some(Cow::Owned(text)))
            }
            _ => Ok(None),
        }
    }

    /// A word up to one of these marks, or the end of what it is in.
    fn word(&mut self, ends: &[char]) -> &'a str {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c| ",]})".contains(c) || ends.contains(&c));
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        word.trim_end()
    }

    /// The next value; none for null.
    fn value(&mut self, ty: &CqlType, ends: &[char]) -> Result<Option<CqlValue>, ReadError> {
        self.space();
        let is_text = matches!(ty, CqlType::Text | CqlType::Ascii);
        let nests = self.rest().starts_with(['[', '{', '(']);
        let null = self
            .rest()
            .get(..4)
            .is_some_and(|w| w.eq_ignore_ascii_case("null"));
        if null && !self.rest()[4..].starts_with(|c: char| c.is_alphanumeric()) {
            self.at += 4;
            return Ok(None);
        }
        match ty {
            CqlType::List(of) => self.items(ty, of, &["[]"]).map(|v| v.map(CqlValue::List)),
            CqlType::Set(of) => self
                .items(ty, of, &["{}", "[]"])
                .map(|v| v.map(CqlValue::Set)),
            CqlType::Vector(of, length) => {
                let items = self.items(ty, of, &["[]"])?;
                if items.as_ref().is_some_and(|items| items.len() != *length) {
                    let found = items.map_or(0, |items| items.len());
                    return Err(wrong(ty, self.text, format!("it has {found} elements")));
                }
                Ok(items.map(CqlValue::Vector))
            }
            _ if !matches!(
                ty,
                CqlType::Map(..) | CqlType::Tuple(_) | CqlType::Udt { .. }
            ) =>
            {
                let word = match self.quoted(ty)? {
                    Some(text) => text,
                    None if is_text && nests => {
                        return Err(self.wrong(ty, "a text needs quotes"));
                    }
                    None => Cow::Borrowed(self.word(ends)),
                };
                scalar::read(ty, &word, self.habits).map(Some)
            }
            _ => {
                if let Some(text) = self.quoted(ty)? {
                    return read(ty, &text, self.habits).map(Some);
                }
                match ty {
                    CqlType::Map(key, of) => self.map(ty, key, of).map(Some),
                    CqlType::Tuple(types) => self.tuple(ty, types).map(Some),
                    CqlType::Udt { fields, .. } => self.user_type(ty, fields).map(Some),
                    _ => Err(self.wrong(ty, "not read")),
                }
            }
        }
    }

    fn items(
        &mut self,
        ty: &CqlType,
        of: &CqlType,
        brackets: &[&str],
    ) -> Result<Option<Vec<CqlValue>>, ReadError> {
        if let Some(text) = self.quoted(ty)? {
            let mut inner = Reader {
                text: &text,
                at: 0,
                habits: self.habits,
            };
            let items = inner.items(ty, of, brackets)?;
            inner.space();
            return match inner.at == text.len() {
                true => Ok(items),
                false => Err(inner.wrong(ty, "something follows it")),
            };
        }
        let close = brackets.iter().find_map(|pair| {
            let (open, close) = pair.split_at(1);
            self.takes(open.chars().next()?)
                .then(|| close.chars().next())?
        });
        let Some(close) = close else {
            return Err(self.wrong(ty, &format!("expected {}", &brackets[0][..1])));
        };
        let mut items = Vec::new();
        if self.takes(close) {
            return Ok(Some(items));
        }
        loop {
            match self.value(of, &[])? {
                Some(item) => items.push(item),
                None => return Err(self.wrong(ty, "it cannot hold null")),
            }
            if !self.takes(',') {
                self.expect(ty, close)?;
                return Ok(Some(items));
            }
        }
    }

    fn map(&mut self, ty: &CqlType, key: &CqlType, of: &CqlType) -> Result<CqlValue, ReadError> {
        self.expect(ty, '{')?;
        let mut pairs = Vec::new();
        if self.takes('}') {
            return Ok(CqlValue::Map(pairs));
        }
        loop {
            let found = self.value(key, &[':'])?;
            self.expect(ty, ':')?;
            match (found, self.value(of, &[])?) {
                (Some(key), Some(value)) => pairs.push((key, value)),
                _ => return Err(self.wrong(ty, "it cannot hold null")),
            }
            if !self.takes(',') {
                self.expect(ty, '}')?;
                return Ok(CqlValue::Map(pairs));
            }
        }
    }

    fn tuple(&mut self, ty: &CqlType, types: &[CqlType]) -> Result<CqlValue, ReadError> {
        // JSON has no tuples, but arrays. Of `([1, 2], 'a')` only the first bracket is the tuple's.
        let close = match self.takes('(') {
            true => ')',
            false if self.takes('[') => ']',
            false => return Err(self.wrong(ty, "expected (")),
        };
        let mut items = Vec::new();
        for (at, of) in types.iter().enumerate() {
            if at > 0 {
                self.expect(ty, ',')?;
            }
            items.push(self.value(of, &[])?);
        }
        self.expect(ty, close)?;
        Ok(CqlValue::Tuple(items))
    }

    fn user_type(
        &mut self,
        ty: &CqlType,
        fields: &[(String, CqlType)],
    ) -> Result<CqlValue, ReadError> {
        self.expect(ty, '{')?;
        let mut values: Vec<(String, Option<CqlValue>)> = fields
            .iter()
            .map(|(name, _)| (name.clone(), None))
            .collect();
        if self.takes('}') {
            return Ok(CqlValue::Udt(values));
        }
        loop {
            let name = match self.quoted(ty)? {
                // JSON writes a name that CQL must quote with both quotes.
                Some(name) => match name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) {
                    Some(inner) => Cow::Owned(inner.replace("\"\"", "\"")),
                    None => name,
                },
                None => Cow::Borrowed(self.word(&[':'])),
            };
            let Some(at) = fields.iter().position(|(known, _)| *known == name) else {
                let near = nearest(&name, fields.iter().map(|(name, _)| name.as_str()));
                let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
                let why = format!("it has no field {name:?}{near}");
                return Err(wrong(ty, self.text, why));
            };
            self.expect(ty, ':')?;
            values[at].1 = self.value(&fields[at].1, &[])?;
            if !self.takes(',') {
                self.expect(ty, '}')?;
                return Ok(CqlValue::Udt(values));
            }
        }
    }
}
