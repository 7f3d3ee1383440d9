//! What a machine's settings should be under Cassandra in production, held against a snapshot of it.
//! Refuses to judge what is not known: a value that is absent is no finding.

mod items;
mod script;
#[cfg(test)]
mod tests;

pub use items::{ITEMS, Item, Severity};
pub use script::{role, script, unit};

use crate::machine::{Disk, Kernel, Mount, NetworkCard, Snapshot};
use crate::nearest::nearest;
use crate::sizing::CPUS_MOST;
use items::Rule;
use serde::Serialize;

/// Speed of a link below which streams fill it, in Mbit/s: the guide's least.
const LINK_LEAST_MBIT: u64 = 10_000;

/// What makes a setting right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cure {
    /// A value for a file of the kernel, below the root; a `*` in it stands for every file of that form.
    Kernel {
        /// The file, such as `proc/sys/vm/swappiness`.
        file: String,
        /// What is written into it.
        value: String,
    },
    /// A limit of `limits.conf` for all users, by its name there.
    Limit {
        /// Such as `nofile`.
        name: String,
        /// Its value.
        value: String,
    },
    /// All swap is taken out of use.
    SwapOff,
    /// What a person has to do.
    ByHand(String),
}

/// A setting that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The item's name, such as `read-ahead`.
    pub item: &'static str,
    /// The device that it is about; absent where it is about the machine.
    pub on: Option<String>,
    /// Whether it passes: it has a value that is wanted.
    pub good: bool,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// What it should be.
    pub wanted: String,
    /// Why.
    pub why: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// The gain that the source promises.
    pub promised: Option<&'static str>,
    /// The gain that Helenus measured, with its interval and page.
    pub measured: Option<String>,
    /// What makes it right.
    pub cure: Cure,
}

impl Check {
    /// The item, with its device.
    pub fn name(&self) -> String {
        match &self.on {
            Some(on) => format!("{} of {on}", self.item),
            None => self.item.to_owned(),
        }
    }
}

/// Looks at every item that is known of the machine, the most severe first.
pub fn checks(machine: &Snapshot) -> Vec<Check> {
    let mut checks: Vec<Check> = ITEMS.iter().flat_map(|item| item.checks(machine)).collect();
    checks.sort_by_key(|check| check.severity);
    checks
}

/// The items of these names; all where none are named.
///
/// # Errors
/// A name that is none, and a hint with the nearest one.
pub fn named(names: &[String]) -> Result<Vec<&'static Item>, (String, String)> {
    if names.is_empty() {
        return Ok(ITEMS.iter().collect());
    }
    let find = |name: &String| {
        let found = ITEMS.iter().find(|item| item.name == name);
        found.ok_or_else(|| {
            let known = ITEMS.iter().map(|item| item.name);
            let hint = match nearest(name, known) {
                Some(near) => format!("did you mean {near}?"),
                None => "`helenus doctor --production --format json` lists all".to_owned(),
            };
            (format!("no item {name}"), hint)
        })
    };
    names.iter().map(find).collect()
}

/// What an item is on a machine, before it is judged as a check.
struct Found {
    on: Option<String>,
    found: String,
    good: bool,
}

impl Found {
    /// About the whole machine.
    fn here(found: impl Into<String>, good: bool) -> Self {
        Self {
            on: None,
            found: found.into(),
            good,
        }
    }

    /// About a device or a place.
    fn on(on: &str, found: impl Into<String>, good: bool) -> Self {
        Self {
            on: Some(on.to_owned()),
            ..Self::here(found, good)
        }
    }
}

impl Item {
    fn checks(&self, machine: &Snapshot) -> impl Iterator<Item = Check> {
        let found = self.found(machine).into_iter();
        found.map(|Found { on, found, good }| Check {
            item: self.name,
            good,
            severity: self.severity,
            found,
            wanted: self.wanted.to_owned(),
            why: self.why,
            source: self.source,
            promised: self.promised,
            measured: self.measured.map(|measured| measured.text()),
            cure: self.cure(on.as_deref()),
            on,
        })
    }

    /// What makes it right, on a device where it is about one.
    fn cure(&self, on: Option<&str>) -> Cure {
        let on = on.unwrap_or_default();
        let file = match self.rule {
            Rule::Limit(name) => {
                return Cure::Limit {
                    name: name.to_owned(),
                    value: self.wanted.to_owned(),
                };
            }
            Rule::Swap => return Cure::SwapOff,
            Rule::Sysctl(name, _) => format!("proc/sys/{}", name.replace('.', "/")),
            Rule::Defrag => "sys/kernel/mm/transparent_hugepage/defrag".to_owned(),
            Rule::ClockSource => {
                "sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned()
            }
            Rule::Governor => "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor".to_owned(),
            Rule::EnergyBias => "sys/devices/system/cpu/cpu*/power/energy_perf_bias".to_owned(),
            Rule::Scheduler => format!("sys/block/{on}/queue/scheduler"),
            Rule::Rotational => format!("sys/block/{on}/queue/rotational"),
            Rule::ReadAhead => format!("sys/block/{on}/queue/read_ahead_kb"),
            Rule::MountOption => {
                let text = format!("`mount -o remount,noatime {on}`, and the same in /etc/fstab");
                return Cure::ByHand(text);
            }
            Rule::ClockKept | Rule::Smt | Rule::SubNuma | Rule::FileSystem | Rule::LinkSpeed => {
                return Cure::ByHand(self.by_hand.to_owned());
            }
        };
        Cure::Kernel {
            file,
            value: self.wanted.to_owned(),
        }
    }

