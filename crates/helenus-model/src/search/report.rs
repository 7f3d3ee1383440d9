//! What a search found, `helenus.search/1`: the rate with its interval, the rate for fresh lives, each life, the curve.
//! Refuses to give the rate of one life as that of all: with fewer than three lives it says that it is of these.

use super::{Estimate, Lives, Next, Point, Slo, capacity, curve, found, knee, next, trials};
use crate::calibration::Step;
use crate::format::Format;
use crate::result::{self, RunResult};
use crate::run_plan::RunPlan;
use crate::units::whole;
use serde::Serialize;

/// Version of what is printed.
pub const VERSION: u32 = 1;

/// The share of fresh lives in which the rate of [`Report::in_nine_of_ten_per_s`] holds.
const NINE_OF_TEN: f64 = 0.9;

/// A run that searched, as it ended.
#[derive(Debug, Clone, Copy)]
pub struct Life<'a> {
    /// Its name in the history, where it is kept.
    pub run: Option<&'a str>,
    /// The plan with all of its phases.
    pub plan: &'a RunPlan,
    /// Its result.
    pub result: &'a RunResult,
}

/// A search, as it is printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// `helenus.search/1`.
    pub format: Format,
    /// The threshold; absent of a curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
    /// The workload.
    pub workload: String,
    /// The highest rate that holds the threshold, over these lives: there a trial holds as often as not. None where none
    /// was seen to hold.
    pub highest: Option<Estimate>,
    /// The rate at which a trial holds in 90 % of fresh lives, with all uncertainty included; none below three lives.
    pub in_nine_of_ten_per_s: Option<f64>,
    /// Where throughput divided by mean response time is highest.
    pub knee_per_s: Option<f64>,
    /// The lives of the nodes, in their order.
    pub lives: Vec<LifeReport>,
    /// Every trial, by rate.
    pub curve: Vec<Point>,
    /// What the generator's calibration has for the highest rate tried; absent where its machine was not calibrated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Step>,
    /// The command line, without secrets.
    pub command: String,
    /// Version of Helenus.
    pub helenus: String,
}

/// One life.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LifeReport {
    /// Its run in the history; absent where it is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Root seed.
    pub seed: u64,
    /// Operations a second that a closed loop reached before the trials.
    pub closed_per_s: Option<f64>,
    /// Rates that were tried.
    pub trials: usize,
    /// The highest rate that holds in it; none where none was seen to hold.
    pub highest: Option<Estimate>,
    /// Why it ended before the rate was known well enough; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<&'static str>,
}

impl Report {
    /// What these lives found.
    pub fn of(lives: &[Life<'_>], command: &str, helenus: &str) -> Self {
        let search = lives.first().and_then(|life| life.plan.search.as_ref());
        let text = search.and_then(|search| search.slo.clone());
        let slo = text.as_deref().and_then(|text| Slo::parse(text).ok());
        let all = over(lives);
        let each = lives.iter().map(|life| &life.result.phases[..]);
        let points = curve(each, slo.as_ref());
        let phases = lives.iter().flat_map(|life| &life.result.phases);
        let held = points.iter().any(|point| point.held == Some(true));
        let all = all.filter(|_| held);
        Self {
            format: Format::new("search", VERSION),
            slo: text,
            workload: lives
                .first()
                .map(|life| life.plan.workload.name().to_owned())
                .unwrap_or_default(),
            highest: all.as_ref().map(Lives::center),
            in_nine_of_ten_per_s: all.as_ref().and_then(|all| all.holds_with(NINE_OF_TEN)),
            knee_per_s: knee(&points),
            lives: lives.iter().map(LifeReport::of).collect(),
            curve: points,
            calibration: result::calibration(phases).cloned(),
            command: command.to_owned(),
            helenus: helenus.to_owned(),
        }
    }

    /// The outcome in one sentence.
    pub fn answer(&self) -> String {
        let Some(slo) = &self.slo else {
            return match self.knee_per_s {
                Some(knee) => format!("the knee is at {}/s", whole(knee)),
                None => "too few rates had a response time to see a knee".to_owned(),
            };
        };
        let Some(highest) = &self.highest else {
            let why = self.lives.iter().find_map(|life| life.ended);
            let why = why.unwrap_or("no rate was seen to hold the threshold");
            return format!("{slo}: {why}");
        };
        let [low, high] = [highest.low_per_s, highest.high_per_s].map(whole);
        let rate = whole(highest.rate_per_s);
        match self.in_nine_of_ten_per_s {
            Some(fresh) => format!(
                "{slo} holds up to {rate}/s (95 % interval {low} to {high}); {}/s hold in 90 % of fresh lives",
                whole(fresh)
            ),
            None => format!(
                "{slo} holds up to {rate}/s in {} (95 % interval {low} to {high})",
                match self.lives.len() {
                    1 => "this life of the nodes".to_owned(),
                    n => format!("these {n} lives of the nodes"),
                }
            ),
        }
    }
}

impl LifeReport {
    fn of(life: &Life<'_>) -> Self {
        let search = life.plan.search.as_ref();
        let end = search.map(|search| next(search, &life.result.phases, u64::MAX));
        let tried = life.result.phases.iter();
        Self {
            run: life.run.map(str::to_owned),
            seed: life.plan.seed.0,
            closed_per_s: capacity(&life.result.phases),
            trials: tried.filter(|phase| phase.rate_per_s.is_some()).count(),
            highest: search.and_then(|search| found(search, life.result)),
            ended: end.and_then(Next::cut_short),
        }
    }
}

/// What all of these lives say; none where they searched for no threshold, or no trial says anything.
pub fn over(lives: &[Life<'_>]) -> Option<Lives> {
    let search = lives.first()?.plan.search.as_ref()?;
    search.slo.as_ref()?;
    let each = lives
        .iter()
        .map(|life| trials(search, &life.result.phases).ok());
    let trials: Vec<_> = each.collect::<Option<_>>()?;
    let reached = lives
        .iter()
        .filter_map(|life| capacity(&life.result.phases));
    let capacity = reached.fold(0.0, f64::max);
    if capacity <= 0.0 {
        return None;
    }
    Lives::of(&trials, capacity)
}
