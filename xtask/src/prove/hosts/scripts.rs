//! Scripts whose lines are findings: what was looked at, whether it holds, how long it took, what was seen.

use super::Sheet;
use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Runs a script to its end; lines of another form are shown as they are.
pub(super) fn findings(
    sheet: &mut Sheet,
    mut script: Command,
) -> Result<ExitStatus, Box<dyn Error>> {
    let mut child = script.stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    for line in lines.map_while(Result::ok) {
        match finding(&line) {
            Some(Finding {
                what,
                holds,
                took,
                seen,
            }) => sheet.found(what, holds, seen, Some(took))?,
            None => println!("    {line}"),
        }
    }
    Ok(child.wait()?)
}

/// A line of a script.
#[derive(Debug, PartialEq, Eq)]
struct Finding<'a> {
    what: &'a str,
    holds: bool,
    took: Duration,
    seen: &'a str,
}

/// `up: the node serves   holds   12 s  seen`, or without the word where what does not hold ends the script.
fn finding(line: &str) -> Option<Finding<'_>> {
    let timed = |head: &'_ str| -> Option<(usize, u64)> {
        let (what, seconds) = head.rsplit_once(' ')?;
        Some((what.len(), seconds.parse().ok()?))
    };
    // What was looked at may have seconds in it, too.
    let whole = line.trim_end().strip_suffix(" s").and_then(timed);
    let ((length, seconds), seen) = match (whole, line.split_once(" s  ")) {
        (Some(found), _) => (found, ""),
        (None, Some((head, seen))) => (timed(head)?, seen.trim()),
        (None, None) => return None,
    };
    let (head, took) = (&line[..length], Duration::from_secs(seconds));
    let head = head.trim_end();
    let fails = head.strip_suffix("DOES NOT HOLD");
    let what = fails.or_else(|| head.strip_suffix("holds")).unwrap_or(head);
    Some(Finding {
        what: what.trim_end(),
        holds: fails.is_none(),
        took,
        seen,
    })
}

/// Lets a script be run by its name.
pub(super) fn executable(script: &Path) -> Result<(), Box<dyn Error>> {
    Ok(fs_err::set_permissions(
        script,
        std::fs::Permissions::from_mode(0o700),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_scripts_are_findings() {
        let of =
            |line| finding(line).map(|one| (one.what, one.holds, one.took.as_secs(), one.seen));
        assert_eq!(
            of("a second plan, hosts rm      91 s"),
            Some(("a second plan, hosts rm", true, 91, ""))
        );
        assert_eq!(
            of("unit is active   holds           3 s  "),
            Some(("unit is active", true, 3, ""))
        );
        assert_eq!(
            of("memory limit     DOES NOT HOLD    2 s  0, wanted 1"),
            Some(("memory limit", false, 2, "0, wanted 1"))
        );
        assert_eq!(
            of("6 of 6 nodes serve after 94.4 s    95 s"),
            Some(("6 of 6 nodes serve after 94.4 s", true, 95, ""))
        );
        assert_eq!(of("left: a1b2"), None);
        assert_eq!(of("0 wrong"), None);
    }
}
