//! The one place that reads and writes YAML, so that its library can be changed in one file.
//! Refuses to know what any key means.

pub mod document;
mod tree;

pub use tree::{Node, NodeValue, tree};

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

/// Why a text is not YAML.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not YAML: {0}")]
pub struct YamlError(pub String);

/// Reads one YAML document as plain data.
///
/// # Errors
/// The text is no YAML; the message names line and column.
pub fn parse(text: &str) -> Result<Value, YamlError> {
    serde_saphyr::from_str(text).map_err(|e| YamlError(e.to_string()))
}

/// The same of a text in which keys may stand twice: the last holds, as in Cassandra; with the names of such keys at the
/// top whose values differ.
///
/// # Errors
/// The text is no YAML; the message names line and column.
pub fn parse_last(text: &str) -> Result<(Value, Vec<String>), YamlError> {
    let read = |policy| {
        let options = serde_saphyr::options! { duplicate_keys: policy };
        let read: Result<Value, _> = serde_saphyr::from_str_with_options(text, options);
        read.map_err(|e| YamlError(e.to_string()))
    };
    let last = read(DuplicateKeyPolicy::LastWins)?;
    let first = read(DuplicateKeyPolicy::FirstWins)?;
    let twice = last.as_object().into_iter().flatten();
    let twice = twice.filter(|(key, value)| first.get(key) != Some(value));
    let twice = twice.map(|(key, _)| key.clone()).collect();
    Ok((last, twice))
}

/// Writes plain data as YAML that snakeyaml (YAML 1.1, Cassandra's reader) reads back equal.
///
/// Mappings are block style with sorted keys; every text that is not a plain word is quoted.
pub fn render(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => block_map(map, 0, &mut out),
        other => {
            out.push_str(&inline(other));
            out.push('\n');
        }
    }
    out
}

fn block_map(map: &serde_json::Map<String, Value>, indent: usize, out: &mut String) {
    for (key, value) in map {
        out.push_str(&" ".repeat(indent));
        out.push_str(&scalar(key));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push_str(":\n");
                block_map(inner, indent + 2, out);
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                out.push_str(":\n");
                for item in items {
                    out.push_str(&" ".repeat(indent + 2));
                    out.push_str("- ");
                    out.push_str(&inline(item));
                    out.push('\n');
                }
            }
            other => {
                out.push_str(": ");
                out.push_str(&inline(other));
                out.push('\n');
            }
        }
    }
}

/// Flow style: JSON is YAML, but for the plain words that read better bare.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(inline).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(map) => {
            let pairs: Vec<_> = map
                .iter()
                .map(|(k, v)| format!("{}: {}", scalar(k), inline(v)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

/// A text as it stands between the quotes, where [`render`] sets any.
pub fn inside(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A text bare where no reader of YAML 1.1 can take it for anything else, else in JSON's quotes.
fn scalar(text: &str) -> String {
    let plain_start = text
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '/');
    let plain_rest = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    let reserved = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
        .contains(&text.to_ascii_lowercase().as_str());
    if plain_start && plain_rest && !reserved {
        text.to_owned()
    } else {
        Value::String(text.to_owned()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn block_style_with_quotes_where_needed() {
        let value = json!({
            "cluster_name": "c", "num_tokens": 1, "initial_token": "-12", "auto": "yes",
            "seed_provider": [{"class_name": "S", "parameters": [{"seeds": "127.0.0.1,127.0.0.2"}]}],
            "memtable": {"configurations": {"default": {"class_name": "TrieMemtable"}}},
            "data_file_directories": ["/a b/c"],
        });
        insta::assert_snapshot!(render(&value), @r#"
        auto: "yes"
        cluster_name: c
        data_file_directories: ["/a b/c"]
        initial_token: "-12"
        memtable:
          configurations:
            default:
              class_name: TrieMemtable
        num_tokens: 1
        seed_provider:
          - {class_name: S, parameters: [{seeds: "127.0.0.1,127.0.0.2"}]}
        "#);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-zA-Z_ ]{1,8}", inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_equal(value in any_value()) {
            prop_assert_eq!(parse(&render(&value)).unwrap(), value);
        }
    }
}
