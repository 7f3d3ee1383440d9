//! The tests of `ccmlib`'s names, run by a Python that has what they need, against the binary that was just built.
//! Refuses to hide what they miss: it is a failure.

use crate::home::Home;
use crate::pytest;
use std::path::Path;

pub(crate) fn suites_that_use_ccmlib_run() {
    let home = Home::new();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/ccm");
    let temporary = home.path().join("pytest");
    let mut command = pytest::pytest(&home, &package.join("tests"));
    command
        .arg(format!("--basetemp={}", temporary.display()))
        .env("PYTHONPATH", package.join("src"))
        .env("HELENUS_BINARY", env!("CARGO_BIN_EXE_helenus"))
        .env("CCM_MAX_HEAP_SIZE", "128M")
        .env_remove("CCM_CONFIG_DIR");
    pytest::passes(command);
}
