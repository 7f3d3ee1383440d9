//! The machine as a number needs it: what it is, and what else it was doing during a trial.
//! Refuses to name it: a machine is known by a hash of its facts.

use helenus_cluster::machine;
use helenus_model::hex::sha256;
use helenus_record::when::Utc;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// To three digits behind the point.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// What a result must say about the machine and the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) hash: String,
    pub(crate) processor: String,
    pub(crate) cores: u32,
    pub(crate) memory_mib: u64,
    pub(crate) kernel: String,
    pub(crate) jdk: String,
    pub(crate) commit: String,
    /// Who is not root measures another machine: without control groups, with namespaces of a user's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) ordinary_user: bool,
}

impl Host {
    pub(crate) fn read(jdk: String, root: &Path) -> Self {
        let machine = machine::read();
        let id = fs_err::read_to_string("/etc/machine-id").unwrap_or_default();
        let gib = (machine.memory.as_mib() + 512) / 1024;
        let ordinary_user = !rustix::process::geteuid().is_root();
        let who = if ordinary_user { "\nordinary user" } else { "" };
        let facts = format!("{id}\n{}\n{}\n{gib}{who}", machine.processor, machine.cores);
        Self {
            hash: sha256(facts)[..6].to_owned(),
            processor: machine.processor,
            cores: machine.cores,
            memory_mib: machine.memory.as_mib(),
            kernel: machine.kernel,
            jdk,
            commit: commit(root),
            ordinary_user,
        }
    }
}

/// The commit that is measured; `+` where sources were changed since.
fn commit(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(root).output();
        let output = output.ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "none".into());
    // Results and pages change no number.
    let changed = git(&["status", "--porcelain", "--", "crates", "Cargo.lock"]);
    let mark = if changed.is_none_or(|c| c.is_empty()) {
        ""
    } else {
        "+"
    };
    format!("{head}{mark}")
}

/// What went on beside the measured processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pressure {
    /// Load average of the last minute, when the trial began.
    pub(crate) load: f64,
    /// Share of the machine's time that the hypervisor gave to others.
    pub(crate) steal: f64,
    /// Share of the machine's time that other processes took.
    pub(crate) others: f64,
}

/// Ticks of all cores since the machine began.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    busy: u64,
    /// Of the busy ones, those of processes that let all others go first.
    nice: u64,
    steal: u64,
    all: u64,
}

impl Ticks {
    fn now() -> io::Result<Self> {
        let text = fs_err::read_to_string("/proc/stat")?;
        Self::parse(&text).ok_or_else(|| io::Error::other("/proc/stat has no line for all cores"))
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .map_while(|t| t.parse().ok())
            .collect();
        let [user, nice, system, idle, wait, irq, soft, steal, ..] = ticks[..] else {
            return None;
        };
        let busy = user + nice + system + irq + soft;
        Some(Self {
            busy,
            nice,
            steal,
            all: busy + idle + wait + steal,
        })
    }
}

/// Begun with a trial, ended with what its own processes used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    load: f64,
    begin: Ticks,
}

impl Watch {
    pub(crate) fn begin() -> io::Result<Self> {
        Ok(Self {
            load: load()?,
            begin: Ticks::now()?,
        })
    }

    /// `own` is the CPU time of the measured processes, in seconds.
    pub(crate) fn end(self, own: f64) -> io::Result<Pressure> {
        let end = Ticks::now()?;
        let all = end.all.saturating_sub(self.begin.all).max(1) as f64;
        let busy = end.busy.saturating_sub(self.begin.busy) as f64;
        let own = own * rustix::param::clock_ticks_per_second() as f64;
        Ok(Pressure {
            load: self.load,
            steal: rounded(end.steal.saturating_sub(self.begin.steal) as f64 / all),
            others: rounded((busy - own).max(0.0) / all),
        })
    }
}

fn load() -> io::Result<f64> {
    let text = fs_err::read_to_string("/proc/loadavg")?;
    let first = text.split_whitespace().next().and_then(|t| t.parse().ok());
    first.ok_or_else(|| io::Error::other("/proc/loadavg cannot be read"))
}

/// Waits until the machine is nearly idle but for work that lets others go first, at most `patience`; returns the share
/// that was busy last.
pub(crate) fn wait_for_quiet(patience: Duration) -> io::Result<f64> {
    const QUIET: f64 = 0.2;
    let begin = Instant::now();
    loop {
        let watch = Watch::begin()?;
        std::thread::sleep(Duration::from_secs(2));
        let nice = Ticks::now()?.nice.saturating_sub(watch.begin.nice) as f64;
        let polite = nice / rustix::param::clock_ticks_per_second() as f64;
        let pressure = watch.end(polite)?;
        if pressure.others + pressure.steal <= QUIET || begin.elapsed() > patience {
            return Ok(pressure.others);
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now_unix() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| d.as_secs())
}

/// `2026-11-21`, in UTC.
pub(crate) fn date(unix: u64) -> String {
    format!("{:.10}", Utc::of_ns(unix * 1_000_000_000).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_795_219_200), "2026-11-21");
        assert_eq!(date(1_798_761_599), "2026-12-31");
    }

    #[test]
    fn the_kernels_ticks_are_read() {
        let ticks = Ticks::parse("cpu  10 1 5 100 4 1 2 7 0 0\ncpu0 1 2\n").unwrap();
        assert_eq!((ticks.busy, ticks.steal, ticks.all), (19, 7, 130));
        assert!(Ticks::parse("cpu0 1").is_none());
    }
}
