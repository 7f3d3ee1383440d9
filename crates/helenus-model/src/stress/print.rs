//! `print dist=…`: the percentiles of a distribution.
//! Refuses samples: the numbers are the distribution's own.

use crate::dist::Dist;
use crate::units::fixed;
use std::fmt::Write as _;

/// Shares of the samples whose value is shown.
const SHARES: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];

/// The value that each share of all samples does not exceed.
pub fn values(dist: &Dist) -> Vec<(f64, i64)> {
    let at = |share| (share, dist.printed_quantile(share));
    SHARES.into_iter().map(at).collect()
}

/// The table that cassandra-stress prints: which value so much of all samples does not exceed.
#[expect(clippy::cast_precision_loss, reason = "a share of a range")]
pub fn percentiles(dist: &Dist) -> String {
    let mut text = String::from("% of samples    Range       % of total\n");
    let hundredth = dist.printed_quantile(1.0) as f64 / 100.0;
    for (share, value) in values(dist) {
        let _infallible = writeln!(
            text,
            "{:<16}{value:<12}{:>12}",
            fixed(share * 100.0, 1),
            fixed(value as f64 / hundredth, 1)
        );
    }
    text
}
