//! Flags of `run` and `populate`.
//! Refuses to do anything with them.

use super::{BenchPlace, ClusterFlags, CommonLoad, words};
use clap::Args;
use helenus_model::consistency::{Consistency, SerialConsistency};
use helenus_model::dist::Dist;
use helenus_model::preset::PresetName;
use helenus_model::run_plan::{Positions, Ramp};
use helenus_model::search::Slo;
use helenus_model::units::{parse_duration, parse_rate};
use helenus_model::workload::ReplicationFactor;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus run standard1 --ops write=1 --rate 2000 --duration 60s
  helenus populate standard1 --rows 100000 --cluster c --seed 7
  helenus run standard1 --ops write=1,read=3 --population 100000 --cluster c --seed 7
                                         reads find what was written before, with the same seed
  helenus run iot --phase rampup --count 10000 --cluster c
  helenus run iot --phase main --rate 100 --count 10000 --cluster c
  helenus run users.yaml --ops insert=3,by_name=1 --cl QUORUM --cluster c
  helenus run users.yaml,events.yaml --ops users.insert=1,events.insert=4 --in-flight 128
  helenus run kv --rate '1000..5000 over 60s'
                                         the rate rises linearly, then stays
  helenus run kv --rate-steps 1000,2000,4000 --step 30s
  helenus run kv --slo 'p99<10ms,errors<0.1%' --within 15m
                                         the highest rate that meets this threshold, and the one for 90 % of fresh clusters
  helenus run kv --cluster c --curve     latency by rate, up to overload
  helenus run kv --cluster wan --rate 200 --rtt 40ms
                                         at this distance, which is undone afterwards
  helenus run kv --cluster wan --rate 200 --fault 'at 10s for 20s partition DC3'
  helenus run kv --rate 2000 --flame     what a node's CPU does meanwhile: a flame graph in `helenus report @last`
  helenus run users.yaml --ops by_name=1 --verify --cluster c --seed 7
                                         what is read must be what was written
  helenus run kv --rate 2000 --trace 100 --detail
                                         100 operations traced by the nodes: network, server, step by step
  helenus run kv --rate 2000 --server-times
                                         the nodes' own times: request queue, coordinators, replicas
  helenus run standard1 --ops write=1 --rate 2000 --on kube:demo --processes 2
                                         two generators as pods of a Job, away from the nodes
  helenus run kv --rate 2000 --on hosts:demo
  helenus run kv --rate 20k --hosts 10.0.0.1 --agent 'ssh user@10.0.0.5 helenus load-agent --stdio'
                                         the load comes from there (`helenus load-agent --help`)
  helenus run standard1 --ops write=1 --cl QUORUM --cluster c --ledger
                                         helenus ledger check @last reports what is lost

Without a rate it is a closed loop: as fast as --in-flight allows, without response times.")]
pub(crate) struct Run {
    /// A built-in workload (`helenus workload list`), or profiles: FILE.yaml[,FILE2.yaml]
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workload: String,
    /// Operations with their weights [default: the workload's own mix]
    #[arg(long, value_name = "NAME=N,…", value_delimiter = ',', value_parser = parse_ops)]
    pub(crate) ops: Vec<(String, u32)>,
    /// A phase of a built-in workload, such as rampup or main
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// A parameter of a built-in workload; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) params: Vec<(String, String)>,
    /// A table option as CQL writes it, such as "compaction={'class': 'UnifiedCompactionStrategy'}"; may be repeated
    #[arg(long = "with", value_name = "OPTION=VALUE", conflicts_with = "hosts")]
    pub(crate) table_options: Vec<String>,
    /// Settings of the ephemeral cluster
    #[arg(long, value_parser = words::preset(), default_value = "bench")]
    pub(crate) preset: PresetName,
    #[command(flatten)]
    pub(crate) cluster_flags: ClusterFlags,
    #[command(flatten)]
    pub(crate) place: BenchPlace,
    #[command(flatten)]
    pub(crate) load: RunLoad,
    /// Print confidence intervals, service times and the generator's own use, too
    #[arg(long)]
    pub(crate) detail: bool,
    /// Show the plan, start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What a search for a rate decides itself, or cannot have.
const SEARCHES_WITHOUT: [&str; 12] = [
    "agents",
    "rate",
    "rate_steps",
    "closed",
    "duration",
    "count",
    "faults",
    "flame",
    "ledger",
    "positions",
    "server_times",
    "trace",
];

/// How a workload is run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct RunLoad {
    /// Operations a second: 2000, 2k, or '1000..5000 over 60s' [default: a closed loop]
    #[arg(long, value_name = "RATE", value_parser = parse_paced, conflicts_with = "rate_steps")]
    pub(crate) rate: Option<Paced>,
    /// One phase at each of these rates, each as long as --step
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = parse_rate, requires = "step", conflicts_with_all = ["duration", "count", "closed"])]
    pub(crate) rate_steps: Vec<f64>,
    /// Length of each of --rate-steps, or of each trial of --slo and --curve, which is longer where its percentile needs
    /// more operations [default of trials: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) step: Option<Duration>,
    /// Find the highest rate that holds this threshold, such as 'p99<10ms,errors<0.1%' or 'read.p99<5ms'; times are
    /// response times
    #[arg(long, value_name = "THRESHOLD", value_parser = parse_slo, conflicts_with_all = SEARCHES_WITHOUT)]
    pub(crate) slo: Option<String>,
    /// Try rates from 5 to 110 % of the closed loop's, and plot latency by rate
    #[arg(long, conflicts_with = "slo", conflicts_with_all = SEARCHES_WITHOUT)]
    pub(crate) curve: bool,
    /// How long to search; an ephemeral cluster is replaced by a new one after each life
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "15m")]
    pub(crate) within: Duration,
    #[command(flatten)]
    pub(crate) common: CommonLoad,
    /// Partitions of the workload
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) population: Option<u64>,
    /// Which of them an operation uses: sequential, uniform, FROM..TO (without TO; the phase ends there), or a
    /// distribution such as 'gaussian(0..1M)' [default: sequential where all operations write, else uniform]
    #[arg(long, value_name = "HOW", value_parser = parse_positions)]
    pub(crate) positions: Option<Positions>,
    /// Compare the rows that are read (of profiles) with what must have been written
    #[arg(long)]
    pub(crate) verify: bool,
    /// Serial consistency of conditional statements that set none
    #[arg(long, value_parser = words::serial_level(), ignore_case = true, value_name = "CL")]
    pub(crate) serial_cl: Option<SerialConsistency>,
    /// Record each write and its outcome, in FILE or beside the history
    #[arg(long, value_name = "FILE|auto", num_args = 0..=1, default_missing_value = "auto", conflicts_with = "agents")]
    pub(crate) ledger: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  helenus populate standard1 --rows 1000000 --cluster c --seed 7
                                         the same command again resumes it
  helenus populate users.yaml --partitions 20k --rate 5000 --cluster c
  helenus populate standard1 --rows 100k --on kube:demo
  helenus populate --put-back --cluster c
                                         restores only the nodes' settings, after a crash

