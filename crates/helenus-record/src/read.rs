//! Reading runs: one whole, its intervals, or the list of them.
//! Refuses to mix moments: whatever takes several questions is read from one state of the database.

use crate::columns::{HistogramText, Json, SeedText, Word, all};
use crate::error::HistoryError;
use crate::id::{RunId, RunReference};
use crate::open::History;
use crate::run::{PhaseSummary, RunFilter, RunPlacement, RunState, RunSummary, StoredRun};
use crate::writer;
use helenus_model::doubt::Doubt;
use helenus_model::format::Format;
use helenus_model::result::{
    self, Distribution, GeneratorUse, OperationResult, PhaseResult, RunResult,
};
use helenus_model::run_plan::{self, RunPlan};
use helenus_model::sample::{FailureKind, Header, Interval, OperationInterval};
use helenus_model::telemetry::Reading;
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde::Deserialize;
use std::collections::BTreeMap;

impl History {
    /// The run that a person points at.
    ///
    /// # Errors
    /// No such run, or none at all; the database cannot be read.
    pub fn resolve(&self, reference: RunReference) -> Result<RunId, HistoryError> {
        match reference {
            RunReference::Last => last(&self.connection),
            RunReference::Newest => newest(&self.connection)?.ok_or(HistoryError::Empty),
            RunReference::Id(run) => {
                let there = "SELECT EXISTS (SELECT 1 FROM run WHERE id = ?)";
                if self.connection.query_row(there, [run], |row| row.get(0))? {
                    Ok(run)
                } else {
                    Err(unknown(&self.connection, run)?)
                }
            }
        }
    }

    /// Everything about a run but its intervals.
    ///
    /// # Errors
    /// No such run, a result of another version, or a database that cannot be read.
    pub fn run(&self, run: RunId) -> Result<StoredRun, HistoryError> {
        let one = self.connection.unchecked_transaction()?;
        let stored = one
            .query_row(
                &format!("SELECT {SUMMARY}, plan, host, cluster_plan, helenus_version, command, header, \
                          (SELECT life FROM restart WHERE restart.id = restart_id) AS life FROM run WHERE id = ?"),
                [run],
                |row| stored(&one, row),
            )
            .optional()?;
        let mut stored = match stored {
            Some(stored) => stored,
            None => return Err(unknown(&one, run)?),
        };
        stored.result = result_of(&one, &stored.summary)?;
        Ok(stored)
    }

    /// The runs that pass the filter, newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, HistoryError> {
        let one = self.connection.unchecked_transaction()?;
        let mut statement = one.prepare(&format!(
            "SELECT {SUMMARY} FROM run WHERE (:state IS NULL OR state = :state) \
             AND (:release IS NULL OR release = :release) AND (:workload IS NULL OR workload = :workload) \
             AND (:before IS NULL OR id < :before) AND (:plan_hash IS NULL OR plan_hash = :plan_hash) \
             AND (:tag IS NULL OR id IN (SELECT run_id FROM tag WHERE tag = :tag)) \
             ORDER BY id DESC"
        ))?;
        let found = statement.query_map(
            named_params! {
                ":state": filter.state.map(Word),
                ":release": filter.release,
                ":workload": filter.workload,
                ":before": filter.before,
                ":plan_hash": filter.plan_hash,
                ":tag": filter.tag,
            },
            |row| summary(&one, row),
        )?;
        // Whether a writer lives is not the database's to know, so the limit comes after it; rows are read as they
        // are asked for.
        let wanted = found.filter(|line| match (line, filter.running) {
            (Ok(line), Some(running)) => line.running == running,
            _ => true,
        });
        let most = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(wanted.take(most).collect::<rusqlite::Result<_>>()?)
    }

    /// The newest runs by name, each with its workload, whatever became of them.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn newest_names(&self, most: u32) -> Result<Vec<(RunId, String)>, HistoryError> {
        let sql = "SELECT id, workload FROM run ORDER BY id DESC LIMIT ?";
        Ok(all(&self.connection, sql, [most], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?)
    }

    /// Every tag that a run has, sorted.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn tags(&self) -> Result<Vec<String>, HistoryError> {
        let sql = "SELECT DISTINCT tag FROM tag ORDER BY tag";
        Ok(all(&self.connection, sql, [], |row| row.get(0))?)
    }

    /// The newest run, whatever became of it.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn latest(&self) -> Result<Option<RunSummary>, HistoryError> {
        let newest = RunFilter {
            limit: Some(1),
            ..RunFilter::default()
        };
        Ok(self.runs(&newest)?.pop())
    }

    /// The intervals of a run, as they were added.
    ///
    /// # Errors
    /// No such run, or a database that cannot be read.
    pub fn intervals(&self, run: RunId) -> Result<Vec<Interval>, HistoryError> {
        let one = self.connection.unchecked_transaction()?;
        self.resolve(run.into())?;
        let sql = "SELECT i.id, p.ordinal, i.stretch, i.start_ns, i.end_ns, i.thread_cpu_ns \
             FROM interval i JOIN phase p ON p.id = i.phase_id WHERE p.run_id = ? ORDER BY i.id";
        Ok(all(&one, sql, [run], |row| {
            Ok(Interval {
                phase: row.get(1)?,
                stretch: row.get::<_, Word<_>>(2)?.0,
                start_ns: row.get(3)?,
                end_ns: row.get(4)?,
                thread_cpu_ns: row.get(5)?,
                operations: interval_operations(&one, row.get(0)?)?,
                tenths: Vec::new(),
                slowest: Vec::new(),
                traced: Vec::new(),
                coordinators: BTreeMap::new(),
            })
        })?)
    }

    /// What was seen beside a run, in the order of time.
    ///
    /// # Errors
    /// No such run, or a database that cannot be read.
    pub fn readings(&self, run: RunId) -> Result<Vec<Reading>, HistoryError> {
        let one = self.connection.unchecked_transaction()?;
        self.resolve(run.into())?;
        let sql = "SELECT node, at_ns, sample FROM node_sample WHERE run_id = ? ORDER BY at_ns, id";
        Ok(all(&one, sql, [run], |row| {
            Ok(Reading {
                source: row.get(0)?,
                at_ns: row.get(1)?,
                seen: row.get::<_, Json<_>>(2)?.0,
            })
        })?)
    }
}

