//! Profiles are read with every key, and refused with line and key.
//! Refuses nothing.

use super::*;

pub(in crate::workload) const EVENTS: &str = "
specname: events
keyspace: shop
keyspace_definition: |
  CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: Events
table_definition: |
  CREATE TABLE events (
    day date,
    shop text,
    at timestamp,
    who frozen<person>,
    note text,
    tags set<text>,
    PRIMARY KEY ((day, shop), at)
  ) WITH CLUSTERING ORDER BY (at DESC);
extra_definitions:
  - CREATE INDEX by_note ON events (note)
  - CREATE TYPE person (name text, age int)
columnspec:
  - name: Shop
    size: fixed(3)
    population: uniform(1..10)
  - {name: at, cluster: fixed(4), population: seq(1..1M)}
insert:
  partitions: uniform(1..3)
  batchtype: unlogged
  select: fixed(1)/2
  row-population: fixed(1)/2
  consistencyLevel: quorum
queries:
  one:
    cql: select * from events where day = ? and shop = ? LIMIT 100;
    fields: samerow
  later:
    cql: select note from events where day = ? and shop = ? and at >= ?
    consistencyLevel: LOCAL_ONE
    serialConsistencyLevel: local_serial
token_range_queries:
  all: {columns: '*', page_size: 100}
  notes: {columns: 'note, tags'}
";

#[test]
fn every_key_is_read() {
    let profile = Profile::read(EVENTS).expect("a profile");
    assert_eq!(profile.specname, "events");
    assert_eq!(
        (profile.keyspace.as_str(), profile.table.as_str()),
        ("shop", "events")
    );
    assert_eq!(profile.extra_definitions.len(), 2);
    assert_eq!(profile.columns["Shop"].size, Dist::fixed(3));
    assert_eq!(profile.columns["Shop"].cluster, Dist::fixed(1));
    assert_eq!(profile.columns["at"].cluster.only(), Some(4));
    assert_eq!(profile.insert.batch, BatchKind::Unlogged);
    assert_eq!(profile.insert.consistency, Some(Consistency::Quorum));
    assert_eq!(profile.insert.select.to_string(), "fixed(1)/2");
    assert!(profile.queries["one"].same_row && !profile.queries["later"].same_row);
    assert!(profile.queries["one"].cql.ends_with("LIMIT 100"));
    let later = &profile.queries["later"];
    assert_eq!(later.consistency, Some(Consistency::LocalOne));
    assert_eq!(
        later.serial_consistency,
        Some(SerialConsistency::LocalSerial)
    );
    assert_eq!(profile.token_range_queries["all"].page_size, 100);
    assert_eq!(profile.token_range_queries["all"].columns, None);
    let notes = &profile.token_range_queries["notes"];
    assert_eq!(
        notes.columns.as_deref(),
        Some(&["note".to_owned(), "tags".to_owned()][..])
    );
    assert_eq!(notes.page_size, 5_000);
    assert_eq!(line_of_key(EVENTS, &["queries", "one", "cql"]), Some(33));
}

#[test]
fn a_profile_as_a_workload() {
    let profile = Profile::read(EVENTS).expect("a profile");
    let table = profile.defined_table().expect("a table").expect("defined");
    let spec = Spec { profile, table };
    let one = ProfileWorkload {
        name: "events".to_owned(),
        specs: vec![spec.clone()],
        walk: None,
    };
    assert_eq!(
        one.operations(),
        ["insert", "later", "one", "all", "notes", "validate"]
    );
    insta::assert_snapshot!(one.schema().join("\n--\n"), @r#"
    CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}
    --
    CREATE TYPE IF NOT EXISTS "shop".person (name text, age int)
    --
    CREATE TABLE IF NOT EXISTS "shop".events (
      day date,
      shop text,
      at timestamp,
      who frozen<person>,
      note text,
      tags set<text>,
      PRIMARY KEY ((day, shop), at)
    ) WITH CLUSTERING ORDER BY (at DESC)
    --
    CREATE INDEX IF NOT EXISTS by_note ON "shop".events (note)
    "#);
    let two = ProfileWorkload {
        name: "two".to_owned(),
        specs: vec![spec.clone(), spec],
        walk: None,
    };
    assert_eq!(two.operations()[6], "events.insert");
    assert_eq!(two.schema().len(), one.schema().len());
    let json = serde_json::to_string(&one).expect("writes");
    assert_eq!(
        serde_json::from_str::<ProfileWorkload>(&json).expect("reads"),
        one
    );
}

#[test]
fn what_is_not_said_is_cassandra_stresss() {
    let profile = Profile::read("keyspace: Ks\ntable: T\nqueries:\n").expect("a profile");
    assert_eq!(profile.specname, "ks.t");
    assert_eq!(profile.insert, InsertSpec::default());
    assert_eq!(ColumnSpec::default().size.to_string(), "uniform(4..8)");
    assert_eq!(profile.defined_table(), Ok(None));
}

