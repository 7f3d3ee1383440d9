//! Where instances lie: which processors, which NUMA node, which share of the memory.
//! Refuses to split a core, and to lie across nodes where one is large enough.

use super::tips::SIZES;
use super::{Purpose, SizingError};
use crate::machine::{Cpus, NumaNode, Snapshot};
use crate::units::Bytes;

/// Logical processors up to which one instance scales, by the guide.
pub const CPUS_MOST: u32 = 48;

/// Logical processors of the smallest instance of the guide: smaller NUMA nodes are joined.
pub const CPUS_LEAST: u32 = SIZES[0].cpus;

/// Place of one instance.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) numa: Vec<u32>,
    pub(super) cpus: Cpus,
    pub(super) memory: Bytes,
}

/// Processors and memory that belong together: a NUMA node, several small ones, or the machine.
#[derive(Debug, Clone, Default)]
struct Group {
    numa: Vec<u32>,
    cores: Vec<Vec<u32>>,
    memory: Bytes,
}

impl Group {
    fn cpus(&self) -> u32 {
        threads(&self.cores)
    }

    fn join(&mut self, other: Self) {
        self.numa.extend(other.numa);
        self.cores.extend(other.cores);
        self.memory = self.memory + other.memory;
    }
}

fn threads(cores: &[Vec<u32>]) -> u32 {
    cores
        .iter()
        .map(|core| u32::try_from(core.len()).unwrap_or(0))
        .sum()
}

/// Cores of a node with their threads, as far as they may be used; the k-th second thread belongs to the k-th core.
fn cores(node: &NumaNode, usable: &Cpus) -> Vec<Vec<u32>> {
    let second = node.second_threads.clone().unwrap_or_default();
    let mut seconds = second.iter();
    let firsts = node.cpus.without(&second);
    let mut cores: Vec<Vec<u32>> = firsts
        .iter()
        .map(|first| [first].into_iter().chain(seconds.next()).collect())
        .collect();
    cores.extend(seconds.map(|alone| vec![alone]));
    for core in &mut cores {
        core.retain(|cpu| usable.contains(*cpu));
    }
    cores.retain(|core| !core.is_empty());
    cores
}

/// The places of the instances, and what should be known of them.
///
/// # Errors
/// More instances are asked for than there are cores.
pub(super) fn pieces(
    machine: &Snapshot,
    purpose: Purpose,
    asked: Option<u32>,
) -> Result<(Vec<Piece>, Vec<String>), SizingError> {
    let mut cautions = Vec::new();
    let mut groups = groups(machine);
    if asked.is_none() {
        groups = joined(groups);
    }
    if let Some(quota) = machine.cgroup.as_ref().and_then(|group| group.cpus) {
        let all: u32 = groups.iter().map(Group::cpus).sum();
        let may = whole(quota).max(1);
        if may < all {
            cautions.push(format!(
                "the control group grants the time of {quota} of {all} processors: so many are planned for"
            ));
            limit(&mut groups, may);
        }
    }
    let Some(asked) = asked else {
        let pieces = groups.iter().flat_map(|group| split(group, purpose));
        return Ok((pieces.collect(), cautions));
    };
    let counts = counts(&mut groups, asked)?;
    let pieces = groups.iter().zip(counts);
    let pieces: Vec<Piece> = pieces
        .flat_map(|(group, count)| parts(group, count))
        .collect();
    let large = pieces.iter().map(|piece| piece.cpus.len()).max();
    if large.is_some_and(|large| large > CPUS_MOST) {
        cautions.push(format!(
            "above {CPUS_MOST} logical processors an instance no longer scales, says the guide: more instances would use them"
        ));
    }
    Ok((pieces, cautions))
}

/// How many of the instances that are asked for each group gets: by its cores, one at least. Where there are more groups,
/// neighbours are joined, the smallest first.
fn counts(groups: &mut Vec<Group>, asked: u32) -> Result<Vec<usize>, SizingError> {
    let cores: usize = groups.iter().map(|group| group.cores.len()).sum();
    let wanted = asked as usize;
    if wanted > cores {
        return Err(SizingError::TooMany { asked, cores });
    }
    while groups.len() > wanted.max(1) {
        let pair = |at: &usize| groups[*at].cores.len() + groups[*at + 1].cores.len();
        let Some(at) = (0..groups.len() - 1).min_by_key(pair) else {
            break;
        };
        let next = groups.remove(at + 1);
        groups[at].join(next);
    }
    let mut counts = vec![1; groups.len()];
    for _ in groups.len()..wanted {
        // The next one goes where instances are largest.
        let each = |k: &usize| groups[*k].cores.len() * 1000 / counts[*k];
        let free = (0..groups.len()).filter(|k| groups[*k].cores.len() > counts[*k]);
        // Of equals the first.
        if let Some(next) = free.rev().max_by_key(each) {
            counts[next] += 1;
        }
    }
    Ok(counts)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded down, below zero becomes zero"
)]
fn whole(quota: f64) -> u32 {
    quota.max(0.0) as u32
}

