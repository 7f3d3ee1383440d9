//! The action for GitHub: its script in a repository with a base and a change, beside a remote and a tool that comments.
//! Refuses a network: the remote is a folder, and the tool writes down what it was asked.

use crate::lab::{TestLab, turn};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../clients/github/compare.sh"
);

fn recipe(body: f64) -> String {
    format!(
        "phases = 'write'\nrate = 400\nwarmup = '100ms'\nduration = '600ms'\n\
         jvm = ['-Dfake.body={}', '-Dfake.tail=100', '-Dfake.life_sd=0.01']\n",
        100.0 * body
    )
}

/// A lab with a repository whose base and head differ, a remote, and programs on the path.
struct Stage {
    lab: TestLab,
    base: String,
}

impl Stage {
    fn new(before: f64, after: f64) -> Self {
        let mut lab = TestLab::fake("serve");
        let helenus = format!(
            "#!/bin/sh\nexec '{}' \"$@\"\n",
            env!("CARGO_BIN_EXE_helenus")
        );
        lab.program("programs/helenus", &helenus);
        let comment = "#!/bin/sh\nfor word; do echo \"$word\" >> \"$COMMENTS\"; done\ncat \"$5\" >> \"$COMMENTS\"\n";
        lab.program("programs/gh", comment);
        let path = format!(
            "{}:{}",
            lab.path("programs").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        lab.set("PATH", path);
        lab.set("GIT_CONFIG_GLOBAL", "/dev/null");
        lab.set("COMMENTS", lab.path("comments").as_os_str());
        let mut stage = Self {
            lab,
            base: String::new(),
        };
        stage.git(&["init", "--quiet", "--bare", "remote.git"], "");
        stage.git(&["clone", "--quiet", "remote.git", "work"], "");
        stage.lab.write("work/helenus.toml", &recipe(before));
        stage.commit("base");
        stage.base = stage.git(&["rev-parse", "HEAD"], "work");
        stage.lab.write("work/helenus.toml", &recipe(after));
        stage.lab.write("work/README", "what else was changed");
        stage.commit("change");
        stage
    }

    fn git(&self, words: &[&str], folder: &str) -> String {
        let mut git = Command::new("git");
        self.lab.dress(&mut git);
        let output = git
            .args(["-c", "user.name=a", "-c", "user.email=a@localhost"])
            .args(words)
            .current_dir(self.lab.path(folder))
            .output()
            .expect("git");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "."], "work");
        self.git(&["commit", "--quiet", "-m", message], "work");
    }

    fn run(&self, threshold: &str, more: &[(&str, &str)]) -> Output {
        let mut script = Command::new("sh");
        self.lab.dress(&mut script);
        let file = |name: &str| self.lab.path(name).into_os_string();
        script
            .arg(SCRIPT)
            .current_dir(self.lab.path("work"))
            .env("RECIPE", "helenus.toml")
            .env("BASE", &self.base)
            .env("PAIRS", "6")
            .env("FAIL_ON", threshold)
            .env("INCONCLUSIVE", "notice")
            .env("COMMENT", "true")
            .env("PULL_REQUEST", "7")
            .env("RETRY_AFTER_S", "0")
            .env("GITHUB_OUTPUT", file("output"))
            .env("GITHUB_STEP_SUMMARY", file("summary"))
            .envs(more.iter().copied())
            .output()
            .expect("sh")
    }

    fn text(&self, name: &str) -> String {
        fs_err::read_to_string(self.lab.path(name)).unwrap_or_default()
    }
}

fn said(output: &Output) -> String {
    format!(
        "{:?}\n{}\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn a_slower_change_fails_is_commented_and_kept() {
    let _turn = turn();
    let stage = Stage::new(1.0, 1.5);
    let output = stage.run("p50>+5%\n", &[("HISTORY_BRANCH", "runs")]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(stage.text("output"), "exit-code=1\n");
    let summary = stage.text("summary");
    assert!(summary.contains("higher"), "{summary}");
    let comment = stage.text("comments");
    assert!(
        comment.starts_with("pr\ncomment\n7\n--body-file\n"),
        "{comment}"
    );
    assert!(comment.ends_with(&summary), "{comment}");
    let page = stage.text("work/helenus-results/comparison.html");
    assert!(page.contains("<svg"), "a report");
    // The runs are on the branch, and only those: a second job adds its own.
    stage.git(
        &["clone", "--quiet", "--branch", "runs", "remote.git", "kept"],
        "",
    );
    // Of six pairs at least: a busy machine may have spoiled one, and then there is another.
    let kept = runs(&stage.lab.path("kept/runs")).len();
    assert!(kept >= 12 && kept.is_multiple_of(2), "{kept}");
    let again = stage.run(
        "p50>+5%\n",
        &[("HISTORY_BRANCH", "runs"), ("COMMENT", "false")],
    );
    assert_eq!(again.status.code(), Some(1), "{}", said(&again));
    stage.git(&["pull", "--quiet"], "kept");
    let both = runs(&stage.lab.path("kept/runs")).len();
    assert!(both >= kept + 12, "{kept}, then {both}");
    assert_eq!(
        stage.text("comments"),
        comment,
        "nobody asked for a comment"
    );
}

#[test]
fn data_that_decide_nothing_are_a_notice_unless_they_shall_fail() {
    let _turn = turn();
    let stage = Stage::new(1.0, 1.0);
    let bar = [("COMMENT", "false"), ("PAIRS", "2")];
    let output = stage.run("p50>+0.01%\n", &bar);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("::notice::"), "{text}");
    assert_eq!(stage.text("output"), "exit-code=6\n");
    let strict = [("INCONCLUSIVE", "fail"), bar[0], bar[1]];
    assert_eq!(stage.run("p50>+0.01%\n", &strict).status.code(), Some(6));
}

#[test]
fn a_base_without_the_recipe_is_named() {
    let stage = Stage::new(1.0, 1.0);
    let output = stage.run("p50>+5%\n", &[("RECIPE", "other.toml")]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("has no other.toml"), "{text}");
}
