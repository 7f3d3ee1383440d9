//! `helenus history`: what was measured, listed, shown, tagged, removed and exported.
//! Refuses to remove what is under way or tagged, and to write over a file, unless a flag asks for it.

pub(crate) mod export;
pub(crate) mod show;
mod sync;
mod trend;

use crate::cli::history::{History as Flags, HistoryVerb, ListFlags, Prune, StateArg, Tag};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::wall;
use helenus_lab::ledger;
use helenus_model::format::Format;
use helenus_model::units::plural;
use helenus_record::{
    ComparisonId, History, HistoryError, PruneChoice, RunFilter, RunId, RunState, RunSummary,
    check_tag, to_prune,
};
use serde::Serialize;
use std::collections::BTreeMap;

pub(crate) fn run(flags: &Flags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let file = context.paths.state.join(helenus_record::FILE);
    if let Some(HistoryVerb::Sync(flags)) = &flags.verb {
        let nothing_there = flags.dry_run && !file.exists();
        let mut history = match nothing_there {
            true => History::in_memory()?,
            false => History::open(&file)?,
        };
        return sync::run(flags, &mut history, ui);
    }
    let history = History::open_existing(&file)?;
    // What is not there yet holds no run, and is not made by asking.
    match (&flags.verb, history) {
        (None, history) => list(&flags.list, history.as_ref(), ui),
        (Some(HistoryVerb::List(flags)), history) => list(flags, history.as_ref(), ui),
        (Some(_), None) => Err(HistoryError::Empty.into()),
        (Some(HistoryVerb::Show { name }), Some(history)) => show::run(name, &history, ui),
        (Some(HistoryVerb::Trend(flags)), Some(history)) => trend::run(flags, &history, ui),
        (Some(HistoryVerb::Tag(flags)), Some(mut history)) => tag(flags, &mut history, ui),
        (Some(HistoryVerb::Prune(flags)), Some(mut history)) => {
            prune(flags, &mut history, context, ui)
        }
        (Some(HistoryVerb::Export(flags)), Some(history)) => export::run(flags, &history, ui),
        (Some(HistoryVerb::Sync(flags)), Some(mut history)) => sync::run(flags, &mut history, ui),
    }
}

impl From<HistoryError> for CommandError {
    fn from(error: HistoryError) -> Self {
        let code = match error {
            HistoryError::Make { .. }
            | HistoryError::Open { .. }
            | HistoryError::Foreign { .. }
            | HistoryError::Newer { .. }
            | HistoryError::NoWal { .. }
            | HistoryError::Database(_)
            | HistoryError::Json { .. }
            | HistoryError::Folder { .. }
            | HistoryError::Write(_) => code::ENVIRONMENT,
            _ => code::USAGE,
        };
        Self::of(code, &error).hint(error.hint())
    }
}

fn list(flags: &ListFlags, history: Option<&History>, ui: &Ui) -> Result<u8, CommandError> {
    let (state, running) = state(flags.state);
    let filter = RunFilter {
        tag: flags.tag.clone(),
        state,
        running,
        release: flags.release.clone(),
        workload: flags.workload.clone(),
        limit: flags.limit,
        ..RunFilter::default()
    };
    let mut runs = Vec::new();
    let mut comparisons = Vec::new();
    if let Some(history) = history {
        runs = history.runs(&filter)?;
        comparisons = history.comparisons()?;
    }
    let narrowed = filter != RunFilter::default();
    runs.reverse();
    comparisons.reverse();
    show::list(&runs, &comparisons, flags.comparisons, narrowed, ui);
    Ok(0)
}

/// A state as the database has it, and whether its writer shall be alive.
fn state(arg: Option<StateArg>) -> (Option<RunState>, Option<bool>) {
    match arg {
        None => (None, None),
        Some(StateArg::Running) => (Some(RunState::Broken), Some(true)),
        Some(StateArg::Broken) => (Some(RunState::Broken), Some(false)),
        Some(StateArg::Complete) => (Some(RunState::Complete), None),
        Some(StateArg::Interrupted) => (Some(RunState::Interrupted), None),
        Some(StateArg::Invalid) => (Some(RunState::Invalid), None),
    }
}

#[derive(Serialize)]
struct Tagged<'a> {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// The tag.
    tag: &'a str,
    /// Whether the tag was taken away rather than given.
    removed: bool,
    /// The runs.
    runs: Vec<RunId>,
}

impl Answers for Tagged<'_> {
    fn answer(&self) -> String {
        let (names, tag) = (words(&self.runs), self.tag);
        match (self.dry_run, self.removed) {
            (false, false) => format!("tagged {names}: {tag}"),
            (false, true) => format!("removed the tag {tag} from {names}"),
            (true, false) => format!("would tag {names}: {tag}"),
            (true, true) => format!("would remove the tag {tag} from {names}"),
        }
    }
}

fn tag(flags: &Tag, history: &mut History, ui: &Ui) -> Result<u8, CommandError> {
    let runs = history.resolve_any(&flags.runs)?;
    check_tag(&flags.tag)
        .map_err(HistoryError::from)
        .or_else(|e| if flags.remove { Ok(()) } else { Err(e) })?;
    // Every run is looked at before the first is changed.
    for run in runs.iter().filter(|_| flags.remove) {
        if !run.tags.contains(&flags.tag) {
            return Err(HistoryError::NotTagged {
                run: run.id,
                tag: flags.tag.clone(),
                has: run.tags.clone(),
            }
            .into());
        }
    }
    let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    for run in ids.iter().filter(|_| !flags.dry_run) {
        if flags.remove {
            history.remove_tag(*run, &flags.tag)?;
        } else {
            history.add_tag(*run, &flags.tag)?;
        }
    }
    let tagged = Tagged {
        format: Format::new("tagged", 1),
        dry_run: flags.dry_run,
        tag: &flags.tag,
        removed: flags.remove,
        runs: ids,
    };
    ui.result(&tagged, || tagged.answer() + "\n");
    Ok(0)
}

