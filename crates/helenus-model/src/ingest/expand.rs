//! Records that stand for many rows: ranges of numbers, addresses and dates.
//! Refuses to hold a range: each element is computed when its turn comes.

use super::expr::{Expr, RowInput, Words, address};
use crate::cql::read::Habits;
use crate::cql::{CqlType, CqlValue};
use crate::nearest::nearest;
use std::net::{IpAddr, Ipv6Addr};

/// A generator step: `NAME: KIND(FROM, TO)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expand {
    /// The name by which mappings know an element.
    pub name: String,
    kind: Kind,
    arguments: Vec<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Number,
    Date,
    Ipv4,
    Ipv4Prefix,
    Ipv6,
}

/// Each with the fewest and the most arguments.
const KINDS: [(&str, Kind, usize, usize); 6] = [
    ("int_range", Kind::Int, 2, 3),
    ("number_range", Kind::Number, 3, 3),
    ("date_range", Kind::Date, 2, 2),
    ("ipv4_range", Kind::Ipv4, 2, 2),
    ("ipv4_prefix", Kind::Ipv4Prefix, 1, 1),
    ("ipv6_range", Kind::Ipv6, 2, 3),
];

/// The elements of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    kind: Kind,
    first: i128,
    step: i128,
    /// Digits behind the point.
    places: usize,
    /// Length of IPv6 prefixes.
    prefix: u32,
    /// How many elements there are.
    pub count: u64,
}

impl Expand {
    /// Reads `NAME: KIND(FROM, TO)`; the arguments are expressions of fields.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, fields: &[String]) -> Result<Self, String> {
        let form =
            "an expansion is written NAME: KIND(FROM, TO), such as ip: ipv4_range(ip_from, ip_to)";
        let (name, call) = text.split_once(':').ok_or(form)?;
        let (kind, rest) = call.trim().split_once('(').ok_or(form)?;
        let inner = rest.trim_end().strip_suffix(')').ok_or(form)?;
        let kind = kind.trim();
        let Some((_, found, least, most)) = KINDS.iter().find(|(known, ..)| *known == kind) else {
            let near = nearest(kind, KINDS.iter().map(|(name, ..)| *name));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            let known: Vec<&str> = KINDS.iter().map(|(name, ..)| *name).collect();
            let known = known.join(", ");
            return Err(format!(
                "there is no expansion {kind:?}{near} (there are {known})"
            ));
        };
        let words = Words {
            fields,
            element: None,
        };
        // The arguments are those of a concat: nothing else knows where quotes end.
        let whole = Expr::parse(&format!("concat({inner})"), words, &CqlType::Text)?;
        let arguments = match whole {
            Expr::Concat(all) => all,
            other => vec![other],
        };
        if !(*least..=*most).contains(&arguments.len()) {
            let given = arguments.len();
            return Err(format!(
                "{kind} takes {least} to {most} arguments, not {given}"
            ));
        }
        Ok(Self {
            name: name.trim().to_owned(),
            kind: *found,
            arguments,
        })
    }

    /// The bounds, as expressions of fields.
    pub fn arguments(&self) -> &[Expr] {
        &self.arguments
    }

    /// The elements that a record stands for.
    ///
    /// # Errors
    /// Bounds that are no such values, or in the wrong order.
    pub fn open(&self, given: &RowInput<'_>) -> Result<Expansion, String> {
        let mut texts = Vec::new();
        for argument in &self.arguments {
            let text = argument.text(given)?;
            texts.push(
                text.ok_or("a bound of the expansion is null")?
                    .trim()
                    .to_owned(),
            );
        }
        let mut open = Expansion {
            kind: self.kind,
            first: 0,
            step: 1,
            places: 0,
            prefix: 128,
            count: 0,
        };
        let last = match self.kind {
            Kind::Int => {
                let whole = |text: &String| {
                    let number: Result<i64, _> = text.parse();
                    number
                        .map(i128::from)
                        .map_err(|_| format!("{text:?} is not a whole number"))
                };
                open.first = whole(&texts[0])?;
                open.step = texts.get(2).map_or(Ok(1), whole)?;
                whole(&texts[1])?
            }
            Kind::Number => {
                let places = |text: &String| text.split_once('.').map_or(0, |(_, f)| f.len());
                open.places = texts.iter().map(places).max().unwrap_or(0);
                let scaled = |text: &String| scaled(text, open.places);
                let (first, last, step) =
                    (scaled(&texts[0])?, scaled(&texts[1])?, scaled(&texts[2])?);
                (open.first, open.step) = (first, step);
                last
            }
            Kind::Date => {
                open.first = day(&texts[0])?;
                day(&texts[1])?
            }
            Kind::Ipv4 => {
                open.first = i128::from(four(&texts[0])?);
                i128::from(four(&texts[1])?)
            }
            Kind::Ipv4Prefix => {
                let wrong = || format!("{:?} is not a prefix such as 10.0.0.0/8", texts[0]);
                let (base, length) = texts[0].split_once('/').ok_or_else(wrong)?;
                let length: u32 = length.parse().map_err(|_| wrong())?;
                if length > 32 {
                    return Err(wrong());
                }
                let size = 1_i128 << (32 - length);
                open.first = i128::from(four(base)?) / size * size;
                open.first + size - 1
            }
            Kind::Ipv6 => {
                let wrong = || "the length of IPv6 prefixes is 1 to 128".to_owned();
                if let Some(length) = texts.get(2) {
                    let length = length.parse().ok().filter(|n| (1..=128).contains(n));
                    open.prefix = length.ok_or_else(wrong)?;
                }
                let cut = |text| Ok::<_, String>(six(text)? >> (128 - open.prefix));
                let (first, last) = (cut(&texts[0])?, cut(&texts[1])?);
                let count = last
                    .checked_sub(first)
                    .ok_or("the range ends before it begins")?;
                open.first = first.cast_signed();
                open.count = u64::try_from(count)
                    .ok()
                    .and_then(|n| n.checked_add(1))
                    .ok_or("the range has more than 2^64 elements")?;
                return Ok(open);
            }
        };
        if open.step <= 0 {
            return Err("the step of a range is above 0".to_owned());
        }
        if last < open.first {
            return Err(format!(
                "the range ends before it begins: {} to {}",
                texts[0],
                texts.get(1).unwrap_or(&texts[0])
            ));
        }
        let count = (last - open.first) / open.step + 1;
        open.count = u64::try_from(count).map_err(|_| "the range has too many elements")?;
        Ok(open)
    }
}

