//! Every parameter of every command and group: its form, its default, and what it does, in one line of ours.
//! Refuses forms of Thrift and of the stress daemon, which no server speaks any more.

use super::options::{Form, Opt, Set};

const LEVELS: Form = Form::Word(&[
    "ONE",
    "QUORUM",
    "LOCAL_QUORUM",
    "EACH_QUORUM",
    "ALL",
    "ANY",
    "TWO",
    "THREE",
    "LOCAL_ONE",
    "SERIAL",
    "LOCAL_SERIAL",
]);
const SERIAL: Form = Form::Word(&["SERIAL", "LOCAL_SERIAL"]);

macro_rules! options {
    ($($name:ident: $prefix:literal $form:expr, $default:expr, $about:literal;)*) => {
        $(static $name: Opt = Opt {
            prefix: $prefix,
            form: $form,
            default: $default,
            required: false,
            about: $about,
        };)*
    };
}

macro_rules! required {
    ($($name:ident: $prefix:literal $form:expr, $about:literal;)*) => {
        $(static $name: Opt = Opt {
            prefix: $prefix,
            form: $form,
            default: None,
            required: true,
            about: $about,
        };)*
    };
}

required! {
    COUNT: "n=" Form::Number, "Operations in all; n=0 only creates the tables";
    DURATION: "duration=" Form::Time, "How long: seconds, minutes, hours or days";
    PROFILE: "profile=" Form::Some, "A profile in YAML; several separated by commas";
    OPS: "ops" Form::Pairs(&[], true), "Weights of the profile's operations, as in ops(insert=1,simple1=3)";
    PRINTED: "dist=" Form::Dist, "The distribution whose percentiles are printed";
    THREADS: "threads=" Form::Digits, "Operations in flight at once";
    SEQUENCE: "seq=" Form::Range, "Seeds one after the other";
    NAMES: "names=" Form::Some, "Names of the columns, separated by commas";
    SIMPLE_NATIVE: "simplenative" Form::Flag, "cassandra-stress's own plain client; here the same as native";
    GRAPH_FILE: "file=" Form::Some, "The page to create or add to";
}

