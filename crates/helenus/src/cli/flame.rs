//! The flags of `flame`.
//! Refuses to do anything with them.

use super::words;
use clap::Args;
use helenus_model::flame::ProfileEvent;
use helenus_model::units::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus flame c/node2                  10 s of its CPU, as helenus-flame-c-node2-cpu.html
  helenus flame c --event alloc --for 30s -o alloc.svg
  helenus flame c --event lock -o locks.txt
                                         collapsed stacks, for other tools
  helenus flame --run @last -o run.html  what `run --flame` has kept

The profiler is async-profiler; its jar is fetched once through mvn. Where perf events are
forbidden, CPU is sampled by timers, without the kernel's frames. Its library stays loaded until
the node stops, and does nothing.")]
pub(crate) struct Flame {
    /// NAME or NAME/NODE [default: the only cluster, its first node]
    #[arg(value_name = "NAME[/NODE]", env = "HELENUS_CLUSTER")]
    pub(crate) target: Option<String>,
    /// How long
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = parse_length)]
    pub(crate) length: Duration,
    /// What is sampled
    #[arg(long, value_parser = words::event(), value_name = "EVENT", default_value = "cpu")]
    pub(crate) event: ProfileEvent,
    /// The graph of a stored run with --flame instead: r12, @last, a tag
    #[arg(long, value_name = "RUN", conflicts_with_all = ["length", "event", "dry_run"])]
    pub(crate) run: Option<String>,
    /// The file: .html with search and zoom, .svg, or .txt for collapsed stacks [default: helenus-flame-….html]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace a file that is not a report
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be profiled, profile nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn parse_length(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(length) if length < Duration::from_millis(100) => Err(format!(
            "{text:?} is too short: a sample is taken every 5 ms, write 1s or more"
        )),
        Ok(length) => Ok(length),
        Err(error) => Err(error.to_string()),
    }
}
