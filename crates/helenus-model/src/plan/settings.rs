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
    let of_preset = match request.spec.like {
        true => sizes(request.spec.preset, release),
        false => written(request.spec.preset, release),
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
    let own = |(key, value): &(String, Value)| match release.translate(key, value) {
        Ok(own) => Ok((own.name, own.value)),
        Err(KeyError::Inside { .. }) => Ok((key.clone(), value.clone())),
        Err(error) => Err(error),
    };
    request.spec.set.iter().map(own).collect()
}

/// Whether a node may have this setting of its preset beside what a person set: with the preset's time, a commit log that
/// is not synced by time keeps the node from starting.
pub(super) fn goes_with(preset: &(String, Value), set: &[&(String, Value)]) -> bool {
    let sync = set.iter().rfind(|(key, _)| key == "commitlog_sync");
    !preset.0.starts_with("commitlog_sync_period")
        || sync.is_none_or(|(_, value)| value == "periodic")
}
