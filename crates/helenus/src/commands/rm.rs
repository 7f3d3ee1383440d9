//! `helenus rm`: says what it deletes, and deletes it.

use crate::cli::Rm;
use crate::cli::many::AllOf;
use crate::commands::disturb;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::baseline::{Baselines, Listed};
use helenus_cluster::batch::has_prefix;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::remove::{self, Removal};
use helenus_cluster::state::StateError;
use helenus_model::format::Format;
use helenus_model::topology::name_hint;
use helenus_model::units::plural;
use serde::Serialize;
use std::ffi::OsStr;

#[derive(Serialize)]
struct Removed {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// What was removed, or would be.
    removed: Vec<Removal>,
    /// Baselines of these clusters: removed with them, or kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    baselines: Vec<Listed>,
    /// Whether the baselines go, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    with_baselines: bool,
}

impl Removed {
    fn verb(&self) -> &'static str {
        match self.dry_run {
            true => "would remove",
            false => "removed",
        }
    }

    /// Whether anything went, or would go.
    fn any(&self) -> bool {
        !self.removed.is_empty() || (self.with_baselines && !self.baselines.is_empty())
    }
}

impl Answers for Removed {
    fn answer(&self) -> String {
        let verb = self.verb();
        let baselines = match (self.baselines.len(), self.with_baselines) {
            (0, _) | (_, false) => String::new(),
            (n, true) => format!(", with {}", plural(n, "baseline")),
        };
        match &self.removed[..] {
            [] if baselines.is_empty() => NONE.to_owned(),
            [] => format!("{verb} {}", plural(self.baselines.len(), "baseline")),
            [one] => removal_text(verb, one) + &baselines,
            all => format!("{verb} {}{baselines}", plural(all.len(), "cluster")),
        }
    }
}

/// Where there is none.
const NONE: &str = "no cluster to remove";

fn removal_text(verb: &str, one: &Removal) -> String {
    format!(
        "{verb} {}: {} ({} running), {} in {}",
        one.name,
        plural(one.nodes, "node"),
        one.running,
        one.bytes,
        one.folder.display()
    )
}

pub(crate) fn run(flags: &Rm, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let mut names = if flags.all {
        context.clusters.names()?
    } else if let Some(prefix) = &flags.prefix {
        of_prefix(context, prefix)?
    } else {
        flags.names.clone()
    };
    names.sort();
    names.dedup();
    // Every name is looked at before the first is removed: a mistyped one removes nothing.
    let mut removals = Vec::new();
    for name in &names {
        match remove::look(context, name) {
            Ok(removal) => removals.push(removal),
            Err(error) if flags.all && is_gone(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let baselines = Baselines::of(context);
    let mut theirs: Vec<Listed> = baselines
        .list(None)?
        .into_iter()
        .filter(|b| (flags.all && flags.with_baselines) || names.contains(&b.cluster))
        .collect();
    let mut first_error: Option<CommandError> = None;
    if !flags.dry_run {
        let progress = ui.progress("removing");
        let mut stay = Vec::new();
        removals.retain_mut(|removal| {
            progress.say(format!("removing {}", removal.name));
            let removed =
                disturb::may(context, &removal.name, flags.force).and_then(
                    |()| match remove::remove(context, &removal.name) {
                        Err(error) if flags.all && is_gone(&error) => Ok(false),
                        done => {
                            removal.puts_back = done?.puts_back;
                            Ok(true)
                        }
                    },
                );
            // One that is busy keeps no other from going.
            removed.unwrap_or_else(|error| {
                first_error.get_or_insert(error);
                stay.push(removal.name.clone());
                false
            })
        });
        // A cluster that stays keeps its baselines.
        theirs.retain(|one| !stay.contains(&one.cluster));
        if flags.with_baselines {
            theirs.retain(|one| {
                progress.say(format!("removing {} of {}", one.tag, one.cluster));
                match baselines.remove(&one.cluster, &one.tag) {
                    Ok(()) => true,
                    Err(error) => {
                        first_error.get_or_insert(error.into());
                        false
                    }
                }
            });
        }
        if flags.all
            && let Err(error) = remove::sweep(context)
        {
            first_error.get_or_insert(error.into());
        }
    }
    let removed = Removed {
        format: Format::new("removed", 1),
        dry_run: flags.dry_run,
        removed: removals,
        baselines: theirs,
        with_baselines: flags.with_baselines,
    };
    if first_error.is_none() || removed.any() {
        ui.result(&removed, || text(&removed));
    }
    first_error.map_or(Ok(0), Err)
}

/// The clusters of a prefix.
///
/// # Errors
/// There is none: a mistyped prefix is no success.
fn of_prefix(context: &Context, prefix: &str) -> Result<Vec<String>, CommandError> {
    let known = context.clusters.names()?;
    let names: Vec<String> = known
        .iter()
        .filter(|name| has_prefix(name, prefix))
        .cloned()
        .collect();
    if names.is_empty() {
        let message = format!("no cluster is named {prefix} and a number");
        let mut prefixes: Vec<String> = known
            .iter()
            .map(|name| {
                name.trim_end_matches(|c: char| c.is_ascii_digit())
                    .to_owned()
            })
            .collect();
        prefixes.dedup();
        return Err(CommandError::new(code::USAGE, message).hint(name_hint(prefix, &prefixes)));
    }
    Ok(names)
}

/// The clusters of a prefix, for a verb that takes one cluster by its name, too; none without a prefix.
///
/// # Errors
/// As [`of_prefix`]; or a cluster is named besides.
pub(crate) fn all_of(
    all: &AllOf,
    target: Option<&str>,
    context: &Context,
) -> Result<Option<Vec<String>>, CommandError> {
    let Some(prefix) = &all.prefix else {
        return Ok(None);
    };
    // A cluster that the environment names gives way to a prefix.
    let named = target.filter(|name| !name.is_empty()).map(OsStr::new);
    if named.is_some() && named != context.env.var("HELENUS_CLUSTER") {
        let text = "a cluster by its name conflicts with --prefix";
        return Err(CommandError::new(code::USAGE, text).hint("leave one of them out".to_owned()));
    }
    of_prefix(context, prefix).map(Some)
}

/// A bench that removed itself, or another `rm`, was quicker.
fn is_gone(error: &ClusterError) -> bool {
    matches!(error.find(), Some(StateError::UnknownCluster { .. }))
}

fn text(removed: &Removed) -> String {
    let verb = removed.verb();
    let mut text = String::new();
    for one in &removed.removed {
        text.push_str(&(removal_text(verb, one) + "\n"));
        for back in &one.puts_back {
            text.push_str(&(back.undone() + "\n"));
        }
    }
    for one in &removed.baselines {
        let Listed {
            cluster,
            tag,
            own_bytes,
            ..
        } = one;
        text.push_str(&match removed.with_baselines {
            true => format!("{verb} baseline {tag} of {cluster}\n"),
            false => format!(
                "baseline {tag} of {cluster} stays ({own_bytes}): `helenus baseline rm {cluster} {tag}` removes it\n"
            ),
        });
    }
    if !removed.any() {
        text.push_str(&format!("{NONE}\n"));
    }
    text
}
