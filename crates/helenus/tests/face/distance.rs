//! Topologies and links on the command line: what is shown of them, and what is refused.
//! Refuses a real network: what is asked here needs none.

use crate::lab::TestLab;

const FILE: &str = r#"
cassandra = "5.0"
links = "three-continents"

[[data_center]]
name = "us"
nodes = 3
racks = 3

[[data_center]]
name = "eu"
nodes = 2
coordinators = 1
set = { concurrent_reads = 8 }

[[link]]
from = "us"
to = "eu"
delay = "50ms"
loss = "0.1%"
rate = "1Gbit"
"#;

#[test]
fn a_file_is_checked_and_shown() {
    let lab = TestLab::new();
    lab.write("wan.toml", FILE);
    shot!(lab.run(&["topology", "check", "wan.toml"]), @"
    exit code: 0
    --- standard output
    us
      rack1  node1
      rack2  node2
      rack3  node3
    eu
      rack1  node4 node5
      coordinator-only  node6

    link     round trip  one way  jitter   loss         rate
    us > eu       93 ms    50 ms       -  0.1 %  1000 Mbit/s
    eu > us       93 ms    43 ms       -      -            -
    ");
    let shown = lab.json(&["topology", "show", "wan.toml"]);
    assert_eq!(shown["format"], "helenus.topology/1");
    assert_eq!(shown["data_centers"][1]["coordinators"][0], "node6");
}

#[test]
fn a_line_that_is_wrong_is_named() {
    let lab = TestLab::new();
    lab.write("wan.toml", &FILE.replace("racks = 3", "rcks = 3"));
    shot!(lab.run(&["topology", "check", "wan.toml"]), @"
    exit code: 2
    --- standard error
    error: wan.toml: line 8: unknown key rcks
    hint: did you mean racks?
    ");
    shot!(lab.run(&["up", "--topology", "wan.toml"]), @"
    exit code: 2
    --- standard error
    error: wan.toml: line 8: unknown key rcks
    hint: did you mean racks?
    ");
    lab.write(
        "wan.toml",
        &FILE.replace("concurrent_reads", "concurrent_reeds"),
    );
    shot!(lab.run(&["up", "--topology", "wan.toml", "--dry-run"]), @r#"
    exit code: 2
    --- standard error
    error: eu: cassandra.yaml has no key "concurrent_reeds"
    hint: did you mean concurrent_reads?
    "#);
}

#[test]
fn measured_distances_have_a_source() {
    shot!(TestLab::new().run(&["topology", "links"]), @"
    exit code: 0
    --- standard output
    links             DC1, DC2, DC3                    DC1-DC2  DC1-DC3  DC2-DC3
    one-building      Dallas 12, Dallas 12, Dallas 12  0.09 ms  0.09 ms  0.09 ms
    one-city          Dallas 10, Dallas 12, Dallas 13  1.41 ms  1.89 ms  1.47 ms
    one-continent     Frankfurt, London, Madrid          13 ms    29 ms    27 ms
    three-continents  Washington, Frankfurt, Tokyo       86 ms   139 ms   224 ms

    IBM Cloud VPC network latency dashboards, average round trips of 18 Oct to 16 Nov 2025
    ");
}

#[test]
fn a_dry_run_prints_the_distance_and_the_settings_of_each_node() {
    let lab = TestLab::fake("ready");
    lab.write("wan.toml", FILE);
    let printed = lab.done(&["up", "wan", "--topology", "wan.toml", "--dry-run"]);
    assert!(
        printed.contains("us > eu       93 ms    50 ms       -  0.1 %  1000 Mbit/s"),
        "{printed}"
    );
    let plan = lab.json(&["up", "wan", "--topology", "wan.toml", "--dry-run"]);
    let nodes = plan["nodes"].as_array().expect("nodes");
    let yaml = |k: usize| nodes[k]["yaml"].as_str().expect("yaml").to_owned();
    assert!(yaml(3).contains("concurrent_reads: 8\n"));
    assert!(!yaml(0).contains("concurrent_reads: 8\n"));
    let jvm = nodes[5]["jvm"].to_string();
    assert!(jvm.contains("-Dcassandra.join_ring=false"), "{jvm}");
    assert!(nodes[5]["tokens"].as_array().is_some_and(Vec::is_empty));
    // Itself, and two of each data centre that own data.
    let seeds = yaml(5)
        .lines()
        .find(|l| l.contains("seeds:"))
        .and_then(|l| Some(l.split('"').nth(1)?.split(',').count()));
    assert_eq!(seeds, Some(5));
}

#[test]
fn presets_may_be_a_data_centre_s_or_a_node_s() {
    let lab = TestLab::fake("ready");
    let lines = "preset = \"dev\"\n  [[data_center.node]]\n  node = 1\n  preset = \"doc001\"\n";
    let file = FILE.replace("coordinators = 1\n", &format!("coordinators = 1\n{lines}"));
    // Keys of the whole data centre stand before its nodes.
    let file = file.replace("set = { concurrent_reads = 8 }\n", "");
    lab.write("wan.toml", &file);
    let shown = lab.done(&["topology", "check", "wan.toml"]);
    let eu = shown.split_once("eu\n").map_or("", |(_, eu)| eu);
    let eu = eu.split_once("\n\n").map_or("", |(eu, _)| eu);
    shot!(eu, @"
      rack1  node4 node5
      coordinator-only  node6
      preset dev  node5 node6
      preset doc001  node4
    ");
    let plan = lab.json(&["up", "wan", "--topology", "wan.toml", "--dry-run"]);
    let nodes = plan["nodes"].as_array().expect("nodes");
    let presets: Vec<_> = nodes.iter().map(|n| n["own"]["preset"].as_str()).collect();
    let of_us = [None; 3];
    let of_eu = [Some("doc001"), Some("dev"), Some("dev")];
    assert_eq!(presets, [of_us, of_eu].concat(), "{plan:#}");
    let heap = |k: usize| nodes[k]["jvm"][1].as_str().expect("a heap");
    assert_eq!([heap(0), heap(5)], ["-Xmx64M", "-Xmx500M"]);
    let text = lab.done(&["up", "wan", "--topology", "wan.toml", "--dry-run"]);
    assert!(
        text.contains("  eu rack1  preset dev, heap 500 MiB\n"),
        "{text}"
    );
    assert!(text.contains("memory of node5: "), "{text}");
    lab.write("wan.toml", &file.replace("\"doc001\"", "\"doc01\""));
    shot!(lab.run(&["up", "--topology", "wan.toml", "--dry-run"]), @"
    exit code: 2
    --- standard error
    error: eu: no such preset: doc01
    hint: did you mean doc001?
    ");
    lab.write(
        "wan.toml",
        &file.replace("racks = 3", "cassandra = \"4.1\""),
    );
    shot!(lab.run(&["up", "--topology", "wan.toml", "--dry-run"]), @r#"
    exit code: 2
    --- standard error
    error: wan.toml: line 8: all nodes of a cluster have one release
    hint: write cassandra = "RELEASE" at the top of the file
    "#);
}

#[test]
fn a_client_stands_in_a_data_centre_that_is_there() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "1:1"]);
    let words = ["bench", "--cluster", "c", "--dry-run", "--client-dc"];
    let printed = lab.done(&[&words[..], &["DC2"]].concat());
    assert!(
        printed.contains("\nclient: in data centre DC2\n"),
        "{printed}"
    );
    shot!(lab.run(&[&words[..], &["DC3"]].concat()), @r#"
    exit code: 2
    --- standard error
    error: the cluster has no data centre "DC3"
    hint: did you mean DC2?
    "#);
    shot!(lab.run(&["bench", "--dry-run", "--client-dc", "DC1"]), @r#"
    exit code: 2
    --- standard error
    error: the cluster has no data centre "DC1"
    hint: known: datacenter1
    "#);
}

#[test]
fn distance_is_refused_where_it_cannot_be() {
    let lab = TestLab::fake("ready");
    shot!(lab.run(&["up", "c", "-n", "3", "--rtt", "80ms"]), @"
    exit code: 2
    --- standard error
    error: --rtt 80ms is a distance between data centres, and there is only one
    hint: add another, such as -n 3:3 --rtt 80ms, or --dc DC1=3 --dc DC2=3
    ");
    shot!(lab.run(&["up", "c", "-n", "3:3", "--rtt", "DC1:DC4=80ms"]), @"
    exit code: 2
    --- standard error
    error: no such data centre: DC4
    hint: did you mean DC2?
    ");
    shot!(lab.run(&["up", "c", "-n", "3:x"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '3:x' for '--nodes <N>': "x": invalid digit found in string; write 3, or 5:5:5 for three data centres

    For more information, try '--help'.
    "#);
    shot!(lab.run(&["up", "c", "-n", "1:1:1:1", "--links", "one-city"]), @"
    exit code: 2
    --- standard error
    error: the links one-city connect three places, and there are 4 data centres
    hint: give each pair its --rtt, or write the links to a file
    ");
    shot!(lab.run(&["bench", "-n", "3", "--rtt", "80ms"]), @"
    exit code: 2
    --- standard error
    error: --rtt 80ms is a distance between data centres, and there is only one
    hint: add another, such as -n 3:3 --rtt 80ms, or --dc DC1=3 --dc DC2=3
    ");
    shot!(lab.run(&["bench", "--hosts", "127.0.0.9", "--rtt", "80ms"]), @"
    exit code: 2
    --- standard error
    error: links can be set only in your own clusters
    hint: name it with --cluster, or leave --rtt out
    ");
    shot!(lab.run(&["up", "c", "--dc", "DC1"]), @r#"
    exit code: 2
    --- standard error
    error: --dc "DC1" is not understood
    hint: it looks like --dc DC1=5
    "#);
    lab.done(&["up", "c"]);
    shot!(lab.run(&["run", "kv", "--cluster", "c", "--rtt", "80ms"]), @"
    exit code: 2
    --- standard error
    error: the cluster runs on loopback, which has no distance to set
    hint: bring one up with links: helenus up wan -n 3:3 --rtt 40ms
    ");
    shot!(lab.run(&["link", "c"]), @"
    exit code: 2
    --- standard error
    error: cluster c has no links: it is on loopback
    hint: bring one up with distance: helenus up wan -n 3:3 --rtt 40ms
    ");
    shot!(lab.run(&["exec", "c/DC2", "--", "true"]), @"
    exit code: 2
    --- standard error
    error: cluster c has no data centre and no node named DC2
    hint: known: datacenter1, node1
    ");
    assert_eq!(
        lab.done(&["exec", "c", "--", "printenv", "HELENUS_CLUSTER"]),
        "c\n"
    );
    shot!(lab.run(&["exec", "c", "--", "no-such-program"]), @"
    exit code: 2
    --- standard error
    error: no-such-program: No such file or directory (os error 2)
    ");
}
