//! `helenus baseline`: a saved state of a cluster, to start from again.
//! Refuses to decide anything: it shows what was decided.

use crate::cli::baseline::{Baseline as Flags, BaselineVerb, Named, Restore, Save};
use crate::commands::disturb;
use crate::commands::up::Watcher;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Progress, Table, Ui};
use helenus_cluster::baseline::{
    self, Bad, BaselineError, BaselineEvent, Baselines, Listed, RestoreRequest, SaveRequest, Step,
};
use helenus_cluster::context::Context;
use helenus_cluster::wall::since_1970;
use helenus_model::baseline::{PageCache, RestorePlan};
use helenus_model::format::Format;
use helenus_model::units::{Bytes, human_duration, plural};
use serde::Serialize;
use std::time::{Duration, Instant};

/// What was, or would be, saved.
#[derive(Serialize)]
struct Saved {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// How long it took.
    seconds: f64,
    /// The baseline.
    baseline: Listed,
    /// Files, by what was, or would be, done with them.
    files: usize,
    /// Bytes that are copied, not linked.
    copied_bytes: Bytes,
    /// Nodes that run now.
    running: usize,
}

/// What was, or would be, restored.
#[derive(Serialize)]
struct RestoredView<'a> {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// Cluster that was saved.
    cluster: &'a str,
    /// The tag.
    tag: &'a str,
    /// Cluster that gets the data.
    into: &'a str,
    /// Until all nodes were ready, or the files in their place.
    seconds: f64,
    /// What was planned.
    plan: &'a RestorePlan,
    /// Page cache before the start; none in a dry run.
    cache: Option<PageCache>,
    /// Whether its nodes stay stopped.
    #[serde(skip)]
    stopped: bool,
}

impl Answers for RestoredView<'_> {
    fn answer(&self) -> String {
        let Self {
            cluster,
            tag,
            into,
            plan,
            ..
        } = self;
        let what = format!(
            "{}, {}, of which {} copied",
            plural(plan.files, "file"),
            plan.bytes,
            plan.copied
        );
        let how = match plan.whole {
            true => format!("{into} as it was saved, its system tables included"),
            false => format!("{} of {cluster} into {into}", plan.keyspaces.join(", ")),
        };
        if self.dry_run {
            return format!("would restore {tag}: {how}: {what}");
        }
        let took = human_duration(Duration::from_secs_f64(self.seconds));
        let end = if self.stopped { "in place" } else { "ready" };
        format!("restored {tag}: {how}: {what}; {end} after {took}")
    }
}

#[derive(Serialize)]
struct ListView {
    format: Format,
    /// The baselines.
    baselines: Vec<Listed>,
}

impl Answers for ListView {
    fn answer(&self) -> String {
        match self.baselines.len() {
            0 => NONE.to_owned(),
            n => plural(n, "baseline"),
        }
    }
}

/// Where there is none.
const NONE: &str = "no baseline yet; `helenus baseline save NAME TAG` makes one";

#[derive(Serialize)]
struct Verified {
    format: Format,
    /// The cluster.
    cluster: String,
    /// The tag.
    tag: String,
    /// Files.
    files: usize,
    /// Their size.
    bytes: Bytes,
    /// Files that are not as they were saved.
    bad: Vec<Bad>,
    /// Nodes of the baseline.
    #[serde(skip)]
    nodes: usize,
}

impl Answers for Verified {
    fn answer(&self) -> String {
        let not = if self.bad.is_empty() { "" } else { "not " };
        format!(
            "{} of {} is {not}as it was saved: {} of {}, {}, every byte read",
            self.tag,
            self.cluster,
            plural(self.files, "file"),
            plural(self.nodes, "node"),
            self.bytes
        )
    }
}

#[derive(Serialize)]
struct Removed {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// What was removed, or would be.
    removed: Vec<Listed>,
}

impl Answers for Removed {
    fn answer(&self) -> String {
        let verb = if self.dry_run {
            "would remove"
        } else {
            "removed"
        };
        let lines = self.removed.iter().map(|one| {
            format!(
                "{verb} {} of {}: {}, of which {} its own, in {}",
                one.tag,
                one.cluster,
                one.bytes,
                one.own_bytes,
                one.folder.display()
            )
        });
        lines.collect()
    }
}

pub(crate) fn run(flags: &Flags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.verb {
        BaselineVerb::Save(flags) => save(flags, context, ui),
        BaselineVerb::Restore(flags) => restore(flags, context, ui),
        BaselineVerb::List { name } => list(name.as_deref(), context, ui),
        BaselineVerb::Verify(named) => verify(named, context, ui),
        BaselineVerb::Rm { named, dry_run } => rm(named, *dry_run, context, ui),
    }
}

