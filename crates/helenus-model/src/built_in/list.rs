//! The built-in workloads.
//! Refuses logic: names, parameters, phases.

use super::Order::{Any, Asked, InTurn};
use super::{BuiltIn, Parameter, PhaseOf};

const fn parameter(name: &'static str, default: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        default,
        about,
    }
}

const RF: Parameter = parameter(
    super::RF,
    super::AUTO,
    "replicas in each data centre; auto is up to 3, as many as it has nodes",
);

/// All of them, in the order in which they are listed.
pub const ALL: &[BuiltIn] = &[
    BuiltIn {
        name: "standard1",
        about: "cassandra-stress's default table: a key of 10 bytes, five columns of 34 bytes",
        parameters: &[],
        phases: &[],
        yaml: None,
    },
    BuiltIn {
        name: "counter1",
        about: "cassandra-stress's counters: five per key of 10 bytes",
        parameters: &[RF, parameter("keys", "1M", "number of keys")],
        phases: &[
            PhaseOf {
                name: "rampup",
                about: "adds 1 to every counter of every key",
                mix: &[("insert", "1")],
                count: "keys",
                population: "keys",
                order: InTurn,
            },
            PhaseOf {
                name: "main",
                about: "half additions, half reads, of any key",
                mix: &[("insert", "1"), ("read", "1")],
                count: "keys",
                population: "keys",
                order: Any,
            },
        ],
        yaml: Some(include_str!("../../data/workloads/counter1.yaml")),
    },
    BuiltIn {
        name: "kv",
        about: "one value per key",
        parameters: &[
            RF,
            parameter("keys", "1M", "number of keys"),
            parameter("key_size", "16", "letters of a key"),
            parameter("value_size", "100", "bytes of a value"),
            parameter("read_ratio", "1", "weight of reads in main"),
            parameter("write_ratio", "1", "weight of writes in main"),
        ],
        phases: &[
            PhaseOf {
                name: "rampup",
                about: "writes every key once",
                mix: &[("insert", "1")],
                count: "keys",
                population: "keys",
                order: InTurn,
            },
            PhaseOf {
                name: "main",
                about: "reads and writes of any key",
                mix: &[("read", "read_ratio"), ("insert", "write_ratio")],
                count: "keys",
                population: "keys",
                order: Any,
            },
        ],
        yaml: Some(include_str!("../../data/workloads/kv.yaml")),
    },
    BuiltIn {
        name: "timeseries",
        about: "series that each get one point in turn; the newest points are read",
        parameters: &[
            RF,
            parameter("series", "1000", "number of series"),
            parameter(
                "step_ms",
                "10000",
                "milliseconds between two points of a series",
            ),
            parameter("points", "1M", "points of all series together"),
            parameter("limit", "10", "points per read of the newest"),
            parameter(
                "read_ratio",
                "1",
                "weight of reads of one point, and of reads of the newest, in main",
            ),
            parameter("write_ratio", "8", "weight of writes in main"),
        ],
        phases: &[
            PhaseOf {
                name: "rampup",
                about: "writes the points in turn",
                mix: &[("insert", "1")],
                count: "points",
                population: "points",
                order: InTurn,
            },
            PhaseOf {
                name: "main",
                about: "writes points, reads one or the newest",
                mix: &[
                    ("insert", "write_ratio"),
                    ("point", "read_ratio"),
                    ("last", "read_ratio"),
                ],
                count: "points",
                population: "points",
                order: Any,
            },
        ],
        yaml: Some(include_str!("../../data/workloads/timeseries.yaml")),
    },
    BuiltIn {
        name: "iot",
        about: "NoSQLBench's cql-iot: sensors of machines, read by machine and sensor",
        parameters: &[
            parameter("rampup-cycles", "10000000", "operations of rampup"),
            parameter("main-cycles", "10000000", "operations of main"),
            parameter("keyspace", "baselines", "keyspace"),
            parameter("table", "iot", "table"),
            RF,
            parameter("sources", "10000", "machines; each gets a row per tick"),
            parameter("stations", "100", "stations"),
            parameter("timespeed", "100", "milliseconds per tick"),
            parameter("limit", "10", "rows per read"),
            parameter("expiry_minutes", "60", "minutes of a compaction window"),
            parameter(
                "compression",
                "LZ4Compressor",
                "class that compresses the table",
            ),
            parameter("read_ratio", "1", "weight of reads in main"),
            parameter("write_ratio", "9", "weight of writes in main"),
            parameter("read_cl", "LOCAL_QUORUM", "consistency of reads"),
            parameter("write_cl", "LOCAL_QUORUM", "consistency of writes"),
            parameter(
                "instrument",
                "false",
                "ignored: operations are always distinguished",
            ),
            parameter(
                "addzeroes",
                "",
                "zeroes behind 800 and 1200, the sizes of data",
            ),
        ],
        phases: &[
            PhaseOf {
                name: "rampup",
                about: "writes row after row, one per machine and tick",
                mix: &[("insert", "1")],
                count: "rampup-cycles",
                population: "rampup-cycles",
                order: InTurn,
            },
            PhaseOf {
                name: "main",
                about: "writes rows again and reads their machines' newest",
                mix: &[("select_read", "read_ratio"), ("insert", "write_ratio")],
                count: "main-cycles",
                population: "main-cycles",
                order: InTurn,
            },
            PhaseOf {
                name: "verify",
                about: "reads each row of main back by its whole key",
                mix: &[("select_verify", "1")],
                count: "main-cycles",
                population: "main-cycles",
                order: InTurn,
            },
        ],
        yaml: Some(include_str!("../../data/workloads/iot.yaml")),
    },
    BuiltIn {
        name: "ip2location",
        about: "ranges of addresses written out one by one, each with country, region and city",
        parameters: &[
            RF,
            parameter("rows", "1M", "addresses"),
            parameter(
                "partition_key",
                "country,region,city",
                "columns of the partition key: country alone makes few large partitions",
            ),
            parameter(
                "countries",
                "240",
                "countries, a few with most of the ranges",
            ),
            parameter("at_once", "24", "ranges written at once"),
            parameter("range", "zipf(1..4096)", "addresses per range"),
        ],
        phases: &[PhaseOf {
            name: "ingest",
            about: "writes address after address, one of each range in turn",
            mix: &[("insert", "1")],
            count: "rows",
            population: "rows",
            order: InTurn,
        }],
        yaml: Some(include_str!("../../data/workloads/ip2location.yaml")),
    },
    BuiltIn {
        name: "ycsb-a",
        about: "YCSB A: half reads, half updates",
        parameters: ZIPFIAN,
        phases: &[LOAD, run(&[("read", "50"), ("update", "50")])],
        yaml: YCSB,
    },
    BuiltIn {
        name: "ycsb-b",
        about: "YCSB B: 95 % reads, 5 % updates",
        parameters: ZIPFIAN,
        phases: &[LOAD, run(&[("read", "95"), ("update", "5")])],
        yaml: YCSB,
    },
    BuiltIn {
        name: "ycsb-c",
        about: "YCSB C: reads only",
        parameters: ZIPFIAN,
        phases: &[LOAD, run(&[("read", "1")])],
        yaml: YCSB,
    },
    BuiltIn {
        name: "ycsb-d",
        about: "YCSB D: 95 % reads of the latest, 5 % inserts",
        parameters: LATEST,
        phases: &[LOAD, run(&[("read", "95"), ("insert", "5")])],
        yaml: YCSB,
    },
    BuiltIn {
        name: "ycsb-e",
        about: "YCSB E: 95 % short scans, 5 % inserts",
        parameters: ZIPFIAN,
        phases: &[LOAD, run(&[("scan", "95"), ("insert", "5")])],
        yaml: YCSB,
    },
    BuiltIn {
        name: "ycsb-f",
        about: "YCSB F: reads, and reads followed by updates, half and half",
        parameters: ZIPFIAN,
        phases: &[LOAD, run(&[("read", "2"), ("update", "1")])],
        yaml: YCSB,
    },
];

