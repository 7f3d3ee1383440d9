//! Many rows of address ranges as SSTables: memory throughout, the rate of each tenth, what lies on the disk meanwhile.
//! Refuses a mean: what slows down as files grow is seen in its tenths only.

use super::super::findings::Sheet;
use super::super::rig::{Rig, memory_of};
use super::{CREATE, Ends, MAPPED, NAME, SEED, ended, ranges};
use fs_err as fs;
use helenus_model::units::grouped;
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Between two looks at a load.
const LOOKS_EVERY: Duration = Duration::from_millis(200);
/// Between two lines of the raw file.
const LINES_EVERY: f64 = 5.0;
/// Most memory of the loader.
const MEMORY_MIB: f64 = 512.0;
/// The last tenth's rate against the first's.
const AS_QUICK: f64 = 0.8;
/// What is left free on the disk, whatever comes.
const FREE_BYTES: u64 = 15 << 30;

/// One look at a load.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    at_s: f64,
    /// Rows that were read into runs.
    rows: u64,
    /// Bytes of sorted runs, and of SSTables that are being written.
    runs: u64,
    sstables: u64,
    resident_mib: f64,
    free: u64,
}

/// Loads so many rows, and says what it needed.
pub(crate) fn many(rig: &Rig, sheet: &mut Sheet, rows: u64) -> Result<(), Box<dyn Error>> {
    let folder = rig.trial_folder()?;
    let file = folder.join("ranges.csv");
    let number = write(&file, rows)?;
    rig.run(&["up", NAME, "--preset", "bench"])?;
    for statement in [
        "CREATE KEYSPACE ip2location WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        CREATE,
    ] {
        rig.run(&["cql", NAME, "-e", statement])?;
    }
    let cluster = rig.context.clusters.folder(NAME);
    let ranges = file.display().to_string();
    let mut words = vec!["load", &ranges, "--into", "p:ip2location.hosts"];
    // The last two words say how it is verified.
    words.extend(&MAPPED[..MAPPED.len() - 2]);
    words.extend(["--via", "sstable", "--verify", "sample", "--format", "json"]);
    let said = folder.join("load.json");
    let begin = Instant::now();
    let child = rig
        .command(&words)
        .stdout(fs::File::create(&said)?.into_parts().0)
        .stderr(Stdio::inherit())
        .spawn()?;
    let mut child = Ends(child);
    let mut looks: Vec<Look> = Vec::new();
    let (mut peak_mib, mut written_s) = (0.0, -LINES_EVERY);
    while !ended(&child.0)? {
        peak_mib = memory_of("VmHWM:", child.0.id()).unwrap_or(peak_mib);
        let look = look(&cluster, child.0.id(), begin.elapsed().as_secs_f64());
        if look.free > 0 && look.free < FREE_BYTES {
            return Err(format!("only {} bytes are free", look.free).into());
        }
        if look.at_s - written_s >= LINES_EVERY {
            written_s = look.at_s;
            sheet.write(&json!({"line": "look", "at_s": look.at_s, "rows": look.rows, "runs_bytes": look.runs,
                "sstables_bytes": look.sstables, "resident_mib": look.resident_mib, "free_bytes": look.free}))?;
        }
        looks.push(look);
        std::thread::sleep(LOOKS_EVERY);
    }
    let wall_s = begin.elapsed().as_secs_f64();
    let status = child.0.wait()?;
    let loaded: Value = serde_json::from_slice(&fs::read(&said)?)
        .map_err(|error| format!("helenus load: {status}: {error}"))?;
    let (ranges_n, rows_n) = (grouped(&number.to_string()), grouped(&rows.to_string()));
    sheet.write(&json!({"line": "many", "ranges": number, "rows": rows, "wall_s": wall_s, "loaded": loaded}))?;
    judge(sheet, &loaded, &looks, (rows, peak_mib))?;
    let disk = looks.iter().map(|look| look.runs + look.sstables).max();
    let data = loaded["sstables"]["data_bytes"]
        .as_u64()
        .unwrap_or_default();
    let said = format!(
        "{rows_n} rows of {ranges_n} ranges in {wall_s:.0} s with the proof; at most {} MiB of runs and SSTables at once, {} MiB of data",
        disk.unwrap_or_default() >> 20,
        data >> 20
    );
    sheet.found("many: the load ends well", status.success(), &said, None)
}

/// The file of ranges; answers how many.
fn write(path: &Path, rows: u64) -> Result<u64, Box<dyn Error>> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    let mut number = 0;
    for range in ranges::ranges(SEED, rows) {
        range.line(&mut file)?;
        number += 1;
    }
    file.flush()?;
    Ok(number)
}

