//! Memory that the generator's thread asks for: none for an operation, once it is warm.
//! Refuses to count what happens once an interval: a run of six times as many operations may ask for a little more.

use helenus_load::{Secrets, ServeEnd, null, serve};
use helenus_model::run_plan::{Extent, Phase, Positions, RunPlan, Share};
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use std::io::sink;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::thread;

/// Allocations of an operation's share that are put down to intervals.
const MOST: f64 = 0.01;

/// Allocations of the thread that writes so many rows in a closed loop.
fn allocations(address: SocketAddr, count: u64) -> u64 {
    let phase = Phase {
        name: "main".to_owned(),
        operations: vec![Share {
            operation: "write".to_owned(),
            weight: 1,
        }],
        in_flight: 64,
        extent: Extent::Count(count),
        positions: Positions::Uniform,
        ..Phase::default()
    };
    let plan = RunPlan {
        raise_priority: false,
        ..RunPlan::new(vec![address], Workload::Standard1, vec![phase], Seed(3))
    };
    let input = serde_json::to_string(&plan).expect("writes");
    let counted = allocation_counter::measure(|| {
        let end = serve(input.as_bytes(), sink(), &Secrets::default());
        assert_eq!(end, ServeEnd::Done);
    });
    counted.count_total
}

#[test]
fn an_operation_asks_for_no_memory() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (parent, its_end) = UnixStream::pair().expect("a pair");
    let server = thread::spawn(move || null::serve(&listener, its_end));
    let [few, many] = [20_000, 120_000].map(|count| allocations(address, count));
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let each = many.saturating_sub(few) as f64 / 100_000.0;
    assert!(each < MOST, "{few}, then {many}: {each} an operation");
    drop(parent);
    server.join().expect("no panic").expect("served");
}
