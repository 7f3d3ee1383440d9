//! Levels against replication on rings of one and two data centres.

use super::*;
use crate::ring::{Member, even_tokens};
use Consistency as C;

/// A ring of data centres with so many nodes each, one token a node.
fn ring(data_centers: &[(&str, usize)]) -> Ring {
    let mut members = Vec::new();
    for (place, (name, nodes)) in data_centers.iter().enumerate() {
        members.extend(
            even_tokens(*nodes, 1, place)
                .into_iter()
                .map(|tokens| Member {
                    data_center: (*name).to_owned(),
                    rack: "rack1".to_owned(),
                    tokens,
                }),
        );
    }
    Ring::new(members).expect("a ring")
}

fn simple(factor: usize) -> Replication {
    Replication::Simple(Factor::full(factor))
}

fn networked(factors: &[(&str, usize)]) -> Replication {
    let each = factors.iter();
    let each = each.map(|(dc, n)| ((*dc).to_owned(), Factor::full(*n)));
    Replication::NetworkTopology(each.collect())
}

fn said(ring: &Ring, replication: &Replication, level: C) -> String {
    match serves(ring, replication, "DC1", Level::Plain(level)) {
        Ok(()) => String::new(),
        Err(shortfall) => shortfall.to_string(),
    }
}

#[test]
fn one_copy_somewhere_serves_no_local_level_of_two_data_centres() {
    let two = ring(&[("DC1", 2), ("DC2", 2)]);
    assert_eq!(
        said(&two, &simple(1), C::LocalQuorum),
        "LOCAL_QUORUM needs 1 replica in DC1, and some rows have none there"
    );
    assert_eq!(said(&two, &simple(1), C::Quorum), "");
    assert_ne!(said(&two, &simple(1), C::LocalOne), "");
    // Tokens of the two alternate, so that two copies are one in each; a local quorum of two wants both here.
    assert_eq!(said(&two, &simple(2), C::LocalOne), "");
    assert_eq!(
        said(&two, &simple(2), C::LocalQuorum),
        "LOCAL_QUORUM needs 2 replicas in DC1, and some rows have only 1 there"
    );
    // All four have every row, and a quorum of four is three: more than DC1 has nodes.
    assert_ne!(said(&two, &simple(4), C::LocalQuorum), "");
    assert!(said(&two, &simple(3), C::EachQuorum).contains("SimpleStrategy"));
}

#[test]
fn one_data_centre_serves_what_it_has_nodes_for() {
    let one = ring(&[("DC1", 1)]);
    for level in [C::One, C::Quorum, C::All, C::LocalOne, C::LocalQuorum] {
        assert_eq!(said(&one, &simple(1), level), "", "{level:?}");
    }
    // In one data centre a quorum of each is a quorum.
    assert_eq!(said(&one, &simple(1), C::EachQuorum), "");
    assert_eq!(said(&one, &simple(3), C::One), "");
    assert_eq!(
        said(&one, &simple(3), C::Quorum),
        "QUORUM needs 2 replicas, and some rows have only 1"
    );
    assert_ne!(said(&one, &simple(1), C::Two), "");
    assert_eq!(said(&one, &simple(1), C::Any), "");
}

#[test]
fn levels_count_the_data_centres_that_replication_names() {
    let two = ring(&[("DC1", 2), ("DC2", 2)]);
    let both = networked(&[("DC1", 2), ("DC2", 2)]);
    for level in [
        C::One,
        C::Two,
        C::Three,
        C::Quorum,
        C::All,
        C::LocalQuorum,
        C::EachQuorum,
    ] {
        assert_eq!(said(&two, &both, level), "", "{level:?}");
    }
    let there = networked(&[("DC2", 2)]);
    assert_eq!(
        said(&two, &there, C::LocalOne),
        "LOCAL_ONE needs 1 replica in DC1, and some rows have none there"
    );
    assert_eq!(said(&two, &there, C::EachQuorum), "");
    // A data centre that is not there counts in a quorum all the same.
    let gone = networked(&[("DC1", 1), ("DC9", 3)]);
    assert_eq!(said(&two, &gone, C::LocalQuorum), "");
    assert_eq!(
        said(&two, &gone, C::Quorum),
        "QUORUM needs 3 replicas, and some rows have only 1"
    );
    assert!(said(&two, &gone, C::EachQuorum).contains("2 replicas in DC9"));
    let elsewhere = networked(&[("datacenter1", 3)]);
    assert_eq!(
        said(&two, &elsewhere, C::One),
        "ONE needs 1 replica, and some rows have none"
    );
}

#[test]
fn a_compare_wants_a_quorum() {
    let two = ring(&[("DC1", 2), ("DC2", 2)]);
    let compare = |serial| {
        serves(
            &two,
            &networked(&[("DC2", 2)]),
            "DC1",
            Level::Serial(serial),
        )
    };
    assert_eq!(compare(SerialConsistency::Serial), Ok(()));
    let local = compare(SerialConsistency::LocalSerial).expect_err("none is local");
    assert!(local.to_string().starts_with("LOCAL_SERIAL needs 1"));
}

#[test]
fn what_cannot_be_known_is_let_through() {
    let none = Ring::new(vec![]).expect("an empty ring");
    assert_eq!(said(&none, &simple(3), C::All), "");
    let one = ring(&[("DC1", 1)]);
    assert_eq!(said(&one, &Replication::Local, C::All), "");
}

