//! A real Prometheus reads a run and its nodes, by the configuration that the binary prints.
//! Refuses to parse the page itself: what Prometheus has understood is asked of Prometheus.

use crate::home::Home;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Operations a second that the run offers.
const RATE: f64 = 200.0;

/// What this machine lacks, with its cure.
pub(crate) fn lacking() -> Option<String> {
    let output = Command::new("prometheus").arg("--version").output();
    (!output.is_ok_and(|o| o.status.success()))
        .then(|| "a Prometheus that reads metrics (apt install prometheus)".to_owned())
}

/// Ends when it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// A port below those that the system gives to connections: none of them may get it before it is used.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

fn prometheus(folder: &Path, config: &str) -> (Program, u16) {
    let file = folder.join("prometheus.yml");
    fs_err::write(&file, config).expect("a file");
    let port = free_port();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", file.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.join("data").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    (Program(child.expect("prometheus")), port)
}

/// The first value of a query's answer; none where it has none yet.
fn ask(port: u16, query: &str) -> Option<f64> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    let encoded: String = query.bytes().map(|b| format!("%{b:02X}")).collect();
    let line = format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: here\r\n\r\n");
    stream.write_all(line.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    let answer: serde_json::Value = serde_json::from_str(body).ok()?;
    answer["data"]["result"][0]["value"][1]
        .as_str()?
        .parse()
        .ok()
}

fn wait_for(port: u16, query: &str, holds: impl Fn(f64) -> bool) -> f64 {
    let begin = Instant::now();
    loop {
        let value = ask(port, query);
        match value.filter(|value| holds(*value)) {
            Some(value) => return value,
            None => assert!(begin.elapsed() < PATIENCE, "{query}: {value:?}"),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

pub(crate) fn prometheus_reads_a_run_and_its_nodes() {
    let home = Home::new();
    home.helenus(&["up", "c", "-n", "2"]).ok();
    let folder = tempfile::tempdir().expect("a folder");
    let (nodes, run) = (free_port(), free_port());
    let of = |port: u16| {
        let address = port.to_string();
        let printed = home
            .helenus(&["metrics", "--scrape", "--listen", &address])
            .ok();
        printed.stdout
    };
    // One configuration for both addresses.
    let config = of(nodes).replace("targets: [", &format!("targets: ['127.0.0.1:{run}', "));
    let (_prometheus, port) = prometheus(folder.path(), &config);
    let mut served = Program(home.start(&["metrics", "c", "--listen", &nodes.to_string()]));
    wait_for(port, "sum(helenus_node_up{cluster=\"c\"})", |up| up == 2.0);
    let rate = RATE.to_string();
    let at = run.to_string();
    let words = [
        "run",
        "standard1",
        "--cluster",
        "c",
        "--ops",
        "write=1",
        "--rate",
        &rate,
        "--warmup",
        "2s",
        "--duration",
        "25s",
        "--metrics",
        &at,
    ];
    let mut load = home.start(&words);
    let measured = "sum(rate(helenus_run_completed_total{window=\"measured\"}[10s]))";
    let seen = wait_for(port, measured, |rate| rate > RATE / 2.0);
    assert!(seen < RATE * 1.5, "{seen}");
    let p99 =
        "histogram_quantile(0.99, sum by (le) (rate(helenus_run_response_seconds_bucket[10s])))";
    let p99 = wait_for(port, p99, |p99| p99 > 0.0);
    assert!(p99 < 30.0, "{p99}");
    wait_for(
        port,
        "sum(rate(helenus_node_cpu_seconds_total[10s]))",
        |cpu| cpu > 0.0,
    );
    wait_for(
        port,
        "sum(helenus_node_memory_bytes{kind=\"anonymous\"})",
        |b| b > 1e8,
    );
    // A busy machine may disqualify its numbers.
    let code = load.wait().expect("its end").code();
    assert!(matches!(code, Some(0 | 5)), "{code:?}");
    home.helenus(&["kill", "c/node2"]).ok();
    let living = format!("sum(helenus_node_up{{instance=\"127.0.0.1:{nodes}\"}})");
    wait_for(port, &living, |up| up == 1.0);
    // Ctrl-C ends it.
    let pid = rustix::process::Pid::from_child(&served.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it lives");
    let ended = served.0.wait().expect("its end");
    assert_eq!(ended.code(), Some(0));
    home.clear();
}
