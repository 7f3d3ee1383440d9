//! What is made is pure, is what is checked, and what differs from it is reported.
//! Refuses nothing.

use super::*;
use crate::workload::profile::Profile;
use proptest::prelude::*;

/// Columns of every type that values can be made for; counters are tables of their own.
const EVERY_TYPE: &str = "
keyspace: ks
table: t
table_definition: |
  CREATE TABLE t (
    p1 text, p2 boolean, c1 timestamp, c2 int, st map<text, int> static,
    a ascii, b bigint, bl blob, bo boolean, da date, de decimal, d double, du duration, f float, i inet,
    n int, sm smallint, te text, ti time, ts timestamp, tu timeuuid, ty tinyint, u uuid, va varint,
    li list<int>, se set<text>, ma map<text, frozen<list<int>>>, tp tuple<int, text, frozen<set<uuid>>>,
    ud frozen<person>, ve vector<float, 3>, ne map<text, frozen<map<int, frozen<list<duration>>>>>,
    PRIMARY KEY ((p1, p2), c1, c2)
  ) WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC)
extra_definitions:
  - CREATE TYPE person (name text, home frozen<place>)
  - CREATE TYPE place (street text, at tuple<double, double>)
columnspec:
  - {name: p1, size: uniform(1..10), population: uniform(1..50)}
  - {name: c1, cluster: uniform(1..6)}
  - {name: c2, cluster: uniform(1..3), population: uniform(1..5)}
  - {name: te, size: uniform(0..40)}
  - {name: se, size: uniform(0..3)}
insert:
  partitions: uniform(1..3)
queries:
  part: {cql: select * from t where p1 = ? and p2 = ?, fields: samerow}
  row: {cql: 'select te, ma, ud from t where p1 = ? and p2 = ? and c1 = ? and c2 = ?', fields: samerow}
  from: {cql: 'select * from t where p1 = ? and p2 = ? and c1 >= ?'}
";

fn workload(text: &str) -> ProfileWorkload {
    let profile = Profile::read(text).expect("a profile");
    let table = profile.defined_table().expect("a table").expect("defined");
    ProfileWorkload {
        name: "test".to_owned(),
        specs: vec![Spec { profile, table }],
        walk: None,
    }
}

/// The maker of a line with this profile, whose visits are another's affair.
pub(super) fn maker_of(text: &str) -> Maker {
    let once: crate::dist::Dist = "fixed(1)".parse().expect("a distribution");
    let mut all = workload(text);
    all.walk = Some(Walk {
        visits: once.clone(),
        revisit: once,
        positions: crate::positions::Positions::Sequential,
    });
    Maker::new(&all, Seed(1)).expect("a maker")
}

fn maker(text: &str, seed: u64) -> Maker {
    Maker::new(&workload(text), Seed(seed)).expect("a maker")
}

type Stored = Vec<Vec<Option<CqlValue>>>;

/// A server that keeps rows by their key, in the order of the table's columns.
struct Server {
    keys: usize,
    rows: Vec<Vec<Option<CqlValue>>>,
}

impl Server {
    fn new(keys: usize) -> Self {
        let rows = Vec::new();
        Self { keys, rows }
    }

    fn write(&mut self, work: &Work) {
        let all: Vec<&Vec<Bound>> = match &work.request {
            Request::Single(_, bound) => vec![bound],
            Request::Batch(_, all) => all.iter().map(|(_, bound)| bound).collect(),
            Request::Scan { .. } => Vec::new(),
        };
        assert_eq!(all.len(), work.rows as usize);
        for bound in all {
            let row = bound.iter().map(|b| match b {
                Bound::Value(value) => Some(value.clone()),
                Bound::Unset => None,
            });
            let row: Vec<_> = row.collect();
            self.rows
                .retain(|known| known[..self.keys] != row[..self.keys]);
            self.rows.push(row);
        }
    }

    fn of(&self, key: &[Option<CqlValue>]) -> Stored {
        let own = |row: &&Vec<Option<CqlValue>>| row[..key.len()] == *key;
        self.rows.iter().filter(own).cloned().collect()
    }
}

fn key_of(work: &Work, columns: usize) -> Vec<Option<CqlValue>> {
    let Request::Single(_, bound) = &work.request else {
        panic!("one statement")
    };
    let values = bound[..columns].iter().map(|b| match b {
        Bound::Value(value) => Some(value.clone()),
        Bound::Unset => None,
    });
    values.collect()
}