    /// What is known of it on the machine.
    fn found(&self, machine: &Snapshot) -> Vec<Found> {
        let wanted = self.wanted;
        let platform = machine.platform.virtualisation.as_deref();
        let is_bare = platform == Some("none");
        let flash = || machine.disks.iter().filter(|disk| is_flash(disk));
        let mounts = || {
            let mounts = machine.disks.iter().flat_map(|disk| &disk.mounts);
            mounts.filter(|mount| !mount.point.starts_with("/boot"))
        };
        let every = |values: &[String], good: &dyn Fn(&str) -> bool| {
            let all = values.iter().all(|value| good(value));
            (!values.is_empty()).then(|| Found::here(values.join(", "), all))
        };
        let one = match self.rule {
            Rule::Sysctl(name, compare) => {
                let found = machine.kernel.sysctl.get(name);
                found.map(|found| Found::here(found, compare.holds(found, wanted)))
            }
            Rule::Limit(name) => {
                let limit = machine.limits.get(name);
                limit.map(|limit| Found::here(&limit.soft, reaches(&limit.soft, wanted)))
            }
            Rule::Swap => {
                let swap = machine.memory.swap;
                swap.map(|swap| Found::here(swap.to_string(), swap.0 == 0))
            }
            Rule::Defrag => {
                let found = machine.memory.defrag.as_ref();
                found.map(|found| Found::here(found, found == wanted))
            }
            Rule::ClockSource => {
                let Kernel {
                    clock_source,
                    clock_sources,
                    ..
                } = &machine.kernel;
                let can = clock_sources.iter().any(|source| source == wanted);
                let found = clock_source.as_ref();
                found.map(|found| Found::here(found, found == wanted || !can))
            }
            Rule::ClockKept => {
                let text = |kept| if kept { "kept" } else { "not kept" };
                let kept = machine.kernel.clock_kept;
                kept.map(|kept| Found::here(text(kept), kept))
            }
            Rule::Governor => every(&machine.processors.governors, &|value| value == wanted),
            Rule::EnergyBias => every(&machine.processors.energy_bias, &|value| {
                value == wanted || value == "performance"
            }),
            Rule::Smt => {
                // A virtual machine does not see its host's threads.
                let can = machine.arch.as_deref() == Some("x86_64")
                    && platform.is_none_or(|kind| kind == "none");
                let text = |on| if on { "on" } else { "off" };
                let smt = machine.processors.smt.filter(|_| can);
                smt.map(|on| Found::here(text(on), on))
            }
            Rule::SubNuma => {
                let large = machine.processors.logical > CPUS_MOST;
                let clusters = machine.clusters_per_socket();
                let clusters = clusters.filter(|_| is_bare && large);
                clusters.map(|n| Found::here(format!("{n} NUMA nodes a socket"), n > 1))
            }
            Rule::Scheduler => {
                let of = |disk: &Disk| {
                    let can = disk.schedulers.iter().any(|s| s == wanted);
                    let found = disk.scheduler.as_ref()?;
                    Some(Found::on(&disk.name, found, found == wanted || !can))
                };
                return flash().filter_map(of).collect();
            }
            Rule::Rotational => {
                let of = |disk: &Disk| {
                    let turns = disk.rotational?;
                    Some(Found::on(&disk.name, u8::from(turns).to_string(), !turns))
                };
                return flash().filter_map(of).collect();
            }
            Rule::ReadAhead => {
                let of = |disk: &Disk| {
                    let kib = disk.read_ahead_kib?.to_string();
                    let good = reaches(wanted, &kib);
                    Some(Found::on(&disk.name, kib, good))
                };
                return flash().filter_map(of).collect();
            }
            Rule::MountOption => {
                let of = |mount: &Mount| {
                    let is_set = |name: &&str| mount.options.iter().any(|option| option == name);
                    let found = ["noatime", "relatime"].into_iter().find(is_set);
                    Found::on(
                        &mount.point,
                        found.unwrap_or("strictatime"),
                        found.is_some(),
                    )
                };
                return mounts().map(of).collect();
            }
            Rule::FileSystem => {
                let of = |mount: &Mount| {
                    let good = matches!(mount.file_system.as_str(), "xfs" | "ext4");
                    Found::on(&mount.point, &mount.file_system, good)
                };
                return mounts().map(of).collect();
            }
            Rule::LinkSpeed => {
                let of = |card: &NetworkCard| {
                    let speed = card
                        .speed_mbit
                        .filter(|_| is_bare && card.up == Some(true))?;
                    let found = format!("{speed} Mbit/s");
                    Some(Found::on(&card.name, found, speed >= LINK_LEAST_MBIT))
                };
                return machine.networks.iter().filter_map(of).collect();
            }
        };
        one.into_iter().collect()
    }
}

/// Whether a disk has no head to move; what a virtual disk says about that is its host's guess.
fn is_flash(disk: &Disk) -> bool {
    let is_virtual = ["vd", "xvd"]
        .iter()
        .any(|start| disk.name.starts_with(start));
    disk.is_nvme() || is_virtual || disk.rotational == Some(false)
}

/// Whether a number, or `unlimited`, is at least another one.
fn reaches(found: &str, wanted: &str) -> bool {
    let value = |text: &str| match text {
        "unlimited" => Some(u64::MAX),
        text => text.parse::<u64>().ok(),
    };
    value(found).zip(value(wanted)).is_some_and(|(f, w)| f >= w)
}
