//! Layers and the whole image as tar files: equal contents are equal bytes, whoever packs them and when.
//! Refuses names and ids of this machine's users.

use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;
use helenus_model::hex::hex;
use helenus_model::kube::image::{Blob, Layer, STAMP};
use helenus_model::kube::pod::USER_ID;
use sha2::{Digest as _, Sha256};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// Folders that belong to Cassandra's user.
pub(super) const OWNED: [&str; 2] = ["run/cassandra", "var/lib/cassandra"];

/// The folder that everybody may write to.
pub(super) const TMP: &str = "tmp";

/// A layer that is packed in a file.
pub(super) struct Packed {
    pub(super) file: PathBuf,
    pub(super) layer: Layer,
    /// Size of its tar file before it was compressed.
    pub(super) bytes: u64,
}

/// Hashes and counts what passes.
struct Hashed<W> {
    inner: W,
    hash: Sha256,
    bytes: u64,
}

impl<W> Hashed<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// What was behind it, and the digest and size of what passed.
    fn end(self) -> (W, Blob) {
        let digest = self.hash.finalize();
        let blob = Blob {
            digest: hex(&digest),
            size: self.bytes,
        };
        (self.inner, blob)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Packs what lies at these places below `root`, with the folders on the way to it.
pub(super) fn pack(
    root: &Path,
    places: &[&str],
    holds: String,
    file: PathBuf,
) -> io::Result<Packed> {
    let mut paths = Vec::new();
    for place in places {
        let place = Path::new(place);
        let mut before: Vec<&Path> = place.ancestors().skip(1).collect();
        // The last ancestor is the root itself, which every image has.
        before.pop();
        paths.extend(before.into_iter().rev().map(Path::to_owned));
        walk(root, place, &mut paths)?;
    }
    let compressed = Hashed::new(BufWriter::new(fs::File::create(&file)?));
    let plain = Hashed::new(GzEncoder::new(compressed, Compression::default()));
    let mut tar = Builder::new(plain);
    for path in &paths {
        entry(&mut tar, root, path)?;
    }
    let (compressed, plain) = tar.into_inner()?.end();
    let (mut written, blob) = compressed.finish()?.end();
    written.flush()?;
    let layer = Layer {
        blob,
        diff_id: plain.digest,
        holds,
    };
    Ok(Packed {
        file,
        layer,
        bytes: plain.size,
    })
}

/// A place and everything below it, in the order of names; each folder before what it holds.
pub(super) fn walk(root: &Path, place: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    found.push(place.to_owned());
    let full = root.join(place);
    if !fs::symlink_metadata(&full)?.is_dir() {
        return Ok(());
    }
    let entries = fs::read_dir(&full)?;
    let entries = entries.map(|entry| Ok::<_, io::Error>(entry?.file_name()));
    let mut names = entries.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    for name in names {
        walk(root, &place.join(name), found)?;
    }
    Ok(())
}

fn entry<W: Write>(tar: &mut Builder<W>, root: &Path, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let full = root.join(path);
    let there = fs::symlink_metadata(&full)?;
    let owner = match OWNED.iter().any(|owned| path.starts_with(owned)) {
        true => u64::from(USER_ID),
        false => 0,
    };
    if there.is_symlink() {
        let mut header = header(EntryType::Symlink, 0, 0o777, owner);
        return tar.append_link(&mut header, path, fs::read_link(&full)?);
    }
    if there.is_dir() {
        let mode = if path == Path::new(TMP) {
            0o1777
        } else {
            0o755
        };
        let mut header = header(EntryType::Directory, 0, mode, owner);
        return tar.append_data(&mut header, path, io::empty());
    }
    let runs = there.permissions().mode() & 0o100 != 0;
    let mode = if runs { 0o755 } else { 0o644 };
    let mut header = header(EntryType::Regular, there.len(), mode, owner);
    tar.append_data(&mut header, path, fs::File::open(&full)?)
}

fn header(kind: EntryType, size: u64, mode: u32, owner: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(STAMP);
    header.set_uid(owner);
    header.set_gid(owner);
    header
}

/// A tar file of these files, in their order.
pub(super) fn bundle<'a>(
    files: impl Iterator<Item = (String, u64, Box<dyn Read + 'a>)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut tar = Builder::new(out);
    for (path, size, bytes) in files {
        let mut header = header(EntryType::Regular, size, 0o644, 0);
        tar.append_data(&mut header, path, bytes)?;
    }
    tar.into_inner()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_layer_is_the_same_bytes_whoever_packs_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let pack_one = |name: &str| {
            let root = folder.path().join(name);
            fs::create_dir_all(root.join("run/cassandra")).expect("made");
            fs::create_dir_all(root.join("usr/local/bin")).expect("made");
            fs::write(root.join("usr/local/bin/b"), "b").expect("written");
            fs::write(root.join("usr/local/bin/a"), "a").expect("written");
            let runs = std::fs::Permissions::from_mode(0o700);
            fs::set_permissions(root.join("usr/local/bin/b"), runs).expect("a mode");
            symlink("a", root.join("usr/local/bin/c")).expect("a link");
            let file = folder.path().join(format!("{name}.gz"));
            pack(&root, &["run", "usr/local"], "x".into(), file).expect("packed")
        };
        let (one, two) = (pack_one("one"), pack_one("two"));
        assert_eq!(one.layer, two.layer);
        let bytes = fs::read(&one.file).expect("there");
        assert_eq!(bytes.len() as u64, one.layer.blob.size);
        assert_eq!(helenus_model::hex::sha256(&bytes), one.layer.blob.digest);
        let mut tar = tar::Archive::new(GzDecoder::new(&bytes[..]));
        let entries = tar.entries().expect("a tar file").map(|entry| {
            let entry = entry.expect("an entry");
            let (path, header) = (entry.path().expect("a path"), entry.header());
            let (mode, uid) = (header.mode().expect("one"), header.uid().expect("one"));
            format!("{} {mode:o} {uid}", path.display())
        });
        let expected = [
            "run 755 0",
            "run/cassandra 755 999",
            "usr 755 0",
            "usr/local 755 0",
            "usr/local/bin 755 0",
            "usr/local/bin/a 644 0",
            "usr/local/bin/b 755 0",
            "usr/local/bin/c 777 0",
        ];
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }
}
