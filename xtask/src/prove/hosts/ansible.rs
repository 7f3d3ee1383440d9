//! `prove hosts ansible` and `secured`: `helenus hosts` by real Ansible on six hosts, each with a network, processes, a file
//! system and an sshd. Refuses to run without root, Ansible and sshd, and leaves no host behind.

use super::Sheet;
use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Makes the hosts, and takes them away.
const RIG: &str = include_str!("rig.sh");

/// The network of the hosts.
const NET: &str = "10.79.0";

/// The cluster.
const NAME: &str = "demo";

/// How long the load goes on that a restart must not disturb.
const LOAD: &str = "600s";

/// An experiment that restarts the nodes of the second part.
const EXPERIMENT: &str = r#"name = "hosts"
seed = 7
measure = "throughput"
[cluster]
on = "hosts:demo"
[workload]
workload = "kv"
ops = ["insert=1"]
in-flight = 8
duration = "10s"
warmup = "0s"
[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", "96M"]
"#;

struct Lab<'a> {
    sheet: &'a mut Sheet,
    helenus: PathBuf,
    home: PathBuf,
    rig: PathBuf,
    script: PathBuf,
    /// What `hosts up` is asked for beside the place.
    shape: &'static [&'static str],
}

/// What a part does on the hosts.
type Part = fn(&mut Lab<'_>) -> Result<(), Box<dyn Error>>;

/// All of a cluster's life, and what goes wrong before it.
pub(super) fn life(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    on_hosts(sheet, (helenus, home), &["-n", "3:3"], |lab| lab.all())
}

/// Passwords, TLS, and an experiment.
pub(super) fn secured(
    sheet: &mut Sheet,
    helenus: &Path,
    home: &Path,
) -> Result<(), Box<dyn Error>> {
    on_hosts(
        sheet,
        (helenus, home),
        &["-n", "1:1", "--auth", "--tls"],
        |lab| lab.secured(),
    )
}

fn on_hosts(
    sheet: &mut Sheet,
    (helenus, home): (&Path, &Path),
    shape: &'static [&'static str],
    part: Part,
) -> Result<(), Box<dyn Error>> {
    for program in ["ansible-playbook", "/usr/sbin/sshd", "ip"] {
        let there = Command::new(program).arg("--version").output();
        if let Err(error) = there {
            return Err(format!(
                "{program}: {error}; pip install ansible-core, apt install openssh-server iproute2"
            )
            .into());
        }
    }
    let scratch = tempfile::tempdir()?;
    let script = scratch.path().join("rig.sh");
    fs_err::write(&script, RIG)?;
    let mut lab = Lab {
        sheet,
        helenus: helenus.to_owned(),
        home: home.to_owned(),
        rig: scratch.path().join("rig"),
        script,
        shape,
    };
    let made = lab.rig(&["up"]);
    let tried = made.and_then(|()| part(&mut lab));
    let gone = lab.rig(&["down"]);
    lab.sheet.ran("the campaign", tried)?;
    lab.found("the hosts are gone", gone.is_ok(), "", None)
}

