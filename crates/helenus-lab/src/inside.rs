//! A cluster on Kubernetes as the place of a run: its pods, statements that are run in them, its generators, and what
//! became of all of them meanwhile. Refuses a way into it from outside: all goes through the person's own kubectl.

use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::{Class, ClusterError, Problem};
use helenus_cluster::kube::{self, Door, KubeClusters, KubeJob, KubeState, Kubectl, Pod};
use helenus_cluster::parallel;
use helenus_cluster::pod::cql::{PodAnswer, PodCql};
use helenus_cluster::pod::facts::PodFacts;
use helenus_cluster::reach;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_cluster::wall;
use helenus_model::access::Access;
use helenus_model::guard::is_system_keyspace;
use helenus_model::sample::clock_shift;
use helenus_model::status::ClusterView;
use helenus_model::telemetry::{NodeSample, Reading, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Not a limit of anything that is waited for: credentials are read from files.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Why a run cannot go there.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// Some of its pods do not serve.
    #[error("{}", not_ready(.0, .1))]
    NotReady(Vec<String>, String),
    /// A node that does not say what it sees.
    #[error("no node of {0} shows the state of its peers")]
    NoView(String),
    /// The superuser's password cannot be held.
    #[error("cannot keep the password in memory")]
    Password(#[from] std::io::Error),
}

impl Problem for InsideError {
    fn class(&self) -> Class {
        match self {
            Self::NotReady(..) | Self::NoView(_) => Class::Cluster,
            Self::Password(_) => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotReady(_, name) => {
                Some(format!("helenus kube wait {name} shows what they wait for"))
            }
            Self::NoView(_) | Self::Password(_) => None,
        }
    }
}

fn not_ready(pods: &[String], name: &str) -> String {
    match pods {
        [] => format!("{name} has no pods"),
        _ => format!("{} of {name} not ready: {}", pods.len(), pods.join(", ")),
    }
}

/// A cluster on Kubernetes that a run can go to.
#[derive(Debug, Clone)]
pub struct KubeTarget {
    /// The cluster.
    pub state: KubeState,
    /// What leads to it.
    pub kubectl: Kubectl,
    /// Its pods, in the order of their StatefulSets.
    pub pods: Vec<Pod>,
    /// How one gets into it.
    pub access: Access,
    /// By which statements get to its nodes.
    door: Arc<Mutex<Door>>,
    /// The superuser's password, if the operators have made one and no other was given.
    _password: Option<Arc<File>>,
    cancel: Cancel,
}

/// A pod of a node, as a run sees it.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it answers.
    pub address: SocketAddr,
    /// Its data centre.
    pub data_center: String,
    /// Whether it only coordinates.
    pub coordinator: bool,
}

impl KubeTarget {
    /// Looks at a cluster that was applied.
    ///
    /// # Errors
    /// There is none of that name, its context leads elsewhere now, or a pod of it does not serve.
    pub fn look(context: &Context, name: &str, access: Access) -> Result<Self, ClusterError> {
        let clusters = KubeClusters::of(&context.paths.state);
        let state = clusters.load(name)?;
        let tls = clusters.tls(&state);
        let kubectl = state.kubectl()?;
        let nobody = state.is_operated() && access.credentials.is_none();
        let superuser = match nobody {
            true => kube::superuser_login(&kubectl, &state)?,
            false => None,
        };
        let held = superuser.as_ref().map(reach::held).transpose();
        let held = held.map_err(InsideError::from)?;
        let (superuser, password) = held.unzip();
        let access = Access {
            credentials: access.credentials.or(superuser),
            tls: tls.clone(),
        };
        let plan = state.rendered()?;
        let mut pods = kube::pods(&kubectl, &state)?;
        let place = |pod: &Pod| {
            let mut sets = plan.sets.iter();
            sets.position(|set| set.name == pod.set && set.namespace == pod.namespace)
        };
        pods.sort_by_key(|pod| (place(pod), pod.name.clone()));
        let waits = |pod: &&Pod| !pod.ready || pod.ip.is_empty();
        let not_ready: Vec<String> = pods.iter().filter(waits).map(Pod::place).collect();
        if !not_ready.is_empty() || pods.is_empty() {
            return Err(InsideError::NotReady(not_ready, name.to_owned()).into());
        }
        Ok(Self {
            door: Arc::new(Mutex::new(Door::new(&kubectl, &state, tls))),
            _password: password.map(Arc::new),
            cancel: context.cancel.clone(),
            state,
            kubectl,
            pods,
            access,
        })
    }

