//! Distributions of whole numbers, in cassandra-stress's notation: `uniform(1..1M)`, `~exp(1..10)`, `fixed(1)/2`.
//! Refuses a generator with a state of its own: a draw is a pure function of 64 random bits.

mod real;
#[cfg(test)]
mod tests;
mod words;

use crate::nearest::nearest;
use crate::seed::mix;
use crate::stats::normal_quantile;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A distribution over whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Dist {
    /// As it was written, white space taken out.
    text: String,
    shape: Shape,
    inverted: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Fixed(i64),
    Uniform(i64, i64),
    Sequence(i64, i64),
    /// Ours: every so many numbers of a range.
    Steps {
        min: i64,
        max: i64,
        step: i64,
    },
    /// Ours: the smallest the most often, by Gray and others' method (1994), which YCSB made known.
    Zipf {
        min: i64,
        max: i64,
        exponent: f64,
        /// Sum of `i ^ -exponent` over all values.
        sum: f64,
    },
    Exponential {
        min: i64,
        max: i64,
        mean: f64,
    },
    Weibull {
        min: i64,
        max: i64,
        shape: f64,
        scale: f64,
        /// Bounds of the quantas within which every value is as likely as any other; empty where it has none.
        bounds: Vec<i64>,
    },
    Gaussian {
        min: i64,
        max: i64,
        mean: f64,
        deviation: f64,
    },
}

/// Why a text is not a distribution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DistError {
    /// Not of the form `NAME(…)`.
    #[error("{text:?} is not a distribution: write it as {}", FORMS[0].1)]
    Form {
        /// What was written.
        text: String,
    },
    /// A name that is not known.
    #[error("{name:?} is not a distribution{}: it is one of {}", near(name), names().join(", "))]
    Name {
        /// What was written.
        name: String,
    },
    /// Parameters that the form does not take.
    #[error("{text:?}: the form is {form}{}", why.map(|w| format!(" ({w})")).unwrap_or_default())]
    Parameters {
        /// What was written.
        text: String,
        /// How it is written.
        form: &'static str,
        /// What is wrong, where more can be said than the form.
        why: Option<&'static str>,
    },
    /// What stands behind the slash of a ratio is no positive whole number.
    #[error(
        "{text:?}: after the slash comes a whole number above 0, as in fixed(1)/2 or fixed(2)/10M"
    )]
    Divisor {
        /// What was written.
        text: String,
    },
}

/// Names and how each is written.
const FORMS: [(&str, &str); 8] = [
    ("uniform", "uniform(min..max)"),
    ("fixed", "fixed(value)"),
    ("seq", "seq(min..max)"),
    ("exp", "exp(min..max)"),
    (
        "gaussian",
        "gaussian(min..max), gaussian(min..max,stdvrng) or gaussian(min..max,mean,stdev)",
    ),
    ("extreme", "extreme(min..max,shape)"),
    ("zipf", "zipf(min..max) or zipf(min..max,exponent)"),
    ("steps", "steps(min..max,step)"),
];

const QUANTISED: &str = "qextreme(min..max,shape,quantas)";

/// All names that are taken, the main one of each first.
fn names() -> Vec<&'static str> {
    let mut all: Vec<_> = FORMS.iter().map(|(name, _)| *name).collect();
    all.extend(["qextreme", "gauss", "normal", "norm", "extr", "qextr"]);
    all
}

/// The nearest name, as an error prints it.
fn near(name: &str) -> String {
    let near = nearest(name, names());
    near.map(|near| format!(" (the nearest is {near})"))
        .unwrap_or_default()
}

/// A whole number with cassandra-stress's suffixes: `k` is 10^3, `m` 10^6, `b` 10^9.
pub fn whole_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let last = text.chars().last()?;
    let factor = match last.to_ascii_lowercase() {
        'k' => 1_000,
        'm' => 1_000_000,
        'b' => 1_000_000_000,
        _ => return text.parse().ok(),
    };
    let number: i64 = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(factor)
}

/// `min..max`; more dots than two are taken, as cassandra-stress takes them.
fn range(text: &str) -> Option<(i64, i64)> {
    let (min, max) = text.split_once("..")?;
    Some((
        whole_number(min)?,
        whole_number(max.trim_start_matches('.'))?,
    ))
}

impl FromStr for Dist {
    type Err = DistError;

