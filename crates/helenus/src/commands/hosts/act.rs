//! `helenus hosts up`, `wait`, `restart` and `rm`: Ansible does it, and the nodes themselves are asked whether it is so.
//! Refuses to believe a tool that says it is done.

use super::render::{files, options};
use super::view::HostsStatus;
use super::{ansible, clusters, held, jars, known};
use crate::cli::hosts::{Restart, Rm, Up, Wait};
use crate::commands::elsewhere::asked;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Progress, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::{Class, ClusterError, Problem as _};
use helenus_cluster::hosts::{self, Anew, Ansible, HostEnd, HostsState, PlayEvent, Played};
use helenus_cluster::kept::KeptLock;
use helenus_model::access::Access;
use helenus_model::format::Format;
use helenus_model::hosts::options::Form;
use helenus_model::hosts::{HostsPlan, Playbook, render, same_nodes};
use helenus_model::plan::STOCK_IS_OPEN;
use helenus_model::units::plural;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Longest wait until nodes serve that an experiment had.
const PUT_BACK_WITHIN: Duration = Duration::from_secs(600);

pub(super) fn up(flags: &Up, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let began = Instant::now();
    let (planned, request) = asked(&flags.cluster, context, ui)?;
    let mut options = options(
        Form::Ansible,
        (&flags.cluster, &flags.place, None),
        &planned,
    )?;
    // Ansible runs in the cluster's folder.
    let absolute =
        |key: String| std::path::absolute(&key).map_or(key, |path| path.display().to_string());
    options.login.key = options.login.key.map(absolute);
    let all = clusters(context);
    let lock = match flags.dry_run {
        true => None,
        false => Some(all.lock(&planned.name)?),
    };
    let old = all.find(&planned.name)?;
    let id = match old.as_ref().and_then(|old| old.options.id.clone()) {
        None => hosts::new_id()?,
        Some(id) => id,
    };
    options.id = Some(id);
    let plan = render(&planned, &options)?;
    if let Some(old) = &old {
        same_nodes((&old.plan, &old.options), (&planned, &options))?;
    }
    // The stock superuser is disarmed below.
    for caution in plan.cautions.iter().filter(|one| *one != STOCK_IS_OPEN) {
        ui.caution(caution);
    }
    if flags.dry_run {
        ui.result(&plan, || {
            format!("{}\nno host was touched (--dry-run)\n", files(&plan))
        });
        return Ok(0);
    }
    // Before anything is written: what is missing here is said at once.
    ansible(&plan, context)?;
    let jars = jars(&plan, context, ui)?;
    let mut state = HostsState::new((planned, request), options);
    state.host_ids = old.map(|old| old.host_ids).unwrap_or_default();
    if !flags.check {
        all.save(&state)?;
    }
    hosts::lay_out(&all, &plan)?;
    hosts::provide(&all, &state, &plan)?;
    let installs = ansible(&plan, context)?
        .with_jars(jars)
        .start_within(flags.timeout);
    let played = play(&installs, (Playbook::Site, flags.check), &plan, context, ui);
    if flags.check {
        if all.find(&plan.name)?.is_none() {
            all.forget(&plan.name)?;
        }
        let shown = HostsPlayed::new(&plan.name, "check", true, played?);
        ui.result(&shown, || shown.text());
        return Ok(0);
    }
    let played = played.map_err(|error| {
        let name = &plan.name;
        error.or_else_hint(&format!("helenus hosts rm {name} takes back what was done"))
    })?;
    let changed = Some(played.changed());
    until_all_serve(
        (&state, &plan, changed),
        (flags.timeout, began),
        lock,
        context,
        ui,
    )
}

pub(super) fn wait(flags: &Wait, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (state, plan) = known(&flags.name, context)?;
    let waits = (flags.timeout, Instant::now());
    until_all_serve((&state, &plan, None), waits, None, context, ui)
}

