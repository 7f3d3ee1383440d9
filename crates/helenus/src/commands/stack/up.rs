//! `helenus stack up`: the cluster as `up` makes it, then the parts beside it.
//! Refuses to begin where a part's program cannot be had.

use super::{StackStatus, words};
use crate::cli::stack::Up;
use crate::commands::up::{self, NOTHING, Watcher};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::event::Event;
use helenus_cluster::lifecycle::UpRequest;
use helenus_cluster::remove;
use helenus_cluster::stack::{self, Programs, StackEvent};
use helenus_cluster::state::ClusterState;
use helenus_model::format::Format;
use helenus_model::plan::ClusterPlan;
use helenus_model::preset::PresetName;
use helenus_model::stack::{Gateway, Stack};
use helenus_model::units::Bytes;
use serde::Serialize;
use std::net::Ipv4Addr;
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
        let parts: Vec<&str> = self.stack.parts.iter().map(|part| part.as_str()).collect();
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
        for part in &self.stack.parts {
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
    stack::may(request.security, None).map_err(ClusterError::from)?;
    if flags.dry_run {
        let plan = context.dry_run(&request)?;
        let address = plan.nodes[0].address;
        let stack = asked_for(flags, address)?;
        Programs::check(context, &stack)?;
        show_plan(Some(plan), stack, ui);
        return Ok(0);
    }
    // Before anything starts: what cannot be fetched is said now.
    let planned = context.dry_run(&request)?;
    let stack = asked_for(flags, planned.nodes[0].address)?;
    let programs = provide(context, &stack, ui)?;
    let mut watcher = Watcher::new(ui, &request.name, request.topology.nodes());
    let state = context.up(&request, &mut |event| watcher.see(&event))?;
    drop(watcher);
    // Another cluster may have taken the planned address meanwhile.
    let stack = Stack {
        address: state.plan.nodes[0].address,
        ..stack
    };
    finish(context, &state, &stack, &programs, ui, begin).or_else(|error| {
        // As of `up`: what was interrupted leaves nothing.
        if error.code == code::INTERRUPTED {
            remove::remove(context, &flags.name)?;
        }
        Err(error)
    })
}

/// A cluster that is there: its nodes that are down, and its parts.
fn again(flags: &Up, context: &Context, ui: &Ui, begin: Instant) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    let known = stack::find(&state)?;
    let chosen = !flags.without.is_empty() || flags.s3 || flags.reaper_jar.is_some();
    if known.is_some() && chosen {
        ui.note("note: the stack is there, and its parts stay as they were chosen");
    }
    let stack = match known {
        Some(stack) => stack,
        None => asked_for(flags, state.plan.nodes[0].address)?,
    };
    if flags.dry_run {
        Programs::check(context, &stack)?;
        show_plan(None, stack, ui);
        return Ok(0);
    }
    let programs = provide(context, &stack, ui)?;
    let mut watcher = Watcher::new(ui, &flags.name, state.plan.nodes.len());
    let within = flags.cluster.ready_within;
    let mut on = |event: Event| watcher.see(&event);
    let state = context.start(&flags.name, None, within, &mut on)?;
    drop(watcher);
    finish(context, &state, &stack, &programs, ui, begin)
}

fn show_plan(plan: Option<ClusterPlan>, stack: Stack, ui: &Ui) {
    let planned = StackPlan {
        format: Format::new("stack-plan", 1),
        plan,
        stack,
    };
    ui.result(&planned, || planned.text() + NOTHING);
}

fn finish(
    context: &Context,
    state: &ClusterState,
    stack: &Stack,
    programs: &Programs,
    ui: &Ui,
    begin: Instant,
) -> Result<u8, CommandError> {
    let progress = ui.progress("the parts");
    let mut ready = 0;
    let of = stack.parts.iter().filter(|part| part.port().is_some());
    let of = of.count() as u64;
    stack::up(context, state, stack, programs, &mut |event| match event {
        StackEvent::Started(part) => progress.say(format!("{} starts", words(part))),
        StackEvent::Ready(part) => {
            ready += 1;
            progress.say(format!("{} answers", words(part)));
            progress.at(ready, of);
        }
        StackEvent::Registering => progress.say("Reaper looks at the cluster"),
        StackEvent::Store(_) => {}
    })?;
    drop(progress);
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

/// Finds or fetches the programs of all parts.
fn provide(context: &Context, stack: &Stack, ui: &Ui) -> Result<Programs, CommandError> {
    let mut watcher = Watcher::new(ui, "programs of the stack", 0);
    let programs = Programs::provide(context, stack, &mut |event| {
        if let StackEvent::Store(event) = event {
            watcher.see(&Event::Store(event));
        }
    });
    Ok(programs?)
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
        let nodes = request.heap.unwrap_or(GATEWAY_HEAP);
        cluster.gateway_heap.get_or_insert(GATEWAY_HEAP.min(nodes));
    }
    up::tiers::put(&cluster, &mut request)?;
    Ok(request)
}

/// The parts that flags ask for.
fn asked_for(flags: &Up, address: Ipv4Addr) -> Result<Stack, CommandError> {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path);
        let path = path.map_err(|e| CommandError::of(code::USAGE, &e))?;
        Ok::<_, CommandError>(path.to_string_lossy().into_owned())
    };
    let mut stack = Stack::new(&flags.name, address, &flags.without, flags.s3);
    stack.gateway = flags.gateway;
    stack.reaper_jar = flags.reaper_jar.as_deref().map(absolute).transpose()?;
    stack.backups = flags.backups.as_deref().map(absolute).transpose()?;
    Ok(stack)
}
