//! Pairs of an insert and a query: what their markers get, and which answers are right, wrong or nobody's business.

use super::*;
use crate::cql::tokens::TokenKind;
use crate::table::ColumnKind;
use crate::workload::maker::markers::{Part, Reader, Slot};

const ORDERS: &str = "CREATE TABLE shop.orders (tenant int, id bigint, note text, payload blob, tags set<text>, \
     owner text static, PRIMARY KEY (tenant, id))";
const BUCKETS: &str = "CREATE TABLE shop.buckets (bucket tinyint, id bigint, s int static, v int, PRIMARY KEY (bucket, id))";
const SMALL: &str = "CREATE TABLE shop.small (k tinyint PRIMARY KEY, v bigint)";
const MIXED: &str = r#"CREATE TABLE shop.mixed ("Key" uuid PRIMARY KEY, "V" double, c counter)"#;

fn known(text: &str) -> Known {
    Known {
        table: Table::read("shop", [text]).expect("a table"),
        expires: false,
    }
}

#[test]
fn a_read_that_does_not_name_its_partition_may_touch_any_number() {
    let known = [known(ORDERS)];
    let one = |cql: &str| {
        let query = Query {
            name: "own".to_owned(),
            cql: cql.to_owned(),
            check: false,
            serial_consistency: None,
        };
        let answered = [answered(cql, &known, &[])];
        UserStatements::new(&[query], &answered, &known, Seed(1)).of_one_partition(0)
    };
    assert!(one("SELECT * FROM shop.orders WHERE tenant = ? AND id > ?"));
    assert!(one("INSERT INTO shop.orders (tenant, id) VALUES (?, ?)"));
    for several in [
        "SELECT * FROM shop.orders WHERE tenant > ? ALLOW FILTERING",
        "SELECT * FROM shop.orders WHERE tenant IN (?, ?)",
        "SELECT * FROM shop.orders WHERE token(tenant) > ?",
        "SELECT * FROM shop.orders LIMIT 10",
    ] {
        assert!(!one(several), "{several}");
    }
}

/// What a server says of a statement: types by the columns that its markers stand for, `free` for all others in turn.
fn answered(cql: &str, known: &[Known], free: &[CqlType]) -> Answered {
    let mut free = free.iter().cloned();
    let mut markers = Vec::new();
    let mut columns = Vec::new();
    for segment in segmented(cql, known) {
        let count = segment
            .tokens
            .iter()
            .filter(|t| t.kind == TokenKind::Marker)
            .count();
        let Some(known) = segment.known else {
            markers.extend((0..count).map(|_| (String::new(), CqlType::Int)));
            continue;
        };
        let of = |place: usize| known.table.columns[place].cql_type.clone();
        for marked in Reader::new(&known.table, segment.text).marked() {
            let slot = marked.map(|marked| marked.slot);
            let own = match slot {
                Some(Slot::Column(place, Part::Whole)) => of(place),
                Some(Slot::Column(..)) => CqlType::Text,
                Some(Slot::Several(places)) => CqlType::List(Box::new(of(places[0]))),
                Some(Slot::Tuple(places)) => CqlType::Tuple(places.into_iter().map(of).collect()),
                Some(Slot::Token | Slot::Timestamp) => CqlType::Bigint,
                Some(Slot::Json(_)) => CqlType::Text,
                Some(Slot::Limit | Slot::Ttl | Slot::Index) => CqlType::Int,
                None => free.next().unwrap_or(CqlType::Int),
            };
            markers.push((String::new(), own));
        }
        if verb(&segment.tokens) == Verb::Select {
            columns = match clauses::items(&segment.tokens) {
                Some(items) => items.into_iter().map(|item| item.text).collect(),
                None => known.table.columns.iter().map(|c| c.name.clone()).collect(),
            };
        }
    }
    Answered { markers, columns }
}

struct Pair {
    own: UserStatements,
    table: Table,
}

