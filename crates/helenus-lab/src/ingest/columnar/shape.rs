//! What a table's columns are in a Parquet file, and rows taken apart into them.
//! Refuses rounding: what Parquet has no exact type for is text.

use ::parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::data_type::{ByteArray, FixedLenByteArray};
use ::parquet::errors::ParquetError;
use ::parquet::schema::types::{Type, TypePtr};
use helenus_cluster::scan::unload::Gathering;
use helenus_model::cql::{CqlType, CqlValue};
use std::io;
use std::sync::Arc;

/// The columns of a file that is written.
#[derive(Debug, Clone)]
pub struct RowShape {
    pub(super) schema: TypePtr,
    columns: Vec<Slot>,
    leaves: Vec<Leaf>,
}

/// A value that may be null.
#[derive(Debug, Clone)]
struct Slot {
    optional: bool,
    /// The first leaf below it, and the one behind the last.
    leaves: (usize, usize),
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Leaf,
    Group(Vec<(String, Slot)>),
    /// Elements begin with this repetition level.
    List(i16, Box<Slot>),
    Map(i16, Box<(Slot, Slot)>),
}

/// How the values of a leaf column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Bool,
    I32,
    I64,
    F32,
    F64,
    Bytes,
    Fixed,
}

/// Values of one leaf column.
#[derive(Debug)]
pub(super) enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// A leaf column's values with their levels.
#[derive(Debug)]
pub(super) struct Shredded {
    pub(super) defs: Vec<i16>,
    pub(super) reps: Vec<i16>,
    pub(super) values: Values,
}

/// Rows by column.
#[derive(Debug)]
pub struct ColumnBatch {
    pub(super) rows: usize,
    /// About how many bytes they take.
    pub(super) bytes: usize,
    pub(super) leaves: Vec<Shredded>,
    /// What is no value of its column's type.
    pub(super) trouble: Option<String>,
}

impl RowShape {
    /// The file of a table's columns.
    ///
    /// # Errors
    /// Columns that are no schema, such as two of one name.
    pub fn new(columns: &[(String, CqlType)]) -> io::Result<Self> {
        Self::of(columns).map_err(io::Error::other)
    }

    fn of(columns: &[(String, CqlType)]) -> Result<Self, ParquetError> {
        let mut builder = Builder { leaves: Vec::new() };
        let mut fields = Vec::new();
        let mut slots = Vec::new();
        for (name, ty) in columns {
            let (field, slot) = builder.slot(name, ty, true, 0)?;
            fields.push(field);
            slots.push(slot);
        }
        let schema = Type::group_type_builder("schema").with_fields(fields);
        Ok(Self {
            schema: Arc::new(schema.build()?),
            columns: slots,
            leaves: builder.leaves,
        })
    }

    /// No rows.
    pub fn batch(&self) -> ColumnBatch {
        let leaves = self.leaves.iter().map(|leaf| Shredded {
            defs: Vec::new(),
            reps: Vec::new(),
            values: match leaf {
                Leaf::Bool => Values::Bool(Vec::new()),
                Leaf::I32 => Values::I32(Vec::new()),
                Leaf::I64 => Values::I64(Vec::new()),
                Leaf::F32 => Values::F32(Vec::new()),
                Leaf::F64 => Values::F64(Vec::new()),
                Leaf::Bytes => Values::Bytes(Vec::new()),
                Leaf::Fixed => Values::Fixed(Vec::new()),
            },
        });
        ColumnBatch {
            rows: 0,
            bytes: 0,
            leaves: leaves.collect(),
            trouble: None,
        }
    }

    /// Appends a row, its values in the order of the columns.
    pub fn put(&self, row: &[Option<CqlValue>], batch: &mut ColumnBatch) {
        for (at, slot) in self.columns.iter().enumerate() {
            let value = row.get(at).and_then(Option::as_ref);
            batch.put(slot, value, (0, 0));
        }
        batch.rows += 1;
    }
}

impl Gathering for RowShape {
    type Rows = ColumnBatch;

    fn empty(&self) -> ColumnBatch {
        self.batch()
    }

    fn put(&self, row: &[Option<CqlValue>], rows: &mut ColumnBatch) {
        Self::put(self, row, rows);
    }
}

struct Builder {
    leaves: Vec<Leaf>,
}

