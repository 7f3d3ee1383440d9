//! Comparing what the history holds: names into runs, runs into facts, a comparison out of them.
//! Refuses to pair anything itself: `helenus_model::comparison` does.

use helenus_cluster::context::Context;
use helenus_cluster::wall;
use helenus_model::comparison::{
    ARRIVALS, CLASS_ARCHIVE, CompareError, Comparison, Fact, FailOn, JDK, MACHINE, Options,
    RunFacts, Stages, compare,
};
use helenus_model::plan::{self, ClusterPlan};
use helenus_model::result::RunResult;
use helenus_model::run_plan::{Compression, Extent, RunPlan};
use helenus_model::units::Bytes;
use helenus_record::{ComparisonId, History, HistoryError, RunId, RunSummary, StoredRun};

/// A comparison with its name in the history.
#[derive(Debug)]
pub struct Made {
    /// The comparison.
    pub comparison: Comparison,
    /// Its name; none where it could not be kept.
    pub id: Option<ComparisonId>,
}

/// Why stored runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The history cannot be read, or has no such runs.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The runs do not go together.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// One side only, and no comparison of that name.
    #[error("{0} is one side of a comparison")]
    OneSide(String),
    /// Thresholds for a comparison that was made without them.
    #[error("{id} already exists, and its thresholds were set when it was made")]
    Made {
        /// The comparison.
        id: ComparisonId,
        /// Its sides, as they can be named again.
        sides: [String; 2],
    },
    /// A run that both sides name.
    #[error("{0} is on both sides")]
    BothSides(RunId),
}

/// Compares two sides of stored runs and keeps the comparison; or finds one that is kept, where one name is given.
///
/// # Errors
/// Names that nothing has, or runs that do not go together.
pub fn stored(context: &Context, sides: &[String], bars: Vec<FailOn>) -> Result<Made, StoredError> {
    let mut history = History::open(&history_file(context))?;
    let (a, b) = match sides {
        [name] => {
            let id = ComparisonId::named(name).ok_or_else(|| StoredError::OneSide(name.clone()))?;
            let comparison = history.comparison(id)?.comparison;
            if !bars.is_empty() {
                let sides = [&comparison.a, &comparison.b].map(|side| side.runs.join(","));
                return Err(StoredError::Made { id, sides });
            }
            let id = Some(id);
            return Ok(Made { comparison, id });
        }
        [a, b, ..] => (a, b),
        [] => return Err(StoredError::OneSide("nothing".to_owned())),
    };
    let comparison = compared(&history, [a, b], bars)?;
    let id = Some(history.add_comparison(&comparison, wall::now_ns())?);
    Ok(Made { comparison, id })
}

/// Compares two sides of stored runs, and keeps nothing.
///
/// # Errors
/// As [`stored`].
pub fn compared(
    history: &History,
    [a, b]: [&str; 2],
    bars: Vec<FailOn>,
) -> Result<Comparison, StoredError> {
    let read = |name: &str| -> Result<Vec<Stored>, StoredError> {
        let found = history.resolve_all(name)?;
        let read = |line: RunSummary| Stored::read(history, line.id).transpose();
        let stored: Result<_, HistoryError> = found.into_iter().filter_map(read).collect();
        Ok(stored?)
    };
    let options = Options {
        label_a: a.to_owned(),
        label_b: b.to_owned(),
        bars,
        stages: Stages::Fixed,
    };
    let (a, b) = (read(a)?, read(b)?);
    if let Some(both) = a
        .iter()
        .find(|run| b.iter().any(|b| b.line.id == run.line.id))
    {
        return Err(StoredError::BothSides(both.line.id));
    }
    let numbered = numbered(&a, &b);
    Ok(compare(
        &facts(&a, numbered),
        &facts(&b, numbered),
        &options,
    )?)
}

/// Where the history is.
pub(crate) fn history_file(context: &Context) -> std::path::PathBuf {
    context.paths.state.join(helenus_record::FILE)
}

/// Whether a run's nodes used their class-data archive, in the facts of its machine.
pub(crate) const CLASS_ARCHIVE_KEY: &str = "class_archive";

/// Numbers of restarts that are runs of pairs leave room for so many pairs.
const PAIRS: u32 = 1_000_000;

/// The number of a pair.
pub(crate) fn pair_of(block: usize) -> u32 {
    u32::try_from(block).unwrap_or(u32::MAX) % PAIRS
}

/// The number of a restart in its trial, from its pair and how often that side of it was started: each is a life of its own.
pub(crate) fn restart_of(block: usize, attempts: u32) -> u32 {
    let before = attempts.saturating_sub(1);
    before.saturating_mul(PAIRS).saturating_add(pair_of(block))
}

/// A run out of the history, with its line there.
pub(crate) struct Stored {
    line: RunSummary,
    pub(crate) result: RunResult,
    facts: Vec<Fact>,
}

impl Stored {
    /// None where it has no result.
    pub(crate) fn read(history: &History, id: RunId) -> Result<Option<Self>, HistoryError> {
        let stored = history.run(id)?;
        let facts = stored_facts(&stored)?;
        Ok(stored.result.map(|result| Self {
            line: stored.summary,
            result,
            facts,
        }))
    }

