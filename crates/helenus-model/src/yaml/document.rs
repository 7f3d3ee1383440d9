//! YAML that people read after it was written: keys in the order given, with the reason above a key.
//! Refuses to sort, to fold and to shorten: two renderings of one value are the same text.

use super::{inline, scalar};
use serde_json::{Map, Value};

/// Columns that a comment may take, its indentation among them.
const WIDTH: usize = 100;

/// A map whose keys keep their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mapping(Vec<Entry>);

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    why: Option<String>,
    key: String,
    value: Item,
}

/// What stands behind a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A scalar, or plain data in flow style.
    Value(Value),
    /// A text of several lines, as a block.
    Text(String),
    /// Keys.
    Map(Mapping),
    /// Items, one a line.
    List(Vec<Item>),
}

impl Mapping {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a key.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl Into<Item>) -> Self {
        self.put(None, key.into(), value.into());
        self
    }

    /// With a key, and the reason for its value in a comment above it.
    #[must_use]
    pub fn why(
        mut self,
        reason: impl Into<String>,
        key: impl Into<String>,
        value: impl Into<Item>,
    ) -> Self {
        self.put(Some(reason.into()), key.into(), value.into());
        self
    }

    /// With a key, where there is a value for it.
    #[must_use]
    pub fn maybe(self, key: &str, value: Option<impl Into<Item>>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// With all keys of another map behind its own.
    #[must_use]
    pub fn and(mut self, more: Mapping) -> Self {
        for entry in more.0 {
            self.put(entry.why, entry.key, entry.value);
        }
        self
    }

    /// A key that is there already keeps its place.
    fn put(&mut self, why: Option<String>, key: String, value: Item) {
        match self.0.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => *entry = Entry { why, key, value },
            None => self.0.push(Entry { why, key, value }),
        }
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, one document without its `---`.
    pub fn render(&self) -> String {
        let mut out = String::new();
        if self.0.is_empty() {
            out.push_str("{}\n");
        }
        self.block(0, false, &mut out);
        out
    }

    /// The same as plain data, without the reasons.
    pub fn value(&self) -> Value {
        let entries = self.0.iter();
        let pairs = entries.map(|entry| (entry.key.clone(), entry.value.value()));
        Value::Object(pairs.collect::<Map<_, _>>())
    }

    /// The keys, the first behind a dash where the map is an item of a list.
    fn block(&self, indent: usize, behind_dash: bool, out: &mut String) {
        for (k, entry) in self.0.iter().enumerate() {
            if !(behind_dash && k == 0) {
                comment(entry.why.as_deref(), indent, out);
                out.push_str(&" ".repeat(indent));
            }
            out.push_str(&scalar(&entry.key));
            out.push(':');
            entry.value.behind_key(indent, out);
        }
    }
}

/// A reason in words, wrapped.
fn comment(why: Option<&str>, indent: usize, out: &mut String) {
    let Some(why) = why else { return };
    let room = WIDTH.saturating_sub(indent + 2).max(20);
    let mut line = String::new();
    let mut end = |line: &mut String| {
        if !line.is_empty() {
            out.push_str(&format!("{}# {line}\n", " ".repeat(indent)));
            line.clear();
        }
    };
    for word in why.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            end(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    end(&mut line);
}

impl Item {
    /// As plain data.
    pub fn value(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Text(text) => text.clone().into(),
            Self::Map(map) => map.value(),
            Self::List(items) => Value::Array(items.iter().map(Item::value).collect()),
        }
    }

    fn behind_key(&self, indent: usize, out: &mut String) {
        match self {
            Self::Text(text) if is_block(text) => {
                out.push(' ');
                block_text(text, indent + 2, out);
            }
            Self::Map(map) if !map.is_empty() => {
                out.push('\n');
                map.block(indent + 2, false, out);
            }
            Self::List(items) if !items.is_empty() => {
                out.push('\n');
                for item in items {
                    item.of_list(indent + 2, out);
                }
            }
            other => out.push_str(&format!(" {}\n", inline(&other.value()))),
        }
    }

    fn of_list(&self, indent: usize, out: &mut String) {
        let spaces = " ".repeat(indent);
        match self {
            Self::Map(map) if !map.is_empty() => {
                comment(map.0[0].why.as_deref(), indent, out);
                out.push_str(&format!("{spaces}- "));
                map.block(indent + 2, true, out);
            }
            Self::Text(text) if is_block(text) => {
                out.push_str(&format!("{spaces}- "));
                block_text(text, indent + 2, out);
            }
            other => out.push_str(&format!("{spaces}- {}\n", inline(&other.value()))),
        }
    }
}

