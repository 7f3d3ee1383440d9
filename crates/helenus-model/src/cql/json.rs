//! Values as `INSERT … JSON` reads them.
//! Refuses what JSON has no form for: NaN and infinities become null.

use super::{CqlValue, identifier};
use serde_json::{Map, Number, Value, json};

impl CqlValue {
    /// The value in Cassandra's JSON encoding.
    pub fn json(&self) -> Value {
        let real = |x: f64| Number::from_f64(x).map_or(Value::Null, Value::Number);
        let list = |all: &[Self]| Value::Array(all.iter().map(Self::json).collect());
        match self {
            Self::Ascii(text) | Self::Text(text) => json!(text),
            Self::Bigint(n) | Self::Counter(n) | Self::Timestamp(n) => json!(n),
            Self::Boolean(yes) => json!(yes),
            Self::Double(x) => real(*x),
            // The shortest text that means this float: as a double it would have digits of its own.
            Self::Float(x) => real(x.to_string().parse().unwrap_or(f64::NAN)),
            Self::Int(n) => json!(n),
            Self::Smallint(n) => json!(n),
            Self::Tinyint(n) => json!(n),
            Self::List(all) | Self::Set(all) | Self::Vector(all) => list(all),
            Self::Tuple(all) => {
                let each = all
                    .iter()
                    .map(|one| one.as_ref().map_or(Value::Null, Self::json));
                Value::Array(each.collect())
            }
            Self::Map(pairs) => {
                let each = pairs.iter();
                let each = each.map(|(key, value)| (key.json_key(), value.json()));
                Value::Object(each.collect::<Map<_, _>>())
            }
            Self::Udt(fields) => {
                let each = fields.iter().map(|(name, value)| {
                    let value = value.as_ref().map_or(Value::Null, Self::json);
                    (identifier(name), value)
                });
                Value::Object(each.collect::<Map<_, _>>())
            }
            Self::Blob(_)
            | Self::Custom(_)
            | Self::Date(_)
            | Self::Decimal { .. }
            | Self::Duration { .. }
            | Self::Inet(_)
            | Self::Time(_)
            | Self::Timeuuid(_)
            | Self::Uuid(_)
            | Self::Varint(_) => json!(self.to_string()),
        }
    }

    /// As a key of a map: always a text, which holds JSON where the key is none.
    fn json_key(&self) -> String {
        match self.json() {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_cassandra_s_json() {
        let udt = CqlValue::Udt(vec![
            ("plain".to_owned(), Some(CqlValue::Int(1))),
            ("Quoted".to_owned(), None),
        ]);
        let map = CqlValue::Map(vec![(CqlValue::Int(7), CqlValue::Blob(vec![0xca, 0xfe]))]);
        let all = CqlValue::Tuple(vec![
            Some(udt),
            Some(map),
            None,
            Some(CqlValue::Text("a\"b".to_owned())),
            Some(CqlValue::Float(0.1)),
            Some(CqlValue::Timestamp(5)),
            Some(CqlValue::Decimal {
                unscaled: vec![0x7b],
                scale: 2,
            }),
        ]);
        assert_eq!(
            all.json().to_string(),
            r#"[{"\"Quoted\"":null,"plain":1},{"7":"0xcafe"},null,"a\"b",0.1,5,"1.23"]"#
        );
    }
}
