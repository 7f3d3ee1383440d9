//! The words that stand before nodetool's verb: to whom a tool believes that it speaks.
//! Refuses another's host or port: a tool that means another cluster must not be answered by ours.

use std::net::{IpAddr, Ipv4Addr};

/// nodetool's words, parted.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// `-D…` for the JVM.
    pub jvm: Vec<String>,
    /// The address that was named, where one was.
    pub host: Option<Ipv4Addr>,
    /// The verb with all that is its own.
    pub verb: Vec<String>,
}

/// Why a tool's words are not for this cluster.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WordsError {
    /// A host that is none of its nodes.
    #[error("{host} is not a node of this cluster")]
    Host {
        /// As given.
        host: String,
        /// Addresses of the nodes.
        nodes: Vec<Ipv4Addr>,
    },
    /// A port that is not its own.
    #[error("port {port} is not this cluster's JMX port")]
    Port {
        /// As given.
        port: String,
        /// Its own.
        own: u16,
    },
    /// A flag with nothing behind it.
    #[error("{flag} has no value")]
    Empty {
        /// The flag.
        flag: String,
    },
}

impl WordsError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Host { nodes, .. } => {
                let nodes: Vec<String> = nodes.iter().map(Ipv4Addr::to_string).collect();
                format!(
                    "its nodes: {}; leave -h out for the node of this nodetool",
                    nodes.join(", ")
                )
            }
            Self::Port { own, .. } => format!("leave -p out, or give {own}"),
            Self::Empty { flag } => format!("give {flag} a value, or leave it out"),
        }
    }
}

/// Where nodetool speaks to when nobody names a host; a tool's default means the node of its nodetool.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// nodetool's own default port, which tools repeat without a thought.
const USUAL_PORT: u16 = 7199;

/// Parts the words. Credentials are dropped: JMX is opened with a generated password.
///
/// # Errors
/// A host or port outside this cluster, or a flag without its value.
pub fn part(words: &[String], nodes: &[Ipv4Addr], port: u16) -> Result<Words, WordsError> {
    let mut parted = Words {
        jvm: vec![],
        host: None,
        verb: vec![],
    };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word.starts_with("-D") {
            parted.jvm.push(word.clone());
            continue;
        }
        let (flag, joined) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let takes = matches!(
            flag,
            "-h" | "--host"
                | "-p"
                | "--port"
                | "-u"
                | "--username"
                | "-pw"
                | "--password"
                | "-pwf"
                | "--password-file"
        );
        if !takes {
            parted.verb.push(word.clone());
            // nodetool's own flags without a value, such as -pp, may stand before further ones of these.
            if !word.starts_with('-') {
                parted.verb.extend(rest.cloned());
                break;
            }
            continue;
        }
        let value = joined
            .or_else(|| rest.next().cloned())
            .ok_or_else(|| WordsError::Empty {
                flag: flag.to_owned(),
            })?;
        match flag {
            "-h" | "--host" => parted.host = host(value, nodes)?,
            "-p" | "--port" => check_port(value, port)?,
            _ => {}
        }
    }
    Ok(parted)
}

fn host(value: String, nodes: &[Ipv4Addr]) -> Result<Option<Ipv4Addr>, WordsError> {
    // Also as JMX clients write an IPv4 address on a machine that prefers IPv6.
    let bare = value.trim_start_matches('[').trim_end_matches(']');
    let address = match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Some(address),
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped(),
        Err(_) => None,
    };
    match address {
        Some(address) if nodes.contains(&address) => Ok(Some(address)),
        _ if LOCAL.contains(&bare) => Ok(None),
        _ => Err(WordsError::Host {
            host: value,
            nodes: nodes.to_vec(),
        }),
    }
}

fn check_port(value: String, own: u16) -> Result<(), WordsError> {
    match value.parse::<u16>() {
        Ok(port) if port == own || port == USUAL_PORT => Ok(()),
        _ => Err(WordsError::Port { port: value, own }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 9, 8, 1), Ipv4Addr::new(127, 9, 8, 2)];

    fn parted(text: &str) -> Result<(String, Option<Ipv4Addr>, String), WordsError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let parted = part(&words, &NODES, 17199)?;
        Ok((parted.jvm.join(" "), parted.host, parted.verb.join(" ")))
    }

    #[test]
    fn connection_flags_before_the_verb_are_ours_to_judge() {
        let medusa = "-Dcom.sun.jndi.rmiURLParsing=legacy -h 127.9.8.2 -p 17199 -u cassandra \
                      --password-file=/x snapshot -t medusa-1 --";
        assert_eq!(
            parted(medusa),
            Ok((
                "-Dcom.sun.jndi.rmiURLParsing=legacy".into(),
                Some(NODES[1]),
                "snapshot -t medusa-1 --".into()
            ))
        );
        assert_eq!(
            parted("-h localhost -p 7199 -pp status"),
            Ok((String::new(), None, "-pp status".into()))
        );
        assert_eq!(
            parted("--host ::FFFF:127.9.8.1 info"),
            Ok((String::new(), Some(NODES[0]), "info".into()))
        );
        // Behind the verb everything is the verb's own.
        assert_eq!(
            parted("rebuild -p 1 -h other"),
            Ok((String::new(), None, "rebuild -p 1 -h other".into()))
        );
        assert_eq!(parted(""), Ok((String::new(), None, String::new())));
    }

    #[test]
    fn another_s_host_or_port_is_refused() {
        let error = parted("-h 10.0.0.7 drain").unwrap_err();
        assert!(error.hint().contains("127.9.8.1, 127.9.8.2"), "{error}");
        assert!(matches!(
            parted("--host=production.example drain"),
            Err(WordsError::Host { .. })
        ));
        assert!(matches!(
            parted("-p 7200 drain"),
            Err(WordsError::Port { .. })
        ));
        assert!(matches!(parted("-h"), Err(WordsError::Empty { .. })));
    }
}
