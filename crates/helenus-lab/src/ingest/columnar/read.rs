//! The rows of a Parquet file, a batch of each column at a time, from any row on.
//! Refuses to hold a row group: memory is that of a page and a batch of the columns that are wanted.

use super::super::IngestError;
use super::super::packed::Packing;
use super::guarded;
use super::schema::{Item, Kind, Node, tree};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{AsBytes as _, ByteArray, DataType, FixedLenByteArray, Int96};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use helenus_model::cql::{CqlType, CqlValue};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Rows of each column that are read at once.
const BATCH_ROWS: usize = 1_024;

/// The mark at both ends of a file.
const MAGIC: &[u8] = b"PAR1";

/// A field of the rows that are read.
#[derive(Debug, Clone)]
pub(in super::super) struct Wanted {
    /// Its name.
    pub(in super::super) name: String,
    /// Whether anything is made of it; else it is null, and not read.
    pub(in super::super) used: bool,
    /// The type of the column that it goes into as it is.
    pub(in super::super) ty: Option<CqlType>,
}

/// A field of a row.
pub(in super::super) type Cell = Result<Option<CqlValue>, String>;

type File = SerializedFileReader<std::fs::File>;

fn general<T>(why: &str) -> Result<T, ParquetError> {
    Err(ParquetError::General(why.to_owned()))
}

fn open(path: &Path) -> Result<File, IngestError> {
    let failed = |source| IngestError::File {
        path: path.display().to_string(),
        source,
    };
    let content = |why: &str| IngestError::Content {
        path: path.display().to_string(),
        why: why.to_owned(),
    };
    let mut file = fs_err::File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    file.by_ref()
        .take(MAGIC.len() as u64)
        .read_to_end(&mut head)
        .map_err(failed)?;
    if Packing::by_first_bytes(&head).is_some() {
        return Err(content(
            "it is compressed from outside, and cannot be read from its end: unpack it first",
        ));
    }
    if head != MAGIC {
        return Err(content("it is not a Parquet file"));
    }
    let (file, _) = file.into_parts();
    guarded(path, || {
        let file = SerializedFileReader::new(file)?;
        let groups = file.metadata().row_groups().iter();
        let rows = groups.map(|group| Some(group.num_rows()).filter(|rows| *rows >= 0));
        let rows = rows.collect::<Option<Vec<i64>>>();
        let rows = rows.and_then(|rows| rows.into_iter().try_fold(0, i64::checked_add));
        match rows == Some(file.metadata().file_metadata().num_rows()) {
            true => Ok(file),
            false => general("its row groups have not as many rows as the file"),
        }
    })
}

/// The names of a file's columns, in their order, and how many rows it has.
///
/// # Errors
/// The file cannot be read, or is no whole Parquet file.
pub fn columns(path: &Path) -> Result<(Vec<String>, u64), IngestError> {
    let file = open(path)?;
    let about = file.metadata().file_metadata();
    let names = about.schema().get_fields().iter();
    let names = names.map(|field| field.name().to_owned()).collect();
    Ok((names, u64::try_from(about.num_rows()).unwrap_or(0)))
}

/// The rows of a file.
pub(in super::super) struct Rows {
    path: PathBuf,
    file: File,
    /// What is read, by wish: a column of the file, or nothing.
    items: Vec<Option<(Item, Option<CqlType>)>>,
    /// Row groups from this one on are not opened.
    next_group: usize,
    /// By leaf column: those that are wanted, of the open row group.
    leaves: Vec<Option<Leaf>>,
    /// Rows of the open row group that are not in a batch.
    left: usize,
    /// Rows of the batch that are not given.
    batch: usize,
}

