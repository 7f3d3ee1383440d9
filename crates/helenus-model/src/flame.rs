//! Flame graphs: stacks that a profiler sampled in a node, merged into one tree, and the frames that cost most.
//! Refuses lines that are no stacks: a graph of half a profile would look like a whole one.

use crate::worded::worded;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Most frames of a table.
pub const TOP: usize = 10;

/// Time between two samples of a thread that runs, in milliseconds.
pub const INTERVAL_MS: u64 = 5;

worded! {
    /// What is sampled.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ProfileEvent {
        /// Threads on a processor.
        Cpu = "cpu",
        /// Allocations on the heap.
        Alloc = "alloc",
        /// Waits for monitors and locks.
        Lock = "lock",
        /// All threads, whether they run or wait.
        Wall = "wall",
    }
}

impl ProfileEvent {
    /// The event of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.word() == word)
    }

    /// What the width of a frame counts.
    pub fn weighs(self) -> Weight {
        match self {
            Self::Cpu | Self::Wall => Weight::Samples,
            Self::Alloc => Weight::Bytes,
            Self::Lock => Weight::Nanoseconds,
        }
    }
}

impl fmt::Display for ProfileEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What the numbers of a profile count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Samples.
    Samples,
    /// Bytes that were allocated.
    Bytes,
    /// Nanoseconds of waiting.
    Nanoseconds,
}

/// How a profile was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampler {
    /// The kernel's perf events: frames of the kernel are included.
    PerfEvents,
    /// A CPU timer for each thread, where perf events are forbidden: without frames of the kernel.
    Ctimer,
    /// One CPU timer for the process, where neither of the two works: without frames of the kernel.
    Itimer,
    /// The JVM's own events.
    Jvm,
    /// A timer over all threads.
    Timer,
}

impl Sampler {
    /// The ways to sample an event, the best one first, each with the profiler's name of it.
    pub fn of(event: ProfileEvent) -> &'static [(Self, &'static str)] {
        match event {
            ProfileEvent::Cpu => &[
                (Self::PerfEvents, "cpu-clock"),
                (Self::Ctimer, "ctimer"),
                (Self::Itimer, "itimer"),
            ],
            ProfileEvent::Alloc => &[(Self::Jvm, "alloc")],
            ProfileEvent::Lock => &[(Self::Jvm, "lock")],
            ProfileEvent::Wall => &[(Self::Timer, "wall")],
        }
    }

    /// What a reader must know of it, where it is not the best.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::PerfEvents | Self::Jvm | Self::Timer => None,
            Self::Ctimer => Some(
                "perf events are forbidden here: sampled by a CPU timer of each thread (ctimer), without frames of \
                 the kernel",
            ),
            Self::Itimer => Some(
                "perf events are forbidden here, and CPU timers of threads do not work: sampled by the timer of the \
                 process (itimer), without frames of the kernel",
            ),
        }
    }
}

/// What a run profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfilePlan {
    /// The node.
    pub node: String,
    /// What is sampled.
    pub event: ProfileEvent,
}

impl fmt::Display for ProfilePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.event, self.node)
    }
}

/// A profile of one node, from one moment to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What was sampled.
    pub event: ProfileEvent,
    /// How.
    pub by: Sampler,
    /// Its end, on the run's monotonic clock, in nanoseconds.
    pub to_ns: u64,
    /// Samples.
    pub samples: u64,
    /// The stacks.
    pub stacks: Stacks,
}

/// A profile without its stacks, for results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profiled {
    /// The node.
    pub node: String,
    /// What was sampled.
    pub event: ProfileEvent,
    /// How.
    pub by: Sampler,
    /// For how long, in seconds.
    pub seconds: f64,
    /// Samples.
    pub samples: u64,
    /// What `own` and `total` of the frames count.
    pub weight: Weight,
    /// The frames with the most of their own, the most first.
    pub top: Vec<TopFrame>,
}

impl Profiled {
    /// The summary of a profile of a node that started at this moment, in nanoseconds.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
    pub fn of(node: &str, from_ns: u64, profile: &Profile) -> Self {
        Self {
            node: node.to_owned(),
            event: profile.event,
            by: profile.by,
            seconds: profile.to_ns.saturating_sub(from_ns) as f64 / 1e9,
            samples: profile.samples,
            weight: profile.event.weighs(),
            top: profile.stacks.top(TOP),
        }
    }
}

/// A frame, over all stacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopFrame {
    /// Class and method, or a function.
    pub frame: String,
    /// With this frame on top of the stack.
    pub own: u64,
    /// Share of all that `own` is, from 0 to 1.
    pub own_share: f64,
    /// With this frame anywhere in the stack; one that calls itself counts once.
    pub total: u64,
    /// Share of all that `total` is, from 0 to 1.
    pub total_share: f64,
}

