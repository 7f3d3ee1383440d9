//! `prove hosts guest`: one host that is a machine of QEMU's, with systemd and a kernel whose settings may be changed.
//! Refuses to run without root, QEMU and mmdebstrap, and leaves no guest behind.

use super::{Sheet, scripts};
use std::error::Error;
use std::path::Path;
use std::process::Command;

const GUEST: &str = include_str!("guest.sh");
const CHECKS: &str = include_str!("checks.sh");

/// Runs this part; each line of the checks is a finding.
pub(super) fn run(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let work = home.with_file_name("guest");
    fs_err::create_dir_all(&work)?;
    let (guest, checks) = (work.join("guest.sh"), work.join("checks.sh"));
    fs_err::write(&guest, GUEST)?;
    fs_err::write(&checks, CHECKS)?;
    scripts::executable(&guest)?;
    let command = |program: &Path| {
        let mut command = Command::new("bash");
        command
            .arg(program)
            .env("GUEST", work.join("guest"))
            .env("GUEST_BASE", work.join("base"))
            .env("GUEST_SH", &guest)
            .env("HELENUS", helenus)
            .env("HELENUS_HOME", home);
        command
    };
    let made = command(&guest).arg("up").status()?;
    let tried = match made.success() {
        true => scripts::findings(sheet, command(&checks)).map(|_| ()),
        false => Err("guest.sh up failed".into()),
    };
    let gone = command(&guest).arg("down").status()?;
    if let Err(error) = tried {
        sheet.found(
            "the campaign ran to its end",
            false,
            &error.to_string(),
            None,
        )?;
    }
    sheet.found("the guest is gone", gone.success(), "", None)
}
