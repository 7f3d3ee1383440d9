//! Processors by number, as the kernel lists them: `0-31,64-95`.
//! Refuses a list that names a processor twice or backwards.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A set of processors, written as the kernel writes one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Cpus(BTreeSet<u32>);

/// Why a text is no list of processors.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a list of processors: write numbers and ranges, such as 0-31,64-95")]
pub struct CpusError(String);

/// More processors than any machine has; a range beyond it is a mistake.
const MOST: u32 = 1 << 16;

impl Cpus {
    /// The processors from `first` up to, not including, `end`.
    pub fn range(first: u32, end: u32) -> Self {
        Self((first..end).collect())
    }

    /// How many.
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their numbers, rising.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Whether a processor is one of them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Those that are in both.
    #[must_use]
    pub fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Those that are in this one only.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }
}

/// The processors for the nodes, which leave the last cores to so many load generators. None where the nodes would keep
/// fewer than three quarters of all processors: no core is to spare there.
pub fn apart(cores: &[Cpus], generators: u32) -> Option<Cpus> {
    let nodes = cores.len().checked_sub(generators as usize)?;
    let all = |cores: &[Cpus]| -> Cpus { cores.iter().flat_map(Cpus::iter).collect() };
    let (nodes, generators) = (all(&cores[..nodes]), all(&cores[nodes..]));
    (!generators.is_empty() && nodes.len() >= 3 * generators.len()).then_some(nodes)
}

impl FromIterator<u32> for Cpus {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl std::str::FromStr for Cpus {
    type Err = CpusError;

    fn from_str(text: &str) -> Result<Self, CpusError> {
        let fail = || CpusError(text.to_owned());
        let mut all = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| fail());
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last > MOST {
                return Err(fail());
            }
            for cpu in first..=last {
                if !all.insert(cpu) {
                    return Err(fail());
                }
            }
        }
        Ok(Self(all))
    }
}

impl TryFrom<String> for Cpus {
    type Error = CpusError;

    fn try_from(text: String) -> Result<Self, CpusError> {
        text.parse()
    }
}

impl From<Cpus> for String {
    fn from(cpus: Cpus) -> Self {
        cpus.to_string()
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while rest.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_have_the_last_cores_where_nodes_keep_three_quarters() {
        let split = |cores: &[&str], generators| {
            let cores: Vec<Cpus> = cores.iter().filter_map(|core| core.parse().ok()).collect();
            apart(&cores, generators).map(|nodes| nodes.to_string())
        };
        assert_eq!(split(&["0", "1"], 1), None);
        assert_eq!(split(&["0", "1", "2", "3"], 1), Some("0-2".to_owned()));
        assert_eq!(split(&["0", "1", "2", "3"], 2), None);
        // The second thread of a core is no core.
        assert_eq!(split(&["0,2", "1,3"], 1), None);
        let smt = ["0,4", "1,5", "2,6", "3,7"];
        assert_eq!(split(&smt, 1), Some("0-2,4-6".to_owned()));
        assert_eq!(split(&smt, 2), None);
        assert_eq!(split(&smt, 9), None);
        assert_eq!(split(&[], 0), None);
    }
}
