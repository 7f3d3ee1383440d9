//! What a result says of its generators: where they were, how well their clocks are known, what they used.
//! Refuses to judge: too rough a clock is a doubt.

use crate::ui::Table;
use helenus_model::agent::GeneratorSeen;
use helenus_model::result::RunResult;
use helenus_model::units::{Bytes, thousands};

/// Generators elsewhere, and how well their clocks are known.
pub(super) fn elsewhere(seen: &[GeneratorSeen]) -> String {
    if seen.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["generator", ">offered", ">clock ±ms", ">moved ms", "lost"]);
    for one in seen {
        let ms = |us: f64| format!("{:.3}", us / 1e3);
        table.row([
            one.name.clone(),
            thousands(one.offered),
            ms(one.clock_error_us),
            one.clock_drift_us.map_or("–".to_owned(), ms),
            one.lost.clone().unwrap_or_default(),
        ]);
    }
    format!("\n{}", table.render())
}

/// What the generator used, and how late it was in the phase in which it was latest, where there are samples enough.
pub(super) fn used(result: &RunResult) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(used) = &result.generator {
        let cost = used.cpu_per_operation_us;
        parts.extend(cost.map(|us| format!("{us:.1} µs of CPU an operation")));
        parts.push(format!("{} at most", Bytes(used.max_rss_bytes)));
    }
    let late = result.phases.iter();
    let late = late.filter_map(|phase| phase.total.lateness.as_ref()?.p99_us);
    let worst = late.max_by(f64::total_cmp);
    parts.extend(worst.map(|us| format!("started operations late by {:.2} ms at p99", us / 1e3)));
    parts
}
