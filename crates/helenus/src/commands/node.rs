//! `helenus node add|decommission|remove|replace`: nodes that come and go, with what each owns before and after.
//! Refuses to guess what was streamed: the nodes are asked.

use crate::cli::node::{
    NodeAdd, NodeFlags, NodeLeave, NodeRemove, NodeReplace, NodeVerb, NodeWhat,
};
use crate::commands::status::{Shown, not_shown};
use crate::commands::up::Watcher;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::event::Event;
use helenus_cluster::members::{AddRequest, Change, Leave};
use helenus_cluster::ring_view;
use helenus_model::format::Format;
use helenus_model::membership::Streamed;
use helenus_model::plan::NodePlan;
use helenus_model::status::{ClusterView, Node, Reach, Report, State};
use helenus_model::topology::Target;
use helenus_model::units::{Bytes, human_duration};
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// A change, as programs read it.
#[derive(Serialize)]
struct ChangeReport {
    format: Format,
    /// What was done.
    verb: &'static str,
    /// The cluster.
    cluster: String,
    /// The node that comes or goes.
    node: Place,
    /// The dead node whose place it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<Place>,
    /// Whether nothing was done.
    dry_run: bool,
    /// What was streamed.
    streamed: Streamed,
    /// How long it took.
    seconds: f64,
    /// As the cluster reported it before.
    before: Report,
    /// As it reports it now; in a dry run as it would.
    after: Report,
    #[serde(skip)]
    cql_port: u16,
}

impl Answers for ChangeReport {
    fn answer(&self) -> String {
        let (cluster, place) = (&self.cluster, &self.node);
        let Place {
            name,
            rack,
            address,
            data_center,
            ..
        } = place;
        let at = format!("{address}:{}, {data_center} {rack}", self.cql_port);
        let done = format!("{cluster}: {name} {} ({at})", self.done());
        if self.dry_run {
            return done;
        }
        let took = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        let streamed = streamed(self.streamed);
        format!("{done}, {streamed}, after {}", human_duration(took))
    }
}

impl ChangeReport {
    /// What became of the node, or would.
    fn done(&self) -> String {
        let name = &self.node.name;
        let replaced = self
            .replaces
            .as_ref()
            .map(|dead| dead.name.as_str())
            .unwrap_or_default();
        match (self.verb, self.dry_run) {
            ("add", true) => "would join".to_owned(),
            ("add", false) => "joined".to_owned(),
            ("replace", true) if replaced == name => {
                "would come back with an empty disk".to_owned()
            }
            ("replace", false) if replaced == name => "came back with an empty disk".to_owned(),
            ("replace", true) => format!("would replace {replaced}"),
            ("replace", false) => format!("replaced {replaced}"),
            ("decommission", true) => "would leave".to_owned(),
            ("decommission", false) => "left".to_owned(),
            (_, true) => "would be removed".to_owned(),
            (_, false) => "was removed".to_owned(),
        }
    }
}

/// The place of a node.
#[derive(Serialize)]
struct Place {
    /// Its name.
    name: String,
    /// Its address.
    address: Ipv4Addr,
    /// Data centre.
    data_center: String,
    /// Rack.
    rack: String,
    /// As text: many readers of JSON numbers do not keep them.
    tokens: Vec<String>,
}

impl Place {
    fn of(node: &NodePlan) -> Self {
        Self {
            name: node.name.clone(),
            address: node.address,
            data_center: node.data_center.clone(),
            rack: node.rack.clone(),
            tokens: node.tokens.iter().map(i64::to_string).collect(),
        }
    }
}

pub(crate) fn run(verb: &NodeVerb, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &verb.what {
        NodeWhat::Add(flags) => add(flags, context, ui),
        NodeWhat::Decommission(flags) => leave(flags, Leave::Decommission, context, ui),
        NodeWhat::Remove(flags) => remove(flags, context, ui),
        NodeWhat::Replace(flags) => replace(flags, context, ui),
    }
}

fn add(flags: &NodeAdd, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let name = &flags.name;
    let request = AddRequest {
        data_center: flags.dc.clone(),
        rack: flags.rack.clone(),
        force: flags.force,
    };
    let planned = context.look_at_newcomer(name, &request)?;
    let work = Work::begin("add", name, &flags.flags, context, ui)?;
    work.end(planned, |events| {
        context.add_node(name, &request, flags.flags.within, events)
    })
}

fn remove(flags: &NodeRemove, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.assassinate {
        ui.caution("what the node had is not streamed: replicas are missing until `helenus nodetool NAME repair`");
        return leave(&flags.leave, Leave::Assassinate, context, ui);
    }
    leave(&flags.leave, Leave::Remove, context, ui)
}

fn leave(flags: &NodeLeave, how: Leave, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let verb = match how {
        Leave::Decommission => "decommission",
        Leave::Remove | Leave::Assassinate => "remove",
    };
    let (name, node) = target(&flags.target, verb, context)?;
    let planned = context.look_at_departure(&name, &node, how, flags.force)?;
    let work = Work::begin(verb, &name, &flags.flags, context, ui)?;
    work.end(planned, |events| {
        context.leave(&name, &node, (how, flags.force), flags.flags.within, events)
    })
}

