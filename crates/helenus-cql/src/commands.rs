//! The shell's own commands, as cqlsh has them: their grammar, and the settings that they change.
//! Refuses to act: whoever holds the connection and the terminal does.

use crate::codec::{Consistency, UnknownConsistency};
use helenus_model::cql::tokens::{TokenKind, tokens};
use helenus_model::nearest::nearest;
use std::fmt::Write as _;

/// Rows a page in a session, until `PAGING` changes it.
pub const SESSION_PAGE_ROWS: i32 = 100;

/// A command of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `CONSISTENCY`: shown without a level.
    Consistency(Option<Consistency>),
    /// `SERIAL CONSISTENCY`: shown without a level.
    SerialConsistency(Option<Consistency>),
    /// `TRACING`: shown without a word.
    Tracing(Option<bool>),
    /// `EXPAND`: shown without a word.
    Expand(Option<bool>),
    /// `PAGING`: shown without a word; off is no rows a page.
    Paging(Option<Option<i32>>),
    /// `SOURCE 'file'`.
    Source(String),
    /// `SHOW VERSION`.
    ShowVersion,
    /// `SHOW HOST`.
    ShowHost,
    /// `SHOW SESSION`, a trace by its id.
    ShowSession([u8; 16]),
    /// `HELP`, of one command or of all.
    Help(Option<&'static str>),
    /// `CLEAR`.
    Clear,
    /// `EXIT`.
    Exit,
}

/// Why a command cannot be obeyed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Another argument than the command takes.
    #[error("{command} takes {expected}, not {found:?}")]
    Argument {
        /// The command.
        command: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What it was given.
        found: String,
    },
    /// No consistency level.
    #[error(transparent)]
    Level(#[from] UnknownConsistency),
    /// A command that only cqlsh has.
    #[error("{command} is a command of cqlsh that this shell does not have")]
    OnlyCqlsh {
        /// The command.
        command: &'static str,
    },
    /// HELP on what is no command.
    #[error("no help on {topic:?}")]
    Topic {
        /// What was asked for.
        topic: String,
    },
}

impl CommandError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OnlyCqlsh { .. } => {
                Some("an installed cqlsh has it: `helenus cqlsh NAME --installed`".into())
            }
            Self::Topic { topic } => Some(match nearest(topic, HELP.map(|(name, ..)| name)) {
                Some(name) => format!("did you mean `HELP {name}`?"),
                None => "HELP lists the commands".into(),
            }),
            Self::Level(unknown) => {
                let known = Consistency::ALL_LEVELS.map(Consistency::name);
                let near = nearest(&unknown.name, known);
                near.map(|name| format!("did you mean {name}?"))
            }
            Self::Argument { .. } => None,
        }
    }
}

/// What HELP prints: the command, its arguments, what it does.
const HELP: [(&str, &str, &str); 13] = [
    ("CLEAR", "", "clear the terminal"),
    (
        "CONSISTENCY",
        "[LEVEL]",
        "the consistency level of statements",
    ),
    (
        "DESCRIBE",
        "CLUSTER | KEYSPACES | TABLES | SCHEMA | KEYSPACE k | TABLE t | …",
        "what the server has, as statements (from Cassandra 4.0 on)",
    ),
    ("EXIT", "", "leave, as do QUIT and Ctrl-D"),
    (
        "EXPAND",
        "[ON | OFF]",
        "rows one below the other, with whole values",
    ),
    ("HELP", "[COMMAND]", "this text"),
    ("PAGING", "[ON | OFF | ROWS]", "rows a page"),
    ("QUIT", "", "leave, as do EXIT and Ctrl-D"),
    (
        "SERIAL",
        "CONSISTENCY [SERIAL | LOCAL_SERIAL]",
        "the level of conditions (IF …)",
    ),
    (
        "SHOW",
        "VERSION | HOST | SESSION id",
        "versions, the node, a trace by its id",
    ),
    ("SOURCE", "'file'", "run the statements of a file"),
    (
        "TRACING",
        "[ON | OFF]",
        "print what the nodes did for each statement",
    ),
    (
        "USE",
        "keyspace;",
        "the keyspace of tables named without one",
    ),
];

/// Words of cqlsh that start a command which this shell does not have.
const ONLY_CQLSH: [&str; 7] = [
    "CAPTURE", "COPY", "DEBUG", "ELAPSED", "HISTORY", "LOGIN", "UNICODE",
];

