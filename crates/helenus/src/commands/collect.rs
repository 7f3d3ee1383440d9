//! `helenus collect`: what somebody else needs to help, listed, and written as one archive.

use super::history::export::as_json;
use super::machine;
use crate::cli::Collect;
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::collect::{Item, of_cluster, own_log, pack};
use helenus_cluster::context::Context;
use helenus_cluster::doctor;
use helenus_model::format::Format;
use helenus_model::units::{Bytes, plural};
use helenus_record::History;
use serde::Serialize;
use std::path::PathBuf;

/// The archive, written or not.
#[derive(Serialize)]
struct Collected {
    format: Format,
    /// Whether nothing was written.
    dry_run: bool,
    /// The archive.
    to: PathBuf,
    /// Its size in bytes.
    bytes: Bytes,
    /// What is in it.
    items: Vec<Item>,
}

impl Answers for Collected {
    fn answer(&self) -> String {
        let word = if self.dry_run { "would write" } else { "wrote" };
        let files = plural(self.items.len(), "file");
        format!("{word} {files} as {} to {}", self.bytes, self.to.display())
    }
}

pub(crate) fn run(flags: &Collect, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let name = match &flags.cluster {
        Some(name) => format!("helenus-{name}"),
        None => "helenus".to_owned(),
    };
    let to = flags
        .out
        .clone()
        .unwrap_or_else(|| format!("{name}.tar.gz").into());
    if outfile::standing(&to)? == Standing::File && !flags.force && !flags.dry_run {
        let text = format!("{} already exists", to.display());
        return Err(CommandError::new(code::USAGE, text).hint("--force overwrites it".to_owned()));
    }
    let items = items(flags, context)?;
    let packed = pack(&name, &items)?;
    if !flags.dry_run {
        // Logs may say what nobody has called a secret.
        outfile::write_private(&to, &packed)?;
    }
    let collected = Collected {
        format: Format::new("collected", 1),
        dry_run: flags.dry_run,
        to,
        bytes: Bytes(packed.len() as u64),
        items,
    };
    ui.result(&collected, || text(&collected));
    Ok(0)
}

fn items(flags: &Collect, context: &Context) -> Result<Vec<Item>, CommandError> {
    let snapshot = machine::toml(machine::from(None, context)?.to_toml())?;
    let findings = serde_json::to_string_pretty(&doctor::examine(context))?;
    let mut items = vec![
        Item::text("version.txt", &format!("helenus {}\n", crate::cli::VERSION)),
        Item::text("machine.toml", &snapshot),
        Item::text("doctor.json", &findings),
    ];
    items.extend(own_log(&context.paths, flags.log)?);
    let names = match &flags.cluster {
        Some(name) => vec![name.clone()],
        None => context.clusters.names()?,
    };
    for name in names {
        match context.clusters.load(&name) {
            Ok(state) => items.extend(of_cluster(&state, flags.log)?),
            // Of one that was named it is an error; of all a broken one has nothing to read.
            Err(error) if flags.cluster.is_some() => return Err(error.into()),
            Err(error) => {
                let path = format!("clusters/{name}/broken.txt");
                items.push(Item::text(path, &format!("{error}\n")));
            }
        }
    }
    if !flags.runs.is_empty() {
        let history = History::open_existing(&context.paths.state.join(helenus_record::FILE))?;
        let history = history.ok_or(helenus_record::HistoryError::Empty)?;
        let runs = history.resolve_any(&flags.runs.join(","))?;
        let ids: Vec<_> = runs.iter().map(|run| run.id).collect();
        let json = as_json(&history, &ids, None)?;
        items.push(Item::text("runs.json", &String::from_utf8_lossy(&json)));
    }
    Ok(items)
}

fn text(collected: &Collected) -> String {
    let mut table = Table::new(&["file", ">size", "left out"]);
    for item in &collected.items {
        table.row([
            item.path.clone(),
            item.bytes.to_string(),
            item.left_out.clone().unwrap_or_default(),
        ]);
    }
    format!("{}\n{}\n", table.render(), collected.answer())
}
