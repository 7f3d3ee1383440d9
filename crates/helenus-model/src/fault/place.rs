//! What a fault's target is in a cluster: which nodes, which links.
//! Refuses what cannot be done there, and says where it could.

use super::{Fault, FaultError, What};
use crate::plan::ClusterPlan;
use crate::topology::name_hint;
use serde::{Deserialize, Serialize};

/// Where a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Its name.
    pub node: String,
    /// Its data centre.
    pub data_center: String,
    /// Its rack.
    pub rack: String,
    /// Whether it has a disk of its own, of limited size.
    pub disk: bool,
}

/// A cluster as far as faults know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Nodes in order.
    pub seats: Vec<Seat>,
    /// Whether a network of its own lies between its data centres.
    pub apart: bool,
}

/// What a fault reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The processes of these nodes.
    Nodes(Vec<String>),
    /// These directed links.
    Links(Vec<(String, String)>),
    /// These nodes, which then reach only each other.
    Island(Vec<String>),
}

impl Reach {
    /// The nodes whose processes or ports are touched; none for links.
    pub fn nodes(&self) -> &[String] {
        match self {
            Self::Nodes(nodes) | Self::Island(nodes) => nodes,
            Self::Links(_) => &[],
        }
    }
}

/// A target by its kind.
enum Target<'a> {
    Node(&'a Seat),
    Rack(Vec<&'a Seat>),
    DataCenter(&'a str),
    Link(&'a str, &'a str),
}

impl Shape {
    /// Of a planned cluster.
    pub fn of(plan: &ClusterPlan) -> Self {
        let seats = plan.nodes.iter().map(|node| Seat {
            node: node.name.clone(),
            data_center: node.data_center.clone(),
            rack: node.rack.clone(),
            disk: node.disk.is_some(),
        });
        Self {
            seats: seats.collect(),
            apart: plan.network.is_some(),
        }
    }

    /// Data centres in order, each once.
    fn data_centers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for seat in &self.seats {
            if !names.contains(&seat.data_center.as_str()) {
                names.push(&seat.data_center);
            }
        }
        names
    }

    /// Every word that is a target here but the links.
    fn known(&self) -> Vec<String> {
        let mut known: Vec<String> = self.seats.iter().map(|s| s.node.clone()).collect();
        known.extend(self.data_centers().into_iter().map(str::to_owned));
        for seat in &self.seats {
            let rack = format!("{}/{}", seat.data_center, seat.rack);
            if !known.contains(&rack) {
                known.push(rack);
            }
        }
        known
    }

    /// What a fault reaches here.
    ///
    /// # Errors
    /// No such target, one of the wrong kind, or nothing between the data centres.
    pub fn reach(&self, fault: &Fault) -> Result<Reach, FaultError> {
        match fault.what {
            What::Kill | What::Pause | What::Throttle { .. } | What::DiskFull => {
                self.processes(fault)
            }
            What::Delay { .. } | What::Partition | What::Loss { .. } => self.packets(fault),
        }
    }

    fn processes(&self, fault: &Fault) -> Result<Reach, FaultError> {
        let seats = match self.target(fault)? {
            Target::Node(seat) => vec![seat],
            Target::Rack(seats) => seats,
            Target::DataCenter(name) => self.of_data_center(name),
            Target::Link(..) => {
                let word = fault.what.word();
                let why = format!("{word} is for nodes, and {} is a link", fault.target);
                let hint = match fault.what {
                    What::Throttle { .. } => {
                        format!("slow 50ms {} adds delay to it", fault.target)
                    }
                    _ => "name a node (node2), a rack (DC1/rack1) or a data centre (DC3)".into(),
                };
                return Err(at_target(fault, why, hint));
            }
        };
        let without: Vec<&Seat> = seats.iter().copied().filter(|seat| !seat.disk).collect();
        if fault.what == What::DiskFull && !without.is_empty() {
            let verb = if without.len() == 1 { "has" } else { "have" };
            let nodes = names(&without).join(", ");
            let why =
                format!("{nodes} {verb} no disk of limited size, and other disks are never filled");
            let hint =
                "bring the cluster up with one for each node: helenus up --disk 512M".to_owned();
            return Err(at_target(fault, why, hint));
        }
        Ok(Reach::Nodes(names(&seats)))
    }

    fn packets(&self, fault: &Fault) -> Result<Reach, FaultError> {
        let target = self.target(fault)?;
        if !self.apart {
            let why =
                "there is no link between these nodes: the cluster runs on loopback".to_owned();
            let hint = "bring one up with distance: helenus up wan -n 1:1:1 --rtt 20ms".to_owned();
            return Err(at_target(fault, why, hint));
        }
        let partition = fault.what == What::Partition;
        let of_nodes = |seats: &[&Seat]| {
            if partition {
                return Ok(Reach::Island(names(seats)));
            }
            let word = fault.what.word();
            let why = format!("{} is not a link: {word} needs one", fault.target);
            let hint = match fault.what {
                What::Delay { .. } => {
                    "name two data centres (DC1:DC2) or one with all its links; a node is slowed with slow 25%"
                }
                _ => "name two data centres (DC1:DC2), or one with all its links",
            };
            Err(at_target(fault, why, hint.to_owned()))
        };
        match target {
            Target::Node(seat) => of_nodes(&[seat]),
            Target::Rack(seats) => of_nodes(&seats),
            Target::DataCenter(name) => {
                let others = self
                    .data_centers()
                    .into_iter()
                    .filter(|other| *other != name);
                Ok(Reach::Links(
                    others.flat_map(|other| both(name, other)).collect(),
                ))
            }
            Target::Link(a, b) => Ok(Reach::Links(both(a, b).into())),
        }
    }

    fn of_data_center(&self, name: &str) -> Vec<&Seat> {
        let here = self.seats.iter().filter(|s| s.data_center == name);
        here.collect()
    }

    fn target<'a>(&'a self, fault: &'a Fault) -> Result<Target<'a>, FaultError> {
        let text = fault.target.as_str();
        if let Some(seat) = self.seats.iter().find(|seat| seat.node == text) {
            return Ok(Target::Node(seat));
        }
        if let Some((a, b)) = text.split_once(':') {
            return self.link(fault, a, b);
        }
        if let Some((data_center, rack)) = text.split_once('/') {
            let mut seats = self.of_data_center(data_center);
            seats.retain(|s| s.rack == rack);
            if !seats.is_empty() {
                return Ok(Target::Rack(seats));
            }
        }
        if self.data_centers().contains(&text) {
            return Ok(Target::DataCenter(text));
        }
        let why = format!("this cluster has no {text}");
        Err(at_target(fault, why, name_hint(text, &self.known())))
    }

    fn link<'a>(
        &'a self,
        fault: &'a Fault,
        a: &'a str,
        b: &'a str,
    ) -> Result<Target<'a>, FaultError> {
        let names = self.data_centers();
        for name in [a, b] {
            if !names.contains(&name) {
                let known: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
                let why = format!("this cluster has no data centre {name}");
                return Err(at_target(fault, why, name_hint(name, &known)));
            }
        }
        if a == b {
            let why = format!("{a} has no link to itself");
            let hint = "a link is between two data centres, such as DC1:DC2".to_owned();
            return Err(at_target(fault, why, hint));
        }
        Ok(Target::Link(a, b))
    }
}

