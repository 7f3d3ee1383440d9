//! Writing runs: their beginning, their intervals, their end; each in one transaction.
//! Refuses to change what has ended, and results of another plan.

use crate::columns::{HistogramText, Json, SeedText, Word};
use crate::error::HistoryError;
use crate::experiment::restart_of;
use crate::id::RunId;
use crate::open::History;
use crate::read::unknown;
use crate::run::{Ending, RunBeginning, RunState};
use crate::writer;
use helenus_model::doubt::Doubt;
use helenus_model::result::{Distribution, OperationResult, PhaseResult, RunResult};
use helenus_model::run_plan::{Phase, RunPlan};
use helenus_model::sample::{Header, Interval, OperationInterval};
use helenus_model::telemetry::Reading;
use rusqlite::{Connection, OptionalExtension, named_params, params};

impl History {
    /// Enters a run as broken, which it stays until [`Self::finish_run`].
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn begin_run(&mut self, beginning: &RunBeginning<'_>) -> Result<RunId, HistoryError> {
        let plan = beginning.plan;
        let plan_json = plan_json(plan)?;
        let transaction = self.writing()?;
        let restart = restart_of(&transaction, beginning)?;
        transaction.execute(
            "INSERT INTO run (restart_id, began_wall_ns, plan, plan_hash, seed, workload, release, preset, jvm, \
             host, cluster_plan, helenus_version, command, writer) VALUES (:restart, :began, :plan, :hash, :seed, \
             :workload, :release, :preset, :jvm, :host, :cluster_plan, :version, :command, :writer)",
            named_params! {
                ":restart": restart,
                ":began": beginning.began_wall_ns,
                ":plan": plan_json,
                ":hash": plan.hash(),
                ":seed": SeedText(plan.seed),
                ":workload": plan.workload.name(),
                ":release": beginning.release,
                ":preset": beginning.preset,
                ":jvm": beginning.jvm,
                ":host": Json(beginning.host),
                ":cluster_plan": beginning.cluster_plan.map(Json),
                ":version": beginning.helenus_version,
                ":command": beginning.command,
                ":writer": writer::me(),
            },
        )?;
        let run = RunId::of_row(transaction.last_insert_rowid());
        for (ordinal, phase) in plan.phases.iter().enumerate() {
            insert_phase(&transaction, run, ordinal, phase)?;
        }
        if let Some(tag) = beginning.tag {
            transaction.execute(
                "INSERT INTO tag (run_id, tag) VALUES (?, ?)",
                params![run, tag],
            )?;
        }
        transaction.commit()?;
        Ok(run)
    }

    /// Enters the last phase of this plan, which was found since the run began, and the plan with it.
    ///
    /// # Errors
    /// No such run, or one that has ended; the database cannot be written.
    pub fn add_phase(&mut self, run: RunId, plan: &RunPlan) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        under_way(&transaction, run)?;
        let sql = "UPDATE run SET plan = ? WHERE id = ?";
        transaction.execute(sql, params![plan_json(plan)?, run])?;
        let last = plan.phases.iter().enumerate().next_back();
        if let Some((ordinal, phase)) = last {
            insert_phase(&transaction, run, ordinal, phase)?;
        }
        Ok(transaction.commit()?)
    }

    /// Stores what the generator reported when it was ready: its anchors place the intervals on the wall clock.
    ///
    /// # Errors
    /// No such run, or one that has ended; the database cannot be written.
    pub fn set_header(&mut self, run: RunId, header: &Header) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        under_way(&transaction, run)?;
        let sql = "UPDATE run SET header = ? WHERE id = ?";
        transaction.execute(sql, params![Json(header), run])?;
        Ok(transaction.commit()?)
    }

    /// Stores intervals: all of them, or none.
    ///
    /// # Errors
    /// No such run, one that has ended, or one whose plan lacks a phase; the database cannot be written.
    pub fn add_intervals(
        &mut self,
        run: RunId,
        intervals: &[Interval],
    ) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        under_way(&transaction, run)?;
        for interval in intervals {
            let phase = phase_row(&transaction, run, interval.phase)?
                .map(|(row, _)| row)
                .ok_or_else(|| HistoryError::UnknownPhase {
                    run,
                    ordinal: interval.phase,
                    name: "of an interval".into(),
                })?;
            insert_interval(&transaction, phase, interval)?;
        }
        Ok(transaction.commit()?)
    }

    /// Stores what was seen beside a run: all of it, or nothing.
    ///
    /// # Errors
    /// No such run, or one that has ended; the database cannot be written.
    pub fn add_readings(&mut self, run: RunId, readings: &[Reading]) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        under_way(&transaction, run)?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO node_sample (run_id, node, at_ns, sample) VALUES (?, ?, ?, ?)",
            )?;
            for Reading {
                source,
                at_ns,
                seen,
            } in readings
            {
                insert.execute(params![run, source, at_ns, Json(seen)])?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Stores the result of a run, which then is no longer broken. [`Ending::of`] gives the ending.
    ///
    /// # Errors
    /// No such run, one that has ended, or a result of another plan; the database cannot be written.
    pub fn finish_run(
        &mut self,
        run: RunId,
        result: &RunResult,
        ending: Ending,
    ) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        let began = under_way(&transaction, run)?;
        if began != result.plan_hash {
            return Err(HistoryError::OtherPlan {
                run,
                began,
                found: result.plan_hash.clone(),
            });
        }
        for (ordinal, phase) in result.phases.iter().enumerate() {
            let row = phase_row(&transaction, run, ordinal)?
                .filter(|(_, name)| *name == phase.name)
                .map(|(row, _)| row)
                .ok_or_else(|| HistoryError::UnknownPhase {
                    run,
                    ordinal,
                    name: phase.name.clone(),
                })?;
            finish_phase(&transaction, run, row, phase)?;
        }
        update_run(&transaction, run, result, ending)?;
        Ok(transaction.commit()?)
    }
}

