//! The root file system of an image while it is made: this machine's C library, a Java, Cassandra, this very binary.
//! Refuses a package manager and a shell: what nothing in the image needs is not in it.

use super::layers::{OWNED, TMP, walk};
use super::{ImageError, failed};
use crate::archive::launcher_jar;
use crate::env::Env;
use crate::state::Runtime;
use fs_err as fs;
use helenus_model::kube::image::STAMP;
use helenus_model::kube::pod::{
    CONF_FOLDER, DATA_FOLDER, HOME_FOLDER, JAVA, JAVA_FOLDER, LAUNCHER, LAUNCHER_JAR, MODULE_FLAGS,
    QUIET_LOGBACK, TOOLS_LOGBACK, USER_ID,
};
use helenus_model::release::{JMX_CLIENT, NODE_MODULES};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

/// Modules that Cassandra, its libraries and its tools use beside those without which no node starts.
const MODULES: [&str; 25] = [
    "java.base",
    "java.compiler",
    "java.instrument",
    "java.logging",
    "java.management.rmi",
    "java.net.http",
    "java.prefs",
    "java.rmi",
    "java.scripting",
    "java.security.jgss",
    "java.security.sasl",
    "java.sql",
    "java.transaction.xa",
    "java.xml",
    "java.xml.crypto",
    "jdk.attach",
    "jdk.crypto.ec",
    "jdk.httpserver",
    "jdk.management",
    "jdk.management.agent",
    "jdk.naming.dns",
    "jdk.net",
    "jdk.nio.mapmode",
    "jdk.security.auth",
    "jdk.zipfs",
];

/// Parts of a JDK that run nothing.
const IDLE: [&str; 6] = ["demo", "include", "jmods", "man", "sample", "src.zip"];

/// Libraries that native code in jars wants, and that the C library looks for by itself.
const EXTRAS: [&str; 9] = [
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libnss_dns.so.2",
    "libnss_files.so.2",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libstdc++.so.6",
];

/// The locale whose text is UTF-8, where the C library does not have it built in.
const LOCALES: [&str; 2] = ["/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"];

/// The JDK from which `jlink` leaves debug information out without the machine's own tools for it.
const FIRST_THAT_STRIPS_ALONE: u32 = 13;

/// A place of the image below its root on this machine.
pub(super) fn below(root: &Path, place: &str) -> PathBuf {
    root.join(place.trim_start_matches('/'))
}

/// The modules that a JDK can link a smaller Java from; none where it cannot.
pub(super) fn linkable(home: &Path) -> Vec<&'static str> {
    if !home.join("bin/jlink").exists() {
        return Vec::new();
    }
    let all = MODULES.into_iter().chain(NODE_MODULES).chain([JMX_CLIENT]);
    let there = |module: &&str| home.join(format!("jmods/{module}.jmod")).exists();
    all.filter(there).collect()
}

/// Puts Java into the image: linked from the JDK's modules, or else a copy without what runs nothing.
pub(super) fn java(root: &Path, home: &Path, feature: u32, env: &Env) -> Result<(), ImageError> {
    let to = below(root, JAVA_FOLDER);
    let modules = linkable(home);
    if modules.is_empty() {
        return copy(home, &to).map_err(failed("the image's Java"));
    }
    let parent = to.parent().unwrap_or(&to);
    fs::create_dir_all(parent).map_err(failed("the image's Java"))?;
    let strip = match feature >= FIRST_THAT_STRIPS_ALONE {
        true => "--strip-java-debug-attributes",
        false => "--strip-debug",
    };
    let mut jlink = env.leashed(&home.join("bin/jlink"));
    jlink
        .arg("--module-path")
        .arg(home.join("jmods"))
        .arg("--add-modules")
        .arg(modules.join(","))
        .arg("--output")
        .arg(&to)
        .args([strip, "--no-header-files", "--no-man-pages", "--compress=2"]);
    run(jlink, "jlink")?;
    // What a JDK brings and a linked Java lacks: the archive of Java's own classes, below that of Cassandra's.
    let mut dump = env.leashed(&below(root, JAVA));
    dump.arg("-Xshare:dump");
    if let Err(error) = run(dump, "java -Xshare:dump") {
        tracing::warn!(%error, "Java's own classes have no archive");
    }
    Ok(())
}

/// Size of a folder as [`copy`] takes it.
pub(super) fn size(from: &Path) -> u64 {
    let entries = fs::read_dir(from).into_iter().flatten().flatten();
    let each = entries.map(|entry| {
        let path = entry.path();
        match fs::metadata(&path) {
            _ if IDLE.iter().any(|idle| *entry.file_name() == **idle) => 0,
            Ok(there) if there.is_dir() => size(&path),
            Ok(there) => there.len(),
            Err(_) => 0,
        }
    });
    each.sum()
}

