//! The person's wish to stop, as a value that every wait looks at.
//! Refuses to catch signals: the command line does, and sets it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once, when the person pressed Ctrl-C or the system asked us to end.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks everything that looks at it to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether cancellation was requested.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Takes it back: what was to stop has stopped, and a session continues.
    pub fn withdraw(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
