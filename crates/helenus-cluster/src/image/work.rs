//! The folder in which an image is made, one at a time.
//! Refuses to leave anything behind: what a killed helenus left is removed by the next.

use super::{ImageError, failed};
use crate::lock;
use fs_err as fs;
use std::path::Path;
use tempfile::TempDir;

/// Folders of images in the making, in the cache.
const WORK: &str = ".image-";

/// The folder in which an image is made; gone when it is dropped.
pub(super) struct Work {
    pub(super) folder: TempDir,
    /// No other process makes an image meanwhile.
    _lock: fs::File,
}

impl Work {
    /// Begins one, and removes what others left.
    ///
    /// # Errors
    /// Another helenus is at it, or the cache cannot be written.
    pub(super) fn begin(cache: &Path) -> Result<Self, ImageError> {
        let make = || {
            fs::create_dir_all(cache.join("locks"))?;
            fs::OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(cache.join("locks/image.lock"))
        };
        let lock = make().map_err(failed("a folder in the cache"))?;
        if !lock::take(&lock).map_err(failed("a folder in the cache"))? {
            return Err(ImageError::Busy);
        }
        let make = || {
            // The lock is ours: what is there was left by a helenus that was killed.
            for entry in fs::read_dir(cache)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(WORK) {
                    fs::remove_dir_all(entry.path())?;
                }
            }
            // By its real path, as the loader names the libraries in it.
            let cache = fs::canonicalize(cache)?;
            tempfile::Builder::new().prefix(WORK).tempdir_in(cache)
        };
        let folder = make().map_err(failed("a folder in the cache"))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_image_is_made_at_a_time_and_leaves_nothing() {
        let cache = tempfile::tempdir().expect("a folder");
        fs::create_dir(cache.path().join(".image-killed")).expect("made");
        let work = Work::begin(cache.path()).expect("the first");
        assert!(!cache.path().join(".image-killed").exists());
        let second = Work::begin(cache.path()).map(|_| ());
        assert!(matches!(second, Err(ImageError::Busy)), "{second:?}");
        drop(work);
        Work::begin(cache.path()).map(|_| ()).expect("again");
        let left = fs::read_dir(cache.path()).expect("there").count();
        assert_eq!(left, 1, "the folder of locks");
    }
}
