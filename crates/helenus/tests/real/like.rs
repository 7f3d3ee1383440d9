//! Clusters like a production: they start, and what they say of themselves is what the file says.
//! Refuses to believe the table: the node is asked.

use crate::clusters::{addresses, connect};
use crate::home::Home;
use helenus_cql::Consistency;

fn file(dialect: &str) -> String {
    format!(
        "{}/tests/data/like/{dialect}/cassandra.yaml",
        env!("CARGO_MANIFEST_DIR")
    )
}

pub(crate) fn production_s_settings_on_5_0() {
    let home = Home::new();
    for (dialect, read_timeout, selected) in [
        ("3.11", "6000ms", ("batch_size_fail_threshold", "100KiB")),
        ("5.0", "4000ms", ("tombstone_warn_threshold", "3000")),
    ] {
        home.helenus(&["up", "c", "--like", &file(dialect)]).ok();
        let mut client = connect(addresses(&home, "c")[0]);
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
        assert_eq!(setting("read_request_timeout"), read_timeout, "{dialect}");
        let (name, value) = selected;
        assert!(
            setting(name).contains(value),
            "{dialect}: {}",
            setting(name)
        );
        // A size is the preset's.
        assert_eq!(setting("concurrent_reads"), "2", "{dialect}");
        home.helenus(&["rm", "c"]).ok();
    }
}
