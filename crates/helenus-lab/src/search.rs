//! A search over lives: one after the other on clusters made for it, or a single one on an existing cluster.
//! Refuses to decide how many there are: `helenus_model::search::next_life` does.

use crate::bench::{self, BenchError, BenchRequest, Finished, LabEvent, Where};
use helenus_cluster::context::Context;
use helenus_model::run_plan::Search;
use helenus_model::search::{LEAST_TRIALS, Life, Report, Spent, next_life, over};
use helenus_model::seed::Seed;
use std::time::{Duration, Instant};

/// What happens on the way.
#[derive(Debug)]
pub enum SearchEvent<'a> {
    /// A life starts.
    Life {
        /// Its number, from 1.
        number: usize,
    },
    /// From within it.
    Bench(LabEvent<'a>),
    /// A life has ended.
    Ended(&'a Finished),
}

/// What came of a search.
#[derive(Debug)]
pub struct Searched {
    /// The runs of its lives.
    pub lives: Vec<Finished>,
    /// The person stopped it.
    pub interrupted: bool,
    /// What ended it before its time; where the person stopped it, why the cluster is still there.
    pub failed: Option<BenchError>,
}

/// Searches for so long; a life that has started is run to its end.
///
/// # Errors
/// The first life failed.
pub fn search(
    context: &Context,
    request: &BenchRequest,
    within: Duration,
    events: &mut dyn FnMut(SearchEvent<'_>),
) -> Result<Searched, BenchError> {
    let began = Instant::now();
    let has_bound = request.search.as_ref().is_some_and(|own| own.slo.is_some());
    let trial = request
        .search
        .as_ref()
        .map_or(Duration::ZERO, Search::trial);
    let mut spent = Spent {
        lives: 0,
        time: Duration::ZERO,
        beside: Duration::ZERO,
        least: trial * LEAST_TRIALS,
        several: has_bound && matches!(request.place, Where::Ephemeral(_)),
    };
    let mut of = Searched {
        lives: Vec::new(),
        interrupted: false,
        failed: None,
    };
    while let Some(time) = next_life(within, &spent) {
        let number = spent.lives + 1;
        events(SearchEvent::Life { number });
        let life = life(request, number, time, around(&of.lives));
        let ran = bench::run(context, &life, &mut |e| events(SearchEvent::Bench(e)));
        match ran {
            Ok(finished) => {
                of.interrupted = finished.interrupted;
                let took = began.elapsed().saturating_sub(spent.time);
                let tried = trial * tried(&finished);
                spent.beside = spent.beside.max(took.saturating_sub(tried));
                events(SearchEvent::Ended(&finished));
                of.lives.push(finished);
            }
            Err(error) if of.lives.is_empty() => return Err(error),
            Err(error) => {
                of.interrupted = context.cancel.is_set();
                of.failed = match of.interrupted {
                    true => error.not_removed().map(BenchError::from),
                    false => Some(error),
                };
            }
        }
        spent.lives = number;
        spent.time = began.elapsed();
        if of.interrupted || of.failed.is_some() {
            break;
        }
    }
    Ok(of)
}

/// How many trials a life had.
fn tried(life: &Finished) -> u32 {
    let trials = life.result.phases.iter().filter(|p| p.rate_per_s.is_some());
    u32::try_from(trials.count()).unwrap_or(u32::MAX)
}

/// The request of one life.
fn life(
    request: &BenchRequest,
    number: usize,
    within: Duration,
    around_per_s: Option<f64>,
) -> BenchRequest {
    let mut life = request.clone();
    life.seed = match number {
        1 => request.seed,
        _ => Seed(request.seed.derive(&format!("life/{number}")).0 >> 32),
    };
    if let Some(search) = &mut life.search {
        search.within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        search.around_per_s = around_per_s.or(search.around_per_s);
    }
    life
}

/// The rate that the lives so far found.
fn around(lives: &[Finished]) -> Option<f64> {
    let none = vec![None; lives.len()];
    Some(over(&as_lives(lives, &none))?.center().rate_per_s)
}

/// What these lives found.
pub fn report(lives: &[Finished], command: &str, version: &str) -> Report {
    let named = lives.iter().map(|life| life.run.map(|run| run.to_string()));
    let names: Vec<Option<String>> = named.collect();
    Report::of(&as_lives(lives, &names), command, version)
}

fn as_lives<'a>(lives: &'a [Finished], names: &'a [Option<String>]) -> Vec<Life<'a>> {
    let each = lives.iter().zip(names).map(|(finished, name)| Life {
        run: name.as_deref(),
        plan: &finished.plan,
        result: &finished.result,
    });
    each.collect()
}
