//! Tables of a serving stand-in and their rows, in memory.
//! Refuses types: a value is the bytes that came, and they are given back as they came.

use crate::statement::Shape;
use helenus_cql::codec::{Bound, ColumnSpec};
use helenus_model::cql::CqlType;
use std::collections::HashMap;

/// A table with its rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) keyspace: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<(String, CqlType)>,
    /// Places of the partition key's columns.
    pub(crate) partition: Vec<usize>,
    /// Places of the clustering columns.
    pub(crate) clustering: Vec<usize>,
    /// Write time and cells, by key.
    rows: HashMap<Vec<u8>, (i64, Vec<u8>)>,
}

impl Table {
    /// An empty table, or the key's column that is none of its columns.
    pub(crate) fn new(keyspace: String, shape: Shape) -> Result<Self, String> {
        let mut table = Self {
            keyspace,
            name: shape.table.1,
            columns: shape.columns,
            partition: Vec::new(),
            clustering: Vec::new(),
            rows: HashMap::new(),
        };
        table.partition = table.places(&shape.partition)?;
        table.clustering = table.places(&shape.clustering)?;
        Ok(table)
    }

    /// Places of these columns.
    pub(crate) fn places(&self, names: &[String]) -> Result<Vec<usize>, String> {
        let place = |name: &String| {
            let place = self.columns.iter().position(|(known, _)| known == name);
            place.ok_or_else(|| format!("{}.{} has no column {name}", self.keyspace, self.name))
        };
        names.iter().map(place).collect()
    }

    /// Places of what is selected: columns, and behind the last of them the time at which a row was written.
    pub(crate) fn selected(&self, names: &[String]) -> Result<Vec<usize>, String> {
        let place = |name: &String| {
            let of = name.strip_prefix("writetime(");
            match of.and_then(|of| of.strip_suffix(')')) {
                None => self
                    .places(std::slice::from_ref(name))
                    .map(|found| found[0]),
                Some(of) => self.places(&[of.to_owned()]).map(|_| self.columns.len()),
            }
        };
        names.iter().map(place).collect()
    }

    /// Places of the primary key's columns.
    pub(crate) fn key(&self) -> impl Iterator<Item = usize> {
        self.partition.iter().chain(&self.clustering).copied()
    }

    /// The description of these columns.
    pub(crate) fn specs(&self, places: &[usize]) -> Vec<ColumnSpec> {
        let written = ("writetime".to_owned(), CqlType::Bigint);
        let spec = |place: &usize| {
            let (name, ty) = self.columns.get(*place).unwrap_or(&written).clone();
            ColumnSpec {
                keyspace: self.keyspace.clone(),
                table: self.name.clone(),
                name,
                ty,
            }
        };
        places.iter().map(spec).collect()
    }

    /// The bytes by which a row is found; `places` names the column of each value.
    fn key_of(&self, places: &[usize], values: &[Bound]) -> Result<Vec<u8>, String> {
        let mut key = Vec::new();
        for column in self.key() {
            let at = places.iter().position(|place| *place == column);
            match at.and_then(|at| values.get(at)) {
                Some(Bound::Value(bytes)) => put_cell(Some(bytes), &mut key),
                _ => {
                    return Err(format!(
                        "the key's column {} has no value",
                        self.columns[column].0
                    ));
                }
            }
        }
        Ok(key)
    }

    /// Writes values into columns of a row, which is made where there was none; an older write changes nothing.
    pub(crate) fn insert(
        &mut self,
        places: &[usize],
        values: &[Bound],
        written_us: i64,
    ) -> Result<(), String> {
        let key = self.key_of(places, values)?;
        let old = self.rows.get(&key);
        if old.is_some_and(|(at_us, _)| *at_us > written_us) {
            return Ok(());
        }
        let old = old.map_or(&[][..], |(_, row)| row.as_slice());
        let mut cells = cells(old);
        cells.resize(self.columns.len(), None);
        for (place, value) in places.iter().zip(values) {
            match value {
                Bound::Value(bytes) => cells[*place] = Some(bytes),
                Bound::Null => cells[*place] = None,
                Bound::Unset => {}
            }
        }
        let mut row = Vec::new();
        cells.into_iter().for_each(|cell| put_cell(cell, &mut row));
        self.rows.insert(key, (written_us, row));
        Ok(())
    }

