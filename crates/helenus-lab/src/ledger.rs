//! A run's ledger: the file found and read, its keys read back from the cluster, each reported by its class.
//! Refuses to hold a whole ledger in memory: a large one is read several times, a part of its keys each time.

mod keep;
mod report;

pub(crate) use keep::plan;
pub use keep::{Keep, beside};
pub use report::{Counts, LedgerReport, LostKey, TableReport};

use crate::compare::history_file;
use fs_err as fs;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::observe;
use helenus_cluster::scan::recall::{Survey, recall, survey};
use helenus_cluster::scan::{Gentleness, ScanPlace};
use helenus_cql::input;
use helenus_model::consistency::Consistency;
use helenus_model::format::Format;
use helenus_model::ledger::{
    Class, Copies, Entry, Head, KeyWrites, LedgerError, PREFIX_BYTES, RECORD_BYTES, Record,
    SubjectError, overlap, strongest, subjects,
};
use helenus_model::ring::ReplicationError;
use helenus_model::seed::mix;
use helenus_model::workload::data_seed;
use helenus_model::workload::expected::{Expected, ExpectedError};
use helenus_record::{History, HistoryError};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Writes for which a part of the keys is taken: about 100 MiB while its keys are read back.
const WRITES_A_PART: u64 = 500_000;

/// A ledger's file.
#[derive(Debug, Clone)]
pub struct LedgerFile {
    /// The file.
    pub path: PathBuf,
    /// What was run.
    pub head: Head,
    /// Where its records start, in bytes.
    from: u64,
}

/// How far a ledger goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Extent {
    /// Writes that it has.
    pub writes: u64,
    /// Whether the generator finished: then operations under way are recorded, too.
    pub ended: bool,
    /// Bytes of a last record that was cut off.
    pub torn_bytes: u64,
}

/// Why a ledger cannot be read or checked.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum LedgerFileError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Subject(#[from] SubjectError),
    #[error(transparent)]
    Expected(#[from] ExpectedError),
    /// The run was without one.
    #[error("{run} has no ledger")]
    None {
        /// The run.
        run: String,
    },
    /// The file cannot be used.
    #[error("the ledger {path} cannot be read")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content of the file is not a ledger.
    #[error("the ledger {path} cannot be used")]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        source: LedgerError,
    },
    /// A keyspace without a ring.
    #[error("the replicas of keyspace {keyspace} cannot be computed")]
    Copies {
        /// The keyspace.
        keyspace: String,
        /// Why.
        source: ReplicationError,
    },
    /// A level of one data centre, and it is not known of which.
    #[error(
        "{} reads one data centre of several, and with --hosts it is not known which one answers",
        helenus_cql::Consistency::from(*level).name()
    )]
    Where {
        /// The level.
        level: Consistency,
    },
    /// A level that reads cannot have.
    #[error("a ledger cannot be checked at {}", helenus_cql::Consistency::from(*level).name())]
    Level {
        /// The level.
        level: Consistency,
    },
    /// No node of the data centre.
    #[error("no node of {data_center:?} answers")]
    DataCentre {
        /// Asked for.
        data_center: String,
    },
}

impl LedgerFileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::History(error) => error.hint(),
            Self::Cluster(error) => error.hint(),
            Self::Subject(error) => Some(error.hint()),
            Self::None { .. } => Some("`helenus run … --ledger` writes one".into()),
            Self::Content { source, .. } => Some(
                match source {
                    LedgerError::Foreign => "name a run, or a file that --ledger has made",
                    LedgerError::Short => "the generator ended before it wrote anything",
                    LedgerError::Format(_) => "read it with the Helenus that wrote it",
                    LedgerError::Head(_) | LedgerError::Damaged { .. } => {
                        "the file was damaged after it was written; Helenus does not report on a part of a ledger"
                    }
                }
                .into(),
            ),
            Self::Where { .. } => Some("QUORUM or ALL read every data centre".into()),
            Self::Level { .. } => Some("QUORUM or ALL read every data centre".into()),
            Self::DataCentre { .. } => {
                Some("name another with --client-dc, or start its nodes".into())
            }
            Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(
                "give its current path; a run that ended before it started has no ledger".into(),
            ),
            Self::File { .. } | Self::Expected(_) | Self::Copies { .. } => None,
        }
    }
}

