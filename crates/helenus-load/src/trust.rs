//! From a reference to certificates: whom the generator trusts, and what it shows of itself.
//! Refuses a private key that others can read.

use crate::secrets::{SecretError, read_private};
use helenus_cql::client::{Identity, Tls, TlsError};
use helenus_cql::input;
use helenus_model::run_plan::TlsReference;
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

/// Reads what the reference names.
pub(crate) fn tls(reference: &TlsReference) -> Result<Tls, TrustError> {
    let unusable = |source| TrustError::Tls {
        ca: reference.ca.clone(),
        source,
    };
    let ca = read(&reference.ca)?;
    let Some(client) = &reference.client else {
        return Tls::new(&ca, None).map_err(unusable);
    };
    let (certificate, key) = (read(&client.certificate)?, read_private(&client.key)?);
    let identity = Identity {
        certificate: &certificate,
        key: key.as_bytes(),
    };
    Tls::new(&ca, Some(identity)).map_err(unusable)
}

fn read(path: &str) -> Result<Vec<u8>, SecretError> {
    input::bytes(Path::new(path)).map_err(|error| SecretError::Unreadable {
        path: path.to_owned(),
        source: error.bare(),
    })
}
