//! Work at both ends of a run's measurement windows, in a thread beside the run.
//! Refuses to work in a warm-up.

use helenus_cluster::error::{ClusterError, with_causes};
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::run_plan::{Extent, RunPlan};
use helenus_model::sample::SampleLine;
use helenus_model::telemetry::Reading;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the thread is asked for.
#[derive(Debug)]
enum Wish {
    /// Work from this moment on the monotonic clock, in nanoseconds, to that one; without an end until the phase's.
    Window(u64, Option<u64>),
    /// The phase is over.
    PhaseEnd,
}

/// A measurement window: its start on the monotonic clock in nanoseconds and, where it is known, its end.
#[derive(Debug)]
pub(crate) struct Ends<'a> {
    from_ns: u64,
    to_ns: Option<u64>,
    wished: &'a Receiver<Wish>,
}

/// What is done with a window, from its start to its end.
pub(crate) type Work = Box<dyn FnMut(&Ends<'_>) -> Result<Vec<Reading>, ClusterError> + Send>;

/// Measurement windows of a run under way.
#[derive(Debug)]
pub(crate) struct Windows {
    /// What a window without a result lacks.
    lack: &'static str,
    /// None once no more are to come.
    wishes: Option<Sender<Wish>>,
    seen: Receiver<Result<Vec<Reading>, ClusterError>>,
    thread: Option<JoinHandle<()>>,
    /// Warm-up and length of each phase, in nanoseconds; without a length it ends by count.
    windows: Vec<(u64, Option<u64>)>,
    /// A phase with a shorter warm-up, in nanoseconds, measures before its first line is there.
    first_line_ns: u64,
    /// The phase whose window is known to the thread.
    known: Option<usize>,
    /// Why a window has no result.
    failed: Option<String>,
}

impl Windows {
    /// Follows a plan's measurement windows; `lack` is what is said of one whose work failed.
    ///
    /// # Errors
    /// No thread can be had.
    pub(crate) fn begin(
        lack: &'static str,
        plan: &RunPlan,
        mut work: Work,
    ) -> Result<Self, ClusterError> {
        let windows = plan.phases.iter().map(|phase| {
            let length = match phase.extent {
                Extent::DurationMs(ms) => Some(ms * 1_000_000),
                Extent::Count(_) | Extent::Until(_) => None,
            };
            (phase.warmup_ms * 1_000_000, length)
        });
        let windows = windows.collect();
        let (wishes, wished) = channel();
        let (say, seen) = channel();
        let follow = move || {
            while let Some(ends) = next(&wished) {
                if say.send(work(&ends)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("windows".into())
            .spawn(follow)
            .map_err(ClusterError::io("a thread for the measurement windows"))?;
        Ok(Self {
            lack,
            wishes: Some(wishes),
            seen,
            thread: Some(thread),
            windows,
            first_line_ns: plan.sampling_interval_ms * 1_000_000,
            known: None,
            failed: None,
        })
    }

    /// Takes the generator's next line: from it the windows are known. A phase with a short warm-up, or none, starts with
    /// the line before.
    pub(crate) fn see(&mut self, line: &SampleLine) {
        match line {
            SampleLine::Header(header) => self.soon(0, header.monotonic_ns),
            SampleLine::Interval(interval) => self.window(interval.phase, interval.start_ns),
            SampleLine::PhaseEnd(end) => {
                self.wish(Wish::PhaseEnd);
                self.soon(end.phase + 1, monotonic_ns());
            }
            SampleLine::Mark(_) | SampleLine::Footer(_) | SampleLine::Failure(_) => {}
        }
    }

    fn soon(&mut self, phase: usize, began_ns: u64) {
        let short = |window: &(u64, _)| window.0 <= self.first_line_ns;
        if self.windows.get(phase).is_some_and(short) {
            self.window(phase, began_ns);
        }
    }

    fn window(&mut self, phase: usize, began_ns: u64) {
        if self.known == Some(phase) {
            return;
        }
        let Some((warmup, length)) = self.windows.get(phase).copied() else {
            return;
        };
        self.known = Some(phase);
        let from = began_ns + warmup;
        self.wish(Wish::Window(from, length.map(|length| from + length)));
    }

    fn wish(&self, wish: Wish) {
        if let Some(wishes) = &self.wishes {
            let _thread_is_gone = wishes.send(wish);
        }
    }

    /// What was read since this was last asked.
    pub(crate) fn take(&mut self) -> Vec<Reading> {
        let seen: Vec<_> = self.seen.try_iter().collect();
        self.kept(seen)
    }

    /// Ends the work that is under way; gives what was not taken, and why a window lacks a result.
    pub(crate) fn end(mut self) -> (Vec<Reading>, Option<String>) {
        self.wish(Wish::PhaseEnd);
        self.wishes = None;
        let seen: Vec<_> = self.seen.iter().collect();
        let kept = self.kept(seen);
        (kept, self.failed.take())
    }

    fn kept(&mut self, seen: Vec<Result<Vec<Reading>, ClusterError>>) -> Vec<Reading> {
        let mut kept = Vec::new();
        for one in seen {
            match one {
                Ok(readings) => kept.extend(readings),
                Err(error) => {
                    let lack = self.lack;
                    self.failed.get_or_insert_with(|| {
                        format!("a measurement window {lack}: {}", with_causes(&error))
                    });
                }
            }
        }
        kept
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        self.wishes = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The next window; none when no more are to come.
fn next(wished: &Receiver<Wish>) -> Option<Ends<'_>> {
    loop {
        match wished.recv().ok()? {
            Wish::Window(from_ns, to_ns) => {
                return Some(Ends {
                    from_ns,
                    to_ns,
                    wished,
                });
            }
            Wish::PhaseEnd => {}
        }
    }
}

impl Ends<'_> {
    /// Waits for the start.
    ///
    /// # Errors
    /// The phase ended before.
    pub(crate) fn wait_for_start(&self) -> Result<(), ClusterError> {
        let none = || io::Error::other("the phase ended before its measurement window");
        match self.phase_ends_before(Some(self.from_ns)) {
            true => Err(ClusterError::io("the measurement window")(none())),
            false => Ok(()),
        }
    }

    /// Waits for the end, or for that of the phase.
    pub(crate) fn wait_for_end(&self) {
        self.phase_ends_before(self.to_ns);
    }

    /// Its length, where that is known.
    pub(crate) fn length(&self) -> Option<Duration> {
        let ns = self.to_ns.map(|to| to.saturating_sub(self.from_ns));
        ns.map(Duration::from_nanos)
    }

    /// Waits until a moment, or for the end of the phase where there is none; whether the phase ended before.
    fn phase_ends_before(&self, at_ns: Option<u64>) -> bool {
        loop {
            let left = at_ns.map(|at| Duration::from_nanos(at.saturating_sub(monotonic_ns())));
            let wish = match left {
                Some(left) => self.wished.recv_timeout(left),
                None => self
                    .wished
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
            };
            match wish {
                Ok(Wish::PhaseEnd) | Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
                // A phase that begins has ended the one before.
                Ok(Wish::Window(..)) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::run_plan::Phase;
    use helenus_model::sample::PhaseEnd;
    use helenus_model::seed::Seed;
    use helenus_model::telemetry::{HOST, HostSample, Seen};
    use helenus_model::workload::Workload;

    const MS: u64 = 1_000_000;

    fn begin(phases: Vec<Phase>) -> Windows {
        let plan = RunPlan::new(vec![], Workload::Standard1, phases, Seed(1));
        // A reading at each end.
        let work = |ends: &Ends<'_>| -> Result<Vec<Reading>, ClusterError> {
            let look = || Reading {
                source: HOST.to_owned(),
                at_ns: monotonic_ns(),
                seen: Seen::Host(HostSample::default()),
            };
            ends.wait_for_start()?;
            let first = look();
            ends.wait_for_end();
            Ok(vec![first, look()])
        };
        Windows::begin("is missing", &plan, Box::new(work)).expect("a thread")
    }

    fn end(phase: usize) -> SampleLine {
        SampleLine::PhaseEnd(PhaseEnd {
            phase,
            ..PhaseEnd::default()
        })
    }

    #[test]
    fn a_short_warm_up_is_waited_for_and_a_count_ends_with_its_phase() {
        let timed = Phase {
            warmup_ms: 30,
            ..Phase::steady("write", 100.0, 8, 40)
        };
        let counted = Phase {
            warmup_ms: 0,
            extent: Extent::Count(10),
            ..timed.clone()
        };
        let mut windows = begin(vec![timed, counted]);
        let began_ns = monotonic_ns();
        windows.soon(0, began_ns);
        std::thread::sleep(Duration::from_millis(90));
        let counted_ns = monotonic_ns();
        windows.see(&end(0));
        std::thread::sleep(Duration::from_millis(20));
        let over_ns = monotonic_ns();
        windows.see(&end(1));
        let (seen, failed) = windows.end();
        assert_eq!(failed, None);
        let at: Vec<u64> = seen.iter().map(|reading| reading.at_ns).collect();
        assert_eq!(at.len(), 4);
        assert!(at[0] >= began_ns + 30 * MS && at[1] >= began_ns + 70 * MS);
        assert!(at[2] >= counted_ns && at[3] >= over_ns, "{at:?}");
    }

    #[test]
    fn a_phase_that_ends_in_its_warm_up_has_no_window() {
        let mut windows = begin(vec![Phase {
            warmup_ms: 900,
            ..Phase::steady("write", 100.0, 8, 100)
        }]);
        windows.soon(0, monotonic_ns());
        windows.see(&end(0));
        let (seen, failed) = windows.end();
        assert!(seen.is_empty());
        let failed = failed.expect("why");
        assert!(
            failed.starts_with("a measurement window is missing: "),
            "{failed}"
        );
    }
}
