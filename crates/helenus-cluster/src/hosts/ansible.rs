//! Ansible as a child: playbooks of a cluster's own folder, and single commands on its hosts.
//! Refuses to guess from what it prints for people: a callback of ours prints a line of JSON for each event.

use crate::cancel::Cancel;
use crate::error::{Class, Problem};
use helenus_model::hosts::Playbook;
use helenus_model::secret::shell_word;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The oldest version that the roles were tried with.
const OLDEST: (u32, u32) = (2, 15);

/// Between two looks whether the person wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Lines of a complaint that are shown.
const LINES_MOST: usize = 6;

/// Where the jars are, for the role that copies them.
const JARS: &str = "HELENUS_JARS";

/// Why Ansible did not do it.
#[derive(Debug, thiserror::Error)]
pub enum AnsibleError {
    /// There is none.
    #[error("ansible-playbook was not found")]
    Missing,
    /// It is too old.
    #[error("ansible-core {0} is too old: {oldest} or newer is needed", oldest = oldest())]
    Old(String),
    /// It says no version.
    #[error("ansible-playbook --version printed no version")]
    NoVersion(String),
    /// It ended without having looked at any host.
    #[error("ansible did not run the playbook")]
    NotRun(Vec<String>),
    /// Hosts that failed, or were not reached.
    #[error("{}", failed(.0))]
    Hosts(Problems),
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The system.
    #[error("cannot run ansible")]
    Io(#[from] io::Error),
}

fn oldest() -> String {
    format!("{}.{}", OLDEST.0, OLDEST.1)
}

/// What went wrong on which hosts: a host with what Ansible says about it.
pub type Problems = Vec<(String, String)>;

fn failed(problems: &Problems) -> String {
    let mut names: Vec<&str> = problems.iter().map(|(host, _)| host.as_str()).collect();
    names.dedup();
    match &names[..] {
        [one] => format!("{one} failed"),
        several => format!("{} hosts failed: {}", several.len(), several.join(", ")),
    }
}

impl Problem for AnsibleError {
    fn class(&self) -> Class {
        match self {
            Self::Missing | Self::Old(_) | Self::NoVersion(_) | Self::Io(_) => Class::Environment,
            Self::NotRun(_) | Self::Hosts(_) => Class::Cluster,
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing | Self::Old(_) | Self::NoVersion(_) => {
                "pip install ansible-core".to_owned()
            }
            Self::Hosts(problems) => cure(problems),
            Self::NotRun(_) | Self::Io(_) => return None,
            Self::Interrupted => "run the same command again to continue".to_owned(),
        })
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Hosts(problems) => {
                let line = |(host, said): &(String, String)| format!("{host}: {said}");
                problems.iter().map(line).collect()
            }
            Self::NotRun(said) => said.clone(),
            Self::NoVersion(said) => vec![said.clone()],
            _ => Vec::new(),
        }
    }
}

/// What to do about the first problem that has a known remedy.
fn cure(problems: &Problems) -> String {
    let says = |word: &str| problems.iter().any(|(_, said)| said.contains(word));
    if says("Host key verification failed") {
        return "ssh does not know the host's key: ssh-keyscan HOST >> ~/.ssh/known_hosts, if it is the right one"
            .to_owned();
    }
    if says("Permission denied (") {
        return "let the key in there, or name another with --key and --user; `ssh HOST` shows the same"
            .to_owned();
    }
    if says("No route to host") || says("Connection timed out") || says("Connection refused") {
        return "start the host and its sshd; the other hosts are unchanged, and the same command continues"
            .to_owned();
    }
    if says("Missing sudo password") || says("sudo: a password is required") {
        return "let --user become root without a password, or log in as root".to_owned();
    }
    "fix it there; the same command continues, and repeats nothing".to_owned()
}

/// What Ansible does now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum PlayEvent {
    /// A play begins.
    Play {
        /// Its name.
        name: String,
    },
    /// A task begins.
    Task {
        /// Its name.
        name: String,
    },
    /// A host did it.
    Ok(HostEvent),
    /// A host had nothing to do.
    Skipped(HostEvent),
    /// A host tries again.
    Retry(HostEvent),
    /// A host failed.
    Failed(HostEvent),
    /// A host was not reached.
    Unreachable(HostEvent),
    /// No host of the inventory is meant.
    NoHosts,
    /// The end.
    Stats {
        /// By host.
        hosts: BTreeMap<String, HostEnd>,
    },
}

/// A task on a host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HostEvent {
    /// The host.
    pub host: String,
    /// The task.
    pub task: String,
    /// Whether it changed something.
    #[serde(default)]
    pub changed: bool,
    /// Exit code, of a command.
    #[serde(default)]
    pub rc: Option<i32>,
    /// What Ansible says.
    #[serde(default)]
    pub msg: String,
    /// What a command printed.
    #[serde(default)]
    pub stdout: String,
    /// What it complained.
    #[serde(default)]
    pub stderr: String,
    /// Whether the failure is of no concern.
    #[serde(default)]
    pub ignored: bool,
}

