//! `helenus count`: the rows of a table by ranges of tokens; by partition, by node, along the ring.
//! Refuses to write to any cluster.

mod render;

use crate::cli::count::{ByArg, Count, ReadFlags, ReadPlace};
use crate::commands::bench;
use crate::error::{CommandError, code};
use crate::ui::{Progress, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::scan::count::{CountRequest, count};
use helenus_cluster::scan::{Gentleness, ScanEvent, ScanPlace, look};
use helenus_model::scan::ScanProgress;
use helenus_model::units::human_duration;
use helenus_model::units::thousands;
use helenus_model::units::whole as rounded;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Largest partitions that are named by default.
const TOP: usize = 10;

pub(crate) fn run(flags: &Count, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    check(flags, ui)?;
    let place = place(&flags.place, context)?;
    let table = look(&place, &flags.table)?;
    let request = CountRequest {
        partitions: (flags.by == Some(ByArg::Partition) && !flags.all)
            .then(|| flags.top.unwrap_or(TOP)),
        all: flags.all,
        checksum: flags.checksum,
        gentleness: gentleness(&flags.read),
        resume: flags.resume,
        fresh: flags.fresh,
        journals: journals(&place, context),
    };
    let progress = ui.progress(&format!("counting {}", table.name()));
    if flags.all {
        ui.out(&render::csv_head(&table.partition_key));
    }
    let counted = count(
        &place,
        &table,
        &request,
        &context.cancel,
        &mut |event| match event {
            ScanEvent::Progress(at) => show_progress(&progress, &at),
            ScanEvent::Keys { .. } => {}
            ScanEvent::Partitions(partitions) => ui.out(&render::csv(&partitions)),
        },
    );
    drop(progress);
    let mut report = counted?;
    if flags.by != Some(ByArg::Node) {
        report.nodes = None;
    }
    if flags.by != Some(ByArg::TokenRange) {
        report.ranges = None;
    }
    if flags.all {
        ui.note(render::text(&report).trim_end());
    } else {
        ui.result(&report, || render::text(&report));
    }
    if report.complete {
        return Ok(0);
    }
    let cut = CommandError::new(code::INTERRUPTED, "interrupted: the count is incomplete");
    Err(cut.hint((!flags.all).then(|| "--resume continues it".to_owned())))
}

/// What flags say together.
fn check(flags: &Count, ui: &Ui) -> Result<(), CommandError> {
    let usage =
        |text: &str, hint: &str| Err(CommandError::new(code::USAGE, text).hint(hint.to_owned()));
    let by_partition = flags.by == Some(ByArg::Partition);
    if flags.all && !by_partition {
        return usage("--all lists every partition", "add --by partition");
    }
    if flags.top.is_some() && !by_partition {
        return usage("--top names the largest partitions", "add --by partition");
    }
    if flags.all && ui.json() {
        return usage(
            "--all is written as CSV",
            "leave --format json out, or --all",
        );
    }
    Ok(())
}

/// The cluster that is read.
pub(crate) fn place(flags: &ReadPlace, context: &Context) -> Result<ScanPlace, CommandError> {
    if flags.hosts.is_empty() {
        let named = || {
            context
                .env
                .var("HELENUS_CLUSTER")?
                .to_str()
                .map(str::to_owned)
        };
        let name = flags.cluster.clone().or_else(named);
        let state = context.clusters.resolve(name.as_deref())?;
        return Ok(ScanPlace::ours(&state)?);
    }
    let given = bench::given(&flags.doors)?;
    let hosts: Vec<SocketAddr> = flags
        .hosts
        .iter()
        .map(|ip| SocketAddr::new(*ip, flags.port))
        .collect();
    // Nobody answers at an address that a person named: the network's fault, not the cluster's.
    ScanPlace::hosts(&context.clusters, &hosts, &given.options).map_err(|error| {
        let mut failure = CommandError::from(error);
        failure.code = code::ENVIRONMENT;
        failure
    })
}

pub(crate) fn gentleness(flags: &ReadFlags) -> Gentleness {
    Gentleness {
        parallel: flags.parallel,
        rate: flags.rate,
        consistency: flags.cl.into(),
    }
}

/// Journals of a cluster of ours go with it; those of others stay in the state folder.
fn journals(place: &ScanPlace, context: &Context) -> PathBuf {
    match place.ours_by_name() {
        Some(name) => context.clusters.folder(name).join("counts"),
        None => context.paths.state.join("counts"),
    }
}

/// How a scan goes, on one moving line.
pub(crate) fn show_progress(progress: &Progress, at: &ScanProgress) {
    let left = at.seconds_left().map_or(String::new(), |seconds| {
        let left = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        format!(", {} left", human_duration(left))
    });
    progress.say(format!(
        "{} rows, {}/s, {:.0} % of the ring{left}",
        thousands(at.rows),
        rounded(at.rows_per_s()),
        at.share * 100.0
    ));
}
