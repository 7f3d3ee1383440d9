//! `prove ingest`: the same rows of document 003's kind into a fresh table by DSBulk, by Cassandra's own writer with
//! `nodetool import`, and by `helenus load` in both ways, from the start of the command to queryable.
//! Refuses a load that lost a row: the table is counted after each, outside of its clock.

pub(crate) mod clients;
mod many;
mod ranges;
mod tools;

pub(crate) use many::many;

use super::campaign::{Bar, Campaign, Outcome, by_name, rounded};
use super::host::Watch;
use super::rig::{Life, Rig, memory_of};
use fs_err as fs;
use helenus_model::seed::Seed;
use helenus_model::units::grouped;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::error::Error;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NAME: &str = "p";
const KEYSPACE: &str = "ip2location";
const TABLE: &str = "hosts";

/// Rows, where the person does not say.
pub(crate) const ROWS: u64 = 10_000_000;

/// Seed of the file of ranges: the same for everybody.
const SEED: Seed = Seed(3);

/// How long a fresh node is loaded, into another table, before anything is measured.
const SETTLES: &[&str] = &[
    "bench",
    "--cluster",
    NAME,
    "--phases",
    "write",
    "--closed",
    "--warmup",
    "0s",
    "--duration",
    "12s",
];

const CREATE: &str = "CREATE TABLE ip2location.hosts (country text, region text, city text, ip text, lati text, \
                      longi text, zip text, timezone text, PRIMARY KEY ((country, region, city), ip))";

const INSERT: &str = "INSERT INTO ip2location.hosts (country, region, city, ip, lati, longi, zip, timezone) \
                      VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

/// From a file of ranges to rows of the table, as `helenus load` is asked for them.
const MAPPED: &[&str] = &[
    "--file-format",
    "ip2location-db11",
    "--expand",
    "ip: ipv4_range(ip_from, ip_to)",
    "--map",
    "country=country_code",
    "--map",
    "region=region_name",
    "--map",
    "city=city_name",
    "--map",
    "lati=latitude",
    "--map",
    "longi=longitude",
    "--map",
    "zip=zip_code",
    "--map",
    "timezone=time_zone",
    "--skip",
    "country_name",
    "--verify",
    "none",
];

const DSBULK: &str = "dsbulk";
const WRITER: &str = "cqlsstablewriter";
const CQL: &str = "load-cql";
const SSTABLE: &str = "load-sstable";

/// How often a loader is asked what memory it has used.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

pub(crate) const INGEST: Campaign = Campaign {
    name: "ingest",
    about: "rows of address ranges (--rows, 10,000,000) into a fresh table by DSBulk, CQLSSTableWriter and both ways of `helenus load`",
    variants: &[DSBULK, WRITER, CQL, SSTABLE],
    bars: &[
        times(SSTABLE, DSBULK, 20.0),
        times(SSTABLE, WRITER, 5.0),
        times(CQL, DSBULK, 3.0),
        Bar::none(DSBULK, "wrong"),
        Bar::none(WRITER, "wrong"),
        Bar::none(CQL, "wrong"),
        Bar::none(SSTABLE, "wrong"),
        Bar::median(SSTABLE, "us_a_row", 1.0).as_aim(),
    ],
    prepare,
    trial: |rig, variant| rig.alone(|| measure(rig, variant)),
};

/// A way that is at least so many times as quick as another one.
const fn times(variant: &'static str, to: &'static str, at_least: f64) -> Bar {
    Bar::ratio(variant, to, "us_a_row", 1.0 / at_least)
}

/// Why a variant cannot be measured with this binary, where it cannot.
pub(crate) fn lacks(rig: &Rig, variant: &str) -> Result<Option<String>, Box<dyn Error>> {
    Ok(match variant {
        SSTABLE if !knows_via(rig)? => {
            Some("helenus load has no --via sstable in this commit".to_owned())
        }
        _ => None,
    })
}

/// Whether `load` has a choice of ways; before that it writes by CQL.
fn knows_via(rig: &Rig) -> Result<bool, Box<dyn Error>> {
    let help = rig.run(&["load", "--help"])?;
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    Ok(help.contains("--via") && help.contains("sstable"))
}

fn rows(rig: &Rig) -> u64 {
    rig.rows.unwrap_or(ROWS)
}

