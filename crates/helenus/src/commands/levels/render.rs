//! A comparison of levels as a person reads it: predictions before, tables after, one line a cell meanwhile.
//! Refuses a table across distances: what is compared stands under one heading.

use crate::commands::bench;
use crate::ui::{Answers, Table, Ui};
use helenus_lab::levels::{LevelsEvent, LevelsRequest};
use helenus_model::calibration::Step;
use helenus_model::comparison::Conclusion;
use helenus_model::doubt::Verdict;
use helenus_model::format::Format;
use helenus_model::level_runs::{self, Difference, Row};
use helenus_model::levels::{Cell, Crowded, Load, NotRun, Planned, Prediction};
use helenus_model::run_plan::Extent;
use helenus_model::units::human_duration;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Time around a cell's measurement window: two changes of the schema and what a run needs to begin.
const AROUND_A_CELL: Duration = Duration::from_secs(5);

/// `helenus.levels-plan/1`: what `--dry-run` prints.
#[derive(Serialize)]
struct LevelsPlan<'a> {
    format: Format,
    /// Name of the comparison.
    comparison: &'a str,
    /// The cluster.
    cluster: &'a str,
    /// Root seed.
    seed: u64,
    /// Data centre of the client; empty where it is in none.
    client_dc: &'a str,
    /// Replicas by data centre.
    replicas: &'a BTreeMap<String, u32>,
    /// `inter_dc_tcp_nodelay`; none where it is not set.
    tcp_nodelay: Option<bool>,
    /// Repeats.
    repeats: u32,
    /// The loads.
    loads: &'a [Load],
    /// How many cells are run.
    cells: usize,
    /// How long it takes, about, in seconds.
    about_s: u64,
    /// Of one repeat, in the order of tables.
    predictions: Vec<Predicted<'a>>,
    /// What is not run, and why.
    illegal: &'a [NotRun],
    /// Cells too crowded to show a distance, and why.
    crowded: &'a [Crowded],
}

#[derive(Serialize)]
struct Predicted<'a> {
    /// Consistency level.
    level: &'static str,
    /// The workload.
    workload: &'static str,
    /// The distance.
    distance: &'a str,
    /// The operation.
    operation: &'a str,
    #[serde(flatten)]
    prediction: &'a Prediction,
}

/// How long all cells take.
pub(super) fn estimate(request: &LevelsRequest, planned: &Planned) -> Duration {
    let lasts = request.lasts;
    let each = planned.cells.iter().map(|(cell, _)| {
        let measured_ms = match (lasts.extent, cell.load) {
            (Extent::DurationMs(ms), _) => ms,
            (extent, load) => {
                let phase = level_runs::phases::measured(
                    cell.workload,
                    load,
                    level_runs::phases::Lasts { extent, ..lasts },
                );
                phase.whole_ms().unwrap_or_default()
            }
        };
        Duration::from_millis(lasts.warmup_ms + measured_ms) + AROUND_A_CELL
    });
    each.sum()
}

pub(super) fn dry_run(request: &LevelsRequest, planned: &Planned, ui: &Ui) {
    let first: Vec<&Cell> = in_order(planned);
    let plan = LevelsPlan {
        format: Format::new("levels-plan", 1),
        comparison: &request.comparison,
        cluster: &request.cluster,
        seed: request.seed.0,
        client_dc: &request.client_dc,
        replicas: &request.replicas,
        tcp_nodelay: first.first().and_then(|cell| cell.tcp_nodelay),
        repeats: request.wanted.repeats,
        loads: &request.wanted.loads,
        cells: planned.cells.len(),
        about_s: estimate(request, planned).as_secs(),
        predictions: first.iter().flat_map(|cell| predicted(cell)).collect(),
        illegal: &planned.illegal,
        crowded: &planned.crowded,
    };
    ui.result(&plan, || plan_text(&plan));
}

/// The cells of the first repeat at the first load, in the order of tables: a prediction knows no load.
fn in_order(planned: &Planned) -> Vec<&Cell> {
    let mut cells: Vec<&Cell> = Vec::new();
    for (cell, _) in &planned.cells {
        let known = cells.iter().any(|known| {
            known.level == cell.level
                && known.workload == cell.workload
                && known.distance == cell.distance
        });
        if !known {
            cells.push(cell);
        }
    }
    let strictness = |cell: &Cell| {
        let mut every = helenus_model::levels::EVERY.iter();
        every.position(|level| *level == cell.level)
    };
    let far = |cell: &Cell| cell.round_trips_us.values().copied().max();
    cells.sort_by_key(|cell| (far(cell), cell.workload, strictness(cell)));
    cells
}

