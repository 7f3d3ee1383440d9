//! Whose place a new node takes: the one that has its tokens in the ring of the others.
//! Refuses to guess: where no other node answers, the node joins in nobody's place, with its own tokens.

use super::{READY_WITHIN, tls};
use helenus_cql::client::{Client, ConnectOptions};
use helenus_cql::codec::Consistency;
use helenus_cql::rows::{Rows, plain};
use helenus_model::kube::pod::{Pod, PodConfig};
use std::net::{IpAddr, SocketAddr};

/// The node that has this pod's tokens and another address, by the first of the others that answers.
pub(super) fn predecessor(config: &PodConfig, pod: &Pod, cql: u16) -> Option<IpAddr> {
    let token = config.tokens.get(&pod.name)?.first()?.to_string();
    let ask = |other: &IpAddr| {
        let options = ConnectOptions {
            timeout: READY_WITHIN,
            tls: tls().ok()?,
            ..ConnectOptions::default()
        };
        let mut client = Client::connect(SocketAddr::new(*other, cql), &options).ok()?;
        let rows = client.query("SELECT peer, tokens FROM system.peers", Consistency::One);
        rows.ok()
    };
    let rows = pod.others().iter().find_map(ask)?;
    holder(&rows, &token).filter(|holder| *holder != pod.ip)
}

/// The address of the row with this token.
fn holder(rows: &Rows, token: &str) -> Option<IpAddr> {
    let has = |row: &usize| {
        let tokens = rows.value(*row, "tokens").map(plain).unwrap_or_default();
        let mut words = tokens.split(|c: char| !(c == '-' || c.is_ascii_digit()));
        words.any(|word| word == token)
    };
    let row = (0..rows.len()).find(has)?;
    rows.text(row, "peer")?.parse().ok()
}
