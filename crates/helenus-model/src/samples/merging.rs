//! The lines of several generator processes as those of one: counts and histograms added, each second once.
//! Refuses to hide the busiest behind a mean: CPU of threads is the largest of them.

use crate::run_plan::RunPlan;
use crate::sample::{
    Failure, Footer, Header, Interval, PhaseEnd, SampleLine, Stage, Stretch, Tenth,
};
use std::collections::{BTreeMap, BTreeSet};

/// What one process has said of the present phase, and whether it is over.
#[derive(Debug, Default)]
struct Told {
    header: Option<Header>,
    /// Number of the last rotation.
    last: Option<u64>,
    end: Option<PhaseEnd>,
    footer: Option<Footer>,
    /// Phases that it has ended, and one more once it is connected.
    gates: usize,
    gone: bool,
}

/// A rotation of the intervals, and the stretch that it is about.
type Key = (u64, Stretch);

/// Lines of several processes on their way to one stream.
#[derive(Debug)]
pub struct Merger {
    plan_hash: String,
    phases: usize,
    interval_ns: u64,
    told: Vec<Told>,
    /// The common beginning of the present phase.
    began_ns: Option<u64>,
    waiting: BTreeMap<Key, (Interval, BTreeSet<usize>)>,
    opened: usize,
    failed: bool,
}

impl Merger {
    /// For the processes of this plan.
    pub fn new(plan: &RunPlan) -> Self {
        let of = plan.processes.max(1);
        Self {
            plan_hash: plan.hash(),
            phases: plan.phases.len(),
            interval_ns: plan.sampling_interval_ms.max(1) * 1_000_000,
            told: (0..of).map(|_| Told::default()).collect(),
            began_ns: None,
            waiting: BTreeMap::new(),
            opened: 0,
            failed: false,
        }
    }

    /// Whether all of them wait for the moment at which a phase starts; true once for each phase.
    pub fn all_wait(&mut self) -> bool {
        let wait = self.told.iter().all(|told| told.gates > self.opened);
        if wait && self.opened < self.phases {
            self.opened += 1;
            return true;
        }
        false
    }

    /// Takes a line of the process at this place; what is whole by it.
    pub fn take(&mut self, place: usize, line: SampleLine) -> Vec<SampleLine> {
        let own = &mut self.told[place];
        match line {
            SampleLine::Header(header) => {
                own.header = Some(header);
                own.gates += 1;
                self.header().into_iter().collect()
            }
            SampleLine::Interval(interval) => self.interval(place, interval),
            SampleLine::PhaseEnd(end) => {
                own.end = Some(end);
                own.gates += 1;
                self.whole()
            }
            SampleLine::Footer(footer) => {
                own.footer = Some(footer);
                self.footer().into_iter().collect()
            }
            SampleLine::Failure(failure) => self.fail(failure),
            // Marks are of phases that one process does alone.
            SampleLine::Mark(_) => Vec::new(),
        }
    }

    /// The process at this place says no more; where it did not finish, the run has none.
    pub fn ended(&mut self, place: usize) -> Vec<SampleLine> {
        self.told[place].gone = true;
        if self.told[place].footer.is_some() || self.failed {
            return Vec::new();
        }
        self.fail(Failure {
            stage: Stage::Run,
            message: format!(
                "generator process {} of {} ended early",
                place + 1,
                self.told.len()
            ),
            causes: vec![],
        })
    }

    /// The first failure is the run's.
    fn fail(&mut self, failure: Failure) -> Vec<SampleLine> {
        match std::mem::replace(&mut self.failed, true) {
            true => Vec::new(),
            false => vec![SampleLine::Failure(failure)],
        }
    }

    fn header(&self) -> Option<SampleLine> {
        let all = self.told.iter().map(|told| told.header.as_ref());
        let all: Vec<&Header> = all.collect::<Option<_>>()?;
        let cpus: BTreeSet<u32> = all.iter().flat_map(|h| h.cpus.iter().copied()).collect();
        let first = (*all.first()?).clone();
        Some(SampleLine::Header(Header {
            plan_hash: self.plan_hash.clone(),
            cpus: cpus.into_iter().collect(),
            beside: all[1..].iter().map(|header| header.pid).collect(),
            ..first
        }))
    }

    /// Intervals of one rotation start within milliseconds of each other, for all rotate at the same moments.
    fn interval(&mut self, place: usize, interval: Interval) -> Vec<SampleLine> {
        let began_ns = *self.began_ns.get_or_insert(interval.start_ns);
        let since_ns = interval.start_ns.saturating_sub(began_ns) + self.interval_ns / 2;
        let rotation = since_ns / self.interval_ns;
        let key = (rotation, interval.stretch);
        self.told[place].last = Some(rotation);
        match self.waiting.get_mut(&key) {
            Some((sum, from)) => {
                add(sum, &interval);
                from.insert(place);
            }
            None => {
                self.waiting.insert(key, (interval, [place].into()));
            }
        }
        self.whole()
    }

