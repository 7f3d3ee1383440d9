//! How long something is waited for from the other side, where it is.
//! Refuses to read: it waits until there is something to read.

use crate::cancel::Cancel;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the person's wish to stop is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Until when something must have come; shared by all that read from one side.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    until: Arc<Mutex<Option<Instant>>>,
    cancel: Cancel,
}

impl Patience {
    /// As long as it takes, or until the person stops it.
    pub(super) fn new(cancel: &Cancel) -> Self {
        Self {
            until: Arc::default(),
            cancel: cancel.clone(),
        }
    }

    /// For so long.
    #[cfg(test)]
    pub(super) fn of(within: Duration) -> Self {
        let own = Self::new(&Cancel::default());
        own.limit(Some(within));
        own
    }

    /// From now on for so long, or without a limit; then nobody's wish to stop is looked at either.
    pub(super) fn limit(&self, within: Option<Duration>) {
        let until = within.map(|within| Instant::now() + within);
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Whether the person stopped it.
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_set()
    }

    /// Waits until there is something to read, or an end.
    ///
    /// # Errors
    /// Nothing came in time (`TimedOut`), or the person stopped it (`Interrupted` as a text, for a read would go on).
    pub(super) fn wait(&self, source: &impl AsFd) -> io::Result<()> {
        loop {
            let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(until) = until else {
                return Ok(());
            };
            if self.cancel.is_set() {
                return Err(io::Error::other("interrupted"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let look = left.min(LOOK).try_into().map_err(io::Error::other)?;
            let mut asked = [PollFd::new(source, PollFlags::IN)];
            match poll(&mut asked, Some(&look)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A pipe that is read with patience.
#[derive(Debug)]
pub(super) struct Patient<R> {
    pub(super) from: R,
    pub(super) patience: Patience,
}

impl<R: Read + AsFd> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.patience.wait(&self.from)?;
        self.from.read(buffer)
    }
}