/// Asks the nodes until all serve, and shows them, with how much Ansible changed on their hosts. Who has no lock takes it
/// when they serve: until then others may change the cluster.
fn until_all_serve(
    (state, plan, changed): (&HostsState, &HostsPlan, Option<u32>),
    (timeout, began): (Duration, Instant),
    lock: Option<KeptLock>,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let progress = ui.progress("waiting until all nodes serve");
    let waits = (timeout, &context.cancel);
    let mut see = |words: &str| progress.say(words.to_owned());
    let all = clusters(context);
    let access = hosts::access(&all, state);
    // A new cluster does not know its superuser yet.
    let as_nobody = Access {
        credentials: None,
        ..access.clone()
    };
    let nodes = hosts::wait(state, plan, &as_nobody, waits, &mut see)?;
    let (_lock, state) = match lock {
        Some(lock) => (lock, state.clone()),
        None => all.hold_again(state)?,
    };
    progress.say("making the superuser".to_owned());
    hosts::secure(&all, &state, plan, &context.cancel)?;
    drop(progress);
    let after = u64::try_from(began.elapsed().as_millis()).ok();
    let view = hosts::view(&state, &nodes, &access).ok();
    if let Some(view) = &view {
        let ids = view.nodes.iter().filter_map(|node| node.host_id.clone());
        let state = HostsState {
            host_ids: ids.collect(),
            ..state
        };
        all.save(&state)?;
    }
    let status = HostsStatus::new(plan, nodes, view.as_ref()).after(after, changed);
    ui.result(&status, || status.text(view.as_ref()));
    Ok(0)
}

/// What became of the hosts of a playbook.
#[derive(Debug, Serialize)]
struct HostsPlayed {
    /// `helenus.hosts-played/1`.
    format: Format,
    /// The cluster.
    name: String,
    /// `check`, `restart`, `put back`, `rm` or `forget`.
    what: &'static str,
    /// Whether nothing was done.
    dry_run: bool,
    /// Tasks that changed something, or would, on all hosts.
    changed: u32,
    /// By host; empty where none was touched.
    hosts: BTreeMap<String, HostEnd>,
}

impl HostsPlayed {
    fn new(name: &str, what: &'static str, dry_run: bool, played: Played) -> Self {
        Self {
            format: Format::new("hosts-played", 1),
            name: name.to_owned(),
            what,
            dry_run,
            changed: played.changed(),
            hosts: played.hosts,
        }
    }

    fn text(&self) -> String {
        let mut table = Table::new(&["host", ">tasks", ">changed"]);
        for (name, host) in &self.hosts {
            table.row([name.clone(), host.ok.to_string(), host.changed.to_string()]);
        }
        format!("{}\n{}\n", table.render(), self.answer())
    }
}

impl Answers for HostsPlayed {
    fn answer(&self) -> String {
        let hosts = plural(self.hosts.len(), "host");
        let Self { name, changed, .. } = self;
        match (self.what, self.dry_run) {
            ("check", _) => format!("{name}: Ansible would change {changed} things on {hosts}"),
            ("put back", false) => format!("{name}: all nodes serve as before the experiment"),
            (what, true) => format!("{name}: nothing was done ({what} --dry-run)"),
            ("forget", _) => format!("{name} was forgotten; no host was touched"),
            ("rm", false) => format!("{name} was removed from {hosts}"),
            (what, false) => format!("{name}: {what} done on {hosts}"),
        }
    }
}

pub(super) fn restart(flags: &Restart, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.dry_run {
        let (_, plan) = known(&flags.name, context)?;
        return dry("restart", &plan, ui);
    }
    let (_lock, state, plan) = held(&flags.name, context)?;
    if state.lent.is_some() {
        return put_back(state, context, ui);
    }
    hosts::lay_out(&clusters(context), &plan)?;
    let played = play(
        &ansible(&plan, context)?,
        (Playbook::Restart, false),
        &plan,
        context,
        ui,
    )?;
    let access = hosts::access(&clusters(context), &state);
    let silent = hosts::nodes(&state, &plan, &access);
    if let Some(one) = silent.iter().find(|one| !one.serves) {
        let why = one.why.clone().unwrap_or_default();
        let text = format!(
            "Ansible says that all nodes were restarted, but {} does not serve: {why}",
            one.node.name
        );
        return Err(CommandError::new(code::CLUSTER, text).hint(format!(
            "helenus hosts logs {}/{}",
            plan.name, one.node.name
        )));
    }
    let shown = HostsPlayed::new(&plan.name, "restart", false, played);
    ui.result(&shown, || shown.text());
    Ok(0)
}

/// Starts the nodes as they were before an experiment that was killed.
fn put_back(mut state: HostsState, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let by = state.lent.as_ref().map(|lent| lent.by.clone());
    ui.note(&format!(
        "the nodes have settings of experiment {}: they start as they were before",
        by.unwrap_or_default()
    ));
    let progress = ui.progress("stopping all nodes");
    let anew = Anew {
        context,
        access: &hosts::access(&clusters(context), &state),
        within: PUT_BACK_WITHIN,
        cancel: &context.cancel,
    };
    let mut see = |words: &str| progress.say(words.to_owned());
    hosts::put_back(&anew, &mut state, &mut see)?;
    drop(progress);
    let none = Played {
        hosts: BTreeMap::new(),
    };
    let shown = HostsPlayed::new(&state.plan.name, "put back", false, none);
    ui.result(&shown, || format!("{}\n", shown.answer()));
    Ok(0)
}

