//! From profiles to what operations send, and to what must be read back: pure functions of seed and position.
//! Refuses to remember what was sent: every answer is computed again.

mod check;
mod content;
pub(in crate::workload) mod markers;
pub(in crate::workload) mod query;
mod statements;
#[cfg(test)]
mod tests;
mod walk;

use super::Check;
use super::operation::{Bound, Request, Statement, Work};
use super::profile::{BatchKind, ProfileWorkload, Spec, VALIDATE};
use super::walk::Walk;
use crate::cql::{CqlType, CqlValue};
use crate::seed::{Seed, mix};
use content::{Content, Partition, RowKey};
use query::{Plan, Verb};
use std::collections::BTreeSet;
use walk::Averages;

/// Statements that one batch may hold: the protocol counts them in two bytes.
const BATCH: f64 = 65_535.0;
/// Partitions up to this many rows are walked to select some of them; of larger ones rows are picked.
const WALKED: u64 = 4_096;
/// The longest text or blob of one value, in bytes.
const LONGEST: i64 = 64 << 20;
/// The most elements of one collection, as the oldest protocol's two bytes count them.
const MOST_ELEMENTS: i64 = 65_535;

/// The most values of a clustering column below one prefix: all of them are held while a partition is walked.
const MOST_CLUSTERED: i64 = 10_000_000;

/// Makes what operations send and checks what comes back. Built once; cheap to ask.
#[derive(Debug, Clone)]
pub struct Maker {
    tables: Vec<Filled>,
    operations: Vec<Operation>,
    statements: Vec<Statement>,
}

/// A profile's table, how it is filled, and what its queries change of that.
#[derive(Debug, Clone)]
struct Filled {
    spec: Spec,
    content: Content,
    averages: Averages,
    counts: bool,
    /// Every row of a partition is written by an insert of it, and nothing takes rows away.
    complete: bool,
    loose: BTreeSet<usize>,
    partial: Option<BTreeSet<usize>>,
    takes: bool,
    /// Random bits for what operations choose.
    choice: Seed,
}

#[derive(Debug, Clone)]
struct Operation {
    table: usize,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// With the plan of its statement where that has a condition.
    Insert(Option<Plan>),
    Query(Plan),
    Scan {
        page_size: u32,
        plain: bool,
    },
}

/// Why profiles cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MakerError {
    /// Nothing to run.
    #[error("no profile was given")]
    Empty,
    /// A column that the table has not.
    #[error("columnspec of {spec} names the column {column:?}, which {table} does not have")]
    Column {
        /// The profile.
        spec: String,
        /// The column.
        column: String,
        /// The table.
        table: String,
        /// The nearest that there is.
        near: Option<String>,
    },
    /// A key column whose type no value can be made for.
    #[error("key column {column:?} of {table} is a {cql_type}: no values can be made for it")]
    Type {
        /// The column.
        column: String,
        /// The table.
        table: String,
        /// Its type.
        cql_type: String,
    },
    /// A marker that stands for no column.
    #[error(
        "query {operation:?}: cannot determine which column bind marker {number}{} is for",
        named(name)
    )]
    Marker {
        /// The operation.
        operation: String,
        /// Which marker, from 1.
        number: usize,
        /// Its name; empty for `?`.
        name: String,
    },
    /// A batch that no server takes.
    #[error(
        "insert of {spec} may write {rows} rows at once ({partitions} partitions of {each} rows, select {share}); a batch holds {BATCH}"
    )]
    Batch {
        /// The profile.
        spec: String,
        /// Rows of the largest operation.
        rows: u64,
        /// Partitions of the largest operation.
        partitions: i64,
        /// Rows of the largest partition.
        each: u64,
        /// Share that is selected.
        share: String,
    },
    /// Values that fit into no memory.
    #[error("column {column:?} of {spec}: {size} is too large, at most {most}")]
    Size {
        /// The profile.
        spec: String,
        /// The column.
        column: String,
        /// What was asked for.
        size: String,
        /// The most that is taken.
        most: i64,
    },
    /// A column to be read that the table has not.
    #[error(
        "token_range_queries: {operation:?} reads the column {column:?}, which {table} does not have"
    )]
    Read {
        /// The operation.
        operation: String,
        /// The column.
        column: String,
        /// The table.
        table: String,
    },
}

fn named(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!(" (:{name})")
    }
}

