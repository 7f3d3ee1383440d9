//! Each group's parameters as a value.
//! Refuses pairs that exclude each other, and classes that Cassandra does not have.

use super::error::StressError;
use super::options::{Found, select};
use super::read::{Groups, default_dist, default_seeds, in_order, level, serial};
use super::spec::sets;
use super::value::{
    Columns, Command, Contents, Errors, Graph, Hidden, Insert, Limit, Log, Mode, Node, Population,
    Port, Rate, Schema, Seeds, TokenRange, Transport, Until,
};
use crate::dist::{RatioDist, whole_number};
use crate::nearest::nearest;
use crate::workload::profile::BatchKind;

/// More columns than any table should have, and names that still fit into memory.
const COLUMNS_MOST: i64 = 10_000;

/// Where Cassandra keeps its replication strategies.
const LOCATOR: &str = "org.apache.cassandra.locator.";

const STRATEGIES: [&str; 3] = ["SimpleStrategy", "NetworkTopologyStrategy", "LocalStrategy"];

const COMPACTIONS: [&str; 6] = [
    "SizeTieredCompactionStrategy",
    "LeveledCompactionStrategy",
    "TimeWindowCompactionStrategy",
    "DateTieredCompactionStrategy",
    "UnifiedCompactionStrategy",
    "IncrementalCompactionStrategy",
];

/// A group's parameters as they were given, or none.
fn found(groups: &mut Groups, name: &str) -> Result<(Found, bool), StressError> {
    let given = groups.remove(name);
    let there = given.is_some();
    let sets = sets(name).unwrap_or_default();
    // Where nothing is given, the last set that requires nothing has the defaults.
    let sets = if there {
        sets
    } else {
        let free = |set: &super::options::Set| set.iter().all(|option| !option.required);
        sets.into_iter().filter(free).collect()
    };
    Ok((select(name, &given.unwrap_or_default(), &sets)?, there))
}

pub(super) fn rate(
    groups: &mut Groups,
    command: &Command,
    until: Until,
) -> Result<Rate, StressError> {
    let (found, there) = found(groups, "-rate")?;
    if !there {
        let writes = matches!(command, Command::Write(_) | Command::CounterWrite(_));
        let counted = matches!(until, Until::Count(count) if count > 0);
        return Ok(if writes && counted {
            Rate::Threads {
                threads: 200,
                limit: Limit::None,
            }
        } else {
            Rate::Search {
                auto: true,
                least: 4,
                most: 1000,
            }
        });
    }
    if found.place == 0 {
        return Ok(Rate::Search {
            auto: found.is_set("auto"),
            least: found.small("threads>=")?,
            most: found.small("threads<=")?,
        });
    }
    let (throttle, fixed) = (found.small("throttle=")?, found.small("fixed=")?);
    let limit = match (throttle, fixed) {
        (0, 0) => Limit::None,
        (most, 0) => Limit::Throttle(most),
        (0, rate) => Limit::Fixed(rate),
        _ => {
            return Err(StressError::Rule(
                "can't have both fixed and throttle set, choose one.".to_owned(),
            ));
        }
    };
    Ok(Rate::Threads {
        threads: found.small("threads=")?,
        limit,
    })
}

pub(super) fn population(
    groups: &mut Groups,
    command: &Command,
    until: Until,
) -> Result<Population, StressError> {
    let given = groups.contains_key("-pop");
    let (found, _) = found(groups, "-pop")?;
    let contents = match found
        .text("contents=")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("sorted") => Contents::Sorted,
        Some("shuffled") => Contents::Shuffled,
        _ => Contents::Arbitrary,
    };
    let range = found.given("seq=").and_then(|text| {
        let (from, to) = text.split_once("..")?;
        let number = |text: &str| whole_number(text).and_then(|n| u64::try_from(n).ok());
        Some((number(from)?, number(to.trim_start_matches('.'))?))
    });
    let seeds = match (range, found.is_set("seq="), given) {
        (Some((from, to)), _, _) => Seeds::Sequence {
            from,
            to,
            wrap: !found.is_set("no-wrap"),
            lookback: found.dist("read-lookback=")?,
        },
        (None, true, _) => {
            return Err(StressError::Rule(
                "-pop seq=: the numbers are too large".to_owned(),
            ));
        }
        (None, false, false) if in_order(command) => Seeds::Sequence {
            from: 1,
            to: default_seeds(until),
            wrap: true,
            lookback: None,
        },
        (None, false, _) => Seeds::Drawn(match found.dist("dist=")? {
            Some(dist) => dist,
            None => default_dist(until)?,
        }),
    };
    Ok(Population { seeds, contents })
}

