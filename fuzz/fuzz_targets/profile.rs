//! A profile's YAML and its statements, as far as rows and what operations send; distributions on the way.
#![no_main]

use helenus_model::dist::{Dist, RatioDist};
use helenus_model::seed::Seed;
use helenus_model::table::{Table, if_absent, qualify};
use helenus_model::workload::maker::Maker;
use helenus_model::workload::profile::{Profile, ProfileWorkload, Spec};
use libfuzzer_sys::fuzz_target;

/// Rows and bytes that one input may lead to: more would only be slow.
const MOST: u64 = 1_000;

fuzz_target!(|text: &str| {
    if let Ok(dist) = text.parse::<Dist>() {
        let drawn = dist.at(7, 0x9e37_79b9_7f4a_7c15);
        assert!(
            (dist.min()..=dist.max()).contains(&drawn),
            "{drawn} of {dist}"
        );
    }
    let _refused = text.parse::<RatioDist>();
    let _refused = Table::read("ks", [text]);
    let _same = qualify(&if_absent(text), "ks");
    let Ok(profile) = Profile::read(text) else {
        return;
    };
    let Ok(Some(table)) = profile.defined_table() else {
        return;
    };
    if profile
        .columns
        .values()
        .any(|column| column.size.max() > 1_000)
    {
        return;
    }
    let workload = ProfileWorkload {
        name: "fuzzed".to_owned(),
        specs: vec![Spec { profile, table }],
        walk: None,
    };
    let Ok(maker) = Maker::new(&workload, Seed(1)) else {
        return;
    };
    let _schema = workload.schema();
    if maker.about_rows(0, 3) > MOST {
        return;
    }
    for operation in 0..workload.operations().len() {
        if maker.partitions(operation, 5) == 1 {
            assert_eq!(
                maker.make(operation, 5, &[3]),
                maker.make(operation, 5, &[3])
            );
        }
    }
    let names: Vec<&str> = workload.specs[0]
        .table
        .columns
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    let rows: Vec<_> = maker.rows(0, 3).collect();
    let validate = workload
        .operations()
        .iter()
        .position(|name| name == "validate");
    if let Some(operation) = validate {
        let said = maker.check(operation, 5, &[3], &names, &rows);
        assert_eq!(said, helenus_model::workload::Check::Match);
    }
});