/// The ledger of a run out of the history, or in a file; with the run's name where it was one.
///
/// # Errors
/// No such run, a run without a ledger, or a file that is none.
pub fn open(
    context: &Context,
    name: &str,
) -> Result<(LedgerFile, Option<String>), LedgerFileError> {
    let path = Path::new(name);
    if name.contains('/') || path.is_file() {
        return Ok((LedgerFile::open(path)?, None));
    }
    let history = History::open_existing(&history_file(context))?.ok_or(HistoryError::Empty)?;
    let run = history.resolve_one(name)?.id;
    let plan = history.run(run)?.plan()?;
    let run = run.to_string();
    match plan.ledger {
        None => Err(LedgerFileError::None { run }),
        Some(at) => Ok((LedgerFile::open(&at.file)?, Some(run))),
    }
}

impl LedgerFile {
    /// Reads what precedes the records.
    ///
    /// # Errors
    /// The file is not there, or is no ledger.
    pub fn open(path: &Path) -> Result<Self, LedgerFileError> {
        let mut file = input::open(path).map_err(|error| unreadable(path, error.bare()))?;
        let mut take = |length: usize| {
            let mut bytes = vec![0; length];
            match file.read_exact(&mut bytes) {
                Ok(()) => Ok(bytes),
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    Err(content(path, LedgerError::Short))
                }
                Err(source) => Err(unreadable(path, source)),
            }
        };
        let mut prefix = [0; PREFIX_BYTES];
        prefix.copy_from_slice(&take(PREFIX_BYTES)?);
        let length = Head::length(&prefix).map_err(|source| content(path, source))?;
        let head = Head::decode(&take(length)?).map_err(|source| content(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            head,
            from: (PREFIX_BYTES + length) as u64,
        })
    }

    /// Hands each write to `take`, in the order in which they ended.
    ///
    /// # Errors
    /// The file cannot be read, or a whole record of it is damaged.
    pub fn read(&self, take: &mut dyn FnMut(&Record)) -> Result<Extent, LedgerFileError> {
        let failed = |source| unreadable(&self.path, source);
        let mut file = BufReader::new(fs::File::open(&self.path).map_err(failed)?);
        file.seek(SeekFrom::Start(self.from)).map_err(failed)?;
        let mut extent = Extent {
            writes: 0,
            ended: false,
            torn_bytes: 0,
        };
        let mut bytes = [0; RECORD_BYTES];
        loop {
            let filled = fill(&mut file, &mut bytes).map_err(failed)?;
            if filled < RECORD_BYTES {
                extent.torn_bytes = filled as u64;
                return Ok(extent);
            }
            let entry = Entry::decode(&bytes, extent.writes);
            match entry.map_err(|source| content(&self.path, source))? {
                Entry::End { .. } => extent.ended = true,
                Entry::Write(record) => {
                    extent.writes += 1;
                    take(&record);
                }
            }
        }
    }

    /// Data centre whose nodes coordinated its writes; empty where any did.
    pub fn client_dc(&self) -> &str {
        let plan = &self.head.plan;
        plan.local_data_centre.as_deref().unwrap_or_default()
    }
}

fn unreadable(path: &Path, source: io::Error) -> LedgerFileError {
    let path = path.to_owned();
    LedgerFileError::File { path, source }
}

fn content(path: &Path, source: LedgerError) -> LedgerFileError {
    let path = path.to_owned();
    LedgerFileError::Content { path, source }
}

/// As many bytes as there are.
fn fill(file: &mut impl io::Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// How a ledger is checked.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Level of the reads; none takes the strongest that the nodes answer.
    pub consistency: Option<Consistency>,
    /// Data centre whose nodes coordinate the reads; the writes' own by default.
    pub client_dc: Option<String>,
    /// Requests in flight at once; by default by the number of nodes.
    pub parallel: Option<NonZeroUsize>,
    /// Most keys a second.
    pub rate: Option<f64>,
    /// Lost keys that are named.
    pub keep: usize,
}

