//! The one way a run is stopped before its end, by whomever.
//! Refuses to be unraised, and keeps the first reason.

use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::Notify;

/// Why a run is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// SIGINT or SIGTERM.
    Signal,
    /// Nobody reads the samples any more.
    ReaderGone,
    /// The ledger cannot be appended to.
    LedgerGone,
}

/// A latch that threads may raise and the run looks at.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    reason: AtomicU8,
    notify: Notify,
}

impl Stop {
    /// Raises it; only the first reason counts.
    pub(crate) fn raise(&self, reason: StopReason) {
        let code = match reason {
            StopReason::Signal => 1,
            StopReason::ReaderGone => 2,
            StopReason::LedgerGone => 3,
        };
        let _already = self
            .reason
            .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
        self.notify.notify_one();
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

    /// Wakes whoever waits in [`Self::changed`].
    pub(crate) fn nudge(&self) {
        self.notify.notify_one();
    }

    /// Waits until it is raised or nudged.
    pub(crate) async fn changed(&self) {
        self.notify.notified().await;
    }

    /// Waits until it is raised.
    pub(crate) async fn raised(&self) {
        while self.reason().is_none() {
            self.changed().await;
        }
    }
}
