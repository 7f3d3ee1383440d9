//! The keeper: the hidden verb that makes a cluster's network, holds it, and serves its socket.
//! Refuses to start anything, and to live on when its folder is gone.

use super::build::{self, Network};
use super::control::{Answer, Ask, First, STATUS_VERSION, Status, receive, send, short};
use super::echo::{self, Way};
use super::emulator::{Emulator, Shared, stamps};
use super::faults::Faults;
use super::hold::Holder;
use super::netem::Netem;
use super::probe::Probes;
use super::rules;
use super::traffic;
use super::{Keep, PLAN_FILE, SOCKET};
use crate::alive;
use crate::error::with_causes;
use crate::stored::there;
use fs_err as fs;
use helenus_model::format::Format;
use helenus_model::network::{NetworkPlan, client_of};
use helenus_model::seed::Seed;
use helenus_model::topology::link::{Directed, Link, LinkWords};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the keeper looks whether its folder is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Between two tries to take a call that the kernel refuses.
const CALLS_AGAIN: Duration = Duration::from_millis(20);

struct Kept {
    plan: NetworkPlan,
    network: Held,
    holder: Arc<dyn Holder>,
    faults: Mutex<Faults>,
    conversations: AtomicU64,
    ending: AtomicBool,
}

/// The network, less what its holder took.
struct Held {
    user: Option<OwnedFd>,
    spaces: BTreeMap<String, OwnedFd>,
    way: &'static str,
    settings: BTreeMap<String, String>,
}

/// Becomes the keeper of the cluster whose keeper's folder this is; says one line on standard output when the
/// network is there, or why it is not.
///
/// # Errors
/// The folder cannot be read, the claim is held, or the network cannot be made.
pub fn run(folder: &Path) -> io::Result<()> {
    let text = fs::read_to_string(folder.join(PLAN_FILE))?;
    let keep: Keep = serde_json::from_str(&text).map_err(io::Error::other)?;
    if let Some(parent) = keep.leash {
        crate::process::end_with(parent)?;
    }
    // First of all, as with a node: until it is taken, nobody knows of this process.
    let claim = alive::take(folder)?;
    let flags = rustix::io::fcntl_getfd(&claim)?;
    rustix::io::fcntl_setfd(&claim, flags | rustix::io::FdFlags::CLOEXEC)?;
    rustix::process::setsid()?;
    let network = build::build(&keep.plan).map_err(|error| failed(&error, error.cure))?;
    let Network {
        user,
        spaces,
        held,
        tcp,
    } = network;
    let (holder, way, work) = holder(held, &keep.plan, &spaces).map_err(|error| {
        let cure = format!("the rest is in {}", folder.join(super::LOG).display());
        failed(&error, &cure)
    })?;
    let settings = tcp.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    let links = keep.plan.links.iter().map(|l| l.link).collect();
    let kept = Kept {
        holder,
        faults: Mutex::new(Faults::new(links)),
        network: Held {
            user,
            spaces,
            way,
            settings,
        },
        plan: keep.plan,
        conversations: AtomicU64::new(0),
        ending: AtomicBool::new(false),
    };
    serve(folder, Arc::new(kept), work)
}

/// Says that there will be no network, and why.
fn failed(error: &(dyn std::error::Error + 'static), cure: &str) -> io::Error {
    let why = with_causes(error);
    let first = First::Failed {
        why: why.clone(),
        hint: cure.to_owned(),
    };
    say(&first).err().unwrap_or_else(|| io::Error::other(why))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the keeper is a separate process: its parent reads this line"
)]
fn say(first: &First) -> io::Result<()> {
    let mut line = serde_json::to_string(first).map_err(io::Error::other)?;
    line.push('\n');
    let mut out = io::stdout();
    out.write_all(line.as_bytes())?;
    out.flush()
}

fn serve(folder: &Path, kept: Arc<Kept>, work: Work) -> io::Result<()> {
    let listener = listen(folder)?;
    let working = Arc::clone(&kept);
    // Of this very thread's namespace, the router: threads are born where their maker stands.
    std::thread::Builder::new()
        .name("emulator".into())
        .spawn(move || {
            let end = work();
            tracing::error!(?end, "nobody holds packets any more");
            working.ending.store(true, Ordering::Release);
        })?;
    say(&First::Ready)?;
    accept(folder, &kept, &listener)
}