options! {
    ERROR: "err<" Form::Share, Some("0.02"), "Until the relative standard error of the mean row rate is below this";
    LEAST: "n>" Form::Digits, Some("30"), "Fewest intervals before the error is checked";
    MOST: "n<" Form::Digits, Some("200"), "Most intervals, whatever the error";
    NO_WARMUP: "no-warmup" Form::Flag, None, "No operations before the first that counts";
    TRUNCATE: "truncate=" Form::Word(&["never", "once", "always"]), Some("never"), "Truncate the tables: never, before the first run, or before each";
    LEVEL: "cl=" LEVELS, Some("LOCAL_ONE"), "Consistency level";
    SERIAL_LEVEL: "serial-cl=" SERIAL, Some("SERIAL"), "Consistency level of compare-and-set";
    ADD: "add=" Form::Dist, Some("fixed(1)"), "What is added to a counter";
    KEY_SIZE: "keysize=" Form::Digits, Some("10"), "Bytes of a key";
    CLUSTERING_MIXED: "clustering=" Form::Dist, Some("GAUSSIAN(1..10)"), "Length of runs of operations of one kind";
    CLUSTERING_USER: "clustering=" Form::Dist, Some("gaussian(1..10)"), "Length of runs of operations of one kind";
    RATIO: "ratio" Form::Pairs(&[
        ("read", Form::Decimal),
        ("write", Form::Decimal),
        ("counter_write", Form::Decimal),
        ("counter_read", Form::Decimal),
    ], false), None, "Weights of the commands, as in ratio(read=3,write=1); default read=1,write=1";
    THROTTLE: "throttle=" Form::PerSecond, Some("0/s"), "At most this many operations per second; the latency shown is the service time";
    FIXED: "fixed=" Form::PerSecond, Some("0/s"), "Open loop at this many operations per second; the latency shown is the response time";
    AUTO: "auto" Form::Flag, None, "Add threads until the rate stops growing";
    THREADS_LEAST: "threads>=" Form::Digits, Some("4"), "Threads of the first run";
    THREADS_MOST: "threads<=" Form::Digits, Some("1000"), "Most threads";
    NO_WRAP: "no-wrap" Form::Flag, None, "End when each seed was visited";
    LOOKBACK: "read-lookback=" Form::Dist, None, "Reads use seeds written this many writes ago";
    CONTENTS: "contents=" Form::Word(&["sorted", "shuffled"]), None, "Order of a partition's rows";
    SEEDS: "dist=" Form::Dist, None, "Distribution of the seeds";
    VISITS: "visits=" Form::Dist, Some("fixed(1)"), "Inserts that a partition is split into";
    REVISIT: "revisit=" Form::Dist, Some("uniform(1..1M)"), "Which unfinished partition is continued";
    PARTITIONS: "partitions=" Form::Dist, None, "Partitions per operation";
    BATCH_TYPE: "batchtype=" Form::Word(&["unlogged", "logged", "counter"]), None, "Kind of the batch";
    SELECT: "select-ratio=" Form::Ratio, None, "Share of a partition's rows that one operation writes";
    ROW_POPULATION: "row-population-ratio=" Form::Ratio, Some("fixed(1)/1"), "Share of a row's columns that are written";
    INSERT_LEVEL: "cl=" LEVELS, None, "Consistency level of inserts";
    INSERT_SERIAL: "serial-cl=" SERIAL, None, "Serial consistency level of inserts";
    CELLS: "n=" Form::Dist, Some("FIXED(5)"), "Columns per operation";
    SLICE: "slice" Form::Flag, None, "Reads take all columns";
    SUPER: "super=" Form::Digits, Some("0"), "Super columns; no longer supported";
    COMPARATOR: "comparator=" Form::Word(&["TimeUUIDType", "AsciiType", "UTF8Type"]), Some("AsciiType"), "Type of the column names, of old";
    TIMESTAMP: "timestamp=" Form::Digits, None, "Timestamp of every cell";
    SIZE: "size=" Form::Dist, Some("FIXED(34)"), "Bytes of a cell";
    RETRIES: "retries=" Form::Digits, Some("9"), "Retries";
    IGNORE: "ignore" Form::Flag, None, "Count a failed operation and continue";
    FAIL_FAST: "fail-fast" Form::Flag, None, "The first failure ends a timed run";
    SKIP_VALIDATION: "skip-read-validation" Form::Flag, None, "What is read is not compared";
    SKIP_COLUMNS: "skip-unsupported-columns" Form::Flag, None, "Leave out columns of types that cannot be made; here every type can";
    DELAY: "delay-policy=" Form::Word(&["constant", "linear", "exponential"]), Some("constant"), "How the wait before a retry grows";
    DELAY_LEAST: "min-delay-ms=" Form::Digits, Some("0"), "Least wait before a retry";
    DELAY_MOST: "max-delay-ms=" Form::Digits, Some("20000"), "Most wait before a retry";
    REPLICATION: "replication" Form::Pairs(&[("strategy", Form::Some), ("factor", Form::Digits)], true), None, "How the keyspace is replicated, as in replication(strategy=NetworkTopologyStrategy,DC1=3)";
    KEYSPACE: "keyspace=" Form::Some, Some("keyspace1"), "Keyspace";
    COMPACTION: "compaction" Form::Pairs(&[("strategy", Form::Some)], true), None, "Compaction of the tables, as in compaction(strategy=LeveledCompactionStrategy)";
    COMPRESSION: "compression=" Form::Any, None, "Compression of the tables";
    STORAGE: "storage" Form::Pairs(&[("type", Form::Some)], true), None, "Storage of ScyllaDB's keyspaces";
    HOSTS: "" Form::Hosts, Some("localhost"), "Hosts, with or without a port, separated by commas";
    NODE_FILE: "file=" Form::Some, None, "A file with one host per line";
    WHITELIST: "whitelist" Form::Flag, None, "Connect only to these hosts";
    DATACENTER: "datacenter=" Form::Some, None, "Data centre whose nodes coordinate";
    RACK: "rack=" Form::Some, None, "Rack whose nodes coordinate";
    BALANCE: "loadbalance=" Form::Any, None, "How coordinators are chosen";
    REMOTE_DC: "remote-dc=" Form::Digits, None, "Hosts of other data centres to fall back to";
    NATIVE: "native" Form::Flag, None, "The native protocol; there is no other";
    CQL3: "cql3" Form::Flag, None, "CQL; there is no other";
    FOUR: "4x" Form::Flag, None, "Another Java driver; here the same";
    UNPREPARED: "unprepared" Form::Flag, None, "Do not prepare statements";
    PREPARED: "prepared" Form::Flag, None, "Prepare statements; they always are";
    MODE_COMPRESSION: "compression=" Form::Word(&["none", "lz4", "snappy"]), Some("none"), "Compression of frames";
    MODE_PORT: "port=" Form::Digits, None, "Ignored, as in cassandra-stress; use -port native=";
    USER: "user=" Form::Some, None, "User name";
    PASSWORD: "password=" Form::Some, None, "Password; better in a -credentials-file";
    AUTH_PROVIDER: "auth-provider=" Form::Any, None, "A Java class; here the plain one";
    MAX_PENDING: "maxPending=" Form::Digits, Some("128"), "Most requests on a connection";
    CONNECTIONS: "connectionsPerHost=" Form::Digits, Some("8"), "Connections per host";
    PROTOCOL: "protocolVersion=" Form::Protocol, None, "Version of the protocol";
    REQUEST_TIMEOUT: "requestTimeout=" Form::Digits, None, "Age in milliseconds at which a request is given up";
    NATIVE_PORT: "native=" Form::Digits, Some("9042"), "Port of CQL";
    JMX_PORT: "jmx=" Form::Digits, Some("7199"), "Port of JMX";
    THRIFT_PORT: "thrift=" Form::Digits, Some("9160"), "Port of Thrift; no longer supported";
    FACTORY: "factory=" Form::Any, None, "A Java class of Thrift; not used";
    TRUSTSTORE: "truststore=" Form::Any, None, "Certificates that are trusted";
    TRUSTSTORE_PASSWORD: "truststore-password=" Form::Any, None, "Its password";
    KEYSTORE: "keystore=" Form::Any, None, "The client's own key";
    KEYSTORE_PASSWORD: "keystore-password=" Form::Any, None, "Its password";
    SSL_PROTOCOL: "ssl-protocol=" Form::Any, Some("TLS"), "TLS";
    SSL_ALGORITHM: "ssl-alg=" Form::Any, None, "Algorithm of Java's key managers";
    STORE_TYPE: "store-type=" Form::Any, Some("JKS"), "Format of the stores";
    HOSTNAMES: "hostname-verification=" Form::Any, Some("false"), "Compare the host's name with its certificate";
    SSL_CIPHERS: "ssl-ciphers=" Form::Any, Some("TLS_RSA_WITH_AES_128_CBC_SHA,TLS_RSA_WITH_AES_256_CBC_SHA"), "Cipher suites";
    LOG_LEVEL: "level=" Form::Word(&["minimal", "normal", "verbose"]), Some("normal"), "How much is printed";
    NO_SUMMARY: "no-summary" Form::Flag, None, "No summary at the end";
    LOG_FILE: "file=" Form::Some, None, "All output is written there too";
    HDR_FILE: "hdrfile=" Form::Some, None, "Histograms of each interval, as HdrHistogram's log";
    INTERVAL: "interval=" Form::Interval, Some("1s"), "Time between rows";
    NO_SETTINGS: "no-settings" Form::Flag, None, "No settings at the beginning";
    STATEMENTS: "print-statements-on-error" Form::Flag, None, "Print the statement that failed";
    REVISION: "revision=" Form::Any, Some("unknown"), "What is tested";
    TITLE: "title=" Form::Any, None, "The page's title";
    OPERATION: "op=" Form::Any, None, "The run's name; by default its command";
    WRAP: "wrap" Form::Flag, None, "Start again at the first token range after the last";
    SPLIT: "split-factor=" Form::Number, Some("1"), "Parts that each range is split into";
    OUTPUT_FREQUENCY: "output-frequency=" Form::Interval, Some("1s"), "Time between rows";
    HEADER_FREQUENCY: "header-frequency=" Form::Any, None, "Time between headers";
}