fn pair_of(table: &str, statements: [&str; 2], free: &[CqlType]) -> Pair {
    let all = [known(table)];
    let query = |(name, cql): (&str, &str)| Query {
        name: name.to_owned(),
        cql: cql.to_owned(),
        check: true,
        serial_consistency: None,
    };
    let queries: Vec<Query> = ["write", "read"]
        .into_iter()
        .zip(statements)
        .map(query)
        .collect();
    let answers: Vec<Answered> = statements
        .iter()
        .map(|cql| answered(cql, &all, free))
        .collect();
    let [known] = all;
    Pair {
        own: UserStatements::new(&queries, &answers, std::slice::from_ref(&known), Seed(7)),
        table: known.table,
    }
}

fn pair(table: &str, insert: &str, query: &str) -> Pair {
    pair_of(table, [insert, query], &[])
}

impl Pair {
    fn written(&self, position: u64) -> Vec<CqlValue> {
        values(self.own.values(0, position))
    }

    fn asked(&self, position: u64) -> Vec<CqlValue> {
        values(self.own.values(1, position))
    }

    fn check(&self, position: u64, rows: &[Vec<CqlValue>]) -> Check {
        let rows: Vec<Vec<Option<CqlValue>>> = rows
            .iter()
            .map(|row| row.iter().cloned().map(Some).collect())
            .collect();
        self.own.check(1, position, &rows)
    }

    fn unchecked(&self) -> Vec<String> {
        self.own
            .unchecked()
            .into_iter()
            .map(|one| one.what)
            .collect()
    }

    /// A value of a column that no write makes.
    fn other(&self, column: &str) -> CqlValue {
        let place = self.table.place(column).expect("a column");
        let of = &self.table.columns[place].cql_type;
        crate::workload::values::Column::new(Seed(99), "x", "y", column).value(of, 1)
    }
}

fn values(bound: Vec<Bound>) -> Vec<CqlValue> {
    let value = |one| match one {
        Bound::Value(value) => value,
        Bound::Unset => panic!("unset"),
    };
    bound.into_iter().map(value).collect()
}

#[test]
fn values_belong_to_columns_whatever_a_marker_is_called() {
    let pair = pair(
        ORDERS,
        "INSERT INTO shop.orders (tenant, id, payload) VALUES (:t, :i, :p)",
        "SELECT id, payload FROM shop.orders WHERE tenant = :the_tenant AND id = ?",
    );
    let row = pair.written(5);
    assert_eq!(pair.asked(5), row[..2]);
    assert_eq!(pair.check(5, &[row[1..].to_vec()]), Check::Match);
    assert_eq!(pair.check(5, &[]), Check::Missing);
    let wrong = vec![row[1].clone(), pair.other("payload")];
    assert_eq!(pair.check(5, &[wrong]), Check::Wrong { column: 1 });
    assert_eq!(pair.unchecked(), Vec::<String>::new());
    // As they always were: by the names of the columns.
    let named = pair_of(
        ORDERS,
        [
            "INSERT INTO shop.orders (tenant, id, payload) VALUES (?, ?, ?)",
            "SELECT * FROM shop.orders",
        ],
        &[],
    );
    assert_eq!(named.written(5), row);
}

#[test]
fn a_name_that_comes_twice_is_one_value() {
    let pair = pair(
        "CREATE TABLE shop.twice (a int PRIMARY KEY, b int, c text)",
        "INSERT INTO shop.twice (a, b, c) VALUES (:x, :x, ?)",
        "SELECT * FROM shop.twice WHERE a = ?",
    );
    let row = pair.written(3);
    assert_eq!(row[0], row[1]);
    assert_eq!(pair.check(3, std::slice::from_ref(&row)), Check::Match);
    let apart = vec![row[0].clone(), pair.other("b"), row[2].clone()];
    assert_eq!(pair.check(3, &[apart]), Check::Wrong { column: 1 });
}

