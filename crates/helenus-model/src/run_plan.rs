//! The plan of a run: everything the generator needs to know, as one value that can be stored and repeated.
//! Refuses secrets: it names a variable or a file, never what stands in it.

mod processes;
mod search;
mod target;

pub use crate::access::{CredentialsReference, SecretReference, TlsReference};
pub use crate::consistency::{Consistency, SerialConsistency};
use crate::fault::script::Scripted;
use crate::flame::ProfilePlan;
use crate::format::{Format, FormatError};
use crate::hex::sha256;
use crate::levels::{Cell, RoundTrip};
use crate::machine::Cpus;
pub use crate::positions::Positions;
use crate::positions::below;
use crate::schedule::{Arrivals, Process, RampedPace, Schedule};
use crate::seed::Seed;
use crate::workload::Workload;
pub use processes::{PROCESSES_MOST, ProcessesError, check as check_processes};
pub use search::Search;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
pub use target::Target;

/// Version of the stored shape.
pub const VERSION: u32 = 1;

/// What stands on the line that stops a generator which no signal reaches.
pub const STOP_WORD: &str = "stop";

/// A run plan, `helenus.plan/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// `helenus.plan/1`.
    pub format: Format,
    /// CQL addresses to begin with.
    pub endpoints: Vec<SocketAddr>,
    /// Whether operations go to these addresses only, and not to the nodes that they report: coordinator-only nodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub endpoints_only: bool,
    /// Data centre whose nodes coordinate; none takes any node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_data_centre: Option<String>,
    /// Where user name and password come from; none if none are needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialsReference>,
    /// Where the certificates of encrypted connections are; none speaks in the clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsReference>,
    /// Tables, statements and data.
    pub workload: Workload,
    /// What is run, one after the other over the same connections.
    pub phases: Vec<Phase>,
    /// Consistency level of every operation.
    pub consistency: Consistency,
    /// Faults on its time line, made by the process that runs the generator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Scripted>,
    /// Root seed of the run.
    pub seed: Seed,
    /// Where each write is remembered with what became of it; none remembers nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerPlan>,
    /// How the generator waits for an intended start.
    #[serde(default)]
    pub pacing: Pacing,
    /// Whether the generator may raise its own scheduling priority where the system allows.
    #[serde(default = "yes")]
    pub raise_priority: bool,
    /// Length of an interval in milliseconds.
    #[serde(default = "one_second")]
    pub sampling_interval_ms: u64,
    /// Age in milliseconds at which an operation is given up as a client time-out.
    #[serde(default = "twelve_seconds")]
    pub operation_timeout_ms: u64,
    /// Its place in a comparison of levels, with what was expected of it; none for other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
    /// Generator processes that share it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub processes: u32,
    /// Which of them this plan is for; none in the plan of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Processors that the generators may run on; none leaves that to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
    /// Connections to each node that coordinates.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub connections: u32,
    /// How requests and answers are compressed; none leaves them as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// How further phases are found, after those that are listed; none where these are all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// What is profiled in its measurement windows; none profiles nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfilePlan>,
    /// Operations of each measurement window that their coordinators trace; none traces nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<u32>,
    /// Whether the nodes' own timers are read at both ends of each measurement window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_times: bool,
    /// Round trips that were set for this run; empty where links were left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_trips: Vec<RoundTrip>,
}

/// Where a run's writes are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerPlan {
    /// The file, which is made by the generator.
    pub file: PathBuf,
    /// Name and id of the cluster, where it is one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<(String, String)>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's own form")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

fn yes() -> bool {
    true
}

fn one_second() -> u64 {
    SAMPLING_INTERVAL_MS
}

/// Age in milliseconds at which an operation is given up by default: longer than Cassandra's own longest default (10 s
/// for a range read), so the server speaks first.
pub const OPERATION_TIMEOUT_MS: u64 = 12_000;

/// Length of an interval in milliseconds by default.
pub const SAMPLING_INTERVAL_MS: u64 = 1000;

fn twelve_seconds() -> u64 {
    OPERATION_TIMEOUT_MS
}