/// Whose code a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// Cassandra's own.
    Cassandra,
    /// Other Java.
    Java,
    /// The JVM and libraries.
    Native,
    /// The kernel.
    Kernel,
}

/// Mark of a Java frame behind its name.
const JAVA: &str = "_[j]";
/// Mark of a frame of the kernel behind its name.
const KERNEL: &str = "_[k]";
/// Marks of Java frames by how they were compiled: interpreted, by C1, inlined.
const COMPILED: [&str; 3] = ["_[0]", "_[1]", "_[i]"];
/// Cassandra's package.
const CASSANDRA: &str = "org.apache.cassandra.";

/// Whose code a frame is, by its name with its mark.
pub fn kind_of(frame: &str) -> FrameKind {
    match frame {
        _ if frame.ends_with(KERNEL) => FrameKind::Kernel,
        _ if !frame.ends_with(JAVA) => FrameKind::Native,
        _ if frame.starts_with(CASSANDRA) => FrameKind::Cassandra,
        _ => FrameKind::Java,
    }
}

/// A frame's name without its mark.
pub fn bare(frame: &str) -> &str {
    let without = |mark| frame.strip_suffix(mark);
    without(JAVA).or_else(|| without(KERNEL)).unwrap_or(frame)
}

/// Why a text is not a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the profile is not a stack with its count")]
pub struct StacksError {
    /// The line, from one.
    pub line: usize,
}

/// A call path: the node before it, its frame, and what was sampled with exactly this path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Path(u32, u32, u64);

/// Stacks, merged into a tree from the bottom of each: what started first is at the root.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stacks {
    /// Names of frames, each with its mark.
    frames: Vec<String>,
    /// Call paths: place of the caller's path, from one (0 is the root), place of the frame, and own weight.
    paths: Vec<Path>,
}

/// A call path of a tree, with all that it called.
#[derive(Debug, Clone, PartialEq)]
pub struct Called<'a> {
    /// Its frame, with its mark.
    pub frame: &'a str,
    /// Weight of it and of what it called.
    pub total: u64,
    /// Weight of the samples that end in it.
    pub own: u64,
    /// What it called, by name.
    pub calls: Vec<Called<'a>>,
}

impl Stacks {
    /// Reads collapsed stacks, `a;b;c 12` in each line. Frames of one method count as one, however it was compiled, and
    /// so do classes that differ in nothing but an address.
    ///
    /// # Errors
    /// The first line that is none.
    pub fn parse(text: &str) -> Result<Self, StacksError> {
        let mut all = Builder::default();
        let lines = text.lines().enumerate();
        for (place, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let read = line.rsplit_once(' ').and_then(|(stack, count)| {
                let count: u64 = count.parse().ok()?;
                (!stack.is_empty()).then_some((stack, count))
            });
            let (stack, count) = read.ok_or(StacksError { line: place + 1 })?;
            all.add(stack.split(';').map(plain), count);
        }
        Ok(all.stacks)
    }

    /// Adds another's stacks.
    pub fn merge(&mut self, other: &Self) {
        let mut all = Builder::of(std::mem::take(self));
        other.each(&mut |stack, own| all.add(stack.iter().map(|frame| (*frame).to_owned()), own));
        *self = all.stacks;
    }

    /// The weight of all.
    pub fn total(&self) -> u64 {
        self.paths.iter().map(|path| path.2).sum()
    }

    /// Whether nothing was sampled.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Collapsed stacks, one in each line, sorted.
    pub fn collapsed(&self) -> String {
        let mut lines = Vec::new();
        self.each(&mut |stack, own| lines.push(format!("{} {own}\n", stack.join(";"))));
        lines.sort();
        lines.concat()
    }

