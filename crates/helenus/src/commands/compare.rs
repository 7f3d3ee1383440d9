//! `helenus compare`: two sides of stored runs, or two files whose restarts it runs itself in interleaved pairs.
//! Refuses a claim from two single runs.

mod recipe;
pub(crate) mod render;
mod text;

use crate::cli::compare::Compare;
use crate::commands::experiment::live::Live;
use crate::commands::experiment::pairs::{exit_code, finds_rate, not_comparable};
use crate::commands::experiment::plan::timing;
use crate::commands::{bench, experiment as experiments};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_lab::bench::BenchRequest;
use helenus_lab::compare::{StoredError, stored};
use helenus_lab::experiment::{self, ExperimentRequest};
use helenus_model::comparison::{DEFAULT_PAIRS, FailOn, LEAST_PAIRS};
use helenus_model::experiment::{Planned, RunState};
use helenus_model::format::Format;
use helenus_model::seed::Seed;
use helenus_model::units::plural;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn run(flags: &Compare, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let bars = bars(&flags.fail_on)?;
    match flags.ab.as_deref() {
        Some([a, b]) => interleaved(flags, [a, b], bars, context, ui),
        _ => of_stored(&flags.sides, bars, context, ui),
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
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let made = stored(context, sides, bars).map_err(|error| match error {
        StoredError::History(source) => CommandError::from(source),
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
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let recipes = [recipe::read(files[0])?, recipe::read(files[1])?];
    let benches = [
        side(&recipes[0], files[0], context, ui)?,
        side(&recipes[1], files[1], context, ui)?,
    ];
    let labels = labels(&recipes, files);
    let [a, b] = &labels;
    experiment::comparable([a, b], [&benches[0], &benches[1]], &bars).map_err(not_comparable)?;
    if let Some(text) = undecided(first_stage(flags), &bars) {
        ui.caution(&text);
    }
    let seed = Seed(flags.seed.unwrap_or_else(bench::random));
    let hushed = ui.hushed();
    let request = |rate: Option<f64>| {
        let text = text::of(flags, &labels, &recipes, rate);
        experiments::request(text, seed, (context, &hushed))
    };
    let mut pairs = request(None)?;
    if flags.dry_run {
        dry_run(&pairs, ui);
        return Ok(0);
    }
    if finds_rate(&pairs.combinations) {
        let mut live = Live::new(ui, &pairs);
        let rate = experiment::find_rate(context, &pairs, &mut |event| live.see(&event));
        drop(live);
        let rate = rate.map_err(experiments::failure)?;
        let interrupted = || CommandError::new(code::INTERRUPTED, "interrupted, and cleaned up");
        pairs = request(Some(rate.ok_or_else(interrupted)?))?;
    }
    experiments::start(&pairs, context, ui)
}

/// What the sides are called: by their files, so that each is another word.
fn labels(recipes: &[recipe::Recipe; 2], files: [&PathBuf; 2]) -> [String; 2] {
    let by_name = [&recipes[0].label, &recipes[1].label].map(|label| text::word(label));
    if by_name[0] != by_name[1] {
        return by_name;
    }
    let by_path = files.map(|file| text::word(&file.display().to_string()));
    if by_path[0] != by_path[1] {
        return by_path;
    }
    let [a, b] = by_name;
    [format!("{a}-A"), format!("{b}-B")]
}

/// What stands against thresholds before anything runs: too few pairs for any answer.
fn undecided(pairs: usize, bars: &[FailOn]) -> Option<String> {
    (pairs < LEAST_PAIRS && !bars.is_empty()).then(|| {
        let few = if pairs == 1 {
            "1 pair leaves".to_owned()
        } else {
            format!("{pairs} pairs leave")
        };
        format!(
            "{few} every threshold of --fail-on undecided (exit code 6); --pairs {LEAST_PAIRS} is the fewest that can answer"
        )
    })
}

/// What a file asks for.
fn side(
    recipe: &recipe::Recipe,
    file: &Path,
    context: &Context,
    ui: &Ui,
) -> Result<BenchRequest, CommandError> {
    let request = bench::request(&recipe.flags, context, ui);
    request.map_err(|error| error.within(&file.display().to_string()))
}

/// Pairs that are run before anything is decided.
fn first_stage(flags: &Compare) -> usize {
    if flags.until.is_some() || flags.stop_early {
        return LEAST_PAIRS;
    }
    flags.pairs.map_or(DEFAULT_PAIRS, |n| n as usize)
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

/// `helenus.ab-plan/1`: what `--dry-run` prints.
#[derive(Serialize)]
struct AbPlan<'a> {
    format: Format,
    /// The names of A and B.
    labels: [&'a str; 2],
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

fn dry_run(request: &ExperimentRequest, ui: &Ui) {
    let of = &request.experiment;
    let order = of.order(request.seed);
    let runs: Vec<_> = order.iter().map(|run| (*run, RunState::Planned)).collect();
    let about = timing(&request.combinations).left(&runs);
    let pairs = of.repeats;
    let bars = of.pairs.as_ref().map_or(&[][..], |pairs| &pairs.bars);
    let early = of.pairs.as_ref().is_some_and(|pairs| pairs.stop_early);
    let most = match early || of.until.is_some() {
        true => of.max_repeats,
        false => pairs,
    };
    let letter = |run: &Planned| if run.combination == 0 { 'A' } else { 'B' };
    let labels = [0, 1].map(|level| of.factors[0].levels[level].label.as_str());
    let plan = AbPlan {
        format: Format::new("ab-plan", 1),
        labels,
        seed: request.seed.0,
        pairs,
        most_pairs: most,
        restarts: 2 * pairs,
        most_restarts: 2 * most,
        about_s: about.as_secs(),
        most_about_s: about.as_secs() * most as u64 / pairs as u64,
        bars: bars.iter().map(|bar| bar.text().to_owned()).collect(),
        order: order
            .chunks(2)
            .map(|pair| pair.iter().map(letter).collect())
            .collect(),
        finds_rate: finds_rate(&request.combinations),
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
