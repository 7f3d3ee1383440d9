//! Flags about data centres and the distance between them.
//! Refuses to do anything with what it parsed.

use super::words::words;
use clap::{Args, Subcommand};
use helenus_model::topology::link::{LinkError, delay_us, half_us, loss_ppm, rate_bits};
use helenus_model::topology::wan::Wan;
use std::ffi::OsString;
use std::path::PathBuf;

/// Nodes as they were said, and how many that makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// `3` or `5:5:5`.
    pub(crate) text: String,
    /// In all data centres.
    pub(crate) total: u32,
}

pub(crate) fn parse_nodes(text: &str) -> Result<Nodes, String> {
    let counts = text.split(':').map(|part| {
        part.parse::<u32>()
            .map_err(|e| format!("{part:?}: {e}; write 3, or 5:5:5 for three data centres"))
    });
    let counts: Vec<u32> = counts.collect::<Result<_, _>>()?;
    Ok(Nodes {
        text: text.to_owned(),
        total: counts.iter().fold(0, |sum: u32, n| sum.saturating_add(*n)),
    })
}

/// Shape and distance of a cluster to be.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Topology")]
pub(crate) struct TopologyArgs {
    /// Racks in each data centre; nodes are placed in them in turn
    #[arg(long, value_name = "N", conflicts_with = "count")]
    pub(crate) racks: Option<u32>,
    /// Round-trip time between all data centres, or between two, such as DC1:DC2=20ms; may be repeated
    #[arg(long, value_name = "TIME|A:B=TIME", conflicts_with = "count")]
    pub(crate) rtt: Vec<String>,
    /// Measured distances: one-building, one-city, one-continent, three-continents
    #[arg(long, value_name = "PRESET", conflicts_with = "count")]
    pub(crate) links: Option<String>,
    /// What delays the packets: queue (packet queues of the kernel, and an emulator that reports how exact it was), or
    /// netem (the kernel's own, if it has it) [default: queue]
    #[arg(long, value_name = "HOLDER", conflicts_with = "count", value_parser = words(Wan::ALL, Wan::word))]
    pub(crate) wan: Option<Wan>,
    /// A file with all of this, and with settings by data centre and node
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nodes", "count", "dc", "racks", "coordinators", "rtt", "links", "wan"])]
    pub(crate) topology: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TopologyVerb {
    #[command(subcommand)]
    pub(crate) what: TopologyWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TopologyWhat {
    /// Check a file, and show what is wrong with it
    #[command(after_help = "Examples:
  helenus topology check wan.toml        its data centres and distances, or the line that is wrong")]
    Check {
        /// A topology in TOML
        file: PathBuf,
    },
    /// Show a file or a cluster: data centres, racks, nodes, distances
    #[command(after_help = "Examples:
  helenus topology show wan              a cluster's
  helenus topology show wan.toml         a file's")]
    Show {
        /// A topology in TOML, or the name of a cluster
        what: String,
    },
    /// The measured distances that --links knows, with their source
    #[command(after_help = "Examples:
  helenus topology links")]
    Links,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus link wan                       the links, what went over them, and how exact the delay is
  helenus link wan --measure 1000        with 1,000 round trips between each two data centres
  helenus link wan DC1:DC2 --rtt 150ms --loss 0.1%
  helenus link wan DC1:DC3 --cut         nothing gets through, both ways
  helenus link wan DC1:DC3 --join        packets get through again
  helenus link wan DC1:DC2 --one-way --delay 60ms

A change holds until the last node stops; `start` restores the links of the topology.")]
pub(crate) struct Link {
    /// Cluster
    pub(crate) name: String,
    /// Two data centres, such as DC1:DC2 [default: all pairs]
    #[arg(value_name = "A:B")]
    pub(crate) pair: Option<String>,
    /// Only from A to B
    #[arg(long, requires = "pair")]
    pub(crate) one_way: bool,
    /// Round-trip time; half of it each way
    #[arg(long, value_name = "TIME", value_parser = of(half_us), conflicts_with_all = ["delay", "one_way"])]
    pub(crate) rtt: Option<u64>,
    /// Time of one way
    #[arg(long, value_name = "TIME", value_parser = of(delay_us))]
    pub(crate) delay: Option<u64>,
    /// How far a packet's delay may differ from that, evenly spread
    #[arg(long, value_name = "TIME", value_parser = of(delay_us))]
    pub(crate) jitter: Option<u64>,
    /// Share of packets that are lost
    #[arg(long, value_name = "PERCENT", value_parser = of(loss_ppm))]
    pub(crate) loss: Option<u32>,
    /// Bits a second, such as 100Mbit, or none
    #[arg(long, value_name = "RATE", value_parser = of(rate_bits))]
    pub(crate) rate: Option<u64>,
    /// Let nothing through
    #[arg(long, conflicts_with = "join")]
    pub(crate) cut: bool,
    /// Let packets through again
    #[arg(long)]
    pub(crate) join: bool,
    /// Round trips to measure between each two data centres
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) measure: Option<u32>,
    /// Show what would change
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A figure of a link, with its error as clap wants it.
fn of<T>(read: fn(&str) -> Result<T, LinkError>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| read(text).map_err(|e| e.to_string())
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus exec wan/DC2 -- python3 app.py         as a client in DC2
  helenus exec wan/node4 -- ss -ti               in a node's network
  helenus exec wan -- bash                       in the first data centre
  helenus exec wan -- nodetool status            the cluster's own nodetool

The program gets the variables that `helenus env` prints: contact points, port, data centre,
paths, and nodetool and cqlsh on PATH.")]
pub(crate) struct Exec {
    /// Cluster, and data centre or node [default: a client in the first data centre]
    #[arg(value_name = "NAME[/DC|/NODE]")]
    pub(crate) target: String,
    /// Program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,
}
