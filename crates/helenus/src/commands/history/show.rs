//! The list of runs and comparisons, and one of them whole.
//! Refuses to draw results itself: the tables are those that `bench` prints.

use crate::commands::bench::render;
use crate::commands::compare;
use crate::error::CommandError;
use crate::ui::{Answers, Table, Ui};
use helenus_model::comparison::Side;
use helenus_model::doubt::Verdict;
use helenus_model::format::Format;
use helenus_model::result::RunResult;
use helenus_model::sample::{Header, Interval, MeasuredFrom};
use helenus_model::telemetry::{self, FaultSeen, Reading};
use helenus_model::units::{plural, thousands, whole};
use helenus_record::report::run_answer;
use helenus_record::when::Utc;
use helenus_record::{
    ComparisonId, History, ON_KEY, RunId, RunSummary, StoredComparison, StoredRun,
};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;

#[derive(Serialize)]
struct Listed<'a> {
    format: Format,
    /// The runs, the newest last.
    runs: &'a [RunSummary],
    /// The comparisons.
    comparisons: Vec<ComparisonLine<'a>>,
    #[serde(skip)]
    only_comparisons: bool,
    /// Flags left something out.
    #[serde(skip)]
    narrowed: bool,
}

impl Answers for Listed<'_> {
    fn answer(&self) -> String {
        let comparisons = plural(self.comparisons.len(), "comparison");
        match (self.runs.len(), self.comparisons.len()) {
            (_, 0) if self.only_comparisons => NO_COMPARISON.to_owned(),
            _ if self.only_comparisons => comparisons,
            (0, _) if self.narrowed => NONE_LIKE_THAT.to_owned(),
            (0, _) => NO_RUN.to_owned(),
            (n, _) => format!("{}, {comparisons}", plural(n, "run")),
        }
    }
}

const NO_COMPARISON: &str = "no comparison yet; `helenus compare` makes one";
const NONE_LIKE_THAT: &str = "no run matches; `helenus history` lists them all";
const NO_RUN: &str = "no run yet; `helenus bench` makes one";

#[derive(Serialize)]
struct ComparisonLine<'a> {
    /// Its name.
    id: ComparisonId,
    /// When it was made, in nanoseconds since 1970.
    made_wall_ns: u64,
    /// Side A.
    a: &'a Side,
    /// Side B.
    b: &'a Side,
    /// How many pairs it has.
    pairs: usize,
}

impl<'a> ComparisonLine<'a> {
    fn of(one: &'a StoredComparison) -> Self {
        Self {
            id: one.id,
            made_wall_ns: one.made_wall_ns,
            a: &one.comparison.a,
            b: &one.comparison.b,
            pairs: one.comparison.pairs.len(),
        }
    }
}

/// A run as `show` and `export` write it.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    format: Format,
    /// Its name.
    run: RunId,
    /// The run in short.
    summary: &'a RunSummary,
    /// The command line, without secrets.
    command: &'a str,
    /// Version of Helenus.
    helenus: &'a str,
    /// The plan that ran, as it was hashed.
    plan: Value,
    /// The machine that it ran on.
    host: &'a Value,
    /// Plan of its cluster; none where that was named.
    cluster_plan: Option<&'a Value>,
    /// Identifies this life of the nodes' processes; none where it is not known.
    life: Option<&'a str>,
    /// What the generator reported at its start.
    header: Option<&'a Header>,
    /// Latencies are in microseconds, as the names of the fields say.
    result: Option<&'a RunResult>,
    /// Faults as they really were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<FaultSeen>,
    /// What happened interval by interval; only where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) intervals: Option<Vec<Interval>>,
}

impl<'a> Shown<'a> {
    pub(super) fn of(run: &'a StoredRun) -> Result<Self, CommandError> {
        let plan = serde_json::from_str(&run.plan_json)?;
        Ok(Self {
            format: Format::new("stored-run", 1),
            run: run.summary.id,
            summary: &run.summary,
            command: &run.command,
            helenus: &run.helenus_version,
            plan,
            host: &run.host,
            cluster_plan: run.cluster_plan.as_ref(),
            life: run.life.as_deref(),
            header: run.header.as_ref(),
            result: run.result.as_ref(),
            faults: Vec::new(),
            intervals: None,
        })
    }

    pub(super) fn id(&self) -> RunId {
        self.run
    }

