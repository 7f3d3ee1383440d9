//! `--set KEY=VALUE` and YAML: what is accepted is written so that it reads back equal.
#![no_main]

use helenus_model::release::{Release, split_assignment};
use helenus_model::yaml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok((key, value)) = split_assignment(text) {
        let _refused = Release::newest().keys().check(key, value);
    }
    if let Ok(value) = yaml::parse(text) {
        let written = yaml::render(&value);
        assert_eq!(yaml::parse(&written).as_ref(), Ok(&value), "{written}");
    }
});
