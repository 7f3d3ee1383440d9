//! Several generators as one, here or at the other ends of channels: all begin a phase at one moment, their lines come as
//! one stream. Refuses to go on without one of them on this machine; of those elsewhere the others go on.

use super::{Ended, GeneratorError, LostGenerator, Stand, start, values};
use helenus_cluster::agent::{AgentError, Channel, Lines};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::error::ClusterError;
use helenus_cluster::parallel;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::agent::{ClockOffset, GeneratorSeen};
use helenus_model::run_plan::{RunPlan, STOP_WORD};
use helenus_model::sample::SampleLine;
use helenus_model::samples::{Lost, Merger, ReadError, SampleReader};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufReader, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// From the moment that is said to the moment that is meant: long enough to be read by all.
const AHEAD_NS: u64 = 50_000_000;

/// The same where it goes through networks, an API server and a kubelet; with what a clock may be wrong by, several times.
const AHEAD_ELSEWHERE_NS: u64 = 500_000_000;

/// How often the error of a clock is added to that.
const ERRORS_AHEAD: u64 = 4;

/// How often the person's wish to stop is looked at while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// Beside what an interval and the last answers may take, silence of a generator elsewhere that means that it is lost: its
/// machine may be gone, and nobody says so.
const SILENT: Duration = Duration::from_secs(20);

/// A line of the generator at a place, or its end.
type Said = (usize, Option<Result<SampleLine, ReadError>>);

/// A generator under way.
struct One {
    held: Held,
    heard: Instant,
    /// Its thread, which gives back what is left of a channel.
    reads: Option<JoinHandle<Option<Lines>>>,
}

/// What a generator is held by.
enum Held {
    /// A process here, with the stream that carries its moments; none once that is closed.
    Child(Child, Option<ChildStdin>),
    /// A channel, with the clock at its other end.
    Channel(Channel, ClockOffset),
    /// It was lost, and this became of it.
    Lost(String, ClockOffset),
}

/// Generators under way; those that are left are ended with it.
struct Several {
    all: Vec<One>,
    elsewhere: bool,
    lost: Vec<Lost>,
}

impl Drop for Several {
    fn drop(&mut self) {
        for one in &mut self.all {
            if let Held::Child(child, input) = &mut one.held {
                *input = None;
                let _already_gone = child.kill();
                let _status = child.wait();
            }
        }
    }
}

/// As [`super::run`], for a plan of several processes, and for generators elsewhere.
pub(super) fn run(
    stand: Stand<'_>,
    plan: &RunPlan,
    cancel: &Cancel,
    take: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
) -> Result<Ended, GeneratorError> {
    let (say, heard) = channel();
    let mut several = Several {
        all: Vec::new(),
        elsewhere: !matches!(stand, Stand::Here { .. }),
        lost: Vec::new(),
    };
    let plans = plan.of_processes();
    if let Stand::Here { helenus, cluster } = stand {
        for own in &plans {
            let (child, input) = start(helenus, cluster, own)?;
            several.hold_child(child, input, &say);
        }
    } else {
        for (channel, own) in channels(stand, plans.len(), cancel)?
            .into_iter()
            .zip(&plans)
        {
            several.hold_channel(channel, own, &say)?;
        }
    }
    drop(say);
    let mut merger = Merger::new(plan);
    several.hear(&heard, (plan, &mut merger), cancel, take)?;
    Ok(several.end(stand, &merger))
}

/// Channels to so many generators elsewhere, each with its clock.
fn channels(
    stand: Stand<'_>,
    count: usize,
    cancel: &Cancel,
) -> Result<Vec<(Channel, ClockOffset)>, ClusterError> {
    let mut all = match stand {
        Stand::Here { .. } => Vec::new(),
        Stand::Agents(agents) => agents.lend(count),
        Stand::Pods(job) => parallel::map(0..count, |place| job.channel(place, cancel))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?,
    };
    if all.len() < count {
        return Err(AgentError::Unreachable {
            agent: stand.name(all.len()),
            source: std::io::ErrorKind::NotConnected.into(),
        }
        .into());
    }
    let mut with_clocks = Vec::new();
    for mut channel in all.drain(..) {
        let clock = channel.clock()?;
        tracing::info!(name = channel.name(), ?clock, "a generator's clock");
        with_clocks.push((channel, clock));
    }
    Ok(with_clocks)
}

