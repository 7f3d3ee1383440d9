//! More nodes or fewer in a data centre: which pods come and go, in which order.
//! Refuses to leave a rack without its seed.

use super::options::KubeError;
use super::render::{KubePlan, PodSet};

/// A step of scaling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scaling {
    /// A StatefulSet gets one more pod; its node joins.
    Add(PodSet),
    /// The node in a StatefulSet's last pod is decommissioned, and the pod goes.
    Remove(PodSet),
}

impl Scaling {
    /// The pod that comes or goes.
    pub fn pod(&self) -> String {
        match self {
            Self::Add(set) => format!("{}-{}", set.name, set.replicas),
            Self::Remove(set) => format!("{}-{}", set.name, set.replicas.saturating_sub(1)),
        }
    }
}

/// The steps to so many nodes with data in a data centre (the only one where none is named): the smallest rack grows
/// first, the largest shrinks first.
///
/// # Errors
/// No such data centre, none named where there are several, or fewer nodes than racks.
pub fn scaling(
    plan: &KubePlan,
    data_center: Option<&str>,
    nodes: u32,
) -> Result<Vec<Scaling>, KubeError> {
    let known = plan.data_centers();
    let chosen = match (data_center, &known[..]) {
        (Some(name), _) => name,
        (None, [one]) => one,
        (None, _) => return Err(KubeError::WhichDataCenter(known)),
    };
    let own = plan.sets_of(chosen)?.into_iter();
    let mut sets: Vec<PodSet> = own.filter(|set| !set.coordinator).cloned().collect();
    if (nodes as usize) < sets.len() {
        return Err(KubeError::TooFew {
            data_center: chosen.to_owned(),
            racks: sets.len(),
            nodes,
        });
    }
    let mut now: u32 = sets.iter().map(|set| set.replicas).sum();
    let mut steps = Vec::new();
    while now < nodes
        && let Some(least) = sets.iter_mut().min_by_key(|set| set.replicas)
    {
        steps.push(Scaling::Add(least.clone()));
        least.replicas += 1;
        now += 1;
    }
    while now > nodes
        && let Some(most) = sets.iter_mut().max_by_key(|set| set.replicas)
    {
        steps.push(Scaling::Remove(most.clone()));
        most.replicas -= 1;
        now -= 1;
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::kube::options::Form;
    use crate::units::Bytes;

    fn plan(sets: &[(&str, &str, u32)]) -> KubePlan {
        let set = |(data_center, rack, replicas): &(&str, &str, u32)| PodSet {
            name: format!("c-{data_center}-{rack}"),
            namespace: "c".to_owned(),
            data_center: (*data_center).to_owned(),
            rack: (*rack).to_owned(),
            coordinator: *rack == "gate",
            replicas: *replicas,
            clients: String::new(),
            memory_limit: Bytes::mib(300),
        };
        KubePlan {
            format: Format::new("kube-plan", 1),
            name: "c".to_owned(),
            form: Form::Plain,
            release: "5.0.9".to_owned(),
            pods: sets.iter().map(|(_, _, replicas)| replicas).sum(),
            namespaces: vec!["c".to_owned()],
            sets: sets.iter().map(set).collect(),
            files: Vec::new(),
            secrets: Vec::new(),
            steps: Vec::new(),
            cautions: Vec::new(),
        }
    }

    fn pods(steps: &[Scaling]) -> Vec<(bool, String)> {
        let each = steps.iter();
        each.map(|step| (matches!(step, Scaling::Add(_)), step.pod()))
            .collect()
    }

    #[test]
    fn the_smallest_rack_grows_and_the_largest_shrinks() {
        let plan = plan(&[
            ("a", "r1", 2),
            ("a", "r2", 1),
            ("a", "gate", 1),
            ("b", "r1", 1),
        ]);
        let more = scaling(&plan, Some("a"), 5).expect("steps");
        let added = ["c-a-r2-1", "c-a-r1-2"].map(|pod| (true, pod.to_owned()));
        assert_eq!(pods(&more), added);
        let fewer = scaling(&plan, Some("a"), 2).expect("steps");
        assert_eq!(pods(&fewer), [(false, "c-a-r1-1".to_owned())]);
        assert!(scaling(&plan, Some("b"), 1).expect("none").is_empty());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let plan = plan(&[("a", "r1", 2), ("a", "r2", 1), ("b", "r1", 1)]);
        let refused = |dc, nodes| scaling(&plan, dc, nodes).expect_err("refused").to_string();
        assert_eq!(
            refused(None, 3),
            "the cluster has several data centres, and none was named"
        );
        assert_eq!(refused(Some("c"), 3), "no such data centre: c");
        assert_eq!(
            refused(Some("a"), 1),
            "a has 2 racks, and each needs a seed: 1 nodes are too few"
        );
    }
}
