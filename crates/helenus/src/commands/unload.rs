//! `helenus unload`: every row of a table into files, each of which has its name once it is whole.
//! Refuses to replace a file that it was not allowed to.

use crate::cli::ingest::Unload;
use crate::commands::count::{gentleness, place, show_progress};
use crate::commands::load::{FORMATS, by_name, no_format};
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing, standing};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::scan::{ScanEvent, ScanTable, look};
use helenus_lab::ingest::{Packer, Packing};
use helenus_lab::unload::{UnloadError, UnloadForm, UnloadRequest, Unloaded, stream, unload};
use helenus_model::ingest::delimited::Dialect;
use helenus_model::ingest::{Part, Split, Writing};
use helenus_model::nearest::nearest;
use helenus_model::units::{Bytes, human_duration, thousands};
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn run(flags: &Unload, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    // Whoever names standard output means it: what is said of the rows does not go among them.
    let out = flags
        .out
        .as_deref()
        .filter(|path| !outfile::is_output(path));
    if out.is_none() && ui.json() {
        let text = "the rows go to standard output, and so would the JSON";
        return Err(CommandError::new(code::USAGE, text)
            .hint("name a file with -o, or leave --format json out".to_owned()));
    }
    let format = match (&flags.file_format, &flags.out) {
        (Some(name), _) => name.as_str(),
        (None, Some(file)) => by_name(file),
        (None, None) => "csv",
    };
    if !FORMATS.contains(&format) {
        return Err(no_format(
            format,
            FORMATS.into_iter(),
            "csv, tsv, jsonl and parquet",
        ));
    }
    let output = PathBuf::from("/dev/stdout");
    let path = out.unwrap_or(&output);
    let streamed = match standing(path)? {
        Standing::Nothing | Standing::File => None,
        Standing::Stream | Standing::Output => Some(outfile::open(path)?),
    };
    let split = split(flags)?;
    let packing = flags
        .out
        .as_deref()
        .and_then(|file| Packing::by_name(file).0);
    if format == "parquet" && (streamed.is_some() || packing.is_some()) {
        let text = "Parquet is written to a regular file, and compressed inside already";
        return Err(CommandError::new(code::USAGE, text)
            .hint("name it with -o, without .gz, .zst or .lz4 at its end".to_owned()));
    }
    if streamed.is_some() && split.0 != Split::Whole {
        let text = format!("{} cannot be split", path.display());
        return Err(
            CommandError::new(code::USAGE, text).hint("name a regular file with -o".to_owned())
        );
    }
    let place = place(&flags.place, context)?;
    let table = look(&place, &flags.table)?;
    let columns = columns(flags, &table)?;
    let delimited = |dialect: Dialect, word: &str| {
        let word = flags.null.as_deref().unwrap_or(word);
        if !dialect.can_write_null_as(word) {
            let text = format!("null cannot be written as {word:?} in {format}");
            return Err(CommandError::new(code::USAGE, text).hint(
                "a text could look the same: use another word, or csv, which quotes texts"
                    .to_owned(),
            ));
        }
        Ok(Writing::Delimited(dialect, word.to_owned()))
    };
    let writing = match format {
        "jsonl" => Writing::JsonLines(columns.clone()),
        "tsv" => delimited(Dialect::TSV, "\\N")?,
        _ => delimited(Dialect::CSV, "")?,
    };
    let progress = ui.progress(&format!("unloading {}", table.name()));
    let mut events = |event: ScanEvent| {
        if let ScanEvent::Progress(at) = event {
            show_progress(&progress, &at);
        }
    };
    let from = (&place, &table);
    let unloaded = match streamed {
        Some(to) => {
            let what = (&columns[..], &writing);
            let read = gentleness(&flags.read);
            let packer = Packer::new(BufWriter::new(to), packing);
            let mut to = packer?;
            let ended = stream(from, what, read, &mut to, &context.cancel, &mut events);
            ended.and_then(|ended| match to.finish() {
                Ok(()) => ended.ok_or(UnloadError::Interrupted { rows: 0 }),
                Err(source) => Err(UnloadError::Unwritten {
                    path: path.display().to_string(),
                    source,
                }),
            })
        }
        None => {
            let request = UnloadRequest {
                columns,
                form: match format {
                    "parquet" => UnloadForm::Parquet,
                    _ => UnloadForm::Text(writing, packing),
                },
                path: path.to_owned(),
                split: split.0,
                part: split.1,
                force: flags.force,
                restart: flags.restart,
                gentleness: gentleness(&flags.read),
            };
            unload(from, &request, &context.cancel, &mut events)
        }
    };
    drop(progress);
    let unloaded = match unloaded {
        Ok(unloaded) => unloaded,
        // Whoever read it has read what it wanted, as `head` does.
        Err(error) if out.is_none() && nobody_reads(&error) => return Ok(0),
        Err(error) => return Err(failure(error, out.is_some())),
    };
    match out {
        Some(_) => ui.result(&unloaded, || format!("{}\n", unloaded.answer())),
        None => ui.note(&unloaded.answer()),
    }
    Ok(0)
}

