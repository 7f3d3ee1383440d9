//! A pod that waits for generators to be started in it.
//! Refuses to wait for nobody: it ends when nothing has run in it for some minutes.

use crate::cancel::Cancel;
use fs_err as fs;
use std::time::{Duration, Instant};

/// Longest time without any other program: whoever made the pod is gone, and could not delete it.
const NOBODY_FOR: Duration = Duration::from_secs(300);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Waits until it is stopped, or no command has come for a while.
pub fn idle(cancel: &Cancel) {
    let mut seen = Instant::now();
    let mut looked = Instant::now();
    while !cancel.is_set() && seen.elapsed() < NOBODY_FOR {
        if looked.elapsed() > Duration::from_secs(5) {
            looked = Instant::now();
            if somebody() {
                seen = Instant::now();
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether another program runs in this pod.
fn somebody() -> bool {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.into_iter().any(|id| id != own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_it_is_asked_to() {
        let cancel = Cancel::default();
        cancel.set();
        idle(&cancel);
        assert!(somebody(), "tests do not run alone on a machine");
    }
}
