//! From a reference to certificates: whom the generator trusts, and what it shows of itself.
//! Refuses a private key that others can read.

use crate::secrets::{SecretError, Secrets};
use helenus_cql::client::{Identity, Tls, TlsError};
use helenus_cql::input;
use helenus_model::run_plan::{SecretReference, TlsReference};
use std::path::Path;

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    /// A file that is not there, or a key that others can read.
    #[error(transparent)]
    File(#[from] SecretError),
    /// Texts that are no certificates, or do not belong together.
    #[error("cannot use the certificates starting with {ca}")]
    Tls {
        /// Path of the authorities' certificates.
        ca: String,
        /// Why not.
        source: TlsError,
    },
}

/// Reads what the reference names; what was handed over is not read.
pub(crate) fn tls(reference: &TlsReference, secrets: &Secrets) -> Result<Tls, TrustError> {
    let unusable = |source| TrustError::Tls {
        ca: reference.ca.clone(),
        source,
    };
    let name = reference.name.as_deref();
    let ca = read(&reference.ca, secrets)?;
    let Some(client) = &reference.client else {
        return Tls::of(&ca, name, None).map_err(unusable);
    };
    let certificate = read(&client.certificate, secrets)?;
    let key = secrets.value(&SecretReference::File(client.key.clone()))?;
    let identity = Identity {
        certificate: &certificate,
        key: key.as_bytes(),
    };
    Tls::of(&ca, name, Some(identity)).map_err(unusable)
}

fn read(path: &str, secrets: &Secrets) -> Result<Vec<u8>, SecretError> {
    if let Some(text) = secrets.handed_over(path) {
        return Ok(text.as_bytes().to_vec());
    }
    input::bytes(Path::new(path)).map_err(|error| SecretError::Unreadable {
        path: path.to_owned(),
        source: error.bare(),
    })
}
