//! `helenus machine`: a machine as it is, as it was saved, or as it is described.

use crate::cli::machine::Machine;
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::{jdk, machine};
use helenus_cql::input;
use helenus_model::machine::{
    DescribeError, Disk, KNOWN, Limit, NetworkCard, NumaNode, Snapshot, describe, known, parse,
};
use helenus_model::nearest::nearest;
use helenus_model::units::Bytes;
use std::path::Path;

impl Answers for Snapshot {
    fn answer(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("{name}: "));
        name.unwrap_or_default() + &describe(self)
    }
}

pub(crate) fn run(flags: &Machine, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let snapshot = from(flags.from.as_deref(), context)?;
    if let Some(file) = &flags.save {
        outfile::write(file, toml(snapshot.to_toml())?.as_bytes())?;
        if !outfile::is_output(file) {
            ui.note(&format!("saved as {}", file.display()));
        }
    }
    if flags.save.as_deref().is_some_and(outfile::is_output) {
        return Ok(0);
    }
    ui.result(&snapshot, || text(&snapshot));
    Ok(0)
}

/// A value as TOML; ours have nothing that TOML cannot hold but numbers beyond 2^63.
pub(super) fn toml(
    written: Result<String, impl std::error::Error + 'static>,
) -> Result<String, CommandError> {
    written.map_err(|e| CommandError::of(code::USAGE, &e))
}

/// This machine, or another: a file, a known name, or a description.
pub(super) fn from(from: Option<&str>, context: &Context) -> Result<Snapshot, CommandError> {
    let Some(from) = from else {
        let found = jdk::find(&context.env);
        let jdks: Vec<_> = found.into_iter().map(|found| found.jdk).collect();
        let snapshot = machine::snapshot(&context.env.root, &jdks);
        if snapshot.processors.logical == 0 || snapshot.memory.total == Bytes(0) {
            let text = "the kernel reports neither processors nor memory";
            return Err(CommandError::new(code::ENVIRONMENT, text)
                .hint("mount /proc and /sys, or name a machine with --from".to_owned()));
        }
        return Ok(snapshot);
    };
    let path = Path::new(from);
    if path.exists() || from.contains('/') || from.ends_with(".toml") {
        let text = input::text(path)?;
        return Snapshot::parse(&text)
            .map_err(|e| CommandError::from(e).within(&path.display().to_string()));
    }
    if let Some(known) = known(from) {
        return Ok(known?);
    }
    parse(from).map_err(|error| undescribed(from, &error))
}

/// A description that is none may be a mistyped name.
fn undescribed(text: &str, error: &DescribeError) -> CommandError {
    let names = KNOWN.iter().map(|(name, _)| *name);
    if !text.contains([' ', ',']) {
        let hint = match nearest(text, names.clone()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!(
                "known: {}; or name a file, or describe the machine: '8 cores, 32 GB, 1 NVMe'",
                names.collect::<Vec<_>>().join(", ")
            ),
        };
        let what = format!("no such machine: {text}");
        return CommandError::new(code::USAGE, what).hint(hint);
    }
    CommandError::of(code::USAGE, error).hint(error.hint())
}

/// What is known, or a dash.
fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

fn text(machine: &Snapshot) -> String {
    let mut text = format!("{}\n", machine.answer());
    let mut table = Table::new(&["", ""]);
    for (what, found) in facts(machine) {
        if !found.is_empty() {
            table.row([what.to_owned(), found]);
        }
    }
    text.push_str(&table.render());
    let parts = [
        of_numa(&machine.numa),
        of_disks(&machine.disks),
        of_networks(&machine.networks),
    ];
    for part in parts.into_iter().flatten() {
        text.push_str(&format!("\n{}", part.render()));
    }
    if !machine.kernel.sysctl.is_empty() {
        let mut table = Table::new(&["kernel setting", "value"]);
        for (name, value) in &machine.kernel.sysctl {
            table.row([name, value]);
        }
        text.push_str(&format!("\n{}", table.render()));
    }
    text
}

/// Words that are known, with commas.
fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let known: Vec<String> = parts.into_iter().flatten().collect();
    known.join(", ")
}

