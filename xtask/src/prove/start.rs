//! `prove start`: one node from the start of its process to the first reply, against the same release with its stock
//! settings and against the best-known public recipe. Refuses to compare what does not run on the same JDK and jars.

use super::campaign::{Bar, Campaign, Measures, Outcome};
use super::host::Watch;
use super::rig::{self, Rig};
use helenus_cluster::address::AddressError;
use helenus_cluster::alive;
use helenus_cluster::launch::log_tail;
use helenus_cluster::shim::{LAUNCH_FILE, Launch};
use helenus_model::plan::{ClusterPlan, Ports};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Patience with one start: stock waits for more than a minute by itself.
const WITHIN: Duration = Duration::from_secs(300);

const NAME: &str = "p";

pub(crate) const START: Campaign = Campaign {
    name: "start",
    about: "one tiny node, start of its process to the first reply, against stock and Testcontainers' flags",
    variants: &["helenus", "testcontainers", "stock"],
    bars: &[
        Bar::ratio("helenus", "stock", "wall_s", 1.0 / 15.0),
        Bar::ratio("helenus", "testcontainers", "wall_s", 0.5),
        Bar::ratio("helenus", "testcontainers", "cpu_s", 0.6),
        Bar::median("helenus", "wall_s", 1.5).as_aim(),
    ],
    prepare,
    trial,
};

/// The class-data archive is made before anything is timed.
pub(crate) fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    rig.clear()?;
    rig.run(&["up", NAME])?;
    let state = rig.context.clusters.load(NAME)?;
    rig.clear()?;
    match state.runtime.archive {
        Some(_) if state.runtime.java == rig.jdk.home.join("bin/java") => Ok(()),
        Some(_) => Err("helenus chose another JDK than this".into()),
        None => Err("no class-data archive could be made".into()),
    }
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    match variant {
        "helenus" => ours(rig),
        name => theirs(rig, name),
    }
}

/// The real launch path: `helenus up`, watched from outside.
pub(crate) fn ours(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let plan: ClusterPlan = serde_json::from_value(rig.json(&["up", NAME, "--dry-run"])?)?;
    let node = plan.nodes.first().ok_or("a plan without nodes")?;
    let address = SocketAddr::from((node.address, plan.ports.cql));
    let watch = Watch::begin()?;
    let mut up = rig.command(&["up", NAME, "--format", "json"]).spawn()?;
    let reply = rig::first_reply(address, WITHIN, || {
        // Once it has ended well the node answers, and the next knock finds that.
        let status = up.try_wait().ok().flatten().filter(|s| !s.success())?;
        Some(format!("helenus up ended: {status}"))
    });
    let holder = alive::holder(Path::new(&node.folder));
    let measured = reply.and_then(|reply| {
        let pid = holder?.ok_or("nobody holds the node's claim")?;
        let pid = pid.as_raw_pid().unsigned_abs();
        let mut measures = rig::measures_of(pid, reply)?;
        let pressure = watch.end(measures["cpu_s"])?;
        let archived = archive_is_mapped(pid, &rig.context.paths.cache)?;
        measures.insert("archive".into(), f64::from(u8::from(archived)));
        Ok(Outcome { measures, pressure })
    });
    let output = rig::checked(&["up"], up.wait_with_output()?);
    rig.clear()?;
    let (outcome, output) = (measured?, output?);
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let answered = said["nodes"][0]["address"].as_str();
    if answered != Some(&node.address.to_string()) {
        return Err("the node came up at another address than planned".into());
    }
    if outcome.measures["archive"] < 1.0 {
        return Err("the class-data archive was not mapped".into());
    }
    Ok(outcome)
}

/// Whether a process maps an archive of ours.
fn archive_is_mapped(pid: u32, cache: &Path) -> Result<bool, Box<dyn Error>> {
    let maps = fs_err::read_to_string(format!("/proc/{pid}/maps"))?;
    let archives = cache.join("archives");
    Ok(maps
        .lines()
        .any(|line| line.contains(&*archives.to_string_lossy()) && line.ends_with(".jsa")))
}

/// A process that is killed and reaped, whatever happens.
struct Leashed(Child);

