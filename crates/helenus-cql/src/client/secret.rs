//! A password that does not print.
//! Refuses Display and serialisation; showing it takes the word `expose`.

use std::fmt;

/// Text that must not reach a log: its Debug is `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A user name and a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The role that logs in.
    pub username: String,
    /// Its password.
    pub password: Secret,
}

impl Credentials {
    /// What SASL's PLAIN mechanism sends.
    pub(crate) fn plain_token(&self) -> Vec<u8> {
        format!("\0{}\0{}", self.username, self.password.expose()).into_bytes()
    }
}
