//! Mappings of a real node, and made-up ones.
//! Refuses IO, as the room does.

use super::*;

/// A tiny node, 5.0.9 on Java 17, a minute after it was ready.
const TINY: &str = include_str!("../../tests/data/smaps-tiny-17.txt");

#[test]
fn a_real_node_by_kind() {
    let kinds = by_kind(TINY, Bytes::mib(64));
    let kib = |b: Bytes| b.0 >> 10;
    insta::assert_snapshot!(
        format!(
            "heap {} metaspace {} code {} threads {} archive {} native {} files {}",
            kib(kinds.heap), kib(kinds.metaspace), kib(kinds.code), kib(kinds.threads),
            kib(kinds.archive), kib(kinds.native), kib(kinds.files)
        ),
        @"heap 60496 metaspace 4328 code 8836 threads 4100 archive 56896 native 64668 files 28792");
    // Every page stands in one kind.
    let pss: u64 = TINY
        .lines()
        .filter_map(|l| {
            l.strip_prefix("Pss:")?
                .trim()
                .strip_suffix(" kB")?
                .trim()
                .parse::<u64>()
                .ok()
        })
        .sum();
    assert_eq!(kib(kinds.anonymous() + kinds.files), pss);
}

fn mapping(range: &str, access: &str, name: &str, kib: u64) -> String {
    format!("{range} {access} 00000000 00:00 0   {name}\nPss:  {kib} kB\nAnonymous:  {kib} kB\n")
}

#[test]
fn a_heap_above_the_reach_of_compressed_pointers_is_known_by_its_size() {
    let text = mapping("7f0000000000-7f0a00000000", "rw-p", "", 1024);
    let kinds = by_kind(&text, Bytes(40 << 30));
    assert_eq!(kinds.heap, Bytes::mib(1));
    assert_eq!(by_kind(&text, Bytes::mib(64)).heap, Bytes(0));
}

#[test]
fn what_fits_no_rule_is_native_and_nonsense_is_nothing() {
    let text = mapping("7f0000001000-7f0000002000", "rw-p", "", 4)
        + &mapping("55c6279be000-55c62889a000", "rw-p", "[heap]", 8);
    assert_eq!(by_kind(&text, Bytes::mib(64)).native, Bytes(12 << 10));
    for nonsense in ["", "x", "-", "1-2", "Pss: 4 kB", "zz-zz rw-p 0 0 0"] {
        assert_eq!(by_kind(nonsense, Bytes(0)), MemoryByKind::default());
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(text in "[0-9a-f: kBrwxp\\-\n\\[\\]Pss]{0,400}") {
        let _kinds = by_kind(&text, Bytes::mib(64));
    }
}
