//! The tests of `ccmlib`'s names, run by a Python that has what they need, against the binary that was just built.
//! Refuses to hide what they miss: it is a failure.

use crate::home::{self, Home};
use std::path::Path;
use std::process::Command;

pub(crate) fn suites_that_use_ccmlib_run() {
    let home = Home::new();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/ccm");
    let temporary = home.path().join("pytest");
    let python = std::env::var("HELENUS_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(format!("--basetemp={}", temporary.display()))
        .arg(package.join("tests"))
        .env("PYTHONPATH", package.join("src"))
        .env("HELENUS_BINARY", env!("CARGO_BIN_EXE_helenus"))
        .env("HELENUS_HOME", home.path())
        .env("HELENUS_CACHE", home::cache())
        .env("CCM_MAX_HEAP_SIZE", "128M")
        .env_remove("HELENUS_CLUSTER")
        .env_remove("CCM_CONFIG_DIR")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