    /// Its nodes.
    ///
    /// # Errors
    /// None in practice: it was rendered before.
    pub fn nodes(&self) -> Result<Vec<Node>, ClusterError> {
        let plan = self.state.rendered()?;
        let port = self.state.plan.ports.cql;
        let all = self.pods.iter().filter_map(|pod| {
            let of_pod = |set: &&helenus_model::kube::PodSet| {
                set.name == pod.set && set.namespace == pod.namespace
            };
            let set = plan.sets.iter().find(of_pod)?;
            Some(Node {
                address: SocketAddr::new(pod.ip.parse::<IpAddr>().ok()?, port),
                data_center: set.data_center.clone(),
                coordinator: set.coordinator,
            })
        });
        Ok(all.collect())
    }

    /// Runs statements at its first node, from inside.
    ///
    /// # Errors
    /// The node refuses one, or cannot be reached.
    pub fn cql(&self, statements: Vec<String>) -> Result<PodAnswer, ClusterError> {
        self.ask(PodCql::new(statements))
    }

    /// As [`Self::cql`]; what a statement would make may be there already.
    ///
    /// # Errors
    /// As [`Self::cql`].
    pub fn prepare(&self, statements: &[String]) -> Result<PodAnswer, ClusterError> {
        let asked = PodCql::new(statements.to_vec());
        self.ask(PodCql {
            may_exist: true,
            ..asked
        })
    }

    /// The cluster as its first node sees it.
    ///
    /// # Errors
    /// As [`Self::cql`].
    pub fn view(&self) -> Result<ClusterView, ClusterError> {
        let asked = PodCql {
            view: true,
            ..PodCql::new(Vec::new())
        };
        let view = self.ask(asked)?.view;
        view.ok_or_else(|| InsideError::NoView(self.state.name().to_owned()).into())
    }

    /// Its keyspaces, without Cassandra's own.
    ///
    /// # Errors
    /// As [`Self::cql`].
    pub fn keyspaces(&self) -> Result<Vec<String>, ClusterError> {
        let asked = "SELECT keyspace_name FROM system_schema.keyspaces".to_owned();
        let answers = self.cql(vec![asked])?.answers;
        let rows = answers.into_iter().flat_map(|answer| answer.rows);
        let mut names: Vec<String> = rows
            .filter_map(|row| row.into_iter().flatten().next())
            .collect();
        names.retain(|name| !is_system_keyspace(name));
        names.sort();
        Ok(names)
    }

    /// Runs nodetool with these words in each of its pods.
    ///
    /// # Errors
    /// It fails in one of them.
    pub fn nodetool(&self, words: &[String]) -> Result<(), ClusterError> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = [&["nodetool"], &words[..]].concat();
        for pod in &self.pods {
            self.kubectl.exec(pod.at(), &words, "")?;
        }
        Ok(())
    }

    fn ask(&self, asked: PodCql) -> Result<PodAnswer, ClusterError> {
        let options = reach::options(&self.access, AT_ONCE)
            .map_err(|source| ClusterError::silent("the cluster", source))?;
        let asked = asked.by(options.credentials.as_ref());
        let none = || InsideError::NotReady(Vec::new(), self.state.name().to_owned());
        let first = self.pods.first().ok_or_else(none)?;
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(door.cql(first, asked, &self.cancel)?)
    }

    /// Makes so many generators beside it.
    ///
    /// # Errors
    /// They do not start.
    pub fn generators(
        &self,
        data_center: Option<&str>,
        pods: u32,
        cancel: &Cancel,
    ) -> Result<KubeJob, ClusterError> {
        Ok(KubeJob::start(
            &self.kubectl,
            &self.state,
            data_center,
            pods,
            cancel,
        )?)
    }

    /// Where a run with these generators is, in words.
    pub fn place(&self, job: &KubeJob) -> String {
        let name = self.state.name();
        let count = match job.generators().len() {
            1 => "1 generator pod".to_owned(),
            n => format!("{n} generator pods"),
        };
        let each = |workers: &mut dyn Iterator<Item = &str>| {
            let workers: BTreeSet<String> = workers.map(str::to_owned).collect();
            workers.into_iter().collect::<Vec<_>>().join(", ")
        };
        format!(
            "kube:{name}, context {}, {} on {}, {count} on {}",
            self.state.context,
            match self.pods.len() {
                1 => "1 node".to_owned(),
                n => format!("{n} nodes"),
            },
            each(&mut self.pods.iter().map(|pod| pod.worker.as_str())),
            each(&mut job.generators().iter().map(|g| g.worker.as_str()))
        )
    }

    /// What its pods are limited to, as a run keeps it; where they differ, the least.
    pub fn limits(&self) -> Option<serde_json::Value> {
        let sets = self.state.rendered().ok()?.sets;
        let least = sets.iter().map(|set| set.memory_limit.0).min()?;
        let cpus = self.state.plan.limits.as_ref().and_then(|own| own.cpus);
        Some(serde_json::json!({"by": "Kubernetes", "memory_bytes": least, "cpus": cpus}))
    }

    /// What distinguishes this life of its nodes from every other.
    pub fn life(&self) -> String {
        let pods = self.pods.iter();
        let pods: Vec<String> = pods
            .map(|pod| format!("{}={}/{}", pod.place(), pod.uid, pod.restarts))
            .collect();
        format!("{} {}", self.state.id(), pods.join(" "))
    }
}

