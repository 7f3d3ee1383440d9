//! `prove believe`: the tool's own proof. Are its intervals as sure as they say, and does it find what is there?
//! Refuses to be quick: hundreds of restarts, resumed where a sitting was cut.

mod drawn;
mod latte;
mod live;
mod pool;

use super::campaign::{Measures, Outcome};
use super::host::{self, Host};
use super::journal::{Journal, Line};
use super::rig::Rig;
use super::{FAILURES_MOST, QUIET_WITHIN};
use helenus_model::seed::Seed;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

/// What `prove --list` says.
pub(super) const ABOUT: &str = "a pool of real restarts, comparisons drawn from it and live ones, latte's beside them; \
     stages: pool, live, answer (all without a word)";

/// What the stages share.
struct Believe<'a> {
    rig: &'a Rig,
    host: &'a Host,
    folder: &'a Path,
    fresh: bool,
}

/// Runs the stages that are named, or all; true where every bar holds.
pub(super) fn run(
    rig: &Rig,
    host: &Host,
    folder: &Path,
    stages: &[&str],
    fresh: bool,
) -> Result<bool, Box<dyn Error>> {
    let believe = Believe {
        rig,
        host,
        folder,
        fresh,
    };
    let wanted = |stage: &str| stages.is_empty() || stages.contains(&stage);
    for pool in [pool::SETTLED, pool::COMPILING] {
        if wanted("pool") || stages.contains(&pool.variant) {
            believe.pool(&pool)?;
        }
    }
    for kind in live::KINDS {
        let stage = stages.contains(&kind.variant);
        if wanted("live") || stage {
            believe.live(kind)?;
        }
    }
    if wanted("answer") {
        return believe.answer();
    }
    Ok(true)
}

impl Believe<'_> {
    fn journal(&self, name: &str) -> Result<Journal, Box<dyn Error>> {
        Journal::open(self.folder, name, self.host, self.fresh)
    }

    fn pool(&self, pool: &pool::Pool) -> Result<(), Box<dyn Error>> {
        println!("{}: {}", pool.variant, pool.about);
        let mut journal = self.journal("believe-pool")?;
        self.measure(&mut journal, pool.variant, pool.restarts, true, &|round| {
            pool::trial(self.rig, pool, round)
        })
    }

    fn live(&self, kind: &live::Kind) -> Result<(), Box<dyn Error>> {
        println!("{}: {}", kind.variant, kind.about);
        let mut journal = self.journal("believe-live")?;
        self.measure(&mut journal, kind.variant, kind.trials, false, &|round| {
            live::trial(self.rig, kind, round)
        })
    }

    /// Trials of one variant until there are so many.
    fn measure(
        &self,
        journal: &mut Journal,
        variant: &str,
        trials: usize,
        quiet: bool,
        trial: &dyn Fn(usize) -> Result<Outcome, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        if journal.trials(variant).len() >= trials {
            return Ok(());
        }
        journal.sit("believe", self.host)?;
        let begin = Instant::now();
        let had = journal.trials(variant).len();
        let mut failures = 0;
        for round in had..trials {
            // The two restarts of a pair follow each other at once.
            if quiet && round % 2 == 0 {
                host::wait_for_quiet(QUIET_WITHIN)?;
            }
            let at_unix = host::now_unix();
            let variant = variant.to_owned();
            let line = match trial(round) {
                Ok(Outcome { measures, pressure }) => Line::Trial {
                    variant,
                    round,
                    at_unix,
                    measures,
                    pressure,
                },
                Err(error) => {
                    failures += 1;
                    let root = self.rig.root.to_string_lossy();
                    Line::Failed {
                        variant,
                        round,
                        at_unix,
                        why: error.to_string().replace(&*root, "..."),
                    }
                }
            };
            let done = round + 1 - had;
            let left = begin.elapsed() / done as u32 * (trials - round - 1) as u32;
            println!("{}; {} s left", told(&line), left.as_secs());
            journal.append(line)?;
            if failures >= FAILURES_MOST {
                return Err(format!("{failures} trials failed: {}", journal.path.display()).into());
            }
        }
        Ok(())
    }

    fn answer(&self) -> Result<bool, Box<dyn Error>> {
        let pool = self.journal("believe-pool")?;
        let live = self.journal("believe-live")?;
        let seed = Seed(20);
        let of = |kind: &pool::Pool| -> Vec<&Measures> {
            let trials = pool.trials(kind.variant).into_iter();
            trials.map(|(measures, _)| measures).collect()
        };
        let mut text = String::new();
        let mut holds = drawn_table(&pool::SETTLED, &of(&pool::SETTLED), seed, &mut text)?;
        // Told for what it is; nothing is held to it.
        let compiling = of(&pool::COMPILING);
        drawn_table(&pool::COMPILING, &compiling, seed, &mut text)?;
        latte_table(self.rig, compiling.len(), seed, &mut text)?;
        holds &= live_table(&live, &mut text)?;
        println!("{text}");
        Ok(holds)
    }
}

