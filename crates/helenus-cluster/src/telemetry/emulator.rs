//! The emulator of distance beside a run: what its keeper reports of packets, lateness and CPU.
//! Refuses to wait for a keeper, and to guess for one that is gone.

use crate::alive;
use crate::net::client::Keeper;
use crate::net::control::Status;
use crate::net::folder_of;
use crate::state::ClusterState;
use helenus_model::telemetry::{EmulatorSample, PairSample};
use helenus_model::topology::wan::Wan;
use std::path::PathBuf;
use std::time::Duration;

/// Longest wait for the keeper's answer, which is of numbers that it has at hand.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);

/// A keeper that is looked at.
#[derive(Debug)]
pub(super) struct Emulator {
    cluster: PathBuf,
    keeper: Option<Keeper>,
}

impl Emulator {
    /// Of a cluster that has distance; none of others.
    pub(super) fn of(state: &ClusterState) -> Option<Self> {
        state.plan.network.as_ref()?;
        Some(Self {
            cluster: PathBuf::from(&state.plan.folder),
            keeper: None,
        })
    }

    /// Its process now.
    pub(super) fn find(&self) -> Option<i32> {
        let holder = alive::holder(&folder_of(&self.cluster)).ok().flatten();
        holder.map(rustix::process::Pid::as_raw_pid)
    }

    /// What it reports; the conversation that failed is started again at the next look.
    pub(super) fn look(&mut self) -> Option<EmulatorSample> {
        let keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None => Keeper::call_within(&self.cluster, ANSWER_WITHIN).ok()?,
        };
        let status = keeper.status().ok()?;
        self.keeper = Some(keeper);
        Some(sample(&status))
    }
}

fn sample(status: &Status) -> EmulatorSample {
    let mut pairs: Vec<PairSample> = Vec::new();
    for (directed, carried) in status.links.iter().zip(&status.carried) {
        let back = |p: &&mut PairSample| p.between == [&*directed.to, &*directed.from];
        match pairs.iter_mut().find(back) {
            Some(pair) => {
                pair.round_trip_us += directed.link.delay_us;
                pair.packets += carried.packets;
            }
            None => pairs.push(PairSample {
                between: [directed.from.clone(), directed.to.clone()],
                round_trip_us: directed.link.delay_us,
                packets: carried.packets,
            }),
        }
    }
    EmulatorSample {
        cpu_us: status.work.cpu_us,
        lateness: status.work.lateness.clone(),
        late_us: status.work.late_us,
        probed: status.wan == Wan::Netem,
        pairs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_ways_of_a_link_are_one_round_trip() {
        let one = |from: &str, to: &str, delay_us: u64| json!({"from": from, "to": to, "delay_us": delay_us});
        let carried = |packets: u64| json!({"packets": packets, "bytes": 0, "lost": 0, "held": 0});
        let status = json!({
            "format": "helenus.network-status/1",
            "links": [
                one("DC1", "DC2", 10_000),
                one("DC1", "DC3", 40_000),
                one("DC2", "DC1", 12_000),
                one("DC3", "DC1", 40_000),
            ],
            "carried": [carried(5), carried(1), carried(6), carried(0)],
            "work": {
                "cpu_us": 7, "up_us": 9, "lateness": {"counts": [3, 2]}, "wakes": 1, "verdicts": 1, "packets": 5,
                "late_us": 2, "latest_us": 1, "late_1ms": 0, "overrun": 0, "stamped": true, "realtime": false,
            },
            "way": "target",
            "user_namespace": false,
            "settings": {},
        });
        let seen = sample(&serde_json::from_value(status).expect("a status"));
        let pairs: Vec<_> = seen
            .pairs
            .iter()
            .map(|p| (p.between[1].as_str(), p.round_trip_us, p.packets))
            .collect();
        assert_eq!(pairs, [("DC2", 22_000, 11), ("DC3", 80_000, 1)]);
        assert_eq!((seen.cpu_us, seen.late_us), (7, 2));
        assert_eq!(seen.lateness.packets(), 5);
    }

    #[test]
    fn a_keeper_that_is_gone_reports_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut emulator = Emulator {
            cluster: folder.path().to_owned(),
            keeper: None,
        };
        assert_eq!((emulator.find(), emulator.look()), (None, None));
    }
}
