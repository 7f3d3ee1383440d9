//! Topologies from flags: `--dc DC1=5`, `-n 5:5:5`, `--rtt 80ms`, `--rtt DC1:DC2=20ms`.
//! Refuses what a file says better: settings by node, jitter, loss.

use super::link::{LinkPreset, LinkWords, half_us};
use super::wan::Wan;
use super::{DataCenter, SINGLE_DATA_CENTER, Topology, TopologyError};

/// What the flags say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopologyFlags {
    /// `3` or `5:5:5`.
    pub nodes: Option<String>,
    /// `NAME=NODES`, each.
    pub data_centers: Vec<String>,
    /// Racks in each data centre.
    pub racks: Option<u32>,
    /// Coordinators in each data centre, beside its nodes.
    pub coordinators: u32,
    /// `TIME` for all pairs or `A:B=TIME` for one.
    pub rtt: Vec<String>,
    /// A preset of links.
    pub links: Option<String>,
    /// Who holds what crosses.
    pub wan: Option<Wan>,
}

impl TopologyFlags {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The topology that they say.
    ///
    /// # Errors
    /// A number, name or time that cannot be.
    pub fn topology(&self) -> Result<Topology, TopologyError> {
        let mut data_centers = self.counted()?;
        let racks = self.racks.unwrap_or(1);
        for dc in &mut data_centers {
            let nodes = u32::try_from(dc.racks.len()).unwrap_or(u32::MAX);
            let all = nodes.saturating_add(self.coordinators);
            if racks == 0 || racks > nodes || all > super::NODES_MAX {
                return Err(TopologyError::DataCenter {
                    data_center: dc.name.clone(),
                    nodes: all,
                    racks,
                    coordinators: self.coordinators,
                });
            }
            *dc = DataCenter {
                coordinators: self.coordinators,
                ..DataCenter::new(&dc.name, all, racks)
            };
        }
        let mut topology = Topology {
            data_centers,
            links: Vec::new(),
            wan: Wan::default(),
        };
        topology.check()?;
        if let Some(name) = &self.links {
            let preset =
                LinkPreset::find(name).ok_or_else(|| TopologyError::Preset(name.clone()))?;
            topology.use_links(preset)?;
        }
        for text in &self.rtt {
            topology.set_rtt(text)?;
        }
        if let Some(wan) = self.wan {
            topology.held_by(wan)?;
        }
        Ok(topology)
    }

    fn counted(&self) -> Result<Vec<DataCenter>, TopologyError> {
        if !self.data_centers.is_empty() {
            let named = self.data_centers.iter().map(|text| {
                let wrong = || TopologyError::Flag {
                    flag: "--dc",
                    text: text.clone(),
                    form: "--dc DC1=5",
                };
                let (name, nodes) = text.split_once('=').ok_or_else(wrong)?;
                Ok(DataCenter::new(name, number(nodes).ok_or_else(wrong)?, 1))
            });
            return named.collect();
        }
        let text = self.nodes.as_deref().unwrap_or("1");
        let wrong = || TopologyError::Flag {
            flag: "-n",
            text: text.to_owned(),
            form: "-n 3, or -n 5:5:5 for three data centres",
        };
        let counts: Vec<u32> = text
            .split(':')
            .map(|part| number(part).ok_or_else(wrong))
            .collect::<Result<_, _>>()?;
        if let [nodes] = counts[..] {
            if nodes == 0 || nodes > super::NODES_MAX {
                return Err(TopologyError::Nodes(nodes));
            }
            return Ok(vec![DataCenter::new(SINGLE_DATA_CENTER, nodes, 1)]);
        }
        let named = counts.iter().enumerate();
        Ok(named
            .map(|(k, nodes)| DataCenter::new(&format!("DC{}", k + 1), *nodes, 1))
            .collect())
    }
}

/// A number of nodes; what could not even be made is none.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| *n <= 100_000)
}

impl Topology {
    /// Gives the data centres, in their order, the distances of a preset.
    ///
    /// # Errors
    /// More data centres than the preset has places.
    pub fn use_links(&mut self, preset: &'static LinkPreset) -> Result<(), TopologyError> {
        let names: Vec<String> = self.data_centers.iter().map(|dc| dc.name.clone()).collect();
        for (a, from) in names.iter().enumerate() {
            for (b, to) in names.iter().enumerate().filter(|(b, _)| *b != a) {
                let rtt = preset.rtt_us(a, b).ok_or(TopologyError::PresetTooSmall {
                    preset: preset.name,
                    data_centers: names.len(),
                })?;
                let words = LinkWords {
                    delay_us: Some(rtt / 2),
                    ..LinkWords::default()
                };
                self.set_link(from, to, words)?;
            }
        }
        Ok(())
    }

    /// Says who holds what crosses.
    ///
    /// # Errors
    /// Nothing is to be held.
    pub fn held_by(&mut self, wan: Wan) -> Result<(), TopologyError> {
        if !self.has_network() {
            return Err(TopologyError::NothingToHold(wan));
        }
        self.wan = wan;
        Ok(())
    }