Each partition is written once, completely. Meanwhile the nodes have a longer write time-out, more
compactors and a higher compaction throughput; the old values are restored, even after a crash.
Nodes in pods keep their settings. At the end everything is flushed, compactions have finished,
and every row is read back.")]
pub(crate) struct Populate {
    /// A built-in workload (`helenus workload list`), or profiles: FILE.yaml[,FILE2.yaml]
    #[arg(value_name = "WORKLOAD", required_unless_present = "put_back")]
    pub(crate) workload: Option<String>,
    /// Your cluster, which is filled
    #[arg(
        long,
        value_name = "NAME",
        env = "HELENUS_CLUSTER",
        required_unless_present = "on"
    )]
    pub(crate) cluster: Option<String>,
    /// Your cluster on Kubernetes (`helenus kube up`), which is filled: the load generator is a pod beside it
    #[arg(long, value_name = "kube:NAME", value_parser = super::on::parse_kube)]
    pub(crate) on: Option<String>,
    /// User of --on; the password comes from --password-from
    #[arg(long, value_name = "USER", requires = "password_from", requires = "on")]
    pub(crate) user: Option<String>,
    /// Where the password is: an environment variable, or the path of a 0600 file
    #[arg(long, value_name = "VARIABLE|FILE", requires = "user")]
    pub(crate) password_from: Option<String>,
    /// Rows, such as 1000000 or 1m, in as many partitions as that takes
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "partitions", required_unless_present_any = ["partitions", "put_back"])]
    pub(crate) rows: Option<u64>,
    /// Partitions
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) partitions: Option<u64>,
    /// A parameter of a built-in workload; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) params: Vec<(String, String)>,
    /// A table option as CQL writes it, such as "compaction={'class': 'UnifiedCompactionStrategy'}"; may be repeated
    #[arg(long = "with", value_name = "OPTION=VALUE")]
    pub(crate) table_options: Vec<String>,
    /// Partitions a second [default: as fast as --in-flight allows]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// Most operations in flight at once
    #[arg(long, default_value_t = 64, value_name = "N", aliases = ["threads", "concurrency"], value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub(crate) in_flight: u32,
    /// Consistency level of the writes
    #[arg(long, value_parser = words::level(), ignore_case = true, default_value = "LOCAL_QUORUM", aliases = ["consistency", "consistency-level"])]
    pub(crate) cl: Consistency,
    /// Replicas of each row in each data centre, or in those named, such as DC1=3,DC2=1, when the workload's keyspace
    /// is created; an existing keyspace must have the same [default: up to 3, as many as it has nodes, or as your own
    /// file sets]
    #[arg(long, value_name = "N", aliases = ["replication", "rf"])]
    pub(crate) replication_factor: Option<ReplicationFactor>,
    /// Seed of the data; reads and checks need the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How often a failed write is sent again before the command gives up
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) tries: u32,
    /// Longest wait for compactions at the end
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    pub(crate) settle_within: Duration,
    /// Leave the nodes' settings alone
    #[arg(long)]
    pub(crate) no_care: bool,
    /// Do not read everything back at the end
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Discard an unfinished one, and start again
    #[arg(long)]
    pub(crate) anew: bool,
    /// Undo what an interrupted one has changed at the nodes, and do nothing else
    #[arg(long, conflicts_with_all = ["workload", "rows", "partitions", "anew"])]
    pub(crate) put_back: bool,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A rate, or a way from one to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Paced {
    /// Operations a second, at the end of the way.
    pub(crate) per_s: f64,
    /// The way there.
    pub(crate) ramp: Option<Ramp>,
}

