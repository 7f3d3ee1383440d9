//! The kernel's packet queues: what waits there, how long it is, and the verdicts that let it go.
//! Refuses to look further into a packet than its addresses and ports.

use super::netlink::{ACK, HEADER, Messages, Netlink, attributes};
use rustix::net::netlink;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

const QUEUE: u16 = 3 << 8;
const VERDICT: u16 = QUEUE | 1;
const CONFIG: u16 = QUEUE | 2;
const VERDICT_BATCH: u16 = QUEUE | 3;
const CFG_COMMAND: u16 = 1;
const CFG_PARAMETERS: u16 = 2;
const CFG_LENGTH: u16 = 3;
const CFG_MASK: u16 = 4;
const CFG_FLAGS: u16 = 5;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Packets that the kernel has not cut into segments are handed over whole.
const WHOLE: u32 = 4;
const PACKET_HEADER: u16 = 1;
const VERDICT_HEADER: u16 = 2;
const TIMESTAMP: u16 = 4;
const PAYLOAD: u16 = 10;
const FULL_LENGTH: u16 = 13;
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// Bytes of a packet that are copied: the longest IPv4 header and two ports.
const COPIED: u32 = 64;

/// Packets that one queue may hold: a second at the 60,000 a second that one core can decide on.
pub(crate) const QUEUE_LENGTH: u32 = 65_536;

/// Bytes of queued messages that the socket may hold.
const SOCKET_BYTES: usize = 16 << 20;

/// A packet that waits for its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet {
    /// Number of its queue.
    pub(super) queue: u16,
    /// Its number in the queue, ascending.
    pub(super) id: u32,
    /// Its whole length in bytes, from the IP header on.
    pub(super) bytes: u32,
    /// A number that packets of one connection and direction share.
    pub(super) flow: u64,
    /// When it came in by the wall clock in microseconds, where the kernel stamps.
    pub(super) came_us: Option<u64>,
}

/// All queues of a router, through one socket.
#[derive(Debug)]
pub(super) struct Queues {
    netlink: Netlink,
    buffer: Vec<u8>,
}

impl AsFd for Queues {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.netlink.as_fd()
    }
}

impl Queues {
    /// Binds to queues 0 to `count` − 1 of this thread's namespace.
    ///
    /// # Errors
    /// The kernel has no queues, or refuses.
    pub(super) fn open(count: u16) -> io::Result<Self> {
        let netlink = Netlink::open(Some(netlink::NETFILTER))?;
        // Beyond net.core.rmem_max only with CAP_NET_ADMIN; a smaller one loses packets sooner, and counts them.
        let _smaller =
            rustix::net::sockopt::set_socket_recv_buffer_size_force(&netlink, SOCKET_BYTES)
                .or_else(|_| {
                    rustix::net::sockopt::set_socket_recv_buffer_size(&netlink, SOCKET_BYTES)
                });
        let mut parameters = [0; 5];
        parameters[..4].copy_from_slice(&COPIED.to_be_bytes());
        parameters[4] = COPY_PACKET;
        for queue in 0..count {
            let mut m = Messages::default();
            m.begin(CONFIG, ACK, &general(queue))
                .attribute(CFG_COMMAND, &[BIND, 0, 0, 0])
                .done();
            m.begin(CONFIG, ACK, &general(queue))
                .attribute(CFG_PARAMETERS, &parameters)
                .be32(CFG_LENGTH, QUEUE_LENGTH)
                .be32(CFG_FLAGS, WHOLE)
                .be32(CFG_MASK, WHOLE)
                .done();
            netlink.ask(&m)?;
        }
        Ok(Self {
            netlink,
            buffer: vec![0; 1 << 16],
        })
    }

