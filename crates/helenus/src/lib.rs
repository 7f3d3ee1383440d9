//! THE COMMAND LINE: flags, settings, progress, tables, errors, exit codes, interrupts; one file a command.
//! Refuses decisions that a test of the model could make.

// Errors, the log, the live screen.
mod error;
mod log;
mod screen;

// Flags, and files that are written.
mod cli;
mod outfile;

// Standard output and standard error.
mod ui;

// One file a command.
mod commands;

use cli::{Cli, Global, NoVerb, Verb};
use error::CommandError;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::env::Env;
use std::process::ExitCode;
use ui::Ui;

/// The whole program: what its arguments ask for, and its exit code.
pub fn main() -> ExitCode {
    if let Some(ended) = commands::complete::asked() {
        return ended;
    }
    if let Some(ended) = commands::pod::asked() {
        return ended;
    }
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(NoVerb::Help(help)) => return print(&help),
        Err(NoVerb::Wrong(failure)) => return end(Err(failure), &Ui::new(&Global::json())),
    };
    // What becomes another program, or is one, needs nothing else of this crate.
    match &cli.verb {
        Verb::BecomeNode { launch } => return commands::hidden::node(launch),
        Verb::Leashed {
            parent,
            program,
            arguments,
        } => return commands::hidden::leashed(*parent, program, arguments),
        Verb::Keep { folder } => return commands::hidden::keep(folder),
        Verb::Owned { name, id } => return commands::hidden::owned(name, id),
        Verb::Within {
            cluster,
            space,
            program,
            arguments,
        } => return commands::hidden::within(cluster, space, program, arguments),
        Verb::Man { folder } => return commands::hidden::man(folder),
        Verb::Pod { what } => return commands::pod::run(what),
        Verb::NullServer => return commands::hidden::null_server(),
        Verb::Load { attached: true, .. } => return commands::attached::load(),
        Verb::LoadAgent(flags) if flags.stdio => {
            return end(commands::agent::stdio(flags), &Ui::new(&cli.global));
        }
        Verb::Load { secrets, .. } => return commands::hidden::load(*secrets),
        _ => {}
    }
    let ui = Ui::new(&cli.global);
    if let Verb::Reference = cli.verb {
        ui.out(&commands::hidden::reference());
        return end(Ok(0), &ui);
    }
    let ended = run(cli, &ui);
    end(ended, &ui)
}

/// The exit code. Lost output is reported as well, and turns a success into a failure; a verdict stays.
fn end(ended: Result<u8, CommandError>, ui: &Ui) -> ExitCode {
    let report = |failure: &CommandError| {
        tracing::error!(code = failure.code, error = failure.message(), "failed");
        ui.error(failure);
        failure.code
    };
    let code = ended.unwrap_or_else(|failure| report(&failure));
    let lost = ui.lost().map(|failure| report(&failure));
    ExitCode::from(if code == 0 { lost.unwrap_or(0) } else { code })
}

/// `--help` and `--version`.
fn print(help: &clap::builder::StyledStr) -> ExitCode {
    let ui = Ui::new(&cli::Global::default());
    ui.out(&help.ansi().to_string());
    end(Ok(0), &ui)
}

