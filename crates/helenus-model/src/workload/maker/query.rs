//! One statement of a profile: what its markers get, and what may be said of the rows that come back.
//! Refuses to say that a row is missing where the statement could have left it out.

use super::content::{Content, Partition, RowKey, share};
use super::markers::{Clause, Marked, Part, Reader, Slot};
use crate::cql::CqlValue;
use crate::cql::tokens::Token;
use crate::seed::mix;
use crate::table::Table;
use crate::workload::operation::Bound;
use std::collections::BTreeSet;

/// Rows that `LIMIT ?` asks for.
pub(in crate::workload) const LIMIT: i32 = 10;
/// Seconds that `USING TTL ?` gives: a day.
pub(in crate::workload) const TTL: i32 = 86_400;
/// Where `USING TIMESTAMP ?` begins: 2020-09-13 in microseconds.
pub(in crate::workload) const TIMESTAMP: i64 = 1_600_000_000_000_000;
/// Values that `IN ?` asks for.
const SEVERAL: u64 = 3;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Select,
    Insert,
    Update,
    Delete,
    Other,
}

/// A statement whose markers are understood.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    markers: Vec<Marked>,
    same_row: bool,
    pub(super) verb: Verb,
    /// Every row asked for must be there once the partition was written.
    pub(super) certain: bool,
    /// It reads all rows of one partition.
    pub(super) whole_partition: bool,
    /// It reads the one row that `same_row` names.
    pub(super) one_row: bool,
    /// Names of columns in the answer are those of the table.
    pub(super) plain: bool,
    pub(super) effect: Effect,
}

/// What a statement changes of what `insert` wrote.
#[derive(Debug, Clone, Default)]
pub(super) struct Effect {
    /// Columns that get other values than `insert` gives them.
    pub(super) loose: BTreeSet<usize>,
    /// Columns of the rows that it may make; none where it makes none.
    pub(super) partial: Option<BTreeSet<usize>>,
    /// It may take rows or cells away.
    pub(super) takes: bool,
}

impl Plan {
    /// Reads a statement.
    ///
    /// # Errors
    /// Number (from 1) and name of a marker whose column is not known.
    pub(super) fn new(
        cql: &str,
        same_row: bool,
        table: &Table,
        content: &Content,
    ) -> Result<Self, (usize, String)> {
        let reader = Reader::new(table, cql);
        let markers = reader.markers()?;
        let tokens = &reader.tokens;
        let verb = match tokens.first().map(|t| t.text.as_str()) {
            Some("select") => Verb::Select,
            Some("insert") => Verb::Insert,
            Some("update") => Verb::Update,
            Some("delete") => Verb::Delete,
            _ => Verb::Other,
        };
        let has = |word: &str| tokens.iter().any(|t| t.is(word));
        let same_row = same_row || content.clustering_columns == 0;
        let keys = content.partition_columns + content.clustering_columns;
        let wheres: Vec<&Marked> = markers
            .iter()
            .filter(|m| m.part == Clause::Where && m.slot != Slot::Limit)
            .collect();
        let equal = |place: usize| {
            let whole = Slot::Column(place, Part::Whole);
            wheres.iter().any(|m| m.sign == "=" && m.slot == whole)
        };
        let on_key = |m: &&&Marked| {
            let key = matches!(&m.slot, Slot::Column(place, Part::Whole) if *place < keys);
            key && ["=", ">=", "<="].contains(&m.sign.as_str())
        };
        let below = wheres.len() - wheres.len().min(content.partition_columns);
        let certain = verb == Verb::Select
            && (0..content.partition_columns).all(equal)
            && wheres.iter().filter(on_key).count() == wheres.len()
            && conditions(tokens) == wheres.len()
            && (same_row || below <= 1)
            && !has("group");
        let plain = plain_list(tokens);
        Ok(Self {
            same_row,
            verb,
            certain,
            whole_partition: certain && plain && below == 0 && !has("limit"),
            one_row: certain && same_row && (0..keys).all(equal),
            plain,
            effect: effect(verb, &reader, &markers, same_row, keys),
            markers,
        })
    }

    /// What its markers get in operation number `index`.
    pub(super) fn bind(&self, content: &Content, partition: &Partition, index: u64) -> Vec<Bound> {
        let same = self.row(content, partition, index);
        let of_marker = |(number, marked): (usize, &Marked)| {
            if self.same_row {
                return self.bound(content, partition, &same, marked, index);
            }
            let own = content.pick(partition, mix(index ^ mix(number as u64 + 1)));
            self.bound(content, partition, &own, marked, index)
        };
        self.markers.iter().enumerate().map(of_marker).collect()
    }

