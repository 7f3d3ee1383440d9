//! `helenus stack up`: the cluster as `up` makes it, then the parts beside it.
//! Refuses to begin where a part's program cannot be had.

use super::StackStatus;
use crate::cli::Extras;
use crate::cli::stack::Up;
use crate::commands::up::{self, NOTHING, Watcher};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::lifecycle::UpRequest;
use helenus_cluster::stack::{self, Programs};
use helenus_cluster::state::ClusterState;
use helenus_model::format::Format;
use helenus_model::plan::ClusterPlan;
use helenus_model::preset::PresetName;
use helenus_model::stack::{Extra, Gateway, Stack, StackRequest};
use helenus_model::units::Bytes;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Heap of the gateway where none is given, as K8ssandra's guide has it.
const GATEWAY_HEAP: Bytes = Bytes::mib(300);

/// What `stack up --dry-run` prints.
#[derive(Serialize)]
struct StackPlan {
    format: Format,
    /// The cluster to be; absent where it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<ClusterPlan>,
    /// The parts.
    stack: Stack,
}

impl Answers for StackPlan {
    fn answer(&self) -> String {
        let parts: Vec<&str> = self
            .stack
            .request
            .parts
            .iter()
            .map(|part| part.as_str())
            .collect();
        let beside = match parts.is_empty() {
            true => "nothing".to_owned(),
            false => parts.join(", "),
        };
        format!("stack {}: beside the nodes {beside}", self.stack.cluster)
    }
}

impl StackPlan {
    fn text(&self) -> String {
        let plan = self.plan.as_ref().map_or(String::new(), up::plan_text);
        let mut table = Table::new(&["part", "", "at"]);
        for part in &self.stack.request.parts {
            table.row([
                part.as_str().to_owned(),
                part.purpose().to_owned(),
                self.stack.url(*part).unwrap_or_default(),
            ]);
        }
        format!("{plan}\n{}\n{}\n", self.answer(), table.render())
    }
}

pub(super) fn run(flags: &Up, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let begin = Instant::now();
    let there = context.clusters.folder(&flags.name).exists();
    if there {
        return again(flags, context, ui, begin);
    }
    let request = request(flags, ui)?;
    if flags.dry_run {
        let plan = context.dry_run(&request)?;
        stack::may(plan.security, plan.network.as_ref())?;
        let address = plan.nodes[0].address;
        let stack = Stack::new(&flags.name, address, wanted(flags)?);
        Programs::check(context, &stack.request)?;
        show_plan(Some(plan), stack, ui);
        return Ok(0);
    }
    let mut watcher = Watcher::new(ui, &request.spec.name, request.spec.topology.nodes());
    let state = stack::up_all(context, &request, &mut |event| watcher.see(&event))?;
    drop(watcher);
    show(context, &state, ui, begin)
}

/// A cluster that is there: its nodes that are down, and its parts.
fn again(flags: &Up, context: &Context, ui: &Ui, begin: Instant) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    let known = stack::find(&state)?;
    let chosen = !flags.without.is_empty()
        || flags.cluster.stack.is_some()
        || flags.s3
        || flags.reaper_jar.is_some();
    if known.is_some() && chosen {
        ui.note("note: the stack exists, and keeps the parts that were chosen");
    }
    let stack = match known {
        Some(stack) => stack,
        None => Stack::new(&flags.name, state.plan.nodes[0].address, wanted(flags)?),
    };
    if flags.dry_run {
        Programs::check(context, &stack.request)?;
        show_plan(None, stack, ui);
        return Ok(0);
    }
    let mut watcher = Watcher::new(ui, &flags.name, state.plan.nodes.len());
    let mut see = |event| watcher.see(&event);
    let programs = Programs::provide(context, &stack.request, &mut see)?;
    let within = flags.cluster.ready_within;
    let state = context.start(&flags.name, None, within, &mut see)?;
    stack::up(context, &state, &stack, &programs, &mut see)?;
    drop(watcher);
    show(context, &state, ui, begin)
}

fn show_plan(plan: Option<ClusterPlan>, stack: Stack, ui: &Ui) {
    let planned = StackPlan {
        format: Format::new("stack-plan", 1),
        plan,
        stack,
    };
    ui.result(&planned, || planned.text() + NOTHING);
}

/// What is up, and after how long.
fn show(
    context: &Context,
    state: &ClusterState,
    ui: &Ui,
    begin: Instant,
) -> Result<u8, CommandError> {
    let mut status = StackStatus::of(context, state)?;
    status.seconds = Some(begin.elapsed().as_secs_f64());
    ui.result(&status, || {
        let name = &status.cluster;
        format!(
            "{}next: helenus run iot --cluster {name} --rate 100\n",
            status.text()
        )
    });
    Ok(if status.well { 0 } else { code::CLUSTER })
}

/// The cluster to be.
fn request(flags: &Up, ui: &Ui) -> Result<UpRequest, CommandError> {
    let mut cluster = flags.cluster.clone();
    cluster.coordinators = match flags.gateway {
        Gateway::Coordinator => cluster.coordinators.max(1),
        Gateway::None | Gateway::At(_) => cluster.coordinators,
    };
    let name = flags.name.clone();
    let mut request = up::request(name, PresetName::Dev, (&cluster, None), false, ui)?;
    if cluster.coordinators > 0 {
        let nodes = request.spec.heap.unwrap_or(GATEWAY_HEAP);
        cluster.gateway_heap.get_or_insert(GATEWAY_HEAP.min(nodes));
    }
    up::tiers::put(&cluster, &mut request)?;
    request.stack = Some(wanted(flags)?);
    Ok(request)
}

/// What flags want beside the nodes.
fn wanted(flags: &Up) -> Result<StackRequest, CommandError> {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path);
        let path = path.map_err(|e| CommandError::of(code::USAGE, &e))?;
        Ok::<_, CommandError>(path.to_string_lossy().into_owned())
    };
    let extras = match &flags.cluster.stack {
        Some(Extras(chosen)) => chosen.clone(),
        None => {
            let all = Extra::ALL.into_iter();
            all.filter(|extra| !flags.without.contains(extra)).collect()
        }
    };
    Ok(StackRequest {
        reaper_jar: flags.reaper_jar.as_deref().map(absolute).transpose()?,
        backups: flags.backups.as_deref().map(absolute).transpose()?,
        ..StackRequest::new(flags.gateway, &extras, flags.s3)
    })
}
