//! `experiment check` and `experiment plan`: what would run, how long it takes, what it needs.
//! Refuses to start anything.

use super::{File, combinations, seed};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::machine;
use helenus_lab::BenchRequest;
use helenus_lab::bench::Where;
use helenus_lab::experiment::Combination;
use helenus_model::comparison::LEAST_PAIRS;
use helenus_model::experiment::{
    Experiment, Kind, Making, Planned, RunState, Stage, Timing, VERSION, Whole,
};
use helenus_model::format::Format;
use helenus_model::plan::ClusterPlan;
use helenus_model::units::{Bytes, human_duration, plural};
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

/// What a restart of one node takes besides its runs, and each further node of it: up, look, remove. One node
/// of `tiny` was ready in 4 to 7 s (docs/experiments/tiny.md), three in 6.4 s (docs/start.md).
const RESTART: Duration = Duration::from_secs(6);
const FURTHER_NODE: Duration = Duration::from_secs(4);

/// The same of pods, which all end and then start together; and what a live setting and a Job of generators take beside a
/// run: restarts of one pod took 17 s and more until the first operation, and runs 5 s and more besides their phases
/// (docs/kubernetes.md).
const POD_RESTART: Duration = Duration::from_secs(20);
const FURTHER_POD: Duration = Duration::from_secs(10);
const AROUND_A_RUN_IN_PODS: Duration = Duration::from_secs(4);

/// The same of nodes on hosts, which Ansible stops and starts: it took 62 s to find that six hosts need no change
/// (docs/hosts.md).
const HOST_RESTART: Duration = Duration::from_secs(50);
const FURTHER_HOST: Duration = Duration::from_secs(10);

/// A stand-in for Cassandra is there at once.
const FAKE_RESTART: Duration = Duration::from_secs(1);

/// What a run takes besides its phases: connecting, preparing, storing.
const AROUND_A_RUN: Duration = Duration::from_millis(1500);

/// A phase that ends by count and has no rate takes as long as it takes; this is what is reckoned with.
const UNKNOWN_PHASE: Duration = Duration::from_secs(15);

/// What new nodes are reckoned to take until their CPU time for an operation is level.
const UNTIL_LEVEL: Duration = Duration::from_secs(60);

/// Rows a second that a dataset is written and read back with, and what flushing, settling and saving it takes: 1.2 million
/// rows of experiments/many-types.yaml took 51 s, ten million 190 to 300 s (docs/experiments/xeon-guide.md).
const ROWS_PER_S: u64 = 55_000;
const AROUND_A_DATASET: Duration = Duration::from_secs(30);

/// Disk of a node without data, and of a row with all that belongs to it (a row of standard1 has 330 bytes).
const DISK_PER_NODE: Bytes = Bytes::mib(100);
const ROW_BYTES: u64 = 400;

/// `helenus.experiment/1`.
#[derive(Serialize)]
struct Shown<'a> {
    format: Format,
    /// Its name.
    name: &'a str,
    /// The cluster on Kubernetes whose nodes it starts anew, in words; none where it makes clusters here.
    on: Option<String>,
    /// The factors.
    factors: Vec<ShownFactor<'a>>,
    /// Combinations of levels.
    combinations: Vec<ShownCombination>,
    /// Restarts of a block.
    restarts_a_block: usize,
    /// Runs of a block.
    runs_a_block: usize,
    #[serde(skip)]
    controlled: bool,
    /// Of a fraction: 3 mixes effects with interactions of two, 4 does not.
    resolution: Option<usize>,
    /// Why its question about the disk will have no answer here, as far as that is known beforehand.
    not_testable: Option<String>,
    /// What it has too few blocks or restarts for.
    too_few: Option<String>,
    #[serde(flatten)]
    planned: Option<ShownPlan>,
}

impl Answers for Shown<'_> {
    fn answer(&self) -> String {
        let planned = self.planned.as_ref().map(ShownPlan::words);
        let planned = planned
            .map(|words| format!("; {words}"))
            .unwrap_or_default();
        format!("{}: {}{planned}", self.name, self.block())
    }
}