/// The ranges, and the rows that they stand for with a header.
struct Files {
    ranges: PathBuf,
    expanded: PathBuf,
}

impl Files {
    fn of(rig: &Rig) -> Self {
        Self::rows(rig, rows(rig))
    }

    fn rows(rig: &Rig, rows: u64) -> Self {
        let folder = rig.root.join("target/prove/ingest");
        let named = |end: &str| folder.join(format!("{rows}-{end}.csv"));
        Self {
            ranges: named("ranges"),
            expanded: named("rows"),
        }
    }

    /// Writes them; unfinished files have other names.
    fn write(&self, rows: u64) -> Result<(), Box<dyn Error>> {
        if let Some(folder) = self.ranges.parent() {
            fs::create_dir_all(folder)?;
        }
        let open = |path: &Path| -> std::io::Result<BufWriter<fs::File>> {
            Ok(BufWriter::new(fs::File::create(
                path.with_extension("unfinished"),
            )?))
        };
        let (mut short, mut long) = (open(&self.ranges)?, open(&self.expanded)?);
        writeln!(long, "{}", ranges::HEADER)?;
        let mut number = 0;
        for range in ranges::ranges(SEED, rows) {
            range.line(&mut short)?;
            range.rows(&mut long)?;
            number += 1;
        }
        for (mut file, path) in [(short, &self.ranges), (long, &self.expanded)] {
            file.flush()?;
            fs::rename(path.with_extension("unfinished"), path)?;
        }
        println!(
            "{} rows of {} ranges",
            grouped(&rows.to_string()),
            grouped(&number.to_string())
        );
        Ok(())
    }
}

fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    rig.clear()?;
    tools::prepare(rig)?;
    Files::of(rig).write(rows(rig))
}

/// One load into a fresh table of a fresh node whose code is warm.
fn measure(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let ready = rig.json(&["up", NAME, "--preset", "bench"])?;
    let pid = ready["nodes"][0]["pid"].as_u64();
    let pid = u32::try_from(pid.ok_or("a node without a process")?)?;
    // Whatever this one is worth.
    let _settled = rig.command(SETTLES).output()?;
    for statement in [
        "CREATE KEYSPACE ip2location WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        CREATE,
    ] {
        rig.run(&["cql", NAME, "-e", statement])?;
    }
    let folder = rig.trial_folder()?;
    let watch = Watch::begin()?;
    let node = Life::of(pid)?.cpu;
    let steps = load(rig, variant, &folder)?;
    let node = Life::of(pid)?.cpu - node;
    let client: f64 = steps.iter().map(|(_, ran)| ran.cpu_s).sum();
    let pressure = watch.end(node + client)?;

    let report = rig.json(&["count", "ip2location.hosts", "--cluster", NAME])?;
    let counted = report["rows"].as_u64().ok_or("a count without rows")?;
    let rows = rows(rig);
    let wall: f64 = steps.iter().map(|(_, ran)| ran.wall_s).sum();
    let peak = steps.iter().map(|(_, ran)| ran.peak_mib);
    let each = |seconds: f64| rounded(seconds * 1e6 / rows as f64);
    let mut measures = by_name([
        ("wall_s", rounded(wall)),
        ("rows_per_s", (rows as f64 / wall).round()),
        ("us_a_row", each(wall)),
        ("client_cpu_us_a_row", each(client)),
        ("node_cpu_us_a_row", each(node)),
        ("peak_mib", peak.fold(0.0, f64::max)),
        ("rows", rows as f64),
        ("wrong", counted.abs_diff(rows) as f64),
    ]);
    if steps.len() > 1 {
        let parts = steps
            .iter()
            .map(|(step, ran)| (format!("{step}_s"), rounded(ran.wall_s)));
        measures.extend(parts);
    }
    Ok(Outcome { measures, pressure })
}

