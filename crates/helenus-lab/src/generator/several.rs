//! Several generator processes as one: all begin a phase at one moment, their lines come as one stream.
//! Refuses to go on without one of them.

use super::{GeneratorError, start};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::run_plan::RunPlan;
use helenus_model::sample::SampleLine;
use helenus_model::samples::{Merger, ReadError, SampleReader};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// From the moment that is said to the moment that is meant: long enough to be read by all.
const AHEAD_NS: u64 = 50_000_000;

/// How often the person's wish to stop is looked at while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// A line of the process at a place, or its end.
type Said = (usize, Option<Result<SampleLine, ReadError>>);

/// Processes under way; those that are left are ended with it.
struct Several {
    children: Vec<Child>,
    /// Where moments are said; empty once no phase shall start any more.
    inputs: Vec<ChildStdin>,
}

impl Drop for Several {
    fn drop(&mut self) {
        self.inputs.clear();
        for child in &mut self.children {
            let _already_gone = child.kill();
            let _status = child.wait();
        }
    }
}

/// As [`super::run`], for a plan of several processes.
pub(super) fn run(
    helenus: &Path,
    cluster: Option<&ClusterState>,
    plan: &RunPlan,
    cancel: &Cancel,
    take: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
) -> Result<(), GeneratorError> {
    let mut several = Several {
        children: Vec::new(),
        inputs: Vec::new(),
    };
    let (say, heard) = channel();
    for (place, own) in plan.of_processes().iter().enumerate() {
        let (mut child, input) = start(helenus, cluster, own)?;
        several.inputs.extend(input);
        if let Some(output) = child.stdout.take() {
            let say = say.clone();
            std::thread::spawn(move || {
                tell(place, SampleReader::new(BufReader::new(output)), &say)
            });
        }
        several.children.push(child);
    }
    drop(say);
    several.hear(&heard, plan, cancel, take)?;
    // What has said its last line ends by itself.
    several.inputs.clear();
    for child in &mut several.children {
        let _status = child.wait();
    }
    Ok(())
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
                Ok((place, Some(line))) => merger.take(place, line?),
                // A person's stop ends them wherever they are.
                Ok((_, None)) if told => Vec::new(),
                Ok((place, None)) => merger.ended(place),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
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

    /// Tells all of them the moment at which the next phase starts.
    fn begin(&mut self) {
        let moment = monotonic_ns() + AHEAD_NS;
        for input in &mut self.inputs {
            // One that is gone says so on its output.
            let _gone = writeln!(input, "{moment}");
        }
    }

    /// Tells all of them to stop; their last lines still come.
    fn stop(&mut self) {
        self.inputs.clear();
        for child in &self.children {
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let _already_gone = pid.map(|pid| kill_process(pid, Signal::INT));
        }
    }
}