    /// The frames with the largest weight of their own, the largest first; of equal ones by name.
    #[expect(clippy::cast_precision_loss, reason = "weights below 2^53")]
    pub fn top(&self, most: usize) -> Vec<TopFrame> {
        let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        self.each(&mut |stack, weight| {
            if let Some(top) = stack.last() {
                sums.entry(bare(top)).or_default().0 += weight;
            }
            let once: BTreeSet<&str> = stack.iter().map(|frame| bare(frame)).collect();
            for frame in once {
                sums.entry(frame).or_default().1 += weight;
            }
        });
        let all = self.total().max(1) as f64;
        let mut top: Vec<_> = sums.into_iter().filter(|(_, sum)| sum.0 > 0).collect();
        top.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.0.cmp(b.0)));
        top.truncate(most);
        top.into_iter()
            .map(|(frame, (own, total))| TopFrame {
                frame: frame.to_owned(),
                own,
                own_share: own as f64 / all,
                total,
                total_share: total as f64 / all,
            })
            .collect()
    }

    /// The tree: what has no caller, each with what it called. Paths lighter than `least` are left out.
    pub fn tree(&self, least: u64) -> Vec<Called<'_>> {
        let totals = self.totals();
        let mut calls: Vec<Vec<usize>> = vec![Vec::new(); self.paths.len() + 1];
        for (place, path) in self.paths.iter().enumerate() {
            if totals[place] >= least.max(1)
                && let Some(of_caller) = calls.get_mut(path.0 as usize)
            {
                of_caller.push(place);
            }
        }
        self.called(0, &calls, &totals)
    }

    /// The least weight at which a tree has no more call paths than this.
    pub fn least_for(&self, most: usize) -> u64 {
        let mut totals = self.totals();
        totals.sort_unstable_by(|a, b| b.cmp(a));
        totals.get(most).map_or(1, |next| next + 1)
    }

    fn called<'a>(
        &'a self,
        caller: usize,
        calls: &[Vec<usize>],
        totals: &[u64],
    ) -> Vec<Called<'a>> {
        let of_caller = calls[caller].iter();
        let mut called: Vec<Called<'a>> = of_caller
            .map(|place| Called {
                frame: self.frame(*place),
                total: totals[*place],
                own: self.paths[*place].2,
                calls: self.called(place + 1, calls, totals),
            })
            .collect();
        called.sort_by(|a, b| a.frame.cmp(b.frame));
        called
    }

    /// The weight of each path and of what it called. A caller stands before what it calls.
    fn totals(&self) -> Vec<u64> {
        let mut totals: Vec<u64> = self.paths.iter().map(|path| path.2).collect();
        for place in (0..self.paths.len()).rev() {
            let caller = self.paths[place].0 as usize;
            // A stored tree whose paths stand otherwise is not ours.
            if (1..=place).contains(&caller) {
                totals[caller - 1] += totals[place];
            }
        }
        totals
    }

    fn frame(&self, place: usize) -> &str {
        let frame = self.paths[place].1 as usize;
        self.frames.get(frame).map_or("", String::as_str)
    }

    /// Each stack that was sampled, from its bottom, with its weight.
    fn each<'a>(&'a self, see: &mut dyn FnMut(&[&'a str], u64)) {
        for (place, path) in self.paths.iter().enumerate().filter(|(_, p)| p.2 > 0) {
            let mut stack = vec![self.frame(place)];
            let (mut at, mut caller) = (place, path.0 as usize);
            while (1..=at).contains(&caller) {
                at = caller - 1;
                stack.push(self.frame(at));
                caller = self.paths[at].0 as usize;
            }
            stack.reverse();
            see(&stack, path.2);
        }
    }
}

/// A tree that grows.
#[derive(Default)]
struct Builder {
    stacks: Stacks,
    frames: BTreeMap<String, u32>,
    paths: BTreeMap<(u32, u32), u32>,
}

impl Builder {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a profile of 2^32 frames is none"
    )]
    fn of(stacks: Stacks) -> Self {
        let frames = stacks.frames.iter().enumerate();
        let paths = stacks.paths.iter().enumerate();
        Self {
            frames: frames.map(|(at, name)| (name.clone(), at as u32)).collect(),
            paths: paths
                .map(|(at, path)| ((path.0, path.1), at as u32 + 1))
                .collect(),
            stacks,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a profile of 2^32 frames is none"
    )]
    fn add(&mut self, stack: impl Iterator<Item = String>, weight: u64) {
        let mut at = 0;
        for name in stack {
            let frames = &mut self.stacks.frames;
            let frame = *self.frames.entry(name).or_insert_with_key(|name| {
                frames.push(name.clone());
                frames.len() as u32 - 1
            });
            let paths = &mut self.stacks.paths;
            at = *self.paths.entry((at, frame)).or_insert_with(|| {
                paths.push(Path(at, frame, 0));
                paths.len() as u32
            });
        }
        if let Some(last) = (at as usize).checked_sub(1) {
            self.stacks.paths[last].2 += weight;
        }
    }
}

/// A frame's name as it is kept: one mark for all Java, and without what differs between two starts of a JVM.
fn plain(frame: &str) -> String {
    let compiled = COMPILED.iter().find_map(|mark| frame.strip_suffix(mark));
    let (name, java) = match compiled.or_else(|| frame.strip_suffix(JAVA)) {
        Some(name) => (name, true),
        None => (frame, false),
    };
    if !java {
        return name.to_owned();
    }
    format!("{}{JAVA}", without_addresses(name))
}

/// `Read$$Lambda$1477.0x00007f34fb62fce0.run` is another at the next start: `Read$$Lambda.run`.
fn without_addresses(name: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in name.split('.') {
        if part.starts_with("0x") && part.len() > 2 {
            continue;
        }
        let number = |tail: &str| tail.bytes().all(|b| b.is_ascii_digit() || b == b'$');
        let lambda = part.find("$$Lambda").map(|at| at + "$$Lambda".len());
        kept.push(match lambda {
            Some(end) if number(&part[end..]) => &part[..end],
            _ => part,
        });
    }
    kept.join(".")
}

#[cfg(test)]
mod tests;
