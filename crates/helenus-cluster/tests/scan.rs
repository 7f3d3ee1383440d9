//! Counts against a scripted endpoint that times out, fails, is overloaded and goes away: every row once, all the same.
//! Refuses a clock: the endpoint counts what is asked how often.

mod endpoint;

use endpoint::{Asked, Endpoint, Fault};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::error::ClusterError;
use helenus_cluster::scan::check::{CheckRequest, POSITIONS_MOST, check};
use helenus_cluster::scan::count::{CountRequest, count};
use helenus_cluster::scan::{Gentleness, ScanError, ScanEvent, ScanPlace, look};
use helenus_cluster::state::Clusters;
use helenus_cql::codec::{FailureReason, ServerErrorKind};
use helenus_cql::{ConnectOptions, Consistency};
use helenus_model::cql::CqlValue;
use helenus_model::scan::{CountReport, Large};
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use helenus_model::workload::expected::Expected;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

const PARTITIONS: i64 = 300;

/// Most partitions are small, every fiftieth has thousands of rows.
fn rows(key: i64) -> u64 {
    if key % 50 == 0 {
        3_000
    } else {
        1 + key.unsigned_abs() % 7
    }
}

fn timed_out() -> Fault {
    Fault::Error(ServerErrorKind::ReadTimeout {
        consistency: Consistency::One,
        received: 0,
        wanted: 1,
        data_present: false,
    })
}

fn tombstones() -> Fault {
    Fault::Error(ServerErrorKind::ReadFailure {
        consistency: Consistency::One,
        received: 0,
        wanted: 1,
        failures: FailureReason::Count(1),
        data_present: false,
    })
}

fn request(journals: &Path) -> CountRequest {
    CountRequest {
        partitions: None,
        all: false,
        checksum: false,
        gentleness: Gentleness {
            parallel: None,
            rate: None,
            consistency: Consistency::One,
        },
        resume: false,
        fresh: false,
        journals: journals.to_owned(),
    }
}

struct Lab {
    folder: TempDir,
}

impl Lab {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn count(
        &self,
        endpoint: &Endpoint,
        request: &CountRequest,
        cancel: &Cancel,
        events: &mut dyn FnMut(ScanEvent),
    ) -> Result<CountReport, ClusterError> {
        let clusters = Clusters::open(self.folder.path()).unwrap();
        let place = ScanPlace::hosts(&clusters, &[endpoint.addr], &ConnectOptions::default())?;
        let table = look(&place, "k.t")?;
        count(&place, &table, request, cancel, events)
    }

    fn counted(&self, endpoint: &Endpoint, request: &CountRequest) -> CountReport {
        let report = self.count(endpoint, request, &Cancel::default(), &mut |_| {});
        let report = report.unwrap();
        assert!(report.complete);
        report
    }
}

/// Counts in all, and by partition; whatever goes wrong, each row is found once.
#[track_caller]
fn every_row_once(
    trouble: &str,
    script: impl Fn(Asked) -> Option<Fault> + Clone + Send + Sync + 'static,
) {
    let lab = Lab::new();
    let endpoint = Endpoint::start(PARTITIONS, rows, script.clone());
    let plain = request(lab.folder.path());
    let total = lab.counted(&endpoint, &plain);
    assert_eq!(total.rows, endpoint.rows());
    assert!(total.troubles.contains_key(trouble), "{:?}", total.troubles);
    let nodes = total.nodes.unwrap();
    assert_eq!((nodes.len(), nodes[0].rows), (1, endpoint.rows()));
    let ranges = total.ranges.unwrap();
    assert_eq!(
        ranges.iter().map(|range| range.rows).sum::<u64>(),
        endpoint.rows()
    );

    let endpoint = Endpoint::start(PARTITIONS, rows, script);
    let by_partition = CountRequest {
        partitions: Some(7),
        ..plain
    };
    let report = lab.counted(&endpoint, &by_partition);
    let sizes = report.partitions.unwrap().sizes;
    assert_eq!(
        (report.rows, sizes.partitions),
        (endpoint.rows(), PARTITIONS as u64)
    );
    let largest: Vec<u64> = sizes.largest.iter().map(|large| large.rows).collect();
    assert_eq!(largest, [3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 7]);
}

