//! What a line becomes here: workload, schema, phases, and what of it changes nothing.
//! Refuses to know where it runs.

use super::error::StressError;
use super::value::{Command, Kind, Level, Limit, Rate, Seeds, Stress, Until};
use crate::consistency::Consistency;
use crate::cql::{CqlType, identifier};
use crate::dist::Dist;
use crate::nearest::nearest;
use crate::positions::Positions;
use crate::run_plan::{Extent, Phase, Share, Shown, Target};
use crate::table::{ColumnKind, Table, TableColumn};
use crate::workload::Workload;
use crate::workload::profile::{
    ColumnSpec, InsertSpec, Profile, ProfileWorkload, QuerySpec, Spec, VALIDATE,
};
use crate::workload::walk::Walk;
use std::collections::BTreeMap;

/// Operations before the first that counts, where the line does not say how many count.
const WARM_UP: u64 = 50_000;

/// Operations in flight in a warm-up, at most.
const WARM_UP_THREADS: u32 = 100;

/// The scale on which weights become whole numbers.
const WEIGHTS: f64 = 1000.0;

/// An operation of a line: its name in the workload, and in the table of results.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// In the workload.
    pub operation: String,
    /// In rows, summary and tags.
    pub shown: String,
    /// How often beside the others.
    pub weight: f64,
    /// Partitions that it takes on average: `n=` and rates count them.
    pub partitions: f64,
    /// Whether it only reads what may not be there: a query of a profile.
    pub may_find_nothing: bool,
}

impl Stress {
    /// The workload of a pre-defined command; none for `user`, whose profiles are files.
    pub fn workload(&self) -> Option<Workload> {
        let kinds = self.kinds()?;
        if self.is_plain() && !kinds.iter().any(|(kind, _)| kind.counts()) {
            return Some(Workload::Standard1);
        }
        let of = |counts: bool| kinds.iter().any(|(kind, _)| kind.counts() == counts);
        let tables = [(false, "standard1"), (true, "counter1")];
        Some(Workload::Profiles(ProfileWorkload {
            name: self.command.name().to_ascii_lowercase(),
            specs: tables
                .into_iter()
                .filter(|(counts, _)| of(*counts))
                .map(|(counts, table)| self.spec(table, counts))
                .collect(),
            walk: None,
        }))
    }

    /// The pre-defined operations with their weights.
    fn kinds(&self) -> Option<Vec<(Kind, f64)>> {
        match &self.command {
            Command::Mixed { ratios, .. } => Some(ratios.clone()),
            command => Some(vec![(command.kind()?, 1.0)]),
        }
    }

    /// Whether standard1 is as cassandra-stress makes it by default.
    fn is_plain(&self) -> bool {
        let columns = &self.columns;
        let names = columns.names.iter().map(String::as_str);
        names.eq(["C0", "C1", "C2", "C3", "C4"])
            && columns.size.only() == Some(34)
            && !columns.slice
            && self.command.simple().is_none_or(|s| s.key_bytes == 10)
            && self.schema.keyspace == "keyspace1"
            && self.insert.partitions.is_none()
            && self.insert.consistency.is_none()
    }

