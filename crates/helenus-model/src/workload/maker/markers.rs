//! What the bind markers of a statement stand for, found from the words around them.
//! Refuses markers whose column it cannot identify, by name and place.

use crate::cql::tokens::{Token, TokenKind, tokens};
use crate::cql::{CqlType, identifier};
use crate::table::Table;

/// What a bind marker gets.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::workload) enum Slot {
    /// A column's value, or a part of it.
    Column(usize, Part),
    /// Several values of one column: `IN ?`.
    Several(Vec<usize>),
    /// Values of several columns as one tuple.
    Tuple(Vec<usize>),
    /// Rows at most.
    Limit,
    /// Seconds to live.
    Ttl,
    /// Microseconds since 1970.
    Timestamp,
    /// A token of the ring.
    Token,
    /// A place in a list.
    Index,
    /// A whole row as JSON: places of its columns with their names there.
    Json(Vec<(usize, String)>),
}

/// Which part of a column's value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::workload) enum Part {
    /// All of it.
    Whole,
    /// An element of a list or set, or a map's key.
    Key,
    /// A map's value.
    MapValue,
    /// A field of a tuple or user type.
    Field(usize),
}

/// Where a marker is, beside what it gets.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::workload) struct Marked {
    pub(in crate::workload) slot: Slot,
    /// The sign before it: `=`, `>=`, `in`, `+` …; empty elsewhere.
    pub(in crate::workload) sign: String,
    /// Whether it stands behind `WHERE`, behind `IF`, or before both.
    pub(in crate::workload) part: Clause,
}

/// The part of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::workload) enum Clause {
    Head,
    Where,
    If,
}

/// A statement read as far as its markers need.
pub(in crate::workload) struct Reader<'a> {
    pub(in crate::workload) table: &'a Table,
    pub(in crate::workload) tokens: Vec<Token>,
}

/// What is at a place: columns or a type, before it is known what is wanted of it.
#[derive(Debug, Clone)]
enum Expected {
    Column(usize, Part),
    Columns(Vec<usize>),
    ListOf(Vec<usize>),
    Slot(Slot),
}

impl<'a> Reader<'a> {
    pub(in crate::workload) fn new(table: &'a Table, statement: &str) -> Self {
        let tokens = tokens(statement);
        Self { table, tokens }
    }

    /// What every marker gets, in order.
    ///
    /// # Errors
    /// The number of the first marker that is not understood, from 1, and its name.
    pub(in crate::workload) fn markers(&self) -> Result<Vec<Marked>, (usize, String)> {
        let names = self.tokens.iter();
        let names = names.filter(|token| token.kind == TokenKind::Marker);
        let all = self.marked().into_iter().zip(names).enumerate();
        all.map(|(number, (marked, token))| marked.ok_or_else(|| (number + 1, token.text.clone())))
            .collect()
    }

    /// The same; none for a marker that is not understood.
    pub(in crate::workload) fn marked(&self) -> Vec<Option<Marked>> {
        let mut found = Vec::new();
        let mut part = Clause::Head;
        for (at, token) in self.tokens.iter().enumerate() {
            part = match token.text.as_str() {
                "where" if token.is("where") => Clause::Where,
                "if" if token.is("if") => Clause::If,
                _ => part,
            };
            if token.kind != TokenKind::Marker {
                continue;
            }
            let slot = self.expected(at).and_then(|expected| self.slot(expected));
            let slot = slot.or_else(|| {
                let place = self.table.place(&token.text)?;
                Some(Slot::Column(place, Part::Whole))
            });
            let sign = at
                .checked_sub(1)
                .map(|before| self.tokens[before].text.clone());
            let sign = sign.unwrap_or_default();
            found.push(slot.map(|slot| Marked { slot, sign, part }));
        }
        found
    }