    /// The next packet, without waiting; none where nothing more is there.
    ///
    /// # Errors
    /// The kernel could not hand over all that came: `ENOBUFS`.
    pub(super) fn next(&mut self) -> io::Result<Option<Packet>> {
        loop {
            let length = match self.netlink.receive(&mut self.buffer) {
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) => return Err(e),
            };
            if let Some(packet) = parse(&self.buffer[..length]) {
                return Ok(Some(packet));
            }
        }
    }

    /// Lets go every packet of the queue up to and including this number.
    pub(super) fn accept_up_to(&self, queue: u16, id: u32) -> io::Result<()> {
        self.verdict(VERDICT_BATCH, queue, id, ACCEPT)
    }

    /// Lets one packet go.
    pub(super) fn accept(&self, queue: u16, id: u32) -> io::Result<()> {
        self.verdict(VERDICT, queue, id, ACCEPT)
    }

    /// Lets one packet be lost.
    pub(super) fn drop(&self, queue: u16, id: u32) -> io::Result<()> {
        self.verdict(VERDICT, queue, id, DROP)
    }

    /// Whether packets are handed over uncut: right for delay alone, wrong where single packets are lost or paced.
    pub(super) fn whole(&self, queue: u16, whole: bool) -> io::Result<()> {
        let mut m = Messages::default();
        m.begin(CONFIG, 0, &general(queue))
            .be32(CFG_FLAGS, if whole { WHOLE } else { 0 })
            .be32(CFG_MASK, WHOLE)
            .done();
        self.netlink.send(m.bytes())
    }

    fn verdict(&self, kind: u16, queue: u16, id: u32, verdict: u32) -> io::Result<()> {
        let mut value = [0; 8];
        value[..4].copy_from_slice(&verdict.to_be_bytes());
        value[4..].copy_from_slice(&id.to_be_bytes());
        let mut m = Messages::default();
        m.begin(kind, 0, &general(queue))
            .attribute(VERDICT_HEADER, &value)
            .done();
        self.netlink.send(m.bytes())
    }
}

/// `struct nfgenmsg` of a queue.
fn general(queue: u16) -> [u8; 4] {
    let [high, low] = queue.to_be_bytes();
    [0, 0, high, low]
}

/// A packet's message; other messages are none.
fn parse(message: &[u8]) -> Option<Packet> {
    if u16::from_ne_bytes([*message.get(4)?, *message.get(5)?]) != QUEUE {
        return None;
    }
    let queue = u16::from_be_bytes([*message.get(HEADER + 2)?, *message.get(HEADER + 3)?]);
    let mut packet = Packet {
        queue,
        id: 0,
        bytes: 0,
        flow: 0,
        came_us: None,
    };
    let mut full = None;
    for (kind, value) in attributes(message.get(HEADER + 4..)?) {
        match kind {
            PACKET_HEADER => packet.id = be32(value)?,
            TIMESTAMP => packet.came_us = stamp(value),
            FULL_LENGTH => full = be32(value),
            PAYLOAD => {
                packet.bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
                packet.flow = flow(value);
            }
            _ => {}
        }
    }
    packet.bytes = full.unwrap_or(packet.bytes);
    Some(packet)
}

fn be32(value: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(value.get(..4)?.try_into().ok()?))
}

/// Seconds and microseconds.
fn stamp(value: &[u8]) -> Option<u64> {
    let seconds = u64::from_be_bytes(value.get(..8)?.try_into().ok()?);
    let micros = u64::from_be_bytes(value.get(8..16)?.try_into().ok()?);
    seconds.checked_mul(1_000_000)?.checked_add(micros)
}

/// Addresses and ports, mixed into one number.
fn flow(packet: &[u8]) -> u64 {
    let header = usize::from(packet.first().copied().unwrap_or(0) & 0x0f) * 4;
    let addresses = packet.get(12..20).unwrap_or_default();
    let ports = packet.get(header..header + 4).unwrap_or_default();
    addresses.iter().chain(ports).fold(0, |sum, byte| {
        helenus_model::seed::mix(sum ^ u64::from(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: u32) -> Vec<u8> {
        let mut header = [0; 28];
        header[0] = 0x45;
        header[12..20].copy_from_slice(&[10, 1, 1, 1, 10, 1, 2, 1]);
        header[20..24].copy_from_slice(&[0x9c, 0x40, 0x1b, 0x58]);
        let mut m = Messages::default();
        m.begin(QUEUE, 0, &general(5))
            .attribute(PACKET_HEADER, &[0, 0, 1, 2, 8, 0, 2])
            .attribute(PAYLOAD, &header)
            .be32(FULL_LENGTH, length)
            .done();
        m.bytes().to_vec()
    }

    #[test]
    fn a_packet_is_read_with_its_whole_length() {
        let packet = parse(&message(1500)).unwrap();
        assert_eq!((packet.queue, packet.id, packet.bytes), (5, 258, 1500));
        assert_eq!(packet.came_us, None);
        assert_eq!(packet.flow, parse(&message(60)).unwrap().flow);
    }

    #[test]
    fn a_message_that_is_cut_off_is_none() {
        let whole = message(1500);
        for end in 0..HEADER + 4 {
            assert_eq!(parse(&whole[..end]), None);
        }
    }
}
