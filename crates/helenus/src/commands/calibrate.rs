//! `helenus calibrate`: what the load generator costs on this machine, how fast it is and how late.

use crate::cli::Calibrate;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_lab::calibrate::{self, CalibrateError, CalibrateRequest};
use helenus_model::calibration::{Calibration, Step};
use helenus_model::result::RunResult;
use helenus_model::units::{fixed, thousands};
use std::time::Instant;

/// Loads that are measured one after the other, each with a warm-up of a third.
const LOADS: u128 = 4;

impl Answers for Calibration {
    fn answer(&self) -> String {
        format!(
            "the generator reaches {} operations/s on this machine",
            whole(self.highest_per_s())
        )
    }
}

pub(crate) fn run(flags: &Calibrate, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.dry_run {
        ui.out(&format!(
            "would load a null server of its own at 1,000, 10,000 and 100,000/s and in a closed loop, {} s each, and keep the figures in {}\n",
            flags.each.as_secs_f64(),
            calibrate::file(&context.paths).display()
        ));
        return Ok(0);
    }
    let request = CalibrateRequest {
        each: flags.each,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let total = u64::try_from(LOADS * flags.each.as_millis() * 4 / 3).unwrap_or(u64::MAX);
    let progress = ui.progress("the generator against a null server");
    let begun = Instant::now();
    let done = calibrate::run(context, &request, &mut |_| {
        let passed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate in whole operations a second"
)]
fn whole(rate: f64) -> String {
    thousands(rate.round() as u64)
}

/// A line below a run's table: what of its times is the generator's, where this machine is calibrated.
pub(crate) fn beside(calibration: Option<&Calibration>, result: &RunResult) -> Option<String> {
    let rates = result.phases.iter().map(|phase| phase.rate_per_s);
    let highest = rates.reduce(|a, b| if a < b { b } else { a }).flatten();
    let step = calibration?.nearest(highest)?;
    let at = step
        .rate_per_s
        .map_or("in a closed loop".to_owned(), |rate| {
            format!("at {}/s", whole(rate))
        });
    let [late_p50, late_p99] = step.late_us;
    let [p50, p99] = step.service_us;
    let sum = |a: Option<f64>, b: Option<f64>| Some(fixed((a? + b?) / 1000.0, 2));
    // In a closed loop nothing is late: there is no schedule.
    let late = |us: Option<f64>| step.rate_per_s.map_or(Some(0.0), |_| us);
    Some(format!(
        "generator and system take {} ms of p50 and {} ms of p99 on this machine, and {} µs of CPU an operation ({at}, helenus calibrate)\n",
        sum(p50, late(late_p50))?,
        sum(p99, late(late_p99))?,
        fixed(step.cpu_us, 1)
    ))
}

fn text(calibration: &Calibration) -> String {
    let mut table = Table::new(&[
        "load",
        "done/s",
        "CPU µs/op",
        "late p50",
        "late p99",
        "service p50",
        "service p99",
    ]);
    let us = |us: Option<f64>| us.map_or("–".to_owned(), |us| fixed(us, 0));
    for step in &calibration.steps {
        let Step {
            late_us: [late_p50, late_p99],
            service_us: [p50, p99],
            ..
        } = *step;
        let load = match step.rate_per_s {
            Some(rate) => format!("{}/s", whole(rate)),
            None => format!("closed, {} in flight", step.in_flight),
        };
        // Without a schedule nothing is late.
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
            us(p50),
            us(p99),
        ]);
    }
    format!(
        "the load generator against a null server on this machine ({} cores of {})\n\n{}\n\
         times in µs; *service* is the floor below which no time measured here can be: two processes and a socket, no database\n\
         the figures are printed beside later runs of this build on this machine\n",
        calibration.machine.cores,
        calibration.machine.processor,
        table.render()
    )
}
