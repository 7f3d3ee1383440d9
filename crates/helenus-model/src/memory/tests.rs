//! Plans of memory as values, and the laws that hold for every one.
//! Refuses IO, as the room does.

use super::*;
use proptest::prelude::{any, prop_assert};
use serde_json::json;

fn tiny() -> MemoryPlan {
    let yaml = json!({
        "file_cache_size": "16MiB", "networking_cache_size": "4MiB",
        "memtable_allocation_type": "offheap_objects", "memtable_offheap_space": "24MiB",
        "concurrent_reads": 2, "concurrent_writes": 2, "native_transport_max_threads": 4,
        "concurrent_compactors": 1, "memtable_flush_writers": 1,
    });
    MemoryPlan::of(
        Bytes::mib(64),
        &yaml,
        &flags(&[
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xss256k",
            "-XX:ReservedCodeCacheSize=32M",
            "-XX:MaxDirectMemorySize=96M",
        ]),
        true,
    )
}

fn flags(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|f| (*f).to_owned()).collect()
}

#[test]
fn a_tiny_node_by_kind() {
    let plan = tiny();
    insta::assert_snapshot!(serde_json::to_string(&plan).unwrap(), @r#"{"heap":67108864,"direct":71303168,"metaspace":12582912,"code":20971520,"threads":8355840,"jvm":22020096,"archive":29360128,"files":29360128,"bound":521666560}"#);
    insta::assert_snapshot!(format!("{} of its own, {} in all", plan.anonymous(), plan.total()), @"220 MiB of its own, 248 MiB in all");
}

#[test]
fn a_disk_in_memory_is_planned_whole() {
    let (without, with) = (tiny(), tiny().with_disk(Some(Bytes::mib(256))));
    assert_eq!(with.anonymous(), without.anonymous());
    assert_eq!(with.total(), without.total() + Bytes::mib(256));
    assert_eq!(with.bound, without.bound + Bytes::mib(256));
    assert_eq!(without.with_disk(None), without);
    let text = serde_json::to_string(&with).unwrap();
    assert!(text.contains(r#""disk":268435456"#), "{text}");
    // A plan that was stored before there were disks is read.
    let old = serde_json::to_string(&without).unwrap();
    assert_eq!(serde_json::from_str::<MemoryPlan>(&old).unwrap(), without);
}

#[test]
fn flags_and_old_names_count() {
    let of = |yaml: &Value, f: &[&str]| MemoryPlan::of(Bytes::mib(512), yaml, &flags(f), true);
    let stock = of(&json!({}), &[]);
    assert_eq!(
        of(&json!({}), &["-XX:MaxDirectMemorySize=1M"]).direct,
        Bytes::mib(1)
    );
    assert_eq!(
        of(&json!({}), &["-XX:MaxMetaspaceSize=8m"]).metaspace,
        Bytes::mib(8)
    );
    // Of a flag that stands there twice the last counts.
    let twice = [
        "-XX:ReservedCodeCacheSize=1G",
        "-XX:ReservedCodeCacheSize=10M",
    ];
    assert_eq!(of(&json!({}), &twice).code, Bytes::mib(10));
    let old = of(
        &json!({"file_cache_size_in_mb": 7, "networking_cache_size_in_mb": 3}),
        &[],
    );
    let new = of(
        &json!({"file_cache_size": "7MiB", "networking_cache_size": "3MiB"}),
        &[],
    );
    assert_eq!(old, new);
    assert!(new.direct < stock.direct);
    let on_heap = of(
        &json!({"memtable_allocation_type": "heap_buffers", "memtable_offheap_space": "1GiB"}),
        &[],
    );
    assert_eq!(on_heap.direct, stock.direct);
    let moved = of(&json!({}), &["-XX:ArchiveRelocationMode=1"]);
    assert!(moved.archive > stock.archive);
    let without = MemoryPlan::of(Bytes::mib(512), &json!({}), &[], false);
    assert_eq!(without.archive, moved.archive);
}

#[test]
fn what_fits_is_reported() {
    assert_eq!(fitting(Bytes::mib(300), Bytes::mib(3500)), 11);
    assert_eq!(fitting(Bytes::mib(300), Bytes::mib(299)), 0);
    let of = |heap: Bytes| heap + Bytes::mib(100);
    let largest = |each| largest_heap(Bytes::mib(48), Bytes::mib(512), Bytes::mib(each), of);
    assert_eq!(largest(147), None);
    assert_eq!(largest(148), Some(Bytes::mib(48)));
    assert_eq!(largest(250), Some(Bytes::mib(150)));
    assert_eq!(largest(5000), Some(Bytes::mib(512)));
}

#[test]
fn the_blind_formula_as_cassandra_has_it() {
    let mib = |ram: u64| blind_heap(Bytes::mib(ram)).as_mib();
    assert_eq!(
        [mib(1024), mib(2048), mib(4096), mib(16_384), mib(65_536)],
        [512, 1024, 1024, 4096, 8192]
    );
}

proptest::proptest! {
    #[test]
    fn more_heap_is_more_memory_and_the_bound_is_above_the_plan(heap in 48_u64..65_536, reads in 1_u64..256) {
        let yaml = json!({"concurrent_reads": reads});
        let plan = MemoryPlan::of(Bytes::mib(heap), &yaml, &[], true);
        let more = MemoryPlan::of(Bytes::mib(heap + 1), &yaml, &[], true);
        prop_assert!(more.total() > plan.total());
        prop_assert!(plan.bound >= plan.total());
        prop_assert!(plan.limit(Bytes(0)) > plan.bound);
    }

    #[test]
    fn the_largest_heap_fits_and_one_more_does_not(each in 100_u64..100_000) {
        let of = |heap: Bytes| MemoryPlan::of(heap, &json!({}), &[], true).total();
        let each = Bytes::mib(each);
        if let Some(heap) = largest_heap(Bytes::mib(48), Bytes::mib(1 << 20), each, of) {
            prop_assert!(of(heap) <= each);
            prop_assert!(of(heap + Bytes::mib(1)) > each);
        }
    }

    #[test]
    fn the_blind_heap_is_never_above_half(ram in any::<u32>()) {
        prop_assert!(blind_heap(Bytes(u64::from(ram))).0 <= u64::from(ram) / 2);
    }
}
