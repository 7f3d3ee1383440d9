//! The truth of a serving stand-in: how long each operation takes, set by properties of its JVM, drawn from a seed.
//! Refuses clocks and sockets: a service time is a pure function of seed, number of the operation and its moment.

use helenus_model::nearest::nearest;
use helenus_model::seed::Seed;
use std::f64::consts::TAU;

/// Median of the body in nanoseconds.
const BODY_MEDIAN_NS: f64 = 1e6;
/// Share of operations in the tail: twice 1 %, so that the 99th percentile is the tail's own median.
const TAIL_SHARE: f64 = 0.02;
/// Median of the tail in nanoseconds: five and a half sigmas above the body's, which therefore has no part in it.
const TAIL_MEDIAN_NS: f64 = 4e6;
/// Standard deviation of the logarithm, of the body and of the tail.
const SIGMA: f64 = 0.25;
/// How long a drift goes on, in nanoseconds.
const DRIFT_NS: f64 = 10e9;
/// Time constant of settling in nanoseconds.
const SETTLE_NS: f64 = 1e9;

/// What every property begins with.
const PREFIX: &str = "-Dfake.";

/// Properties: name, least and greatest value.
const PROPERTIES: [(&str, f64, f64); 12] = [
    ("body", 0.01, 1000.0),
    ("tail", 0.01, 1000.0),
    ("delay_us", 0.0, 1e9),
    ("cpu_us", 0.0, 100_000.0),
    ("queue", 1.0, 1e6),
    ("life_sd", 0.0, 1.0),
    ("drift", -0.9, 100.0),
    ("settle", 0.1, 1000.0),
    ("fail", 0.0, 1.0),
    ("lose", 0.0, 1.0),
    ("dies", 1.0, 1e9),
    // What a float holds exactly.
    ("seed", 0.0, 9_007_199_254_740_992.0),
];

/// Why the properties make no truth.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(crate) enum TruthError {
    /// No such property.
    #[error("the fake node knows no property {PREFIX}{name}")]
    Unknown {
        /// As it was written.
        name: String,
    },
    /// No number, or one out of range.
    #[error("{PREFIX}{name}={value} is no number from {least} to {most}")]
    Value {
        /// Property.
        name: &'static str,
        /// As it was written.
        value: String,
        /// Least that is taken.
        least: f64,
        /// Most that is taken.
        most: f64,
    },
}

impl TruthError {
    /// What to write instead.
    pub(crate) fn hint(&self) -> String {
        let known = PROPERTIES.map(|(name, ..)| name);
        match self {
            Self::Unknown { name } => match nearest(name, known) {
                Some(near) => format!("the nearest that it knows is {PREFIX}{near}"),
                None => format!("it knows {}", known.join(", ")),
            },
            Self::Value { name, .. } => format!("{PREFIX}{name} without effect is to leave it out"),
        }
    }
}

/// What the service times of a stand-in are drawn from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Truth {
    /// Factor on every time of the body.
    pub(crate) body: f64,
    /// Factor on every time of the tail.
    pub(crate) tail: f64,
    /// What every operation waits beside that, in microseconds: a delay in the node's path, the same for all.
    pub(crate) delay_us: f64,
    /// CPU burnt for each operation, in microseconds.
    pub(crate) cpu_us: f64,
    /// Operations a second of one server before which all wait, each for a time that is drawn exponentially; nothing else
    /// takes time then. None has no such server.
    pub(crate) queue_per_s: Option<f64>,
    /// Standard deviation of the logarithm of a factor that is drawn once for each life of the process.
    pub(crate) life_sd: f64,
    /// Share by which times rise over the 10 s after the first operation.
    pub(crate) drift: f64,
    /// Factor at the first operation; what it is above 1 fades with a time constant of 1 s.
    pub(crate) settle: f64,
    /// Share of operations that are answered with an error.
    pub(crate) fail: f64,
    /// Share of writes that are acknowledged and not kept.
    pub(crate) lose: f64,
    /// Operations within a tenth of a second of which the process dies.
    pub(crate) dies: f64,
    /// Seed of the draws; none takes another one for each life.
    pub(crate) seed: Option<u64>,
}

impl Default for Truth {
    fn default() -> Self {
        Self {
            body: 1.0,
            tail: 1.0,
            delay_us: 0.0,
            cpu_us: 0.0,
            queue_per_s: None,
            life_sd: 0.0,
            drift: 0.0,
            settle: 1.0,
            fail: 0.0,
            lose: 0.0,
            dies: f64::INFINITY,
            seed: None,
        }
    }
}

