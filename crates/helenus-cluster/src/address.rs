//! Addresses on loopback, claimed machine-wide: a /24 inside 127/8 a user, one address a node.
//! Refuses an address that somebody listens on, and one that another cluster of this user keeps.
//!
//! Claims lie outside HELENUS_HOME, keyed by network namespace, so that two homes see each other's.

use crate::error::{Class, Problem};
use fs_err as fs;
use helenus_model::plan::{Ports, STANDARD_PORTS};
use helenus_model::seed::mix;
use rustix::fs::FlockOperation;
use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// The claims of this user in this network namespace.
#[derive(Debug, Clone)]
pub struct Claims {
    folder: PathBuf,
    network: [u8; 3],
    /// The mount namespace of this process.
    mounts: String,
}

/// What stands in a claim: the folder of a cluster; and in a file beside it, which versions before this one do not know,
/// the mount namespace in which it is that folder.
struct Claim {
    owner: PathBuf,
    mounts: String,
}

impl Claim {
    fn read(file: &Path) -> Option<Self> {
        let owner = fs::read_to_string(file).ok().filter(|o| !o.is_empty())?;
        let beside = fs::read_to_string(beside(file)).unwrap_or_default();
        let mounts = match beside.split_once(' ') {
            Some((mounts, of)) if of == owner => mounts.to_owned(),
            _ => String::new(),
        };
        let owner = owner.into();
        Some(Self { owner, mounts })
    }

    fn write(&self, file: &Path) -> io::Result<()> {
        let owner = self.owner.to_string_lossy();
        fs::write(beside(file), format!("{} {owner}", self.mounts))?;
        fs::write(file, owner.as_bytes())
    }

    fn remove(file: &Path) -> io::Result<()> {
        let _an_older_one_s = fs::remove_file(beside(file));
        fs::remove_file(file)
    }
}

/// `127.1.2.3.mounts` of the claim `127.1.2.3`.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".mounts");
    name.into()
}

/// Last number of the last address of a /24.
const LAST: u8 = 254;

/// An address and those behind it in its /24.
fn behind(first: Ipv4Addr) -> impl Iterator<Item = Ipv4Addr> {
    let [a, b, c, d] = first.octets();
    (d..=LAST).map(move |last| Ipv4Addr::new(a, b, c, last))
}

/// Addresses and ports that were had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// One a node.
    pub addresses: Vec<Ipv4Addr>,
    /// The same on each.
    pub ports: Ports,
}

impl Claimed {
    /// In equal parts of so many addresses, with the same ports.
    pub(crate) fn split(&self, each: usize) -> Vec<Claimed> {
        let parts = self.addresses.chunks(each.max(1));
        let ports = self.ports;
        parts
            .map(|addresses| Claimed {
                addresses: addresses.to_vec(),
                ports,
            })
            .collect()
    }
}

/// Why no addresses can be had.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The /24 is full.
    #[error("fewer than {wanted} free addresses in {network}.0/24: clusters hold {kept}")]
    Full {
        /// Asked for.
        wanted: usize,
        /// First three numbers of the network.
        network: String,
        /// Kept by clusters of this user.
        kept: usize,
    },
    /// A person named an address too near to the end of its /24.
    #[error(
        "{wanted} nodes need {wanted} addresses from {first} on, and its network ends before that"
    )]
    TooFew {
        /// Asked for.
        wanted: usize,
        /// The first.
        first: Ipv4Addr,
    },
    /// A port of a known address is taken.
    #[error("port {port} of {address} is taken by another program")]
    Taken {
        /// Address.
        address: Ipv4Addr,
        /// Port.
        port: u16,
    },
    /// The runtime folder.
    #[error("cannot use the folder of address claims")]
    Io(#[from] io::Error),
}

impl Problem for AddressError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Full { .. } => {
                Some("`helenus list` shows the clusters, `helenus rm` frees theirs".into())
            }
            Self::TooFew { .. } => Some("name a lower one with --addresses".into()),
            Self::Taken { address, port } => Some(format!(
                "`ss -ltnp 'src {address}:{port}'` names the program; end it, then start again"
            )),
            Self::Io(_) => None,
        }
    }
}

