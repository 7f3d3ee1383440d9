//! A profile drafted from a table that is there and from rows that were read of it.
//! Refuses to copy data: of a column only sizes, ranges and counts come into the draft.

use crate::cql::{CqlType, CqlValue};
use crate::table::{ColumnKind, Described, Table};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Values kept to count how many different ones a column has.
const KEPT: usize = 100_000;

/// What rows show about a table: fed partition by partition, then asked for a draft.
#[derive(Debug, Clone)]
pub struct Observed {
    table: Table,
    columns: Vec<Column>,
    /// For each clustering column, how many values it has below each prefix.
    fans: Vec<Vec<u64>>,
    partitions: u64,
    rows: u64,
}

#[derive(Debug, Clone, Default)]
struct Column {
    values: u64,
    size: Option<(u64, u64)>,
    number: Option<(i64, i64)>,
    different: HashSet<String>,
}

impl Observed {
    /// Nothing seen yet.
    pub fn new(table: &Table) -> Self {
        let clustering = table.columns.iter().filter(|c| c.kind.is_clustering());
        Self {
            columns: vec![Column::default(); table.columns.len()],
            fans: vec![Vec::new(); clustering.count()],
            table: table.clone(),
            partitions: 0,
            rows: 0,
        }
    }

    /// The rows of one partition in the table's order, each by the table's column order.
    pub fn partition(&mut self, rows: &[Vec<Option<CqlValue>>]) {
        self.partitions += 1;
        self.rows += rows.len() as u64;
        for (number, row) in rows.iter().enumerate() {
            let columns = self.table.columns.iter().zip(&mut self.columns);
            for ((declared, column), value) in columns.zip(row) {
                // A partition has one of these, however many rows it has.
                let once = matches!(declared.kind, ColumnKind::Partition | ColumnKind::Static);
                if let Some(value) = value.as_ref().filter(|_| number == 0 || !once) {
                    column.see(value);
                }
            }
        }
        let first = self
            .table
            .columns
            .iter()
            .filter(|c| c.kind == ColumnKind::Partition)
            .count();
        for level in 0..self.fans.len() {
            let key = |row: &[Option<CqlValue>]| format!("{:?}", row.get(first..first + level));
            let mut start = 0;
            while start < rows.len() {
                let prefix = key(&rows[start]);
                let below = rows[start..].iter().take_while(|row| key(row) == prefix);
                let values: HashSet<String> = below
                    .clone()
                    .map(|row| format!("{:?}", row.get(first + level)))
                    .collect();
                start += below.count().max(1);
                self.fans[level].push(values.len() as u64);
            }
        }
    }

    /// Partitions and rows that were seen.
    pub fn seen(&self) -> (u64, u64) {
        (self.partitions, self.rows)
    }

    /// A profile that makes rows like those that were seen.
    pub fn draft(&self, described: &Described, replication: &str) -> String {
        let table = &self.table;
        let name = |text: &str| quoted(text);
        let mut text = format!(
            "# Drafted from {} with {} partitions and {} rows read.\n# The table's options (compaction, compression) are not in it.\n",
            table.qualified(),
            self.partitions,
            self.rows
        );
        let mut add = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        add(format!("keyspace: {}", name(&table.keyspace)));
        add("keyspace_definition: |".to_owned());
        let keyspace = crate::cql::identifier(&table.keyspace);
        add(format!(
            "  CREATE KEYSPACE {keyspace} WITH replication = {replication}"
        ));
        add(format!("table: {}", name(&table.name)));
        add("table_definition: |".to_owned());
        described
            .definition
            .lines()
            .for_each(|line| add(format!("  {line}")));
        if !described.types.is_empty() {
            add("extra_definitions:".to_owned());
            described
                .types
                .iter()
                .for_each(|line| add(format!("  - {}", quoted(line))));
        }
        let specs: Vec<String> = (0..table.columns.len())
            .filter_map(|c| self.spec(c))
            .collect();
        if !specs.is_empty() {
            add("columnspec:".to_owned());
            specs.into_iter().for_each(add);
        }
        text.push_str(&self.operations());
        text
    }