    fn spec(&self, table: &str, counts: bool) -> Spec {
        let names = &self.columns.names;
        let simple = self.command.simple();
        let key = ColumnSpec {
            size: Dist::fixed(simple.map_or(10, |s| i64::from(s.key_bytes))),
            // Every position has a key of its own.
            population: Dist::sequence(0, i64::MAX - 1),
            cluster: Dist::fixed(1),
        };
        let cell = ColumnSpec {
            size: self.columns.size.clone(),
            population: match simple.filter(|_| counts) {
                Some(simple) => simple.add.clone(),
                None => ColumnSpec::default().population,
            },
            cluster: Dist::fixed(1),
        };
        let column = |name: &str, cql_type, kind| TableColumn {
            name: name.to_owned(),
            cql_type,
            kind,
        };
        let cell_type = if counts {
            CqlType::Counter
        } else {
            CqlType::Blob
        };
        let cells = names
            .iter()
            .map(|name| column(name, cell_type.clone(), ColumnKind::Regular));
        let first = column("key", CqlType::Blob, ColumnKind::Partition);
        let read: Vec<String> = names.iter().map(|name| identifier(name)).collect();
        let read = if self.columns.slice {
            "*".to_owned()
        } else {
            read.join(", ")
        };
        let keyspace = &self.schema.keyspace;
        let query = QuerySpec {
            cql: format!(
                "SELECT {read} FROM {}.{table} WHERE key = ?",
                identifier(keyspace)
            ),
            same_row: true,
            consistency: None,
            serial_consistency: None,
        };
        let columns = names.iter().map(|name| (name.clone(), cell.clone()));
        Spec {
            profile: Profile {
                specname: table.to_owned(),
                keyspace: keyspace.clone(),
                keyspace_definition: None,
                table: table.to_owned(),
                table_definition: None,
                extra_definitions: Vec::new(),
                columns: columns.chain([("key".to_owned(), key)]).collect(),
                insert: self.inserts(InsertSpec::default()),
                queries: BTreeMap::from([("read".to_owned(), query)]),
                token_range_queries: BTreeMap::new(),
            },
            table: Table {
                keyspace: keyspace.clone(),
                name: table.to_owned(),
                columns: std::iter::once(first).chain(cells).collect(),
            },
        }
    }

    /// A profile's inserts as `-insert` changes them.
    pub fn inserts(&self, own: InsertSpec) -> InsertSpec {
        let insert = &self.insert;
        let one = crate::dist::RatioDist::one();
        let given = Some(&insert.row_population).filter(|ratio| **ratio != one);
        let level = match insert.consistency {
            Some(Level::Plain(level)) => Some(level),
            _ => own.consistency,
        };
        InsertSpec {
            partitions: insert.partitions.clone().unwrap_or(own.partitions),
            select: insert.select.clone().unwrap_or(own.select),
            row_population: given.cloned().unwrap_or(own.row_population),
            batch: insert.batch.unwrap_or(own.batch),
            consistency: level,
            serial_consistency: insert.serial_consistency.or(own.serial_consistency),
            ..own
        }
    }

    /// The statements that make keyspace and tables; only `write` and `counter_write` make them, as in cassandra-stress.
    pub fn schema_statements(&self) -> Vec<String> {
        if !matches!(self.command, Command::Write(_) | Command::CounterWrite(_)) {
            return Vec::new();
        }
        let schema = &self.schema;
        let keyspace = identifier(&schema.keyspace);
        let options = |pairs: &[(String, String)]| -> String {
            let each = pairs.iter();
            each.map(|(name, value)| format!(", {}: {}", text(name), text(value)))
                .collect()
        };
        let mut with = match &schema.compression {
            Some(class) if !class.is_empty() => {
                format!("compression = {{'class': {}}}", text(class))
            }
            _ => "compression = {'enabled': 'false'}".to_owned(),
        };
        if let Some(class) = &schema.compaction {
            with.push_str(&format!(
                " AND compaction = {{'class': {}{}}}",
                text(class),
                options(&schema.compaction_options)
            ));
        }
        let table = |name: &str, cell: &str| {
            let cells = self.columns.names.iter();
            let cells: String = cells
                .map(|c| format!(", {} {cell}", identifier(c)))
                .collect();
            format!(
                "CREATE TABLE IF NOT EXISTS {keyspace}.{name} (key blob PRIMARY KEY{cells}) WITH {with}"
            )
        };
        let mut all = vec![
            format!(
                "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {{'class': {}{}}} AND durable_writes = true",
                text(&schema.strategy),
                options(&schema.replication)
            ),
            table("standard1", "blob"),
        ];
        if matches!(self.command, Command::CounterWrite(_)) {
            all.push(table("counter1", "counter"));
        }
        all
    }

    /// The tables that its operations are about, beside those of profiles: keyspace and name.
    pub fn tables(&self) -> Vec<(String, String)> {
        let kinds = self.kinds().unwrap_or_default();
        let of = |counts: bool| kinds.iter().any(|(kind, _)| kind.counts() == counts);
        [(false, "standard1"), (true, "counter1")]
            .into_iter()
            .filter(|(counts, _)| of(*counts))
            .map(|(_, table)| (self.schema.keyspace.clone(), table.to_owned()))
            .collect()
    }

