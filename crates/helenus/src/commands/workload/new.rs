//! `helenus workload new`: a profile drafted from a table that is there.
//! Refuses to write to the cluster, and to overwrite a file.

use crate::cli::workload::New;
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::live_schema::{self, Sampling};
use helenus_cluster::ring_view;
use helenus_cluster::shell;
use helenus_cql::schema::{self, SchemaError};
use helenus_cql::{Client, ClientError};
use helenus_model::cql::tokens::tokens;
use helenus_model::format::Format;
use helenus_model::seed::Seed;
use helenus_model::workload::draft::Observed;
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Serialize)]
struct Drafted {
    format: Format,
    /// The table, with its keyspace.
    table: String,
    /// Partitions that were read.
    partitions: u64,
    /// Rows that were read.
    rows: u64,
    /// The profile, in cassandra-stress's YAML.
    profile: String,
}

impl Answers for Drafted {
    fn answer(&self) -> String {
        format!(
            "drafted from {} partitions and {} rows of {}",
            self.partitions, self.rows, self.table
        )
    }
}

#[derive(Serialize)]
struct Planned<'a> {
    format: Format,
    /// The cluster.
    cluster: &'a str,
    /// The table, with its keyspace.
    table: String,
    /// Partitions that would be read.
    partitions: u32,
    /// Rows of each partition that are read at most.
    rows_of_each: u32,
}

impl Answers for Planned<'_> {
    fn answer(&self) -> String {
        format!(
            "would read the schema of {} in {} and {} partitions of it, {} rows of each at most",
            self.table, self.cluster, self.partitions, self.rows_of_each
        )
    }
}

pub(super) fn run(flags: &New, context: &Context, ui: &Ui) -> Result<(), CommandError> {
    let (keyspace, name) = names(&flags.table)?;
    let state = context.clusters.resolve(Some(&flags.cluster))?;
    if flags.dry_run {
        let planned = Planned {
            format: Format::new("workload-new-plan", 1),
            cluster: &flags.cluster,
            table: format!("{keyspace}.{name}"),
            partitions: flags.partitions,
            rows_of_each: flags.rows,
        };
        ui.result(&planned, || {
            format!("{}\nnothing was read (--dry-run)\n", planned.answer())
        });
        return Ok(());
    }
    if let Some(path) = &flags.output {
        not_there(path)?;
    }
    let mut client = shell::connect(&state, None)?;
    let described = schema::table(&mut client, &keyspace, &name).map_err(|error| {
        let usage = matches!(error, SchemaError::Absent { .. });
        let code = if usage { code::USAGE } else { code::CLUSTER };
        CommandError::of(code, &error).hint(error.hint())
    })?;
    let replication = replication(&mut client, &keyspace).map_err(silent)?;
    let mut observed = Observed::new(&described.table);
    let progress = ui.progress("reading partitions");
    let done = Cell::new(0_u64);
    let how = Sampling {
        partitions: flags.partitions,
        rows: flags.rows,
        seed: Seed(flags.seed).derive("sampled partitions"),
    };
    let stop = || {
        progress.at(done.get(), u64::from(flags.partitions));
        done.set(done.get() + 1);
        context.cancel.is_set()
    };
    live_schema::sample(&mut client, &described.table, how, stop, |rows| {
        observed.partition(&rows);
    })
    .map_err(silent)?;
    drop(progress);
    if context.cancel.is_set() {
        return Err(CommandError::new(
            code::INTERRUPTED,
            "interrupted: nothing was written",
        ));
    }
    let (partitions, rows) = observed.seen();
    let drafted = Drafted {
        format: Format::new("workload-new", 1),
        table: described.table.qualified(),
        partitions,
        rows,
        profile: observed.draft(&described, &replication),
    };
    if partitions == 0 && flags.partitions > 0 {
        ui.caution(&format!(
            "{} is empty: sizes and ranges are cassandra-stress's defaults",
            drafted.table
        ));
    }
    write(flags, &drafted, ui)
}

/// Refuses an existing file; a device or a pipe takes the profile.
fn not_there(path: &Path) -> Result<(), CommandError> {
    if outfile::standing(path)? != Standing::File {
        return Ok(());
    }
    let text = format!("{} already exists", path.display());
    Err(CommandError::new(code::USAGE, text).hint("name a new file".to_owned()))
}

fn write(flags: &New, drafted: &Drafted, ui: &Ui) -> Result<(), CommandError> {
    let Some(path) = flags
        .output
        .as_ref()
        .filter(|path| !outfile::is_output(path))
    else {
        ui.result(drafted, || drafted.profile.clone());
        return Ok(());
    };
    not_there(path)?;
    outfile::write(path, drafted.profile.as_bytes())?;
    ui.result(drafted, || {
        format!("{}: {}\n", path.display(), drafted.answer())
    });
    Ok(())
}

fn silent(error: ClientError) -> CommandError {
    CommandError::of(code::CLUSTER, &error)
}

/// Keyspace and table as the server stores them.
fn names(text: &str) -> Result<(String, String), CommandError> {
    match &tokens(text)[..] {
        [keyspace, dot, table] if keyspace.is_name() && dot.is(".") && table.is_name() => {
            Ok((keyspace.text.clone(), table.text.clone()))
        }
        _ => Err(
            CommandError::new(code::USAGE, format!("{text:?} is not a table")).hint(
                "write KEYSPACE.TABLE, quoted where CQL needs quotes: '\"Shop\".users'".to_owned(),
            ),
        ),
    }
}

/// The map of CREATE KEYSPACE.
fn replication(client: &mut Client, keyspace: &str) -> Result<String, ClientError> {
    let all = ring_view::keyspaces(client)?;
    let of = all.into_iter().find(|known| known.name == keyspace);
    let map: BTreeMap<String, String> = of.map(|known| known.replication).unwrap_or_default();
    let entry = |(key, value): (&String, &String)| {
        let value = value.rsplit('.').next().unwrap_or_default();
        format!(
            "'{}': '{}'",
            key.replace('\'', "''"),
            value.replace('\'', "''")
        )
    };
    let entries: Vec<String> = map.iter().map(entry).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}