/// Reads every key of a ledger back. `progress` takes keys that are read, and all of them as far as they are known.
///
/// What broke off a reading that had started stands beside what it had found until then.
///
/// # Errors
/// The file or the cluster cannot be read.
pub fn check(
    place: &ScanPlace,
    file: &LedgerFile,
    request: &CheckRequest,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(LedgerReport, Option<LedgerFileError>), LedgerFileError> {
    let began = Instant::now();
    let plan = &file.head.plan;
    let shares = plan.phases.iter().flat_map(|phase| &phase.operations);
    let used = shares.map(|share| share.operation.clone()).collect();
    let tables: Vec<Option<usize>> = subjects(&plan.workload, &used)?
        .into_iter()
        .map(|subject| Some(subject?.table))
        .collect();
    let mut report = LedgerReport {
        format: Format::new("ledger-check", 1),
        file: file.path.clone(),
        run: None,
        workload: plan.workload.name().to_owned(),
        seed: plan.seed.0,
        client_dc: file.client_dc().to_owned(),
        extent: file.read(&mut |_| {})?,
        complete: true,
        seconds: 0.0,
        tables: Vec::new(),
    };
    let mut broke_off = None;
    let expected = Expected::tables(&plan.workload, data_seed(plan.seed))?;
    for (at, expected) in expected.iter().enumerate() {
        if broke_off.is_some() || !tables.contains(&Some(at)) {
            continue;
        }
        let mut table = Checking::new(place, file, expected, request)?;
        let parts = report.extent.writes.div_ceil(WRITES_A_PART).max(1);
        for part in 0..parts {
            if cancel.is_set() || broke_off.is_some() {
                report.complete = false;
                break;
            }
            let mut keys: HashMap<u64, KeyWrites> = HashMap::new();
            file.read(&mut |record| {
                let own = tables.get(usize::from(record.operation)) == Some(&Some(at));
                if own && mix(record.position) % parts == part {
                    let binds = table.binds(record.consistency);
                    keys.entry(record.position).or_default().note(record, binds);
                }
            })?;
            match table.part(&keys, (part, parts), cancel, progress) {
                Ok(complete) => report.complete &= complete,
                Err(error) => {
                    report.complete = false;
                    broke_off = Some(error);
                }
            }
        }
        report.tables.push(table.finish());
    }
    report.seconds = began.elapsed().as_secs_f64();
    Ok((report, broke_off))
}

/// One table while it is checked.
struct Checking<'a> {
    place: ScanPlace,
    expected: &'a Expected,
    survey: Survey,
    copies: Copies,
    write_dc: &'a str,
    read_dc: String,
    consistency: Consistency,
    gentleness: Gentleness,
    keep: usize,
    report: TableReport,
}

impl<'a> Checking<'a> {
    fn new(
        place: &ScanPlace,
        file: &'a LedgerFile,
        expected: &'a Expected,
        request: &CheckRequest,
    ) -> Result<Self, LedgerFileError> {
        let of = expected.table();
        let survey = survey(place, &of.keyspace)?;
        let copies = Copies::of(&survey.replication).map_err(|source| LedgerFileError::Copies {
            keyspace: of.keyspace.clone(),
            source,
        })?;
        let write_dc = file.client_dc();
        let read_dc = request.client_dc.as_deref().unwrap_or(write_dc).to_owned();
        let place = match (place.state(), read_dc.as_str()) {
            (None, _) | (_, "") => place.clone(),
            (Some(_), dc) => place
                .within(dc)
                .ok_or_else(|| LedgerFileError::DataCentre {
                    data_center: dc.to_owned(),
                })?,
        };
        let consistency = match request.consistency {
            Some(level @ (Consistency::EachQuorum | Consistency::Any)) => {
                return Err(LedgerFileError::Level { level });
            }
            Some(level @ (Consistency::LocalQuorum | Consistency::LocalOne))
                if place.state().is_none()
                    && survey.nodes.iter().any(|(_, dc)| *dc != survey.nodes[0].1) =>
            {
                return Err(LedgerFileError::Where { level });
            }
            Some(level) => level,
            None => strongest(&copies, &silent(&place)?, &read_dc),
        };
        let report = TableReport {
            cluster_name: survey.cluster_name.clone(),
            keyspace: of.keyspace.clone(),
            table: of.name.clone(),
            replication: survey.replication_map.clone(),
            durable_writes: survey.durable_writes,
            consistency,
            client_dc: read_dc.clone(),
            requests: 0,
            again: 0,
            counts: Counts::default(),
            lost: Vec::new(),
        };
        Ok(Self {
            place,
            expected,
            survey,
            copies,
            write_dc,
            read_dc,
            consistency,
            gentleness: Gentleness {
                parallel: request.parallel,
                rate: request.rate,
                consistency: consistency.into(),
            },
            keep: request.keep,
            report,
        })
    }

