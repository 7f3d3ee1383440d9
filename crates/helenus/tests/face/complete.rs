//! Completions as shells ask for them: through a real bash, and in the words of zsh and fish.

use crate::lab::TestLab;
use std::process::Command;

/// What a shell other than bash offers for these words, the last of which is being typed.
fn completions(lab: &TestLab, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = lab.command(&[&["--", "helenus"], words].concat());
    command
        .env("HELENUS_COMPLETE", shell)
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let output = command.output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    text.lines().map(str::to_owned).collect()
}

/// What a real bash offers for a line that ends where the cursor is.
fn offered(lab: &TestLab, line: &str) -> Vec<String> {
    let script = r#"
        source <("$HELENUS" completions bash)
        helenus() { "$HELENUS" "$@"; }
        export -f helenus
        read -ra COMP_WORDS <<< "$LINE"
        case "$LINE" in *' ') COMP_WORDS+=('');; esac
        COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
        COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=9
        $(complete -p helenus | sed 's/.*-F \([^ ]*\).*/\1/') helenus "${COMP_WORDS[COMP_CWORD]}" helenus
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut command = Command::new("bash");
    lab.dress(&mut command);
    let path = lab.path("bin");
    let link = path.join("helenus");
    if !link.exists() {
        std::os::unix::fs::symlink(crate::lab::HELENUS, &link).expect("a link in the lab");
    }
    let path = std::env::join_paths(
        std::iter::once(path).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    command
        .args(["--norc", "-c", script])
        .env("PATH", path.expect("folders"))
        .env("HELENUS", &link)
        .env("LINE", line);
    let output = command.output().expect("bash");
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_is_offered_verbs_clusters_nodes_and_runs() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "shop"]);
    lab.done(&["up", "stock"]);
    lab.measured(&[
        "bench",
        "--cluster",
        "shop",
        "--phases",
        "write",
        "--rate",
        "100",
        "--warmup",
        "0s",
        "--duration",
        "1s",
        "--tag",
        "before-upgrade",
    ]);
    assert_eq!(offered(&lab, "helenus nodet"), ["nodetool"]);
    assert_eq!(offered(&lab, "helenus status s"), ["shop", "stock"]);
    assert_eq!(offered(&lab, "helenus rm shop st"), ["stock"]);
    assert_eq!(offered(&lab, "helenus cql shop/"), ["shop/node1"]);
    assert_eq!(offered(&lab, "helenus stop sto"), ["stock"]);
    let places = ["shop/datacenter1", "shop/node1"];
    assert_eq!(offered(&lab, "helenus exec shop/"), places);
    assert_eq!(offered(&lab, "helenus bench --cluster sh"), ["shop"]);
    assert_eq!(offered(&lab, "helenus history show r"), ["r1"]);
    assert_eq!(offered(&lab, "helenus report be"), ["before-upgrade"]);
    assert_eq!(
        offered(&lab, "helenus history list --tag b"),
        ["before-upgrade"]
    );
    assert_eq!(offered(&lab, "helenus up --preset ti"), ["tiny"]);
    assert_eq!(offered(&lab, "helenus run io"), ["iot"]);
    assert_eq!(offered(&lab, "helenus workload show io"), ["iot"]);
    assert!(
        offered(&lab, "helenus up --cassandra 4.1")
            .iter()
            .any(|r| r.starts_with("4.1."))
    );
    // A new cluster has a name that nobody has.
    assert!(!offered(&lab, "helenus up s").contains(&"shop".to_owned()));
}

#[test]
fn baselines_and_faults_are_offered_word_by_word() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "shop"]);
    for folder in ["shop/loaded", "shop/small", "old/first"] {
        let path = lab.path("home/state/baselines").join(folder);
        fs_err::create_dir_all(path).expect("a folder");
    }
    let saved = offered(&lab, "helenus baseline restore ");
    assert_eq!(saved[..2], ["old", "shop"], "{saved:?}");
    assert_eq!(offered(&lab, "helenus baseline restore shop l"), ["loaded"]);
    assert_eq!(offered(&lab, "helenus baseline rm old f"), ["first"]);
    assert_eq!(
        completions(&lab, "zsh", &["baseline", "verify", "shop", "s"]),
        ["small:baseline"]
    );
    assert_eq!(
        offered(&lab, "helenus fault shop p"),
        ["pause", "partition"]
    );
    assert_eq!(offered(&lab, "helenus fault shop kill n"), ["node1"]);
    assert_eq!(offered(&lab, "helenus fault shop slow 2"), ["25%"]);
    assert_eq!(
        offered(&lab, "helenus fault shop slow 25% d"),
        ["datacenter1", "datacenter1/rack1"]
    );
    assert_eq!(offered(&lab, "helenus heal shop n"), ["node1"]);
    // A new baseline has a tag that nobody has.
    assert!(!offered(&lab, "helenus baseline save shop l").contains(&"loaded".to_owned()));
}

#[test]
fn other_shells_offer_the_same_with_what_it_is() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "shop"]);
    assert_eq!(
        completions(&lab, "zsh", &["kill", "shop/"]),
        ["shop/node1:rack1 in datacenter1"]
    );
    assert_eq!(
        completions(&lab, "fish", &["kill", "shop/"]),
        ["shop/node1\track1 in datacenter1"]
    );
}

#[test]
fn completing_writes_nothing_and_says_nothing_where_there_is_nothing() {
    let lab = TestLab::new();
    assert_eq!(
        completions(&lab, "fish", &["status", "s"]),
        Vec::<String>::new()
    );
    let runs = completions(&lab, "fish", &["history", "show", ""]);
    assert!(
        !runs
            .iter()
            .any(|line| line.starts_with('r') || line.starts_with('@')),
        "{runs:?}"
    );
    assert!(!lab.path("home").exists() && !lab.path("cache").exists());
    lab.write("home/state/history.db", "no database");
    let runs = completions(&lab, "fish", &["history", "show", "r"]);
    assert_eq!(runs, Vec::<String>::new());
    let kept = fs_err::read_to_string(lab.path("home/state/history.db"));
    assert_eq!(kept.expect("the file"), "no database");
}