    /// What nobody will add to any more, in order; then the phase's end, where all have ended it.
    fn whole(&mut self) -> Vec<SampleLine> {
        let mut lines = Vec::new();
        while let Some(first) = self.waiting.first_entry() {
            let (rotation, _) = *first.key();
            let from = &first.get().1;
            let mut all = self.told.iter().enumerate();
            let done = all.all(|(place, told)| {
                from.contains(&place) || told.end.is_some() || told.last > Some(rotation)
            });
            if !done {
                break;
            }
            lines.push(SampleLine::Interval(first.remove().0));
        }
        if self.waiting.is_empty() && self.told.iter().all(|told| told.end.is_some()) {
            lines.extend(self.end().map(SampleLine::PhaseEnd));
        }
        lines
    }

    fn end(&mut self) -> Option<PhaseEnd> {
        self.began_ns = None;
        let mut ends = Vec::new();
        for told in &mut self.told {
            told.last = None;
            ends.push(told.end.take()?);
        }
        let sum = |of: fn(&PhaseEnd) -> u64| -> u64 { ends.iter().map(of).sum() };
        let most = |of: fn(&PhaseEnd) -> u64| ends.iter().map(of).max().unwrap_or_default();
        let failures = ends.iter().flat_map(|end| end.first_failures.clone());
        Some(PhaseEnd {
            measured_from_ns: ends.iter().map(|end| end.measured_from_ns).min()?,
            measured_to_ns: most(|end| end.measured_to_ns),
            ended_ns: most(|end| end.ended_ns),
            backlog: sum(|end| end.backlog),
            abandoned: sum(|end| end.abandoned),
            cut_off: sum(|end| end.cut_off),
            thread_cpu_ns: most(|end| end.thread_cpu_ns),
            clock_step_ns: most(|end| end.clock_step_ns),
            stopped_early: ends.iter().any(|end| end.stopped_early),
            first_failures: failures.collect(),
            ..ends.first()?.clone()
        })
    }

    fn footer(&self) -> Option<SampleLine> {
        let all = self.told.iter().map(|told| told.footer.as_ref());
        let all: Vec<&Footer> = all.collect::<Option<_>>()?;
        let sum = |of: fn(&Footer) -> u64| -> u64 { all.iter().map(|footer| of(footer)).sum() };
        let most = |of: fn(&Footer) -> u64| all.iter().map(|footer| of(footer)).max();
        Some(SampleLine::Footer(Footer {
            user_cpu_us: sum(|footer| footer.user_cpu_us),
            system_cpu_us: sum(|footer| footer.system_cpu_us),
            max_rss_bytes: most(|footer| footer.max_rss_bytes)?,
            voluntary_switches: sum(|footer| footer.voluntary_switches),
            involuntary_switches: sum(|footer| footer.involuntary_switches),
            monotonic_ns: most(|footer| footer.monotonic_ns)?,
            wall_ns: most(|footer| footer.wall_ns)?,
        }))
    }
}

