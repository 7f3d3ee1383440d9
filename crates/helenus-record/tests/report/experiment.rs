//! The report of an experiment: the answer first, all runs, hostile names, and files that others can read.
//! Refuses to run one: its numbers are made here, with effects that are known.

use helenus_model::comparison::Measure;
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{
    Analysis, Experiment, Fact, Progress, RunState, Values, analyse, order, read,
};
use helenus_model::seed::Seed;
use helenus_record::report::{
    ExperimentReport, experiment_answer, experiment_csv, experiment_html, experiment_markdown,
    experiment_sheets, is_report,
};
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
    experiment: Experiment,
    runs: Vec<PlannedRun>,
    facts: Vec<Fact>,
    analysis: Analysis,
    measured_on: Vec<String>,
}

impl Made {
    pub(crate) fn report(&self) -> ExperimentReport<'_> {
        let states: Vec<_> = self.runs.iter().map(|r| (r.planned, r.state)).collect();
        ExperimentReport {
            stored: &self.stored,
            experiment: &self.experiment,
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
    let plan = order(Seed(3), &experiment.wholes(&all), experiment.repeats);
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
            verdict: Verdict::Valid,
            behind: false,
            generator_was_limit: false,
            phases: vec!["main".into()],
            values: Values::from([("main".into(), measures)]),
            generator_processors: None,
            read_bytes_per_operation: None,
            written_bytes_per_operation: None,
            doubts: vec![],
        });
    }
    let analysis = analyse(&experiment, &facts, None, None).expect("numbers");
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

#[test]
fn the_answer_comes_first_and_everything_behind_it() {
    let made = made();
    let report = made.report();
    let answer = experiment_answer(&report);
    assert!(
        answer[0].starts_with(
            "heap=128M is best: response p99 of main is 50 % lower than with heap=64M ("
        ),
        "{answer:#?}"
    );
    let told = |begin: &str| {
        let line = answer.iter().find(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("no {begin} in {answer:#?}"))
    };
    let bar =
        told("bar p99 < 12ms at 1000/s: the least settings that hold it: heap=64M rate=1000 (");
    assert!(
        bar.contains("; with room to spare: heap=128M rate=1000 ("),
        "{bar}"
    );
    assert!(
        bar.contains("; 2 of 3 hold it; without numbers: heap=<"),
        "{bar}"
    );
    // Two rates of the level that dies, in each of 25 blocks.
    let dies = told("dies: heap=<");
    assert!(dies.contains("(25 of 25 runs)"), "{dies}");
    let titles: Vec<&str> = experiment_sheets(&report).iter().map(|s| s.title).collect();
    let wanted = [
        "Tips",
        "Effects",
        "Interactions",
        "Bars",
        "Settings",
        "Runs",
        "What did not run",
    ];
    assert_eq!(titles, wanted);
    let tips = &experiment_sheets(&report)[0];
    assert_eq!(tips.rows.len(), 1);
    assert_eq!(tips.rows[0][..2], ["heap=128M", "up to 15%"]);
    assert_eq!(tips.rows[0][4], "confirmed", "{:?}", tips.rows);
    let counted = "promised gains: 1 confirmed";
    assert!(answer.iter().any(|line| line == counted), "{answer:#?}");
    for sheet in experiment_sheets(&report) {
        let even = sheet.rows.iter().all(|row| row.len() == sheet.heads.len());
        assert!(even, "{}", sheet.title);
    }
    let csv = experiment_csv(&report);
    let columns = csv.lines().next().expect("heads").split(',').count();
    assert_eq!(columns, 7 + 2 + 6);
    let without = made.runs.len() - made.facts.len();
    assert_eq!(csv.matches(",died,").count(), without);
    assert!(
        csv.lines()
            .nth(1)
            .is_some_and(|row| row.starts_with("1,1,1,"))
    );
    assert!(experiment_markdown(&report).contains("* measured on a processor, 2 processors\n"));
}

#[test]
fn what_the_disk_did_not_answer_is_not_testable_in_every_form() {
    let mut made = made();
    made.experiment.needs_disk = true;
    for fact in &mut made.facts {
        fact.read_bytes_per_operation = Some(12.5);
        fact.generator_processors = Some(0.5);
    }
    let small = made.experiment.too_small(Some(1 << 30), Some(4 << 30));
    made.analysis = analyse(&made.experiment, &made.facts, None, small).expect("numbers");
    let report = made.report();
    let why = "it is about the disk, and the dataset of 1 GiB is less than twice the 4 GiB that the nodes may use";
    let first = format!("not testable here: {why}");
    assert_eq!(experiment_answer(&report)[0], first);
    assert!(experiment_markdown(&report).contains(&format!("### {first}\n")));
    let page = experiment_html(&report);
    assert!(page.contains(&format!("<h1>{first}")) && page.contains("not testable here</"));
    let csv = experiment_csv(&report);
    let rows = csv.lines().skip(1).filter(|row| !row.contains(",died,"));
    let said = format!(",\"{why}\",");
    let measured = rows.clone().filter(|row| row.contains(",main,response"));
    assert!(measured.clone().count() > 0 && measured.clone().all(|row| row.contains(&said)));
    let reads = rows.filter(|row| row.contains(",disk reads per operation,B,12.5,"));
    assert_eq!(reads.count(), made.facts.len());
    // Nothing is called without a difference, or with one.
    let sheets = experiment_sheets(&report);
    let effects = sheets.iter().find(|sheet| sheet.title == "Effects");
    let effects = effects.expect("a table of effects");
    let told = effects.rows.iter().filter_map(|row| row.last());
    assert!(told.clone().count() > 0 && told.clone().all(|claim| claim == "not testable here"));
}

#[test]
fn a_hostile_level_stays_a_name() {
    let made = made();
    let page = experiment_html(&made.report());
    assert!(
        is_report(&page) && page.len() < 15_000_000,
        "{} bytes",
        page.len()
    );
    assert!(!page.contains("<img"));
    let parts = [
        "<h1>heap=128M is best",
        "chart-effects",
        "chart-heat",
        "chart-curve-1",
        "sortable",
        "What did not run",
        "helenus experiment run heap.toml --seed 3",
    ];
    for part in parts {
        assert!(page.contains(part), "no {part}");
    }
    let markdown = experiment_markdown(&made.report());
    // In a block of letters it is text; elsewhere it would be a picture.
    let mut outside = markdown.split("```").step_by(2);
    assert!(outside.all(|part| !part.contains("<img")) && markdown.contains("#### Runs"));
    // A line of the plot: the effect's interval lies left of *no difference*, half as long a time.
    let line = markdown
        .lines()
        .find(|line| line.starts_with("heap=128M ") && line.contains('●'));
    let line = line.expect("a plot of effects");
    let at = |c: char| line.chars().position(|one| one == c).expect("a sign");
    assert!(
        at('●') < at('│') && line.ends_with("50\u{a0}% lower") || line.ends_with("50 % lower"),
        "{line}"
    );
    assert!(
        markdown.contains("response p99 by rate\n 500  █"),
        "{markdown}"
    );
}
