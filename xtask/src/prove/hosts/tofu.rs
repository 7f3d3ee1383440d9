//! `prove hosts tofu`: OpenTofu built from its modules, the files of eight topologies validated by it, and six machines in which
//! `helenus hosts up` brings nodes up. Refuses to run without root, Go, dockerd and mmdebstrap.

use super::{Sheet, scripts};
use std::error::Error;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = include_str!("tofu.sh");

/// Runs this part; each step of the script is a finding.
pub(super) fn run(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let work = home.with_file_name("tofu");
    fs_err::create_dir_all(&work)?;
    let script = work.join("tofu.sh");
    fs_err::write(&script, SCRIPT)?;
    let mut command = Command::new("bash");
    command
        .arg(&script)
        .env("WORK", &work)
        .env("HELENUS", helenus);
    let status = scripts::findings(sheet, command)?;
    sheet.found(
        "nothing is wrong, and nothing is left",
        status.success(),
        "",
        None,
    )
}