impl Rows {
    /// Opens a file for the fields that are wanted.
    pub(in super::super) fn open(path: &Path, wanted: &[Wanted]) -> Result<Self, IngestError> {
        let file = open(path)?;
        let tree = guarded(path, || tree(file.metadata().file_metadata().schema()))?;
        let mut items = Vec::new();
        for wish in wanted {
            let found = tree.iter().find(|(name, _)| *name == wish.name);
            if found.is_none() {
                return Err(IngestError::Content {
                    path: path.display().to_string(),
                    why: format!("it has no column {:?}, as the first file has", wish.name),
                });
            }
            let found = found.filter(|_| wish.used);
            items.push(found.map(|(_, item)| (item.clone(), wish.ty.clone())));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            items,
            next_group: 0,
            leaves: Vec::new(),
            left: 0,
            batch: 0,
        })
    }

    /// Passes over so many rows from the beginning; whether there were so many.
    pub(in super::super) fn skip(&mut self, mut rows: u64) -> Result<bool, IngestError> {
        while rows > 0 {
            let groups = self.file.metadata().row_groups();
            let Some(group) = groups.get(self.next_group) else {
                return Ok(false);
            };
            let here = u64::try_from(group.num_rows()).unwrap_or(0);
            if here <= rows {
                rows -= here;
                self.next_group += 1;
                continue;
            }
            let path = self.path.clone();
            guarded(&path, || {
                self.group()?;
                let rows = usize::try_from(rows).unwrap_or(usize::MAX);
                for leaf in self.leaves.iter_mut().flatten() {
                    leaf.skip(rows)?;
                }
                self.left -= rows;
                Ok(())
            })?;
            return Ok(true);
        }
        Ok(true)
    }

    /// Opens the next row group.
    fn group(&mut self) -> Result<(), ParquetError> {
        let group = self.file.get_row_group(self.next_group)?;
        let columns = group.num_columns();
        self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        self.leaves.clear();
        self.leaves.resize_with(columns, || None);
        for (item, _) in self.items.iter().flatten() {
            for at in item.leaves.0..item.leaves.1 {
                if at >= columns {
                    return general("a row group with fewer columns than the schema");
                }
                let about = group.metadata().column(at).column_descr();
                let levels = (about.max_def_level(), about.max_rep_level());
                self.leaves[at] = Some(Leaf::new(group.get_column_reader(at)?, levels));
            }
        }
        self.next_group += 1;
        Ok(())
    }

    /// The next row; none at the end.
    pub(in super::super) fn next(&mut self) -> Result<Option<Vec<Cell>>, IngestError> {
        let path = self.path.clone();
        guarded(&path, || {
            while self.batch == 0 {
                while self.left == 0 {
                    if self.next_group >= self.file.num_row_groups() {
                        return Ok(None);
                    }
                    self.group()?;
                }
                let rows = self.left.min(BATCH_ROWS);
                for leaf in self.leaves.iter_mut().flatten() {
                    leaf.fill(rows)?;
                }
                (self.left, self.batch) = (self.left - rows, rows);
            }
            self.batch -= 1;
            let mut cells = Vec::with_capacity(self.items.len());
            for wish in &self.items {
                cells.push(match wish {
                    None => Ok(None),
                    Some((item, ty)) => {
                        let mut trouble = None;
                        let value = take(item, ty.as_ref(), &mut self.leaves, &mut trouble)?;
                        match trouble {
                            None => Ok(value),
                            Some(why) => Err(why),
                        }
                    }
                });
            }
            Ok(Some(cells))
        })
    }
}