impl Claims {
    /// The address that a person named and those behind it, in its /24, on the standard ports. They are not claimed: clusters
    /// that do not run at the same time share them.
    ///
    /// # Errors
    /// The /24 has fewer.
    pub fn named(first: Ipv4Addr, count: usize) -> Result<Claimed, AddressError> {
        let addresses: Vec<Ipv4Addr> = behind(first).take(count).collect();
        match addresses.len() == count {
            true => Ok(Claimed {
                addresses,
                ports: STANDARD_PORTS,
            }),
            false => Err(AddressError::TooFew {
                wanted: count,
                first,
            }),
        }
    }

    /// The first free address after those of a cluster whose network a person named; none where it is of this user's
    /// network.
    pub(crate) fn next_named(&self, taken: &[Ipv4Addr]) -> Option<Ipv4Addr> {
        let first = *taken.first()?;
        let [a, b, c, _] = first.octets();
        let mut all = behind(first);
        all.find(|address| self.network != [a, b, c] && !taken.contains(address))
    }

    /// The claims below a runtime folder.
    ///
    /// # Errors
    /// The folder cannot be made, or the namespace cannot be read.
    pub fn open(runtime: &Path) -> io::Result<Self> {
        let namespace = fs::metadata("/proc/self/ns/net").map(|m| {
            use std::os::unix::fs::MetadataExt as _;
            m.ino()
        })?;
        let folder = runtime.join("claims").join(namespace.to_string());
        fs::create_dir_all(&folder)?;
        Ok(Self {
            folder,
            network: network_of(rustix::process::getuid().as_raw()),
            mounts: mounts_of("self").unwrap_or_default(),
        })
    }

    /// Finds `count` addresses with free ports and keeps them for the cluster in `owner`.
    ///
    /// `then` runs while other claims wait: it writes the cluster's state, without which a claim
    /// counts as left behind and is free again.
    ///
    /// # Errors
    /// The network is full, the folder cannot be written, or `then` fails.
    pub fn take<E: From<AddressError>>(
        &self,
        count: usize,
        owner: &Path,
        then: impl FnOnce(&Claimed) -> Result<(), E>,
    ) -> Result<Claimed, E> {
        self.take_many(count, &[owner.to_owned()], |claimed| then(&claimed[0]))
            .map(|mut claimed| claimed.remove(0))
    }

