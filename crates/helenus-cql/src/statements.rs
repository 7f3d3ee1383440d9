//! A text of many CQL statements, split at the semicolons that end one: for a shell and for files.
//! Refuses to understand statements: quotes, comments and batches are all it knows.

use crate::commands::begins_command;
use helenus_model::cql::tokens::{Token, TokenKind, blanks, tokens};

/// One statement of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The statement without its semicolon and without comments around it.
    pub text: String,
    /// The line on which it starts, from 1.
    pub line: usize,
    /// Whether a semicolon ended it; when not, a shell waits for more.
    pub ended: bool,
}

/// A text for a shell: CQL, and commands that end with their line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// The statements and commands.
    pub statements: Vec<Statement>,
    /// Whether the text ends inside a statement or comment: whoever types it continues.
    pub open: bool,
}

/// [`split_statements`] for a shell: the commands of [`crate::commands`] and DESCRIBE also end with their line.
pub fn split_script(text: &str) -> Script {
    let mut splitter = Splitter {
        shell: true,
        ..Splitter::default()
    };
    let in_comment = splitter.read(text);
    Script {
        open: in_comment || splitter.statements.last().is_some_and(|s| !s.ended),
        statements: splitter.statements,
    }
}

/// Splits `text`; what is only blank or comment is no statement.
///
/// Quotes are `'…'` and `"…"` with the quote doubled inside, and `$$…$$`. Comments are `--` and
/// `//` to the end of the line and `/* … */`. The semicolons between `BEGIN … BATCH` and
/// `APPLY BATCH` end nothing.
pub fn split_statements(text: &str) -> Vec<Statement> {
    let mut splitter = Splitter::default();
    splitter.read(text);
    splitter.statements
}

/// Where the splitter stands towards a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Batch {
    /// Nothing of the statement is read yet.
    #[default]
    Start,
    /// `BEGIN`, perhaps with the kind of batch.
    Begin,
    /// Between `BEGIN BATCH` and `APPLY`.
    Inside,
    /// `APPLY`, inside a batch.
    Apply,
    /// No batch, or after `APPLY BATCH`.
    No,
}

#[derive(Debug, Default)]
struct Splitter {
    statements: Vec<Statement>,
    /// Whether commands of the shell are known, and whether one is being read.
    shell: bool,
    command: bool,
    /// First and one past the last byte of what is not blank or comment.
    span: Option<(usize, usize)>,
    batch: Batch,
    /// Lines ended before `counted` bytes.
    lines: usize,
    counted: usize,
}

impl Splitter {
    /// Reads a whole text; whether it ends inside a comment.
    fn read(&mut self, text: &str) -> bool {
        let mut end = 0;
        for token in tokens(text) {
            let is_line = |blank: &str| !blank.starts_with("/*") && blank.contains('\n');
            if self.command && blanks(&text[end..token.at.start]).any(is_line) {
                self.finish(text, true);
            }
            end = token.at.end;
            self.take(&token, text);
        }
        self.finish(text, self.command);
        let is_open =
            |blank: &str| blank.starts_with("/*") && (blank.len() < 4 || !blank.ends_with("*/"));
        blanks(&text[end..]).last().is_some_and(is_open)
    }

    fn take(&mut self, token: &Token, text: &str) {
        let in_batch = matches!(self.batch, Batch::Inside | Batch::Apply);
        if token.is(";") && !in_batch {
            return self.finish(text, true);
        }
        let written = &text[token.at.clone()];
        if self.shell && self.batch == Batch::Start && begins_command(written) {
            self.command = true;
            self.batch = Batch::No;
        } else if token.kind == TokenKind::Word {
            self.batch = self.after_word(&token.text);
        } else {
            self.batch = if in_batch { Batch::Inside } else { Batch::No };
        }
        let first = self.span.map_or(token.at.start, |(first, _)| first);
        self.span = Some((first, token.at.end));
    }

    /// Where it stands after a word, in lower case.
    fn after_word(&self, word: &str) -> Batch {
        match (self.batch, word) {
            (Batch::Start, "begin") => Batch::Begin,
            (Batch::Begin, "batch") => Batch::Inside,
            (Batch::Begin, "unlogged" | "counter" | "logged") => Batch::Begin,
            (Batch::Inside, "apply") => Batch::Apply,
            (Batch::Apply, "batch") => Batch::No,
            (Batch::Inside | Batch::Apply, _) => Batch::Inside,
            _ => Batch::No,
        }
    }

