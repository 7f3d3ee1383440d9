//! Loads for the self-check: datagrams at a rate, and as many bytes as one connection carries.
//! Refuses to measure Cassandra: this is what the network itself can do.

use super::echo::{Way, within};
use super::emulator::monotonic_ns;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Between two handfuls of datagrams.
const TICK: Duration = Duration::from_millis(1);

/// Longest wait for what is under way once all was sent.
const LAST_WITHIN: Duration = Duration::from_secs(2);

/// How often the reader looks whether all was sent.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes that may wait for the reader.
const BUFFER: usize = 32 << 20;

/// Bytes that are handed over at once.
const CHUNK: usize = 256 << 10;

/// What crossed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Crossed {
    /// Packets, or chunks that were read.
    pub received: u64,
    /// Packets that were sent; absent for one connection's bytes.
    pub sent: Option<u64>,
    /// Bytes that arrived.
    pub bytes: u64,
    /// From the first byte that arrived to the last, in seconds.
    pub seconds: f64,
}

/// Sends datagrams of that size at a rate for a time, and counts what arrives.
pub(super) fn datagrams(
    way: &Way<'_>,
    rate: u32,
    bytes: usize,
    time: Duration,
) -> io::Result<Crossed> {
    let receiver = within(way.to.1, || UdpSocket::bind((way.to.2, 0)))?;
    let to = receiver.local_addr()?;
    receiver.set_read_timeout(Some(LOOK_EVERY))?;
    // What the reader is too slow for is not what the network lost.
    let _as_large_as_may_be =
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, BUFFER);
    let all = &OnceLock::new();
    thread::scope(|scope| {
        let counting = scope.spawn(move || count(&receiver, all));
        let sent = within(way.from.1, || send(to, rate, bytes, time));
        all.get_or_init(|| *sent.as_ref().unwrap_or(&0));
        let mut crossed = counting
            .join()
            .map_err(|_| io::Error::other("the counting thread ended"))??;
        crossed.sent = Some(sent?);
        Ok(crossed)
    })
}

fn send(to: SocketAddr, rate: u32, bytes: usize, time: Duration) -> io::Result<u64> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(to)?;
    let payload = vec![7; bytes.clamp(1, 1400)];
    let begin = Instant::now();
    let mut sent = 0_u64;
    while begin.elapsed() < time {
        thread::sleep(TICK);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of packets"
        )]
        let due = (begin.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        while sent < due {
            socket.send(&payload)?;
            sent += 1;
        }
    }
    Ok(sent)
}

/// Until all that was sent is there, or nothing comes any more: while it is being sent, a pause is the sender's.
fn count(receiver: &UdpSocket, sent: &OnceLock<u64>) -> io::Result<Crossed> {
    let mut quiet = Instant::now();
    let mut buffer = [0; 2048];
    let (mut received, mut bytes) = (0, 0);
    let (mut first, mut last) = (None, 0);
    loop {
        if sent.get().is_some_and(|all| received >= *all) {
            return Ok(crossed(received, bytes, first, last));
        }
        match receiver.recv(&mut buffer) {
            Ok(length) => {
                received += 1;
                bytes += length as u64;
                last = monotonic_ns();
                first.get_or_insert(last);
                quiet = Instant::now();
            }
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                match sent.get() {
                    None => quiet = Instant::now(),
                    Some(_) if quiet.elapsed() < LAST_WITHIN => {}
                    Some(_) => return Ok(crossed(received, bytes, first, last)),
                }
            }
            Err(e) => return Err(e),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "minutes at most")]
fn crossed(received: u64, bytes: u64, first: Option<u64>, last: u64) -> Crossed {
    Crossed {
        received,
        sent: None,
        bytes,
        seconds: (last - first.unwrap_or(last)) as f64 / 1e9,
    }
}

/// Sends as many bytes as one TCP connection carries in that time. The first half is not counted: a connection starts
/// slowly.
pub(super) fn bulk(way: &Way<'_>, time: Duration) -> io::Result<Crossed> {
    let listener = within(way.to.1, || TcpListener::bind((way.to.2, 0)))?;
    let to = listener.local_addr()?;
    thread::scope(|scope| {
        let reading = scope.spawn(move || read(&listener, time / 2));
        within(way.from.1, || {
            let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(10))?;
            let chunk = vec![7; CHUNK];
            let begin = Instant::now();
            while begin.elapsed() < time {
                stream.write_all(&chunk)?;
            }
            Ok(())
        })?;
        reading
            .join()
            .map_err(|_| io::Error::other("the reading thread ended"))?
    })
}

fn read(listener: &TcpListener, skip: Duration) -> io::Result<Crossed> {
    let (mut stream, _) = listener.accept()?;
    let begin = Instant::now();
    let mut buffer = vec![0; CHUNK];
    let (mut received, mut bytes) = (0, 0);
    let (mut first, mut last) = (None, 0);
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(crossed(received, bytes, first, last));
        }
        if begin.elapsed() < skip {
            continue;
        }
        last = monotonic_ns();
        if first.is_some() {
            received += 1;
            bytes += length as u64;
        }
        first.get_or_insert(last);
    }
}
