//! Rows as bytes: liveness, which columns there are, and their cells.
//! Refuses row and range deletions: a load writes, and what it overwrites it overwrites cell by cell.

use crate::bytes::{Parts, put_i32, put_vint, put_with_vint};
use crate::layout::{Column, Layout};
use crate::order::{NotComparable, comparable};
use helenus_cql::codec::value::fixed_length;
use helenus_model::cql::CqlType;

/// When everything that is written expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// Time to live, in seconds.
    pub ttl_s: u32,
    /// When it is over, in seconds since 1970.
    pub at_s: i32,
}

/// The value of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Its place among the static or the regular columns of the layout.
    pub column: usize,
    /// When it was written, in microseconds since 1970.
    pub timestamp_us: i64,
    /// Its value, as CQL serialises it. That of a column of many cells replaces what was there.
    pub value: &'a [u8],
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// When it was inserted, in microseconds since 1970; static rows have no such time.
    pub timestamp_us: i64,
    /// Its cells, ascending by column, each column at most once.
    pub cells: &'a [Cell<'a>],
}

/// The values of the clustering columns, as they stand in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clustering;

impl Clustering {
    /// Appends the values in the form that [`crate::Writer::row`] takes; they are as CQL serialises them.
    pub fn encode<'a>(
        layout: &Layout,
        values: impl Iterator<Item = &'a [u8]> + Clone,
        out: &mut Vec<u8>,
    ) {
        let mut all = values.zip(&layout.lengths).peekable();
        while all.peek().is_some() {
            let block = all.clone().take(32);
            // Two bits a value: null, empty.
            let empty = block
                .clone()
                .enumerate()
                .filter(|(_, (value, _))| value.is_empty());
            put_vint(empty.fold(0, |bits, (at, _)| bits | 1 << (2 * at)), out);
            for (value, length) in block.filter(|(value, _)| !value.is_empty()) {
                match length {
                    Some(_) => out.extend_from_slice(value),
                    None => put_with_vint(value, out),
                }
            }
            all.nth(31);
        }
    }
}

/// What the times of an SSTable are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base {
    /// The least timestamp, in microseconds.
    pub(crate) timestamp_us: i64,
    /// The least time of a deletion, in seconds.
    pub(crate) deletion_s: i32,
    /// When everything expires.
    pub(crate) expiry: Option<Expiry>,
}

const HAS_TIMESTAMP: u8 = 0x04;
const HAS_TTL: u8 = 0x08;
const HAS_ALL_COLUMNS: u8 = 0x20;
const HAS_COMPLEX_DELETION: u8 = 0x40;
const EXTENDED: u8 = 0x80;
const IS_STATIC: u8 = 0x01;

const CELL_EXPIRES: u8 = 0x02;
const CELL_EMPTY: u8 = 0x04;
const CELL_ROW_TIMESTAMP: u8 = 0x08;
const CELL_ROW_TTL: u8 = 0x10;

/// The flag that ends a partition.
pub(crate) const END_OF_PARTITION: u8 = 0x01;

/// Makes rows into bytes.
#[derive(Debug)]
pub(crate) struct RowWriter {
    base: Base,
    body: Vec<u8>,
    /// Paths and values of a column of many cells, behind each other, and where each is.
    parts: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>,
    /// Cells that were written.
    pub(crate) cells: u64,
    /// Columns of many cells that were replaced.
    pub(crate) deletions: u64,
}

impl RowWriter {
    pub(crate) fn new(base: Base) -> Self {
        Self {
            base,
            body: Vec::new(),
            parts: Vec::new(),
            cells: 0,
            deletions: 0,
        }
    }

