//! Whoever talks to a keeper: starts one, asks for connections and namespaces, changes links, ends it.
//! Refuses to enter a namespace from a process with several threads.

use super::control::{Answer, Ask, First, Over, Status, receive, send, short};
use super::echo::Echo;
use super::traffic::Crossed;
use super::{Keep, LOG, PLAN_FILE, folder_of};
use crate::alive;
use crate::error::{Class, Problem};
use crate::process;
use fs_err as fs;
use helenus_cql::client::Dial;
use helenus_model::network::NetworkPlan;
use helenus_model::topology::flags::TopologyFlags;
use helenus_model::topology::link::LinkWords;
use helenus_model::topology::wan::Wan;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longest wait for a keeper's network: sixteen namespaces take 0.2 s on a quiet machine.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Why a network is not there.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// It cannot be made.
    #[error("cannot create the cluster's network: {why}")]
    Build {
        /// Why.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// The keeper is gone, and the network with it.
    #[error("the network of cluster {cluster} is gone: its keeper is not running")]
    Gone {
        /// Cluster.
        cluster: String,
    },
    /// The keeper refuses.
    #[error("the keeper of the cluster's network refused: {why}")]
    Refused {
        /// Why.
        why: String,
    },
    /// The keeper cannot be started or asked.
    #[error("cannot reach the keeper of the cluster's network")]
    Io(#[from] io::Error),
}

impl Problem for NetError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Build { hint, .. } => Some(hint.clone()),
            Self::Gone { cluster } => Some(format!(
                "`helenus start {cluster}` creates it again and starts the nodes in it"
            )),
            Self::Refused { .. } | Self::Io(_) => None,
        }
    }
}

/// A conversation with the keeper of a cluster.
#[derive(Debug)]
pub struct Keeper {
    stream: UnixStream,
}

/// Whether the keeper of the cluster in this folder runs.
///
/// # Errors
/// Its claim cannot be asked.
pub fn runs(cluster: &Path) -> io::Result<bool> {
    Ok(alive::holder(&folder_of(cluster))?.is_some())
}

/// Starts the keeper of a cluster and waits until the network is there; what exists stays.
///
/// # Errors
/// The network cannot be made, or the keeper not be started.
pub fn start(
    cluster: &Path,
    plan: &NetworkPlan,
    helenus: &Path,
    leashed: bool,
) -> Result<(), NetError> {
    if runs(cluster)? {
        return Ok(());
    }
    let folder = folder_of(cluster);
    fs::create_dir_all(&folder)?;
    let keep = Keep {
        plan: plan.clone(),
        leash: leashed.then(|| rustix::process::getpid().as_raw_pid()),
    };
    // Plan and claim first: whatever comes to be from here on is found by `rm`.
    fs::write(
        folder.join(PLAN_FILE),
        serde_json::to_vec_pretty(&keep).map_err(io::Error::other)?,
    )?;
    alive::create(&folder)?;
    let log = fs::File::create(folder.join(LOG))?.into_parts().0;
    let mut child = Command::new(helenus)
        .arg("__keep")
        .arg(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .current_dir(&folder)
        .spawn()?;
    let first = first_line(&mut child);
    match first {
        Ok(First::Ready) => Ok(()),
        Ok(First::Failed { why, hint }) => {
            let _status = child.wait();
            Err(NetError::Build { why, hint })
        }
        Err(error) => {
            let _already_gone = child.kill();
            let _status = child.wait();
            let log = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
            let why = match log.lines().last() {
                Some(last) => format!("{error}: {last}"),
                None => error.to_string(),
            };
            let hint = format!("its log is {}", folder.join(LOG).display());
            Err(NetError::Build { why, hint })
        }
    }
}

fn first_line(child: &mut std::process::Child) -> io::Result<First> {
    let gone = || io::Error::other("the keeper ended without a message");
    let out = child.stdout.take().ok_or_else(gone)?;
    let (say, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        let _nobody_waits = say.send(read.map(|_| line));
    });
    let line = heard
        .recv_timeout(READY_WITHIN)
        .map_err(io::Error::other)??;
    if line.is_empty() {
        return Err(gone());
    }
    serde_json::from_str(&line).map_err(io::Error::other)
}

/// What a network that was made to try it showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// Whether it was made by an ordinary user.
    pub user_namespace: bool,
    /// Median of the round trips, of which 10 ms were asked, in microseconds.
    pub p50_us: f64,
}

