//! Clusters that K8ssandra's operators bring up: whether there are operators, and how far they are.
//! Refuses to apply to a cluster where nobody would take it up.

use super::kubectl::{WAIT_EVERY, items};
use super::{KubeState, Kubectl};
use crate::cancel::Cancel;
use crate::error::{Class, ClusterError, Problem};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helenus_cql::client::{Credentials, Secret};
use helenus_model::kube::ID;
use helenus_model::kube::operated::{Part, PartState, medusa_deployments, parts, superuser_secret};
use helenus_model::kube::options::Form;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Why a cluster was not brought up by operators.
#[derive(Debug, thiserror::Error)]
pub enum OperatedError {
    /// What such a cluster needs is not there.
    #[error("{context} lacks {}", lacks.join(", "))]
    Missing {
        /// kubectl's context.
        context: String,
        /// Custom resources and operators.
        lacks: Vec<String>,
    },
    /// An operator gave up.
    #[error("{name}: {why}")]
    Failed {
        /// The part.
        name: String,
        /// The operator's words.
        why: String,
    },
    /// It took too long.
    #[error("not ready after {} s: {}", within.as_secs(), summary(waiting))]
    Late {
        /// The limit.
        within: Duration,
        /// What is not ready.
        waiting: Vec<Part>,
    },
    /// A Secret of another shape.
    #[error("Secret {namespace}/{name} has no username and password")]
    NoLogin {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
}

fn summary(waiting: &[Part]) -> String {
    if waiting.is_empty() {
        return "its K8ssandraCluster or CassandraDatacenter does not exist".to_owned();
    }
    let one = |part: &Part| match &part.state {
        PartState::Waiting(why) | PartState::Failed(why) => format!("{} ({why})", part.name),
        PartState::Ready => part.name.clone(),
    };
    waiting.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Problem for OperatedError {
    fn class(&self) -> Class {
        match self {
            Self::Missing { .. } => Class::Environment,
            Self::Failed { .. } | Self::Late { .. } | Self::NoLogin { .. } => Class::Cluster,
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { .. } => Some("install K8ssandra's operators with their Helm chart (docs/kubernetes.md), or leave --as out: plain pods need no operator".to_owned()),
            Self::Failed { .. } => Some("see kubectl describe and the operator's log".to_owned()),
            Self::Late { .. } => Some("wait longer with --timeout; the operator's log shows its progress".to_owned()),
            Self::NoLogin { .. } => Some("give --user and --password-from".to_owned()),
            Self::Interrupted => None,
        }
    }
}

/// Custom resources and operators that a form needs.
fn needs(form: Form) -> (&'static [&'static str], &'static [&'static str]) {
    match form {
        Form::K8ssandra => (
            &[
                "k8ssandraclusters.k8ssandra.io",
                "cassandradatacenters.cassandra.datastax.com",
            ],
            &["k8ssandra-operator", "cass-operator"],
        ),
        Form::CassOperator => (
            &["cassandradatacenters.cassandra.datastax.com"],
            &["cass-operator"],
        ),
        Form::Plain | Form::Kustomize | Form::HelmValues => (&[], &[]),
    }
}

/// Kinds of the resources that the operators take up.
pub(super) fn kinds(form: Form) -> Option<&'static str> {
    match form {
        Form::K8ssandra => Some("k8ssandraclusters.k8ssandra.io"),
        Form::CassOperator => Some("cassandradatacenters.cassandra.datastax.com"),
        Form::Plain | Form::Kustomize | Form::HelmValues => None,
    }
}

/// Whether there is all that the form needs.
///
/// # Errors
/// [`OperatedError::Missing`] names each thing that is not there.
pub fn operators(kubectl: &Kubectl, form: Form) -> Result<(), ClusterError> {
    let (resources, operators) = needs(form);
    let mut lacks = Vec::new();
    for name in resources {
        let found = kubectl.json(&["get", "crd", name, "--ignore-not-found"], "")?;
        if found.is_null() {
            lacks.push(format!("the custom resource {name}"));
        }
    }
    // Who may not see deployments of all namespaces has to know it.
    if let Ok(found) = kubectl.json(&["get", "deployments", "-A"], "") {
        let names: Vec<&str> = items(&found)
            .into_iter()
            .filter_map(|one| one["metadata"]["name"].as_str())
            .collect();
        let missing = operators
            .iter()
            .filter(|operator| !names.iter().any(|name| name.contains(*operator)));
        lacks.extend(missing.map(|operator| format!("a deployment of {operator}")));
    }
    match lacks.is_empty() {
        true => Ok(()),
        false => Err(OperatedError::Missing {
            context: format!("context {}", kubectl.context),
            lacks,
        }
        .into()),
    }
}

/// What operators brought up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operated {
    /// All parts.
    pub parts: Vec<Part>,
    /// Namespace and name of the Secret with the superuser, where it exists.
    pub superuser: Option<(String, String)>,
}

