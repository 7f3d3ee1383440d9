//! A developer's stack: what runs beside the nodes of a cluster, where it listens, and the files that it is configured by.
//! Refuses to hold a secret: what needs one gets it while its file is rendered.

mod files;
mod page;
mod repair;

#[cfg(test)]
mod tests;

pub use files::{BUCKET, MedusaNode, Storage};
pub use repair::{RepairRun, RunState, runs_of};

use crate::format::Format;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// The version of what is kept of a stack.
pub const STACK_VERSION: u32 = 1;

/// Where a run is scraped that serves itself: `run --metrics ADDRESS:9096`.
pub const RUN_PORT: u16 = 9096;

/// What runs, or is installed, beside the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Repairs, with a page.
    Reaper,
    /// Helenus' own page for Prometheus.
    Metrics,
    /// Scrapes, keeps and shows what the others say.
    Prometheus,
    /// Backups: a program that runs when it is called.
    Medusa,
    /// Storage by the protocol of S3, in memory: for Medusa.
    Moto,
}

impl Part {
    /// All, in the order in which they start.
    pub const ALL: [Self; 5] = [
        Self::Moto,
        Self::Metrics,
        Self::Prometheus,
        Self::Reaper,
        Self::Medusa,
    ];

    /// Its word, which is also the name of its folder.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reaper => "reaper",
            Self::Metrics => "metrics",
            Self::Prometheus => "prometheus",
            Self::Medusa => "medusa",
            Self::Moto => "moto",
        }
    }

    /// Where it listens; none of a part that is no process.
    pub fn port(self) -> Option<u16> {
        match self {
            Self::Reaper => Some(8080),
            Self::Metrics => Some(9095),
            Self::Prometheus => Some(9090),
            Self::Moto => Some(5000),
            Self::Medusa => None,
        }
    }

    /// What it answers when it is ready, by GET.
    pub fn probe(self) -> &'static str {
        match self {
            Self::Reaper => "/ping",
            Self::Metrics => "/metrics",
            Self::Prometheus => "/-/ready",
            Self::Moto => "/moto-api/",
            Self::Medusa => "",
        }
    }

    /// The page for a browser.
    pub fn page(self) -> Option<&'static str> {
        match self {
            Self::Reaper => Some("/webui/"),
            Self::Metrics => Some("/metrics"),
            // From there each build of Prometheus leads to a page that it has.
            Self::Prometheus => Some("/"),
            Self::Medusa | Self::Moto => None,
        }
    }

    /// What it is good for.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Reaper => "repairs",
            Self::Metrics => "metrics of the nodes",
            Self::Prometheus => "scrapes and dashboard",
            Self::Medusa => "backups",
            Self::Moto => "storage by the protocol of S3",
        }
    }
}

/// Port of Reaper for its own health and metrics.
pub const REAPER_ADMIN: u16 = 8081;

/// What a person chooses of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// Reaper.
    Reaper,
    /// Medusa.
    Medusa,
    /// Metrics, Prometheus and dashboard.
    Metrics,
}

impl Extra {
    /// All.
    pub const ALL: [Self; 3] = [Self::Reaper, Self::Medusa, Self::Metrics];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reaper => "reaper",
            Self::Medusa => "medusa",
            Self::Metrics => "metrics",
        }
    }

    fn parts(self) -> &'static [Part] {
        match self {
            Self::Reaper => &[Part::Reaper],
            Self::Medusa => &[Part::Medusa, Part::Moto],
            Self::Metrics => &[Part::Metrics, Part::Prometheus],
        }
    }

    /// Those of `all`, `none`, or words with commas between them.
    ///
    /// # Errors
    /// A word that is none of them.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ExtraError> {
        let one = |word: &str| {
            let found = Self::ALL.into_iter().find(|extra| extra.as_str() == word);
            found.ok_or_else(|| ExtraError(word.to_owned()))
        };
        match text {
            "all" => Ok(Self::ALL.to_vec()),
            "none" => Ok(Vec::new()),
            words => words.split(',').map(one).collect(),
        }
    }
}

