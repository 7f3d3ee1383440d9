//! Addresses on an interface: added by `up`, by `node add` and after a boot, and gone with their cluster, whatever ended it.
//! Refuses to believe the words alone: the kernel is asked whether it takes a socket there.

use crate::lab::{TestLab, not_run};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

/// Of a network that no machine has: meant for documentation (RFC 5737).
fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(203, 0, 113, last)
}

/// Whether this machine has the address.
fn is_there(last: u8) -> bool {
    TcpListener::bind((address(last), 0)).is_ok()
}

/// Brings up a cluster at these addresses; says where this user may add none.
fn up(lab: &TestLab, words: &[&str]) -> bool {
    let said = lab.run(&[&["up", "c", "--interface", "lo", "--addresses"], words].concat());
    if said.code == "3" && said.err.contains("only root may add it") {
        not_run("addresses on an interface", "run as root");
        return false;
    }
    assert_eq!(said.code, "0", "{said}");
    assert!(said.err.contains("without a password"), "{said}");
    true
}

#[test]
fn addresses_of_an_interface_come_with_a_cluster_and_go_with_it() {
    let lab = TestLab::fake("ready");
    let refused = lab.run(&["up", "c", "--addresses", "203.0.113.20"]);
    assert_eq!(refused.code, "3", "{refused}");
    assert!(refused.err.contains("--interface NAME"), "{refused}");
    let unknown = lab.run(&[
        "up",
        "c",
        "--interface",
        "loo",
        "--addresses",
        "203.0.113.20",
    ]);
    assert!(
        unknown.err.contains("it has ") && unknown.err.contains("lo"),
        "{unknown}"
    );
    let too_near = [
        "up",
        "c",
        "-n",
        "3",
        "--interface",
        "lo",
        "--addresses",
        "203.0.113.253",
    ];
    let too_near = lab.run(&too_near);
    assert!(too_near.err.contains("name a lower one"), "{too_near}");
    if !up(&lab, &["203.0.113.20", "-n", "2"]) {
        return;
    }
    assert_eq!([20, 21, 22].map(is_there), [true, true, false]);
    lab.done(&["stop", "c"]);
    // As after a boot, which has ended one of them.
    let words = ["address", "del", "203.0.113.21/32", "dev", "lo"];
    let deleted = Command::new("ip").args(words).status();
    if !deleted.is_ok_and(|status| status.success()) {
        not_run("an address that is gone", "apt-get install iproute2");
    }
    lab.done(&["start", "c"]);
    assert!(is_there(21));
    let dry = lab.done(&["rm", "c", "--dry-run"]);
    assert!(
        dry.contains("address 203.0.113.21 of lo is removed"),
        "{dry}"
    );
    assert!(is_there(20));
    lab.done(&["rm", "c"]);
    assert_eq!([20, 21].map(is_there), [false, false]);
}

#[test]
fn an_address_that_was_there_and_one_that_another_cluster_needs_stay() {
    let lab = TestLab::fake("ready");
    if !up(&lab, &["203.0.113.30"]) {
        return;
    }
    // The first node is where the other cluster's is: it waits until that is stopped.
    let taken = [
        "up",
        "d",
        "--interface",
        "lo",
        "--addresses",
        "203.0.113.30",
        "-n",
        "2",
    ];
    let refused = lab.run(&taken);
    assert!(refused.err.contains("is taken"), "{refused}");
    lab.done(&["stop", "c"]);
    lab.done(&taken);
    lab.done(&["rm", "c"]);
    assert!(is_there(30), "d needs it");
    lab.done(&["rm", "d"]);
    assert_eq!([30, 31].map(is_there), [false, false]);
    // 127.0.0.0/8 is there without anybody's doing.
    let own = lab.done(&["up", "e", "--interface", "lo", "--addresses", "127.200.7.1"]);
    assert!(own.contains("127.200.7.1"), "{own}");
    assert!(!lab.done(&["rm", "e"]).contains("address"));
}