    fn from_str(text: &str) -> Result<Self, DistError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let form = || DistError::Form { text: text.clone() };
        let (inverted, plain) = match text.strip_prefix('~') {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let (name, rest) = plain.split_once('(').ok_or_else(form)?;
        let inside = rest.strip_suffix(')').ok_or_else(form)?;
        let arguments: Vec<&str> = inside.split(',').filter(|a| !a.is_empty()).collect();
        let shape = Shape::read(name, &arguments, &text)?;
        Ok(Self {
            text,
            shape,
            inverted,
        })
    }
}

impl Shape {
    fn read(name: &str, arguments: &[&str], text: &str) -> Result<Self, DistError> {
        let lower = name.to_ascii_lowercase();
        let wrong = |form: &'static str, why: Option<&'static str>| DistError::Parameters {
            text: text.to_owned(),
            form,
            why,
        };
        let form_of = |name: &str| FORMS.iter().find(|f| f.0 == name).map_or("", |f| f.1);
        match (lower.as_str(), arguments) {
            ("fixed", [value]) => whole_number(value)
                .map(Self::Fixed)
                .ok_or_else(|| wrong(form_of("fixed"), None)),
            ("uniform", [bounds]) => match range(bounds) {
                Some((min, max)) if min == max => Ok(Self::Fixed(min)),
                Some((min, max)) if min < max => Ok(Self::Uniform(min, max)),
                other => Err(wrong(form_of("uniform"), order(other))),
            },
            ("seq", [bounds]) => match range(bounds) {
                Some((min, max)) if min < max => Ok(Self::Sequence(min, max)),
                other => Err(wrong(form_of("seq"), order(other))),
            },
            ("steps", [bounds, step]) => match (range(bounds), whole_number(step)) {
                (Some((min, max)), Some(step)) if min <= max && step > 0 => {
                    Ok(Self::Steps { min, max, step })
                }
                (other, _) => Err(wrong(form_of("steps"), order(other))),
            },
            ("zipf", [bounds, rest @ ..]) if rest.len() <= 1 => {
                zipf(range(bounds), rest.first()).map_err(|why| wrong(form_of("zipf"), why))
            }
            ("exp", [bounds]) => match range(bounds) {
                Some((min, max)) if min == max => Ok(Self::Fixed(min)),
                Some((min, max)) if min < max => Ok(exponential(min, max)),
                other => Err(wrong(form_of("exp"), order(other))),
            },
            ("gaussian" | "gauss" | "normal" | "norm", [bounds, rest @ ..]) if rest.len() <= 2 => {
                gaussian(range(bounds), rest).map_err(|why| wrong(form_of("gaussian"), why))
            }
            ("extreme" | "extr", [bounds, shape]) => {
                weibull(range(bounds), shape, None).map_err(|why| wrong(form_of("extreme"), why))
            }
            ("qextreme" | "qextr", [bounds, shape, quantas]) => {
                weibull(range(bounds), shape, Some(quantas)).map_err(|why| wrong(QUANTISED, why))
            }
            ("qextreme" | "qextr", _) => Err(wrong(QUANTISED, None)),
            ("extr", _) => Err(wrong(form_of("extreme"), None)),
            ("gauss" | "normal" | "norm", _) => Err(wrong(form_of("gaussian"), None)),
            (known, _) if FORMS.iter().any(|f| f.0 == known) => Err(wrong(form_of(known), None)),
            _ => Err(DistError::Name {
                name: name.to_owned(),
            }),
        }
    }
}

/// What is wrong with a range that could be read.
fn order(range: Option<(i64, i64)>) -> Option<&'static str> {
    range.map(|(min, max)| {
        if min > max {
            "min is above max"
        } else {
            "min is max"
        }
    })
}

/// The largest probability that is reached inside the range: the root of the width's share, as cassandra-stress takes
/// it, so that all of the range is visited without being overly skewed.
#[expect(clippy::cast_precision_loss, reason = "a share of a width")]
fn edge(min: i64, max: i64) -> (f64, f64) {
    let width = (max as f64) - (min as f64);
    (width, 1.0 - (1.0 / width).sqrt())
}

fn exponential(min: i64, max: i64) -> Shape {
    let (width, edge) = edge(min, max);
    // The quantile of a mean of 1; a width of 1 has its edge at 0, where cassandra-stress divides by zero.
    let mean = width / -(1.0 - edge).ln();
    Shape::Exponential { min, max, mean }
}

