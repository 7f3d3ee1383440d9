//! `helenus status`: nodetool's form from data that the nodes give over CQL.

use crate::cli::Status;
use crate::commands::fault;
use crate::commands::up::spots;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::net::client::Keeper;
use helenus_cluster::net::echo::Echo;
use helenus_cluster::ring_view::{self, Silent};
use helenus_cluster::state::ClusterState;
use helenus_model::plan::Pin;
use helenus_model::status::{ClusterView, Printed, Reach, Report, StatusError};
use helenus_model::units::plural;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Round trips a pair: a second and a half at the longest distance of the presets.
const SAMPLES: u32 = 7;

pub(crate) fn run(flags: &Status, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.resolve(flags.named.name.as_deref())?;
    let keyspace = flags.keyspace.as_deref();
    let read = ring_view::read_with_silent(&state, keyspace.is_none());
    let (view, silent) = match (read, keyspace) {
        (Err(error), None) => (ring_view::of_plan(&state).ok_or(error)?, Vec::new()),
        (read, _) => read?,
    };
    let shown = Shown::of(&view, keyspace).map_err(|error| not_shown(&error, &view))?;
    let Shown { report, printed } = shown;
    let round_trips = round_trips(&state);
    // A journal that cannot be read is `fault`'s to report.
    let faults = fault::standing(&state, context).unwrap_or_default();
    let output = StatusOutput {
        report: &report,
        round_trips: &round_trips,
        faults: &faults,
        pins: state
            .plan
            .nodes
            .iter()
            .filter_map(|node| Some((node.name.as_str(), node.pin.as_ref()?)))
            .collect(),
    };
    ui.result(&output, || {
        let notes = fault::notes(&state.plan.name, &faults);
        let nodes = state.plan.nodes.iter();
        let nodes = nodes.map(|node| (node.name.clone(), node.pin.clone(), node.folders.clone()));
        let places = spots(&state.plan.name, nodes);
        printed.stdout + &matrix(&state, &round_trips) + &places + &notes
    });
    silent.iter().for_each(|one| ui.caution(&silent_text(one)));
    Ok(printed.exit)
}

/// A node that is shown as down although its process lives.
fn silent_text(Silent { node, paused, why }: &Silent) -> String {
    if *paused {
        return format!("{node} is paused: it is shown as down (DN), but its process is running");
    }
    format!("{node} is shown as down (DN), but its process is running: {why}")
}

/// A cluster as data, and as nodetool prints it.
pub(crate) struct Shown {
    pub(crate) report: Report,
    pub(crate) printed: Printed,
}

impl Shown {
    pub(crate) fn of(view: &ClusterView, keyspace: Option<&str>) -> Result<Self, StatusError> {
        Ok(Self {
            report: Report::new(view.clone(), keyspace)?,
            printed: view.nodetool(keyspace)?,
        })
    }
}

/// Why no status can be shown, with the nearest keyspace.
pub(crate) fn not_shown(error: &StatusError, view: &ClusterView) -> CommandError {
    let known: Vec<String> = view.keyspaces.iter().map(|k| k.name.clone()).collect();
    let hint = match error {
        StatusError::NoKeyspace(_) if known.is_empty() => {
            Some("the cluster has no user keyspace yet".to_owned())
        }
        StatusError::NoKeyspace(name) => Some(helenus_model::topology::name_hint(name, &known)),
        _ => None,
    };
    CommandError::of(code::USAGE, error).hint(hint)
}

/// What the nodes say, and what was measured between their data centres.
#[derive(Serialize)]
struct StatusOutput<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Round trips between data centres that are apart.
    #[serde(skip_serializing_if = "<[Echo]>::is_empty")]
    round_trips: &'a [Echo],
    /// Faults that were made and not healed.
    #[serde(skip_serializing_if = "<[fault::PrintedFault]>::is_empty")]
    faults: &'a [fault::PrintedFault],
    /// Processors and NUMA nodes of those nodes that are bound to some.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pins: BTreeMap<&'a str, &'a Pin>,
}

impl Answers for StatusOutput<'_> {
    fn answer(&self) -> String {
        let count = |reach: Reach| {
            let nodes = self.report.nodes.iter();
            nodes.filter(|one| one.node.reach == reach).count()
        };
        let reaches = [
            (Reach::Up, "up"),
            (Reach::Down, "down"),
            (Reach::Unknown, "unknown"),
        ];
        let counts = reaches.iter().filter_map(|(reach, word)| {
            let nodes = count(*reach);
            (nodes > 0).then(|| format!("{nodes} {word}"))
        });
        let nodes = plural(self.report.nodes.len(), "node");
        format!("{nodes}: {}", counts.collect::<Vec<_>>().join(", "))
    }
}

/// Round trips between each two data centres that are apart; a pair of which nothing comes back is left out.
fn round_trips(state: &ClusterState) -> Vec<Echo> {
    let Some(network) = &state.plan.network else {
        return Vec::new();
    };
    let folder = Path::new(&state.plan.folder);
    let Ok(status) = Keeper::call(folder).and_then(|keeper| keeper.status()) else {
        return Vec::new();
    };
    let mut asked = Vec::new();
    for (k, a) in network.sites.iter().enumerate() {
        for b in &network.sites[k + 1..] {
            if !status.is_cut(&a.name, &b.name) {
                // All at once: each takes as many round trips as it has samples.
                let (folder, a, b) = (folder.to_owned(), a.name.clone(), b.name.clone());
                asked.push(std::thread::spawn(move || {
                    Keeper::call(&folder)?.echo(&a, &b, SAMPLES)
                }));
            }
        }
    }
    let ended = asked.into_iter().filter_map(|one| one.join().ok());
    ended.filter_map(Result::ok).collect()
}

/// The round trips below the nodes.
fn matrix(state: &ClusterState, echoes: &[Echo]) -> String {
    let Some(network) = &state.plan.network else {
        return String::new();
    };
    let names: Vec<&str> = network
        .sites
        .iter()
        .map(|site| site.name.as_str())
        .collect();
    let heads: Vec<String> = names.iter().map(|name| format!(">{name}")).collect();
    let mut all = vec!["round trip"];
    all.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(&all);
    for a in &names {
        let cell = |b: &&str| {
            let is = |e: &&Echo| (e.from == *a && e.to == **b) || (e.from == **b && e.to == *a);
            echoes
                .iter()
                .find(is)
                .map_or_else(|| "-".to_owned(), |e| format!("{:.1} ms", e.p50_us / 1e3))
        };
        table.row(std::iter::once((*a).to_owned()).chain(names.iter().map(cell)));
    }
    format!(
        "{}(median of {SAMPLES} echoes of a byte over TCP)\n",
        table.render()
    )
}
