//! What Reaper says of its repair runs.
//! Refuses to guess: a state that is not known is taken as it is written, and never as an end.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A run of Reaper over one keyspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairRun {
    /// Reaper's id of it.
    pub id: String,
    /// The cluster, as Reaper names it.
    pub cluster_name: String,
    /// Keyspace.
    #[serde(rename(deserialize = "keyspace_name"))]
    pub keyspace: String,
    /// Where it stands.
    pub state: RunState,
    /// Segments that are repaired.
    pub segments_repaired: u64,
    /// Segments in all.
    pub total_segments: u64,
    /// What happened last, in Reaper's words.
    pub last_event: String,
}

/// Where a run stands, by Reaper's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunState(pub String);

impl RunState {
    /// Whether it has ended well.
    pub fn is_done(&self) -> bool {
        self.0 == "DONE"
    }

    /// Whether it has ended, and not well.
    pub fn has_failed(&self) -> bool {
        matches!(self.0.as_str(), "ERROR" | "ABORTED" | "DELETED")
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The runs in an answer of Reaper: one, or a list.
///
/// # Errors
/// It is not what Reaper answers.
pub fn runs_of(answer: &[u8]) -> Result<Vec<RepairRun>, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Answer {
        Many(Vec<RepairRun>),
        One(RepairRun),
    }
    Ok(match serde_json::from_slice(answer)? {
        Answer::Many(runs) => runs,
        Answer::One(run) => vec![run],
    })
}
