//! Blocks of an experiment's report, made again from its CSV and its file by what `helenus experiment report` uses.
//! Refuses statistics of its own.

use super::Call;
use helenus_model::comparison::Measure;
use helenus_model::doubt::{DoubtKind, Verdict};
use helenus_model::experiment::{
    Analysis, Bar, Covariates, Experiment, Fact, Planned, Progress, RunState, Stage, analyse, read,
};
use helenus_model::ingest::delimited::{Cut, Dialect, Fields, cut};
use helenus_model::seed::Seed;
use helenus_record::report::{ExperimentReport, experiment_markdown};
use helenus_record::{ExperimentId, PlannedRun, StoredExperiment};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// What spoils a run today. An older CSV calls one invalid whose generator was late, too; its numbers count since, with the
/// service time as the other end.
const SPOILS: [DoubtKind; 8] = [
    DoubtKind::BehindSchedule,
    DoubtKind::GeneratorSaturated,
    DoubtKind::Errors,
    DoubtKind::NodeDied,
    DoubtKind::ClockStepped,
    DoubtKind::StoppedEarly,
    DoubtKind::FaultNotMade,
    DoubtKind::Disturbed,
];

/// How the doubt of a late generator begins, then and now.
const LATE: &str = "the generator started operations late";

/// A row of the CSV, by its heads.
pub(crate) type Row = BTreeMap<String, String>;

/// `experiment answer`, `experiment plot 1`, `experiment Effects` and every other title of a sheet.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let file = call.file()?;
    let own = experiment(call.root, file)?;
    // A page shows it as well as its escape, and is read as text, too.
    let report = report(&own, &rows(file)?, experiment_markdown)?.replace("&lt;", "<");
    match call.words.as_slice() {
        ["answer"] => Ok(answer(&report)),
        ["plot", number] => {
            let number: usize = number.parse()?;
            let plot = report
                .split("```\n")
                .nth(number * 2 - 1)
                .ok_or("no such plot")?;
            Ok(format!("```\n{plot}```\n"))
        }
        words => sheet(&report, &words.join(" ")),
    }
}