/// Waits until all parts of a cluster are ready. `see` is called at each look.
///
/// # Errors
/// It takes longer than `within`, or an operator gives up.
pub fn wait_operated(
    kubectl: &Kubectl,
    state: &KubeState,
    within: Duration,
    cancel: &Cancel,
    see: &mut dyn FnMut(&[Part]),
) -> Result<Operated, ClusterError> {
    let begin = Instant::now();
    loop {
        let resources = resources(kubectl, state)?;
        let mut all: Vec<Part> = resources.iter().flat_map(parts).collect();
        for (namespace, name) in resources.iter().flat_map(medusa_deployments) {
            all.push(medusa(kubectl, &namespace, &name)?);
        }
        see(&all);
        for part in &all {
            if let PartState::Failed(why) = &part.state {
                let (name, why) = (part.name.clone(), why.clone());
                return Err(OperatedError::Failed { name, why }.into());
            }
        }
        let waiting: Vec<Part> = all
            .iter()
            .filter(|part| part.state != PartState::Ready)
            .cloned()
            .collect();
        if waiting.is_empty() && !all.is_empty() {
            let superuser = superuser(kubectl, &resources)?;
            return Ok(Operated {
                parts: all,
                superuser,
            });
        }
        if cancel.is_set() {
            return Err(OperatedError::Interrupted.into());
        }
        if begin.elapsed() > within {
            return Err(OperatedError::Late { within, waiting }.into());
        }
        std::thread::sleep(WAIT_EVERY);
    }
}

fn resources(kubectl: &Kubectl, state: &KubeState) -> Result<Vec<Value>, ClusterError> {
    let label = format!("{ID}={}", state.id());
    let mut all = Vec::new();
    for namespace in &state.rendered()?.namespaces {
        if let Some(kind) = kinds(state.options.form) {
            let found = kubectl.json(&["get", kind, "-n", namespace, "-l", &label], "")?;
            all.extend(items(&found).into_iter().cloned());
        }
    }
    Ok(all)
}

fn medusa(kubectl: &Kubectl, namespace: &str, name: &str) -> Result<Part, ClusterError> {
    let words = [
        "get",
        "deployment",
        name,
        "-n",
        namespace,
        "--ignore-not-found",
    ];
    let found = kubectl.json(&words, "")?;
    let state = match (
        found.is_null(),
        found["status"]["availableReplicas"].as_u64(),
    ) {
        (true, _) => PartState::Waiting(format!("no deployment {name} yet")),
        (false, None | Some(0)) => PartState::Waiting("not available".to_owned()),
        (false, Some(_)) => PartState::Ready,
    };
    Ok(Part {
        name: format!("Medusa ({name})"),
        state,
    })
}

/// Who logs in as the superuser that the operators have made; none if there is no such Secret yet.
///
/// # Errors
/// What kubectl says, or a Secret without a name and a password.
pub fn superuser_login(
    kubectl: &Kubectl,
    state: &KubeState,
) -> Result<Option<Credentials>, ClusterError> {
    let Some((namespace, name)) = superuser(kubectl, &resources(kubectl, state)?)? else {
        return Ok(None);
    };
    let secret = kubectl.json(&["get", "secret", &name, "-n", &namespace], "")?;
    let value = |key: &str| {
        let text = secret["data"][key].as_str()?;
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        String::from_utf8(bytes).ok()
    };
    match (value("username"), value("password")) {
        (Some(username), Some(password)) => Ok(Some(Credentials {
            username,
            password: Secret::new(password),
        })),
        _ => Err(OperatedError::NoLogin { namespace, name }.into()),
    }
}

fn superuser(
    kubectl: &Kubectl,
    resources: &[Value],
) -> Result<Option<(String, String)>, ClusterError> {
    let Some(first) = resources.first() else {
        return Ok(None);
    };
    let namespace = first["metadata"]["namespace"].as_str().unwrap_or_default();
    let name = superuser_secret(first);
    let words = [
        "get",
        "secret",
        &name,
        "-n",
        namespace,
        "--ignore-not-found",
        "-o",
        "name",
    ];
    let found = kubectl.text(&words, "")?;
    Ok((!found.trim().is_empty()).then(|| (namespace.to_owned(), name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_resource_that_is_gone_says_so() {
        let late = |waiting| OperatedError::Late {
            within: Duration::from_secs(5),
            waiting,
        };
        assert_eq!(
            late(Vec::new()).to_string(),
            "not ready after 5 s: its K8ssandraCluster or CassandraDatacenter does not exist"
        );
        let part = Part {
            name: "dc1".to_owned(),
            state: PartState::Waiting("not ready".to_owned()),
        };
        assert_eq!(
            late(vec![part]).to_string(),
            "not ready after 5 s: dc1 (not ready)"
        );
    }
}
