//! The parts of the campaign that ask whether something works: start and memory, load, backup, repair, killed parts, S3.
//! Refuses to call something equal or mended that was not read from the nodes themselves.

use super::super::rig::until;
use super::{Lab, NAME, Sheet, Tried};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Everything answers within this time, with a warm cache.
const UP_WITHIN: Duration = Duration::from_secs(240);
/// Most memory of three nodes with everything, and of one.
const THREE_NODES: u64 = 8_000_000_000;
const ONE_NODE: u64 = 4_000_000_000;
/// Rows before the backup, and rows that one replica misses.
const ROWS: u32 = 300;
const PLANTED: u32 = 100;

/// Programs are fetched, the archive is made: not part of a warm start.
fn warm(lab: &Lab) -> Tried {
    lab.helenus(&["releases", "fetch"])?;
    lab.helenus(&["stack", "up", "warm"])?;
    lab.helenus(&["stack", "rm", "warm"]).map(drop)
}

fn memory(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten();
    let words = parts.filter_map(|part| {
        let mib = part["memory_bytes"].as_u64()? >> 20;
        Some(format!("{} {mib} MiB", part["name"].as_str()?))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn came_up(sheet: &mut Sheet, lab: &Lab, words: &[&str], most: u64) -> Tried {
    let begin = Instant::now();
    let (up, code) = lab.json(words)?;
    let took = begin.elapsed();
    sheet.write(&json!({"line": "memory", "command": words.join(" "), "parts": up["parts"], "memory_bytes": up["memory_bytes"]}))?;
    let what = format!("helenus {}: everything answers", words.join(" "));
    sheet.found(&what, code == 0 && took < UP_WITHIN, "", Some(took))?;
    let bytes = up["memory_bytes"].as_u64().unwrap_or(u64::MAX);
    let what = format!("memory below {} GB", most / 1_000_000_000);
    let said = format!("{} MiB: {}", bytes >> 20, memory(&up["parts"]));
    sheet.found(&what, bytes < most, &said, None)
}

/// The stack that the parts after this one use.
fn there(lab: &Lab) -> Tried {
    lab.helenus(&["stack", "up", NAME, "-n", "3"]).map(drop)
}

pub(super) fn start(lab: &Lab, sheet: &mut Sheet) -> Tried {
    warm(lab)?;
    came_up(sheet, lab, &["stack", "up", NAME, "-n", "3"], THREE_NODES)?;
    let scraped = until(Duration::from_secs(30), Duration::from_millis(500), || {
        let up = jobs_up(lab).unwrap_or_default();
        let all = ["helenus", "prometheus", "reaper"]
            .iter()
            .all(|job| up.iter().any(|one| one == job));
        Ok(all.then_some(up))
    })?;
    let said = scraped.as_ref().map_or(String::new(), |up| up.join(", "));
    sheet.found("Prometheus has scraped all", scraped.is_some(), &said, None)
}

pub(super) fn small(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.helenus(&["rm", "--all"])?;
    came_up(sheet, lab, &["stack", "up", NAME], ONE_NODE)?;
    lab.helenus(&["stack", "rm", NAME]).map(drop)
}

pub(super) fn load(lab: &Lab, sheet: &mut Sheet) -> Tried {
    there(lab)?;
    let (status, _) = lab.json(&["stack", "status", NAME])?;
    let metrics = at(&status, "metrics")?.replace(":9095", ":9096");
    let duration = format!("{}m", lab.minutes);
    let begin = Instant::now();
    let (run, _) = lab.json(&[
        "run",
        "iot",
        "--cluster",
        NAME,
        "--ops",
        "insert=7,select_read=3",
        "--rate",
        "100",
        "--duration",
        &duration,
        "--metrics",
        &metrics,
    ])?;
    let phase = &run["result"]["phases"][0];
    let total = &phase["total"];
    sheet.write(&json!({"line": "run", "answer": run["answer"], "verdict": run["verdict"], "offered": total["offered"], "completed": total["completed"], "response": without_histogram(&total["response"]), "service": without_histogram(&total["service"]), "doubts": phase["doubts"], "achieved_per_s": phase["achieved_per_s"]}))?;
    let completed = total["completed"] == total["offered"] && total["offered"].as_u64() > Some(0);
    let what = format!("iot, 70 % writes, 100/s through the gateway for {duration}");
    let said = format!(
        "{} of {} completed; {}",
        total["completed"],
        total["offered"],
        run["answer"].as_str().unwrap_or_default()
    );
    sheet.found(&what, completed, &said, Some(begin.elapsed()))?;
    let (status, code) = lab.json(&["stack", "status", NAME])?;
    sheet.write(&json!({"line": "memory", "command": "after the load", "parts": status["parts"], "memory_bytes": status["memory_bytes"]}))?;
    let bytes = status["memory_bytes"].as_u64().unwrap_or(u64::MAX);
    let said = format!("{} MiB: {}", bytes >> 20, memory(&status["parts"]));
    sheet.found(
        "after the load all parts are up, below 8 GB",
        code == 0 && bytes < THREE_NODES,
        &said,
        None,
    )
}

fn without_histogram(times: &Value) -> Value {
    let mut times = times.clone();
    if let Some(map) = times.as_object_mut() {
        map.remove("histogram");
    }
    times
}

fn insert(from: u32, count: u32) -> String {
    let rows = (from..from + count)
        .map(|k| format!("INSERT INTO proof.t (k, v) VALUES ({k}, 'value {k}');"));
    rows.collect()
}

/// A keyspace of three replicas with rows.
fn fill(lab: &Lab, target: &str, replicas: u32) -> Tried {
    let schema = format!(
        "CREATE KEYSPACE IF NOT EXISTS proof WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': {replicas}}}; \
         CREATE TABLE IF NOT EXISTS proof.t (k int PRIMARY KEY, v text) WITH read_repair = 'NONE'; \
         CREATE TABLE IF NOT EXISTS proof.dropped (k int PRIMARY KEY, v text)"
    );
    lab.cql(target, &schema)?;
    lab.cql(target, &insert(0, ROWS))?;
    lab.cql(target, "INSERT INTO proof.dropped (k, v) VALUES (1, 'a'); INSERT INTO proof.dropped (k, v) VALUES (2, 'b')")
        .map(drop)
}

pub(super) fn backup(lab: &Lab, sheet: &mut Sheet) -> Tried {
    there(lab)?;
    fill(lab, NAME, 3)?;
    saved_and_restored(lab, sheet, NAME)?;
    // Into a second cluster, which has never run.
    lab.helenus(&["up", "copy", "-n", "3", "--preset", "tiny", "--no-start"])?;
    let begin = Instant::now();
    let (restored, code) = lab.json(&["stack", "restore", NAME, "b1", "--into", "copy"])?;
    let equal = code == 0 && restored["equal"] == true;
    sheet.found(
        "restored into a second cluster: equal checksums",
        equal,
        answer(&restored),
        Some(begin.elapsed()),
    )?;
    lab.helenus(&["rm", "copy"]).map(drop)
}

/// Saves a stack, deletes rows, drops a table, and brings both back.
fn saved_and_restored(lab: &Lab, sheet: &mut Sheet, name: &str) -> Tried {
    let begin = Instant::now();
    let (saved, code) = lab.json(&["stack", "backup", name, "--name", "b1"])?;
    sheet.found(
        "backup by Medusa",
        code == 0,
        answer(&saved),
        Some(begin.elapsed()),
    )?;
    let (verified, code) = lab.json(&["stack", "verify", name, "b1"])?;
    let said = format!("{}: {}", verified["medusa"], answer(&verified));
    sheet.found(
        "Medusa verifies it, tables are equal",
        code == 0,
        &said,
        None,
    )?;
    lab.cql(name, "DELETE FROM proof.t WHERE k = 1; DELETE FROM proof.t WHERE k = 2; DROP TABLE proof.dropped")?;
    let (verified, code) = lab.json(&["stack", "verify", name, "b1"])?;
    sheet.found(
        "rows deleted, a table dropped: verify says so",
        code == 1,
        answer(&verified),
        None,
    )?;
    let begin = Instant::now();
    let (restored, code) = lab.json(&["stack", "restore", name, "b1"])?;
    let equal = code == 0 && restored["equal"] == true;
    sheet.found(
        "restored with its schema: equal checksums",
        equal,
        answer(&restored),
        Some(begin.elapsed()),
    )
}

fn answer(value: &Value) -> &str {
    value["answer"].as_str().unwrap_or_default()
}

pub(super) fn s3(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.helenus(&["rm", "--all"])?;
    lab.helenus(&["stack", "up", "s3", "--s3", "--without", "reaper,metrics"])?;
    fill(lab, "s3", 1)?;
    saved_and_restored(lab, sheet, "s3")?;
    lab.helenus(&["stack", "rm", "s3"]).map(drop)
}

/// Rows that a replica has itself: read while the other two are down, for a coordinator may ask any of them.
fn rows_of(lab: &Lab, node: &str) -> Result<u64, Box<dyn Error>> {
    for other in ["node1", "node2", "node3"] {
        let target = format!("{NAME}/{other}");
        match other == node {
            true => lab.helenus(&["start", &target])?,
            false => lab.helenus(&["stop", &target])?,
        };
    }
    let target = format!("{NAME}/{node}");
    let text = lab.cql(&target, "CONSISTENCY ONE; SELECT count(*) FROM proof.t")?;
    let number = text.lines().find_map(|line| line.trim().parse().ok());
    number.ok_or_else(|| format!("no count in {text}").into())
}

pub(super) fn repair(lab: &Lab, sheet: &mut Sheet) -> Tried {
    there(lab)?;
    fill(lab, NAME, 3)?;
    for node in ["node1", "node2", "node3", "node4"] {
        lab.helenus(&["nodetool", &format!("{NAME}/{node}"), "disablehandoff"])?;
    }
    lab.helenus(&["kill", &format!("{NAME}/node2")])?;
    lab.cql(&format!("{NAME}/node1"), &insert(ROWS, PLANTED))?;
    let (poor, rich) = (rows_of(lab, "node2")?, rows_of(lab, "node1")?);
    let planted = poor + u64::from(PLANTED) == rich;
    let said = format!("node2 has {poor} rows, node1 {rich}");
    sheet.found(
        "one replica misses rows, without hints",
        planted,
        &said,
        None,
    )?;
    there(lab)?;
    let begin = Instant::now();
    let (run, code) = lab.json(&["stack", "repair", NAME, "--keyspace", "proof", "--watch"])?;
    sheet.found(
        "Reaper's repair ends",
        code == 0,
        answer(&run),
        Some(begin.elapsed()),
    )?;
    let mended = rows_of(lab, "node2")?;
    let said = format!("node2 has {mended} rows");
    sheet.found(
        "it mended the planted differences",
        mended == rich,
        &said,
        None,
    )?;
    there(lab)
}

pub(super) fn killed(lab: &Lab, sheet: &mut Sheet) -> Tried {
    there(lab)?;
    for part in ["reaper", "prometheus", "metrics", "node3", "node4"] {
        let (status, _) = lab.json(&["stack", "status", NAME])?;
        let pid = of(&status, part)?["pid"].as_i64().ok_or("no process")?;
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid)?).ok_or("no process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
        std::thread::sleep(Duration::from_millis(500));
        let (status, code) = lab.json(&["stack", "status", NAME])?;
        let named = code == 1 && of(&status, part)?["state"] == "down";
        let begin = Instant::now();
        let (up, code) = lab.json(&["stack", "up", NAME])?;
        let back = code == 0 && up["well"] == true;
        let what = format!("{part} killed: status names it, up restarts it");
        sheet.found(&what, named && back, answer(&status), Some(begin.elapsed()))?;
    }
    Ok(())
}

fn of<'a>(status: &'a Value, part: &str) -> Result<&'a Value, Box<dyn Error>> {
    let mut parts = status["parts"].as_array().into_iter().flatten();
    let found = parts.find(|one| one["name"] == part);
    found.ok_or_else(|| format!("status has no {part}").into())
}

