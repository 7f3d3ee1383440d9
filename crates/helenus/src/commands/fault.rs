//! `helenus fault`, `helenus heal`: faults made, listed and undone.
//! Refuses to leave a fault behind that it was to end.

use crate::cli::fault::{FaultFlags, Heal};
use crate::commands::up::Watcher;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::fault::{Ends, Entry, FaultTrouble, Patience, Standing, now_unix_ms};
use helenus_cluster::state::ClusterState;
use helenus_model::fault::place::Reach;
use helenus_model::fault::{Fault, FaultError};
use helenus_model::format::Format;
use helenus_model::units::human_duration;
use serde::Serialize;
use std::time::{Duration, Instant};

/// How often a wait looks whether the person wants it to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A fault as it is printed.
#[derive(Debug, Serialize)]
pub(crate) struct PrintedFault {
    /// In the words that make it.
    words: String,
    #[serde(flatten)]
    fault: Fault,
    /// What it reaches.
    reach: Reach,
    /// When it was made, in milliseconds since 1970.
    since_unix_ms: u64,
    /// When the command that made it ends it.
    until_unix_ms: Option<u64>,
    /// False where something else undid it.
    holds: bool,
    /// Whether the command that was to end it is gone.
    abandoned: bool,
}

impl PrintedFault {
    fn of(one: Standing) -> Self {
        Self {
            words: one.entry.fault.to_string(),
            abandoned: one.entry.abandoned(),
            fault: one.entry.fault,
            reach: one.entry.reach,
            since_unix_ms: one.entry.since_unix_ms,
            until_unix_ms: one.entry.until_unix_ms,
            holds: one.holds,
        }
    }
}

#[derive(Serialize)]
struct Listed {
    format: Format,
    /// The cluster.
    cluster: String,
    /// Faults that were made and not healed.
    faults: Vec<PrintedFault>,
}

impl Answers for Listed {
    fn answer(&self) -> String {
        let cluster = &self.cluster;
        let words: Vec<&str> = self.faults.iter().map(|one| one.words.as_str()).collect();
        match words.is_empty() {
            true => none_holds(cluster),
            false => format!("{cluster}: {}, not healed", words.join("; ")),
        }
    }
}

fn none_holds(cluster: &str) -> String {
    format!("no fault is active in {cluster}")
}

#[derive(Serialize)]
struct Made {
    format: Format,
    /// The cluster.
    cluster: String,
    /// In the words that make it.
    words: String,
    #[serde(flatten)]
    fault: Fault,
    /// What it reaches.
    reach: Reach,
    /// Whether nothing was done.
    dry_run: bool,
    /// How long it held, in milliseconds; absent while it holds.
    held_ms: Option<u64>,
}

#[derive(Serialize)]
struct Healed {
    format: Format,
    /// The cluster.
    cluster: String,
    /// Whether nothing was done.
    dry_run: bool,
    /// The faults, in their words.
    healed: Vec<String>,
}

/// Words that are no fault, as a failure that points at the wrong one.
pub(crate) fn wrong_words(error: FaultError) -> CommandError {
    ClusterError::from(FaultTrouble::Words(error)).into()
}

pub(crate) fn run(flags: &FaultFlags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    if flags.words.is_empty() {
        return list(&state, context, ui);
    }
    let fault = Fault::parse(&flags.words.join(" ")).map_err(wrong_words)?;
    let mut made = Made {
        format: Format::new("fault", 1),
        cluster: flags.name.clone(),
        words: fault.to_string(),
        reach: context.look_at_fault(&flags.name, &fault)?,
        fault,
        dry_run: flags.dry_run,
        held_ms: None,
    };
    if !flags.dry_run {
        let begin = Instant::now();
        let ends = match flags.lasts {
            None => Ends::ByPerson,
            lasts => Ends::ByCommand(lasts),
        };
        let entry = context.fault(&flags.name, &made.fault, ends)?;
        made.reach = entry.reach.clone();
        if let Some(lasts) = flags.lasts {
            hold(&entry, lasts, flags, context, ui)?;
            made.held_ms = u64::try_from(begin.elapsed().as_millis()).ok();
        }
    }
    ui.result(&made, || made.answer() + "\n");
    Ok(0)
}

