//! The table of `nodetool status`: columns, widths, order of rows, and Java's decimal forms.
//! Refuses locales: decimal points are points.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Node, Ownership, Reach, State};

/// Blank between columns.
const GAP: &str = "  ";

/// Table rows of one data centre, header first.
type Rows = Vec<Vec<String>>;

/// Everything that goes to standard output; `undrawn` nodes are shown although their tokens are not known.
pub(super) fn render(nodes: &[Node], ownership: &Ownership, undrawn: bool) -> String {
    let centers = by_data_center(nodes, undrawn);
    let tokens: usize = nodes.iter().map(|node| node.tokens.len()).sum();
    // Not "one token a node": nodetool compares the numbers of data centres and of tokens.
    let token_column = centers.len() >= tokens;
    let tables: Vec<(&str, Rows)> = centers
        .into_iter()
        .map(|(name, members)| (name, rows(nodes, &members, ownership, token_column)))
        .collect();
    let widths = widths(tables.iter().flat_map(|(_, rows)| rows));

    let mut out = String::new();
    for (index, (name, rows)) in tables.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let title = format!("Datacenter: {name}");
        out.push_str(&title);
        out.push('\n');
        out.push_str(&"=".repeat(java_length(&title)));
        out.push_str("\nStatus=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n");
        for row in rows {
            push_row(&mut out, row, &widths);
        }
    }
    out.push('\n');
    if let Ownership::Meaningless(note) = ownership {
        out.push_str(&format!("Note: {note}\n"));
    }
    out
}

/// Data centres by name, each with the indices of its nodes in the order of the rows. Nodes without tokens are left out,
/// unless no node's tokens are drawn.
fn by_data_center(nodes: &[Node], undrawn: bool) -> BTreeMap<&str, Vec<usize>> {
    let mut order: Vec<(i64, usize)> = nodes
        .iter()
        .enumerate()
        .filter_map(|(index, node)| {
            let least = node.tokens.iter().min().copied();
            Some((least.or(undrawn.then_some(i64::MIN))?, index))
        })
        .collect();
    order.sort_unstable();
    let mut centers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (_, index) in order {
        centers
            .entry(&nodes[index].data_center)
            .or_default()
            .push(index);
    }
    for members in centers.values_mut() {
        let keys: Vec<String> = members.iter().map(|i| endpoint(&nodes[*i])).collect();
        *members = java_hash_order(&keys)
            .into_iter()
            .map(|i| members[i])
            .collect();
    }
    centers
}

/// Header and rows of one data centre.
fn rows(nodes: &[Node], members: &[usize], ownership: &Ownership, token_column: bool) -> Rows {
    let owns_title = match ownership {
        Ownership::Effective(_) => "Owns (effective)",
        Ownership::Meaningless(_) => "Owns",
    };
    let header = if token_column {
        [
            "--", "Address", "Load", owns_title, "Host ID", "Token", "Rack",
        ]
    } else {
        [
            "--", "Address", "Load", "Tokens", owns_title, "Host ID", "Rack",
        ]
    };
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for index in members {
        let node = &nodes[*index];
        let share = match ownership {
            Ownership::Effective(shares) => shares[*index],
            Ownership::Meaningless(_) => None,
        };
        let letters = format!("{}{}", reach_letter(node.reach), state_letter(node.state));
        let address = host_address(node.address);
        let load = node.load_bytes.map_or_else(|| "?".to_owned(), size);
        let owns = share.map_or_else(|| "?".to_owned(), percent);
        let host_id = node.host_id.clone().unwrap_or_default();
        let rack = node.rack.clone();
        rows.push(if token_column {
            let token = node
                .tokens
                .iter()
                .min()
                .map_or_else(|| "?".to_owned(), i64::to_string);
            vec![letters, address, load, owns, host_id, token, rack]
        } else {
            let count = node.tokens.len().to_string();
            vec![letters, address, load, count, owns, host_id, rack]
        });
    }
    rows
}

/// Widest cell of each column over all data centres.
fn widths<'a>(rows: impl Iterator<Item = &'a Vec<String>>) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(row.len(), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = java_length(cell).max(*width);
        }
    }
    widths
}

/// One line, every cell padded, the last one too.
fn push_row(out: &mut String, row: &[String], widths: &[usize]) {
    for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
        if index > 0 {
            out.push_str(GAP);
        }
        out.push_str(cell);
        out.push_str(&" ".repeat(width - java_length(cell)));
    }
    out.push('\n');
}

const fn reach_letter(reach: Reach) -> char {
    match reach {
        Reach::Up => 'U',
        Reach::Down => 'D',
        Reach::Unknown => '?',
    }
}

const fn state_letter(state: State) -> char {
    match state {
        State::Normal => 'N',
        State::Joining => 'J',
        State::Leaving => 'L',
        State::Moving => 'M',
    }
}

/// An address as Java prints it: IPv6 in eight groups without the short form.
fn host_address(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => v6.segments().map(|part| format!("{part:x}")).join(":"),
    }
}

/// Address and port as nodetool's inner maps are keyed.
fn endpoint(node: &Node) -> String {
    let address = host_address(node.address);
    match node.address {
        IpAddr::V4(_) => format!("{address}:{}", node.storage_port),
        IpAddr::V6(_) => format!("[{address}]:{}", node.storage_port),
    }
}

/// Length as Java counts it, in UTF-16 units.
fn java_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Java's hash of a text, its halves mixed as its hash map does.
fn java_hash(text: &str) -> u32 {
    let hash = text.encode_utf16().fold(0_u32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(u32::from(unit))
    });
    hash ^ hash >> 16
}

/// The order in which a Java hash map of 16 buckets, growing as it fills, hands out these distinct keys.
///
/// nodetool keeps the rows of a data centre in such a map, so this is the order of its rows. Buckets keep the order
/// of arrival; a map doubles above three quarters full, and below 64 buckets also where a ninth key meets one
/// bucket. Above that Java turns such a bucket into a tree, which may move one row: that is not repeated here.
pub fn java_hash_order(keys: &[String]) -> Vec<usize> {
    let hashes: Vec<u32> = keys.iter().map(|key| java_hash(key)).collect();
    let mut capacity = 16_u32;
    for (index, hash) in hashes.iter().enumerate() {
        let bucket = |hash: u32, capacity: u32| hash & (capacity - 1);
        let neighbours = hashes[..index]
            .iter()
            .filter(|other| bucket(**other, capacity) == bucket(*hash, capacity))
            .count();
        if neighbours >= 8 && capacity < 64 {
            capacity *= 2;
        }
        if (index + 1) * 4 > capacity as usize * 3 {
            capacity *= 2;
        }
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|index| hashes[*index] & (capacity - 1));
    order
}

/// A share as a percentage with one decimal, exact binary value, half to even: `66.7%`.
pub fn percent(share: f32) -> String {
    format!("{:.1}%", f64::from(share) * 100.0)
}

/// A size with binary units and at most two decimals, half to even: `104.34 KiB`, `1 MiB`, `0 bytes`.
pub fn size(bytes: u64) -> String {
    let (unit, shift) = match bytes {
        n if n >= 1 << 40 => ("TiB", 40),
        n if n >= 1 << 30 => ("GiB", 30),
        n if n >= 1 << 20 => ("MiB", 20),
        n if n >= 1 << 10 => ("KiB", 10),
        _ => ("bytes", 0),
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "Cassandra computes it in double precision"
    )]
    let value = format!("{:.2}", bytes as f64 / (1_u64 << shift) as f64);
    let value = value.trim_end_matches('0').trim_end_matches('.');
    format!("{value} {unit}")
}