/// Makes a network of two data centres 10 ms apart, held so, measures it, and ends it.
///
/// # Errors
/// It cannot be made.
pub fn try_out(helenus: &Path, wan: Wan) -> Result<Tried, NetError> {
    let flags = TopologyFlags {
        nodes: Some("1:1".into()),
        rtt: vec!["10ms".into()],
        wan: Some(wan),
        ..TopologyFlags::default()
    };
    let wrong = |e: helenus_model::topology::TopologyError| NetError::Io(io::Error::other(e));
    let topology = flags.topology().map_err(wrong)?;
    let plan = NetworkPlan::of(&topology, "try").map_err(wrong)?;
    let folder = tempfile::tempdir()?;
    let tried = plan
        .ok_or(NetError::Io(io::ErrorKind::NotFound.into()))
        .and_then(|plan| {
            start(folder.path(), &plan, helenus, true)?;
            let keeper = Keeper::call(folder.path())?;
            let echo = keeper.echo("DC1", "DC2", 5)?;
            Ok(Tried {
                user_namespace: keeper.status()?.user_namespace,
                p50_us: echo.p50_us,
            })
        });
    end(folder.path())?;
    tried
}

/// Ends the keeper of a cluster, and its network with it.
///
/// # Errors
/// Its claim cannot be asked.
pub fn end(cluster: &Path) -> io::Result<()> {
    if let Some(pid) = alive::holder(&folder_of(cluster))? {
        process::end(pid, Duration::ZERO);
    }
    Ok(())
}

impl Keeper {
    /// Calls the keeper of the cluster in this folder.
    ///
    /// # Errors
    /// [`NetError::Gone`] where there is none.
    pub fn call(cluster: &Path) -> Result<Self, NetError> {
        let gone = |_| NetError::Gone {
            cluster: cluster
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
        };
        let path = short(&folder_of(cluster)).map_err(gone)?;
        let stream = UnixStream::connect(path.path()).map_err(gone)?;
        Ok(Self { stream })
    }

