//! What was beside a run: what the slowest operations overlapped, what coordinators, nodes and distance did, as lines and
//! tables.
//! Refuses a cause that chance explains, but where everything is asked for.

use crate::ui::Table;
use helenus_model::result::PhaseResult;
use helenus_model::tail::{Overlap, Slow, Tail};
use helenus_model::trace::TracedTimes;
use helenus_model::units::{Bytes, percent, thousands};
use std::fmt::Write as _;

/// Slowest operations of a phase that are listed; the JSON and the report have twice as many.
const SLOWEST_SHOWN: usize = 5;

/// What does not overlap so much of a tail is not listed.
const LISTED_FROM: f64 = 0.005;

/// A line for each tail with a named cause; with `detail` all that is known of the tails, and of coordinators and nodes.
pub(super) fn text(phases: &[PhaseResult], detail: bool) -> String {
    let mut all = match detail {
        false => lines(phases),
        true => [causes, slowest, coordinators, nodes]
            .map(|table| table(phases))
            .concat(),
    };
    all.push_str(&super::distance::table(phases));
    all.push_str(&traces(phases));
    if detail {
        all.push_str(&steps(phases));
        all.push_str(&slowest_traces(phases));
    }
    all.push_str(&profiles(phases));
    all
}

/// The traced operations of each phase.
fn traced(phases: &[PhaseResult]) -> impl Iterator<Item = (&str, &str, &TracedTimes)> {
    phases.iter().flat_map(|phase| {
        let traces = phase.around.traces.iter();
        let times = traces.flat_map(|traces| &traces.operations);
        times.map(|(operation, times)| (phase.name.as_str(), operation.as_str(), times))
    })
}