    /// With its faults, as the readings beside it show them.
    pub(super) fn with_faults(self, readings: &[Reading], intervals: &[Interval]) -> Self {
        let zero_ns = MeasuredFrom::of(intervals).unwrap_or_default();
        Self {
            faults: telemetry::faults(readings, zero_ns),
            ..self
        }
    }
}

impl Answers for Shown<'_> {
    fn answer(&self) -> String {
        let (begun, end) = (began(self.summary), ended(self.summary, self.result));
        format!("{begun}; {end}")
    }
}

/// The first line.
fn began(summary: &RunSummary) -> String {
    let when = Utc::of_ns(summary.began_wall_ns);
    format!("run {}: {}, started {when} UTC", summary.id, state(summary))
}

/// What came of it.
fn ended(summary: &RunSummary, result: Option<&RunResult>) -> String {
    match result {
        Some(result) => run_answer(Some(result)),
        None if summary.running => "it is under way: no result yet".to_owned(),
        None => "it is broken: its process was killed, and there is no result".to_owned(),
    }
}

/// Everything that is listed, the newest last; `narrowed` where flags left something out.
pub(super) fn list(
    runs: &[RunSummary],
    comparisons: &[StoredComparison],
    only_comparisons: bool,
    narrowed: bool,
    ui: &Ui,
) {
    let listed = Listed {
        format: Format::new("history", 1),
        runs,
        comparisons: comparisons.iter().map(ComparisonLine::of).collect(),
        only_comparisons,
        narrowed,
    };
    ui.result(&listed, || {
        if only_comparisons && !comparisons.is_empty() {
            comparison_table(&listed.comparisons)
        } else if only_comparisons || runs.is_empty() {
            listed.answer() + "\n"
        } else {
            let mut text = table(runs);
            text.push_str("times in ms, moments in UTC; – is a percentile with fewer than 10 samples above it\n");
            if !comparisons.is_empty() {
                let count = plural(comparisons.len(), "comparison");
                let _infallible = writeln!(text, "{count}: `helenus history --comparisons`");
            }
            text
        }
    });
}

/// Runs as a table: a row for each phase, the run's own facts in the first of them.
pub(super) fn table(runs: &[RunSummary]) -> String {
    let mut table = Table::new(&[
        "run",
        "when",
        "state",
        "verdict",
        "workload",
        "release",
        "preset",
        "tags",
        "phase",
        ">rate",
        ">op/s",
        ">service p99",
        ">response p99",
    ]);
    for run in runs {
        let mut own = vec![
            run.id.to_string(),
            Utc::of_ns(run.began_wall_ns).to_minute(),
            state(run),
            run.verdict.map_or("", verdict).to_owned(),
            run.workload.clone(),
            run.release.clone().unwrap_or_default(),
            run.preset.clone().unwrap_or_default(),
            run.tags.join(" "),
        ];
        for phase in &run.phases {
            let ended = phase.verdict.is_some();
            let ms = |us: Option<f64>, there: bool| match us {
                Some(us) => format!("{:.2}", us / 1e3),
                None if ended && there => "–".to_owned(),
                None => String::new(),
            };
            let rate = phase.rate_per_s.map_or("closed".to_owned(), whole);
            own.extend([
                phase.name.clone(),
                rate,
                phase.achieved_per_s.map_or_else(String::new, whole),
                ms(phase.service_p99_us, true),
                ms(phase.response_p99_us, phase.rate_per_s.is_some()),
            ]);
            table.row(std::mem::replace(&mut own, vec![String::new(); 8]));
        }
        if run.phases.is_empty() {
            table.row(own);
        }
    }
    table.render()
}

