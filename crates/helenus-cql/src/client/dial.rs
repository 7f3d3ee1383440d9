//! How a connection is dialled, and what it must be able to do once it stands.
//! Refuses to know the protocol.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connected stream whose blocking calls can be limited in time.
pub trait Stream: Read + Write + Send {
    /// Limits every following read and write to `limit`, which is above zero.
    ///
    /// # Errors
    /// Whatever the system says.
    fn limit(&mut self, limit: Duration) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn limit(&mut self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))?;
        self.set_write_timeout(Some(limit))
    }
}

/// Opens connections: directly, or by asking somebody inside another network.
pub trait Dial: std::fmt::Debug {
    /// Connects to `addr` within `timeout`.
    ///
    /// # Errors
    /// Whatever the system says; a time-out is [`io::ErrorKind::TimedOut`].
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
