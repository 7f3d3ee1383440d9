//! Makes a network: a user namespace where we are not root, a router, a namespace a node and client, links, rules.
//! Refuses to run in a process with more than one thread, and to name anything that would outlive it.

use super::netem;
use super::queue::Queues;
use super::route::{LOOPBACK, Links};
use super::rules::{self, Pair, Way};
use super::space::{bridge_name, enter};
use fs_err as fs;
use helenus_model::network::NetworkPlan;
use helenus_model::topology::wan::Wan;
use rustix::thread::UnshareFlags;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

/// Index of the first bridge in the router; lower ones are the kernel's own.
pub(super) const FIRST_BRIDGE: u32 = 10;

/// Index of the first node's link in the router.
pub(super) const FIRST_PAIR: u32 = 100;

/// Why a network cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make {what}")]
pub(super) struct BuildError {
    /// What was being made.
    pub(super) what: &'static str,
    /// What to do about it.
    pub(super) cure: &'static str,
    /// Why.
    pub(super) source: io::Error,
}

/// What holds packets that cross.
pub(super) enum Held {
    /// Queues, one a directed link in the plan's order, and how packets reach them.
    Queues(Queues, Way),
    /// The kernel.
    Netem,
}

/// A network that exists as long as this process.
pub(super) struct Network {
    /// The user namespace, where we are not root.
    pub(super) user: Option<OwnedFd>,
    /// By the spaces' names.
    pub(super) spaces: BTreeMap<String, OwnedFd>,
    /// What holds packets that cross.
    pub(super) held: Held,
    /// What the connections' own settings are, as they hold.
    pub(super) tcp: BTreeMap<&'static str, String>,
}

fn of(what: &'static str, cure: &'static str) -> impl Fn(io::Error) -> BuildError {
    move |source| BuildError {
        what,
        cure,
        // The kernel's number for a limit of namespaces that is reached has another meaning everywhere else.
        source: match source.raw_os_error() {
            Some(libc::ENOSPC) => io::Error::other("the kernel's limit is reached"),
            _ => source,
        },
    }
}

const WANT_USER: &str = "set kernel.unprivileged_userns_clone=1 (Debian), kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) and user.max_user_namespaces above 0, or run as root";
const WANT_NET: &str = "set user.max_net_namespaces above the number of nodes, and build the kernel with CONFIG_NET_NS";
const WANT_LINKS: &str = "the kernel needs CONFIG_VETH and CONFIG_BRIDGE (modules veth and bridge)";
const WANT_QUEUES: &str =
    "the kernel needs CONFIG_NETFILTER_NETLINK_QUEUE (module nfnetlink_queue)";
const WANT_NETEM: &str = "the kernel needs CONFIG_NET_SCH_NETEM and CONFIG_IP_MULTIPLE_TABLES (module sch_netem); leave --wan out: packets are then held without it";
const WANT_RULES: &str = "the kernel needs CONFIG_NF_TABLES with CONFIG_NFT_QUEUE, or CONFIG_NFT_COMPAT and CONFIG_NETFILTER_XT_TARGET_NFQUEUE (modules nft_queue, or nft_compat and xt_NFQUEUE)";

/// Makes the network of a plan; this thread stands in the router afterwards.
pub(super) fn build(plan: &NetworkPlan) -> Result<Network, BuildError> {
    let user = become_root_of_our_own()?;
    let net = of("a network namespace", WANT_NET);
    let mut spaces = BTreeMap::new();
    for space in &plan.spaces {
        spaces.insert(space.name.clone(), fresh_space().map_err(&net)?);
    }
    let router = fresh_space().map_err(&net)?;
    quiet().map_err(of("the router's settings", WANT_NET))?;
    let links = of("bridges and links", WANT_LINKS);
    wire_router(plan, &spaces).map_err(&links)?;
    let mut tcp = BTreeMap::new();
    for space in &plan.spaces {
        enter(&spaces[&space.name]).map_err(&net)?;
        tcp = wire_space(plan, space).map_err(&links)?;
    }
    enter(&router).map_err(&net)?;
    let held = match plan.wan {
        Wan::Queue => {
            let count = u16::try_from(plan.links.len()).unwrap_or(u16::MAX);
            let queues = Queues::open(count).map_err(of("packet queues", WANT_QUEUES))?;
            let way = rules::write(&pairs(plan)).map_err(of("the router's rules", WANT_RULES))?;
            Held::Queues(queues, way)
        }
        Wan::Netem => {
            netem::build(plan).map_err(of("links that netem holds", WANT_NETEM))?;
            Held::Netem
        }
    };
    Ok(Network {
        user,
        spaces,
        held,
        tcp,
    })
}

