//! YAML as a tree whose every value and key knows its line, for files that people write.
//! Refuses types: a scalar is its text, and who asks for it knows what it must be.

use super::YamlError;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::BTreeMap;

/// How deep values may be nested.
const DEPTH: usize = 64;
/// Values of a whole tree, aliases followed.
const MOST: usize = 100_000;

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Line, from 1; of a block of text that of its first word, below its key.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What it is.
    pub value: NodeValue,
}

/// What is at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeValue {
    /// A text, whatever it looks like.
    Scalar {
        /// Without quotes and indentation.
        text: String,
        /// Whether it stands without quotes on its line, so that `null` and nothing at all are no text.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys with their values, in order; no key twice.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// Its text, if it is one; an empty plain one, `null` and `~` are none.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Scalar { text, plain, .. } => {
                let null = *plain && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL");
                (!null).then_some(text)
            }
            _ => None,
        }
    }

    /// Whether nothing stands there.
    pub fn is_null(&self) -> bool {
        matches!(self.value, NodeValue::Scalar { .. }) && self.text().is_none()
    }

    /// The value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let NodeValue::Mapping(entries) = &self.value else {
            return None;
        };
        let found = entries.iter().find(|(k, _)| k.text() == Some(key));
        found.map(|(_, value)| value)
    }

    fn size(&self) -> usize {
        1 + match &self.value {
            NodeValue::Scalar { .. } => 0,
            NodeValue::Sequence(all) => all.iter().map(Node::size).sum(),
            NodeValue::Mapping(all) => all.iter().map(|(k, v)| k.size() + v.size()).sum(),
        }
    }
}

/// Reads the first document of a text; none where there is none.
///
/// # Errors
/// The text is no YAML, a key is there twice, or values are nested too deeply; the message names line and column.
pub fn tree(text: &str) -> Result<Option<Node>, YamlError> {
    let mut builder = Builder {
        parser: Parser::new_from_str(text),
        anchors: BTreeMap::new(),
        made: 0,
    };
    loop {
        match builder.next()? {
            None | Some((Event::StreamEnd, _)) => return Ok(None),
            Some((Event::DocumentStart(..), _)) => break,
            Some(_) => {}
        }
    }
    let root = builder.value(DEPTH)?;
    Ok(match root {
        Some(node) if node.is_null() => None,
        other => other,
    })
}

struct Builder<'a> {
    parser: Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>,
    anchors: BTreeMap<usize, Node>,
    made: usize,
}

fn wrong(line: usize, column: usize, why: &str) -> YamlError {
    YamlError(format!("{why} at line {line} column {column}"))
}

impl<'a> Builder<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, YamlError> {
        loop {
            match self.parser.next_event() {
                None => return Ok(None),
                Some(Err(error)) => {
                    let at = error.marker();
                    return Err(wrong(at.line(), at.col() + 1, &error.info()));
                }
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok(found)) => return Ok(Some(found)),
            }
        }
    }

    /// The next value; none at the end of what is around it.
    fn value(&mut self, depth: usize) -> Result<Option<Node>, YamlError> {
        let Some((event, span)) = self.next()? else {
            return Ok(None);
        };
        let (line, column) = (span.start.line(), span.start.col() + 1);
        if depth == 0 {
            return Err(wrong(line, column, "values are nested too deeply"));
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let value = NodeValue::Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                (value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut all = Vec::new();
                while let Some(node) = self.value(depth - 1)? {
                    all.push(node);
                }
                (NodeValue::Sequence(all), anchor)
            }
            Event::MappingStart(_, anchor, _) => (self.mapping(depth)?, anchor),
            Event::Alias(id) => {
                let known = self.anchors.get(&id).cloned();
                let node = known.ok_or_else(|| wrong(line, column, "an alias of itself"))?;
                self.count(node.size(), line, column)?;
                return Ok(Some(node));
            }
            _ => return Ok(None),
        };
        self.count(1, line, column)?;
        let node = Node {
            line,
            column,
            value,
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(Some(node))
    }

    fn count(&mut self, more: usize, line: usize, column: usize) -> Result<(), YamlError> {
        self.made += more;
        if self.made > MOST {
            return Err(wrong(line, column, "there are too many values"));
        }
        Ok(())
    }

    fn mapping(&mut self, depth: usize) -> Result<NodeValue, YamlError> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        while let Some(key) = self.value(depth - 1)? {
            let (line, column) = (key.line, key.column);
            let NodeValue::Scalar { text, .. } = &key.value else {
                return Err(wrong(line, column, "a key must be a word"));
            };
            let first = entries.iter().find(|(other, _)| {
                matches!(&other.value, NodeValue::Scalar { text: known, .. } if known == text)
            });
            if let Some((first, _)) = first {
                let why = format!("{text:?} appears twice (first in line {})", first.line);
                return Err(wrong(line, column, &why));
            }
            let value = self.value(depth - 1)?;
            let value = value.ok_or_else(|| wrong(line, column, "a key without a value"))?;
            entries.push((key, value));
        }
        Ok(NodeValue::Mapping(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Node {
        tree(text).expect("yaml").expect("a document")
    }

    #[test]
    fn places_are_those_of_the_text() {
        let node = read("# first\na: 1\nb:\n  - x: |\n      one\n      two\n  - ~\n");
        let list = node.get("b").expect("b");
        let NodeValue::Sequence(items) = &list.value else {
            panic!("a list")
        };
        let block = items[0].get("x").expect("x");
        assert_eq!((block.line, block.text()), (5, Some("one\ntwo\n")));
        assert!(items[1].is_null());
        assert_eq!(node.get("a").map(|a| (a.line, a.column)), Some((2, 4)));
        assert_eq!(tree("# nothing\n"), Ok(None));
    }

    #[test]
    fn what_is_no_tree_is_refused_with_its_line() {
        let said = |text: &str| tree(text).expect_err("no tree").to_string();
        assert_eq!(
            said("a: 1\nb: 2\na: 3\n"),
            "not YAML: \"a\" appears twice (first in line 1) at line 3 column 1"
        );
        assert!(said("a: [1, 2\nb: 3").contains("line"));
        assert!(said(&"[".repeat(200)).contains("line 1"));
        let bomb: String = (1..30)
            .map(|i| format!("a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1))
            .collect();
        assert!(said(&format!("a0: &a0 [x, x]\n{bomb}")).contains("too many values"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-a-c: \n\\[\\]{},'\"&*|>#?!]{0,60}") {
            let _ = tree(&text);
        }
    }
}
