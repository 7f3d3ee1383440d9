//! The report of an experiment: the answer first, all runs, hostile names, and files that others can read.
//! Refuses what stands in no run.

use crate::made::made;
use helenus_model::comparison::Claim;
use helenus_model::doubt::Verdict;
use helenus_model::experiment::{Answer, Planned, RunState, analyse};
use helenus_record::PlannedRun;
use helenus_record::report::{
    ExperimentReport, experiment_answer, experiment_conclusion, experiment_csv, experiment_html,
    experiment_markdown, experiment_sheets, is_report,
};

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
    let line_of = |begin: &str| {
        let line = answer.iter().find(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("no {begin} in {answer:#?}"))
    };
    let bar = line_of(
        "threshold p99 < 12ms at 1000/s: the smallest settings that hold it: heap=64M rate=1000 (",
    );
    assert!(
        bar.contains("; with room to spare: heap=128M rate=1000 ("),
        "{bar}"
    );
    assert!(
        bar.contains("; 2 of 3 hold it; without numbers: heap=<"),
        "{bar}"
    );
    // Two rates of the level that dies, in each of 25 blocks.
    let dies = line_of("died: heap=<");
    assert!(dies.contains("(25 of 25 runs)"), "{dies}");
    let titles: Vec<&str> = experiment_sheets(&report).iter().map(|s| s.title).collect();
    let wanted = [
        "Tips",
        "Effects",
        "Interactions",
        "Thresholds",
        "Settings",
        "Runs",
        "What did not run",
    ];
    assert_eq!(titles, wanted);
    let tips = &experiment_sheets(&report)[0];
    assert_eq!(tips.rows.len(), 1);
    assert_eq!(tips.rows[0][..2], ["heap=128M", "up to 15%"]);
    assert_eq!(tips.rows[0][4], "confirmed", "{:?}", tips.rows);
    let settings = experiment_sheets(&report).remove(4);
    let interval = settings
        .heads
        .iter()
        .position(|head| head == "95 % interval");
    let interval = interval.expect("an interval");
    for row in &settings.rows {
        let dies = row[0].contains("<img");
        assert_eq!(row[interval].contains(" ms to "), !dies, "{row:?}");
    }
    assert!(experiment_html(&report).contains("<path class=\"bar\" d=\"M0 "));
    let counted = "claimed effects: 1 confirmed";
    assert!(answer.iter().any(|line| line == counted), "{answer:#?}");
    for sheet in experiment_sheets(&report) {
        let even = sheet.rows.iter().all(|row| row.len() == sheet.heads.len());
        assert!(even, "{}", sheet.title);
    }
    let csv = experiment_csv(&report);
    let columns = csv.lines().next().expect("heads").split(',').count();
    assert_eq!(columns, 7 + 2 + 6 + 4);
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
fn what_fell_behind_is_named_and_not_compared() {
    let mut made = made();
    let all = made.experiment.combinations();
    let own = made.facts.iter_mut().filter(|fact| {
        let planned = fact.planned;
        all[planned.combination] == [1, 1] && planned.block < 6
    });
    own.for_each(|fact| (fact.verdict, fact.behind) = (Verdict::Invalid, true));
    made.analysis = analyse(&made.experiment, &made.facts, None, None).expect("numbers");
    let answer = experiment_answer(&made.report());
    let why = "fell behind the schedule: heap=128M rate=1000 (6 of 25 blocks); settings that differ in this by more than a tenth of the blocks are not compared";
    assert!(answer.iter().any(|line| line == why), "{answer:#?}");
    let none = "nothing looked better than heap=64M, by response p99 of main (25 blocks); no other settings can be compared";
    assert_eq!(answer[0], none);
    assert_eq!(experiment_conclusion(&made.report()).badge, "no claim");
}

#[test]
fn a_promise_of_what_died_is_reported_with_its_reason() {
    let mut made = made();
    let all = made.experiment.combinations();
    let is_promised = |planned: &Planned| all[planned.combination][0] == 1;
    made.facts.retain(|fact| !is_promised(&fact.planned));
    for run in made.runs.iter_mut().filter(|r| is_promised(&r.planned)) {
        run.state = RunState::Died;
        run.why = Some("node1 died\nOutOfMemoryError".to_owned());
    }
    made.analysis = analyse(&made.experiment, &made.facts, None, None).expect("numbers");
    let fates: Vec<_> = made.runs.iter().map(PlannedRun::fate).collect();
    made.analysis
        .settle_tips(&made.experiment, &made.facts, &fates);
    let report = made.report();
    let tips = &experiment_sheets(&report)[0];
    assert_eq!(tips.rows[0][4..], ["not testable here", "died: node1 died"]);
    let counted = "claimed effects: 1 not testable here";
    assert!(
        experiment_answer(&report)
            .iter()
            .any(|line| line == counted)
    );
}