    /// Rows that its markers are filled from.
    pub(super) fn rows(&self) -> usize {
        if self.same_row { 1 } else { self.markers.len() }
    }

    /// What its markers get from some rows of a partition, at least one: each from any of them, or all from the first.
    pub(super) fn bind_of(
        &self,
        content: &Content,
        partition: &Partition,
        rows: &[RowKey],
        index: u64,
    ) -> Vec<Bound> {
        let of_marker = |(number, marked): (usize, &Marked)| {
            let bits = mix(index ^ mix(number as u64 + 1));
            let place = usize::try_from(share(bits, rows.len() as u64)).unwrap_or(0);
            let row = &rows[if self.same_row { 0 } else { place }];
            self.bound(content, partition, row, marked, index)
        };
        self.markers.iter().enumerate().map(of_marker).collect()
    }

    /// What its markers get for one row.
    pub(super) fn bind_row(
        &self,
        content: &Content,
        partition: &Partition,
        row: &RowKey,
        index: u64,
    ) -> Vec<Bound> {
        let bound = |marked| self.bound(content, partition, row, marked, index);
        self.markers.iter().map(bound).collect()
    }

    /// The row that operation number `index` is about where all markers come from one.
    pub(super) fn row(&self, content: &Content, partition: &Partition, index: u64) -> RowKey {
        content.pick(partition, mix(index))
    }

    fn bound(
        &self,
        content: &Content,
        partition: &Partition,
        row: &RowKey,
        marked: &Marked,
        index: u64,
    ) -> Bound {
        let value = |place: usize| content.value(place, partition, row);
        let int = |n: i32| Bound::Value(CqlValue::Int(n));
        match &marked.slot {
            Slot::Column(place, Part::Whole) => {
                let written =
                    matches!(self.verb, Verb::Insert | Verb::Update) && marked.part == Clause::Head;
                if written && !content.is_written(*place, row) {
                    return Bound::Unset;
                }
                match value(*place) {
                    Some(CqlValue::Map(all)) if marked.sign == "-" => {
                        Bound::Value(CqlValue::Set(all.into_iter().map(|(k, _)| k).collect()))
                    }
                    Some(value) => Bound::Value(value),
                    None => Bound::Unset,
                }
            }
            Slot::Column(place, part) => value(*place)
                .and_then(|whole| part_of(whole, part, mix(index ^ row.digest)))
                .map_or(Bound::Unset, Bound::Value),
            Slot::Tuple(places) => {
                Bound::Value(CqlValue::Tuple(places.iter().map(|p| value(*p)).collect()))
            }
            Slot::Several(places) => several(content, partition, places, index),
            Slot::Limit => int(LIMIT),
            Slot::Ttl => int(TTL),
            Slot::Index => int(0),
            Slot::Timestamp => Bound::Value(CqlValue::Bigint(
                TIMESTAMP.wrapping_add((index & 0xffff_ffff_ffff).cast_signed()),
            )),
            Slot::Json(columns) => {
                let given = columns.iter();
                let given = given.filter(|(place, _)| content.is_written(*place, row));
                let given =
                    given.filter_map(|(place, key)| Some((key.clone(), value(*place)?.json())));
                let object: serde_json::Map<_, _> = given.collect();
                Bound::Value(CqlValue::Text(
                    serde_json::Value::Object(object).to_string(),
                ))
            }
            Slot::Token => Bound::Value(CqlValue::Bigint(mix(index ^ !1).cast_signed())),
        }
    }
}

/// Values of several rows of the partition, for `IN ?`.
fn several(content: &Content, partition: &Partition, places: &[usize], index: u64) -> Bound {
    let mut found: Vec<CqlValue> = Vec::new();
    for number in 0..SEVERAL {
        let row = content.pick(partition, mix(index ^ mix(!number)));
        let mut values = places.iter().map(|p| content.value(*p, partition, &row));
        let one = match places.len() {
            1 => values.next().flatten(),
            _ => Some(CqlValue::Tuple(values.collect())),
        };
        found.extend(one.filter(|one| !found.contains(one)));
    }
    Bound::Value(CqlValue::List(found))
}

