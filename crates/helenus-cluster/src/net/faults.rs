//! Faults over a network: layers over links, and islands, each with the number of its fault.
//! Refuses to change the links below: lifted, a fault leaves them as they were.

use super::build::{FIRST_BRIDGE, FIRST_PAIR};
use super::control::Over;
use super::route::Links;
use helenus_model::network::NetworkPlan;
use helenus_model::topology::link::{Directed, Link, LinkWords};
use std::collections::BTreeMap;
use std::io;

/// Index of the first island's bridge in the router; those of nodes are below.
const FIRST_ISLAND: u32 = 100_000;

/// The links as the topology and people have them, and the faults over them.
#[derive(Debug)]
pub(super) struct Faults {
    below: Vec<Link>,
    over: BTreeMap<u32, Over>,
    /// By the number of whoever it is lent to.
    lent: BTreeMap<u64, Lent>,
}

/// Links that somebody changed for a time: their places, as they were, and as they were left.
type Lent = BTreeMap<usize, (Link, Link)>;

impl Faults {
    /// None over these links.
    pub(super) fn new(below: Vec<Link>) -> Self {
        Self {
            below,
            over: BTreeMap::new(),
            lent: BTreeMap::new(),
        }
    }

    /// Numbers of those that lie over the network.
    pub(super) fn ids(&self) -> Vec<u32> {
        self.over.keys().copied().collect()
    }

    /// Changes what lies below; the faults stay.
    pub(super) fn change(&mut self, place: usize, words: LinkWords) {
        if let Some(link) = self.below.get_mut(place) {
            *link = words.on(*link);
        }
    }

    /// The same, for a time: what it was is kept.
    pub(super) fn lend(&mut self, place: usize, words: LinkWords, to: u64) {
        let Some(link) = self.below.get_mut(place) else {
            return;
        };
        let lent = self.lent.entry(to).or_default();
        let known = lent.get(&place);
        // What somebody else has changed since is what comes back.
        let was = known.map_or(*link, |(was, left)| given_back(*link, *left, *was));
        *link = words.on(*link);
        lent.insert(place, (was, *link));
    }

    /// Takes back what was lent; what somebody else has changed since stays.
    pub(super) fn take_back(&mut self, from: u64) {
        for (place, (was, left)) in self.lent.remove(&from).unwrap_or_default() {
            // Whoever found it as it was left here is to give back what was there before.
            for other in self
                .lent
                .values_mut()
                .filter_map(|lent| lent.get_mut(&place))
            {
                other.0 = given_back(other.0, left, was);
            }
            if let Some(link) = self.below.get_mut(place) {
                *link = given_back(*link, left, was);
            }
        }
    }

    /// What lies below the faults.
    pub(super) fn below(&self) -> &[Link] {
        &self.below
    }

    /// The links as they then are, in the order of `plan`.
    pub(super) fn links(&self, plan: &[Directed]) -> Vec<Link> {
        let of = |(directed, below): (&Directed, &Link)| {
            let layers = self.over.values().filter_map(|over| match over {
                Over::Links { links, layer } => links
                    .iter()
                    .any(|(from, to)| *from == directed.from && *to == directed.to)
                    .then_some(layer),
                Over::Island { .. } => None,
            });
            layers.fold(*below, |link, layer| layer.on(link))
        };
        plan.iter().zip(&self.below).map(of).collect()
    }

    /// Lays a fault; this thread must stand in the router.
    pub(super) fn lay(&mut self, id: u32, over: Over, plan: &NetworkPlan) -> io::Result<()> {
        self.lift(id, plan)?;
        // Known first: an island that is half made is lifted as a whole one.
        self.over.insert(id, over.clone());
        if let Over::Island { spaces } = &over {
            let links = Links::open()?;
            let bridge = FIRST_ISLAND + id;
            links.bridge(bridge, &format!("isle{id}"))?;
            for space in spaces {
                links.at(port(plan, space)?.0, bridge)?;
            }
        }
        Ok(())
    }

    /// Lifts a fault; this thread must stand in the router.
    pub(super) fn lift(&mut self, id: u32, plan: &NetworkPlan) -> io::Result<()> {
        if let Some(Over::Island { spaces }) = self.over.get(&id) {
            let links = Links::open()?;
            for space in spaces {
                let (index, home) = port(plan, space)?;
                links.at(index, home)?;
            }
            match links.delete(FIRST_ISLAND + id) {
                Err(error) if error.raw_os_error() != Some(libc::ENODEV) => return Err(error),
                _ => {}
            }
        }
        self.over.remove(&id);
        Ok(())
    }
}

