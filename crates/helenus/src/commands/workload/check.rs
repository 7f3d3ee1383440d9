//! `helenus workload check`: what profiles would do, or their first error.
//! Refuses to connect anywhere.

use crate::cli::workload::Check;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cql::input;
use helenus_model::built_in;
use helenus_model::format::Format;
use helenus_model::seed::Seed;
use helenus_model::workload::maker::MakerError;
use helenus_model::workload::outline::{Outline, Spread, outline};
use helenus_model::workload::profile::{Profile, ProfileWorkload, Spec, line_of_key};
use helenus_model::workload::{Workload, data_seed};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Checked {
    format: Format,
    /// Root seed.
    seed: u64,
    /// The profiles.
    profiles: Vec<Outline>,
}

impl Answers for Checked {
    fn answer(&self) -> String {
        let each: Vec<String> = self.profiles.iter().map(head).collect();
        each.join("; ")
    }
}

fn head(outline: &Outline) -> String {
    format!("{}: table {}", outline.spec, outline.table)
}

/// One profile that was read, with its text for the lines of later errors.
struct Read {
    path: String,
    text: String,
    spec: Spec,
}

pub(super) fn run(flags: &Check, ui: &Ui) -> Result<(), CommandError> {
    let (profiles, read) = profiles(flags)?;
    let seed = data_seed(Seed(flags.seed));
    let outlines = outline(&profiles, seed, usize::from(flags.rows))
        .map_err(|error| located(&error, &read))?;
    let checked = Checked {
        format: Format::new("workload-check", 1),
        seed: flags.seed,
        profiles: outlines,
    };
    for caution in checked.profiles.iter().flat_map(|o| &o.cautions) {
        ui.caution(caution);
    }
    ui.result(&checked, || {
        let texts: Vec<String> = checked.profiles.iter().map(text).collect();
        texts.join("\n")
    });
    Ok(())
}

fn profiles(flags: &Check) -> Result<(ProfileWorkload, Vec<Read>), CommandError> {
    if let [name] = &flags.files[..] {
        let is_file = Path::new(name).exists() || name.contains(['.', '/']);
        if !is_file {
            return built_in(name, flags).map(|profiles| (profiles, Vec::new()));
        }
    }
    if let Some((name, _)) = flags.params.first() {
        return Err(
            CommandError::new(code::USAGE, format!("a profile has no parameter {name:?}"))
                .hint("leave --param out: a profile's values are in its file".to_owned()),
        );
    }
    let read = flags
        .files
        .iter()
        .map(|path| read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let profiles = ProfileWorkload {
        name: flags.files.join("+"),
        specs: read.iter().map(|read| read.spec.clone()).collect(),
        walk: None,
    };
    Ok((profiles, read))
}

fn built_in(name: &str, flags: &Check) -> Result<ProfileWorkload, CommandError> {
    let known = built_in::find(name).map_err(|error| {
        let hint = format!("{}; a profile is a file, such as {name}.yaml", error.hint());
        CommandError::of(code::USAGE, &error).hint(hint)
    })?;
    let made = known.with(&flags.params)?;
    match made.workload {
        Workload::Profiles(profiles) => Ok(profiles),
        Workload::Standard1 | Workload::Custom(_) => {
            let text = format!("{name} has no profile to check: it has its own implementation");
            Err(CommandError::new(code::USAGE, text))
        }
    }
}

fn read(path: &str) -> Result<Read, CommandError> {
    let text = input::text(Path::new(path))?;
    let profile = Profile::read(&text).map_err(|error| {
        CommandError::of(code::USAGE, &error)
            .hint(error.hint.clone())
            .within(path)
    })?;
    let table = profile
        .defined_table()
        .map_err(|error| CommandError::of(code::USAGE, &error).within(path))?;
    let table = table.ok_or_else(|| {
        CommandError::new(
            code::USAGE,
            format!("{path}: it has no table_definition to check it with"),
        )
        .hint(
            "`helenus workload new` drafts a profile of an existing table, with its definition"
                .to_owned(),
        )
    })?;
    Ok(Read {
        path: path.to_owned(),
        text,
        spec: Spec { profile, table },
    })
}

/// The error with the file and the line that it comes from.
fn located(error: &MakerError, read: &[Read]) -> CommandError {
    let of = |name: &str| read.iter().find(|read| read.spec.profile.specname == *name);
    let own = |operation: &str| operation.rsplit('.').next().unwrap_or_default().to_owned();
    let place = match error {
        MakerError::Column { spec, .. } => {
            of(spec).map(|read| (read, vec!["columnspec".to_owned()]))
        }
        MakerError::Size { spec, .. } => of(spec).map(|read| (read, vec!["columnspec".to_owned()])),
        MakerError::Batch { spec, .. } => of(spec).map(|read| (read, vec!["insert".to_owned()])),
        MakerError::Marker { operation, .. } => {
            let keys = vec!["queries".to_owned(), own(operation), "cql".to_owned()];
            read.iter()
                .find(|read| read.spec.profile.queries.contains_key(&keys[1]))
                .map(|r| (r, keys))
        }
        MakerError::Read { operation, .. } => {
            let keys = vec!["token_range_queries".to_owned(), own(operation)];
            let has = |read: &&Read| read.spec.profile.token_range_queries.contains_key(&keys[1]);
            read.iter().find(has).map(|r| (r, keys.clone()))
        }
        MakerError::Empty | MakerError::Type { .. } => None,
    };
    let failure = CommandError::of(code::USAGE, error).hint(error.hint());
    let Some((read, keys)) = place else {
        return failure;
    };
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    match line_of_key(&read.text, &keys) {
        Some(line) => failure.within(&format!("{}: line {line}", read.path)),
        None => failure.within(&read.path),
    }
}

fn text(outline: &Outline) -> String {
    let mut text = head(outline) + "\n\n";
    let mut operations = Table::new(&["operation", "kind", "statement"]);
    for operation in &outline.operations {
        operations.row([
            operation.name.clone(),
            operation.kind.to_owned(),
            one_line(&operation.cql),
        ]);
    }
    text.push_str(&operations.render());
    let mut sizes = Table::new(&["of a sample", "least", "mean", "most"]);
    let rows = [
        ("rows a partition", outline.rows_a_partition),
        ("bytes a row", outline.bytes_a_row),
        ("partitions an insert", outline.partitions_an_insert),
        ("rows an insert", outline.rows_an_insert),
        ("bytes an insert", outline.bytes_an_insert),
    ];
    for (name, spread) in rows {
        sizes.row(spread_row(name, spread));
    }
    text.push_str(&format!("\n{}", sizes.render()));
    for (number, row) in outline.rows.iter().enumerate() {
        text.push_str(&format!("\nrow {}\n", number + 1));
        let width = outline
            .columns
            .iter()
            .map(|c| c.chars().count())
            .max()
            .unwrap_or(0);
        for (column, value) in outline.columns.iter().zip(row) {
            text.push_str(&format!("  {column:width$}  {value}\n"));
        }
    }
    text
}

fn spread_row(name: &str, spread: Spread) -> [String; 4] {
    [
        name.to_owned(),
        spread.least.to_string(),
        format!("{:.1}", spread.mean),
        spread.most.to_string(),
    ]
}

fn one_line(cql: &str) -> String {
    cql.split_whitespace().collect::<Vec<_>>().join(" ")
}
