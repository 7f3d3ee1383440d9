//! Several generator processes as one: all begin a phase at one moment, their lines come as one stream.
//! Refuses to go on without one of them on this machine; of those in pods the others go on.

use super::{GeneratorError, LostGenerator, Stand, start, start_in_pod};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::run_plan::{RunPlan, STOP_WORD};
use helenus_model::sample::{SampleLine, clock_shift_ns};
use helenus_model::samples::{Lost, Merger, ReadError, SampleReader};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// From the moment that is said to the moment that is meant: long enough to be read by all.
const AHEAD_NS: u64 = 50_000_000;

/// The same where it goes through an API server and a kubelet.
const AHEAD_IN_PODS_NS: u64 = 500_000_000;

/// How often the person's wish to stop is looked at while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// Beside what an interval and the last answers may take, silence of a generator in a pod that means that it is lost: its
/// worker may be gone, and nobody says so.
const SILENT: Duration = Duration::from_secs(20);

/// Longest part of what kubectl complains about that is kept, in bytes.
const COMPLAINT_MOST: u64 = 4096;

/// A line of the process at a place, or its end.
type Said = (usize, Option<Result<SampleLine, ReadError>>);

/// A process under way.
struct One {
    child: Child,
    /// Where moments are said; none once it is to be told nothing more.
    input: Option<ChildStdin>,
    /// By how much our monotonic clock is ahead of its own, in nanoseconds.
    shift_ns: i64,
    heard: Instant,
    complaint: Option<JoinHandle<String>>,
}

/// Processes under way; those that are left are ended with it.
struct Several {
    all: Vec<One>,
    in_pods: bool,
    lost: Vec<Lost>,
}

impl Drop for Several {
    fn drop(&mut self) {
        for one in &mut self.all {
            one.input = None;
            let _already_gone = one.child.kill();
            let _status = one.child.wait();
        }
    }
}

/// As [`super::run`], for a plan of several processes, and for generators in pods.
pub(super) fn run(
    stand: Stand<'_>,
    plan: &RunPlan,
    cancel: &Cancel,
    take: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
) -> Result<Vec<LostGenerator>, GeneratorError> {
    let mut several = Several {
        all: Vec::new(),
        in_pods: matches!(stand, Stand::Pods(_)),
        lost: Vec::new(),
    };
    let (say, heard) = channel();
    for (place, own) in plan.of_processes().iter().enumerate() {
        let (mut child, input) = match stand {
            Stand::Here { helenus, cluster } => start(helenus, cluster, own)?,
            Stand::Pods(job) => start_in_pod(job, place, own)?,
        };
        if let Some(output) = child.stdout.take() {
            let say = say.clone();
            std::thread::spawn(move || {
                tell(place, SampleReader::new(BufReader::new(output)), &say)
            });
        }
        let complaint = child.stderr.take().map(|output| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _as_far_as_it_came = output.take(COMPLAINT_MOST).read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).trim().to_owned()
            })
        });
        several.all.push(One {
            child,
            input,
            shift_ns: 0,
            heard: Instant::now(),
            complaint,
        });
    }
    drop(say);
    several.hear(&heard, plan, cancel, take)?;
    // What has said its last line ends by itself.
    for one in &mut several.all {
        one.input = None;
        let _status = one.child.wait();
    }
    Ok(several.why(stand))
}

fn tell(
    place: usize,
    lines: impl Iterator<Item = Result<SampleLine, ReadError>>,
    say: &Sender<Said>,
) {
    for line in lines {
        let last = line.is_err();
        if say.send((place, Some(line))).is_err() || last {
            return;
        }
    }
    let _nobody_listens = say.send((place, None));
}

