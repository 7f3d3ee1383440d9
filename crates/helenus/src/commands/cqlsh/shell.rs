//! One statement after the other: CQL goes to the node, commands change the shell, answers are printed.
//! Refuses to know where statements come from: a file, a pipe, a flag or a terminal.

use super::{counting, interactive, read};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::shell::{Session, SessionError, changes_schema};
use helenus_cql::commands::{Command, command, help_text};
use helenus_cql::describe::{describe_text, is_describe};
use helenus_cql::table::{count_line, draw_rows};
use helenus_cql::{ClientError, Layout, Rows, Statement, split_script};
use helenus_model::cql::{CqlValue, uuid_text};
use helenus_model::format::Format;
use helenus_model::units::plural;
use serde::Serialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

/// Files that SOURCE each other, at most.
const DEEPEST: usize = 10;

#[derive(Serialize)]
struct ScriptResults {
    format: Format,
    /// What came of each statement, in order.
    results: Vec<Answer>,
}

impl Answers for ScriptResults {
    fn answer(&self) -> String {
        let rows = self.results.iter().map(|one| one.rows.len()).sum();
        let statements = plural(self.results.len(), "statement");
        format!("{statements} ran, {} returned", plural(rows, "row"))
    }
}

type JsonRow = BTreeMap<String, Option<CqlValue>>;

/// What a statement or a command answered, for programs.
#[derive(Debug, Default, Serialize)]
struct Answer {
    /// Its text.
    statement: String,
    /// Names of the columns.
    columns: Vec<String>,
    /// Each value as JSON of its CQL type and value.
    rows: Vec<JsonRow>,
    /// What a command of the shell said.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Traces, where tracing is on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    traces: Vec<Trace>,
}

#[derive(Debug, Serialize)]
struct Trace {
    /// Its id.
    id: String,
    /// Its events.
    rows: Vec<JsonRow>,
}

/// Whether to go on after a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Leave,
}

/// A session, and where its answers go.
pub(super) struct Shell<'a> {
    pub(super) session: Session,
    pub(super) context: &'a Context,
    pub(super) ui: &'a Ui,
    /// A person looks: rows come page by page, and an error has no line.
    pub(super) typed: bool,
    /// What the cluster has may have changed.
    pub(super) schema_changed: bool,
    answers: Vec<Answer>,
    depth: usize,
}

/// Whether standard output is a terminal.
pub(super) fn is_seen() -> bool {
    rustix::termios::isatty(rustix::stdio::stdout())
}

/// Columns of the terminal on standard output; none where that is something else.
fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

fn json_rows(rows: &Rows) -> Vec<JsonRow> {
    let names = || rows.columns.iter().map(|column| column.name.clone());
    let row = |row: &Vec<_>| names().zip(row.iter().cloned()).collect();
    rows.rows.iter().map(row).collect()
}

impl<'a> Shell<'a> {
    pub(super) fn new(session: Session, context: &'a Context, ui: &'a Ui) -> Self {
        Self {
            session,
            context,
            ui,
            typed: false,
            schema_changed: true,
            answers: Vec::new(),
            depth: 0,
        }
    }

    /// Runs every statement of a text until one fails; `file` is where it comes from, empty for none.
    pub(super) fn script(&mut self, text: &str, file: &str) -> Result<Flow, CommandError> {
        for statement in split_script(text).statements {
            if self.context.cancel.is_set() {
                let text = "interrupted before the next statement";
                return Err(CommandError::new(code::INTERRUPTED, text));
            }
            if self.obey(&statement, file)? == Flow::Leave {
                return Ok(Flow::Leave);
            }
        }
        Ok(Flow::On)
    }

    /// Prints what is printed only at the end: all answers as JSON.
    pub(super) fn end(self) {
        if self.ui.json() {
            let results = ScriptResults {
                format: Format::new("cql", 1),
                results: self.answers,
            };
            self.ui.json_value(&results);
        }
    }

    fn obey(&mut self, statement: &Statement, file: &str) -> Result<Flow, CommandError> {
        if self.ui.json() {
            self.answers.push(Answer {
                statement: statement.text.clone(),
                ..Answer::default()
            });
        }
        let wrong = |shell: &Self, error: &(dyn Error + 'static), hint: Option<String>| {
            shell.refused(statement, file, error, hint)
        };
        match command(&statement.text) {
            Some(Ok(Command::Exit)) => return Ok(Flow::Leave),
            Some(Ok(Command::Source(path))) => return self.source(&path, file),
            Some(Ok(known)) => self
                .command(&known)
                .map_err(|error| wrong(self, &error, error.hint()))?,
            Some(Err(error)) => return Err(wrong(self, &error, error.hint())),
            None => {
                self.schema_changed |= changes_schema(&statement.text);
                let answered = self.cql(&statement.text);
                let traced = self.traces();
                for warning in self.session.take_warnings() {
                    self.ui.caution(&warning);
                }
                if let Err(error) = answered.and(traced) {
                    let (used, state) = (self.session.keyspace(), self.session.state());
                    let counts = counting::cure(&statement.text, used, &state.plan.name, &error);
                    return Err(wrong(self, &error, counts.or_else(|| error.hint())));
                }
            }
        }
        Ok(Flow::On)
    }

