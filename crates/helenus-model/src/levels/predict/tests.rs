//! What levels wait for: cases that can be counted on fingers, and laws.
//! Refuses a case without a number.

use super::super::{EVERY, serial_of};
use super::*;
use proptest::prelude::*;

fn scene(client: usize, places: &[(u32, u64)]) -> Scene {
    let place = |(k, (replicas, ms)): (usize, &(u32, u64))| Place {
        name: format!("DC{}", k + 1),
        replicas: *replicas,
        round_trip_us: ms * 1000,
    };
    Scene {
        client: format!("DC{client}"),
        places: places.iter().enumerate().map(place).collect(),
        paxos: Paxos::V1,
        badness: 1.0,
    }
}

fn ms(found: Result<Prediction, Illegal>) -> (u64, u64) {
    let found = found.expect("legal");
    (found.low_us / 1000, found.high_us / 1000)
}

#[test]
fn a_write_waits_for_the_slowest_acknowledgement_that_it_counts() {
    use Consistency as C;
    let wan = Scene::wan();
    let waits = EVERY.map(|level| ms(wan.write(level)).0);
    // ANY, LOCAL_ONE, ONE, TWO, THREE, LOCAL_QUORUM, QUORUM, EACH_QUORUM, ALL.
    assert_eq!(waits, [0, 0, 0, 0, 0, 0, 20, 80, 80]);
    let words = |level| wan.write(level).expect("legal").waits_for;
    assert_eq!(words(C::Quorum), "acknowledgements: 3 in DC1, 2 in DC2");
    assert_eq!(
        words(C::EachQuorum),
        "acknowledgements: 2 in DC1, 2 in DC2, 2 in DC3"
    );
    assert_eq!(words(C::LocalQuorum), "acknowledgements: 2 in DC1");
    let single = scene(1, &[(1, 0), (1, 20), (1, 80)]);
    assert_eq!(ms(single.write(C::Two)), (20, 20));
    assert_eq!(ms(single.write(C::Quorum)), (20, 20));
    assert_eq!(ms(single.write(C::EachQuorum)), (80, 80));
}

#[test]
fn a_client_without_replicas_of_its_own_waits_for_the_nearest() {
    let far = scene(3, &[(3, 30), (2, 50)]);
    assert_eq!(ms(far.write(Consistency::One)), (30, 30));
    assert_eq!(ms(far.write(Consistency::Quorum)), (30, 30));
    let error = far.write(Consistency::LocalQuorum).expect_err("illegal");
    assert_eq!(
        error.to_string(),
        "LOCAL_QUORUM needs replicas in DC3, and no row has any there"
    );
}

#[test]
fn levels_that_cannot_be_are_reported() {
    let two = scene(1, &[(1, 0), (1, 20)]);
    let error = two.write(Consistency::Three).expect_err("illegal");
    assert_eq!(error.to_string(), "THREE needs 3 replicas, and a row has 2");
    assert_eq!(two.read(Consistency::Any), Err(Illegal::ReadAtAny));
}

#[test]
fn a_read_asks_its_own_first_and_the_nearer_of_the_others_once_they_are_distinguished() {
    let wan = Scene::wan();
    assert_eq!(ms(wan.read(Consistency::Quorum)), (20, 20));
    assert_eq!(ms(wan.read(Consistency::LocalQuorum)), (0, 0));
    assert_eq!(ms(wan.read(Consistency::EachQuorum)), (80, 80));
    assert_eq!(ms(wan.read(Consistency::Three)), (0, 0));
    // 30 against 20 ms is below the threshold of twice as bad: the ring's order stays.
    let close = scene(1, &[(3, 0), (3, 20), (3, 30)]);
    assert_eq!(ms(close.read(Consistency::Quorum)), (20, 30));
    // Of three, the middle one is left where the nearest could be, the farthest is not.
    let three = scene(1, &[(3, 0), (3, 20), (3, 35), (3, 80)]);
    assert_eq!(ms(three.read(Consistency::Quorum)), (35, 35));
    let two_copies = scene(1, &[(3, 0), (2, 20), (1, 35), (1, 80)]);
    assert_eq!(ms(two_copies.read(Consistency::Quorum)), (20, 35));
    let older = Scene {
        badness: 0.1,
        ..close
    };
    assert_eq!(ms(older.read(Consistency::Quorum)), (20, 20));
}

#[test]
fn a_transaction_is_its_rounds_one_after_the_other() {
    let wan = Scene::wan();
    let all = |scene: &Scene, level| ms(scene.lwt(level, serial_of(level))).0;
    assert_eq!(all(&wan, Consistency::LocalQuorum), 0);
    // Prepare, read, propose at 20 each, commit at 20 or 80.
    assert_eq!(all(&wan, Consistency::Quorum), 80);
    assert_eq!(all(&wan, Consistency::EachQuorum), 140);
    assert_eq!(all(&wan, Consistency::Any), 60);
    let second = Scene {
        paxos: Paxos::V2,
        ..wan
    };
    assert_eq!(all(&second, Consistency::Quorum), 60);
    let words = second.lwt(Consistency::LocalQuorum, SerialConsistency::LocalSerial);
    assert_eq!(
        words.expect("legal").waits_for,
        "prepare (acknowledgements: 2 in DC1), then propose (acknowledgements: 2 in DC1), \
         then commit (acknowledgements: 2 in DC1)"
    );
}

fn scenes() -> impl Strategy<Value = Scene> {
    let places = prop::collection::vec((1_u32..5, 1_u64..200), 0..5);
    (1_u32..5, places).prop_map(|(own, others)| {
        let all: Vec<(u32, u64)> = std::iter::once((own, 0)).chain(others).collect();
        scene(1, &all)
    })
}

proptest! {
    #[test]
    fn a_stricter_level_never_waits_less(scene in scenes()) {
        use Consistency as C;
        let chains: [&[C]; 3] = [
            &[C::Any, C::One, C::Two, C::Three, C::All],
            &[C::LocalOne, C::LocalQuorum, C::EachQuorum, C::All],
            &[C::One, C::Quorum, C::EachQuorum],
        ];
        for chain in chains {
            let legal = |level: &C| scene.write(*level).ok().map(|p| p.low_us);
            let waits: Vec<u64> = chain.iter().filter_map(legal).collect();
            prop_assert!(waits.is_sorted(), "{chain:?} {waits:?}");
            let legal = |level: &C| scene.read(*level).ok().map(|p| p.low_us);
            let waits: Vec<u64> = chain.iter().filter_map(legal).collect();
            prop_assert!(waits.is_sorted(), "{chain:?} {waits:?}");
        }
    }

    #[test]
    fn without_distance_nothing_waits(mut scene in scenes()) {
        scene.places.iter_mut().for_each(|place| place.round_trip_us = 0);
        for level in EVERY {
            let all = [scene.write(level), scene.read(level), scene.lwt(level, serial_of(level))];
            for found in all.into_iter().flatten() {
                prop_assert_eq!((found.low_us, found.high_us), (0, 0));
            }
        }
    }

    #[test]
    fn no_wait_is_longer_than_the_longest_way(scene in scenes()) {
        let longest = scene.places.iter().map(|place| place.round_trip_us).max().unwrap_or(0);
        for level in EVERY {
            for found in [scene.write(level), scene.read(level)].into_iter().flatten() {
                prop_assert!(found.low_us <= found.high_us && found.high_us <= longest);
            }
        }
    }
}