macro_rules! ycsb_parameters {
    ($name:ident, $order:literal) => {
        const $name: &[Parameter] = &[
            parameter("recordcount", "1000", "number of records"),
            parameter("operationcount", "1000", "operations of run"),
            parameter("fieldlength", "100", "letters of a field"),
            parameter("requestdistribution", $order, "zipfian, uniform or latest"),
            parameter("maxscanlength", "100", "records per scan"),
            parameter("table", "usertable", "table"),
            parameter("cassandra.keyspace", "ycsb", "keyspace"),
            parameter(
                "cassandra.readconsistencylevel",
                "QUORUM",
                "consistency of reads",
            ),
            parameter(
                "cassandra.writeconsistencylevel",
                "QUORUM",
                "consistency of writes",
            ),
            RF,
        ];
    };
}

ycsb_parameters!(ZIPFIAN, "zipfian");
ycsb_parameters!(LATEST, "latest");

const LOAD: PhaseOf = PhaseOf {
    name: "load",
    about: "writes every record once",
    mix: &[("insert", "1")],
    count: "recordcount",
    population: "recordcount",
    order: InTurn,
};

const fn run(mix: &'static [(&'static str, &'static str)]) -> PhaseOf {
    PhaseOf {
        name: "run",
        about: "the mix",
        mix,
        count: "operationcount",
        population: "recordcount",
        order: Asked,
    }
}

const YCSB: Option<&str> = Some(include_str!("../../data/workloads/ycsb.yaml"));
