//! Every format: its name and version, the type that is written, and where a person meets it.
//! Refuses none in silence: a test holds this list to the marks in the source.

mod later;

/// How its values reach a person.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A result on standard output, with an `answer`.
    Printed,
    /// A result whose `answer` is a list of sentences.
    PrintedInSentences,
    /// A file, a pipe, a row of the history, or a value inside another.
    Kept,
}

/// One format.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) version: u32,
    /// File below `crates`, and the type in it.
    pub(super) root: (&'static str, &'static str),
    pub(super) way: Way,
    /// The command that prints it, or what holds it.
    pub(super) place: &'static str,
}

type Root = (&'static str, &'static str);

const fn printed(name: &'static str, version: u32, root: Root, place: &'static str) -> Entry {
    let way = Way::Printed;
    Entry {
        name,
        version,
        root,
        way,
        place,
    }
}

const fn kept(name: &'static str, version: u32, root: Root, place: &'static str) -> Entry {
    let way = Way::Kept;
    Entry {
        way,
        ..printed(name, version, root, place)
    }
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Entry> {
    FIRST.iter().chain(later::LATER)
}

/// The first ones; the others are in `later`.
const FIRST: &[Entry] = &[
    printed(
        "ab-plan",
        1,
        ("helenus/src/commands/compare.rs", "AbPlan"),
        "`compare --ab --dry-run`",
    ),
    kept(
        "agent",
        1,
        ("helenus-model/src/agent.rs", "Hello"),
        "what a load agent answers to its conductor, on their channel",
    ),
    kept(
        "baseline",
        1,
        ("helenus-model/src/baseline.rs", "Baseline"),
        "the manifest of a baseline",
    ),
    printed(
        "baseline-removed",
        1,
        ("helenus/src/commands/baseline.rs", "Removed"),
        "`baseline rm`",
    ),
    printed(
        "baseline-restored",
        1,
        ("helenus/src/commands/baseline.rs", "RestoredView"),
        "`baseline restore`",
    ),
    printed(
        "baseline-saved",
        1,
        ("helenus/src/commands/baseline.rs", "Saved"),
        "`baseline save`",
    ),
    printed(
        "baseline-verified",
        1,
        ("helenus/src/commands/baseline.rs", "Verified"),
        "`baseline verify`",
    ),
    printed(
        "baselines",
        1,
        ("helenus/src/commands/baseline.rs", "ListView"),
        "`baseline list`",
    ),
    printed(
        "bench",
        1,
        ("helenus/src/commands/bench/render.rs", "Report"),
        "`bench`, `run`",
    ),
    printed(
        "bench-plan",
        1,
        ("helenus/src/commands/bench/dry.rs", "DryRun"),
        "`bench --dry-run`",
    ),
    printed(
        "calibration",
        1,
        ("helenus-model/src/calibration.rs", "Calibration"),
        "`calibrate`; kept in the cache as `calibration.json`",
    ),
];
