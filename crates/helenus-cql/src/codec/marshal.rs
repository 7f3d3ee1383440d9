//! Cassandra's class names of types, `org.apache.cassandra.db.marshal.…`: how vectors, and
//! durations before v5, are named on the wire.
//! Refuses nothing it does not know: an unknown class stays a custom type by its name.

use super::error::{DecodeError, cut};
use super::types::DEEPEST_TYPE;
use helenus_model::cql::CqlType;

/// Where the classes are.
pub const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

/// Classes without parameters; of two with one type the first is written.
const PLAIN: [(&str, CqlType); 21] = [
    ("AsciiType", CqlType::Ascii),
    ("LongType", CqlType::Bigint),
    ("BytesType", CqlType::Blob),
    ("BooleanType", CqlType::Boolean),
    ("CounterColumnType", CqlType::Counter),
    ("SimpleDateType", CqlType::Date),
    ("DecimalType", CqlType::Decimal),
    ("DoubleType", CqlType::Double),
    ("DurationType", CqlType::Duration),
    ("FloatType", CqlType::Float),
    ("InetAddressType", CqlType::Inet),
    ("Int32Type", CqlType::Int),
    ("ShortType", CqlType::Smallint),
    ("UTF8Type", CqlType::Text),
    ("TimeType", CqlType::Time),
    ("TimestampType", CqlType::Timestamp),
    ("TimeUUIDType", CqlType::Timeuuid),
    ("ByteType", CqlType::Tinyint),
    ("UUIDType", CqlType::Uuid),
    ("IntegerType", CqlType::Varint),
    ("DateType", CqlType::Timestamp),
];

/// The class name of a type, as the server writes it.
pub fn class_of(ty: &CqlType) -> String {
    match ty {
        CqlType::List(element) => format!("{PACKAGE}ListType({})", class_of(element)),
        CqlType::Set(element) => format!("{PACKAGE}SetType({})", class_of(element)),
        CqlType::Map(key, value) => {
            format!("{PACKAGE}MapType({},{})", class_of(key), class_of(value))
        }
        CqlType::Tuple(fields) => {
            let fields: Vec<_> = fields.iter().map(class_of).collect();
            format!("{PACKAGE}TupleType({})", fields.join(","))
        }
        CqlType::Udt {
            keyspace,
            name,
            fields,
        } => {
            let mut parts = vec![keyspace.clone(), hex(name)];
            let field = |(name, ty): &(String, CqlType)| format!("{}:{}", hex(name), class_of(ty));
            parts.extend(fields.iter().map(field));
            format!("{PACKAGE}UserType({})", parts.join(","))
        }
        CqlType::Vector(element, length) => {
            format!("{PACKAGE}VectorType({} , {length})", class_of(element))
        }
        CqlType::Custom(class) => class.clone(),
        plain => {
            let known = PLAIN.iter().find(|(_, ty)| ty == plain);
            format!("{PACKAGE}{}", known.map_or("BytesType", |(name, _)| name))
        }
    }
}

