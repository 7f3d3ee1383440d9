//! Laws of the ring, and tokens that a real Cassandra 5.0.9 gave to known keys.
//! Refuses to repeat the arithmetic under test: what is expected comes from Cassandra or from the law.

use std::collections::{BTreeMap, BTreeSet};

use helenus_model::ring::{
    Factor, Member, Replication, ReplicationError, Ring, RingError, composite_key, even_tokens,
    murmur3_token,
};
use proptest::prelude::*;

/// A key in hexadecimal and what `SELECT token(k)` said, a line each.
const TOKENS: &str = include_str!("data/ring/tokens.txt");

#[test]
fn tokens_are_those_of_cassandra() {
    for line in TOKENS.lines() {
        let (hex, token) = line.split_once(' ').unwrap();
        let key: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
            .collect();
        assert_eq!(murmur3_token(&key), token.parse::<i64>().unwrap(), "{hex}");
    }
    assert_eq!(murmur3_token(b""), i64::MIN);
}

#[test]
fn composite_tokens_are_those_of_cassandra() {
    let token = |a: &str, b: i32| murmur3_token(&composite_key([a.as_bytes(), &b.to_be_bytes()]));
    assert_eq!(token("k0", -1), 3534879692405087343);
    assert_eq!(token("k1", 0), -7880618851113928668);
    assert_eq!(token("k2", 1), -1249971338869983987);
}

#[derive(serde::Deserialize)]
struct Located {
    dc: String,
    rack: String,
    tokens: Vec<i64>,
}

#[derive(serde::Deserialize)]
struct Case {
    replication: BTreeMap<String, String>,
    /// A token, then its replicas as indices of members.
    replicas: Vec<Vec<i64>>,
    effective_bits: Vec<u32>,
}

#[derive(serde::Deserialize)]
struct Judged {
    members: Vec<Located>,
    cases: Vec<Case>,
    plain_bits: Vec<u32>,
}

/// Random rings, judged by Cassandra's own strategy and partitioner classes: replicas in order, shares to the last bit.
#[test]
fn replicas_and_shares_are_those_of_cassandras_classes() {
    let judged: Vec<Judged> =
        serde_json::from_str(include_str!("data/ring/strategies.json")).unwrap();
    let bits = |shares: Vec<f32>| shares.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    for ring_case in judged {
        let members = ring_case.members.into_iter().map(|m| Member {
            data_center: m.dc,
            rack: m.rack,
            tokens: m.tokens,
        });
        let ring = Ring::new(members.collect()).unwrap();
        assert_eq!(bits(ring.ownership()), ring_case.plain_bits);
        for case in ring_case.cases {
            let replication = Replication::from_map(&case.replication).unwrap();
            let name = format!("{replication:?} of {} nodes", ring.members().len());
            for line in case.replicas {
                let replicas = replication.replicas(&ring, line[0]).unwrap();
                let replicas: Vec<i64> = replicas.into_iter().map(|r| r as i64).collect();
                assert_eq!(replicas, line[1..], "{name}");
            }
            let shares = ring.effective_ownership(&replication).unwrap();
            assert_eq!(bits(shares), case.effective_bits, "{name}");
        }
    }
}

#[test]
fn one_token_a_node_is_centred() {
    assert_eq!(even_tokens(1, 1, 0), [[0]]);
    assert_eq!(even_tokens(2, 1, 0), [[-(1_i64 << 62)], [1 << 62]]);
    assert_eq!(
        even_tokens(3, 1, 0),
        [
            [-6_148_914_691_236_517_206],
            [0],
            [6_148_914_691_236_517_205]
        ]
    );
    assert!(even_tokens(0, 1, 0).is_empty());
}

fn member(dc: usize, rack: usize, tokens: Vec<i64>) -> Member {
    Member {
        data_center: format!("DC{}", dc + 1),
        rack: format!("rack{}", rack + 1),
        tokens,
    }
}

