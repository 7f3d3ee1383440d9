//! Writes a node's files and starts its process through the shim.
//! Refuses to wait: readiness is another room.

use crate::alive;
use crate::secure;
use crate::shim::{LAUNCH_FILE, Launch};
use crate::state::{ClusterState, Runtime};
use crate::stored::there;
use fs_err as fs;
use helenus_model::memory::SMALL_HEAP;
use helenus_model::plan::{LOGBACK, LaunchFiles, NodePlan, Training, java_argv, rackdc};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Variables of our own environment that a node may see.
const INHERITED: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// Between two looks whether a node holds its claim.
const CLAIMED_EVERY: Duration = Duration::from_millis(2);

/// How a node is started.
#[derive(Debug, Clone)]
pub struct LaunchOptions {
    /// This very binary, which becomes the shim.
    pub helenus: PathBuf,
    /// Whether the node ends with this command.
    pub leashed: bool,
    /// Write a class-data archive there at exit instead of using one.
    pub train: Option<PathBuf>,
}

/// A node's process, from the moment of its start.
#[derive(Debug)]
pub struct Started {
    /// Node.
    pub name: String,
    /// Folder of the node.
    pub folder: PathBuf,
    /// The process: the shim first, then `java`; one pid for both.
    pub child: Child,
    /// When it was started.
    pub at: Instant,
    /// Length of system.log before: what stands there is of an earlier life.
    pub logged: u64,
}

/// Makes a node's folder with all files that it is started with. Data that is there stays.
///
/// # Errors
/// The folder cannot be written.
pub fn write_files(state: &ClusterState, node: &NodePlan) -> io::Result<()> {
    let folder = Path::new(&node.folder);
    for sub in ["conf", "logs", "tmp"] {
        fs::create_dir_all(folder.join(sub))?;
    }
    for data in node.data_folders() {
        fs::create_dir_all(data)?;
    }
    secure::write_yaml(state, node, &folder.join("conf/cassandra.yaml"))?;
    fs::write(
        folder.join("conf/cassandra-rackdc.properties"),
        rackdc(&node.data_center, &node.rack),
    )?;
    fs::write(folder.join("conf/logback.xml"), LOGBACK)?;
    alive::create(folder)
}

/// Starts a node's process. The caller's thread must live as long as a leashed node shall.
///
/// # Errors
/// Files cannot be written or the shim cannot be spawned; what becomes of the node is for readiness to find.
pub fn start(
    state: &ClusterState,
    node: &NodePlan,
    options: &LaunchOptions,
) -> io::Result<Started> {
    let folder = PathBuf::from(&node.folder);
    empty(&folder.join("tmp"))?;
    let launch = launch_of(state, node, options);
    let logged = fs::metadata(folder.join("logs/system.log")).map_or(0, |m| m.len());
    let at = Instant::now();
    let child = spawn(&options.helenus, &launch)?;
    tracing::info!(node = node.name, pid = child.id(), "started");
    Ok(Started {
        name: node.name.clone(),
        folder,
        child,
        at,
        logged,
    })
}

/// Waits until started nodes hold their claims or have ended, which takes a moment: until then they look as if they had died.
///
/// # Errors
/// A claim cannot be read.
pub(crate) fn claimed(started: &mut [Started]) -> io::Result<()> {
    for one in started {
        while alive::holder(&one.folder)?.is_none() && one.child.try_wait()?.is_none() {
            std::thread::sleep(CLAIMED_EVERY);
        }
    }
    Ok(())
}

