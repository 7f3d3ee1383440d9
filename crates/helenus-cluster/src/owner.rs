//! Clusters that belong to a process of another program: a watcher removes them as soon as it has ended.
//! Refuses to remove a later cluster of the same name.

use crate::context::Context;
use crate::error::ClusterError;
use crate::process::{self, Owner};
use crate::remove;
use crate::state::{ClusterState, StateError};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often a cluster is looked at that another helenus is at work on, or a process of a kernel without process descriptors.
const AGAIN: Duration = Duration::from_millis(100);

/// How often a removal that fails is tried.
const TRIES: u32 = 5;

/// Starts the watcher of a cluster that has an owner.
///
/// # Errors
/// It cannot be started.
pub(crate) fn guard(context: &Context, state: &ClusterState) -> Result<(), ClusterError> {
    if state.owner.is_none() {
        return Ok(());
    }
    Command::new(&context.helenus)
        .arg("__owned")
        .args([&state.plan.name, &state.id])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(ClusterError::io("the watcher of the cluster's owner"))?;
    Ok(())
}

/// Becomes the watcher: waits for the end of the owner, then removes the cluster; returns when the cluster is gone.
///
/// # Errors
/// The cluster cannot be read, watched or removed.
pub fn watch(context: &Context, name: &str, id: &str) -> Result<(), ClusterError> {
    // Ctrl-C in the terminal of `up` is not for the watcher.
    let _leads_already = rustix::process::setsid();
    let Some(owner) = owner_of(context, name, id) else {
        return Ok(());
    };
    wait(owner, &context.clusters.folder(name))
        .map_err(ClusterError::io("the cluster's folder"))?;
    end(context, name, id)
}

/// Removes clusters whose owner has ended, and whose watcher was killed.
pub(crate) fn sweep(context: &Context) {
    for name in context.clusters.names().unwrap_or_default() {
        let Ok(state) = context.clusters.load(&name) else {
            continue;
        };
        // Its watcher may be at work on it; what fails is tried again by the next `up`.
        if state.owner.is_some_and(Owner::has_ended)
            && let Err(error) = remove::remove(context, &name)
        {
            tracing::warn!(cluster = name, %error, "its owner has ended, but it stays");
        }
    }
}

/// The owner of the very cluster; none where it is gone.
fn owner_of(context: &Context, name: &str, id: &str) -> Option<Owner> {
    let state = context.clusters.load(name).ok()?;
    (state.id == id).then_some(state.owner).flatten()
}

/// Returns when the owner has ended, or the folder is no longer there.
fn wait(owner: Owner, folder: &Path) -> io::Result<()> {
    let gone = inotify::init(CreateFlags::CLOEXEC)?;
    // A removal renames it first.
    let ends = WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF;
    match inotify::add_watch(&gone, folder, ends) {
        Ok(_) => {}
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    match process::handle(owner.pid) {
        // It was opened before the start was compared: the number cannot have been given away in between.
        Some(handle) if !owner.has_ended() => process::wait_any(&[&handle, &gone], None).map(drop),
        Some(_) => Ok(()),
        None => {
            while !owner.has_ended() && !process::wait_any(&[&gone], Some(AGAIN))? {}
            Ok(())
        }
    }
}

/// Removes the cluster, after another helenus that is at work on it.
fn end(context: &Context, name: &str, id: &str) -> Result<(), ClusterError> {
    let mut tries = 0;
    loop {
        if owner_of(context, name, id).is_none() {
            return Ok(());
        }
        match remove::remove(context, name) {
            Ok(_) => return Ok(()),
            Err(error) if is_busy(&error) => {}
            Err(error) if tries == TRIES => return Err(error),
            Err(error) => {
                tracing::warn!(cluster = name, %error, "not removed; another try");
                tries += 1;
            }
        }
        std::thread::sleep(AGAIN);
    }
}

fn is_busy(error: &ClusterError) -> bool {
    matches!(error.find(), Some(StateError::Busy(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_nobody_waited_for_has_ended() {
        let mut child = Command::new("sleep").arg("100").spawn().expect("a child");
        let pid = child.id().cast_signed();
        let owner = Owner::of(pid).expect("it runs");
        assert!(!owner.has_ended());
        child.kill().expect("it runs");
        let folder = tempfile::tempdir().expect("a folder");
        wait(owner, folder.path()).expect("it is waited for");
        assert!(owner.has_ended(), "a zombie");
        let _status = child.wait().expect("its end");
        assert!(owner.has_ended());
        assert!(Owner::of(pid).is_err(), "the number is free");
    }

    #[test]
    fn another_process_of_the_number_is_not_the_owner() {
        let own = rustix::process::getpid().as_raw_pid();
        let owner = Owner::of(own).expect("it runs");
        let earlier = Owner {
            started: owner.started - 1,
            ..owner
        };
        assert!(!owner.has_ended());
        assert!(earlier.has_ended());
        let folder = tempfile::tempdir().expect("a folder");
        wait(earlier, folder.path()).expect("it returns at once");
    }

    #[test]
    fn a_cluster_that_is_removed_ends_the_wait() {
        let own = rustix::process::getpid().as_raw_pid();
        let owner = Owner::of(own).expect("it runs");
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("c");
        fs_err::create_dir(&folder).expect("a folder");
        let leaving = parent.path().join(".removing-c");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                fs_err::rename(&folder, &leaving).expect("it moves");
            });
            wait(owner, &folder).expect("it returns");
        });
        assert!(leaving.exists());
        wait(owner, &folder).expect("a folder that is gone is not waited for");
    }
}
