//! Plans of the known machines as people read them, reviewed by hand against the guide.
//! Refuses a change of any line that nobody looked at.

use super::text;
use helenus_model::machine::{KNOWN, known, parse};
use helenus_model::release::Release;
use helenus_model::sizing::{Purpose, Sizing, Wish, plan};

#[test]
fn plans_of_the_known_machines() {
    for (name, _) in KNOWN {
        let machine = known(name).expect("known").expect("sound");
        let sizing = Sizing {
            machine: &machine,
            release: Release::newest(),
            purpose: Purpose::Throughput,
            wish: Wish::default(),
            instances: None,
        };
        insta::assert_snapshot!(*name, text(&plan(&sizing).expect("large enough")));
    }
}

#[test]
fn a_plan_with_data_for_latency_on_an_older_release() {
    let machine =
        parse("2 sockets x 32 cores, SMT, 4 NUMA nodes, 512 GB, 4 x 3.5 TB NVMe, 25 Gbit");
    let sizing = Sizing {
        machine: &machine.expect("described"),
        release: Release::find("4.1").expect("known"),
        purpose: Purpose::Latency,
        wish: Wish {
            rows: Some(600_000_000),
            rf: 3,
            machines: 3,
            rate_per_s: Some(200_000.0),
            p99: Some(std::time::Duration::from_millis(10)),
            ..Wish::default()
        },
        instances: None,
    };
    insta::assert_snapshot!("described", text(&plan(&sizing).expect("large enough")));
}
