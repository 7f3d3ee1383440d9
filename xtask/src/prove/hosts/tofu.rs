//! `prove hosts tofu`: OpenTofu built from its modules, the files of eight topologies validated by it, and six machines in which
//! `helenus hosts up` brings nodes up. Refuses to run without root, Go, dockerd and mmdebstrap.

use super::Sheet;
use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const SCRIPT: &str = include_str!("tofu.sh");

/// Runs this part; each line of the script that ends in its seconds is a finding.
pub(super) fn run(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let work = home.with_file_name("tofu");
    fs_err::create_dir_all(&work)?;
    let script = work.join("tofu.sh");
    fs_err::write(&script, SCRIPT)?;
    let mut child = Command::new("bash")
        .arg(&script)
        .env("WORK", &work)
        .env("HELENUS", helenus)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut last = String::new();
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    for line in lines.map_while(Result::ok) {
        match timed(&line) {
            Some((what, took)) => sheet.found(what, true, "", Some(took))?,
            None => {
                println!("    {line}");
                last = line;
            }
        }
    }
    let status = child.wait()?;
    sheet.found(
        "OpenTofu finds nothing wrong",
        status.success(),
        &last,
        None,
    )
}

/// What a line says and how long it took: `eight topologies for docker: fmt    12 s`.
fn timed(line: &str) -> Option<(&str, Duration)> {
    let (what, seconds) = line.strip_suffix(" s")?.rsplit_once(' ')?;
    Some((what.trim_end(), Duration::from_secs(seconds.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_its_seconds_is_a_finding() {
        let found = timed("second plan, hosts rm                91 s");
        assert_eq!(
            found,
            Some(("second plan, hosts rm", Duration::from_secs(91)))
        );
        assert_eq!(timed("left: a1b2"), None);
        assert_eq!(timed("0 wrong"), None);
    }
}
