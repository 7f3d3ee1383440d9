//! The words that pass through a keeper's socket: a line of JSON each way, descriptors beside the answer.
//! Refuses to decide anything.

use super::SOCKET;
use super::echo::Echo;
use super::hold::{Carried, Work};
use super::traffic::Crossed;
use fs_err as fs;
use helenus_model::format::Format;
use helenus_model::topology::link::{Directed, Layer, LinkWords};
use helenus_model::topology::wan::Wan;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Longest line: the links of 16 data centres both ways are 40 KB.
const LINE: usize = 1 << 18;

/// What a keeper is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Ask {
    /// How it is.
    Status,
    /// A connection from a namespace to an address; it comes as a descriptor.
    Dial {
        /// Name of the namespace.
        space: String,
        /// Where to.
        to: SocketAddr,
        /// Longest wait.
        within_ms: u64,
    },
    /// The namespaces to enter, as descriptors: the user's, where there is one, then the network's.
    Enter {
        /// Name of the namespace.
        space: String,
    },
    /// Change the links that the words are about.
    Link {
        /// Data centre; all where absent.
        from: Option<String>,
        /// Data centre; all where absent.
        to: Option<String>,
        /// What becomes of them.
        words: LinkWords,
    },
    /// Lend the links: what this conversation changes of them from here on is as it was when the conversation ends,
    /// however it ends.
    Lend,
    /// Give back now what was lent and changed.
    GiveBack,
    /// Lay a fault over the network, until it is lifted.
    Lay {
        /// Its number; one that is there already is laid again.
        id: u32,
        /// What.
        over: Over,
    },
    /// Lift a fault off the network; one that is not there is none.
    Lift {
        /// Its number.
        id: u32,
    },
    /// Measure round trips over an established TCP connection between the client's places of two data centres.
    Echo {
        /// Data centre.
        from: String,
        /// Data centre.
        to: String,
        /// How many.
        samples: u32,
    },
    /// Send datagrams from the client's place of one data centre to that of another.
    Datagrams {
        /// Data centre.
        from: String,
        /// Data centre.
        to: String,
        /// A second.
        rate: u32,
        /// In each, at most 1,400.
        bytes: u32,
        /// How long.
        seconds: u32,
    },
    /// Send what one TCP connection carries.
    Bulk {
        /// Data centre.
        from: String,
        /// Data centre.
        to: String,
        /// How long.
        seconds: u32,
    },
}

/// What a fault lays over a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// A layer over these directed links.
    Links {
        /// From and to.
        links: Vec<(String, String)>,
        /// What lies over each.
        layer: Layer,
    },
    /// A separate bridge for these namespaces: they reach only each other.
    Island {
        /// Names of the namespaces.
        spaces: Vec<String>,
    },
}

/// What a keeper answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Answer {
    /// How it is.
    Status(Box<Status>),
    /// Done; descriptors come beside it where they were asked for.
    Done,
    /// Round trips.
    Echo(Echo),
    /// What crossed.
    Crossed(Crossed),
    /// Not done.
    Refused {
        /// Why.
        why: String,
        /// Number of the system's error, where it was one.
        os: Option<i32>,
    },
}

/// A network as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// `helenus.network-status/1`.
    pub format: Format,
    /// Links as they are.
    pub links: Vec<Directed>,
    /// The same without the faults that lie over them.
    #[serde(default)]
    pub below: Vec<Directed>,
    /// What each carried, in their order.
    pub carried: Vec<Carried>,
    /// What whoever holds packets did.
    pub work: Work,
    /// Who holds packets.
    #[serde(default)]
    pub wan: Wan,
    /// How packets reach the queues: `statement` or `target`; `netem` where the kernel holds them.
    pub way: String,
    /// Whether the network was made by an ordinary user.
    pub user_namespace: bool,
    /// Settings of TCP and lengths of queues as they hold.
    pub settings: BTreeMap<String, String>,
    /// Numbers of the faults that lie over it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<u32>,
}

impl Status {
    /// Whether nothing comes back from one data centre to the other as it is now: one way that carries nothing is enough.
    pub fn is_cut(&self, a: &str, b: &str) -> bool {
        let between = |l: &Directed| (l.from == a && l.to == b) || (l.from == b && l.to == a);
        self.links
            .iter()
            .any(|l| l.link.carries_nothing() && between(l))
    }
}

/// Version of [`Status`] as JSON.
pub const STATUS_VERSION: u32 = 1;

/// Sends a line, and descriptors beside it.
///
/// # Errors
/// The other end is gone.
pub(super) fn send<T: Serialize>(
    socket: impl AsFd,
    value: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    let sent = rustix::net::sendmsg(
        &socket,
        &[IoSlice::new(&line)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    let mut rest = &line[sent..];
    while !rest.is_empty() {
        rest = &rest[rustix::net::send(&socket, rest, SendFlags::NOSIGNAL)?..];
    }
    Ok(())
}

/// Receives a line, and the descriptors beside it.
///
/// # Errors
/// The other end is gone, or says something else.
pub(super) fn receive<T: for<'a> Deserialize<'a>>(
    socket: impl AsFd,
) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut line = Vec::new();
    let mut descriptors = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while line.last() != Some(&b'\n') {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::net::recvmsg(
            &socket,
            &mut [IoSliceMut::new(&mut buffer)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        if received.bytes == 0 || line.len() > LINE {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.extend(&buffer[..received.bytes]);
    }
    let value = serde_json::from_slice(&line).map_err(io::Error::other)?;
    Ok((value, descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn lines_and_descriptors_pass() {
        let (a, b) = UnixStream::pair().unwrap();
        let ask = Ask::Enter {
            space: "node1".into(),
        };
        send(&a, &ask, &[a.as_fd(), b.as_fd()]).unwrap();
        let (received, descriptors) = receive::<Ask>(&b).unwrap();
        assert_eq!((received, descriptors.len()), (ask, 2));
        send(&a, &Answer::Done, &[]).unwrap();
        // The descriptors that came are this very end once more.
        drop((a, descriptors));
        assert_eq!(receive::<Answer>(&b).unwrap().0, Answer::Done);
        assert!(receive::<Answer>(&b).is_err());
    }
}

/// The first line that a keeper says to whoever started it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum First {
    /// The network is there.
    Ready,
    /// It could not be made.
    Failed {
        /// Why, with causes.
        why: String,
        /// What to do about it.
        hint: String,
    },
}

/// A path to a folder that is short whatever the folder's is, as long as this lives.
pub(super) struct Short {
    folder: OwnedFd,
}

pub(super) fn short(folder: &Path) -> io::Result<Short> {
    let folder = fs::File::open(folder)?.into_parts().0.into();
    Ok(Short { folder })
}

impl Short {
    pub(super) fn path(&self) -> PathBuf {
        let folder = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        Path::new(&folder).join(SOCKET)
    }
}
