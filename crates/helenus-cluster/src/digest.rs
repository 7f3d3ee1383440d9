//! SHA-256 as locks and baselines write it: in lower-case hexadecimal digits.
//! Refuses to hold a file whole: it is read in pieces, and each is reported.

use helenus_model::hex::hex;
use sha2::{Digest as _, Sha256};
use std::io::{self, Read as _};
use std::path::Path;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// SHA-256 of a file; `seen` is called with how many more bytes were read, and may end it.
///
/// # Errors
/// A file that cannot be read; what `seen` answers.
pub(crate) fn of_file(
    path: &Path,
    mut seen: impl FnMut(u64) -> io::Result<()>,
) -> io::Result<String> {
    let mut file = fs_err::File::open(path)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk)?;
        seen(read as u64)?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&chunk[..read]);
    }
}
