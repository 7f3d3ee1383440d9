//! What a RESULT carries: rows with their columns, a prepared statement, a change.
//! Refuses to keep rows decoded: a page holds their bytes until somebody asks.

use super::envelope::Version;
use super::error::{DecodeError, EncodeError};
use super::event::SchemaChange;
use super::types::{decode_type, encode_type};
use super::value::{decode_within, encode_cell};
use super::wire::{Budget, Reader, Write};
use helenus_model::cql::{CqlType, CqlValue};

/// A column, or a statement's marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its table's keyspace.
    pub keyspace: String,
    /// Its table.
    pub table: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: CqlType,
}

/// A row's values, by column.
pub type Row = Vec<Option<CqlValue>>;

/// The body of a RESULT.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryResult {
    /// Done, nothing to say.
    Void,
    /// Rows.
    Rows(RowsPage),
    /// The connection's keyspace is now this.
    SetKeyspace(String),
    /// A prepared statement.
    Prepared(Prepared),
    /// The schema changed.
    SchemaChange(SchemaChange),
}

/// One page of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RowsPage {
    /// The columns; none when the request said to leave them out.
    pub columns: Option<Vec<ColumnSpec>>,
    /// How many columns a row has.
    pub column_count: usize,
    /// Where the next page starts; none on the last.
    pub paging_state: Option<Vec<u8>>,
    /// The new id of a prepared statement's result metadata, when it changed (v5).
    pub new_metadata_id: Option<Vec<u8>>,
    /// How many rows there are.
    pub row_count: usize,
    /// The rows' bytes: for each value an `[int]` length and as many bytes.
    pub bytes: Vec<u8>,
}

/// One page of rows, its bytes where they were received.
#[derive(Debug, Clone, PartialEq)]
pub struct RowsView<'a> {
    /// The columns; none when the request said to leave them out.
    pub columns: Option<Vec<ColumnSpec>>,
    /// How many columns a row has.
    pub column_count: usize,
    /// Where the next page starts; none on the last.
    pub paging_state: Option<&'a [u8]>,
    /// The new id of a prepared statement's result metadata, when it changed (v5).
    pub new_metadata_id: Option<&'a [u8]>,
    /// How many rows there are.
    pub row_count: usize,
    /// The rows' bytes: for each value an `[int]` length and as many bytes.
    pub bytes: &'a [u8],
}

/// A prepared statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Its id.
    pub id: Vec<u8>,
    /// The id of its result metadata (v5).
    pub result_metadata_id: Option<Vec<u8>>,
    /// Its markers.
    pub markers: Vec<ColumnSpec>,
    /// Which markers make up the partition key, in the key's order.
    pub partition_key: Vec<u16>,
    /// The columns of its rows.
    pub columns: Vec<ColumnSpec>,
}

const GLOBAL_TABLE: i32 = 0x01;
const MORE_PAGES: i32 = 0x02;
const NO_METADATA: i32 = 0x04;
const METADATA_CHANGED: i32 = 0x08;

const VOID: i32 = 1;
const ROWS: i32 = 2;
const SET_KEYSPACE: i32 = 3;
const PREPARED: i32 = 4;
const SCHEMA_CHANGE: i32 = 5;

/// Whether all columns share one table, which is then written once.
fn one_table(columns: &[ColumnSpec]) -> bool {
    columns
        .windows(2)
        .all(|two| two[0].keyspace == two[1].keyspace && two[0].table == two[1].table)
        && !columns.is_empty()
}

fn encode_columns(
    columns: &[ColumnSpec],
    version: Version,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let global = one_table(columns);
    if let (true, Some(first)) = (global, columns.first()) {
        out.put_string("keyspace", &first.keyspace)?;
        out.put_string("table", &first.table)?;
    }
    columns.iter().try_for_each(|column| {
        if !global {
            out.put_string("keyspace", &column.keyspace)?;
            out.put_string("table", &column.table)?;
        }
        out.put_string("column", &column.name)?;
        encode_type(&column.ty, version, out)
    })
}

fn decode_columns(
    count: usize,
    global: bool,
    reader: &mut Reader<'_>,
    budget: &mut Budget,
) -> Result<Vec<ColumnSpec>, DecodeError> {
    let shared = match global {
        true => Some((reader.string("keyspace")?, reader.string("table")?)),
        false => None,
    };
    let mut columns = Vec::new();
    for _ in 0..count {
        let (keyspace, table) = match &shared {
            Some((keyspace, table)) => {
                budget.spend(keyspace.len() + table.len())?;
                (keyspace.clone(), table.clone())
            }
            None => (reader.string("keyspace")?, reader.string("table")?),
        };
        columns.push(ColumnSpec {
            keyspace,
            table,
            name: reader.string("column")?,
            ty: decode_type(reader)?,
        });
    }
    Ok(columns)
}