fn ends() -> [Set; 3] {
    [vec![&ERROR, &LEAST, &MOST], vec![&COUNT], vec![&DURATION]]
}

fn with(own: &[&'static Opt]) -> Vec<Set> {
    let shared: [&'static Opt; 4] = [&NO_WARMUP, &TRUNCATE, &LEVEL, &SERIAL_LEVEL];
    ends()
        .into_iter()
        .map(|end| {
            end.into_iter()
                .chain(shared)
                .chain(own.iter().copied())
                .collect()
        })
        .collect()
}

/// The sets of a command or group; none where there is no such.
pub(super) fn sets(name: &str) -> Option<Vec<Set>> {
    Some(match name {
        "read" | "write" | "counter_write" | "counter_read" => with(&[&ADD, &KEY_SIZE]),
        "mixed" => with(&[&ADD, &KEY_SIZE, &RATIO, &CLUSTERING_MIXED]),
        "user" => with(&[&PROFILE, &OPS, &CLUSTERING_USER]),
        "print" => vec![vec![&PRINTED]],
        "-rate" => vec![
            vec![&THREADS_LEAST, &THREADS_MOST, &AUTO],
            vec![&THREADS, &THROTTLE, &FIXED],
        ],
        "-pop" => vec![
            vec![&SEQUENCE, &NO_WRAP, &LOOKBACK, &CONTENTS],
            vec![&SEEDS, &CONTENTS],
        ],
        "-insert" => vec![vec![
            &VISITS,
            &REVISIT,
            &PARTITIONS,
            &BATCH_TYPE,
            &SELECT,
            &ROW_POPULATION,
            &INSERT_LEVEL,
            &INSERT_SERIAL,
        ]],
        "-col" => {
            let shared: [&'static Opt; 5] = [&SLICE, &SUPER, &COMPARATOR, &TIMESTAMP, &SIZE];
            [&NAMES, &CELLS]
                .into_iter()
                .map(|first| std::iter::once(first).chain(shared).collect())
                .collect()
        }
        "-errors" => vec![vec![
            &RETRIES,
            &IGNORE,
            &FAIL_FAST,
            &SKIP_VALIDATION,
            &SKIP_COLUMNS,
            &DELAY,
            &DELAY_LEAST,
            &DELAY_MOST,
        ]],
        _ => return surroundings(name),
    })
}

/// The groups that say where to, and what is reported.
fn surroundings(name: &str) -> Option<Vec<Set>> {
    Some(match name {
        "-schema" => vec![vec![
            &REPLICATION,
            &KEYSPACE,
            &COMPACTION,
            &COMPRESSION,
            &STORAGE,
        ]],
        "-node" => vec![vec![
            &DATACENTER,
            &RACK,
            &WHITELIST,
            &NODE_FILE,
            &BALANCE,
            &REMOTE_DC,
            &HOSTS,
        ]],
        "-mode" => vec![
            vec![
                &NATIVE,
                &CQL3,
                &FOUR,
                &UNPREPARED,
                &PREPARED,
                &MODE_COMPRESSION,
                &MODE_PORT,
                &USER,
                &PASSWORD,
                &AUTH_PROVIDER,
                &MAX_PENDING,
                &CONNECTIONS,
                &PROTOCOL,
                &REQUEST_TIMEOUT,
            ],
            vec![&SIMPLE_NATIVE, &PREPARED, &CQL3, &MODE_PORT],
        ],
        "-port" => vec![vec![&NATIVE_PORT, &JMX_PORT, &THRIFT_PORT]],
        "-transport" => vec![vec![
            &FACTORY,
            &TRUSTSTORE,
            &TRUSTSTORE_PASSWORD,
            &KEYSTORE,
            &KEYSTORE_PASSWORD,
            &SSL_PROTOCOL,
            &SSL_ALGORITHM,
            &STORE_TYPE,
            &SSL_CIPHERS,
            &HOSTNAMES,
        ]],
        "-log" => vec![vec![
            &LOG_LEVEL,
            &NO_SUMMARY,
            &LOG_FILE,
            &HDR_FILE,
            &INTERVAL,
            &NO_SETTINGS,
            &STATEMENTS,
        ]],
        "-graph" => vec![vec![&GRAPH_FILE, &REVISION, &TITLE, &OPERATION]],
        "-tokenrange" => vec![vec![&WRAP, &SPLIT]],
        "-jmx" => vec![vec![&USER, &PASSWORD]],
        "-reporting" => vec![vec![&OUTPUT_FREQUENCY, &HEADER_FREQUENCY]],
        _ => return None,
    })
}

/// Commands, with what each does.
pub(super) const COMMANDS: [(&str, &str); 10] = [
    ("read", "Reads of standard1, after a write has filled it"),
    ("write", "Writes of standard1"),
    ("mixed", "Several of the simple commands at once, by ratio"),
    ("counter_write", "Counters of counter1, added to"),
    ("counter_read", "Counters of counter1, read"),
    ("user", "Your own tables and queries, from a profile"),
    ("help", "Parameters of a command or group"),
    ("print", "Percentiles of a distribution"),
    (
        "legacy",
        "A line of release 2.0 or older, translated and run",
    ),
    ("version", "The version"),
];

/// Other names of commands.
pub(super) const ALIASES: [(&str, &str); 11] = [
    ("insert", "write"),
    ("counterwrite", "counter_write"),
    ("counter_add", "counter_write"),
    ("counteradd", "counter_write"),
    ("counterread", "counter_read"),
    ("counter_get", "counter_read"),
    ("counterget", "counter_read"),
    ("-?", "help"),
    ("-h", "help"),
    ("-help", "help"),
    ("-version", "version"),
];

/// Groups, with what each is about.
pub(super) const GROUPS: [(&str, &str); 16] = [
    ("-pop", "Which partitions are visited, and in which order"),
    (
        "-insert",
        "How partitions are written: batches, shares, visits",
    ),
    ("-col", "Columns of the pre-defined tables"),
    ("-rate", "Operations in flight, and the rate"),
    ("-mode", "Protocol, user and password"),
    ("-errors", "What happens when an operation fails"),
    ("-schema", "Keyspace, replication, compaction, compression"),
    ("-node", "Hosts"),
    ("-log", "What is printed, where, and how often"),
    ("-transport", "Encryption"),
    ("-port", "Ports"),
    ("-graph", "A page with a graph"),
    ("-tokenrange", "Scans by token ranges"),
    ("-jmx", "User and password of JMX; not used"),
    ("-credentials-file", "A file with user and password"),
    ("-reporting", "Time between rows"),
];