fn run(cli: Cli, ui: &Ui) -> Result<u8, CommandError> {
    let cancel = Cancel::default();
    catch_signals(&cancel);
    if let Verb::Completions(flags) = &cli.verb {
        return commands::completions::run(flags, ui);
    }
    if let Verb::Presets(flags) = &cli.verb {
        return commands::presets::run(flags, ui);
    }
    let helenus = std::env::current_exe()?;
    let context = Context::open(Env::of_process(), helenus, cancel)?;
    log::open(&context.paths.state, cli.global.verbose);
    tracing::info!(version = cli::VERSION, verb = ?std::env::args().nth(1), "begins");
    match cli.verb {
        Verb::Up(flags) => commands::up::run(flags, &context, ui),
        Verb::Bench(flags) => commands::bench::run(*flags, &context, ui),
        Verb::Run(flags) => commands::run::run(*flags, &context, ui),
        Verb::Populate(flags) => commands::populate::run(&flags, &context, ui),
        Verb::LoadFiles(flags) => commands::load::run(&flags, &context, ui),
        Verb::Unload(flags) => commands::unload::run(&flags, &context, ui),
        Verb::Stress(flags) => commands::stress::run(&flags, &context, ui),
        Verb::Nb(flags) => commands::nb::run(&flags, &context, ui),
        Verb::Workload(flags) => commands::workload::run(&flags, &context, ui),
        Verb::Compare(flags) => commands::compare::run(&flags, &context, ui),
        Verb::Levels(flags) => commands::levels::run(&flags, &context, ui),
        Verb::Experiment(flags) => commands::experiment::run(&flags, &context, ui),
        Verb::History(flags) => commands::history::run(&flags, &context, ui),
        Verb::Report(flags) => commands::report::run(&flags, &context, ui),
        Verb::Reset(flags) => commands::reset::run(&flags, &context, ui),
        Verb::Stop(flags) => commands::stop::run(&flags, &context, ui),
        Verb::Start(flags) => commands::start::run(&flags, &context, ui),
        Verb::Upgrade(flags) => commands::upgrade::run(&flags, &context, ui),
        Verb::Baseline(flags) => commands::baseline::run(&flags, &context, ui),
        Verb::Rm(flags) => commands::rm::run(&flags, &context, ui),
        Verb::List(flags) => commands::list::run(&flags, &context, ui),
        Verb::Status(flags) => commands::status::run(&flags, &context, ui),
        Verb::Topology(flags) => commands::topology::run(&flags, &context, ui),
        Verb::Link(flags) => commands::link::run(&flags, &context, ui),
        Verb::Kube(flags) => commands::kube::run(&flags, &context, ui),
        Verb::Hosts(flags) => commands::hosts::run(&flags, &context, ui),
        Verb::Stack(flags) => commands::stack::run(&flags, &context, ui),
        Verb::Exec(flags) => commands::exec::run(&flags, &context),
        Verb::Logs(flags) => commands::logs::run(&flags, &context, ui),
        Verb::Collect(flags) => commands::collect::run(&flags, &context, ui),
        Verb::Metrics(flags) => commands::metrics::run(&flags, &context, ui),
        Verb::Ui(flags) => commands::site::run(&flags, context, ui),
        Verb::Kill(flags) => commands::signal::kill(&flags, &context, ui),
        Verb::Pause(flags) => commands::signal::pause(&flags, &context, ui),
        Verb::Resume(flags) => commands::signal::resume(&flags, &context, ui),
        Verb::Node(flags) => commands::node::run(&flags, &context, ui),
        Verb::Fault(flags) => commands::fault::run(&flags, &context, ui),
        Verb::Heal(flags) => commands::fault::heal(&flags, &context, ui),
        Verb::CheckData(flags) => commands::check_data::run(&flags, &context, ui),
        Verb::Ledger(flags) => commands::ledger::run(&flags, &context, ui),
        Verb::Count(flags) => commands::count::run(&flags, &context, ui),
        Verb::Flame(flags) => commands::flame::run(&flags, &context, ui),
        Verb::Jmx(flags) => commands::jmx::run(&flags, &context, ui),
        Verb::Nodetool(flags) => commands::nodetool::run(&flags, &context, ui),
        Verb::Cqlsh(flags) => commands::cqlsh::run(&flags, &context, ui),
        Verb::Ccm(flags) => commands::ccm::run(&flags, &context, ui),
        Verb::Env(flags) => commands::env::run(&flags, &context, ui),
        Verb::Guard(flags) => commands::guard::run(&flags, &context, ui),
        Verb::CqlshTool { target, arguments } => {
            commands::cqlsh::on_disk(&target, arguments, &context, ui)
        }
        Verb::Releases(flags) => commands::releases::run(&flags, &context, ui),
        Verb::Machine(flags) => commands::machine::run(&flags, &context, ui),
        Verb::Plan(flags) => commands::plan::run(&flags, &context, ui),
        Verb::Doctor(flags) => commands::doctor::run(&flags, &context, ui),
        Verb::LoadAgent(flags) => commands::agent::run(&flags, &context, ui),
        Verb::Calibrate(flags) => commands::calibrate::run(&flags, &context, ui),
        Verb::Completions(_)
        | Verb::Presets(_)
        | Verb::BecomeNode { .. }
        | Verb::Leashed { .. }
        | Verb::Keep { .. }
        | Verb::Owned { .. }
        | Verb::Within { .. }
        | Verb::Man { .. }
        | Verb::Pod { .. }
        | Verb::NullServer
        | Verb::Reference
        | Verb::Load { .. } => Ok(0),
    }
}

/// The first Ctrl-C asks everything to stop and clean up; the second ends the program at once.
fn catch_signals(cancel: &Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let code = i32::from(error::code::INTERRUPTED);
        // Registering fails for signals that cannot be caught; these can.
        // A closing terminal sends SIGHUP twice, and nobody meant "at once" by it.
        if signal != SIGHUP {
            let _can_be_caught =
                signal_hook::flag::register_conditional_shutdown(signal, code, cancel.flag());
        }
        let _can_be_caught = signal_hook::flag::register(signal, cancel.flag());
    }
}