fn facts(machine: &Snapshot) -> Vec<(&'static str, String)> {
    let (p, m, k) = (&machine.processors, &machine.memory, &machine.kernel);
    let platform = &machine.platform;
    let words = |what: &str, list: &[String]| {
        (!list.is_empty()).then(|| format!("{what} {}", list.join(" and ")))
    };
    let text = |what: &str, value: &Option<String>| value.as_ref().map(|v| format!("{what} {v}"));
    let clusters = machine.clusters_per_socket().filter(|n| *n > 1);
    let limit = |name: &str| {
        let found: Option<&Limit> = machine.limits.get(name);
        found.map(|limit| match limit.soft == limit.hard {
            true => format!("{name} {}", limit.soft),
            false => format!("{name} {} (up to {})", limit.soft, limit.hard),
        })
    };
    let virtualisation = platform.virtualisation.as_deref().map(|kind| match kind {
        "none" => "bare metal".to_owned(),
        "unknown" => "virtual".to_owned(),
        kind => format!("virtual ({kind})"),
    });
    let cgroup = machine.cgroup.as_ref();
    let jdks = machine.jdks.iter().map(|java| {
        let version = java.version.clone();
        Some(version.unwrap_or_else(|| java.feature.to_string()))
    });
    vec![
        (
            "processors",
            joined([
                p.model.clone(),
                machine.arch.clone(),
                Some(format!("{} logical", p.logical)),
                p.usable.as_ref().map(|cpus| format!("may use {cpus}")),
                clusters.map(|n| format!("{n} NUMA nodes a socket")),
                words("governor", &p.governors),
                words("energy bias", &p.energy_bias),
            ]),
        ),
        (
            "memory",
            joined([
                Some(m.total.to_string()),
                m.swap.map(|swap| match swap.0 {
                    0 => "no swap".to_owned(),
                    _ => format!("swap {swap}"),
                }),
                m.huge_pages.map(|n| match m.huge_page {
                    Some(size) => format!("{n} huge pages of {size}"),
                    None => format!("{n} huge pages"),
                }),
                text("transparent huge pages", &m.transparent),
                text("defrag", &m.defrag),
            ]),
        ),
        (
            "kernel",
            joined([
                text("Linux", &k.release),
                k.distribution.clone(),
                text("clock", &k.clock_source),
                k.clock_kept.map(|_| "kept by a time service".to_owned()),
            ]),
        ),
        (
            "platform",
            joined([
                virtualisation,
                platform
                    .container
                    .filter(|is| *is)
                    .map(|_| "in a container".to_owned()),
                text("cloud", &platform.cloud),
                platform.cloud_type.clone(),
                platform.product.clone(),
                text("firmware", &platform.firmware),
            ]),
        ),
        (
            "control group",
            joined([
                cgroup.and_then(|group| Some(format!("memory {}", group.memory?))),
                cgroup.and_then(|group| Some(format!("{} processors", group.cpus?))),
            ]),
        ),
        (
            "limits",
            joined(["nofile", "memlock", "nproc", "as"].map(limit)),
        ),
        ("JDKs", joined(jdks)),
    ]
}

fn of_numa(nodes: &[NumaNode]) -> Option<Table> {
    let mut table = Table::new(&[
        "NUMA node",
        "processors",
        ">memory",
        ">huge pages",
        "distances",
    ]);
    for node in nodes {
        let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
        table.row([
            node.id.to_string(),
            node.cpus.to_string(),
            or_dash(node.memory),
            or_dash(node.huge_pages),
            distances.join(" "),
        ]);
    }
    (!nodes.is_empty()).then_some(table)
}

fn of_disks(disks: &[Disk]) -> Option<Table> {
    let mut table = Table::new(&[
        "disk",
        ">size",
        "turns",
        "scheduler",
        ">read-ahead",
        ">queue",
        ">node",
        "mounted",
        "model",
    ]);
    for disk in disks {
        let mounts = disk.mounts.iter();
        let mounts: Vec<String> = mounts
            .map(|mount| {
                let options = mount.options.join(",");
                format!("{} ({} {options})", mount.point, mount.file_system).replace(" )", ")")
            })
            .collect();
        table.row([
            disk.name.clone(),
            or_dash(disk.size),
            or_dash(
                disk.rotational
                    .map(|turns| if turns { "yes" } else { "no" }),
            ),
            or_dash(disk.scheduler.as_ref()),
            or_dash(disk.read_ahead_kib.map(|kib| format!("{kib} KiB"))),
            or_dash(disk.queue),
            or_dash(disk.numa),
            mounts.join(", "),
            disk.model.clone().unwrap_or_default(),
        ]);
    }
    (!disks.is_empty()).then_some(table)
}

fn of_networks(cards: &[NetworkCard]) -> Option<Table> {
    let mut table = Table::new(&["network", "up", ">speed", ">MTU", ">node", "addresses"]);
    for card in cards {
        table.row([
            card.name.clone(),
            or_dash(card.up.map(|up| if up { "yes" } else { "no" })),
            or_dash(card.speed_mbit.map(|speed| format!("{speed} Mbit/s"))),
            or_dash(card.mtu),
            or_dash(card.numa),
            card.addresses.join(", "),
        ]);
    }
    (!cards.is_empty()).then_some(table)
}
