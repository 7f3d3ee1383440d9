//! Links that the kernel's netem holds: one queueing discipline each, and probes that measure how exact they are.
//! Refuses loss and rate of what TCP sends in one piece: where a link has either, senders cut their packets first.

use super::echo::within;
use super::emulator::{monotonic_ns, nanos};
use super::hold::{Carried, Holder, Work};
use super::netlink::{ACK, CREATE, Messages, Netlink, REPLACE, attributes};
use super::probe::{self, Probes};
use super::route::Links;
use super::space::bridge_name;
use helenus_model::distance::BUFFER_NS;
use helenus_model::network::NetworkPlan;
use helenus_model::topology::link::Link;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS: u16 = 3;
const NETEM_RATE: u16 = 6;
const NETEM_RATE64: u16 = 8;
const NETEM_LATENCY64: u16 = 10;
const NETEM_JITTER64: u16 = 11;
/// Each message starts with `struct tcmsg`.
const TCMSG: usize = 20;
const ROOT: u32 = u32::MAX;
const HANDLE: u32 = 1 << 16;

/// Packets that a link may hold: 150 ms of 10 Gbit/s.
pub(super) const LIMIT: u32 = 131_072;

/// Of this size are the packets in which the room of a limited link is counted. netem counts nothing but packets, also
/// those that are merely under way: were they thought of as full ones, small ones would be lost on a link that has room.
const COUNTED_BYTES: u64 = 512;

/// A rate that limits nothing. With any rate netem keeps packets in their order, which it does not where there is
/// jitter, or where a delay becomes shorter; and a rate that was there before goes only with another.
const NO_LIMIT_BITS: u64 = 800_000_000_000;

/// Index of the first link that crosses in the router; two each.
const FIRST_CROSS: u32 = 10_000;

/// Number of the first data centre's table of routes.
const FIRST_TABLE: u8 = 100;

/// What is held where.
pub(super) struct Netem {
    state: Mutex<State>,
    work: Mutex<Work>,
    spaces: Vec<OwnedFd>,
    begin_ns: u64,
}

struct State {
    links: Vec<Link>,
    /// Whether senders cut their packets.
    cut_up: bool,
}

/// Makes the ways between data centres in the router, in which this thread stands: what comes from a data centre's
/// bridge and is for another leaves through a pair of links of its own, and comes in again at its other end.
///
/// # Errors
/// The kernel has no netem, or no routes by where a packet comes from.
pub(super) fn build(plan: &NetworkPlan) -> io::Result<()> {
    let links = Links::open()?;
    for (site, table) in (0..plan.sites.len()).zip(FIRST_TABLE..) {
        links.by_origin(&bridge_name(site), table)?;
    }
    for (place, (directed, index)) in plan.links.iter().zip(crossings()).enumerate() {
        let ends = plan.ends(directed);
        let (from, to) = ends.ok_or(io::ErrorKind::NotFound)?;
        links.crossing(index, place)?;
        hold(&Netlink::open(None)?, index, directed.link)?;
        let table = FIRST_TABLE + u8::try_from(from).map_err(io::Error::other)?;
        let [a, b, c, _] = plan.sites[to].gateway.octets();
        links.through(table, Ipv4Addr::new(a, b, c, 0), index)?;
    }
    Ok(())
}

/// Indices of the links at which packets are held.
fn crossings() -> impl Iterator<Item = u32> {
    (FIRST_CROSS..).step_by(2)
}

/// Puts netem on a link, or changes it.
fn hold(netlink: &Netlink, index: u32, link: Link) -> io::Result<()> {
    let mut messages = Messages::default();
    messages.begin(
        NEW_QDISC,
        ACK | CREATE | REPLACE,
        &tcmsg(index, HANDLE, ROOT),
    );
    messages.text(TCA_KIND, "netem");
    options(&mut messages, link);
    messages.done();
    netlink.ask(&messages).map_err(|e| match e.raw_os_error() {
        Some(libc::ENOENT) => io::Error::other("the kernel has no netem"),
        _ => e,
    })
}

fn tcmsg(index: u32, handle: u32, parent: u32) -> [u8; TCMSG] {
    let mut bytes = [0; TCMSG];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&handle.to_ne_bytes());
    bytes[12..16].copy_from_slice(&parent.to_ne_bytes());
    bytes
}

