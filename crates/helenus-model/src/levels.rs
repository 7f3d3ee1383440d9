//! Consistency levels against distance: what a comparison of levels runs, and what each level is expected to wait for.
//! Refuses to measure: a prediction is made before the first operation, from counts and delays alone.

pub mod cell;
pub mod crowded;
pub mod distance;
pub mod order;
pub mod planned;
pub mod predict;
pub mod scene;

pub use cell::{Cell, Kind, Load};
pub use crowded::Crowded;
pub use distance::{Distance, DistanceError, RoundTrip};
pub use order::{Slot, Wanted};
pub use planned::{Ground, NotRun, Planned, planned};
pub use predict::{Illegal, Prediction};
pub use scene::{Paxos, Place, Scene};

use crate::consistency::{Consistency, SerialConsistency};

/// Every level that an operation may ask for, from the weakest to the strictest.
pub const EVERY: [Consistency; 9] = [
    Consistency::Any,
    Consistency::LocalOne,
    Consistency::One,
    Consistency::Two,
    Consistency::Three,
    Consistency::LocalQuorum,
    Consistency::Quorum,
    Consistency::EachQuorum,
    Consistency::All,
];

/// Whether the level counts the replicas of the coordinator's data centre only.
pub fn is_local(level: Consistency) -> bool {
    matches!(level, Consistency::LocalOne | Consistency::LocalQuorum)
}

/// The serial consistency that goes with a level by default: what is local stays so.
pub fn serial_of(level: Consistency) -> SerialConsistency {
    if is_local(level) {
        SerialConsistency::LocalSerial
    } else {
        SerialConsistency::Serial
    }
}