/// How requests and answers are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// LZ4, in the frames of protocol v5; connections of v4 are not compressed.
    Lz4,
}

/// How the generator waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Sleeps until the intended start.
    #[default]
    Sleep,
    /// Never sleeps; needs its own core.
    Spin,
}

/// One phase: a mix of operations at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name: `write`, `read`, `mixed` or one's own.
    pub name: String,
    /// The mix.
    pub operations: Vec<Share>,
    /// Operations a second; none is a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// How the rate comes there, after a warm-up at the ramp's beginning; none is there at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
    /// How arrivals are spread at that rate.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Most operations in flight at once.
    pub in_flight: u32,
    /// When it ends.
    pub extent: Extent,
    /// A count of [`Extent::Count`] is of positions, of which an operation may take several; the last takes what is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_position: bool,
    /// Rows that the workload is about: positions are 0 … population − 1.
    pub population: u64,
    /// Which position an operation takes.
    pub positions: Positions,
    /// Time before the measurement window, in milliseconds; recorded separately.
    #[serde(default)]
    pub warmup_ms: u64,
    /// The warm-up is extended into the measurement window as far as the numbers still settle there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settle: bool,
    /// Number of its first operation: what an earlier run did not come to begins there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first: u64,
    /// Rows of a profile that are read are compared with what must have been written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Serial consistency of conditional statements that bring none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_consistency: Option<SerialConsistency>,
    /// All of its operations must succeed: a failed one is sent again this often, then it counts as failed and ends
    /// the phase. Marks report how far the phase is. None: a measurement, in which failures are only counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Which of its times is shown first; by default the response time, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's own form")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One operation's share of a mix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The operation's name in the workload.
    pub operation: String,
    /// Its weight beside the others.
    pub weight: u32,
}

/// When a phase's measurement window ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// After so many milliseconds.
    DurationMs(u64),
    /// After so many operations.
    Count(u64),
    /// When the mean of the intervals' rates is known well enough.
    Until(Target),
}

/// A rate on its way to the phase's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ramp {
    /// Operations a second at its beginning.
    pub from_per_s: f64,
    /// How long it takes to the phase's rate, along a straight line, in milliseconds of the measurement window.
    pub over_ms: u64,
}

/// Which of its times a phase shows first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// From the intended start.
    Response,
    /// From the start.
    Service,
}

/// Why a plan cannot be run.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PlanError {
    /// Not the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// No address to connect to.
    #[error("the plan has no endpoint")]
    NoEndpoint,
    /// Nothing to do.
    #[error("the plan has no phase")]
    NoPhase,
    /// A phase's number makes no sense.
    #[error("phase {phase:?}: {what} must be above zero")]
    NotPositive {
        /// Phase.
        phase: String,
        /// Field.
        what: &'static str,
    },
    /// The workload does not know the operation.
    #[error("phase {phase:?}: the workload has no operation {operation:?} (it has {known})")]
    UnknownOperation {
        /// Phase.
        phase: String,
        /// The name that was asked for.
        operation: String,
        /// The names there are.
        known: String,
    },
}

impl RunPlan {
    /// These phases against a cluster without passwords, at ONE, with everything else as it is by default.
    pub fn new(
        endpoints: Vec<SocketAddr>,
        workload: Workload,
        phases: Vec<Phase>,
        seed: Seed,
    ) -> Self {
        Self {
            format: Format::new("plan", VERSION),
            endpoints,
            endpoints_only: false,
            local_data_centre: None,
            credentials: None,
            tls: None,
            workload,
            phases,
            consistency: Consistency::One,
            faults: Vec::new(),
            seed,
            ledger: None,
            pacing: Pacing::Sleep,
            raise_priority: true,
            sampling_interval_ms: SAMPLING_INTERVAL_MS,
            operation_timeout_ms: OPERATION_TIMEOUT_MS,
            cell: None,
            processes: 1,
            process: None,
            cpus: None,
            connections: 1,
            compression: None,
            search: None,
            profile: None,
            trace: None,
            server_times: false,
            round_trips: Vec::new(),
        }
    }

