//! An experiment: factors with their levels, which combinations are run, in which order, and what may be said of it.
//! Refuses to know flags: a setting is a key and a value, and the command line says what they mean.

mod analysis;
mod answer;
mod bar;
mod bars;
mod covariates;
mod design;
mod disk;
mod effects;
mod facts;
mod family;
mod file;
mod growth;
mod ladder;
mod level;
mod limit;
mod logs;
mod order;
mod pairs;
mod progress;
mod promise;
mod samples;
mod screened;
mod screening;
mod spread;
mod strata;
#[cfg(test)]
mod tests;
mod unanswered;

pub use analysis::{Analysis, Cell, Noise, analyse};
pub use answer::{Answer, Rival};
pub use bar::{Bar, BarError, Goal};
pub use bars::BarCell;
pub use covariates::Covariates;
pub use design::{DesignError, Whole};
pub use effects::{Effect, Interaction};
pub use facts::{Fact, Values, values};
pub use file::{OF_WARM, read};
pub use growth::Growth;
pub use ladder::{Ladder, Rate};
pub use level::{Slice, UntilLevel, Warmth};
pub use order::{NotLonger, Planned, Stage, lengthened, more, order};
pub use pairs::{EndedPairs, Pairs};
pub use progress::{Fate, Making, Progress, RunState, Timing};
pub use promise::{Kept, Promise, PromiseError, Tip};
pub use samples::TooFew;
pub use screened::Screened;

use crate::seed::Seed;
use crate::units::{Bytes, parse_duration, parse_rate};
use crate::worded::worded;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Version of what `experiment --format json` prints.
pub const VERSION: u32 = 1;

/// Blocks by default: as many as a claim needs.
pub const DEFAULT_REPEATS: usize = 6;

/// Most blocks with `until` by default.
pub const DEFAULT_MAX_REPEATS: usize = 30;

/// Most factors that the label of a combination of a listed design names in full; of more it names only those that
/// differ from the first combination.
const NAMED_MOST: usize = 3;

/// Keys that may be given several times: a level adds to what the file says for all.
pub const REPEATED: [&str; 4] = ["set", "jvm", "param", "with"];

/// An experiment as its file says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name: a word.
    pub name: String,
    /// What its order and its data are drawn from, where the file says so.
    pub seed: Option<Seed>,
    /// Blocks: how often each combination is run.
    pub repeats: usize,
    /// Half-width of the interval to reach, as a share; the first blocks say how many are needed.
    pub until: Option<f64>,
    /// Most blocks with `until`.
    pub max_repeats: usize,
    /// What is compared first.
    pub goal: Goal,
    /// Thresholds to hold.
    pub bars: Vec<Bar>,
    /// The file says that its question is about the disk; [`Self::is_about_reads`] also looks at its factors.
    pub needs_disk: bool,
    /// The winner is measured again with fresh restarts.
    pub announce: bool,
    /// Which combinations are run.
    pub design: Design,
    /// What every cluster is given.
    pub cluster: Vec<Setting>,
    /// What every run is given.
    pub workload: Vec<Setting>,
    /// A load with which each life of the nodes begins, over what every run is given; its numbers do not count.
    pub warm: Option<Vec<Setting>>,
    /// That load goes on until the nodes' CPU time for an operation is level; none where it is there once.
    pub warm_until: Option<UntilLevel>,
    /// What the data is made with, where it is made before the runs.
    pub populate: Option<Vec<Setting>>,
    /// The two levels of its only factor are compared in pairs of restarts, as `compare --ab` does; none where all levels are
    /// compared.
    pub pairs: Option<Pairs>,
    /// What differs.
    pub factors: Vec<Factor>,
}

/// Which combinations of levels are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Design {
    /// Each with each.
    Full,
    /// One in so many, balanced.
    Fraction(usize),
    /// These: by combination, the place of each factor's level.
    Listed(Vec<Vec<usize>>),
    /// These, which estimate main effects only.
    Screening(Vec<Vec<usize>>),
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Its name: a word.
    pub name: String,
    /// What it costs to change.
    pub kind: Kind,
    /// Its level is not chosen but given: the answer is looked for at all levels together.
    pub given: bool,
    /// Its levels, at least two.
    pub levels: Vec<Level>,
    /// Each level is compared with the one before it instead of with the first.
    pub against_previous: bool,
    /// Its line in the file.
    pub line: usize,
}

worded! {
    /// What it costs to change a factor.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Kind {
        /// The nodes are started again.
        Restart = "restart",
        /// The tables are created again, in nodes that are started again.
        Schema = "schema",
        /// Nothing: the next run has it.
        Phase = "phase",
        /// Nothing: it is changed in the running nodes, or on their machine, before the next run.
        Live = "live",
    }
}

impl Kind {
    /// Whether it divides an experiment into restarts.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Restart | Self::Schema)
    }
}