/// The answer as a sentence, and what stands below it.
fn answer(report: &str) -> String {
    let head = report.lines().find_map(|line| line.strip_prefix("### "));
    let mut text = format!("**{}**\n\n", head.unwrap_or_default());
    for line in report.lines().filter(|line| line.starts_with("* ")) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// A table with how to read it.
fn sheet(report: &str, title: &str) -> Result<String, Box<dyn Error>> {
    let head = format!("\n#### {title}\n\n");
    let (_, behind) = report
        .split_once(&head)
        .ok_or_else(|| format!("no sheet {title}"))?;
    let end = behind.find("\n#### ").or_else(|| behind.find("\nRepeat: "));
    Ok(behind[..end.unwrap_or(behind.len())].to_owned())
}

/// The experiment of `NAME-DATE-MACHINE.csv`: the file beside it, where what is shipped has changed since; else
/// `experiments/NAME.toml`.
pub(super) fn experiment(root: &Path, csv: &Path) -> Result<Experiment, Box<dyn Error>> {
    let beside = csv.with_extension("toml");
    if beside.exists() {
        return Ok(read(&fs_err::read_to_string(beside)?)?);
    }
    let stem = csv.file_stem().unwrap_or_default().to_string_lossy();
    let mut parts: Vec<&str> = stem.split('-').collect();
    parts.truncate(parts.len().saturating_sub(4));
    let file = root.join(format!("experiments/{}.toml", parts.join("-")));
    Ok(read(&fs_err::read_to_string(file)?)?)
}

/// The rows of a CSV.
pub(crate) fn rows(file: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut lines = records(&fs_err::read_to_string(file)?)?.into_iter();
    let heads = lines.next().ok_or("an empty table")?;
    Ok(lines
        .map(|cells| heads.iter().cloned().zip(cells).collect())
        .collect())
}

/// The cells of each record.
fn records(text: &str) -> Result<Vec<Vec<String>>, Box<dyn Error>> {
    let (mut rest, mut fields, mut records) = (text.as_bytes(), Fields::default(), Vec::new());
    loop {
        match cut(rest, true, &Dialect::CSV, &mut fields) {
            Cut::Record(length) => rest = &rest[length..],
            Cut::Wrong(_, why) => return Err(why.into()),
            Cut::More | Cut::End => return Ok(records),
        }
        let cells = fields.record(&[]).map_err(|(_, why)| why)?;
        let cells = cells.into_iter().map(|cell| cell.unwrap_or_default());
        records.push(cells.map(Cow::into_owned).collect());
    }
}

/// The whole report, as `made` makes it.
fn report(
    own: &Experiment,
    rows: &[Row],
    made: fn(&ExperimentReport<'_>) -> String,
) -> Result<String, Box<dyn Error>> {
    let (runs, facts) = runs(own, rows)?;
    let analysis: Option<Analysis> = analyse(own, &facts, None, None).map(|mut found| {
        let fates: Vec<_> = runs.iter().map(PlannedRun::fate).collect();
        found.settle_tips(own, &facts, &fates);
        found
    });
    let states: Vec<_> = runs.iter().map(|run| (run.planned, run.state)).collect();
    let stored = StoredExperiment {
        id: ExperimentId::named("e1").ok_or("e1 names no experiment")?,
        name: own.name.clone(),
        text: String::new(),
        folder: String::new(),
        command: String::new(),
        seed: own.seed.unwrap_or(Seed(0)),
        began_wall_ns: 0,
        sittings: 1,
        running: false,
        first_stage: None,
        dataset_bytes: None,
        memory_bytes: None,
    };
    let none: Option<&[Bar]> = None;
    Ok(made(&ExperimentReport {
        stored: &stored,
        experiment: own,
        own_bars: none,
        progress: Progress::of(&states),
        runs: &runs,
        facts: &facts,
        analysis: analysis.as_ref(),
        measured_on: &[],
    }))
}

/// What is known of the runs that ended.
pub(crate) fn facts(own: &Experiment, rows: &[Row]) -> Result<Vec<Fact>, Box<dyn Error>> {
    Ok(runs(own, rows)?.1)
}

/// The planned runs, and what is known of those that ended.
fn runs(own: &Experiment, rows: &[Row]) -> Result<(Vec<PlannedRun>, Vec<Fact>), Box<dyn Error>> {
    let combinations = own.combinations();
    let mut places: BTreeMap<usize, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        places
            .entry(cell(row, "place").parse()?)
            .or_default()
            .push(row);
    }
    let (mut runs, mut facts) = (Vec::new(), Vec::new());
    for rows in places.values() {
        let first = rows[0];
        let is = |levels: &Vec<usize>| {
            let labels = own.labels(levels);
            labels
                .iter()
                .all(|(factor, label)| cell(first, factor) == *label)
        };
        let combination = combinations.iter().position(is);
        let number = |head: &str| -> Result<usize, Box<dyn Error>> {
            Ok(cell(first, head).parse::<usize>()? - 1)
        };
        let planned = Planned {
            place: number("place")?,
            block: number("block")?,
            restart: number("restart")?,
            combination: combination.ok_or("a combination that the file does not have")?,
            stage: {
                let word = cell(first, "stage");
                let found = Stage::ALL.into_iter().find(|stage| stage.word() == word);
                found.ok_or_else(|| format!("no stage {word}"))?
            },
        };
        let verdict = match cell(first, "verdict") {
            "valid" => Some(Verdict::Valid),
            "caution" => Some(Verdict::Caution),
            "invalid" => Some(Verdict::Invalid),
            _ => None,
        };
        let state = match cell(first, "verdict") {
            _ if verdict.is_some() => RunState::Done,
            "died" => RunState::Died,
            "does not fit" => RunState::DoesNotFit,
            "cut off" => RunState::Interrupted,
            "planned" => RunState::Planned,
            other => return Err(format!("no verdict {other}").into()),
        };
        runs.push(PlannedRun {
            planned,
            state,
            attempts: 1,
            run: None,
            began_wall_ns: None,
            ended_wall_ns: None,
            why: verdict.is_none().then(|| cell(first, "doubts").to_owned()),
        });
        facts.extend(verdict.map(|verdict| fact(planned, verdict, rows)));
    }
    Ok((runs, facts))
}

fn fact(planned: Planned, stated: Verdict, rows: &[&Row]) -> Fact {
    let first = rows[0];
    let beside = |what: &str| {
        let row = rows.iter().find(|row| cell(row, "measure") == what);
        row.and_then(|row| cell(row, "value").parse().ok())
    };
    let doubts = cell(first, "doubts").split("; ").filter(|d| !d.is_empty());
    let doubts: Vec<String> = doubts.map(str::to_owned).collect();
    let mut phases: Vec<String> = Vec::new();
    let mut values: BTreeMap<String, BTreeMap<Measure, f64>> = BTreeMap::new();
    for row in rows {
        let phase = cell(row, "phase");
        if !phases.iter().any(|known| known == phase) {
            phases.push(phase.to_owned());
        }
        let measure = Measure::EVERY
            .into_iter()
            .find(|measure| measure.words() == cell(row, "measure"));
        if let (Some(measure), Ok(value)) = (measure, cell(row, "value").parse()) {
            values
                .entry(phase.to_owned())
                .or_default()
                .insert(measure, value);
        }
    }
    let late = doubts.iter().any(|doubt| doubt.starts_with(LATE));
    let has = |kind: DoubtKind| doubts.iter().any(|doubt| doubt == kind.text());
    let verdict = match stated {
        Verdict::Invalid if late && !SPOILS.into_iter().any(has) => Verdict::Caution,
        other => other,
    };
    let scheduled = |phase: &&String| {
        let of = values.get(*phase);
        of.is_some_and(|of| of.contains_key(&Measure::ResponseMean))
    };
    let censored = phases.iter().filter(|_| late).filter(scheduled);
    Fact {
        run: cell(first, "run").to_owned(),
        planned,
        // The CSV does not know where a restart had two lives.
        life: u32::try_from(planned.restart).unwrap_or_default(),
        verdict,
        behind: cell(first, "behind") == "true",
        generator_was_limit: has(DoubtKind::GeneratorSaturated),
        censored: censored.cloned().collect(),
        phases,
        values,
        generator_processors: beside("generator's processors"),
        read_bytes_per_operation: beside("disk reads per operation"),
        written_bytes_per_operation: beside("disk writes per operation"),
        limits_failed: None,
        doubts,
        covariates: covariates(rows),
    }
}

/// What stood beside a run; older tables have no such columns.
fn covariates(rows: &[&Row]) -> Covariates {
    let first = rows[0];
    let number = |row: &Row, head: &str| cell(row, head).parse::<f64>().ok();
    let by_phase = |head: &str| {
        let each = rows.iter();
        let seen = each.filter_map(|row| Some((cell(row, "phase").to_owned(), number(row, head)?)));
        seen.collect()
    };
    Covariates {
        began_s: number(first, "began s"),
        runs_before: cell(first, "runs before").parse().ok(),
        steal_share: by_phase("steal share"),
        run_queue_share: by_phase("run-queue share"),
    }
}

/// A cell of a row; empty where there is none.
pub(super) fn cell<'a>(row: &'a Row, head: &str) -> &'a str {
    row.get(head).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_record::report::experiment_html;

    #[test]
    fn quoted_cells_hold_commas_and_quotes() {
        let text = "a,\"b,\"\"c\"\"\",,d\n1,\"2\n3\",4,5\n";
        let wanted = [["a", "b,\"c\"", "", "d"], ["1", "2\n3", "4", "5"]];
        assert_eq!(records(text).expect("records"), wanted);
    }

    #[test]
    fn a_screening_s_badge_agrees_with_its_headline() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let file = root.join("benches/runs/experiments/xeon-guide-2026-11-25-a354e8.csv");
        let own = experiment(&root, &file).expect("a file beside it");
        let page = report(&own, &rows(&file).expect("rows"), experiment_html).expect("a page");
        assert!(page.contains("better: files=size-tiered, huge-pages=transparent"));
        assert!(page.contains("significant difference</span>"));
        assert!(!page.contains(">no claim</span>"));
    }

    #[test]
    fn what_stood_beside_a_run_is_read_where_the_table_has_it() {
        let row = |cells: &[(&str, &str)]| -> Row {
            let each = cells.iter();
            each.map(|(head, cell)| ((*head).to_owned(), (*cell).to_owned()))
                .collect()
        };
        assert_eq!(
            covariates(&[&row(&[("phase", "main")])]),
            Covariates::default()
        );
        let new = row(&[
            ("phase", "main"),
            ("began s", "1795250000.125"),
            ("runs before", "2"),
            ("steal share", "0.03"),
            ("run-queue share", ""),
            // A column of older tables.
            ("host speed before", "24000"),
        ]);
        let read = covariates(&[&new]);
        assert_eq!(
            (read.began_s, read.runs_before),
            (Some(1_795_250_000.125), Some(2))
        );
        assert_eq!(read.steal_share["main"], 0.03);
        assert!(read.run_queue_share.is_empty());
    }

    #[test]
    fn a_report_is_taken_apart_by_its_titles() {
        let report = "<!-- x -->\n### Head\n\n* one\n\n```\nplot\n```\n\n#### Effects\n\n| a |\n\n#### Thresholds\n\n| b |\n\nRepeat: x\n";
        assert_eq!(answer(report), "**Head**\n\n* one\n");
        assert_eq!(sheet(report, "Effects").unwrap(), "| a |\n");
        assert_eq!(sheet(report, "Thresholds").unwrap(), "| b |\n");
        assert!(sheet(report, "Tips").is_err());
    }
}