impl MakerError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty => "name a profile or a built-in workload".to_owned(),
            Self::Column { near: Some(near), .. } => format!("the nearest column is {near:?}"),
            Self::Column { .. } | Self::Read { .. } => {
                "the columns are those of table_definition, or of the existing table".to_owned()
            }
            Self::Type { .. } => "give the column a native CQL type".to_owned(),
            Self::Marker { .. } => {
                "compare the marker with a column, insert it into one, or name it after one (:column)".to_owned()
            }
            Self::Batch { .. } => {
                "make partitions, select or the columns' cluster smaller: fixed(1)/N writes one N-th of the rows".to_owned()
            }
            Self::Size { .. } => "give the column a smaller size".to_owned(),
        }
    }
}

impl Maker {
    /// From the profiles and the seed of the data ([`super::data_seed`]).
    ///
    /// # Errors
    /// Columns that the table has not, types without values, markers that stand for nothing known, batches and values
    /// that are too large.
    pub fn new(profiles: &ProfileWorkload, data: Seed) -> Result<Self, MakerError> {
        if profiles.specs.is_empty() {
            return Err(MakerError::Empty);
        }
        let names = profiles.operations();
        let mut maker = Self {
            tables: Vec::new(),
            operations: Vec::new(),
            statements: Vec::new(),
        };
        for spec in &profiles.specs {
            maker.add(spec, data, &names, profiles.walk.as_ref())?;
        }
        Ok(maker)
    }

    fn add(
        &mut self,
        spec: &Spec,
        data: Seed,
        names: &[String],
        walk: Option<&Walk>,
    ) -> Result<(), MakerError> {
        check_columns(spec)?;
        let content = Content::new(&spec.profile, &spec.table, data, walk.is_some());
        check_sizes(spec, &content, walk)?;
        let table = self.tables.len();
        let first = self.operations.len();
        let name = |number: usize| names.get(first + number).cloned().unwrap_or_default();
        let mut filled = Filled::new(spec, content, data);
        // Of a line nobody knows which rows it writes: partitions are written in visits, and by chance.
        filled.complete &= walk.is_none();
        let made = statements::all(spec, &filled.content, name)?;
        for (statement, kind) in made {
            if let Kind::Query(plan) = &kind {
                filled.take(plan);
            }
            self.statements.push(statement);
            self.operations.push(Operation { table, kind });
        }
        self.tables.push(filled);
        Ok(())
    }

    /// What must be prepared, in order; a [`Request`] names places in it.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// How many positions operation number `index` of this kind takes: 1 unless `insert.partitions` says otherwise.
    pub fn partitions(&self, operation: usize, index: u64) -> u32 {
        let Operation { table, kind } = &self.operations[operation];
        let filled = &self.tables[*table];
        if !matches!(kind, Kind::Insert(_)) {
            return 1;
        }
        let drawn = filled
            .spec
            .profile
            .insert
            .partitions
            .draw(mix(filled.choice.at(index)));
        u32::try_from(drawn.max(1)).unwrap_or(1)
    }

    /// What operation number `index` sends. `operation` is its place in `ProfileWorkload::operations()`; positions are
    /// the partitions' seeds, at least one.
    pub fn make(&self, operation: usize, index: u64, positions: &[u64]) -> Work {
        let Operation { table, kind } = &self.operations[operation];
        let filled = &self.tables[*table];
        match kind {
            Kind::Insert(plan) => filled.insert(operation, plan.as_ref(), index, positions),
            Kind::Scan { page_size, .. } => Work {
                request: Request::Scan {
                    statement: operation,
                    page_size: *page_size,
                },
                partitions: 0,
                rows: 0,
                by_answer: false,
            },
            Kind::Query(plan) => {
                let partition = filled.content.partition(first(positions));
                let bound = plan.bind(&filled.content, &partition, filled.choice.at(index));
                Work {
                    request: Request::Single(operation, bound),
                    partitions: 1,
                    rows: u32::from(plan.verb != Verb::Select),
                    by_answer: false,
                }
            }
        }
    }

    /// Whether the rows that came back are what must have been written; `columns` are their names.
    ///
    /// [`Check::Missing`] is said only where the workload writes all rows of a partition (select 1/1), takes none away,
    /// and the statement cannot have left the row out. Counters, and columns that a query of the profile may give
    /// another value, are not compared.
    pub fn check(
        &self,
        operation: usize,
        index: u64,
        positions: &[u64],
        columns: &[&str],
        rows: &[Vec<Option<CqlValue>>],
    ) -> Check {
        let Operation { table, kind } = &self.operations[operation];
        let filled = &self.tables[*table];
        match kind {
            Kind::Insert(_) => Check::Match,
            Kind::Scan { plain, .. } => check::scanned(filled, *plain, columns, rows),
            Kind::Query(plan) => {
                let partition = filled.content.partition(first(positions));
                let index = filled.choice.at(index);
                check::read(filled, plan, &partition, index, columns, rows)
            }
        }
    }

