//! `helenus history sync`: runs exchanged with the histories of other machines, through a folder.
//! Refuses to hide a file that could not be taken.

use crate::cli::history::Sync;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_model::format::Format;
use helenus_model::units::plural;
use helenus_record::{History, RunId, Synced};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// Runs that were written to the folder.
    sent: &'a [RunId],
    /// Runs that were taken from it, under their numbers here; of a dry run none.
    received: &'a [RunId],
    /// How many would be taken; 0 unless it is a dry run.
    waiting: usize,
    /// Runs of the folder that were removed here, and stay away.
    removed: usize,
    /// Files that could not be taken.
    refused: Vec<Refused>,
}

#[derive(Serialize)]
struct Refused {
    /// Its path.
    file: String,
    /// The reason.
    why: String,
}

impl Answers for Report<'_> {
    fn answer(&self) -> String {
        let sent = plural(self.sent.len(), "run");
        if self.dry_run {
            let taken = plural(self.waiting, "run");
            return format!("would send {sent} and receive {taken}");
        }
        let names = match self.received {
            [] => String::new(),
            [only] => format!(": {only}"),
            [first, .., last] => format!(": {first} to {last}"),
        };
        let received = plural(self.received.len(), "run");
        format!("sent {sent}, received {received}{names}")
    }
}

pub(super) fn run(flags: &Sync, history: &mut History, ui: &Ui) -> Result<u8, CommandError> {
    let progress = ui.progress("exchanging runs");
    let synced = history.sync(&flags.folder, flags.dry_run, &mut |done, all| {
        progress.at(done, all);
    });
    drop(progress);
    let Synced {
        sent,
        received,
        waiting,
        removed,
        refused,
    } = synced?;
    let report = Report {
        format: Format::new("history-sync", 1),
        dry_run: flags.dry_run,
        sent: &sent,
        received: &received,
        waiting,
        removed,
        refused: refused
            .into_iter()
            .map(|(file, why)| Refused {
                file: file.display().to_string(),
                why,
            })
            .collect(),
    };
    ui.result(&report, || {
        let mut text = format!("{}\n", report.answer());
        if removed > 0 {
            let those = plural(removed, "run");
            text.push_str(&format!("{those} of the folder stay away: removed here\n"));
        }
        text
    });
    match report.refused.first() {
        None => Ok(0),
        Some(first) => {
            let text = format!(
                "{} could not be taken; {}: {}",
                plural(report.refused.len(), "file"),
                first.file,
                first.why
            );
            Err(CommandError::new(code::ENVIRONMENT, text)
                .hint("sync with the newest Helenus; remove the file if it is damaged".to_owned()))
        }
    }
}
