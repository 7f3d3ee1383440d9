//! `helenus kube scale`, `restart`, `fault` and `heal`: what changes a cluster on Kubernetes.
//! Refuses to do two things at once: one node after the other.

use super::{clusters, failed, held, known};
use crate::cli::kube::acts::{Fault, FaultWhat, Heal, Restart, Scale};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::kube::{self, KubeState, Pod};
use helenus_cluster::queue::{self, Ahead, Turn};
use helenus_lab::experiment;
use helenus_model::format::Format;
use helenus_model::kube::scaling::{Scaling, scaling};
use serde::Serialize;

/// What was done to a cluster, or would be.
#[derive(Debug, Serialize)]
struct Change {
    /// `helenus.kube-change/1`.
    format: Format,
    /// The cluster.
    name: String,
    /// Whether nothing was done.
    dry_run: bool,
    /// What, in order.
    changes: Vec<String>,
}

impl Change {
    fn new(name: &str, dry_run: bool, changes: Vec<String>) -> Self {
        Self {
            format: Format::new("kube-change", 1),
            name: name.to_owned(),
            dry_run,
            changes,
        }
    }

    fn show(&self, ui: &Ui) -> u8 {
        ui.result(self, || {
            let lines: String = self
                .changes
                .iter()
                .map(|one| format!("  {one}\n"))
                .collect();
            format!("{lines}{}\n", self.answer())
        });
        0
    }
}

impl Answers for Change {
    fn answer(&self) -> String {
        match (self.dry_run, self.changes.is_empty()) {
            (_, true) => format!("{}: nothing to do", self.name),
            (true, false) => format!("{}: nothing was done (--dry-run)", self.name),
            (false, false) => format!("{}: done", self.name),
        }
    }
}

/// Refuses what the operators do themselves; `instead` has them do it.
fn not_operated(state: &KubeState, what: &str, instead: &str) -> Result<(), CommandError> {
    match state.is_operated() {
        false => Ok(()),
        true => {
            let name = state.name();
            let text =
                format!("kube {what} is for plain clusters, and operators look after {name}");
            Err(CommandError::new(code::USAGE, text).hint(instead.to_owned()))
        }
    }
}

pub(super) fn scale(flags: &Scale, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (_lock, mut state, kubectl) = held(&flags.name, flags.dry_run, context, ui)?;
    let instead = "helenus kube up again, with the same flags and another -n";
    not_operated(&state, "scale", instead)?;
    let plan = state.rendered()?;
    let steps = scaling(&plan, flags.dc.as_deref(), flags.nodes)?;
    let words = |step: &Scaling| match step {
        Scaling::Add(_) => format!("{} joins", step.pod()),
        Scaling::Remove(set) if flags.volumes && state.options.storage.is_some() => format!(
            "{0} is decommissioned, and its volume {1}/data-{0} deleted",
            step.pod(),
            set.namespace
        ),
        Scaling::Remove(_) => format!("{} is decommissioned", step.pod()),
    };
    let change = Change::new(
        &flags.name,
        flags.dry_run,
        steps.iter().map(words).collect(),
    );
    if !flags.dry_run && !steps.is_empty() {
        let progress = ui.progress("scaling");
        let mut done = 0;
        let mut see = |what: &str| {
            progress.at(done, steps.len() as u64);
            progress.say(what);
            done += 1;
        };
        let waits = (flags.timeout, &context.cancel);
        let all = clusters(context);
        kube::scale(
            &kubectl,
            &all,
            &mut state,
            &steps,
            flags.volumes,
            waits,
            &mut see,
        )
        .map_err(|error| failed(error, &flags.name))?;
    }
    let stay = steps.iter().any(|step| matches!(step, Scaling::Remove(_)));
    if stay && !flags.volumes && !flags.dry_run && state.options.storage.is_some() {
        ui.caution("the volumes of decommissioned nodes stay; delete them before you scale up again: no node starts on one");
    }
    Ok(change.show(ui))
}

