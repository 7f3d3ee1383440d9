//! Two users of one machine: each has clusters of its own, and nothing that one tries at the other's succeeds.
//! Refuses to take a refusal's word for it: process, rows and files are compared before and after.

use crate::home::cache;
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Users that this machine has no names for.
const ANN: u32 = 64_001;
const BEN: u32 = 64_002;

/// Why the test cannot be run here; none where it can.
pub(crate) fn lacking() -> Option<&'static str> {
    match rustix::process::geteuid().is_root() {
        true => None,
        false => Some("two users on one machine (run the tests as root)"),
    }
}

/// A user with a home and a cache of its own.
struct User {
    uid: u32,
    home: PathBuf,
    /// Where everybody may run it: the checkout may be for its owner only.
    helenus: PathBuf,
}

impl User {
    fn new(uid: u32, all: &Path) -> Self {
        let home = all.join(uid.to_string());
        fs_err::create_dir(&home).expect("a home");
        copy(&cache(), &home.join("cache"));
        give(&home, uid);
        fs_err::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).expect("a mode");
        Self {
            uid,
            home,
            helenus: all.join("helenus"),
        }
    }

    /// helenus as this user, with the state of `whose`.
    fn command(&self, words: &[&str], whose: &Path) -> Command {
        let mut command = Command::new("setpriv");
        let uid = self.uid.to_string();
        command
            .args(["--reuid", &uid, "--regid", &uid, "--clear-groups"])
            .arg(&self.helenus)
            .args(words)
            .env_remove("HELENUS_CLUSTER")
            .env_remove("XDG_RUNTIME_DIR")
            .env("HOME", &self.home)
            .env("HELENUS_HOME", whose)
            .env("HELENUS_CACHE", self.home.join("cache"))
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words, &self.home).output().expect("it runs")
    }

    #[track_caller]
    fn well(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(
            output.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Another program as this user.
    fn program(&self, words: &[&str]) -> Output {
        let uid = self.uid.to_string();
        Command::new("setpriv")
            .args(["--reuid", &uid, "--regid", &uid, "--clear-groups"])
            .args(words)
            .output()
            .expect("setpriv runs")
    }
}

/// Whatever a failed assertion left behind.
impl Drop for User {
    fn drop(&mut self) {
        let _gone = self.run(&["rm", "--all", "--force"]);
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-r"]).arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
}

fn give(path: &Path, uid: u32) {
    chown(path, Some(uid), Some(uid)).expect("its own");
    if path.is_dir() {
        for entry in fs_err::read_dir(path).expect("a folder") {
            let entry = entry.expect("an entry");
            if !entry.file_type().expect("a type").is_symlink() {
                give(&entry.path(), uid);
            }
        }
    }
}

pub(crate) fn two_users_cannot_harm_each_other() {
    let all = tempfile::Builder::new()
        .prefix("hel-users")
        .tempdir_in("/tmp")
        .expect("a folder");
    fs_err::set_permissions(all.path(), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    copy(
        Path::new(env!("CARGO_BIN_EXE_helenus")),
        &all.path().join("helenus"),
    );
    let (ann, ben) = (User::new(ANN, all.path()), User::new(BEN, all.path()));
    ann.well(&["up", "c", "--auth"]);
    ann.well(&["cqlsh", "c", "-e", "CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; CREATE TABLE app.t (id int PRIMARY KEY, v text); INSERT INTO app.t (id, v) VALUES (1, 'ann')"]);
    ben.well(&["up", "c"]);

    let everybody: Value =
        serde_json::from_str(&ben.well(&["list", "--all-users", "--format", "json"]))
            .expect("JSON");
    let nodes = everybody["nodes"].as_array().expect("nodes");
    let of = |uid: u32| {
        nodes
            .iter()
            .find(|one| one["user"] == uid.to_string().as_str())
    };
    let hers = of(ANN).expect("the node of the other user is seen");
    let his = of(BEN).expect("his own node is seen");
    assert_ne!(
        hers["address"], his["address"],
        "two clusters of one name stand apart"
    );
    assert!(
        !everybody
            .to_string()
            .contains(&*all.path().to_string_lossy()),
        "a folder is shown: {everybody}"
    );
    let (at, pid) = (
        hers["address"].as_str().expect("an address").to_owned(),
        hers["pid"].to_string(),
    );

    let hosts = format!("--hosts={at}");
    let mut tried = 0;
    let mut refused = |what: &str, output: &Output| {
        tried += 1;
        assert!(
            !output.status.success(),
            "{what}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{what}: {said}");
    };
    // With her state: her folder lets nobody in.
    for words in [
        &["stop", "c"][..],
        &["rm", "c", "--force"],
        &["kill", "c/node1"],
        &["pause", "c/node1"],
        &["reset", "c"],
        &["cqlsh", "c", "-e", "TRUNCATE app.t"],
        &["logs", "c"],
        &["env", "c"],
        &["baseline", "save", "c", "mine"],
        &["nodetool", "c", "drain"],
        &["jmx", "c"],
        &["node", "add", "c"],
        &["up", "c2"],
    ] {
        let output = ben.command(words, &ann.home).output().expect("it runs");
        refused(&format!("{words:?} with her state"), &output);
    }
    // At her address: it is another's, and it asks for a password.
    for words in [
        &["bench", &hosts, "--rate", "10", "--duration", "1s"][..],
        &[
            "bench",
            &hosts,
            "--i-may-write-to",
            "c",
            "--rate",
            "10",
            "--duration",
            "1s",
        ],
        &["guard", &hosts],
        &["count", "app.t", &hosts],
        &["stress", "write", "n=10", "-node", &at],
    ] {
        refused(&format!("{words:?}"), &ben.run(words));
    }
    // By the system's own means.
    refused("a signal", &ben.program(&["kill", "-9", &pid]));
    refused(
        "a trace",
        &ben.program(&["cat", &format!("/proc/{pid}/environ")]),
    );
    let secrets = ann.home.join("clusters/c/secrets");
    refused(
        "her secrets",
        &ben.program(&["ls", &secrets.display().to_string()]),
    );
    refused(
        "her folder",
        &ben.program(&["touch", &ann.home.join("x").display().to_string()]),
    );
    assert!(tried >= 20, "{tried} attempts");

    let rows = ann.well(&["cqlsh", "c", "-e", "SELECT v FROM app.t"]);
    assert!(rows.contains("ann"), "{rows}");
    let after: Value =
        serde_json::from_str(&ann.well(&["list", "--all-users", "--format", "json"]))
            .expect("JSON");
    let still = after["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .any(|one| one["pid"] == hers["pid"]);
    assert!(still, "her node ended: {after}");
    ben.well(&["rm", "c"]);
    ann.well(&["rm", "c"]);
}
