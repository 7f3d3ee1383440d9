//! Bounds of bars: how often they decide wrongly where the truth is the bar itself, and what others add to a combination.
//! Refuses other noise than that of the simulated runs.

use super::*;
use crate::experiment::bars::bars;

/// Standard deviations on the log scale.
#[derive(Clone, Copy)]
struct Noise {
    block: f64,
    restart: f64,
    run: f64,
    /// How much the spread of combinations differs: standard deviation of its logarithm.
    differs: f64,
    /// Share of the runs that are missing.
    missing: f64,
}

const PLAIN: Noise = Noise {
    block: 0.2,
    restart: 0.3,
    run: 0.3,
    differs: 0.0,
    missing: 0.0,
};

/// Four restarts of two runs each, all of them with a bar.
fn experiment(blocks: usize) -> Experiment {
    let text = WHOLE.replace(" at 1k/s", "");
    Experiment {
        repeats: blocks,
        ..read(&text).unwrap()
    }
}

/// Runs whose truth is the bar, and by combination the scale of its noise.
fn at_the_bar(of: &Experiment, seed: u64, noise: Noise) -> (Vec<Fact>, Vec<f64>) {
    let mut draw = Draw::new(Seed(seed).derive("bars"));
    let all = of.combinations();
    let scales: Vec<f64> = (0..all.len())
        .map(|_| (draw.normal() * noise.differs).exp())
        .collect();
    let mut facts = simulated(of, Seed(seed), 0.0, |_| of.bars[0].bound);
    let mut shared =
        |count: usize, sd: f64| -> Vec<f64> { (0..count).map(|_| draw.normal() * sd).collect() };
    let blocks = shared(of.repeats, noise.block);
    let restarts = shared(facts.len(), noise.restart);
    for fact in &mut facts {
        let planned = fact.planned;
        let own = restarts[planned.restart] + draw.normal() * noise.run;
        let log = blocks[planned.block] + scales[planned.combination] * own;
        let values = fact.values.get_mut("main").unwrap();
        values.insert(Measure::ResponseP99, of.bars[0].bound * log.exp());
    }
    facts.retain(|_| draw.uniform() >= noise.missing);
    (facts, scales)
}

/// Shares of thresholds that are called held and crossed in so many experiments, those without three blocks left out: of
/// all combinations, and of the quarter that spreads most.
fn wrong(blocks: usize, noise: Noise) -> [[f64; 2]; 2] {
    let of = experiment(blocks);
    let all = of.combinations();
    let mut counts = [[0.0_f64; 3]; 2];
    for seed in 0..800 {
        let (facts, scales) = at_the_bar(&of, seed, noise);
        let (cells, _) = bars(&of, &all, &facts, (true, true), "main");
        let mut sorted = scales.clone();
        sorted.sort_by(f64::total_cmp);
        let most = sorted[all.len() * 3 / 4];
        let enough = |cell: &&BarCell| {
            let own = facts.iter().map(|fact| fact.planned);
            let own = own.filter(|planned| planned.combination == cell.combination);
            own.map(|planned| planned.block)
                .collect::<BTreeSet<_>>()
                .len()
                >= 3
        };
        for cell in cells.iter().filter(enough) {
            let groups = 1 + usize::from(scales[cell.combination] >= most);
            for count in &mut counts[..groups] {
                count[0] += 1.0;
                count[1] += f64::from(u8::from(cell.answer == BarAnswer::Holds));
                count[2] += f64::from(u8::from(cell.answer == BarAnswer::Crossed));
            }
        }
    }
    counts.map(|[all, held, crossed]| [held / all, crossed / all])
}

#[test]
fn one_of_twenty_thresholds_is_decided_wrongly_on_each_side() {
    // 6,400 thresholds of 5 %, eight of which share their blocks: a standard deviation of 0.3 to 0.8 %.
    for (blocks, noise) in [
        (3, PLAIN),
        (
            3,
            Noise {
                block: 0.0,
                ..PLAIN
            },
        ),
        (
            3,
            Noise {
                restart: 0.0,
                ..PLAIN
            },
        ),
        (
            3,
            Noise {
                block: 1.0,
                ..PLAIN
            },
        ),
        (
            3,
            Noise {
                missing: 0.1,
                ..PLAIN
            },
        ),
        (6, PLAIN),
        (
            6,
            Noise {
                missing: 0.2,
                ..PLAIN
            },
        ),
    ] {
        let [shares, _] = wrong(blocks, noise);
        assert!(
            shares.iter().all(|share| (0.025..0.065).contains(share)),
            "{shares:?}"
        );
    }
}

#[test]
fn a_combination_that_spreads_more_than_others_is_not_judged_by_them() {
    for (blocks, differs) in [(3, 0.3), (3, 0.6), (6, 0.6)] {
        let noise = Noise {
            block: 0.1,
            differs,
            ..PLAIN
        };
        let [all, most] = wrong(blocks, noise);
        assert!(all.iter().all(|share| *share < 0.05), "{all:?}");
        assert!(most.iter().all(|share| *share < 0.07), "{most:?}");
    }
}

#[test]
fn a_bar_asks_about_one_side() {
    let of = read(WHOLE).unwrap();
    let mut facts = simulated(&of, Seed(5), 0.01, |_| 1_000.0);
    let bound = |facts: &[Fact]| analyse(&of, facts, None, None).unwrap().bars[1].clone();
    let bar = bound(&facts);
    // Alone, a combination has its own runs only; others make its bound narrower.
    facts.retain(|f| f.planned.combination == bar.combination);
    let alone = bound(&facts);
    let logs: Vec<f64> = facts
        .iter()
        .map(|f| f.values["main"][&bar.measure].ln())
        .collect();
    let sd = crate::stats::standard_deviation(&logs).unwrap();
    let half = crate::stats::t_quantile(0.95, 5) * sd / 6_f64.sqrt();
    let high = alone.value.unwrap() * half.exp();
    assert!((alone.interval.unwrap()[1] / high - 1.0).abs() < 1e-9);
    assert!(alone.degrees == Some(5.0) && bar.degrees > Some(5.0));
    assert_eq!(alone.value, bar.value);
}

#[test]
fn a_twin_is_a_further_run_of_the_same_settings() {
    let of = experiment(3);
    // Blocks share nothing, so that two runs of a block say nearly twice what one says.
    let noise = Noise {
        block: 0.0,
        ..PLAIN
    };
    let widths: Vec<[f64; 2]> = (0..200)
        .map(|seed| {
            let (facts, _) = at_the_bar(&of, seed, noise);
            let (cells, _) = bars(&of, &of.combinations(), &facts, (true, true), "main");
            let width = |place: usize| {
                let [low, high] = cells[place].interval.unwrap();
                (high / low).ln()
            };
            [width(0), width(7)]
        })
        .collect();
    let sum = |side: usize| widths.iter().map(|both| both[side]).sum::<f64>();
    let ratio = sum(0) / sum(1);
    assert!((0.65..0.85).contains(&ratio), "{ratio}");
    // A block whose main run is missing counts by its twin.
    let (mut facts, _) = at_the_bar(&of, 1, noise);
    facts.retain(|f| f.planned.stage == Stage::Twin || f.planned.block > 0);
    let (cells, _) = bars(&of, &of.combinations(), &facts, (true, true), "main");
    let decided = |place: usize| cells[place].degrees;
    assert!(decided(0) > decided(7), "{cells:?}");
}
