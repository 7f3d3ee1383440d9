//! What a person sees: results on standard output, progress and errors on standard error, tables that line up.
//! Refuses to speak when nobody listens: quiet when piped, colour only on a terminal.

use crate::cli::{Global, OutputFormat};
use crate::error::{CommandError, code};
use helenus_model::result::tables::Grid;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// A printed value with the outcome of its command.
pub(crate) trait Answers: Serialize {
    /// The outcome in one plain sentence: the first line of the text, where that is a sentence.
    fn answer(&self) -> String;

    /// Several sentences in place of the one, for the format whose `answer` is a list.
    fn answers(&self) -> Option<Vec<String>> {
        None
    }
}

/// A value as programs read it, its answer before it.
#[derive(Serialize)]
pub(crate) struct Answered<'a, T> {
    answer: Sentences,
    #[serde(flatten)]
    value: &'a T,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Sentences {
    One(String),
    Several(Vec<String>),
}

impl<'a, T: Answers> Answered<'a, T> {
    pub(crate) fn of(value: &'a T) -> Self {
        let several = value.answers().map(Sentences::Several);
        Self {
            answer: several.unwrap_or_else(|| Sentences::One(value.answer())),
            value,
        }
    }
}

/// Where a command writes.
#[derive(Debug, Clone)]
pub(crate) struct Ui {
    format: OutputFormat,
    quiet: bool,
    live: bool,
    detail: bool,
    /// The first failure to write to standard output; nothing is written after it.
    failed: Arc<OnceLock<io::Error>>,
    /// Notes and cautions that wait while a screen has the terminal.
    held: Arc<Mutex<Option<Vec<String>>>>,
}

impl Ui {
    pub(crate) fn new(global: &Global) -> Self {
        Self {
            format: global.format,
            quiet: global.quiet,
            live: io::stderr().is_terminal() && !global.quiet,
            detail: false,
            failed: Arc::default(),
            held: Arc::default(),
        }
    }

    /// The same, but without notes and cautions.
    pub(crate) fn hushed(&self) -> Self {
        Self {
            quiet: true,
            live: false,
            ..self.clone()
        }
    }

    /// The same, with all that is known of a result where that is asked for.
    pub(crate) fn detailed(&self, detail: bool) -> Self {
        Self {
            detail,
            ..self.clone()
        }
    }

    /// Whether all that is known of a result is asked for.
    pub(crate) fn detail(&self) -> bool {
        self.detail
    }

    /// Whether programs read the result.
    pub(crate) fn json(&self) -> bool {
        self.format == OutputFormat::Json
    }

    /// A result: text for people, the value with its answer as JSON for programs.
    pub(crate) fn result<T: Answers>(&self, value: &T, text: impl FnOnce() -> String) {
        if self.json() {
            self.json_value(value);
        } else {
            self.out(&text());
        }
    }

    /// A value with its answer as JSON, whatever the format of results is.
    pub(crate) fn json_value<T: Answers>(&self, value: &T) {
        match serde_json::to_string_pretty(&Answered::of(value)) {
            Ok(json) => self.out(&format!("{json}\n")),
            Err(error) => self.keep(error.into()),
        }
    }

    /// Data on standard output. A failure is kept for [`Self::lost`]: the command goes on, and cleans up.
    pub(crate) fn out(&self, text: &str) {
        if !self.listened() {
            return;
        }
        let mut out = anstream::stdout();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written {
            self.keep(error);
        }
    }

    /// Bytes of another program on standard output, as they are. Whether it takes more.
    pub(crate) fn raw(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() && self.listened() {
            match rustix::io::write(rustix::stdio::stdout(), bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => self.keep(error.into()),
            }
        }
        self.listened()
    }

    fn keep(&self, error: io::Error) {
        tracing::warn!(%error, "standard output");
        let _the_first_is_kept = self.failed.set(error);
    }

    /// Whether standard output has taken everything so far; whoever prints without end looks at it.
    pub(crate) fn listened(&self) -> bool {
        self.failed.get().is_none()
    }

    /// Output that could not be written. A reader that went away, as `head` does, has read what it wanted.
    pub(crate) fn lost(&self) -> Option<CommandError> {
        let error = self.failed.get()?;
        (error.kind() != io::ErrorKind::BrokenPipe).then(|| {
            let text = format!("cannot write to standard output: {error}");
            CommandError::new(code::ENVIRONMENT, text).hint(
                "the output is incomplete; a run is in the history (`helenus history show @newest`), \
                 anything else is printed again by the same command"
                    .to_owned(),
            )
        })
    }

    /// Whether a person watches: standard error is a terminal, and not to be quiet.
    pub(crate) fn live(&self) -> bool {
        self.live
    }

    /// Keeps notes and cautions until [`Self::release`], because a screen has the terminal.
    pub(crate) fn hold(&self) {
        self.held_now().get_or_insert_default();
    }

