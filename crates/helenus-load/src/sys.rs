//! What the generator asks the kernel: clocks, its own use of resources, its place in the scheduler.
//! Refuses anything else; the two calls that Rust has no safe form of live here.

use helenus_model::machine::Cpus;
use helenus_model::sample::{SchedulingPolicy, Standing};
use rustix::io::Errno;
use rustix::net::sockopt::socket_incoming_cpu;
use rustix::process::{Pid, getpriority_process, setpriority_process};
use rustix::thread::{
    ClockId, CpuSet, clock_nanosleep_absolute, current_timer_slack, gettid, sched_getaffinity,
    sched_getcpu, sched_setaffinity, set_current_timer_slack,
};
use rustix::time::Timespec;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

/// Nice value that is asked for: above ordinary work, below what a desktop or a kernel thread uses.
const NICE: i32 = -10;

/// Time slice that is asked for. A short slice means an early deadline: the scheduler (EEVDF, Linux 6.12
/// and later) lets the thread run soon after it wakes. 100 µs is the least that the kernel grants.
const SLICE_NS: u64 = 100_000;

fn clock_ns(id: ClockId) -> u64 {
    let now = rustix::time::clock_gettime(id);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The monotonic clock in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// The wall clock in nanoseconds since 1970.
pub(crate) fn wall_ns() -> u64 {
    clock_ns(ClockId::Realtime)
}

/// A moment as the kernel takes it.
pub(crate) fn timespec(at_ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(at_ns % 1_000_000_000).unwrap_or(0),
    }
}

/// Sleeps until the monotonic clock reads `at_ns`.
pub(crate) fn sleep_until(at_ns: u64) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &timespec(at_ns)) == Err(Errno::INTR) {}
}

/// CPU of the calling thread in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// Resolution of the monotonic clock's timers in nanoseconds.
pub(crate) fn timer_resolution_ns() -> u64 {
    let step = rustix::time::clock_getres(ClockId::Monotonic);
    step.tv_sec.unsigned_abs() * 1_000_000_000 + step.tv_nsec.unsigned_abs()
}

/// Wall minus monotonic clock in nanoseconds: of three readings the one taken in the least time,
/// so that being put aside between two reads does not look like a step.
pub(crate) fn wall_offset_ns() -> i128 {
    (0..3)
        .map(|_| {
            let before = monotonic_ns();
            let wall = wall_ns();
            let after = monotonic_ns();
            let middle = i128::from(before) + i128::from(after - before) / 2;
            (after - before, i128::from(wall) - middle)
        })
        .min_by_key(|(took, _)| *took)
        .map_or(0, |(_, offset)| offset)
}

/// Processors that the process may run on.
pub(crate) fn cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..1024_u32)
        .filter(|cpu| usize::try_from(*cpu).is_ok_and(|at| set.is_set(at)))
        .collect()
}

/// Lets all threads of this process, and those to come, run on these processors only.
///
/// # Errors
/// None of them is there for this process.
pub(crate) fn pin(cpus: &Cpus) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    let all = cpus.iter().filter_map(|cpu| usize::try_from(cpu).ok());
    all.filter(|cpu| *cpu < CpuSet::MAX_CPU)
        .for_each(|cpu| set.set(cpu));
    for thread in fs_err::read_dir("/proc/self/task")? {
        let number = thread?.file_name();
        let number = number.to_str().and_then(|name| name.parse().ok());
        if let Some(thread) = number.and_then(Pid::from_raw) {
            sched_setaffinity(Some(thread), &set)?;
        }
    }
    Ok(())
}

/// Moves the calling thread to the processor on which `socket` last received, where it may run there. What is not allowed is
/// left as it was.
///
/// The scheduler brings ordinary threads that wake each other together; one of real-time priority stays where it is. Where
/// few operations are in flight, each then wakes the node on another processor and is woken from there, which took up to
/// twice the CPU and a fifth of the rate of a closed loop on a virtual machine.
pub(crate) fn follow(socket: BorrowedFd<'_>) {
    let sender = socket_incoming_cpu(socket).map(usize::try_from);
    let (Ok(Ok(sender)), Ok(allowed)) = (sender, sched_getaffinity(None)) else {
        return;
    };
    if sender != sched_getcpu() && sender < CpuSet::MAX_CPU && allowed.is_set(sender) {
        let mut only = CpuSet::new();
        only.set(sender);
        if sched_setaffinity(None, &only).is_ok() {
            // It was allowed a moment ago.
            let _allowed_again = sched_setaffinity(None, &allowed);
        }
    }
}

