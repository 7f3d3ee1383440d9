//! Reads disks and network interfaces below a root.
//! Refuses devices that are none: memory used as a disk, loops, interfaces without hardware or address.

use super::snapshot::Files;
use helenus_model::machine::{Disk, Mount, NetworkCard};
use helenus_model::units::Bytes;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Block devices that are no disks, by the beginning of their names.
const NO_DISKS: [&str; 8] = ["loop", "ram", "zram", "dm-", "sr", "fd", "nbd", "mtd"];

pub(super) fn disks(files: Files<'_>) -> Vec<Disk> {
    let mounts = files.text("proc/self/mountinfo").unwrap_or_default();
    let mut disks = Vec::new();
    for name in files.names("sys/block") {
        let at = |what: &str| format!("sys/block/{name}/{what}");
        let sectors = files.number(&at("size")).unwrap_or(0);
        if sectors == 0 || NO_DISKS.iter().any(|no| name.starts_with(no)) {
            continue;
        }
        let (scheduler, schedulers) = files.chosen(&at("queue/scheduler"));
        let node = files.text(&at("device/numa_node"));
        disks.push(Disk {
            model: files.text(&at("device/model")),
            size: Some(Bytes(sectors * 512)),
            rotational: files.number(&at("queue/rotational")).map(|n| n == 1),
            // A queue without a choice says `none` without brackets.
            scheduler: scheduler.or_else(|| files.text(&at("queue/scheduler"))),
            schedulers,
            read_ahead_kib: files.number(&at("queue/read_ahead_kb")),
            queue: files.number(&at("queue/nr_requests")),
            numa: node.and_then(|node| node.parse().ok()),
            mounts: mounts_of(files, &name, &mounts),
            name,
        });
    }
    disks
}

/// Numbers and names of a disk, of its partitions, and of what is made of them.
fn identities(files: Files<'_>, disk: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut folders = vec![format!("sys/block/{disk}")];
    let parts = files.names(&format!("sys/block/{disk}"));
    let parts = parts.iter().filter(|part| part.starts_with(disk));
    folders.extend(parts.map(|part| format!("sys/block/{disk}/{part}")));
    while let Some(folder) = folders.pop() {
        let name = folder.rsplit('/').next().unwrap_or_default();
        if !all.insert(name.to_owned()) {
            continue;
        }
        all.extend(files.text(&format!("{folder}/dev")));
        let made = files.names(&format!("{folder}/holders")).into_iter();
        folders.extend(made.map(|name| format!("sys/block/{name}")));
    }
    all
}

/// File systems of a disk: each once, where its root is mounted.
fn mounts_of(files: Files<'_>, disk: &str, mountinfo: &str) -> Vec<Mount> {
    let mine = identities(files, disk);
    let mut seen = BTreeSet::new();
    let found = mountinfo.lines().filter_map(|line| {
        let (own, rest) = line.split_once(" - ")?;
        let own: Vec<&str> = own.split(' ').collect();
        let mut rest = rest.split(' ');
        let (file_system, source, more) = (rest.next()?, rest.next()?, rest.next()?);
        let (number, root, point, options) = (*own.get(2)?, own.get(3)?, *own.get(4)?, own.get(5)?);
        let source = source.rsplit('/').next().unwrap_or_default();
        let is = mine.contains(number) || (file_system == "btrfs" && mine.contains(source));
        if !is || *root != "/" || !seen.insert(number) {
            return None;
        }
        let options: BTreeSet<&str> = options.split(',').chain(more.split(',')).collect();
        Some(Mount {
            point: point.replace("\\040", " "),
            file_system: file_system.to_owned(),
            options: options.into_iter().map(str::to_owned).collect(),
        })
    });
    found.collect()
}

pub(super) fn networks(files: Files<'_>) -> Vec<NetworkCard> {
    let local = local_addresses(files);
    let routes = routes(&files.text("proc/net/route").unwrap_or_default());
    let mut cards = Vec::new();
    for name in files.names("sys/class/net") {
        let at = |what: &str| format!("sys/class/net/{name}/{what}");
        let addresses: Vec<String> = local
            .iter()
            .filter_map(|address| {
                let nearest = routes
                    .iter()
                    .filter(|route| route.holds(*address))
                    .max_by_key(|route| route.prefix)?;
                let prefix = nearest.prefix;
                (nearest.interface == name).then(|| format!("{address}/{prefix}"))
            })
            .collect();
        let has = addresses.is_empty() && !files.is_there(&at("device"));
        if name == "lo" || has {
            continue;
        }
        cards.push(NetworkCard {
            // The kernel says -1 where it does not know.
            speed_mbit: files.number(&at("speed")).filter(|speed| *speed > 0),
            mtu: files.number(&at("mtu")),
            up: files
                .text(&at("operstate"))
                .and_then(|state| match &*state {
                    "up" => Some(true),
                    "down" => Some(false),
                    _ => None,
                }),
            numa: files
                .text(&at("device/numa_node"))
                .and_then(|node| node.parse().ok()),
            addresses,
            name,
        });
    }
    cards
}

/// Addresses of this machine outside of 127/8.
pub(super) fn local_addresses(files: Files<'_>) -> BTreeSet<Ipv4Addr> {
    let fib_trie = files.text("proc/net/fib_trie").unwrap_or_default();
    let mut last = None;
    let mut all = BTreeSet::new();
    for line in fib_trie.lines() {
        if let Some(address) = line.trim().strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line.contains("host LOCAL") {
            all.extend(last.filter(|address| !address.is_loopback()));
        }
    }
    all
}

struct Route {
    interface: String,
    network: u32,
    mask: u32,
    prefix: u32,
}

impl Route {
    fn holds(&self, address: Ipv4Addr) -> bool {
        self.prefix > 0 && u32::from(address) & self.mask == self.network
    }
}

/// Networks of the routing table; the kernel writes addresses with their bytes turned round.
fn routes(text: &str) -> Vec<Route> {
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let hex = |word: &str| u32::from_str_radix(word, 16).ok().map(u32::swap_bytes);
        let mask = hex(words.get(7)?)?;
        Some(Route {
            interface: (*words.first()?).to_owned(),
            network: hex(words.get(1)?)?,
            mask,
            prefix: mask.count_ones(),
        })
    };
    text.lines().skip(1).filter_map(of).collect()
}