/// Adds an interval of another process.
fn add(sum: &mut Interval, other: &Interval) {
    sum.start_ns = sum.start_ns.min(other.start_ns);
    sum.end_ns = sum.end_ns.max(other.end_ns);
    sum.thread_cpu_ns = sum.thread_cpu_ns.max(other.thread_cpu_ns);
    for (name, one) in &other.operations {
        sum.operations.entry(name.clone()).or_default().merge(one);
    }
    if sum.tenths.len() < other.tenths.len() {
        sum.tenths.resize(other.tenths.len(), Tenth::default());
    }
    for (own, other) in sum.tenths.iter_mut().zip(&other.tenths) {
        own.ended += other.ended;
        own.service_sum_ns += other.service_sum_ns;
        own.completed += other.completed;
        own.response_sum_ns += other.response_sum_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::run_plan::{Consistency, Pacing, Phase};
    use crate::sample::{OperationInterval, Standing, StartMeans};
    use crate::seed::Seed;
    use crate::workload::Workload;

    const SECOND: u64 = 1_000_000_000;

    fn plan(phases: usize) -> RunPlan {
        let text = serde_json::json!({
            "format": Format::new("plan", 1),
            "endpoints": ["127.0.0.1:9042"],
            "workload": Workload::Standard1,
            "phases": vec![Phase::steady("write", 100.0, 4, 2_000); phases],
            "consistency": Consistency::One,
            "seed": Seed(1),
            "processes": 2,
        });
        serde_json::from_value(text).expect("a plan")
    }

    fn header(pid: u32) -> SampleLine {
        SampleLine::Header(Header {
            format: Format::new("sample", 1),
            plan_hash: format!("of process {pid}"),
            monotonic_ns: 0,
            wall_ns: 0,
            start_means: StartMeans::DriverCall,
            pacing: Pacing::Sleep,
            timer_resolution_ns: 1,
            pid,
            cpus: vec![pid],
            beside: vec![],
            unchecked: vec![],
        })
    }

    fn interval(second: u64, late_ns: u64, stretch: Stretch, completed: u64) -> SampleLine {
        let mut one = OperationInterval {
            completed,
            ..OperationInterval::default()
        };
        (0..completed).for_each(|_| one.service.record(1_000_000));
        SampleLine::Interval(Interval {
            phase: 0,
            stretch,
            start_ns: 5 * SECOND + second * SECOND + late_ns,
            end_ns: 6 * SECOND + second * SECOND + late_ns,
            thread_cpu_ns: completed,
            operations: [("write".to_owned(), one)].into(),
            tenths: vec![Tenth {
                ended: completed,
                service_sum_ns: completed,
                ..Tenth::default()
            }],
        })
    }

    fn end(backlog: u64) -> SampleLine {
        SampleLine::PhaseEnd(PhaseEnd {
            phase: 0,
            measured_from_ns: 5 * SECOND,
            measured_to_ns: 7 * SECOND,
            ended_ns: 7 * SECOND,
            backlog,
            abandoned: 0,
            cut_off: 0,
            thread_cpu_ns: backlog,
            clock_step_ns: 0,
            stopped_early: false,
            standing: Standing::default(),
            first_failures: BTreeMap::new(),
        })
    }

    fn completed(lines: &[SampleLine]) -> Vec<(u64, u64)> {
        let each = lines.iter().filter_map(|line| match line {
            SampleLine::Interval(one) => {
                let write = &one.operations["write"];
                assert_eq!(write.service.count(), write.completed);
                assert_eq!(one.tenths[0].ended, write.completed);
                Some((write.completed, one.thread_cpu_ns))
            }
            _ => None,
        });
        each.collect()
    }

    #[test]
    fn each_second_is_told_once_with_what_all_did_in_it() {
        let plan = plan(1);
        let mut merger = Merger::new(&plan);
        assert!(!merger.all_wait() && merger.take(0, header(7)).is_empty());
        let told = merger.take(1, header(8));
        let [SampleLine::Header(whole)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((whole.pid, &whole.beside[..]), (7, &[8][..]));
        assert_eq!(
            (&whole.plan_hash, &whole.cpus[..]),
            (&plan.hash(), &[7, 8][..])
        );
        assert!(merger.all_wait() && !merger.all_wait());
        use Stretch::Measured as M;
        assert!(merger.take(0, interval(0, 0, M, 10)).is_empty());
        // The second comes late, and the third in one with it: nothing is lost and nothing told twice.
        assert!(merger.take(0, interval(1, 2_000_000, M, 11)).is_empty());
        let first = merger.take(1, interval(0, 1_000_000, M, 20));
        assert_eq!(completed(&first), [(30, 20)]);
        assert!(merger.take(0, interval(2, 0, M, 12)).is_empty());
        let second = merger.take(1, interval(2, 300_000_000, M, 41));
        assert_eq!(completed(&second), [(11, 11), (53, 41)]);
        assert!(merger.take(0, end(3)).is_empty());
        let told = merger.take(1, end(4));
        let [SampleLine::PhaseEnd(whole)] = &told[..] else {
            panic!("{told:?}");
        };
        // The backlog is of both, the busiest thread is one.
        assert_eq!((whole.backlog, whole.thread_cpu_ns), (7, 4));
        assert!(!merger.all_wait(), "there is no other phase");
    }

    #[test]
    fn one_that_ends_early_ends_the_run_once() {
        let mut merger = Merger::new(&plan(2));
        merger.take(0, header(7));
        let told = merger.ended(1);
        let [SampleLine::Failure(failure)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(failure.message, "generator process 2 of 2 ended early");
        assert!(merger.ended(0).is_empty());
    }

    #[test]
    fn a_phase_begins_when_all_have_ended_the_one_before() {
        let mut merger = Merger::new(&plan(2));
        merger.take(0, header(7));
        merger.take(1, header(8));
        assert!(merger.all_wait());
        merger.take(0, end(0));
        assert!(!merger.all_wait());
        assert_eq!(merger.take(1, end(0)).len(), 1);
        assert!(merger.all_wait() && !merger.all_wait());
    }
}
