//! `helenus levels`: consistency levels against distance, measured beside what was predicted.
//! Refuses a cluster that is not there already: its links and nodes are what is compared on.

mod render;

use crate::cli::levels::{Cells, Levels};
use crate::commands::bench::{self, ms, random};
use crate::commands::disturb;
use crate::commands::experiment::pairs::not_comparable;
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::error::{ClusterError, with_causes};
use helenus_cluster::state::ClusterState;
use helenus_lab::levels::{self as lab, LevelsError, LevelsEvent, LevelsFinished, LevelsRequest};
use helenus_model::level_runs::phases::Lasts;
use helenus_model::level_runs::{self, CellRun};
use helenus_model::levels::{Distance, Load, NotRun, Planned, Wanted, crowded, scene};
use helenus_model::run_plan::Extent;
use helenus_model::seed::Seed;
use helenus_model::topology::link::Directed;
use helenus_model::topology::name_hint;
use helenus_model::units::human_duration;
use helenus_record::report;
use std::path::Path;

/// Most operations in flight at a rate: more than any level holds at this rate.
const IN_FLIGHT: u32 = 1_024;

pub(crate) fn run(flags: &Levels, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if let Some(page) = &flags.html {
        crate::commands::report::replaceable(page, false, "name another file with --html")?;
    }
    if let Some(name) = &flags.from {
        let runs = lab::stored(context, name)?;
        return show(runs, Vec::new(), name, flags.html.as_deref(), ui);
    }
    let name = flags.cluster.as_deref().unwrap_or_default();
    let state = context.clusters.load(name)?;
    let links = lab::links(&state)?;
    let request = request(flags, &state, &links)?;
    let (request, planned) = uncrowded(flags, request, &state, &links)?;
    lab::not_known(context, &request.comparison).map_err(failure)?;
    super::fault::caution(&state, context, ui)?;
    if flags.dry_run {
        render::dry_run(&request, &planned, ui);
        return Ok(0);
    }
    if planned.cells.is_empty() {
        let why = planned.illegal.first().map(|one| one.why.clone());
        return Err(
            CommandError::new(code::USAGE, "none of these levels can be run here").hint(why),
        );
    }
    ui.note(&format!(
        "{}, seed {}; {} cells, {}, about {}",
        request.comparison,
        request.seed.0,
        planned.cells.len(),
        render::loads(&request.wanted.loads),
        human_duration(render::estimate(&request, &planned))
    ));
    for one in &planned.crowded {
        ui.caution(&render::crowded(one, &request.client_dc));
    }
    let _held = disturb::hold(context, &request.cluster);
    let mut live = render::Live::new(ui);
    let finished = lab::levels(context, &request, &mut |event: LevelsEvent<'_>| {
        live.see(&event)
    });
    drop(live);
    let finished = finished.map_err(failure)?;
    ended(finished, planned.illegal, &request, flags, ui)
}

/// The plan; where nobody said how much to ask for, at a rate at which nothing is crowded.
fn uncrowded(
    flags: &Levels,
    request: LevelsRequest,
    state: &ClusterState,
    links: &[Directed],
) -> Result<(LevelsRequest, Planned), CommandError> {
    let plan = |request: LevelsRequest| {
        let planned = lab::plan(&request, state, links)?;
        Ok((request, planned))
    };
    if flags.cells.rate.is_some() || flags.cells.closed.is_some() {
        return plan(request);
    }
    let at = |rate: f64| {
        let mut request = request.clone();
        request.wanted.loads = vec![Load::Rate(rate)];
        plan(request)
    };
    crowded::at_ease(at, |(_, planned)| !planned.crowded.is_empty())
}

/// What remains to be reported, then the table, then how it ended.
fn ended(
    finished: LevelsFinished,
    illegal: Vec<NotRun>,
    request: &LevelsRequest,
    flags: &Levels,
    ui: &Ui,
) -> Result<u8, CommandError> {
    if let Some(error) = &finished.not_put_back {
        ui.caution(&format!(
            "the links were not restored: {}; `helenus link {}` shows and sets them",
            with_causes(error),
            request.cluster
        ));
    }
    for keyspace in &finished.not_dropped {
        ui.caution(&format!(
            "keyspace {keyspace} was not dropped: helenus cql {} -e 'DROP KEYSPACE {keyspace}'",
            request.cluster
        ));
    }
    let shown = show(
        finished.runs,
        illegal,
        &request.comparison,
        flags.html.as_deref(),
        ui,
    );
    if finished.interrupted {
        let clean = finished.not_dropped.is_empty() && finished.not_put_back.is_none();
        let text = match clean {
            true => "interrupted, and cleaned up; the cells so far are in the history",
            false => {
                "interrupted; what is left is listed above, the cells so far are in the history"
            }
        };
        return Err(CommandError::new(code::INTERRUPTED, text));
    }
    match finished.failed {
        Some(error) => Err(failure(error)),
        None => bench::recorded(shown?, "a run", finished.not_recorded.as_ref()),
    }
}

