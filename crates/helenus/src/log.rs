//! The log for developers: a file in the state folder, rotated at each start beyond 4 MiB, and `-v` on standard error.
//! Refuses to be a way of talking to people.

use fs_err as fs;
use std::path::Path;
use std::sync::Mutex;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A log larger than this is set aside when the next command begins.
const ROTATE_AT_BYTES: u64 = 4 << 20;

/// Logs set aside: `helenus.log.1` is the newest.
const KEPT: u32 = 3;

/// Opens the log; without one the command goes on.
pub(crate) fn open(state: &Path, verbose: u8) {
    let path = state.join("helenus.log");
    rotate(&path);
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .ok();
    let file = file.map(|file| {
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(Mutex::new(file.into_parts().0))
    });
    let stderr = (verbose > 0).then(|| {
        tracing_subscriber::fmt::layer()
            .without_time()
            .with_writer(std::io::stderr)
    });
    let level = if verbose > 1 { "debug" } else { "info" };
    let filter = EnvFilter::try_from_env("HELENUS_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    // A second registration happens in no command; were there one, the first would stay.
    let _first_stays = tracing_subscriber::registry()
        .with(filter)
        .with(file)
        .with(stderr)
        .try_init();
}

fn rotate(path: &Path) {
    if fs::metadata(path).map_or(0, |m| m.len()) < ROTATE_AT_BYTES {
        return;
    }
    let numbered = |n: u32| path.with_extension(format!("log.{n}"));
    for n in (1..KEPT).rev() {
        let _none_there_yet = fs::rename(numbered(n), numbered(n + 1));
    }
    let _another_did_it = fs::rename(path, numbered(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_log_is_set_aside_and_the_oldest_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("helenus.log");
        for round in 0..5_u8 {
            fs::write(&path, vec![round; ROTATE_AT_BYTES as usize]).unwrap();
            rotate(&path);
            assert!(!path.exists());
        }
        let first = |n: u32| fs::read(path.with_extension(format!("log.{n}"))).unwrap()[0];
        assert_eq!((first(1), first(2), first(3)), (4, 3, 2));
        assert!(!path.with_extension("log.4").exists());
    }
}
