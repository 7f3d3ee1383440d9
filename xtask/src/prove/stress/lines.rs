//! The twenty lines: four profiles that Cassandra ships, and sixteen in the manner of those that people publish.
//! Refuses what only chance decides: each line has operations enough for its counts to be known to a percent or two.

/// A line.
pub(super) struct Line {
    /// What it is called.
    pub(super) name: &'static str,
    /// Its profile's file, without its ending.
    pub(super) profile: &'static str,
    /// The profile is one that Cassandra ships.
    pub(super) shipped: bool,
    /// The profile's keyspace.
    pub(super) keyspace: &'static str,
    /// Operations with their weights.
    pub(super) ops: &'static str,
    /// `n=`.
    pub(super) partitions: u32,
    /// Groups behind it.
    pub(super) more: &'static [&'static str],
}

const fn own(name: &'static str, ops: &'static str, partitions: u32) -> Line {
    Line {
        name,
        profile: name,
        shipped: false,
        keyspace: "prove",
        ops,
        partitions,
        more: &[],
    }
}

const fn with(line: Line, more: &'static [&'static str]) -> Line {
    Line { more, ..line }
}

const fn shipped(
    name: &'static str,
    profile: &'static str,
    ops: &'static str,
    partitions: u32,
) -> Line {
    Line {
        profile,
        shipped: true,
        keyspace: "stresscql",
        ..own(name, ops, partitions)
    }
}

pub(super) const LINES: [Line; 20] = [
    shipped("example", "cqlstress-example", "insert=2,simple1=1", 60_000),
    shipped(
        "counter-example",
        "cqlstress-counter-example",
        "insert=1,simple1=1",
        20_000,
    ),
    shipped(
        "insanity-example",
        "cqlstress-insanity-example",
        "insert=1,simple1=4",
        20_000,
    ),
    Line {
        keyspace: "cqlstress_lwt_example",
        ..shipped(
            "lwt-example",
            "cqlstress-lwt-example",
            "insert=1,singlepost=2,timeline=1",
            10_000,
        )
    },
    own("wide", "insert=3,latest=1", 10_000),
    with(
        own("visits", "insert=3,whole=1", 10_000),
        &[
            "-insert",
            "visits=fixed(20)",
            "-pop",
            "dist=uniform(1..500)",
        ],
    ),
    own("two-levels", "insert=1,day=1,all=2", 15_000),
    own("three-levels", "insert=3,year=1", 10_000),
    with(
        own("collections", "insert=1,get=3", 20_000),
        &["-pop", "dist=uniform(1..5K)"],
    ),
    own("counters", "insert=2,day=1", 10_000),
    with(
        own("lwt", "insert=2,read=5,grow=1", 10_000),
        &["-pop", "dist=gaussian(1..5K)"],
    ),
    own("select", "insert=2,page=1", 10_000),
    with(
        own("logged", "insert=1,one=1", 40_000),
        &["-pop", "dist=uniform(1..5K)"],
    ),
    with(
        own("unlogged", "insert=1,one=2", 40_000),
        &["-pop", "dist=uniform(1..5K)"],
    ),
    with(
        own("row-population", "insert=1,all=1", 15_000),
        &["-pop", "dist=exp(1..10K)"],
    ),
    own("multirow", "insert=2,same=1,range=1,some=1", 15_000),
    with(
        own("populations", "insert=1,street=1", 20_000),
        &["-pop", "dist=extreme(1..20K,2)"],
    ),
    Line {
        profile: "sequence",
        ..with(
            own("no-wrap", "insert=1", 20_000),
            &["-pop", "seq=1..20K", "no-wrap"],
        )
    },
    own("series", "insert=4,latest=3,last=1,since=1,point=1", 20_000),
    with(
        own("static", "insert=5,plan=3,devices=1,forget=1", 15_000),
        &["-insert", "visits=fixed(2)"],
    ),
];