/// Waits while a fault holds, and ends it.
fn hold(
    entry: &Entry,
    lasts: Duration,
    flags: &FaultFlags,
    context: &Context,
    ui: &Ui,
) -> Result<(), CommandError> {
    let begin = Instant::now();
    let progress = ui.progress(&format!("{} is active", entry.fault));
    while begin.elapsed() < lasts && !context.cancel.is_set() {
        progress.at(begin.elapsed().as_secs(), lasts.as_secs().max(1));
        std::thread::sleep(LOOK_EVERY.min(lasts.saturating_sub(begin.elapsed())));
    }
    drop(progress);
    if !context.fault_holds(&flags.name, entry.id)? {
        ui.caution("something else undid it before its end, at an unknown time");
    }
    heal_ids(&flags.name, &[entry.id], flags.ready_within, context, ui)?;
    if context.cancel.is_set() {
        return Err(CommandError::new(
            code::INTERRUPTED,
            "interrupted, and healed",
        ));
    }
    Ok(())
}

/// Undoes faults; who is interrupted starts what was killed, and does not wait for it.
fn heal_ids(
    cluster: &str,
    ids: &[u32],
    ready_within: Duration,
    context: &Context,
    ui: &Ui,
) -> Result<Vec<Entry>, CommandError> {
    let patience = if context.cancel.is_set() {
        Patience::Started
    } else {
        Patience::Ready(ready_within)
    };
    let mut watcher = Watcher::new(ui, cluster, ids.len());
    Ok(context.heal(cluster, ids, patience, &mut |event| watcher.see(&event))?)
}

fn list(state: &ClusterState, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let listed = Listed {
        format: Format::new("faults", 1),
        cluster: state.plan.name.clone(),
        faults: standing(state, context)?,
    };
    ui.result(&listed, || match listed.faults.as_slice() {
        [] => listed.answer() + "\n",
        faults => table(faults),
    });
    Ok(0)
}

/// The faults of a cluster that were made and not healed.
pub(crate) fn standing(
    state: &ClusterState,
    context: &Context,
) -> Result<Vec<PrintedFault>, CommandError> {
    let standing = context.faults(state)?;
    Ok(standing.into_iter().map(PrintedFault::of).collect())
}

/// Warns of what somebody did to a cluster that is about to be measured: its numbers are numbers of that.
pub(crate) fn caution(
    state: &ClusterState,
    context: &Context,
    ui: &Ui,
) -> Result<(), CommandError> {
    let name = &state.plan.name;
    for one in standing(state, context)?.iter().filter(|one| one.holds) {
        ui.caution(&format!(
            "{} is active in {name}, and affects all that is measured now: `helenus heal {name} {}` ends it",
            one.words, one.fault.target
        ));
    }
    Ok(())
}

/// A line for each fault that holds, below what else is printed of a cluster.
pub(crate) fn notes(cluster: &str, faults: &[PrintedFault]) -> String {
    let mut text = String::new();
    for one in faults.iter().filter(|one| one.holds) {
        text.push_str(&format!(
            "\n{} is active in {cluster}{}: `helenus heal {cluster} {}` ends it\n",
            one.words,
            if one.abandoned {
                ", and the command that made it is gone"
            } else {
                ""
            },
            one.fault.target
        ));
    }
    text
}

