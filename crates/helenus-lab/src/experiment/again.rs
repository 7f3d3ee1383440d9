//! More of an experiment: blocks that the first ones ask for, and the winner once more.
//! Refuses to look at an interval to decide whether to go on: the first blocks alone fix how many there are.

use super::{ExperimentError, ExperimentEvent, Sitting};
use helenus_model::comparison::{Claim, LEAST_PAIRS, start_alike};
use helenus_model::experiment::{
    Analysis, Experiment, Fact, NotLonger, Planned, RunState, Stage, analyse, lengthened, more,
};
use helenus_model::sample::StartMeans;
use helenus_model::search;
use helenus_model::seed::Seed;
use helenus_record::{ExperimentId, History, HistoryError, PlannedRun};

/// What is known of the runs that have ended.
///
/// # Errors
/// The history cannot be read, or times of runs count from different starts.
pub fn facts(history: &History, runs: &[PlannedRun]) -> Result<Vec<Fact>, ExperimentError> {
    let mut facts = Vec::new();
    let mut starts = Vec::new();
    for run in runs {
        let Some(id) = run.run else { continue };
        let stored = history.run(id)?;
        let limits_failed = stored.limits_failed();
        let life = stored.summary.place.restart;
        let search = stored.plan()?.search;
        if let Some(result) = stored.result {
            let name = id.to_string();
            starts.push((name.clone(), result.start_means));
            let mut fact = Fact::of(&name, run.planned, life, &result, limits_failed);
            if let Some(search) = &search {
                let highest = search::found(search, &result).map(|found| found.rate_per_s);
                fact = fact.of_search(highest, result.verdict);
            }
            fact.covariates.runs_before = runs_before(&facts, runs, &fact);
            facts.push(fact);
        }
    }
    let each = starts.iter();
    start_alike(each.map(|(run, means)| (run.as_str(), *means)))?;
    Ok(facts)
}

/// Refuses to go on with an experiment whose last run counts its times from another start than this build: its report would
/// be refused.
///
/// # Errors
/// As [`facts`].
pub(super) fn may_go_on(history: &History, runs: &[PlannedRun]) -> Result<(), ExperimentError> {
    let Some(last) = runs.iter().rev().find_map(|run| run.run) else {
        return Ok(());
    };
    let ended = history.run(last)?.result;
    let ended = ended.map(|result| (last.to_string(), result.start_means));
    let each = ended.iter().map(|(run, means)| (run.as_str(), *means));
    Ok(start_alike(
        each.chain([("this build", StartMeans::Socket)]),
    )?)
}

/// Runs of the same life of the nodes before this one; none where runs of its restart were removed from the history, which
/// may have been of that life.
fn runs_before(earlier: &[Fact], runs: &[PlannedRun], of: &Fact) -> Option<usize> {
    let removed = |run: &PlannedRun| run.state == RunState::Done && run.run.is_none();
    let before = |run: &&PlannedRun| {
        run.planned.restart == of.planned.restart && run.planned.place < of.planned.place
    };
    let all_there = !runs.iter().filter(before).any(removed);
    all_there.then(|| earlier.iter().filter(|fact| fact.life == of.life).count())
}

/// The runs that an experiment of this seed lacks to so many blocks; they are planned unless it is a dry run.
///
/// # Errors
/// The history cannot be read or written; inside, why there shall be no more blocks.
pub fn lengthen(
    history: &mut History,
    of: &Experiment,
    (id, seed): (ExperimentId, Seed),
    blocks: usize,
    dry_run: bool,
) -> Result<Result<Vec<Planned>, NotLonger>, HistoryError> {
    let runs = history.planned_runs(id)?;
    let plan: Vec<Planned> = runs.iter().map(|run| run.planned).collect();
    let longer = match lengthened(&plan, seed, &of.wholes(&of.combinations()), blocks) {
        Ok(longer) => longer,
        Err(why) => return Ok(Err(why)),
    };
    let missing = longer[plan.len()..].to_vec();
    if !missing.is_empty() && !dry_run {
        history.plan_more(id, &missing, None)?;
    }
    Ok(Ok(missing))
}

