//! What is known of clusters that other programs run: one file each, in the state folder.
//! Refuses a half-written file: each takes the place of the one before in one step; and two commands that change a
//! cluster at the same time.

use crate::error::{Class, Problem};
use crate::lock;
use crate::stored::{self, ReadError, there};
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

    /// Name and newest version of the format of its file.
    const FORMAT: (&'static str, u32);

    /// Its name.
    fn name(&self) -> &str;

    /// Its id: a cluster of the same name later has another one.
    fn id(&self) -> Option<&str>;
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
        source: ReadError,
    },
    /// Another helenus changes it now.
    #[error("another helenus is working on cluster {0}")]
    Busy(String),
    /// Another one has its name now.
    #[error("cluster {0} was removed and created again meanwhile")]
    Remade(String),
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
            Self::Unknown { .. } | Self::Busy(_) | Self::Remade(_) => Class::Usage,
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
            Self::Busy(_) => "wait until it is done, or stop it".to_owned(),
            Self::Remade(_) => "repeat the command for the new one".to_owned(),
            Self::Io(_) | Self::Unkept(_) => "set HELENUS_HOME to a writable folder".to_owned(),
        })
    }
}

/// The right to change a cluster; it ends when this is dropped, or the process ends.
#[derive(Debug)]
pub struct KeptLock {
    _file: fs::File,
    path: PathBuf,
    state: PathBuf,
}

impl Drop for KeptLock {
    fn drop(&mut self) {
        // Deleted while it is held: who waits for it sees that, and takes another file.
        if matches!(self.state.try_exists(), Ok(false)) {
            let _best_effort = fs::remove_file(&self.path);
        }
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
        let (format, newest) = S::FORMAT;
        let state = stored::read(&self.file(name), format, newest);
        state.map_err(|source| KeptError::Unreadable {
            name: name.to_owned(),
            source,
        })
    }

    /// Takes the right to change the cluster of this name, which there need not be yet.
    ///
    /// # Errors
    /// Another helenus has it, or the folder cannot be written.
    pub fn lock(&self, name: &str) -> Result<KeptLock, KeptError> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("{name}.lock"));
        loop {
            let mut options = fs::OpenOptions::new();
            let file = options.create(true).append(true).open(&path)?;
            if !lock::take_soon(&file)? {
                return Err(KeptError::Busy(name.to_owned()));
            }
            if lock::has_name(&file)? {
                return Ok(KeptLock {
                    _file: file,
                    path,
                    state: self.file(name),
                });
            }
        }
    }

    /// Takes the right to change a cluster, with its state, which nobody else changes from now on.
    ///
    /// # Errors
    /// As [`Self::load`] and [`Self::lock`].
    pub fn hold(&self, name: &str) -> Result<(KeptLock, S), KeptError> {
        self.load(name)?;
        let lock = self.lock(name)?;
        Ok((lock, self.load(name)?))
    }

    /// The same for who has looked at a cluster before, and changes that one only.
    ///
    /// # Errors
    /// As [`Self::hold`], or another cluster has its name now.
    pub fn hold_again(&self, seen: &S) -> Result<(KeptLock, S), KeptError> {
        let (lock, state) = self.hold(seen.name())?;
        match state.id() == seen.id() {
            true => Ok((lock, state)),
            false => Err(KeptError::Remade(seen.name().to_owned())),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::with_causes;
    use helenus_model::format::Format;
    use serde::Deserialize;

    #[derive(Debug, Serialize, Deserialize)]
    struct One {
        format: Format,
        id: Option<String>,
    }

    impl Keep for One {
        const FOLDER: &'static str = "ones";
        const WHERE: &'static str = "is here";
        const FORMAT: (&'static str, u32) = ("one", 1);

        fn name(&self) -> &str {
            "demo"
        }

        fn id(&self) -> Option<&str> {
            self.id.as_deref()
        }
    }

    fn one(version: u32, id: &str) -> One {
        One {
            format: Format::new("one", version),
            id: Some(id.to_owned()),
        }
    }

    #[test]
    fn one_command_at_a_time_changes_a_cluster() {
        let home = tempfile::tempdir().unwrap();
        let all = Kept::<One>::of(home.path());
        assert!(matches!(all.hold("demo"), Err(KeptError::Unknown { .. })));
        all.save(&one(1, "a")).unwrap();
        let (held, _) = all.hold("demo").unwrap();
        let second = all.hold("demo").unwrap_err();
        assert_eq!(
            second.to_string(),
            "another helenus is working on cluster demo"
        );
        drop(held);
        let (held, _) = all.hold("demo").unwrap();
        all.forget("demo").unwrap();
        drop(held);
        let left: Vec<_> = fs::read_dir(home.path().join("ones")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn what_was_seen_is_changed_only_while_it_is_there() {
        let home = tempfile::tempdir().unwrap();
        let all = Kept::<One>::of(home.path());
        let seen = one(1, "a");
        all.save(&seen).unwrap();
        all.hold_again(&seen).unwrap();
        all.save(&one(1, "b")).unwrap();
        let other = all.hold_again(&seen).unwrap_err();
        assert!(matches!(other, KeptError::Remade(_)), "{other}");
        all.forget("demo").unwrap();
        let gone = all.hold_again(&seen).unwrap_err();
        assert!(matches!(gone, KeptError::Unknown { .. }), "{gone}");
    }

    #[test]
    fn the_state_of_a_newer_version_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let all = Kept::<One>::of(home.path());
        all.save(&one(2, "a")).unwrap();
        let newer = with_causes(&all.load("demo").unwrap_err());
        assert!(newer.contains("newer Helenus"), "{newer}");
    }
}
