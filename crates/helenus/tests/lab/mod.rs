//! A laboratory for one test: a home of its own, an environment that is written down, the real binary in it.
//! Refuses to end while anything of that home is left: a process, a cluster, an address, a socket.
#![allow(
    dead_code,
    unused_macros,
    reason = "two test programs share this room, and neither wants all of it"
)]

pub(crate) mod look;
pub(crate) mod machine;
#[macro_use]
pub(crate) mod said;
pub(crate) mod terminal;

pub(crate) use said::Said;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The binary under test.
pub(crate) const HELENUS: &str = env!("CARGO_BIN_EXE_helenus");

/// The stand-in for Cassandra; it is built with the workspace's tests.
pub(crate) fn fake_node() -> PathBuf {
    let program = Path::new(HELENUS).with_file_name("helenus-fake-node");
    assert!(
        program.exists(),
        "there is no fake node: cargo build --package helenus-fake-node"
    );
    program
}

/// Longest wait for anything: a hang must fail, a loaded machine must not.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);

/// The same for the end of a command: an experiment has dozens of runs.
const ENDS_WITHIN: Duration = PATIENCE.saturating_mul(3);

/// Processes that were asked to end are gone within this, or nothing asked them.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// Tests that measure at the same time: more would spoil each other's times on two processors.
static MEASURING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());
const MEASURING_MOST: usize = 4;

/// The turn of a test that runs experiments or comparisons.
#[derive(Debug)]
pub(crate) struct Turn(());

pub(crate) fn turn() -> Turn {
    let (now, ended) = &MEASURING;
    let now = now.lock().unwrap_or_else(PoisonError::into_inner);
    let full = |now: &mut usize| *now >= MEASURING_MOST;
    let now = ended.wait_while(now, full);
    *now.unwrap_or_else(PoisonError::into_inner) += 1;
    Turn(())
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (now, ended) = &MEASURING;
        *now.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ended.notify_one();
    }
}

/// A home, an environment, and the binary.
#[derive(Debug)]
pub(crate) struct TestLab {
    root: tempfile::TempDir,
    env: BTreeMap<String, OsString>,
}