/// Keeps the first so many processors; memory stays that of the groups that are left.
fn limit(groups: &mut Vec<Group>, may: u32) {
    let mut left = may;
    for group in groups.iter_mut() {
        for core in &mut group.cores {
            core.truncate(left as usize);
            left -= u32::try_from(core.len()).unwrap_or(0);
        }
        group.cores.retain(|core| !core.is_empty());
    }
    groups.retain(|group| !group.cores.is_empty());
}

/// A group for each NUMA node with processors. Memory is the node's own, scaled down where the machine may use less;
/// where nodes do not say it, it follows the processors.
fn groups(machine: &Snapshot) -> Vec<Group> {
    let online = Cpus::range(0, machine.processors.logical);
    let alone = NumaNode {
        cpus: online,
        ..NumaNode::default()
    };
    let mut nodes: Vec<&NumaNode> = machine.nodes().collect();
    let reported = !nodes.is_empty();
    if !reported {
        nodes.push(&alone);
    }
    let all: Cpus = nodes.iter().flat_map(|node| node.cpus.iter()).collect();
    let usable = machine.processors.usable.as_ref().unwrap_or(&all);
    let usable_cpus: Vec<(&NumaNode, Vec<Vec<u32>>)> = nodes
        .iter()
        .map(|node| (*node, cores(node, usable)))
        .filter(|(_, cores)| !cores.is_empty())
        .collect();
    let own = |node: &NumaNode| node.memory.filter(|memory| memory.0 > 0);
    let known = nodes.iter().all(|node| own(node).is_some());
    let weight = |node: &NumaNode| match (known, own(node)) {
        (true, Some(memory)) => memory.0,
        _ => u64::from(node.cpus.len()),
    };
    let weights: u64 = nodes.iter().map(|node| weight(node)).sum();
    // Nodes without processors have memory of no instance.
    let total = match known {
        true => machine.usable_memory().0.min(weights),
        false => machine.usable_memory().0,
    };
    let share = |node: &NumaNode| {
        let share = u128::from(total) * u128::from(weight(node)) / u128::from(weights.max(1));
        Bytes(u64::try_from(share).unwrap_or(u64::MAX))
    };
    usable_cpus
        .into_iter()
        .map(|(node, cores)| Group {
            numa: if reported { vec![node.id] } else { Vec::new() },
            cores,
            memory: share(node),
        })
        .collect()
}

/// Joins neighbours that are too small for an instance each.
fn joined(groups: Vec<Group>) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    for group in groups {
        match all.last_mut() {
            Some(last) if last.cpus() < CPUS_LEAST && group.cpus() < CPUS_LEAST => last.join(group),
            _ => all.push(group),
        }
    }
    all
}

/// Instances of a group: the fewest that scale, or for density as many as the smallest size allows.
fn split(group: &Group, purpose: Purpose) -> Vec<Piece> {
    let cpus = group.cpus();
    let fewest = cpus.div_ceil(CPUS_MOST).max(1);
    let small = &SIZES[0];
    let by_memory = u32::try_from(group.memory.0 / small.memory.0).unwrap_or(u32::MAX);
    let mut count = match purpose {
        Purpose::Throughput | Purpose::Latency => fewest,
        Purpose::Density => fewest.max((cpus / small.cpus).min(by_memory)),
    };
    loop {
        let parts = parts(group, count as usize);
        if parts.iter().all(|part| part.cpus.len() <= CPUS_MOST) {
            return parts;
        }
        count += 1;
    }
}

/// So many instances of a group, each with its share of the memory.
fn parts(group: &Group, count: usize) -> Vec<Piece> {
    let cpus = group.cpus();
    let piece = |part: &[Vec<u32>]| {
        let share = u128::from(group.memory.0) * u128::from(threads(part));
        Piece {
            numa: group.numa.clone(),
            cpus: part.iter().flatten().copied().collect(),
            memory: Bytes(u64::try_from(share / u128::from(cpus.max(1))).unwrap_or(u64::MAX)),
        }
    };
    even(&group.cores, count).into_iter().map(piece).collect()
}

/// As equal parts as there can be, none of them empty.
fn even(cores: &[Vec<u32>], count: usize) -> Vec<&[Vec<u32>]> {
    let count = count.clamp(1, cores.len());
    let (each, more) = (cores.len() / count, cores.len() % count);
    let start = |k: usize| k * each + k.min(more);
    (0..count).map(|k| &cores[start(k)..start(k + 1)]).collect()
}
