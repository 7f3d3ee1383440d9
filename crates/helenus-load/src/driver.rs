//! The endpoint behind the `scylla` driver: sessions, prepared statements, values, checks and failures by kind.
//! The only file that knows the driver. Refuses its retries, speculation and time-outs: the measurement sees all.

mod custom;
mod gateways;
mod profile;

use self::custom::Customs;
use self::gateways::InTurn;
use self::profile::Profiles;
use crate::endpoint::{Call, Endpoint, EndpointError, Fault, Stamp};
use helenus_cql::client::Tls;
use helenus_model::run_plan::{Consistency, RunPlan};
use helenus_model::sample::{FailureKind, is_shutting_down};
use helenus_model::seed::Seed;
use helenus_model::workload::own::Unchecked;
use helenus_model::workload::{Check, Workload, standard1};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::{Session, TlsContext};
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{DbError, ExecutionError, PrepareError, RequestAttemptError};
use scylla::policies::host_filter::AllowListHostFilter;
use scylla::policies::load_balancing::{DefaultPolicy, LoadBalancingPolicy};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::statement::prepared::PreparedStatement;
use std::collections::BTreeSet;
use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Connections a node. One is enough for what one generator thread can send.
const CONNECTIONS: NonZeroUsize = NonZeroUsize::MIN;

/// Connections to a cluster and the workload's prepared statements.
pub struct Driver {
    session: Session,
    data: Seed,
    operations: Vec<Prepared>,
    /// In place of the operations, where the workload is one of profiles.
    profiles: Option<Profiles>,
    /// The same, where it has statements of one's own.
    customs: Option<Customs>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.operations.len();
        f.debug_struct("Driver")
            .field("operations", &count)
            .finish()
    }
}

struct Prepared {
    statement: PreparedStatement,
    kind: Kind,
}

enum Kind {
    Standard1Write,
    Standard1Read,
}

impl Driver {
    /// Connects as the plan says.
    ///
    /// # Errors
    /// No node of the plan's endpoints answers, or it refuses the credentials.
    pub async fn connect(
        plan: &RunPlan,
        password: Option<String>,
        tls: Option<&Tls>,
    ) -> Result<Self, EndpointError> {
        let mut policy = DefaultPolicy::builder().token_aware(true);
        if let Some(dc) = &plan.local_data_centre {
            policy = policy
                .prefer_datacenter(dc.clone())
                .permit_dc_failover(false);
        }
        let policy: Arc<dyn LoadBalancingPolicy> = match plan.endpoints_only {
            true => Arc::new(InTurn::default()),
            false => policy.build(),
        };
        let profile = ExecutionProfile::builder()
            .request_timeout(None)
            .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
            .speculative_execution_policy(None)
            .consistency(consistency(plan.consistency))
            .load_balancing_policy(policy)
            .build();
        let mut builder = SessionBuilder::new()
            .known_nodes_addr(&plan.endpoints)
            .default_execution_profile_handle(profile.into_handle())
            .pool_size(PoolSize::PerHost(CONNECTIONS))
            .tcp_nodelay(true);
        builder = match &plan.local_data_centre {
            Some(dc) => builder.prefer_datacenter(dc.clone()),
            None => builder.prefer_no_datacenter(),
        };
        if plan.endpoints_only {
            let only = AllowListHostFilter::new(&plan.endpoints);
            let only = only.map_err(|e| EndpointError::Connect {
                endpoints: joined(&plan.endpoints),
                source: Box::new(e),
            })?;
            builder = builder.host_filter(Arc::new(only));
        }
        if let (Some(credentials), Some(password)) = (&plan.credentials, password) {
            builder = builder.user(credentials.username.clone(), password);
        }
        if let Some(tls) = tls {
            builder = builder.tls_context(Some(TlsContext::from(tls.config())));
        }
        let session = builder.build().await.map_err(|e| EndpointError::Connect {
            endpoints: joined(&plan.endpoints),
            source: Box::new(e),
        })?;
        if plan.endpoints_only {
            gateways::reached(&session).await;
        }
        Ok(Self {
            session,
            data: Seed(0),
            operations: Vec::new(),
            profiles: None,
            customs: None,
        })
    }

