//! `helenus status`: nodetool's form from data that the nodes give over CQL.

use crate::cli::Status;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::ring_view;
use helenus_model::status::{Report, StatusError};

pub(crate) fn run(flags: &Status, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let state = hands.clusters.resolve(flags.named.name.as_deref())?;
    let view = ring_view::read(&state)?;
    let keyspace = flags.keyspace.as_deref();
    let usage = |error: StatusError| {
        let known: Vec<String> = view.keyspaces.iter().map(|k| k.name.clone()).collect();
        let hint = match &error {
            StatusError::NoKeyspace(name) => Some(helenus_model::topology::name_hint(name, &known)),
            _ => None,
        };
        CommandError::of(code::USAGE, &error).hint(hint)
    };
    let report = Report::new(view.clone(), keyspace).map_err(usage)?;
    let printed = view.nodetool(keyspace).map_err(usage)?;
    ui.result(&report, || printed.stdout);
    Ok(printed.exit)
}
