//! Which combinations of levels are run, and which of them share a restart.
//! Refuses fractions that would hear one factor more often at one level than at another.

use super::screening::{least, screening, usual};
use super::{Design, Experiment, Kind};

/// Factors with enough levels that a fraction needs: with fewer, two of them would change together only.
const FRACTION_FACTORS: usize = 3;

/// Most combinations of one experiment: a block of more would take days.
const COMBINATIONS_MOST: usize = 1000;

/// A restart's settings, and the combinations that run in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// By factor the place of its level; 0 at factors of phases.
    pub levels: Vec<usize>,
    /// Places of its combinations.
    pub combinations: Vec<usize>,
    /// Each of them runs twice in a life of the nodes, the second time in the reverse order (ABBA): what changes steadily in
    /// that life is the same for all. So it is where what differs is changed in running nodes.
    pub mirrored: bool,
    /// It comes twice in each block of the main stage: its A/A control shows the experiment's own noise.
    pub twice: bool,
}

/// Why a design makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// No factor.
    #[error("an experiment needs a factor")]
    NoFactor,
    /// One in so many needs factors of so many levels.
    #[error(
        "one in {parts} needs {FRACTION_FACTORS} factors whose levels are a multiple of {parts}; there are {found}"
    )]
    Fraction {
        /// One in so many.
        parts: usize,
        /// Factors that would do.
        found: usize,
    },
    /// Too many.
    #[error("{0} treatments are too many: at most {COMBINATIONS_MOST}")]
    TooMany(usize),
    /// A screening design with fewer restarts than main effects.
    #[error(
        "a screening of these factors needs {needed} restarts per block, and {restarts} were requested"
    )]
    Restarts {
        /// What was asked for.
        restarts: usize,
        /// The fewest.
        needed: usize,
    },
    /// A list with one entry compares nothing.
    #[error("an experiment needs at least two treatments")]
    OneListed,
}

impl DesignError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoFactor => "add a [[factor]] with a key, a kind and levels".to_owned(),
            Self::Fraction { .. } => {
                "run all of them (design = \"full\"), or name each [[combination]]".to_owned()
            }
            Self::Restarts { needed, .. } => {
                format!("write restarts = {needed} or more, or leave it out")
            }
            Self::TooMany(_) => "take fewer levels, or design = \"half\"".to_owned(),
            Self::OneListed => "name a second [[combination]]".to_owned(),
        }
    }
}

/// What differs within restarts: one run where nothing does.
fn rows_within(levels: &[usize]) -> Vec<Vec<usize>> {
    match levels {
        [] => vec![Vec::new()],
        [one] => (0..*one).map(|level| vec![level]).collect(),
        several => screening(several, usual(several)),
    }
}

impl Experiment {
    /// Whether a design makes sense for these factors.
    ///
    /// # Errors
    /// No factor, a fraction that cannot be balanced, too many combinations, a list of one.
    pub fn check(&self, design: &Design) -> Result<(), DesignError> {
        if self.factors.is_empty() {
            return Err(DesignError::NoFactor);
        }
        if let Design::Fraction(parts) = design {
            let found = self.divisible(*parts);
            if found < FRACTION_FACTORS {
                return Err(DesignError::Fraction {
                    parts: *parts,
                    found,
                });
            }
        }
        let each = self.factors.iter().map(|f| f.levels.len());
        let full = each.fold(1, usize::saturating_mul);
        let count = match design {
            Design::Full => full,
            Design::Fraction(parts) => full / parts,
            Design::Listed(listed) | Design::Screening(listed) => listed.len(),
        };
        match count {
            1 => Err(DesignError::OneListed),
            n if n > COMBINATIONS_MOST => Err(DesignError::TooMany(n)),
            _ => Ok(()),
        }
    }

    /// Factors whose number of levels is a multiple of this.
    fn divisible(&self, parts: usize) -> usize {
        let fits = |levels: usize| levels.is_multiple_of(parts);
        self.factors.iter().filter(|f| fits(f.levels.len())).count()
    }

    /// The resolution of a fraction: below 5 an interaction of two cannot be separated from others, and with 3 not even
    /// from a factor's own effect. None of designs that are no fraction.
    pub fn resolution(&self) -> Option<usize> {
        match self.design {
            Design::Fraction(parts) => Some(self.divisible(parts)),
            Design::Screening(_) => Some(3),
            Design::Full | Design::Listed(_) => None,
        }
    }

    /// All combinations that are run: by factor the place of its level. The first of a full or fractional design has
    /// every factor at its first level.
    pub fn combinations(&self) -> Vec<Vec<usize>> {
        let all = || {
            let mut all = vec![Vec::new()];
            for factor in &self.factors {
                let longer = all.iter().flat_map(|levels: &Vec<usize>| {
                    (0..factor.levels.len()).map(move |level| {
                        let mut levels = levels.clone();
                        levels.push(level);
                        levels
                    })
                });
                all = longer.collect();
            }
            all
        };
        match &self.design {
            Design::Full => all(),
            Design::Fraction(parts) => {
                // The sum over all factors is the defining relation: each level of a factor meets equally many of the
                // others', as long as one of these has a multiple of `parts` levels.
                let mut kept = all();
                kept.retain(|levels| levels.iter().sum::<usize>().is_multiple_of(*parts));
                kept
            }
            Design::Listed(listed) | Design::Screening(listed) => listed.clone(),
        }
    }

