//! The parts of a statement that say what its values mean: assignments, conditions, selected columns.
//! Refuses to guess: what is not one of the forms that are known is *other*.

use crate::cql::tokens::{Token, TokenKind};
use std::ops::Range;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Select,
    Insert,
    Update,
    Delete,
    Other,
}

/// A value as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A bind marker, by its number in the statement.
    Marker(usize),
    /// A literal: its sign and its word.
    Literal(bool, Token),
    /// A call, a collection, an expression.
    Other,
}

/// A column that is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assignment {
    pub(super) column: String,
    pub(super) value: Value,
}

/// A condition behind `WHERE`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    /// The column on its left side; none where that is no column.
    pub(super) column: Option<String>,
    /// `=`, `<=`, `>=`, `in`, `contains`; any other sign is met by nobody knows which rows.
    pub(super) sign: String,
    /// The values on its right side.
    pub(super) values: Vec<Value>,
    /// Its words, for notes.
    pub(super) text: String,
}

/// An item between `SELECT` and `FROM`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// The column that it is, whole; none of calls, elements and fields.
    pub(super) column: Option<String>,
    /// Its words, for notes.
    pub(super) text: String,
}

/// Where the statements begin that a batch holds; of a statement alone the one at its beginning.
pub(super) fn segments(tokens: &[Token]) -> Vec<usize> {
    if !tokens.first().is_some_and(|token| token.is("begin")) {
        return vec![0];
    }
    let begins = |token: &Token| ["insert", "update", "delete"].iter().any(|w| token.is(w));
    let inner = tokens.iter().enumerate();
    let inner = inner.filter(|(_, token)| begins(token)).map(|(at, _)| at);
    std::iter::once(0).chain(inner).collect()
}

pub(super) fn verb(tokens: &[Token]) -> Verb {
    let is = |word: &str| tokens.first().is_some_and(|token| token.is(word));
    match () {
        () if is("select") => Verb::Select,
        () if is("insert") => Verb::Insert,
        () if is("update") => Verb::Update,
        () if is("delete") => Verb::Delete,
        () => Verb::Other,
    }
}

/// Keyspace and name of the table that a statement is about.
pub(super) fn table(tokens: &[Token]) -> Option<(String, String)> {
    let before = match verb(tokens) {
        Verb::Select | Verb::Delete => find(tokens, "from")?,
        Verb::Insert => find(tokens, "into")?,
        Verb::Update => 0,
        Verb::Other => return None,
    };
    let name = |at: usize| tokens.get(at).filter(|token| token.is_name());
    let keyspace = name(before + 1)?;
    tokens.get(before + 2).filter(|token| token.is("."))?;
    Some((keyspace.text.clone(), name(before + 3)?.text.clone()))
}

fn find(tokens: &[Token], word: &str) -> Option<usize> {
    tokens.iter().position(|token| token.is(word))
}

/// Whether a word stands in it.
pub(super) fn has(tokens: &[Token], word: &str) -> bool {
    find(tokens, word).is_some()
}

/// The parts between the separators that stand outside brackets.
fn split(tokens: &[Token], within: Range<usize>, by: &str) -> Vec<Range<usize>> {
    let mut depth = 0_i32;
    let mut parts = Vec::new();
    let mut from = within.start;
    for at in within.clone() {
        let token = &tokens[at];
        if token.kind == TokenKind::Sign {
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
        }
        if depth == 0 && token.is(by) {
            parts.push(from..at);
            from = at + 1;
        }
    }
    parts.push(from..within.end);
    parts
}

/// The bracket that closes the one at a place.
fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            _ if token.kind != TokenKind::Sign => {}
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The markers of a statement before a place, which is the number of the next.
fn number(tokens: &[Token], at: usize) -> usize {
    let before = tokens[..at].iter();
    before
        .filter(|token| token.kind == TokenKind::Marker)
        .count()
}

fn value(tokens: &[Token], at: Range<usize>) -> Value {
    let literal = |token: &Token| {
        matches!(token.kind, TokenKind::Text | TokenKind::Number)
            || token.is("true")
            || token.is("false")
    };
    match &tokens[at.clone()] {
        [one] if one.kind == TokenKind::Marker => Value::Marker(number(tokens, at.start)),
        [one] if literal(one) => Value::Literal(false, one.clone()),
        [minus, one] if minus.is("-") && one.kind == TokenKind::Number => {
            Value::Literal(true, one.clone())
        }
        _ => Value::Other,
    }
}

fn words(tokens: &[Token], at: Range<usize>) -> String {
    let mut text = String::new();
    let mut last: Option<&Token> = None;
    for token in &tokens[at] {
        let word = match token.kind {
            TokenKind::Marker if token.text.is_empty() => "?".to_owned(),
            TokenKind::Marker => format!(":{}", token.text),
            TokenKind::Text => format!("'{}'", token.text),
            TokenKind::Quoted => format!("\"{}\"", token.text),
            TokenKind::Word | TokenKind::Number | TokenKind::Sign => token.text.clone(),
        };
        let call = last.is_some_and(|last| last.is_name() && !last.is("in"));
        let glued = match word.as_str() {
            ")" | "," | "." | "[" | "]" => true,
            "(" => call,
            _ => text.is_empty() || text.ends_with(['(', '.', '[']),
        };
        if !glued && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word);
        last = Some(token);
    }
    text
}