/// How long traced operations were in their coordinators, and how long outside.
fn traces(phases: &[PhaseResult]) -> String {
    let heads = [
        "traced",
        "op",
        ">traces",
        ">not whole",
        ">service p50",
        ">in the coordinator",
        ">outside of it",
    ];
    let rows = traced(phases).map(|(phase, operation, times)| {
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
    listed(&heads, rows)
}

/// What took coordinators longest.
fn steps(phases: &[PhaseResult]) -> String {
    let heads = [
        "steps",
        "op",
        ">mean ms",
        ">share",
        "until the next step after",
    ];
    let rows = traced(phases).flat_map(|(phase, operation, times)| {
        times.steps.iter().map(move |step| {
            [
                phase.to_owned(),
                operation.to_owned(),
                format!("{:.3}", step.mean_us / 1e3),
                percent(step.share),
                step.activity.clone(),
            ]
        })
    });
    listed(&heads, rows)
}

/// The slowest trace of each operation, step by step.
fn slowest_traces(phases: &[PhaseResult]) -> String {
    let each = traced(phases).flat_map(|(phase, operation, times)| {
        times.slowest.iter().map(move |one| {
            let time = one.operation.end_ns.saturating_sub(one.operation.start_ns);
            #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
            let service = ms(time as f64 / 1e3);
            let head = format!(
                "\n{phase}, slowest traced {operation}: {service} ms, session {}\n",
                one.session
            );
            let rows = one.steps.iter().map(|step| {
                #[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
                let at = format!("{:.3}", step.at_us as f64 / 1e3);
                [at, step.node.clone(), step.activity.clone()]
            });
            head + listed(&[">at ms", "node", "step"], rows).trim_start_matches('\n')
        })
    });
    each.collect()
}

/// Microseconds as milliseconds.
fn ms(us: f64) -> String {
    format!("{:.2}", us / 1e3)
}

/// A table below an empty line; nothing where it has no row.
fn listed<const N: usize>(heads: &[&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::new(heads);
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    rows.for_each(|row| table.row(row));
    format!("\n{}", table.render())
}

/// The frames of each profile.
fn profiles(phases: &[PhaseResult]) -> String {
    let each = phases.iter().flat_map(|phase| {
        let name = phase.name.as_str();
        phase.around.profiles.iter().map(move |one| (name, one))
    });
    each.map(|(phase, one)| {
        format!(
            "\n{phase}: {} of {}, {} samples in {:.1} s; the flame graph is in `helenus report`\n{}",
            one.event,
            one.node,
            thousands(one.samples),
            one.seconds,
            crate::commands::flame::table(one)
        )
    })
    .collect()
}

/// The farthest tail of each phase for which a cause is named.
fn lines(phases: &[PhaseResult]) -> String {
    let mut text = String::new();
    for phase in phases {
        let tail = phase.around.tail.as_ref();
        if let Some((name, cause)) = tail.and_then(Tail::farthest_named) {
            let _infallible = writeln!(text, "{} {name}: {}", phase.name, cause.sentence());
        }
    }
    text
}

/// A row for each cause of each tail.
fn causes(phases: &[PhaseResult]) -> String {
    let heads = [
        "tail",
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
    let mut table = Table::new(&heads);
    let mut any = false;
    for phase in phases {
        for (name, above) in phase.around.tail.iter().flat_map(Tail::known) {
            any = true;
            let mut lead = vec![
                phase.name.clone(),
                name.to_owned(),
                format!("{:.2}", above.above_us / 1e3),
                thousands(above.operations),
                thousands(above.judged),
            ];
            let listed = above.overlaps.iter();
            let listed: Vec<&Overlap> = listed.filter(|one| one.share >= LISTED_FROM).collect();
            if listed.is_empty() {
                lead.push("nothing that is known".to_owned());
                table.row(lead.clone());
            }
            for one in listed {
                table.row(lead.iter().cloned().chain(cells(one)));
                lead = vec![String::new(); lead.len()];
            }
        }
    }
    match any {
        true => format!("\n{}", table.render()),
        false => String::new(),
    }
}

fn cells(one: &Overlap) -> [String; 6] {
    let dash = || "–".to_owned();
    [
        one.cause.words().to_owned(),
        one.at.clone().unwrap_or_else(dash),
        percent(one.share),
        one.by_chance.map_or_else(dash, percent),
        one.p_holm.map_or_else(dash, |p| format!("{p:.3}")),
        if one.named { "named" } else { "" }.to_owned(),
    ]
}

/// The slowest operations of each phase.
fn slowest(phases: &[PhaseResult]) -> String {
    let mut table = Table::new(&[
        "slowest",
        "op",
        ">at s",
        ">ms",
        ">service",
        "coordinator",
        ">connection",
        ">stream",
        "overlapped",
    ]);
    let mut any = false;
    for phase in phases {
        let mut name = phase.name.as_str();
        for one in phase
            .around
            .tail
            .iter()
            .flat_map(|tail| tail.slowest.iter().take(SLOWEST_SHOWN))
        {
            any = true;
            table.row(slow(name, one));
            name = "";
        }
    }
    match any {
        true => format!("\n{}", table.render()),
        false => String::new(),
    }
}

fn slow(phase: &str, one: &Slow) -> [String; 9] {
    let dash = || "–".to_owned();
    let causes: Vec<&str> = one.overlapped.iter().map(|cause| cause.words()).collect();
    [
        phase.to_owned(),
        one.operation.clone(),
        format!("{:.3}", one.at_s),
        format!("{:.2}", one.time_ms),
        format!("{:.2}", one.service_ms),
        one.coordinator.clone().unwrap_or_else(dash),
        one.connection
            .map_or_else(dash, |number| number.to_string()),
        one.stream.map_or_else(dash, |number| number.to_string()),
        causes.join(", "),
    ]
}

/// Service times by coordinator.
fn coordinators(phases: &[PhaseResult]) -> String {
    let mut table = Table::new(&[
        "coordinators",
        "node",
        ">done",
        ">failed",
        ">p50",
        ">p99",
        ">p99.9",
        ">max",
    ]);
    let ms = |us: Option<f64>| us.map_or("–".to_owned(), |us| format!("{:.2}", us / 1e3));
    let mut any = false;
    for phase in phases {
        let mut name = phase.name.as_str();
        for (node, one) in &phase.around.coordinators {
            any = true;
            let service = one.service.as_ref();
            table.row([
                name.to_owned(),
                node.clone(),
                thousands(service.map_or(0, |service| service.count)),
                thousands(one.failed),
                ms(service.and_then(|service| service.p50_us)),
                ms(service.and_then(|service| service.p99_us)),
                ms(service.and_then(|service| service.p999_us)),
                ms(service.map(|service| service.max_us)),
            ]);
            name = "";
        }
    }
    match any {
        true => format!("\n{}", table.render()),
        false => String::new(),
    }
}

/// What each node used; columns in which nothing was read are left out.
fn nodes(phases: &[PhaseResult]) -> String {
    let each = || phases.iter().flat_map(|phase| phase.around.nodes.values());
    if each().next().is_none() {
        return String::new();
    }
    let network = each().any(|node| node.sent_bytes.is_some());
    let mut heads = vec!["nodes", "node", ">CPU s", ">disk read", ">written"];
    if network {
        heads.extend([">received", ">sent", ">segments again"]);
    }
    let mut table = Table::new(&heads);
    let bytes = |n: Option<u64>| n.map_or("–".to_owned(), |n| Bytes(n).to_string());
    #[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
    let seconds =
        |us: Option<u64>| us.map_or("–".to_owned(), |us| format!("{:.2}", us as f64 / 1e6));
    for phase in phases {
        let mut name = phase.name.as_str();
        for (node, one) in &phase.around.nodes {
            let mut cells = vec![
                name.to_owned(),
                node.clone(),
                seconds(one.cpu_us),
                bytes(one.read_bytes),
                bytes(one.written_bytes),
            ];
            if network {
                let again = one.retransmitted.map_or("–".to_owned(), thousands);
                cells.extend([bytes(one.received_bytes), bytes(one.sent_bytes), again]);
            }
            table.row(cells);
            name = "";
        }
    }
    format!("\n{}", table.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::result::{Around, CoordinatorResult, NodeAround, OperationResult};
    use helenus_model::sample::Standing;
    use helenus_model::tail::{Cause, TailAbove};
    use std::collections::BTreeMap;

    fn phase(around: Around) -> PhaseResult {
        PhaseResult {
            name: "write".to_owned(),
            rate_per_s: Some(1000.0),
            achieved_per_s: 1000.0,
            in_flight: 64,
            duration_s: 30.0,
            thread_busy: 0.1,
            backlog: 0,
            abandoned: 0,
            standing: Standing::default(),
            total: OperationResult::default(),
            operations: BTreeMap::new(),
            first_failures: BTreeMap::new(),
            steadiness: None,
            around,
            doubts: vec![],
            verdict: helenus_model::doubt::Verdict::Valid,
        }
    }

    fn tail(named: bool) -> Tail {
        let overlap = |cause, share, named| Overlap {
            cause,
            at: Some("node1".to_owned()),
            share,
            by_chance: Some(0.052),
            p_holm: Some(if named { 0.004 } else { 1.0 }),
            named,
        };
        Tail {
            p99: None,
            p999: Some(TailAbove {
                above_us: 51_200.0,
                operations: 30,
                judged: 30,
                overlaps: vec![
                    overlap(Cause::Paused, 0.934, named),
                    overlap(Cause::Collection, 0.011, false),
                    overlap(Cause::Safepoint, 0.001, false),
                ],
            }),
            slowest: vec![Slow {
                operation: "write".to_owned(),
                at_s: 1.25,
                time_ms: 52.0,
                service_ms: 49.5,
                coordinator: Some("node1".to_owned()),
                connection: Some(0),
                stream: Some(17),
                overlapped: vec![Cause::Paused, Cause::Collection],
            }],
        }
    }

    #[test]
    fn a_cause_is_a_line_and_with_detail_a_table() {
        let with = |named| {
            phase(Around {
                tail: Some(tail(named)),
                ..Around::default()
            })
        };
        insta::assert_snapshot!(text(&[with(true)], false), @"write p99.9: a process stopped by a signal (node1), 93 % of its operations' time (5.2 % by chance)");
        assert_eq!(text(&[with(false)], false), "");
        insta::assert_snapshot!(text(&[with(true)], true), @"
        tail   above     ms  operations  judged  overlapped                     on     share  by chance  p (Holm)
        write  p99.9  51.20          30      30  a process stopped by a signal  node1   93 %      5.2 %     0.004  named
                                                 garbage collection             node1  1.1 %      5.2 %     1.000

        slowest  op      at s     ms  service  coordinator  connection  stream  overlapped
        write    write  1.250  52.00    49.50  node1                 0      17  a process stopped by a signal, garbage collection
        ");
        assert_eq!(text(&[phase(Around::default())], true), "");
    }

    #[test]
    fn nodes_without_a_network_namespace_have_no_such_columns() {
        let one = NodeAround {
            cpu_us: Some(1_230_000),
            written_bytes: Some(5 << 20),
            ..NodeAround::default()
        };
        let apart = NodeAround {
            received_bytes: Some(1 << 20),
            sent_bytes: Some(2 << 20),
            retransmitted: Some(12_345),
            ..one.clone()
        };
        let with = |two: NodeAround| {
            phase(Around {
                nodes: [("node1".to_owned(), one.clone()), ("node2".to_owned(), two)].into(),
                coordinators: [("node1".to_owned(), CoordinatorResult::default())].into(),
                ..Around::default()
            })
        };
        insta::assert_snapshot!(text(&[with(one.clone())], true), @"
        coordinators  node   done  failed  p50  p99  p99.9  max
        write         node1     0       0    –    –      –    –

        nodes  node   CPU s  disk read  written
        write  node1   1.23          –    5 MiB
               node2   1.23          –    5 MiB
        ");
        insta::assert_snapshot!(nodes(&[with(apart)]), @"
        nodes  node   CPU s  disk read  written  received   sent  segments again
        write  node1   1.23          –    5 MiB         –      –               –
               node2   1.23          –    5 MiB     1 MiB  2 MiB          12,345
        ");
    }
}