impl Sitting<'_> {
    /// Plans what the runs so far ask for; false where that is nothing.
    pub(super) fn plan_more(&mut self) -> Result<bool, ExperimentError> {
        let of = &self.request.experiment;
        if let Some(pairs) = &of.pairs {
            return self.more_pairs(pairs);
        }
        let stored = self.history.experiment(&self.id.to_string())?;
        let small = stored.as_ref().and_then(|stored| {
            let sizes = (stored.dataset_bytes, stored.memory_bytes);
            of.too_small(sizes.0, sizes.1)
        });
        let first_stage = stored.and_then(|stored| stored.first_stage);
        let facts = facts(&self.history, &self.runs)?;
        let Some(found) = analyse(of, &facts, first_stage, small) else {
            return Ok(false);
        };
        let staged = (first_stage.is_none() && of.until.is_some()).then(|| self.first_blocks());
        let planned = match staged {
            Some(first) => self.blocks(&found, first),
            None => self.winner(&found),
        };
        let more = planned
            .as_ref()
            .map_or(&[][..], |all| &all[self.runs.len()..]);
        if staged.is_some() || !more.is_empty() {
            self.history.plan_more(self.id, more, staged)?;
        }
        if planned.is_none() {
            return Ok(false);
        }
        self.runs = self.history.planned_runs(self.id)?;
        self.mark_unfit()?;
        Ok(true)
    }

    fn plan(&self) -> Vec<Planned> {
        self.runs.iter().map(|run| run.planned).collect()
    }

    /// Blocks that were planned at the beginning, where none were added since.
    fn first_blocks(&self) -> usize {
        let blocks = self.runs.iter().map(|run| run.planned.block + 1);
        blocks.max().unwrap_or(0)
    }

    /// After the first stage: as many blocks as an interval of the wanted width needs.
    fn blocks(&mut self, found: &Analysis, first: usize) -> Option<Vec<Planned>> {
        let of = &self.request.experiment;
        let (needed, governed_by) = found.blocks_needed(of.until.unwrap_or(1.0));
        let blocks = needed.clamp(first, of.max_repeats.max(first));
        if blocks == first {
            return self.winner(found);
        }
        (self.events)(ExperimentEvent::More {
            blocks,
            governed_by: &governed_by,
        });
        let mut plan = self.plan();
        let wholes = of.wholes(&of.combinations());
        more(
            &mut plan,
            self.request.seed,
            &wholes,
            blocks - first,
            Stage::Main,
        );
        Some(plan)
    }

    /// A winner that was found is measured again, once.
    fn winner(&mut self, found: &Analysis) -> Option<Vec<Planned>> {
        let of = &self.request.experiment;
        let answer = found.answer.as_ref()?;
        let differs = matches!(answer.claim, Claim::Higher | Claim::Lower);
        let again = |run: &PlannedRun| run.planned.stage == Stage::Again;
        if !of.announce || !differs || self.runs.iter().any(again) {
            return None;
        }
        (self.events)(ExperimentEvent::Again {
            winner: &answer.winner_label,
        });
        let wholes = of.wholes_of(&[&answer.reference, &answer.winner]);
        let mut plan = self.plan();
        more(
            &mut plan,
            self.request.seed,
            &wholes,
            // One may be lost, and the rest still make a claim.
            LEAST_PAIRS + 1,
            Stage::Again,
        );
        Some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::doubt::Verdict;
    use helenus_model::format::Format;
    use helenus_model::result::{self, RunResult};
    use helenus_model::run_plan::{Pacing, Phase, RunPlan};
    use helenus_model::workload::Workload;
    use helenus_record::{Ending, RunBeginning, RunId};

    /// A run in a history whose times count from this start.
    fn run(history: &mut History, start_means: StartMeans) -> RunId {
        let plan = RunPlan::new(
            vec![([127, 0, 0, 1], 9042).into()],
            Workload::Standard1,
            vec![Phase::steady("write", 100.0, 4, 1000)],
            Seed(1),
        );
        let beginning = RunBeginning {
            plan: &plan,
            release: None,
            preset: None,
            jvm: None,
            host: &serde_json::json!({}),
            cluster_plan: None,
            life: None,
            helenus_version: "0.1.0",
            command: "helenus experiment run",
            began_wall_ns: 1,
            tag: None,
            place: None,
        };
        let id = history.begin_run(&beginning).expect("begins");
        let result = RunResult {
            format: Format::new("run", result::VERSION),
            plan_hash: plan.hash(),
            workload: plan.workload.name().to_owned(),
            seed: plan.seed,
            start_means,
            pacing: Pacing::Sleep,
            began_wall_ns: 1,
            generator: None,
            unchecked: vec![],
            phases: vec![],
            verdict: Verdict::Valid,
        };
        let ended = history.finish_run(id, &result, Ending::Complete);
        ended.expect("ends");
        id
    }

    fn planned(run: RunId, place: usize) -> PlannedRun {
        PlannedRun {
            planned: Planned {
                place,
                block: place,
                restart: place,
                combination: 0,
                stage: Stage::Main,
            },
            state: RunState::Done,
            attempts: 1,
            run: Some(run),
            began_wall_ns: None,
            ended_wall_ns: None,
            why: None,
        }
    }

    #[test]
    fn an_experiment_mixes_no_starts() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut history = History::open(&folder.path().join("history.db")).expect("a history");
        let [old, new] =
            [StartMeans::DriverCall, StartMeans::Socket].map(|start| run(&mut history, start));
        let alike = [planned(new, 0)];
        assert_eq!(facts(&history, &alike).expect("one start").len(), 1);
        may_go_on(&history, &alike).expect("this build's start");
        let mixed = facts(&history, &[planned(old, 0), planned(new, 1)]).expect_err("refused");
        assert_eq!(
            mixed.to_string(),
            "r1 and r2 measure times from different starts: driver-call and socket"
        );
        let resumed = may_go_on(&history, &[planned(old, 0)]).expect_err("refused");
        assert_eq!(
            resumed.to_string(),
            "r1 and this build measure times from different starts: driver-call and socket"
        );
    }
}
