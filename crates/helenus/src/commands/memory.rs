//! Memory as `up --dry-run` and `list` print it: planned by kind, measured by kind, limited by what.
//! Refuses to add kinds that a person must see apart.

use crate::ui::Table;
use helenus_cluster::limits::Limits;
use helenus_cluster::machine;
use helenus_model::memory::{LimitPlan, MemoryPlan};
use helenus_model::plan::ClusterPlan;
use helenus_model::release::Release;
use helenus_model::sizing::blank_heap;
use helenus_model::smaps::MemoryByKind;
use helenus_model::units::Bytes;

/// A plan's memory in two or three lines, and what Cassandra would have taken by itself.
pub(crate) fn plan_text(plan: &ClusterPlan) -> String {
    let Some(memory) = plan.memory else {
        return String::new();
    };
    let nodes = plan.nodes.len();
    let mut text = format!(
        "memory of each node: {} planned: {}\n",
        memory.total(),
        kinds(&memory)
    );
    for node in &plan.nodes {
        if let Some(own) = node.own {
            let (name, own) = (&node.name, own.memory);
            let line = format!(
                "memory of {name}: {} planned: {}\n",
                own.total(),
                kinds(&own)
            );
            text.push_str(&line);
        }
    }
    if nodes > 1 {
        text.push_str(&format!("memory of all {nodes} nodes: {}\n", total(plan)));
    }
    if let Some(limits) = plan.limits {
        text.push_str(&format!("limits of each node: {}\n", asked(&limits)));
    }
    let ram = machine::read().memory;
    let release = Release::facts_for(&plan.release).unwrap_or(Release::newest());
    text.push_str(&format!(
        "heap: {}; unset, Cassandra would take {} for each node, whatever else runs\n",
        plan.heap.heap,
        blank_heap(release, ram).0
    ));
    text
}

/// What all nodes of a plan are planned to come to.
pub(crate) fn total(plan: &ClusterPlan) -> Bytes {
    let of = plan.nodes.iter().filter_map(|node| plan.memory_of(node));
    Bytes(of.map(|memory| memory.total().0).sum())
}

fn kinds(memory: &MemoryPlan) -> String {
    let kinds = [
        ("heap", memory.heap),
        ("direct", memory.direct),
        ("metaspace", memory.metaspace),
        ("code", memory.code),
        ("threads", memory.threads),
        ("jvm", memory.jvm),
        ("archive", memory.archive),
        ("files", memory.files),
    ];
    // Few nodes have one.
    let disk = Some(("disk", memory.disk)).filter(|(_, size)| *size > Bytes(0));
    let parts: Vec<String> = kinds
        .iter()
        .chain(&disk)
        .map(|(name, size)| format!("{name} {size}"))
        .collect();
    parts.join(", ")
}

fn asked(limits: &LimitPlan) -> String {
    let mut parts = Vec::new();
    if let Some(memory) = limits.memory {
        parts.push(format!("memory {memory} with its page cache"));
    }
    if let Some(cpus) = limits.cpus {
        parts.push(format!("{cpus} processors"));
    }
    if let Some(disk) = limits.disk {
        parts.push(format!("disk {disk}"));
    }
    if limits.equal_shares {
        parts.push("equal shares of the processors".to_owned());
    }
    parts.join(", ")
}

/// The speed of a cluster's disk as it holds for each node, a line; nothing where it is not limited.
pub(crate) fn disk_text(cluster: &str, limits: Option<&Limits>) -> String {
    let held = limits.and_then(|limits| Some((limits.disk.as_ref()?, limits.by?)));
    held.map_or_else(String::new, |(disk, by)| {
        format!("\ndisk of each node of {cluster}: {}\n", disk.line(by))
    })
}

/// How the limits of a node hold, in a word or two.
pub(crate) fn held(limits: Option<&Limits>, node: &str) -> String {
    match limits {
        None => "none".into(),
        Some(limits) if limits.by.is_some() => limits
            .memory_of(node)
            .map_or_else(|| "none".into(), |memory| memory.to_string()),
        Some(_) => "not enforced".into(),
    }
}

/// Heads of the table of kinds; with disks in memory where a node has one.
pub(crate) fn kinds_table(disks: bool) -> Table {
    let mut heads = vec![
        "node",
        "",
        ">heap",
        ">metaspace",
        ">code",
        ">threads",
        ">archive",
        ">native",
        ">anon",
        ">files",
    ];
    heads.extend(disks.then_some(">disk"));
    heads.push(">limit");
    Table::new(&heads)
}

/// Two rows of that table: planned and measured; `used` is what is on its disk, where the table has disks.
pub(crate) fn kinds_rows(
    table: &mut Table,
    node: &str,
    planned: Option<&MemoryPlan>,
    measured: Option<&MemoryByKind>,
    used: Option<Bytes>,
    limit: &str,
) {
    if let Some(plan) = planned {
        let native = plan.direct + plan.jvm;
        let sizes = [
            plan.heap,
            plan.metaspace,
            plan.code,
            plan.threads,
            plan.archive,
            native,
            plan.anonymous(),
            plan.files,
        ];
        row(
            table,
            (node, "planned"),
            sizes,
            used.map(|_| plan.disk),
            limit,
        );
    }
    if let Some(kinds) = measured {
        let sizes = [
            kinds.heap,
            kinds.metaspace,
            kinds.code,
            kinds.threads,
            kinds.archive,
            kinds.native,
            kinds.anonymous(),
            kinds.files,
        ];
        let name = if planned.is_some() { "" } else { node };
        row(table, (name, "measured"), sizes, used, "");
    }
}

fn row(
    table: &mut Table,
    (node, what): (&str, &str),
    sizes: [Bytes; 8],
    disk: Option<Bytes>,
    limit: &str,
) {
    let mut cells = vec![node.to_owned(), what.to_owned()];
    cells.extend(sizes.iter().chain(&disk).map(Bytes::to_string));
    cells.push(limit.to_owned());
    table.row(cells);
}
