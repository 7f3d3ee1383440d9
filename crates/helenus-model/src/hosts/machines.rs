//! The hosts of a cluster in words: `10.0.0.11-16`, or names with one address for each node that they carry.
//! Refuses an address twice, and more addresses than a person could have meant.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name in the inventory.
    pub name: String,
    /// One address for each node that it carries; the first is also the one to log in at.
    pub addresses: Vec<Ipv4Addr>,
}

/// Why a list of hosts cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HostsTextError {
    /// No address.
    #[error("{0:?} is neither an IPv4 address nor a range such as 10.0.0.11-16")]
    Address(String),
    /// A name that leads nowhere.
    #[error("the host name {0:?} has no IPv4 address here")]
    Unresolved(String),
    /// A range that ends before it begins.
    #[error("the range {0:?} ends before it begins")]
    Range(String),
    /// No name.
    #[error("{0:?} cannot name a host")]
    Name(String),
    /// Twice the same.
    #[error("{0} appears twice in the list of hosts")]
    Twice(String),
    /// Nothing.
    #[error("the list of hosts is empty")]
    Empty,
}

impl HostsTextError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Twice(_) => "give each node its own address".to_owned(),
            Self::Unresolved(name) => format!(
                "write its address: {name}=10.0.0.11; or enter it in /etc/hosts or the DNS"
            ),
            Self::Name(_) => "use letters, digits, dashes and dots, such as db1=10.0.0.11".to_owned(),
            Self::Address(_) | Self::Range(_) | Self::Empty => {
                "for example 10.0.0.11-16, or db1=10.0.0.11,db2=10.0.0.12, or big=10.0.0.11+10.0.0.12 for two nodes on one host"
                    .to_owned()
            }
        }
    }
}

/// Reads a list of hosts: addresses, ranges of the last number, host names, and `NAME=ADDRESS+ADDRESS`, by commas. Hosts
/// without a name are called `PREFIX-1`, `PREFIX-2` … by their place in the list. `resolve` knows the address of a host name.
///
/// # Errors
/// The first item that is none of these, or stands there twice.
pub fn parse(
    text: &str,
    prefix: &str,
    resolve: &dyn Fn(&str) -> Option<Ipv4Addr>,
) -> Result<Vec<Host>, HostsTextError> {
    let address = |text: &str| address_of(text, resolve);
    let mut hosts: Vec<Host> = Vec::new();
    for item in text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
    {
        match item.split_once('=') {
            Some((name, addresses)) => hosts.push(Host {
                name: checked(name)?,
                addresses: addresses
                    .split('+')
                    .map(address)
                    .collect::<Result<_, _>>()?,
            }),
            None if is_name(item) => hosts.push(Host {
                name: checked(item)?,
                addresses: vec![address(item)?],
            }),
            None => {
                for one in range(item)? {
                    hosts.push(Host {
                        name: format!("{prefix}-{}", hosts.len() + 1),
                        addresses: vec![one],
                    });
                }
            }
        }
    }
    if hosts.is_empty() {
        return Err(HostsTextError::Empty);
    }
    let mut seen = BTreeSet::new();
    for host in &hosts {
        let addresses = host.addresses.iter().map(Ipv4Addr::to_string);
        for word in addresses.chain([host.name.clone()]) {
            if !seen.insert(word.clone()) {
                return Err(HostsTextError::Twice(word));
            }
        }
    }
    Ok(hosts)
}

/// Group names of the inventory, which no host may have.
pub(super) const GROUPS: [&str; 5] = ["all", "ungrouped", "cassandra", "seeds", "managers"];

fn checked(name: &str) -> Result<String, HostsTextError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let fits = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(plain)
        && name.len() <= 63
        && !GROUPS.contains(&name);
    match fits {
        true => Ok(name.to_owned()),
        false => Err(HostsTextError::Name(name.to_owned())),
    }
}

/// Whether it is a host's name rather than an address or a range of them.
fn is_name(text: &str) -> bool {
    let begins_as_address = text
        .split('.')
        .take(2)
        .all(|part| part.parse::<u32>().is_ok());
    text.contains(|c: char| c.is_ascii_alphabetic()) && !begins_as_address
}

