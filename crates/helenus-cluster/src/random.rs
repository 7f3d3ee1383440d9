//! Bytes that nobody can guess, from the kernel.
//! Refuses fewer than are asked for.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// So many bytes.
///
/// # Errors
/// The kernel gives none, or too few.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    match getrandom(&mut bytes, GetRandomFlags::empty())? {
        given if given == N => Ok(bytes),
        _ => Err(io::Error::other("the kernel gave too few random bytes")),
    }
}
