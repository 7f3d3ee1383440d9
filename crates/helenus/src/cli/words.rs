//! Values of flags by their words.
//! Refuses a word that help does not list.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use helenus_model::bench::PhaseKind;
use helenus_model::consistency::{Consistency, SerialConsistency};
use helenus_model::flame::ProfileEvent;
use helenus_model::preset::PresetName;
use helenus_model::run_plan::Pacing;
use helenus_model::schedule::Arrivals;
use helenus_model::serving::Level;

/// One of these values, by its word; help explains each.
pub(crate) fn one_of<T, const N: usize>(
    all: [(T, &'static str, &'static str); N],
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    by_word(all.map(|(value, word, help)| (value, PossibleValue::new(word).help(help))))
}

/// One of these values, by its word, which says enough.
pub(crate) fn words<T, const N: usize>(
    all: [T; N],
    word: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    by_word(all.map(|value| (value, PossibleValue::new(word(value)))))
}

fn by_word<T, const N: usize>(all: [(T, PossibleValue); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let known: Vec<PossibleValue> = all.iter().map(|(_, known)| known.clone()).collect();
    PossibleValuesParser::new(known).map(move |given| {
        let found = all.iter().find(|(_, known)| known.matches(&given, true));
        found.expect("only known words come here").0
    })
}

/// A preset.
pub(crate) fn preset() -> impl TypedValueParser<Value = PresetName> {
    one_of([
        (PresetName::Tiny, "tiny", "64 MB heap"),
        (PresetName::Dev, "dev", "500 MB heap"),
        (
            PresetName::Bench,
            "bench",
            "Full JIT, memory by the machine",
        ),
        (
            PresetName::Doc001,
            "doc001",
            "The settings of 2013 in 64 MB: what tiny is measured against",
        ),
    ])
}

/// A level of consistency that operations may have; a - may stand for its _.
pub(crate) fn level() -> impl TypedValueParser<Value = Consistency> {
    use Consistency::{All, EachQuorum, LocalOne, LocalQuorum, One, Quorum, Three, Two};
    let known = |level: Consistency, dashed: Option<&'static str>| {
        (level, PossibleValue::new(level.word()).aliases(dashed))
    };
    by_word([
        known(One, None),
        known(Two, None),
        known(Three, None),
        known(Quorum, None),
        known(All, None),
        known(LocalQuorum, Some("LOCAL-QUORUM")),
        known(EachQuorum, Some("EACH-QUORUM")),
        known(LocalOne, Some("LOCAL-ONE")),
    ])
}

/// A level of a conditional write's compare.
pub(crate) fn serial_level() -> impl TypedValueParser<Value = SerialConsistency> {
    words(
        [SerialConsistency::Serial, SerialConsistency::LocalSerial],
        |level| Level::Serial(level).word(),
    )
}

/// A phase of `bench`.
pub(crate) fn phase() -> impl TypedValueParser<Value = PhaseKind> {
    one_of([
        (
            PhaseKind::Write,
            "write",
            "Inserts, each position once in order",
        ),
        (
            PhaseKind::Read,
            "read",
            "Reads of random positions that were written",
        ),
        (PhaseKind::Mixed, "mixed", "One read to each write"),
    ])
}

/// How arrivals are spread over time.
pub(crate) fn arrivals() -> impl TypedValueParser<Value = Arrivals> {
    one_of([
        (Arrivals::Constant, "constant", "Evenly spaced"),
        (
            Arrivals::Poisson,
            "poisson",
            "Independent, exponentially spaced",
        ),
    ])
}

/// How the generator waits.
pub(crate) fn pacing() -> impl TypedValueParser<Value = Pacing> {
    words([Pacing::Sleep, Pacing::Spin], |pacing| match pacing {
        Pacing::Sleep => "sleep",
        Pacing::Spin => "spin",
    })
}

/// What a profile samples.
pub(crate) fn event() -> impl TypedValueParser<Value = ProfileEvent> {
    one_of([
        (ProfileEvent::Cpu, "cpu", "Threads on a processor"),
        (
            ProfileEvent::Alloc,
            "alloc",
            "Allocations on the heap, by bytes",
        ),
        (
            ProfileEvent::Lock,
            "lock",
            "Waits for monitors and locks, by time",
        ),
        (
            ProfileEvent::Wall,
            "wall",
            "All threads, whether they run or wait",
        ),
    ])
}