/// What whoever holds packets does as long as the process lasts.
type Work = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// Whoever holds packets: as it is asked, how packets reach it, and its work.
type Holding = (Arc<dyn Holder>, &'static str, Work);

fn holder(
    held: build::Held,
    plan: &NetworkPlan,
    spaces: &BTreeMap<String, OwnedFd>,
) -> io::Result<Holding> {
    let stamps = stamps();
    match held {
        build::Held::Queues(queues, way) => {
            let links = plan.links.iter().map(|l| l.link);
            let shared = Arc::new(Shared::new(links.collect())?);
            let seed = Seed(plan.seed);
            let asked = Arc::clone(&shared);
            let work = move || Emulator::new(queues, &shared, seed, stamps).run();
            let way = match way {
                rules::Way::Statement => "statement",
                rules::Way::Target => "target",
            };
            Ok((asked, way, Box::new(work)))
        }
        build::Held::Netem => {
            let netem = Arc::new(Netem::new(plan, spaces, stamps.is_some())?);
            let probes = Probes::open(plan, spaces)?;
            let asked = Arc::clone(&netem);
            let work = move || {
                let _while_it_probes = stamps;
                netem.probe(&probes)
            };
            Ok((asked, "netem", Box::new(work)))
        }
    }
}

/// Through the folder's descriptor: a socket's path has room for 107 bytes only.
fn listen(folder: &Path) -> io::Result<UnixListener> {
    there(fs::remove_file(folder.join(SOCKET)))?;
    UnixListener::bind(short(folder)?.path())
}

fn accept(folder: &Path, kept: &Arc<Kept>, listener: &UnixListener) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let look = Timespec {
        tv_sec: LOOK_EVERY.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        let ready = match poll(&mut fds, Some(&look)) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        };
        if kept.ending.load(Ordering::Acquire) || !folder.join(PLAN_FILE).exists() {
            return Ok(());
        }
        if ready == 0 {
            continue;
        }
        let Some(stream) = next(listener) else {
            continue;
        };
        let kept = Arc::clone(kept);
        let started = std::thread::Builder::new().spawn(move || {
            let end = talk(&kept, &stream);
            tracing::debug!(?end, "a conversation ended");
        });
        if let Err(error) = started {
            tracing::warn!(%error, "a conversation cannot begin");
        }
    }
}

/// Whoever calls next. None where the kernel gives no descriptor for it: the network must not end because of it, and
/// conversations that end make room.
fn next(listener: &UnixListener) -> Option<UnixStream> {
    match listener.accept() {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            tracing::warn!(%error, "nobody can call");
            std::thread::sleep(CALLS_AGAIN);
            None
        }
    }
}

/// A conversation; what it was lent comes back with its end, whatever that is.
fn talk(kept: &Kept, stream: &UnixStream) -> io::Result<()> {
    let number = kept.conversations.fetch_add(1, Ordering::Relaxed);
    let end = answers(kept, stream, number);
    kept.take_back(number).and(end)
}

fn answers(kept: &Kept, stream: &UnixStream, number: u64) -> io::Result<()> {
    let mut lent = false;
    loop {
        let (ask, _) = receive::<Ask>(stream)?;
        match ask {
            Ask::Status => send(stream, &Answer::Status(Box::new(kept.status())), &[])?,
            Ask::Dial {
                space,
                to,
                within_ms,
            } => match kept.dial(&space, to, Duration::from_millis(within_ms)) {
                Ok(connection) => send(stream, &Answer::Done, &[connection.as_fd()])?,
                Err(error) => send(stream, &refused(&error), &[])?,
            },
            Ask::Enter { space } => match kept.space(&space) {
                Ok(network) => {
                    let user = kept.network.user.as_ref().map(|user| user.as_fd());
                    let both: Vec<BorrowedFd<'_>> = user.into_iter().chain([network]).collect();
                    send(stream, &Answer::Done, &both)?;
                }
                Err(error) => send(stream, &refused(&error), &[])?,
            },
            Ask::Link { from, to, words } => {
                let lent = lent.then_some(number);
                let changed = kept.change(from.as_deref(), to.as_deref(), words, lent);
                send(stream, &done_or(changed), &[])?;
            }
            Ask::Lend => {
                lent = true;
                send(stream, &Answer::Done, &[])?;
            }
            Ask::GiveBack => {
                let given = kept.take_back(number);
                send(stream, &done_or(given), &[])?;
            }
            Ask::Lay { id, over } => {
                let laid = kept.over(|faults| faults.lay(id, over, &kept.plan));
                send(stream, &done_or(laid), &[])?;
            }
            Ask::Lift { id } => {
                let lifted = kept.over(|faults| faults.lift(id, &kept.plan));
                send(stream, &done_or(lifted), &[])?;
            }
            Ask::Echo { from, to, samples } => {
                let samples = samples.min(100_000);
                let measured = kept.between(&from, &to, |way| echo::measure(way, samples));
                let answer = match measured {
                    Ok(echo) => Answer::Echo(echo),
                    Err(error) => refused(&error),
                };
                send(stream, &answer, &[])?;
            }
            Ask::Datagrams {
                from,
                to,
                rate,
                bytes,
                seconds,
            } => {
                let time = Duration::from_secs(seconds.into());
                let crossed = kept.between(&from, &to, |way| {
                    traffic::datagrams(way, rate, bytes as usize, time)
                });
                send(stream, &crossed_or(crossed), &[])?;
            }
            Ask::Bulk { from, to, seconds } => {
                let time = Duration::from_secs(seconds.into());
                let crossed = kept.between(&from, &to, |way| traffic::bulk(way, time));
                send(stream, &crossed_or(crossed), &[])?;
            }
        }
    }
}

