//! An experiment as it goes: one moving line within a run, one kept line after it.
//! Refuses to show differences before all has run.

use super::plan::timing;
use crate::commands::{bench, populate};
use crate::ui::Ui;
use helenus_cluster::error::with_causes;
use helenus_lab::Finished;
use helenus_lab::experiment::{ExperimentEvent, ExperimentRequest};
use helenus_lab::search;
use helenus_model::comparison::Stopping;
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{Planned, RunState, Slice, Timing, Warmth};
use helenus_model::units::human_duration;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The runs as they go.
pub(crate) struct Live<'a> {
    ui: &'a Ui,
    request: &'a ExperimentRequest,
    within: bench::Live<'a>,
    populate: populate::Live<'a>,
    timing: Timing,
    runs: Vec<(Planned, RunState)>,
    /// When the first run of this process started, and how long all that was left then was expected to take.
    began: Option<(Instant, Duration)>,
}

impl<'a> Live<'a> {
    pub(crate) fn new(ui: &'a Ui, request: &'a ExperimentRequest) -> Self {
        let nodes = request.combinations.iter().map(super::plan::nodes);
        Self {
            ui,
            request,
            within: bench::Live::new(ui, nodes.max().unwrap_or(1)),
            populate: populate::Live::new(ui),
            timing: timing(&request.combinations),
            runs: Vec::new(),
            began: None,
        }
    }

    pub(crate) fn see(&mut self, event: &ExperimentEvent<'_>) {
        match event {
            ExperimentEvent::Waits(ahead) => self.ui.note(&format!(
                "waiting for experiment {} (process {}): two at a time would disturb each other",
                ahead.what, ahead.pid
            )),
            ExperimentEvent::Begins { id, progress, runs } => {
                self.runs = runs.iter().map(|run| (run.planned, run.state)).collect();
                let left = self.timing.left(&self.runs);
                self.ui.note(&format!(
                    "{id} {}: {} of {} runs done, {} left in {} restarts, about {}; seed {}",
                    self.request.experiment.name,
                    progress.done,
                    progress.planned,
                    progress.left,
                    progress.restarts_left,
                    human_duration(left),
                    self.request.seed.0
                ));
            }
            ExperimentEvent::Left(cluster) => self.ui.note(&format!(
                "removed {cluster}, left by an earlier, interrupted run of it"
            )),
            ExperimentEvent::Run { planned, of } => self.begins(*planned, *of),
            ExperimentEvent::Anew(words) => self.within.waits(words),
            ExperimentEvent::PutsBack(cluster) => {
                self.within.prefix(String::new());
                self.ui.note(&format!(
                    "starting the nodes of {cluster} as they were before"
                ));
            }
            ExperimentEvent::NotPutBack(error) => {
                self.ui.caution(&with_causes(error));
            }
            ExperimentEvent::Dataset => self.ui.note("making the data"),
            ExperimentEvent::Populate(event) => self.populate.see(event),
            ExperimentEvent::Restored(cache) => {
                if cache.resident_bytes > 0 {
                    let resident = cache.share() * 100.0;
                    self.ui.caution(&format!(
                        "{resident:.1} % of the data was in the page cache before the nodes started"
                    ));
                }
            }
            ExperimentEvent::Bench(event) => self.within.see(event),
            ExperimentEvent::Warm { warmth, slices } => self.warm(*warmth, slices),
            ExperimentEvent::Ended { planned, finished } => {
                self.ended(*planned, RunState::Done);
                self.ui.note(&format!(
                    "{}: {}",
                    self.words(*planned),
                    in_a_line(finished)
                ));
            }
            ExperimentEvent::Died { planned, why } => {
                self.ended(*planned, RunState::Died);
                let first = why.lines().next().unwrap_or_default();
                self.ui
                    .caution(&format!("{} died: {first}", self.words(*planned)));
            }
            ExperimentEvent::More {
                blocks,
                governed_by,
            } => self.ui.note(&format!(
                "the first blocks show that {governed_by} needs {blocks} blocks"
            )),
            ExperimentEvent::Again { winner } => self.ui.note(&format!(
                "{winner} looks best; it is measured again, with fresh restarts"
            )),
            ExperimentEvent::FindsRate => self.ui.note("one run of A finds the rate for all"),
            ExperimentEvent::Rate(rate) => self.ui.note(&format!(
                "every restart without its own rate runs at {rate}/s"
            )),
            ExperimentEvent::Decided(stopping) => self.ui.note(&decided(stopping)),
            ExperimentEvent::Settled(pairs) => {
                self.ui.note(&format!("settled after {pairs} pairs"));
            }
        }
    }

