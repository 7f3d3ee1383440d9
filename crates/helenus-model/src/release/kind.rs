//! Kinds of cassandra.yaml values, from their Java types, and the check of a value against its kind.
//! Refuses what a node would refuse at its start, and says what it would have taken.

use serde_json::Value;

/// The smallest unit that a duration may be written in, by the release's own bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeUnit {
    /// `ns`.
    Nanoseconds,
    /// `us`.
    Microseconds,
    /// `ms`.
    Milliseconds,
    /// `s`.
    Seconds,
    /// `m`.
    Minutes,
}

/// The smallest unit that a size may be written in, by the release's own bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeUnit {
    /// `B`.
    Bytes,
    /// `KiB`.
    Kibibytes,
    /// `MiB`.
    Mebibytes,
}

/// What a value of cassandra.yaml has to look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    Long,
    /// A number.
    Double,
    /// Text.
    String,
    /// One of these names.
    Enum(Vec<String>),
    /// A duration such as `10s`.
    Duration {
        /// The smallest unit allowed.
        smallest: TimeUnit,
        /// Whether the count in that unit has to fit in 32 bits.
        narrow: bool,
    },
    /// A size such as `64MiB`.
    Storage {
        /// The smallest unit allowed.
        smallest: SizeUnit,
        /// Whether the count in that unit has to fit in 32 bits.
        narrow: bool,
    },
    /// A rate such as `24MiB/s`.
    Rate,
    /// A list of such values.
    List(Box<Kind>),
    /// A map from such keys to such values.
    Map(Box<Kind>, Box<Kind>),
    /// A class by name, with parameters; a memtable configuration may also inherit another.
    Class {
        /// Whether `inherits` is allowed.
        inherits: bool,
    },
    /// Nested keys, each listed under its dotted name.
    Options,
    /// Anything: the release reads it with code of its own.
    Any,
}

impl Kind {
    /// The kind of a property, by the cells of the table: its Java type and its shape.
    pub(super) fn from_cells(java_type: &str, shape: &str) -> Self {
        let (head, tail) = shape.split_once(' ').unwrap_or((shape, ""));
        match head {
            "class" => Self::Class { inherits: false },
            "options" if !java_type.ends_with("$MaxAttempt") => Self::Options,
            "enum" => Self::Enum(tail.split(' ').map(str::to_owned).collect()),
            "list" => Self::List(Box::new(Self::of_java(tail))),
            "map" => {
                let (key, value) = tail.split_once(' ').unwrap_or((tail, ""));
                Self::Map(Box::new(Self::of_java(key)), Box::new(Self::of_java(value)))
            }
            _ => Self::of_java(java_type),
        }
    }

    fn of_java(name: &str) -> Self {
        // A class with one number in it, which is what the file says.
        if name.ends_with("RetrySpec$MaxAttempt") {
            return Self::Int;
        }
        if let Some(members) = name.strip_prefix("enum:") {
            return Self::Enum(members.split('|').map(str::to_owned).collect());
        }
        let last = name.rsplit(['.', '$']).next().unwrap_or(name);
        match last {
            "boolean" | "Boolean" => Self::Bool,
            "int" | "Integer" => Self::Int,
            "long" | "Long" => Self::Long,
            "double" | "Double" | "float" | "Float" => Self::Double,
            "String" => Self::String,
            "ParameterizedClass" => Self::Class { inherits: false },
            "InheritingClass" => Self::Class { inherits: true },
            _ => Self::of_bound(last).unwrap_or(Self::Any),
        }
    }

