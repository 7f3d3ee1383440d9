//! `helenus calibrate`: what the load generator costs on this machine, how fast it is and how late.

use crate::cli::{Calibrate, VERSION};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_lab::calibrate::{self, CalibrateError, CalibrateRequest};
use helenus_model::calibration::{Calibration, Step};
use helenus_model::units::{fixed, whole};
use std::time::{Duration, Instant};

/// Loads that are measured one after the other, each with a warm-up of a third.
const LOADS: u128 = 4;

/// The shortest of them that is taken.
const SHORTEST: Duration = Duration::from_millis(100);

impl Answers for Calibration {
    fn answer(&self) -> String {
        format!(
            "the generator reaches {} operations/s on this machine",
            whole(self.highest_per_s())
        )
    }
}

pub(crate) fn run(flags: &Calibrate, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.each < SHORTEST {
        let error = format!("--each {:?} is too short to measure anything", flags.each);
        let hint = format!("at least {SHORTEST:?}; 3s knows the 99th percentile at 1,000/s");
        return Err(CommandError::new(code::USAGE, error).hint(Some(hint)));
    }
    if flags.dry_run {
        ui.out(&format!(
            "would run the load generator against a null server at 1,000, 10,000 and 100,000/s and in a closed loop, {} s each, and keep the figures in {}\n",
            flags.each.as_secs_f64(),
            calibrate::file(&context.paths).display()
        ));
        return Ok(0);
    }
    let request = CalibrateRequest {
        each: flags.each,
        version: VERSION.to_owned(),
    };
    let total = u64::try_from(LOADS * flags.each.as_millis() * 4 / 3).unwrap_or(u64::MAX);
    let progress = ui.progress("the generator against a null server");
    let start = Instant::now();
    let done = calibrate::run(context, &request, &mut |_| {
        let passed = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        progress.at(passed.min(total), total);
    });
    drop(progress);
    let calibration = done.map_err(|error| {
        let exit = match &error {
            CalibrateError::Cancelled => code::INTERRUPTED,
            _ => code::ENVIRONMENT,
        };
        CommandError::of(exit, &error)
    })?;
    ui.result(&calibration, || text(&calibration));
    Ok(0)
}

fn text(calibration: &Calibration) -> String {
    let mut table = Table::new(&[
        "load",
        "done/s",
        "CPU µs/op",
        "late p50",
        "late p99",
        "response p50",
        "response p99",
        "service p50",
        "service p99",
    ]);
    let us = |us: Option<f64>| us.map_or("–".to_owned(), |us| fixed(us, 0));
    for step in &calibration.steps {
        let Step {
            late_us: [late_p50, late_p99],
            response_us,
            service_us: [p50, p99],
            ..
        } = *step;
        let load = match step.rate_per_s {
            Some(rate) => format!("{}/s", whole(rate)),
            None => format!("closed, {} in flight", step.in_flight),
        };
        // Without a schedule nothing is late, and nothing has a response time.
        let [response_p50, response_p99] = response_us.unwrap_or_default();
        let late = |value| match step.rate_per_s {
            Some(_) => us(value),
            None => "–".to_owned(),
        };
        table.row([
            load,
            whole(step.achieved_per_s),
            fixed(step.cpu_us, 2),
            late(late_p50),
            late(late_p99),
            us(response_p50),
            us(response_p99),
            us(p50),
            us(p99),
        ]);
    }
    format!(
        "the load generator against a null server on this machine ({} cores of {})\n\n{}\n\
         times in µs; service time is that of two processes and a socket: none measured on this machine can be shorter\n\
         later runs of this build on this machine print these figures beside their own\n",
        calibration.machine.cores,
        calibration.machine.processor,
        table.render()
    )
}
