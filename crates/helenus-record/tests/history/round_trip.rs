//! What goes in comes out: plans, intervals, results, lists.

use crate::values::{SEED, beginning, header, host, interval, plan, result};
use helenus_model::doubt::Verdict;
use helenus_model::seed::Seed;
use helenus_model::telemetry::{Event, EventKind, HOST, HostSample, NodeSample, Reading, Seen};
use helenus_record::{
    Ending, History, RunBeginning, RunFilter, RunReference, RunState, RunSummary,
};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_result_comes_back_as_it_was() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("state/history.sqlite");
    let (plan, host) = (plan(SEED), host());
    let cluster = json!({"format": "helenus.cluster/1", "nodes": 3});
    let result = result(&plan);
    assert!(result.phases[0].doubts.len() > 1 && result.phases[1].total.response.is_none());
    let began = RunBeginning {
        cluster_plan: Some(&cluster),
        life: Some("n1:4242@17"),
        tag: Some("first"),
        ..beginning(&plan, &host)
    };
    let run = {
        let mut history = History::open(&path).expect("opens");
        let run = history.begin_run(&began).expect("begins");
        history.set_header(run, &header(&plan)).expect("header");
        let all: Vec<_> = (0..2)
            .flat_map(|p| (0..3).map(move |n| interval(p, n)))
            .collect();
        history.add_intervals(run, &all[..4]).expect("adds");
        history.add_intervals(run, &all[4..]).expect("adds");
        let ending = Ending::of(result.verdict, false);
        history.finish_run(run, &result, ending).expect("finishes");
        assert_eq!(history.intervals(run).expect("reads"), all);
        run
    };
    let stored = History::open(&path)
        .expect("opens again")
        .run(run)
        .expect("reads");
    assert_eq!(stored.result.as_ref(), Some(&result));
    assert_eq!(stored.header, Some(header(&plan)));
    assert_eq!(stored.plan().expect("a plan"), plan);
    assert_eq!(
        (&stored.host, stored.cluster_plan.as_ref()),
        (&host, Some(&cluster))
    );
    assert_eq!(stored.life.as_deref(), Some("n1:4242@17"));
    assert_eq!(
        (stored.command.as_str(), stored.helenus_version.as_str()),
        (began.command, "0.1.0")
    );
    let line = &stored.summary;
    assert_eq!(
        (line.state, line.verdict),
        (RunState::Invalid, Some(Verdict::Invalid))
    );
    assert_eq!((line.seed, &line.plan_hash), (SEED, &plan.hash()));
    assert_eq!(line.tags, ["first"]);
    let p99 = |of: &Option<helenus_model::result::Distribution>| of.as_ref().and_then(|d| d.p99_us);
    assert_eq!(
        line.phases[0].response_p99_us,
        p99(&result.phases[0].total.response)
    );
    assert_eq!(
        line.phases[1].service_p99_us,
        p99(&result.phases[1].total.service)
    );
    assert_eq!(line.phases[1].response_p99_us, None);
    let mode = |path| fs_err::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(
        (
            mode(path.as_path()),
            mode(folder.path().join("state").as_path())
        ),
        (0o600, 0o700)
    );
}

#[test]
fn a_run_is_broken_until_it_ends() {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    let (plan, host) = (plan(SEED), host());
    let run = history.begin_run(&beginning(&plan, &host)).expect("begins");
    let stored = history.run(run).expect("reads");
    assert_eq!(
        (stored.summary.state, stored.summary.verdict),
        (RunState::Broken, None)
    );
    assert_eq!((stored.result, stored.header), (None, None));
    let phases: Vec<_> = stored
        .summary
        .phases
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(phases, ["write", "read"]);
    // A stopped run may have got through a part of its phases only.
    let mut partly = result(&plan);
    partly.phases.truncate(1);
    partly.generator = None;
    history
        .finish_run(run, &partly, Ending::of(partly.verdict, true))
        .expect("finishes");
    let stored = history.run(run).expect("reads");
    assert_eq!(stored.summary.state, RunState::Interrupted);
    assert_eq!(stored.result, Some(partly));
}

