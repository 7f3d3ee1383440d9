//! What a calibration says of runs and of their comparison.
//! Refuses a calibration that was measured: its figures are made up.

use super::*;
use crate::calibration::{CALIBRATION_VERSION, Calibration, Step};
use crate::machine::Machine;
use crate::result::tables;
use crate::units::Bytes;

fn step(rate_per_s: Option<f64>) -> Step {
    Step {
        rate_per_s,
        in_flight: 1024,
        achieved_per_s: rate_per_s.unwrap_or(400_000.0),
        cpu_us: 20.0,
        late_us: [Some(40.0), Some(90.0)],
        response_us: rate_per_s.map(|_| [Some(60.0), Some(200.0)]),
        service_us: [Some(30.0), Some(100.0)],
    }
}

fn calibration() -> Calibration {
    Calibration {
        format: Format::new("calibration", CALIBRATION_VERSION),
        helenus: "0.1.0".to_owned(),
        machine: Machine {
            cores: 2,
            memory: Bytes(1 << 30),
            arch: "x86_64".to_owned(),
            kernel: "6.18".to_owned(),
            processor: "any".to_owned(),
        },
        unix_s: 0,
        steps: [Some(1000.0), Some(10_000.0), None].map(step).to_vec(),
    }
}

#[test]
fn each_phase_keeps_what_the_calibration_says_at_its_rate() {
    let of = |name: &str, rate: Option<f64>| phase(name, &["write"], 400.0, rate);
    let mut run = result(vec![
        of("warm", None),
        of("slow", Some(900.0)),
        of("fast", Some(7e3)),
    ]);
    assert_eq!(tables::calibration(&run.phases), None);
    run.set_calibration(&calibration());
    let kept = run
        .phases
        .iter()
        .map(|phase| phase.around.calibration.clone());
    let wanted = [None, Some(1000.0), Some(10_000.0)].map(|rate| Some(step(rate)));
    assert_eq!(kept.collect::<Vec<_>>(), wanted);
    // Of all of them one line, also when the run was stored since.
    let stored = serde_json::to_string(&run).unwrap();
    let again: RunResult = serde_json::from_str(&stored).unwrap();
    assert_eq!(again.phases[2].around, run.phases[2].around);
    let said = tables::calibration(&again.phases).unwrap();
    assert!(said.ends_with("(helenus calibrate, at 10,000/s)"), "{said}");
    let alone = tables::calibration(&again.phases[..1]).unwrap();
    assert!(
        alone.contains("0.03 ms at p50 and 0.10 ms at p99"),
        "{alone}"
    );
}

#[test]
fn a_comparison_has_the_calibration_of_its_runs() {
    let (one, mut other) = (write(400.0), write(420.0));
    let compared = |a: &RunResult, b: &RunResult| {
        let found = compare(&[facts("r1", 1, a)], &[facts("r2", 2, b)], &options(&[]));
        found.unwrap().calibration
    };
    assert_eq!(compared(&one, &other), None);
    other.set_calibration(&calibration());
    assert_eq!(compared(&one, &other), Some(step(Some(1000.0))));
    assert_eq!(compared(&other, &one), Some(step(Some(1000.0))));
}