    /// Reads `TIME` for all pairs, or `A:B=TIME` for one; half of it goes to each direction.
    ///
    /// # Errors
    /// No time, no such data centre, or only one.
    pub fn set_rtt(&mut self, text: &str) -> Result<(), TopologyError> {
        let (pairs, time) = match text.split_once('=') {
            None => (self.pairs(), text),
            Some((pair, time)) => {
                let (a, b) = pair.split_once(':').ok_or_else(|| TopologyError::Flag {
                    flag: "--rtt",
                    text: text.to_owned(),
                    form: "--rtt 80ms, or --rtt DC1:DC2=20ms for one pair",
                })?;
                (vec![(a.to_owned(), b.to_owned())], time)
            }
        };
        let words = LinkWords {
            delay_us: Some(half_us(time)?),
            ..LinkWords::default()
        };
        if self.data_centers.len() < 2 {
            return Err(TopologyError::OneDataCenter(time.to_owned()));
        }
        for (a, b) in pairs {
            self.set_link(&a, &b, words)?;
            self.set_link(&b, &a, words)?;
        }
        Ok(())
    }

    /// Every pair of data centres once.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let names: Vec<&String> = self.data_centers.iter().map(|dc| &dc.name).collect();
        let mut pairs = Vec::new();
        for (a, from) in names.iter().enumerate() {
            pairs.extend(
                names[a + 1..]
                    .iter()
                    .map(|to| ((*from).clone(), (*to).clone())),
            );
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(nodes: &str, rtt: &[&str]) -> TopologyFlags {
        TopologyFlags {
            nodes: Some(nodes.to_owned()),
            rtt: rtt.iter().map(|t| (*t).to_owned()).collect(),
            ..TopologyFlags::default()
        }
    }

    #[test]
    fn three_counts_are_three_data_centers() {
        let t = flags("5:5:5", &["80ms", "DC1:DC2=20ms"])
            .topology()
            .unwrap();
        let names: Vec<&str> = t.data_centers.iter().map(|d| d.name.as_str()).collect();
        assert_eq!((names, t.nodes()), (vec!["DC1", "DC2", "DC3"], 15));
        assert_eq!(t.links.len(), 6);
        let delay = |from: &str, to: &str| {
            let found = t.links.iter().find(|l| l.from == from && l.to == to);
            found.map(|l| l.link.delay_us)
        };
        assert_eq!(delay("DC2", "DC1"), Some(10_000));
        assert_eq!(delay("DC3", "DC1"), Some(40_000));
    }

    #[test]
    fn without_distance_there_is_no_network() {
        assert!(!flags("3:3", &[]).topology().unwrap().has_network());
        assert!(flags("3:3", &["0ms"]).topology().unwrap().has_network());
        assert!(!flags("3", &[]).topology().unwrap().has_network());
    }

    #[test]
    fn racks_alternate_and_coordinators_come_last() {
        let t = TopologyFlags {
            data_centers: vec!["east=4".into()],
            racks: Some(2),
            coordinators: 1,
            ..TopologyFlags::default()
        };
        let places = t.topology().unwrap().places();
        let racks: Vec<&str> = places.iter().map(|p| p.rack.as_str()).collect();
        assert_eq!(racks, ["rack1", "rack2", "rack1", "rack2", "rack1"]);
        let coordinators: Vec<bool> = places.iter().map(|p| p.coordinator).collect();
        assert_eq!(coordinators, [false, false, false, false, true]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_form() {
        let refused = |nodes: &str, rtt: &[&str]| flags(nodes, rtt).topology().unwrap_err();
        insta::assert_snapshot!(refused("5;5", &[]), @r#"-n "5;5" is not understood"#);
        insta::assert_snapshot!(refused("3:0", &[]), @"DC2 has 0 nodes in 1 racks, 0 of them coordinator-only");
        insta::assert_snapshot!(refused("3:3", &["DC1:DC4=1ms"]), @"no such data centre: DC4");
        insta::assert_snapshot!(refused("3:3", &["80"]), @r#""80" is not a link delay: write 0ms to 30s one way, such as 80ms"#);
        insta::assert_snapshot!(refused("3", &["80ms"]), @"--rtt 80ms is a distance between data centres, and there is only one");
        let one = refused("3", &["DC1:DC2=20ms"]);
        insta::assert_snapshot!(one.hint().unwrap(), @"add another, such as -n 3:3 --rtt 20ms, or --dc DC1=3 --dc DC2=3");
        insta::assert_snapshot!(refused("200:200", &[]), @"a cluster has 1 to 254 nodes, not 400");
        let unknown = TopologyFlags {
            links: Some("three-continent".into()),
            ..flags("3:3", &[])
        };
        assert_eq!(
            unknown.topology().unwrap_err().hint().unwrap(),
            "did you mean three-continents?"
        );
        let near = TopologyFlags {
            wan: Some(Wan::Netem),
            ..flags("3:3", &[])
        };
        insta::assert_snapshot!(near.topology().unwrap_err(), @"netem emulates distance, and this cluster has none");
    }
}