/// A word that names nothing of a stack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a part of a stack: write all, none, or some of reaper,medusa,metrics")]
pub struct ExtraError(String);

/// What clients come through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gateway {
    /// A node that only coordinates.
    #[default]
    Coordinator,
    /// Nothing: clients ask the nodes.
    None,
    /// A gateway that the user runs, such as Stargate.
    At(SocketAddr),
}

impl fmt::Display for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coordinator => f.write_str("coordinator"),
            Self::None => f.write_str("none"),
            Self::At(address) => write!(f, "{address}"),
        }
    }
}

/// A gateway that is no word and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a gateway: write coordinator, none, or the address and port of one that you run"
)]
pub struct GatewayError(String);

impl FromStr for Gateway {
    type Err = GatewayError;

    fn from_str(text: &str) -> Result<Self, GatewayError> {
        match text {
            "coordinator" => Ok(Self::Coordinator),
            "none" => Ok(Self::None),
            address => address
                .parse()
                .map(Self::At)
                .map_err(|_| GatewayError(text.to_owned())),
        }
    }
}

impl Serialize for Gateway {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gateway {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What is wanted beside the nodes of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackRequest {
    /// What clients come through.
    pub gateway: Gateway,
    /// Parts, in the order in which they start.
    pub parts: Vec<Part>,
    /// A jar of Reaper of the person's, instead of the one that Maven has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaper_jar: Option<String>,
    /// Where backups are, with local storage: in the stack's own folder where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backups: Option<String>,
}

impl StackRequest {
    /// These parts behind a gateway; `s3` adds storage by the protocol of S3 where there are backups.
    pub fn new(gateway: Gateway, extras: &[Extra], s3: bool) -> Self {
        let chosen = |part: &Part| {
            let of_one = extras.iter().any(|extra| extra.parts().contains(part));
            of_one && (*part != Part::Moto || s3)
        };
        Self {
            gateway,
            parts: Part::ALL.into_iter().filter(chosen).collect(),
            reaper_jar: None,
            backups: None,
        }
    }

    /// Whether it has a part.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

/// A stack as it is kept beside its cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// `helenus.stack/1`.
    pub format: Format,
    /// The cluster.
    pub cluster: String,
    /// Address of all parts: the first node's, on ports that Cassandra does not use.
    pub address: Ipv4Addr,
    /// What was asked for.
    #[serde(flatten)]
    pub request: StackRequest,
}

impl Stack {
    /// What is wanted, beside this cluster.
    pub fn new(cluster: &str, address: Ipv4Addr, request: StackRequest) -> Self {
        Self {
            format: Format::new("stack", STACK_VERSION),
            cluster: cluster.to_owned(),
            address,
            request,
        }
    }

    /// Whether it has a part.
    pub fn has(&self, part: Part) -> bool {
        self.request.has(part)
    }

    /// Where a part listens.
    pub fn at(&self, part: Part) -> Option<SocketAddr> {
        part.port()
            .map(|port| SocketAddr::from((self.address, port)))
    }

    /// The page of a part.
    pub fn url(&self, part: Part) -> Option<String> {
        let (at, page) = (self.at(part)?, part.page()?);
        Some(format!("http://{at}{page}"))
    }

    /// The dashboard, which Prometheus serves.
    pub fn dashboard(&self) -> Option<String> {
        let at = self
            .at(Part::Prometheus)
            .filter(|_| self.has(Part::Prometheus))?;
        Some(format!("http://{at}/consoles/{}", page::FILE))
    }

    /// How Medusa stores.
    pub fn storage(&self, own_folder: &str) -> Storage {
        match self.at(Part::Moto).filter(|_| self.has(Part::Moto)) {
            Some(at) => Storage::S3(at),
            None => Storage::Local(
                self.request
                    .backups
                    .clone()
                    .unwrap_or_else(|| own_folder.to_owned()),
            ),
        }
    }
}
