//! The settings of a line, as cassandra-stress 4.0-alpha2 prints them before a run.
//! Refuses to print a password, in places where cassandra-stress does.

use super::value::{
    Command, Contents, Hidden, Level, Limit, Population, Rate, Seeds, Stress, Transport, Until,
};
use crate::units::{fixed, thousands as count};
use crate::workload::profile::{BatchKind, Spec};
use std::fmt::Write as _;

/// `null`, as Java writes what is not there.
fn or_null<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn suppressed(value: Option<&Hidden>) -> &'static str {
    value.map_or("null", |_| "*suppressed*")
}

/// A Java map.
fn map<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let each: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{{{}}}", each.join(", "))
}

/// A double as Java writes one: with a point, and 0.001 to 10,000,000 without an exponent.
pub(super) fn double(value: f64) -> String {
    let text = format!("{value:?}");
    text.replace('e', "E")
}

impl Stress {
    /// The block of settings, its last blank line included.
    pub fn settings(&self) -> String {
        let mut text = String::from("******************** Stress Settings ********************\n");
        self.settings_of_command(&mut text);
        rate(&mut text, self.rate);
        population(&mut text, &self.population);
        self.settings_of_inserts(&mut text);
        if !matches!(self.command, Command::User { .. }) {
            self.settings_of_columns(&mut text);
        }
        self.settings_of_surroundings(&mut text);
        text.push_str("Transport:\n");
        text.push_str(&transport(&self.transport));
        let _infallible = writeln!(
            text,
            "Port:\n  Native Port: {}\n  JMX Port: {}\nSend To Daemon:\n  *not set*",
            self.port.native.unwrap_or(9042),
            self.port.jmx
        );
        let graph = &self.graph;
        let _infallible = writeln!(
            text,
            "Graph:\n  File: {}\n  Revision: {}\n  Title: {}\n  Operation: {}",
            or_null(graph.file.as_ref()),
            graph.revision,
            or_null(graph.title.as_ref()),
            graph.operation
        );
        let ranges = &self.token_range;
        let _infallible = writeln!(
            text,
            "TokenRange:\n  Wrap: {}\n  Split Factor: {}\n",
            ranges.wrap, ranges.split_factor
        );
        text
    }

    fn settings_of_command(&self, text: &mut String) {
        let count_text = match self.until {
            Until::Count(n) => count(n),
            Until::Time { .. } | Until::Error { .. } => "-1".to_owned(),
        };
        let _infallible = writeln!(
            text,
            "Command:\n  Type: {}\n  Count: {count_text}",
            self.command.name().to_ascii_lowercase()
        );
        if let Until::Time { amount, unit } = self.until {
            let _infallible = writeln!(text, "  Duration: {} {}", count(amount), unit.name());
        }
        let _infallible = writeln!(
            text,
            "  No Warmup: {}\n  Consistency Level: {}",
            self.no_warmup,
            self.consistency.name()
        );
        match self.until {
            Until::Error { below, least, most } => {
                let _infallible = writeln!(
                    text,
                    "  Target Uncertainty: {}\n  Minimum Uncertainty Measurements: {}\n  Maximum Uncertainty Measurements: {}",
                    fixed(below, 3),
                    count(least.into()),
                    count(most.into())
                );
            }
            Until::Count(_) | Until::Time { .. } => {
                text.push_str("  Target Uncertainty: not applicable\n");
            }
        }
        if let Some(simple) = self.command.simple() {
            let _infallible = writeln!(
                text,
                "  Key Size (bytes): {}\n  Counter Increment Distibution: add={}",
                simple.key_bytes, simple.add
            );
        }
        self.settings_of_weights(text);
    }

    fn settings_of_weights(&self, text: &mut String) {
        let (weights, clustering) = match &self.command {
            Command::Mixed {
                ratios, clustering, ..
            } => {
                let each = ratios.iter().map(|(kind, w)| (kind.name(), double(*w)));
                (map(each), clustering)
            }
            Command::User {
                ops, clustering, ..
            } => {
                let each = ops.iter().map(|(name, w)| (name.as_str(), double(*w)));
                (map(each), clustering)
            }
            _ => return,
        };
        let _infallible = writeln!(
            text,
            "  Command Ratios: {weights}\n  Command Clustering Distribution: clustering={clustering}"
        );
        if let Command::User { profiles, .. } = &self.command {
            let _infallible = writeln!(text, "  Profile File(s): {}", profiles.join(","));
        }
    }

