//! The one way a run is stopped before its end, by whomever.
//! Refuses to be unraised.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a run is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// SIGINT or SIGTERM.
    Signal = 1,
    /// The reader of the samples is gone.
    ReaderGone,
    /// The ledger cannot be appended to.
    LedgerGone,
}

/// A latch that threads may raise and the run looks at.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    reason: Arc<AtomicUsize>,
}

impl Stop {
    /// Lets SIGINT and SIGTERM raise it.
    ///
    /// # Errors
    /// The system takes no handler.
    pub(crate) fn watch_signals(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            let reason = Arc::clone(&self.reason);
            signal_hook::flag::register_usize(signal, reason, StopReason::Signal as usize)?;
        }
        Ok(())
    }

    /// Raises it, where it is not.
    pub(crate) fn raise(&self, reason: StopReason) {
        let code = reason as usize;
        let _already = self
            .reason
            .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Why it was raised, if it was.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        match self.reason.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopReason::Signal),
            2 => Some(StopReason::ReaderGone),
            _ => Some(StopReason::LedgerGone),
        }
    }
}