    /// As [`Self::take`], one address beside those of a cluster: with its ports.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_beside<E: From<AddressError>>(
        &self,
        ports: Ports,
        owner: &Path,
        then: impl FnOnce(Ipv4Addr) -> Result<(), E>,
    ) -> Result<(), E> {
        let _lock = self.lock().map_err(AddressError::from)?;
        let address = self.find_beside(ports)?;
        let file = self.file(address);
        self.write(address, owner).map_err(AddressError::from)?;
        then(address).inspect_err(|_| {
            let _already_gone = Claim::remove(&file);
        })
    }

    /// What [`Self::take_beside`] would find now, for a dry run: nothing is kept.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn look_beside(&self, ports: Ports) -> Result<Ipv4Addr, AddressError> {
        let _lock = self.lock()?;
        self.find_beside(ports)
    }

    /// As [`Self::take`] for several clusters at once, each with `each` addresses; all get the same ports.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_many<E: From<AddressError>>(
        &self,
        each: usize,
        owners: &[PathBuf],
        then: impl FnOnce(&[Claimed]) -> Result<(), E>,
    ) -> Result<Vec<Claimed>, E> {
        let _lock = self.lock().map_err(AddressError::from)?;
        let all = self.find(each * owners.len())?;
        let claimed = all.split(each);
        for (owner, claimed) in owners.iter().zip(&claimed) {
            for address in &claimed.addresses {
                self.write(*address, owner).map_err(AddressError::from)?;
            }
        }
        match then(&claimed) {
            Ok(()) => Ok(claimed),
            Err(error) => {
                for address in &all.addresses {
                    let _already_gone = Claim::remove(&self.file(*address));
                }
                Err(error)
            }
        }
    }

    /// What [`Self::take`] would find now, for a dry run: nothing is kept.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn look(&self, count: usize) -> Result<Claimed, AddressError> {
        let _lock = self.lock()?;
        self.find(count)
    }

    /// Gives back every address that this owner keeps, whatever its state still says.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn release(&self, owner: &Path) -> io::Result<()> {
        self.release_where(|kept_by| kept_by == owner)
    }

    /// Gives back the addresses of clusters below `root` that are gone: their removal was cut off.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn sweep(&self, root: &Path) -> io::Result<()> {
        // An owner's folder is made before its claims: one without a folder is no newcomer.
        self.release_where(|kept_by| kept_by.starts_with(root) && !kept_by.exists())
    }

    fn release_where(&self, given_back: impl Fn(&Path) -> bool) -> io::Result<()> {
        let _lock = self.lock()?;
        let elsewhere = self.elsewhere();
        for entry in fs::read_dir(&self.folder)? {
            let file = entry?.path();
            let Some(claim) = Claim::read(&file) else {
                continue;
            };
            // The same path there may be another cluster.
            if !elsewhere.contains(&claim.mounts) && given_back(&claim.owner) {
                Claim::remove(&file)?;
            }
        }
        Ok(())
    }

    /// Other mount namespaces in which a claim was made and a process lives: what lies there, this process may not see.
    fn elsewhere(&self) -> BTreeSet<String> {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let claims = entries(&self.folder).filter_map(|e| Claim::read(&e.path()));
        let mut others: BTreeSet<String> = claims.map(|claim| claim.mounts).collect();
        others.retain(|mounts| !mounts.is_empty() && *mounts != self.mounts);
        if others.is_empty() {
            return others;
        }
        let processes = entries(Path::new("/proc"));
        let alive: BTreeSet<String> = processes
            .filter_map(|e| mounts_of(&e.file_name().to_string_lossy()))
            .collect();
        others.retain(|mounts| alive.contains(mounts));
        others
    }

    fn write(&self, address: Ipv4Addr, owner: &Path) -> io::Result<()> {
        let claim = Claim {
            owner: owner.to_owned(),
            mounts: self.mounts.clone(),
        };
        claim.write(&self.file(address))
    }

    /// Proves that each port of each address can be bound now.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn prove_free(addresses: &[Ipv4Addr], ports: Ports) -> Result<(), AddressError> {
        for &address in addresses {
            for port in [ports.cql, ports.storage, ports.jmx] {
                TcpListener::bind((address, port))
                    .map_err(|_| AddressError::Taken { address, port })?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> io::Result<fs::File> {
        let file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("lock"))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn file(&self, address: Ipv4Addr) -> PathBuf {
        self.folder.join(address.to_string())
    }

    fn find(&self, count: usize) -> Result<Claimed, AddressError> {
        let unkept = self.unkept();
        for ports in Ports::candidates() {
            let addresses = free(&unkept, ports, count);
            if addresses.len() == count {
                return Ok(Claimed { addresses, ports });
            }
        }
        Err(self.full(count, &unkept))
    }

    fn find_beside(&self, ports: Ports) -> Result<Ipv4Addr, AddressError> {
        let unkept = self.unkept();
        let found = free(&unkept, ports, 1).pop();
        found.ok_or_else(|| self.full(1, &unkept))
    }

    /// The addresses that no cluster keeps.
    fn unkept(&self) -> Vec<Ipv4Addr> {
        let [a, b, c] = self.network;
        let all = (1..=LAST).map(|last| Ipv4Addr::new(a, b, c, last));
        let elsewhere = self.elsewhere();
        all.filter(|address| !self.is_kept(*address, &elsewhere))
            .collect()
    }

    fn full(&self, wanted: usize, unkept: &[Ipv4Addr]) -> AddressError {
        let [a, b, c] = self.network;
        AddressError::Full {
            wanted,
            network: format!("{a}.{b}.{c}"),
            kept: usize::from(LAST) - unkept.len(),
        }
    }

    /// Kept by a cluster that is still there, or may be where this process cannot look; any other claim is left behind.
    fn is_kept(&self, address: Ipv4Addr, elsewhere: &BTreeSet<String>) -> bool {
        let Some(claim) = Claim::read(&self.file(address)) else {
            return false;
        };
        if elsewhere.contains(&claim.mounts) {
            return true;
        }
        let state = claim.owner.join("cluster.json");
        fs::read_to_string(state).is_ok_and(|text| text.contains(&format!("\"{address}\"")))
    }
}

/// The mount namespace of a process, as the kernel names it; none where there is no such process, or it is not ours to
/// see.
fn mounts_of(process: &str) -> Option<String> {
    let link = fs::read_link(format!("/proc/{process}/ns/mnt")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// The first of these addresses on which the ports are free.
fn free(unkept: &[Ipv4Addr], ports: Ports, count: usize) -> Vec<Ipv4Addr> {
    let is_free = |address: &Ipv4Addr| Claims::prove_free(&[*address], ports).is_ok();
    unkept.iter().copied().filter(is_free).take(count).collect()
}

/// First three numbers of a user's network: never 127.0, where everybody else lives.
fn network_of(uid: u32) -> [u8; 3] {
    let [low, high, ..] = mix(u64::from(uid)).to_le_bytes();
    [127, 64 + low % 128, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claims in a network that no other test uses.
    fn claims(root: &Path, third: u8) -> Claims {
        let mut claims = Claims::open(root).unwrap();
        claims.network = [127, 63, third];
        claims
    }

    fn owner(root: &Path, name: &str) -> PathBuf {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn keep(folder: &Path, claimed: &Claimed) -> Result<(), AddressError> {
        let list: Vec<String> = claimed
            .addresses
            .iter()
            .map(|a| format!("\"{a}\""))
            .collect();
        fs::write(folder.join("cluster.json"), list.join(",")).map_err(AddressError::from)
    }

    #[test]
    fn two_clusters_get_different_addresses_and_a_removed_one_s_are_free_again() {
        let root = tempfile::tempdir().unwrap();
        let claims = claims(root.path(), 1);
        let (one, two) = (owner(root.path(), "one"), owner(root.path(), "two"));
        let a = claims.take(2, &one, |c| keep(&one, c)).unwrap();
        let b = claims.take(2, &two, |c| keep(&two, c)).unwrap();
        assert!(a.addresses.iter().all(|x| !b.addresses.contains(x)));
        claims.release(&one).unwrap();
        assert_eq!(claims.look(2).unwrap().addresses, a.addresses);
        // A claim whose cluster lost its state is left behind, hence free.
        fs::remove_file(two.join("cluster.json")).unwrap();
        assert_eq!(claims.look(4).unwrap().addresses.len(), 4);
        assert!(claims.look(4).unwrap().addresses.contains(&b.addresses[0]));
    }

    #[test]
    fn a_claim_of_another_mount_namespace_holds_as_long_as_somebody_lives_there() {
        let root = tempfile::tempdir().unwrap();
        let mut claims = claims(root.path(), 4);
        let unseen = root.path().join("unseen");
        // As if this process looked from elsewhere: the claim names the namespace in which it really lives.
        let own = std::mem::replace(&mut claims.mounts, "mnt:[1]".to_owned());
        let first = claims.look(1).unwrap().addresses[0];
        let claim = |mounts: &str| {
            let (owner, mounts) = (unseen.clone(), mounts.to_owned());
            Claim { owner, mounts }.write(&claims.file(first))
        };
        claim(&own).unwrap();
        assert_ne!(claims.look(1).unwrap().addresses[0], first);
        claims.release(&unseen).unwrap();
        claims.sweep(root.path()).unwrap();
        assert!(claims.file(first).exists(), "it is not ours to give back");
        for nobody in ["mnt:[2]", "mnt:[1]"] {
            claim(nobody).unwrap();
            assert_eq!(claims.look(1).unwrap().addresses[0], first, "{nobody}");
        }
        claims.sweep(root.path()).unwrap();
        assert!(!claims.file(first).exists());
    }

    #[test]
    fn a_taken_port_moves_the_cluster_to_another_address_or_port() {
        let root = tempfile::tempdir().unwrap();
        let claims = claims(root.path(), 2);
        let first = claims.look(1).unwrap();
        let _listener = TcpListener::bind((first.addresses[0], first.ports.cql)).unwrap();
        let second = claims.look(1).unwrap();
        assert_ne!(first, second);
        let error = Claims::prove_free(&first.addresses, first.ports).unwrap_err();
        assert!(matches!(error, AddressError::Taken { .. }));
    }

    #[test]
    fn a_failure_while_writing_the_state_keeps_nothing() {
        let root = tempfile::tempdir().unwrap();
        let claims = claims(root.path(), 3);
        let one = owner(root.path(), "one");
        let before = claims.look(1).unwrap();
        let failed: Result<_, AddressError> =
            claims.take(1, &one, |_| Err(io::Error::other("full").into()));
        assert!(failed.is_err());
        assert_eq!(claims.look(1).unwrap(), before);
    }
}
