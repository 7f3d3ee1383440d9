//! The pairs of `compare --ab` as they go: one moving line within a restart, one kept line after it.
//! Refuses to tell differences before there are enough pairs.

use super::minutes;
use crate::commands::bench;
use crate::ui::Ui;
use helenus_lab::Finished;
use helenus_lab::ab::{AbEvent, AbRequest};
use helenus_model::doubt::Verdict;
use std::fmt::Write as _;
use std::time::Instant;

/// The pairs as they go.
pub(super) struct Live<'a> {
    ui: &'a Ui,
    within: bench::Live<'a>,
    took: Option<(Instant, usize)>,
    left: usize,
}

impl<'a> Live<'a> {
    pub(super) fn new(ui: &'a Ui, request: &AbRequest, flags: [&crate::cli::Bench; 2]) -> Self {
        let nodes = flags.map(|f| f.cluster_flags.nodes.total as usize);
        Self {
            ui,
            within: bench::Live::new(ui, nodes[0].max(nodes[1])),
            took: None,
            left: 2 * request.rule.first_stage(),
        }
    }

    pub(super) fn see(&mut self, event: &AbEvent<'_>) {
        match event {
            AbEvent::FindsRate => self.ui.note("one run of A finds the rate for all"),
            AbEvent::Rate(rate) => self.ui.note(&format!(
                "every restart without a rate of its own runs at {rate}/s"
            )),
            AbEvent::Begins {
                pair,
                of,
                side,
                left,
            } => {
                self.left = *left;
                let time_left = self.took.map_or(String::new(), |(began, done)| {
                    let each = began.elapsed() / u32::try_from(done.max(1)).unwrap_or(u32::MAX);
                    let left = each * u32::try_from(*left).unwrap_or(u32::MAX);
                    format!(", {} left", minutes(left))
                });
                self.took.get_or_insert((Instant::now(), 0));
                self.within.prefix(format!(
                    "pair {pair} of {of}, {}{time_left}: ",
                    side.letter()
                ));
            }
            AbEvent::Bench(event) => self.within.see(event),
            AbEvent::Ended {
                pair,
                side,
                finished,
            } => {
                if let Some((_, done)) = &mut self.took {
                    *done += 1;
                }
                self.ui.note(&format!(
                    "pair {pair}, {}: {}",
                    side.letter(),
                    in_a_line(finished)
                ));
            }
            AbEvent::Settled(pairs) => self.ui.note(&format!("settled after {pairs} pairs")),
            AbEvent::Decided(stopping) => self.ui.note(&format!(
                "{} pairs say that {} needs {} for ±{:.1} %{}",
                stopping.first_stage,
                stopping.governed_by,
                stopping.asked_for,
                (stopping.wanted - 1.0) * 100.0,
                if stopping.asked_for > stopping.max_pairs {
                    format!("; --max-pairs allows {}", stopping.max_pairs)
                } else {
                    String::new()
                }
            )),
        }
    }
}

/// A restart's numbers in one line.
pub(crate) fn in_a_line(finished: &Finished) -> String {
    let mut text = String::new();
    for phase in &finished.result.phases {
        let slow = phase.total.times().next();
        let at = |us: Option<f64>| us.map_or("–".to_owned(), |us| format!("{:.2}", us / 1e3));
        let (p50, p99) = slow.map_or((None, None), |(_, d)| (d.p50_us, d.p99_us));
        let _infallible = write!(
            text,
            "{} {:.0}/s, p50 {} ms, p99 {} ms; ",
            phase.name,
            phase.achieved_per_s,
            at(p50),
            at(p99)
        );
    }
    text.push_str(match finished.result.verdict {
        Verdict::Valid => "valid",
        Verdict::Caution => "valid, with cautions",
        Verdict::Invalid => "not to be believed",
    });
    let named = finished.result.phases.iter().flat_map(|p| &p.doubts);
    let mut kinds: Vec<&str> = named.map(|d| d.text.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        let _infallible = write!(text, " ({})", kinds.join("; "));
    }
    text
}
