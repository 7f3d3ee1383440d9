//! What a column gets: a field, or a small expression of fields.
//! Refuses to be a language: no conditions, no loops, nothing that two runs would compute differently.

use crate::cql::read::Habits;
use crate::cql::{CqlType, CqlValue, uuid_text};
use crate::nearest::nearest;
use crate::seed::mix;
use crate::table::read_type;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a column gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// The field in this place.
    Field(usize),
    /// The same text for every row.
    Constant(String),
    /// What a record is expanded to.
    Element,
    /// When the load was started.
    Now,
    /// A UUID that follows from the row's number; of version 1 where the column wants that.
    Uuid {
        /// Whether it is of version 1.
        time: bool,
    },
    /// The n-th part, from 1, of a text between separators.
    Split(Box<Expr>, String, usize),
    /// Texts, one after the other; null where one of them is.
    Concat(Vec<Expr>),
    /// The text of a value of this type; a whole number becomes an address.
    Cast(Box<Expr>, CqlType),
}

/// Names that an expression may use.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// Fields of a record, in their order.
    pub fields: &'a [String],
    /// The name of what records are expanded to.
    pub element: Option<&'a str>,
}

/// What is known when a row is made.
#[derive(Debug, Clone, Copy)]
pub struct RowInput<'a> {
    /// The record's fields.
    pub fields: &'a [Option<Cow<'a, str>>],
    /// What the record is expanded to.
    pub element: Option<&'a str>,
    /// The row's number among all of the load, from 0.
    pub row: u64,
    /// When the load was started, in microseconds since 1970.
    pub start_us: i64,
}

const FUNCTIONS: [&str; 5] = ["now", "uuid", "split", "concat", "cast"];

impl Expr {
    /// Reads an expression for a column of this type.
    ///
    /// # Errors
    /// What is wrong with it, with the nearest known name.
    pub fn parse(text: &str, words: Words<'_>, ty: &CqlType) -> Result<Self, String> {
        let mut parser = Parser {
            text,
            at: 0,
            words,
            time: *ty == CqlType::Timeuuid,
        };
        let expr = parser.expr(0)?;
        parser.space();
        match parser.rest().is_empty() {
            true => Ok(expr),
            false => Err(format!("something follows at {:?}", parser.rest())),
        }
    }

    /// Whether it differs between the rows that one record is expanded to.
    pub fn varies(&self) -> bool {
        match self {
            Self::Element | Self::Uuid { .. } => true,
            Self::Field(_) | Self::Constant(_) | Self::Now => false,
            Self::Split(of, ..) | Self::Cast(of, _) => of.varies(),
            Self::Concat(all) => all.iter().any(Self::varies),
        }
    }

    /// Whether its text is the file's own: not one that was computed, or that stands in the command.
    pub(super) fn is_of_fields(&self) -> bool {
        match self {
            Self::Field(_) => true,
            Self::Split(of, ..) => of.is_of_fields(),
            Self::Concat(all) => all.iter().any(Self::is_of_fields),
            Self::Element | Self::Constant(_) | Self::Now | Self::Uuid { .. } | Self::Cast(..) => {
                false
            }
        }
    }

    /// Its text for a row; none for null.
    ///
    /// # Errors
    /// A field that is not there, or a cast of what is no such value.
    pub fn text<'a>(&'a self, given: &RowInput<'a>) -> Result<Option<Cow<'a, str>>, String> {
        Ok(match self {
            Self::Field(place) => match given.fields.get(*place) {
                Some(field) => field.as_deref().map(Cow::Borrowed),
                None => return Err(format!("the record has no field {}", place + 1)),
            },
            Self::Constant(text) => Some(Cow::Borrowed(text)),
            Self::Element => given.element.map(Cow::Borrowed),
            Self::Now => Some(Cow::Owned(
                CqlValue::Timestamp(given.start_us.div_euclid(1_000)).exact_text(),
            )),
            Self::Uuid { time } => Some(Cow::Owned(uuid_text(&uuid(given, *time)))),
            Self::Split(of, separator, n) => match of.text(given)? {
                None => None,
                Some(text) => {
                    let part = text.split(separator.as_str()).nth(n - 1);
                    part.map(|part| Cow::Owned(part.to_owned()))
                }
            },
            Self::Concat(all) => {
                let mut text = String::new();
                for one in all {
                    match one.text(given)? {
                        Some(more) => text.push_str(&more),
                        None => return Ok(None),
                    }
                }
                Some(Cow::Owned(text))
            }
            Self::Cast(of, ty) => match of.text(given)? {
                None => None,
                Some(text) => Some(Cow::Owned(cast(&text, ty)?)),
            },
        })
    }
}

/// The text of a value of this type.
fn cast(text: &str, ty: &CqlType) -> Result<String, String> {
    if *ty == CqlType::Inet
        && let Some(address) = address(text)
    {
        return Ok(address.to_string());
    }
    let value = CqlValue::read(ty, text, Habits::default());
    value
        .map(|value| value.exact_text())
        .map_err(|error| error.to_string())
}

/// An address as it is written, or as a whole number: up to 2^32 - 1 of version 4, above it of version 6.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Ok(number) = text.parse::<u128>() {
        return Some(match u32::try_from(number) {
            Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
            Err(_) => IpAddr::V6(Ipv6Addr::from(number)),
        });
    }
    text.parse().ok()
}

