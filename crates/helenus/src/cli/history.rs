//! Flags of `helenus history`: listing, showing, tagging, pruning and exporting what was measured.
//! Refuses to do anything with what it parsed.

use super::words::one_of;
use clap::builder::TypedValueParser;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use helenus_model::units::parse_duration;
use helenus_record::Measure;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  helenus history                        every run, the newest last
  helenus history --tag before --state complete
  helenus history show @last             plan, host, command, results and doubts of the newest
  helenus history trend --tag nightly    where a measure changed for good
  helenus history tag r12 before-upgrade
  helenus history export r12 --to r12.hdr
  helenus history sync /shared/runs      bring together with the histories of others
  helenus history prune --keep 100 --older-than 30d --dry-run

A RUN is r12, @last (the newest that has ended), @newest, a tag, or several: r12,r15 and r12..r20.")]
pub(crate) struct History {
    #[command(subcommand)]
    pub(crate) verb: Option<HistoryVerb>,
    #[command(flatten)]
    pub(crate) list: ListFlags,
}

/// Which runs the list has.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListFlags {
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Only runs in this state
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) state: Option<StateArg>,
    /// Only runs on this release, such as 5.0.9
    #[arg(long = "cassandra", value_name = "RELEASE", alias = "release")]
    pub(crate) release: Option<String>,
    /// Only runs of this workload, such as standard1
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Only the newest N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// The comparisons instead of the runs
    #[arg(long)]
    pub(crate) comparisons: bool,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateArg {
    /// It is under way
    Running,
    /// Its process was killed
    Broken,
    /// It ended, and its result is valid
    Complete,
    /// It was interrupted, as by Ctrl-C
    Interrupted,
    /// It ended, and is not valid
    Invalid,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryVerb {
    /// Every run, the newest last: the same as `helenus history` alone
    #[command(alias = "ls")]
    #[command(after_help = "Examples:
  helenus history list
  helenus history list --format json")]
    List(ListFlags),
    /// A run with its plan, host, command, results and doubts; or a comparison
    #[command(after_help = "Examples:
  helenus history show @last
  helenus history show r12 --format json
  helenus history show cmp3")]
    Show {
        /// r12, @last, a tag that only one run has, or cmp3
        #[arg(value_name = "RUN")]
        name: String,
    },
    /// Show a measure over many runs, and detect permanent changes
    Trend(Trend),
    /// Tag runs, or remove a tag
    Tag(Tag),
    /// Exchange runs with the histories of other machines, through a folder
    Sync(Sync),
    /// Delete runs
    Prune(Prune),
    /// Runs as JSON, CSV or an HdrHistogram interval log
    Export(Export),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus history sync /shared/runs      a folder that several machines see
  helenus history sync runs --dry-run
  git clone --branch history --single-branch git@host:team/perf.git runs && helenus history sync runs \\
    && git -C runs add . && git -C runs commit -m runs && git -C runs push
                                         a branch: files are only ever added, so that merges have no conflicts

Each run that has ended becomes one file, which is never changed or removed. An imported run gets
a number in this history. Runs removed here are not imported again.")]
pub(crate) struct Sync {
    /// The folder; made if it does not exist
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Print what would be exchanged, and exchange nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus history trend --tag nightly    p99 of the newest run's last phase
  helenus history trend --tag nightly --phase read --measure throughput
  helenus history trend --workload standard1 --limit 50 --format json

Runs of the newest one's workload, phase and rate (in a closed loop: operations in flight) are
compared; each change has its size with a 95 % confidence interval. In quiet runs one in a hundred
raises a false alarm.")]
pub(crate) struct Trend {
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Only runs of this workload
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Only runs on this release, such as 5.0.9
    #[arg(long = "cassandra", value_name = "RELEASE", alias = "release")]
    pub(crate) release: Option<String>,
    /// The phase [default: the newest run's last]
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// What is followed; p99 is of response times, in a closed loop of service times
    #[arg(long, value_parser = measure(), default_value = "p99", alias = "metric")]
    pub(crate) measure: Measure,
    /// Only the newest N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

/// What is followed.
fn measure() -> impl TypedValueParser<Value = Measure> {
    one_of([
        (
            Measure::Throughput,
            "throughput",
            "Operations a second that ended well",
        ),
        (Measure::P99, "p99", "99th percentile, in milliseconds"),
    ])
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus history tag @last before-upgrade
  helenus history tag r12..r19 zgc
  helenus history tag r12 zgc --remove")]
pub(crate) struct Tag {
    /// r12, @last, a tag, r12,r15 or r12..r20
    #[arg(value_name = "RUN")]
    pub(crate) runs: String,
    /// A word such as before-upgrade
    #[arg(value_name = "TAG")]
    pub(crate) tag: String,
    /// Remove the tag
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show what would be done, do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true)
    .args(["names", "keep", "older_than", "state", "tag"]))]
#[command(after_help = "Examples:
  helenus history prune --state broken --dry-run
  helenus history prune --older-than 30d --keep 50
  helenus history prune r12 r15 cmp3

A run is removed if it meets every condition. Runs under way are never removed, nor those of an
experiment or comparison under way; tagged ones only with --tagged, or by their name or tag.")]
pub(crate) struct Prune {
    /// Runs and comparisons to remove: r12, a tag, r12..r20, cmp3
    #[arg(value_name = "RUN")]
    pub(crate) names: Vec<String>,
    /// All but the newest N
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Those that started longer ago, such as 30d
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) older_than: Option<Duration>,
    /// Those in this state
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) state: Option<StateArg>,
    /// Those with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Tagged ones too
    #[arg(long)]
    pub(crate) tagged: bool,
    /// Show what would be removed, remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus history export @last                       JSON on standard output
  helenus history export r12..r20 --to runs.csv
  helenus history export r12 --to r12.hdr            tags write.WRITE-st, write.WRITE-rt, …
  helenus history export r12 --phase read --as hdr   tags READ-st, READ-rt, READ-wt

The interval log's values are nanoseconds: -st service time, -rt response time, -wt the wait before
the start.")]
pub(crate) struct Export {
    /// r12, @last, a tag, r12,r15 or r12..r20
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// Where to write; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-", alias = "out")]
    pub(crate) to: PathBuf,
    /// The form [default: by FILE's extension; json on standard output]
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(crate) form: Option<FormArg>,
    /// JSON and CSV: the intervals of each run, not only its result
    #[arg(long)]
    pub(crate) intervals: bool,
    /// HDR: only this phase, with plain tags
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Option<String>,
    /// Include the warm-up in HDR and interval exports
    #[arg(long)]
    pub(crate) with_warmup: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be written, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// Everything, for programs
    Json,
    /// A row for each phase, operation and measure
    Csv,
    /// An HdrHistogram interval log, one run
    Hdr,
}

impl FormArg {
    /// The word, as it is typed.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Hdr => "hdr",
        }
    }
}