    fn finish(&mut self, text: &str, ended: bool) {
        self.batch = Batch::Start;
        self.command = false;
        let Some((start, end)) = self.span.take() else {
            return;
        };
        self.lines += text[self.counted..start].matches('\n').count();
        self.counted = start;
        self.statements.push(Statement {
            text: text[start..end].to_owned(),
            line: self.lines + 1,
            ended,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<String> {
        split_statements(text).into_iter().map(|s| s.text).collect()
    }

    #[test]
    fn semicolons_in_quotes_comments_and_bodies_end_nothing() {
        assert_eq!(texts("SELECT 1; SELECT 2"), ["SELECT 1", "SELECT 2"]);
        assert_eq!(texts("a 'x;''y;' b; c"), ["a 'x;''y;' b", "c"]);
        assert_eq!(texts("a \"x;\"\"y;\" b; c"), ["a \"x;\"\"y;\" b", "c"]);
        assert_eq!(
            texts("a $$ return ';\"'; $$; b"),
            ["a $$ return ';\"'; $$", "b"]
        );
        assert_eq!(
            texts("a -- ; '\n b; // ;\n c /* ; ' */ d;"),
            ["a -- ; '\n b", "c /* ; ' */ d"]
        );
        assert_eq!(texts(" ;; -- nothing\n /* ; */ ;"), [""; 0]);
        assert_eq!(texts("a 'open; b"), ["a 'open; b"]);
        assert_eq!(texts("ä; 'ö"), ["ä", "'ö"]);
        assert_eq!(texts("LIMIT 10-- ;\n; b"), ["LIMIT 10", "b"]);
    }

    #[test]
    fn a_batch_is_one_statement() {
        let batch =
            "begin unlogged batch\n insert a; /* apply batch */ insert 'apply batch';\napply batch";
        assert_eq!(texts(&format!("{batch}; SELECT 1;")), [batch, "SELECT 1"]);
        let open = split_statements("BEGIN BATCH insert a; insert b;");
        assert_eq!((open.len(), open[0].ended), (1, false));
        assert_eq!(texts("select begin batch; b"), ["select begin batch", "b"]);
        assert_eq!(texts("BEGIN TRANSACTION; b"), ["BEGIN TRANSACTION", "b"]);
    }

    #[test]
    fn lines_count_from_the_first_word() {
        let found = split_statements("-- head\n\nUSE k;\nSELECT\n 1; b;\n\n c");
        let lines: Vec<_> = found.iter().map(|s| (s.line, s.ended)).collect();
        assert_eq!(lines, [(3, true), (4, true), (5, true), (7, false)]);
    }

    #[test]
    fn a_command_of_the_shell_ends_with_its_line() {
        let script = |text: &str| {
            let script = split_script(text);
            let texts: Vec<String> = script.statements.into_iter().map(|s| s.text).collect();
            (texts, script.open)
        };
        let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect();
        let whole = "CONSISTENCY ALL\nSELECT 1\n FROM t;\ndesc tables -- all\nexpand on; b;?\n";
        let parts = [
            "CONSISTENCY ALL",
            "SELECT 1\n FROM t",
            "desc tables",
            "expand on",
            "b",
            "?",
        ];
        assert_eq!(script(whole), (texts(&parts), false));
        assert_eq!(script("HELP"), (texts(&["HELP"]), false));
        assert_eq!(script("SELECT 1"), (texts(&["SELECT 1"]), true));
        assert_eq!(script("a;\n'x;"), (texts(&["a", "'x;"]), true));
        assert_eq!(script("a; /* so"), (texts(&["a"]), true));
        assert_eq!(script("a; /* so */ -- b"), (texts(&["a"]), false));
        assert_eq!(script("BEGIN BATCH a;"), (texts(&["BEGIN BATCH a;"]), true));
        assert_eq!(script(""), (texts(&[]), false));
        // A word inside a statement begins nothing.
        assert_eq!(script("SELECT\nexpand\nFROM t;").0.len(), 1);
        let plain = split_statements("EXPAND ON\nSELECT 1;");
        assert_eq!(plain.len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_splits_into_parts_of_itself(text in "[ab'\"$;/*\\-\n BEGINATCHPLYä]{0,60}") {
            let mut at = 0;
            for statement in split_statements(&text) {
                let found = text[at..].find(&statement.text);
                prop_assert!(found.is_some());
                at += found.unwrap_or(0) + statement.text.len();
            }
        }
    }
}
