//! An experiment as a TOML file.
//! Refuses unknown keys, with their line and the nearest known one.

use super::bar::{Bar, Goal};
use super::level::UntilLevel;
use super::{DEFAULT_MAX_REPEATS, DEFAULT_REPEATS, Design, Experiment, Factor, Kind, Level};
use super::{DesignError, Pairs, Promise, Setting};
use crate::comparison::{FailOn, LEAST_PAIRS};
use crate::nearest::nearest;
use crate::plan::facts::split;
use crate::seed::Seed;
use crate::toml_file::{FileError, Reader};
use crate::units::parse_duration;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const TOP: [&str; 20] = [
    "name",
    "seed",
    "repeats",
    "until",
    "max_repeats",
    "measure",
    "bars",
    "pairs",
    "stop_early",
    "fail_on",
    "needs_disk",
    "announce",
    "design",
    "restarts",
    "cluster",
    "workload",
    "warm",
    "populate",
    "factor",
    "combination",
];
/// Keys of an experiment that compares all levels.
const NOT_OF_PAIRS: [&str; 9] = [
    "measure",
    "bars",
    "needs_disk",
    "announce",
    "design",
    "restarts",
    "warm",
    "populate",
    "combination",
];
const FACTOR: [&str; 6] = ["name", "kind", "key", "given", "levels", "against"];

/// Keys of `[warm]` that are no flags of `run`.
pub const OF_WARM: [&str; 2] = ["until", "at_most"];

/// The only thing until which nodes can be warmed.
const LEVEL: &str = "level";

/// Most blocks that a file may ask for.
const REPEATS_MOST: usize = 1000;

/// Longest name of an experiment or of a factor.
const NAME_MOST: usize = 40;

/// How many blocks may be asked for; what is to say how many more are needed must be enough for a claim.
pub(super) fn repeats_within(until: Option<f64>) -> RangeInclusive<usize> {
    let least = if until.is_some() { LEAST_PAIRS } else { 1 };
    least..=REPEATS_MOST
}

/// Reads a file's text.
///
/// # Errors
/// The first line that is not understood.
pub fn read(text: &str) -> Result<Experiment, FileError> {
    let (reader, document) = Reader::parse(text)?;
    let top = document.get_ref();
    reader.known(top, &TOP)?;
    let (at, name) = reader
        .text(top, "name")?
        .ok_or_else(|| reader.wrong(0, "an experiment needs a name"))?;
    reader.word(at, "an experiment", &name)?;
    let factors = reader.factors(top)?;
    let until = reader.percent(top, "until")?;
    let repeats = reader.count(top, "repeats", repeats_within(until))?;
    let max_repeats = reader.count(top, "max_repeats", LEAST_PAIRS..=REPEATS_MOST)?;
    let seed = reader.integer(top, "seed")?;
    let seed = seed
        .map(|(at, n)| u64::try_from(n).map_err(|_| reader.wrong(at, "seed is at least 0")))
        .transpose()?;
    let goal = match reader.text(top, "measure")? {
        None => Goal::default(),
        Some((at, text)) => {
            Goal::parse(&text).map_err(|e| reader.refused(at, &e, Some(e.hint())))?
        }
    };
    let mut experiment = Experiment {
        name: name.into_owned(),
        seed: seed.map(Seed),
        repeats: repeats.unwrap_or(DEFAULT_REPEATS),
        until,
        max_repeats: max_repeats.unwrap_or(DEFAULT_MAX_REPEATS),
        goal,
        bars: Vec::new(),
        needs_disk: reader.yes(top, "needs_disk")?.unwrap_or(false),
        announce: reader.yes(top, "announce")?.unwrap_or(true),
        design: Design::Full,
        cluster: reader.section(top, "cluster", &[])?.unwrap_or_default(),
        workload: reader.section(top, "workload", &[])?.unwrap_or_default(),
        warm: reader.section(top, "warm", &OF_WARM)?,
        warm_until: reader.warm_until(top)?,
        populate: reader.section(top, "populate", &[])?,
        pairs: reader.pairs(top, &factors)?,
        factors,
    };
    experiment.bars = reader.bars(top, &experiment)?;
    experiment.design = reader.design(top, &experiment)?;
    reader.one_value_a_key(&experiment)?;
    Ok(experiment)
}

