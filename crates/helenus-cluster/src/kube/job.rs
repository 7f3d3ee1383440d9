//! The generators of a run as a Job: made, waited for, reached, looked at when one ends, and deleted.
//! Refuses to leave anything behind: the Job is deleted with the value.

use super::ask::{AskError, OTHER_IMAGE, facts};
use super::pods::{Stuck, seen};
use super::{KubeState, Kubectl, KubectlError, PodsError};
use crate::agent::{AgentError, Channel, Conductor};
use crate::attach::random_password;
use crate::cancel::Cancel;
use crate::error::{Class, Problem};
use crate::pod::facts::PodFacts;
use helenus_model::agent::Tokens;
use helenus_model::kube::job::{GENERATOR, LoadJob, RUN};
use helenus_model::kube::options::KubeError;
use helenus_model::kube::pod::LAUNCHER;
use helenus_model::kube::waiting::{is_ready, waiting};
use serde_json::Value;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Longest wait for the generators to run.
const RUNS_WITHIN: Duration = Duration::from_secs(120);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Longest wait for their end.
const GONE_WITHIN: &str = "--timeout=20s";

/// Annotation with a generator's number.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Why there are no generators.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// kubectl.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// The cluster's manifests.
    #[error(transparent)]
    Render(#[from] KubeError),
    /// They do not start.
    #[error("the generators did not start")]
    Pods(#[source] PodsError),
    /// One of them ended at once.
    #[error("generator {pod} exited at once: {said}")]
    Ended {
        /// Its pod.
        pod: String,
        /// Its last words.
        said: String,
    },
    /// No random bytes.
    #[error("cannot generate names for the generators")]
    Random(#[from] io::Error),
    /// The certificates that a pod beside the nodes needs.
    #[error("the certificates cannot be read")]
    Certificates(#[source] io::Error),
    /// What they used, or what was asked through one.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// One of them cannot be worked with.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl Problem for JobError {
    fn class(&self) -> Class {
        match self {
            Self::Kubectl(error) => error.class(),
            Self::Render(error) => error.class(),
            Self::Pods(error) => error.class(),
            Self::Ask(error) => error.class(),
            Self::Agent(AgentError::Interrupted) | Self::Interrupted => Class::Interrupted,
            Self::Agent(_) | Self::Ended { .. } => Class::Cluster,
            Self::Random(_) | Self::Certificates(_) => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Kubectl(error) => error.hint(),
            Self::Render(error) => Some(error.hint()),
            Self::Pods(PodsError::Blocked { waiting, .. } | PodsError::Late { waiting, .. }) => {
                let remedies = waiting.iter().filter_map(|one| one.blocker.remedy());
                remedies.into_iter().next()
            }
            Self::Pods(error) => error.hint(),
            Self::Ask(error) => error.hint(),
            Self::Agent(_) | Self::Ended { .. } => Some(OTHER_IMAGE.to_owned()),
            Self::Random(_) | Self::Certificates(_) | Self::Interrupted => None,
        }
    }
}

/// A generator's pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    /// Its name.
    pub pod: String,
    /// Its worker.
    pub worker: String,
}

/// Generators that run, and wait for plans.
#[derive(Debug)]
pub struct KubeJob {
    kubectl: Kubectl,
    job: LoadJob,
    /// By number.
    generators: Vec<Generator>,
    ended: bool,
}

impl KubeJob {
    /// Makes so many generators beside the nodes of a data centre (of the first where none is named), and waits until
    /// all of them run.
    ///
    /// # Errors
    /// They do not start: nothing of them is left.
    pub fn start(
        kubectl: &Kubectl,
        state: &KubeState,
        data_center: Option<&str>,
        pods: u32,
        cancel: &Cancel,
    ) -> Result<Self, JobError> {
        let plan = state.rendered()?;
        let namespace = match data_center {
            Some(name) => {
                let own = plan.sets_of(name)?;
                own[0].namespace.clone()
            }
            None => plan.namespaces.first().cloned().unwrap_or_default(),
        };
        let run: String = random_password()?.chars().take(5).collect();
        let mut own = Self {
            kubectl: kubectl.clone(),
            job: LoadJob::new(state.name(), &namespace, &run, pods),
            generators: Vec::new(),
            ended: false,
        };
        kubectl.apply(&own.job.manifest(state.name(), &state.options))?;
        own.wait(cancel)?;
        tracing::info!(job = own.job.name, pods, "generators run");
        Ok(own)
    }

    fn wait(&mut self, cancel: &Cancel) -> Result<(), JobError> {
        let begin = Instant::now();
        let mut stuck = Stuck::default();
        let total = self.job.pods as usize;
        let namespaces = [self.job.namespace.clone()];
        loop {
            let seen = seen(&self.kubectl, "pods,events", &namespaces)?;
            let own: Vec<&Value> = seen.iter().filter(|item| is_of(item, &self.job)).collect();
            let phase = |pod: &&&Value, phase: &str| pod["status"]["phase"] == phase;
            if let Some(pod) = own
                .iter()
                .find(|pod| phase(pod, "Failed") || phase(pod, "Succeeded"))
            {
                return Err(self.ended_at_once(pod));
            }
            let mut running: Vec<(u32, Generator)> = own
                .iter()
                .filter(|pod| phase(pod, "Running") && is_ready(pod))
                .map(|pod| (index(pod), generator(pod)))
                .collect();
            if running.len() == total {
                running.sort_by_key(|(index, _)| *index);
                self.generators = running.into_iter().map(|(_, one)| one).collect();
                return Ok(());
            }
            let others = seen.iter().filter(|item| item["kind"] != "Pod");
            let items: Vec<Value> = own.iter().copied().chain(others).cloned().collect();
            let waiting = waiting(&items);
            if cancel.is_set() {
                return Err(JobError::Interrupted);
            }
            if stuck.look(running.len(), total, &waiting) {
                return Err(JobError::Pods(PodsError::Blocked { total, waiting }));
            }
            if begin.elapsed() > RUNS_WITHIN {
                return Err(JobError::Pods(PodsError::Late {
                    ready: running.len(),
                    total,
                    within: RUNS_WITHIN,
                    waiting,
                }));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn ended_at_once(&self, pod: &Value) -> JobError {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let words = ["logs", "--tail=3", "-n", &self.job.namespace, name];
        let said = self.kubectl.text(&words, "").unwrap_or_default();
        let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        JobError::Ended {
            pod: format!("{}/{name}", self.job.namespace),
            said: lines.collect::<Vec<_>>().join("; "),
        }
    }

    /// The generators, by number.
    pub fn generators(&self) -> &[Generator] {
        &self.generators
    }

    /// Where they are.
    pub fn namespace(&self) -> &str {
        &self.job.namespace
    }

    /// A channel to the agent in the pod of this number, which goes with it.
    ///
    /// # Errors
    /// kubectl does not lead to it, or the image has another one.
    pub fn channel(&self, place: usize, cancel: &Cancel) -> Result<Channel, JobError> {
        let pod = self.generators.get(place).map_or("", |one| &one.pod);
        let command = self.kubectl.command(&[
            "exec",
            "-i",
            "-n",
            &self.job.namespace,
            pod,
            "-c",
            GENERATOR,
            "--",
            LAUNCHER,
            "load-agent",
            "--stdio",
        ]);
        // The image says by its format whether it fits.
        let conductor = Conductor::new(None, Tokens::default())?;
        Ok(conductor.over(command, pod, cancel)?)
    }

    /// What each generator's pod used so far.
    ///
    /// # Errors
    /// One cannot be reached.
    pub fn facts(&self) -> Vec<Result<PodFacts, AskError>> {
        let all = self.generators.iter();
        let of = |one: &Generator| facts(&self.kubectl, (&self.job.namespace, &one.pod), 0);
        all.map(of).collect()
    }

    /// Why the generator of this number ended, as its pod shows it; empty where it shows nothing.
    pub fn why(&self, place: usize) -> String {
        let Some(generator) = self.generators.get(place) else {
            return String::new();
        };
        let words = [
            "get",
            "pod",
            &generator.pod,
            "-n",
            &self.job.namespace,
            "--ignore-not-found",
        ];
        let pod = match self.kubectl.json(&words, "") {
            Ok(pod) => pod,
            Err(error) => return error.to_string(),
        };
        format!("pod {}{}", generator.pod, ended(&pod))
    }

    /// Deletes it, and waits until its pods are gone.
    ///
    /// # Errors
    /// kubectl cannot; the Job deletes itself once its pods have waited for some minutes.
    pub fn end(mut self) -> Result<(), KubectlError> {
        self.delete(&["--cascade=foreground", "--wait=true", GONE_WITHIN])
    }

    fn delete(&mut self, how: &[&str]) -> Result<(), KubectlError> {
        self.ended = true;
        let mut command = self.kubectl.command(&[
            "delete",
            "job",
            &self.job.name,
            "-n",
            &self.job.namespace,
            "--ignore-not-found",
        ]);
        // A second Ctrl-C must not keep it from being deleted.
        command.process_group(0);
        command.args(how).stdin(Stdio::null());
        let output = command.output().map_err(KubectlError::Io)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(KubectlError::Failed {
                what: format!("delete job {}", self.job.name),
                said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
        }
    }
}

impl Drop for KubeJob {
    fn drop(&mut self) {
        if !self.ended
            && let Err(error) = self.delete(&["--cascade=background", "--wait=false"])
        {
            tracing::error!(%error, job = self.job.name, "the generators are still there");
        }
    }
}

fn is_of(item: &Value, job: &LoadJob) -> bool {
    item["kind"] == "Pod" && item["metadata"]["labels"][RUN] == job.name.as_str()
}

fn index(pod: &Value) -> u32 {
    let text = pod["metadata"]["annotations"][INDEX].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn generator(pod: &Value) -> Generator {
    let text = |at: &str| {
        let found = pod.pointer(at).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    Generator {
        pod: text("/metadata/name"),
        worker: text("/spec/nodeName"),
    }
}

/// What the API server says of a generator's end, in words that follow its name.
fn ended(pod: &Value) -> String {
    if pod.is_null() {
        return " was deleted".to_owned();
    }
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return " is being deleted".to_owned();
    }
    let status = &pod["status"];
    if let Some(reason) = status["reason"].as_str() {
        return format!(": {reason}");
    }
    let containers = status["containerStatuses"].as_array();
    let mut states = containers.into_iter().flatten();
    let terminated = states.find_map(|one| one["state"]["terminated"].as_object());
    match terminated {
        Some(end) => {
            let reason = end.get("reason").and_then(Value::as_str);
            let code = end.get("exitCode").and_then(Value::as_i64);
            format!(
                ": {}, exit code {}",
                reason.unwrap_or("ended"),
                code.unwrap_or_default()
            )
        }
        None => " runs, and the program in it was cut off".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_generator_s_end_is_read_from_its_pod() {
        assert_eq!(ended(&Value::Null), " was deleted");
        let killed = json!({"metadata": {"name": "g"}, "status": {"phase": "Failed", "containerStatuses": [
            {"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}
        ]}});
        assert_eq!(ended(&killed), ": OOMKilled, exit code 137");
        let evicted = json!({"metadata": {"name": "g"}, "status": {"reason": "Evicted"}});
        assert_eq!(ended(&evicted), ": Evicted");
        let going = json!({"metadata": {"name": "g", "deletionTimestamp": "t"}});
        assert_eq!(ended(&going), " is being deleted");
        let runs = json!({"metadata": {"name": "g"}, "status": {"containerStatuses": [{"state": {"running": {}}}]}});
        assert_eq!(ended(&runs), " runs, and the program in it was cut off");
    }

    #[test]
    fn generators_are_identified_by_their_numbers() {
        let pod = |index: &str, ready: &str| {
            json!({
                "kind": "Pod",
                "metadata": {"name": format!("g-{index}-abc"), "labels": {RUN: "demo-load-k"}, "annotations": {INDEX: index}},
                "spec": {"nodeName": "worker1"},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            })
        };
        let job = LoadJob::new("demo", "demo", "k", 2);
        let one = pod("1", "True");
        assert!(is_of(&one, &job) && is_ready(&one));
        assert!(!is_ready(&pod("0", "False")));
        assert_eq!((index(&one), generator(&one).pod.as_str()), (1, "g-1-abc"));
    }
}
