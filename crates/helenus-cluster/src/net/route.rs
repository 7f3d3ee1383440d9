//! Links, addresses and routes of a namespace, through rtnetlink.
//! Refuses to touch a namespace that is not this thread's.

use super::netlink::{ACK, CREATE, DUMP, EXCLUSIVE, Messages, Netlink, attributes};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, BorrowedFd};

const NEW_LINK: u16 = 16;
const DELETE_LINK: u16 = 17;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const DELETE_ADDRESS: u16 = 21;
const NEW_ROUTE: u16 = 24;
const NEW_RULE: u16 = 32;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DESTINATION: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const FRA_IIFNAME: u16 = 3;
const UP: u32 = 1;
const NO_ARP: u32 = 0x80;
/// Pieces into which the network card cuts what it is given: the kernel's own limit.
const SEGMENTS: u32 = 65_535;
const INET: u8 = 2;

/// The index of `lo` in every namespace.
pub(super) const LOOPBACK: u32 = 1;

/// Packets that may wait in a link of ours.
pub(super) const LINK_QUEUE: u32 = 10_000;

/// The links of this thread's namespace.
pub(crate) struct Links {
    netlink: Netlink,
}

/// `struct ifinfomsg`.
fn link(index: u32, up: bool) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    if up {
        bytes[8..12].copy_from_slice(&UP.to_ne_bytes());
        bytes[12..16].copy_from_slice(&UP.to_ne_bytes());
    }
    bytes
}

impl Links {
    /// Opens them.
    ///
    /// # Errors
    /// The kernel refuses a socket.
    pub(crate) fn open() -> io::Result<Self> {
        let netlink = Netlink::open(None)?;
        Ok(Self { netlink })
    }

    fn ask(&self, build: impl FnOnce(&mut Messages)) -> io::Result<()> {
        let mut messages = Messages::default();
        build(&mut messages);
        self.netlink.ask(&messages)
    }

    /// Makes a bridge with that index and name, up.
    pub(super) fn bridge(&self, index: u32, name: &str) -> io::Result<()> {
        self.ask(|m| {
            m.begin(NEW_LINK, ACK | CREATE | EXCLUSIVE, &link(index, true))
                .text(IFLA_IFNAME, name)
                .nest(IFLA_LINKINFO)
                .text(INFO_KIND, "bridge")
                .end()
                .done();
        })
    }

    /// Makes a pair of links: this end at a bridge here, the other as `eth0` with index 2 in another namespace.
    pub(super) fn pair(
        &self,
        index: u32,
        name: &str,
        bridge: u32,
        other: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let namespace = other.as_raw_fd().cast_unsigned();
        self.ask(|m| {
            m.begin(NEW_LINK, ACK | CREATE | EXCLUSIVE, &link(index, false))
                .text(IFLA_IFNAME, name)
                .ne32(IFLA_TXQLEN, LINK_QUEUE)
                .nest(IFLA_LINKINFO)
                .text(INFO_KIND, "veth")
                .nest(INFO_DATA)
                .nest(VETH_PEER)
                .fixed(&link(2, false))
                .text(IFLA_IFNAME, "eth0")
                .ne32(IFLA_TXQLEN, LINK_QUEUE)
                .ne32(IFLA_NET_NS_FD, namespace)
                .end()
                .end()
                .end()
                .done();
        })?;
        self.at(index, bridge)
    }

    /// Makes a pair of links that both stay here, up: what leaves by this one comes in by the one with the next index.
    ///
    /// Both have one hardware address and ask nobody for others, so packets need no neighbours to pass.
    pub(super) fn crossing(&self, index: u32, place: usize) -> io::Result<()> {
        let number = u16::try_from(place)
            .map_err(io::Error::other)?
            .to_be_bytes();
        // Of the addresses that anybody may choose, and no group's.
        let hardware = [0x02, 0x68, 0x65, 0x6c, number[0], number[1]];
        self.ask(|m| {
            m.begin(NEW_LINK, ACK | CREATE | EXCLUSIVE, &link(index, false))
                .text(IFLA_IFNAME, &format!("x{place}"))
                .attribute(IFLA_ADDRESS, &hardware)
                .nest(IFLA_LINKINFO)
                .text(INFO_KIND, "veth")
                .nest(INFO_DATA)
                .nest(VETH_PEER)
                .fixed(&link(index + 1, false))
                .text(IFLA_IFNAME, &format!("y{place}"))
                .attribute(IFLA_ADDRESS, &hardware)
                .end()
                .end()
                .end()
                .done();
        })?;
        for end in [index, index + 1] {
            let flags = UP | NO_ARP;
            let mut up = link(end, false);
            up[8..12].copy_from_slice(&flags.to_ne_bytes());
            up[12..16].copy_from_slice(&flags.to_ne_bytes());
            self.ask(|m| m.begin(NEW_LINK, ACK, &up).done())?;
        }
        Ok(())
    }

