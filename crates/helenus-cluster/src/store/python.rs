//! Programs from PyPI, each in its own virtual environment below the cache.
//! Refuses to name an index: mirrors and credentials are those of a person's pip.

use super::maven::listen;
use super::{Store, StoreError, StoreEvent};
use crate::env::Env;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

/// Written last: an environment without it was not finished.
const MARKER: &str = "installed";
/// How many of pip's last lines an error carries.
const LINES_KEPT: usize = 4;

/// A program that pip installs.
#[derive(Debug, PartialEq, Eq)]
pub struct PythonTool {
    /// Name of its folder in the cache.
    pub name: &'static str,
    /// What pip is asked for, pinned.
    pub package: &'static str,
    /// The program.
    pub program: &'static str,
}

impl PythonTool {
    /// Backups.
    pub const MEDUSA: Self = Self {
        name: "medusa-0.31.0",
        package: "cassandra-medusa==0.31.0",
        program: "medusa",
    };

    /// A server that stands in for S3.
    pub const MOTO: Self = Self {
        name: "moto-5.2.5",
        package: "moto[server]==5.2.5",
        program: "moto_server",
    };
}

impl Store {
    /// The program, where it is installed.
    pub fn python_tool(&self, tool: &PythonTool) -> Option<PathBuf> {
        let home = self.home_of_python(tool);
        let program = home.join("bin").join(tool.program);
        (home.join(MARKER).is_file() && program.is_file()).then_some(program)
    }

    fn home_of_python(&self, tool: &PythonTool) -> PathBuf {
        self.cache.join("tools").join(tool.name)
    }

    /// The program, installed if it is not there yet; two that ask at once install once.
    ///
    /// # Errors
    /// No python3, a pip that failed, a full disk, or a cancelled wait.
    pub fn ensure_python(
        &self,
        tool: &PythonTool,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(StoreEvent),
    ) -> Result<PathBuf, StoreError> {
        if let Some(program) = self.python_tool(tool) {
            return Ok(program);
        }
        let python = python(&self.env, tool)?;
        let _held = self.hold(tool.name, cancel, &mut || {
            on(StoreEvent::Waiting {
                version: tool.name.to_owned(),
            });
        })?;
        if let Some(program) = self.python_tool(tool) {
            return Ok(program);
        }
        on(StoreEvent::Installing {
            what: tool.package.to_owned(),
        });
        // Its scripts name its folder: it is made in its place, and counts from its marker on.
        let home = self.home_of_python(tool);
        let failed = |error| StoreError::of_cache(&self.cache, error);
        if home.exists() {
            fs_err::remove_dir_all(&home).map_err(failed)?;
        }
        fs_err::create_dir_all(&home).map_err(failed)?;
        let mut make = self.env.leashed(&python);
        make.args(["-m", "venv"]).arg(&home);
        call(make, tool, &home, cancel)?;
        let mut pip = self.env.leashed(&home.join("bin/python3"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", tool.package]);
        call(pip, tool, &home, cancel)?;
        fs_err::write(home.join(MARKER), format!("{}\n", tool.package)).map_err(failed)?;
        Ok(home.join("bin").join(tool.program))
    }
}

/// `python3`, which is to install the tool.
fn python(env: &Env, tool: &PythonTool) -> Result<PathBuf, StoreError> {
    env.find_program("python3")
        .ok_or_else(|| StoreError::NoPython {
            package: tool.package.to_owned(),
        })
}

/// Waits for the command, and ends it where the wait is cancelled.
fn call(
    mut command: Command,
    tool: &PythonTool,
    home: &Path,
    cancel: &AtomicBool,
) -> Result<(), StoreError> {
    let failed = |lines: Vec<String>| StoreError::PythonFailed {
        package: tool.package.to_owned(),
        lines,
    };
    let child = command
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| failed(vec![error.to_string()]))?;
    let mut last = Vec::new();
    let status = listen(child, cancel, &mut |line| {
        last.push(line.to_owned());
        if last.len() > LINES_KEPT {
            last.remove(0);
        }
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(failed(last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_counts_from_its_marker_on() {
        let cache = tempfile::tempdir().unwrap();
        let store = Store::open(cache.path(), &Env::default()).unwrap();
        let tool = PythonTool::MEDUSA;
        let home = store.home_of_python(&tool);
        fs_err::create_dir_all(home.join("bin")).unwrap();
        fs_err::write(home.join("bin/medusa"), "").unwrap();
        assert_eq!(store.python_tool(&tool), None);
        fs_err::write(home.join(MARKER), "").unwrap();
        assert_eq!(store.python_tool(&tool), Some(home.join("bin/medusa")));
    }

    #[test]
    fn without_python_the_error_names_what_wants_it() {
        let cache = tempfile::tempdir().unwrap();
        let store = Store::open(cache.path(), &Env::default()).unwrap();
        let never = AtomicBool::new(false);
        let error = store
            .ensure_python(&PythonTool::MEDUSA, &never, &mut |_| {})
            .unwrap_err();
        assert!(error.to_string().contains("cassandra-medusa"), "{error}");
        assert!(
            error.hint().contains("--without medusa"),
            "{}",
            error.hint()
        );
    }
}