/// Words that start a command, which ends with its line: a semicolon is welcome and not needed.
pub(crate) fn begins_command(word: &str) -> bool {
    let is = |known: &&str| word.eq_ignore_ascii_case(known);
    let own = HELP.iter().any(|(name, ..)| *name != "USE" && is(name));
    own || ONLY_CQLSH.iter().any(is) || ["?", "DESC", "CLS"].iter().any(is)
}

/// Words with which a line may start, for completion.
pub(crate) fn first_words() -> impl Iterator<Item = &'static str> {
    HELP.iter().map(|(name, ..)| *name)
}

/// The command that a statement of a text is; none for CQL, which DESCRIBE and USE are.
///
/// # Errors
/// A command whose arguments are not its own.
pub fn command(statement: &str) -> Option<Result<Command, CommandError>> {
    let statement = statement.trim().trim_end_matches(';').trim_end();
    let (first, rest) = statement
        .split_once(char::is_whitespace)
        .unwrap_or((statement, ""));
    let rest = rest.trim();
    let argument = (!rest.is_empty()).then_some(rest);
    let first = first.to_ascii_uppercase();
    Some(match first.as_str() {
        "CONSISTENCY" => level(argument).map(Command::Consistency),
        "SERIAL" => serial(rest),
        "TRACING" => switch("TRACING", argument).map(Command::Tracing),
        "EXPAND" => switch("EXPAND", argument).map(Command::Expand),
        "PAGING" => paging(argument).map(Command::Paging),
        "SOURCE" => source(rest),
        "SHOW" => show(rest),
        "HELP" | "?" => help(argument),
        "CLEAR" | "CLS" => bare("CLEAR", argument, Command::Clear),
        "EXIT" | "QUIT" => bare("EXIT", argument, Command::Exit),
        other => {
            let command = ONLY_CQLSH.into_iter().find(|name| *name == other)?;
            Err(CommandError::OnlyCqlsh { command })
        }
    })
}

fn level(argument: Option<&str>) -> Result<Option<Consistency>, CommandError> {
    Ok(argument.map(str::parse).transpose()?)
}

fn wrong<T>(command: &'static str, expected: &'static str, found: &str) -> Result<T, CommandError> {
    let found = found.to_owned();
    Err(CommandError::Argument {
        command,
        expected,
        found,
    })
}

fn serial(rest: &str) -> Result<Command, CommandError> {
    let (word, level) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if !word.eq_ignore_ascii_case("CONSISTENCY") {
        return wrong("SERIAL", "the word CONSISTENCY", rest);
    }
    let level = Some(level.trim()).filter(|level| !level.is_empty());
    match level.map(str::parse).transpose()? {
        level @ (None | Some(Consistency::Serial | Consistency::LocalSerial)) => {
            Ok(Command::SerialConsistency(level))
        }
        Some(other) => wrong("SERIAL CONSISTENCY", "SERIAL or LOCAL_SERIAL", other.name()),
    }
}

fn switch(command: &'static str, argument: Option<&str>) -> Result<Option<bool>, CommandError> {
    match argument.map(str::to_ascii_uppercase).as_deref() {
        None => Ok(None),
        Some("ON") => Ok(Some(true)),
        Some("OFF") => Ok(Some(false)),
        Some(_) => wrong(command, "ON or OFF", argument.unwrap_or_default()),
    }
}

fn paging(argument: Option<&str>) -> Result<Option<Option<i32>>, CommandError> {
    const EXPECTED: &str = "ON, OFF or a number of rows";
    let Some(text) = argument else {
        return Ok(None);
    };
    match (switch("PAGING", argument), text.parse()) {
        (Ok(Some(true)), _) => Ok(Some(Some(SESSION_PAGE_ROWS))),
        (Ok(_), _) => Ok(Some(None)),
        (Err(_), Ok(rows @ 1..)) => Ok(Some(Some(rows))),
        (Err(_), _) => wrong("PAGING", EXPECTED, text),
    }
}

fn source(rest: &str) -> Result<Command, CommandError> {
    let found = tokens(rest);
    let file = match found.as_slice() {
        [text] if text.kind == TokenKind::Text => text.text.clone(),
        _ => rest.trim_matches('"').to_owned(),
    };
    if file.is_empty() {
        return wrong("SOURCE", "a file's name in quotes", rest);
    }
    Ok(Command::Source(file))
}

fn show(rest: &str) -> Result<Command, CommandError> {
    let (word, id) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (word.to_ascii_uppercase().as_str(), uuid(id.trim())) {
        ("VERSION", _) if id.is_empty() => Ok(Command::ShowVersion),
        ("HOST", _) if id.is_empty() => Ok(Command::ShowHost),
        ("SESSION", Some(id)) => Ok(Command::ShowSession(id)),
        _ => wrong("SHOW", "VERSION, HOST or SESSION with a trace's id", rest),
    }
}

