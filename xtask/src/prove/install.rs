//! `prove install`: the release build of this commit and of the one before the work on builds, each in a clean clone with an
//! empty target folder, with all crates on this machine. Refuses to time a download.

use super::campaign::{Bar, Campaign, Outcome, by_name, rounded};
use super::count::children;
use super::host::Watch;
use super::rig::Rig;
use crate::dist::done;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The last commit before the work on builds.
const BEFORE: &str = "0d9a276a";

pub(crate) const INSTALL: Campaign = Campaign {
    name: "install",
    about: "cargo build --release in a clean clone, of this commit and of the one before the work on builds",
    variants: &["before", "now"],
    bars: &[
        Bar::ratio("now", "before", "build_s", 0.5),
        Bar::median("now", "build_s", 240.0).as_aim(),
    ],
    prepare,
    trial,
};

/// Brings the crates of both commits here.
fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    for variant in INSTALL.variants {
        let clone = cloned(rig, variant)?;
        cargo(&clone, &["fetch", "--locked"])?;
    }
    rig.trial_folder().map(drop)
}

/// A clean clone at the commit of that variant.
fn cloned(rig: &Rig, variant: &str) -> Result<PathBuf, Box<dyn Error>> {
    let clone = rig.trial_folder()?.join(variant);
    let commit = match variant {
        "before" => BEFORE,
        _ => "HEAD",
    };
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-checkout"]);
    done(git.arg(&rig.root).arg(&clone))?;
    let mut git = Command::new("git");
    git.args(["checkout", "--quiet", "--detach", commit]);
    done(git.current_dir(&clone))?;
    Ok(clone)
}

fn cargo(clone: &Path, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new("cargo");
    // Below the clone: nothing of this workspace's is built already.
    cargo
        .args(args)
        .current_dir(clone)
        .env_remove("CARGO_TARGET_DIR");
    done(&mut cargo)
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let clone = cloned(rig, variant)?;
    let watch = Watch::begin()?;
    let (begin, used) = (Instant::now(), children()?);
    cargo(&clone, &["build", "--release", "--locked", "--quiet"])?;
    let (took, cpu) = (begin.elapsed().as_secs_f64(), children()? - used);
    let pressure = watch.end(cpu)?;
    let binary = fs_err::metadata(clone.join("target/release/helenus"))?.len();
    rig.trial_folder()?;
    Ok(Outcome {
        measures: by_name([
            ("build_s", rounded(took)),
            ("cpu_s", rounded(cpu)),
            ("binary_mb", rounded(binary as f64 / 1e6)),
        ]),
        pressure,
    })
}
