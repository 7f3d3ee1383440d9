//! What pages get from the campaigns' raw files: values of a journal that is only read, bars, and a campaign's tables.
//! Refuses to write: a page's figure changes no raw file.

use super::campaign::Campaign;
use super::journal::{self, Journal as Written, Line};
use super::{CAMPAIGNS, believe, report, stress};

pub(crate) use super::like::sentence as like;

use std::error::Error;
use std::path::Path;

/// A campaign's journal, only read.
#[derive(Debug)]
pub(crate) struct Journal {
    campaign: String,
    written: Written,
}

impl Journal {
    pub(crate) fn of(file: &Path) -> Result<Self, Box<dyn Error>> {
        let text = fs_err::read_to_string(file)?;
        let lines = journal::lines(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let campaign = lines.iter().find_map(|line| match line {
            Line::Sitting { campaign, .. } => Some(campaign.clone()),
            _ => None,
        });
        Ok(Self {
            campaign: campaign.ok_or_else(|| format!("{}: no sitting", file.display()))?,
            written: Written {
                path: file.to_owned(),
                lines,
            },
        })
    }

    /// Values of a measure of a variant, `*` for all; `@load`, `@steal` and `@others` are what else went on. Of one named
    /// measure of all variants, those that have it.
    pub(crate) fn values(&self, variant: &str, measure: &str) -> Vec<f64> {
        let trials = self.written.lines.iter().filter_map(|line| match line {
            Line::Trial {
                variant: of,
                measures,
                pressure,
                ..
            } if variant == "*" || of == variant => Some((measures, pressure)),
            _ => None,
        });
        let value = |(measures, pressure): (&super::campaign::Measures, &super::host::Pressure)| {
            match measure {
                "@load" => Some(pressure.load),
                "@steal" => Some(pressure.steal),
                "@others" => Some(pressure.others),
                measure => measures.get(measure).copied(),
            }
        };
        trials.filter_map(value).collect()
    }

    /// The table of lines of cassandra-stress.
    pub(crate) fn stress(&self) -> String {
        stress::table(&self.written)
    }

    /// The table of comparisons that were drawn from the pool of this name.
    pub(crate) fn believe_pool(&self, variant: &str) -> Result<String, Box<dyn Error>> {
        believe::pool_rows(&self.written, variant)
    }

    /// The table of live comparisons.
    pub(crate) fn believe_live(&self) -> String {
        believe::live_rows(&self.written)
    }

    /// What live comparisons said where nothing differed.
    pub(crate) fn believe_nothing(&self) -> String {
        believe::nothing_differed(&self.written)
    }
}

/// Whether the bar at this place of the journal's campaign is held, in a word; of an aim whether it is reached.
pub(crate) fn held(journal: &Journal, place: usize) -> Result<&'static str, Box<dyn Error>> {
    let known = |campaign: &&Campaign| campaign.name == journal.campaign;
    let campaign = CAMPAIGNS.iter().find(known);
    let campaign = campaign.ok_or_else(|| format!("no campaign {}", journal.campaign))?;
    let bar = campaign.bars.get(place).ok_or("no such bar")?;
    Ok(match (report::holds(bar, &journal.written), bar.aim) {
        (true, true) => "reached",
        (false, true) => "not reached",
        (true, false) => "held",
        (false, false) => "not held",
    })
}

/// A journal of trials with these values of `wall_s`, for tests.
#[cfg(test)]
pub(crate) fn of_values(campaign: &str, values: &[(&str, f64)]) -> Journal {
    Journal {
        campaign: campaign.to_owned(),
        written: report::tests::journal(values),
    }
}
