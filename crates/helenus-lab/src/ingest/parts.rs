//! What the loaders of one load share in the cluster's folder: when it was started, and which parts are done.
//! Refuses parts of different files as one load.

use super::{IngestError, LoadRequest, kept};
use helenus_cluster::stored::there;
use helenus_model::format::Format;
use helenus_model::ingest::part::{PARTS, PARTS_VERSION};
use helenus_model::ingest::{LoadJournal, LoadParts, Part};
use rustix::fs::{FlockOperation, flock};
use std::path::{Path, PathBuf};

/// The file that the parts share; held by one at a time, and never for long.
struct Shared {
    path: PathBuf,
    _lock: fs_err::File,
}

impl Shared {
    fn open(path: &Path) -> Result<Self, IngestError> {
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder).map_err(|source| kept(folder, source))?;
        }
        let lock = path.with_extension("parts-lock");
        let file = fs_err::File::create(&lock).map_err(|source| kept(&lock, source))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| kept(&lock, error.into()))?;
        Ok(Self {
            path: path.to_owned(),
            _lock: file,
        })
    }

    fn read(&self) -> Result<Option<LoadParts>, IngestError> {
        match fs_err::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| IngestError::Changed(format!("{}: {error}", self.path.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(kept(&self.path, source)),
        }
    }

    fn write(&self, parts: &LoadParts) -> Result<(), IngestError> {
        let new = self.path.with_extension("parts-new");
        let text = serde_json::to_string(parts).map_err(std::io::Error::other);
        let written = text.and_then(|text| {
            fs_err::write(&new, text)?;
            fs_err::rename(&new, &self.path)
        });
        written.map_err(|source| kept(&self.path, source))
    }
}

/// When the load was started that a part belongs to, in microseconds since 1970; its first part starts it.
pub(super) fn begin(request: &LoadRequest, fresh: &LoadJournal) -> Result<i64, IngestError> {
    let shared = Shared::open(&request.parts)?;
    let now = LoadParts {
        format: Format::new(PARTS, PARTS_VERSION),
        table_id: fresh.table_id.clone(),
        mapping: fresh.mapping.clone(),
        files: fresh.files.clone(),
        start_us: fresh.start_us,
        done: Vec::new(),
    };
    let then = match request.restart {
        true => None,
        false => shared.read()?,
    };
    match then {
        None => {
            shared.write(&now)?;
            Ok(now.start_us)
        }
        Some(then)
            if (&then.table_id, &then.mapping, &then.files)
                == (&now.table_id, &now.mapping, &now.files) =>
        {
            Ok(then.start_us)
        }
        Some(_) => Err(IngestError::Changed(
            "other parts of it are of another table, other files or another mapping".to_owned(),
        )),
    }
}

/// Notes that a part is done; the parts that are not.
pub(super) fn end(
    request: &LoadRequest,
    part: Part,
    start_us: i64,
) -> Result<Vec<u32>, IngestError> {
    let shared = Shared::open(&request.parts)?;
    let then = shared.read()?.filter(|then| then.start_us == start_us);
    let Some(mut parts) = then else {
        // Another part was started anew since.
        return Ok((1..=part.of).filter(|n| *n != part.number).collect());
    };
    if !parts.done.contains(&part.number) {
        parts.done.push(part.number);
    }
    shared.write(&parts)?;
    Ok((1..=part.of).filter(|n| !parts.done.contains(n)).collect())
}

/// Forgets a load whose parts are all done.
pub(super) fn forget(request: &LoadRequest) -> Result<(), IngestError> {
    let shared = Shared::open(&request.parts)?;
    let removed = there(fs_err::remove_file(&shared.path)).map(drop);
    removed.map_err(|error| kept(&shared.path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::tests::{journal_of, request};
    use helenus_model::ingest::FileMark;

    fn fresh(start_us: i64, file: &str) -> LoadJournal {
        LoadJournal {
            start_us,
            files: vec![FileMark {
                path: file.into(),
                bytes: None,
                modified_ns: None,
                head: None,
            }],
            ..journal_of(&request(&[]))
        }
    }

    #[test]
    fn parts_have_one_beginning_and_one_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut request = request(&[]);
        request.parts = folder.path().join("loads/x-of-2.parts");
        let part = |number| Part { number, of: 2 };
        assert_eq!(begin(&request, &fresh(5, "a")).expect("begins"), 5);
        assert_eq!(begin(&request, &fresh(9, "a")).expect("joins"), 5);
        let error = begin(&request, &fresh(9, "b")).expect_err("another file");
        assert!(error.to_string().contains("other files"), "{error}");
        assert_eq!(end(&request, part(2), 5).expect("ends"), [1]);
        // Again: nothing is counted twice.
        assert_eq!(end(&request, part(2), 5).expect("ends"), [1]);
        assert_eq!(end(&request, part(1), 5).expect("ends"), [0_u32; 0]);
        // Interrupted at its proof, it is the same load still.
        assert_eq!(begin(&request, &fresh(9, "a")).expect("joins"), 5);
        forget(&request).expect("forgets");
        assert_eq!(begin(&request, &fresh(9, "b")).expect("begins anew"), 9);
        request.restart = true;
        assert_eq!(begin(&request, &fresh(11, "c")).expect("restarts"), 11);
        // A part of the load before does not count in this one.
        assert_eq!(end(&request, part(1), 9).expect("ends"), [2]);
        request.restart = false;
        assert_eq!(end(&request, part(2), 11).expect("ends"), [1]);
    }
}
