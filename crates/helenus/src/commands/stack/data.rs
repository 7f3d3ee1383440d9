//! `helenus stack backup`, `restore`, `verify` and `repair`: Medusa's and Reaper's work, as progress and tables.
//! Refuses to call a table equal that was not read whole.

use super::StackTodo;
use crate::cli::stack::{Backup, Repair, Restore, Verify, named};
use crate::commands::up::Watcher;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Progress, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::stack::{self, Compared, MedusaEvent, Side};
use helenus_model::format::Format;
use helenus_model::stack::{Part, RepairRun};
use helenus_model::units::{plural, thousands};
use serde::Serialize;
use std::time::Duration;

/// Between two looks at Reaper.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Answers for stack::Backup {
    fn answer(&self) -> String {
        let files: u64 = self.nodes.iter().map(|node| node.files).sum();
        format!(
            "backup {} of {}: {}, {} files, {}",
            self.name,
            self.cluster,
            plural(self.nodes.len(), "node"),
            thousands(files),
            plural(self.tables.len(), "table")
        )
    }
}

/// What `restore` and `verify` found.
#[derive(Serialize)]
struct Checked {
    format: Format,
    /// The backup.
    backup: String,
    /// The cluster whose tables were compared.
    cluster: String,
    /// What Medusa said of the backup; empty after a restore.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    medusa: Vec<String>,
    /// Whether all tables are as they were saved.
    equal: bool,
    /// The tables.
    tables: Vec<Compared>,
}

impl Checked {
    fn new(backup: &str, cluster: &str, medusa: Vec<String>, tables: Vec<Compared>) -> Self {
        Self {
            format: Format::new("stack-checked", 1),
            backup: backup.to_owned(),
            cluster: cluster.to_owned(),
            medusa,
            equal: tables.iter().all(|table| table.equal),
            tables,
        }
    }

    fn show(&self, ui: &Ui) -> u8 {
        ui.result(self, || self.text());
        if self.equal { 0 } else { code::BAR }
    }

    fn text(&self) -> String {
        let side = |side: &Side| format!("{} rows {}", thousands(side.rows), side.checksum);
        let mut table = Table::new(&["table", "saved", "now", ""]);
        for one in &self.tables {
            let now = one.now.as_ref().map_or("no such table".to_owned(), side);
            let word = if one.equal { "equal" } else { "differs" };
            table.row([one.table.clone(), side(&one.saved), now, word.to_owned()]);
        }
        let medusa = self.medusa.iter().map(|line| format!("medusa: {line}\n"));
        format!(
            "{}{}\n{}\n",
            medusa.collect::<String>(),
            table.render(),
            self.answer()
        )
    }
}

impl Answers for Checked {
    fn answer(&self) -> String {
        let differ = self.tables.iter().filter(|table| !table.equal).count();
        let what = match (differ, self.tables.len()) {
            (_, 0) => "it has no user tables".to_owned(),
            (0, all) => format!("{} equal", plural(all, "table")),
            (some, all) => format!("{some} of {} differ", plural(all, "table")),
        };
        format!("backup {} in {}: {what}", self.backup, self.cluster)
    }
}

/// What Medusa does, as progress.
fn show_progress(progress: &Progress, event: &MedusaEvent) {
    let at = |text: String, done: usize, of: usize| {
        progress.say(text);
        progress.at(done as u64, of as u64);
    };
    match event {
        MedusaEvent::Reading { table, done, of } => at(format!("reading {table}"), *done, *of),
        MedusaEvent::Nodes { what, done, of } => at(format!("medusa: {what}"), *done, *of),
        MedusaEvent::Cluster(_) => {}
    }
}

pub(super) fn backup(flags: &Backup, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    let name = match &flags.backup {
        Some(name) => name.clone(),
        None => free_name(&stack::backups(&state)?),
    };
    if flags.dry_run {
        let kept = stack::load(&state)?;
        let owners = state.plan.nodes.iter().filter(|node| !node.coordinator);
        let mut steps = vec!["read rows and checksums of all tables".to_owned()];
        steps.extend(
            owners.map(|node| format!("medusa backup-node --backup-name {name} on {}", node.name)),
        );
        if !kept.has(Part::Medusa) {
            steps = vec!["nothing: the stack has no medusa".to_owned()];
        }
        StackTodo::new("back up", &flags.name, steps).show(ui);
        return Ok(0);
    }
    let progress = ui.progress(&format!("backup {name}"));
    let saved = stack::backup(context, &state, &name, &mut |event| {
        show_progress(&progress, &event);
    })?;
    drop(progress);
    ui.result(&saved, || {
        let mut table = Table::new(&["table", ">rows", "checksum"]);
        for one in &saved.tables {
            table.row([one.table.clone(), thousands(one.rows), one.checksum.clone()]);
        }
        format!("{}\n{}\n", table.render(), saved.answer())
    });
    Ok(0)
}

/// The first of b1, b2, … that no backup has.
fn free_name(known: &[stack::Backup]) -> String {
    let free = (1..).map(|k| format!("b{k}"));
    let mut free = free.filter(|name| known.iter().all(|backup| backup.name != *name));
    free.next().unwrap_or_default()
}