fn predicted<'a>(cell: &'a Cell) -> impl Iterator<Item = Predicted<'a>> {
    cell.predicted
        .iter()
        .map(|(operation, prediction)| Predicted {
            level: cell.level.word(),
            workload: cell.workload.word(),
            distance: &cell.distance.word,
            operation,
            prediction,
        })
}

impl Answers for LevelsPlan<'_> {
    fn answer(&self) -> String {
        format!(
            "{}: {} cells in {} on {}, {}, about {}; seed {}",
            self.comparison,
            self.cells,
            repeats(self.repeats),
            self.cluster,
            loads(self.loads),
            human_duration(Duration::from_secs(self.about_s)),
            self.seed
        )
    }
}

fn plan_text(plan: &LevelsPlan<'_>) -> String {
    let mut text = format!(
        "{}\n{}\n\n",
        plan.answer(),
        stands(plan.client_dc, plan.replicas, plan.tcp_nodelay)
    );
    let mut table = Table::new(&[
        "distance",
        "workload",
        "op",
        "level",
        ">on the way",
        "waits for",
    ]);
    for one in &plan.predictions {
        table.row([
            one.distance,
            one.workload,
            one.operation,
            one.level,
            &way(one.prediction),
            &one.prediction.waits_for,
        ]);
    }
    text.push_str(&table.render());
    text.push_str(&not_run(plan.illegal));
    for one in plan.crowded {
        let _infallible = writeln!(text, "crowded: {}", crowded(one, plan.client_dc));
    }
    text.push_str("\nnothing was run (--dry-run)\n");
    text
}

/// The loads in words, joined by "and".
pub(super) fn loads(all: &[Load]) -> String {
    let each: Vec<String> = all.iter().map(|load| load.words()).collect();
    each.join(" and ")
}

fn repeats(n: u32) -> String {
    helenus_model::units::plural(n as usize, "repeat")
}

/// What all cells share.
fn stands(client_dc: &str, replicas: &BTreeMap<String, u32>, tcp_nodelay: Option<bool>) -> String {
    let each = replicas.iter().map(|(name, n)| format!("{name} {n}"));
    let nodelay = tcp_nodelay.map_or("not set".to_owned(), |on| on.to_string());
    format!(
        "client in {client_dc}; replicas {}; inter_dc_tcp_nodelay {nodelay}",
        each.collect::<Vec<_>>().join(", ")
    )
}

fn not_run(illegal: &[NotRun]) -> String {
    let line = |one: &NotRun| {
        format!(
            "not run: {} at {}: {}\n",
            one.workload.word(),
            one.level.word(),
            one.why
        )
    };
    illegal.iter().map(line).collect()
}

/// What keeps a cell from showing a distance, and what helps.
pub(super) fn crowded(one: &Crowded, client_dc: &str) -> String {
    format!(
        "{} at {}, {}, {}: {:.0} requests wait at once, for {} threads of {client_dc}'s nodes: send fewer, or start the nodes with --set native_transport_max_threads=N",
        one.workload.word(),
        one.level.word(),
        one.distance,
        one.load.words(),
        one.waiting.ceil(),
        one.threads
    )
}

#[expect(clippy::cast_precision_loss, reason = "at most minutes")]
fn way(of: &Prediction) -> String {
    let ms = |us: u64| format!("{:.1}", us as f64 / 1e3);
    if of.low_us == of.high_us {
        format!("{} ms", ms(of.low_us))
    } else {
        format!("{} – {} ms", ms(of.low_us), ms(of.high_us))
    }
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    /// What it says, in the words of every report.
    conclusion: Conclusion,
    #[serde(flatten)]
    table: &'a level_runs::Table,
    /// What is not run, and why.
    illegal: &'a [NotRun],
}

impl Answers for Shown<'_> {
    fn answer(&self) -> String {
        self.conclusion.headline.clone()
    }
}

pub(super) fn table(table: &level_runs::Table, illegal: &[NotRun], ui: &Ui) {
    let shown = Shown {
        conclusion: table.conclusion(),
        table,
        illegal,
    };
    ui.result(&shown, || text(&shown.answer(), table, illegal));
}

fn text(answer: &str, of: &level_runs::Table, illegal: &[NotRun]) -> String {
    let mut text = format!(
        "{answer}\n{}, {}; {}\n",
        of.comparison,
        repeats(of.repeats),
        stands(&of.client_dc, &of.replicas, of.tcp_nodelay)
    );
    let mut rest = &of.rows[..];
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|row| together(row, first)).count();
        let (block, after) = rest.split_at(length);
        text.push_str(&self::block(block, of.reference.word()));
        rest = after;
    }
    let _infallible = writeln!(
        text,
        "\ntimes in ms; – is a percentile with fewer than 10 samples above it, or an interval from one repeat"
    );
    if let Some(rule) = of.rule() {
        let _infallible = writeln!(text, "{rule}");
    }
    text.push_str(&bench::render::calibration(
        of.calibration.as_ref().map(Step::sentence),
    ));
    text.push_str(&not_run(illegal));
    for left in &of.left_out {
        let _infallible = writeln!(text, "left out: {} ({}): {}", left.run, left.cell, left.why);
    }
    let _infallible = writeln!(
        text,
        "stored with the tag {0}; `helenus levels --from {0}` shows it again, with --html FILE as a page",
        of.comparison
    );
    text
}

