//! Clusters whose data centres are apart: the network made, changed while it works, gone with whoever held it.
//! Refuses to say how exact a delay is: that is `cargo xtask prove wan`.

use crate::lab::{HELENUS, PATIENCE, TestLab, look, not_run};
use helenus_cluster::alive;
use helenus_cluster::error::Problem as _;
use helenus_cluster::net::client::{self, Keeper, NetError};
use helenus_cluster::net::control::Status;
use helenus_cluster::net::echo::Echo;
use helenus_cluster::net::folder_of;
use helenus_model::network::NetworkPlan;
use helenus_model::pace::Pace;
use helenus_model::topology::flags::TopologyFlags;
use helenus_model::topology::link::LinkWords;
use helenus_model::topology::wan::Wan;
use std::collections::BTreeSet;
use std::path::Path;

const WAN: [&str; 8] = [
    "up",
    "wan",
    "-n",
    "2:1:1",
    "--rtt",
    "30ms",
    "--rtt",
    "DC1:DC3=60ms",
];

/// Whether this machine lets the tests make networks; a line says where it does not.
pub(crate) fn networks() -> bool {
    match client::try_out(Path::new(HELENUS), Wan::Queue) {
        Ok(_) => true,
        Err(error) => {
            let cure = error.hint().unwrap_or_default();
            not_run(&format!("networks with distance: {error}"), &cure);
            false
        }
    }
}

pub(crate) fn plan(nodes: &str, rtt: &str) -> NetworkPlan {
    let flags = TopologyFlags {
        nodes: Some(nodes.into()),
        rtt: vec![rtt.into()],
        ..TopologyFlags::default()
    };
    let topology = flags.topology().expect("a topology");
    NetworkPlan::of(&topology, "lab")
        .expect("a plan")
        .expect("a network")
}

/// A network without a cluster; it ends with the test.
pub(crate) struct Alone {
    folder: tempfile::TempDir,
}

impl Alone {
    pub(crate) fn start(plan: &NetworkPlan) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        client::start(folder.path(), plan, Path::new(HELENUS), true).expect("a network");
        Self { folder }
    }

    pub(crate) fn keeper(&self) -> Keeper {
        Keeper::call(self.folder.path()).expect("a keeper")
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        client::end(self.folder.path()).expect("the end of the keeper");
    }
}

/// Network namespaces that any process is in.
fn namespaces() -> BTreeSet<String> {
    let all = fs_err::read_dir("/proc").expect("/proc").flatten();
    let of = |entry: fs_err::DirEntry| fs_err::read_link(entry.path().join("ns/net")).ok();
    all.filter_map(of)
        .map(|link| link.to_string_lossy().into_owned())
        .collect()
}

pub(crate) fn delay(us: u64) -> LinkWords {
    LinkWords {
        delay_us: Some(us),
        ..LinkWords::default()
    }
}

pub(crate) fn at(words: LinkWords, keeper: &Keeper) {
    keeper.change(None, None, words).expect("a change");
}

/// Whoever holds what crosses two data centres that are 40 ms apart holds it, also when the delay changes; its status then.
pub(crate) fn delays_are_held(keeper: &Keeper) -> Status {
    let echo = |samples| keeper.echo("DC1", "DC2", samples).expect("an echo");
    // No packet leaves earlier than its pace permits, in either direction; how much later is a campaign's to say.
    let held = |echo: Echo, one_way_us: u64| {
        #[expect(clippy::cast_precision_loss, reason = "less than a second")]
        let least_us = echo.asked_us as f64 - Pace::of(Some(one_way_us * 1_000)).early_us();
        assert!(echo.min_us >= least_us, "{echo:?}");
    };
    held(echo(5), 20_000);
    at(delay(100_000), keeper);
    held(echo(2), 100_000);
    keeper
        .change(Some("DC1"), Some("DC2"), delay(0))
        .expect("a change");
    let one_way = echo(2);
    assert_eq!(one_way.asked_us, 100_000);
    held(one_way, 0);
    let status = keeper.status().expect("a status");
    assert!(status.carried.iter().all(|c| c.packets > 0 && c.lost == 0));
    status
}

#[test]
fn distance_is_held_and_changes_while_it_works() {
    if !networks() {
        return;
    }
    let net = Alone::start(&plan("1:1", "40ms"));
    let status = delays_are_held(&net.keeper());
    assert_eq!(status.work.overrun, 0);
    assert_eq!(status.settings["tcp_rmem"], "4096 131072 33554432");
}