fn plan_json(plan: &RunPlan) -> Result<String, HistoryError> {
    serde_json::to_string(plan).map_err(|source| HistoryError::Json {
        what: "the plan",
        source,
    })
}

fn insert_phase(
    connection: &Connection,
    run: RunId,
    ordinal: usize,
    phase: &Phase,
) -> rusqlite::Result<usize> {
    connection.execute(
        "INSERT INTO phase (run_id, ordinal, name, rate_per_s, in_flight) VALUES (?, ?, ?, ?, ?)",
        params![run, ordinal, phase.name, phase.rate_per_s, phase.in_flight],
    )
}

/// The hash of the plan of a run that has not ended.
fn under_way(connection: &Connection, run: RunId) -> Result<String, HistoryError> {
    let found: Option<(Word<RunState>, String)> = connection
        .query_row(
            "SELECT state, plan_hash FROM run WHERE id = ?",
            [run],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match found {
        None => Err(unknown(connection, run)?),
        Some((Word(RunState::Broken), plan_hash)) => Ok(plan_hash),
        Some((Word(state), _)) => Err(HistoryError::Ended { run, state }),
    }
}

/// Row and name of a phase.
fn phase_row(
    connection: &Connection,
    run: RunId,
    ordinal: usize,
) -> rusqlite::Result<Option<(i64, String)>> {
    connection
        .prepare_cached("SELECT id, name FROM phase WHERE run_id = ? AND ordinal = ?")?
        .query_row(params![run, ordinal], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn insert_interval(connection: &Connection, phase: i64, one: &Interval) -> rusqlite::Result<()> {
    let interval = connection
        .prepare_cached(
            "INSERT INTO interval (phase_id, stretch, start_ns, end_ns, thread_cpu_ns) VALUES (?, ?, ?, ?, ?)",
        )?
        .insert(params![phase, Word(one.stretch), one.start_ns, one.end_ns, one.thread_cpu_ns])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO interval_operation (interval_id, operation, offered, started, completed, failed, service, \
         response, lateness, slot_wait, wait, partitions, rows) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (name, counts) in &one.operations {
        let OperationInterval {
            offered,
            started,
            completed,
            failed,
            ..
        } = counts;
        insert.execute(params![
            interval,
            name,
            offered,
            started,
            completed,
            Json(failed),
            HistogramText::of(&counts.service),
            HistogramText::of(&counts.response),
            HistogramText::of(&counts.lateness),
            HistogramText::of(&counts.slot_wait),
            HistogramText::of(&counts.wait),
            counts.partitions,
            counts.rows,
        ])?;
    }
    Ok(())
}

fn finish_phase(
    connection: &Connection,
    run: RunId,
    row: i64,
    phase: &PhaseResult,
) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE phase SET rate_per_s = :rate, in_flight = :in_flight, achieved_per_s = :achieved, \
         duration_s = :duration, thread_busy = :busy, backlog = :backlog, abandoned = :abandoned, \
         standing = :standing, steadiness = :steadiness, around = :around, \
         verdict = :verdict WHERE id = :row",
        named_params! {
            ":row": row,
            ":rate": phase.rate_per_s,
            ":in_flight": phase.in_flight,
            ":achieved": phase.achieved_per_s,
            ":duration": phase.duration_s,
            ":busy": phase.thread_busy,
            ":backlog": phase.backlog,
            ":abandoned": phase.abandoned,
            ":standing": Json(phase.standing),
            ":steadiness": phase.steadiness.as_ref().map(Json),
            ":around": Json(&phase.around),
            ":verdict": Word(phase.verdict),
        },
    )?;
    insert_operation(connection, row, true, "all", &phase.total)?;
    for (name, operation) in &phase.operations {
        insert_operation(connection, row, false, name, operation)?;
    }
    for (kind, text) in &phase.first_failures {
        connection.execute(
            "INSERT INTO first_failure (phase_id, kind, text) VALUES (?, ?, ?)",
            params![row, Word(kind), text],
        )?;
    }
    phase
        .doubts
        .iter()
        .try_for_each(|doubt| insert_doubt(connection, run, row, doubt))
}

fn insert_operation(
    connection: &Connection,
    phase: i64,
    is_total: bool,
    name: &str,
    result: &OperationResult,
) -> rusqlite::Result<()> {
    let OperationResult {
        offered,
        started,
        completed,
        failed,
        ..
    } = result;
    let operation = connection
        .prepare_cached(
            "INSERT INTO operation (phase_id, is_total, name, offered, started, completed, failed, partitions, \
             rows) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .insert(params![
            phase,
            is_total,
            name,
            offered,
            started,
            completed,
            Json(failed),
            result.partitions,
            result.rows
        ])?;
    let measures = [
        ("service", &result.service),
        ("response", &result.response),
        ("lateness", &result.lateness),
        ("slot_wait", &result.slot_wait),
    ];
    for (measure, distribution) in measures {
        if let Some(distribution) = distribution {
            insert_distribution(connection, operation, measure, distribution)?;
        }
    }
    Ok(())
}