    /// Checks what can be checked without a cluster.
    ///
    /// # Errors
    /// A foreign format, no endpoint, no phase, an unknown operation, or a zero where none may be.
    pub fn check(&self) -> Result<(), PlanError> {
        self.format.check("plan", VERSION)?;
        if self.endpoints.is_empty() {
            return Err(PlanError::NoEndpoint);
        }
        if self.phases.is_empty() {
            return Err(PlanError::NoPhase);
        }
        self.phases
            .iter()
            .try_for_each(|phase| phase.check(&self.workload))
    }

    /// SHA-256 of the plan's JSON, in hexadecimal: two runs of one plan share it, wherever they are remembered and however
    /// exactly their distance was measured.
    pub fn hash(&self) -> String {
        let asked = |trip: &RoundTrip| RoundTrip {
            measured_us: 0.0,
            ..trip.clone()
        };
        let same = Self {
            ledger: None,
            round_trips: self.round_trips.iter().map(asked).collect(),
            ..self.clone()
        };
        // A plan is plain data with text keys: it can always be written.
        let json = serde_json::to_vec(&same).unwrap_or_default();
        sha256(json)
    }
}

impl Default for Phase {
    /// A closed loop of one slot that sends nothing yet, over a million rows.
    fn default() -> Self {
        Self {
            name: String::new(),
            operations: Vec::new(),
            rate_per_s: None,
            ramp: None,
            arrivals: Arrivals::Constant,
            in_flight: 1,
            extent: Extent::Count(1),
            by_position: false,
            population: 1_000_000,
            positions: Positions::Sequential,
            warmup_ms: 0,
            settle: false,
            first: 0,
            verify: false,
            serial_consistency: None,
            repeat: None,
            shown: None,
        }
    }
}

impl Phase {
    /// One operation only, at a constant rate for a time: the most common phase.
    pub fn steady(operation: &str, rate_per_s: f64, in_flight: u32, duration_ms: u64) -> Self {
        Self {
            name: operation.to_owned(),
            operations: vec![Share {
                operation: operation.to_owned(),
                weight: 1,
            }],
            rate_per_s: Some(rate_per_s),
            in_flight,
            extent: Extent::DurationMs(duration_ms),
            positions: if operation == "write" {
                Positions::Sequential
            } else {
                Positions::Uniform
            },
            ..Self::default()
        }
    }

    /// Checks what can be checked without a cluster.
    ///
    /// # Errors
    /// An operation that the workload does not have, or a zero where none may be.
    pub fn check(&self, workload: &Workload) -> Result<(), PlanError> {
        let lasts = match self.extent {
            Extent::DurationMs(n) | Extent::Count(n) => n > 0,
            Extent::Until(target) => target.most > 0 && target.error > 0.0,
        };
        let above_zero = |rate: f64| rate.is_finite() && rate > 0.0;
        let ramp_holds = self.ramp.is_none_or(|ramp| above_zero(ramp.from_per_s));
        let holds_any = match &self.positions {
            Positions::Range { from, to, .. } => from < to,
            _ => self.population > 0,
        };
        let weights: u64 = self.operations.iter().map(|s| u64::from(s.weight)).sum();
        let rate_holds = self.rate_per_s.is_none_or(above_zero) && ramp_holds;
        let numbers = [
            ("the rate", rate_holds),
            ("the number in flight", self.in_flight > 0),
            ("the duration or count", lasts),
            ("the population", holds_any),
            ("the sum of the weights", weights > 0),
        ];
        if let Some((what, _)) = numbers.into_iter().find(|(_, holds)| !holds) {
            return Err(PlanError::NotPositive {
                phase: self.name.clone(),
                what,
            });
        }
        let known = workload.operations();
        match self
            .operations
            .iter()
            .find(|share| !known.contains(&share.operation))
        {
            None => Ok(()),
            Some(share) => Err(PlanError::UnknownOperation {
                phase: self.name.clone(),
                operation: share.operation.clone(),
                known: known.join(", "),
            }),
        }
    }