/// What pods used when a run began, and a look at those of nodes every now and then.
#[derive(Debug)]
pub struct PodsBefore {
    nodes: Vec<(Pod, Option<PodFacts>)>,
    generators: Vec<Option<PodFacts>>,
    /// Dropped to end the looks.
    ends: Sender<()>,
    looks: Option<JoinHandle<Vec<Reading>>>,
}

/// Between two looks: each is a program in each pod, on the nodes' own account.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What became of them until it ended.
#[derive(Debug, Default)]
pub struct PodsSeen {
    /// Pods of nodes that were restarted, replaced, or killed for memory, in words.
    pub died: Vec<String>,
    /// Shares of the time between for which pods were throttled at their CPU limits, by pod.
    pub throttled: BTreeMap<String, f64>,
    /// Stops of the nodes' JVMs, on this machine's clock.
    pub readings: Vec<Reading>,
}

impl PodsBefore {
    /// Looks now; what cannot be seen of a pod is not judged.
    pub fn look(target: &KubeTarget, job: &KubeJob) -> Self {
        let nodes = target.pods.iter().cloned();
        let nodes = nodes.zip(facts(target, &target.pods, &[])).collect();
        let (ends, ended) = channel();
        let own = target.clone();
        let looks = std::thread::Builder::new().spawn(move || {
            let mut readings = Vec::new();
            while matches!(
                ended.recv_timeout(LOOK_EVERY),
                Err(RecvTimeoutError::Timeout)
            ) {
                let seen = facts(&own, &own.pods, &[]);
                let all = own.pods.iter().zip(&seen);
                readings.extend(all.filter_map(|(pod, facts)| sample(pod, facts.as_ref()?)));
            }
            readings
        });
        Self {
            nodes,
            generators: job.facts().into_iter().map(Result::ok).collect(),
            ends,
            looks: looks.ok(),
        }
    }

    /// The worker of the first generator, and what its pod has.
    pub fn generator(&self) -> Option<&PodFacts> {
        self.generators.iter().flatten().next()
    }

    /// What became of them until now.
    pub fn seen(mut self, target: &KubeTarget, job: &KubeJob) -> PodsSeen {
        let mut seen = PodsSeen::default();
        let first = self.nodes.iter();
        let first = first.filter_map(|(pod, facts)| sample(pod, facts.as_ref()?));
        seen.readings.extend(first);
        let _one_is_enough = self.ends.send(());
        let looks = self.looks.take().and_then(|looks| looks.join().ok());
        seen.readings.extend(looks.into_iter().flatten());
        let now = kube::pods(&target.kubectl, &target.state);
        let now = now
            .inspect_err(|error| tracing::warn!(%error, "the pods cannot be seen"))
            .ok();
        let since: Vec<u64> = self
            .nodes
            .iter()
            .map(|(_, facts)| facts.as_ref().map_or(u64::MAX, |f| f.monotonic_ns))
            .collect();
        let pods: Vec<Pod> = self.nodes.iter().map(|(pod, _)| pod.clone()).collect();
        let after = facts(target, &pods, &since);
        for ((pod, before), after) in self.nodes.iter().zip(after) {
            let killed = before
                .as_ref()
                .zip(after.as_ref())
                .is_some_and(|(before, after)| after.killed_since(before));
            let there = now.as_ref().map(|now| {
                let mut own = now.iter();
                own.find(|one| one.place() == pod.place())
            });
            let became = match there {
                None => None,
                Some(None) => Some("gone"),
                Some(Some(one)) if one.uid != pod.uid => Some("replaced"),
                Some(Some(one)) if one.restarts != pod.restarts => Some("restarted"),
                Some(Some(_)) if killed => Some("something in it was killed for memory"),
                Some(Some(_)) => None,
            };
            seen.died
                .extend(became.map(|what| format!("{}: {what}", pod.place())));
            seen.readings
                .extend(after.as_ref().and_then(|after| sample(pod, after)));
            if let (Some(before), Some(after)) = (before, &after) {
                seen.take(&pod.place(), before, after);
            }
        }
        let generators = job.facts().into_iter().map(Result::ok);
        for ((before, after), one) in self.generators.iter().zip(generators).zip(job.generators()) {
            if let (Some(before), Some(after)) = (before, &after) {
                seen.take(&one.pod, before, after);
            }
        }
        seen
    }
}

