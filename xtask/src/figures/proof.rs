//! A block whose words stand in `xtask/figures/NAME.txt` and whose numbers come from campaigns' journals, each by a
//! placeholder such as `{spread helenus.wall_s .2}`. Refuses a number that the raw file does not have.

use super::Call;
use crate::prove::figures::{Journal, held};
use helenus_model::stats;
use helenus_model::units::grouped;
use std::error::Error;

/// The block's text.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let [name] = call.words.as_slice() else {
        return Err("proof wants the name of its template".into());
    };
    let path = call.root.join("xtask/figures").join(format!("{name}.txt"));
    let template = fs_err::read_to_string(path)?;
    let journals: Vec<Journal> = call
        .files
        .iter()
        .map(|file| Journal::of(file))
        .collect::<Result<_, _>>()?;
    filled(&template, &journals)
}

/// The template with its placeholders replaced.
fn filled(template: &str, journals: &[Journal]) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        let (asked, after) = behind
            .split_once('}')
            .ok_or("a placeholder without its end")?;
        text.push_str(before);
        text.push_str(&figure(asked, journals).map_err(|e| format!("{{{asked}}}: {e}"))?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// One figure: `STATISTIC SERIES… FORMAT…`.
fn figure(asked: &str, journals: &[Journal]) -> Result<String, Box<dyn Error>> {
    let words: Vec<&str> = asked.split(' ').collect();
    let (statistic, rest) = words.split_first().ok_or("nothing is asked")?;
    let series = |at: usize| -> Result<Vec<f64>, Box<dyn Error>> {
        let name = rest.get(at).ok_or("it wants a series")?;
        series(name, journals)
    };
    let middle = |at: usize| -> Result<f64, Box<dyn Error>> {
        Ok(stats::median(&series(at)?).ok_or("no value")?)
    };
    let one = |value: f64| -> Result<String, Box<dyn Error>> {
        Ok(Shape::parse(&rest[1..])?.number(value))
    };
    let ends = || -> Result<[String; 2], Box<dyn Error>> {
        let values = series(0)?;
        let shape = Shape::parse(&rest[1..])?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok([shape.number(least), shape.number(most)])
    };
    Ok(match *statistic {
        "median" => one(middle(0)?)?,
        "least" => ends()?[0].clone(),
        "most" => ends()?[1].clone(),
        "range" => {
            let [least, most] = ends()?;
            if least == most {
                least
            } else {
                format!("{least} to {most}")
            }
        }
        "spread" => {
            let [least, most] = ends()?;
            format!("{} ({least} to {most})", one(middle(0)?)?)
        }
        // A bar of blocks, as long as the median: `/1500` is 1,500 a block.
        "bars" => {
            let blocks = middle(0)? * Shape::parse(&rest[1..])?.times;
            "█".repeat(blocks.round().clamp(0.0, 100.0) as usize)
        }
        "sum" => one(series(0)?.iter().sum())?,
        "n" => series(0)?.len().to_string(),
        "ratio" => Shape::parse(&rest[2..])?.number(middle(0)? / middle(1)?),
        "less" => Shape::parse(&rest[2..])?.number(middle(0)? - middle(1)?),
        "above" => {
            let bound: f64 = rest.get(1).ok_or("above what?")?.parse()?;
            let above = series(0)?.iter().filter(|value| **value > bound).count();
            above.to_string()
        }
        // Of so many values, those that are 0.
        "zeros" => series(0)?
            .iter()
            .filter(|value| **value == 0.0)
            .count()
            .to_string(),
        "bar" => {
            let place: usize = rest.first().ok_or("which bar?")?.parse()?;
            let journal = journals.first().ok_or("no file")?;
            held(journal, place)?.to_owned()
        }
        other => return Err(format!("no statistic {other}").into()),
    })
}

/// Values of `VARIANT.MEASURE`, of the second file `2#VARIANT.MEASURE`; `*` stands for all variants, and `@load`, `@steal`
/// and `@others` are what else went on.
fn series(name: &str, journals: &[Journal]) -> Result<Vec<f64>, Box<dyn Error>> {
    let (file, name) = match name.split_once('#') {
        Some((file, name)) => (file.parse::<usize>()?, name),
        None => (1, name),
    };
    let journal = file.checked_sub(1).and_then(|at| journals.get(at));
    let journal = journal.ok_or_else(|| format!("no file {file}"))?;
    let (variant, measure) = name.rsplit_once('.').ok_or("VARIANT.MEASURE")?;
    let values = journal.values(variant, measure);
    match values.is_empty() {
        true => Err(format!("no value of {name}").into()),
        false => Ok(values),
    }
}

/// How a number is written.
#[derive(Debug, Clone, Copy)]
struct Shape {
    times: f64,
    decimals: Option<usize>,
    signed: bool,
}

impl Shape {
    /// `*100`, `/1000`, `.2` (decimals; without it three significant digits), `+` (with its sign).
    fn parse(words: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut shape = Self {
            times: 1.0,
            decimals: None,
            signed: false,
        };
        for word in words {
            let (mark, number) = word.split_at(1);
            match mark {
                "*" => shape.times *= number.parse::<f64>()?,
                "/" => shape.times /= number.parse::<f64>()?,
                "." => shape.decimals = Some(number.parse()?),
                "+" => shape.signed = true,
                _ => return Err(format!("no form {word}").into()),
            }
        }
        Ok(shape)
    }

    fn number(self, value: f64) -> String {
        let text = number(value * self.times, self.decimals);
        if self.signed && !text.starts_with('-') {
            return format!("+{text}");
        }
        text
    }
}

/// A number with so many decimals, or three significant digits; whole thousands with commas, and no `-0`.
pub(super) fn number(value: f64, decimals: Option<usize>) -> String {
    let size = value.abs();
    let (value, decimals) = match decimals {
        Some(decimals) => (value, decimals),
        // Numbers above a thousand have three significant digits, too: the fourth is noise.
        None if size >= 999.5 => {
            let unit = 10_f64.powf(size.log10().floor() - 2.0);
            ((value / unit).round() * unit, 0)
        }
        None if size == 0.0 || size >= 99.95 => (value, 0),
        None if size >= 9.995 => (value, 1),
        None if size >= 0.9995 => (value, 2),
        None => (value, 3),
    };
    let text = format!("{:.decimals$}", value.abs());
    let negative = value < 0.0 && text.bytes().any(|b| matches!(b, b'1'..=b'9'));
    let sign = if negative { "-" } else { "" };
    format!("{sign}{}", grouped(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::figures::of_values;

    #[test]
    fn placeholders_are_filled_from_the_journal() {
        let journals = [
            of_values("start", &[("a", 1.0), ("a", 3.0), ("a", 2.5), ("b", 10.0)]),
            of_values("start", &[("a", 7.25)]),
        ];
        let fill = |template: &str| filled(template, &journals).unwrap();
        assert_eq!(fill("x {spread a.wall_s .2} s"), "x 2.50 (1.00 to 3.00) s");
        assert_eq!(fill("{range a.wall_s .1} {n a.wall_s}"), "1.0 to 3.0 3");
        assert_eq!(fill("{above a.wall_s 2} {zeros a.wall_s}"), "2 0");
        assert_eq!(fill("{ratio a.wall_s b.wall_s .2}"), "0.25");
        assert_eq!(fill("{less b.wall_s a.wall_s + .1}"), "+7.5");
        assert_eq!(fill("{bars b.wall_s /4}"), "███");
        assert_eq!(fill("{median 2#a.wall_s *1000}"), "7,250");
        assert_eq!(fill("{most *.wall_s .0} {most *.@load .1}"), "10 1.0");
        for wrong in [
            "{median c.wall_s}",
            "{median a}",
            "{mode a.wall_s}",
            "{median a.wall_s",
            "{median a.wall_s x}",
        ] {
            assert!(filled(wrong, &journals).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_have_three_digits_or_as_many_decimals_as_asked() {
        let three = [
            (14_782.0, "14,800"),
            (1_976.4, "1,980"),
            (335.2, "335"),
            (15.79, "15.8"),
            (2.109, "2.11"),
            (0.0339, "0.034"),
            (0.0, "0"),
            (-12.34, "-12.3"),
        ];
        for (value, wanted) in three {
            assert_eq!(number(value, None), wanted);
        }
        assert_eq!(number(-0.004, Some(2)), "0.00");
        assert_eq!(number(1_234_567.0, Some(0)), "1,234,567");
    }
}