fn table(faults: &[PrintedFault]) -> String {
    let mut table = Table::new(&["fault", "reaches", ">since", ">ends in", "state"]);
    let now = now_unix_ms();
    let time = |ms: u64| human_duration(Duration::from_millis(ms));
    for one in faults {
        let state = match (one.holds, one.abandoned) {
            (true, false) => "active",
            (true, true) => "active; the command that made it is gone",
            (false, _) => "undone by something else",
        };
        let ends = one.until_unix_ms.filter(|_| one.holds && !one.abandoned);
        table.row([
            one.words.clone(),
            reaches(&one.reach),
            time(now.saturating_sub(one.since_unix_ms)),
            ends.map_or_else(|| "-".to_owned(), |at| time(at.saturating_sub(now))),
            state.to_owned(),
        ]);
    }
    table.render()
}

pub(crate) fn reaches(reach: &Reach) -> String {
    match reach {
        Reach::Nodes(nodes) | Reach::Island(nodes) => nodes.join(", "),
        Reach::Links(links) => {
            let links: Vec<String> = links.iter().map(|(a, b)| format!("{a} > {b}")).collect();
            links.join(", ")
        }
    }
}

impl Answers for Made {
    fn answer(&self) -> String {
        let Self { cluster, words, .. } = self;
        let reach = reaches(&self.reach);
        match self.held_ms {
            _ if self.dry_run => {
                format!("would do to {cluster}: {words} ({reach}); nothing was done (--dry-run)")
            }
            None => format!(
                "{cluster}: {words} is active ({reach}); `helenus heal {cluster} {}` ends it",
                self.fault.target
            ),
            Some(ms) => {
                let held = human_duration(Duration::from_millis(ms));
                format!("{cluster}: {words} was active for {held} ({reach}), and is healed")
            }
        }
    }
}

pub(crate) fn heal(flags: &Heal, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    let standing = context.faults(&state)?;
    let entries: Vec<&Entry> = standing.iter().map(|one| &one.entry).collect();
    let chosen = choose(flags, &entries)?;
    let mut words: Vec<String> = chosen.iter().map(|e| e.fault.to_string()).collect();
    if !flags.dry_run && !chosen.is_empty() {
        let ids: Vec<u32> = chosen.iter().map(|entry| entry.id).collect();
        let healed = heal_ids(&flags.name, &ids, flags.ready_within, context, ui)?;
        words = healed.iter().map(|e| e.fault.to_string()).collect();
    }
    let healed = Healed {
        format: Format::new("healed", 1),
        cluster: flags.name.clone(),
        dry_run: flags.dry_run,
        healed: words,
    };
    ui.result(&healed, || healed.answer() + "\n");
    Ok(0)
}

/// The faults that are meant.
fn choose<'a>(flags: &Heal, entries: &[&'a Entry]) -> Result<Vec<&'a Entry>, CommandError> {
    let known: Vec<String> = entries.iter().map(|e| e.fault.target.clone()).collect();
    match (&flags.target, entries) {
        (None, _) if flags.all => Ok(entries.to_vec()),
        (None, [_] | []) => Ok(entries.to_vec()),
        (None, _) => {
            let words: Vec<String> = entries.iter().map(|e| e.fault.to_string()).collect();
            let what = format!("which fault of {}? {}", flags.name, words.join("; "));
            Err(CommandError::new(code::USAGE, what)
                .hint(format!("name a target ({}), or --all", known.join(", "))))
        }
        (Some(target), _) => {
            let named = |e: &&&Entry| {
                let is = e.fault.target.as_str();
                is == target || is.strip_prefix("node") == Some(target.as_str())
            };
            let chosen: Vec<&Entry> = entries.iter().filter(named).copied().collect();
            if !chosen.is_empty() {
                return Ok(chosen);
            }
            let none = FaultTrouble::NoSuch {
                cluster: flags.name.clone(),
                target: target.clone(),
                known,
            };
            Err(ClusterError::from(none).into())
        }
    }
}

impl Answers for Healed {
    fn answer(&self) -> String {
        let cluster = &self.cluster;
        if self.healed.is_empty() {
            return none_holds(cluster);
        }
        let words = self.healed.join("; ");
        if self.dry_run {
            format!("would heal in {cluster}: {words}; nothing was done (--dry-run)")
        } else {
            format!("{cluster}: healed {words}")
        }
    }
}
