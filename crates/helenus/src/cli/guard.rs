//! The flags of `guard`.
//! Refuses to do anything with what it parsed.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus guard --hosts 127.111.205.1,127.111.205.2 && pytest
  helenus guard c
  helenus guard --hosts \"$CASSANDRA_CONTACT_POINTS\" --port \"$CASSANDRA_PORT\" || exit 1
  helenus guard --hosts ci-db --accept-name 'ci-*' --accept-keyspace 'test_*'

Exit codes: 0 all addresses belong to one of your clusters, or to one that is accepted; 1 one is
foreign; 3 nobody answers.")]
pub(crate) struct Guard {
    /// One of your clusters, by name: does it, and nothing else, answer at its addresses?
    #[arg(
        value_name = "NAME",
        required_unless_present = "hosts",
        conflicts_with = "hosts"
    )]
    pub(crate) name: Option<String>,
    /// Addresses or host names, as a test's driver gets them
    #[arg(long, value_delimiter = ',', value_name = "HOST,…", value_parser = host)]
    pub(crate) hosts: Vec<String>,
    /// CQL port of --hosts
    #[arg(long, default_value_t = 9042, value_name = "PORT", requires = "hosts")]
    pub(crate) port: u16,
    /// Let a cluster of this name pass though it is not yours; * stands for any characters
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", requires = "hosts")]
    pub(crate) accept_name: Vec<String>,
    /// Only if it has no keyspaces but these, beside Cassandra's own
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,…",
        requires = "accept_name"
    )]
    pub(crate) accept_keyspace: Vec<String>,
}

/// Ports of Cassandra's that speak no CQL, with what they are for.
pub(crate) const NOT_CQL: [(u16, &str); 3] = [
    (7000, "nodes among themselves"),
    (7001, "nodes among themselves, encrypted"),
    (7199, "JMX"),
];

/// A name or address without a port.
fn host(text: &str) -> Result<String, String> {
    let alone = |text: &str| !text.contains(':') || text.starts_with('[');
    let split = text.trim().rsplit_once(':').filter(|(host, _)| alone(host));
    let Some((host, port)) = split.and_then(|(host, port)| Some((host, port.parse().ok()?))) else {
        return Ok(text.to_owned());
    };
    let of = NOT_CQL.iter().find(|(known, _)| *known == port);
    let cure = |port| {
        format!("write the host alone, and the port with --port: --hosts {host} --port {port}")
    };
    Err(match of {
        Some((_, of)) => format!(
            "{port} is the port of {of}, and CQL's is mostly 9042; {}",
            cure(9042)
        ),
        None => cure(port),
    })
}
