//! The distance of a run: what was asked for, and what the emulator did beside each phase, as a table.
//! Refuses a row for a phase of which nothing was seen.

use crate::commands::topology::ms;
use crate::error::{CommandError, code};
use crate::ui::Table;
use helenus_cluster::error::ClusterError;
use helenus_cluster::state::ClusterState;
use helenus_lab::distance::ApartError;
use helenus_model::levels::{Distance, DistanceError};
use helenus_model::result::PhaseResult;
use helenus_model::telemetry::Emulated;
use helenus_model::units::thousands;

/// The distance that flags ask for; none where they say nothing.
pub(crate) fn of(rtt: &[Distance]) -> Option<Distance> {
    (!rtt.is_empty()).then(|| Distance::joined(rtt))
}

/// Whether an existing cluster can have a distance: one of ours, with links.
pub(crate) fn possible(
    asked: Option<&Distance>,
    state: Option<&ClusterState>,
) -> Result<(), CommandError> {
    match (asked, state) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(failure(ApartError::Foreign)),
        (Some(_), Some(state)) if state.plan.network.is_none() => {
            Err(failure(DistanceError::Loopback.into()))
        }
        (Some(_), Some(_)) => Ok(()),
    }
}

/// Why a run cannot have its distance, with its exit code.
pub(crate) fn failure(error: ApartError) -> CommandError {
    let busy =
        "stop what keeps the processors busy, and check with `helenus link NAME --measure 100`";
    match error {
        ApartError::Distance(ref source) => {
            CommandError::of(code::USAGE, &error).hint(source.hint())
        }
        ApartError::Net(source) => ClusterError::from(source).into(),
        ApartError::Off(_) => CommandError::of(code::ENVIRONMENT, &error).hint(busy.to_owned()),
        ApartError::Foreign => CommandError::of(code::USAGE, &error)
            .hint("name it with --cluster, or leave --rtt out".to_owned()),
    }
}

/// A row a phase; nothing where no phase had distance.
pub(super) fn table(phases: &[PhaseResult]) -> String {
    let seen = phases
        .iter()
        .filter_map(|p| Some((p, p.around.emulator.as_ref()?)));
    let mut seen = seen.peekable();
    if seen.peek().is_none() {
        return String::new();
    }
    let mut table = Table::new(&[
        "distance",
        ">packets",
        ">late mean",
        ">p50",
        ">p99",
        "shortest round trip",
        ">p99 of it",
        ">emulator",
    ]);
    for (phase, emulated) in seen {
        table.row(row(&phase.name, emulated));
    }
    format!("\n{}", table.render())
}

fn row(name: &str, emulated: &Emulated) -> [String; 8] {
    let none = || "–".to_owned();
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let trip = emulated.shortest.as_ref().zip(emulated.round_trip_us);
    [
        name.to_owned(),
        format!(
            "{}{}",
            thousands(emulated.packets),
            if emulated.probed { " (probed)" } else { "" }
        ),
        emulated
            .late_mean_us
            .map_or_else(none, |us| format!("{:.3} ms", us / 1e3)),
        emulated.late_p50_us.map_or_else(none, ms),
        emulated.late_p99_us.map_or_else(none, ms),
        trip.map_or_else(none, |([a, b], us)| format!("{a} - {b} {}", ms(us))),
        emulated.error_share().map_or_else(none, share),
        format!("{} of a core", share(emulated.cpu_share)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_lateness_and_what_it_is_of_the_shortest_round_trip() {
        let emulated = Emulated {
            packets: 12_345,
            late_mean_us: Some(51.2),
            late_p50_us: Some(44),
            late_p99_us: Some(416),
            round_trip_us: Some(20_000),
            shortest: Some(["DC1".into(), "DC2".into()]),
            probed: false,
            cpu_us: 310_000,
            cpu_share: 0.031,
        };
        let mut table = Table::new(&["a", ">b", ">c", ">d", ">e", "f", ">g", ">h"]);
        table.row(row("write", &emulated));
        table.row(row("read", &Emulated::default()));
        insta::assert_snapshot!(table.render(), @"
        a           b         c         d         e  f                    g                h
        write  12,345  0.051 ms  0.044 ms  0.416 ms  DC1 - DC2 20 ms  2.1 %  3.1 % of a core
        read        0         –         –         –  –                    –  0.0 % of a core
        ");
    }
}
