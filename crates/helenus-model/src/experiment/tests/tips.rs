//! How promises end: by numbers, and by what became of runs that have none.
//! Refuses to end one for which runs are left.

use super::*;

#[test]
fn tips_end_by_what_was_measured_and_else_by_what_became_of_their_runs() {
    let text = r#"
name = "tips"
[[factor]]
name = "one"
kind = "restart"
levels = [{ label = "off", jvm = "-a" }, { label = "on", jvm = "-b", promises = "up to 15%" }]
[[factor]]
name = "two"
kind = "restart"
levels = [{ label = "off", set = "a=1" }, { label = "on", set = "a=2", promises = "100%" }]
[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", { label = "dies", heap = "1M", promises = "5%" }]
[[combination]]
one = "off"
[[combination]]
one = "on"
[[combination]]
two = "on"
[[combination]]
heap = "dies"
"#;
    let of = read(text).unwrap();
    let mut facts = simulated(&of, Seed(5), 0.005, |levels| match levels {
        [1, _, _] => 10_000.0 / 1.1,
        _ => 10_000.0,
    });
    let plan: Vec<Planned> = facts.iter().map(|fact| fact.planned).collect();
    facts.retain(|fact| fact.planned.combination != 3);
    let found = analyse(&of, &facts, None, None).unwrap();
    let ends: Vec<(&str, Kept)> = found
        .tips
        .iter()
        .map(|tip| (tip.factor.as_str(), tip.kept))
        .collect();
    let wanted = [
        ("one", Kept::Confirmed),
        ("two", Kept::Contradicted),
        ("heap", Kept::NoNumbers),
    ];
    assert_eq!(ends, wanted);
    let [low, middle, high] = found.tips[0].gain.unwrap();
    assert!(low < 0.1 && 0.1 < high && (middle - 0.1).abs() < 0.03);
    // What became of its runs says why one has no numbers.
    let settled = |state: RunState, why: Option<&str>| {
        let mut found = found.clone();
        let fate = |planned: &Planned| Fate {
            planned: *planned,
            state,
            why,
        };
        let fates: Vec<Fate<'_>> = plan.iter().map(fate).collect();
        found.settle_tips(&of, &facts, &fates);
        let [one, _, heap] = &found.tips[..] else {
            unreachable!("three promises");
        };
        assert_eq!((one.kept, &one.because), (Kept::Confirmed, &None));
        (heap.kept, heap.because.clone().unwrap())
    };
    let outcome = settled(RunState::Died, Some("no room\nthe log"));
    assert_eq!(outcome, (Kept::NotTestable, "died: no room".to_owned()));
    let own = plan.iter().filter(|one| one.combination == 3).count();
    let outcome = settled(RunState::Planned, None);
    assert_eq!(outcome, (Kept::NotRunYet, format!("{own} runs are left")));
    let outcome = settled(RunState::Done, None);
    let none = format!("{own} of {own} runs are invalid");
    assert_eq!(outcome, (Kept::NoNumbers, none));
    let disk = Experiment {
        needs_disk: true,
        ..of
    };
    let found = analyse(&disk, &facts, None, None).unwrap();
    for tip in &found.tips {
        assert_eq!(tip.kept, Kept::NotTestable);
        assert_eq!(tip.because, found.not_testable);
    }
}
