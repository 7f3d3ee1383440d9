//! Faults of a run on the command line: read from flags, printed as they turn, listed with the result.
//! Refuses to print what was asked for as what was: real times only.

use crate::commands::fault::wrong_words;
use crate::error::CommandError;
use crate::ui::{Table, Ui};
use helenus_lab::faults::Turned;
use helenus_model::fault::script::Scripted;
use helenus_model::telemetry::FaultSeen;

/// The time line that flags say.
pub(crate) fn script(flags: &[String]) -> Result<Vec<Scripted>, CommandError> {
    let each = flags.iter().map(|words| Scripted::parse(words));
    each.collect::<Result<_, _>>().map_err(wrong_words)
}

/// A line as a fault turns.
pub(crate) fn live(words: &str, turned: &Turned, ui: &Ui) {
    match turned {
        Turned::Made => ui.note(&format!("fault '{words}': active")),
        Turned::Healed => ui.note(&format!("fault '{words}': healed")),
        Turned::NotMade(why) => ui.caution(&format!("fault '{words}' could not be made: {why}")),
        Turned::NotHealed(why) => ui.caution(&format!(
            "fault '{words}' could not be healed: {why}; `helenus heal` tries again"
        )),
        Turned::Undone => ui.caution(&format!(
            "fault '{words}': something else undid it before its end, at an unknown time"
        )),
        Turned::NotReady(why) => ui.caution(&format!(
            "fault '{words}' is healed, but not all nodes are ready: {why}; `helenus start` waits for them"
        )),
        Turned::Waiting => ui.note("waiting until the nodes that were started again are ready"),
    }
}

/// The faults of a run as they really were; nothing where there were none.
pub(crate) fn table(faults: &[FaultSeen]) -> String {
    if faults.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["fault", "at", ">from", ">to"]);
    for one in faults {
        let at: Vec<&str> = one.at.iter().map(|at| at.trim_start_matches('@')).collect();
        let moment = |s: f64| format!("{s:.1} s");
        let (from, to) = if one.made {
            (moment(one.from_s), moment(one.to_s))
        } else {
            ("not made".to_owned(), String::new())
        };
        table.row([one.words.clone(), at.join(", "), from, to]);
    }
    format!(
        "\n{}seconds since the measurement started, after the first warm-up\n",
        table.render()
    )
}

/// The faults of a plan, one a line.
pub(crate) fn planned(script: &[Scripted]) -> String {
    let lines = script.iter().map(|one| format!("fault: {one}\n"));
    lines.collect()
}