    fn settings_of_inserts(&self, text: &mut String) {
        let insert = &self.insert;
        let _infallible = writeln!(
            text,
            "Insert:\n  Revisits: {}\n  Visits: {}",
            insert.revisit.in_words(),
            insert.visits.in_words()
        );
        if let Some(partitions) = &insert.partitions {
            let _infallible = writeln!(text, "  Batchsize: {}", partitions.in_words());
            if let Some(select) = &insert.select {
                let _infallible = writeln!(text, "  Select Ratio: {}", select.in_words());
            }
        }
        let _infallible = writeln!(
            text,
            "  Row Population Ratio: {}",
            insert.row_population.in_words()
        );
        let batch = match insert.batch {
            None => "not batching",
            Some(BatchKind::Logged) => "LOGGED",
            Some(BatchKind::Unlogged) => "UNLOGGED",
            Some(BatchKind::Counter) => "COUNTER",
        };
        if let Some(level) = insert.consistency {
            let _infallible = writeln!(text, "  Consistency Level: {}", level.name());
        }
        if let Some(level) = insert.serial_consistency {
            let level = Level::Serial(level).name();
            let _infallible = writeln!(text, "  Serial Consistency Level: {level}");
        }
        let _infallible = writeln!(text, "  Batch Type: {batch}");
    }

    fn settings_of_columns(&self, text: &mut String) {
        let columns = &self.columns;
        let (variable, count) = match &columns.count {
            Some(dist) => (dist.min() < dist.max(), dist.in_words()),
            None => (false, format!("Count:  fixed={}", columns.names.len())),
        };
        let _infallible = writeln!(
            text,
            "Columns:\n  Max Columns Per Key: {}\n  Column Names: [{}]\n  Comparator: {}\n  Timestamp: {}\n  Variable Column Count: {variable}\n  Slice: {}\n  Size Distribution: {}\n  Count Distribution: {count}",
            columns.names.len(),
            columns.names.join(", "),
            columns.comparator,
            or_null(columns.timestamp),
            columns.slice,
            columns.size.in_words()
        );
    }

    fn settings_of_surroundings(&self, text: &mut String) {
        let (errors, log, mode) = (&self.errors, &self.log, &self.mode);
        let _infallible = writeln!(
            text,
            "Errors:\n  Ignore: {}\n  Tries: {}\nLog:\n  No Summary: {}\n  No Settings: {}\n  File: {}\n  Interval Millis: {}\n  Level: {}",
            errors.ignore,
            errors.tries,
            log.no_summary,
            log.no_settings,
            or_null(log.file.as_ref()),
            log.interval_ms,
            log.level
        );
        let api = if mode.simple_native {
            "SIMPLE_NATIVE"
        } else {
            "JAVA_DRIVER_NATIVE"
        };
        let style = if mode.prepared { "CQL_PREPARED" } else { "CQL" };
        let _infallible = writeln!(
            text,
            "Mode:\n  API: {api}\n  Connection Style: {style}\n  CQL Version: CQL3\n  Protocol Version: V{}\n  Username: {}\n  Password: {}\n  Auth Provide Class: {}\n  Max Pending Per Connection: {}\n  Connections Per Host: {}\n  Compression: {}",
            mode.protocol.unwrap_or(4),
            or_null(mode.user.as_ref()),
            suppressed(mode.password.as_ref()),
            or_null(mode.auth_provider.as_ref()),
            or_null(mode.max_pending),
            or_null(mode.connections_per_host),
            mode.compression
        );
        let node = &self.node;
        let hosts = if node.hosts.is_empty() {
            "localhost".to_owned()
        } else {
            node.hosts.join(", ")
        };
        let schema = &self.schema;
        let keyspace = match self.command {
            Command::User { .. } => "null",
            _ => schema.keyspace.as_str(),
        };
        let options =
            |pairs: &[(String, String)]| map(pairs.iter().map(|(n, v)| (n.as_str(), v.clone())));
        let _infallible = writeln!(
            text,
            "Node:\n  Nodes: [{hosts}]\n  Is White List: {}\n  Datacenter: {}\nSchema:\n  Keyspace: {keyspace}\n  Replication Strategy: {}\n  Replication Strategy Options: {}\n  Table Compression: {}\n  Table Compaction Strategy: {}\n  Table Compaction Strategy Options: {}",
            node.whitelist,
            or_null(node.datacenter.as_ref()),
            schema.strategy,
            options(&schema.replication),
            or_null(schema.compression.as_ref()),
            or_null(schema.compaction.as_ref()),
            options(&schema.compaction_options)
        );
    }
}

