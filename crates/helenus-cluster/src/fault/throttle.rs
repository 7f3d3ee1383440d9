//! A quota of processor time for a node that runs: in its own control group, or in one made for the fault.
//! Refuses to imitate it by stopping and waking the process: what the kernel does not allow is reported.

use super::journal::Undo;
use crate::limits;
use crate::state::ClusterState;
use crate::stored::there;
use fs_err as fs;
use std::io;
use std::path::{Path, PathBuf};

/// Period of a quota in microseconds, the kernel's own default.
const PERIOD_US: u64 = 100_000;

/// The files that hold a quota: of version 1, of version 2.
const QUOTA_FILES: [&str; 2] = ["cpu.cfs_quota_us", "cpu.max"];

/// What is to be done to a node, with what undoes it.
#[derive(Debug)]
pub(super) struct Throttle {
    /// Of one processor.
    percent: u32,
    pid: i32,
    /// What undoes it; written down before [`Self::make`].
    pub(super) undo: Undo,
}

/// Plans a quota for a node's process; nothing is changed but the list of the cluster's groups.
///
/// # Errors
/// There is no control group in which this user may set one, and why.
pub(super) fn plan(
    state: &ClusterState,
    (uid, root): (u32, &Path),
    (node, pid): (&str, i32),
    percent: u32,
) -> Result<Throttle, String> {
    let own = state.limits.iter().flat_map(|l| l.groups.get(node));
    let quota = own.flatten().find_map(|group| quota_file(group));
    let undo = match quota {
        Some(file) => Undo::Quota {
            was: fs::read_to_string(&file)
                .map_err(|e| e.to_string())?
                .trim()
                .to_owned(),
            file,
        },
        None => {
            let limited = state.limits.iter().any(|l| l.groups.contains_key(node));
            let (group, back) =
                limits::beside((&state.plan, &state.id), limited, (uid, root), (node, pid))?;
            Undo::Group { group, back }
        }
    };
    Ok(Throttle { percent, pid, undo })
}

impl Throttle {
    /// The quota that the node has, in percent of one processor; none where it has none.
    pub(super) fn has_percent(&self) -> Option<u32> {
        let Undo::Quota { file, was } = &self.undo else {
            return None;
        };
        let (quota, period) = match was.split_once(' ') {
            Some((quota, period)) => (quota, period.to_owned()),
            None => {
                let period = file.with_file_name("cpu.cfs_period_us");
                (was.as_str(), fs::read_to_string(period).ok()?)
            }
        };
        // `max` and -1 are none.
        let quota: u64 = quota.parse().ok()?;
        let period: u64 = period.trim().parse().ok()?;
        u32::try_from(quota.saturating_mul(100).checked_div(period)?).ok()
    }

    /// Sets the quota.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn make(&self) -> io::Result<()> {
        match &self.undo {
            Undo::Quota { file, .. } => self.set(file),
            Undo::Group { group, .. } => {
                limits::make_group(group)?;
                let none = || io::Error::other("the group has no processor quota");
                self.set(&quota_file(group).ok_or_else(none)?)?;
                fs::write(group.join("cgroup.procs"), self.pid.to_string())
            }
        }
    }

    fn set(&self, file: &Path) -> io::Result<()> {
        let quota = u64::from(self.percent) * PERIOD_US / 100;
        if file.ends_with("cpu.max") {
            return fs::write(file, format!("{quota} {PERIOD_US}"));
        }
        fs::write(
            file.with_file_name("cpu.cfs_period_us"),
            PERIOD_US.to_string(),
        )?;
        fs::write(file, quota.to_string())
    }
}

/// Whether the quota is there, and somebody under it.
pub(super) fn holds(undo: &Undo) -> bool {
    match undo {
        Undo::Quota { file, was } => {
            fs::read_to_string(file).is_ok_and(|now| now.trim() != was.as_str())
        }
        Undo::Group { group, .. } => {
            fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|inside| !inside.is_empty())
        }
    }
}

/// Puts a quota back; what is back already stays.
///
/// # Errors
/// The kernel refuses.
pub(super) fn undo(undo: &Undo) -> io::Result<()> {
    match undo {
        Undo::Quota { file, was } => there(fs::write(file, was)).map(drop),
        Undo::Group { group, back } => {
            let Ok(inside) = fs::read_to_string(group.join("cgroup.procs")) else {
                return Ok(());
            };
            // Where they were is gone, as the group of a login is after its logout: they stay, and run free.
            let nowhere = back == group || !back.exists();
            if nowhere && !inside.is_empty() {
                return match quota_file(group) {
                    Some(file) => fs::write(&file, no_quota(&file)),
                    None => Ok(()),
                };
            }
            for pid in inside.lines() {
                match fs::write(back.join("cgroup.procs"), pid) {
                    // It ended meanwhile.
                    Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
                    other => other?,
                }
            }
            limits::remove_group(group);
            Ok(())
        }
    }
}

/// What a file of a quota says where there is none.
fn no_quota(file: &Path) -> String {
    match file.ends_with("cpu.max") {
        true => format!("max {PERIOD_US}"),
        false => "-1".to_owned(),
    }
}

fn quota_file(group: &Path) -> Option<PathBuf> {
    let files = QUOTA_FILES.iter().map(|file| group.join(file));
    files.into_iter().find(|file| file.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_whose_own_group_is_gone_runs_free_where_it_is() {
        for (file, slow, free) in [
            ("cpu.max", "25000 100000", "max 100000"),
            ("cpu.cfs_quota_us", "25000", "-1"),
        ] {
            let root = tempfile::tempdir().expect("a folder");
            let group = root.path().join("node1-slow");
            fs::create_dir(&group).expect("made");
            fs::write(group.join("cgroup.procs"), "7\n").expect("written");
            // The login that it was started from has ended; or an earlier fault has left it here.
            for back in [root.path().join("session-1.scope"), group.clone()] {
                fs::write(group.join(file), slow).expect("written");
                let one = Undo::Group {
                    group: group.clone(),
                    back,
                };
                undo(&one).expect("undone");
                let now = fs::read_to_string(group.join(file)).expect("there");
                assert_eq!(now, free);
            }
        }
    }
}
