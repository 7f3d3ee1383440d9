//! `prove hosts`: clusters on hosts by the tools that people use there, each tool for real.
//! Refuses to run a part whose tool is not there.

mod ansible;
mod guest;
mod scripts;
mod swarm;
mod tofu;

use super::host::{self, Host};
use super::journal;
use super::rig;
use serde_json::{Value, json};
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `--list` says.
pub(crate) const ABOUT: &str = "helenus hosts by Ansible on six hosts with sshd; parts: ansible, secured, swarm (a Docker engine), tofu (Go, Docker), guest, join, numa (QEMU)";

/// Form of the lines.
const FORMAT: &str = "helenus.proof-hosts/1";

/// A part with its name.
type Part = (
    &'static str,
    fn(&mut Sheet, &Path, &Path) -> Result<(), Box<dyn Error>>,
);

/// All parts; the first two are run where none is named.
const PARTS: [Part; 7] = [
    ("ansible", ansible::life),
    ("secured", ansible::secured),
    ("swarm", swarm::run),
    ("tofu", tofu::run),
    ("guest", guest::life),
    ("join", guest::join),
    ("numa", guest::numa),
];

/// Parts that need nothing but Ansible and sshd.
const USUAL: usize = 2;

/// Runs the campaign, and says whether everything holds.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<bool, Box<dyn Error>> {
    let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    if let Some(word) = words.iter().find(|word| !known.contains(word)) {
        return Err(format!("hosts has no part {word}; it has {}", known.join(", ")).into());
    }
    // The tools take the time: the debug build will do.
    let target = rig::build(root, false)?;
    let folder = root.join("benches/runs");
    fs_err::create_dir_all(&folder)?;
    let chosen = |(place, (name, _)): &(usize, &Part)| match words {
        [] => *place < USUAL,
        words => words.contains(name),
    };
    let mut all_hold = true;
    for (_, (name, part)) in PARTS.iter().enumerate().filter(chosen) {
        let machine = Host::read(String::new(), root);
        let mut sheet = Sheet {
            path: journal::unused(&folder, &format!("hosts-{name}"), &machine.hash),
            fails: 0,
            rows: 0,
        };
        sheet.write(
            &json!({"line": "sitting", "format": FORMAT, "at_unix": host::now_unix(), "part": name, "host": machine}),
        )?;
        println!("{name}");
        // Of this part alone: another one may run meanwhile.
        let home = target.join(format!("prove/hosts-{name}"));
        part(&mut sheet, &target.join("debug/helenus"), &home)?;
        if home.exists() {
            fs_err::remove_dir_all(&home)?;
        }
        println!(
            "{}: {} of {} hold",
            sheet.path.display(),
            sheet.rows - sheet.fails,
            sheet.rows
        );
        all_hold &= sheet.fails == 0;
    }
    Ok(all_hold)
}

/// Where findings are written as they land.
struct Sheet {
    path: PathBuf,
    fails: usize,
    rows: usize,
}

impl Sheet {
    fn found(
        &mut self,
        what: &str,
        holds: bool,
        said: &str,
        took: Option<Duration>,
    ) -> Result<(), Box<dyn Error>> {
        let seconds = took.map(|took| took.as_secs_f64());
        let word = if holds { "holds" } else { "DOES NOT HOLD" };
        let time = seconds.map_or(String::new(), |s| format!("{s:.1} s"));
        println!("  {what:<48} {word:<13} {time:>8}  {said}");
        self.rows += 1;
        self.fails += usize::from(!holds);
        let load = fs_err::read_to_string("/proc/loadavg")?;
        let load = load.split(' ').next().unwrap_or_default().to_owned();
        self.write(&json!({"line": "finding", "at_unix": host::now_unix(), "what": what, "holds": holds, "seconds": seconds, "said": said, "load": load}))
    }

    fn write(&self, line: &Value) -> Result<(), Box<dyn Error>> {
        let mut file = fs_err::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        writeln!(file, "{line}")?;
        file.sync_all()?;
        Ok(())
    }
}
