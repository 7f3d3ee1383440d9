//! `helenus kube up` and `kube wait`: applies a cluster, and says what it waits for.
//! Refuses to leave a person without the reason of a wait.

use super::render::{files, options};
use super::view::{KubeStatus, caution_gone};
use super::{Asked, asked, clusters, failed, known, say_where};
use crate::cli::kube::acts::{Up, Wait};
use crate::cli::run::Run;
use crate::cli::stress::Stress;
use crate::cli::{self, Bench, NoVerb, Verb};
use crate::commands::{self, bench, stress};
use crate::error::{CommandError, code};
use crate::ui::{Answers as _, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::Class;
use helenus_cluster::kube::{self, KubeState, Kubectl, Progress};
use helenus_model::kube::operated::{Part, PartState};
use helenus_model::kube::options::{Form, Options};
use helenus_model::kube::render;
use helenus_model::kube::waiting::Waiting;
use helenus_model::units::plural;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

pub(super) fn run(flags: &Up, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if matches!(flags.form, Form::HelmValues | Form::Kustomize) {
        let text = format!("{} is not applied by helenus", flags.form.word());
        let hint = "helenus kube render writes it, with the command that applies it";
        return Err(CommandError::new(code::USAGE, text).hint(hint.to_owned()));
    }
    if let Some(help) = Then::help(&flags.then) {
        ui.out(&help);
        return Ok(0);
    }
    let began = Instant::now();
    let (planned, asked) = asked(&flags.cluster, context, ui)?;
    let then = Then::read(&flags.then, &planned.name)?;
    let what = (&flags.cluster, &flags.place, &flags.stack);
    let options = options(flags.form, what, (&planned.release, asked.as_ref()));
    // What it is to be in the end: it has formed then.
    let formed = Options {
        formed: true,
        ..options.clone()
    };
    let rendered = render(&planned, &formed)?;
    let all = clusters(context);
    let lock = match flags.dry_run {
        true => None,
        false => Some(all.lock(&planned.name)?),
    };
    let old = all.find(&planned.name)?;
    let named = flags.kube_context.as_deref();
    let named = named.or(old.as_ref().map(|old| old.context.as_str()));
    let kubectl = Kubectl::find(named)?;
    let mut state = match old {
        None => KubeState::new(&kubectl, (planned, asked), options)?,
        Some(old) => again(old, &kubectl, (planned, asked), options)?,
    };
    say_where(&kubectl, &rendered.namespaces, ui);
    for caution in &rendered.cautions {
        ui.caution(caution);
    }
    if flags.dry_run {
        ui.result(&rendered, || {
            format!("{}\nnothing was applied (--dry-run)\n", files(&rendered))
        });
        return Ok(0);
    }
    if !flags.no_wait {
        kube::operators(&kubectl, flags.form)?;
    }
    kube::begin(&kubectl, &all, &state)?;
    let applied = kube::apply(&kubectl, &all, &state).map_err(|error| {
        let hint = format!(
            "helenus kube rm {} takes back what was applied",
            state.name()
        );
        CommandError::from(error).or_else_hint(&hint)
    })?;
    ui.note(&format!("{} applied", plural(applied, "object")));
    if flags.no_wait {
        return view(&kubectl, &state, ui);
    }
    if state.is_operated() {
        let view = operated(&kubectl, &state, (flags.timeout, began), context, ui)?;
        drop(lock);
        return done(&view, then, context, ui);
    }
    let (pods, ring) = until_ready(&kubectl, &state, flags.timeout, context, ui)?;
    kube::form(&kubectl, &all, &mut state)?;
    // A load that follows changes nothing of the cluster.
    drop(lock);
    caution_gone(state.name(), &ring, &pods, ui);
    let after = u64::try_from(began.elapsed().as_millis()).ok();
    let view = KubeStatus::new(&state, pods, Some(ring), after)?;
    done(&view, then, context, ui)
}

/// What is run in a cluster once it serves.
enum Then {
    Run(Box<Run>),
    Bench(Box<Bench>),
    Stress(Stress),
}

impl Then {
    /// What is asked about `run WORDS`, where that is all.
    fn help(words: &[OsString]) -> Option<String> {
        let asks = words.iter().any(|word| word == "--help");
        let line = std::iter::once(OsString::from("helenus")).chain(words.iter().cloned());
        match asks.then(|| cli::parse(line))? {
            Err(NoVerb::Help(help)) => Some(help.ansi().to_string()),
            _ => None,
        }
    }

    /// Reads `run WORDS`, which goes to the cluster of this name; a mistake is found before anything is applied.
    fn read(words: &[OsString], name: &str) -> Result<Option<Self>, CommandError> {
        let [verb, rest @ ..] = words else {
            return Ok(None);
        };
        if !["run", "bench", "stress"].iter().any(|one| verb == one) {
            return Err(other_verb(verb));
        }
        let on = ["--on".to_owned(), format!("kube:{name}")];
        let line = ["helenus".into(), verb.clone()].into_iter();
        let line = line.chain(on.map(OsString::from));
        match cli::parse(line.chain(rest.iter().cloned())) {
            Ok(read) => match read.verb {
                Verb::Run(flags) => Ok(Some(Self::Run(flags))),
                Verb::Bench(flags) => Ok(Some(Self::Bench(flags))),
                Verb::Stress(flags) => Ok(Some(Self::Stress(flags))),
                _ => Err(other_verb(verb)),
            },
            Err(NoVerb::Wrong(failure)) => Err(failure),
            Err(NoVerb::Help(_)) => Err(other_verb(verb)),
        }
    }

    fn carry_out(self, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
        match self {
            Self::Run(flags) => commands::run::run(*flags, context, ui),
            Self::Bench(flags) => bench::run(*flags, context, ui),
            Self::Stress(flags) => stress::run(&flags, context, ui),
        }
    }
}

fn other_verb(verb: &OsString) -> CommandError {
    let text = format!("kube up cannot do {} afterwards", verb.to_string_lossy());
    CommandError::new(code::USAGE, text)
        .hint("write run, bench or stress after --, such as: -- run iot --rate 100".to_owned())
}

/// The end of `kube up`: how it is there, or what came of the load that was asked for.
fn done(
    view: &KubeStatus,
    then: Option<Then>,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    match then {
        None => {
            ui.result(view, || view.text());
            Ok(0)
        }
        Some(then) => {
            ui.note(&view.answer());
            then.carry_out(context, ui)
        }
    }
}

/// A cluster that was applied before, as it is asked for now: it keeps its id, its place and its size.
fn again(
    old: KubeState,
    kubectl: &Kubectl,
    (plan, asked): Asked,
    options: Options,
) -> Result<KubeState, CommandError> {
    if (&old.context, &old.server) != (&kubectl.context, &kubectl.server) {
        let text = format!(
            "{} was applied to context {} already",
            old.name(),
            old.context
        );
        let hint = format!("helenus kube rm {}, or give another --name", old.name());
        return Err(CommandError::new(code::USAGE, text).hint(hint));
    }
    // What an experiment has left is no longer of interest.
    let (_, before) = old.permanent_plan();
    let options = Options {
        id: before.id.clone(),
        replicas: before.replicas.clone(),
        formed: before.formed || options.formed,
        ..options
    };
    Ok(KubeState {
        plan,
        options,
        asked: asked.map(Box::new),
        lent: None,
        ..old
    })
}

fn view(kubectl: &Kubectl, state: &KubeState, ui: &Ui) -> Result<u8, CommandError> {
    let pods = kube::pods(kubectl, state)?;
    let view = KubeStatus::new(state, pods, None, None)?;
    ui.result(&view, || view.text());
    Ok(0)
}

pub(super) fn wait(flags: &Wait, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let began = Instant::now();
    let (mut state, kubectl) = known(&flags.name, context, ui)?;
    if state.is_operated() {
        let view = operated(&kubectl, &state, (flags.timeout, began), context, ui)?;
        return done(&view, None, context, ui);
    }
    let (pods, ring) = until_ready(&kubectl, &state, flags.timeout, context, ui)?;
    if !state.options.formed {
        let all = clusters(context);
        let (_lock, now) = all.hold_again(&state)?;
        state = now;
        kube::form(&kubectl, &all, &mut state)?;
    }
    caution_gone(state.name(), &ring, &pods, ui);
    let after = u64::try_from(began.elapsed().as_millis()).ok();
    let view = KubeStatus::new(&state, pods, Some(ring), after)?;
    ui.result(&view, || view.text());
    Ok(0)
}

/// Waits for what the operators bring up, and says where the superuser's password is.
fn operated(
    kubectl: &Kubectl,
    state: &KubeState,
    (within, began): (Duration, Instant),
    context: &Context,
    ui: &Ui,
) -> Result<KubeStatus, CommandError> {
    let progress = ui.progress("waiting for the operators");
    let mut see = |parts: &[Part]| {
        let ready = parts.iter().filter(|part| part.state == PartState::Ready);
        progress.at(ready.count() as u64, parts.len() as u64);
        let mut waiting = parts.iter().filter_map(|part| match &part.state {
            PartState::Waiting(why) => Some(format!("{}: {why}", part.name)),
            PartState::Ready | PartState::Failed(_) => None,
        });
        progress.say(waiting.next().unwrap_or_default());
    };
    let done = kube::wait_operated(kubectl, state, within, &context.cancel, &mut see)
        .map_err(|error| failed(error, state.name()))?;
    drop(progress);
    match &done.superuser {
        Some((namespace, name)) => ui.note(&format!(
            "superuser: Secret {name} in namespace {namespace}"
        )),
        None => ui.note("no Secret of a superuser: the cluster requires no password"),
    }
    let after = u64::try_from(began.elapsed().as_millis()).ok();
    let parts = done.parts.into_iter().map(|part| part.name).collect();
    Ok(KubeStatus::new(state, Vec::new(), None, after)?.with_parts(parts))
}

/// Waits, with progress; what will not come by itself is said once, as soon as it is seen.
fn until_ready(
    kubectl: &Kubectl,
    state: &KubeState,
    within: Duration,
    context: &Context,
    ui: &Ui,
) -> Result<(Vec<kube::Pod>, kube::Ring), CommandError> {
    let progress = ui.progress("waiting for pods");
    let mut said = BTreeSet::new();
    let mut see = |now: &Progress| {
        progress.at(now.ready as u64, now.total as u64);
        progress.say(words(now));
        for one in now
            .waiting
            .iter()
            .filter(|one| one.blocker.remedy().is_some())
        {
            let line = waits(one);
            if said.insert(line.clone()) {
                ui.caution(&line);
            }
        }
    };
    let waited = kube::wait(kubectl, state, within, &context.cancel, &mut see);
    waited.map_err(|error| {
        let class = error.class();
        let failure = failed(error, state.name());
        match class {
            Class::Cluster => {
                let hint = format!("helenus kube rm {} removes the cluster", state.name());
                failure.or_else_hint(&hint)
            }
            _ => failure,
        }
    })
}

/// What is waited for, in a few words.
fn words(now: &Progress) -> String {
    match (&now.apart, now.waiting.first()) {
        (Some(why), _) => why.clone(),
        (None, Some(one)) => format!("{}: {}", one.pod, one.blocker.why()),
        (None, None) => "waiting for pods".to_owned(),
    }
}

/// What a pod waits for, with what to do about it.
pub(super) fn waits(one: &Waiting) -> String {
    let why = format!("{}/{}: {}", one.namespace, one.pod, one.blocker.why());
    match one.blocker.remedy() {
        Some(remedy) => format!("{why}; {remedy}"),
        None => why,
    }
}
