//! `helenus nb`: a line of NoSQLBench's cql-iot, run as the workload iot, with NoSQLBench's timers at its end.
//! Refuses a line of steps of its own: the line becomes flags of `run`.

use crate::cli::nb::Nb as Flags;
use crate::cli::{Cli, Shown, Verb};
use crate::commands::bench::{self, access, dry};
use crate::commands::place::{self, Login};
use crate::commands::run;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use clap::Parser as _;
use helenus_cluster::context::Context;
use helenus_lab::{Finished, LabEvent};
use helenus_model::bench::Shape;
use helenus_model::nb::{Line, Marks, Password, timer};
use std::collections::BTreeMap;

pub(crate) fn run(flags: &Flags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let line = Line::read(&flags.words)?;
    let mut request = run::request(&flags_of_run(&line, flags)?, context, ui)?;
    if let Shape::Phases(phases) = &mut request.shape {
        // NoSQLBench's line has no phase that reads everything back.
        phases.retain(|phase| phase.name != "verify");
    }
    let login = login(&line, ui)?;
    let named = flags.i_may_write_to.as_deref();
    let place = match &flags.cluster {
        Some(name) => place::cluster(name, context)?,
        None if line.hosts.is_empty() => {
            place::cluster(&place::the_one(context, "hosts=")?, context)?
        }
        None => place::hosts(&line.hosts, line.port, named, login, context)?,
    };
    request.place = place.to.clone();
    if flags.dry_run {
        return dry::dry_run(&request, context, ui);
    }
    let mut marks: BTreeMap<String, Marks> = BTreeMap::new();
    let ended = bench::carry_out_seen(&request, Shown::default(), context, ui, &mut |event| {
        if let LabEvent::Interval {
            phase, interval, ..
        } = event
        {
            let ended: u64 = interval.tenths.iter().map(|tenth| tenth.ended).sum();
            let seconds = interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9;
            let of_phase = marks.entry(phase.name.clone()).or_default();
            of_phase.push((ended, seconds));
        }
    });
    drop(place);
    let finished = ended?;
    if !ui.json() {
        ui.out(&timers(&finished, &marks));
    }
    bench::ended(finished)
}

/// The flags of `run` that mean the same.
fn flags_of_run(line: &Line, flags: &Flags) -> Result<crate::cli::run::Run, CommandError> {
    let mut words: Vec<String> = ["helenus", "run", "iot"].map(str::to_owned).to_vec();
    let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for (name, value) in &line.parameters {
        flag("--param", format!("{name}={value}"));
    }
    if let Some(rate) = &line.rate {
        flag("--rate", rate.clone());
        // As NoSQLBench spaces its cycles.
        flag("--arrivals", "constant".to_owned());
    }
    if let Some(number) = line.in_flight {
        flag("--in-flight", number.to_string());
    }
    if let Some(data_centre) = &line.data_centre {
        flag("--client-dc", data_centre.clone());
    }
    if let Some(tag) = &flags.tag {
        flag("--tag", tag.clone());
    }
    let read = Cli::try_parse_from(&words).map_err(|error| {
        // The first line says what is wrong; the rest is about flags that the line does not have.
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        CommandError::new(code::USAGE, first.trim_start_matches("error: "))
            .hint("helenus nb --help shows examples".to_owned())
    })?;
    match read.verb {
        Verb::Run(run) => Ok(*run),
        _ => Err(CommandError::new(code::USAGE, "the line cannot be run")),
    }
}

/// Who logs in: a password in the line is taken as it stands in scripts, and named.
fn login(line: &Line, ui: &Ui) -> Result<Option<Login>, CommandError> {
    let (Some(user), Some(password)) = (&line.user, &line.password) else {
        return Ok(None);
    };
    let password = match password {
        Password::File(path) => access::whole_private(path)?.trim_end().to_owned(),
        Password::Word(word) => {
            ui.caution(
                "other users can read password= in the list of processes while this runs; use passfile=FILE, which only you can read",
            );
            word.clone()
        }
    };
    Ok(Some(Login {
        user: user.clone(),
        password,
    }))
}

/// NoSQLBench's timers of each phase: service times, and response times where there was a rate.
fn timers(finished: &Finished, marks: &BTreeMap<String, Marks>) -> String {
    let mut text = String::new();
    let none = Marks::new();
    for phase in &finished.result.phases {
        let marks = marks.get(&phase.name).unwrap_or(&none);
        let total = &phase.total;
        let kinds = [
            ("servicetime", &total.service),
            ("responsetime", &total.response),
        ];
        for (kind, times) in kinds {
            if let Some(times) = times {
                text.push_str(&timer(&phase.name, kind, &times.histogram, marks));
                text.push('\n');
            }
        }
    }
    text
}
