//! How a connection is dialled, and what it must be able to do once it stands.
//! Refuses to know the protocol.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

/// A connected stream whose blocking calls can be limited in time.
pub trait Stream: Read + Write + Send {
    /// Limits every following read and write to `limit`, which is above zero.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn limit(&mut self, limit: Duration) -> io::Result<()>;

    /// From here on reads and writes do not wait: they end in [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// A stream that cannot, or whatever the system reports.
    fn stop_waiting(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The descriptor that becomes readable and writable; none where there is none.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Whether bytes that were written wait inside for the system to take them: to be flushed once it does.
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether a read that filled less than its buffer has read everything: not where the stream decrypts.
    fn is_plain(&self) -> bool {
        false
    }
}

impl Stream for TcpStream {
    fn stop_waiting(&mut self) -> io::Result<()> {
        self.set_nonblocking(true)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn limit(&mut self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))?;
        self.set_write_timeout(Some(limit))
    }
}

/// Whether a blocking call that ended in `error` is to be made again: a signal cut it short, or
/// the system called it late before its deadline. Linux counts such limits in ticks of its own
/// clock, which lags behind where a hypervisor took the processor away and then jumps.
pub(super) fn cut_short(error: &io::Error, deadline: Instant) -> bool {
    match error.kind() {
        io::ErrorKind::Interrupted => true,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Instant::now() < deadline,
        _ => false,
    }
}

/// Opens connections: directly, or through a process inside another network.
pub trait Dial: std::fmt::Debug {
    /// Connects to `addr` within `timeout`.
    ///
    /// # Errors
    /// Whatever the system reports; a time-out is [`io::ErrorKind::TimedOut`].
    fn dial(&self, addr: SocketAddr, timeout: Duration) -> io::Result<TcpStream>;
}

/// Dials from this process's own network.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpDialer;

impl Dial for TcpDialer {
    fn dial(&self, addr: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&addr, timeout)?;
        // One small request at a time: nothing to gain from waiting for more.
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_deadline_ends_what_the_system_calls_late() {
        let error = |kind: io::ErrorKind| io::Error::from(kind);
        let ahead = Instant::now() + Duration::from_secs(3_600);
        let passed = Instant::now();
        for kind in [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock] {
            assert!(cut_short(&error(kind), ahead));
            assert!(!cut_short(&error(kind), passed));
        }
        assert!(cut_short(&error(io::ErrorKind::Interrupted), passed));
        assert!(!cut_short(&error(io::ErrorKind::ConnectionReset), ahead));
    }
}
