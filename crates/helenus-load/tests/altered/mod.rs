//! A table that gets another column while it is read by `SELECT *`, on a server that behaves as Cassandra then.
//! Refuses everything but that statement.

use crate::server::{Reply, Server, refuses};
use helenus_cql::codec::value::encode_value;
use helenus_cql::codec::{
    Bound, ColumnSpec, Prepared, QueryResult, Request, Response, RowsPage, ServerErrorKind, Values,
    Version,
};
use helenus_model::cql::{CqlType, CqlValue};
use helenus_model::run_plan::{Extent, Phase, Positions, Share};
use helenus_model::seed::Seed;
use helenus_model::workload::maker::Maker;
use helenus_model::workload::profile::{Profile, ProfileWorkload, Spec};
use helenus_model::workload::{Workload, data_seed};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const PROFILE: &str = "
keyspace: ks
table: t
table_definition: CREATE TABLE t (id bigint PRIMARY KEY, place bigint, word text)
insert:
  partitions: fixed(1)
  select: fixed(1)/1
";

/// Positions that are read.
const POSITIONS: u64 = 50;

/// Id of the statement.
const ID: &[u8] = b"select";

type Row = Vec<Option<CqlValue>>;

pub(crate) struct Altered {
    pub(crate) workload: Workload,
    /// Rows by the bytes of their keys.
    rows: BTreeMap<Vec<u8>, Row>,
    /// Answers with columns that were not left out.
    described: Arc<AtomicU64>,
}

impl Altered {
    /// The table, and what a run with this root seed has written into it.
    pub(crate) fn new(root: Seed) -> Self {
        let profile = Profile::read(PROFILE).expect("a profile");
        let table = profile.defined_table().expect("a table").expect("defined");
        let workload = ProfileWorkload {
            name: "altered".to_owned(),
            specs: vec![Spec { profile, table }],
            walk: None,
        };
        let maker = Maker::new(&workload, data_seed(root)).expect("a maker");
        let rows = (0..POSITIONS).flat_map(|position| {
            maker.rows(0, position).map(|row| {
                let mut key = Vec::new();
                let id = row[0].as_ref().expect("a key");
                encode_value(&CqlType::Bigint, id, &mut key).expect("fits");
                (key, row)
            })
        });
        let rows = rows.collect();
        Self {
            workload: Workload::Profiles(workload),
            rows,
            described: Arc::default(),
        }
    }

    /// So many reads, each compared with what was written.
    pub(crate) fn phase(&self, reads: u64) -> Phase {
        Phase {
            name: "main".to_owned(),
            operations: vec![Share {
                operation: "validate".to_owned(),
                weight: 1,
            }],
            in_flight: 16,
            extent: Extent::Count(reads),
            positions: Positions::Range {
                from: 0,
                to: POSITIONS,
                wrap: true,
            },
            verify: true,
            ..Phase::default()
        }
    }

    /// How many answers brought their columns.
    pub(crate) fn described(&self) -> u64 {
        self.described.load(Ordering::SeqCst)
    }

    /// A server whose table has another column from so many reads on.
    pub(crate) fn server(&self, version: Version, altered_at: u64) -> Server {
        let rows = self.rows.clone();
        let described = Arc::clone(&self.described);
        let state = Mutex::new(State {
            altered_at,
            reads: 0,
        });
        let known = AtomicBool::new(false);
        let hook = move |version: Version, request: &Request| {
            let mut state = state.lock().expect("not poisoned");
            match request {
                Request::Prepare { .. } => {
                    if state.is_altered() {
                        known.store(true, Ordering::SeqCst);
                    }
                    Some(Reply::Says(prepared(version, &state)))
                }
                Request::Execute {
                    result_metadata_id,
                    parameters,
                    ..
                } => {
                    // Over v5 another client has prepared it again: the rows say what is new.
                    let forgotten = version == Version::V4 && !known.load(Ordering::SeqCst);
                    if state.is_altered() && forgotten {
                        let kind = ServerErrorKind::Unprepared { id: ID.to_vec() };
                        return Some(refuses(kind, "altered"));
                    }
                    let Values::Positional(values) = &parameters.values else {
                        panic!("{request:?}");
                    };
                    let [Bound::Value(key)] = &values[..] else {
                        panic!("{request:?}");
                    };
                    let changed = version == Version::V5
                        && result_metadata_id.as_deref() != Some(&state.metadata_id()[..]);
                    let mut page = page(&rows[key], &state);
                    match parameters.skip_metadata && !changed {
                        true => page.columns = None,
                        false => _ = described.fetch_add(1, Ordering::SeqCst),
                    }
                    page.new_metadata_id = changed.then(|| state.metadata_id().to_vec());
                    // The table changes behind an answer, never within it.
                    state.reads += 1;
                    Some(Reply::Says(Response::Result(QueryResult::Rows(page))))
                }
                _ => None,
            }
        };
        Server::hooked(version, Box::new(hook))
    }
}

/// How far it is.
struct State {
    altered_at: u64,
    reads: u64,
}

impl State {
    fn is_altered(&self) -> bool {
        self.reads >= self.altered_at
    }

    fn metadata_id(&self) -> [u8; 16] {
        [u8::from(self.is_altered()); 16]
    }

    /// The columns; the new one comes before the others, as one that sorts so does.
    fn columns(&self) -> Vec<ColumnSpec> {
        let new = self.is_altered().then_some(("new", CqlType::Int));
        let own = [("place", CqlType::Bigint), ("word", CqlType::Text)];
        let all = [("id", CqlType::Bigint)].into_iter().chain(new).chain(own);
        all.map(|(name, ty)| spec(name, ty)).collect()
    }
}

fn spec(name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: "ks".to_owned(),
        table: "t".to_owned(),
        name: name.to_owned(),
        ty,
    }
}

fn prepared(version: Version, state: &State) -> Response {
    Response::Result(QueryResult::Prepared(Prepared {
        id: ID.to_vec(),
        result_metadata_id: (version >= Version::V5).then(|| state.metadata_id().to_vec()),
        markers: vec![spec("id", CqlType::Bigint)],
        partition_key: vec![0],
        columns: state.columns(),
    }))
}

fn page(row: &Row, state: &State) -> RowsPage {
    let mut row = row.clone();
    if state.is_altered() {
        row.insert(1, None);
    }
    RowsPage::of(state.columns(), &[row]).expect("fits")
}