/// Starts a process through the shim, in a folder with a claim; its output goes to `logs/console.log` there.
///
/// # Errors
/// The folder cannot be written, or the shim cannot be spawned.
pub(crate) fn spawn(helenus: &Path, launch: &Launch) -> io::Result<Child> {
    let folder = &launch.folder;
    let spec = folder.join(LAUNCH_FILE);
    fs::write(
        &spec,
        serde_json::to_vec_pretty(launch).map_err(io::Error::other)?,
    )?;
    let console = fs::OpenOptions::new()
        .create(true)
        .write(true)
        // Of this life only; what the JVM prints is little.
        .truncate(true)
        .open(folder.join("logs/console.log"))?
        .into_parts()
        .0;
    Command::new(helenus)
        .arg("__node")
        .arg(&spec)
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console)
        .current_dir(folder)
        .spawn()
}

/// What a process of ours sees of our environment.
pub(crate) fn inherited() -> BTreeMap<String, String> {
    let known = INHERITED.iter().filter_map(|key| {
        let value = std::env::var(key).ok()?;
        Some(((*key).to_owned(), value))
    });
    known.collect()
}

/// What a life that was killed left for itself alone.
fn empty(folder: &Path) -> io::Result<()> {
    there(fs::remove_dir_all(folder))?;
    fs::create_dir_all(folder)
}

fn launch_of(state: &ClusterState, node: &NodePlan, options: &LaunchOptions) -> Launch {
    let runtime = state.runtime_of(&node.name);
    let mut environment = inherited();
    environment.extend(node.environment.clone());
    let (program, argv) = match &runtime.fake {
        Some(fake) => {
            let (program, behaviour) = fake.rsplit_once(' ').unwrap_or((fake, ""));
            let argv = vec![behaviour.to_owned(), node.folder.clone()];
            (program.to_owned(), argv)
        }
        None => {
            let java = runtime.java.to_string_lossy().into_owned();
            (java, java_argv(node, &launch_files(runtime, options)))
        }
    };
    Launch {
        program,
        argv,
        environment,
        folder: PathBuf::from(&node.folder),
        leash: options
            .leashed
            .then(|| rustix::process::getpid().as_raw_pid()),
        // A stand-in has no workers that look for work, and its times are to be exact.
        pin: node.pin.clone(),
        timer_slack_us: node.timer_slack_us.filter(|_| runtime.fake.is_none()),
        lock_memory: state.plan.heap_of(node).heap >= SMALL_HEAP,
        cgroups: state
            .limits
            .as_ref()
            .and_then(|limits| limits.groups.get(&node.name).cloned())
            .unwrap_or_default(),
        network: state
            .plan
            .network
            .as_ref()
            .map(|_| (PathBuf::from(&state.plan.folder), node.name.clone())),
    }
}

fn launch_files(runtime: &Runtime, options: &LaunchOptions) -> LaunchFiles {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    LaunchFiles {
        launcher: text(&runtime.launcher),
        archive: runtime
            .archive
            .as_ref()
            .filter(|_| options.train.is_none())
            .map(text),
        train: options
            .train
            .as_ref()
            .map(|path| Training::on(runtime.jdk_feature, &text(path))),
        jdk_feature: runtime.jdk_feature,
        module_flags: runtime.module_flags.clone(),
    }
}

/// The last lines of a node's logs, for an error that must show why; `logged` bytes of system.log are of an
/// earlier life.
pub fn log_tail(folder: &Path, logged: u64, lines: usize) -> Vec<String> {
    let mut tail = Vec::new();
    for (name, skip) in [("system.log", logged), ("console.log", 0)] {
        let text = fs::read(folder.join("logs").join(name)).unwrap_or_default();
        // A log that was rolled meanwhile is all of this life.
        let skip = usize::try_from(skip)
            .ok()
            .filter(|skip| *skip <= text.len())
            .unwrap_or(0);
        let text = String::from_utf8_lossy(&text[skip..]);
        let all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        // The first error says more than the stack below it.
        let from = all
            .iter()
            .rposition(|l| l.starts_with("ERROR") || l.contains("Exception"))
            .unwrap_or_else(|| all.len().saturating_sub(lines));
        tail.extend(all[from..].iter().take(lines).map(|l| (*l).to_owned()));
    }
    tail.truncate(lines);
    tail
}
