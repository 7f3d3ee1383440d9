//! How far apart the data centres stand in a cell: as their links are, all equally far, or each pair as it is said.
//! Refuses pairs that the cluster does not have.

use crate::topology::link::{Directed, LinkError, LinkWords, half_us};
use crate::topology::name_hint;
use serde::{Deserialize, Serialize};

/// The word for the links as they are.
const AS_THEY_ARE: &str = "links";

/// A distance as a person says it: `links`, `80ms`, or `DC1:DC2=20ms+DC1:DC3=80ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Distance {
    /// The words, which also name it in tables.
    pub word: String,
}

/// Why a distance is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DistanceError {
    /// Not one of its forms.
    #[error(
        "{0:?} is no distance: write links, a round-trip time such as 80ms, or DC1:DC2=20ms+DC1:DC3=80ms"
    )]
    Form(String),
    /// A pair that is not there.
    #[error("there is no data centre named {name}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Distance where no link can hold any.
    #[error("the cluster lives on loopback, where there is no distance to set")]
    Loopback,
}

impl DistanceError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Form(_) => None,
            Self::Unknown { name, known } => Some(name_hint(name, known)),
            Self::Loopback => {
                Some("bring one up with links: helenus up wan -n 3:3 --rtt 40ms".to_owned())
            }
        }
    }
}

/// One change of a distance: a pair, or all, and half of the round trip in microseconds.
type Change<'a> = (Option<(&'a str, &'a str)>, u64);

impl Distance {
    /// Reads one.
    ///
    /// # Errors
    /// Not one of its forms.
    pub fn parse(text: &str) -> Result<Self, DistanceError> {
        let distance = Self {
            word: text.trim().to_owned(),
        };
        distance.changes()?;
        Ok(distance)
    }

    /// The links as they are.
    pub fn as_they_are() -> Self {
        Self {
            word: AS_THEY_ARE.to_owned(),
        }
    }

    /// No distance at all.
    pub fn none() -> Self {
        Self {
            word: "0ms".to_owned(),
        }
    }

    fn changes(&self) -> Result<Vec<Change<'_>>, DistanceError> {
        let form = || DistanceError::Form(self.word.clone());
        if self.word == AS_THEY_ARE {
            return Ok(Vec::new());
        }
        let time = |text: &str| half_us(text).map_err(|_: LinkError| form());
        if !self.word.contains('=') {
            return Ok(vec![(None, time(&self.word)?)]);
        }
        let each = self.word.split('+').map(|part| {
            let (pair, text) = part.split_once('=').ok_or_else(form)?;
            let (a, b) = pair.split_once(':').ok_or_else(form)?;
            if a == b || a.is_empty() || b.is_empty() {
                return Err(form());
            }
            Ok((Some((a, b)), time(text)?))
        });
        each.collect()
    }

    /// The links of a cell, from the links as they are: what a person did not say stays.
    ///
    /// # Errors
    /// A data centre that there is not, or no links at all.
    pub fn put_on(&self, links: &[Directed]) -> Result<Vec<Directed>, DistanceError> {
        let mut changed = links.to_vec();
        for (pair, delay_us) in self.changes()? {
            if links.is_empty() {
                return Err(DistanceError::Loopback);
            }
            for name in pair.iter().flat_map(|(a, b)| [*a, *b]) {
                if !links.iter().any(|link| link.from == name) {
                    let mut known: Vec<String> = links.iter().map(|l| l.from.clone()).collect();
                    known.sort();
                    known.dedup();
                    let name = name.to_owned();
                    return Err(DistanceError::Unknown { name, known });
                }
            }
            let words = LinkWords {
                delay_us: Some(delay_us),
                ..LinkWords::default()
            };
            let is = |link: &Directed| {
                pair.is_none_or(|(a, b)| {
                    (link.from == a && link.to == b) || (link.from == b && link.to == a)
                })
            };
            for link in changed.iter_mut().filter(|link| is(link)) {
                link.link = words.on(link.link);
            }
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::scene::round_trip_us;
    use crate::topology::flags::TopologyFlags;

    fn links() -> Vec<Directed> {
        let flags = TopologyFlags {
            nodes: Some("1:1:1".into()),
            rtt: vec!["80ms".into(), "DC1:DC2=20ms".into()],
            ..TopologyFlags::default()
        };
        flags.topology().expect("a topology").links
    }

    fn at(text: &str) -> Result<[u64; 3], DistanceError> {
        let links = Distance::parse(text)?.put_on(&links())?;
        let ms = |a: &str, b: &str| round_trip_us(&links, a, b) / 1000;
        Ok([ms("DC1", "DC2"), ms("DC1", "DC3"), ms("DC2", "DC3")])
    }

    #[test]
    fn distances_are_read_and_put_on_links() {
        assert_eq!(at("links"), Ok([20, 80, 80]));
        assert_eq!(at("0ms"), Ok([0, 0, 0]));
        assert_eq!(at("40ms"), Ok([40, 40, 40]));
        assert_eq!(at("DC3:DC1=10ms+DC1:DC2=30ms"), Ok([30, 10, 80]));
    }

    #[test]
    fn what_is_none_is_refused_with_a_cure() {
        for bad in ["", "80", "DC1=80ms", "DC1:DC1=8ms", "DC1:DC2=8ms,x", "link"] {
            assert!(matches!(at(bad), Err(DistanceError::Form(_))), "{bad}");
        }
        let error = at("DC1:DC4=8ms").expect_err("unknown");
        assert_eq!(error.hint().as_deref(), Some("did you mean DC3?"));
        let error = Distance::none().put_on(&[]).expect_err("loopback");
        assert_eq!(error, DistanceError::Loopback);
        assert_eq!(Distance::as_they_are().put_on(&[]), Ok(vec![]));
    }
}
