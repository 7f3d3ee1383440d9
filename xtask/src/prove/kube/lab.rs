//! The Kubernetes that parts are tried on: kubectl, helenus with a home of its own, and what is left of a cluster.
//! Refuses to count as left what others have there: a cluster is known by its id.

use super::super::host::Host;
use super::super::rig::{self, until};
use super::mask::Mask;
use super::running::{Ran, Running};
use helenus_model::kube::ID;
use serde_json::Value;
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The image that workers have, where nobody says another.
const IMAGE: &str = "localhost/helenus-cassandra:5.0.9";

/// How long Kubernetes may take to clear away by itself what belonged to deleted objects.
const CLEARED_WITHIN: Duration = Duration::from_secs(60);

/// Longest wait for one command of helenus.
pub(super) const WITHIN: Duration = Duration::from_secs(1200);

/// What parts are tried on.
pub(super) struct Lab {
    /// The workspace.
    pub(super) root: PathBuf,
    /// The binary.
    pub(super) helenus: PathBuf,
    /// Its home.
    pub(super) home: PathBuf,
    /// What raw files do not say of it.
    pub(super) mask: Mask,
    /// This machine.
    pub(super) host: Host,
    /// Version of the API server.
    pub(super) server: String,
    /// Names of the workers.
    pub(super) workers: Vec<String>,
    /// The image that the workers have.
    pub(super) image: String,
}

impl Lab {
    /// Builds the binary and looks at the cluster of KUBECONFIG.
    pub(super) fn open(root: &Path, quick: bool) -> Result<Self, Box<dyn Error>> {
        let target = rig::build(root, quick)?;
        let version: Value = serde_json::from_str(&kubectl(&["version", "-o", "json"], None)??)?;
        let server = version["serverVersion"]["gitVersion"].as_str();
        let workers = kubectl(&["get", "nodes", "-o", "name"], None)??;
        let workers = workers.lines().map(|line| line.trim_start_matches("node/"));
        let context = kubectl(&["config", "current-context"], None)??;
        let address = "jsonpath={.clusters[0].cluster.server}";
        let address = kubectl(&["config", "view", "--minify", "-o", address], None)??;
        Ok(Self {
            root: root.to_owned(),
            helenus: target
                .join(if quick { "release" } else { "debug" })
                .join("helenus"),
            home: target.join("prove/kube-home"),
            mask: Mask::new(&context, &address, root, &std::env::temp_dir()),
            host: Host::read(String::new(), root),
            server: server.unwrap_or("?").to_owned(),
            workers: workers.map(str::to_owned).collect(),
            image: std::env::var("HELENUS_PROVE_IMAGE").unwrap_or_else(|_| IMAGE.to_owned()),
        })
    }

    /// Starts helenus with these words.
    pub(super) fn start(&self, words: &[&str]) -> Result<Running, Box<dyn Error>> {
        Running::start(self.command(words))
    }

    /// The command of helenus with these words.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.helenus);
        command.args(words).env("HELENUS_HOME", &self.home);
        command
    }

    /// Runs helenus to its end.
    pub(super) fn run(&self, words: &[&str]) -> Result<Ran, Box<dyn Error>> {
        self.start(words)?.end(WITHIN)
    }

    /// Runs helenus to its good end and reads what it prints.
    pub(super) fn json(&self, words: &[&str]) -> Result<Value, Box<dyn Error>> {
        let all = [words, &["--format", "json"]].concat();
        self.run(&all)?.well(&words.join(" "))?.json()
    }

    /// The words of `kube up` for a cluster of throw-away pods on the lab's image.
    pub(super) fn up<'a>(&'a self, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut words = vec!["kube", "up", "--name", name, "--format", "json"];
        let by_default = [
            ("--image", self.image.as_str()),
            ("--pull-policy", "Never"),
            ("--spread", "preferred"),
            ("--cpu-request", "0.05"),
            ("--storage", "none"),
        ];
        for (flag, value) in by_default {
            if !more.contains(&flag) {
                words.extend([flag, value]);
            }
        }
        words.extend(more);
        words
    }

    /// The id that everything of a cluster carries.
    pub(super) fn id(&self, name: &str) -> Result<String, Box<dyn Error>> {
        // A cluster that is not whole has an exit code of its own.
        let status = self.run(&["kube", "status", name, "--format", "json"])?;
        let id = status.json()?["id"].as_str().map(str::to_owned);
        Ok(id.ok_or("kube status names no id")?)
    }

    /// Removes a cluster with its volumes, and answers what is left of it.
    pub(super) fn remove(&self, name: &str) -> Result<Vec<String>, Box<dyn Error>> {
        let id = self.id(name)?;
        self.json(&["kube", "rm", name, "--volumes"])?;
        left(&id)
    }

    /// Removes a cluster that an earlier sitting left, if there is one.
    pub(super) fn clear(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let clusters = self.json(&["kube", "status"])?;
        let clusters = clusters["clusters"].as_array().into_iter().flatten();
        match clusters.into_iter().any(|one| one["name"] == name) {
            true => self.json(&["kube", "rm", name, "--volumes"]).map(|_| ()),
            false => Ok(()),
        }
    }
}

/// What carries an id once Kubernetes has cleared away what it clears away by itself.
pub(super) fn left(id: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let kinds = ["api-resources", "--verbs=list", "-o", "name"];
    let kinds = kubectl(&kinds, None)??;
    let kinds: Vec<&str> = kinds.lines().collect();
    let label = format!("{ID}={id}");
    let words = [
        "get",
        &kinds.join(","),
        "--all-namespaces",
        "-l",
        &label,
        "-o",
        "name",
    ];
    let begin = Instant::now();
    loop {
        let found = kubectl(&words, None)??;
        let found: Vec<String> = found.lines().map(str::to_owned).collect();
        if found.is_empty() || begin.elapsed() > CLEARED_WITHIN {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// The generators' pods of this namespace that run, once there are so many.
pub(super) fn generators(
    namespace: &str,
    at_least: usize,
    within: Duration,
) -> Result<Vec<String>, Box<dyn Error>> {
    let selector = "app.kubernetes.io/name=helenus-load";
    let there = until(within, Duration::from_millis(200), || {
        let found = kubectl_json(&["get", "pods", "-n", namespace, "-l", selector])?;
        let found = found["items"].as_array().into_iter().flatten();
        let mut names: Vec<String> = found
            .filter(|pod| pod["status"]["phase"] == "Running")
            .filter_map(|pod| pod["metadata"]["name"].as_str().map(str::to_owned))
            .collect();
        names.sort();
        Ok((names.len() >= at_least).then_some(names))
    })?;
    there.ok_or_else(|| format!("no {at_least} generators after {} s", within.as_secs()).into())
}

/// kubectl's output, or its words where it failed.
pub(super) fn kubectl(
    words: &[&str],
    input: Option<&str>,
) -> Result<Result<String, String>, Box<dyn Error>> {
    let mut child = Command::new("kubectl")
        .args(words)
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(text.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    })
}

/// kubectl's answer as JSON.
pub(super) fn kubectl_json(words: &[&str]) -> Result<Value, Box<dyn Error>> {
    let words = [words, &["-o", "json"]].concat();
    Ok(serde_json::from_str(&kubectl(&words, None)??)?)
}
