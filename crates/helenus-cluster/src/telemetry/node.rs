//! One node beside a run: its process, its log and its own answers, as readings.
//! Refuses to take another process for the one it saw: a new one is a death and a beginning.

use super::ask::{Asker, Way};
use super::gc_tail::GcTail;
use super::kernel;
use crate::alive;
use crate::upgrade::WHY_FILE;
use helenus_model::gc_log::Stop;
use helenus_model::plan::{GC_LOG, NodePlan};
use helenus_model::telemetry::{Event, EventKind, NodeSample, Reading, Seen};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

/// A node that is looked at.
#[derive(Debug)]
pub(super) struct Node {
    name: String,
    folder: PathBuf,
    asker: Asker,
    log: GcTail,
    life: Life,
    /// The process that was found last.
    pid: Option<i32>,
    collections: u64,
    /// What was seen and not reported yet.
    sample: Option<(u64, NodeSample)>,
    events: Vec<Reading>,
}

impl Node {
    /// # Errors
    /// No thread can be had.
    pub(super) fn watch(plan: &NodePlan, cql: SocketAddr, way: Way) -> io::Result<Self> {
        let folder = PathBuf::from(&plan.folder);
        Ok(Self {
            name: plan.name.clone(),
            asker: Asker::begin(cql, way)?,
            log: GcTail::join(folder.join(GC_LOG)),
            folder,
            life: Life::default(),
            pid: None,
            collections: 0,
            sample: None,
            events: Vec::new(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Asks the node itself; the answer may come until [`Self::readings`].
    pub(super) fn ask(&mut self) {
        self.asker.ask();
    }

    /// Its process now.
    pub(super) fn find(&mut self) -> Option<i32> {
        let holder = alive::holder(&self.folder).ok().flatten();
        self.pid = holder.map(rustix::process::Pid::as_raw_pid);
        self.pid
    }

    /// What the kernel and its log report.
    pub(super) fn look(&mut self, at_ns: u64) {
        let found = self.pid.and_then(|pid| Some((pid, kernel::process(pid)?)));
        if let Some(from_ns) = self.life.see(at_ns, found.map(|(pid, _)| pid)) {
            self.died(from_ns, at_ns);
        }
        self.sample = found
            .and_then(|(pid, process)| kernel::node(pid, process))
            .map(|sample| (at_ns, sample));
        for stop in self.log.take() {
            self.collections += u64::from(matches!(stop, Stop::Collection(_)));
            self.events.extend(stop.event(&self.name));
        }
    }

    /// All that was seen, with what the node answers until then.
    pub(super) fn readings(&mut self, until: Instant) -> Vec<Reading> {
        let mut readings = std::mem::take(&mut self.events);
        let answer = self.asker.answer(until);
        if let Some((at_ns, mut sample)) = self.sample.take() {
            sample.collections = self.log.is_there().then_some(self.collections);
            sample.answered = answer.is_some();
            if let Some(answer) = answer {
                sample.pools = answer.pools;
                sample.compactions = answer.compactions;
            }
            readings.push(Reading {
                source: self.name.clone(),
                at_ns,
                seen: Seen::Node(sample),
            });
        }
        readings
    }

    /// The events that are still under way, as far as they got.
    pub(super) fn finish(&mut self, at_ns: u64) -> Vec<Reading> {
        if let Some(from_ns) = self.life.under_way() {
            self.died(from_ns, at_ns);
        }
        std::mem::take(&mut self.events)
    }

    fn died(&mut self, from_ns: u64, to_ns: u64) {
        let what = EventKind::Died;
        let text = match fs_err::read_to_string(self.folder.join(WHY_FILE)) {
            Ok(why) => format!("its process was gone: {}", why.trim()),
            Err(_) => "its process was gone".to_owned(),
        };
        self.events.push(Reading {
            source: self.name.clone(),
            at_ns: from_ns,
            seen: Seen::Event(Event { what, to_ns, text }),
        });
    }
}

/// Deaths of a process, out of one look after the other.
#[derive(Debug, Default)]
struct Life {
    /// The process that lived, and when it was last seen to.
    last: Option<(i32, u64)>,
    gone_from_ns: Option<u64>,
}

impl Life {
    /// Takes the next look; since when it had been gone, where it lives again.
    fn see(&mut self, at_ns: u64, found: Option<i32>) -> Option<u64> {
        if let Some((pid, seen_ns)) = self.last
            && found != Some(pid)
        {
            // It died some time after it was last seen alive.
            self.gone_from_ns = Some(seen_ns);
            self.last = None;
        }
        self.last = Some((found?, at_ns));
        self.gone_from_ns.take()
    }

    /// Since when it has been gone, where it is.
    fn under_way(&mut self) -> Option<u64> {
        self.gone_from_ns.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_dated_from_when_it_was_last_seen_alive() {
        let mut life = Life::default();
        let mut deaths = Vec::new();
        // Not there yet, there, gone for two looks, there as another process, replaced at once, gone.
        let looks = [
            None,
            Some(7),
            Some(7),
            None,
            None,
            Some(8),
            Some(9),
            Some(9),
            None,
        ];
        for (at_ns, found) in (0..).zip(looks) {
            deaths.extend(life.see(at_ns, found).map(|from| (at_ns, from)));
        }
        assert_eq!(deaths, [(5, 2), (6, 5)]);
        assert_eq!(life.under_way(), Some(7));
        assert_eq!(life.under_way(), None);
    }
}
