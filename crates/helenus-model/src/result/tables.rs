//! Tables of what stood beside the phases of a run: the same on a terminal and on a page.
//! Refuses colours, widths and tags: who prints has them.

use super::PhaseResult;
use crate::calibration::Step;
use crate::server_times::{ServerTimes, Times};
use crate::tail::{Overlap, Slow, Tail};
use crate::trace::{Trace, TracedTimes};
use crate::units::{Bytes, digits, percent, thousands};

/// A table of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grid {
    /// What it is of, in a word.
    pub name: &'static str,
    /// The columns; one of numbers begins with `>`.
    pub heads: Vec<&'static str>,
    /// As many cells as there are heads, each.
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    fn new<const N: usize>(
        name: &'static str,
        heads: [&'static str; N],
        rows: impl Iterator<Item = [String; N]>,
    ) -> Self {
        Self {
            name,
            heads: heads.to_vec(),
            rows: rows.map(Vec::from).collect(),
        }
    }

    /// The places of the columns in which at least one row has something.
    pub fn shown(&self) -> Vec<usize> {
        let has = |place: &usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(*place));
            cells.any(|cell| !matches!(cell.as_str(), "" | DASH))
        };
        (0..self.heads.len()).filter(has).collect()
    }
}

/// Requests more than operations that are noted, as a share of the operations: less crosses the window's ends.
const SURPLUS: f64 = 0.02;

const DASH: &str = "–";

fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| DASH.to_owned(), text)
}

