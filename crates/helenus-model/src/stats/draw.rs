//! Draws: a short stream of random numbers from a seed, for resampling and for simulations.
//! Refuses to be a source of its own: the same seed gives the same stream.

use crate::seed::Seed;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Draw {
    seed: Seed,
    position: u64,
}

impl Draw {
    /// The stream of this seed, from its beginning.
    pub fn new(seed: Seed) -> Self {
        Self { seed, position: 0 }
    }

    fn bits(&mut self) -> u64 {
        self.position += 1;
        self.seed.at(self.position)
    }

    /// Uniform in 0 … `n` − 1; 0 where `n` is 0.
    ///
    /// The bias of the multiplication is below `n` / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        let scaled = (u128::from(self.bits()) * n as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }

    /// Uniform between 0 and 1, neither reached.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Puts the values into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// Standard normal (Box and Muller's cosine).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
