//! The tests of the pytest plugin, run by a Python that has what they need, against the binary that was just built.
//! Refuses to hide what they miss: it is a failure. Those marked `more` are for who changes the plugin.

use crate::home::{self, Home};
use std::path::Path;
use std::process::Command;

fn python() -> String {
    std::env::var("HELENUS_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// What this machine lacks for them, with its cure.
pub(crate) fn lacking() -> Option<String> {
    let output = Command::new(python())
        .args(["-c", "import cassandra.cluster, pytest, xdist"])
        .output();
    (!output.is_ok_and(|o| o.status.success())).then(|| {
        "the pytest plugin (pip install cassandra-driver pytest pytest-xdist, and set HELENUS_PYTHON)"
            .to_owned()
    })
}

pub(crate) fn the_pytest_plugin_passes_its_own_tests() {
    let home = Home::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python/tests");
    let binary = Path::new(env!("CARGO_BIN_EXE_helenus"));
    let folder = binary.parent().expect("the binary has a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let mut command = pytest(&home, &tests);
    command
        .args(["-n", "2", "-m", "not more"])
        .env("PATH", std::env::join_paths(paths).expect("a PATH"))
        .env("HELENUS_NOT_RUN", "fail")
        .env("HELENUS_KILLS", "2");
    passes(command);
}

/// pytest over a folder of tests, in a home that nothing else uses.
pub(crate) fn pytest(home: &Home, tests: &Path) -> Command {
    let mut command = Command::new(python());
    command
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(tests)
        .env("HELENUS_HOME", home.path())
        .env("HELENUS_CACHE", home::cache())
        .env_remove("HELENUS_CLUSTER")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Runs tests that must all pass.
pub(crate) fn passes(mut command: Command) {
    let output = command.output().expect("Python runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