pub(super) fn restart(flags: &Restart, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (name, named) = match flags.target.split_once('/') {
        Some((name, pod)) => (name, Some(pod)),
        None => (flags.target.as_str(), None),
    };
    let (_lock, state, kubectl) = held(name, flags.dry_run, context, ui)?;
    let instead = r#"kubectl patch cassandradatacenter NAME --type merge -p '{"spec":{"rollingRestartRequested":true}}'"#;
    not_operated(&state, "restart", instead)?;
    let plan = state.rendered()?;
    if let Some(dc) = &flags.dc {
        plan.sets_of(dc)?;
    }
    let chosen: Vec<Pod> = match named {
        Some(pod) => vec![kube::pod(&kubectl, &state, Some(pod))?],
        None => kube::pods(&kubectl, &state)?,
    };
    let in_dc = |pod: &Pod| {
        let mut sets = plan.sets.iter().filter(|set| set.name == pod.set);
        flags.dc.is_none() || sets.any(|set| Some(&set.data_center) == flags.dc.as_ref())
    };
    let chosen: Vec<Pod> = chosen.into_iter().filter(in_dc).collect();
    let words = |pod: &Pod| format!("{} drains and restarts", pod.name);
    let change = Change::new(name, flags.dry_run, chosen.iter().map(words).collect());
    if !flags.dry_run {
        let progress = ui.progress("restarting");
        let mut see = |done: usize, what: &str| {
            progress.at(done as u64, chosen.len() as u64);
            progress.say(what);
        };
        let waits = (flags.timeout, &context.cancel);
        kube::restart(&kubectl, &state, &chosen, waits, &mut see)
            .map_err(|error| failed(error, name))?;
    }
    Ok(change.show(ui))
}

pub(super) fn fault(flags: &Fault, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (FaultWhat::Kill { dry_run, .. }
    | FaultWhat::Drain { dry_run, .. }
    | FaultWhat::Cut { dry_run, .. }) = &flags.what;
    let (_lock, mut state, kubectl) = held(&flags.name, *dry_run, context, ui)?;
    let change = |dry_run, what: String| Change::new(&flags.name, dry_run, vec![what]).show(ui);
    Ok(match &flags.what {
        FaultWhat::Kill { pod, dry_run } => {
            let pod = kube::pod(&kubectl, &state, Some(pod))?;
            if !dry_run {
                kube::kill(&kubectl, &pod)?;
            }
            change(*dry_run, format!("{} killed", pod.place()))
        }
        FaultWhat::Drain {
            worker,
            timeout,
            dry_run,
        } => {
            if !dry_run {
                let _progress = ui.progress("draining");
                kube::drain(&kubectl, &clusters(context), &mut state, worker, *timeout)?;
            }
            let what = format!(
                "worker {worker} takes no pods, and those of {} left it",
                flags.name
            );
            change(*dry_run, what)
        }
        FaultWhat::Cut { a, b, dry_run } => {
            let instead = "write NetworkPolicies for cass-operator's labels; pods can be killed";
            not_operated(&state, "fault cut", instead)?;
            let mut what = format!("{a} and {b} cut");
            if !dry_run {
                let _progress = ui.progress("cutting, and trying whether it holds");
                let cut = kube::cut(&kubectl, &state, [a, b], &context.cancel)?;
                what += match cut.open_connections {
                    true => ": enforced, also for open connections",
                    false => ": enforced for new connections; not enforced for open ones",
                };
            }
            change(*dry_run, what)
        }
    })
}

pub(super) fn heal(flags: &Heal, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (mut state, kubectl) = known(&flags.name, context, ui)?;
    let all = clusters(context);
    let _turn = match state.lent.is_some() && !flags.dry_run {
        true => Some(no_experiment(&flags.name, context, ui)?),
        false => None,
    };
    // Behind the experiment, which takes the lock itself.
    let mut lock = None;
    if !flags.dry_run {
        let (held, now) = all.hold_again(&state)?;
        (lock, state) = (Some(held), now);
    }
    let lent = state.lent.as_ref();
    let lent = lent.map(|lent| format!("nodes started as before experiment {}", lent.by));
    let mut changes: Vec<String> = match flags.dry_run {
        true => {
            let drained = state
                .drained
                .iter()
                .map(|worker| format!("{worker} uncordoned"));
            std::iter::once("network policies of the cluster deleted".to_owned())
                .chain(drained)
                .collect()
        }
        false => {
            let done = kube::heal(&kubectl, &all, &mut state)?;
            let progress = ui.progress("healing");
            experiment::put_back(&all, &mut state, &mut |words| progress.say(words))?;
            done
        }
    };
    drop(lock);
    changes.extend(lent);
    Ok(Change::new(&flags.name, flags.dry_run, changes).show(ui))
}

/// Waits until no experiment runs, which may have the cluster.
fn no_experiment(name: &str, context: &Context, ui: &Ui) -> Result<Turn, CommandError> {
    let mut note_wait = |ahead: &Ahead| {
        ui.note(&format!(
            "waiting for experiment {} (process {}), which may have the cluster",
            ahead.what, ahead.pid
        ));
    };
    Ok(queue::wait(
        context,
        &format!("heal {name}"),
        &mut note_wait,
    )?)
}
