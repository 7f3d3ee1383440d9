//! The line of a measurement: up, look, prepare, probe, run, record, remove; and what comes next whatever happens.
//! Refuses to do any of it: the lab does, and reports what happened.

use serde::{Deserialize, Serialize};

/// Where it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A cluster made for this run and removed with it.
    Ephemeral,
    /// A cluster of this user.
    Owned,
    /// Addresses that a person named.
    Hosts,
}

/// A step of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Bring the cluster up.
    Up,
    /// Look at it and let the guard judge.
    Look,
    /// Create keyspace and tables.
    Prepare,
    /// Find the rate.
    Probe,
    /// Run the phases.
    Run,
    /// Store the run.
    Record,
    /// Remove the cluster.
    Remove,
    /// Nothing is left to do.
    End,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Done,
    /// It failed by itself.
    Failed,
    /// The person stopped it.
    Interrupted,
}

/// How far a line is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    place: Place,
    probe: bool,
    past: Vec<(Step, Outcome)>,
}

impl State {
    /// A line that has not begun; `probe` where no rate is given.
    pub fn new(place: Place, probe: bool) -> Self {
        Self {
            place,
            probe,
            past: Vec::new(),
        }
    }

    /// The state after a step.
    pub fn after(&self, step: Step, outcome: Outcome) -> Self {
        let mut next = self.clone();
        next.past.push((step, outcome));
        next
    }

    /// How a step ended, if it was tried.
    pub fn outcome(&self, step: Step) -> Option<Outcome> {
        self.past
            .iter()
            .find(|(s, _)| *s == step)
            .map(|(_, outcome)| *outcome)
    }
}

/// The next step. What was brought up is removed whatever happens; what was measured is recorded, broken or whole.
pub fn next(state: &State) -> Step {
    let tried = |step| state.outcome(step).is_some();
    let done = |step| state.outcome(step) == Some(Outcome::Done);
    let ahead: Vec<Step> = [Step::Up, Step::Look, Step::Prepare, Step::Probe, Step::Run]
        .into_iter()
        .filter(|step| match step {
            Step::Up => state.place == Place::Ephemeral,
            Step::Probe => state.probe,
            _ => true,
        })
        .collect();
    for step in ahead {
        if !tried(step) {
            return step;
        }
        if !done(step) {
            break;
        }
    }
    if tried(Step::Run) && !tried(Step::Record) {
        return Step::Record;
    }
    // A start that failed by itself is kept for a look.
    let stands = tried(Step::Up) && state.outcome(Step::Up) != Some(Outcome::Failed);
    if stands && !tried(Step::Remove) {
        return Step::Remove;
    }
    Step::End
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(place: Place, probe: bool, outcome: impl Fn(Step) -> Outcome) -> Vec<Step> {
        let mut state = State::new(place, probe);
        let mut steps = Vec::new();
        loop {
            let step = next(&state);
            steps.push(step);
            if step == Step::End {
                return steps;
            }
            state = state.after(step, outcome(step));
        }
    }

    #[test]
    fn the_whole_line_in_order() {
        use Step::{End, Look, Prepare, Probe, Record, Remove, Run, Up};
        let all = |_| Outcome::Done;
        assert_eq!(
            walk(Place::Ephemeral, true, all),
            [Up, Look, Prepare, Probe, Run, Record, Remove, End]
        );
        assert_eq!(
            walk(Place::Hosts, false, all),
            [Look, Prepare, Run, Record, End]
        );
    }

    #[test]
    fn whatever_fails_what_was_brought_up_is_removed_and_what_ran_is_recorded() {
        for broken in [
            Step::Look,
            Step::Prepare,
            Step::Probe,
            Step::Run,
            Step::Record,
        ] {
            for how in [Outcome::Failed, Outcome::Interrupted] {
                let steps = walk(Place::Ephemeral, true, |s| {
                    if s == broken { how } else { Outcome::Done }
                });
                assert_eq!(
                    steps[steps.len() - 2..],
                    [Step::Remove, Step::End],
                    "{broken:?}"
                );
                assert_eq!(
                    steps.contains(&Step::Record),
                    broken >= Step::Run,
                    "{broken:?}"
                );
            }
        }
        // A start that failed is kept for a look; after one that was interrupted there may be a cluster.
        assert_eq!(
            walk(Place::Ephemeral, true, |_| Outcome::Failed),
            [Step::Up, Step::End]
        );
        let interrupted = walk(Place::Ephemeral, true, |_| Outcome::Interrupted);
        assert_eq!(interrupted, [Step::Up, Step::Remove, Step::End]);
    }
}
