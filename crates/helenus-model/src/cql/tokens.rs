//! CQL's words: names, texts, numbers, signs and bind markers, each with its place in the text.
//! Refuses grammar: what the words mean together is for those who read them.

use std::ops::Range;

/// One word of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Names as the server stores them, texts without quotes, all else as written.
    pub text: String,
    /// Bytes of the statement that it takes.
    pub at: Range<usize>,
}

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or keyword without quotes; its text is in lower case.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A text in single quotes or between `$$`.
    Text,
    /// A number, a UUID or a blob.
    Number,
    /// `?` or `:name`; its text is the name, empty for `?`.
    Marker,
    /// Anything else: one bracket or sign; `<=`, `>=` and `!=` are one.
    Sign,
}

impl Token {
    /// Whether it is this keyword or sign (in lower case).
    pub fn is(&self, word: &str) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Sign) && self.text == word
    }

    /// Whether it can name a column, table or field.
    pub fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Quoted)
    }
}

/// The words of a statement, comments left out; a quote that is not closed goes to the end.
pub fn tokens(statement: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = statement[at..].chars().next() {
        let rest = &statement[at..];
        let blank = blank(rest);
        if blank > 0 {
            at += blank;
            continue;
        }
        let (kind, text, length) = token(rest, first, found.last());
        found.push(Token {
            kind,
            text,
            at: at..at + length,
        });
        at += length;
    }
    found
}

/// Line and column, both from 1, of a byte of a text.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    (line, before[start..].chars().count() + 1)
}

/// White space and comments at the beginning of a text, piece by piece.
pub fn blanks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(blank(rest));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Bytes of white space or of a comment at the beginning.
fn blank(rest: &str) -> usize {
    let white = rest.len() - rest.trim_start().len();
    if white > 0 {
        return white;
    }
    if rest.starts_with("--") || rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if let Some(inside) = rest.strip_prefix("/*") {
        return inside.find("*/").map_or(rest.len(), |n| n + 4);
    }
    0
}

fn token(rest: &str, first: char, last: Option<&Token>) -> (TokenKind, String, usize) {
    match first {
        '"' => quoted(rest, '"', TokenKind::Quoted),
        '\'' => quoted(rest, '\'', TokenKind::Text),
        '$' if rest.starts_with("$$") => {
            let inside = rest[2..].find("$$").unwrap_or(rest.len() - 2);
            let length = (inside + 4).min(rest.len());
            (TokenKind::Text, rest[2..2 + inside].to_owned(), length)
        }
        '?' => (TokenKind::Marker, String::new(), 1),
        ':' => named(rest, last),
        '0'..='9' => {
            let length = span(rest, |c| {
                c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
            });
            // Two dashes are no part of a UUID or an exponent: a comment begins.
            let length = rest[..length].find("--").unwrap_or(length);
            (TokenKind::Number, rest[..length].to_owned(), length)
        }
        c if c.is_alphabetic() || c == '_' => {
            let length = span(rest, |c| c.is_alphanumeric() || c == '_');
            (TokenKind::Word, rest[..length].to_lowercase(), length)
        }
        _ => {
            let length = match rest.get(..2) {
                Some("<=" | ">=" | "!=") => 2,
                _ => first.len_utf8(),
            };
            (TokenKind::Sign, rest[..length].to_owned(), length)
        }
    }
}

/// `:name`, or the sign of a map or user type, whose key stands before it inside braces.
fn named(rest: &str, last: Option<&Token>) -> (TokenKind, String, usize) {
    let after_key = last.is_some_and(|token| {
        token.is_name() && !KEYWORDS_BEFORE_MARKERS.contains(&token.text.as_str())
            || matches!(
                token.kind,
                TokenKind::Text | TokenKind::Number | TokenKind::Marker
            )
    });
    let name = &rest[1..];
    if let Some(quoted_name) = name.strip_prefix('"').filter(|_| !after_key) {
        let (_, text, length) = quoted(&name[..quoted_name.len() + 1], '"', TokenKind::Quoted);
        return (TokenKind::Marker, text, length + 1);
    }
    let length = span(name, |c| c.is_alphanumeric() || c == '_');
    if length == 0 || after_key {
        return (TokenKind::Sign, ":".to_owned(), 1);
    }
    (TokenKind::Marker, name[..length].to_lowercase(), length + 1)
}

/// Words after which a colon begins a marker.
const KEYWORDS_BEFORE_MARKERS: [&str; 11] = [
    "in",
    "limit",
    "ttl",
    "timestamp",
    "contains",
    "key",
    "like",
    "between",
    "and",
    "json",
    "of",
];

fn quoted(rest: &str, quote: char, kind: TokenKind) -> (TokenKind, String, usize) {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != quote {
            text.push(letter);
        } else if letters.peek().is_some_and(|(_, next)| *next == quote) {
            text.push(quote);
            letters.next();
        } else {
            return (kind, text, at + 1);
        }
    }
    (kind, text, rest.len())
}

fn span(text: &str, inside: impl Fn(char) -> bool) -> usize {
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let all = tokens(text).into_iter();
        all.map(|t| format!("{:?} {}", t.kind, t.text)).collect()
    }

    #[test]
    fn words_of_every_kind() {
        let text = "SELECT \"A\"\"b\" FROM t -- all\nWHERE k>=? AND m[:Key] = {'x': ?, y: :v} LIMIT :l /* end */;";
        insta::assert_snapshot!(words(text).join("\n"), @r#"
        Word select
        Quoted A"b
        Word from
        Word t
        Word where
        Word k
        Sign >=
        Marker 
        Word and
        Word m
        Sign [
        Marker key
        Sign ]
        Sign =
        Sign {
        Text x
        Sign :
        Marker 
        Sign ,
        Word y
        Sign :
        Marker v
        Sign }
        Word limit
        Marker l
        Sign ;
        "#);
        assert_eq!(words("'it''s' $$a'b$$ 'open")[2], "Text open");
        assert_eq!(
            words("1e-5 10-- all\n b"),
            ["Number 1e-5", "Number 10", "Word b"]
        );
        assert_eq!(line_and_column("ab\ncdé f", 8), (2, 5));
    }

    proptest! {
        #[test]
        fn any_text_has_words_within_it(text in ".{0,60}") {
            let mut end = 0;
            for token in tokens(&text) {
                prop_assert!(token.at.start >= end && token.at.end > token.at.start);
                end = token.at.end;
            }
            prop_assert!(end <= text.len());
        }
    }
}
