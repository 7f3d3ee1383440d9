//! What a person set in cassandra.yaml, checked and as the release writes it.
//! Refuses what a node would refuse: here it is named.

use super::{PlanError, PlanRequest, own_of};
use crate::preset::{Place, sizes, written};
use crate::release::{KeyError, Release, clash};
use serde_json::Value;

/// Refuses settings that a node does not start with together; a production's file has been relieved of them.
pub(super) fn check_clashes(
    request: &PlanRequest,
    release: &Release,
    set: &[(String, Value)],
) -> Result<(), PlanError> {
    let of_preset = match request.like {
        true => sizes(request.preset, release),
        false => written(request.preset, release),
    };
    let mut all: Vec<(String, Value)> = own_of(&of_preset, Place::Yaml).cloned().collect();
    all.extend(set.iter().cloned());
    match clash(&all) {
        Some((key, why)) => Err(PlanError::Clash { key, why }),
        None => Ok(()),
    }
}

/// What a person set, as the release writes it; a key inside of a map goes out as it is.
pub(super) fn own(
    request: &PlanRequest,
    release: &Release,
) -> Result<Vec<(String, Value)>, KeyError> {
    let own = |(key, value): &(String, Value)| match release.own(key, value) {
        Ok(own) => Ok((own.name, own.value)),
        Err(KeyError::Inside { .. }) => Ok((key.clone(), value.clone())),
        Err(error) => Err(error),
    };
    request
        .set
        .iter()
        .chain(&unsynced(request))
        .map(own)
        .collect()
}

/// A commit log that is not synced by time must not have the preset's time: a node would not start.
fn unsynced(request: &PlanRequest) -> Option<(String, Value)> {
    let last = |key: &str| request.set.iter().rfind(|(set, _)| set == key);
    let (_, sync) = last("commitlog_sync")?;
    let period = ["commitlog_sync_period", "commitlog_sync_period_in_ms"];
    let said = period.iter().any(|key| last(key).is_some());
    (sync != "periodic" && !said && !request.like)
        .then(|| (period[0].to_owned(), Value::from("0ms")))
}
