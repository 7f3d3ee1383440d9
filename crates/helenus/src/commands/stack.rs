//! `helenus stack`: flags into a stack, events into progress, its parts into tables.
//! Refuses to repeat what `up` and `rm` do: the cluster is theirs.

mod data;
mod up;

use crate::cli::Rm;
use crate::cli::stack::{Stack, StackWhat, Status};
use crate::commands::rm;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::stack::{self, PartView};
use helenus_cluster::state::ClusterState;
use helenus_model::format::Format;
use helenus_model::stack::Gateway;
use helenus_model::units::{Bytes, human_duration};
use serde::Serialize;
use std::time::Duration;

pub(crate) fn run(flags: &Stack, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.what {
        StackWhat::Up(flags) => up::run(flags, context, ui),
        StackWhat::Status(flags) => status(flags, context, ui),
        StackWhat::Rm(flags) => {
            let flags = Rm {
                names: vec![flags.name.clone()],
                prefix: None,
                all: false,
                with_baselines: false,
                force: flags.force,
                dry_run: flags.dry_run,
            };
            rm::run(&flags, context, ui)
        }
        StackWhat::Backup(flags) => data::backup(flags, context, ui),
        StackWhat::Restore(flags) => data::restore(flags, context, ui),
        StackWhat::Verify(flags) => data::verify(flags, context, ui),
        StackWhat::Repair(flags) => data::repair(flags, context, ui),
    }
}

/// A stack as `up` and `status` answer.
#[derive(Serialize)]
struct StackStatus {
    format: Format,
    /// The cluster.
    cluster: String,
    /// What clients come through.
    gateway: Gateway,
    /// The dashboard, where there is one.
    dashboard: Option<String>,
    /// How long `up` took; absent in `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    /// Whether each part is up or installed.
    well: bool,
    /// Memory of all parts in bytes.
    memory_bytes: u64,
    /// Nodes, gateway and parts.
    parts: Vec<PartView>,
}

impl StackStatus {
    fn of(context: &Context, state: &ClusterState) -> Result<Self, CommandError> {
        let kept = stack::load(state)?;
        let parts = stack::look(context, state, &kept)?;
        Ok(Self {
            format: Format::new("stack-status", 1),
            cluster: state.plan.name.clone(),
            gateway: kept.request.gateway,
            dashboard: kept.dashboard(),
            seconds: None,
            well: parts.iter().all(|part| part.state.is_well()),
            memory_bytes: parts.iter().filter_map(|part| part.memory_bytes).sum(),
            parts,
        })
    }

    fn unwell(&self) -> Vec<&str> {
        let unwell = self.parts.iter().filter(|part| !part.state.is_well());
        unwell.map(|part| part.name.as_str()).collect()
    }

    fn text(&self) -> String {
        let mut table = Table::new(&["part", "", "state", "at", ">pid", ">memory", ""]);
        for part in &self.parts {
            table.row([
                part.name.clone(),
                part.purpose.clone(),
                part.state.as_str().to_owned(),
                part.at.clone().unwrap_or_default(),
                part.pid.map(|pid| pid.to_string()).unwrap_or_default(),
                part.memory_bytes
                    .map(|bytes| Bytes(bytes).to_string())
                    .unwrap_or_default(),
                part.note.clone().unwrap_or_default(),
            ]);
        }
        let dashboard = self.dashboard.as_ref();
        let dashboard = dashboard.map_or(String::new(), |url| format!("dashboard: {url}\n"));
        format!("{}\n{dashboard}{}\n", table.render(), self.answer())
    }
}

impl Answers for StackStatus {
    fn answer(&self) -> String {
        let name = &self.cluster;
        let memory = Bytes(self.memory_bytes);
        let took = self.seconds.map(|seconds| {
            let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            format!(" after {}", human_duration(took))
        });
        match &self.unwell()[..] {
            [] => format!(
                "stack {name} is up{}, {memory} in all",
                took.unwrap_or_default()
            ),
            unwell => format!(
                "stack {name} is degraded: {}; `helenus stack up {name}` starts what is down",
                unwell.join(", ")
            ),
        }
    }
}

fn status(flags: &Status, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    let status = StackStatus::of(context, &state)?;
    ui.result(&status, || status.text());
    Ok(if status.well { 0 } else { code::BAR })
}

/// What a dry run of the verbs over data says.
#[derive(Serialize)]
struct StackTodo {
    format: Format,
    /// The verb.
    verb: &'static str,
    /// The cluster.
    cluster: String,
    /// What would be done, in order.
    steps: Vec<String>,
}

impl StackTodo {
    fn new(verb: &'static str, cluster: &str, steps: Vec<String>) -> Self {
        Self {
            format: Format::new("stack-todo", 1),
            verb,
            cluster: cluster.to_owned(),
            steps,
        }
    }

    fn show(&self, ui: &Ui) {
        ui.result(self, || {
            let steps = self.steps.iter().map(|step| format!("  {step}\n"));
            format!("{}\n{}", self.answer(), steps.collect::<String>())
        });
    }
}

impl Answers for StackTodo {
    fn answer(&self) -> String {
        format!(
            "would {} {}; nothing was done (--dry-run)",
            self.verb, self.cluster
        )
    }
}