#[test]
fn spans_that_time_out_are_read_page_by_page() {
    every_row_once("timed_out", |asked| {
        (asked.whole && asked.rows > 400).then(timed_out)
    });
}

#[test]
fn pages_that_fail_get_smaller() {
    every_row_once("read_failed", |asked| {
        let too_much = if asked.whole {
            asked.rows > 100
        } else {
            asked.page > 60
        };
        too_much.then(tombstones)
    });
}

#[test]
fn who_is_overloaded_is_asked_again() {
    every_row_once("overloaded", |asked| {
        let busy = asked.number.is_multiple_of(5);
        busy.then_some(Fault::Error(ServerErrorKind::Overloaded))
    });
}

#[test]
fn lost_connections_are_made_again() {
    every_row_once("connection_lost", |asked| {
        let gone = asked.number.is_multiple_of(7);
        gone.then_some(Fault::Close)
    });
}

#[test]
fn a_refusal_ends_it_with_the_server_s_words() {
    let lab = Lab::new();
    let script = |_| Some(Fault::Error(ServerErrorKind::Unauthorized));
    let endpoint = Endpoint::start(3, rows, script);
    let request = request(lab.folder.path());
    let refused = lab
        .count(&endpoint, &request, &Cancel::default(), &mut |_| {})
        .unwrap_err();
    let Some(ScanError::Refused { source }) = refused.find() else {
        panic!("{refused:?}")
    };
    assert_eq!(source.to_string(), "unauthorized: as the script says");
}

