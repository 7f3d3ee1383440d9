//! The rows of a run and its summary, in cassandra-stress's words: from counts and histograms to text.
//! Refuses to mix meanings: one latency is shown, and which one it is stands in the value.

use crate::histogram::Histogram;
use crate::run_plan::Shown;
use crate::sample::OperationInterval;
use crate::units::{fixed, grouped, thousands as count};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What each column holds.
pub const COLUMNS: [&str; 19] = [
    "type",
    "total ops",
    "op/s",
    "pk/s",
    "row/s",
    "mean",
    "med",
    ".95",
    ".99",
    ".999",
    "max",
    "time",
    "stderr",
    "errors",
    "gc: #",
    "max ms",
    "sum ms",
    "sdv ms",
    "mb",
];

/// Width of the first column: 10 up to 3.11, 50 from 4.0 on.
const FIRST: usize = 50;

/// Widths of the columns behind the first.
const WIDTHS: [usize; 18] = [10, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7, 9, 7, 7, 8, 8, 8, 8];

/// Garbage collections of the nodes in a stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Collections {
    /// How many.
    pub count: u64,
    /// Bytes that they freed.
    pub bytes: u64,
    /// The longest, in milliseconds.
    pub longest_ms: f64,
    /// All together, in milliseconds.
    pub sum_ms: f64,
    /// The sum of their squares, in square milliseconds.
    pub squares: f64,
}

impl Collections {
    /// One more.
    pub fn add(&mut self, ms: f64, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.longest_ms = self.longest_ms.max(ms);
        self.sum_ms += ms;
        self.squares += ms * ms;
    }

    /// Those of another stretch too.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.longest_ms = self.longest_ms.max(other.longest_ms);
        self.sum_ms += other.sum_ms;
        self.squares += other.squares;
    }

    fn mean_ms(&self) -> f64 {
        self.sum_ms / self.count as f64
    }

    fn deviation_ms(&self) -> f64 {
        let variance = self.squares / self.count as f64 - self.mean_ms().powi(2);
        let deviation = variance.sqrt();
        if deviation.is_nan() { 0.0 } else { deviation }
    }
}

/// What was measured of one operation, or of all, over a stretch of time.
#[derive(Debug, Clone, Default)]
struct Span {
    latency: Histogram,
    partitions: u64,
    rows: u64,
    errors: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Span {
    fn of(one: &OperationInterval, shown: Shown, start_ns: u64, end_ns: u64) -> Self {
        let response = shown == Shown::Response && !one.response.is_empty();
        Self {
            latency: if response {
                &one.response
            } else {
                &one.service
            }
            .clone(),
            partitions: one.partitions,
            rows: one.rows,
            errors: one.failures(),
            start_ns,
            end_ns,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.partitions += other.partitions;
        self.rows += other.rows;
        self.errors += other.errors;
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
    }

    fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    fn a_second(&self, number: u64) -> f64 {
        number as f64 / self.seconds()
    }

    fn mean_ms(&self) -> f64 {
        self.latency.mean_ns().unwrap_or(0.0) / 1e6
    }

    fn max_ms(&self) -> f64 {
        self.latency.max_ns().unwrap_or(0) as f64 / 1e6
    }

    fn at_ms(&self, quantile: f64) -> f64 {
        let ns = self.latency.rough_percentile_ns(quantile);
        ns.unwrap_or(0) as f64 / 1e6
    }

    /// Rows a second, the longest latency taken off the stretch: what the error of the mean is made of. None of a
    /// stretch that is no longer than that: the last of a run, where cassandra-stress shows nonsense.
    fn adjusted_row_rate(&self) -> Option<f64> {
        let seconds = self.seconds() - self.max_ms() / 1e3;
        (seconds > 0.0).then(|| self.rows as f64 / seconds)
    }
}

/// The relative standard error of the mean row rate, as intervals come.
#[derive(Debug, Clone, Copy, Default)]
struct Uncertainty {
    number: f64,
    sum: f64,
    squares: f64,
}

impl Uncertainty {
    fn add(&mut self, rate: Option<f64>) {
        if let Some(rate) = rate {
            self.number += 1.0;
            self.sum += rate;
            self.squares += rate * rate;
        }
    }

    fn share(self) -> f64 {
        let mean = self.sum / self.number;
        let deviation = (self.squares / self.number - mean * mean).max(0.0).sqrt();
        deviation / self.number.sqrt() / mean
    }
}

/// The table of one run as it grows.
#[derive(Debug, Clone)]
pub struct Table {
    shown: Shown,
    by_operation: BTreeMap<String, Span>,
    total: Option<Span>,
    uncertainty: Uncertainty,
    collections: Collections,
}

/// One interval: what each operation did in it, by its name in the table.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    /// By the name in the table.
    pub operations: &'a BTreeMap<String, OperationInterval>,
    /// Start on the run's clock, in nanoseconds.
    pub start_ns: u64,
    /// End on the run's clock, in nanoseconds.
    pub end_ns: u64,
    /// Collections that ended in it.
    pub collections: Collections,
}

/// The line of the columns' names.
pub fn header() -> String {
    line(
        COLUMNS[0],
        COLUMNS[1..].iter().map(|name| (*name).to_owned()),
    )
}

fn line(first: &str, rest: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = rest
        .zip(WIDTHS)
        .map(|(cell, width)| format!("{cell:>width$}"))
        .collect();
    format!("{first:<FIRST$}{}", cells.join(","))
}

impl Table {
    /// An empty table that shows this latency.
    pub fn new(shown: Shown) -> Self {
        Self {
            shown,
            by_operation: BTreeMap::new(),
            total: None,
            uncertainty: Uncertainty::default(),
            collections: Collections::default(),
        }
    }

