//! `helenus stress`: a line of cassandra-stress read, carried out and reported in its words.
//! Refuses other exit codes than cassandra-stress has, but for an interrupt; doubts go to standard error.

mod load;
mod place;
mod sink;

use crate::cli::stress::Stress as Flags;
use crate::commands::agent;
use crate::commands::bench::{self, dry, render};
use crate::commands::disturb;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::ready::ReadyError;
use helenus_cluster::wall;
use helenus_lab::BenchError;
use helenus_lab::LabEvent;
use helenus_lab::bench::Where;
use helenus_lab::stress::{self, StressEvent, StressRequest, StressRun, StressRunError, Stressed};
use helenus_model::format::Format;
use helenus_model::line::Step;
use helenus_model::result::{RunResult, tables};
use helenus_model::run_plan::Phase;
use helenus_model::sample::FailureKind;
use helenus_model::stress::{
    Asked, Command, Rate, Stress, StressError, help, percentiles, profiles, read, values,
};
use helenus_model::units::{plural, thousands};
use helenus_model::workload::Workload;
use helenus_record::report::run_answer;
use serde::Serialize;
use sink::Sink;
use std::collections::BTreeMap;

pub(crate) fn run(flags: &Flags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match asked(flags, context, ui) {
        // cassandra-stress knows one failure only.
        Ok(0) if ui.lost().is_some() => Ok(code::BAR),
        ended => ended,
    }
}

fn asked(flags: &Flags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (stress, translated) = match read(&flags.words).map_err(refused)? {
        Asked::Help(about) => {
            ui.out(&help(about.as_deref()));
            return Ok(0);
        }
        Asked::Version => {
            ui.out(&format!(
                "Version: 4.0-alpha2 (its language; this is helenus {})\n",
                crate::cli::VERSION
            ));
            return Ok(0);
        }
        Asked::Print(dist) => {
            let printed = Printed {
                format: Format::new("stress-print", 1),
                values: values(&dist),
                dist: dist.to_string(),
            };
            ui.result(&printed, || percentiles(&dist));
            return Ok(0);
        }
        Asked::Run { stress, translated } => (*stress, translated),
    };
    for caution in stress.cautions() {
        ui.caution(&caution);
    }
    let outcome = carry_out(&stress, translated.as_deref(), flags, context, ui);
    outcome.map_err(|mut error| {
        if error.code != code::INTERRUPTED {
            error.code = code::BAR;
        }
        error
    })
}

fn refused(error: StressError) -> CommandError {
    CommandError::of(code::BAR, &error).hint(error.hint())
}

fn carry_out(
    stress: &Stress,
    translated: Option<&str>,
    flags: &Flags,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let hosts = place::hosts(stress)?;
    let mut known = stress.clone();
    known.node.hosts.clone_from(&hosts);
    if flags.dry_run {
        return dry_run(&known, &load::load(stress, None)?, ui);
    }
    load::check(stress)?;
    let place = place::place(stress, flags, context)?;
    let there = match &place.to {
        Where::Cluster(name) => Some((context, name.as_str())),
        _ => None,
    };
    let _held = there.and_then(|(_, name)| disturb::hold(context, name));
    let loaded = load::load(stress, there)?;
    let request = StressRequest {
        place: place.to.clone(),
        stress: known,
        workload: loaded.workload,
        schema: loaded.schema,
        tables: loaded.tables,
        hosts: hosts.len().max(1) as u64,
        processes: agent::generators(&flags.agents, flags.processes),
        agents: agent::of(&flags.agents, &place.to)?,
        tag: flags.tag.clone(),
        command: disturb::words(),
        version: crate::cli::VERSION.to_owned(),
    };
    let mut sink = Sink::new(&request.stress, ui)?;
    if let Some(line) = translated {
        sink.say("Running in legacy support mode. Translating command to: ");
        sink.say(&format!("stress {line}"));
    }
    if !request.stress.log.no_settings {
        sink.say(&request.stress.settings());
        if let (Command::User { .. }, Workload::Profiles(all)) =
            (&request.stress.command, &request.workload)
        {
            sink.say(&profiles(&all.specs));
        }
    }
    let searches = matches!(request.stress.rate, Rate::Search { .. });
    let ended = stress::run(context, &request, &mut |event| {
        live(&event, ui);
        sink.see(&event, searches);
    });
    drop(place);
    let ended = print_end(ended, &mut sink, ui);
    let title = title(&request.stress);
    let written = sink.end(&title);
    let stressed = ended?;
    written?;
    show(&stressed, &request, ui);
    let mut runs = stressed.runs.iter();
    let not_recorded = runs.find_map(|run| run.finished.not_recorded.as_ref());
    let failed = !stressed.runs.iter().all(|run| run.success);
    bench::recorded(u8::from(failed), "the run", not_recorded)
}

