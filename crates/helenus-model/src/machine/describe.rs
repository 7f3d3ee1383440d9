//! Machines in a few words: `2 sockets × 64 cores, SMT, 6 NUMA nodes, 1.5 TB, 8 NVMe`.
//! Refuses words that it does not know, and machines that cannot be.

use super::{Cpus, Disk, Java, NetworkCard, NumaNode, Snapshot};
use crate::nearest::nearest;
use crate::units::{Bytes, plural};

/// Why a description is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DescribeError {
    /// Words that mean nothing here.
    #[error("{part:?} does not describe a machine")]
    Part {
        /// The words.
        part: String,
        /// The known word nearest to one of them.
        near: Option<&'static str>,
    },
    /// Something that every machine has is missing.
    #[error("the description does not state {what}")]
    Missing {
        /// What.
        what: &'static str,
        /// How it is written.
        example: &'static str,
    },
    /// The parts do not fit together.
    #[error("{what}")]
    Unfit {
        /// What does not fit.
        what: String,
        /// What to write.
        cure: &'static str,
    },
}

impl DescribeError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Part {
                near: Some(near), ..
            } => format!("did you mean {near}?"),
            Self::Part { .. } => format!("write parts such as: {EXAMPLE}"),
            Self::Missing { example, .. } => format!("add it, such as: {example}"),
            Self::Unfit { cure, .. } => (*cure).to_owned(),
        }
    }
}

const EXAMPLE: &str =
    "2 sockets x 64 cores, SMT, 6 NUMA nodes, 1.5 TB, 8 x 3.5 TB NVMe, 25 Gbit, aarch64, JDK 17";

/// Words by which a mistyped one is recognised.
const WORDS: &[&str] = &[
    "sockets",
    "cores",
    "processors",
    "SMT",
    "NUMA",
    "nodes",
    "SNC",
    "memory",
    "NVMe",
    "SSD",
    "HDD",
    "Gbit",
    "JDK",
    "x86_64",
    "aarch64",
    "TB",
    "GB",
];

/// Logical processors of no machine that there is.
const MOST: u32 = 1 << 15;

/// What the parts said.
#[derive(Default)]
struct Said {
    sockets: Option<u32>,
    cores_each: Option<u32>,
    cores: Option<u32>,
    logical: Option<u32>,
    smt: Option<bool>,
    nodes: Option<u32>,
    clusters: Option<u32>,
    memory: Option<Bytes>,
    arch: Option<&'static str>,
    disks: Vec<(u32, Option<Bytes>, &'static str)>,
    networks: Vec<(u32, u64)>,
    jdks: Vec<u32>,
}

/// Reads a description. Disks in it carry no system, and processors are numbered as Linux usually does: first threads
/// of all cores first.
///
/// # Errors
/// Unknown words, missing processors or memory, or counts that do not fit together.
pub fn parse(text: &str) -> Result<Snapshot, DescribeError> {
    let mut said = Said::default();
    for part in text.split([',', ';']).map(str::trim) {
        if !part.is_empty() && said.part(part).is_none() {
            let mut words = part.split(|c: char| !c.is_alphanumeric() && c != '_');
            return Err(DescribeError::Part {
                part: part.to_owned(),
                near: words.find_map(|word| {
                    let known = WORDS.iter().any(|k| k.eq_ignore_ascii_case(word));
                    let long = word.len() > 2 && !known;
                    long.then(|| nearest(word, WORDS.iter().copied())).flatten()
                }),
            });
        }
    }
    said.machine()
}

/// Words of a part in lower case: `2x64cores` is `2 x 64 cores`.
fn words(part: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut last = ' ';
    for c in part.chars() {
        let c = if matches!(c, '×' | '*') { 'x' } else { c };
        let number = |c: char| c.is_ascii_digit() || c == '.';
        let edge = number(last) != number(c) || (last == 'x' && !c.is_alphabetic());
        if edge && !c.is_whitespace() && !last.is_whitespace() {
            spaced.push(' ');
        }
        spaced.push(c.to_ascii_lowercase());
        last = c;
    }
    let plural = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    spaced.split_whitespace().map(plural).collect()
}

fn count(word: &str) -> Option<u32> {
    word.parse().ok().filter(|n| (1..=8192).contains(n))
}

/// A size in binary units, as memory is sold and as `lsblk` prints disks.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded, and above zero"
)]
fn size(number: &str, unit: &str) -> Option<Bytes> {
    let shift = match unit {
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    let bytes = number * f64::from(1_u32 << (shift - 20)) * f64::from(1 << 20);
    (1.0..9e17).contains(&bytes).then_some(Bytes(bytes as u64))
}

fn kind(word: &str) -> Option<&'static str> {
    Some(match word {
        "nvme" => "nvme",
        "ssd" | "sata" => "ssd",
        "hdd" => "hdd",
        _ => return None,
    })
}

