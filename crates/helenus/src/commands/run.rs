//! `helenus run`: a workload of one's own or a built-in one, through the same line as a bench.
//! Refuses a second line of steps: flags become phases, and the bench carries them out.

mod chosen;
mod search;

pub(crate) use chosen::{Chosen, Live, choose, choose_on, is_files, live_table};

use self::chosen::ChosenPhase;

use crate::cli::on::On;
use crate::cli::run::{Paced, Run, RunLoad};
use crate::commands::agent;
use crate::commands::bench::{self, dry};
use crate::commands::ledger;
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_lab::BenchRequest;
use helenus_model::bench::{Load, Shape};
use helenus_model::run_plan::{Extent, Phase, Positions};
use helenus_model::run_shape::{RunShape, mix};
use helenus_model::workload::Workload;

pub(crate) fn run(flags: Run, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let request = request(&flags, context, ui)?;
    if flags.dry_run {
        return dry::dry_run(&request, context, ui);
    }
    let shown = flags.load.common.shown;
    if request.search.is_some() {
        return search::run(&request, (flags.load.within, shown), context, ui);
    }
    bench::carry_out(&request, shown, context, &ui.detailed(flags.detail))
}

pub(crate) fn request(
    flags: &Run,
    context: &Context,
    ui: &Ui,
) -> Result<BenchRequest, CommandError> {
    let load = &flags.load;
    let cluster = flags.place.cluster.as_deref();
    let look = |keyspace: &str, table: &str| {
        live_table(context, cluster.unwrap_or_default(), keyspace, table)
    };
    let live = cluster.is_some().then_some(&look as Live<'_>);
    let mut chosen = choose_on(&flags.workload, &flags.params, flags.phase.as_deref(), live)?;
    chosen.with_table_options(&flags.table_options)?;
    let mut phases = phases(flags, &chosen)?;
    let search = search::of(load, &mut phases, &chosen.workload)?;
    On::without(
        flags.place.on.as_ref(),
        &[
            (load.slo.is_some(), "--slo"),
            (load.curve, "--curve"),
            (load.ledger.is_some(), "--ledger"),
        ],
    )?;
    let generators = agent::generators(&load.common.agents, load.common.processes);
    bench::processes(generators, &phases, load.ledger.is_some())?;
    let kept = ledger::keep(flags, &chosen.workload, &phases)?;
    let distance = bench::distance::of(&load.common.rtt);
    let place = bench::place(
        &flags.place,
        (flags.preset, &flags.cluster_flags, distance.as_ref()),
        false,
        (context, ui),
    )?;
    let offered = Load::of(phases.first().and_then(|phase| phase.rate_per_s));
    let what = (chosen.workload, Shape::Phases(phases), offered);
    let mut request = bench::with_common(&load.common, place, what, distance)?;
    request.ledger = kept;
    request.search = search;
    Ok(request)
}

/// All phases of the workload; one of its own where operations are named and no phase is.
fn phases(flags: &Run, chosen: &Chosen) -> Result<Vec<Phase>, CommandError> {
    let own_mix = !flags.ops.is_empty() && flags.phase.is_none();
    let main = chosen.phases.iter().find(|phase| phase.name == "main");
    let wanted = match main.or(chosen.phases.last()) {
        Some(main) if own_mix => std::slice::from_ref(main),
        _ => &chosen.phases[..],
    };
    let mut all = Vec::new();
    for phase in wanted {
        all.extend(shape(flags, &chosen.workload, phase)?.phases(&chosen.workload));
    }
    Ok(all)
}

fn shape(flags: &Run, workload: &Workload, chosen: &ChosenPhase) -> Result<RunShape, CommandError> {
    let load = &flags.load;
    let asked = if flags.ops.is_empty() {
        &chosen.mix
    } else {
        &flags.ops
    };
    let operations = mix(workload, asked)?;
    // A workload's own count is of its own mix.
    let own_count = chosen.count.filter(|_| flags.ops.is_empty());
    let count = load.common.count.or(own_count).filter(|_| {
        // A time that was asked for comes before a count that was not.
        load.common.duration.is_none() && load.rate_steps.is_empty()
    });
    let positions = load
        .positions
        .clone()
        .or_else(|| own_positions(flags, workload, chosen));
    // Who counts operations, or names the partitions one by one, means these and no others.
    let counted = count.is_some() || positions.as_ref().is_some_and(|p| p.most().is_some());
    let bounded = counted || load.common.duration.is_some() || load.step.is_some();
    Ok(RunShape {
        name: chosen.name.clone(),
        operations,
        rate_per_s: load.rate.map(|paced| paced.per_s),
        ramp: load.rate.and_then(|paced| paced.ramp),
        steps_per_s: load.rate_steps.clone(),
        in_flight: load.common.in_flight,
        extent: extent(load, count),
        warmup_ms: bench::warmup_ms(load.common.warmup, counted),
        settle: bench::settles(load.common.warmup, bounded, &load.common.faults)
            && !bench::looks_into_windows(&load.common),
        arrivals: load.common.arrivals,
        population: load.population.or(chosen.population),
        positions,
        // What is called so does it.
        verify: load.verify || chosen.name == "verify",
        serial_consistency: load.serial_cl,
    })
}

/// The workload's own way to take positions; not that of another mix which writes and reads where its own does not.
fn own_positions(flags: &Run, workload: &Workload, chosen: &ChosenPhase) -> Option<Positions> {
    let writes = |ops: &[(String, u32)]| ops.iter().all(|(name, _)| workload.writes(name));
    let same = flags.ops.is_empty() || writes(&flags.ops) == writes(&chosen.mix);
    chosen.positions.clone().filter(|_| same)
}

/// A step's time, a count, a time, or else the whole of a ramp.
fn extent(load: &RunLoad, count: Option<u64>) -> Extent {
    if let Some(step) = load.step {
        return Extent::DurationMs(bench::ms(step));
    }
    if let Some(count) = count {
        return Extent::Count(count);
    }
    let ramp_ms = match load.rate {
        Some(Paced {
            ramp: Some(ramp), ..
        }) => ramp.over_ms,
        _ => bench::DEFAULT_DURATION_MS,
    };
    Extent::DurationMs(load.common.duration.map_or(ramp_ms, bench::ms))
}
