//! The tokens of a node that joins a ring: so chosen that it takes from those that own most.
//! Refuses chance: the same ring always gives the same tokens.

use super::{Member, TokenRange};
use std::collections::BTreeSet;

/// Tokens of the whole ring.
const RING: u128 = 1 << 64;

/// A range of a data centre's own ring and the place of its owner in the list; none is the newcomer.
struct Owned {
    range: TokenRange,
    owner: Option<usize>,
}

impl Owned {
    fn width(&self) -> u128 {
        match self.range.width() {
            0 => RING,
            width => u128::from(width),
        }
    }
}

/// So many tokens for a node that joins `data_center`; none if no node there owns any.
///
/// Each token is cut out of the widest range of the node that owns most of its data centre then. It takes as much as
/// the newcomer still lacks of an equal share, spread over the tokens that are left, and never so much that the owner
/// keeps less than the newcomer has. So one token halves the widest range, and sixteen come near an equal share. No
/// token is chosen that another node has in whatever data centre, nor `i64::MIN`, which no key hashes to.
pub fn newcomer_tokens(members: &[Member], data_center: &str, count: usize) -> Vec<i64> {
    let mut taken: BTreeSet<i64> = members.iter().flat_map(|m| m.tokens.clone()).collect();
    taken.insert(i64::MIN);
    let here = |(_, m): &(usize, &Member)| m.data_center == data_center && !m.tokens.is_empty();
    let owners: Vec<(usize, &Member)> = members.iter().enumerate().filter(here).collect();
    let equal = RING / (owners.len() as u128 + 1);
    let mut ring: Vec<(i64, Option<usize>)> = owners
        .iter()
        .flat_map(|(place, m)| m.tokens.iter().map(|token| (*token, Some(*place))))
        .collect();
    let mut chosen = Vec::with_capacity(count);
    for left in (1..=count as u128).rev() {
        ring.sort_unstable();
        let ranges = ranges(&ring);
        let share = |of: Option<usize>| -> u128 {
            let own = ranges.iter().filter(|one| one.owner == of);
            own.map(Owned::width).sum()
        };
        let mine = share(None);
        let most = owners
            .iter()
            .map(|(place, _)| (share(Some(*place)), *place));
        // The first of equals.
        let Some((has, donor)) = most.max_by_key(|(has, place)| (*has, usize::MAX - place)) else {
            return Vec::new();
        };
        let own = ranges.iter().filter(|one| one.owner == Some(donor));
        let Some(widest) = own.rev().max_by_key(|one| one.width()) else {
            return Vec::new();
        };
        let lacks = equal.saturating_sub(mine) / left;
        let take = lacks.min(has.saturating_sub(mine) / 2);
        let Some(token) = cut(widest, take, &taken) else {
            return Vec::new();
        };
        taken.insert(token);
        ring.push((token, None));
        chosen.push(token);
    }
    chosen.sort_unstable();
    chosen
}

/// The ranges of a sorted ring, ascending by their end.
fn ranges(ring: &[(i64, Option<usize>)]) -> Vec<Owned> {
    let before = ring.iter().skip(ring.len().saturating_sub(1)).chain(ring);
    before
        .zip(ring)
        .map(|((start, _), (end, owner))| Owned {
            range: TokenRange {
                start: *start,
                end: *end,
            },
            owner: *owner,
        })
        .collect()
}

