//! Disks and addresses of the instances.
//! Refuses the disk of the system as long as there is another.

use super::Instance;
use crate::machine::{Disk, Snapshot};
use crate::units::Bytes;

/// Gives each instance its disks and its address.
pub(super) fn give(machine: &Snapshot, instances: &mut [Instance], cautions: &mut Vec<String>) {
    let disks = for_data(machine);
    if machine.disks.is_empty() {
        cautions.push("no disk is known: plan one NVMe for each instance".to_owned());
    } else if disks.iter().any(|disk| disk.has_system()) {
        cautions.push(format!(
            "the only disk, {}, has the system as well: data and system wait for each other",
            disks[0].name
        ));
    }
    share(&disks, instances, cautions);
    addresses(machine, instances, cautions);
}

/// The disks for data: those without the system, NVMe before others, and of these the kind with the most room: disks of
/// one size are meant to be used together, and a small one beside them is the system's.
fn for_data(machine: &Snapshot) -> Vec<&Disk> {
    let free: Vec<&Disk> = machine.disks.iter().filter(|d| !d.has_system()).collect();
    if free.is_empty() {
        return machine.disks.iter().take(1).collect();
    }
    let speed = |disk: &Disk| match (disk.is_nvme(), disk.rotational) {
        (true, _) => 0,
        (false, Some(true)) => 2,
        (false, _) => 1,
    };
    let fastest = free.iter().map(|disk| speed(disk)).min();
    let fast = free.into_iter().filter(|disk| Some(speed(disk)) == fastest);
    let fast: Vec<&Disk> = fast.collect();
    let alike = |a: &Disk, b: &Disk| match (a.size, b.size) {
        (Some(a), Some(b)) => a.0.abs_diff(b.0) <= a.0.max(b.0) / 10,
        (a, b) => a == b,
    };
    let room = |of: &&&Disk| -> u64 {
        let same = fast.iter().filter(|disk| alike(disk, of));
        same.map(|disk| disk.size.map_or(1, |size| size.0)).sum()
    };
    // Of equals the first: `max_by_key` takes the last.
    let Some(best) = fast.iter().rev().max_by_key(room) else {
        return Vec::new();
    };
    fast.iter()
        .copied()
        .filter(|disk| alike(disk, best))
        .collect()
}

/// Equally many disks for each instance, first those on its NUMA node; where there are fewer, several share one.
fn share(disks: &[&Disk], instances: &mut [Instance], cautions: &mut Vec<String>) {
    if disks.is_empty() {
        return;
    }
    let count = instances.len();
    let each = (disks.len() / count).max(1);
    let mut given: Vec<Vec<&Disk>> = vec![Vec::new(); count];
    if disks.len() >= count {
        let mut left: Vec<&Disk> = disks.to_vec();
        for near in [true, false] {
            for (instance, mine) in instances.iter().zip(&mut given) {
                let is_near = |disk: &&Disk| {
                    let node = disk.numa;
                    !near || node.is_some_and(|node| instance.numa.contains(&node))
                };
                while mine.len() < each {
                    let Some(at) = left.iter().position(is_near) else {
                        break;
                    };
                    mine.push(left.remove(at));
                }
            }
        }
        if !left.is_empty() {
            let names: Vec<&str> = left.iter().map(|disk| disk.name.as_str()).collect();
            cautions.push(format!(
                "left over, because each instance gets equally many disks: {}",
                names.join(", ")
            ));
        }
    } else {
        for (k, mine) in given.iter_mut().enumerate() {
            mine.push(disks[k * disks.len() / count]);
        }
        cautions.push(format!(
            "{count} instances share {} of the disks: an instance is bound by IO where several use one NVMe, says the guide",
            disks.len()
        ));
    }
    let users = |disk: &Disk| {
        let uses = given
            .iter()
            .filter(|mine| mine.iter().any(|d| d.name == disk.name));
        uses.count().max(1) as u64
    };
    let spaces: Vec<Option<u64>> = given
        .iter()
        .map(|mine| {
            mine.iter()
                .map(|disk| Some(disk.size?.0 / users(disk)))
                .sum()
        })
        .collect();
    let shared = disks.len() < count;
    for ((instance, mine), space) in instances.iter_mut().zip(&given).zip(spaces) {
        // On the system's disk any folder will do.
        let own_disks = mine.iter().filter(|disk| !disk.has_system());
        let folder = |disk: &&Disk| {
            let outside = disk.mounts.iter().find(|mount| mount.point != "/");
            let point = outside.map_or_else(|| format!("/mnt/{}", disk.name), |m| m.point.clone());
            let own = if shared {
                instance.name.as_str()
            } else {
                "cassandra"
            };
            format!("{}/{own}", point.trim_end_matches('/'))
        };
        instance.disk_space = space.map(Bytes);
        instance.disks = mine.iter().map(|disk| disk.name.clone()).collect();
        let folders: Vec<String> = own_disks.map(folder).collect();
        instance.commitlog_dir = folders.first().map(|folder| format!("{folder}/commitlog"));
        instance.data_dirs = folders
            .iter()
            .map(|folder| format!("{folder}/data"))
            .collect();
    }
}

/// The fastest interface, whose addresses are given to the first instances; the others need one to be added.
fn addresses(machine: &Snapshot, instances: &mut [Instance], cautions: &mut Vec<String>) {
    let best = machine
        .networks
        .iter()
        .filter(|card| card.up != Some(false))
        .rev()
        .max_by_key(|card| (card.speed_mbit, card.addresses.len()));
    let Some(card) = best else {
        cautions.push("no network is known: each instance needs its own address".to_owned());
        return;
    };
    let mut known = card.addresses.iter();
    for (k, instance) in instances.iter_mut().enumerate() {
        let address = known.next();
        instance.interface = Some(card.name.clone());
        instance.address = address.map(|a| a.split('/').next().unwrap_or(a).to_owned());
        // The interface has one at least, also where the snapshot does not say it.
        instance.add_address = address.is_none() && k > 0;
    }
}
