//! An endpoint with exact delays in the cluster's place.
//! Refuses sockets.

use helenus_load::endpoint::{Call, Ended, Endpoint, EndpointError, Fault};
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io;
use std::time::Duration;

/// What becomes of an operation: partitions and rows that it touched, or how it failed; none is never answered.
pub(crate) type Answer = Option<Result<(u32, u32), Fault>>;

/// Answers after `delay` what `answer` says.
pub(crate) struct Fake<A> {
    pub(crate) delay: Duration,
    /// Positions of an operation, by its number; none is one, always.
    pub(crate) several: Option<fn(u64) -> u32>,
    pub(crate) answer: A,
    begun: Vec<(usize, Answer)>,
    running: BinaryHeap<Reverse<(u64, usize)>>,
    answers: Vec<Option<(u64, Answer)>>,
}

impl<A: FnMut(&Call<'_>) -> Answer> Fake<A> {
    pub(crate) fn new(answer: A) -> Self {
        Self {
            delay: Duration::ZERO,
            several: None,
            answer,
            begun: Vec::new(),
            running: BinaryHeap::new(),
            answers: Vec::new(),
        }
    }
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

impl<A: FnMut(&Call<'_>) -> Answer> Endpoint for Fake<A> {
    fn prepare(
        &mut self,
        _: &Workload,
        _: &BTreeSet<String>,
        _: Seed,
    ) -> Result<(), EndpointError> {
        Ok(())
    }

    fn takes_several(&self) -> bool {
        self.several.is_some()
    }

    fn partitions(&self, _: usize, number: u64) -> u32 {
        self.several.map_or(1, |several| several(number))
    }

    fn begin(&mut self, slot: usize, call: Call<'_>) {
        self.begun.push((slot, (self.answer)(&call)));
    }

    fn poll(&mut self, until_ns: u64, ended: &mut Vec<Ended>) -> io::Result<()> {
        let start_ns = now_ns();
        let due_ns = start_ns + u64::try_from(self.delay.as_nanos()).expect("short");
        for (slot, answer) in self.begun.drain(..) {
            if self.answers.len() <= slot {
                self.answers.resize(slot + 1, None);
            }
            if answer.is_some() {
                self.running.push(Reverse((due_ns, slot)));
            }
            self.answers[slot] = Some((start_ns, answer));
        }
        let next_ns = self.running.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        let left_ns = next_ns.min(until_ns).saturating_sub(now_ns());
        std::thread::sleep(Duration::from_nanos(left_ns));
        let end_ns = now_ns();
        while let Some(Reverse((due_ns, slot))) = self.running.peek().copied() {
            if due_ns > end_ns {
                break;
            }
            self.running.pop();
            if let Some((start_ns, Some(answer))) = self.answers[slot].take() {
                ended.push(Ended {
                    slot,
                    start_ns,
                    end_ns,
                    touched: answer.as_ref().copied().unwrap_or_default(),
                    over: None,
                    result: answer.map(drop),
                });
            }
        }
        Ok(())
    }

    fn give_up(&mut self, slot: usize) -> u64 {
        let running = std::mem::take(&mut self.running).into_iter();
        self.running = running.filter(|Reverse((_, at))| *at != slot).collect();
        let given_up = self.answers.get_mut(slot).and_then(Option::take);
        given_up.map_or(0, |(start_ns, _)| start_ns)
    }
}