    /// Whether its design estimates main effects only.
    pub fn is_screening(&self) -> bool {
        matches!(self.design, Design::Screening(_))
    }

    /// The level of a factor of restarts that comes in the fewest of them, in words, and how many these are; A/A
    /// controls apart.
    pub fn rarest(&self) -> Option<(String, usize)> {
        let wholes = self.wholes(&self.combinations());
        let each = self.factors.iter().enumerate();
        let each = each.filter(|(_, factor)| factor.kind.is_whole());
        let each = each.flat_map(|(place, factor)| {
            let levels = factor.levels.iter().enumerate();
            let wholes = &wholes;
            levels.map(move |(level, own)| {
                let with = wholes.iter().filter(|whole| whole.levels[place] == level);
                let name = format!("{}={}", factor.name, own.label);
                (name, with.count() * self.repeats)
            })
        });
        each.min_by_key(|(_, restarts)| *restarts)
    }

    /// The combinations of a screening design with so many restarts a block, each with the same few combinations of what
    /// differs within a restart.
    ///
    /// # Errors
    /// Too few restarts for that many factors.
    pub(super) fn screening(&self, restarts: Option<usize>) -> Result<Design, DesignError> {
        let counts = |whole: bool| -> Vec<usize> {
            let own = self.factors.iter().filter(|f| f.kind.is_whole() == whole);
            own.map(|factor| factor.levels.len()).collect()
        };
        let (between, within) = (counts(true), counts(false));
        let needed = least(&between);
        let restarts = restarts.unwrap_or_else(|| usual(&between));
        if restarts < needed {
            return Err(DesignError::Restarts { restarts, needed });
        }
        let both = (screening(&between, restarts), rows_within(&within));
        let merged = |own: &Vec<usize>, inside: &Vec<usize>| {
            let (mut own, mut inside) = (own.iter(), inside.iter());
            let each = self
                .factors
                .iter()
                .map(|factor| match factor.kind.is_whole() {
                    true => own.next(),
                    false => inside.next(),
                });
            each.flatten().copied().collect()
        };
        let mut all: Vec<Vec<usize>> = Vec::new();
        for own in &both.0 {
            for inside in &both.1 {
                let levels = merged(own, inside);
                if !all.contains(&levels) {
                    all.push(levels);
                }
            }
        }
        Ok(Design::Screening(all))
    }

    /// The restarts of a block, each with its combinations, in the order of the file.
    pub fn wholes(&self, combinations: &[Vec<usize>]) -> Vec<Whole> {
        let mut wholes: Vec<Whole> = Vec::new();
        for (place, levels) in combinations.iter().enumerate() {
            let own = self.whole_levels(levels);
            match wholes.iter_mut().find(|whole| whole.levels == own) {
                Some(whole) => whole.combinations.push(place),
                None => wholes.push(Whole {
                    twice: wholes.is_empty() && self.pairs.is_none(),
                    levels: own,
                    combinations: vec![place],
                    mirrored: self.factors.iter().any(|f| f.kind == Kind::Live),
                }),
            }
        }
        wholes
    }

    /// The restarts in which these settings are run, each with all of its combinations: what is measured again is measured
    /// at the places in the life of the nodes, and among the runs, that it had the first time.
    pub fn wholes_of(&self, settings: &[&[usize]]) -> Vec<Whole> {
        let all = self.combinations();
        let mut wholes = self.wholes(&all);
        let wanted = |place: &usize| settings.contains(&self.chosen(&all, &all[*place]).as_slice());
        wholes.retain(|whole| whole.combinations.iter().any(wanted));
        wholes
    }

    /// The levels of a combination's restart.
    pub fn whole_levels(&self, levels: &[usize]) -> Vec<usize> {
        let each = self.factors.iter().zip(levels);
        each.map(|(factor, level)| if factor.kind.is_whole() { *level } else { 0 })
            .collect()
    }

    /// By factor whether the answer chooses its level: what restarts set, where any of them differs, else what phases
    /// set; never what is given.
    fn choices(&self, combinations: &[Vec<usize>]) -> Vec<bool> {
        let differs = |place: usize| {
            let mut each = combinations.iter().map(|levels| levels[place]);
            let first = each.next();
            each.any(|level| Some(level) != first)
        };
        let open = |place: usize| !self.factors[place].given && differs(place);
        let whole = |place: usize| self.factors[place].kind.is_whole();
        let places = 0..self.factors.len();
        let of_restarts = places.clone().any(|place| open(place) && whole(place));
        places
            .map(|place| !self.factors[place].given && (whole(place) || !of_restarts))
            .collect()
    }

    /// The levels of what the answer chooses; 0 at all other factors.
    pub fn chosen(&self, combinations: &[Vec<usize>], levels: &[usize]) -> Vec<usize> {
        let choices = self.choices(combinations);
        let each = choices.iter().zip(levels);
        each.map(|(choice, level)| if *choice { *level } else { 0 })
            .collect()
    }

    /// What the answer chooses in one line.
    pub(super) fn chosen_label(&self, combinations: &[Vec<usize>], levels: &[usize]) -> String {
        let choices = self.choices(combinations);
        self.words(levels, |place| choices[place])
    }
}
