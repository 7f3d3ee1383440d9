//! What is known of clusters that other programs run: one file each, in the state folder.
//! Refuses a half-written file: each takes the place of the one before in one step.

use crate::error::{Class, Problem};
use crate::stored::{self, there};
use fs_err as fs;
use helenus_model::topology::name_hint;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// What is known of one cluster.
pub trait Keep: Serialize + DeserializeOwned {
    /// Its folder in the state folder, which is also the verb that makes it.
    const FOLDER: &'static str;

    /// Where such clusters are, behind "no cluster NAME": `on Kubernetes`.
    const WHERE: &'static str;

    /// Its name.
    fn name(&self) -> &str;
}

/// Why a cluster is not known.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// No such cluster.
    #[error("no cluster {name:?} {place}")]
    Unknown {
        /// Asked for.
        name: String,
        /// Where it was looked for.
        place: &'static str,
        /// The verb that makes such clusters.
        verb: &'static str,
        /// All names.
        known: Vec<String>,
    },
    /// Its file cannot be read.
    #[error("the state of {name} cannot be read")]
    Unreadable {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The folder cannot be used.
    #[error("the state folder cannot be used")]
    Io(#[from] io::Error),
    /// Its file cannot be written or deleted.
    #[error("cannot save the state of the cluster")]
    Unkept(#[source] io::Error),
}

impl Problem for KeptError {
    fn class(&self) -> Class {
        match self {
            Self::Unknown { .. } => Class::Usage,
            _ => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { known, verb, .. } if known.is_empty() => {
                format!("helenus {verb} up NAME creates one")
            }
            Self::Unknown { name, known, .. } => name_hint(name, known),
            Self::Unreadable { .. } => {
                "use the version of helenus that made it, or remove the cluster by hand".to_owned()
            }
            Self::Io(_) | Self::Unkept(_) => "set HELENUS_HOME to a writable folder".to_owned(),
        })
    }
}

/// The clusters of one kind of this user.
#[derive(Debug, Clone)]
pub struct Kept<S> {
    folder: PathBuf,
    of: PhantomData<S>,
}

impl<S: Keep> Kept<S> {
    /// In this state folder.
    pub fn of(state: &Path) -> Self {
        Self {
            folder: state.join(S::FOLDER),
            of: PhantomData,
        }
    }

    /// What is kept of a cluster beside its state.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Their names, sorted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let Some(entries) = there(fs::read_dir(&self.folder))? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// The cluster of this name.
    ///
    /// # Errors
    /// No such one, or its file cannot be read.
    pub fn load(&self, name: &str) -> Result<S, KeptError> {
        let known = self.names()?;
        if !known.iter().any(|one| one == name) {
            return Err(KeptError::Unknown {
                name: name.to_owned(),
                place: S::WHERE,
                verb: S::FOLDER,
                known,
            });
        }
        let read = fs::read(self.file(name));
        let state = read.and_then(|text| serde_json::from_slice(&text).map_err(io::Error::from));
        state.map_err(|source| KeptError::Unreadable {
            name: name.to_owned(),
            source,
        })
    }

    /// The same, or none where there is no such one.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn find(&self, name: &str) -> Result<Option<S>, KeptError> {
        match self.load(name) {
            Err(KeptError::Unknown { .. }) => Ok(None),
            loaded => loaded.map(Some),
        }
    }

    /// Keeps a cluster's state, in one step.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, state: &S) -> Result<(), KeptError> {
        let made = fs::create_dir_all(&self.folder);
        made.and_then(|()| stored::write(&self.file(state.name()), state))
            .map_err(KeptError::Unkept)
    }

    /// Forgets a cluster.
    ///
    /// # Errors
    /// Its files cannot be deleted.
    pub fn forget(&self, name: &str) -> Result<(), KeptError> {
        let gone = |deleted| there(deleted).map(drop).map_err(KeptError::Unkept);
        gone(fs::remove_dir_all(self.folder(name)))?;
        gone(fs::remove_file(self.file(name)))
    }
}
