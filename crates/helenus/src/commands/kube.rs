//! `helenus kube`: clusters as manifests, what they need on a laptop, and clusters that were applied.
//! Refuses to talk to an API server itself: kubectl does.

mod change;
mod image;
mod inside;
mod kind;
mod render;
mod rm;
mod secret;
mod up;
mod view;

use crate::cli::kube::{Kube, KubeWhat};
use crate::commands::elsewhere::{Asked, asked};
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::error::{Class, ClusterError};
use helenus_cluster::kept::KeptLock;
use helenus_cluster::kube::{KubeClusters, KubeState, Kubectl};

pub(crate) fn run(flags: &Kube, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.what {
        KubeWhat::Up(flags) => up::run(flags, context, ui),
        KubeWhat::Wait(flags) => up::wait(flags, context, ui),
        KubeWhat::Status(flags) => view::run(flags, context, ui),
        KubeWhat::Logs(flags) => inside::logs(flags, context, ui),
        KubeWhat::Cql(flags) => inside::cql(flags, context, ui),
        KubeWhat::Nodetool(flags) => inside::nodetool(flags, context, ui),
        KubeWhat::Exec(flags) => inside::exec(flags, context, ui),
        KubeWhat::Scale(flags) => change::scale(flags, context, ui),
        KubeWhat::Restart(flags) => change::restart(flags, context, ui),
        KubeWhat::Fault(flags) => change::fault(flags, context, ui),
        KubeWhat::Heal(flags) => change::heal(flags, context, ui),
        KubeWhat::Rm(flags) => rm::run(flags, context, ui),
        KubeWhat::Render(flags) => render::run(flags, context, ui),
        KubeWhat::Kind(flags) => kind::run(flags, context, ui),
        KubeWhat::Secret(flags) => secret::run(flags, context, ui),
        KubeWhat::Image(flags) => image::run(flags, context, ui),
    }
}

/// The cluster of this name, and the kubectl that leads to it; where it is, is said.
fn known(name: &str, context: &Context, ui: &Ui) -> Result<(KubeState, Kubectl), CommandError> {
    let state = clusters(context).load(name)?;
    let kubectl = state.kubectl()?;
    let plan = state.rendered()?;
    say_where(&kubectl, &plan.namespaces, ui);
    if let Some(lent) = &state.lent {
        ui.caution(&format!(
            "{name} has settings of experiment {}; they are put back when that ends, or by `helenus kube heal {name}`",
            lent.by
        ));
    }
    Ok((state, kubectl))
}

/// The same for a verb that changes it: no other one does while this one has the lock, which a dry run does not take.
fn held(
    name: &str,
    dry_run: bool,
    context: &Context,
    ui: &Ui,
) -> Result<(Option<KeptLock>, KubeState, Kubectl), CommandError> {
    let lock = match dry_run {
        true => None,
        false => Some(clusters(context).hold(name)?.0),
    };
    let (state, kubectl) = known(name, context, ui)?;
    Ok((lock, state, kubectl))
}

/// A failure of something that takes long: a person who stops it leaves the cluster as it is then.
fn failed(error: ClusterError, name: &str) -> CommandError {
    match error.class() {
        Class::Interrupted => {
            let hint =
                format!("helenus kube wait {name} waits for it, helenus kube rm {name} removes it");
            CommandError::new(code::INTERRUPTED, "interrupted; the cluster stays as it is")
                .hint(hint)
        }
        _ => error.into(),
    }
}

/// The clusters of this user on Kubernetes.
fn clusters(context: &Context) -> KubeClusters {
    KubeClusters::of(&context.paths.state)
}

/// Nothing happens in a cluster that a person does not see named.
fn say_where(kubectl: &Kubectl, namespaces: &[String], ui: &Ui) {
    ui.note(&format!(
        "context {} ({}), {} {}",
        kubectl.context,
        kubectl.server,
        match namespaces.len() {
            1 => "namespace",
            _ => "namespaces",
        },
        namespaces.join(", ")
    ));
}
