//! An address at which Prometheus reads the newest of nodes and a run.
//! Refuses to keep anybody waiting: who reads gets what is there, and a run never waits for a reader.

use crate::bench::LabEvent;
use crate::http::{Asked, Page, Pages};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::Sampler;
use helenus_model::metrics::{Board, CONTENT_TYPE};
use helenus_model::telemetry::Reading;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between two takes of what was seen.
const TAKE_EVERY: Duration = Duration::from_millis(100);

/// Path of the page.
pub const PATH: &str = "/metrics";

/// An address that is served until this is dropped.
pub struct Endpoint {
    pages: Pages,
    board: Arc<Mutex<Board>>,
}

impl Endpoint {
    /// Serves a board at an address; port 0 is a free one.
    ///
    /// # Errors
    /// The address is taken or not ours, or no thread can be had.
    pub fn open(at: SocketAddr, board: Board) -> io::Result<Self> {
        let board = Arc::new(Mutex::new(board));
        let shown = Arc::clone(&board);
        let pages = Pages::serve(at, move |asked| answer(asked, &shown))?;
        Ok(Self { pages, board })
    }

    /// Where it is served.
    pub fn at(&self) -> SocketAddr {
        self.pages.at()
    }

    /// Takes what happens in a run.
    pub fn see(&self, event: &LabEvent<'_>) {
        match event {
            LabEvent::Seen(readings) => self.take(readings),
            LabEvent::Interval {
                phase, interval, ..
            } => locked(&self.board).interval(&phase.name, interval),
            _ => {}
        }
    }

    fn take(&self, readings: &[Reading]) {
        let mut board = locked(&self.board);
        readings.iter().for_each(|reading| board.see(reading));
    }

    /// Looks at a cluster every second until the person stops it.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn watch(&self, cluster: &ClusterState, cancel: &Cancel) -> io::Result<()> {
        let sampler = Sampler::begin(Some(cluster))?;
        while !cancel.is_set() {
            std::thread::sleep(TAKE_EVERY);
            self.take(&sampler.take());
        }
        Ok(())
    }
}

/// The page of one look at a cluster.
///
/// # Errors
/// No thread can be had.
pub fn once(cluster: &ClusterState) -> io::Result<String> {
    let mut board = board(cluster);
    let sampler = Sampler::begin(Some(cluster))?;
    sampler.look_now();
    sampler.end().iter().for_each(|reading| board.see(reading));
    Ok(board.page())
}

/// An empty board of a cluster.
pub fn board(cluster: &ClusterState) -> Board {
    let nodes = cluster.plan.nodes.iter();
    Board::new(&cluster.plan.name, nodes.map(|node| node.name.clone()))
}

/// A board, also after a thread has panicked with it: every change of it is whole.
fn locked(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(asked: Asked<'_>, board: &Mutex<Board>) -> Page {
    match asked.path {
        PATH => Page {
            code: 200,
            kind: CONTENT_TYPE,
            headers: Vec::new(),
            body: locked(board).page(),
        },
        "/" => Page::text(200, &format!("helenus: see {PATH}\n")),
        _ => Page::text(404, &format!("see {PATH}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::telemetry::{HOST, HostSample, Seen};
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    fn ask(at: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(at).expect("it listens");
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
        )
        .expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    fn open() -> Endpoint {
        let free = "127.0.0.1:0".parse().expect("an address");
        Endpoint::open(free, Board::new("c", ["node1".to_owned()])).expect("served")
    }

    #[test]
    fn whoever_asks_gets_the_newest() {
        let endpoint = open();
        let page = ask(endpoint.at(), "GET /metrics");
        assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
        assert!(page.contains(CONTENT_TYPE), "{page}");
        assert!(
            page.contains("helenus_node_up{cluster=\"c\",node=\"node1\"} 0\n"),
            "{page}"
        );
        assert!(!page.contains("helenus_host_run_queue"), "{page}");
        let host = HostSample {
            run_queue: 4,
            ..HostSample::default()
        };
        endpoint.see(&LabEvent::Seen(&[Reading {
            source: HOST.to_owned(),
            at_ns: 1,
            seen: Seen::Host(host),
        }]));
        let page = ask(endpoint.at(), "GET /metrics?now");
        assert!(page.contains("helenus_host_run_queue 4\n"), "{page}");
    }

    #[test]
    fn nothing_else_is_served_and_the_end_frees_the_address() {
        let endpoint = open();
        let at = endpoint.at();
        assert!(ask(at, "GET /").contains("see /metrics"));
        assert!(ask(at, "GET /etc/passwd").starts_with("HTTP/1.1 404"));
        assert!(ask(at, "POST /metrics").starts_with("HTTP/1.1 405"));
        assert!(!ask(at, "HEAD /metrics").contains("helenus_node_up"));
        let taken = Endpoint::open(at, Board::default())
            .err()
            .expect("it is taken");
        assert!(taken.to_string().contains("in use"), "{taken}");
        drop(endpoint);
        Endpoint::open(at, Board::default()).expect("free again");
    }
}
