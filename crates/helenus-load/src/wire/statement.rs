//! Prepared statements, and a request that is being made of them: values encoded as the wire wants them.
//! Refuses to know where a request goes.

use super::fault::of_server;
use crate::endpoint::{Call, EndpointError, Fault};
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::envelope::{Header, Opcode};
use helenus_cql::codec::value::encode_cell;
use helenus_cql::codec::wire::{Reader, Write as _};
use helenus_cql::codec::{
    Answer, BatchType, BoundStatement, ColumnSpec, Consistency, EncodeError, Execution, Prepared,
    QueryResult, RowsView, ServerError, Version,
};
use helenus_model::cql::CqlType;
use helenus_model::ring::{composite_key, murmur3_token};
use helenus_model::run_plan::SerialConsistency;
use helenus_model::sample::FailureKind;
use helenus_model::workload::operation::{Bound, Work};

/// First column of the answer to a conditional statement.
pub(super) const APPLIED: &str = "[applied]";

/// A statement that the nodes know.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) cql: String,
    pub(super) id: Vec<u8>,
    /// The id of the result metadata that we know; empty where the server speaks v4.
    pub(super) metadata_id: Vec<u8>,
    /// The markers' names.
    pub(super) markers: Vec<String>,
    /// The markers' types.
    pub(super) types: Vec<CqlType>,
    /// The columns of its rows.
    pub(super) columns: Vec<ColumnSpec>,
    /// Whether its rows are asked for with their columns: these have changed, and the server does not say when (v4).
    described: bool,
    /// Which markers make up the partition key, in the key's order.
    partition_key: Vec<u16>,
    /// The keyspace of its table.
    pub(super) keyspace: Option<String>,
    /// Its own consistency.
    pub(super) consistency: Option<Consistency>,
    /// Its own serial consistency.
    pub(super) serial: Option<Consistency>,
}

impl Statement {
    /// Prepares a statement of this operation.
    ///
    /// # Errors
    /// What the server refuses, and markers of types that CQL has no name for.
    pub(super) fn prepare(
        client: &mut Client,
        operation: &str,
        cql: &str,
    ) -> Result<Self, EndpointError> {
        let prepared = client
            .prepare(cql)
            .map_err(|error| refusal(operation, error))?;
        if let Some(strange) = prepared.markers.iter().find(|m| !is_known(&m.ty)) {
            return Err(EndpointError::Marker {
                operation: operation.to_owned(),
                marker: strange.name.clone(),
            });
        }
        let first = prepared.markers.first().or(prepared.columns.first());
        Ok(Self {
            cql: cql.to_owned(),
            keyspace: first.map(|spec| spec.keyspace.clone()),
            id: prepared.id,
            metadata_id: prepared.result_metadata_id.unwrap_or_default(),
            markers: prepared.markers.iter().map(|m| m.name.clone()).collect(),
            types: prepared.markers.into_iter().map(|m| m.ty).collect(),
            columns: prepared.columns,
            described: false,
            partition_key: prepared.partition_key,
            consistency: None,
            serial: None,
        })
    }

    /// It was prepared again, and this is what it is now.
    pub(super) fn renew(&mut self, prepared: Prepared) {
        let metadata_id = prepared.result_metadata_id.unwrap_or_default();
        // A node answers what was sent before with what was: v5 says which columns these are, v4 has to be asked.
        self.described |= metadata_id.is_empty() && self.columns != prepared.columns;
        self.metadata_id = metadata_id;
        self.columns = prepared.columns;
    }

    /// Whether its answer says that a condition was met: what was not applied comes back with more columns.
    pub(super) fn is_conditional(&self) -> bool {
        self.columns.first().is_some_and(|c| c.name == APPLIED)
    }

    /// The token of the partition that these values are of; none where the key is not all bound.
    fn token(&self, values: &[u8]) -> Option<i64> {
        let value = |wanted: u16| {
            let mut reader = Reader::new(values);
            for _ in 0..wanted {
                skip(&mut reader)?;
            }
            reader.bytes("a key").ok().flatten()
        };
        match self.partition_key[..] {
            [] => None,
            [only] => value(only).map(murmur3_token),
            _ => {
                let parts = self.partition_key.iter().map(|index| value(*index));
                let parts: Vec<&[u8]> = parts.collect::<Option<_>>()?;
                Some(murmur3_token(&composite_key(parts)))
            }
        }
    }
}

