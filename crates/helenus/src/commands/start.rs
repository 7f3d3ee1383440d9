//! `helenus start`: stopped nodes again, with their data.

use crate::cli::Start;
use crate::commands::disturb;
use crate::commands::done::Done;
use crate::commands::rm::all_of;
use crate::commands::up::{Watcher, checked, show_ready};
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::lifecycle::NewSettings;
use helenus_cluster::observe;
use helenus_cluster::state::ClusterState;
use helenus_model::release::Release;
use std::time::{Duration, Instant};

pub(crate) fn run(flags: &Start, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let target = flags.targeted.target.as_deref();
    match all_of(&flags.all_of, target, context)? {
        None => one(flags, target, context, ui),
        Some(names) => {
            for name in names {
                one(flags, Some(&name), context, ui)?;
            }
            Ok(0)
        }
    }
}

fn one(
    flags: &Start,
    target: Option<&str>,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let (state, node) = context.clusters.target(target)?;
    let name = state.plan.name.clone();
    let node = node.as_deref();
    let nodes: Vec<String> = state
        .targets(node)?
        .iter()
        .map(|n| n.name.clone())
        .collect();
    if flags.systemd {
        let shown = flags.targeted.target.as_deref().unwrap_or(&name);
        ui.out(&unit(shown, flags.ready_within)?);
        ui.note(&format!(
            "save it as ~/.config/systemd/user/helenus-{name}.service, then: systemctl --user enable --now helenus-{name}; \
             loginctl enable-linger keeps the nodes when you log out"
        ));
        return Ok(0);
    }
    let new = new_settings(flags, &state, ui)?;
    if flags.targeted.dry_run {
        context.look_at_settings(&name, node, &new)?;
        Done::new("start", &name, nodes, true).show(ui);
        return Ok(0);
    }
    disturb::may(context, &name, flags.force)?;
    if !new.is_empty() {
        for (node, _) in observe::pids(&state)
            .into_iter()
            .filter(|(_, pid)| pid.is_some())
        {
            if nodes.iter().any(|name| name == node) {
                ui.caution(&format!(
                    "{node} runs: it takes the settings with its next start"
                ));
            }
        }
        context.configure(&name, node, &new)?;
    }
    let begin = Instant::now();
    let mut watcher = Watcher::new(ui, &name, nodes.len());
    let state = context.start(&name, node, flags.ready_within, &mut |event| {
        watcher.see(&event)
    })?;
    drop(watcher);
    show_ready(&state, begin, ui)
}

/// A unit of systemd that starts and stops a cluster, with this binary and the folders of this shell.
fn unit(target: &str, ready_within: Duration) -> Result<String, CommandError> {
    let program = std::env::current_exe()?;
    let folders = ["HELENUS_HOME", "HELENUS_CACHE"].into_iter();
    let folders = folders.filter_map(|key| Some((key, std::env::var(key).ok()?)));
    let folders: String = folders
        .map(|(key, value)| format!("Environment={}\n", quoted(&format!("{key}={value}"))))
        .collect();
    let program = quoted(&program.to_string_lossy());
    let seconds = ready_within.as_secs();
    Ok(format!(
        "[Unit]\n\
         Description=Cassandra {target}\n\n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         {folders}\
         ExecStart={program} start {target} --ready-within {seconds}s\n\
         ExecStop={program} stop {target}\n\
         TimeoutStartSec={}\n\
         TimeoutStopSec=120\n\n\
         [Install]\n\
         WantedBy=default.target\n",
        seconds + 60
    ))
}

/// A word as systemd reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.=:@+,".contains(c);
    let escaped = word.replace('%', "%%");
    match escaped.chars().all(plain) {
        true => escaped,
        false => format!("\"{}\"", escaped.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// What the flags change, checked as `up` checks it.
fn new_settings(flags: &Start, state: &ClusterState, ui: &Ui) -> Result<NewSettings, CommandError> {
    let release = Release::facts_for(&state.plan.release).unwrap_or(Release::newest());
    Ok(NewSettings {
        set: checked(release, &flags.set, ui)?,
        jvm: flags.jvm.clone(),
    })
}
