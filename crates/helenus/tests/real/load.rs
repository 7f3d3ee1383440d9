//! Files into tables of a real node: every type, ranges, what is rejected, and a load that is killed again and again.
//! Refuses to trust the load's own word alone: counts and checksums are asked of `count`.

use crate::clusters::number;
use crate::home::Home;
use crate::spoilt;
use std::fmt::Write as _;
use std::path::Path;
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
pub(crate) const ROWS: u32 = 60_000;

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
    let forms = [
        "every.out.csv",
        "every.out.tsv.zst",
        "every.out.jsonl.lz4",
        "every.out.jsonl.gz",
        "every.out.parquet",
    ];
    for name in forms {
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

    // By SSTables the same, and what Cassandra makes of its own writes.
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.every"]).ok();
    let again = load(&[&every, "--into", "c:s.every", "--via", "sstable"]);
    let again = again.ok().json();
    assert_eq!(again["proof"], loaded["proof"], "{again}");
    let verify = ["verify", "-e", "-f"];
    written_as_by_cassandra(&home, folder.path(), &verify);
    for what in [&verify[..], &["scrub"]] {
        let words = [&["nodetool", "c"], what, &["s", "every"]].concat();
        home.helenus(&words).ok();
    }
    // Dates by a field, text in UTF-16: of two rows with one key the later date counts, not the later row.
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    let dated =
        "\u{feff}country;n;city;at\nÄ;1;new;2026-01-31T12:00:00Z\nÄ;1;old;1700000000000000\n";
    let units = dated.encode_utf16().flat_map(u16::to_le_bytes);
    let dated = file("dated.csv", &units.collect::<Vec<u8>>());
    let words = ["--delimiter", ";", "--timestamp", "at", "--skip", "at"];
    let said = load(&[&[dated.as_str(), "--into", "c:s.big"][..], &words].concat());
    let loaded = said.ok().json();
    assert_eq!(loaded["rows_written"], 2, "{loaded}");
    let shown = home.helenus(&[
        "cqlsh",
        "c",
        "-e",
        "SELECT city, writetime(city) FROM s.big",
    ]);
    let shown = shown.ok().stdout.clone();
    assert!(
        shown.contains("new") && shown.contains("1769860800000000"),
        "{shown}"
    );

    // In parts: the last one proves the whole.
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    let rows = (0..10_000).map(|n| format!("C{},{n},town\n", n % 7));
    let text = format!("country,n,city\n{}", rows.collect::<String>());
    let shared = file("shared.csv", text.as_bytes());
    for (part, rows) in [("2/2", 4_096), ("1/2", 5_904)] {
        let words = [shared.as_str(), "--into", "c:s.big", "--part", part];
        let loaded = load(&words).ok().json();
        assert_eq!(loaded["rows_written"], rows, "{loaded}");
        assert_eq!(loaded["proof"].is_null(), part == "2/2", "{loaded}");
        assert!(
            part == "2/2" || loaded["proof"]["equal"] == true,
            "{loaded}"
        );
    }
    let gone = home.helenus(&["load", "nofile.csv", "--into", "nocluster:s.big"]);
    assert_eq!(gone.code, 2, "{gone}");
    assert!(
        gone.stderr.contains("there is no file nofile.csv"),
        "{gone}"
    );

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

    spoilt::files(&home, folder.path());

    // Killed again and again, the same line comes to its end.
    let big = spoilt::big(folder.path(), "big.csv", ROWS);
    for way in [
        ["--via", "sstable", "--memory", "1M"],
        ["--via", "cql", "--in-flight", "4"],
    ] {
        home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
        killed_again_and_again(&home, &big, &way);
    }
    spoilt::unloads(&home, folder.path());
    spoilt::full_disks(&home, folder.path(), &big);
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    spoilt::a_node_dies(&home, (&big, "c:s.big"), "c", true);
    home.clear();
}