impl Said {
    /// Takes one part; none where it is not understood.
    fn part(&mut self, part: &str) -> Option<()> {
        self.arch = match part.to_ascii_lowercase().as_str() {
            "x86_64" | "x86-64" | "amd64" => Some("x86_64"),
            "aarch64" | "arm64" | "arm" => Some("aarch64"),
            _ => return self.counted(part),
        };
        Some(())
    }

    fn counted(&mut self, part: &str) -> Option<()> {
        let words = words(part);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["smt" | "ht" | "hyperthreading" | "hyper-threading"] => self.smt = Some(true),
            ["no", "smt" | "ht"] => self.smt = Some(false),
            [n, "socket", "x", m, "core"] | [n, "x", m, "core"] => {
                self.sockets = Some(count(n)?);
                self.cores_each = Some(count(m)?);
            }
            [n, "socket"] => self.sockets = Some(count(n)?),
            [n, "core"] => self.cores = Some(count(n)?),
            [n, "processor" | "cpu" | "vcpu" | "thread" | "logical"]
            | [n, "logical", "processor" | "cpu"] => self.logical = Some(count(n)?),
            [n, "numa"] | [n, "numa", "node"] => self.nodes = Some(count(n)?),
            ["snc", n] => self.clusters = Some(count(n)?),
            [number, unit] | [number, unit, "memory" | "ram"] if size(number, unit).is_some() => {
                self.memory = size(number, unit);
            }
            [n, disk] if kind(disk).is_some() => self.disks.push((count(n)?, None, kind(disk)?)),
            [n, "x", number, unit, disk] => {
                let size = Some(size(number, unit)?);
                self.disks.push((count(n)?, size, kind(disk)?));
            }
            [number, unit, disk] if kind(disk).is_some() => {
                self.disks.push((1, Some(size(number, unit)?), kind(disk)?));
            }
            [n, "gbit" | "gbe" | "gbit/"] => self.networks.push((1, u64::from(count(n)?) * 1000)),
            [n, "x", speed, "gbit" | "gbe" | "gbit/"] => {
                let speed = u64::from(count(speed)?) * 1000;
                self.networks.push((count(n)?, speed));
            }
            ["jdk" | "java", n] => self.jdks.push(count(n)?),
            _ => return None,
        }
        Some(())
    }

    fn machine(self) -> Result<Snapshot, DescribeError> {
        let unfit = |what: String, cure| Err(DescribeError::Unfit { what, cure });
        let sockets = self.sockets.unwrap_or(1);
        let threads = if self.smt == Some(true) { 2 } else { 1 };
        let cores = match (self.cores_each, self.cores, self.logical) {
            (Some(each), None, None) => sockets * each,
            (None, Some(_), None) if sockets > 1 => {
                let what = format!("the cores may be those of one socket or of all {sockets}");
                return unfit(
                    what,
                    "write the cores of each socket, such as: 2 sockets x 64 cores",
                );
            }
            (None, Some(all), None) => all,
            (None, None, Some(logical)) if logical % (threads * sockets) == 0 => logical / threads,
            (None, None, Some(logical)) => {
                let what = format!(
                    "{logical} processors are not a whole number of cores: {threads} threads each, sockets: {sockets}"
                );
                return unfit(
                    what,
                    "write the cores of each socket, such as: 2 sockets x 64 cores, SMT",
                );
            }
            (None, None, None) => {
                return Err(DescribeError::Missing {
                    what: "how many processors there are",
                    example: "2 sockets x 64 cores, or 16 processors",
                });
            }
            _ => {
                let what = "the processors are counted twice".to_owned();
                return unfit(what, "write either cores or processors");
            }
        };
        let Some(memory) = self.memory else {
            return Err(DescribeError::Missing {
                what: "how much memory there is",
                example: "64 GB",
            });
        };
        if cores > MOST / threads {
            let what = format!("{cores} cores are more than any machine has");
            return unfit(
                what,
                "write the cores of each socket, such as: 2 sockets x 64 cores",
            );
        }
        let nodes = self.nodes.unwrap_or(sockets * self.clusters.unwrap_or(1));
        if !nodes.is_multiple_of(sockets) || nodes > cores {
            let what = format!("{nodes} NUMA nodes in {sockets} sockets with {cores} cores");
            return unfit(
                what,
                "each socket has equally many NUMA nodes, and each node a core",
            );
        }
        let mut machine = Snapshot::of(cores * threads, memory);
        machine.processors.cores = Some(cores);
        machine.processors.sockets = Some(sockets);
        machine.processors.smt = self.smt;
        machine.arch = self.arch.map(str::to_owned);
        machine.numa = numa(sockets, nodes, cores, threads, memory);
        machine.disks = disks(&self.disks);
        let cards = self.networks.iter();
        let cards = cards.flat_map(|(n, speed)| std::iter::repeat_n(*speed, *n as usize));
        machine.networks = cards
            .enumerate()
            .map(|(k, speed)| NetworkCard {
                name: format!("eth{k}"),
                speed_mbit: Some(speed),
                ..NetworkCard::default()
            })
            .collect();
        let java = |feature| Java {
            feature,
            ..Java::default()
        };
        machine.jdks = self.jdks.into_iter().map(java).collect();
        Ok(machine)
    }
}