impl TestLab {
    /// An empty home, an empty cache and no fake node.
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("helenus-lab-")
            .tempdir()
            .expect("a temporary folder");
        let mut lab = Self {
            root,
            env: BTreeMap::new(),
        };
        for folder in ["person", "bin"] {
            fs_err::create_dir(lab.path(folder)).expect("a folder of the lab");
        }
        if let Some(path) = std::env::var_os("PATH") {
            lab.set("PATH", path);
        }
        lab.set("XDG_RUNTIME_DIR", lab.path("run"));
        lab.make_runtime().expect("a runtime folder of the lab");
        lab.set("HOME", lab.path("person"));
        lab.set("HELENUS_HOME", lab.path("home"));
        lab.set("HELENUS_CACHE", lab.path("cache"));
        lab.set("LANG", "C.UTF-8");
        lab
    }

    /// A runtime folder: measurements wait for those of their own lab only. Addresses are claimed for the whole machine.
    fn make_runtime(&self) -> std::io::Result<()> {
        let claims = look::runtime().join("claims");
        let own = self.path("run/helenus");
        let mut private = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(private.recursive(true), 0o700);
        private.create(&claims)?;
        private.create(&own)?;
        fs_err::os::unix::fs::symlink(claims, own.join("claims"))
    }

    /// A lab whose nodes are stand-ins that behave so.
    pub(crate) fn fake(behaviour: &str) -> Self {
        let mut lab = Self::new();
        lab.behave(behaviour);
        lab
    }

    /// Nodes that are started from now on are stand-ins that behave so.
    pub(crate) fn behave(&mut self, behaviour: &str) {
        let fake = format!("{} {behaviour}", fake_node().display());
        self.set("HELENUS_FAKE_NODE", fake);
    }

    /// Sets a variable of the environment.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.insert(name.to_owned(), value.into());
    }

    /// A path in the lab, there or not.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// Folder of a cluster, there or not.
    pub(crate) fn cluster(&self, name: &str) -> PathBuf {
        self.path("home/state/clusters").join(name)
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs_err::create_dir_all(path.parent().expect("a folder")).expect("folders in the lab");
        fs_err::write(&path, text).expect("a file in the lab");
        path
    }

    /// Writes a program; only what lies in `bin` is found once [`Self::only_own_programs`] was called.
    pub(crate) fn program(&self, below: &str, text: &str) -> PathBuf {
        let path = self.write(below, text);
        let executable = std::fs::Permissions::from_mode(0o755);
        fs_err::set_permissions(&path, executable).expect("an executable file");
        path
    }

    /// PATH names the lab's own `bin` and nothing else.
    pub(crate) fn only_own_programs(&mut self) {
        self.set("PATH", self.path("bin"));
    }

    /// A folder that looks like a JDK of that version; returns it.
    pub(crate) fn jdk(&self, version: &str) -> PathBuf {
        let below = format!("jdk-{version}");
        self.program(&format!("{below}/bin/java"), "#!/bin/sh\nexit 1\n");
        let arch = std::env::consts::ARCH;
        let release = format!(
            "IMPLEMENTOR=\"Lab\"\nJAVA_VERSION=\"{version}\"\nOS_ARCH=\"{arch}\"\nOS_NAME=\"Linux\"\n"
        );
        self.write(&format!("{below}/release"), &release);
        self.path(&below)
    }

    /// A command of the binary in this environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HELENUS);
        command.args(arguments);
        self.dress(&mut command);
        command
    }

    /// Gives any command this environment and nothing else.
    pub(crate) fn dress(&self, command: &mut Command) {
        command
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::null())
            .current_dir(self.root.path());
    }

    /// Runs `helenus ARGUMENTS` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.begin(arguments).end()
    }

    /// Runs what must succeed; returns what it wrote to standard output.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, "0", "helenus {arguments:?}\n{said}");
        said.out
    }

    /// Runs a bench that must end with a result, which a busy machine may disqualify; returns its standard output.
    pub(crate) fn measured(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        let ended = said.code == "0" || said.code == "5";
        assert!(ended, "helenus {arguments:?}\n{said}");
        said.out
    }

    /// Runs what must succeed with `--format json`; returns the value.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let out = self.done(&[arguments, &["--format", "json"]].concat());
        let value: serde_json::Value =
            serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"));
        // A sentence; a list of them in the report of an experiment.
        let answer = value["answer"].as_str().or(value["answer"][0].as_str());
        assert!(
            answer.is_some_and(|words| !words.is_empty()),
            "no answer: {out}"
        );
        value
    }

    /// State of a cluster and of each of its nodes, as `list` reports them.
    pub(crate) fn states(&self, cluster: &str) -> (String, Vec<String>) {
        let listed = self.json(&["list"]);
        let one = listed["clusters"]
            .as_array()
            .and_then(|all| all.iter().find(|c| c["name"] == cluster))
            .unwrap_or_else(|| panic!("no cluster {cluster} in {listed}"))
            .clone();
        let nodes = one["nodes"].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&one["state"]),
            nodes.iter().map(|n| text(&n["condition"])).collect(),
        )
    }

    /// Starts `helenus ARGUMENTS` and lets it run.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Running {
        self.begin_command(self.command(arguments))
    }

    /// Starts a command whose output is caught in files, so that nobody's grandchild can hold a pipe.
    pub(crate) fn begin_command(&self, mut command: Command) -> Running {
        let catch = || tempfile::tempfile_in(self.root.path()).expect("a file for output");
        let (out, err) = (catch(), catch());
        let child = command
            .stdout(out.try_clone().expect("a descriptor"))
            .stderr(err.try_clone().expect("a descriptor"))
            .spawn()
            .expect("the binary starts");
        Running {
            child,
            out,
            err,
            root: self.root.path().to_owned(),
            ended: false,
        }
    }

    /// Processes of this home: those whose environment or command line names it.
    pub(crate) fn processes(&self) -> Vec<look::Process> {
        look::processes(self.root.path())
    }

    /// Node processes: those that have become the fake node.
    pub(crate) fn node_pids(&self) -> Vec<i32> {
        let nodes = self.processes().into_iter();
        nodes
            .filter(|p| p.command.contains("helenus-fake-node"))
            .map(|p| p.pid)
            .collect()
    }

    /// Removes everything and asserts that nothing of this home is left.
    pub(crate) fn leave(&self) {
        let pids: Vec<i32> = self.processes().iter().map(|p| p.pid).collect();
        let said = self.run(&["rm", "--all"]);
        assert_eq!(said.code, "0", "rm --all\n{said}");
        look::wait_for("the end of every process of this home", GONE_WITHIN, || {
            let left = self.processes();
            if left.is_empty() {
                Ok(())
            } else {
                Err(format!("{left:?}"))
            }
        });
        let clusters = look::entries(&self.path("home/state/clusters"));
        assert_eq!(clusters, Vec::<PathBuf>::new(), "folders left");
        assert_eq!(
            look::mounts_below(self.root.path()),
            Vec::<PathBuf>::new(),
            "mounts left"
        );
        let claims = look::claims_of(self.root.path());
        assert_eq!(claims, Vec::<PathBuf>::new(), "address claims left");
        for pid in pids {
            let socket = PathBuf::from(format!("/tmp/.java_pid{pid}"));
            assert!(!socket.exists(), "{} is left", socket.display());
        }
    }
}

