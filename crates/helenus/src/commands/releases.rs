//! `helenus releases`: what is known, cached and runnable here; `fetch` brings one into the cache.

use crate::cli::{Releases, ReleasesVerb};
use crate::commands::up::{Watcher, plural};
use crate::error::{CommandError, code};
use crate::ui::{Table, Ui};
use helenus_cluster::error::ClusterError;
use helenus_cluster::jdk;
use helenus_cluster::lifecycle::{Event, Hands};
use helenus_cluster::store::Store;
use helenus_model::format::Format;
use helenus_model::release::{Arch, Release};
use helenus_model::units::Bytes;
use serde::Serialize;

#[derive(Serialize)]
struct Known {
    format: Format,
    releases: Vec<ReleaseView>,
    jdks: Vec<JdkView>,
}

#[derive(Serialize)]
struct ReleaseView {
    version: &'static str,
    supported_jdks: &'static [u32],
    works_on_jdks: &'static [u32],
    jars: usize,
    bytes: u64,
    cached: Option<String>,
    runs_on: Option<String>,
    problem: Option<String>,
}

#[derive(Serialize)]
struct JdkView {
    version: String,
    home: String,
}

/// What `releases fetch` answers.
#[derive(Serialize)]
struct Fetched {
    format: Format,
    version: String,
    jars: usize,
    /// Whether it was in the cache before.
    cached: bool,
    /// Where it is; absent where nothing was fetched.
    home: Option<String>,
}

pub(crate) fn run(flags: &Releases, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    if let Some(ReleasesVerb::Fetch { release, dry_run }) = &flags.verb {
        return fetch(release, *dry_run, hands, ui);
    }
    let store = Store::open(&hands.paths.cache, &hands.env).map_err(ClusterError::from)?;
    let found = jdk::find(&hands.env);
    let releases = Release::all()
        .iter()
        .map(|release| view(release, &store, &found))
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

fn view(release: &'static Release, store: &Store, found: &[jdk::FoundJdk]) -> ReleaseView {
    let (runs_on, problem) = match jdk::choose(release, found, None) {
        Ok(chosen) => (Some(chosen.jdk.to_string()), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let artifacts: Vec<_> = release
        .lock()
        .map(|lock| lock.artifacts(Arch::here()).collect())
        .unwrap_or_default();
    ReleaseView {
        version: release.version,
        supported_jdks: release.supported_jdks,
        works_on_jdks: release.works_jdks,
        jars: artifacts.len(),
        bytes: artifacts.iter().map(|a| a.size).sum(),
        cached: store
            .cached(release, Arch::here())
            .map(|p| p.to_string_lossy().into_owned()),
        runs_on,
        problem,
    }
}

/// The text, or nothing where there is nothing to tell.
fn some(there: bool, text: String) -> String {
    if there { text } else { String::new() }
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
        ">jars",
        ">size",
        "supports JDK",
        "works on",
        "runs here on",
    ]);
    for release in &known.releases {
        table.row([
            release.version.to_owned(),
            match (&release.cached, release.jars) {
                (Some(_), _) => "yes".to_owned(),
                (None, 0) => "unpacked only".to_owned(),
                (None, _) => "no".to_owned(),
            },
            some(release.jars > 0, release.jars.to_string()),
            some(release.jars > 0, Bytes(release.bytes).to_string()),
            list(release.supported_jdks),
            list(release.works_on_jdks),
            release
                .runs_on
                .clone()
                .or_else(|| release.problem.clone())
                .unwrap_or_default(),
        ]);
    }
    let mut text = table.render();
    text.push_str("\nJDKs found here:\n");
    for jdk in &known.jdks {
        text.push_str(&format!("  {}  {}\n", jdk.version, jdk.home));
    }
    if known.jdks.is_empty() {
        text.push_str("  none\n");
    }
    text
}

fn fetch(name: &str, dry_run: bool, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let release =
        Release::find(name).map_err(|e| CommandError::of(code::USAGE, &e).hint(e.hint()))?;
    let store = Store::open(&hands.paths.cache, &hands.env).map_err(ClusterError::from)?;
    let jars = release
        .lock()
        .map_or(0, |lock| lock.artifacts(Arch::here()).count());
    let cached = store.cached(release, Arch::here()).is_some();
    if dry_run {
        let what = if cached {
            "is cached already"
        } else {
            "would be fetched"
        };
        let answer = Fetched {
            format: Format::new("release-fetched", 1),
            version: release.version.to_owned(),
            jars,
            cached,
            home: None,
        };
        ui.result(&answer, || {
            format!(
                "Cassandra {} ({}) {what}\n",
                release.version,
                plural(jars, "jar")
            )
        });
        return Ok(0);
    }
    let mut watcher = Watcher::new(ui, "", 0);
    let files = store
        .ensure(release, Arch::here(), &hands.cancel.flag(), &mut |event| {
            watcher.see(&Event::Store(event));
        })
        .map_err(ClusterError::from)?;
    drop(watcher);
    let answer = Fetched {
        format: Format::new("release-fetched", 1),
        version: files.version.clone(),
        jars,
        cached,
        home: Some(files.home.to_string_lossy().into_owned()),
    };
    ui.result(&answer, || {
        format!(
            "Cassandra {} is in {}\n",
            answer.version,
            files.home.display()
        )
    });
    Ok(0)
}