#[test]
fn calls_are_not_compared_and_literals_are() {
    let pair = pair(
        ORDERS,
        "INSERT INTO shop.orders (tenant, id, note, payload) VALUES (1, :i, 'it''s', textAsBlob('x'))",
        "SELECT note, payload, writetime(note), note AS payload FROM shop.orders WHERE tenant = 1 AND id = :i",
    );
    let note = CqlValue::Text("it's".to_owned());
    let any = CqlValue::Int(0);
    let row = |note: CqlValue| vec![note.clone(), any.clone(), any.clone(), note];
    assert_eq!(pair.check(0, &[row(note)]), Check::Match);
    assert_eq!(
        pair.check(0, &[row(any.clone())]),
        Check::Wrong { column: 0 }
    );
    assert_eq!(pair.check(0, &[]), Check::Missing);
    assert_eq!(pair.unchecked(), ["payload, writetime(note)"]);
}

#[test]
fn a_row_that_the_query_cannot_name_is_not_looked_for() {
    let insert = "INSERT INTO shop.orders (tenant, id, payload) VALUES (:t, :i, :p)";
    let all = [
        (
            "id > ?",
            "SELECT id, payload FROM shop.orders WHERE tenant = ? AND id > ?",
        ),
        (
            "token(tenant) > ?",
            "SELECT * FROM shop.orders WHERE token(tenant) > ?",
        ),
        (
            "(id) > (?)",
            "SELECT * FROM shop.orders WHERE tenant = ? AND (id) > (?)",
        ),
        ("tenant = 7", "SELECT * FROM shop.orders WHERE tenant = 7"),
        (
            "note = ?",
            "SELECT * FROM shop.orders WHERE tenant = ? AND note = ? ALLOW FILTERING",
        ),
    ];
    for (words, query) in all {
        let pair = pair(ORDERS, insert, query);
        assert_eq!(pair.check(1, &[]), Check::Match, "{query}");
        assert_eq!(
            pair.check(1, &[vec![CqlValue::Int(1)]]),
            Check::Match,
            "{query}"
        );
        let said = format!("any row: `{words}` may leave out what was written");
        assert_eq!(pair.unchecked(), [said], "{query}");
    }
    let scan = pair(ORDERS, insert, "SELECT * FROM shop.orders LIMIT 5");
    assert_eq!(scan.unchecked(), ["any row: no condition names the row"]);
    let made =
        "INSERT INTO shop.orders (tenant, id, payload) VALUES (:t, toUnixTimestamp(now()), :p)";
    let made = pair(
        ORDERS,
        made,
        "SELECT payload FROM shop.orders WHERE tenant = ? AND id = ?",
    );
    assert_eq!(made.check(0, &[]), Check::Match);
}

#[test]
fn a_partition_s_rows_hold_the_written_one_among_others() {
    let insert = "INSERT INTO shop.buckets (bucket, id, s, v) VALUES (?, ?, ?, ?)";
    let pair_of = |query: &str| pair(BUCKETS, insert, query);
    let all = pair_of("SELECT id, v, s FROM shop.buckets WHERE bucket = ?");
    let cells = |position: u64| {
        let row = all.written(position);
        vec![row[1].clone(), row[3].clone(), all.other("s")]
    };
    assert_eq!(all.check(3, &[cells(259), cells(3)]), Check::Match);
    assert_eq!(all.check(3, &[cells(259)]), Check::Wrong { column: 0 });
    assert_eq!(all.check(3, &[]), Check::Missing);
    assert_eq!(
        all.unchecked(),
        ["s"],
        "256 partitions share what is static"
    );
    let cut = pair_of("SELECT id, v FROM shop.buckets WHERE bucket = ? LIMIT ?");
    assert_eq!(cut.asked(3)[1], CqlValue::Int(10));
    assert_eq!(cut.check(3, &[cells(259)[..2].to_vec()]), Check::Match);
    assert_eq!(cut.check(3, &[]), Check::Missing);
    let group = pair_of("SELECT id, v FROM shop.buckets WHERE bucket = ? GROUP BY bucket");
    assert_eq!(group.check(3, &[cells(259)[..2].to_vec()]), Check::Match);
    let several = pair_of("SELECT id, v FROM shop.buckets WHERE bucket = ? AND id IN ?");
    assert!(matches!(&several.asked(3)[1], CqlValue::List(ids) if ids[0] == cells(3)[0]));
    assert_eq!(several.check(3, &[cells(3)[..2].to_vec()]), Check::Match);
    assert_eq!(several.check(3, &[]), Check::Missing);
}

