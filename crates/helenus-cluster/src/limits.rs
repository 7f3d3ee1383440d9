//! Hard limits of nodes, in control groups of the kernel: version 1, or a delegated subtree of version 2.
//! Refuses to pretend: what the system does not allow is reported, and recorded as not enforced.
//!
//! The folders are written down (`cgroups` in the cluster's folder, and its state) before they are made, so that
//! whatever is left can be removed without a readable state.

pub mod disk;

use self::disk::DiskHeld;
use crate::stored;
use fs_err as fs;
use helenus_model::memory::LimitPlan;
use helenus_model::plan::ClusterPlan;
use helenus_model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Which kind of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A tree for each controller.
    #[serde(rename = "cgroup v1")]
    V1,
    /// One tree.
    #[serde(rename = "cgroup v2")]
    V2,
}

impl Kind {
    /// Its name in sentences.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "cgroup v1",
            Self::V2 => "cgroup v2",
        }
    }
}

/// The limits of a cluster's nodes, as they really hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// By what; absent where nothing is enforced.
    pub by: Option<Kind>,
    /// Why nothing is enforced.
    pub not_enforced: Option<String>,
    /// Memory of each node with its page cache, where it is limited.
    pub memory_bytes: Option<Bytes>,
    /// The same of nodes with a preset of their own, in its place; null where such a node is not limited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_memory_bytes: BTreeMap<String, Option<Bytes>>,
    /// Processors of each node, where they are limited.
    pub cpus: Option<f64>,
    /// Speed of the disk for each node, where it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskHeld>,
    /// Whether each node weighs the same when processors are scarce.
    pub equal_shares: bool,
    /// Folders of each node's groups.
    pub groups: BTreeMap<String, Vec<PathBuf>>,
}

impl Limits {
    /// The limit of a node's memory.
    pub fn memory_of(&self, node: &str) -> Option<Bytes> {
        let own = self.own_memory_bytes.get(node).copied();
        own.unwrap_or(self.memory_bytes)
    }

    /// What of it belongs to a number that was measured: all but the folders.
    pub fn facts(&self) -> serde_json::Value {
        let mut facts = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = facts.as_object_mut() {
            fields.remove("groups");
        }
        facts
    }
}

/// Where groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    kind: Kind,
    /// Folder below which memory is limited.
    memory: Option<PathBuf>,
    /// Folder below which processors are; the same in version 2.
    cpu: Option<PathBuf>,
    /// Folder below which disks are; the same in version 2.
    disk: Option<PathBuf>,
}

impl Hierarchy {
    /// Its kind, and what it limits.
    pub fn line(&self) -> String {
        let what = match (&self.memory, &self.cpu) {
            (Some(_), Some(_)) => "memory and processors",
            (Some(_), None) => "memory",
            (None, Some(_)) => "processors",
            (None, None) => "disks",
        };
        format!("{} with {what}", self.kind.as_str())
    }
}

/// List of groups in a cluster's folder, one a line.
const GROUPS_FILE: &str = "cgroups";

/// Our folder in every tree.
const OURS: &str = "helenus";

/// Period of a processor quota, the kernel's own default.
const PERIOD_US: u64 = 100_000;

/// A node weighs as much as two busy threads of anybody's (version 1), or as one group (version 2).
const SHARES_V1: u64 = 2048;
/// The same in version 2's numbers.
const WEIGHT_V2: u64 = 100;
/// Most that version 2 takes.
const WEIGHT_V2_MOST: u64 = 10_000;

/// A v1 limit above this is none.
const UNLIMITED: u64 = 1 << 62;