impl Shown<'_> {
    /// What a block has.
    fn block(&self) -> String {
        format!(
            "{} combinations; a block has {} restarts and {} runs{}",
            self.combinations.len(),
            self.restarts_a_block,
            self.runs_a_block,
            if self.controlled {
                ", the first restart twice"
            } else {
                ""
            }
        )
    }
}

#[derive(Serialize)]
struct ShownFactor<'a> {
    /// Its name.
    name: &'a str,
    /// What it changes.
    kind: Kind,
    /// Whether it is given and not asked about.
    given: bool,
    /// Its levels.
    levels: Vec<&'a str>,
}

#[derive(Serialize)]
struct ShownCombination {
    /// Its settings in words.
    label: String,
    /// Why it does not fit this machine.
    does_not_fit: Option<String>,
}

#[derive(Serialize)]
struct ShownPlan {
    /// Root seed.
    seed: u64,
    /// Blocks.
    blocks: usize,
    /// Restarts.
    restarts: usize,
    /// Runs.
    runs: usize,
    /// How long it takes, about, in seconds.
    about_s: u64,
    /// Disk that it needs.
    disk_bytes: u64,
    /// Memory that it needs at once.
    memory_bytes: u64,
    /// The runs, in their order.
    order: Vec<Planned>,
}

impl ShownPlan {
    /// What all blocks take.
    fn words(&self) -> String {
        format!(
            "{} blocks: {} restarts, {} runs, about {}; {} of disk, {} of memory at once; seed {}",
            self.blocks,
            self.restarts,
            self.runs,
            human_duration(Duration::from_secs(self.about_s)),
            Bytes(self.disk_bytes),
            Bytes(self.memory_bytes),
            self.seed
        )
    }
}

/// The requests of all combinations of a file that asks for nothing that its phases cannot decide.
pub(super) fn decidable(
    file: &File,
    context: &Context,
    ui: &Ui,
) -> Result<Vec<Combination>, CommandError> {
    let combinations = combinations(file, context, ui)?;
    if let Some(pairs) = &file.experiment.pairs {
        super::pairs::check(&file.experiment, pairs, &combinations)?;
        return Ok(combinations);
    }
    let phases = |one: &Combination| {
        let phases = one.bench.shape.phases(one.bench.load.rate_per_s());
        one.unfit.is_none().then_some(phases)
    };
    let phases: Vec<_> = combinations.iter().map(phases).collect();
    match file.experiment.too_few(&phases) {
        Some(few) => Err(CommandError::of(code::USAGE, &few).hint(few.hint())),
        None => Ok(combinations),
    }
}

pub(super) fn check(file: &File, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let combinations = decidable(file, context, ui)?;
    let small = too_small(&file.experiment, &combinations, context);
    let shown = shown(&file.experiment, &combinations, small, None);
    ui.result(&shown, || text(&shown));
    Ok(0)
}

pub(super) fn plan(file: &File, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let combinations = decidable(file, context, ui)?;
    let of = &file.experiment;
    let seed = seed(file);
    let mut order = of.order(seed);
    order.retain(|planned| combinations[planned.combination].unfit.is_none());
    let runs = order.iter().map(|planned| (*planned, RunState::Planned));
    let runs: Vec<(Planned, RunState)> = runs.collect();
    let mut restarts: Vec<usize> = runs.iter().map(|(planned, _)| planned.restart).collect();
    restarts.dedup();
    let about = timing(&combinations).left(&runs);
    let planned = ShownPlan {
        seed: seed.0,
        blocks: of.repeats,
        restarts: restarts.len(),
        runs: runs.len(),
        about_s: about.as_secs(),
        disk_bytes: disk(&combinations).0,
        memory_bytes: memory(&combinations, context).0,
        order,
    };
    let small = too_small(of, &combinations, context);
    let shown = shown(of, &combinations, small, Some(planned));
    ui.result(&shown, || {
        let mut text = text(&shown);
        text.push_str(&first_block(of, &shown));
        text
    });
    Ok(0)
}