/// The commands of a variant, in their order, until its rows can be read.
fn load(
    rig: &Rig,
    variant: &str,
    folder: &Path,
) -> Result<Vec<(&'static str, Ran)>, Box<dyn Error>> {
    let files = Files::of(rig);
    let ran = |what, command: &mut Command| -> Result<_, Box<dyn Error>> {
        Ok((what, Ran::of(what, command, folder)?))
    };
    match variant {
        DSBULK => {
            let state = rig.context.clusters.load(NAME)?;
            let node = &state.plan.nodes[0];
            let mut command = tools::dsbulk(
                rig,
                (&node.address.to_string(), state.plan.ports.cql),
                &node.data_center,
                (KEYSPACE, TABLE),
                &files.expanded,
                &folder.join("logs"),
            );
            Ok(vec![ran("dsbulk", &mut command)?])
        }
        WRITER => {
            let tables = folder.join(KEYSPACE).join(TABLE);
            fs::create_dir_all(&tables)?;
            let configuration = rig.context.clusters.folder(NAME).join("node1/conf");
            let table = (CREATE, INSERT);
            let mut command = tools::writer(rig, &files.ranges, &tables, &configuration, table)?;
            let written = ran("write", &mut command)?;
            let tables = tables.display().to_string();
            let words = ["nodetool", NAME, "import", KEYSPACE, TABLE, &tables];
            Ok(vec![written, ran("import", &mut rig.command(&words))?])
        }
        _ => {
            let ranges = files.ranges.display().to_string();
            let mut words = vec!["load", &ranges, "--into", "p:ip2location.hosts"];
            words.extend(MAPPED);
            let way = if variant == SSTABLE { "sstable" } else { "cql" };
            if knows_via(rig)? {
                words.extend(["--via", way]);
            }
            Ok(vec![ran("load", &mut rig.command(&words))?])
        }
    }
}

/// What a command needed.
#[derive(Debug)]
struct Ran {
    wall_s: f64,
    /// Of the process and of the children that it waited for.
    cpu_s: f64,
    /// Most memory that was resident at once, of the process itself; of a helenus that starts a tool not the tool's.
    peak_mib: f64,
}

impl Ran {
    /// Runs a command to its end; what it prints is kept in the folder.
    fn of(what: &str, command: &mut Command, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let said = folder.join(format!("{what}.said"));
        let file = fs::File::create(&said)?.into_parts().0;
        let begin = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        let mut child = Ends(child);
        let mut peak_mib = 0.0;
        while !ended(&child.0)? {
            peak_mib = memory_of("VmHWM:", child.0.id()).unwrap_or(peak_mib);
            std::thread::sleep(LOOKS_EVERY);
        }
        let wall_s = begin.elapsed().as_secs_f64();
        let life = Life::of(child.0.id())?;
        let status = child.0.wait()?;
        if !status.success() {
            let text = fs::read_to_string(said)?;
            let last: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
            let last = &last[last.len().saturating_sub(8)..];
            return Err(format!("{what}: {status}: {}", last.join(" | ")).into());
        }
        Ok(Self {
            wall_s,
            cpu_s: life.cpu + life.of_children,
            peak_mib,
        })
    }
}

/// A child that does not outlive its trial.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Whether a child has ended; its figures can be read until it is waited for.
fn ended(child: &Child) -> Result<bool, Box<dyn Error>> {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), how)?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_measured_with_its_children_and_its_failure_has_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut busy = Command::new("sh");
        busy.args([
            "-c",
            "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'",
        ]);
        let ran = Ran::of("busy", &mut busy, folder.path()).unwrap();
        assert!(ran.cpu_s > 0.0, "{ran:?}");
        assert!(ran.peak_mib >= 1.0 && ran.wall_s > 0.0, "{ran:?}");
        let mut fails = Command::new("sh");
        fails.args(["-c", "echo no room >&2; exit 3"]);
        let said = Ran::of("fails", &mut fails, folder.path()).unwrap_err();
        assert!(said.to_string().contains("no room"), "{said}");
    }

    #[test]
    fn the_files_have_the_same_rows() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files {
            ranges: folder.path().join("ranges.csv"),
            expanded: folder.path().join("rows.csv"),
        };
        files.write(10_000).unwrap();
        let text = fs::read_to_string(&files.expanded).unwrap();
        assert_eq!(text.lines().count(), 10_001);
        let number = |field: &str| field.trim_matches('"').parse::<u64>().unwrap();
        let ranges = fs::read_to_string(&files.ranges).unwrap();
        let rows: u64 = ranges
            .lines()
            .map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                number(fields[1]) - number(fields[0]) + 1
            })
            .sum();
        assert_eq!(rows, 10_000);
    }
}