impl RowsPage {
    /// A last page of these rows.
    ///
    /// # Errors
    /// A value that is not of its column's type.
    pub fn of(columns: Vec<ColumnSpec>, rows: &[Row]) -> Result<Self, EncodeError> {
        let mut bytes = Vec::new();
        for row in rows {
            if row.len() != columns.len() {
                return Err(EncodeError::Arity {
                    ty: "a row".to_owned(),
                    expected: columns.len(),
                    found: row.len(),
                });
            }
            for (column, value) in columns.iter().zip(row) {
                encode_cell(&column.ty, value.as_ref(), &mut bytes)?;
            }
        }
        Ok(Self {
            column_count: columns.len(),
            columns: Some(columns),
            paging_state: None,
            new_metadata_id: None,
            row_count: rows.len(),
            bytes,
        })
    }

    fn view(&self) -> RowsView<'_> {
        RowsView {
            columns: None,
            column_count: self.column_count,
            paging_state: self.paging_state.as_deref(),
            new_metadata_id: self.new_metadata_id.as_deref(),
            row_count: self.row_count,
            bytes: &self.bytes,
        }
    }

    /// As [`RowsView::rows`].
    ///
    /// # Errors
    /// As [`RowsView::rows`].
    pub fn rows(&self, columns: &[ColumnSpec]) -> Result<Vec<Row>, DecodeError> {
        self.view().rows(columns)
    }

    /// As [`RowsView::cells`].
    pub fn cells(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.view().cells()
    }

    fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let columns = self.columns.as_deref();
        let global = columns.is_some_and(one_table);
        let when = |set: bool, flag: i32| if set { flag } else { 0 };
        out.put_i32(
            when(global, GLOBAL_TABLE)
                | when(self.paging_state.is_some(), MORE_PAGES)
                | when(columns.is_none(), NO_METADATA)
                | when(self.new_metadata_id.is_some(), METADATA_CHANGED),
        );
        out.put_count("columns", self.column_count)?;
        if let Some(state) = &self.paging_state {
            out.put_bytes("paging state", Some(state))?;
        }
        if let Some(id) = &self.new_metadata_id {
            if version < Version::V5 {
                return Err(EncodeError::NeedsV5 {
                    what: "a result metadata id",
                });
            }
            out.put_short_bytes("result metadata id", id)?;
        }
        encode_columns(columns.unwrap_or_default(), version, out)?;
        out.put_count("rows", self.row_count)?;
        out.extend_from_slice(&self.bytes);
        Ok(())
    }
}

impl<'a> RowsView<'a> {
    pub(crate) fn decode(
        reader: &mut Reader<'a>,
        budget: &mut Budget,
    ) -> Result<Self, DecodeError> {
        let flags = known_flags("rows", reader.i32("rows flags")?)?;
        let column_count = column_count(flags, reader)?;
        let paging_state = match flags & MORE_PAGES {
            0 => None,
            _ => reader.bytes("paging state")?,
        };
        let new_metadata_id = match flags & METADATA_CHANGED {
            0 => None,
            _ => Some(reader.short_bytes("result metadata id")?),
        };
        let columns = match flags & NO_METADATA {
            0 => Some(decode_columns(
                column_count,
                flags & GLOBAL_TABLE != 0,
                reader,
                budget,
            )?),
            _ => None,
        };
        let row_count = reader.count("rows", column_count.saturating_mul(4))?;
        let bytes = reader.rest();
        let mut cells = Reader::new(bytes);
        for _ in 0..row_count.saturating_mul(column_count) {
            cells.bytes("value")?;
        }
        cells.end("rows")?;
        Ok(Self {
            columns,
            column_count,
            paging_state,
            new_metadata_id,
            row_count,
            bytes,
        })
    }

    /// The same with bytes of its own.
    pub fn to_page(self) -> RowsPage {
        RowsPage {
            columns: self.columns,
            column_count: self.column_count,
            paging_state: self.paging_state.map(<[u8]>::to_vec),
            new_metadata_id: self.new_metadata_id.map(<[u8]>::to_vec),
            row_count: self.row_count,
            bytes: self.bytes.to_vec(),
        }
    }