    async fn write_standard1(
        &self,
        statement: &PreparedStatement,
        (position, timestamp_us): (u64, Option<i64>),
        stamp: &Stamp,
    ) -> Result<(), Fault> {
        let dated = timestamp_us.map(|at| dated(statement, at));
        let statement = dated.as_ref().unwrap_or(statement);
        let key = standard1::key(position);
        let [c0, c1, c2, c3, c4] = &standard1::row(self.data, position);
        let values = (&key[..], &c0[..], &c1[..], &c2[..], &c3[..], &c4[..]);
        stamp.start();
        let done = self.session.execute_unpaged(statement, values).await;
        stamp.end();
        stamp.touched(1, 1);
        done.map(drop).map_err(|e| fault(&e))
    }

    async fn read_standard1(
        &self,
        statement: &PreparedStatement,
        position: u64,
        stamp: &Stamp,
    ) -> Result<(), Fault> {
        type Columns<'a> = (
            Option<&'a [u8]>,
            Option<&'a [u8]>,
            Option<&'a [u8]>,
            Option<&'a [u8]>,
            Option<&'a [u8]>,
        );
        let key = standard1::key(position);
        stamp.start();
        let done = self.session.execute_unpaged(statement, (&key[..],)).await;
        stamp.end();
        let rows = done
            .map_err(|e| fault(&e))?
            .into_rows_result()
            .map_err(|e| other(&e))?;
        let first: Option<Columns<'_>> = rows.maybe_first_row().map_err(|e| other(&e))?;
        let read = first.map(|(c0, c1, c2, c3, c4)| [c0, c1, c2, c3, c4]);
        let found = u32::from(read.is_some());
        stamp.touched(found, found);
        checked(standard1::check(self.data, position, read), position)
    }

    async fn prepare_one(
        &self,
        operation: &str,
        cql: &str,
    ) -> Result<PreparedStatement, EndpointError> {
        let mut statement =
            self.session
                .prepare(cql)
                .await
                .map_err(|e| EndpointError::Prepare {
                    operation: operation.to_owned(),
                    source: reason(e),
                })?;
        // The schema does not change while it is measured: rows come without their description.
        statement.set_use_cached_result_metadata(true);
        Ok(statement)
    }
}

impl Endpoint for Driver {
    async fn prepare(
        &mut self,
        workload: &Workload,
        used: &BTreeSet<String>,
        data: Seed,
    ) -> Result<(), EndpointError> {
        self.data = data;
        self.operations.clear();
        match workload {
            Workload::Standard1 => {
                let kinds = [Kind::Standard1Write, Kind::Standard1Read];
                for ((name, cql), kind) in standard1::STATEMENTS.iter().zip(kinds) {
                    let statement = self.prepare_one(name, cql).await?;
                    self.operations.push(Prepared { statement, kind });
                }
            }
            Workload::Custom(own) => {
                self.customs = Some(Customs::prepare(self, own, data).await?);
            }
            Workload::Profiles(profiles) => {
                self.profiles = Some(Profiles::prepare(self, profiles, used, data).await?);
            }
        }
        Ok(())
    }

    fn unchecked(&self) -> Vec<Unchecked> {
        let customs = self.customs.as_ref();
        customs.map(Customs::unchecked).unwrap_or_default()
    }

    fn takes_several(&self) -> bool {
        self.profiles.as_ref().is_some_and(Profiles::takes_several)
    }

    fn partitions(&self, operation: usize, number: u64) -> u32 {
        let profiles = self.profiles.as_ref();
        profiles.map_or(1, |profiles| profiles.partitions(operation, number))
    }

    async fn run(&self, call: Call<'_>, stamp: &Stamp) -> Result<(), Fault> {
        if let Some(profiles) = &self.profiles {
            return profiles.run(self, call, stamp).await;
        }
        let position = call.position();
        if let Some(customs) = &self.customs {
            return customs.run(self, call.operation, position, stamp).await;
        }
        let Prepared { statement, kind } = &self.operations[call.operation];
        match kind {
            Kind::Standard1Write => {
                let dated = (position, call.timestamp_us);
                self.write_standard1(statement, dated, stamp).await
            }
            Kind::Standard1Read => self.read_standard1(statement, position, stamp).await,
        }
    }
}

