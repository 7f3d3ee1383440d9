//! Netlink messages as bytes: headers, attributes, requests and their acknowledgements.
//! Refuses to know what the messages mean: links, rules and queues are other rooms.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Length of a message's header.
pub(crate) const HEADER: usize = 16;
/// Marks of a request.
pub(crate) const REQUEST: u16 = 0x1;
/// The kernel shall say how it went.
pub(crate) const ACK: u16 = 0x4;
/// Make what is not there; with [`EXCLUSIVE`] refuse what is.
pub(crate) const CREATE: u16 = 0x400;
/// Refuse to replace.
pub(crate) const EXCLUSIVE: u16 = 0x200;
/// Change what is there.
pub(crate) const REPLACE: u16 = 0x100;
/// Tell of all that there is.
pub(crate) const DUMP: u16 = 0x300;

/// The kernel's answer to a request: an error number, or 0.
const ERROR: u16 = 2;
/// The last answer of many.
const DONE: u16 = 3;
/// Attributes that hold attributes.
const NESTED: u16 = 0x8000;

/// Messages under construction.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    bytes: Vec<u8>,
    begins: usize,
    open: Vec<usize>,
    expected: usize,
    sequence: u32,
}

impl Messages {
    /// Starts a message of that kind; `fixed` is what stands before its attributes.
    pub(crate) fn begin(&mut self, kind: u16, flags: u16, fixed: &[u8]) -> &mut Self {
        self.begins = self.bytes.len();
        self.sequence += 1;
        if flags & ACK != 0 {
            self.expected += 1;
        }
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend((flags | REQUEST).to_ne_bytes());
        self.bytes.extend(self.sequence.to_ne_bytes());
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(fixed);
        self.pad();
        self
    }

    /// An attribute with these bytes.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.pad();
        self
    }

    /// A text with the zero at its end that the kernel needs.
    pub(crate) fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// A number in the network's order.
    pub(crate) fn be32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    /// A number in the machine's order.
    pub(crate) fn ne32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// An attribute of attributes, up to its [`Messages::end`].
    pub(crate) fn nest(&mut self, kind: u16) -> &mut Self {
        self.open.push(self.bytes.len());
        self.attribute(kind | NESTED, &[])
    }

    /// What stands before the attributes of a nested one.
    pub(crate) fn fixed(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self.pad();
        self
    }

    /// Ends the innermost nested attribute.
    pub(crate) fn end(&mut self) -> &mut Self {
        if let Some(at) = self.open.pop() {
            let length = u16::try_from(self.bytes.len() - at).unwrap_or(u16::MAX);
            self.bytes[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        }
        self
    }

    /// Ends the message.
    pub(crate) fn done(&mut self) {
        let length = u32::try_from(self.bytes.len() - self.begins).unwrap_or(u32::MAX);
        self.bytes[self.begins..self.begins + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// What was built, to be sent without waiting for an answer.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn pad(&mut self) {
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
    }
}

/// The attributes in these bytes: kind without its marks, and value; what is cut off is left out.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes([*bytes.first()?, *bytes.get(1)?]));
        let kind = u16::from_ne_bytes([*bytes.get(2)?, *bytes.get(3)?]) & 0x3fff;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A conversation with a part of the kernel, in the network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Netlink {
    /// Opens a conversation.
    ///
    /// # Errors
    /// The kernel has no such part.
    pub(crate) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            protocol,
        )?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Self { socket })
    }

    /// Sends without waiting.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.socket, bytes, SendFlags::empty(), &kernel)?;
        Ok(())
    }

    /// One datagram, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` where there is none.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (length, _) = rustix::net::recv(&self.socket, buffer, RecvFlags::DONTWAIT)?;
        Ok(length)
    }

    /// Sends requests and waits for the answer to each that asked for one.
    ///
    /// # Errors
    /// The first that the kernel refuses.
    pub(crate) fn ask(&self, messages: &Messages) -> io::Result<()> {
        self.send(&messages.bytes)?;
        let mut answered = 0;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        while answered < messages.expected {
            let ((answer, _), _) =
                rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            for answer in answers(answer) {
                if answer.kind == ERROR {
                    answer.refused()?;
                    answered += 1;
                }
            }
        }
        Ok(())
    }

    /// Sends a request for all that there is, and hands over what stands behind the header of each answer.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn dump(&self, messages: &Messages, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.send(&messages.bytes)?;
        let mut buffer = vec![MaybeUninit::uninit(); 1 << 16];
        loop {
            let ((answer, _), _) =
                rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            for answer in answers(answer) {
                match answer.kind {
                    DONE => return Ok(()),
                    ERROR => answer.refused()?,
                    _ => each(answer.body),
                }
            }
        }
    }
}

/// A message of the kernel's.
struct Answer<'a> {
    kind: u16,
    body: &'a [u8],
}

impl Answer<'_> {
    /// An error unless its number is 0.
    fn refused(&self) -> io::Result<()> {
        let code = self
            .body
            .first_chunk()
            .map_or(0, |code| i32::from_ne_bytes(*code));
        match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(-code)),
        }
    }
}

/// The messages in these bytes; what is cut off is left out.
fn answers(mut bytes: &[u8]) -> impl Iterator<Item = Answer<'_>> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Answer { kind, body })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_can_be_read() {
        let mut messages = Messages::default();
        messages
            .begin(20, ACK, &[7; 6])
            .text(3, "eth0")
            .nest(18)
            .be32(1, 9)
            .end()
            .done();
        let bytes = messages.bytes();
        assert_eq!(bytes.len() % 4, 0);
        assert_eq!(
            u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize,
            bytes.len()
        );
        let found: Vec<(u16, &[u8])> = attributes(&bytes[HEADER + 8..]).collect();
        assert_eq!(found[0], (3, &b"eth0\0"[..]));
        let inner: Vec<(u16, &[u8])> = attributes(found[1].1).collect();
        assert_eq!((found[1].0, inner), (18, vec![(1, &[0, 0, 0, 9][..])]));
    }

    #[test]
    fn answers_are_distinguished_and_what_is_cut_off_is_none() {
        let mut messages = Messages::default();
        messages.begin(36, 0, &[7; 20]).done();
        messages.begin(ERROR, 0, &(-2_i32).to_ne_bytes()).done();
        let bytes = messages.bytes();
        let found: Vec<(u16, usize)> = answers(bytes).map(|t| (t.kind, t.body.len())).collect();
        assert_eq!(found, [(36, 20), (ERROR, 4)]);
        let refused = answers(bytes).nth(1).unwrap().refused();
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert_eq!(answers(&bytes[..bytes.len() - 1]).count(), 1);
        assert_eq!(answers(&[0; HEADER]).count(), 0);
    }

    #[test]
    fn bytes_that_are_cut_off_end_the_attributes() {
        assert_eq!(attributes(&[8, 0, 1, 0, 1]).count(), 0);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
        assert_eq!(attributes(&[]).count(), 0);
    }
}
