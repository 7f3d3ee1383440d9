//! Rows out of runs: each operation of each cell, its repeats together, its difference repeat by repeat.
//! Refuses to average percentiles: the runs' histograms are merged.

use super::difference::{Computed, expected_ms};
use super::{ALL, CellRun, Latency, Row};
use crate::histogram::Histogram;
use crate::levels::{Cell, EVERY, Kind, Load};
use crate::result::{Distribution, OperationResult, PhaseResult};
use crate::stats::{holm, mean};

/// What a row is of, as it sorts in the table.
type Place<'a> = (&'a str, Kind, String, usize, usize, bool);

/// All rows, in the order of the table: distances from near to far.
pub(super) fn of(runs: &[CellRun]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut differences: Vec<Option<Computed>> = Vec::new();
    for run in runs {
        for operation in operations(&run.cell) {
            let known = rows.iter().any(|row| is_of(row, &run.cell, operation));
            if let Some(row) = row(runs, &run.cell, operation).filter(|_| !known) {
                rows.push(row);
                differences.push(difference(runs, &run.cell, operation));
            }
        }
    }
    judge(&rows, &mut differences);
    for (row, computed) in rows.iter_mut().zip(differences) {
        row.difference = computed.map(|one| one.difference);
    }
    let far = |row: &Row| row.round_trips_us.values().copied().max().unwrap_or(0);
    rows.sort_by(|a, b| far(a).cmp(&far(b)).then_with(|| place(a).cmp(&place(b))));
    rows
}

/// Judges together what may be called different: every level against the reference, at all distances and loads, by Holm. The
/// reference a second time shows the noise, and is exploratory.
fn judge(rows: &[Row], differences: &mut [Option<Computed>]) {
    let each = rows.iter().zip(differences).filter(|(row, _)| !row.again);
    let each = each.filter_map(|(_, computed)| computed.as_mut());
    let mut family: Vec<&mut Computed> = each.filter(|one| one.may_claim()).collect();
    let p: Vec<f64> = family.iter().map(|one| one.p()).collect();
    for (one, p_holm) in family.iter_mut().zip(holm(&p)) {
        one.judge(p.len(), p_holm);
    }
}

fn place(row: &Row) -> Place<'_> {
    let operation = operations_of(row.workload)
        .iter()
        .position(|name| *name == row.operation);
    let level = EVERY.iter().position(|level| *level == row.level);
    (
        &row.distance,
        row.workload,
        row.load.words(),
        operation.unwrap_or_default(),
        level.unwrap_or_default(),
        row.again,
    )
}

fn operations_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Write => &["write"],
        Kind::Mixed => &[ALL, "read", "write"],
        Kind::Lwt => &["lwt"],
    }
}

fn operations(cell: &Cell) -> &'static [&'static str] {
    operations_of(cell.workload)
}

fn is_of(row: &Row, cell: &Cell, operation: &str) -> bool {
    row.operation == operation
        && row.distance == cell.distance.word
        && row.workload == cell.workload
        && row.load == cell.load
        && row.level == cell.level
        && row.again == cell.again
}

fn same(a: &Cell, b: &Cell) -> bool {
    a.distance == b.distance
        && a.workload == b.workload
        && a.load == b.load
        && a.level == b.level
        && a.again == b.again
}

/// The operation in a run's only phase.
fn result<'a>(run: &'a CellRun, operation: &str) -> Option<(&'a PhaseResult, &'a OperationResult)> {
    let phase = run.result.phases.first()?;
    let found = match operation {
        ALL => Some(&phase.total),
        name if phase.operations.is_empty() && operations(&run.cell) == [name] => {
            Some(&phase.total)
        }
        name => phase.operations.get(name),
    };
    Some((phase, found?))
}

/// From the intended start where there is one.
fn times(load: Load, of: &OperationResult) -> Option<&Distribution> {
    match load {
        Load::Rate(_) => of.response.as_ref(),
        Load::Closed(_) => of.service.as_ref(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn row(runs: &[CellRun], cell: &Cell, operation: &str) -> Option<Row> {
    let mut merged = Histogram::new();
    let mut rates = Vec::new();
    let (mut names, mut behind) = (Vec::new(), 0);
    for run in runs.iter().filter(|run| same(&run.cell, cell)) {
        let Some((phase, of)) = result(run, operation) else {
            continue;
        };
        let Some(distribution) = times(cell.load, of) else {
            continue;
        };
        merged.merge(&distribution.histogram);
        rates.push(of.completed as f64 / phase.duration_s.max(f64::MIN_POSITIVE));
        names.push(run.run.clone());
        behind += usize::from(phase.nodes_fell_behind());
    }
    Some(Row {
        distance: cell.distance.word.clone(),
        round_trips_us: cell.round_trips_us.clone(),
        workload: cell.workload,
        load: cell.load,
        operation: operation.to_owned(),
        level: cell.level,
        again: cell.again,
        runs: names,
        behind,
        op_rate: mean(&rates)?,
        latency: latency(&Distribution::of(&merged)?),
        predicted: cell.predicted.get(operation).cloned(),
        difference: None,
    })
}

fn latency(of: &Distribution) -> Latency {
    let ms = |us: Option<f64>| us.map(|us| us / 1e3);
    Latency {
        mean_ms: of.mean_us / 1e3,
        median_ms: ms(of.p50_us),
        p95_ms: ms(of.p95_us),
        p99_ms: ms(of.p99_us),
        p999_ms: ms(of.p999_us),
        max_ms: of.max_us / 1e3,
    }
}

/// Against the reference of the same distance, workload and load. A run that fell behind its schedule has no response time that
/// could be compared, only one that grows with the run.
fn difference(runs: &[CellRun], cell: &Cell, operation: &str) -> Option<Computed> {
    if cell.level == cell.reference && !cell.again {
        return None;
    }
    let is_reference = |other: &Cell| {
        let mut reference = cell.clone();
        reference.level = cell.reference;
        reference.again = false;
        same(&reference, other)
    };
    let mut by_repeat = Vec::new();
    let mut behind = [0, 0];
    let mut expected = None;
    for run in runs.iter().filter(|run| same(&run.cell, cell)) {
        let other = runs
            .iter()
            .find(|other| other.cell.repeat == run.cell.repeat && is_reference(&other.cell));
        let Some(other) = other else { continue };
        let late = [run, other].map(|run| {
            let phases = run.result.phases.iter();
            phases.take(1).any(PhaseResult::nodes_fell_behind)
        });
        behind[0] += u32::from(late[0]);
        behind[1] += u32::from(late[1]);
        let medians = (median_ms(run, operation), median_ms(other, operation));
        if let ((Some(own), Some(reference)), [false, false]) = (medians, late) {
            by_repeat.push([own, reference]);
        }
        let predicted = |run: &CellRun| run.cell.predicted.get(operation).cloned();
        if let (Some(own), Some(reference)) = (predicted(run), predicted(other)) {
            expected = Some(expected_ms(&own, &reference));
        }
    }
    Computed::of(&by_repeat, behind[0] == behind[1], expected)
}

/// The median of an operation, from the least to the most that it may be: without a late generator's delay it lies between
/// service and response time.
fn median_ms(run: &CellRun, operation: &str) -> Option<[f64; 2]> {
    let (phase, of) = result(run, operation)?;
    let most = times(run.cell.load, of)?.p50_us? / 1e3;
    let service = of.service.as_ref().filter(|_| phase.is_censored());
    let least = service.and_then(|of| of.p50_us).map(|us| us / 1e3);
    Some([least.unwrap_or(most).min(most), most])
}
