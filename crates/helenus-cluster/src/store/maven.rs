//! One call of `mvn` that copies named artifacts into a folder, with no transitive resolution.
//! Refuses to name a registry: mirrors, proxies and credentials are those of a person's settings.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use helenus_model::release::Release;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{StoreError, StoreEvent, TICK, Wanted};
use crate::env::Env;

/// The plugin that copies, pinned so that its output keeps its form; it runs on Maven 3.2.5 on.
const PLUGIN_VERSION: &str = "3.6.1";
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1";

/// Folder of the jars beside the pom.
pub const LIB: &str = "lib";

/// How long a Maven that was asked to end may take before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many of Maven's error lines an error carries.
const LINES_KEPT: usize = 6;

/// Words of Maven and Java that mean "no network".
const OFFLINE: [&str; 9] = [
    "UnknownHostException",
    "Unknown host",
    "Name or service not known",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "No route to host",
    "Connection refused",
    "onnect timed out",
    "in offline mode",
];

/// Fetches the wanted jars into `folder/lib`.
///
/// # Errors
/// No `mvn`, one that failed, a full disk, or a cancelled wait.
pub(super) fn fetch(
    env: &Env,
    wanted: Wanted<'_>,
    folder: &Path,
    cancel: &AtomicBool,
    on: &mut dyn FnMut(StoreEvent),
) -> Result<(), StoreError> {
    let names: BTreeSet<&str> = wanted
        .lock
        .artifacts(wanted.arch)
        .map(|a| a.file.as_str())
        .collect();
    let jars = names.len();
    let mvn = program(env, &|| format!("the release's {jars} jars are"))?;
    on(StoreEvent::Fetching {
        total: jars,
        bytes: wanted.lock.artifacts(wanted.arch).map(|a| a.size).sum(),
    });
    let mut heard = Heard::new(names);
    let (text, goals) = (pom_text(wanted), [format!("{PLUGIN}:copy")]);
    let status = call(env, &mvn, folder, &text, &goals, cancel, &mut |line| {
        heard.line(line, on);
    })?;
    if status.success() {
        return Ok(());
    }
    Err(heard.failure(status, folder))
}

/// Resolves the release with everything it depends on into `folder/lib`; returns Maven's list of it.
///
/// # Errors
/// No `mvn`, one that failed, a version that is not published, a full disk, or a cancelled wait.
pub fn resolve(
    env: &Env,
    release: &'static Release,
    folder: &Path,
    cancel: &AtomicBool,
) -> Result<String, StoreError> {
    let version = release.version;
    let list = folder.join("list.txt");
    let goals = [
        // A version that was not there yesterday is asked for again.
        "--update-snapshots".to_owned(),
        format!("{PLUGIN}:list"),
        format!("{PLUGIN}:copy-dependencies"),
        "-DincludeScope=runtime".to_owned(),
        format!("-DoutputFile={}", list.display()),
        format!("-DoutputDirectory={}", folder.join(LIB).display()),
    ];
    let mut heard = Heard::new(BTreeSet::new());
    let mvn = program(env, &|| format!("Cassandra {version} is"))?;
    let text = resolving_pom(version);
    let status = call(env, &mvn, folder, &text, &goals, cancel, &mut |line| {
        heard.line(line, &mut |_| {});
    })?;
    if !status.success() {
        let coordinates = format!("org.apache.cassandra:cassandra-all:{version}");
        if heard.misses(version) {
            return Err(StoreError::Unpublished {
                version: version.to_owned(),
                coordinates,
                nearest: release.nearest_patches(),
            });
        }
        return Err(heard.failure(status, folder));
    }
    fs_err::read_to_string(&list).map_err(|e| StoreError::of_cache(folder, e))
}

/// `mvn`, which is to fetch what `what` says.
fn program(env: &Env, what: &dyn Fn() -> String) -> Result<PathBuf, StoreError> {
    let mvn = env.find_program("mvn");
    mvn.ok_or_else(|| StoreError::NoMaven { what: what() })
}

