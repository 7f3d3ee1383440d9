//! State files of older versions, as they were written then: a Helenus that was updated keeps its clusters.
//! Refuses files that were made for the test.

use fs_err as fs;
use helenus_cluster::baseline::Baselines;
use helenus_cluster::state::{ClusterState, Clusters, STATE_VERSION, Wanted};
use helenus_model::baseline::BASELINE_VERSION;
use helenus_model::plan::PLAN_VERSION;
use helenus_model::preset::PresetName;
use std::path::Path;

/// A state folder that holds one cluster with this file.
fn loaded(file: &str) -> ClusterState {
    let home = tempfile::tempdir().unwrap();
    let clusters = Clusters::open(home.path()).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/old")
        .join(file);
    fs::create_dir(clusters.folder("kept")).unwrap();
    fs::copy(from, clusters.folder("kept").join("cluster.json")).unwrap();
    clusters.load("kept").unwrap()
}

#[test]
fn the_state_of_the_version_before_is_read_whole() {
    let state = loaded("cluster-1.json");
    assert_eq!(state.format.check("cluster", STATE_VERSION), Ok(1));
    let plan = &state.plan;
    assert_eq!(plan.format.check("cluster-plan", PLAN_VERSION), Ok(1));
    assert_eq!(plan.preset, PresetName::Tiny);
    assert_eq!(plan.heap.heap.as_mib(), 64);
    assert_eq!(plan.nodes.len(), 2);
    assert_eq!(plan.nodes[1].tokens, [4_611_686_018_427_387_904]);
    assert_eq!(state.nodes["node2"].wanted, Wanted::Running);
    assert!(state.nodes["node1"].host_id.is_some());
}

#[test]
fn the_state_of_this_version_is_read_whole() {
    let state = loaded("cluster-2.json");
    assert_eq!(state.format.check("cluster", STATE_VERSION), Ok(2));
    assert_eq!(state.plan.format.check("cluster-plan", PLAN_VERSION), Ok(2));
    let last = state.baseline.last.as_ref();
    assert_eq!(last.map(|last| last.tag.as_str()), Some("one"));
    assert!(state.limits.is_some_and(|limits| limits.by.is_some()));
}

#[test]
fn a_baseline_of_this_version_is_read_whole() {
    let home = tempfile::tempdir().unwrap();
    let baselines = Baselines::look(home.path());
    let folder = baselines.folder("kept", "one");
    fs::create_dir_all(&folder).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old/baseline-1.json");
    fs::copy(from, folder.join("manifest.json")).unwrap();
    let baseline = baselines.load("kept", "one").unwrap();
    assert_eq!(baseline.format.check("baseline", BASELINE_VERSION), Ok(1));
    assert_eq!(baseline.keyspaces[0].name, "app");
    assert_eq!(baseline.tables[0].table, "users");
    assert!(baseline.nodes[0].files.len() > 100);
}