    /// Takes an interval and gives its rows: one an operation where there are several, and one for all.
    pub fn rows(&mut self, slice: &Slice<'_>) -> Vec<String> {
        self.collections.merge(&slice.collections);
        let mut all = Span {
            start_ns: slice.start_ns,
            end_ns: slice.end_ns,
            ..Span::default()
        };
        let mut now = BTreeMap::new();
        for (name, one) in slice.operations {
            let span = Span::of(one, self.shown, slice.start_ns, slice.end_ns);
            all.merge(&span);
            match self.by_operation.get_mut(name) {
                Some(sum) => sum.merge(&span),
                None if span.latency.is_empty() && span.errors == 0 => continue,
                None => {
                    self.by_operation.insert(name.clone(), span.clone());
                }
            }
            now.insert(name, span);
        }
        match &mut self.total {
            Some(total) => total.merge(&all),
            None => self.total = Some(all.clone()),
        }
        self.uncertainty.add(all.adjusted_row_rate());
        if all.latency.is_empty() {
            return Vec::new();
        }
        let mut rows = Vec::new();
        if self.by_operation.len() > 1 {
            for (name, span) in now {
                let so_far = self.by_operation.get(name).unwrap_or(&span);
                rows.push(self.row(name, &span, so_far, &slice.collections));
            }
        }
        let so_far = self.total.as_ref().unwrap_or(&all);
        rows.push(self.row("total", &all, so_far, &slice.collections));
        rows
    }

    fn row(&self, name: &str, span: &Span, so_far: &Span, gc: &Collections) -> String {
        let cells = [
            so_far.latency.count().to_string(),
            fixed(span.a_second(span.latency.count()), 0),
            fixed(span.a_second(span.partitions), 0),
            fixed(span.a_second(span.rows), 0),
            fixed(span.mean_ms(), 1),
            fixed(span.at_ms(0.5), 1),
            fixed(span.at_ms(0.95), 1),
            fixed(span.at_ms(0.99), 1),
            fixed(span.at_ms(0.999), 1),
            fixed(span.max_ms(), 1),
            fixed(so_far.seconds(), 1),
            fixed(self.uncertainty.share(), 5),
            span.errors.to_string(),
            gc.count.to_string(),
            fixed(gc.longest_ms, 0),
            fixed(gc.sum_ms, 0),
            fixed(gc.deviation_ms(), 0),
            (gc.bytes >> 20).to_string(),
        ];
        line(&format!("{name},"), cells.into_iter())
    }

    /// Operations a second over the whole run.
    pub fn rate(&self) -> f64 {
        let total = self.total.as_ref();
        total.map_or(0.0, |span| span.a_second(span.latency.count()))
    }

    /// The summary, from `Results:` to its last blank line.
    pub fn summary(&self) -> String {
        let empty = Span::default();
        let total = self.total.as_ref().unwrap_or(&empty);
        let mut text = String::from("Results:\n");
        let mut say = |name: &str, all: String, unit: &str, each: &dyn Fn(&Span) -> String| {
            let inner: Vec<String> = self
                .by_operation
                .iter()
                .map(|(name, span)| format!("{name}: {}{}", each(span), unit.trim_end()))
                .collect();
            let _infallible = writeln!(text, "{name:<26}: {all}{unit} [{}]", inner.join(", "));
        };
        let mut rate = |name, unit, of: &dyn Fn(&Span) -> u64| {
            let value = |span: &Span| grouped(&fixed(span.a_second(of(span)), 0));
            say(name, format!("{:>8}", value(total)), unit, &value);
        };
        rate("Op rate", " op/s ", &|span| span.latency.count());
        rate("Partition rate", " pk/s ", &|span| span.partitions);
        rate("Row rate", " row/s", &|span| span.rows);
        let mut latency = |name, of: &dyn Fn(&Span) -> f64| {
            let all = format!("{:>6}", fixed(of(total), 1));
            say(name, all, " ms", &|span| grouped(&fixed(of(span), 1)));
        };
        latency("Latency mean", &Span::mean_ms);
        latency("Latency median", &|span| span.at_ms(0.5));
        latency("Latency 95th percentile", &|span| span.at_ms(0.95));
        latency("Latency 99th percentile", &|span| span.at_ms(0.99));
        latency("Latency 99.9th percentile", &|span| span.at_ms(0.999));
        latency("Latency max", &Span::max_ms);
        let mut number = |name, of: &dyn Fn(&Span) -> u64| {
            let all = format!("{:>10}", count(of(total)));
            say(name, all, "", &|span| count(of(span)));
        };
        number("Total partitions", &|span| span.partitions);
        number("Total errors", &|span| span.errors);
        text.push_str(&self.collections(total.seconds()));
        text
    }