fn names(workload: &ProfileWorkload) -> Vec<String> {
    let columns = workload.specs[0].table.columns.iter();
    columns.map(|c| c.name.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_was_made_is_what_is_checked(seed: u64, start in 0_u64..1 << 40, spoilt: prop::sample::Index) {
        let workload = workload(EVERY_TYPE);
        let maker = Maker::new(&workload, Seed(seed)).expect("a maker");
        let names = names(&workload);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut server = Server::new(4);
        for index in 0..4_u64 {
            let count = u64::from(maker.partitions(0, index));
            let positions: Vec<u64> = (0..count).map(|i| start + index * 3 + i).collect();
            let work = maker.make(0, index, &positions);
            prop_assert_eq!(&work, &maker.make(0, index, &positions));
            prop_assert!(u64::from(work.partitions) <= count);
            server.write(&work);
        }
        let place = |name: &str| workload.operations().iter().position(|o| o == name).expect("known");
        for name in ["part", "validate"] {
            let operation = place(name);
            let work = maker.make(operation, 9, &[start]);
            let mut rows = server.of(&key_of(&work, 2));
            prop_assert!(!rows.is_empty());
            let check = |rows: &Stored| maker.check(operation, 9, &[start], &names, rows);
            prop_assert_eq!(check(&rows), Check::Match);
            let (row, column) = (spoilt.index(rows.len()), 4 + spoilt.index(names.len() - 4));
            let was = rows[row][column].take();
            if was.is_some() {
                prop_assert_eq!(check(&rows), Check::Wrong { column }, "{}", names[column]);
            }
            rows[row][column] = was;
            rows.remove(row);
            prop_assert_eq!(check(&rows), Check::Missing);
        }
        // The rows of the partition, by the table's order, are those that were written.
        let mut all: Stored = maker.rows(0, start).collect();
        let stored = server.of(&all[0][..2]);
        prop_assert_eq!(all.len(), stored.len());
        all.retain(|row| !stored.contains(row));
        prop_assert!(all.is_empty());
    }

    #[test]
    fn one_row_is_found_by_its_key(seed: u64, index: u64, position in 0_u64..1 << 40) {
        let maker = maker(EVERY_TYPE, seed);
        let operation = 3;
        let work = maker.make(operation, index, &[position]);
        let key = key_of(&work, 4);
        let all: Stored = maker.rows(0, position).collect();
        let row = all.iter().find(|row| row[..4] == key[..]);
        let row = row.expect("a row of the partition");
        let table = &workload(EVERY_TYPE).specs[0].table;
        let wanted = ["te", "ma", "ud"];
        let answer: Vec<_> = wanted.map(|n| row[table.place(n).expect("a column")].clone()).to_vec();
        let check = |rows: &[Vec<Option<CqlValue>>]| maker.check(operation, index, &[position], &wanted, rows);
        prop_assert_eq!(check(std::slice::from_ref(&answer)), Check::Match);
        prop_assert_eq!(check(&[]), Check::Missing);
        let mut other = answer;
        other[2] = None;
        prop_assert_eq!(check(&[other]), Check::Wrong { column: 2 });
    }

    #[test]
    fn rows_are_distinct_and_in_the_tables_order(seed: u64, position: u64) {
        let all: Stored = maker(EVERY_TYPE, seed).rows(0, position).collect();
        let time = |row: &Vec<Option<CqlValue>>| match (&row[2], &row[3]) {
            (Some(CqlValue::Timestamp(t)), Some(CqlValue::Int(n))) => (-t, *n),
            other => panic!("{other:?}"),
        };
        prop_assert!(all.windows(2).all(|two| time(&two[0]) < time(&two[1])));
        prop_assert!((1..=18).contains(&all.len()));
    }
}

#[test]
fn data_are_pinned() {
    // Stored clusters are checked by later versions: these values may never change.
    let row = maker(EVERY_TYPE, 1).rows(0, 0).next().expect("a row");
    let text: Vec<String> = row
        .iter()
        .map(|cell| cell.as_ref().map_or("null".to_owned(), ToString::to_string))
        .collect();
    insta::assert_snapshot!(text.join("\n"), @"
    x9nnb3
    True
    1972-12-26 10:51:56.709000+0000
    2
    {'7kn5wpf6ihusp3z26v2m': -43707296, '94y73s5kwt8niwxbw': -1891891577, 'da24eywbra52hm4i': 753442121, 'rgawck7vqb4ag': 628032607, 'x9j2zfcmb3txnc7h': 1655649261}
    3kz9k99k
    55617221342
    0xadb9e29e
    False
    6872-06-09
    96469673663
    2.9489e+10
    2mo8d12h41m45s930ms130us185ns
    1.0435e+10
    165.139.210.198
    841616177
    -30313
    Zx
    00:00:41.940090805
    1971-06-03 12:29:51.780000+0000
    0d116dd0-9654-11b2-aa9c-9b2e82484198
    57
    11684885-cc7f-463a-b72a-99eb719ed856
    77157588954
    [-1819810606, -1772414534, -1938799598, 354721227, -752499937, 746270708, -1894191574, 2029264894]
    {'isbhipr4cjiiqsuuz'}
    {'23k9v9crzrw2hy5c8unjhby': [-379249629, -1012392551], '7gg4pi4zmq6hf56fr': [-1444632423, 1355160204, 1786231089, 1783155307], '9i5p2yrx9zc2k5s9fk46y98i': [-397397180, 18992700, -1666537174], 'dtiyru7bcsbjnfj4z6ghxqg': [-606799727], 'fs3csi2nd9edpw3yn4ik9': [1547615034, 165541252, -1657154951], 'hrhiatngs92hib5': [-1637864857, -904418055, 1234868692], 'jevqkk7s8v5tqdyetxdm': [-1137108956, 1623245386, -1018757796], 'qhpznz8rhmzmdb5': [1196614482]}
    (1831780044, 'fn3jf3cmgk6yhqcmxqhbsxhc', {6ef9bb4c-d4bf-4099-a3e0-46d8c4cab610, 86f7bbfb-bf34-49d1-84f5-527b14e02f09, a9de6338-7816-4047-b364-01ee62c623d0, c57c47d6-df76-4bfd-87e2-7c037d39228b})
    {name: 'pbrbgebenrhmmcf', home: {street: 'shiqadr4bagecwi79f4bcfk', at: (-6.2098e+07, -1.8868e+09)}}
    [-2310.12891, 9273.51172, 15675.85156]
    {'7bbyjx32tu35pa': {397333157: [1mo17d11h42m24s61ms221us926ns, 6mo20d12h10m29s273ms919us792ns, 6mo14d4h2m54s198ms604us617ns], 596295813: [8d17h38m33s563ms445us885ns], 1353776820: [2mo20d10h48m21s704ms272us517ns, 21d1h15m31s98ms916us237ns, 8mo6d3h2m69ms330us96ns, 2mo1d10h3m53s644ms380us241ns], 1475197808: [25d7h26m15s858ms33us586ns]}, '7ht5f3hi7u8nkmnru39erjd': {-899173092: [1mo18d4h48m22s947ms294us422ns, 3mo12h52m4s967ms81us184ns, 21d18h5m3s976ms590us412ns, 3mo20d2h27m14s330ms105us139ns], -485638660: [11mo5d8h20m9s742ms531us26ns, 1d16h5m20s920ms871us85ns, 10mo4d14h47m34s952ms212us206ns, 4mo8d16h28m32s685ms37us683ns], 117235290: [7mo13d13h34m22s21ms391us228ns, 9mo15h33m9s129ms644us74ns, 5mo19d14h15m59s342ms830us573ns]}, 'abpeb7s9nnqpim': {-1065329886: [11mo1d12h53m13s453ms893us775ns, 6mo6d15h54m59s516ms439us125ns, 3mo24d13h4m56s91ms581us585ns, 7mo22d8h52m43s732ms218us99ns], -574623655: [4mo17d5h30m16s502ms753us583ns], -125828226: [6mo22d10h18m18s835ms703us140ns, 1mo7d6h13s278ms376us328ns, 1mo8d16h38m3s164ms393us560ns], 753063320: [8mo7d5h39m4s720ms277us713ns, 1mo17d38m31s311ms998us97ns, 9mo21d2h16m13s705ms745us863ns, 4mo1d12h48m44s774ms80us279ns]}, 'dmetmrfb6me9duyyfws5uw': {1016063196: [11mo7d13h12m46s363ms584us742ns, 2mo27d49m2s575ms484us61ns, 3mo26d6h16m38s19ms401us921ns, 4mo5d7h11m12s281ms879us433ns], 2127175852: [2mo24d4h9m19s929ms137us807ns, 7mo21d2h20m38s902ms36us378ns, 5mo22d17h15m4s914ms87us750ns]}, 'gvxk6g8s4u82icxz': {-1508854239: [15d15h56m39s962ms448us328ns], -1143750559: [2mo27d14h19m10s425ms597us949ns, 23d4h16m4s534ms903us610ns, 6mo4d17h18m29s721ms967us620ns, 4mo18d18h42m17s416ms934us175ns], -326006439: [6d10h32m15s549ms310us854ns, 1mo27d13h36m43s32ms611us961ns]}, 'x342knjn2fy9np': {-1135216793: [2mo17d13h55m58s754ms868us862ns], -961887412: [6mo20d13h10s807ms60us757ns, 23d4h46m29s812ms713us592ns, 5mo15d2h29m1s713ms133us961ns, 9mo18d18h56m27s759ms860us754ns]}}
    ");
}

#[test]
fn shares_of_rows_and_columns_are_written() {
    let text = EVERY_TYPE
        .replace(
            "partitions: uniform(1..3)",
            "select: fixed(1)/10\n  row-population: fixed(1)/2",
        )
        .replace("cluster: uniform(1..6)", "cluster: fixed(1000)");
    let maker = maker(&text, 7);
    let rows: u32 = (0..20).map(|i| maker.make(0, i, &[5]).rows).sum();
    let all = maker.rows(0, 5).count() as u32;
    assert!(
        rows.abs_diff(2 * all) < all / 5,
        "{rows} of {all} twenty times"
    );
    let row = maker.rows(0, 5).next().expect("a row");
    let regular = 26;
    let written = row[5..].iter().filter(|cell| cell.is_some()).count();
    assert_eq!((row[5..].len(), written), (regular, regular / 2));
    assert!(row[4].is_some(), "the static column is written");
    assert!(!maker.writes_all_rows(0));
    // Not all rows are written, so none is missing.
    assert_eq!(maker.check(2, 0, &[5], &["te"], &[]), Check::Match);
    // A large partition's rows are picked, without the others.
    let large = text
        .replace("fixed(1000)", "fixed(1000000)")
        .replace("fixed(1)/10", "fixed(1)/1000000");
    let large = self::maker(&large, 7);
    let work = large.make(0, 1, &[5]);
    assert!((1..=3).contains(&work.rows), "{}", work.rows);
}

#[test]
fn counters_are_added_to_and_not_compared() {
    let text = "
keyspace: ks
table: c
table_definition: CREATE TABLE c (k text PRIMARY KEY, n counter, m counter)
columnspec: [{name: n, population: fixed(3)}]
insert: {batchtype: LOGGED, partitions: fixed(2)}
queries:
  get: {cql: 'select n from c where k = ?'}
";
    let maker = maker(text, 1);
    insta::assert_snapshot!(maker.statements()[0].cql, @r#"
    UPDATE "ks"."c" SET "n" = "n" + ?, "m" = "m" + ? WHERE "k" = ?
    "#);
    let work = maker.make(0, 0, &[1, 2]);
    let Request::Batch(BatchKind::Counter, all) = &work.request else {
        panic!("{work:?}")
    };
    assert_eq!(all[0].1[0], Bound::Value(CqlValue::Counter(3)));
    assert!(matches!(all[0].1[2], Bound::Value(CqlValue::Text(_))));
    let rows = [vec![Some(CqlValue::Counter(99))]];
    assert_eq!(maker.check(1, 0, &[1], &["n"], &rows), Check::Match);
    assert_eq!(maker.check(1, 0, &[1], &["n"], &[]), Check::Missing);
    assert!(!maker.compares(0, 1));
}

/// One query of a table with collections, and what its markers get.
fn bound(query: &str) -> Vec<String> {
    let text = format!(
        "
keyspace: ks
table: t
table_definition: |
  CREATE TABLE t (a int, b int, c int, d int, m map<text, int>, l list<int>, s set<text>,
    u frozen<pt>, tp tuple<int, text>, n int, PRIMARY KEY ((a, b), c, d))
extra_definitions: ['CREATE TYPE pt (x int, y text)']
columnspec:
  - {{name: a, population: fixed(1)}}
  - {{name: b, population: fixed(2)}}
  - {{name: c, population: fixed(3)}}
  - {{name: d, population: fixed(4)}}
  - {{name: n, population: fixed(5)}}
  - {{name: s, size: fixed(1)}}
queries: {{q: {{cql: \"{query}\", fields: samerow}}}}
"
    );
    let maker = maker(&text, 1);
    let Request::Single(1, bound) = maker.make(1, 0, &[0]).request else {
        panic!("one statement")
    };
    let text = |b: &Bound| match b {
        Bound::Value(value) => {
            let kind = format!("{value:?}");
            let kind = kind.split('(').next().unwrap_or_default().to_owned();
            format!("{kind} {value}")
        }
        Bound::Unset => "unset".to_owned(),
    };
    bound.iter().map(text).collect()
}

#[test]
fn markers_are_understood_from_the_words_around_them() {
    let queries = [
        "select * from t where a = ? and b = ? and c >= ? and c < :upto limit ?",
        "select * from t where a = ? and b IN (?, ?) and (c, d) > (?, ?)",
        "select * from t where a = ? and b in ? and (c, d) in ((?, ?), (?, ?))",
        "select * from t where a = ? and b = ? and (c, d) in ? and c = :c",
        "select * from t where token(a, b) > token(?, ?) and token(a, b) <= ?",
        "insert into t (a, b, c, d, m, n) values (?, ?, ?, ?, {'x': ?}, ?) using ttl ? and timestamp ?",
        "insert into t (a, b, c, d, s, tp, u) values (?, ?, ?, ?, {?}, (?, ?), {x: ?, y: ?})",
        "update t set n = ?, m['x'] = ?, m[?] = ?, l[?] = ?, u = ?, s = s + ? where a = ? and b = ? and c = ? and d = ? if n = ?",
        "delete m[?] from t where a = ? and b = ? and c = ? and d = ?",
        "select * from t where m contains ? and m contains key ? and s contains ? allow filtering",
    ];
    let all: Vec<String> = queries
        .map(|query| format!("{query}\n  {}", bound(query).join(", ")))
        .to_vec();
    insta::assert_snapshot!(all.join("\n"), @"
    select * from t where a = ? and b = ? and c >= ? and c < :upto limit ?
      Int 1, Int 2, Int 3, Int 3, Int 10
    select * from t where a = ? and b IN (?, ?) and (c, d) > (?, ?)
      Int 1, Int 2, Int 2, Int 3, Int 4
    select * from t where a = ? and b in ? and (c, d) in ((?, ?), (?, ?))
      Int 1, List [2], Int 3, Int 4, Int 3, Int 4
    select * from t where a = ? and b = ? and (c, d) in ? and c = :c
      Int 1, Int 2, List [(3, 4)], Int 3
    select * from t where token(a, b) > token(?, ?) and token(a, b) <= ?
      Int 1, Int 2, Bigint 7539475323165169620
    insert into t (a, b, c, d, m, n) values (?, ?, ?, ?, {'x': ?}, ?) using ttl ? and timestamp ?
      Int 1, Int 2, Int 3, Int 4, Int -945018056, Int 5, Int 86400, Bigint 1749870504285691
    insert into t (a, b, c, d, s, tp, u) values (?, ?, ?, ?, {?}, (?, ?), {x: ?, y: ?})
      Int 1, Int 2, Int 3, Int 4, Text ge8ua9yc6thtc7n5uw3, Int 1182384596, Text nwgcg8s2tpheg7zta, Int 674618109, Text qgi5egeqd8nyad83ifh
    update t set n = ?, m['x'] = ?, m[?] = ?, l[?] = ?, u = ?, s = s + ? where a = ? and b = ? and c = ? and d = ? if n = ?
      Int 5, Int -945018056, Text xb39d4ughiy5h55sk4vpc, Int -945018056, Int 0, Int -598599259, Udt {x: 674618109, y: 'qgi5egeqd8nyad83ifh'}, Set {'ge8ua9yc6thtc7n5uw3'}, Int 1, Int 2, Int 3, Int 4, Int 5
    delete m[?] from t where a = ? and b = ? and c = ? and d = ?
      Text xb39d4ughiy5h55sk4vpc, Int 1, Int 2, Int 3, Int 4
    select * from t where m contains ? and m contains key ? and s contains ? allow filtering
      Int -945018056, Text xb39d4ughiy5h55sk4vpc, Text ge8ua9yc6thtc7n5uw3
    ");
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let with = |from: &str, to: &str| {
        assert!(EVERY_TYPE.contains(from), "{from}");
        let error = Maker::new(&workload(&EVERY_TYPE.replacen(from, to, 1)), Seed(1));
        let error = error.expect_err("refused");
        format!("{error} ({})", error.hint())
    };
    let all = [
        with("name: te,", "name: tex,"),
        with("c1 >= ?", "c1 >= maxTimeuuid(?)"),
        with("cluster: uniform(1..6)", "cluster: uniform(1..60k)"),
        with("size: uniform(0..40)", "size: uniform(0..1b)"),
        with("p1 text", "p1 'some.Class'"),
        with("cluster: uniform(1..6)", "cluster: uniform(1..1b)"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    columnspec of ks.t names the column "tex", which ks.t does not have (the nearest column is "te")
    query "from": cannot determine which column bind marker 3 is for (compare the marker with a column, insert it into one, or name it after one (:column))
    insert of ks.t may write 540000 rows at once (3 partitions of 180000 rows, select fixed(1)/1); a batch holds 65535 (make partitions, select or the columns' cluster smaller: fixed(1)/N writes one N-th of the rows)
    column "te" of ks.t: uniform(0..1b) is too large, at most 67108864 (give the column a smaller size)
    key column "p1" of ks.t is a 'some.Class': no values can be made for it (give the column a native CQL type)
    column "c1" of ks.t: cluster uniform(1..1b) is too large, at most 10000000 (give the column a smaller size)
    "#);
    let scan = format!("{EVERY_TYPE}\ntoken_range_queries: {{all: {{columns: 'a, nn'}}}}\n");
    let error = Maker::new(&workload(&scan), Seed(1)).expect_err("refused");
    assert!(error.to_string().contains("\"nn\""), "{error}");
    let none = ProfileWorkload {
        name: String::new(),
        specs: Vec::new(),
        walk: None,
    };
    assert_eq!(Maker::new(&none, Seed(1)).err(), Some(MakerError::Empty));
}

#[test]
fn inserts_may_have_a_condition() {
    let text = "
keyspace: ks
table: t
table_definition: CREATE TABLE t (k int, c int, a int, b text, PRIMARY KEY (k, c))
columnspec: [{name: k, population: seq(1..9)}, {name: c, population: fixed(7)}, {name: a, population: fixed(5)}]
insert: {condition: IF a = ? AND b = NULL}
queries: {}
";
    let conditional = maker(text, 1);
    let absent = maker(&text.replace("IF a = ? AND b = NULL", "IF NOT EXISTS"), 1);
    let all = [
        &conditional.statements()[0].cql,
        &absent.statements()[0].cql,
    ];
    insta::assert_snapshot!(all.map(String::as_str).join("\n"), @r#"
    UPDATE "ks"."t" SET "a" = ?, "b" = ? WHERE "k" = ? AND "c" = ? IF a = ? AND b = NULL
    INSERT INTO "ks"."t" ("k", "c", "a", "b") VALUES (?, ?, ?, ?) IF NOT EXISTS
    "#);
    let Request::Single(0, bound) = conditional.make(0, 0, &[1]).request else {
        panic!("one statement")
    };
    let int = |n: i32| Bound::Value(CqlValue::Int(n));
    assert_eq!(
        (&bound[0], &bound[2..]),
        (&int(5), &[int(2), int(7), int(5)][..])
    );
    let error = Profile::read(&text.replace("IF a", "a")).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "line 6: insert.condition: it begins with IF"
    );
}

#[test]
fn what_queries_change_is_not_compared() {
    let text = "
keyspace: ks
table: t
table_definition: CREATE TABLE t (k int, c int, a int, b int, PRIMARY KEY (k, c))
columnspec: [{name: c, cluster: fixed(3)}]
queries:
  all: {cql: select * from t where k = ?}
  same: {cql: update t set a = ? where k = ? and c = ?, fields: samerow}
  other: {cql: update t set b = 5 where k = ? and c = ?, fields: samerow}
";
    let maker = maker(text, 1);
    let columns = ["k", "c", "a", "b"];
    let mut rows: Stored = maker.rows(0, 0).collect();
    let check = |rows: &Stored| maker.check(1, 0, &[0], &columns, rows);
    rows[0][3] = Some(CqlValue::Int(5));
    assert_eq!(check(&rows), Check::Match, "b is given another value");
    rows[0][2] = Some(CqlValue::Int(5));
    assert_eq!(
        check(&rows),
        Check::Wrong { column: 2 },
        "a gets its own again"
    );
    assert!(maker.compares(0, 2) && !maker.compares(0, 3));
    let erasing = text.replace("set b = 5 where", "using ttl 5 set b = 5 where");
    let erasing = self::maker(&erasing, 1);
    assert_eq!(erasing.check(1, 0, &[0], &columns, &[]), Check::Match);
    assert!(!erasing.writes_all_rows(0));
}

#[test]
fn partitions_take_turns() {
    let text = "
keyspace: ks
table: t
table_definition: CREATE TABLE t (k int, at timestamp, v int, PRIMARY KEY (k, at))
columnspec:
  - {name: k, population: seq(1..10)}
  - {name: at, population: seq(1..1B)}
insert: {turns: 10, batchtype: UNLOGGED, partitions: fixed(20)}
queries:
  last: {cql: select * from t where k = ? limit 5}
";
    let maker = maker(text, 1);
    let all: Vec<_> = (0..30).flat_map(|p| maker.rows(0, p)).collect();
    assert_eq!(all.len(), 30);
    let row = |k: i32, at: i64| (Some(CqlValue::Int(k)), Some(CqlValue::Timestamp(at)));
    let keys: Vec<_> = all.iter().map(|r| (r[0].clone(), r[1].clone())).collect();
    assert_eq!(
        (keys[0].clone(), keys[11].clone(), keys[29].clone()),
        (row(1, 1), row(2, 2), row(10, 3))
    );
    let positions: Vec<u64> = (0..20).collect();
    let work = maker.make(0, 0, &positions);
    assert_eq!((work.rows, work.partitions), (20, 10));
    let columns = ["k", "at", "v"];
    assert_eq!(
        maker.check(1, 0, &[11], &columns, &[all[1].clone(), all[11].clone()]),
        Check::Match
    );
    assert_eq!(maker.check(1, 0, &[11], &columns, &[]), Check::Missing);
}

#[test]
fn partitions_stay_for_a_stretch_and_each_row_comes_once() {
    let text = |insert: &str| {
        format!(
            "
keyspace: ks
table: t
table_definition: CREATE TABLE t (k int, at bigint, v int, PRIMARY KEY (k, at))
columnspec:
  - {{name: k, population: 'zipf(1..50)'}}
  - {{name: at, population: seq(1..1B)}}
insert: {{{insert}}}
"
        )
    };
    let maker = maker(&text("stretches: 3 of uniform(2..9)"), 1);
    let rows: Vec<_> = (0..30_000).flat_map(|p| maker.rows(0, p)).collect();
    let mut keys: Vec<_> = rows.iter().map(|r| format!("{:?}", r[1])).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 30_000, "no address comes twice");
    // One line of the three: its partition changes every 5.5 rows in the mean, and never after one.
    let line: Vec<String> = rows
        .iter()
        .step_by(3)
        .map(|r| format!("{:?}", r[0]))
        .collect();
    let changes = line.windows(2).filter(|two| two[0] != two[1]).count();
    // Neighbours that drew the same partition look like one stretch: zipf over 50 does that to some of them.
    assert!((1_200..1_900).contains(&changes), "{changes}");
    let most = line.iter().filter(|k| **k == line_of(&line)).count();
    assert!(
        most > line.len() / 8,
        "{most} rows in the largest partition"
    );
    // The three lines are not one.
    let same = rows.windows(2).filter(|two| two[0][0] == two[1][0]).count();
    assert!(same < rows.len() / 3, "{same}");
    let refused = |insert: &str| Profile::read(&text(insert)).unwrap_err().to_string();
    insta::assert_snapshot!(refused("stretches: 3"), @"line 8: insert.stretches: write how many at once, and of which length: 24 of zipf(1..4096)");
    insta::assert_snapshot!(refused("stretches: 3 of uniform(0..9)"), @"line 8: insert.stretches: a stretch has at least one row");
    insta::assert_snapshot!(refused("stretches: 3 of fixed(2), turns: 4"), @"line 8: insert.stretches: turns and stretches cannot be combined");
}

/// The most frequent of these.
fn line_of(all: &[String]) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for one in all {
        *counts.entry(one.clone()).or_insert(0) += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, n)| *n);
    most.map(|(one, _)| one).unwrap_or_default()
}
