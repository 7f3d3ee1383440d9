//! What a pod answers to a program of ours in it: statements at its node, and what it used.
//! Refuses passwords in arguments: they go over the program's standard input.

use super::kubectl::is_of_program;
use super::{Kubectl, KubectlError};
use crate::error::{Class, Problem};
use crate::pod::cql::{PodAnswer, PodCql, PodCqlError};
use crate::pod::facts::{FactsError, PodFacts};
use helenus_model::kube::pod::LAUNCHER;

/// Why a pod gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The program in it failed, or could not be started.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// Its answer to statements is none.
    #[error(transparent)]
    Answer(#[from] PodCqlError),
    /// Its answer about itself is none.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// The node refuses a statement, or does not answer.
    #[error("{pod}: {said}")]
    Refused {
        /// The pod.
        pod: String,
        /// Its words.
        said: String,
    },
}

/// Words of a program that this image does not have.
const NO_SUCH_VERB: &str = "unrecognized subcommand";

impl Problem for AskError {
    fn class(&self) -> Class {
        match self {
            Self::Kubectl(error) => error.class(),
            Self::Answer(_) | Self::Facts(_) => Class::Environment,
            Self::Refused { .. } => Class::Cluster,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Kubectl(KubectlError::Failed { said, .. }) if said.contains(NO_SUCH_VERB) => {
                Some(OTHER_IMAGE.to_owned())
            }
            Self::Kubectl(error) => error.hint(),
            Self::Answer(_) | Self::Facts(_) => Some(OTHER_IMAGE.to_owned()),
            Self::Refused { said, .. } if said.contains(NO_SUCH_VERB) => {
                Some(OTHER_IMAGE.to_owned())
            }
            Self::Refused { said, .. } if wants_password(said) => {
                Some("give --user and --password-from (kube cql: --password-env)".to_owned())
            }
            Self::Refused { .. } => None,
        }
    }
}

/// What helps where the pods run another Helenus.
pub(super) const OTHER_IMAGE: &str = "the pods' image has another version of helenus: make it again with `helenus kube image`, and apply the cluster \
     with it";

fn wants_password(said: &str) -> bool {
    said.contains("password") || said.contains("credentials")
}

/// Runs statements at the node in this pod.
///
/// # Errors
/// The node refuses one, or the pod cannot be reached.
pub(super) fn cql(
    kubectl: &Kubectl,
    at: (&str, &str),
    asked: &PodCql,
) -> Result<PodAnswer, AskError> {
    let words = [LAUNCHER, "__pod", "cql"];
    let text = kubectl
        .exec(at, &words, &asked.text())
        .map_err(|error| match error {
            KubectlError::Failed { said, .. } if is_of_program(&said) => AskError::Refused {
                pod: format!("{}/{}", at.0, at.1),
                said,
            },
            other => other.into(),
        })?;
    Ok(PodAnswer::read(&text)?)
}

/// What this pod used so far, with the stops of its JVM from this moment of its monotonic clock on.
///
/// # Errors
/// The pod cannot be reached.
pub fn facts(kubectl: &Kubectl, at: (&str, &str), since_ns: u64) -> Result<PodFacts, AskError> {
    let since = since_ns.to_string();
    let text = kubectl.exec(at, &[LAUNCHER, "__pod", "facts", &since], "")?;
    Ok(PodFacts::read(&text)?)
}