/// Copies a folder: what links lead to, without what runs nothing.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        if IDLE.iter().any(|idle| *name == **idle) {
            continue;
        }
        // A link that leads nowhere is of no use in the image either.
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => copy(&path, &to.join(name))?,
            Ok(there) if there.is_file() => {
                fs::copy(&path, to.join(name))?;
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// What needs libraries of this machine: Java's programs and libraries, and helenus.
pub(super) fn programs(java: &Path, helenus: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let _what_is_there = walk(java, Path::new(""), &mut found);
    let is_library = |path: &PathBuf| path.extension().is_some_and(|e| e == "so");
    let libraries = found.into_iter().filter(is_library);
    let mut all: Vec<PathBuf> = libraries.map(|path| java.join(path)).collect();
    all.push(java.join("bin/java"));
    all.push(helenus.to_owned());
    all
}

/// The libraries that these programs need, but for those below `own`, and the extras.
pub(super) fn libraries(programs: &[PathBuf], own: &Path) -> Result<BTreeSet<PathBuf>, ImageError> {
    let mut all = closure(programs)?;
    all.retain(|library| !library.starts_with(own));
    let mut folders: BTreeSet<PathBuf> = all
        .iter()
        .filter_map(|library| library.parent().map(Path::to_owned))
        .collect();
    // Where /lib is no link, half of them are below /usr.
    let below_usr: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| Some(Path::new("/usr").join(folder.strip_prefix("/").ok()?)))
        .collect();
    folders.extend(below_usr);
    let extra = |name: &&str| {
        let mut places = folders.iter().map(|folder| folder.join(name));
        places.find(|place| place.exists())
    };
    let extras: Vec<PathBuf> = EXTRAS.iter().filter_map(extra).collect();
    all.extend(closure(&extras)?);
    all.extend(extras);
    Ok(all)
}

