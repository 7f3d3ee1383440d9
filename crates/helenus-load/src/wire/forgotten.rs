//! A statement that a node has forgotten: it is prepared again on that connection, and what waits is sent once more.
//! Refuses to send it anywhere else: the operation has chosen its coordinator.

use super::link::Waits;
use super::statement::envelope;
use super::{Place, Slot, Wire};
use crate::endpoint::Fault;
use crate::sys;
use helenus_cql::codec::{Opcode, Prepared, Request};
use helenus_model::sample::FailureKind;

impl Wire {
    /// The node has forgotten a statement: it is prepared again, and the operation waits.
    pub(super) fn prepare_again(&mut self, at: usize, slot: usize, statement: usize) {
        let waits = |other: &Slot| other.place == Place::Waiting(at, statement);
        let asked = self.slots.iter().any(waits);
        self.slots[slot].place = Place::Waiting(at, statement);
        let Some(link) = self.links[at].as_mut().filter(|_| !asked) else {
            return;
        };
        let request = Request::Prepare {
            cql: self.statements[statement].cql.clone(),
            keyspace: None,
        };
        let version = link.version;
        if link.pending() == 0 {
            self.unsent.push(at);
        }
        let sent = link.push(Waits::Statement(statement), |stream, out| {
            envelope(out, (version, 0, stream, Opcode::Prepare), |out| {
                request.encode(version, out)
            })
        });
        if !matches!(sent, Ok(Some(_))) {
            let why = Fault {
                kind: FailureKind::Other,
                message: "the node has forgotten the statement, and no stream is free".to_owned(),
            };
            self.fail(slot, &why, sys::monotonic_ns());
        }
    }

    /// Sends again what has waited for a statement, which the node knows as this, or fails it.
    pub(super) fn go_on(
        &mut self,
        at: usize,
        statement: usize,
        known: Result<Prepared, Fault>,
        now_ns: u64,
    ) {
        let known = known.map(|prepared| self.statements[statement].renew(prepared));
        for slot in 0..self.slots.len() {
            if self.slots[slot].place != Place::Waiting(at, statement) {
                continue;
            }
            let sent = known.clone().and_then(|()| self.send(slot, at));
            if let Err(why) = sent {
                self.fail(slot, &why, now_ns);
            }
        }
    }
}