/// Values whose sum is taken one by one; the rest of it is an integral.
const SUMMED: i64 = 10_000;

#[expect(clippy::cast_precision_loss, reason = "places in a sum")]
fn zipf(range: Option<(i64, i64)>, exponent: Option<&&str>) -> Result<Shape, Option<&'static str>> {
    let (min, max) = range.ok_or(None)?;
    if min == max {
        return Ok(Shape::Fixed(min));
    }
    if min > max {
        return Err(order(range));
    }
    let exponent: f64 = exponent
        .map_or(Ok(0.99), |text| text.parse())
        .map_err(|_| None)?;
    if !(exponent > 0.0 && exponent < 1.0) {
        return Err(Some("the exponent is above 0 and below 1"));
    }
    let count = max.saturating_sub(min).saturating_add(1);
    let one_by_one = (1..=count.min(SUMMED)).map(|i| (i as f64).powf(-exponent));
    let mut sum: f64 = one_by_one.sum();
    if count > SUMMED {
        let integral = |x: f64| x.powf(1.0 - exponent) / (1.0 - exponent);
        sum += integral(count as f64 + 0.5) - integral(SUMMED as f64 + 0.5);
    }
    Ok(Shape::Zipf {
        min,
        max,
        exponent,
        sum,
    })
}

fn weibull(
    range: Option<(i64, i64)>,
    shape: &str,
    quantas: Option<&&str>,
) -> Result<Shape, Option<&'static str>> {
    let (min, max) = range.ok_or(None)?;
    if min == max {
        return Ok(Shape::Fixed(min));
    }
    if min > max {
        return Err(order(range));
    }
    let shape: f64 = shape.parse().map_err(|_| None)?;
    if !(shape.is_finite() && shape > 0.0) {
        return Err(Some("the shape must be above 0"));
    }
    let (width, edge) = edge(min, max);
    let scale = width / (-(1.0 - edge).ln()).powf(1.0 / shape);
    let mut made = Shape::Weibull {
        min,
        max,
        shape,
        scale,
        bounds: Vec::new(),
    };
    if let Some(quantas) = quantas {
        let count: u32 = quantas.parse().map_err(|_| None)?;
        if !(1..=1_000_000).contains(&count) {
            return Err(Some("quantas are 1 to 1,000,000"));
        }
        let inner = (1..count).map(|i| made.quantile(f64::from(i) / f64::from(count)));
        let all: Vec<i64> = [min]
            .into_iter()
            .chain(inner)
            .chain([max.saturating_add(1)])
            .collect();
        if let Shape::Weibull { bounds, .. } = &mut made {
            *bounds = all;
        }
    }
    Ok(made)
}

#[expect(clippy::cast_precision_loss, reason = "a middle of a range")]
fn gaussian(range: Option<(i64, i64)>, rest: &[&str]) -> Result<Shape, Option<&'static str>> {
    let (min, max) = range.ok_or(None)?;
    let numbers: Vec<f64> = rest
        .iter()
        .map(|text| text.parse::<f64>().ok().filter(|n| n.is_finite()))
        .collect::<Option<_>>()
        .ok_or(None)?;
    if min == max {
        return Ok(Shape::Fixed(min));
    }
    if min > max {
        return Err(order(range));
    }
    let (mean, deviation) = match numbers[..] {
        [mean, deviation] => (mean, deviation),
        _ => {
            let edges = numbers.first().copied().unwrap_or(3.0);
            let half = (max as f64 - min as f64) / 2.0;
            (min as f64 + half, half / edges)
        }
    };
    if !(deviation.is_finite() && deviation > 0.0) {
        return Err(Some("the standard deviation must be above 0"));
    }
    Ok(Shape::Gaussian {
        min,
        max,
        mean,
        deviation,
    })
}

/// The whole part, held within the range.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast saturates, and so does the range"
)]
fn held(value: f64, min: i64, max: i64) -> i64 {
    (value as i64).clamp(min, max)
}

/// 64 random bits as a number of 0 inclusive to 1 exclusive.
#[expect(clippy::cast_precision_loss, reason = "53 bits are left")]
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

