//! The flags of `env`.
//! Refuses to do anything with what it parsed.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  eval \"$(helenus env c)\"                 contact points, paths, and a nodetool on PATH
  helenus env c/node2 --as fish | source
  helenus env c --as github >> \"$GITHUB_ENV\"
  helenus env c --as java > application.conf")]
pub(crate) struct EnvFlags {
    /// NAME or NAME/NODE [default: the only cluster, its first node]
    #[arg(value_name = "NAME[/NODE]", env = "HELENUS_CLUSTER")]
    pub(crate) target: Option<String>,
    /// What the output is for
    #[arg(long = "as", value_enum, default_value_t = EnvAs::Shell, value_name = "READER")]
    pub(crate) reader: EnvAs,
}

/// Who reads what `env` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnvAs {
    Shell,
    Fish,
    Dotenv,
    Github,
    Json,
    Java,
    Python,
}
