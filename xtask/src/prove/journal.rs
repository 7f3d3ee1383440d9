//! Raw results: one file a campaign, day and machine; one JSON line for each thing that happened, written as it lands.
//! Refuses to lose or to change a line: a cut campaign goes on where it ended, failures stay in.

use super::campaign::{Measures, Outcome};
use super::host::{self, Host, Pressure};
use helenus_model::seed::Seed;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Form of the lines.
const FORMAT: &str = "helenus.proof/1";

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    /// A sitting begins: the trials below are of this machine and commit.
    Sitting {
        format: String,
        campaign: String,
        at_unix: u64,
        seed: Seed,
        host: Host,
    },
    /// A trial was made.
    Trial {
        variant: String,
        round: usize,
        at_unix: u64,
        measures: Measures,
        pressure: Pressure,
    },
    /// A trial could not be made.
    Failed {
        variant: String,
        round: usize,
        at_unix: u64,
        why: String,
    },
}

impl Line {
    /// What came of a trial; where it failed, the reason does not name the workspace.
    pub(crate) fn of(
        outcome: Result<Outcome, Box<dyn Error>>,
        (variant, round): (&str, usize),
        root: &Path,
    ) -> Self {
        let (variant, at_unix) = (variant.to_owned(), host::now_unix());
        match outcome {
            Ok(Outcome { measures, pressure }) => Self::Trial {
                variant,
                round,
                at_unix,
                measures,
                pressure,
            },
            Err(error) => Self::Failed {
                variant,
                round,
                at_unix,
                why: error.to_string().replace(&*root.to_string_lossy(), "..."),
            },
        }
    }
}

/// The file of a campaign on this machine.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) lines: Vec<Line>,
}

impl Journal {
    /// The newest file of this campaign and machine, or a fresh one.
    pub(crate) fn open(
        folder: &Path,
        campaign: &str,
        host: &Host,
        fresh: bool,
    ) -> Result<Self, Box<dyn Error>> {
        fs_err::create_dir_all(folder)?;
        let mut newest: Option<(u64, Self)> = None;
        for entry in fs_err::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let ours = name.starts_with(&format!("{campaign}-"))
                && name.ends_with(&format!("-{}.jsonl", host.hash));
            if !ours {
                continue;
            }
            let lines = read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let begun = match lines.first() {
                Some(Line::Sitting { at_unix, .. }) => *at_unix,
                _ => 0,
            };
            if newest.as_ref().is_none_or(|(at, _)| begun >= *at) {
                newest = Some((begun, Self { path, lines }));
            }
        }
        match newest {
            Some((_, journal)) if !fresh => Ok(journal),
            _ => Ok(Self {
                path: unused(folder, campaign, &host.hash),
                lines: Vec::new(),
            }),
        }
    }

    /// Begins a sitting; a campaign that goes on keeps its seed.
    pub(crate) fn sit(&mut self, campaign: &str, host: &Host) -> Result<Seed, Box<dyn Error>> {
        let known = self.lines.iter().find_map(|line| match line {
            Line::Sitting { seed, .. } => Some(*seed),
            _ => None,
        });
        let seed = match known {
            Some(seed) => seed,
            None => super::experiments::drawn()?,
        };
        self.append(Line::Sitting {
            format: FORMAT.into(),
            campaign: campaign.into(),
            at_unix: host::now_unix(),
            seed,
            host: host.clone(),
        })?;
        Ok(seed)
    }

    /// Writes a line, at once and to the disk.
    pub(crate) fn append(&mut self, line: Line) -> Result<(), Box<dyn Error>> {
        write(&self.path, &serde_json::to_string(&line)?)?;
        self.lines.push(line);
        Ok(())
    }

    /// Measures and pressure of a variant's trials.
    pub(crate) fn trials(&self, variant: &str) -> Vec<(&Measures, &Pressure)> {
        let mut trials = Vec::new();
        for line in &self.lines {
            if let Line::Trial {
                variant: of,
                measures,
                pressure,
                ..
            } = line
                && of == variant
            {
                trials.push((measures, pressure));
            }
        }
        trials
    }

    /// How often a variant failed.
    pub(crate) fn failures(&self, variant: &str) -> usize {
        let failed = |l: &&Line| matches!(l, Line::Failed { variant: v, .. } if v == variant);
        self.lines.iter().filter(failed).count()
    }

    /// The machines and commits of the sittings, each once.
    pub(crate) fn hosts(&self) -> Vec<&Host> {
        let mut hosts: Vec<&Host> = Vec::new();
        for line in &self.lines {
            if let Line::Sitting { host, .. } = line
                && !hosts.contains(&host)
            {
                hosts.push(host);
            }
        }
        hosts
    }
}

/// Writes a line to the end of a file, at once and to the disk.
pub(crate) fn write(path: &Path, line: &str) -> io::Result<()> {
    let mut file = fs_err::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()
}

/// The lines of a file. What was cut in the middle of its write is taken off, so that the next line begins anew.
fn read(path: &Path) -> Result<Vec<Line>, Box<dyn Error>> {
    let text = fs_err::read_to_string(path)?;
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        let file = fs_err::OpenOptions::new().write(true).open(path)?;
        file.set_len(whole as u64)?;
    }
    lines(&text[..whole])
}

/// The lines of a text.
pub(crate) fn lines(text: &str) -> Result<Vec<Line>, Box<dyn Error>> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = serde_json::from_str(line).map_err(|e| format!("line {}: {e}", number + 1))?;
        lines.push(line);
    }
    Ok(lines)
}

/// A file of this campaign, day and machine that does not exist yet.
pub(crate) fn unused(folder: &Path, campaign: &str, host: &str) -> PathBuf {
    let date = host::date(host::now_unix());
    let path = |n: usize| match n {
        1 => folder.join(format!("{campaign}-{date}-{host}.jsonl")),
        n => folder.join(format!("{campaign}-{date}.{n}-{host}.jsonl")),
    };
    let mut n = 1;
    while path(n).exists() {
        n += 1;
    }
    path(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        Host {
            hash: "abcdef".into(),
            processor: "p".into(),
            cores: 2,
            memory_mib: 1,
            kernel: "k".into(),
            jdk: "j".into(),
            commit: "c".into(),
            ordinary_user: false,
        }
    }

    fn trial(variant: &str) -> Line {
        Line::Trial {
            variant: variant.into(),
            round: 0,
            at_unix: 1,
            measures: Measures::from([("wall_s".to_owned(), 1.5)]),
            pressure: Pressure {
                load: 0.5,
                steal: 0.0,
                others: 0.1,
            },
        }
    }

    #[test]
    fn a_cut_campaign_goes_on_and_a_fresh_one_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Journal::open(folder.path(), "start", &host(), false).unwrap();
        let seed = first.sit("start", &host()).unwrap();
        first.append(trial("a")).unwrap();
        // Cut in the middle of a line.
        let mut text = fs_err::read_to_string(&first.path).unwrap();
        text.push_str("{\"line\":\"tri");
        fs_err::write(&first.path, &text).unwrap();

        let mut again = Journal::open(folder.path(), "start", &host(), false).unwrap();
        assert_eq!(again.path, first.path);
        assert_eq!(again.trials("a").len(), 1);
        assert_eq!(again.sit("start", &host()).unwrap(), seed);
        assert_eq!(again.hosts().len(), 1);
        let third = Journal::open(folder.path(), "start", &host(), false).unwrap();
        assert_eq!(third.lines, again.lines);

        let fresh = Journal::open(folder.path(), "start", &host(), true).unwrap();
        assert_ne!(fresh.path, first.path);
        assert!(fresh.lines.is_empty());
    }
}