impl StoredRun {
    /// The plan, to be looked into or run again.
    ///
    /// # Errors
    /// A plan of another version.
    pub fn plan(&self) -> Result<RunPlan, HistoryError> {
        let run = self.summary.id;
        let json = |source| HistoryError::Json {
            what: "the plan",
            source,
        };
        let mark: FormatMark = serde_json::from_str(&self.plan_json).map_err(json)?;
        mark.format
            .check("plan", run_plan::VERSION)
            .map_err(|source| HistoryError::Format { run, source })?;
        serde_json::from_str(&self.plan_json).map_err(json)
    }
}

/// Read before the rest, so that a foreign version is named and not found as a missing field.
#[derive(Deserialize)]
struct FormatMark {
    format: helenus_model::format::Format,
}

/// The place of the restart.
fn placement(connection: &Connection, restart: i64) -> rusqlite::Result<RunPlacement> {
    let mut statement = connection.prepare_cached(
        "SELECT e.id, e.name, t.ordinal, t.name, r.ordinal, r.life IS NOT NULL FROM restart r \
         JOIN trial t ON t.id = r.trial_id JOIN experiment e ON e.id = t.experiment_id WHERE r.id = ?",
    )?;
    statement.query_row([restart], |row| {
        Ok(RunPlacement {
            experiment: row.get(0)?,
            experiment_name: row.get(1)?,
            trial: row.get(2)?,
            trial_name: row.get(3)?,
            restart_id: restart,
            restart: row.get(4)?,
            restart_known: row.get(5)?,
        })
    })
}

/// The columns that [`summary`] reads.
pub(crate) const SUMMARY: &str = "id, state, verdict, began_wall_ns, release, preset, jvm, workload, plan_hash, seed, restart_id, writer, received";

pub(crate) fn newest(connection: &Connection) -> rusqlite::Result<Option<RunId>> {
    let sql = "SELECT id FROM run ORDER BY received, id DESC LIMIT 1";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}

/// The newest run that has ended: of one under way, and of one that was cut off, nothing is known.
pub(crate) fn last(connection: &Connection) -> Result<RunId, HistoryError> {
    // What came from elsewhere is nobody's last run here.
    let ended = "SELECT id FROM run WHERE state <> 'broken' ORDER BY received, id DESC LIMIT 1";
    let ended: Option<RunId> = connection
        .query_row(ended, [], |row| row.get(0))
        .optional()?;
    match (ended, newest(connection)?) {
        (Some(run), _) => Ok(run),
        (None, Some(_)) => Err(HistoryError::NoneEnded),
        (None, None) => Err(HistoryError::Empty),
    }
}

/// The error for a run that is not there.
pub(crate) fn unknown(connection: &Connection, run: RunId) -> rusqlite::Result<HistoryError> {
    Ok(HistoryError::UnknownRun {
        run,
        newest: newest(connection)?,
    })
}

