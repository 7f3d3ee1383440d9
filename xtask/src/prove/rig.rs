//! What every trial stands on: the binary in a home of its own, the JDK and the jars, and the times of a
//! start. Refuses to leave a process: what it starts by itself is leashed, and its home is emptied before each trial.

use super::campaign::{Measures, by_name, rounded};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::env::Env;
use helenus_cluster::error::with_causes;
use helenus_cluster::jdk;
use helenus_cluster::store::{ReleaseFiles, Store};
use helenus_cql::client::{Client, ConnectOptions};
use helenus_cql::codec::Consistency;
use helenus_model::release::{Arch, Jdk, Release};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Between two attempts to connect: small against a start, cheap against two cores.
const KNOCK_EVERY: Duration = Duration::from_millis(5);

/// Longest wait for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The bench that trials are made on.
#[derive(Debug)]
pub(crate) struct Rig {
    /// The workspace.
    pub(crate) root: PathBuf,
    /// The binary: the release build, or the debug build of a campaign that measures no time.
    pub(crate) helenus: PathBuf,
    /// The same folders as the binary's.
    pub(crate) context: Context,
    /// The JDK that the binary chooses, too.
    pub(crate) jdk: Jdk,
    /// The release's jars.
    pub(crate) release: ReleaseFiles,
    /// Rows that the person asked for, where the campaign lets them choose.
    pub(crate) rows: Option<u64>,
}

/// Builds the binary and the stand-in for Cassandra, as a release or for debugging; answers cargo's target folder.
pub(crate) fn build(root: &Path, quick: bool) -> Result<PathBuf, Box<dyn Error>> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // A debug build is the one that tests make: other packages would mean other features, and all anew.
    let what: &[&str] = match quick {
        true => &[
            "--release",
            "-p",
            "helenus",
            "-p",
            "helenus-fake-node",
            "-p",
            "bare-loop",
        ],
        false => &["--workspace"],
    };
    let built = Command::new(cargo)
        .args(["build", "--quiet"])
        .args(what)
        .current_dir(root)
        .status()?;
    match built.success() {
        true => Ok(target),
        false => Err(format!("cargo build: {built}").into()),
    }
}

impl Rig {
    /// Builds the binary and opens its folders below `target/`.
    pub(crate) fn open(root: &Path, quick: bool) -> Result<Self, Box<dyn Error>> {
        let target = build(root, quick)?;
        let mut env = Env::of_process();
        let folder = |name: &str| target.join("prove").join(name).into_os_string();
        env.vars.insert("HELENUS_HOME".into(), folder("home"));
        env.vars.insert("HELENUS_CACHE".into(), folder("cache"));
        env.vars.remove(std::ffi::OsStr::new("HELENUS_FAKE_NODE"));
        let release = Release::newest();
        let jdk = jdk::choose(release, &jdk::find(&env), None)?.jdk;
        let helenus = target
            .join(if quick { "release" } else { "debug" })
            .join("helenus");
        let context = Context::open(env.clone(), helenus.clone(), Cancel::default())
            .map_err(|e| with_causes(&e))?;
        // Maven runs below the binary's own leash: the binary fetches, this only reads what is there.
        let fetched = Command::new(&helenus)
            .args(["releases", "fetch"])
            .envs(&env.vars)
            .status()?;
        if !fetched.success() {
            return Err(format!("helenus releases fetch: {fetched}").into());
        }
        let store = Store::open(&context.paths.cache, &env)?;
        let release = store.ensure(
            release,
            Arch::here(),
            &Cancel::default().flag(),
            &mut |_| {},
        )?;
        Ok(Self {
            root: root.to_owned(),
            helenus,
            context,
            jdk,
            release,
            rows: None,
        })
    }

    /// The JDK as a result names it.
    pub(crate) fn jdk_name(&self) -> String {
        let vendor = self.jdk.vendor.as_deref().unwrap_or("unknown vendor");
        format!("{} ({vendor})", self.jdk.version)
    }