    /// A failure, with its place where the person does not see it anyway.
    fn refused(
        &self,
        statement: &Statement,
        file: &str,
        error: &(dyn Error + 'static),
        hint: Option<String>,
    ) -> CommandError {
        if let Some(SessionError::Client(ClientError::Cancelled { .. })) = error.downcast_ref() {
            return CommandError::of(code::INTERRUPTED, error);
        }
        let failure = CommandError::of(code::USAGE, error);
        if self.typed && file.is_empty() {
            return failure.hint(hint);
        }
        let first = statement.text.lines().next().unwrap_or_default();
        let name = if file.is_empty() { "" } else { ", " };
        let place = format!("{file}{name}line {}: {first}", statement.line);
        failure.hint(match hint {
            Some(hint) => format!("{place}\n      {hint}"),
            None => place,
        })
    }

    fn source(&mut self, path: &str, from: &str) -> Result<Flow, CommandError> {
        let mut named = PathBuf::from(path);
        if let (Ok(below), Some(home)) = (named.strip_prefix("~"), self.context.env.var("HOME")) {
            named = Path::new(home).join(below);
        }
        if self.depth == DEEPEST {
            let text =
                format!("{from} is SOURCE number {DEEPEST} in a row: does a file run itself?");
            return Err(CommandError::new(code::USAGE, text));
        }
        let text = read(&named)?;
        self.depth += 1;
        let ended = self.script(&text, path);
        self.depth -= 1;
        ended
    }

    /// A command that needs no other file.
    fn command(&mut self, known: &Command) -> Result<(), SessionError> {
        if let Some(message) = self.session.settings.obey(known) {
            self.say(&message);
            return Ok(());
        }
        match known {
            Command::Help(topic) => self.say(help_text(*topic).trim_end()),
            Command::Clear if is_seen() => self.ui.out("\x1b[H\x1b[2J"),
            Command::ShowHost => {
                let state = self.session.state();
                let node = self.session.node();
                let (cluster, port) = (&state.plan.name, state.plan.ports.cql);
                let place = format!("{} at {}:{port}", node.name, node.address);
                self.say(&format!("Connected to cluster {cluster}, {place}."));
            }
            Command::ShowVersion => {
                let versions = self.versions()?;
                self.say(&versions);
            }
            Command::ShowSession(id) => match self.session.trace(id)? {
                Some(rows) => self.trace(id, &rows),
                None => self.say(&format!("No such trace: {}.", uuid_text(id))),
            },
            _ => {}
        }
        Ok(())
    }

    /// The versions of everything that takes part.
    pub(super) fn versions(&mut self) -> Result<String, SessionError> {
        let local = self.session.ask("SELECT * FROM system.local")?;
        let cell = |column: &str| local.text(0, column).filter(|text| text != "null");
        let mut parts = vec![format!("helenus {}", crate::cli::VERSION)];
        parts.extend(cell("release_version").map(|v| format!("Cassandra {v}")));
        parts.extend(cell("cql_version").map(|v| format!("CQL {v}")));
        parts.push(format!("native protocol {}", self.session.protocol()));
        Ok(parts.join(", "))
    }

    /// What a command says.
    fn say(&mut self, message: &str) {
        match self.answers.last_mut() {
            Some(answer) => answer.message = Some(message.to_owned()),
            None => self.ui.out(&format!("{message}\n")),
        }
    }

    fn cql(&mut self, text: &str) -> Result<(), SessionError> {
        let describes = is_describe(text);
        let by_page = self.typed && self.depth == 0 && !describes;
        let mut page = self.session.page(text, None)?;
        while let Some(next) = page.next.take_if(|_| !by_page) {
            let mut more = self.session.page(text, Some(next))?;
            page.rows.rows.append(&mut more.rows.rows);
            page.next = more.next;
        }
        if let Some(answer) = self.answers.last_mut() {
            answer.columns = page.rows.columns.iter().map(|c| c.name.clone()).collect();
            answer.rows = json_rows(&page.rows);
            return Ok(());
        }
        if let Some(text) = describe_text(&page.rows).filter(|_| describes) {
            self.ui.out(&text);
            return Ok(());
        }
        if page.rows.columns.is_empty() {
            return Ok(());
        }
        let (mut shown, mut cut) = (0, false);
        loop {
            cut |= self.draw(&page.rows, shown);
            shown += page.rows.len();
            let Some(next) = page.next.take() else {
                self.ui.out(&count_line(shown));
                break;
            };
            if !interactive::more(self.ui) {
                self.ui
                    .out(&format!("\n({shown} rows, and there are more)\n"));
                break;
            }
            page = self.session.page(text, Some(next))?;
        }
        if cut {
            let text = "(values end with … where the terminal is too narrow: EXPAND ON shows them whole)\n";
            self.ui.out(text);
        }
        Ok(())
    }

    /// Prints rows; whether values were cut.
    fn draw(&self, rows: &Rows, before: usize) -> bool {
        let layout = Layout {
            width: width(),
            expand: self.session.settings.expand,
        };
        let drawing = draw_rows(rows, layout, before);
        self.ui.out(&drawing.text);
        drawing.cut
    }

    /// Prints the traces of what was asked last.
    fn traces(&mut self) -> Result<(), SessionError> {
        for id in self.session.take_traces() {
            match self.session.trace(&id)? {
                Some(rows) => self.trace(&id, &rows),
                None => self.ui.caution(&format!(
                    "the trace is not stored yet; try SHOW SESSION {} later",
                    uuid_text(&id)
                )),
            }
        }
        Ok(())
    }

    fn trace(&mut self, id: &[u8; 16], rows: &Rows) {
        let id = uuid_text(id);
        if let Some(answer) = self.answers.last_mut() {
            let rows = json_rows(rows);
            answer.traces.push(Trace { id, rows });
            return;
        }
        self.ui.out(&format!("\nTracing session: {id}\n\n"));
        self.draw(rows, 0);
        self.ui.out("\n");
    }
}
