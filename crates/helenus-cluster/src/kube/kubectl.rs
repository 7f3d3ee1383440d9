//! The person's own `kubectl` as a child: contexts, rights and proxies are its affair.
//! Refuses to run without a context that was named, or was the only one.

use crate::error::{Class, Problem};
use helenus_model::kube::ID;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Between two looks.
pub(super) const WAIT_EVERY: Duration = Duration::from_secs(1);

/// Longest wait for the API server's answer to one question.
const ANSWER_WITHIN: &str = "--request-timeout=30s";

/// Who applied something, for the API server.
const MANAGER: &str = "--field-manager=helenus";

/// kubectl with a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubectl {
    /// The context.
    pub context: String,
    /// Address of the API server behind it.
    pub server: String,
}

/// Why kubectl did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KubectlError {
    /// It is not there.
    #[error("kubectl is not on the PATH")]
    Missing,
    /// It could not be started or read.
    #[error("cannot run kubectl")]
    Io(#[from] io::Error),
    /// No context.
    #[error("kubectl has no contexts")]
    NoContext,
    /// Several contexts, and none was named.
    #[error("kubectl has {} contexts, and none was named", .0.len())]
    Several(Vec<String>),
    /// No such context.
    #[error("kubectl has no context {name:?}")]
    Unknown {
        /// Asked for.
        name: String,
        /// All of them.
        known: Vec<String>,
    },
    /// The context leads elsewhere.
    #[error("context {context} now points to {is}; the cluster was applied to {was}")]
    Moved {
        /// The context.
        context: String,
        /// Then.
        was: String,
        /// Now.
        is: String,
    },
    /// It failed.
    #[error("kubectl {what}: {said}")]
    Failed {
        /// Its first words.
        what: String,
        /// What it said.
        said: String,
    },
    /// Its answer is no JSON.
    #[error("cannot read kubectl's output")]
    Answer(#[from] serde_json::Error),
}

/// Words of an API server that is not reached, or does not let one in.
const UNREACHED: [&str; 8] = [
    "connection refused",
    "Unable to connect",
    "no such host",
    "i/o timeout",
    "was refused",
    "Unauthorized",
    "x509:",
    "context deadline exceeded",
];

impl Problem for KubectlError {
    fn class(&self) -> Class {
        match self {
            Self::Several(_) | Self::Unknown { .. } | Self::Moved { .. } => Class::Usage,
            Self::Failed { said, .. } if !forbidden(said) && !unreached(said) => Class::Cluster,
            _ => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Missing => {
                "install kubectl: it is a single binary, and most systems package it"
                    .to_owned()
            }
            Self::Io(_) | Self::Answer(_) => "kubectl version shows whether it works".to_owned(),
            Self::NoContext => "set KUBECONFIG, or make a cluster: helenus kube kind > kind.yaml && kind create cluster --config kind.yaml".to_owned(),
            Self::Several(names) => format!("choose one with --kube-context: {}", names.join(", ")),
            Self::Unknown { name, known } => helenus_model::topology::name_hint(name, known),
            Self::Moved { .. } => "set KUBECONFIG to the file that was used when the cluster was applied".to_owned(),
            Self::Failed { said, .. } if unreached(said) => {
                "kubectl get nodes shows whether the cluster answers".to_owned()
            }
            Self::Failed { said, .. } if forbidden(said) => "ask the cluster's administrator for permission, or use a namespace of yours with --namespace".to_owned(),
            Self::Failed { said, .. } if said.contains("conflict") => "another client changed these fields: revert that, or remove the cluster with `helenus kube rm` and apply it again".to_owned(),
            Self::Failed { said, .. } if fixed(said) => {
                "this cannot be changed in place: helenus kube rm, then helenus kube up".to_owned()
            }
            Self::Failed { .. } => return None,
        })
    }
}

/// Words of kubectl itself where it starts no program in a pod; a program's own complaint has none of them.
const NOT_STARTED: [&str; 5] = [
    "Error from server",
    "Unable to connect to the server",
    "The connection to the server",
    "container in a completed pod",
    "unable to upgrade connection",
];

/// Whether a program in a pod was started and failed: its complaint, and not kubectl's, is what was said.
pub(super) fn is_of_program(said: &str) -> bool {
    !NOT_STARTED.iter().any(|words| said.contains(words))
}

fn unreached(said: &str) -> bool {
    UNREACHED.iter().any(|words| said.contains(words))
}

fn fixed(said: &str) -> bool {
    said.contains("field is immutable") || said.contains("updates to statefulset spec")
}

fn forbidden(said: &str) -> bool {
    said.contains("(Forbidden)") && !fixed(said)
}

impl Kubectl {
    /// With this context; without one, the only one there.
    ///
    /// # Errors
    /// There is no kubectl, no such context, or none was named where there are several.
    pub fn find(context: Option<&str>) -> Result<Self, KubectlError> {
        if let Some(context) = context {
            return Self::of_context(context);
        }
        match &contexts()?[..] {
            [] => Err(KubectlError::NoContext),
            [one] => Self::of_context(one),
            several => Err(KubectlError::Several(several.to_vec())),
        }
    }

