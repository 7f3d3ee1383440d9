//! TIMERS of live nodes: what Cassandra's own histograms have counted since its start, by MBeans.
//! Refuses their percentiles, which favour the last minutes, and `RecentValues`, which other readers empty.

use crate::context::Context;
use crate::error::{Class, ClusterError, Problem};
use crate::mbeans::{Ask, Mbeans, MbeansError};
use crate::parallel;
use crate::state::ClusterState;
use helenus_model::server_times::{Buckets, Timer};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::time::Duration;

/// Longest wait for one node's answer: what comes later is of another moment.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Longest wait for the first answer, for which the node loads the agent's classes.
const FIRST_WITHIN: Duration = Duration::from_secs(20);

/// The domain of all metrics.
const METRICS: &str = "org.apache.cassandra.metrics";

/// Timers of coordinators, by the scope of their MBeans.
const COORDINATORS: [(Timer, &str); 5] = [
    (Timer::Read, "Read"),
    (Timer::RangeSlice, "RangeSlice"),
    (Timer::CasRead, "CASRead"),
    (Timer::Write, "Write"),
    (Timer::CasWrite, "CASWrite"),
];

/// Timers of replicas, by the beginning of their MBeans' names.
const REPLICAS: [(Timer, &str); 3] = [
    (Timer::LocalRead, "Read"),
    (Timer::LocalRange, "Range"),
    (Timer::LocalWrite, "Write"),
];

/// Why a node's timers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TimersError {
    /// Its release has none, or in another form.
    #[error("the request timers of {node}, Cassandra {release}, cannot be read")]
    Unknown {
        /// Node.
        node: String,
        /// Its release.
        release: String,
    },
}

impl Problem for TimersError {
    fn class(&self) -> Class {
        Class::Cluster
    }

    fn hint(&self) -> Option<String> {
        Some("leave --server-times out".into())
    }
}

/// What one node's timers have counted since it started.
pub type Counted = BTreeMap<Timer, Buckets>;

/// A timer, its buckets, and the sum of its times where it has one.
type Asked = (Timer, Ask, Option<Ask>);

/// The timers of a cluster's nodes.
#[derive(Debug)]
pub struct Timers {
    nodes: Vec<(String, Mbeans)>,
    asked: Vec<Asked>,
}

impl Timers {
    /// Of all nodes, as coordinators, and as replicas of these keyspaces. Loads the agents, and reads once, so that later
    /// reads cost little.
    ///
    /// # Errors
    /// A node is not running, its agent cannot be had, or its timers are of unknown form.
    pub fn of(
        context: &Context,
        state: &ClusterState,
        keyspaces: &BTreeSet<String>,
    ) -> Result<Self, ClusterError> {
        let plans = &state.plan.nodes;
        let loaded = parallel::map(plans, |plan| Mbeans::of(context, state, &plan.name));
        let mut nodes = Vec::new();
        for (plan, mbeans) in plans.iter().zip(loaded) {
            nodes.push((plan.name.clone(), mbeans?.waiting(FIRST_WITHIN)));
        }
        let mut all = Self {
            nodes,
            asked: asked(keyspaces),
        };
        for (node, counted) in all.read() {
            if !counted?.contains_key(&Timer::Write) {
                let release = state.plan.release.clone();
                return Err(TimersError::Unknown { node, release }.into());
            }
        }
        for (_, mbeans) in &mut all.nodes {
            *mbeans = mbeans.clone().waiting(ANSWER_WITHIN);
        }
        Ok(all)
    }

    /// Reads all nodes at once, each in one request.
    pub fn read(&self) -> Vec<(String, Result<Counted, MbeansError>)> {
        let counted = parallel::map(&self.nodes, |(_, mbeans)| self.one(mbeans));
        let names = self.nodes.iter().map(|(name, _)| name.clone());
        names.zip(counted).collect()
    }

    fn one(&self, mbeans: &Mbeans) -> Result<Counted, MbeansError> {
        let asks = self.asked.iter();
        let asks = asks.flat_map(|(_, values, total)| iter::once(values).chain(total));
        // A release that lacks one has nothing to show.
        let answers = mbeans.bulk(&asks.cloned().collect::<Vec<_>>())?;
        let mut answers = answers.into_iter().map(Result::unwrap_or_default);
        let mut counted = Counted::new();
        for (timer, _, total) in &self.asked {
            let values = answers.next().as_ref().and_then(numbers);
            let total = total.as_ref().and_then(|_| answers.next()?.as_u64());
            if let Some(buckets) = values.and_then(|values| Buckets::of(&values, total)) {
                counted.entry(*timer).or_default().merge(&buckets);
            }
        }
        Ok(counted)
    }
}

fn asked(keyspaces: &BTreeSet<String>) -> Vec<Asked> {
    let values = |bean: &str| Ask::exec(&format!("{METRICS}:{bean}"), "values", &[]);
    let total = |bean: &str| Some(Ask::read(&format!("{METRICS}:{bean}"), "Count"));
    let mut all = vec![(Timer::Queue, values("type=Client,name=Queued"), None)];
    for (timer, scope) in COORDINATORS {
        let bean = |name| format!("type=ClientRequest,scope={scope},name={name}");
        all.push((
            timer,
            values(&bean("Latency")),
            total(&bean("TotalLatency")),
        ));
    }
    for keyspace in keyspaces {
        for (timer, name) in REPLICAS {
            let bean = |kind| format!("type=Keyspace,keyspace={keyspace},name={name}{kind}");
            all.push((
                timer,
                values(&bean("Latency")),
                total(&bean("TotalLatency")),
            ));
        }
    }
    all
}

fn numbers(values: &Value) -> Option<Vec<u64>> {
    values.as_array()?.iter().map(Value::as_u64).collect()
}
