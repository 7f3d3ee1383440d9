//! What `believe answer` says of its journals, as `docs/believe.md` has it: comparisons drawn from the pools, and live ones.
//! Refuses a run that was not to be believed: its pair is left out, and counted.

use super::{drawn, live, pool};
use crate::prove::campaign::Measures;
use crate::prove::journal::Journal;
use helenus_model::seed::Seed;
use std::error::Error;
use std::fmt::Write as _;

/// The draws follow from it.
pub(super) const SEED: Seed = Seed(20);

/// Pairs of which the power is printed.
const PAIRS: usize = 10;

/// False alarms at 5 %, as a share, within which a measure's intervals are as sure as they say.
const AS_SURE: std::ops::RangeInclusive<f64> = 0.035..=0.065;

/// Measures that ten pairs are to find a difference of 10 % in, four times in five.
const TO_BE_FOUND: [&str; 3] = ["service_p50_us", "response_p50_us", "node_cpu_us"];

/// The table of the pool of this name.
pub(crate) fn pool_named(journal: &Journal, variant: &str) -> Result<String, Box<dyn Error>> {
    let known = [pool::SETTLED, pool::COMPILING];
    let pool = known.iter().find(|pool| pool.variant == variant);
    let pool = pool.ok_or_else(|| format!("no pool {variant}"))?;
    Ok(self::pool(journal, pool)?.0)
}

/// Draws from the pool; true where the error rates and the power are where they shall be.
pub(super) fn pool(journal: &Journal, pool: &pool::Pool) -> Result<(String, bool), Box<dyn Error>> {
    let trials = journal.trials(pool.variant).into_iter();
    let trials: Vec<&Measures> = trials.map(|(measures, _)| measures).collect();
    let refused = trials.iter().filter(|run| !drawn::counts(run)).count();
    let refused = match refused {
        0 => "all of their runs count".to_owned(),
        some => format!(
            "{some} of their runs ended with exit code 5, and are left out with their pairs{}",
            with_them(&trials)
        ),
    };
    let mut text = format!(
        "{} restarts ({}); {refused}.\n\n\
         | measure | pairs | log sd | false at 5 % | half-width | power at 2 % | at 5 % | at 10 % |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
        trials.len(),
        pool.about
    );
    let mut holds = trials.len() >= pool.restarts;
    for measure in drawn::MEASURES {
        let ratios = drawn::log_ratios(&trials, measure);
        if ratios.len() < PAIRS {
            continue;
        }
        let none = drawn::nothing_differs(&ratios, SEED).ok_or("too few pairs")?;
        let power = drawn::power(&ratios, [1.02, 1.05, 1.10], PAIRS, SEED);
        let [two, five, ten] = power.ok_or("too few pairs")?;
        let sure = AS_SURE.contains(&none.false_share);
        let found = ten >= 0.8 || !TO_BE_FOUND.contains(&measure);
        holds &= sure && found;
        let _infallible = writeln!(
            text,
            "| {} | {} | {:.3} | {:.1} %{} | ±{:.1} % | {:.0} % | {:.0} % | {:.0} %{} |",
            words(measure),
            none.pairs,
            none.log_sd,
            none.false_share * 100.0,
            if sure { "" } else { " (outside 3.5 to 6.5)" },
            (none.half_width - 1.0) * 100.0,
            two * 100.0,
            five * 100.0,
            ten * 100.0,
            if found { "" } else { " (below 80)" },
        );
    }
    Ok((text, holds))
}

/// What the tails were with the runs that are left out.
fn with_them(trials: &[&Measures]) -> String {
    let each = ["response_p99_us", "service_p99_us", "response_mean_us"].map(|measure| {
        let sd = drawn::log_sd_of_all(trials, measure).unwrap_or_default();
        format!("{} {sd:.3}", words(measure))
    });
    format!(" (log sd with them: {})", each.join(", "))
}