/// Takes the next value of a tree out of its leaves. What CQL cannot hold is a trouble; the leaves move on all the same.
fn take(
    item: &Item,
    ty: Option<&CqlType>,
    leaves: &mut [Option<Leaf>],
    trouble: &mut Option<String>,
) -> Result<Option<CqlValue>, ParquetError> {
    let first = item.leaves.0;
    let level = leaf(leaves, first)?.def()?;
    if level < item.def {
        pass(item, leaves)?;
        return Ok(None);
    }
    match &item.node {
        Node::Leaf(kind) => match leaf(leaves, first)?.value(*kind, ty)? {
            Ok(value) => Ok(Some(value)),
            Err(why) => {
                trouble.get_or_insert(why);
                Ok(None)
            }
        },
        Node::Group(fields) => {
            let mut values = Vec::with_capacity(fields.len());
            for (at, (name, field)) in fields.iter().enumerate() {
                let ty = match ty {
                    Some(CqlType::Udt { fields, .. }) => {
                        let found = fields.iter().find(|(known, _)| known == name);
                        found.map(|(_, ty)| ty)
                    }
                    Some(CqlType::Tuple(all)) => all.get(at),
                    _ => None,
                };
                values.push((name.clone(), take(field, ty, leaves, trouble)?));
            }
            Ok(Some(match ty {
                Some(CqlType::Tuple(_)) => {
                    CqlValue::Tuple(values.into_iter().map(|(_, value)| value).collect())
                }
                _ => CqlValue::Udt(values),
            }))
        }
        Node::List {
            def,
            rep,
            item: inner,
        } => {
            let of = match ty {
                Some(CqlType::List(of) | CqlType::Set(of) | CqlType::Vector(of, _)) => Some(&**of),
                _ => None,
            };
            let mut all = Vec::new();
            if level < *def {
                pass(item, leaves)?;
            } else {
                loop {
                    match take(inner, of, leaves, trouble)? {
                        Some(value) => all.push(value),
                        None => {
                            trouble.get_or_insert_with(|| "null inside of a collection".to_owned());
                        }
                    }
                    if leaf(leaves, first)?.rep() < *rep {
                        break;
                    }
                }
            }
            Ok(Some(match ty {
                Some(CqlType::Set(_)) => CqlValue::Set(all),
                _ => CqlValue::List(all),
            }))
        }
        Node::Map { def, rep, pair } => {
            let (key_ty, value_ty) = match ty {
                Some(CqlType::Map(key, value)) => (Some(&**key), Some(&**value)),
                _ => (None, None),
            };
            let mut pairs = Vec::new();
            if level < *def {
                pass(item, leaves)?;
            } else {
                loop {
                    let key = take(&pair.0, key_ty, leaves, trouble)?;
                    let value = take(&pair.1, value_ty, leaves, trouble)?;
                    match (key, value) {
                        (Some(key), Some(value)) => pairs.push((key, value)),
                        _ => {
                            trouble.get_or_insert_with(|| "null inside of a collection".to_owned());
                        }
                    }
                    if leaf(leaves, first)?.rep() < *rep {
                        break;
                    }
                }
            }
            Ok(Some(CqlValue::Map(pairs)))
        }
    }
}

fn leaf(leaves: &mut [Option<Leaf>], at: usize) -> Result<&mut Leaf, ParquetError> {
    match leaves.get_mut(at) {
        Some(Some(leaf)) => Ok(leaf),
        _ => general("a column that was not opened"),
    }
}

/// Moves over an entry without a value in all leaves.
fn pass(item: &Item, leaves: &mut [Option<Leaf>]) -> Result<(), ParquetError> {
    for at in item.leaves.0..item.leaves.1 {
        let leaf = leaf(leaves, at)?;
        if leaf.def()? == leaf.levels.0 {
            return general("columns of one value that are not of one length");
        }
        leaf.at += 1;
    }
    Ok(())
}

/// A leaf column with the batch that was read of it.
struct Leaf {
    reader: ColumnReader,
    /// The highest definition and repetition level.
    levels: (i16, i16),
    defs: Vec<i16>,
    reps: Vec<i16>,
    values: Values,
    /// How many entries there are, which is next, and which value.
    entries: usize,
    at: usize,
    value: usize,
}

enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I96(Vec<Int96>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// Runs the same code with a column's reader and the vector of its values.
macro_rules! typed {
    ($leaf:expr, $reader:ident, $values:ident => $do:expr) => {
        match (&mut $leaf.reader, &mut $leaf.values) {
            (ColumnReader::BoolColumnReader($reader), Values::Bool($values)) => $do,
            (ColumnReader::Int32ColumnReader($reader), Values::I32($values)) => $do,
            (ColumnReader::Int64ColumnReader($reader), Values::I64($values)) => $do,
            (ColumnReader::Int96ColumnReader($reader), Values::I96($values)) => $do,
            (ColumnReader::FloatColumnReader($reader), Values::F32($values)) => $do,
            (ColumnReader::DoubleColumnReader($reader), Values::F64($values)) => $do,
            (ColumnReader::ByteArrayColumnReader($reader), Values::Bytes($values)) => $do,
            (ColumnReader::FixedLenByteArrayColumnReader($reader), Values::Fixed($values)) => $do,
            _ => general("a column of two types"),
        }
    };
}

/// Reads whole records; how many.
fn records<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    (defs, reps): (&mut Vec<i16>, &mut Vec<i16>),
    values: &mut Vec<T::T>,
) -> Result<(usize, usize), ParquetError> {
    let mut read = 0;
    let mut entries = 0;
    while read < rows {
        let (records, _, levels) =
            reader.read_records(rows - read, Some(defs), Some(reps), values)?;
        if records == 0 {
            break;
        }
        read += records;
        entries += levels;
    }
    Ok((read, entries))
}