#[derive(Serialize)]
struct Pruned {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// The runs.
    runs: Vec<RunId>,
    /// The comparisons.
    comparisons: Vec<ComparisonId>,
}

impl Pruned {
    fn verb(&self) -> &'static str {
        match self.dry_run {
            true => "would remove",
            false => "removed",
        }
    }
}

impl Answers for Pruned {
    fn answer(&self) -> String {
        let runs = plural(self.runs.len(), "run");
        let names: Vec<String> = self.comparisons.iter().map(ToString::to_string).collect();
        let (verb, names) = (self.verb(), names.join(", "));
        match (self.runs.len(), self.comparisons.len()) {
            (0, 0) => "nothing to remove".to_owned(),
            (0, _) => format!("{verb} {names}"),
            (_, 0) => format!("{verb} {runs}"),
            _ => format!("{verb} {runs}, {names}"),
        }
    }
}

fn prune(
    flags: &Prune,
    history: &mut History,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    if flags.state == Some(StateArg::Running) {
        let text = "runs under way are never removed";
        return Err(CommandError::new(code::USAGE, text)
            .hint("--state broken removes those whose process was killed".to_owned()));
    }
    let (comparisons, names): (Vec<_>, Vec<_>) = flags
        .names
        .iter()
        .map(|name| ComparisonId::named(name).ok_or(name))
        .partition(Result::is_ok);
    let mut comparisons: Vec<ComparisonId> = comparisons.into_iter().flatten().collect();
    // One that is named twice is removed once.
    comparisons.sort_unstable();
    comparisons.dedup();
    for id in &comparisons {
        history.comparison(*id)?;
    }
    let mut named = Vec::new();
    for name in names.into_iter().filter_map(Result::err) {
        named.extend(history.resolve_any(name)?);
    }
    if let Some(run) = named.iter().find(|run| run.running) {
        return Err(HistoryError::Running { run: run.id }.into());
    }
    let by_condition = flags.keep.is_some()
        || flags.older_than.is_some()
        || flags.state.is_some()
        || flags.tag.is_some();
    let all = history.runs(&RunFilter::default())?;
    if let Some(tag) = &flags.tag {
        // A tag that nothing has is a mistake, not an empty answer.
        history.resolve_any(tag)?;
    }
    let choice = PruneChoice {
        named: (!named.is_empty() || !by_condition)
            .then(|| named.iter().map(|run| run.id).collect()),
        state: state(flags.state).0,
        tag: flags.tag.clone(),
        older_than: flags.older_than,
        keep: flags.keep.unwrap_or(0),
        tagged: flags.tagged,
    };
    let held = history.held_runs()?;
    if let Some((run, by)) = named.iter().find_map(|run| held.get_key_value(&run.id)) {
        let (run, by) = (*run, by.clone());
        return Err(HistoryError::Held { run, by }.into());
    }
    let (staying, going): (Vec<RunSummary>, Vec<RunSummary>) =
        to_prune(&all, &choice, wall::now_ns())
            .into_iter()
            .rev()
            .cloned()
            .partition(|run| held.contains_key(&run.id));
    left_alone(&staying, &held, ui);
    let pruned = Pruned {
        format: Format::new("pruned", 1),
        dry_run: flags.dry_run,
        runs: going.iter().map(|run| run.id).collect(),
        comparisons,
    };
    if !flags.dry_run {
        let ledgers = ledger::beside(context, history, &pruned.runs);
        history.remove_runs(&pruned.runs)?;
        for file in ledgers {
            // One that a person has moved away is theirs.
            let _moved = fs_err::remove_file(file);
        }
        for id in &pruned.comparisons {
            history.remove_comparison(*id)?;
        }
    }
    ui.result(&pruned, || pruned_text(&pruned, &going));
    Ok(0)
}

/// Reports which runs meet the conditions and stay, because something under way will read them again.
fn left_alone(staying: &[RunSummary], held: &BTreeMap<RunId, String>, ui: &Ui) {
    let mut by_holder: BTreeMap<&str, Vec<RunId>> = BTreeMap::new();
    for (id, by) in staying.iter().filter_map(|run| held.get_key_value(&run.id)) {
        by_holder.entry(by).or_default().push(*id);
    }
    for (by, runs) in by_holder {
        ui.caution(&format!(
            "{} left alone: {by} is under way; wait until it ends, or stop it",
            words(&runs)
        ));
    }
}

fn pruned_text(pruned: &Pruned, going: &[RunSummary]) -> String {
    if pruned.runs.is_empty() && pruned.comparisons.is_empty() {
        return pruned.answer() + "\n";
    }
    let word = pruned.verb();
    let mut text = String::new();
    if !going.is_empty() {
        text.push_str(&show::table(going));
        text.push_str(&format!("{word} {}\n", plural(going.len(), "run")));
    }
    if !pruned.comparisons.is_empty() {
        let names: Vec<String> = pruned.comparisons.iter().map(ToString::to_string).collect();
        text.push_str(&format!("{word} {}\n", names.join(", ")));
    }
    text
}

/// `r1, r2`.
fn words(runs: &[RunId]) -> String {
    let names: Vec<String> = runs.iter().map(ToString::to_string).collect();
    names.join(", ")
}