/// `struct tc_netem_qopt`, then what has an attribute of its own: times in nanoseconds, rates in bytes a second.
fn options(messages: &mut Messages, link: Link) {
    let mut fixed = [0; 24];
    fixed[4..8].copy_from_slice(&limit(link).to_ne_bytes());
    fixed[8..12].copy_from_slice(&loss(link).to_ne_bytes());
    let nanos = |us: u64| (us * 1_000).to_ne_bytes();
    messages
        .nest(TCA_OPTIONS)
        .fixed(&fixed)
        .attribute(NETEM_LATENCY64, &nanos(link.delay_us))
        .attribute(NETEM_JITTER64, &nanos(link.jitter_us));
    let bytes = (link.rate_bits.unwrap_or(NO_LIMIT_BITS) / 8).max(1);
    let mut rate = [0; 16];
    rate[..4].copy_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes());
    messages
        .attribute(NETEM_RATE, &rate)
        .attribute(NETEM_RATE64, &bytes.to_ne_bytes())
        .end();
}

/// As a share of 2³².
fn loss(link: Link) -> u32 {
    if link.carries_nothing() {
        return u32::MAX;
    }
    let share = (u64::from(link.loss_ppm) << 32) / 1_000_000;
    u32::try_from(share).unwrap_or(u32::MAX)
}

/// Packets that may be under way and wait for the rate.
fn limit(link: Link) -> u32 {
    let Some(bits) = link.rate_bits else {
        return LIMIT;
    };
    let us = link.delay_us + BUFFER_NS / 1_000;
    let bytes = bits.saturating_mul(us) / 8_000_000;
    u32::try_from(bytes / COUNTED_BYTES).map_or(LIMIT, |packets| packets.clamp(4, LIMIT))
}

impl Netem {
    /// Holds the links that [`build`] made.
    ///
    /// # Errors
    /// A namespace cannot be entered.
    pub(super) fn new(
        plan: &NetworkPlan,
        spaces: &BTreeMap<String, OwnedFd>,
        stamped: bool,
    ) -> io::Result<Self> {
        let links: Vec<Link> = plan.links.iter().map(|l| l.link).collect();
        let spaces = spaces.values().map(OwnedFd::try_clone);
        let netem = Self {
            state: Mutex::new(State {
                links: links.clone(),
                cut_up: false,
            }),
            work: Mutex::new(Work {
                stamped,
                ..Work::default()
            }),
            spaces: spaces.collect::<io::Result<_>>()?,
            begin_ns: monotonic_ns(),
        };
        // The topology itself may have links whose senders must cut their packets.
        if let Some(first) = links.first() {
            netem.change(0, *first)?;
        }
        Ok(netem)
    }

    /// Probes the links in turn until the process ends.
    ///
    /// # Errors
    /// The sockets are gone.
    pub(super) fn probe(&self, probes: &Probes) -> io::Result<()> {
        let mut next_ns = monotonic_ns();
        let mut turn = 0;
        loop {
            let now = monotonic_ns();
            if now >= next_ns {
                // The links may not change between being looked at and being probed.
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                probes.send(&state.links, turn);
                drop(state);
                turn += 1;
                next_ns = (next_ns + probe::EVERY_NS).max(now);
            }
            let late = probes.arrived(next_ns.saturating_sub(now))?;
            let cpu = nanos(clock_gettime(ClockId::ThreadCPUTime)) / 1_000;
            let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            work.wakes += 1;
            work.cpu_us = cpu;
            late.into_iter().for_each(|late_us| work.late(late_us));
        }
    }
}

impl Holder for Netem {
    fn links(&self) -> Vec<Link> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.links.clone()
    }

    fn change(&self, place: usize, link: Link) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((known, index)) = state.links.iter_mut().zip(crossings()).nth(place) else {
            return Ok(());
        };
        hold(&Netlink::open(None)?, index, link)?;
        *known = link;
        let cut_up = state.links.iter().any(Link::wants_single_packets);
        if cut_up != state.cut_up {
            for space in &self.spaces {
                within(space, || Links::open()?.segments(2, cut_up))?;
            }
            state.cut_up = cut_up;
        }
        Ok(())
    }

    fn counters(&self) -> (Work, Vec<Carried>) {
        let mut work = self
            .work
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        work.up_us = (monotonic_ns() - self.begin_ns) / 1_000;
        let count = self.links().len();
        let carried = carried(count).unwrap_or_else(|error| {
            tracing::warn!(%error, "what the links carried cannot be read");
            vec![Carried::default(); count]
        });
        (work, carried)
    }
}