fn done_or(done: io::Result<()>) -> Answer {
    match done {
        Ok(()) => Answer::Done,
        Err(error) => refused(&error),
    }
}

fn crossed_or(crossed: io::Result<traffic::Crossed>) -> Answer {
    match crossed {
        Ok(crossed) => Answer::Crossed(crossed),
        Err(error) => refused(&error),
    }
}

fn refused(error: &io::Error) -> Answer {
    Answer::Refused {
        why: error.to_string(),
        os: error.raw_os_error().or(match error.kind() {
            io::ErrorKind::TimedOut => Some(libc::ETIMEDOUT),
            _ => None,
        }),
    }
}

impl Kept {
    fn space(&self, name: &str) -> io::Result<BorrowedFd<'_>> {
        let space = self.network.spaces.get(name);
        let none = || io::Error::new(io::ErrorKind::NotFound, format!("no namespace {name}"));
        Ok(space.ok_or_else(none)?.as_fd())
    }

    fn dial(&self, space: &str, to: SocketAddr, within: Duration) -> io::Result<TcpStream> {
        self.space(space)?;
        echo::within(&self.network.spaces[space], || {
            TcpStream::connect_timeout(&to, within.max(Duration::from_millis(1)))
        })
    }

    fn links(&self) -> Vec<Directed> {
        self.named(self.holder.links())
    }

    fn named(&self, now: Vec<Link>) -> Vec<Directed> {
        let with = |(known, link): (&Directed, Link)| Directed {
            link,
            ..known.clone()
        };
        self.plan.links.iter().zip(now).map(with).collect()
    }

    fn change(
        &self,
        from: Option<&str>,
        to: Option<&str>,
        words: LinkWords,
        lent: Option<u64>,
    ) -> io::Result<()> {
        let is = |asked: Option<&str>, name: &str| asked.is_none_or(|asked| asked == name);
        self.over(|faults| {
            for (queue, known) in self.plan.links.iter().enumerate() {
                if is(from, &known.from) && is(to, &known.to) {
                    match lent {
                        Some(to) => faults.lend(queue, words, to),
                        None => faults.change(queue, words),
                    }
                }
            }
            Ok(())
        })
    }

    fn take_back(&self, from: u64) -> io::Result<()> {
        self.over(|faults| {
            faults.take_back(from);
            Ok(())
        })
    }

    /// Changes the faults, or what is below them; the emulator follows.
    fn over(&self, change: impl FnOnce(&mut Faults) -> io::Result<()>) -> io::Result<()> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut faults);
        let then = faults.links(&self.plan.links);
        for (place, (now, then)) in self.holder.links().iter().zip(&then).enumerate() {
            if now != then {
                self.holder.change(place, *then)?;
            }
        }
        changed
    }

    /// Does something between the clients' places of two data centres.
    fn between<T>(
        &self,
        from: &str,
        to: &str,
        what: impl FnOnce(&Way<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let (here, there) = (client_of(from), client_of(to));
        self.space(&here)?;
        self.space(&there)?;
        let links = self.links();
        let delay = |a: &str, b: &str| {
            let found = links.iter().find(|l| l.from == a && l.to == b);
            found.map_or(0, |l| l.link.delay_us)
        };
        let address = self.plan.space(&there).map(|space| space.address);
        let way = Way {
            from: (from, &self.network.spaces[&here]),
            to: (
                to,
                &self.network.spaces[&there],
                address.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED),
            ),
            asked_us: delay(from, to) + delay(to, from),
        };
        what(&way)
    }

    fn status(&self) -> Status {
        let (work, carried) = self.holder.counters();
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        Status {
            format: Format::new("network-status", STATUS_VERSION),
            links: self.links(),
            below: self.named(faults.below().to_vec()),
            carried,
            work,
            wan: self.plan.wan,
            way: self.network.way.to_owned(),
            user_namespace: self.network.user.is_some(),
            settings: self.network.settings.clone(),
            faults: faults.ids(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_cannot_be_taken_ends_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = listen(folder.path()).expect("listens");
        listener.set_nonblocking(true).expect("set");
        // Any error will do: nobody calls.
        assert!(next(&listener).is_none());
        let path = short(folder.path()).expect("a path");
        let _caller = UnixStream::connect(path.path()).expect("calls");
        assert!(next(&listener).is_some());
    }
}
