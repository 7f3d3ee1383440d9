//! Asks one node what it works on, over a connection of its own, from a thread of its own.
//! Refuses to hold anybody up: a node that does not answer in time has not answered.

use crate::reach;
use helenus_cql::ClientError;
use helenus_cql::client::{Client, ConnectOptions, Dial};
use helenus_cql::codec::{Consistency, Prepared, ServerErrorKind};
use helenus_cql::rows::RowView;
use helenus_model::access::Access;
use helenus_model::telemetry::{CompactionSample, PoolSample};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Longest wait for a connection, and for each answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

/// What a node said.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Pools that have something to do.
    pub(super) pools: Vec<PoolSample>,
    /// Tasks on SSTables.
    pub(super) compactions: Vec<CompactionSample>,
}

/// How a node is got at: with what, and through whom where it is in a network of its own.
pub(super) type Way = (Access, Option<Arc<dyn Dial + Send + Sync>>);

/// The thread's near end.
#[derive(Debug)]
pub(super) struct Asker {
    questions: Sender<()>,
    answers: Receiver<Option<Answer>>,
    asked: bool,
}

impl Asker {
    /// # Errors
    /// No thread can be had.
    pub(super) fn begin(node: SocketAddr, way: Way) -> io::Result<Self> {
        let (questions, asked) = channel::<()>();
        let (answer, answers) = channel();
        let mut line = Line::Closed;
        std::thread::Builder::new()
            .name("telemetry-ask".into())
            .spawn(move || {
                for () in asked {
                    if answer.send(line.ask(node, &way)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            questions,
            answers,
            asked: false,
        })
    }

    /// Asks, unless the node still owes an answer; one that came too late is thrown away.
    pub(super) fn ask(&mut self) {
        if self.asked && self.answers.try_recv().is_err() {
            return;
        }
        self.asked = self.questions.send(()).is_ok();
    }

    /// The answer, where it comes until then.
    pub(super) fn answer(&mut self, until: Instant) -> Option<Answer> {
        if !self.asked {
            return None;
        }
        let wait = until.saturating_duration_since(Instant::now());
        let answer = self.answers.recv_timeout(wait).ok()?;
        self.asked = false;
        answer
    }
}

/// The thread's connection.
enum Line {
    Closed,
    Open(Box<Open>),
    /// The release has no such tables (before 4.0).
    Useless,
}

struct Open {
    client: Client,
    tasks: Prepared,
    pools: Prepared,
}

impl Line {
    fn ask(&mut self, node: SocketAddr, way: &Way) -> Option<Answer> {
        if matches!(self, Self::Useless) {
            return None;
        }
        let said = match self {
            Self::Open(open) => open.ask(),
            Self::Closed | Self::Useless => Open::to(node, way).and_then(|mut open| {
                let answer = open.ask();
                *self = Self::Open(Box::new(open));
                answer
            }),
        };
        said.inspect_err(|error| {
            let unknown = error
                .server()
                .is_some_and(|e| e.kind == ServerErrorKind::Invalid);
            tracing::debug!(%node, %error, "telemetry: no answer");
            *self = if unknown { Self::Useless } else { Self::Closed };
        })
        .ok()
    }
}

impl Open {
    fn to(node: SocketAddr, (access, dialer): &Way) -> Result<Self, ClientError> {
        let options = ConnectOptions {
            dialer: dialer.clone(),
            ..reach::options(access, ANSWER_WITHIN)?
        };
        let mut client = Client::connect(node, &options)?;
        let tasks = client.prepare("SELECT * FROM system_views.sstable_tasks")?;
        let pools = client.prepare("SELECT * FROM system_views.thread_pools")?;
        Ok(Self {
            client,
            tasks,
            pools,
        })
    }

    fn ask(&mut self) -> Result<Answer, ClientError> {
        let Self {
            client,
            tasks,
            pools,
        } = self;
        let tasks = client.execute(tasks, &[], Consistency::One)?;
        let pools = client.execute(pools, &[], Consistency::One)?;
        Ok(Answer {
            pools: pools.iter().filter_map(pool).collect(),
            compactions: tasks.iter().filter_map(task).collect(),
        })
    }
}

/// A pool that has something to do.
fn pool(row: RowView<'_>) -> Option<PoolSample> {
    let count = |column| row.int(column).map(i32::unsigned_abs).ok();
    let pool = PoolSample {
        name: row.text("name").ok()?.to_owned(),
        active: count("active_tasks")?,
        pending: count("pending_tasks")?,
        blocked_so_far: row.bigint("blocked_tasks_all_time").ok()?.unsigned_abs(),
    };
    (pool.active + pool.pending > 0).then_some(pool)
}

fn task(row: RowView<'_>) -> Option<CompactionSample> {
    let text = |column| row.text(column).map(str::to_owned).ok();
    #[expect(clippy::cast_precision_loss, reason = "bytes below 2^53")]
    let count = |column| row.bigint(column).map(|n| n as f64).ok();
    let id = row.value("task_id").ok()??;
    let total = count("total")?;
    Some(CompactionSample {
        id: helenus_cql::rows::plain(id),
        keyspace: text("keyspace_name")?,
        table: text("table_name")?,
        task: text("kind")?.to_lowercase(),
        done: if total > 0.0 {
            (count("progress")? / total).clamp(0.0, 1.0)
        } else {
            0.0
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_silent_node_holds_nobody_up_and_is_asked_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut asker = Asker::begin(
            listener.local_addr().expect("an address"),
            (Access::default(), None),
        )
        .expect("a thread");
        let begin = Instant::now();
        asker.ask();
        assert_eq!(asker.answer(begin + Duration::from_millis(50)), None);
        // Still owed: a second question waits for nobody either.
        asker.ask();
        assert_eq!(asker.answer(Instant::now()), None);
        assert!(begin.elapsed() < ANSWER_WITHIN, "{:?}", begin.elapsed());
        // The time-out is the answer, and then another question goes out.
        assert_eq!(asker.answer(begin + Duration::from_secs(20)), None);
        assert!(!asker.asked);
        asker.ask();
        assert!(asker.asked);
    }
}
