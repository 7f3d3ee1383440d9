//! `prove stack [PART…]`: a developer's stack with Reaper, Medusa and Prometheus for real, in parts: start, small, load, backup, repair, killed, s3, cost.
//! Refuses to go on without a tool that a part is about, and removes all that it made.

mod cost;
mod trials;

use super::findings::{Sheet, Tried};
use super::rig;
use serde_json::Value;
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What `--list` says.
pub(crate) const ABOUT: &str = "helenus stack: Reaper, Medusa, Prometheus beside nodes; parts: start, load, backup, repair, killed, small, s3, cost; --minutes N of load (5)";

/// Form of the lines.
const FORMAT: &str = "helenus.proof-stack/1";

/// A part with its name.
type Part = (&'static str, fn(&Lab, &mut Sheet) -> Tried);

/// All parts, in the order in which they run; those before `small` share one stack.
const PARTS: [Part; 8] = [
    ("start", trials::start),
    ("load", trials::load),
    ("backup", trials::backup),
    ("repair", trials::repair),
    ("killed", trials::killed),
    ("small", trials::small),
    ("s3", trials::s3),
    ("cost", cost::cost),
];

/// The stack that most parts share.
const NAME: &str = "stack";

/// Runs the campaign, and says whether everything holds.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<bool, Box<dyn Error>> {
    let (mut named, mut minutes) = (Vec::new(), 5);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => {
                let number = words.next().and_then(|n| n.parse().ok());
                minutes = number.ok_or("--minutes wants a number")?;
            }
            word if PARTS.iter().any(|(name, _)| *name == word) => named.push(word),
            word => {
                let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
                return Err(
                    format!("stack has no part {word}; it has {}", known.join(", ")).into(),
                );
            }
        }
    }
    let target = rig::build(root, true)?;
    let lab = Lab {
        helenus: target.join("release/helenus"),
        home: target.join("prove/stack-home"),
        cache: std::env::var_os("HELENUS_CACHE")
            .unwrap_or_else(|| target.join("prove/cache").into_os_string()),
        minutes,
    };
    // What an earlier sitting left.
    let _none_there = lab.helenus(&["rm", "--all"]);
    let mut sheet = Sheet::open(root, "stack", FORMAT, None)?;
    for (name, part) in PARTS {
        if !named.is_empty() && !named.contains(&name) {
            continue;
        }
        sheet.part(name, |sheet| part(&lab, sheet))?;
    }
    let removed = lab.helenus(&["rm", "--all"]);
    let left = trials::processes(&lab)?;
    let gone = removed.is_ok() && left.is_empty();
    sheet.found("rm leaves no process", gone, &left.join("; "), None)?;
    Ok(sheet.end())
}

/// The binary with folders for this campaign alone.
struct Lab {
    helenus: PathBuf,
    home: PathBuf,
    cache: OsString,
    minutes: u64,
}

impl Lab {
    /// Runs the binary, however it ends.
    fn output(&self, words: &[&str]) -> Result<Output, Box<dyn Error>> {
        let mut command = Command::new(&self.helenus);
        command
            .args(words)
            .env("HELENUS_HOME", &self.home)
            .env("HELENUS_CACHE", &self.cache);
        Ok(command.output()?)
    }

    /// What the binary printed; a failure is an error.
    fn helenus(&self, words: &[&str]) -> Result<String, Box<dyn Error>> {
        let output = self.output(words)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let error = String::from_utf8_lossy(&output.stderr).into_owned();
                Err(format!("helenus {}: {error}", words.join(" ")).into())
            }
        }
    }

    /// What the binary printed as JSON, and its exit code.
    fn json(&self, words: &[&str]) -> Result<(Value, i32), Box<dyn Error>> {
        let output = self.output(&[words, &["--format", "json"]].concat())?;
        let value = serde_json::from_slice(&output.stdout).map_err(|_| {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            format!("helenus {}: {error}", words.join(" "))
        })?;
        Ok((value, output.status.code().unwrap_or(-1)))
    }

    /// Runs statements through a node, or any of a cluster.
    fn cql(&self, target: &str, statements: &str) -> Result<String, Box<dyn Error>> {
        self.helenus(&["cql", target, "-e", statements])
    }
}
