//! The HdrHistogram interval log of a run, with cassandra-stress's header, tags and units: values in nanoseconds.
//! Refuses to mix phases under one tag, and to derive a wait that was not recorded.
//!
//! Each operation has up to three tags: `-st` service time, `-rt` response time, `-wt` the wait from intended start
//! to start. The wait is recorded operation by operation: histograms of its two parts cannot be added up again.

use crate::error::HistoryError;
use crate::run::StoredRun;
use crate::when::Utc;
use helenus_model::histogram::Histogram;
use helenus_model::run_plan::RunPlan;
use helenus_model::sample::{Header, Interval, MeasuredFrom, OperationInterval, Stretch};
use helenus_model::workload::Workload;
use std::collections::BTreeMap;
use std::io::Write;

/// Values are in nanoseconds, the column of the largest one in milliseconds, as HdrHistogram's writers have it.
const MAX_UNIT_NS: f64 = 1e6;

/// What of a run is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogChoice {
    /// Only the phase of this name; its tags are then plain.
    pub phase: Option<String>,
    /// The warm-up too.
    pub with_warmup: bool,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogWritten {
    /// Lines with a histogram.
    pub lines: usize,
    /// True where operations had an intended start, but their wait was not kept: written before Helenus kept it.
    pub lacks_wait: bool,
}

/// Writes the log of a run.
///
/// # Errors
/// A run without intervals, without that phase, of another version, or a writer that fails.
pub fn write(
    to: &mut dyn Write,
    run: &StoredRun,
    intervals: &[Interval],
    choice: &LogChoice,
) -> Result<LogWritten, HistoryError> {
    let plan = run.plan()?;
    let lacks = |what| HistoryError::Lacks {
        run: run.summary.id,
        state: run.summary.state,
        what,
    };
    let header = run.header.as_ref().ok_or_else(|| lacks("intervals"))?;
    let phase = chosen_phase(run, &plan, choice)?;
    let about = format!(
        "helenus {} run {}, seed {}",
        run.helenus_version, run.summary.id, run.summary.seed.0
    );
    let log = Log::begin(to, header, &about).map_err(HistoryError::Write)?;
    let mut written = LogWritten::default();
    for interval in counted(run, intervals, choice.with_warmup) {
        if phase.is_some_and(|only| only != interval.phase) {
            continue;
        }
        let prefix = match plan.phases.get(interval.phase) {
            Some(named) if phase.is_none() && plan.phases.len() > 1 => format!("{}.", named.name),
            _ => String::new(),
        };
        for (name, one) in &interval.operations {
            let name = format!("{prefix}{}", stress_name(&plan.workload, name));
            written.lacks_wait |= one.wait.is_empty() && !one.response.is_empty();
            let lines = log.operation(to, interval, &name, one);
            written.lines += lines.map_err(HistoryError::Write)?;
        }
    }
    if written.lines == 0 {
        return Err(lacks("intervals"));
    }
    Ok(written)
}

fn chosen_phase(
    run: &StoredRun,
    plan: &RunPlan,
    choice: &LogChoice,
) -> Result<Option<usize>, HistoryError> {
    let Some(wanted) = &choice.phase else {
        return Ok(None);
    };
    let place = plan.phases.iter().position(|phase| phase.name == *wanted);
    place.map(Some).ok_or_else(|| HistoryError::NoSuchPhase {
        run: run.summary.id,
        phase: wanted.clone(),
        has: plan.phases.iter().map(|p| p.name.clone()).collect(),
    })
}

/// The intervals that the run's result counts: the measurement window, less what was cut from it as warm-up.
pub fn counted<'a>(
    run: &'a StoredRun,
    intervals: &'a [Interval],
    with_warmup: bool,
) -> impl Iterator<Item = &'a Interval> {
    let mut begins: BTreeMap<usize, MeasuredFrom> = BTreeMap::new();
    for one in intervals {
        begins.entry(one.phase).or_default().see(one);
    }
    let cut_ns = |phase: usize| {
        let result = run.result.as_ref();
        let steadiness = result.and_then(|r| r.phases.get(phase)?.steadiness.as_ref());
        let cut_s = steadiness.map_or(0.0, |s| s.cut_s.max(0.0));
        std::time::Duration::from_secs_f64(cut_s).as_nanos() as u64
    };
    let from: BTreeMap<usize, (u64, u64)> = begins
        .iter()
        .filter_map(|(phase, begin)| {
            let begin = begin.at_ns()?;
            Some((*phase, (begin, begin + cut_ns(*phase))))
        })
        .collect();
    intervals.iter().filter(move |one| {
        // A cut lies on a border; where clocks put it a little beside, the interval's middle decides.
        let middle = one.start_ns + one.end_ns.saturating_sub(one.start_ns) / 2;
        let measured = one.stretch == Stretch::Measured
            && from
                .get(&one.phase)
                .is_some_and(|(begin, from)| middle.max(*begin) >= *from);
        with_warmup || measured
    })
}