/// What a person must see while it runs: a cluster that is not theirs.
fn live(event: &StressEvent<'_>, ui: &Ui) {
    match event {
        StressEvent::Lab(LabEvent::Foreign(sight)) => {
            ui.note(&format!(
                "writing to {:?}, which is not yours",
                sight.cluster_name
            ));
        }
        StressEvent::Lab(LabEvent::Step(Step::Run)) => tracing::debug!("runs"),
        _ => {}
    }
}

/// END or FAILURE, and what to think of the numbers.
fn print_end(
    ended: Result<Stressed, StressRunError>,
    sink: &mut Sink<'_>,
    ui: &Ui,
) -> Result<Stressed, CommandError> {
    let stressed = ended.map_err(|error| {
        let failure = failure(error);
        if failure.code != code::INTERRUPTED {
            sink.say("FAILURE");
        }
        failure
    })?;
    if stressed.runs.iter().any(|run| run.finished.interrupted) {
        return Err(CommandError::new(
            code::INTERRUPTED,
            "interrupted, and cleaned up",
        ));
    }
    if !stressed.runs.is_empty() {
        let success = stressed.runs.iter().all(|run| run.success);
        sink.say(if success { "END" } else { "FAILURE" });
    }
    for run in &stressed.runs {
        print_run(run, ui);
    }
    let each = stressed.runs.iter();
    let phases = each.flat_map(|run| &run.finished.result.phases);
    if let Some(calibration) = tables::calibration(phases) {
        ui.note(&calibration);
    }
    Ok(stressed)
}

fn print_run(run: &StressRun, ui: &Ui) {
    let phases = &run.finished.result.phases;
    if !run.success {
        let all = phases.iter().flat_map(|phase| &phase.first_failures);
        let firsts: Vec<String> = all
            .map(|(kind, text)| format!("{}: {text}", kind.word()))
            .collect();
        let text = format!("operations failed ({})", firsts.join("; "));
        let failed = phases.iter().map(|phase| &phase.total.failed);
        let most = failed.filter_map(FailureKind::most_frequent).next();
        let cure = stress::failure_hint(most.unwrap_or(FailureKind::Other));
        ui.error(&CommandError::new(code::BAR, text).hint(format!(
            "{cure}; -errors ignore counts failures and continues"
        )));
    }
    for (name, (nothing, all)) in &run.found_nothing {
        ui.note(&format!(
            "{name}: {} of {} reads found no row",
            thousands(*nothing),
            thousands(*all)
        ));
    }
    let doubts = render::doubts(phases);
    if !doubts.is_empty() {
        ui.note(doubts.trim_end());
    }
    if let Some(id) = &run.finished.run {
        ui.note(&format!(
            "{id}: {} threads; helenus history show {id} shows service and response times separately",
            run.threads
        ));
    }
}

fn failure(error: StressRunError) -> CommandError {
    let hint = error.hint();
    let StressRunError::Bench(error) = error else {
        return CommandError::of(code::BAR, &error).hint(hint);
    };
    match *error {
        BenchError::Cluster(error) if matches!(error.find(), Some(ReadyError::Interrupted)) => {
            CommandError::new(code::INTERRUPTED, "interrupted, and cleaned up")
        }
        other => bench::failure(other),
    }
}

/// The page's title: the line's, or the moment.
fn title(stress: &Stress) -> String {
    stress.graph.title.clone().unwrap_or_else(|| {
        let now = helenus_record::when::Utc::of_ns(wall::now_ns());
        format!("cassandra-stress - {now}")
    })
}