/// A link where each figure that is as it was left is as it was before.
fn given_back(now: Link, left: Link, was: Link) -> Link {
    fn either<T: PartialEq>(now: T, left: T, was: T) -> T {
        if now == left { was } else { now }
    }
    Link {
        delay_us: either(now.delay_us, left.delay_us, was.delay_us),
        jitter_us: either(now.jitter_us, left.jitter_us, was.jitter_us),
        loss_ppm: either(now.loss_ppm, left.loss_ppm, was.loss_ppm),
        rate_bits: either(now.rate_bits, left.rate_bits, was.rate_bits),
        cut: either(now.cut, left.cut, was.cut),
    }
}

/// Index of a namespace's link in the router, and that of the bridge where it belongs.
fn port(plan: &NetworkPlan, space: &str) -> io::Result<(u32, u32)> {
    let none = || io::Error::new(io::ErrorKind::NotFound, format!("no namespace {space}"));
    let (index, known) = (FIRST_PAIR..)
        .zip(&plan.spaces)
        .find(|(_, known)| known.name == space)
        .ok_or_else(none)?;
    let bridge = FIRST_BRIDGE + u32::try_from(known.data_center).map_err(io::Error::other)?;
    Ok((index, bridge))
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::topology::link::Layer;

    fn delay(ms: u64) -> LinkWords {
        LinkWords {
            delay_us: Some(ms * 1_000),
            ..LinkWords::default()
        }
    }

    fn delays(faults: &Faults) -> Vec<u64> {
        faults.below().iter().map(|l| l.delay_us / 1_000).collect()
    }

    #[test]
    fn what_is_lent_comes_back_unless_somebody_else_has_changed_it() {
        let mut faults = Faults::new(vec![Link::default(); 4]);
        faults.change(0, delay(10));
        // Twice in one conversation: it comes back as it was before the first.
        faults.lend(0, delay(20), 1);
        faults.lend(0, delay(30), 1);
        faults.lend(1, delay(30), 1);
        faults.lend(2, delay(30), 1);
        faults.lend(9, delay(30), 1);
        // Another figure, the same one, and the same one before it is changed once more.
        let lossy = LinkWords {
            loss_ppm: Some(5),
            ..LinkWords::default()
        };
        faults.change(0, lossy);
        faults.change(1, delay(5));
        faults.change(2, delay(6));
        faults.lend(2, delay(40), 1);
        faults.take_back(1);
        assert_eq!(delays(&faults), [10, 5, 6, 0]);
        assert_eq!(faults.below()[0].loss_ppm, 5);
        faults.take_back(1);
        assert_eq!(delays(&faults), [10, 5, 6, 0]);
    }

    #[test]
    fn two_who_borrow_leave_nothing_of_either_whoever_ends_first() {
        for (first, second) in [(1, 2), (2, 1)] {
            let mut faults = Faults::new(vec![Link::default()]);
            faults.change(0, delay(20));
            faults.lend(0, delay(80), 1);
            faults.lend(0, delay(40), 2);
            faults.take_back(first);
            faults.take_back(second);
            assert_eq!(delays(&faults), [20], "{first} first");
        }
    }

    #[test]
    fn layers_lie_over_what_people_change_and_come_off_one_by_one() {
        let directed = |from: &str, to: &str| Directed {
            from: from.into(),
            to: to.into(),
            link: Link {
                delay_us: 5,
                ..Link::default()
            },
        };
        let plan = [directed("DC1", "DC2"), directed("DC2", "DC1")];
        let mut faults = Faults::new(plan.iter().map(|l| l.link).collect());
        let over = |added_us, cut| Over::Links {
            links: vec![("DC1".into(), "DC2".into())],
            layer: Layer {
                added_us,
                loss_ppm: 0,
                cut,
            },
        };
        faults.over.insert(1, over(10, false));
        faults.over.insert(2, over(0, true));
        let slower = LinkWords {
            delay_us: Some(7),
            ..LinkWords::default()
        };
        faults.change(0, slower);
        let first = faults.links(&plan);
        assert_eq!((first[0].delay_us, first[0].cut), (17, true));
        assert_eq!(first[1], plan[1].link);
        faults.over.remove(&1);
        assert_eq!(faults.ids(), [2]);
        let then = faults.links(&plan)[0];
        assert_eq!((then.delay_us, then.cut), (7, true));
    }
}
