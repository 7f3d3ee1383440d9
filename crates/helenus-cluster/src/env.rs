//! The environment as a value: variables, home and user id, so that every test is hermetic.
//! Refuses to read the process's own environment anywhere but in `Env::of_process`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program inherits from the one that starts it.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// Environment variables.
    pub vars: BTreeMap<OsString, OsString>,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// The user id that we act as.
    pub uid: u32,
    /// The file system's root; only tests have another one than `/`.
    pub root: PathBuf,
    /// Our own binary, which ends tools together with us (`__leashed`); without it they may outlive a `kill -9`.
    pub leash: Option<PathBuf>,
}

impl Env {
    /// The environment of this process.
    pub fn of_process() -> Self {
        Self {
            vars: std::env::vars_os().collect(),
            home: etcetera::home_dir().ok(),
            uid: rustix::process::geteuid().as_raw(),
            root: PathBuf::from("/"),
            leash: std::env::current_exe().ok(),
        }
    }

    /// A variable that is set to something.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        let value = self.vars.get(OsStr::new(name));
        value.map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    /// A variable that holds an absolute path; the XDG rules ignore relative ones.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        let path = self.var(name).map(PathBuf::from);
        path.filter(|p| p.is_absolute())
    }

    /// A command that ends with this process, also after a `kill -9`; the thread that spawns it must live on.
    pub fn leashed(&self, program: &Path) -> Command {
        match &self.leash {
            None => Command::new(program),
            Some(helenus) => {
                let mut command = Command::new(helenus);
                command
                    .arg("__leashed")
                    .arg(std::process::id().to_string())
                    .arg(program);
                command
            }
        }
    }

    /// The first executable file of that name on `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let path = self.var("PATH")?;
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|file| is_executable(file))
    }
}

/// Whether a regular file may be executed by anybody.
pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