    /// What a column's entry says; none where the defaults do.
    fn spec(&self, place: usize) -> Option<String> {
        let column = &self.table.columns[place];
        let seen = &self.columns[place];
        let mut entry = format!("  - name: {}\n", quoted(&column.name));
        let before = entry.len();
        let mut say = |key: &str, text: String| {
            let _infallible = writeln!(entry, "    {key}: {text}");
        };
        if let Some((least, most)) = seen.size {
            say("size", range(least.max(1), most.max(1)));
        }
        if let Some(population) = self.population(place) {
            say("population", population);
        }
        if column.kind.is_clustering() {
            let first = self
                .table
                .columns
                .iter()
                .position(|c| c.kind.is_clustering());
            let fans = &self.fans[place - first.unwrap_or(place)];
            let ends = fans.iter().copied().min().zip(fans.iter().copied().max());
            if let Some((least, most)) = ends {
                say("cluster", range(least.max(1), most.max(1)));
            }
        }
        (entry.len() > before).then(|| entry.trim_end().to_owned())
    }

    fn population(&self, place: usize) -> Option<String> {
        let column = &self.table.columns[place];
        let seen = &self.columns[place];
        if column.cql_type == CqlType::Counter {
            return Some("fixed(1)".to_owned());
        }
        if let Some((least, most)) = seen.number {
            return Some(match least.cmp(&most) {
                std::cmp::Ordering::Equal => format!("fixed({least})"),
                _ => format!("uniform({least}..{most})"),
            });
        }
        // Few values among many rows are all that there are; else there are more than were seen.
        let different = seen.different.len() as u64;
        (seen.values >= 20 && different * 2 < seen.values).then(|| match different {
            1 => "fixed(1)".to_owned(),
            more => format!("uniform(1..{more})"),
        })
    }

    fn operations(&self) -> String {
        let table = &self.table;
        let regular = table.columns.iter().zip(&self.columns);
        let regular = regular.filter(|(c, _)| c.kind == ColumnKind::Regular);
        let (columns, values) = regular.fold((0_u64, 0_u64), |(columns, values), (_, seen)| {
            (columns + 1, values + seen.values)
        });
        let cells = columns * self.rows;
        let share = (values * 100).checked_div(cells).unwrap_or(100);
        let mut text = "insert:\n  partitions: fixed(1)\n  batchtype: UNLOGGED\n".to_owned();
        if share < 100 {
            let _infallible = writeln!(text, "  row-population: fixed({})/100", share.max(1));
        }
        text.push_str("queries:\n");
        let names = |of: &dyn Fn(ColumnKind) -> bool| {
            let keys = table.columns.iter().filter(|c| of(c.kind));
            let keys: Vec<String> = keys
                .map(|c| format!("{} = ?", crate::cql::identifier(&c.name)))
                .collect();
            keys.join(" AND ")
        };
        let mut query = |name: &str, condition: String, behind: &str| {
            let from = table.qualified();
            let cql = format!("SELECT * FROM {from} WHERE {condition}{behind}");
            let _infallible = writeln!(
                text,
                "  {name}:\n    cql: {}\n    fields: samerow",
                quoted(&cql)
            );
        };
        query("row", names(&ColumnKind::is_key), "");
        if !self.fans.is_empty() {
            query(
                "partition",
                names(&|kind| kind == ColumnKind::Partition),
                " LIMIT 100",
            );
        }
        text
    }
}

impl Column {
    fn see(&mut self, value: &CqlValue) {
        use CqlValue as V;
        self.values += 1;
        let size = match value {
            V::Ascii(text) | V::Text(text) => Some(text.chars().count()),
            V::Blob(bytes) => Some(bytes.len()),
            V::List(all) | V::Set(all) => Some(all.len()),
            V::Map(all) => Some(all.len()),
            _ => None,
        };
        if let Some(size) = size.map(|size| size as u64) {
            let (least, most) = self.size.unwrap_or((size, size));
            self.size = Some((least.min(size), most.max(size)));
        }
        let number = match value {
            V::Bigint(n) | V::Timestamp(n) | V::Time(n) => Some(*n),
            V::Int(n) => Some(i64::from(*n)),
            V::Smallint(n) => Some(i64::from(*n)),
            V::Tinyint(n) => Some(i64::from(*n)),
            V::Date(n) => Some(i64::from(*n) - (1 << 31)),
            V::Double(x) if x.abs() < 9e15 => Some(x.round() as i64),
            V::Float(x) if x.abs() < 9e15 => Some(x.round() as i64),
            _ => None,
        };
        if let Some(number) = number {
            let (least, most) = self.number.unwrap_or((number, number));
            self.number = Some((least.min(number), most.max(number)));
        } else if self.different.len() < KEPT {
            self.different.insert(value.to_string());
        }
    }
}

