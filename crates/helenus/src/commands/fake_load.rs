//! A stand-in for the database under the real generator, for tests of what surrounds a run: record, history, export.
//! Refuses to stand in for a measurement: it runs only beside fake nodes, and answers from memory.

use helenus_load::endpoint::{Endpoint, EndpointError, Fault, Stamp};
use helenus_model::run_plan::RunPlan;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The fake node's behaviour beside which the generator answers itself.
pub(crate) const BEHAVIOUR: &str = "database";

/// Answers each operation after 10 to 100 µs, by its position.
struct Memory;

impl Endpoint for Memory {
    async fn prepare(&mut self, _: &Workload, _: Seed) -> Result<(), EndpointError> {
        Ok(())
    }

    async fn run(&self, _: usize, position: u64, stamp: &Stamp) -> Result<(), Fault> {
        stamp.start();
        let until = Instant::now() + Duration::from_micros(10 + position % 10 * 10);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        stamp.end();
        Ok(())
    }
}

/// The generator without a database: plan on standard input, JSON lines on standard output.
pub(crate) fn run() -> ExitCode {
    let plan: Result<RunPlan, _> = serde_json::from_reader(std::io::stdin().lock());
    match plan {
        Ok(plan) => {
            let end = helenus_load::serve::serve_endpoint(&plan, Memory, std::io::stdout());
            ExitCode::from(end.exit_code())
        }
        Err(_) => ExitCode::from(crate::error::code::USAGE),
    }
}