#[test]
fn lists_are_newest_first_and_filtered() {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    assert_eq!(history.latest().expect("reads"), None);
    let host = host();
    let runs: Vec<_> = (0..4)
        .map(|n| {
            let plan = plan(Seed(n % 2));
            let mut began = beginning(&plan, &host);
            began.release = if n < 2 { Some("4.1.10") } else { None };
            began.tag = (n == 1).then_some("keep");
            let run = history.begin_run(&began).expect("begins");
            if n == 2 {
                history
                    .finish_run(run, &result(&plan), Ending::Complete)
                    .expect("finishes");
            }
            run
        })
        .collect();
    let ids = |filter: RunFilter| -> Vec<_> {
        history
            .runs(&filter)
            .expect("lists")
            .iter()
            .map(|line: &RunSummary| line.id)
            .collect()
    };
    let all = RunFilter::default();
    assert_eq!(ids(all.clone()), [runs[3], runs[2], runs[1], runs[0]]);
    assert_eq!(
        ids(RunFilter {
            limit: Some(2),
            ..all.clone()
        }),
        [runs[3], runs[2]]
    );
    assert_eq!(
        ids(RunFilter {
            tag: Some("keep".into()),
            ..all.clone()
        }),
        [runs[1]]
    );
    assert_eq!(
        ids(RunFilter {
            state: Some(RunState::Complete),
            ..all.clone()
        }),
        [runs[2]]
    );
    let old = RunFilter {
        release: Some("4.1.10".into()),
        ..all.clone()
    };
    assert_eq!(ids(old), [runs[1], runs[0]]);
    let hash = RunFilter {
        plan_hash: Some(plan(Seed(0)).hash()),
        ..all.clone()
    };
    assert_eq!(ids(hash), [runs[2], runs[0]]);
    assert!(
        ids(RunFilter {
            workload: Some("other".into()),
            ..all
        })
        .is_empty()
    );
    assert_eq!(
        history.latest().expect("reads").map(|line| line.id),
        Some(runs[3])
    );
    // The last that has ended; the newest of all broke off.
    assert_eq!(history.resolve(RunReference::Last).expect("there"), runs[2]);
    let newest = history.resolve(RunReference::Newest).expect("there");
    assert_eq!(newest, runs[3]);
    assert_eq!(
        history
            .resolve("r2".parse().expect("a name"))
            .expect("there"),
        runs[1]
    );
}

#[test]
fn runs_of_one_life_share_a_restart() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let mut history = History::open(&path).expect("opens");
    let (plan, host) = (plan(SEED), host());
    for life in [Some("a"), Some("a"), Some("b"), None, None] {
        history
            .begin_run(&RunBeginning {
                life,
                ..beginning(&plan, &host)
            })
            .expect("begins");
    }
    let raw = rusqlite::Connection::open(&path).expect("opens");
    let count = |sql: &str| {
        raw.query_row(sql, [], |row| row.get::<_, i64>(0))
            .expect("counts")
    };
    assert_eq!(count("SELECT count(*) FROM restart"), 4);
    assert_eq!(count("SELECT count(*) FROM experiment"), 4);
    assert_eq!(count("SELECT count(*) FROM run"), 5);
}

#[test]
fn what_was_seen_beside_a_run_comes_back_in_the_order_of_time_even_of_a_broken_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let reading = |source: &str, at_ns: u64, seen: Seen| Reading {
        source: source.to_owned(),
        at_ns,
        seen,
    };
    let node = NodeSample {
        cpu_us: 7,
        collections: Some(1),
        answered: true,
        ..NodeSample::default()
    };
    let collection = Event {
        what: EventKind::Collection,
        to_ns: 2_500,
        text: "Pause Young (Allocation Failure) 8M->7M(30M)".to_owned(),
    };
    let first = reading("node1", 3_000, Seen::Node(node));
    let second = reading(HOST, 4_000, Seen::Host(HostSample::default()));
    let earlier = reading("node1", 2_000, Seen::Event(collection));
    let plan = plan(SEED);
    let run = {
        let mut history = History::open(&path).unwrap();
        let run = history.begin_run(&beginning(&plan, &host())).unwrap();
        history
            .add_readings(run, &[first.clone(), second.clone()])
            .unwrap();
        history
            .add_readings(run, std::slice::from_ref(&earlier))
            .unwrap();
        run
    };
    let mut history = History::open(&path).unwrap();
    assert_eq!(
        history.readings(run).unwrap(),
        [earlier, first.clone(), second]
    );
    history
        .finish_run(run, &result(&plan), Ending::Complete)
        .unwrap();
    assert!(history.add_readings(run, &[first]).is_err());
    assert_eq!(history.readings(run).unwrap().len(), 3);
}
