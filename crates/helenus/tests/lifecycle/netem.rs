//! Distance that the kernel's netem holds: here where the kernel has it, else in a machine of QEMU's.
//! Refuses to say how exact a delay is: an emulated processor has no time to be exact in.

use super::distance::{Alone, at, delay, delays_are_held, plan};
use crate::lab::{HELENUS, PATIENCE, look, machine, not_run};
use helenus_cluster::net::client::{self, Keeper};
use helenus_cluster::net::control::Status;
use helenus_model::network::NetworkPlan;
use helenus_model::topology::link::LinkWords;
use helenus_model::topology::wan::Wan;
use rustix::thread::{
    CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_getcpu, sched_setaffinity,
};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd as _;
use std::path::Path;

/// Does it here where the kernel has netem, else in a machine of its own by the test of that name.
fn here_or_in_a_machine(test: &str, what: impl FnOnce()) {
    match client::try_out(Path::new(HELENUS), Wan::Netem) {
        Ok(_) => what(),
        Err(error) if machine::is_inside() => panic!("{error}"),
        Err(error) => match machine::run(test, &["sch_netem", "veth", "bridge"], 1) {
            Ok(end) => assert!(end.passed, "{}", end.console),
            Err(lacks) => not_run(&format!("netem: {error}, and {}", lacks.what), lacks.cure),
        },
    }
}

fn start() -> Alone {
    Alone::start(&NetworkPlan {
        wan: Wan::Netem,
        ..plan("1:1", "40ms")
    })
}

fn status(keeper: &Keeper) -> Status {
    keeper.status().expect("a status")
}

/// Datagrams that arrive of those that are sent for a second, and how many those were.
fn arrive(keeper: &Keeper) -> (u64, u64) {
    let crossed = keeper.datagrams(("DC1", "DC2"), 500, 1_000, 1);
    let crossed = crossed.expect("datagrams");
    (crossed.received, crossed.sent.unwrap_or(0))
}

#[test]
fn the_kernel_holds_what_crosses() {
    here_or_in_a_machine("netem::the_kernel_holds_what_crosses", || {
        let net = start();
        let keeper = net.keeper();
        let held = delays_are_held(&keeper);
        assert_eq!((held.wan, held.way.as_str()), (Wan::Netem, "netem"));
        look::wait_for("probes of both links", PATIENCE, || {
            let seen = status(&keeper).work.packets;
            (seen >= 10).then_some(()).ok_or(format!("{seen}"))
        });
    });
}

#[test]
fn the_kernel_loses_limits_and_cuts() {
    here_or_in_a_machine("netem::the_kernel_loses_limits_and_cuts", || {
        let net = start();
        let keeper = net.keeper();
        let words = |change: fn(&mut LinkWords)| {
            let mut words = delay(1_000);
            change(&mut words);
            at(words, &keeper);
        };
        let (received, sent) = arrive(&keeper);
        assert_eq!(received, sent);
        words(|w| w.loss_ppm = Some(500_000));
        // Of 500, half within seven standard deviations.
        let (received, sent) = arrive(&keeper);
        let share = received as f64 / sent as f64;
        assert!((0.34..0.66).contains(&share), "{received} of {sent}");
        assert!(status(&keeper).carried[0].lost > 100);
        words(|w| w.cut = Some(true));
        assert_eq!(arrive(&keeper).0, 0);
        words(|w| {
            (w.cut, w.loss_ppm) = (Some(false), Some(0));
            w.rate_bits = Some(8_000_000);
        });
        // A megabyte a second; a reader that was kept waiting may find as much more of it at once as waited meanwhile.
        let rate = || {
            let crossed = keeper.bulk(("DC1", "DC2"), 6).expect("bulk");
            crossed.bytes as f64 / crossed.seconds
        };
        let limited = rate();
        assert!(limited < 1.8e6, "{limited} B/s");
        words(|w| w.rate_bits = Some(0));
        let free = rate();
        assert!(free > 4e6, "{free} B/s");
        words(|w| w.jitter_us = Some(1_000));
        let (received, sent) = arrive(&keeper);
        assert_eq!(received, sent);
    });
}

/// Numbers that were sent, in the order in which they arrive on one connection's way while its delay becomes shorter.
#[test]
fn the_kernel_keeps_the_order_where_a_delay_becomes_shorter() {
    here_or_in_a_machine(
        "netem::the_kernel_keeps_the_order_where_a_delay_becomes_shorter",
        || {
            let net = start();
            let keeper = net.keeper();
            at(delay(400_000), &keeper);
            let plan = plan("1:1", "40ms");
            let there = plan.space("client-DC2").expect("a place").address;
            let receiver = within(&keeper, "client-DC2", move || {
                UdpSocket::bind((there, 0)).expect("a socket")
            });
            receiver
                .set_read_timeout(Some(PATIENCE))
                .expect("a time-out");
            let to = receiver.local_addr().expect("an address");
            let sender = within(&keeper, "client-DC1", || {
                UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a socket")
            });
            // Whoever moves to another processor between two sends may have them change places before they come to the link.
            let mut one = CpuSet::new();
            one.set(sched_getcpu());
            sched_setaffinity(None, &one).expect("one processor");
            let send = |numbers: std::ops::Range<u8>| {
                for number in numbers {
                    sender.send_to(&[number], to).expect("sent");
                }
            };
            send(0..50);
            at(delay(1_000), &keeper);
            send(50..100);
            let mut byte = [0];
            let mut next = || receiver.recv(&mut byte).map(|_| byte[0]).expect("a number");
            let arrived: Vec<u8> = (0..100).map(|_| next()).collect();
            assert_eq!(arrived, (0..100).collect::<Vec<u8>>());
        },
    );
}

/// Does something on a thread that stands in a namespace.
fn within<T: Send + 'static>(
    keeper: &Keeper,
    space: &str,
    what: impl FnOnce() -> T + Send + 'static,
) -> T {
    let to = keeper.namespaces(space).expect("a namespace").pop();
    let to = to.expect("a network");
    let inside = std::thread::spawn(move || {
        let network = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(to.as_fd(), network).expect("the namespace");
        what()
    });
    inside.join().expect("an end")
}
