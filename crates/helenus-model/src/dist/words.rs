//! Distributions as cassandra-stress prints them: by name and numbers, and its own quantiles.
//! Refuses to draw.

use super::{Dist, RatioDist, Shape};
use crate::units::fixed;

impl Dist {
    /// As [`Self::quantile`], but in a quantised distribution evenly within its quanta, as cassandra-stress prints it.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a place within a quanta"
    )]
    pub fn printed_quantile(&self, p: f64) -> i64 {
        let value = self.shape.quantile(p);
        let Shape::Weibull { bounds, .. } = &self.shape else {
            return self.turned(value);
        };
        let Some((first, last)) = bounds.first().zip(bounds.last()) else {
            return self.turned(value);
        };
        let quantas = (bounds.len() - 1) as f64;
        // A bound itself belongs to the quanta below it.
        let place = match bounds.binary_search(&value) {
            Ok(at) => at.checked_sub(1),
            Err(at) => at.checked_sub(1),
        };
        self.turned(match place {
            None => *first,
            Some(place) if place + 1 >= bounds.len() => last.saturating_sub(1),
            Some(place) => {
                let within = (p - place as f64 / quantas) * quantas;
                let width = bounds[place + 1].saturating_sub(bounds[place]);
                let value = bounds[place].saturating_add((within * width as f64) as i64);
                // Where bounds coincide the share within them is no share. The last bound itself, one above the largest
                // value, is what cassandra-stress prints at 100 %.
                value.clamp(*first, (*last).max(*first))
            }
        })
    }

    /// Its numbers by name, as cassandra-stress's settings print them.
    pub fn in_words(&self) -> String {
        let text = match &self.shape {
            Shape::Fixed(value) => format!("Fixed:  key={value}"),
            Shape::Uniform(min, max) => format!("Uniform:  min={min},max={max}"),
            Shape::Sequence(min, max) => format!("Sequence:  start={min},end={max}"),
            Shape::Exponential { min, max, mean } => {
                format!("Exponential:  min={min},max={max},mean={}", fixed(*mean, 6))
            }
            Shape::Weibull {
                min,
                max,
                shape,
                scale,
                ..
            } => format!(
                "Extreme:  min={min},max={max},shape={}, scale={}",
                fixed(*shape, 6),
                fixed(*scale, 6)
            ),
            Shape::Gaussian {
                min,
                max,
                mean,
                deviation,
            } => format!(
                "Gaussian:  min={min},max={max},mean={},stdev={}",
                fixed(*mean, 6),
                fixed(*deviation, 6)
            ),
            // cassandra-stress has none of these: as they were written.
            Shape::Steps { .. } | Shape::Zipf { .. } => return self.text.clone(),
        };
        if self.inverted {
            format!("Inverse: {text}")
        } else {
            text
        }
    }
}

impl RatioDist {
    /// Its numbers by name, as cassandra-stress's settings print them.
    pub fn in_words(&self) -> String {
        format!(
            "Ratio: divisor={};delegate={}",
            fixed(self.divisor, 6),
            self.dist.in_words()
        )
    }
}
