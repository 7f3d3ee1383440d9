//! The parent's side: sample lines back into values, and intervals into a result.
//! Refuses to start or stop processes, and to average percentiles.

use super::gather::{Block, Gathered};
use crate::format::FormatError;
use crate::probe::Probe;
use crate::result::{Beside, CoordinatorResult, Measured, PhaseResult, RunResult};
use crate::run_plan::{Phase, RunPlan};
use crate::sample::{self, CoordinatorInterval, Failure, Footer, Header, SampleLine};
use crate::seed::Seed;
use std::collections::BTreeMap;
use std::io::BufRead;

/// Why sample lines could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream broke.
    #[error("cannot read the generator's samples")]
    Io(#[from] std::io::Error),
    /// A line is none of ours.
    #[error("line {number} of the generator's samples is not a sample line")]
    Line {
        /// Its number, from 1.
        number: u64,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Another format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The samples belong to another plan.
    #[error("the samples belong to plan {found}, not to {expected}")]
    OtherPlan {
        /// The plan's hash.
        expected: String,
        /// The header's.
        found: String,
    },
    /// The generator said why it could not continue.
    #[error("the generator failed: {}", .0.message)]
    Failed(Failure),
    /// It ended without a word.
    #[error("the generator ended before its first line")]
    NoHeader,
}

/// Reads sample lines: an iterator over typed events.
#[derive(Debug)]
pub struct SampleReader<R> {
    from: R,
    line: String,
    number: u64,
}

impl<R: BufRead> SampleReader<R> {
    /// A reader of the generator's standard output.
    pub fn new(from: R) -> Self {
        Self {
            from,
            line: String::new(),
            number: 0,
        }
    }
}

impl<R: BufRead> Iterator for SampleReader<R> {
    type Item = Result<SampleLine, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line.clear();
        match self.from.read_line(&mut self.line) {
            Ok(0) => None,
            Err(e) => Some(Err(e.into())),
            Ok(_) => {
                self.number += 1;
                let number = self.number;
                let read = serde_json::from_str(&self.line);
                Some(read.map_err(|source| ReadError::Line { number, source }))
            }
        }
    }
}

/// Gathers sample lines into a result.
#[derive(Debug)]
pub struct Accumulator {
    plan: RunPlan,
    header: Option<Header>,
    phases: Vec<Gathered>,
    footer: Option<Footer>,
    failure: Option<Failure>,
    ended: u64,
}

impl Accumulator {
    /// For the samples of this plan.
    pub fn new(plan: RunPlan) -> Self {
        let gathered = || Gathered::of_intervals(plan.sampling_interval_ms);
        let phases = plan.phases.iter().map(|_| gathered()).collect();
        Self {
            plan,
            header: None,
            phases,
            footer: None,
            failure: None,
            ended: 0,
        }
    }

    /// Takes the next line.
    ///
    /// # Errors
    /// A header of another format or plan.
    pub fn take(&mut self, line: &SampleLine) -> Result<(), ReadError> {
        match line {
            SampleLine::Header(header) => {
                header.format.check("sample", sample::VERSION)?;
                let expected = self.plan.hash();
                if header.plan_hash != expected {
                    return Err(ReadError::OtherPlan {
                        expected,
                        found: header.plan_hash.clone(),
                    });
                }
                self.header = Some(header.clone());
            }
            SampleLine::Interval(interval) => {
                let all = interval.operations.values();
                self.ended += all.map(|o| o.completed + o.failures()).sum::<u64>();
                if let Some(phase) = self.phases.get_mut(interval.phase) {
                    phase.take(interval);
                }
            }
            SampleLine::Mark(_) => {}
            SampleLine::PhaseEnd(end) => {
                if let Some(phase) = self.phases.get_mut(end.phase) {
                    phase.take_end(end.clone());
                }
            }
            SampleLine::Footer(footer) => self.footer = Some(footer.clone()),
            SampleLine::Failure(failure) => self.failure = Some(failure.clone()),
        }
        Ok(())
    }

    /// Adds a phase that comes after those that are there.
    pub fn add_phase(&mut self, phase: Phase) {
        self.plan.phases.push(phase);
        let gathered = Gathered::of_intervals(self.plan.sampling_interval_ms);
        self.phases.push(gathered);
    }

    /// The result of a phase that has ended, without what was seen beside it; none where it never started.
    pub fn phase(&self, at: usize) -> Option<PhaseResult> {
        let (gathered, phase) = (self.phases.get(at)?, self.plan.phases.get(at)?);
        let reads = self.plan.workload.reads();
        let seed = self.plan.seed;
        phase_result(gathered, phase, &reads, (at, seed), &|_, _| {
            Beside::default()
        })
    }