/// The bytes of a UUID in its form of 36 characters.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let dashes = [8, 13, 18, 23];
    if text.len() != 36 || !dashes.iter().all(|at| text.as_bytes()[*at] == b'-') {
        return None;
    }
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

fn help(argument: Option<&str>) -> Result<Command, CommandError> {
    let Some(topic) = argument else {
        return Ok(Command::Help(None));
    };
    let first = topic.split_whitespace().next().unwrap_or(topic);
    let known = HELP
        .iter()
        .find(|(name, ..)| name.eq_ignore_ascii_case(first));
    match known {
        Some((name, ..)) => Ok(Command::Help(Some(name))),
        None => Err(CommandError::Topic {
            topic: topic.to_owned(),
        }),
    }
}

fn bare(
    name: &'static str,
    argument: Option<&str>,
    command: Command,
) -> Result<Command, CommandError> {
    match argument {
        None => Ok(command),
        Some(found) => wrong(name, "no argument", found),
    }
}

/// HELP's text, on one command or on all.
pub fn help_text(topic: Option<&str>) -> String {
    let mut text = String::new();
    for (name, arguments, what) in HELP {
        if topic.is_none_or(|topic| topic == name) {
            let form = format!("{name} {arguments}");
            let _ = writeln!(text, "{}\n    {what}", form.trim_end());
        }
    }
    if topic.is_none() {
        text.push_str(
            "Everything else is CQL and ends with a semicolon. Tab completes, Ctrl-C cancels the line\n\
             or the statement that runs.\n",
        );
    }
    text
}

/// What the commands set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Level of each statement.
    pub consistency: Consistency,
    /// Level of conditions.
    pub serial: Consistency,
    /// Whether traces are printed.
    pub tracing: bool,
    /// Whether rows stand one below the other.
    pub expand: bool,
    /// Rows a page; none fetches all.
    pub page_rows: Option<i32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            consistency: Consistency::One,
            serial: Consistency::Serial,
            tracing: false,
            expand: false,
            page_rows: Some(SESSION_PAGE_ROWS),
        }
    }
}

