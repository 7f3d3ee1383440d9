//! The generator's ledger with a fake endpoint in the driver's place: every write is in the file, with its own timestamp.
//! Refuses figures of time: counts, fates and order only.

mod fake;
mod pipe;

use fake::Fake;
use helenus_load::ServeEnd;
use helenus_load::endpoint::{Call, Endpoint, Fault};
use helenus_load::serve::serve_endpoint;
use helenus_model::ledger::{Entry, Fate, Head, PREFIX_BYTES, RECORD_BYTES, Record};
use helenus_model::run_plan::{Consistency, LedgerPlan, Phase, RunPlan, Share};
use helenus_model::sample::{FailureKind, SampleLine, Stage};
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use pipe::Pipe;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Timestamps that came with calls, by position; none of reads.
type Dated = Arc<Mutex<Vec<(u64, Option<i64>)>>>;

struct Scripted {
    dated: Dated,
    fails: fn(u64) -> Option<FailureKind>,
    silent: bool,
}

impl Scripted {
    fn endpoint(self) -> impl Endpoint {
        Fake::new(move |call: &Call<'_>| {
            let position = call.position();
            let sent = (position, call.timestamp_us);
            self.dated.lock().expect("not poisoned").push(sent);
            if self.silent {
                return None;
            }
            Some(match (self.fails)(position) {
                None => Ok((0, 0)),
                Some(kind) => Err(Fault {
                    kind,
                    message: String::new(),
                }),
            })
        })
    }
}

/// A file of its own for each test, gone at its end.
struct File(PathBuf);

impl File {
    fn of(test: &str) -> Self {
        let name = format!("{test}-{}.ledger", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn read(&self) -> (Head, Vec<Entry>) {
        let bytes = fs_err::read(&self.0).expect("the ledger");
        let (prefix, rest) = bytes.split_at(PREFIX_BYTES);
        let length = Head::length(prefix.try_into().expect("so many")).expect("a length");
        let (head, records) = rest.split_at(length);
        let head = Head::decode(head).expect("a head");
        let records = records.chunks(RECORD_BYTES).zip(0..);
        let entry = |(bytes, number): (&[u8], u64)| {
            Entry::decode(bytes.try_into().expect("whole"), number).expect("a record")
        };
        (head, records.map(entry).collect())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _never_made = fs_err::remove_file(&self.0);
    }
}

fn plan(file: &File, phases: Vec<Phase>) -> RunPlan {
    RunPlan {
        local_data_centre: Some("DC1".into()),
        consistency: Consistency::LocalQuorum,
        ledger: Some(LedgerPlan {
            file: file.0.clone(),
            cluster: Some(("c".into(), "4711".into())),
        }),
        raise_priority: false,
        sampling_interval_ms: 50,
        ..RunPlan::new(
            vec![SocketAddr::from(([127, 0, 0, 1], 1))],
            Workload::Standard1,
            phases,
            Seed(3),
        )
    }
}

/// 600 operations, a third of them reads; some writes fail.
fn mixed() -> Phase {
    let mut phase = Phase::steady("write", 2000.0, 32, 300);
    phase.operations[0].weight = 2;
    phase.operations.push(Share {
        operation: "read".into(),
        weight: 1,
    });
    phase
}

fn writes(entries: &[Entry]) -> Vec<Record> {
    let writes = entries.iter().filter_map(|entry| match entry {
        Entry::Write(record) => Some(*record),
        Entry::End { .. } => None,
    });
    writes.collect()
}

#[test]
fn each_write_is_remembered_once_with_the_timestamp_that_it_was_sent_with() {
    let file = File::of("each");
    let plan = plan(&file, vec![mixed()]);
    let dated = Dated::default();
    let fake = Scripted {
        dated: Arc::clone(&dated),
        fails: |position| match position % 10 {
            3 => Some(FailureKind::WriteTimeout),
            4 => Some(FailureKind::Unavailable),
            _ => None,
        },
        silent: false,
    };
    assert_eq!(
        serve_endpoint(&plan, fake.endpoint(), Pipe::default()),
        ServeEnd::Done
    );
    let (head, entries) = file.read();
    assert_eq!(head.plan, plan);
    let written = writes(&entries);
    let end = Entry::End {
        writes: written.len() as u64,
    };
    assert_eq!(entries.last(), Some(&end));
    let sent = dated.lock().expect("not poisoned").clone();
    let mut sent: Vec<(u64, u64)> = sent
        .into_iter()
        .filter_map(|(position, at)| Some((at?.unsigned_abs(), position)))
        .collect();
    let mut known: Vec<(u64, u64)> = written
        .iter()
        .map(|record| (record.written_us, record.position))
        .collect();
    sent.sort_unstable();
    known.sort_unstable();
    assert_eq!(known, sent);
    assert!(
        known.windows(2).all(|two| two[0].0 < two[1].0),
        "all differ"
    );
    assert!((300..500).contains(&known.len()), "{}", known.len());
    for record in written {
        let fate = match record.position % 10 {
            3 => Fate::Failed(FailureKind::WriteTimeout),
            4 => Fate::Failed(FailureKind::Unavailable),
            _ => Fate::Acknowledged,
        };
        assert_eq!(record.fate, fate);
        assert_eq!(record.consistency, Consistency::LocalQuorum);
        assert_eq!(record.operation, 0);
    }
}

#[test]
fn what_was_under_way_when_the_run_was_stopped_stays_without_an_answer() {
    let file = File::of("open");
    let plan = plan(&file, vec![Phase::steady("write", 2000.0, 32, 60_000)]);
    let fake = Scripted {
        dated: Dated::default(),
        fails: |_| None,
        silent: true,
    };
    let gone = Pipe {
        breaks_after: Some(1),
        ..Pipe::default()
    };
    assert_eq!(
        serve_endpoint(&plan, fake.endpoint(), gone),
        ServeEnd::Stopped
    );
    let (_, entries) = file.read();
    let written = writes(&entries);
    assert_eq!(written.len(), 32, "as many as slots");
    assert!(written.iter().all(|r| r.fate == Fate::Unanswered));
    assert_eq!(entries.last(), Some(&Entry::End { writes: 32 }));
}

#[test]
fn a_file_that_is_there_is_left_as_it_is() {
    let file = File::of("there");
    fs_err::write(&file.0, "mine").expect("a file");
    let plan = plan(&file, vec![mixed()]);
    let fake = Scripted {
        dated: Dated::default(),
        fails: |_| None,
        silent: false,
    };
    let pipe = Pipe::default();
    let end = serve_endpoint(&plan, fake.endpoint(), pipe.clone());
    assert_eq!(end, ServeEnd::Failed(Stage::Run));
    let lines = pipe.lines();
    let [SampleLine::Failure(failure)] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert!(failure.message.contains("cannot be written"), "{failure:?}");
    assert_eq!(fs_err::read(&file.0).expect("the file"), b"mine");
}

#[test]
fn a_run_that_only_reads_has_nothing_to_remember() {
    let file = File::of("reads");
    let plan = plan(&file, vec![Phase::steady("read", 2000.0, 4, 100)]);
    let fake = Scripted {
        dated: Dated::default(),
        fails: |_| None,
        silent: false,
    };
    let end = serve_endpoint(&plan, fake.endpoint(), Pipe::default());
    assert_eq!(end, ServeEnd::Failed(Stage::Plan));
    assert!(!file.0.exists());
}
