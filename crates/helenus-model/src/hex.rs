//! Bytes as lower-case hexadecimal digits, and SHA-256 in them.
//! Refuses upper case, and a prefix.

use sha2::{Digest as _, Sha256};

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of bytes: 64 digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}