/// Microseconds as milliseconds.
fn ms(us: f64) -> String {
    digits(us / 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
fn float(us: u64) -> f64 {
    us as f64
}

/// What each tail overlapped; shares below `from` are left out.
pub fn causes(phases: &[PhaseResult], from: f64) -> Grid {
    let heads = [
        "phase",
        "above",
        ">ms",
        ">operations",
        ">judged",
        "overlapped",
        "on",
        ">share",
        ">by chance",
        ">p (Holm)",
        "",
    ];
    let mut rows = Vec::new();
    for phase in phases {
        for (name, above) in phase.around.tail.iter().flat_map(Tail::known) {
            let row = |[cause, at, share, by_chance, p, named]: [String; 6]| {
                [
                    phase.name.clone(),
                    name.to_owned(),
                    ms(above.above_us),
                    thousands(above.operations),
                    thousands(above.judged),
                    cause,
                    at,
                    share,
                    by_chance,
                    p,
                    named,
                ]
            };
            let listed = above.overlaps.iter().filter(|one| one.share >= from);
            let before = rows.len();
            rows.extend(listed.map(|one| row(overlap(one))));
            if rows.len() == before {
                let mut nothing: [String; 6] = Default::default();
                nothing[0].push_str("nothing that is known");
                rows.push(row(nothing));
            }
        }
    }
    Grid::new("tail", heads, rows.into_iter())
}

fn overlap(one: &Overlap) -> [String; 6] {
    [
        one.cause.words().to_owned(),
        or_dash(one.at.clone(), |at| at),
        percent(one.share),
        or_dash(one.by_chance, percent),
        or_dash(one.p_holm, |p| format!("{p:.3}")),
        if one.named { "named" } else { "" }.to_owned(),
    ]
}

/// The slowest operations of each phase, at most so many.
pub fn slowest(phases: &[PhaseResult], most: usize) -> Grid {
    let heads = [
        "phase",
        "operation",
        ">at, s",
        ">ms",
        ">service, ms",
        "coordinator",
        ">connection",
        ">stream",
        "overlapped",
    ];
    let each = phases.iter().flat_map(|phase| {
        let tail = phase.around.tail.iter();
        let all = tail.flat_map(|tail| tail.slowest.iter().take(most));
        all.map(|one| slow(&phase.name, one))
    });
    Grid::new("slowest", heads, each)
}

fn slow(phase: &str, one: &Slow) -> [String; 9] {
    let causes: Vec<&str> = one.overlapped.iter().map(|cause| cause.words()).collect();
    [
        phase.to_owned(),
        one.operation.clone(),
        format!("{:.3}", one.at_s),
        digits(one.time_ms),
        digits(one.service_ms),
        or_dash(one.coordinator.clone(), |name| name),
        or_dash(one.connection, |number| number.to_string()),
        or_dash(one.stream, |number| number.to_string()),
        causes.join(", "),
    ]
}

/// Service times by coordinator, in milliseconds.
pub fn coordinators(phases: &[PhaseResult]) -> Grid {
    let heads = [
        "phase",
        "coordinator",
        ">completed",
        ">failed",
        ">p50, ms",
        ">p99, ms",
        ">p99.9, ms",
        ">max, ms",
    ];
    let each = phases.iter().flat_map(|phase| {
        phase.around.coordinators.iter().map(|(node, one)| {
            let service = one.service.as_ref();
            [
                phase.name.clone(),
                node.clone(),
                thousands(service.map_or(0, |service| service.count)),
                thousands(one.failed),
                or_dash(service.and_then(|service| service.p50_us), ms),
                or_dash(service.and_then(|service| service.p99_us), ms),
                or_dash(service.and_then(|service| service.p999_us), ms),
                or_dash(service.map(|service| service.max_us), ms),
            ]
        })
    });
    Grid::new("coordinators", heads, each)
}

/// A sentence for each phase in which connections to nodes were lost.
pub fn lost_connections(phases: &[PhaseResult]) -> Vec<String> {
    let lost = phases.iter().filter(|p| p.around.connections_lost > 0);
    lost.map(|phase| {
        format!(
            "{}: connections to nodes that were lost: {}",
            phase.name,
            thousands(phase.around.connections_lost)
        )
    })
    .collect()
}

/// What each node used.
pub fn nodes(phases: &[PhaseResult]) -> Grid {
    let heads = [
        "phase",
        "node",
        ">CPU, s",
        ">disk read",
        ">disk written",
        ">network received",
        ">network sent",
        ">segments sent again",
    ];
    let bytes = |of: Option<u64>| or_dash(of, |n| Bytes(n).to_string());
    let each = phases.iter().flat_map(|phase| {
        phase.around.nodes.iter().map(|(node, one)| {
            [
                phase.name.clone(),
                node.clone(),
                or_dash(one.cpu_us, |us| digits(float(us) / 1e6)),
                bytes(one.read_bytes),
                bytes(one.written_bytes),
                bytes(one.received_bytes),
                bytes(one.sent_bytes),
                or_dash(one.retransmitted, thousands),
            ]
        })
    });
    Grid::new("nodes", heads, each)
}

/// What the generator does alone, in a line; none where its machine was not calibrated.
pub fn calibration<'a>(phases: impl IntoIterator<Item = &'a PhaseResult>) -> Option<String> {
    super::calibration(phases).map(Step::sentence)
}

/// The phases in which the nodes' own timers were read.
fn served(phases: &[PhaseResult]) -> impl Iterator<Item = (&PhaseResult, &ServerTimes)> {
    let each = phases.iter();
    each.filter_map(|phase| Some((phase, phase.around.server_times.as_ref()?)))
}

/// Service times of each phase's operations, and below them the times of the nodes' own timers; of several nodes all
/// together, and `each` where that is asked for.
pub fn server_times(phases: &[PhaseResult], each: bool) -> Grid {
    let heads = [
        "phase",
        "time",
        "node",
        ">requests",
        ">mean, ms",
        ">p50, ms",
        ">p99, ms",
        ">max, ms",
    ];
    let mut rows = Vec::new();
    for (phase, found) in served(phases) {
        let row = |time: String, node: &str, times: &Times| {
            [
                phase.name.clone(),
                time,
                node.to_owned(),
                thousands(times.count),
                or_dash(times.mean_us, ms),
                or_dash(times.p50_us, ms),
                or_dash(times.p99_us, ms),
                ms(times.max_us),
            ]
        };
        for (operation, one) in &phase.operations {
            let service = one.service.as_ref().map(|service| Times {
                count: service.count,
                mean_us: Some(service.mean_us),
                p50_us: service.p50_us,
                p99_us: service.p99_us,
                max_us: service.max_us,
            });
            rows.extend(service.map(|times| row(format!("client: {operation}"), "", &times)));
        }
        for (timer, times) in &found.all {
            let nodes = found.nodes.iter();
            let nodes = nodes.filter_map(|(node, own)| Some((node, own.get(timer)?)));
            let only = found.nodes.keys().next().filter(|_| found.nodes.len() == 1);
            let together = only.map_or("all", String::as_str);
            rows.push(row(timer.words().to_owned(), together, times));
            let apart = nodes.filter(|_| each && only.is_none());
            rows.extend(apart.map(|(node, own)| row(timer.words().to_owned(), node, own)));
        }
    }
    Grid::new("server times", heads, rows.into_iter())
}

/// What a reader of the nodes' own times must know: nodes that are missing, and requests that were not this run's.
pub fn server_notes(phases: &[PhaseResult]) -> Vec<String> {
    let mut notes = Vec::new();
    for (phase, found) in served(phases) {
        let name = &phase.name;
        if !found.missing.is_empty() {
            notes.push(format!(
                "{name}: the times of {} are missing: not read at both ends of the measurement window",
                found.missing.join(", ")
            ));
        }
        if found.surplus() > SURPLUS {
            notes.push(format!(
                "{name}: the nodes coordinated {} requests for {} operations, {} more: other clients, traces, reads of \
                 conditional writes, or operations of several requests",
                thousands(found.coordinated),
                thousands(found.ended),
                percent(found.surplus())
            ));
        }
    }
    notes
}

/// The traced operations of each phase: phase, operation, times.
pub fn traced(phases: &[PhaseResult]) -> impl Iterator<Item = (&str, &str, &TracedTimes)> {
    phases.iter().flat_map(|phase| {
        let traces = phase.around.traces.iter();
        let times = traces.flat_map(|traces| &traces.operations);
        times.map(|(operation, times)| (phase.name.as_str(), operation.as_str(), times))
    })
}

/// How long traced operations were in their coordinators, and how long outside.
pub fn traces(phases: &[PhaseResult]) -> Grid {
    let heads = [
        "phase",
        "operation",
        ">traces",
        ">not whole",
        ">service p50, ms",
        ">in the coordinator, ms",
        ">outside of it, ms",
    ];
    let each = traced(phases).map(|(phase, operation, times)| {
        [
            phase.to_owned(),
            operation.to_owned(),
            thousands(times.traces),
            thousands(times.incomplete),
            ms(times.service_p50_us),
            ms(times.server_p50_us),
            ms(times.outside_p50_us),
        ]
    });
    Grid::new("traced", heads, each)
}

/// What took coordinators longest.
pub fn steps(phases: &[PhaseResult]) -> Grid {
    let heads = [
        "phase",
        "operation",
        ">mean, ms",
        ">share",
        "until the next step after",
    ];
    let each = traced(phases).flat_map(|(phase, operation, times)| {
        times.steps.iter().map(move |step| {
            [
                phase.to_owned(),
                operation.to_owned(),
                ms(step.mean_us),
                percent(step.share),
                step.activity.clone(),
            ]
        })
    });
    Grid::new("steps", heads, each)
}

/// The slowest trace of each operation: what it is, and its steps.
pub fn slowest_traces(phases: &[PhaseResult]) -> Vec<(String, Grid)> {
    let each = traced(phases).flat_map(|(phase, operation, times)| {
        times.slowest.iter().map(move |one| {
            let time = ms(float(one.service_ns()) / 1e3);
            let of = format!(
                "{phase}: the slowest traced {operation}, {time} ms, session {}",
                one.session
            );
            (of, of_trace(one))
        })
    });
    each.collect()
}

fn of_trace(trace: &Trace) -> Grid {
    let each = trace.steps.iter().map(|step| {
        [
            ms(float(step.at_us)),
            step.node.clone(),
            step.activity.clone(),
        ]
    });
    Grid::new("", [">at, ms", "node", "step"], each)
}