fn save(flags: &Save, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let begin = Instant::now();
    let request = SaveRequest {
        cluster: flags.named.name.clone(),
        tag: flags.named.tag.clone(),
        replace: flags.replace,
        leave_stopped: flags.patience.leave_stopped,
        settle_within: flags.settle_within,
        within: flags.patience.within,
        ready_within: flags.patience.ready_within,
    };
    if !flags.dry_run {
        disturb::may(context, &request.cluster, flags.force)?;
    }
    let look = baseline::look_at_save(context, &request)?;
    let baselines = Baselines::of(context);
    if !flags.dry_run {
        let mut watcher = Steps::new(ui, &request.cluster, look.nodes);
        baseline::save(context, &request, &mut |event| watcher.see(&event))?;
    }
    let now = baselines.listed(&request.cluster, &request.tag);
    let mut saved = Saved {
        format: Format::new("baseline-saved", 1),
        dry_run: flags.dry_run,
        seconds: begin.elapsed().as_secs_f64(),
        baseline: now,
        files: look.files,
        copied_bytes: look.copied,
        running: match request.leave_stopped && !flags.dry_run {
            true => 0,
            false => look.running,
        },
    };
    if flags.dry_run {
        saved.baseline.problem = None;
        saved.baseline.nodes = look.nodes;
        saved.baseline.bytes = look.bytes;
    } else {
        let baseline = baselines.load(&request.cluster, &request.tag)?;
        saved.files = baseline.files().count();
        saved.copied_bytes = baseline.copied();
    }
    ui.result(&saved, || saved_text(&saved));
    Ok(0)
}

impl Answers for Saved {
    fn answer(&self) -> String {
        let Listed {
            cluster,
            tag,
            bytes,
            folder,
            ..
        } = &self.baseline;
        let what = format!(
            "{} of {}, {bytes}, of which {} copied, in {}",
            plural(self.files, "file"),
            plural(self.baseline.nodes, "node"),
            self.copied_bytes,
            folder.display()
        );
        if self.dry_run {
            return format!("would save {cluster} as {tag}: {what}");
        }
        let took = human_duration(Duration::from_secs_f64(self.seconds));
        format!("saved {cluster} as {tag} in {took}: {what}")
    }
}

fn saved_text(saved: &Saved) -> String {
    let cluster = &saved.baseline.cluster;
    let answer = saved.answer();
    if saved.dry_run {
        let stops = match saved.running {
            0 => "no node runs: all would be started for it and stopped again".to_owned(),
            n => format!("{} would stop and start again", plural(n, "node")),
        };
        return format!(
            "{answer}\n{stops}; a flush may add files\n\
             nothing was done (--dry-run)\n"
        );
    }
    let after = match saved.running {
        0 => format!("{cluster} is stopped: `helenus start {cluster}` starts it"),
        _ => format!("{cluster} runs again"),
    };
    format!("{answer}\n{after}\n")
}

fn restore(flags: &Restore, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let begin = Instant::now();
    let request = RestoreRequest {
        cluster: flags.named.name.clone(),
        tag: flags.named.tag.clone(),
        into: flags.into.clone(),
        replace: flags.replace,
        drop_cache: flags.drop_cache,
        leave_stopped: flags.patience.leave_stopped,
        within: flags.patience.within,
        ready_within: flags.patience.ready_within,
    };
    let into = request.into.as_deref().unwrap_or(&request.cluster);
    let (plan, cache) = if flags.dry_run {
        (baseline::look_at_restore(context, &request)?, None)
    } else {
        disturb::may(context, into, flags.force)?;
        let baseline = Baselines::of(context).load(&request.cluster, &request.tag)?;
        let nodes = baseline.nodes.len();
        let mut watcher = Steps::new(ui, into, nodes);
        let done = baseline::restore(context, &request, &mut |event| watcher.see(&event))?;
        (done.plan, Some(done.cache))
    };
    let view = RestoredView {
        format: Format::new("baseline-restored", 1),
        dry_run: flags.dry_run,
        cluster: &request.cluster,
        tag: &request.tag,
        into,
        seconds: begin.elapsed().as_secs_f64(),
        plan: &plan,
        cache,
        stopped: request.leave_stopped,
    };
    ui.result(&view, || restored_text(&view));
    Ok(0)
}

fn restored_text(view: &RestoredView<'_>) -> String {
    let RestoredView { into, plan, .. } = view;
    let mut text = view.answer() + "\n";
    if !plan.dropped.is_empty() {
        let verb = if view.dry_run {
            "would drop"
        } else {
            "dropped"
        };
        text.push_str(&format!(
            "{verb} {} of {into} first\n",
            plan.dropped.join(", ")
        ));
    }
    for pair in plan.nodes.iter().filter(|p| p.from != p.to) {
        text.push_str(&format!("{} has the data of {}\n", pair.to, pair.from));
    }
    if let Some(cache) = view.cache {
        let asked = if cache.dropped { "dropped; " } else { "" };
        text.push_str(&format!(
            "page cache before the start: {asked}{} of {} resident ({:.1} %)\n",
            Bytes(cache.resident_bytes),
            Bytes(cache.bytes),
            cache.share() * 100.0
        ));
    }
    if view.dry_run {
        text.push_str("nothing was done (--dry-run)\n");
    }
    text
}