impl Several {
    fn hear(
        &mut self,
        heard: &Receiver<Said>,
        plan: &RunPlan,
        cancel: &Cancel,
        take: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
    ) -> Result<(), GeneratorError> {
        let mut merger = Merger::new(plan);
        let mut told = false;
        loop {
            let lines = match heard.recv_timeout(LOOK) {
                Ok((place, Some(Ok(line)))) => {
                    let line = self.own(place, line);
                    merger.take(place, line)
                }
                // A person's stop ends them wherever they are.
                Ok((_, None)) if told => Vec::new(),
                // A pod that is killed ends its stream within a line.
                Ok((place, Some(Err(ReadError::Line { .. } | ReadError::Io(_))) | None))
                    if self.in_pods =>
                {
                    self.lose(place, &mut merger)
                }
                Ok((_, Some(Err(error)))) => return Err(error.into()),
                Ok((place, None)) => merger.ended(place),
                Err(RecvTimeoutError::Timeout) => match self.silent(plan, &merger) {
                    Some(place) if !told => self.lose(place, &mut merger),
                    _ => Vec::new(),
                },
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            for line in &lines {
                take(line)?;
            }
            let failed = lines.iter().any(|l| matches!(l, SampleLine::Failure(_)));
            if (cancel.is_set() || failed) && !told {
                told = true;
                self.stop();
            }
            if merger.all_wait() {
                self.begin();
            }
        }
    }

    /// A line on our clock. Who has said its last one is told nothing more, and ends.
    fn own(&mut self, place: usize, line: SampleLine) -> SampleLine {
        let one = &mut self.all[place];
        one.heard = Instant::now();
        if !self.in_pods {
            return line;
        }
        match &line {
            SampleLine::Header(header) => {
                let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let wall_ns = wall.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
                one.shift_ns = clock_shift_ns((monotonic_ns(), wall_ns), header);
                tracing::debug!(place, shift_ns = one.shift_ns, "a generator's clock");
            }
            SampleLine::Footer(_) | SampleLine::Failure(_) => one.input = None,
            _ => {}
        }
        line.shifted(one.shift_ns)
    }

    /// Goes on without one.
    fn lose(&mut self, place: usize, merger: &mut Merger) -> Vec<SampleLine> {
        let one = &mut self.all[place];
        one.input = None;
        let (lost, mut lines) = merger.lost(place);
        if let Some(lost) = lost {
            tracing::warn!(?lost, "a generator is lost");
            let _already_gone = one.child.kill();
            self.lost.push(lost);
        }
        for line in &mut lines {
            if let SampleLine::Failure(failure) = line {
                let _already_gone = one.child.kill();
                failure.causes.extend(one.complaint());
            }
        }
        lines
    }

    /// One that should say something, and has not for too long.
    fn silent(&self, plan: &RunPlan, merger: &Merger) -> Option<usize> {
        let most = SILENT
            + Duration::from_millis(plan.sampling_interval_ms)
            + Duration::from_millis(plan.operation_timeout_ms);
        let mut all = self.all.iter().enumerate().filter(|_| self.in_pods);
        let found =
            all.find(|(place, one)| merger.is_at_work(*place) && one.heard.elapsed() > most);
        found.map(|(place, _)| place)
    }

    /// Tells all of them the moment at which the next phase starts, each on its own clock.
    fn begin(&mut self) {
        let ahead_ns = match self.in_pods {
            true => AHEAD_IN_PODS_NS,
            false => AHEAD_NS,
        };
        let moment = monotonic_ns() + ahead_ns;
        for one in &mut self.all {
            one.heard = Instant::now();
            let own = moment.saturating_add_signed(-one.shift_ns);
            if let Some(input) = &mut one.input {
                // One that is gone says so on its output.
                let _gone = writeln!(input, "{own}");
            }
        }
    }

    /// Tells all of them to stop; their last lines still come.
    fn stop(&mut self) {
        for one in &mut self.all {
            let input = one.input.take();
            match input {
                // No signal reaches a pod.
                Some(mut input) if self.in_pods => {
                    let _gone = writeln!(input, "{STOP_WORD}");
                }
                _ if self.in_pods => {}
                _ => {
                    let pid = i32::try_from(one.child.id()).ok().and_then(Pid::from_raw);
                    let _already_gone = pid.map(|pid| kill_process(pid, Signal::INT));
                }
            }
        }
    }

    /// Those that were lost, each with what is known of its end.
    fn why(&mut self, stand: Stand<'_>) -> Vec<LostGenerator> {
        let lost = std::mem::take(&mut self.lost).into_iter();
        lost.map(|lost| LostGenerator {
            why: match stand {
                Stand::Pods(job) => job.why(lost.place),
                Stand::Here { .. } => String::new(),
            },
            lost,
        })
        .collect()
    }
}

impl One {
    /// What its kubectl said last, once it has ended.
    fn complaint(&mut self) -> Option<String> {
        let said = self.complaint.take()?.join().ok()?;
        let last = said.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(last.trim().to_owned())
    }
}
