//! `--set KEY=VALUE`, YAML and topologies: what is accepted is written so that it reads back equal, and can be planned.
#![no_main]

use helenus_model::network::NetworkPlan;
use helenus_model::release::{Release, split_assignment};
use helenus_model::topology::file;
use helenus_model::yaml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok((key, value)) = split_assignment(text) {
        let _refused = Release::newest().keys().check(key, value);
    }
    if let Ok(file) = file::read(text) {
        assert!(file.topology.check().is_ok());
        assert_eq!(file.topology.places().len(), file.topology.nodes());
        assert!(NetworkPlan::of(&file.topology, "fuzz").is_ok());
    }
    if let Ok(value) = yaml::parse(text) {
        let written = yaml::render(&value);
        assert_eq!(yaml::parse(&written).as_ref(), Ok(&value), "{written}");
    }
});
