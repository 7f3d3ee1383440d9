//! `helenus run --slo` and `--curve`: the highest rate under a latency threshold, and latency by rate.

use crate::cli::run::RunLoad;
use crate::cli::{Shown, Warmup};
use crate::commands::bench::{self, Live, ms};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_lab::bench::Where;
use helenus_lab::search::{self, SearchEvent, Searched};
use helenus_lab::{BenchRequest, LabEvent};
use helenus_model::calibration::Step;
use helenus_model::nearest::nearest;
use helenus_model::result::PhaseResult;
use helenus_model::run_plan::{Phase, Search};
use helenus_model::search::{Held, LifeReport, Point, Report, Slo};
use helenus_model::units::{fixed, whole};
use helenus_model::workload::Workload;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Columns of the longest bar.
const BAR: usize = 30;

impl Answers for Report {
    fn answer(&self) -> String {
        Report::answer(self)
    }
}

/// The search that flags ask for: the last phase becomes the closed loop before its trials.
pub(super) fn of(
    load: &RunLoad,
    phases: &mut [Phase],
    workload: &Workload,
) -> Result<Option<Search>, CommandError> {
    let refuse = |text: String, hint: String| Err(CommandError::new(code::USAGE, text).hint(hint));
    if load.slo.is_none() && !load.curve {
        return match load.step {
            Some(_) if load.rate_steps.is_empty() => refuse(
                "--step is the length of a step, and there are no steps".to_owned(),
                "give --rate-steps, --slo or --curve, or use --duration".to_owned(),
            ),
            _ => Ok(None),
        };
    }
    if load.common.processes > 1 {
        return refuse(
            "a search has one generator process".to_owned(),
            "leave --processes out".to_owned(),
        );
    }
    let Some(last) = phases.last_mut() else {
        return Ok(None);
    };
    if let Some(slo) = load.slo.as_deref().and_then(|text| Slo::parse(text).ok()) {
        let known: Vec<&str> = last.operations.iter().map(|o| &*o.operation).collect();
        if let Some(other) = slo.operations_named().find(|name| !known.contains(name)) {
            let list = known.join(", ");
            let hint = match nearest(other, known.iter().copied()) {
                Some(near) => format!("did you mean {near}? the mix has {list}"),
                None => format!("the mix has {list}"),
            };
            return refuse(
                format!("{} has no operation {other:?} in its mix", workload.name()),
                hint,
            );
        }
    }
    let mut search = Search::new(load.slo.clone(), ms(load.within));
    if let Some(step) = load.step {
        search.step_ms = ms(step);
    }
    if let Some(Warmup::Time(time)) = load.common.warmup {
        search.warmup_ms = ms(time);
    }
    if search.step_ms < Search::STEP_LEAST_MS {
        return refuse(
            format!(
                "trials of {} ms are too short to show whether the nodes fall behind",
                search.step_ms
            ),
            "give a --step of 2s or more".to_owned(),
        );
    }
    *last = search.closed_loop(last);
    Ok(Some(search))
}

/// Runs a search, and shows what it found.
pub(super) fn run(
    request: &BenchRequest,
    (within, shown): (Duration, Shown),
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let slo = request.search.as_ref().and_then(|own| own.slo.as_deref());
    let slo = slo.and_then(|text| Slo::parse(text).ok());
    let mut seen = Seen {
        live: Live::of(request, shown, context, ui)?,
        slo,
        number: 0,
        trials: 0,
        began: Instant::now(),
        within,
        ui,
    };
    let searched = search::search(context, request, within, &mut |event| seen.see(&event));
    drop(seen);
    ended(searched.map_err(bench::failure)?, request, ui)
}

/// The search as it goes.
struct Seen<'a> {
    live: Live<'a>,
    slo: Option<Slo>,
    number: usize,
    trials: usize,
    began: Instant,
    within: Duration,
    ui: &'a Ui,
}

impl Seen<'_> {
    fn see(&mut self, event: &SearchEvent<'_>) {
        match event {
            SearchEvent::Life { number } => {
                (self.number, self.trials) = (*number, 0);
                self.prefix();
            }
            SearchEvent::Bench(event) => {
                self.live.see(event);
                if let LabEvent::Ended(phase) = event {
                    self.trial(phase);
                }
            }
            SearchEvent::Ended(_) => {}
        }
    }

    fn trial(&mut self, phase: &PhaseResult) {
        if let Some(rate) = phase.rate_per_s {
            self.trials += 1;
            let held = self.slo.as_ref().map(|slo| slo.held_by(phase));
            let words = match &held {
                Some(Held::Yes) => "held".to_owned(),
                Some(Held::No(why)) => format!("did not hold: {why}"),
                Some(Held::Unknown(why)) => format!("cannot say: {why}"),
                None => format!("p99 {}", p99(phase)),
            };
            let number = self.number;
            self.ui.note(&format!(
                "life {number}, trial {}: {}/s {words}",
                self.trials,
                whole(rate)
            ));
        }
        self.prefix();
    }

    fn prefix(&mut self) {
        let left = self.within.saturating_sub(self.began.elapsed());
        let left = helenus_model::units::human_duration(Duration::from_secs(left.as_secs()));
        let number = self.number;
        self.live.prefix(format!("life {number}, {left} left: "));
    }
}