    /// The wanted columns of the row with this key, as they stand in a result; none where there is no row.
    pub(crate) fn select(
        &self,
        wanted: &[usize],
        by: &[usize],
        values: &[Bound],
    ) -> Result<Option<Vec<u8>>, String> {
        let key = self.key_of(by, values)?;
        Ok(self.rows.get(&key).map(|(written_us, row)| {
            let cells = cells(row);
            let written = written_us.to_be_bytes();
            let mut out = Vec::new();
            for place in wanted {
                let cell = match *place < self.columns.len() {
                    true => cells.get(*place).copied().flatten(),
                    false => Some(&written[..]),
                };
                put_cell(cell, &mut out);
            }
            out
        }))
    }
}

/// A length and the bytes, or −1 for null.
fn put_cell(cell: Option<&[u8]>, out: &mut Vec<u8>) {
    let length = cell.map_or(-1, |bytes| bytes.len() as i32);
    out.extend(length.to_be_bytes());
    out.extend(cell.unwrap_or_default());
}

/// What [`put_cell`] wrote.
fn cells(mut row: &[u8]) -> Vec<Option<&[u8]>> {
    let mut cells = Vec::new();
    while let Some((length, rest)) = row.split_first_chunk() {
        let length = usize::try_from(i32::from_be_bytes(*length));
        let (cell, rest) = rest.split_at(length.unwrap_or(0));
        cells.push(length.is_ok().then_some(cell));
        row = rest;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_whole_key_and_keep_what_is_not_written() {
        let column = |name: &str| (name.to_owned(), CqlType::Blob);
        let shape = Shape {
            table: (None, "t".into()),
            columns: vec![column("v"), column("k"), column("c"), column("w")],
            partition: vec!["k".into()],
            clustering: vec!["c".into()],
        };
        let mut table = Table::new("ks".into(), shape).unwrap();
        let value = |text: &str| Bound::Value(text.into());
        let first = [value("1"), value("k"), value("c"), value("2")];
        table.insert(&[0, 1, 2, 3], &first, 5).unwrap();
        let second = [value("c"), value("k"), Bound::Unset, Bound::Null];
        table.insert(&[2, 1, 0, 3], &second, 5).unwrap();
        let read = |key: [Bound; 2]| table.select(&[3, 0], &[1, 2], &key).unwrap();
        let row = read([value("k"), value("c")]).unwrap();
        assert_eq!(cells(&row), [None, Some(&b"1"[..])]);
        assert_eq!(read([value("kc"), value("")]), None);
        assert!(table.insert(&[1], &[value("k")], 5).is_err());
        let no_key = [value("k"), Bound::Null];
        assert!(table.insert(&[1, 2], &no_key, 5).is_err());
        assert!(table.places(&["x".into()]).is_err());
    }

    #[test]
    fn the_newer_write_stays_and_gives_its_time() {
        let column = |name: &str| (name.to_owned(), CqlType::Blob);
        let shape = Shape {
            table: (None, "t".into()),
            columns: vec![column("k"), column("v")],
            partition: vec!["k".into()],
            clustering: Vec::new(),
        };
        let mut table = Table::new("ks".into(), shape).unwrap();
        let value = |text: &str| Bound::Value(text.into());
        for (v, at_us) in [("a", 7), ("b", 6)] {
            let row = [value("k"), value(v)];
            table.insert(&[0, 1], &row, at_us).unwrap();
        }
        let wanted = table
            .selected(&["writetime(v)".into(), "v".into()])
            .unwrap();
        assert_eq!(table.specs(&wanted)[0].ty, CqlType::Bigint);
        let row = table.select(&wanted, &[0], &[value("k")]).unwrap().unwrap();
        let time = 7_i64.to_be_bytes();
        assert_eq!(cells(&row), [Some(&time[..]), Some(&b"a"[..])]);
        assert!(table.selected(&["writetime(x)".into()]).is_err());
    }
}
