//! Two clusters side by side, and two homes on one machine: none takes the other's address, port or name.
//! Refuses to know which addresses are given.

use crate::lab::TestLab;
use std::collections::BTreeSet;

fn addresses(lab: &TestLab, cluster: &str) -> BTreeSet<String> {
    let env = lab.json(&["env", cluster]);
    let points = env["contact_points"].as_array().expect("contact points");
    points
        .iter()
        .filter_map(|a| a.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn homes_see_each_others_addresses() {
    let (one, two) = (TestLab::fake("ready"), TestLab::fake("ready"));
    one.done(&["up", "c", "-n", "2"]);
    two.done(&["up", "c", "-n", "2"]);
    assert!(addresses(&one, "c").is_disjoint(&addresses(&two, "c")));
    // Also those of a cluster that is stopped and listens nowhere.
    one.done(&["stop", "c"]);
    two.done(&["up", "d", "-n", "3"]);
    assert!(addresses(&one, "c").is_disjoint(&addresses(&two, "d")));
    one.done(&["start", "c"]);
}

#[test]
fn homes_do_not_see_each_others_clusters() {
    let (one, two) = (TestLab::fake("ready"), TestLab::fake("ready"));
    one.done(&["up", "c"]);
    assert_eq!(two.run(&["rm", "c"]).code, "2");
    two.done(&["rm", "--all"]);
    assert_eq!(one.states("c").0, "running");
    assert_eq!(one.node_pids().len(), 1);
}

#[test]
fn many_at_once_get_addresses_of_their_own() {
    let lab = TestLab::fake("ready");
    let names = ["a", "b", "c", "d"];
    let ups: Vec<_> = names
        .iter()
        .map(|n| lab.begin(&["up", n, "-n", "2"]))
        .collect();
    for up in ups {
        let said = up.end();
        assert_eq!(said.code, "0", "{said}");
    }
    let all: BTreeSet<String> = names.iter().flat_map(|n| addresses(&lab, n)).collect();
    assert_eq!(all.len(), 8, "{all:?}");
}

#[test]
fn one_name_twice_at_once_is_had_by_one() {
    let lab = TestLab::fake("slow");
    let (one, two) = (lab.begin(&["up", "c"]), lab.begin(&["up", "c"]));
    let mut ends = [one.end(), two.end()];
    ends.sort_by(|a, b| a.code.cmp(&b.code));
    assert_eq!(ends[0].code, "0", "{}", ends[0]);
    assert_eq!(ends[1].code, "2", "{}", ends[1]);
    assert_eq!(lab.states("c").0, "running");
    assert_eq!(lab.node_pids().len(), 1);
}
