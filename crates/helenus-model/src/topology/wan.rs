//! Who holds what crosses between data centres: the emulator, or the kernel's netem.
//! Refuses to know how either does it.

use super::TopologyError;
use serde::{Deserialize, Serialize};

/// Who holds packets between data centres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wan {
    /// The emulator of ours, in the kernel's packet queues.
    #[default]
    Queue,
    /// The kernel's own queueing discipline, where it has one.
    Netem,
}

impl Wan {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Queue, Self::Netem];

    /// Its name in flags and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Netem => "netem",
        }
    }

    /// Whether it is the one that is taken where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The one of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<Self, TopologyError> {
        let found = Self::ALL.into_iter().find(|wan| wan.as_str() == name);
        found.ok_or_else(|| TopologyError::Wan(name.to_owned()))
    }
}
