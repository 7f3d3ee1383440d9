//! Probes of links that nobody of ours holds: datagrams with the time at which they were sent, stamped as they arrive.
//! Refuses to count what the link was meant to do to them: jitter, and waiting for a rate.

use super::echo::within;
use helenus_model::network::{NetworkPlan, client_of};
use helenus_model::topology::link::Link;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Between two probes of a link.
pub(super) const EVERY_NS: u64 = 20_000_000;

/// A datagram: when it was sent by the wall clock, in nanoseconds, and the link's delay and jitter then, in microseconds.
const LENGTH: usize = 24;

/// Probes of all links.
pub(super) struct Probes {
    /// From and to, in the plan's order; both stand where clients do.
    sockets: Vec<(UdpSocket, UdpSocket)>,
}

impl Probes {
    /// Opens a pair of sockets for each link.
    ///
    /// # Errors
    /// A namespace cannot be entered, or has no sockets left.
    pub(super) fn open(plan: &NetworkPlan, spaces: &BTreeMap<String, OwnedFd>) -> io::Result<Self> {
        let none = || io::Error::from(io::ErrorKind::NotFound);
        let place = |data_center: &str| {
            let name = client_of(data_center);
            let address = plan.space(&name).ok_or_else(none)?.address;
            Ok::<_, io::Error>((spaces.get(&name).ok_or_else(none)?, address))
        };
        let mut sockets = Vec::new();
        for directed in &plan.links {
            let ((from, _), (to, address)) = (place(&directed.from)?, place(&directed.to)?);
            let receiver = within(to, || UdpSocket::bind((address, 0)))?;
            let there = receiver.local_addr()?;
            let sender = within(from, || {
                let sender = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
                sender.connect(there)?;
                Ok(sender)
            })?;
            sender.set_nonblocking(true)?;
            receiver.set_nonblocking(true)?;
            sockets.push((sender, receiver));
        }
        Ok(Self { sockets })
    }

    /// Sends one over each of these links that is not limited and not cut.
    pub(super) fn send(&self, links: &[Link]) {
        for ((sender, _), link) in self.sockets.iter().zip(links) {
            if link.cut || link.rate_bits.is_some() {
                continue;
            }
            let mut datagram = [0; LENGTH];
            datagram[8..16].copy_from_slice(&link.delay_us.to_ne_bytes());
            datagram[16..].copy_from_slice(&link.jitter_us.to_ne_bytes());
            datagram[..8].copy_from_slice(&wall_ns().to_ne_bytes());
            let _one_probe_less = sender.send(&datagram);
        }
    }

    /// Until something arrives, or so many nanoseconds have passed.
    ///
    /// # Errors
    /// The sockets are gone.
    pub(super) fn wait(&self, nanos: u64) -> io::Result<()> {
        let receivers = self.sockets.iter().map(|(_, receiver)| receiver);
        let mut fds: Vec<PollFd<'_>> = receivers.map(|r| PollFd::new(r, PollFlags::IN)).collect();
        let time = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(nanos).unwrap_or(0).min(999_999_999),
        };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Tells of each that has arrived by how much it was late, or early, in microseconds.
    pub(super) fn receive(&self, mut late: impl FnMut(u64)) {
        for (_, receiver) in &self.sockets {
            let mut datagram = [0; LENGTH];
            while let Ok(LENGTH) = receiver.recv(&mut datagram) {
                if let Some(us) = lateness(&datagram, stamp(receiver).unwrap_or_else(wall_ns)) {
                    late(us);
                }
            }
        }
    }
}

/// By how much a datagram that came then was late, or early, beyond what its link was meant to do; none where the clock
/// was set meanwhile.
fn lateness(datagram: &[u8; LENGTH], came_ns: u64) -> Option<u64> {
    let at = |k: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&datagram[k..k + 8]);
        u64::from_ne_bytes(bytes)
    };
    let (sent_ns, delay_us, jitter_us) = (at(0), at(8), at(16));
    let took_us = came_ns.checked_sub(sent_ns)? / 1_000;
    Some(took_us.abs_diff(delay_us).saturating_sub(jitter_us))
}

fn wall_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or(0)
}

/// When the kernel saw what was received last from this socket, by the wall clock.
fn stamp(socket: &UdpSocket) -> Option<u64> {
    const SIOCGSTAMPNS: libc::Ioctl = 0x8907;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec there, and the socket is open.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS, &raw mut time) };
    (done == 0)
        .then(|| u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_link_was_not_meant_to_do_counts() {
        let sent = |delay_us: u64, jitter_us: u64| {
            let mut datagram = [0; LENGTH];
            datagram[..8].copy_from_slice(&5_000_000_u64.to_ne_bytes());
            datagram[8..16].copy_from_slice(&delay_us.to_ne_bytes());
            datagram[16..].copy_from_slice(&jitter_us.to_ne_bytes());
            datagram
        };
        assert_eq!(lateness(&sent(20_000, 0), 25_400_000), Some(400));
        assert_eq!(lateness(&sent(20_000, 0), 24_900_000), Some(100));
        assert_eq!(lateness(&sent(20_000, 1_000), 25_400_000), Some(0));
        assert_eq!(lateness(&sent(20_000, 1_000), 26_400_000), Some(400));
        assert_eq!(lateness(&sent(20_000, 0), 4_000_000), None);
    }

    #[test]
    fn a_datagram_has_the_time_at_which_it_came() {
        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        // The first question switches the stamps on.
        assert_eq!(stamp(&receiver), None);
        let to = receiver.local_addr().expect("an address");
        let before = wall_ns();
        sender.send_to(&[7; LENGTH], to).expect("sent");
        receiver.recv(&mut [0; LENGTH]).expect("received");
        let came = stamp(&receiver).expect("a stamp");
        assert!(before <= came && came <= wall_ns(), "{before} {came}");
    }
}
