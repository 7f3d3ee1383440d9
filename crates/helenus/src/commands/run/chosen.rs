//! Which workload words mean: a built-in one with its parameters, or profiles from files.
//! Refuses to guess: what is neither gets the nearest word.

use crate::error::{CommandError, code};
use helenus_cluster::context::Context;
use helenus_cluster::shell;
use helenus_cql::input;
use helenus_cql::schema::{self, SchemaError};
use helenus_model::built_in::find;
use helenus_model::nearest::nearest;
use helenus_model::run_plan::Positions;
use helenus_model::table::Table;
use helenus_model::workload::Workload;
use helenus_model::workload::profile::{Profile, ProfileWorkload, Spec};
use std::path::Path;

/// Looks a table up where a run goes, by its keyspace and its name.
pub(crate) type Live<'a> = &'a dyn Fn(&str, &str) -> Result<Table, CommandError>;

/// A table as a cluster of this user has it.
///
/// # Errors
/// No node answers, or there is no such table.
pub(crate) fn live_table(
    context: &Context,
    cluster: &str,
    keyspace: &str,
    table: &str,
) -> Result<Table, CommandError> {
    let state = context.clusters.load(cluster)?;
    let mut client = shell::connect(&state, None)?;
    let described = schema::table(&mut client, keyspace, table).map_err(|error| {
        let usage = matches!(error, SchemaError::Absent { .. });
        let code = if usage { code::USAGE } else { code::CLUSTER };
        CommandError::of(code, &error).hint(error.hint())
    })?;
    Ok(described.table)
}

/// A workload, and what it says of how it is run.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    /// Tables, statements and data.
    pub(crate) workload: Workload,
    /// What is run one after the other: at least one.
    pub(crate) phases: Vec<ChosenPhase>,
}

/// One phase, as far as the workload says.
#[derive(Debug, Clone)]
pub(crate) struct ChosenPhase {
    /// Its name.
    pub(crate) name: String,
    /// Its own mix; empty where it has none.
    pub(crate) mix: Vec<(String, u32)>,
    /// Operations, where it says so.
    pub(crate) count: Option<u64>,
    /// Partitions, where it says so.
    pub(crate) population: Option<u64>,
    /// Which of them an operation takes, where it says so.
    pub(crate) positions: Option<Positions>,
}

impl ChosenPhase {
    /// A phase of which nothing is said.
    fn open(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            mix: Vec::new(),
            count: None,
            population: None,
            positions: None,
        }
    }
}

impl Chosen {
    /// Partitions that there are to be, where the workload says so.
    pub(crate) fn population(&self) -> Option<u64> {
        self.phases.iter().find_map(|phase| phase.population)
    }

    /// Asks for options of its tables beside its own.
    ///
    /// # Errors
    /// An option that no table has, or a workload that takes none.
    pub(crate) fn with_table_options(&mut self, options: &[String]) -> Result<(), CommandError> {
        Ok(self.workload.with_table_options(options)?)
    }
}

/// The workload of these words; only one of its phases, where one is named.
///
/// # Errors
/// A name that is not known, a phase or a parameter that it does not have, a file that is no profile.
pub(crate) fn choose(
    words: &str,
    params: &[(String, String)],
    phase: Option<&str>,
) -> Result<Chosen, CommandError> {
    choose_on(words, params, phase, None)
}

