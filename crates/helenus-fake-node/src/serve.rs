//! One thread that waits for connections, requests and due answers, and sends each answer when it is due.
//! Refuses a second thread on that path: there is nothing to wait for but the kernel's timer.

use crate::answer::{Answer, Database, Keeping, refused};
use crate::mbeans;
use crate::me::Me;
use crate::truth::{Life, Truth};
use helenus_cql::codec::envelope::Version;
use helenus_cql::codec::frame::Inbox;
use helenus_cql::codec::{Envelope, Extras, Header, Request, Response, ServerErrorKind};
use helenus_model::histogram::Histogram;
use helenus_model::seed::Seed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Bytes read at a time: small, so that a due answer never waits long for the requests behind it.
const READ_BYTES: usize = 16 << 10;

/// How long before an answer is due the thread wakes, to look again and again from then on. A virtual machine's
/// timer was late by 36 µs at the median (2 virtual cores of a Xeon, 2026-11), and 40 µs of an operation's
/// milliseconds are little.
const EARLY_NS: u64 = 40_000;

/// A tenth of a second.
const TENTH_NS: u64 = 100_000_000;

/// Serves until the process is ended.
pub(crate) fn run(me: Me) -> io::Result<()> {
    let truth =
        Truth::read(&me.node.jvm).map_err(|e| io::Error::other(format!("{e}; {}", e.hint())))?;
    if !me.peers.is_empty() {
        let why = "a fake node that serves is a cluster of its own: its rows are nobody else's; use one node";
        return Err(io::Error::other(why));
    }
    let seed = Seed(truth.seed.unwrap_or_else(|| clock_ns(ClockId::Realtime)));
    let burner = (truth.cpu_us > 0.0).then(|| burner(truth.cpu_us));
    // As exact and as soon as the generator wakes; after the burner, which shall not be so. What is refused is
    // seen in how late answers were sent.
    let standing = helenus_load::stand(true, true);
    let life = Life::new(truth, seed);
    say(&format!(
        "seed {}, factor of this life {:.6}, scheduled as {:?}",
        seed.0, life.factor, standing.policy
    ));
    mbeans::begin(&me)?;
    let listener = TcpListener::bind((me.address.as_str(), me.port))?;
    listener.set_nonblocking(true)?;
    let mut server = Server {
        listener,
        database: Database::new(me, seed.0),
        life,
        burner,
        connections: BTreeMap::new(),
        due: BinaryHeap::new(),
        first_ns: None,
        free_ns: 0,
        tenth: (0, 0),
        dead: false,
        operations: 0,
        numbered: 0,
    };
    loop {
        server.turn()?;
        if server.dead {
            return Err(io::Error::other(
                "too many operations at once, as it was told",
            ));
        }
    }
}

/// A line in the node's log.
#[expect(
    clippy::disallowed_methods,
    reason = "the stand-in is a process of its own, and this is its log"
)]
fn say(line: &str) {
    let _log_gone = writeln!(io::stdout(), "INFO  [serve] {line}");
}

fn clock_ns(id: ClockId) -> u64 {
    let now = clock_gettime(id);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

fn now_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// A thread that burns so much CPU for each message, its own waking included, beside the thread that answers.
fn burner(cpu_us: f64) -> Sender<()> {
    let (sender, receiver): (_, Receiver<()>) = channel();
    std::thread::spawn(move || {
        let mut burnt_ns = 0.0;
        for () in receiver {
            burnt_ns += cpu_us * 1e3;
            while (clock_ns(ClockId::ThreadCPUTime) as f64) < burnt_ns {
                (0..20).for_each(|_| std::hint::spin_loop());
            }
        }
    });
    sender
}

struct Connection {
    stream: TcpStream,
    inbox: Inbox,
    /// Answers on their way out.
    out: Vec<u8>,
    /// Keyspace in use.
    used: Option<String>,
    /// How long after they were due answers were sent.
    late: Histogram,
}

/// An answer that waits; ordered by its moment first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ns: u64,
    /// What came first goes first where moments are equal.
    number: u64,
    connection: u64,
    bytes: Vec<u8>,
}

struct Server {
    listener: TcpListener,
    database: Database,
    life: Life,
    burner: Option<Sender<()>>,
    connections: BTreeMap<u64, Connection>,
    due: BinaryHeap<Reverse<Due>>,
    /// When the first operation was read.
    first_ns: Option<u64>,
    /// When the server before which all wait is free again, where there is one.
    free_ns: u64,
    /// When the tenth of a second began that is counted, and its operations.
    tenth: (u64, u64),
    dead: bool,
    /// Operations read so far.
    operations: u64,
    /// Connections so far.
    numbered: u64,
}

impl Server {
    /// Waits for whatever comes first, and does it.
    fn turn(&mut self) -> io::Result<()> {
        let (readable, accepts) = self.wait()?;
        self.send_due();
        for id in readable {
            self.read(id);
            self.send_due();
        }
        if accepts {
            self.accept()?;
        }
        Ok(())
    }

    /// Connections that something came from, and whether there is a new one.
    fn wait(&mut self) -> io::Result<(Vec<u64>, bool)> {
        let timeout = self.due.peek().map(|Reverse(due)| {
            let left = due.at_ns.saturating_sub(now_ns() + EARLY_NS);
            Timespec {
                tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or(0),
            }
        });
        let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        for connection in self.connections.values() {
            let mut flags = PollFlags::IN;
            flags.set(PollFlags::OUT, !connection.out.is_empty());
            fds.push(PollFd::new(&connection.stream, flags));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok((Vec::new(), false)),
            other => other?,
        };
        let happened: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let ids = self.connections.keys().copied();
        let readable = ids.zip(&happened[1..]).filter(|(_, came)| **came);
        Ok((readable.map(|(id, _)| id).collect(), happened[0]))
    }