/// What so few blocks, or in a screening so few restarts, are too few for.
pub(super) fn few(of: &Experiment) -> Option<String> {
    if of.is_screening() {
        let (level, restarts) = of.rarest()?;
        return (restarts < LEAST_PAIRS).then(|| {
            format!(
                "nothing is claimed of a level with fewer than {LEAST_PAIRS} restarts: {level} has {restarts}"
            )
        });
    }
    (of.repeats < LEAST_PAIRS)
        .then(|| format!("nothing is claimed of fewer than {LEAST_PAIRS} blocks"))
}

/// How long restarts and runs take, as far as that is known beforehand.
pub(crate) fn timing(combinations: &[Combination]) -> Timing {
    let up = combinations.iter().map(|one| match &one.bench.place {
        Where::Ephemeral(up) if up.fake.is_some() => FAKE_RESTART,
        Where::Ephemeral(up) => {
            let further = up.spec.topology.nodes().saturating_sub(1);
            RESTART + FURTHER_NODE * u32::try_from(further).unwrap_or(u32::MAX)
        }
        Where::Kube { .. } => {
            let further = nodes(one).saturating_sub(1);
            POD_RESTART + FURTHER_POD * u32::try_from(further).unwrap_or(u32::MAX)
        }
        Where::Hosts { .. } => {
            let further = nodes(one).saturating_sub(1);
            HOST_RESTART + FURTHER_HOST * u32::try_from(further).unwrap_or(u32::MAX)
        }
        Where::Cluster(_) => RESTART,
    });
    let up = up.max().unwrap_or(RESTART);
    // With a dataset the nodes start twice: to make the tables, and with the data.
    let starts = if combinations.iter().any(|one| one.populate.is_some()) {
        2
    } else {
        1
    };
    let warm = combinations.iter().filter_map(warming).max();
    let warm = warm.unwrap_or_default();
    let runs = combinations.iter().map(|one| match one.bench.place {
        Where::Kube { .. } => run(&one.bench) + AROUND_A_RUN_IN_PODS,
        _ => run(&one.bench),
    });
    Timing {
        restart: up * starts + warm,
        runs: runs.collect(),
        datasets: combinations.iter().map(making).collect(),
    }
}

/// How long new nodes are loaded before the first run; none where they are not.
fn warming(of: &Combination) -> Option<Duration> {
    let slice = run(of.warm.as_ref()?);
    Some(match of.warm_until {
        Some(until) => UNTIL_LEVEL.min(until.at_most).max(slice),
        None => slice,
    })
}

/// How long a run takes.
fn run(bench: &BenchRequest) -> Duration {
    let phases = bench.shape.phases(bench.load.rate_per_s()).into_iter();
    let each = phases.map(|phase| {
        let unknown = || Duration::from_millis(phase.warmup_ms) + UNKNOWN_PHASE;
        phase.whole_ms().map_or_else(unknown, Duration::from_millis)
    });
    // The time that its trials may take, which they do not always need.
    let trials = bench.search.as_ref().map_or(0, |search| search.within_ms);
    each.sum::<Duration>() + Duration::from_millis(trials) + AROUND_A_RUN
}

/// How long its dataset takes.
fn making(of: &Combination) -> Option<Making> {
    let writing = Duration::from_secs(rows(of) / ROWS_PER_S);
    of.populate.as_ref().map(|_| Making {
        dataset: of.dataset,
        takes: writing + AROUND_A_DATASET,
    })
}

/// The first combination of each dataset.
fn distinct(combinations: &[Combination]) -> impl Iterator<Item = &Combination> {
    let first = move |(place, one): &(usize, &Combination)| {
        let before = &combinations[..*place];
        one.populate.is_some() && !before.iter().any(|other| other.dataset == one.dataset)
    };
    let each = combinations.iter().enumerate().filter(first);
    each.map(|(_, one)| one)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rows below 2^53"
)]
fn rows(of: &Combination) -> u64 {
    let Some(populate) = &of.populate else {
        return 0;
    };
    let filling = &populate.data;
    (filling.partitions as f64 * filling.rows_per_partition()).round() as u64
}

