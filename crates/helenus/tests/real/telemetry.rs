//! Runs with one fault each, on real Cassandra: each shows its own doubt, and nothing disqualifying besides but what a
//! host that others use adds.
//! Refuses to say how large a fault's number is: that it is above its threshold is enough.

use crate::clusters::number;
use crate::home::{Home, Said};
use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;
use std::io::Read as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Longest wait for something that comes within a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// The one phase of a bench's report.
#[track_caller]
fn phase(said: &Said) -> Value {
    let phases = said.json()["result"]["phases"].clone();
    assert_eq!(phases.as_array().map(Vec::len), Some(1), "{said}");
    phases[0].clone()
}

/// The doubt of this kind, if it was raised.
fn doubt<'a>(phase: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut doubts = phase["doubts"].as_array().expect("doubts").iter();
    doubts.find(|d| d["kind"] == kind)
}

/// Disqualifying doubts that a host whose processors others use earns for any run.
const OF_THE_HOST: [&str; 2] = ["generator_late", "generator_saturated"];

/// Nothing disqualifies this phase but the host.
#[track_caller]
fn disqualified_by_nothing_but_the_host(phase: &Value) {
    for doubt in phase["doubts"].as_array().expect("doubts") {
        let host = OF_THE_HOST.iter().any(|kind| doubt["kind"] == *kind);
        assert!(host || doubt["severity"] == "caution", "{doubt} in {phase}");
    }
}

/// What a bench that was left running says at its end.
fn end(mut bench: Child) -> Said {
    let mut stdout = String::new();
    let mut pipe = bench.stdout.take().expect("a pipe");
    pipe.read_to_string(&mut stdout).expect("text");
    Said {
        code: bench.wait().expect("it ends").code().unwrap_or(-1),
        stdout,
        stderr: String::new(),
    }
}

pub(crate) fn a_short_run_says_so_and_carries_what_was_seen() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let words = "bench --cluster c --phases write --rate 300 --duration 2s --warmup 1s --trace 20 --format json";
    let said = home.helenus(&words.split(' ').collect::<Vec<_>>());
    let phase = phase(&said);
    assert!(doubt(&phase, "short").is_some(), "{phase}");
    disqualified_by_nothing_but_the_host(&phase);
    let around = &phase["around"];
    for key in [
        "nodes_cpu_us",
        "nodes_cpu_per_operation_us",
        "compaction_share",
        "collection_share",
        "collections",
        "generator_run_queue_share",
        "steal_share",
        "foreign_cpu_share",
        "nodes_written_bytes",
    ] {
        assert!(around[key].is_number(), "{key} in {around}");
    }
    assert!(number(&around["nodes_cpu_us"]) > 0.0, "{around}");
    let traced = &around["traces"]["operations"]["write"];
    let traces = number(&traced["traces"]) + number(&traced["incomplete"]);
    assert!((10.0..=20.0).contains(&traces), "{traced}");
    let (service, server) = (&traced["service_p50_us"], &traced["server_p50_us"]);
    assert!(
        number(service) > number(server) && number(server) > 0.0,
        "{traced}"
    );
    let steps = traced["steps"].as_array().expect("steps");
    let shares: f64 = steps.iter().map(|step| number(&step["share"])).sum();
    assert!((0.5..=1.001).contains(&shares), "{traced}");
    assert_eq!(traced["slowest"][0]["coordinator"], "node1", "{traced}");
    servers_and_client_agree(&home);
    // The archive is still mapped beside the log of collections.
    let listed = home.helenus(&["list", "--format", "json"]).ok().json();
    let node = &listed["clusters"][0]["nodes"][0];
    assert_eq!(node["archive_used"], true, "{listed}");
    let log = home.path().join("state/clusters/c/node1/logs/gc.log");
    let log = fs_err::read_to_string(log).expect("a log of collections");
    assert!(log.starts_with('[') && log.contains("ns]["), "{log}");
}

