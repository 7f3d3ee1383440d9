//! Addresses of nodes on a network interface: added for a cluster, remembered before, removed with its end.
//! Refuses to remove an address that the machine had before, and one that another cluster needs as well.

use super::{Changed, HostError, of_file, remember};
use crate::machine::{self, Files};
use crate::net::route::Links;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Where the kernel shows interfaces.
const INTERFACES: &str = "sys/class/net";
/// The journal's file of an address is in this folder of its interface; the kernel has none.
const FOLDER: &str = "addresses";

/// An address on an interface.
pub(super) struct Alias {
    interface: String,
    address: Ipv4Addr,
}

/// The address that a change is about; none where it is about something else.
pub(super) fn of(change: &Changed) -> Option<Alias> {
    let rest = change.file.strip_prefix(INTERFACES).ok()?;
    let mut parts = rest.iter().map(|part| part.to_str());
    let interface = parts.next()??.to_owned();
    match (parts.next()??, parts.next()??.parse()) {
        (FOLDER, Ok(address)) => Some(Alias { interface, address }),
        _ => None,
    }
}

impl Alias {
    fn file(&self) -> PathBuf {
        Path::new(INTERFACES)
            .join(&self.interface)
            .join(FOLDER)
            .join(self.address.to_string())
    }

    /// It, where the machine has it; else nothing.
    pub(super) fn now(&self, root: &Path) -> String {
        match machine::addresses(root).contains(&self.address) {
            true => self.address.to_string(),
            false => String::new(),
        }
    }

    /// Adds it, or removes it.
    pub(super) fn put(&self, root: &Path, add: bool) -> io::Result<()> {
        let file = format!("{INTERFACES}/{}/ifindex", self.interface);
        let index = Files(root).text(&file).and_then(|text| text.parse().ok());
        let index = index.ok_or(io::ErrorKind::NotFound)?;
        Links::open()?.alias(index, self.address, add)
    }
}

/// Whether the machine has these addresses, or the interface that they would be added to; nothing is changed. Those that
/// it has.
///
/// # Errors
/// There is no such interface, or an address is missing and no interface is named.
pub fn may_have_addresses(
    root: &Path,
    interface: Option<&str>,
    addresses: &[Ipv4Addr],
) -> Result<Vec<Ipv4Addr>, HostError> {
    let here = machine::addresses(root);
    let is_here = |address: &&Ipv4Addr| address.is_loopback() || here.contains(address);
    let Some(name) = interface else {
        let missing = addresses.iter().find(|address| !is_here(address));
        return match missing {
            None => Ok(addresses.to_vec()),
            Some(missing) => Err(HostError::NoAddress(*missing)),
        };
    };
    let known = Files(root).names(INTERFACES);
    if !known.iter().any(|one| one == name) {
        let name = name.to_owned();
        return Err(HostError::NoInterface { name, known });
    }
    Ok(addresses.iter().filter(is_here).copied().collect())
}

/// Gives the machine the addresses of a cluster's nodes that it does not have; `others` are the folders of all clusters of
/// this home, by name.
///
/// # Errors
/// As [`may_have_addresses`], and the kernel does not let this user.
pub fn give_addresses(
    root: &Path,
    folder: &Path,
    others: &[(String, PathBuf)],
    interface: &str,
    addresses: &[Ipv4Addr],
) -> Result<(), HostError> {
    let here = may_have_addresses(root, Some(interface), addresses)?;
    for address in addresses {
        let alias = Alias {
            interface: interface.to_owned(),
            address: *address,
        };
        let file = alias.file();
        let there = here.contains(address);
        let of_ours = |(_, folder): &(String, PathBuf)| of_file(root, folder, &file).is_some();
        // Nobody of ours has added it: it stays when the cluster ends.
        if there && !others.iter().any(of_ours) {
            continue;
        }
        let change = Changed {
            what: format!("address {address} of {interface}"),
            file,
            before: String::new(),
            set: address.to_string(),
            unit: String::new(),
        };
        remember(root, folder, change)?;
        if !there {
            let put = alias.put(root, true);
            put.map_err(|source| HostError::NotAdded {
                address: *address,
                interface: interface.to_owned(),
                source,
            })?;
        }
    }
    Ok(())
}