impl Shape {
    fn ends(&self) -> (i64, i64) {
        match *self {
            Self::Fixed(value) => (value, value),
            Self::Steps { min, max, step } => (min, max - max.saturating_sub(min) % step),
            Self::Uniform(min, max)
            | Self::Sequence(min, max)
            | Self::Zipf { min, max, .. }
            | Self::Exponential { min, max, .. }
            | Self::Weibull { min, max, .. }
            | Self::Gaussian { min, max, .. } => (min, max),
        }
    }

    /// The value at a probability, quantas left out.
    #[expect(clippy::cast_precision_loss, reason = "a place in a range")]
    fn quantile(&self, p: f64) -> i64 {
        let p = p.clamp(0.0, 1.0);
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform(min, max) => {
                held(min as f64 + p * (max as f64 - min as f64 + 1.0), min, max)
            }
            Self::Sequence(min, max) => held(min as f64 + p * (max as f64 - min as f64), min, max),
            Self::Steps { min, max, step } => {
                let steps = max.saturating_sub(min) / step;
                min + held(p * (steps as f64 + 1.0), 0, steps) * step
            }
            Self::Zipf {
                min,
                max,
                exponent,
                sum,
            } => {
                let first_two = 1.0 + 0.5_f64.powf(exponent);
                let place = p * sum;
                if place < 1.0 {
                    return min;
                }
                let count = max as f64 - min as f64 + 1.0;
                if place < first_two || count <= 2.0 {
                    return min + 1;
                }
                let bend = (1.0 - (2.0 / count).powf(1.0 - exponent)) / (1.0 - first_two / sum);
                let share = (bend * p - bend + 1.0)
                    .max(0.0)
                    .powf(1.0 / (1.0 - exponent));
                offset(min, max, count * share)
            }
            Self::Exponential { min, max, mean } => offset(min, max, mean * -(1.0 - p).ln()),
            Self::Weibull {
                min,
                max,
                shape,
                scale,
                ..
            } => offset(min, max, scale * (-(1.0 - p).ln()).powf(1.0 / shape)),
            Self::Gaussian {
                min,
                max,
                mean,
                deviation,
            } => held(mean + deviation * normal_quantile(p), min, max),
        }
    }

    /// Uniformly any whole number of the range, exactly; the others by their quantile.
    fn draw(&self, bits: u64) -> i64 {
        match self {
            Self::Uniform(min, max) | Self::Sequence(min, max) => among(*min, *max, bits),
            Self::Steps { min, max, step } => {
                min + among(0, max.saturating_sub(*min) / step, bits) * step
            }
            Self::Weibull { bounds, .. } if !bounds.is_empty() => {
                let value = self.quantile(unit(bits));
                let upper = bounds
                    .partition_point(|b| *b <= value)
                    .clamp(1, bounds.len() - 1);
                let (from, to) = (bounds[upper - 1], bounds[upper]);
                among(from, to.saturating_sub(1).max(from), mix(bits))
            }
            _ => self.quantile(unit(bits)),
        }
    }
}

/// One of `min..=max`, each as likely as any other (the bias is below the width ÷ 2^64).
fn among(min: i64, max: i64, bits: u64) -> i64 {
    let width = (i128::from(max) - i128::from(min) + 1).unsigned_abs();
    let scaled = (u128::from(bits) * width) >> 64;
    min.saturating_add(i64::try_from(scaled).unwrap_or(i64::MAX))
}

fn offset(min: i64, max: i64, value: f64) -> i64 {
    let room = max.saturating_sub(min);
    min.saturating_add(held(value, 0, room))
}

impl Dist {
    /// Always this value.
    pub fn fixed(value: i64) -> Self {
        Self {
            text: format!("fixed({value})"),
            shape: Shape::Fixed(value),
            inverted: false,
        }
    }

    /// Any of `min..=max`, each as likely as any other.
    pub fn uniform(min: i64, max: i64) -> Self {
        if min >= max {
            return Self::fixed(min);
        }
        Self {
            text: format!("uniform({min}..{max})"),
            shape: Shape::Uniform(min, max),
            inverted: false,
        }
    }

    /// From the first to the last in order; `min` is below `max`.
    pub fn sequence(min: i64, max: i64) -> Self {
        Self {
            text: format!("seq({min}..{max})"),
            shape: Shape::Sequence(min, max),
            inverted: false,
        }
    }

    /// The value that these 64 random bits lead to.
    pub fn draw(&self, bits: u64) -> i64 {
        self.turned(self.shape.draw(bits))
    }

