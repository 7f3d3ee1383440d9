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

/// A round trip between two data centres as it was set for a run, and as it was measured before the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// Data centre.
    pub from: String,
    /// Data centre.
    pub to: String,
    /// What both links together say, in microseconds.
    pub asked_us: u64,
    /// Median of a few round trips of a byte over TCP, in microseconds.
    pub measured_us: f64,
}

/// A round trip is as it was asked for up to a quarter of it, or this where that is more, in microseconds: it separates
/// a link that was not set from a host that is busy.
const OFF_US: f64 = 5_000.0;

impl RoundTrip {
    /// Whether the link is what it was asked to be. How exact it is during the run is the emulator's doubt to say.
    pub fn holds(&self) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
        let asked = self.asked_us as f64;
        let off = self.measured_us - asked;
        // Nothing comes back before it is due.
        off >= -asked / 100.0 && off <= OFF_US.max(asked / 4.0)
    }
}

/// Why a distance is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DistanceError {
    /// Not one of its forms.
    #[error(
        "{0:?} is not a distance: write links, a round-trip time such as 80ms, or DC1:DC2=20ms+DC1:DC3=80ms"
    )]
    Form(String),
    /// A pair that is not there.
    #[error("no such data centre: {name}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Distance where no link can hold any.
    #[error("the cluster runs on loopback, which has no distance to set")]
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

    /// Several as one: what is said later holds.
    pub fn joined(all: &[Self]) -> Self {
        let words: Vec<&str> = all.iter().map(|one| one.word.as_str()).collect();
        Self {
            word: words.join("+"),
        }
    }

    /// Its parts, each of all pairs or of one, as flags of a topology say them.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.word.split('+')
    }

    fn changes(&self) -> Result<Vec<Change<'_>>, DistanceError> {
        let form = || DistanceError::Form(self.word.clone());
        if self.word == AS_THEY_ARE {
            return Ok(Vec::new());
        }
        let time = |text: &str| half_us(text).map_err(|_: LinkError| form());
        let each = self.parts().map(|part| {
            let Some((pair, text)) = part.split_once('=') else {
                return Ok((None, time(part)?));
            };
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
        assert_eq!(at("60ms+DC1:DC2=30ms"), Ok([30, 60, 60]));
        let said = ["60ms", "DC1:DC2=30ms"].map(|text| Distance::parse(text).expect("a distance"));
        assert_eq!(Distance::joined(&said).word, "60ms+DC1:DC2=30ms");
    }

    #[test]
    fn a_link_that_was_not_set_is_distinguished_from_a_busy_host() {
        let holds = |asked_us: u64, measured_us: f64| {
            RoundTrip {
                from: "DC1".into(),
                to: "DC2".into(),
                asked_us,
                measured_us,
            }
            .holds()
        };
        assert!(holds(0, 300.0) && holds(10_000, 14_000.0) && holds(80_000, 95_000.0));
        assert!(!holds(0, 10_100.0) && !holds(40_000, 80_200.0) && !holds(80_000, 40_100.0));
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
