//! The flags of `compare`.
//! Refuses to do anything with what it parsed.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(override_usage = "helenus compare [OPTIONS] <A> <B>
       helenus compare [OPTIONS] --ab <A.toml> <B.toml>
       helenus compare <COMPARISON>")]
#[command(after_help = "Examples:
  helenus compare before after           two tags: their restarts in pairs
  helenus compare r12 r13                two single runs, side by side; no claim
  helenus compare r12..r19 @last         ranges, lists and @last name runs too
  helenus compare --ab a.toml b.toml     eight interleaved pairs of restarts
  helenus compare --ab a.toml b.toml --until 5% --max-pairs 30
  helenus compare --ab a.toml b.toml --stop-early
  helenus compare --ab main.toml patch.toml --fail-on 'p99>+5%' --fail-on 'cpu>+3%'

A side's file holds flags of `helenus bench` as TOML, one key a line:
  preset = \"dev\"
  rate = 2000
  set = [\"concurrent_reads=16\"]

A threshold of --fail-on is [PHASE.][OPERATION.][service|response.]MEASURE (>|<) PERCENT. A MEASURE
is p50, p90, p95, p99, p99.9, mean, throughput, cpu (the nodes', per operation) or generator-cpu.

A threshold is decided by a one-sided bound at 95 %; several share the 5 % (Bonferroni).

Exit codes: 0 every threshold holds, 1 one is crossed, 6 inconclusive.")]
pub(crate) struct Compare {
    /// Two sides, each a run, a list or range of runs, a tag, or @last; or one comparison to show again
    #[arg(value_name = "A B", num_args = 1..=2, required_unless_present = "ab", conflicts_with = "ab")]
    pub(crate) sides: Vec<String>,
    /// Two files with flags of `bench`: run both in interleaved pairs of restarts and compare them
    #[arg(long, num_args = 2, value_names = ["A.toml", "B.toml"])]
    pub(crate) ab: Option<Vec<PathBuf>>,
    /// Pairs to run [default: 8]
    #[arg(long, value_name = "N", alias = "repeats", requires = "ab", conflicts_with = "until", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) pairs: Option<u32>,
    /// Target half-width of the confidence interval, such as 5%; six pairs determine how many are needed
    #[arg(long, value_name = "PERCENT", requires = "ab", value_parser = percent, group = "open-ended")]
    pub(crate) until: Option<f64>,
    /// From the sixth pair on, stop when every threshold is decided or a difference is significant; the confidence
    /// intervals hold whenever it stops
    #[arg(long, requires = "ab", conflicts_with_all = ["until", "pairs"], group = "open-ended")]
    pub(crate) stop_early: bool,
    /// Maximum of pairs with --until or --stop-early
    #[arg(long, value_name = "N", default_value_t = 30, requires = "open-ended", value_parser = clap::value_parser!(u32).range(6..=1000))]
    pub(crate) max_pairs: u32,
    /// A threshold, such as 'p99>+5%'; may be repeated; inconclusive below six pairs
    #[arg(long, value_name = "THRESHOLD", alias = "bar")]
    pub(crate) fail_on: Vec<String>,
    /// Seed of the order and of the data [default: random, and printed]
    #[arg(long, value_name = "N", requires = "ab")]
    pub(crate) seed: Option<u64>,
    /// Show what would run and how long it takes; start nothing
    #[arg(long, requires = "ab")]
    pub(crate) dry_run: bool,
}

/// A percentage as a share: `5%` is 0.05.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(n) if (0.1..=100.0).contains(&n) => Ok(n / 100.0),
        _ => Err(format!(
            "{text:?} is not a percentage from 0.1% to 100%, such as 5%"
        )),
    }
}