impl Leaf {
    fn new(reader: ColumnReader, levels: (i16, i16)) -> Self {
        let values = match &reader {
            ColumnReader::BoolColumnReader(_) => Values::Bool(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::I32(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::I64(Vec::new()),
            ColumnReader::Int96ColumnReader(_) => Values::I96(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::F32(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::F64(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Bytes(Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => Values::Fixed(Vec::new()),
        };
        Self {
            reader,
            levels,
            defs: Vec::new(),
            reps: Vec::new(),
            values,
            entries: 0,
            at: 0,
            value: 0,
        }
    }

    fn skip(&mut self, rows: usize) -> Result<(), ParquetError> {
        let skipped = typed!(self, reader, _values => reader.skip_records(rows))?;
        match skipped == rows {
            true => Ok(()),
            false => general("a column with fewer rows than its row group"),
        }
    }

    /// Reads the next batch; the one before must have been taken.
    fn fill(&mut self, rows: usize) -> Result<(), ParquetError> {
        if self.at != self.entries {
            return general("a column with more values than rows");
        }
        (self.at, self.value) = (0, 0);
        self.defs.clear();
        self.reps.clear();
        let (defs, reps) = (&mut self.defs, &mut self.reps);
        let (read, entries) = typed!(self, reader, values => {
            values.clear();
            records(reader, rows, (defs, reps), values)
        })?;
        self.entries = entries;
        match read == rows {
            true => Ok(()),
            false => general("a column with fewer rows than its row group"),
        }
    }

    /// The definition level of the next entry.
    fn def(&self) -> Result<i16, ParquetError> {
        if self.at >= self.entries {
            return general("a column with fewer values than its levels say");
        }
        match self.levels.0 {
            0 => Ok(0),
            _ => match self.defs.get(self.at) {
                Some(level) => Ok(*level),
                None => general("a column with fewer levels than values"),
            },
        }
    }

    /// The repetition level of the next entry; 0 at the end, as at the beginning of a row.
    fn rep(&self) -> i16 {
        self.reps.get(self.at).copied().unwrap_or(0)
    }

    /// Takes the next value; or says why it is none.
    fn value(
        &mut self,
        kind: Kind,
        ty: Option<&CqlType>,
    ) -> Result<Result<CqlValue, String>, ParquetError> {
        let at = self.value;
        self.value += 1;
        self.at += 1;
        let lacking = || ParquetError::General("a column with fewer values than levels".to_owned());
        let value = match &self.values {
            Values::Bool(all) => all.get(at).map(|value| Ok(CqlValue::Boolean(*value))),
            Values::I32(all) => {
                let unsigned = kind == Kind::Unsigned;
                all.get(at).map(|value| match unsigned {
                    true => whole(i64::from(value.cast_unsigned()), Kind::Plain, ty),
                    false => whole(i64::from(*value), kind, ty),
                })
            }
            Values::I64(all) => all.get(at).map(|value| whole(*value, kind, ty)),
            Values::I96(all) => all.get(at).map(|value| point(*value)),
            Values::F32(all) => all.get(at).map(|value| Ok(CqlValue::Float(*value))),
            Values::F64(all) => all.get(at).map(|value| Ok(CqlValue::Double(*value))),
            Values::Bytes(all) => all.get(at).map(|value| bytes(value.as_bytes(), kind, ty)),
            Values::Fixed(all) => all.get(at).map(|value| bytes(value.as_bytes(), kind, ty)),
        };
        value.ok_or_else(lacking)
    }
}

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;

/// A whole number of a kind.
fn whole(value: i64, kind: Kind, ty: Option<&CqlType>) -> Result<CqlValue, String> {
    Ok(match kind {
        Kind::Unsigned => {
            let mut wide = vec![0];
            wide.extend(value.to_be_bytes());
            CqlValue::Varint(wide)
        }
        Kind::Decimal(scale) => CqlValue::Decimal {
            unscaled: value.to_be_bytes().to_vec(),
            scale,
        },
        Kind::Date => {
            let days = i32::try_from(value).map_err(|_| format!("{value} is not a day"))?;
            CqlValue::Date(days.cast_unsigned() ^ 0x8000_0000)
        }
        Kind::Time(nanos) => {
            let at = value.checked_mul(nanos);
            let at = at.filter(|at| (0..DAY_NS).contains(at));
            CqlValue::Time(at.ok_or_else(|| format!("{value} is not a time of day"))?)
        }
        // Where numbers are wanted, in its own unit.
        Kind::Timestamp(_) if matches!(ty, Some(CqlType::Bigint | CqlType::Varint)) => {
            CqlValue::Bigint(value)
        }
        Kind::Timestamp(a_second) => CqlValue::Timestamp(value.div_euclid(a_second / 1_000)),
        _ => CqlValue::Bigint(value),
    })
}

/// A point in time as older writers have it: nanoseconds of a Julian day.
fn point(value: Int96) -> Result<CqlValue, String> {
    const DAY_OF_1970: i64 = 2_440_588;
    let data = value.data();
    let nanos = i64::from(data[1]) << 32 | i64::from(data[0]);
    let days = i64::from(data[2]) - DAY_OF_1970;
    let millis = days * 86_400_000 + nanos.div_euclid(1_000_000);
    Ok(CqlValue::Timestamp(millis))
}

/// Bytes of a kind; plain ones as what the column wants.
fn bytes(value: &[u8], kind: Kind, ty: Option<&CqlType>) -> Result<CqlValue, String> {
    let text = || match std::str::from_utf8(value) {
        Ok(text) => Ok(CqlValue::Text(text.to_owned())),
        Err(_) => Err("not UTF-8".to_owned()),
    };
    Ok(match kind {
        Kind::Text => text()?,
        Kind::Decimal(_) if value.is_empty() => return Err("a decimal without bytes".to_owned()),
        Kind::Decimal(scale) => CqlValue::Decimal {
            unscaled: value.to_vec(),
            scale,
        },
        Kind::Uuid => match value.try_into() {
            Ok(uuid) => CqlValue::Uuid(uuid),
            Err(_) => return Err("a UUID that has not 16 bytes".to_owned()),
        },
        Kind::Half => match value {
            [low, high] => CqlValue::Float(half(u16::from_le_bytes([*low, *high]))),
            _ => return Err("a half that has not 2 bytes".to_owned()),
        },
        Kind::Interval => {
            let part = |at: usize| -> Option<u32> {
                Some(u32::from_le_bytes(value.get(at..at + 4)?.try_into().ok()?))
            };
            match (part(0), part(4), part(8)) {
                (Some(months), Some(days), Some(millis)) => CqlValue::Duration {
                    months: i32::try_from(months).map_err(|error| error.to_string())?,
                    days: i32::try_from(days).map_err(|error| error.to_string())?,
                    nanos: i64::from(millis) * 1_000_000,
                },
                _ => return Err("an interval that has not 12 bytes".to_owned()),
            }
        }
        _ => match (ty, value.len()) {
            (Some(CqlType::Text | CqlType::Ascii), _) => text()?,
            (Some(CqlType::Inet), 4) => {
                let four: [u8; 4] = value.try_into().unwrap_or_default();
                CqlValue::Inet(four.into())
            }
            (Some(CqlType::Inet), 16) => {
                let all: [u8; 16] = value.try_into().unwrap_or_default();
                CqlValue::Inet(all.into())
            }
            (Some(CqlType::Uuid | CqlType::Timeuuid), 16) => {
                CqlValue::Uuid(value.try_into().unwrap_or_default())
            }
            // In an expression, where it can be one.
            (None, _) => text().unwrap_or_else(|_| CqlValue::Blob(value.to_vec())),
            _ => CqlValue::Blob(value.to_vec()),
        },
    })
}

/// A half as a float: exactly.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits) & 0x3ff;
    match (exponent, fraction) {
        (0, fraction) => {
            #[expect(clippy::cast_precision_loss, reason = "ten bits")]
            let small = fraction as f32 / 16_777_216.0;
            f32::from_bits(sign | small.to_bits())
        }
        (31, fraction) => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}
