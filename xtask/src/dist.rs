//! `cargo xtask dist [--arch ARCH] [--dry-run]`: the wheel, the tarball, the Debian package and their checksums.
//! Refuses to publish anything, and to pack two builds: what every package holds is the binary of the wheel.

mod layout;

use helenus_model::hex::sha256;
use layout::{Package, Packaged};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The version of every package: that of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The oldest C library that the binary runs on, as wheels and as Debian name it.
const GLIBC: (&str, &str) = ("2_31", "2.31");

/// A wheel is fetched anew for each environment.
const WHEEL_MOST: u64 = 20_000_000;

/// What builds for an older C library than this machine's; zig is the compiler of the C parts, and the linker.
const BUILDERS: &str = "pip install maturin ziglang";

/// A processor, as Rust and as Debian name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    arch: &'static str,
    debian: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        arch: "x86_64",
        debian: "amd64",
    },
    Target {
        arch: "aarch64",
        debian: "arm64",
    },
];

impl Target {
    fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.arch)
    }

    fn wheel(self) -> String {
        let arch = self.arch;
        format!(
            "helenus-{VERSION}-py3-none-manylinux_{}_{arch}.whl",
            GLIBC.0
        )
    }

    /// The tarball without its ending, and the folder in it.
    fn tarball(self) -> String {
        format!("helenus-{VERSION}-{}-linux", self.arch)
    }

    fn deb(self) -> String {
        format!("helenus_{VERSION}_{}.deb", self.debian)
    }
}

/// Builds everything into `target/dist`, or says what it would build.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    let (target, dry) = asked(words)?;
    let root = fs_err::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
    let out = root.join("target/dist");
    let with_deb = runs("dpkg-deb");
    if dry {
        print!("{}", plan(target, with_deb));
        return Ok(ExitCode::SUCCESS);
    }
    builders(target)?;
    if out.exists() {
        fs_err::remove_dir_all(&out)?;
    }
    fs_err::create_dir_all(&out)?;
    let date = date(&root)?;
    let mut maturin = Command::new("maturin");
    maturin.args(build(target, &out)).current_dir(&root);
    done(maturin.env("SOURCE_DATE_EPOCH", &date))?;
    let wheel = out.join(target.wheel());
    let size = fs_err::metadata(&wheel)?.len();
    if size > WHEEL_MOST {
        return Err(format!("the wheel has {size} bytes, {WHEEL_MOST} are allowed").into());
    }
    let work = tempfile::tempdir()?;
    let packaged = Packaged {
        binary: unpacked(&wheel, work.path())?,
        pages: work.path().join("pages"),
        root,
    };
    pages(target, &packaged)?;
    tarball(target, &packaged, work.path(), &out, &date)?;
    match with_deb {
        true => deb(target, &packaged, work.path(), &out, &date)?,
        false => println!("no {}: dpkg-deb is not on PATH", target.deb()),
    }
    let sums = sums(&out)?;
    fs_err::write(out.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    println!("the wheel has {:.1} MB", size as f64 / 1e6);
    Ok(ExitCode::SUCCESS)
}

/// The processor that is built for, and whether nothing is to be built.
fn asked(words: &[&str]) -> Result<(Target, bool), Box<dyn Error>> {
    let mut arch = std::env::consts::ARCH;
    let mut dry = false;
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        match word {
            "--dry-run" => dry = true,
            "--arch" => arch = rest.next().ok_or("--arch must be x86_64 or aarch64")?,
            _ => return Err("unknown word: dist takes --arch ARCH and --dry-run".into()),
        }
    }
    let mut known = TARGETS.into_iter().filter(|target| target.arch == arch);
    let target = known
        .next()
        .ok_or_else(|| format!("no packages for {arch}: only for x86_64 and aarch64"))?;
    Ok((target, dry))
}

/// maturin's words. Its own check of the binary's symbols is what holds the wheel to the name of its C library.
fn build(target: Target, out: &Path) -> Vec<String> {
    let compatible = format!("manylinux_{}", GLIBC.0);
    let out = out.display().to_string();
    let words = ["build", "--release", "--locked", "--zig", "--compatibility"];
    let mut words = Vec::from(words.map(str::to_owned));
    words.extend([
        compatible,
        "--target".to_owned(),
        target.triple(),
        "--out".to_owned(),
        out,
    ]);
    words
}

fn plan(target: Target, with_deb: bool) -> String {
    let mut text = format!(
        "maturin {}\n",
        build(target, Path::new("target/dist")).join(" ")
    );
    let mut files = vec![target.wheel(), format!("{}.tar.gz", target.tarball())];
    if with_deb {
        files.push(target.deb());
    }
    files.push("SHA256SUMS".to_owned());
    for file in files {
        let _infallible = writeln!(text, "target/dist/{file}");
    }
    text
}

/// Whether the tools are here, each lacking one with the command that brings it.
fn builders(target: Target) -> Result<(), Box<dyn Error>> {
    let zig = Command::new("python3")
        .args(["-c", "import ziglang"])
        .output()
        .is_ok_and(|said| said.status.success());
    if !runs("maturin") || !(zig || runs_with("zig", "version")) {
        return Err(format!("maturin or zig is missing: {BUILDERS}").into());
    }
    let triple = target.triple();
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", &triple])
        .output()?;
    let library = String::from_utf8_lossy(&library.stdout).trim().to_owned();
    if library.is_empty() || !Path::new(&library).is_dir() {
        return Err(
            format!("Rust's library for {triple} is missing: rustup target add {triple}").into(),
        );
    }
    Ok(())
}

