//! The distance of a run: links of a cluster borrowed for its time, set, measured, given back.
//! Refuses to call a link set that does not measure so.

use helenus_cluster::cancel::Cancel;
use helenus_cluster::net::client::{Keeper, NetError};
use helenus_cluster::net::echo::Echo;
use helenus_cluster::state::ClusterState;
use helenus_model::levels::{Distance, DistanceError, RoundTrip};
use helenus_model::topology::link::{Directed, LinkWords};
use std::path::Path;
use std::time::{Duration, Instant};

/// Wait after links have changed, so that what was under way has arrived.
const AFTER_A_CHANGE: Duration = Duration::from_secs(1);

/// Round trips that a pair is measured by.
const SAMPLES: u32 = 7;

/// How often a pair is measured before it is called wrong: a host may be busy for a moment.
const TRIES: u32 = 3;

/// Why a run cannot have its distance.
#[derive(Debug, thiserror::Error)]
pub enum ApartError {
    /// Not one that this cluster can have.
    #[error(transparent)]
    Distance(#[from] DistanceError),
    /// The network is gone, or refuses.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A link is not what it was set to.
    #[error("{}", off(.0))]
    Off(RoundTrip),
    /// Addresses of others have no links of ours.
    #[error("links can be set only in your own clusters")]
    Foreign,
}

#[expect(clippy::cast_precision_loss, reason = "at most a minute")]
fn off(trip: &RoundTrip) -> String {
    let (asked, measured) = (trip.asked_us as f64 / 1e3, trip.measured_us / 1e3);
    format!(
        "{} - {} were set to {asked:.1} ms, and measure {measured:.1} ms",
        trip.from, trip.to
    )
}

/// The links of a cluster, as they were found and as they are now.
#[derive(Debug)]
pub(crate) struct Links {
    keeper: Keeper,
    found: Vec<Directed>,
    now: Vec<Directed>,
}

impl Links {
    /// Of a cluster with a network of its own; none on loopback.
    ///
    /// # Errors
    /// Its network is gone.
    pub(crate) fn of(state: &ClusterState) -> Result<Option<Self>, NetError> {
        if state.plan.network.is_none() {
            return Ok(None);
        }
        let keeper = Keeper::call(Path::new(&state.plan.folder))?;
        keeper.borrow_links()?;
        let found = keeper.status()?.below;
        Ok(Some(Self {
            keeper,
            now: found.clone(),
            found,
        }))
    }

    /// As they were found, without the faults over them.
    pub(crate) fn found(&self) -> &[Directed] {
        &self.found
    }

    /// Sets their delays, and waits until what was under way has arrived where any had to change.
    ///
    /// # Errors
    /// The network is gone.
    pub(crate) fn set(&mut self, wanted: &[Directed], cancel: &Cancel) -> Result<(), NetError> {
        if !self.change(wanted)? {
            return Ok(());
        }
        let until = Instant::now() + AFTER_A_CHANGE;
        while Instant::now() < until && !cancel.is_set() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Gives them back as they were found.
    ///
    /// # Errors
    /// The network is gone.
    pub(crate) fn put_back(&mut self) -> Result<(), NetError> {
        self.keeper.give_back()?;
        self.now.clone_from(&self.found);
        Ok(())
    }

    /// Whether any had to change.
    fn change(&mut self, wanted: &[Directed]) -> Result<bool, NetError> {
        let mut changed = false;
        for (now, wanted) in self.now.iter_mut().zip(wanted) {
            if now.link.delay_us != wanted.link.delay_us {
                let words = LinkWords {
                    delay_us: Some(wanted.link.delay_us),
                    ..LinkWords::default()
                };
                self.keeper.change(Some(&now.from), Some(&now.to), words)?;
                now.link.delay_us = wanted.link.delay_us;
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Sets a distance and measures each pair that can be measured.
    ///
    /// # Errors
    /// The cluster cannot have it, the network is gone, or a pair is not what it was set to.
    pub(crate) fn stand(
        &mut self,
        distance: &Distance,
        cancel: &Cancel,
    ) -> Result<Vec<RoundTrip>, ApartError> {
        let wanted = distance.put_on(&self.found)?;
        self.set(&wanted, cancel)?;
        // A fault may have cut one: as they are, not as they were set.
        let status = self.keeper.status()?;
        let links = status.links.iter();
        let pairs: Vec<(String, String)> = links
            .filter(|link| link.from < link.to && !status.is_cut(&link.from, &link.to))
            .map(|link| (link.from.clone(), link.to.clone()))
            .collect();
        let mut trips = Vec::new();
        for (from, to) in pairs {
            if cancel.is_set() {
                break;
            }
            trips.push(self.measured(&from, &to)?);
        }
        Ok(trips)
    }

    fn measured(&self, from: &str, to: &str) -> Result<RoundTrip, ApartError> {
        let mut tries = 0;
        loop {
            let trip = trip(self.keeper.echo(from, to, SAMPLES)?);
            tries += 1;
            if trip.holds() {
                return Ok(trip);
            }
            if tries == TRIES {
                return Err(ApartError::Off(trip));
            }
        }
    }
}

fn trip(echo: Echo) -> RoundTrip {
    RoundTrip {
        from: echo.from,
        to: echo.to,
        asked_us: echo.asked_us,
        measured_us: echo.p50_us,
    }
}