#[test]
fn what_the_disk_did_not_answer_is_not_testable_in_every_form() {
    let mut made = made();
    made.experiment.needs_disk = true;
    for fact in &mut made.facts {
        fact.read_bytes_per_operation = Some(12.5);
        fact.generator_processors = Some(0.5);
        fact.covariates.runs_before = Some(3);
        fact.covariates.steal_share.insert("main".into(), 0.25);
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
    assert_eq!(reads.clone().count(), made.facts.len());
    // Beside it: when is not known, its place in its life and the steal are, the rest is not.
    assert!(reads.clone().all(|row| row.ends_with(",,3,0.25,")));
    // Nothing is called without a difference, or with one.
    let sheets = experiment_sheets(&report);
    let effects = sheets.iter().find(|sheet| sheet.title == "Effects");
    let effects = effects.expect("a table of effects");
    let claims = effects.rows.iter().filter_map(|row| row.last());
    assert!(claims.clone().count() > 0 && claims.clone().all(|claim| claim == "not testable here"));
}

#[test]
fn a_hostile_level_stays_a_name() {
    let made = made();
    let page = experiment_html(&made.report());
    assert!(
        is_report(&page) && page.len() < 400_000,
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

#[test]
fn a_heading_is_short_and_nothing_of_the_answer_is_lost() {
    let mut made = made();
    // No best settings: then the bars are the answer, and name settings.
    made.analysis.answer = None;
    let report = ExperimentReport {
        own_bars: Some(&[]),
        ..made.report()
    };
    let answer = experiment_answer(&report);
    let [head, rest, ..] = answer.as_slice() else {
        panic!("{answer:?}");
    };
    assert!(head.chars().count() + rest.chars().count() > 160, "{head}");
    let since = "these thresholds were set after the runs; the file has none";
    assert!(answer.iter().any(|line| line == since), "{answer:?}");
    // Behind it stands a level with a hostile name, which each form writes in its own way.
    let (rest, _) = rest.split_once("; without numbers").expect("such a level");
    let as_text = |form: String| form.replace("&lt;", "<").replace('\u{a0}', " ");
    let page = as_text(experiment_html(&report));
    let parts = [format!("<h1>{head}</h1>"), format!("<li>{rest}; ")];
    assert!(parts.iter().all(|part| page.contains(part)), "{parts:?}");
    let markdown = as_text(experiment_markdown(&report));
    let parts = [format!("### {head}\n"), format!("* {rest}; ")];
    assert!(
        parts.iter().all(|part| markdown.contains(part)),
        "{parts:?}"
    );
}

/// Headline and badge of a report, in all its forms; returns them.
fn said(report: &ExperimentReport<'_>) -> (String, &'static str) {
    let said = experiment_conclusion(report);
    let plain = |form: String| form.replace("&lt;", "<").replace('\u{a0}', " ");
    let page = plain(experiment_html(report));
    let markdown = plain(experiment_markdown(report));
    let headline = plain(said.headline.clone());
    assert_eq!(plain(experiment_answer(report).remove(0)), headline);
    assert!(page.contains(&format!("{headline}</h1>")), "{headline}");
    assert!(page.contains(&format!("\">{}</span>", said.badge)));
    let head = format!("### {headline}\n\n**{}** · experiment ", said.badge);
    assert!(markdown.contains(&head), "{head}");
    (headline, said.badge)
}

#[test]
fn headline_and_badge_make_one_claim_in_every_form() {
    let made = made();
    let of = |change: &dyn Fn(&mut Answer)| {
        let mut analysis = made.analysis.clone();
        analysis.answer.iter_mut().for_each(change);
        let report = ExperimentReport {
            analysis: Some(&analysis),
            ..made.report()
        };
        said(&report)
    };
    let (best, badge) = of(&|_| ());
    assert!(best.starts_with("heap=128M is best: "), "{best}");
    assert_eq!(badge, "significant difference");
    let (open, badge) = of(&|answer| answer.claim = Claim::NoDifference);
    assert!(
        open.starts_with("no settings are significantly better than heap=64M"),
        "{open}"
    );
    assert_eq!(badge, "no significant difference");
    let (few, badge) = of(&|answer| answer.claim = Claim::None);
    assert!(few.starts_with("no claim below 6 blocks; "), "{few}");
    assert_eq!(badge, "no claim");
    let (first, badge) = of(&|answer| {
        answer.winner = answer.reference.clone();
        (answer.claim, answer.estimate) = (Claim::None, None);
    });
    assert!(
        first.starts_with("nothing looked better than heap=64M"),
        "{first}"
    );
    assert_eq!(badge, "nothing better");
    let mut report = made.report();
    report.progress.left = 3;
    let (left, badge) = said(&report);
    assert!(left.starts_with("not complete yet (3 of "), "{left}");
    assert_eq!(badge, "not complete yet");
    report.progress.left = 0;
    report.analysis = None;
    let nothing = ("no answer: no run counts yet".to_owned(), "no claim");
    assert_eq!(said(&report), nothing);
}
