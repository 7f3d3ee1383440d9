//! Who holds what crosses between data centres: the emulator, or the kernel's netem.
//! Refuses to know how either does it.

use super::TopologyError;
use crate::worded::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// Who holds packets between data centres.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Wan {
        /// The emulator of ours, in the kernel's packet queues.
        #[default]
        Queue = "queue",
        /// The kernel's own queueing discipline, where it has one.
        Netem = "netem",
    }
}

impl Wan {
    /// Whether it is the one that is taken where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The one of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<Self, TopologyError> {
        let found = Self::ALL.into_iter().find(|wan| wan.word() == name);
        found.ok_or_else(|| TopologyError::Wan(name.to_owned()))
    }
}
