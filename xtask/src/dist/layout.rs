//! Where each file stands in a tarball and in a Debian package, and what the latter says of itself.
//! Refuses to build: the binary and the texts are made before.

use std::error::Error;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shells, and the file of each one's completions.
pub(super) const SHELLS: [(&str, &str); 3] = [
    ("bash", "helenus.bash"),
    ("zsh", "_helenus"),
    ("fish", "helenus.fish"),
];

/// What is packed.
pub(super) struct Packaged {
    /// The binary of the wheel.
    pub(super) binary: PathBuf,
    /// Completions and man pages.
    pub(super) pages: PathBuf,
    /// The source tree.
    pub(super) root: PathBuf,
}

/// What it is packed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Package {
    Tarball,
    Debian,
}

/// Where a file is, where it stands below the folder, and its mode there.
type Placed = (PathBuf, &'static str, u32);

impl Packaged {
    /// The folder of the man pages.
    pub(super) fn man(&self) -> PathBuf {
        self.pages.join("man")
    }

    /// Copies everything to its place below `folder`.
    pub(super) fn lay(&self, package: Package, folder: &Path) -> Result<(), Box<dyn Error>> {
        for (from, to, bits) in self.files(package) {
            put(&from, &folder.join(to), bits)?;
        }
        let (pages, compressed) = match package {
            Package::Tarball => ("man/man1", false),
            Package::Debian => ("usr/share/man/man1", true),
        };
        for entry in fs_err::read_dir(self.man())? {
            let entry = entry?;
            let to = folder.join(pages).join(entry.file_name());
            put(&entry.path(), &to, 0o644)?;
            if compressed {
                let zipped = Command::new("gzip").args(["-9", "-n"]).arg(&to).status()?;
                if !zipped.success() {
                    return Err(format!("gzip: {zipped}").into());
                }
            }
        }
        folders(folder)
    }

    fn files(&self, package: Package) -> Vec<Placed> {
        let page = |name: &str| self.pages.join(name);
        let [bash, zsh, fish] = SHELLS.map(|(_, name)| page(name));
        let root = |name: &str| self.root.join(name);
        match package {
            Package::Tarball => vec![
                (self.binary.clone(), "helenus", 0o755),
                (root("LICENSE"), "LICENSE", 0o644),
                (root("NOTICE"), "NOTICE", 0o644),
                (root("README.md"), "README.md", 0o644),
                (root("CHANGELOG.md"), "CHANGELOG.md", 0o644),
                (bash, "completions/helenus.bash", 0o644),
                (zsh, "completions/_helenus", 0o644),
                (fish, "completions/helenus.fish", 0o644),
            ],
            Package::Debian => vec![
                (self.binary.clone(), "usr/bin/helenus", 0o755),
                (root("LICENSE"), "usr/share/doc/helenus/copyright", 0o644),
                (root("NOTICE"), "usr/share/doc/helenus/NOTICE", 0o644),
                (root("README.md"), "usr/share/doc/helenus/README.md", 0o644),
                (bash, "usr/share/bash-completion/completions/helenus", 0o644),
                (zsh, "usr/share/zsh/vendor-completions/_helenus", 0o644),
                (
                    fish,
                    "usr/share/fish/vendor_completions.d/helenus.fish",
                    0o644,
                ),
            ],
        }
    }
}

fn put(from: &Path, to: &Path, bits: u32) -> Result<(), Box<dyn Error>> {
    fs_err::create_dir_all(to.parent().unwrap_or(to))?;
    fs_err::copy(from, to)?;
    mode(to, bits)
}

/// Sets who may read, write and start a file.
pub(super) fn mode(file: &Path, bits: u32) -> Result<(), Box<dyn Error>> {
    let permissions = std::fs::Permissions::from_mode(bits);
    Ok(fs_err::set_permissions(file, permissions)?)
}

/// Folders that anybody may enter, whatever the umask of the one who packs.
fn folders(folder: &Path) -> Result<(), Box<dyn Error>> {
    mode(folder, 0o755)?;
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            folders(&path)?;
        }
    }
    Ok(())
}

/// Bytes of all files below a folder.
pub(super) fn size(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        bytes += match path.is_dir() {
            true => size(&path)?,
            false => fs_err::metadata(&path)?.len(),
        };
    }
    Ok(bytes)
}

/// What the package says of itself. A JDK and Maven are recommended: apt brings them along, and who has others need not.
pub(super) fn control(version: &str, arch: &str, glibc: &str, bytes: u64) -> String {
    let kib = bytes.div_ceil(1024);
    format!(
        "Package: helenus\n\
         Version: {version}\n\
         Architecture: {arch}\n\
         Maintainer: The Helenus contributors\n\
         Installed-Size: {kib}\n\
         Depends: libc6 (>= {glibc})\n\
         Recommends: openjdk-17-jre-headless | openjdk-11-jre-headless, maven\n\
         Section: database\n\
         Priority: optional\n\
         Description: brings up, loads and measures Apache Cassandra\n \
         Helenus brings up real Apache Cassandra clusters on one machine in seconds,\n \
         loads them, and measures them with numbers you can trust.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_its_files_where_systems_look_for_them() {
        let work = tempfile::tempdir().expect("a folder");
        let at = |name: &str| work.path().join(name);
        let packaged = Packaged {
            binary: at("binary"),
            pages: at("pages"),
            root: at("root"),
        };
        fs_err::create_dir_all(packaged.man()).expect("a folder");
        fs_err::create_dir_all(at("root")).expect("a folder");
        fs_err::write(at("binary"), "0123456789").expect("a file");
        fs_err::write(packaged.man().join("helenus.1"), ".TH helenus").expect("a file");
        for (_, name) in SHELLS {
            fs_err::write(packaged.pages.join(name), name).expect("a file");
        }
        for name in ["LICENSE", "NOTICE", "README.md", "CHANGELOG.md"] {
            fs_err::write(at("root").join(name), name).expect("a file");
        }
        for (package, wanted) in [
            (Package::Tarball, ["helenus", "man/man1/helenus.1"]),
            (
                Package::Debian,
                ["usr/bin/helenus", "usr/share/man/man1/helenus.1.gz"],
            ),
        ] {
            let folder = at(&format!("{package:?}"));
            packaged.lay(package, &folder).expect("a tree");
            for name in wanted {
                assert!(folder.join(name).is_file(), "{name}");
            }
            let bits = fs_err::metadata(folder.join(wanted[0])).expect("a binary");
            assert_eq!(bits.permissions().mode() & 0o777, 0o755);
            assert!(size(&folder).expect("a size") > 10);
        }
    }

    #[test]
    fn a_package_asks_for_its_c_library_and_recommends_the_rest() {
        let text = control("0.1.0", "amd64", "2.31", 2049);
        for line in [
            "Installed-Size: 3",
            "Depends: libc6 (>= 2.31)",
            "Recommends: openjdk-17-jre-headless | openjdk-11-jre-headless, maven",
            " loads them, and measures them with numbers you can trust.",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        assert!(text.ends_with(".\n"));
    }
}