/// Makes the calling thread wake exactly and, when `raise` is set and the system allows it, soon.
/// What is not allowed is left as it was; the answer says what holds.
///
/// Real-time priority lets a thread run at once when its timer fires or an answer is there, whatever group or session the
/// other work belongs to (nice values count only within one). Paced loads and closed loops get it alike, so that their
/// numbers can be compared; one that spins (`sleeps` is false) does not, since it never waits.
pub fn stand(raise: bool, sleeps: bool) -> Standing {
    // One nanosecond instead of the default 50 µs, by which the kernel may delay a timer. Always allowed.
    let slack = set_current_timer_slack(NonZeroU64::new(1)).and_then(|()| current_timer_slack());
    let me = Some(gettid());
    let mut standing = Standing {
        policy: SchedulingPolicy::Fair,
        nice: None,
        slice_ns: None,
        timer_slack_ns: slack.ok(),
    };
    if raise {
        let _refused = setpriority_process(me, NICE);
        let wanted = SchedAttr::fair(getpriority_process(me).unwrap_or(0));
        standing.slice_ns = set_scheduler(&wanted).ok().map(|()| SLICE_NS);
        if sleeps && set_scheduler(&SchedAttr::round_robin()).is_ok() {
            standing.policy = SchedulingPolicy::RoundRobin;
            standing.slice_ns = None;
        }
    }
    standing.nice = getpriority_process(me).ok();
    standing
}

/// `struct sched_attr` of sched_setattr(2), in its first version.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl SchedAttr {
    /// The ordinary policy with [`SLICE_NS`]; kernels before 6.12 accept and ignore the slice.
    fn fair(nice: i32) -> Self {
        Self {
            size: 48,
            nice,
            runtime: SLICE_NS,
            ..Self::default()
        }
    }

    /// The least real-time priority; what the thread starts does not inherit it.
    fn round_robin() -> Self {
        Self {
            size: 48,
            policy: libc::SCHED_RR.unsigned_abs(),
            // SCHED_FLAG_RESET_ON_FORK
            flags: 1,
            priority: 1,
            ..Self::default()
        }
    }
}

#[expect(
    unsafe_code,
    reason = "no safe form of sched_setattr exists; the struct is the kernel's own"
)]
fn set_scheduler(attr: &SchedAttr) -> Result<(), Errno> {
    // SAFETY: the struct outlives the call, its size is stated in it, and the kernel only reads it.
    let said = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, attr as *const SchedAttr, 0) };
    if said == 0 { Ok(()) } else { Err(Errno::PERM) }
}

/// What the process has used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) user_cpu_us: u64,
    pub(crate) system_cpu_us: u64,
    pub(crate) max_rss_bytes: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

/// getrusage(2) of the process.
#[expect(unsafe_code, reason = "no safe form of getrusage exists here")]
pub(crate) fn usage() -> Usage {
    // SAFETY: all-zero is a valid rusage, and the kernel writes into memory that we own.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut used);
        used
    };
    let us = |t: libc::timeval| t.tv_sec.unsigned_abs() * 1_000_000 + t.tv_usec.unsigned_abs();
    Usage {
        user_cpu_us: us(used.ru_utime),
        system_cpu_us: us(used.ru_stime),
        max_rss_bytes: used.ru_maxrss.unsigned_abs() * 1024,
        voluntary_switches: used.ru_nvcsw.unsigned_abs(),
        involuntary_switches: used.ru_nivcsw.unsigned_abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    fn allow(cpus: &[usize]) {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        sched_setaffinity(None, &set).expect("processors of this machine");
    }

    /// A socket that has received from a thread on this processor, and its other end.
    fn received_from(cpu: usize) -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let sender = std::thread::spawn(move || {
            allow(&[cpu]);
            let mut out = TcpStream::connect(address).expect("a connection");
            out.write_all(b"x").expect("sent");
            out
        });
        let (mut socket, _) = listener.accept().expect("a connection");
        socket.read_exact(&mut [0]).expect("a byte");
        [socket, sender.join().expect("a sender")]
    }

    #[test]
    fn a_thread_follows_a_sender_to_where_it_may_run() {
        let cpus: Vec<usize> = cpus().into_iter().map(|cpu| cpu as usize).collect();
        let [here, there, ..] = cpus[..] else {
            return;
        };
        std::thread::spawn(move || {
            let [socket, _open] = received_from(there);
            assert_eq!(socket_incoming_cpu(&socket).ok(), u32::try_from(there).ok());
            allow(&[here]);
            follow(socket.as_fd());
            assert_eq!(sched_getcpu(), here, "the other is not allowed");
            // An ordinary thread may be moved on at once, so one hit is enough.
            let moved = (0..100).any(|_| {
                allow(&[here]);
                allow(&[here, there]);
                follow(socket.as_fd());
                sched_getcpu() == there
            });
            assert!(moved);
            let allowed = sched_getaffinity(None).expect("an affinity");
            assert!(allowed.is_set(here) && allowed.is_set(there));
        })
        .join()
        .expect("a thread");
    }
}
