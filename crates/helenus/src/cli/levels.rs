//! Flags of `levels`.
//! Refuses to do anything with what it parsed.

use super::load::{parse_distance, parse_share, parse_tag};
use super::words::words;
use clap::Args;
use helenus_model::consistency::Consistency;
use helenus_model::levels::{Distance, EVERY, Kind};
use helenus_model::nearest::nearest;
use helenus_model::units::{parse_duration, parse_rate};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus up wan -n 3:3:3 --rtt 80ms --rtt DC1:DC2=20ms
  helenus levels --cluster wan --dry-run
                                         what each level will wait for; runs nothing
  helenus levels --cluster wan           three levels, two workloads, at 0 ms and as the links are
  helenus levels --cluster wan --cl LOCAL_ONE,ALL --workloads lwt --rtt 10ms,40ms --repeats 3
  helenus levels --cluster wan --closed 50 --count 20000
                                         closed loop, as cassandra-stress runs
  helenus levels --from lv-7 --html levels.html
                                         a stored table again, with charts

Each cell gets a keyspace of its own, dropped afterwards. Links are restored at the end.
--set inter_dc_tcp_nodelay=false on a second cluster shows what that setting costs.")]
pub(crate) struct Levels {
    /// Your cluster on which it runs
    #[arg(
        long,
        value_name = "NAME",
        env = "HELENUS_CLUSTER",
        required_unless_present = "from"
    )]
    pub(crate) cluster: Option<String>,
    /// Show a stored comparison, run nothing: the tag of its runs
    #[arg(long, value_name = "TAG", conflicts_with_all = ["cells", "dry_run", "tag"])]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) cells: Cells,
    /// The name of the comparison and the tag of its runs [default: lv- and the seed]
    #[arg(long, value_name = "WORD", value_parser = parse_tag, help_heading = "Outcome")]
    pub(crate) tag: Option<String>,
    /// Also write it as one HTML page that opens without a network
    #[arg(long, value_name = "FILE", help_heading = "Outcome")]
    pub(crate) html: Option<PathBuf>,
    /// Show cells and predictions, run nothing
    #[arg(long, conflicts_with = "html", help_heading = "Outcome")]
    pub(crate) dry_run: bool,
}

/// Which cells.
#[derive(Debug, Clone, Args)]
#[group(id = "cells", multiple = true)]
#[command(next_help_heading = "Cells")]
pub(crate) struct Cells {
    /// Consistency levels; the others are compared with LOCAL_QUORUM where it is among them, else with the first
    #[arg(long, value_name = "LEVEL,…", value_delimiter = ',', value_parser = parse_level, default_value = "LOCAL_QUORUM,QUORUM,EACH_QUORUM")]
    pub(crate) cl: Vec<Consistency>,
    /// Workloads: write, mixed (one write to three reads), lwt (inserts IF NOT EXISTS)
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "write,mixed",
        value_parser = words(Kind::ALL, Kind::word)
    )]
    pub(crate) workloads: Vec<Kind>,
    /// Distances: links as they are, a round trip between all such as 80ms, or DC1:DC2=20ms+DC1:DC3=80ms
    /// [default: 0ms,links; links where there is no distance]
    #[arg(long = "rtt", alias = "rtts", value_name = "RTT,…", value_delimiter = ',', value_parser = parse_distance)]
    pub(crate) rtts: Vec<Distance>,
    /// Operations a second of the open loop [default: 100, or less where that many would wait for threads of the nodes;
    /// none with --closed alone]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// Closed loop, with so many operations in flight; with --rate both are run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub(crate) closed: Option<u32>,
    /// How often each cell is run, in another order each time
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,
    /// Measurement window of each cell
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub(crate) duration: Duration,
    /// Operations in the measurement window instead of a time
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Warm-up before it
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub(crate) warmup: Duration,
    /// Replicas of each row in each data centre, as many as it has nodes for
    #[arg(long = "replication-factor", aliases = ["replication", "rf"], default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=250))]
    pub(crate) replication: u32,
    /// Data centre whose nodes coordinate [default: the first node's]
    #[arg(long, value_name = "DC")]
    pub(crate) client_dc: Option<String>,
    /// Seed of order and data [default: random, and printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Share of failed operations above which a run does not count
    #[arg(long, default_value_t = 0.001, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) max_errors: f64,
}

fn parse_level(text: &str) -> Result<Consistency, String> {
    let asked = text.trim().to_uppercase();
    let known = EVERY.into_iter().find(|level| level.word() == asked);
    known.ok_or_else(|| {
        let words = EVERY.map(Consistency::word);
        match nearest(&asked, words) {
            Some(near) => format!("no such level; did you mean {near}?"),
            None => format!("no such level; known: {}", words.join(", ")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_known_by_cql_s_names() {
        assert_eq!(parse_level("each_quorum"), Ok(Consistency::EachQuorum));
        let error = parse_level("LOCAL_QUORUN").expect_err("unknown");
        assert_eq!(error, "no such level; did you mean LOCAL_QUORUM?");
        assert!(parse_level("xyz").is_err_and(|e| e.contains("known: ANY, LOCAL_ONE")));
    }
}