impl Lab<'_> {
    fn all(&mut self) -> Result<(), Box<dyn Error>> {
        self.before()?;
        let begin = Instant::now();
        let up = self.json(&["hosts", "up"], true)?;
        let serving = |value: &Value| {
            let nodes = value["nodes"].as_array().into_iter().flatten();
            nodes.filter(|node| node["serves"] == true).count()
        };
        let ring = up["ring"]["nodes"].as_array().map_or(0, Vec::len);
        let holds = serving(&up) == 6 && ring == 6;
        self.found(
            "one command to six nodes in two data centres",
            holds,
            "",
            Some(begin.elapsed()),
        )?;
        self.is_right("--check on what is right changes nothing")?;
        let begin = Instant::now();
        let again = self.json(&["hosts", "up"], true)?;
        self.found(
            "the second run changes nothing",
            serving(&again) == 6 && again["changed"] == 0,
            &again["changed"].to_string(),
            Some(begin.elapsed()),
        )?;
        self.restart()?;
        self.remove()
    }

    /// Whether Ansible would change nothing.
    fn is_right(&mut self, what: &str) -> Result<(), Box<dyn Error>> {
        let begin = Instant::now();
        let check = self.json(&["hosts", "up", "--check"], true)?;
        let changed = check["changed"].as_u64();
        let took = Some(begin.elapsed());
        self.found(what, changed == Some(0), &format!("{changed:?}"), took)
    }

    /// Passwords and TLS from one command, and an experiment that starts the nodes with two heaps.
    fn secured(&mut self) -> Result<(), Box<dyn Error>> {
        let begin = Instant::now();
        let up = self.json(&["hosts", "up"], true)?;
        let ring = up["ring"]["nodes"].as_array().map_or(0, Vec::len);
        let took = Some(begin.elapsed());
        self.found(
            "two nodes with passwords and TLS from one command",
            ring == 2,
            "",
            took,
        )?;
        let clear = self
            .helenus(&["guard", "--hosts", &format!("{NET}.11")], false)?
            .output()?;
        let open = clear.status.code() == Some(0);
        self.found("a client in the clear is refused", !open, "", None)?;
        self.is_right("--check on what is right changes nothing")?;
        let file = self.script.with_file_name("hosts.toml");
        fs_err::write(&file, EXPERIMENT)?;
        let file = file.display().to_string();
        let begin = Instant::now();
        let output = self
            .helenus(
                &[
                    "experiment",
                    "run",
                    &file,
                    "--repeats",
                    "2",
                    "--format",
                    "json",
                ],
                false,
            )?
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = said
            .lines()
            .rfind(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned();
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let done = shown["progress"]["done"].as_u64();
        let planned = shown["progress"]["planned"].as_u64();
        let holds = output.status.success() && done.is_some() && done == planned;
        let summary = format!("{done:?} of {planned:?} runs; {last}");
        self.found(
            "an experiment with two heaps runs to its end",
            holds,
            &summary,
            Some(begin.elapsed()),
        )?;
        self.is_right("afterwards the nodes are as they were before")?;
        let begin = Instant::now();
        self.json(&["hosts", "rm", NAME], false)?;
        let left = self.untouched()?;
        self.found(
            "rm leaves no unit, user or file",
            left.is_empty(),
            &left,
            Some(begin.elapsed()),
        )
    }

    /// What goes wrong before anything is installed: named, and the other hosts stay as they are.
    fn before(&mut self) -> Result<(), Box<dyn Error>> {
        self.rig(&["end", "6"])?;
        self.refused("a host that is down", &[], "demo-6", "start the host")?;
        self.rig(&["begin", "6"])?;
        std::thread::sleep(Duration::from_secs(3));
        let wrong = self.rig.with_extension("wrong");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&wrong)
            .status()?;
        if !made.success() {
            return Err("ssh-keygen failed".into());
        }
        let wrong = wrong.display().to_string();
        // The host that began anew: to the others ssh still has connections.
        self.refused("a wrong key", &["--key", &wrong], "demo-6", "--key")?;
        self.rig(&["fill", "5", "/var/lib/cassandra", "64"])?;
        self.refused("a full disk", &[], "demo-5", "free some")?;
        // A host that begins anew has its disk, and not what was mounted on it.
        self.rig(&["end", "5"])?;
        self.rig(&["begin", "5"])?;
        std::thread::sleep(Duration::from_secs(3));
        Ok(())
    }

    fn refused(
        &mut self,
        what: &str,
        more: &[&str],
        names: &str,
        cure: &str,
    ) -> Result<(), Box<dyn Error>> {
        let begin = Instant::now();
        let output = self
            .helenus(&[&["hosts", "up"], more].concat(), true)?
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let named = said.contains(names) && said.contains(cure);
        let code = output.status.code();
        let holds = named && code == Some(4);
        self.found(
            what,
            holds,
            said.lines()
                .filter(|line| !line.starts_with("caution"))
                .collect::<Vec<_>>()
                .join(" / ")
                .as_str(),
            Some(begin.elapsed()),
        )?;
        let untouched = self.untouched()?;
        self.found(
            &format!("{what}: nothing was installed"),
            untouched.is_empty(),
            &untouched,
            None,
        )
    }

    /// What there is of Cassandra on any host.
    fn untouched(&self) -> Result<String, Box<dyn Error>> {
        let mut found = String::new();
        for n in 1..=4 {
            let output = self.on(n, "ls -d /etc/cassandra /opt/helenus /etc/init.d/cassandra-* /usr/local/bin/nodetool-* /etc/helenus /var/lib/helenus 2>/dev/null; id -u cassandra 2>/dev/null; true")?;
            let text = String::from_utf8_lossy(&output.stdout)
                .trim()
                .replace('\n', " ");
            if !text.is_empty() {
                found += &format!("host {n}: {text}; ");
            }
        }
        Ok(found)
    }

    fn restart(&mut self) -> Result<(), Box<dyn Error>> {
        let mut load = self.helenus(
            &[
                "run",
                "kv",
                "--ops",
                "insert=1",
                "--rate",
                "100",
                "--duration",
                LOAD,
                "--cl",
                "QUORUM",
                "--ledger",
                "--on",
                "hosts:demo",
            ],
            false,
        )?;
        let load = load.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut load = Held(load);
        std::thread::sleep(Duration::from_secs(15));
        let begin = Instant::now();
        let restarted = self.json(&["hosts", "restart", NAME], false)?;
        let changed = restarted["changed"].as_u64();
        self.found(
            "a rolling restart under load",
            changed == Some(12),
            &format!("{changed:?} stops and starts"),
            Some(begin.elapsed()),
        )?;
        load.interrupt()?;
        let at = format!("{NET}.11,{NET}.14");
        let checked = self.json(&["ledger", "check", "@last", "--hosts", &at], false)?;
        let of = |class: &str| {
            let tables = checked["tables"].as_array().into_iter().flatten();
            tables.filter_map(|one| one[class].as_u64()).sum::<u64>()
        };
        let (present, lost) = (of("present"), of("lost"));
        self.found(
            "at QUORUM no acknowledged write is lost",
            present > 1000 && lost == 0,
            &format!("{present} present, {lost} lost"),
            None,
        )
    }

    fn remove(&mut self) -> Result<(), Box<dyn Error>> {
        let begin = Instant::now();
        let removed = self.json(&["hosts", "rm", NAME], false)?;
        let hosts = removed["hosts"].as_object().map_or(0, serde_json::Map::len);
        self.found("rm", hosts == 6, "", Some(begin.elapsed()))?;
        let left = self.untouched()?;
        self.found(
            "rm leaves no unit, user or file",
            left.is_empty(),
            &left,
            None,
        )
    }

    /// helenus where the hosts are reached; `place` says whether it needs to hear of the hosts.
    fn helenus(&self, words: &[&str], place: bool) -> Result<Command, Box<dyn Error>> {
        let mut command = self.script(&["in"]);
        command
            .arg(&self.helenus)
            .args(words)
            .env("HELENUS_HOME", &self.home);
        if place {
            let last = if self.shape.contains(&"3:3") { 16 } else { 12 };
            let hosts = format!("{NET}.11-{last}");
            command.args(self.shape);
            command.args(["--name", NAME, "--hosts", &hosts, "--user", "root"]);
            if !words.contains(&"--key") {
                command.arg("--key").arg(self.rig.with_extension("key"));
            }
        }
        Ok(command)
    }

    fn json(&self, words: &[&str], place: bool) -> Result<Value, Box<dyn Error>> {
        let output = self
            .helenus(&[words, &["--format", "json"]].concat(), place)?
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{}: {said}", words.join(" ")).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn on(&self, host: u32, line: &str) -> Result<Output, Box<dyn Error>> {
        let mut command = self.script(&["in", "ssh"]);
        command.arg("-i").arg(self.rig.with_extension("key"));
        command.arg("-o").arg(format!(
            "UserKnownHostsFile={}",
            self.rig.join("known_hosts").display()
        ));
        Ok(command
            .arg(format!("root@{NET}.1{host}"))
            .arg(line)
            .output()?)
    }

    fn script(&self, words: &[&str]) -> Command {
        let mut command = Command::new("bash");
        command.arg(&self.script).args(words);
        command
            .env("RIG", &self.rig)
            .env("RIG_PREFIX", "hp")
            .env("RIG_NET", NET);
        command
    }

    fn rig(&self, words: &[&str]) -> Result<(), Box<dyn Error>> {
        let status = self.script(words).status()?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("rig.sh {}: {status}", words.join(" ")).into()),
        }
    }

    fn found(
        &mut self,
        what: &str,
        holds: bool,
        said: &str,
        took: Option<Duration>,
    ) -> Result<(), Box<dyn Error>> {
        self.sheet.found(what, holds, said, took)
    }
}

/// A load that ends with the campaign.
struct Held(Child);

impl Held {
    fn interrupt(&mut self) -> Result<(), Box<dyn Error>> {
        let pid = i32::try_from(self.0.id())?;
        let pid = rustix::process::Pid::from_raw(pid).ok_or("no process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _over = self.0.kill();
        let _over = self.0.wait();
    }
}