    /// Whether this operation is there to check: `validate`, where no query has its name.
    pub fn validates(&self, operation: usize) -> bool {
        let (Some(one), Some(statement)) = (
            self.operations.get(operation),
            self.statements.get(operation),
        ) else {
            return false;
        };
        let own = statement.operation.rsplit('.').next();
        own == Some(VALIDATE) && self.tables[one.table].spec.profile.validates()
    }

    /// Every row of one partition, in key order: key columns and cells by the table's column order, none where a cell
    /// is not written. Where partitions take turns it is the one row that the position writes.
    pub fn rows(
        &self,
        spec: usize,
        position: u64,
    ) -> impl Iterator<Item = Vec<Option<CqlValue>>> + '_ {
        let content = &self.tables[spec].content;
        let partition = content.partition(position);
        content
            .rows(&partition)
            .map(move |row| content.row(&partition, &row))
    }

    /// About how many rows the partition has, without walking it.
    pub fn about_rows(&self, spec: usize, position: u64) -> u64 {
        let content = &self.tables[spec].content;
        if content.in_turns() {
            return 1;
        }
        content.about(&content.partition(position))
    }

    /// Some row of a partition, found without the others: which one follows from `choice`.
    pub fn some_row(&self, spec: usize, position: u64, choice: u64) -> Vec<Option<CqlValue>> {
        let content = &self.tables[spec].content;
        let partition = content.partition(position);
        content.row(&partition, &content.pick(&partition, mix(choice)))
    }

    /// Whether each row of a written partition must be there: inserts write all of them (select 1/1), and no query and
    /// no time to live takes any away.
    pub fn writes_all_rows(&self, spec: usize) -> bool {
        self.tables[spec].complete
    }

    /// Whether this cell (its place in the table's columns) stands as [`Self::rows`] says: counters, and columns that a
    /// query of the profile may give another value, do not.
    pub fn compares(&self, spec: usize, column: usize) -> bool {
        self.tables[spec].compares(column)
    }
}

fn first(positions: &[u64]) -> u64 {
    positions.first().copied().unwrap_or(0)
}

impl Filled {
    fn new(spec: &Spec, content: Content, data: Seed) -> Self {
        let profile = &spec.profile;
        let definition = profile.table_definition.as_deref().unwrap_or_default();
        let expires = definition.to_lowercase().contains("default_time_to_live");
        Self {
            counts: spec.table.counts(),
            complete: profile.insert.select.ends().0 >= 1.0 && !expires,
            loose: BTreeSet::new(),
            partial: None,
            takes: expires,
            choice: data.derive(&format!("choice\0{}", spec.table.qualified())),
            spec: spec.clone(),
            averages: Averages::of(&content),
            content,
        }
    }

    /// Remembers what a query changes.
    fn take(&mut self, plan: &Plan) {
        let effect = &plan.effect;
        self.loose.extend(&effect.loose);
        if let Some(columns) = &effect.partial
            && plan.verb != Verb::Select
        {
            self.partial.get_or_insert_default().extend(columns);
        }
        self.takes |= effect.takes;
        self.complete &= !effect.takes;
    }

    fn compares(&self, column: usize) -> bool {
        let source = &self.content.sources[column];
        !self.loose.contains(&column)
            && !matches!(source.cql_type, CqlType::Counter | CqlType::Custom(_))
    }

    fn insert(&self, operation: usize, plan: Option<&Plan>, index: u64, positions: &[u64]) -> Work {
        let mut rows = Vec::new();
        let mut seen = BTreeSet::new();
        for position in positions {
            let partition = self.content.partition(*position);
            // In turns two positions of one partition are two rows.
            let new = seen.insert(partition.digest);
            if self.content.in_turns() || new {
                self.selected(&partition, index, |row| {
                    let bound = match plan {
                        Some(plan) => plan.bind_row(&self.content, &partition, row, index),
                        None => self.bound(&partition, row),
                    };
                    rows.push((operation, bound));
                });
            }
        }
        self.sent(rows, u32::try_from(seen.len()).unwrap_or(u32::MAX))
    }

    /// Rows as they are sent: one by itself, several in a batch.
    fn sent(&self, mut rows: Vec<(usize, Vec<Bound>)>, partitions: u32) -> Work {
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let kind = match self.spec.profile.insert.batch {
            _ if self.counts => BatchKind::Counter,
            other => other,
        };
        let request = match (rows.len(), rows.pop()) {
            (1, Some((statement, bound))) => Request::Single(statement, bound),
            (_, last) => {
                rows.extend(last);
                Request::Batch(kind, rows)
            }
        };
        Work {
            request,
            partitions,
            rows: count,
            by_answer: false,
        }
    }

