//! The lines of several generator processes as those of one: counts and histograms added, each second once.
//! Refuses to hide the busiest behind a mean: CPU of threads is the largest of them.

use crate::run_plan::RunPlan;
use crate::sample::{
    Failure, Footer, Header, Interval, PhaseEnd, SampleLine, Stage, Stretch, Tenth, merge_slowest,
};
use std::collections::{BTreeMap, BTreeSet};

/// What one process has said of the present phase, and whether it is over.
#[derive(Debug, Default)]
struct Process {
    header: Option<Header>,
    /// Number of the last rotation.
    last: Option<u64>,
    end: Option<PhaseEnd>,
    footer: Option<Footer>,
    /// Phases that it has ended, and one more once it is connected.
    gates: usize,
    /// Operations that it was offered, of all phases.
    offered: u64,
    /// When its last interval ended, in nanoseconds.
    until_ns: Option<u64>,
    /// It ended before the run did, and the others go on.
    lost: bool,
}

/// A generator that ended before the run did, while the others went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Its place among them, from 0.
    pub place: usize,
    /// How many there were at the start.
    pub of: usize,
    /// The end of the last interval that it reported, in nanoseconds; none if it reported none.
    pub until_ns: Option<u64>,
    /// Operations that it had been offered until then.
    pub offered: u64,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds and counts below 2^53"
)]
impl Lost {
    /// What of a measurement window it was not there for, as a share of the load that was asked for; none of a window
    /// that had ended before.
    pub fn missing(&self, (from_ns, to_ns): (u64, u64)) -> f64 {
        let until_ns = self.until_ns.unwrap_or_default().clamp(from_ns, to_ns);
        let without = (to_ns - until_ns) as f64 / (to_ns - from_ns).max(1) as f64;
        without / self.of as f64
    }

    /// What became of it, for a measurement window in which so many operations a second were asked for: `why` says more
    /// of its end, where that is known.
    pub fn words(&self, (from_ns, to_ns): (u64, u64), rate: Option<f64>, why: &str) -> String {
        let until_ns = self.until_ns.unwrap_or_default();
        let when = match until_ns.checked_sub(from_ns) {
            None => "before the measurement window".to_owned(),
            Some(ns) => format!("{:.0} s into the measurement window", ns as f64 / 1e9),
        };
        let share = match self.of {
            2 => "half".to_owned(),
            3 => "a third".to_owned(),
            n => format!("1/{n}"),
        };
        let missing_s = (to_ns - until_ns.clamp(from_ns, to_ns)) as f64 / 1e9;
        let count = rate.map_or_else(String::new, |rate| {
            format!(
                ", about {:.0} operations",
                rate / self.of as f64 * missing_s
            )
        });
        let why = match why {
            "" => String::new(),
            why => format!(" ({why})"),
        };
        format!(
            "generator {} of {} ended {when}{why}: {share} of the load is missing from then on{count}",
            self.place + 1,
            self.of
        )
    }
}

/// A rotation of the intervals, and the stretch that it is about.
type Key = (u64, Stretch);