fn p99(phase: &PhaseResult) -> String {
    let response = phase.total.response.as_ref();
    response
        .and_then(|of| of.p99_us)
        .map_or("–".to_owned(), |us| format!("{} ms", fixed(us / 1e3, 1)))
}

/// What was found, and how it ended.
fn ended(of: Searched, request: &BenchRequest, ui: &Ui) -> Result<u8, CommandError> {
    let report = search::report(&of.lives, &request.command, &request.version);
    let not_removed = of.lives.iter().find_map(|life| life.not_removed.as_ref());
    if let Some(error) = not_removed {
        ui.caution(&format!(
            "the cluster was not removed: {}",
            with_causes(error)
        ));
    }
    ui.result(&report, || text(&report, request));
    if of.interrupted {
        let how = match not_removed {
            Some(_) => "interrupted, and not cleaned up",
            None => "interrupted, and cleaned up",
        };
        let text = format!("{how}; what was found so far is above");
        let interrupted = CommandError::new(code::INTERRUPTED, text);
        return Err(of.failed.map_or(interrupted, bench::failure));
    }
    if let Some(error) = of.failed {
        return Err(bench::failure(error));
    }
    let any_said = report.curve.iter().any(|point| point.held.is_some());
    let exit = match (&report.slo, &report.highest) {
        (Some(_), None) if any_said => code::BAR,
        (Some(_), None) => code::INVALID,
        _ => 0,
    };
    let lost = of.lives.iter().find_map(|life| life.not_recorded.as_ref());
    bench::recorded(exit, "a run", lost)
}

fn text(report: &Report, request: &BenchRequest) -> String {
    let mut text = format!("{}\n\n", report.answer());
    text.push_str(&plot(&report.curve, report.slo.is_some()));
    if let Some(knee) = report.knee_per_s {
        let _infallible = writeln!(
            text,
            "knee: {}/s, where throughput divided by mean response time is highest",
            whole(knee)
        );
    }
    if report.slo.is_some() {
        let _infallible = write!(text, "\n{}", lives(&report.lives));
        if report.in_nine_of_ten_per_s.is_none() && report.highest.is_some() {
            text.push_str(match request.place {
                Where::Ephemeral(_) => {
                    "lives differ: the rate that holds in 90 % of fresh lives needs three of them; give a longer --within\n"
                }
                _ => {
                    "lives differ: for the rate that holds in 90 % of fresh ones leave --cluster out, and each life gets a new cluster\n"
                }
            });
        }
    }
    let calibration = report.calibration.as_ref().map(Step::sentence);
    text.push_str(&bench::render::calibration(calibration));
    text
}

/// Latency by rate: a bar of p99 for each trial, on a scale of logarithms.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a few columns"
)]
fn plot(points: &[Point], bounded: bool) -> String {
    let times = points.iter().filter_map(|point| point.p99_us);
    let (least, most) = times.fold((f64::MAX, f64::MIN), |(low, high), us| {
        (low.min(us), high.max(us))
    });
    let bar = |us: f64| {
        let share = (us / least).ln() / (most / least).ln().max(1e-9);
        "█".repeat(1 + (share * (BAR - 1) as f64).round() as usize)
    };
    let mut table = Table::new(match bounded {
        true => &["offered/s", "done/s", "p50 ms", "p99 ms", "held", "p99"],
        false => &["offered/s", "done/s", "p50 ms", "p99 ms", "", "p99"],
    });
    for point in points {
        let ms = |us: Option<f64>| us.map_or("–".to_owned(), |us| fixed(us / 1e3, 2));
        table.row([
            whole(point.offered_per_s),
            whole(point.achieved_per_s),
            ms(point.p50_us),
            ms(point.p99_us),
            match (point.held, &point.why) {
                (Some(true), _) => "yes".to_owned(),
                (Some(false), Some(why)) if why == "fell behind" => why.clone(),
                (Some(false), _) => "no".to_owned(),
                (None, why) => why.clone().unwrap_or_default(),
            },
            point.p99_us.map(bar).unwrap_or_default(),
        ]);
    }
    table.render()
}

fn lives(lives: &[LifeReport]) -> String {
    let mut table = Table::new(&[
        "life",
        "run",
        "closed loop",
        "trials",
        "highest",
        "95 % interval",
    ]);
    for (place, life) in lives.iter().enumerate() {
        let rate =
            |rate: Option<f64>| rate.map_or("–".to_owned(), |rate| format!("{}/s", whole(rate)));
        table.row([
            (place + 1).to_string(),
            life.run.clone().unwrap_or_else(|| "not stored".to_owned()),
            rate(life.closed_per_s),
            life.trials.to_string(),
            rate(life.highest.map(|own| own.rate_per_s)),
            life.highest.map_or_else(
                || life.ended.unwrap_or_default().to_owned(),
                |own| format!("{} to {}", whole(own.low_per_s), whole(own.high_per_s)),
            ),
        ]);
    }
    table.render()
}