impl Drop for TestLab {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The first failure is the one to report; what it left shall not disturb other tests.
            let _best_effort = self.command(&["rm", "--all", "--quiet"]).output();
        } else {
            self.leave();
        }
    }
}

/// A command's words as a shell has them, up to a pipe, another command, a redirection, a comment, or a gap before what
/// the page says of it.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let command = command.split("   ").next().unwrap_or_default();
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|' | '&' | ';' | '>' | '<' | '#') => break,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A command that runs; killed when dropped before its end.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    out: std::fs::File,
    err: std::fs::File,
    root: PathBuf,
    ended: bool,
}

impl Running {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        assert!(!self.ended, "it has ended");
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("a signal to our own child");
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.ended = self.ended || self.child.try_wait().expect("our child").is_some();
        !self.ended
    }

    /// What it wrote to standard output so far.
    pub(crate) fn out(&mut self) -> String {
        said::read(&mut self.out)
    }

    /// What it wrote to standard error so far.
    pub(crate) fn err(&mut self) -> String {
        said::read(&mut self.err)
    }

    /// Waits for its end and returns what it said.
    pub(crate) fn end(mut self) -> Said {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                break status;
            }
            assert!(
                begin.elapsed() < ENDS_WITHIN,
                "no end after {ENDS_WITHIN:?}\n{}\n{}",
                said::read(&mut self.out),
                said::read(&mut self.err)
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        self.ended = true;
        Said::new(
            code(status),
            &said::read(&mut self.out),
            &said::read(&mut self.err),
            &self.root,
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _already_gone = self.child.kill();
            let _status = self.child.wait();
        }
    }
}

fn code(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => code.to_string(),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

/// Says that a test was not run, and why; a failure where HELENUS_NOT_RUN=fail.
pub(crate) fn not_run(what: &str, cure: &str) {
    let line = format!("NOT RUN: {what} ({cure})");
    assert!(
        std::env::var("HELENUS_NOT_RUN").as_deref() != Ok("fail"),
        "{line}"
    );
    // Past the harness, which keeps the words of tests that pass to itself.
    let _nobody_listens = writeln!(std::io::stderr(), "{line}");
}

/// A command that runs a shell script in mounts of its own, if this machine lets us.
pub(crate) fn with_own_mounts(script: &str) -> Option<Command> {
    let as_root = rustix::process::geteuid().is_root();
    let how: &[&str] = if as_root {
        &["--mount"]
    } else {
        &["--user", "--map-root-user", "--mount"]
    };
    let program = |name: &str| {
        ["/usr/bin", "/bin"]
            .iter()
            .map(|folder| Path::new(folder).join(name))
            .find(|path| path.exists())
    };
    let unshare = program("unshare")?;
    let tried = Command::new(&unshare)
        .args(how)
        .args(["/bin/sh", "-c", "mount -t tmpfs none /tmp"])
        .output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut command = Command::new(unshare);
    command.args(how).args(["/bin/sh", "-c", script, HELENUS]);
    Some(command)
}