fn insert_distribution(
    connection: &Connection,
    operation: i64,
    measure: &str,
    of: &Distribution,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO distribution (operation_id, measure, count, min_us, mean_us, p50_us, p90_us, p95_us, \
             p99_us, p999_us, p9999_us, max_us, confidence, histogram) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            operation,
            measure,
            of.count,
            of.min_us,
            of.mean_us,
            of.p50_us,
            of.p90_us,
            of.p95_us,
            of.p99_us,
            of.p999_us,
            of.p9999_us,
            of.max_us,
            of.confidence.map(Json),
            of.histogram.to_text(),
        ])?;
    Ok(())
}

fn insert_doubt(
    connection: &Connection,
    run: RunId,
    phase: i64,
    doubt: &Doubt,
) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO doubt (run_id, phase_id, kind, severity, measured, threshold, unit, text, cure, about) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            run,
            phase,
            Word(doubt.kind),
            Word(doubt.severity),
            doubt.measured,
            doubt.threshold,
            doubt.unit,
            doubt.text,
            doubt.cure,
            doubt.about,
        ],
    )?;
    Ok(())
}

fn update_run(
    connection: &Connection,
    run: RunId,
    result: &RunResult,
    ending: Ending,
) -> rusqlite::Result<()> {
    let generator = result.generator.as_ref();
    connection.execute(
        "UPDATE run SET state = :state, result_format = :format, start_means = :start, pacing = :pacing, \
         load_began_wall_ns = :began, generator_cpu_us = :cpu, generator_cpu_per_operation_us = :cpu_each, \
         generator_max_rss_bytes = :rss, generator_voluntary_switches = :voluntary, \
         generator_involuntary_switches = :involuntary, verdict = :verdict WHERE id = :run",
        named_params! {
            ":run": run,
            ":state": Word(RunState::from(ending)),
            ":format": Word(&result.format),
            ":start": Word(result.start_means),
            ":pacing": Word(result.pacing),
            ":began": result.began_wall_ns,
            ":cpu": generator.map(|g| g.cpu_us),
            ":cpu_each": generator.and_then(|g| g.cpu_per_operation_us),
            ":rss": generator.map(|g| g.max_rss_bytes),
            ":voluntary": generator.map(|g| g.voluntary_switches),
            ":involuntary": generator.map(|g| g.involuntary_switches),
            ":verdict": Word(result.verdict),
        },
    )?;
    Ok(())
}
