//! Statements of one's own (`bench --insert … --query …`): what their markers get, and what may be said of the rows that
//! come back. Values belong to columns, whatever a marker is called.
//! Refuses to call a row missing or a cell wrong on a guess: what cannot be known is not checked, and said.

mod clauses;
mod fill;
mod read;
#[cfg(test)]
mod tests;
mod write;

use self::clauses::{Verb, segments, verb};
use self::fill::{Fill, Filler};
use self::read::Reading;
use self::write::{Kept, Writes};
use super::operation::Bound;
use super::{Check, Query};
use crate::cql::tokens::{Token, tokens};
use crate::cql::{CqlType, CqlValue};
use crate::seed::Seed;
use crate::table::Table;
use serde::{Deserialize, Serialize};

/// A table that a statement is about, as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its columns.
    pub table: Table,
    /// Whether its rows expire by themselves.
    pub expires: bool,
}

/// What the server said of a statement that it prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// Its markers: the name that the server gives to each, and its type.
    pub markers: Vec<(String, CqlType)>,
    /// Columns of its rows.
    pub columns: Vec<String>,
}

/// What is read and not checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchecked {
    /// The operation.
    pub operation: String,
    /// What of it, and why.
    pub what: String,
}

/// Statements that are understood as far as they can be.
#[derive(Debug, Clone)]
pub struct UserStatements {
    statements: Vec<Statement>,
}

#[derive(Debug, Clone)]
struct Statement {
    /// By marker.
    fills: Vec<Fill>,
    /// Whether it surely touches one partition.
    one_partition: bool,
    /// Of a SELECT whose rows are to be checked.
    reading: Option<Reading>,
    unchecked: Vec<Unchecked>,
}

/// A statement, or one of those in a batch.
#[derive(Debug, Clone)]
struct Segment<'a> {
    tokens: Vec<Token>,
    text: &'a str,
    known: Option<&'a Known>,
    /// Number of its first marker.
    first: usize,
}

/// The tables that statements name, each once.
pub fn tables(queries: &[Query]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for query in queries {
        for text in parts(&query.cql) {
            let named = clauses::table(&tokens(text));
            all.extend(named.filter(|named| !all.contains(named)));
        }
    }
    all
}

/// The statement as it is prepared: with `?` for every marker.
pub fn positional(cql: &str) -> String {
    clauses::positional(cql, &tokens(cql))
}

/// The texts of the statements in a batch; one text of a statement alone.
fn parts(cql: &str) -> Vec<&str> {
    let all = tokens(cql);
    let mut starts: Vec<usize> = segments(&all)
        .into_iter()
        .filter_map(|at| all.get(at).map(|token| token.at.start))
        .collect();
    starts.push(cql.len());
    starts.windows(2).map(|two| &cql[two[0]..two[1]]).collect()
}

impl UserStatements {
    /// Understands statements; `answered` is what the server said of each, in the same order.
    pub fn new(queries: &[Query], answered: &[Answered], known: &[Known], data: Seed) -> Self {
        let segments: Vec<Vec<Segment<'_>>> = queries
            .iter()
            .map(|query| segmented(&query.cql, known))
            .collect();
        let mut writes = Writes::new(data);
        for (own, answered) in segments.iter().zip(answered) {
            for segment in own.iter().filter(|s| verb(&s.tokens) != Verb::Select) {
                writes.take(segment, answered);
            }
        }
        let statements = queries.iter().zip(&segments).zip(answered);
        let statements = statements.map(|((query, own), answered)| {
            let mut fills = Vec::new();
            for segment in own {
                let filler = Filler::new(data, segment, answered, &writes);
                fills.extend(filler.fills());
            }
            let select = own.first().filter(|s| verb(&s.tokens) == Verb::Select);
            let one_partition = select.is_none_or(read::of_one_partition);
            let select = select.filter(|_| query.check);
            let reading = select.map(|segment| Reading::new(segment, answered, &fills, &writes));
            let (reading, what) = reading.unzip();
            let named = |what| Unchecked {
                operation: query.name.clone(),
                what,
            };
            Statement {
                fills,
                one_partition,
                reading,
                unchecked: what.into_iter().flatten().map(named).collect(),
            }
        });
        Self {
            statements: statements.collect(),
        }
    }

    /// What the markers of a statement get at a position.
    pub fn values(&self, statement: usize, position: u64) -> Vec<Bound> {
        let fills = self.statements[statement].fills.iter();
        fills.map(|fill| fill.bound(position)).collect()
    }

    /// Whether a statement surely touches one partition: a read that does not name one may touch any number.
    pub fn of_one_partition(&self, statement: usize) -> bool {
        self.statements[statement].one_partition
    }

    /// Whether a statement's rows are compared with anything.
    pub fn checks(&self, statement: usize) -> bool {
        self.statements[statement].reading.is_some()
    }

    /// Whether the rows that came back are what must have been written.
    pub fn check(&self, statement: usize, position: u64, rows: &[Vec<Option<CqlValue>>]) -> Check {
        match &self.statements[statement].reading {
            Some(reading) => reading.check(position, rows),
            None => Check::Match,
        }
    }

    /// What is read and not checked.
    pub fn unchecked(&self) -> Vec<Unchecked> {
        let all = self.statements.iter();
        all.flat_map(|statement| statement.unchecked.iter().cloned())
            .collect()
    }
}

fn segmented<'a>(cql: &'a str, known: &'a [Known]) -> Vec<Segment<'a>> {
    let mut first = 0;
    let mut found = Vec::new();
    for text in parts(cql) {
        let tokens = tokens(text);
        let named = clauses::table(&tokens);
        let same = |known: &&Known| {
            let (keyspace, name) = (&known.table.keyspace, &known.table.name);
            named
                .as_ref()
                .is_some_and(|n| n.0 == *keyspace && n.1 == *name)
        };
        let markers = tokens
            .iter()
            .filter(|t| t.kind == crate::cql::tokens::TokenKind::Marker)
            .count();
        found.push(Segment {
            known: known.iter().find(same),
            first,
            tokens,
            text,
        });
        first += markers;
    }
    found
}

/// What is written into a table where a statement reads from it, if that is known.
fn kept<'a>(segment: &Segment<'_>, writes: &'a Writes) -> Option<&'a Kept> {
    let known = segment.known?;
    writes.of(&known.table)
}