    /// `IntMillisecondsBound`, `LongBytesBound`, `LongBytesPerSecondBound` …
    fn of_bound(name: &str) -> Option<Self> {
        let (narrow, rest) = match name.strip_prefix("Int") {
            Some(rest) => (true, rest),
            None => (false, name.strip_prefix("Long")?),
        };
        let duration = |smallest| Some(Self::Duration { smallest, narrow });
        let storage = |smallest| Some(Self::Storage { smallest, narrow });
        match rest.strip_suffix("Bound")? {
            "Nanoseconds" => duration(TimeUnit::Nanoseconds),
            "Microseconds" => duration(TimeUnit::Microseconds),
            "Milliseconds" => duration(TimeUnit::Milliseconds),
            "Seconds" => duration(TimeUnit::Seconds),
            "Minutes" => duration(TimeUnit::Minutes),
            "Bytes" => storage(SizeUnit::Bytes),
            "Kibibytes" => storage(SizeUnit::Kibibytes),
            "Mebibytes" => storage(SizeUnit::Mebibytes),
            "BytesPerSecond" => Some(Self::Rate),
            _ => None,
        }
    }

    /// What it takes, in words that finish "… takes".
    pub fn describe(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Int => "a whole number from -2147483648 to 2147483647".to_owned(),
            Self::Long => "a whole number".to_owned(),
            Self::Double => "a number".to_owned(),
            Self::String => "text".to_owned(),
            Self::Enum(members) => format!("one of {}", members.join(", ")),
            Self::Duration { smallest, .. } => {
                let units = &TIME_UNITS[*smallest as usize..];
                format!("a duration such as 10s, in {}", unit_names(units))
            }
            Self::Storage { smallest, .. } => {
                let units = &SIZE_UNITS[*smallest as usize..];
                format!("a size such as 64MiB, in {}", unit_names(units))
            }
            Self::Rate => "a rate such as 24MiB/s, in B/s, KiB/s, MiB/s".to_owned(),
            Self::List(of) => format!("a list, each {}", of.describe()),
            Self::Map(_, of) => format!("a map to {}", of.describe()),
            Self::Class { .. } => {
                "a class name, or a map with class_name and parameters".to_owned()
            }
            Self::Options => "a map of its nested keys".to_owned(),
            Self::Any => "anything".to_owned(),
        }
    }

    /// The value as a node reads it, or none when a node would refuse it.
    ///
    /// Numbers given as text for a text key, `yes` for `true`, and enum members in the wrong case
    /// come back in the release's spelling. Null and nested keys are the caller's to check.
    pub(super) fn accept(&self, value: &Value) -> Option<Value> {
        match self {
            Self::Bool => truth(value).map(Value::Bool),
            Self::Int => {
                let n = value.as_i64()?;
                i32::try_from(n).is_ok().then(|| value.clone())
            }
            Self::Long => value.as_i64().map(|_| value.clone()),
            Self::Double => value.as_f64().map(|_| value.clone()),
            Self::String => scalar_text(value).map(Value::String),
            Self::Enum(members) => {
                let text = value.as_str()?;
                let exact = members.iter().find(|m| *m == text);
                let found = exact.or_else(|| members.iter().find(|m| m.eq_ignore_ascii_case(text)));
                found.map(|m| Value::String(m.clone()))
            }
            Self::Duration { smallest, narrow } => {
                let units = &TIME_UNITS[*smallest as usize..];
                amount_fits(value.as_str()?, units, *narrow).then(|| value.clone())
            }
            Self::Storage { smallest, narrow } => {
                let units = &SIZE_UNITS[*smallest as usize..];
                amount_fits(value.as_str()?, units, *narrow).then(|| value.clone())
            }
            Self::Rate => amount_fits(value.as_str()?, &RATE_UNITS, false).then(|| value.clone()),
            Self::List(of) => {
                let items = value.as_array()?.iter().map(|v| of.accept(v));
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            Self::Map(key, of) => {
                let entries = value.as_object()?.iter().map(|(k, v)| {
                    let key = key.accept(&Value::String(k.clone()))?;
                    Some((key.as_str()?.to_owned(), of.accept(v)?))
                });
                entries
                    .collect::<Option<serde_json::Map<_, _>>>()
                    .map(Value::Object)
            }
            Self::Class { inherits } => class(value, *inherits),
            Self::Options => value.is_object().then(|| value.clone()),
            Self::Any => Some(value.clone()),
        }
    }
}