fn parse_paced(text: &str) -> Result<Paced, String> {
    let Some((from, rest)) = text.split_once("..") else {
        let per_s = parse_rate(text).map_err(|e| e.to_string())?;
        return Ok(Paced { per_s, ramp: None });
    };
    let form = || format!("{text:?} is not a ramp: write it as '1000..5000 over 60s'");
    let (to, over) = rest.split_once(" over ").ok_or_else(form)?;
    let rate = |text: &str| parse_rate(text.trim()).map_err(|e| e.to_string());
    let over = parse_duration(over.trim()).map_err(|e| e.to_string())?;
    Ok(Paced {
        per_s: rate(to)?,
        ramp: Some(Ramp {
            from_per_s: rate(from)?,
            over_ms: u64::try_from(over.as_millis()).unwrap_or(u64::MAX),
        }),
    })
}

fn parse_slo(text: &str) -> Result<String, String> {
    match Slo::parse(text) {
        Ok(slo) => Ok(slo.text),
        Err(error) => Err(format!("{error}; {}", error.hint())),
    }
}

fn parse_ops(text: &str) -> Result<(String, u32), String> {
    let (name, weight) = text.rsplit_once('=').unwrap_or((text, "1"));
    match weight.parse::<u32>() {
        Ok(weight) if !name.is_empty() => Ok((name.to_owned(), weight)),
        _ => Err(format!(
            "{text:?} is not an operation with its weight: write it as insert=3"
        )),
    }
}

pub(crate) fn parse_pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or_else(|| format!("{text:?}: write it as NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_count(text: &str) -> Result<u64, String> {
    let number = helenus_model::dist::whole_number(text);
    let number = number.and_then(|n| u64::try_from(n).ok());
    number
        .filter(|n| *n > 0)
        .ok_or_else(|| format!("{text:?} is not a number above 0, such as 1000000, 20k or 1m"))
}

fn parse_positions(text: &str) -> Result<Positions, String> {
    let text = text.trim();
    match text.to_ascii_lowercase().as_str() {
        "sequential" => return Ok(Positions::Sequential),
        "uniform" => return Ok(Positions::Uniform),
        _ => {}
    }
    if text.contains('(') {
        let dist: Dist = text.parse().map_err(|e| format!("{e}"))?;
        return Ok(Positions::Drawn(dist));
    }
    let ends = text.split_once("..").and_then(|(from, to)| {
        let number = |t: &str| u64::try_from(helenus_model::dist::whole_number(t)?).ok();
        Some((number(from)?, number(to)?))
    });
    match ends {
        Some((from, to)) if from < to => Ok(Positions::Range {
            from,
            to,
            wrap: false,
        }),
        _ => Err(format!(
            "{text:?} is not sequential, uniform, FROM..TO or a distribution such as gaussian(0..1M)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_numbers_or_ways() {
        let steady = parse_paced("2k").expect("a rate");
        assert_eq!((steady.per_s, steady.ramp), (2000.0, None));
        let ramp = parse_paced("1000..5000 over 60s").expect("a ramp");
        let from = Ramp {
            from_per_s: 1000.0,
            over_ms: 60_000,
        };
        assert_eq!((ramp.per_s, ramp.ramp), (5000.0, Some(from)));
        assert!(parse_paced("1000..5000").is_err_and(|e| e.contains("over 60s")));
    }

    #[test]
    fn operations_positions_and_counts_are_read() {
        assert_eq!(parse_ops("a.insert=3"), Ok(("a.insert".into(), 3)));
        assert_eq!(parse_ops("read"), Ok(("read".into(), 1)));
        assert!(parse_ops("=3").is_err() && parse_ops("read=x").is_err());
        assert_eq!(parse_count("1m"), Ok(1_000_000));
        assert!(parse_count("0").is_err() && parse_count("-5").is_err());
        let range = Positions::Range {
            from: 5,
            to: 20_000,
            wrap: false,
        };
        assert_eq!(parse_positions("5..20k"), Ok(range));
        assert_eq!(parse_positions("Uniform"), Ok(Positions::Uniform));
        assert!(matches!(
            parse_positions("exp(1..10)"),
            Ok(Positions::Drawn(_))
        ));
        assert!(parse_positions("9..5").is_err_and(|e| e.contains("gaussian")));
    }
}
