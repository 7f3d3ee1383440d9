//! `helenus kube logs`, `cql`, `nodetool` and `exec`: what is done in a pod.
//! Refuses to choose among several pods where it matters: the first that is ready is taken, or the one that was named.

use super::{clusters, known};
use crate::cli::kube::acts::{Cql, Exec, Logs, Nodetool};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::kube::{self, Door, KubeState, Kubectl, Pod};
use helenus_cluster::pod::cql::{Answer, PodCql};
use helenus_cql::{input, split_statements};
use helenus_model::format::Format;
use helenus_model::units::plural;
use serde::Serialize;
use std::ffi::{OsStr, OsString};

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
    let pod = kube::pod(&kubectl, &state, pod)?;
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
fn attached<W: AsRef<OsStr>>(kubectl: &Kubectl, words: &[W]) -> Result<u8, CommandError> {
    let status = kubectl.attached(words)?;
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
    let terminal = rustix::termios::isatty(rustix::stdio::stdin())
        && rustix::termios::isatty(rustix::stdio::stdout());
    let mut all: Vec<OsString> = ["exec", "-i"].map(OsString::from).to_vec();
    all.extend(terminal.then(|| "-t".into()));
    all.extend(["-n", &pod.namespace, &pod.name, "--"].map(OsString::from));
    all.extend(before.iter().chain(words).cloned());
    attached(&kubectl, &all)
}

/// What statements gave.
#[derive(Debug, Serialize)]
struct Answered {
    /// `helenus.kube-cql/1`.
    format: Format,
    /// Namespace and name of the pod.
    pod: String,
    /// Of each statement, in order.
    answers: Vec<Answer>,
}

impl Answers for Answered {
    fn answer(&self) -> String {
        format!(
            "{} run in {}",
            plural(self.answers.len(), "statement"),
            self.pod
        )
    }
}

impl Answered {
    fn text(&self) -> String {
        let with_rows = self.answers.iter().filter(|one| !one.columns.is_empty());
        let text = |answer: &Answer| {
            let heads: Vec<&str> = answer.columns.iter().map(String::as_str).collect();
            let mut table = Table::new(&heads);
            for row in &answer.rows {
                let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("null"));
                table.row(cells);
            }
            format!("{}({})\n", table.render(), plural(answer.rows.len(), "row"))
        };
        with_rows.map(text).collect::<Vec<_>>().join("\n")
    }
}

pub(super) fn cql(flags: &Cql, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let text = match (&flags.execute, &flags.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => input::text(file)?,
        (None, None) => std::io::read_to_string(std::io::stdin())?,
    };
    let statements: Vec<String> = split_statements(&text)
        .into_iter()
        .map(|one| one.text)
        .collect();
    if statements.is_empty() {
        return Err(CommandError::new(code::USAGE, "there is no statement")
            .hint("give one with -e, a file with -f, or standard input".to_owned()));
    }
    let password = match &flags.password_env {
        None => None,
        Some(name) => Some(std::env::var(name).map_err(|_| {
            CommandError::new(
                code::USAGE,
                format!("the variable {name} is not set, or is not text"),
            )
            .hint(format!("export {name} before"))
        })?),
    };
    let (kubectl, state, pod) = pod(&flags.target, context, ui)?;
    let superuser = match state.is_operated() && flags.user.is_none() {
        true => kube::superuser_login(&kubectl, &state)?,
        false => None,
    };
    let asked = PodCql {
        user: flags.user.clone(),
        password,
        ..PodCql::new(statements)
    };
    let asked = asked.by(superuser.as_ref());
    let tls = clusters(context).tls(&state);
    let answer = Door::new(&kubectl, &state, tls).cql(&pod, asked, &context.cancel)?;
    let answered = Answered {
        format: Format::new("kube-cql", 1),
        pod: pod.place(),
        answers: answer.answers,
    };
    ui.result(&answered, || answered.text());
    Ok(0)
}