fn both(a: &str, b: &str) -> [(String, String); 2] {
    [(a.to_owned(), b.to_owned()), (b.to_owned(), a.to_owned())]
}

fn names(seats: &[&Seat]) -> Vec<String> {
    seats.iter().map(|seat| seat.node.clone()).collect()
}

/// An error that points at the target among the fault's words.
fn at_target(fault: &Fault, why: String, hint: String) -> FaultError {
    let text = fault.to_string();
    FaultError {
        at: text.len() - fault.target.len()..text.len(),
        text,
        why,
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(apart: bool) -> Shape {
        let seat = |k: usize, data_center: &str, rack: &str| Seat {
            node: format!("node{k}"),
            data_center: data_center.into(),
            rack: rack.into(),
            disk: k < 3,
        };
        Shape {
            seats: vec![
                seat(1, "DC1", "rack1"),
                seat(2, "DC1", "rack2"),
                seat(3, "DC1", "rack1"),
                seat(4, "DC2", "rack1"),
                seat(5, "DC3", "rack1"),
            ],
            apart,
        }
    }

    fn reach(text: &str) -> Result<Reach, FaultError> {
        shape(true).reach(&Fault::parse(text).expect(text))
    }

    fn nodes(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn one_set_of_words_reaches_nodes_racks_data_centers_and_links() {
        assert_eq!(reach("kill 2"), Ok(Reach::Nodes(nodes(&["node2"]))));
        assert_eq!(
            reach("pause DC1/rack1"),
            Ok(Reach::Nodes(nodes(&["node1", "node3"])))
        );
        assert_eq!(reach("slow 25% DC2"), Ok(Reach::Nodes(nodes(&["node4"]))));
        assert_eq!(reach("disk-full 2"), Ok(Reach::Nodes(nodes(&["node2"]))));
        assert_eq!(
            reach("partition node2"),
            Ok(Reach::Island(nodes(&["node2"])))
        );
        assert_eq!(
            reach("partition DC1/rack1"),
            Ok(Reach::Island(nodes(&["node1", "node3"])))
        );
        let Ok(Reach::Links(links)) = reach("partition DC3") else {
            panic!("links")
        };
        let printed: Vec<String> = links.iter().map(|(a, b)| format!("{a}>{b}")).collect();
        assert_eq!(printed, ["DC3>DC1", "DC1>DC3", "DC3>DC2", "DC2>DC3"]);
        let Ok(Reach::Links(links)) = reach("loss 5% DC1:DC2") else {
            panic!("links")
        };
        assert_eq!(links.len(), 2);
    }

    #[test]
    fn what_cannot_be_is_reported_with_its_cure() {
        let message = |text: &str| {
            let error = reach(text).expect_err(text);
            format!("{error}; {}", error.hint)
        };
        insta::assert_snapshot!(message("kill nod2"), @"this cluster has no nod2; did you mean node2?");
        insta::assert_snapshot!(message("kill DC1:DC2"), @"kill is for nodes, and DC1:DC2 is a link; name a node (node2), a rack (DC1/rack1) or a data centre (DC3)");
        insta::assert_snapshot!(message("disk-full node4"), @"node4 has no disk of limited size, and other disks are never filled; bring the cluster up with one for each node: helenus up --disk 512M");
        insta::assert_snapshot!(message("disk-full DC1"), @"node3 has no disk of limited size, and other disks are never filled; bring the cluster up with one for each node: helenus up --disk 512M");
        insta::assert_snapshot!(message("disk-full DC1:DC2"), @"disk-full is for nodes, and DC1:DC2 is a link; name a node (node2), a rack (DC1/rack1) or a data centre (DC3)");
        insta::assert_snapshot!(message("loss 5% node1"), @"node1 is not a link: loss needs one; name two data centres (DC1:DC2), or one with all its links");
        insta::assert_snapshot!(message("partition DC1:DC4"), @"this cluster has no data centre DC4; did you mean DC3?");
        insta::assert_snapshot!(message("partition DC1:DC1"), @"DC1 has no link to itself; a link is between two data centres, such as DC1:DC2");
        let fault = Fault::parse("partition DC3").expect("a fault");
        let error = shape(false).reach(&fault).expect_err("loopback");
        assert!(error.hint.contains("--rtt"), "{error}");
        assert_eq!(error.pointed()[1], "          ^^^");
        assert!(
            shape(false)
                .reach(&Fault::parse("kill DC3").expect("a fault"))
                .is_ok()
        );
    }
}
