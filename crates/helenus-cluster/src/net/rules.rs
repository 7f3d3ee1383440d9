//! The rules of the router: what crosses from one data centre to another goes to a queue of its own.
//! Refuses to hold or change a packet: that is the queue's.
//!
//! nf_tables has a statement `queue` of its own; kernels without it still have the target of iptables, which is
//! reached through the same tables. Either way no program is needed.

use super::netlink::{ACK, CREATE, Messages, Netlink};
use rustix::net::netlink;
use std::io;

const TABLES: u16 = 10 << 8;
const NEW_TABLE: u16 = TABLES;
const NEW_CHAIN: u16 = TABLES | 3;
const NEW_RULE: u16 = TABLES | 6;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const INET_FORWARD: u32 = 2;
/// Before anything that might change addresses: iptables' mangle.
const PRIORITY: i32 = -150;
const META_IIF: u32 = 4;
const META_OIF: u32 = 5;
const REGISTER: u32 = 1;

/// `struct nfgenmsg` for IPv4.
const GENERAL: [u8; 4] = [2, 0, 0, 0];
/// `struct nfgenmsg` of a batch: it names the part of netfilter.
const BATCH: [u8; 4] = [0, 0, 0, 10];

/// One directed pair of data centres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    /// Index of the bridge that a packet comes from.
    pub(super) from: u32,
    /// Index of the bridge that it goes to.
    pub(super) to: u32,
    /// Number of the queue.
    pub(super) queue: u16,
}

/// How packets reach the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The statement of nf_tables.
    Statement,
    /// The target of iptables.
    Target,
}

/// Writes the rules into this thread's namespace.
///
/// # Errors
/// The kernel has neither way.
pub(super) fn write(pairs: &[Pair]) -> io::Result<Way> {
    let first = write_by(pairs, Way::Statement);
    if first.is_ok() {
        return Ok(Way::Statement);
    }
    write_by(pairs, Way::Target).map(|()| Way::Target)
}

fn write_by(pairs: &[Pair], way: Way) -> io::Result<()> {
    let mut m = Messages::default();
    m.begin(BATCH_BEGIN, 0, &BATCH).done();
    m.begin(NEW_TABLE, ACK | CREATE, &GENERAL)
        .text(1, "helenus")
        .done();
    m.begin(NEW_CHAIN, ACK | CREATE, &GENERAL)
        .text(1, "helenus")
        .text(3, "crossing")
        .nest(4)
        .be32(1, INET_FORWARD)
        .be32(2, PRIORITY.cast_unsigned())
        .end()
        .text(7, "filter")
        .done();
    for pair in pairs {
        m.begin(NEW_RULE, ACK | CREATE | 0x800, &GENERAL)
            .text(1, "helenus")
            .text(2, "crossing")
            .nest(4);
        is(&mut m, META_IIF, pair.from);
        is(&mut m, META_OIF, pair.to);
        to_queue(&mut m, pair.queue, way);
        m.end().done();
    }
    m.begin(BATCH_END, 0, &BATCH).done();
    Netlink::open(Some(netlink::NETFILTER))?.ask(&m)
}

/// Continues only where that fact of the packet is this index.
fn is(m: &mut Messages, fact: u32, index: u32) {
    m.nest(1)
        .text(1, "meta")
        .nest(2)
        .be32(1, REGISTER)
        .be32(2, fact)
        .end()
        .end();
    m.nest(1)
        .text(1, "cmp")
        .nest(2)
        .be32(1, REGISTER)
        .be32(2, 0)
        .nest(3)
        .attribute(1, &index.to_ne_bytes())
        .end()
        .end()
        .end();
}

fn to_queue(m: &mut Messages, queue: u16, way: Way) {
    m.nest(1);
    match way {
        Way::Statement => {
            m.text(1, "queue")
                .nest(2)
                .attribute(1, &queue.to_be_bytes())
                .attribute(2, &1_u16.to_be_bytes());
        }
        Way::Target => {
            // struct xt_NFQ_info of revision 0, padded to eight bytes as the kernel aligns it.
            let mut info = [0; 8];
            info[..2].copy_from_slice(&queue.to_ne_bytes());
            m.text(1, "target")
                .nest(2)
                .text(1, "NFQUEUE")
                .be32(2, 0)
                .attribute(3, &info);
        }
    }
    m.end().end();
}
