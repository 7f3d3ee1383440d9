//! `prove like`: ten files of the shapes that productions have, on each release that can be fetched: what became of each
//! key, and whether the running node reports what was said. Refuses to time anything, so the debug binary will do.

use super::host::{self, Host};
use super::rig;
use helenus_model::like::{Class, Difference, reported};
use helenus_model::release::Release;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `--list` says.
pub(crate) const ABOUT: &str = "up --like of ten files on 4.0, 4.1 and 5.0: each key's fate, and what the running node reports";

/// Form of the lines.
const FORMAT: &str = "helenus.proof-like/1";

const RELEASES: [&str; 3] = ["4.0", "4.1", "5.0"];

const NAME: &str = "like";

/// One file on one release.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Trial {
    format: String,
    shape: String,
    release: String,
    at_unix: u64,
    host: Host,
    /// Keys of the file by what became of them, and what was added.
    fates: BTreeMap<String, Vec<String>>,
    /// Settings that were said and are so.
    said: usize,
    /// Settings that were not named and have the release's default.
    defaults: usize,
    /// Settings that the node reports otherwise: name, what was said, what it reports.
    otherwise: Vec<(String, String, Option<String>)>,
    /// Why the cluster did not come up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

impl Trial {
    fn holds(&self) -> bool {
        self.failed.is_none() && self.otherwise.is_empty()
    }
}

/// Runs what is missing or did not hold, and answers whether all nodes report what was said.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<bool, Box<dyn Error>> {
    let fresh = words == ["--fresh"];
    if !fresh && !words.is_empty() {
        return Err(format!("prove like takes --fresh alone, not {}", words.join(" ")).into());
    }
    let java = std::env::var("JAVA11_HOME");
    let java = java.map_err(|_| "4.0 and 4.1 want JDK 11: set JAVA11_HOME to its folder")?;
    let bench = Bench::open(root, java)?;
    let path = journal(&root.join("benches/runs"), &bench.host.hash, fresh)?;
    let mut trials = read(&path)?;
    for shape in shapes(root)? {
        for release in RELEASES {
            let done = |t: &&Trial| t.shape == shape && t.release == release && t.holds();
            if trials.iter().any(|t| done(&t)) {
                continue;
            }
            let trial = bench.trial(&shape, release)?;
            println!("{}", line(&trial));
            super::journal::write(&path, &serde_json::to_string(&trial)?)?;
            trials.push(trial);
        }
    }
    Ok(answer(&path, &trials))
}

/// The table of all trials; a later one of a file and release stands for earlier ones.
fn answer(path: &Path, trials: &[Trial]) -> bool {
    let mut last: BTreeMap<(&str, &str), &Trial> = BTreeMap::new();
    for trial in trials {
        last.insert((&trial.shape, &trial.release), trial);
    }
    println!("\n{}", path.display());
    let mut holds = true;
    for trial in last.values() {
        println!("{}", line(trial));
        for (name, said, reported) in &trial.otherwise {
            let reported = reported.as_deref().unwrap_or("nothing");
            println!("  {name}: said {said}, reported {reported}");
        }
        holds &= trial.holds();
    }
    println!(
        "{} files and releases: {}",
        last.len(),
        if holds { "all as said" } else { "NOT as said" }
    );
    holds
}

/// The same in a sentence, for a page.
pub(crate) fn sentence(path: &Path) -> Result<String, Box<dyn Error>> {
    let trials = read(path)?;
    let mut last: BTreeMap<(&str, &str), &Trial> = BTreeMap::new();
    for trial in &trials {
        last.insert((&trial.shape, &trial.release), trial);
    }
    let range = |of: fn(&Trial) -> usize| {
        let each = || last.values().map(|trial| of(trial));
        let ends = each().min().zip(each().max());
        ends.map_or(String::new(), |(least, most)| format!("{least} to {most}"))
    };
    let held = last.values().filter(|trial| trial.holds()).count();
    let mut releases: Vec<&str> = last.keys().map(|(_, release)| *release).collect();
    releases.sort_unstable();
    releases.dedup();
    Ok(format!(
        "In {held} of {} combinations of file and release ({}), the running node reported what the dry run had announced:\n\
         {} settings a file as announced, and {} others at their defaults.\n",
        last.len(),
        releases.join(", "),
        range(|trial| trial.said),
        range(|trial| trial.defaults),
    ))
}

fn line(trial: &Trial) -> String {
    if let Some(why) = &trial.failed {
        return format!("{} on {}: failed: {why}", trial.shape, trial.release);
    }
    let fates = trial
        .fates
        .iter()
        .map(|(fate, keys)| format!("{} {fate}", keys.len()));
    format!(
        "{} on {}: {}; {} as said, {} at the default, {} otherwise",
        trial.shape,
        trial.release,
        fates.collect::<Vec<_>>().join(", "),
        trial.said,
        trial.defaults,
        trial.otherwise.len()
    )
}

