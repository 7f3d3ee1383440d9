//! `helenus report`: a run or a comparison as one HTML file and a Markdown summary.
//! Refuses to write over a file that is no report, unless told to.

use crate::cli::report::Report;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use fs_err as fs;
use helenus_cluster::lifecycle::Hands;
use helenus_model::comparison::Comparison;
use helenus_model::format::Format;
use helenus_model::nearest::nearest;
use helenus_model::telemetry::Reading;
use helenus_record::report::{self as pages, ComparisonReport, RunReport};
use helenus_record::{History, HistoryError, RunFilter, RunId, RunReference};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What `report --format json` prints.
#[derive(Serialize)]
struct Written<'a> {
    format: Format,
    of: &'a str,
    dry_run: bool,
    html: &'a Path,
    html_bytes: usize,
    /// None where the summary went to standard output.
    markdown: Option<&'a Path>,
}

/// Both files of a report, not yet written.
struct Pages {
    name: String,
    html: String,
    markdown: String,
}

pub(crate) fn run(flags: &Report, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let to_output = flags.markdown.as_deref() == Some(Path::new("-"));
    if to_output && ui.json() {
        let text = "--markdown - and --format json both want standard output";
        return Err(CommandError::new(code::USAGE, text)
            .hint("name a file for the summary, or leave --format json out".to_owned()));
    }
    let history = History::open(&hands.paths.state.join("history.db")).map_err(failure)?;
    let pages = read(&history, &flags.target)?;
    let html = flags
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("helenus-{}.html", pages.name)));
    let beside = || html.with_extension("md");
    let markdown = (!to_output).then(|| flags.markdown.clone().unwrap_or_else(beside));
    let files = std::iter::once((&html, &pages.html))
        .chain(markdown.iter().map(|path| (path, &pages.markdown)));
    for (path, _) in files.clone() {
        replaceable(path, flags.force)?;
    }
    if !flags.dry_run {
        for (path, text) in files {
            fs::write(path, text).map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?;
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
    let Some(markdown) = written.markdown else {
        return summary.to_owned();
    };
    let verb = if written.dry_run {
        "would write"
    } else {
        "wrote"
    };
    format!(
        "{verb} {} and {}\n",
        written.html.display(),
        markdown.display()
    )
}

/// Whether a file may be written: there is none, or it is a report.
fn replaceable(path: &Path, force: bool) -> Result<(), CommandError> {
    if force || !path.exists() {
        return Ok(());
    }
    let mut beginning = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(4096).read_to_end(&mut beginning))
        .map_err(|e| CommandError::of(code::USAGE, &e))?;
    if pages::is_report(&String::from_utf8_lossy(&beginning)) {
        return Ok(());
    }
    let text = format!("{} is there, and is no report", path.display());
    Err(CommandError::new(code::USAGE, text)
        .hint("name another file with --out or --markdown, or use --force".to_owned()))
}

fn read(history: &History, target: &str) -> Result<Pages, CommandError> {
    let is_comparison = target
        .strip_prefix("cmp")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if is_comparison {
        return compared(history, target);
    }
    let id = find(history, target)?;
    let run = history.run(id).map_err(failure)?;
    let intervals = history.intervals(id).map_err(failure)?;
    let readings = readings(history, id)?;
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

fn compared(history: &History, name: &str) -> Result<Pages, CommandError> {
    let Some((comparison, made_wall_ns)) = comparison(history, name)? else {
        let text = format!("there is no comparison {name}");
        return Err(CommandError::new(code::USAGE, text)
            .hint("a run is named r12, @last or by its tag".to_owned()));
    };
    let runs: Vec<&str> = [&comparison.a, &comparison.b]
        .into_iter()
        .flat_map(|side| side.runs.iter().map(String::as_str))
        .collect();
    let repeat = [format!("helenus compare {}", runs.join(" "))];
    let report = ComparisonReport {
        name,
        comparison: &comparison,
        made_wall_ns,
        repeat: &repeat,
    };
    Ok(Pages {
        name: name.to_owned(),
        html: pages::comparison_html(&report),
        markdown: pages::comparison_markdown(&report),
    })
}

/// What nodes, host and generator did during a run: the history of this version holds none of it.
fn readings(_history: &History, _run: RunId) -> Result<Vec<Reading>, CommandError> {
    Ok(Vec::new())
}

/// A stored comparison with the moment it was made: the history of this version holds none.
fn comparison(_history: &History, _name: &str) -> Result<Option<(Comparison, u64)>, CommandError> {
    Ok(None)
}

/// The run of that name, or the newest one with that tag.
fn find(history: &History, target: &str) -> Result<RunId, CommandError> {
    if let Ok(reference) = target.parse::<RunReference>() {
        return history.resolve(reference).map_err(failure);
    }
    let newest = RunFilter {
        tag: Some(target.to_owned()),
        limit: Some(1),
        ..RunFilter::default()
    };
    if let Some(found) = history.runs(&newest).map_err(failure)?.first() {
        return Ok(found.id);
    }
    let all = history.runs(&RunFilter::default()).map_err(failure)?;
    let tags: BTreeSet<&str> = all
        .iter()
        .flat_map(|r| r.tags.iter().map(String::as_str))
        .collect();
    let near = nearest(target, tags).map(|tag| format!("; did you mean {tag}?"));
    let text = format!("no run has the name or the tag {target:?}");
    Err(CommandError::new(code::USAGE, text).hint(format!(
        "a run is named r12, @last or by its tag, a comparison cmp3{}",
        near.unwrap_or_default()
    )))
}

fn failure(error: HistoryError) -> CommandError {
    let code = match error {
        HistoryError::UnknownRun { .. } | HistoryError::Empty => code::USAGE,
        _ => code::ENVIRONMENT,
    };
    let hint = error.hint();
    CommandError::of(code, &error).hint(hint)
}