/// A UUID by the row's number and the start of the load: the same again when the load is resumed.
fn uuid(given: &RowInput<'_>, time: bool) -> [u8; 16] {
    // Hundreds of nanoseconds between 1582-10-15 and 1970-01-01.
    const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;
    let start = given.start_us.cast_unsigned();
    let random = mix(mix(start) ^ given.row);
    let mut bytes = [0; 16];
    if time {
        let at = GREGORIAN + start.wrapping_mul(10).wrapping_add(given.row);
        bytes[..4].copy_from_slice(&((at & 0xffff_ffff) as u32).to_be_bytes());
        bytes[4..6].copy_from_slice(&((at >> 32 & 0xffff) as u16).to_be_bytes());
        bytes[6..8].copy_from_slice(&((at >> 48 & 0x0fff) as u16 | 0x1000).to_be_bytes());
    } else {
        bytes[..8].copy_from_slice(&random.to_be_bytes());
        bytes[6] = bytes[6] & 0x0f | 0x40;
    }
    bytes[8..].copy_from_slice(&mix(random).to_be_bytes());
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    words: Words<'a>,
    time: bool,
}

/// How deep expressions may nest.
const DEEPEST: usize = 16;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, mark: char) -> bool {
        self.space();
        let found = self.rest().starts_with(mark);
        self.at += usize::from(found) * mark.len_utf8();
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(format!("expected {mark} at {:?}", self.rest())),
        }
    }

    /// A text in quotes, the quote doubled inside.
    fn quoted(&mut self, quote: char) -> Result<Option<String>, String> {
        if !self.takes(quote) {
            return Ok(None);
        }
        let mut text = String::new();
        loop {
            let Some((part, _)) = self.rest().split_once(quote) else {
                return Err(format!("a quote is not closed in {:?}", self.text));
            };
            text.push_str(part);
            self.at += part.len() + 1;
            if !self.rest().starts_with(quote) {
                return Ok(Some(text));
            }
            text.push(quote);
            self.at += 1;
        }
    }

    fn expr(&mut self, depth: usize) -> Result<Expr, String> {
        if depth > DEEPEST {
            return Err("it nests too deeply".to_owned());
        }
        if let Some(text) = self.quoted('\'')? {
            return Ok(Expr::Constant(text));
        }
        if let Some(name) = self.quoted('"')? {
            return self.named(&name);
        }
        self.space();
        let rest = self.rest();
        let end = rest.find([',', '(', ')']).unwrap_or(rest.len());
        let word = rest[..end].trim_end();
        self.at += end;
        if word.is_empty() {
            return Err("a field, a 'constant' or a function is missing".to_owned());
        }
        if self.takes('(') {
            let call = self.call(&word.to_lowercase(), depth)?;
            self.expect(')')?;
            return Ok(call);
        }
        if let Some(place) = word.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) {
            let most = self.words.fields.len();
            return match (1..=most).contains(&place) {
                true => Ok(Expr::Field(place - 1)),
                false => Err(format!("there is no field ${place}: a record has {most}")),
            };
        }
        if word.parse::<f64>().is_ok() {
            return Ok(Expr::Constant(word.to_owned()));
        }
        self.named(word)
    }

    fn named(&self, name: &str) -> Result<Expr, String> {
        if self.words.element == Some(name) {
            return Ok(Expr::Element);
        }
        if let Some(place) = self.words.fields.iter().position(|field| field == name) {
            return Ok(Expr::Field(place));
        }
        let known = self.words.fields.iter().map(String::as_str);
        let near = nearest(name, known.chain(self.words.element));
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        Err(format!(
            "there is no field {name:?}{near} (a constant stands in single quotes)"
        ))
    }

    fn call(&mut self, function: &str, depth: usize) -> Result<Expr, String> {
        match function {
            "now" => Ok(Expr::Now),
            "uuid" => Ok(Expr::Uuid { time: self.time }),
            "split" => {
                let of = self.expr(depth + 1)?;
                self.expect(',')?;
                let separator = self.quoted('\'')?.filter(|text| !text.is_empty());
                let separator =
                    separator.ok_or("split(FIELD, 'SEPARATOR', N) wants a separator")?;
                self.expect(',')?;
                self.space();
                let digits: String = self
                    .rest()
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect();
                self.at += digits.len();
                let n = digits.parse().ok().filter(|n| *n > 0);
                let n = n.ok_or("split counts parts from 1")?;
                Ok(Expr::Split(Box::new(of), separator, n))
            }
            "concat" => {
                let mut all = vec![self.expr(depth + 1)?];
                while self.takes(',') {
                    all.push(self.expr(depth + 1)?);
                }
                Ok(Expr::Concat(all))
            }
            "cast" => {
                let of = self.expr(depth + 1)?;
                self.expect(',')?;
                self.space();
                let rest = self.rest();
                let end = rest.find(')').unwrap_or(rest.len());
                self.at += end;
                let ty = read_type(rest[..end].trim(), "", &BTreeMap::new());
                let ty = ty.map_err(|error| error.to_string())?;
                Ok(Expr::Cast(Box::new(of), ty))
            }
            other => {
                let near = nearest(other, FUNCTIONS);
                let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
                Err(format!(
                    "there is no function {other}{near} (there are {})",
                    FUNCTIONS.join(", ")
                ))
            }
        }
    }
}
