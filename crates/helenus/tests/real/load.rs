//! Files into tables of a real node: every type, ranges, what is rejected, and a load that is killed again and again.
//! Refuses to trust the load's own word alone: counts and checksums are asked of `count`.

use crate::home::Home;
use std::fmt::Write as _;
use std::time::Duration;

const SCHEMA: &str = "
CREATE KEYSPACE s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
CREATE TYPE s.u (a int, b list<text>);
CREATE TABLE s.every (k int PRIMARY KEY, a ascii, bi bigint, bl blob, bo boolean, d date, de decimal, do double,
  du duration, f float, ip inet, si smallint, t text, ti time, ts timestamp, tu timeuuid, ty tinyint, u uuid, v varint,
  l list<int>, s set<text>, m map<text, frozen<list<int>>>, tup tuple<int, text>, fud frozen<u>, vec vector<float, 3>);
CREATE TABLE s.hosts (country text, ip inet, city text, PRIMARY KEY (country, ip));
CREATE TABLE s.big (country text, n int, city text, PRIMARY KEY (country, n));
CREATE TABLE s.c (k int PRIMARY KEY, c counter);
";

const EVERY: &str = r#"k,a,bi,bl,bo,d,de,do,du,f,ip,si,t,ti,ts,tu,ty,u,v,l,s,m,tup,fud,vec
1,ascii,-9,0xcafe,true,2026-01-31,-1.50,1.5e300,1y2mo3d4h,0.1,::1,7,"a ""q"" 'x'",12:00:00.5,2026-01-02 03:04:05.678+0100,50554d6e-29bb-11e5-b345-feff819cdc9f,-3,f47ac10b-58cc-4372-a567-0e02b2c3d479,123456789012345678901234567890,"[3, 1, 2]","{'b', 'a', 'b'}","{'z': [1], 'a': [2, 3]}","(1, null)","{a: 5, b: ['x', 'y']}","[1, 2.5, 3]"
2,,,,,,,,,,,,,,,,,,,,,,,,
3,"",,,,,,NaN,,Infinity,1.2.3.4,,"",,0,,,,,[],{},{},,"{""a"":null,""b"":[""j""]}",
"#;

/// Rows of the load that is killed.
const ROWS: u32 = 60_000;

pub(crate) fn files_are_loaded_and_kills_lose_nothing() {
    let home = Home::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs_err::write(&path, content).expect("writes");
        path.display().to_string()
    };
    home.helenus(&["up", "c"]).ok();
    let schema = file("s.cql", SCHEMA.as_bytes());
    home.helenus(&["cqlsh", "c", "-f", &schema]).ok();

    // Every type, and what a null, an empty text and an empty collection are.
    let every = file("every.csv", EVERY.as_bytes());
    let json = ["--format", "json"];
    let load = |words: &[&str]| home.helenus(&[&["load"], words, &json[..]].concat());
    let loaded = load(&[&every, "--into", "c:s.every"]).ok().json();
    assert_eq!(loaded["proof"]["equal"], true, "{loaded}");
    assert_eq!(loaded["rows_written"], 3);

    // Out again, and in again: equal in every form.
    for name in ["every.out.csv", "every.out.tsv", "every.out.jsonl"] {
        let out = folder.path().join(name).display().to_string();
        let unload = ["unload", "s.every", "--cluster", "c", "-o", &out];
        let unloaded = home.helenus(&[&unload[..], &json[..]].concat());
        let unloaded = unloaded.ok().json();
        assert_eq!(unloaded["checksum"], loaded["proof"]["file_checksum"]);
        assert_eq!(home.helenus(&unload).code, 2, "it exists already");
        home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.every"]).ok();
        let again = load(&[&out, "--into", "c:s.every"]).ok().json();
        assert_eq!(again["proof"]["equal"], true, "{name}: {again}");
        assert_eq!(
            again["proof"]["file_checksum"], unloaded["checksum"],
            "{name}"
        );
    }

    // Ranges: one row for each address.
    let ranges = file("ip.csv", b"\"16777216\",\"16777471\",\"AU\",\"Australia\"\n\"16777472\",\"16777475\",\"CN\",\"China\"\n");
    let words = [
        &ranges,
        "--into",
        "c:s.hosts",
        "--file-format",
        "ip2location-db1",
        "--expand",
        "ip: ipv4_range(ip_from, ip_to)",
        "--map",
        "country=country_code",
        "--map",
        "city=concat(country_name, '!')",
    ];
    let loaded = load(&words).ok().json();
    assert_eq!(loaded["proof"]["table_rows"], 260, "{loaded}");
    assert_eq!(loaded["proof"]["equal"], true, "{loaded}");

    // What is no row is kept with its reason.
    let bad = b"country,n,city\nA,1,x\nA,zz,x\nB,2,\0\nB,3,\xff\n\"open,4\nD,6";
    let bad = file("bad.csv", bad);
    let said = home.helenus(&["load", &bad, "--into", "c:s.big"]);
    assert_eq!(said.code, 1, "{said}");
    let rejected = fs_err::read_to_string(format!("{bad}.rejected")).expect("rejected rows");
    let lines: Vec<&str> = rejected.lines().map(|l| &l[..l.len().min(4)]).collect();
    assert_eq!(lines, ["line", "3,n,", "4,$3", "5,$3", "6,\"\"", "7,\"\""]);
    let refused = home.helenus(&["load", &bad, "--into", "c:s.c"]);
    assert_eq!(refused.code, 2, "{refused}");

    // Killed again and again, the same line comes to its end.
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    let mut text = "country,n,city\n".to_owned();
    for n in 0..ROWS {
        let _infallible = writeln!(text, "C{},{n},\"town, {}\"", n % 300, n % 77);
    }
    let big = file("big.csv", text.as_bytes());
    let words = ["load", &big, "--into", "c:s.big", "--in-flight", "4"];
    // Not twice at once.
    let loads = home.path().join("state/clusters/c/loads");
    let under_way = || {
        let files = fs_err::read_dir(&loads).into_iter().flatten().flatten();
        files
            .into_iter()
            .any(|f| f.path().extension().is_some_and(|end| end == "json"))
    };
    let mut first = home.start(&words);
    for _ in 0..500 {
        if under_way() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = home.helenus(&words);
    let _ended_already = first.kill();
    first.wait().expect("its end");
    assert_eq!(second.code, 4, "{second}");
    assert!(second.stderr.contains("is running already"), "{second}");
    for wait in [300, 700, 1_100, 500] {
        let mut child = home.start(&words);
        std::thread::sleep(Duration::from_millis(wait));
        let _ended_already = child.kill();
        child.wait().expect("its end");
    }
    let loaded = load(&words[1..]).ok().json();
    assert_eq!(loaded["proof"]["equal"], true, "{loaded}");
    assert_eq!(loaded["rows_read"], ROWS, "{loaded}");
    let counted = home.helenus(&[
        "count",
        "s.big",
        "--cluster",
        "c",
        "--checksum",
        "--format",
        "json",
    ]);
    let counted = counted.ok().json();
    assert_eq!(counted["checksum"], loaded["proof"]["file_checksum"]);
    home.clear();
}
