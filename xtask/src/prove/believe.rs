//! `prove believe`: the tool's own proof. Are its intervals as sure as they say, and does it find what is there?
//! Refuses to be quick: hundreds of restarts, resumed where a sitting was cut.

mod drawn;
mod latte;
mod live;
mod pool;
mod tables;

pub(super) use pool::contact_point;
pub(super) use tables::{live as live_rows, nothing_differed, pool_named as pool_rows};

use super::campaign::Outcome;
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
            let line = Line::of(trial(round), (variant, round), &self.rig.root);
            failures += usize::from(matches!(line, Line::Failed { .. }));
            let done = round + 1 - had;
            let left = begin.elapsed() / done as u32 * (trials - round - 1) as u32;
            println!("{}; {} s left", summary(&line), left.as_secs());
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
        let (mut text, mut holds) = tables::pool(&pool, &pool::SETTLED)?;
        // Printed for what it is; nothing is held to it.
        text.push_str(&tables::pool(&pool, &pool::COMPILING)?.0);
        let compiling = pool.trials(pool::COMPILING.variant).len();
        latte_table(self.rig, compiling, tables::SEED, &mut text)?;
        text.push_str(&tables::live(&live));
        holds &= tables::live_holds(&live);
        println!("{text}");
        Ok(holds)
    }
}

/// A trial in one line.
fn summary(line: &Line) -> String {
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
