//! `helenus kube rm`: lists what it deletes of a cluster on Kubernetes, and deletes it.

use super::{clusters, failed, held};
use crate::cli::kube::acts::Rm;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::kube::{self, Owned};
use helenus_model::format::Format;
use helenus_model::units::plural;
use serde::Serialize;

/// What was deleted, or would be.
#[derive(Debug, Serialize)]
struct Removed {
    /// `helenus.kube-removed/1`.
    format: Format,
    /// The cluster.
    name: String,
    /// Whether nothing was done.
    dry_run: bool,
    /// All that there was of it, in the order of its deletion; what stays says why.
    objects: Vec<Owned>,
}

impl Answers for Removed {
    fn answer(&self) -> String {
        let verb = match self.dry_run {
            true => "would delete",
            false => "deleted",
        };
        let stay = self
            .objects
            .iter()
            .filter(|one| one.stays.is_some())
            .count();
        let gone = plural(self.objects.len() - stay, "object");
        let kept = match stay {
            0 => String::new(),
            n => format!("; {} kept", plural(n, "object")),
        };
        format!("{verb} {}: {gone}{kept}", self.name)
    }
}

pub(super) fn run(flags: &Rm, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (_lock, state, kubectl) = held(&flags.name, flags.dry_run, context, ui)?;
    if state.is_operated() && !flags.volumes {
        let text = format!(
            "cass-operator deletes the volumes of {} with its data centres",
            flags.name
        );
        let hint = format!(
            "helenus kube rm {} --volumes, if its data may go",
            flags.name
        );
        return Err(CommandError::new(code::USAGE, text).hint(hint));
    }
    let removed = Removed {
        format: Format::new("kube-removed", 1),
        name: flags.name.clone(),
        dry_run: flags.dry_run,
        objects: kube::owned(&kubectl, &state, flags.volumes)?,
    };
    if !flags.dry_run {
        let progress = ui.progress("waiting for the pods to drain and end");
        let mut see = |left: usize| progress.say(format!("{} left", plural(left, "pod")));
        let all = clusters(context);
        let objects = &removed.objects;
        kube::remove(&kubectl, &all, &state, objects, &context.cancel, &mut see)
            .map_err(|error| failed(error, &flags.name))?;
    }
    ui.result(&removed, || {
        let mut table = Table::new(&["kind", "name", ""]);
        for one in &removed.objects {
            let name = match &one.namespace {
                Some(namespace) => format!("{namespace}/{}", one.name),
                None => one.name.clone(),
            };
            let stays = one.stays.as_ref().map(|why| format!("stays: {why}"));
            table.row([one.kind.clone(), name, stays.unwrap_or_default()]);
        }
        format!("{}\n{}\n", table.render(), removed.answer())
    });
    Ok(0)
}