/// The host and port of a part's page.
fn at(status: &Value, part: &str) -> Result<String, Box<dyn Error>> {
    let url = of(status, part)?["at"].as_str().unwrap_or_default();
    let host = url.trim_start_matches("http://").split('/').next();
    Ok(host.unwrap_or_default().to_owned())
}

/// The jobs that Prometheus scrapes with success.
fn jobs_up(lab: &Lab) -> Result<Vec<String>, Box<dyn Error>> {
    let (status, _) = lab.json(&["stack", "status", NAME])?;
    let at = at(&status, "prometheus")?;
    let mut stream = TcpStream::connect(&at)?;
    write!(
        stream,
        "GET /api/v1/query?query=up==1 HTTP/1.0\r\nHost: {at}\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let answer: Value = serde_json::from_str(body)?;
    let found = answer["data"]["result"].as_array().into_iter().flatten();
    let jobs = found.filter_map(|one| one["metric"]["job"].as_str());
    Ok(jobs.map(str::to_owned).collect())
}

/// Command lines of processes that still speak of the campaign's folder.
pub(super) fn processes(lab: &Lab) -> Result<Vec<String>, Box<dyn Error>> {
    let home = lab.home.to_string_lossy().into_owned();
    let mut left = Vec::new();
    for entry in fs_err::read_dir("/proc")?.flatten() {
        let line = fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&home) {
            left.push(line);
        }
    }
    Ok(left)
}