fn comparison_table(comparisons: &[ComparisonLine<'_>]) -> String {
    let mut table = Table::new(&["comparison", "when", "a", "b", ">pairs"]);
    for one in comparisons {
        let side = |side: &Side| format!("{} ({})", side.label, plural(side.runs.len(), "run"));
        table.row([
            one.id.to_string(),
            Utc::of_ns(one.made_wall_ns).to_minute(),
            side(one.a),
            side(one.b),
            one.pairs.to_string(),
        ]);
    }
    table.render()
}

/// What became of a run, in the list's word.
fn state(run: &RunSummary) -> String {
    if run.running {
        "running".to_owned()
    } else {
        run.state.to_string()
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Caution => "caution",
        Verdict::Invalid => "invalid",
    }
}

pub(super) fn run(name: &str, history: &History, ui: &Ui) -> Result<u8, CommandError> {
    if let Some(id) = ComparisonId::named(name) {
        let stored = history.comparison(id)?;
        compare::render::show(&stored.comparison, Some(id.to_string()), ui);
        return Ok(0);
    }
    let id = history.resolve_one(name)?.id;
    let stored = history.run(id)?;
    let intervals = history.intervals(id)?;
    let shown = Shown::of(&stored)?.with_faults(&history.readings(id)?, &intervals);
    ui.result(&shown, || text(&stored, &shown, intervals.len()));
    Ok(0)
}

fn text(run: &StoredRun, shown: &Shown<'_>, intervals: usize) -> String {
    let summary = &run.summary;
    let mut text = began(summary) + "\n";
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            let _infallible = writeln!(text, "{name:<11} {value}");
        }
    };
    fact("tags", summary.tags.join(" "));
    if summary.received {
        fact("from", "another history".to_owned());
    }
    fact("command", run.command.clone());
    fact("helenus", run.helenus_version.clone());
    fact("cluster", cluster(run));
    fact("host", host(&run.host));
    let on = run.host[ON_KEY].as_str();
    fact("on", on.unwrap_or_default().to_owned());
    fact(
        "workload",
        format!(
            "{}, seed {}, plan {:.12}",
            summary.workload, summary.seed.0, summary.plan_hash
        ),
    );
    fact("place", place(run));
    fact("intervals", intervals.to_string());
    for phase in shown.plan["phases"].as_array().into_iter().flatten() {
        fact("phase", planned(phase));
    }
    text.push('\n');
    match &run.result {
        Some(result) => text.push_str(&render::result(
            result,
            &shown.faults,
            Some(&summary.id.to_string()),
            true,
        )),
        None => text.push_str(&(ended(summary, None) + "\n")),
    }
    text
}

fn cluster(run: &StoredRun) -> String {
    let summary = &run.summary;
    let Some(release) = &summary.release else {
        return "one given by its addresses".to_owned();
    };
    let mut text = format!("Cassandra {release}");
    let nodes = run
        .cluster_plan
        .as_ref()
        .and_then(|p| p["nodes"].as_array());
    if let Some(nodes) = nodes {
        let _infallible = write!(text, ", {}", plural(nodes.len(), "node"));
    }
    for (word, value) in [("preset", &summary.preset), ("JVM", &summary.jvm)] {
        if let Some(value) = value {
            let _infallible = write!(text, ", {word} {value}");
        }
    }
    text
}

fn host(host: &Value) -> String {
    let processor = host["processor"].as_str().unwrap_or("an unknown processor");
    let kernel = host["kernel"].as_str().unwrap_or("unknown");
    match host["cores"].as_u64() {
        Some(cores) => format!("{cores} cores of {processor}, kernel {kernel}"),
        None => format!("{processor}, kernel {kernel}"),
    }
}

fn place(run: &StoredRun) -> String {
    let place = &run.summary.place;
    let experiment = match &place.experiment_name {
        Some(name) => format!("experiment {} ({name})", place.experiment),
        None => format!("experiment {}", place.experiment),
    };
    let trial = match &place.trial_name {
        Some(name) => format!("trial {name}"),
        None => format!("trial {}", place.trial),
    };
    format!("{experiment}, {trial}, restart {}", place.restart)
}

/// A phase of the plan in a line; plans of other versions have what they have.
fn planned(phase: &Value) -> String {
    let mut text = phase["name"].as_str().unwrap_or_default().to_owned();
    match phase["rate_per_s"].as_f64() {
        Some(rate) => {
            let _infallible = write!(text, ": {}/s", whole(rate));
        }
        None => text.push_str(": closed loop"),
    }
    if let Some(in_flight) = phase["in_flight"].as_u64() {
        let _infallible = write!(text, ", {in_flight} in flight");
    }
    if let Some(warmup) = phase["warmup_ms"].as_u64() {
        let _infallible = write!(text, ", {warmup} ms warm-up");
    }
    let extent = &phase["extent"];
    if let Some(ms) = extent["duration_ms"].as_u64() {
        let _infallible = write!(text, ", {ms} ms measured");
    }
    if let Some(count) = extent["count"].as_u64() {
        let _infallible = write!(text, ", {} operations", thousands(count));
    }
    text
}
