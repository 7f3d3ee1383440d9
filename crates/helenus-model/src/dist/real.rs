//! What cassandra-stress reckons with beside whole draws: means, and draws that are not cut to whole numbers.
//! Refuses to be used for data: those are whole draws.

use super::{Dist, Shape, unit};
use crate::stats::normal_quantile;

impl Dist {
    /// The mean that cassandra-stress's generators reckon with: of a uniform one half a number above its middle, for it
    /// draws before it cuts.
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    pub fn average(&self) -> f64 {
        let mean = match self.shape {
            Shape::Fixed(value) => value as f64,
            Shape::Uniform(min, max) => (min as f64 + max as f64 + 1.0) / 2.0,
            Shape::Sequence(min, max) => (min as f64 + max as f64) / 2.0,
            Shape::Exponential { min, mean, .. } => min as f64 + mean,
            Shape::Gaussian { mean, .. } => mean,
            Shape::Steps { .. } | Shape::Zipf { .. } | Shape::Weibull { .. } => return self.mean(),
        };
        self.turned_real(mean)
    }

    /// As [`Self::draw`], before it is cut to a whole number: what ratios are made of.
    pub fn draw_real(&self, bits: u64) -> f64 {
        self.turned_real(self.shape.real(unit(bits)))
    }

    #[expect(clippy::cast_precision_loss, reason = "ends of a range")]
    fn turned_real(&self, value: f64) -> f64 {
        let (min, max) = self.shape.ends();
        if self.inverted {
            max as f64 - (value - min as f64)
        } else {
            value
        }
    }
}

impl Shape {
    #[expect(clippy::cast_precision_loss, reason = "a place in a range")]
    fn real(&self, p: f64) -> f64 {
        let (min, max) = self.ends();
        let (min, max) = (min as f64, max as f64);
        let value = match *self {
            Self::Uniform(..) => min + p * (max - min + 1.0),
            Self::Exponential { mean, .. } => min + mean * -(1.0 - p).ln(),
            Self::Weibull { shape, scale, .. } => min + scale * (-(1.0 - p).ln()).powf(1.0 / shape),
            Self::Gaussian {
                mean, deviation, ..
            } => mean + deviation * normal_quantile(p),
            Self::Fixed(_) | Self::Sequence(..) | Self::Steps { .. } | Self::Zipf { .. } => {
                self.quantile(p) as f64
            }
        };
        value.clamp(min, max)
    }
}