/// What the kernel counted at each link.
fn carried(links: usize) -> io::Result<Vec<Carried>> {
    let mut messages = Messages::default();
    messages
        .begin(GET_QDISC, super::netlink::DUMP, &tcmsg(0, 0, 0))
        .done();
    let mut all = vec![Carried::default(); links];
    Netlink::open(None)?.dump(&messages, |answer| {
        if let Some((index, counts)) = counted(answer)
            && let Some(place) = crossings().take(links).position(|known| known == index)
        {
            all[place] = counts;
        }
    })?;
    Ok(all)
}

/// Index of a link and what netem counted there, of one answer; none where something else is on the link.
fn counted(answer: &[u8]) -> Option<(u32, Carried)> {
    let index = u32::from_ne_bytes(answer.get(4..8)?.try_into().ok()?);
    let mut counts = None;
    let mut netem = false;
    for (kind, value) in attributes(answer.get(TCMSG..)?) {
        match kind {
            TCA_KIND => netem = value.starts_with(b"netem\0"),
            TCA_STATS => {
                // struct tc_stats: bytes, packets, drops, overlimits, bits and packets a second, length, backlog.
                let u32_at = |at: usize| {
                    let bytes = value.get(at..at + 4)?.try_into().ok()?;
                    Some(u64::from(u32::from_ne_bytes(bytes)))
                };
                counts = Some(Carried {
                    bytes: u64::from_ne_bytes(value.get(..8)?.try_into().ok()?),
                    packets: u32_at(8)?,
                    lost: u32_at(12)?,
                    held: u32_at(28)?,
                });
            }
            _ => {}
        }
    }
    counts.filter(|_| netem).map(|counts| (index, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes_of(link: Link) -> (Vec<u8>, BTreeMap<u16, Vec<u8>>) {
        let mut messages = Messages::default();
        messages.begin(NEW_QDISC, ACK, &tcmsg(7, HANDLE, ROOT));
        options(&mut messages, link);
        messages.done();
        let bytes = messages.bytes()[super::super::netlink::HEADER + TCMSG..].to_vec();
        let (kind, value) = attributes(&bytes).next().expect("options");
        assert_eq!(kind, TCA_OPTIONS);
        let own = attributes(&value[24..]).map(|(kind, value)| (kind, value.to_vec()));
        (value[..24].to_vec(), own.collect())
    }

    #[test]
    fn a_link_becomes_the_options_that_netem_reads() {
        let (fixed, own) = attributes_of(Link {
            delay_us: 40_000,
            loss_ppm: 250_000,
            ..Link::default()
        });
        assert_eq!(own[&NETEM_LATENCY64], 40_000_000_u64.to_ne_bytes());
        assert_eq!(fixed[8..12], (1_u32 << 30).to_ne_bytes());
        // Without a rate the last one would stay, and packets would overtake each other.
        assert_eq!(own[&NETEM_RATE64], (NO_LIMIT_BITS / 8).to_ne_bytes());
        let (fixed, own) = attributes_of(Link {
            delay_us: 40_000,
            jitter_us: 1_000,
            rate_bits: Some(100_000_000),
            cut: true,
            ..Link::default()
        });
        assert_eq!(own[&NETEM_RATE64], 12_500_000_u64.to_ne_bytes());
        assert_eq!(fixed[8..12], u32::MAX.to_ne_bytes());
        assert_eq!(own[&NETEM_JITTER64], 1_000_000_u64.to_ne_bytes());
        // 140 ms of 12.5 MB/s, in packets of 512 bytes.
        assert_eq!(fixed[4..8], 3_417_u32.to_ne_bytes());
        let slow = Link {
            rate_bits: Some(8_000),
            ..Link::default()
        };
        assert_eq!(limit(slow), 4);
    }

    #[test]
    fn what_is_counted_is_read_and_other_disciplines_are_not() {
        let answer = |kind: &str| {
            let mut stats = 4_500_u64.to_ne_bytes().to_vec();
            for number in [3_u32, 1, 0, 0, 0, 2, 0] {
                stats.extend(number.to_ne_bytes());
            }
            let mut messages = Messages::default();
            messages
                .begin(NEW_QDISC, 0, &tcmsg(FIRST_CROSS, HANDLE, ROOT))
                .text(TCA_KIND, kind)
                .attribute(TCA_STATS, &stats)
                .done();
            messages.bytes()[super::super::netlink::HEADER..].to_vec()
        };
        let expected = Carried {
            packets: 3,
            bytes: 4_500,
            lost: 1,
            held: 2,
        };
        assert_eq!(counted(&answer("netem")), Some((FIRST_CROSS, expected)));
        assert_eq!(counted(&answer("noqueue")), None);
        assert_eq!(counted(&[0; 6]), None);
    }
}