fn address_of(
    text: &str,
    resolve: &dyn Fn(&str) -> Option<Ipv4Addr>,
) -> Result<Ipv4Addr, HostsTextError> {
    let text = text.trim();
    match is_name(text) {
        true => resolve(text).ok_or_else(|| HostsTextError::Unresolved(text.to_owned())),
        false => address(text),
    }
}

fn address(text: &str) -> Result<Ipv4Addr, HostsTextError> {
    let parsed = text.trim().parse();
    parsed.map_err(|_| HostsTextError::Address(text.trim().to_owned()))
}

fn range(item: &str) -> Result<Vec<Ipv4Addr>, HostsTextError> {
    let Some((first, last)) = item.split_once('-') else {
        return Ok(vec![address(item)?]);
    };
    let wrong = || HostsTextError::Address(item.to_owned());
    let first = address(first).map_err(|_| wrong())?;
    let last: u8 = last.trim().parse().map_err(|_| wrong())?;
    let [a, b, c, begin] = first.octets();
    if last < begin {
        return Err(HostsTextError::Range(item.to_owned()));
    }
    Ok((begin..=last).map(|d| Ipv4Addr::new(a, b, c, d)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let known = |name: &str| (name == "db1.lan").then(|| Ipv4Addr::new(10, 9, 0, 1));
        match parse(text, "demo", &known) {
            Ok(hosts) => {
                let one = |host: &Host| {
                    let addresses: Vec<String> =
                        host.addresses.iter().map(Ipv4Addr::to_string).collect();
                    format!("{}={}", host.name, addresses.join("+"))
                };
                hosts.iter().map(one).collect::<Vec<_>>().join(" ")
            }
            Err(error) => format!("{error} ({})", error.hint()),
        }
    }

    #[test]
    fn hosts_are_addresses_ranges_and_names() {
        insta::assert_snapshot!(shown("10.0.0.11-13, 10.0.1.5"), @"
        demo-1=10.0.0.11 demo-2=10.0.0.12 demo-3=10.0.0.13 demo-4=10.0.1.5
        ");
        insta::assert_snapshot!(shown("big=10.0.0.1+10.0.0.2,10.0.0.3"), @"
        big=10.0.0.1+10.0.0.2 demo-2=10.0.0.3
        ");
        insta::assert_snapshot!(shown("db1.lan,second=10.9.0.2"), @"
        db1.lan=10.9.0.1 second=10.9.0.2
        ");
        insta::assert_snapshot!(shown("first=db1.lan"), @"
        first=10.9.0.1
        ");
        insta::assert_snapshot!(shown("db2"), @r#"
        the host name "db2" has no IPv4 address here (write its address: db2=10.0.0.11; or enter it in /etc/hosts or the DNS)
        "#);
        insta::assert_snapshot!(shown("10.0.0.300"), @r#"
        "10.0.0.300" is neither an IPv4 address nor a range such as 10.0.0.11-16 (for example 10.0.0.11-16, or db1=10.0.0.11,db2=10.0.0.12, or big=10.0.0.11+10.0.0.12 for two nodes on one host)
        "#);
        insta::assert_snapshot!(shown("10.0.0.9-3"), @r#"
        the range "10.0.0.9-3" ends before it begins (for example 10.0.0.11-16, or db1=10.0.0.11,db2=10.0.0.12, or big=10.0.0.11+10.0.0.12 for two nodes on one host)
        "#);
        insta::assert_snapshot!(shown("10.0.0.1,a=10.0.0.1"), @"
        10.0.0.1 appears twice in the list of hosts (give each node its own address)
        ");
        insta::assert_snapshot!(shown("seeds=10.0.0.1"), @r#"
        "seeds" cannot name a host (use letters, digits, dashes and dots, such as db1=10.0.0.11)
        "#);
        insta::assert_snapshot!(shown(" , "), @"
        the list of hosts is empty (for example 10.0.0.11-16, or db1=10.0.0.11,db2=10.0.0.12, or big=10.0.0.11+10.0.0.12 for two nodes on one host)
        ");
    }
}
