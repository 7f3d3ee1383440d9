//! CHORES OF THE HOUSE: what keeps committed data true. One file a chore; this one only dispatches.
//! Refuses to be part of the product: no crate depends on it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the one who runs it"
)]

// What others use.
mod dist;
mod maven;
mod words;

// Campaigns, and the figures of the pages.
mod figures;
mod prove;

// Committed data, and checks of the source.
mod formats;
mod keys;
mod lock;
mod order;

// Patches.
mod patches;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask CHORE

  lock VERSION   write the release's lock: its jars with sizes and SHA-256
  keys VERSION   write the release's table of cassandra.yaml keys; before 4.0 from its distribution
  patches SERIES write how the keys of the series' other patches differ from those of the pinned one
  prove NAME [--repeats N] [--only VARIANT] [--rows N] [--fresh]
                 measure a figure again and hold it to its bars; prove --list names them
  dist [--arch ARCH] [--dry-run]
                 build what is given away into target/dist: wheel, tarball, .deb, SHA256SUMS
  figures [--check] [PAGE...]
                 write the pages' figures anew from their raw files, or show where they differ
  formats [--check]
                 write the pages of the JSON formats anew from their types, or show where they differ
  order          show who imports whom in each crate, and what has no order
  words          show retired phrases in the program's texts and the documents";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["lock", version] => lock::run(version),
        ["keys", version] => keys::run(version),
        ["patches", series] => patches::run(series),
        ["prove", ref rest @ ..] => match prove::run(rest) {
            Ok(verdict) => return verdict,
            Err(error) => Err(error),
        },
        ["dist", ref rest @ ..] => match dist::run(rest) {
            Ok(verdict) => return verdict,
            Err(error) => Err(error),
        },
        ["figures", ref rest @ ..] => match figures::run(rest) {
            Ok(verdict) => return verdict,
            Err(error) => Err(error),
        },
        ["order"] => match order::run() {
            Ok(verdict) => return verdict,
            Err(error) => Err(error),
        },
        ["words"] => match words::run() {
            Ok(verdict) => return verdict,
            Err(error) => Err(error),
        },
        ["formats", ref rest @ ..] => match formats::run(rest) {
            Ok(verdict) => return verdict,
            Err(error) => Err(error),
        },
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
