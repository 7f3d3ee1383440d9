//! Loads whose files, disks and nodes fail: one clear error or a rejected row each, and the same line ends it later.
//! Refuses silence: what is not in the table is in the file of rejected rows, or the load is not over.

use crate::home::{Home, Said};
use crate::load::ROWS;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn error(said: &Said, code: i32, part: &str) {
    assert_eq!(said.code, code, "{said}");
    assert!(said.stderr.contains(part), "{part}: {said}");
    let errors = said.stderr.lines().filter(|line| {
        line.starts_with("error") || line.starts_with("{\"format\":\"helenus.error")
    });
    assert_eq!(errors.count(), 1, "{said}");
}

/// Files that are cut off, and rows that are none; `s.every` of cluster `c` has three rows, and `s.big` is there.
pub(crate) fn files(home: &Home, folder: &Path) {
    let at = |name: &str| folder.join(name).display().to_string();
    let parquet = at("every.out.parquet");
    let bytes = fs_err::read(&parquet).expect("reads");
    let half = at("half.parquet");
    for end in [bytes.len() - 1, bytes.len() / 2, 3] {
        fs_err::write(&half, &bytes[..end]).expect("writes");
        let said = home.helenus(&["load", &half, "--into", "c:s.every"]);
        error(&said, 2, "half.parquet");
    }
    // A line of 17 MiB, a NUL, bytes that are no text, and half a row at the end.
    let mut text = b"country,n,city\nA,1,x\nB,2,".to_vec();
    text.resize(text.len() + (17 << 20), b'y');
    text.extend(b"\nC,3,\0\nD,4,\xff\nE,5,z\nF,6");
    let long = at("long.csv");
    fs_err::write(&long, text).expect("writes");
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    let said = home.helenus(&["load", &long, "--into", "c:s.big", "--format", "json"]);
    assert_eq!(said.code, 1, "{said}");
    let loaded = said.json();
    assert_eq!(
        (&loaded["rows_written"], &loaded["rows_rejected"]),
        (&2.into(), &4.into()),
        "{loaded}"
    );
    assert_eq!(loaded["proof"]["equal"], true, "{loaded}");
    let rejected = fs_err::read_to_string(format!("{long}.rejected")).expect("rejected rows");
    for why in [
        "3,\"\",a record of more than 16 MiB",
        "4,$3,a NUL",
        "5,$3,not UTF-8",
        "7,\"\",\"2 fields",
    ] {
        assert!(rejected.lines().any(|line| line.starts_with(why)), "{why}");
    }
}

/// Unloads that are split and killed, and a proof by a sample, of `s.big` of cluster `c`, which holds [`ROWS`] rows.
pub(crate) fn unloads(home: &Home, folder: &Path) {
    let rows = ROWS / 3;
    let big = &big(folder, "third.csv", rows);
    let load = [
        "load", big, "--into", "c:s.big", "--via", "cql", "--verify", "sample", "--format", "json",
    ];
    // The table has rows that this file has not.
    let said = home.helenus(&load);
    assert_eq!(said.code, 1, "{said}");
    let proof = &said.json()["proof"];
    assert_eq!(proof["equal"], false, "{said}");
    assert!(proof["sample"]["share"].as_f64() < Some(0.1), "{said}");
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    let loaded = home.helenus(&load).ok().json();
    let sample = &loaded["proof"]["sample"];
    assert_eq!(loaded["proof"]["equal"], true, "{loaded}");
    assert!(sample["partitions"].as_u64() > Some(1), "{loaded}");
    assert!(
        loaded["proof"]["table_rows"].as_u64() < Some(u64::from(rows) / 2),
        "{loaded}"
    );
    let out = folder.join("out");
    fs_err::create_dir_all(&out).expect("a folder");
    let file = out.join("big.csv.zst").display().to_string();
    let unload = [
        "unload",
        "s.big",
        "--cluster",
        "c",
        "-o",
        &file,
        "--split",
        "3",
        // Under way still when it is killed, on a busy machine too.
        "--rate",
        "5k",
        "--format",
        "json",
    ];
    let journal = out.join("big.csv.zst.unload");
    let mut lines = 0;
    for _ in 0..2 {
        let mut child = home.start(&unload);
        // Until it has written more than it had.
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            let text = fs_err::read_to_string(&journal).unwrap_or_default();
            if text.lines().count() > lines.max(1) {
                lines = text.lines().count();
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ended_already = child.kill();
        child.wait().expect("its end");
    }
    let folder = out.display().to_string();
    let said = home.helenus(&["load", &folder, "--into", "c:s.big"]);
    error(&said, 2, "unload that has not ended");
    let fast: Vec<&str> = unload
        .iter()
        .copied()
        .filter(|word| !["--rate", "5k"].contains(word))
        .collect();
    let unloaded = home.helenus(&fast).ok().json();
    assert!(unloaded["resumed_rows"].as_u64() > Some(0), "{unloaded}");
    assert_eq!(unloaded["rows"], rows, "{unloaded}");
    error(&home.helenus(&fast), 2, "already exists");
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    let again = home.helenus(&["load", &folder, "--into", "c:s.big", "--format", "json"]);
    let again = again.ok().json();
    assert_eq!(again["files"].as_array().map(Vec::len), Some(3), "{again}");
    assert_eq!(
        again["proof"]["file_checksum"], unloaded["checksum"],
        "{again}"
    );
    assert_eq!(
        (&again["rows_read"], &again["proof"]["equal_keys"]),
        (&rows.into(), &0.into()),
        "{again}"
    );
}

/// Mounts a small file system; one that cannot is reported, and full disks are left out there.
fn mounted(folder: &Path, words: &str) -> bool {
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", words, "helenus-test"])
        .arg(folder);
    let done = mount.status().is_ok_and(|status| status.success());
    if !done {
        let lacking = crate::not_run("full disks: mounting a tmpfs needs root");
        lacking.expect("all is run");
    }
    done
}

/// A disk that is full: under the file of rejected rows, and under journal, runs and SSTables.
pub(crate) fn full_disks(home: &Home, folder: &Path, big: &str) {
    let small = folder.join("small");
    fs_err::create_dir_all(&small).expect("a folder");
    let loads = home.path().join("state/clusters/c/loads");
    if !mounted(&small, "size=64k") {
        return;
    }
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _mostly = Command::new("umount").arg(self.0).status();
        }
    }
    let held = Mounted(&small);
    let room = |folder: &Path, words: &str| assert!(mounted(folder, &format!("remount,{words}")));
    let mut text = "country,n,city\n".to_owned();
    for n in 0..2_000 {
        let _infallible = writeln!(text, "A,x{n},no number and some text that takes room {n}");
    }
    text.push_str("A,1,x\n");
    let bad = folder.join("bad_numbers.csv").display().to_string();
    fs_err::write(&bad, text).expect("writes");
    let rejected = small.join("rejected").display().to_string();
    let words = [
        "load",
        &bad,
        "--into",
        "c:s.big",
        "--rejected",
        &rejected,
        "--max-rejected",
        "5000",
    ];
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    let said = home.helenus(&words);
    error(&said, 3, "No space left");
    assert!(said.stderr.contains("the same command resumes"), "{said}");
    room(&small, "size=4m");
    let loaded = home.helenus(&[&words[..], &["--format", "json"]].concat());
    assert_eq!(loaded.json()["rows_rejected"], 2_000, "{loaded}");
    let lines = fs_err::read_to_string(&rejected).expect("reads");
    assert_eq!(lines.lines().count(), 2_001);
    drop(held);

    // By SSTables: the runs first, then the SSTables.
    home.helenus(&["cqlsh", "c", "-e", "TRUNCATE s.big"]).ok();
    assert!(mounted(&loads, "size=256k"));
    let held = Mounted(&loads);
    let words = [
        "load", big, "--into", "c:s.big", "--via", "sstable", "--memory", "1M", "--format", "json",
    ];
    let said = home.helenus(&words);
    error(&said, 3, "No space left");
    let mut ended = None;
    for kib in (1..40).map(|step| step * 512) {
        room(&loads, &format!("size={kib}k"));
        let said = home.helenus(&words);
        if said.code == 0 {
            ended = Some(said.json());
            break;
        }
        error(&said, 3, "No space left");
    }
    let loaded = ended.expect("room enough at last");
    assert_eq!(loaded["proof"]["equal"], true, "{loaded}");
    assert!(loaded["resumed_after"].as_u64() > Some(0), "{loaded}");
    drop(held);
}