#[test]
fn keys_that_come_again_get_the_same_row_again() {
    let pair = pair(
        SMALL,
        "INSERT INTO shop.small (k, v) VALUES (?, ?)",
        "SELECT v FROM shop.small WHERE k = ?",
    );
    assert_eq!(pair.written(3), pair.written(259));
    assert_ne!(pair.written(3), pair.written(4));
    let v = pair.written(3)[1].clone();
    assert_eq!(pair.check(259, &[vec![v]]), Check::Match);
    // A row that another run wrote stays where the insert is conditional.
    let older = super::tests::pair(
        SMALL,
        "INSERT INTO shop.small (k, v) VALUES (?, ?) IF NOT EXISTS",
        "SELECT v FROM shop.small WHERE k = ?",
    );
    assert_eq!(older.check(3, &[vec![older.other("v")]]), Check::Match);
    assert_eq!(older.check(3, &[]), Check::Missing);
    assert_eq!(older.unchecked(), ["v"]);
}

#[test]
fn what_expires_or_is_deleted_is_not_missed() {
    let query = "SELECT payload FROM shop.orders WHERE tenant = ? AND id = ?";
    let said = "missing rows: they may have expired or been deleted";
    let insert = "INSERT INTO shop.orders (tenant, id, payload) VALUES (?, ?, ?) USING TTL ?";
    let expiring = pair(ORDERS, insert, query);
    assert_eq!(expiring.written(0)[3], CqlValue::Int(86_400));
    assert_eq!(expiring.check(0, &[]), Check::Match);
    assert_eq!(
        expiring.check(0, &[vec![expiring.other("payload")]]),
        Check::Wrong { column: 0 }
    );
    assert_eq!(expiring.unchecked(), [said]);
    let deleting = pair(
        ORDERS,
        "DELETE FROM shop.orders WHERE tenant = ? AND id = ?",
        query,
    );
    assert_eq!(deleting.written(1), deleting.asked(1));
    assert_eq!(deleting.check(0, &[]), Check::Match);
    let conditional = "UPDATE shop.orders SET payload = ? WHERE tenant = ? AND id = ? IF EXISTS";
    let conditional = pair(ORDERS, conditional, query);
    assert_eq!(conditional.check(0, &[]), Check::Match);
}

#[test]
fn updates_write_as_inserts_do() {
    let query = "SELECT note, tags FROM shop.orders WHERE tenant = ? AND id = ?";
    let update =
        "UPDATE shop.orders SET note = :n, tags = tags + :more WHERE tenant = :t AND id = :i";
    let update = pair(ORDERS, update, query);
    let row = update.written(4);
    assert_eq!(update.asked(4), row[2..]);
    let tags = update.other("tags");
    assert_eq!(
        update.check(4, &[vec![row[0].clone(), tags.clone()]]),
        Check::Match
    );
    assert_eq!(
        update.check(4, &[vec![tags.clone(), tags]]),
        Check::Wrong { column: 0 }
    );
    assert_eq!(update.unchecked(), ["tags"]);
}

