//! From a reference to a secret's value, at the last moment.
//! Refuses files that others can read, and never shows a value.

#![expect(
    clippy::disallowed_methods,
    reason = "SecretError names the path; fs_err would name it twice"
)]

use helenus_cql::input;
use helenus_model::run_plan::SecretReference;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Values that came over a descriptor of their own, by the variable's name or the file's path.
/// What is not among them is looked up where the reference says.
#[derive(Default)]
pub struct Secrets(BTreeMap<String, String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} values, not shown)", self.0.len())
    }
}

/// Why a secret could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The variable is not set.
    #[error("the environment variable {0} is not set")]
    Unset(String),
    /// The file cannot be read.
    #[error("cannot read the secret file {path}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file that is no secret, but needed beside one.
    #[error("cannot read {path}")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Others can read the file.
    #[error("the secret file {path} can be read by others (mode {mode:03o}): chmod 600 {path}")]
    Open {
        /// Its path.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// What came over the descriptor is not a JSON object of texts.
    #[error("the secrets handed over are not a JSON object of texts")]
    Shape,
}

impl Secrets {
    /// Reads a JSON object of texts: names or paths, and their values.
    ///
    /// # Errors
    /// Anything else; the error does not quote it.
    pub fn from_json(json: &str) -> Result<Self, SecretError> {
        serde_json::from_str(json)
            .map(Self)
            .map_err(|_quotes_the_text| SecretError::Shape)
    }

    /// What came for this variable or file.
    pub(crate) fn handed_over(&self, name: &str) -> Option<&String> {
        self.0.get(name)
    }

    pub(crate) fn value(&self, reference: &SecretReference) -> Result<String, SecretError> {
        let (SecretReference::Variable(name) | SecretReference::File(name)) = reference;
        if let Some(value) = self.handed_over(name) {
            return Ok(value.clone());
        }
        match reference {
            SecretReference::Variable(name) => {
                std::env::var(name).map_err(|_unset| SecretError::Unset(name.clone()))
            }
            SecretReference::File(path) => read_private(path),
        }
    }
}

fn read_private(path: &str) -> Result<String, SecretError> {
    let failed = |source| SecretError::File {
        path: path.to_owned(),
        source,
    };
    let mode = std::fs::metadata(path)
        .map_err(failed)?
        .permissions()
        .mode()
        & 0o777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Open {
            path: path.to_owned(),
            mode,
        });
    }
    let text = input::text(Path::new(path)).map_err(|error| failed(error.bare()))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handed_over_values_come_first_and_are_never_shown() {
        let secrets = Secrets::from_json(r#"{"CQL_PASSWORD":"s3cret"}"#).expect("reads");
        let wanted = SecretReference::Variable("CQL_PASSWORD".to_owned());
        assert_eq!(secrets.value(&wanted).expect("is there"), "s3cret");
        assert!(!format!("{secrets:?}").contains("s3cret"));
        let unset = SecretReference::Variable("HELENUS_NO_SUCH_VARIABLE".to_owned());
        assert!(matches!(secrets.value(&unset), Err(SecretError::Unset(_))));
        let bad = Secrets::from_json(r#"["s3cret"]"#).expect_err("a list");
        assert!(!format!("{bad} {bad:?}").contains("s3cret"));
    }

    #[test]
    fn a_file_must_be_private() {
        let path = std::env::temp_dir().join(format!("helenus-secret-{}", std::process::id()));
        std::fs::write(&path, "s3cret\n").expect("writes");
        let wanted = SecretReference::File(path.display().to_string());
        let with_mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("chmod");
            Secrets::default().value(&wanted)
        };
        assert!(matches!(
            with_mode(0o644),
            Err(SecretError::Open { mode: 0o644, .. })
        ));
        assert_eq!(with_mode(0o600).expect("private"), "s3cret");
        std::fs::remove_file(&path).expect("removes");
    }
}