pub(crate) fn summary(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let id: RunId = row.get("id")?;
    let state = row.get::<_, Word<_>>("state")?.0;
    let writer: Option<String> = row.get("writer")?;
    let tags = "SELECT tag FROM tag WHERE run_id = ? ORDER BY tag";
    Ok(RunSummary {
        id,
        state,
        running: state == RunState::Broken && writer.is_some_and(|w| writer::lives(&w)),
        verdict: row.get::<_, Option<Word<_>>>("verdict")?.map(|word| word.0),
        began_wall_ns: row.get("began_wall_ns")?,
        received: row.get("received")?,
        release: row.get("release")?,
        preset: row.get("preset")?,
        jvm: row.get("jvm")?,
        workload: row.get("workload")?,
        plan_hash: row.get("plan_hash")?,
        seed: row.get::<_, SeedText>("seed")?.0,
        tags: all(connection, tags, [id], |row| row.get(0))?,
        place: placement(connection, row.get("restart_id")?)?,
        phases: phase_summaries(connection, id)?,
    })
}

fn phase_summaries(connection: &Connection, run: RunId) -> rusqlite::Result<Vec<PhaseSummary>> {
    let sql = "SELECT p.name, p.rate_per_s, p.achieved_per_s, p.verdict, s.p99_us, r.p99_us, p.in_flight FROM phase p \
         LEFT JOIN operation o ON o.phase_id = p.id AND o.is_total = 1 \
         LEFT JOIN distribution s ON s.operation_id = o.id AND s.measure = 'service' \
         LEFT JOIN distribution r ON r.operation_id = o.id AND r.measure = 'response' \
         WHERE p.run_id = ? ORDER BY p.ordinal";
    all(connection, sql, [run], |row| {
        Ok(PhaseSummary {
            name: row.get(0)?,
            rate_per_s: row.get(1)?,
            achieved_per_s: row.get(2)?,
            verdict: row.get::<_, Option<Word<_>>>(3)?.map(|word| word.0),
            service_p99_us: row.get(4)?,
            response_p99_us: row.get(5)?,
            in_flight: row.get(6)?,
        })
    })
}

/// A run without its result.
fn stored(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    Ok(StoredRun {
        summary: summary(connection, row)?,
        plan_json: row.get("plan")?,
        host: row.get::<_, Json<_>>("host")?.0,
        cluster_plan: row
            .get::<_, Option<Json<_>>>("cluster_plan")?
            .map(|json| json.0),
        life: row.get("life")?,
        helenus_version: row.get("helenus_version")?,
        command: row.get("command")?,
        header: row.get::<_, Option<Json<_>>>("header")?.map(|json| json.0),
        result: None,
    })
}

/// The result of a run; none when it is broken.
fn result_of(connection: &Connection, of: &RunSummary) -> Result<Option<RunResult>, HistoryError> {
    let format: Option<Word<Format>> = connection.query_row(
        "SELECT result_format FROM run WHERE id = ?",
        [of.id],
        |row| row.get(0),
    )?;
    let (Some(Word(format)), Some(verdict)) = (format, of.verdict) else {
        return Ok(None);
    };
    format
        .check("run", result::VERSION)
        .map_err(|source| HistoryError::Format { run: of.id, source })?;
    let result = connection.query_row("SELECT * FROM run WHERE id = ?", [of.id], |row| {
        Ok(RunResult {
            format,
            plan_hash: of.plan_hash.clone(),
            workload: of.workload.clone(),
            seed: of.seed,
            start_means: row.get::<_, Word<_>>("start_means")?.0,
            pacing: row.get::<_, Word<_>>("pacing")?.0,
            began_wall_ns: row.get("load_began_wall_ns")?,
            generator: generator(row)?,
            unchecked: row
                .get::<_, Option<Json<Header>>>("header")?
                .map(|json| json.0.unchecked)
                .unwrap_or_default(),
            phases: phases(connection, of.id)?,
            verdict,
        })
    })?;
    Ok(Some(result))
}

fn generator(row: &Row<'_>) -> rusqlite::Result<Option<GeneratorUse>> {
    let Some(cpu_us) = row.get("generator_cpu_us")? else {
        return Ok(None);
    };
    Ok(Some(GeneratorUse {
        cpu_us,
        cpu_per_operation_us: row.get("generator_cpu_per_operation_us")?,
        max_rss_bytes: row.get("generator_max_rss_bytes")?,
        voluntary_switches: row.get("generator_voluntary_switches")?,
        involuntary_switches: row.get("generator_involuntary_switches")?,
    }))
}

