//! Memory that the generator's thread asks for: none for an operation, once it is warm.
//! Refuses to count what happens once an interval: a run of six times as many operations may ask for a little more.

#[expect(dead_code, reason = "it can do more than is wanted here")]
mod server;

use helenus_cql::codec::{
    Bound, ColumnSpec, QueryResult, Request, Response, RowsPage, Values, Version,
};
use helenus_load::{Secrets, ServeEnd, null, serve};
use helenus_model::cql::{CqlType, CqlValue};
use helenus_model::run_plan::{Extent, Phase, Positions, RunPlan, Share};
use helenus_model::seed::Seed;
use helenus_model::workload::{Workload, data_seed, standard1};
use server::{Reply, Server};
use std::collections::BTreeMap;
use std::io::sink;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::thread;

/// Allocations of an operation's share that are put down to intervals.
const MOST: f64 = 0.01;

const ROOT: Seed = Seed(3);

/// Positions that are read.
const POSITIONS: u64 = 500;

/// So many operations of one kind in a closed loop.
fn closed(operation: &str, addresses: &[SocketAddr], count: u64) -> RunPlan {
    let phase = Phase {
        name: "main".to_owned(),
        operations: vec![Share {
            operation: operation.to_owned(),
            weight: 1,
        }],
        in_flight: 64,
        extent: Extent::Count(count),
        positions: Positions::Range {
            from: 0,
            to: POSITIONS,
            wrap: true,
        },
        ..Phase::default()
    };
    RunPlan {
        raise_priority: false,
        endpoints_only: true,
        ..RunPlan::new(addresses.to_vec(), Workload::Standard1, vec![phase], ROOT)
    }
}

/// Allocations of the thread that runs a plan.
fn allocations(plan: &RunPlan) -> u64 {
    let input = serde_json::to_string(plan).expect("writes");
    let counted = allocation_counter::measure(|| {
        let end = serve(input.as_bytes(), sink(), &Secrets::default());
        assert_eq!(end, ServeEnd::Done);
    });
    counted.count_total
}

/// So many operations and six times as many ask for about the same.
fn are_none(of: &str, few: u64, plan: impl Fn(u64) -> RunPlan) {
    let [less, more] = [few, 6 * few].map(|count| allocations(&plan(count)));
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let each = more.saturating_sub(less) as f64 / (5 * few) as f64;
    assert!(
        each < MOST,
        "{of}: {less}, then {more}: {each} an operation"
    );
}

/// Runs a null server while `run` runs.
fn with_null(run: impl FnOnce(SocketAddr)) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (parent, its_end) = UnixStream::pair().expect("a pair");
    let server = thread::spawn(move || null::serve(&listener, its_end));
    run(address);
    drop(parent);
    server.join().expect("no panic").expect("served");
}

#[test]
fn a_write_asks_for_no_memory() {
    with_null(|one| {
        are_none("closed", 20_000, |count| closed("write", &[one], count));
        are_none("paced", 10_000, |count| {
            let mut plan = closed("write", &[one], count);
            plan.phases[0].rate_per_s = Some(50_000.0);
            plan
        });
        with_null(|other| {
            are_none("two coordinators", 20_000, |count| {
                closed("write", &[one, other], count)
            });
        });
    });
}

#[test]
fn a_read_and_its_check_ask_for_no_memory() {
    let server = keeps_rows();
    are_none("reads", 10_000, |count| {
        closed("read", &[server.address], count)
    });
}

/// A server that has the rows of all positions.
fn keeps_rows() -> Server {
    let columns = ["C0", "C1", "C2", "C3", "C4"].map(|name| ColumnSpec {
        keyspace: "keyspace1".to_owned(),
        table: "standard1".to_owned(),
        name: name.to_owned(),
        ty: CqlType::Blob,
    });
    let rows = (0..POSITIONS).map(|position| {
        let row = standard1::row(data_seed(ROOT), position);
        let row = row.map(|column| Some(CqlValue::Blob(column.to_vec())));
        let page = RowsPage::of(columns.to_vec(), &[row.to_vec()]).expect("fits");
        let page = RowsPage {
            columns: None,
            ..page
        };
        (standard1::key(position).to_vec(), page)
    });
    let rows: BTreeMap<Vec<u8>, RowsPage> = rows.collect();
    let hook = move |_, request: &Request| {
        let Request::Execute { parameters, .. } = request else {
            return None;
        };
        assert!(parameters.skip_metadata);
        let Values::Positional(values) = &parameters.values else {
            panic!("{request:?}");
        };
        let [Bound::Value(key)] = &values[..] else {
            panic!("{request:?}");
        };
        let page = rows[key].clone();
        Some(Reply::Says(Response::Result(QueryResult::Rows(page))))
    };
    Server::hooked(Version::V5, Box::new(hook))
}