fn replace(flags: &NodeReplace, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (name, node) = target(&flags.target, "replace", context)?;
    let planned = context.look_at_replacement(&name, &node, flags.same_address)?;
    let work = Work::begin("replace", &name, &flags.flags, context, ui)?;
    work.end(planned, |events| {
        context.replace_node(&name, &node, flags.same_address, flags.flags.within, events)
    })
}

/// Cluster and node; a cluster alone is not enough.
fn target(text: &str, verb: &str, context: &Context) -> Result<(String, String), CommandError> {
    let target = Target::parse(text);
    let state = context.clusters.load(&target.cluster)?;
    match target.node {
        Some(node) => Ok((target.cluster, node)),
        None => {
            let names = state.plan.nodes.iter();
            let names: Vec<String> = names.map(|n| format!("{text}/{}", n.name)).collect();
            let failure = CommandError::new(code::USAGE, format!("which node to {verb}?"));
            Err(failure.hint(format!("one of {}", names.join(", "))))
        }
    }
}

/// A change under way.
struct Work<'a> {
    verb: &'static str,
    cluster: &'a str,
    flags: &'a NodeFlags,
    context: &'a Context,
    ui: &'a Ui,
    before: ClusterView,
    begin: Instant,
}

/// What carries a change out.
type Act<'a> = &'a mut dyn FnMut(Event);

impl<'a> Work<'a> {
    fn begin(
        verb: &'static str,
        cluster: &'a str,
        flags: &'a NodeFlags,
        context: &'a Context,
        ui: &'a Ui,
    ) -> Result<Self, CommandError> {
        let before = ring_view::read(&context.clusters.load(cluster)?)?;
        let work = Self {
            verb,
            cluster,
            flags,
            context,
            ui,
            before,
            begin: Instant::now(),
        };
        // An unknown keyspace is reported before anything is done.
        work.shown(&work.before)?;
        Ok(work)
    }

    fn shown(&self, view: &ClusterView) -> Result<Shown, CommandError> {
        let keyspace = self.flags.keyspace.as_deref();
        Shown::of(view, keyspace).map_err(|error| not_shown(&error, view))
    }

    fn end(
        self,
        planned: Change,
        act: impl FnOnce(Act<'_>) -> Result<Change, helenus_cluster::error::ClusterError>,
    ) -> Result<u8, CommandError> {
        let (change, after) = if self.flags.dry_run {
            let after = expected(&self.before, &planned);
            (planned, after)
        } else {
            let nodes = planned.state.plan.nodes.len();
            let mut watcher = Watcher::new(self.ui, self.cluster, nodes);
            let change = act(&mut |event| watcher.see(&event))?;
            drop(watcher);
            let after = ring_view::read(&self.context.clusters.load(self.cluster)?)?;
            (change, after)
        };
        let (before, after) = (self.shown(&self.before)?, self.shown(&after)?);
        let report = ChangeReport {
            format: Format::new("node-change", 1),
            verb: self.verb,
            cluster: self.cluster.to_owned(),
            node: Place::of(&change.node),
            replaces: change.replaces.as_ref().map(Place::of),
            dry_run: self.flags.dry_run,
            streamed: change.streamed,
            seconds: self.begin.elapsed().as_secs_f64(),
            before: before.report,
            after: after.report,
            cql_port: change.state.plan.ports.cql,
        };
        let tables = (before.printed.stdout, after.printed.stdout);
        self.ui.result(&report, || text(&report, tables));
        Ok(0)
    }
}

/// The cluster as it would be reported after a planned change.
fn expected(before: &ClusterView, planned: &Change) -> ClusterView {
    let of = |node: &NodePlan| {
        let address = IpAddr::from(node.address);
        let known = before.nodes.iter().find(|n| n.address == address);
        let fresh = Node {
            address,
            storage_port: planned.state.plan.ports.storage,
            data_center: node.data_center.clone(),
            rack: node.rack.clone(),
            host_id: None,
            tokens: node.tokens.clone(),
            load_bytes: None,
            reach: Reach::Up,
            state: State::Normal,
        };
        known
            .filter(|_| node.name != planned.node.name)
            .cloned()
            .unwrap_or(fresh)
    };
    let owners = planned.state.plan.nodes.iter().filter(|n| !n.coordinator);
    ClusterView {
        nodes: owners.map(of).collect(),
        ..before.clone()
    }
}

fn text(report: &ChangeReport, (before, after): (String, String)) -> String {
    let mut text = report.answer();
    let tokens = report.node.tokens.join(", ");
    if report.dry_run && report.verb == "add" && !tokens.is_empty() {
        text.push_str(&format!("\ntokens: {tokens}"));
    }
    let then = if report.dry_run { "would be" } else { "now" };
    let (before, after) = (before.trim_end(), after.trim_end());
    text.push_str(&format!("\n\nbefore\n{before}\n\n{then}\n{after}\n"));
    if report.dry_run {
        text.push_str("\nnothing was done (--dry-run)\n");
    }
    text
}

/// What was streamed, in words.
fn streamed(streamed: Streamed) -> String {
    if streamed.streams == 0 {
        return "nothing streamed".to_owned();
    }
    let bytes = Bytes(streamed.done_bytes);
    format!(
        "{bytes} streamed in {}",
        helenus_model::units::plural(streams(streamed), "stream")
    )
}

fn streams(streamed: Streamed) -> usize {
    usize::try_from(streamed.streams).unwrap_or(usize::MAX)
}