/// Tables with one definition, loaded both ways: uncompressed, their files are equal byte by byte.
pub(crate) fn written_as_by_cassandra(home: &Home, folder: &Path, verify: &[&str]) {
    let make =
        "CREATE KEYSPACE w WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    home.helenus(&["cqlsh", "c", "-e", make]).ok();
    let mut text = "a,b,c,d,e,s,v,t,l,f,u,o\n".to_owned();
    for n in 0..4_000_u32 {
        // Two partitions of more than 64 KiB, and many small ones.
        let wide = n % 2 == 0;
        let a = if wide { n % 4 } else { n };
        let _infallible = writeln!(
            text,
            "a{a},{},{}.50,{},10.0.{}.{},static,{},{},\"[{n}, 2]\",1.5,f47ac10b-58cc-4372-a567-0e02b2c3d479,\"{{7, -2.25, {n}.0, 1E+3, 0.125}}\"",
            a % 7,
            n % 50,
            i64::from(n) - 2_000,
            n / 256,
            n % 256,
            if n % 3 == 0 {
                String::new()
            } else {
                n.to_string()
            },
            "x".repeat(if wide { 100 } else { 3 }),
        );
    }
    let rows = folder.join("both.csv");
    fs_err::write(&rows, text).expect("writes");
    let rows = rows.display().to_string();
    let mut names = Vec::new();
    for way in ["cql", "sstable"] {
        let table = format!("w.by_{way}");
        let make = format!(
            "CREATE TABLE {table} (a text, b int, c decimal, d varint, e inet, s text static, v bigint, t text,
              l frozen<list<int>>, f float, u uuid, o frozen<set<decimal>>, PRIMARY KEY ((a, b), c, d, e))
              WITH CLUSTERING ORDER BY (c DESC, d ASC, e DESC) AND compression = {{'enabled': false}}"
        );
        home.helenus(&["cqlsh", "c", "-e", &make]).ok();
        let into = format!("c:{table}");
        let words = ["load", &rows, "--into", &into, "--via", way];
        let fixed = ["--timestamp", "1700000000000000", "--verify", "none"];
        home.helenus(&[&words[..], &fixed].concat()).ok();
        let kept = home.helenus(&["history", "show", "@last", "--format", "json"]);
        let kept = kept.ok().json();
        let phase = &kept["result"]["phases"][0];
        assert_eq!(
            kept["result"]["workload"],
            format!("load {table}"),
            "{kept}"
        );
        assert!(number(&phase["achieved_per_s"]) > 0.0, "{phase}");
        assert!(number(&phase["total"]["completed"]) > 0.0, "{phase}");
        home.helenus(&["nodetool", "c", "flush", "w"]).ok();
        names.push(table);
    }
    let data = home.path().join("state/clusters/c/node1/data/w");
    let folder = |table: &str| {
        let folders = fs_err::read_dir(&data).expect("the keyspace's folder");
        let table = format!("{}-", table.trim_start_matches("w."));
        let mut folders = folders.flatten().map(|entry| entry.path());
        let is_its = |path: &std::path::PathBuf| path.display().to_string().contains(&table);
        folders.find(is_its).expect("the table's folder")
    };
    for part in [
        "Data.db",
        "Index.db",
        "Filter.db",
        "Summary.db",
        "CRC.db",
        "Digest.crc32",
    ] {
        let read = |table: &String| {
            let files = fs_err::read_dir(folder(table))
                .expect("its files")
                .flatten();
            let mut files = files.map(|entry| entry.path());
            let file = files.find(|path| path.display().to_string().ends_with(part));
            fs_err::read(file.expect(part)).expect("reads")
        };
        let (theirs, ours) = (read(&names[0]), read(&names[1]));
        let differ = theirs.iter().zip(&ours).position(|(a, b)| a != b);
        assert!(
            theirs == ours,
            "{part}: {} and {} bytes, {differ:?}",
            theirs.len(),
            ours.len()
        );
    }
    for what in [verify, &["scrub"], &["compact"]] {
        let words = [&["nodetool", "c"], what, &["w", "by_sstable"]].concat();
        home.helenus(&words).ok();
    }
    let sums: Vec<_> = names
        .iter()
        .map(|table| {
            let count = [
                "count",
                table,
                "--cluster",
                "c",
                "--checksum",
                "--format",
                "json",
            ];
            home.helenus(&count).ok().json()["checksum"].clone()
        })
        .collect();
    assert_eq!(sums[0], sums[1]);
}

/// Nodes take what they hold, and nothing else: three nodes, two replicas.
pub(crate) fn sstables_go_to_their_owners() {
    let home = Home::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    home.helenus(&["up", "c", "-n", "3"]).ok();
    let make =
        "CREATE KEYSPACE s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2};
        CREATE TABLE s.t (k int, n int, v text, PRIMARY KEY (k, n))
          WITH compression = {'class': 'ZstdCompressor', 'chunk_length_in_kb': 32}";
    home.helenus(&["cqlsh", "c", "-e", make]).ok();
    let mut text = "k,n,v\n".to_owned();
    for n in 0..20_000_u32 {
        let _infallible = writeln!(text, "{},{},v{n}", n % 5_000, n / 10_000);
    }
    let path = folder.path().join("t.csv");
    fs_err::write(&path, text).expect("writes");
    let path = path.display().to_string();
    let load = ["load", &path, "--into", "c:s.t", "--format", "json"];
    let way = ["--via", "sstable", "--memory", "1M", "--cl", "all"];
    let loaded = home.helenus(&[&load[..], &way].concat()).ok().json();
    // Of two rows with one key the later one stays.
    assert_eq!(loaded["proof"]["distinct_rows"], 10_000, "{loaded}");
    assert_eq!(loaded["proof"]["equal"], true, "{loaded}");
    assert_eq!(loaded["sstables"]["distinct_rows"], 10_000, "{loaded}");
    assert!(loaded["sstables"]["runs"].as_u64() > Some(0), "{loaded}");
    for node in ["c/node1", "c/node2", "c/node3"] {
        home.helenus(&["nodetool", node, "verify", "-e", "-f", "-c", "s", "t"])
            .ok();
    }
    // One of three replicas dies: the others take what comes.
    let make =
        "CREATE KEYSPACE r WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3};
        CREATE TABLE r.big (country text, n int, city text, PRIMARY KEY (country, n))";
    home.helenus(&["cqlsh", "c", "-e", make]).ok();
    // Long enough to be under way when the node dies, on a quiet machine, too.
    let big = spoilt::big(folder.path(), "big.csv", 3 * ROWS);
    spoilt::a_node_dies(&home, (&big, "c:r.big"), "c/node3", false);
    let refused = home.helenus(&[&load[..], &way].concat());
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("does not answer"), "{refused}");
    home.clear();
}

fn killed_again_and_again(home: &Home, big: &str, way: &[&str]) {
    let load = ["load", big, "--into", "c:s.big"];
    let words = [&load[..], way].concat();
    let json = ["--format", "json"];
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
    let loaded = home.helenus(&[&words[..], &json].concat()).ok().json();
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
}
