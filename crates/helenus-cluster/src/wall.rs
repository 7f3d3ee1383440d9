//! The time of day.
//! Refuses to be a stopwatch: somebody may set it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970, by this machine's clock.
pub fn since_1970() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

/// The same in nanoseconds.
pub fn now_ns() -> u64 {
    u64::try_from(since_1970().as_nanos()).unwrap_or(u64::MAX)
}