/// A name as it stands in a class.
pub fn hex(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The type of a class name; a class that CQL has no name for is [`CqlType::Custom`].
///
/// # Errors
/// A known class with parameters that do not parse, or nesting deeper than `levels`.
pub fn parse_class(class: &str, levels: usize) -> Result<CqlType, DecodeError> {
    let mut parser = Parser { class, at: 0 };
    match parser.ty(levels)? {
        Some(ty) if parser.rest().is_empty() => Ok(ty),
        Some(_) => Err(parser.error()),
        None => Ok(CqlType::Custom(class.to_owned())),
    }
}

struct Parser<'a> {
    class: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = self.class[self.at..].trim_start();
        self.at = self.class.len() - rest.len();
        rest
    }

    fn error(&self) -> DecodeError {
        DecodeError::Class {
            class: cut(self.class),
            at: self.at,
        }
    }

    /// Takes `mark` if it comes next.
    fn takes(&mut self, mark: char) -> bool {
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), DecodeError> {
        if self.takes(mark) {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    /// The letters, digits, dots and so on up to the next mark.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find([' ', '(', ')', ',', ':']).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A type, or none for a class without a CQL name.
    fn ty(&mut self, levels: usize) -> Result<Option<CqlType>, DecodeError> {
        let Some(below) = levels.checked_sub(1) else {
            return Err(DecodeError::TooDeep { most: DEEPEST_TYPE });
        };
        let start = self.at;
        let word = self.word();
        let name = word.strip_prefix(PACKAGE).unwrap_or(word);
        if let Some((_, plain)) = PLAIN.iter().find(|(known, _)| *known == name) {
            return Ok(Some(plain.clone()));
        }
        if !matches!(
            name,
            "ListType"
                | "SetType"
                | "MapType"
                | "TupleType"
                | "UserType"
                | "VectorType"
                | "FrozenType"
                | "ReversedType"
        ) {
            self.at = start;
            return Ok(None);
        }
        self.expect('(')?;
        let ty = match name {
            "ListType" => CqlType::List(Box::new(self.inner(below)?)),
            "SetType" => CqlType::Set(Box::new(self.inner(below)?)),
            "MapType" => {
                let key = self.inner(below)?;
                self.expect(',')?;
                CqlType::Map(Box::new(key), Box::new(self.inner(below)?))
            }
            "TupleType" => CqlType::Tuple(self.tuple_fields(below)?),
            "UserType" => self.user_type(below)?,
            "VectorType" => {
                let element = self.inner(below)?;
                self.expect(',')?;
                let length = self
                    .word()
                    .parse()
                    .ok()
                    .filter(|n| (1..=1 << 20).contains(n));
                CqlType::Vector(Box::new(element), length.ok_or_else(|| self.error())?)
            }
            _ => self.inner(below)?,
        };
        self.expect(')')?;
        Ok(Some(ty))
    }

    /// A type inside another; an unknown class keeps its name and whatever is in its brackets.
    fn inner(&mut self, levels: usize) -> Result<CqlType, DecodeError> {
        if let Some(known) = self.ty(levels)? {
            return Ok(known);
        }
        let start = self.at;
        if self.word().is_empty() {
            return Err(self.error());
        }
        if self.takes('(') {
            let mut open = 1_usize;
            while open > 0 {
                let next = self.class[self.at..]
                    .chars()
                    .next()
                    .ok_or_else(|| self.error())?;
                self.at += next.len_utf8();
                match next {
                    '(' => open += 1,
                    ')' => open -= 1,
                    _ => {}
                }
            }
        }
        Ok(CqlType::Custom(
            self.class[start..self.at].trim().to_owned(),
        ))
    }

    fn tuple_fields(&mut self, levels: usize) -> Result<Vec<CqlType>, DecodeError> {
        let mut fields = Vec::new();
        if self.rest().starts_with(')') {
            return Ok(fields);
        }
        loop {
            fields.push(self.inner(levels)?);
            if !self.takes(',') {
                return Ok(fields);
            }
        }
    }

    fn user_type(&mut self, levels: usize) -> Result<CqlType, DecodeError> {
        let keyspace = self.word().to_owned();
        self.expect(',')?;
        let name = self.hex_word()?;
        let mut fields = Vec::new();
        while self.takes(',') {
            let field = self.hex_word()?;
            self.expect(':')?;
            fields.push((field, self.inner(levels)?));
        }
        Ok(CqlType::Udt {
            keyspace,
            name,
            fields,
        })
    }

    fn hex_word(&mut self) -> Result<String, DecodeError> {
        let word = self.word().as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).map(|d| d as u8);
        let bytes: Option<Vec<u8>> = word
            .chunks(2)
            .map(|pair| match pair {
                [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
                _ => None,
            })
            .collect();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or_else(|| self.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_servers_write() {
        let parse = |class: &str| parse_class(class, DEEPEST_TYPE);
        let vector = "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)";
        let expected = CqlType::Vector(Box::new(CqlType::Float), 3);
        assert_eq!(parse(vector), Ok(expected.clone()));
        assert_eq!(class_of(&expected), vector);
        assert_eq!(parse("DurationType"), Ok(CqlType::Duration));
        assert_eq!(
            parse("FrozenType(UserType(ks,61,62:ReversedType(Int32Type)))"),
            Ok(CqlType::Udt {
                keyspace: "ks".into(),
                name: "a".into(),
                fields: vec![("b".into(), CqlType::Int)],
            })
        );
        let other = CqlType::Custom("com.example.Point(2)".into());
        assert_eq!(parse("com.example.Point(2)"), Ok(other.clone()));
        assert_eq!(
            parse("ListType(com.example.Point(2))"),
            Ok(CqlType::List(Box::new(other)))
        );
        assert!(matches!(
            parse("VectorType(Int32Type , 0)"),
            Err(DecodeError::Class { .. })
        ));
        assert!(matches!(
            parse("ListType(Int32Type"),
            Err(DecodeError::Class { .. })
        ));
        let deep = "ListType(".repeat(1_000);
        assert_eq!(
            parse(&deep),
            Err(DecodeError::TooDeep { most: DEEPEST_TYPE })
        );
    }
}
