//! What an experiment says: one sentence and one badge, the same in every form in which it is shown.
//! Refuses a badge that claims what the sentence does not.

use crate::report::experiment::lines;
use crate::report::experiment_data::ExperimentReport;
use helenus_model::comparison::{BarAnswer, Claim, Conclusion, LEAST_PAIRS, Tone};
use helenus_model::experiment::Bar;

/// Most characters of a heading, where it can be shorter.
const HEADING_MOST: usize = 160;

/// What an experiment says: its first sentence, and the badge of the same claim. Whoever shows the experiment shows these words.
pub fn experiment_conclusion(report: &ExperimentReport<'_>) -> Conclusion {
    said(report).0
}

/// The answer, a sentence a line; the first is the conclusion's.
pub fn experiment_answer(report: &ExperimentReport<'_>) -> Vec<String> {
    let (conclusion, mut lines) = said(report);
    lines.insert(0, conclusion.headline);
    lines
}

/// The conclusion, and the lines below it: of a first line that is too long for a heading, what stands behind its first
/// semicolon is below.
pub(super) fn said(report: &ExperimentReport<'_>) -> (Conclusion, Vec<String>) {
    let (badge, tone) = badge(report);
    let mut lines = lines(report);
    let mut headline = match lines.is_empty() {
        true => String::new(),
        false => lines.remove(0),
    };
    if let Some((head, rest)) = headline.split_once("; ")
        && headline.chars().count() > HEADING_MOST
    {
        lines.insert(0, rest.to_owned());
        headline = head.to_owned();
    }
    let conclusion = Conclusion {
        headline,
        badge,
        tone,
    };
    (conclusion, lines)
}

/// The badge of what the first line says.
fn badge(report: &ExperimentReport<'_>) -> (&'static str, Tone) {
    let open = |badge| (badge, Tone::Open);
    let different = ("significant difference", Tone::Settled);
    let none = open("no significant difference");
    let found = match report.analysis {
        _ if report.progress.left > 0 => return open("not complete yet"),
        None => return open("no claim"),
        Some(found) if found.not_testable.is_some() => return open("not testable here"),
        Some(found) => found,
    };
    match (&found.answer, &found.screened) {
        (Some(answer), _) => match answer.settled() {
            Claim::Higher | Claim::Lower => different,
            Claim::NoDifference => none,
            // The reference looks best, so there is nothing that it is compared with.
            Claim::None
                if answer.winner == answer.reference
                    && answer.blocks >= LEAST_PAIRS
                    && !answer.rivals.is_empty() =>
            {
                open("nothing better")
            }
            Claim::None => open("no claim"),
        },
        // A screening ends with levels that are better or worse, not with a winner.
        (None, Some(found)) if found.better.is_empty() && found.worse.is_empty() => none,
        (None, Some(_)) => different,
        // Settings of different loads have no best; what holds a threshold is reported all the same.
        (None, None) => {
            let held = |bar: &Bar| {
                let mut own = found.bars.iter().filter(|cell| cell.bar == bar.text);
                own.any(|cell| cell.answer == BarAnswer::Holds)
            };
            let asked = &report.experiment.bars;
            match !asked.is_empty() && asked.iter().all(held) {
                true => ("its thresholds can be held", Tone::Settled),
                false => open("no claim"),
            }
        }
    }
}
