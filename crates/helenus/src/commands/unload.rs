//! `helenus unload`: every row of a table into a file, which is there once it is whole.
//! Refuses to replace a file that it was not allowed to.

use crate::cli::ingest::Unload;
use crate::commands::count::{gentleness, place, tell};
use crate::commands::load::{FORMATS, by_name, no_format};
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing, standing};
use crate::ui::{Answers, Ui};
use fs_err as fs;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::scan::unload::{Gathering, Unloaded, types, unload};
use helenus_cluster::scan::{Gentleness, ScanError, ScanEvent, ScanPlace, ScanTable, look};
use helenus_lab::ingest::{Packer, Packing, ParquetWriter, RowShape};
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
        return Err(no_format(
            format,
            FORMATS.into_iter(),
            "csv, tsv, jsonl and parquet",
        ));
    }
    let output = PathBuf::from("/dev/stdout");
    let target = Target::of(flags.out.as_ref().unwrap_or(&output), flags.force)?;
    let place = place(&flags.place, context)?;
    let table = look(&place, &flags.table)?;
    let columns = columns(flags, &table)?;
    let packing = flags
        .out
        .as_deref()
        .and_then(|file| Packing::by_name(file).0);
    if format == "parquet" && (target.part.is_none() || packing.is_some()) {
        let text = "Parquet is written to a regular file, and compressed inside already";
        return Err(CommandError::new(code::USAGE, text)
            .hint("name it with -o, without .gz, .zst or .lz4 at its end".to_owned()));
    }
    let progress = ui.progress(&format!("unloading {}", table.name()));
    let task = Task {
        place: &place,
        table: &table,
        columns: &columns,
        gentleness: gentleness(&flags.read),
        cancel: &context.cancel,
    };
    let mut events = |event: ScanEvent| {
        if let ScanEvent::Progress(at) = event {
            tell(&progress, &at);
        }
    };
    let unloaded = match format {
        "parquet" => task.parquet(target.open()?, &mut events),
        _ => {
            let null = |word: &str| flags.null.clone().unwrap_or_else(|| word.to_owned());
            let writing = match format {
                "jsonl" => Writing::JsonLines(columns.clone()),
                "tsv" => Writing::Delimited(Dialect::TSV, null("\\N")),
                _ => Writing::Delimited(Dialect::CSV, null("")),
            };
            task.text(target.open()?, packing, &writing, &mut events)
        }
    };
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
    let bytes = target.keep()?.unwrap_or(unloaded.bytes);
    let unloaded = Unloaded {
        file: flags.out.clone(),
        bytes,
        ..unloaded
    };
    match &flags.out {
        Some(_) => ui.result(&unloaded, || format!("{}\n", unloaded.answer())),
        None => ui.note(&unloaded.answer()),
    }
    Ok(0)
}

/// What is unloaded.
struct Task<'a> {
    place: &'a ScanPlace,
    table: &'a ScanTable,
    columns: &'a [String],
    gentleness: Gentleness,
    cancel: &'a Cancel,
}

/// Its end, or none where it was interrupted.
type Ended = Result<Option<Unloaded>, ClusterError>;

fn unwritten(source: std::io::Error) -> ClusterError {
    ScanError::Unwritten { source }.into()
}

impl Task<'_> {
    fn run<G: Gathering>(
        &self,
        gathering: &G,
        sink: &mut (dyn FnMut(G::Rows) -> std::io::Result<()> + Send),
        events: &mut dyn FnMut(ScanEvent),
    ) -> Ended {
        let what = (self.columns, gathering);
        let (gentle, cancel) = (self.gentleness, self.cancel);
        unload(self.place, self.table, what, gentle, sink, cancel, events)
    }

    fn text(
        &self,
        to: fs::File,
        packing: Option<Packing>,
        writing: &Writing,
        events: &mut dyn FnMut(ScanEvent),
    ) -> Ended {
        let mut out = Packer::new(BufWriter::new(to), packing).map_err(unwritten)?;
        let mut head = Vec::new();
        writing.put_header(self.columns, &mut head);
        out.write_all(&head).map_err(unwritten)?;
        let mut bytes = head.len() as u64;
        let mut sink = |rows: Vec<u8>| {
            bytes += rows.len() as u64;
            out.write_all(&rows)
        };
        let unloaded = self.run(writing, &mut sink, events)?;
        out.finish().map_err(unwritten)?;
        Ok(unloaded.map(|unloaded| Unloaded { bytes, ..unloaded }))
    }

    fn parquet(&self, to: fs::File, events: &mut dyn FnMut(ScanEvent)) -> Ended {
        let types = types(self.place, self.table, self.columns)?;
        let shape = RowShape::new(&types).map_err(unwritten)?;
        let mut writer = ParquetWriter::new(&shape, to).map_err(unwritten)?;
        let unloaded = self.run(&shape, &mut |rows| writer.add(rows), events)?;
        writer.finish().map_err(unwritten)?;
        Ok(unloaded)
    }
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

    /// It is whole; the bytes of the file, where it is one.
    fn keep(&self) -> Result<Option<u64>, CommandError> {
        let Some(part) = &self.part else {
            return Ok(None);
        };
        let bytes = fs::metadata(part).map(|about| about.len());
        let kept = bytes.and_then(|bytes| fs::rename(part, self.path).map(|()| bytes));
        kept.map(Some)
            .map_err(|error| CommandError::of(code::ENVIRONMENT, &error))
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
