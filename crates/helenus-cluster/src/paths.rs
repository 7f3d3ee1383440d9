//! Where Helenus keeps things: cache, state, and the runtime folder of address claims.
//! Refuses a runtime folder that belongs to somebody else or that others may write to.

use crate::error::{Class, Problem};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::env::Env;

/// The folders of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// What can be fetched or computed again: releases, class-data archives.
    pub cache: PathBuf,
    /// Clusters, history: what must not be lost.
    pub state: PathBuf,
    /// Address claims; one a user, shared by every `HELENUS_HOME`, gone after a reboot.
    pub runtime: PathBuf,
}

/// Why the folders could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// Neither `HELENUS_HOME` nor a home folder.
    #[error("no home folder is known for user {uid}")]
    NoHome {
        /// The user id.
        uid: u32,
    },
    /// A variable that has to be an absolute path.
    #[error("{variable} is {value:?}, which is not an absolute path")]
    Relative {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: PathBuf,
    },
    /// A cache whose path the JVM would split.
    #[error("the cache is {}, and Java splits paths at ':'", .0.display())]
    Split(PathBuf),
    /// The runtime folder belongs to another user.
    #[error("{folder} belongs to user {owner}, not to {uid}")]
    Foreign {
        /// The runtime folder.
        folder: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who we are.
        uid: u32,
    },
    /// The runtime folder can be changed by others, or is no folder.
    #[error("{folder} has mode {mode:o}: it must be a folder that only its owner may enter")]
    Open {
        /// The runtime folder.
        folder: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file system refused.
    #[error("the folder cannot be used")]
    Io(#[from] std::io::Error),
}

impl PathsError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoHome { .. } => "set HELENUS_HOME to a folder of your own".to_owned(),
            Self::Relative { variable, .. } => format!("set {variable} to an absolute path"),
            Self::Split(_) => "set HELENUS_CACHE to a folder without a colon".to_owned(),
            Self::Foreign { folder, .. } => format!(
                "set XDG_RUNTIME_DIR to a folder of your own, or ask the owner to remove {}",
                folder.display()
            ),
            Self::Open { folder, .. } => format!("chmod 700 {}", folder.display()),
            Self::Io(_) => "set HELENUS_HOME or HELENUS_CACHE to a writable folder; unset XDG_RUNTIME_DIR where its folder is gone".to_owned(),
        }
    }
}

impl Problem for PathsError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        Some(Self::hint(self))
    }
}

impl Paths {
    /// Where the folders are, by the environment; nothing is made yet.
    ///
    /// # Errors
    /// No home folder, or a variable with a relative path.
    pub fn find(env: &Env) -> Result<Self, PathsError> {
        let own = absolute(env, "HELENUS_HOME")?;
        let xdg = |variable: &str, below_home: &str| {
            let base = env.folder(variable);
            let base = base.or_else(|| env.home.as_ref().map(|home| home.join(below_home)));
            base.map(|b| b.join("helenus"))
                .ok_or(PathsError::NoHome { uid: env.uid })
        };
        let (cache, state) = match &own {
            Some(home) => (home.join("cache"), home.join("state")),
            None => (
                xdg("XDG_CACHE_HOME", ".cache")?,
                xdg("XDG_STATE_HOME", ".local/state")?,
            ),
        };
        let runtime = match env.folder("XDG_RUNTIME_DIR") {
            Some(folder) => folder.join("helenus"),
            None => env.root.join("tmp").join(format!("helenus-{}", env.uid)),
        };
        let cache = absolute(env, "HELENUS_CACHE")?.unwrap_or(cache);
        if cache.as_os_str().as_bytes().contains(&b':') {
            return Err(PathsError::Split(cache));
        }
        Ok(Self {
            cache,
            state,
            runtime,
        })
    }