/// A trial in one line.
fn told(line: &Line) -> String {
    match line {
        Line::Trial {
            variant,
            round,
            measures,
            ..
        } => {
            let few: Vec<String> = measures
                .iter()
                .filter(|(name, _)| {
                    name.contains("p50") || name.contains("p99") || name.contains("code")
                })
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            format!("{variant} {round}: {}", few.join(", "))
        }
        Line::Failed {
            variant,
            round,
            why,
            ..
        } => format!("{variant} {round}: failed: {why}"),
        Line::Sitting { .. } => String::new(),
    }
}

/// Draws from the pool; true where the error rates and the power are where they shall be.
fn drawn_table(
    pool: &pool::Pool,
    trials: &[&Measures],
    seed: Seed,
    text: &mut String,
) -> Result<bool, Box<dyn Error>> {
    writeln!(
        text,
        "\nPool: {} restarts ({}). Drawn: {} comparisons of 6 to 8 pairs for each figure.\n\n\
         | measure | pairs | log sd | false at 5 % | half-width | finds 2 % (10 pairs) | 5 % | 10 % |\n\
         |---|---|---|---|---|---|---|---|",
        trials.len(),
        pool.about,
        drawn::DRAWS
    )?;
    let mut holds = trials.len() >= pool.restarts;
    for measure in drawn::MEASURES {
        let ratios = drawn::log_ratios(trials, measure);
        if ratios.len() < 10 {
            continue;
        }
        let none = drawn::nothing_differs(&ratios, seed).ok_or("too few pairs")?;
        let power = |ratio| drawn::power(&ratios, ratio, 10.min(ratios.len()), seed);
        let [two, five, ten] = [1.02, 1.05, 1.10].map(|ratio| power(ratio).unwrap_or_default());
        let errors = (0.035..=0.065).contains(&none.false_share);
        let found =
            ten >= 0.8 || !["service_p50_us", "response_p50_us", "node_cpu_us"].contains(&measure);
        holds &= errors && found;
        writeln!(
            text,
            "| {measure} | {} | {:.3} | {:.1} %{} | ±{:.1} % | {:.0} % | {:.0} % | {:.0} %{} |",
            none.pairs,
            none.log_sd,
            none.false_share * 100.0,
            if errors { "" } else { " (outside 3.5 to 6.5)" },
            (none.half_width - 1.0) * 100.0,
            two * 100.0,
            five * 100.0,
            ten * 100.0,
            if found { "" } else { " (below 80)" },
        )?;
    }
    Ok(holds)
}

fn latte_table(
    rig: &Rig,
    rounds: usize,
    seed: Seed,
    text: &mut String,
) -> Result<(), Box<dyn Error>> {
    let rows = latte::marked(rig, rounds, seed)?;
    if rows.is_empty() {
        writeln!(
            text,
            "\nlatte: NOT RUN (LATTE=path/to/latte with stage pool)"
        )?;
        return Ok(());
    }
    writeln!(
        text,
        "\nlatte's own comparison of two restarts of which nothing differs:\n\n\
         | row | compared | p ≤ 0.05 | p ≤ 0.01 |\n|---|---|---|---|"
    )?;
    for (row, marked) in rows {
        let share = |n: usize| n as f64 / marked.compared.max(1) as f64 * 100.0;
        writeln!(
            text,
            "| {row} | {} | {:.0} % | {:.0} % |",
            marked.compared,
            share(marked.at_5_percent),
            share(marked.at_1_percent)
        )?;
    }
    Ok(())
}

/// The live comparisons by kind; true where the bars of the workflow are met.
fn live_table(live: &Journal, text: &mut String) -> Result<bool, Box<dyn Error>> {
    writeln!(
        text,
        "\nLive comparisons:\n\n| kind | trials | passed (0) | failed (1) | cannot tell (6) | interval leaves 1 out |\n\
         |---|---|---|---|---|---|"
    )?;
    let mut holds = true;
    let mut noise = (0, 0);
    for kind in live::KINDS {
        let trials = live.trials(kind.variant);
        let code = |code: f64| {
            trials
                .iter()
                .filter(|(m, _)| m.get("exit_code") == Some(&code))
                .count()
        };
        let found = trials
            .iter()
            .filter(|(m, _)| leaves_one_out(m, kind.looked_at))
            .count();
        writeln!(
            text,
            "| {} ({}) | {} | {} | {} | {} | {found} |",
            kind.variant,
            kind.about,
            trials.len(),
            code(0.0),
            code(1.0),
            code(6.0)
        )?;
        holds &= trials.len() >= kind.trials;
        match kind.variant {
            "ci12-noise" => holds &= code(1.0) <= 1,
            "ci12-p50" | "ci12-p99" => holds &= code(1.0) * 10 >= trials.len() * 9,
            _ => {}
        }
        if kind.variant.ends_with("noise") {
            noise = (noise.0 + trials.len(), noise.1 + found);
        }
    }
    let (trials, wrong) = noise;
    holds &= wrong <= 8;
    writeln!(
        text,
        "\nNothing differs, live: {wrong} false of {trials} (at most 8 of 80)."
    )?;
    Ok(holds)
}

/// Whether the interval of what is looked at leaves 1 out.
fn leaves_one_out(measures: &Measures, looked_at: &str) -> bool {
    let end = |end: &str| measures.get(&format!("{looked_at}_{end}"));
    matches!((end("low"), end("high")), (Some(low), Some(high)) if *low > 1.0 || *high < 1.0)
}