    /// The rows, read as values of `columns` (which are the prepared statement's where the page
    /// has none of its own).
    ///
    /// # Errors
    /// A value that is not of its column's type, or columns that do not fit.
    pub fn rows(&self, columns: &[ColumnSpec]) -> Result<Vec<Row>, DecodeError> {
        if columns.len() != self.column_count {
            return Err(DecodeError::Count {
                what: "columns",
                count: columns.len() as i64,
                most: self.column_count,
            });
        }
        let mut budget = Budget::of(self.bytes.len());
        let mut reader = Reader::new(self.bytes);
        let mut rows = Vec::new();
        for _ in 0..self.row_count {
            let mut row = Vec::with_capacity(columns.len());
            for column in columns {
                let bytes = reader.bytes("value")?;
                let value = bytes.map(|bytes| decode_within(&column.ty, bytes, &mut budget));
                row.push(value.transpose()?.flatten());
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// The cells' bytes, row after row, column after column; none being null. There are `row_count` × `column_count`.
    pub fn cells(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        let count = self.row_count.saturating_mul(self.column_count);
        // Whether they are all there was checked when the page was decoded; one made by hand may end early.
        (0..count).map_while(move |_| reader.bytes("value").ok())
    }
}

fn known_flags(what: &'static str, flags: i32) -> Result<i32, DecodeError> {
    let known = GLOBAL_TABLE | MORE_PAGES | NO_METADATA | METADATA_CHANGED;
    if flags & !known == 0 {
        return Ok(flags);
    }
    Err(DecodeError::Flags {
        what,
        flags: flags as u32,
    })
}

/// Columns take at least four bytes each, unless the metadata is left out.
fn column_count(flags: i32, reader: &mut Reader<'_>) -> Result<usize, DecodeError> {
    if flags & NO_METADATA == 0 {
        return reader.count("columns", 4);
    }
    let count = reader.i32("columns")?;
    usize::try_from(count).map_err(|_| DecodeError::Count {
        what: "columns",
        count: i64::from(count),
        most: i32::MAX as usize,
    })
}

impl Prepared {
    fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.put_short_bytes("statement id", &self.id)?;
        if version >= Version::V5 {
            let id = self.result_metadata_id.as_deref().unwrap_or_default();
            out.put_short_bytes("result metadata id", id)?;
        }
        out.put_i32(if one_table(&self.markers) {
            GLOBAL_TABLE
        } else {
            0
        });
        out.put_count("markers", self.markers.len())?;
        out.put_count("partition key", self.partition_key.len())?;
        self.partition_key
            .iter()
            .for_each(|index| out.put_u16(*index));
        encode_columns(&self.markers, version, out)?;
        if self.columns.is_empty() {
            out.put_i32(NO_METADATA);
            out.put_i32(0);
            return Ok(());
        }
        out.put_i32(if one_table(&self.columns) {
            GLOBAL_TABLE
        } else {
            0
        });
        out.put_count("columns", self.columns.len())?;
        encode_columns(&self.columns, version, out)
    }

    fn decode(
        version: Version,
        reader: &mut Reader<'_>,
        budget: &mut Budget,
    ) -> Result<Self, DecodeError> {
        let id = reader.short_bytes("statement id")?.to_vec();
        let result_metadata_id = match version {
            Version::V4 => None,
            Version::V5 => Some(reader.short_bytes("result metadata id")?.to_vec()),
        };
        let flags = known_flags("markers", reader.i32("markers flags")?)?;
        let count = reader.count("markers", 4)?;
        let key_count = reader.count("partition key", 2)?;
        let key = (0..key_count).map(|_| reader.u16("partition key"));
        let partition_key = key.collect::<Result<_, _>>()?;
        let global = flags & GLOBAL_TABLE != 0;
        let markers = decode_columns(count, global, reader, budget)?;
        let flags = known_flags("columns", reader.i32("columns flags")?)?;
        let count = column_count(flags, reader)?;
        if flags & MORE_PAGES != 0 {
            reader.bytes("paging state")?;
        }
        let columns = match flags & NO_METADATA {
            0 => decode_columns(count, flags & GLOBAL_TABLE != 0, reader, budget)?,
            _ => Vec::new(),
        };
        Ok(Self {
            id,
            result_metadata_id,
            markers,
            partition_key,
            columns,
        })
    }
}

/// What a server answers to a statement, rows where they were received.
#[derive(Debug)]
pub enum Answer<'a> {
    /// Done, nothing to say.
    Void,
    /// Rows.
    Rows(RowsView<'a>),
    /// Any other result.
    Other(QueryResult),
}

impl<'a> Answer<'a> {
    pub(crate) fn decode(version: Version, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        Ok(match ahead.i32("kind of result")? {
            VOID => {
                *reader = ahead;
                Self::Void
            }
            ROWS => {
                *reader = ahead;
                let budget = &mut Budget::of(reader.left());
                Self::Rows(RowsView::decode(reader, budget)?)
            }
            _ => Self::Other(QueryResult::decode(version, reader)?),
        })
    }
}

impl QueryResult {
    pub(crate) fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Void => {
                out.put_i32(VOID);
                Ok(())
            }
            Self::Rows(page) => {
                out.put_i32(ROWS);
                page.encode(version, out)
            }
            Self::SetKeyspace(keyspace) => {
                out.put_i32(SET_KEYSPACE);
                out.put_string("keyspace", keyspace)
            }
            Self::Prepared(prepared) => {
                out.put_i32(PREPARED);
                prepared.encode(version, out)
            }
            Self::SchemaChange(change) => {
                out.put_i32(SCHEMA_CHANGE);
                change.encode(out)
            }
        }
    }

    pub(crate) fn decode(version: Version, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let budget = &mut Budget::of(reader.left());
        match reader.i32("kind of result")? {
            VOID => Ok(Self::Void),
            ROWS => RowsView::decode(reader, budget).map(|view| Self::Rows(view.to_page())),
            SET_KEYSPACE => reader.string("keyspace").map(Self::SetKeyspace),
            PREPARED => Prepared::decode(version, reader, budget).map(Self::Prepared),
            SCHEMA_CHANGE => SchemaChange::decode(reader).map(Self::SchemaChange),
            kind => Err(DecodeError::UnknownCode {
                what: "kind of result",
                code: i64::from(kind),
            }),
        }
    }
}
