//! The doctor's changes of this machine: planned, remembered before each one, made, and undone in reverse order.
//! Refuses to undo what somebody else has changed since.
//!
//! Values of the kernel end with the boot, and so do their entries. Files stay, and theirs stay with them.

use super::{Changed, Journal, VERSION, boot, keep, read};
use crate::env::Env;
use crate::error::{Class, Problem};
use crate::machine::Files;
use fs_err as fs;
use helenus_model::format::Format;
use helenus_model::tuned::{Check, Cure};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Limits of logins: a separate file.
const LIMITS: &str = "etc/security/limits.d/90-cassandra.conf";
const SWAPS: &str = "proc/swaps";
const SWAP_OFF: &str = "off";

/// Changes that would make a machine's settings right, in the order in which they are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fixes {
    changes: Vec<Changed>,
}

/// A change that could not be made or undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// What, such as `read-ahead of nvme0n1`.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// Another one does it.
    #[error("another helenus doctor is changing this machine")]
    Busy,
    /// It cannot be remembered.
    #[error("cannot save the previous values in {}", path.display())]
    NotKept {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Problem for FixError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Busy => "wait until it ends".to_owned(),
            Self::NotKept { .. } => {
                "free some space there, or set HELENUS_HOME to a folder that you may write to"
                    .to_owned()
            }
        })
    }
}

impl Fixes {
    /// What has to be changed on the machine below `root`, without what a person has to do.
    pub fn plan(root: &Path, checks: &[Check]) -> Self {
        let mut changes = Vec::new();
        let mut limits = String::new();
        for check in checks.iter().filter(|check| !check.good) {
            match &check.cure {
                Cure::Kernel { file, value } => {
                    for file in files(root, file) {
                        let before = value_of(root, &file).unwrap_or_default();
                        if before != *value {
                            let unit = String::new();
                            changes.push(Changed {
                                what: name(check, &file),
                                file,
                                before,
                                set: value.clone(),
                                unit,
                            });
                        }
                    }
                }
                Cure::Limit { name, value } => {
                    let _infallible = writeln!(limits, "* - {name} {value}");
                }
                Cure::SwapOff => changes.extend(swaps(root).into_iter().map(|device| Changed {
                    what: format!("{} to {device}", check.item),
                    file: SWAPS.into(),
                    before: device,
                    set: SWAP_OFF.to_owned(),
                    unit: String::new(),
                })),
                Cure::ByHand(_) => {}
            }
        }
        let before = fs::read_to_string(root.join(LIMITS)).unwrap_or_default();
        if !limits.is_empty() && before != limits {
            changes.push(Changed {
                what: "limits of logins".to_owned(),
                file: LIMITS.into(),
                before,
                set: limits,
                unit: String::new(),
            });
        }
        Self { changes }
    }

    /// What is changed: its name, what it is and what it will be.
    pub fn changes(&self) -> &[Changed] {
        &self.changes
    }

    /// Makes all changes, each remembered in `folder` before; what the machine refuses is returned.
    ///
    /// # Errors
    /// Another one is changing the machine, or nothing can be remembered.
    pub fn make(&self, env: &Env, folder: &Path) -> Result<Vec<Failed>, FixError> {
        let _only_one = lock(folder)?;
        let root = &env.root;
        let mut journal = of_this_boot(root, folder);
        let mut failed = Vec::new();
        for change in &self.changes {
            let held = journal.settings.iter().position(|c| c.what == change.what);
            // What was there before the first change is what goes back.
            let before = held.map(|at| journal.settings.remove(at));
            let entry = Changed {
                before: before
                    .as_ref()
                    .map_or_else(|| change.before.clone(), |first| first.before.clone()),
                ..change.clone()
            };
            journal.settings.push(entry);
            save(folder, &journal)?;
            if let Err(error) = put(env, change, &change.set) {
                failed.push(Failed {
                    what: change.what.clone(),
                    why: error.to_string(),
                });
                // The kernel may have taken it in another form: that goes back, or can be undone.
                if now(root, change) == change.before || put(env, change, &change.before).is_ok() {
                    journal.settings.pop();
                    journal.settings.extend(before);
                } else if let Some(entry) = journal.settings.last_mut() {
                    entry.set = now(root, change);
                }
                save(folder, &journal)?;
            }
        }
        Ok(failed)
    }
}