fn runs(program: &str) -> bool {
    runs_with(program, "--version")
}

fn runs_with(program: &str, word: &str) -> bool {
    let said = Command::new(program).arg(word).output();
    said.is_ok_and(|said| said.status.success())
}

/// When the commit was made: the date of everything in the packages, so that two builds of it are alike.
fn date(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(root);
    let said = git.output()?;
    let date = String::from_utf8(said.stdout)?.trim().to_owned();
    match date.parse::<u64>() {
        Ok(_) => Ok(date),
        Err(_) => Err("git does not know the date of the commit".into()),
    }
}

/// The binary of a wheel.
fn unpacked(wheel: &Path, work: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let folder = work.join("wheel");
    let mut python = Command::new("python3");
    python.args(["-m", "zipfile", "-e"]).arg(wheel).arg(&folder);
    done(&mut python)?;
    let binary = folder.join(format!("helenus-{VERSION}.data/scripts/helenus"));
    layout::mode(&binary, 0o755)?;
    Ok(binary)
}

/// Completions and man pages, printed by the program itself.
fn pages(target: Target, packaged: &Packaged) -> Result<(), Box<dyn Error>> {
    let program = || {
        if target.arch == std::env::consts::ARCH {
            return Command::new(&packaged.binary);
        }
        // The same definition, built for the processor that is here.
        let mut cargo = Command::new("cargo");
        cargo.args(["run", "--quiet", "--release", "--locked"]);
        cargo.args(["--package", "helenus", "--"]);
        cargo.current_dir(&packaged.root);
        cargo
    };
    fs_err::create_dir_all(&packaged.pages)?;
    for (shell, name) in layout::SHELLS {
        let said = program().args(["completions", shell]).output()?;
        if !said.status.success() || said.stdout.is_empty() {
            return Err(format!("helenus completions {shell}: {}", said.status).into());
        }
        fs_err::write(packaged.pages.join(name), said.stdout)?;
    }
    done(program().arg("__man").arg(packaged.man()))
}

fn tarball(
    target: Target,
    packaged: &Packaged,
    work: &Path,
    out: &Path,
    date: &str,
) -> Result<(), Box<dyn Error>> {
    let name = target.tarball();
    packaged.lay(Package::Tarball, &work.join(&name))?;
    let archive = out.join(format!("{name}.tar"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{date}"))
        .args(["--format=gnu", "--create", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(work)
        .arg(&name);
    done(&mut tar)?;
    done(Command::new("gzip").args(["-9", "-n"]).arg(&archive))
}

fn deb(
    target: Target,
    packaged: &Packaged,
    work: &Path,
    out: &Path,
    date: &str,
) -> Result<(), Box<dyn Error>> {
    let folder = work.join("deb");
    packaged.lay(Package::Debian, &folder)?;
    let control = layout::control(VERSION, target.debian, GLIBC.1, layout::size(&folder)?);
    fs_err::create_dir_all(folder.join("DEBIAN"))?;
    fs_err::write(folder.join("DEBIAN/control"), control)?;
    let mut pack = Command::new("dpkg-deb");
    // Debian 11 cannot unpack what newer ones pack with by themselves.
    pack.args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&folder)
        .arg(out.join(target.deb()))
        .env("SOURCE_DATE_EPOCH", date);
    done(&mut pack)
}

/// `sha256sum`'s lines of every file there, sorted by name.
fn sums(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let mut text = String::new();
    for name in names {
        let sum = sha256(fs_err::read(folder.join(&name))?);
        let _infallible = writeln!(text, "{sum}  {name}");
    }
    Ok(text)
}

/// Runs a program to its end; an error names it.
pub(crate) fn done(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|e| format!("{program} cannot be started: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {status}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_every_file() {
        let (target, dry) = asked(&["--arch", "aarch64", "--dry-run"]).expect("words");
        assert!(dry);
        let wanted = format!(
            "maturin build --release --locked --zig --compatibility manylinux_2_31 \
             --target aarch64-unknown-linux-gnu --out target/dist\n\
             target/dist/helenus-{VERSION}-py3-none-manylinux_2_31_aarch64.whl\n\
             target/dist/helenus-{VERSION}-aarch64-linux.tar.gz\n\
             target/dist/helenus_{VERSION}_arm64.deb\n\
             target/dist/SHA256SUMS\n"
        );
        assert_eq!(plan(target, true), wanted);
        assert!(!plan(target, false).contains(".deb"));
        assert!(asked(&["--arch", "riscv64"]).is_err());
        assert!(asked(&["--fast"]).is_err());
    }

    #[test]
    fn sums_are_those_of_sha256sum() {
        let folder = tempfile::tempdir().expect("a folder");
        fs_err::write(folder.path().join("b"), "abc").expect("a file");
        fs_err::write(folder.path().join("a"), "").expect("a file");
        assert_eq!(
            sums(folder.path()).expect("sums"),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
             ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
        );
    }
}