/// The profiles of a line, as they stand behind its settings.
pub fn profiles(specs: &[Spec]) -> String {
    let mut text = String::from("******************** Profile(s) ********************\n");
    for spec in specs {
        let (profile, insert) = (&spec.profile, &spec.profile.insert);
        let definition = |text: Option<&String>| or_null(text.map(|text| text.trim_end()));
        let _infallible = writeln!(
            text,
            "  Keyspace Name: {}\n  Keyspace CQL: \n***\n{}\n***\n\n  Table Name: {}\n  Table CQL: \n***\n{}\n***\n",
            profile.keyspace,
            definition(profile.keyspace_definition.as_ref()),
            profile.table,
            definition(profile.table_definition.as_ref())
        );
        let extra = &profile.extra_definitions;
        let extra = (!extra.is_empty()).then(|| format!("[{}]", extra.join(", ")));
        let _infallible = writeln!(text, "  Extra Schema Definitions: {}", or_null(extra));
        let clusters = spec.table.columns.iter().filter(|c| c.kind.is_clustering());
        let (mut least, mut most) = (1.0, 1.0);
        for column in clusters {
            let given = profile.columns.get(&column.name);
            let (min, max) = given.map_or((1, 1), |c| (c.cluster.min(), c.cluster.max()));
            least *= min as f64;
            most *= max as f64;
        }
        let (few, many) = (insert.partitions.min(), insert.partitions.max());
        let (least, most) = (least * few as f64, most * many as f64);
        let (from, to) = insert.select.ends();
        let _infallible = writeln!(
            text,
            "Generating batches with [{few}..{many}] partitions and [{}..{}] rows (of [{}..{}] total rows in the partitions)",
            fixed(from * least, 0),
            fixed(to * most, 0),
            fixed(least, 0),
            fixed(most, 0)
        );
    }
    text.push('\n');
    text
}

fn rate(text: &mut String, rate: Rate) {
    let auto = matches!(rate, Rate::Search { auto: true, .. });
    let _infallible = writeln!(text, "Rate:\n  Auto: {auto}");
    let _infallible = match rate {
        Rate::Search {
            auto: true,
            least,
            most,
        } => writeln!(text, "  Min Threads: {least}\n  Max Threads: {most}"),
        Rate::Search { auto: false, .. } => {
            writeln!(text, "  Thread Count: -1\n  OpsPer Sec: 0")
        }
        Rate::Threads { threads, limit } => {
            let per_second = match limit {
                Limit::None => 0,
                Limit::Throttle(rate) | Limit::Fixed(rate) => rate,
            };
            writeln!(
                text,
                "  Thread Count: {threads}\n  OpsPer Sec: {per_second}"
            )
        }
    };
}

fn population(text: &mut String, population: &Population) {
    text.push_str("Population:\n");
    let wrap = match &population.seeds {
        Seeds::Drawn(dist) => {
            let _infallible = writeln!(text, "  Distribution: {}", dist.in_words());
            false
        }
        Seeds::Sequence {
            from,
            to,
            wrap,
            lookback,
        } => {
            let _infallible = writeln!(text, "  Sequence: {from}..{to}");
            if let Some(lookback) = lookback {
                let _infallible = writeln!(text, "  Read Look Back: {}", lookback.in_words());
            }
            *wrap
        }
    };
    let order = match population.contents {
        Contents::Arbitrary => "ARBITRARY",
        Contents::Shuffled => "SHUFFLED",
        Contents::Sorted => "SORTED",
    };
    let _infallible = writeln!(text, "  Order: {order}\n  Wrap: {wrap}");
}

fn transport(transport: &Transport) -> String {
    let each = [
        ("truststore", or_null(transport.truststore.as_ref())),
        (
            "truststore-password",
            suppressed(transport.truststore_password.as_ref()).to_owned(),
        ),
        ("keystore", or_null(transport.keystore.as_ref())),
        (
            "keystore-password",
            suppressed(transport.keystore_password.as_ref()).to_owned(),
        ),
        ("ssl-protocol", transport.protocol.clone()),
        ("ssl-alg", or_null(transport.algorithm.as_ref())),
        ("ssl-ciphers", transport.ciphers.clone()),
    ];
    let all: String = each
        .iter()
        .map(|(name, value)| format!("{name}={value}; "))
        .collect();
    format!("  {all}\n")
}
