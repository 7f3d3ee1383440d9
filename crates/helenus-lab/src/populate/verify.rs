//! Everything that a populate wrote, read back: what is missing, what is wrong, and the checksum of the content.
//! Refuses to be content with counts: each row is compared.

use super::{Place, Populate, PopulateError, PopulateEvent, PopulateStep, run};
use helenus_cluster::error::ClusterError;
use helenus_cluster::ready::ReadyError;
use helenus_cluster::scan::check::{CheckRequest, POSITIONS_MOST, check, lacks};
use helenus_cluster::scan::{Gentleness, ScanEvent, ScanPlace, look};
use helenus_model::sample::{FailureKind, SampleLine};
use helenus_model::workload::checksum::Checksum;
use helenus_model::workload::data_seed;
use helenus_model::workload::expected::Expected;
use helenus_model::workload::findings::{Difference, Findings};
use serde::Serialize;

/// What reading everything back found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verified {
    /// Rows that are there.
    pub rows: u64,
    /// Rows that must be there and are not.
    pub missing: u64,
    /// Rows with other data than were written.
    pub wrong: u64,
    /// Rows that the workload never writes.
    pub foreign: u64,
    /// What was missing or wrong first.
    pub first: Option<String>,
    /// Of the content, whatever the order of its rows; none of a stand-in.
    pub checksum: Option<String>,
    /// Of what must be there.
    pub expected_checksum: Option<String>,
}

impl Verified {
    fn add(&mut self, found: &Findings) {
        self.rows += found.found;
        self.missing += found.missing;
        self.wrong += found.wrong;
        self.foreign += found.foreign;
        let first = found.differences.iter().find_map(|(_, one)| match one {
            Difference::Missing { key } => Some(format!("{key} is missing")),
            Difference::Wrong { key, column, .. } => Some(format!("{column} of {key} is wrong")),
            Difference::Foreign { .. } => None,
        });
        self.first = self.first.take().or(first);
    }

    /// Whether all is there as it was written.
    pub fn is_whole(&self) -> bool {
        self.missing == 0 && self.wrong == 0
    }
}

impl Populate<'_> {
    /// Reads everything back and compares it: by one scan of the ring, or position by position where the ring cannot be
    /// scanned from here: a stand-in, or nodes in pods.
    pub(super) fn verify(&mut self) -> Result<(), PopulateError> {
        (self.events)(PopulateEvent::Step(PopulateStep::Verify));
        self.populated.verified = match &self.place {
            Place::Here(state) if state.runtime.fake.is_none() => {
                let place = ScanPlace::ours(state)?;
                Some(self.scanned(&place)?)
            }
            Place::Here(_) | Place::Pods(_) => self.read_back()?,
        };
        Ok(())
    }

    fn scanned(&mut self, place: &ScanPlace) -> Result<Verified, PopulateError> {
        let filling = &self.request.data;
        let tables = Expected::tables(&filling.workload, data_seed(filling.seed))?;
        let request = CheckRequest {
            population: filling.partitions,
            keep: 1,
            positions_most: POSITIONS_MOST,
            gentleness: Gentleness {
                parallel: None,
                rate: None,
                consistency: helenus_cql::Consistency::LocalQuorum,
            },
        };
        let mut verified = Verified::default();
        let mut sums = (Checksum::default(), Checksum::default());
        let events = &mut self.events;
        for expected in &tables {
            let of = expected.table();
            let table = look(place, &format!("\"{}\".\"{}\"", of.keyspace, of.name))?;
            if let Some(column) = lacks(&table, expected) {
                return Err(PopulateError::OtherTable {
                    table: table.name(),
                    column: column.to_owned(),
                });
            }
            let cancel = &self.context.cancel;
            let report = check(place, &table, expected, &request, cancel, &mut |event| {
                events(match event {
                    ScanEvent::Keys { done, total } => PopulateEvent::Keys { done, of: total },
                    ScanEvent::Progress(at) => PopulateEvent::Scanned {
                        rows: at.rows,
                        share: at.share,
                    },
                    ScanEvent::Partitions(_) => return,
                });
            })?;
            if !report.complete {
                return Err(ClusterError::from(ReadyError::Interrupted).into());
            }
            verified.add(&report.findings);
            sums.0.merge(report.findings.checksum);
            sums.1.merge(report.findings.expected_checksum);
        }
        verified.checksum = Some(sums.0.to_string());
        verified.expected_checksum = Some(sums.1.to_string());
        Ok(verified)
    }

    fn read_back(&mut self) -> Result<Option<Verified>, PopulateError> {
        let Some(phase) = self.request.data.reading(self.request.in_flight) else {
            return Ok(None);
        };
        self.generator()?;
        let plan = self.plan(phase);
        let of = self.journal.partitions;
        let events = &mut self.events;
        let mut done = 0;
        let stand = self.place.stand(self.context);
        let phase = run(stand, self.context, &plan, &mut |line| {
            if let SampleLine::Interval(interval) = line {
                let ended = interval.operations.values();
                done += ended.map(|o| o.completed + o.failures()).sum::<u64>();
                let repeated = 0;
                events(PopulateEvent::Done { done, of, repeated });
            }
            Ok(())
        })?;
        self.go_on()?;
        let failed = |kind| phase.total.failed.get(&kind).copied().unwrap_or(0);
        let missing = failed(FailureKind::MissingRow);
        let wrong = failed(FailureKind::WrongData);
        let unread = phase.total.failures() - missing - wrong;
        let mut first = phase.first_failures.values().cloned();
        if unread > 0 {
            let why = first.next().unwrap_or_default();
            return Err(PopulateError::Unread { count: unread, why });
        }
        Ok(Some(Verified {
            rows: phase.total.rows,
            missing,
            wrong,
            first: first.next(),
            ..Verified::default()
        }))
    }
}
