//! `helenus report`: a run or a comparison as one HTML file and a Markdown summary.
//! Refuses to write over a file that is no report, unless a flag asks for it.

use crate::cli::report::Report;
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cql::input;
use helenus_model::format::Format;
use helenus_record::report::{self as pages, ComparisonReport, RunReport};
use helenus_record::{ComparisonId, History};
use serde::Serialize;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What `report --format json` prints.
#[derive(Serialize)]
struct Written<'a> {
    format: Format,
    /// The run or the comparison.
    of: &'a str,
    /// Whether nothing was done.
    dry_run: bool,
    /// The page.
    html: &'a Path,
    /// Size of the page.
    html_bytes: usize,
    /// None where the summary went to standard output.
    markdown: Option<&'a Path>,
}

impl Answers for Written<'_> {
    fn answer(&self) -> String {
        let verb = match self.dry_run {
            true => "would write",
            false => "wrote",
        };
        let html = self.html.display();
        match self.markdown {
            Some(markdown) => format!("{verb} {html} and {}", markdown.display()),
            None => format!("{verb} {html}"),
        }
    }
}

/// Both files of a report, not yet written.
pub(crate) struct Pages {
    name: String,
    pub(crate) html: String,
    markdown: String,
}

pub(crate) fn run(flags: &Report, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let to_output = flags.markdown.as_deref().is_some_and(outfile::is_output);
    if to_output && ui.json() {
        let text = "--markdown - and --format json both need standard output";
        return Err(CommandError::new(code::USAGE, text)
            .hint("name a file for the summary, or leave --format json out".to_owned()));
    }
    let history = History::open(&context.paths.state.join(helenus_record::FILE))?;
    let pages = read(&history, &flags.target)?;
    let html = flags
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("helenus-{}.html", pages.name)));
    let beside = || html.with_extension("md");
    let markdown = (!to_output).then(|| flags.markdown.clone().unwrap_or_else(beside));
    if markdown.as_ref() == Some(&html) && outfile::standing(&html)? != Standing::Stream {
        let text = format!("{} cannot hold both page and summary", html.display());
        return Err(CommandError::new(code::USAGE, text).hint(
            "name the page with --html FILE.html, or the summary with --markdown".to_owned(),
        ));
    }
    let files = std::iter::once((&html, &pages.html))
        .chain(markdown.iter().map(|path| (path, &pages.markdown)));
    for (path, _) in files.clone() {
        replaceable(
            path,
            flags.force,
            "name another file with --html or --markdown, or use --force",
        )?;
    }
    if !flags.dry_run {
        for (path, text) in files {
            outfile::write(path, text.as_bytes())?;
        }
    }
    let written = Written {
        format: Format::new("report-written", 1),
        of: &pages.name,
        dry_run: flags.dry_run,
        html: &html,
        html_bytes: pages.html.len(),
        markdown: markdown.as_deref(),
    };
    ui.result(&written, || said(&written, &pages.markdown));
    Ok(0)
}

fn said(written: &Written<'_>, summary: &str) -> String {
    match written.markdown {
        Some(_) => written.answer() + "\n",
        None => summary.to_owned(),
    }
}

/// Whether a file may be written: there is none, or it is a report or no regular file; `cure` helps where it may not.
pub(crate) fn replaceable(path: &Path, force: bool, cure: &str) -> Result<(), CommandError> {
    if outfile::standing(path)? != Standing::File || force {
        return Ok(());
    }
    let mut beginning = Vec::new();
    let read = input::open(path)?.take(4096).read_to_end(&mut beginning);
    read.map_err(|e| CommandError::of(code::USAGE, &e))?;
    if pages::is_report(&String::from_utf8_lossy(&beginning)) {
        return Ok(());
    }
    let text = format!("{} already exists, and is not a report", path.display());
    Err(CommandError::new(code::USAGE, text).hint(cure.to_owned()))
}

pub(crate) fn read(history: &History, target: &str) -> Result<Pages, CommandError> {
    if let Some(id) = ComparisonId::named(target) {
        return compared(history, id);
    }
    let id = history
        .resolve_any(target)?
        .last()
        .ok_or_else(|| nothing(target))?
        .id;
    let run = history.run(id)?;
    let intervals = history.intervals(id)?;
    let readings = history.readings(id)?;
    let report = RunReport {
        run: &run,
        intervals: &intervals,
        readings: &readings,
    };
    Ok(Pages {
        name: id.to_string(),
        html: pages::run_html(&report),
        markdown: pages::run_markdown(&report),
    })
}

fn compared(history: &History, id: ComparisonId) -> Result<Pages, CommandError> {
    let stored = history.comparison(id)?;
    let comparison = &stored.comparison;
    let sides = [&comparison.a, &comparison.b].map(|side| side.runs.join(","));
    let mut repeat: Vec<String> = comparison.command.clone().into_iter().collect();
    repeat.push(format!("helenus compare {} {}", sides[0], sides[1]));
    repeat.dedup();
    let name = id.to_string();
    let report = ComparisonReport {
        name: &name,
        comparison,
        made_wall_ns: stored.made_wall_ns,
        repeat: &repeat,
    };
    Ok(Pages {
        html: pages::comparison_html(&report),
        markdown: pages::comparison_markdown(&report),
        name,
    })
}

fn nothing(target: &str) -> CommandError {
    CommandError::new(code::USAGE, format!("no such run or tag: {target:?}"))
}