/// Lines of several processes on their way to one stream.
#[derive(Debug)]
pub struct Merger {
    plan_hash: String,
    phases: usize,
    interval_ns: u64,
    processes: Vec<Process>,
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
            processes: (0..of).map(|_| Process::default()).collect(),
            began_ns: None,
            waiting: BTreeMap::new(),
            opened: 0,
            failed: false,
        }
    }

    /// Whether all of them wait for the moment at which a phase starts; true once for each phase.
    pub fn all_wait(&mut self) -> bool {
        let wait = self.left().all(|process| process.gates > self.opened);
        if wait && self.opened < self.phases {
            self.opened += 1;
            return true;
        }
        false
    }

    /// Whether the process at this place is within a phase: it reports at least once an interval.
    pub fn is_at_work(&self, place: usize) -> bool {
        let process = &self.processes[place];
        self.opened > 0 && process.gates == self.opened && !process.lost && process.footer.is_none()
    }

    /// Operations that the process at this place was offered so far.
    pub fn offered(&self, place: usize) -> u64 {
        self.processes[place].offered
    }

    /// Those that are not lost.
    fn left(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(|process| !process.lost)
    }

    /// Takes a line of the process at this place; what is whole by it.
    pub fn take(&mut self, place: usize, line: SampleLine) -> Vec<SampleLine> {
        let own = &mut self.processes[place];
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
            SampleLine::Mark(mark) => vec![SampleLine::Mark(mark)],
        }
    }

    /// Goes on without the process at this place: what it reported stays, and what is whole without it is returned; the
    /// run has none where nobody is left, or where it ended before all had started.
    pub fn lost(&mut self, place: usize) -> (Option<Lost>, Vec<SampleLine>) {
        let own = &self.processes[place];
        if own.footer.is_some() || own.lost || self.failed {
            return (None, Vec::new());
        }
        let others = self.processes.iter().enumerate();
        let left = others.filter(|(other, process)| *other != place && !process.lost);
        if left.count() == 0 || self.opened == 0 {
            return (None, self.ended(place));
        }
        let of = self.processes.len();
        let own = &mut self.processes[place];
        own.lost = true;
        let lost = Lost {
            place,
            of,
            until_ns: own.until_ns,
            offered: own.offered,
        };
        let mut lines = self.whole();
        lines.extend(self.footer());
        (Some(lost), lines)
    }

    /// The process at this place says no more; where it did not finish, the run has none.
    pub fn ended(&mut self, place: usize) -> Vec<SampleLine> {
        if self.processes[place].footer.is_some() || self.failed {
            return Vec::new();
        }
        self.fail(Failure {
            stage: Stage::Run,
            message: format!(
                "generator process {} of {} ended early",
                place + 1,
                self.processes.len()
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
        let all = self.processes.iter().map(|process| process.header.as_ref());
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
        let own = &mut self.processes[place];
        own.last = Some(rotation);
        own.until_ns = Some(interval.end_ns);
        own.offered += interval.operations.values().map(|o| o.offered).sum::<u64>();
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
            let mut all = self.processes.iter().enumerate();
            let done = all.all(|(place, process)| {
                from.contains(&place)
                    || process.lost
                    || process.end.is_some()
                    || process.last > Some(rotation)
            });
            if !done {
                break;
            }
            lines.push(SampleLine::Interval(first.remove().0));
        }
        let ended = self.left().all(|process| process.end.is_some());
        if self.waiting.is_empty() && ended {
            lines.extend(self.end().map(SampleLine::PhaseEnd));
        }
        lines
    }

    fn end(&mut self) -> Option<PhaseEnd> {
        self.began_ns = None;
        let mut ends = Vec::new();
        for process in &mut self.processes {
            process.last = None;
            match process.end.take() {
                None if process.lost => {}
                end => ends.push(end?),
            }
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
            threads_cpu_ns: sum(|end| end.threads_cpu_ns),
            clock_step_ns: most(|end| end.clock_step_ns),
            stopped_early: ends.iter().any(|end| end.stopped_early),
            connections_lost: sum(|end| end.connections_lost),
            first_failures: failures.collect(),
            ..ends.first()?.clone()
        })
    }

    fn footer(&self) -> Option<SampleLine> {
        let all = self.left().map(|process| process.footer.as_ref());
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
    merge_slowest(&mut sum.slowest, &other.slowest);
    sum.traced.extend_from_slice(&other.traced);
    for (coordinator, one) in &other.coordinators {
        let own = sum.coordinators.entry(coordinator.clone()).or_default();
        own.merge(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::histogram::Histogram;
    use crate::run_plan::{Consistency, Pacing, Phase};
    use crate::sample::{OperationInterval, SLOWEST_KEPT, SlowOperation, StartMeans};
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
            slowest: (1..=completed.min(12))
                .map(|number| SlowOperation {
                    operation: "write".to_owned(),
                    intended_ns: None,
                    start_ns: 6 * SECOND,
                    end_ns: 6 * SECOND + number * completed,
                    lateness_ns: 0,
                    coordinator: None,
                    connection: None,
                    stream: None,
                })
                .collect(),
            traced: vec![],
            coordinators: BTreeMap::new(),
        })
    }

    fn end(backlog: u64) -> SampleLine {
        SampleLine::PhaseEnd(PhaseEnd {
            measured_from_ns: 5 * SECOND,
            measured_to_ns: 7 * SECOND,
            ended_ns: 7 * SECOND,
            backlog,
            thread_cpu_ns: backlog,
            threads_cpu_ns: backlog,
            connections_lost: backlog,
            ..PhaseEnd::default()
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
    fn each_second_is_reported_once_with_what_all_did_in_it() {
        let plan = plan(1);
        let mut merger = Merger::new(&plan);
        assert!(!merger.all_wait() && merger.take(0, header(7)).is_empty());
        let lines = merger.take(1, header(8));
        let [SampleLine::Header(whole)] = &lines[..] else {
            panic!("{lines:?}");
        };
        assert_eq!((whole.pid, &whole.beside[..]), (7, &[8][..]));
        assert_eq!(
            (&whole.plan_hash, &whole.cpus[..]),
            (&plan.hash(), &[7, 8][..])
        );
        assert!(merger.all_wait() && !merger.all_wait());
        use Stretch::Measured as M;
        assert!(merger.take(0, interval(0, 0, M, 10)).is_empty());
        // The second comes late, and the third in one with it: nothing is lost and nothing reported twice.
        assert!(merger.take(0, interval(1, 2_000_000, M, 11)).is_empty());
        let first = merger.take(1, interval(0, 1_000_000, M, 20));
        assert_eq!(completed(&first), [(30, 20)]);
        // The slowest of both, the slowest first.
        let SampleLine::Interval(both) = &first[0] else {
            panic!("{first:?}");
        };
        let slowest: Vec<u64> = both.slowest.iter().map(SlowOperation::time_ns).collect();
        assert_eq!((slowest.len(), slowest[0]), (SLOWEST_KEPT, 240));
        assert!(slowest.is_sorted_by(|a, b| a >= b), "{slowest:?}");
        assert!(slowest.contains(&100), "{slowest:?}");
        assert!(merger.take(0, interval(2, 0, M, 12)).is_empty());
        let second = merger.take(1, interval(2, 300_000_000, M, 41));
        assert_eq!(completed(&second), [(11, 11), (53, 41)]);
        assert!(merger.take(0, end(3)).is_empty());
        let lines = merger.take(1, end(4));
        let [SampleLine::PhaseEnd(whole)] = &lines[..] else {
            panic!("{lines:?}");
        };
        // The backlog and what was lost are of both, the busiest thread is one, and what they used is the sum.
        assert_eq!((whole.backlog, whole.thread_cpu_ns), (7, 4));
        assert_eq!((whole.connections_lost, whole.threads_cpu_ns), (7, 7));
        assert!(!merger.all_wait(), "there is no other phase");
    }

    #[test]
    fn one_that_ends_early_ends_the_run_once() {
        let mut merger = Merger::new(&plan(2));
        merger.take(0, header(7));
        let lines = merger.ended(1);
        let [SampleLine::Failure(failure)] = &lines[..] else {
            panic!("{lines:?}");
        };
        assert_eq!(failure.message, "generator process 2 of 2 ended early");
        assert!(merger.ended(0).is_empty());
    }

    /// The histogram of the writes in all of these lines.
    fn service(lines: &[SampleLine]) -> Histogram {
        let mut sum = Histogram::default();
        for line in lines {
            if let SampleLine::Interval(one) = line {
                sum.merge(&one.operations["write"].service);
            }
        }
        sum
    }

    #[test]
    fn without_one_that_is_lost_the_others_are_merged_bucket_for_bucket() {
        use Stretch::Measured as M;
        let three = RunPlan {
            processes: 3,
            ..plan(2)
        };
        let mut merger = Merger::new(&three);
        (0..3).for_each(|place| drop(merger.take(place, header(7))));
        assert!(merger.all_wait());
        let mut merged = Vec::new();
        let mut given = Vec::new();
        let mut give = |merger: &mut Merger, place: usize, second: u64, slow: u64| {
            let SampleLine::Interval(mut one) = interval(second, 0, M, 10) else {
                panic!("an interval");
            };
            let write = one.operations.get_mut("write").expect("writes");
            write.service.record(slow * 1_000_000);
            write.completed += 1;
            write.offered = 20;
            one.tenths[0].ended = 11;
            let line = SampleLine::Interval(one);
            given.push(line.clone());
            merger.take(place, line)
        };
        for place in 0..3 {
            merged.extend(give(&mut merger, place, 0, 3 + place as u64));
        }
        // Two report the second, one of which is lost then: what it had reported of it stays.
        merged.extend(give(&mut merger, 0, 1, 17));
        merged.extend(give(&mut merger, 1, 1, 29));
        assert_eq!(completed(&merged), [(33, 10)]);
        let (lost, lines) = merger.lost(1);
        assert_eq!(
            lost,
            Some(Lost {
                place: 1,
                of: 3,
                until_ns: Some(7 * SECOND),
                offered: 40,
            })
        );
        assert!(lines.is_empty(), "the third has not reported this second");
        merged.extend(give(&mut merger, 2, 1, 31));
        merged.extend(give(&mut merger, 0, 2, 40));
        merged.extend(give(&mut merger, 2, 2, 50));
        assert_eq!(completed(&merged), [(33, 10), (33, 10), (22, 10)]);
        assert_eq!(service(&merged), service(&given));
        assert!(merger.take(0, end(3)).is_empty());
        let ended = merger.take(2, end(4));
        let [SampleLine::PhaseEnd(whole)] = &ended[..] else {
            panic!("{ended:?}");
        };
        assert_eq!((whole.backlog, whole.stopped_early), (7, false));
        // The next phase begins without it, and the run ends with the others' last lines.
        assert!(merger.all_wait());
        merger.take(0, end(0));
        assert_eq!(merger.take(2, end(0)).len(), 1);
        let footer = || {
            SampleLine::Footer(Footer {
                user_cpu_us: 5,
                ..Footer::default()
            })
        };
        assert!(merger.take(0, footer()).is_empty());
        let last = merger.take(2, footer());
        let [SampleLine::Footer(whole)] = &last[..] else {
            panic!("{last:?}");
        };
        assert_eq!(whole.user_cpu_us, 10);
        // One that has said its last line is not lost.
        assert_eq!(merger.lost(0), (None, Vec::new()));
    }

    #[test]
    fn what_is_missing_of_a_window_is_reported_in_operations() {
        let lost = Lost {
            place: 1,
            of: 3,
            until_ns: Some(12 * SECOND),
            offered: 40,
        };
        let window = (10 * SECOND, 20 * SECOND);
        insta::assert_snapshot!(lost.words(window, Some(300.0), "OOMKilled"), @"generator 2 of 3 ended 2 s into the measurement window (OOMKilled): a third of the load is missing from then on, about 800 operations");
        insta::assert_snapshot!(lost.words((15 * SECOND, 20 * SECOND), None, ""), @"generator 2 of 3 ended before the measurement window: a third of the load is missing from then on");
        assert!((lost.missing(window) - 0.8 / 3.0).abs() < 1e-9);
        assert!((lost.missing((5 * SECOND, 12 * SECOND))).abs() < 1e-9);
    }

    #[test]
    fn a_run_whose_last_generator_is_lost_has_none() {
        let mut merger = Merger::new(&plan(1));
        merger.take(0, header(7));
        // Before all have begun nothing was measured.
        let (lost, lines) = merger.lost(1);
        assert!(lost.is_none() && matches!(lines[..], [SampleLine::Failure(_)]));
        let mut merger = Merger::new(&plan(1));
        merger.take(0, header(7));
        merger.take(1, header(8));
        assert!(merger.all_wait());
        assert!(merger.lost(0).0.is_some());
        let (lost, lines) = merger.lost(1);
        assert!(lost.is_none() && matches!(lines[..], [SampleLine::Failure(_)]));
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
