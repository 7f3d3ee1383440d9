//! What a workload's operations send, and how their answers are judged.
//! Refuses sockets.

use super::custom::Customs;
use super::fault::of_check;
use super::profile::Profiles;
use super::statement::{Draft, Judged, Statement};
use crate::endpoint::{EndpointError, Fault};
use helenus_cql::client::Client;
use helenus_cql::codec::Answer;
use helenus_model::sample::FailureKind;
use helenus_model::seed::Seed;
use helenus_model::workload::user_statements::Unchecked;
use helenus_model::workload::{Workload, standard1};
use std::collections::BTreeSet;

/// A workload's operations.
pub(super) enum Traffic {
    /// cassandra-stress's default table: writes are statement 0, reads statement 1.
    Standard1(Seed),
    Profiles(Box<Profiles>),
    Customs(Customs),
    /// Rows that are encoded already, by slot.
    Rows(Vec<Package>),
}

/// Rows of one partition, encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// The values of all rows, each with its length.
    pub values: Vec<u8>,
    /// Where the values of each row end.
    pub ends: Vec<usize>,
}

const WRITE: usize = 0;

impl Traffic {
    /// Prepares the statements of the operations that are `used`; those of the others are not there.
    pub(super) fn prepare(
        client: &mut Client,
        (workload, used): (&Workload, &BTreeSet<String>),
        data: Seed,
        ring: Vec<(i64, i64)>,
    ) -> Result<(Self, Vec<Statement>), EndpointError> {
        Ok(match workload {
            Workload::Standard1 => {
                let all = standard1::STATEMENTS.iter();
                let all = all.map(|(name, cql)| Statement::prepare(client, name, cql));
                (Self::Standard1(data), all.collect::<Result<_, _>>()?)
            }
            Workload::Custom(own) => {
                let (customs, statements) = Customs::prepare(client, own, data)?;
                (Self::Customs(customs), statements)
            }
            Workload::Profiles(profiles) => {
                let (profiles, statements) =
                    Profiles::prepare(client, (profiles, used), data, ring)?;
                (Self::Profiles(Box::new(profiles)), statements)
            }
        })
    }

    pub(super) fn unchecked(&self) -> Vec<Unchecked> {
        match self {
            Self::Customs(customs) => customs.unchecked(),
            _ => Vec::new(),
        }
    }

    pub(super) fn takes_several(&self) -> bool {
        matches!(self, Self::Profiles(profiles) if profiles.takes_several())
    }

    pub(super) fn partitions(&self, operation: usize, number: u64) -> u32 {
        match self {
            Self::Profiles(profiles) => profiles.partitions(operation, number),
            _ => 1,
        }
    }

    /// Makes the request of the operation that the draft has begun.
    pub(super) fn make(
        &mut self,
        statements: &[Statement],
        draft: &mut Draft,
    ) -> Result<(), Fault> {
        match self {
            Self::Standard1(data) => {
                let position = draft.position();
                let key = standard1::key(position);
                let place = draft.operation;
                match place {
                    WRITE => {
                        let row = standard1::row(*data, position);
                        let columns = row.iter().map(<[u8; _]>::as_slice);
                        draft.put_bytes(place, std::iter::once(&key[..]).chain(columns))
                    }
                    _ => draft.put_bytes(place, [&key[..]]),
                }
            }
            Self::Profiles(profiles) => profiles.make(statements, draft),
            Self::Customs(customs) => customs.make(statements, draft),
            Self::Rows(packages) => {
                if let Some(package) = packages.get(draft.number as usize) {
                    draft.put_encoded(&package.values, &package.ends);
                }
                Ok(())
            }
        }
    }

    /// What came of it.
    pub(super) fn judge(
        &mut self,
        statements: &[Statement],
        draft: &mut Draft,
        answer: Result<Answer<'_>, Fault>,
    ) -> Judged {
        match self {
            Self::Standard1(data) => match (draft.operation, answer) {
                (_, Err(fault)) => ((0, 0), Err(fault)),
                (WRITE, Ok(_)) => ((1, 1), Ok(())),
                (_, Ok(Answer::Rows(rows))) => {
                    let found = u32::from(rows.row_count > 0);
                    let mut cells = rows.cells();
                    let mut column = || cells.next().flatten();
                    let row = (found > 0).then(|| std::array::from_fn(|_| column()));
                    let position = draft.position();
                    let check = standard1::check(*data, position, row);
                    ((found, found), of_check(check, position))
                }
                (_, Ok(_)) => ((0, 0), Err(of_no_rows())),
            },
            Self::Profiles(profiles) => profiles.judge(statements, draft, answer),
            Self::Customs(customs) => customs.judge(statements, draft, answer),
            Self::Rows(_) => ((1, 1), answer.map(drop)),
        }
    }
}

fn of_no_rows() -> Fault {
    Fault {
        kind: FailureKind::Other,
        message: "the server answered a SELECT without rows".to_owned(),
    }
}
