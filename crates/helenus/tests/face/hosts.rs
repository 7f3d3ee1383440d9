//! `hosts`: files that are written, what is refused, and what becomes of a playbook, by the events of an
//! Ansible whose output a test sets. The real one, on six hosts, is `cargo xtask prove hosts`.

use crate::lab::TestLab;
use helenus_cluster::hosts::HostsClusters;
use std::process::Command;

/// Answers with the lines of a file, and remembers its words.
const ANSIBLE: &str = r#"#!/bin/sh
case "$1" in --version) echo "ansible-playbook [core 2.19.4]"; exit 0 ;; esac
lab=$(dirname "$0")/..
echo "$*" >> "$lab/words"
cat "$lab/says"
[ ! -f "$lab/fails" ]
"#;

const OK: &str = r#"{"event": "play", "name": "Remove the cluster"}
{"event": "task", "name": "Stop"}
{"event": "ok", "host": "demo-1", "task": "Stop", "changed": true, "rc": 0}
{"event": "stats", "hosts": {"demo-1": {"ok": 2, "changed": 1, "failures": 0, "unreachable": 0, "skipped": 0, "rescued": 0, "ignored": 0}}}
"#;

const DOWN: &str = r#"{"event": "unreachable", "host": "demo-1", "task": "Gathering Facts", "changed": false, "rc": null, "msg": "Failed to connect to the host via ssh: ssh: connect to host 192.0.2.11 port 22: No route to host"}
{"event": "stats", "hosts": {"demo-1": {"ok": 0, "changed": 0, "failures": 0, "unreachable": 1, "skipped": 0, "rescued": 0, "ignored": 0}}}
"#;

const THREE: [&str; 6] = ["-n", "3", "--name", "demo", "--hosts", "192.0.2.11-13"];

fn lab() -> TestLab {
    let mut lab = TestLab::new();
    lab.program("bin/ansible-playbook", ANSIBLE);
    let path = std::env::var("PATH").unwrap_or_default();
    lab.set("PATH", format!("{}:{path}", lab.path("bin").display()));
    lab
}

/// A cluster of one node that was brought up before.
fn known(lab: &TestLab) {
    let words = [
        "hosts",
        "render",
        "-n1",
        "--name",
        "demo",
        "--hosts",
        "192.0.2.11",
        "--format",
        "json",
    ];
    assert!(lab.done(&words).contains("helenus.hosts-plan/1"));
    let plan = lab.json(&["up", "demo", "--dry-run"]);
    let mut plan = plan.as_object().expect("a plan").clone();
    plan.remove("answer");
    let state = serde_json::json!({
        "format": "helenus.hosts-state/1",
        "plan": plan,
        "options": {
            "form": "ansible", "id": "0123456789ab", "hosts": [{"name": "demo-1", "addresses": ["192.0.2.11"]}],
            "login": {"user": null, "key": null, "port": null}, "machine": true, "memory_limit": null,
            "image": "localhost/helenus-cassandra:5.0.9", "network": "overlay", "provider": "proxmox",
            "cpus": 4, "memory": 8_589_934_592_u64, "disk": 34_359_738_368_u64,
        },
    });
    lab.write("home/state/hosts/demo.json", &state.to_string());
}

