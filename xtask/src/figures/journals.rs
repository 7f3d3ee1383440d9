//! Blocks that are a campaign's own table. Refuses to render what the campaign renders itself.

use super::Call;
use crate::prove::figures::{self, Journal};
use std::error::Error;

/// The twenty lines of cassandra-stress beside the real one.
pub(super) fn stress(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    Ok(Journal::of(call.file()?)?.stress())
}

/// `believe pool VARIANT`, `believe live`, `believe nothing-differs`.
pub(super) fn believe(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let journal = Journal::of(call.file()?)?;
    match call.words.as_slice() {
        ["pool", variant] => journal.believe_pool(variant),
        ["live"] => Ok(journal.believe_live()),
        ["nothing-differs"] => Ok(journal.believe_nothing()),
        words => Err(format!("believe knows pool, live and nothing-differs, not {words:?}").into()),
    }
}

/// Files of productions, and what nodes reported of them.
pub(super) fn like(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    figures::like(call.file()?)
}
