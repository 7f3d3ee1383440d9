//! Statements at a cluster's nodes: in a node's own pod where our image is in it, and else from a pod of ours beside.
//! Refuses to leave that pod behind: it goes with the value.

use super::ask::{AskError, cql};
use super::operated::kinds;
use super::{JobError, KubeJob, KubeState, Kubectl, KubectlError, Pod};
use crate::cancel::Cancel;
use crate::pod::cql::{OtherNode, OtherTls, PodAnswer, PodCql};
use fs_err as fs;
use helenus_model::access::TlsReference;
use std::net::{IpAddr, SocketAddr};

/// A way in.
#[derive(Debug)]
pub struct Door {
    kubectl: Kubectl,
    state: KubeState,
    tls: Option<TlsReference>,
    beside: Option<KubeJob>,
}

impl Door {
    /// One to this cluster, with which one speaks TLS in this way; a pod is made when it is needed.
    pub fn new(kubectl: &Kubectl, state: &KubeState, tls: Option<TlsReference>) -> Self {
        Self {
            kubectl: kubectl.clone(),
            state: state.clone(),
            tls,
            beside: None,
        }
    }

    /// Runs statements at the node in this pod.
    ///
    /// # Errors
    /// The node refuses one, the pod cannot be reached, or no pod beside it starts.
    pub fn cql(
        &mut self,
        pod: &Pod,
        asked: PodCql,
        cancel: &Cancel,
    ) -> Result<PodAnswer, JobError> {
        if kinds(self.state.options.form).is_none() {
            return Ok(cql(&self.kubectl, pod.at(), &asked)?);
        }
        let asked = PodCql {
            other: Some(self.other(pod)?),
            ..asked
        };
        if let Some(beside) = &self.beside {
            match self.through(beside, &asked) {
                // A pod in which nothing ran for some minutes has ended.
                Err(AskError::Kubectl(KubectlError::Failed { .. })) => {}
                answer => return Ok(answer?),
            }
        }
        // The old one is deleted before the new one is made.
        self.beside = None;
        let made = KubeJob::start(&self.kubectl, &self.state, None, 1, cancel)?;
        let answer = self.through(&made, &asked);
        self.beside = Some(made);
        Ok(answer?)
    }

    fn through(&self, beside: &KubeJob, asked: &PodCql) -> Result<PodAnswer, AskError> {
        let first = beside.generators().first();
        let pod = first.map_or("", |one| one.pod.as_str());
        cql(&self.kubectl, (beside.namespace(), pod), asked)
    }

    fn other(&self, pod: &Pod) -> Result<OtherNode, JobError> {
        let ip: IpAddr = pod
            .ip
            .parse()
            .map_err(|_| super::PodsError::None(pod.place()))
            .map_err(JobError::Pods)?;
        let read = |path: &String| fs::read_to_string(path).map_err(JobError::Certificates);
        let tls = |tls: &TlsReference| {
            let client = tls.client.as_ref();
            let client =
                client.map(|own| Ok::<_, JobError>((read(&own.certificate)?, read(&own.key)?)));
            Ok::<_, JobError>(OtherTls {
                ca: read(&tls.ca)?,
                name: tls.name.clone().unwrap_or_default(),
                client: client.transpose()?,
            })
        };
        Ok(OtherNode {
            address: SocketAddr::new(ip, self.state.plan.ports.cql),
            tls: self.tls.as_ref().map(tls).transpose()?,
        })
    }
}
