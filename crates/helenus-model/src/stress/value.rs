//! A stress line as a value: what cassandra-stress would do, every default filled in.
//! Refuses to hold a password where it could be shown.

use crate::consistency::{Consistency, SerialConsistency};
use crate::dist::{Dist, RatioDist};
use crate::workload::profile::BatchKind;
use serde::Serialize;
use std::fmt;

/// A stress line, every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stress {
    /// The words that it was read from, white space taken out; passwords are masked.
    pub words: Vec<String>,
    /// Read, write, mixed, counters or user.
    pub command: Command,
    /// When it ends.
    pub until: Until,
    /// No operations before the first row of the table of results.
    pub no_warmup: bool,
    /// When tables are truncated.
    pub truncate: Truncate,
    /// Consistency level.
    pub consistency: Level,
    /// Consistency of compare-and-set.
    pub serial_consistency: SerialConsistency,
    /// `-rate`.
    pub rate: Rate,
    /// `-pop`.
    pub population: Population,
    /// `-insert`.
    pub insert: Insert,
    /// `-col`.
    pub columns: Columns,
    /// `-errors`.
    pub errors: Errors,
    /// `-log`.
    pub log: Log,
    /// `-mode`.
    pub mode: Mode,
    /// `-node`.
    pub node: Node,
    /// `-schema`.
    pub schema: Schema,
    /// `-transport`.
    pub transport: Transport,
    /// `-port`.
    pub port: Port,
    /// `-graph`.
    pub graph: Graph,
    /// `-tokenrange`.
    pub token_range: TokenRange,
    /// `-credentials-file`: where user and password are.
    pub credentials_file: Option<String>,
    /// What was taken and changes nothing, with the reason.
    pub notes: Vec<String>,
}

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Reads of standard1.
    Read(Simple),
    /// Writes of standard1.
    Write(Simple),
    /// Counters of counter1, added to.
    CounterWrite(Simple),
    /// Counters of counter1, read.
    CounterRead(Simple),
    /// Several of these.
    Mixed {
        /// What they share.
        simple: Simple,
        /// Weights by kind, in the order in which they are written.
        ratios: Vec<(Kind, f64)>,
        /// Length of runs of one kind.
        clustering: Dist,
    },
    /// Profiles of one's own.
    User {
        /// Files.
        profiles: Vec<String>,
        /// Weights by operation, in the order in which they are written.
        ops: Vec<(String, f64)>,
        /// Length of runs of one kind.
        clustering: Dist,
    },
}

/// What the pre-defined commands share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simple {
    /// What is added to a counter.
    pub add: Dist,
    /// Bytes of a key.
    pub key_bytes: u32,
}

/// A pre-defined operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A row of standard1 is read.
    Read,
    /// A row of standard1 is written.
    Write,
    /// A row of counter1 is added to.
    CounterWrite,
    /// A row of counter1 is read.
    CounterRead,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// After so many operations.
    Count(u64),
    /// After so long.
    Time {
        /// How many of the unit.
        amount: u64,
        /// Which.
        unit: TimeUnit,
    },
    /// When the relative standard error of the mean row rate is below a bound.
    Error {
        /// The bound.
        below: f64,
        /// Fewest intervals.
        least: u32,
        /// Most intervals.
        most: u32,
    },
}

/// Unit of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum TimeUnit {
    Seconds,
    Minutes,
    Hours,
    Days,
}

/// When tables are truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncate {
    /// Not at all.
    Never,
    /// Before the first run.
    Once,
    /// Before each run.
    Always,
}

/// A consistency level as `cl=` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Level {
    /// An ordinary one.
    Plain(Consistency),
    /// Of serial reads.
    Serial(SerialConsistency),
}

/// `-rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// So many threads.
    Threads {
        /// How many.
        threads: u32,
        /// Whether, and how, the rate is held.
        limit: Limit,
    },
    /// Ever more threads.
    Search {
        /// Until the rate grows no more; otherwise up to the most.
        auto: bool,
        /// Threads of the first run.
        least: u32,
        /// Most threads.
        most: u32,
    },
}

/// A held rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// As fast as it goes.
    None,
    /// At most so many a second; latencies are shown from the start.
    Throttle(u32),
    /// So many a second by a schedule; latencies are shown from the intended start.
    Fixed(u32),
}

/// `-pop`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Population {
    /// Which seeds.
    pub seeds: Seeds,
    /// Order of a partition's rows.
    pub contents: Contents,
}

