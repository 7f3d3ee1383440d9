//! Namespaces and bridges, by what they are called and how a thread gets into one.
//! Refuses to make or remove any.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

/// Moves this thread into a network namespace.
pub(super) fn enter(space: &OwnedFd) -> io::Result<()> {
    move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(io::Error::from)
}

/// Name of the bridge of the data centre with that number, from 0.
pub(super) fn bridge_name(site: usize) -> String {
    format!("dc{}", site + 1)
}
