//! `helenus compare`: two sides of stored runs, or two files whose restarts it runs itself in interleaved pairs.
//! Refuses a claim from two single runs.

pub(crate) mod live;
mod recipe;
pub(crate) mod render;

use crate::cli::compare::Compare;
use crate::commands::bench;
use crate::commands::up::plural;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::lifecycle::Hands;
use helenus_lab::ab::{self, AbError, AbRequest, Rule};
use helenus_lab::bench::BenchRequest;
use helenus_lab::compare::{StoredError, stored};
use helenus_model::comparison::{
    BarAnswer, CompareError, Comparison, DEFAULT_PAIRS, FailOn, LEAST_PAIRS,
};
use helenus_model::format::Format;
use helenus_model::seed::Seed;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a restart takes besides its phases, for estimates: up, look, prepare and rm of one node.
const AROUND_A_RUN: Duration = Duration::from_secs(6);

pub(crate) fn run(flags: &Compare, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let bars = bars(&flags.fail_on)?;
    match flags.ab.as_deref() {
        Some([a, b]) => interleaved(flags, [a, b], bars, hands, ui),
        _ => of_stored(&flags.sides, bars, hands, ui),
    }
}

fn bars(texts: &[String]) -> Result<Vec<FailOn>, CommandError> {
    let parse = |text: &String| {
        FailOn::parse(text).map_err(|e| {
            let hint = e.hint();
            CommandError::of(code::USAGE, &e).hint(hint)
        })
    };
    texts.iter().map(parse).collect()
}

fn of_stored(
    sides: &[String],
    bars: Vec<FailOn>,
    hands: &Hands,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let made = stored(hands, sides, bars).map_err(|error| match error {
        StoredError::History(ref source) => {
            CommandError::of(code::USAGE, &error).hint(source.hint())
        }
        StoredError::Compare(source) => not_comparable(source),
        StoredError::OneSide(_) => CommandError::of(code::USAGE, &error)
            .hint("name two sides, or a comparison such as cmp1".to_owned()),
        StoredError::BothSides(_) => {
            CommandError::of(code::USAGE, &error).hint("name sides that share no run".to_owned())
        }
        StoredError::Made {
            sides: [ref a, ref b],
            ..
        } => CommandError::of(code::USAGE, &error).hint(format!(
            "compare its runs again: helenus compare {a} {b} --fail-on ..."
        )),
    })?;
    render::show(&made.comparison, made.id.map(|id| id.to_string()), ui);
    Ok(exit_code(&made.comparison))
}

fn interleaved(
    flags: &Compare,
    files: [&PathBuf; 2],
    bars: Vec<FailOn>,
    hands: &Hands,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let recipes = [recipe::read(files[0])?, recipe::read(files[1])?];
    let mut labels = recipes.clone().map(|recipe| recipe.label);
    if labels[0] == labels[1] {
        labels = files.map(|file| file.display().to_string());
    }
    let request = AbRequest {
        labels,
        benches: [
            side(&recipes[0], files[0], hands, ui)?,
            side(&recipes[1], files[1], hands, ui)?,
        ],
        rule: rule(flags),
        seed: Seed(flags.seed.unwrap_or_else(bench::random)),
        bars,
    };
    request.check().map_err(not_comparable)?;
    if let Some(text) = undecided(&request) {
        ui.caution(&text);
    }
    if flags.dry_run {
        dry_run(&request, ui);
        return Ok(0);
    }
    ui.note(&format!(
        "seed {}; at least {} restarts, about {}",
        request.seed.0,
        2 * request.rule.first_stage(),
        minutes(estimate(&request, 2 * request.rule.first_stage()))
    ));
    let mut live = live::Live::new(ui, &request, [&recipes[0].flags, &recipes[1].flags]);
    let finished = ab::ab(hands, &request, &mut |event| live.see(&event));
    drop(live);
    let finished = finished.map_err(failure)?;
    render::show(
        &finished.comparison,
        finished.id.map(|id| id.to_string()),
        ui,
    );
    if finished.interrupted {
        return Err(CommandError::new(
            code::INTERRUPTED,
            "interrupted, and cleaned up; the pairs so far are above",
        ));
    }
    if let Some(error) = finished.failed {
        return Err(failure(error));
    }
    bench::recorded(
        exit_code(&finished.comparison),
        "the comparison",
        finished.not_recorded.as_ref(),
    )
}

/// What stands against bars before anything runs: too few pairs for any answer.
fn undecided(request: &AbRequest) -> Option<String> {
    let pairs = request.rule.first_stage();
    (pairs < LEAST_PAIRS && !request.bars.is_empty()).then(|| {
        let few = if pairs == 1 {
            "1 pair leaves".to_owned()
        } else {
            format!("{pairs} pairs leave")
        };
        format!(
            "{few} every bar of --fail-on undecided (exit code 6); --pairs {LEAST_PAIRS} is the fewest that can answer"
        )
    })
}

/// What a file asks for.
fn side(
    recipe: &recipe::Recipe,
    file: &Path,
    hands: &Hands,
    ui: &Ui,
) -> Result<BenchRequest, CommandError> {
    let request = bench::request(&recipe.flags, hands, ui);
    request.map_err(|error| error.within(&file.display().to_string()))
}