/// Which seeds are visited.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seeds {
    /// One after the other.
    Sequence {
        /// First.
        from: u64,
        /// Last.
        to: u64,
        /// From the beginning again at the end.
        wrap: bool,
        /// Reads go so far behind the writes.
        lookback: Option<Dist>,
    },
    /// Drawn.
    Drawn(Dist),
}

/// Order of a partition's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are cassandra-stress's own")]
pub enum Contents {
    Arbitrary,
    Shuffled,
    Sorted,
}

/// `-insert`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Insert {
    /// Inserts that a partition is split into.
    pub visits: Dist,
    /// Which partial partition is continued.
    pub revisit: Dist,
    /// Partitions per operation, if set.
    pub partitions: Option<Dist>,
    /// Share of a partition's rows that one operation writes, if set.
    pub select: Option<RatioDist>,
    /// Share of a row's columns that are written.
    pub row_population: RatioDist,
    /// Kind of the batch, if set.
    pub batch: Option<BatchKind>,
    /// Its own consistency.
    pub consistency: Option<Level>,
    /// Its own serial consistency.
    pub serial_consistency: Option<SerialConsistency>,
}

/// `-col`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Columns {
    /// Names, sorted by their bytes.
    pub names: Vec<String>,
    /// How many of them; none where they were named.
    pub count: Option<Dist>,
    /// Bytes of a cell.
    pub size: Dist,
    /// Comparator of old.
    pub comparator: String,
    /// Timestamp of every cell.
    pub timestamp: Option<u64>,
    /// Reads take all columns.
    pub slice: bool,
}

/// `-errors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// Tries of an operation.
    pub tries: u32,
    /// A failed operation is counted, and the run continues.
    pub ignore: bool,
    /// The first failure ends a timed run.
    pub fail_fast: bool,
    /// What is read is not compared.
    pub skip_read_validation: bool,
    /// Columns of types that cannot be made are left out.
    pub skip_unsupported_columns: bool,
    /// Wait before a try: its growth, least and most in milliseconds.
    pub delay: (String, u32, u32),
}

/// `-log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Log {
    /// No summary.
    pub no_summary: bool,
    /// No settings.
    pub no_settings: bool,
    /// A second place for all text.
    pub file: Option<String>,
    /// Where the histograms go.
    pub hdr_file: Option<String>,
    /// Time between rows, in milliseconds.
    pub interval_ms: u64,
    /// `MINIMAL`, `NORMAL` or `VERBOSE`.
    pub level: String,
}

/// `-mode`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mode {
    /// cassandra-stress's own plain client; ours is one and the same.
    pub simple_native: bool,
    /// Whether statements are prepared.
    pub prepared: bool,
    /// The protocol's version, if set.
    pub protocol: Option<u32>,
    /// User name.
    pub user: Option<String>,
    /// Password.
    pub password: Option<Hidden>,
    /// A Java class.
    pub auth_provider: Option<String>,
    /// Most requests on a connection.
    pub max_pending: Option<u32>,
    /// Connections per host.
    pub connections_per_host: Option<u32>,
    /// `NONE`, `LZ4` or `SNAPPY`.
    pub compression: String,
    /// Age at which a request is given up, in milliseconds, if set.
    pub request_timeout_ms: Option<u32>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    /// Takes a text.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text, for whoever must send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Serialize for Hidden {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

/// `-node`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Hosts, with or without a port; none where the line names none.
    pub hosts: Vec<String>,
    /// A file with one host per line.
    pub file: Option<String>,
    /// Only these hosts.
    pub whitelist: bool,
    /// Data centre whose nodes coordinate.
    pub datacenter: Option<String>,
    /// Rack whose nodes coordinate.
    pub rack: Option<String>,
}

/// `-schema`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Schema {
    /// Keyspace.
    pub keyspace: String,
    /// Full name of the class.
    pub strategy: String,
    /// Its options.
    pub replication: Vec<(String, String)>,
    /// Compression of tables.
    pub compression: Option<String>,
    /// Compaction of tables.
    pub compaction: Option<String>,
    /// Its options.
    pub compaction_options: Vec<(String, String)>,
}