    /// The rows of a partition that operation number `index` writes; at least one.
    fn selected(&self, partition: &Partition, index: u64, mut take: impl FnMut(&RowKey)) {
        let content = &self.content;
        let bits = mix(self.choice.at(index) ^ partition.digest);
        let part = self.spec.profile.insert.select.draw(bits);
        if part >= 1.0 || content.clustering_columns == 0 || content.in_turns() {
            content.rows(partition).for_each(|row| take(&row));
            return;
        }
        let about = content.about(partition);
        let chosen = |row: u64| unit(mix(bits ^ row)) < part;
        if about <= WALKED {
            let mut none = true;
            for row in content.rows(partition).filter(|row| chosen(row.digest)) {
                none = false;
                take(&row);
            }
            if none {
                take(&content.pick(partition, mix(bits)));
            }
            return;
        }
        let wanted = part.max(0.0) * about as f64;
        let more = u64::from(unit(mix(!bits)) < wanted.fract());
        let mut seen = BTreeSet::new();
        for number in 0..(wanted as u64 + more).max(1) {
            let row = content.pick(partition, mix(bits ^ mix(number)));
            if seen.insert(row.digest) {
                take(&row);
            }
        }
    }

    /// A row as the insert's markers have it: by the table's column order, counters first where there are any.
    fn bound(&self, partition: &Partition, row: &RowKey) -> Vec<Bound> {
        let mut cells: Vec<Bound> = self
            .content
            .row(partition, row)
            .into_iter()
            .zip(&self.content.sources)
            .filter(|(_, source)| !matches!(source.cql_type, CqlType::Custom(_)))
            .map(|(cell, _)| cell.map_or(Bound::Unset, Bound::Value))
            .collect();
        if self.counts {
            cells.rotate_left(self.content.partition_columns + self.content.clustering_columns);
        }
        cells
    }
}

/// 64 random bits as a number of 0 inclusive to 1 exclusive.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

fn check_columns(spec: &Spec) -> Result<(), MakerError> {
    let table = &spec.table;
    for column in spec.profile.columns.keys() {
        let known = |name: &str| {
            table
                .columns
                .iter()
                .any(|c| c.name.eq_ignore_ascii_case(name))
        };
        if !known(column) {
            let names = table.columns.iter().map(|c| c.name.as_str());
            return Err(MakerError::Column {
                spec: spec.profile.specname.clone(),
                column: column.clone(),
                table: table.qualified(),
                near: crate::nearest::nearest(column, names).map(str::to_owned),
            });
        }
    }
    for column in &table.columns {
        if column.kind.is_key() && matches!(column.cql_type, CqlType::Custom(_)) {
            return Err(MakerError::Type {
                column: column.name.clone(),
                table: table.qualified(),
                cql_type: column.cql_type.to_string(),
            });
        }
    }
    Ok(())
}

fn check_sizes(spec: &Spec, content: &Content, walk: Option<&Walk>) -> Result<(), MakerError> {
    let profile = &spec.profile;
    for (column, source) in spec.table.columns.iter().zip(&content.sources) {
        let most = match source.cql_type {
            CqlType::Ascii | CqlType::Text | CqlType::Blob => LONGEST,
            _ => MOST_ELEMENTS,
        };
        if source.size().max() > most {
            return Err(MakerError::Size {
                spec: profile.specname.clone(),
                column: column.name.clone(),
                size: source.size().to_string(),
                most,
            });
        }
    }
    for (column, source) in spec.table.columns.iter().zip(&content.sources) {
        if column.kind.is_clustering() && source.cluster().max() > MOST_CLUSTERED {
            return Err(MakerError::Size {
                spec: profile.specname.clone(),
                column: column.name.clone(),
                size: format!("cluster {}", source.cluster()),
                most: MOST_CLUSTERED,
            });
        }
    }
    let each = content.most_rows();
    let insert = &profile.insert;
    let partitions = insert.partitions.max().max(1);
    let rows = each * partitions as f64 * insert.select.ends().1.min(1.0);
    // Of a line the largest operation is reckoned as cassandra-stress does it, which refuses only what is logged.
    let visits = walk.map_or(1, |walk| walk.visits.min().max(1));
    let rows = rows / visits as f64;
    if rows > BATCH && (walk.is_none() || insert.batch == BatchKind::Logged) {
        return Err(MakerError::Batch {
            spec: profile.specname.clone(),
            rows: rows as u64,
            partitions,
            each: each as u64,
            share: insert.select.to_string(),
        });
    }
    Ok(())
}
