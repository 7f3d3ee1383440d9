//! How one gets into hosts that are named by address: user, authorities, certificate.
//! Refuses a password as a flag: only where it stands.

use clap::Args;
use std::path::PathBuf;

/// Beside `--hosts`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Doors {
    /// User of --hosts; the password comes from --password-from
    #[arg(
        long,
        value_name = "USER",
        requires = "password_from",
        requires = "reached"
    )]
    pub(crate) user: Option<String>,
    /// Where the password is: an environment variable, or the path of a 0600 file
    #[arg(long, value_name = "VARIABLE|FILE", requires = "user")]
    pub(crate) password_from: Option<String>,
    /// Encrypt connections to --hosts, and trust these certificate authorities (PEM)
    #[arg(long, value_name = "FILE", requires = "hosts")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// A client certificate (PEM) for --hosts that ask for one
    #[arg(long, value_name = "FILE", requires = "tls_ca", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key (PEM), a 0600 file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}