/// What programs read of a distribution.
#[derive(Serialize)]
struct Printed {
    format: Format,
    /// The distribution.
    dist: String,
    /// Shares of all samples, and the value that each does not exceed.
    values: Vec<(f64, i64)>,
}

impl Answers for Printed {
    fn answer(&self) -> String {
        let most = self.values.last().map_or(0, |(_, value)| *value);
        format!("no value of {} is larger than {most}", self.dist)
    }
}

/// What programs read at the end.
#[derive(Serialize)]
struct StressReport<'a> {
    format: Format,
    /// The line as it was understood.
    stress: &'a Stress,
    /// Whether no operation failed that may not.
    success: bool,
    /// The runs.
    runs: Vec<PrintedRun<'a>>,
}

impl Answers for StressReport<'_> {
    fn answer(&self) -> String {
        let Some(last) = self.runs.last() else {
            return "nothing was run".to_owned();
        };
        let reached = run_answer(Some(last.result));
        let failed = if self.success {
            ""
        } else {
            "operations failed: "
        };
        match &self.runs[..] {
            [_] => format!("{failed}{reached}"),
            all => format!(
                "{failed}{} runs, the last with {} threads: {reached}",
                all.len(),
                last.threads
            ),
        }
    }
}

#[derive(Serialize)]
struct PrintedRun<'a> {
    /// Its name in the history; none where it could not be kept.
    run: Option<String>,
    /// Threads that ran.
    threads: u32,
    /// Whether no operation failed that may not.
    success: bool,
    /// Which latency the rows show: `service` or `response`.
    shown: &'static str,
    /// Queries of profiles that found no row: how many of each found none.
    found_nothing: BTreeMap<&'a str, u64>,
    /// What was measured.
    result: &'a RunResult,
}

fn show(stressed: &Stressed, request: &StressRequest, ui: &Ui) {
    if !ui.json() {
        return;
    }
    let response = matches!(
        request.stress.rate,
        Rate::Threads {
            limit: helenus_model::stress::Limit::Fixed(_),
            ..
        }
    );
    let runs = stressed.runs.iter().map(|run| PrintedRun {
        run: run.finished.run.map(|id| id.to_string()),
        threads: run.threads,
        success: run.success,
        shown: if response { "response" } else { "service" },
        found_nothing: run
            .found_nothing
            .iter()
            .map(|(name, (nothing, _))| (name.as_str(), *nothing))
            .collect(),
        result: &run.finished.result,
    });
    ui.json_value(&StressReport {
        format: Format::new("stress", 1),
        stress: &request.stress,
        success: stressed.runs.iter().all(|run| run.success),
        runs: runs.collect(),
    });
}

/// What would be done.
#[derive(Serialize)]
struct Plan<'a> {
    format: Format,
    /// The line as it was understood.
    stress: &'a Stress,
    /// Statements that make the schema.
    schema: &'a [String],
    /// Phases before it.
    warm_ups: Vec<Phase>,
    /// The run, or the first of a search.
    phase: Phase,
}

impl Answers for Plan<'_> {
    fn answer(&self) -> String {
        let phases = plural(self.warm_ups.len() + 1, "phase");
        format!("would run {phases}, the warm-up's included; nothing was started (--dry-run)")
    }
}

fn dry_run(stress: &Stress, loaded: &load::Loaded, ui: &Ui) -> Result<u8, CommandError> {
    let operations = stress.operations(&loaded.workload).map_err(refused)?;
    let threads = match stress.rate {
        Rate::Threads { threads, .. } => threads,
        Rate::Search { least, .. } => least,
    };
    stress.level().map_err(refused)?;
    let hosts = stress.node.hosts.len().max(1) as u64;
    let plan = Plan {
        format: Format::new("stress-plan", 1),
        stress,
        schema: &loaded.schema,
        warm_ups: stress.warm_ups(hosts, &operations).map_err(refused)?,
        phase: stress.phase(threads, &operations).map_err(refused)?,
    };
    ui.result(&plan, || {
        let mut text = stress.settings();
        for statement in plan.schema {
            text.push_str(&format!("{statement};\n"));
        }
        for phase in plan.warm_ups.iter().chain([&plan.phase]) {
            text.push_str(&dry::planned(phase));
        }
        text.push_str("nothing was started (--dry-run)\n");
        text
    });
    Ok(0)
}