pub(super) fn rm(flags: &Rm, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.dry_run {
        let (_, plan) = known(&flags.name, context)?;
        return dry("rm", &plan, ui);
    }
    let (_lock, state, plan) = held(&flags.name, context)?;
    let all = clusters(context);
    if flags.forget {
        all.forget(&plan.name)?;
        let none = Played {
            hosts: BTreeMap::new(),
        };
        let shown = HostsPlayed::new(&plan.name, "forget", false, none);
        ui.result(&shown, || format!("{}\n", shown.answer()));
        return Ok(0);
    }
    hosts::lay_out(&all, &plan)?;
    let played = play(
        &ansible(&plan, context)?,
        (Playbook::Remove, false),
        &plan,
        context,
        ui,
    )
    .map_err(|error| {
        let name = &plan.name;
        error.or_else_hint(&format!(
            "helenus hosts rm {name} --forget, if its hosts are gone"
        ))
    })?;
    let left = hosts::nodes(&state, &plan, &hosts::access(&all, &state));
    if let Some(one) = left.iter().find(|one| one.serves) {
        let text = format!(
            "Ansible says that all was removed, but {} still serves",
            one.node.name
        );
        return Err(CommandError::new(code::CLUSTER, text).hint(
            "check that host: another cluster may use its address; this cluster stays in `helenus list`".to_owned(),
        ));
    }
    all.forget(&plan.name)?;
    let shown = HostsPlayed::new(&plan.name, "rm", false, played);
    ui.result(&shown, || shown.text());
    Ok(0)
}

/// What would be done, without a look at any host.
fn dry(what: &'static str, plan: &HostsPlan, ui: &Ui) -> Result<u8, CommandError> {
    let none = Played {
        hosts: BTreeMap::new(),
    };
    let shown = HostsPlayed::new(&plan.name, what, true, none);
    ui.result(&shown, || {
        let mut table = Table::new(&["node", "host", "address"]);
        for node in &plan.nodes {
            let address = node.address.map(|address| address.to_string());
            table.row([
                node.name.clone(),
                node.host.clone().unwrap_or_default(),
                address.unwrap_or_default(),
            ]);
        }
        format!("{}\n{}\n", table.render(), shown.answer())
    });
    Ok(0)
}

/// Runs a playbook, and says what it does.
fn play(
    ansible: &Ansible,
    (playbook, check): (Playbook, bool),
    plan: &HostsPlan,
    context: &Context,
    ui: &Ui,
) -> Result<Played, CommandError> {
    let progress = ui.progress(&format!("ansible {}: {}", ansible.version, playbook.file()));
    let hosts: BTreeSet<&str> = plan
        .nodes
        .iter()
        .filter_map(|node| node.host.as_deref())
        .collect();
    let mut seen = Seen::default();
    let mut see = |event: &PlayEvent| seen.say(event, hosts.len(), &progress, ui);
    let played = ansible.play(playbook, check, &context.cancel, &mut see);
    played.map_err(|error| match error.class() {
        // Nothing is cleaned up: the same line goes on.
        Class::Interrupted => {
            let text = "interrupted; the hosts stay as they are now";
            CommandError::new(code::INTERRUPTED, text).hint(error.hint())
        }
        _ => ClusterError::from(error).into(),
    })
}

/// The task that runs now, and the hosts that have done it.
#[derive(Default)]
struct Seen {
    task: String,
    done: BTreeSet<String>,
}

impl Seen {
    fn say(&mut self, event: &PlayEvent, hosts: usize, progress: &Progress, ui: &Ui) {
        match event {
            PlayEvent::Play { name } => {
                if !name.is_empty() && ui.live() {
                    ui.note(name);
                }
            }
            PlayEvent::Task { name } => {
                self.task.clone_from(name);
                self.done.clear();
                progress.say(name.clone());
            }
            PlayEvent::Ok(at) | PlayEvent::Skipped(at) => {
                // A free strategy has hosts at several tasks: what is shown is that of the last event.
                if at.task != self.task {
                    self.task.clone_from(&at.task);
                    self.done.clear();
                }
                self.done.insert(at.host.clone());
                progress.say(format!(
                    "{}: {} of {}",
                    at.task,
                    self.done.len(),
                    plural(hosts, "host")
                ));
            }
            PlayEvent::Retry(at) => {
                progress.say(format!("{}: {} is not ready yet", at.task, at.host))
            }
            PlayEvent::Failed(_) | PlayEvent::Unreachable(_) | PlayEvent::NoHosts => {}
            PlayEvent::Stats { .. } => {}
        }
    }
}