    /// A folder for what a trial starts without the binary; emptied.
    pub(crate) fn trial_folder(&self) -> Result<PathBuf, Box<dyn Error>> {
        let folder = self.context.paths.state.join("trial");
        if folder.exists() {
            fs_err::remove_dir_all(&folder)?;
        }
        fs_err::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// What `HELENUS_FAKE_NODE` says where nodes are to be fake ones that serve.
    pub(crate) fn fake_node(&self) -> String {
        let program = self.helenus.with_file_name("helenus-fake-node");
        format!("{} serve", program.display())
    }

    /// The binary with its folders.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.helenus);
        command
            .args(args)
            .env_clear()
            .envs(&self.context.env.vars)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Result<Output, Box<dyn Error>> {
        checked(args, self.command(args).output()?)
    }

    /// Runs the binary and reads what it prints.
    pub(crate) fn json(&self, args: &[&str]) -> Result<Value, Box<dyn Error>> {
        let output = self.run(&[args, &["--format", "json"]].concat())?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// A trial that finds no cluster in the home, and leaves none there.
    pub(crate) fn alone<T>(
        &self,
        trial: impl FnOnce() -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        self.clear()?;
        let outcome = trial();
        self.clear()?;
        outcome
    }

    /// Removes whatever clusters are left in the home.
    pub(crate) fn clear(&self) -> Result<(), Box<dyn Error>> {
        self.run(&["rm", "--all"]).map(|_| ())
    }
}

/// The output of a command that ended well.
pub(crate) fn checked(args: &[&str], output: Output) -> Result<Output, Box<dyn Error>> {
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    let verb = args.first().unwrap_or(&"");
    Err(format!("helenus {verb}: {}: {}", output.status, said.join(" | ")).into())
}

/// Time since the machine began: the clock that the kernel dates processes by.
pub(crate) fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

/// Knocks at an address until a SELECT on system.local is answered; the moment of the answer.
///
/// # Errors
/// `died` says why nobody will answer any more, or `within` passed.
pub(crate) fn first_reply(
    address: SocketAddr,
    within: Duration,
    mut died: impl FnMut() -> Option<String>,
) -> Result<Duration, Box<dyn Error>> {
    let options = ConnectOptions {
        timeout: ANSWER_WITHIN,
        ..ConnectOptions::default()
    };
    let begin = Instant::now();
    loop {
        let reply = Client::connect(address, &options).and_then(|mut client| {
            client.query(
                "SELECT host_id, release_version FROM system.local",
                Consistency::One,
            )
        });
        let now = since_boot();
        match reply {
            Ok(rows) if rows.len() == 1 => return Ok(now),
            Ok(_) => return Err("system.local is empty".into()),
            Err(error) if begin.elapsed() > within => {
                return Err(format!("no reply within {} s: {error}", within.as_secs()).into());
            }
            Err(_) => {}
        }
        if let Some(why) = died() {
            return Err(why.into());
        }
        std::thread::sleep(KNOCK_EVERY);
    }
}

/// What the kernel says of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Life {
    /// Its start, since the machine began; in ticks of 10 ms, cut off: a start never seems shorter than it was.
    pub(crate) began: Duration,
    /// Its CPU time, user and system, of all its threads, in seconds.
    pub(crate) cpu: f64,
    /// That of ended children and theirs.
    pub(crate) of_children: f64,
}

impl Life {
    pub(crate) fn of(pid: u32) -> Result<Self, Box<dyn Error>> {
        let text = fs_err::read_to_string(format!("/proc/{pid}/stat"))?;
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        Ok(Self::parse(&text, ticks).ok_or("/proc/PID/stat cannot be read")?)
    }

    fn parse(text: &str, ticks: f64) -> Option<Self> {
        // The name may hold anything, a closing bracket too.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |n: usize| fields.get(n)?.parse::<f64>().ok();
        Some(Self {
            began: Duration::from_secs_f64(field(19)? / ticks),
            cpu: (field(11)? + field(12)?) / ticks,
            of_children: (field(13)? + field(14)?) / ticks,
        })
    }
}

/// Wall time, CPU time and locked memory of a process at its first reply.
pub(crate) fn measures_of(pid: u32, reply: Duration) -> Result<Measures, Box<dyn Error>> {
    let life = Life::of(pid)?;
    let wall = reply.saturating_sub(life.began).as_secs_f64();
    Ok(by_name([
        ("wall_s", rounded(wall)),
        ("cpu_s", life.cpu),
        (
            "locked_mib",
            memory_of("VmLck:", pid).ok_or("no VmLck of the process")?,
        ),
    ]))
}

/// Memory of a process in MiB: resident (`VmRSS:`), its high-water mark (`VmHWM:`) or locked (`VmLck:`); none once it has
/// ended.
pub(crate) fn memory_of(what: &str, pid: u32) -> Option<f64> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(what))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((kib / 1024.0).round())
}

/// Looks until something is found, at most for so long.
pub(crate) fn until<T>(
    within: Duration,
    every: Duration,
    mut look: impl FnMut() -> Result<Option<T>, Box<dyn Error>>,
) -> Result<Option<T>, Box<dyn Error>> {
    let begin = Instant::now();
    loop {
        let found = look()?;
        if found.is_some() || begin.elapsed() > within {
            return Ok(found);
        }
        std::thread::sleep(every);
    }
}

/// Why a child will not answer any more.
pub(crate) fn ended(child: &mut Child, what: &str) -> Option<String> {
    let status = child.try_wait().ok().flatten()?;
    Some(format!("{what} ended: {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_gives_its_start_and_its_cpu_time() {
        let line = "7 (a b) c) S 1 7 7 0 -1 4194560 10 0 0 0 150 50 0 0 20 0 1 0 4321 1 1";
        let life = Life::parse(line, 100.0).unwrap();
        assert_eq!((life.cpu, life.of_children), (2.0, 0.0));
        assert_eq!(life.began, Duration::from_secs_f64(43.21));
        let me = Life::of(std::process::id()).unwrap();
        assert!(me.began <= since_boot());
    }
}