/// Nodes with their cores, as equally many as there can be, in the order of the sockets.
fn numa(sockets: u32, nodes: u32, cores: u32, threads: u32, memory: Bytes) -> Vec<NumaNode> {
    let (in_socket, each) = (nodes / sockets, cores / sockets);
    (0..nodes)
        .map(|id| {
            let (socket, k) = (id / in_socket, id % in_socket);
            // The first ones get what does not divide.
            let start = |k: u32| socket * each + k * (each / in_socket) + k.min(each % in_socket);
            let (first, end) = (start(k), start(k + 1));
            let second = Cpus::range(cores + first, cores + end);
            let all = Cpus::range(first, end);
            NumaNode {
                id,
                cpus: match threads {
                    1 => all,
                    _ => all.iter().chain(second.iter()).collect(),
                },
                second_threads: (threads > 1).then_some(second),
                memory: Some(Bytes(memory.0 / u64::from(nodes))),
                ..NumaNode::default()
            }
        })
        .collect()
}

fn disks(said: &[(u32, Option<Bytes>, &'static str)]) -> Vec<Disk> {
    let mut nvme = 0..;
    let mut letters = 'a'..='z';
    let mut all = Vec::new();
    for (n, size, kind) in said {
        for _ in 0..*n {
            let name = match *kind {
                "nvme" => format!("nvme{}n1", nvme.next().unwrap_or(0)),
                _ => format!("sd{}", letters.next().unwrap_or('z')),
            };
            all.push(Disk {
                name,
                size: *size,
                rotational: Some(*kind == "hdd"),
                ..Disk::default()
            });
        }
    }
    all
}

/// A machine in a few words, which [`parse`] reads.
pub fn describe(machine: &Snapshot) -> String {
    let processors = &machine.processors;
    let mut parts = Vec::new();
    match (processors.sockets, processors.cores) {
        (Some(sockets), Some(cores)) if sockets > 0 && cores % sockets == 0 => parts.push(format!(
            "{} × {}",
            plural(sockets as usize, "socket"),
            plural((cores / sockets) as usize, "core")
        )),
        _ => parts.push(plural(processors.logical as usize, "processor")),
    }
    match processors.smt {
        Some(true) => parts.push("SMT".to_owned()),
        Some(false) => parts.push("no SMT".to_owned()),
        None => {}
    }
    let nodes = machine.nodes().count();
    if nodes > 0 {
        parts.push(plural(nodes, "NUMA node"));
    }
    parts.push(machine.memory.total.to_string());
    for kind in ["NVMe", "SSD", "HDD"] {
        let alike = machine
            .disks
            .iter()
            .filter(|disk| disk.kind() == Some(kind));
        match alike.count() {
            0 => {}
            n => parts.push(format!("{n} {kind}")),
        }
    }
    parts.join(", ")
}
