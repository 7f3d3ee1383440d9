//! Slots into cells: each with its links and its prediction, before anything is run; what cannot be run is reported.
//! Refuses a cell without a prediction.

use super::cell::{self, Cell, Kind};
use super::crowded::{self, Crowded};
use super::distance::{Distance, DistanceError};
use super::order::{Slot, Wanted};
use super::predict::Illegal;
use super::scene::{Scene, setting};
use crate::consistency::Consistency;
use crate::plan::ClusterPlan;
use crate::seed::Seed;
use crate::topology::link::Directed;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a plan of cells is made from.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The comparison's name.
    pub comparison: &'a str,
    /// The cluster.
    pub plan: &'a ClusterPlan,
    /// Its links as they are.
    pub links: &'a [Directed],
    /// Replicas of each row by data centre.
    pub replicas: &'a BTreeMap<String, u32>,
    /// Where the client is.
    pub client_dc: &'a str,
}

/// All cells in the order in which they are run.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Cells, each with the links that it wants.
    pub cells: Vec<(Cell, Vec<Directed>)>,
    /// What cannot be run, once whatever distance and load.
    pub illegal: Vec<NotRun>,
    /// Cells that will show a queue rather than a distance, once whatever repeat.
    pub crowded: Vec<Crowded>,
}

/// A level at which a workload cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// The level.
    pub level: Consistency,
    /// The workload.
    pub workload: Kind,
    /// Why.
    pub why: String,
}

/// Plans every cell.
///
/// # Errors
/// A distance that these links cannot have.
pub fn planned(ground: &Ground<'_>, wanted: &Wanted, seed: Seed) -> Result<Planned, DistanceError> {
    let mut by_word: BTreeMap<&str, (Scene, Vec<Directed>)> = BTreeMap::new();
    for distance in &wanted.distances {
        by_word.insert(&distance.word, at(ground, distance)?);
    }
    let mut planned = Planned {
        cells: Vec::new(),
        illegal: Vec::new(),
        crowded: Vec::new(),
    };
    let threads = crowded::threads(ground.plan, ground.client_dc);
    for slot in wanted.order(seed) {
        let Some((scene, links)) = by_word.get(slot.distance.word.as_str()) else {
            continue;
        };
        match of_slot(ground, scene, &slot, wanted.reference()) {
            Ok(cell) => {
                let crowded = Crowded::of(&cell, threads);
                let new = crowded.filter(|one| !planned.crowded.contains(one));
                planned.crowded.extend(new);
                planned.cells.push((cell, links.clone()));
            }
            Err(why) => {
                let not_run = NotRun {
                    level: slot.level,
                    workload: slot.workload,
                    why: why.to_string(),
                };
                if !planned.illegal.contains(&not_run) {
                    planned.illegal.push(not_run);
                }
            }
        }
    }
    planned
        .illegal
        .sort_by_key(|one| (one.workload, one.level.word()));
    planned
        .crowded
        .sort_by_key(|one| (one.workload, one.level.word()));
    Ok(planned)
}

fn at(ground: &Ground<'_>, distance: &Distance) -> Result<(Scene, Vec<Directed>), DistanceError> {
    let links = distance.put_on(ground.links)?;
    let scene = Scene::of(ground.plan, ground.replicas, ground.client_dc, &links);
    Ok((scene, links))
}

fn of_slot(
    ground: &Ground<'_>,
    scene: &Scene,
    slot: &Slot,
    reference: Consistency,
) -> Result<Cell, Illegal> {
    let yaml = ground
        .plan
        .nodes
        .first()
        .map_or("", |node| node.yaml.as_str());
    let trips = scene.places.iter();
    Ok(Cell {
        comparison: ground.comparison.to_owned(),
        repeat: slot.repeat,
        level: slot.level,
        again: slot.again,
        reference,
        workload: slot.workload,
        distance: slot.distance.clone(),
        round_trips_us: trips
            .map(|place| (place.name.clone(), place.round_trip_us))
            .collect(),
        load: slot.load,
        client_dc: ground.client_dc.to_owned(),
        replicas: ground.replicas.clone(),
        tcp_nodelay: setting(yaml, "inter_dc_tcp_nodelay").map(|value| value == "true"),
        predicted: cell::predict(scene, slot.workload, slot.level)?,
    })
}
