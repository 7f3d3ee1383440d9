//! Whether the pods of a cluster may be lent to an experiment, and stay in their StatefulSets.
//! Refuses what Kubernetes or an operator decides.

use super::options::{Form, KubeError, Options};
use super::render;
use crate::lent::{NotLent, as_asked};
use crate::plan::{ClusterPlan, PlanRequest};

/// Whether the pods of a cluster would belong to other StatefulSets with the plan `after`: single nodes have settings of
/// their own, and which of them are alike has changed.
///
/// # Errors
/// As for a rendering.
pub fn regroups(
    before: &ClusterPlan,
    after: &ClusterPlan,
    options: &Options,
) -> Result<bool, KubeError> {
    let sets = |plan: &ClusterPlan| {
        let sets = render(plan, options)?.sets.into_iter();
        Ok(sets.map(|set| (set.name, set.replicas)).collect::<Vec<_>>())
    };
    Ok(sets(before)? != sets(after)?)
}

/// What a cluster was asked for, where its nodes may be changed and put back.
///
/// # Errors
/// Why they may not.
pub fn lendable<'a>(
    plan: &ClusterPlan,
    options: &Options,
    asked: Option<&'a PlanRequest>,
) -> Result<&'a PlanRequest, NotLent> {
    let name = plan.name.clone();
    if options.form != Form::Plain {
        return Err(NotLent::Operated { name });
    }
    if plan.security.auth && options.storage.is_none() {
        return Err(NotLent::Roles { name });
    }
    as_asked(plan, asked, "kube up")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::tests::one;
    use crate::lent::NodeChange;
    use crate::plan::{NodeWords, plan};
    use crate::preset::PresetName;

    #[test]
    fn pods_that_would_change_their_sets_are_noticed() {
        let mut of = one(2);
        let own = NodeWords {
            preset: Some(PresetName::Dev),
            ..NodeWords::default()
        };
        of.spec.by_node = vec![NodeWords::default(), own];
        let before = plan(&of).expect("a plan");
        let options = Options::new(Form::Plain, &before.release);
        let with = |preset| {
            let change = NodeChange {
                preset: Some(preset),
                ..NodeChange::default()
            };
            change.plan(&of).expect("a plan")
        };
        assert_eq!(
            regroups(&before, &with(PresetName::Tiny), &options),
            Ok(false)
        );
        assert_eq!(
            regroups(&before, &with(PresetName::Dev), &options),
            Ok(true)
        );
    }

    #[test]
    fn a_cluster_is_lent_only_where_it_can_be_put_back() {
        let of = one(3);
        let own = plan(&of).expect("a plan");
        let options = Options::new(Form::Plain, &own.release);
        assert_eq!(lendable(&own, &options, Some(&of)), Ok(&of));
        let refused = |plan: &ClusterPlan, options: &Options, of: Option<&PlanRequest>| {
            let error = lendable(plan, options, of).expect_err("refused");
            format!("{error} ({})", error.hint())
        };
        insta::assert_snapshot!(refused(&own, &options, None), @"the settings that demo was created with are not known (bring it up once more, from its topology or its flags: helenus kube up --name demo …)");
        let operated = Options::new(Form::K8ssandra, &own.release);
        insta::assert_snapshot!(refused(&own, &operated, Some(&of)), @"an operator manages demo and decides on the settings of its nodes (use a cluster that was applied without --as; `run --on` measures this one as it is)");
        let mut auth = of.clone();
        auth.spec.security.auth = true;
        let own = plan(&auth).expect("a plan");
        assert_eq!(lendable(&own, &options, Some(&auth)), Ok(&auth));
        let bare = Options {
            storage: None,
            ..options
        };
        insta::assert_snapshot!(refused(&own, &bare, Some(&auth)), @"demo requires passwords and has no volumes: its roles would be lost with its pods (apply it with --storage, or without --auth)");
    }
}