    /// What waits to be printed, without its colours.
    pub(crate) fn held(&self) -> Vec<String> {
        let held = self.held_now();
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        held.iter().flatten().map(plain).collect()
    }

    /// Prints what waited.
    pub(crate) fn release(&self) {
        let waited = self.held_now().take();
        for line in waited.unwrap_or_default() {
            let _reader_gone = writeln!(anstream::stderr(), "{line}");
        }
    }

    /// What waits, also after a thread has panicked with it: every change of it is whole.
    fn held_now(&self) -> MutexGuard<'_, Option<Vec<String>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line on standard error, now or when the screen is gone.
    fn line(&self, text: String) {
        if self.quiet {
            return;
        }
        match self.held_now().as_mut() {
            Some(held) => held.push(text),
            None => {
                let _reader_gone = writeln!(anstream::stderr(), "{text}");
            }
        }
    }

    /// A word on what is going on; nothing when quiet.
    pub(crate) fn note(&self, text: &str) {
        self.line(text.to_owned());
    }

    /// A caution, printed even when piped.
    pub(crate) fn caution(&self, text: &str) {
        let yellow = owo_colors::Style::new().yellow();
        self.line(format!("{} {text}", yellow.style("caution:")));
    }

    /// A failure, always: words for people, a line of JSON for programs.
    pub(crate) fn error(&self, failure: &CommandError) {
        let text = match self.json() {
            true => failure.json(),
            false => failure.render(),
        };
        let _reader_gone = write!(anstream::stderr(), "{text}");
    }

    /// A line that moves while something takes time; invisible without a terminal.
    pub(crate) fn progress(&self, text: &str) -> Progress {
        let bar = if self.live {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(text.to_owned());
        Progress { bar }
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A moving line; gone when dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Other words.
    pub(crate) fn say(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
    }

    /// So much of so much, with the time left.
    pub(crate) fn at(&self, done: u64, total: u64) {
        if self.bar.length() != Some(total) {
            self.bar.set_length(total);
            let style = "{spinner} {msg} [{bar:24}] {pos}/{len} {eta} left";
            if let Ok(style) = ProgressStyle::with_template(style) {
                self.bar.set_style(style.progress_chars("=> "));
            }
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A table whose columns line up; the columns named in `right` are set to the right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl Table {
    /// A table with these heads; a head that begins with `>` is set to the right.
    pub(crate) fn new(heads: &[&str]) -> Self {
        let right = heads
            .iter()
            .enumerate()
            .filter(|(_, h)| h.starts_with('>'))
            .map(|(i, _)| i)
            .collect();
        let heads = heads
            .iter()
            .map(|h| h.trim_start_matches('>').to_owned())
            .collect();
        Self {
            rows: vec![heads],
            right,
        }
    }

    /// Columns that have something, with the table's name as the first head. What a row has in common with the one above,
    /// from the left, is not repeated. None where there is no row.
    pub(crate) fn of(grid: &Grid) -> Option<Self> {
        let shown = grid.shown();
        let mut heads: Vec<&str> = shown.iter().map(|place| grid.heads[*place]).collect();
        if let Some(first) = heads.first_mut()
            && !grid.name.is_empty()
        {
            *first = grid.name;
        }
        let mut table = Self::new(&heads);
        let mut above: Option<&Vec<String>> = None;
        for row in &grid.rows {
            let mut same = above.is_some();
            let cells = shown.iter().map(|place| {
                same = same && above.is_some_and(|above| above[*place] == row[*place]);
                if same { "" } else { row[*place].as_str() }
            });
            table.row(cells.collect::<Vec<_>>());
            above = Some(row);
        }
        above.map(|_| table)
    }

    /// One more row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as text, ending in a line break.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |c: usize| {
            self.rows
                .iter()
                .filter_map(|r| r.get(c))
                .map(|s| s.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[column] - cell.chars().count());
                let gap = if column == 0 { "" } else { "  " };
                if self.right.contains(&column) {
                    let _infallible = write!(line, "{gap}{pad}{cell}");
                } else {
                    let _infallible = write!(line, "{gap}{cell}{pad}");
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_waits_for_the_screen_has_no_colours() {
        let ui = super::Ui::new(&crate::cli::Global::default());
        ui.hold();
        ui.caution("it is slow");
        ui.note("it is there");
        assert_eq!(ui.held(), ["caution: it is slow", "it is there"]);
        ui.release();
        assert_eq!(ui.held(), Vec::<String>::new());
    }

    use super::Table;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", ">op/s"]);
        table.row(["write", "2,000"]);
        table.row(["r", "12"]);
        insta::assert_snapshot!(table.render(), @r"
        name    op/s
        write  2,000
        r         12
        ");
    }
}
