//! Whether a read at one level must meet a write that was acknowledged at another, from the copies that there are.
//! Refuses luck: replicas that have a write without having been waited for do not count.

use crate::consistency::{Consistency, quorum};
use crate::ring::{Replication, ReplicationError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Copies of each row, by data centre.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Copies {
    by_dc: BTreeMap<String, u32>,
}

/// The one group of copies of a strategy that does not know data centres.
const ANYWHERE: &str = "";

impl Copies {
    /// So many copies in these data centres.
    pub fn in_data_centers<'a>(of: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let by_dc = of.into_iter().map(|(dc, copies)| (dc.to_owned(), copies));
        Self {
            by_dc: by_dc.collect(),
        }
    }

    /// So many copies, wherever the ring leads to.
    pub fn anywhere(copies: u32) -> Self {
        Self::in_data_centers([(ANYWHERE, copies)])
    }

    /// Of a keyspace.
    ///
    /// # Errors
    /// LocalStrategy, and strategies that Cassandra does not ship.
    pub fn of(replication: &Replication) -> Result<Self, ReplicationError> {
        let number = |all: usize| u32::try_from(all).unwrap_or(u32::MAX);
        match replication {
            Replication::Local => Err(ReplicationError::Local),
            Replication::Foreign { class, .. } => Err(ReplicationError::Foreign(class.clone())),
            Replication::Simple(factor) => Ok(Self::anywhere(number(factor.all))),
            Replication::NetworkTopology(factors) => Ok(Self::in_data_centers(
                factors
                    .iter()
                    .map(|(dc, factor)| (dc.as_str(), number(factor.all))),
            )),
        }
    }

    fn total(&self) -> u32 {
        self.by_dc.values().sum()
    }

    /// The group that a client of this data centre calls local.
    fn local<'a>(&'a self, dc: &'a str) -> &'a str {
        match self.by_dc.contains_key(ANYWHERE) {
            true => ANYWHERE,
            false => dc,
        }
    }

    fn at(&self, dc: &str) -> u32 {
        self.by_dc.get(dc).copied().unwrap_or(0)
    }
}

/// The fewest replicas that a level is content with.
struct Need<'a> {
    /// In these data centres.
    by_dc: BTreeMap<&'a str, u32>,
    /// In all.
    total: u32,
}

fn need<'a>(copies: &'a Copies, level: Consistency, dc: &'a str) -> Need<'a> {
    use Consistency as C;
    let total = |total| (BTreeMap::new(), total);
    let local = copies.local(dc);
    let here = |of: &dyn Fn(u32) -> u32| (BTreeMap::from([(local, of(copies.at(local)))]), 0);
    let (mut by_dc, total) = match level {
        C::Any => total(0),
        C::One => total(1),
        C::Two => total(2),
        C::Three => total(3),
        C::Quorum => total(quorum(copies.total())),
        C::All => total(copies.total()),
        C::LocalOne => here(&|_| 1),
        C::LocalQuorum => here(&quorum),
        C::EachQuorum => {
            let each = copies.by_dc.iter();
            (each.map(|(dc, n)| (dc.as_str(), quorum(*n))).collect(), 0)
        }
    };
    for (dc, replicas) in &mut by_dc {
        *replicas = (*replicas).min(copies.at(dc));
    }
    let placed: u32 = by_dc.values().sum();
    Need {
        total: total.clamp(placed, copies.total().max(placed)),
        by_dc,
    }
}

/// Whether every read at a level meets every write that was acknowledged at another; each with its client's data centre.
///
/// They need not meet where there is room for both on different replicas.
pub fn overlap(copies: &Copies, write: (Consistency, &str), read: (Consistency, &str)) -> bool {
    let write = need(copies, write.0, write.1);
    let read = need(copies, read.0, read.1);
    let fits = copies.by_dc.iter().all(|(dc, there)| {
        let of = |need: &Need<'_>| need.by_dc.get(dc.as_str()).copied().unwrap_or(0);
        of(&write) + of(&read) <= *there
    });
    !(fits && write.total + read.total <= copies.total())
}

