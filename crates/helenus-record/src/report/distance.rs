//! The table of distance: how late packets between data centres were in each phase, and what their delay cost.
//! Refuses to speak of clusters without distance.

use crate::report::words::{self, html};
use helenus_model::result::RunResult;
use helenus_model::telemetry::Emulated;

/// A row a phase; empty where no phase had distance.
pub(super) fn table(result: &RunResult) -> String {
    let rows: String = result
        .phases
        .iter()
        .filter_map(|p| Some(row(&p.name, p.around.emulator.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<p class=\"note\">Packets between data centres are held until they are due; <em>late</em> is any delay beyond \
         that. A round trip crosses twice.</p>\
         <div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>phase</th><th class=\"n\">packets</th>\
         <th class=\"n\">late, mean, ms</th><th class=\"n\">p50, ms</th><th class=\"n\">p99, ms</th>\
         <th>shortest round trip</th><th class=\"n\">p99 of it</th><th class=\"n\">emulator, share of a core</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>\n"
    )
}

/// How many crossed, and whether only probes among them tell how late they were.
fn packets(emulated: &Emulated) -> String {
    let count = words::count(emulated.packets);
    if emulated.probed {
        format!("{count} (probed)")
    } else {
        count
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
fn row(phase: &str, emulated: &Emulated) -> String {
    let late = |us: Option<u64>| words::ms_or_dash(us.map(|us| us as f64));
    let trip = emulated.shortest.as_ref().zip(emulated.round_trip_us);
    let trip = trip.map_or_else(
        || "–".to_owned(),
        |([a, b], us)| format!("{} – {} {} ms", html(a), html(b), words::ms(us as f64)),
    );
    format!(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td>{trip}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html(phase),
        packets(emulated),
        words::ms_or_dash(emulated.late_mean_us),
        late(emulated.late_p50_us),
        late(emulated.late_p99_us),
        emulated
            .error_share()
            .map_or_else(|| "–".to_owned(), words::percent),
        words::percent(emulated.cpu_share),
    )
}
