//! `prove idle`: the anonymous memory of one tiny node that nobody uses, 30 s after it was ready.
//! Refuses a node that is still busy with its own start.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::Rig;
use super::{start, tiny};
use std::error::Error;
use std::time::Duration;

/// Collections and compilers are done with the start by then.
const AFTER: Duration = Duration::from_secs(30);

const fn at_most(at_most: f64) -> Bar {
    Bar::median("tiny", "anon_mb", at_most)
}

pub(crate) const IDLE: Campaign = Campaign {
    name: "idle",
    about: "anonymous PSS of one idle tiny node, 30 s after it was ready",
    variants: &["tiny"],
    bars: &[at_most(170.0), at_most(140.0).as_aim()],
    prepare: start::prepare,
    trial,
};

fn trial(rig: &Rig, _only: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    rig.run(&["up", "p"])?;
    let watch = Watch::begin()?;
    std::thread::sleep(AFTER);
    let anonymous = tiny::anonymous_mb(rig);
    rig.clear()?;
    Ok(Outcome {
        measures: by_name([("anon_mb", anonymous?)]),
        pressure: watch.end(0.0)?,
    })
}