/// The error of the profile above with one line replaced.
fn said(from: &str, to: &str) -> String {
    assert!(EVENTS.contains(from), "{from}");
    let error = Profile::read(&EVENTS.replacen(from, to, 1)).expect_err("refused");
    match &error.hint {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

#[test]
fn all_unknown_keys_are_named_at_once() {
    let text = EVENTS
        .replacen("    size: fixed(3)", "    sise: fixed(3)", 1)
        .replacen("batchtype: unlogged", "batchtipe: unlogged", 1)
        .replacen("fields: samerow", "feilds: samerow", 1)
        .replacen(
            "population: uniform(1..10)",
            "population: unifrom(1..10)",
            1,
        );
    let error = Profile::read(&text).expect_err("refused");
    insta::assert_snapshot!(error, @"
    line 22: columnspec.sise: no such key
           line 27: insert.batchtipe: no such key (the nearest key is batchtype)
           line 34: queries.one.feilds: no such key (the nearest key is fields)
    ");
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.starts_with("the nearest key is size; "))
    );
}

#[test]
fn errors_have_line_key_and_the_nearest_name() {
    let all = [
        said("    size: fixed(3)", "    sise: fixed(3)"),
        said("columnspec:", "columspec:"),
        said("population: uniform(1..10)", "population: unifrom(1..10)"),
        said("population: uniform(1..10)", "population: uniform(10..1)"),
        said("consistencyLevel: quorum", "consistencyLevel: quorom"),
        said("batchtype: unlogged", "batchtype: [logged]"),
        said("fields: samerow", "fields: onerow"),
        said("keyspace: shop", "keyspace: show"),
        said("    day date,", "    day dat,"),
        said(
            "PRIMARY KEY ((day, shop), at)",
            "PRIMARY KEY ((day, shop), att)",
        ),
        said("PRIMARY KEY ((day, shop), at)", "other int"),
        said("CREATE TABLE events", "CREATE TYPE events"),
        said(
            "CREATE TYPE person (name text",
            "CREATE TYPE person (name txet",
        ),
        said("table: Events", "tabel: Events"),
        said("  one:", "  insert:"),
        said("  later:", "  one:"),
        said("  all: {", "  one: {"),
        said("  - {name: at,", "  - {name: Shop,"),
        said("queries:\n  one:", "queries:\n  - one:"),
        said("select: fixed(1)/2", "select: fixed(1)/0"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    line 22: columnspec.sise: no such key (the nearest key is size; keys here are name, size, population, cluster)
    line 20: columspec: no such key (the nearest key is columnspec; keys here are specname, keyspace, keyspace_definition, table, table_definition, extra_definitions, columnspec, insert, queries, token_range_queries)
    line 23: columnspec.Shop.population: "unifrom" is not a distribution (the nearest is uniform): it is one of uniform, fixed, seq, exp, gaussian, extreme, zipf, steps, qextreme, gauss, normal, norm, extr, qextr
    line 23: columnspec.Shop.population: "uniform(10..1)": the form is uniform(min..max) (min is above max)
    line 30: insert.consistencyLevel: "quorom" is not known (the nearest is QUORUM; it is one of ANY, ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE)
    line 27: insert.batchtype: this must be a text
    line 34: queries.one.fields: "onerow" is not known (it is one of samerow, multirow)
    line 5: keyspace_definition: it creates "shop", but keyspace is "show"
    line 9: table_definition: "dat" is not a type; the nearest is date (user types are created in extra_definitions)
    line 16: table_definition: the key names "att", which is not a column
    line 16: table_definition: there is no PRIMARY KEY
    line 8: table_definition: this must be a CREATE TABLE
    line 19: extra_definitions: "txet" is not a type; the nearest is text (user types are created in extra_definitions)
    line 6: tabel: no such key (the nearest key is table; keys here are specname, keyspace, keyspace_definition, table, table_definition, extra_definitions, columnspec, insert, queries, token_range_queries)
    line 32: queries.insert: this name is that of the operation insert
    line 35: not YAML: "one" appears twice (first in line 32) at line 35 column 3
    line 40: token_range_queries: "one" is in queries too: each operation needs its own name
    line 24: columnspec: column "Shop" is listed twice
    line 35: not YAML: while parsing a block collection, did not find expected '-' indicator at line 35 column 3
    line 28: insert.select: "fixed(1)/0": after the slash comes a whole number above 0, as in fixed(1)/2 or fixed(2)/10M
    "#);
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_line_replaced_is_read_or_refused(line in 0_usize..42, with in "[ -~]{0,30}") {
            let lines = EVENTS.lines().enumerate();
            let text: Vec<&str> = lines.map(|(i, l)| if i == line { with.as_str() } else { l }).collect();
            if let Err(error) = Profile::read(&text.join("\n")) {
                prop_assert!(error.line <= 45, "{}", error);
            }
        }
    }
}