/// The nodes count what the client counts, and no request is in them for longer than the client waits for it.
fn servers_and_client_agree(home: &Home) {
    // Long beside the moment by which a busy machine may read the timers late.
    let words = "bench --cluster c --phases write,read --rate 400 --duration 8s --warmup 1s --server-times --format json";
    let said = home.helenus(&words.split(' ').collect::<Vec<_>>());
    for (place, scope) in ["write", "read"].into_iter().enumerate() {
        let phase = &said.json()["result"]["phases"][place];
        let times = &phase["around"]["server_times"];
        let service = &phase["total"]["service"];
        let (coordinator, replica) = (
            &times["all"][scope],
            &times["all"][format!("local_{scope}")],
        );
        let near = |counted: &Value| {
            let share = number(counted) / number(&phase["total"]["completed"]);
            assert!((0.98..=1.02).contains(&share), "{share} in {times}, {said}");
        };
        near(&times["coordinated"]);
        near(&coordinator["count"]);
        near(&replica["count"]);
        assert!(number(&times["all"]["queue"]["count"]) > 0.0, "{times}");
        let means = [service, coordinator, replica].map(|one| number(&one["mean_us"]));
        assert!(means.is_sorted_by(|a, b| a > b), "{means:?} in {times}");
        // The bound of a bucket is at most 20 % above what is in it.
        let (inner, outer) = (number(&coordinator["p50_us"]), number(&service["p50_us"]));
        assert!(inner <= outer * 1.2, "{inner}, {outer} in {times}");
        assert_eq!(times["nodes"]["node1"], times["all"], "{times}");
    }
}

pub(crate) fn a_gc_bound_node_is_named() {
    let home = Home::new();
    // The least heap there is, and half of it young: what lives does not fit beside it. Measured: 14 % of the time at
    // 600/s, 32 % at 1,200/s; at 2,000/s the node dies.
    let words = "bench --preset tiny --heap 48M --new-heap 20M --phases write --rate 900 --in-flight 256 \
                 --duration 6s --warmup 2s --set memtable_allocation_type=heap_buffers --format json";
    let said = home.helenus(&words.split_whitespace().collect::<Vec<_>>());
    let phase = phase(&said);
    let Some(collection) = doubt(&phase, "collection") else {
        panic!("no doubt about collections: {phase}");
    };
    assert_eq!(collection["about"], "node1", "{phase}");
    assert_eq!(collection["measured"], phase["around"]["collection_share"]);
    assert!(number(&phase["around"]["collections"]) > 1.0, "{phase}");
    disqualified_by_nothing_but_the_host(&phase);
    assert!(doubt(&phase, "compaction").is_none(), "{phase}");
}

pub(crate) fn a_compacting_node_is_named() {
    let home = Home::new();
    // So slow that what a few seconds wrote is compacted for longer than the run is, on a slow machine too.
    let up = "up c --preset bench --set compaction_throughput=16KiB/s";
    home.helenus(&up.split(' ').collect::<Vec<_>>()).ok();
    let fill = "bench --cluster c --phases write --closed --duration 3s --warmup 0s";
    home.helenus(&fill.split(' ').collect::<Vec<_>>());
    home.helenus(&["nodetool", "c", "flush"]).ok();
    let mut storm = home.start(&["nodetool", "c", "compact"]);
    let run = "bench --cluster c --phases write --rate 500 --duration 4s --warmup 2s --format json";
    let said = home.helenus(&run.split(' ').collect::<Vec<_>>());
    storm.kill().expect("it lives or has ended");
    storm.wait().expect("it ends");
    let phase = phase(&said);
    let Some(compaction) = doubt(&phase, "compaction") else {
        panic!("no doubt about compactions: {phase}");
    };
    assert_eq!(compaction["about"], "node1", "{phase}");
    disqualified_by_nothing_but_the_host(&phase);
    assert!(doubt(&phase, "collection").is_none(), "{phase}");
}

/// Ordinary processes that keep one processor busy, and end with the value.
struct Spinners(Vec<Child>);

impl Spinners {
    fn on(cpu: &CpuSet) -> Self {
        let spin = || {
            let child = Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .expect("a shell");
            sched_setaffinity(Some(Pid::from_child(&child)), cpu).expect("a pinned process");
            child
        };
        // So many that a turn comes late, yet often enough for all operations to be sent.
        Self((0..12).map(|_| spin()).collect())
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _gone = child.kill();
            let _gone = child.wait();
        }
    }
}

