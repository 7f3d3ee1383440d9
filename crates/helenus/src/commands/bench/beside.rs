//! What was beside a run: what the slowest operations overlapped, what coordinators, nodes and distance did, as lines and
//! tables.
//! Refuses a cause that chance explains, but where everything is asked for.

use crate::ui::Table;
use helenus_model::result::{PhaseResult, tables};
use helenus_model::tail::Tail;
use helenus_model::units::thousands;
use std::fmt::Write as _;

/// Slowest operations of a phase that are listed; the JSON and the report have twice as many.
const SLOWEST_SHOWN: usize = 5;

/// What does not overlap so much of a tail is not listed.
const LISTED_FROM: f64 = 0.005;

/// A line for each tail with a named cause; with `detail` all that is known of the tails, and of coordinators and nodes.
pub(super) fn text(phases: &[PhaseResult], detail: bool) -> String {
    let below = |grid| match Table::of(&grid) {
        Some(table) => format!("\n{}", table.render()),
        None => String::new(),
    };
    let mut all = match detail {
        false => lines(phases),
        true => [
            tables::causes(phases, LISTED_FROM),
            tables::slowest(phases, SLOWEST_SHOWN),
            tables::coordinators(phases),
            tables::nodes(phases),
        ]
        .map(below)
        .concat(),
    };
    for note in tables::lost_connections(phases).iter().filter(|_| detail) {
        let _infallible = writeln!(all, "\n{note}");
    }
    all.push_str(&super::distance::table(phases));
    all.push_str(&below(tables::server_times(phases, detail)));
    for note in tables::server_notes(phases) {
        let _infallible = writeln!(all, "{note}");
    }
    all.push_str(&below(tables::traces(phases)));
    if detail {
        all.push_str(&below(tables::steps(phases)));
        for (of, steps) in tables::slowest_traces(phases) {
            let _infallible = write!(all, "\n{of}{}", below(steps));
        }
    }
    all.push_str(&profiles(phases));
    all
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

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::histogram::Histogram;
    use helenus_model::result::{
        Around, CoordinatorResult, Distribution, NodeAround, OperationResult,
    };
    use helenus_model::sample::{SlowOperation, Standing};
    use helenus_model::server_times::{Buckets, NodeTimers, ServerTimes, Timer};
    use helenus_model::tail::{Cause, Overlap, Slow, TailAbove};
    use helenus_model::trace::{Step, Trace, Traces};
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
        tail   above    ms  operations  judged  overlapped                     on     share  by chance  p (Holm)
        write  p99.9  51.2          30      30  a process stopped by a signal  node1   93 %      5.2 %     0.004  named
                                                garbage collection             node1  1.1 %      5.2 %     1.000

        slowest  operation  at, s    ms  service, ms  coordinator  connection  stream  overlapped
        write    write      1.250  52.0         49.5  node1                 0      17  a process stopped by a signal, garbage collection
        ");
        assert_eq!(text(&[phase(Around::default())], true), "");
    }

    #[test]
    fn traced_operations_have_a_table_and_with_detail_their_steps() {
        let trace = Trace {
            session: "6a1f3f30-0000-11f0-8000-000000000001".to_owned(),
            operation: SlowOperation {
                operation: "read".to_owned(),
                intended_ns: None,
                start_ns: 0,
                end_ns: 1_500_000,
                lateness_ns: 0,
                coordinator: None,
                connection: None,
                stream: None,
            },
            coordinator: Some("node1".to_owned()),
            server_us: Some(900),
            steps: vec![Step {
                node: "node1".to_owned(),
                at_us: 120,
                activity: "Executing single-partition query on kv".to_owned(),
            }],
        };
        let with = |traces| {
            phase(Around {
                traces,
                ..Around::default()
            })
        };
        let traced = [with(Traces::of([trace].iter()))];
        insta::assert_snapshot!(text(&traced, false), @"
        traced  operation  traces  not whole  service p50, ms  in the coordinator, ms  outside of it, ms
        write   read            1          0             1.50                   0.900              0.600
        ");
        insta::assert_snapshot!(text(&traced, true), @"
        traced  operation  traces  not whole  service p50, ms  in the coordinator, ms  outside of it, ms
        write   read            1          0             1.50                   0.900              0.600

        steps  operation  mean, ms  share  until the next step after
        write  read          0.780   87 %  Executing single-partition query on kv
                             0.120   13 %  before its first step

        write: the slowest traced read, 1.50 ms, session 6a1f3f30-0000-11f0-8000-000000000001
        at, ms  node   step
         0.120  node1  Executing single-partition query on kv
        ");
        assert_eq!(text(&[with(None)], true), "");
    }

    #[test]
    fn the_nodes_own_times_are_below_the_clients_and_with_detail_by_node() {
        let mut values = vec![0; 128];
        values[37] = 1500;
        let seen = |timer: Timer, total_us| NodeTimers {
            to_ns: 1,
            timers: Buckets::of(&values, total_us)
                .map(|buckets| (timer, buckets))
                .into_iter()
                .collect(),
        };
        let nodes = [
            ("node1", seen(Timer::Write, Some(2_700_000))),
            ("node2", seen(Timer::Queue, None)),
            ("node3", seen(Timer::Write, Some(3_000_000))),
            (
                "node4",
                NodeTimers {
                    to_ns: 1,
                    timers: BTreeMap::new(),
                },
            ),
        ];
        let times = |count: usize| {
            let nodes = nodes.iter().take(count);
            let nodes = nodes.map(|(node, timers)| (*node, timers));
            let mut phase = phase(Around {
                server_times: ServerTimes::of(nodes).map(|times| ServerTimes {
                    ended: 1500,
                    ..times
                }),
                ..Around::default()
            });
            let mut service = Histogram::default();
            (0..1500).for_each(|_| service.record(2_600_000));
            let one = OperationResult {
                service: Distribution::of(&service),
                ..OperationResult::default()
            };
            phase.operations = [("write".to_owned(), one)].into();
            phase
        };
        insta::assert_snapshot!(text(&[times(1)], false), @"
        server times  time                node   requests  mean, ms  p50, ms  p99, ms  max, ms
        write         client: write                 1,500      2.60     2.60     2.60     2.60
                      coordinator: write  node1     1,500      1.80     1.92     1.92     1.92
        ");
        insta::assert_snapshot!(text(&[times(4)], true), @"
        server times  time                node   requests  mean, ms  p50, ms  p99, ms  max, ms
        write         client: write                 1,500      2.60     2.60     2.60     2.60
                      request queue       all       1,500         –     1.92     1.92     1.92
                                          node2     1,500         –     1.92     1.92     1.92
                      coordinator: write  all       3,000      1.90     1.92     1.92     1.92
                                          node1     1,500      1.80     1.92     1.92     1.92
                                          node3     1,500      2.00     1.92     1.92     1.92
        write: the times of node4 are missing: not read at both ends of the measurement window
        write: the nodes coordinated 3,000 requests for 1,500 operations, 100 % more: other clients, traces, reads of conditional writes, or operations of several requests
        ");
        // What was stored before is read.
        let old = phase(Around::default());
        let json = serde_json::to_string(&old).expect("writes");
        assert!(!json.contains("server_times"), "{json}");
        assert_eq!(serde_json::from_str::<PhaseResult>(&json).ok(), Some(old));
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
            let connections_lost = u64::from(two.sent_bytes.is_some()) * 1234;
            phase(Around {
                nodes: [("node1".to_owned(), one.clone()), ("node2".to_owned(), two)].into(),
                coordinators: [("node1".to_owned(), CoordinatorResult::default())].into(),
                connections_lost,
                ..Around::default()
            })
        };
        insta::assert_snapshot!(text(&[with(one.clone())], true), @"
        coordinators  coordinator  completed  failed
        write         node1                0       0

        nodes  node   CPU, s  disk written
        write  node1    1.23         5 MiB
               node2    1.23         5 MiB
        ");
        insta::assert_snapshot!(text(&[with(apart)], true), @"
        coordinators  coordinator  completed  failed
        write         node1                0       0

        nodes  node   CPU, s  disk written  network received  network sent  segments sent again
        write  node1    1.23         5 MiB                 –             –                    –
               node2    1.23         5 MiB             1 MiB         2 MiB               12,345

        write: connections to nodes that were lost: 1,234
        ");
    }
}