pub(super) fn insert(groups: &mut Groups) -> Result<Insert, StressError> {
    let (found, _) = found(groups, "-insert")?;
    Ok(Insert {
        visits: found.dist_or("visits=", 1)?,
        revisit: found.dist_or("revisit=", 1)?,
        partitions: found.dist("partitions=")?,
        select: found.ratio("select-ratio=")?,
        row_population: found
            .ratio("row-population-ratio=")?
            .unwrap_or_else(RatioDist::one),
        batch: match found
            .text("batchtype=")
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            Some("logged") => Some(BatchKind::Logged),
            Some("unlogged") => Some(BatchKind::Unlogged),
            Some("counter") => Some(BatchKind::Counter),
            _ => None,
        },
        consistency: level(&found, "cl="),
        serial_consistency: serial(&found, "serial-cl="),
    })
}

pub(super) fn columns(groups: &mut Groups) -> Result<Columns, StressError> {
    let (found, _) = found(groups, "-col")?;
    let (mut names, count) = match found.given("names=") {
        Some(names) => (names.split(',').map(str::to_owned).collect(), None),
        None => {
            let count = found.dist_or("n=", 5)?;
            let most = count.max();
            if !(1..=COLUMNS_MOST).contains(&most) {
                return Err(StressError::Rule(format!(
                    "-col n={count}: a table has 1 to {COLUMNS_MOST} columns"
                )));
            }
            let names: Vec<String> = (0..most).map(|place| format!("C{place}")).collect();
            (names, Some(count))
        }
    };
    names.sort_unstable();
    if found.small("super=")? > 0 {
        return Err(StressError::Gone {
            what: "-col super=".to_owned(),
            why: "super columns no longer exist",
            cure: Some("leave super= out".to_owned()),
        });
    }
    Ok(Columns {
        names,
        count,
        size: found.dist_or("size=", 34)?,
        comparator: {
            let given = found.text("comparator=").unwrap_or_default();
            let known = ["TimeUUIDType", "AsciiType", "UTF8Type"];
            let same = known.into_iter().find(|k| k.eq_ignore_ascii_case(given));
            same.unwrap_or("AsciiType").to_owned()
        },
        timestamp: match found.is_set("timestamp=") {
            true => Some(found.number("timestamp=")?),
            false => None,
        },
        slice: found.is_set("slice"),
    })
}

pub(super) fn errors(groups: &mut Groups) -> Result<Errors, StressError> {
    let (found, _) = found(groups, "-errors")?;
    let policy = found.text("delay-policy=").unwrap_or("constant");
    let (least, most) = (found.small("min-delay-ms=")?, found.small("max-delay-ms=")?);
    if least > most {
        return Err(StressError::Rule(
            "-errors: min-delay-ms is above max-delay-ms".to_owned(),
        ));
    }
    Ok(Errors {
        tries: found.small("retries=")?.saturating_add(1),
        ignore: found.is_set("ignore"),
        fail_fast: found.is_set("fail-fast"),
        skip_read_validation: found.is_set("skip-read-validation"),
        skip_unsupported_columns: found.is_set("skip-unsupported-columns"),
        delay: (policy.to_ascii_lowercase(), least, most),
    })
}

/// Milliseconds of `1s`, `500ms` or `10`.
fn interval(text: &str) -> Result<u64, StressError> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = match (lower.strip_suffix("ms"), lower.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1000),
        (None, None) => (lower.as_str(), 1000),
    };
    let ms = digits.parse::<u32>().ok().map(|n| u64::from(n) * factor);
    ms.filter(|ms| *ms > 0)
        .ok_or_else(|| StressError::Rule(format!("interval={text}: it must be above zero")))
}

pub(super) fn log(groups: &mut Groups) -> Result<Log, StressError> {
    let (found, _) = found(groups, "-log")?;
    let text = |prefix| found.given(prefix).map(str::to_owned);
    Ok(Log {
        no_summary: found.is_set("no-summary"),
        no_settings: found.is_set("no-settings"),
        file: text("file="),
        hdr_file: text("hdrfile="),
        interval_ms: interval(found.text("interval=").unwrap_or("1s"))?,
        level: found
            .text("level=")
            .unwrap_or("normal")
            .to_ascii_uppercase(),
    })
}