fn range(least: u64, most: u64) -> String {
    if least == most {
        format!("fixed({least})")
    } else {
        format!("uniform({least}..{most})")
    }
}

/// A text for YAML, in single quotes where it is more than a plain word.
fn quoted(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let reserved = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    if plain && !reserved.contains(&text.to_ascii_lowercase().as_str()) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::table::{SchemaColumn, SchemaTypes, described};
    use crate::workload::maker::Maker;
    use crate::workload::profile::{Profile, ProfileWorkload, Spec};

    /// The columns of a table with a key of two, and a user type.
    fn described_table() -> Described {
        let column = |name: &str, cql_type: &str, kind: &str, position: i32| SchemaColumn {
            name: name.to_owned(),
            cql_type: cql_type.to_owned(),
            kind: kind.to_owned(),
            order: if name == "at" { "desc" } else { "none" }.to_owned(),
            position,
        };
        let columns = vec![
            column("id", "text", "partition_key", 0),
            column("at", "timestamp", "clustering", 0),
            column("n", "int", "clustering", 1),
            column("Kind", "text", "regular", -1),
            column("tags", "set<text>", "regular", -1),
            column("who", "frozen<person>", "regular", -1),
        ];
        let fields = vec![("name".to_owned(), "text".to_owned())];
        let types = SchemaTypes::from([("person".to_owned(), fields)]);
        described("shop", "visits", columns, &types).expect("a table")
    }

    #[test]
    fn a_draft_is_a_profile_and_makes_rows_like_those_seen() {
        let described = described_table();
        let mut observed = Observed::new(&described.table);
        let text = |text: String| Some(CqlValue::Text(text));
        for partition in 0..30_i64 {
            let row = |at: i64, n: i32| {
                vec![
                    text(format!("customer{partition:04}")),
                    Some(CqlValue::Timestamp(1_000 + at)),
                    Some(CqlValue::Int(n)),
                    text(["new", "old"][usize::from(partition % 2 == 0)].to_owned()),
                    None,
                    Some(CqlValue::Udt(vec![(
                        "name".to_owned(),
                        text(format!("p{partition}")),
                    )])),
                ]
            };
            observed.partition(&[row(9, 1), row(9, 2), row(5, 1)]);
        }
        let draft = observed.draft(
            &described,
            "{'class': 'SimpleStrategy', 'replication_factor': 1}",
        );
        insta::assert_snapshot!(draft, @r#"
        # Drafted from shop.visits with 30 partitions and 90 rows read.
        # The table's options (compaction, compression) are not in it.
        keyspace: shop
        keyspace_definition: |
          CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}
        table: visits
        table_definition: |
          CREATE TABLE visits (
            id text,
            at timestamp,
            n int,
            "Kind" text,
            tags set<text>,
            who frozen<person>,
            PRIMARY KEY ((id), at, n)
          ) WITH CLUSTERING ORDER BY (at DESC, n ASC)
        extra_definitions:
          - 'CREATE TYPE person (name text)'
        columnspec:
          - name: id
            size: fixed(12)
          - name: at
            population: uniform(1005..1009)
            cluster: fixed(2)
          - name: 'n'
            population: uniform(1..2)
            cluster: uniform(1..2)
          - name: Kind
            size: fixed(3)
            population: uniform(1..2)
          - name: who
            population: uniform(1..30)
        insert:
          partitions: fixed(1)
          batchtype: UNLOGGED
          row-population: fixed(66)/100
        queries:
          row:
            cql: 'SELECT * FROM shop.visits WHERE id = ? AND at = ? AND n = ?'
            fields: samerow
          partition:
            cql: 'SELECT * FROM shop.visits WHERE id = ? LIMIT 100'
            fields: samerow
        "#);
        let profile = Profile::read(&draft).expect("a profile");
        let table = profile.defined_table().expect("a table").expect("defined");
        assert_eq!(table, described.table);
        let profiles = ProfileWorkload {
            name: "draft".to_owned(),
            specs: vec![Spec { profile, table }],
            walk: None,
        };
        let maker = Maker::new(&profiles, Seed(1)).expect("a maker");
        let mut again = Observed::new(&described.table);
        for position in 0..50 {
            let rows: Vec<_> = maker.rows(0, position).collect();
            again.partition(&rows);
        }
        assert_eq!(again.columns[0].size, Some((12, 12)));
        let (least, most) = again.columns[1].number.expect("numbers");
        assert!(least >= 1_005 && most <= 1_009);
        assert!(again.columns[3].different.len() <= 2);
    }
}