#[test]
fn json_is_a_whole_row() {
    let pair = pair(
        r#"CREATE TABLE shop.j (id bigint PRIMARY KEY, "V" double, tags set<text>)"#,
        "INSERT INTO shop.j JSON :row",
        r#"SELECT "V", tags FROM shop.j WHERE id = :id"#,
    );
    let CqlValue::Text(text) = pair.written(2)[0].clone() else {
        panic!("a text")
    };
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let CqlValue::Bigint(id) = pair.asked(2)[0] else {
        panic!("a bigint")
    };
    assert_eq!(json["id"], id);
    assert!(json["\"V\""].is_f64() && json["tags"].is_array(), "{json}");
    assert_eq!(pair.check(2, &[]), Check::Missing);
    assert_eq!(pair.unchecked(), Vec::<String>::new());
}

#[test]
fn quotes_and_counters_keep_their_own() {
    let pair = pair(
        MIXED,
        r#"UPDATE shop.mixed SET c = c + ? WHERE "Key" = :key"#,
        r#"SELECT "Key", c, "V" FROM shop.mixed WHERE "Key" = ?"#,
    );
    let key = pair.asked(1)[0].clone();
    assert_eq!(pair.written(1)[1], key);
    assert_eq!(pair.written(1)[0], CqlValue::Counter(1));
    assert_eq!(
        pair.check(1, &[]),
        Check::Match,
        "a sum of nothing known leaves no row for sure"
    );
}

#[test]
fn a_batch_writes_what_its_statements_write() {
    let insert = "BEGIN BATCH INSERT INTO shop.orders (tenant, id, owner) VALUES (:t, :i, :o); \
         UPDATE shop.orders SET note = ? WHERE tenant = :t AND id = :i; APPLY BATCH";
    let pair = pair(
        ORDERS,
        insert,
        "SELECT id, note, owner FROM shop.orders WHERE tenant = ? AND id = ?",
    );
    let row = pair.written(8);
    assert_eq!((&row[0], &row[1]), (&row[4], &row[5]));
    let answer = vec![row[1].clone(), row[3].clone(), row[2].clone()];
    assert_eq!(pair.check(8, &[answer]), Check::Match);
    assert_eq!(pair.check(8, &[]), Check::Missing);
    // Tenants of 32 bits are fewer than ids of 64: owners may be shared.
    assert_eq!(pair.unchecked(), ["owner"]);
    let text = positional(insert);
    assert!(
        !text.contains(':') && text.matches('?').count() == 6,
        "{text}"
    );
}

#[test]
fn markers_inside_calls_get_values_of_the_type_that_the_server_wants() {
    let pair = pair_of(
        ORDERS,
        [
            "INSERT INTO shop.orders (tenant, id, payload) VALUES (?, ?, bigintAsBlob(:x))",
            "SELECT payload FROM shop.orders WHERE tenant = ? AND id = ?",
        ],
        &[CqlType::Bigint],
    );
    assert!(matches!(
        pair.written(0)[2],
        CqlValue::Blob(_) | CqlValue::Bigint(_)
    ));
    assert_eq!(pair.unchecked(), ["payload"]);
    let kinds: Vec<ColumnKind> = pair.table.columns.iter().map(|c| c.kind).collect();
    assert!(kinds.contains(&ColumnKind::Static));
}

#[test]
fn a_table_that_nobody_knows_is_written_and_not_checked() {
    let query = |cql: &str| Query {
        name: "read".to_owned(),
        cql: cql.to_owned(),
        check: true,
        serial_consistency: None,
    };
    let queries = [query("SELECT v FROM other.t WHERE id = ? LIMIT ?")];
    let answers = [Answered {
        markers: vec![
            ("id".to_owned(), CqlType::Int),
            ("[limit]".to_owned(), CqlType::Int),
        ],
        columns: vec!["v".to_owned()],
    }];
    let own = UserStatements::new(&queries, &answers, &[], Seed(7));
    let stream = crate::workload::values::Column::new(Seed(7), "other", "t", "id");
    let id = stream.value(&CqlType::Int, 6);
    assert_eq!(values(own.values(0, 6)), [id, CqlValue::Int(10)]);
    assert_eq!(own.check(0, 6, &[]), Check::Match);
    assert_eq!(tables(&queries), [("other".to_owned(), "t".to_owned())]);
}