    /// Appends a row; `clustering` is none of a static one. `before` is the size of what stands before it.
    pub(crate) fn put(
        &mut self,
        columns: &[Column],
        (clustering, row): (Option<&[u8]>, Row<'_>),
        before: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), NotComparable> {
        let lives = clustering.map(|_| row.timestamp_us);
        let replaces = row.cells.iter().any(|cell| columns[cell.column].multi_cell);
        let mut flags = 0;
        if lives.is_some() {
            flags |= HAS_TIMESTAMP;
            if self.base.expiry.is_some() {
                flags |= HAS_TTL;
            }
        }
        if row.cells.len() == columns.len() {
            flags |= HAS_ALL_COLUMNS;
        }
        if replaces {
            flags |= HAS_COMPLEX_DELETION;
        }
        match clustering {
            Some(clustering) => {
                out.push(flags);
                out.extend_from_slice(clustering);
            }
            None => out.extend_from_slice(&[flags | EXTENDED, IS_STATIC]),
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let done = self.put_body(columns, row, (flags, lives), &mut body);
        let mut previous = Vec::with_capacity(9);
        put_vint(before, &mut previous);
        put_vint((body.len() + previous.len()) as u64, out);
        out.extend_from_slice(&previous);
        out.extend_from_slice(&body);
        self.body = body;
        done
    }

    fn put_body(
        &mut self,
        columns: &[Column],
        row: Row<'_>,
        (flags, lives): (u8, Option<i64>),
        out: &mut Vec<u8>,
    ) -> Result<(), NotComparable> {
        if let Some(timestamp) = lives {
            self.put_timestamp(timestamp, out);
            if self.base.expiry.is_some() {
                // Everything expires at once: the difference to the least TTL is 0.
                put_vint(0, out);
                self.put_expiry(out);
            }
        }
        if flags & HAS_ALL_COLUMNS == 0 {
            let there = row
                .cells
                .iter()
                .fold(0_u64, |bits, cell| bits | 1 << cell.column);
            put_vint(((1 << columns.len()) - 1) & !there, out);
        }
        for cell in row.cells {
            let column = &columns[cell.column];
            match column.multi_cell {
                false => self.put_simple(column, *cell, lives, out),
                true => self.put_complex(column, *cell, lives, out)?,
            }
        }
        Ok(())
    }

    fn put_timestamp(&self, timestamp: i64, out: &mut Vec<u8>) {
        put_vint(
            timestamp
                .wrapping_sub(self.base.timestamp_us)
                .cast_unsigned(),
            out,
        );
    }

    fn put_expiry(&self, out: &mut Vec<u8>) {
        if let Some(expiry) = self.base.expiry {
            let since = i64::from(expiry.at_s) - i64::from(self.base.deletion_s);
            put_vint(since.cast_unsigned(), out);
        }
    }

    /// What goes before a cell's value.
    fn put_head(&mut self, cell: Cell<'_>, empty: bool, lives: Option<i64>, out: &mut Vec<u8>) {
        self.cells += 1;
        let mut flags = if empty { CELL_EMPTY } else { 0 };
        if lives == Some(cell.timestamp_us) {
            flags |= CELL_ROW_TIMESTAMP;
        }
        if self.base.expiry.is_some() {
            flags |= CELL_EXPIRES;
            if lives.is_some() {
                flags |= CELL_ROW_TTL;
            }
        }
        out.push(flags);
        if flags & CELL_ROW_TIMESTAMP == 0 {
            self.put_timestamp(cell.timestamp_us, out);
        }
        if flags & CELL_EXPIRES != 0 && flags & CELL_ROW_TTL == 0 {
            self.put_expiry(out);
            put_vint(0, out);
        }
    }

    fn put_simple(
        &mut self,
        column: &Column,
        cell: Cell<'_>,
        lives: Option<i64>,
        out: &mut Vec<u8>,
    ) {
        self.put_head(cell, cell.value.is_empty(), lives, out);
        match (cell.value.is_empty(), fixed_length(&column.ty)) {
            (true, _) => {}
            (false, Some(_)) => out.extend_from_slice(cell.value),
            (false, None) => put_with_vint(cell.value, out),
        }
    }

    /// A column of many cells: what was there is deleted a microsecond before, as `INSERT` does.
    fn put_complex(
        &mut self,
        column: &Column,
        cell: Cell<'_>,
        lives: Option<i64>,
        out: &mut Vec<u8>,
    ) -> Result<(), NotComparable> {
        self.deletions += 1;
        self.put_timestamp(cell.timestamp_us.saturating_sub(1), out);
        put_vint(0, out);
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        let done = split(&column.ty, cell, &mut parts);
        put_vint(parts.len() as u64, out);
        for (_, path, value) in &parts {
            self.put_head(cell, value.is_empty(), lives, out);
            put_with_vint(path, out);
            if !value.is_empty() {
                put_with_vint(value, out);
            }
        }
        self.parts = parts;
        done
    }
}

/// A column's parts in the order of their paths: what sorts, path, value.
fn split(
    ty: &CqlType,
    cell: Cell<'_>,
    parts: &mut Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>,
) -> Result<(), NotComparable> {
    let sorted = |ty: &CqlType, path: &[u8]| {
        let mut order = Vec::new();
        comparable(ty, path, false, &mut order).map(|()| order)
    };
    match ty {
        CqlType::Set(element) => {
            let elements = Parts::counted(cell.value)
                .into_iter()
                .flat_map(|(_, parts)| parts);
            for path in elements.flatten() {
                parts.push((sorted(element, path)?, path.to_vec(), Vec::new()));
            }
        }
        CqlType::Map(key, _) => {
            let mut pairs = Parts::counted(cell.value)
                .into_iter()
                .flat_map(|(_, parts)| parts);
            while let (Some(Some(path)), Some(Some(value))) = (pairs.next(), pairs.next()) {
                parts.push((sorted(key, path)?, path.to_vec(), value.to_vec()));
            }
        }
        CqlType::List(_) => {
            let elements = Parts::counted(cell.value)
                .into_iter()
                .flat_map(|(_, parts)| parts);
            for (at, value) in elements.flatten().enumerate() {
                let path = list_path(cell.timestamp_us, at);
                parts.push((Vec::new(), path.to_vec(), value.to_vec()));
            }
            return Ok(());
        }
        CqlType::Udt { fields, .. } => {
            for (at, value) in Parts::of(cell.value).take(fields.len()).enumerate() {
                let Some(value) = value else { continue };
                let mut path = Vec::with_capacity(2);
                crate::bytes::put_u16(u16::try_from(at).unwrap_or(u16::MAX), &mut path);
                parts.push((Vec::new(), path, value.to_vec()));
            }
            return Ok(());
        }
        _ => return Ok(()),
    }
    parts.sort_by(|a, b| a.0.cmp(&b.0));
    parts.dedup_by(|later, first| later.0 == first.0);
    Ok(())
}

/// The place of a list's element: a time UUID of the row's time. The last bytes count, seven bits each, since
/// Cassandra compares them as signed ones.
fn list_path(timestamp_us: i64, at: usize) -> [u8; 16] {
    /// Ticks of 100 ns from the calendar's reform in 1582 to 1970.
    const REFORM: i64 = 0x01b2_1dd2_1381_4000;
    let ticks = timestamp_us
        .wrapping_mul(10)
        .wrapping_add(REFORM)
        .to_be_bytes();
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&ticks[4..]);
    uuid[4..6].copy_from_slice(&ticks[2..4]);
    uuid[6] = 0x10 | ticks[0] & 0x0f;
    uuid[7] = ticks[1];
    uuid[8] = 0x80;
    for place in 0..5 {
        uuid[15 - place] = u8::try_from(at >> (7 * place) & 0x7f).unwrap_or(0);
    }
    uuid
}

/// The head of a partition: its key, and that it is not deleted.
pub(crate) fn put_partition(key: &[u8], out: &mut Vec<u8>) {
    crate::bytes::put_with_u16(key, out);
    put_live(out);
}

/// A deletion that never was.
pub(crate) fn put_live(out: &mut Vec<u8>) {
    put_i32(i32::MAX, out);
    crate::bytes::put_i64(i64::MIN, out);
}
