//! `run` against a fake node that serves: mixes, steps, ramps, ranges, profiles, and rows that are checked.
//! Refuses to say how exact the machine is: counts and names only.

use crate::lab::TestLab;
use serde_json::Value;

const PROFILE: &str = "
keyspace: app
keyspace_definition: |
  CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: events
table_definition: |
  CREATE TABLE events (user text, day int, note text, score double, PRIMARY KEY (user, day));
columnspec:
  - name: user
    size: uniform(6..12)
  - name: note
    size: uniform(10..40)
queries:
  one:
    cql: select * from events where user = ? and day = ?
    fields: samerow
";

/// Runs what must end with a result, which a busy machine may disqualify.
fn measured(lab: &TestLab, arguments: &[&str]) -> Value {
    let out = lab.measured(&[&["run", "--format", "json"], arguments].concat());
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

fn phases(said: &Value) -> &Vec<Value> {
    said["result"]["phases"].as_array().expect("phases")
}

#[test]
fn several_processes_do_what_one_does_and_are_reported_as_one() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let words = ["standard1", "--cluster", "c", "--seed", "7"];
    let write = ["--ops", "write=1", "--count", "502", "--processes", "3"];
    let said = measured(&lab, &[&words[..], &write].concat());
    assert_eq!(said["plan"]["processes"], 3, "{said:#}");
    assert_eq!(phases(&said)[0]["total"]["completed"], 502, "{said:#}");
    assert_eq!(phases(&said)[0]["in_flight"], 64, "{said:#}");
    // Nobody wrote what another wrote, and nobody left anything out: each row is there.
    let read = [
        "--ops",
        "read=1",
        "--population",
        "502",
        "--positions",
        "0..502",
    ];
    let said = measured(&lab, &[&words[..], &read].concat());
    assert_eq!(phases(&said)[0]["total"]["completed"], 502, "{said:#}");
    assert_eq!(phases(&said)[0]["total"]["failed"], Value::Null, "{said:#}");
    // A schedule is shared to the last operation, and both phases have both processes.
    let steps = ["--rate-steps", "101,403", "--step", "1s", "--warmup", "1s"];
    let two = [
        "--ops",
        "write=1",
        "--processes",
        "2",
        "--arrivals",
        "poisson",
    ];
    let said = measured(&lab, &[&words[..], &steps, &two].concat());
    for (phase, offered) in phases(&said).iter().zip([101, 403]) {
        assert_eq!(phase["total"]["offered"], offered, "{phase:#}");
    }
    let left = lab.processes();
    assert!(
        left.iter().all(|p| !p.command.contains("__load")),
        "{left:?}"
    );
    shot!(lab.run(&["run", "kv", "--cluster", "c", "--in-flight", "2", "--processes", "3"]), @"
    exit code: 2
    --- standard error
    error: 3 generator processes need at least as many operations in flight, and there are 2
    hint: use --processes 2 or less, or more operations in flight
    ");
}

#[test]
fn a_mix_keeps_its_weights_and_each_step_is_a_phase() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let words = ["standard1", "--cluster", "c", "--seed", "7"];
    let write = ["--ops", "write=1", "--count", "500", "--tag", "first"];
    let said = measured(&lab, &[&words[..], &write].concat());
    assert_eq!(phases(&said)[0]["total"]["completed"], 500, "{said:#}");
    assert_eq!(phases(&said)[0]["total"]["rows"], 500, "{said:#}");
    // A closed loop has no response time.
    assert_eq!(phases(&said)[0]["total"]["response"], Value::Null);

    let both = ["--ops", "read=3,write=1", "--population", "500"];
    let steps = ["--rate-steps", "200,400", "--step", "1s", "--warmup", "0s"];
    let said = measured(&lab, &[&words[..], &both, &steps].concat());
    let names: Vec<&Value> = phases(&said).iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["main@200", "main@400"]);
    for (phase, offered) in phases(&said).iter().zip([200, 400]) {
        assert_eq!(phase["total"]["offered"], offered, "{phase:#}");
        assert_eq!(phase["total"]["failed"], Value::Null, "{phase:#}");
        let reads = phase["operations"]["read"]["offered"]
            .as_u64()
            .expect("reads");
        assert!(
            (offered / 2..offered).contains(&reads),
            "{reads} of {offered}"
        );
    }
    assert!(lab.done(&["history"]).contains("first"));
}

#[test]
fn a_data_centre_that_there_is_not_is_refused() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let words = ["run", "standard1", "--cluster", "c", "--ops", "write=1"];
    let more = ["--count", "10", "--client-dc", "datacentre1"];
    shot!(lab.run(&[&words[..], &more].concat()), @r#"
    exit code: 2
    --- standard error
    error: the cluster has no data centre "datacentre1"
    hint: did you mean datacenter1?
    "#);
}