#[test]
fn what_was_borrowed_comes_back_with_the_end_of_whoever_borrowed_it() {
    if !networks() {
        return;
    }
    let net = Alone::start(&plan("1:1", "40ms"));
    let keeper = net.keeper();
    let delays = || -> Vec<u64> {
        let links = keeper.status().expect("a status").links;
        links.iter().map(|l| l.link.delay_us).collect()
    };
    for by_word in [true, false] {
        let borrower = net.keeper();
        borrower.borrow_links().expect("links");
        at(delay(1_000), &borrower);
        assert_eq!(delays(), [1_000, 1_000]);
        if by_word {
            borrower.give_back().expect("an answer");
            assert_eq!(delays(), [20_000, 20_000]);
        }
        drop(borrower);
        look::wait_for("the links", PATIENCE, || match delays() {
            all if all == [20_000, 20_000] => Ok(()),
            all => Err(format!("{all:?}")),
        });
    }
    // What others change stays.
    at(delay(5_000), &keeper);
    assert_eq!(delays(), [5_000, 5_000]);
}

#[test]
fn what_is_lost_is_counted_and_what_is_cut_arrives_nowhere() {
    if !networks() {
        return;
    }
    let net = Alone::start(&plan("1:1", "2ms"));
    let keeper = net.keeper();
    let between = ("DC1", "DC2");
    let all = keeper.datagrams(between, 1000, 200, 1).expect("datagrams");
    assert_eq!(Some(all.received), all.sent);
    at(
        LinkWords {
            loss_ppm: Some(200_000),
            ..LinkWords::default()
        },
        &keeper,
    );
    let some = keeper.datagrams(between, 1000, 200, 1).expect("datagrams");
    let sent = some.sent.expect("a count");
    let lost = keeper.status().expect("a status").carried[0].lost;
    assert_eq!(some.received + lost, sent, "what is lost is counted");
    // A fifth, within seven standard deviations of a thousand.
    assert!((sent / 9..=sent / 3).contains(&lost), "{lost} of {sent}");
    at(
        LinkWords {
            loss_ppm: Some(0),
            cut: Some(true),
            ..LinkWords::default()
        },
        &keeper,
    );
    assert_eq!(
        keeper
            .datagrams(between, 100, 200, 1)
            .expect("datagrams")
            .received,
        0
    );
    at(
        LinkWords {
            cut: Some(false),
            jitter_us: Some(1_000),
            ..LinkWords::default()
        },
        &keeper,
    );
    let again = keeper.datagrams(between, 1000, 200, 1).expect("datagrams");
    assert_eq!(Some(again.received), again.sent);
}

#[test]
fn a_rate_is_kept_and_bulk_arrives_whole() {
    if !networks() {
        return;
    }
    let net = Alone::start(&plan("1:1", "4ms"));
    let keeper = net.keeper();
    let free = keeper.bulk(("DC1", "DC2"), 2).expect("bulk");
    assert!(free.bytes > 0);
    at(
        LinkWords {
            rate_bits: Some(8_000_000),
            ..LinkWords::default()
        },
        &keeper,
    );
    let held = keeper.bulk(("DC1", "DC2"), 4).expect("bulk");
    let rate = held.bytes as f64 / held.seconds.max(1e-9);
    // A megabyte a second on the wire, headers included; what is read at once may stand at either end.
    assert!(rate < 1_300_000.0, "{rate}");
    assert!(held.bytes > 100_000);
}

#[test]
fn nothing_is_left_when_the_keeper_is_killed() {
    if !networks() {
        return;
    }
    let net = Alone::start(&plan("2:2", "1ms"));
    let pid = alive::holder(&folder_of(net.folder.path()))
        .expect("the claim")
        .expect("a keeper");
    // Other tests make networks, too: of all namespaces only the one that this keeper stands in is looked for.
    let router = fs_err::read_link(format!("/proc/{}/ns/net", pid.as_raw_pid()));
    let router = router.expect("a namespace").to_string_lossy().into_owned();
    let own = fs_err::read_link("/proc/self/ns/net").expect("a namespace");
    assert_ne!(router, own.to_string_lossy());
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a signal");
    look::wait_for("the end of its namespace", PATIENCE, || {
        if namespaces().contains(&router) {
            Err(router.clone())
        } else {
            Ok(())
        }
    });
    // Its socket and its claim end a moment apart.
    look::wait_for(
        "a keeper that is reported as gone",
        PATIENCE,
        || match Keeper::call(net.folder.path()) {
            Err(NetError::Gone { .. }) => Ok(()),
            other => Err(format!("{other:?}")),
        },
    );
}

#[test]
fn a_cluster_lives_in_its_network_and_leaves_nothing() {
    if !networks() {
        return;
    }
    let lab = TestLab::fake("ready");
    lab.done(&WAN);
    assert_eq!(lab.states("wan").0, "running");
    let links = lab.json(&["link", "wan", "--measure", "3"]);
    assert_eq!(links["format"], "helenus.links/1");
    let trips = links["round_trips"].as_array().expect("round trips");
    let asked: Vec<u64> = trips
        .iter()
        .filter_map(|t| t["asked_us"].as_u64())
        .collect();
    assert_eq!(asked, [30_000, 60_000, 30_000]);
    let inside = lab.done(&["exec", "wan/DC2", "--", "cat", "/proc/self/net/fib_trie"]);
    assert!(inside.contains(".2.253"), "{inside}");
    let at_node = lab.done(&["exec", "wan/node4", "--", "readlink", "/proc/self/ns/net"]);
    let here = fs_err::read_link("/proc/self/ns/net").expect("our own");
    assert_ne!(at_node.trim(), here.to_string_lossy());
    lab.done(&["stop", "wan/node2"]);
    assert_eq!(lab.states("wan").0, "partly");
    lab.done(&["start", "wan/node2"]);
    lab.done(&["stop", "wan"]);
    // The network ends with its last node.
    assert!(lab.processes().is_empty(), "{:?}", lab.processes());
    lab.done(&["start", "wan"]);
    assert_eq!(lab.states("wan").0, "running");
}

