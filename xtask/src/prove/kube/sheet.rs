//! What a part found: a line of JSON for each finding, written as it lands, and a table at the end.
//! Refuses to call something passed that was not run.

use super::super::host::{self, Host, Pressure, Watch};
use super::super::journal;
use super::lab::Lab;
use super::mask::Mask;
use serde::Serialize;
use serde_json::Value;
use std::error::Error;
use std::path::PathBuf;

/// Form of the lines.
const FORMAT: &str = "helenus.proof-kube/2";

/// Whether something is as it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// It is.
    Holds,
    /// It is not.
    Fails,
    /// Nobody knows: something that it needs is not there.
    NotRun,
    /// A figure without a bar.
    Noted,
}

impl Verdict {
    /// Of something that must be so.
    pub(super) const fn of(holds: bool) -> Self {
        match holds {
            true => Self::Holds,
            false => Self::Fails,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "DOES NOT HOLD",
            Self::NotRun => "NOT RUN",
            Self::Noted => "",
        }
    }
}

/// A line of the file.
#[derive(Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line<'a> {
    /// The findings below are of this machine, cluster and commit.
    Sitting {
        format: &'static str,
        part: &'a str,
        at_unix: u64,
        host: &'a Host,
        /// Version of the API server.
        server: &'a str,
        /// How many workers it has.
        workers: usize,
        /// What the pods run, where nothing else is said.
        image: &'a str,
    },
    /// Something was found.
    Finding {
        what: &'a str,
        verdict: Verdict,
        at_unix: u64,
        said: &'a str,
        facts: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        pressure: Option<Pressure>,
    },
}

/// The findings of a part.
pub(super) struct Sheet {
    part: String,
    path: PathBuf,
    mask: Mask,
    rows: Vec<(String, Verdict, String)>,
}

impl Sheet {
    /// A new file for this part.
    pub(super) fn open(lab: &Lab, part: &str) -> Result<Self, Box<dyn Error>> {
        let folder = lab.root.join("benches/runs");
        fs_err::create_dir_all(&folder)?;
        let sheet = Self {
            part: part.to_owned(),
            path: journal::unused(&folder, &format!("kube-{part}"), &lab.host.hash),
            mask: lab.mask.clone(),
            rows: Vec::new(),
        };
        sheet.write(&Line::Sitting {
            format: FORMAT,
            part,
            at_unix: host::now_unix(),
            host: &lab.host,
            server: &lab.server,
            workers: lab.workers.len(),
            image: &lab.image,
        })?;
        Ok(sheet)
    }

    /// Adds a finding; `watch` was begun with it, `own` is the CPU time of what was measured, where it is known.
    pub(super) fn found(
        &mut self,
        what: &str,
        verdict: Verdict,
        said: &str,
        facts: &Value,
        watch: Option<(Watch, f64)>,
    ) -> Result<(), Box<dyn Error>> {
        let pressure = watch.map(|(watch, own)| watch.end(own)).transpose()?;
        self.write(&Line::Finding {
            what,
            verdict,
            at_unix: host::now_unix(),
            said,
            facts,
            pressure,
        })?;
        println!("  {}", row(what, verdict, said));
        self.rows.push((what.to_owned(), verdict, said.to_owned()));
        Ok(())
    }

    /// Adds a finding that is no more than words.
    pub(super) fn record(
        &mut self,
        what: &str,
        verdict: Verdict,
        said: &str,
    ) -> Result<(), Box<dyn Error>> {
        self.found(what, verdict, said, &Value::Null, None)
    }

    fn write(&self, line: &Line<'_>) -> Result<(), Box<dyn Error>> {
        let text = self.mask.line(&serde_json::to_string(line)?);
        Ok(journal::write(&self.path, &text)?)
    }

    /// Whether there are findings, and all of them hold.
    pub(super) fn holds(&self) -> bool {
        let good = |verdict: &Verdict| matches!(verdict, Verdict::Holds | Verdict::Noted);
        !self.rows.is_empty() && self.rows.iter().all(|(_, verdict, _)| good(verdict))
    }

    /// All findings, and how many hold.
    pub(super) fn table(&self) -> String {
        let mut text = format!("{}: {}\n", self.part, self.path.display());
        for (what, verdict, said) in &self.rows {
            text += &row(what, *verdict, said);
            text.push('\n');
        }
        let count = |of: Verdict| self.rows.iter().filter(|(_, v, _)| *v == of).count();
        text + &format!(
            "{} hold, {} do not hold, {} not run",
            count(Verdict::Holds),
            count(Verdict::Fails),
            count(Verdict::NotRun)
        )
    }
}

fn row(what: &str, verdict: Verdict, said: &str) -> String {
    format!("{what:<40} {:<13} {said}", verdict.word())
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_run_does_not_hold_and_neither_does_an_empty_sheet() {
        let sheet = |verdicts: &[Verdict]| Sheet {
            part: "p".into(),
            path: "p.jsonl".into(),
            mask: Mask::default(),
            rows: verdicts
                .iter()
                .map(|v| ("a".to_owned(), *v, "b".to_owned()))
                .collect(),
        };
        assert!(sheet(&[Verdict::Holds, Verdict::Noted]).holds());
        assert!(!sheet(&[Verdict::Holds, Verdict::NotRun]).holds());
        assert!(!sheet(&[Verdict::Fails]).holds());
        assert!(!sheet(&[]).holds());
        let text = sheet(&[Verdict::of(true), Verdict::of(false), Verdict::NotRun]).table();
        assert!(text.ends_with("1 hold, 1 do not hold, 1 not run"), "{text}");
    }
}
