//! The flags of `machine` and `plan`.
//! Refuses to do anything with what it parsed.

use super::words::one_of;
use clap::Args;
use clap::builder::TypedValueParser;
use helenus_model::sizing::Purpose;
use helenus_model::units::{Bytes, parse_duration, parse_rate};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus machine                        processors, NUMA nodes, memory, disks, network, kernel
  helenus machine --save db1.toml        a snapshot, to plan for this machine elsewhere
  helenus machine --from db1.toml
  helenus machine --from '2 sockets x 64 cores, SMT, 6 NUMA nodes, 1.5 TB, 8 NVMe'
  helenus machine --from xeon-6980p --format json

Known machines: xeon-8592, xeon-6767p, xeon-6952p, xeon-6980p, cloud-32, arm-80, laptop-6,
virtual-2. A snapshot has addresses and models, but no names of hosts and no serial numbers.")]
pub(crate) struct Machine {
    /// A snapshot, a known machine, or a description, instead of this machine
    #[arg(long, value_name = "FILE|NAME|WORDS")]
    pub(crate) from: Option<String>,
    /// Write the snapshot to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus plan                           this machine
  helenus plan --from db1.toml --for latency
  helenus plan --from '2 sockets x 32 cores, SMT, 4 NUMA nodes, 512 GB, 4 NVMe' --rows 600m --rf 3 --machines 3
  helenus plan --from laptop-6 --cassandra 4.1
  helenus plan > p.toml                  the plan as a file, which `helenus up NAME --plan p.toml` takes
  helenus plan --from xeon-6767p -o p.toml | less

Each decision has a reason, a source, the effect that the source claims and, where there is one,
the gain that a Helenus experiment measured. `up --plan` starts the instances.")]
pub(crate) struct Plan {
    /// A snapshot, a known machine, or a description, instead of this machine
    #[arg(long, value_name = "FILE|NAME|WORDS")]
    pub(crate) from: Option<String>,
    /// What to optimise for [default: throughput, or latency with --p99]
    #[arg(long = "for", value_parser = purpose(), value_name = "PURPOSE")]
    pub(crate) purpose: Option<Purpose>,
    /// A series such as 5.0, or a release
    #[arg(long, value_name = "RELEASE", default_value = "5.0", alias = "release")]
    pub(crate) cassandra: String,
    /// Rows, such as 600m, over all machines
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) rows: Option<u64>,
    /// Bytes of a row on disk, such as 300 or 4K [default: 670, the insanity example's]
    #[arg(long, value_name = "SIZE", value_parser = parse_row, requires = "rows")]
    pub(crate) row_size: Option<Bytes>,
    /// Replicas
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rf: u32,
    /// Machines like this one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) machines: u32,
    /// Number of instances, instead of the number computed from the machine
    #[arg(long, value_name = "auto|N", value_parser = parse_instances)]
    pub(crate) instances: Option<Instances>,
    /// Operations a second, over all machines
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// The p99 to stay below
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) p99: Option<Duration>,
    /// Write the plan to a file, as TOML; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// How many instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instances {
    /// As the machine's shape asks for.
    Auto,
    /// So many.
    Number(u32),
}

impl Instances {
    /// The number that was asked for.
    pub(crate) fn number(self) -> Option<u32> {
        match self {
            Self::Auto => None,
            Self::Number(number) => Some(number),
        }
    }
}

/// `auto`, or how many.
pub(crate) fn parse_instances(text: &str) -> Result<Instances, String> {
    match (text, text.parse::<u32>()) {
        ("auto", _) => Ok(Instances::Auto),
        (_, Ok(number)) if (1..=1000).contains(&number) => Ok(Instances::Number(number)),
        _ => Err("write auto, or a number from 1 to 1000".to_owned()),
    }
}

/// What a machine shall be good at.
fn purpose() -> impl TypedValueParser<Value = Purpose> {
    one_of([
        (Purpose::Throughput, "throughput", "Operations a second"),
        (Purpose::Latency, "latency", "Short waits"),
        (Purpose::Density, "density", "Many small instances"),
    ])
}

/// `600m`, `2k`, `1g`, or the number itself.
fn parse_count(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match lower.chars().last() {
        Some('k') => (&lower[..lower.len() - 1], 1_000),
        Some('m') => (&lower[..lower.len() - 1], 1_000_000),
        Some('g' | 'b') => (&lower[..lower.len() - 1], 1_000_000_000),
        _ => (&lower[..], 1),
    };
    let count = digits.trim().replace('_', "").parse::<u64>().ok();
    let count = count.and_then(|n| n.checked_mul(factor)).filter(|n| *n > 0);
    count.ok_or_else(|| format!("{text:?} is not a number of rows: write one such as 600m"))
}

/// A number of bytes, or a size with its unit.
fn parse_row(text: &str) -> Result<Bytes, String> {
    let bytes = text.trim().trim_end_matches(['b', 'B']).parse().map(Bytes);
    let size = bytes.or_else(|_| Bytes::parse(text));
    size.ok()
        .filter(|size| size.0 > 0)
        .ok_or_else(|| format!("{text:?} is not a size of a row: write bytes such as 300, or 4K"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes_of_rows() {
        assert_eq!(parse_count("600m"), Ok(600_000_000));
        assert_eq!(parse_count("1_000"), Ok(1000));
        for wrong in ["", "m", "0", "-3", "99999999999g"] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_row("300"), Ok(Bytes(300)));
        assert_eq!(parse_row("670B"), Ok(Bytes(670)));
        assert_eq!(parse_row("4K"), Ok(Bytes(4096)));
        assert!(parse_row("0").is_err() && parse_row("big").is_err());
    }
}