/// `-transport`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transport {
    /// What was given, in the order of the help; passwords hidden.
    pub truststore: Option<String>,
    /// Its password.
    pub truststore_password: Option<Hidden>,
    /// The client's own key.
    pub keystore: Option<String>,
    /// Its password.
    pub keystore_password: Option<Hidden>,
    /// `TLS`.
    pub protocol: String,
    /// Algorithm.
    pub algorithm: Option<String>,
    /// Cipher suites.
    pub ciphers: String,
}

/// `-port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Port {
    /// CQL, if set.
    pub native: Option<u16>,
    /// JMX.
    pub jmx: u16,
}

/// `-graph`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// The page.
    pub file: Option<String>,
    /// What is tested.
    pub revision: String,
    /// Its title.
    pub title: Option<String>,
    /// The run's name.
    pub operation: String,
}

/// `-tokenrange`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TokenRange {
    /// From the beginning again at the end.
    pub wrap: bool,
    /// Parts that each range is split into.
    pub split_factor: u64,
}

/// The levels by their names.
const LEVELS: [(&str, Level); 11] = [
    ("ONE", Level::Plain(Consistency::One)),
    ("QUORUM", Level::Plain(Consistency::Quorum)),
    ("LOCAL_QUORUM", Level::Plain(Consistency::LocalQuorum)),
    ("EACH_QUORUM", Level::Plain(Consistency::EachQuorum)),
    ("ALL", Level::Plain(Consistency::All)),
    ("ANY", Level::Plain(Consistency::Any)),
    ("TWO", Level::Plain(Consistency::Two)),
    ("THREE", Level::Plain(Consistency::Three)),
    ("LOCAL_ONE", Level::Plain(Consistency::LocalOne)),
    ("SERIAL", Level::Serial(SerialConsistency::Serial)),
    (
        "LOCAL_SERIAL",
        Level::Serial(SerialConsistency::LocalSerial),
    ),
];

impl Level {
    /// By its name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        LEVELS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, level)| *level)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        LEVELS
            .iter()
            .find(|(_, level)| *level == self)
            .map_or("LOCAL_ONE", |(name, _)| *name)
    }
}

impl Kind {
    /// All, in cassandra-stress's order.
    pub const ALL: [Self; 4] = [
        Self::Read,
        Self::Write,
        Self::CounterWrite,
        Self::CounterRead,
    ];

    /// As it stands in rows and tags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::CounterWrite => "COUNTER_WRITE",
            Self::CounterRead => "COUNTER_READ",
        }
    }

    /// Whether it changes a table.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::CounterWrite)
    }
}

impl Command {
    /// Its name in capitals.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mixed { .. } => "MIXED",
            Self::User { .. } => "USER",
            simple => simple.kind().map_or("", Kind::name),
        }
    }

    /// Its only operation, where it has only one.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Read(_) => Some(Kind::Read),
            Self::Write(_) => Some(Kind::Write),
            Self::CounterWrite(_) => Some(Kind::CounterWrite),
            Self::CounterRead(_) => Some(Kind::CounterRead),
            Self::Mixed { .. } | Self::User { .. } => None,
        }
    }

    /// What the pre-defined commands share.
    pub fn simple(&self) -> Option<&Simple> {
        match self {
            Self::Read(simple)
            | Self::Write(simple)
            | Self::CounterWrite(simple)
            | Self::CounterRead(simple)
            | Self::Mixed { simple, .. } => Some(simple),
            Self::User { .. } => None,
        }
    }

    /// Whether it may change a table: cassandra-stress pauses between such runs.
    pub fn writes(&self) -> bool {
        self.kind().is_none_or(Kind::writes)
    }
}

impl Until {
    /// The count; −1 where it ends otherwise, as cassandra-stress has it.
    pub fn count(self) -> i64 {
        match self {
            Self::Count(count) => i64::try_from(count).unwrap_or(i64::MAX),
            Self::Time { .. } | Self::Error { .. } => -1,
        }
    }

    /// The time in seconds, where it ends by time.
    pub fn seconds(self) -> Option<u64> {
        let Self::Time { amount, unit } = self else {
            return None;
        };
        let factor = match unit {
            TimeUnit::Seconds => 1,
            TimeUnit::Minutes => 60,
            TimeUnit::Hours => 3_600,
            TimeUnit::Days => 86_400,
        };
        Some(amount.saturating_mul(factor))
    }
}

impl TimeUnit {
    /// As Java names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "SECONDS",
            Self::Minutes => "MINUTES",
            Self::Hours => "HOURS",
            Self::Days => "DAYS",
        }
    }
}
