//! Probes of links that nobody of ours holds: datagrams with the time at which they were sent, stamped as they arrive.
//! Refuses to count what the link was meant to do to them: jitter, and waiting for a rate.

use super::echo::within;
use super::emulator::{nanos, time};
use helenus_model::network::{NetworkPlan, client_of};
use helenus_model::topology::link::Link;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Between two probes, of whichever links.
pub(super) const EVERY_NS: u64 = 5_000_000;

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

    /// Sends one over the link whose turn it is; not where it is limited or carries nothing.
    pub(super) fn send(&self, links: &[Link], turn: usize) {
        let place = turn % self.sockets.len().max(1);
        let (Some((sender, _)), Some(link)) = (self.sockets.get(place), links.get(place)) else {
            return;
        };
        if link.carries_nothing() || link.rate_bits.is_some() {
            return;
        }
        let mut datagram = [0; LENGTH];
        datagram[8..16].copy_from_slice(&link.delay_us.to_ne_bytes());
        datagram[16..].copy_from_slice(&link.jitter_us.to_ne_bytes());
        datagram[..8].copy_from_slice(&wall_ns().to_ne_bytes());
        let _one_probe_less = sender.send(&datagram);
    }

    /// What arrives until something has, or so many nanoseconds have passed: by how much each was late, or early, in
    /// microseconds.
    ///
    /// # Errors
    /// The sockets are gone.
    pub(super) fn arrived(&self, nanos: u64) -> io::Result<Vec<u64>> {
        let receivers = self.sockets.iter().map(|(_, receiver)| receiver);
        let mut fds: Vec<PollFd<'_>> = receivers.map(|r| PollFd::new(r, PollFlags::IN)).collect();
        match poll(&mut fds, time(nanos).as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(e) => return Err(e.into()),
        }
        let mut late = Vec::new();
        for ((_, receiver), fd) in self.sockets.iter().zip(&fds) {
            if fd.revents().is_empty() {
                continue;
            }
            let mut datagram = [0; LENGTH];
            while let Ok(LENGTH) = receiver.recv(&mut datagram) {
                late.extend(lateness(&datagram, stamp(receiver).unwrap_or_else(wall_ns)));
            }
        }
        Ok(late)
    }
}

/// By how much a datagram that came then was late, or early, beyond what its link was meant to do; none where it came
/// before it was sent, by a clock that was set back.
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
    nanos(clock_gettime(ClockId::Realtime))
}

/// When the kernel saw what was received last from this socket, by the wall clock.
fn stamp(socket: &UdpSocket) -> Option<u64> {
    // Of `linux/sockios.h`.
    const SIOCGSTAMPNS: libc::Ioctl = 0x8907;
    let mut came = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one `struct timespec` there, which this is, and the socket is open.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS, &raw mut came) };
    (done == 0).then(|| nanos(came))
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
