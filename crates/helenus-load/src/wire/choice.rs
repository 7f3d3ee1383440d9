//! Which connection a request takes: to one of its partition's replicas, else to any node that may coordinate.
//! Refuses to send.

use super::dialer::{LONGEST_PAUSE, longer};
use super::link::Link;
use super::map::Peer;
use std::time::Duration;

/// Bytes that are sent before the pass ends: encoding so many takes some ten microseconds.
pub(super) const SENT_AT_ONCE: usize = 16 << 10;

/// A node that may coordinate, or might once its data centre was chosen.
pub(super) struct Node {
    pub(super) peer: Peer,
    pub(super) may_coordinate: bool,
    pub(super) links: Vec<usize>,
    /// Connections that are being opened.
    pub(super) dialled: usize,
    /// How long it is left alone before the next connection to it is opened.
    pub(super) pause: Duration,
    /// When that was made longer.
    paused_ns: u64,
    /// The connection that was chosen last.
    last: usize,
}

impl Node {
    pub(super) fn new(peer: Peer, may_coordinate: bool) -> Self {
        Self {
            peer,
            may_coordinate,
            links: Vec::new(),
            dialled: 0,
            pause: Duration::ZERO,
            paused_ns: 0,
            last: 0,
        }
    }

    /// A connection to it was lost that was opened then and has answered an operation, or not. A node that accepts
    /// connections and drops them is left alone for longer and longer; several of them that were open together count once.
    pub(super) fn lost(&mut self, (opened_ns, has_answered): (u64, bool), now_ns: u64) {
        let lasted = Duration::from_nanos(now_ns.saturating_sub(opened_ns));
        if has_answered || lasted >= LONGEST_PAUSE {
            self.pause = Duration::ZERO;
        } else if opened_ns >= self.paused_ns {
            self.pause = longer(self.pause);
            self.paused_ns = now_ns;
        }
    }

    /// The connection that already has bytes to send, so that the requests of a pass go out together; else one by
    /// these random bits.
    fn link(&mut self, links: &[Option<Link>], random: u64) -> Option<usize> {
        let link = |at: usize| links.get(at)?.as_ref().filter(|link| link.has_room());
        let is_filling = |link: &Link| link.is_filling(SENT_AT_ONCE);
        if self.links.contains(&self.last) && link(self.last).is_some_and(is_filling) {
            return Some(self.last);
        }
        let mut in_turn = turns(random, self.links.len()).map(|turn| self.links[turn]);
        self.last = in_turn.find(|at| link(*at).is_some())?;
        Some(self.last)
    }
}

/// All places below `count`, from a random one on.
fn turns(random: u64, count: usize) -> impl Iterator<Item = usize> {
    let first = random as usize % count.max(1);
    (first..count).chain(0..first)
}

/// The random numbers by which one of several replicas and connections is chosen.
#[derive(Debug)]
pub(super) struct Chooser(u64);

impl Default for Chooser {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Chooser {
    /// The connection for a request whose replicas are these; none where no node may coordinate that has a free stream.
    pub(super) fn choose(
        &mut self,
        nodes: &mut [Node],
        links: &[Option<Link>],
        replicas: &[usize],
    ) -> Option<usize> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // Other bits choose the node than the connection: else each node would have its favourite one.
        let (by_node, by_link) = (self.0 >> 40, self.0 >> 16 & 0xff_ffff);
        let all = nodes.len();
        let mut link = |node: usize| {
            let node = nodes.get_mut(node).filter(|node| node.may_coordinate)?;
            node.link(links, by_link)
        };
        let mut of_replicas = turns(by_node, replicas.len()).map(|turn| replicas[turn]);
        of_replicas
            .find_map(&mut link)
            .or_else(|| turns(by_node, all).find_map(link))
    }
}