/// One level of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// What a person calls it.
    pub label: String,
    /// What it sets.
    pub settings: Vec<Setting>,
    /// The effect that a source claims.
    pub promise: Option<Promise>,
}

impl Level {
    /// Its label as a number, in the base unit of what it is: `8`, `64M` (bytes), `40ms` (seconds), `1k/s`.
    pub fn number(&self) -> Option<f64> {
        let text = self.label.as_str();
        #[expect(clippy::cast_precision_loss, reason = "sizes below 2^53")]
        let size = || Bytes::parse(text).ok().map(|bytes| bytes.0 as f64);
        let time = || parse_duration(text).ok().map(|time| time.as_secs_f64());
        let plain = text.parse().ok();
        plain
            .or_else(time)
            .or_else(|| parse_rate(text).ok())
            .or_else(size)
            .filter(|number: &f64| number.is_finite())
    }
}

impl Factor {
    /// The numbers of its levels, where all are numbers and rise.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let all: Vec<f64> = self
            .levels
            .iter()
            .map(Level::number)
            .collect::<Option<_>>()?;
        all.is_sorted().then_some(all)
    }
}

/// A key with its value, as a flag of the same name takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The flag's name without its hyphens.
    pub key: String,
    /// A text, a number, true or false, or a list of these.
    pub value: toml::Value,
    /// Its line in the file.
    pub line: usize,
}

impl Experiment {
    /// So many blocks instead of the file's.
    ///
    /// # Errors
    /// What the number must lie within: a claim's fewest blocks where the first ones say how many are needed.
    pub fn repeat(&mut self, repeats: usize) -> Result<(), RangeInclusive<usize>> {
        let within = file::repeats_within(self.until);
        if !within.contains(&repeats) {
            return Err(within);
        }
        self.repeats = repeats;
        Ok(())
    }

    /// Name and label of each factor's level, in the order of the file.
    pub fn labels(&self, levels: &[usize]) -> Vec<(&str, &str)> {
        let each = self.factors.iter().zip(levels);
        each.filter_map(|(factor, level)| {
            let level = factor.levels.get(*level)?;
            Some((factor.name.as_str(), level.label.as_str()))
        })
        .collect()
    }

    /// A combination in one line, such as `heap=64M rate=1000`.
    pub fn label(&self, levels: &[usize]) -> String {
        self.words(levels, |_| true)
    }

    /// A restart's settings in one line; *as it is* where no factor is of restarts.
    pub fn whole_label(&self, levels: &[usize]) -> String {
        self.words(levels, |place| self.factors[place].kind.is_whole())
    }

    /// What the run of a restart is set to; *as it is* where no factor is of phases.
    pub fn phase_label(&self, levels: &[usize]) -> String {
        self.words(levels, |place| !self.factors[place].kind.is_whole())
    }

    /// Of a design that lists its combinations, and has many factors, only what differs from the first of them is said.
    fn words(&self, levels: &[usize], is_named: impl Fn(usize) -> bool) -> String {
        let own = (0..self.factors.len())
            .filter(|place| is_named(*place))
            .count();
        let reference = match &self.design {
            Design::Listed(listed) if own > NAMED_MOST => listed.first(),
            Design::Screening(_) | Design::Listed(_) | Design::Full | Design::Fraction(_) => None,
        };
        let differs = |place: usize| reference.is_none_or(|first| first[place] != levels[place]);
        let each = self.labels(levels).into_iter().enumerate();
        let words: Vec<String> = each
            .filter(|(place, _)| is_named(*place) && differs(*place))
            .map(|(_, (name, label))| format!("{name}={label}"))
            .collect();
        match (words.is_empty(), own) {
            (true, 0) => "as it is".to_owned(),
            (true, _) => "reference".to_owned(),
            (false, _) => words.join(" "),
        }
    }

    /// What the levels of these kinds set, after what the file says for all; a level's value takes the place of an
    /// earlier one, and adds to it where a key may be given several times.
    pub fn settings(&self, base: &[Setting], levels: &[usize], kinds: &[Kind]) -> Vec<Setting> {
        let mut all = base.to_vec();
        for (factor, level) in self.factors.iter().zip(levels) {
            if !kinds.contains(&factor.kind) {
                continue;
            }
            let Some(level) = factor.levels.get(*level) else {
                continue;
            };
            for setting in &level.settings {
                let earlier = all.iter_mut().find(|one| one.key == setting.key);
                match earlier {
                    Some(earlier) if REPEATED.contains(&setting.key.as_str()) => {
                        earlier.value = both(&earlier.value, &setting.value);
                    }
                    Some(earlier) => earlier.clone_from(setting),
                    None => all.push(setting.clone()),
                }
            }
        }
        all
    }
}

/// Two values as one list.
fn both(a: &toml::Value, b: &toml::Value) -> toml::Value {
    let list = |value: &toml::Value| match value {
        toml::Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    toml::Value::Array([list(a), list(b)].concat())
}