    /// The arrival table, warm-up first; none in a closed loop.
    pub fn schedule(&self, root: Seed) -> Option<Schedule> {
        let rate = self.rate_per_s?;
        let total = self.warmup_operations() + self.measured_operations();
        let seed = root.derive(&format!("arrivals/{}", self.name));
        let schedule = match self.ramp {
            None => Schedule::new(rate, total, self.arrivals, seed),
            Some(ramp) => {
                let pace = self.pace(rate, ramp);
                Schedule::ramped(pace, total, self.arrivals, seed)
            }
        };
        Some(schedule.warmed_by(self.warmup_operations()))
    }

    /// The warm-up at the ramp's beginning, the ramp, and the rate from there on.
    fn pace(&self, rate: f64, ramp: Ramp) -> RampedPace {
        RampedPace {
            before_ns: self.warmup_ms.saturating_mul(1_000_000),
            from_per_s: ramp.from_per_s,
            over_ns: ramp.over_ms.saturating_mul(1_000_000),
            to_per_s: rate,
        }
    }

    /// Operations of the warm-up on an open-loop schedule; 0 in a closed loop, whose warm-up is a time.
    pub fn warmup_operations(&self) -> u64 {
        self.rate_per_s.map_or(0, |rate| {
            let rate = self.ramp.map_or(rate, |ramp| ramp.from_per_s);
            Schedule::offered_in(rate, self.warmup_ms.saturating_mul(1_000_000))
        })
    }

    /// Operations of the measurement window on an open-loop schedule (exactly rate × time), or the count of a closed loop.
    pub fn measured_operations(&self) -> u64 {
        let in_time = |ms: u64| {
            let Some(rate) = self.rate_per_s else {
                return 0;
            };
            match self.ramp {
                None => Schedule::offered_in(rate, ms.saturating_mul(1_000_000)),
                Some(ramp) => {
                    let pace = self.pace(rate, ramp);
                    let whole_ms = self.warmup_ms.saturating_add(ms);
                    let all = pace.offered_in(whole_ms.saturating_mul(1_000_000));
                    all.saturating_sub(self.warmup_operations())
                }
            }
        };
        match self.extent {
            Extent::Count(n) => n,
            Extent::DurationMs(ms) => in_time(ms),
            Extent::Until(target) => in_time(u64::from(target.most).saturating_mul(1000)),
        }
    }

    /// How long it takes, warm-up included, in milliseconds; none where it ends by count and has no rate.
    pub fn whole_ms(&self) -> Option<u64> {
        let measured = match self.extent {
            Extent::DurationMs(ms) => ms,
            Extent::Until(target) => u64::from(target.most).saturating_mul(1000),
            Extent::Count(_) => {
                let end_ns = self.schedule(Seed(0))?.end_ns();
                return Some(end_ns / 1_000_000);
            }
        };
        Some(measured.saturating_add(self.warmup_ms))
    }

    /// What operation `index` is and where it goes.
    pub fn choices(&self, root: Seed) -> Choices {
        let mut sum = 0;
        Choices {
            bounds: self
                .operations
                .iter()
                .map(|share| {
                    sum += u64::from(share.weight);
                    sum
                })
                .collect(),
            mix: root.derive(&format!("mix/{}", self.name)),
            places: root.derive(&format!("positions/{}", self.name)),
            population: self.population,
            positions: self.positions.clone(),
        }
    }
}

/// The pure function from an operation's index to its kind and position.
#[derive(Debug, Clone)]
pub struct Choices {
    bounds: Vec<u64>,
    mix: Seed,
    places: Seed,
    population: u64,
    positions: Positions,
}

impl Choices {
    /// Which entry of the mix operation `index` is.
    #[inline]
    pub fn operation(&self, index: u64) -> usize {
        if self.bounds.len() < 2 {
            return 0;
        }
        let all = self.bounds.last().copied().unwrap_or(1);
        let drawn = below(self.mix.at(index), all);
        self.bounds.partition_point(|bound| *bound <= drawn)
    }