    fn accept(&mut self) -> io::Result<()> {
        let (stream, _) = match self.listener.accept() {
            Ok(accepted) => accepted,
            // It went away again.
            Err(_) => return Ok(()),
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        self.numbered += 1;
        let connection = Connection {
            stream,
            inbox: Inbox::new(),
            out: Vec::new(),
            used: None,
            late: Histogram::new(),
        };
        self.connections.insert(self.numbered, connection);
        Ok(())
    }

    /// Reads what there is, and answers it now or puts its answer among the due ones.
    fn read(&mut self, id: u64) {
        let mut bytes = [0; READ_BYTES];
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if !connection.flush() {
            return self.close(id);
        }
        let read_ns = match connection.stream.read(&mut bytes) {
            Ok(count) if count > 0 => {
                connection.inbox.push(&bytes[..count]);
                now_ns()
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
            Ok(_) | Err(_) => return self.close(id),
        };
        while let Some(connection) = self.connections.get_mut(&id) {
            match connection.inbox.pop() {
                Ok(Some(envelope)) => self.take(id, &envelope, read_ns),
                Ok(None) => return,
                Err(_) => return self.close(id),
            }
            self.send_due();
        }
    }

    fn take(&mut self, id: u64, envelope: &Envelope, read_ns: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let Header {
            version,
            stream,
            opcode,
            ..
        } = envelope.header;
        if version != Version::V4 {
            let why = "Invalid or unsupported protocol version: use 4";
            let response = refused(ServerErrorKind::Protocol, why);
            connection.out.extend(encoded(0, &response));
        } else {
            let Answer {
                mut response,
                timed,
            } = match Request::decode(version, opcode, &envelope.body) {
                Ok(request) => {
                    let keeping = Keeping {
                        now_us: (clock_ns(ClockId::Realtime) / 1000).cast_signed(),
                        loses: self.life.loses(self.operations),
                    };
                    let used = &mut connection.used;
                    self.database.answer(used, request, keeping)
                }
                Err(e) => Answer {
                    response: refused(ServerErrorKind::Protocol, e.to_string()),
                    timed: false,
                },
            };
            if timed {
                let since_ns = read_ns - *self.first_ns.get_or_insert(read_ns);
                let draw = self.life.draw(self.operations, since_ns);
                if draw.fails {
                    // Its row is kept all the same: a read that misses it would be one failure more.
                    response = refused(ServerErrorKind::Overloaded, "as it was told to be");
                }
                let at_ns = match self.life.turn_ns(self.operations) {
                    Some(turn_ns) => {
                        self.free_ns = self.free_ns.max(read_ns) + turn_ns;
                        self.free_ns
                    }
                    None => read_ns + draw.service_ns,
                };
                self.due.push(Reverse(Due {
                    at_ns,
                    number: self.operations,
                    connection: id,
                    bytes: encoded(stream, &response),
                }));
                self.operations += 1;
                if read_ns - self.tenth.0 > TENTH_NS {
                    self.tenth = (read_ns, 0);
                }
                self.tenth.1 += 1;
                self.dead |= self.life.dies_of(self.tenth.1);
                if let Some(burner) = &self.burner {
                    // It lives as long as the process.
                    let _sent = burner.send(());
                }
                return;
            }
            connection.out.extend(encoded(stream, &response));
        }
        if !connection.flush() {
            self.close(id);
        }
    }

    /// Sends every answer whose moment has come.
    fn send_due(&mut self) {
        let mut now = now_ns();
        while self.due.peek().is_some_and(|Reverse(d)| d.at_ns <= now)
            && let Some(Reverse(due)) = self.due.pop()
        {
            if let Some(connection) = self.connections.get_mut(&due.connection) {
                connection.out.extend(due.bytes);
                connection.late.record(now - due.at_ns);
                if !connection.flush() {
                    self.close(due.connection);
                }
            }
            now = now_ns();
        }
    }

    fn close(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        let late = connection.late;
        if !late.is_empty() {
            let us = |q| late.rough_percentile_ns(q).unwrap_or_default() / 1000;
            let most = late.max_ns().unwrap_or_default() / 1000;
            say(&format!(
                "{} operations, answers late by p50 {} us, p99 {} us, at most {most} us",
                late.count(),
                us(0.5),
                us(0.99),
            ));
        }
    }
}

impl Connection {
    /// Writes what the socket takes; false when nobody is there any more.
    fn flush(&mut self) -> bool {
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(0) => return false,
                Ok(count) => drop(self.out.drain(..count)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return e.kind() == io::ErrorKind::WouldBlock,
            }
        }
        true
    }
}

fn encoded(stream: i16, response: &Response) -> Vec<u8> {
    let envelope = |response: &Response| {
        let mut body = Vec::new();
        response.encode(Version::V4, &Extras::default(), &mut body)?;
        let header = Header {
            version: Version::V4,
            response: true,
            flags: 0,
            stream,
            opcode: response.opcode(),
            length: body.len(),
        };
        let mut out = Vec::with_capacity(body.len() + 9);
        Envelope { header, body }.encode(&mut out)?;
        Ok::<_, helenus_cql::codec::EncodeError>(out)
    };
    let answered = envelope(response);
    let sorry = |e: helenus_cql::codec::EncodeError| {
        envelope(&refused(ServerErrorKind::Server, e.to_string()))
    };
    answered.or_else(sorry).unwrap_or_default()
}
