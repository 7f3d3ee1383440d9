//! Clusters like a production: they start, and what they say of themselves is what the file says.
//! Refuses to believe the table: the node is asked.

use crate::clusters::addresses;
use crate::home::Home;
use helenus_cluster::reach;
use helenus_cluster::state::Clusters;
use helenus_cql::{Client, ClientError, ConnectOptions, Consistency};
use helenus_model::like::{Difference, reported};
use helenus_model::release::Release;
use std::time::Duration;

fn file(dialect: &str) -> String {
    format!(
        "{}/tests/data/like/{dialect}/cassandra.yaml",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// Brings `c` up as the dialect's file says, and asks it for place, time-out, a size and one setting more.
fn follows(home: &Home, dialect: &str, flags: &[&str], timeout: &str, other: (&str, &str)) {
    let file = file(dialect);
    let mut words = vec!["up", "c", "--like", &file];
    words.extend(flags);
    home.helenus(&words).ok();
    let clusters = Clusters::open(&home.path().join("state")).expect("the state folder");
    let state = clusters.load("c").expect("its state");
    let options = reach::options(&state.access, Duration::from_secs(10)).expect("its keys");
    let mut client = Client::connect(addresses(home, "c")[0], &options).expect("a connection");
    let place = client
        .query(
            "SELECT data_center, rack FROM system.local",
            Consistency::One,
        )
        .expect("an answer");
    assert_eq!(place.text(0, "data_center").as_deref(), Some("Frankfurt"));
    assert_eq!(place.text(0, "rack").as_deref(), Some("r7"));
    let mut setting = |name: &str| {
        let cql = format!("SELECT value FROM system_views.settings WHERE name = '{name}'");
        let rows = client.query(&cql, Consistency::One).expect("an answer");
        rows.text(0, "value").unwrap_or_default()
    };
    assert_eq!(setting("read_request_timeout"), timeout, "{dialect}");
    let (name, value) = other;
    let found = setting(name);
    assert!(found.contains(value), "{dialect}: {name} is {found}");
    // A pool of threads is the release's own where the file's is larger.
    assert_eq!(setting("concurrent_reads"), "32", "{dialect}");
    says_what_it_runs(home, &file, flags);
}

/// Everything that cluster `c`, which follows the file, reports of its settings is as the dry run said, or the release's
/// default.
fn says_what_it_runs(home: &Home, file: &str, flags: &[&str]) {
    let dry = ["up", "dry", "--like", file, "--dry-run", "--format", "json"];
    let mut said = home.helenus(&[&dry[..], flags].concat()).ok().json();
    let differences: Vec<Difference> =
        serde_json::from_value(said["differences"].take()).expect("differences");
    let release = Release::facts_for(said["release"].as_str().unwrap_or_default());
    let clusters = Clusters::open(&home.path().join("state")).expect("the state folder");
    let state = clusters.load("c").expect("its state");
    let options = reach::options(&state.access, Duration::from_secs(10)).expect("its keys");
    let mut client = Client::connect(addresses(home, "c")[0], &options).expect("a connection");
    let cql = "SELECT name, value FROM system_views.settings";
    let rows = client.query(cql, Consistency::One).expect("an answer");
    let row = |at| Some((rows.text(at, "name")?, rows.text(at, "value")));
    let rows = (0..rows.len()).filter_map(row).collect();
    let found = reported(release.expect("its facts"), &differences, &rows);
    assert_eq!(found.otherwise, [], "{file}");
    assert!(
        found.said >= 30 && found.defaults >= 100,
        "{file}: {found:?}"
    );
}

/// The file asks for a password: so does the cluster, and the guard knows whose it is all the same.
fn asks_for_a_password(home: &Home) {
    let address = addresses(home, "c")[0];
    let refused = Client::connect(address, &ConnectOptions::default()).err();
    assert!(
        matches!(refused, Some(ClientError::CredentialsMissing { .. })),
        "{refused:?}"
    );
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    home.helenus(&["guard", "c"]).ok();
    home.helenus(&["guard", "--hosts", &host, "--port", &port])
        .ok();
    let stranger = Home::new();
    let answer = stranger.helenus(&["guard", "--hosts", &host, "--port", &port]);
    assert_eq!(answer.code, 1, "{answer}");
    assert!(answer.stdout.starts_with("foreign: "), "{answer}");
    assert!(answer.stdout.contains("password"), "{answer}");
}

pub(crate) fn production_s_settings_on_5_0() {
    let home = Home::new();
    let other = ("batch_size_fail_threshold", "100KiB");
    follows(&home, "3.11", &[], "6000ms", other);
    asks_for_a_password(&home);
    home.helenus(&["rm", "c"]).ok();
    let other = ("tombstone_warn_threshold", "3000");
    follows(&home, "5.0", &[], "4000ms", other);
    home.helenus(&["rm", "c"]).ok();
}

pub(crate) fn production_s_settings_on_4_1(java_home: &str) {
    let home = Home::new();
    let flags = ["--cassandra", "4.1", "--java-home", java_home];
    let other = ("tombstone_warn_threshold", "3000");
    follows(&home, "4.1", &flags, "4000ms", other);
    home.helenus(&["rm", "c"]).ok();
}

/// A bank's file, with its audit log and its commit log that is synced in groups.
pub(crate) fn production_s_settings_on_4_0() {
    let home = Home::new();
    let java = std::env::var("JAVA11_HOME").expect("a JDK 11");
    let flags = ["--cassandra", "4.0", "--java-home", &java];
    let file = file("shapes/4.0-audited");
    home.helenus(&[&["up", "c", "--like", &file][..], &flags].concat())
        .ok();
    says_what_it_runs(&home, &file, &flags);
    home.helenus(&["rm", "c"]).ok();
}

/// 3.11 has no table of its settings: that the node starts and serves is what is asked.
pub(crate) fn production_s_settings_on_3_11(java_home: &str, cassandra_home: &str) {
    let home = Home::new();
    let file = file("3.11");
    home.helenus(&[
        "up",
        "c",
        "--like",
        &file,
        "--cassandra-home",
        cassandra_home,
        "--java-home",
        java_home,
    ])
    .ok();
    let cql = "SELECT data_center, release_version FROM system.local";
    let said = home.helenus(&["cql", "c", "-e", cql]).ok();
    assert!(said.stdout.contains("Frankfurt"), "{said}");
    assert!(said.stdout.contains("3.11."), "{said}");
    home.helenus(&["rm", "c"]).ok();
}
