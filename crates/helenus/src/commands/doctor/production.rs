//! `helenus doctor --production`, `--fix`, `--undo` and the files for machines elsewhere.

use super::super::machine;
use crate::cli::doctor::Doctor;
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::{Answers, Table, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::error::Problem as _;
use helenus_cluster::host_settings::{Changed, Failed, FixError, Fixes, undo, undoes};
use helenus_model::format::Format;
use helenus_model::tuned::{Check, Cure, Item, checks, named, role, script, unit};
use serde::Serialize;
use std::path::Path;

/// Where the unit expects the script.
const PLACE: &str = "/usr/local/sbin/cassandra-host-settings";

/// Settings of a machine under Cassandra, and what was changed.
#[derive(Serialize)]
struct Production {
    format: Format,
    /// What was looked at, the most severe first; after the changes where some were made.
    checks: Vec<Check>,
    /// What was changed, or would be.
    changes: Vec<Changed>,
    /// What was restored by --undo, or would be: from `set` to `before`.
    restored: Vec<Changed>,
    /// What could not be changed or undone.
    failed: Vec<Failed>,
    /// Whether nothing was changed, by --dry-run.
    dry_run: bool,
}

impl Answers for Production {
    fn answer(&self) -> String {
        let bad = self.checks.iter().filter(|check| !check.good).count();
        let text = match bad {
            0 => format!("all {} items pass", self.checks.len()),
            bad => format!("{bad} of {} items do not pass", self.checks.len()),
        };
        let would = if self.dry_run { "would be " } else { "" };
        let mut done = String::new();
        for (number, verb) in [
            (self.changes.len(), "changed"),
            (self.restored.len(), "restored"),
        ] {
            if number > 0 {
                done.push_str(&format!("{number} {would}{verb}; "));
            }
        }
        if !self.failed.is_empty() {
            done.push_str(&format!("{} failed; ", self.failed.len()));
        }
        done + &text
    }
}

/// Whether it is about production settings at all.
pub(super) fn is_asked(flags: &Doctor) -> bool {
    flags.production
        || flags.from.is_some()
        || flags.fix.is_some()
        || flags.undo
        || flags.script
        || flags.systemd
        || flags.ansible.is_some()
}

pub(super) fn run(flags: &Doctor, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let names = flags.fix.as_deref().unwrap_or_default();
    let items =
        named(names).map_err(|(what, hint)| CommandError::new(code::USAGE, what).hint(hint))?;
    if flags.dry_run && flags.fix.is_none() && !flags.undo {
        let text = "--dry-run is about --fix and --undo";
        return Err(CommandError::new(code::USAGE, text));
    }
    if flags.systemd {
        ui.out(&unit(PLACE));
        ui.note(&format!("it runs {PLACE}, which --script prints"));
        return Ok(0);
    }
    let look = || machine::from(flags.from.as_deref(), context);
    let snapshot = look()?;
    if flags.script {
        ui.out(&script(&snapshot, &items));
        return Ok(0);
    }
    if let Some(folder) = &flags.ansible {
        return write_role(folder, &role(&snapshot, &items), ui);
    }
    let of_items = |checks: Vec<Check>| -> Vec<Check> {
        let is_asked = |check: &Check| items.iter().any(|item: &&Item| item.name == check.item);
        checks.into_iter().filter(is_asked).collect()
    };
    let folder = context.paths.state.join("doctor");
    let mut report = Production {
        format: Format::new("host-settings", 1),
        checks: of_items(checks(&snapshot)),
        changes: Vec::new(),
        restored: Vec::new(),
        failed: Vec::new(),
        dry_run: flags.dry_run,
    };
    let root = &context.env.root;
    if flags.undo {
        report.restored = undoes(root, &folder);
        if !flags.dry_run {
            let done = undo(&context.env, &folder).map_err(failed)?;
            (report.restored, report.failed) = done;
            report.checks = of_items(checks(&look()?));
        }
    } else if flags.fix.is_some() {
        let fixes = Fixes::plan(root, &report.checks);
        report.changes = fixes.changes().to_vec();
        if !flags.dry_run {
            for change in &report.changes {
                let (before, set) = (first_line(&change.before), first_line(&change.set));
                ui.note(&format!("{}: {before} becomes {set}", change.what));
            }
            report.failed = fixes.make(&context.env, &folder).map_err(failed)?;
            let has_failed = |change: &Changed| report.failed.iter().any(|f| f.what == change.what);
            report.changes.retain(|change| !has_failed(change));
            report.checks = of_items(checks(&look()?));
        }
    }
    ui.result(&report, || text(&report, !flags.undo, flags.from.is_none()));
    let bad = report.checks.iter().any(|check| !check.good);
    Ok(match (report.failed.is_empty(), bad) {
        (false, _) => code::ENVIRONMENT,
        (true, true) if !flags.undo && !flags.dry_run => code::BAR,
        _ => 0,
    })
}

fn write_role(
    folder: &Path,
    files: &std::collections::BTreeMap<String, String>,
    ui: &Ui,
) -> Result<u8, CommandError> {
    if folder.exists() {
        let text = format!("{} exists", folder.display());
        return Err(CommandError::new(code::USAGE, text).hint("name a new folder".to_owned()));
    }
    for (name, text) in files {
        let path = folder.join(name);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        outfile::write(&path, text.as_bytes())?;
        ui.note(&format!("wrote {}", path.display()));
    }
    Ok(0)
}

fn failed(error: FixError) -> CommandError {
    let hint = error.hint();
    CommandError::of(code::ENVIRONMENT, &error).hint(hint)
}

fn first_line(text: &str) -> &str {
    match text.lines().next() {
        Some(line) => line,
        None => "nothing",
    }
}

/// For people: `lists` the items that do not pass; `here` is false where it is about another machine.
fn text(report: &Production, lists: bool, here: bool) -> String {
    let mut text = format!("{}\n", report.answer());
    let changed = report.changes.iter().map(|c| (c, &c.before, &c.set));
    let restored = report.restored.iter().map(|c| (c, &c.set, &c.before));
    let changes: Vec<_> = changed.chain(restored).collect();
    if !changes.is_empty() {
        let mut table = Table::new(&["setting", "from", "to"]);
        for (change, from, to) in changes {
            table.row([change.what.as_str(), first_line(from), first_line(to)]);
        }
        text.push_str(&format!("\n{}", table.render()));
    }
    if !report.failed.is_empty() {
        let mut table = Table::new(&["failed", "why"]);
        for failed in &report.failed {
            table.row([failed.what.as_str(), failed.why.as_str()]);
        }
        text.push_str(&format!("\n{}", table.render()));
    }
    let bad = || report.checks.iter().filter(|check| !check.good);
    if !lists || bad().next().is_none() {
        return text;
    }
    let mut table = Table::new(&["severity", "item", "found", "should be"]);
    for check in bad() {
        table.row([
            check.severity.word(),
            &check.name(),
            &check.found,
            &check.wanted,
        ]);
    }
    text.push_str(&format!("\n{}\n", table.render()));
    let mut seen = Vec::new();
    for check in bad() {
        if seen.contains(&check.item) {
            continue;
        }
        seen.push(check.item);
        text.push_str(&format!(
            "{}: {}; {}\n",
            check.item, check.why, check.source
        ));
        if let Some(promised) = check.promised {
            text.push_str(&format!("  claimed effect: {promised}\n"));
        }
        if let Some(measured) = &check.measured {
            text.push_str(&format!("  measured: {measured}\n"));
        }
        if let Cure::ByHand(what) = &check.cure {
            text.push_str(&format!("  cure: {what}\n"));
        }
    }
    let fixable = bad().any(|check| !matches!(check.cure, Cure::ByHand(_)));
    if fixable && here {
        text.push_str(
            "\n`helenus doctor --fix` changes what can be changed here, `--undo` restores it\n",
        );
    }
    text
}