fn forward(
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
    fn hold_child(&mut self, mut child: Child, input: Option<ChildStdin>, say: &Sender<Said>) {
        let (place, say) = (self.all.len(), say.clone());
        let reads = child.stdout.take().map(|output| {
            std::thread::spawn(move || {
                forward(place, SampleReader::new(BufReader::new(output)), &say);
                None
            })
        });
        self.all.push(One {
            held: Held::Child(child, input),
            heard: Instant::now(),
            reads,
        });
    }

    /// Secrets and plan go through the channel.
    fn hold_channel(
        &mut self,
        (mut channel, clock): (Channel, ClockOffset),
        plan: &RunPlan,
        say: &Sender<Said>,
    ) -> Result<(), GeneratorError> {
        let json = |e: serde_json::Error| GeneratorError::Start(e.into());
        let secrets = serde_json::to_string(&values(plan)?).map_err(json)?;
        let plan = serde_json::to_string(plan).map_err(json)?;
        let run = channel.run(&format!("{secrets}\n{plan}"));
        let mut lines = run.map_err(ClusterError::from)?;
        let (place, say) = (self.all.len(), say.clone());
        let reads = std::thread::spawn(move || {
            forward(place, SampleReader::new(&mut lines), &say);
            Some(lines)
        });
        self.all.push(One {
            held: Held::Channel(channel, clock),
            heard: Instant::now(),
            reads: Some(reads),
        });
        Ok(())
    }

    fn hear(
        &mut self,
        heard: &Receiver<Said>,
        (plan, merger): (&RunPlan, &mut Merger),
        cancel: &Cancel,
        take: &mut dyn FnMut(&SampleLine) -> Result<(), ReadError>,
    ) -> Result<(), GeneratorError> {
        let mut stopped = false;
        loop {
            let lines = match heard.recv_timeout(LOOK) {
                Ok((place, Some(Ok(line)))) => {
                    let line = self.own(place, line);
                    merger.take(place, line)
                }
                // A person's stop ends them wherever they are.
                Ok((_, None)) if stopped => Vec::new(),
                // One that is killed ends its stream within a line.
                Ok((place, Some(Err(ReadError::Line { .. } | ReadError::Io(_))) | None))
                    if self.elsewhere =>
                {
                    self.lose(place, merger)
                }
                Ok((_, Some(Err(error)))) => return Err(error.into()),
                Ok((place, None)) => merger.ended(place),
                Err(RecvTimeoutError::Timeout) => match self.silent(plan, merger) {
                    Some(place) if stopped => {
                        self.all[place].cut();
                        Vec::new()
                    }
                    Some(place) => self.lose(place, merger),
                    None => Vec::new(),
                },
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            for line in &lines {
                take(line)?;
            }
            let failed = lines.iter().any(|l| matches!(l, SampleLine::Failure(_)));
            if (cancel.is_set() || failed) && !stopped {
                stopped = true;
                self.stop();
            }
            if merger.all_wait() {
                self.begin();
            }
        }
    }

    /// A line on our clock. One that has said its last line is sent the word to stop, and ends.
    fn own(&mut self, place: usize, mut line: SampleLine) -> SampleLine {
        let one = &mut self.all[place];
        one.heard = Instant::now();
        if let Held::Channel(channel, clock) = &mut one.held {
            if matches!(line, SampleLine::Footer(_) | SampleLine::Failure(_)) {
                let _gone = channel.say(STOP_WORD);
            }
            if let SampleLine::Failure(failure) = &mut line {
                failure.message = format!("{}: {}", channel.name(), failure.message);
            }
            return line.shifted(clock.ahead_ns);
        }
        line
    }

    /// Goes on without one.
    fn lose(&mut self, place: usize, merger: &mut Merger) -> Vec<SampleLine> {
        let one = &mut self.all[place];
        let (lost, mut lines) = merger.lost(place);
        if lost.is_none() && lines.is_empty() {
            return lines;
        }
        let why = one.lose();
        if let Some(lost) = lost {
            tracing::warn!(?lost, why, "a generator is lost");
            self.lost.push(lost);
        }
        for line in &mut lines {
            if let SampleLine::Failure(failure) = line {
                failure.causes.push(why.clone());
            }
        }
        lines
    }

    /// One that should say something, and has not for too long.
    fn silent(&self, plan: &RunPlan, merger: &Merger) -> Option<usize> {
        let most = SILENT
            + Duration::from_millis(plan.sampling_interval_ms)
            + Duration::from_millis(plan.operation_timeout_ms);
        let mut all = self.all.iter().enumerate().filter(|_| self.elsewhere);
        let found =
            all.find(|(place, one)| merger.is_at_work(*place) && one.heard.elapsed() > most);
        found.map(|(place, _)| place)
    }

    /// Sends all of them the moment at which the next phase starts, each on its own clock.
    fn begin(&mut self) {
        let errors = self.all.iter().map(|one| match &one.held {
            Held::Channel(_, clock) => clock.error_ns,
            Held::Child(..) | Held::Lost(..) => 0,
        });
        let ahead_ns = match self.elsewhere {
            true => AHEAD_ELSEWHERE_NS + ERRORS_AHEAD * errors.max().unwrap_or_default(),
            false => AHEAD_NS,
        };
        let moment = monotonic_ns() + ahead_ns;
        for one in &mut self.all {
            one.heard = Instant::now();
            // One that is gone says so on its output.
            let _gone = match &mut one.held {
                Held::Child(_, Some(input)) => writeln!(input, "{moment}"),
                Held::Channel(channel, clock) => {
                    let own = moment.saturating_add_signed(-clock.ahead_ns);
                    channel.say(&own.to_string())
                }
                Held::Child(_, None) | Held::Lost(..) => Ok(()),
            };
        }
    }

    /// Asks all of them to stop; their last lines still come.
    fn stop(&mut self) {
        for one in &mut self.all {
            match &mut one.held {
                Held::Child(child, input) => {
                    *input = None;
                    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                    let _already_gone = pid.map(|pid| kill_process(pid, Signal::INT));
                }
                // No signal goes through a channel.
                Held::Channel(channel, _) => {
                    let _gone = channel.say(STOP_WORD);
                }
                Held::Lost(..) => {}
            }
        }
    }

    /// After the last line: what has said it ends by itself, and channels are given back with their clocks looked at again.
    fn end(&mut self, stand: Stand<'_>, merger: &Merger) -> Ended {
        let mut ended = Ended::default();
        for (place, mut one) in std::mem::take(&mut self.all).into_iter().enumerate() {
            let lines = one.joined();
            let (channel, clock) = match one.held {
                Held::Child(mut child, input) => {
                    drop(input);
                    let _status = child.wait();
                    continue;
                }
                Held::Lost(why, clock) => {
                    let name = stand.name(place);
                    ended
                        .seen
                        .push(seen(name, merger.offered(place), clock, None, Some(why)));
                    continue;
                }
                Held::Channel(mut channel, clock) => {
                    if let Some(lines) = lines {
                        channel.ran(lines);
                    }
                    (channel, clock)
                }
            };
            let mut channel = channel;
            let later = channel
                .clock()
                .inspect_err(|error| tracing::warn!(%error, "a clock is not known at the end"))
                .ok();
            let name = channel.name().to_owned();
            ended
                .seen
                .push(seen(name, merger.offered(place), clock, later, None));
            if let (Stand::Agents(agents), true) = (stand, later.is_some()) {
                agents.give_back(place, channel);
            }
        }
        for lost in std::mem::take(&mut self.lost) {
            let known = ended.seen.get(lost.place).and_then(|one| one.lost.clone());
            let why = match stand {
                Stand::Pods(job) => job.why(lost.place),
                _ => format!("{}: {}", stand.name(lost.place), known.unwrap_or_default()),
            };
            ended.lost.push(LostGenerator { lost, why });
        }
        ended
    }
}

/// A generator elsewhere as a result names it.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
fn seen(
    name: String,
    offered: u64,
    clock: ClockOffset,
    later: Option<ClockOffset>,
    lost: Option<String>,
) -> GeneratorSeen {
    GeneratorSeen {
        name,
        offered,
        clock_ahead_us: clock.ahead_ns as f64 / 1e3,
        clock_error_us: clock.error_ns as f64 / 1e3,
        clock_drift_us: later.map(|later| clock.drift_ns(later) as f64 / 1e3),
        lost,
    }
}

impl One {
    /// What its thread gives back, once it has ended.
    fn joined(&mut self) -> Option<Lines> {
        self.reads.take()?.join().ok()?
    }

    fn cut(&mut self) {
        match &mut self.held {
            Held::Channel(channel, _) => channel.cut(),
            Held::Child(child, _) => {
                let _already_gone = child.kill();
            }
            Held::Lost(..) => {}
        }
    }

    /// Lets it go; what became of it, as far as that can be seen.
    fn lose(&mut self) -> String {
        let silent = self.heard.elapsed() > SILENT;
        self.cut();
        let lines = self.joined();
        let (why, clock) = match &mut self.held {
            Held::Channel(channel, clock) => {
                let ended = lines.and_then(|lines| channel.ran(lines));
                let said = channel.complaint();
                let why = match ended {
                    Some(ended) => ended.to_string(),
                    None if silent => "it fell silent".to_owned(),
                    None if said.is_empty() => "its connection broke".to_owned(),
                    None => said,
                };
                (why, *clock)
            }
            Held::Child(..) | Held::Lost(..) => return String::new(),
        };
        self.held = Held::Lost(why.clone(), clock);
        why
    }
}
