//! A search over lives: one after the other on clusters made for it, or a single one on a cluster that is there.
//! Refuses to look at the rate to decide how many lives there are: the time alone does.

use crate::bench::{self, BenchError, BenchRequest, Finished, LabEvent, Where};
use helenus_cluster::context::Context;
use helenus_model::search::{Life, Report, over};
use helenus_model::seed::Seed;
use std::time::{Duration, Instant};

/// Share of the time that the trials of the first life may take.
const FIRST: f64 = 0.4;

/// The same of each later life, which starts from what the ones before it found.
const LATER: f64 = 0.25;

/// Most lives.
const MOST: usize = 24;

/// What happens on the way.
#[derive(Debug)]
pub enum SearchEvent<'a> {
    /// A life starts.
    Life {
        /// Its number, from 1.
        number: usize,
        /// The time since the search started.
        spent: Duration,
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
    /// What ended it before its time.
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
    let fresh = matches!(request.place, Where::Ephemeral(_));
    let has_bound = request.search.as_ref().is_some_and(|own| own.slo.is_some());
    let mut of = Searched {
        lives: Vec::new(),
        interrupted: false,
        failed: None,
    };
    let mut longest = Duration::ZERO;
    loop {
        let number = of.lives.len() + 1;
        let spent = began.elapsed();
        events(SearchEvent::Life { number, spent });
        let share = match (fresh && has_bound, number) {
            (false, _) => 1.0,
            (true, 1) => FIRST,
            (true, _) => LATER,
        };
        let left = within.saturating_sub(spent).min(within.mul_f64(share));
        let life = life(request, number, left, around(&of.lives));
        let ran = bench::run(context, &life, &mut |e| events(SearchEvent::Bench(e)));
        match ran {
            Ok(finished) => {
                of.interrupted = finished.interrupted;
                events(SearchEvent::Ended(&finished));
                of.lives.push(finished);
            }
            Err(error) if of.lives.is_empty() => return Err(error),
            Err(error) => {
                of.interrupted = context.cancel.is_set();
                of.failed = Some(error).filter(|_| !of.interrupted);
            }
        }
        longest = longest.max(began.elapsed().saturating_sub(spent));
        let over = of.interrupted || of.failed.is_some() || of.lives.len() >= MOST;
        if over || !fresh || !has_bound || began.elapsed() + longest > within {
            return Ok(of);
        }
    }
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