fn closure(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>, ImageError> {
    // It ends with 1 where one of them is linked statically, and has none.
    let output = Command::new("ldd")
        .args(programs)
        .env("LC_ALL", "C")
        .output();
    let output = output.map_err(failed("the list of libraries (by ldd)"))?;
    Ok(named(&String::from_utf8_lossy(&output.stdout)))
}

/// The libraries in what `ldd` prints; the loader may be a link, and is looked for by that name.
fn named(printed: &str) -> BTreeSet<PathBuf> {
    let found = printed.lines().filter_map(|line| {
        let (names, _) = line.trim().rsplit_once(" (0x")?;
        let paths = names.split(" => ").filter(|name| name.starts_with('/'));
        Some(paths.map(PathBuf::from).collect::<Vec<_>>())
    });
    found.flatten().collect()
}

/// Puts into the image what everything else stands on.
pub(super) fn base(root: &Path, libraries: &BTreeSet<PathBuf>) -> io::Result<()> {
    for library in libraries {
        let to = root.join(library.strip_prefix("/").unwrap_or(library));
        fs::create_dir_all(to.parent().unwrap_or(root))?;
        fs::copy(library, to)?;
    }
    for locale in LOCALES.iter().filter(|locale| Path::new(locale).is_dir()) {
        copy(Path::new(locale), &below(root, locale))?;
    }
    // Three of them are filled by whoever runs the image, the training start too.
    for folder in [TMP, "etc", "dev", "proc", "sys"].into_iter().chain(OWNED) {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::create_dir_all(below(root, CONF_FOLDER))?;
    let nobody = "/sbin/nologin";
    let passwd = format!(
        "root:x:0:0:root:/:{nobody}\ncassandra:x:{USER_ID}:{USER_ID}:cassandra:{DATA_FOLDER}:{nobody}\n"
    );
    fs::write(root.join("etc/passwd"), passwd)?;
    let group = format!("root:x:0:\ncassandra:x:{USER_ID}:\n");
    fs::write(root.join("etc/group"), group)?;
    let names = "passwd: files\ngroup: files\nhosts: files dns\n";
    fs::write(root.join("etc/nsswitch.conf"), names)
}

/// Puts this binary into the image, and a link by which it is nodetool.
pub(super) fn helenus(root: &Path, helenus: &Path) -> io::Result<()> {
    let to = below(root, LAUNCHER);
    let folder = to.parent().unwrap_or(root);
    fs::create_dir_all(folder)?;
    fs::copy(helenus, &to)?;
    fs::os::unix::fs::symlink("helenus", folder.join("nodetool"))
}

/// Puts Cassandra into the image; answers the flags about modules as they are there.
pub(super) fn cassandra(root: &Path, runtime: &Runtime) -> io::Result<Vec<String>> {
    let home = below(root, HOME_FOLDER);
    fs::create_dir_all(home.join("lib"))?;
    let mut names = Vec::new();
    for jar in &runtime.jars {
        let name = format!("lib/{}", name_of(jar));
        fs::copy(jar, home.join(&name))?;
        names.push(name);
    }
    let moved = |flag: &String| match flag.strip_prefix("-javaagent:") {
        Some(jar) => format!("-javaagent:{HOME_FOLDER}/lib/{}", name_of(Path::new(jar))),
        None => flag.clone(),
    };
    let flags: Vec<String> = runtime.module_flags.iter().map(moved).collect();
    fs::write(below(root, LAUNCHER_JAR), launcher_jar(&names, &flags))?;
    fs::write(below(root, MODULE_FLAGS), flags.join("\n") + "\n")?;
    fs::write(below(root, TOOLS_LOGBACK), QUIET_LOGBACK)?;
    Ok(flags)
}

fn name_of(jar: &Path) -> String {
    let name = jar.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Gives every file below a place the time that it will have in the image: HotSpot looks at that of jars.
pub(super) fn stamp(root: &Path, place: &str) -> io::Result<()> {
    let then = UNIX_EPOCH + Duration::from_secs(STAMP);
    let mut found = Vec::new();
    walk(&below(root, place), Path::new(""), &mut found)?;
    for path in found {
        let path = below(root, place).join(path);
        if fs::symlink_metadata(&path)?.is_file() {
            fs::File::open(&path)?.set_modified(then)?;
        }
    }
    Ok(())
}

fn run(mut command: Command, program: &'static str) -> Result<(), ImageError> {
    let output = command.output().map_err(failed(program))?;
    if output.status.success() {
        return Ok(());
    }
    // jlink prints its errors on standard output.
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let last: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    Err(ImageError::Program {
        program,
        status: output.status.to_string(),
        said: last
            .iter()
            .rev()
            .take(3)
            .rev()
            .map(|l| (*l).to_owned())
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_ldd_prints() {
        let printed = "/opt/java/lib/libnet.so:\n\
            \tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibjvm.so => not found\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)\n\
            \t/lib64/ld-linux-x86-64.so.2 => /usr/lib64/ld-linux-x86-64.so.2 (0x00007f2)\n\
            \t/lib/ld-musl-x86_64.so.1 (0x7f3)\n\
            helenus:\n\tnot a dynamic executable\n";
        let expected = [
            "/lib/ld-musl-x86_64.so.1",
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
            "/usr/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(named(printed), BTreeSet::from(expected.map(PathBuf::from)));
    }

    #[test]
    fn a_jdk_without_modules_is_copied_without_what_runs_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("jdk"), folder.path().join("root"));
        for place in ["bin", "lib", "man/man1"] {
            fs::create_dir_all(from.join(place)).expect("made");
        }
        fs::write(from.join("bin/java"), "java").expect("written");
        fs::write(from.join("lib/src.zip"), "source").expect("written");
        fs::write(folder.path().join("cacerts"), "ca").expect("written");
        for (link, leads) in [("cacerts", "../../cacerts"), ("gone", "/no/such")] {
            fs::os::unix::fs::symlink(leads, from.join("lib").join(link)).expect("a link");
        }
        assert_eq!(linkable(&from), Vec::<&str>::new());
        java(&to, &from, 17, &Env::default()).expect("copied");
        let mut found = Vec::new();
        let home = below(&to, JAVA_FOLDER);
        walk(&home, Path::new(""), &mut found).expect("there");
        let expected = ["", "bin", "bin/java", "lib", "lib/cacerts"];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(
            fs::read_to_string(home.join("lib/cacerts")).expect("read"),
            "ca"
        );
        assert_eq!(size(&from), 6);
    }

    #[test]
    fn an_agent_is_named_where_the_image_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let jar = folder.path().join("jamm-0.4.jar");
        fs::write(&jar, "x").expect("written");
        let runtime = Runtime {
            java: PathBuf::new(),
            jvm: "17".into(),
            jdk_feature: 17,
            jdk_caution: None,
            jars: vec![jar.clone()],
            launcher: PathBuf::new(),
            archive: None,
            module_flags: vec!["-Dx=1".into(), format!("-javaagent:{}", jar.display())],
            fake: None,
        };
        let root = folder.path().join("root");
        let flags = cassandra(&root, &runtime).expect("put there");
        let expected = ["-Dx=1", "-javaagent:/opt/cassandra/lib/jamm-0.4.jar"];
        assert_eq!(flags, expected);
        let kept = fs::read_to_string(below(&root, MODULE_FLAGS)).expect("read");
        assert_eq!(kept, format!("{}\n", expected.join("\n")));
        stamp(&root, HOME_FOLDER).expect("stamped");
        let launcher = fs::metadata(below(&root, LAUNCHER_JAR)).expect("there");
        let then = UNIX_EPOCH + Duration::from_secs(STAMP);
        assert_eq!(launcher.modified().expect("a time"), then);
    }
}
