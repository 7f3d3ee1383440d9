//! Flags of `helenus history`: listing, showing, tagging, pruning and exporting what was measured.
//! Refuses to do anything with what it parsed.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use helenus_model::units::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  helenus history                        every run, the newest last
  helenus history --tag before --state complete
  helenus history show @last             plan, host, command, results and doubts of the newest
  helenus history tag r12 before-upgrade
  helenus history export r12 --to r12.hdr
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
    /// Only the newest so many
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
    /// Whoever ran it was killed
    Broken,
    /// It ended as it should
    Complete,
    /// A person stopped it
    Interrupted,
    /// It ended, and must not be believed
    Invalid,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryVerb {
    /// Every run, the newest last: the same as `helenus history` alone
    #[command(alias = "ls")]
    List(ListFlags),
    /// A run with its plan, host, command, results and doubts; or a comparison
    Show {
        /// r12, @last, a tag that only one run has, or cmp3
        #[arg(value_name = "RUN")]
        name: String,
    },
    /// Give runs a word to find them by, or take it away
    Tag(Tag),
    /// Remove runs for good
    Prune(Prune),
    /// Runs as JSON, CSV or an HdrHistogram interval log
    Export(Export),
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
    /// Take the tag away
    #[arg(long)]
    pub(crate) remove: bool,
    /// Say what would be done, do nothing
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

What is removed meets every condition. A run that is under way is never removed, and none of an
experiment or comparison that is; a tagged one only with --tagged, or when it or its tag is named.")]
pub(crate) struct Prune {
    /// Runs and comparisons to remove: r12, a tag, r12..r20, cmp3
    #[arg(value_name = "RUN")]
    pub(crate) names: Vec<String>,
    /// All but the newest so many
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Those that began longer ago, such as 30d
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
    /// Say what would be removed, remove nothing
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
    /// The form [default: by the end of FILE's name; json on standard output]
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(crate) form: Option<FormArg>,
    /// JSON and CSV: the intervals of each run, not only its result
    #[arg(long)]
    pub(crate) intervals: bool,
    /// HDR: only this phase, with plain tags
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Option<String>,
    /// HDR and intervals: the warm-up too, which no result counts
    #[arg(long)]
    pub(crate) with_warmup: bool,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be written, write nothing
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
