//! From words to a value: command, groups, and the defaults that follow from one another.
//! Refuses a group that is given twice, and groups that nobody knows.

use super::error::StressError;
use super::group;
use super::options::{Found, select};
use super::spec::{ALIASES, COMMANDS, GROUPS, sets};
use super::value::{Command, Kind, Level, Simple, Stress, TimeUnit, Truncate, Until};
use super::{Asked, words};
use crate::consistency::SerialConsistency;
use crate::dist::Dist;
use crate::nearest::nearest;
use crate::secret::word_without_secrets;
use std::collections::BTreeMap;

/// A command or group with its parameters.
pub(super) type Groups = BTreeMap<String, Vec<String>>;

/// Whatever the words ask for.
pub(super) fn asked(words: &[String]) -> Result<Asked, StressError> {
    let first = words.first().map_or("", String::as_str);
    if let Some(at) = words.iter().position(|word| word == "-?")
        && at > 0
    {
        return Ok(Asked::Help(Some(
            canonical(first).unwrap_or(first).to_owned(),
        )));
    }
    match canonical(first) {
        Some("help") => help(&words[1..]),
        Some("version") => Ok(Asked::Version),
        Some("print") => {
            let found = select("print", &words[1..], &sets("print").unwrap_or_default())?;
            Ok(Asked::Print(found.dist_or("dist=", 1)?))
        }
        _ => Ok(Asked::Run {
            stress: Box::new(stress(words)?),
            translated: None,
        }),
    }
}

fn help(about: &[String]) -> Result<Asked, StressError> {
    match about {
        [] => Ok(Asked::Help(None)),
        [one] => {
            let lower = one.to_ascii_lowercase();
            let group = GROUPS
                .iter()
                .find(|(name, _)| *name == lower || name.trim_start_matches('-') == lower);
            let topic = canonical(&lower).or(group.map(|(name, _)| *name));
            let topic = topic.ok_or_else(|| no_command(one))?;
            Ok(Asked::Help(Some(topic.to_owned())))
        }
        _ => Err(StressError::Rule(
            "help takes one command or group".to_owned(),
        )),
    }
}

/// A command by any of its names.
pub(super) fn canonical(word: &str) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    let own = COMMANDS.iter().map(|(name, _)| *name).find(|n| *n == lower);
    own.or_else(|| {
        let other = ALIASES.iter().find(|(alias, _)| *alias == lower);
        other.map(|(_, command)| *command)
    })
}

fn no_command(word: &str) -> StressError {
    let known: Vec<&'static str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    StressError::Command {
        word: word.to_owned(),
        nearest: nearest(word, known.iter().copied().chain(aliases)),
        known,
    }
}

/// A run.
pub(super) fn stress(words: &[String]) -> Result<Stress, StressError> {
    let first = words.first().map_or("", String::as_str);
    let name = canonical(first)
        .filter(|name| sets(name).is_some())
        .ok_or_else(|| no_command(first))?;
    let (parameters, mut groups) = grouped(words)?;
    let found = select(name, &parameters, &sets(name).unwrap_or_default())?;
    let command = command(name, &found)?;
    let until = until(&found)?;
    let mut notes = Vec::new();
    let hosts = group::node(&mut groups, &mut notes)?;
    let mut stress = Stress {
        words: words
            .iter()
            .map(|word| word_without_secrets(word))
            .collect(),
        until,
        no_warmup: found.is_set("no-warmup"),
        truncate: match found
            .text("truncate=")
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "once" => Truncate::Once,
            "always" => Truncate::Always,
            _ => Truncate::Never,
        },
        consistency: level(&found, "cl=")
            .unwrap_or(Level::Plain(crate::consistency::Consistency::LocalOne)),
        serial_consistency: serial(&found, "serial-cl=").unwrap_or_default(),
        rate: group::rate(&mut groups, &command, until)?,
        population: group::population(&mut groups, &command, until)?,
        insert: group::insert(&mut groups)?,
        columns: group::columns(&mut groups)?,
        errors: group::errors(&mut groups)?,
        log: group::log(&mut groups)?,
        mode: group::mode(&mut groups, &mut notes)?,
        node: hosts,
        schema: group::schema(&mut groups, words, matches!(command, Command::User { .. }))?,
        transport: group::transport(&mut groups)?,
        port: group::port(&mut groups)?,
        graph: group::graph(&mut groups, &command)?,
        token_range: group::token_range(&mut groups)?,
        credentials_file: group::credentials_file(&mut groups)?,
        command,
        notes: Vec::new(),
    };
    group::leftovers(&mut groups, &mut stress.log, &mut notes)?;
    stress.notes = notes;
    Ok(stress)
}

/// The command's parameters, and each group's.
fn grouped(words: &[String]) -> Result<(Vec<String>, Groups), StressError> {
    let mut groups = Groups::new();
    let mut parameters = Vec::new();
    let mut current: Option<String> = None;
    for word in words.iter().skip(1) {
        if word.starts_with('-') {
            let name = word.to_ascii_lowercase();
            if groups.insert(name.clone(), Vec::new()).is_some() {
                return Err(StressError::Twice { group: name });
            }
            current = Some(name);
        } else {
            let group = current.as_ref().and_then(|name| groups.get_mut(name));
            group.unwrap_or(&mut parameters).push(word.clone());
        }
    }
    let known: Vec<&'static str> = GROUPS.iter().map(|(name, _)| *name).collect();
    let gone = |name: &str| matches!(name, "-sendto" | "-send-to");
    let unknown: Vec<String> = groups
        .keys()
        .filter(|name| !known.contains(&name.as_str()) && !gone(name))
        .cloned()
        .collect();
    if let Some(first) = unknown.first() {
        return Err(StressError::Groups {
            nearest: nearest(first, known.iter().copied()),
            unknown,
            known,
        });
    }
    if groups.keys().any(|name| gone(name)) {
        let kept = without(words, &["-sendto", "-send-to"]);
        return Err(StressError::Gone {
            what: "-sendto".to_owned(),
            why: "cassandra-stress no longer has a daemon",
            cure: Some(words::line(&kept)),
        });
    }
    Ok((parameters, groups))
}