impl HostEvent {
    /// What went wrong, in a line.
    fn said(&self) -> String {
        let texts = [
            self.msg.as_str(),
            self.stderr.as_str(),
            self.stdout.as_str(),
        ];
        let first = texts.into_iter().find(|text| !text.trim().is_empty());
        let lines: Vec<&str> = first.unwrap_or("no reason given").lines().collect();
        let lines = lines
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty());
        let text: Vec<&str> = lines.take(LINES_MOST).collect();
        format!("{} ({})", text.join("; "), self.task)
    }
}

/// What became of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEnd {
    /// Tasks that were right already, or became it.
    pub ok: u32,
    /// Of these, those that changed something.
    pub changed: u32,
    /// Tasks that failed.
    pub failures: u32,
    /// Whether it could not be reached.
    pub unreachable: u32,
}

/// A playbook that ended without a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Played {
    /// By host.
    pub hosts: BTreeMap<String, HostEnd>,
}

impl Played {
    /// Tasks that changed something, on all hosts.
    pub fn changed(&self) -> u32 {
        self.hosts.values().map(|host| host.changed).sum()
    }
}

/// Ansible of this machine.
#[derive(Debug, Clone)]
pub struct Ansible {
    /// Its version.
    pub version: String,
    folder: PathBuf,
    jars: Option<PathBuf>,
    start_within: Option<Duration>,
}

impl Ansible {
    /// The one on the PATH, for the files in a folder.
    ///
    /// # Errors
    /// There is none, or it is too old.
    pub fn find(folder: &Path) -> Result<Self, AnsibleError> {
        let output = Command::new("ansible-playbook").arg("--version").output();
        let output = output.map_err(started)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let first = text.lines().next().unwrap_or_default();
        let Some(version) = version(first) else {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(AnsibleError::NoVersion(format!(
                "{first}{}",
                complaint.trim()
            )));
        };
        let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
        let have = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if have < OLDEST {
            return Err(AnsibleError::Old(version.to_owned()));
        }
        Ok(Self {
            version: version.to_owned(),
            folder: folder.to_owned(),
            jars: None,
            start_within: None,
        })
    }

    /// With the folder of Cassandra's jars, for a playbook that installs.
    #[must_use]
    pub fn with_jars(self, jars: PathBuf) -> Self {
        Self {
            jars: Some(jars),
            ..self
        }
    }

