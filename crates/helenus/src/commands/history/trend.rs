//! `helenus history trend`: one measure over many runs of one kind, and where it changed for good.

use crate::cli::history::Trend as Flags;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_model::format::Format;
use helenus_model::units::{fixed, plural};
use helenus_record::when::Utc;
use helenus_record::{History, RunFilter, RunState, Series};
use serde::Serialize;

/// Width of the longest bar.
const BAR: f64 = 30.0;

/// A measure over runs.
#[derive(Serialize)]
struct Trend {
    format: Format,
    #[serde(flatten)]
    series: Series,
}

impl Answers for Trend {
    fn answer(&self) -> String {
        self.series.answer()
    }
}

pub(super) fn run(flags: &Flags, history: &History, ui: &Ui) -> Result<u8, CommandError> {
    let filter = RunFilter {
        tag: flags.tag.clone(),
        workload: flags.workload.clone(),
        release: flags.release.clone(),
        state: Some(RunState::Complete),
        ..RunFilter::default()
    };
    let runs = history.runs(&filter)?;
    let Some(series) = Series::of(runs, flags.phase.as_deref(), flags.measure, flags.limit) else {
        let text = match &flags.phase {
            Some(phase) => format!("no run that has ended has a phase {phase}"),
            None => "no run that has ended is among those".to_owned(),
        };
        return Err(CommandError::new(code::USAGE, text)
            .hint("`helenus history` lists the runs, with their phases".to_owned()));
    };
    let trend = Trend {
        format: Format::new("trend", 1),
        series,
    };
    ui.result(&trend, || text(&trend.series));
    Ok(0)
}

fn text(series: &Series) -> String {
    let value = format!(">{}", series.unit);
    let mut table = Table::new(&["run", "when", "release", &value, "", "change"]);
    let values = series.runs.iter().map(|point| point.value);
    let most = values.fold(0.0, f64::max);
    for (place, point) in series.runs.iter().enumerate() {
        let step = series.steps.iter().find(|step| step.at == place);
        table.row([
            point.run.to_string(),
            Utc::of_ns(point.began_wall_ns).to_minute(),
            point.release.clone().unwrap_or_default(),
            fixed(point.value, series.decimals()),
            bar(point.value / most),
            step.map(|step| series.words(step)).unwrap_or_default(),
        ]);
    }
    let mut text = format!("{}\n{}\n", table.render(), series.answer());
    if series.left_out > 0 {
        text.push_str(&format!(
            "left out: {} of another workload, phase or rate, or without the measure\n",
            plural(series.left_out, "run")
        ));
    }
    text
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a width"
)]
fn bar(share: f64) -> String {
    "▇".repeat((share * BAR).round() as usize)
}