/// Disk of the largest cluster, and of all datasets.
fn disk(combinations: &[Combination]) -> Bytes {
    let largest = combinations.iter().map(nodes).max().unwrap_or(1) as u64;
    // A node that compacts its data holds it twice.
    let data: Vec<u64> = distinct(combinations).map(data).collect();
    let beside = data.iter().max().copied().unwrap_or_default();
    Bytes(DISK_PER_NODE.0 * largest + data.iter().sum::<u64>() + beside)
}

/// Whether the least dataset will be too small for a question about the disk, by the rows that are asked for.
fn too_small(of: &Experiment, combinations: &[Combination], context: &Context) -> Option<String> {
    let least = distinct(combinations).map(data).min();
    let limits = combinations
        .iter()
        .filter_map(|one| match &one.bench.place {
            Where::Ephemeral(up) => Some((up, context.dry_run(up).ok()?)),
            Where::Cluster(_) | Where::Hosts { .. } | Where::Kube { .. } => None,
        });
    let machine = machine::read().memory.0;
    let memory = limits.map(|(up, plan)| {
        let limit = plan.limits.and_then(|limits| limits.memory);
        let nodes = up.spec.topology.nodes() as u64;
        limit.map_or(machine, |limit| machine.min(limit.0.saturating_mul(nodes)))
    });
    of.is_about_reads()
        .then(|| of.too_small(least, memory.max()))
        .flatten()
}

/// Disk that the rows of a dataset take on all nodes.
fn data(of: &Combination) -> u64 {
    let copies = nodes(of).clamp(1, 3) as u64;
    rows(of).saturating_mul(ROW_BYTES).saturating_mul(copies)
}

/// Nodes of its cluster.
pub(super) fn nodes(of: &Combination) -> usize {
    match (&of.bench.place, &of.lent) {
        (Where::Ephemeral(up), _) => up.spec.topology.nodes(),
        (_, Some(lent)) => lent.plan.nodes.len(),
        (_, None) => 1,
    }
}

/// Memory that the largest restart's nodes are planned to come to.
fn memory(combinations: &[Combination], context: &Context) -> Bytes {
    let mut seen: Vec<(Option<Bytes>, usize)> = Vec::new();
    let each = combinations.iter().filter(|one| one.unfit.is_none());
    let each = each.filter_map(|one| {
        let whole = |plan: &ClusterPlan| Some(plan.memory?.total().0 * plan.nodes.len() as u64);
        if let Some(lent) = &one.lent {
            return whole(&lent.plan);
        }
        let Where::Ephemeral(up) = &one.bench.place else {
            return None;
        };
        let key = (up.spec.heap, up.spec.topology.nodes());
        if seen.contains(&key) {
            return None;
        }
        seen.push(key);
        whole(&context.dry_run(up).ok()?)
    });
    Bytes(each.max().unwrap_or_default())
}

/// What becomes of the cluster on which all runs are, where that is there.
fn on(combinations: &[Combination]) -> Option<String> {
    let first = combinations.first()?;
    let place = match &first.bench.place {
        Where::Kube { name, .. } => format!("kube:{name}"),
        Where::Hosts {
            ours: Some(name), ..
        } => format!("hosts:{name}"),
        _ => return None,
    };
    let nodes = plural(nodes(first), "node");
    Some(format!(
        "on {place}: each restart starts its {nodes} again, without data; at the end they start with their previous settings"
    ))
}