impl Truth {
    /// Reads `-Dfake.*` among the flags of a JVM; as in a JVM the last of a name counts.
    ///
    /// # Errors
    /// A property that is not known, or a value that is none.
    pub(crate) fn read(jvm: &[String]) -> Result<Self, TruthError> {
        let mut truth = Self::default();
        for said in jvm.iter().filter_map(|flag| flag.strip_prefix(PREFIX)) {
            let (name, value) = said.split_once('=').unwrap_or((said, ""));
            let known = PROPERTIES.into_iter().find(|(known, ..)| *known == name);
            let Some((name, least, most)) = known else {
                let name = name.to_owned();
                return Err(TruthError::Unknown { name });
            };
            let number = value.parse().ok();
            let number = number.filter(|n: &f64| (least..=most).contains(n));
            let number = number.ok_or_else(|| TruthError::Value {
                name,
                value: value.to_owned(),
                least,
                most,
            })?;
            match name {
                "body" => truth.body = number,
                "tail" => truth.tail = number,
                "delay_us" => truth.delay_us = number,
                "cpu_us" => truth.cpu_us = number,
                "queue" => truth.queue_per_s = Some(number),
                "life_sd" => truth.life_sd = number,
                "drift" => truth.drift = number,
                "settle" => truth.settle = number,
                "fail" => truth.fail = number,
                "lose" => truth.lose = number,
                "dies" => truth.dies = number,
                _ => truth.seed = Some(number as u64),
            }
        }
        Ok(truth)
    }
}

/// What happens to one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Draw {
    /// From the moment it was read to the moment it is answered, in nanoseconds.
    pub(crate) service_ns: u64,
    /// Whether the answer is an error.
    pub(crate) fails: bool,
}

/// One life of the process: its seeds, and the factor that was drawn for it.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    truth: Truth,
    /// Factor of this life on every time.
    pub(crate) factor: f64,
    which: Seed,
    radius: Seed,
    angle: Seed,
    fail: Seed,
    lose: Seed,
}

impl Life {
    /// A life whose every draw follows from the seed.
    pub(crate) fn new(truth: Truth, seed: Seed) -> Self {
        let (radius, angle) = (seed.derive("radius"), seed.derive("angle"));
        // The operations' draws begin at zero: the last position is the life's own.
        let factor = (truth.life_sd * normal(radius, angle, u64::MAX)).exp();
        Self {
            truth,
            factor,
            which: seed.derive("which"),
            radius,
            angle,
            fail: seed.derive("fail"),
            lose: seed.derive("lose"),
        }
    }

    /// Whether operation `number`, a write, is answered as if it were kept, and is not.
    pub(crate) fn loses(&self, number: u64) -> bool {
        uniform(self.lose, number) < self.truth.lose
    }

    /// Whether so many operations within a tenth of a second are too many for it.
    pub(crate) fn dies_of(&self, operations: u64) -> bool {
        operations as f64 > self.truth.dies
    }

    /// How long operation `number` occupies the server before which all wait, in nanoseconds; none where there is none.
    pub(crate) fn turn_ns(&self, number: u64) -> Option<u64> {
        let mean_ns = 1e9 / self.truth.queue_per_s? * self.factor;
        Some((-uniform(self.radius, number).ln() * mean_ns).round() as u64)
    }

    /// What happens to operation `number`, read so many nanoseconds after the first.
    pub(crate) fn draw(&self, number: u64, since_first_ns: u64) -> Draw {
        let truth = &self.truth;
        let median = if uniform(self.which, number) < TAIL_SHARE {
            TAIL_MEDIAN_NS * truth.tail
        } else {
            BODY_MEDIAN_NS * truth.body
        };
        let spread = (SIGMA * normal(self.radius, self.angle, number)).exp();
        let since = since_first_ns as f64;
        let drift = 1.0 + truth.drift * (since / DRIFT_NS).min(1.0);
        let settle = 1.0 + (truth.settle - 1.0) * (-since / SETTLE_NS).exp();
        let own = median * spread * self.factor * drift * settle;
        Draw {
            service_ns: (own + truth.delay_us * 1e3).round() as u64,
            fails: uniform(self.fail, number) < truth.fail,
        }
    }
}