/// One call of `mvn` with that pom, which lies in `folder` as long as it runs.
fn call(
    env: &Env,
    mvn: &Path,
    folder: &Path,
    text: &str,
    goals: &[String],
    cancel: &AtomicBool,
    on_line: &mut dyn FnMut(&str),
) -> Result<ExitStatus, StoreError> {
    let pom = folder.join("pom.xml");
    fs_err::write(&pom, text).map_err(|e| StoreError::of_cache(folder, e))?;
    let child = env
        .leashed(mvn)
        .args(["--batch-mode", "-Dstyle.color=never", "--file"])
        .arg(&pom)
        .args(goals)
        .current_dir(folder)
        .env_clear()
        .envs(&env.vars)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| StoreError::MavenStart {
            mvn: mvn.to_owned(),
            source,
        })?;
    let status = listen(child, cancel, on_line)?;
    fs_err::remove_file(&pom).map_err(|e| StoreError::of_cache(folder, e))?;
    Ok(status)
}

/// What Maven said so far.
struct Heard<'a> {
    names: BTreeSet<&'a str>,
    arrived: BTreeSet<&'a str>,
    errors: Vec<String>,
    last: Vec<String>,
}

impl<'a> Heard<'a> {
    fn new(names: BTreeSet<&'a str>) -> Self {
        Self {
            names,
            arrived: BTreeSet::new(),
            errors: Vec::new(),
            last: Vec::new(),
        }
    }

    fn line(&mut self, line: &str, on: &mut dyn FnMut(StoreEvent)) {
        let line = &without_credentials(line);
        tracing::debug!(target: "helenus::mvn", "{line}");
        // A jar is there when it was fetched, or copied from the local repository.
        if line.contains("Downloaded") || line.contains("Copying ") {
            let words = line.split([' ', '/']);
            let jar = words.filter_map(|word| self.names.get(word)).next();
            if let Some(jar) = jar.copied()
                && self.arrived.insert(jar)
            {
                on(StoreEvent::Fetched {
                    done: self.arrived.len(),
                    total: self.names.len(),
                });
            }
        }
        let bare = line.trim();
        if let Some(error) = bare.strip_prefix("[ERROR]") {
            self.keep_error(error.trim());
        } else if !bare.is_empty() && !bare.starts_with("[INFO]") {
            self.last.push(bare.to_owned());
            if self.last.len() > LINES_KEPT {
                self.last.remove(0);
            }
        }
    }

    /// Maven ends with general advice; the first lines hold the cause.
    fn keep_error(&mut self, error: &str) {
        let advice = [
            "To see the full stack trace",
            "Re-run Maven",
            "For more information",
            "[Help",
        ];
        let noise = error.is_empty() || advice.iter().any(|a| error.starts_with(a));
        if !noise && self.errors.len() < LINES_KEPT {
            self.errors.push(error.to_owned());
        }
    }

    /// Whether Maven looked for Cassandra's own jar of that version and found none.
    fn misses(&self, version: &str) -> bool {
        let jar = format!("cassandra-all:jar:{version} ");
        let complaints = ["Could not find artifact", "was not found in"];
        let missing =
            |line: &String| line.contains(&jar) && complaints.iter().any(|c| line.contains(c));
        self.errors.iter().any(missing)
    }

    fn failure(self, status: ExitStatus, folder: &Path) -> StoreError {
        let lines = if self.errors.is_empty() {
            self.last
        } else {
            self.errors
        };
        let said = |word: &str| lines.iter().any(|line| line.contains(word));
        if said("No space left on device") || said("Disk quota exceeded") {
            return StoreError::DiskFull {
                folder: folder.parent().unwrap_or(folder).to_owned(),
            };
        }
        StoreError::MavenFailed {
            status: status.to_string(),
            offline: OFFLINE.iter().any(|word| said(word)),
            lines,
        }
    }
}

