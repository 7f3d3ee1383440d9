//! `helenus up --count N --prefix P`: many clusters, one line of progress, one table.
//! Refuses to hide one that failed behind those that are ready.

use crate::cli::Up;
use crate::commands::memory;
use crate::commands::up::{
    NOTHING, Watcher, node_row, plan_text, print_fits, print_unfetched, request, schema,
};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::batch::{Outcome, names, starts_at_a_time};
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_cluster::event::Event;
use helenus_cluster::free_memory;
use helenus_cluster::machine;
use helenus_cluster::observe::{self, NodeView};
use helenus_cluster::ready::ReadyEvent;
use helenus_cluster::schema_file::{self, SchemaFile};
use helenus_model::format::Format;
use helenus_model::plan::ClusterPlan;
use helenus_model::preset::PresetName;
use helenus_model::units::{Bytes, apart, human_duration, plural};
use serde::Serialize;
use std::time::{Duration, Instant};

#[derive(Serialize)]
struct Plans {
    format: Format,
    /// Nodes that start at a time.
    at_once: usize,
    /// Memory that all nodes are planned to come to.
    planned_bytes: u64,
    /// Memory that is free for them.
    free_bytes: u64,
    /// A plan a cluster.
    plans: Vec<ClusterPlan>,
}

impl Answers for Plans {
    fn answer(&self) -> String {
        let nodes = self.plans.iter().map(|plan| plan.nodes.len()).sum();
        let (planned, free) = apart(Bytes(self.planned_bytes), Bytes(self.free_bytes));
        format!(
            "{} with {} in all, {} at a time: {planned} of memory planned, {free} are free",
            plural(self.plans.len(), "cluster"),
            plural(nodes, "node"),
            plural(self.at_once, "node"),
        )
    }
}

/// Clusters as `up --count` answers.
#[derive(Serialize)]
struct ReadyList {
    format: Format,
    /// How long it took.
    seconds: f64,
    /// Nodes that start at a time.
    at_once: usize,
    /// How many are ready.
    ready: usize,
    /// How many are not ready.
    failed: usize,
    /// The clusters.
    clusters: Vec<One>,
}

impl Answers for ReadyList {
    fn answer(&self) -> String {
        let nodes = self.clusters.iter().flat_map(|cluster| &cluster.nodes);
        let memory = nodes.filter_map(|node| Some(node.memory?.pss_bytes)).sum();
        let took = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        format!(
            "{} of {} ready after {}, {} at a time; {} of memory in all",
            self.ready,
            plural(self.clusters.len(), "cluster"),
            human_duration(took),
            plural(self.at_once, "node"),
            Bytes(memory),
        )
    }
}

#[derive(Serialize)]
struct One {
    /// Its name.
    name: String,
    /// Whether it is ready.
    ready: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Its nodes.
    nodes: Vec<NodeView>,
}

pub(crate) fn run(
    flags: &Up,
    prefix: &str,
    count: u32,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let names = names(prefix, count);
    let mut request = request(
        names[0].clone(),
        flags.preset.unwrap_or(PresetName::Tiny),
        (&flags.cluster, None),
        false,
        ui,
    )?;
    super::up::tiers::put(&flags.cluster, &mut request)?;
    if request.stack.is_some() {
        let what = "--stack conflicts with --count: a stack belongs to one cluster";
        return Err(CommandError::new(code::USAGE, what)
            .hint("`helenus stack up` adds one to an existing cluster".to_owned()));
    }
    request.spec.clusters = count;
    request.owner = super::up::owner(flags)?;
    let schema = schema(flags.schema.as_deref())?;
    let at_once = match flags.many.at_once {
        Some(nodes) => nodes as usize,
        None => starts_at_a_time(machine::read().cores),
    };
    if flags.dry_run {
        let plans = context.dry_run_many(&request, &names)?;
        let plans = Plans {
            format: Format::new("cluster-plan-list", 1),
            at_once,
            planned_bytes: plans.iter().map(|plan| memory::total(plan).0).sum(),
            free_bytes: free_memory::available(&context.clusters).0,
            plans,
        };
        print_unfetched(&request.source, context, ui);
        if let Some(first) = plans.plans.first() {
            print_fits(schema.as_ref(), first, ui);
        }
        ui.result(&plans, || plans_text(&plans) + NOTHING);
        return Ok(0);
    }
    let begin = Instant::now();
    let mut shared = Watcher::new(ui, &format!("{prefix}1 … {prefix}{count}"), names.len());
    let mut watch = Watch::default();
    let nodes = request.spec.topology.nodes() * names.len();
    let mut outcomes = context.up_many(&request, &names, at_once, &mut |name, event| {
        watch.see(name, &event, nodes, &mut shared);
    })?;
    if let Some(schema) = &schema {
        give(context, schema, &mut outcomes, &mut shared, ui);
    }
    drop(shared);
    answer(&outcomes, begin, at_once, ui)
}