    /// Makes the runtime folder, or proves that the one that is there is ours alone.
    ///
    /// # Errors
    /// A folder of another user, one that others may enter, or a file system that refuses.
    pub fn secure_runtime(&self, env: &Env) -> Result<&Path, PathsError> {
        let folder = &self.runtime;
        // One level only and mode 0700 from the start: a race with another user's mkdir is lost
        // to the check below, never half won.
        match std::fs::DirBuilder::new().mode(0o700).create(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        let found = fs_err::symlink_metadata(folder)?;
        if found.uid() != env.uid {
            return Err(PathsError::Foreign {
                folder: folder.clone(),
                owner: found.uid(),
                uid: env.uid,
            });
        }
        if !found.is_dir() || found.mode() & 0o077 != 0 {
            return Err(PathsError::Open {
                folder: folder.clone(),
                mode: found.mode(),
            });
        }
        Ok(folder)
    }
}

fn absolute(env: &Env, variable: &'static str) -> Result<Option<PathBuf>, PathsError> {
    match env.var(variable).map(PathBuf::from) {
        Some(value) if value.is_relative() => Err(PathsError::Relative { variable, value }),
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn env(vars: &[(&str, &str)]) -> Env {
        Env {
            vars: vars.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            home: Some("/home/ada".into()),
            uid: rustix::process::geteuid().as_raw(),
            root: "/".into(),
            leash: None,
        }
    }

    fn shown(vars: &[(&str, &str)]) -> [String; 3] {
        let paths = Paths::find(&env(vars)).unwrap();
        [paths.cache, paths.state, paths.runtime].map(|p| p.display().to_string())
    }

    #[test]
    fn folders_follow_xdg_and_helenus_home() {
        let tmp = format!("/tmp/helenus-{}", rustix::process::geteuid().as_raw());
        assert_eq!(
            shown(&[]),
            [
                "/home/ada/.cache/helenus",
                "/home/ada/.local/state/helenus",
                &tmp
            ]
        );
        let xdg = [
            ("XDG_CACHE_HOME", "/c"),
            ("XDG_STATE_HOME", "relative"),
            ("XDG_RUNTIME_DIR", "/run/user/7"),
        ];
        assert_eq!(
            shown(&xdg),
            [
                "/c/helenus",
                "/home/ada/.local/state/helenus",
                "/run/user/7/helenus"
            ]
        );
        let own = [("HELENUS_HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/user/7")];
        assert_eq!(shown(&own), ["/h/cache", "/h/state", "/run/user/7/helenus"]);
        let both = [("HELENUS_HOME", "/h"), ("HELENUS_CACHE", "/shared")];
        assert_eq!(shown(&both), ["/shared", "/h/state", &tmp]);
    }

    #[test]
    fn relative_homes_and_missing_ones_are_refused() {
        let error = Paths::find(&env(&[("HELENUS_HOME", "/a:b")])).unwrap_err();
        assert!(matches!(error, PathsError::Split(_)));
        let elsewhere = [("HELENUS_HOME", "/a:b"), ("HELENUS_CACHE", "/c")];
        Paths::find(&env(&elsewhere)).unwrap();
        let error = Paths::find(&env(&[("HELENUS_HOME", "here")])).unwrap_err();
        assert!(matches!(
            error,
            PathsError::Relative {
                variable: "HELENUS_HOME",
                ..
            }
        ));
        let nobody = Env {
            home: None,
            ..env(&[])
        };
        let error = Paths::find(&nobody).unwrap_err();
        assert!(error.hint().contains("HELENUS_HOME"));
    }

    #[test]
    fn the_runtime_folder_is_ours_alone_or_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let env = env(&[("XDG_RUNTIME_DIR", tmp.path().to_str().unwrap())]);
        let paths = Paths::find(&env).unwrap();
        let folder = paths.secure_runtime(&env).unwrap().to_owned();
        let mode = fs_err::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        paths.secure_runtime(&env).unwrap();

        let other = Env {
            uid: env.uid + 1,
            ..env.clone()
        };
        let error = paths.secure_runtime(&other).unwrap_err();
        assert!(matches!(error, PathsError::Foreign { .. }), "{error}");

        let open = std::fs::Permissions::from_mode(0o755);
        fs_err::set_permissions(&folder, open).unwrap();
        let error = paths.secure_runtime(&env).unwrap_err();
        assert!(error.hint().starts_with("chmod 700 "), "{error}");

        // A link, even to a folder of our own, is not the folder.
        fs_err::remove_dir(&folder).unwrap();
        let target = tmp.path().join("target");
        fs_err::create_dir(&target).unwrap();
        symlink(&target, &folder).unwrap();
        assert!(matches!(
            paths.secure_runtime(&env),
            Err(PathsError::Open { .. })
        ));
    }
}
