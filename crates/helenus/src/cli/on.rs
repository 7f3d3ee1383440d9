//! `--on`: a cluster that others run, on Kubernetes or on hosts, by its name.
//! Refuses a name without the place where it is.

use crate::error::{CommandError, code};

/// A cluster that others run, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum On {
    /// On Kubernetes.
    Kube(String),
    /// On hosts.
    Hosts(String),
}

impl On {
    /// Refuses flags that pods cannot have.
    pub(crate) fn without(on: Option<&Self>, flags: &[(bool, &str)]) -> Result<(), CommandError> {
        let given = flags.iter().find(|(given, _)| *given);
        match (on, given) {
            (Some(Self::Kube(name)), Some((_, flag))) => {
                let text = format!("{flag} cannot be used with --on kube:{name}");
                Err(CommandError::new(code::USAGE, text).hint(format!(
                    "leave {flag} out; or bring the cluster up on this machine or on hosts"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// `kube:NAME` or `hosts:NAME`.
pub(crate) fn parse(text: &str) -> Result<On, String> {
    let named = text.split_once(':').filter(|(_, name)| !name.is_empty());
    match named {
        Some(("kube", name)) => Ok(On::Kube(name.to_owned())),
        Some(("hosts", name)) => Ok(On::Hosts(name.to_owned())),
        _ => Err(format!(
            "{text:?}: write it as kube:NAME or hosts:NAME, such as kube:demo"
        )),
    }
}

/// `kube:NAME`, where only Kubernetes can be meant.
pub(crate) fn parse_kube(text: &str) -> Result<String, String> {
    match text.strip_prefix("kube:") {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(format!(
            "{text:?}: write it as kube:NAME, such as kube:demo"
        )),
    }
}