/// The statement with a timestamp of its own.
fn dated(statement: &PreparedStatement, timestamp_us: i64) -> PreparedStatement {
    let mut statement = statement.clone();
    statement.set_timestamp(Some(timestamp_us));
    statement
}

fn joined(endpoints: &[std::net::SocketAddr]) -> String {
    let all: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
    all.join(", ")
}

fn checked(check: Check, position: u64) -> Result<(), Fault> {
    match check {
        Check::Match => Ok(()),
        Check::Missing => Err(Fault {
            kind: FailureKind::MissingRow,
            message: format!("no row at position {position}"),
        }),
        Check::Wrong { column } => Err(Fault {
            kind: FailureKind::WrongData,
            message: format!("column {column} of position {position} is not what was written"),
        }),
    }
}

fn consistency(of: Consistency) -> scylla::frame::types::Consistency {
    use scylla::frame::types::Consistency as Theirs;
    match of {
        Consistency::Any => Theirs::Any,
        Consistency::One => Theirs::One,
        Consistency::Two => Theirs::Two,
        Consistency::Three => Theirs::Three,
        Consistency::Quorum => Theirs::Quorum,
        Consistency::All => Theirs::All,
        Consistency::LocalQuorum => Theirs::LocalQuorum,
        Consistency::EachQuorum => Theirs::EachQuorum,
        Consistency::LocalOne => Theirs::LocalOne,
    }
}

fn other(error: &dyn Error) -> Fault {
    Fault {
        kind: FailureKind::Other,
        message: error.to_string(),
    }
}

/// Why a statement cannot be prepared: the server's own words, where it has said any.
fn reason(error: PrepareError) -> Box<dyn Error + Send + Sync> {
    match error {
        PrepareError::AllAttemptsFailed {
            first_attempt: RequestAttemptError::DbError(_, words),
        } if !words.is_empty() => words.into(),
        other => Box::new(other),
    }
}

fn fault(error: &ExecutionError) -> Fault {
    use ExecutionError as E;
    use RequestAttemptError as A;
    let kind = match error {
        E::LastAttemptError(A::DbError(said, words)) => match said {
            DbError::Unavailable { .. } => FailureKind::Unavailable,
            DbError::WriteTimeout { .. } => FailureKind::WriteTimeout,
            DbError::ReadTimeout { .. } => FailureKind::ReadTimeout,
            DbError::Overloaded if is_shutting_down(words) => FailureKind::Connection,
            DbError::Overloaded | DbError::RateLimitReached { .. } => FailureKind::Overloaded,
            _ => FailureKind::Other,
        },
        E::LastAttemptError(A::BrokenConnectionError(_) | A::UnableToAllocStreamId)
        | E::ConnectionPoolError(_)
        | E::EmptyPlan => FailureKind::Connection,
        E::RequestTimeout(_) => FailureKind::ClientTimeout,
        _ => FailureKind::Other,
    };
    Fault {
        kind,
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_statement_is_told_in_the_server_s_words() {
        let words = "Only EQ and IN relation are supported on the partition key";
        let refused = PrepareError::AllAttemptsFailed {
            first_attempt: RequestAttemptError::DbError(DbError::Invalid, words.to_owned()),
        };
        assert_eq!(reason(refused).to_string(), words);
        let other = PrepareError::PreparedStatementIdsMismatch;
        assert!(reason(other).to_string().contains("mismatch"));
    }

    #[test]
    fn a_node_that_shuts_down_is_gone_and_not_overloaded() {
        let said = |words: &str| {
            let said = RequestAttemptError::DbError(DbError::Overloaded, words.to_owned());
            fault(&ExecutionError::LastAttemptError(said)).kind
        };
        assert_eq!(said("Server is shutting down"), FailureKind::Connection);
        assert_eq!(said("Too many requests"), FailureKind::Overloaded);
    }
}