    /// Whether what leaves by a link is cut into packets before, or may leave as one piece of up to 64 KB.
    pub(super) fn segments(&self, index: u32, cut_up: bool) -> io::Result<()> {
        let most = if cut_up { 1 } else { SEGMENTS };
        self.ask(|m| {
            m.begin(NEW_LINK, ACK, &link(index, true))
                .ne32(IFLA_GSO_MAX_SEGS, most)
                .done();
        })?;
        // Kernels before 4.16 take the word and do nothing.
        let mut messages = Messages::default();
        messages.begin(GET_LINK, DUMP, &link(0, false)).done();
        let mut holds = false;
        self.netlink.dump(&messages, |answer| {
            if answer.get(4..8) == Some(&index.to_ne_bytes()[..]) {
                let mut own = attributes(answer.get(16..).unwrap_or_default());
                holds |=
                    own.any(|attribute| attribute == (IFLA_GSO_MAX_SEGS, &most.to_ne_bytes()[..]));
            }
        })?;
        if holds {
            Ok(())
        } else {
            Err(io::Error::other(
                "the kernel does not cut packets before they leave",
            ))
        }
    }

    /// What comes in by the link of that name is routed by that table first.
    pub(super) fn by_origin(&self, name: &str, table: u8) -> io::Result<()> {
        // Family, then the table, and "look there" (1); no flags.
        let fixed = [INET, 0, 0, 0, table, 0, 0, 1, 0, 0, 0, 0];
        self.ask(|m| {
            m.begin(NEW_RULE, ACK | CREATE | EXCLUSIVE, &fixed)
                .text(FRA_IIFNAME, name)
                .done();
        })
    }

    /// In that table, what is for this /24 leaves by that link.
    pub(super) fn through(&self, table: u8, to: Ipv4Addr, index: u32) -> io::Result<()> {
        // Family, /24, the table, static (4), on the link itself (253), unicast (1).
        let fixed = [INET, 24, 0, 0, table, 4, 253, 1, 0, 0, 0, 0];
        self.ask(|m| {
            m.begin(NEW_ROUTE, ACK | CREATE | EXCLUSIVE, &fixed)
                .attribute(RTA_DESTINATION, &to.octets())
                .ne32(RTA_OIF, index)
                .done();
        })
    }

    /// Puts a link at another bridge.
    pub(super) fn at(&self, index: u32, bridge: u32) -> io::Result<()> {
        self.ask(|m| {
            m.begin(NEW_LINK, ACK, &link(index, true))
                .ne32(IFLA_MASTER, bridge)
                .done();
        })
    }

    /// Removes a link, such as a bridge that nothing is at.
    pub(super) fn delete(&self, index: u32) -> io::Result<()> {
        self.ask(|m| m.begin(DELETE_LINK, ACK, &link(index, false)).done())
    }

    /// Switches a link on.
    pub(super) fn up(&self, index: u32) -> io::Result<()> {
        self.ask(|m| m.begin(NEW_LINK, ACK, &link(index, true)).done())
    }

    /// Gives a link an address in a /24.
    pub(super) fn address(&self, index: u32, address: Ipv4Addr) -> io::Result<()> {
        let mut fixed = [INET, 24, 0, 0, 0, 0, 0, 0];
        fixed[4..].copy_from_slice(&index.to_ne_bytes());
        self.ask(|m| {
            m.begin(NEW_ADDRESS, ACK | CREATE | EXCLUSIVE, &fixed)
                .attribute(IFA_LOCAL, &address.octets())
                .attribute(IFA_ADDRESS, &address.octets())
                .done();
        })
    }

    /// Gives a link an address that is no network's, or takes it away.
    pub(crate) fn alias(&self, index: u32, address: Ipv4Addr, add: bool) -> io::Result<()> {
        let mut fixed = [INET, 32, 0, 0, 0, 0, 0, 0];
        fixed[4..].copy_from_slice(&index.to_ne_bytes());
        let (kind, flags) = match add {
            true => (NEW_ADDRESS, ACK | CREATE | EXCLUSIVE),
            false => (DELETE_ADDRESS, ACK),
        };
        self.ask(|m| {
            m.begin(kind, flags, &fixed)
                .attribute(IFA_LOCAL, &address.octets())
                .attribute(IFA_ADDRESS, &address.octets())
                .done();
        })
    }

    /// Sends what is for the gateway's /16, beyond the link's own /24, to the gateway.
    ///
    /// There is no way anywhere else: who looks for a name server gets an error at once, and not after seconds of
    /// silence (Cassandra asks for the names of its peers).
    pub(super) fn beyond(&self, index: u32, gateway: Ipv4Addr) -> io::Result<()> {
        // Family, /16, the main table (254), static (4), everywhere (0), unicast (1).
        let fixed = [INET, 16, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0];
        let [a, b, ..] = gateway.octets();
        self.ask(|m| {
            m.begin(NEW_ROUTE, ACK | CREATE | EXCLUSIVE, &fixed)
                .attribute(RTA_DESTINATION, &[a, b, 0, 0])
                .attribute(RTA_GATEWAY, &gateway.octets())
                .ne32(RTA_OIF, index)
                .done();
        })
    }
}