    /// The operations by both their names.
    ///
    /// # Errors
    /// An operation that no profile has.
    pub fn operations(&self, workload: &Workload) -> Result<Vec<Named>, StressError> {
        let several = matches!(workload, Workload::Profiles(profiles) if profiles.specs.len() > 1);
        if let Some(kinds) = self.kinds() {
            let name = |kind: Kind| match (workload, kind.writes()) {
                (Workload::Standard1, true) => "write".to_owned(),
                (Workload::Standard1, false) => "read".to_owned(),
                (_, writes) => {
                    let table = if kind.counts() {
                        "counter1"
                    } else {
                        "standard1"
                    };
                    let own = if writes { "insert" } else { "read" };
                    if several {
                        format!("{table}.{own}")
                    } else {
                        own.to_owned()
                    }
                }
            };
            let named = kinds.into_iter().map(|(kind, weight)| {
                let operation = name(kind);
                Named {
                    partitions: partitions(workload, &operation),
                    operation,
                    shown: kind.name().to_owned(),
                    weight,
                    may_find_nothing: false,
                }
            });
            return Ok(named.filter(|named| named.weight > 0.0).collect());
        }
        let Command::User { ops, .. } = &self.command else {
            return Ok(Vec::new());
        };
        let known = workload.operations();
        let all = ops.iter().filter(|(_, weight)| *weight > 0.0);
        all.map(|(name, weight)| {
            let operation = operation(name, workload, &known)?;
            Ok(Named {
                partitions: partitions(workload, &operation),
                may_find_nothing: reads(workload, &operation),
                operation,
                shown: name.clone(),
                weight: *weight,
            })
        })
        .collect()
    }

    /// The operations as cassandra-stress lists them before a run.
    pub fn described(&self, operations: &[Named]) -> String {
        match self.command.kind() {
            Some(kind) => kind.name().to_owned(),
            None => {
                let names: Vec<&str> = operations.iter().map(|o| o.shown.as_str()).collect();
                format!("[{}]", names.join(", "))
            }
        }
    }

    /// The consistency of every operation that brings none.
    ///
    /// # Errors
    /// A level of serial reads.
    pub fn level(&self) -> Result<Consistency, StressError> {
        match self.consistency {
            Level::Plain(level) => Ok(level),
            Level::Serial(_) => Err(StressError::Rule(format!(
                "cl={} is a level for serial reads, which are not supported here; use serial-cl= for compare-and-set",
                self.consistency.name()
            ))),
        }
    }

    /// The phase with so many operations in flight.
    ///
    /// # Errors
    /// No operation in flight, no time, or no seeds.
    pub fn phase(&self, threads: u32, operations: &[Named]) -> Result<Phase, StressError> {
        let rule = |text: &str| Err(StressError::Rule(text.to_owned()));
        if threads == 0 {
            return rule("-rate: threads must be above 0");
        }
        let (rate, shown) = match self.rate {
            Rate::Threads {
                limit: Limit::Throttle(rate),
                ..
            } => (Some(rate), Shown::Service),
            Rate::Threads {
                limit: Limit::Fixed(rate),
                ..
            } => (Some(rate), Shown::Response),
            Rate::Threads { .. } | Rate::Search { .. } => (None, Shown::Service),
        };
        let extent = match self.until {
            Until::Count(count) => Extent::Count(count),
            Until::Time { .. } => match self.until.seconds() {
                Some(0) | None => return rule("duration= must be above 0"),
                Some(seconds) => Extent::DurationMs(seconds.saturating_mul(1000)),
            },
            Until::Error { below, least, most } => Extent::Until(Target {
                error: below,
                least,
                most,
            }),
        };
        let (positions, population) = self.positions()?;
        Ok(Phase {
            name: self.command.name().to_ascii_lowercase(),
            operations: shares(operations),
            rate_per_s: rate.map(|rate| f64::from(rate) / taken(operations)),
            in_flight: threads,
            extent,
            by_position: operations.iter().any(|one| one.partitions > 1.0),
            population,
            positions,
            // A query of a profile may read what was never written, as there.
            verify: !self.errors.skip_read_validation
                && !matches!(self.command, Command::User { .. }),
            serial_consistency: Some(self.serial_consistency),
            // Who ignores errors counts them; who does not tries again, and then ends.
            repeat: (!self.errors.ignore && !self.errors.skip_read_validation)
                .then(|| self.errors.tries.saturating_sub(1)),
            shown: Some(shown),
            ..Phase::default()
        })
    }