/// Where groups can be made on the machine whose root is `root`.
///
/// # Errors
/// Nowhere, and why.
pub fn find(root: &Path) -> Result<Hierarchy, String> {
    let (v1, v2) = mounted(root);
    let own = read(&root.join("proc/self/cgroup"));
    let has_memory = |place: &PathBuf| words(&place.join("cgroup.controllers")).contains("memory");
    if let Some(place) = v2.filter(has_memory) {
        return delegated(&place, &own_group(&own, "")).map(|folder| Hierarchy {
            kind: Kind::V2,
            memory: Some(folder.clone()),
            disk: words(&folder.join("cgroup.controllers"))
                .contains("io")
                .then(|| folder.clone()),
            cpu: Some(folder),
        });
    }
    if v1.is_empty() {
        return Err("the kernel offers no control groups for memory here".into());
    }
    let of = |controller: &str| {
        let place = v1.get(controller)?;
        v1_base(place, &own_group(&own, controller))
    };
    let found = Hierarchy {
        kind: Kind::V1,
        memory: of("memory"),
        cpu: of("cpu"),
        // Limits of version 1 do not add up: nobody gets out of one by another.
        disk: of("blkio").filter(|_| {
            let place = v1.get("blkio");
            place.is_some_and(|p| !disk::is_throttled(&p.join(own_group(&own, "blkio"))))
        }),
    };
    if found.memory.is_none() && found.cpu.is_none() && found.disk.is_none() {
        return Err("control groups exist (version 1), but this user may not create any".into());
    }
    Ok(found)
}

/// Where the trees of memory, processors and disks of version 1 are mounted, and the one of version 2.
fn mounted(root: &Path) -> (BTreeMap<String, PathBuf>, Option<PathBuf>) {
    let mounts = read(&root.join("proc/mounts"));
    let mut v1 = BTreeMap::new();
    let mut v2 = None;
    for line in mounts.lines() {
        let mut words = line.split(' ');
        let (_, place, kind, options) = (words.next(), words.next(), words.next(), words.next());
        let (Some(place), Some(options)) = (place, options) else {
            continue;
        };
        let place = root.join(place.trim_start_matches('/'));
        match kind {
            Some("cgroup2") => v2 = Some(place),
            Some("cgroup") => {
                for controller in options
                    .split(',')
                    .filter(|o| matches!(*o, "memory" | "cpu" | "blkio"))
                {
                    v1.insert(controller.to_owned(), place.clone());
                }
            }
            _ => {}
        }
    }
    (v1, v2)
}

/// A group for a quota of a node that has none, and the one where its process is; writes the group down, makes none.
///
/// # Errors
/// There is no place for it, and why.
pub(crate) fn beside(
    (plan, id): (&ClusterPlan, &str),
    limited: bool,
    (uid, root): (u32, &Path),
    (node, pid): (&str, i32),
) -> Result<(PathBuf, PathBuf), String> {
    let hierarchy = find(root)?;
    if hierarchy.kind == Kind::V2 && limited {
        return Err("its control group has no processor controller".into());
    }
    let none = || "no control group has a processor controller".to_owned();
    let base = hierarchy.cpu.ok_or_else(none)?;
    let (v1, v2) = mounted(root);
    let (tree, controller) = match hierarchy.kind {
        Kind::V1 => (v1.get("cpu").cloned(), "cpu"),
        Kind::V2 => (v2, ""),
    };
    let now = read(&root.join(format!("proc/{pid}/cgroup")));
    let back = tree.ok_or_else(none)?.join(own_group(&now, controller));
    let group = base
        .join(OURS)
        .join(uid.to_string())
        .join(own_folder(plan, id))
        .join(format!("{node}-slow"));
    write_down(Path::new(&plan.folder), [&group]).map_err(|e| e.to_string())?;
    Ok((group, back))
}

/// Makes a group that [`beside`] chose.
pub(crate) fn make_group(group: &Path) -> io::Result<()> {
    let of_v2 = |folder: &Path| folder.join("cgroup.subtree_control").exists();
    let kind = if group.ancestors().any(of_v2) {
        Kind::V2
    } else {
        Kind::V1
    };
    make_folders(kind, group)
}

/// Removes a group, and those above it that are empty then.
pub(crate) fn remove_group(group: &Path) {
    remove_one(group);
}

/// Removes the groups of a node that is gone; they stay in the list, which does no harm.
pub(crate) fn remove_of(groups: &[PathBuf]) {
    groups.iter().for_each(|group| remove_one(group));
}

/// Adds groups to the list by which `rm` finds them.
fn write_down<'a>(cluster: &Path, groups: impl IntoIterator<Item = &'a PathBuf>) -> io::Result<()> {
    let list = cluster.join(GROUPS_FILE);
    let mut lines: Vec<String> = read(&list).lines().map(str::to_owned).collect();
    lines.extend(groups.into_iter().map(|p| p.display().to_string()));
    lines.sort();
    lines.dedup();
    // In one step: on a full disk the old list stays, by which `rm` finds what there is.
    stored::replace(&list, (lines.join("\n") + "\n").as_bytes())
}

