//! What an instance is bound to on a machine.
//! Refuses processors and NUMA nodes that the machine lacks.

use super::Instance;
use crate::machine::{Cpus, Snapshot};
use crate::plan::Pin;

/// An instance that a machine cannot hold as it was planned.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PinError {
    /// Processors that are not there, or not ours to use.
    #[error("{instance} is assigned to processors {missing}; only {usable} are available")]
    Processors {
        /// Instance.
        instance: String,
        /// Those that are missing.
        missing: Cpus,
        /// Those that there are.
        usable: Cpus,
    },
    /// A NUMA node that is not there.
    #[error("{instance} is assigned to NUMA node {node}, which this machine does not have")]
    Node {
        /// Instance.
        instance: String,
        /// Its NUMA node.
        node: u32,
    },
}

impl PinError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "plan this machine with `helenus plan -o FILE`, or leave processors and memory to the kernel with --pin none"
            .to_owned()
    }
}

impl Instance {
    /// Its processors, and its NUMA nodes where the machine has several; none where it has everything.
    ///
    /// # Errors
    /// The machine lacks some of them.
    pub fn pin(&self, here: &Snapshot) -> Result<Option<Pin>, PinError> {
        let all = Cpus::range(0, here.processors.logical);
        let usable = here.processors.usable.as_ref().unwrap_or(&all);
        let missing = self.cpus.without(usable);
        if !missing.is_empty() {
            return Err(PinError::Processors {
                instance: self.name.clone(),
                missing,
                usable: usable.clone(),
            });
        }
        let known: Vec<u32> = here.nodes().map(|node| node.id).collect();
        let strange = |node: &&u32| !known.is_empty() && !known.contains(node);
        if let Some(node) = self.numa.iter().find(strange) {
            return Err(PinError::Node {
                instance: self.name.clone(),
                node: *node,
            });
        }
        let everything = usable.without(&self.cpus).is_empty();
        let several = known.len() > 1;
        Ok((!everything).then(|| Pin {
            cpus: self.cpus.clone(),
            numa: self.numa.iter().copied().filter(|_| several).collect(),
        }))
    }
}
