//! Experiments that compare two sides in pairs: their report is that of a comparison.
//! Refuses pairs that would compare two loads.

use crate::commands::compare::render;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_lab::experiment::{self, Combination, Compared, ExperimentError};
use helenus_model::bench::Load;
use helenus_model::comparison::{BarAnswer, CompareError, Comparison};
use helenus_model::experiment::{Experiment, Pairs};
use helenus_record::ExperimentId;

/// Whether the sides of a file can be compared in pairs.
pub(super) fn check(
    of: &Experiment,
    pairs: &Pairs,
    sides: &[Combination],
) -> Result<(), CommandError> {
    let [a, b] = sides else { return Ok(()) };
    if finds_rate(sides) {
        let text = "pairs need a rate: each restart would find its own, and a pair would compare two loads";
        return Err(CommandError::new(code::USAGE, text).hint(
            "add rate or closed = true to [workload]; `helenus compare --ab` finds one rate for all".to_owned(),
        ));
    }
    let labels = [0, 1].map(|level| of.factors[0].levels[level].label.as_str());
    experiment::comparable(labels, [&a.bench, &b.bench], &pairs.bars).map_err(not_comparable)
}

/// Shows the comparison of the pairs that have run, and keeps it; its exit code. Nothing is shown where no pair is whole.
pub(super) fn made(
    of: &Experiment,
    id: ExperimentId,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    Ok(shown(experiment::compared(context, of, id, true), ui)?.unwrap_or(0))
}

/// The same once more, not kept: what `experiment report` says of pairs.
pub(super) fn report(
    of: &Experiment,
    id: ExperimentId,
    nothing_else: bool,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    if !nothing_else {
        let text =
            format!("{id} compares two sides in pairs, and its report is that of a comparison");
        return Err(CommandError::new(code::USAGE, text).hint(
            "`helenus history --comparisons` lists them; `helenus report cmp1` draws one"
                .to_owned(),
        ));
    }
    shown(experiment::compared(context, of, id, false), ui)?.ok_or_else(|| {
        let code = BarAnswer::CannotTell.exit_code();
        CommandError::new(code, format!("{id} has no complete pair yet"))
            .hint(format!("resume it: helenus experiment resume {id}"))
    })
}

/// Shows a comparison; its exit code, or none where there is none.
fn shown(
    compared: Result<Option<Compared>, ExperimentError>,
    ui: &Ui,
) -> Result<Option<u8>, CommandError> {
    let Some(made) = compared.map_err(super::failure)? else {
        return Ok(None);
    };
    render::show(&made.comparison, made.id.map(|id| id.to_string()), ui);
    match made.unanswered {
        Some(error) => Err(not_comparable(error)),
        None => Ok(Some(exit_code(&made.comparison))),
    }
}

/// Whether a side has neither a rate nor a closed loop.
pub(crate) fn finds_rate(sides: &[Combination]) -> bool {
    sides.iter().any(|one| one.bench.load == Load::Probe)
}

/// The exit code of a comparison; 0 without thresholds.
pub(crate) fn exit_code(comparison: &Comparison) -> u8 {
    comparison.answer().map_or(0, BarAnswer::exit_code)
}

pub(crate) fn not_comparable(error: CompareError) -> CommandError {
    CommandError::new(code::USAGE, error.to_string()).hint(error.hint())
}