fn phases(connection: &Connection, run: RunId) -> rusqlite::Result<Vec<PhaseResult>> {
    let sql = "SELECT * FROM phase WHERE run_id = ? AND verdict IS NOT NULL ORDER BY ordinal";
    all(connection, sql, [run], |row| {
        let phase: i64 = row.get("id")?;
        Ok(PhaseResult {
            name: row.get("name")?,
            rate_per_s: row.get("rate_per_s")?,
            achieved_per_s: row.get("achieved_per_s")?,
            in_flight: row.get("in_flight")?,
            duration_s: row.get("duration_s")?,
            thread_busy: row.get("thread_busy")?,
            backlog: row.get("backlog")?,
            abandoned: row.get("abandoned")?,
            standing: row.get::<_, Json<_>>("standing")?.0,
            total: operations(connection, phase, true)?
                .into_values()
                .next()
                .unwrap_or_default(),
            operations: operations(connection, phase, false)?,
            first_failures: first_failures(connection, phase)?,
            steadiness: row.get::<_, Option<Json<_>>>("steadiness")?.map(|j| j.0),
            around: row
                .get::<_, Option<Json<_>>>("around")?
                .map(|j| j.0)
                .unwrap_or_default(),
            doubts: doubts(connection, phase)?,
            verdict: row.get::<_, Word<_>>("verdict")?.0,
        })
    })
}

fn operations(
    connection: &Connection,
    phase: i64,
    total: bool,
) -> rusqlite::Result<BTreeMap<String, OperationResult>> {
    let sql = "SELECT * FROM operation WHERE phase_id = ? AND is_total = ?";
    all(connection, sql, (phase, total), |row| {
        let mut measures = distributions(connection, row.get("id")?)?;
        let result = OperationResult {
            offered: row.get("offered")?,
            started: row.get("started")?,
            completed: row.get("completed")?,
            failed: row.get::<_, Json<_>>("failed")?.0,
            service: measures.remove("service"),
            response: measures.remove("response"),
            lateness: measures.remove("lateness"),
            slot_wait: measures.remove("slot_wait"),
            partitions: row.get("partitions")?,
            rows: row.get("rows")?,
        };
        Ok((row.get("name")?, result))
    })
}

fn distributions(
    connection: &Connection,
    operation: i64,
) -> rusqlite::Result<BTreeMap<String, Distribution>> {
    let sql = "SELECT * FROM distribution WHERE operation_id = ?";
    all(connection, sql, [operation], |row| {
        let distribution = Distribution {
            count: row.get("count")?,
            min_us: row.get("min_us")?,
            mean_us: row.get("mean_us")?,
            p50_us: row.get("p50_us")?,
            p90_us: row.get("p90_us")?,
            p95_us: row.get("p95_us")?,
            p99_us: row.get("p99_us")?,
            p999_us: row.get("p999_us")?,
            p9999_us: row.get("p9999_us")?,
            max_us: row.get("max_us")?,
            confidence: row.get::<_, Option<Json<_>>>("confidence")?.map(|j| j.0),
            histogram: row.get::<_, HistogramText>("histogram")?.0,
        };
        Ok((row.get("measure")?, distribution))
    })
}

fn first_failures(
    connection: &Connection,
    phase: i64,
) -> rusqlite::Result<BTreeMap<FailureKind, String>> {
    let sql = "SELECT kind, text FROM first_failure WHERE phase_id = ?";
    all(connection, sql, [phase], |row| {
        Ok((row.get::<_, Word<_>>(0)?.0, row.get(1)?))
    })
}

fn doubts(connection: &Connection, phase: i64) -> rusqlite::Result<Vec<Doubt>> {
    let sql = "SELECT * FROM doubt WHERE phase_id = ? ORDER BY id";
    all(connection, sql, [phase], |row| {
        Ok(Doubt {
            kind: row.get::<_, Word<_>>("kind")?.0,
            severity: row.get::<_, Word<_>>("severity")?.0,
            measured: row.get("measured")?,
            threshold: row.get("threshold")?,
            unit: row.get("unit")?,
            text: row.get("text")?,
            cure: row.get("cure")?,
            about: row.get("about")?,
        })
    })
}

fn interval_operations(
    connection: &Connection,
    interval: i64,
) -> rusqlite::Result<BTreeMap<String, OperationInterval>> {
    let sql = "SELECT * FROM interval_operation WHERE interval_id = ?";
    all(connection, sql, [interval], |row| {
        let counts = OperationInterval {
            offered: row.get("offered")?,
            started: row.get("started")?,
            completed: row.get("completed")?,
            failed: row.get::<_, Json<_>>("failed")?.0,
            service: row.get::<_, HistogramText>("service")?.0,
            response: row.get::<_, HistogramText>("response")?.0,
            lateness: row.get::<_, HistogramText>("lateness")?.0,
            slot_wait: row.get::<_, HistogramText>("slot_wait")?.0,
            wait: row.get::<_, HistogramText>("wait")?.0,
            partitions: row.get("partitions")?,
            rows: row.get("rows")?,
        };
        Ok((row.get("operation")?, counts))
    })
}