#[test]
fn a_replication_factor_that_the_keyspace_does_not_have_is_refused_before_the_first_operation() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let write = ["--ops", "write=1", "--count", "10"];
    let one = ["--replication-factor", "1"];
    let words = ["standard1", "--cluster", "c"];
    measured(&lab, &[&words[..], &write, &one].concat());
    // The same again is what is there already.
    measured(&lab, &[&words[..], &write, &one].concat());
    let three = ["--replication-factor", "3"];
    shot!(lab.run(&[&["run"], &words[..], &write, &three].concat()), @"
    exit code: 2
    --- standard error
    error: keyspace keyspace1 already exists with replication {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}, and --replication-factor asks for {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}
    hint: the flag does not change an existing keyspace: run ALTER KEYSPACE keyspace1 WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}; if it holds data, follow with `nodetool repair -full keyspace1`; or drop what was created since with `helenus reset c`; or leave --replication-factor out
    ");
    let bench = ["--rate", "100", "--duration", "1s", "--phases", "write"];
    let others = [
        [&["bench", "--cluster", "c"], &bench[..], &three].concat(),
        [&["populate"], &words[..], &["--rows", "10"], &three].concat(),
    ];
    for other in others {
        let said = lab.run(&other);
        assert_eq!(said.code, "2", "{said}");
        assert!(said.err.contains("--replication-factor asks for"), "{said}");
    }
}

#[test]
fn a_run_without_one_of_its_nodes_is_refused_with_the_way_to_measure_that() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab.done(&["kill", "c/node1"]);
    let words = ["run", "standard1", "--cluster", "c", "--ops", "write=1"];
    shot!(lab.run(&[&words[..], &["--count", "10"]].concat()), @"
    exit code: 4
    --- standard error
    error: node1 of c is not running
    hint: `helenus start c` starts it; to measure the cluster without node1, let the run take it down: `--fault 'at 0s kill node1'`
    ");
}

#[test]
fn a_ramp_offers_the_area_below_its_line() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let words = ["standard1", "--cluster", "c", "--ops", "write=1"];
    let ramp = ["--rate", "100..500 over 1s", "--warmup", "0s"];
    let said = measured(&lab, &[&words[..], &ramp].concat());
    assert_eq!(phases(&said)[0]["total"]["offered"], 300, "{said:#}");
}

#[test]
fn a_range_ends_with_its_last_partition() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let words = ["standard1", "--cluster", "c", "--ops", "write=1"];
    let range = ["--positions", "100..420", "--duration", "60s"];
    let said = measured(&lab, &[&words[..], &range].concat());
    assert_eq!(phases(&said)[0]["total"]["completed"], 320, "{said:#}");
    // Those and no others are there.
    let read = ["standard1", "--cluster", "c", "--ops", "read=1"];
    let seed = said["result"]["seed"].to_string();
    let range = ["--positions", "90..430", "--seed", &seed];
    let said = measured(&lab, &[&read[..], &range].concat());
    let total = &phases(&said)[0]["total"];
    assert_eq!(total["failed"]["missing_row"], 20, "{total:#}");
    assert_eq!(total["completed"], 320, "{total:#}");
}

#[test]
fn a_profile_is_written_read_and_checked() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let path = lab.write("events.yaml", PROFILE);
    let words = [&path.to_string_lossy(), "--cluster", "c"];
    let insert = ["--ops", "insert=1", "--positions", "0..400", "--seed", "7"];
    let said = measured(&lab, &[&words[..], &insert].concat());
    assert_eq!(said["result"]["workload"], "events");
    assert_eq!(phases(&said)[0]["total"]["completed"], 400, "{said:#}");
    let one = ["--ops", "one=1", "--positions", "0..400", "--verify"];
    let said = measured(&lab, &[&words[..], &one, &["--seed", "7"]].concat());
    let total = &phases(&said)[0]["total"];
    assert_eq!(
        (&total["completed"], &total["rows"]),
        (&400.into(), &400.into())
    );
    // The rows of another seed are others: their keys are not there.
    let said = measured(&lab, &[&words[..], &one, &["--seed", "8"]].concat());
    let total = &phases(&said)[0]["total"];
    assert_eq!(total["failed"]["missing_row"], 400, "{total:#}");
    // Nobody checks what nobody asked to be checked.
    let said = measured(&lab, &[&words[..], &one[..4], &["--seed", "8"]].concat());
    assert_eq!(phases(&said)[0]["total"]["completed"], 400, "{said:#}");
}