    /// Columns that a JSON text can fill, with their names there.
    fn in_json(&self) -> Vec<(usize, String)> {
        let columns = self.table.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| !matches!(column.cql_type, CqlType::Custom(_)));
        let named = columns.map(|(place, column)| (place, identifier(&column.name)));
        named.collect()
    }

    fn slot(&self, expected: Expected) -> Option<Slot> {
        Some(match expected {
            Expected::Column(place, part) => Slot::Column(place, part),
            Expected::Columns(places) => Slot::Tuple(places),
            Expected::ListOf(places) => Slot::Several(places),
            Expected::Slot(slot) => slot,
        })
    }

    /// What is expected of the value that begins at a token.
    fn expected(&self, at: usize) -> Option<Expected> {
        let before = self.tokens.get(at.checked_sub(1)?)?;
        let word = before.text.as_str();
        if before.kind == TokenKind::Word {
            return match word {
                "in" => self.left(at - 1).map(|left| match left {
                    Expected::Column(place, _) => Expected::ListOf(vec![place]),
                    Expected::Columns(places) => Expected::ListOf(places),
                    other => other,
                }),
                "contains" => self.element(self.left(at - 1)?, true),
                "key" => self.element(self.left(at.checked_sub(2)?)?, false),
                "like" | "between" => self.left(at - 1),
                // `ORDER BY v ANN OF ?`
                "of" => self.left(at.checked_sub(2)?),
                "json" => Some(Expected::Slot(Slot::Json(self.in_json()))),
                "limit" => Some(Expected::Slot(Slot::Limit)),
                "ttl" => Some(Expected::Slot(Slot::Ttl)),
                "timestamp" => Some(Expected::Slot(Slot::Timestamp)),
                _ => None,
            };
        }
        if before.kind != TokenKind::Sign {
            return None;
        }
        match word {
            "=" | "<" | ">" | "<=" | ">=" | "!=" => self.left(at - 1),
            "+" | "-" => {
                let operand = self.tokens.get(at.checked_sub(2)?)?;
                if operand.kind == TokenKind::Marker {
                    return None;
                }
                let place = self.named(at - 2)?;
                Some(Expected::Column(place, Part::Whole))
            }
            "[" | "(" | "," | "{" | ":" => self.inside(at),
            _ => None,
        }
    }

    /// The left side of the operator at a token.
    fn left(&self, operator: usize) -> Option<Expected> {
        let end = operator.checked_sub(1)?;
        let last = &self.tokens[end];
        if last.is("]") {
            let open = self.opening(end)?;
            let place = self.named(open.checked_sub(1)?)?;
            return self.element(Expected::Column(place, Part::Whole), true);
        }
        if last.is(")") {
            let open = self.opening(end)?;
            let before = open.checked_sub(1).map(|at| &self.tokens[at]);
            if before.is_some_and(|token| token.is("token")) {
                return Some(Expected::Slot(Slot::Token));
            }
            return self.names(open + 1, end).map(Expected::Columns);
        }
        if end >= 2 && self.tokens[end - 1].is(".") {
            // A field of a user type: `c.field = ?`.
            let place = self.named(end - 2)?;
            return self.field(place, &last.text);
        }
        let place = self.named(end)?;
        Some(Expected::Column(place, Part::Whole))
    }

    /// The element that a marker inside brackets stands for.
    fn inside(&self, at: usize) -> Option<Expected> {
        let (open, nth, after_colon) = self.enclosing(at)?;
        let before = open.checked_sub(1).map(|at| &self.tokens[at]);
        match self.tokens[open].text.as_str() {
            "[" => match before.filter(|token| token.is_name()) {
                Some(_) => {
                    let place = self.named(open - 1)?;
                    match self.table.columns[place].cql_type {
                        CqlType::List(_) => Some(Expected::Slot(Slot::Index)),
                        _ => Some(Expected::Column(place, Part::Key)),
                    }
                }
                None => self.element(self.expected(open)?, true),
            },
            "{" => {
                let whole = self.expected(open)?;
                let Expected::Column(place, Part::Whole) = whole else {
                    return None;
                };
                if matches!(self.table.columns[place].cql_type, CqlType::Udt { .. }) {
                    let name = &self.tokens.get(at.checked_sub(2)?)?.text;
                    return self.field(place, name);
                }
                self.element(whole, after_colon)
            }
            _ => self.in_parentheses(open, nth, before),
        }
    }

    fn in_parentheses(&self, open: usize, nth: usize, before: Option<&Token>) -> Option<Expected> {
        let column = |place: usize| Expected::Column(place, Part::Whole);
        let before = before?;
        if before.is("values") {
            let end = open.checked_sub(2)?;
            let list = self.opening(end)?;
            return Some(column(*self.names(list + 1, end)?.get(nth)?));
        }
        if before.is("in") {
            return self.left(open - 1);
        }
        if before.is("token") {
            let of_token = self.expected(open - 1);
            return match of_token {
                Some(Expected::Slot(Slot::Token)) => Some(column(nth)),
                _ => None,
            };
        }
        match self.expected(open)? {
            Expected::Columns(places) | Expected::ListOf(places) => Some(column(*places.get(nth)?)),
            Expected::Column(place, Part::Whole) => match self.table.columns[place].cql_type {
                CqlType::Tuple(_) => Some(Expected::Column(place, Part::Field(nth))),
                _ => None,
            },
            _ => None,
        }
    }

    /// An element of a column's collection: of a map its value or its key.
    fn element(&self, of: Expected, value: bool) -> Option<Expected> {
        let Expected::Column(place, Part::Whole) = of else {
            return None;
        };
        let part = match (&self.table.columns[place].cql_type, value) {
            (CqlType::Map(..), true) => Part::MapValue,
            _ => Part::Key,
        };
        Some(Expected::Column(place, part))
    }

    fn field(&self, place: usize, name: &str) -> Option<Expected> {
        let CqlType::Udt { fields, .. } = &self.table.columns[place].cql_type else {
            return None;
        };
        let field = fields.iter().position(|(field, _)| field == name)?;
        Some(Expected::Column(place, Part::Field(field)))
    }

    /// The column that a token names.
    fn named(&self, at: usize) -> Option<usize> {
        let token = self.tokens.get(at)?;
        token.is_name().then(|| self.table.place(&token.text))?
    }

    /// The columns named between two tokens, commas between them.
    pub(in crate::workload) fn names(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let named = (from..to).filter(|at| !self.tokens[*at].is(","));
        named.map(|at| self.named(at)).collect()
    }

    /// The bracket that the one at `end` closes.
    fn opening(&self, end: usize) -> Option<usize> {
        let mut depth = 0;
        for at in (0..=end).rev() {
            match self.tokens[at].text.as_str() {
                _ if self.tokens[at].kind != TokenKind::Sign => {}
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => {
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

    /// The bracket around a token, how many commas of its own stand between, and whether a colon does.
    fn enclosing(&self, at: usize) -> Option<(usize, usize, bool)> {
        let (mut depth, mut nth, mut colon) = (0_usize, 0, false);
        for before in (0..at).rev() {
            let token = &self.tokens[before];
            if token.kind != TokenKind::Sign {
                continue;
            }
            match token.text.as_str() {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" if depth == 0 => return Some((before, nth, colon)),
                "(" | "[" | "{" => depth -= 1,
                "," if depth == 0 => nth += 1,
                ":" if depth == 0 && nth == 0 => colon = true,
                _ => {}
            }
        }
        None
    }
}