    /// How a profile's operations take partitions and rows.
    ///
    /// # Errors
    /// A series whose first seed is above its last.
    pub fn walk(&self) -> Result<Walk, StressError> {
        Ok(Walk {
            visits: self.insert.visits.clone(),
            revisit: self.insert.revisit.clone(),
            positions: self.positions()?.0,
        })
    }

    fn positions(&self) -> Result<(Positions, u64), StressError> {
        match &self.population.seeds {
            Seeds::Sequence { from, to, .. } if from > to => Err(StressError::Rule(format!(
                "-pop seq={from}..{to}: the first is above the last"
            ))),
            Seeds::Sequence { from, to, wrap, .. } => Ok((
                Positions::Range {
                    from: *from,
                    to: to.saturating_add(1),
                    wrap: *wrap,
                },
                (to - from).saturating_add(1),
            )),
            Seeds::Drawn(dist) => {
                let width = dist.max().abs_diff(dist.min()).saturating_add(1);
                Ok((Positions::Drawn(dist.clone()), width))
            }
        }
    }

    /// The phases before the first that counts: each operation by itself.
    ///
    /// # Errors
    /// As [`Self::phase`].
    pub fn warm_ups(&self, nodes: u64, operations: &[Named]) -> Result<Vec<Phase>, StressError> {
        let each = match self.until {
            Until::Count(count) => WARM_UP.min(count / 4),
            Until::Time { .. } | Until::Error { .. } => WARM_UP,
        };
        let count = each.saturating_mul(nodes.max(1));
        if self.no_warmup || count == 0 {
            return Ok(Vec::new());
        }
        let most = match self.rate {
            Rate::Threads { threads, .. } => threads,
            Rate::Search { most, .. } => most,
        };
        let phase = |one: &Named| {
            let whole = self.phase(most.min(WARM_UP_THREADS), std::slice::from_ref(one))?;
            Ok(Phase {
                name: one.shown.clone(),
                rate_per_s: None,
                extent: Extent::Count(count),
                shown: Some(Shown::Service),
                ..whole
            })
        };
        operations.iter().map(phase).collect()
    }

    /// What of the line changes nothing here, or not as it does there.
    pub fn cautions(&self) -> Vec<String> {
        let mut all = self.notes.clone();
        let mut say = |what: &str, why: &str| all.push(format!("{what} changes nothing: {why}"));
        let user = matches!(self.command, Command::User { .. });
        if self.insert.visits.only() != Some(1) && !user {
            say("-insert visits=", "a partition of these tables has one row");
        }
        if let Seeds::Sequence {
            lookback: Some(_), ..
        } = self.population.seeds
        {
            say("-pop read-lookback=", "reads take the same seeds as writes");
        }
        if self.token_range.wrap || self.token_range.split_factor != 1 {
            say(
                "-tokenrange",
                "ranges are taken in ring order, again and again",
            );
        }
        if self.node.whitelist {
            say("-node whitelist", "every node of the data centre is asked");
        }
        if self.columns.timestamp.is_some() {
            say("-col timestamp=", "the coordinator's clock is used");
        }
        if self
            .columns
            .count
            .as_ref()
            .is_some_and(|count| count.only().is_none())
        {
            say("-col n= as a distribution", "every row has all columns");
        }
        if self.errors.delay.0 != "constant" || self.errors.delay.1 > 0 {
            say("-errors delay-policy=", "each retry waits a little longer");
        }
        let kinds = self.kinds().unwrap_or_default();
        let reads = kinds.iter().any(|(kind, _)| *kind == Kind::Read);
        if reads && self.is_plain() && kinds.iter().any(|(kind, _)| kind.counts()) {
            all.push(
                "with counters, the rows of standard1 differ from those without: fill it with a line that has counters, too"
                    .to_owned(),
            );
        }
        all
    }
}

