//! How fast this machine works right now: a fixed piece of work, on all processors at once.
//! Refuses a number of some processors only: where one cannot be looked at, there is none.

use helenus_model::result::{CoreSpeed, Speed};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long the work is repeated.
const FOR: Duration = Duration::from_millis(25);

/// From the start of the first thread to the beginning of the work, so that all start together.
const START_WITHIN: Duration = Duration::from_millis(5);

/// Numbers that all processors read, 4 MiB: more than most have to themselves, so that neighbours in shared caches show.
const NUMBERS: usize = 1 << 19;

/// Steps of a unit of the work, each with one number read at a place that the step before has led to.
const STEPS: u32 = 1_000;

/// Rounds of multiplying and shifting between two reads.
const ROUNDS: u32 = 8;

/// An odd number with many bits set.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Units of work a second that a processor does now, by the geometric mean of all processors that this process may use;
/// none where threads cannot be had or bound. Takes about 35 ms.
///
/// What else runs, nodes included, has its part of the processors meanwhile: the number is what they leave, not what
/// the machine can do. It is comparable with others of the same build of Helenus on machines of the same kind.
pub fn look() -> Option<Speed> {
    let own = sched_getaffinity(None).ok()?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|core| own.is_set(*core))
        .collect();
    let numbers = numbers();
    let from = Instant::now() + START_WITHIN;
    let each: Vec<Option<CoreSpeed>> = std::thread::scope(|scope| {
        let work = |core: usize| {
            let numbers = &numbers;
            let thread = std::thread::Builder::new().name("host-speed".into());
            thread.spawn_scoped(scope, move || on_core(core, from, numbers))
        };
        let threads: Vec<_> = cores.iter().map(|core| work(*core)).collect();
        let ends = threads.into_iter();
        ends.map(|thread| thread.ok()?.join().ok()?).collect()
    });
    Speed::of(&each.into_iter().collect::<Option<Vec<_>>>()?)
}

/// The work on one processor, from this moment on.
fn on_core(core: usize, from: Instant, numbers: &[u64]) -> Option<CoreSpeed> {
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).ok()?;
    std::thread::sleep(from.saturating_duration_since(Instant::now()));
    let (began, cpu) = (Instant::now(), thread_cpu());
    let (mut units, mut state) = (0_u32, core as u64);
    while began.elapsed() < FOR {
        state = unit(state, numbers);
        units += 1;
    }
    black_box(state);
    let (wall, cpu) = (began.elapsed(), thread_cpu().saturating_sub(cpu));
    let a_second = |time: Duration| f64::from(units) / time.as_secs_f64();
    (!cpu.is_zero()).then(|| CoreSpeed {
        per_s: a_second(wall),
        cpu_per_s: a_second(cpu),
    })
}

/// One unit of the work.
fn unit(mut state: u64, numbers: &[u64]) -> u64 {
    for _ in 0..STEPS {
        for _ in 0..ROUNDS {
            state = mixed(state);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "only the lowest bits count"
        )]
        let place = state as usize % NUMBERS;
        state ^= numbers.get(place).copied().unwrap_or_default();
    }
    state
}

fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 29)).wrapping_mul(FACTOR);
    state ^ (state >> 32)
}

fn numbers() -> Vec<u64> {
    let each = std::iter::successors(Some(FACTOR), |last| Some(mixed(*last)));
    each.take(NUMBERS).collect()
}

/// CPU that this thread has used.
fn thread_cpu() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    let whole = Duration::from_secs(used.tv_sec.unsigned_abs());
    whole + Duration::from_nanos(used.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_processors_work_at_once_and_briefly() {
        let began = Instant::now();
        let speed = look().expect("threads that can be bound");
        let took = began.elapsed();
        println!("{speed:?} in {took:?}");
        assert!(took >= FOR && took < Duration::from_secs(2), "{took:?}");
        assert!(speed.per_s > 0.0, "{speed:?}");
        // A thread uses no more CPU than time passes; the clocks are not read at one moment.
        assert!(speed.cpu_per_s > speed.per_s * 0.99, "{speed:?}");
        let cores = sched_getaffinity(None).expect("a set").count();
        assert!(cores >= 1, "this thread is still bound to none");
    }

    #[test]
    fn a_unit_is_the_same_work_each_time() {
        let numbers = numbers();
        assert_eq!(numbers.len(), NUMBERS);
        assert_eq!(unit(7, &numbers), unit(7, &numbers));
        assert_ne!(unit(7, &numbers), unit(8, &numbers));
    }
}
