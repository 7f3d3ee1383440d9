//! `helenus bench`: flags into a request, the run live, the result as tables with its doubts.

pub(crate) mod access;
pub(crate) mod distance;
pub(crate) mod faults;
mod generators;

mod beside;
pub(crate) mod dry;
mod live;

pub(crate) mod render;

pub(crate) use live::Live;

use crate::cli::doors::Doors;
use crate::cli::on::On;
use crate::cli::{
    Bench, BenchLoad, BenchPlace, ClusterFlags, CommonLoad, CompressionArg, Shown, Warmup,
};
use crate::commands::agent;
use crate::commands::disturb;
use crate::commands::hosts;
use crate::commands::up;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::error::{NodeError, with_causes};
use helenus_cluster::kube::KubeClusters;
use helenus_cql::ConnectOptions;
use helenus_cql::input;
use helenus_lab::bench::{ProfileAsked, Where};
use helenus_lab::calibrate;
use helenus_lab::generator::GeneratorError;
use helenus_lab::target::{HostAccess, TargetError};
use helenus_lab::{BenchError, BenchRequest, Finished, LabEvent};
use helenus_model::access::Access;
use helenus_model::bench::{BenchShape, Load, Shape};
use helenus_model::levels::Distance;
use helenus_model::preset::PresetName;
use helenus_model::run_plan::{
    Compression, CredentialsReference, Extent, Phase, SecretReference, check_processes,
};
use helenus_model::sample::Stage;
use helenus_model::samples::ReadError;
use helenus_model::seed::Seed;
use helenus_model::topology::name_hint;
use helenus_model::workload::{CustomWorkload, Query, Workload};
use helenus_record::HistoryError;
use std::net::SocketAddr;
use std::path::Path;

/// Measurement window by default.
pub(crate) const DEFAULT_DURATION_MS: u64 = 12_000;

/// Warm-up by default: the least of it, because it is extended while the numbers still settle.
pub(crate) const DEFAULT_WARMUP_MS: u64 = 3_000;

pub(crate) fn run(flags: Bench, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let request = request(&flags, context, ui)?;
    if flags.dry_run {
        return dry::dry_run(&request, context, ui);
    }
    let shown = flags.load.common.shown;
    carry_out(&request, shown, context, &ui.detailed(flags.detail))
}

/// Runs what was asked for, shows it as it goes and what came of it; returns the exit code of its verdict.
pub(crate) fn carry_out(
    request: &BenchRequest,
    shown: Shown,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    ended(carry_out_seen(request, shown, context, ui, &mut |_| {})?)
}