#[test]
fn a_rendering_is_the_same_twice_and_leaves_other_files_alone() {
    let lab = TestLab::new();
    let to = lab.path("demo").display().to_string();
    let words = [&["hosts", "render"][..], &THREE, &["-o", &to]].concat();
    let first = lab.done(&words);
    assert!(first.contains("roles/cassandra/"), "{first}");
    assert_eq!(lab.done(&words), first);
    lab.write("demo/mine.yml", "");
    shot!(lab.run(&words), @"
    exit code: 2
    --- standard error
    caution: no password is asked of clients: let only trusted networks reach these hosts, or add --auth
    error: [LAB]/demo has mine.yml, which is not part of this rendering
    hint: remove it, or name another folder
    ");
}

#[test]
fn hosts_and_nodes_must_match() {
    let lab = TestLab::new();
    shot!(lab.run(&["hosts", "render", "-n", "3"]), @"
    exit code: 2
    --- standard error
    error: ansible needs the hosts of the cluster
    hint: add --hosts with one address for each of the 3 nodes, such as --hosts 10.0.0.11-13
    ");
    shot!(lab.run(&["hosts", "render", "-n", "3", "--hosts", "192.0.2.1"]), @"
    exit code: 2
    --- standard error
    error: the cluster has 3 nodes; addresses in the list of hosts: 1
    hint: give each node an address: a host that carries two has two, as big=10.0.0.11+10.0.0.12
    ");
    shot!(lab.run(&["hosts", "render", "-n", "3", "--hosts", "db=192.0.2.x"]), @r#"
    exit code: 2
    --- standard error
    error: "192.0.2.x" is neither an IPv4 address nor a range such as 10.0.0.11-16
    hint: for example 10.0.0.11-16, or db1=10.0.0.11,db2=10.0.0.12, or big=10.0.0.11+10.0.0.12 for two nodes on one host
    "#);
    shot!(lab.run(&["hosts", "render", "-n", "3", "--as", "swarm", "--hosts", "192.0.2.1-3"]), @"
    exit code: 2
    --- standard error
    error: swarm assigns nodes to hosts itself and takes no list of hosts
    hint: leave --hosts out; --network host puts one node on each host
    ");
    shot!(lab.run(&["run", "kv", "--on", "host:demo"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'host:demo' for '--on <kube:NAME|hosts:NAME>': "host:demo": write it as kube:NAME or hosts:NAME, such as kube:demo

    For more information, try '--help'.
    "#);
}

const INVENTORY: &str = "[cassandra:children]
east
west

[east]
db[1:2] rack=r1
db3 ansible_host=192.0.2.3

[west]
db4 ansible_host=192.0.2.4

[cassandra:vars]
ansible_user=ubuntu

[east:vars]
rack=r2
";

#[test]
fn an_inventory_of_others_has_the_nodes_and_their_hosts() {
    let lab = TestLab::new();
    let addressed = INVENTORY.replace("db[1:2] rack=r1", "db1 ansible_host=192.0.2.1 rack=r1");
    lab.write("shop.ini", &addressed);
    let plan = lab.json(&["hosts", "render", "--from", "shop.ini"]);
    let nodes = plan["nodes"].as_array().expect("nodes").iter();
    let nodes: Vec<String> = nodes
        .map(|node| {
            let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
            [
                text("name"),
                text("host"),
                text("address"),
                text("data_center"),
                text("rack"),
            ]
            .join(" ")
        })
        .collect();
    assert_eq!(
        nodes,
        [
            "shop-node1 db1 192.0.2.1 east r1",
            "shop-node2 db3 192.0.2.3 east r2",
            "shop-node3 db4 192.0.2.4 west rack1",
        ]
    );
    let inventory = plan["files"].as_array().into_iter().flatten();
    let mut inventory = inventory.filter(|file| file["path"] == "inventory.yml");
    let text = inventory.next().expect("an inventory")["text"].to_string();
    assert!(text.contains("ansible_user: ubuntu"), "{text}");
    lab.write("names.ini", INVENTORY);
    shot!(lab.run(&["hosts", "render", "--from", "names.ini"]), @r#"
    exit code: 2
    --- standard error
    error: the host name "db1" has no IPv4 address here
    hint: write its address: db1=10.0.0.11; or enter it in /etc/hosts or the DNS
    "#);
    lab.write("yaml/cassandra.yaml", "cluster_name: shop\n");
    shot!(lab.run(&["hosts", "render", "--from", "yaml/cassandra.yaml"]), @"
    exit code: 2
    --- standard error
    error: yaml/cassandra.yaml is not an inventory, a Compose file or a Kubernetes manifest
    hint: a topology in TOML is named without --from
    ");
}

#[test]
fn services_of_a_compose_file_are_a_cluster_here() {
    let lab = TestLab::new();
    let file = "services:\n  db:\n    image: cassandra:5.0.9\n    environment: [CASSANDRA_DC=east, CASSANDRA_NUM_TOKENS=8]\n    scale: 2\n  web: {image: shop}\n";
    lab.write("compose.yaml", file);
    let shown = lab.done(&["up", "c", "--like", "compose.yaml", "--dry-run"]);
    for wanted in [
        "east: 2 nodes in rack rack1",
        "num_tokens: 8",
        "only Cassandra runs here",
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    let stack = lab.done(&["hosts", "render", "--from", "compose.yaml", "--as", "swarm"]);
    assert!(stack.contains("replicas: 2"), "{stack}");
}

#[test]
fn what_is_missing_is_named_before_anything_is_fetched() {
    let mut lab = TestLab::new();
    lab.set("PATH", "/nowhere");
    let words = [&["hosts", "up"][..], &THREE].concat();
    shot!(lab.run(&words), @"
    exit code: 3
    --- standard error
    caution: no password is asked of clients: let only trusted networks reach these hosts, or add --auth
    error: ansible-playbook was not found
    hint: pip install ansible-core
    ");
    shot!(lab.run(&["hosts", "status"]), @"
    exit code: 0
    --- standard output
    no cluster was brought up on hosts
    ");
    shot!(lab.run(&["hosts", "restart", "demo"]), @r#"
    exit code: 2
    --- standard error
    error: no cluster "demo" was brought up on hosts
    hint: helenus hosts up NAME creates one
    "#);
    let dry = [&words[..], &["--dry-run"]].concat();
    assert!(
        lab.done(&dry)
            .ends_with("no host was touched (--dry-run)\n")
    );
}

#[test]
fn a_host_that_is_down_is_named_with_what_to_do() {
    let lab = lab();
    known(&lab);
    lab.write("says", DOWN);
    lab.write("fails", "");
    shot!(lab.run(&["hosts", "rm", "demo"]), @"
    exit code: 4
    --- standard error
    error: demo-1 failed
      | demo-1: Failed to connect to the host via ssh: ssh: connect to host 192.0.2.11 port 22: No route to host (Gathering Facts)
    hint: start the host and its sshd; the other hosts are unchanged, and the same command continues; helenus hosts rm demo --forget, if its hosts are gone
    ");
    assert!(
        lab.done(&["hosts", "status", "--format", "json"])
            .contains("demo"),
        "it is still known"
    );
    shot!(lab.run(&["hosts", "rm", "demo", "--forget"]), @"
    exit code: 0
    --- standard output
    demo was forgotten; no host was touched
    ");
    let words = fs_err::read_to_string(lab.path("words")).expect("words");
    assert_eq!(words, "remove.yml\n", "to forget touches no host");
    shot!(lab.run(&["hosts", "status"]), @"
    exit code: 0
    --- standard output
    no cluster was brought up on hosts
    ");
}

#[test]
fn what_was_removed_is_forgotten() {
    let lab = lab();
    known(&lab);
    lab.write("says", OK);
    shot!(lab.run(&["hosts", "rm", "demo", "--dry-run"]), @"
    exit code: 0
    --- standard output
    node        host    address
    demo-node1  demo-1  192.0.2.11

    demo: nothing was done (rm --dry-run)
    ");
    shot!(lab.run(&["hosts", "rm", "demo"]), @"
    exit code: 0
    --- standard output
    host    tasks  changed
    demo-1      2        1

    demo was removed from 1 host
    ");
    shot!(lab.run(&["hosts", "rm", "demo"]), @r#"
    exit code: 2
    --- standard error
    error: no cluster "demo" was brought up on hosts
    hint: helenus hosts up NAME creates one
    "#);
}

#[test]
fn files_stay_while_another_helenus_runs_a_playbook_with_them() {
    let lab = lab();
    known(&lab);
    lab.write("says", OK);
    let inventory = lab.write("home/state/hosts/demo/inventory.yml", "in use");
    let all = HostsClusters::of(&lab.path("home/state"));
    let held = all.lock("demo").expect("nobody has it");
    for words in [
        &["hosts", "restart", "demo"][..],
        &["hosts", "rm", "demo"],
        &["hosts", "rm", "demo", "--forget"],
    ] {
        let said = lab.run(words);
        assert_eq!(said.code, "2", "{said}");
        assert!(said.err.contains("another helenus is working"), "{said}");
    }
    assert_eq!(
        fs_err::read_to_string(inventory).expect("it is there"),
        "in use"
    );
    lab.done(&["hosts", "rm", "demo", "--dry-run"]);
    drop(held);
    lab.done(&["hosts", "rm", "demo"]);
    assert!(!lab.path("home/state/hosts/demo.lock").exists());
}

/// The real Ansible reads every rendering.
#[test]
fn ansible_takes_the_files() {
    let found = Command::new("ansible-playbook").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        return crate::lab::not_run("renderings by Ansible itself", "pip install ansible-core");
    }
    let lab = TestLab::new();
    for (name, more) in [
        ("three", &["-n", "3", "--hosts", "192.0.2.11-13"][..]),
        (
            "wan",
            &[
                "-n",
                "3:3",
                "--hosts",
                "192.0.2.11-16",
                "--auth",
                "--user",
                "ann",
            ],
        ),
        (
            "big",
            &[
                "-n",
                "2",
                "--hosts",
                "big=192.0.2.11+192.0.2.12",
                "--no-machine",
                "--memory-limit",
                "2G",
            ],
        ),
    ] {
        let to = lab.path(name);
        let shown = to.display().to_string();
        lab.done(&[&["hosts", "render", "--name", name, "-o", &shown], more].concat());
        let ansible = |program: &str, words: &[&str]| {
            let output = Command::new(program)
                .args(words)
                .current_dir(&to)
                .env("ANSIBLE_HOME", lab.path("ansible"))
                .output()
                .expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{name}: {said}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let books = [
            "site.yml",
            "restart.yml",
            "stop.yml",
            "remove.yml",
            "swarm.yml",
        ];
        ansible(
            "ansible-playbook",
            &[&["--syntax-check"][..], &books].concat(),
        );
        let inventory = ansible("ansible-inventory", &["--list"]);
        assert!(
            inventory.contains("cassandra_instances") && inventory.contains("cassandra_id"),
            "{inventory}"
        );
    }
}