/// What would be undone, in its order.
pub fn undoes(root: &Path, folder: &Path) -> Vec<Changed> {
    let mut changes = of_this_boot(root, folder).settings;
    changes.reverse();
    changes
}

/// Undoes all changes that are remembered in `folder`, the last one first: what was undone, and what was not.
///
/// # Errors
/// Another one is changing the machine, or the rest cannot be remembered.
pub fn undo(env: &Env, folder: &Path) -> Result<(Vec<Changed>, Vec<Failed>), FixError> {
    let _only_one = lock(folder)?;
    let root = &env.root;
    let mut journal = of_this_boot(root, folder);
    let mut undone = Vec::new();
    let mut failed = Vec::new();
    let mut kept = Vec::new();
    while let Some(change) = journal.settings.pop() {
        let now = now(root, &change);
        let what = change.what.clone();
        if now == change.before {
            // A kill came between the note and the change, or between the restored value and its note.
        } else if now != change.set {
            let why = "changed by another program since; it stays".to_owned();
            failed.push(Failed { what, why });
        } else if let Err(error) = put(env, &change, &change.before) {
            let why = error.to_string();
            failed.push(Failed { what, why });
            kept.push(change);
        } else {
            undone.push(change);
        }
        let rest = journal.settings.iter().chain(kept.iter().rev()).cloned();
        let rest = Journal {
            settings: rest.collect(),
            ..journal.clone()
        };
        save(folder, &rest)?;
    }
    Ok((undone, failed))
}

fn name(check: &Check, file: &Path) -> String {
    let cpu = file
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .find(|part| part.strip_prefix("cpu").is_some_and(is_number));
    match cpu {
        Some(cpu) => format!("{} of {cpu}", check.item),
        None => check.name(),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The files of a form below the root, where they are: `cpu*` stands for every processor.
fn files(root: &Path, form: &str) -> Vec<PathBuf> {
    let Some((before, after)) = form.split_once('*') else {
        let there = root.join(form).exists();
        return there.then(|| form.into()).into_iter().collect();
    };
    let (folder, start) = before.rsplit_once('/').unwrap_or(("", before));
    let names = Files(root).names(folder);
    let numbered = |name: &&String| name.strip_prefix(start).is_some_and(is_number);
    let numbered = names.iter().filter(numbered);
    numbered
        .map(|name| PathBuf::from(format!("{folder}/{name}{after}")))
        .filter(|file| root.join(file).exists())
        .collect()
}

/// A kernel's value: of a list of choices the one in brackets, else its words.
fn value_of(root: &Path, file: &Path) -> Option<String> {
    Files(root).value(file.to_str()?)
}

/// Devices and files that are swapped to.
fn swaps(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join(SWAPS)).unwrap_or_default();
    let rows = text.lines().skip(1);
    rows.filter_map(|row| row.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// Whether it is the kernel's, and ends with the boot.
fn is_kernels(change: &Changed) -> bool {
    change.file.starts_with("proc") || change.file.starts_with("sys")
}

/// What it is now, in the form of [`Changed::before`] and [`Changed::set`].
fn now(root: &Path, change: &Changed) -> String {
    if change.file == Path::new(SWAPS) {
        let on = swaps(root).contains(&change.before);
        return if on { &change.before } else { SWAP_OFF }.to_owned();
    }
    match is_kernels(change) {
        true => value_of(root, &change.file).unwrap_or_default(),
        false => fs::read_to_string(root.join(&change.file)).unwrap_or_default(),
    }
}

fn put(env: &Env, change: &Changed, value: &str) -> io::Result<()> {
    let path = env.root.join(&change.file);
    if change.file == Path::new(SWAPS) {
        let program = if value == SWAP_OFF {
            "swapoff"
        } else {
            "swapon"
        };
        return run(env, program, &change.before);
    }
    if !is_kernels(change) {
        if value.is_empty() {
            return fs::remove_file(path);
        }
        let folder = path.parent().unwrap_or(&env.root);
        fs::create_dir_all(folder)?;
        return fs::write(path, value);
    }
    fs::write(&path, value)?;
    // The kernel takes some values and keeps its own.
    let now = now(&env.root, change);
    match now == value {
        true => Ok(()),
        false => Err(io::Error::other(format!("the kernel keeps {now}"))),
    }
}

fn run(env: &Env, program: &str, device: &str) -> io::Result<()> {
    let missing = || io::Error::other(format!("{program} is not on PATH"));
    let program = env.find_program(program).ok_or_else(missing)?;
    let output = env
        .leashed(&program)
        .arg(device)
        .stdin(Stdio::null())
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(said.trim().to_owned()))
        }
    }
}

