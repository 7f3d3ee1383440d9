//! `helenus releases`: what is known, cached and runnable here; `fetch` brings one into the cache.

use crate::cli::{Releases, ReleasesVerb};
use crate::commands::up::{Watcher, print_unfetched};
use crate::error::CommandError;
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_cluster::event::Event;
use helenus_cluster::jdk;
use helenus_cluster::lifecycle::Source;
use helenus_cluster::store::{ReleaseFiles, Store};
use helenus_model::format::Format;
use helenus_model::release::{Arch, Release};
use helenus_model::units::{Bytes, plural};
use serde::Serialize;

#[derive(Serialize)]
struct Known {
    format: Format,
    /// The releases.
    releases: Vec<ReleaseView>,
    /// JDKs that were found here.
    jdks: Vec<JdkView>,
}

impl Answers for Known {
    fn answer(&self) -> String {
        let count = |is: fn(&ReleaseView) -> bool| self.releases.iter().filter(|r| is(r)).count();
        format!(
            "{}: {} cached, {} can run here",
            plural(self.releases.len(), "release"),
            count(|release| release.cached.is_some()),
            count(|release| release.runs_on.is_some())
        )
    }
}

#[derive(Serialize)]
struct ReleaseView {
    /// Its version.
    version: &'static str,
    /// `pinned`, `recorded` at first use here, or none yet.
    checksums: Option<&'static str>,
    /// JDKs that it supports.
    supported_jdks: &'static [u32],
    /// JDKs that it works on.
    works_on_jdks: &'static [u32],
    /// How many jars it has; 0 where no checksums are known.
    jars: usize,
    /// Size of its jars.
    bytes: u64,
    /// Its folder in the cache; none where it is not there.
    cached: Option<String>,
    /// The class-data archive for the JDK that it runs on; absent until `fetch` or a first start makes it.
    archive: Option<String>,
    /// JDK that it runs on here.
    runs_on: Option<String>,
    /// The JDK for nodetool, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodetool_on: Option<String>,
    /// Why it cannot run here.
    problem: Option<String>,
}

#[derive(Serialize)]
struct JdkView {
    /// Its version.
    version: String,
    /// Its folder.
    home: String,
}

/// What `releases fetch` answers.
#[derive(Serialize)]
struct Fetched {
    format: Format,
    /// Its version.
    version: String,
    /// How many; unknown before the first fetch of a patch whose checksums are not pinned.
    jars: Option<usize>,
    /// Whether it was in the cache before.
    cached: bool,
    /// Where it is; absent where nothing was fetched.
    home: Option<String>,
    /// Its class-data archive; absent where none was made.
    archive: Option<String>,
}

impl Answers for Fetched {
    fn answer(&self) -> String {
        let version = &self.version;
        if let Some(home) = &self.home {
            return format!("Cassandra {version} is in {home}");
        }
        let jars = self.jars.map_or_else(
            || "checksums are recorded at first use".to_owned(),
            |jars| plural(jars, "jar"),
        );
        let what = match self.cached {
            true => "is cached already",
            false => "would be fetched",
        };
        format!("Cassandra {version} ({jars}) {what}")
    }
}

pub(crate) fn run(flags: &Releases, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if let Some(ReleasesVerb::Fetch {
        release,
        no_archive,
        dry_run,
    }) = &flags.verb
    {
        return fetch(release, (*no_archive, *dry_run), context, ui);
    }
    let store = Store::open(&context.paths.cache, &context.env)?;
    let found = jdk::find(&context.env);
    let releases = store
        .listed()
        .into_iter()
        .map(|release| view(release, &store, &found, context))
        .collect();
    let jdks = found
        .iter()
        .map(|f| JdkView {
            version: f.jdk.version.clone(),
            home: f.jdk.home.to_string_lossy().into_owned(),
        })
        .collect();
    let known = Known {
        format: Format::new("releases", 1),
        releases,
        jdks,
    };
    ui.result(&known, || text(&known));
    Ok(0)
}

fn view(
    release: &'static Release,
    store: &Store,
    found: &[jdk::FoundJdk],
    context: &Context,
) -> ReleaseView {
    let (runs_on, nodetool_on, problem) = match jdk::choose(release, found, None) {
        Ok(chosen) => {
            let (other, problem) = match jdk::for_tools(release, &chosen.jdk, found) {
                Ok(jdk) => ((jdk != chosen.jdk).then(|| jdk.to_string()), None),
                Err(error) => (None, Some(error.to_string())),
            };
            (Some(chosen.jdk.to_string()), other, problem)
        }
        Err(error) => (None, None, Some(error.to_string())),
    };
    let lock = store.known_lock(release);
    let artifacts: Vec<_> = lock
        .iter()
        .flat_map(|lock| lock.artifacts(Arch::here()))
        .collect();
    ReleaseView {
        version: release.version,
        checksums: match (release.lock(), &lock) {
            (Some(_), _) => Some("pinned"),
            (None, Some(_)) => Some("recorded"),
            (None, None) => None,
        },
        supported_jdks: release.supported_jdks,
        works_on_jdks: release.works_jdks,
        jars: artifacts.len(),
        bytes: artifacts.iter().map(|a| a.size).sum(),
        cached: store
            .cached(release, Arch::here())
            .map(|p| p.to_string_lossy().into_owned()),
        archive: context
            .archive_of(release)
            .filter(|path| path.exists())
            .map(|path| path.to_string_lossy().into_owned()),
        runs_on,
        nodetool_on,
        problem,
    }
}