pub(super) fn mode(groups: &mut Groups, notes: &mut Vec<String>) -> Result<Mode, StressError> {
    let thrift = groups
        .get("-mode")
        .is_some_and(|given| given.iter().any(|word| word.eq_ignore_ascii_case("thrift")));
    if thrift {
        return Err(StressError::Gone {
            what: "-mode thrift".to_owned(),
            why: "servers no longer support Thrift",
            cure: Some("leave -mode thrift out, or write -mode native cql3".to_owned()),
        });
    }
    let (found, _) = found(groups, "-mode")?;
    let simple_native = found.is_set("simplenative");
    let text = |prefix| found.given(prefix).map(str::to_owned);
    let number = |prefix: &str| match found.text(prefix) {
        Some(_) => found.small(prefix).map(Some),
        None => Ok(None),
    };
    let mut unused = |prefix: &str, why: &str| {
        if found.is_set(prefix) {
            let value = found.given(prefix).unwrap_or_default();
            notes.push(format!("-mode {prefix}{value} changes nothing: {why}"));
        }
    };
    let pooled = "one connection is kept for each core of the server";
    unused("maxPending=", pooled);
    unused("connectionsPerHost=", pooled);
    unused("unprepared", "statements are always prepared");
    unused("auth-provider=", "user and password are sent in plain text");
    unused(
        "protocolVersion=",
        "the newest that both sides support is used",
    );
    unused(
        "port=",
        "cassandra-stress does not use it either; -port native= is meant",
    );
    if found
        .text("compression=")
        .is_some_and(|word| !word.eq_ignore_ascii_case("none"))
    {
        unused("compression=", "frames are not compressed");
    }
    Ok(Mode {
        simple_native,
        prepared: if simple_native {
            found.is_set("prepared")
        } else {
            !found.is_set("unprepared")
        },
        protocol: found.given("protocolVersion=").and_then(|v| v.parse().ok()),
        user: text("user="),
        password: found.given("password=").map(Hidden::new),
        auth_provider: text("auth-provider="),
        max_pending: number("maxPending=")?,
        connections_per_host: number("connectionsPerHost=")?,
        compression: found
            .text("compression=")
            .unwrap_or("none")
            .to_ascii_uppercase(),
        request_timeout_ms: number("requestTimeout=")?,
    })
}