/// As [`carry_out`]; what happens on the way is seen by `seen`, too.
pub(crate) fn carry_out_seen(
    request: &BenchRequest,
    shown: Shown,
    context: &Context,
    ui: &Ui,
    seen: &mut dyn FnMut(&LabEvent<'_>),
) -> Result<Finished, CommandError> {
    let mut live = Live::of(request, shown, context, ui)?;
    let finished = helenus_lab::run(context, request, &mut |event| {
        live.see(&event);
        seen(&event);
    });
    drop(live);
    let finished = finished.map_err(refusal)?;
    if let Some(error) = &finished.not_removed {
        ui.caution(&format!(
            "the cluster was not removed: {}",
            with_causes(error)
        ));
    }
    if let (Some(error), Where::Cluster(name)) = (&finished.not_put_back, &request.place) {
        ui.caution(&format!(
            "the links were not restored: {}; `helenus link {name}` shows and sets them",
            with_causes(error)
        ));
    }
    let here = finished.elsewhere.is_none();
    let calibration = here.then(|| calibrate::read(context, &request.version));
    render::show(&finished, (request, calibration.flatten().as_ref()), ui);
    if let Some(ledger) = &finished.plan.ledger {
        let run = finished.run.map(|run| run.to_string());
        ui.note(&kept(&ledger.file, run.as_deref()));
    }
    Ok(finished)
}

/// Where a ledger was kept, and what to do with it.
fn kept(file: &Path, run: Option<&str>) -> String {
    let named = file.display().to_string();
    let name = run.unwrap_or(&named);
    format!("ledger: {named}\n  helenus ledger check {name}   reads every key back")
}

/// What a run that was carried out ends with.
pub(crate) fn ended(finished: Finished) -> Result<u8, CommandError> {
    if finished.interrupted {
        let cleaned_up = CommandError::new(code::INTERRUPTED, "interrupted, and cleaned up");
        return Err(finished.not_removed.map_or(cleaned_up, Into::into));
    }
    recorded(
        finished.result.verdict.exit_code(),
        "the run",
        finished.not_recorded.as_ref(),
    )
}

/// The exit code of a command whose result belongs in the history: one that is not there is a failure of the machine, unless
/// the result itself is one.
pub(crate) fn recorded(
    ended: u8,
    what: &str,
    not_recorded: Option<&HistoryError>,
) -> Result<u8, CommandError> {
    let Some(error) = not_recorded else {
        return Ok(ended);
    };
    let exit = match ended {
        0 => code::ENVIRONMENT,
        other => other,
    };
    let text = format!(
        "{what} could not be stored in the history: {}",
        with_causes(error)
    );
    Err(CommandError::new(exit, text).hint(error.hint()))
}

/// As [`failure`]; where a node is down, with the way to measure that.
fn refusal(error: BenchError) -> CommandError {
    let down = match &error {
        BenchError::Cluster(error) | BenchError::Target(TargetError::Cluster(error)) => {
            match error.find() {
                Some(NodeError::NotRunning { node, .. }) => Some(node.clone()),
                _ => None,
            }
        }
        _ => None,
    };
    match down {
        Some(node) => failure(error).or_else_hint(&format!(
            "to measure the cluster without {node}, let the run take it down: `--fault 'at 0s kill {node}'`"
        )),
        None => failure(error),
    }
}

pub(crate) fn failure(error: BenchError) -> CommandError {
    match error {
        BenchError::Cluster(error) | BenchError::Target(TargetError::Cluster(error)) => {
            error.into()
        }
        BenchError::Target(error) => {
            let code = match error {
                TargetError::Unreachable { .. } => code::ENVIRONMENT,
                _ => code::USAGE,
            };
            CommandError::of(code, &error).hint(error.hint())
        }
        BenchError::Prepare(ref source) => {
            let by_server = source.server().is_some();
            let code = if by_server {
                code::USAGE
            } else {
                code::CLUSTER
            };
            CommandError::of(code, &error).hint(source.hint().map(str::to_owned))
        }
        BenchError::Generator(GeneratorError::Read(ReadError::Failed(ref failed))) => {
            let code = match failed.stage {
                Stage::Plan | Stage::Secret | Stage::Prepare => code::USAGE,
                Stage::Connect => code::ENVIRONMENT,
                Stage::Run => code::CLUSTER,
            };
            let mut text = failed.message.clone();
            // Some errors repeat their causes in their own words.
            for cause in &failed.causes {
                if !text.contains(cause.as_str()) {
                    text.push_str(&format!(": {cause}"));
                }
            }
            let hint = failed.hint().map(str::to_owned);
            CommandError::new(code, text).hint(hint).or_no_space()
        }
        BenchError::Generator(GeneratorError::Elsewhere(error)) => error.into(),
        BenchError::Generator(_) | BenchError::Ledger(_) => {
            CommandError::of(code::ENVIRONMENT, &error)
        }
        BenchError::Unserved(ref refused) => {
            CommandError::of(code::USAGE, &error).hint(refused.hint())
        }
        BenchError::OtherReplication(ref other) => {
            CommandError::of(code::USAGE, &error).hint(other.hint())
        }
        BenchError::Apart(error) => distance::failure(error),
        BenchError::DataCentre {
            ref asked,
            ref known,
        } => CommandError::of(code::USAGE, &error).hint(name_hint(asked, known)),
        BenchError::Disturbed { .. } => CommandError::of(code::CLUSTER, &error)
            .hint("run it again without that command".to_owned()),
        BenchError::ForeignFaults => CommandError::of(code::USAGE, &error)
            .hint("name it with --cluster, or leave --fault out".to_owned()),
        BenchError::ForeignProfile => CommandError::of(code::USAGE, &error)
            .hint("name your cluster with --cluster, or leave --flame out".to_owned()),
        BenchError::NoRate { kind, .. } => {
            let hint = match kind {
                Some(kind) => kind.hint(),
                None => "give a --rate, or look at the node's log with `helenus logs`",
            };
            CommandError::of(code::CLUSTER, &error).hint(hint.to_owned())
        }
    }
}

pub(crate) fn request(
    flags: &Bench,
    context: &Context,
    ui: &Ui,
) -> Result<BenchRequest, CommandError> {
    let load = &flags.load;
    let workload = workload(load)?;
    let distance = distance::of(&load.common.rtt);
    let shape = shape(load, &workload);
    shape.check(&workload, load.rate)?;
    let generators = agent::generators(&load.common.agents, load.common.processes);
    processes(generators, &shape.phases(load.rate), false)?;
    let place = place(
        &flags.place,
        (flags.preset, &flags.cluster_flags, distance.as_ref()),
        load.schema.is_some(),
        (context, ui),
    )?;
    let offered = match (load.common.closed, load.rate) {
        (true, _) => Load::Closed,
        (false, Some(rate)) => Load::Open(rate),
        (false, None) => Load::Probe,
    };
    let what = (workload, Shape::Bench(shape), offered);
    with_common(&load.common, place, what, distance)
}

/// A request with what every run has, at a place and a distance.
pub(crate) fn with_common(
    common: &CommonLoad,
    mut place: Where,
    what: (Workload, Shape, Load),
    distance: Option<Distance>,
) -> Result<BenchRequest, CommandError> {
    let seed = Seed(common.seed.unwrap_or_else(random));
    if let (Some(cpus), Where::Cluster(_) | Where::Ephemeral(_)) = (&common.generator_cpus, &place)
    {
        up::tiers::there(cpus)?;
    }
    if let (Where::Ephemeral(request), None) = (&mut place, &common.generator_cpus)
        && common.agents.agents.is_empty()
    {
        up::tiers::spare(request, common.processes);
    }
    let agents = agent::of(&common.agents, &place)?;
    if let (Where::Kube { name, .. }, Some(_)) = (&place, common.trace) {
        let text = format!("--trace cannot be read from the pods of {name}");
        return Err(CommandError::new(code::USAGE, text).hint(format!(
            "leave it out, or trace a statement with `helenus kube cql {name}`"
        )));
    }
    if let (Where::Kube { .. } | Where::Hosts { .. }, true) = (&place, common.server_times) {
        let text = "--server-times reads MBeans of nodes that run on this machine";
        return Err(CommandError::new(code::USAGE, text)
            .hint("name your cluster with --cluster, or leave --server-times out".to_owned()));
    }
    Ok(BenchRequest {
        consistency: common.cl,
        client_dc: common.client_dc.clone(),
        distance,
        faults: faults::script(&common.faults)?,
        replication_factor: common.replication_factor.clone(),
        processes: agent::generators(&common.agents, common.processes),
        agents,
        generator_cpus: common.generator_cpus.clone(),
        connections: common.connections,
        compression: common
            .compression
            .map(|CompressionArg::Lz4| Compression::Lz4),
        pacing: common.pacing,
        profile: common.flame.map(|event| ProfileAsked {
            node: common.flame_node.clone(),
            event,
        }),
        trace: common.trace,
        server_times: common.server_times,
        max_errors: common.max_errors,
        tag: common.tag.clone(),
        command: disturb::words(),
        version: crate::cli::VERSION.to_owned(),
        ..BenchRequest::new(place, what, seed)
    })
}

/// Whether so many generator processes can share these phases.
pub(crate) fn processes(asked: u32, phases: &[Phase], ledger: bool) -> Result<(), CommandError> {
    Ok(check_processes(asked, phases, ledger)?)
}

/// Seeds that a person can type again: below 2^32.
pub(crate) fn random() -> u64 {
    let bytes = helenus_cluster::random::random().unwrap_or_default();
    u64::from(u32::from_le_bytes(bytes))
}

fn shape(load: &BenchLoad, workload: &Workload) -> BenchShape {
    BenchShape {
        phases: match &load.phases {
            Some(phases) => phases.clone(),
            None => BenchShape::default_phases(workload),
        },
        in_flight: load.common.in_flight,
        extent: match load.common.count {
            Some(count) => Extent::Count(count),
            None => Extent::DurationMs(load.common.duration.map_or(DEFAULT_DURATION_MS, ms)),
        },
        warmup_ms: warmup_ms(load.common.warmup, load.common.count.is_some()),
        settle: settles(
            load.common.warmup,
            load.common.duration.is_some() || load.common.count.is_some(),
            &load.common.faults,
        ) && !looks_into_windows(&load.common),
        population: load.population,
        arrivals: load.common.arrivals,
        in_order: load.in_order,
    }
}

pub(crate) fn ms(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The warm-up; who counts operations means these and no others.
pub(crate) fn warmup_ms(asked: Option<Warmup>, counted: bool) -> u64 {
    match asked {
        Some(Warmup::Time(time)) => ms(time),
        None if counted => 0,
        Some(Warmup::Auto) | None => DEFAULT_WARMUP_MS,
    }
}

/// Whether it is lengthened: who says how long to measure gets exactly that, with a doubt where it was not steady.
/// A fault on the time line keeps it as it is, too: what was before the fault would be cut as its warm-up.
pub(crate) fn settles(asked: Option<Warmup>, bounded: bool, faults: &[String]) -> bool {
    match asked {
        _ if !faults.is_empty() => false,
        Some(Warmup::Auto) => true,
        Some(Warmup::Time(_)) => false,
        None => !bounded,
    }
}

/// Whether something happens at the ends of each measurement window: they must be known beforehand, so no warm-up is
/// lengthened.
pub(crate) fn looks_into_windows(common: &CommonLoad) -> bool {
    common.flame.is_some() || common.server_times
}

fn workload(load: &BenchLoad) -> Result<Workload, CommandError> {
    let Some(insert) = &load.insert else {
        return Ok(Workload::Standard1);
    };
    let schema = match &load.schema {
        Some(path) => {
            let text = input::text(path)?;
            helenus_cql::split_statements(&text)
                .into_iter()
                .map(|s| s.text)
                .collect()
        }
        None => Vec::new(),
    };
    let query = |name: &str, cql: &str| Query {
        name: name.to_owned(),
        cql: cql.trim().trim_end_matches(';').to_owned(),
        check: true,
        serial_consistency: None,
    };
    let mut queries = vec![query("write", insert)];
    queries.extend(load.query.as_deref().map(|cql| query("read", cql)));
    Ok(Workload::Custom(CustomWorkload {
        name: "custom".to_owned(),
        schema,
        queries,
    }))
}

/// Where a run goes; `makes` is what a cluster made for it is like, and `schema` says that a file of statements would
/// make its tables.
pub(crate) fn place(
    place: &BenchPlace,
    makes: (PresetName, &ClusterFlags, Option<&Distance>),
    schema: bool,
    (context, ui): (&Context, &Ui),
) -> Result<Where, CommandError> {
    let (preset, cluster_flags, distance) = makes;
    if let Some(name) = &place.cluster {
        let state = context.clusters.load(name)?;
        distance::possible(distance, Some(&state))?;
        return Ok(Where::Cluster(name.clone()));
    }
    match &place.on {
        Some(On::Kube(name)) => {
            KubeClusters::of(&context.paths.state).load(name)?;
            return Ok(Where::Kube {
                name: name.clone(),
                given: Box::new(given(&place.doors)?),
            });
        }
        Some(On::Hosts(name)) => {
            return hosts::place(name, given(&place.doors)?, context);
        }
        None => {}
    }
    if place.hosts.is_empty() {
        let name = free_name(context);
        let mut request = up::request(name, preset, (cluster_flags, distance), true, ui)?;
        up::tiers::put(cluster_flags, &mut request)?;
        return Ok(Where::Ephemeral(Box::new(request)));
    }
    distance::possible(distance, None)?;
    if schema && place.i_may_write_to.is_some() {
        let text = "--schema would create tables in a cluster that is not yours";
        return Err(CommandError::new(code::USAGE, text)
            .hint("create them there yourself, and leave --schema out".to_owned()));
    }
    let endpoints = place
        .hosts
        .iter()
        .map(|ip| SocketAddr::new(*ip, place.port))
        .collect();
    let given = given(&place.doors)?;
    Ok(Where::Hosts {
        ours: None,
        endpoints,
        named: place.i_may_write_to.clone(),
        given: Box::new(given),
    })
}

/// What flags give to get into a cluster that they name by its addresses.
pub(crate) fn given(doors: &Doors) -> Result<HostAccess, CommandError> {
    let reference = doors
        .user
        .as_ref()
        .zip(doors.password_from.as_ref())
        .map(|(user, from)| CredentialsReference {
            username: user.clone(),
            password: if from.contains('/') {
                SecretReference::File(from.clone())
            } else {
                SecretReference::Variable(from.clone())
            },
        });
    let tls = access::tls_of(doors);
    let options = ConnectOptions {
        credentials: reference.as_ref().map(access::credentials).transpose()?,
        tls: tls.as_ref().map(access::tls).transpose()?,
        ..ConnectOptions::default()
    };
    let access = Access {
        credentials: reference,
        tls,
    };
    Ok(HostAccess { options, access })
}

fn free_name(context: &Context) -> String {
    let names = context.clusters.names().unwrap_or_default();
    let free = (1..)
        .map(|k| format!("bench{k}"))
        .find(|name| !names.contains(name));
    free.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Warmup, code, recorded, settles};
    use helenus_record::HistoryError;

    #[test]
    fn what_was_before_a_fault_is_no_warm_up() {
        let fault = ["at 5s partition DC2".to_owned()];
        for asked in [None, Some(Warmup::Auto)] {
            assert!(settles(asked, false, &[]));
            assert!(!settles(asked, false, &fault));
        }
        assert!(!settles(None, true, &[]));
    }

    #[test]
    fn a_result_that_is_not_in_the_history_is_no_success() {
        let lost = HistoryError::Foreign {
            path: "history.db".into(),
        };
        assert!(matches!(recorded(0, "the run", None), Ok(0)));
        for (ended, exit) in [(0, code::ENVIRONMENT), (5, 5), (1, 1)] {
            let error = recorded(ended, "the run", Some(&lost)).expect_err("an error");
            assert_eq!(error.code, exit);
        }
    }
}
