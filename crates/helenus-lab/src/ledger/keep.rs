//! Where a new ledger goes: a file that was named, or one of its own beside the history.
//! Refuses to write over what is there.

use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::state::ClusterState;
use helenus_cluster::wall;
use helenus_model::run_plan::LedgerPlan;
use helenus_record::when::Utc;
use helenus_record::{History, RunId};
use std::io;
use std::path::PathBuf;

/// The folder of ledgers without a name of their own, in the state folder.
const FOLDER: &str = "ledgers";

/// Where a run's ledger is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// Beside the history.
    Auto,
    /// In this file, which must not be there yet.
    In(PathBuf),
}

/// The ledger of a run that starts now.
pub(crate) fn plan(
    context: &Context,
    keep: &Keep,
    cluster: Option<&ClusterState>,
) -> io::Result<LedgerPlan> {
    let file = match keep {
        Keep::In(file) => std::path::absolute(file)?,
        Keep::Auto => {
            let folder = context.paths.state.join(FOLDER);
            fs::create_dir_all(&folder)?;
            folder.join(name())
        }
    };
    Ok(LedgerPlan {
        file,
        cluster: cluster.map(|state| (state.plan.name.clone(), state.id.clone())),
    })
}

/// Ledgers of these runs without a name of their own: they go when the runs go.
pub fn beside(context: &Context, history: &History, runs: &[RunId]) -> Vec<PathBuf> {
    let folder = context.paths.state.join(FOLDER);
    let plans = runs
        .iter()
        .filter_map(|run| history.run(*run).ok()?.plan().ok());
    let files = plans.filter_map(|plan| plan.ledger.map(|ledger| ledger.file));
    files.filter(|file| file.starts_with(&folder)).collect()
}

/// By moment and process, so that two runs that start at once have two.
fn name() -> String {
    let moment = Utc::of_ns(wall::now_ns())
        .to_string()
        .replace(' ', "T")
        .replace(':', "");
    format!("{moment}-{}.ledger", std::process::id())
}