/// The words without these groups.
pub(super) fn without(words: &[String], groups: &[&str]) -> Vec<String> {
    let mut left_out = false;
    let kept = words.iter().filter(|word| {
        if word.starts_with('-') {
            left_out = groups.iter().any(|group| word.eq_ignore_ascii_case(group));
        }
        !left_out
    });
    kept.cloned().collect()
}

fn command(name: &str, found: &Found) -> Result<Command, StressError> {
    let simple = || -> Result<Simple, StressError> {
        Ok(Simple {
            add: found.dist_or("add=", 1)?,
            key_bytes: found.small("keysize=")?,
        })
    };
    Ok(match name {
        "read" => Command::Read(simple()?),
        "write" => Command::Write(simple()?),
        "counter_write" => Command::CounterWrite(simple()?),
        "counter_read" => Command::CounterRead(simple()?),
        "mixed" => Command::Mixed {
            simple: simple()?,
            ratios: ratios(found)?,
            clustering: found.dist_or("clustering=", 1)?,
        },
        _ => Command::User {
            profiles: profiles(found),
            ops: weights(found.pairs("ops"))?,
            clustering: found.dist_or("clustering=", 1)?,
        },
    })
}

fn profiles(found: &Found) -> Vec<String> {
    let all = found.text("profile=").unwrap_or_default().split(',');
    all.filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect()
}

fn ratios(found: &Found) -> Result<Vec<(Kind, f64)>, StressError> {
    let given = found.pairs("ratio");
    if given.is_empty() {
        return Ok(vec![(Kind::Read, 1.0), (Kind::Write, 1.0)]);
    }
    let kind = |name: &str| {
        let same = |kind: &Kind| kind.name().eq_ignore_ascii_case(name);
        Kind::ALL.into_iter().find(same)
    };
    let all = weights(given)?;
    Ok(all
        .into_iter()
        .filter_map(|(name, weight)| Some((kind(&name)?, weight)))
        .collect())
}

fn weights(given: Vec<(String, String)>) -> Result<Vec<(String, f64)>, StressError> {
    let mut all = Vec::new();
    for (name, text) in given {
        let weight = text.parse::<f64>().ok();
        let weight = weight.filter(|weight| weight.is_finite() && *weight >= 0.0);
        let Some(weight) = weight else {
            return Err(StressError::Rule(format!(
                "the weight of {name} is {text:?}, and must be a number, as in {name}=1"
            )));
        };
        all.push((name, weight));
    }
    let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
    if sum > 0.0 && sum.is_finite() {
        Ok(all)
    } else {
        Err(StressError::Rule(
            "at least one operation must have a weight above 0".to_owned(),
        ))
    }
}

fn until(found: &Found) -> Result<Until, StressError> {
    if found.is_set("n=") {
        return Ok(Until::Count(found.number("n=")?));
    }
    let Some(text) = found.given("duration=") else {
        return Ok(Until::Error {
            below: found
                .text("err<")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0.02),
            least: found.small("n>")?,
            most: found.small("n<")?,
        });
    };
    let unit = match text.chars().last().map(|c| c.to_ascii_lowercase()) {
        Some('m') => TimeUnit::Minutes,
        Some('h') => TimeUnit::Hours,
        Some('d') => TimeUnit::Days,
        _ => TimeUnit::Seconds,
    };
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    match digits.parse() {
        Ok(amount) => Ok(Until::Time { amount, unit }),
        Err(_) => Err(StressError::Rule(format!("duration={text} is too long"))),
    }
}

/// A level that was given or is the default.
pub(super) fn level(found: &Found, prefix: &str) -> Option<Level> {
    found.text(prefix).and_then(Level::named)
}

/// A serial level that was given or is the default.
pub(super) fn serial(found: &Found, prefix: &str) -> Option<SerialConsistency> {
    match level(found, prefix) {
        Some(Level::Serial(level)) => Some(level),
        _ => None,
    }
}

/// Which seeds where nothing is said.
pub(super) fn in_order(command: &Command) -> bool {
    match command {
        Command::Write(_) | Command::CounterWrite(_) => true,
        Command::User { ops, .. } => matches!(&ops[..], [(name, _)] if name == "insert"),
        Command::Read(_) | Command::CounterRead(_) | Command::Mixed { .. } => false,
    }
}

/// How many seeds where nothing is said.
pub(super) fn default_seeds(until: Until) -> u64 {
    match until {
        Until::Count(count) if count > 0 => count,
        _ => 1_000_000,
    }
}

/// The default of `-pop dist=`.
pub(super) fn default_dist(until: Until) -> Result<Dist, StressError> {
    let text = format!("gaussian(1..{})", default_seeds(until));
    text.parse().map_err(|why| StressError::Dist {
        group: "-pop".to_owned(),
        option: "dist=".to_owned(),
        why,
    })
}