pub(super) fn restore(flags: &Restore, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (cluster, name) = named(&flags.words);
    let from = context.clusters.load(cluster)?;
    let backup = stack::backup_named(&from, name)?;
    let into = flags.into.as_deref().unwrap_or(cluster);
    let state = context.clusters.load(into)?;
    if flags.dry_run {
        let mut steps = vec![format!(
            "stop {} of {into}",
            plural(state.plan.nodes.len(), "node")
        )];
        let owners = state.plan.nodes.iter().filter(|node| !node.coordinator);
        steps.extend(
            owners.map(|node| format!("medusa restore-node --backup-name {name} on {}", node.name)),
        );
        steps.push(format!("start {into}"));
        steps.push(format!(
            "compare {} with what was saved",
            plural(backup.tables.len(), "table")
        ));
        StackTodo::new("restore", into, steps).show(ui);
        return Ok(0);
    }
    crate::commands::disturb::may(context, into, false)?;
    let mut watcher = Watcher::new(ui, into, state.plan.nodes.len());
    let progress = ui.progress(&format!("restoring {name}"));
    let request = stack::Restore {
        backup: &backup,
        from: &from,
        into,
        ready_within: flags.ready_within,
    };
    let tables = stack::restore(context, &request, &mut |event| match &event {
        MedusaEvent::Cluster(event) => watcher.see(event),
        other => show_progress(&progress, other),
    })?;
    drop((progress, watcher));
    Ok(Checked::new(name, into, Vec::new(), tables).show(ui))
}

pub(super) fn verify(flags: &Verify, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (cluster, name) = named(&flags.words);
    let state = context.clusters.load(cluster)?;
    let with = flags.with.as_deref().unwrap_or(cluster);
    let other = context.clusters.load(with)?;
    let progress = ui.progress(&format!("verifying {name}"));
    let verified = stack::verify(context, &state, name, &mut |event| {
        show_progress(&progress, &event);
    })?;
    let (backup, medusa) = verified;
    let of = backup.tables.len();
    let tables = stack::compare(context, &other, &backup.tables, &mut |table, done| {
        progress.say(format!("reading {table}"));
        progress.at(done as u64, of as u64);
    })?;
    drop(progress);
    Ok(Checked::new(name, with, medusa, tables).show(ui))
}

/// The repair runs of one call.
#[derive(Serialize)]
struct Repaired {
    format: Format,
    /// The cluster.
    cluster: String,
    /// Reaper's page.
    page: Option<String>,
    /// The runs, one for each keyspace.
    runs: Vec<RepairRun>,
}

impl Answers for Repaired {
    fn answer(&self) -> String {
        let done = self.runs.iter().filter(|run| run.state.is_done()).count();
        let failed = self
            .runs
            .iter()
            .filter(|run| run.state.has_failed())
            .count();
        let all = plural(self.runs.len(), "keyspace");
        match (done, failed) {
            (_, 1..) => format!("repair of {}: {failed} of {all} failed", self.cluster),
            (done, 0) if done == self.runs.len() => {
                format!("repair of {}: {all} repaired", self.cluster)
            }
            _ => format!("repair of {}: {all} under way", self.cluster),
        }
    }
}

impl Repaired {
    fn text(&self) -> String {
        let mut table = Table::new(&["keyspace", "state", ">segments", "last event", "run"]);
        for run in &self.runs {
            table.row([
                run.keyspace.clone(),
                run.state.to_string(),
                format!("{} of {}", run.segments_repaired, run.total_segments),
                run.last_event.clone(),
                run.id.clone(),
            ]);
        }
        let page = self.page.as_ref();
        let page = page.map_or(String::new(), |url| format!("page: {url}\n"));
        format!("{}\n{page}{}\n", table.render(), self.answer())
    }
}

pub(super) fn repair(flags: &Repair, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    let kept = stack::load(&state)?;
    if flags.dry_run {
        let what = flags.keyspace.as_deref();
        let what = what.map_or(
            "each keyspace with several replicas".to_owned(),
            |keyspace| format!("keyspace {keyspace}"),
        );
        let step = match kept.has(Part::Reaper) {
            true => format!("let Reaper repair {what}"),
            false => "nothing: the stack has no reaper".to_owned(),
        };
        StackTodo::new("repair", &flags.name, vec![step]).show(ui);
        return Ok(0);
    }
    let mut runs = stack::start_runs(&kept, &state, flags.keyspace.as_deref())?;
    let progress = ui.progress("Reaper repairs");
    let under_way = |runs: &[RepairRun]| {
        runs.iter()
            .any(|run| !run.state.is_done() && !run.state.has_failed())
    };
    while flags.watch && under_way(&runs) && !context.cancel.is_set() {
        let sum = |of: fn(&RepairRun) -> u64| runs.iter().map(of).sum::<u64>();
        progress.say("Reaper repairs segments");
        progress.at(
            sum(|run| run.segments_repaired),
            sum(|run| run.total_segments),
        );
        std::thread::sleep(LOOK_EVERY);
        runs = stack::look_runs(&kept, &runs)?;
    }
    drop(progress);
    let repaired = Repaired {
        format: Format::new("stack-repair", 1),
        cluster: flags.name.clone(),
        page: kept.url(Part::Reaper),
        runs,
    };
    ui.result(&repaired, || repaired.text());
    if repaired.runs.iter().any(|run| run.state.has_failed()) {
        return Ok(code::CLUSTER);
    }
    let cut = flags.watch && under_way(&repaired.runs);
    Ok(if cut { code::INTERRUPTED } else { 0 })
}