    /// As one of a pair of this number, where it is.
    pub(crate) fn facts(&self, pair: Option<u32>) -> RunFacts<'_> {
        RunFacts {
            run: self.line.id.to_string(),
            restart: Some(self.line.place.restart_id.to_string()),
            pair,
            began_wall_ns: self.line.began_wall_ns,
            result: &self.result,
            facts: self.facts.clone(),
        }
    }
}

fn facts(runs: &[Stored], numbered: bool) -> Vec<RunFacts<'_>> {
    let pair = |run: &Stored| numbered.then_some(run.line.place.restart % PAIRS);
    runs.iter().map(|run| run.facts(pair(run))).collect()
}

/// Whether the numbers of restarts are numbers of pairs: where each side has restarts of one trial, and both trials are
/// of one experiment. A run against a run is a pair whatever its number.
fn numbered(a: &[Stored], b: &[Stored]) -> bool {
    let trial = |run: &Stored| {
        let place = &run.line.place;
        place.trial_name.as_ref()?;
        Some((place.experiment, place.trial))
    };
    let one = |runs: &[Stored]| {
        let first = runs.first().and_then(trial)?;
        let same = runs.iter().all(|run| trial(run) == Some(first));
        same.then_some(first)
    };
    let trials = one(a).zip(one(b));
    let alone = a.len() == 1 && b.len() == 1;
    !alone && trials.is_some_and(|(a, b)| a.0 == b.0 && a.1 != b.1)
}

fn stored_facts(stored: &StoredRun) -> Result<Vec<Fact>, HistoryError> {
    let cluster = stored
        .cluster_plan
        .clone()
        .and_then(|plan| serde_json::from_value::<ClusterPlan>(plan).ok());
    let mut facts = facts_of_plan(&stored.plan()?, cluster.as_ref());
    facts.extend(stored.summary.jvm.clone().map(|jvm| fact(JDK, jvm)));
    let archive = stored.host.get(CLASS_ARCHIVE_KEY);
    if let Some(used) = archive.and_then(serde_json::Value::as_bool) {
        let used = if used { "used" } else { "not used" };
        facts.push(fact(CLASS_ARCHIVE, used.to_owned()));
    }
    facts.push(fact(MACHINE, machine(stored)));
    facts.push(fact("Helenus", stored.helenus_version.clone()));
    Ok(facts)
}

/// A run's machine in words. Two of the same make are two where a run came from another history.
fn machine(stored: &StoredRun) -> String {
    let host = &stored.host;
    let word = |field: &str| host[field].as_str().unwrap_or("unknown");
    let memory = host["memory"].as_u64().map_or(String::new(), |bytes| {
        format!(", {} of memory", Bytes(bytes))
    });
    let cores = host["cores"].as_u64().unwrap_or_default();
    let elsewhere = if stored.summary.received {
        ", another history's"
    } else {
        ""
    };
    format!(
        "{cores} processors {}{memory}, Linux {}{elsewhere}",
        word("processor"),
        word("kernel")
    )
}

fn fact(what: &str, value: String) -> Fact {
    let what = what.to_owned();
    Fact { what, value }
}

/// What sets a run apart: its phases, its level, and the settings of its cluster.
fn facts_of_plan(plan: &RunPlan, cluster: Option<&ClusterPlan>) -> Vec<Fact> {
    let word = |value: serde_json::Result<serde_json::Value>| {
        value
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    let mut facts = vec![
        fact(
            "consistency level",
            word(serde_json::to_value(plan.consistency)),
        ),
        fact("pacing", word(serde_json::to_value(plan.pacing))),
        fact("connections to a node", plan.connections.to_string()),
        fact(
            "compression",
            plan.compression
                .map_or("none", |Compression::Lz4| "LZ4")
                .to_owned(),
        ),
        fact(
            "profiler",
            plan.profile
                .as_ref()
                .map_or_else(|| "none".to_owned(), ToString::to_string),
        ),
    ];
    for phase in &plan.phases {
        let name = &phase.name;
        let extent = match phase.extent {
            Extent::DurationMs(ms) => format!("{} ms", ms),
            Extent::Count(n) => format!("{n} operations"),
            Extent::Until(target) => format!("until the rate is known to {}", target.error),
        };
        if phase.rate_per_s.is_some() {
            let spread = phase.arrivals.word().to_owned();
            facts.push(fact(&format!("{ARRIVALS}{name}"), spread));
        }
        let in_flight = phase.in_flight.to_string();
        facts.push(fact(&format!("in flight of {name}"), in_flight));
        facts.push(fact(&format!("length of {name}"), extent));
    }
    let settings = cluster.into_iter().flat_map(plan::facts);
    facts.extend(settings.map(|(what, value)| fact(&what, value)));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_of_a_side_is_a_restart_of_its_own_and_of_its_pair() {
        let starts = [(0, 1), (0, 2), (7, 1), (7, 3)];
        let restarts = starts.map(|(block, attempts)| restart_of(block, attempts));
        let distinct: std::collections::BTreeSet<u32> = restarts.into_iter().collect();
        assert_eq!(distinct.len(), starts.len(), "{restarts:?}");
        let pairs = restarts.map(|restart| restart % PAIRS);
        assert_eq!(pairs, starts.map(|(block, _)| pair_of(block)));
    }
}