/// The table and, if asked for, the page; 5 if every run of a row is invalid.
fn show(
    runs: Vec<CellRun>,
    illegal: Vec<NotRun>,
    name: &str,
    page: Option<&Path>,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let cells: Vec<_> = runs.iter().map(|run| run.cell.clone()).collect();
    let table = level_runs::table(runs).map_err(not_comparable)?;
    let Some(table) = table else {
        let text = format!("no run of {name} has ended");
        return Err(CommandError::new(code::USAGE, text)
            .hint("`helenus history` lists the runs".to_owned()));
    };
    render::table(&table, &illegal, ui);
    if let Some(page) = page {
        let html = report::levels_html(&table);
        outfile::write(page, html.as_bytes())?;
        ui.note(&format!("wrote {}", page.display()));
    }
    let whole = cells.iter().all(|cell| {
        let mut rows = table.rows.iter();
        rows.any(|row| {
            row.level == cell.level
                && row.again == cell.again
                && row.workload == cell.workload
                && row.load == cell.load
                && row.distance == cell.distance.word
        })
    });
    Ok(if whole { 0 } else { code::INVALID })
}

fn request(
    flags: &Levels,
    state: &ClusterState,
    links: &[Directed],
) -> Result<LevelsRequest, CommandError> {
    let cells = &flags.cells;
    let replicas = scene::replicas(&state.plan, cells.replication);
    let first = state.plan.nodes.first();
    let first = first.map_or("", |node| node.data_center.as_str());
    let client_dc = cells.client_dc.clone().unwrap_or_else(|| first.to_owned());
    let known: Vec<String> = replicas.keys().cloned().collect();
    if !known.contains(&client_dc) {
        let text = format!("the cluster has no data centre {client_dc:?}");
        return Err(CommandError::new(code::USAGE, text).hint(name_hint(&client_dc, &known)));
    }
    let seed = cells.seed.unwrap_or_else(random);
    Ok(LevelsRequest {
        comparison: flags.tag.clone().unwrap_or_else(|| format!("lv-{seed}")),
        cluster: state.plan.name.clone(),
        wanted: wanted(cells, links),
        replicas,
        client_dc,
        lasts: Lasts {
            warmup_ms: ms(cells.warmup),
            extent: match cells.count {
                Some(count) => Extent::Count(count),
                None => Extent::DurationMs(ms(cells.duration)),
            },
            in_flight: IN_FLIGHT,
        },
        seed: Seed(seed),
        max_errors: cells.max_errors,
        command: disturb::words(),
        version: crate::cli::VERSION.to_owned(),
    })
}

fn wanted(cells: &Cells, links: &[Directed]) -> Wanted {
    let far = links.iter().any(|link| link.link.delay_us > 0);
    let mut distances = cells.rtts.clone();
    if distances.is_empty() {
        distances.extend(far.then(Distance::none));
        distances.push(Distance::as_they_are());
    }
    // Where neither is said, the plan finds a rate.
    let loads = cells.rate.map(Load::Rate).into_iter();
    let mut wanted = Wanted {
        levels: cells.cl.clone(),
        workloads: cells.workloads.clone(),
        distances,
        loads: loads.chain(cells.closed.map(Load::Closed)).collect(),
        repeats: cells.repeats,
    };
    once(&mut wanted.levels);
    once(&mut wanted.workloads);
    once(&mut wanted.distances);
    wanted
}

/// What was said twice counts once.
fn once<T: PartialEq>(all: &mut Vec<T>) {
    let mut place = 0;
    while place < all.len() {
        if all[..place].contains(&all[place]) {
            all.remove(place);
        } else {
            place += 1;
        }
    }
}

fn failure(error: LevelsError) -> CommandError {
    match error {
        LevelsError::Bench(source) => bench::failure(*source),
        LevelsError::Distance(source) => source.into(),
        LevelsError::Net(source) => ClusterError::from(source).into(),
        LevelsError::Schema { ref source, .. } => {
            let cure = source.hint().map(str::to_owned);
            CommandError::of(code::CLUSTER, &error).hint(cure)
        }
        LevelsError::Known(_) => CommandError::of(code::USAGE, &error).hint(
            "take another --seed or --tag; `helenus levels --from` shows that one".to_owned(),
        ),
        LevelsError::Taken(_) => CommandError::of(code::USAGE, &error)
            .hint("take another --seed, or drop it with `helenus cql` or cqlsh".to_owned()),
        LevelsError::Fill { .. } => CommandError::of(code::CLUSTER, &error)
            .hint("look at the nodes' logs with `helenus logs`".to_owned()),
    }
}
