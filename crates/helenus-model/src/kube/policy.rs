//! A cut between two data centres as NetworkPolicies: all may come but the other side.
//! Refuses to say that it holds: whether policies are enforced is the network plugin's affair, and has to be tried.

use super::plain::{DATA_CENTER, ID, INSTANCE, resource};
use crate::yaml::document::Mapping;

/// One side of a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Namespace.
    pub namespace: String,
    /// The data centre's name in labels.
    pub label: String,
    /// Addresses of its pods.
    pub addresses: Vec<String>,
}

/// The policies of a cut, one for each side, as one stream.
pub fn cut(instance: &str, id: &str, sides: &[Side; 2]) -> String {
    let [a, b] = sides;
    let one = |own: &Side, other: &Side| policy(instance, id, own, other).render();
    format!("{}---\n{}", one(a, b), one(b, a))
}

/// Name of the policy that keeps `other` from `own`.
pub fn cut_name(own: &Side, other: &Side) -> String {
    let most = super::names::LABEL_MAX;
    super::names::label(&["cut", &own.label, &other.label], most)
}

fn policy(instance: &str, id: &str, own: &Side, other: &Side) -> Mapping {
    let expression = Mapping::new()
        .set("key", DATA_CENTER)
        .set("operator", "NotIn")
        .set("values", [other.label.as_str()]);
    let others = Mapping::new().set("namespaceSelector", Mapping::new()).set(
        "podSelector",
        Mapping::new().set("matchExpressions", [expression]),
    );
    let except: Vec<String> = other.addresses.iter().map(|ip| host(ip)).collect();
    let block = Mapping::new()
        .set("cidr", "0.0.0.0/0")
        .set("except", except);
    let peers = || [others.clone(), Mapping::new().set("ipBlock", block.clone())];
    let labels = Mapping::new().set(INSTANCE, instance).set(ID, id);
    let metadata = Mapping::new()
        .set("name", cut_name(own, other))
        .set("namespace", own.namespace.as_str())
        .set("labels", labels);
    let chosen = Mapping::new()
        .set(INSTANCE, instance)
        .set(DATA_CENTER, own.label.as_str());
    let spec = Mapping::new()
        .set("podSelector", Mapping::new().set("matchLabels", chosen))
        .set("policyTypes", ["Ingress", "Egress"])
        .set("ingress", [Mapping::new().set("from", peers())])
        .set("egress", [Mapping::new().set("to", peers())]);
    resource("networking.k8s.io/v1", "NetworkPolicy", metadata).set("spec", spec)
}

fn host(address: &str) -> String {
    format!("{address}/32")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_lets_all_in_but_the_other() {
        let side = |label: &str, ip: &str| Side {
            namespace: format!("demo-{label}"),
            label: label.to_owned(),
            addresses: vec![ip.to_owned()],
        };
        let sides = [side("dc1", "10.0.0.1"), side("dc2", "10.0.0.2")];
        insta::assert_snapshot!(cut("demo", "0a1b", &sides));
    }
}
