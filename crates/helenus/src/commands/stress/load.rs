//! The workload of a stress line: built in, or from the profiles that it names.
//! Refuses two profiles of one name, and a profile without the table's definition.

use crate::error::{CommandError, code};
use fs_err as fs;
use helenus_model::stress::{Command, Stress};
use helenus_model::workload::Workload;
use helenus_model::workload::profile::{Profile, ProfileWorkload, Spec};

/// What a line writes to and reads from.
pub(super) struct Loaded {
    pub(super) workload: Workload,
    /// Statements that make keyspaces and tables.
    pub(super) schema: Vec<String>,
    /// Tables that it is about: keyspace and name.
    pub(super) tables: Vec<(String, String)>,
}

pub(super) fn load(stress: &Stress) -> Result<Loaded, CommandError> {
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
        let spec = spec(stress, path)?;
        if specs
            .iter()
            .any(|s| s.profile.specname == spec.profile.specname)
        {
            let text = format!(
                "{path}: another profile has the name {}, too",
                spec.profile.specname
            );
            return Err(CommandError::new(code::BAR, text)
                .hint("give each a specname: of its own".to_owned()));
        }
        specs.push(spec);
    }
    let workload = ProfileWorkload {
        name: specs
            .first()
            .map_or_else(String::new, |spec| spec.profile.specname.clone()),
        specs,
    };
    let tables = workload.specs.iter();
    let tables = tables.map(|spec| (spec.table.keyspace.clone(), spec.table.name.clone()));
    Ok(Loaded {
        schema: workload.schema(),
        tables: tables.collect(),
        workload: Workload::Profiles(workload),
    })
}

fn spec(stress: &Stress, path: &str) -> Result<Spec, CommandError> {
    let local = path.strip_prefix("file://").unwrap_or(path);
    let text = fs::read_to_string(local).map_err(|e| CommandError::of(code::BAR, &e))?;
    let mut profile =
        Profile::read(&text).map_err(|e| CommandError::of(code::BAR, &e).within(path))?;
    let table = profile
        .defined_table()
        .map_err(|e| CommandError::of(code::BAR, &e).within(path))?;
    let table = table.ok_or_else(|| {
        CommandError::new(code::BAR, format!("{path} has no table_definition"))
            .hint("add the table's CREATE TABLE as table_definition".to_owned())
    })?;
    profile.insert = stress.inserts(profile.insert);
    Ok(Spec { profile, table })
}