    /// Whether the reads must meet a write that was acknowledged at this level.
    fn binds(&self, level: Consistency) -> bool {
        let (write, read) = ((level, self.write_dc), (self.consistency, &*self.read_dc));
        overlap(&self.copies, write, read)
    }

    /// Reads the keys of one part back; false where it was interrupted.
    fn part(
        &mut self,
        keys: &HashMap<u64, KeyWrites>,
        (part, parts): (u64, u64),
        cancel: &Cancel,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, LedgerFileError> {
        let mut positions: Vec<u64> = keys.keys().copied().collect();
        positions.sort_unstable();
        let before = self.report.counts.keys;
        // Parts are about as large as each other.
        let all = before + positions.len() as u64 * (parts - part);
        let counts = std::cell::RefCell::new(std::mem::take(&mut self.report.counts));
        let mut lost = Vec::new();
        let ended = recall(
            &self.place,
            self.expected,
            &positions,
            self.gentleness,
            cancel,
            &mut |at, found| {
                let position = positions[at];
                let Some(writes) = keys.get(&position) else {
                    return;
                };
                let class = writes.class(found);
                counts.borrow_mut().add(writes, class);
                if let Class::Lost(write) = class {
                    lost.push((write, position, found));
                }
            },
            &mut || progress(counts.borrow().keys, all),
        );
        self.report.counts = counts.into_inner();
        // What was found before it broke off is reported too.
        let named = self.name(lost);
        let ended = ended?;
        named?;
        self.report.requests += ended.requests;
        self.report.again += ended.again;
        Ok(ended.complete)
    }

    /// Keeps the first keys that are lost, by the moment at which they were written.
    fn name(
        &mut self,
        mut lost: Vec<(helenus_model::ledger::Write, u64, Option<u64>)>,
    ) -> Result<(), LedgerFileError> {
        lost.sort_unstable();
        lost.truncate(self.keep);
        for (write, position, found_us) in lost {
            let owners = self.survey.owners(self.expected, position)?;
            let owners = owners.iter().map(|address| self.node(*address)).collect();
            let key = self.expected.key(position);
            let cells = key.iter().flatten().map(ToString::to_string);
            self.report.lost.push(LostKey {
                position,
                key: cells.collect::<Vec<_>>().join(", "),
                write,
                client_dc: self.write_dc.to_owned(),
                found_us,
                owners,
            });
        }
        self.report.lost.sort_by_key(|key| key.write);
        self.report.lost.truncate(self.keep);
        Ok(())
    }

    /// A node's name where it is ours, else its address.
    fn node(&self, address: std::net::IpAddr) -> String {
        let nodes = self.place.state().into_iter().flat_map(|s| &s.plan.nodes);
        let mut nodes = nodes.filter(|node| std::net::IpAddr::from(node.address) == address);
        let name = nodes.next().map(|node| node.name.clone());
        name.unwrap_or_else(|| address.to_string())
    }

    fn finish(self) -> TableReport {
        self.report
    }
}

/// How many nodes of each data centre do not run, of a cluster of ours; of others it is not known.
fn silent(place: &ScanPlace) -> Result<BTreeMap<String, u32>, LedgerFileError> {
    let mut silent = BTreeMap::new();
    let Some(state) = place.state() else {
        return Ok(silent);
    };
    let views = observe::nodes(state).map_err(ClusterError::io("the nodes' claims"))?;
    // Who has no data of its own is missed by no reader.
    for node in state.plan.nodes.iter().filter(|node| !node.coordinator) {
        let runs = views
            .iter()
            .any(|view| view.name == node.name && view.pid.is_some());
        if !runs {
            *silent.entry(node.data_center.clone()).or_default() += 1;
        }
    }
    Ok(silent)
}
