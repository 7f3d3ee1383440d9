//! The workload of a stress line: built in, or from the profiles that it names.
//! Refuses two profiles of one name.

use crate::commands::run::live_table;
use crate::error::{CommandError, code};
use helenus_cluster::context::Context;
use helenus_cql::input;
use helenus_model::stress::{Command, Stress};
use helenus_model::workload::Workload;
use helenus_model::workload::profile::{Profile, ProfileWorkload, Spec};
use std::path::Path;

/// What a line writes to and reads from.
pub(super) struct Loaded {
    pub(super) workload: Workload,
    /// Statements that make keyspaces and tables.
    pub(super) schema: Vec<String>,
    /// Tables that it is about: keyspace and name.
    pub(super) tables: Vec<(String, String)>,
}

/// The workload; a table that a profile does not define is looked up in `live`, a cluster of this user.
pub(super) fn load(
    stress: &Stress,
    live: Option<(&Context, &str)>,
) -> Result<Loaded, CommandError> {
    if let Some(workload) = stress.workload() {
        return Ok(Loaded {
            workload,
            schema: stress.schema_statements(),
            tables: stress.tables(),
        });
    }
    let Command::User { profiles, .. } = &stress.command else {
        return Err(CommandError::new(code::BAR, "the line has no workload"));
    };
    let mut specs: Vec<Spec> = Vec::new();
    for path in profiles {
        let spec = spec(stress, path, live)?;
        if specs
            .iter()
            .any(|s| s.profile.specname == spec.profile.specname)
        {
            let text = format!(
                "{path}: another profile is also named {}",
                spec.profile.specname
            );
            return Err(
                CommandError::new(code::BAR, text).hint("give each another specname:".to_owned())
            );
        }
        specs.push(spec);
    }
    let workload = ProfileWorkload {
        name: specs
            .first()
            .map_or_else(String::new, |spec| spec.profile.specname.clone()),
        specs,
        walk: Some(stress.walk().map_err(|e| CommandError::of(code::BAR, &e))?),
    };
    let tables = workload.specs.iter();
    let tables = tables.map(|spec| (spec.table.keyspace.clone(), spec.table.name.clone()));
    Ok(Loaded {
        schema: workload.schema(),
        tables: tables.collect(),
        workload: Workload::Profiles(workload),
    })
}

/// Whether every profile can be read, before anything is looked at.
pub(super) fn check(stress: &Stress) -> Result<(), CommandError> {
    let Command::User { profiles, .. } = &stress.command else {
        return Ok(());
    };
    profiles
        .iter()
        .try_for_each(|path| profile(path).map(|_| ()))
}

fn profile(path: &str) -> Result<Profile, CommandError> {
    let local = path.strip_prefix("file://").unwrap_or(path);
    let text = input::text(Path::new(local))?;
    Profile::read(&text).map_err(|e| {
        let hint = e.hint.clone();
        CommandError::of(code::BAR, &e).within(path).hint(hint)
    })
}

fn spec(stress: &Stress, path: &str, live: Option<(&Context, &str)>) -> Result<Spec, CommandError> {
    let mut profile = profile(path)?;
    let table = profile
        .defined_table()
        .map_err(|e| CommandError::of(code::BAR, &e).within(path))?;
    let table = match (table, live) {
        (Some(table), _) => table,
        (None, Some((context, cluster))) => {
            live_table(context, cluster, &profile.keyspace, &profile.table)?
        }
        (None, None) => {
            let text = format!("{path} has no table_definition");
            return Err(CommandError::new(code::BAR, text)
                .hint("add the table's CREATE TABLE as table_definition".to_owned()));
        }
    };
    profile.insert = stress.inserts(profile.insert);
    Ok(Spec { profile, table })
}
