//! One entry of a jar.
//! Refuses what a jar of ours never is: split, encrypted, or larger than memory should hold.

use flate2::read::DeflateDecoder;
use std::io::{self, Read as _};
use std::path::Path;

/// Largest entry that is read, in bytes.
const MOST: u64 = 64 << 20;

/// Marks of a file's end, of an entry in its list, and of an entry itself.
const END: [u8; 4] = *b"PK\x05\x06";
const LISTED: [u8; 4] = *b"PK\x01\x02";
const ENTRY: [u8; 4] = *b"PK\x03\x04";

/// The content of an entry.
///
/// # Errors
/// A file that cannot be read, is no jar, or has no such entry.
pub(super) fn read(jar: &Path, name: &str) -> io::Result<Vec<u8>> {
    let bytes = fs_err::read(jar)?;
    entry(&bytes, name).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such entry"))?
}

/// None where there is no such entry.
fn entry(bytes: &[u8], name: &str) -> Option<io::Result<Vec<u8>>> {
    let end = bytes.windows(4).rposition(|four| four == END)?;
    let mut at = number(bytes, end + 16, 4)?;
    for _ in 0..number(bytes, end + 10, 2)? {
        if bytes.get(at..at + 4)? != LISTED {
            return None;
        }
        let lengths = [28, 30, 32].map(|place| number(bytes, at + place, 2));
        let [named, extra, comment] = [lengths[0]?, lengths[1]?, lengths[2]?];
        if bytes.get(at + 46..at + 46 + named)? == name.as_bytes() {
            let method = number(bytes, at + 10, 2)?;
            let packed = number(bytes, at + 20, 4)?;
            let begin = number(bytes, at + 42, 4)?;
            return content(bytes, begin, packed, method);
        }
        at += 46 + named + extra + comment;
    }
    None
}

fn content(
    bytes: &[u8],
    begin: usize,
    packed: usize,
    method: usize,
) -> Option<io::Result<Vec<u8>>> {
    if bytes.get(begin..begin + 4)? != ENTRY {
        return None;
    }
    let from = begin + 30 + number(bytes, begin + 26, 2)? + number(bytes, begin + 28, 2)?;
    let data = bytes.get(from..from + packed)?;
    match method {
        0 => Some(Ok(data.to_vec())),
        8 => {
            let mut out = Vec::new();
            let read = DeflateDecoder::new(data).take(MOST).read_to_end(&mut out);
            Some(read.map(|_| out))
        }
        _ => None,
    }
}

/// A number of two or four bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let digits = bytes.get(at..at + length)?.iter().rev();
    Some(digits.fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::DeflateEncoder;

    /// A jar of these entries, each stored or deflated.
    fn jar(entries: &[(&str, &[u8], bool)]) -> Vec<u8> {
        let (mut bytes, mut list) = (Vec::new(), Vec::new());
        let two = |n: usize| u16::try_from(n).unwrap().to_le_bytes();
        let four = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
        for (name, content, deflated) in entries {
            let mut packed = content.to_vec();
            if *deflated {
                packed.clear();
                DeflateEncoder::new(*content, Compression::default())
                    .read_to_end(&mut packed)
                    .unwrap();
            }
            let method = if *deflated { 8 } else { 0 };
            let common = [
                &two(method)[..],
                &[0; 8],
                &four(packed.len()),
                &four(content.len()),
                &two(name.len()),
            ]
            .concat();
            let begin = bytes.len();
            bytes.extend([&ENTRY[..], &[20, 0, 0, 0], &common, &two(3)].concat());
            bytes.extend([name.as_bytes(), b"xyz", &packed].concat());
            list.extend([&LISTED[..], &[20, 0, 20, 0, 0, 0], &common, &[0; 12]].concat());
            list.extend([&four(begin)[..], name.as_bytes()].concat());
        }
        let begin = bytes.len();
        bytes.extend(&list);
        let many = two(entries.len());
        bytes.extend(
            [
                &END[..],
                &[0; 4],
                &many,
                &many,
                &four(list.len()),
                &four(begin),
            ]
            .concat(),
        );
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn entries_are_found_stored_or_deflated() {
        let long = b"library ".repeat(1000);
        let jar = jar(&[("a/b.so", b"plain", false), ("c/d.so", &long, true)]);
        let read = |name| entry(&jar, name).map(Result::unwrap);
        assert_eq!(read("a/b.so"), Some(b"plain".to_vec()));
        assert_eq!(read("c/d.so"), Some(long));
        assert_eq!(read("c/d"), None);
    }

    #[test]
    fn what_is_no_jar_has_no_entry() {
        assert!(entry(b"", "a").is_none() && entry(b"PK\x05\x06", "a").is_none());
        let whole = jar(&[("a", b"content", false)]);
        for cut in 0..whole.len() {
            let _no_panic = entry(&whole[..cut], "a");
            let _no_panic = entry(&whole[cut..], "a");
        }
    }
}