/// An element, key, value or field of a value; which element follows from `bits`.
pub(in crate::workload) fn part_of(whole: CqlValue, part: &Part, bits: u64) -> Option<CqlValue> {
    use CqlValue as V;
    let one = |count: usize| usize::try_from(share(bits, count as u64)).unwrap_or(0);
    match (whole, part) {
        (V::List(mut all) | V::Set(mut all) | V::Vector(mut all), Part::Key) => {
            (!all.is_empty()).then(|| all.swap_remove(one(all.len())))
        }
        (V::Map(mut all), part) => {
            if all.is_empty() {
                return None;
            }
            let (key, value) = all.swap_remove(one(all.len()));
            Some(if *part == Part::Key { key } else { value })
        }
        (V::Tuple(mut all), Part::Field(field)) if *field < all.len() => all.swap_remove(*field),
        (V::Udt(mut all), Part::Field(field)) if *field < all.len() => all.swap_remove(*field).1,
        _ => None,
    }
}

/// How many conditions stand behind `WHERE`.
fn conditions(tokens: &[Token]) -> usize {
    let Some(from) = tokens.iter().position(|t| t.is("where")) else {
        return 0;
    };
    1 + tokens[from..].iter().filter(|t| t.is("and")).count()
}

/// Whether a SELECT names only columns.
fn plain_list(tokens: &[Token]) -> bool {
    let Some(end) = tokens.iter().position(|t| t.is("from")) else {
        return false;
    };
    let list = tokens.get(1..end).unwrap_or_default();
    // One name after the other is DISTINCT, JSON or AS.
    let pairs = list
        .windows(2)
        .any(|two| two[0].is_name() && two[1].is_name());
    let simple = |t: &Token| t.is_name() || t.is(",") || t.is("*");
    !list.is_empty() && !pairs && list.iter().all(simple)
}

/// What a statement changes.
fn effect(
    verb: Verb,
    reader: &Reader<'_>,
    markers: &[Marked],
    same_row: bool,
    keys: usize,
) -> Effect {
    let tokens = &reader.tokens;
    let expires = tokens
        .windows(2)
        .any(|two| two[0].is("using") && two[1].is("ttl"));
    let expires = expires || tokens.windows(2).any(|t| t[0].is("and") && t[1].is("ttl"));
    let assigned = match verb {
        Verb::Select => return Effect::default(),
        Verb::Insert => inserted(reader),
        Verb::Update => updated(reader),
        Verb::Delete | Verb::Other => Some(BTreeSet::new()),
    };
    let everything = || (keys..reader.table.columns.len()).collect::<BTreeSet<_>>();
    let assigned = assigned.unwrap_or_else(everything);
    let pure = |place: &usize| {
        let whole = Slot::Column(*place, Part::Whole);
        let of_column = |m: &&Marked| m.part == Clause::Head && m.slot == whole;
        let mut own = markers.iter().filter(of_column);
        let sums = tokens.windows(2).any(|two| {
            two[0].is_name() && two[0].text == reader.table.columns[*place].name && two[1].is("+")
                || two[0].is("+") && two[1].text == reader.table.columns[*place].name
        });
        same_row && !sums && own.any(|m| ["=", "(", ","].contains(&m.sign.as_str()))
    };
    let assigned: BTreeSet<usize> = assigned.into_iter().filter(|c| *c >= keys).collect();
    let loose = match verb {
        Verb::Other => everything(),
        _ => assigned.iter().copied().filter(|c| !pure(c)).collect(),
    };
    let conditional = tokens.iter().any(|t| t.is("if")) && verb == Verb::Update;
    Effect {
        loose,
        partial: (!conditional && verb != Verb::Delete).then_some(assigned),
        takes: expires || matches!(verb, Verb::Delete | Verb::Other),
    }
}

/// The columns of an INSERT; none where they are not known (JSON).
fn inserted(reader: &Reader<'_>) -> Option<BTreeSet<usize>> {
    let open = reader.tokens.iter().position(|t| t.is("("))?;
    let close = reader.tokens.iter().position(|t| t.is(")"))?;
    Some(reader.names(open + 1, close)?.into_iter().collect())
}

/// The columns that an UPDATE sets.
fn updated(reader: &Reader<'_>) -> Option<BTreeSet<usize>> {
    let tokens = &reader.tokens;
    let from = tokens.iter().position(|t| t.is("set"))?;
    let to = tokens.iter().position(|t| t.is("where"))?;
    let mut depth = 0_i32;
    let mut found = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate().take(to).skip(from) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "set" | "," if depth == 0 => {
                let place = reader.names(at + 1, at + 2)?;
                found.extend(place);
            }
            _ => {}
        }
    }
    Some(found)
}
