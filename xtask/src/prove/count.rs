//! `prove count`: 5,000,000 rows of document 003's kind on one tiny node, counted while writes go on elsewhere: by
//! `helenus count`, and by 32 Python processes that read partition by partition. Refuses a count that is not right.

use super::campaign::{Bar, Campaign, Measures, Outcome, by_name};
use super::host::Watch;
use super::rig::{Life, Rig, checked};
use super::start;
use helenus_cluster::reach;
use helenus_cql::client::Client;
use helenus_cql::codec::Consistency;
use helenus_model::cql::CqlValue;
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NAME: &str = "p";

/// Rows of the table.
const ROWS: u64 = 5_000_000;

/// Sizes of partitions, in turn: towns and cities.
const SIZES: [u64; 5] = [50, 100, 500, 2_000, 10_000];

/// Rows of one unlogged batch, all of one partition.
const OF_A_BATCH: u64 = 50;

/// Connections that load the table.
const LOADERS: u64 = 4;

/// Tries of a batch: a tiny node under a load is sometimes late.
const TRIES: usize = 20;

/// Operations a second that are written to another table meanwhile.
const ELSEWHERE: &str = "200";

/// What document 003's readers are written in.
const DRIVER: &str = "cassandra-driver==3.30.1";

const SCRIPT: &str = include_str!("count/by_partition.py");

const fn third(measure: &'static str, to: &'static str) -> Bar {
    Bar::ratio("helenus", to, measure, 0.3333)
}

pub(crate) const COUNT: Campaign = Campaign {
    name: "count",
    about: "5,000,000 rows on a tiny node counted while others write: `helenus count`, and 32 Python processes by partition",
    variants: &["helenus", "python", "python-kept"],
    bars: &[
        third("total_s", "python"),
        third("partitions_s", "python"),
        third("total_s", "python-kept").as_aim(),
        Bar::none("helenus", "wrong"),
        Bar::none("python", "wrong"),
        Bar::none("python-kept", "wrong"),
    ],
    prepare,
    trial,
};

/// Partitions with their rows: what every count must come to.
fn truth() -> Vec<u64> {
    let (mut sizes, mut left) = (Vec::new(), ROWS);
    while left > 0 {
        let size = SIZES[sizes.len() % SIZES.len()].min(left);
        sizes.push(size);
        left -= size;
    }
    sizes
}

/// The key of a partition, as the script makes it.
fn key(partition: u64) -> [String; 3] {
    [
        format!("country {}", partition % 200),
        format!("region {}", partition % 3000),
        format!("city {partition}"),
    ]
}

/// The table, written once a sitting, and the driver.
fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    start::prepare(rig)?;
    rig.clear()?;
    let python = python(rig);
    if !python.exists() {
        let folder = folder(rig);
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", DRIVER]))?;
    }
    fs_err::write(folder(rig).join("by_partition.py"), SCRIPT)?;
    rig.run(&["up", NAME, "--preset", "tiny"])?;
    println!("writing {ROWS} rows");
    load(rig)
}

fn folder(rig: &Rig) -> PathBuf {
    rig.root.join("target/prove/python")
}

fn python(rig: &Rig) -> PathBuf {
    folder(rig).join("bin/python")
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{}: {status}", command.get_program().to_string_lossy()).into())
}

fn connect(rig: &Rig) -> Result<Client, Box<dyn Error>> {
    let state = rig.context.clusters.load(NAME)?;
    Ok(reach::connect(
        &state,
        &state.plan.nodes[0],
        Duration::from_secs(60),
    )?)
}