impl Expansion {
    /// The text of the element in this place, from 0.
    pub fn element(&self, place: u64, out: &mut String) {
        use std::fmt::Write as _;
        out.clear();
        let at = self
            .first
            .wrapping_add(self.step.wrapping_mul(i128::from(place)));
        let _infallible = match self.kind {
            Kind::Int => write!(out, "{at}"),
            Kind::Number => {
                let sign = if at < 0 { "-" } else { "" };
                let digits = format!("{:0>width$}", at.unsigned_abs(), width = self.places + 1);
                let (whole, fraction) = digits.split_at(digits.len() - self.places);
                let point = if self.places > 0 { "." } else { "" };
                write!(out, "{sign}{whole}{point}{fraction}")
            }
            Kind::Date => {
                let days = u32::try_from(at).unwrap_or(0);
                write!(out, "{}", CqlValue::Date(days).exact_text())
            }
            Kind::Ipv4 | Kind::Ipv4Prefix => {
                put_ipv4(u32::try_from(at).unwrap_or(0), out);
                Ok(())
            }
            Kind::Ipv6 => {
                let bits = at.cast_unsigned() << (128 - self.prefix);
                match self.prefix {
                    128 => write!(out, "{}", Ipv6Addr::from(bits)),
                    length => write!(out, "{}/{length}", Ipv6Addr::from(bits)),
                }
            }
        };
    }
}

/// The four numbers of an address: quicker than its `Display`, and there is one for each of two billion rows.
fn put_ipv4(address: u32, out: &mut String) {
    let digit = |n: u8| char::from(b'0' + n % 10);
    for (at, number) in address.to_be_bytes().into_iter().enumerate() {
        if at > 0 {
            out.push('.');
        }
        if number >= 100 {
            out.push(digit(number / 100));
        }
        if number >= 10 {
            out.push(digit(number / 10));
        }
        out.push(digit(number));
    }
}

fn scaled(text: &str, places: usize) -> Result<i128, String> {
    let wrong = || format!("{text:?} is not a decimal number");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if places > 18 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: i128 = format!("{whole}{fraction:0<places$}")
        .parse()
        .map_err(|_| wrong())?;
    match number.unsigned_abs() < 1 << 100 {
        true => Ok(number),
        false => Err(wrong()),
    }
}

fn day(text: &str) -> Result<i128, String> {
    match CqlValue::read(&CqlType::Date, text, Habits::default()) {
        Ok(CqlValue::Date(days)) => Ok(i128::from(days)),
        _ => Err(format!("{text:?} is not a date such as 2026-01-31")),
    }
}

fn four(text: &str) -> Result<u32, String> {
    match address(text) {
        Some(IpAddr::V4(four)) => Ok(four.into()),
        _ => Err(format!(
            "{text:?} is neither an IPv4 address nor a whole number below 2^32"
        )),
    }
}

fn six(text: &str) -> Result<u128, String> {
    match address(text) {
        Some(IpAddr::V6(six)) => Ok(six.into()),
        // As IP2Location writes IPv4 addresses in files of version 6.
        Some(IpAddr::V4(four)) if text.parse::<u128>().is_ok() => Ok(u128::from(u32::from(four))),
        _ => Err(format!("{text:?} is not an IPv6 address")),
    }
}

#[cfg(test)]
mod tests {
    use super::put_ipv4;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    proptest! {
        #[test]
        fn addresses_are_written_as_everybody_writes_them(address in any::<u32>()) {
            let mut text = String::new();
            put_ipv4(address, &mut text);
            prop_assert_eq!(text, Ipv4Addr::from(address).to_string());
        }
    }
}
