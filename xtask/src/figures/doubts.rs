//! The table of doubts, as the model has it.
//! Refuses words of its own.

use super::Call;
use helenus_model::doubt::{DoubtKind, Severity};
use std::error::Error;

pub(super) fn text(_: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let rows = DoubtKind::ALL.map(|kind| {
        let row = kind.row();
        let severity = match row.severity {
            Severity::Caution => "caution",
            Severity::Disqualifying => "disqualifying",
        };
        format!(
            "| {} | {severity} | {} | {} |\n",
            row.text, row.raised, row.cure
        )
    });
    let head = "| doubt | severity | raised when | cure |\n|---|---|---|---|\n";
    Ok(format!("{head}{}", rows.concat()))
}
