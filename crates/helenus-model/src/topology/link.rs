//! Links between data centres: delay, jitter, loss and rate of each direction, and presets with real figures.
//! Refuses a link that could carry nothing, and figures without a source.

use crate::units::parse_duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest delay of one direction: half a minute is beyond every time-out that a cluster has.
pub const DELAY_MAX: Duration = Duration::from_secs(30);

/// One direction between two data centres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Link {
    /// Time that a packet needs, in microseconds.
    pub delay_us: u64,
    /// A packet's delay is drawn evenly from the delay less this to the delay and this, in microseconds.
    #[serde(default)]
    pub jitter_us: u64,
    /// Packets that are lost, of a million.
    #[serde(default)]
    pub loss_ppm: u32,
    /// Bits a second; absent where nothing but the machine limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bits: Option<u64>,
    /// Whether nothing gets through.
    #[serde(default)]
    pub cut: bool,
}

impl Link {
    /// Whether nothing gets through: it is cut, or loses every packet.
    pub fn carries_nothing(&self) -> bool {
        self.cut || self.loss_ppm >= 1_000_000
    }

    /// Whether packets must be single ones for the link to treat them as they are on a wire, and not up to 64 KB in one
    /// piece: some are lost, or a rate counts them.
    pub fn wants_single_packets(&self) -> bool {
        self.loss_ppm > 0 || self.rate_bits.is_some()
    }
}

/// A link with the data centres that it leads from and to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directed {
    /// Data centre.
    pub from: String,
    /// Data centre.
    pub to: String,
    /// What lies between.
    #[serde(flatten)]
    pub link: Link,
}

/// What a person says of a link; what is not said stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkWords {
    /// Of one direction, in microseconds.
    pub delay_us: Option<u64>,
    /// In microseconds.
    pub jitter_us: Option<u64>,
    /// Of a million.
    pub loss_ppm: Option<u32>,
    /// Bits a second; 0 lifts the limit.
    pub rate_bits: Option<u64>,
    /// Whether nothing gets through.
    pub cut: Option<bool>,
}

impl LinkWords {
    /// The link with these words put on it.
    #[must_use]
    pub fn on(&self, link: Link) -> Link {
        Link {
            delay_us: self.delay_us.unwrap_or(link.delay_us),
            jitter_us: self.jitter_us.unwrap_or(link.jitter_us),
            loss_ppm: self.loss_ppm.unwrap_or(link.loss_ppm),
            rate_bits: match self.rate_bits {
                Some(0) => None,
                other => other.or(link.rate_bits),
            },
            cut: self.cut.unwrap_or(link.cut),
        }
    }
}

/// What a fault lays over a link while it holds; taken off, the link is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Layer {
    /// More delay of one direction, in microseconds.
    pub added_us: u64,
    /// Packets that are lost, of a million.
    pub loss_ppm: u32,
    /// Whether nothing gets through.
    pub cut: bool,
}

impl Layer {
    /// The link below this layer. What each of them loses is lost for itself.
    #[must_use]
    pub fn on(&self, link: Link) -> Link {
        const WHOLE: u64 = 1_000_000;
        let kept = (WHOLE - u64::from(link.loss_ppm)) * (WHOLE - u64::from(self.loss_ppm)) / WHOLE;
        Link {
            delay_us: link.delay_us + self.added_us,
            loss_ppm: u32::try_from(WHOLE - kept).unwrap_or(u32::MAX),
            cut: link.cut || self.cut,
            ..link
        }
    }
}

/// Why a figure of a link is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LinkError {
    /// No such time, or too long a one.
    #[error("{0:?} is not a link delay: write 0ms to 30s one way, such as 80ms")]
    Time(String),
    /// No share.
    #[error("{0:?} is not a loss: write a share such as 0.1%")]
    Loss(String),
    /// No rate.
    #[error("{0:?} is not a link rate: write bits per second, such as 100Mbit or 1Gbit")]
    Rate(String),
}

/// A time of one direction; a round-trip time is halved by who asks.
///
/// # Errors
/// No time, or longer than [`DELAY_MAX`].
pub fn delay_us(text: &str) -> Result<u64, LinkError> {
    let wrong = || LinkError::Time(text.to_owned());
    let time = match text.trim() {
        "0" => Duration::ZERO,
        other => parse_duration(other).map_err(|_| wrong())?,
    };
    if time > DELAY_MAX {
        return Err(wrong());
    }
    u64::try_from(time.as_micros()).map_err(|_| wrong())
}

/// Half of a round-trip time.
///
/// # Errors
/// As [`delay_us`].
pub fn half_us(text: &str) -> Result<u64, LinkError> {
    Ok(delay_us(text)? / 2)
}

/// A share of packets, such as `0.1%`.
///
/// # Errors
/// Not a number from 0 % to 100 %.
pub fn loss_ppm(text: &str) -> Result<u32, LinkError> {
    let wrong = || LinkError::Loss(text.to_owned());
    let percent = text.trim().strip_suffix('%').ok_or_else(wrong)?;
    let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and a million"
    )]
    let ppm = (percent * 10_000.0).round() as u32;
    Ok(ppm)
}