    /// Any of `min..=max`, the smallest the most often, with YCSB's exponent of 0.99.
    pub fn zipf(min: i64, max: i64) -> Self {
        Self {
            text: format!("zipf({min}..{max})"),
            shape: zipf(Some((min, max)), None).unwrap_or(Shape::Fixed(min)),
            inverted: false,
        }
    }

    /// The same with its values turned round: the largest as often as the smallest was.
    pub fn inverted(self) -> Self {
        let text = match self.text.strip_prefix('~') {
            Some(plain) => plain.to_owned(),
            None => format!("~{}", self.text),
        };
        Self {
            text,
            inverted: !self.inverted,
            ..self
        }
    }

    /// As [`Self::draw`], but a sequence, and steps, take their value number `position`, round and round.
    pub fn at(&self, position: u64, bits: u64) -> i64 {
        let (min, count, step) = match self.shape {
            Shape::Sequence(min, max) => {
                let width = (i128::from(max) - i128::from(min) + 1).unsigned_abs();
                (min, width, 1)
            }
            Shape::Steps { min, max, step } => {
                let width = (i128::from(max) - i128::from(min)) / i128::from(step) + 1;
                (min, width.unsigned_abs(), step)
            }
            _ => return self.draw(bits),
        };
        let place = i64::try_from(u128::from(position) % count).unwrap_or(0);
        self.turned(min.saturating_add(place.saturating_mul(step)))
    }

    /// The value at a probability of 0 to 1.
    pub fn quantile(&self, p: f64) -> i64 {
        self.turned(self.shape.quantile(p))
    }

    fn turned(&self, value: i64) -> i64 {
        let (min, max) = self.shape.ends();
        if self.inverted {
            max.saturating_sub(value.saturating_sub(min))
        } else {
            value
        }
    }

    /// The smallest value.
    pub fn min(&self) -> i64 {
        self.shape.ends().0
    }

    /// The largest value.
    pub fn max(&self) -> i64 {
        self.shape.ends().1
    }

    /// The only value, where there is only one.
    pub fn only(&self) -> Option<i64> {
        match self.shape {
            Shape::Fixed(value) => Some(value),
            _ => None,
        }
    }

    /// The mean of its quantiles.
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    pub fn mean(&self) -> f64 {
        const STEPS: u32 = 1000;
        let at = |i: u32| self.quantile((f64::from(i) + 0.5) / f64::from(STEPS)) as f64;
        (0..STEPS).map(at).sum::<f64>() / f64::from(STEPS)
    }
}

impl fmt::Display for Dist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A distribution divided by a number: `fixed(1)/2`, `uniform(1..10)/10`.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioDist {
    dist: Dist,
    divisor: f64,
}

impl RatioDist {
    /// Always 1.
    pub fn one() -> Self {
        Self {
            dist: Dist::fixed(1),
            divisor: 1.0,
        }
    }

    /// The share that these 64 random bits lead to.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn draw(&self, bits: u64) -> f64 {
        self.dist.draw(bits) as f64 / self.divisor
    }

    /// As [`Self::draw`], of a draw that is not cut to a whole number.
    pub fn draw_real(&self, bits: u64) -> f64 {
        self.dist.draw_real(bits) / self.divisor
    }

    /// The smallest and the largest share.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn ends(&self) -> (f64, f64) {
        (
            self.dist.min() as f64 / self.divisor,
            self.dist.max() as f64 / self.divisor,
        )
    }
}

impl FromStr for RatioDist {
    type Err = DistError;

    #[expect(clippy::cast_precision_loss, reason = "a divisor")]
    fn from_str(text: &str) -> Result<Self, DistError> {
        let (dist, divisor) = match text.rsplit_once('/') {
            Some((dist, divisor)) => (dist, divisor.trim()),
            None => (text, "1"),
        };
        let wrong = || DistError::Divisor {
            text: text.to_owned(),
        };
        let divisor = whole_number(divisor).filter(|n| *n > 0);
        Ok(Self {
            divisor: divisor.ok_or_else(wrong)? as f64,
            dist: dist.parse()?,
        })
    }
}

impl fmt::Display for RatioDist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.dist, self.divisor)
    }
}

/// Stored as they are written.
macro_rules! stored_as_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

stored_as_text!(Dist);
stored_as_text!(RatioDist);
