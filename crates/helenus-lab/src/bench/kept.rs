//! What a run leaves as it goes: its lines in the history, and how far its phase is.
//! Refuses to end a run whose history fails: that is reported in the end.

use helenus_model::run_plan::RunPlan;
use helenus_model::sample::{Interval, SampleLine, Stretch};
use helenus_model::telemetry::Reading;
use helenus_record::{History, HistoryError, RunId};

/// Each interval in a transaction of its own: what a killed run has measured stays.
pub(super) fn store(
    history: &mut Result<(History, Option<RunId>), HistoryError>,
    line: &SampleLine,
) {
    let Ok((database, Some(run))) = history else {
        return;
    };
    let stored = match line {
        SampleLine::Header(header) => database.set_header(*run, header),
        SampleLine::Interval(interval) => {
            database.add_intervals(*run, std::slice::from_ref(interval))
        }
        SampleLine::Mark(_)
        | SampleLine::PhaseEnd(_)
        | SampleLine::Footer(_)
        | SampleLine::Failure(_) => Ok(()),
    };
    if let Err(error) = stored {
        *history = Err(error);
    }
}

/// The last phase of a plan, which was found on the way.
pub(super) fn store_phase(
    history: &mut Result<(History, Option<RunId>), HistoryError>,
    plan: &RunPlan,
) {
    if let Ok((database, Some(run))) = history
        && let Err(error) = database.add_phase(*run, plan)
    {
        *history = Err(error);
    }
}

/// What was seen beside the run, as it comes.
pub(super) fn store_readings(
    history: &mut Result<(History, Option<RunId>), HistoryError>,
    readings: &[Reading],
) {
    if let Ok((database, Some(run))) = history
        && !readings.is_empty()
        && let Err(error) = database.add_readings(*run, readings)
    {
        *history = Err(error);
    }
}

/// Operations that ended in the measurement window of the phase that runs.
#[derive(Debug, Default)]
pub(super) struct Counted {
    phase: usize,
    ended: u64,
}

impl Counted {
    pub(super) fn add(&mut self, interval: &Interval) -> u64 {
        if self.phase != interval.phase {
            *self = Self {
                phase: interval.phase,
                ended: 0,
            };
        }
        if interval.stretch == Stretch::Measured {
            let ended = interval.operations.values();
            self.ended += ended.map(|o| o.completed + o.failures()).sum::<u64>();
        }
        self.ended
    }
}