fn block_text(text: &str, indent: usize, out: &mut String) {
    out.push_str(if text.ends_with('\n') { "|\n" } else { "|-\n" });
    for line in text.lines() {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Whether a text can stand as a block and be read back equal.
fn is_block(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    let begins = text.chars().next().is_some_and(|c| !c.is_whitespace());
    let ends = lines.last().is_some_and(|line| !line.trim().is_empty());
    begins && ends && lines.len() > 1 && text.chars().all(plain)
}

impl From<&str> for Item {
    fn from(text: &str) -> Self {
        Self::Value(text.into())
    }
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Self::Value(text.into())
    }
}

impl From<bool> for Item {
    fn from(yes: bool) -> Self {
        Self::Value(yes.into())
    }
}

impl From<u32> for Item {
    fn from(number: u32) -> Self {
        Self::Value(number.into())
    }
}

impl From<u16> for Item {
    fn from(number: u16) -> Self {
        Self::Value(number.into())
    }
}

impl From<u64> for Item {
    fn from(number: u64) -> Self {
        Self::Value(number.into())
    }
}

impl From<Value> for Item {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Mapping> for Item {
    fn from(map: Mapping) -> Self {
        Self::Map(map)
    }
}

impl<T: Into<Item>> From<Vec<T>> for Item {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Item>, const N: usize> From<[T; N]> for Item {
    fn from(items: [T; N]) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_keep_their_order_and_their_reasons() {
        let map = Mapping::new()
            .set("kind", "Pod")
            .set("apiVersion", "v1")
            .why("nobody logs in as root", "user", 999_u32)
            .set(
                "ports",
                vec![
                    Mapping::new()
                        .why("clients", "name", "cql")
                        .set("port", 9042_u32),
                ],
            )
            .set("args", ["-c", "100m"])
            .set("none", Mapping::new())
            .set("file", Item::Text("a: 1\n\nb: 2\n".into()));
        insta::assert_snapshot!(map.render(), @r#"
        kind: Pod
        apiVersion: v1
        # nobody logs in as root
        user: 999
        ports:
          # clients
          - name: cql
            port: 9042
        args:
          - "-c"
          - "100m"
        none: {}
        file: |
          a: 1

          b: 2
        "#);
        let again = map.clone().set("kind", "Job");
        assert!(again.render().starts_with("kind: Job\n"));
    }

    #[test]
    fn a_long_reason_is_wrapped() {
        let reason = "word ".repeat(40);
        let text = Mapping::new().why(reason, "a", true).render();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.lines().count(), 4);
    }

    fn any_item() -> impl Strategy<Value = Item> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Item::from),
            any::<u32>().prop_map(Item::from),
            "[ -~]{0,12}".prop_map(Item::from),
            "[ -~\n]{0,30}".prop_map(Item::Text),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Item::List),
                proptest::collection::vec(("[a-z ]{1,8}", inner), 0..4).prop_map(|pairs| {
                    let map = pairs.into_iter().fold(Mapping::new(), |map, (key, value)| {
                        map.why("because # of: it", key, value)
                    });
                    Item::Map(map)
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_equal(items in proptest::collection::vec(any_item(), 1..4)) {
            let map = items.into_iter().enumerate().fold(Mapping::new(), |map, (k, item)| map.set(format!("k{k}"), item));
            prop_assert_eq!(parse(&map.render()).expect("yaml"), map.value());
        }
    }
}
