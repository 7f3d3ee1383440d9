//! Clusters on Kubernetes: what was applied, where, and how it is reached. All work is done by the person's own
//! `kubectl`, as a child. Refuses to touch a namespace or an object that does not carry the cluster's id.

mod apply;
mod ask;
mod change;
mod door;
mod fault;
mod job;
mod kubectl;
mod lent;
mod operated;
mod pods;
mod ring;
mod settle;
mod tls;

pub use apply::{ApplyError, Owned, apply, begin, form, owned, remove};
pub use ask::{AskError, facts};
pub use change::{ChangeError, restart, scale};
pub use door::Door;
pub use fault::{Cut, FaultError, cut, drain, heal, kill};
pub use job::{Generator, JobError, KubeJob};
pub use kubectl::{Kubectl, KubectlError};
pub use lent::{Lent, put_back, renew};
pub use operated::{Operated, OperatedError, operators, superuser_login, wait_operated};
pub use pods::{Pod, PodsError, Progress, last_words, pod, pods, wait, waiting_now};
pub use ring::{NodeSeen, Ring, RingError, ring};
pub use settle::settle;
pub use tls::{TlsSecretError, new_secrets};

use crate::attach::random_password;
use crate::kept::{Keep, Kept};
use helenus_model::format::Format;
use helenus_model::kube::options::{KubeError, Options};
use helenus_model::kube::{KubePlan, render};
use helenus_model::plan::{ClusterPlan, PlanRequest};
use serde::{Deserialize, Serialize};
use std::io;

/// Version of [`KubeState`] as JSON.
pub const KUBE_STATE_VERSION: u32 = 1;

/// A cluster that was applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KubeState {
    /// `helenus.kube-state/1`.
    pub format: Format,
    /// kubectl's context.
    pub context: String,
    /// Address of the API server behind the context: the same context must still lead there.
    pub server: String,
    /// Cassandra's part.
    pub plan: ClusterPlan,
    /// Kubernetes' part, with the id that everything carries.
    pub options: Options,
    /// Workers that were drained for it, until it is healed.
    #[serde(default)]
    pub drained: Vec<String>,
    /// What Cassandra's part was planned from; absent where it was that of another cluster, and of an older Helenus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<PlanRequest>>,
    /// How it was before an experiment took it; absent unless one has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lent: Option<Box<Lent>>,
}

impl KubeState {
    /// A cluster that is to be applied for the first time.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn new(
        kubectl: &Kubectl,
        (plan, asked): (ClusterPlan, Option<PlanRequest>),
        mut options: Options,
    ) -> io::Result<Self> {
        options.id = Some(random_password()?.chars().take(12).collect());
        Ok(Self {
            format: Format::new("kube-state", KUBE_STATE_VERSION),
            context: kubectl.context.clone(),
            server: kubectl.server.clone(),
            plan,
            options,
            drained: Vec::new(),
            asked: asked.map(Box::new),
            lent: None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// The id by which what was applied is known.
    pub fn id(&self) -> &str {
        self.options.id.as_deref().unwrap_or_default()
    }

    /// Its manifests.
    ///
    /// # Errors
    /// They were rendered once, so only a newer version that refuses more.
    pub fn rendered(&self) -> Result<KubePlan, KubeError> {
        render(&self.plan, &self.options)
    }

    /// Whether K8ssandra's operators bring its pods up: there is no program of ours in them.
    pub fn is_operated(&self) -> bool {
        operated::kinds(self.options.form).is_some()
    }

    /// The kubectl that leads to it.
    ///
    /// # Errors
    /// There is no kubectl, no such context, or it leads to another server now.
    pub fn kubectl(&self) -> Result<Kubectl, KubectlError> {
        let kubectl = Kubectl::of_context(&self.context)?;
        if kubectl.server == self.server {
            return Ok(kubectl);
        }
        Err(KubectlError::Moved {
            context: self.context.clone(),
            was: self.server.clone(),
            is: kubectl.server,
        })
    }
}

impl Keep for KubeState {
    const FOLDER: &'static str = "kube";
    const WHERE: &'static str = "was applied to Kubernetes";
    const FORMAT: (&'static str, u32) = ("kube-state", KUBE_STATE_VERSION);

    fn name(&self) -> &str {
        Self::name(self)
    }

    fn id(&self) -> Option<&str> {
        self.options.id.as_deref()
    }
}

/// The clusters of this user on Kubernetes.
pub type KubeClusters = Kept<KubeState>;
