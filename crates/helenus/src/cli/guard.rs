//! The flags of `guard`.
//! Refuses to do anything with what it parsed.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus guard --hosts 127.111.205.1,127.111.205.2 && pytest
  helenus guard c
  helenus guard --hosts \"$CASSANDRA_CONTACT_POINTS\" --port \"$CASSANDRA_PORT\" || exit 1

Exit codes: 0 every address is of one cluster of yours, 1 something is foreign, 3 nobody answers.")]
pub(crate) struct Guard {
    /// A cluster of yours, by name: does it answer at its addresses, and nobody else?
    #[arg(
        value_name = "NAME",
        required_unless_present = "hosts",
        conflicts_with = "hosts"
    )]
    pub(crate) name: Option<String>,
    /// Addresses or host names, as a test's driver gets them
    #[arg(long, value_delimiter = ',', value_name = "HOST,…")]
    pub(crate) hosts: Vec<String>,
    /// CQL port of --hosts
    #[arg(long, default_value_t = 9042, value_name = "PORT", requires = "hosts")]
    pub(crate) port: u16,
}
