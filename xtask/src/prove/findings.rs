//! The raw file of a campaign whose rows are findings: what was looked at, whether it holds, how long it took.
//! Refuses to keep a row in memory: each is on disk before the next.

use super::host::{self, Host};
use super::journal;
use serde_json::{Value, json};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How something ended that fills a sheet.
pub(super) type Tried = Result<(), Box<dyn Error>>;

/// Where findings are written as they land.
pub(super) struct Sheet {
    path: PathBuf,
    fails: usize,
    rows: usize,
}

impl Sheet {
    /// A new file of this name in `benches/runs`, with the sitting's line; `part` is what alone is run.
    pub(super) fn open(
        root: &Path,
        name: &str,
        format: &str,
        part: Option<&str>,
    ) -> Result<Self, Box<dyn Error>> {
        let folder = root.join("benches/runs");
        fs_err::create_dir_all(&folder)?;
        let machine = Host::read(String::new(), root);
        let sheet = Self {
            path: journal::unused(&folder, name, &machine.hash),
            fails: 0,
            rows: 0,
        };
        let mut line = json!({"line": "sitting", "format": format, "at_unix": host::now_unix(), "host": machine});
        if let Some(part) = part {
            line["part"] = part.into();
        }
        sheet.write(&line)?;
        Ok(sheet)
    }

    /// A finding, shown and written.
    pub(super) fn found(
        &mut self,
        what: &str,
        holds: bool,
        said: &str,
        took: Option<Duration>,
    ) -> Result<(), Box<dyn Error>> {
        let seconds = took.map(|took| took.as_secs_f64());
        let word = if holds { "holds" } else { "DOES NOT HOLD" };
        let time = seconds.map_or(String::new(), |s| format!("{s:.1} s"));
        println!("  {what:<52} {word:<13} {time:>8}  {said}");
        self.rows += 1;
        self.fails += usize::from(!holds);
        let load = fs_err::read_to_string("/proc/loadavg")?;
        let load = load.split(' ').next().unwrap_or_default().to_owned();
        self.write(&json!({"line": "finding", "at_unix": host::now_unix(), "what": what, "holds": holds, "seconds": seconds, "said": said, "load": load}))
    }

    /// A finding where something did not run to its end.
    pub(super) fn ran(&mut self, what: &str, tried: Tried) -> Tried {
        tried.or_else(|error| {
            let what = format!("{what} ran to its end");
            self.found(&what, false, &error.to_string(), None)
        })
    }

    /// Runs a part; one that fails is a finding.
    pub(super) fn part(&mut self, name: &str, part: impl FnOnce(&mut Self) -> Tried) -> Tried {
        println!("{name}");
        self.write(&json!({"line": "part", "at_unix": host::now_unix(), "part": name}))?;
        let tried = part(self);
        self.ran(&format!("part {name}"), tried)
    }

    /// Another line.
    pub(super) fn write(&self, line: &Value) -> Result<(), Box<dyn Error>> {
        Ok(journal::write(&self.path, &line.to_string())?)
    }

    /// Says how many hold, and answers whether all do.
    pub(super) fn end(&self) -> bool {
        let holds = self.rows - self.fails;
        println!("{}: {holds} of {} hold", self.path.display(), self.rows);
        self.fails == 0
    }
}
