//! What a reset would change, on made-up schemas: printed as statements, and carried out on a made-up server.

use super::*;
use proptest::prelude::*;

fn e(kind: ElementKind, name: &str, create: &str) -> Element {
    Element {
        keyspace: "k".into(),
        kind,
        name: name.into(),
        create: create.into(),
    }
}

fn keyspace(name: &str, copies: u32) -> Element {
    Element {
        keyspace: name.into(),
        kind: ElementKind::Keyspace,
        name: name.into(),
        create: format!(
            "CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', \
             'replication_factor': '{copies}'}} AND durable_writes = true;"
        ),
    }
}

fn printed(origin: &[Element], now: &[Element]) -> String {
    let statements = changes(origin, now);
    let lines: Vec<String> = statements.iter().map(Change::statement).collect();
    lines.join("\n")
}

use ElementKind::{Aggregate, Function, Index, MaterializedView, Table, Type};

#[test]
fn nothing_changed_is_nothing_to_do() {
    let schema = [
        keyspace("k", 1),
        e(Table, "t", "CREATE TABLE k.t (id int);"),
    ];
    assert_eq!(printed(&schema, &schema), "");
}

#[test]
fn what_is_foreign_goes_in_the_order_of_what_stands_on_what() {
    let origin = [keyspace("k", 1), e(Table, "t", "T")];
    let now = [
        keyspace("k", 1),
        e(Type, "inner", "A"),
        e(Type, "outer", "B"),
        e(Function, "f(int)", "F"),
        e(Aggregate, "a(int)", "A"),
        e(Table, "t", "T"),
        e(Index, "i", "I"),
        e(MaterializedView, "v", "V"),
        e(Table, "mine", "M"),
        e(Index, "mine_i", "I"),
        e(MaterializedView, "\"Mine\"", "V"),
        keyspace("other", 1),
    ];
    insta::assert_snapshot!(printed(&origin, &now), @r#"
    DROP KEYSPACE other
    DROP MATERIALIZED VIEW k."Mine"
    DROP MATERIALIZED VIEW k.v
    DROP INDEX k.i
    DROP TABLE k.mine
    DROP AGGREGATE k.a(int)
    DROP FUNCTION k.f(int)
    DROP TYPE k.outer
    DROP TYPE k.inner
    "#);
}

#[test]
fn what_was_changed_or_dropped_is_made_again_with_what_stands_on_it() {
    let origin = [
        keyspace("k", 1),
        e(Function, "f(int)", "CREATE FUNCTION k.f;"),
        e(Aggregate, "a(int)", "CREATE AGGREGATE k.a;"),
        e(Table, "t", "CREATE TABLE k.t (id int);"),
        e(Index, "i", "CREATE INDEX i ON k.t;"),
        e(MaterializedView, "v", "CREATE MATERIALIZED VIEW k.v;"),
        e(Table, "gone", "CREATE TABLE k.gone (id int);"),
    ];
    let now = [
        keyspace("k", 3),
        e(Function, "f(int)", "CREATE FUNCTION k.f other;"),
        e(Aggregate, "a(int)", "CREATE AGGREGATE k.a;"),
        e(Table, "t", "CREATE TABLE k.t (id int, more int);"),
        e(Index, "i", "CREATE INDEX i ON k.t;"),
        e(MaterializedView, "v", "CREATE MATERIALIZED VIEW k.v;"),
    ];
    insta::assert_snapshot!(printed(&origin, &now), @"
    DROP MATERIALIZED VIEW k.v
    DROP TABLE k.t
    DROP AGGREGATE k.a(int)
    DROP FUNCTION k.f(int)
    ALTER KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true
    CREATE FUNCTION k.f
    CREATE AGGREGATE k.a
    CREATE TABLE k.t (id int)
    CREATE INDEX i ON k.t
    CREATE MATERIALIZED VIEW k.v
    CREATE TABLE k.gone (id int)
    ");
}

#[test]
fn a_keyspace_with_another_type_is_made_anew() {
    let origin = [keyspace("k", 1), e(Type, "u", "U;"), e(Table, "t", "T;")];
    let now = [keyspace("k", 1), e(Type, "u", "other"), e(Table, "t", "T;")];
    let text = printed(&origin, &now);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "DROP KEYSPACE k");
    assert_eq!(lines[2..], ["U", "T"]);
    assert!(lines[1].starts_with("CREATE KEYSPACE k"), "{text}");
}

fn seen(process: &str, counts: &[(&str, i64)]) -> Seen {
    let counts = counts.iter().map(|(t, n)| ((*t).to_owned(), *n)).collect();
    Seen {
        writes: Some(Writes {
            process: process.into(),
            counts,
        }),
        ..Seen::default()
    }
}

#[test]
fn only_what_is_surely_empty_is_left_alone() {
    let origin = [keyspace("k", 1), e(Table, "t", "T"), e(Table, "\"U\"", "U")];
    let before = seen("7", &[("k.t", 5), ("system.paxos", 1)]);
    let before = BTreeMap::from([("node1".to_owned(), before.writes.unwrap())]);
    let dirty = |now: Seen| {
        dirty(
            &origin,
            &before,
            &BTreeMap::from([("node1".to_owned(), now)]),
        )
    };
    let same = seen("7", &[("k.t", 5), ("system.paxos", 1)]);
    assert_eq!(dirty(same.clone()), Vec::<String>::new());
    let written = seen("7", &[("k.t", 5), ("k.U", 1), ("system.paxos", 1)]);
    assert_eq!(dirty(written), ["k.\"U\""]);
    let file = Seen {
        on_disk: BTreeSet::from(["k.t".to_owned()]),
        ..same.clone()
    };
    assert_eq!(dirty(file), ["k.t"]);
    let both = ["k.t", "k.\"U\""];
    let hints = Seen {
        hints: true,
        ..same.clone()
    };
    assert_eq!(dirty(hints), both);
    assert_eq!(dirty(seen("7", &[("k.t", 5), ("system.paxos", 2)])), both);
    // Another life of the process, and a release that does not report writes.
    assert_eq!(dirty(seen("8", &[("k.t", 5), ("system.paxos", 1)])), both);
    assert_eq!(dirty(Seen::default()), both);
}

/// What stands in a made-up keyspace: kind, name, and which of several forms it has.
type Part = (ElementKind, &'static str, u8);

/// Any schema of two keyspaces, in the server's order; views and indexes stand behind their tables.
fn schema() -> impl Strategy<Value = Vec<Element>> {
    let part = |kind: ElementKind, name: &'static str| {
        (0..4_u8).prop_map(move |version| (version > 0).then_some((kind, name, version)))
    };
    let inside = (
        part(Type, "u"),
        part(Function, "f(int)"),
        part(Aggregate, "a(int)"),
        [
            part(Table, "t"),
            part(Index, "ti"),
            part(MaterializedView, "tv"),
        ],
        [
            part(Table, "s"),
            part(Index, "si"),
            part(MaterializedView, "sv"),
        ],
    )
        .prop_map(|(u, f, a, t, s)| {
            let mut parts = vec![u, f];
            parts.extend(f.is_some().then_some(a));
            for table in [t, s] {
                // An index or a view without its table there is none.
                let there = table[0].is_some();
                parts.extend(table.into_iter().filter(|_| there));
            }
            parts.into_iter().flatten().collect::<Vec<_>>()
        });
    let of = |name: &'static str, inside: Option<(u32, Vec<Part>)>| {
        let (copies, parts) = inside?;
        let parts = parts.into_iter().map(move |(kind, part, version)| Element {
            keyspace: name.into(),
            kind,
            name: part.into(),
            create: format!("CREATE {} {name}.{part} {version}", kind.words()),
        });
        Some(
            std::iter::once(keyspace(name, copies))
                .chain(parts)
                .collect::<Vec<_>>(),
        )
    };
    let inside = proptest::option::of((1..3_u32, inside));
    [inside.clone(), inside].prop_map(move |[a, b]| {
        [of("k", a), of("l", b)]
            .into_iter()
            .flatten()
            .flatten()
            .collect()
    })
}

