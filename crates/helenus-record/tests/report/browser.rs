//! Reports in a headless browser: no error, no request, every chart drawn, zoom, themes, widths, print.
//! Refuses to pass in silence: without Playwright or Chromium it prints NOT RUN with its cure, and fails where
//! HELENUS_NOT_RUN=fail says so. `HELENUS_SHOTS=FOLDER` keeps the pages and their pictures there.

use crate::values::{comparison, run};
use helenus_record::report::{
    ComparisonReport, comparison_html, experiment_html, levels_html, run_html,
};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/browser.py");

/// What the script ends with where the browser is missing.
const LACKING: i32 = 77;

const CURE: &str = "install with: pip install playwright, and apt install chromium or playwright install --with-deps chromium";

fn not_run(why: &str) {
    let line = format!("NOT RUN: the reports in a browser: {why} ({CURE})");
    assert!(
        std::env::var("HELENUS_NOT_RUN").as_deref() != Ok("fail"),
        "{line}"
    );
    // Past the harness, which keeps the words of tests that pass to itself.
    let _nobody_listens = writeln!(std::io::stderr(), "{line}");
}

/// A folder for pages: the one that was asked for, or one that goes with the test.
fn folder() -> (PathBuf, Option<tempfile::TempDir>) {
    if let Some(shots) = std::env::var_os("HELENUS_SHOTS") {
        fs_err::create_dir_all(&shots).expect("a folder");
        return (shots.into(), None);
    }
    let folder = tempfile::tempdir().expect("a folder");
    (folder.path().to_owned(), Some(folder))
}

/// Opens a page in a browser of this test's, and checks what a reader would see.
fn works_without_a_network(name: &str, page: &str) {
    let (folder, _kept) = folder();
    let path = folder.join(name);
    fs_err::write(&path, page).expect("a page");
    let mut command = Command::new("python3");
    command.arg(SCRIPT).arg("check").arg(&path);
    if std::env::var_os("HELENUS_SHOTS").is_some() {
        command.arg("--shots").arg(&folder);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return not_run(&format!("python3: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(LACKING) {
        return not_run(said.trim());
    }
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
}

#[test]
fn a_run_works_in_a_browser() {
    let measured = run(&["write", "read", "mixed"], 40, 1100);
    works_without_a_network("run.html", &run_html(&measured.report()));
}

#[test]
fn a_comparison_works_in_a_browser() {
    let value = comparison();
    let repeat = ["helenus compare r20 r21".to_owned()];
    let compared = ComparisonReport {
        name: "cmp3",
        comparison: &value,
        made_wall_ns: 1_795_250_000_000_000_000,
        repeat: &repeat,
    };
    works_without_a_network("comparison.html", &comparison_html(&compared));
}

#[test]
fn an_experiment_works_in_a_browser() {
    let experiment = crate::made::made();
    works_without_a_network("experiment.html", &experiment_html(&experiment.report()));
}

#[test]
fn levels_work_in_a_browser() {
    works_without_a_network("levels.html", &levels_html(&crate::levels::table()));
}
