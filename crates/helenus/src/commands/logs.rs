//! `helenus logs`: a node's log, whole, its end, or as it grows.

use crate::cli::Logs;
use crate::error::CommandError;
use crate::ui::{Answers, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_model::format::Format;
use helenus_model::units::plural;
use serde::Serialize;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// Between two looks at a growing log.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Serialize)]
struct Log<'a> {
    format: Format,
    /// The node.
    node: &'a str,
    /// The file.
    path: &'a Path,
    /// Its lines.
    lines: &'a [&'a str],
}

impl Answers for Log<'_> {
    fn answer(&self) -> String {
        let lines = plural(self.lines.len(), "line");
        format!("{lines} of {}'s {}", self.node, self.path.display())
    }
}

pub(crate) fn run(flags: &Logs, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (state, node) = context.clusters.target(flags.target.as_deref())?;
    let node = state.node_or_first(node.as_deref())?.clone();
    let logs = Path::new(&node.folder).join("logs");
    // Before Cassandra opens its log there is only what the JVM printed.
    let system = logs.join("system.log");
    let path = if system.exists() {
        system
    } else {
        logs.join("console.log")
    };
    let text = fs::read(&path)?;
    let whole = String::from_utf8_lossy(&text);
    if ui.json() {
        let all: Vec<&str> = whole.lines().collect();
        let from = flags
            .tail
            .map_or(0, |lines| all.len().saturating_sub(lines));
        let log = Log {
            format: Format::new("log", 1),
            node: &node.name,
            path: &path,
            lines: &all[from..],
        };
        ui.result(&log, String::new);
        return Ok(0);
    }
    match flags.tail {
        Some(lines) => {
            let all: Vec<&str> = whole.lines().collect();
            let from = all.len().saturating_sub(lines);
            ui.out(
                &all[from..]
                    .iter()
                    .map(|l| format!("{l}\n"))
                    .collect::<String>(),
            );
        }
        None => ui.out(&whole),
    }
    if flags.follow {
        follow(&path, text.len() as u64, context, ui)?;
    }
    Ok(0)
}

/// Continues until the person stops it or the reader goes away; a rotated log is read from its start.
fn follow(path: &Path, from: u64, context: &Context, ui: &Ui) -> std::io::Result<()> {
    let mut at = from;
    while !context.cancel.is_set() && ui.listened() {
        std::thread::sleep(LOOK_EVERY);
        let Ok(mut file) = fs::File::open(path) else {
            continue;
        };
        let length = file.metadata()?.len();
        if length < at {
            at = 0;
        }
        if length > at {
            file.seek(SeekFrom::Start(at))?;
            let mut more = Vec::new();
            file.take(length - at).read_to_end(&mut more)?;
            at += more.len() as u64;
            ui.out(&String::from_utf8_lossy(&more));
        }
    }
    Ok(())
}
