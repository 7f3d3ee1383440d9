//! What it costs a node to be scraped: by Helenus' own page, and by the JMX exporter of Prometheus inside of the node.
//! Refuses a figure without the one of a node that nobody asks.

use super::super::rig::Life;
use super::{Lab, Sheet, Tried};
use serde_json::json;
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a node is watched.
const WINDOW: Duration = Duration::from_secs(40);
/// What a node does after its start is over by then.
const SETTLES: Duration = Duration::from_secs(15);
/// How often it is scraped.
const EVERY: Duration = Duration::from_secs(1);
/// The exporter, by its coordinates.
const EXPORTER: &str = "io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1";

/// Ends a child with the part.
struct Leashed(Child);

impl Drop for Leashed {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

pub(super) fn cost(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.helenus(&["rm", "--all"])?;
    let folder = tempfile::tempdir()?;
    let jar = exporter(folder.path())?;
    let file = folder.path().join("exporter.yml");
    fs_err::write(&file, "rules:\n  - pattern: '.*'\n")?;
    let bare = node(lab, &[])?;
    let nobody = watched(bare.pid, None)?;
    let at = format!("{}:9095", bare.address);
    let served = Command::new(&lab.helenus)
        .args(["metrics", "c", "--listen", &at])
        .env("HELENUS_HOME", &lab.home)
        .env("HELENUS_CACHE", &lab.cache)
        .stdout(Stdio::null())
        .spawn()?;
    let served = Leashed(served);
    std::thread::sleep(Duration::from_secs(2));
    let own = watched(bare.pid, Some(&at))?;
    drop(served);
    lab.helenus(&["rm", "c"])?;
    let agent = format!("-javaagent:{}=9404:{}", jar.display(), file.display());
    let with_agent = node(lab, &["--jvm", &agent])?;
    let exported = watched(with_agent.pid, Some("127.0.0.1:9404"))?;
    lab.helenus(&["rm", "c"])?;
    sheet.write(&json!({"line": "cost", "window_s": WINDOW.as_secs(), "every_s": EVERY.as_secs(), "cpu_ms_per_s": {"nobody": nobody, "helenus": own, "exporter": exported}}))?;
    let said = format!(
        "ms of the node's CPU a second: nobody {nobody:.1}, helenus metrics {own:.1}, JMX exporter {exported:.1}"
    );
    sheet.found(
        "the page of helenus costs a node less CPU",
        own < exported,
        &said,
        None,
    )
}

fn exporter(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let status = Command::new("mvn")
        .args([
            "-q",
            "-B",
            "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
        ])
        .arg(format!("-Dartifact={EXPORTER}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .current_dir(folder)
        .stdin(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("mvn: {status}").into());
    }
    let mut entries = fs_err::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path());
    let jar = entries.find(|path| path.extension().is_some_and(|e| e == "jar"));
    jar.ok_or_else(|| "mvn delivered no jar".into())
}

/// A node that has settled.
struct Node {
    pid: u32,
    address: String,
}

fn node(lab: &Lab, more: &[&str]) -> Result<Node, Box<dyn Error>> {
    let words = ["up", "c", "--preset", "dev"];
    let (up, _) = lab.json(&[&words[..], more].concat())?;
    std::thread::sleep(SETTLES);
    let node = &up["nodes"][0];
    Ok(Node {
        pid: node["pid"].as_u64().ok_or("no process")?.try_into()?,
        address: node["address"].as_str().unwrap_or_default().to_owned(),
    })
}

/// CPU time of a process in milliseconds a second, while its page is read.
fn watched(pid: u32, at: Option<&str>) -> Result<f64, Box<dyn Error>> {
    let (begin, before) = (Instant::now(), Life::of(pid)?.cpu);
    while begin.elapsed() < WINDOW {
        if let Some(at) = at {
            scrape(at)?;
        }
        std::thread::sleep(EVERY);
    }
    let spent = Life::of(pid)?.cpu - before;
    Ok(spent * 1000.0 / begin.elapsed().as_secs_f64())
}

fn scrape(at: &str) -> Tried {
    let mut stream = TcpStream::connect(at)?;
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: {at}\r\n\r\n")?;
    let mut page = Vec::new();
    stream.read_to_end(&mut page)?;
    match page.starts_with(b"HTTP/1.1 200") || page.starts_with(b"HTTP/1.0 200") {
        true => Ok(()),
        false => Err(format!("{at} serves no page").into()),
    }
}
