//! Comparing what the history holds: names into runs, runs into facts, a comparison out of them.
//! Refuses to pair anything itself: `helenus_model::comparison` does.

use helenus_cluster::lifecycle::Hands;
use helenus_model::comparison::{BarSpec, CompareError, Comparison, Options, RunFacts, compare};
use helenus_model::plan::{self, ClusterPlan};
use helenus_model::run_plan::{Extent, RunPlan};
use helenus_record::{ComparisonId, History, HistoryError, RunSummary, StoredRun};
use std::time::{SystemTime, UNIX_EPOCH};

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
}

/// Compares two sides of stored runs and keeps the comparison; or finds one that is kept, where one name is given.
///
/// # Errors
/// Names that nothing has, or runs that do not go together.
pub fn stored(
    hands: &Hands,
    sides: &[String],
    bars: Vec<BarSpec>,
) -> Result<Made, StoredError> {
    let mut history = History::open(&history_file(hands))?;
    let (a, b) = match sides {
        [name] => {
            let id: ComparisonId = name
                .parse()
                .map_err(|_| StoredError::OneSide(name.clone()))?;
            let comparison = history.comparison(id)?.comparison;
            let id = Some(id);
            return Ok(Made { comparison, id });
        }
        [a, b, ..] => (a, b),
        [] => return Err(StoredError::OneSide("nothing".to_owned())),
    };
    let runs = |name: &str| -> Result<Vec<RunFacts>, StoredError> {
        let found = history.resolve_all(name)?;
        found
            .iter()
            .filter_map(|line| run_facts(&history, line).transpose())
            .collect()
    };
    let options = Options {
        labels: [a.clone(), b.clone()],
        bars,
        two_stage: None,
    };
    let comparison = compare(&runs(a)?, &runs(b)?, &options)?;
    let id = Some(history.add_comparison(&comparison, wall_ns())?);
    Ok(Made { comparison, id })
}

/// Where the history is.
pub(crate) fn history_file(hands: &Hands) -> std::path::PathBuf {
    hands.paths.state.join(helenus_record::FILE)
}

/// A stored run for the comparison; none where it has no result.
fn run_facts(history: &History, line: &RunSummary) -> Result<Option<RunFacts>, StoredError> {
    let stored = history.run(line.id)?;
    let facts = stored_facts(&stored)?;
    let place = &line.place;
    // The number of a pair means something only within an experiment of several trials.
    let paired = place.trial_name.is_some();
    Ok(stored.result.map(|result| RunFacts {
        run: line.id.to_string(),
        restart: Some(place.restart_id.to_string()),
        began_wall_ns: line.began_wall_ns,
        pair: paired.then_some(place.restart as usize),
        result,
        facts,
    }))
}

fn stored_facts(stored: &StoredRun) -> Result<Vec<(String, String)>, HistoryError> {
    let cluster = stored
        .cluster_plan
        .clone()
        .and_then(|plan| serde_json::from_value::<ClusterPlan>(plan).ok());
    let mut facts = facts_of_plan(&stored.plan()?, cluster.as_ref());
    facts.extend(stored.summary.jvm.clone().map(|jvm| ("JVM".to_owned(), jvm)));
    facts.push(("Helenus".to_owned(), stored.helenus_version.clone()));
    Ok(facts)
}

/// What sets a run apart: its phases, its level, and the settings of its cluster.
pub(crate) fn facts_of_plan(
    plan: &RunPlan,
    cluster: Option<&ClusterPlan>,
) -> Vec<(String, String)> {
    let word = |value: serde_json::Result<serde_json::Value>| {
        value
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    let mut facts = vec![
        (
            "consistency level".to_owned(),
            word(serde_json::to_value(plan.consistency)),
        ),
        ("pacing".to_owned(), word(serde_json::to_value(plan.pacing))),
    ];
    for phase in &plan.phases {
        let name = &phase.name;
        let rate = phase
            .rate_per_s
            .map_or("closed loop".to_owned(), |rate| format!("{rate}/s"));
        let extent = match phase.extent {
            Extent::DurationMs(ms) => format!("{} s", ms / 1000),
            Extent::Count(n) => format!("{n} operations"),
        };
        facts.push((format!("rate of {name}"), rate));
        facts.push((format!("in flight of {name}"), phase.in_flight.to_string()));
        facts.push((format!("length of {name}"), extent));
        facts.push((format!("rows of {name}"), phase.population.to_string()));
    }
    facts.extend(cluster.into_iter().flat_map(plan::facts));
    facts
}

/// The wall clock in nanoseconds since 1970.
pub(crate) fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}