/// Unit names and how many of the smallest one they hold; order follows `TimeUnit`.
const TIME_UNITS: [(&str, u128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
const SIZE_UNITS: [(&str, u128); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const RATE_UNITS: [(&str, u128); 3] = [("B/s", 1), ("KiB/s", 1 << 10), ("MiB/s", 1 << 20)];

/// Whole count of that unit in a duration, a size or a rate as 4.1 and newer write them; rates are rounded.
pub(super) fn count_of(text: &str, unit: &str) -> Option<i64> {
    let (units, exact): (&[_], _) = if unit.ends_with("/s") {
        (&RATE_UNITS, false)
    } else if TIME_UNITS.iter().any(|u| u.0 == unit) {
        (&TIME_UNITS, true)
    } else {
        (&SIZE_UNITS, true)
    };
    let scale_of = |unit: &str| units.iter().find(|u| u.0 == unit).map(|u| u.1);
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let whole = text[..at].parse::<u128>().ok()? * scale_of(&text[at..])?;
    let scale = scale_of(unit)?;
    if exact && whole % scale != 0 {
        return None;
    }
    i64::try_from((whole + scale / 2) / scale).ok()
}

fn unit_names(units: &[(&str, u128)]) -> String {
    let names: Vec<_> = units.iter().map(|u| u.0).collect();
    names.join(", ")
}

/// Digits and a unit of the list, whose first unit is the one that bounds it.
fn amount_fits(text: &str, units: &[(&str, u128)], narrow: bool) -> bool {
    let split = text.find(|c: char| !c.is_ascii_digit());
    let Some((digits, unit)) = split.map(|at| text.split_at(at)) else {
        return false;
    };
    let unit = if unit == "µs" { "us" } else { unit };
    let (Ok(quantity), Some((_, scale))) = (
        digits.parse::<i64>(),
        units.iter().find(|(name, _)| *name == unit),
    ) else {
        return false;
    };
    let most = if narrow { i32::MAX.into() } else { i64::MAX };
    let smallest = units[0].1;
    u128::from(quantity.unsigned_abs()) * scale / smallest < u128::from(most.unsigned_abs())
}

/// YAML 1.1's spellings, which Cassandra's loader takes.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(b) => Some(*b),
        Value::String(s) => match s.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

/// A class name, a map of it, or the stock file's list of one such map.
fn class(value: &Value, inherits: bool) -> Option<Value> {
    match value {
        // A memtable configuration has no constructor that takes a bare name.
        Value::String(_) => (!inherits).then(|| value.clone()),
        Value::Array(items) if items.len() == 1 && items[0].is_object() => {
            class(&items[0], inherits)
        }
        Value::Object(map) => {
            let known =
                |k: &str| k == "class_name" || k == "parameters" || (inherits && k == "inherits");
            let mut whole = serde_json::Map::new();
            for (key, value) in map {
                if !known(key) {
                    return None;
                }
                let read = match key.as_str() {
                    "parameters" => parameters(value)?,
                    _ => Value::String(value.as_str()?.to_owned()),
                };
                whole.insert(key.clone(), read);
            }
            Some(Value::Object(whole))
        }
        _ => None,
    }
}

/// Parameters are text to text; the stock file writes them as a list of one map.
fn parameters(value: &Value) -> Option<Value> {
    match value {
        Value::Null => Some(Value::Null),
        Value::Array(items) if items.len() == 1 => parameters(&items[0]),
        Value::Object(map) => {
            let texts = map
                .iter()
                .map(|(k, v)| Some((k.clone(), Value::String(scalar_text(v)?))));
            texts
                .collect::<Option<serde_json::Map<_, _>>>()
                .map(Value::Object)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(java: &str) -> Kind {
        Kind::from_cells(java, "scalar")
    }

    #[test]
    fn durations_keep_the_smallest_unit_and_the_bound() {
        let seconds = kind("org.apache.cassandra.config.DurationSpec$IntSecondsBound");
        assert_eq!(
            seconds,
            Kind::Duration {
                smallest: TimeUnit::Seconds,
                narrow: true
            }
        );
        for good in ["10s", "0s", "2h", "1d", "5m"] {
            assert!(seconds.accept(&json!(good)).is_some(), "{good}");
        }
        for bad in [
            "500ms",
            "10",
            "s",
            "-1s",
            "1.5s",
            "10 s",
            "10S",
            "2147483647s",
            "99999d9",
        ] {
            assert!(seconds.accept(&json!(bad)).is_none(), "{bad}");
        }
        assert!(seconds.accept(&json!(10)).is_none());
        let wide = kind("DurationSpec$LongNanosecondsBound");
        assert!(wide.accept(&json!("3d")).is_some() && wide.accept(&json!("7µs")).is_some());
    }

    #[test]
    fn sizes_and_rates_follow_the_release() {
        let mib = kind("DataStorageSpec$IntMebibytesBound");
        assert!(mib.accept(&json!("64MiB")).is_some() && mib.accept(&json!("2GiB")).is_some());
        for bad in ["64", "64M", "64MB", "512KiB", "99999999999999999999MiB"] {
            assert!(mib.accept(&json!(bad)).is_none(), "{bad}");
        }
        let rate = kind("DataRateSpec$LongBytesPerSecondBound");
        assert!(rate.accept(&json!("24MiB/s")).is_some());
        assert!(rate.accept(&json!("24MiB")).is_none() && rate.accept(&json!(24)).is_none());
    }

    #[test]
    fn plain_kinds() {
        assert_eq!(kind("boolean").accept(&json!("yes")), Some(json!(true)));
        assert_eq!(kind("boolean").accept(&json!(1)), None);
        assert_eq!(kind("int").accept(&json!(5_000_000_000_i64)), None);
        assert!(kind("long").accept(&json!(5_000_000_000_i64)).is_some());
        assert!(kind("java.lang.Double").accept(&json!(1)).is_some());
        assert_eq!(kind("java.lang.String").accept(&json!(7)), Some(json!("7")));
        let sync = Kind::from_cells("X$Sync", "enum periodic batch");
        assert_eq!(sync.accept(&json!("Batch")), Some(json!("batch")));
        assert_eq!(sync.accept(&json!("never")), None);
    }

    #[test]
    fn containers_and_classes() {
        let levels = Kind::from_cells("java.util.Set", "list enum:ONE|TWO");
        assert_eq!(levels.accept(&json!(["one"])), Some(json!(["ONE"])));
        assert_eq!(levels.accept(&json!("ONE")), None);
        let memtables = Kind::from_cells("java.util.Map", "map java.lang.String o.InheritingClass");
        let trie = json!({"default": {"inherits": "skiplist", "class_name": "TrieMemtable"}});
        assert!(memtables.accept(&trie).is_some());
        assert!(
            memtables
                .accept(&json!({"default": {"class": "T"}}))
                .is_none()
        );
        assert!(
            memtables
                .accept(&json!({"default": "TrieMemtable"}))
                .is_none()
        );
        let class = Kind::Class { inherits: false };
        let stock = json!([{"class_name": "S", "parameters": [{"seeds": "127.0.0.1", "n": 3}]}]);
        assert_eq!(
            class.accept(&stock),
            Some(json!({"class_name": "S", "parameters": {"seeds": "127.0.0.1", "n": "3"}}))
        );
        assert!(class.accept(&json!("AllowAllAuthenticator")).is_some());
        assert!(class.accept(&json!(3)).is_none());
    }
}