#[test]
fn every_partition_is_reported_once_where_all_are_asked_for() {
    let lab = Lab::new();
    let endpoint = Endpoint::start(PARTITIONS, rows, |asked| {
        (asked.number % 4 == 0).then(timed_out)
    });
    let request = CountRequest {
        all: true,
        ..request(lab.folder.path())
    };
    let mut reported: Vec<Large> = Vec::new();
    let mut events = |event| {
        if let ScanEvent::Partitions(partitions) = event {
            reported.extend(partitions);
        }
    };
    let report = lab
        .count(&endpoint, &request, &Cancel::default(), &mut events)
        .unwrap();
    assert_eq!(report.rows, endpoint.rows());
    assert_eq!(reported.len(), PARTITIONS as usize);
    let by_key: BTreeMap<i64, u64> = reported
        .into_iter()
        .map(|large| match large.key[..] {
            [Some(CqlValue::Bigint(key))] => (key, large.rows),
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(by_key, endpoint.sizes());
}

/// Counts until a part is done, and stops there.
fn cut_off(lab: &Lab, endpoint: &Endpoint, request: &CountRequest) -> CountReport {
    let cancel = Cancel::default();
    let mut stop = |event| {
        if let ScanEvent::Progress(at) = event
            && at.share > 0.3
        {
            cancel.set();
        }
    };
    let report = lab.count(endpoint, request, &cancel, &mut stop).unwrap();
    assert!(
        !report.complete && report.share > 0.3 && report.share < 1.0,
        "{report:?}"
    );
    report
}

/// One thread at a rate that lets somebody look in between.
fn slowly(lab: &Lab) -> CountRequest {
    let mut request = request(lab.folder.path());
    request.gentleness.parallel = std::num::NonZeroUsize::new(1);
    request.gentleness.rate = Some(20_000.0);
    request
}

#[test]
fn what_was_cut_off_goes_on_without_a_row_twice() {
    let lab = Lab::new();
    let endpoint = Endpoint::start(PARTITIONS, rows, |_| None);
    let slowly = CountRequest {
        partitions: Some(3),
        ..slowly(&lab)
    };
    let part = cut_off(&lab, &endpoint, &slowly);
    let before = endpoint.rows_added_up();
    assert_eq!(part.rows, before);
    // Neither begun anew nor gone on with unasked.
    let refused = lab
        .count(&endpoint, &slowly, &Cancel::default(), &mut |_| {})
        .unwrap_err();
    assert!(
        matches!(refused.find(), Some(ScanError::Unfinished { .. })),
        "{refused}"
    );
    let resume = CountRequest {
        resume: true,
        ..slowly
    };
    let whole = lab.counted(&endpoint, &resume);
    assert_eq!((whole.rows, whole.resumed_rows), (endpoint.rows(), before));
    assert_eq!(
        endpoint.rows_added_up(),
        endpoint.rows(),
        "a row was counted twice"
    );
    let sizes = whole.partitions.unwrap().sizes;
    assert_eq!(
        (sizes.partitions, sizes.largest.len()),
        (PARTITIONS as u64, 3)
    );
    // Nothing is left to go on with: the same again is a whole count.
    let again = lab.counted(&endpoint, &resume);
    assert_eq!((again.rows, again.resumed_rows), (endpoint.rows(), 0));
}

#[test]
fn another_ring_or_another_table_is_not_gone_on_with() {
    let lab = Lab::new();
    let endpoint = Endpoint::start(PARTITIONS, rows, |_| None);
    let slowly = slowly(&lab);
    cut_off(&lab, &endpoint, &slowly);
    let resume = CountRequest {
        resume: true,
        ..slowly
    };
    let refused = || {
        let refused = lab.count(&endpoint, &resume, &Cancel::default(), &mut |_| {});
        let refused = refused.unwrap_err();
        let Some(ScanError::Changed(why)) = refused.find() else {
            panic!("{refused:?}")
        };
        why.to_string()
    };
    endpoint.move_to(99);
    assert_eq!(
        refused(),
        "the tokens of the ring changed since the count started"
    );
    endpoint.remake();
    assert_eq!(refused(), "the table was recreated after the count started");
    let fresh = CountRequest {
        resume: false,
        fresh: true,
        ..resume.clone()
    };
    assert_eq!(lab.counted(&endpoint, &fresh).rows, endpoint.rows());
}

#[test]
fn a_check_that_is_interrupted_before_all_keys_are_known_reads_no_row() {
    let lab = Lab::new();
    let endpoint = Endpoint::start(PARTITIONS, rows, |_| None);
    let clusters = Clusters::open(lab.folder.path()).unwrap();
    let place = ScanPlace::hosts(&clusters, &[endpoint.addr], &ConnectOptions::default()).unwrap();
    let table = look(&place, "k.t").unwrap();
    let expected = Expected::tables(&Workload::Standard1, Seed(1)).unwrap();
    let asked = CheckRequest {
        population: 200_000,
        keep: 3,
        positions_most: POSITIONS_MOST,
        gentleness: request(lab.folder.path()).gentleness,
    };
    let cancel = Cancel::default();
    let mut stop = |event| {
        if let ScanEvent::Keys { .. } = event {
            cancel.set();
        }
    };
    let report = check(&place, &table, &expected[0], &asked, &cancel, &mut stop).unwrap();
    let findings = report.findings;
    assert_eq!(
        (report.complete, report.requests, findings.foreign),
        (false, 0, 0)
    );
}

#[test]
fn names_that_are_not_there_get_the_nearest() {
    let lab = Lab::new();
    let endpoint = Endpoint::start(1, rows, |_| None);
    let clusters = Clusters::open(lab.folder.path()).unwrap();
    let place = ScanPlace::hosts(&clusters, &[endpoint.addr], &ConnectOptions::default()).unwrap();
    let said = |table: &str| {
        let error = look(&place, table).unwrap_err();
        format!("{error}; {}", error.hint().unwrap_or_default())
    };
    assert_eq!(said("kk.t"), "no such keyspace: kk; did you mean k?");
    assert_eq!(said("k.tt"), "keyspace k has no table tt; did you mean t?");
    assert!(said("k").contains("is not the name of a table; write KEYSPACE.TABLE"));
    assert!(said("system.local").contains("local to each node"));
    // Virtual tables: the schema of the others does not name their keyspace.
    assert!(said("system_views.clients").contains("the tables of system_views are local"));
    assert_eq!(look(&place, "K.T").unwrap().name(), "k.t");
    assert!(
        look(&place, "\"K\".t").is_err(),
        "quoted names are as they are"
    );
}
