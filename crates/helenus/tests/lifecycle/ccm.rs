//! Lines of ccm on a stand-in: what they start, stop and print, and that nothing stays.
//! Refuses to meet other tests: the addresses are of a /24 that no other test names.

use crate::lab::{Said, TestLab};

const PREFIX: &str = "127.61.7.";

fn ccm(lab: &TestLab, line: &str) -> Said {
    let words: Vec<&str> = std::iter::once("ccm").chain(line.split(' ')).collect();
    lab.run(&words)
}

/// Standard output of a line that must succeed.
fn done(lab: &TestLab, line: &str) -> String {
    let words: Vec<&str> = std::iter::once("ccm").chain(line.split(' ')).collect();
    lab.done(&words)
}

#[test]
fn a_life_by_lines_of_ccm() {
    let lab = TestLab::fake("ready");
    done(&lab, "create test -v 5.0");
    assert_eq!(done(&lab, "list"), " *test\n");
    assert!(done(&lab, "status").contains("No node"), "no nodes yet");
    lab.done(&["ccm", "updateconf", "read_request_timeout: 7s"]);
    done(&lab, &format!("populate -n 2 -i {PREFIX}"));
    let yaml = |node: &str| {
        let file = lab.cluster("test").join(node).join("conf/cassandra.yaml");
        fs_err::read_to_string(file).expect("a cassandra.yaml")
    };
    assert!(done(&lab, "status").contains("node2: DOWN (Not initialized)"));
    let again = ccm(&lab, "create test -n 1");
    assert!(
        again.err.contains("there is a cluster test already"),
        "{again}"
    );
    done(&lab, "start --wait-for-binary-proto");
    assert_eq!(done(&lab, "liveset"), "127.61.7.1,127.61.7.2\n");
    assert!(yaml("node1").contains("7s"), "{}", yaml("node1"));
    done(&lab, "node2 stop --not-gently");
    assert!(done(&lab, "status").contains("node1: UP\nnode2: DOWN\n"));
    lab.done(&["ccm", "node2", "updateconf", "concurrent_reads: 9"]);
    done(&lab, "node2 start --jvm_arg -Dx=1");
    assert!(yaml("node2").contains("concurrent_reads: 9"));
    assert!(!yaml("node1").contains("concurrent_reads: 9"));
    done(&lab, "node1 pause");
    done(&lab, "node1 resume");
    // Clusters that do not run at the same time share their addresses.
    let taken = ccm(&lab, &format!("create other -n 1 -i {PREFIX} -s"));
    assert!(
        format!("{taken}").contains("is taken by another program"),
        "{taken}"
    );
    done(&lab, "switch test");
    done(&lab, "stop");
    done(&lab, "switch other");
    done(&lab, "start");
    assert_eq!(done(&lab, "liveset"), "127.61.7.1\n");
    done(&lab, "stop");
    let journal = lab.write("home/state/clusters/test/populate.json", "{}");
    done(&lab, "--cluster test clear");
    assert!(!journal.exists(), "a populate remembers rows that are gone");
    assert!(done(&lab, "--cluster test status").contains("node1: DOWN (Not initialized)"));
    done(&lab, "remove");
    done(&lab, "remove test");
    assert_eq!(done(&lab, "list"), "");
}

#[test]
fn a_folder_of_its_own_keeps_clusters_apart() {
    let lab = TestLab::fake("ready");
    let folder = lab.path("elsewhere");
    let folder = folder.to_str().expect("a path");
    done(
        &lab,
        &format!("--config-dir {folder} create test -n 1 -i {PREFIX}"),
    );
    assert_eq!(done(&lab, "list"), "");
    // As drivers write it.
    done(
        &lab,
        &format!("updateconf auto_snapshot:false --config-dir={folder}"),
    );
    assert_eq!(
        done(&lab, &format!("list --config-dir={folder}")),
        " *test\n"
    );
    done(&lab, &format!("--config-dir {folder} remove"));
}
