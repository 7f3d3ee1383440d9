//! `helenus kube secret`: a Secret as a manifest that only its owner can read.
//! Refuses values on the command line and on standard output.

use super::asked;
use crate::cli::kube::{Secret, SecretOf, SecretValues, TlsStores};
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::kube;
use helenus_cql::input;
use helenus_model::format::Format;
use helenus_model::kube::options::Options;
use helenus_model::kube::render;
use helenus_model::kube::secret::{BucketReader, TlsFiles, bucket, superuser};
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
    /// Its namespace, where one was said, or is the only one.
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
                "secret {} written to {1}, which only you can read: kubectl apply --server-side -f {1}",
                self.name,
                file.display()
            ),
            None => format!("secret {}: nothing was written (--dry-run)", self.name),
        }
    }
}

pub(super) fn run(flags: &Secret, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (of, flags): (Manifest, _) = match &flags.of {
        SecretOf::Superuser(flags) => (superuser, flags),
        SecretOf::Bucket(flags) => (of_operator, flags),
        SecretOf::BucketOfChart(flags) => (of_chart, flags),
        SecretOf::Tls(flags) => return stores(flags, context, ui),
    };
    values(of, flags, ui)
}

/// Makes the manifest of a name, a namespace, a user and a password.
type Manifest = fn(&str, Option<&str>, &str, &str) -> Mapping;

fn of_operator(name: &str, namespace: Option<&str>, user: &str, password: &str) -> Mapping {
    bucket(name, namespace, BucketReader::Operator, user, password)
}

fn of_chart(name: &str, namespace: Option<&str>, user: &str, password: &str) -> Mapping {
    bucket(name, namespace, BucketReader::Chart, user, password)
}

/// Keystores of a cluster that a person applies.
fn stores(flags: &TlsStores, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (mut planned, _) = asked(&flags.cluster, context, ui)?;
    planned.security.tls = true;
    planned.security.client_auth |= flags.cluster.client_auth;
    let options = Options {
        namespace: flags.namespace.clone(),
        ..Options::new(flags.form, &planned.release)
    };
    let plan = render(&planned, &options)?;
    let [first, others @ ..] = &plan.secrets[..] else {
        let text = format!("{} mounts no keystores from a Secret", flags.form.word());
        let hint = "use --as plain or --as k8ssandra";
        return Err(CommandError::new(code::USAGE, text).hint(hint.to_owned()));
    };
    let hidden = TlsFiles {
        keystore: HIDDEN,
        truststore: HIDDEN,
        password: HIDDEN,
        ca: HIDDEN,
        client: planned.security.client_auth.then_some((HIDDEN, HIDDEN)),
    };
    let stream = |manifests: &[Mapping]| {
        let texts: Vec<String> = manifests.iter().map(Mapping::render).collect();
        texts.join("---\n")
    };
    let shown = plan.secrets.iter();
    let shown: Vec<Mapping> = shown
        .map(|secret| secret.manifest(flags.form, None, Some(&hidden)))
        .collect();
    let written = Written {
        format: Format::new("kube-secret", 1),
        name: first.name.clone(),
        namespace: others.is_empty().then(|| first.namespace.clone()),
        file: flags.output.clone().filter(|_| !flags.dry_run),
        manifest: stream(&shown),
    };
    if let Some(file) = &written.file {
        let made = kube::new_secrets(&planned, &options, &plan)?;
        outfile::write_private(file, stream(&made).as_bytes())?;
    }
    print(&written, ui);
    Ok(0)
}

fn print(written: &Written, ui: &Ui) {
    ui.result(written, || match written.file {
        Some(_) => written.answer() + "\n",
        None => format!("{}\n{}\n", written.manifest, written.answer()),
    });
}

fn values(of: Manifest, flags: &SecretValues, ui: &Ui) -> Result<u8, CommandError> {
    let manifest = |user: &str, password: &str| {
        of(&flags.name, flags.namespace.as_deref(), user, password).render()
    };
    let written = Written {
        format: Format::new("kube-secret", 1),
        name: flags.name.clone(),
        namespace: flags.namespace.clone(),
        file: flags.output.clone().filter(|_| !flags.dry_run),
        manifest: manifest(HIDDEN, HIDDEN),
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
        outfile::write_private(file, manifest(&user, &password).as_bytes())?;
    }
    print(&written, ui);
    Ok(0)
}

/// A value from where it was said to be.
fn value(flags: &str, variable: Option<&str>, file: Option<&Path>) -> Result<String, CommandError> {
    let usage = |text: String| CommandError::new(code::USAGE, text);
    let value = match (variable, file) {
        (Some(name), _) => std::env::var(name).map_err(|_| {
            usage(format!("the variable {name} is not set, or is not text"))
                .hint(format!("export {name} before, or name a file"))
        })?,
        (None, Some(path)) => input::text(path)?.trim_end_matches(['\n', '\r']).to_owned(),
        (None, None) => {
            return Err(usage("a value of the Secret is missing".to_owned())
                .hint(format!("name its file or variable with {flags}")));
        }
    };
    match value.is_empty() {
        true => Err(usage("a value of the Secret is empty".to_owned())
            .hint(format!("name its file or variable with {flags}"))),
        false => Ok(value),
    }
}
