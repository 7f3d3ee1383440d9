//! Puts the commit into `helenus --version`. Refuses to fail where there is no git.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let commit = Command::new("git")
        .args(["rev-parse", "--short=10", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "no commit".to_owned(), |text| text.trim().to_owned());
    println!("cargo::rustc-env=HELENUS_COMMIT={commit}");
}