    fn collections(&self, seconds: f64) -> String {
        let gc = &self.collections;
        let ms = |value: f64| format!("{:>6}", grouped(&fixed(value, 1)));
        let lines = [
            ("Total GC count", count(gc.count)),
            ("Total GC memory", memory(gc.bytes)),
            ("Total GC time", format!("{} seconds", ms(gc.sum_ms / 1e3))),
            ("Avg GC time", format!("{} ms", ms(gc.mean_ms()))),
            ("StdDev GC time", format!("{} ms", ms(gc.deviation_ms()))),
            ("Total operation time", clock(seconds)),
        ];
        let mut text = String::new();
        for (name, value) in lines {
            let _infallible = writeln!(text, "{name:<26}: {value}");
        }
        text.push('\n');
        text
    }
}

/// Bytes with three decimals.
fn memory(bytes: u64) -> String {
    let (unit, shift) = match bytes {
        0..0x10_0000 => ("KiB", 10),
        0x10_0000..0x4000_0000 => ("MiB", 20),
        _ => ("GiB", 30),
    };
    format!(
        "{} {unit}",
        fixed(bytes as f64 / f64::from(1_u32 << shift), 3)
    )
}

/// `00:01:05`.
fn clock(seconds: f64) -> String {
    let whole = std::time::Duration::try_from_secs_f64(seconds)
        .unwrap_or_default()
        .as_secs();
    let (hours, minutes) = (whole / 3600, whole / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", whole % 60)
}

/// The table of all runs of a search, each under its id.
pub fn comparison(runs: &[(String, Table)]) -> Vec<String> {
    let width = runs.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let mut lines = vec![format!("{:>width$}, {}", "id", header())];
    for (id, table) in runs {
        let spans = table
            .by_operation
            .iter()
            .map(|(name, span)| (name.as_str(), span));
        let total = table.total.as_ref().map(|span| ("total", span));
        for (name, span) in spans.chain(total) {
            let row = table.row(name, span, span, &table.collections);
            lines.push(format!("{id:>width$}, {row}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::FailureKind;

    fn interval(from_ms: u64, number: u64, failed: u64) -> OperationInterval {
        let mut one = OperationInterval {
            offered: number + failed,
            started: number + failed,
            completed: number,
            partitions: number,
            rows: number,
            ..OperationInterval::default()
        };
        if failed > 0 {
            one.failed.insert(FailureKind::WriteTimeout, failed);
        }
        for at in 0..number + failed {
            one.service.record((from_ms + at % 5) * 1_000_000);
            one.response.record((from_ms + 10 + at % 5) * 1_000_000);
        }
        one
    }

    fn slice(operations: &BTreeMap<String, OperationInterval>, second: u64) -> Slice<'_> {
        let mut collections = Collections::default();
        collections.add(12.0, 200 << 20);
        Slice {
            operations,
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            collections,
        }
    }

    #[test]
    fn rows_and_summary_of_a_mixed_run() {
        let mut table = Table::new(Shown::Service);
        let first = BTreeMap::from([
            ("READ".to_owned(), interval(1, 3000, 0)),
            ("WRITE".to_owned(), interval(2, 1000, 2)),
        ]);
        let mut lines = vec![header()];
        lines.extend(table.rows(&slice(&first, 0)));
        lines.extend(table.rows(&slice(&first, 1)));
        insta::assert_snapshot!(lines.join("\n"));
        insta::assert_snapshot!(table.summary());
        let runs = [
            ("4 threadCount".to_owned(), table.clone()),
            ("104 threadCount".to_owned(), table),
        ];
        insta::assert_snapshot!(comparison(&runs).join("\n"));
    }

    #[test]
    fn the_latency_that_is_shown_is_the_one_that_was_chosen() {
        let one = BTreeMap::from([("WRITE".to_owned(), interval(1, 100, 0))]);
        let max = |shown| {
            let mut table = Table::new(shown);
            let rows = table.rows(&slice(&one, 0));
            assert_eq!(rows.len(), 1, "a single operation has the total alone");
            rows[0]
                .split(',')
                .nth(10)
                .map(|cell| cell.trim().to_owned())
        };
        assert_eq!(max(Shown::Service), Some("5.0".to_owned()));
        assert_eq!(max(Shown::Response), Some("15.0".to_owned()));
    }

    #[test]
    fn nothing_is_shown_of_an_interval_without_operations() {
        let mut table = Table::new(Shown::Service);
        assert_eq!(
            table.rows(&slice(&BTreeMap::new(), 0)),
            Vec::<String>::new()
        );
        let text = table.summary();
        assert!(
            text.contains("Total operation time      : 00:00:01"),
            "{text}"
        );
        assert!(
            text.contains("Op rate                   :        0 op/s  []"),
            "{text}"
        );
    }
}
