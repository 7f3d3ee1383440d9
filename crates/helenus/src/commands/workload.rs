//! `helenus workload`: built-in workloads, and profiles checked and drafted.
//! Refuses to run any: `helenus run` does.

mod check;
mod new;

use crate::cli::workload::{Show, Workload, WorkloadVerb};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_model::built_in::{self, BuiltIn, BuiltInPhase};
use helenus_model::format::Format;
use serde::Serialize;

pub(crate) fn run(flags: &Workload, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.verb {
        WorkloadVerb::List => list(ui),
        WorkloadVerb::Show(flags) => show(flags, ui)?,
        WorkloadVerb::Check(flags) => check::run(flags, ui)?,
        WorkloadVerb::New(flags) => new::run(flags, context, ui)?,
    }
    Ok(0)
}

#[derive(Serialize)]
struct Listed {
    format: Format,
    /// The workloads.
    workloads: Vec<Line>,
}

impl Answers for Listed {
    fn answer(&self) -> String {
        let names: Vec<&str> = self.workloads.iter().map(|line| line.name).collect();
        format!("{} workloads: {}", names.len(), names.join(", "))
    }
}

#[derive(Serialize)]
struct Line {
    /// Its name.
    name: &'static str,
    /// What it is about.
    about: &'static str,
    /// Its phases.
    phases: Vec<&'static str>,
    /// Its parameters.
    parameters: Vec<&'static str>,
}

fn list(ui: &Ui) {
    let line = |known: &BuiltIn| Line {
        name: known.name,
        about: known.about,
        phases: known.phases.iter().map(|phase| phase.name).collect(),
        parameters: known.parameters.iter().map(|p| p.name).collect(),
    };
    let listed = Listed {
        format: Format::new("workloads", 1),
        workloads: built_in::ALL.iter().map(line).collect(),
    };
    ui.result(&listed, || {
        let mut table = Table::new(&["workload", "phases", "description"]);
        for line in &listed.workloads {
            let phases = if line.phases.is_empty() {
                "–".to_owned()
            } else {
                line.phases.join(", ")
            };
            table.row([line.name.to_owned(), phases, line.about.to_owned()]);
        }
        format!(
            "{}\n`helenus workload show NAME` shows parameters and profile; a file in cassandra-stress's YAML runs as well.\n",
            table.render()
        )
    });
}

#[derive(Serialize)]
struct Shown {
    format: Format,
    /// Its name.
    name: &'static str,
    /// What it is about.
    about: &'static str,
    /// Its parameters.
    parameters: Vec<Set>,
    /// Its phases.
    phases: Vec<Phase>,
    /// Absent for `standard1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
}

impl Answers for Shown {
    fn answer(&self) -> String {
        format!("{}: {}", self.name, self.about)
    }
}

#[derive(Serialize)]
struct Set {
    /// Its name.
    name: &'static str,
    /// Its value.
    value: String,
    /// Its default.
    default: &'static str,
    /// What it does.
    about: &'static str,
}

#[derive(Serialize)]
struct Phase {
    /// Its name.
    name: String,
    /// What it does.
    about: &'static str,
    /// Its operations with their weights.
    mix: Vec<Weighed>,
    /// Operations.
    count: u64,
    /// Partitions that they go to.
    population: u64,
}

#[derive(Serialize)]
struct Weighed {
    /// The operation.
    operation: String,
    /// Its weight.
    weight: u32,
}

fn show(flags: &Show, ui: &Ui) -> Result<(), CommandError> {
    let known = built_in::find(&flags.name)?;
    let made = known.with(&flags.params)?;
    let profile = known.text(&flags.params)?;
    if flags.yaml {
        let text = profile.ok_or_else(|| {
            CommandError::new(
                code::USAGE,
                format!(
                    "{} has no profile: it has its own implementation",
                    known.name
                ),
            )
        })?;
        ui.out(&text);
        return Ok(());
    }
    let set = |parameter: &built_in::Parameter| {
        let same = |name: &str| name.replace('-', "_") == parameter.name.replace('-', "_");
        let given = flags.params.iter().rev().find(|(name, _)| same(name));
        Set {
            name: parameter.name,
            value: given
                .map_or(parameter.default, |(_, value)| value)
                .to_owned(),
            default: parameter.default,
            about: parameter.about,
        }
    };
    let phase = |(phase, of): (BuiltInPhase, &built_in::PhaseOf)| Phase {
        name: phase.name,
        about: of.about,
        mix: phase
            .mix
            .into_iter()
            .map(|(operation, weight)| Weighed { operation, weight })
            .collect(),
        count: phase.count,
        population: phase.population,
    };
    let shown = Shown {
        format: Format::new("workload", 1),
        name: known.name,
        about: known.about,
        parameters: known.parameters.iter().map(set).collect(),
        phases: made
            .phases
            .into_iter()
            .zip(known.phases)
            .map(phase)
            .collect(),
        profile,
    };
    ui.result(&shown, || text(&shown));
    Ok(())
}

fn text(shown: &Shown) -> String {
    let mut text = shown.answer() + "\n";
    if !shown.parameters.is_empty() {
        let mut table = Table::new(&["parameter", "value", "what it does"]);
        for set in &shown.parameters {
            let value = if set.value.is_empty() {
                "–"
            } else {
                &set.value
            };
            table.row([set.name.to_owned(), value.to_owned(), set.about.to_owned()]);
        }
        text.push_str(&format!("\n{}", table.render()));
    }
    if !shown.phases.is_empty() {
        let mut table = Table::new(&["phase", "operations", "mix", "positions", "what it does"]);
        for phase in &shown.phases {
            let mix: Vec<String> = phase
                .mix
                .iter()
                .map(|w| format!("{}={}", w.operation, w.weight))
                .collect();
            table.row([
                phase.name.clone(),
                phase.count.to_string(),
                mix.join(","),
                phase.population.to_string(),
                phase.about.to_owned(),
            ]);
        }
        text.push_str(&format!("\n{}", table.render()));
    }
    if let Some(profile) = &shown.profile {
        text.push_str(&format!("\n{profile}"));
    }
    text
}
