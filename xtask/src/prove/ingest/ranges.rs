//! A file of address ranges in the shape and skew of IP2Location's DB11, and the same rows written out one by one.
//! Refuses chance: the number of rows decides every byte.

use helenus_model::seed::Seed;
use std::io::{self, Write};
use std::net::Ipv4Addr;

/// Where the first range begins, as in IP2Location's files.
const FIRST: u32 = 0x0100_0000;

/// Countries, regions of a country and cities of a region; the first ones have most of the ranges.
const COUNTRIES: u64 = 240;
const REGIONS: u64 = 20;
const CITIES: u64 = 200;

/// Ranges of one country that follow each other, on average.
const NEIGHBOURS: u64 = 4;

/// Ranges of `2^n` addresses, of a thousand ranges. A range has 874 on average: two billion addresses are 2.3 million
/// ranges.
const SIZES: [u64; 18] = [
    30, 30, 80, 110, 90, 90, 90, 90, 220, 60, 40, 25, 20, 12, 6, 4, 2, 1,
];

/// Addresses of one place that follow each other.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) from: u32,
    pub(crate) to: u32,
    country: String,
    country_name: String,
    region: String,
    city: String,
    latitude: String,
    longitude: String,
    zip: String,
    zone: String,
}

/// Ranges that follow each other until they have so many rows; the last one is cut.
pub(crate) fn ranges(seed: Seed, rows: u64) -> impl Iterator<Item = Range> {
    let mut left = rows;
    let mut from = FIRST;
    let mut number = 0;
    let mut country = 0;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let dice = seed.derive_at(number);
        if number == 0 || dice.at(0).is_multiple_of(NEIGHBOURS) {
            country = skewed(dice.at(1), COUNTRIES);
        }
        let size = size(dice.at(2)).min(left);
        let range = place(seed, country, dice, from, size);
        left -= size;
        number += 1;
        from = range.to.wrapping_add(1);
        Some(range)
    })
}

fn size(random: u64) -> u64 {
    let mut rest = random % SIZES.iter().sum::<u64>();
    for (exponent, weight) in SIZES.iter().enumerate() {
        if rest < *weight {
            return 1 << exponent;
        }
        rest -= weight;
    }
    1
}

/// A rank below `of`, whose share falls with the rank as in Zipf's law.
fn skewed(random: u64, of: u64) -> u64 {
    let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
    ((of as f64).powf(share) as u64 - 1).min(of - 1)
}

fn place(seed: Seed, country: u64, dice: Seed, from: u32, size: u64) -> Range {
    let region = country * REGIONS + skewed(dice.at(3), REGIONS);
    let city = region * CITIES + skewed(dice.at(4), CITIES);
    let (names, about) = (seed.derive("names"), seed.derive("cities").derive_at(city));
    let degrees = |random: u64, most: u64| {
        let millionths = random % (2 * most * 1_000_000);
        millionths as f64 / 1e6 - most as f64
    };
    let letter = |number: u64| char::from(b'A' + u8::try_from(number % 26).unwrap_or(0));
    let last = from + u32::try_from(size - 1).unwrap_or(u32::MAX - from);
    Range {
        from,
        to: last,
        country: format!("{}{}", letter(country / 26), letter(country)),
        country_name: name(names.derive("country").derive_at(country)),
        region: name(names.derive("region").derive_at(region)),
        city: name(names.derive("city").derive_at(city)),
        latitude: format!("{:.6}", degrees(about.at(0), 90)),
        longitude: format!("{:.6}", degrees(about.at(1), 180)),
        zip: format!("{:05}", about.at(2) % 100_000),
        zone: format!("{:+03}:00", (country * 7 % 25).cast_signed() - 12),
    }
}

/// Two to five syllables.
fn name(dice: Seed) -> String {
    const SYLLABLES: [&str; 16] = [
        "ka", "ro", "ne", "stad", "li", "mon", "te", "ber", "vil", "sa", "grad", "no", "ham", "ru",
        "dor", "en",
    ];
    let syllables = 2 + dice.at(0) % 4;
    let mut name: String = (1..=syllables)
        .map(|n| SYLLABLES[(dice.at(n) % 16) as usize])
        .collect();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}

impl Range {
    /// Its line of a DB11 file.
    pub(crate) fn line(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "\"{}\",\"{}\",\"{}\",\"{}\",\"{}\",\"{}\",\"{}\",\"{}\",\"{}\",\"{}\"",
            self.from,
            self.to,
            self.country,
            self.country_name,
            self.region,
            self.city,
            self.latitude,
            self.longitude,
            self.zip,
            self.zone
        )
    }

    /// Its rows, below [`HEADER`].
    pub(crate) fn rows(&self, out: &mut impl Write) -> io::Result<()> {
        for address in self.from..=self.to {
            writeln!(
                out,
                "{},{},{},{},{},{},{},{}",
                self.country,
                self.region,
                self.city,
                Ipv4Addr::from(address),
                self.latitude,
                self.longitude,
                self.zip,
                self.zone
            )?;
        }
        Ok(())
    }
}

/// The table's columns, in the order of [`Range::rows`].
pub(crate) const HEADER: &str = "country,region,city,ip,lati,longi,zip,timezone";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other_and_have_the_rows() {
        let all: Vec<Range> = ranges(Seed(7), 1_000_000).collect();
        let mut next = FIRST;
        let mut rows = 0;
        for range in &all {
            assert_eq!(range.from, next);
            next = range.to + 1;
            rows += u64::from(range.to - range.from) + 1;
        }
        assert_eq!(rows, 1_000_000);
        let mean = rows / all.len() as u64;
        assert!((300..1500).contains(&mean), "{mean}");
        let (mut line, mut text) = (Vec::new(), Vec::new());
        all[0].line(&mut line).unwrap();
        all[0].rows(&mut text).unwrap();
        assert_eq!(line.split(|b| *b == b',').count(), 10);
        let text = String::from_utf8(text).unwrap();
        let first = text.lines().next().unwrap();
        assert_eq!(first.split(',').count(), HEADER.split(',').count());
        assert!(first.contains(",1.0.0.0,"), "{first}");
    }

    #[test]
    fn few_places_have_most_of_the_ranges() {
        let mut ranks = [0_u32; 240];
        for number in 0..10_000 {
            ranks[skewed(Seed(7).at(number), COUNTRIES) as usize] += 1;
        }
        let first: u32 = ranks[..24].iter().sum();
        assert!((5_000..8_000).contains(&first), "{first}");
    }
}
