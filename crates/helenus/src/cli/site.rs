//! The flags of `ui`.
//! Refuses to do anything with them.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus ui                             print the page's address, and serve it until Ctrl-C
  helenus ui --port 8080
  ssh -L 8080:127.0.0.1:8080 host helenus ui --port 8080
                                         the history of another machine

The page shows runs, trends, comparisons, experiments and clusters. It is served on loopback only,
requires the token in its address, loads nothing from other servers, and is read-only.")]
pub(crate) struct Site {
    /// Port on loopback; 0 is a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
}
