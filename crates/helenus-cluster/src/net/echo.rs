//! The self-check: round trips of a byte over an established TCP connection from one data centre to another.
//! Refuses to ping: delay that is added on the receiving side would be missed.

use super::emulator::monotonic_ns;
use super::space;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

/// Round trips that open the connection and are not counted: the first ones also find the way.
const WARM_UP: u32 = 2;

/// Longest wait for an answer: a link may be cut.
const ANSWER_WITHIN: Duration = Duration::from_secs(65);

/// Round trips as they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Echo {
    /// Data centre.
    pub from: String,
    /// Data centre.
    pub to: String,
    /// How many were measured.
    pub samples: u32,
    /// What both links together say, in microseconds.
    pub asked_us: u64,
    /// Median, in microseconds.
    pub p50_us: f64,
    /// 99th percentile, in microseconds; absent below a thousand samples.
    pub p99_us: Option<f64>,
    /// Least, in microseconds.
    pub min_us: f64,
    /// Most, in microseconds.
    pub max_us: f64,
}

impl Echo {
    /// Median of the delay's error, in microseconds.
    pub fn error_p50_us(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
        let asked = self.asked_us as f64;
        self.p50_us - asked
    }
}

/// Where an echo goes.
pub(super) struct Way<'a> {
    /// Data centre and namespace of whoever asks.
    pub(super) from: (&'a str, &'a OwnedFd),
    /// Data centre, namespace and address of whoever answers.
    pub(super) to: (&'a str, &'a OwnedFd, Ipv4Addr),
    /// What both links together say, in microseconds.
    pub(super) asked_us: u64,
}

/// Measures, as any application would: nothing is done for its threads that a node's would not have.
pub(super) fn measure(way: &Way<'_>, samples: u32) -> io::Result<Echo> {
    let listener = within(way.to.1, || TcpListener::bind((way.to.2, 0)))?;
    let to = listener.local_addr()?;
    let times = thread::scope(|scope| {
        let answering = scope.spawn(move || answer(&listener));
        let times = within(way.from.1, || ask(to, samples));
        // Whoever asked has closed: the answers end with it, or with the connection that never came.
        if times.is_err() {
            let _awake = within(way.to.1, || {
                TcpStream::connect_timeout(&to, Duration::from_secs(1))
            });
        }
        let _ended = answering.join();
        times
    })?;
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in the list"
        )]
        let index = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len()) - 1;
        #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
        let micros = times[index] as f64 / 1e3;
        micros
    };
    Ok(Echo {
        from: way.from.0.to_owned(),
        to: way.to.0.to_owned(),
        samples,
        asked_us: way.asked_us,
        p50_us: at(0.5),
        p99_us: (samples >= 1000).then(|| at(0.99)),
        min_us: at(0.0),
        max_us: at(1.0),
    })
}

/// Runs something on a thread that stands in a network namespace.
pub(super) fn within<T: Send>(
    space: &OwnedFd,
    what: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            space::enter(space)?;
            what()
        });
        let gone = || io::Error::other("the thread in the namespace ended");
        inside.join().map_err(|_| gone())?
    })
}

fn answer(listener: &TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    // A link that is cut in the middle may lose the other end's goodbye.
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 {
        stream.write_all(&byte)?;
    }
    Ok(())
}

/// Sorted times in nanoseconds.
fn ask(to: SocketAddr, samples: u32) -> io::Result<Vec<u64>> {
    let mut stream = TcpStream::connect_timeout(&to, ANSWER_WITHIN)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut times = Vec::new();
    let mut byte = [7];
    for number in 0..samples.max(1) + WARM_UP {
        let begin = monotonic_ns();
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        if number >= WARM_UP {
            times.push(monotonic_ns() - begin);
        }
    }
    times.sort_unstable();
    Ok(times)
}