/// Where this process stands in a tree: `controller` of version 1, or the one tree of version 2 (empty).
fn own_group(text: &str, controller: &str) -> String {
    let line = text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let mine = if controller.is_empty() {
            controllers.is_empty()
        } else {
            controllers.split(',').any(|c| c == controller)
        };
        mine.then(|| path.trim_start_matches('/').to_owned())
    });
    line.unwrap_or_default()
}

/// The root of the tree, or our own group where that is limited: nobody gets out of a limit by a limit.
fn v1_base(place: &Path, own: &str) -> Option<PathBuf> {
    let own = place.join(own);
    let limit = read(&own.join("memory.limit_in_bytes"));
    let limited = limit.trim().parse::<u64>().is_ok_and(|n| n < UNLIMITED);
    let candidates = if limited {
        vec![own]
    } else {
        vec![place.to_owned(), own]
    };
    candidates
        .into_iter()
        .find(|folder| folder.join("cgroup.procs").exists() && writable(folder))
}

/// The nearest group at or above our own in which this user may make groups that limit memory.
fn delegated(place: &Path, own: &str) -> Result<PathBuf, String> {
    let mut folder = place.join(own);
    while folder.starts_with(place) {
        let enabled = words(&folder.join("cgroup.subtree_control")).contains("memory");
        let may = writable(&folder) && writable(&folder.join("cgroup.procs"));
        if may && (enabled || enable(&folder).is_ok()) {
            return Ok(folder);
        }
        if !folder.pop() {
            break;
        }
    }
    Err(
        "no group of version 2 is delegated to this user (start from `systemd-run --user --scope \
         -p Delegate=yes $SHELL`, or as root)"
            .into(),
    )
}

/// Lets the children of a group have memory, processors and disks of their own.
fn enable(folder: &Path) -> io::Result<()> {
    let file = folder.join("cgroup.subtree_control");
    let there = words(&folder.join("cgroup.controllers"));
    let already = words(&file);
    for controller in ["memory", "cpu", "io"] {
        // A tree without the other controllers still limits memory.
        if already.contains(controller) || (controller != "memory" && !there.contains(controller)) {
            continue;
        }
        let enabled = fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .and_then(|mut f| io::Write::write_all(&mut f, format!("+{controller}").as_bytes()));
        match enabled {
            // That a disk's limit cannot be set is reported where one is asked for; memory is limited all the same.
            Err(error) if controller == "io" => tracing::info!(%error, "no limits of disks"),
            other => other?,
        }
    }
    Ok(())
}

/// The folder of a cluster's groups; with its id, for another home of this user may have a cluster of the same name.
fn own_folder(plan: &ClusterPlan, id: &str) -> String {
    let id: String = id.chars().take(8).collect();
    format!("{}-{id}", plan.name)
}

/// Decides the groups of a cluster's nodes and writes them down; makes none. `id` is the cluster's.
///
/// # Errors
/// The cluster's folder cannot be written.
pub fn choose(
    plan: &ClusterPlan,
    id: &str,
    (uid, root): (u32, &Path),
) -> io::Result<Option<Limits>> {
    let Some(asked) = plan.limits else {
        return Ok(None);
    };
    let hierarchy = match find(root) {
        Ok(hierarchy) => hierarchy,
        Err(why) => return Ok(Some(not_enforced(why))),
    };
    let wants_cpu = asked.cpus.is_some() || asked.equal_shares;
    let nodes = plan.nodes.iter();
    let own_memory_bytes: BTreeMap<String, Option<Bytes>> = nodes
        .filter_map(|node| Some((node.name.clone(), node.own?.limit)))
        .collect();
    let wants_memory = asked.memory.is_some() || own_memory_bytes.values().any(Option::is_some);
    let disk = match asked.disk {
        Some(disk) => {
            let device = disk::can(root, Path::new(&plan.folder));
            let (kind, device) = match device {
                Ok(found) => found,
                Err(why) => return Ok(Some(not_enforced(why))),
            };
            Some(DiskHeld::asked(device, kind, disk))
        }
        None => None,
    };
    // The processors' last: weights are given by the last.
    let bases = [
        hierarchy.memory.filter(|_| wants_memory),
        hierarchy.disk.filter(|_| disk.is_some()),
        hierarchy.cpu.filter(|_| wants_cpu),
    ];
    // In version 2 both are one folder.
    let mut bases: Vec<PathBuf> = bases.into_iter().flatten().collect();
    bases.dedup();
    let cluster = own_folder(plan, id);
    let groups: BTreeMap<String, Vec<PathBuf>> = plan
        .nodes
        .iter()
        .map(|node| {
            let of = |base: &PathBuf| {
                base.join(OURS)
                    .join(uid.to_string())
                    .join(&cluster)
                    .join(&node.name)
            };
            (node.name.clone(), bases.iter().map(of).collect())
        })
        .collect();
    write_down(Path::new(&plan.folder), groups.values().flatten())?;
    Ok(Some(Limits {
        by: Some(hierarchy.kind),
        not_enforced: None,
        memory_bytes: asked.memory,
        own_memory_bytes,
        cpus: asked.cpus,
        disk,
        equal_shares: asked.equal_shares,
        groups,
    }))
}