/// The operation as cassandra-stress names it: its own commands in capitals, a person's queries as they are.
fn stress_name(workload: &Workload, operation: &str) -> String {
    match workload {
        Workload::Standard1 => operation.to_uppercase(),
        Workload::Custom(_) | Workload::Profiles(_) => tag_name(operation),
    }
}

/// A log that grows: its clocks are anchored where it started.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    base_ns: u64,
    wall_ns: u64,
    monotonic_ns: u64,
}

impl Log {
    /// Writes the head of a log whose first run has this header; `about` is written as a comment.
    ///
    /// # Errors
    /// A writer that fails.
    pub fn begin(to: &mut dyn Write, header: &Header, about: &str) -> std::io::Result<Self> {
        let base_ns = header.wall_ns / 1_000_000_000 * 1_000_000_000;
        let seconds = base_ns / 1_000_000_000;
        let date = Utc::of_ns(base_ns).java();
        writeln!(to, "#Logging op latencies for Cassandra Stress")?;
        writeln!(to, "#{about}")?;
        writeln!(to, "#[Histogram log format version 1.3]")?;
        writeln!(to, "#[BaseTime: {seconds}.000 (seconds since epoch)]")?;
        writeln!(
            to,
            "#[StartTime: {seconds}.000 (seconds since epoch), {date}]"
        )?;
        writeln!(
            to,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
        )?;
        Ok(Self {
            base_ns,
            wall_ns: header.wall_ns,
            monotonic_ns: header.monotonic_ns,
        })
    }

    /// The same log, where another run starts on clocks of its own.
    #[must_use]
    pub fn with(self, header: &Header) -> Self {
        Self {
            wall_ns: header.wall_ns,
            monotonic_ns: header.monotonic_ns,
            ..self
        }
    }

    /// Writes what one operation did in an interval, under its tags; returns how many lines.
    ///
    /// # Errors
    /// A writer that fails.
    pub fn operation(
        &self,
        to: &mut dyn Write,
        interval: &Interval,
        name: &str,
        one: &OperationInterval,
    ) -> std::io::Result<usize> {
        let at = self.columns(interval);
        let measures = [
            ("st", &one.service),
            ("rt", &one.response),
            ("wt", &one.wait),
        ];
        let mut lines = 0;
        for (suffix, histogram) in measures {
            if !histogram.is_empty() {
                line(to, &format!("{name}-{suffix}"), &at, histogram)?;
                lines += 1;
            }
        }
        Ok(lines)
    }

    /// Start and length of an interval, in seconds, as the log's columns have them.
    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds of one run, below 2^53"
    )]
    fn columns(&self, interval: &Interval) -> String {
        let since_header = interval.start_ns.saturating_sub(self.monotonic_ns);
        let from_base = self.wall_ns.saturating_sub(self.base_ns);
        let start = (from_base + since_header) as f64 / 1e9;
        let length = interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9;
        format!("{start:.3},{length:.3}")
    }
}

/// A name that a tag of the log can hold.
pub fn tag_name(name: &str) -> String {
    let sign = |c: char| {
        if c == ',' || c.is_whitespace() {
            '_'
        } else {
            c
        }
    };
    name.chars().map(sign).collect()
}

#[expect(clippy::cast_precision_loss, reason = "at most an hour of nanoseconds")]
fn line(to: &mut dyn Write, tag: &str, at: &str, histogram: &Histogram) -> std::io::Result<()> {
    let max = histogram.max_ns().unwrap_or_default() as f64 / MAX_UNIT_NS;
    writeln!(to, "Tag={tag},{at},{max:.3},{}", histogram.to_log_text())
}
