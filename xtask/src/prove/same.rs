//! `prove null-live`: experiments on real Cassandra whose levels are all the same, and what is claimed of each two of them.
//! Refuses levels that differ in anything but their name.

use super::campaign::{Bar, Campaign, Measures, Outcome};
use super::host::Watch;
use super::rig::Rig;
use super::start;
use crate::figures::experiment;
use helenus_model::comparison::Claim;
use helenus_model::experiment::{Experiment, Fact, Planned, analyse, read};
use helenus_model::seed::Seed;
use std::error::Error;

/// Levels of the only factor: each two of them are a contrast.
const LEVELS: usize = 10;

/// Closed loops: throughput of writes.
const CLOSED: &str = r#"
measure = "throughput"

[cluster]
preset = "dev"

[workload]
workload = "standard1"
ops = "write=1"
in-flight = 8
warmup = "500ms"
duration = "2s"

[warm]
warmup = "0s"
duration = "10s"
"#;

/// Reads by a schedule: the median of the response time.
const READS: &str = r#"
measure = "p50"

[cluster]
preset = "dev"

[workload]
workload = "standard1"
ops = "read=1"
population = 20000
positions = "uniform"
rate = 1000
warmup = "500ms"
duration = "2s"

[populate]
partitions = 20000

[warm]
warmup = "0s"
duration = "10s"
"#;

/// Restarts: throughput of writes after a short warm-up.
const RESTARTS: &str = r#"
measure = "throughput"

[cluster]
preset = "dev"

[workload]
workload = "standard1"
ops = "write=1"
in-flight = 8
warmup = "3s"
duration = "4s"
"#;

pub(crate) const NULL_LIVE: Campaign = Campaign {
    name: "null-live",
    about: "experiments on real Cassandra in which nothing differs: 45 contrasts each; wants --repeats 5",
    variants: &["closed", "reads", "restarts"],
    bars: &[
        Bar::none("closed", "lost"),
        Bar::none("reads", "lost"),
        Bar::none("restarts", "lost"),
    ],
    prepare: start::prepare,
    trial,
};

/// The file of a variant: ten levels that set the same.
fn file(variant: &str, seed: Seed) -> String {
    let (text, kind, sets) = match variant {
        "closed" => (CLOSED, "phase", "in-flight = 8"),
        "reads" => (READS, "phase", "rate = 1000"),
        _ => (RESTARTS, "restart", "heap = \"256M\""),
    };
    let levels: Vec<String> = (0..LEVELS)
        .map(|level| format!("{{ label = \"l{level}\", {sets} }}"))
        .collect();
    format!(
        "name = \"same\"\nseed = {}\nrepeats = 6\nannounce = false\n{text}\n[[factor]]\nname = \"level\"\nkind = \"{kind}\"\n\
         levels = [{}]\n",
        seed.0,
        levels.join(", ")
    )
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let seed = super::experiments::drawn()?;
    let folder = rig.trial_folder()?;
    let (path, csv) = (folder.join("same.toml"), folder.join("same.csv"));
    let text = file(variant, seed);
    fs_err::write(&path, &text)?;
    let (path, table) = (path.to_string_lossy(), csv.to_string_lossy());
    let watch = Watch::begin()?;
    super::experiments::answered(rig.command(&["experiment", "run", "--anew", &path]))?;
    let pressure = watch.end(0.0)?;
    super::experiments::answered(rig.command(&["experiment", "report", "same", "--csv", &table]))?;
    let of = read(&text)?;
    let facts = experiment::facts(&of, &experiment::rows(&csv)?)?;
    let mut measures = counted(&of, &facts)?;
    measures.insert("seed".to_owned(), seed.0 as f64);
    Ok(Outcome { measures, pressure })
}

/// Of all pairs of levels: how many a report of these two would call different, how many intervals of 95 % leave out *the same*,
/// how many have no number; and whether the report of all levels claims anything.
#[expect(clippy::cast_precision_loss, reason = "counts of contrasts")]
fn counted(of: &Experiment, facts: &[Fact]) -> Result<Measures, Box<dyn Error>> {
    let whole = analyse(of, facts, None, None).ok_or("no run counts")?;
    let claims = |claim: Claim| matches!(claim, Claim::Higher | Claim::Lower);
    let own = whole.effects.iter().filter(|e| e.measure == whole.measure);
    let any = own.filter(|effect| claims(effect.claim)).count();
    let (mut contrasts, mut called, mut outside, mut lost) = (0, 0, 0, 0);
    for a in 0..LEVELS {
        for b in a + 1..LEVELS {
            let (two, facts) = pair(of, facts, [a, b]);
            let found = analyse(&two, &facts, None, None);
            let effect = found.as_ref().and_then(|found| {
                let mut own = found.effects.iter();
                own.find(|effect| effect.measure == found.measure)
            });
            let estimate = effect.and_then(|effect| effect.estimate);
            match (effect, estimate) {
                (Some(effect), Some(estimate)) => {
                    contrasts += 1;
                    called += usize::from(claims(effect.claim));
                    outside += usize::from(estimate.low > 1.0 || estimate.high < 1.0);
                }
                _ => lost += 1,
            }
        }
    }
    let all = [
        ("contrasts", contrasts),
        ("called_different", called),
        ("intervals_without_1", outside),
        ("lost", lost),
        ("report_claims", usize::from(any > 0)),
    ];
    Ok(all
        .map(|(name, count)| (name.to_owned(), count as f64))
        .into())
}

/// The experiment of two of its levels only.
fn pair(of: &Experiment, facts: &[Fact], levels: [usize; 2]) -> (Experiment, Vec<Fact>) {
    let mut two = of.clone();
    two.factors[0].levels = levels
        .map(|level| of.factors[0].levels[level].clone())
        .into();
    let own = facts.iter().filter_map(|fact| {
        let place = levels
            .iter()
            .position(|level| *level == fact.planned.combination)?;
        Some(Fact {
            planned: Planned {
                combination: place,
                ..fact.planned
            },
            ..fact.clone()
        })
    });
    (two, own.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_levels_of_a_file_are_the_same_but_for_their_names() {
        for variant in NULL_LIVE.variants {
            let of = read(&file(variant, Seed(1))).expect("a file");
            let levels = &of.factors[0].levels;
            assert_eq!(levels.len(), LEVELS);
            let value = |level: &helenus_model::experiment::Level| {
                let each = level.settings.iter();
                each.map(|s| (s.key.clone(), s.value.clone()))
                    .collect::<Vec<_>>()
            };
            assert!(levels.iter().all(|level| value(level) == value(&levels[0])));
        }
    }
}