fn simple(all: usize) -> Replication {
    Replication::Simple(Factor::full(all))
}

fn topology(factors: &[(usize, usize)]) -> Replication {
    Replication::NetworkTopology(
        factors
            .iter()
            .map(|(dc, all)| (format!("DC{}", dc + 1), Factor::full(*all)))
            .collect(),
    )
}

#[test]
fn racks_are_spread_while_there_are_enough() {
    // rack1 rack1 rack2, tokens 0 10 20: two replicas never share a rack.
    let racks = [0, 0, 1];
    let members = racks
        .iter()
        .zip([0, 10, 20])
        .map(|(rack, token)| member(0, *rack, vec![token]));
    let ring = Ring::new(members.collect()).unwrap();
    let two = topology(&[(0, 2)]);
    assert_eq!(two.replicas(&ring, 0), Ok(vec![0, 2]));
    assert_eq!(two.replicas(&ring, 1), Ok(vec![1, 2]));
    assert_eq!(two.replicas(&ring, 11), Ok(vec![2, 0]));
    assert_eq!(simple(2).replicas(&ring, 0), Ok(vec![0, 1]));
    // Three of two racks: the repeat is taken where it is met, not at the end.
    assert_eq!(topology(&[(0, 3)]).replicas(&ring, 0), Ok(vec![0, 1, 2]));
    assert_eq!(topology(&[(1, 3)]).replicas(&ring, 0), Ok(vec![]));
    assert_eq!(
        Replication::Local.replicas(&ring, 0),
        Err(ReplicationError::Local)
    );
}

#[test]
fn a_token_has_one_owner() {
    let twice = vec![member(0, 0, vec![1]), member(0, 0, vec![2, 1])];
    assert_eq!(
        Ring::new(twice),
        Err(RingError::Taken {
            token: 1,
            first: 0,
            second: 1
        })
    );
}

#[test]
fn replication_is_read_as_it_is_stored() {
    let read = |pairs: &[(&str, &str)]| {
        let map: BTreeMap<String, String> = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        Replication::from_map(&map)
    };
    let class = "org.apache.cassandra.locator.NetworkTopologyStrategy";
    assert_eq!(
        read(&[("class", class), ("DC1", "3"), ("DC2", "2")]),
        Ok(topology(&[(0, 3), (1, 2)]))
    );
    assert_eq!(
        read(&[("class", "SimpleStrategy"), ("replication_factor", "3/1")]),
        Ok(Replication::Simple(Factor {
            all: 3,
            transient: 1
        }))
    );
    assert_eq!(read(&[]), Err(ReplicationError::NoClass));
    assert_eq!(
        read(&[("class", "SimpleStrategy")]),
        Err(ReplicationError::NoFactor)
    );
    assert!(matches!(
        read(&[("class", "com.example.Own")]),
        Ok(Replication::Foreign { .. })
    ));
}

/// Nodes, racks and tokens a node of one data centre.
type Shape = (usize, usize, usize);

fn even_ring(shapes: &[Shape]) -> Ring {
    let mut members = Vec::new();
    for (dc, (nodes, racks, tokens)) in shapes.iter().enumerate() {
        for (index, list) in even_tokens(*nodes, *tokens, dc).into_iter().enumerate() {
            members.push(member(dc, index % racks, list));
        }
    }
    Ring::new(members).unwrap()
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    prop::collection::vec((1..9_usize, 1..4_usize, 1..17_usize), 1..6)
}

/// A ring with tokens anywhere.
fn any_ring() -> impl Strategy<Value = Ring> {
    let node = (0..3_usize, 0..3_usize, 1..6_usize);
    let nodes = prop::collection::vec(node, 1..8);
    let tokens = prop::collection::hash_set(any::<i64>(), 48);
    (nodes, tokens).prop_map(|(nodes, tokens)| {
        let mut tokens = tokens.into_iter();
        let members = nodes
            .into_iter()
            .map(|(dc, rack, n)| member(dc, rack, tokens.by_ref().take(n).collect()));
        Ring::new(members.collect()).unwrap()
    })
}