#[test]
fn links_that_were_set_for_a_run_are_put_back_even_where_it_fails() {
    if !networks() {
        return;
    }
    let lab = TestLab::fake("ready");
    lab.done(&WAN);
    let links = || lab.json(&["link", "wan"])["network"]["links"].clone();
    let before = links();
    // A stand-in that is ready and nothing more takes no workload.
    let run = [
        "run",
        "standard1",
        "--ops",
        "write=1",
        "--cluster",
        "wan",
        "--duration",
        "1s",
    ];
    let said = lab.run(&[&run[..], &["--rtt", "10ms", "--rtt", "DC1:DC2=4ms"]].concat());
    assert_eq!(said.code, "3", "{said}");
    assert_eq!(links(), before);
    let unknown = lab.run(&[&run[..], &["--rtt", "DC1:DC4=4ms"]].concat());
    assert_eq!(unknown.code, "2", "{unknown}");
    assert!(
        unknown.err.contains("no such data centre: DC4"),
        "{unknown}"
    );
    assert_eq!(links(), before);
}

#[test]
fn a_network_that_is_gone_is_reported_and_made_anew() {
    if !networks() {
        return;
    }
    let lab = TestLab::fake("ready");
    lab.done(&WAN);
    let keeper = alive::holder(&folder_of(&lab.cluster("wan")))
        .expect("the claim")
        .expect("a keeper");
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).expect("a signal");
    look::wait_for("the keeper's end", PATIENCE, || {
        match lab.states("wan").0.as_str() {
            "degraded" => Ok(()),
            other => Err(other.to_owned()),
        }
    });
    shot_live!(lab.run(&["link", "wan"]), @"
    exit code: 3
    --- standard error
    error: the network of cluster wan is gone: its keeper is not running
    hint: `helenus start wan` creates it again and starts the nodes in it
    ");
    let exec = lab.run(&["exec", "wan", "--", "true"]);
    assert_eq!(exec.code, "3", "{exec}");
    assert!(
        exec.err.contains("is gone: its keeper is not running"),
        "{exec}"
    );
    let before = lab.node_pids();
    let started = lab.run(&["start", "wan"]);
    assert!(
        started.err.contains("the cluster's network was gone"),
        "{started}"
    );
    assert_eq!(lab.states("wan").0, "running");
    assert!(lab.node_pids().iter().all(|pid| !before.contains(pid)));
}

#[test]
fn where_namespaces_are_forbidden_one_error_names_the_setting() {
    let Some(unshare) = ["/usr/bin/unshare", "/bin/unshare"]
        .into_iter()
        .find(|path| Path::new(path).exists())
    else {
        return not_run("a user without namespaces", "install util-linux");
    };
    if !networks() {
        return;
    }
    let mut lab = TestLab::fake("ready");
    let runtime = lab.path("runtime");
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700)
        .create(&runtime)
        .expect("a folder of the lab");
    lab.set("XDG_RUNTIME_DIR", runtime);
    // A user that no user namespace knows may not make another one.
    let mut command = std::process::Command::new(unshare);
    command.args(["--user", HELENUS, "up", "wan", "-n", "1:1", "--rtt", "10ms"]);
    lab.dress(&mut command);
    let said = lab.begin_command(command).end();
    shot!(said, @r"
    exit code: 3
    --- standard error
    error: cannot create the cluster's network: cannot make a user namespace: Operation not permitted (os error 1)
    hint: set kernel.unprivileged_userns_clone=1 (Debian), kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) and user.max_user_namespaces above 0, or run as root
    ");
    assert!(!lab.cluster("wan").exists());
}

#[test]
fn kill_9_of_everything_in_ten_moments_and_rm_leaves_nothing() {
    if !networks() {
        return;
    }
    let begin = std::time::Instant::now();
    TestLab::fake("ready").done(&WAN);
    let length = begin.elapsed();
    for moment in 0..10 {
        let lab = TestLab::fake("ready");
        let mut up = lab.begin(&WAN);
        std::thread::sleep(length * moment / 10);
        if up.runs() {
            up.signal(rustix::process::Signal::KILL);
        }
        let _said = up.end();
        if let Ok(Some(keeper)) = alive::holder(&folder_of(&lab.cluster("wan"))) {
            let _gone = rustix::process::kill_process(keeper, rustix::process::Signal::KILL);
        }
        // What it left is looked for by the lab's own end.
        lab.leave();
    }
}