/// The generator that this bench has started, once it is there.
fn generator_of(bench: &Child) -> Pid {
    let begin = Instant::now();
    loop {
        let children = format!("/proc/{0}/task/{0}/children", bench.id());
        let children = fs_err::read_to_string(children).unwrap_or_default();
        for child in children.split_whitespace() {
            let words = fs_err::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&words).contains("__load") {
                return Pid::from_raw(child.parse().expect("a number")).expect("a process");
            }
        }
        assert!(begin.elapsed() < PATIENCE, "no generator");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Holds the generator to that processor, as a process among others. It asks for priority when its phase begins, and
/// real-time priority (which it gets where that is allowed) would spare it: so that is taken from it again and again
/// until the warm-up must be over.
fn starve(generator: Pid, cpu: &CpuSet) {
    let pid = generator.as_raw_pid().to_string();
    for _ in 0..12 {
        sched_setaffinity(Some(generator), cpu).expect("a pinned process");
        let ordinary = Command::new("chrt")
            .args(["--other", "--pid", "0", &pid])
            .status();
        assert!(
            ordinary.is_ok_and(|status| status.success()),
            "chrt of util-linux"
        );
        setpriority_process(Some(generator), 0).expect("an ordinary priority");
        std::thread::sleep(Duration::from_millis(250));
    }
}

pub(crate) fn a_starved_generator_blames_itself() {
    let home = Home::new();
    // A heap that is seldom collected: what may be late is measured by the response times.
    home.helenus(&["up", "c", "--preset", "dev"]).ok();
    let all = sched_getaffinity(None).expect("processors");
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| all.is_set(*cpu));
    let mut cpu = CpuSet::new();
    cpu.set(last.expect("a processor"));
    let run = "bench --cluster c --phases write --rate 150 --duration 4s --warmup 3s --format json";
    let bench = home.start(&run.split(' ').collect::<Vec<_>>());
    let generator = generator_of(&bench);
    let spinners = Spinners::on(&cpu);
    starve(generator, &cpu);
    let said = end(bench);
    drop(spinners);
    let phase = phase(&said);
    // Late starts leave open what the response times are; a thread without CPU to spare spoils the run.
    let saturated = doubt(&phase, "generator_saturated").is_some();
    assert_eq!(said.code, if saturated { 5 } else { 0 }, "{said}");
    assert!(
        OF_THE_HOST.iter().any(|kind| doubt(&phase, kind).is_some()),
        "{phase}"
    );
    disqualified_by_nothing_but_the_host(&phase);
    for other in ["compaction", "collection"] {
        assert!(doubt(&phase, other).is_none(), "{phase}");
    }
}

pub(crate) fn a_profiled_node_shows_cassandra_s_frames() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let words = "run standard1 --cluster c --ops write=1 --rate 300 --duration 5s --warmup 1s --flame --format json";
    let said = home.helenus(&words.split(' ').collect::<Vec<_>>());
    let phase = phase(&said);
    let profile = &phase["around"]["profiles"][0];
    assert_eq!(
        (&profile["node"], &profile["event"]),
        (&"node1".into(), &"cpu".into()),
        "{said}"
    );
    assert!(profile["samples"].as_u64() > Some(0), "{said}");
    // The measurement window, and nothing of the warm-up.
    let seconds = profile["seconds"].as_f64().expect("a length");
    assert!((4.5..5.9).contains(&seconds), "{seconds} s");
    assert!(doubt(&phase, "profiled").is_some(), "{said}");
    let stacks = home.path().join("stacks.txt");
    let file = stacks.to_str().expect("text");
    home.helenus(&["flame", "--run", "@last", "-o", file]).ok();
    let kept = fs_err::read_to_string(&stacks).expect("a file");
    assert!(kept.contains("org.apache.cassandra."), "{kept}");
    let said = home.helenus(&[
        "flame", "c", "--event", "wall", "--for", "1s", "-o", file, "--force",
    ]);
    said.ok();
    let waiting = fs_err::read_to_string(&stacks).expect("a file");
    assert!(waiting.contains("org.apache.cassandra."), "{waiting}");
}
