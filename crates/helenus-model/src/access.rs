//! How one gets into a cluster: which files hold user, password and certificates.
//! Refuses their contents: a value of this module may be printed, stored and compared.

use serde::{Deserialize, Serialize};

/// What a client of a cluster needs; open where it needs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Access {
    /// Where user name and password come from; none if none are needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialsReference>,
    /// Where certificates are; none where connections are not encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsReference>,
}

impl Access {
    /// Whether neither login nor certificate is needed.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// Where credentials are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialsReference {
    /// User name; no secret.
    pub username: String,
    /// Where the password is found.
    pub password: SecretReference,
}

/// Where a secret is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretReference {
    /// Name of an environment variable.
    Variable(String),
    /// Path of a file that only its owner can read.
    File(String),
}

/// Where the certificates of encrypted connections are, all as PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsReference {
    /// Path of the certificates of the authorities that are trusted.
    pub ca: String,
    /// What the client shows of itself; none where it stays unnamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCertificate>,
    /// The name for which the nodes' certificates are; none where each is for its node's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A client's certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCertificate {
    /// Path of the certificate.
    pub certificate: String,
    /// Path of its private key, a file that only its owner can read.
    pub key: String,
}

/// What a cluster asks of its clients; nothing where all is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Security {
    /// A user name and a password, and the permissions of that user.
    pub auth: bool,
    /// Encrypted connections, of clients and between nodes.
    pub tls: bool,
    /// A client certificate; only with `tls`.
    pub client_auth: bool,
}

impl Security {
    /// Whether nothing is asked.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// The superuser that a cluster with authentication is given.
pub const SUPERUSER: &str = "helenus";

/// Folder of certificates and keystores in a cluster's folder.
pub const TLS_FOLDER: &str = "tls";

/// Folder of the superuser's password and of cqlshrc in a cluster's folder.
pub const CREDENTIALS_FOLDER: &str = "credentials";

impl Access {
    /// Where the files of a cluster of ours are, by its folder and what it asks.
    pub fn of(folder: &str, security: Security) -> Self {
        let credentials = security.auth.then(|| CredentialsReference {
            username: SUPERUSER.to_owned(),
            password: SecretReference::File(format!("{folder}/{CREDENTIALS_FOLDER}/password")),
        });
        let tls = security.tls.then(|| TlsReference {
            ca: format!("{folder}/{TLS_FOLDER}/ca.pem"),
            client: security.client_auth.then(|| ClientCertificate {
                certificate: format!("{folder}/{TLS_FOLDER}/client.pem"),
                key: format!("{folder}/{TLS_FOLDER}/client.key"),
            }),
            name: None,
        });
        Self { credentials, tls }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_follow_from_what_is_asked() {
        let of = |auth, tls, client_auth| {
            let security = Security {
                auth,
                tls,
                client_auth,
            };
            serde_json::to_string(&Access::of("/c", security)).unwrap()
        };
        assert!(Access::of("/c", Security::default()).is_open());
        assert_eq!(of(false, false, false), "{}");
        assert_eq!(
            of(true, false, false),
            r#"{"credentials":{"username":"helenus","password":{"file":"/c/credentials/password"}}}"#
        );
        assert_eq!(
            of(false, true, true),
            r#"{"tls":{"ca":"/c/tls/ca.pem","client":{"certificate":"/c/tls/client.pem","key":"/c/tls/client.key"}}}"#
        );
        assert_eq!(of(false, true, false), r#"{"tls":{"ca":"/c/tls/ca.pem"}}"#);
    }
}