fn shown<'a>(
    of: &'a Experiment,
    combinations: &[Combination],
    not_testable: Option<String>,
    planned: Option<ShownPlan>,
) -> Shown<'a> {
    let all = of.combinations();
    let mut wholes = of.wholes(&all);
    for whole in &mut wholes {
        let fits = |place: &usize| combinations[*place].unfit.is_none();
        whole.combinations.retain(fits);
    }
    wholes.retain(|whole| !whole.combinations.is_empty());
    let runs = |whole: &Whole| whole.combinations.len() * if whole.mirrored { 2 } else { 1 };
    let twice = wholes.iter().find(|whole| whole.twice);
    let twins = twice.map_or(0, runs);
    let factors = of.factors.iter().map(|factor| ShownFactor {
        name: &factor.name,
        kind: factor.kind,
        given: factor.given,
        levels: factor.levels.iter().map(|l| l.label.as_str()).collect(),
    });
    let on = on(combinations);
    let each = all.iter().zip(combinations);
    let combinations = each.map(|(levels, one)| ShownCombination {
        label: of.label(levels),
        does_not_fit: one.unfit.clone(),
    });
    Shown {
        format: Format::new("experiment", VERSION),
        name: &of.name,
        on,
        factors: factors.collect(),
        combinations: combinations.collect(),
        restarts_a_block: wholes.len() + usize::from(twice.is_some()),
        runs_a_block: wholes.iter().map(runs).sum::<usize>() + twins,
        controlled: twice.is_some(),
        resolution: of.resolution(),
        not_testable,
        too_few: planned.as_ref().and_then(|_| few(of)),
        planned,
    }
}

fn text(shown: &Shown<'_>) -> String {
    let mut factors = Table::new(&["factor", "kind", "levels"]);
    for factor in &shown.factors {
        let levels = factor.levels.join(", ");
        let given = if factor.given { ", given" } else { "" };
        let kind = format!("{}{given}", factor.kind.word());
        factors.row([factor.name, kind.as_str(), &levels]);
    }
    let mut text = format!("{}\n{}", shown.name, factors.render());
    let mut line = |words: String| {
        let _infallible = writeln!(text, "{words}");
    };
    line(shown.block());
    if let Some(on) = &shown.on {
        line(on.clone());
    }
    if let Some(resolution) = shown.resolution {
        line(match resolution {
            3 => "resolution III: effects are confounded with interactions of two other factors".into(),
            4 => "resolution IV: effects are clear; interactions of two are confounded with each other".into(),
            _ => format!("resolution {resolution}: effects and interactions of two are clear"),
        });
    }
    if let Some(why) = &shown.not_testable {
        line(format!("not testable here: {why}"));
    }
    for one in &shown.combinations {
        if let Some(why) = &one.does_not_fit {
            line(format!("left out: {}: {why}", one.label));
        }
    }
    if let Some(plan) = &shown.planned {
        line(plan.words());
    }
    if let Some(few) = &shown.too_few {
        line(few.clone());
    }
    text
}

/// The order of the first block, a row a restart.
fn first_block(of: &Experiment, shown: &Shown<'_>) -> String {
    let Some(plan) = &shown.planned else {
        return String::new();
    };
    let all = of.combinations();
    let mut table = Table::new(&[">restart", "settings", "runs"]);
    let own = plan.order.iter().filter(|planned| planned.block == 0);
    let own: Vec<&Planned> = own.collect();
    for restart in own.chunk_by(|a, b| a.restart == b.restart) {
        let [first, ..] = restart else { continue };
        let twin = if first.stage == Stage::Twin {
            " (again)"
        } else {
            ""
        };
        let back = of.wholes(&all).iter().any(|whole| whole.mirrored);
        let there = if back {
            &restart[..restart.len() / 2]
        } else {
            restart
        };
        let runs: Vec<String> = there
            .iter()
            .map(|p| of.phase_label(&all[p.combination]))
            .collect();
        let back = if back { ", and back" } else { "" };
        table.row([
            (first.restart + 1).to_string(),
            of.whole_label(&all[first.combination]) + twin,
            runs.join(", ") + back,
        ]);
    }
    format!(
        "\nthe first block, in its order:\n{}nothing was started\n",
        table.render()
    )
}