    fn warm(&self, warmth: Warmth, slices: &[Slice]) {
        let took = human_duration(slices.iter().map(|slice| slice.took).sum());
        let last = slices.last().and_then(|slice| slice.node_cpu_us);
        let last = last.map_or(String::new(), |us| format!(", the last of them {us:.1} µs"));
        let after = format!("after {took} ({} slices{last})", slices.len());
        let what = "warm: the nodes' CPU time for an operation";
        match warmth {
            Warmth::Level => self.ui.note(&format!("{what} is level {after}")),
            Warmth::Unseen => self.ui.caution(&format!("{what} cannot be read {after}")),
            Warmth::NotLevel | Warmth::Another => {
                self.ui.caution(&format!("{what} is not level {after}"));
            }
        }
    }

    fn begins(&mut self, planned: Planned, of: usize) {
        // Runs that were planned on the way are known from here on.
        if self.runs.len() <= planned.place {
            self.runs.push((planned, RunState::Planned));
        }
        let left = self.timing.left(&self.runs);
        let (began, then) = *self.began.get_or_insert((Instant::now(), left));
        let done = then.saturating_sub(left);
        // What is left is reckoned by what the runs so far took, once there are some.
        let pace = if done.is_zero() {
            1.0
        } else {
            began.elapsed().as_secs_f64() / done.as_secs_f64()
        };
        self.within.prefix(format!(
            "run {} of {of}, {}, {} left: ",
            planned.place + 1,
            self.words(planned),
            human_duration(left.mul_f64(pace))
        ));
    }

    fn ended(&mut self, planned: Planned, state: RunState) {
        for (own, known) in &mut self.runs {
            let same = own.place == planned.place;
            let dead = state == RunState::Died && own.restart == planned.restart;
            if same || (dead && known.is_open()) {
                *known = state;
            }
        }
    }

    fn words(&self, planned: Planned) -> String {
        self.request.experiment.run_label(planned)
    }
}

fn decided(stopping: &Stopping) -> String {
    let allowed = match stopping.asked_for > stopping.max_pairs {
        true => format!("; --max-pairs allows {}", stopping.max_pairs),
        false => String::new(),
    };
    format!(
        "{} pairs say that {} needs {} for ±{:.1} %{allowed}",
        stopping.first_stage,
        stopping.governed_by,
        stopping.asked_for,
        (stopping.wanted - 1.0) * 100.0
    )
}

/// A run's numbers in one line.
fn in_a_line(finished: &Finished) -> String {
    if finished.plan.search.is_some() {
        return search::report(std::slice::from_ref(finished), "", "").answer();
    }
    let mut text = String::new();
    for phase in &finished.result.phases {
        let slow = phase.total.times().next();
        let at = |us: Option<f64>| us.map_or("–".to_owned(), |us| format!("{:.2}", us / 1e3));
        let (p50, p99) = slow.map_or((None, None), |(_, d)| (d.p50_us, d.p99_us));
        let _infallible = write!(
            text,
            "{} {:.0}/s, p50 {} ms, p99 {} ms; ",
            phase.name,
            phase.achieved_per_s,
            at(p50),
            at(p99)
        );
    }
    text.push_str(match finished.result.verdict {
        Verdict::Valid => "valid",
        Verdict::Caution => "valid, with cautions",
        Verdict::Invalid => "invalid",
    });
    let named = finished.result.phases.iter().flat_map(|p| &p.doubts);
    let mut kinds: Vec<&str> = named.map(|d| d.text.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        let _infallible = write!(text, " ({})", kinds.join("; "));
    }
    text
}