    /// The header, once it has come: it is connected and the first phase runs.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// What a phase shows to whoever chooses a rate from it.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
    pub fn probe(&self, phase: usize) -> Option<Probe> {
        let gathered = self.phases.get(phase)?;
        let (from, to) = gathered.span()?;
        Some(Probe {
            completed_per_s: gathered.completed_per_s.clone(),
            thread_busy: gathered.thread_cpu_ns() as f64 / (to - from).max(1) as f64,
        })
    }

    /// The result; `beside` gives what was seen beside a measurement window (from and to on the monotonic clock, in
    /// nanoseconds) in which so many operations ended. Phases that never started are left out; one that did not end
    /// is there, stopped early.
    ///
    /// # Errors
    /// The generator failed, or ended before its header.
    pub fn finish(
        self,
        beside: &dyn Fn((u64, u64), u64) -> Beside,
    ) -> Result<RunResult, ReadError> {
        if let Some(failure) = self.failure {
            return Err(ReadError::Failed(failure));
        }
        let header = self.header.ok_or(ReadError::NoHeader)?;
        let reads = self.plan.workload.reads();
        let phases: Vec<PhaseResult> = self
            .phases
            .iter()
            .zip(&self.plan.phases)
            .enumerate()
            .filter_map(|(at, (gathered, phase))| {
                phase_result(gathered, phase, &reads, (at, self.plan.seed), beside)
            })
            .collect();
        let footer = self.footer.as_ref();
        Ok(RunResult::new(
            &self.plan, &header, phases, footer, self.ended,
        ))
    }
}

/// The result of a phase that is `at` this place of its plan, whose root seed is `seed`; none where it never started.
/// `beside` is as in [`Accumulator::finish`].
pub fn phase_result(
    gathered: &Gathered,
    phase: &Phase,
    reads: &[String],
    (at, seed): (usize, Seed),
    beside: &dyn Fn((u64, u64), u64) -> Beside,
) -> Option<PhaseResult> {
    let mut end = gathered.end(at)?;
    // A ramp is not meant to be steady.
    let mut steadiness = phase.ramp.is_none().then(|| gathered.steadiness(phase));
    let cut_s = steadiness.as_ref().map_or(0.0, |found| found.cut_s);
    let kept = gathered.after(cut_s);
    if cut_s > 0.0
        && let Some(first) = kept.first()
    {
        end.measured_from_ns = first.from_ns;
        let applied_s = gathered.before_s(first);
        // Of a long phase several seconds are one block, which is cut as a whole.
        if let Some(found) = steadiness.as_mut().filter(|_| applied_s > cut_s + 0.5) {
            found.cut_s = applied_s;
        }
        let kept_ns = kept.iter().map(|b| b.thread_cpu_ns).sum();
        // Of the others only the whole is known: they are taken to have worked when the busiest one did.
        let all_ns = u128::from(end.threads_cpu_ns) * u128::from(kept_ns);
        let all_ns = all_ns / u128::from(end.thread_cpu_ns.max(1));
        end.threads_cpu_ns = u64::try_from(all_ns).unwrap_or(u64::MAX);
        end.thread_cpu_ns = kept_ns;
    }
    let blocks: Vec<_> = kept.iter().map(|b| &b.operations).collect();
    let ended = blocks
        .iter()
        .flat_map(|operations| operations.values())
        .map(|one| one.completed + one.failures())
        .sum();
    let (from_ns, to_ns) = (end.measured_from_ns, end.measured_to_ns);
    let measured = Measured {
        phase,
        blocks: &blocks,
        end: &end,
        completed_within: gathered.completed_within(from_ns, to_ns),
        growth_s: gathered.growth_s(from_ns, to_ns),
        steadiness: steadiness.as_ref(),
        reads,
        seed: seed.derive(&format!("blocks/{}", phase.name)),
    };
    let mut beside = beside((from_ns, to_ns), ended);
    beside.around.coordinators = coordinators(kept);
    Some(PhaseResult::new(&measured, &beside))
}

/// What each coordinator answered; nothing where there was one alone.
fn coordinators(blocks: &[Block]) -> BTreeMap<String, CoordinatorResult> {
    let mut merged: BTreeMap<&str, CoordinatorInterval> = BTreeMap::new();
    for (at, one) in blocks.iter().flat_map(|block| &block.coordinators) {
        merged.entry(at).or_default().merge(one);
    }
    let several = merged.len() > 1;
    let each = merged.iter().filter(|_| several);
    each.map(|(at, one)| ((*at).to_owned(), CoordinatorResult::of(one)))
        .collect()
}