impl Drop for Leashed {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Plain `java` with the files of `benches/`, through the same shim as ours.
fn theirs(rig: &Rig, name: &str) -> Result<Outcome, Box<dyn Error>> {
    let folder = rig.trial_folder()?;
    let claimed = rig.context.claims.take(1, &folder, |claimed| {
        // A claim lasts as long as its owner's state names the address.
        let address = claimed.addresses[0];
        fs_err::write(folder.join("cluster.json"), format!("[\"{address}\"]"))
            .map_err(AddressError::from)
    })?;
    let address = claimed.addresses[0];
    let outcome = launch(rig, name, &folder, address, claimed.ports)
        .and_then(|launch| start(rig, &launch, address, claimed.ports));
    rig.context.claims.release(&folder)?;
    fs_err::remove_dir_all(&folder)?;
    outcome
}

fn start(
    rig: &Rig,
    launch: &Launch,
    address: Ipv4Addr,
    ports: Ports,
) -> Result<Outcome, Box<dyn Error>> {
    let folder = &launch.folder;
    let spec = folder.join(LAUNCH_FILE);
    fs_err::write(&spec, serde_json::to_vec(launch)?)?;
    let console = fs_err::File::create(folder.join("logs/console.log"))?
        .into_parts()
        .0;
    let watch = Watch::begin()?;
    let child = Command::new(&rig.helenus)
        .arg("__node")
        .arg(&spec)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console)
        .current_dir(folder)
        .spawn()?;
    let mut child = Leashed(child);
    let reply = rig::first_reply(SocketAddr::from((address, ports.cql)), WITHIN, || {
        let ended = rig::ended(&mut child.0, "java")?;
        Some(format!("{ended}: {}", log_tail(folder, 0, 3).join(" | ")))
    })?;
    let measures: Measures = rig::measures_of(child.0.id(), reply)?;
    let pressure = watch.end(measures["cpu_s"])?;
    Ok(Outcome { measures, pressure })
}

/// Fills the committed files of a variant in and says how its `java` is started.
fn launch(
    rig: &Rig,
    name: &str,
    folder: &Path,
    address: Ipv4Addr,
    ports: Ports,
) -> Result<Launch, Box<dyn Error>> {
    let files = rig.root.join("benches").join(name);
    for sub in ["conf", "logs"] {
        fs_err::create_dir_all(folder.join(sub))?;
    }
    let words = [
        ("{address}", address.to_string()),
        ("{cql_port}", ports.cql.to_string()),
        ("{storage_port}", ports.storage.to_string()),
        ("{jmx_port}", free_port()?.to_string()),
        ("{folder}", folder.display().to_string()),
    ];
    let fill = |text: String| words.iter().fold(text, |t, (word, is)| t.replace(word, is));
    for file in ["cassandra.yaml", "logback.xml"] {
        let text = fs_err::read_to_string(files.join(file))?;
        fs_err::write(folder.join("conf").join(file), fill(text))?;
    }
    let rackdc = folder.join("conf/cassandra-rackdc.properties");
    fs_err::write(&rackdc, "dc=datacenter1\nrack=rack1\n")?;
    let options = fill(fs_err::read_to_string(files.join("jvm.options"))?);
    let mut argv: Vec<String> = options
        .lines()
        .filter(|line| line.starts_with('-'))
        .map(str::to_owned)
        .collect();
    argv.extend(rig.release.release.module_flags(rig.jdk.feature));
    let here = folder.display();
    argv.extend([
        format!("-Dcassandra.config=file://{here}/conf/cassandra.yaml"),
        format!("-Dcassandra-rackdc.properties=file://{}", rackdc.display()),
        format!("-Dlogback.configurationFile=file://{here}/conf/logback.xml"),
        format!("-Dcassandra.logdir={here}/logs"),
        format!("-Dcassandra.storagedir={here}"),
        "-cp".to_owned(),
        class_path(&rig.release.jars),
        "org.apache.cassandra.service.CassandraDaemon".to_owned(),
    ]);
    alive::create(folder)?;
    Ok(Launch {
        timer_slack_us: None,
        program: rig.jdk.home.join("bin/java").display().to_string(),
        argv,
        environment: environment(),
        folder: folder.to_owned(),
        leash: Some(rustix::process::getpid().as_raw_pid()),
        // A container has no CAP_IPC_LOCK; a stock installation has, and asks for unlimited memlock.
        lock_memory: name == "stock",
        pin: None,
        cgroups: Vec::new(),
        network: None,
    })
}

/// What stock's own script sets, and what a process wants from ours.
fn environment() -> BTreeMap<String, String> {
    let inherited = ["PATH", "HOME", "LANG", "TZ"];
    let mut environment: BTreeMap<String, String> = inherited
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), std::env::var(key).ok()?)))
        .collect();
    environment.insert("MALLOC_ARENA_MAX".into(), "4".into());
    environment
}

fn class_path(jars: &[PathBuf]) -> String {
    let jars: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
    jars.join(":")
}

/// A port of 127.0.0.1, where Cassandra's local JMX listens, that nobody has now.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