/// As root nothing is wanted; an ordinary user becomes root of a user namespace, in which networks can be made.
fn become_root_of_our_own() -> Result<Option<OwnedFd>, BuildError> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() && may_make_networks() {
        return Ok(None);
    }
    let wanted = of("a user namespace", WANT_USER);
    let make = || -> io::Result<OwnedFd> {
        unshare(UnshareFlags::NEWUSER)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
        fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))?;
        Ok(fs::File::open("/proc/self/ns/user")?.into_parts().0.into())
    };
    make().map(Some).map_err(wanted)
}

/// Root in a container often may not.
fn may_make_networks() -> bool {
    let admin = rustix::thread::CapabilitySet::SYS_ADMIN | rustix::thread::CapabilitySet::NET_ADMIN;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(admin))
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: new user and network namespaces take nothing from this thread that Rust's library relies on; it is the
    // sharing of file descriptors that would.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// A new network namespace, in which this thread then is.
fn fresh_space() -> io::Result<OwnedFd> {
    unshare(UnshareFlags::NEWNET)?;
    Ok(fs::File::open("/proc/thread-self/ns/net")?
        .into_parts()
        .0
        .into())
}

fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/net/{key}"), value)
}

/// No IPv6, whose own talk would cross links. A kernel without it has no such setting.
fn quiet() -> io::Result<()> {
    for which in ["default", "all"] {
        let _no_ipv6 = set(&format!("ipv6/conf/{which}/disable_ipv6"), "1");
    }
    Ok(())
}

fn wire_router(plan: &NetworkPlan, spaces: &BTreeMap<String, OwnedFd>) -> io::Result<()> {
    set("ipv4/ip_forward", "1")?;
    if plan.wan == Wan::Netem {
        // What crosses comes in again by a link that leads nowhere else; links that are made from here on take it over.
        for which in ["default", "all"] {
            set(&format!("ipv4/conf/{which}/rp_filter"), "0")?;
        }
    }
    let links = Links::open()?;
    links.up(LOOPBACK)?;
    for ((bridge, site), number) in (FIRST_BRIDGE..).zip(&plan.sites).zip(0..) {
        links.bridge(bridge, &bridge_name(number))?;
        links.address(bridge, site.gateway)?;
    }
    // What stays within a data centre never reaches the rules; a kernel that knows no such filter lacks the setting.
    let _none = set("bridge/bridge-nf-call-iptables", "0");
    for (index, space) in (FIRST_PAIR..).zip(&plan.spaces) {
        let bridge = FIRST_BRIDGE + u32::try_from(space.data_center).unwrap_or(0);
        let other = spaces[&space.name].as_fd();
        links.pair(
            index,
            &format!("n{}", index - FIRST_PAIR + 1),
            bridge,
            other,
        )?;
    }
    Ok(())
}

/// Settings of TCP that bulk over a long round trip needs; each is read back, for the kernel may know better.
fn wire_space(
    plan: &NetworkPlan,
    space: &helenus_model::network::Space,
) -> io::Result<BTreeMap<&'static str, String>> {
    quiet()?;
    let most = plan.tcp_buffer_bytes;
    let wanted = [
        ("tcp_rmem", format!("4096 131072 {most}")),
        ("tcp_wmem", format!("4096 65536 {most}")),
        // What Cassandra's hosts run, as it is Linux's own default.
        ("tcp_congestion_control", "cubic".to_owned()),
        // A measurement is not to begin with what the last one learned.
        ("tcp_no_metrics_save", "1".to_owned()),
    ];
    let mut holds = BTreeMap::new();
    for (key, value) in wanted {
        let _as_the_kernel_has_it = set(&format!("ipv4/{key}"), &value);
        let read = fs::read_to_string(format!("/proc/sys/net/ipv4/{key}")).unwrap_or_default();
        holds.insert(key, read.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    holds.insert("link_queue", super::route::LINK_QUEUE.to_string());
    let held = match plan.wan {
        Wan::Queue => super::queue::QUEUE_LENGTH,
        Wan::Netem => netem::LIMIT,
    };
    holds.insert("packet_queue", held.to_string());
    let links = Links::open()?;
    links.up(LOOPBACK)?;
    links.address(2, space.address)?;
    links.up(2)?;
    links.beyond(2, plan.sites[space.data_center].gateway)?;
    Ok(holds)
}

fn pairs(plan: &NetworkPlan) -> Vec<Pair> {
    let bridge = |site: usize| FIRST_BRIDGE + u32::try_from(site).unwrap_or(0);
    let ends = (0_u16..).zip(plan.links.iter().filter_map(|link| plan.ends(link)));
    ends.map(|(queue, (from, to))| Pair {
        from: bridge(from),
        to: bridge(to),
        queue,
    })
    .collect()
}