/// Waits until a load has written rows into a table, as its journal says.
fn wait_for_rows(journals: &Path, table: &str) {
    for _ in 0..3_000 {
        let files = fs_err::read_dir(journals).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs_err::read(file.path()).ok());
        let mut journals =
            texts.filter_map(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
        let writes = |journal: serde_json::Value| {
            journal["table"] == table && journal["place"]["offset"].as_u64() > Some(0)
        };
        if journals.any(writes) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no load has written a row");
}

/// A node dies in the midst of a load, and the only one comes back: what it forgot of what it had acknowledged is not hidden.
pub(crate) fn a_node_dies(home: &Home, (big, into): (&str, &str), node: &str, comes_back: bool) {
    let words = [
        "load",
        big,
        "--into",
        into,
        "--via",
        "cql",
        "--in-flight",
        "16",
        "--format",
        "json",
    ];
    let mut load = home.start(&words);
    let table = into.trim_start_matches("c:");
    wait_for_rows(&home.path().join("state/clusters/c/loads"), table);
    home.helenus(&["kill", "--force", node]).ok();
    // Whether a request was under way to that very node is chance: a quick one answers at once.
    let over = load.try_wait().expect("a child");
    assert!(
        over.is_none(),
        "the load had ended before the node: {over:?}"
    );
    if comes_back {
        std::thread::sleep(Duration::from_millis(1_000));
        home.helenus(&["start", "--force", node]).ok();
    }
    let ended = load.wait_with_output().expect("its end");
    let loaded: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("a result");
    let rows = loaded["rows_written"].as_u64();
    assert_eq!(rows, loaded["rows_read"].as_u64(), "{loaded}");
    // The only node was away: what it had not answered was sent again.
    assert!(
        !comes_back || loaded["repeated"].as_u64() > Some(0),
        "{loaded}"
    );
    let proof = &loaded["proof"];
    assert_eq!(ended.status.success(), proof["equal"] == true, "{loaded}");
    // Others have what the dead one forgets.
    assert!(comes_back || proof["equal"] == true, "{loaded}");
    if proof["equal"] == false {
        assert!(proof["table_rows"].as_u64() < rows, "{loaded}");
        let again = home.helenus(&words).ok().json();
        assert_eq!(again["proof"]["equal"], true, "{again}");
    }
}

/// A file of rows for tables such as `s.big`.
pub(crate) fn big(folder: &Path, name: &str, rows: u32) -> String {
    let mut text = "country,n,city\n".to_owned();
    for n in 0..rows {
        let _infallible = writeln!(text, "C{},{n},\"town, {}\"", n % 300, n % 77);
    }
    let path = folder.join(name);
    fs_err::write(&path, text).expect("writes");
    path.display().to_string()
}
