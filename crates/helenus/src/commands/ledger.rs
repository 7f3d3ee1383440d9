//! `helenus ledger`: what became of each write of a run, listed and read back.
//! Refuses to judge a key: the model does.

mod render;

use crate::cli::ledger::{Check, Ledger, LedgerVerb, Show};
use crate::cli::run::Run;
use crate::commands::count;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::scan::ScanPlace;
use helenus_lab::ledger::{CheckRequest, Keep, LedgerFile, LedgerFileError, check, open};
use helenus_model::ledger::{LedgerError, subjects};
use helenus_model::run_plan::Phase;
use helenus_model::workload::Workload;
use std::path::Path;

pub(crate) fn run(flags: &Ledger, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.verb {
        LedgerVerb::Check(flags) => checked(flags, context, ui),
        LedgerVerb::Show(flags) => show(flags, context, ui),
    }
}

/// Where a run's ledger goes, if it shall have one that can be read back later.
pub(crate) fn keep(
    flags: &Run,
    workload: &Workload,
    phases: &[Phase],
) -> Result<Option<Keep>, CommandError> {
    let Some(path) = &flags.load.ledger else {
        return Ok(None);
    };
    let usage =
        |text: String, hint: &str| Err(CommandError::new(code::USAGE, text).hint(hint.to_owned()));
    if flags.place.cluster.is_none() && flags.place.hosts.is_empty() && flags.place.on.is_none() {
        return usage(
            "a ledger is read back from a cluster, and this run's is removed at its end".to_owned(),
            "bring one up (`helenus up c`), and add --cluster c",
        );
    }
    let used = phases.iter().flat_map(|phase| &phase.operations);
    let used = used.map(|share| share.operation.clone()).collect();
    subjects(workload, &used).map_err(|e| CommandError::from(e).within("--ledger"))?;
    if path == Path::new("auto") {
        return Ok(Some(Keep::Auto));
    }
    if path.exists() {
        let text = format!("{} already exists", path.display());
        return usage(text, "name another file, or leave it out");
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let text = format!("{} is not a folder", folder.display());
        return usage(text, "create it, or name another file");
    }
    Ok(Some(Keep::In(path.clone())))
}

fn show(flags: &Show, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (file, run) = open(context, &flags.name).map_err(failure)?;
    let shown = render::Shown::of(&file, run).map_err(failure)?;
    ui.result(&shown, || shown.text());
    Ok(0)
}

fn checked(flags: &Check, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (file, run) = open(context, &flags.name).map_err(failure)?;
    let place = place(flags, &file, context)?;
    let request = CheckRequest {
        consistency: flags.read.cl,
        client_dc: flags.read.client_dc.clone(),
        parallel: flags.read.parallel,
        rate: flags.read.rate,
        keep: flags.lost,
    };
    let progress = ui.progress("reading keys back");
    let mut on_progress = |done, all| progress.at(done, all);
    let report = check(&place, &file, &request, &context.cancel, &mut on_progress);
    drop(progress);
    let (mut report, broke_off) = report.map_err(failure)?;
    report.run = run;
    ui.result(&report, || render::checked(&report));
    if let Some(error) = broke_off {
        return Err(failure(error));
    }
    if !report.complete {
        return Err(CommandError::new(
            code::INTERRUPTED,
            "interrupted: only a part was read back",
        ));
    }
    Ok(if report.lost() == 0 { 0 } else { code::BAR })
}

/// The cluster that is read: by default the one that was written to.
fn place(flags: &Check, file: &LedgerFile, context: &Context) -> Result<ScanPlace, CommandError> {
    let own = file.head.plan.ledger.as_ref();
    let own = own.and_then(|ledger| ledger.cluster.as_ref());
    if flags.place.cluster.is_some() || !flags.place.hosts.is_empty() {
        return count::place(&flags.place, context);
    }
    let Some((name, id)) = own else {
        let text = "the ledger does not name the cluster that was written to";
        return Err(CommandError::new(code::USAGE, text)
            .hint("name it with --hosts or --cluster".to_owned()));
    };
    let state = context.clusters.load(name)?;
    if state.id != *id {
        let text = format!("{name} is not the cluster that was written to: that one is removed");
        return Err(
            CommandError::new(code::USAGE, text).hint(format!("--cluster {name} reads it anyway"))
        );
    }
    Ok(ScanPlace::ours(&state)?)
}

fn failure(error: LedgerFileError) -> CommandError {
    let hint = error.hint();
    match error {
        LedgerFileError::History(error) => error.into(),
        LedgerFileError::Cluster(error) => error.into(),
        LedgerFileError::Content {
            source: LedgerError::Damaged { .. },
            ..
        } => CommandError::of(code::ENVIRONMENT, &error).hint(hint),
        _ => CommandError::of(code::USAGE, &error).hint(hint),
    }
}