fn together(a: &Row, b: &Row) -> bool {
    a.distance == b.distance
        && a.workload == b.workload
        && a.load == b.load
        && a.operation == b.operation
}

fn block(rows: &[Row], reference: &str) -> String {
    let first = &rows[0];
    let operation = if first.operation == first.workload.word() {
        String::new()
    } else {
        format!(", {}", first.operation)
    };
    let difference = format!(">− {reference}");
    let mut table = Table::new(&[
        "level",
        ">op rate",
        ">mean",
        ">median",
        ">95th",
        ">99th",
        ">99.9th",
        ">max",
        ">on the way",
        &difference,
        "95 % interval",
        ">predicted",
        ">off by",
    ]);
    for row in rows {
        table.row(cells(row));
    }
    format!(
        "\n{} at {}{operation} ({}; round trips {})\n{}",
        first.workload.word(),
        first.distance,
        first.load.words(),
        trips(&first.round_trips_us),
        table.render()
    )
}

fn trips(round_trips_us: &BTreeMap<String, u64>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
    let each = round_trips_us
        .iter()
        .map(|(name, us)| format!("{name} {} ms", *us as f64 / 1e3));
    each.collect::<Vec<_>>().join(", ")
}

fn cells(row: &Row) -> Vec<String> {
    let mut cells = row.cells().to_vec();
    cells.push(row.predicted.as_ref().map_or("–".to_owned(), way));
    if let Some(difference) = &row.difference {
        cells.extend(differs(difference));
    }
    cells
}

fn differs(of: &Difference) -> [String; 4] {
    let dash = || "–".to_owned();
    let interval = of
        .interval_ms
        .map(|[low, high]| format!("{} to {}", signed(low), signed(high)));
    let predicted = of.predicted_ms.map(|[low, high]| {
        if (high - low).abs() < f64::EPSILON {
            signed(low)
        } else {
            format!("{} to {}", signed(low), signed(high))
        }
    });
    [
        signed(of.mean_ms),
        interval.unwrap_or_else(dash),
        predicted.unwrap_or_else(dash),
        of.parts_by_ms.map_or_else(dash, signed),
    ]
}

fn signed(ms: f64) -> String {
    let sign = if ms < 0.0 { '−' } else { '+' };
    format!("{sign}{:.2}", ms.abs())
}

/// The cells as they go: one moving line within a cell, one kept line after it.
pub(super) struct Live<'a> {
    ui: &'a Ui,
    within: bench::Live<'a>,
    began: Instant,
    number: usize,
}

impl<'a> Live<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        Self {
            ui,
            within: bench::Live::new(ui, 0),
            began: Instant::now(),
            number: 0,
        }
    }

    pub(super) fn see(&mut self, event: &LevelsEvent<'_>) {
        match event {
            LevelsEvent::Begins { number, of, cell } => {
                let done = u32::try_from(number - 1).unwrap_or(u32::MAX);
                let left = u32::try_from(of - number + 1).unwrap_or(u32::MAX);
                let time_left = self
                    .began
                    .elapsed()
                    .checked_div(done)
                    .map_or(String::new(), |each| {
                        format!(", {} left", human_duration(each.saturating_mul(left)))
                    });
                self.number = *number;
                self.within.prefix(format!(
                    "cell {number} of {of}{time_left}: {}: ",
                    named(cell)
                ));
            }
            LevelsEvent::Bench(event) => self.within.see(event),
            LevelsEvent::Ended { cell, finished } => {
                let phase = finished.result.phases.first();
                let times = phase.and_then(|phase| phase.total.times().next());
                let median = times.and_then(|(_, times)| times.p50_us);
                let median = median.map_or("–".to_owned(), |us| format!("{:.2}", us / 1e3));
                let word = match finished.result.verdict {
                    Verdict::Valid => "valid",
                    Verdict::Caution => "valid, with cautions",
                    Verdict::Invalid => "invalid",
                };
                self.ui.note(&format!(
                    "cell {}, {}: median {median} ms; {word}",
                    self.number,
                    named(cell)
                ));
            }
        }
    }
}

fn named(cell: &Cell) -> String {
    format!(
        "{} {} at {}",
        cell.level_words(),
        cell.workload.word(),
        cell.distance.word
    )
}
