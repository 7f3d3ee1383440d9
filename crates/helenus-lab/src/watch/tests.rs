//! The watch without a cluster: this machine is the host, a process that sleeps the generator.
//! Refuses to say how busy the machine is.

use super::*;
use helenus_model::format::Format;
use helenus_model::run_plan::Pacing;
use helenus_model::sample::{self, Header, PhaseEnd, StartMeans, Stretch};
use helenus_model::seed::Seed;
use helenus_model::telemetry::{GENERATOR, HOST};
use helenus_model::workload::Workload;
use std::collections::BTreeMap;
use std::time::Duration;

fn plan() -> RunPlan {
    let phase = Phase {
        warmup_ms: 100,
        ..Phase::steady("write", 100.0, 8, 300)
    };
    RunPlan {
        raise_priority: false,
        sampling_interval_ms: 100,
        operation_timeout_ms: 1000,
        ..RunPlan::new(
            vec![],
            Workload::Standard1,
            vec![phase.clone(), phase],
            Seed(1),
        )
    }
}

/// A generator whose threads stay: those of this process come and go with other tests.
struct Sleeper(std::process::Child);

impl Sleeper {
    fn start() -> Self {
        let child = std::process::Command::new("sleep").arg("60").spawn();
        Self(child.expect("sleep starts"))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn header(generator: &Sleeper) -> SampleLine {
    SampleLine::Header(Header {
        format: Format::new("sample", sample::VERSION),
        plan_hash: String::new(),
        monotonic_ns: monotonic_ns(),
        wall_ns: 0,
        start_means: StartMeans::DriverCall,
        pacing: Pacing::Sleep,
        timer_resolution_ns: 1,
        pid: generator.0.id(),
        cpus: vec![],
        beside: vec![],
        unchecked: vec![],
    })
}

fn interval(start_ns: u64, stretch: Stretch) -> SampleLine {
    SampleLine::Interval(Interval {
        phase: 0,
        stretch,
        start_ns,
        end_ns: start_ns + 100_000_000,
        thread_cpu_ns: 0,
        operations: BTreeMap::new(),
        tenths: vec![],
        slowest: vec![],
        traced: vec![],
        coordinators: BTreeMap::new(),
    })
}

fn pause() {
    std::thread::sleep(Duration::from_millis(110));
}

#[test]
fn a_measured_stretch_has_a_look_at_both_of_its_ends() {
    let generator = Sleeper::start();
    let mut watch = Watch::begin(None, &plan());
    let mut handed_over = watch.see(&header(&generator)).len();
    let begin_ns = monotonic_ns();
    for k in 0..4 {
        pause();
        let stretch = if k == 0 {
            Stretch::Warmup
        } else {
            Stretch::Measured
        };
        handed_over += watch
            .see(&interval(begin_ns + k * 100_000_000, stretch))
            .len();
        assert_eq!(watch.seconds(), k + 1);
    }
    let (from_ns, to_ns) = (begin_ns + 100_000_000, begin_ns + 400_000_000);
    let end = PhaseEnd {
        measured_from_ns: from_ns,
        measured_to_ns: to_ns,
        ended_ns: to_ns,
        ..PhaseEnd::default()
    };
    handed_over += watch.see(&SampleLine::PhaseEnd(end)).len();
    assert_eq!(watch.seconds(), 0);
    let seen = watch.end();
    assert_eq!(seen.readings().len(), handed_over + seen.last().len());
    for source in [HOST, GENERATOR] {
        let all = seen.readings().iter().filter(|r| r.source == source);
        let at: Vec<u64> = all.map(|r| r.at_ns).collect();
        assert!(
            at.iter().any(|at| (from_ns..to_ns).contains(at)),
            "{source}: {at:?}"
        );
        assert!(at.iter().any(|at| *at >= to_ns), "{source}: {at:?}");
    }
    let known = OutsideFacts {
        archive_mix: true,
        ..OutsideFacts::default()
    };
    let outside = seen.outside(&known, (from_ns, to_ns));
    assert!(outside.foreign_cpu_share.is_some(), "{outside:?}");
    assert!(outside.generator_wait_share.is_some(), "{outside:?}");
    assert!(outside.archive_mix);
    assert!(seen.around((from_ns, to_ns), 1).steal_share.is_some());
}
