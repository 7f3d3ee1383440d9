//! Data centre and rack of a production's node.
//! Refuses other properties: a suffix or a preference of addresses means nothing on loopback.

use serde::Serialize;

/// Data centre and rack, as cassandra-rackdc.properties names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProductionPlace {
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
}

/// Reads a cassandra-rackdc.properties; what it does not say is Cassandra's own default.
pub fn read_place(text: &str) -> ProductionPlace {
    let value = |name: &str| {
        text.lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .filter_map(|line| line.split_once('='))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    ProductionPlace {
        data_center: value("dc").unwrap_or_else(|| "DC1".to_owned()),
        rack: value("rack").unwrap_or_else(|| "RAC1".to_owned()),
    }
}