    /// As [`Self::call`], for short questions: each answer is waited for only so long.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn call_within(cluster: &Path, within: Duration) -> Result<Self, NetError> {
        let keeper = Self::call(cluster)?;
        keeper.stream.set_read_timeout(Some(within))?;
        keeper.stream.set_write_timeout(Some(within))?;
        Ok(keeper)
    }

    fn ask(&self, ask: &Ask) -> Result<(Answer, Vec<OwnedFd>), NetError> {
        send(&self.stream, ask, &[])?;
        Ok(receive(&self.stream)?)
    }

    /// How the network is.
    ///
    /// # Errors
    /// The keeper is gone.
    pub fn status(&self) -> Result<Status, NetError> {
        match self.ask(&Ask::Status)?.0 {
            Answer::Status(status) => Ok(*status),
            other => Err(unexpected(other)),
        }
    }

    /// Changes the links from and to these data centres, or all; what is under way arrives as it would have.
    ///
    /// # Errors
    /// The keeper is gone.
    pub fn change(
        &self,
        from: Option<&str>,
        to: Option<&str>,
        words: LinkWords,
    ) -> Result<(), NetError> {
        let ask = Ask::Link {
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
            words,
        };
        self.done(&ask)
    }

    /// Borrows the links: what is changed of them through this from here on is as it was once this is gone, also where
    /// this very process is killed. Faults over them stay, and so does what others change meanwhile.
    ///
    /// # Errors
    /// The keeper is gone.
    pub fn borrow_links(&self) -> Result<(), NetError> {
        self.done(&Ask::Lend)
    }

    /// Gives back what was borrowed and changed, now.
    ///
    /// # Errors
    /// The keeper is gone, and the links with it.
    pub fn give_back(&self) -> Result<(), NetError> {
        self.done(&Ask::GiveBack)
    }

    fn done(&self, ask: &Ask) -> Result<(), NetError> {
        match self.ask(ask)?.0 {
            Answer::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Lays a fault with that number over the network.
    ///
    /// # Errors
    /// The keeper is gone, or the kernel refuses.
    pub fn lay(&self, id: u32, over: Over) -> Result<(), NetError> {
        self.done(&Ask::Lay { id, over })
    }

    /// Lifts the fault with that number, if it is there.
    ///
    /// # Errors
    /// The keeper is gone, or the kernel refuses.
    pub fn lift(&self, id: u32) -> Result<(), NetError> {
        self.done(&Ask::Lift { id })
    }

    /// Measures round trips between two data centres.
    ///
    /// # Errors
    /// The keeper is gone, or nothing comes back.
    pub fn echo(&self, from: &str, to: &str, samples: u32) -> Result<Echo, NetError> {
        let ask = Ask::Echo {
            from: from.to_owned(),
            to: to.to_owned(),
            samples,
        };
        match self.ask(&ask)?.0 {
            Answer::Echo(echo) => Ok(echo),
            other => Err(unexpected(other)),
        }
    }

    /// Sends datagrams of that many bytes at a rate for a while.
    ///
    /// # Errors
    /// The keeper is gone, or the network fails.
    pub fn datagrams(
        &self,
        (from, to): (&str, &str),
        rate: u32,
        bytes: u32,
        seconds: u32,
    ) -> Result<Crossed, NetError> {
        self.crossed(&Ask::Datagrams {
            from: from.to_owned(),
            to: to.to_owned(),
            rate,
            bytes,
            seconds,
        })
    }

    /// Sends as many bytes as one TCP connection carries in a while.
    ///
    /// # Errors
    /// The keeper is gone, or the network fails.
    pub fn bulk(&self, (from, to): (&str, &str), seconds: u32) -> Result<Crossed, NetError> {
        self.crossed(&Ask::Bulk {
            from: from.to_owned(),
            to: to.to_owned(),
            seconds,
        })
    }

    fn crossed(&self, ask: &Ask) -> Result<Crossed, NetError> {
        match self.ask(ask)?.0 {
            Answer::Crossed(crossed) => Ok(crossed),
            other => Err(unexpected(other)),
        }
    }

    /// A connection from that namespace.
    ///
    /// # Errors
    /// As a connection's; the keeper is gone.
    pub fn dial(&self, space: &str, to: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        let ask = Ask::Dial {
            space: space.to_owned(),
            to,
            within_ms: u64::try_from(within.as_millis()).unwrap_or(u64::MAX),
        };
        let (answer, descriptors) = self.ask(&ask).map_err(io::Error::other)?;
        match (answer, descriptors.into_iter().next()) {
            (Answer::Done, Some(connection)) => Ok(connection.into()),
            (Answer::Refused { os: Some(os), .. }, _) => Err(io::Error::from_raw_os_error(os)),
            (Answer::Refused { why, .. }, _) => Err(io::Error::other(why)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// What is to be entered for a namespace: the user's, where there is one, then the network's.
    ///
    /// # Errors
    /// No such namespace.
    pub fn namespaces(&self, space: &str) -> Result<Vec<OwnedFd>, NetError> {
        let ask = Ask::Enter {
            space: space.to_owned(),
        };
        match self.ask(&ask)? {
            (Answer::Done, descriptors) => Ok(descriptors),
            (other, _) => Err(unexpected(other)),
        }
    }

    /// Moves this process into a namespace; it must have one thread only.
    ///
    /// # Errors
    /// No such namespace, or the kernel refuses.
    pub fn enter(&self, space: &str) -> Result<(), NetError> {
        let descriptors = self.namespaces(space)?;
        let kinds = [LinkNameSpaceType::User, LinkNameSpaceType::Network];
        let kinds = &kinds[2 - descriptors.len().min(2)..];
        for (descriptor, kind) in descriptors.iter().zip(kinds) {
            move_into_link_name_space(descriptor.as_fd(), Some(*kind)).map_err(io::Error::from)?;
        }
        Ok(())
    }
}

fn unexpected(answer: Answer) -> NetError {
    match answer {
        Answer::Refused { why, .. } => NetError::Refused { why },
        other => NetError::Refused {
            why: format!("{other:?}"),
        },
    }
}

/// Dials the nodes of a cluster with a network of its own: from each node's own namespace, without distance.
#[derive(Debug, Clone)]
pub struct Dialer {
    cluster: PathBuf,
    plan: NetworkPlan,
}

impl Dialer {
    /// For the cluster in this folder.
    pub fn new(cluster: &Path, plan: &NetworkPlan) -> Self {
        Self {
            cluster: cluster.to_owned(),
            plan: plan.clone(),
        }
    }
}

impl Dial for Dialer {
    fn dial(&self, addr: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        let space = self
            .plan
            .spaces
            .iter()
            .find(|space| IpAddr::V4(space.address) == addr.ip());
        let space = space.ok_or(io::ErrorKind::AddrNotAvailable)?;
        // Whether the keeper is gone or has not begun: nobody answers there.
        let keeper = Keeper::call(&self.cluster)
            .map_err(|error| io::Error::new(io::ErrorKind::ConnectionRefused, error))?;
        let stream = keeper.dial(&space.name, addr, timeout)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