/// The token that takes so much from the beginning of a range; the nearest that is free.
fn cut(from: &Owned, take: u128, taken: &BTreeSet<i64>) -> Option<i64> {
    let last = from.width().checked_sub(1).filter(|last| *last > 0)?;
    let take = take.clamp(1, last);
    let at = |offset: u128| {
        let offset = u64::try_from(offset).ok()?;
        Some(from.range.start.wrapping_add_unsigned(offset))
    };
    let free = |token: &i64| !taken.contains(token);
    let above = (take..=last).find_map(|offset| at(offset).filter(free));
    above.or_else(|| (1..take).rev().find_map(|offset| at(offset).filter(free)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::{Ring, even_tokens};
    use proptest::prelude::*;

    fn member(dc: &str, tokens: Vec<i64>) -> Member {
        Member {
            data_center: dc.into(),
            rack: "r1".into(),
            tokens,
        }
    }

    fn even(nodes: usize, each: usize) -> Vec<Member> {
        let tokens = even_tokens(nodes, each, 0).into_iter();
        tokens.map(|tokens| member("dc", tokens)).collect()
    }

    /// Shares of the members that stand in that data centre, in parts of the whole ring.
    fn shares(members: &[Member], dc: &str) -> Vec<f64> {
        let here: Vec<Member> = members
            .iter()
            .filter(|m| m.data_center == dc)
            .cloned()
            .collect();
        let ring = Ring::new(here).unwrap();
        let width = |range: &TokenRange| match range.width() {
            0 => RING as f64,
            width => width as f64,
        };
        (0..ring.members().len())
            .map(|k| ring.primary_ranges(k).iter().map(width).sum::<f64>() / RING as f64)
            .collect()
    }

    #[test]
    fn one_token_halves_the_widest_range() {
        let mut members = even(3, 1);
        let sorted = |members: &[Member]| {
            let mut all = shares(members, "dc");
            all.sort_by(f64::total_cmp);
            all.iter().map(|s| format!("{s:.3}")).collect::<Vec<_>>()
        };
        members.push(member("dc", newcomer_tokens(&members, "dc", 1)));
        assert_eq!(sorted(&members), ["0.167", "0.167", "0.333", "0.333"]);
        // The next takes from one that was not halved yet.
        members.push(member("dc", newcomer_tokens(&members, "dc", 1)));
        assert_eq!(
            sorted(&members),
            ["0.167", "0.167", "0.167", "0.167", "0.333"]
        );
    }

    #[test]
    fn sixteen_tokens_come_near_an_equal_share() {
        for nodes in 1..=12 {
            let mut members = even(nodes, 16);
            members.push(member("dc", newcomer_tokens(&members, "dc", 16)));
            let equal = 1.0 / (nodes as f64 + 1.0);
            for share in shares(&members, "dc") {
                let off = (share / equal - 1.0).abs();
                assert!(off < 0.12, "{nodes} nodes: {share} for {equal}");
            }
        }
    }

    #[test]
    fn nobody_s_data_center_has_no_tokens_to_give() {
        assert_eq!(newcomer_tokens(&even(3, 1), "other", 1), Vec::<i64>::new());
    }

    fn members() -> impl Strategy<Value = Vec<Member>> {
        let tokens = prop::collection::btree_set(any::<i64>(), 1..60);
        (tokens, prop::collection::vec((0..2usize, 0..5usize), 60)).prop_map(|(tokens, owners)| {
            let mut members: Vec<Member> = (0..10)
                .map(|k| member(["a", "b"][k / 5], Vec::new()))
                .collect();
            for (token, (dc, node)) in tokens.into_iter().zip(owners) {
                members[dc * 5 + node].tokens.push(token);
            }
            members
        })
    }

    proptest! {
        #[test]
        fn a_newcomer_takes_from_those_that_own_most(members in members(), count in 1..20usize) {
            let before = shares(&members, "a");
            let tokens = newcomer_tokens(&members, "a", count);
            let owners = before.iter().filter(|share| **share > 0.0).count();
            prop_assert_eq!(tokens.len(), if owners == 0 { 0 } else { count });
            let all: BTreeSet<i64> = members.iter().flat_map(|m| m.tokens.clone()).chain(tokens.clone()).collect();
            let had: usize = members.iter().map(|m| m.tokens.len()).sum();
            prop_assert_eq!(all.len(), had + tokens.len(), "a token twice");
            prop_assert!(!tokens.contains(&i64::MIN));
            if owners > 0 {
                let mut now = members;
                now.push(member("a", tokens.clone()));
                // Only the newcomer's own data centre is looked at: the others' rings stay as they are.
                let after = shares(&now, "a");
                let (mine, others) = after.split_last().unwrap();
                prop_assert!(*mine > 0.0 && *mine <= 1.0 / (owners as f64 + 1.0) + 1e-9);
                for (was, is) in before.iter().zip(others) {
                    prop_assert!(is <= &(was + 1e-12), "somebody owns more: {} {}", was, is);
                }
                let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
                prop_assert!(most(others) < most(&before));
                prop_assert_eq!(newcomer_tokens(&now[..now.len() - 1], "a", count), tokens);
            }
        }
    }
}
