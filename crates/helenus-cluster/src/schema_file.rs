//! GIVEN: the schema that comes with `up`, run once the cluster is ready, and kept beside its state.
//! Refuses to go on behind a statement that failed, and to run anything else than what stands in the file.

use crate::context::Context;
use crate::error::{Class, ClusterError, Problem};
use crate::marks::SchemaMark;
use crate::origin;
use crate::ready::ReadyError;
use crate::remove;
use crate::shell;
use crate::state::ClusterState;
use crate::stored;
use helenus_cql::{ClientError, InputError, Statement, input, split_statements};
use helenus_model::hex::sha256;
use helenus_model::plan::ClusterPlan;
use helenus_model::schema_text::{Fitted, fit};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The text in a cluster's folder.
const SCHEMA_FILE: &str = "schema.cql";

/// A file of statements.
#[derive(Debug, Clone)]
pub struct SchemaFile {
    path: PathBuf,
    text: String,
    statements: Vec<Statement>,
}

/// A replication that was fitted, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// `file:line`.
    pub place: String,
    /// What was changed.
    pub fitted: Fitted,
}

/// Why a schema could not be given.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// The file.
    #[error(transparent)]
    Unreadable(InputError),
    /// No statement.
    #[error("{0} contains no statement")]
    Empty(PathBuf),
    /// The server, or the way to it.
    #[error("{place}: {statement} failed; {done} of {of} statements were run")]
    Refused {
        /// `file:line`.
        place: String,
        /// Its first words.
        statement: String,
        /// Run before it.
        done: usize,
        /// In all.
        of: usize,
        /// Cluster.
        cluster: String,
        /// Why.
        source: Box<ClientError>,
    },
}

impl Problem for GivenError {
    fn class(&self) -> Class {
        Class::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable(source) => source.hint(),
            Self::Empty(_) => Some("leave --schema out, or name a file with statements".into()),
            Self::Refused { cluster, .. } => Some(format!(
                "{cluster} still runs, so that you can look; `helenus rm {cluster}` removes it before another try"
            )),
        }
    }
}

impl SchemaFile {
    /// Reads a file, before anything is started for it.
    ///
    /// # Errors
    /// It cannot be read, is not UTF-8, or holds no statement.
    pub fn read(path: &Path) -> Result<Self, GivenError> {
        let text = input::text(path).map_err(GivenError::Unreadable)?;
        let statements = split_statements(&text);
        if statements.is_empty() {
            return Err(GivenError::Empty(path.to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            text,
            statements,
        })
    }

    /// Which replications cannot be had in a cluster of this plan, and what they become.
    pub fn notes(&self, plan: &ClusterPlan) -> Vec<Note> {
        let there = data_centers(plan);
        let fitted = self.statements.iter().filter_map(|statement| {
            Some(Note {
                place: self.place(statement),
                fitted: fit(&statement.text, &there)?,
            })
        });
        fitted.collect()
    }

    fn place(&self, statement: &Statement) -> String {
        format!("{}:{}", self.path.display(), statement.line)
    }
}

fn data_centers(plan: &ClusterPlan) -> BTreeMap<String, usize> {
    let mut there = BTreeMap::new();
    for node in &plan.nodes {
        *there.entry(node.data_center.clone()).or_default() += 1;
    }
    there
}

/// Runs a schema in a cluster that is ready, keeps its text, and records the state as the one that a reset leads back
/// to. `progress` gets the number of statements that were run, of how many.
///
/// # Errors
/// A statement fails: the cluster stays as it is then, with nothing recorded. Or a file cannot be written. A cluster
/// whose `up` is interrupted here is removed, as at any other moment of it.
pub fn give(
    context: &Context,
    name: &str,
    schema: &SchemaFile,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ClusterState, ClusterError> {
    let lock = context.clusters.lock(name)?;
    let result = give_locked(context, name, schema, progress);
    drop(lock);
    if result.is_err() && context.cancel.is_set() {
        remove::remove(context, name)?;
        return Err(ReadyError::Interrupted.into());
    }
    result
}

fn give_locked(
    context: &Context,
    name: &str,
    schema: &SchemaFile,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ClusterState, ClusterError> {
    let mut state = context.clusters.load(name)?;
    let folder = context.clusters.folder(name);
    // Before it is run: what a statement that failed belongs to can be looked at.
    stored::replace(&folder.join(SCHEMA_FILE), schema.text.as_bytes())
        .map_err(ClusterError::io("the schema's copy"))?;
    let mut client = shell::connect(&state, None)?;
    client.set_timeout(shell::SCHEMA_WITHIN);
    let there = data_centers(&state.plan);
    let of = schema.statements.len();
    for (done, statement) in schema.statements.iter().enumerate() {
        if context.cancel.is_set() {
            return Err(ReadyError::Interrupted.into());
        }
        progress(done, of);
        let mut run = statement.clone();
        if let Some(fitted) = fit(&statement.text, &there) {
            run.text = fitted.statement;
        }
        shell::run(&state, &mut client, &run).map_err(|source| GivenError::Refused {
            place: schema.place(statement),
            statement: first_words(&statement.text),
            done,
            of,
            cluster: name.to_owned(),
            source: Box::new(source),
        })?;
    }
    state.schema = Some(SchemaMark {
        from: schema.path.clone(),
        sha256: sha256(&schema.text),
        statements: of,
    });
    context.save(&state)?;
    if state.runtime.fake.is_none() {
        origin::record(context, &state, None)?;
    }
    Ok(state)
}

/// Enough of a statement to know it; values, which may be secret, come later.
fn first_words(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().take(3).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_without_a_statement_is_refused_and_the_copy_is_the_owner_s_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.cql");
        assert!(matches!(
            SchemaFile::read(&file),
            Err(GivenError::Unreadable(_))
        ));
        fs::write(&file, "-- nothing\n;").unwrap();
        assert!(matches!(SchemaFile::read(&file), Err(GivenError::Empty(_))));
        fs::write(&file, "\nCREATE ROLE r WITH PASSWORD = 'x';").unwrap();
        let read = SchemaFile::read(&file).unwrap();
        assert!(read.place(&read.statements[0]).ends_with("s.cql:2"));
        assert_eq!(first_words(&read.statements[0].text), "CREATE ROLE r");
        let copy = folder.path().join(SCHEMA_FILE);
        stored::replace(&copy, b"text").unwrap();
        let mode = fs::metadata(copy).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256("abc"), known);
    }
}