/// The made-up server: it refuses what the real one refuses.
fn carry_out(now: &[Element], changes: &[Change]) -> Vec<Element> {
    let mut there: Vec<(Element, TableKey)> =
        now.iter().map(|e| (e.clone(), owner(e, now))).collect();
    let mut last_table = BTreeMap::new();
    for change in changes {
        match change {
            Change::Drop(e) if e.kind == ElementKind::Keyspace => {
                there.retain(|(t, _)| t.keyspace != e.keyspace);
            }
            Change::Drop(e) => {
                let before = there.len();
                let table = (e.keyspace.clone(), e.name.clone());
                for (other, of) in there.iter().filter(|(o, _)| o.keyspace == e.keyspace) {
                    let view = e.kind == Table && other.kind == MaterializedView && *of == table;
                    let calls = e.kind == Function && other.kind == Aggregate;
                    assert!(!view && !calls, "{change} under {}", other.path());
                }
                there.retain(|(t, of)| {
                    t.key() != e.key() && !(e.kind == Table && t.kind == Index && *of == table)
                });
                assert!(there.len() < before, "{change}: it is not there");
            }
            Change::Create(e) => {
                if e.kind == Table {
                    last_table.insert(e.keyspace.clone(), e.name.clone());
                }
                assert!(
                    there.iter().all(|(t, _)| t.key() != e.key()),
                    "{change} twice"
                );
                there.push((e.clone(), (e.keyspace.clone(), String::new())));
            }
            Change::Alter(e) => {
                let found = there.iter_mut().find(|(t, _)| t.key() == e.key());
                found.expect("only what is there is altered").0 = e.clone();
            }
        }
    }
    let mut elements: Vec<Element> = there.into_iter().map(|(e, _)| e).collect();
    elements.sort();
    elements
}

proptest! {
    #[test]
    fn carried_out_on_what_is_there_the_changes_give_the_origin(origin in schema(), now in schema()) {
        let mut wanted = origin.clone();
        wanted.sort();
        prop_assert_eq!(carry_out(&now, &changes(&origin, &now)), wanted);
    }
}
