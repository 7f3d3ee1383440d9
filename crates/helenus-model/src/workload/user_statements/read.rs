//! What may be said of the rows that a SELECT of one's own brings back.
//! Refuses to say anything where its conditions could leave the written row out.

use super::clauses::{Condition, Value, conditions, has, items};
use super::fill::{Fill, Source, What, row};
use super::write::{Kept, WIDE, Writes, literal};
use super::{Answered, Segment, kept};
use crate::cql::CqlValue;
use crate::table::{ColumnKind, Table};
use crate::workload::Check;

/// What is known of an answer.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    row_bits: u32,
    /// By column of the answer; none where it is not compared.
    columns: Vec<Option<Source>>,
    /// The written row must be found.
    certain: bool,
    /// No other row can be.
    one: bool,
    /// The answer may be cut, or put together, so that the written row is not among its rows.
    cut: bool,
    /// Rows may be gone, or lack cells.
    takes: bool,
}

impl Reading {
    /// What is known, and what is not checked, in words.
    pub(super) fn new(
        segment: &Segment<'_>,
        answered: &Answered,
        fills: &[Fill],
        writes: &Writes,
    ) -> (Self, Vec<String>) {
        let nothing = Self {
            row_bits: 64,
            columns: Vec::new(),
            certain: false,
            one: false,
            cut: true,
            takes: true,
        };
        let rows = |why: String| vec![format!("any row: {why}")];
        let Some(kept) = kept(segment, writes) else {
            let why = "the insert writes into another table".to_owned();
            return (nothing, rows(why));
        };
        let words = &segment.tokens;
        let all = conditions(words);
        let unmet = all.iter().find(|one| !met(one, kept, fills));
        let why = match unmet {
            _ if !kept.leaves => Some("a write may leave no row".to_owned()),
            _ if all.is_empty() => Some("no condition names the row".to_owned()),
            Some(unmet) => Some(format!("`{}` may leave out what was written", unmet.text)),
            None => None,
        };
        if let Some(why) = why {
            return (nothing, rows(why));
        }
        let columns = columns(segment, answered, kept);
        let calls = items(words).is_some_and(|all| all.iter().any(|one| one.column.is_none()));
        let named = |wanted: &dyn Fn(ColumnKind) -> bool| named(&kept.table, &all, wanted);
        let one = named(&|kind| kind.is_key());
        let alone = kept.row_is_partition()
            && kept.partition_bits >= WIDE
            && named(&|kind| kind == ColumnKind::Partition);
        let reading = Self {
            row_bits: kept.row_bits,
            columns: columns.iter().map(|(source, _)| source.clone()).collect(),
            certain: true,
            one,
            cut: calls || ["limit", "group", "distinct"].iter().any(|w| has(words, w)) && !alone,
            takes: kept.takes,
        };
        let mut unchecked: Vec<String> = Vec::new();
        let left = columns.iter().filter(|(source, _)| source.is_none());
        let left: Vec<&str> = left.map(|(_, text)| text.as_str()).collect();
        if !left.is_empty() {
            unchecked.push(left.join(", "));
        }
        if kept.takes {
            unchecked.push("missing rows: they may have expired or been deleted".to_owned());
        }
        (reading, unchecked)
    }

    /// Compares an answer with what was written at a position.
    pub(super) fn check(&self, position: u64, rows: &[Vec<Option<CqlValue>>]) -> Check {
        if !self.certain {
            return Check::Match;
        }
        let Some(first) = rows.first() else {
            return match self.takes {
                true => Check::Match,
                false => Check::Missing,
            };
        };
        let written = row(position, self.row_bits);
        let wanted: Vec<Option<CqlValue>> = self
            .columns
            .iter()
            .map(|source| source.as_ref().map(|source| source.value(written)))
            .collect();
        let wrong = |row: &Vec<Option<CqlValue>>| {
            let mut cells = wanted.iter().zip(row);
            cells.position(|(wanted, read)| match (wanted, read) {
                (None, _) => false,
                (Some(_), None) => !self.takes,
                (Some(_), read) => wanted != read,
            })
        };
        let Some(column) = wrong(first) else {
            return Check::Match;
        };
        let elsewhere = || rows.iter().skip(1).any(|row| wrong(row).is_none());
        match self.one {
            true => Check::Wrong { column },
            false if self.cut || self.takes || elsewhere() => Check::Match,
            false => Check::Wrong { column },
        }
    }
}

/// Whether the written row surely meets a condition.
fn met(condition: &Condition, kept: &Kept, fills: &[Fill]) -> bool {
    let place = condition.column.as_ref();
    let Some(place) = place.and_then(|name| kept.table.place(name)) else {
        return false;
    };
    let Some(firm) = kept.firm(place) else {
        return false;
    };
    let column = &kept.table.columns[place].cql_type;
    let same = |value: &Value| match value {
        Value::Marker(number) => {
            let what = fills.get(*number).map(|fill| &fill.what);
            matches!(what, Some(What::Value(source)) if source == firm)
        }
        Value::Literal(minus, token) => {
            let value = literal(*minus, token, column);
            value.is_some_and(|value| *firm == Source::Constant(value))
        }
        Value::Other => false,
    };
    let only = match &condition.values[..] {
        [Value::Marker(number)] => fills.get(*number).map(|fill| &fill.what),
        _ => None,
    };
    match condition.sign.as_str() {
        "=" | "<=" | ">=" => condition.values.iter().all(same),
        "in" => {
            let listed = matches!(only, Some(What::Several(all)) if all[..] == [firm.clone()]);
            listed || condition.values.iter().any(same)
        }
        "contains" => matches!(only, Some(What::Part(source, _)) if source == firm),
        _ => false,
    }
}

/// Whether a SELECT names one value of each column of the partition key.
pub(super) fn of_one_partition(segment: &Segment<'_>) -> bool {
    let all = conditions(&segment.tokens);
    let known = segment.known.map(|known| &known.table);
    known.is_some_and(|table| named(table, &all, &|kind| kind == ColumnKind::Partition))
}

/// Whether the conditions name one value of each of these columns.
fn named(table: &Table, all: &[Condition], wanted: &dyn Fn(ColumnKind) -> bool) -> bool {
    let mut columns = table.columns.iter();
    columns.all(|column| {
        let equal = |one: &Condition| one.sign == "=" && one.column.as_ref() == Some(&column.name);
        !wanted(column.kind) || all.iter().any(equal)
    })
}

/// The columns of the answer: the source of each that is compared, and its words.
fn columns(
    segment: &Segment<'_>,
    answered: &Answered,
    kept: &Kept,
) -> Vec<(Option<Source>, String)> {
    let source = |name: &String| {
        let place = kept.table.place(name)?;
        kept.firm(place).cloned()
    };
    match items(&segment.tokens) {
        None => {
            let names = answered.columns.iter();
            names.map(|name| (source(name), name.clone())).collect()
        }
        Some(all) => {
            // Where the server counts otherwise, nothing is known.
            let fits = all.len() == answered.columns.len();
            let each = all.into_iter().map(|item| {
                let source = item.column.as_ref().filter(|_| fits).and_then(source);
                (source, item.text)
            });
            each.collect()
        }
    }
}
