//! `helenus upgrade`: a cluster on another release, one node at a time.
//! Refuses to decide the steps: the model does.

use crate::cli::upgrade::Upgrade;
use crate::commands::disturb;
use crate::commands::up::{Watcher, print_unfetched};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::lifecycle::Source;
use helenus_cluster::upgrade::{UpgradeEvent, UpgradeLook, UpgradeRequest};
use helenus_model::format::Format;
use helenus_model::units::{human_duration, plural};
use helenus_model::upgrade::{Mode, Otherwise, Step, UpgradePlan};
use serde::Serialize;
use std::time::Duration;

/// What `upgrade` did, or would do.
#[derive(Serialize)]
struct Answer {
    format: Format,
    /// The cluster.
    cluster: String,
    /// Release that it goes to.
    to: String,
    /// Storage compatibility mode that it stops at.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Mode>,
    /// JDK of the new release; absent where nothing is started.
    #[serde(skip_serializing_if = "Option::is_none")]
    jdk: Option<String>,
    /// Whether nothing was done.
    dry_run: bool,
    /// The steps, in order.
    steps: Vec<StepView>,
    /// Settings that differ on the new release, or that it does not have.
    otherwise: Vec<Otherwise>,
}

impl Answers for Answer {
    fn answer(&self) -> String {
        let (cluster, to) = (&self.cluster, &self.to);
        let steps = plural(self.steps.len(), "step");
        if self.steps.is_empty() {
            return format!("{cluster}: nothing to do, it runs {to}");
        }
        if self.dry_run {
            return format!("{cluster} to Cassandra {to}: {steps}");
        }
        let mode = self
            .until
            .map(|m| format!(", storage compatibility mode {}", m.word()));
        let all = self.steps.iter().filter_map(|step| step.seconds).sum();
        format!(
            "{cluster} runs Cassandra {to}{}: {steps} in {}",
            mode.unwrap_or_default(),
            human_duration(Duration::try_from_secs_f64(all).unwrap_or_default())
        )
    }
}

#[derive(Serialize)]
struct StepView {
    #[serde(flatten)]
    step: Step,
    /// How long it took; absent where it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

pub(crate) fn run(flags: &Upgrade, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.resolve(flags.name.as_deref())?;
    let request = UpgradeRequest {
        cluster: state.plan.name.clone(),
        to: flags.to.clone(),
        until: flags.until,
        java_home: flags.java_home.clone(),
        archive: !flags.no_archive,
        within: flags.within,
        ready_within: flags.ready_within,
    };
    let look = context.upgrade_plan(&request)?;
    if flags.dry_run {
        let answer = answer(&look, &look.plan, &[], true);
        print_unfetched(&Source::Known(answer.to.clone()), context, ui);
        ui.result(&answer, || dry_text(&answer));
        return Ok(0);
    }
    if !look.plan.steps.is_empty() {
        // A run beside it goes on, and learns of it.
        disturb::may(context, &request.cluster, true)?;
    }
    let mut watcher = Watcher::new(ui, &request.cluster, state.plan.nodes.len());
    let done = context.upgrade(&request, &mut |event| match event {
        UpgradeEvent::Life(event) => watcher.see(&event),
        UpgradeEvent::Step { number, of, step } => {
            watcher.at(&step.words(), number as u64 - 1, of as u64);
        }
        UpgradeEvent::Done {
            number,
            of,
            step,
            took,
        } => ui.note(&format!(
            "{number}/{of} {} ({})",
            step.words(),
            human_duration(took)
        )),
    });
    drop(watcher);
    let done = done.map_err(|error| goes_on(CommandError::from(error), &request.cluster))?;
    let answer = answer(&look, &done.plan, &done.took, false);
    ui.result(&answer, || answer.answer() + "\n");
    Ok(0)
}

/// What was done before stays, and is not done again.
fn goes_on(failure: CommandError, cluster: &str) -> CommandError {
    if failure.code == code::INTERRUPTED {
        let text = "interrupted; the steps that are done stay";
        return CommandError::new(code::INTERRUPTED, text)
            .hint(format!("`helenus upgrade {cluster}` resumes it"));
    }
    failure
}

fn answer(look: &UpgradeLook, plan: &UpgradePlan, took: &[Duration], dry_run: bool) -> Answer {
    let seconds = took.iter().map(|took| Some(took.as_secs_f64()));
    let seconds = seconds.chain(std::iter::repeat(None));
    Answer {
        format: Format::new("upgrade", 1),
        cluster: plan.cluster.clone(),
        to: plan.to.clone(),
        until: plan.until,
        jdk: look.jdk.clone(),
        dry_run,
        steps: plan
            .steps
            .iter()
            .cloned()
            .zip(seconds)
            .map(|(step, seconds)| StepView { step, seconds })
            .collect(),
        otherwise: look.otherwise.clone(),
    }
}

fn dry_text(answer: &Answer) -> String {
    let mut text = answer.answer() + "\n";
    if let Some(jdk) = &answer.jdk {
        text.push_str(&format!("on {jdk}\n"));
    }
    for (index, view) in answer.steps.iter().enumerate() {
        text.push_str(&format!("  {}. {}\n", index + 1, view.step.words()));
    }
    if !answer.otherwise.is_empty() {
        text.push_str("settings of the first node that change:\n");
    }
    for Otherwise { key, own, why } in &answer.otherwise {
        let own = own.as_deref().unwrap_or("left out");
        text.push_str(&format!("  {key} -> {own} ({why})\n"));
    }
    text
}
