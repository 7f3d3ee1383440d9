//! The loop against a stream that never ends, and pauses before nodes are dialled again.
//! Refuses servers: `tests/wire.rs` has them.

use super::*;
use helenus_cql::client::Stream;
use helenus_cql::codec::{Inbox, Outbox, Version};
use std::io::{Read, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicUsize;

/// An EVENT of seven bytes, which nobody reads: sixteen bytes in all.
const EVENT: [u8; 16] = [0x84, 0, 0xff, 0xff, 0x0c, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7];

/// Reads of the stream after which there is nothing left.
const END: usize = 200;

/// A server that sends faster than anybody reads, through a stream that keeps what it decrypted to itself.
struct Flood {
    reads: Arc<AtomicUsize>,
    place: usize,
    socket: UnixStream,
}

impl Read for Flood {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.reads.fetch_add(1, Ordering::SeqCst) >= END {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        for byte in room.iter_mut() {
            *byte = EVENT[self.place % EVENT.len()];
            self.place += 1;
        }
        Ok(room.len())
    }
}

impl Write for Flood {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Flood {
    fn limit(&mut self, _limit: Duration) -> io::Result<()> {
        Ok(())
    }

    fn stop_waiting(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

#[test]
fn a_server_that_floods_is_read_by_turns() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let ways = Ways {
        endpoints: vec![address],
        endpoints_only: true,
        local_data_centre: None,
        connections: 1,
        consistency: Consistency::One,
    };
    let access = Arc::new(Access::new(ConnectOptions::default()));
    let mut wire = Wire::without_links(&ways, access).expect("a poller");
    wire.meet(&Map::of_gateways(&[address]));
    let (socket, _silent) = UnixStream::pair().expect("a pair");
    let reads = Arc::new(AtomicUsize::new(0));
    let flood = Flood {
        reads: Arc::clone(&reads),
        place: 0,
        socket,
    };
    wire.take_over(
        0,
        HandedOver {
            stream: Box::new(flood),
            version: Version::V4,
            inbox: Inbox::new(),
            outbox: Outbox::new(),
        },
    );
    let mut ended = Vec::new();
    wire.receive(0, &mut ended);
    let first = reads.load(Ordering::SeqCst);
    assert!((1..100).contains(&first), "{first}");
    // The socket has nothing to say, and yet the rest is read: without waiting.
    wire.poll(u64::MAX, &mut ended).expect("polls");
    let second = reads.load(Ordering::SeqCst);
    assert!((first + 1..2 * first + 100).contains(&second), "{second}");
    while reads.load(Ordering::SeqCst) < END {
        wire.poll(u64::MAX, &mut ended).expect("polls");
    }
    assert!(ended.is_empty());
    assert_eq!(wire.connections_lost(), 0);
}

#[test]
fn a_node_that_drops_connections_is_left_alone_for_longer_and_longer() {
    let map = Map::of_gateways(&[SocketAddr::from(([127, 0, 0, 1], 1))]);
    let mut node = Node::new(map.peers[0].clone(), true);
    let second_ns = 1_000_000_000;
    let mut pauses = Vec::new();
    for at in 1..9 {
        // Three that were open together.
        for _ in 0..3 {
            node.lost((at * second_ns, false), at * second_ns + 1000);
        }
        pauses.push(node.pause.as_millis());
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    // One that worked, or was idle for long, says nothing against the node.
    node.lost((20 * second_ns, true), 20 * second_ns + 1000);
    assert_eq!(node.pause, Duration::ZERO);
    node.lost((21 * second_ns, false), 21 * second_ns + 1000);
    node.lost((22 * second_ns, false), 40 * second_ns);
    assert_eq!(node.pause, Duration::ZERO);
}