fn judge(
    sheet: &mut Sheet,
    loaded: &Value,
    looks: &[Look],
    (rows, peak_mib): (u64, f64),
) -> Result<(), Box<dyn Error>> {
    let tables = &loaded["sstables"];
    let distinct = tables["distinct_rows"].as_u64();
    let equal = loaded["proof"]["equal"] == true;
    let said = format!(
        "{} rows, proof {}",
        tables["distinct_rows"], loaded["proof"]
    );
    let all = distinct == Some(rows) && equal;
    sheet.found("many: all rows are there", all, &said, None)?;
    let said = format!("{peak_mib:.0} MiB at most");
    let holds = peak_mib > 0.0 && peak_mib < MEMORY_MIB;
    sheet.found(
        "many: memory of the loader below 512 MiB",
        holds,
        &said,
        None,
    )?;
    let seconds = |name: &str| tables[name].as_f64().unwrap_or_default();
    let (sorting, writing) = (seconds("sorting_s"), seconds("writing_s"));
    let importing = seconds("importing_s");
    let rate = rows as f64 / (sorting + writing + importing);
    let said = format!(
        "{rate:.0} rows a second: sorted in {sorting:.0} s, written in {writing:.0} s, imported in {importing:.0} s"
    );
    sheet.found("many: rate", rate > 0.0, &said, None)?;
    type Amount = fn(&Look) -> u64;
    // The rows that never were on disk count at the very end: what was read is known until the first SSTable.
    let sorted = looks.iter().position(|look| look.sstables > 0);
    let sorted = &looks[..sorted.unwrap_or(looks.len())];
    let stages: [(&str, &[Look], Amount); 2] = [
        ("read and sorted", sorted, |look| look.rows),
        ("written", looks, |look| look.sstables),
    ];
    for (stage, looks, amount) in stages {
        let points: Vec<(f64, u64)> = looks.iter().map(|look| (look.at_s, amount(look))).collect();
        let tenths = tenths(&points);
        sheet.write(&json!({"line": "tenths", "stage": stage, "seconds": tenths}))?;
        let (first, last) = (tenths[0], tenths[9]);
        let shown: Vec<String> = tenths.iter().map(|s| format!("{s:.1}")).collect();
        let said = format!(
            "last/first {:.2}; seconds of each: {}",
            first / last,
            shown.join(", ")
        );
        let what = format!("many: {stage}, the last tenth at 0.8 of the first's rate");
        sheet.found(&what, last > 0.0 && first / last >= AS_QUICK, &said, None)?;
    }
    Ok(())
}

/// Seconds that each tenth of the largest amount took, between the looks as a straight line.
fn tenths(points: &[(f64, u64)]) -> [f64; 10] {
    let most = points.iter().map(|(_, amount)| *amount).max().unwrap_or(0);
    // From the last look at which there was nothing.
    let first = points.iter().position(|(_, amount)| *amount > 0);
    let points = &points[first.unwrap_or(0).saturating_sub(1)..];
    let when = |share: f64| -> f64 {
        let wanted = most as f64 * share;
        let at = points
            .iter()
            .position(|(_, amount)| *amount as f64 >= wanted);
        let Some(at) = at else { return 0.0 };
        let (to_s, to) = points[at];
        let (from_s, from) = points[at.saturating_sub(1)];
        let way = (to as f64 - from as f64).max(f64::EPSILON);
        from_s + (to_s - from_s) * ((wanted - from as f64) / way).clamp(0.0, 1.0)
    };
    std::array::from_fn(|n| when((n + 1) as f64 / 10.0) - when(n as f64 / 10.0))
}

fn look(cluster: &Path, pid: u32, at_s: f64) -> Look {
    let mut look = Look {
        at_s,
        resident_mib: memory_of("VmRSS:", pid).unwrap_or_default(),
        free: rustix::fs::statvfs(cluster).map_or(0, |disk| disk.f_bavail * disk.f_frsize),
        ..Look::default()
    };
    let mut folders = vec![cluster.join("loads")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = entry.metadata().map_or(0, |meta| meta.len());
            match name.as_str() {
                _ if name.starts_with("run") => look.runs += bytes,
                _ if name.ends_with("Data.db") => look.sstables += bytes,
                _ if name.ends_with(".json") => look.rows = rows_of(&path).unwrap_or(look.rows),
                _ => {}
            }
        }
    }
    look
}

/// Rows that the journal of a load knows to be in runs.
fn rows_of(path: &PathBuf) -> Option<u64> {
    let journal: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    journal["place"]["rows"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_are_cut_between_looks() {
        let even: Vec<(f64, u64)> = (0..=20)
            .map(|n| (f64::from(n), u64::from(n as u32) * 5))
            .collect();
        for tenth in tenths(&even) {
            assert!((tenth - 2.0).abs() < 1e-9, "{tenth}");
        }
        // Nothing for ten seconds, then a half in five seconds and a half in fifteen.
        let slows = [(0.0, 0), (10.0, 0), (15.0, 50), (30.0, 100)];
        let tenths = tenths(&slows);
        assert!((tenths[0] - 1.0).abs() < 1e-9, "{tenths:?}");
        assert!((tenths[9] - 3.0).abs() < 1e-9, "{tenths:?}");
    }
}