/// What an INSERT or UPDATE writes into which column; none where its columns are not known.
pub(super) fn assignments(tokens: &[Token]) -> Option<Vec<Assignment>> {
    match verb(tokens) {
        Verb::Insert => inserted(tokens),
        Verb::Update => updated(tokens),
        Verb::Select | Verb::Delete | Verb::Other => None,
    }
}

fn inserted(tokens: &[Token]) -> Option<Vec<Assignment>> {
    let values = find(tokens, "values")?;
    let names_end = values.checked_sub(1)?;
    let names_open = find(tokens, "(")?;
    let names = split(tokens, names_open + 1..names_end, ",");
    let open = values + 1;
    tokens.get(open).filter(|token| token.is("("))?;
    let given = split(tokens, open + 1..closing(tokens, open)?, ",");
    let pairs = names.into_iter().zip(given);
    pairs
        .map(|(name, given)| match &tokens[name] {
            [one] if one.is_name() => Some(Assignment {
                column: one.text.clone(),
                value: value(tokens, given),
            }),
            _ => None,
        })
        .collect()
}

fn updated(tokens: &[Token]) -> Option<Vec<Assignment>> {
    let from = find(tokens, "set")? + 1;
    let to = find(tokens, "where")?;
    let mut found = Vec::new();
    for part in split(tokens, from..to, ",") {
        let name = tokens.get(part.start).filter(|token| token.is_name())?;
        let plain = tokens.get(part.start + 1).is_some_and(|t| t.is("="));
        found.push(Assignment {
            column: name.text.clone(),
            value: match plain {
                true => value(tokens, part.start + 2..part.end),
                false => Value::Other,
            },
        });
    }
    let keys = conditions(tokens).into_iter().filter_map(|condition| {
        let [only] = &condition.values[..] else {
            return None;
        };
        let value = match condition.sign.as_str() {
            "=" => only.clone(),
            _ => Value::Other,
        };
        let column = condition.column?;
        Some(Assignment { column, value })
    });
    found.extend(keys);
    Some(found)
}

/// Words that end the conditions, some of them with the word that follows: columns may be called so.
const BEHIND: [(&str, &str); 7] = [
    ("limit", ""),
    ("if", ""),
    ("order", "by"),
    ("group", "by"),
    ("per", "partition"),
    ("allow", "filtering"),
    ("apply", "batch"),
];

/// The conditions behind `WHERE`.
pub(super) fn conditions(tokens: &[Token]) -> Vec<Condition> {
    let Some(from) = find(tokens, "where") else {
        return Vec::new();
    };
    let follows = |at: usize, word: &str| {
        word.is_empty() || tokens.get(at + 1).is_some_and(|token| token.is(word))
    };
    let ends = |at: &usize| {
        let mut words = BEHIND.iter();
        tokens[*at].is(";") || words.any(|(one, two)| tokens[*at].is(one) && follows(*at, two))
    };
    let end = (from + 1..tokens.len()).find(ends);
    let end = end.unwrap_or(tokens.len());
    let parts = split(tokens, from + 1..end, "and").into_iter();
    parts.map(|part| condition(tokens, part)).collect()
}

fn condition(tokens: &[Token], part: Range<usize>) -> Condition {
    let text = words(tokens, part.clone());
    let other = |text| Condition {
        column: None,
        sign: String::new(),
        values: Vec::new(),
        text,
    };
    let [name, sign, right @ ..] = &tokens[part.clone()] else {
        return other(text);
    };
    if !name.is_name() || right.is_empty() {
        return other(text);
    }
    let mut from = part.start + 2;
    if sign.is("contains") && right[0].is("key") {
        from += 1;
    }
    let list = sign.is("in") && right[0].is("(") && closing(tokens, from) == Some(part.end - 1);
    let values = match list {
        true => split(tokens, from + 1..part.end - 1, ","),
        false => std::iter::once(from..part.end).collect(),
    };
    Condition {
        column: Some(name.text.clone()),
        sign: sign.text.clone(),
        values: values.into_iter().map(|at| value(tokens, at)).collect(),
        text,
    }
}

/// What a SELECT selects; none where it is everything.
pub(super) fn items(tokens: &[Token]) -> Option<Vec<Item>> {
    let end = find(tokens, "from")?;
    let mut from = 1;
    if tokens.get(1).is_some_and(|token| token.is("json")) {
        let text = words(tokens, 1..end);
        return Some(vec![Item { column: None, text }]);
    }
    if tokens.get(1).is_some_and(|token| token.is("distinct")) {
        from = 2;
    }
    if end == from + 1 && tokens[from].is("*") {
        return None;
    }
    let parts = split(tokens, from..end, ",").into_iter();
    let item = |part: Range<usize>| {
        let column = match &tokens[part.clone()] {
            [one] if one.is_name() => Some(one),
            [one, word, alias] if one.is_name() && word.is("as") && alias.is_name() => Some(one),
            _ => None,
        };
        Item {
            column: column.map(|token| token.text.clone()),
            text: words(tokens, part),
        }
    };
    Some(parts.map(item).collect())
}

/// The statement with `?` in place of named markers: one value for each place, whatever the server makes of a name that
/// comes twice.
pub(super) fn positional(cql: &str, tokens: &[Token]) -> String {
    let mut text = cql.to_owned();
    let named = |token: &&Token| token.kind == TokenKind::Marker && !token.text.is_empty();
    for token in tokens.iter().rev().filter(named) {
        text.replace_range(token.at.clone(), "?");
    }
    text
}
