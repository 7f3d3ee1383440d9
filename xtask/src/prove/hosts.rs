//! `prove hosts`: clusters on hosts by the tools that people use there, each tool for real.
//! Refuses to run a part whose tool is not there.

mod ansible;
mod guest;
mod scripts;
mod swarm;
mod tofu;

use super::findings::Sheet;
use super::rig;
use std::error::Error;
use std::path::Path;

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
    let chosen = |(place, (name, _)): &(usize, &Part)| match words {
        [] => *place < USUAL,
        words => words.contains(name),
    };
    let mut all_hold = true;
    for (_, (name, part)) in PARTS.iter().enumerate().filter(chosen) {
        let mut sheet = Sheet::open(root, &format!("hosts-{name}"), FORMAT, Some(name))?;
        println!("{name}");
        // Of this part alone: another one may run meanwhile.
        let home = target.join(format!("prove/hosts-{name}"));
        part(&mut sheet, &target.join("debug/helenus"), &home)?;
        if home.exists() {
            fs_err::remove_dir_all(&home)?;
        }
        all_hold &= sheet.end();
    }
    Ok(all_hold)
}
