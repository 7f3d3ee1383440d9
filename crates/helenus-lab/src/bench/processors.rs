//! Which processors generators have beside nodes that have some to themselves.
//! Refuses to decide for generators elsewhere.

use super::{Bench, Where};
use helenus_cluster::machine;
use helenus_model::machine::Cpus;
use helenus_model::plan::Pin;
use std::path::Path;

impl Bench<'_> {
    /// The processors that were asked for, else those that all nodes leave; none where that is left to the kernel.
    pub(super) fn generator_cpus(&self) -> Option<Cpus> {
        let request = self.request;
        if request.generator_cpus.is_some() || !request.agents.is_empty() {
            return request.generator_cpus.clone();
        }
        let pins: Vec<Option<&Pin>> = match (&self.cluster, &request.place) {
            (Some(state), _) => state.plan.nodes.iter().map(|n| n.pin.as_ref()).collect(),
            (None, Where::Ephemeral(up)) => {
                up.spec.by_node.iter().map(|n| n.pin.as_ref()).collect()
            }
            _ => Vec::new(),
        };
        left(&machine::usable(Path::new("/"))?, &pins)
    }
}

/// What all of these nodes leave of these processors; none where they leave nothing, or one may use all.
fn left(all: &Cpus, pins: &[Option<&Pin>]) -> Option<Cpus> {
    let pins: Vec<&Pin> = pins.iter().copied().collect::<Option<_>>()?;
    let taken: Cpus = pins.iter().flat_map(|pin| pin.cpus.iter()).collect();
    let left = all.without(&taken);
    (!taken.is_empty() && !left.is_empty()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_have_what_all_nodes_leave() {
        let pin = |first, end| Pin {
            cpus: Cpus::range(first, end),
            numa: Vec::new(),
        };
        let (low, high) = (pin(0, 2), pin(2, 3));
        let all = Cpus::range(0, 4);
        assert_eq!(left(&all, &[Some(&low)]), Some(Cpus::range(2, 4)));
        let both = left(&all, &[Some(&low), Some(&high)]);
        assert_eq!(both, Some(Cpus::range(3, 4)));
        assert_eq!(left(&all, &[Some(&low), None]), None);
        assert_eq!(left(&all, &[]), None);
        assert_eq!(left(&Cpus::range(0, 2), &[Some(&low)]), None);
    }
}