/// Between 0 and 1, neither of them.
fn uniform(seed: Seed, position: u64) -> f64 {
    // A float has 53 bits.
    ((seed.at(position) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// A standard normal deviate (Box and Muller 1958).
fn normal(radius: Seed, angle: Seed, position: u64) -> f64 {
    (-2.0 * uniform(radius, position).ln()).sqrt() * (TAU * uniform(angle, position)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 400_000;

    fn life(flags: &[&str]) -> Life {
        let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
        Life::new(Truth::read(&flags).unwrap(), Seed(11))
    }

    /// Service times in microseconds at 50, 90, 95, 99 and 99.9 %.
    fn quantiles(flags: &[&str]) -> [f64; 5] {
        let life = life(flags);
        let mut all: Vec<u64> = (0..DRAWS).map(|n| life.draw(n, 0).service_ns).collect();
        all.sort_unstable();
        [0.5, 0.9, 0.95, 0.99, 0.999].map(|q| all[(q * DRAWS as f64) as usize] as f64 / 1e3)
    }

    #[track_caller]
    fn near(found: f64, wanted: f64, share: f64) {
        assert!(
            (found / wanted - 1.0).abs() < share,
            "{found}, not {wanted}"
        );
    }

    #[test]
    fn the_quantiles_are_those_of_the_design_page() {
        let [p50, p90, p95, p99, p999] = quantiles(&[]);
        // Five standard errors of each at so many draws.
        near(p50, 1006.4, 0.003);
        near(p90, 1417.0, 0.004);
        near(p95, 1597.0, 0.005);
        near(p99, 4000.0, 0.025);
        near(p999, 6034.0, 0.04);
    }

    #[test]
    fn the_body_moves_the_median_and_the_tail_the_99th_percentile() {
        let [p50, _, _, p99, _] = quantiles(&[]);
        let [b50, _, _, b99, _] = quantiles(&["-Dfake.body=1.10"]);
        near(b50 / p50, 1.10, 0.005);
        near(b99 / p99, 1.0, 0.001);
        let [t50, _, _, t99, _] = quantiles(&["-Dfake.tail=1.30"]);
        near(t50 / p50, 1.0, 0.001);
        near(t99 / p99, 1.30, 0.005);
    }

    #[test]
    fn turns_at_the_server_have_their_mean() {
        let queue = life(&["-Dfake.queue=2000"]);
        let all: u64 = (0..20_000).filter_map(|n| queue.turn_ns(n)).sum();
        let mean_ns = all as f64 / 20_000.0;
        assert!((mean_ns / 500_000.0 - 1.0).abs() < 0.03, "{mean_ns}");
        assert_eq!(life(&[]).turn_ns(0), None);
    }

    #[test]
    fn a_delay_is_the_same_for_all() {
        let (plain, delayed) = (life(&[]), life(&["-Dfake.delay_us=150"]));
        let more = |n| delayed.draw(n, 0).service_ns - plain.draw(n, 0).service_ns;
        assert!((0..1000).all(|n| more(n) == 150_000));
    }

    #[test]
    fn times_drift_and_settle_from_the_first_operation_on() {
        let plain = life(&[]).draw(5, 0).service_ns as f64;
        let at = |flag: &str, s: f64| life(&[flag]).draw(5, (s * 1e9) as u64).service_ns as f64;
        near(at("-Dfake.drift=0.5", 0.0), plain, 1e-5);
        near(at("-Dfake.drift=0.5", 5.0), plain * 1.25, 1e-5);
        near(at("-Dfake.drift=0.5", 60.0), plain * 1.5, 1e-5);
        near(at("-Dfake.settle=3", 0.0), plain * 3.0, 1e-5);
        near(
            at("-Dfake.settle=3", 1.0),
            plain * (1.0 + 2.0 / 1_f64.exp()),
            1e-5,
        );
        near(at("-Dfake.settle=3", 20.0), plain, 1e-5);
    }

    #[test]
    fn a_life_has_its_factor_and_operations_fail_at_their_share() {
        let truth = Truth {
            life_sd: 0.02,
            ..Truth::default()
        };
        let lives = (0..4000).map(|seed| Life::new(truth.clone(), Seed(seed)).factor.ln());
        let squares: f64 = lives.map(|ln| ln * ln).sum();
        near((squares / 4000.0).sqrt(), 0.02, 0.06);
        let one = Life::new(truth, Seed(3));
        let plain = Life::new(Truth::default(), Seed(3));
        let ratio = one.draw(9, 0).service_ns as f64 / plain.draw(9, 0).service_ns as f64;
        near(ratio, one.factor, 1e-5);
        let failing = life(&["-Dfake.fail=0.01"]);
        let failed = (0..DRAWS).filter(|n| failing.draw(*n, 0).fails).count();
        near(failed as f64, DRAWS as f64 * 0.01, 0.08);
        assert!((0..DRAWS).all(|n| !plain.draw(n, 0).fails && !plain.loses(n)));
        let losing = life(&["-Dfake.lose=0.01"]);
        let lost = (0..DRAWS).filter(|n| losing.loses(*n)).count();
        near(lost as f64, DRAWS as f64 * 0.01, 0.08);
    }

    #[test]
    fn what_is_no_property_is_refused_with_the_nearest() {
        let read = |flag: &str| Truth::read(&["-Xmx1G".into(), flag.into()]);
        let error = read("-Dfake.boddy=1").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the fake node knows no property -Dfake.boddy"
        );
        assert_eq!(error.hint(), "the nearest that it knows is -Dfake.body");
        assert!(read("-Dfake.zzz=1").unwrap_err().hint().contains("cpu_us"));
        for flag in [
            "-Dfake.body=",
            "-Dfake.body",
            "-Dfake.body=0",
            "-Dfake.fail=2",
            "-Dfake.tail=NaN",
        ] {
            assert!(
                matches!(read(flag), Err(TruthError::Value { .. })),
                "{flag}"
            );
        }
        assert_eq!(read("-Dfake.seed=7").unwrap().seed, Some(7));
        assert_eq!(read("-Dfakes=7").unwrap(), Truth::default());
    }
}
