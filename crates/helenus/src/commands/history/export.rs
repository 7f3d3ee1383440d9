//! `helenus history export`: runs as JSON, CSV or an HdrHistogram interval log.
//! Refuses to write over a file unless a flag asks for it.

use super::show::Shown;
use super::words;
use crate::cli::history::{Export, FormArg};
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing};
use crate::ui::{Answered, Answers, Ui};
use helenus_model::format::Format;
use helenus_model::units::plural;
use helenus_record::hdr_log::{self, LogChoice};
use helenus_record::{History, RunId, csv};
use serde::Serialize;

/// What an export to a file says of itself.
#[derive(Serialize)]
struct Exported {
    format: Format,
    /// Whether nothing was done.
    dry_run: bool,
    /// The runs.
    runs: Vec<RunId>,
    /// `json`, `csv` or `hdr`.
    #[serde(rename = "as")]
    form: &'static str,
    /// Where it goes.
    to: String,
    /// Size of the file in bytes; none when nothing was written.
    bytes: Option<usize>,
}

impl Answers for Exported {
    fn answer(&self) -> String {
        let word = if self.dry_run { "would write" } else { "wrote" };
        format!(
            "{word} {} as {} to {}",
            words(&self.runs),
            self.form,
            self.to
        )
    }
}

/// Several runs as one JSON value.
#[derive(Serialize)]
struct Runs<'a> {
    format: Format,
    /// The runs, each as `history show` prints it.
    runs: Vec<Shown<'a>>,
}

impl Answers for Runs<'_> {
    fn answer(&self) -> String {
        let ids: Vec<RunId> = self.runs.iter().map(Shown::id).collect();
        format!("{}: {}", plural(ids.len(), "run"), words(&ids))
    }
}

pub(super) fn run(flags: &Export, history: &History, ui: &Ui) -> Result<u8, CommandError> {
    let runs = history.resolve_any(&flags.runs.join(","))?;
    let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    let form = form(flags)?;
    check(flags, form, &ids)?;
    let to_stdout = outfile::is_output(&flags.to);
    if !to_stdout && outfile::standing(&flags.to)? == Standing::File && !flags.force {
        let text = format!("{} already exists", flags.to.display());
        return Err(CommandError::new(code::USAGE, text).hint("--force overwrites it".to_owned()));
    }
    let data = match form {
        FormArg::Json => as_json(history, &ids, flags.intervals.then_some(flags.with_warmup))?,
        FormArg::Csv => comma_separated(flags, history, &ids)?,
        FormArg::Hdr => log(flags, history, &ids, ui)?,
    };
    if to_stdout && !flags.dry_run {
        ui.out(&String::from_utf8_lossy(&data));
        return Ok(0);
    }
    if !flags.dry_run {
        outfile::write(&flags.to, &data)?;
    }
    let exported = Exported {
        format: Format::new("exported", 1),
        dry_run: flags.dry_run,
        runs: ids,
        form: form.word(),
        to: flags.to.display().to_string(),
        bytes: (!flags.dry_run).then_some(data.len()),
    };
    ui.result(&exported, || exported.answer() + "\n");
    Ok(0)
}

/// The form that was asked for, or the one of the file's name.
fn form(flags: &Export) -> Result<FormArg, CommandError> {
    if let Some(form) = flags.form {
        return Ok(form);
    }
    if outfile::is_output(&flags.to) {
        return Ok(FormArg::Json);
    }
    match flags.to.extension().and_then(|e| e.to_str()) {
        Some("json") => Ok(FormArg::Json),
        Some("csv") => Ok(FormArg::Csv),
        Some("hdr" | "hlog") => Ok(FormArg::Hdr),
        _ => {
            let text = format!("the form of {} is unknown", flags.to.display());
            Err(CommandError::new(code::USAGE, text).hint(
                "use --as json, csv or hdr, or end the name with .json, .csv or .hdr".to_owned(),
            ))
        }
    }
}

/// Flags that the form has no use for are mistakes.
fn check(flags: &Export, form: FormArg, runs: &[RunId]) -> Result<(), CommandError> {
    let wrong =
        |text: String, hint: &str| Err(CommandError::new(code::USAGE, text).hint(hint.to_owned()));
    if form == FormArg::Hdr && runs.len() > 1 {
        return wrong(
            format!("an interval log holds one run, not {}", words(runs)),
            "its readers would merge equal tags: export the runs one by one",
        );
    }
    if form != FormArg::Hdr && flags.phase.is_some() {
        return wrong(
            "--phase is for --as hdr".into(),
            "CSV and JSON name the phase of each row",
        );
    }
    if form == FormArg::Hdr && flags.intervals {
        return wrong(
            "--intervals is for --as csv and json".into(),
            "an interval log has only intervals",
        );
    }
    if flags.with_warmup && form != FormArg::Hdr && !flags.intervals {
        return wrong(
            "--with-warmup needs --intervals".into(),
            "no result counts the warm-up",
        );
    }
    Ok(())
}

/// Runs as one JSON value; with their intervals where it is said whether those of the warm-up count.
pub(crate) fn as_json(
    history: &History,
    ids: &[RunId],
    intervals: Option<bool>,
) -> Result<Vec<u8>, CommandError> {
    let stored = ids
        .iter()
        .map(|id| history.run(*id))
        .collect::<Result<Vec<_>, _>>()?;
    let mut runs = Vec::new();
    for run in &stored {
        let mut shown = Shown::of(run)?;
        if let Some(with_warmup) = intervals {
            let all = history.intervals(run.summary.id)?;
            let wanted = hdr_log::counted(run, &all, with_warmup);
            shown.intervals = Some(wanted.cloned().collect());
        }
        runs.push(shown);
    }
    let all = Runs {
        format: Format::new("stored-runs", 1),
        runs,
    };
    let mut bytes = serde_json::to_vec_pretty(&Answered::of(&all))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn comma_separated(
    flags: &Export,
    history: &History,
    ids: &[RunId],
) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let columns = if flags.intervals {
        csv::INTERVAL_COLUMNS
    } else {
        csv::RESULT_COLUMNS
    };
    csv::write_heads(&mut bytes, columns)?;
    for id in ids {
        let run = history.run(*id)?;
        if flags.intervals {
            csv::write_intervals(
                &mut bytes,
                &run,
                &history.intervals(*id)?,
                flags.with_warmup,
            )?;
        } else {
            csv::write_result(&mut bytes, &run)?;
        }
    }
    Ok(bytes)
}

fn log(flags: &Export, history: &History, ids: &[RunId], ui: &Ui) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let choice = LogChoice {
        phase: flags.phase.clone(),
        with_warmup: flags.with_warmup,
    };
    for id in ids {
        let run = history.run(*id)?;
        let written = hdr_log::write(&mut bytes, &run, &history.intervals(*id)?, &choice)?;
        if written.lacks_wait {
            ui.caution(&format!(
                "{id} was recorded before the wait of each operation was stored: its log has no -wt"
            ));
        }
    }
    Ok(bytes)
}