    /// Which position operation `index` goes to, where every operation takes one; none behind the end of a range
    /// that does not wrap.
    pub fn position(&self, index: u64) -> Option<u64> {
        self.nth_position(index, index, 0)
    }

    /// Position number `place` of operation `index`, before which the others took `taken`.
    #[inline]
    pub fn nth_position(&self, index: u64, taken: u64, place: u32) -> Option<u64> {
        self.positions
            .at(self.places, self.population, index, taken, place)
    }

    /// Which positions there are to take.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> RunPlan {
        RunPlan {
            local_data_centre: Some("datacenter1".to_owned()),
            consistency: Consistency::LocalQuorum,
            ..RunPlan::new(
                vec![SocketAddr::from(([127, 0, 0, 1], 9042))],
                Workload::Standard1,
                vec![Phase::steady("write", 2000.0, 64, 30_000)],
                Seed(7),
            )
        }
    }

    #[test]
    fn plans_round_trip_and_hash_by_what_they_say() {
        let plan = plan();
        let json = serde_json::to_string(&plan).expect("writes");
        assert!(json.contains(r#""consistency":"LOCAL_QUORUM""#), "{json}");
        let read: RunPlan = serde_json::from_str(&json).expect("reads");
        assert_eq!(read, plan);
        assert_eq!(read.hash(), plan.hash());
        let other = RunPlan {
            seed: Seed(8),
            ..plan.clone()
        };
        assert_ne!(other.hash(), plan.hash());
        assert_eq!(plan.check(), Ok(()));
    }

    #[test]
    fn every_rate_survives_being_written_and_read() {
        let mut draw = crate::stats::Draw::new(Seed(3));
        for _ in 0..20_000 {
            let mut plan = plan();
            plan.phases[0].rate_per_s = Some(20_000.0 * draw.uniform());
            let json = serde_json::to_string(&plan.phases).expect("writes");
            let read: Vec<Phase> = serde_json::from_str(&json).expect("reads");
            assert_eq!(read, plan.phases, "{json}");
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let with = |change: fn(&mut RunPlan)| {
            let mut p = plan();
            change(&mut p);
            p.check().map_err(|e| e.to_string())
        };
        let said = with(|p| p.phases[0].in_flight = 0);
        assert_eq!(
            said,
            Err(r#"phase "write": the number in flight must be above zero"#.into())
        );
        let said = with(|p| p.phases[0].operations[0].operation = "erase".into());
        assert!(said.is_err_and(|e| e.contains("it has write, read")));
        assert!(with(|p| p.phases[0].rate_per_s = Some(-1.0)).is_err());
        assert!(with(|p| p.format = Format::new("plan", 2)).is_err());
        assert_eq!(
            with(|p| p.endpoints.clear()),
            Err("the plan has no endpoint".into())
        );
    }

    #[test]
    fn offered_is_exactly_rate_times_time() {
        let mut phase = Phase::steady("read", 1234.0, 8, 10_000);
        phase.warmup_ms = 500;
        assert_eq!(phase.measured_operations(), 12_340);
        assert_eq!(phase.warmup_operations(), 617);
        assert_eq!(phase.schedule(Seed(1)).map(|s| s.total()), Some(12_957));
    }

    #[test]
    fn mixes_keep_their_weights_and_positions_their_range() {
        let mut phase = Phase::steady("read", 1000.0, 8, 1000);
        phase.population = 100;
        phase.operations = vec![
            Share {
                operation: "write".into(),
                weight: 1,
            },
            Share {
                operation: "read".into(),
                weight: 3,
            },
        ];
        let choices = phase.choices(Seed(2));
        let reads = (0..40_000).filter(|i| choices.operation(*i) == 1).count();
        assert!((29_500..30_500).contains(&reads), "{reads}");
        let mut hit = [0_u32; 100];
        (0..40_000).for_each(|i| {
            hit[usize::try_from(choices.position(i).expect("one")).expect("small")] += 1
        });
        assert!(hit.iter().all(|n| (300..500).contains(n)));
    }
}