fn sum(shares: &[f32]) -> f64 {
    shares.iter().copied().map(f64::from).sum()
}

proptest! {
    /// Also that no token is used twice: the ring would refuse it.
    #[test]
    fn even_tokens_give_each_node_of_a_data_centre_the_same_share(shapes in shapes()) {
        let ring = even_ring(&shapes);
        for (dc, (nodes, racks, _)) in shapes.iter().enumerate() {
            let alone = topology(&[(dc, 1)]);
            let shares = ring.effective_ownership(&alone).unwrap();
            for (member, share) in ring.members().iter().zip(&shares) {
                let here = member.data_center == format!("DC{}", dc + 1);
                let expected = if here { 1.0 / *nodes as f64 } else { 0.0 };
                prop_assert!((f64::from(*share) - expected).abs() < 1e-3, "{share} {expected}");
            }
            // Replicas stay even too where every rack has as many nodes.
            if nodes % racks == 0 {
                let both = topology(&[(dc, 2)]);
                let shares = ring.effective_ownership(&both).unwrap();
                for (member, share) in ring.members().iter().zip(&shares) {
                    if member.data_center == format!("DC{}", dc + 1) {
                        let expected = 2_f64.min(*nodes as f64) / *nodes as f64;
                        prop_assert!((f64::from(*share) - expected).abs() < 1e-3);
                    }
                }
            }
        }
    }

    #[test]
    fn shares_sum_to_one_or_to_the_factors(ring in any_ring(), factor in 1..4_usize) {
        let nodes = ring.members().len();
        prop_assert!((sum(&ring.ownership()) - 1.0).abs() < 1e-4);
        let shares = ring.effective_ownership(&simple(factor)).unwrap();
        prop_assert!((sum(&shares) - factor.min(nodes) as f64).abs() < 1e-3);
        let shares = ring.effective_ownership(&topology(&[(0, factor), (1, 1)])).unwrap();
        let count = |dc: &str| ring.members().iter().filter(|m| m.data_center == dc).count();
        let expected = factor.min(count("DC1")) + 1.min(count("DC2"));
        prop_assert!((sum(&shares) - expected as f64).abs() < 1e-3);
    }

    #[test]
    fn primary_ranges_cover_the_ring_once(ring in any_ring(), token in any::<i64>()) {
        let holders: Vec<usize> = (0..ring.members().len())
            .filter(|m| ring.primary_ranges(*m).iter().any(|r| r.contains(token)))
            .collect();
        prop_assert_eq!(&holders, &Vec::from_iter(ring.owner_of(token)));
        let widths = (0..ring.members().len())
            .flat_map(|m| ring.primary_ranges(m))
            .fold(0_u64, |all, range| all.wrapping_add(range.width()));
        prop_assert_eq!(widths, 0, "the whole ring, modulo 2^64");
    }

    #[test]
    fn replicas_are_distinct_and_as_many_as_asked(
        ring in any_ring(),
        token in any::<i64>(),
        factor in 1..5_usize,
    ) {
        let here: Vec<&Member> = ring.members().iter().filter(|m| m.data_center == "DC1").collect();
        let racks: BTreeSet<&String> = here.iter().map(|m| &m.rack).collect();
        let replicas = topology(&[(0, factor)]).replicas(&ring, token).unwrap();
        prop_assert_eq!(replicas.len(), factor.min(here.len()));
        prop_assert_eq!(BTreeSet::from_iter(&replicas).len(), replicas.len());
        let used: BTreeSet<&String> = replicas.iter().map(|r| &ring.members()[*r].rack).collect();
        prop_assert_eq!(used.len(), racks.len().min(replicas.len()));
    }
}
