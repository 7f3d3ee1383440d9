//! The flags of `cqlsh` and `jmx`.
//! Refuses to do anything with what it parsed.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus jmx c/node2                    the URL, the user, and the file with the password
  jconsole \"$(helenus jmx c --format json | jq -r .url)\"

The password is never printed: jconsole asks for it, and it is the second word of the file's line.")]
pub(crate) struct Jmx {
    /// NAME or NAME/NODE [default: the only cluster, its first node]
    #[arg(value_name = "NAME[/NODE]", env = "HELENUS_CLUSTER")]
    pub(crate) target: Option<String>,
    /// Show what would be opened, open nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus cql c -e 'SELECT release_version FROM system.local'
  helenus cql c -f schema.cql
  helenus cql c -e 'CONSISTENCY QUORUM; SELECT * FROM k.t'
  helenus cql c -e 'DESCRIBE KEYSPACE k' > k.cql
  helenus cql c                          a session: HELP lists its commands, Tab completes
  helenus cql c/node2 --cl LOCAL_QUORUM  at one node, at a level")]
pub(crate) struct Cqlsh {
    /// NAME or NAME/NODE [default: the only cluster, its first node that answers]
    #[arg(value_name = "NAME[/NODE]", env = "HELENUS_CLUSTER")]
    pub(crate) target: Option<String>,
    /// Statements to run
    #[arg(short, long, value_name = "CQL", conflicts_with = "file")]
    pub(crate) execute: Option<String>,
    /// A file with statements; - for standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Consistency level of the statements, until CONSISTENCY sets another [default: ONE]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) cl: Option<helenus_cql::Consistency>,
    /// Hand the terminal over to an installed cqlsh, connected
    #[arg(long, conflicts_with_all = ["execute", "file", "cl", "dry_run"])]
    pub(crate) installed: bool,
    /// Show the statements one by one, run none
    #[arg(long)]
    pub(crate) dry_run: bool,
}