/// Into how many files, and which of them.
fn split(flags: &Unload) -> Result<(Split, Option<Part>), CommandError> {
    match (flags.split.unwrap_or_default(), flags.part) {
        (split, None) => Ok((split, None)),
        (Split::Whole, Some(part)) => Ok((Split::Files(part.of), Some(part))),
        (Split::Files(files), Some(part)) if files == part.of => {
            Ok((Split::Files(files), Some(part)))
        }
        (_, Some(part)) => {
            let text = format!(
                "--part {part} writes one of {} files, and --split says otherwise",
                part.of
            );
            Err(CommandError::new(code::USAGE, text).hint("leave --split out".to_owned()))
        }
    }
}

fn failure(error: UnloadError, resumable: bool) -> CommandError {
    let hint = error.hint().filter(|_| resumable);
    let code = match error {
        UnloadError::Cluster(error) => return error.into(),
        UnloadError::There { .. } | UnloadError::Changed(_) => code::USAGE,
        UnloadError::Unwritten { .. } => code::ENVIRONMENT,
        UnloadError::Busy => code::CLUSTER,
        UnloadError::Interrupted { .. } => code::INTERRUPTED,
    };
    let said = match (&error, resumable) {
        (UnloadError::Interrupted { .. }, false) => {
            CommandError::new(code, "interrupted: the table was not unloaded")
        }
        _ => CommandError::of(code, &error),
    };
    said.hint(hint)
}

fn nobody_reads(error: &UnloadError) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return error.kind() == ErrorKind::BrokenPipe;
        }
        cause = error.source();
    }
    false
}

/// The columns that are asked for.
fn columns(flags: &Unload, table: &ScanTable) -> Result<Vec<String>, CommandError> {
    if flags.columns.is_empty() {
        return Ok(table.columns.clone());
    }
    for name in &flags.columns {
        if !table.columns.contains(name) {
            let known = table.columns.iter().map(String::as_str);
            let near = nearest(name, known).map(|near| format!("did you mean {near}?"));
            let text = format!("{} has no column {name}", table.name());
            let all = format!("its columns: {}", table.columns.join(", "));
            return Err(CommandError::new(code::USAGE, text).hint(near.unwrap_or(all)));
        }
    }
    Ok(flags.columns.clone())
}

/// The name of a path, without its folder.
fn bare(path: &Path) -> std::path::Display<'_> {
    Path::new(path.file_name().unwrap_or(path.as_os_str())).display()
}

impl Answers for Unloaded {
    fn answer(&self) -> String {
        let took = human_duration(Duration::from_secs_f64(self.seconds));
        let to = match (&self.file, &self.files[..]) {
            (Some(file), _) => format!(" to {}", file.display()),
            (None, []) => String::new(),
            (None, [one]) => format!(" to {}", one.display()),
            (None, [first, .., last]) => {
                let files = self.files.len();
                format!(" to {files} files, {} to {}", first.display(), bare(last))
            }
        };
        let before = match self.resumed_rows {
            0 => String::new(),
            rows => format!(", {} of them before it was resumed", thousands(rows)),
        };
        format!(
            "{} rows of {} written{to}{before}, {} in {took}; checksum {}",
            thousands(self.rows),
            self.table,
            Bytes(self.bytes),
            self.checksum
        )
    }
}