impl PodsSeen {
    fn take(&mut self, pod: &str, before: &PodFacts, after: &PodFacts) {
        let share = after.throttled_since(before).unwrap_or_default();
        if share > 0.0 {
            self.throttled.insert(pod.to_owned(), share);
        }
        let shift = shift(after);
        self.readings.extend(after.stops.iter().map(|stop| {
            let mut stop = stop.clone();
            pod.clone_into(&mut stop.source);
            stop.at_ns = stop.at_ns.saturating_add_signed(shift);
            if let Seen::Event(event) = &mut stop.seen {
                event.to_ns = event.to_ns.saturating_add_signed(shift);
            }
            stop
        }));
    }
}

/// By how much this machine's monotonic clock is ahead of a pod's.
fn shift(facts: &PodFacts) -> i64 {
    clock_shift(
        (monotonic_ns(), wall::now_ns()),
        (facts.monotonic_ns, facts.wall_ns),
    )
}

/// A node as its pod's cgroup shows it, on this machine's clock; none where that shows no processors.
fn sample(pod: &Pod, facts: &PodFacts) -> Option<Reading> {
    let memory = &facts.memory;
    let sample = NodeSample {
        cpu_us: facts.cpu.used_us?,
        rss_bytes: memory.used_bytes.unwrap_or_default(),
        anon_bytes: memory.anon_bytes.unwrap_or_default(),
        file_bytes: memory.file_bytes.unwrap_or_default(),
        // Its log is read at the end.
        collections: Some(0),
        ..NodeSample::default()
    };
    Some(Reading {
        source: pod.place(),
        at_ns: facts.monotonic_ns.saturating_add_signed(shift(facts)),
        seen: Seen::Node(sample),
    })
}

/// What pods of nodes used so far, all asked at once; with the stops since these moments, or none. Pods of operators do not
/// say it.
fn facts(target: &KubeTarget, pods: &[Pod], since: &[u64]) -> Vec<Option<PodFacts>> {
    if target.state.is_operated() {
        return vec![None; pods.len()];
    }
    parallel::map(pods.iter().enumerate(), |(place, pod)| {
        let from = since.get(place).copied().unwrap_or(u64::MAX);
        let answer = kube::facts(&target.kubectl, pod.at(), from).inspect_err(|error| {
            tracing::warn!(%error, "what a pod used cannot be seen");
        });
        answer.ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_cluster::pod::facts::{CpuFacts, look};
    use helenus_model::telemetry::{Event, EventKind};

    #[test]
    fn stops_of_another_worker_s_jvm_come_onto_our_clock() {
        let mut before = look(u64::MAX);
        before.cpu.throttled_us = Some(0);
        let mut after = look(u64::MAX);
        let ours = after.monotonic_ns;
        // Its worker was started an hour later.
        let theirs = 3_600_000_000_000;
        for facts in [&mut before, &mut after] {
            facts.monotonic_ns = facts.monotonic_ns.saturating_add(theirs);
        }
        after.monotonic_ns = before.monotonic_ns + 10_000_000_000;
        after.wall_ns = before.wall_ns + 10_000_000_000;
        after.cpu = CpuFacts {
            used_us: None,
            throttled_us: Some(2_000_000),
        };
        after.stops = vec![Reading {
            source: String::new(),
            at_ns: after.monotonic_ns,
            seen: Seen::Event(Event {
                what: EventKind::Collection,
                to_ns: after.monotonic_ns + 5,
                text: "Pause Young".to_owned(),
            }),
        }];
        let mut seen = PodsSeen::default();
        seen.take("demo/demo-0", &before, &after);
        let stop = &seen.readings[0];
        assert_eq!(stop.source, "demo/demo-0");
        assert!(
            stop.at_ns.abs_diff(ours) < 60_000_000_000,
            "{} {ours}",
            stop.at_ns
        );
        assert!((seen.throttled["demo/demo-0"] - 0.2).abs() < 1e-6);
    }
}
