//! `prove wan`: how exact the emulated distance is, what it costs, and what it lets through.
//! Refuses ping: delay is measured over an established TCP connection.

use super::campaign::{Bar, Campaign, Measures, Outcome, by_name};
use super::host::Watch;
use super::rig::Rig;
use helenus_cluster::error::with_causes;
use helenus_cluster::net::client::{self, Keeper, NetError};
use helenus_model::network::NetworkPlan;
use helenus_model::topology::flags::TopologyFlags;
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

/// Round trips of a trial.
const SAMPLES: u32 = 1000;

/// What crosses in the trial of its cost: packets a second, bytes in each, seconds.
const PACKETS: (u32, u32, u32) = (10_000, 1_000, 10);

/// Seconds of the trial of bulk; the first half is not counted.
const BULK_SECONDS: u32 = 10;

/// One way of 40 ms.
const SLEEP: Duration = Duration::from_millis(20);

const BETWEEN: (&str, &str) = ("DC1", "DC2");

pub(crate) const WAN: Campaign = Campaign {
    name: "wan",
    about: "emulated distance: 1,000 round trips at 10, 40, 80 and 150 ms, 10,000 packets of 1 KB a second, bulk at 40 ms, \
            and the machine's own sleeps",
    variants: &["10ms", "40ms", "80ms", "150ms", "packets", "bulk", "timer"],
    bars: &[
        Bar::median("10ms", "p50_off", 1.0),
        Bar::median("40ms", "p50_off", 1.0),
        Bar::median("80ms", "p50_off", 1.0),
        Bar::median("150ms", "p50_off", 1.0),
        Bar::median("10ms", "p99_error_ms", 1.0),
        Bar::median("40ms", "p99_error_ms", 1.0),
        Bar::median("80ms", "p99_error_ms", 1.0),
        Bar::median("150ms", "p99_error_ms", 1.0),
        Bar::median("packets", "cpu_percent", 15.0),
        Bar::median("packets", "missing", 0.0),
        // At least 50 MB/s.
        Bar::median("bulk", "ms_a_megabyte", 20.0),
    ],
    prepare: |_| Ok(()),
    trial,
};

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    if variant == "timer" {
        let watch = Watch::begin()?;
        let measures = timer();
        let pressure = watch.end(0.0)?;
        return Ok(Outcome { measures, pressure });
    }
    let rtt = match variant {
        "packets" | "bulk" => "40ms",
        rtt => rtt,
    };
    let flags = TopologyFlags {
        nodes: Some("1:1".into()),
        rtt: vec![rtt.into()],
        ..TopologyFlags::default()
    };
    let plan = NetworkPlan::of(&flags.topology()?, variant)?.ok_or("no network")?;
    let folder = tempfile::tempdir()?;
    let causes = |error: NetError| with_causes(&error);
    client::start(folder.path(), &plan, &rig.helenus, true).map_err(causes)?;
    let watch = Watch::begin()?;
    let measures = Keeper::call(folder.path()).and_then(|keeper| match variant {
        "packets" => packets(&keeper),
        "bulk" => bulk(&keeper),
        _ => delay(&keeper),
    });
    let pressure = watch.end(0.0)?;
    client::end(folder.path())?;
    Ok(Outcome {
        measures: measures.map_err(causes)?,
        pressure,
    })
}

/// What no emulator can better: by how much sleeps of 20 ms end late where nothing else is done.
fn timer() -> Measures {
    let mut late: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let begin = Instant::now();
            thread::sleep(SLEEP);
            (begin.elapsed() - SLEEP).as_secs_f64() * 1e3
        })
        .collect();
    late.sort_by(f64::total_cmp);
    let at = |share: usize| late[late.len() * share / 100];
    by_name([("sleep_p50_late_ms", at(50)), ("sleep_p99_late_ms", at(99))])
}

/// The error of the delay; `p50_off` is in parts of what is allowed, the greater of 2 % and 0.5 ms. What the emulator let
/// go late is counted apart from what both ends waited for by themselves.
#[expect(clippy::cast_precision_loss, reason = "at most a second")]
fn delay(keeper: &Keeper) -> Result<Measures, NetError> {
    let before = keeper.status()?.work;
    let echo = keeper.echo(BETWEEN.0, BETWEEN.1, SAMPLES)?;
    let after = keeper.status()?.work;
    let asked = echo.asked_us as f64;
    let allowed = (asked * 0.02).max(500.0);
    let p99 = echo.p99_us.unwrap_or(echo.max_us);
    let late = after.lateness.since(&before.lateness).below_us(0.99);
    Ok(by_name([
        ("p50_error_ms", (echo.p50_us - asked) / 1e3),
        ("p50_off", (echo.p50_us - asked).abs() / allowed),
        ("p99_error_ms", (p99 - asked) / 1e3),
        (
            "emulator_p99_ms",
            late.unwrap_or(after.latest_us) as f64 / 1e3,
        ),
        (
            "emulator_late_1ms",
            (after.late_1ms - before.late_1ms) as f64,
        ),
    ]))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
fn packets(keeper: &Keeper) -> Result<Measures, NetError> {
    let before = keeper.status()?.work;
    let (rate, bytes, seconds) = PACKETS;
    let crossed = keeper.datagrams(BETWEEN, rate, bytes, seconds)?;
    let after = keeper.status()?.work;
    let sent = crossed.sent.unwrap_or(0);
    Ok(by_name([
        (
            "cpu_percent",
            // Of the time in which they crossed: the wait for the last one costs nothing.
            (after.cpu_us - before.cpu_us) as f64 / 1e4 / crossed.seconds.max(1e-9),
        ),
        (
            "wakes_a_second",
            (after.wakes - before.wakes) as f64 / crossed.seconds.max(1e-9),
        ),
        (
            "packets_a_second",
            crossed.received as f64 / crossed.seconds.max(1e-9),
        ),
        ("missing", sent.saturating_sub(crossed.received) as f64),
    ]))
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a few seconds")]
fn bulk(keeper: &Keeper) -> Result<Measures, NetError> {
    let before = keeper.status()?.work;
    let crossed = keeper.bulk(BETWEEN, BULK_SECONDS)?;
    let after = keeper.status()?.work;
    let megabytes = crossed.bytes as f64 / 1e6;
    Ok(by_name([
        ("ms_a_megabyte", crossed.seconds * 1e3 / megabytes.max(1e-9)),
        ("megabytes_a_second", megabytes / crossed.seconds.max(1e-9)),
        (
            "cpu_percent",
            (after.cpu_us - before.cpu_us) as f64 / 1e4 / f64::from(BULK_SECONDS),
        ),
    ]))
}