impl Settings {
    /// Obeys a command that only sets or shows a setting, and returns what holds now; none for the others.
    pub fn obey(&mut self, command: &Command) -> Option<String> {
        let on = |on: bool| if on { "on" } else { "off" };
        let (is, set) = ("Current", "set to");
        Some(match command {
            Command::Consistency(None) => {
                format!("{is} consistency level is {}.", self.consistency)
            }
            Command::Consistency(Some(level)) => {
                self.consistency = *level;
                format!("Consistency level {set} {level}.")
            }
            Command::SerialConsistency(None) => {
                format!("{is} serial consistency level is {}.", self.serial)
            }
            Command::SerialConsistency(Some(level)) => {
                self.serial = *level;
                format!("Serial consistency level {set} {level}.")
            }
            Command::Tracing(wish) => {
                self.tracing = wish.unwrap_or(self.tracing);
                format!("Tracing is {}.", on(self.tracing))
            }
            Command::Expand(wish) => {
                self.expand = wish.unwrap_or(self.expand);
                format!("Expanded output is {}.", on(self.expand))
            }
            Command::Paging(wish) => {
                self.page_rows = wish.unwrap_or(self.page_rows);
                match self.page_rows {
                    Some(rows) => format!("Paging is on: {rows} rows a page."),
                    None => "Paging is off.".into(),
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Command {
        command(text)
            .expect("a command")
            .expect("its own arguments")
    }

    fn refused(text: &str) -> CommandError {
        command(text).expect("a command").expect_err("refused")
    }

    #[test]
    fn commands_are_read_in_any_case_with_and_without_a_semicolon() {
        assert_eq!(read("CONSISTENCY"), Command::Consistency(None));
        let quorum = Command::Consistency(Some(Consistency::LocalQuorum));
        assert_eq!(read("consistency local_quorum;"), quorum);
        let serial = Command::SerialConsistency(Some(Consistency::LocalSerial));
        assert_eq!(read("Serial  consistency LOCAL_SERIAL"), serial);
        assert_eq!(
            read("serial consistency;"),
            Command::SerialConsistency(None)
        );
        assert_eq!(read("tracing on"), Command::Tracing(Some(true)));
        assert_eq!(read("EXPAND OFF"), Command::Expand(Some(false)));
        assert_eq!(read("EXPAND"), Command::Expand(None));
        assert_eq!(read("PAGING 5"), Command::Paging(Some(Some(5))));
        assert_eq!(read("paging off"), Command::Paging(Some(None)));
        assert_eq!(read("paging on"), Command::Paging(Some(Some(100))));
        let file = Command::Source("a b's.cql".into());
        assert_eq!(read("SOURCE 'a b''s.cql'"), file);
        assert_eq!(read("source a.cql;"), Command::Source("a.cql".into()));
        assert_eq!(read("show version"), Command::ShowVersion);
        assert_eq!(read("SHOW HOST;"), Command::ShowHost);
        let id = "00000000-0000-0000-0000-00000000000a";
        let session = Command::ShowSession(10_u128.to_be_bytes());
        assert_eq!(read(&format!("show session {id}")), session);
        assert_eq!(read("?"), Command::Help(None));
        assert_eq!(
            read("help consistency level"),
            Command::Help(Some("CONSISTENCY"))
        );
        assert_eq!((read("cls"), read("quit")), (Command::Clear, Command::Exit));
    }

    #[test]
    fn cql_is_no_command() {
        for cql in [
            "SELECT 1",
            "USE k",
            "DESCRIBE TABLES",
            "desc x",
            "",
            "EXITS",
        ] {
            assert_eq!(command(cql), None, "{cql}");
        }
    }

    #[test]
    fn wrong_arguments_are_named_with_their_cure() {
        let texts = [
            "CONSISTENCY QUORM",
            "SERIAL CONSISTENCY ONE",
            "SERIAL",
            "TRACING MAYBE",
            "PAGING 0",
            "PAGING -5",
            "SOURCE",
            "SHOW EVERYTHING",
            "SHOW SESSION 12",
            "EXIT NOW",
            "COPY t TO 'x'",
            "HELP consistncy",
        ];
        let messages: Vec<String> = texts
            .iter()
            .map(|text| {
                let error = refused(text);
                let hint = error.hint().map(|hint| format!(" | {hint}"));
                format!("{error}{}", hint.unwrap_or_default())
            })
            .collect();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        unknown consistency level "QUORM" (known are ANY, ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, SERIAL, LOCAL_SERIAL, LOCAL_ONE, NODE_LOCAL) | did you mean QUORUM?
        SERIAL CONSISTENCY takes SERIAL or LOCAL_SERIAL, not "ONE"
        SERIAL takes the word CONSISTENCY, not ""
        TRACING takes ON or OFF, not "MAYBE"
        PAGING takes ON, OFF or a number of rows, not "0"
        PAGING takes ON, OFF or a number of rows, not "-5"
        SOURCE takes a file's name in quotes, not ""
        SHOW takes VERSION, HOST or SESSION with a trace's id, not "EVERYTHING"
        SHOW takes VERSION, HOST or SESSION with a trace's id, not "SESSION 12"
        EXIT takes no argument, not "NOW"
        COPY is a command of cqlsh that this shell does not have | an installed cqlsh has it: `helenus cqlsh NAME --installed`
        no help on "consistncy" | did you mean `HELP CONSISTENCY`?
        "#);
    }

    #[test]
    fn settings_are_set_and_shown() {
        let mut settings = Settings::default();
        let mut say = |text: &str| settings.obey(&read(text)).unwrap_or_default();
        assert_eq!(say("CONSISTENCY"), "Current consistency level is ONE.");
        assert_eq!(say("CONSISTENCY ALL"), "Consistency level set to ALL.");
        assert_eq!(say("TRACING ON"), "Tracing is on.");
        assert_eq!(say("TRACING"), "Tracing is on.");
        assert_eq!(say("PAGING 7"), "Paging is on: 7 rows a page.");
        assert_eq!(say("PAGING OFF"), "Paging is off.");
        assert_eq!(say("EXPAND"), "Expanded output is off.");
        assert_eq!(say("HELP"), "");
        assert_eq!(
            settings,
            Settings {
                consistency: Consistency::All,
                tracing: true,
                page_rows: None,
                ..Settings::default()
            }
        );
    }

    #[test]
    fn every_command_that_is_listed_is_read() {
        let mut all: Vec<&str> = first_words().collect();
        all.retain(|word| !["DESCRIBE", "USE"].contains(word));
        for word in all {
            assert!(command(word).is_some(), "{word}");
            assert!(help_text(None).contains(word) && help_text(Some(word)).starts_with(word));
        }
    }
}