impl Kind {
    /// Whether it is about counters.
    pub fn counts(self) -> bool {
        matches!(self, Self::CounterWrite | Self::CounterRead)
    }
}

/// A profile's operation by the name in `ops(…)`: without a profile's name the first one is meant.
fn operation(name: &str, workload: &Workload, known: &[String]) -> Result<String, StressError> {
    let specs: Vec<&str> = match workload {
        Workload::Profiles(profiles) => {
            let specs = profiles.specs.iter();
            specs.map(|spec| spec.profile.specname.as_str()).collect()
        }
        _ => Vec::new(),
    };
    let (spec, own) = match name.rsplit_once('.') {
        Some((spec, own)) => (Some(spec), own),
        None => (None, name),
    };
    let own = ["insert", VALIDATE]
        .into_iter()
        .find(|word| own.eq_ignore_ascii_case(word))
        .unwrap_or(own);
    let wanted = match (spec, &specs[..]) {
        (None, [first, _, ..]) => format!("{first}.{own}"),
        (Some(spec), [_, _, ..]) => format!("{spec}.{own}"),
        (Some(spec), [only]) if spec != *only => format!("{spec}.{own}"),
        _ => own.to_owned(),
    };
    if known.contains(&wanted) {
        return Ok(wanted);
    }
    Err(StressError::Operation {
        name: name.to_owned(),
        nearest: nearest(&wanted, known.iter().map(String::as_str)).map(str::to_owned),
        known: known.to_vec(),
    })
}

/// The profile of an operation, and the operation's own name.
fn profile_of<'a>(workload: &'a Workload, operation: &'a str) -> Option<(&'a Profile, &'a str)> {
    let Workload::Profiles(profiles) = workload else {
        return None;
    };
    if let [only] = &profiles.specs[..] {
        return Some((&only.profile, operation));
    }
    profiles.specs.iter().find_map(|spec| {
        let own = operation.strip_prefix(&spec.profile.specname)?;
        Some((&spec.profile, own.strip_prefix('.')?))
    })
}

/// Partitions that an operation takes on average.
fn partitions(workload: &Workload, operation: &str) -> f64 {
    match profile_of(workload, operation) {
        Some((profile, "insert")) => profile.insert.partitions.mean().max(1.0),
        _ => 1.0,
    }
}

/// Whether an operation is a SELECT of a profile.
fn reads(workload: &Workload, operation: &str) -> bool {
    let query = profile_of(workload, operation);
    let query = query.and_then(|(profile, own)| profile.queries.get(own));
    query.is_some_and(|query| {
        let first = query.cql.split_whitespace().next();
        first.is_some_and(|word| word.eq_ignore_ascii_case("select"))
    })
}

/// Partitions that an operation of the mix takes on average.
fn taken(operations: &[Named]) -> f64 {
    let weights: f64 = operations.iter().map(|one| one.weight).sum();
    let all = operations.iter().map(|one| one.weight * one.partitions);
    let mean = all.sum::<f64>() / weights;
    if mean.is_finite() { mean.max(1.0) } else { 1.0 }
}

/// Weights as whole numbers in the same proportion.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "weights are above 0, and a cast saturates"
)]
fn shares(operations: &[Named]) -> Vec<Share> {
    let whole = operations
        .iter()
        .all(|o| o.weight.fract() == 0.0 && o.weight < 1e6);
    let least = operations
        .iter()
        .map(|o| o.weight)
        .fold(f64::INFINITY, f64::min);
    let factor = if whole { 1.0 } else { WEIGHTS / least.min(1.0) };
    let largest = operations.iter().map(|o| o.weight).fold(0.0, f64::max);
    // Proportions below one in four milliards are lost.
    let factor = factor.min(f64::from(u32::MAX) / largest.max(1.0));
    let share = |one: &Named| Share {
        operation: one.operation.clone(),
        weight: ((one.weight * factor).round() as u32).max(1),
    };
    operations.iter().map(share).collect()
}

/// A text as CQL has it.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

#[cfg(test)]
mod tests;