fn yes(there: bool) -> String {
    let word = if there { "yes" } else { "no" };
    word.to_owned()
}

/// The text, or nothing where there is nothing to print.
fn some(there: bool, text: String) -> String {
    if there { text } else { String::new() }
}

/// The JDK of its nodes; that of nodetool where it is another one, or why there is none.
fn here(release: &ReleaseView) -> String {
    let node = release.runs_on.clone();
    let tool = release
        .nodetool_on
        .iter()
        .map(|on| format!("nodetool: {on}"));
    let all = node.into_iter().chain(tool).chain(release.problem.clone());
    all.collect::<Vec<_>>().join("; ")
}

fn text(known: &Known) -> String {
    let list = |numbers: &[u32]| {
        numbers
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut table = Table::new(&[
        "release",
        "cached",
        "archive",
        "checksums",
        ">jars",
        ">size",
        "supports JDK",
        "works on",
        "runs here on",
    ]);
    for release in &known.releases {
        table.row([
            release.version.to_owned(),
            yes(release.cached.is_some()),
            yes(release.archive.is_some()),
            release.checksums.unwrap_or("at first use").to_owned(),
            some(release.jars > 0, release.jars.to_string()),
            some(release.jars > 0, Bytes(release.bytes).to_string()),
            list(release.supported_jdks),
            list(release.works_on_jdks),
            here(release),
        ]);
    }
    let mut text = table.render();
    text.push_str(
        "\nEvery other published patch of these series can be fetched too: its checksums are recorded at first use.\n",
    );
    text.push_str("\nJDKs found here:\n");
    for jdk in &known.jdks {
        text.push_str(&format!("  {}  {}\n", jdk.version, jdk.home));
    }
    if known.jdks.is_empty() {
        text.push_str("  none\n");
    }
    text
}

/// The release's files, fetched where they are not there.
pub(crate) fn ensured(
    release: &'static Release,
    store: &Store,
    context: &Context,
    watcher: &mut Watcher,
) -> Result<ReleaseFiles, CommandError> {
    let files = store.ensure(
        release,
        Arch::here(),
        &context.cancel.flag(),
        &mut |event| {
            watcher.see(&Event::Store(event));
        },
    );
    Ok(files?)
}

fn fetch(
    name: &str,
    (no_archive, dry_run): (bool, bool),
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let release = Release::find(name)?;
    let store = Store::open(&context.paths.cache, &context.env)?;
    // Of a patch that was never fetched nobody knows yet.
    let jars = |lock: helenus_model::release::Lock| lock.artifacts(Arch::here()).count();
    let jars = store.known_lock(release).map(jars);
    let cached = store.cached(release, Arch::here()).is_some();
    if dry_run {
        print_unfetched(&Source::Known(name.to_owned()), context, ui);
        let answer = Fetched {
            format: Format::new("release-fetched", 1),
            version: release.version.to_owned(),
            jars,
            cached,
            home: None,
            archive: None,
        };
        ui.result(&answer, || answer.answer() + "\n");
        return Ok(0);
    }
    let mut watcher = Watcher::new(ui, "", 0);
    let files = ensured(release, &store, context, &mut watcher)?;
    let archive = match no_archive {
        true => None,
        false => archive(release, context, &mut watcher, ui)?,
    };
    drop(watcher);
    let answer = Fetched {
        format: Format::new("release-fetched", 1),
        version: files.version.clone(),
        jars: Some(files.jars.len()),
        cached,
        home: Some(files.home.to_string_lossy().into_owned()),
        archive,
    };
    ui.result(&answer, || {
        let archive = answer.archive.as_ref();
        let archive = archive.map(|path| format!("its class-data archive is {path}\n"));
        format!("{}\n{}", answer.answer(), archive.unwrap_or_default())
    });
    Ok(0)
}

/// The archive; what stands in its way is a caution, because the release is there and its first start tries again.
fn archive(
    release: &'static Release,
    context: &Context,
    watcher: &mut Watcher<'_>,
    ui: &Ui,
) -> Result<Option<String>, CommandError> {
    match context.make_archive(release, &mut |event| watcher.see(&event)) {
        Ok(path) => Ok(path.map(|path| path.to_string_lossy().into_owned())),
        Err(error) if context.cancel.is_set() => Err(error.into()),
        Err(error) => {
            let why = with_causes(&error);
            let cure = error.hint().map(|hint| format!("; {hint}"));
            ui.caution(&format!(
                "no class-data archive was made, the first start will try: {why}{}",
                cure.unwrap_or_default()
            ));
            Ok(None)
        }
    }
}