fn not_enforced(why: String) -> Limits {
    Limits {
        not_enforced: Some(why),
        ..Limits::default()
    }
}

/// Makes the groups that were chosen; where that fails, the limits become *not enforced*.
pub fn make(limits: &mut Limits) {
    let Some(kind) = limits.by else { return };
    let plan = |node: &String| LimitPlan {
        memory: limits.memory_of(node),
        cpus: limits.cpus,
        disk: None,
        equal_shares: limits.equal_shares,
    };
    let of_node = |(node, folders): (&String, &Vec<PathBuf>)| {
        let plan = plan(node);
        let each = folders.iter().cloned();
        each.map(|folder| (folder, plan)).collect::<Vec<_>>()
    };
    let folders: Vec<(PathBuf, LimitPlan)> = limits.groups.iter().flat_map(of_node).collect();
    for (folder, plan) in &folders {
        let made = make_one(kind, folder, *plan).and_then(|()| match &limits.disk {
            Some(disk) if is_of_disk(kind, folder) => disk.set(kind, folder),
            _ => Ok(()),
        });
        if let Err(error) = made {
            let made = std::mem::take(limits);
            made.groups.values().flatten().for_each(|f| remove_one(f));
            *limits = not_enforced(format!("{}: {error}", kind.as_str()));
            return;
        }
    }
    if let Some(disk) = &mut limits.disk {
        let mut groups = folders.iter().filter(|(f, _)| is_of_disk(kind, f));
        if let Some((folder, _)) = groups.next() {
            *disk = disk.read_back(kind, folder);
        }
    }
    if limits.equal_shares {
        folders.first().into_iter().for_each(|f| weigh(kind, &f.0));
        folders.last().into_iter().for_each(|f| weigh(kind, &f.0));
    }
}

/// Whether a group limits disks.
fn is_of_disk(kind: Kind, folder: &Path) -> bool {
    kind == Kind::V2 || folder.join("blkio.throttle.read_bps_device").exists()
}

fn make_one(kind: Kind, folder: &Path, plan: LimitPlan) -> io::Result<()> {
    // Another helenus may remove an empty parent just now.
    let begin = Instant::now();
    loop {
        match make_folders(kind, folder) {
            Ok(()) => break,
            Err(e)
                if e.kind() == io::ErrorKind::NotFound
                    && begin.elapsed() < Duration::from_secs(1) => {}
            Err(e) => return Err(e),
        }
    }
    let set = |file: &str, value: String| fs::write(folder.join(file), value);
    let in_cpu_tree = kind == Kind::V2 || folder.join("cpu.shares").exists();
    let in_memory_tree =
        kind == Kind::V2 || !(in_cpu_tree || is_of_disk(kind, folder)) || has_memory(folder);
    if let Some(memory) = plan.memory.filter(|_| in_memory_tree) {
        match kind {
            Kind::V1 => set("memory.limit_in_bytes", memory.0.to_string())?,
            Kind::V2 => set("memory.max", memory.0.to_string())?,
        }
    }
    if let Some(cpus) = plan.cpus.filter(|_| in_cpu_tree) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the plan holds it to 0.1 and above, and below the machine's processors"
        )]
        let quota = (cpus * PERIOD_US as f64) as u64;
        match kind {
            Kind::V1 => {
                set("cpu.cfs_period_us", PERIOD_US.to_string())?;
                set("cpu.cfs_quota_us", quota.to_string())?;
            }
            Kind::V2 => set("cpu.max", format!("{quota} {PERIOD_US}"))?,
        }
    }
    if plan.equal_shares && in_cpu_tree {
        match kind {
            Kind::V1 => set("cpu.shares", SHARES_V1.to_string())?,
            Kind::V2 => set("cpu.weight", WEIGHT_V2.to_string())?,
        }
    }
    Ok(())
}