/// Bits a second, such as `100Mbit`; `none` is no limit and comes back as 0.
///
/// # Errors
/// Not a number, or less than 8 kbit.
pub fn rate_bits(text: &str) -> Result<u64, LinkError> {
    let wrong = || LinkError::Rate(text.to_owned());
    let trimmed = text.trim();
    if trimmed == "none" {
        return Ok(0);
    }
    let number = trimmed.strip_suffix("bit").ok_or_else(wrong)?;
    let (number, factor) = match number.char_indices().next_back() {
        Some((at, 'k')) => (&number[..at], 1e3),
        Some((at, 'M')) => (&number[..at], 1e6),
        Some((at, 'G')) => (&number[..at], 1e9),
        _ => (number, 1.0),
    };
    let rate = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
    if !(8_000.0..=1e12).contains(&rate) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 8,000 and 10^12"
    )]
    let bits = rate.round() as u64;
    Ok(bits)
}

/// Round-trip times between places, with where they were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LinkPreset {
    /// Its word.
    pub name: &'static str,
    /// The places of DC1, DC2 and DC3.
    pub places: [&'static str; 3],
    /// Round-trip times DC1–DC2, DC1–DC3, DC2–DC3 in microseconds.
    pub rtt_us: [u64; 3],
    /// Where the figures come from.
    pub source: &'static str,
}

/// Where the figures of all presets come from.
const SOURCE: &str =
    "IBM Cloud VPC network latency dashboards, average round trips of 18 Oct to 16 Nov 2025";

/// All presets of links.
pub const LINK_PRESETS: [LinkPreset; 4] = [
    LinkPreset {
        name: "one-building",
        places: ["Dallas 12", "Dallas 12", "Dallas 12"],
        // Inside of one zone: 0.09 ms.
        rtt_us: [90, 90, 90],
        source: SOURCE,
    },
    LinkPreset {
        name: "one-city",
        places: ["Dallas 10", "Dallas 12", "Dallas 13"],
        rtt_us: [1_410, 1_890, 1_470],
        source: SOURCE,
    },
    LinkPreset {
        name: "one-continent",
        places: ["Frankfurt", "London", "Madrid"],
        rtt_us: [13_000, 29_000, 27_000],
        source: SOURCE,
    },
    LinkPreset {
        name: "three-continents",
        places: ["Washington", "Frankfurt", "Tokyo"],
        rtt_us: [86_000, 139_000, 224_000],
        source: SOURCE,
    },
];

impl LinkPreset {
    /// The preset of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        LINK_PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Round-trip time between the `a`th and the `b`th of at most three data centres, counted from 0.
    pub fn rtt_us(&self, a: usize, b: usize) -> Option<u64> {
        match (a.min(b), a.max(b)) {
            (0, 1) => Some(self.rtt_us[0]),
            (0, 2) => Some(self.rtt_us[1]),
            (1, 2) => Some(self.rtt_us[2]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units() {
        assert_eq!(half_us("80ms"), Ok(40_000));
        assert_eq!(delay_us("0"), Ok(0));
        assert_eq!(delay_us("250us"), Ok(250));
        assert_eq!(loss_ppm("0.1%"), Ok(1_000));
        assert_eq!(rate_bits("100Mbit"), Ok(100_000_000));
        assert_eq!(rate_bits("1Gbit"), Ok(1_000_000_000));
        assert_eq!(rate_bits("none"), Ok(0));
        for bad in ["80", "31s", "-1ms", "x"] {
            assert!(delay_us(bad).is_err(), "{bad}");
        }
        for bad in ["0.1", "101%", "-1%"] {
            assert!(loss_ppm(bad).is_err(), "{bad}");
        }
        for bad in ["100", "1kbit", "Mbit"] {
            assert!(rate_bits(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_change_what_they_say_and_nothing_else() {
        let link = Link {
            delay_us: 5,
            rate_bits: Some(9),
            ..Link::default()
        };
        let words = LinkWords {
            rate_bits: Some(0),
            loss_ppm: Some(3),
            ..LinkWords::default()
        };
        let changed = words.on(link);
        assert_eq!((changed.delay_us, changed.loss_ppm), (5, 3));
        assert_eq!(changed.rate_bits, None);
    }

    #[test]
    fn layers_lie_over_each_other_in_any_order() {
        let link = Link {
            delay_us: 5_000,
            loss_ppm: 500_000,
            ..Link::default()
        };
        let slow = Layer {
            added_us: 2_000,
            loss_ppm: 500_000,
            cut: false,
        };
        let cut = Layer {
            cut: true,
            ..Layer::default()
        };
        let both = slow.on(cut.on(link));
        assert_eq!(both, cut.on(slow.on(link)));
        assert_eq!(
            (both.delay_us, both.loss_ppm, both.cut),
            (7_000, 750_000, true)
        );
        assert_eq!(Layer::default().on(link), link);
    }
}