/// The first plan, in what the others differ from it, and what all take.
fn plans_text(all: &Plans) -> String {
    let mut text = all.plans.first().map(plan_text).unwrap_or_default();
    text.push_str("\nall others are the same, each with its own name, folders and addresses:\n");
    let mut table = Table::new(&["node", "address"]);
    for plan in &all.plans {
        for node in &plan.nodes {
            table.row([
                format!("{}/{}", plan.name, node.name),
                format!("{}:{}", node.address, plan.ports.cql),
            ]);
        }
    }
    text + &table.render() + "\n" + &all.answer() + "\n"
}

/// Gives each cluster that is ready its schema; one where that fails has failed.
fn give(
    context: &Context,
    schema: &SchemaFile,
    outcomes: &mut [Outcome],
    shared: &mut Watcher<'_>,
    ui: &Ui,
) {
    let of = outcomes.len() as u64;
    if let Some(state) = outcomes.iter().find_map(|o| o.result.as_ref().ok()) {
        print_fits(Some(schema), &state.plan, ui);
    }
    for (done, outcome) in outcomes.iter_mut().enumerate() {
        shared.at("running the schema", done as u64, of);
        if outcome.result.is_ok() {
            outcome.result = schema_file::give(context, &outcome.name, schema, &mut |_, _| {});
        }
    }
}

/// One moving line for all clusters.
#[derive(Default)]
struct Watch {
    answered: u64,
    not_limited: bool,
}

impl Watch {
    fn see(&mut self, name: &str, event: &Event, nodes: usize, shared: &mut Watcher<'_>) {
        match event {
            // Printed once, not once for each cluster.
            Event::NotLimited { .. } if self.not_limited => {}
            Event::NotLimited { .. } => {
                self.not_limited = true;
                shared.see(event);
            }
            Event::Ready(ReadyEvent::Answered { .. }) => {
                self.answered += 1;
                shared.at("nodes answer", self.answered, nodes as u64);
            }
            Event::Started { .. } => shared.at("nodes answer", self.answered, nodes as u64),
            // What all share comes without a name.
            event if name.is_empty() => shared.see(event),
            _ => {}
        }
        if !name.is_empty() && !matches!(event, Event::Planned(_)) {
            tracing::info!(cluster = name, ?event);
        }
    }
}

fn answer(
    outcomes: &[Outcome],
    begin: Instant,
    at_once: usize,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let mut clusters = Vec::new();
    for outcome in outcomes {
        let (nodes, error) = match &outcome.result {
            Ok(state) => {
                let nodes = observe::nodes(state)?;
                (nodes, None)
            }
            Err(error) => (vec![], Some(with_causes(error))),
        };
        clusters.push(One {
            name: outcome.name.clone(),
            ready: error.is_none(),
            error,
            nodes,
        });
    }
    let ready = clusters.iter().filter(|c| c.ready).count();
    let list = ReadyList {
        format: Format::new("ready-list", 1),
        seconds: begin.elapsed().as_secs_f64(),
        at_once,
        ready,
        failed: clusters.len() - ready,
        clusters,
    };
    ui.result(&list, || text(&list));
    Ok(if list.failed == 0 { 0 } else { code::CLUSTER })
}

fn text(list: &ReadyList) -> String {
    let mut table = Table::new(&["node", "address", ">pid", ">memory"]);
    for cluster in list.clusters.iter() {
        if !cluster.ready {
            table.row([cluster.name.as_str(), "failed"]);
        }
        for node in &cluster.nodes {
            table.row(node_row(&cluster.name, node));
        }
    }
    let mut text = table.render();
    text.push_str(&format!("\n{}\n", list.answer()));
    for cluster in &list.clusters {
        if let Some(error) = &cluster.error {
            let name = &cluster.name;
            text.push_str(&format!(
                "{name} failed: {error}\n`helenus logs {name}` shows more, `helenus rm {name}` removes it\n"
            ));
        }
    }
    text
}