/// As [`choose`]; the table of a profile that does not define it is looked up where the run goes.
///
/// # Errors
/// As [`choose`], or there is no such table there.
pub(crate) fn choose_on(
    words: &str,
    params: &[(String, String)],
    phase: Option<&str>,
    live: Option<Live<'_>>,
) -> Result<Chosen, CommandError> {
    if is_files(words) {
        return profiles(words, params, phase, live);
    }
    let known = find(words).map_err(|e| {
        let hint = format!("{}; a profile is a file: {words}.yaml", e.hint());
        CommandError::of(code::USAGE, &e).hint(hint)
    })?;
    let made = known.with(params)?;
    let names: Vec<&str> = known.phases.iter().map(|phase| phase.name).collect();
    if let Some(asked) = phase
        && !names.contains(&asked)
    {
        let text = format!("{words} has no phase {asked:?}");
        let hint = match nearest(asked, names.iter().copied()) {
            Some(near) => format!("did you mean {near}? it has {}", names.join(", ")),
            None => format!("it has {}", names.join(", ")),
        };
        return Err(CommandError::new(code::USAGE, text).hint(hint));
    }
    let wanted = made.phases.into_iter();
    let wanted = wanted.filter(|made| phase.is_none_or(|asked| made.name == asked));
    let phases: Vec<ChosenPhase> = wanted
        .map(|made| ChosenPhase {
            name: made.name,
            mix: made.mix,
            count: Some(made.count),
            population: Some(made.population),
            positions: Some(made.positions),
        })
        .collect();
    Ok(Chosen {
        workload: made.workload,
        phases: match phases.is_empty() {
            true => vec![ChosenPhase::open("main")],
            false => phases,
        },
    })
}

/// Whether these words name files and no built-in workload.
pub(crate) fn is_files(words: &str) -> bool {
    let yaml = |path: &str| path.ends_with(".yaml") || path.ends_with(".yml");
    words
        .split(',')
        .any(|path| yaml(path) || path.contains('/'))
}

/// Profiles from files, separated by commas.
fn profiles(
    words: &str,
    params: &[(String, String)],
    phase: Option<&str>,
    live: Option<Live<'_>>,
) -> Result<Chosen, CommandError> {
    if let Some(phase) = phase {
        let text = format!("a profile has no phase {phase:?}");
        return Err(CommandError::new(code::USAGE, text)
            .hint("leave --phase out, and name the operations with --ops".to_owned()));
    }
    if let Some((name, _)) = params.first() {
        let text = format!("a profile has no parameter {name:?}");
        return Err(CommandError::new(code::USAGE, text).hint("leave --param out".to_owned()));
    }
    let mut specs: Vec<Spec> = Vec::new();
    let mut names = Vec::new();
    for path in words.split(',') {
        let spec = spec(Path::new(path), live)?;
        if specs
            .iter()
            .any(|s| s.profile.specname == spec.profile.specname)
        {
            let text = format!("two profiles are named {:?}", spec.profile.specname);
            return Err(CommandError::new(code::USAGE, text)
                .hint("give one of them another specname".to_owned()));
        }
        let stem = Path::new(path).file_stem().unwrap_or_default();
        names.push(stem.to_string_lossy().into_owned());
        specs.push(spec);
    }
    Ok(Chosen {
        workload: Workload::Profiles(ProfileWorkload {
            name: names.join("+"),
            specs,
            walk: None,
        }),
        phases: vec![ChosenPhase::open("main")],
    })
}

/// One profile with its table.
fn spec(path: &Path, live: Option<Live<'_>>) -> Result<Spec, CommandError> {
    let text = input::text(path)?;
    let at = path.display().to_string();
    let profile = Profile::read(&text).map_err(|e| {
        let hint = e.hint.clone();
        CommandError::new(code::USAGE, format!("{at}, {e}")).hint(hint)
    })?;
    let table = profile
        .defined_table()
        .map_err(|e| CommandError::of(code::USAGE, &e).within(&at))?;
    let table = match (table, live) {
        (Some(table), _) => table,
        (None, Some(live)) => live(&profile.keyspace, &profile.table)?,
        (None, None) => {
            let text = format!("{at} has no table_definition");
            return Err(CommandError::new(code::USAGE, text).hint(
                "add the table's CREATE TABLE statement, or name the cluster that has the table with --cluster"
                    .to_owned(),
            ));
        }
    };
    Ok(Spec { profile, table })
}
