//! Compose and stack files, and inventories, as clusters.

use super::{ManifestError, inventory, manifest};
use crate::like::Difference;

/// Data centres with the racks of their nodes, and what became of what else the file says.
fn read(text: &str) -> String {
    let found = match manifest(text) {
        Ok(Some(found)) => found,
        Ok(None) => return "no manifest".to_owned(),
        Err(error) => return format!("{error} ({})", error.hint()),
    };
    let centers = found.topology.data_centers.iter();
    let centers: Vec<String> = centers
        .map(|center| format!("{}: {}", center.name, center.racks.join(" ")))
        .collect();
    let line = |one: &Difference| {
        let now = one.now.as_deref().unwrap_or("-");
        format!("{} {} -> {now}", one.class.as_str(), one.key)
    };
    let lines = found.differences.iter().map(line);
    let all: Vec<String> = centers
        .into_iter()
        .chain([format!(
            "release {:?}, heap {:?}",
            found.release, found.heap
        )])
        .chain(lines)
        .collect();
    all.join("\n")
}

const COMPOSE: &str = r#"
x-node: &node
  image: cassandra:4.1.10
  mem_limit: 2g
  networks: [db]
services:
  first:
    <<: *node
    environment:
      CASSANDRA_CLUSTER_NAME: shop
      CASSANDRA_DC: east
      CASSANDRA_RACK: r1
      MAX_HEAP_SIZE: ${HEAP:-512M}
      CASSANDRA_NUM_TOKENS: 8
    ports: ["9042:9042"]
  others:
    <<: *node
    environment:
      - CASSANDRA_CLUSTER_NAME=shop
      - CASSANDRA_SEEDS=first
      - CASSANDRA_DC=east
      - CASSANDRA_RACK=${RACK}
    deploy: {replicas: 2, placement: {max_replicas_per_node: 1}}
  web:
    image: shop/web:7
"#;

#[test]
fn services_of_a_compose_file_are_nodes() {
    insta::assert_snapshot!(read(COMPOSE), @r#"
    east: r1 rack1 rack1
    release Some("4.1.10"), heap Some(Bytes(536870912))
    replaced first/environment.CASSANDRA_CLUSTER_NAME -> -
    kept first/environment.CASSANDRA_DC -> -
    kept first/environment.CASSANDRA_RACK -> -
    shrunk first/environment.MAX_HEAP_SIZE -> -
    shrunk first/mem_limit -> -
    added first/scale -> east: 1 node in rack r1
    replaced first/ports -> -
    replaced first/networks -> -
    replaced others/environment.CASSANDRA_CLUSTER_NAME -> -
    replaced others/environment.CASSANDRA_SEEDS -> -
    kept others/environment.CASSANDRA_DC -> -
    not here others/environment.CASSANDRA_RACK -> -
    shrunk others/mem_limit -> -
    kept others/deploy.replicas -> east: 2 nodes in rack rack1
    replaced others/settings -> -
    not here others/deploy.placement -> -
    replaced others/networks -> -
    not here web/image -> -
    "#);
    insta::assert_snapshot!(read("services: {web: {image: nginx}}"), @"
    no Cassandra cluster in it, only web (it takes a K8ssandraCluster, CassandraDatacenters, or StatefulSets of Cassandra with their ConfigMaps, or services of Compose with Cassandra's image)
    ");
    let two = COMPOSE.replacen(
        "CASSANDRA_CLUSTER_NAME=shop",
        "CASSANDRA_CLUSTER_NAME=other",
        1,
    );
    insta::assert_snapshot!(read(&two), @"
    it has several Cassandra clusters: shop, other (leave one of them in the file)
    ");
}

const YAML: &str = r#"
all:
  vars: {ansible_user: ubuntu}
  children:
    cassandra:
      vars: {cassandra_heap_size: 8G}
      children:
        east:
          hosts:
            db[1:2]: {rack: r1}
            db3: {ansible_host: 10.0.0.13, rack: r2}
        west:
          vars: {dc: far}
          hosts:
            db4:
    seeds: {hosts: {db1: }}
    web: {hosts: {web1: }}
"#;

const INI: &str = r#"
# Databases.
[east]
db[1:2] rack=r1
db3 ansible_host=10.0.0.13 rack=r2
[west]
db4
[west:vars]
dc=far
[cassandra:children]
east
west
[cassandra:vars]
cassandra_heap_size=8G
[all:vars]
ansible_user=ubuntu
[web]
web1
"#;

#[test]
fn hosts_of_an_inventory_are_nodes() {
    insta::assert_snapshot!(read(YAML), @"
    east: r1 r2 r1
    far: rack1
    release None, heap None
    kept east -> east: 3 nodes in racks r1, r2
    kept far -> far: 1 node in rack rack1
    not here cassandra_heap_size -> -
    ");
    assert_eq!(inventory(YAML), inventory(INI));
    assert_eq!(read(YAML), read(INI));
    let found = inventory(YAML).expect("an inventory");
    let topology = manifest(YAML).expect("read").expect("a manifest").topology;
    let centers = topology.data_centers.iter();
    let places =
        centers.flat_map(|center| center.racks.iter().map(|rack| (&*center.name, &**rack)));
    let places: Vec<(&str, &str)> = places.collect();
    let ordered = found.in_order(&places);
    let names: Vec<&str> = ordered.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["db1", "db3", "db2", "db4"]);
    assert_eq!(found.user.as_deref(), Some("ubuntu"));
    insta::assert_snapshot!(read("[web]\nlocalhost ansible_connection=local\n"), @"
    no host in it runs Cassandra (put the hosts into a group cassandra)
    ");
}

#[test]
fn a_cassandra_yaml_is_neither() {
    for text in [
        "cluster_name: a\nhosts: b\n",
        "seed_provider:\n- class_name: x\n",
        "",
        "[]",
    ] {
        assert_eq!(manifest(text), Ok::<_, ManifestError>(None), "{text}");
    }
}

#[test]
fn a_quoted_value_of_an_inventory_is_one_value() {
    let text = "[cassandra]\n\
                db1 ansible_ssh_common_args='-o StrictHostKeyChecking=no' rack=\"row 1\"\n";
    let found = inventory(text).expect("an inventory");
    assert_eq!(found.hosts[0].rack.as_deref(), Some("row 1"));
    let said = read(text);
    assert!(!said.contains("StrictHostKeyChecking"), "{said}");
}
