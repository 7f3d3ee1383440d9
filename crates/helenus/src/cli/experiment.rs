//! Flags of `experiment`.
//! Refuses to do anything with them.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ExperimentVerb {
    #[command(subcommand)]
    pub(crate) what: ExperimentWhat,
}

/// What a command line says instead of the file.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// Seed of order and data [default: the file's, or random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Blocks: how often each combination is run [default: the file's]
    #[arg(long, value_name = "N")]
    pub(crate) repeats: Option<usize>,
}

impl Asked {
    /// Nothing but the number of blocks.
    pub(crate) const fn blocks(repeats: usize) -> Self {
        Self {
            seed: None,
            repeats: Some(repeats),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentWhat {
    /// Check a file, and show what is wrong with it
    #[command(after_help = "Examples:
  helenus experiment check heap.toml     its factors and combinations, or the line that is wrong")]
    Check {
        /// An experiment in TOML
        file: PathBuf,
    },
    /// Show what would run, in which order, how long it takes and what it needs; start nothing
    #[command(after_help = "Examples:
  helenus experiment plan heap.toml
  helenus experiment plan heap.toml --repeats 12
  helenus experiment plan heap.toml --seed 7 --format json

Combinations that do not fit the machine are named with the reason.")]
    Plan {
        /// An experiment in TOML
        file: PathBuf,
        #[command(flatten)]
        asked: Asked,
    },
    /// Run an experiment to its end, and print the answer
    #[command(after_help = "Examples:
  helenus experiment run heap.toml
  helenus experiment run heap.toml --seed 7 --repeats 12
  helenus experiment run heap.toml --anew
                                         another run, even if the first has not ended

Two experiments on one machine run one after the other. After any interruption (Ctrl-C, kill -9, a
reboot), `helenus experiment resume` continues with the next run.")]
    Run {
        /// An experiment in TOML
        file: PathBuf,
        #[command(flatten)]
        asked: Asked,
        /// Start again, even if one of this name has not ended
        #[arg(long)]
        anew: bool,
        /// As `plan`
        #[arg(long)]
        dry_run: bool,
    },
    /// Resume an interrupted experiment
    #[command(after_help = "Examples:
  helenus experiment resume heap.toml
  helenus experiment resume e3
  helenus experiment resume e3 --repeats 6
                                         more blocks than it started with

Fewer than 6 blocks allow no claim. From 6 on, no blocks can be added, because a known answer must
not decide whether there are more.")]
    Resume {
        /// A file, the name in it, or a name such as e3
        experiment: String,
        /// Blocks in total, if it started with fewer than a claim needs
        #[arg(long, value_name = "N")]
        repeats: Option<usize>,
        /// Show its progress, start nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Progress: what has run, what runs, what failed, how long it will take
    #[command(after_help = "Examples:
  helenus experiment status              all of them
  helenus experiment status heap         one, with its failed runs")]
    Status {
        /// A file, the name in it, or a name such as e3
        experiment: Option<String>,
    },
    /// The results so far: the answer, effects, thresholds, all runs
    #[command(after_help = "Examples:
  helenus experiment report heap.toml
  helenus experiment report e3 --markdown heap.md --csv heap.csv --html heap.html
  helenus experiment report e3 --bar 'p99 < 300ms at 100/s' --bar 'p99 < 300ms at 200/s'
                                         other thresholds for the same runs

A BAR is [PHASE.][response.|service.]MEASURE (<|>) BOUND [at LEVEL, ...], as in the file's `bars`.")]
    Report {
        /// A file, the name in it, or a name such as e3
        experiment: String,
        /// Threshold to check instead of the file's; may be repeated
        #[arg(long = "bar", value_name = "BAR", alias = "fail-on")]
        bars: Vec<String>,
        /// Also write it as Markdown
        #[arg(long, value_name = "FILE")]
        markdown: Option<PathBuf>,
        /// Also write the numbers of all runs
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// Also write it as one HTML file that opens without a network
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
}
