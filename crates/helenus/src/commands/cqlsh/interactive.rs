//! The session of a person at a terminal: lines with history and completion, Ctrl-C for what runs, Ctrl-D to leave.
//! Refuses to remember a statement with a password.

use super::shell::{Flow, Shell};
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::cancel::Cancel;
use helenus_cql::complete::{Names, complete};
use helenus_cql::split_script;
use helenus_model::cql::identifier;
use helenus_model::secret::without_secrets;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;

/// Statements that are remembered.
const REMEMBERED: usize = 1_000;

/// Ends bracketed paste, which the editor switches on.
const PLAIN_PASTE: &str = "\x1b[?2004l\r\n";

/// What the editor asks while a statement is typed.
#[derive(Default)]
struct Assistant {
    names: Names,
    used: Option<String>,
    files: FilenameCompleter,
    cancel: Cancel,
}

impl Helper for Assistant {}
impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}

impl Validator for Assistant {
    fn validate(&self, line: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match split_script(line.input()).open {
            true => ValidationResult::Incomplete,
            false => {
                // Ctrl-C is a key still: one that comes as a signal from here on is meant for this statement.
                self.cancel.withdraw();
                ValidationResult::Valid(None)
            }
        })
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let first = line.split_whitespace().next().unwrap_or_default();
        if first.eq_ignore_ascii_case("SOURCE") && at > first.len() {
            return self.files.complete_path(line, at);
        }
        let (start, found) = complete(line, at, &self.names, self.used.as_deref());
        let pair = |word: String| Pair {
            display: word.trim_end().to_owned(),
            replacement: word,
        };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

/// The editor with what earlier sessions remembered.
struct Line {
    editor: Editor<Assistant, FileHistory>,
    history: PathBuf,
}

impl Line {
    fn open(history: PathBuf, cancel: Cancel) -> rustyline::Result<Self> {
        let config = Config::builder()
            .max_history_size(REMEMBERED)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let history_of = FileHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history_of)?;
        editor.set_helper(Some(Assistant {
            cancel,
            ..Assistant::default()
        }));
        // The first session has none; an unreadable one is written anew by nobody, and no reason not to work.
        let _none_yet = editor.load_history(&history);
        Ok(Self { editor, history })
    }

    /// Keeps a statement for the arrow keys and the sessions to come.
    fn remember(&mut self, text: &str) {
        if without_secrets(text) != text {
            return;
        }
        if self.editor.add_history_entry(text).unwrap_or(false)
            && let Err(error) = self.editor.append_history(&self.history)
        {
            tracing::warn!(%error, "the shell's history");
        }
    }
}

/// Reads and runs statements until the person leaves.
pub(super) fn run(shell: &mut Shell<'_>, node: Option<&str>) -> Result<u8, CommandError> {
    let failed = |error: ReadlineError| CommandError::of(code::ENVIRONMENT, &error);
    shell.typed = true;
    let cluster = shell.session.state().plan.name.clone();
    let place = match node {
        Some(node) => format!("{cluster}/{node}"),
        None => cluster,
    };
    let history = shell.context.paths.state.join("cqlsh_history");
    let mut line = Line::open(history, shell.context.cancel.clone()).map_err(failed)?;
    end_on_signal();
    greet(shell);
    loop {
        prepare(shell, &mut line);
        let used = shell.session.keyspace().map(identifier);
        let used = used.map(|name| format!(":{name}")).unwrap_or_default();
        match line.editor.readline(&format!("{place}{used}> ")) {
            Ok(text) => {
                line.remember(&text);
                match shell.script(&text, "") {
                    Ok(Flow::Leave) => return Ok(0),
                    Ok(Flow::On) => {}
                    Err(failure) => shell.ui.error(&failure),
                }
                shell.context.cancel.withdraw();
            }
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {}
            Err(ReadlineError::Eof) => return Ok(0),
            Err(error) => return Err(failed(error)),
        }
        if !shell.ui.listened() {
            return Ok(0);
        }
    }
}

fn greet(shell: &mut Shell<'_>) {
    let node = shell.session.node();
    let place = format!("Connected to {} at {}", node.name, node.address);
    // The node answered a moment ago; if it no longer does, the first statement says so.
    let versions = shell.versions().unwrap_or_default();
    let text =
        format!("{place}: {versions}.\nHELP lists the commands, Tab completes, Ctrl-D leaves.\n");
    shell.ui.out(&text);
}

/// Passes to the editor what the cluster has now.
fn prepare(shell: &mut Shell<'_>, line: &mut Line) {
    let Some(helper) = line.editor.helper_mut() else {
        return;
    };
    helper.used = shell.session.keyspace().map(str::to_owned);
    if std::mem::take(&mut shell.schema_changed)
        && let Ok(names) = shell.session.names()
    {
        // Without names there are keywords to complete.
        helper.names = names;
    }
}

/// A signal that asks the program to end finds it waiting for a key: the terminal is put back, and it ends.
fn end_on_signal() {
    let before = tcgetattr(rustix::stdio::stdin()).ok();
    let Ok(mut signals) = Signals::new([SIGTERM, SIGHUP]) else {
        return;
    };
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            end(before.as_ref());
        }
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "the editor waits for a key and looks at no flag: nothing else ends it"
)]
fn end(before: Option<&Termios>) {
    if let Some(before) = before {
        let _terminal_gone = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
        let _terminal_gone = rustix::io::write(rustix::stdio::stdout(), PLAIN_PASTE.as_bytes());
    }
    std::process::exit(i32::from(code::INTERRUPTED));
}

/// Asks whether another page is wanted: any key but `q`, Esc, Ctrl-C and Ctrl-D.
pub(super) fn more(ui: &Ui) -> bool {
    const ASKED: &str = "---MORE--- (q ends)";
    ui.out(ASKED);
    let key = key();
    ui.out(&format!("\r{}\r", " ".repeat(ASKED.len())));
    !matches!(key, None | Some(b'q' | b'Q' | 0x03 | 0x04 | 0x1b))
}

/// One key, without Enter.
fn key() -> Option<u8> {
    let terminal = rustix::stdio::stdin();
    let before = tcgetattr(terminal).ok()?;
    let mut raw = before.clone();
    raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    tcsetattr(terminal, OptionalActions::Now, &raw).ok()?;
    let mut byte = [0];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(terminal, &mut byte));
    let _terminal_gone = tcsetattr(terminal, OptionalActions::Now, &before);
    (read == Ok(1)).then_some(byte[0])
}