/// A measure of the journal in words.
fn words(measure: &str) -> String {
    match measure {
        "node_cpu_us" | "node_cpu" => "nodes' CPU an operation".to_owned(),
        "generator_cpu_us" => "generator's CPU an operation".to_owned(),
        time => time.trim_end_matches("_us").replace('_', " "),
    }
}

/// The live comparisons by kind, every kind that was tried.
pub(crate) fn live(journal: &Journal) -> String {
    let mut text = String::from(
        "| kind | pairs | trials | exit code 0 | 1 | 6 | B/A of what is looked at, median | its interval leaves 1 out |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for kind in live::KINDS {
        let trials = journal.trials(kind.variant);
        if trials.is_empty() {
            continue;
        }
        let code = |code: f64| {
            let with = |(m, _): &&(&Measures, _)| m.get("exit_code") == Some(&code);
            trials.iter().filter(with).count()
        };
        let ratio = format!("{}_ratio", kind.looked_at);
        let ratios: Vec<f64> = trials
            .iter()
            .filter_map(|(m, _)| m.get(&ratio).copied())
            .collect();
        let middle = helenus_model::stats::median(&ratios);
        let _infallible = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {}: {} | {} |",
            kind.about,
            kind.pairs(),
            trials.len(),
            code(0.0),
            code(1.0),
            code(6.0),
            words(
                kind.looked_at
                    .split_once('_')
                    .map_or("", |(_, measure)| measure)
            ),
            middle.map_or("–".to_owned(), |m| format!("{m:.3}")),
            leave_one_out(&trials, kind.looked_at),
        );
    }
    text
}

/// Whether the live comparisons are all there, and the bars of the workflow are met.
pub(super) fn live_holds(journal: &Journal) -> bool {
    let each = live::KINDS.iter().map(|kind| {
        let trials = journal.trials(kind.variant);
        let crossed = trials
            .iter()
            .filter(|(m, _)| m.get("exit_code") == Some(&1.0))
            .count();
        let met = match kind.variant {
            "ci12-noise" => crossed <= 1,
            "ci12-p50" | "ci12-p99" => crossed * 10 >= trials.len() * 9,
            _ => true,
        };
        met && trials.len() >= kind.trials
    });
    let all = each.fold(true, |all, met| all & met);
    let [(wrong, of), _, _] = nothing(journal);
    all && wrong * 10 <= of
}

/// The live comparisons in which nothing differs: false alarms of the median, of p99 and of the nodes' CPU, and of how many.
fn nothing(journal: &Journal) -> [(usize, usize); 3] {
    ["write_response_p50", "write_response_p99", "write_node_cpu"].map(|looked_at| {
        let kinds = live::KINDS.iter().filter(|k| k.variant.ends_with("noise"));
        let each = kinds.map(|kind| journal.trials(kind.variant));
        each.fold((0, 0), |(wrong, of), trials| {
            (wrong + leave_one_out(&trials, looked_at), of + trials.len())
        })
    })
}

/// The same in a sentence.
pub(crate) fn nothing_differed(journal: &Journal) -> String {
    let [(p50, of), (p99, _), (cpu, _)] = nothing(journal);
    format!(
        "Nothing differed in {of} live comparisons: the interval of the median left 1 out in {p50} of them, that of p99 in \
         {p99},\nthat of the nodes' CPU in {cpu}; {:.0} of each were to be expected.\n",
        of as f64 * 0.05
    )
}

/// Trials in which the interval of what is looked at leaves 1 out.
fn leave_one_out<T>(trials: &[(&Measures, T)], looked_at: &str) -> usize {
    let [low, high] = ["low", "high"].map(|end| format!("{looked_at}_{end}"));
    let out = |(m, _): &&(&Measures, T)| matches!((m.get(&low), m.get(&high)), (Some(low), Some(high)) if *low > 1.0 || *high < 1.0);
    trials.iter().filter(out).count()
}
