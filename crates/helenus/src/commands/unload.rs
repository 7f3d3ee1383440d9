//! `helenus unload`: every row of a table into a file, which is there once it is whole.
//! Refuses to replace a file that it was not allowed to.

use crate::cli::ingest::Unload;
use crate::commands::count::{gentleness, place, tell};
use crate::commands::load::{FORMATS, by_name, no_format};
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing, standing};
use crate::ui::{Answers, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::scan::unload::{Unloaded, unload};
use helenus_cluster::scan::{ScanError, ScanEvent, ScanTable, look};
use helenus_model::ingest::Writing;
use helenus_model::ingest::delimited::Dialect;
use helenus_model::nearest::nearest;
use helenus_model::units::{Bytes, human_duration, thousands};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn run(flags: &Unload, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.out.is_none() && ui.json() {
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
        return Err(no_format(format, FORMATS.into_iter(), "csv, tsv and jsonl"));
    }
    let output = PathBuf::from("/dev/stdout");
    let target = Target::of(flags.out.as_ref().unwrap_or(&output), flags.force)?;
    let place = place(&flags.place, context)?;
    let table = look(&place, &flags.table)?;
    let columns = columns(flags, &table)?;
    let null = |word: &str| flags.null.clone().unwrap_or_else(|| word.to_owned());
    let writing = match format {
        "jsonl" => Writing::JsonLines(columns.clone()),
        "tsv" => Writing::Delimited(Dialect::TSV, null("\\N")),
        _ => Writing::Delimited(Dialect::CSV, null("")),
    };
    let progress = ui.progress(&format!("unloading {}", table.name()));
    let mut out = BufWriter::new(target.open()?);
    let unloaded = unload(
        &place,
        &table,
        (&columns, &writing),
        gentleness(&flags.read),
        &mut out,
        &context.cancel,
        &mut |event| {
            if let ScanEvent::Progress(at) = event {
                tell(&progress, &at);
            }
        },
    );
    let unloaded = unloaded.and_then(|unloaded| {
        let flushed = out.flush();
        flushed.map_err(|source| ClusterError::from(ScanError::Unwritten { source }))?;
        Ok(unloaded)
    });
    drop(progress);
    let unloaded = match unloaded {
        Ok(unloaded) => unloaded,
        // Whoever read it has read what it wanted, as `head` does.
        Err(error) if flags.out.is_none() && nobody_reads(&error) => return Ok(0),
        Err(error) => {
            target.discard();
            return Err(error.into());
        }
    };
    let Some(unloaded) = unloaded else {
        target.discard();
        let text = "interrupted: the table was not unloaded";
        return Err(CommandError::new(code::INTERRUPTED, text));
    };
    target.keep()?;
    let unloaded = Unloaded {
        file: flags.out.clone(),
        ..unloaded
    };
    match &flags.out {
        Some(_) => ui.result(&unloaded, || format!("{}\n", unloaded.answer())),
        None => ui.note(&unloaded.answer()),
    }
    Ok(0)
}

fn nobody_reads(error: &ClusterError) -> bool {
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

/// Where the rows go: a stream, or a file under another name until it is whole.
struct Target<'a> {
    path: &'a Path,
    part: Option<PathBuf>,
}

impl<'a> Target<'a> {
    fn of(path: &'a Path, force: bool) -> Result<Self, CommandError> {
        let there = standing(path)?;
        if there == Standing::File && !force {
            let text = format!("{} already exists", path.display());
            return Err(CommandError::new(code::USAGE, text)
                .hint("--force replaces it, or name another file".to_owned()));
        }
        let part = matches!(there, Standing::Nothing | Standing::File).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".part");
            PathBuf::from(name)
        });
        Ok(Self { path, part })
    }

    fn open(&self) -> Result<fs::File, CommandError> {
        outfile::open(self.part.as_deref().unwrap_or(self.path))
    }

    /// It is whole.
    fn keep(&self) -> Result<(), CommandError> {
        match &self.part {
            None => Ok(()),
            Some(part) => fs::rename(part, self.path)
                .map_err(|error| CommandError::of(code::ENVIRONMENT, &error)),
        }
    }

    fn discard(&self) {
        if let Some(part) = &self.part {
            let _not_there = fs::remove_file(part);
        }
    }
}

impl Answers for Unloaded {
    fn answer(&self) -> String {
        let took = human_duration(Duration::from_secs_f64(self.seconds));
        let to = match &self.file {
            Some(file) => format!(" to {}", file.display()),
            None => String::new(),
        };
        format!(
            "{} rows of {} written{to}, {} in {took}; checksum {}",
            thousands(self.rows),
            self.table,
            Bytes(self.bytes),
            self.checksum
        )
    }
}
