//! Lines of cassandra-stress: what is taken can be told and planned; what is refused has its reason in one line.
#![no_main]

use helenus_model::stress::{Asked, Rate, help, percentiles, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let words: Vec<String> = text.split('\n').map(str::to_owned).collect();
    match read(&words) {
        Ok(Asked::Run { stress, .. }) => {
            assert!(stress.settings().ends_with("\n\n"));
            let _told = stress.cautions();
            let _statements = stress.schema_statements();
            let Some(workload) = stress.workload() else {
                return;
            };
            let Ok(operations) = stress.operations(&workload) else {
                return;
            };
            assert!(!operations.is_empty());
            let threads = match stress.rate {
                Rate::Threads { threads, .. } => threads,
                Rate::Search { least, .. } => least,
            };
            if let Ok(phase) = stress.phase(threads, &operations) {
                assert_eq!(phase.operations.len(), operations.len());
            }
            let _refused = stress.warm_ups(3, &operations);
        }
        Ok(Asked::Print(dist)) => assert_eq!(percentiles(&dist).lines().count(), 13),
        Ok(Asked::Help(about)) => assert!(!help(about.as_deref()).is_empty()),
        Ok(Asked::Version) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