pub(super) fn node(groups: &mut Groups, notes: &mut Vec<String>) -> Result<Node, StressError> {
    let (found, _) = found(groups, "-node")?;
    let text = |prefix| found.given(prefix).map(str::to_owned);
    for (prefix, why) in [
        (
            "loadbalance=",
            "the nodes of the data centre that hold the row are asked",
        ),
        ("remote-dc=", "other data centres are not asked"),
        ("rack=", "every rack of the data centre is asked"),
    ] {
        if let Some(value) = found.given(prefix) {
            notes.push(format!("-node {prefix}{value} changes nothing: {why}"));
        }
    }
    Ok(Node {
        hosts: found
            .given("")
            .map(|list| list.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
        file: text("file="),
        whitelist: found.is_set("whitelist"),
        datacenter: text("datacenter="),
        rack: text("rack="),
    })
}

/// Takes one pair out of a list.
fn take(pairs: &mut Vec<(String, String)>, name: &str) -> Option<String> {
    let at = pairs.iter().position(|(n, _)| n == name)?;
    Some(pairs.remove(at).1)
}

/// The words with one name in another's place.
fn replaced(words: &[String], wrong: &str, right: &str) -> Vec<String> {
    words
        .iter()
        .map(|word| word.replace(wrong, right))
        .collect()
}

fn class(
    what: &'static str,
    name: &str,
    known: &[&'static str],
    words: &[String],
) -> Result<(), StressError> {
    let bare = name.strip_prefix(LOCATOR).unwrap_or(name);
    if known.contains(&bare) || bare.contains('.') {
        return Ok(());
    }
    Err(StressError::Class {
        what,
        name: name.to_owned(),
        meant: nearest(bare, known.iter().copied()).map(|right| replaced(words, bare, right)),
    })
}

pub(super) fn schema(
    groups: &mut Groups,
    words: &[String],
    user: bool,
) -> Result<Schema, StressError> {
    if user && groups.contains_key("-schema") {
        return Err(StressError::Rule(
            "-schema is only for the pre-defined commands; a profile has its own schema".to_owned(),
        ));
    }
    let (found, _) = found(groups, "-schema")?;
    let mut replication = found.pairs("replication");
    let strategy = take(&mut replication, "strategy");
    let factor = take(&mut replication, "factor");
    let name = strategy.as_deref().unwrap_or("SimpleStrategy");
    class("replication strategy", name, &STRATEGIES, words)?;
    let strategy = if STRATEGIES.contains(&name) {
        format!("{LOCATOR}{name}")
    } else {
        name.to_owned()
    };
    let simple = strategy.strip_prefix(LOCATOR) == Some("SimpleStrategy");
    let said = replication.iter().any(|(n, _)| n == "replication_factor");
    if !said && (simple || factor.is_some()) {
        let factor = factor.unwrap_or_else(|| "1".to_owned());
        replication.push(("replication_factor".to_owned(), factor));
    }
    let mut compaction_options = found.pairs("compaction");
    let compaction = take(&mut compaction_options, "strategy");
    if let Some(name) = &compaction {
        class("compaction strategy", name, &COMPACTIONS, words)?;
    }
    if found.is_set("storage") {
        return Err(StressError::Gone {
            what: "-schema storage(…)".to_owned(),
            why: "only ScyllaDB has it",
            cure: Some("leave storage(…) out".to_owned()),
        });
    }
    Ok(Schema {
        keyspace: found.text("keyspace=").unwrap_or("keyspace1").to_owned(),
        strategy,
        replication,
        compression: found.given("compression=").map(str::to_owned),
        compaction,
        compaction_options,
    })
}

pub(super) fn transport(groups: &mut Groups) -> Result<Transport, StressError> {
    let (found, _) = found(groups, "-transport")?;
    let text = |prefix| found.given(prefix).map(str::to_owned);
    Ok(Transport {
        truststore: text("truststore="),
        truststore_password: found.given("truststore-password=").map(Hidden::new),
        keystore: text("keystore="),
        keystore_password: found.given("keystore-password=").map(Hidden::new),
        protocol: found.text("ssl-protocol=").unwrap_or_default().to_owned(),
        algorithm: text("ssl-alg="),
        ciphers: found.text("ssl-ciphers=").unwrap_or_default().to_owned(),
    })
}

pub(super) fn port(groups: &mut Groups) -> Result<Port, StressError> {
    let (found, _) = found(groups, "-port")?;
    let read = |prefix: &str| {
        let number = found.small(prefix)?;
        u16::try_from(number).map_err(|_| {
            StressError::Rule(format!("-port {prefix}{number}: a port is below 65536"))
        })
    };
    Ok(Port {
        native: found
            .is_set("native=")
            .then(|| read("native="))
            .transpose()?,
        jmx: read("jmx=")?,
    })
}

pub(super) fn graph(groups: &mut Groups, command: &Command) -> Result<Graph, StressError> {
    if !groups.contains_key("-graph") {
        return Ok(Graph {
            file: None,
            revision: "unknown".to_owned(),
            title: None,
            operation: command.name().to_owned(),
        });
    }
    let (found, _) = found(groups, "-graph")?;
    let text = |prefix| found.given(prefix).map(str::to_owned);
    Ok(Graph {
        file: text("file="),
        revision: found.text("revision=").unwrap_or("unknown").to_owned(),
        title: text("title="),
        operation: text("op=").unwrap_or_else(|| command.name().to_owned()),
    })
}

pub(super) fn token_range(groups: &mut Groups) -> Result<TokenRange, StressError> {
    let (found, _) = found(groups, "-tokenrange")?;
    Ok(TokenRange {
        wrap: found.is_set("wrap"),
        split_factor: found.number("split-factor=")?,
    })
}

pub(super) fn credentials_file(groups: &mut Groups) -> Result<Option<String>, StressError> {
    match groups.remove("-credentials-file").as_deref() {
        None => Ok(None),
        Some([one]) => Ok(Some(one.clone())),
        Some(_) => Err(StressError::Rule(
            "-credentials-file takes the path of one file".to_owned(),
        )),
    }
}

/// Groups of newer releases that are taken: their times between rows count, what is JMX's does not.
pub(super) fn leftovers(
    groups: &mut Groups,
    log: &mut Log,
    notes: &mut Vec<String>,
) -> Result<(), StressError> {
    if groups.contains_key("-reporting") {
        let (found, _) = found(groups, "-reporting")?;
        if let Some(text) = found.given("output-frequency=") {
            log.interval_ms = interval(text)?;
        }
        if found.is_set("header-frequency=") {
            notes.push(
                "-reporting header-frequency= changes nothing: the header is printed once"
                    .to_owned(),
            );
        }
    }
    if groups.contains_key("-jmx") {
        let (_, _) = found(groups, "-jmx")?;
        notes.push(
            "-jmx changes nothing: collections are measured separately, not over JMX".to_owned(),
        );
    }
    Ok(())
}
