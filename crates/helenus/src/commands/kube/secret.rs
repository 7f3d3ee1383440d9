//! `helenus kube secret`: a Secret as a manifest that only its owner can read.
//! Refuses values on the command line and on standard output.

use crate::cli::kube::{Secret, SecretOf};
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::{Answers, Ui};
use helenus_cql::input;
use helenus_model::format::Format;
use helenus_model::kube::secret::{BucketReader, bucket, superuser};
use helenus_model::yaml::document::Mapping;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What stands for a value that is not shown.
const HIDDEN: &str = "***";

/// A Secret that was written, or would be.
#[derive(Serialize)]
struct Written {
    format: Format,
    /// Name of the Secret.
    name: String,
    /// Its namespace, where one was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// The file; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    /// The manifest without its values.
    manifest: String,
}

impl Answers for Written {
    fn answer(&self) -> String {
        match &self.file {
            Some(file) => format!(
                "secret {} written to {1}, which only you can read: kubectl apply -f {1}",
                self.name,
                file.display()
            ),
            None => format!("secret {}: nothing was written (--dry-run)", self.name),
        }
    }
}

pub(super) fn run(flags: &Secret, ui: &Ui) -> Result<u8, CommandError> {
    let shown = manifest(flags, HIDDEN, HIDDEN).render();
    let written = Written {
        format: Format::new("kube-secret", 1),
        name: flags.name.clone(),
        namespace: flags.namespace.clone(),
        file: flags.output.clone().filter(|_| !flags.dry_run),
        manifest: shown,
    };
    if let Some(file) = &written.file {
        let user = match &flags.user {
            Some(user) => user.clone(),
            None => value(
                "--user-env, --user-file or --user",
                flags.user_env.as_deref(),
                flags.user_file.as_deref(),
            )?,
        };
        let password = value(
            "--password-env or --password-file",
            flags.password_env.as_deref(),
            flags.password_file.as_deref(),
        )?;
        let text = manifest(flags, &user, &password).render();
        outfile::write_private(file, text.as_bytes())?;
    }
    ui.result(&written, || match written.file {
        Some(_) => written.answer() + "\n",
        None => format!("{}\n{}\n", written.manifest, written.answer()),
    });
    Ok(0)
}

fn manifest(flags: &Secret, user: &str, password: &str) -> Mapping {
    let (name, namespace) = (&flags.name, flags.namespace.as_deref());
    match flags.of {
        SecretOf::Superuser => superuser(name, namespace, user, password),
        SecretOf::Bucket => bucket(name, namespace, BucketReader::Operator, user, password),
        SecretOf::BucketOfChart => bucket(name, namespace, BucketReader::Chart, user, password),
    }
}

/// A value from where it was said to be.
fn value(flags: &str, variable: Option<&str>, file: Option<&Path>) -> Result<String, CommandError> {
    let usage = |text: String| CommandError::new(code::USAGE, text);
    let value = match (variable, file) {
        (Some(name), _) => std::env::var(name).map_err(|_| {
            usage(format!("the variable {name} is not set, or is no text"))
                .hint(format!("export {name} before, or name a file"))
        })?,
        (None, Some(path)) => input::text(path)?.trim_end_matches(['\n', '\r']).to_owned(),
        (None, None) => {
            return Err(usage("a value of the Secret is missing".to_owned())
                .hint(format!("say where it is with {flags}")));
        }
    };
    match value.is_empty() {
        true => Err(usage("a value of the Secret is empty".to_owned())
            .hint(format!("say where it is with {flags}"))),
        false => Ok(value),
    }
}
