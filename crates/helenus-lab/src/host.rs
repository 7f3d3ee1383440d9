//! What the host did during a phase: stolen time, CPU that others used, nodes that died.
//! Refuses to judge: the facts go to `helenus_model::doubt`.

use fs_err as fs;
use helenus_cluster::observe::cpu_seconds;
use helenus_cluster::state::ClusterState;
use helenus_model::doubt::OutsideFacts;

/// CPU time of the host so far, in seconds over all processors.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    total: f64,
    busy: f64,
    stolen: f64,
}

/// A look at the host and at the processes of a run.
#[derive(Debug, Clone, Default)]
pub struct Look {
    cpu: Cpu,
    ours: f64,
    /// Node and its process.
    nodes: Vec<(String, Option<i32>)>,
}

/// Looks now; `generator` is the generator's process, if it runs.
pub fn look(cluster: Option<&ClusterState>, generator: Option<i32>) -> Look {
    let nodes: Vec<(String, Option<i32>)> = cluster
        .map(|state| {
            let views = helenus_cluster::observe::pids(state);
            views
                .into_iter()
                .map(|(name, pid)| (name.to_owned(), pid))
                .collect()
        })
        .unwrap_or_default();
    let own = rustix::process::getpid().as_raw_pid();
    let pids = nodes
        .iter()
        .filter_map(|(_, pid)| *pid)
        .chain(generator)
        .chain([own]);
    Look {
        cpu: cpu(),
        ours: pids.filter_map(cpu_seconds).sum(),
        nodes,
    }
}

/// What happened between two looks.
pub fn between(before: &Look, after: &Look, facts: &OutsideFacts) -> OutsideFacts {
    let total = after.cpu.total - before.cpu.total;
    let share = |seconds: f64| (total > 0.0).then(|| (seconds / total).clamp(0.0, 1.0));
    let foreign = (after.cpu.busy - before.cpu.busy) - (after.ours - before.ours);
    let died = before
        .nodes
        .iter()
        .zip(&after.nodes)
        .filter(|((_, was), (_, is))| was != is)
        .map(|((name, _), _)| name.clone())
        .collect();
    OutsideFacts {
        nodes_died: died,
        steal_share: share(after.cpu.stolen - before.cpu.stolen),
        // A death takes the node's CPU time out of the sum: nothing can be said of the others then.
        foreign_cpu_share: if before.nodes == after.nodes {
            share(foreign)
        } else {
            None
        },
        ..facts.clone()
    }
}

/// First line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, in ticks.
fn cpu() -> Cpu {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|n| n.parse().ok())
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a hundred ticks a second")]
    let second = rustix::param::clock_ticks_per_second() as f64;
    let at = |k: usize| ticks.get(k).copied().unwrap_or_default() / second;
    let idle = at(3) + at(4);
    let total: f64 = (0..8).map(at).sum();
    Cpu {
        total,
        busy: total - idle - at(7),
        stolen: at(7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(total: f64, busy: f64, stolen: f64, ours: f64, pid: i32) -> Look {
        let cpu = Cpu {
            total,
            busy,
            stolen,
        };
        Look {
            cpu,
            ours,
            nodes: vec![("node1".into(), Some(pid))],
        }
    }

    #[test]
    fn shares_are_of_all_processors_and_a_new_pid_is_a_death() {
        let none = OutsideFacts::default();
        let quiet = between(
            &at(100.0, 50.0, 0.0, 10.0, 7),
            &at(200.0, 110.0, 3.0, 60.0, 7),
            &none,
        );
        assert_eq!(quiet.foreign_cpu_share, Some(0.1));
        assert_eq!(quiet.steal_share, Some(0.03));
        assert!(quiet.nodes_died.is_empty());
        let died = between(
            &at(100.0, 50.0, 0.0, 10.0, 7),
            &at(200.0, 110.0, 3.0, 2.0, 8),
            &none,
        );
        assert_eq!(died.nodes_died, ["node1"]);
        assert_eq!(died.foreign_cpu_share, None);
    }

    #[test]
    fn this_host_has_a_clock_that_goes_forward() {
        let before = look(None, None);
        let after = look(None, None);
        assert!(after.cpu.total >= before.cpu.total && before.cpu.total > 0.0);
    }
}
