//! What a Parquet file's columns mean: a tree of values above the leaf columns, with the levels of null and empty.
//! Refuses types that nothing in CQL is like.

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::errors::ParquetError;
use ::parquet::schema::types::{Type, TypePtr};

/// How deep a file's types may nest.
const DEEPEST: usize = 32;

/// How the values of a leaf column are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// As the physical type has them.
    Plain,
    /// Whole numbers without a sign.
    Unsigned,
    /// UTF-8.
    Text,
    /// 16 bytes.
    Uuid,
    /// Two bytes, IEEE 754.
    Half,
    /// Unscaled, with so many digits behind the point.
    Decimal(i32),
    /// Days since 1970.
    Date,
    /// Units of so many nanoseconds since midnight.
    Time(i64),
    /// Units since 1970, so many in a second.
    Timestamp(i64),
    /// Months, days and milliseconds.
    Interval,
}

/// A value of the tree, which is null where the definition level of `first` is below `def`.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) def: i16,
    /// The first leaf column below it, and the one behind the last.
    pub(super) leaves: (usize, usize),
    pub(super) node: Node,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Leaf(Kind),
    Group(Vec<(String, Item)>),
    /// An element is there where the definition level is at least `def`; it continues the list where the repetition level
    /// is at least `rep`.
    List {
        def: i16,
        rep: i16,
        item: Box<Item>,
    },
    Map {
        def: i16,
        rep: i16,
        pair: Box<(Item, Item)>,
    },
}

/// The columns of a file's rows, by name.
pub(super) fn tree(root: &Type) -> Result<Vec<(String, Item)>, ParquetError> {
    let mut builder = Builder { leaf: 0 };
    let fields = root.get_fields().iter();
    fields
        .map(|field| Ok((field.name().to_owned(), builder.item(field, (0, 0), 0)?)))
        .collect()
}

struct Builder {
    leaf: usize,
}

fn unknown<T>(ty: &Type, why: &str) -> Result<T, ParquetError> {
    Err(ParquetError::General(format!(
        "column {:?}: {why}",
        ty.name()
    )))
}

impl Builder {
    fn item(
        &mut self,
        ty: &TypePtr,
        (def, rep): (i16, i16),
        depth: usize,
    ) -> Result<Item, ParquetError> {
        if depth > DEEPEST {
            return unknown(ty, "its type nests too deeply");
        }
        match ty.get_basic_info().repetition() {
            Repetition::REQUIRED => self.inner(ty, (def, rep), depth),
            Repetition::OPTIONAL => self.inner(ty, (def + 1, rep), depth),
            // Without the name of a list: a list of what is repeated.
            Repetition::REPEATED => {
                let from = self.leaf;
                let item = self.inner(ty, (def + 1, rep + 1), depth)?;
                Ok(Item {
                    def,
                    leaves: (from, self.leaf),
                    node: Node::List {
                        def: def + 1,
                        rep: rep + 1,
                        item: Box::new(item),
                    },
                })
            }
        }
    }

    /// What is there, from this level on.
    fn inner(
        &mut self,
        ty: &TypePtr,
        (def, rep): (i16, i16),
        depth: usize,
    ) -> Result<Item, ParquetError> {
        let from = self.leaf;
        let below = (def + 1, rep + 1);
        let info = ty.get_basic_info();
        let node = if ty.is_primitive() {
            self.leaf += 1;
            Node::Leaf(kind(ty)?)
        } else {
            let is_list = info.converted_type() == ConvertedType::LIST
                || matches!(info.logical_type_ref(), Some(LogicalType::List));
            let is_map = matches!(
                info.converted_type(),
                ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE
            ) || matches!(info.logical_type_ref(), Some(LogicalType::Map));
            match ty.get_fields() {
                [] => return unknown(ty, "a group without fields"),
                [only] if is_list && is_repeated(only) => {
                    let item = match element(ty, only) {
                        Some(element) => self.item(&element, below, depth + 1)?,
                        None => self.inner(only, below, depth + 1)?,
                    };
                    Node::List {
                        def: def + 1,
                        rep: rep + 1,
                        item: Box::new(item),
                    }
                }
                [only] if is_map && is_repeated(only) && only.is_group() => {
                    match only.get_fields() {
                        [key, value] => {
                            let key = self.item(key, below, depth + 1)?;
                            let value = self.item(value, below, depth + 1)?;
                            Node::Map {
                                def: def + 1,
                                rep: rep + 1,
                                pair: Box::new((key, value)),
                            }
                        }
                        [key] => Node::List {
                            def: def + 1,
                            rep: rep + 1,
                            item: Box::new(self.item(key, below, depth + 1)?),
                        },
                        _ => return unknown(ty, "a map whose entries are not pairs"),
                    }
                }
                fields => {
                    let items = fields.iter().map(|field| {
                        let item = self.item(field, (def, rep), depth + 1)?;
                        Ok((field.name().to_owned(), item))
                    });
                    Node::Group(items.collect::<Result<_, ParquetError>>()?)
                }
            }
        };
        Ok(Item {
            def,
            leaves: (from, self.leaf),
            node,
        })
    }
}