fn list(name: Option<&str>, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let view = ListView {
        format: Format::new("baselines", 1),
        baselines: Baselines::of(context).list(name)?,
    };
    ui.result(&view, || list_text(&view.baselines));
    Ok(0)
}

fn list_text(baselines: &[Listed]) -> String {
    if baselines.is_empty() {
        return format!("{NONE}\n");
    }
    let now = since_1970();
    let ago = |unix: u64| {
        let age = now.saturating_sub(Duration::from_secs(unix));
        format!(
            "{} ago",
            human_duration(Duration::from_secs(age.as_secs().max(1)))
        )
    };
    let mut table = Table::new(&[
        "cluster", "tag", "release", ">nodes", ">tables", ">size", ">own", "saved", "verified",
    ]);
    for one in baselines {
        if one.problem.is_some() {
            table.row([one.cluster.as_str(), &one.tag, "unreadable"]);
            continue;
        }
        table.row([
            one.cluster.clone(),
            one.tag.clone(),
            one.release.clone(),
            one.nodes.to_string(),
            one.tables.to_string(),
            one.bytes.to_string(),
            one.own_bytes.to_string(),
            ago(one.created_unix),
            one.verified_unix.map_or_else(|| "never".into(), ago),
        ]);
    }
    let mut text = table.render();
    for one in baselines {
        if let Some(problem) = &one.problem {
            text.push_str(&format!("\n{} of {}: {problem}\n", one.tag, one.cluster));
        }
    }
    text
}

fn verify(named: &Named, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let mut watcher = Steps::new(ui, &named.name, 0);
    let (baseline, bad) =
        Baselines::of(context).verify(&named.name, &named.tag, &context.cancel, &mut |event| {
            watcher.see(&event)
        })?;
    drop(watcher);
    let view = Verified {
        format: Format::new("baseline-verified", 1),
        cluster: named.name.clone(),
        tag: named.tag.clone(),
        files: baseline.files().count(),
        bytes: baseline.bytes(),
        bad,
        nodes: baseline.nodes.len(),
    };
    ui.result(&view, || verified_text(&view));
    Ok(if view.bad.is_empty() { 0 } else { code::BAR })
}

fn verified_text(view: &Verified) -> String {
    let mut text = view.answer() + "\n";
    for bad in &view.bad {
        text.push_str(&format!("{bad}\n"));
    }
    text
}

fn rm(named: &Named, dry_run: bool, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let baselines = Baselines::of(context);
    match baselines.load(&named.name, &named.tag) {
        // What cannot be read can be removed.
        Ok(_) | Err(BaselineError::Unreadable { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let listed = baselines.listed(&named.name, &named.tag);
    if !dry_run {
        let _progress = ui.progress(&format!("removing {} of {}", named.tag, named.name));
        baselines.remove(&named.name, &named.tag)?;
    }
    let view = Removed {
        format: Format::new("baseline-removed", 1),
        dry_run,
        removed: vec![listed],
    };
    ui.result(&view, || view.answer() + "\n");
    Ok(0)
}

/// Turns events into one moving line and into notes.
struct Steps<'a> {
    ui: &'a Ui,
    cluster: String,
    nodes: usize,
    /// The line while nodes stop and start.
    life: Option<Watcher<'a>>,
    /// The line of every other step.
    progress: Option<Progress>,
}

impl<'a> Steps<'a> {
    fn new(ui: &'a Ui, cluster: &str, nodes: usize) -> Self {
        Self {
            ui,
            cluster: cluster.to_owned(),
            nodes,
            life: None,
            progress: None,
        }
    }

    fn see(&mut self, event: &BaselineEvent) {
        match event {
            BaselineEvent::Life(event) => {
                self.progress = None;
                let fresh = || Watcher::new(self.ui, &self.cluster, self.nodes);
                self.life.get_or_insert_with(fresh).see(event);
            }
            BaselineEvent::Step(step) => {
                tracing::info!(?step, cluster = self.cluster);
                self.life = None;
                self.progress = Some(self.ui.progress(&words(step)));
            }
            BaselineEvent::Bytes { done, total } => {
                // In MiB: a bar of bytes has too many digits to be read.
                if let Some(progress) = &self.progress {
                    progress.at(done >> 20, (total >> 20).max(1));
                }
            }
            BaselineEvent::Copies { why } => self.ui.caution(&format!(
                "files are copied, so that time and space grow with the data: {why}"
            )),
        }
    }
}

fn words(step: &Step) -> String {
    match step {
        Step::Flush => "writing memtables to disk".into(),
        Step::Settle { tasks } => {
            let tasks = usize::try_from(*tasks).unwrap_or(usize::MAX);
            format!("waiting for {} to end", plural(tasks, "compaction"))
        }
        Step::Drain => "draining".into(),
        Step::Check => "comparing the baseline with its manifest".into(),
        Step::Schema => "creating keyspaces and tables".into(),
        Step::Link => "linking files".into(),
        Step::Hash => "SHA-256 of each file, in MiB".into(),
        Step::Cache => "looking at the page cache".into(),
    }
}