    /// With the longest wait for each node that starts, in place of the playbooks' own.
    #[must_use]
    pub fn start_within(self, within: Duration) -> Self {
        Self {
            start_within: Some(within),
            ..self
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .env("ANSIBLE_CONFIG", self.folder.join("ansible.cfg"))
            .env("ANSIBLE_STDOUT_CALLBACK", "helenus")
            .env(
                "ANSIBLE_CALLBACK_PLUGINS",
                self.folder.join("callback_plugins"),
            )
            .env("ANSIBLE_LOAD_CALLBACK_PLUGINS", "1")
            .env("ANSIBLE_FORCE_COLOR", "0")
            .env("ANSIBLE_DEPRECATION_WARNINGS", "0")
            .envs(self.jars.iter().map(|jars| (JARS, jars)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a playbook; with `check` it only says what it would change.
    ///
    /// # Errors
    /// A host that fails or is not reached, or the person stopped it.
    pub fn play(
        &self,
        playbook: Playbook,
        check: bool,
        cancel: &Cancel,
        see: &mut dyn FnMut(&PlayEvent),
    ) -> Result<Played, AnsibleError> {
        let mut command = self.command("ansible-playbook");
        command.arg(playbook.file());
        if let Some(within) = self.start_within {
            let seconds = within.as_secs();
            command.args(["-e", &format!("cassandra_start_timeout={seconds}")]);
        }
        if check {
            command.args(["--check", "--diff"]);
        }
        let mut hosts = None;
        let mut problems = Problems::new();
        let said = run(command, cancel, &mut |event| {
            match event {
                PlayEvent::Failed(at) if !at.ignored => problems.push((at.host.clone(), at.said())),
                PlayEvent::Unreachable(at) => problems.push((at.host.clone(), at.said())),
                PlayEvent::Stats { hosts: all } => hosts = Some(all.clone()),
                _ => {}
            }
            see(event);
        })?;
        match (problems.is_empty(), hosts, said) {
            (false, _, _) => Err(AnsibleError::Hosts(problems)),
            (true, Some(hosts), None) if !hosts.is_empty() => Ok(Played { hosts }),
            (true, _, said) => Err(AnsibleError::NotRun(said.unwrap_or_default())),
        }
    }

    /// Runs a program on a host as root, and says what it printed.
    ///
    /// # Errors
    /// The host is not reached, or the program fails.
    pub fn on(
        &self,
        host: &str,
        words: &[String],
        cancel: &Cancel,
    ) -> Result<String, AnsibleError> {
        let mut command = self.command("ansible");
        // Ansible's command module splits it as a shell does.
        let line: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        command.args([host, "--become", "-m", "ansible.builtin.command", "-a"]);
        command.arg(line.join(" "));
        let mut answer = None;
        let mut problems = Problems::new();
        let said = run(command, cancel, &mut |event| match event {
            PlayEvent::Ok(at) => answer = Some(at.stdout.clone()),
            PlayEvent::Failed(at) | PlayEvent::Unreachable(at) => {
                problems.push((at.host.clone(), at.said()));
            }
            _ => {}
        })?;
        match (answer, problems.is_empty()) {
            (Some(text), true) => Ok(text),
            (_, false) => Err(AnsibleError::Hosts(problems)),
            (None, true) => Err(AnsibleError::NotRun(said.unwrap_or_default())),
        }
    }
}

fn version(line: &str) -> Option<&str> {
    let version = line.split_once("[core ")?.1;
    version.split([']', ' ']).next()
}

fn started(error: io::Error) -> AnsibleError {
    match error.kind() {
        io::ErrorKind::NotFound => AnsibleError::Missing,
        _ => AnsibleError::Io(error),
    }
}

/// Runs it to its end; where it fails, the last lines that are no events.
fn run(
    mut command: Command,
    cancel: &Cancel,
    see: &mut dyn FnMut(&PlayEvent),
) -> Result<Option<Vec<String>>, AnsibleError> {
    let mut child = command.spawn().map_err(started)?;
    let (sender, printed) = channel();
    let output = child.stdout.take();
    std::thread::spawn(move || {
        let lines = output
            .into_iter()
            .flat_map(|output| BufReader::new(output).lines());
        for line in lines.map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let complaint = child.stderr.take();
    let complaint = std::thread::spawn(move || {
        let mut text = String::new();
        complaint.map(|mut pipe| pipe.read_to_string(&mut text));
        text
    });
    let mut others: Vec<String> = Vec::new();
    let mut stopped = false;
    loop {
        match printed.recv_timeout(LOOK_EVERY) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(event) => see(&event),
                Err(_) => others.push(line),
            },
            Err(RecvTimeoutError::Timeout) if cancel.is_set() && !stopped => {
                stopped = true;
                stop(&child);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait()?;
    if stopped || cancel.is_set() {
        return Err(AnsibleError::Interrupted);
    }
    if status.success() {
        return Ok(None);
    }
    let complaint = complaint.join().unwrap_or_default();
    let lines = others.iter().map(String::as_str).chain(complaint.lines());
    let lines: Vec<String> = lines
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    let from = lines.len().saturating_sub(LINES_MOST);
    Ok(Some(lines[from..].to_vec()))
}

/// Ansible ends its own children when it is interrupted.
fn stop(child: &Child) {
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _already_over = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_where_ansible_prints_it() {
        assert_eq!(version("ansible-playbook [core 2.19.4]"), Some("2.19.4"));
        assert_eq!(version("ansible-playbook 2.9.27"), None);
    }

    #[test]
    fn words_are_split_by_ansible_where_they_were() {
        assert_eq!(shell_word("status"), "status");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }

    #[test]
    fn events_are_read_and_say_what_went_wrong() {
        let line = r#"{"event": "unreachable", "host": "demo-1", "task": "Gathering Facts", "changed": false, "rc": null, "msg": "Failed to connect to the host via ssh: ssh: connect to host 10.0.0.11 port 22: No route to host"}"#;
        let event: PlayEvent = serde_json::from_str(line).expect("an event");
        let PlayEvent::Unreachable(at) = event else {
            panic!("another event")
        };
        let error = AnsibleError::Hosts(vec![(at.host.clone(), at.said())]);
        assert_eq!(error.to_string(), "demo-1 failed");
        let line = &error.lines()[0];
        assert!(
            line.ends_with("port 22: No route to host (Gathering Facts)"),
            "{line}"
        );
        let cure = error.hint().unwrap_or_default();
        assert!(cure.starts_with("start the host and its sshd"), "{cure}");
        let stats = r#"{"event": "stats", "hosts": {"demo-1": {"ok": 3, "changed": 1, "failures": 0, "unreachable": 0, "skipped": 2, "rescued": 0, "ignored": 0}}}"#;
        let event: PlayEvent = serde_json::from_str(stats).expect("an event");
        assert!(matches!(event, PlayEvent::Stats { hosts } if hosts["demo-1"].changed == 1));
    }
}