/// Passes over one value.
fn skip(reader: &mut Reader<'_>) -> Option<()> {
    let length = reader.i32("a value").ok()?;
    reader
        .take("a value", usize::try_from(length).unwrap_or(0))
        .ok()
        .map(drop)
}

/// Why a statement cannot be prepared: the server's own words, or a connection that has failed.
fn refusal(operation: &str, error: ClientError) -> EndpointError {
    let operation = operation.to_owned();
    match error {
        ClientError::Server { error } => EndpointError::Prepare {
            operation,
            source: match error.message.is_empty() {
                true => Box::new(error),
                false => error.message.into(),
            },
        },
        lost => EndpointError::Lost {
            operation,
            source: Box::new(lost),
        },
    }
}

/// Whether values of this type can be made.
fn is_known(of: &CqlType) -> bool {
    match of {
        CqlType::Custom(_) => false,
        CqlType::List(of) | CqlType::Set(of) | CqlType::Vector(of, _) => is_known(of),
        CqlType::Map(key, of) => is_known(key) && is_known(of),
        CqlType::Tuple(all) => all.iter().all(is_known),
        CqlType::Udt { fields, .. } => fields.iter().all(|(_, of)| is_known(of)),
        _ => true,
    }
}

/// The protocol's form of a serial consistency.
pub(super) fn serially(of: SerialConsistency) -> Consistency {
    match of {
        SerialConsistency::Serial => Consistency::Serial,
        SerialConsistency::LocalSerial => Consistency::LocalSerial,
    }
}

/// Partitions and rows that an operation touched, and how it failed.
pub(super) type Judged = ((u32, u32), Result<(), Fault>);

/// A page that is asked for.
#[derive(Debug)]
pub(super) struct PageWanted {
    pub(super) rows: i32,
    /// Where the page before ended; none is the first.
    pub(super) from: Option<Vec<u8>>,
}

/// A request on its way: what it was made for, and what it is made of. Its memory is used again and again.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) operation: usize,
    pub(super) number: u64,
    pub(super) positions: Vec<u64>,
    pub(super) verify: bool,
    serial: Option<Consistency>,
    timestamp_us: Option<i64>,
    /// The statements by their places, and where the values of each end.
    parts: Vec<(usize, usize)>,
    values: Vec<u8>,
    /// How the statements belong together, where they are a batch.
    pub(super) batch: Option<BatchType>,
    pub(super) page: Option<PageWanted>,
    /// Full metadata is wanted with the rows.
    pub(super) described: bool,
    /// What a profile's operation is, until its answer is judged.
    pub(super) work: Option<Work>,
    /// Which range of the ring a page is of.
    pub(super) range: usize,
}

impl Draft {
    /// Starts anew for this operation.
    pub(super) fn begin(&mut self, call: Call<'_>) {
        self.operation = call.operation;
        self.number = call.number;
        self.positions.clear();
        self.positions.extend_from_slice(call.positions);
        self.verify = call.verify;
        self.serial = call.serial_consistency.map(serially);
        self.timestamp_us = call.timestamp_us;
        self.parts.clear();
        self.values.clear();
        self.batch = None;
        self.page = None;
        self.described = false;
        self.work = None;
    }

    /// The first of its positions.
    pub(super) fn position(&self) -> u64 {
        self.positions.first().copied().unwrap_or(0)
    }

    /// The first of its statements.
    pub(super) fn statement(&self) -> usize {
        self.parts.first().map_or(0, |(place, _)| *place)
    }

