//! How `bench --hosts` gets in: user and password, authorities and certificate, from flags to values.
//! Refuses a password or a private key that others can read.

use crate::cli::doors::Doors;
use crate::error::{CommandError, code};
use fs_err as fs;
use helenus_cql::client::Tls;
use helenus_cql::input;
use helenus_model::access::{
    ClientCertificate, CredentialsReference, SecretReference, TlsReference,
};
use std::path::Path;

/// User and password as their reference says.
pub(super) fn credentials(
    reference: &CredentialsReference,
) -> Result<helenus_cql::Credentials, CommandError> {
    let password = match &reference.password {
        SecretReference::Variable(name) => std::env::var(name).map_err(|_| {
            CommandError::new(code::USAGE, format!("the variable {name} is not set")).hint(format!(
                "export {name}, or name a 0600 file with a / in its path"
            ))
        })?,
        SecretReference::File(path) => read_private(path)?,
    };
    Ok(helenus_cql::Credentials {
        username: reference.username.clone(),
        password: helenus_cql::Secret::new(password),
    })
}

/// The first line of a file that only its owner can read.
fn read_private(path: &str) -> Result<String, CommandError> {
    let text = whole_private(path)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// All of a file with a password that only its owner can read.
pub(crate) fn whole_private(path: &str) -> Result<String, CommandError> {
    whole_private_of(path, "the password")
}

/// All of a file with such a secret that only its owner can read.
pub(crate) fn whole_private_of(path: &str, secret: &str) -> Result<String, CommandError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |e: std::io::Error| CommandError::of(code::USAGE, &e);
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let text = format!("others can read {secret} in {path} (mode {mode:03o})");
        return Err(CommandError::new(code::USAGE, text).hint(format!("chmod 600 {path}")));
    }
    Ok(input::text(Path::new(path))?)
}

/// The certificates that flags name.
pub(super) fn tls_of(doors: &Doors) -> Option<TlsReference> {
    // The generator reads them, and the history keeps their paths: from the root on.
    let text = |path: &Path| {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        whole.to_string_lossy().into_owned()
    };
    let client = doors.tls_cert.as_deref().zip(doors.tls_key.as_deref());
    doors.tls_ca.as_deref().map(|ca| TlsReference {
        ca: text(ca),
        client: client.map(|(certificate, key)| ClientCertificate {
            certificate: text(certificate),
            key: text(key),
        }),
        name: None,
    })
}

/// What they contain.
pub(super) fn tls(reference: &TlsReference) -> Result<Tls, CommandError> {
    helenus_cluster::reach::tls(reference).map_err(|error| {
        let cause = helenus_cluster::error::with_causes(&error);
        CommandError::new(code::USAGE, cause).hint(error.hint().map(str::to_owned))
    })
}