    /// With this context.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn of_context(context: &str) -> Result<Self, KubectlError> {
        let known = contexts()?;
        if !known.iter().any(|one| one == context) {
            let name = context.to_owned();
            return Err(KubectlError::Unknown { name, known });
        }
        let mut kubectl = Self {
            context: context.to_owned(),
            server: String::new(),
        };
        let path = "jsonpath={.clusters[0].cluster.server}";
        kubectl.server = kubectl.text(&["config", "view", "--minify", "-o", path], "")?;
        Ok(kubectl)
    }

    /// kubectl's command with these words; what becomes of its streams is the caller's.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.arg("--context").arg(&self.context).args(words);
        command
    }

    /// What it prints, given `input`.
    ///
    /// # Errors
    /// It cannot be started, or fails.
    pub fn text(&self, words: &[&str], input: &str) -> Result<String, KubectlError> {
        answer(self.command(words), words, input)
    }

    /// What it answers as JSON; nothing is [`Value::Null`].
    ///
    /// # Errors
    /// As [`Self::text`], or it is no JSON.
    pub fn json(&self, words: &[&str], input: &str) -> Result<Value, KubectlError> {
        let words = [words, &["-o", "json", ANSWER_WITHIN]].concat();
        let text = self.text(&words, input)?;
        match text.trim() {
            "" => Ok(Value::Null),
            text => Ok(serde_json::from_str(text)?),
        }
    }

    /// Applies manifests as helenus; what other managers set stays theirs.
    ///
    /// # Errors
    /// The API server refuses one.
    pub fn apply(&self, manifests: &str) -> Result<String, KubectlError> {
        let words = [
            "apply",
            "--server-side",
            MANAGER,
            "--validate=strict",
            "-f",
            "-",
        ];
        self.text(&words, manifests)
    }

    /// What a program in a pod prints.
    ///
    /// # Errors
    /// As [`Self::text`]; a program that fails is [`KubectlError::Failed`] with its words.
    pub fn exec(
        &self,
        (namespace, pod): (&str, &str),
        words: &[&str],
        input: &str,
    ) -> Result<String, KubectlError> {
        let mut all = vec!["exec", "-i", "-n", namespace, pod, "--"];
        all.extend(words);
        self.text(&all, input)
    }

    /// Runs it with this program's own streams.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn attached<W: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<ExitStatus, KubectlError> {
        self.command(&[]).args(words).status().map_err(started)
    }
}

/// The objects in an answer of `kubectl get -o json`.
pub(super) fn items(answer: &Value) -> Vec<&Value> {
    match answer["items"].as_array() {
        Some(items) => items.iter().collect(),
        None if answer.is_object() => vec![answer],
        None => Vec::new(),
    }
}

pub(super) fn has_id(item: &Value, id: &str) -> bool {
    item["metadata"]["labels"][ID] == id
}

/// All contexts.
fn contexts() -> Result<Vec<String>, KubectlError> {
    let words = ["config", "get-contexts", "-o", "name"];
    let mut command = Command::new("kubectl");
    command.args(words);
    let text = answer(command, &words, "")?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn started(error: io::Error) -> KubectlError {
    match error.kind() {
        io::ErrorKind::NotFound => KubectlError::Missing,
        _ => KubectlError::Io(error),
    }
}

fn answer(mut command: Command, words: &[&str], input: &str) -> Result<String, KubectlError> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(started)?;
    let pipe = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // One that ends before it has read all says why itself.
        scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(input.as_bytes())));
        child.wait_with_output()
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let named = words.iter().take_while(|word| !word.starts_with('-'));
    Err(KubectlError::Failed {
        what: named.copied().collect::<Vec<_>>().join(" "),
        said: said(&text(&output.stderr), &text(&output.stdout)),
    })
}

/// Lines of a complaint that are shown: the first say what is wrong.
const LINES_MOST: usize = 3;

/// kubectl's complaint in one line, without what says nothing; a program in a pod may complain on its standard output.
fn said(complaint: &str, output: &str) -> String {
    let informative = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("command terminated with exit code")
            && !line.starts_with("Defaulted container")
            && !line.contains("\"Unhandled Error\"")
    };
    let mut lines: Vec<&str> = Vec::new();
    for text in [complaint, output] {
        for line in text.lines().map(str::trim).filter(informative) {
            if !lines.contains(&line) && lines.len() < LINES_MOST {
                lines.push(line);
            }
        }
        if !lines.is_empty() {
            return lines.join("; ").trim_start_matches("error: ").to_owned();
        }
    }
    complaint.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_becomes_one_line_and_says_whose_fault_it_is() {
        let refused = "E1125 09:00:00.000000 1 memcache.go:265] \"Unhandled Error\" err=\"x\"\nThe connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n";
        let failed = |said: String| KubectlError::Failed {
            what: "get pods".to_owned(),
            said,
        };
        let error = failed(said(refused, ""));
        assert_eq!(
            error.to_string(),
            "kubectl get pods: The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?"
        );
        assert_eq!(error.class(), Class::Environment);
        assert!(!is_of_program(&said(refused, "")));
        let error = failed(said(
            "error: cannot\nerror: cannot\ncommand terminated with exit code 2\n",
            "",
        ));
        assert_eq!(error.to_string(), "kubectl get pods: cannot");
        assert_eq!((error.class(), error.hint()), (Class::Cluster, None));
        let rights = "Error from server (Forbidden): pods is forbidden: User \"x\" cannot list resource \"pods\"";
        assert_eq!(failed(rights.to_owned()).class(), Class::Environment);
        let ended = "command terminated with exit code 2\n";
        assert_eq!(said(ended, ""), ended.trim());
        assert_eq!(
            said(ended, "nodetool: too few nodes\n"),
            "nodetool: too few nodes"
        );
    }

    #[test]
    fn a_pod_that_has_ended_is_no_complaint_of_a_program_in_it() {
        for of_kubectl in [
            "error: cannot exec into a container in a completed pod; current phase is Succeeded\n",
            "Error from server (NotFound): pods \"demo-load-k-0-x\" not found\n",
            "error: unable to upgrade connection: container not found (\"generator\")\n",
        ] {
            assert!(!is_of_program(&said(of_kubectl, "")), "{of_kubectl}");
        }
        let ended = "connection timed out\ncommand terminated with exit code 4\n";
        assert!(is_of_program(&said(ended, "")));
    }
}