fn load(rig: &Rig) -> Result<(), Box<dyn Error>> {
    let mut client = connect(rig)?;
    for cql in [
        "CREATE KEYSPACE ip2location WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE ip2location.hosts (country varchar, ip varchar, region varchar, city varchar, lati varchar, \
         longi varchar, izp varchar, timezone varchar, PRIMARY KEY ((country, region, city), ip))",
    ] {
        client.query(cql, Consistency::One)?;
    }
    let sizes = truth();
    std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..LOADERS)
            .map(|first| {
                let sizes = &sizes;
                let own = connect(rig).map_err(|error| error.to_string());
                scope.spawn(move || write(own?, sizes, first))
            })
            .collect();
        let ends: Result<Vec<()>, String> = loaders
            .into_iter()
            .map(|loader| {
                loader
                    .join()
                    .map_err(|_| "a loader has panicked".to_owned())?
            })
            .collect();
        ends.map(|_| ()).map_err(Into::into)
    })
}

/// Every so-manieth partition.
fn write(mut client: Client, sizes: &[u64], first: u64) -> Result<(), String> {
    let one = "INSERT INTO ip2location.hosts (country, region, city, ip, lati, longi, izp, timezone) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?); ";
    let each = usize::try_from(OF_A_BATCH).unwrap_or(1);
    let cql = format!("BEGIN UNLOGGED BATCH {} APPLY BATCH", one.repeat(each));
    let batch = client.prepare(&cql).map_err(|error| error.to_string())?;
    for partition in (first..sizes.len() as u64).step_by(usize::try_from(LOADERS).unwrap_or(1)) {
        let size = sizes[usize::try_from(partition).unwrap_or(0)];
        let [country, region, city] = key(partition);
        for from in (0..size).step_by(each) {
            let values: Vec<Option<CqlValue>> = (from..from + OF_A_BATCH)
                .flat_map(|row| {
                    let ip = format!(
                        "{}.{}.{}.{}",
                        partition >> 8,
                        partition & 255,
                        row >> 8,
                        row & 255
                    );
                    let place = [
                        format!("{:.4}", partition as f64 / 100.0),
                        format!("{:.4}", partition as f64 / 50.0),
                    ];
                    let [lati, longi] = place;
                    let izp = format!("{partition:05}");
                    [
                        country.clone(),
                        region.clone(),
                        city.clone(),
                        ip,
                        lati,
                        longi,
                        izp,
                        "+02:00".to_owned(),
                    ]
                })
                .map(|text| Some(CqlValue::Text(text)))
                .collect();
            let mut tries = 0;
            while let Err(error) = client.execute(&batch, &values, Consistency::One) {
                tries += 1;
                if tries > TRIES {
                    return Err(error.to_string());
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }
    Ok(())
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let list = rig.json(&["list"])?;
    let pid = list["clusters"][0]["nodes"][0]["pid"]
        .as_u64()
        .ok_or("the node does not run")?;
    let pid = u32::try_from(pid)?;
    let mut elsewhere = Elsewhere::begin(rig)?;
    // Its tables and its connections are made.
    std::thread::sleep(Duration::from_secs(5));
    let watch = Watch::begin()?;
    let before = Life::of(pid)?.cpu + children()?;
    let measures = match variant {
        "helenus" => ours(rig),
        "python" => theirs(rig, "each"),
        _ => theirs(rig, "kept"),
    };
    let own = Life::of(pid)?.cpu + children()? - before;
    let pressure = watch.end(own)?;
    elsewhere.end()?;
    Ok(Outcome {
        measures: measures?,
        pressure,
    })
}

/// CPU seconds of ended children and theirs.
pub(super) fn children() -> Result<f64, Box<dyn Error>> {
    Ok(Life::of(std::process::id())?.of_children)
}

/// A fixed rate of writes into another table of the same node.
struct Elsewhere(Child);

impl Elsewhere {
    fn begin(rig: &Rig) -> Result<Self, Box<dyn Error>> {
        let words = [
            "bench",
            "--cluster",
            NAME,
            "--phases",
            "write",
            "--rate",
            ELSEWHERE,
        ];
        let more = [
            "--duration",
            "1h",
            "--warmup",
            "0s",
            "--seed",
            "1",
            "--quiet",
        ];
        let mut command = rig.command(&[&words[..], &more].concat());
        Ok(Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?,
        ))
    }

    /// It must have gone on to the end.
    fn end(&mut self) -> Result<(), Box<dyn Error>> {
        if let Some(status) = self.0.try_wait()? {
            return Err(format!("the writes elsewhere ended: {status}").into());
        }
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn seconds(begin: Instant) -> f64 {
    (begin.elapsed().as_secs_f64() * 100.0).round() / 100.0
}

fn ours(rig: &Rig) -> Result<Measures, Box<dyn Error>> {
    let table = ["count", "ip2location.hosts", "--cluster", NAME];
    let begin = Instant::now();
    let report = rig.json(&table)?;
    let total = seconds(begin);
    let begin = Instant::now();
    let words = [&table[..], &["--by", "partition", "--all"]].concat();
    let output = checked(&words, rig.command(&words).output()?)?;
    let partitions = seconds(begin);
    let text = String::from_utf8(output.stdout)?;
    // country N,region N,city N,rows
    let found = text.lines().skip(1).filter_map(|line| {
        let (key, rows) = line.rsplit_once(',')?;
        Some((
            key.rsplit_once("city ")?.1.parse().ok()?,
            rows.parse().ok()?,
        ))
    });
    let missed = u64::from(report["rows"] != ROWS);
    let asked_again: u64 = troubles(&report);
    let wrong = missed + wrong(found);
    Ok(by_name([
        ("total_s", total),
        ("partitions_s", partitions),
        ("wrong", wrong as f64),
        ("asked_again", asked_again as f64),
    ]))
}

fn troubles(report: &Value) -> u64 {
    let troubles = report["troubles"].as_object().into_iter().flatten();
    troubles.filter_map(|(_, times)| times.as_u64()).sum()
}

fn theirs(rig: &Rig, how: &str) -> Result<Measures, Box<dyn Error>> {
    let state = rig.context.clusters.load(NAME)?;
    let address = state.plan.nodes[0].address.to_string();
    let begin = Instant::now();
    let output = Command::new(python(rig))
        .arg(folder(rig).join("by_partition.py"))
        .args([
            address,
            state.plan.ports.cql.to_string(),
            truth().len().to_string(),
        ])
        .arg(how)
        .stdin(Stdio::null())
        .output()?;
    let took = seconds(begin);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = said.lines().rev().take(3).collect();
        return Err(format!("python: {}: {}", output.status, last.join(" | ")).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let found = text.lines().filter_map(|line| {
        let (partition, rows) = line.split_once(' ')?;
        Some((partition.parse().ok()?, rows.parse().ok()?))
    });
    // The sum of the partitions is the total.
    Ok(by_name([
        ("total_s", took),
        ("partitions_s", took),
        ("wrong", wrong(found) as f64),
    ]))
}

/// Partitions that are not printed, printed twice, or printed with another number of rows.
fn wrong(found: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut printed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (partition, rows) in found {
        printed.entry(partition).or_default().push(rows);
    }
    let truth = truth();
    let mut wrong = 0;
    for (partition, rows) in truth.iter().enumerate() {
        let right = printed
            .remove(&(partition as u64))
            .is_some_and(|counts| counts == [*rows]);
        wrong += u64::from(!right);
    }
    wrong + printed.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_is_five_million_rows_and_errors_are_seen() {
        let truth = truth();
        assert_eq!(truth.iter().sum::<u64>(), ROWS);
        assert!(
            truth.iter().all(|size| size.is_multiple_of(OF_A_BATCH)),
            "batches are full"
        );
        let right = || (0..truth.len() as u64).zip(truth.iter().copied());
        assert_eq!(wrong(right()), 0);
        assert_eq!(wrong(right().skip(1)), 1);
        assert_eq!(wrong(right().chain([(0, truth[0])])), 1);
        assert_eq!(wrong(right().chain([(1_000_000, 1)])), 1);
        assert_eq!(key(3001), ["country 1", "region 1", "city 3001"]);
    }
}
