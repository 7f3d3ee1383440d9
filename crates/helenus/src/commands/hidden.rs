//! Hidden verbs: what this binary becomes for a while. Refuses everything that a person would type.

use std::path::Path;
use std::process::ExitCode;

/// Becomes a node; whoever started us finds the reason of a failure in the node's console log.
pub(crate) fn node(launch: &Path) -> ExitCode {
    match helenus_cluster::shim::run(launch) {
        Ok(never) => match never {},
        Err(error) => {
            use std::io::Write as _;
            let _log_gone = writeln!(std::io::stderr(), "ERROR launch: {error}");
            ExitCode::from(crate::error::code::CLUSTER)
        }
    }
}

/// The load generator.
pub(crate) fn load() -> ExitCode {
    helenus_load::serve(&mut std::io::stdin().lock(), std::io::stdout())
}