/// The journal without what a boot has ended.
fn of_this_boot(root: &Path, folder: &Path) -> Journal {
    let this = boot(root);
    let mut settings = Vec::new();
    if let Some(journal) = read(folder) {
        settings = journal.settings;
        if journal.boot != this {
            settings.retain(|change| !is_kernels(change));
        }
    }
    Journal {
        format: Format::new("host", VERSION),
        boot: this,
        settings,
    }
}

fn save(folder: &Path, journal: &Journal) -> Result<(), FixError> {
    keep(folder, journal).map_err(|source| FixError::NotKept {
        path: folder.to_owned(),
        source,
    })
}

/// The lock of the journal; unlocked by name, since a child that is being started may still hold the file.
struct Lock(fs::File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _held_by_nobody = flock(&self.0, FlockOperation::Unlock);
    }
}

fn lock(folder: &Path) -> Result<Lock, FixError> {
    let not_kept = |source| FixError::NotKept {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(not_kept)?;
    let file = fs::File::create(folder.join("lock")).map_err(not_kept)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_held| FixError::Busy)?;
    Ok(Lock(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::snapshot;
    use helenus_model::tuned::checks;
    use std::os::unix::fs::PermissionsExt as _;

    const PLANTED: &[(&str, &str)] = &[
        ("proc/sys/kernel/random/boot_id", "one\n"),
        (
            "proc/cpuinfo",
            "processor\t: 0\nflags\t: fpu\n\nprocessor\t: 1\nflags\t: fpu\n",
        ),
        (
            "proc/meminfo",
            "MemTotal: 16777216 kB\nSwapTotal: 2097148 kB\n",
        ),
        (
            SWAPS,
            "Filename\tType\tSize\tUsed\tPriority\n/dev/vdb partition 2097148 0 -2\n",
        ),
        ("proc/sys/vm/swappiness", "60\n"),
        ("proc/sys/vm/zone_reclaim_mode", "1\n"),
        ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        (
            "sys/kernel/mm/transparent_hugepage/defrag",
            "always [madvise] never\n",
        ),
        ("sys/devices/system/cpu/online", "0-1\n"),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        ),
        (
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "powersave\n",
        ),
        (
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n\
             Max open files            1024                 4096                 files\n",
        ),
    ];

    /// A root with planted values, whose `swapoff` and `swapon` write its list of swaps.
    fn machine() -> (tempfile::TempDir, Env, PathBuf) {
        let root = tempfile::tempdir().expect("a folder");
        for (file, text) in PLANTED {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
            fs::write(path, text).expect("writes");
        }
        let bin = root.path().join("bin");
        fs::create_dir(&bin).expect("makes");
        let swaps = root.path().join(SWAPS);
        let swaps = swaps.display();
        for (name, line) in [
            ("swapoff", format!("echo Filename >{swaps}")),
            ("swapon", format!("echo \"$1 partition\" >>{swaps}")),
        ] {
            let path = bin.join(name);
            fs::write(&path, format!("#!/bin/sh\n{line}\n")).expect("writes");
            let executable = std::fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, executable).expect("sets");
        }
        let env = Env {
            vars: [("PATH".into(), bin.into_os_string())].into(),
            root: root.path().to_owned(),
            ..Env::default()
        };
        let folder = root.path().join("state/doctor");
        (root, env, folder)
    }

    fn values(root: &Path) -> Vec<Option<String>> {
        let files = PLANTED.iter().map(|(file, _)| Path::new(file));
        let mut values: Vec<Option<String>> = files
            .filter(|file| *file != Path::new(SWAPS))
            .map(|file| value_of(root, file))
            .collect();
        values.push(Some(swaps(root).join(" ")));
        values.push(fs::read_to_string(root.join(LIMITS)).ok());
        values
    }

    fn plan(root: &Path) -> Fixes {
        Fixes::plan(root, &checks(&snapshot(root, &[])))
    }

    #[test]
    fn what_is_fixed_is_right_and_undone_as_it_was() {
        let (root, env, folder) = machine();
        let root = root.path();
        let before = values(root);
        let fixes = plan(root);
        assert_eq!(fixes.changes().len(), 8, "{fixes:?}");
        assert_eq!(fixes.make(&env, &folder).expect("changes"), []);
        let lines = fs::read_to_string(root.join(LIMITS)).expect("a file");
        assert_eq!(lines, "* - nofile 1048576\n");
        assert_eq!(swaps(root), [""; 0]);
        let left = plan(root);
        // The limits of this process stay what they are until the next login.
        assert_eq!(left.changes(), [], "nothing is left to change");
        // A second fix remembers what was there before the first one.
        fixes.make(&env, &folder).expect("changes");
        let (undone, failed) = undo(&env, &folder).expect("undoes");
        assert_eq!((undone.len(), failed.len()), (8, 0));
        assert_eq!(values(root), before);
        assert_eq!(undoes(root, &folder), []);
    }

    #[test]
    fn a_kill_between_any_two_steps_is_undone() {
        let (root, env, folder) = machine();
        let root = root.path();
        let before = values(root);
        let fixes = plan(root);
        for made in 0..fixes.changes.len() {
            // So many changes are made; the next one is remembered only, as by a kill before its write.
            let some = Fixes {
                changes: fixes.changes[..made].to_vec(),
            };
            some.make(&env, &folder).expect("changes");
            let mut journal = of_this_boot(root, &folder);
            journal.settings.push(fixes.changes[made].clone());
            save(&folder, &journal).expect("saves");
            let (undone, failed) = undo(&env, &folder).expect("undoes");
            assert_eq!((undone.len(), failed.len()), (made, 0));
            assert_eq!(values(root), before, "after {made} changes");
        }
    }

    #[test]
    fn what_the_kernel_takes_in_another_form_goes_back_or_can_be_undone() {
        let (root, env, folder) = machine();
        let root = root.path();
        let file = Path::new("proc/sys/vm/swappiness");
        let fixes = |before: &str| Fixes {
            changes: vec![Changed {
                what: "swappiness".to_owned(),
                file: file.to_owned(),
                before: before.to_owned(),
                // Of a list only the word in brackets is read back.
                set: "1 [2] 3".to_owned(),
                unit: String::new(),
            }],
        };
        let failed = fixes("60").make(&env, &folder).expect("changes");
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert_eq!(value_of(root, file).as_deref(), Some("60"));
        assert_eq!(undoes(root, &folder), []);
        // What was there cannot be written as it was read, either.
        let failed = fixes("60 [70] 80").make(&env, &folder).expect("changes");
        assert_eq!(failed.len(), 1, "{failed:?}");
        let left = undoes(root, &folder);
        assert_eq!((left.len(), left[0].set.as_str()), (1, "70"));
        assert_eq!(left[0].before, "60 [70] 80");
    }

    #[test]
    fn a_boot_ends_the_kernel_s_values_and_no_files() {
        let (root, env, folder) = machine();
        let root = root.path();
        plan(root).make(&env, &folder).expect("changes");
        fs::write(root.join("proc/sys/kernel/random/boot_id"), "two\n").expect("writes");
        let left = undoes(root, &folder);
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].file, Path::new(LIMITS));
        undo(&env, &folder).expect("undoes");
        assert!(!root.join(LIMITS).exists());
        assert_eq!(
            value_of(root, Path::new("proc/sys/vm/swappiness")).as_deref(),
            Some("1")
        );
    }

    #[test]
    fn what_another_program_changed_stays_and_is_said() {
        let (root, env, folder) = machine();
        let root = root.path();
        plan(root).make(&env, &folder).expect("changes");
        fs::write(root.join("proc/sys/vm/swappiness"), "10\n").expect("writes");
        let (undone, failed) = undo(&env, &folder).expect("undoes");
        assert_eq!((undone.len(), failed.len()), (7, 1));
        assert_eq!(failed[0].what, "swappiness");
    }
}