/// Whether several controllers of version 1 share one tree.
fn has_memory(folder: &Path) -> bool {
    folder.join("memory.limit_in_bytes").exists()
}

fn make_folders(kind: Kind, folder: &Path) -> io::Result<()> {
    let mut parents: Vec<&Path> = folder.ancestors().skip(1).take(3).collect();
    parents.reverse();
    for parent in parents {
        fs::create_dir_all(parent)?;
        if kind == Kind::V2 {
            enable_made(parent)?;
        }
    }
    match fs::create_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// As [`enable`]; a folder that was just made offers what its parent enabled.
fn enable_made(folder: &Path) -> io::Result<()> {
    if folder.join("cgroup.subtree_control").exists() {
        enable(folder)
    } else {
        Err(io::Error::other("the new group has no controllers"))
    }
}

/// Gives each group above a node's the weight of all its children, so that many nodes weigh as many, whoever's
/// processes they stand beside.
fn weigh(kind: Kind, node: &Path) {
    let (file, most) = match kind {
        Kind::V1 => ("cpu.shares", u64::MAX),
        Kind::V2 => ("cpu.weight", WEIGHT_V2_MOST),
    };
    for parent in node.ancestors().skip(1).take(3) {
        let Ok(children) = fs::read_dir(parent) else {
            return;
        };
        let weights = children.filter_map(|child| {
            let text = read(&child.ok()?.path().join(file));
            text.trim().parse::<u64>().ok()
        });
        let sum: u64 = weights.sum();
        if sum > 0 && parent.join(file).exists() {
            let _stays_as_it_was = fs::write(parent.join(file), sum.min(most).to_string());
        }
    }
}

/// Removes the groups that a cluster's folder speaks of; its processes must have ended.
pub fn remove(folder: &Path) {
    for line in read(&folder.join(GROUPS_FILE)).lines() {
        let group = Path::new(line);
        let ours = group.components().any(|c| c.as_os_str() == OURS);
        let plain = group
            .components()
            .all(|c| !matches!(c, std::path::Component::ParentDir));
        if ours && plain && group.is_absolute() {
            remove_one(group);
        }
    }
}

/// Removes one group, and those above it that are empty then.
fn remove_one(group: &Path) {
    let begin = Instant::now();
    loop {
        match fs::remove_dir(group) {
            // A process that has just ended may still be counted.
            Err(e)
                if e.kind() == io::ErrorKind::ResourceBusy
                    && begin.elapsed() < Duration::from_secs(3) =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(group = %group.display(), error = %e, "a control group stays");
                return;
            }
            _ => break,
        }
    }
    for parent in group.ancestors().skip(1).take(3) {
        let inside = parent.components().any(|c| c.as_os_str() == OURS);
        if !inside {
            return;
        }
        let left = fs::remove_dir(parent);
        if left.is_err_and(|e| e.kind() != io::ErrorKind::NotFound) {
            return;
        }
    }
}

/// Takes the calling process, which must have one thread, into its groups.
///
/// # Errors
/// A group is gone, or the kernel refuses.
pub fn join(groups: &[PathBuf]) -> io::Result<()> {
    for group in groups {
        // Zero is the one who writes.
        fs::OpenOptions::new()
            .write(true)
            .open(group.join("cgroup.procs"))
            .and_then(|mut file| io::Write::write_all(&mut file, b"0"))?;
    }
    Ok(())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn words(path: &Path) -> std::collections::BTreeSet<String> {
    read(path).split_whitespace().map(str::to_owned).collect()
}

fn writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests;
