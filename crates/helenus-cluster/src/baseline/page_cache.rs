//! Pages of files in the kernel's cache: asked to go, and counted.
//! Refuses to guess: what is resident is what mincore says.

use fs_err as fs;
use helenus_model::baseline::PageCache;
use rustix::fs::Advice;
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::path::PathBuf;

/// Bytes that one look maps at most, so that the answer stays small.
const WINDOW: usize = 1 << 30;

/// Counts the resident pages of these files, after asking the kernel to drop them where `drop` says so.
///
/// No process may map or write the files meanwhile: pages in use stay.
pub(super) fn look(files: &[PathBuf], drop: bool) -> io::Result<PageCache> {
    let mut seen = PageCache {
        dropped: drop,
        resident_bytes: 0,
        bytes: 0,
    };
    for path in files {
        let file = fs::File::open(path)?;
        let bytes = file.metadata()?.len();
        if bytes == 0 {
            continue;
        }
        if drop {
            // Pages that are not on disk yet cannot go.
            file.sync_data()?;
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        seen.bytes += bytes;
        seen.resident_bytes += resident(&file, bytes)?;
    }
    Ok(seen)
}

/// Bytes of a file in resident pages; of its last page only what belongs to it.
fn resident(file: &fs::File, bytes: u64) -> io::Result<u64> {
    let page = rustix::param::page_size();
    let mut total = 0;
    let mut offset = 0_u64;
    while offset < bytes {
        let length = usize::try_from(bytes - offset).map_or(WINDOW, |left| left.min(WINDOW));
        let mut pages = vec![0_u8; length.div_ceil(page)];
        mincore(file, offset, length, &mut pages)?;
        let resident = pages.iter().enumerate().filter(|(_, p)| **p & 1 == 1);
        total += resident
            .map(|(n, _)| page.min(length - n * page) as u64)
            .sum::<u64>();
        offset += length as u64;
    }
    Ok(total)
}

/// mincore(2) of a part of a file, a byte a page.
#[expect(unsafe_code, reason = "no safe form of mincore exists in rustix")]
fn mincore(file: &fs::File, offset: u64, length: usize, pages: &mut [u8]) -> io::Result<()> {
    // SAFETY: a new mapping at an address that the kernel chooses; nothing reads or writes through it, and it is
    // gone before this function returns. The kernel writes a byte a page into `pages`, which has one for each.
    unsafe {
        let at = rustix::mm::mmap(
            std::ptr::null_mut(),
            length,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            offset,
        )?;
        let said = libc::mincore(at, length, pages.as_mut_ptr());
        let error = io::Error::last_os_error();
        rustix::mm::munmap(at, length)?;
        if said == 0 { Ok(()) } else { Err(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn what_was_just_written_is_resident_and_no_more_than_that() {
        // Where the file system is memory itself nothing can go, so only what is there is looked at.
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; 10_000]).unwrap();
        let mut small = tempfile::NamedTempFile::new().unwrap();
        small.write_all(&[7; 10]).unwrap();
        let paths = [file.path().to_owned(), small.path().to_owned()];
        let warm = look(&paths, false).unwrap();
        assert_eq!((warm.bytes, warm.resident_bytes), (10_010, 10_010));
        assert!((warm.share() - 1.0).abs() < f64::EPSILON);
        let dropped = look(&paths, true).unwrap();
        assert!(dropped.dropped && dropped.resident_bytes <= warm.resident_bytes);
    }
}