/// The line without the `user:password@` of an address: it must not reach a log or a report.
fn without_credentials(line: &str) -> String {
    let bare = |word: &str| {
        let host = word.find("://")? + 3;
        let end = word[host..].find('/').map_or(word.len(), |at| host + at);
        let at = host + word[host..end].rfind('@')?;
        Some(format!("{}{}", &word[..host], &word[at + 1..]))
    };
    let words = line.split_inclusive(' ');
    words
        .map(|word| bare(word).unwrap_or_else(|| word.to_owned()))
        .collect()
}

/// Hands every line of a child to `on_line` until it has ended; ends it when `cancel` is true.
pub(super) fn listen(
    mut child: Child,
    cancel: &AtomicBool,
    on_line: &mut dyn FnMut(&str),
) -> Result<ExitStatus, StoreError> {
    let lines = {
        let (sender, receiver) = channel();
        spawn_reader(child.stdout.take(), &sender);
        spawn_reader(child.stderr.take(), &sender);
        receiver
    };
    loop {
        if cancel.load(Ordering::Relaxed) {
            end(&mut child);
            return Err(StoreError::Cancelled);
        }
        match lines.recv_timeout(TICK) {
            Ok(line) => on_line(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
        }
        if let Ok(Some(status)) = child.try_wait() {
            drain(&lines, on_line);
            return Ok(status);
        }
    }
}

/// What is still on its way when a child has ended; a grandchild may hold the pipes for ever.
fn drain(lines: &Receiver<String>, on_line: &mut dyn FnMut(&str)) {
    let until = Instant::now() + PATIENCE;
    while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
        on_line(&line);
    }
}

fn spawn_reader(pipe: Option<impl Read + Send + 'static>, sender: &Sender<String>) {
    let Some(pipe) = pipe else { return };
    let sender = sender.clone();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while matches!(reader.read_until(b'\n', &mut bytes), Ok(n) if n > 0) {
            let line = String::from_utf8_lossy(&bytes);
            if sender.send(line.trim_end().to_owned()).is_err() {
                break;
            }
            bytes.clear();
        }
    });
}

/// Ends a child and whatever it started: asked first, killed after a while.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    let asked = Instant::now();
    let _gone_already = signal(Signal::TERM);
    while asked.elapsed() < PATIENCE {
        if matches!(child.try_wait(), Ok(Some(_))) {
            break;
        }
        std::thread::sleep(TICK);
    }
    let _gone_already = signal(Signal::KILL);
    let _reaped = child.wait();
}

/// A project that depends on the release and on nothing else.
fn resolving_pom(version: &str) -> String {
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>helenus</groupId><artifactId>lock</artifactId><version>1</version><dependencies>\
         <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>\
         <version>{}</version></dependency></dependencies></project>\n",
        escaped(version)
    )
}

/// A project of its own that asks for nothing but those artifacts, into `lib` beside it.
fn pom_text(wanted: Wanted<'_>) -> String {
    let mut items = String::new();
    for artifact in wanted.lock.artifacts(wanted.arch) {
        let classifier = artifact.classifier.iter();
        let classifier: String = classifier
            .map(|c| format!("<classifier>{}</classifier>", escaped(c)))
            .collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            items,
            "<artifactItem><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>\
             {classifier}</artifactItem>",
            escaped(&artifact.group),
            escaped(&artifact.artifact),
            escaped(&artifact.version),
        );
    }
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n\
         <modelVersion>4.0.0</modelVersion>\n\
         <groupId>helenus</groupId><artifactId>release</artifactId><version>1</version>\n\
         <packaging>pom</packaging>\n\
         <build><plugins><plugin>\n\
         <groupId>org.apache.maven.plugins</groupId>\n\
         <artifactId>maven-dependency-plugin</artifactId><version>{PLUGIN_VERSION}</version>\n\
         <configuration>\n<outputDirectory>${{project.basedir}}/lib</outputDirectory>\n\
         <artifactItems>\n{items}</artifactItems>\n</configuration>\n\
         </plugin></plugins></build>\n</project>\n"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}
