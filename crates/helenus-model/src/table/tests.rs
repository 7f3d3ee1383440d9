//! CREATE TABLE and CREATE TYPE in the forms that people write.
//! Refuses nothing.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn said(statement: &str) -> String {
    let error = Table::read("ks", [statement]).expect_err("refused");
    error.to_string()
}

#[test]
fn columns_of_every_kind_and_type() {
    let statements = [
        "CREATE TYPE IF NOT EXISTS ks.address (street text, lines frozen<list<text>>)",
        r#"create table if not exists "Other"."T" (
             a int, -- a comment
             "B" frozen<map<text, frozen<set<int>>>>,
             s varchar static,
             c timeuuid,
             d duration, v vector<float, 3>,
             u frozen<tuple<address, list<bigint>>>,
             t 'org.apache.cassandra.db.marshal.BytesType',
             PRIMARY KEY ((a, "B"), c, d)
           ) WITH comment = 'a (b' AND CLUSTERING ORDER BY (c DESC, d ASC) AND COMPACT STORAGE"#,
    ];
    let table = Table::read("ks", statements).expect("a table");
    let lines: Vec<String> = table
        .columns
        .iter()
        .map(|c| format!("{} {} {:?}", c.name, c.cql_type, c.kind))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    a int Partition
    B map<text, frozen<set<int>>> Partition
    c timeuuid ClusteringDescending
    d duration Clustering
    s text Static
    v vector<float, 3> Regular
    u tuple<frozen<address>, frozen<list<bigint>>> Regular
    t 'org.apache.cassandra.db.marshal.BytesType' Regular
    ");
    assert_eq!(table.qualified(), "\"Other\".\"T\"");
    assert_eq!(table.place("B"), Some(1));
    let counter = "CREATE TABLE c (k text PRIMARY KEY, n counter)";
    let counter = Table::read("ks", [counter]).expect("a table");
    assert!(counter.counts() && !table.counts());
    assert_eq!(counter.columns[0].kind, ColumnKind::Partition);
}

#[test]
fn errors_point_at_their_place() {
    let all = [
        said("CREATE TABLE t (\n  k int PRIMARY KEY,\n  v txt)"),
        said("CREATE TABLE t (k int, v lsit<int>, PRIMARY KEY (k))"),
        said("CREATE TABLE t (k int, v list<int, PRIMARY KEY (k))"),
        said("CREATE TABLE t (k int, k text, PRIMARY KEY (k))"),
        said("CREATE TABLE t (k int PRIMARY KEY, j int PRIMARY KEY)"),
        said("CREATE TABLE t (k int, v vector<float, 0>, PRIMARY KEY (k))"),
        said("CREATE TABLE t (k int, PRIMARY KEY (kk))"),
        said("CREATE TABLE t (k int)"),
        said("CREATE TABLE t k int"),
        said("CREATE TABLE t (k int PRIMARY KEY"),
        said("ALTER TABLE t ADD k int"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    line 3, column 5 of the definition: "txt" is not a type; the nearest is text
    line 1, column 34 of the definition: "lsit" holds no types; the nearest is list
    line 1, column 34 of the definition: expected ">", found ","
    line 1, column 24 of the definition: column "k" is listed twice
    line 1, column 36 of the definition: there are two primary keys
    line 1, column 40 of the definition: expected the length of a vector, 1 to 8192
    line 1, column 41 of the definition: the key names "kk", which is not a column
    line 1, column 23 of the definition: there is no PRIMARY KEY
    line 1, column 16 of the definition: expected "(", found "k"
    line 1, column 34 of the definition: expected ")", found "the end"
    there is no CREATE TABLE
    "#);
    let round = [
        "CREATE TYPE a (x frozen<a>)",
        "CREATE TABLE t (k a PRIMARY KEY)",
    ];
    let error = Table::read("ks", round).expect_err("refused");
    assert!(error.to_string().contains("nested too deeply"), "{error}");
}

fn any_type() -> impl Strategy<Value = CqlType> {
    let leaf = prop_oneof![
        Just(CqlType::Int),
        Just(CqlType::Text),
        Just(CqlType::Duration),
        Just(CqlType::Timeuuid),
        Just(CqlType::Udt {
            keyspace: "ks".to_owned(),
            name: "Pair".to_owned(),
            fields: vec![
                ("a".to_owned(), CqlType::Int),
                ("B".to_owned(), CqlType::Blob)
            ],
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|t| CqlType::List(Box::new(t))),
            inner.clone().prop_map(|t| CqlType::Set(Box::new(t))),
            (inner.clone(), inner.clone())
                .prop_map(|(k, v)| CqlType::Map(Box::new(k), Box::new(v))),
            proptest::collection::vec(inner.clone(), 1..3).prop_map(CqlType::Tuple),
            (inner, 1_usize..9).prop_map(|(t, n)| CqlType::Vector(Box::new(t), n)),
        ]
    })
}

proptest! {
    #[test]
    fn types_are_read_as_they_are_written(cql_type in any_type()) {
        let pair = vec![("a".to_owned(), "int".to_owned()), ("B".to_owned(), "blob".to_owned())];
        let types = BTreeMap::from([("Pair".to_owned(), pair)]);
        prop_assert_eq!(read_type(&cql_type.to_string(), "ks", &types), Ok(cql_type.clone()));
        let statements = [
            "CREATE TYPE \"Pair\" (a int, \"B\" blob)".to_owned(),
            format!("CREATE TABLE t (k int PRIMARY KEY, v {cql_type})"),
        ];
        let table = Table::read("ks", statements.iter().map(String::as_str)).expect("a table");
        prop_assert_eq!(&table.columns[1].cql_type, &cql_type);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "CREATE TABLE [a-z(),<>. \"'?]{0,50}") {
        let _ = Table::read("ks", [text.as_str()]);
        let _ = qualify(&text, "ks");
        let _ = if_absent(&text);
    }
}
