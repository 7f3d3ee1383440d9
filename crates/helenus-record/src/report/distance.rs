//! The table of distance: how late packets between data centres were in each phase, and what their delay cost.
//! Refuses to speak of clusters without distance.

use crate::report::page::table;
use crate::report::words;
use helenus_model::result::RunResult;
use helenus_model::telemetry::Emulated;

/// A row a phase; empty where no phase had distance.
pub(super) fn section(result: &RunResult) -> String {
    let each = result.phases.iter();
    let each = each.filter_map(|p| Some(row(&p.name, p.around.emulator.as_ref()?)));
    let heads = [
        "phase",
        ">packets",
        ">late, mean, ms",
        ">p50, ms",
        ">p99, ms",
        "shortest round trip",
        ">p99 of it",
        ">emulator, share of a core",
    ];
    match table(&heads, &each.collect::<Vec<_>>()) {
        none if none.is_empty() => none,
        table => format!(
            "<p class=\"note\">Packets between data centres are held until they are due; <em>late</em> is any delay beyond \
             that. A round trip crosses twice.</p>{table}"
        ),
    }
}

/// How many crossed, and whether only probes among them measure how late they were.
fn packets(emulated: &Emulated) -> String {
    let count = words::count(emulated.packets);
    if emulated.probed {
        format!("{count} (probed)")
    } else {
        count
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
fn row(phase: &str, emulated: &Emulated) -> Vec<String> {
    let late = |us: Option<u64>| words::ms_or_dash(us.map(|us| us as f64));
    let trip = emulated.shortest.as_ref().zip(emulated.round_trip_us);
    let trip = trip.map(|([a, b], us)| format!("{a} – {b} {} ms", words::ms(us as f64)));
    let share = emulated.error_share().map(words::percent);
    vec![
        phase.to_owned(),
        packets(emulated),
        words::ms_or_dash(emulated.late_mean_us),
        late(emulated.late_p50_us),
        late(emulated.late_p99_us),
        trip.unwrap_or_default(),
        share.unwrap_or_default(),
        words::percent(emulated.cpu_share),
    ]
}