impl Builder {
    fn slot(
        &mut self,
        name: &str,
        ty: &CqlType,
        optional: bool,
        rep: i16,
    ) -> Result<(TypePtr, Slot), ParquetError> {
        let from = self.leaves.len();
        let repetition = match optional {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let (ty, form) = match ty {
            CqlType::List(of) | CqlType::Set(of) | CqlType::Vector(of, _) => {
                let (element, slot) = self.slot("element", of, true, rep + 1)?;
                let inner = repeated("list", vec![element])?;
                let list = group(name, repetition, vec![inner], Some(LogicalType::List))?;
                (list, Form::List(rep + 1, Box::new(slot)))
            }
            CqlType::Map(key, value) => {
                let (key, key_slot) = self.slot("key", key, false, rep + 1)?;
                let (value, value_slot) = self.slot("value", value, true, rep + 1)?;
                let inner = repeated("key_value", vec![key, value])?;
                let map = group(name, repetition, vec![inner], Some(LogicalType::Map))?;
                (map, Form::Map(rep + 1, Box::new((key_slot, value_slot))))
            }
            CqlType::Tuple(all) => {
                let names = (1..).map(|at| format!("field_{at}"));
                let fields: Vec<(String, CqlType)> = names.zip(all.iter().cloned()).collect();
                self.fields(name, repetition, &fields, rep)?
            }
            CqlType::Udt { fields, .. } => self.fields(name, repetition, fields, rep)?,
            plain => (self.leaf(name, repetition, plain)?, Form::Leaf),
        };
        let slot = Slot {
            optional,
            leaves: (from, self.leaves.len()),
            form,
        };
        Ok((ty, slot))
    }

    fn fields(
        &mut self,
        name: &str,
        repetition: Repetition,
        fields: &[(String, CqlType)],
        rep: i16,
    ) -> Result<(TypePtr, Form), ParquetError> {
        let mut types = Vec::new();
        let mut slots = Vec::new();
        for (field, ty) in fields {
            let (ty, slot) = self.slot(field, ty, true, rep)?;
            types.push(ty);
            slots.push((field.clone(), slot));
        }
        Ok((group(name, repetition, types, None)?, Form::Group(slots)))
    }

    fn leaf(
        &mut self,
        name: &str,
        repetition: Repetition,
        ty: &CqlType,
    ) -> Result<TypePtr, ParquetError> {
        let (leaf, physical, logical) = match ty {
            CqlType::Boolean => (Leaf::Bool, Physical::BOOLEAN, None),
            CqlType::Tinyint => (
                Leaf::I32,
                Physical::INT32,
                Some(LogicalType::integer(8, true)),
            ),
            CqlType::Smallint => (
                Leaf::I32,
                Physical::INT32,
                Some(LogicalType::integer(16, true)),
            ),
            CqlType::Int => (Leaf::I32, Physical::INT32, None),
            CqlType::Date => (Leaf::I32, Physical::INT32, Some(LogicalType::Date)),
            CqlType::Bigint | CqlType::Counter => (Leaf::I64, Physical::INT64, None),
            CqlType::Time => (
                Leaf::I64,
                Physical::INT64,
                Some(LogicalType::time(true, TimeUnit::NANOS)),
            ),
            CqlType::Timestamp => (
                Leaf::I64,
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
            ),
            CqlType::Float => (Leaf::F32, Physical::FLOAT, None),
            CqlType::Double => (Leaf::F64, Physical::DOUBLE, None),
            CqlType::Uuid | CqlType::Timeuuid => (
                Leaf::Fixed,
                Physical::FIXED_LEN_BYTE_ARRAY,
                Some(LogicalType::Uuid),
            ),
            CqlType::Blob | CqlType::Custom(_) => (Leaf::Bytes, Physical::BYTE_ARRAY, None),
            _ => (Leaf::Bytes, Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        self.leaves.push(leaf);
        let length = if leaf == Leaf::Fixed { 16 } else { -1 };
        let ty = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_length(length);
        ty.build().map(Arc::new)
    }
}

fn repeated(name: &str, fields: Vec<TypePtr>) -> Result<TypePtr, ParquetError> {
    group(name, Repetition::REPEATED, fields, None)
}

fn group(
    name: &str,
    repetition: Repetition,
    fields: Vec<TypePtr>,
    logical: Option<LogicalType>,
) -> Result<TypePtr, ParquetError> {
    let group = Type::group_type_builder(name)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_fields(fields);
    group.build().map(Arc::new)
}

impl ColumnBatch {
    /// Takes the rows of another one of the same shape.
    pub(super) fn append(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.trouble = self.trouble.take().or(other.trouble);
        for (mine, its) in self.leaves.iter_mut().zip(other.leaves) {
            mine.defs.extend(its.defs);
            mine.reps.extend(its.reps);
            match (&mut mine.values, its.values) {
                (Values::Bool(mine), Values::Bool(its)) => mine.extend(its),
                (Values::I32(mine), Values::I32(its)) => mine.extend(its),
                (Values::I64(mine), Values::I64(its)) => mine.extend(its),
                (Values::F32(mine), Values::F32(its)) => mine.extend(its),
                (Values::F64(mine), Values::F64(its)) => mine.extend(its),
                (Values::Bytes(mine), Values::Bytes(its)) => mine.extend(its),
                (Values::Fixed(mine), Values::Fixed(its)) => mine.extend(its),
                _ => self.trouble = Some("rows of another table".to_owned()),
            }
        }
    }

    /// An entry without a value in all leaves below.
    fn nothing(&mut self, slot: &Slot, (def, rep): (i16, i16)) {
        for at in slot.leaves.0..slot.leaves.1 {
            self.leaves[at].defs.push(def);
            self.leaves[at].reps.push(rep);
            self.bytes += 4;
        }
    }

    fn put(&mut self, slot: &Slot, value: Option<&CqlValue>, (def, rep): (i16, i16)) {
        let Some(value) = value else {
            return self.nothing(slot, (def, rep));
        };
        let def = def + i16::from(slot.optional);
        match (&slot.form, value) {
            (Form::Leaf, value) => {
                let leaf = &mut self.leaves[slot.leaves.0];
                match leaf.values.push(value) {
                    Some(bytes) => {
                        leaf.defs.push(def);
                        leaf.reps.push(rep);
                        self.bytes += bytes + 4;
                    }
                    None => self.wrong(value),
                }
            }
            (Form::Group(fields), CqlValue::Tuple(all)) => {
                for (at, (_, field)) in fields.iter().enumerate() {
                    let value = all.get(at).and_then(Option::as_ref);
                    self.put(field, value, (def, rep));
                }
            }
            (Form::Group(fields), CqlValue::Udt(all)) => {
                for (name, field) in fields {
                    let found = all.iter().find(|(known, _)| known == name);
                    let value = found.and_then(|(_, value)| value.as_ref());
                    self.put(field, value, (def, rep));
                }
            }
            (
                Form::List(again, item),
                CqlValue::List(all) | CqlValue::Set(all) | CqlValue::Vector(all),
            ) => {
                if all.is_empty() {
                    self.nothing(slot, (def, rep));
                }
                for (at, value) in all.iter().enumerate() {
                    let rep = if at == 0 { rep } else { *again };
                    self.put(item, Some(value), (def + 1, rep));
                }
            }
            (Form::Map(again, pair), CqlValue::Map(all)) => {
                if all.is_empty() {
                    self.nothing(slot, (def, rep));
                }
                for (at, (key, value)) in all.iter().enumerate() {
                    let rep = if at == 0 { rep } else { *again };
                    self.put(&pair.0, Some(key), (def + 1, rep));
                    self.put(&pair.1, Some(value), (def + 1, rep));
                }
            }
            (_, other) => self.wrong(other),
        }
    }

    fn wrong(&mut self, value: &CqlValue) {
        let text = || format!("{} is not a value of its column's type", value.exact_text());
        self.trouble.get_or_insert_with(text);
    }
}

impl Values {
    /// Appends a value; about how many bytes it takes, or nothing where it is of another type.
    fn push(&mut self, value: &CqlValue) -> Option<usize> {
        match (self, value) {
            (Self::Bool(all), CqlValue::Boolean(value)) => all.push(*value),
            (Self::I32(all), CqlValue::Int(value)) => all.push(*value),
            (Self::I32(all), CqlValue::Smallint(value)) => all.push(i32::from(*value)),
            (Self::I32(all), CqlValue::Tinyint(value)) => all.push(i32::from(*value)),
            (Self::I32(all), CqlValue::Date(days)) => {
                all.push((days ^ 0x8000_0000).cast_signed());
            }
            (
                Self::I64(all),
                CqlValue::Bigint(value)
                | CqlValue::Counter(value)
                | CqlValue::Time(value)
                | CqlValue::Timestamp(value),
            ) => all.push(*value),
            (Self::F32(all), CqlValue::Float(value)) => all.push(*value),
            (Self::F64(all), CqlValue::Double(value)) => all.push(*value),
            (Self::Fixed(all), CqlValue::Uuid(value) | CqlValue::Timeuuid(value)) => {
                all.push(value.to_vec().into());
                return Some(16);
            }
            (Self::Bytes(all), CqlValue::Blob(value) | CqlValue::Custom(value)) => {
                all.push(value.clone().into());
                return Some(value.len() + 8);
            }
            (
                Self::Bytes(all),
                value @ (CqlValue::Ascii(_)
                | CqlValue::Text(_)
                | CqlValue::Decimal { .. }
                | CqlValue::Varint(_)
                | CqlValue::Inet(_)
                | CqlValue::Duration { .. }),
            ) => {
                let text = value.exact_text().into_bytes();
                let bytes = text.len() + 8;
                all.push(text.into());
                return Some(bytes);
            }
            _ => return None,
        }
        Some(8)
    }
}