/// The files' folders, by name.
fn shapes(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in fs_err::read_dir(folder(root))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn folder(root: &Path) -> PathBuf {
    root.join("crates/helenus/tests/data/like/shapes")
}

struct Bench {
    root: PathBuf,
    helenus: PathBuf,
    home: PathBuf,
    cache: PathBuf,
    java: String,
    host: Host,
}

impl Bench {
    fn open(root: &Path, java: String) -> Result<Self, Box<dyn Error>> {
        let target = rig::build(root, false)?;
        let prove = target.join("prove");
        let cache = std::env::var_os("HELENUS_CACHE").map(PathBuf::from);
        Ok(Self {
            root: root.to_owned(),
            helenus: target.join("debug/helenus"),
            home: prove.join("like-home"),
            cache: cache.unwrap_or_else(|| prove.join("cache")),
            java,
            host: Host::read("17 for 5.0, 11 for 4.x".to_owned(), root),
        })
    }

    fn run(&self, words: &[&str]) -> Result<String, Box<dyn Error>> {
        let output = Command::new(&self.helenus)
            .args(words)
            .env("HELENUS_HOME", &self.home)
            .env("HELENUS_CACHE", &self.cache)
            .env_remove("HELENUS_FAKE_NODE")
            .output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let text = text.replace(&*self.home.to_string_lossy(), "...");
            return Err(text.lines().take(3).collect::<Vec<_>>().join("; ").into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn trial(&self, shape: &str, release: &str) -> Result<Trial, Box<dyn Error>> {
        let file = folder(&self.root).join(shape).join("cassandra.yaml");
        let file = file.display().to_string();
        let mut up = vec!["up", NAME, "--like", &file, "--cassandra", release];
        if release != "5.0" {
            up.extend(["--java-home", &self.java]);
        }
        let said = self.run(&[&up[..], &["--dry-run", "--format", "json"]].concat())?;
        let mut said: Value = serde_json::from_str(&said)?;
        let differences: Vec<Difference> = serde_json::from_value(said["differences"].take())?;
        let mut fates: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for difference in &differences {
            let fate = fates
                .entry(difference.class.as_str().to_owned())
                .or_default();
            fate.push(match (&difference.now, difference.class) {
                (Some(now), class) if class != Class::Kept => {
                    format!("{} -> {now}", difference.key)
                }
                _ => difference.key.clone(),
            });
        }
        let mut trial = Trial {
            format: FORMAT.to_owned(),
            shape: shape.to_owned(),
            release: release.to_owned(),
            at_unix: host::now_unix(),
            host: self.host.clone(),
            fates,
            said: 0,
            defaults: 0,
            otherwise: Vec::new(),
            failed: None,
        };
        match self.run(&up).and_then(|_| self.settings()) {
            Ok(rows) => {
                let found = reported(Release::find(release)?, &differences, &rows);
                trial.said = found.said;
                trial.defaults = found.defaults;
                let other = found.otherwise.into_iter();
                trial.otherwise = other.map(|o| (o.name, o.said, o.reported)).collect();
            }
            Err(error) => trial.failed = Some(error.to_string()),
        }
        self.run(&["rm", "--all"])?;
        Ok(trial)
    }

    /// What the node reports of its settings.
    fn settings(&self) -> Result<BTreeMap<String, Option<String>>, Box<dyn Error>> {
        let cql = "SELECT name, value FROM system_views.settings";
        let rows = self.run(&["cqlsh", NAME, "-e", cql, "--format", "json"])?;
        let rows: Value = serde_json::from_str(&rows)?;
        let rows = rows["results"][0]["rows"].as_array();
        let text = |value: &Value| value["text"].as_str().map(str::to_owned);
        let rows = rows.ok_or("no rows")?.iter();
        Ok(rows
            .filter_map(|row| Some((text(&row["name"])?, text(&row["value"]))))
            .collect())
    }
}

/// The newest file of this machine, or a fresh one.
fn journal(folder: &Path, hash: &str, fresh: bool) -> Result<PathBuf, Box<dyn Error>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with("like-") && name.ends_with(&format!("-{hash}.jsonl")) {
            found.push(path);
        }
    }
    found.sort();
    match found.pop() {
        Some(path) if !fresh => Ok(path),
        last => {
            let again = last.is_some().then(|| format!(".{}", host::now_unix()));
            let date = host::date(host::now_unix());
            Ok(folder.join(format!(
                "like-{date}{}-{hash}.jsonl",
                again.unwrap_or_default()
            )))
        }
    }
}

fn read(path: &Path) -> Result<Vec<Trial>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs_err::read_to_string(path)?;
    // A line that was cut off in its middle is no result.
    let lines = text.lines().filter(|line| line.ends_with('}'));
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}
