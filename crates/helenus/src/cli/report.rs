//! The flags of `helenus report`.
//! Refuses to do anything with what it parsed.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus report                         the newest run: helenus-r12.html and helenus-r12.md here
  helenus report r12 --html /tmp/r12.html
  helenus report nightly --markdown -    the newest run with this tag; the summary goes to standard output
  helenus report cmp3                    a comparison

The HTML file needs no network: it can be sent as it is.")]
pub(crate) struct Report {
    /// A run (r12, 12, @last, or a tag: its newest run), or a comparison (cmp3)
    #[arg(value_name = "RUN|COMPARISON", default_value = "@last")]
    pub(crate) target: String,
    /// The HTML file to write [default: helenus-RUN.html in this folder]
    #[arg(long = "html", value_name = "FILE.html", alias = "out")]
    pub(crate) out: Option<PathBuf>,
    /// The Markdown summary to write; - for standard output [default: beside the HTML file]
    #[arg(long, value_name = "FILE.md|-")]
    pub(crate) markdown: Option<PathBuf>,
    /// Replace files even if they are not reports
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be written, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