fn is_repeated(ty: &TypePtr) -> bool {
    ty.get_basic_info().repetition() == Repetition::REPEATED
}

/// The element inside of a list's repeated group; none where the repeated field itself is the element, as older writers have it.
fn element(list: &TypePtr, repeated: &TypePtr) -> Option<TypePtr> {
    if repeated.is_primitive() {
        return None;
    }
    match repeated.get_fields() {
        [only] => {
            let name = repeated.name();
            let itself = name == "array" || name == format!("{}_tuple", list.name());
            (!itself || is_repeated(only)).then(|| only.clone())
        }
        _ => None,
    }
}

fn kind(ty: &TypePtr) -> Result<Kind, ParquetError> {
    let info = ty.get_basic_info();
    let by_unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000_i64,
    };
    let kind = match info.logical_type_ref() {
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => Some(Kind::Text),
        Some(LogicalType::Decimal(decimal)) => Some(Kind::Decimal(decimal.scale)),
        Some(LogicalType::Date) => Some(Kind::Date),
        Some(LogicalType::Time(time)) => Some(Kind::Time(1_000_000_000 / by_unit(&time.unit))),
        Some(LogicalType::Timestamp(at)) => Some(Kind::Timestamp(by_unit(&at.unit))),
        Some(LogicalType::Integer(int)) if !int.is_signed => Some(Kind::Unsigned),
        Some(LogicalType::Uuid) => Some(Kind::Uuid),
        Some(LogicalType::Float16) => Some(Kind::Half),
        _ => None,
    };
    let kind = kind.unwrap_or_else(|| match info.converted_type() {
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Kind::Text,
        ConvertedType::DECIMAL => Kind::Decimal(ty.get_scale()),
        ConvertedType::DATE => Kind::Date,
        ConvertedType::TIME_MILLIS => Kind::Time(1_000_000),
        ConvertedType::TIME_MICROS => Kind::Time(1_000),
        ConvertedType::TIMESTAMP_MILLIS => Kind::Timestamp(1_000),
        ConvertedType::TIMESTAMP_MICROS => Kind::Timestamp(1_000_000),
        ConvertedType::UINT_8
        | ConvertedType::UINT_16
        | ConvertedType::UINT_32
        | ConvertedType::UINT_64 => Kind::Unsigned,
        ConvertedType::INTERVAL => Kind::Interval,
        _ => Kind::Plain,
    });
    let physical = ty.get_physical_type();
    let whole = matches!(physical, Physical::INT32 | Physical::INT64);
    let bytes = matches!(
        physical,
        Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY
    );
    let fits = match kind {
        Kind::Plain => true,
        Kind::Unsigned | Kind::Time(_) | Kind::Timestamp(_) => whole,
        Kind::Date => physical == Physical::INT32,
        Kind::Decimal(_) => whole || bytes,
        Kind::Text | Kind::Uuid | Kind::Half | Kind::Interval => bytes,
    };
    match fits {
        true => Ok(kind),
        false => unknown(ty, &format!("{kind:?} of {physical}")),
    }
}
