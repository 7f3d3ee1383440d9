//! The training start of an image, inside of its root: an archive holds the paths and times of jars as the image has them.
//! Refuses to mount anything where this process would see it: the child has namespaces of its own.

use super::root::below;
use super::{ImageError, failed};
use crate::archive::{self, TRAINING_WITHIN};
use crate::context::Context;
use crate::error::ClusterError;
use crate::lifecycle::alone;
use crate::process;
use fs_err as fs;
use helenus_cql::client::{Client, ConnectOptions};
use helenus_model::kube::pod::{ARCHIVE, JAVA, LAUNCHER_JAR, RUN_FOLDER};
use helenus_model::plan::{
    ClusterPlan, LOGBACK, LaunchFiles, NodePlan, Training, dump_argv, java_argv, rackdc,
};
use rustix::mount::{MountPropagationFlags, mount_bind_recursive, mount_change};
use rustix::process::Pid;
use rustix::thread::{CapabilitySet, UnshareFlags};
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at the node.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Longest wait for one answer of the node.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What is mounted from this machine for the training.
const MOUNTS: [&str; 3] = ["proc", "dev", "sys"];

/// Starts Cassandra once inside of the root, lets it learn, and stops it again: the JVM writes the archive as it ends.
/// Its log is in `work`.
///
/// # Errors
/// No namespaces, no memory for a node, a node that does not become ready, or the person asked to stop.
pub(super) fn train(
    context: &Context,
    version: &str,
    root: &Path,
    work: &Path,
    flags: &[String],
    jdk_feature: u32,
) -> Result<(), ImageError> {
    let not_planned = |e: ClusterError| ImageError::Training(crate::error::with_causes(&e));
    let plan = alone("image", version).and_then(|request| context.dry_run(&request));
    let plan = plan.map_err(not_planned)?;
    let node = archive::alone(&plan.nodes[0], Path::new(RUN_FOLDER));
    write_files(root, &node).map_err(failed("the training's files"))?;
    let training = Training::on(jdk_feature, ARCHIVE);
    let argv = java_argv(
        &node,
        &LaunchFiles {
            launcher: LAUNCHER_JAR.to_owned(),
            archive: None,
            train: Some(training.clone()),
            jdk_feature,
            module_flags: flags.to_vec(),
        },
    );
    let log = work.join("console.log");
    let console = fs::File::create(&log).map_err(failed("the training's log"))?;
    let errors = console
        .try_clone()
        .map_err(failed("the training's log"))?
        .into_file();
    let mut child = inside(context, root, &argv)
        .stdin(Stdio::null())
        .stdout(console.into_file())
        .stderr(errors)
        .spawn()
        .map_err(failed("the training start"))?;
    let taught = wait(context, &plan, &node, &mut child);
    let grace = match taught {
        Ok(()) if !context.cancel.is_set() => TRAINING_WITHIN,
        _ => Duration::ZERO,
    };
    if matches!(child.try_wait(), Ok(None)) {
        process::end(Pid::from_child(&child), grace);
    }
    let _reaped_already = child.wait();
    if context.cancel.is_set() {
        return Err(ImageError::Interrupted);
    }
    taught.map_err(|why| ImageError::Training(why + &last_line(&log)))?;
    if let Training::ClassList(list) = training {
        let argv = dump_argv(&node.jvm, &list, ARCHIVE, LAUNCHER_JAR);
        let dumped = inside(context, root, &argv).output();
        let _list_is_done_with = fs::remove_file(below(root, &list));
        dumped.map_err(failed("the class-data archive"))?;
    }
    match below(root, ARCHIVE).exists() {
        true => Ok(()),
        false => {
            let why = "the JVM wrote no archive".to_owned();
            Err(ImageError::Training(why + &last_line(&log)))
        }
    }
}

/// Waits until the node answers, and lets it learn; in words why it does not.
fn wait(
    context: &Context,
    plan: &ClusterPlan,
    node: &NodePlan,
    child: &mut Child,
) -> Result<(), String> {
    let begin = Instant::now();
    let address = SocketAddr::from((node.address, plan.ports.cql));
    let options = ConnectOptions {
        timeout: ANSWER_WITHIN,
        ..ConnectOptions::default()
    };
    loop {
        if context.cancel.is_set() {
            return Err("interrupted".to_owned());
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Err(format!("it ended ({status})")),
            Err(error) => return Err(error.to_string()),
        }
        if let Ok(mut client) = Client::connect(address, &options) {
            archive::recite(&mut client);
            return Ok(());
        }
        if begin.elapsed() > TRAINING_WITHIN {
            let waited = TRAINING_WITHIN.as_secs();
            return Err(format!("it was not ready after {waited} s"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The last thing that was printed, which says more than an exit code.
fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    last.map(|line| format!(": {}", line.trim()))
        .unwrap_or_default()
}

fn write_files(root: &Path, node: &NodePlan) -> io::Result<()> {
    let run = below(root, RUN_FOLDER);
    for folder in ["conf", "data", "logs", "tmp"] {
        fs::create_dir_all(run.join(folder))?;
    }
    let conf = run.join("conf");
    fs::write(conf.join("cassandra.yaml"), &node.yaml)?;
    fs::write(
        conf.join("cassandra-rackdc.properties"),
        rackdc(&node.data_center, &node.rack),
    )?;
    fs::write(conf.join("logback.xml"), LOGBACK)
}

/// The command that runs the image's Java inside of its root.
fn inside(context: &Context, root: &Path, argv: &[String]) -> Command {
    let mut command = Command::new(&context.helenus);
    command
        .args(["__pod", "rooted"])
        .arg(std::process::id().to_string())
        .arg(root)
        .arg(JAVA)
        .args(argv);
    command
}

/// Becomes a program whose root is that folder, with this machine's processes and devices; returns only on failure.
///
/// # Errors
/// No namespaces are to be had, the one who asked is gone, or `exec` fails.
pub fn rooted(
    parent: i32,
    root: &Path,
    program: &Path,
    arguments: &[OsString],
) -> io::Result<Infallible> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_CHROOT;
    let sets = rustix::thread::capabilities(None);
    let may = user.is_root() && sets.is_ok_and(|sets| sets.effective.contains(wanted));
    let own = match may {
        true => UnshareFlags::NEWNS,
        false => UnshareFlags::NEWNS | UnshareFlags::NEWUSER,
    };
    // SAFETY: this process has one thread, and what it no longer shares (mounts, root, working directory) nobody else
    // in it relies on; it keeps its descriptors.
    unsafe { rustix::thread::unshare_unsafe(own) }?;
    if !may {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
        fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))?;
    }
    // Behind the above, which lets a process forget whose end is its end.
    process::end_with(parent)?;
    rustix::process::setsid()?;
    let alone = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", alone)?;
    // A mount of its own: Java finds no file store for a path that is below none.
    mount_bind_recursive(root, root)?;
    for folder in MOUNTS {
        mount_bind_recursive(Path::new("/").join(folder), root.join(folder))?;
    }
    rustix::process::chroot(root)?;
    rustix::process::chdir(RUN_FOLDER)?;
    Err(Command::new(program)
        .args(arguments)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .exec())
}