fn not_comparable(error: CompareError) -> CommandError {
    CommandError::new(code::USAGE, error.to_string()).hint(error.hint())
}

/// 0 without bars.
fn exit_code(comparison: &Comparison) -> u8 {
    comparison.answer().map_or(0, BarAnswer::exit_code)
}

fn rule(flags: &Compare) -> Rule {
    let max_pairs = flags.max_pairs as usize;
    if flags.stop_early {
        return Rule::Early { max_pairs };
    }
    let fixed = flags.pairs.map_or(DEFAULT_PAIRS, |n| n as usize);
    flags.until.map_or(Rule::Pairs(fixed), |share| Rule::Until {
        wanted: 1.0 + share,
        max_pairs,
    })
}

/// How long so many restarts take.
fn estimate(request: &AbRequest, restarts: usize) -> Duration {
    let one = |bench: &BenchRequest| {
        // A closed loop that ends by count takes as long as it takes.
        let phases = bench.shape.phases(bench.rate_per_s).into_iter();
        let each = phases.map(|phase| phase.whole_ms().unwrap_or(phase.warmup_ms));
        Duration::from_millis(each.sum()) + AROUND_A_RUN
    };
    let pair = one(&request.benches[0]) + one(&request.benches[1]);
    pair * u32::try_from(restarts).unwrap_or(u32::MAX) / 2
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

fn failure(error: AbError) -> CommandError {
    match error {
        AbError::Bench { pair, side, source } => {
            let place = format!("pair {pair}, side {}", side.letter());
            bench::failure(*source).within(&place)
        }
        AbError::Rate(source) => bench::failure(*source).within("the run that finds the rate"),
        AbError::Compare(source) => not_comparable(source),
        AbError::TooManySpoilt { ref doubts, .. } => {
            let mostly = doubts
                .first()
                .map(|(text, times)| format!("most often ({times} times): {text}"));
            CommandError::of(code::INVALID, &error).hint(mostly)
        }
        AbError::Interrupted => CommandError::of(code::INTERRUPTED, &error),
    }
}

/// `helenus.ab-plan/1`: what `--dry-run` tells.
#[derive(Serialize)]
struct AbPlan<'a> {
    format: Format,
    /// The names of A and B.
    labels: &'a [String; 2],
    /// Root seed.
    seed: u64,
    /// Pairs of restarts.
    pairs: usize,
    /// Pairs at most.
    most_pairs: usize,
    /// Restarts.
    restarts: usize,
    /// Restarts at most.
    most_restarts: usize,
    /// How long it takes, about, in seconds.
    about_s: u64,
    /// How long it takes at most, about, in seconds.
    most_about_s: u64,
    /// The bars that it is held to.
    bars: Vec<String>,
    /// Which side comes first in each pair.
    order: Vec<String>,
    /// One more run of A comes first, to find the rate of a side that has none.
    finds_rate: bool,
}

impl Answers for AbPlan<'_> {
    fn answer(&self) -> String {
        let rate = match self.finds_rate {
            true => "one run of A that finds the rate for all, and ",
            false => "",
        };
        format!(
            "{rate}{} restarts in {}, about {}",
            self.restarts,
            plural(self.pairs, "pair"),
            minutes(Duration::from_secs(self.about_s))
        )
    }
}

fn dry_run(request: &AbRequest, ui: &Ui) {
    let pairs = request.rule.first_stage();
    let most = match request.rule {
        Rule::Pairs(pairs) => pairs,
        Rule::Until { max_pairs, .. } | Rule::Early { max_pairs } => max_pairs.max(LEAST_PAIRS),
    };
    let pairing = helenus_model::pairing::Pairing::new(request.seed, pairs);
    let order = (0..pairs)
        .map(|pair| {
            let first = pairing.first(pair);
            format!("{}{}", first.letter(), first.other().letter())
        })
        .collect();
    let plan = AbPlan {
        format: Format::new("ab-plan", 1),
        labels: &request.labels,
        seed: request.seed.0,
        pairs,
        most_pairs: most,
        restarts: 2 * pairs,
        most_restarts: 2 * most,
        about_s: estimate(request, 2 * pairs).as_secs(),
        most_about_s: estimate(request, 2 * most).as_secs(),
        bars: request
            .bars
            .iter()
            .map(|bar| bar.text().to_owned())
            .collect(),
        order,
        finds_rate: request.finds_rate(),
    };
    ui.result(&plan, || {
        let more = if most > pairs {
            format!(
                "\nup to {} restarts in {} pairs, about {}, as the first {} pairs decide",
                plan.most_restarts,
                most,
                minutes(Duration::from_secs(plan.most_about_s)),
                pairs
            )
        } else {
            String::new()
        };
        format!(
            "A  {}\nB  {}\n{}{more}\nseed {}, order {}\n",
            plan.labels[0],
            plan.labels[1],
            plan.answer(),
            plan.seed,
            plan.order.join(" ")
        )
    });
}
