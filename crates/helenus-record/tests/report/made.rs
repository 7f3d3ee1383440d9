//! An experiment whose numbers are made, with effects that are known.
//! Refuses to run one.

use helenus_model::comparison::Measure;
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{
    Analysis, Covariates, Experiment, Fact, Progress, RunState, Values, analyse, read,
};
use helenus_model::seed::Seed;
use helenus_record::report::ExperimentReport;
use helenus_record::{ExperimentId, PlannedRun, StoredExperiment};
use std::collections::BTreeMap;

const TEXT: &str = r#"
name = "heap"
repeats = 25
bars = ["p99 < 12ms at 1000/s"]
[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", { label = "128M", heap = "128M", promises = "up to 15%" }, "</script><img src=x onerror=alert(1)>|`"]
[[factor]]
key = "rate"
kind = "phase"
levels = [500, 1000]
"#;

/// An experiment of 200 runs.
pub(crate) struct Made {
    stored: StoredExperiment,
    pub(crate) experiment: Experiment,
    pub(crate) runs: Vec<PlannedRun>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) analysis: Analysis,
    measured_on: Vec<String>,
}

impl Made {
    pub(crate) fn report(&self) -> ExperimentReport<'_> {
        let states: Vec<_> = self.runs.iter().map(|r| (r.planned, r.state)).collect();
        ExperimentReport {
            stored: &self.stored,
            experiment: &self.experiment,
            own_bars: None,
            progress: Progress::of(&states),
            runs: &self.runs,
            facts: &self.facts,
            analysis: Some(&self.analysis),
            measured_on: &self.measured_on,
        }
    }
}

/// 10 ms at the least heap, half of it with twice the heap; the last level dies.
pub(crate) fn made() -> Made {
    let experiment = read(TEXT).expect("a file");
    let all = experiment.combinations();
    let plan = experiment.order(Seed(3));
    let mut runs = Vec::new();
    let mut facts = Vec::new();
    for planned in plan {
        let levels = &all[planned.combination];
        let dies = levels[0] == 2;
        runs.push(PlannedRun {
            planned,
            state: if dies { RunState::Died } else { RunState::Done },
            attempts: 1,
            run: None,
            began_wall_ns: Some(1),
            ended_wall_ns: Some(2),
            why: dies.then(|| "node1 died\nOutOfMemoryError".to_owned()),
        });
        if dies {
            continue;
        }
        // A little that differs from block to block, so that intervals have a width.
        let wave = 1.0 + 0.01 * ((planned.place * 37 % 11) as f64 - 5.0);
        let p99 = wave * if levels[0] == 1 { 5_000.0 } else { 10_000.0 };
        let measures = BTreeMap::from([
            (Measure::ResponseMean, p99 / 3.0),
            (Measure::ResponseP50, p99 / 4.0),
            (Measure::ResponseP99, p99),
        ]);
        facts.push(Fact {
            run: format!("r{}", planned.place + 1),
            planned,
            life: planned.restart as u32,
            verdict: Verdict::Valid,
            behind: false,
            censored: vec![],
            generator_was_limit: false,
            phases: vec!["main".into()],
            values: Values::from([("main".into(), measures)]),
            generator_processors: None,
            read_bytes_per_operation: None,
            written_bytes_per_operation: None,
            limits_failed: None,
            doubts: vec![],
            covariates: Covariates::default(),
        });
    }
    let mut analysis = analyse(&experiment, &facts, None, None).expect("numbers");
    let fates: Vec<_> = runs.iter().map(PlannedRun::fate).collect();
    analysis.settle_tips(&experiment, &facts, &fates);
    let stored = StoredExperiment {
        id: ExperimentId::named("e3").expect("a name"),
        name: "heap".into(),
        text: TEXT.into(),
        folder: "/home/me".into(),
        command: "helenus experiment run heap.toml".into(),
        seed: Seed(3),
        began_wall_ns: 1_795_250_000_000_000_000,
        sittings: 1,
        running: false,
        first_stage: None,
        dataset_bytes: None,
        memory_bytes: None,
    };
    Made {
        stored,
        experiment,
        runs,
        facts,
        analysis,
        measured_on: vec!["measured on a processor, 2 processors".to_owned()],
    }
}