impl Reader<'_> {
    fn count(
        &self,
        table: &DeTable<'_>,
        key: &str,
        within: RangeInclusive<usize>,
    ) -> Result<Option<usize>, FileError> {
        let Some((at, number)) = self.integer(table, key)? else {
            return Ok(None);
        };
        let count = usize::try_from(number).ok();
        let wrong = || {
            let (least, most) = (within.start(), within.end());
            self.wrong(at, format!("{key} must be a number from {least} to {most}"))
        };
        let count = count.filter(|n| within.contains(n));
        count.map(Some).ok_or_else(wrong)
    }

    /// A percentage as a share.
    fn percent(&self, table: &DeTable<'_>, key: &str) -> Result<Option<f64>, FileError> {
        let Some((at, text)) = self.text(table, key)? else {
            return Ok(None);
        };
        let number = text
            .strip_suffix('%')
            .and_then(|n| n.trim().parse::<f64>().ok());
        let within = number.filter(|n| (0.1..=100.0).contains(n));
        let wrong = || self.wrong(at, format!("{key} must be a percentage from 0.1% to 100%"));
        within.map(|n| Some(n / 100.0)).ok_or_else(wrong)
    }

    /// A name that can stand in a command, in a threshold and in the name of a file.
    fn word(&self, at: usize, what: &str, name: &str) -> Result<(), FileError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.is_empty() && name.len() <= NAME_MOST && name.chars().all(plain) {
            return Ok(());
        }
        Err(FileError {
            hint: Some(format!(
                "use letters, digits, - and _ only, at most {NAME_MOST}"
            )),
            ..self.wrong(at, format!("{name:?} cannot be the name of {what}"))
        })
    }

    /// A section's settings, but for these keys.
    fn section(
        &self,
        top: &DeTable<'_>,
        key: &str,
        but: &[&str],
    ) -> Result<Option<Vec<Setting>>, FileError> {
        let Some(value) = top.get(key) else {
            return Ok(None);
        };
        self.settings(self.table(value, key)?, but).map(Some)
    }

    /// Until when new nodes are warmed; none where that is not asked for.
    fn warm_until(&self, top: &DeTable<'_>) -> Result<Option<UntilLevel>, FileError> {
        let Some(value) = top.get("warm") else {
            return Ok(None);
        };
        let warm = self.table(value, "warm")?;
        let at_most = self.text(warm, "at_most")?;
        let Some((at, word)) = self.text(warm, "until")? else {
            return match at_most {
                None => Ok(None),
                Some((at, _)) => Err(FileError {
                    hint: Some(format!("add until = \"{LEVEL}\"")),
                    ..self.wrong(at, "at_most limits how long `until` may take")
                }),
            };
        };
        if word != LEVEL {
            let near = nearest(&word, [LEVEL]).map(|near| format!("did you mean {near}?"));
            return Err(FileError {
                hint: near.or_else(|| Some(format!("known: {LEVEL}"))),
                ..self.wrong(at, format!("nodes cannot be warmed until {word:?}"))
            });
        }
        let Some((at, text)) = at_most else {
            return Ok(Some(UntilLevel::default()));
        };
        let at_most = parse_duration(&text).map_err(|e| self.refused(at, &e, None))?;
        Ok(Some(UntilLevel { at_most }))
    }

    /// Keys and values in the order of the text, but for these keys.
    fn settings(&self, table: &DeTable<'_>, but: &[&str]) -> Result<Vec<Setting>, FileError> {
        let mut all = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !but.contains(&name) {
                all.push((
                    key.span().start,
                    self.setting(key.span().start, name, value)?,
                ));
            }
        }
        all.sort_by_key(|(at, _)| *at);
        Ok(all.into_iter().map(|(_, setting)| setting).collect())
    }

    fn setting(
        &self,
        at: usize,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Setting, FileError> {
        let found = plain(value.get_ref()).ok_or_else(|| {
            let what = format!("{key} must be a text, a number, true or false, or a list of these");
            self.wrong(value.span().start, what)
        })?;
        Ok(Setting {
            key: key.to_owned(),
            value: found,
            line: self.line(at),
        })
    }

    fn factors(&self, top: &DeTable<'_>) -> Result<Vec<Factor>, FileError> {
        let mut factors: Vec<Factor> = Vec::new();
        for (at, table) in self.tables(top, "factor")? {
            let factor = self.factor(at, table)?;
            if factors.iter().any(|other| other.name == factor.name) {
                return Err(self.wrong(at, format!("two factors are named {}", factor.name)));
            }
            factors.push(factor);
        }
        if !factors.is_empty() && factors.iter().all(|factor| factor.given) {
            return Err(FileError {
                hint: Some("leave `given` out of the factor that is the question".into()),
                ..self.wrong(0, "every factor is given: nothing is left to choose")
            });
        }
        Ok(factors)
    }

    fn factor(&self, at: usize, table: &DeTable<'_>) -> Result<Factor, FileError> {
        self.known(table, &FACTOR)?;
        let key = self.text(table, "key")?;
        let named = self.text(table, "name")?;
        let (_, name) = named
            .or_else(|| key.clone())
            .ok_or_else(|| self.wrong(at, "a factor needs a key (and a name, if that differs)"))?;
        self.word(at, "a factor", &name)?;
        let kind = self.kind(at, table, &name)?;
        let key = key.map_or_else(|| name.clone(), |(_, key)| key);
        let levels = table.get("levels");
        let Some(DeValue::Array(list)) = levels.map(Spanned::get_ref) else {
            let at = levels.map_or(at, |found| found.span().start);
            return Err(self.wrong(at, format!("{name} needs a list of levels")));
        };
        let levels = list.iter().map(|one| self.level(&key, one));
        let levels: Vec<Level> = levels.collect::<Result<_, _>>()?;
        if levels.len() < 2 {
            return Err(self.wrong(at, format!("{name} needs at least two levels")));
        }
        if levels[0].promise.is_some() {
            let what = format!(
                "the first level of {name} has a claimed effect, but it is the reference for the others"
            );
            return Err(FileError {
                hint: Some("put the level without the claim first".into()),
                ..self.wrong(at, what)
            });
        }
        for (place, level) in levels.iter().enumerate() {
            if levels[..place]
                .iter()
                .any(|other| other.label == level.label)
            {
                let what = format!("two levels of {name} are called {:?}", level.label);
                return Err(self.wrong(at, what));
            }
        }
        let line = self.line(at);
        Ok(Factor {
            name: name.into_owned(),
            kind,
            given: self.yes(table, "given")?.unwrap_or(false),
            levels,
            against_previous: self.against_previous(table)?,
            line,
        })
    }

    fn against_previous(&self, table: &DeTable<'_>) -> Result<bool, FileError> {
        match self.text(table, "against")? {
            None => Ok(false),
            Some((_, word)) if word == "first" => Ok(false),
            Some((_, word)) if word == "previous" => Ok(true),
            Some((at, word)) => Err(FileError {
                hint: Some("known: first, previous".into()),
                ..self.wrong(at, format!("levels cannot be compared against {word:?}"))
            }),
        }
    }

    fn kind(&self, at: usize, table: &DeTable<'_>, factor: &str) -> Result<Kind, FileError> {
        let words = Kind::ALL.map(Kind::word);
        let (at, word) = self.text(table, "kind")?.ok_or_else(|| {
            self.wrong(at, format!("{factor} needs a kind: {}", words.join(", ")))
        })?;
        let found = Kind::ALL.into_iter().find(|kind| kind.word() == word);
        found.ok_or_else(|| {
            let near = nearest(&word, words).map(|near| format!("did you mean {near}?"));
            FileError {
                hint: near.or_else(|| Some(format!("known: {}", words.join(", ")))),
                ..self.wrong(at, format!("no such kind: {word}"))
            }
        })
    }

    /// A value of the factor's key, or a table with a label and the keys that it sets.
    fn level(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Level, FileError> {
        let at = value.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            let setting = self.setting(at, key, value)?;
            return Ok(Level {
                label: words(&setting.value),
                settings: vec![setting],
                promise: None,
            });
        };
        let (label_at, label) = self
            .text(table, "label")?
            .ok_or_else(|| self.wrong(at, "a level with several keys needs a label"))?;
        self.word(label_at, "a level", &label)?;
        let promise = match self.text(table, "promises")? {
            None => None,
            Some((at, text)) => {
                let read = Promise::parse(&text);
                Some(read.map_err(|e| self.refused(at, &e, Some(e.hint())))?)
            }
        };
        Ok(Level {
            label: label.into_owned(),
            settings: self.settings(table, &["label", "promises"])?,
            promise,
        })
    }

    fn bars(&self, top: &DeTable<'_>, of: &Experiment) -> Result<Vec<Bar>, FileError> {
        let texts = self.texts(top, "bars", "p99 < 20ms")?.into_iter();
        let bar = |(at, text): (usize, String)| {
            Bar::parse(&text, &of.factors).map_err(|e| self.refused(at, &e, Some(e.hint())))
        };
        texts.map(bar).collect()
    }

    /// A list of texts, each with its place; empty where the key is not there.
    fn texts(
        &self,
        top: &DeTable<'_>,
        key: &str,
        such_as: &str,
    ) -> Result<Vec<(usize, String)>, FileError> {
        let Some(value) = top.get(key) else {
            return Ok(Vec::new());
        };
        let wrong = |at| {
            let what = format!("{key} must be a list of texts, such as {such_as:?}");
            self.wrong(at, what)
        };
        let DeValue::Array(list) = value.get_ref() else {
            return Err(wrong(value.span().start));
        };
        let text = |one: &Spanned<DeValue<'_>>| match one.get_ref() {
            DeValue::String(text) => Ok((one.span().start, text.to_string())),
            _ => Err(wrong(one.span().start)),
        };
        list.iter().map(text).collect()
    }

    /// What is asked of pairs, where the file compares two levels in pairs.
    fn pairs(&self, top: &DeTable<'_>, factors: &[Factor]) -> Result<Option<Pairs>, FileError> {
        let at = |key: &str| top.iter().find(|(known, _)| known.get_ref() == key);
        let at = |key: &&str| at(key).map(|(key, _)| key.span().start);
        if self.yes(top, "pairs")? != Some(true) {
            return match ["stop_early", "fail_on"].iter().find_map(at) {
                None => Ok(None),
                Some(at) => Err(FileError {
                    hint: Some("write pairs = true beside it".into()),
                    ..self.wrong(at, "stop_early and fail_on are about pairs")
                }),
            };
        }
        if let Some(at) = NOT_OF_PAIRS.iter().find_map(at) {
            return Err(FileError {
                hint: Some("leave it out, or leave out pairs".into()),
                ..self.wrong(
                    at,
                    "pairs compare two levels of `bench`, and have no such key",
                )
            });
        }
        let fits = matches!(factors, [one] if one.levels.len() == 2 && one.kind == Kind::Restart);
        if !fits {
            let what = "pairs need one factor of kind restart with two levels";
            return Err(self.wrong(at(&"pairs").unwrap_or(0), what));
        }
        let texts = self.texts(top, "fail_on", "p99>+5%")?.into_iter();
        let bar = |(at, text): (usize, String)| {
            FailOn::parse(&text).map_err(|e| self.refused(at, &e, Some(e.hint())))
        };
        let bars = texts.map(bar).collect::<Result<_, _>>()?;
        Ok(Some(Pairs {
            stop_early: self.yes(top, "stop_early")?.unwrap_or(false),
            bars,
        }))
    }

    fn design(&self, top: &DeTable<'_>, of: &Experiment) -> Result<Design, FileError> {
        let listed = self.tables(top, "combination")?;
        let word = self.text(top, "design")?;
        let restarts = self.restarts(top, word.as_ref().map(|(_, word)| word.as_ref()))?;
        let design = match (&word, listed.is_empty()) {
            (None, true) => Design::Full,
            (Some((_, word)), true) if word == "full" => Design::Full,
            (Some((_, word)), true) if word == "half" => Design::Fraction(2),
            (Some((_, word)), true) if word == "third" => Design::Fraction(3),
            (Some((at, word)), true) if word == "screening" && of.until.is_some() => {
                return Err(FileError {
                    hint: Some("set the number of blocks with repeats".into()),
                    ..self.wrong(*at, "until cannot size a screening: its intervals are computed from restarts, not from blocks")
                });
            }
            (Some((at, word)), true)
                if word == "screening" && of.factors.iter().any(|f| f.against_previous) =>
            {
                return Err(FileError {
                    hint: Some("leave `against` out".into()),
                    ..self.wrong(*at, "a screening compares each level with the first")
                });
            }
            (Some((_, word)), true) if word == "screening" => of
                .screening(restarts.map(|(_, count)| count))
                .map_err(|e| self.refused(restarts.map_or(0, |(at, _)| at), &e, Some(e.hint())))?,
            (Some((at, word)), true) => {
                return Err(FileError {
                    hint: Some(
                        "known: full, half, third, screening; or name each [[combination]]".into(),
                    ),
                    ..self.wrong(*at, format!("no such design: {word}"))
                });
            }
            (Some((at, _)), false) => {
                return Err(self.wrong(
                    *at,
                    "design conflicts with [[combination]]: use one of them",
                ));
            }
            (None, false) => Design::Listed(self.listed(&listed, of)?),
        };
        let at = word.map_or(0, |(at, _)| at);
        of.check(&design)
            .map_err(|e: DesignError| self.refused(at, &e, Some(e.hint())))?;
        Ok(design)
    }

    /// Restarts of a block of a screening design.
    fn restarts(
        &self,
        top: &DeTable<'_>,
        design: Option<&str>,
    ) -> Result<Option<(usize, usize)>, FileError> {
        let Some(count) = self.count(top, "restarts", 1..=REPEATS_MOST)? else {
            return Ok(None);
        };
        let at = top.iter().find(|(key, _)| key.get_ref() == "restarts");
        let at = at.map_or(0, |(key, _)| key.span().start);
        if design == Some("screening") {
            return Ok(Some((at, count)));
        }
        Err(FileError {
            hint: Some("write design = \"screening\", or leave it out".into()),
            ..self.wrong(at, "restarts sets the size of a screening design only")
        })
    }

    /// By combination the place of each factor's level; a factor that is not named has its first.
    fn listed(
        &self,
        tables: &[(usize, &DeTable<'_>)],
        of: &Experiment,
    ) -> Result<Vec<Vec<usize>>, FileError> {
        let names: Vec<&str> = of.factors.iter().map(|f| f.name.as_str()).collect();
        let mut all: Vec<Vec<usize>> = Vec::new();
        for (at, table) in tables {
            self.known(table, &names)?;
            let mut levels = Vec::new();
            for factor in &of.factors {
                let Some(value) = table.get(factor.name.as_str()) else {
                    levels.push(0);
                    continue;
                };
                let label = plain(value.get_ref()).map(|value| words(&value));
                let label = label.unwrap_or_default();
                let labels: Vec<&str> = factor.levels.iter().map(|l| l.label.as_str()).collect();
                let found = labels.iter().position(|known| *known == label);
                levels.push(found.ok_or_else(|| FileError {
                    hint: Some(format!("it has {}", labels.join(", "))),
                    ..self.wrong(
                        value.span().start,
                        format!("{} has no level {label}", factor.name),
                    )
                })?);
            }
            if all.contains(&levels) {
                return Err(self.wrong(*at, "this combination already exists"));
            }
            all.push(levels);
        }
        Ok(all)
    }

    /// A key that two factors set would leave it to their order which of them holds.
    fn one_value_a_key(&self, of: &Experiment) -> Result<(), FileError> {
        for (place, factor) in of.factors.iter().enumerate() {
            for setting in factor.levels.iter().flat_map(|level| &level.settings) {
                for key in keys(setting) {
                    let sets = |other: &&Factor| {
                        let settings = other.levels.iter().flat_map(|level| &level.settings);
                        settings.into_iter().any(|s| keys(s).contains(&key))
                    };
                    if let Some(other) = of.factors[..place].iter().find(sets) {
                        return Err(FileError {
                            line: setting.line,
                            what: format!("{} and {} both set {key}", other.name, factor.name),
                            hint: Some(
                                "make one factor of them, whose levels set several keys".into(),
                            ),
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a setting sets: its own key, or, where that may be given several times, each key that it is given for.
fn keys(of: &Setting) -> Vec<String> {
    if !super::REPEATED.contains(&of.key.as_str()) {
        return vec![of.key.clone()];
    }
    let one = |value: &toml::Value| {
        let words = words(value);
        // -XX:+UseThis and -XX:-UseThis are one flag, and so are all sizes of -Xmx.
        let name = match (of.key.as_str(), words.split_once('=')) {
            ("jvm", _) => split(&words).0,
            (_, Some((name, _))) => name.trim().to_owned(),
            (_, None) => words,
        };
        format!("{} {name}", of.key)
    };
    match &of.value {
        toml::Value::Array(list) => list.iter().map(one).collect(),
        value => vec![one(value)],
    }
}

/// A value as a plain one; none of dates and tables.
fn plain(value: &DeValue<'_>) -> Option<toml::Value> {
    Some(match value {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        DeValue::Integer(n) => {
            toml::Value::Integer(i64::from_str_radix(n.as_str(), n.radix()).ok()?)
        }
        DeValue::Float(n) => toml::Value::Float(n.as_str().parse().ok()?),
        DeValue::Boolean(yes) => toml::Value::Boolean(*yes),
        DeValue::Array(list) => {
            let each = list.iter().map(|one| plain(one.get_ref()));
            toml::Value::Array(each.collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

/// A value as a person calls it.
fn words(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(list) => {
            let each: Vec<String> = list.iter().map(words).collect();
            each.join(",")
        }
        other => other.to_string(),
    }
}