    /// Adds a statement with values that are bytes already.
    pub(super) fn put_bytes<'v>(
        &mut self,
        place: usize,
        values: impl IntoIterator<Item = &'v [u8]>,
    ) -> Result<(), Fault> {
        for value in values {
            self.values
                .put_bytes("value", Some(value))
                .map_err(|error| unsendable(&error))?;
        }
        self.parts.push((place, self.values.len()));
        Ok(())
    }

    /// Adds the first statement once for each row; several rows are an unlogged batch.
    pub(super) fn put_encoded(&mut self, values: &[u8], ends: &[usize]) {
        self.values.extend_from_slice(values);
        self.parts.extend(ends.iter().map(|end| (0, *end)));
        self.batch = (ends.len() > 1).then_some(BatchType::Unlogged);
    }

    /// Adds a statement with these values.
    pub(super) fn put(
        &mut self,
        place: usize,
        statement: &Statement,
        values: &[Bound],
    ) -> Result<(), Fault> {
        const UNSET: i32 = -2;
        if values.len() != statement.types.len() {
            return Err(Fault {
                kind: FailureKind::Other,
                message: format!(
                    "the statement has {} markers, but {} values were made",
                    statement.types.len(),
                    values.len()
                ),
            });
        }
        for (value, of) in values.iter().zip(&statement.types) {
            match value {
                Bound::Unset => self.values.put_i32(UNSET),
                Bound::Value(value) => encode_cell(of, Some(value), &mut self.values)
                    .map_err(|error| unsendable(&error))?,
            }
        }
        self.parts.push((place, self.values.len()));
        Ok(())
    }

    /// The statement and token that decide where it goes.
    pub(super) fn routing(&self, statements: &[Statement]) -> Option<(usize, i64)> {
        let (place, end) = self.parts.first()?;
        let token = statements[*place].token(&self.values[..*end])?;
        Some((*place, token))
    }

    /// Appends the request's body.
    ///
    /// # Errors
    /// More than fits.
    pub(super) fn encode(
        &self,
        statements: &[Statement],
        version: Version,
        of_run: Consistency,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let first = &statements[self.statement()];
        let execution = Execution {
            // A batch asks none of its statements: what the first one says holds for all.
            consistency: first.consistency.unwrap_or(of_run),
            skip_metadata: !self.described && !first.described && !first.columns.is_empty(),
            page_size: self.page.as_ref().map(|page| page.rows),
            paging_state: self.page.as_ref().and_then(|page| page.from.as_deref()),
            serial_consistency: first.serial.or(self.serial),
            timestamp: self.timestamp_us,
        };
        let mut from = 0;
        let mut parts = self.parts.iter().map(|(place, end)| {
            let statement = &statements[*place];
            let values = &self.values[std::mem::replace(&mut from, *end)..*end];
            BoundStatement {
                id: &statement.id,
                result_metadata_id: &statement.metadata_id,
                count: statement.types.len(),
                values,
            }
        });
        match self.batch {
            Some(kind) => execution.batch(version, kind, parts, out),
            None => match parts.next() {
                Some(only) => execution.execute(version, &only, out),
                None => Ok(()),
            },
        }
    }
}

/// A request that cannot be encoded.
pub(super) fn unsendable(error: &EncodeError) -> Fault {
    Fault {
        kind: FailureKind::Other,
        message: error.to_string(),
    }
}

/// Appends a header without its length, the body, and then writes the length.
pub(super) fn envelope(
    out: &mut Vec<u8>,
    (version, flags, stream, opcode): (Version, u8, i16, Opcode),
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    Header {
        version,
        response: false,
        flags,
        stream,
        opcode,
        length: 0,
    }
    .encode(out)?;
    let begins = out.len();
    body(out)?;
    let length = out.len() - begins;
    let length = u32::try_from(length).map_err(|_| EncodeError::TooLong {
        what: "a request",
        length,
        most: u32::MAX as usize,
    })?;
    out[begins - 4..begins].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A statement that was prepared again, if it is the one that was sent.
pub(super) fn prepared_again(
    said: Result<Answer<'_>, ServerError>,
    statement: &Statement,
) -> Result<Prepared, Fault> {
    let other = |message: &str| Fault {
        kind: FailureKind::Other,
        message: message.to_owned(),
    };
    match said {
        Ok(Answer::Other(QueryResult::Prepared(prepared))) if prepared.id == statement.id => {
            Ok(prepared)
        }
        Ok(_) => Err(other("the node prepares the statement as another")),
        Err(error) => Err(of_server(&error)),
    }
}

/// The columns of a statement's rows have changed: v5 says so once, with what they are now; v4 only sends more or fewer.
pub(super) fn learn(statements: &mut [Statement], place: usize, rows: &RowsView<'_>) {
    let statement = &mut statements[place];
    match (rows.new_metadata_id, &rows.columns) {
        (Some(id), Some(columns)) => {
            statement.metadata_id = id.to_vec();
            statement.columns.clone_from(columns);
        }
        (None, None) if rows.column_count != statement.columns.len() => statement.described = true,
        _ => {}
    }
}