/// The strongest level that a read is answered at while so many nodes of each data centre do not answer, for a client of
/// `dc`: by the worst case, in which they are replicas of one row.
pub fn strongest(copies: &Copies, silent: &BTreeMap<String, u32>, dc: &str) -> Consistency {
    let lost = |group: &str, there: u32| match group {
        ANYWHERE => silent.values().sum::<u32>().min(there),
        dc => silent.get(dc).copied().unwrap_or(0).min(there),
    };
    let each = copies.by_dc.iter();
    let gone: u32 = each.map(|(group, there)| lost(group, *there)).sum();
    let local = copies.local(dc);
    let here = copies.at(local);
    let left_here = here - lost(local, here);
    if gone == 0 {
        Consistency::All
    } else if copies.total() - gone >= quorum(copies.total()) {
        Consistency::Quorum
    } else if here > 0 && left_here >= quorum(here) {
        Consistency::LocalQuorum
    } else {
        Consistency::One
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Consistency as C;

    /// By number of replicas: every pair of levels in one data centre of three copies, and in two that are apart.
    #[test]
    fn levels_overlap_where_there_is_no_room_for_both() {
        let one = Copies::in_data_centers([("DC1", 3)]);
        let three = Copies::in_data_centers([("DC1", 3), ("DC2", 3), ("DC3", 3)]);
        let two = Copies::in_data_centers([("DC1", 3), ("DC2", 1)]);
        let simple = Copies::anywhere(3);
        let table = [
            // One data centre of three copies.
            (&one, C::One, "DC1", C::One, "DC1", false),
            (&one, C::One, "DC1", C::Quorum, "DC1", false),
            (&one, C::One, "DC1", C::All, "DC1", true),
            (&one, C::Two, "DC1", C::Two, "DC1", true),
            (&one, C::Two, "DC1", C::One, "DC1", false),
            (&one, C::Three, "DC1", C::One, "DC1", true),
            (&one, C::Quorum, "DC1", C::Quorum, "DC1", true),
            (&one, C::Quorum, "DC1", C::LocalQuorum, "DC1", true),
            (&one, C::All, "DC1", C::LocalOne, "DC1", true),
            (&one, C::Any, "DC1", C::All, "DC1", false),
            (&one, C::LocalOne, "DC1", C::LocalQuorum, "DC1", false),
            // Three of them, three copies each.
            (&three, C::LocalQuorum, "DC1", C::LocalQuorum, "DC1", true),
            (&three, C::LocalQuorum, "DC1", C::LocalQuorum, "DC2", false),
            (&three, C::LocalQuorum, "DC1", C::Quorum, "DC1", false),
            (&three, C::LocalQuorum, "DC1", C::All, "DC3", true),
            (&three, C::EachQuorum, "DC1", C::LocalQuorum, "DC3", true),
            (&three, C::EachQuorum, "DC1", C::Quorum, "DC2", true),
            (&three, C::EachQuorum, "DC1", C::LocalOne, "DC1", false),
            (&three, C::Quorum, "DC1", C::Quorum, "DC3", true),
            (&three, C::Quorum, "DC1", C::LocalQuorum, "DC1", false),
            (&three, C::Quorum, "DC1", C::EachQuorum, "DC3", true),
            // Sizes that differ: three of four are a quorum.
            (&two, C::LocalQuorum, "DC1", C::Quorum, "DC1", true),
            (&two, C::LocalQuorum, "DC2", C::Quorum, "DC1", false),
            (&two, C::LocalQuorum, "DC2", C::LocalOne, "DC2", true),
            // A strategy without data centres: everything is local.
            (&simple, C::LocalQuorum, "DC1", C::LocalQuorum, "DC2", true),
            (&simple, C::One, "DC1", C::LocalQuorum, "DC1", false),
        ];
        for (copies, write, from, read, to, wanted) in table {
            let said = overlap(copies, (write, from), (read, to));
            assert_eq!(
                said, wanted,
                "{write:?} of {from}, {read:?} of {to}, {copies:?}"
            );
        }
    }

    #[test]
    fn one_copy_is_met_by_everything_but_any() {
        let one = Copies::anywhere(1);
        for level in [C::One, C::Quorum, C::All, C::LocalOne, C::EachQuorum] {
            assert!(overlap(&one, (level, "DC1"), (C::One, "DC1")), "{level:?}");
        }
        assert!(!overlap(&one, (C::Any, "DC1"), (C::All, "DC1")));
    }

    #[test]
    fn the_strongest_level_leaves_room_for_what_is_silent() {
        let three = Copies::in_data_centers([("DC1", 3), ("DC2", 3), ("DC3", 3)]);
        let silent = |of: &[(&str, u32)]| {
            let of = of.iter().map(|(dc, n)| ((*dc).to_owned(), *n));
            strongest(&three, &of.collect(), "DC1")
        };
        assert_eq!(silent(&[]), C::All);
        // A coordinator's data centre without copies takes none away.
        assert_eq!(silent(&[("DC4", 2)]), C::All);
        assert_eq!(silent(&[("DC3", 5)]), C::Quorum);
        assert_eq!(silent(&[("DC3", 3), ("DC2", 2)]), C::LocalQuorum);
        assert_eq!(silent(&[("DC3", 3), ("DC1", 2)]), C::One);
        let simple = Copies::anywhere(3);
        let one = BTreeMap::from([("datacenter1".to_owned(), 1)]);
        assert_eq!(strongest(&simple, &one, "datacenter1"), C::Quorum);
    }

    #[test]
    fn copies_are_read_from_the_keyspace() {
        let map = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into()));
            Replication::from_map(&pairs.collect()).expect("a replication")
        };
        let simple = map(&[("class", "SimpleStrategy"), ("replication_factor", "3")]);
        assert_eq!(Copies::of(&simple), Ok(Copies::anywhere(3)));
        let apart = map(&[
            ("class", "NetworkTopologyStrategy"),
            ("DC1", "3"),
            ("DC2", "1"),
        ]);
        let two = Copies::in_data_centers([("DC1", 3), ("DC2", 1)]);
        assert_eq!(Copies::of(&apart), Ok(two));
        let local = map(&[("class", "LocalStrategy")]);
        assert_eq!(Copies::of(&local), Err(ReplicationError::Local));
    }
}
