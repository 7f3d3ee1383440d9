//! The tests of the JUnit extension and its sample, run by Maven against the binary that was just built.
//! Refuses to hide what they miss: it is a failure. Those tagged `more` are for who changes the extension.

use crate::home::{self, Home};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/java")
}

fn maven(home: &Path, words: &[&str]) -> Output {
    Command::new("mvn")
        .args(["-B", "-q"])
        .args(words)
        .current_dir(project())
        .env("HELENUS_BINARY", env!("CARGO_BIN_EXE_helenus"))
        .env("HELENUS_HOME", home)
        .env("HELENUS_CACHE", home::cache())
        .env("HELENUS_NOT_RUN", "fail")
        .env("HELENUS_KILLS", "2")
        .env_remove("HELENUS_CLUSTER")
        .output()
        .expect("Maven runs")
}

/// What this machine lacks for them, with its cure.
pub(crate) fn lacking() -> Option<String> {
    let there = |program: &str, word: &str| {
        let output = Command::new(program).arg(word).output();
        output.is_ok_and(|o| o.status.success())
    };
    (!there("mvn", "--version") || !there("javac", "-version"))
        .then(|| "the JUnit extension (apt install maven openjdk-17-jdk-headless)".to_owned())
}

/// Whether what Maven wants is here, or can be had: one small test, first without a network.
pub(crate) fn lacking_artefacts() -> Option<String> {
    let home = Home::new();
    let small = [
        "test",
        "-Dtest=WishTest",
        "-Dsurefire.failIfNoSpecifiedTests=false",
    ];
    let offline: Vec<&str> = std::iter::once("-o").chain(small).collect();
    let had = |words: &[&str]| maven(home.path(), words).status.success();
    (!had(&offline) && !had(&small))
        .then(|| "the JUnit extension (mvn test in clients/java, with a network)".to_owned())
}

pub(crate) fn the_junit_extension_passes_its_own_tests() {
    let home = Home::new();
    let reports = project().join("sample/target/surefire-reports");
    drop(fs_err::remove_dir_all(&reports));
    let output = maven(home.path(), &["-o", "test", "-DexcludedGroups=more"]);
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // Each of the sample's tests says which cluster it used, and in which process.
    let mut clusters = BTreeSet::new();
    let mut processes = BTreeSet::new();
    for entry in fs_err::read_dir(&reports).expect("the sample's reports") {
        let path = entry.expect("a report").path();
        if path.to_string_lossy().ends_with("-output.txt") {
            for line in fs_err::read_to_string(&path).expect("a text").lines() {
                if let Some((cluster, process)) = line
                    .strip_prefix("cluster ")
                    .and_then(|l| l.split_once(" by process "))
                {
                    clusters.insert(cluster.to_owned());
                    processes.insert(process.to_owned());
                }
            }
        }
    }
    assert_eq!(
        clusters.len(),
        1,
        "one cluster for the sample: {clusters:?}"
    );
    assert_eq!(processes.len(), 2, "two forks: {processes:?}");
    // Maven has ended: its clusters end with it.
    let begin = std::time::Instant::now();
    let state = home.path().join("state/clusters");
    let left = || {
        fs_err::read_dir(&state)
            .map(|entries| entries.count())
            .unwrap_or(0)
    };
    while left() > 0 {
        assert!(begin.elapsed().as_secs() < 30, "a cluster is left");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