#[test]
fn a_refusal_carries_the_statement_that_corrects_it() {
    let two = ring(&[("DC1", 2), ("DC2", 5)]);
    let said = |replication: Replication, exists, levels: &[C]| {
        let standing = Standing {
            replication,
            exists,
            asked: levels.len() == 2,
        };
        let keyspaces = BTreeMap::from([("Shop".to_owned(), standing)]);
        let wanted = |level: &C| Wanted {
            operation: "insert".to_owned(),
            keyspace: "Shop".to_owned(),
            level: Level::Plain(*level),
        };
        let all: Vec<Wanted> = levels.iter().map(wanted).collect();
        match check(&two, "DC1", &keyspaces, &all) {
            Ok(()) => "served".to_owned(),
            Err(refused) => format!("{refused}\n  {}", refused.hint()),
        }
    };
    let all = [
        said(simple(1), true, &[C::One, C::LocalQuorum]),
        said(simple(1), false, &[C::LocalQuorum]),
        // With the flag.
        said(simple(1), false, &[C::LocalQuorum, C::One]),
        // What is there stays where it serves.
        said(networked(&[("DC2", 4)]), true, &[C::LocalOne]),
        said(networked(&[("DC1", 1), ("DC2", 1)]), true, &[C::Three]),
        said(networked(&[("DC1", 1)]), true, &[C::One]),
        said(networked(&[("DC1", 0)]), true, &[C::Three]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    keyspace Shop cannot serve "insert": LOCAL_QUORUM needs 1 replica in DC1, and some rows have none there
      run ALTER KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 3}; if it holds data, follow with `nodetool repair -full Shop`; or use a weaker level
    keyspace Shop cannot serve "insert": LOCAL_QUORUM needs 1 replica in DC1, and some rows have none there
      create it with CREATE KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 3}, or use a weaker level
    keyspace Shop cannot serve "insert": LOCAL_QUORUM needs 1 replica in DC1, and some rows have none there
      create it with CREATE KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 3}, leave --replication-factor out, or use a weaker level
    keyspace Shop cannot serve "insert": LOCAL_ONE needs 1 replica in DC1, and some rows have none there
      run ALTER KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 4}; if it holds data, follow with `nodetool repair -full Shop`; or use a weaker level
    keyspace Shop cannot serve "insert": THREE needs 3 replicas, and some rows have only 2
      run ALTER KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 3}; if it holds data, follow with `nodetool repair -full Shop`; or use a weaker level
    served
    keyspace Shop cannot serve "insert": THREE needs 3 replicas, and some rows have none
      run ALTER KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC2': 3}; if it holds data, follow with `nodetool repair -full Shop`; or use a weaker level
    "#);
    let one = ring(&[("DC1", 1)]);
    let keyspaces = BTreeMap::from([(
        "k".to_owned(),
        Standing {
            replication: simple(1),
            exists: true,
            asked: false,
        },
    )]);
    let two_of_one = [Wanted {
        operation: "read".to_owned(),
        keyspace: "k".to_owned(),
        level: Level::Plain(C::Two),
    }];
    let refused = check(&one, "DC1", &keyspaces, &two_of_one).expect_err("too few nodes");
    assert_eq!(refused.cure, None);
    assert!(refused.hint().contains("too few nodes"));
}

#[test]
fn a_keyspace_that_is_there_keeps_its_replication_and_the_flag_is_refused() {
    let said = |ring: &Ring, replication: Replication, exists, asked: &[(&str, usize)]| {
        let standing = Standing {
            replication,
            exists,
            asked: false,
        };
        let keyspaces = BTreeMap::from([("Shop".to_owned(), standing)]);
        let Replication::NetworkTopology(asked) = networked(asked) else {
            unreachable!("it is networked");
        };
        match as_asked((Some("c"), ring), &keyspaces, ["other", "Shop"], &asked) {
            Ok(()) => "as asked".to_owned(),
            Err(other) => format!("{other}\n  {}", other.hint()),
        }
    };
    let one = ring(&[("DC1", 3)]);
    let two = ring(&[("DC1", 3), ("DC2", 3)]);
    let same = [
        said(&one, networked(&[("DC1", 3)]), true, &[("DC1", 3)]),
        said(&one, networked(&[("DC1", 2)]), false, &[("DC1", 3)]),
        said(&one, simple(3), true, &[("DC1", 3)]),
        said(
            &two,
            networked(&[("DC1", 3), ("DC2", 0)]),
            true,
            &[("DC1", 3)],
        ),
    ];
    assert_eq!(same, ["as asked"; 4]);
    let all = [
        said(&one, networked(&[("DC1", 2)]), true, &[("DC1", 3)]),
        said(&two, simple(3), true, &[("DC1", 3)]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    keyspace Shop already exists with replication {'class': 'NetworkTopologyStrategy', 'DC1': 2}, and --replication-factor asks for {'class': 'NetworkTopologyStrategy', 'DC1': 3}
      the flag does not change an existing keyspace: run ALTER KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 3}; if it holds data, follow with `nodetool repair -full Shop`; or drop what was created since with `helenus reset c`; or leave --replication-factor out
    keyspace Shop already exists with replication {'class': 'SimpleStrategy', 'replication_factor': 3}, and --replication-factor asks for {'class': 'NetworkTopologyStrategy', 'DC1': 3}
      the flag does not change an existing keyspace: run ALTER KEYSPACE "Shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 3}; if it holds data, follow with `nodetool repair -full Shop`; or drop what was created since with `helenus reset c`; or leave --replication-factor out
    "#);
}

#[test]
fn one_factor_means_every_data_centre() {
    let two = ring(&[("DC1", 2), ("DC2", 2)]);
    let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
    let given = BTreeMap::from([
        pair("class", "NetworkTopologyStrategy"),
        pair("replication_factor", "2"),
        pair("DC2", "1"),
    ]);
    assert_eq!(
        replication(&given, &two),
        Some(networked(&[("DC1", 2), ("DC2", 1)]))
    );
}
